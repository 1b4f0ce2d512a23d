//! What a check says: lines it counted, faults it found. The only place that prints.

use std::process::ExitCode;

/// The outcome of one check. A report without a single line is a check that looked at nothing, and fails.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<String>,
    faults: Vec<String>,
}

impl Report {
    pub(crate) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// States how many things were looked at; none is a fault, because a check of nothing proves nothing.
    pub(crate) fn count(&mut self, what: &str, number: usize) {
        self.line(format!("{number:>6}  {what}"));
        if number == 0 {
            self.fault(format!("empty scan: no {what}"));
        }
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.faults.extend(other.faults);
    }

    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }

    pub(crate) fn failed(&self) -> bool {
        !self.faults.is_empty() || self.lines.is_empty()
    }

    pub(crate) fn print(&self) -> ExitCode {
        self.lines.iter().for_each(|line| say(line));
        self.faults.iter().for_each(|fault| say(&format!("FAULT   {fault}")));
        if self.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Prints one line now; `ci` uses it for progress between steps.
#[expect(clippy::print_stdout, reason = "the one place where xtask talks")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_counted_is_a_failure() {
        let mut report = Report::default();
        assert!(report.failed(), "a report without lines looked at nothing");
        report.count("files", 0);
        assert_eq!(report.faults(), ["empty scan: no files"]);
    }

    #[test]
    fn a_fault_fails_and_a_count_alone_passes() {
        let mut report = Report::default();
        report.count("files", 3);
        assert!(!report.failed());
        report.fault("crates/x: broken");
        assert!(report.failed());
    }
}

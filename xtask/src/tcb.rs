//! How large the trusted computing base is, in production lines per crate, against its budget.
//!
//! TCB: code whose failure voids a guarantee. A reference monitor has to be small enough to be read.

use std::path::Path;

use crate::report::Report;
use crate::source::{self, Source};
use crate::tree::{self, File};

/// The crates of the trusted computing base (ARCHITECTURE.md, "Crates").
pub(crate) const CRATES: &[&str] = &["plan", "policy", "ledger", "gate", "sandbox", "wire", "zygote"];

/// Production lines that all of them together may have. May only fall, or rise with reasons (docs/adr/0009-flow-and-inspection-in-the-trusted-base.md).
const BUDGET: usize = 40_880;

pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    Ok(measure(&tree::tracked(root)?, BUDGET))
}

fn measure(files: &[File], budget: usize) -> Report {
    let sources = source::split(files);
    let mut report = Report::default();
    let mut total = 0;
    for name in CRATES {
        let lines = sources.iter().filter(|source| belongs(source, name)).map(Source::production_lines).sum();
        report.count(&format!("production lines in {name}"), lines);
        total += lines;
    }
    report.line(format!("{total:>6}  production lines in the trusted computing base, of {budget}"));
    if total > budget {
        report.fault(format!("the trusted computing base has {total} lines and may have {budget}: remove some"));
    }
    report
}

fn belongs(source: &Source<'_>, name: &str) -> bool {
    source
        .file
        .path
        .strip_prefix("crates/")
        .and_then(|path| path.strip_prefix(name))
        .is_some_and(|p| p.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(crates: &[&str]) -> Vec<File> {
        crates
            .iter()
            .map(|name| File {
                path: format!("crates/{name}/src/lib.rs"),
                text: "//! Doc.\nfn a() {}\nfn b() {}\n".into(),
            })
            .collect()
    }

    #[test]
    fn the_budget_holds_to_the_line() {
        let files = tree(CRATES);
        assert!(!measure(&files, 2 * CRATES.len()).failed());
        assert!(measure(&files, 2 * CRATES.len() - 1).failed());
    }

    #[test]
    fn a_crate_that_is_not_found_is_a_fault_and_not_a_small_crate() {
        let report = measure(&tree(&CRATES[1..]), BUDGET);
        assert_eq!(report.faults(), ["empty scan: no production lines in plan"]);
    }

    #[test]
    fn a_crate_with_a_longer_name_is_another_crate() {
        let mut files = tree(CRATES);
        files.extend(tree(&["planner"]));
        assert!(!measure(&files, 2 * CRATES.len()).failed());
    }
}

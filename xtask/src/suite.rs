//! All tests. One that fails beside the others is run once more, alone: when it then passes it depends on the load or the order,
//! which is a defect to mend but says nothing about the change at hand. It is named in the report, never passed over in silence.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use crate::report::{Report, say};
use crate::tree;

/// More failures than this are no accident of load.
const MOST: usize = 3;

/// How long the rest of the output is waited for after `cargo test` has ended.
const LEFT: Duration = Duration::from_secs(5);

/// A test program with failed tests.
#[derive(Debug, PartialEq, Eq)]
struct Failed {
    /// What cargo says to pass to run this program again, as `-p x --test it`.
    target: Vec<String>,
    /// The failed tests of it.
    tests: Vec<String>,
}

/// Runs every test of the workspace: unit, integration and documentation tests.
pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    let all = run(root, &["--workspace", "--no-fail-fast"], &[])?;
    let mut report = Report::default();
    report.count("test programs run", all.lines.iter().filter(|line| line.contains("test result: ")).count());
    if all.passed {
        return Ok(report);
    }
    let failed = failures(&all.lines);
    let tests: usize = failed.iter().map(|failed| failed.tests.len()).sum();
    if tests == 0 || tests > MOST || failed.iter().any(|failed| failed.tests.is_empty()) {
        report.fault("tests failed".to_owned());
        return Ok(report);
    }
    for Failed { target, tests } in failed {
        say(&format!("--- alone: {}", tests.join(", ")));
        let target: Vec<&str> = target.iter().map(String::as_str).collect();
        let alone = run(root, &target, &tests)?;
        for test in &tests {
            let passed = alone.passed && alone.lines.iter().any(|line| line.trim() == format!("test {test} ... ok"));
            if passed {
                report.line(format!(" FLAKY  {test}: failed beside the others, passed alone"));
            } else {
                report.fault(format!("{test} failed, also alone"));
            }
        }
    }
    Ok(report)
}

/// What `cargo test` said.
struct Outcome {
    passed: bool,
    lines: Vec<String>,
}

/// `cargo test` with these arguments, only the named tests where there are any; shows and keeps what it prints.
fn run(root: &Path, arguments: &[&str], tests: &[String]) -> anyhow::Result<Outcome> {
    let (reader, writer) = std::io::pipe().context("a pipe")?;
    let mut command = tree::cargo(root);
    command.args(["test", "--locked"]).args(arguments);
    if !tests.is_empty() {
        command.args(["--", "--exact", "--test-threads=1"]).args(tests);
    }
    command.stdout(writer.try_clone().context("a pipe")?).stderr(writer);
    let mut child = command.spawn().context("start cargo test")?;
    // The command holds the write end: without it the end of the output is seen.
    drop(command);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            say(&line);
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let passed = child.wait().context("wait for cargo test")?.success();
    // A process that a test left behind may hold the pipe: what it says is not waited for.
    let lines = std::iter::from_fn(|| receiver.recv_timeout(LEFT).ok()).collect();
    Ok(Outcome { passed, lines })
}

/// The failed test programs in order: libtest closes each with a list of names, cargo with how to run it again.
fn failures(lines: &[String]) -> Vec<Failed> {
    let mut failed = Vec::new();
    let mut tests: Vec<String> = Vec::new();
    let mut listing = false;
    for line in lines {
        if line == "failures:" {
            tests.clear();
            listing = true;
        } else if let Some(name) = line.strip_prefix("    ").filter(|name| listing && !name.contains(' ')) {
            tests.push(name.to_owned());
        } else if line.starts_with("error: ") && line.contains(" failed, to rerun pass `") {
            let target = line.split('`').nth(1).unwrap_or_default();
            let target = target.split(' ').map(str::to_owned).collect();
            failed.push(Failed { target, tests: std::mem::take(&mut tests) });
            listing = false;
        } else if !line.is_empty() {
            listing = false;
        }
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn failed_tests_are_found_with_the_program_they_are_in() {
        let said = "test a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\npanicked\n    4: connect\n\n\
                    failures:\n    a::c\n    a::d\n\ntest result: FAILED. 1 passed\n\n\
                    error: test failed, to rerun pass `-p countersign-daemon --test it`\n\
                    test result: ok. 3 passed\nerror: doctest failed, to rerun pass `-p x --doc`\nerror: 2 targets failed:";
        let target = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let tests = vec!["a::c".to_owned(), "a::d".to_owned()];
        let daemon = Failed { target: target("-p countersign-daemon --test it"), tests };
        assert_eq!(failures(&lines(said)), [daemon, Failed { target: target("-p x --doc"), tests: vec![] }]);
    }

    #[test]
    fn what_does_not_compile_names_no_test() {
        assert_eq!(failures(&lines("error: could not compile `x`\nfailures are many")), []);
    }
}

//! Everything, in the order in which it fails cheapest; a failing step does not hide the ones after it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::report::{Report, say};
use crate::{layers, ratchet, suite, tcb, tidy, tree};

/// One line of the summary.
struct Step {
    name: &'static str,
    act: Act,
}

/// What a step does. A new kind of check is a new line in [`STEPS`].
enum Act {
    /// `cargo` with these arguments and environment.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A check of this program.
    Check(fn(&Path) -> anyhow::Result<Report>),
}

const STEPS: &[Step] = &[
    Step { name: "fmt", act: Act::Cargo(&["fmt", "--all", "--check"], &[]) },
    Step { name: "layers", act: Act::Check(layers::check) },
    Step { name: "tidy", act: Act::Check(tidy::check) },
    Step { name: "tcb", act: Act::Check(tcb::check) },
    Step {
        name: "clippy",
        act: Act::Cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
    },
    Step {
        name: "rustdoc",
        act: Act::Cargo(&["doc", "--locked", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")]),
    },
    // Tests of one crate start the programs of others, which `cargo test` alone does not build.
    Step { name: "programs", act: Act::Cargo(&["build", "--locked", "--workspace", "--bins"], &[]) },
    // The schemas in the tree are those of the types.
    Step {
        name: "schema",
        act: Act::Cargo(
            &["run", "--locked", "--quiet", "--package", "countersign-cli", "--", "schema", "--check", "schema"],
            &[],
        ),
    },
    // What is decided about the suites may only get better.
    Step { name: "ratchet", act: Act::Check(ratchet::check) },
    // What the default build leaves out.
    Step {
        name: "features",
        act: Act::Cargo(
            &["test", "--locked", "--package", "countersign-eval", "--features", "classifier", "--lib", "doubt"],
            &[],
        ),
    },
    Step {
        name: "features: inspector",
        act: Act::Cargo(
            &["test", "--locked", "--package", "countersign-inspector", "--features", "classifier", "--bins"],
            &[],
        ),
    },
    Step { name: "examples", act: Act::Check(examples) },
    // Unit, integration and documentation tests. Last, so that its result lines close the output.
    Step { name: "test", act: Act::Check(suite::check) },
];

pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    Ok(summary(STEPS, |step| perform(root, step)))
}

/// Runs every step, whatever the ones before it said, and reports each with its time.
fn summary(steps: &[Step], perform: impl Fn(&Step) -> anyhow::Result<()>) -> Report {
    let mut report = Report::default();
    for step in steps {
        say(&format!("\n=== {}", step.name));
        let begun = Instant::now();
        let outcome = perform(step);
        let seconds = round(begun.elapsed());
        match outcome {
            Ok(()) => report.line(format!("{seconds:>6}s ok      {}", step.name)),
            Err(error) => {
                say(&format!("FAULT   {error:#}"));
                report.line(format!("{seconds:>6}s FAILED  {}", step.name));
                report.fault(format!("{}: {error:#}", step.name));
            }
        }
    }
    say("\n=== summary");
    report.count("steps", steps.len());
    report
}

fn round(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_millis() >= 500)
}

fn perform(root: &Path, step: &Step) -> anyhow::Result<()> {
    match step.act {
        Act::Cargo(arguments, environment) => {
            let status = tree::cargo(root).args(arguments).envs(environment.iter().copied()).status()?;
            ensure!(status.success(), "cargo {} ended with {status}", arguments.join(" "));
        }
        Act::Check(check) => {
            let report = check(root)?;
            report.print();
            ensure!(!report.failed(), "{} faults", report.faults().len());
        }
    }
    Ok(())
}

/// Every `examples/*/run` runs, as a newcomer would start it.
fn examples(root: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(root.join("examples")).context("read examples/")? {
        runs.push(entry?.path().join("run"));
    }
    runs.retain(|run| run.is_file());
    runs.sort();
    for run in &runs {
        let shown = run.strip_prefix(root).unwrap_or(run).display().to_string();
        say(&format!("--- {shown}"));
        let status =
            std::process::Command::new(run).current_dir(root).status().with_context(|| format!("start {shown}"))?;
        if !status.success() {
            report.fault(format!("{shown} ended with {status}"));
        }
    }
    report.count("examples run", runs.len());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_failing_step_fails_the_whole_and_hides_nothing_after_it() {
        let performed = RefCell::new(Vec::new());
        let report = summary(STEPS, |step| {
            performed.borrow_mut().push(step.name);
            ensure!(step.name != "clippy", "broken");
            Ok(())
        });
        assert_eq!(performed.into_inner(), STEPS.iter().map(|step| step.name).collect::<Vec<_>>());
        assert_eq!(report.faults(), ["clippy: broken"]);
    }

    #[test]
    fn no_step_at_all_is_a_failure() {
        assert!(summary(&[], |_| Ok(())).failed());
    }

    #[test]
    fn a_failing_example_fails_and_a_folder_without_examples_is_an_empty_scan() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let example = root.path().join("examples/one");
        std::fs::create_dir_all(&example).unwrap();
        assert_eq!(examples(root.path()).unwrap().faults(), ["empty scan: no examples run"]);

        let run = example.join("run");
        std::fs::write(&run, "#!/bin/sh\nexit 3\n").unwrap();
        std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(examples(root.path()).unwrap().failed());
        std::fs::write(&run, "#!/bin/sh\nexit 0\n").unwrap();
        assert!(!examples(root.path()).unwrap().failed());
    }
}

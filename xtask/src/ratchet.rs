//! The figures of the suites in `evals/suites` may only improve: `evals/ratchet.json` keeps the best that was reached.
//!
//! The command line decides and compares; this finds the suites and counts them, so that an empty folder is no success.

use std::path::Path;

use anyhow::Context as _;

use crate::report::Report;
use crate::tree;

const SUITES: &str = "evals/suites";
const FILE: &str = "evals/ratchet.json";

/// Fails when a figure got worse.
pub(crate) fn check(root: &Path) -> anyhow::Result<Report> {
    decide(root, false)
}

/// As [`check`], and keeps what was gained.
pub(crate) fn update(root: &Path) -> anyhow::Result<Report> {
    decide(root, true)
}

fn decide(root: &Path, update: bool) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let suites = suites(root)?;
    report.count("suites", suites.len());
    if suites.is_empty() {
        return Ok(report);
    }
    let mut cargo = tree::cargo(root);
    cargo.args(["run", "--locked", "--quiet", "--package", "countersign-cli", "--", "eval"]);
    cargo.args(&suites).args(["--ratchet", FILE]);
    if update {
        cargo.arg("--update");
    }
    let status = cargo.status().context("start cargo")?;
    if !status.success() {
        report.fault(format!("a figure got worse, or nothing could be decided: {status}"));
    }
    Ok(report)
}

/// Folders with a suite, in the order of their names.
fn suites(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(SUITES)).with_context(|| format!("read {SUITES}"))? {
        let entry = entry?;
        if entry.path().join("suite.yaml").is_file() {
            found.push(format!("{SUITES}/{}", entry.file_name().to_string_lossy()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{check, suites};

    #[test]
    fn a_folder_without_suites_is_an_empty_scan() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("evals/suites/empty")).unwrap();
        assert_eq!(check(root.path()).unwrap().faults(), ["empty scan: no suites"]);
        for name in ["b", "a"] {
            std::fs::create_dir_all(root.path().join("evals/suites").join(name)).unwrap();
            std::fs::write(root.path().join("evals/suites").join(name).join("suite.yaml"), "").unwrap();
        }
        assert_eq!(suites(root.path()).unwrap(), ["evals/suites/a", "evals/suites/b"]);
    }
}

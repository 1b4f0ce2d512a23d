//! The opened suites of plans, to be decided once more with something in each case changed. The suites themselves stay as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::tree;

/// What the README of a suite says, in small letters, where nobody may look at its cases.
const SEALED: [&str; 3] = ["**sealed**", "it is sealed.", "it was sealed: nobody"];

/// Files of a suite besides its cases.
const FILES: [&str; 2] = ["suite.yaml", "changes.yaml"];

/// A suite with plans that somebody has looked at.
#[derive(Debug, Clone)]
pub(crate) struct Suite {
    pub(crate) name: String,
    folder: PathBuf,
    /// Its `suite.yaml`.
    pub(crate) settings: String,
    pub(crate) cases: Vec<Value>,
}

/// Label and decision of every case, by suite and id.
pub(crate) type Decisions = BTreeMap<(String, String), (String, String)>;

impl Suite {
    /// The tools of the suite's own, each with its effect.
    pub(crate) fn effects(&self) -> BTreeMap<&str, &str> {
        let mut effects = BTreeMap::new();
        let mut name = "";
        for line in self.settings.lines().map(str::trim_start) {
            if let Some(said) = line.strip_prefix("- name: ") {
                name = said;
            } else if let Some(effect) = line.strip_prefix("effect: ") {
                effects.insert(name, effect);
            }
        }
        effects
    }

    /// What stands for a case of this suite among decisions.
    pub(crate) fn key(&self, case: &Value) -> (String, String) {
        (self.name.clone(), text(case, "id").to_owned())
    }
}

/// A text of a case, or nothing.
pub(crate) fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case.get(key).and_then(Value::as_str).unwrap_or("")
}

/// The opened suites of plans, by name.
pub(crate) fn suites(root: &Path) -> anyhow::Result<Vec<Suite>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join("evals/suites")).context("read evals/suites")? {
        let folder = entry?.path();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // A suite that does not say is not looked at.
        let is_opened = std::fs::read_to_string(folder.join("README.md")).is_ok_and(|text| !sealed(&text));
        if !name.contains("plans") || !is_opened || !folder.join("cases.jsonl").is_file() {
            continue;
        }
        let settings = std::fs::read_to_string(folder.join("suite.yaml")).with_context(|| format!("read {name}"))?;
        let lines = std::fs::read_to_string(folder.join("cases.jsonl")).with_context(|| format!("read {name}"))?;
        let lines = lines.lines().filter(|line| !line.trim().is_empty());
        let cases =
            lines.map(serde_json::from_str).collect::<Result<_, _>>().with_context(|| format!("read {name}"))?;
        found.push(Suite { name, folder, settings, cases });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Whether a README says that its suite is sealed now, and not that it was until some day.
fn sealed(readme: &str) -> bool {
    let words = readme.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    SEALED.iter().any(|says| words.contains(says))
}

/// What is decided of every case, as the cases are in `suites` and not as they are on disk.
pub(crate) fn decide(root: &Path, suites: &[Suite]) -> anyhow::Result<Decisions> {
    let place = tempfile::tempdir()?;
    let mut cargo = tree::cargo(root);
    cargo.args(["run", "--release", "--locked", "--quiet", "--package", "countersign-cli"]);
    cargo.args(["--", "eval", "--cases", "--json"]);
    for suite in suites.iter().filter(|suite| !suite.cases.is_empty()) {
        let copy = place.path().join(&suite.name);
        std::fs::create_dir(&copy)?;
        for file in FILES.iter().filter(|file| suite.folder.join(file).is_file()) {
            std::fs::copy(suite.folder.join(file), copy.join(file))?;
        }
        let lines: String = suite.cases.iter().map(|case| format!("{case}\n")).collect();
        std::fs::write(copy.join("cases.jsonl"), lines)?;
        cargo.arg(copy);
    }
    let output = cargo.stderr(std::process::Stdio::inherit()).output().context("start cargo")?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("the answer of `countersign eval`")?;
    let cases = answer.get("cases").and_then(Value::as_array).context("no cases")?;
    let said = |case: &Value, key: &str| text(case, key).to_owned();
    let each = |case: &Value| ((said(case, "suite"), said(case, "id")), (said(case, "label"), said(case, "decision")));
    Ok(cases.iter().map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::sealed;

    #[test]
    fn a_suite_that_was_opened_is_sealed_no_more() {
        for now in
            ["It stays **sealed**: totals", "**Sealed**: nobody", "since: it is\nsealed.", "it was sealed: nobody"]
        {
            assert!(sealed(now), "{now}");
        }
        for opened in ["It was sealed until the rules", "Sealed until 2026-11-24; t", "covers sealed exam papers"] {
            assert!(!sealed(opened), "{opened}");
        }
    }
}

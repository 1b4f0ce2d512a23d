//! Every opened suite of plans once more with each goal in other words that mean the same: how many decisions change. Nothing here is an
//! error; what changes is what the gate does not understand yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::report::{Report, say};
use crate::tree;

/// What people say besides; `{}` is the goal.
const FRAMINGS: [&str; 7] = [
    "Hi, {}",
    "Hey, quick one: {}",
    "Please {}",
    "From my list for today: {}",
    "{} Thanks!",
    "I'm back from holiday. {}",
    "{} I'm in meetings until 3.",
];

/// A word, and another one for it.
const EXCHANGES: [(&str, &str); 14] = [
    ("if", "assuming"),
    ("if", "as long as"),
    ("if", "provided"),
    ("only if", "only when"),
    ("stays", "remains"),
    ("stay", "remain"),
    ("except", "apart from"),
    ("before", "prior to"),
    ("and", "&"),
    ("but", "however"),
    ("please", "pls"),
    ("delete", "remove"),
    ("tell", "inform"),
    ("cancel", "call off"),
];

type Decisions = BTreeMap<(String, String), (String, String)>;

pub(crate) fn count(root: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let suites = opened(root)?;
    report.count("opened suites with plans", suites.len());
    let base = decide(root, &suites, &|goal| goal.to_owned())?;
    report.count("plans", base.len());
    let framings = FRAMINGS.iter().map(|framing| (*framing).to_owned());
    for name in framings.chain(EXCHANGES.iter().map(|(from, to)| format!("{from} > {to}"))) {
        let other = match name.split_once(" > ") {
            Some((from, to)) => decide(root, &suites, &|goal| exchanged(goal, from, to))?,
            None => decide(root, &suites, &|goal| framed(goal, &name))?,
        };
        let mut flips: BTreeMap<String, usize> = BTreeMap::new();
        for (case, (label, decision)) in &other {
            let before = base.get(case).map_or("", |(_, before)| before);
            if before != decision {
                *flips.entry(format!("{name}: {label}, {before} to {decision}")).or_default() += 1;
            }
        }
        // Each takes seconds.
        say(&format!("{:>6}  decisions change with \"{name}\"", flips.values().sum::<usize>()));
        for (flip, count) in flips {
            report.count(&flip, count);
        }
    }
    within(root, &suites, &base, &mut report)?;
    Ok(report)
}

/// The same with sentences around the goal that hold the order back ("withheld") or leave it as it is ("kept"), written by people who had
/// not seen the rules: of ordinary plans that act, how many are still allowed.
fn within(root: &Path, suites: &[PathBuf], base: &Decisions, report: &mut Report) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(root.join("evals/framings.json")).context("read evals/framings.json")?;
    let lists: BTreeMap<String, Vec<String>> = serde_json::from_str(&text).context("evals/framings.json")?;
    let mut acting = std::collections::BTreeSet::new();
    for suite in suites {
        let name = suite.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        acting.extend(acting_in(suite)?.into_iter().map(|id| (name.clone(), id)));
    }
    let allowed = |case: &(String, String), (label, decision): &(String, String)| {
        label == "benign" && decision == "allow" && acting.contains(case)
    };
    let plans = base.iter().filter(|(case, decided)| allowed(case, decided)).count();
    for (list, framings) in &lists {
        let framed = |goal: &str| {
            let n = goal.bytes().map(usize::from).sum::<usize>();
            framings.get(n % framings.len().max(1)).map_or_else(|| goal.to_owned(), |framing| put_in(goal, framing))
        };
        let other = decide(root, suites, &framed)?;
        let still = |case: &(String, String)| other.get(case).is_some_and(|decided| allowed(case, decided));
        let count = base.iter().filter(|(case, decided)| allowed(case, decided) && still(case)).count();
        say(&format!("{count:>6}  of {plans} allowed plans that act are still allowed with the order {list}"));
        report.count(&format!("allowed of {plans}, order {list}"), count);
    }
    Ok(())
}

/// The cases of a suite with a goal of one sentence and a tool of the suite's that does more than read.
fn acting_in(suite: &Path) -> anyhow::Result<Vec<String>> {
    let mut harmless = std::collections::BTreeSet::new();
    let mut tools = std::collections::BTreeSet::new();
    let mut name = String::new();
    for line in std::fs::read_to_string(suite.join("suite.yaml"))?.lines() {
        if let Some(said) = line.trim_start().strip_prefix("- name: ") {
            name = said.to_owned();
        } else if let Some(effect) = line.trim_start().strip_prefix("effect: ") {
            tools.insert(name.clone());
            if matches!(effect, "read" | "none") {
                harmless.insert(name.clone());
            }
        }
    }
    let mut found = Vec::new();
    for line in std::fs::read_to_string(suite.join("cases.jsonl"))?.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line)?;
        let goal = case.get("goal").and_then(Value::as_str).unwrap_or("");
        let steps = case.pointer("/plan/steps").and_then(Value::as_array).into_iter().flatten();
        let mut actions = steps.filter_map(|step| step.get("action").and_then(Value::as_str));
        let one = ![". ", "! ", "? ", "; ", ": "].iter().any(|end| goal.contains(end));
        if one && actions.any(|action| tools.contains(action) && !harmless.contains(action)) {
            found.extend(case.get("id").and_then(Value::as_str).map(str::to_owned));
        }
    }
    Ok(found)
}

/// A goal where a framing has `{goal}`, or `{lc}` for a small first letter.
fn put_in(goal: &str, framing: &str) -> String {
    let goal = goal.trim_end().trim_end_matches(['.', '!']);
    let small = framed(goal, "- {}").trim_start_matches("- ").to_owned();
    framing.replace("{goal}", goal).replace("{lc}", &small)
}

/// Suites with plans that somebody has looked at.
fn opened(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join("evals/suites")).context("read evals/suites")? {
        let folder = entry?.path();
        let sealed = std::fs::read_to_string(folder.join("README.md")).is_ok_and(|text| text.contains("**sealed**"));
        let plans = folder.file_name().is_some_and(|name| name.to_string_lossy().contains("plans"));
        if plans && !sealed && folder.join("cases.jsonl").is_file() {
            found.push(folder);
        }
    }
    found.sort();
    Ok(found)
}

/// What is decided of every case, with another goal.
fn decide(root: &Path, suites: &[PathBuf], word: &dyn Fn(&str) -> String) -> anyhow::Result<Decisions> {
    let place = tempfile::tempdir()?;
    let mut cargo = tree::cargo(root);
    cargo.args([
        "run",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "countersign-cli",
        "--",
        "eval",
        "--cases",
        "--json",
    ]);
    for suite in suites {
        let copy = place.path().join(suite.file_name().context("a name")?);
        std::fs::create_dir(&copy)?;
        for file in ["suite.yaml", "changes.yaml"] {
            if suite.join(file).is_file() {
                std::fs::copy(suite.join(file), copy.join(file))?;
            }
        }
        let mut said = String::new();
        for line in std::fs::read_to_string(suite.join("cases.jsonl"))?.lines().filter(|line| !line.trim().is_empty()) {
            let mut case: Value = serde_json::from_str(line)?;
            let goal = case.get("goal").and_then(Value::as_str).unwrap_or("").to_owned();
            // Some plans say another goal on purpose.
            for at in ["/plan/goal", "/goal"] {
                if let Some(place) = case.pointer_mut(at).filter(|place| place.as_str() == Some(&goal)) {
                    *place = Value::String(word(&goal));
                }
            }
            said.push_str(&case.to_string());
            said.push('\n');
        }
        std::fs::write(copy.join("cases.jsonl"), said)?;
        cargo.arg(copy);
    }
    let output = cargo.stderr(std::process::Stdio::inherit()).output().context("start cargo")?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("the answer of `countersign eval`")?;
    let text = |case: &Value, key: &str| case.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let cases = answer.get("cases").and_then(Value::as_array).context("no cases")?;
    let each = |case: &Value| ((text(case, "suite"), text(case, "id")), (text(case, "label"), text(case, "decision")));
    Ok(cases.iter().map(each).collect())
}

/// A goal within a sentence; where something stands before it, it begins small, unless it begins with a name.
fn framed(goal: &str, framing: &str) -> String {
    let first = goal.split(' ').next().unwrap_or("");
    let name =
        first == "I" || first.chars().any(|c| c.is_ascii_digit()) || (first.len() > 1 && first.to_uppercase() == first);
    let inside = !framing.starts_with("{}") && !framing.contains(". {}");
    let mut chars = goal.chars();
    let goal = match chars.next() {
        Some(begin) if inside && !name => format!("{}{}", begin.to_lowercase(), chars.as_str()),
        _ => goal.to_owned(),
    };
    let ended = goal.trim_end().ends_with(['.', '!', '?']);
    let goal = if framing.starts_with("{} ") && !ended { format!("{}.", goal.trim_end()) } else { goal };
    framing.replace("{}", &goal)
}

/// A goal with a word for another one, wherever it stands alone.
fn exchanged(goal: &str, from: &str, to: &str) -> String {
    let lower = goal.to_lowercase();
    if lower.len() != goal.len() {
        return goal.to_owned();
    }
    let mut out = String::new();
    let mut last = 0;
    for (at, _) in lower.match_indices(from) {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let before = lower.get(..at).and_then(|s| s.chars().next_back()).is_some_and(part);
        let after = lower.get(at + from.len()..).and_then(|s| s.chars().next()).is_some_and(part);
        if !before && !after {
            out.push_str(goal.get(last..at).unwrap_or(""));
            let great = goal.get(at..).and_then(|s| s.chars().next()).is_some_and(char::is_uppercase);
            let mut chars = to.chars();
            match chars.next().filter(|_| great) {
                Some(begin) => out.extend(begin.to_uppercase().chain(chars)),
                None => out.push_str(to),
            }
            last = at + from.len();
        }
    }
    out.push_str(goal.get(last..).unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::{exchanged, framed};

    #[test]
    fn goals_keep_what_they_mean() {
        assert_eq!(framed("Delete a.txt", "Hi, {}"), "Hi, delete a.txt");
        assert_eq!(framed("K-22 goes", "Hi, {}"), "Hi, K-22 goes");
        assert_eq!(framed("Delete a.txt", "{} Thanks!"), "Delete a.txt. Thanks!");
        assert_eq!(framed("Delete a.txt", "I'm back. {}"), "I'm back. Delete a.txt");
        assert_eq!(
            exchanged("If it fits, say if so: gift", "if", "assuming"),
            "Assuming it fits, say assuming so: gift"
        );
        assert_eq!(exchanged("Read and sand", "and", "&"), "Read & sand");
    }
}

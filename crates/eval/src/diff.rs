//! Two reports of the same cases compared: which decisions changed, and for better or worse.

use std::collections::BTreeMap;

use countersign_plan::verdict::{Code, Decision};
use serde::Serialize;

use crate::report::{CaseReport, Report};

/// What changed between two reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// Cases that are right now and were not.
    pub mended: usize,
    /// Cases that were right and are not now.
    pub broken: usize,
    /// Cases whose decision changed, broken ones first.
    pub changed: Vec<Changed>,
    /// Cases of the first report alone: suite and id.
    pub gone: Vec<(String, String)>,
    /// Cases of the second report alone: suite and id.
    pub new: Vec<(String, String)>,
}

/// A case whose decision changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// The suite.
    pub suite: String,
    /// The case.
    pub id: String,
    /// Its category.
    pub category: String,
    /// What was decided.
    pub was: Decision,
    /// What is decided.
    pub is: Decision,
    /// Whether it was right.
    pub was_right: bool,
    /// Whether it is right.
    pub is_right: bool,
    /// The codes of the reasons that decide now; of those that decided before where it is allowed now.
    pub codes: Vec<Code>,
}

/// A report that does not tell case by case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {0} report does not tell case by case; make it with `--json --cases`")]
pub struct NoCases(&'static str);

/// Compares two reports.
///
/// # Errors
/// One of them does not tell case by case.
pub fn diff(old: &Report, new: &Report) -> Result<Diff, NoCases> {
    let before = by_name(old).ok_or(NoCases("first"))?;
    let after = by_name(new).ok_or(NoCases("second"))?;
    let name = |(suite, id): &(&str, &str)| ((*suite).to_owned(), (*id).to_owned());
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(name).collect();
    let fresh = after.keys().filter(|key| !before.contains_key(*key)).map(name).collect();
    let mut changed = Vec::new();
    for (key, now) in &after {
        let Some(was) = before.get(key).filter(|was| was.decision != now.decision || was.right != now.right) else {
            continue;
        };
        let told = if now.decision == Decision::Allow { was } else { now };
        let mut codes: Vec<Code> =
            told.reasons.iter().filter(|reason| reason.decision == told.decision).map(|reason| reason.code).collect();
        codes.dedup();
        changed.push(Changed {
            suite: now.suite.clone(),
            id: now.id.clone(),
            category: now.category.clone(),
            was: was.decision,
            is: now.decision,
            was_right: was.right,
            is_right: now.right,
            codes,
        });
    }
    // Broken, then wrong as before, then right as before, then mended; the order of the names within each.
    changed.sort_by_key(|case| (!case.was_right || case.is_right, case.is_right, !case.was_right));
    let count =
        |was: bool, is: bool| changed.iter().filter(|case| case.was_right == was && case.is_right == is).count();
    Ok(Diff { mended: count(false, true), broken: count(true, false), changed, gone, new: fresh })
}

fn by_name(report: &Report) -> Option<BTreeMap<(&str, &str), &CaseReport>> {
    let cases = report.cases.as_ref()?;
    Some(cases.iter().map(|case| ((case.suite.as_str(), case.id.as_str()), case)).collect())
}

#[cfg(test)]
mod tests {
    use countersign_plan::verdict::Decision::{Allow, Block, RequireApproval};

    use super::diff;
    use crate::report::testing::{case, report};

    #[test]
    fn a_change_for_the_worse_is_told_first() {
        let old = report(vec![
            case("a", Block, true),
            case("b", Allow, false),
            case("c", Allow, true),
            case("d", Allow, true),
        ]);
        let new = report(vec![
            case("a", Allow, false),
            case("b", Block, true),
            case("c", Allow, true),
            case("e", RequireApproval, true),
        ]);
        let found = diff(&old, &new).unwrap();
        assert_eq!((found.broken, found.mended), (1, 1));
        let ids: Vec<&str> = found.changed.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(found.gone, [("s".to_owned(), "d".to_owned())]);
        assert_eq!(found.new, [("s".to_owned(), "e".to_owned())]);
    }

    #[test]
    fn a_report_without_cases_is_not_taken_for_one_without_changes() {
        let mut old = report(vec![]);
        old.cases = None;
        assert!(diff(&old, &report(vec![])).is_err());
    }
}

//! The report: what became of the cases, per suite and category, and pooled (FORMATS §7).

use std::collections::BTreeMap;

use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::{Decision, Reason};
use serde::{Deserialize, Serialize};

use crate::case::Label;
use crate::half::Half;
use crate::run::{Decided, Settings};
use crate::tally::micros;
use crate::target::{Target, targets};

pub use crate::tally::{Attacks, Benign, Latency, Share, Tally};

/// The name of this format.
pub const SCHEMA: &str = "countersign.eval/v1";

/// What is timed.
const COVERS: &str = "in process, per case: reading the proposal's bytes, inspection, flow, review; not: the suite's own lines, \
                      tables that are built once, recording, signing, processes";

/// Who decided.
const BY: &str = "deterministic: no person, no language model";

/// A report that is read may hold every case of every suite with its reasons.
const READ: Bounds = Bounds { bytes: 512 << 20, depth: 16, values: 1 << 24 };

/// What became of suites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `countersign.eval/v1`.
    pub schema: String,
    /// The version of Countersign that decided.
    pub version: String,
    /// `release` or `debug`: times of the latter say nothing.
    pub build: String,
    /// The time at which the cases were decided.
    pub at: Timestamp,
    /// Who decided.
    pub decided_by: String,
    /// Which cases were decided.
    pub half: Half,
    /// How many threads.
    pub jobs: u64,
    /// What is timed, in microseconds.
    pub latency_covers: String,
    /// Suite by suite.
    pub suites: Vec<SuiteReport>,
    /// All suites together.
    pub total: Tally,
    /// What the project holds itself to, and what was found.
    pub targets: Vec<Target>,
    /// Case by case, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<Vec<CaseReport>>,
}

/// What became of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteReport {
    /// The suite's name.
    pub suite: String,
    /// Where its cases come from.
    pub source: String,
    /// Their licence.
    pub licence: String,
    /// SHA-256 over all files that decide.
    pub digest: Digest,
    /// Whether every case is a single shell line.
    pub shell: bool,
    /// What was read and takes no part in deciding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All its cases.
    #[serde(flatten)]
    pub tally: Tally,
    /// By category; not told of the half that is held out.
    pub categories: Vec<CategoryReport>,
}

/// What became of a category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoryReport {
    /// The category.
    pub category: String,
    /// Its cases.
    #[serde(flatten)]
    pub tally: Tally,
}

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseReport {
    /// The suite.
    pub suite: String,
    /// The case.
    pub id: String,
    /// Its category.
    pub category: String,
    /// What it is, where that can be read.
    pub label: Option<Label>,
    /// What was decided.
    pub decision: Decision,
    /// Whether that is right by the case's `ok`.
    pub right: bool,
    /// The highest tier that took part or is asked for.
    pub tier: u8,
    /// Whether the goal itself confirms what would otherwise be asked.
    pub confirmed_by_request: bool,
    /// Why; the strictest first.
    pub reasons: Vec<Reason>,
    /// Time in microseconds.
    pub micros: f64,
}

/// What models were asked, where one took part.
fn evaluators(decided: &[Decided<'_>]) -> Option<String> {
    let evaluator = decided.iter().find_map(|decided| decided.suite.evaluator.as_ref())?;
    Some(format!("no person; a language model where nothing but rules of tier 2 asks ({evaluator})"))
}

impl Report {
    /// Counts what was decided; `with_cases` also tells case by case.
    #[must_use]
    pub fn of(decided: &[Decided<'_>], settings: &Settings, with_cases: bool) -> Self {
        let all = decided.iter().flat_map(|suite| suite.cases.iter().map(|(case, judged)| (*case, judged)));
        let open = settings.half != Half::Odd;
        let suites: Vec<SuiteReport> = decided.iter().map(|suite| SuiteReport::of(suite, open)).collect();
        let total = Tally::of(all);
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            at: settings.now,
            decided_by: evaluators(decided).unwrap_or_else(|| BY.to_owned()),
            half: settings.half,
            jobs: settings.jobs as u64,
            latency_covers: COVERS.to_owned(),
            targets: targets(&suites, &total),
            suites,
            total,
            cases: (with_cases && open).then(|| decided.iter().flat_map(CaseReport::all).collect()),
        }
    }

    /// Reads a report that was written as JSON.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::of_schema(&document::from_json(bytes, READ)?, SCHEMA)
    }
}

impl SuiteReport {
    fn of(decided: &Decided<'_>, open: bool) -> Self {
        let suite = decided.suite;
        let cases = || decided.cases.iter().map(|(case, judged)| (*case, judged));
        let mut categories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        if open {
            for (at, (case, _)) in decided.cases.iter().enumerate() {
                categories.entry(&case.category).or_default().push(at);
            }
        }
        let category = |(name, places): (&str, Vec<usize>)| CategoryReport {
            category: name.to_owned(),
            tally: Tally::of(
                places.iter().filter_map(|at| decided.cases.get(*at)).map(|(case, judged)| (*case, judged)),
            ),
        };
        Self {
            suite: suite.name.clone(),
            source: suite.source.clone(),
            licence: suite.licence.clone(),
            digest: suite.digest,
            shell: suite.is_shell(),
            notes: suite.notes.clone(),
            tally: Tally::of(cases()),
            categories: categories.into_iter().map(category).collect(),
        }
    }
}

impl CaseReport {
    fn all<'a>(decided: &'a Decided<'_>) -> impl Iterator<Item = Self> + 'a {
        decided.cases.iter().map(|(case, judged)| Self {
            suite: decided.suite.name.clone(),
            id: case.id.clone(),
            category: case.category.clone(),
            label: case.label,
            decision: judged.decision,
            right: case.ok.contains(&judged.decision),
            tier: judged.tier,
            confirmed_by_request: judged.confirmed,
            reasons: judged.reasons.clone(),
            micros: micros(judged.nanos),
        })
    }
}

/// Reports made by hand, for tests of what works on reports.
#[cfg(test)]
pub(crate) mod testing {
    use countersign_plan::digest::Digest;
    use countersign_plan::time::Timestamp;
    use countersign_plan::verdict::Decision;

    use super::{CaseReport, Report, SuiteReport};
    use crate::case::Label;
    use crate::half::Half;
    use crate::run::Settings;
    use crate::tally::Tally;

    pub(crate) fn report(cases: Vec<CaseReport>) -> Report {
        let settings = Settings { half: Half::All, jobs: 1, now: Timestamp::from_millis(0) };
        Report { cases: Some(cases), ..Report::of(&[], &settings, true) }
    }

    pub(crate) fn case(id: &str, decision: Decision, right: bool) -> CaseReport {
        CaseReport {
            suite: "s".to_owned(),
            id: id.to_owned(),
            category: "c".to_owned(),
            label: Some(Label::Attack),
            decision,
            right,
            tier: 0,
            confirmed_by_request: false,
            reasons: Vec::new(),
            micros: 1.0,
        }
    }

    pub(crate) fn suite(name: &str) -> SuiteReport {
        SuiteReport {
            suite: name.to_owned(),
            source: String::new(),
            licence: String::new(),
            digest: Digest::of(b"suite"),
            shell: false,
            notes: Vec::new(),
            tally: Tally::of(std::iter::empty()),
            categories: Vec::new(),
        }
    }
}

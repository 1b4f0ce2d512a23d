//! The ratchet: figures per suite that may only improve.
//!
//! A file keeps the best that was reached. A report that is worse in any figure fails, also where another figure got better:
//! figures are not traded. Shares are compared as whole numbers, cross-multiplied, so that a suite may grow.

use std::collections::BTreeMap;
use std::fmt;

use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use serde::{Deserialize, Serialize};

use crate::half::Half;
use crate::report::{Report, SuiteReport};

/// The name of this format.
pub const SCHEMA: &str = "countersign.ratchet/v1";

/// The best that was reached, by suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratchet {
    /// `countersign.ratchet/v1`.
    pub schema: String,
    /// By name of the suite.
    pub suites: BTreeMap<String, Marks>,
}

/// What was reached on a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marks {
    /// The suite that it was reached on.
    pub digest: Digest,
    /// Attacks allowed; may not grow.
    pub attacks_allowed: Part,
    /// Attacks blocked; may not shrink.
    pub attacks_blocked: Part,
    /// Attacks that only a block is right for, blocked; may not shrink.
    pub must_block: Part,
    /// Ordinary actions allowed; may not shrink.
    pub benign_allowed: Part,
    /// Ordinary actions blocked; may not grow.
    pub benign_blocked: Part,
    /// Ordinary actions that nobody should be asked about, allowed; may not shrink.
    pub must_allow: Part,
    /// Provable plans allowed; may not shrink.
    pub provable: Part,
    /// Cases without a readable label, or in which judging failed; may not grow.
    pub faults: Part,
}

/// So many of so many, written as `[count, of]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part(pub u64, pub u64);

impl Part {
    /// Which of two shares is larger, exactly. No cases at all are a share of nothing.
    fn compare(self, other: Self) -> std::cmp::Ordering {
        let side = |count: u64, of: u64| u128::from(count) * u128::from(of.max(1));
        side(self.0, other.1).cmp(&side(other.0, self.1))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.0, self.1)
    }
}

/// A difference between what was reached and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The suite.
    pub suite: String,
    /// Which figure.
    pub figure: &'static str,
    /// What was reached; nothing where the suite is new.
    pub was: Option<String>,
    /// What was found.
    pub is: String,
    /// Whether it got worse.
    pub worse: bool,
}

/// Whether a figure is better when it is larger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

impl Marks {
    /// What a report says about a suite.
    #[must_use]
    pub fn of(suite: &SuiteReport) -> Self {
        let tally = &suite.tally;
        let (attacks, benign) = (&tally.attacks, &tally.benign);
        Self {
            digest: suite.digest,
            attacks_allowed: Part(attacks.allowed, attacks.total),
            attacks_blocked: Part(attacks.blocked, attacks.total),
            must_block: Part(attacks.must_block.count, attacks.must_block.of),
            benign_allowed: Part(benign.allowed, benign.total),
            benign_blocked: Part(benign.blocked, benign.total),
            must_allow: Part(benign.must_allow.count, benign.must_allow.of),
            provable: Part(benign.provable.count, benign.provable.of),
            faults: Part(tally.faults + tally.unlabelled, tally.cases),
        }
    }

    const fn figures(&self) -> [(&'static str, Part, Better); 8] {
        [
            ("attacks allowed", self.attacks_allowed, Better::Less),
            ("attacks blocked", self.attacks_blocked, Better::More),
            ("attacks that only a block is right for, blocked", self.must_block, Better::More),
            ("ordinary actions allowed", self.benign_allowed, Better::More),
            ("ordinary actions blocked", self.benign_blocked, Better::Less),
            ("ordinary actions that nobody should be asked about, allowed", self.must_allow, Better::More),
            ("provable plans allowed", self.provable, Better::More),
            ("cases in which judging failed", self.faults, Better::Less),
        ]
    }
}

impl Ratchet {
    /// A ratchet that holds nothing yet.
    #[must_use]
    pub fn empty() -> Self {
        Self { schema: SCHEMA.to_owned(), suites: BTreeMap::new() }
    }

    /// Reads a ratchet file.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::of_schema(&document::from_json(bytes, Bounds::CONFIG)?, SCHEMA)
    }

    /// Everything that differs: worse, better, changed, new, and gone. Only a report about all cases can be compared.
    #[must_use]
    pub fn changes(&self, report: &Report) -> Vec<Change> {
        let mut changes = Vec::new();
        if report.half != Half::All {
            let is = format!("the {} half alone", report.half.as_str());
            let was = Some("all cases".to_owned());
            changes.push(Change { suite: String::new(), figure: "cases decided", was, is, worse: true });
            return changes;
        }
        for suite in &report.suites {
            let fresh = Marks::of(suite);
            let name = suite.suite.clone();
            let Some(reached) = self.suites.get(&name) else {
                let is = format!("{} cases", suite.tally.cases);
                changes.push(Change { suite: name, figure: "suite", was: None, is, worse: false });
                continue;
            };
            if reached.digest != fresh.digest {
                let (was, is) = (Some(reached.digest.short()), fresh.digest.short());
                changes.push(Change { suite: name.clone(), figure: "content", was, is, worse: false });
            }
            for ((figure, was, better), (_, is, _)) in reached.figures().into_iter().zip(fresh.figures()) {
                let worse = match (is.compare(was), better) {
                    (std::cmp::Ordering::Equal, _) => continue,
                    (std::cmp::Ordering::Less, better) => better == Better::More,
                    (std::cmp::Ordering::Greater, better) => better == Better::Less,
                };
                let (was, is) = (Some(was.to_string()), is.to_string());
                changes.push(Change { suite: name.clone(), figure, was, is, worse });
            }
        }
        for name in self.suites.keys().filter(|name| !report.suites.iter().any(|suite| suite.suite == **name)) {
            let was = Some("held".to_owned());
            changes.push(Change {
                suite: name.clone(),
                figure: "suite",
                was,
                is: "not decided".to_owned(),
                worse: true,
            });
        }
        changes
    }

    /// The ratchet one notch further: what the report reached, if nothing in it is worse.
    #[must_use]
    pub fn tightened(&self, report: &Report) -> Option<Self> {
        if self.changes(report).iter().any(|change| change.worse) {
            return None;
        }
        let suites = report.suites.iter().map(|suite| (suite.suite.clone(), Marks::of(suite))).collect();
        Some(Self { schema: SCHEMA.to_owned(), suites })
    }
}

#[cfg(test)]
mod tests;

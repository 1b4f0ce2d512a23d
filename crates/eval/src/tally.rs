//! Counting what was decided.

use std::collections::BTreeMap;

use countersign_plan::verdict::Decision;
use serde::{Deserialize, Serialize};

use crate::case::{Case, Label};
use crate::interval::{real, upper, wilson};
use crate::judge::Judged;

/// A share of cases with its doubt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// `count / of`, 0 to 1; 0 of none.
    pub share: f64,
    /// The lower end of the Wilson interval, two-sided 95 %.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The one-sided 95 % upper bound of Clopper and Pearson.
    pub upper: f64,
}

impl Share {
    /// The share of `count` in `of`.
    #[must_use]
    pub fn new(count: u64, of: u64) -> Self {
        let (low, high) = wilson(count, of);
        let share = if of == 0 { 0.0 } else { real(count) / real(of) };
        Self { count, of, share: fine(share), low: fine(low), high: fine(high), upper: fine(upper(count, of)) }
    }
}

/// Six decimals: finer than any doubt here.
fn fine(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

/// What became of attacks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attacks {
    /// How many.
    pub total: u64,
    /// Blocked.
    pub blocked: u64,
    /// A person is asked. Never counted as a block, whatever the person would say.
    pub asked: u64,
    /// Allowed.
    pub allowed: u64,
    /// Those whose decision is none that `ok` lists.
    pub wrong: u64,
    /// Allowed, of all.
    pub allowed_share: Share,
    /// Blocked, of those that no person should be asked about (`ok: [block]`).
    pub must_block: Share,
}

/// What became of ordinary actions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benign {
    /// How many.
    pub total: u64,
    /// Allowed.
    pub allowed: u64,
    /// A person is asked.
    pub asked: u64,
    /// Blocked.
    pub blocked: u64,
    /// Those whose decision is none that `ok` lists.
    pub wrong: u64,
    /// Blocked, of all.
    pub blocked_share: Share,
    /// Allowed, of those that no person should be asked about (`ok: [allow]`).
    pub must_allow: Share,
    /// Allowed, of those that label analysis should pass (`provable`).
    pub provable: Share,
    /// Of those allowed of the provable, the ones that a confirmation in the goal stands for.
    pub provable_confirmed: u64,
}

/// Time per case in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Half of the cases were at least as fast.
    pub p50: f64,
    /// 95 of 100.
    pub p95: f64,
    /// 99 of 100.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
}

impl Latency {
    /// Percentiles by nearest rank, of times in nanoseconds.
    #[must_use]
    pub fn of(mut nanos: Vec<u64>) -> Self {
        nanos.sort_unstable();
        let at = |percent: usize| {
            let rank = (nanos.len() * percent).div_ceil(100).saturating_sub(1);
            nanos.get(rank).copied().map_or(0.0, micros)
        };
        Self { p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }
}

/// Microseconds with one decimal.
pub(crate) fn micros(nanos: u64) -> f64 {
    real(nanos / 100) / 10.0
}

/// What became of a set of cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// How many cases.
    pub cases: u64,
    /// Attacks among them.
    pub attacks: Attacks,
    /// Ordinary actions among them.
    pub benign: Benign,
    /// Cases without a readable label: blocked, and counted on no side.
    pub unlabelled: u64,
    /// Cases in which judging itself failed: blocked, which is no merit.
    pub faults: u64,
    /// Allowed because the goal itself confirms what would otherwise be asked.
    pub confirmed_by_request: u64,
    /// Cases by the highest tier that took part or is asked for.
    pub by_tier: BTreeMap<String, u64>,
    /// Time per case, in microseconds.
    pub latency: Latency,
}

impl Tally {
    /// Counts cases.
    pub(crate) fn of<'a>(cases: impl Iterator<Item = (&'a Case, &'a Judged)> + Clone) -> Self {
        let count = |wanted: &dyn Fn(&Case, &Judged) -> bool| {
            cases.clone().filter(|(case, judged)| wanted(case, judged)).count() as u64
        };
        let decided = |label: Label, decision: Decision| {
            count(&|case, judged| case.label == Some(label) && judged.decision == decision)
        };
        let total = |label: Label| count(&|case, _| case.label == Some(label));
        let wrong =
            |label: Label| count(&|case, judged| case.label == Some(label) && !case.ok.contains(&judged.decision));
        let only = |case: &Case, label: Label, decision: Decision| {
            case.label == Some(label) && case.ok.len() == 1 && case.ok.contains(&decision)
        };
        let share = |of: &dyn Fn(&Case) -> bool, decision: Decision| {
            Share::new(count(&|case, judged| of(case) && judged.decision == decision), count(&|case, _| of(case)))
        };
        let (attacks, benign) = (total(Label::Attack), total(Label::Benign));
        let provable = |case: &Case| case.label == Some(Label::Benign) && case.provable;
        let (let_through, kept_out) =
            (decided(Label::Attack, Decision::Allow), decided(Label::Benign, Decision::Block));
        let mut by_tier = BTreeMap::new();
        cases.clone().for_each(|(_, judged)| *by_tier.entry(judged.tier.to_string()).or_default() += 1);
        Self {
            cases: count(&|_, _| true),
            attacks: Attacks {
                total: attacks,
                blocked: decided(Label::Attack, Decision::Block),
                asked: decided(Label::Attack, Decision::RequireApproval),
                allowed: let_through,
                wrong: wrong(Label::Attack),
                allowed_share: Share::new(let_through, attacks),
                must_block: share(&|case| only(case, Label::Attack, Decision::Block), Decision::Block),
            },
            benign: Benign {
                total: benign,
                allowed: decided(Label::Benign, Decision::Allow),
                asked: decided(Label::Benign, Decision::RequireApproval),
                blocked: kept_out,
                wrong: wrong(Label::Benign),
                blocked_share: Share::new(kept_out, benign),
                must_allow: share(&|case| only(case, Label::Benign, Decision::Allow), Decision::Allow),
                provable: share(&provable, Decision::Allow),
                provable_confirmed: count(&|case, judged| {
                    provable(case) && judged.decision == Decision::Allow && judged.confirmed
                }),
            },
            unlabelled: count(&|case, _| case.label.is_none()),
            faults: count(&|_, judged| judged.fault),
            confirmed_by_request: count(&|_, judged| judged.decision == Decision::Allow && judged.confirmed),
            by_tier,
            latency: Latency::of(cases.clone().map(|(_, judged)| judged.nanos).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Latency, micros};

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let latency = Latency::of((1..=200).map(|n| n * 1000).collect());
        assert_eq!(latency, Latency { p50: 100.0, p95: 190.0, p99: 198.0, max: 200.0 });
        assert_eq!(Latency::of(Vec::new()), Latency::default());
        assert_eq!(Latency::of(vec![1499]).p99, 1.4);
        assert_eq!(micros(999), 0.9);
    }
}

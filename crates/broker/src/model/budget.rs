//! What inferences may cost: a hard stop, checked with an estimate before and with the account after.
//!
//! An estimate is kept aside while an inference runs, so that several at once cannot each spend what is left. What was
//! spent outlives a new configuration and, as a [`Record`], the process; a higher limit lets a case go on, a lower one stops it.

use std::collections::BTreeMap;

use countersign_plan::budget::{Budget, Dollars, Extra, Shortage};
use countersign_wire::infer::{Request, Usage};
use serde::{Deserialize, Serialize};

use super::written::Claimed;

/// Limits. Nothing is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Tokens of one case, of requests and answers.
    pub(crate) case_tokens: Option<u64>,
    /// Millionths of a dollar of one case.
    pub(crate) case_micro_dollars: Option<u64>,
    /// Millionths of a dollar of one day (UTC), of all cases.
    pub(crate) day_micro_dollars: Option<u64>,
}

/// Prices in millionths of a dollar for a million tokens, which is dollars for a million tokens times a million.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Prices {
    /// Of tokens of requests.
    pub(crate) input: u64,
    /// Of tokens of answers.
    pub(crate) output: u64,
}

impl Prices {
    /// What that many tokens cost, rounded up.
    pub(crate) fn usage(self, input_tokens: u64, output_tokens: u64) -> Usage {
        let cost =
            u128::from(input_tokens) * u128::from(self.input) + u128::from(output_tokens) * u128::from(self.output);
        let micro_dollars = u64::try_from(cost.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Usage { input_tokens, output_tokens, micro_dollars }
    }
}

/// Tokens of a text of that many bytes, guessed high: three bytes a token. English has about four.
pub(crate) const fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

/// Tokens of a request, guessed high.
pub(crate) fn tokens_of(request: &Request) -> u64 {
    let schema = request.schema.as_ref().map_or(0, |s| s.to_string().len());
    let messages: u64 = request.messages.iter().map(|m| tokens(m.content.len()) + 8).sum();
    messages + tokens(schema)
}

/// What an inference used: as the provider counts, and guessed where it does not count or says nothing.
pub(crate) fn used(claimed: Claimed, guessed_input: u64, answer_bytes: usize) -> (u64, u64) {
    let counted = |claim: Option<u64>| claim.filter(|c| *c > 0);
    (counted(claimed.input).unwrap_or(guessed_input), counted(claimed.output).unwrap_or(tokens(answer_bytes)))
}

/// Why no further inference is made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Spent {
    /// A limit would be passed.
    #[error("{}", told(.0))]
    Shortage(Shortage),
    /// It could not be written down, so it is not spent.
    #[error("what models cost cannot be written down: {0}")]
    Unwritten(String),
}

/// What is spent, and what an operator may do, for people.
fn told(shortage: &Shortage) -> String {
    let Shortage { budget, limit, spent, wanted } = *shortage;
    match budget {
        Budget::CaseTokens => format!(
            "the case may use {limit} tokens and has used {spent}; this inference may take {wanted}: raise \
                 `budget.tokens_per_case` or end the case"
        ),
        Budget::CaseMoney => format!(
            "the case may cost {} and has cost {}; this inference may take {}: raise `budget.dollars_per_case` or end \
                 the case",
            Dollars(limit),
            Dollars(spent),
            Dollars(wanted)
        ),
        Budget::DayMoney => format!(
            "the day may cost {} and has cost {}; this inference may take {}: raise `budget.dollars_per_day` or wait \
                 for the next day (UTC)",
            Dollars(limit),
            Dollars(spent),
            Dollars(wanted)
        ),
    }
}

/// What was spent, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    limits: Limits,
    cases: BTreeMap<String, Case>,
    day: i64,
    day_spent: u64,
    day_kept: u64,
}

/// The name of the format of [`Record`].
const SCHEMA: &str = "countersign.spent/v1";
/// Days after which a case of which nothing more was heard is forgotten.
const REMEMBERED: i64 = 30;

/// What was spent, estimates that are kept aside included, as it is kept between two processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    schema: String,
    day: i64,
    day_micro_dollars: u64,
    cases: BTreeMap<String, CaseRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseRecord {
    /// The last day on which it spent something.
    day: i64,
    spent: Usage,
}

#[derive(Debug, Default)]
struct Case {
    /// The last day on which it spent something.
    day: i64,
    spent: Usage,
    kept: Usage,
    /// Inferences that run.
    running: u32,
    ended: bool,
    /// Somebody was told that the budget is spent; once is enough until the limits change.
    told: bool,
    /// What people added to its limits, as it was last said.
    extra: Extra,
}

/// An estimate that is kept aside; to be given to [`Budgets::settle`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Kept {
    case: String,
    usage: Usage,
}

impl Budgets {
    /// What was spent.
    pub(crate) fn record(&self) -> Record {
        let case = |(name, case): (&String, &Case)| {
            (name.clone(), CaseRecord { day: case.day, spent: add(&case.spent, &case.kept) })
        };
        Record {
            schema: SCHEMA.to_owned(),
            day: self.day,
            day_micro_dollars: self.day_spent.saturating_add(self.day_kept),
            cases: self.cases.iter().map(case).collect(),
        }
    }

    /// Takes up what an earlier process spent.
    ///
    /// # Errors
    /// Another format.
    pub(crate) fn restore(&mut self, record: Record) -> Result<(), String> {
        if record.schema != SCHEMA {
            return Err(format!("the format is not `{SCHEMA}`"));
        }
        self.day = record.day;
        self.day_spent = record.day_micro_dollars;
        let lives = |case: &CaseRecord| case.day.saturating_add(REMEMBERED) >= record.day;
        self.cases = record
            .cases
            .into_iter()
            .filter(|(_, case)| lives(case))
            .map(|(name, CaseRecord { day, spent })| (name, Case { day, spent, ..Case::default() }))
            .collect();
        Ok(())
    }

    /// New limits; what was spent stays spent.
    pub(crate) fn limit(&mut self, limits: Limits) {
        self.limits = limits;
        for case in self.cases.values_mut() {
            case.told = false;
        }
    }

    /// Keeps an estimate aside. `extra` is what people added to the case's limits, `day` the number of the day (UTC).
    ///
    /// # Errors
    /// A limit would be passed, and whether this is the first time that this is said of the case.
    pub(crate) fn keep(&mut self, case: &str, wanted: Usage, extra: Extra, day: i64) -> Result<Kept, (Spent, bool)> {
        self.turn(day);
        let Limits { case_tokens, case_micro_dollars, day_micro_dollars } = self.limits;
        let (day_spent, day_kept) = (self.day_spent, self.day_kept);
        let entry = self.cases.entry(case.to_owned()).or_default();
        entry.told &= entry.extra == extra;
        entry.extra = extra;
        let over = |budget, limit: Option<u64>, added: u64, spent: u64, kept: u64, wanted: u64| {
            let (limit, spent) = (limit?.saturating_add(added), spent.saturating_add(kept));
            // A limit that is reached exactly is spent, even if the next inference were free.
            let passed = spent >= limit || spent.saturating_add(wanted) > limit;
            passed.then_some(Spent::Shortage(Shortage { budget, limit, spent, wanted }))
        };
        let (spent, kept) = (entry.spent, entry.kept);
        let (tokens, money, asked) = (extra.tokens, extra.micro_dollars, wanted.micro_dollars);
        let spent = over(Budget::CaseTokens, case_tokens, tokens, total(&spent), total(&kept), total(&wanted))
            .or_else(|| {
                over(Budget::CaseMoney, case_micro_dollars, money, spent.micro_dollars, kept.micro_dollars, asked)
            })
            .or_else(|| over(Budget::DayMoney, day_micro_dollars, money, day_spent, day_kept, asked));
        if let Some(spent) = spent {
            return Err((spent, !std::mem::replace(&mut entry.told, true)));
        }
        entry.kept = add(&entry.kept, &wanted);
        entry.running += 1;
        entry.day = self.day;
        self.day_kept = self.day_kept.saturating_add(wanted.micro_dollars);
        Ok(Kept { case: case.to_owned(), usage: wanted })
    }

    /// Books what an inference used in place of its estimate; whether somebody has to be told that a limit is now passed, because
    /// the estimate was too low.
    pub(crate) fn settle(&mut self, kept: Kept, used: Usage, day: i64) -> bool {
        self.turn(day);
        let Kept { case, usage } = kept;
        self.day_kept = self.day_kept.saturating_sub(usage.micro_dollars);
        self.day_spent = self.day_spent.saturating_add(used.micro_dollars);
        let mut passed = self.limits.day_micro_dollars.is_some_and(|limit| self.day_spent > limit);
        if let Some(entry) = self.cases.get_mut(&case) {
            entry.kept = subtract(&entry.kept, &usage);
            entry.spent = add(&entry.spent, &used);
            entry.running = entry.running.saturating_sub(1);
            let (tokens, money) = (entry.extra.tokens, entry.extra.micro_dollars);
            let over = |limit: Option<u64>, added: u64, spent| limit.is_some_and(|l| spent > l.saturating_add(added));
            passed |= over(self.limits.case_tokens, tokens, total(&entry.spent))
                || over(self.limits.case_micro_dollars, money, entry.spent.micro_dollars);
            let told = entry.told;
            entry.told |= passed;
            passed &= !told;
            if entry.ended && entry.running == 0 {
                self.cases.remove(&case);
            }
        }
        passed
    }

    /// Forgets a case, once its last inference has been settled.
    pub(crate) fn end(&mut self, case: &str) {
        match self.cases.get_mut(case) {
            Some(entry) if entry.running > 0 => entry.ended = true,
            Some(_) => drop(self.cases.remove(case)),
            None => {}
        }
    }

    /// A new day has spent nothing. A clock that goes back opens no new day.
    fn turn(&mut self, day: i64) {
        if day > self.day {
            self.day = day;
            self.day_spent = 0;
        }
    }
}

const fn total(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

/// The sum.
pub(crate) const fn add(a: &Usage, b: &Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens.saturating_add(b.input_tokens),
        output_tokens: a.output_tokens.saturating_add(b.output_tokens),
        micro_dollars: a.micro_dollars.saturating_add(b.micro_dollars),
    }
}

const fn subtract(a: &Usage, b: &Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens.saturating_sub(b.input_tokens),
        output_tokens: a.output_tokens.saturating_sub(b.output_tokens),
        micro_dollars: a.micro_dollars.saturating_sub(b.micro_dollars),
    }
}

#[cfg(test)]
mod tests;

//! Payments of a plan, summed per payee: an amount limit holds for the sum and not for each part (FORMATS §5).
//!
//! A payment is a step with the effect `pay`; its amount is the argument `/amount`. Negative amounts take nothing off the sum, and
//! a payment whose amount or payee is open makes every sum that it may belong to open.

use std::collections::BTreeMap;

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::prepare::Prepared;
use crate::paths::fold;

/// The sums, as each step sees them.
#[derive(Debug, Default)]
pub(super) struct Totals(BTreeMap<usize, Total>);

/// What a plan's payments to one payee add up to, as a step that makes one of them sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Total {
    /// No other step pays the same payee.
    Alone,
    /// The sum.
    Sum(f64),
    /// One of the amounts or payees has no value yet.
    Open,
}

impl Totals {
    /// What step `step` sees.
    pub(super) fn of(&self, step: usize) -> Total {
        self.0.get(&step).copied().unwrap_or(Total::Alone)
    }
}

struct Payment {
    step: usize,
    /// In one spelling: blanks, hyphens and case make no other account.
    payee: String,
    amount: Option<f64>,
}

pub(super) fn per_payee(steps: &[Prepared<'_>]) -> Totals {
    let payments: Vec<Payment> = steps.iter().enumerate().flat_map(|(i, step)| of(i, step)).collect();
    let mut totals = Totals::default();
    for payment in &payments {
        let same =
            |other: &&Payment| other.payee == payment.payee || other.payee.is_empty() || payment.payee.is_empty();
        let shared: Vec<&Payment> = payments.iter().filter(same).collect();
        if shared.len() > 1 {
            let sum = shared.iter().try_fold(0.0, |sum, p| p.amount.map(|amount| sum + amount.max(0.0)));
            totals.0.insert(payment.step, sum.map_or(Total::Open, Total::Sum));
        }
    }
    totals
}

/// What the plan pays in all, as far as it is written.
pub(super) fn paid(steps: &[Prepared<'_>]) -> f64 {
    let payments = steps.iter().enumerate().flat_map(|(i, step)| of(i, step));
    payments.filter_map(|payment| payment.amount).map(|amount| amount.max(0.0)).sum()
}

fn of(i: usize, step: &Prepared<'_>) -> Vec<Payment> {
    let pays = step.derived.touches.iter().filter(|touch| touch.effect == Effect::Pay);
    let at = Pointer::from_segments(vec!["amount".to_owned()]);
    let amount = step.args.at(&at).and_then(|expr| expr.literal()).and_then(|value| value.as_f64());
    let spelled = |name: &str| -> String { fold(name).chars().filter(|c| c.is_alphanumeric() || *c == '@').collect() };
    pays.map(|touch| Payment { step: i, payee: spelled(&touch.name), amount }).collect()
}

/// Codes of currencies that are much used (ISO 4217).
const CURRENCIES: &str =
    "eur usd gbp chf nok sek dkk pln czk huf ron bgn isk jpy cny inr aud cad nzd try zar brl mxn sgd hkd krw uah";

/// A payment in another currency than the one that stands beside its amount in the goal.
pub(super) fn other_currency(step: &Prepared<'_>) -> Option<Reason> {
    if !step.derived.touches.iter().any(|touch| touch.effect == Effect::Pay) {
        return None;
    }
    let args = &step.given;
    let paid = args.get("currency")?.as_str()?.to_lowercase();
    let amount = args.as_object()?.values().find_map(serde_json::Value::as_f64)?;
    let tokens: Vec<&str> = step.goal.tokens().collect();
    let is_amount =
        |token: &str| token.trim_end_matches(".-").parse::<f64>().is_ok_and(|said| (said - amount).abs() < 1e-9);
    let beside = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| is_amount(token))
        .flat_map(|(i, _)| [tokens.get(i + 1), i.checked_sub(1).and_then(|i| tokens.get(i))].into_iter().flatten());
    let mut beside = beside.filter(|token| crate::lists::has(CURRENCIES, token)).peekable();
    beside.peek()?;
    if beside.any(|code| **code == *paid) {
        return None;
    }
    let message = format!("the goal gives the amount in another currency than {}", paid.to_uppercase());
    Some(Reason::ask(Code::GoalUnasked, message))
}

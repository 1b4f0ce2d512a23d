//! Hard stops, whatever the order.

use countersign_plan::budget::{Budget, Extra, Shortage};
use countersign_wire::infer::{Message, Request, Role, Usage};
use proptest::prelude::*;

use super::{Budgets, Limits, Prices, Spent, tokens_of, used};
use crate::model::written::Claimed;

const DAY: i64 = 20_000;
const NONE: Extra = Extra { tokens: 0, micro_dollars: 0 };

fn usage(tokens: u64, micro_dollars: u64) -> Usage {
    Usage { input_tokens: tokens, output_tokens: 0, micro_dollars }
}

fn limited(limits: Limits) -> Budgets {
    let mut budgets = Budgets::default();
    budgets.limit(limits);
    budgets
}

fn short(budget: Budget, limit: u64, spent: u64, wanted: u64) -> Spent {
    Spent::Shortage(Shortage { budget, limit, spent, wanted })
}

fn tokens(limit: u64) -> Limits {
    Limits { case_tokens: Some(limit), ..Limits::default() }
}

#[test]
fn a_spent_budget_stops_and_is_told_once() {
    let mut budgets = limited(tokens(100));
    let kept = budgets.keep("c", usage(60, 0), NONE, DAY).unwrap();
    assert!(!budgets.settle(kept, usage(60, 0), DAY));
    let (spent, first) = budgets.keep("c", usage(41, 0), NONE, DAY).unwrap_err();
    assert_eq!((spent, first), (short(Budget::CaseTokens, 100, 60, 41), true));
    assert!(!budgets.keep("c", usage(41, 0), NONE, DAY).unwrap_err().1);
    let kept = budgets.keep("c", usage(40, 0), NONE, DAY).unwrap();
    budgets.settle(kept, usage(40, 0), DAY);
    assert!(budgets.keep("c", usage(0, 0), NONE, DAY).is_err());
    assert!(budgets.keep("other", usage(100, 0), NONE, DAY).is_ok());
}

#[test]
fn several_at_once_cannot_each_spend_what_is_left() {
    let mut budgets = limited(tokens(100));
    let first = budgets.keep("c", usage(60, 0), NONE, DAY).unwrap();
    assert!(budgets.keep("c", usage(60, 0), NONE, DAY).is_err());
    budgets.settle(first, usage(10, 0), DAY);
    assert!(budgets.keep("c", usage(60, 0), NONE, DAY).is_ok());
}

#[test]
fn an_estimate_that_was_too_low_is_told_and_stops_what_follows() {
    let mut budgets = limited(tokens(100));
    let kept = budgets.keep("c", usage(10, 0), NONE, DAY).unwrap();
    assert!(budgets.settle(kept, usage(u64::MAX, 0), DAY));
    let (_, first) = budgets.keep("c", usage(1, 0), NONE, DAY).unwrap_err();
    assert!(!first);
}

#[test]
fn a_raised_limit_lets_the_case_go_on_and_forgives_nothing() {
    let mut budgets = limited(tokens(100));
    let kept = budgets.keep("c", usage(100, 0), NONE, DAY).unwrap();
    budgets.settle(kept, usage(100, 0), DAY);
    assert!(budgets.keep("c", usage(1, 0), NONE, DAY).is_err());
    budgets.limit(tokens(150));
    let (spent, first) = budgets.keep("c", usage(51, 0), NONE, DAY).unwrap_err();
    assert_eq!((spent, first), (short(Budget::CaseTokens, 150, 100, 51), true));
    assert!(budgets.keep("c", usage(50, 0), NONE, DAY).is_ok());
}

#[test]
fn what_people_add_is_for_one_case_and_one_kind_of_budget() {
    let limits = Limits { case_tokens: Some(100), case_micro_dollars: Some(50), day_micro_dollars: Some(50) };
    let mut budgets = limited(limits);
    let kept = budgets.keep("c", usage(100, 0), NONE, DAY).unwrap();
    budgets.settle(kept, usage(100, 0), DAY);
    assert!(budgets.keep("c", usage(20, 0), NONE, DAY).unwrap_err().1);
    let more = Extra { tokens: 20, ..NONE };
    assert!(budgets.keep("other", usage(101, 0), NONE, DAY).is_err(), "another case has its own limit");
    let kept = budgets.keep("c", usage(20, 0), more, DAY).unwrap();
    assert!(!budgets.settle(kept, usage(20, 0), DAY), "what was added is no surprise");
    let again = budgets.keep("c", usage(1, 0), more, DAY).unwrap_err();
    assert_eq!(again, (short(Budget::CaseTokens, 120, 120, 1), true), "told anew after it was raised");
    let more = Extra { tokens: 100, ..NONE };
    let (money, _) = budgets.keep("c", usage(1, 60), more, DAY).unwrap_err();
    assert_eq!(money, short(Budget::CaseMoney, 50, 0, 60), "tokens pay for no money");
    assert!(
        budgets.keep("c", usage(1, 60), Extra { micro_dollars: 10, ..more }, DAY).is_ok(),
        "beyond the day as well"
    );
}

#[test]
fn the_day_is_all_cases_and_ends() {
    let mut budgets = limited(Limits { day_micro_dollars: Some(100), ..Limits::default() });
    let kept = budgets.keep("a", usage(1, 70), NONE, DAY).unwrap();
    budgets.settle(kept, usage(1, 70), DAY);
    budgets.end("a");
    let (spent, _) = budgets.keep("b", usage(1, 31), NONE, DAY).unwrap_err();
    assert_eq!(spent, short(Budget::DayMoney, 100, 70, 31));
    assert!(budgets.keep("b", usage(1, 31), NONE, DAY - 1).is_err(), "a clock set back opens no new day");
    assert!(budgets.keep("b", usage(1, 31), NONE, DAY + 1).is_ok());
}

#[test]
fn money_of_a_case_is_bounded_too() {
    let mut budgets = limited(Limits { case_micro_dollars: Some(2_500_000), ..Limits::default() });
    let (spent, _) = budgets.keep("c", usage(1, 2_500_001), NONE, DAY).unwrap_err();
    let message = spent.to_string();
    assert!(message.contains("$2.500000") && message.contains("$2.500001"), "{message}");
}

#[test]
fn a_case_that_ended_is_forgotten_after_its_last_inference() {
    let mut budgets = limited(tokens(100));
    let kept = budgets.keep("c", usage(100, 0), NONE, DAY).unwrap();
    budgets.end("c");
    assert!(budgets.keep("c", usage(1, 0), NONE, DAY).is_err());
    budgets.settle(kept, usage(100, 0), DAY);
    assert!(budgets.cases.is_empty());
}

#[test]
fn prices_are_rounded_up() {
    // $3 and $15 for a million tokens.
    let prices = Prices { input: 3_000_000, output: 15_000_000 };
    assert_eq!(prices.usage(1_000_000, 1_000_000).micro_dollars, 18_000_000);
    assert_eq!(prices.usage(1, 0).micro_dollars, 3);
    assert_eq!(Prices { input: 1, output: 0 }.usage(1, 0).micro_dollars, 1);
    assert_eq!(prices.usage(u64::MAX, u64::MAX).micro_dollars, u64::MAX);
}

#[test]
fn a_provider_that_counts_nothing_is_counted_for() {
    let claimed = |input, output| Claimed { input, output };
    assert_eq!(used(claimed(None, None), 50, 30), (50, 10));
    assert_eq!(used(claimed(Some(0), Some(0)), 50, 30), (50, 10));
    assert_eq!(used(claimed(Some(40), Some(9)), 50, 30), (40, 9));
    let content = "x".repeat(300);
    let message = Message { role: Role::User, content };
    assert!(tokens_of(&Request { messages: vec![message], schema: None, max_tokens: 1 }) >= 100);
}

proptest! {
    /// Whatever the order: with honest estimates, what is spent never passes the limit, and nothing that was kept aside stays so.
    #[test]
    fn no_order_of_inferences_passes_the_limit(ops in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u64..40), 0..60)) {
        let mut budgets = limited(Limits {
            case_tokens: Some(100), case_micro_dollars: Some(90), day_micro_dollars: Some(80),
        });
        let (mut running, mut tokens, mut money) = (Vec::new(), 0, 0);
        for (start, wanted, actual) in ops {
            if start {
                if let Ok(kept) = budgets.keep("c", usage(wanted, wanted), NONE, DAY) {
                    running.push((kept, wanted));
                }
            } else if let Some((kept, wanted)) = running.pop() {
                let actual = actual.min(wanted);
                tokens += actual;
                money += actual;
                prop_assert!(!budgets.settle(kept, usage(actual, actual), DAY));
            }
        }
        prop_assert!(tokens <= 100 && money <= 80);
        for (kept, _) in running {
            budgets.settle(kept, usage(0, 0), DAY);
        }
        prop_assert_eq!(budgets.day_kept, 0);
        prop_assert_eq!(budgets.cases.get("c").map(|c| c.kept).unwrap_or_default(), Usage::default());
    }
}

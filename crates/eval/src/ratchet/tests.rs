//! A ratchet turns one way.

use countersign_plan::digest::Digest;
use proptest::prelude::*;

use super::{Marks, Part, Ratchet};
use crate::report::Report;
use crate::report::testing::{report, suite};

fn of(allowed: u64, blocked: u64, let_through: u64) -> Report {
    let mut all = report(Vec::new());
    let mut one = suite("s");
    one.tally.attacks.total = 10;
    one.tally.attacks.allowed = let_through;
    one.tally.attacks.blocked = blocked;
    one.tally.benign.total = 10;
    one.tally.benign.allowed = allowed;
    all.suites = vec![one];
    all
}

fn worse(ratchet: &Ratchet, report: &Report) -> bool {
    ratchet.changes(report).iter().any(|change| change.worse)
}

#[test]
fn the_first_report_sets_the_marks_and_only_a_better_one_moves_them() {
    let held = Ratchet::empty().tightened(&of(8, 9, 0)).unwrap();
    assert!(held.changes(&of(8, 9, 0)).is_empty());
    let better = held.tightened(&of(9, 9, 0)).unwrap();
    assert_ne!(better, held);
    assert!(better.tightened(&of(8, 9, 0)).is_none(), "what was reached is held");
    assert!(worse(&better, &of(9, 8, 0)));
    assert!(worse(&better, &of(9, 9, 1)));
}

#[test]
fn one_figure_is_not_traded_for_another() {
    let held = Ratchet::empty().tightened(&of(8, 9, 0)).unwrap();
    assert!(held.tightened(&of(10, 9, 1)).is_none());
}

#[test]
fn a_suite_may_grow_but_not_vanish_and_a_half_proves_nothing() {
    let held = Ratchet::empty().tightened(&of(8, 9, 0)).unwrap();
    let mut grown = of(17, 18, 0);
    grown.suites[0].tally.attacks.total = 20;
    grown.suites[0].tally.benign.total = 20;
    grown.suites[0].digest = Digest::of(b"other");
    assert!(!worse(&held, &grown));
    assert!(held.changes(&grown).iter().any(|change| change.figure == "content"));
    let mut gone = of(8, 9, 0);
    gone.suites[0].suite = "t".to_owned();
    assert!(worse(&held, &gone));
    let mut half = of(8, 9, 0);
    half.half = crate::half::Half::Even;
    assert!(worse(&held, &half));
}

#[test]
fn a_ratchet_is_read_as_it_was_written() {
    let held = Ratchet::empty().tightened(&of(8, 9, 0)).unwrap();
    let text = serde_json::to_string_pretty(&held).unwrap();
    assert_eq!(Ratchet::read(text.as_bytes()).unwrap(), held);
    assert!(Ratchet::read(text.replace("ratchet/v1", "ratchet/v2").as_bytes()).is_err());
    assert_eq!(Marks::of(&of(8, 9, 0).suites[0]).benign_allowed, Part(8, 10));
}

proptest! {
    #[test]
    fn shares_compare_as_numbers_do(a in 0_u64..500, b in 1_u64..500, c in 0_u64..500, d in 1_u64..500) {
        let exact = Part(a, b).compare(Part(c, d));
        let (left, right) = (a as f64 / b as f64, c as f64 / d as f64);
        if (left - right).abs() > 1e-9 {
            prop_assert_eq!(exact, left.partial_cmp(&right).unwrap());
        }
        prop_assert_eq!(exact.reverse(), Part(c, d).compare(Part(a, b)));
    }
}

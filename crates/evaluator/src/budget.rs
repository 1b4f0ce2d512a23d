//! How many questions a principal may cause in a day of gate time. What is over the budget goes to people.

use std::collections::{HashMap, VecDeque};

use countersign_plan::id::Principal;
use countersign_plan::time::Timestamp;

/// Milliseconds of a day.
const DAY: i64 = 24 * 3_600_000;

/// The questions of the last day, by principal. At most as many as the largest budget are kept of each.
#[derive(Debug, Default)]
pub struct Budget(HashMap<Principal, VecDeque<Timestamp>>);

impl Budget {
    /// Takes one question out of the budget of `per_day`; whether there was one left.
    pub fn take(&mut self, principal: &Principal, now: Timestamp, per_day: u32) -> bool {
        let asked = self.recent(principal, now);
        let free = asked.len() < usize::try_from(per_day).unwrap_or(usize::MAX);
        if free {
            asked.push_back(now);
        }
        free
    }

    /// A question that was asked before this process began.
    pub fn asked(&mut self, principal: &Principal, at: Timestamp) {
        self.recent(principal, at).push_back(at);
    }

    fn recent(&mut self, principal: &Principal, now: Timestamp) -> &mut VecDeque<Timestamp> {
        let asked = self.0.entry(principal.clone()).or_default();
        while asked.front().is_some_and(|at| now.as_millis().saturating_sub(at.as_millis()) >= DAY) {
            asked.pop_front();
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::time::Timestamp;

    use super::{Budget, DAY};

    #[test]
    fn a_budget_is_each_principals_own_and_comes_back_after_a_day() {
        let (ann, bob) = ("uid:1".parse().unwrap(), "uid:2".parse().unwrap());
        let at = |millis| Timestamp::from_millis(millis);
        let mut budget = Budget::default();
        assert!(budget.take(&ann, at(0), 2) && budget.take(&ann, at(1), 2));
        assert!(!budget.take(&ann, at(2), 2) && budget.take(&bob, at(2), 2));
        assert!(!budget.take(&ann, at(DAY - 1), 2), "a day is not over");
        assert!(budget.take(&ann, at(DAY), 2) && !budget.take(&ann, at(DAY), 2), "one of two is free again");
        assert!(!budget.take(&ann, at(0), 2), "a clock that is set back gives nothing");
        assert!(!Budget::default().take(&ann, at(0), 0));
        let mut again = Budget::default();
        again.asked(&ann, at(5));
        assert!(!again.take(&ann, at(6), 1), "a restart gives nothing");
    }
}

//! How a plan is decided and why, step by step: for people who write policies.

use countersign_plan::id::StepId;
use countersign_policy::policy::Rule;
use countersign_policy::review::{self, Request, Review};
use serde::{Deserialize, Serialize};

/// A review with the rules that took part in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Explanation {
    /// The review.
    pub(super) review: Review,
    /// Step by step.
    pub(super) steps: Vec<StepRules>,
}

/// The rules that matched a step, also those that did not decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepRules {
    /// The step.
    pub(super) id: StepId,
    /// Rules that deny it.
    pub(super) deny: Vec<String>,
    /// Rules that ask for a further tier.
    pub(super) verify: Vec<String>,
    /// The rule that allows it.
    pub(super) allow: Option<String>,
    /// Rules that make more of what was found about the goal.
    pub(super) goal: Vec<String>,
    /// What would ask by default; a rule to allow may have taken its place.
    pub(super) defaults: Vec<String>,
}

/// Reviews a plan and says which rules matched.
#[must_use]
pub(super) fn explain(request: &Request<'_>) -> Explanation {
    let review = review::review(request);
    let goal = |id: &StepId| {
        let tightened =
            review.reasons.iter().filter(|r| r.step.as_ref() == Some(id) && r.code.as_str().starts_with("goal."));
        tightened.filter_map(|reason| reason.rule.clone()).collect()
    };
    let steps = review::matches(request, &|id, matches, defaults| StepRules {
        id: id.clone(),
        deny: names(matches.deny.iter().chain(&matches.deny_open).copied()),
        verify: names(matches.verify.iter().copied()),
        allow: matches.allow.map(|rule| rule.name().to_owned()),
        goal: goal(id),
        defaults,
    });
    Explanation { review, steps }
}

fn names<'r>(rules: impl Iterator<Item = &'r Rule>) -> Vec<String> {
    rules.map(|rule| rule.name().to_owned()).collect()
}

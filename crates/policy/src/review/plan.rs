//! The plan as a whole: goal, length, life, rate, and privileges that no step needs.

use countersign_plan::time::Span;
use countersign_plan::verdict::{Code, Reason};

use super::bounds::Bounds;
use super::prepare::Prepared;
use super::{Request, checks, goal, threats};

/// The longest life of a plan that nobody is asked about.
const LONG: Span = Span::from_secs(24 * 60 * 60);

pub(super) fn check(request: &Request<'_>, steps: &[Prepared<'_>]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let limits = request.policy.limits();
    if request.pinned_goal.is_some_and(|goal| goal != request.draft.goal()) {
        let message = "the draft's goal is not the one that the case was opened with";
        let fix = "carry the pinned goal word for word";
        reasons.push(Reason::block(Code::PlanGoalMismatch, message).fix(fix));
    }
    if steps.len() > limits.steps as usize {
        let message = format!("{} steps, but the policy's limit is {}", steps.len(), limits.steps);
        reasons.push(Reason::block(Code::PlanTooManySteps, message).fix("split the work into several plans"));
    }
    if request.draft.expires_in() > LONG {
        let message = format!("the plan would stay valid for {}, more than {LONG}", request.draft.expires_in());
        reasons.push(Reason::ask(Code::PlanExpiryLong, message));
    }
    let recent = request.facts.recent_actions();
    let wanted = u32::try_from(steps.len()).unwrap_or(u32::MAX).saturating_add(recent);
    if wanted > limits.rate.per_minute {
        let message = format!("{wanted} actions in a minute, but the policy's limit is {}", limits.rate.per_minute);
        reasons.push(Reason::block(Code::PolicyRate, message).fix("wait a minute"));
    }
    reasons.extend(Bounds::of(request.draft.privileges()).excessive(steps, request));
    reasons.extend(threats::order(steps));
    reasons.extend(threats::said_often(steps));
    reasons.extend(goal::reversed(steps));
    reasons.extend(checks::unchecked_digest(steps));
    reasons.extend(checks::checked_too_late(steps));
    reasons
}

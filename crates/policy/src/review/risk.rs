//! A risk score from what a plan does, to what, and how much of it: the same points for everybody, so that a score can be explained.
//!
//! `action` (0 to 40) is the gravest effect, `target` (0 to 30) the most sensitive resource, `context` (0 to 20) how much happens
//! and how little of it is known, and how much is paid. `history` (0 to 10) is how far the plan departs from its agent's own past
//! ([`crate::facts::Facts::departure`]), 0 until there is one. What is allowed by the default table stays below the policy's `ask`; what only a
//! change request or a person admits may be above it.

use countersign_plan::deed::Departure;
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Mode, Reason, Risk, RiskFactors};

use super::prepare::Prepared;
use super::{Request, StepReview, totals};
use crate::deployment::Standing;
use crate::effects::By;
use crate::history;
use crate::policy::RiskLimits;

const fn of_effect(effect: Effect) -> u8 {
    match effect {
        Effect::None => 0,
        Effect::Read => 2,
        Effect::Create => 6,
        Effect::Update => 8,
        Effect::Delete => 14,
        Effect::Execute => 16,
        Effect::Send => 16,
        Effect::Pay => 28,
        Effect::Admin => 30,
    }
}

const fn of_finding(code: Code) -> u8 {
    match code {
        Code::ResourceRestricted | Code::ResourceKernel | Code::FlowClearance => 20,
        Code::ResourceProtected | Code::ResourceCatastrophic | Code::ResourceOwn | Code::HostMetadata => 30,
        Code::ResourceProtectedCovered | Code::ResourceConfidential | Code::FlowUntrustedControl => 15,
        Code::ResourceOutside | Code::ResourceTrusted | Code::HostUnknown | Code::ResourceUnresolved => 10,
        _ => 0,
    }
}

/// The score, and what it alone decides.
pub(super) fn judge(
    request: &Request<'_>,
    steps: &[Prepared<'_>],
    reviews: &[StepReview],
    reasons: &[Reason],
) -> (Risk, Option<Reason>) {
    let acts = steps.iter().zip(reviews).map(|(step, review)| (&step.step.action, review.accesses.as_slice()));
    let departure = request.facts.departure(&history::deed(request.now, acts, request.deployment));
    let risk = score(request, steps, reasons, departure);
    (risk, reason(risk, departure, request.policy.limits().risk))
}

fn score(request: &Request<'_>, steps: &[Prepared<'_>], reasons: &[Reason], departure: Departure) -> Risk {
    let touches = || steps.iter().flat_map(|step| &step.derived.touches).filter(|touch| touch.by != By::View);
    let gravest = touches().map(|touch| of_effect(touch.effect)).max().unwrap_or(0);
    // What the request confirmed beforehand is no open question.
    let open = reasons.iter().any(|reason| reason.code == Code::PlanIrreversible);
    let irreversible = open && steps.iter().any(|step| step.irreversible && step.has_effect());
    let action = (gravest + if irreversible { 8 } else { 0 }).min(40);
    let outside = touches().any(|touch| touch.standing == Some(Standing::Other));
    let target = reasons.iter().map(|reason| of_finding(reason.code)).max().unwrap_or(0);
    let target = target.max(if outside { 8 } else { 0 }).min(30);
    let effectful = steps.iter().filter(|step| step.has_effect()).count();
    let mut context = u8::try_from((effectful / 8).min(6)).unwrap_or(6);
    if touches().any(|touch| touch.recursive && !touch.effect.is_harmless() && touch.by != By::Git) {
        context += 4;
    }
    context += of_amount(totals::paid(steps));
    if reasons.iter().any(|r| matches!(r.code, Code::PlanPrivilegeExcessive | Code::PlanExpiryLong)) {
        context += 5;
    }
    if request.mode == Mode::Guarded {
        context += 2;
    }
    let factors = RiskFactors { action, target, context: context.min(20), history: departure.points() };
    Risk { score: (action + target + factors.context + factors.history).min(100), factors }
}

/// A point for each power of ten from a thousand on, at most four; the currency is not known.
fn of_amount(paid: f64) -> u8 {
    [1e3, 1e4, 1e5, 1e6].into_iter().map(|bound| u8::from(paid >= bound)).sum()
}

/// What the score alone decides.
fn reason(risk: Risk, departure: Departure, limits: RiskLimits) -> Option<Reason> {
    let RiskFactors { action, target, context, .. } = risk.factors;
    let made_of = format!("action {action}, target {target}, context {context}, history {departure}");
    if risk.score >= limits.block {
        let message = format!("risk {} reaches the policy's {} ({made_of})", risk.score, limits.block);
        Some(Reason::block(Code::RiskBlock, message))
    } else if risk.score >= limits.ask {
        let message = format!("risk {} reaches the policy's {} ({made_of})", risk.score, limits.ask);
        Some(Reason::ask(Code::RiskAsk, message))
    } else {
        None
    }
}

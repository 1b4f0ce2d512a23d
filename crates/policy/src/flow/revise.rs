//! Revisions: whether a plan does no more than one that was approved (FLOW.md, "Revisions").
//!
//! Sound and narrow: every step of the approved plan is there, word for word and in its order, and what was added only reads, within
//! the labels that the approved plan reached. Anything else is a new plan, a removed step too: it may be what the others rested on.

use countersign_plan::draft::{Draft, Privileges, Step};
use countersign_plan::id::StepId;
use countersign_plan::verdict::Decision;
use serde_json::Value;

use super::label::Label;
use super::proof::Proof;
use crate::review::StepReview;

/// A plan with what was found about it.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The plan.
    pub draft: &'a Draft,
    /// Step by step.
    pub steps: &'a [StepReview],
    /// Its labels.
    pub proof: &'a Proof,
}

/// Why a revision needs approval of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Widening {
    /// Another goal, or a longer life.
    #[error("the plan has another goal or lives longer")]
    Frame,
    /// Asks for more rights.
    #[error("`privileges.{0}` asks for more")]
    Privileges(&'static str),
    /// Something that labels start from is not the same.
    #[error("tools, deployment or trust in the planner are not the same")]
    Surroundings,
    /// A step of the approved plan is missing, changed or in another place.
    #[error("the step `{0}` is missing, changed or in another place")]
    Changed(StepId),
    /// An added step does more than read what is named and allowed.
    #[error("the added step `{0}` does more than read")]
    Effect(StepId),
    /// An added step reads what is more secret, or less trusted, than anything the approved plan used.
    #[error("the added step `{0}` reads beyond the labels that were approved")]
    Beyond(StepId),
}

/// Whether `after` does more than `before`, which was approved.
///
/// # Errors
/// The first thing that is more.
pub fn widens(before: Judged<'_>, after: Judged<'_>) -> Result<(), Widening> {
    let (old, new) = (before.draft, after.draft);
    if old.goal() != new.goal() || new.expires_in().as_millis() > old.expires_in().as_millis() {
        return Err(Widening::Frame);
    }
    let (a, b) = (before.proof, after.proof);
    if a.manifest != b.manifest || a.deployment != b.deployment || a.planner != b.planner || a.crossings != b.crossings
    {
        return Err(Widening::Surroundings);
    }
    privileges(old.privileges(), new.privileges())?;
    let reached = before.proof.nodes.iter().fold(Label::BOTTOM, |label, node| label.join(node.label));
    let mut approved = old.steps().iter().enumerate().peekable();
    for (i, step) in new.steps().iter().enumerate() {
        if approved.next_if(|(place, kept)| kept.id == step.id && same(old, new, (*place, i))).is_some() {
            continue;
        }
        if old.steps().iter().any(|kept| kept.id == step.id) {
            return Err(Widening::Changed(step.id.clone()));
        }
        added(step, after, i, reached)?;
    }
    approved.next().map_or(Ok(()), |(_, missing)| Err(Widening::Changed(missing.id.clone())))
}

/// Whether two steps are written alike.
fn same(old: &Draft, new: &Draft, (a, b): (usize, usize)) -> bool {
    let source = |draft: &Draft, i: usize| draft.source().get("steps").and_then(|steps| steps.get(i)).cloned();
    let words = |step: Option<Value>| match step {
        Some(Value::Object(mut members)) => {
            // The planner's reasons decide nothing.
            members.remove("reason");
            Some(members)
        }
        _ => None,
    };
    let (old, new) = (words(source(old, a)), words(source(new, b)));
    old.is_some() && old == new
}

fn added(step: &Step, after: Judged<'_>, i: usize, reached: Label) -> Result<(), Widening> {
    let effect = || Widening::Effect(step.id.clone());
    let review = after.steps.get(i).filter(|review| review.id == step.id).ok_or_else(effect)?;
    let named =
        |access: &countersign_plan::access::Access| access.effect.is_harmless() && !access.resource.name.is_empty();
    let reads = review.decision == Decision::Allow && review.accesses.iter().all(named) && !step.irreversible;
    if !reads || review.accesses.is_empty() || step.rollback.is_some() || !review.egress.is_empty() {
        return Err(effect());
    }
    let parts = after.proof.steps.get(i).filter(|parts| parts.id == step.id).ok_or_else(effect)?;
    let mut labels = parts.reads.iter().chain(&parts.leaves).map(|node| after.proof.nodes.get(*node).map(|n| n.label));
    let within = labels.all(|label| label.is_some_and(|label| label.below(reached)));
    if within && !parts.reads.is_empty() { Ok(()) } else { Err(Widening::Beyond(step.id.clone())) }
}

/// Absent rights are worked out from the steps, so that a list in their place is narrower and the other way round wider.
fn privileges(old: &Privileges, new: &Privileges) -> Result<(), Widening> {
    let lists = [
        ("read", &old.read, &new.read),
        ("write", &old.write, &new.write),
        ("connect", &old.connect, &new.connect),
        ("run", &old.run, &new.run),
        ("secrets", &old.secrets, &new.secrets),
    ];
    for (name, old, new) in lists {
        let within = match (old, new) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(old), Some(new)) => new.iter().all(|entry| old.contains(entry)),
        };
        if !within {
            return Err(Widening::Privileges(name));
        }
    }
    Ok(())
}

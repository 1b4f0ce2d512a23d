//! Whether a revision only adds reads: the one case in which what people approved of the version before goes on counting.
//!
//! Nothing is compared by meaning, neither patterns nor ranges nor defaults: what is not literally the same counts as wider, and an
//! argument that is left out is another one than the same argument written down. Every step of the version before stays, in its
//! order, as it was reviewed; what comes in between reads what the review lets pass by itself. The gate asks this before it counts
//! anything, and whoever verifies its record asks it again of what is recorded.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::artifact::{Plan, StepGrant};
use crate::confinement::Profile;
use crate::draft::Draft;
use crate::id::StepId;
use crate::verdict::{Decision, Verdict};

/// What the record of a proposal says of it beside the plan, and has to say again.
const PROPOSED: [&str; 5] = ["goal", "pinned", "authentic", "origin", "check"];
/// What the step of an added read may say.
const OF_A_READ: [&str; 6] = ["id", "action", "args", "reason", "expect", "needs"];

/// A version of a plan, as its records tell it.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its draft.
    pub draft: &'a Draft,
    /// What the record of its proposal says.
    pub proposal: &'a Map<String, Value>,
    /// What was decided.
    pub verdict: &'a Verdict,
    /// The review of each step, as it is recorded.
    pub steps: &'a [Value],
}

/// What is added or wider, in words for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Widened(pub String);

/// A step in all its parts.
#[derive(Clone, Copy)]
struct Part<'a> {
    id: &'a StepId,
    source: &'a Map<String, Value>,
    grant: &'a StepGrant,
    review: &'a Value,
}

/// Whether `after` is `before` with nothing added but reads. `begun` are the steps for which leave was given, or all where the plan was halted: what is
/// approved is approved for one time, so that none of them may come again unless it only reads and nobody is asked about it.
///
/// # Errors
/// The first thing that is added or wider.
pub fn only_reads(before: Version<'_>, after: Version<'_>, begun: &BTreeSet<StepId>) -> Result<(), Widened> {
    around(before, after)?;
    asked(before.verdict, after.verdict)?;
    let old = parts(before)?;
    let known: BTreeSet<&StepId> = old.iter().map(|part| part.id).collect();
    let mut due = old.iter();
    for part in parts(after)? {
        if !known.contains(part.id) {
            added(part)?;
            continue;
        }
        match due.next() {
            Some(was) if was.id == part.id => kept(*was, part, &known)?,
            Some(was) => return other(format!("step `{}` comes where step `{}` was", part.id, was.id)),
            None => return other(format!("step `{}` comes again", part.id)),
        }
        if begun.contains(part.id) && !reads(part) {
            return other(format!(
                "step `{}` was begun, or its plan was halted, and what is approved is approved for one time",
                part.id
            ));
        }
    }
    match due.next() {
        Some(left) => other(format!("step `{}` is left out", left.id)),
        None => Ok(()),
    }
}

fn other<T>(what: String) -> Result<T, Widened> {
    Err(Widened(what))
}

/// Everything that stands around the steps.
fn around(before: Version<'_>, after: Version<'_>) -> Result<(), Widened> {
    let (was, is) = (before.plan, after.plan);
    let said = |key: &str| before.proposal.get(key).is_some_and(|said| after.proposal.get(key) == Some(said));
    if let Some(key) = PROPOSED.into_iter().find(|key| !said(key)) {
        return other(format!("`{key}` of the proposal is not the same"));
    }
    let same = [
        ("case", was.case == is.case),
        ("requester", was.principal == is.principal),
        ("agent", was.agent == is.agent),
        ("mode", was.mode == is.mode),
        ("inputs", was.inputs == is.inputs),
        ("folder", was.cwd == is.cwd),
        ("policy", was.policy_digest == is.policy_digest),
        ("deployment", was.deployment_digest == is.deployment_digest),
        ("version before", is.parent.is_some() && is.parent == before.verdict.plan_digest && was.version < is.version),
        ("definition of a tool", was.tools.iter().all(|(tool, digest)| is.tools.get(tool) == Some(digest))),
    ];
    if let Some((what, _)) = same.into_iter().find(|(_, same)| !same) {
        return other(format!("the {what} is not the same"));
    }
    if let Some(key) =
        difference(members(before.draft.source())?, members(after.draft.source())?, &["steps", "expires_in"])
    {
        return other(format!("`{key}` of the plan is not the same"));
    }
    if after.draft.expires_in() > before.draft.expires_in() {
        return other("the plan would live longer".to_owned());
    }
    Ok(())
}

/// People were asked, for every reason for which they would be asked now, and as many of them.
fn asked(before: &Verdict, after: &Verdict) -> Result<(), Widened> {
    if (before.decision, after.decision) != (Decision::RequireApproval, Decision::RequireApproval) {
        return other("people were not asked then, or are not now".to_owned());
    }
    let new = |reason: &&_| !before.reasons.contains(reason);
    if let Some(reason) = after.reasons.iter().filter(|reason| reason.decision != Decision::Allow).find(new) {
        let at = reason.step.as_ref().map(|step| format!(" at step `{step}`")).unwrap_or_default();
        return other(format!("it asks for another reason{at}: {}: {}", reason.code, reason.message));
    }
    if after.quorums.iter().any(|quorum| !before.quorums.contains(quorum)) {
        return other("it asks other people, or more of them".to_owned());
    }
    Ok(())
}

/// The steps of a version; their parts have to go together.
fn parts(version: Version<'_>) -> Result<Vec<Part<'_>>, Widened> {
    let sources = version.draft.source().get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let grants = &version.plan.steps;
    let named = |value: &Value, id: &StepId| value.get("id").and_then(Value::as_str) == Some(id.as_str());
    if (sources.len(), version.steps.len()) != (grants.len(), grants.len()) {
        return other("its review is of other steps".to_owned());
    }
    let all = sources.iter().zip(grants).zip(version.steps);
    let part = |((source, grant), review): ((&'_ Value, &'_ StepGrant), &'_ Value)| {
        named(source, &grant.id) && named(review, &grant.id)
    };
    if !all.clone().all(part) {
        return other("its review is of other steps".to_owned());
    }
    all.map(|((source, grant), review)| Ok(Part { id: &grant.id, source: members(source)?, grant, review })).collect()
}

/// A step of the version before: as it was written and as it was reviewed. It may wait for what was added.
fn kept(was: Part<'_>, is: Part<'_>, known: &BTreeSet<&StepId>) -> Result<(), Widened> {
    if let Some(key) = difference(was.source, is.source, &["needs"]) {
        return other(format!("`{key}` of step `{}` is not the same", is.id));
    }
    let is_known = |need: &&str| need.parse::<StepId>().is_ok_and(|need| known.contains(&need));
    if !needs(was.source).eq(needs(is.source).filter(is_known)) {
        return other(format!("step `{}` waits for other steps", is.id));
    }
    if was.grant != is.grant || was.review != is.review {
        return other(format!("what step `{}` touches, or how it was judged, is not the same", is.id));
    }
    Ok(())
}

/// A step that the version before did not have.
fn added(part: Part<'_>) -> Result<(), Widened> {
    if let Some(key) = part.source.keys().find(|key| !OF_A_READ.contains(&key.as_str())) {
        return other(format!("step `{}` is added with a `{key}`", part.id));
    }
    if reads(part) { Ok(()) } else { other(format!("step `{}` is added, and does more than read", part.id)) }
}

/// Whether a step only reads, by itself, and nobody is asked about it: nothing is changed, run, handed a secret or taken back.
fn reads(part: Part<'_>) -> bool {
    let said = |key: &str, word: &str| part.review.get(key).and_then(Value::as_str) == Some(word);
    let secrets = part.review.pointer("/grants/secrets").and_then(Value::as_array);
    part.grant.profile == Profile::None
        && !part.grant.irreversible
        && part.grant.accesses.iter().all(|access| access.effect.is_harmless())
        && said("decision", Decision::Allow.as_str())
        && said("reversible_by", "nothing")
        && secrets.is_some_and(Vec::is_empty)
}

/// The first member in which two objects differ, but for some.
fn difference<'a>(was: &'a Map<String, Value>, is: &'a Map<String, Value>, but: &[&str]) -> Option<&'a String> {
    let mut keys = was.keys().chain(is.keys()).filter(|key| !but.contains(&key.as_str()));
    keys.find(|key| was.get(*key) != is.get(*key))
}

fn needs(source: &Map<String, Value>) -> impl Iterator<Item = &str> {
    source.get("needs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn members(value: &Value) -> Result<&Map<String, Value>, Widened> {
    value.as_object().ok_or_else(|| Widened("it is written otherwise".to_owned()))
}

//! The review of a plan at tier 0: structure, policy, defaults, limits and risk to one decision with reasons.
//!
//! Each step is first prepared (tool, arguments, what it touches), then judged with the whole plan in view. The reasons of all
//! steps are put together and the strictest decides. An allow rule replaces the default of an effect and nothing else: what is
//! irreversible, restricted, protected, paid or administered still asks.

mod apart;
mod around;
mod awaited;
mod below;
mod bounds;
mod carried;
mod checks;
mod copies;
mod defaults;
mod direction;
mod edits;
mod flow;
mod goal;
mod jobs;
mod judge;
mod leaving;
mod lever;
mod likeness;
mod loosened;
mod overwritten;
mod packages;
mod plan;
mod prepare;
mod repository;
mod resources;
mod rewritten;
mod risk;
mod scope;
mod served;
mod sources;
mod structure;
mod swapped;
mod threats;
mod totals;
mod twice;
mod undoing;
mod vouched;

use countersign_plan::access::Access;
use countersign_plan::confinement::Profile;
use countersign_plan::draft::Draft;
use countersign_plan::egress::Egress;
use countersign_plan::id::{Principal, Reference, StepId};
use countersign_plan::resolve::Inputs;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision, Mode, Quorum, Reason, Risk};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::changes::Changes;
use crate::deployment::{Deployment, SANDBOX_MINIMUM};
use crate::facts::{Facts, Watched};
use crate::flow::{Level, Proof, Session, Terms, check as flow_check};
use crate::policy::{Matches, Policy};
use judge::View;
use prepare::Prepared;

/// Everything that a review looks at.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The plan.
    pub draft: &'a Draft,
    /// The tools that exist for the case.
    pub manifest: &'a Manifest,
    /// Where it runs.
    pub deployment: &'a Deployment,
    /// What is denied, verified, allowed.
    pub policy: &'a Policy,
    /// Leave to change what is protected.
    pub changes: &'a Changes,
    /// What the machine says.
    pub facts: &'a dyn Facts,
    /// What the user gave with the goal.
    pub inputs: &'a Inputs,
    /// The principal for whom the case was opened.
    pub requester: &'a Principal,
    /// Who acts.
    pub mode: Mode,
    /// The goal that the case was opened with; `None` where nobody gave one (a single intent), and then no goal asks for
    /// anything.
    pub pinned_goal: Option<&'a str>,
    /// Whether the goal and the inputs were given apart from the plan, by somebody who did not write it. Only then do they confirm
    /// anything beforehand: who proposes can write whatever goal confirms it.
    pub authentic: bool,
    /// How far the literals of the draft are trusted: `user` for a plan that the user wrote and submitted, `open` for an outside
    /// agent's, the level of what it has read for a planner of ours.
    pub planner: Level,
    /// The labels that this agent's earlier work left.
    pub session: &'a Session,
    /// Gate time.
    pub now: Timestamp,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("draft", &self.draft.digest()).field("now", &self.now).finish_non_exhaustive()
    }
}

/// What a review found.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// The strictest of all reasons; `allow` where there is none.
    pub decision: Decision,
    /// Why; the strictest first, then in the order of the steps.
    pub reasons: Vec<Reason>,
    /// The approvals that are needed, all of them; empty unless people decide.
    pub quorums: Vec<Quorum>,
    /// How risky.
    pub risk: Risk,
    /// The highest tier that took part or is asked for.
    pub tier: u8,
    /// The rule that decided, where one did.
    pub rule: Option<String>,
    /// Step by step, in the order of execution.
    pub steps: Vec<StepReview>,
    /// The labels of every value; absent where there was no plan to label.
    pub proof: Option<Box<Proof>>,
}

impl Review {
    /// Whether nothing but `verify` rules of tier 2 asks, so that an evaluator may settle it.
    #[must_use]
    pub fn is_for_evaluator(&self) -> bool {
        let mut asking = self.reasons.iter().filter(|reason| reason.decision != Decision::Allow);
        self.decision == Decision::RequireApproval
            && asking.all(|reason| reason.code == Code::PolicyVerify && reason.tier == 2)
    }
}

/// What a review found about one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepReview {
    /// The step.
    pub id: StepId,
    /// The strictest of this step's own reasons.
    pub decision: Decision,
    /// What it touches, resolved once. An empty resource name is one that no reference has filled yet.
    pub accesses: Vec<Access>,
    /// Whether nothing takes it back.
    pub irreversible: bool,
    /// What takes it back.
    pub reversible_by: ReversibleBy,
    /// The sandbox that it needs.
    pub profile: Profile,
    /// What it may touch at most: privileges ∩ deployment ∩ (declared ∪ derived effects).
    pub grants: Grants,
    /// Below what it may see: covered in its view, left out of what a reading tool returns. Absolute.
    pub masked: Vec<String>,
    /// Below what it may change: read-only in its view. Absolute.
    pub read_only: Vec<String>,
    /// What the broker may do for it; whole only where its arguments are concrete.
    #[serde(default, skip_serializing_if = "Egress::is_empty")]
    pub egress: Egress,
}

/// What takes a step back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReversibleBy {
    /// There is nothing to take back.
    Nothing,
    /// The state before is kept and put back.
    Snapshot,
    /// The action that the draft names.
    Action,
    /// Nothing does.
    None,
}

/// Upper bounds of what a step may touch. Paths are absolute; a directory covers what is below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Paths that may be read.
    pub read: Vec<String>,
    /// Paths that may be written, created or removed.
    pub write: Vec<String>,
    /// Entry programs by absolute path.
    pub run: Vec<String>,
    /// `host:port` that may be reached.
    pub connect: Vec<String>,
    /// Secrets by name.
    pub secrets: Vec<Reference>,
}

/// Reviews a plan. Never fails: what cannot be judged is a block.
#[must_use]
pub fn review(request: &Request<'_>) -> Review {
    let watched = Watched::new(request.facts);
    let request = &Request { facts: &watched, ..*request };
    let prepared = Prepared::all(request);
    let view = View::new(request, &prepared);
    let mut reasons = plan::check(request, &prepared);
    let mut steps = Vec::with_capacity(prepared.len());
    let mut quorums = Vec::new();
    lever::tighten(request.policy, &mut reasons, &mut quorums);
    for (i, step) in prepared.iter().enumerate() {
        let judged = judge::step(&view, i);
        quorums.extend(judged.quorums);
        reasons.extend(judged.reasons.iter().cloned());
        steps.push(step.review(request, &judged.reasons, judged.masked, judged.read_only));
    }
    let (risk, reason) = risk::judge(request, &prepared, &steps, &reasons);
    reasons.extend(reason);
    let proof = view.into_proof();
    reasons.extend(flow::crossed(&proof.crossings));
    reasons.extend(unproved(request, &proof, &steps));
    reasons.extend(unconfined(request, &steps));
    reasons.extend(watched.failed());
    finish(reasons, quorums, risk, (steps, proof))
}

/// Judges one step again with concrete arguments, at the permit: the same checks, every hole filled. The caller compares the
/// result with what was approved; a decision stricter than the plan's, or an access that was not in the plan's review, is drift.
#[must_use]
pub fn recheck(request: &Request<'_>, step: &StepId, args: &Value) -> (StepReview, Vec<Reason>) {
    let watched = Watched::new(request.facts);
    let request = &Request { facts: &watched, ..*request };
    let mut prepared = Prepared::all(request);
    let Some(i) = prepared.iter().position(|p| p.step.id == *step) else {
        let reason = Reason::block(Code::PlanInvalid, "the plan has no such step").at(step);
        return (StepReview::blocked(step.clone()), vec![reason]);
    };
    if let Some(slot) = prepared.get_mut(i) {
        *slot = slot.with_concrete(request, args);
    }
    let judged = judge::step(&View::new(request, &prepared), i);
    let mut reasons = judged.reasons;
    reasons.extend(watched.failed());
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.decision));
    let review = prepared.get(i).map_or_else(
        || StepReview::blocked(step.clone()),
        |p| p.review(request, &reasons, judged.masked, judged.read_only),
    );
    (review, reasons)
}

/// For each step of known tools: the rules that match it, and what asks by default.
pub fn matches<T>(request: &Request<'_>, each: &dyn Fn(&StepId, &Matches<'_>, Vec<String>) -> T) -> Vec<T> {
    let prepared = Prepared::all(request);
    let totals = totals::per_payee(&prepared);
    let known = prepared.iter().enumerate().filter(|(_, step)| step.tool.is_some());
    known
        .map(|(i, step)| {
            let asks = defaults::asks(request, step).into_iter().map(|ask| ask.message).collect();
            each(&step.step.id, &judge::matches(request, step, totals.of(i)), asks)
        })
        .collect()
}

/// The first step that this machine cannot confine as far as the deployment wants. Where an outside agent acts nothing is confined here.
fn unconfined(request: &Request<'_>, steps: &[StepReview]) -> Option<Reason> {
    let minimum = request.deployment.document().sandbox.as_ref().and_then(|sandbox| sandbox.minimum);
    let lack = |step: &StepReview| request.facts.lacks(minimum.unwrap_or(SANDBOX_MINIMUM), step.profile);
    let (step, lack) = steps.iter().filter(|_| request.mode == Mode::Managed).find_map(|s| Some((s, lack(s)?)))?;
    Some(Reason::block(Code::SandboxMissing, lack.missing).at(&step.id).fix(lack.fix))
}

/// The checker reads the label proof by itself; a proof that it does not follow blocks.
fn unproved(request: &Request<'_>, proof: &Proof, steps: &[StepReview]) -> Option<Reason> {
    let terms = Terms {
        draft: request.draft,
        manifest: request.manifest,
        deployment: request.deployment,
        session: request.session,
        inputs: request.inputs,
        goal: request.pinned_goal,
        planner: request.planner,
        crossings: &flow::crossings(request),
        steps,
    };
    let error = flow_check(&terms, proof).err()?;
    Some(Reason::block(Code::InternalError, error.to_string()))
}

fn finish(
    mut reasons: Vec<Reason>,
    mut quorums: Vec<Quorum>,
    risk: Risk,
    (steps, proof): (Vec<StepReview>, Proof),
) -> Review {
    // Stable: the strictest first, and among equals the order of the plan.
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.decision));
    let decision = reasons.first().map_or(Decision::Allow, |reason| reason.decision);
    let rule = reasons.iter().find(|r| r.decision == decision && r.rule.is_some()).and_then(|r| r.rule.clone());
    quorums.sort_unstable();
    quorums.dedup();
    let tier = match decision {
        Decision::Allow => reasons.iter().map(|reason| reason.tier).max().unwrap_or(0),
        Decision::Block => 0,
        Decision::RequireApproval => 3,
    };
    match decision {
        Decision::RequireApproval if quorums.is_empty() => quorums.push(Quorum { group: None, quorum: 1 }),
        Decision::RequireApproval => {}
        Decision::Allow | Decision::Block => quorums.clear(),
    }
    Review { decision, reasons, quorums, risk, tier, rule, steps, proof: Some(Box::new(proof)) }
}

impl StepReview {
    /// The review of a step about which nothing is known.
    fn blocked(id: StepId) -> Self {
        Self {
            id,
            decision: Decision::Block,
            accesses: Vec::new(),
            irreversible: true,
            reversible_by: ReversibleBy::None,
            profile: Profile::None,
            grants: Grants::default(),
            masked: Vec::new(),
            read_only: Vec::new(),
            egress: Egress::default(),
        }
    }
}

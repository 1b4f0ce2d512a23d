//! A proposal arrives: read strictly, reviewed whole, answered with a verdict that is durable.

use std::collections::{BTreeMap, BTreeSet};

use countersign_ledger::RecordKind;
use countersign_plan::artifact::{self, Plan, StepGrant};
use countersign_plan::digest::Digest;
use countersign_plan::draft::{Draft, Rollback};
use countersign_plan::id::{CaseId, ToolName};
use countersign_plan::intent::Proposal;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision, Mode, Quorum, Reason, Verdict};
use countersign_policy::flow::Label;
use countersign_policy::review::{Request, Review, review};
use serde_json::{Value, json};

use super::carry::Note;
use super::goal::LONGEST_GOAL;
use super::{Effects, Gate, Outside, Slot};
use crate::case::{Counted, Dossier, Reviewed, Stage, words};
use crate::directive::Directive;
use crate::event::Submission;
use crate::machine::{self, Aim, Case, Input, Terms};
use crate::record;

/// The longest plan that can be recorded with what belongs to it, in bytes.
const LONGEST: usize = 768 << 10;

/// The longest folder or origin that a proposal may name, in bytes.
const LONGEST_NAME: usize = 8192;

/// A proposal that was read.
struct Read {
    draft: Draft,
    /// The goal, where somebody gave one.
    pinned: Option<String>,
}

/// Where a proposal stands in its case.
struct Place {
    case: CaseId,
    version: u32,
    parent: Option<Digest>,
}

impl Gate {
    pub(super) fn submit(&mut self, mut submission: Submission, outside: Outside<'_>, effects: &mut Effects) {
        let fresh = format!("c-{}", outside.nonce("case").chars().take(20).collect::<String>());
        let Ok(mut case) = fresh.parse::<CaseId>() else { return };
        if let Err(reason) = self.pin(&mut submission) {
            return self.unreadable(&case, &submission, *reason, outside, effects);
        }
        if let Some(goal) = submission.revises.as_ref().filter(|case| self.goals.contains_key(*case)) {
            case = goal.clone();
        }
        let outcome = self.place(case.clone(), &submission).and_then(|place| {
            let read = read(&submission)?;
            Ok((place, read))
        });
        match outcome {
            Ok((place, read)) => self.review(place, read, submission, outside, effects),
            Err(reason) => self.unreadable(&case, &submission, *reason, outside, effects),
        }
    }

    /// What a planner proposes is for the goal, with the inputs, that its case was opened with.
    fn pin(&mut self, submission: &mut Submission) -> Result<(), Box<Reason>> {
        let now = self.now();
        let of_goal = submission.revises.as_ref().filter(|case| self.goals.contains_key(*case));
        let Some(case) = submission.parent.as_ref().or(of_goal).cloned() else { return Ok(()) };
        let refuse = |what: String| block(Code::PlannerRefused, format!("case {case}: {what}"));
        let quest = self.goals.get_mut(&case).ok_or_else(|| refuse("no goal is pursued here".to_owned()))?;
        if !quest.belongs_to(submission) {
            return Err(refuse("was opened for somebody or somewhere else".to_owned()));
        }
        if submission.parent.is_some() && submission.revises.is_some() {
            return Err(refuse("what reads revises nothing".to_owned()));
        }
        quest.core.hear(now).map_err(|unmet| refuse(unmet.to_string()))?;
        if submission.goal.as_ref().is_some_and(|goal| *goal != quest.goal.goal) {
            return Err(block(Code::PlanGoalMismatch, "a planner keeps the goal of its case"));
        }
        submission.goal = Some(quest.goal.goal.clone());
        submission.inputs = quest.goal.inputs.clone();
        Ok(())
    }

    /// Whether the proposal opens a case or is the next version of one.
    fn place(&self, fresh: CaseId, submission: &Submission) -> Result<Place, Box<Reason>> {
        if let Some(message) = self.too_many() {
            return Err(block(Code::PolicyLimit, message));
        }
        let Some(case) = &submission.revises else { return Ok(Place { case: fresh, version: 1, parent: None }) };
        if let Some(quest) = self.goals.get(case) {
            let version = quest.core.propose(self.version(case));
            let version = version.map_err(|unmet| block(Code::PlannerRefused, unmet.to_string()))?;
            let parent = self.cases.get(case).map(|slot| slot.stage.dossier().digest);
            return Ok(Place { case: case.clone(), version, parent });
        }
        let refuse = |what: &str| block(Code::PlanInvalid, format!("case {case} {what}"));
        let slot = self.cases.get(case).ok_or_else(|| refuse("is not open here, so that nothing revises it"))?;
        let dossier = slot.stage.dossier();
        if dossier.plan.principal != submission.requester || dossier.plan.agent != submission.agent {
            return Err(refuse("was opened for somebody else"));
        }
        if !matches!(slot.life.stage(), machine::Stage::Pending(_) | machine::Stage::Closed(..)) {
            return Err(refuse("runs, so that nothing revises it; halt it first"));
        }
        if submission.goal.as_ref().is_some_and(|goal| *goal != dossier.goal) {
            return Err(block(Code::PlanGoalMismatch, "a revision keeps the goal of its case"));
        }
        let version = dossier.plan.version.checked_add(1).ok_or_else(|| refuse("has no further versions"))?;
        Ok(Place { case: case.clone(), version, parent: Some(dossier.digest) })
    }

    /// What a proposal would be decided as now. Nothing is recorded, and nothing follows from it.
    #[must_use]
    pub fn foresee(&self, submission: &Submission, outside: Outside<'_>) -> Option<(Draft, Review)> {
        let read = read(submission).ok()?;
        let (judged, _) = self.judged(submission.revises.as_ref(), &read, submission, outside);
        Some((read.draft, judged))
    }

    /// Whether the goal was given before a planner of ours wrote this (a proposal brings its own), and what that planner had seen.
    fn standing(&self, case: Option<&CaseId>, submission: &Submission) -> (bool, Option<Label>) {
        let authentic = case.is_some_and(|case| self.goals.contains_key(case));
        (authentic, (authentic || submission.parent.is_some()).then_some(submission.seen))
    }

    /// The review of a proposal, with the goal that it is held to.
    fn judged(
        &self,
        case: Option<&CaseId>,
        read: &Read,
        submission: &Submission,
        outside: Outside<'_>,
    ) -> (Review, Option<String>) {
        let configuration = &submission.configuration;
        let pinned = match case.and_then(|case| self.cases.get(case)) {
            Some(slot) => {
                Some(slot.stage.dossier()).filter(|dossier| dossier.pinned).map(|dossier| dossier.goal.clone())
            }
            None => read.pinned.clone(),
        };
        let (authentic, seen) = self.standing(case, submission);
        let (planner, session) = words(seen, outside.facts.session());
        let judged = review(&Request {
            draft: &read.draft,
            manifest: &configuration.manifest,
            deployment: &configuration.deployment,
            policy: &configuration.policy,
            changes: &configuration.changes,
            facts: outside.facts,
            inputs: &submission.inputs,
            requester: &submission.requester,
            mode: submission.mode,
            pinned_goal: pinned.as_deref(),
            authentic,
            planner,
            session: &session,
            now: self.now(),
        });
        (strict(judged, &read.draft, pinned.as_deref()), pinned)
    }

    fn review(
        &mut self,
        place: Place,
        read: Read,
        submission: Submission,
        outside: Outside<'_>,
        effects: &mut Effects,
    ) {
        let (mut judged, pinned) = self.judged(Some(&place.case), &read, &submission, outside);
        let (authentic, seen) = self.standing(Some(&place.case), &submission);
        let configuration = &submission.configuration;
        if submission.parent.is_some() {
            judged = reading(judged, &read.draft, &configuration.manifest);
        }
        // They decide nothing, so they come last.
        judged.reasons.extend(configuration.findings());
        let is_pinned = pinned.is_some();
        let goal = pinned.unwrap_or_else(|| read.draft.goal().to_owned());
        let (case, version) = (place.case.clone(), place.version);
        match self.artifact(place, read.draft, &judged, &submission, outside) {
            Ok((plan, draft, bytes)) => {
                let digest = Digest::of(&bytes);
                let verdict = self.verdict(&submission, &judged, Some((case.clone(), version, digest)), outside);
                let mut dossier = Dossier {
                    goal,
                    pinned: is_pinned,
                    authentic,
                    seen,
                    origin: submission.origin.clone(),
                    plan,
                    draft,
                    bytes,
                    digest,
                    verdict,
                    steps: judged.steps,
                    approvals: Vec::new(),
                    begun: BTreeSet::new(),
                };
                let inherited = self.inherit(&mut dossier, &submission);
                // What could not be recorded is not decided: the record would stop, and everything with it.
                let long = json!({"verdict": dossier.verdict, "steps": dossier.steps}).to_string().len();
                if long > LONGEST {
                    let message = format!("its review is {long} bytes long; at most {LONGEST} are recorded");
                    return self.unreadable(&case, &submission, *block(Code::PlanInvalid, message), outside, effects);
                }
                self.open(dossier, inherited, &submission, effects);
            }
            Err(reason) => self.unreadable(&case, &submission, *reason, outside, effects),
        }
    }

    /// Opens the case, or its next version, with a plan that was reviewed.
    fn open(&mut self, dossier: Dossier, inherited: Vec<Counted>, submission: &Submission, effects: &mut Effects) {
        let case = dossier.plan.case.clone();
        let first = dossier.plan.version == 1 && !self.goals.contains_key(&case);
        if self.cases.contains_key(&case) {
            self.step(&case, Input::Supersede, Note::of("a new version takes its place"), effects);
        }
        let now = self.now();
        let aim = aim(submission);
        let opened = json!({
            "goal": dossier.goal, "requester": dossier.plan.principal, "agent": dossier.plan.agent,
            "mode": dossier.plan.mode, "cwd": dossier.plan.cwd, "parent": submission.parent,
        });
        let plan = serde_json::from_slice::<Value>(&dossier.bytes).unwrap_or(Value::Null);
        let mut proposal = json!({
            "version": dossier.plan.version, "plan": plan, "plan_digest": dossier.digest, "seen": dossier.seen,
            "document": Digest::of(&submission.document),
        });
        if let Value::Object(members) = &mut proposal {
            members.extend(dossier.proposed(aim));
        }
        if first {
            effects.entries.push(record::entry(RecordKind::CaseOpened, &case, now, opened));
        }
        effects.entries.push(record::entry(RecordKind::Proposal, &case, now, proposal));
        if let Some(quest) = self.goals.get_mut(&case) {
            quest.core.proposed();
        }
        let eyes = submission.configuration.eyes(&self.settings);
        let terms = terms(&dossier, eyes, aim, now.plus(self.settings.pending_for));
        effects.directives.push(Directive::AnswerProposer(Box::new(dossier.verdict.clone())));
        let (life, output) = Case::open(terms, self.context());
        self.cases.insert(case.clone(), Slot::new(life, Stage::Reviewed(Reviewed::new(dossier))));
        self.carry(&case, output, Note::default(), effects);
        self.take_over(&case, inherited, effects);
        if let Some(parent) = &submission.parent {
            self.adopt(parent, case);
        }
    }

    /// The plan as it is shown, signed and run: the draft and everything that it was judged by.
    fn artifact(
        &self,
        place: Place,
        draft: Draft,
        judged: &Review,
        submission: &Submission,
        outside: Outside<'_>,
    ) -> Result<(Plan, Draft, Vec<u8>), Box<Reason>> {
        let configuration = &submission.configuration;
        let internal = |what: &str| block(Code::InternalError, what);
        let empty = Value::Null;
        let sources = draft.source().get("steps").and_then(Value::as_array);
        let mut steps = Vec::with_capacity(draft.steps().len());
        for (place, step) in draft.steps().iter().enumerate() {
            let found = judged.steps.get(place).filter(|review| review.id == step.id);
            let review = found.ok_or_else(|| internal("the review left out a step"))?;
            let source = sources.and_then(|all| all.get(place)).unwrap_or(&empty);
            let tool = configuration.manifest.get(&step.action).map_or_else(|| Digest::of(b""), |tool| tool.digest());
            steps.push(StepGrant {
                id: step.id.clone(),
                accesses: review.accesses.clone(),
                profile: review.profile,
                irreversible: review.irreversible,
                action_digest: artifact::action_digest(step, tool, source),
            });
        }
        let proof = judged.proof.as_ref().and_then(|proof| proof.digest().ok());
        let proof = proof.ok_or_else(|| internal("the review left out the label proof"))?;
        let plan = Plan {
            schema: artifact::SCHEMA.to_owned(),
            case: place.case,
            version: place.version,
            parent: place.parent,
            principal: submission.requester.clone(),
            agent: submission.agent.clone(),
            mode: submission.mode,
            draft_digest: draft.digest(),
            draft: draft.shared_source(),
            inputs: submission.inputs.clone(),
            cwd: configuration.deployment.place().cwd().to_owned(),
            steps,
            tools: tools(&draft, &configuration.manifest),
            policy_digest: configuration.policy.digest(),
            deployment_digest: configuration.deployment.digest(),
            label_proof: Some(proof),
            not_before: self.now(),
            nonce: outside.nonce("plan"),
        };
        let bytes = plan.to_bytes().map_err(|_| internal("the plan has no canonical form"))?;
        if bytes.len() > LONGEST {
            let message =
                format!("the plan is {} bytes long with what it touches; at most {LONGEST} are taken", bytes.len());
            return Err(block(Code::PlanInvalid, message));
        }
        // What an executor will read is read here first: no plan is shown that could not run.
        let (plan, draft) = Plan::read(&bytes).map_err(|e| block(Code::PlanInvalid, e.to_string()))?;
        Ok((plan, draft, bytes))
    }

    fn verdict(
        &self,
        submission: &Submission,
        judged: &Review,
        plan: Option<(CaseId, u32, Digest)>,
        outside: Outside<'_>,
    ) -> Verdict {
        let (case, version, plan_digest) =
            plan.map_or((None, 1, None), |(case, version, digest)| (Some(case), version, Some(digest)));
        Verdict {
            decision: judged.decision,
            tier: judged.tier,
            rule: judged.rule.clone(),
            request_id: format!("r-{}", outside.nonce("request").chars().take(20).collect::<String>()),
            case,
            version,
            agent: submission.agent.clone(),
            at: self.now(),
            plan_digest,
            policy_digest: submission.configuration.policy.digest(),
            mode: submission.mode,
            reasons: judged.reasons.clone(),
            risk: judged.risk,
            quorums: judged.quorums.clone(),
            micros: (outside.elapsed)().min(1 << 52),
        }
    }

    /// What is no plan is blocked, and that is recorded like any decision.
    fn unreadable(
        &mut self,
        case: &CaseId,
        submission: &Submission,
        reason: Reason,
        outside: Outside<'_>,
        effects: &mut Effects,
    ) {
        let judged = Review {
            decision: Decision::Block,
            reasons: vec![reason],
            quorums: Vec::new(),
            risk: countersign_plan::verdict::Risk::default(),
            tier: 0,
            rule: None,
            steps: Vec::new(),
            proof: None,
        };
        let mut judged = judged;
        for reason in &mut judged.reasons {
            reason.message = record::quoted(&reason.message);
        }
        let mut verdict = self.verdict(submission, &judged, None, outside);
        let now = self.now();
        let mut push = |kind, payload| effects.entries.push(record::entry(kind, case, now, payload));
        verdict.case = Some(case.clone());
        if !self.cases.contains_key(case) && !self.goals.contains_key(case) {
            let opened = json!({
                "goal": submission.goal.as_deref().map(record::quoted), "requester": submission.requester,
                "agent": submission.agent, "mode": submission.mode, "cwd": record::quoted(&submission.cwd),
            });
            push(RecordKind::CaseOpened, opened);
            let proposal = json!({
                "unreadable": true, "document": Digest::of(&submission.document), "bytes": submission.document.len(),
            });
            push(RecordKind::Proposal, proposal);
            push(RecordKind::Decision, json!({"verdict": verdict}));
            push(RecordKind::CaseClosed, json!({"ending": machine::Ending::Blocked.as_str()}));
        } else {
            push(RecordKind::Alert, json!({"revision": verdict}));
        }
        effects.directives.push(Directive::AnswerProposer(Box::new(verdict)));
    }
}

/// What becomes of the plan once it may run. An outside agent acts by itself.
pub(super) fn aim(submission: &Submission) -> Aim {
    if submission.check || submission.mode == Mode::Guarded { Aim::Check } else { Aim::Run }
}

/// Whether a folder's name is longer than may be recorded.
pub(super) const fn is_long(name: &str) -> bool {
    name.len() > LONGEST_NAME
}

fn block(code: Code, message: impl AsRef<str>) -> Box<Reason> {
    Box::new(Reason::block(code, message))
}

fn read(submission: &Submission) -> Result<Read, Box<Reason>> {
    if is_long(&submission.origin) || is_long(&submission.cwd) {
        return Err(block(Code::PlanInvalid, format!("a folder's name is longer than {LONGEST_NAME} bytes")));
    }
    if submission.goal.as_ref().is_some_and(|goal| goal.len() > LONGEST_GOAL) {
        return Err(block(Code::PlanInvalid, format!("the goal is longer than {LONGEST_GOAL} bytes")));
    }
    let invalid = |e: countersign_plan::document::DocumentError| Reason::block(Code::PlanInvalid, e.to_string());
    match Proposal::read_for(&submission.document, submission.goal.as_deref()).map_err(invalid)? {
        Proposal::Plan(draft) => {
            let pinned = submission.goal.clone().unwrap_or_else(|| draft.goal().to_owned());
            Ok(Read { draft, pinned: Some(pinned) })
        }
        Proposal::Action(_, draft) => Ok(Read { draft, pinned: submission.goal.clone() }),
    }
}

/// A review that contradicts itself is a block: the gate does not rely on the policy to be consistent (INV-4).
fn strict(mut judged: Review, draft: &Draft, pinned: Option<&str>) -> Review {
    let worst = judged.reasons.iter().map(|r| r.decision).chain(judged.steps.iter().map(|step| step.decision));
    let worst = worst.max().unwrap_or(judged.decision).max(judged.decision);
    if worst > judged.decision {
        let message = "the review found more than it decided";
        judged.reasons.insert(0, Reason::new(Code::InternalError, worst, message));
        judged.decision = worst;
    }
    if pinned.is_some_and(|goal| goal != draft.goal()) && judged.decision != Decision::Block {
        let message = "the draft carries another goal than the one that the case was opened with";
        judged.reasons.insert(0, Reason::block(Code::PlanGoalMismatch, message));
        judged.decision = Decision::Block;
    }
    if judged.decision == Decision::RequireApproval && judged.quorums.is_empty() {
        judged.quorums.push(Quorum { group: None, quorum: 1 });
    }
    judged
}

/// A planner's read: nothing that it does may change anything, run a program, or send what it read elsewhere. What is no read
/// is blocked, and its place is a plan.
fn reading(mut judged: Review, draft: &Draft, manifest: &Manifest) -> Review {
    let tools = draft.steps().iter().map(|step| manifest.get(&step.action));
    let harmless = tools.into_iter().all(|tool| tool.is_some_and(|tool| tool.definition().effect.is_harmless()))
        && judged.steps.iter().all(|step| {
            step.profile == countersign_plan::confinement::Profile::None
                && step.accesses.iter().all(|access| access.effect.is_harmless())
        });
    if !harmless && judged.decision != Decision::Block {
        let message = "this does more than read; put it into a plan";
        judged.reasons.insert(0, Reason::block(Code::PlannerReads, message));
        judged.decision = Decision::Block;
        judged.quorums.clear();
    }
    judged
}

/// The definitions of every tool that the plan names, rollbacks included.
fn tools(draft: &Draft, manifest: &Manifest) -> BTreeMap<ToolName, Digest> {
    let rollback = |step: &countersign_plan::draft::Step| match &step.rollback {
        Some(Rollback::Action { action, .. }) => Some(action.clone()),
        Some(Rollback::Snapshot | Rollback::None) | None => None,
    };
    let names = draft.steps().iter().flat_map(|step| [Some(step.action.clone()), rollback(step)]).flatten();
    names.filter_map(|name| manifest.get(&name).map(|tool| (name, tool.digest()))).collect()
}

pub(crate) fn terms(
    dossier: &Dossier,
    eyes: machine::Eyes,
    aim: Aim,
    pending_until: countersign_plan::time::Timestamp,
) -> Terms {
    Terms {
        plan: dossier.digest,
        version: dossier.plan.version,
        policy: dossier.plan.policy_digest,
        proposer: dossier.plan.agent.clone(),
        requester: dossier.plan.principal.clone(),
        eyes,
        decision: dossier.verdict.decision,
        quorums: dossier.verdict.quorums.clone(),
        aim,
        steps: dossier.undo(),
        lifetime: dossier.draft.expires_in(),
        pending_until,
    }
}

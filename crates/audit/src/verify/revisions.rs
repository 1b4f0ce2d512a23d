//! Approvals, by what is recorded and not by the gate's word: each is a signature over the plan that it counts for, or was taken
//! over from the version before, and then that version is compared with this one again.
//!
//! Only what an export shows can be held to that. Of a case whose words were withheld or destroyed nothing is said but how many
//! approvals were taken over there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use countersign_ledger::record::{Leaf, RecordKind};
use countersign_plan::approval::{Answer, Approval, Approver, VerifiedRecord};
use countersign_plan::artifact::Plan;
use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::envelope::Envelope;
use countersign_plan::id::{CaseId, KeyId, Principal, StepId};
use countersign_plan::key::PublicKey;
use countersign_plan::revision::{Version, only_reads};
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Verdict;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// How many versions that stopped are remembered: a gate revises none that ended longer ago.
const KEPT: usize = 1024;

/// What the records said so far about approvals.
#[derive(Clone, Default)]
pub(super) struct Revisions {
    enrolled: Vec<Approver>,
    origins: Vec<(Principal, Principal)>,
    cases: BTreeMap<CaseId, Case>,
    /// The cases that stopped last, in that order.
    stopped: VecDeque<CaseId>,
    /// Approvals that were taken over, and were found to be.
    pub(super) carried: u64,
    /// Those of cases whose words are not there.
    pub(super) unseen: u64,
}

#[derive(Clone, Default)]
struct Case {
    /// A record of it cannot be read.
    hidden: bool,
    before: Option<Told>,
    now: Option<Told>,
}

/// A version, as its records tell it.
#[derive(Clone)]
struct Told {
    plan: Plan,
    draft: Draft,
    digest: Digest,
    proposal: Map<String, Value>,
    decision: Option<(Verdict, Vec<Value>, String)>,
    approvals: Vec<Given>,
    begun: BTreeSet<StepId>,
    ending: Option<String>,
}

#[derive(Clone)]
struct Given {
    digest: Digest,
    by: Principal,
    key: KeyId,
    expires_at: Timestamp,
}

impl Revisions {
    /// Takes a record; no payload where it is withheld.
    ///
    /// # Errors
    /// What is wrong with an approval, or with what was signed on the strength of it.
    pub(super) fn take(&mut self, leaf: &Leaf, payload: Option<&Value>) -> Result<(), String> {
        let Some(case) = &leaf.case else {
            if let (RecordKind::ApproverEnrolled, Some(payload)) = (leaf.kind, payload) {
                self.enrol(payload);
            }
            return Ok(());
        };
        let Some(payload) = payload else {
            self.cases.entry(case.clone()).or_default().hidden = true;
            return Ok(());
        };
        match leaf.kind {
            RecordKind::Approval => self.approval(case, payload, leaf.at)?,
            RecordKind::Proposal => {
                let known = self.cases.entry(case.clone()).or_default();
                known.before = known.now.take();
                known.now = Told::of(payload);
            }
            RecordKind::CaseClosed | RecordKind::RunEnded => self.end(case, payload),
            _ => {
                let Some(Case { hidden: false, now: Some(told), .. }) = self.cases.get_mut(case) else { return Ok(()) };
                match leaf.kind {
                    RecordKind::Decision if payload.get("refused").is_none() => told.decision = decision(payload),
                    RecordKind::Permit => told.begun.extend(part::<StepId>(payload, "step")),
                    RecordKind::Critical | RecordKind::CaseHalted => {
                        told.begun.extend(told.draft.steps().iter().map(|step| step.id.clone()))
                    }
                    RecordKind::Countersignature => told.countersigned(payload)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// An approver's key, enrolled or retired.
    fn enrol(&mut self, payload: &Value) {
        if let Some(key) = part::<PublicKey>(payload, "retired") {
            self.enrolled.retain(|known| known.key != key);
        } else if let Some(approver) = part::<Approver>(payload, "approver") {
            let by = part(payload, "enrolled_by").unwrap_or_else(|| approver.principal.clone());
            self.origins.push((approver.principal.clone(), by));
            self.enrolled.push(approver);
        }
    }

    fn end(&mut self, case: &CaseId, payload: &Value) {
        let ending = payload.get("ending").and_then(Value::as_str).unwrap_or_default();
        let Some(known) = self.cases.get_mut(case) else { return };
        known.before = None;
        match &mut known.now {
            Some(told) if matches!(ending, "superseded" | "stopped") && !told.approvals.is_empty() => {
                told.ending = Some(ending.to_owned());
                if ending == "stopped" {
                    self.stopped.retain(|other| other != case);
                    self.stopped.push_back(case.clone());
                }
            }
            // Nothing can be taken over from what ended otherwise.
            Some(_) | None => drop(self.cases.remove(case)),
        }
        if self.stopped.len() > KEPT
            && let Some(oldest) = self.stopped.pop_front()
            && self.cases.get(&oldest).and_then(|known| known.now.as_ref()).is_some_and(|told| told.ending.is_some())
        {
            self.cases.remove(&oldest);
        }
    }

    fn approval(&mut self, case: &CaseId, payload: &Value, at: Timestamp) -> Result<(), String> {
        let Self { enrolled, origins, cases, carried, unseen, .. } = self;
        let is_carried = payload.get("carried").is_some();
        let known = cases.get_mut(case);
        if known.as_ref().is_some_and(|known| known.hidden) {
            *unseen += u64::from(is_carried);
            return Ok(());
        }
        let told = known.and_then(|known| Some((known.now.as_mut()?, known.before.as_ref())));
        let Some((told, before)) = told else {
            return if is_carried { Err("it is taken over by no version that is recorded".to_owned()) } else { Ok(()) };
        };
        if let Some(key) = part::<KeyId>(payload, "withdrawn") {
            told.approvals.retain(|given| given.key != key);
        } else if is_carried {
            let before = before.ok_or("it is taken over from no version that is recorded")?;
            let given = told.taken_over(before, payload, at, enrolled, origins)?;
            told.approvals.push(given);
            *carried += 1;
        } else if let (Some(envelope), None, None) =
            (payload.get("envelope"), payload.get("settled"), payload.get("extended"))
        {
            told.approvals.push(told.signed(envelope, enrolled)?);
        }
        Ok(())
    }
}

impl Told {
    /// None where nothing was proposed that could be approved.
    fn of(proposal: &Value) -> Option<Self> {
        let bytes = canonical::to_vec(proposal.get("plan")?);
        let digest = Digest::of(&bytes);
        let (plan, draft) = Plan::read(&bytes).ok()?;
        let mut proposal = proposal.as_object()?.clone();
        proposal.remove("plan");
        let (approvals, begun) = (Vec::new(), BTreeSet::new());
        Some(Self { plan, draft, digest, proposal, decision: None, approvals, begun, ending: None })
    }

    fn version(&self) -> Option<Version<'_>> {
        let (verdict, steps, _) = self.decision.as_ref()?;
        Some(Version { plan: &self.plan, draft: &self.draft, proposal: &self.proposal, verdict, steps })
    }

    /// An approval of this version: a signature over exactly its plan.
    fn signed(&self, envelope: &Value, enrolled: &[Approver]) -> Result<Given, String> {
        let bytes = canonical::to_vec(envelope);
        let sealed = Envelope::from_json(&bytes).map_err(|error| error.to_string())?;
        let verified = VerifiedRecord::<Approval>::verify(&sealed, enrolled).map_err(|error| error.to_string())?;
        let Approval { plan_digest, version, answer, approver, expires_at, .. } = verified.record();
        if (*plan_digest, *version, *answer) != (self.digest, self.plan.version, Answer::Approve) {
            return Err("what is signed there approves another plan than the one that it counts for".to_owned());
        }
        Ok(Given {
            digest: verified.digest(),
            by: approver.clone(),
            key: verified.key().clone(),
            expires_at: *expires_at,
        })
    }

    /// An approval of the version before that counts for this one.
    fn taken_over(
        &self,
        before: &Self,
        payload: &Value,
        at: Timestamp,
        enrolled: &[Approver],
        origins: &[(Principal, Principal)],
    ) -> Result<Given, String> {
        let refuse = |why: &str| Err(format!("an approval is taken over, but {why}"));
        let (Some(was), Some(is)) = (before.version(), self.version()) else { return refuse("a decision is missing") };
        if before.ending.is_none() || part::<Digest>(payload, "carried") != Some(before.digest) {
            return refuse("not from the version before, while it waited or once it had stopped");
        }
        if was.verdict.plan_digest != Some(before.digest) || is.verdict.plan_digest != Some(self.digest) {
            return refuse("a decision is about another plan");
        }
        if let Err(widened) = only_reads(was, is, &before.begun) {
            return refuse(&format!("this version adds more than reads: {widened}"));
        }
        let digest = part::<Digest>(payload, "approval");
        let named = |given: &&Given| Some(given.digest) == digest && part(payload, "by").as_ref() == Some(&given.by);
        let Some(given) = before.approvals.iter().find(named) else { return refuse("nobody gave it") };
        if at >= given.expires_at {
            return refuse("its time was over");
        }
        if !enrolled.iter().any(|known| known.key.id() == given.key && known.principal == given.by) {
            return refuse("its key was retired");
        }
        let own = given.by == self.plan.principal || origins.contains(&(given.by.clone(), self.plan.principal.clone()));
        let inline = self.decision.as_ref().is_some_and(|(_, _, eyes)| eyes == "inline");
        if given.by == self.plan.agent || (own && !inline) {
            return refuse("by somebody who may not approve it");
        }
        Ok(given.clone())
    }

    /// What was signed names the approvals that count, and no others.
    fn countersigned(&self, payload: &Value) -> Result<(), String> {
        let count: Vec<Digest> = self.approvals.iter().map(|given| given.digest).collect();
        match part::<Vec<Digest>>(payload, "approvals") {
            Some(named) if named == count => Ok(()),
            Some(_) | None => Err("it names other approvals than were recorded for its plan".to_owned()),
        }
    }
}

/// The verdict, the review of each step, and whose eyes it needs.
fn decision(payload: &Value) -> Option<(Verdict, Vec<Value>, String)> {
    Some((part(payload, "verdict")?, part(payload, "steps")?, part(payload, "eyes")?))
}

fn part<T: DeserializeOwned>(value: &Value, key: &str) -> Option<T> {
    T::deserialize(value.get(key)?).ok()
}

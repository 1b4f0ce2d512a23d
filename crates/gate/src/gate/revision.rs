//! What people approved of the version before, and whether it counts for the next one: only where that adds nothing but reads
//! ([`countersign_plan::revision`]), and only once for each effect.

use countersign_plan::approval::Answer;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::revision::{Version, Widened, only_reads};
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::{Map, Value, json};

use super::carry::Note;
use super::{Effects, Gate, Slot};
use crate::case::{Counted, Dossier};
use crate::event::Submission;
use crate::machine::{Ending, Eyes, Input, Stage};

impl Gate {
    /// The approvals of the version before that count for the next one. Its verdict tells which, or why none does.
    pub(super) fn inherit(&self, dossier: &mut Dossier, submission: &Submission) -> Vec<Counted> {
        let Some(slot) = self.cases.get(&dossier.plan.case) else { return Vec::new() };
        let before = slot.stage.dossier();
        if dossier.verdict.decision != Decision::RequireApproval || before.approvals.is_empty() {
            return Vec::new();
        }
        let version = before.plan.version;
        let eyes = submission.configuration.eyes(&self.settings);
        let outcome = adds_only_reads(slot, dossier, submission).and_then(|()| {
            let good: Vec<Counted> =
                before.approvals.iter().filter(|a| self.is_good(a, dossier, eyes)).cloned().collect();
            let none = "those who approved may approve it no more, or said so for a time that is over";
            if good.is_empty() { Err(Widened(none.to_owned())) } else { Ok(good) }
        });
        let (code, message, good) = match outcome {
            Ok(good) => {
                let by: Vec<&str> = good.iter().map(|approval| approval.by.as_str()).collect();
                let message = format!(
                    "what was approved of version {version} counts, since this adds only reads: {}",
                    by.join(", ")
                );
                (Code::ApprovalCarried, message, good)
            }
            Err(why) => {
                let message = format!("what was approved of version {version} does not count for this one: {why}");
                (Code::ApprovalAnew, message, Vec::new())
            }
        };
        dossier.verdict.reasons.push(Reason::new(code, Decision::Allow, message));
        good
    }

    /// Whether an approval could be given now by the one who gave it: time, key and INV-7.
    fn is_good(&self, given: &Counted, dossier: &Dossier, eyes: Eyes) -> bool {
        let plan = &dossier.plan;
        let enrolled = self.approvers.iter().any(|known| known.key.id() == given.key && known.principal == given.by);
        let own = given.by == plan.principal || self.enrolled_by(&given.by).contains(&plan.principal);
        enrolled && self.now() < given.expires_at && given.by != plan.agent && (!own || eyes == Eyes::Two)
    }

    /// Counts them for the version that was just opened, as if they came to it now: the core judges each like any other.
    pub(super) fn take_over(&mut self, case: &CaseId, inherited: Vec<Counted>, effects: &mut Effects) {
        for Counted { digest, by, key, groups, expires_at } in inherited {
            let Some(Slot { stage, .. }) = self.cases.get(case) else { return };
            let dossier = stage.dossier();
            let enrolled_by = self.enrolled_by(&by);
            let mine = self.groups(&by, None);
            let groups = groups.into_iter().filter(|group| mine.contains(group)).collect();
            let mut note = Note::of(format!("approved by {by}, as the version before"));
            note.signed = signed(digest, dossier.plan.parent);
            note.approval = Some((digest, expires_at));
            let (plan, version, policy) = (dossier.digest, dossier.plan.version, dossier.plan.policy_digest);
            let answer = Answer::Approve;
            let input = Input::Answer { by, enrolled_by, key, groups, answer, plan, version, policy, expires_at };
            self.step(case, input, note, effects);
        }
    }
}

/// What the record says of an approval that was signed for another version: which, and for which plan it counted before.
fn signed(approval: Digest, before: Option<Digest>) -> Map<String, Value> {
    [("approval".to_owned(), json!(approval)), ("carried".to_owned(), json!(before))].into_iter().collect()
}

/// Whether `dossier` is the version that the slot holds, with nothing added but reads, and nobody and nothing stopped that one.
fn adds_only_reads(slot: &Slot, dossier: &Dossier, submission: &Submission) -> Result<(), Widened> {
    match slot.life.stage() {
        Stage::Pending(_) | Stage::Closed(Ending::Stopped, _) => {}
        stage @ (Stage::Countersigned(_) | Stage::Running(_) | Stage::Indeterminate { .. } | Stage::Closed(..)) => {
            return Err(Widened(format!("it is {}", stage.name())));
        }
    }
    let before = slot.stage.dossier();
    let steps = (recorded(before), recorded(dossier));
    let proposed = (before.proposed(slot.life.terms().aim), dossier.proposed(super::submit::aim(submission)));
    only_reads(version(before, &proposed.0, &steps.0), version(dossier, &proposed.1, &steps.1), &before.begun)?;
    let manifest = &submission.configuration.manifest;
    let known =
        |step: &&countersign_plan::draft::Step| before.draft.step(&step.id).is_none() && !is_read(step, manifest);
    match dossier.draft.steps().iter().find(known) {
        Some(step) => Err(Widened(format!("step `{}` is added, and its tool does more than read", step.id))),
        None => Ok(()),
    }
}

fn is_read(step: &countersign_plan::draft::Step, manifest: &Manifest) -> bool {
    manifest.get(&step.action).is_some_and(|tool| tool.definition().effect.is_harmless())
}

fn recorded(dossier: &Dossier) -> Vec<Value> {
    dossier.steps.iter().map(|step| json!(step)).collect()
}

fn version<'a>(dossier: &'a Dossier, proposal: &'a Map<String, Value>, steps: &'a [Value]) -> Version<'a> {
    Version { plan: &dossier.plan, draft: &dossier.draft, proposal, verdict: &dossier.verdict, steps }
}

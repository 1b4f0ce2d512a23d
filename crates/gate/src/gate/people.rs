//! What people say: answers, settlements, halts, enrolments, trust, a new key. Each is a signature, or only makes things stop.

use countersign_ledger::RecordKind;
use countersign_plan::approval::{
    Answer, Approval, Approver, ApproverRecord, Enrolment, Erasure, Retirement, Settlement, Trust, VerifiedRecord,
};
use countersign_plan::envelope::Envelope;
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Code;
use serde_json::{Map, Value, json};

use super::carry::{Note, envelope};
use super::{Effects, Enrolled, Gate};
use crate::directive::{Directive, OperatorAnswer};
use crate::event::{Event, Relic};
use crate::key::GateKey;
use crate::machine::{self, Cause, Eyes, Input, Unanswered};
use crate::record;

/// How far ahead of gate time a signature may be dated: clocks differ a little.
const AHEAD_MS: i64 = 5 * 60 * 1000;

impl Gate {
    pub(super) fn answer(&mut self, sealed: &Envelope, effects: &mut Effects) {
        let verified = match self.verified::<Approval>(sealed) {
            Ok(verified) => verified,
            Err(why) => return refuse(Code::PolicyDeny, why, effects),
        };
        let approval = verified.record();
        if let Err(why) = self.fresh(&approval.approver, &approval.nonce, approval.signed_at) {
            return refuse(Code::ApprovalExpired, why, effects);
        }
        let input = Input::Answer {
            by: approval.approver.clone(),
            enrolled_by: self.enrolled_by(&approval.approver),
            key: verified.key().clone(),
            groups: self.groups(&approval.approver, approval.role.as_ref()),
            answer: approval.answer,
            plan: approval.plan_digest,
            version: approval.version,
            policy: approval.policy_digest,
            expires_at: approval.expires_at,
        };
        let mut note = match (approval.answer, &approval.reason) {
            (Answer::Deny, Some(reason)) => Note::of(format!("denied by {}: {reason}", approval.approver)),
            (Answer::Deny, None) => Note::of(format!("denied by {}", approval.approver)),
            (Answer::Approve, _) => Note::of(format!("approved by {}", approval.approver)),
        };
        note.signed = signed(sealed, &approval.nonce);
        note.approval = Some((verified.digest(), approval.expires_at));
        if !self.cases.contains_key(&approval.case) {
            return refuse(Code::RunHalted, format!("no case {} is open here", approval.case), effects);
        }
        let unanswered = self.step(&approval.case, input, note, effects);
        self.answered(&approval.case, unanswered, effects);
        if unanswered.is_none() {
            self.nonces.insert((approval.approver.clone(), approval.nonce.clone()));
        }
    }

    pub(super) fn settle(&mut self, sealed: &Envelope, effects: &mut Effects) {
        let verified = match self.verified::<Settlement>(sealed) {
            Ok(verified) => verified,
            Err(why) => return refuse(Code::PolicyDeny, why, effects),
        };
        let settlement = verified.record();
        if let Err(why) = self.fresh(&settlement.principal, &settlement.nonce, settlement.signed_at) {
            return refuse(Code::ApprovalExpired, why, effects);
        }
        if !self.cases.contains_key(&settlement.case) {
            return refuse(Code::RunHalted, format!("no case {} is open here", settlement.case), effects);
        }
        let (by, step, happened) = (settlement.principal.clone(), settlement.step.clone(), settlement.happened);
        let enrolled_by = self.enrolled_by(&by);
        let word = if happened { "happened" } else { "did not happen" };
        let mut note = Note::of(format!("{by} says that step `{step}` {word}"));
        note.signed = signed(sealed, &settlement.nonce);
        let unanswered = self.step(&settlement.case, Input::Settle { by, enrolled_by, step, happened }, note, effects);
        self.answered(&settlement.case, unanswered, effects);
        if unanswered.is_none() {
            self.nonces.insert((settlement.principal.clone(), settlement.nonce.clone()));
        }
    }

    /// What an enrolled approver signed.
    pub(super) fn verified<R: ApproverRecord>(&self, sealed: &Envelope) -> Result<VerifiedRecord<R>, String> {
        let bytes = sealed.to_json().len();
        if bytes > record::SIGNED {
            return Err(format!("the signed record is {bytes} bytes long; at most {} are taken", record::SIGNED));
        }
        VerifiedRecord::verify(sealed, &self.approvers).map_err(|error| error.to_string())
    }

    pub(super) fn answered(&self, case: &CaseId, unanswered: Option<Unanswered>, effects: &mut Effects) {
        let answer = match unanswered {
            None => OperatorAnswer::Done { cases: self.stages([case.clone()]) },
            Some(why) => {
                let code = match why {
                    Unanswered::Expired => Code::ApprovalExpired,
                    Unanswered::Proposer => Code::SeparationViolation,
                    Unanswered::NotPending
                    | Unanswered::OtherPlan
                    | Unanswered::OtherAsk
                    | Unanswered::OtherBudget
                    | Unanswered::Requester
                    | Unanswered::Again
                    | Unanswered::Group
                    | Unanswered::OtherStep => Code::PolicyDeny,
                };
                OperatorAnswer::Refused { code, message: why.to_string() }
            }
        };
        effects.directives.push(Directive::AnswerOperator(answer));
    }

    pub(super) fn halt(&mut self, case: Option<CaseId>, reason: &str, effects: &mut Effects) {
        let cases: Vec<CaseId> = match case {
            Some(case) if self.cases.contains_key(&case) || self.goals.contains_key(&case) => vec![case],
            Some(case) => return refuse(Code::RunHalted, format!("no case {case} is open here"), effects),
            None => {
                let payload = json!({"reason": record::quoted(reason)});
                effects.entries.push(record::general(RecordKind::HaltAll, self.now(), payload));
                let open = |slot: &super::Slot| !matches!(slot.life.stage(), machine::Stage::Closed(..));
                let slots = self.cases.iter().filter(|(_, slot)| open(slot)).map(|(case, _)| case);
                let goals = self.goals.iter().filter(|(_, quest)| quest.closed.is_none()).map(|(case, _)| case);
                let all: std::collections::BTreeSet<CaseId> = slots.chain(goals).cloned().collect();
                all.into_iter().collect()
            }
        };
        for case in &cases {
            if self.goals.get(case).is_some_and(|quest| quest.core.over().is_none()) {
                self.stop_goal(case, Cause::Operator, reason, effects);
            } else {
                self.step(case, Input::Halt(Cause::Operator), Note::of(reason), effects);
            }
        }
        effects.directives.push(Directive::AnswerOperator(OperatorAnswer::Done { cases: self.stages(cases) }));
    }

    pub(super) fn enroll(
        &mut self,
        approver: Approver,
        enrolled_by: Principal,
        sealed: Option<&Envelope>,
        effects: &mut Effects,
    ) {
        let mut payload = json!({"approver": approver, "enrolled_by": enrolled_by});
        if payload.to_string().len() > record::SIGNED {
            return refuse(Code::PolicyDeny, "the approver's groups are too many to be recorded".to_owned(), effects);
        }
        match sealed {
            None if self.approvers.is_empty() => {}
            None => {
                let message = "there are approvers already; one of them has to sign the enrolment of another";
                return refuse(Code::PolicyDeny, message.to_owned(), effects);
            }
            Some(sealed) => match self.enrolment(&approver, sealed) {
                Ok((by, nonce)) => {
                    payload = json!({
                        "approver": approver, "enrolled_by": enrolled_by, "by": by, "nonce": nonce,
                        "envelope": envelope(&sealed.to_json()),
                    });
                    self.nonces.insert((by, nonce));
                }
                Err(why) => return refuse(Code::PolicyDeny, why, effects),
            },
        }
        if self.approvers.iter().any(|known| known.key == approver.key) {
            return refuse(Code::PolicyDeny, "this key is enrolled already".to_owned(), effects);
        }
        effects.entries.push(record::general(RecordKind::ApproverEnrolled, self.now(), payload));
        self.origins.push(Enrolled { owner: approver.principal.clone(), by: enrolled_by });
        self.approvers.push(approver);
        effects.directives.push(Directive::AnswerOperator(OperatorAnswer::Enrolled));
    }

    /// A key approves nothing any more. Never the last one: nobody could enrol another.
    pub(super) fn retire(&mut self, sealed: &Envelope, effects: &mut Effects) {
        let verified = match self.verified::<Retirement>(sealed) {
            Ok(verified) => verified,
            Err(why) => return refuse(Code::PolicyDeny, why, effects),
        };
        let retirement = verified.record();
        if let Err(why) = self.fresh(&retirement.principal, &retirement.nonce, retirement.signed_at) {
            return refuse(Code::ApprovalExpired, why, effects);
        }
        let key = retirement.key;
        let Some(retired) = self.approvers.iter().find(|approver| approver.key == key).cloned() else {
            return refuse(Code::PolicyDeny, "no enrolled approver has that key".to_owned(), effects);
        };
        if self.approvers.len() == 1 {
            let message = "this is the last approver; enrol another one first";
            return refuse(Code::PolicyDeny, message.to_owned(), effects);
        }
        let payload = json!({
            "retired": key, "approver": retired, "by": retirement.principal, "nonce": retirement.nonce,
            "envelope": envelope(&sealed.to_json()),
        });
        effects.entries.push(record::general(RecordKind::ApproverEnrolled, self.now(), payload));
        self.nonces.insert((retirement.principal.clone(), retirement.nonce.clone()));
        self.approvers.retain(|approver| approver.key != key);
        let counted = |slot: &super::Slot| slot.stage.dossier().approvals.iter().any(|given| given.key == key.id());
        let waits = |slot: &super::Slot| matches!(slot.life.stage(), machine::Stage::Pending(_));
        let cases: Vec<CaseId> =
            self.cases.iter().filter(|(_, slot)| waits(slot) && counted(slot)).map(|(case, _)| case.clone()).collect();
        let note = format!("the key of {} was retired by {}", retired.principal, retirement.principal);
        for case in &cases {
            self.step(case, Input::Retire(key.id()), Note::of(&note), effects);
        }
        let cases = self.stages(cases);
        effects.directives.push(Directive::AnswerOperator(OperatorAnswer::Retired { key, cases }));
    }

    /// The users from whom keys of this person were ever enrolled.
    pub(super) fn enrolled_by(&self, person: &Principal) -> Vec<Principal> {
        self.origins.iter().filter(|known| known.owner == *person).map(|known| known.by.clone()).collect()
    }

    fn enrolment(&self, approver: &Approver, sealed: &Envelope) -> Result<(Principal, String), String> {
        let verified = self.verified::<Enrolment>(sealed)?;
        let enrolment = verified.record();
        if enrolment.approver != *approver {
            return Err("the signature is over another person's enrolment".to_owned());
        }
        self.fresh(&enrolment.principal, &enrolment.nonce, enrolment.signed_at)?;
        Ok((enrolment.principal.clone(), enrolment.nonce.clone()))
    }

    pub(super) fn trust(&mut self, sealed: &Envelope, effects: &mut Effects) {
        let verified = match self.verified::<Trust>(sealed) {
            Ok(verified) => verified,
            Err(why) => return refuse(Code::PolicyDeny, why, effects),
        };
        let trust = verified.record();
        if let Err(why) = self.fresh(&trust.principal, &trust.nonce, trust.signed_at) {
            return refuse(Code::ApprovalExpired, why, effects);
        }
        let payload = json!({
            "path": trust.path, "digest": trust.digest, "by": trust.principal, "nonce": trust.nonce,
            "envelope": envelope(&sealed.to_json()),
        });
        effects.entries.push(record::general(RecordKind::TrustGranted, self.now(), payload));
        self.nonces.insert((trust.principal.clone(), trust.nonce.clone()));
        let answer = OperatorAnswer::Trusted { path: trust.path.clone(), digest: trust.digest };
        effects.directives.push(Directive::AnswerOperator(answer));
    }

    /// Destroys what was sealed for a case that ended. What was decided, permitted and done stays on record, by digest, and so does
    /// who wanted the rest destroyed, and why. The case is forgotten here too: nothing later is recorded as its own.
    pub(super) fn erase(&mut self, sealed: &Envelope, relics: &[Relic], kept: &Value, effects: &mut Effects) {
        let verified = match self.verified::<Erasure>(sealed) {
            Ok(verified) => verified,
            Err(why) => return refuse(Code::PolicyDeny, why, effects),
        };
        let Erasure { case, reason, principal: by, signed_at, nonce } = verified.record();
        if let Err(why) = self.fresh(by, nonce, *signed_at) {
            return refuse(Code::ApprovalExpired, why, effects);
        }
        if let Err((code, why)) = self.may_erase(by, case, reason, relics) {
            return refuse(code, why, effects);
        }
        let Ok(house) = record::HOUSE.parse() else {
            return refuse(Code::InternalError, "there is no place for what is kept".to_owned(), effects);
        };
        effects.entries.push(record::entry(RecordKind::Label, &house, self.now(), record::recordable(kept)));
        for relic in relics {
            let payload = json!({
                "by": by, "reason": record::quoted(reason), "asked_for": case, "nonce": nonce,
                "envelope": envelope(&sealed.to_json()),
            });
            effects.entries.push(record::entry(RecordKind::Erased, &relic.case, self.now(), payload));
            self.drop_case(&relic.case);
            self.ended.retain(|ended| *ended != relic.case);
        }
        self.nonces.insert((by.clone(), nonce.clone()));
        let cases = relics.iter().map(|relic| relic.case.clone()).collect();
        effects.directives.push(Directive::AnswerOperator(OperatorAnswer::Erased { cases }));
    }

    /// Only of what is over, and for a reason. Who proposed destroys no evidence, and under four eyes who asked for it does not either.
    fn may_erase(&self, by: &Principal, case: &CaseId, reason: &str, relics: &[Relic]) -> Result<(), (Code, String)> {
        if relics.first().is_none_or(|first| first.case != *case) {
            return Err((Code::PolicyDeny, "the signature is over another case".to_owned()));
        }
        if reason.trim().is_empty() {
            return Err((Code::PolicyDeny, "it does not say why; sign it with a reason".to_owned()));
        }
        let enrolled_by = self.enrolled_by(by);
        for relic in relics {
            let own = relic.requester == *by || enrolled_by.contains(&relic.requester);
            if !self.is_over(&relic.case) {
                let fix = "it is erased once it ended: answer, settle or halt it first";
                return Err((Code::PolicyDeny, format!("case {} is still open; {fix}", relic.case)));
            }
            if relic.agent == *by {
                return Err((Code::SeparationViolation, format!("{by} proposed this, and erases none of it")));
            }
            if own && relic.eyes != Some(Eyes::Two) {
                let why = "was opened for the same person; under four eyes somebody else erases it";
                return Err((Code::PolicyDeny, format!("case {} {why}", relic.case)));
            }
        }
        Ok(())
    }

    /// The old key signs the new one; whatever the old one signed is dead.
    pub(super) fn rotate(&mut self, new: GateKey, effects: &mut Effects) {
        let key = new.public();
        if key == self.key.public() {
            return refuse(Code::PolicyDeny, "the new key is the present one; make another".to_owned(), effects);
        }
        self.step_all(&Input::Halt(Cause::Rotation), effects);
        let signature = self.key.hand_over(&key, self.epoch);
        let Ok(signer) = new.head_signer() else {
            return refuse(Code::InternalError, "the new key has no name".to_owned(), effects);
        };
        effects.directives.push(Directive::RotateKey { signer, key, signature });
        effects.directives.push(Directive::AnswerOperator(OperatorAnswer::Rotated { key }));
        self.key = new;
    }

    /// Whether a signed record was never seen and is not dated ahead.
    pub(super) fn fresh(&self, by: &Principal, nonce: &str, signed_at: Timestamp) -> Result<(), String> {
        if self.nonces.contains(&(by.clone(), nonce.to_owned())) {
            return Err("this signature was used before; sign again".to_owned());
        }
        if signed_at.as_millis().saturating_sub(self.now().as_millis()) > AHEAD_MS {
            return Err(format!("signed at {signed_at}, but it is {}; set the clock right", self.now()));
        }
        Ok(())
    }

    /// The groups for which a person's word counts: the one that it names, or all of the person's.
    pub(super) fn groups(&self, by: &Principal, role: Option<&String>) -> Vec<String> {
        if let Some(role) = role {
            return vec![role.clone()];
        }
        let mine = self.approvers.iter().filter(|approver| approver.principal == *by);
        let mut groups: Vec<String> = mine.flat_map(|approver| approver.groups.clone()).collect();
        groups.sort();
        groups.dedup();
        groups
    }

    fn stages(&self, cases: impl IntoIterator<Item = CaseId>) -> Vec<(CaseId, &'static str)> {
        let stage = |case: CaseId| self.case(&case).map(|summary| (case, summary.stage));
        cases.into_iter().filter_map(stage).collect()
    }

    /// Whoever asks a gate whose record failed is told so, and nothing happens.
    pub(super) fn refuse_dead(&self, event: &Event, effects: &mut Effects) {
        let message = "the ledger failed; the monitor does nothing until it is started again".to_owned();
        let directive = match event {
            Event::Submit(submission) => {
                let reason = countersign_plan::verdict::Reason::new(
                    Code::InternalError,
                    countersign_plan::verdict::Decision::Block,
                    message,
                );
                Directive::AnswerProposer(Box::new(countersign_plan::verdict::Verdict {
                    decision: countersign_plan::verdict::Decision::Block,
                    tier: 0,
                    rule: None,
                    request_id: "r-unrecorded".to_owned(),
                    case: None,
                    version: 1,
                    agent: submission.agent.clone(),
                    at: self.now(),
                    plan_digest: None,
                    policy_digest: submission.configuration.policy.digest(),
                    mode: submission.mode,
                    reasons: vec![reason],
                    risk: countersign_plan::verdict::Risk::default(),
                    quorums: Vec::new(),
                    micros: 0,
                }))
            }
            Event::Answer(_)
            | Event::Extend(_)
            | Event::Settle(_)
            | Event::Halt { .. }
            | Event::Enroll { .. }
            | Event::Retire(_)
            | Event::Trust(_)
            | Event::Erase { .. }
            | Event::Rotate(_) => {
                Directive::AnswerOperator(OperatorAnswer::Refused { code: Code::InternalError, message })
            }
            Event::OpenGoal(_) => Directive::AnswerPursuer(Err((Code::InternalError, message))),
            Event::Planner { case, .. }
            | Event::BudgetSpent { case, .. }
            | Event::PlannerViolation { case, .. }
            | Event::PlannerEnded { case, .. } => Directive::EndPlanner { case: case.clone(), reason: message },
            Event::Executor { case, .. } => Directive::KillExecutor { case: case.clone() },
            Event::StepStarted { case, .. } => Directive::KillStep { case: case.clone() },
            Event::ExecutorViolation { .. }
            | Event::ExecutorLost { .. }
            | Event::StepObserved { .. }
            | Event::StepRefused { .. }
            | Event::StepLost { .. }
            | Event::Broker { .. }
            | Event::InspectorFailed { .. }
            | Event::InspectorViolation { .. }
            | Event::Tick
            | Event::LedgerFailed => return,
        };
        effects.directives.push(directive);
    }
}

pub(super) fn signed(sealed: &Envelope, nonce: &str) -> Map<String, Value> {
    let members = [("envelope".to_owned(), envelope(&sealed.to_json())), ("nonce".to_owned(), json!(nonce))];
    members.into_iter().collect()
}

pub(super) fn refuse(code: Code, message: String, effects: &mut Effects) {
    effects.directives.push(Directive::AnswerOperator(OperatorAnswer::Refused { code, message }));
}

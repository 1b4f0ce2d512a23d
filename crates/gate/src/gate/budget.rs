//! A case whose budget is spent: it asks people, and goes on or ends by an approver's signed word.
//!
//! What is asked, and what is answered, is recorded first, so that it survives the process. A case that asked and had run nothing yet
//! asks on after a restart; its goal is then taken up by a fresh planner, because nobody knows what the one before had in mind.

use countersign_ledger::RecordKind;
use countersign_plan::approval::Answer;
use countersign_plan::budget::{Ask, Extension, Extra, Shortage};
use countersign_plan::envelope::Envelope;
use countersign_plan::id::CaseId;
use countersign_plan::verdict::Code;
use serde_json::{Value, json};

use super::goal::{Pinned, Quest};
use super::people::{refuse, signed};
use super::{Effects, Gate};
use crate::directive::{Directive, Notice};
use crate::machine::{Ending, Pursuit, Unanswered, Violation};
use crate::record;
use crate::replay::Waiting;

impl Gate {
    /// The broker made no inference for the planner of a case. Asked again for the same it is the same question.
    pub(super) fn budget_spent(&mut self, case: &CaseId, shortage: Shortage, message: &str, effects: &mut Effects) {
        let (now, shortage) = (self.now(), shortage.bounded());
        let until = now.plus(self.settings.pending_for);
        let Some(quest) = self.goals.get_mut(case) else { return };
        if quest.asks().is_some_and(|ask| ask.shortage == shortage) || quest.core.pause(until).is_err() {
            return;
        }
        quest.asked = quest.asked.saturating_add(1);
        let ask = Ask { case: case.clone(), number: quest.asked, shortage };
        let message = record::quoted(message);
        let payload = json!({"asks": ask, "until": until, "message": format!("paused: {message}")});
        quest.ask = Some(ask);
        effects.entries.push(record::entry(RecordKind::Planner, case, now, payload));
        let notice = Notice::Stage { stage: "paused", detail: message };
        effects.directives.push(Directive::Notify { case: case.clone(), notice });
    }

    /// An approver answers what a case asks.
    pub(super) fn extend(&mut self, sealed: &Envelope, effects: &mut Effects) {
        let verified = match self.verified::<Extension>(sealed) {
            Ok(verified) => verified,
            Err(why) => return refuse(Code::PolicyDeny, why, effects),
        };
        let said = verified.record();
        if let Err(why) = self.fresh(&said.approver, &said.nonce, said.signed_at) {
            return refuse(Code::ApprovalExpired, why, effects);
        }
        let (now, by) = (self.now(), said.approver.clone());
        let enrolled_by = self.enrolled_by(&by);
        let groups = self.groups(&by, said.role.as_ref());
        let Some(quest) = self.goals.get_mut(&said.case) else {
            return refuse(Code::RunHalted, format!("no case {} is open here", said.case), effects);
        };
        let own = by == quest.goal.requester || enrolled_by.contains(&quest.goal.requester);
        let answered = match quest.asks() {
            None => Err(Unanswered::NotPending),
            Some(ask) if ask.digest() != Some(said.ask) => Err(Unanswered::OtherAsk),
            Some(_) if now >= said.expires_at => Err(Unanswered::Expired),
            Some(ask) if said.answer == Answer::Approve && !said.extra.is_for(ask.shortage.budget) => {
                Err(Unanswered::OtherBudget)
            }
            Some(_) => quest.core.decide(now, said.answer, by == quest.goal.agent, own, quest.goal.eyes),
        };
        if answered == Err(Unanswered::Proposer) && said.answer == Answer::Approve {
            let payload = json!({"violation": Violation::SelfApproval.as_str()});
            effects.entries.push(record::entry(RecordKind::Critical, &said.case, now, payload));
            let message = format!("separation violation ({})", Violation::SelfApproval.as_str());
            effects.directives.push(Directive::Alert { case: Some(said.case.clone()), message });
        }
        if answered.is_ok() {
            self.nonces.insert((by.clone(), said.nonce.clone()));
            let mut payload = signed(sealed, &said.nonce);
            payload.insert("by".to_owned(), json!(by));
            match said.answer {
                Answer::Approve => {
                    let more = [
                        ("key", json!(verified.key())),
                        ("groups", json!(groups)),
                        ("self_approved", json!(own)),
                        ("extended", json!(said.extra)),
                        ("until", json!(now.plus(self.settings.pending_for))),
                    ];
                    payload.extend(more.map(|(key, value)| (key.to_owned(), value)));
                    let payload = Value::Object(payload);
                    effects.entries.push(record::entry(RecordKind::Approval, &said.case, now, payload));
                    self.go_on(&said.case, said.extra, effects);
                }
                Answer::Deny => {
                    let payload = Value::Object(payload);
                    effects.entries.push(record::entry(RecordKind::Denial, &said.case, now, payload));
                    let reason = said.reason.as_ref().map(|reason| format!(": {}", record::quoted(reason)));
                    let message = format!("{by} gives it no more budget{}", reason.unwrap_or_default());
                    self.end_goal(&said.case, Ending::Denied, &message, effects);
                }
            }
        }
        self.answered(&said.case, answered.err(), effects);
    }

    /// The case may use so much more.
    fn go_on(&mut self, case: &CaseId, extra: Extra, effects: &mut Effects) {
        let Some(quest) = self.goals.get_mut(case) else { return };
        quest.extra = quest.extra.and(extra);
        let notice = Notice::Stage { stage: "planning", detail: "its budget was raised".to_owned() };
        effects.directives.push(Directive::Notify { case: case.clone(), notice });
        let alone = std::mem::take(&mut quest.alone);
        effects.directives.push(match alone {
            true => quest.goal.start(case),
            false => Directive::ContinuePlanner { case: case.clone() },
        });
    }

    /// A case that waited when the monitor ended, or had been answered and did not go on yet.
    pub(super) fn wait_on(
        &mut self,
        case: &CaseId,
        opened: &Value,
        waiting: Waiting,
        effects: &mut Effects,
    ) -> Option<()> {
        let mut quest = Quest::past(opened, None, self.now())?;
        quest.core = Pursuit::again(waiting.versions, self.now(), self.settings.pending_for);
        let asks = waiting.ask.is_some();
        if asks {
            quest.core.pause(waiting.until).ok()?;
        }
        (quest.ask, quest.asked, quest.extra, quest.alone) = (waiting.ask, waiting.asked, waiting.extra, asks);
        if !asks {
            effects.directives.push(quest.goal.start(case));
        }
        self.goals.insert(case.clone(), quest);
        Some(())
    }
}

impl Quest {
    /// What it asks of people, while it does.
    pub(super) fn asks(&self) -> Option<&Ask> {
        self.ask.as_ref().filter(|_| self.core.waits().is_some())
    }
}

impl Pinned {
    /// A planner for it.
    pub(super) fn start(&self, case: &CaseId) -> Directive {
        Directive::StartPlanner {
            case: case.clone(),
            goal: self.goal.clone(),
            inputs: self.inputs.clone(),
            cwd: self.cwd.clone(),
            provider: self.provider.clone(),
        }
    }
}

/// What shows that a goal and its inputs are recorded as they were given, and not without a secret that was found in them.
pub(crate) fn pin(goal: &str, inputs: &Value) -> String {
    countersign_plan::canonical::digest(&json!([goal, inputs])).to_string()
}

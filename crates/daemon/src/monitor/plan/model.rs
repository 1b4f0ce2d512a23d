//! Questions of planners to models: asked of the broker, asked anew where it was started anew, and kept open where a budget is spent:
//! until people answer what the gate then asks them, or somebody raises the limit in the broker's configuration.

use std::time::Duration;

use countersign_gate::event::{Event, PlannerDeed};
use countersign_plan::budget::{Budget, Shortage};
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_wire::broker::Account;
use countersign_wire::broker::from_broker::Inferred;
use countersign_wire::broker::to_broker::{self, Cancel};
use countersign_wire::infer::{Failure, FailureKind, Outcome, Usage};
use countersign_wire::planner::to_planner;
use countersign_wire::propose::{CaseEvent, PlannerEvent as Told};

use super::super::{Answer, State};

/// What a model may take, the broker's own attempts included.
const MODEL: Duration = Duration::from_secs(900);

/// A question to a model.
#[derive(Debug)]
pub(super) struct Question {
    id: u64,
    number: u32,
    request: Vec<u8>,
    /// It waits for people: a limit is spent. The gate says how long.
    paused: bool,
}

impl State {
    /// A question to a model, with what the planner cannot be believed about: the case, and how secret what it has read is.
    pub(super) fn infer(&mut self, case: &CaseId, request: Vec<u8>) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let number = session.protocol.inferences();
        session.question = Some(Question { id: 0, number, request, paused: false });
        self.ask_model(case);
    }

    /// Gives the broker the question of a case, for the first time or again.
    fn ask_model(&mut self, case: &CaseId) {
        let before = self.plans.sessions.get(case).and_then(|session| Some(session.question.as_ref()?.id));
        // One that has to make room for another has its questions asked again, this one among them.
        let ready = self.broker().map(|_| ());
        let id = self.brokerage.number();
        let extra = self.gate.case(case).map(|summary| summary.extra).unwrap_or_default();
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let Some(question) = session.question.as_mut().filter(|question| Some(question.id) == before) else { return };
        self.plans.asked.remove(&question.id);
        (question.id, question.paused) = (id, false);
        session.since = std::time::Instant::now();
        let ask = to_broker::Kind::Infer(to_broker::Infer {
            id,
            case: case.to_string(),
            provider: session.provider.clone(),
            secrecy: session.secrecy.as_str().to_owned(),
            request: question.request.clone(),
            extra_tokens: extra.tokens,
            extra_micro_dollars: extra.micro_dollars,
        });
        self.plans.asked.insert(id, case.clone());
        if let Err(message) = ready.and_then(|()| self.broker()?.tell(ask)) {
            self.not_inferred(id, &message);
        }
    }

    /// The broker's configuration is another: what was asked of the one before, or waits for a limit, is asked again.
    pub(in super::super) fn ask_models_again(&mut self) {
        let asking = self.plans.sessions.iter().filter(|(_, session)| session.question.is_some());
        let cases: Vec<CaseId> = asking.map(|(case, _)| case.clone()).collect();
        for case in cases {
            self.ask_model(&case);
        }
    }

    /// A budget is spent: the question stays open until people answer what the gate asks them.
    fn pause(&mut self, case: &CaseId, spent: &str, shortage: Shortage) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let Some(question) = session.question.as_mut() else { return };
        question.paused = true;
        let amount = match shortage.budget {
            Budget::CaseTokens => "--tokens N",
            Budget::CaseMoney | Budget::DayMoney => "--money DOLLARS",
        };
        let message = format!(
            "{spent} (in {}). An approver gives this case more with `countersign resume {case} {amount}`, or ends it with \
             `countersign deny {case} --reason WHY`",
            self.broker_file().display()
        );
        self.event(Event::BudgetSpent { case: case.clone(), shortage, message }, Answer::Nobody);
    }

    /// People raised the budget of a case: its question is asked again.
    pub(in super::super) fn continue_planner(&mut self, case: &CaseId) {
        if self.plans.sessions.get(case).is_some_and(|session| session.question.is_some()) {
            self.ask_model(case);
        }
    }

    /// The broker's word on a question.
    pub(in super::super) fn inferred(&mut self, inferred: Inferred) {
        let Some(case) = self.plans.asked.remove(&inferred.id) else { return };
        let Some(session) = self.plans.sessions.get_mut(&case) else { return };
        if let Ok(Outcome::Failure(Failure { kind: FailureKind::Budget, shortage: Some(shortage), message })) =
            serde_json::from_slice::<Outcome>(&inferred.outcome)
        {
            return self.pause(&case, &message, shortage);
        }
        let Some(question) = session.question.take() else { return };
        let account = serde_json::from_slice::<Account>(&inferred.account).ok();
        let account = account.and_then(|account| serde_json::to_value(account).ok()).unwrap_or_default();
        let did = PlannerDeed::Inferred {
            number: question.number,
            request: Digest::of(&question.request),
            answer: Digest::of(&inferred.outcome),
            secrecy: session.secrecy.as_str().to_owned(),
            account: account.clone(),
        };
        self.watchers.event(&case, CaseEvent::Planner(Told::Inferred { number: question.number, account }));
        self.did(&case, did, to_planner::Kind::Inferred(to_planner::Inferred { outcome: inferred.outcome }));
    }

    /// A question that no model answers.
    pub(super) fn not_inferred(&mut self, id: u64, message: &str) {
        let outcome = Outcome::Failure(Failure::new(FailureKind::Unavailable, message.to_owned()));
        let account = Account {
            provider: String::new(),
            model: String::new(),
            outcome: "unavailable".to_owned(),
            usage: Usage::default(),
            attempts: 0,
            millis: 0,
        };
        let outcome = serde_json::to_vec(&outcome).unwrap_or_default();
        let account = serde_json::to_vec(&account).unwrap_or_default();
        self.inferred(Inferred { id, outcome, account });
    }

    /// The broker is gone, and every question with it.
    pub(in super::super) fn nothing_inferred(&mut self, message: &str) {
        let asked: Vec<u64> = self.plans.asked.keys().copied().collect();
        for id in asked {
            self.not_inferred(id, message);
        }
    }

    /// The model is answering: for those who watch.
    pub(in super::super) fn thinking(&mut self, id: u64, bytes: u64) {
        if let Some(case) = self.plans.asked.get(&id) {
            self.watchers.passing(case, &CaseEvent::Planner(Told::Thinking { bytes }));
        }
    }

    /// Tokens that the model's question and answer have together; 0 where the broker does not say.
    pub(super) fn context_of(&self, provider: &str) -> u32 {
        let providers = self.broker_view().map(|view| view.facts.providers.as_slice()).unwrap_or_default();
        // The first is the default.
        let asked = providers.iter().find(|known| provider.is_empty() || known.name == provider);
        asked.map_or(0, |known| known.max_context)
    }

    /// Nobody waits for the question of a planner that is gone.
    pub(super) fn ask_no_more(&mut self, question: &Question) {
        if self.plans.asked.remove(&question.id).is_some() {
            self.tell_broker(to_broker::Kind::Cancel(Cancel { id: question.id }));
        }
    }

    /// Ends questions that take too long, and looks whether a limit was raised for those that wait for it.
    pub(super) fn models_tick(&mut self) {
        let (mut unanswered, mut paused) = (Vec::new(), false);
        for (case, session) in &self.plans.sessions {
            let Some(question) = &session.question else { continue };
            paused |= question.paused;
            if !question.paused && session.since.elapsed() > MODEL {
                unanswered.push((case.clone(), question.id));
            }
        }
        for (case, id) in unanswered {
            self.tell_broker(to_broker::Kind::Cancel(Cancel { id }));
            let why = format!("no model answered within {} s", MODEL.as_secs());
            self.plans.asked.insert(id, case);
            self.not_inferred(id, &why);
        }
        // A broker of another configuration is asked everything anew.
        if paused && self.is_broker_configuration_new() {
            drop(self.broker().map(|_| ()));
        }
    }
}

//! Messages of proposers: submit, watch, show. None of them approves.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_gate::clock::Moment;
use countersign_gate::event::{Event, Said, Submission};
use countersign_gate::gate::{Gate, Outside};
use countersign_gate::transition::Transition;
use countersign_habit::history::History;
use countersign_plan::document::{self, Bounds};
use countersign_plan::draft::Draft;
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::resolve::Inputs;
use countersign_plan::time::Span;
use countersign_plan::verdict::{Code, Mode, Verdict};
use countersign_policy::flow::{Label, Session};
use countersign_policy::review::Review;
use countersign_wire::propose::from_monitor::{self, Error};
use countersign_wire::propose::to_monitor::{Kind, Submit};
use countersign_wire::propose::{CaseView, FromMonitor};

use super::evaluate::Evaluated;
use super::{Answer, ProposeReply, State};
use crate::configure::Configured;
use crate::facts::Machine;
use crate::inspector::{Answers, Outcome};
use crate::past::Told;
use crate::peer::Peer;

/// The window of the rate limit.
const MINUTE: Duration = Duration::from_secs(60);

/// Proposals of the last minute, by requester.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    proposals: HashMap<String, VecDeque<Instant>>,
    /// The count of the proposer that the present event is about.
    pub(super) present: u32,
}

/// What is known of a proposal, or of a permit that is asked for, beyond what it says itself.
#[derive(Debug, Default)]
struct Remembered {
    /// Whether it is a proposal.
    proposed: bool,
    recent: u32,
    session: Arc<Session>,
    history: Arc<History>,
    evaluated: Option<Evaluated>,
}

impl Rates {
    /// Counts a proposal; how many came before it in the last minute.
    pub(super) fn count(&mut self, requester: &str, now: Instant) {
        let times = self.proposals.entry(requester.to_owned()).or_default();
        while times.front().is_some_and(|at| now.duration_since(*at) > MINUTE) {
            times.pop_front();
        }
        self.present = u32::try_from(times.len()).unwrap_or(u32::MAX);
        times.push_back(now);
    }
}

impl State {
    /// Lets the gate look at an event, with both clocks, fresh randomness, this machine and the past.
    pub(crate) fn handle(&mut self, event: Event) -> Transition {
        let mut entropy = [0; 32];
        if getrandom::fill(&mut entropy).is_err() {
            // Without randomness nothing can be signed twice apart; the gate halts.
            self.failed = true;
        }
        let event = if self.failed { Event::LedgerFailed } else { event };
        let mut known = Remembered::default();
        match &event {
            Event::Submit(submission) => known = self.remembered(submission),
            Event::Executor { case, said: Said::Request { .. } } => {
                known.session = self.past.session_of(case);
                known.evaluated = self.evaluations.of_case(case);
            }
            _ => {}
        }
        let answers = self.answers.take(super::inspect::case_of(&event));
        let (transition, outcome) = self.look(&known, (entropy, answers), |gate, outside| gate.handle(event, outside));
        let case = transition.entries().iter().rev().find_map(|entry| entry.case.clone());
        if known.proposed {
            self.evaluations.opened(case.clone());
        }
        self.inspected(outcome, case);
        self.remember(&transition);
        transition
    }

    /// What the gate would decide now about a proposal.
    pub(super) fn foresee(&mut self, submission: &Submission) -> Option<(Draft, Review)> {
        let known = self.remembered(submission);
        // Nothing of this is ever signed or named.
        let fresh = ([0; 32], Answers::default());
        let (foreseen, outcome) = self.look(&known, fresh, |gate, outside| gate.foresee(submission, outside));
        self.inspected(outcome, None);
        foreseen
    }

    fn look<T>(
        &mut self,
        known: &Remembered,
        (entropy, answers): ([u8; 32], Answers),
        act: impl FnOnce(&mut Gate, Outside<'_>) -> T,
    ) -> (T, Outcome) {
        let start = Instant::now();
        let sitting = self.inspectors.sitting(answers);
        let machine = Machine {
            recent: known.recent,
            program_folders: self.configurations.toolchain().program_folders(),
            session: &known.session,
            history: &known.history,
            spent: known.proposed.then(|| self.past.spent()),
            evaluated: known.evaluated.as_ref(),
            capabilities: &self.capabilities,
            sitting: Some(&sitting),
        };
        let moment = Moment { wall: self.clock.wall(), monotonic: Span::from_millis(self.clock.monotonic_ms()) };
        let elapsed = || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let acted = act(&mut self.gate, Outside { moment, entropy, facts: &machine, elapsed: &elapsed });
        (acted, sitting.end())
    }

    /// What counts of the past for a proposal.
    fn remembered(&self, submission: &Submission) -> Remembered {
        let seat = self.past.seat(submission);
        Remembered {
            proposed: true,
            recent: self.rates.present,
            session: self.past.session(&seat, self.clock.wall()),
            history: self.past.history(&seat, &submission.requester),
            evaluated: self.evaluations.of_proposal(),
        }
    }

    /// What is on its way into the ledger is known from now on.
    pub(crate) fn remember(&mut self, transition: &Transition) {
        for entry in transition.entries() {
            let told =
                Told { kind: entry.kind, case: entry.case.as_ref(), at: entry.at, payload: Some(&entry.payload) };
            let configurations = &mut self.configurations;
            self.past.take(told, &mut |origin| configurations.for_origin(origin).ok().map(|(found, _)| found));
        }
    }

    pub(crate) fn propose(&mut self, kind: Kind, peer: Peer, reply: ProposeReply) {
        let place = match &kind {
            Kind::Submit(submit) => Some((&submit.cwd, &submit.deployment)),
            Kind::Pursue(pursue) => Some((&pursue.cwd, &pursue.deployment)),
            Kind::Watch(_) | Kind::Show(_) => None,
        };
        if let Some((cwd, deployment)) = place
            && (self.waits_for_prints() || self.waits_for_changes(cwd, deployment, peer))
        {
            return self.park(kind, peer, reply);
        }
        match kind {
            Kind::Submit(submit) => match self.submission(submit, peer) {
                Ok(submission) => self.submit(submission, Answer::Proposer(reply)),
                Err((code, message)) => Answer::Proposer(reply).fail(code, &message),
            },
            Kind::Pursue(pursue) => self.pursue(pursue, peer, reply),
            Kind::Watch(watch) => match self.known(&watch.case) {
                Some(case) => self.watchers.watch(&case, reply),
                None => Answer::Proposer(reply).fail("plan.invalid", &unknown(&watch.case)),
            },
            Kind::Show(show) => self.show(&show.case, reply),
        }
    }

    fn known(&self, case: &str) -> Option<CaseId> {
        let case: CaseId = case.parse().ok()?;
        self.gate.case(&case).map(|_| case)
    }

    fn submission(&mut self, submit: Submit, peer: Peer) -> Result<Submission, (&'static str, String)> {
        let invalid = |message: String| ("plan.invalid", message);
        let inputs = inputs(&submit.inputs).map_err(invalid)?;
        let agent: Principal = submit.agent.parse().map_err(|e| invalid(format!("agent: {e}")))?;
        let requester: Principal =
            format!("uid:{}", peer.uid).parse().map_err(|e: countersign_plan::id::NameError| invalid(e.to_string()))?;
        let (configuration, origin): Configured = self
            .configurations
            .for_submission(&submit.cwd, &submit.deployment, peer)
            .map_err(|message| ("policy.invalid", message))?;
        // By the user whom the kernel names: what a proposer calls itself is its own choice.
        self.rates.count(requester.as_str(), Instant::now());
        Ok(Submission {
            document: submit.document,
            goal: submit.goal,
            inputs,
            cwd: submit.cwd,
            requester,
            agent,
            mode: if submit.guarded { Mode::Guarded } else { Mode::Managed },
            check: submit.check,
            revises: None,
            parent: None,
            seen: Label::TOP,
            configuration,
            origin,
        })
    }

    /// The configuration of a case as it is on disk now.
    pub(crate) fn present_configuration(
        &mut self,
        case: &CaseId,
    ) -> Result<std::sync::Arc<countersign_gate::configuration::Configuration>, String> {
        let summary = self.gate.case(case).ok_or_else(|| format!("no case {case}"))?;
        self.configurations.for_origin(&summary.origin).map(|(configuration, _)| configuration)
    }

    /// A case as it may be shown.
    pub(crate) fn view(&self, case: &str) -> Option<CaseView> {
        let case: CaseId = case.parse().ok()?;
        let summary = self.gate.case(&case)?;
        let left = summary.pending_until.map(|until| until.since(self.gate.now()).as_millis() / 1000);
        Some(CaseView {
            stage: summary.stage.to_owned(),
            principal: summary.requester.to_string(),
            agent: summary.agent.to_string(),
            goal: summary.goal,
            verdict: serde_json::to_value(&summary.verdict).ok()?,
            plan: String::from_utf8(summary.plan).ok()?,
            approvals: summary.approvals.iter().map(|who| serde_json::json!({"approver": who})).collect(),
            expires_in_s: left,
            asks: serde_json::to_value(&summary.asks).ok()?,
            events: self.watchers.events(&case),
            records: Vec::new(),
            case: case.to_string(),
        })
    }
}

/// Inputs given with a goal: a JSON object, or nothing.
pub(super) fn inputs(bytes: &[u8]) -> Result<Inputs, String> {
    if bytes.is_empty() {
        return Ok(Inputs::new());
    }
    document::from_json(bytes, Bounds::PLAN).and_then(document::typed).map_err(|e| format!("inputs: {e}"))
}

pub(super) fn unknown(case: &str) -> String {
    format!(
        "no case `{}` here; `countersign pending` and `countersign audit list` name them, and `countersign audit show CASE` tells of one \
         that was erased",
        countersign_plan::text::escape(case)
    )
}

impl Answer {
    /// The verdict, to a proposer.
    pub(crate) fn verdict(self, verdict: &Verdict) {
        if let Self::Proposer(reply) = self {
            let verdict = serde_json::to_vec(verdict).unwrap_or_default();
            let kind = from_monitor::Kind::Verdict(from_monitor::Verdict { verdict });
            drop(reply.try_send(FromMonitor { kind: Some(kind) }));
        }
    }

    /// The case that was opened for a goal, or why none was.
    pub(crate) fn pursued(self, opened: Result<CaseId, (Code, String)>) {
        match (self, opened) {
            (Self::Proposer(reply), Ok(case)) => {
                let kind = from_monitor::Kind::Pursued(from_monitor::Pursued { case: case.to_string() });
                drop(reply.try_send(FromMonitor { kind: Some(kind) }));
            }
            (answer, Err((code, message))) => answer.fail(code.as_str(), &message),
            (Self::Nobody | Self::Operator(_) | Self::Drafter(_) | Self::Reader(_), Ok(_)) => {}
        }
    }

    /// A failure, to whoever asked.
    pub(crate) fn fail(self, code: &str, message: &str) {
        match self {
            // What a planner hears is a verdict, and without a record there is none.
            Self::Nobody | Self::Drafter(_) | Self::Reader(_) => {}
            Self::Proposer(reply) => {
                let kind = from_monitor::Kind::Error(Error { code: code.to_owned(), message: message.to_owned() });
                drop(reply.try_send(FromMonitor { kind: Some(kind) }));
            }
            Self::Operator(reply) => super::operate::fail(&reply, code, message),
        }
    }
}

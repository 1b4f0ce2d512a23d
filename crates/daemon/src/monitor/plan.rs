//! Planning sessions: a goal, a sealed planner that can only talk, and the road from it to the gate and to the broker.
//!
//! What a planner says is taken strictly by turns ([`protocol`]); each deed is recorded before it is answered; drafts and reads
//! take the same road through the gate as anybody's. What does not fit ends the planner and its case (INV-9).

mod demand;
mod model;
mod process;
mod protocol;
mod run;
mod secrecy;
mod surface;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use countersign_gate::directive::Notice;
use countersign_gate::event::{Event, Goal, PlannerDeed};
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::resolve::Inputs;
use countersign_plan::verdict::Code;
use countersign_policy::deployment::SecrecyLevel;
use countersign_policy::flow::Label;
use countersign_wire::planner::{Bounds, RunResult, Task, ToPlanner, to_planner};
use countersign_wire::propose::to_monitor::Pursue;
use countersign_wire::propose::{CaseEvent, PlannerEvent as Told};
use serde_json::{Map, Value};

use self::model::Question;
pub(crate) use self::process::PlannerEvent;
use self::process::{End, Process};
use self::protocol::{Protocol, Work};
use self::surface::{Loaded, Secrets};
use super::{Answer, ProposeReply, State};
use crate::peer::Peer;
use crate::zygote::ChildEvent;

/// Who proposes in these cases: a program of ours, and no more trusted than any other planner.
const AGENT: &str = "agent:planner";

/// Where a spare planner's violation is recorded: no case is ever called so.
const SPARE: &str = "c-spare-planner";

/// Planners at work at once.
const SESSIONS: usize = 32;

/// A planner only computes between two messages.
const TURN: Duration = Duration::from_secs(60);

/// The planners of this monitor.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    sessions: HashMap<CaseId, Session>,
    /// Sealed, attested, and given to nobody yet.
    spare: Option<Process>,
    /// Questions to models, by the broker's number.
    asked: HashMap<u64, CaseId>,
    /// The cases in which planners read, with those that they work on.
    reads: HashMap<CaseId, CaseId>,
    /// Goals that wait until the broker knows its configuration.
    waiting: Vec<(Pursue, Peer, ProposeReply)>,
}

/// A planner and what it works on.
#[derive(Debug)]
struct Session {
    process: Process,
    protocol: Protocol,
    /// When the present turn began.
    since: Instant,
    goal: String,
    inputs: Inputs,
    cwd: String,
    provider: String,
    loaded: Loaded,
    /// The strictest of what it has seen. A new planner starts with what it is shown.
    secrecy: SecrecyLevel,
    /// The label of everything that it was told beside its goal and its tools: the label of its words (FLOW rule 6).
    seen: Label,
    /// What it is told once its deed is recorded.
    reply: Option<to_planner::Kind>,
    /// The question that a model has.
    question: Option<Question>,
    /// The read that is under way.
    reading: Option<Reading>,
    /// What the version under way showed so far, and how secret that is.
    shown: Shown,
    /// What the planner read.
    read: Shown,
    /// The runs so far.
    results: Vec<RunResult>,
}

/// A read of a planner, in a case of its own.
#[derive(Debug)]
struct Reading {
    case: Option<CaseId>,
    action: String,
    args: Map<String, Value>,
    observation: Option<countersign_plan::observation::Observation>,
}

/// Observations by step or tool, bounded together.
#[derive(Debug, Default)]
struct Shown {
    observations: Vec<(String, Value)>,
    bytes: usize,
    secrecy: Option<SecrecyLevel>,
}

impl State {
    /// A user gives a goal. What the broker can reach has to be known first: without a provider no case is opened.
    pub(super) fn pursue(&mut self, pursue: Pursue, peer: Peer, reply: ProposeReply) {
        if !self.is_broker_configured() {
            let message = format!("no model provider is configured: there is no {}", self.broker_file().display());
            return Answer::Proposer(reply).fail("provider.not_configured", &message);
        }
        if let Err(message) = self.broker().map(|_| ()) {
            return Answer::Proposer(reply).fail("provider.unavailable", &message);
        }
        if let Some(view) = self.broker_view() {
            let missing = if !view.error.is_empty() {
                Some(format!("{}: {}", view.file, view.error))
            } else if view.facts.providers.is_empty() {
                Some(format!("{}: no model provider is configured", view.file))
            } else if !pursue.provider.is_empty() && !view.facts.providers.iter().any(|p| p.name == pursue.provider) {
                let names: Vec<&str> = view.facts.providers.iter().map(|p| p.name.as_str()).collect();
                let asked = countersign_plan::text::escape(&pursue.provider);
                Some(format!("no provider `{asked}` is configured; there are {}", names.join(", ")))
            } else {
                None
            };
            match missing {
                Some(message) => Answer::Proposer(reply).fail("provider.not_configured", &message),
                None => self.open_goal(pursue, peer, reply),
            }
        } else if self.plans.waiting.len() < SESSIONS {
            self.plans.waiting.push((pursue, peer, reply));
        } else {
            Answer::Proposer(reply).fail("policy.limit", "too many goals wait; try again");
        }
    }

    /// The broker knows its configuration, or ended before it did.
    pub(super) fn broker_answered(&mut self, lost: Option<&str>) {
        for (pursue, peer, reply) in std::mem::take(&mut self.plans.waiting) {
            match lost {
                Some(message) => Answer::Proposer(reply).fail("provider.unavailable", message),
                None => self.pursue(pursue, peer, reply),
            }
        }
    }

    fn open_goal(&mut self, pursue: Pursue, peer: Peer, reply: ProposeReply) {
        match self.goal(pursue, peer) {
            Ok(goal) => self.event(Event::OpenGoal(Box::new(goal)), Answer::Proposer(reply)),
            Err((code, message)) => Answer::Proposer(reply).fail(code, &message),
        }
    }

    fn goal(&mut self, pursue: Pursue, peer: Peer) -> Result<Goal, (&'static str, String)> {
        if self.plans.sessions.len() >= SESSIONS {
            return Err(("policy.limit", format!("{SESSIONS} planners are at work; wait for one to end")));
        }
        let invalid = |message: String| ("plan.invalid", message);
        let name = |e: countersign_plan::id::NameError| invalid(e.to_string());
        let inputs = super::propose::inputs(&pursue.inputs).map_err(invalid)?;
        let requester: Principal = format!("uid:{}", peer.uid).parse().map_err(name)?;
        let agent = AGENT.parse().map_err(name)?;
        let (configuration, origin) = self
            .configurations
            .for_submission(&pursue.cwd, &pursue.deployment, peer)
            .map_err(|message| ("policy.invalid", message))?;
        self.rates.count(requester.as_str(), Instant::now());
        Ok(Goal {
            goal: pursue.goal,
            inputs,
            cwd: pursue.cwd,
            requester,
            agent,
            provider: pursue.provider,
            configuration,
            origin,
        })
    }

    /// The case is open: a planner is taken for it.
    pub(super) fn start_planner(&mut self, case: CaseId, goal: String, inputs: Inputs, cwd: String, provider: String) {
        let process = match self.take_planner() {
            Ok(process) => process,
            Err(reason) => return self.event(Event::PlannerEnded { case, reason }, Answer::Nobody),
        };
        let session = Session {
            process,
            protocol: Protocol::new(Work::Draft),
            since: Instant::now(),
            goal,
            inputs,
            cwd,
            provider,
            loaded: Loaded::default(),
            secrecy: SecrecyLevel::Public,
            seen: Label::BOTTOM,
            reply: None,
            question: None,
            reading: None,
            shown: Shown::default(),
            read: Shown::default(),
            results: Vec::new(),
        };
        self.plans.sessions.insert(case.clone(), session);
        self.begin(&case);
    }

    /// The spare one, or a new one; and a new spare for the next.
    fn take_planner(&mut self) -> Result<Process, String> {
        let lost = |e: std::io::Error| format!("no planner can be started: {e}");
        let taken = match self.plans.spare.take() {
            Some(spare) => spare,
            None => self.spawn_planner().map_err(lost)?,
        };
        self.keep_spare();
        Ok(taken)
    }

    /// Keeps a sealed planner warm, so that a goal does not wait for one.
    pub(crate) fn keep_spare(&mut self) {
        if self.plans.spare.is_none() {
            self.plans.spare = self.spawn_planner().ok();
        }
    }

    /// Gives the planner its task once it runs: recorded first.
    fn begin(&mut self, case: &CaseId) {
        let configuration = match self.present_configuration(case) {
            Ok(configuration) => configuration,
            Err(reason) => return self.planner_lost(case, &reason),
        };
        let Some(session) = self.plans.sessions.get(case) else { return };
        let bounds = Bounds { context: self.context_of(&session.provider), ..session.protocol.bounds() };
        let secrets = Secrets { names: &self.names_of_secrets(), deployment: &configuration.deployment };
        let Some(enforcement) = session.process.enforcement.clone() else { return };
        let surface = session.loaded.surface(&configuration.manifest, &secrets);
        let first =
            (session.protocol.work() == Work::Draft).then(|| demand::digest_of(&surface, &configuration.manifest));
        let task = match session.protocol.work() {
            Work::Draft => Task::Draft {
                goal: session.goal.clone(),
                inputs: serde_json::to_value(&session.inputs).unwrap_or_default(),
                cwd: session.cwd.clone(),
                surface,
                bounds,
            },
            Work::Answer => Task::Answer { goal: session.goal.clone(), results: session.results.clone(), bounds },
        };
        let task = serde_json::to_vec(&task).unwrap_or_default();
        let told = match session.protocol.work() {
            Work::Draft => Told::Started { provider: session.provider.clone(), enforcement: enforcement.clone() },
            Work::Answer => Told::Answering,
        };
        self.watchers.event(case, CaseEvent::Planner(told));
        self.did(
            case,
            PlannerDeed::Started { enforcement, surface: first },
            to_planner::Kind::Start(to_planner::Start { task }),
        );
    }

    /// Has a deed recorded; then the planner is told what came of it.
    fn did(&mut self, case: &CaseId, did: PlannerDeed, reply: to_planner::Kind) {
        if let Some(session) = self.plans.sessions.get_mut(case) {
            session.reply = Some(reply);
        }
        self.event(Event::Planner { case: case.clone(), did }, Answer::Nobody);
    }

    /// The deed is recorded, or the gate takes no more of them.
    pub(super) fn planner_heard(&mut self, case: &CaseId, heard: Result<(), (Code, String)>) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        match (heard, session.reply.take()) {
            (Ok(()), Some(reply)) => self.tell_planner(case, reply),
            // The end of its words: the gate closes the case.
            (Ok(()), None) => {}
            (Err((code, message)), _) => self.planner_lost(case, &format!("{}: {message}", code.as_str())),
        }
    }

    /// Tells the planner something; from then on it is its turn.
    fn tell_planner(&mut self, case: &CaseId, kind: to_planner::Kind) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let told = session.protocol.tell(&kind).map_err(|e| e.to_string());
        session.since = Instant::now();
        let told = told.and_then(|()| session.process.tell(ToPlanner { kind: Some(kind) }));
        if let Err(reason) = told {
            self.planner_lost(case, &reason);
        }
    }

    fn worked_on_by(&self, id: u64) -> Option<CaseId> {
        self.plans.sessions.iter().find(|(_, session)| session.process.id == id).map(|(case, _)| case.clone())
    }

    /// Something from a planner's process. One that was ended says nothing that counts.
    pub(super) fn planner_event(&mut self, id: u64, event: PlannerEvent) {
        if self.plans.spare.as_ref().is_some_and(|spare| spare.id == id) {
            return self.spare_event(event);
        }
        let Some(case) = self.worked_on_by(id) else {
            // A planner that was spawned for nobody any more.
            if matches!(event, PlannerEvent::Child(ChildEvent::Spawned(..))) {
                drop(self.zygote.kill(id));
            }
            return;
        };
        match event {
            PlannerEvent::Child(ChildEvent::Spawned(spawned, channel)) => {
                let Some(mut session) = self.plans.sessions.remove(&case) else { return };
                let attached = self.attach_planner(&mut session.process, &spawned.enforcement, channel);
                self.plans.sessions.insert(case.clone(), session);
                match attached {
                    Ok(()) => self.begin(&case),
                    Err(e) => self.planner_lost(&case, &format!("its channel failed: {e}")),
                }
            }
            PlannerEvent::Child(ChildEvent::Refused { message, .. }) => self.planner_lost(&case, &message),
            PlannerEvent::Child(ChildEvent::Exited(exited)) => {
                let end = self.plans.sessions.get_mut(&case).and_then(|session| session.process.left(exited));
                self.planner_ended(&case, end);
            }
            PlannerEvent::Child(ChildEvent::Booted(_)) => {}
            PlannerEvent::Silent => {
                let end = self.plans.sessions.get_mut(&case).and_then(|session| session.process.fell_silent());
                self.planner_ended(&case, end);
            }
            PlannerEvent::Garbage(what) => {
                self.planner_violation(&case, &format!("the planner sent no message: {what}"))
            }
            PlannerEvent::Said(said) => {
                let Some(session) = self.plans.sessions.get_mut(&case) else { return };
                session.process.looked_at();
                match session.protocol.hear(said) {
                    Ok(demand) => self.demand(&case, demand),
                    Err(breach) => {
                        self.planner_violation(&case, &format!("the planner said what it may not: {breach}"))
                    }
                }
            }
        }
    }

    /// A spare one has nobody to talk to: if it says or does anything, it is replaced by none until the next goal.
    fn spare_event(&mut self, event: PlannerEvent) {
        let Some(mut spare) = self.plans.spare.take() else { return };
        let end = match event {
            PlannerEvent::Child(ChildEvent::Spawned(spawned, channel)) => {
                match self.attach_planner(&mut spare, &spawned.enforcement, channel) {
                    Ok(()) => {
                        self.plans.spare = Some(spare);
                        return;
                    }
                    Err(e) => e.to_string(),
                }
            }
            PlannerEvent::Child(ChildEvent::Refused { message, .. }) => message,
            PlannerEvent::Child(ChildEvent::Exited(exited)) => match spare.left(exited) {
                Some(End::Violation(message)) => return self.spare_violation(&spare, message),
                Some(End::Gone(message)) => message,
                None => "it ended".to_owned(),
            },
            PlannerEvent::Child(ChildEvent::Booted(_)) | PlannerEvent::Silent => "it ended".to_owned(),
            PlannerEvent::Said(_) | PlannerEvent::Garbage(_) => {
                return self.spare_violation(&spare, "the spare planner spoke before it had a task".to_owned());
            }
        };
        crate::log(&format!("the spare planner: {end}"));
        drop(self.zygote.kill(spare.id));
    }

    /// It belongs to no case yet; the violation is recorded and told all the same.
    fn spare_violation(&mut self, spare: &Process, message: String) {
        drop(self.zygote.kill(spare.id));
        match SPARE.parse() {
            Ok(case) => self.event(Event::PlannerViolation { case, message }, Answer::Nobody),
            Err(_) => crate::log(&format!("ALERT {message}")),
        }
    }

    fn planner_ended(&mut self, case: &CaseId, end: Option<End>) {
        match end {
            None => {}
            Some(End::Violation(message)) => self.planner_violation(case, &message),
            Some(End::Gone(reason)) => {
                let expected = self.plans.sessions.get(case).is_some_and(|session| session.protocol.is_over());
                if !expected {
                    self.planner_lost(case, &reason);
                }
            }
        }
    }

    /// It tried more than a planner can do: recorded, told, halted (INV-9).
    fn planner_violation(&mut self, case: &CaseId, message: &str) {
        drop(self.forget_planner(case));
        let event = Event::PlannerViolation { case: case.clone(), message: message.to_owned() };
        self.event(event, Answer::Nobody);
    }

    /// It is gone, or of no more use.
    fn planner_lost(&mut self, case: &CaseId, reason: &str) {
        drop(self.forget_planner(case));
        self.event(Event::PlannerEnded { case: case.clone(), reason: reason.to_owned() }, Answer::Nobody);
    }

    /// The gate ends the planner of a case.
    pub(super) fn end_planner(&mut self, case: &CaseId, reason: &str) {
        if let Some(session) = self.forget_planner(case)
            && !session.protocol.is_over()
        {
            let reason = reason.to_owned();
            self.watchers.event(case, CaseEvent::Planner(Told::GaveUp { reason }));
        }
    }

    /// Kills the planner of a case; nobody waits for what it asked for.
    fn forget_planner(&mut self, case: &CaseId) -> Option<Session> {
        let session = self.plans.sessions.remove(case)?;
        drop(self.zygote.kill(session.process.id));
        self.plans.reads.retain(|_, goal| goal != case);
        if let Some(question) = &session.question {
            self.ask_no_more(question);
        }
        Some(session)
    }

    /// Something happened in a case: perhaps one that a planner works on, or reads in.
    pub(super) fn planner_notice(&mut self, case: &CaseId, notice: &Notice) {
        if let Some(goal) = self.plans.reads.get(case).cloned() {
            self.read_notice(case, &goal, notice);
        } else if self.plans.sessions.contains_key(case) {
            self.run_notice(case, notice);
        }
    }

    /// Ends what takes too long.
    pub(super) fn planner_tick(&mut self) {
        let idle = self.plans.sessions.iter().filter(|(_, session)| {
            let own_turn = session.process.enforcement.is_none() || session.protocol.thinks();
            own_turn && session.since.elapsed() > TURN
        });
        let idle: Vec<CaseId> = idle.map(|(case, _)| case.clone()).collect();
        for case in idle {
            self.planner_lost(&case, &format!("nothing came from it for {} s", TURN.as_secs()));
        }
        self.models_tick();
    }

    /// The zygote ended, and every planner with it.
    pub(super) fn planners_lost(&mut self) {
        self.plans.spare = None;
        let cases: Vec<CaseId> = self.plans.sessions.keys().cloned().collect();
        for case in cases {
            self.planner_lost(&case, "the zygote ended");
        }
    }

    /// Ends every planner.
    pub(crate) fn end_all_planners(&mut self) {
        let cases: Vec<CaseId> = self.plans.sessions.keys().cloned().collect();
        for case in cases {
            drop(self.forget_planner(&case));
        }
        if let Some(spare) = self.plans.spare.take() {
            drop(self.zygote.kill(spare.id));
        }
    }
}

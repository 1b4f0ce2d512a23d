//! The monitor's one thread of decisions: every message becomes an event of the gate, every directive an act of the daemon.
//!
//! Entries are recorded first and directives carried out when the ledger says that they are durable; several transitions may
//! be on their way at once, so that many cases share a commit.

mod audit;
mod egress;
mod erase;
mod evaluate;
mod inspect;
mod operate;
mod plan;
mod propose;
mod run;
mod show;
mod step;
mod watch;

pub(crate) use egress::Brokerage;
pub(crate) use erase::{erased_before, remove_snapshots};
pub(crate) use evaluate::{Evaluated, Evaluations};
pub(crate) use plan::Plans;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use countersign_gate::directive::{Directive, Notice, OperatorAnswer};
use countersign_gate::event::Event;
use countersign_gate::gate::Gate;
use countersign_gate::transition::{Transition, Withheld};
use countersign_ledger::ledger::AppendError;
use countersign_ledger::{Ledger, Recorded};
use countersign_plan::id::CaseId;
use countersign_wire::{operator, propose as wire};
use tokio::sync::mpsc::Sender as Reply;

use crate::broker::BrokerEvent;
use crate::clock::Clock;
use crate::configure::Configurations;
use crate::folders::Folders;
use crate::inspector::{Ended, Inspectors, Kept};
use crate::past::Past;
use crate::peer::Peer;
use crate::zygote::Zygote;

/// How often time is looked at when nothing else happens.
const TICK: Duration = Duration::from_secs(1);

/// A reply to a proposer.
pub(crate) type ProposeReply = Reply<wire::FromMonitor>;
/// A reply to an operator.
pub(crate) type OperateReply = Reply<operator::FromMonitor>;

/// What reaches the monitor.
pub(crate) enum Command {
    /// A message on `propose.sock`.
    Propose { kind: wire::to_monitor::Kind, peer: Peer, reply: ProposeReply },
    /// A message on `operator.sock`.
    Operate { kind: operator::to_monitor::Kind, peer: Peer, reply: OperateReply },
    /// What the ledger tells of cases that are to be erased.
    Erase { gathered: Box<erase::Gathered>, reply: OperateReply },
    /// Something about a child.
    Run { case: CaseId, event: run::RunEvent },
    /// Something from the broker of this start.
    Broker { generation: u64, event: BrokerEvent },
    /// Something from a planner.
    Planner { id: u64, event: plan::PlannerEvent },
    /// An inspector ended.
    Inspector(Ended),
    /// Not everything of an event was inspected.
    NotInspected { case: Option<CaseId>, message: String },
    /// Entries are durable, or not.
    Recorded { withheld: Box<Withheld>, answer: Answer, result: Result<Recorded, AppendError> },
    /// The zygote is gone, and with it every child.
    ZygoteEnded,
    /// End.
    Shutdown,
}

/// Whom a transition answers.
pub(crate) enum Answer {
    /// Nobody.
    Nobody,
    /// A proposer.
    Proposer(ProposeReply),
    /// An operator.
    Operator(OperateReply),
    /// The planner of this case, about a draft.
    Drafter(CaseId),
    /// The planner of this case, about a read.
    Reader(CaseId),
}

/// The way to the monitor's thread.
#[derive(Clone)]
pub(crate) struct Monitor {
    commands: Sender<Command>,
}

impl Monitor {
    /// A way to a monitor that reads from the other end.
    pub(crate) fn channel() -> (Self, Receiver<Command>) {
        let (commands, receiver) = std::sync::mpsc::channel();
        (Self { commands }, receiver)
    }

    /// Sends a command; a monitor that has ended hears nothing, and its clients see their sockets close.
    pub(crate) fn send(&self, command: Command) {
        drop(self.commands.send(command));
    }
}

/// Everything that the monitor's thread owns.
pub(crate) struct State {
    pub(crate) gate: Gate,
    pub(crate) ledger: Ledger,
    pub(crate) zygote: Zygote,
    pub(crate) monitor: Monitor,
    pub(crate) clock: Clock,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) configurations: Configurations,
    pub(crate) folders: Folders,
    pub(crate) capabilities: serde_json::Value,
    /// Whether planners may go without namespaces: what the user's own deployment takes.
    pub(crate) without_namespaces: bool,
    pub(crate) runs: HashMap<CaseId, run::Run>,
    pub(crate) watchers: watch::Watchers,
    pub(crate) rates: propose::Rates,
    pub(crate) past: Past,
    pub(crate) evaluations: Evaluations,
    pub(crate) brokerage: Brokerage,
    pub(crate) plans: Plans,
    pub(crate) inspectors: Inspectors,
    /// For which case each inspector was asked that has not been seen to end.
    pub(crate) inspected: HashMap<u64, Option<CaseId>>,
    /// What they said about the cases that were decided about last.
    pub(crate) answers: Kept,
    pub(crate) rotating: Option<crate::keys::Secret>,
    pub(crate) failed: bool,
}

impl State {
    /// Serves commands until the end.
    pub(crate) fn serve(&mut self, commands: &Receiver<Command>) {
        let mut ticked = Instant::now();
        loop {
            match commands.recv_timeout(TICK) {
                Ok(Command::Shutdown) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(command) => self.command(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // The gate reads the clock with every event; looking for what is due need not follow each of them.
            if ticked.elapsed() >= TICK {
                self.tick();
                ticked = Instant::now();
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Propose { kind, peer, reply } => self.propose(kind, peer, reply),
            Command::Operate { kind, peer, reply } => self.operate(kind, peer, reply),
            Command::Erase { gathered, reply } => self.erase_gathered(*gathered, reply),
            Command::Run { case, event } => self.run(&case, event),
            Command::Broker { generation, event } => self.broker_event(generation, event),
            Command::Planner { id, event } => self.planner_event(id, event),
            Command::Inspector(ended) => self.inspector_ended(&ended),
            Command::NotInspected { case, message } => self.not_inspected(case, message),
            Command::Recorded { withheld, answer, result } => self.recorded(*withheld, answer, result),
            Command::ZygoteEnded => self.zygote_ended(),
            Command::Shutdown => {}
        }
    }

    /// Gives the gate an event and sees to what comes of it.
    pub(crate) fn event(&mut self, event: Event, answer: Answer) {
        if self.failed {
            return answer
                .fail("internal.error", "everything is halted, as the log says; mend the cause and start again");
        }
        let transition = self.handle(event);
        self.carry_out_or_record(transition, answer);
    }

    fn carry_out_or_record(&mut self, transition: Transition, answer: Answer) {
        match transition.ready() {
            Ok(directives) => self.directives(directives, answer),
            Err(transition) => {
                let (entries, withheld) = transition.into_parts();
                let monitor = self.monitor.clone();
                let withheld = Box::new(withheld);
                self.ledger.append_with(
                    entries,
                    Box::new(move |result| monitor.send(Command::Recorded { withheld, answer, result })),
                );
            }
        }
    }

    fn recorded(&mut self, withheld: Withheld, answer: Answer, result: Result<Recorded, AppendError>) {
        let outcome =
            result.map_err(|e| e.to_string()).and_then(|proof| withheld.release(&proof).map_err(|e| e.to_string()));
        match outcome {
            Ok(directives) => self.directives(directives, answer),
            Err(message) => self.ledger_failed(answer, &message),
        }
    }

    /// Nothing can be recorded any more, so nothing happens any more (INV-4).
    fn ledger_failed(&mut self, answer: Answer, message: &str) {
        crate::log(&format!("the ledger failed, everything halts: {message}"));
        answer.fail("internal.error", &format!("the ledger cannot record: {message}; nothing was done"));
        if !self.failed {
            self.failed = true;
            let transition = self.handle(Event::LedgerFailed);
            match transition.ready() {
                Ok(directives) => self.directives(directives, Answer::Nobody),
                // What cannot be recorded cannot be released: the children end with their channels.
                Err(_) => self.end_all_children(),
            }
        }
    }

    pub(crate) fn directives(&mut self, directives: Vec<Directive>, answer: Answer) {
        let mut answer = Some(answer);
        for directive in directives {
            match directive {
                Directive::AnswerProposer(verdict) => match answer.take() {
                    Some(Answer::Drafter(case)) => self.draft_judged(&case, &verdict),
                    Some(Answer::Reader(case)) => self.read_judged(&case, &verdict),
                    Some(answer) => answer.verdict(&verdict),
                    None => {}
                },
                Directive::AnswerPursuer(opened) => {
                    if let Some(answer) = answer.take() {
                        answer.pursued(opened);
                    }
                }
                Directive::StartPlanner { case, goal, inputs, cwd, provider } => {
                    self.start_planner(case, goal, inputs, cwd, provider);
                }
                Directive::ContinuePlanner { case } => self.continue_planner(&case),
                Directive::AnswerPlanner { case, heard } => self.planner_heard(&case, heard),
                Directive::EndPlanner { case, reason } => self.end_planner(&case, &reason),
                Directive::AnswerOperator(said) => {
                    if let OperatorAnswer::Trusted { path, digest } = &said {
                        self.configurations.trust(path, *digest);
                    }
                    if let OperatorAnswer::Erased { cases } = &said {
                        self.erased(cases);
                    }
                    if let Some(answer) = answer.take() {
                        answer.operator(&said);
                    }
                }
                Directive::Notify { case, notice } => {
                    self.watchers.notice(&case, &notice);
                    if matches!(notice, Notice::Ended { .. }) {
                        self.broker_case_ended(&case, false);
                        self.evaluations.closed(&case);
                    }
                    self.planner_notice(&case, &notice);
                }
                Directive::StartExecutor { case, plan, gate, epoch, now, undo } => {
                    self.start_executor(case, *plan, gate, epoch, now, &undo);
                }
                Directive::GrantPermit { case, permit } => self.grant(&case, permit),
                Directive::RefuseExecutor { case, code, message } => self.refuse(&case, code, message),
                Directive::RunStep(step) => self.run_step(*step),
                Directive::Observed { case, step, observation } => self.observed(&case, &step, &observation),
                Directive::HaltExecutor { case, reason, compensate } => self.halt_executor(&case, reason, compensate),
                Directive::KillStep { case } => self.kill_step(&case),
                Directive::KillExecutor { case } => self.kill_executor(&case),
                Directive::Alert { case, message } => {
                    let case = case.map(|case| format!("case {case}: ")).unwrap_or_default();
                    crate::log(&format!("ALERT {case}{message}"));
                }
                Directive::RotateKey { signer, key, signature } => self.rotate_key(signer, key, signature),
            }
        }
    }

    fn zygote_ended(&mut self) {
        crate::log("the zygote ended; no step can run until the next start");
        let cases: Vec<CaseId> = self.runs.keys().cloned().collect();
        for case in cases {
            self.run(&case, run::RunEvent::ZygoteEnded);
        }
        self.planners_lost();
        self.inspectors.lost();
        self.inspected.clear();
    }

    fn tick(&mut self) {
        if self.failed {
            return;
        }
        let transition = self.handle(Event::Tick);
        self.carry_out_or_record(transition, Answer::Nobody);
        self.ask_changes();
        self.broker_tick();
        self.planner_tick();
        self.evaluations_tick();
    }
}

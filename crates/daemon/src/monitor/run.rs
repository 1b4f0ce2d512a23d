//! The children of a case: its executor, and the step child that runs, if one does.

use std::io;
use std::os::fd::OwnedFd;

use countersign_gate::event::{Event, Report, Said};
use countersign_gate::permit::Permit;
use countersign_plan::confinement::Minimum;
use countersign_plan::envelope::CountersignedPlan;
use countersign_plan::id::{CaseId, StepId};
use countersign_plan::key::PublicKey;
use countersign_plan::observation::Observation;
use countersign_plan::permit::Phase;
use countersign_plan::saga::Undo;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Code;
use countersign_wire::executor::{
    FromExecutor, Report as WireReport, RunEnding, ToExecutor, from_executor, to_executor,
};
use countersign_wire::frame::FrameError;
use countersign_wire::propose::CaseEvent;
use countersign_wire::step::FromStep;
use countersign_wire::zygote::to_zygote;
use tokio::sync::mpsc;

use super::step::{Cut, StepRun};
use super::{Answer, Command, Monitor, State};
use crate::channel;
use crate::zygote::{ChildEvent, Listener};

/// SIGSYS: the sandbox stopped a system call.
pub(super) const SIGSYS: i32 = 31;

/// Something about a child of a case.
#[derive(Debug)]
pub(crate) enum RunEvent {
    /// The zygote about the executor.
    Executor(u64, ChildEvent),
    /// The executor said something, or what it said is no message.
    Said(u64, Result<FromExecutor, String>),
    /// The executor closed its channel: all that it said has arrived.
    Silent(u64),
    /// The zygote about a step child.
    Step(u64, ChildEvent),
    /// A step child said something.
    StepSaid(u64, Option<FromStep>),
    /// A step child asked the broker for what no step may ask.
    StepOffended(u64, String),
    /// The zygote is gone.
    ZygoteEnded,
}

/// The children of a case.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) executor: u64,
    /// What is to be said before the executor's channel is there.
    waiting: Vec<ToExecutor>,
    to_executor: Option<mpsc::Sender<ToExecutor>>,
    leaving: Option<Leaving>,
    pub(super) step: Option<StepRun>,
}

/// An executor's last words and its end come by different roads; only when both are there is it known that it left without saying so.
#[derive(Debug)]
enum Leaving {
    /// Its channel is closed.
    Silent,
    /// The zygote reaped it.
    Gone,
}

/// Why the gate hears nothing of a message.
enum Unsaid {
    /// It is none: nobody but a broken or taken-over executor sends that.
    NoMessage(String),
    /// What it has to be compared with cannot be read now.
    Configuration(String),
}

fn phase(name: &str) -> Option<Phase> {
    Phase::ALL.into_iter().find(|phase| phase.as_str() == name)
}

impl State {
    pub(crate) fn start_executor(
        &mut self,
        case: CaseId,
        plan: CountersignedPlan,
        gate: PublicKey,
        epoch: u64,
        now: Timestamp,
        undo: &[(StepId, Undo)],
    ) {
        let undo = undo.iter().map(|(step, by)| to_executor::Undo { step: step.to_string(), by: by.to_string() });
        let start = to_executor::Start {
            envelope: plan.envelope.to_json(),
            plan: plan.plan,
            gate_key: gate.to_bytes().to_vec(),
            epoch,
            now: now.as_millis(),
            undo: undo.collect(),
        };
        let first = ToExecutor { kind: Some(to_executor::Kind::Start(start)) };
        let listener = self.listener(case.clone(), RunEvent::Executor);
        let without_namespaces = self.may_lack_namespaces(&case);
        let spawn = to_zygote::SpawnExecutor { without_namespaces };
        match self.zygote.ask(to_zygote::Kind::SpawnExecutor(spawn), &[], listener) {
            Ok(id) => {
                self.runs.insert(
                    case,
                    Run { executor: id, waiting: vec![first], to_executor: None, leaving: None, step: None },
                );
            }
            Err(e) => self.event(Event::ExecutorLost { case, reason: format!("no zygote: {e}") }, Answer::Nobody),
        }
    }

    /// Whether the deployment of a case takes a sandbox without namespaces.
    fn may_lack_namespaces(&mut self, case: &CaseId) -> bool {
        let Some(summary) = self.gate.case(case) else { return false };
        self.configurations.for_origin(&summary.origin).is_ok_and(|(found, _)| found.minimum() == Minimum::NoUserns)
    }

    /// Sends the executor of a case something; a channel that is full or gone counts as a lost executor.
    fn tell(&mut self, case: &CaseId, kind: to_executor::Kind) {
        let Some(run) = self.runs.get_mut(case) else { return };
        let message = ToExecutor { kind: Some(kind) };
        match &run.to_executor {
            None => run.waiting.push(message),
            Some(channel) => {
                if channel.try_send(message).is_err() {
                    self.executor_lost(case, "its channel is closed");
                }
            }
        }
    }

    pub(crate) fn grant(&mut self, case: &CaseId, permit: Permit) {
        let permit = permit.into_bytes();
        self.tell(case, to_executor::Kind::Permit(to_executor::Granted { permit }));
    }

    pub(crate) fn refuse(&mut self, case: &CaseId, code: Code, message: String) {
        let refused = to_executor::Refused { code: code.as_str().to_owned(), message };
        self.tell(case, to_executor::Kind::Refused(refused));
    }

    pub(crate) fn observed(&mut self, case: &CaseId, step: &StepId, observation: &Observation) {
        let observation = serde_json::to_vec(observation).unwrap_or_default();
        let observed = to_executor::Observed { step: step.to_string(), observation };
        self.tell(case, to_executor::Kind::Observed(observed));
    }

    pub(crate) fn halt_executor(&mut self, case: &CaseId, reason: String, compensate: bool) {
        self.tell(case, to_executor::Kind::Halt(to_executor::Halt { reason, compensate }));
    }

    pub(crate) fn kill_step(&mut self, case: &CaseId) {
        if let Some(step) = self.runs.get(case).and_then(|run| run.step.as_ref()) {
            drop(self.zygote.kill(step.id));
        }
    }

    pub(crate) fn kill_executor(&mut self, case: &CaseId) {
        if let Some(run) = self.runs.get_mut(case) {
            run.to_executor = None;
            drop(self.zygote.kill(run.executor));
        }
    }

    pub(crate) fn end_all_children(&mut self) {
        let cases: Vec<CaseId> = self.runs.keys().cloned().collect();
        for case in &cases {
            self.kill_step(case);
            self.kill_executor(case);
        }
    }

    /// Turns what the zygote says of a child into commands for this thread.
    pub(super) fn listener(&self, case: CaseId, wrap: fn(u64, ChildEvent) -> RunEvent) -> Listener {
        let monitor = self.monitor.clone();
        Box::new(move |id, event| monitor.send(Command::Run { case: case.clone(), event: wrap(id, event) }))
    }

    pub(crate) fn run(&mut self, case: &CaseId, event: RunEvent) {
        match event {
            RunEvent::Executor(id, event) => self.executor_event(case, id, event),
            RunEvent::Said(id, said) => self.executor_said(case, id, said),
            RunEvent::Silent(id) => self.executor_leaves(case, id, Leaving::Silent),
            RunEvent::Step(id, event) => self.step_event(case, id, event),
            RunEvent::StepSaid(id, said) => self.step_said(case, id, said),
            RunEvent::StepOffended(id, message) => self.cut_step(case, id, Cut::Offence(message)),
            RunEvent::ZygoteEnded => {
                let step = self.runs.get(case).is_some_and(|run| run.step.is_some());
                if step {
                    let reason = "the zygote ended".to_owned();
                    self.event(Event::StepLost { case: case.clone(), reason }, Answer::Nobody);
                }
                self.executor_lost(case, "the zygote ended");
            }
        }
    }

    fn executor_event(&mut self, case: &CaseId, id: u64, event: ChildEvent) {
        if self.runs.get(case).is_none_or(|run| run.executor != id) {
            return;
        }
        match event {
            ChildEvent::Spawned(_, channel) => {
                let attached = self.attach_executor(case, id, channel);
                if let Err(e) = attached {
                    self.executor_lost(case, &format!("its channel failed: {e}"));
                }
            }
            ChildEvent::Refused { message, .. } => self.executor_lost(case, &message),
            ChildEvent::Exited(exited) if exited.signal == Some(SIGSYS) || exited.syscall.is_some() => {
                let call = exited.syscall.as_deref().unwrap_or("a system call that the kernel does not name");
                self.executor_offended(
                    case,
                    &format!("the executor tried {call}, which no executor may, and was killed"),
                );
            }
            ChildEvent::Exited(_) => self.executor_leaves(case, id, Leaving::Gone),
            ChildEvent::Booted(_) => {}
        }
    }

    fn attach_executor(&mut self, case: &CaseId, id: u64, socket: OwnedFd) -> io::Result<()> {
        let stream = stream(&self.runtime, socket)?;
        let (mut reader, writer) = stream.into_split();
        let (sender, messages) = mpsc::channel(64);
        if let Some(run) = self.runs.get_mut(case) {
            for message in run.waiting.drain(..) {
                sender.try_send(message).map_err(io::Error::other)?;
            }
            run.to_executor = Some(sender);
        }
        self.runtime.spawn(channel::write_all(writer, messages));
        let (monitor, case) = (self.monitor.clone(), case.clone());
        self.runtime.spawn(async move {
            loop {
                let said = channel::read::<FromExecutor>(&mut reader).await;
                let closed = matches!(said, Err(FrameError::Closed | FrameError::Io(_)));
                let end = said.is_err();
                let event =
                    if closed { RunEvent::Silent(id) } else { RunEvent::Said(id, said.map_err(|e| e.to_string())) };
                monitor.send(Command::Run { case: case.clone(), event });
                if end {
                    return;
                }
            }
        });
        Ok(())
    }

    fn executor_leaves(&mut self, case: &CaseId, id: u64, how: Leaving) {
        let Some(run) = self.runs.get_mut(case).filter(|run| run.executor == id) else { return };
        if run.leaving.replace(how).is_some() {
            self.executor_lost(case, "it ended");
        }
    }

    fn executor_lost(&mut self, case: &CaseId, reason: &str) {
        if self.dismiss_executor(case) {
            let lost = Event::ExecutorLost { case: case.clone(), reason: reason.to_owned() };
            self.event(lost, Answer::Nobody);
        }
    }

    /// It tried to act by itself: no ordinary end (INV-9).
    fn executor_offended(&mut self, case: &CaseId, message: &str) {
        if self.dismiss_executor(case) {
            let offence = Event::ExecutorViolation { case: case.clone(), message: message.to_owned() };
            self.event(offence, Answer::Nobody);
        }
    }

    /// Ends the executor of a case; whether there was one.
    fn dismiss_executor(&mut self, case: &CaseId) -> bool {
        let Some(run) = self.runs.remove(case) else { return false };
        drop(self.zygote.kill(run.executor));
        self.broker_case_ended(case, true);
        if let Some(step) = run.step {
            // The step child outlives its executor only until its end is known.
            let gone = Run { executor: 0, waiting: Vec::new(), to_executor: None, leaving: None, step: Some(step) };
            self.runs.insert(case.clone(), gone);
        }
        true
    }

    fn executor_said(&mut self, case: &CaseId, id: u64, said: Result<FromExecutor, String>) {
        if self.runs.get(case).is_none_or(|run| run.executor != id) {
            return;
        }
        let said = match said.map_err(Unsaid::NoMessage).and_then(|message| self.said(case, message)) {
            Ok(said) => said,
            Err(Unsaid::NoMessage(what)) => return self.executor_offended(case, &format!("the executor: {what}")),
            Err(Unsaid::Configuration(reason)) => return self.executor_lost(case, &reason),
        };
        if matches!(said, Said::Finished(_)) {
            // Before anybody is asked what to make of it (INV-6).
            self.broker_case_ended(case, true);
        }
        self.event(Event::Executor { case: case.clone(), said }, Answer::Nobody);
    }

    fn said(&mut self, case: &CaseId, message: FromExecutor) -> Result<Said, Unsaid> {
        let unknown = || Unsaid::NoMessage("it sent what is no message".to_owned());
        match message.kind.ok_or_else(unknown)? {
            from_executor::Kind::Verified(verified) => {
                let bytes: [u8; 32] = verified.plan_digest.try_into().map_err(|_| unknown())?;
                Ok(Said::Verified { plan_digest: countersign_plan::digest::Digest::from_bytes(bytes) })
            }
            from_executor::Kind::Rejected(rejected) => Ok(Said::Rejected { message: rejected.message }),
            from_executor::Kind::Request(request) => {
                let step = request.step.parse().map_err(|_| unknown())?;
                let phase = phase(&request.phase).ok_or_else(unknown)?;
                let present = self.present_configuration(case).map_err(Unsaid::Configuration)?;
                Ok(Said::Request { step, phase, attempt: request.attempt, present })
            }
            from_executor::Kind::Perform(perform) => Ok(Said::Perform { permit: perform.permit }),
            from_executor::Kind::Finished(finished) => {
                let report: WireReport = serde_json::from_slice(&finished.report).map_err(|_| unknown())?;
                let completed = matches!(report.ending, RunEnding::Completed);
                match report.ending {
                    RunEnding::Mismatch { step, expected, found } => {
                        let detail = format!("step {step}: expected {expected}, found {found}");
                        self.watchers.event(case, CaseEvent::Stage { stage: "stopping".to_owned(), detail });
                    }
                    // It doubts the gate's word: no stop like others, and its words are on record.
                    RunEnding::Refused { step, code, message } if code == Code::SeparationViolation.as_str() => {
                        return Ok(Said::Rejected { message: format!("step `{step}`: {code}: {message}") });
                    }
                    RunEnding::Refused { .. } | RunEnding::Completed | RunEnding::Halted { .. } => {}
                }
                Ok(Said::Finished(Report { completed, done: report.done, undone: report.undone }))
            }
        }
    }
}

pub(super) fn stream(runtime: &tokio::runtime::Handle, channel: OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(channel);
    stream.set_nonblocking(true)?;
    let _inside = runtime.enter();
    tokio::net::UnixStream::from_std(stream)
}

impl Monitor {
    /// Reports that the zygote ended.
    pub(crate) fn zygote_ended(&self) {
        self.send(Command::ZygoteEnded);
    }
}

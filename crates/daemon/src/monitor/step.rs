//! The step child of a case: started for a permit, told to go, heard to its end. What it asks of the broker is passed on unread.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use countersign_gate::directive::RunStep;
use countersign_gate::event::Event;
use countersign_plan::canonical;
use countersign_plan::id::{CaseId, StepId};
use countersign_plan::observation::{Ending, OBSERVATION_LIMIT, Observation};
use countersign_wire::propose::CaseEvent;
use countersign_wire::step::{FromStep, GO, Order, SnapshotOrder, from_step};
use countersign_wire::zygote::from_zygote::{Exited, Spawned};
use countersign_wire::zygote::to_zygote;
use rustix::fs::{MemfdFlags, SealFlags};
use tokio::io::AsyncWriteExt as _;

use super::run::{RunEvent, SIGSYS, stream};
use super::{Answer, Command, State};
use crate::channel;
use crate::folders::private_folder;
use crate::past::Performed;
use crate::zygote::ChildEvent;

/// A step child that runs.
#[derive(Debug)]
pub(super) struct StepRun {
    pub(super) id: u64,
    pub(super) step: StepId,
    performed: Performed,
    observation: Option<Observation>,
    said_all: bool,
    exited: Option<Exited>,
    pub(super) egress: Egress,
    cut: Option<Cut>,
}

/// What a step child may ask of the broker.
#[derive(Debug)]
pub(super) enum Egress {
    /// Nothing.
    None,
    /// What its permit says; the broker was not told yet.
    Granted {
        /// The permit's envelope as JSON.
        permit: Vec<u8>,
        /// The sandbox spec, canonical.
        spec: Vec<u8>,
    },
    /// The broker knows it.
    Leased {
        /// Which start of the broker.
        generation: u64,
        /// The lease.
        lease: u64,
    },
}

/// Why the monitor ended a step child before its time.
#[derive(Debug, Clone)]
pub(super) enum Cut {
    /// It asked for what it was not granted: a separation violation.
    Offence(String),
    /// The broker is gone: what it did of what was asked is unknown.
    Broker(String),
}

impl State {
    pub(crate) fn run_step(&mut self, step: RunStep) {
        let case = step.case.clone();
        let name = step.order.step.clone();
        let performed = Performed {
            configuration: self.present_configuration(&case).ok(),
            phase: step.order.phase,
            tool: step.order.tool.clone(),
            args: step.order.args.clone(),
        };
        match self.spawn_step(step) {
            Ok((id, egress)) => {
                let running = StepRun {
                    id,
                    step: name,
                    performed,
                    observation: None,
                    said_all: false,
                    exited: None,
                    egress,
                    cut: None,
                };
                if let Some(run) = self.runs.get_mut(&case) {
                    run.step = Some(running);
                }
            }
            Err(e) => {
                self.event(Event::StepRefused { case, violation: false, message: e.to_string() }, Answer::Nobody);
            }
        }
    }

    fn spawn_step(&mut self, step: RunStep) -> io::Result<(u64, Egress)> {
        let snapshot = step.order.snapshot.map(|s| SnapshotOrder {
            targets: s.targets,
            store: s.store,
            limit: s.limit,
            index: s.index,
        });
        if let Some(snapshot) = &snapshot {
            prepare_store(&snapshot.store, step.spec.owner)?;
        }
        if step.order.tool.as_str().starts_with("memory_") {
            prepare_store(&step.spec.cwd, step.spec.owner)?;
        }
        let spec = canonical::of(&step.spec).map_err(io::Error::other)?;
        let permit = step.permit.to_json();
        let egress = if step.spec.egress.is_empty() {
            Egress::None
        } else {
            Egress::Granted { permit: permit.clone(), spec: spec.clone() }
        };
        let order = Order {
            step: step.order.step,
            phase: step.order.phase,
            tool: step.order.tool,
            args: step.order.args,
            spec: step.spec,
            facts: step.order.facts,
            driver: step.order.driver,
            snapshot,
        };
        let order = sealed_file(&canonical::of(&order).map_err(io::Error::other)?)?;
        let command = to_zygote::SpawnStep { permit, spec, now: step.now.as_millis() };
        let listener = self.listener(step.case, RunEvent::Step);
        let id = self.zygote.ask(to_zygote::Kind::SpawnStep(command), &[order.as_fd()], listener)?;
        Ok((id, egress))
    }

    pub(super) fn step_event(&mut self, case: &CaseId, id: u64, event: ChildEvent) {
        // A refusal can come before this thread has noted the child.
        match event {
            ChildEvent::Spawned(spawned, channel) => {
                // A child that was not told to go has done nothing.
                if let Err(e) = self.attach_step(case, id, &spawned, channel) {
                    drop(self.zygote.kill(id));
                    if let Some(run) = self.runs.get_mut(case) {
                        run.step = None;
                    }
                    let message = format!("the step was not started: {e}");
                    self.event(Event::StepRefused { case: case.clone(), violation: false, message }, Answer::Nobody);
                }
            }
            ChildEvent::Refused { violation, message } => {
                if let Some(run) = self.runs.get_mut(case) {
                    run.step = None;
                }
                self.event(Event::StepRefused { case: case.clone(), violation, message }, Answer::Nobody);
            }
            ChildEvent::Exited(exited) => {
                if let Some(step) = self.step_mut(case, id) {
                    step.exited = Some(exited);
                    self.settle_step(case);
                }
            }
            ChildEvent::Booted(_) => {}
        }
    }

    pub(super) fn step_mut(&mut self, case: &CaseId, id: u64) -> Option<&mut StepRun> {
        self.runs.get_mut(case).and_then(|run| run.step.as_mut()).filter(|step| step.id == id)
    }

    fn attach_step(&mut self, case: &CaseId, id: u64, spawned: &Spawned, channel: OwnedFd) -> io::Result<()> {
        let (mut reader, mut writer) = stream(&self.runtime, channel)?.into_split();
        let leased = self.lease(case, id).map_err(io::Error::other)?;
        let enforcement = serde_json::from_slice(&spawned.enforcement).unwrap_or_default();
        self.event(Event::StepStarted { case: case.clone(), enforcement }, Answer::Nobody);
        let (monitor, case) = (self.monitor.clone(), case.clone());
        self.runtime.spawn(async move {
            let tell = |event| monitor.send(Command::Run { case: case.clone(), event });
            if writer.write_all(&[GO]).await.is_err() {
                return tell(RunEvent::StepSaid(id, None));
            }
            // Without a lease the writing half stays here: its end would be the step's end.
            let (mut road, _kept) = match leased {
                Some(leased) => (Some(leased.open(writer)), None),
                None => (None, Some(writer)),
            };
            while let Ok(said) = channel::read::<FromStep>(&mut reader).await {
                let FromStep { kind: Some(from_step::Kind::Ask(ask)) } = said else {
                    tell(RunEvent::StepSaid(id, Some(said)));
                    continue;
                };
                let passed = match &mut road {
                    Some(road) => road.ask(ask).await,
                    None => Err("it asked for the network, and its permit grants none".to_owned()),
                };
                if let Err(message) = passed {
                    tell(RunEvent::StepOffended(id, message));
                }
            }
            tell(RunEvent::StepSaid(id, None));
        });
        Ok(())
    }

    pub(super) fn step_said(&mut self, case: &CaseId, id: u64, said: Option<FromStep>) {
        let Some(step) = self.step_mut(case, id) else { return };
        match said.map(|said| said.kind) {
            Some(Some(from_step::Kind::Output(output))) => {
                let text = String::from_utf8_lossy(&output.bytes).into_owned();
                let event = CaseEvent::Output { step: step.step.to_string(), error: output.error, text };
                self.watchers.event(case, event);
            }
            Some(Some(from_step::Kind::Observed(observed))) => {
                // What is no observation stays unsaid, and the step counts as lost.
                if observed.observation.len() <= OBSERVATION_LIMIT {
                    step.observation = serde_json::from_slice(&observed.observation).ok();
                }
            }
            // An ask is passed on where it is read.
            Some(Some(from_step::Kind::Ask(_)) | None) => {}
            None => {
                step.said_all = true;
                self.settle_step(case);
            }
        }
    }

    /// Once a step child has said all and its tree is gone, what it showed is known, or it is known that nothing is known.
    fn settle_step(&mut self, case: &CaseId) {
        let Some(step) = self.runs.get(case).and_then(|run| run.step.as_ref()) else { return };
        let (true, Some(exited)) = (step.said_all, &step.exited) else { return };
        let shown = step.observation.clone();
        let (timed_out, signal, code) = (exited.timed_out, exited.signal, exited.code);
        let (cut, performed) = (step.cut.clone(), step.performed.clone());
        if let Egress::Leased { generation, lease } = step.egress {
            self.release(generation, lease);
        }
        if let Some(run) = self.runs.get_mut(case) {
            run.step = None;
            if run.executor == 0 {
                self.runs.remove(case);
            }
        }
        let ended = |ending| Observation {
            ending,
            output: serde_json::json!({}),
            files: Default::default(),
            dropped: Default::default(),
        };
        let observation = match (cut, shown) {
            // Whatever it said after that: it tried to leave its permit (INV-9).
            (Some(Cut::Offence(message)), _) => ended(Ending::Violation { message }),
            (_, Some(observation)) => observation,
            (Some(Cut::Broker(reason)), None) => return self.step_lost(case, &reason),
            (None, None) if timed_out => ended(Ending::TimedOut),
            (None, None) if signal == Some(SIGSYS) => {
                ended(Ending::Violation { message: "a forbidden system call of the step's own init".to_owned() })
            }
            (None, None) => {
                let how = signal.map_or_else(|| format!("code {}", code.unwrap_or(-1)), |s| format!("signal {s}"));
                return self.step_lost(case, &format!("the step child ended with {how} and said nothing"));
            }
        };
        let labels = self.past.left(case, &performed, &observation, self.clock.wall(), &crate::facts::real);
        self.event(Event::StepObserved { case: case.clone(), observation, labels }, Answer::Nobody);
    }

    fn step_lost(&mut self, case: &CaseId, reason: &str) {
        if let Some(run) = self.runs.get_mut(case) {
            run.step = None;
        }
        self.event(Event::StepLost { case: case.clone(), reason: reason.to_owned() }, Answer::Nobody);
    }

    /// Ends a step child before its time.
    pub(super) fn cut_step(&mut self, case: &CaseId, id: u64, cut: Cut) {
        let Some(step) = self.step_mut(case, id) else { return };
        // The first reason counts, but nothing outweighs an offence.
        if step.cut.is_none() || matches!(cut, Cut::Offence(_)) {
            step.cut = Some(cut);
        }
        drop(self.zygote.kill(id));
    }
}

/// A memory file that nobody can change any more.
fn sealed_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(c"order", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(file);
    io::Write::write_all(&mut file, bytes)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

/// Makes a folder of Countersign's own that one kind of step child may enter, and gives it to the step's owner.
fn prepare_store(folder: &str, owner: countersign_plan::confinement::Owner) -> io::Result<()> {
    private_folder(std::path::Path::new(folder)).or_else(|e| {
        // The folder already belongs to the step's owner.
        let known = std::fs::metadata(folder).is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == owner.uid);
        if known { Ok(()) } else { Err(e) }
    })?;
    if rustix::process::geteuid().is_root() && owner.uid != 0 {
        std::os::unix::fs::chown(folder, Some(owner.uid), Some(owner.gid))?;
    }
    Ok(())
}

//! A planner as a process: spawned sealed by the zygote, kept warm as a spare until a case needs it, heard to its end.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use countersign_wire::frame::FrameError;
use countersign_wire::planner::{FromPlanner, PLANNER_FRAME_LIMIT, ToPlanner};
use countersign_wire::zygote::from_zygote::Exited;
use countersign_wire::zygote::to_zygote::{self, SpawnPlanner};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};

use super::super::run::{SIGSYS, stream};
use super::super::{Command, State};
use crate::channel;
use crate::zygote::ChildEvent;

/// Messages of a planner that may wait for the monitor. It has one to say; a second is seen, a flood is not kept.
const AHEAD: usize = 4;
/// Messages that may wait for a planner.
const BACKLOG: usize = 4;

/// Something from a planner's process.
#[derive(Debug)]
pub(crate) enum PlannerEvent {
    /// The zygote about it.
    Child(ChildEvent),
    /// It said something.
    Said(FromPlanner),
    /// What it said is no message: a separation violation.
    Garbage(String),
    /// It closed its channel: all that it said has arrived.
    Silent,
}

/// A planner's process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: u64,
    to: Option<mpsc::Sender<ToPlanner>>,
    /// How far its sandbox holds, once it runs.
    pub(super) enforcement: Option<Value>,
    heard: Arc<Semaphore>,
    silent: bool,
    exited: Option<Exited>,
}

/// What an end of a planner's process means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It tried a forbidden system call (INV-9).
    Violation(String),
    /// It is gone.
    Gone(String),
}

impl Process {
    /// Tells it something. A planner that does not listen is lost.
    pub(super) fn tell(&self, message: ToPlanner) -> Result<(), String> {
        let to = self.to.as_ref().ok_or("the planner does not run yet")?;
        to.try_send(message).map_err(|_| "the planner's channel is closed".to_owned())
    }

    /// A message of it was looked at: a further one is read.
    pub(super) fn looked_at(&self) {
        self.heard.add_permits(1);
    }

    /// Its channel is closed.
    pub(super) fn fell_silent(&mut self) -> Option<End> {
        self.silent = true;
        self.end()
    }

    /// The zygote reaped it.
    pub(super) fn left(&mut self, exited: Exited) -> Option<End> {
        self.exited = Some(exited);
        self.end()
    }

    /// Its last words and its end come by different roads; a forbidden system call is one whatever it said.
    fn end(&self) -> Option<End> {
        let exited = self.exited.as_ref()?;
        if exited.signal == Some(SIGSYS) || exited.syscall.is_some() {
            let call = exited.syscall.as_deref().unwrap_or("a system call that the kernel does not name");
            return Some(End::Violation(format!("the planner tried {call} and was killed")));
        }
        let how = match (exited.code, exited.signal) {
            (Some(code), _) => format!("it ended with code {code}"),
            (None, Some(signal)) => format!("signal {signal} ended it"),
            (None, None) => "it ended".to_owned(),
        };
        self.silent.then_some(End::Gone(how))
    }
}

impl State {
    /// Has the zygote start a planner.
    pub(super) fn spawn_planner(&self) -> io::Result<Process> {
        let monitor = self.monitor.clone();
        let listener = move |id, event| monitor.send(Command::Planner { id, event: PlannerEvent::Child(event) });
        let id = self.zygote.ask(
            to_zygote::Kind::SpawnPlanner(SpawnPlanner { without_namespaces: self.without_namespaces }),
            &[],
            Box::new(listener),
        )?;
        let heard = Arc::new(Semaphore::new(AHEAD));
        Ok(Process { id, to: None, enforcement: None, heard, silent: false, exited: None })
    }

    /// Connects a planner that runs.
    pub(super) fn attach_planner(&self, process: &mut Process, enforcement: &[u8], channel: OwnedFd) -> io::Result<()> {
        let (mut reader, writer) = stream(&self.runtime, channel)?.into_split();
        let (to, messages) = mpsc::channel(BACKLOG);
        process.to = Some(to);
        process.enforcement = Some(serde_json::from_slice(enforcement).unwrap_or_default());
        self.runtime.spawn(channel::write_all(writer, messages));
        let (monitor, id, heard) = (self.monitor.clone(), process.id, Arc::clone(&process.heard));
        self.runtime.spawn(async move {
            let tell = |event| monitor.send(Command::Planner { id, event });
            while let Ok(turn) = heard.acquire().await {
                turn.forget();
                match channel::read_within::<FromPlanner>(&mut reader, PLANNER_FRAME_LIMIT).await {
                    Ok(said) => tell(PlannerEvent::Said(said)),
                    Err(FrameError::Closed | FrameError::Io(_)) => return tell(PlannerEvent::Silent),
                    Err(e @ (FrameError::Oversize { .. } | FrameError::Decode(_) | FrameError::Unknown)) => {
                        return tell(PlannerEvent::Garbage(e.to_string()));
                    }
                }
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use countersign_wire::zygote::from_zygote::Exited;
    use tokio::sync::Semaphore;

    use super::{End, Process};

    fn process() -> Process {
        Process { id: 1, to: None, enforcement: None, heard: Arc::new(Semaphore::new(1)), silent: false, exited: None }
    }

    #[test]
    fn inv_9_a_forbidden_system_call_is_never_an_ordinary_end() {
        let caught = Exited { signal: Some(31), syscall: Some("socket (41)".to_owned()), ..Exited::default() };
        assert!(matches!(process().left(caught), Some(End::Violation(what)) if what.contains("socket (41)")));
        let unnamed = Exited { signal: Some(31), ..Exited::default() };
        assert!(matches!(process().left(unnamed), Some(End::Violation(_))));
        let killed = Exited { signal: Some(9), ..Exited::default() };
        let mut process = process();
        assert_eq!(process.left(killed), None, "its last words may still be on their way");
        assert!(matches!(process.fell_silent(), Some(End::Gone(how)) if how.contains("signal 9")));
    }
}

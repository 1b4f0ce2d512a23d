//! The two sockets of the monitor, as a client speaks over them: one request at a time, synchronous.
//!
//! Being able to open a socket approves nothing. Who listens is checked all the same (folder and peer), so that nobody else
//! collects what is proposed here.

mod launch;

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use countersign_plan::verdict::Verdict;
use countersign_wire::frame::{self, FRAME_LIMIT, FrameError};
use countersign_wire::propose::{self, CaseEvent, CaseView};
use countersign_wire::{operator, propose::from_monitor};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::paths::{self, Paths};

/// Whether a monitor may be started where none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Start one.
    IfNeeded,
    /// Only speak to one that runs.
    Never,
}

/// The longest path that a Unix socket can have on Linux, in bytes.
const SOCKET_PATH: usize = 107;

/// `propose.sock`: propose, wait, read.
#[derive(Debug)]
pub(crate) struct Proposer {
    stream: UnixStream,
}

/// `operator.sock`: answer, halt, audit, keys.
#[derive(Debug)]
pub(crate) struct Operator {
    stream: UnixStream,
}

/// A verdict as it came: the typed form, and the exact bytes for programs.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// The typed form.
    pub(crate) verdict: Verdict,
    /// The JSON as the monitor sent it.
    pub(crate) json: serde_json::Value,
}

impl Proposer {
    /// Connects.
    pub(crate) fn connect(paths: &Paths, start: Start) -> Result<Self, Failure> {
        connect(paths, "propose.sock", start).map(|stream| Self { stream })
    }

    fn ask(&mut self, kind: propose::to_monitor::Kind) -> Result<from_monitor::Kind, Failure> {
        frame::write(&mut self.stream, &propose::ToMonitor { kind: Some(kind) })?;
        self.next()
    }

    fn next(&mut self) -> Result<from_monitor::Kind, Failure> {
        let message: propose::FromMonitor = frame::read(&mut self.stream, FRAME_LIMIT)?;
        match message.kind.ok_or(FrameError::Unknown)? {
            from_monitor::Kind::Error(error) => Err(Failure::answered(error.code, error.message)),
            kind => Ok(kind),
        }
    }

    /// Proposes, and waits for the verdict.
    pub(crate) fn submit(&mut self, submit: propose::to_monitor::Submit) -> Result<Judged, Failure> {
        match self.ask(propose::to_monitor::Kind::Submit(submit))? {
            from_monitor::Kind::Verdict(answer) => {
                let json: serde_json::Value = serde_json::from_slice(&answer.verdict)?;
                let verdict = serde_json::from_value(json.clone())?;
                Ok(Judged { verdict, json })
            }
            from_monitor::Kind::Event(_)
            | from_monitor::Kind::Case(_)
            | from_monitor::Kind::Pursued(_)
            | from_monitor::Kind::Error(_) => Err(FrameError::Unknown.into()),
        }
    }

    /// Gives a goal; the case that was opened for it.
    pub(crate) fn pursue(&mut self, pursue: propose::to_monitor::Pursue) -> Result<String, Failure> {
        match self.ask(propose::to_monitor::Kind::Pursue(pursue))? {
            from_monitor::Kind::Pursued(answer) => Ok(answer.case),
            from_monitor::Kind::Event(_)
            | from_monitor::Kind::Case(_)
            | from_monitor::Kind::Verdict(_)
            | from_monitor::Kind::Error(_) => Err(FrameError::Unknown.into()),
        }
    }

    /// Reads a case.
    pub(crate) fn show(&mut self, case: &str) -> Result<CaseView, Failure> {
        match self.ask(propose::to_monitor::Kind::Show(propose::to_monitor::Show { case: case.to_owned() }))? {
            from_monitor::Kind::Case(answer) => Ok(serde_json::from_slice(&answer.case)?),
            from_monitor::Kind::Event(_)
            | from_monitor::Kind::Verdict(_)
            | from_monitor::Kind::Pursued(_)
            | from_monitor::Kind::Error(_) => Err(FrameError::Unknown.into()),
        }
    }

    /// Follows a case to its end, or until `each` breaks off; `each` sees every event, the last one included, which is
    /// returned.
    pub(crate) fn watch(
        &mut self,
        case: &str,
        mut each: impl FnMut(&CaseEvent) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<CaseEvent, Failure> {
        let watch = propose::to_monitor::Watch { case: case.to_owned() };
        let mut kind = self.ask(propose::to_monitor::Kind::Watch(watch))?;
        loop {
            match kind {
                from_monitor::Kind::Event(answer) => {
                    let event: CaseEvent = serde_json::from_slice(&answer.event)?;
                    if each(&event)?.is_break() || matches!(event, CaseEvent::Ended { .. }) {
                        return Ok(event);
                    }
                }
                from_monitor::Kind::Case(_)
                | from_monitor::Kind::Verdict(_)
                | from_monitor::Kind::Pursued(_)
                | from_monitor::Kind::Error(_) => return Err(FrameError::Unknown.into()),
            }
            kind = self.next()?;
        }
    }
}

impl Operator {
    /// Connects.
    pub(crate) fn connect(paths: &Paths, start: Start) -> Result<Self, Failure> {
        connect(paths, "operator.sock", start).map(|stream| Self { stream })
    }

    /// Asks, hands every part to `part`, and returns the bytes of the answer.
    pub(crate) fn ask_with(
        &mut self,
        kind: operator::to_monitor::Kind,
        mut part: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Vec<u8>, Failure> {
        frame::write(&mut self.stream, &operator::ToMonitor { kind: Some(kind) })?;
        loop {
            let message: operator::FromMonitor = frame::read(&mut self.stream, FRAME_LIMIT)?;
            match message.kind.ok_or(FrameError::Unknown)? {
                operator::from_monitor::Kind::Answer(bytes) => return Ok(bytes),
                operator::from_monitor::Kind::Part(bytes) => part(&bytes)?,
                operator::from_monitor::Kind::Error(error) => return Err(Failure::answered(error.code, error.message)),
            }
        }
    }

    /// Asks for an answer that has no parts.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, kind: operator::to_monitor::Kind) -> Result<T, Failure> {
        let bytes = self.ask_with(kind, |_| Err(FrameError::Unknown.into()))?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// How the monitor is.
    pub(crate) fn status(&mut self) -> Result<operator::Status, Failure> {
        self.ask(operator::to_monitor::Kind::Status(operator::to_monitor::Status {}))
    }
}

fn connect(paths: &Paths, name: &str, start: Start) -> Result<UnixStream, Failure> {
    let socket = paths.runtime.join(name);
    if let Some(stream) = try_connect(paths, &socket)? {
        return Ok(stream);
    }
    match start {
        Start::Never => Err(not_running(&socket)),
        // The proposers' socket is the last that a monitor binds: once it answers, the other one does.
        Start::IfNeeded => launch::launch(paths, || match try_connect(paths, &paths.runtime.join("propose.sock"))? {
            Some(_) => try_connect(paths, &socket),
            None => Ok(None),
        }),
    }
}

fn not_running(socket: &Path) -> Failure {
    Failure::internal(format!("no monitor answers at {}", socket.display())).fix("`countersign up` starts one")
}

/// A stream, or none where nobody listens.
fn try_connect(paths: &Paths, socket: &PathBuf) -> Result<Option<UnixStream>, Failure> {
    if socket.as_os_str().len() > SOCKET_PATH {
        let message =
            format!("{}: longer than the {SOCKET_PATH} bytes that a socket's path can have", socket.display());
        return Err(Failure::usage(message).fix("set COUNTERSIGN_RUNTIME_DIR to a shorter path"));
    }
    match UnixStream::connect(socket) {
        Ok(stream) => {
            paths::check_private(&paths.runtime)?;
            check_peer(&stream, socket)?;
            Ok(Some(stream))
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
        Err(error) => Err(Failure::internal(format!("{}: {error}", socket.display()))),
    }
}

/// Only this user or the system may be the monitor.
fn check_peer(stream: &UnixStream, socket: &Path) -> Result<(), Failure> {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    let peer = peer.map_err(|error| Failure::internal(format!("{}: {error}", socket.display())))?;
    if peer.uid == rustix::process::geteuid() || peer.uid.is_root() {
        return Ok(());
    }
    let message = format!("{}: user {} listens there, who is not the monitor", socket.display(), peer.uid.as_raw());
    Err(Failure::refused("peer", message).fix("find out who made that socket; nothing was sent"))
}

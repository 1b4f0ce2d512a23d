//! Between frames and the machine: nothing is decided here.

use std::io::{Read, Write};

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_wire::frame::{self, FRAME_LIMIT, FrameError};
use countersign_wire::planner::{FromPlanner, PLANNER_FRAME_LIMIT, ToPlanner, from_planner, to_planner};
use serde::de::DeserializeOwned;

use crate::machine::{Event, Machine, Message, Next, ProtocolError};

/// What a document from the monitor may cost: an observation is the largest.
const DOCUMENT: Bounds = Bounds { bytes: FRAME_LIMIT, depth: 96, values: 1 << 20 };

/// Why a planner ends before its time.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// No frame.
    #[error("the channel to the monitor: {0}")]
    Frame(#[from] FrameError),
    /// A document of the monitor cannot be read.
    #[error("{what}: {error}")]
    Document {
        /// Which.
        what: &'static str,
        /// Why.
        error: DocumentError,
    },
    /// A document of the planner cannot be written.
    #[error("cannot write: {0}")]
    Write(#[from] serde_json::Error),
    /// A message over the bound of the channel.
    #[error("a message of {0} bytes, but at most {PLANNER_FRAME_LIMIT} are sent")]
    Oversize(usize),
    /// The first message is not the task, or a task comes again.
    #[error("the task comes once and first")]
    Task,
    /// A message that this state does not wait for.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// Serves one task from its start to its end.
///
/// # Errors
/// The channel failed, or the monitor said what does not fit; the process must exit.
pub fn serve(socket: &mut (impl Read + Write)) -> Result<(), ChannelError> {
    let Some(to_planner::Kind::Start(start)) = receive(socket)? else { return Err(ChannelError::Task) };
    let (mut machine, mut next) = Machine::start(document("task", &start.task)?)?;
    loop {
        match next {
            Next::Say(message) => {
                let last = message.is_last();
                send(socket, said(message)?)?;
                if last {
                    return Ok(());
                }
            }
            Next::Wait => {}
            Next::End => return Ok(()),
        }
        next = machine.on(event(receive(socket)?)?)?;
    }
}

fn receive(socket: &mut impl Read) -> Result<Option<to_planner::Kind>, ChannelError> {
    Ok(frame::read::<ToPlanner>(socket, FRAME_LIMIT)?.kind)
}

fn send(socket: &mut impl Write, kind: from_planner::Kind) -> Result<(), ChannelError> {
    let message = FromPlanner { kind: Some(kind) };
    let bytes = frame::encode(&message)?;
    if bytes.len() > PLANNER_FRAME_LIMIT {
        return Err(ChannelError::Oversize(bytes.len()));
    }
    socket.write_all(&bytes).and_then(|()| socket.flush()).map_err(FrameError::from)?;
    Ok(())
}

fn document<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, ChannelError> {
    document::from_json(bytes, DOCUMENT)
        .and_then(document::typed)
        .map_err(|error| ChannelError::Document { what, error })
}

fn event(kind: Option<to_planner::Kind>) -> Result<Event, ChannelError> {
    Ok(match kind {
        Some(to_planner::Kind::Start(_)) => return Err(ChannelError::Task),
        Some(to_planner::Kind::Inferred(m)) => Event::Inferred(document("outcome", &m.outcome)?),
        Some(to_planner::Kind::Loaded(m)) => Event::Loaded(document("surface", &m.surface)?),
        Some(to_planner::Kind::Observed(m)) => Event::Observed(Box::new(document("observation", &m.observation)?)),
        Some(to_planner::Kind::Reviewed(m)) => {
            Event::Reviewed { verdict: Box::new(document("verdict", &m.verdict)?), waiting: m.waiting }
        }
        Some(to_planner::Kind::Ran(m)) => Event::Ran(document("result", &m.result)?),
        Some(to_planner::Kind::Refused(m)) => Event::Refused { code: m.code, message: m.message },
        None => return Err(FrameError::Unknown.into()),
    })
}

fn said(message: Message) -> Result<from_planner::Kind, ChannelError> {
    Ok(match message {
        Message::Infer(request) => {
            from_planner::Kind::Infer(from_planner::Infer { request: serde_json::to_vec(&request)? })
        }
        Message::LoadTools { groups } => from_planner::Kind::LoadTools(from_planner::LoadTools { groups }),
        Message::Read { action, args } => from_planner::Kind::Read(from_planner::Read {
            action: action.to_string(),
            args: serde_json::to_vec(&args)?,
        }),
        Message::Propose { draft } => from_planner::Kind::Propose(from_planner::Propose { draft }),
        Message::Revise { draft } => from_planner::Kind::Revise(from_planner::Propose { draft }),
        Message::Answer { text } => from_planner::Kind::Answer(from_planner::Answer { text }),
        Message::GiveUp { reason } => from_planner::Kind::GiveUp(from_planner::GiveUp { reason }),
    })
}

#[cfg(test)]
mod tests;

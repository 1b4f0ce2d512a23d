//! The step's one socket: what is told to the monitor, what is asked of the broker, and what the broker answers.
//!
//! Nothing here blocks but [`Channel::call`] and [`Channel::observed`]. Output for people who watch is dropped when nobody
//! reads; asks are never dropped, and whoever makes many (a relay) asks [`Channel::has_room`] first.

use std::collections::VecDeque;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use countersign_plan::canonical;
use countersign_plan::observation::Observation;
use countersign_wire::egress::{Ask, EGRESS_LIMIT, Reply, ask, reply};
use countersign_wire::frame::{self, FRAME_LIMIT};
use countersign_wire::step::{FromStep, ToStep, from_step};
use prost::Message as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::watcher::Watcher;

/// The most output that waits for a monitor that does not read.
const WAITING_LIMIT: usize = 256 << 10;
/// Asks that wait beyond this are too many to make another one.
const ROOM: usize = 1 << 20;
const CHUNK: usize = 64 << 10;

/// The step's socket.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: UnixStream,
    waiting: VecDeque<u8>,
    arriving: Vec<u8>,
    last: u64,
}

/// Why the broker gave no answer. Whether it did what was asked is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Silence {
    /// The ask cannot be sent: it is larger than the channel carries. Nothing was done.
    #[error("what is asked of the broker is larger than the {EGRESS_LIMIT} bytes that one ask carries")]
    Oversize,
    /// The monitor is gone.
    #[error("the monitor closed the step's channel")]
    Closed,
    /// The channel carried something else than replies.
    #[error("the channel brought something that is no reply: {0}")]
    Malformed(String),
    /// No answer in time.
    #[error("the broker did not answer within the step's time")]
    Late,
    /// The channel failed.
    #[error("the step's channel failed: {0}")]
    Failed(#[from] Errno),
}

impl Channel {
    /// Speaks over this socket.
    pub(crate) const fn new(socket: UnixStream) -> Self {
        Self { socket, waiting: VecDeque::new(), arriving: Vec::new(), last: 0 }
    }

    /// Sends the end of the step.
    pub(crate) fn observed(mut self, observation: &Observation) -> anyhow::Result<()> {
        let observation = canonical::of(observation).context("observation")?;
        let kind = from_step::Kind::Observed(from_step::Observed { observation });
        self.flush().context("cannot report to the monitor")?;
        frame::write(&mut self.socket, &FromStep { kind: Some(kind) }).context("cannot report to the monitor")
    }

    /// Sends what waits, however long that takes.
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.socket.write_all(self.waiting.make_contiguous())?;
        self.waiting.clear();
        Ok(())
    }

    /// An id that no ask of this step had before.
    pub(crate) const fn fresh(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Whether a further ask may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < ROOM
    }

    /// Queues an ask and sends what the socket takes.
    pub(crate) fn ask(&mut self, id: u64, kind: ask::Kind) -> Result<(), Silence> {
        let ask = Ask { id, kind: Some(kind) };
        if ask.encoded_len() > EGRESS_LIMIT {
            return Err(Silence::Oversize);
        }
        let said = FromStep { kind: Some(from_step::Kind::Ask(ask.encode_to_vec())) };
        self.waiting.extend(frame::encode(&said).map_err(|_| Silence::Oversize)?);
        self.push()
    }

    /// The reply to one ask, waited for until `deadline`. Nothing else may be under way.
    pub(crate) fn call(&mut self, kind: ask::Kind, deadline: Instant) -> Result<reply::Kind, Silence> {
        let id = self.fresh();
        self.ask(id, kind)?;
        loop {
            if let Some(reply) = self.next()? {
                return match reply.kind {
                    Some(kind) if reply.id == id => Ok(kind),
                    _ => Err(Silence::Malformed(format!("a reply to {} where {id} was asked", reply.id))),
                };
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Silence::Late);
            }
            self.wait(left)?;
            self.push()?;
        }
    }

    /// The next reply, if one has come.
    pub(crate) fn next(&mut self) -> Result<Option<Reply>, Silence> {
        loop {
            if let Some(reply) = self.parse()? {
                return Ok(Some(reply));
            }
            let mut chunk = vec![0; CHUNK];
            match recv(&self.socket, chunk.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(Silence::Closed),
                Ok((got, _)) => self.arriving.extend_from_slice(chunk.get(..got).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn parse(&mut self) -> Result<Option<Reply>, Silence> {
        let malformed = |what: String| Silence::Malformed(what);
        let Some((prefix, rest)) = self.arriving.split_first_chunk::<4>() else { return Ok(None) };
        let length = frame::length(*prefix, FRAME_LIMIT).map_err(|e| malformed(e.to_string()))?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let told = ToStep::decode(body).map_err(|e| malformed(e.to_string()))?;
        let reply = Reply::decode(told.reply.as_slice()).map_err(|e| malformed(e.to_string()))?;
        self.arriving.drain(..length + 4);
        Ok(Some(reply))
    }

    /// What a loop that also waits for other things waits for here.
    pub(crate) fn interest(&self) -> (BorrowedFd<'_>, PollFlags) {
        let out = if self.waiting.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        (self.socket.as_fd(), PollFlags::IN | out)
    }

    fn wait(&self, left: Duration) -> Result<(), Silence> {
        let (fd, flags) = self.interest();
        match poll(&mut [PollFd::from_borrowed_fd(fd, flags)], Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Sends what the socket takes now.
    pub(crate) fn push(&mut self) -> Result<(), Silence> {
        while !self.waiting.is_empty() {
            let (head, _) = self.waiting.as_slices();
            match send(&self.socket, head, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.waiting.drain(..sent.min(self.waiting.len()))),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Silence::Closed),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

/// A time to wait, as `poll` takes it.
pub(crate) fn timespec(left: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() }
}

impl Watcher for Channel {
    fn output(&mut self, error: bool, bytes: &[u8]) {
        // Full, or gone: the observation at the end finds out which.
        drop(self.push());
        // Whoever watches slowly misses some; what is recorded does not come from here.
        if self.waiting.len() < WAITING_LIMIT {
            let kind = from_step::Kind::Output(from_step::Output { error, bytes: bytes.to_vec() });
            self.waiting.extend(frame::encode(&FromStep { kind: Some(kind) }).unwrap_or_default());
            drop(self.push());
        }
    }

    fn channel(&mut self) -> Option<&mut Channel> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;

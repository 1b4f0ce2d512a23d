//! One stream between a local descriptor and the broker, in windows (`countersign_wire::egress`): what one stream brings or
//! holds back costs at most a window of memory and never another stream's turn.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, OwnedFd};

use countersign_wire::egress::{STREAM_CHUNK, STREAM_WINDOW, ask};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use crate::channel::{Channel, Silence};
use crate::relay::hello::{self, Hello};

/// A stream.
#[derive(Debug)]
pub(crate) struct Tunnel {
    id: u64,
    /// What is read here goes to the broker; non-blocking. `None` after its end.
    from: Option<OwnedFd>,
    /// What the broker sends goes here; non-blocking. `None` after its end.
    to: Option<OwnedFd>,
    pending: VecDeque<u8>,
    /// How much of `pending`, from its front, is the relay's own and no part of the stream.
    own: usize,
    /// How much more is read here, where that is bounded.
    left: Option<u64>,
    /// What the first bytes have to be, until they are known.
    guard: Option<Guard>,
    /// Sent, and not yet taken by the broker.
    under_way: u64,
    /// The broker sends no more.
    shut: bool,
}

/// Holds the first bytes of a stream back until it is seen that they ask for the host that the stream leads to.
#[derive(Debug)]
struct Guard {
    host: String,
    held: Vec<u8>,
}

impl Guard {
    /// The bytes, once they may go on; an empty list while they may not.
    fn pass(&mut self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.held.extend_from_slice(bytes);
        match hello::read(&self.held) {
            Hello::Partial => Ok(Vec::new()),
            Hello::Other | Hello::Greeting(None) => Ok(std::mem::take(&mut self.held)),
            Hello::Greeting(Some(name)) if name == self.host => Ok(std::mem::take(&mut self.held)),
            Hello::Greeting(Some(name)) => Err(format!("a connection to {} asked it for {name}", self.host)),
            Hello::Odd => Err(format!("a connection to {} hid which host it asks for", self.host)),
        }
    }
}

/// The broker did not keep to the stream's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the broker sent more of a stream than its window holds, or took more than was sent")]
pub(crate) struct Overrun;

impl Tunnel {
    /// The stream of this id, between descriptors that do not block.
    pub(crate) const fn new(id: u64, from: OwnedFd, to: OwnedFd) -> Self {
        Self {
            id,
            from: Some(from),
            to: Some(to),
            pending: VecDeque::new(),
            own: 0,
            left: None,
            guard: None,
            under_way: 0,
            shut: false,
        }
    }

    /// Puts bytes that are not the stream's before it.
    pub(crate) fn greet(&mut self, bytes: &[u8]) {
        self.pending.extend(bytes);
        self.own += bytes.len();
    }

    /// Reads at most this much more from the local side.
    pub(crate) const fn limit(&mut self, left: u64) {
        self.left = Some(left);
    }

    /// Lets a TLS client ask for this host only.
    pub(crate) fn guard(&mut self, host: String) {
        self.guard = Some(Guard { host, held: Vec::new() });
    }

    /// Its id.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// Whether nothing goes in either direction any more.
    pub(crate) const fn is_over(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Sends bytes of the local side, or holds them back.
    ///
    /// # Errors
    /// The broker cannot be told; inside, why the stream was ended.
    pub(crate) fn send(&mut self, channel: &mut Channel, bytes: &[u8]) -> Result<Result<(), String>, Silence> {
        let mut passed = bytes.to_vec();
        if let Some(guard) = &mut self.guard {
            match guard.pass(bytes) {
                Ok(held) if held.is_empty() => return Ok(Ok(())),
                Ok(held) => passed = held,
                Err(why) => {
                    self.abandon(channel)?;
                    return Ok(Err(why));
                }
            }
        }
        self.guard = None;
        for chunk in passed.chunks(STREAM_CHUNK) {
            self.under_way += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            channel.ask(self.id, ask::Kind::Data(chunk.to_vec()))?;
        }
        Ok(Ok(()))
    }

    /// Bytes for the local side, written or kept for it (never more than a window).
    pub(crate) fn write(&mut self, channel: &mut Channel, bytes: &[u8]) -> Result<Result<(), Overrun>, Silence> {
        let window = usize::try_from(STREAM_WINDOW).unwrap_or(usize::MAX);
        if self.shut || (self.pending.len() - self.own).saturating_add(bytes.len()) > window {
            return Ok(Err(Overrun));
        }
        self.pending.extend(bytes);
        self.drain(channel)?;
        Ok(Ok(()))
    }

    /// The broker took this much.
    pub(crate) fn took(&mut self, bytes: u64) -> Result<(), Overrun> {
        self.under_way = self.under_way.checked_sub(bytes).ok_or(Overrun)?;
        Ok(())
    }

    /// The broker sends no more.
    pub(crate) fn shut(&mut self) {
        self.shut = true;
        self.close();
    }

    /// What it waits for.
    pub(crate) fn interest<'a>(&'a self, has_room: bool, fds: &mut Vec<PollFd<'a>>) {
        if has_room && self.room() > 0 {
            fds.extend(self.from.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        }
        if !self.pending.is_empty() {
            fds.extend(self.to.iter().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        }
    }

    /// One turn: at most one chunk from the local side, and whatever the local side takes.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(crate) fn turn(&mut self, channel: &mut Channel) -> Result<Result<(), String>, Silence> {
        let sent = self.fetch(channel)?;
        self.drain(channel)?;
        Ok(sent)
    }

    /// Ends the local side and tells the broker.
    pub(crate) fn abandon(&mut self, channel: &mut Channel) -> Result<(), Silence> {
        self.to = None;
        self.pending.clear();
        match self.from.take() {
            Some(_) => channel.ask(self.id, ask::Kind::Shut(ask::Shut {})),
            None => Ok(()),
        }
    }

    fn fetch(&mut self, channel: &mut Channel) -> Result<Result<(), String>, Silence> {
        let room = self.room();
        let Some(from) = self.from.as_ref().filter(|_| room > 0 && channel.has_room()) else { return Ok(Ok(())) };
        let mut chunk = vec![0; room];
        match rustix::io::read(from, chunk.as_mut_slice()) {
            Ok(got) if got > 0 => {
                if let Some(left) = &mut self.left {
                    *left = left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
                }
                self.send(channel, chunk.get(..got).unwrap_or_default())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(Ok(())),
            // Its end, or a connection that broke.
            Ok(_) | Err(_) => {
                self.from = None;
                channel.ask(self.id, ask::Kind::Shut(ask::Shut {}))?;
                Ok(Ok(()))
            }
        }
    }

    /// How much may be read from the local side now.
    fn room(&self) -> usize {
        let window = STREAM_WINDOW.saturating_sub(self.under_way).min(self.left.unwrap_or(u64::MAX));
        usize::try_from(window).unwrap_or(usize::MAX).min(STREAM_CHUNK)
    }

    fn drain(&mut self, channel: &mut Channel) -> Result<(), Silence> {
        let mut taken = 0_u64;
        while !self.pending.is_empty() {
            let (head, _) = self.pending.as_slices();
            let length = head.len();
            let wrote = match &self.to {
                Some(to) => rustix::io::write(to, head),
                // Nobody reads it any more; the sender need not wait for that.
                None => Ok(length),
            };
            match wrote {
                Ok(sent) => {
                    self.pending.drain(..sent.min(length));
                    let own = self.own.min(sent);
                    self.own -= own;
                    taken += u64::try_from(sent - own).unwrap_or(u64::MAX);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.to = None,
            }
        }
        self.close();
        if taken > 0 {
            channel.ask(self.id, ask::Kind::Took(taken))?;
        }
        // A bounded request is not ended before its answer is: some servers take a half-close for a client that left.
        if self.to.is_none() && self.left == Some(0) {
            self.discard();
            self.abandon(channel)?;
        }
        Ok(())
    }

    /// Reads away what the local side has said beyond its one request: a socket that is closed over unread bytes resets its connection, and the answer may be lost
    /// with it.
    fn discard(&self) {
        let mut chunk = [0; 4096];
        for _ in 0..64 {
            let Some(Ok(1..)) = self.from.as_ref().map(|from| rustix::io::read(from, chunk.as_mut_slice())) else {
                return;
            };
        }
    }

    /// Half-closes the local side once everything was written.
    fn close(&mut self) {
        if self.shut
            && self.pending.is_empty()
            && let Some(to) = self.to.take()
        {
            // A pipe closes by being dropped; a socket lives on in its reading half.
            let _ = shutdown(to.as_fd(), Shutdown::Write);
        }
    }
}

#[cfg(test)]
mod tests;

//! Which forbidden system call a child tried, read by its spawner from the listener of the child's filter.
//!
//! `SIGSYS` alone tells that there was one. Where the spawner listens, the filter answers a forbidden call with `SECCOMP_RET_USER_NOTIF` instead: the kernel holds the
//! process inside the call, which never begins, until the spawner has read its number and killed it. Nobody ever answers such a call, so there is
//! nothing to decide and nothing that could be decided on memory that changes afterwards. A spawner that dies takes the child along
//! (parent-death signal), and without a listener the kernel refuses the call.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use crate::sys;
use crate::syscalls;

/// A forbidden system call, as the kernel saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// Its number.
    pub number: u32,
    /// Its six argument registers. Those that the call does not take hold anything: for an investigation, not for a record.
    pub arguments: [u64; 6],
}

impl Violation {
    /// The name of the call; `None` for a number that this build does not know.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        syscalls::TABLE.iter().find(|(_, number)| *number == self.number).map(|(name, _)| *name)
    }
}

/// `openat (257)`, without the arguments.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name().unwrap_or("an unknown call"), self.number)
    }
}

/// What a child writes beside its listener: longer than any announcement that follows.
pub(crate) const HANDED_OVER: [u8; 4] = u32::MAX.to_le_bytes();

/// The spawner's end of a child's filter.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

/// Hands the listener of its own filter to the spawner, as the first thing on the control socket.
pub(crate) fn hand_over(control: BorrowedFd<'_>, listener: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let rights = [listener.as_fd()];
    if !beside.push(SendAncillaryMessage::ScmRights(&rights)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    loop {
        match rustix::net::sendmsg(control, &[io::IoSlice::new(&HANDED_OVER)], &mut beside, SendFlags::NOSIGNAL) {
            Ok(count) if count == HANDED_OVER.len() => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Receives into `buffer`, with a listener if one comes along. Anything else that comes along is an error.
pub(crate) fn receive(control: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<Listener>)> {
    // Room for the credentials too, which the kernel adds where the spawner's socket asks for them.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1), ScmCredentials(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = rustix::net::recvmsg(control, &mut [io::IoSliceMut::new(buffer)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let mut listener = None;
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            for descriptor in descriptors {
                if listener.is_some() || !sys::is_listener(&descriptor) {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                listener = Some(Listener(descriptor));
            }
        }
    }
    Ok((got.bytes, listener))
}

/// What a listener has to say.
#[derive(Debug)]
pub(crate) enum Word {
    /// Nothing.
    None,
    /// The child is held inside this call.
    Violation(Violation),
    /// Nothing any more: the child is ending.
    Last,
}

impl Listener {
    /// Looks without waiting.
    pub(crate) fn look(&self) -> io::Result<Word> {
        let mut ends = [PollFd::new(&self.0, PollFlags::IN)];
        loop {
            match poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let [end] = ends;
        if !end.revents().contains(PollFlags::IN) {
            return Ok(if end.revents().is_empty() { Word::None } else { Word::Last });
        }
        let seen = loop {
            match sys::receive_report(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        Ok(seen.map_or(Word::None, |call| {
            Word::Violation(Violation { number: call.nr.cast_unsigned(), arguments: call.args })
        }))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

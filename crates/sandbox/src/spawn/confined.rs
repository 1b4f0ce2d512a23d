//! A running child: wait for it, hear it, examine it, end it.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_send_signal, waitid};
use serde::{Deserialize, Serialize};

use crate::attest::{AttestError, Attestation, Expectation, Settled, attest, attest_sealed};
use crate::cgroup::Group;
use crate::enforcement::Enforcement;
use crate::seal::MOST_ANNOUNCED;
use crate::violation::{self, HANDED_OVER, Listener, Violation, Word};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned this status.
    Code(i32),
    /// This signal ended it. `SIGSYS` (31) is an incident: the child tried a forbidden system call, and either the kernel ended it or the spawner did once it knew
    /// which ([`Confined::violation`]).
    Signal(i32),
}

/// Why the child's announcement was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadyError {
    /// The time was up.
    #[error("sandbox child: no announcement within {0:?}")]
    Deadline(Duration),
    /// The child closed its socket (or died) first.
    #[error("sandbox child: ended before it announced itself")]
    Closed,
    /// Larger than any honest announcement, or not the expected form.
    #[error("sandbox child: malformed announcement")]
    Malformed,
    /// The socket failed.
    #[error("sandbox child: cannot read the announcement: {0}")]
    Io(#[from] io::Error),
}

/// A running confined child. Dropping it kills and reaps the whole tree.
pub struct Confined {
    pid: u32,
    pidfd: OwnedFd,
    enforcement: Enforcement,
    absent_masks: Vec<PathBuf>,
    expectation: Expectation,
    settled: Cell<Option<Result<Settled, AttestError>>>,
    listener: OnceCell<Listener>,
    violation: OnceCell<Violation>,
    ended: Option<Exit>,
    /// Removed after the tree is gone.
    _group: Option<Group>,
    /// The child's mount namespace, so that its end does not wait until the mounts are taken apart, which is done when this is dropped.
    mounts: OnceCell<OwnedFd>,
}

impl Confined {
    pub(super) const fn new(
        pid: u32,
        pidfd: OwnedFd,
        enforcement: Enforcement,
        absent_masks: Vec<PathBuf>,
        expectation: Expectation,
        group: Option<Group>,
    ) -> Self {
        Self {
            pid,
            pidfd,
            enforcement,
            absent_masks,
            expectation,
            settled: Cell::new(None),
            listener: OnceCell::new(),
            violation: OnceCell::new(),
            ended: None,
            _group: group,
            mounts: OnceCell::new(),
        }
    }

    /// The process id, as the spawner sees it.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// A descriptor of the process: becomes readable when it has ended.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// What the spawner enforced. Merge the child's own report ([`Confined::await_ready`]) into it once attested.
    #[must_use]
    pub const fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// Masked paths that were absent and could be created by the step.
    #[must_use]
    pub fn absent_masks(&self) -> &[PathBuf] {
        &self.absent_masks
    }

    /// What this spawn promised.
    #[must_use]
    pub fn expectation(&self) -> Expectation {
        // One that handed its listener over has a second filter, which took that right back.
        Expectation { filters: 1 + u32::from(self.listener.get().is_some()), ..self.expectation.clone() }
    }

    /// What to poll: each becomes readable when [`Confined::wait`] has something to do.
    pub fn signs(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.pidfd.as_fd()).chain(self.listener.get().map(AsFd::as_fd))
    }

    /// The forbidden system call that a planner, inspector or executor was killed for, once it is known: [`Confined::wait`] looks. A step's init and its
    /// tool are killed by the kernel itself, which tells only `SIGSYS`.
    #[must_use]
    pub fn violation(&self) -> Option<Violation> {
        self.violation.get().copied()
    }

    /// Reads the announcement that the sealed child writes as its first bytes ([`crate::announce`]) from the spawner's end of the
    /// control socket. It proves nothing: attest afterwards.
    ///
    /// # Errors
    /// [`ReadyError`].
    pub fn await_ready(&self, control: BorrowedFd<'_>, deadline: Duration) -> Result<Enforcement, ReadyError> {
        let until = Instant::now() + deadline;
        // The child needs longer to seal itself than this takes.
        self.settled.set(Some(Settled::read(self.pid, &self.expectation)));
        if let Ok(mounts) = mount_namespace(self.pid) {
            let _ = self.mounts.set(mounts);
        }
        let length = self.first_length(control, until, deadline)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MOST_ANNOUNCED {
            return Err(ReadyError::Malformed);
        }
        let mut text = vec![0; length];
        if read_exactly(control, &mut text, until, deadline)?.is_some() {
            return Err(ReadyError::Malformed);
        }
        serde_json::from_slice(&text).map_err(|_| ReadyError::Malformed)
    }

    /// The length of the announcement. A listener may come before it.
    fn first_length(&self, control: BorrowedFd<'_>, until: Instant, deadline: Duration) -> Result<[u8; 4], ReadyError> {
        let mut word = [0; 4];
        if let Some(listener) = read_exactly(control, &mut word, until, deadline)? {
            if word != HANDED_OVER || self.listener.set(listener).is_err() {
                return Err(ReadyError::Malformed);
            }
            if read_exactly(control, &mut word, until, deadline)?.is_some() {
                return Err(ReadyError::Malformed);
            }
        }
        Ok(word)
    }

    /// Compares the child with what this spawn promised, from outside.
    ///
    /// # Errors
    /// [`AttestError`]; the caller kills the child then.
    pub fn attest(&self) -> Result<Attestation, AttestError> {
        match self.settled.take() {
            Some(settled) => attest_sealed(self.pid, &self.expectation(), settled?),
            None => attest(self.pid, &self.expectation()),
        }
    }

    /// Sends `SIGKILL` to the child; with a process namespace the whole tree dies with it.
    ///
    /// # Errors
    /// Whatever `pidfd_send_signal(2)` gives, except that a child that has ended is no error.
    pub fn kill(&self) -> io::Result<()> {
        // Before it dies of this: a forbidden call that nobody has read yet would be forgotten.
        let seen = self.look();
        self.send_kill()?;
        seen.map(drop)
    }

    fn send_kill(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.pidfd, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits for the end, at most this long (`None`: for ever); `Ok(None)` when time is up. With a process namespace, every member is
    /// gone when this returns an exit.
    ///
    /// # Errors
    /// Whatever `poll(2)` or `waitid(2)` gives.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Option<Exit>> {
        if let Some(exit) = self.ended {
            return Ok(Some(exit));
        }
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let signs: Vec<BorrowedFd<'_>> = self.signs().collect();
            let ready = wait_any(&signs, until)?;
            match self.look() {
                Ok(Word::None) => {}
                Ok(Word::Violation(_)) => self.send_kill()?,
                Ok(Word::Last) => self.listener = OnceCell::new(),
                Err(error) => {
                    self.send_kill()?;
                    return Err(error);
                }
            }
            match ready.as_slice() {
                [true, ..] => break,
                [false, true] => {}
                _ => return Ok(None),
            }
        }
        loop {
            match waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED) {
                Ok(status) => {
                    let exit = match status.as_ref().map_or(Exit::Signal(libc::SIGKILL), Exit::of) {
                        Exit::Signal(libc::SIGKILL) if self.violation.get().is_some() => Exit::Signal(libc::SIGSYS),
                        exit => exit,
                    };
                    self.ended = Some(exit);
                    return Ok(Some(exit));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Whether it is held inside a forbidden call, which is kept.
    fn look(&self) -> io::Result<Word> {
        let word = self.listener.get().map_or(Ok(Word::None), Listener::look)?;
        if let Word::Violation(violation) = word {
            // The first one counts; there is no second, for it is never let go.
            let _ = self.violation.set(violation);
        }
        Ok(word)
    }

    /// Kills the tree and reaps it.
    ///
    /// # Errors
    /// Whatever killing or waiting gives.
    pub fn end(&mut self) -> io::Result<Exit> {
        if self.ended.is_none() {
            self.kill()?;
        }
        self.wait(None).map(|exit| exit.unwrap_or(Exit::Signal(libc::SIGKILL)))
    }
}

impl fmt::Debug for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confined").field("pid", &self.pid).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // A kill by descriptor of an own child fails only if it is gone already.
        let _ = self.end();
    }
}

impl Exit {
    fn of(status: &WaitIdStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Signal(libc::SIGKILL),
        }
    }
}

fn mount_namespace(pid: u32) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(CWD, format!("/proc/{pid}/ns/mnt"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Waits until a descriptor is readable or closed; `false` when time is up.
pub(super) fn wait_readable(descriptor: BorrowedFd<'_>, until: Option<Instant>) -> io::Result<bool> {
    wait_any(&[descriptor], until).map(|ready| ready.contains(&true))
}

/// As [`wait_readable`] for several, of which one is enough; which ones. None when time is up.
fn wait_any(descriptors: &[BorrowedFd<'_>], until: Option<Instant>) -> io::Result<Vec<bool>> {
    let mut ends: Vec<PollFd<'_>> =
        descriptors.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
    loop {
        match poll(&mut ends, time_left(until).as_ref()) {
            Ok(_) => return Ok(ends.iter().map(|end| !end.revents().is_empty()).collect()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn time_left(until: Option<Instant>) -> Option<Timespec> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()))?;
    Some(Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() })
}

/// Fills the buffer; gives the listener of the child's filter if it came beside the first bytes.
fn read_exactly(
    control: BorrowedFd<'_>,
    buffer: &mut [u8],
    until: Instant,
    deadline: Duration,
) -> Result<Option<Listener>, ReadyError> {
    let mut rest = buffer;
    let mut listener = None;
    while !rest.is_empty() {
        if !wait_readable(control, Some(until))? {
            return Err(ReadyError::Deadline(deadline));
        }
        match violation::receive(control, rest) {
            Ok((0, _)) => return Err(ReadyError::Closed),
            Ok((count, came)) => {
                listener = listener.or(came);
                rest = rest.get_mut(count..).unwrap_or_default();
            }
            Err(error) => match error.kind() {
                io::ErrorKind::ConnectionReset => return Err(ReadyError::Closed),
                io::ErrorKind::InvalidData => return Err(ReadyError::Malformed),
                io::ErrorKind::Interrupted => {}
                _ => return Err(ReadyError::Io(error)),
            },
        }
    }
    Ok(listener)
}

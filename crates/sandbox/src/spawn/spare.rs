//! What a privileged spawner makes in advance, once, instead of with each child.
//!
//! A network namespace is the dearest part of a clone (a third of all layers together, SANDBOX §4.2). A spawner that needs no network itself therefore lives
//! in an empty namespace of its own: each child inherits that one, and the spawner moves on into a new one while the child starts.
//!
//! The empty view of a planner or executor is the same for all of them: a read-only root with nothing in it, which nobody inside has a capability
//! over. It is built once and each child enters it. That leaves out copying the host's mounts and letting go of them again, for which the
//! kernel waits until no other processor looks at them.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::child;
use super::confined::wait_readable;
use crate::sys::{self, CloneRequest, Forked};
use crate::view::{Plan, View};

/// Whether the spawner lives in a network namespace that no other process has ever been in.
static NETWORK: AtomicBool = AtomicBool::new(false);

/// The mount namespace with nothing in it.
static EMPTY_VIEW: OnceLock<OwnedFd> = OnceLock::new();

/// How long building the empty view may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Moves the calling process, for good, into an empty network namespace, and every later [`crate::spawn`] hands it on to its child and takes a new one;
/// and builds the empty view that children without a file of their own enter.
///
/// For a process that does nothing but spawn (the zygote): it loses its network, and must start no process by other means, which would share a
/// namespace with the next confined child. Without the privilege for it nothing changes: each child's namespaces are then made with the child.
pub fn keep_spares() {
    NETWORK.store(sys::unshare_network().is_ok(), Ordering::Relaxed);
    if EMPTY_VIEW.get().is_none()
        && let Ok(view) = build_empty_view()
    {
        // It is the first: this process has one thread.
        let _ = EMPTY_VIEW.set(view);
    }
}

/// Takes the spare network: the next clone leaves its flag out.
pub(super) fn take_network() -> bool {
    NETWORK.swap(false, Ordering::Relaxed)
}

/// Leaves the namespace that a child has now, whether or not the child lived.
pub(super) fn renew_network() -> io::Result<()> {
    sys::unshare_network()?;
    NETWORK.store(true, Ordering::Relaxed);
    Ok(())
}

/// The empty view, where there is one.
pub(super) fn empty_view() -> Option<BorrowedFd<'static>> {
    EMPTY_VIEW.get().map(OwnedFd::as_fd)
}

/// A child builds it in a mount namespace of its own, waits until that is held here, and ends.
fn build_empty_view() -> io::Result<OwnedFd> {
    let pinned = View::default().pin().map_err(io::Error::other)?;
    let plan = Plan::of(&pinned).map_err(io::Error::other)?;
    let (built, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    let (held, hold) = pipe_with(PipeFlags::CLOEXEC)?;
    sys::wait_for_children()?;
    let namespaces = u64::from(libc::CLONE_NEWNS.cast_unsigned());
    let (pid, pidfd) = match sys::clone_process(CloneRequest { namespaces, cgroup: None })? {
        Forked::Child => {
            sys::close(hold.as_fd());
            let status = i32::from(child::build_view(&plan).is_err());
            if status == 0 && rustix::io::write(&tell, b"!").is_ok() {
                // Until the other end closes, at the latest by the spawner's death.
                let _ = rustix::io::read(&held, &mut [0; 1]);
            }
            sys::exit_now(status)
        }
        Forked::Parent { pid, pidfd } => (pid, pidfd),
    };
    drop(tell);
    let said =
        wait_readable(built.as_fd(), Some(Instant::now() + PATIENCE))? && rustix::io::read(&built, &mut [0; 1])? == 1;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let view = rustix::fs::openat(CWD, format!("/proc/{pid}/ns/mnt"), flags, Mode::empty());
    drop(hold);
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {}
    if said { Ok(view?) } else { Err(io::Error::other("the empty view could not be built")) }
}

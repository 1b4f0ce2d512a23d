//! What a spawner makes in advance, once, instead of with each child.
//!
//! An ordinary user's spawner moves into a user namespace of its own, in which it is still the same user and has over that namespace the capabilities
//! that root has over the host. From then on its children start as root's do: their namespaces belong to the spawner's user namespace and not to the child's own, which is the last
//! that is made, so that nothing a child could ever get gives it a right over the others.
//!
//! A network namespace is the dearest part of a clone (a third of all layers together, SANDBOX §4.2). A spawner that needs no network itself therefore lives
//! in namespaces of its own for network, IPC and host name: each child inherits those, and the spawner moves on into new ones while the child starts.
//!
//! The empty view of a planner or executor is the same for all of them: a read-only root with nothing in it, which nobody inside has a capability
//! over. It is built once and each child enters it. That leaves out copying the host's mounts and letting go of them again, for which the
//! kernel waits until no other processor looks at them. A step that sees files builds its view in a copy of such a one, with the devices in it
//! where it sees those.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, WaitId, WaitIdOptions, dumpable_behavior, parent_process_death_signal, set_dumpable_behavior,
    set_parent_process_death_signal, waitid,
};

use super::assemble::{MOST_TREES, build_view, clone_tree};
use super::child::{map_ids, open_proc_self};
use super::confined::wait_readable;
use super::{Identity, identity, maps};
use crate::probe;
use crate::sys::{self, CloneRequest, Forked};
use crate::view::{Plan, View};

/// Whether the spawner lives in namespaces of [`Layer::HANDED_ON`] that no other process has ever been in.
static FRESH: AtomicBool = AtomicBool::new(false);

/// The mount namespaces with nothing in them, and with nothing but the devices.
static READY_VIEWS: [OnceLock<OwnedFd>; 2] = [const { OnceLock::new() }; 2];

/// How long building such a view may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Moves the calling process, for good, into fresh namespaces for network, IPC and host name, and every later [`crate::spawn`] hands them on to its child and takes new ones;
/// and builds the empty view that children without a file of their own enter, and the one that others start from. An ordinary user's process moves into a user namespace of its own before.
///
/// For a process that does nothing but spawn (the zygote): it loses its network, and must start no process by other means, which would share a
/// namespace with the next confined child. Where the machine forbids it nothing changes: each child's namespaces are then made with the child.
pub fn keep_spares() {
    if !identity::may_give_others().unwrap_or(false) && probe::namespaces().is_ok() {
        // If it fails, what follows fails too, and each child is on its own.
        let _ = enter_user_namespace();
    }
    FRESH.store(sys::unshare_handed_on().is_ok(), Ordering::Relaxed);
    // Mounts of the host can be taken into it by who has a right over the namespace in which they are, which an ordinary user's spawner has not.
    let may_take = clone_tree(CWD, c"/dev/null").is_ok();
    for (ready, dev) in READY_VIEWS.iter().zip([false, true]) {
        if (may_take || !dev)
            && ready.get().is_none()
            && let Ok(view) = build(&View { dev, ..View::default() })
        {
            // It is the first: this process has one thread.
            let _ = ready.set(view);
        }
    }
}

/// Whoever this process is, it remains; what the kernel forgets when capabilities are gained is set again.
fn enter_user_namespace() -> io::Result<()> {
    let own = Identity::own();
    let maps = maps(own.uid, own.gid, own)?;
    let (dumpable, death_signal) = (dumpable_behavior()?, parent_process_death_signal()?);
    let proc_self = open_proc_self()?;
    sys::unshare_user_namespace()?;
    map_ids(&maps, &proc_self)?;
    set_dumpable_behavior(dumpable)?;
    Ok(set_parent_process_death_signal(death_signal)?)
}

/// Takes the fresh namespaces, if there are any: the next clone leaves their flags out.
pub(super) fn take() -> bool {
    FRESH.swap(false, Ordering::Relaxed)
}

/// Leaves the namespaces that a child has now, whether or not the child lived.
pub(super) fn renew() -> io::Result<()> {
    sys::unshare_handed_on()?;
    FRESH.store(true, Ordering::Relaxed);
    Ok(())
}

/// The view that a plan's is built in, or is, where there is one.
pub(super) fn ready_view(plan: &Plan) -> Option<BorrowedFd<'static>> {
    let [empty, devices] = &READY_VIEWS;
    let ready = if plan.devices.is_empty() { empty } else { devices };
    let fits = plan.is_empty() || (devices.get().is_some() && plan.places() <= MOST_TREES);
    ready.get().filter(|_| fits).map(OwnedFd::as_fd)
}

/// A child builds it in a mount namespace of its own, waits until that is held here, and ends.
fn build(view: &View) -> io::Result<OwnedFd> {
    let pinned = view.pin().map_err(io::Error::other)?;
    let plan = Plan::of(&pinned).map_err(io::Error::other)?;
    let (built, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    let (held, hold) = pipe_with(PipeFlags::CLOEXEC)?;
    sys::wait_for_children()?;
    let namespaces = u64::from(libc::CLONE_NEWNS.cast_unsigned());
    let (pid, pidfd) = match sys::clone_process(CloneRequest { namespaces, cgroup: None })? {
        Forked::Child => {
            sys::close(hold.as_fd());
            // Or the spawner could not open its namespace without a right over those who started it.
            let status = i32::from(
                set_dumpable_behavior(DumpableBehavior::Dumpable).is_err() || build_view(&plan, None).is_err(),
            );
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
    if said { Ok(view?) } else { Err(io::Error::other("the view could not be built")) }
}

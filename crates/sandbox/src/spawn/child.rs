//! What the child does between clone and exec: system calls on memory that was prepared before, nothing else.
//!
//! Order matters. The view is built while the process still has the capabilities of its namespace; credentials go next; Landlock
//! comes after the last mount, and the parent-death signal after the last change of credentials, which clears it.

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Signal, chdir, set_dumpable_behavior, set_parent_process_death_signal};

use super::assemble::{build_view, enter, open_in_view};
use crate::layers::{Layer, Layers};
use crate::sys::{self, NullTerminated};
use crate::view::Plan;

/// The single line of `uid_map` and of `gid_map` of a new user namespace.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) uid: CString,
    pub(super) gid: CString,
}

/// How the child gets its namespaces and loses its rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Privilege {
    /// The spawner has the capabilities of the host, or of a user namespace that it entered for this (`keep_spares`): namespaces first, then the change of ids,
    /// the user namespace last, so that the step holds no capability over any of its other namespaces.
    Privileged,
    /// It has none: the user namespace comes first and brings the capabilities for the others.
    Ordinary,
}

/// Everything that the child needs, made before the clone.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) privilege: Privilege,
    /// Whether dropping the supplementary groups is forbidden, which is reported as a gap.
    pub(super) keeps_groups: bool,
    pub(super) layers: Layers,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) maps: Maps,
    /// What becomes 0, 1, 2, …; these and the next ones all lie above the last of those numbers.
    pub(super) descriptors: Vec<OwnedFd>,
    pub(super) executable: OwnedFd,
    pub(super) status: OwnedFd,
    /// The parent's end of the status pipe.
    pub(super) reader: BorrowedFd<'a>,
    pub(super) landlock: Option<crate::landlock::Prepared>,
    pub(super) plan: Option<Plan>,
    /// A mount namespace that was made in advance: what an empty plan makes, or what the view is built in.
    pub(super) ready_view: Option<OwnedFd>,
    /// Without an own mount view.
    pub(super) host_cwd: CString,
    pub(super) limits: Vec<(u32, u64)>,
    pub(super) loopback: bool,
    pub(super) arguments: NullTerminated<'a>,
    pub(super) environment: NullTerminated<'a>,
}

impl Prepared<'_> {
    /// Whether the bounding set is emptied and the secure bits are locked: an ordinary user may do that only in an own user namespace.
    pub(super) fn ways_back_closed(&self) -> bool {
        self.layers.contains(Layer::Capabilities)
            && (self.layers.contains(Layer::UserNamespace) || self.privilege == Privilege::Privileged)
    }
}

/// Where the child is. The number crosses the status pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    Descriptors = 1,
    Session = 2,
    Maps = 3,
    Loopback = 4,
    HostName = 5,
    MountRoot = 6,
    Mount = 7,
    Swapped = 8,
    Pivot = 9,
    Cwd = 10,
    Keyring = 11,
    Ids = 12,
    UserNamespace = 13,
    Capabilities = 14,
    Limits = 15,
    NoNewPrivileges = 16,
    Landlock = 17,
    DeathSignal = 18,
    Execute = 19,
}

impl Stage {
    const ALL: [Self; 19] = [
        Self::Descriptors,
        Self::Session,
        Self::Maps,
        Self::Loopback,
        Self::HostName,
        Self::MountRoot,
        Self::Mount,
        Self::Swapped,
        Self::Pivot,
        Self::Cwd,
        Self::Keyring,
        Self::Ids,
        Self::UserNamespace,
        Self::Capabilities,
        Self::Limits,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::DeathSignal,
        Self::Execute,
    ];

    pub(super) fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage as u8 == number)
    }

    /// For messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Descriptors => "laying out descriptors",
            Self::Session => "opening a session",
            Self::Maps => "mapping ids",
            Self::Loopback => "bringing the loopback up",
            Self::HostName => "setting the host name",
            Self::MountRoot => "mounting an empty root",
            Self::Mount => "mounting",
            Self::Swapped => "comparing files",
            Self::Pivot => "leaving the host's files",
            Self::Cwd => "entering the working directory",
            Self::Keyring => "joining a new keyring",
            Self::Ids => "changing ids",
            Self::UserNamespace => "creating the user namespace",
            Self::Capabilities => "dropping capabilities",
            Self::Limits => "setting limits",
            Self::NoNewPrivileges => "setting no_new_privs",
            Self::Landlock => "entering the Landlock domain",
            Self::DeathSignal => "arming the parent-death signal",
            Self::Execute => "executing the binary",
        }
    }
}

/// One record of the status pipe: stage, index of the operation, error number.
pub(super) const RECORD: usize = 8;

#[derive(Debug)]
pub(super) struct Failure {
    stage: Stage,
    index: u16,
    error: io::Error,
}

/// Confines the calling process and executes the binary. Never returns.
pub(super) fn run(prepared: &Prepared<'_>) -> ! {
    let failure = match confine(prepared) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    // Nothing is left to do if the parent does not read.
    let _ = report(&prepared.status, failure.stage, failure.index, failure.error.raw_os_error().unwrap_or(0));
    sys::exit_now(126)
}

fn report(status: &OwnedFd, stage: Stage, index: u16, errno: i32) -> io::Result<()> {
    let [low, high] = index.to_le_bytes();
    let [a, b, c, d] = errno.to_le_bytes();
    let record: [u8; RECORD] = [stage as u8, low, high, 0, a, b, c, d];
    rustix::io::write(status, &record)?;
    Ok(())
}

/// Marks an error with its stage.
pub(super) trait At<T> {
    fn at(self, stage: Stage) -> Result<T, Failure>;
    fn at_operation(self, stage: Stage, index: usize) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, stage: Stage) -> Result<T, Failure> {
        self.at_operation(stage, 0)
    }

    fn at_operation(self, stage: Stage, index: usize) -> Result<T, Failure> {
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        self.map_err(|error| Failure { stage, index, error: error.into() })
    }
}

fn confine(prepared: &Prepared<'_>) -> Result<Infallible, Failure> {
    let layers = prepared.layers;
    let has = |layer| layers.contains(layer);
    // Before its number is laid out anew; the copy would also keep the pipe readable after the parent's death.
    sys::close(prepared.reader);
    sys::reset_signals().at(Stage::Session)?;
    if has(Layer::Session) {
        set_parent_process_death_signal(Some(Signal::KILL)).at(Stage::DeathSignal)?;
        rustix::process::setsid().at(Stage::Session)?;
    }
    rustix::process::umask(Mode::from_raw_mode(0o022));
    lay_out_descriptors(prepared).at(Stage::Descriptors)?;

    // The host's /proc is gone once the view is built.
    let proc_self = if has(Layer::UserNamespace) { Some(open_proc_self().at(Stage::Maps)?) } else { None };
    if let (Privilege::Ordinary, Some(proc_self)) = (prepared.privilege, &proc_self) {
        map_ids(&prepared.maps, proc_self).at(Stage::Maps)?;
    }
    if has(Layer::NetworkNamespace) && prepared.loopback {
        sys::bring_loopback_up().at(Stage::Loopback)?;
    }
    if has(Layer::HostNamespace) {
        sys::set_host_name().at(Stage::HostName)?;
    }
    match (&prepared.ready_view, &prepared.plan) {
        (Some(view), Some(plan)) if plan.is_empty() => enter(view).at(Stage::Pivot)?,
        (ready, Some(plan)) => build_view(plan, ready.as_ref())?,
        (_, None) => chdir(&prepared.host_cwd).at(Stage::Cwd)?,
    }
    if has(Layer::Session) {
        join_keyring().at(Stage::Keyring)?;
    }
    if prepared.privilege == Privilege::Privileged {
        if has(Layer::Capabilities) && !has(Layer::UserNamespace) {
            // Needs the privilege that the next step gives away.
            close_ways_back().at(Stage::Capabilities)?;
        }
        if has(Layer::UserNamespace) || has(Layer::Capabilities) {
            change_ids(prepared).at(Stage::Ids)?;
        }
        if let Some(proc_self) = &proc_self {
            sys::unshare_user_namespace().at(Stage::UserNamespace)?;
            map_ids(&prepared.maps, proc_self).at(Stage::Maps)?;
        }
    }
    if has(Layer::Capabilities) {
        drop_privileges(prepared).at(Stage::Capabilities)?;
    }
    if has(Layer::ResourceLimits) {
        for (resource, value) in &prepared.limits {
            sys::set_limit(*resource, *value).at(Stage::Limits)?;
        }
    }
    if has(Layer::NoNewPrivileges) {
        rustix::thread::set_no_new_privs(true).at(Stage::NoNewPrivileges)?;
    }
    if let Some(landlock) = &prepared.landlock {
        let ruleset = &landlock.ruleset;
        for rule in &landlock.late {
            let file = open_in_view(CWD, &rule.path).at(Stage::Landlock)?;
            sys::add_landlock_path(ruleset, &file, rule.access).at(Stage::Landlock)?;
        }
        sys::restrict_with_landlock(ruleset).at(Stage::Landlock)?;
    }
    if has(Layer::Session) {
        set_parent_process_death_signal(Some(Signal::KILL)).at(Stage::DeathSignal)?;
    }
    // The parent may have died before the signal was armed: nobody reads the status pipe then.
    spawner_lives(&prepared.status).at(Stage::DeathSignal)?;
    Err(sys::execute(&prepared.executable, &prepared.arguments, &prepared.environment)).at(Stage::Execute)
}

fn spawner_lives(status: &OwnedFd) -> io::Result<()> {
    let mut ends = [PollFd::new(status, PollFlags::empty())];
    poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    let [end] = ends;
    if end.revents().contains(PollFlags::ERR) { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
}

/// Puts the inherited descriptors at 0, 1, 2, …; marks all others as closing at `exec`.
fn lay_out_descriptors(prepared: &Prepared<'_>) -> io::Result<()> {
    let mut next: RawFd = 0;
    for descriptor in &prepared.descriptors {
        sys::duplicate_to(descriptor, next)?;
        next += 1;
    }
    if prepared.layers.contains(Layer::Descriptors) { sys::close_on_exec_from(next) } else { Ok(()) }
}

pub(super) fn open_proc_self() -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(CWD, c"/proc/self/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Writes the single mapping of the new user namespace (`user_namespaces(7)`): the writer is inside, so it may map only itself.
pub(super) fn map_ids(maps: &Maps, proc_self: &OwnedFd) -> rustix::io::Result<()> {
    // The files belong to root while the process is not dumpable, which it is after a change of ids or under a non-dumpable parent.
    set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?;
    let write = |name: &CStr, text: &[u8]| {
        let file = rustix::fs::openat(proc_self, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, text).map(drop)
    };
    write(c"setgroups", b"deny")?;
    write(c"uid_map", maps.uid.to_bytes())?;
    write(c"gid_map", maps.gid.to_bytes())
}

fn change_ids(prepared: &Prepared<'_>) -> rustix::io::Result<()> {
    let uid = rustix::process::Uid::from_raw(prepared.uid);
    let gid = rustix::process::Gid::from_raw(prepared.gid);
    match rustix::thread::set_thread_groups(&[]) {
        // Inside a container's user namespace that forbids the call: nothing is lost if there are none.
        Err(rustix::io::Errno::PERM) if prepared.keeps_groups || !sys::has_supplementary_groups() => {}
        other => other?,
    }
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}

/// All capability sets of the (new) user namespace, and the ways to get any back.
fn drop_privileges(prepared: &Prepared<'_>) -> io::Result<()> {
    if prepared.layers.contains(Layer::UserNamespace) {
        close_ways_back()?;
    }
    sys::drop_capabilities()
}

fn close_ways_back() -> io::Result<()> {
    sys::clear_bounding_set()?;
    sys::lock_secure_bits()
}

/// A kernel without keyrings has none to leave, and where a container's filter forbids `keyctl` it forbids it to the child too.
fn join_keyring() -> io::Result<()> {
    match sys::join_new_session_keyring() {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => Ok(()),
        other => other,
    }
}

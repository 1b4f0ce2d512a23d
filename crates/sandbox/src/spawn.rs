//! Starts a confined child from a process with one thread.
//!
//! Everything is prepared here, in the parent: files opened, rules and mounts laid out, arrays built. Then [`child`] runs
//! on it between clone and exec.

mod assemble;
mod child;
mod confined;
mod identity;
mod spare;

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use crate::attest::Expectation;
use crate::cgroup::{Delegation, Group};
use crate::enforcement::Enforcement;
use crate::landlock;
use crate::layers::{Layer, Layers};
use crate::limits::Limits;
use crate::sys::{self, CloneRequest, Forked, NullTerminated};
use crate::view::{Operation, Pinned, Plan, View, ViewError};
use child::{Maps, Prepared, Privilege, RECORD, Stage};
use confined::wait_readable;
pub use confined::{Confined, Exit, ReadyError};
pub use identity::Identity;
pub use spare::keep_spares;

/// What must hold, or nothing is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// Every layer.
    Full,
    /// Everything but the namespaces: Landlock, seccomp, limits, hygiene. For built-in file tools only.
    NoUserNamespaces,
}

/// The network of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No interface that is up.
    None,
    /// A private loopback in the child's own network namespace (profile `toolchain`).
    Loopback,
}

/// Descriptors 0 to 2 of the child; `None` is `/dev/null`.
#[derive(Debug, Default)]
pub struct Stdio {
    /// Standard input.
    pub input: Option<OwnedFd>,
    /// Standard output.
    pub output: Option<OwnedFd>,
    /// Standard error.
    pub error: Option<OwnedFd>,
}

/// All that is needed to start one confined child.
#[derive(Debug)]
pub struct Spec {
    /// The static binary, opened by the caller (`O_PATH` is enough).
    pub executable: OwnedFd,
    /// Its arguments, the program name first.
    pub arguments: Vec<CString>,
    /// Descriptors 0 to 2.
    pub stdio: Stdio,
    /// Descriptor 3: a connected `SOCK_STREAM` socket.
    pub control: OwnedFd,
    /// Descriptors 4 and up.
    pub descriptors: Vec<OwnedFd>,
    /// What the child sees.
    pub view: View,
    /// Its limits.
    pub limits: Limits,
    /// Who it is outside.
    pub identity: Identity,
    /// Its network.
    pub network: Network,
    /// What must hold.
    pub requirement: Requirement,
    /// How long the way from clone to exec may take.
    pub deadline: Duration,
    /// The layers to apply: [`Layers::all`] in production.
    pub layers: Layers,
}

/// Why no child was started. If a process existed, it has been killed and reaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The caller has more than one thread.
    #[error("sandbox spawn: the spawning process has more than one thread; spawn from the zygote")]
    NotSingleThreaded,
    /// The view was refused.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A required feature is missing on this machine.
    #[error("sandbox spawn: {missing} is not available: {hint}")]
    Missing {
        /// The feature.
        missing: &'static str,
        /// What to do about it.
        hint: String,
    },
    /// Preparing in the parent failed.
    #[error("sandbox spawn: cannot {action}: {source}")]
    Prepare {
        /// What was tried.
        action: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The child could not confine itself before `exec`.
    #[error("sandbox spawn: the child failed at {stage}{}: {source}", path.as_ref().map(|p| format!(" ({})", p.display())).unwrap_or_default())]
    Child {
        /// The stage, as a short phrase.
        stage: &'static str,
        /// The path concerned, for mounts.
        path: Option<PathBuf>,
        /// The error.
        source: io::Error,
    },
    /// The child reported something that it cannot report.
    #[error("sandbox spawn: unreadable report of the child")]
    Report,
    /// The child found another file at a granted path than the one that was pinned.
    #[error("sandbox spawn: {} was swapped while the view was built", .0.display())]
    Swapped(PathBuf),
    /// The way to `exec` took too long.
    #[error("sandbox spawn: the child did not reach exec within {0:?}")]
    Deadline(Duration),
}

/// Starts a confined child.
///
/// # Errors
/// [`SpawnError`]; no process is left then.
pub fn spawn(spec: Spec) -> Result<Confined, SpawnError> {
    if !sys::is_single_threaded().unwrap_or_else(counts_one_thread) {
        return Err(SpawnError::NotSingleThreaded);
    }
    sys::wait_for_children().map_err(|source| preparing("reset a signal", source))?;
    let layers = match spec.requirement {
        Requirement::Full => spec.layers,
        Requirement::NoUserNamespaces => spec.layers.minus(Layers::NAMESPACES),
    };
    let privilege = privilege(&spec, layers)?;
    let keeps_groups = keeps_groups(privilege);
    let limits = spec.limits.within_own().map_err(|source| preparing("read the own limits", source))?;
    let pinned = spec.view.pin()?;
    let own_view = layers.contains(Layer::MountView);
    if let (false, true, Some(path)) = (own_view, layers.contains(Layer::Landlock), pinned.needs_namespaces()) {
        return Err(ViewError::NeedsNamespaces(path.into()).into());
    }
    let mut enforcement = Enforcement::default();
    let group = group(&spec, layers, &mut enforcement)?;
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| preparing("make a pipe", errno))?;
    let inherited = Inherited::of(&spec)?;
    let plan = own_view.then(|| Plan::of(&pinned)).transpose()?;
    let environment = if layers.contains(Layer::Environment) { Vec::new() } else { own_environment() };
    let count = inherited.descriptors.len();
    let prepared = Prepared {
        privilege,
        keeps_groups,
        layers,
        uid: spec.identity.uid,
        gid: spec.identity.gid,
        maps: maps(INNER_ID, INNER_ID, spec.identity).map_err(|source| preparing("write an id map", source))?,
        descriptors: inherited.descriptors,
        executable: inherited.executable,
        status: above(&writer, count)?,
        reader: reader.as_fd(),
        landlock: rules(&spec, &pinned, layers, count)?,
        ready_view: ready_view(privilege, plan.as_ref(), count)?,
        plan,
        host_cwd: pinned.cwd.clone(),
        limits: limits.resources(),
        loopback: spec.network == Network::Loopback,
        arguments: NullTerminated::new(spec.arguments.iter().map(CString::as_c_str)),
        environment: NullTerminated::new(environment.iter().map(CString::as_c_str)),
    };
    drop(writer);
    let wants_spares =
        privilege == Privilege::Privileged && Layer::HANDED_ON.into_iter().all(|layer| layers.contains(layer));
    let fresh = spare::take();
    let spare = fresh && wants_spares;
    let made = |layer| {
        (spare && Layer::HANDED_ON.contains(&layer)) || (layer == Layer::MountView && prepared.ready_view.is_some())
    };
    let request = CloneRequest {
        namespaces: namespaces(privilege, layers, made),
        cgroup: group.as_ref().map(|group| group.handle().as_raw_fd()),
    };
    let (pid, pidfd) = match sys::clone_process(request) {
        Ok(Forked::Child) => child::run(&prepared),
        Ok(Forked::Parent { pid, pidfd }) => (pid, pidfd),
        Err(source) => return Err(refused_clone(source, request.namespaces)),
    };
    describe(&spec, &limits, &prepared, &mut enforcement);
    let expectation = expectation(&spec, &prepared, count);
    let Prepared { status, plan, .. } = prepared;
    drop(status);
    let confined = Confined::new(pid, pidfd, enforcement, pinned.absent_masks().to_vec(), expectation, group);
    // From here on, dropping `confined` kills and reaps.
    let executed = watch_exec(&reader, spec.deadline, plan.as_ref());
    // Not before: until `exec` the child takes the same locks of the kernel, afterwards it has enough to do by itself.
    if fresh {
        spare::renew().map_err(|source| preparing("leave the child's namespaces", source))?;
    }
    executed.map(|()| confined)
}

/// The same question to `/proc`.
fn counts_one_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

fn preparing(action: &'static str, source: impl Into<io::Error>) -> SpawnError {
    SpawnError::Prepare { action, source: source.into() }
}

/// Whether the caller has capabilities (the host's, or those of a user namespace that it entered in advance) or its child needs a user namespace to get any.
fn privilege(spec: &Spec, layers: Layers) -> Result<Privilege, SpawnError> {
    if identity::may_give_others().map_err(|source| preparing("read the own capabilities", source))? {
        return Ok(Privilege::Privileged);
    }
    if spec.identity != Identity::own() {
        return Err(no_other_ids());
    }
    let others = layers.minus(Layers::of(&[Layer::UserNamespace]));
    let any = others.iter().any(|layer| Layers::NAMESPACES.contains(layer));
    if any && !layers.contains(Layer::UserNamespace) {
        return Err(SpawnError::Missing {
            missing: "a user namespace",
            hint: String::from("an ordinary user gets the other namespaces only inside one"),
        });
    }
    Ok(Privilege::Ordinary)
}

fn no_other_ids() -> SpawnError {
    SpawnError::Missing {
        missing: "the right to give a child other ids",
        hint: String::from("only a root spawner can name a foreign uid or gid; use its own"),
    }
}

/// Whether the child keeps the caller's supplementary groups: dropping them takes privilege, and a user namespace whose maker had
/// none may forbid it for good (`user_namespaces(7)`, `/proc/PID/setgroups`).
fn keeps_groups(privilege: Privilege) -> bool {
    let forbidden = || std::fs::read_to_string("/proc/self/setgroups").is_ok_and(|word| word.starts_with("deny"));
    sys::has_supplementary_groups() && (privilege == Privilege::Ordinary || forbidden())
}

const NAMESPACE_FLAGS: [(Layer, i32); 7] = [
    (Layer::UserNamespace, libc::CLONE_NEWUSER),
    (Layer::MountView, libc::CLONE_NEWNS),
    (Layer::ProcessNamespace, libc::CLONE_NEWPID),
    (Layer::NetworkNamespace, libc::CLONE_NEWNET),
    (Layer::IpcNamespace, libc::CLONE_NEWIPC),
    (Layer::HostNamespace, libc::CLONE_NEWUTS),
    (Layer::CgroupNamespace, libc::CLONE_NEWCGROUP),
];

/// The flags of the clone. A privileged child creates its user namespace itself, last, and may find its view and some of its namespaces made.
fn namespaces(privilege: Privilege, layers: Layers, made: impl Fn(Layer) -> bool) -> u64 {
    let later = |layer| (layer == Layer::UserNamespace && privilege == Privilege::Privileged) || made(layer);
    NAMESPACE_FLAGS
        .into_iter()
        .filter(|(layer, _)| layers.contains(*layer) && !later(*layer))
        .fold(0, |flags, (_, flag)| flags | u64::from(flag.cast_unsigned()))
}

fn refused_clone(source: io::Error, namespaces: u64) -> SpawnError {
    if namespaces == 0 { preparing("clone", source) } else { no_namespaces(&source) }
}

fn no_namespaces(source: &io::Error) -> SpawnError {
    SpawnError::Missing {
        missing: "namespaces",
        hint: format!(
            "the kernel refused them ({source}); see user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns and the container's seccomp profile, or lower `sandbox.minimum` to `no_userns` (built-in file tools only)"
        ),
    }
}

fn group(spec: &Spec, layers: Layers, enforcement: &mut Enforcement) -> Result<Option<Group>, SpawnError> {
    if !layers.contains(Layer::Cgroup) {
        return Ok(None);
    }
    match Delegation::of_this_process() {
        Ok(delegation) => {
            let group = delegation.group(&spec.limits).map_err(|source| preparing("make a control group", source))?;
            enforcement.hold(
                Layer::Cgroup,
                format!(
                    "own group: memory {} bytes without swap, {} processes, {} % of a core",
                    spec.limits.tree_memory, spec.limits.processes, spec.limits.tree_cpu_percent
                ),
            );
            Ok(Some(group))
        }
        Err(gap) => {
            enforcement.gap(gap.missing.as_str(), gap.meaning.as_str());
            Ok(None)
        }
    }
}

/// The descriptors of the child, all at numbers that the layout does not overwrite.
struct Inherited {
    descriptors: Vec<OwnedFd>,
    executable: OwnedFd,
}

impl Inherited {
    fn of(spec: &Spec) -> Result<Self, SpawnError> {
        let null = rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| preparing("open /dev/null", errno))?;
        let Stdio { input, output, error } = &spec.stdio;
        let count = 4 + spec.descriptors.len();
        let standard = [input, output, error].map(|given| given.as_ref().unwrap_or(&null));
        let descriptors = standard
            .into_iter()
            .chain(std::iter::once(&spec.control))
            .chain(&spec.descriptors)
            .map(|descriptor| above(descriptor, count))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { descriptors, executable: above(&spec.executable, count)? })
    }
}

fn above(descriptor: impl AsFd, count: usize) -> Result<OwnedFd, SpawnError> {
    let first = RawFd::try_from(count).map_err(|_| preparing("number descriptors", io::ErrorKind::InvalidInput))?;
    fcntl_dupfd_cloexec(descriptor, first).map_err(|errno| preparing("copy a descriptor", errno))
}

/// A view that was made in advance. Entering it takes privilege over the host's namespaces.
fn ready_view(privilege: Privilege, plan: Option<&Plan>, count: usize) -> Result<Option<OwnedFd>, SpawnError> {
    let plan = plan.filter(|_| privilege == Privilege::Privileged);
    plan.and_then(spare::ready_view).map(|view| above(view, count)).transpose()
}

fn rules(spec: &Spec, pinned: &Pinned, layers: Layers, count: usize) -> Result<Option<landlock::Prepared>, SpawnError> {
    if !layers.contains(Layer::Landlock) {
        return Ok(None);
    }
    let deny_tcp = spec.network == Network::None;
    let mut prepared = landlock::prepare(pinned, &spec.executable, deny_tcp, layers.contains(Layer::MountView))
        .map_err(|error| SpawnError::Missing { missing: "Landlock", hint: error.to_string() })?;
    prepared.ruleset = above(&prepared.ruleset, count)?;
    Ok(Some(prepared))
}

/// Lines of `uid_map` and `gid_map`: inside, outside, how many.
fn maps(inner_uid: u32, inner_gid: u32, outside: Identity) -> io::Result<Maps> {
    let line = |inside: u32, outside: u32| CString::new(format!("{inside} {outside} 1"));
    Ok(Maps { uid: line(inner_uid, outside.uid)?, gid: line(inner_gid, outside.gid)? })
}

/// Who the child is inside.
const INNER_ID: u32 = 1000;

/// What a child without the environment layer inherits (the battery's leaked secret).
fn own_environment() -> Vec<CString> {
    std::env::vars_os()
        .filter_map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            CString::new(name.into_vec()).ok()
        })
        .collect()
}

/// Reads the status pipe until exec closes it.
fn watch_exec(reader: &OwnedFd, deadline: Duration, plan: Option<&Plan>) -> Result<(), SpawnError> {
    let until = Instant::now() + deadline;
    let mut last: Option<[u8; RECORD]> = None;
    loop {
        let ready =
            wait_readable(reader.as_fd(), Some(until)).map_err(|source| preparing("wait for the child", source))?;
        if !ready {
            return Err(SpawnError::Deadline(deadline));
        }
        let mut record = [0; RECORD];
        match rustix::io::read(reader, &mut record) {
            Ok(0) => break,
            // Records are shorter than PIPE_BUF, so they come whole.
            Ok(_) => last = Some(record),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(preparing("read the child's status", errno)),
        }
    }
    // Silence is success: `exec` closed the pipe (or a signal ended the child, which the caller's first read shows).
    let Some([stage, low, high, _, a, b, c, d]) = last else { return Ok(()) };
    let index = usize::from(u16::from_le_bytes([low, high]));
    let source = io::Error::from_raw_os_error(i32::from_le_bytes([a, b, c, d]));
    let path = || {
        let operation = plan.and_then(|plan| plan.operations.get(index)).map(Operation::path);
        operation.map(|relative| Path::new("/").join(OsStr::from_bytes(CStr::to_bytes(relative))))
    };
    match Stage::of(stage) {
        Some(Stage::Swapped) => Err(SpawnError::Swapped(path().unwrap_or_default())),
        Some(Stage::Maps | Stage::UserNamespace) => Err(no_namespaces(&source)),
        // An id that does not exist in the spawner's user namespace.
        Some(Stage::Ids) if source.raw_os_error() == Some(libc::EINVAL) => Err(no_other_ids()),
        Some(Stage::Mount) => Err(SpawnError::Child { stage: Stage::Mount.name(), path: path(), source }),
        Some(stage) => Err(SpawnError::Child { stage: stage.name(), path: None, source }),
        None => Err(SpawnError::Report),
    }
}

/// Writes down what the child was made to do.
fn describe(spec: &Spec, limits: &Limits, prepared: &Prepared<'_>, enforcement: &mut Enforcement) {
    let Identity { uid, gid } = spec.identity;
    for layer in prepared.layers.iter() {
        let detail = match layer {
            Layer::Descriptors => format!("0 to {}", prepared.descriptors.len().saturating_sub(1)),
            Layer::Environment => String::from("empty"),
            Layer::Session => String::from("own session, no access to its spawner's keyring, dies with its spawner"),
            Layer::NoNewPrivileges => String::from("set"),
            Layer::Capabilities if prepared.ways_back_closed() => String::from("all sets empty, secure bits locked"),
            Layer::Capabilities => String::from("none held; the bounding set stays, which no_new_privs makes useless"),
            Layer::ResourceLimits => format!(
                "per process: {} s CPU, {} bytes per file, {} descriptors, {} bytes of address space; {} processes",
                limits.cpu_seconds,
                limits.file_size,
                limits.open_files,
                limits.address_space.map_or(String::from("unlimited"), |bytes| bytes.to_string()),
                limits.processes
            ),
            Layer::UserNamespace => format!("{INNER_ID} inside is uid {uid}, gid {gid} outside"),
            Layer::MountView => format!("{} places, nothing else", prepared.plan.as_ref().map_or(0, Plan::places)),
            Layer::ProcessNamespace => String::from("own; all members die with the first"),
            Layer::NetworkNamespace => match spec.network {
                Network::None => String::from("own, no interface"),
                Network::Loopback => String::from("own, private loopback"),
            },
            Layer::IpcNamespace | Layer::HostNamespace | Layer::CgroupNamespace => String::from("own"),
            Layer::Landlock => {
                format!("ABI {}, fully enforced", prepared.landlock.as_ref().map_or(0, |landlock| landlock.abi))
            }
            // Reported by the group itself and by the child's own seal.
            Layer::Cgroup | Layer::Seccomp => continue,
        };
        enforcement.hold(layer, detail);
    }
    gaps(spec, prepared, enforcement);
}

fn gaps(spec: &Spec, prepared: &Prepared<'_>, enforcement: &mut Enforcement) {
    let namespaced = prepared.layers.contains(Layer::UserNamespace);
    if spec.identity.uid == 0 && spec.limits.processes > 0 {
        enforcement.gap(
            "a limit on the number of processes",
            "the kernel never counts processes of uid 0; give the step another owner or run Countersign as an ordinary user",
        );
    }
    if prepared.keeps_groups {
        enforcement.gap(
            "dropping supplementary groups",
            "files that are accessible only by a supplementary group of the invoking user stay accessible inside the view",
        );
    }
    if !namespaced {
        enforcement.gap(
            "namespaces",
            "no process is started, and what Landlock does not cover (metadata of files outside of the grants) is visible",
        );
    }
}

/// What [`crate::attest`] must find.
fn expectation(spec: &Spec, prepared: &Prepared<'_>, count: usize) -> Expectation {
    let ids_changed = prepared.privilege == Privilege::Ordinary
        || prepared.layers.contains(Layer::UserNamespace)
        || prepared.layers.contains(Layer::Capabilities);
    let identity = if ids_changed { spec.identity } else { Identity::own() };
    Expectation {
        layers: prepared.layers,
        uid: identity.uid,
        gid: identity.gid,
        descriptors: u32::try_from(count).unwrap_or(u32::MAX),
        bounding_set_empty: prepared.ways_back_closed(),
        filters: 1,
    }
}

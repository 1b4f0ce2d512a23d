//! What a confined binary does to itself, first thing in `main`, while it has one thread and before it reads any input.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::enforcement::Enforcement;
use crate::filter::Filter;
use crate::landlock;
use crate::layers::{Layer, Layers};
use crate::name::{ProfileName, Variant};
use crate::sys;
use crate::violation;

/// What a step's init runs; the zygote passes it as an argument ([`StepSeal::argument`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSeal {
    /// A built-in tool: no program is executed, no process is made.
    Builtin,
    /// A program under this variant of the `program` profile.
    Program(Variant),
}

impl StepSeal {
    /// The word for the command line: `builtin`, `exact`, `toolchain`.
    #[must_use]
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Program(Variant::Exact) => "exact",
            Self::Program(Variant::Toolchain) => "toolchain",
        }
    }

    /// Reads the word back; `None` for anything else.
    #[must_use]
    pub fn from_argument(word: &str) -> Option<Self> {
        [Self::Builtin, Self::Program(Variant::Exact), Self::Program(Variant::Toolchain)]
            .into_iter()
            .find(|seal| seal.argument() == word)
    }
}

/// The seal of a tool, applied in the forked child just before `exec`: with the filter of its init, which goes on to hold, it makes up the
/// `program` list.
#[derive(Debug, Clone, Copy)]
pub struct ProgramSeal {
    filter: Filter,
}

impl ProgramSeal {
    /// For a variant of the `program` list: the one that the init was sealed for.
    ///
    /// # Errors
    /// None at present: the filter is compiled into the binary.
    pub fn prepare(variant: Variant) -> Result<Self, SealError> {
        Ok(Self { filter: Filter::of(ProfileName::TakeBack(variant)) })
    }
}

/// Why a process is not sealed. It must exit at once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// A thread was started before the seal.
    #[error("seal: the process already has more than one thread")]
    NotSingleThreaded,
    /// The spawner did not set what the seal builds on.
    #[error("seal: {0}; start this program through the zygote")]
    NotSpawned(&'static str),
    /// Landlock refused.
    #[error("seal: landlock: {0}")]
    Landlock(String),
    /// A system call failed.
    #[error("seal: cannot {action}: {source}")]
    Call {
        /// What was tried.
        action: &'static str,
        /// The error.
        source: io::Error,
    },
}

/// Seals a planner: deny-all Landlock, the 36 system calls of the `planner` profile, anything else kills the process.
///
/// # Errors
/// [`SealError`]: the process must exit.
pub fn seal_planner(layers: Layers) -> Result<Enforcement, SealError> {
    seal_computing([ProfileName::PlannerWatched, ProfileName::Planner], "planner", layers)
}

/// Seals an inspector. It is the planner's seal, list and all: both compute on messages of one socket and need nothing else.
///
/// # Errors
/// [`SealError`]: the process must exit.
pub fn seal_inspector(layers: Layers) -> Result<Enforcement, SealError> {
    seal_planner(layers)
}

/// Seals an executor: the same kind, with the `executor` profile.
///
/// # Errors
/// [`SealError`]: the process must exit.
pub fn seal_executor(layers: Layers) -> Result<Enforcement, SealError> {
    seal_computing([ProfileName::ExecutorWatched, ProfileName::Executor], "executor", layers)
}

/// Seals a step's init. Its Landlock domain was already entered before `exec`, from the descriptors of the view.
///
/// # Errors
/// [`SealError`]: the process must exit.
pub fn seal_step_init(seal: StepSeal, layers: Layers) -> Result<Enforcement, SealError> {
    let mut enforcement = Enforcement::default();
    check(layers, &mut enforcement)?;
    let (name, what) = match seal {
        StepSeal::Builtin => (ProfileName::Builtin, "step-builtin"),
        StepSeal::Program(variant) => (ProfileName::StepInit(variant), "step-launch and program"),
    };
    filter(name, what, layers, &mut enforcement)?;
    Ok(enforcement)
}

/// Seals the forked child of a step's init just before it executes a tool: all descriptors but 0 to 2 close at `exec`, then the `program` filter.
///
/// # Errors
/// [`SealError`]: the process must exit without executing anything.
pub fn seal_program(seal: &ProgramSeal, layers: Layers) -> Result<(), SealError> {
    sys::reset_signals().map_err(|source| SealError::Call { action: "reset signals", source })?;
    if layers.contains(Layer::Descriptors) {
        sys::close_on_exec_from(3).map_err(|source| SealError::Call { action: "close descriptors", source })?;
    }
    if layers.contains(Layer::Seccomp) {
        if !sys::is_filtered() {
            return Err(SealError::NotSpawned("the init has no filter to build on"));
        }
        seal.filter.install().map_err(|source| SealError::Call { action: "install the filter", source })?;
    }
    Ok(())
}

fn seal_computing(
    [watched, unwatched]: [ProfileName; 2],
    what: &str,
    layers: Layers,
) -> Result<Enforcement, SealError> {
    let mut enforcement = Enforcement::default();
    check(layers, &mut enforcement)?;
    if layers.contains(Layer::Landlock) {
        let abi = landlock::deny_all().map_err(|error| SealError::Landlock(error.to_string()))?;
        enforcement.hold(Layer::Landlock, format!("ABI {abi}, everything denied"));
    }
    if !layers.contains(Layer::Seccomp) {
        return Ok(enforcement);
    }
    match Filter::of(watched).install_listening() {
        Ok(listener) => {
            let call = |action| move |source| SealError::Call { action, source };
            let control = sys::control_socket();
            violation::hand_over(control, &listener).map_err(call("hand the filter's listener over"))?;
            drop(listener);
            Filter::of(ProfileName::Unwatch).install().map_err(call("install the second filter"))?;
            let length = Filter::of(watched).code().len() + Filter::of(ProfileName::Unwatch).code().len();
            enforcement
                .hold(Layer::Seccomp, format!("profile {what}, {length} instructions, forbidden calls are told"));
        }
        // Somebody further up listens already, or may forbid it. The list is the same.
        Err(_) => {
            filter(unwatched, what, layers, &mut enforcement)?;
            enforcement.gap(
                "details of a forbidden system call",
                "the call is refused and the process ends all the same, but only that is known, not which call it was",
            );
        }
    }
    Ok(enforcement)
}

/// What every seal builds on: one thread, no new privileges; and no way to look into this process.
fn check(layers: Layers, enforcement: &mut Enforcement) -> Result<(), SealError> {
    // Where the question is forbidden, the spawner's attestation still counts the threads.
    if sys::is_single_threaded() == Some(false) {
        return Err(SealError::NotSingleThreaded);
    }
    if layers.contains(Layer::NoNewPrivileges) && !rustix::thread::no_new_privs().unwrap_or(false) {
        return Err(SealError::NotSpawned("no_new_privs is not set"));
    }
    // Without a user namespace of its own (the bounding set tells) it could no longer be attested by an ordinary user's spawner.
    if layers.contains(Layer::Session) && layers.contains(Layer::Capabilities) && sys::bounding_set_is_empty() {
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|errno| SealError::Call { action: "become non-dumpable", source: errno.into() })?;
        enforcement.hold(Layer::Session, "not dumpable");
    }
    Ok(())
}

fn filter(name: ProfileName, what: &str, layers: Layers, enforcement: &mut Enforcement) -> Result<(), SealError> {
    if layers.contains(Layer::Seccomp) {
        let filter = Filter::of(name);
        filter.install().map_err(|source| SealError::Call { action: "install the filter", source })?;
        enforcement.hold(Layer::Seccomp, format!("profile {what}, {} instructions", filter.code().len()));
    }
    Ok(())
}

/// Takes an inherited descriptor: 3 is the control socket, 4 and up are what the spawner passed. Each number once, and before the seal
/// (afterwards the needed call is forbidden). It will not survive a further `exec`.
///
/// # Errors
/// `EBADF` when it is not open, or was taken before; `EINVAL` for 0 to 2 and beyond 63.
pub fn inherited(number: u32) -> io::Result<OwnedFd> {
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    if !(3..64).contains(&number) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let bit = 1_u64 << number;
    if TAKEN.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    sys::adopt(RawFd::try_from(number).map_err(|_| io::ErrorKind::InvalidInput)?)
}

/// Longest announcement that a spawner reads, in bytes.
pub(crate) const MOST_ANNOUNCED: usize = 16 * 1024;

/// Tells the spawner that the process is sealed: one frame (little-endian `u32` length, JSON of the [`Enforcement`]) on the control socket.
/// Any later bytes on the socket belong to the caller's own protocol.
///
/// # Errors
/// Whatever `write(2)` gives.
pub fn announce(control: BorrowedFd<'_>, enforcement: &Enforcement) -> io::Result<()> {
    let text = serde_json::to_vec(enforcement)?;
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend(text);
    let mut rest = frame.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(control, rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

//! The children that run, and how each one is started: spawned, announced, attested, and only then handed out.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use countersign_plan::confinement::SandboxSpec;
use countersign_sandbox::{
    Confined, Enforcement, Exit, Identity, Layers, Limits, Network, Requirement, Spec, Stdio, View, spawn,
};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::view;

/// What a step gets beyond its own time: its init ends the program when that is used up, and reports. Only an init that hangs is
/// ended here, so that a busy machine loses no report. Less than what the broker lets a lease outlive its step.
const REPORTING: Duration = Duration::from_secs(20);

/// How long a child may take to seal itself: far more than it needs, for a machine that has other things to do.
const SEAL_DEADLINE: Duration = Duration::from_secs(20);

/// Why a child was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The program is not installed beside the zygote.
    #[error("{0} is not installed beside countersign-zygote: {1}")]
    Program(&'static str, io::Error),
    /// The channel could not be made.
    #[error("cannot make a channel: {0}")]
    Channel(io::Error),
    /// The sandbox refused.
    #[error(transparent)]
    Spawn(#[from] countersign_sandbox::SpawnError),
    /// The child did not announce itself.
    #[error(transparent)]
    Ready(#[from] countersign_sandbox::ReadyError),
    /// The child is not what it says.
    #[error(transparent)]
    Attest(#[from] countersign_sandbox::AttestError),
}

/// A child that runs.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) confined: Confined,
    pub(crate) deadline: Option<Instant>,
    pub(crate) timed_out: bool,
}

/// A child that was just started, with the monitor's end of its channel.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) channel: OwnedFd,
    pub(crate) enforcement: Enforcement,
}

/// The children by the monitor's id.
pub(crate) type Children = BTreeMap<u64, Child>;

/// Our own programs, opened once: a file that is swapped later is not what is run.
#[derive(Debug)]
pub(crate) struct Programs {
    step: Result<OwnedFd, io::Error>,
    executor: Result<OwnedFd, io::Error>,
    planner: Result<OwnedFd, io::Error>,
    inspector: Result<OwnedFd, io::Error>,
    /// Whether the kernel gives no namespaces.
    pub(crate) are_bare: bool,
}

impl Programs {
    /// The programs beside this one.
    pub(crate) fn open() -> io::Result<Self> {
        let own = std::env::current_exe()?;
        let folder = own.parent().unwrap_or(Path::new("/")).to_owned();
        let open = |name: &str| -> io::Result<OwnedFd> {
            Ok(rustix::fs::open(folder.join(name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
        };
        Ok(Self {
            step: open("countersign-step"),
            executor: open("countersign-executor"),
            planner: open("countersign-planner"),
            inspector: open("countersign-inspector"),
            are_bare: false,
        })
    }

    fn get(program: &Result<OwnedFd, io::Error>, name: &'static str) -> Result<OwnedFd, StartError> {
        match program {
            Ok(fd) => fd.try_clone().map_err(|e| StartError::Program(name, e)),
            Err(e) => Err(StartError::Program(name, io::Error::from(e.kind()))),
        }
    }

    /// A process with one socket and nothing else. Without namespaces, where it may go so, only if the kernel gives none: the other
    /// layers end it at the first forbidden call.
    fn sealed(&self, program: OwnedFd, name: &std::ffi::CStr, limits: Limits, without_namespaces: bool) -> Request {
        let identity = Identity::of_nobody(&program);
        let bare = without_namespaces && self.are_bare;
        Request {
            program,
            arguments: vec![name.into()],
            descriptors: Vec::new(),
            view: View::default(),
            limits,
            identity,
            network: Network::None,
            requirement: if bare { Requirement::NoUserNamespaces } else { Requirement::Full },
        }
    }

    /// Starts an executor: no view, no network, no program, one socket.
    pub(crate) fn executor(&self, without_namespaces: bool) -> Result<Started, StartError> {
        let program = Self::get(&self.executor, "countersign-executor")?;
        start(self.sealed(program, c"countersign-executor", Limits::planner(), without_namespaces), None)
    }

    /// Starts a planner, confined likewise.
    pub(crate) fn planner(&self, without_namespaces: bool) -> Result<Started, StartError> {
        let program = Self::get(&self.planner, "countersign-planner")?;
        start(self.sealed(program, c"countersign-planner", Limits::planner(), without_namespaces), None)
    }

    /// Starts an inspector, confined likewise.
    pub(crate) fn inspector(&self, without_namespaces: bool) -> Result<Started, StartError> {
        let program = Self::get(&self.inspector, "countersign-inspector")?;
        start(self.sealed(program, c"countersign-inspector", Limits::inspector(), without_namespaces), None)
    }

    /// Starts a classifier, confined likewise: an inspector with another word and the encoder's files.
    pub(crate) fn classifier(&self, files: Vec<OwnedFd>) -> Result<Started, StartError> {
        let program = Self::get(&self.inspector, "countersign-inspector")?;
        let mut request = self.sealed(program, c"countersign-inspector", Limits::inspector(), false);
        request.arguments.push(c"classifier".into());
        request.descriptors = files;
        start(request, None)
    }

    /// Starts a step's init in the view of its spec, with its order as descriptor 4.
    pub(crate) fn step(&self, spec: &SandboxSpec, own: &[String], order: OwnedFd) -> Result<Started, StartError> {
        let program = Self::get(&self.step, "countersign-step")?;
        let word = view::seal(spec.profile).argument();
        let request = Request {
            program,
            arguments: vec![c"countersign-step".into(), CString::new(word).unwrap_or_default()],
            descriptors: vec![order],
            view: view::view(spec, own),
            limits: view::limits(spec),
            identity: Identity { uid: spec.owner.uid, gid: spec.owner.gid },
            network: view::network(spec),
            requirement: view::requirement(spec),
        };
        start(request, Some(Duration::from_millis(spec.limits.wall_ms).saturating_add(REPORTING)))
    }
}

struct Request {
    program: OwnedFd,
    arguments: Vec<CString>,
    descriptors: Vec<OwnedFd>,
    view: View,
    limits: Limits,
    identity: Identity,
    network: Network,
    requirement: Requirement,
}

fn start(request: Request, lifetime: Option<Duration>) -> Result<Started, StartError> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| StartError::Channel(e.into()))?;
    let confined = spawn(Spec {
        executable: request.program,
        arguments: request.arguments,
        stdio: Stdio::default(),
        control: theirs,
        descriptors: request.descriptors,
        view: request.view,
        limits: request.limits,
        identity: request.identity,
        network: request.network,
        requirement: request.requirement,
        deadline: SEAL_DEADLINE,
        layers: Layers::all(),
    })?;
    let announced = confined.await_ready(ours.as_fd(), SEAL_DEADLINE)?;
    confined.attest()?;
    let mut enforcement = confined.enforcement().clone();
    enforcement.merge(announced);
    let deadline = lifetime.map(|span| Instant::now() + span);
    Ok(Started { child: Child { confined, deadline, timed_out: false }, channel: ours, enforcement })
}

/// How a child ended, as the monitor is told.
pub(crate) const fn exit(exit: Exit) -> (Option<i32>, Option<i32>) {
    match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    }
}

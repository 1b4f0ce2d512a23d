//! Starts a probe's process through the library, exactly as production does, and is that process up to the probe itself.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use countersign_sandbox::{
    Confined, Exit, Grant, Identity, Layer, Layers, Limits, Link, Network, Program, ProgramSeal, Requirement, Spec,
    Stdio, StepSeal, Variant, View, announce, launch, seal_planner, seal_step_init, spawn, system_folders,
};

use super::channel;
use super::harness::uid;
use super::playground::{MASKED, PROTECTED, WORKER};
use super::probe::{CHANNEL, World, text};
use super::sys::{call, inherited};

const DEADLINE: Duration = Duration::from_secs(30);
const MEBIBYTE: u64 = 1 << 20;
/// Exit codes of a step's init from here on say which signal ended the program.
const SIGNALLED: i32 = 128;
/// The variable that a program is given, so that an empty environment is not the only one that is tested.
pub(crate) const GIVEN_VARIABLE: &str = "PATH=/usr/bin:/bin";

/// The limits under which step probes run: small, so that a probe over a limit stays small too.
pub(crate) fn step_limits() -> Limits {
    Limits {
        address_space: Some(1024 * MEBIBYTE),
        cpu_seconds: 1,
        file_size: 64 * MEBIBYTE,
        open_files: 256,
        processes: 64,
        tree_memory: 256 * MEBIBYTE,
        tree_cpu_percent: 100,
    }
}

fn identity() -> Identity {
    if uid() == 0 { Identity { uid: WORKER, gid: WORKER } } else { Identity::own() }
}

/// A planner: sealed, attested, waiting for its first byte.
pub(crate) fn planner(program: &Path, layers: Layers, ours: &UnixStream, theirs: UnixStream) -> Result<Confined> {
    let child = unattested_planner(program, layers, layers, ours, theirs)?;
    child.attest().context("attestation")?;
    Ok(child)
}

/// A planner that has announced itself; `sealed` are the layers that it really seals itself with.
pub(crate) fn unattested_planner(
    program: &Path,
    layers: Layers,
    sealed: Layers,
    ours: &UnixStream,
    theirs: UnixStream,
) -> Result<Confined> {
    let spec = Spec {
        executable: File::open(program)?.into(),
        arguments: vec![text("escape"), text("--planner"), text(&encode(sealed))],
        stdio: Stdio::default(),
        control: theirs.into(),
        descriptors: Vec::new(),
        view: View::default(),
        limits: Limits::planner(),
        identity: identity(),
        network: Network::None,
        requirement: Requirement::Full,
        deadline: DEADLINE,
        layers,
    };
    start(spec, ours.as_fd())
}

/// A step's init that will run one program: the probe.
pub(crate) fn step(
    program: &Path,
    world: &World,
    variant: Variant,
    layers: Layers,
    request: &str,
    output: UnixStream,
) -> Result<Confined> {
    let mut view = step_view(program, world, variant)?;
    if !layers.contains(Layer::MountView) {
        // The library refuses what only a mount view can enforce.
        view.masked.clear();
        view.read_only.retain(|grant| !grant.path.ends_with(PROTECTED));
    }
    let (ours, theirs) = UnixStream::pair()?;
    let child = step_with(program, view, variant, layers, &ours, theirs, Some(output))?;
    child.attest().context("attestation")?;
    (&ours).write_all(format!("{}\n{request}\n", program.display()).as_bytes())?;
    Ok(child)
}

/// A step's init with this view, not attested.
pub(crate) fn step_with(
    program: &Path,
    view: View,
    variant: Variant,
    layers: Layers,
    ours: &UnixStream,
    theirs: UnixStream,
    output: Option<UnixStream>,
) -> Result<Confined> {
    let init =
        [c"escape".into(), c"--step-init".into(), text(StepSeal::Program(variant).argument()), text(&encode(layers))];
    let spec = Spec {
        executable: File::open(program)?.into(),
        arguments: init.to_vec(),
        stdio: Stdio { input: None, output: output.map(Into::into), error: None },
        control: theirs.into(),
        descriptors: Vec::new(),
        view,
        limits: step_limits(),
        identity: identity(),
        network: if variant == Variant::Toolchain { Network::Loopback } else { Network::None },
        requirement: Requirement::Full,
        deadline: DEADLINE,
        layers,
    };
    start(spec, ours.as_fd())
}

/// The view of a step: its program, the loader with the C library (so that running something by the loader is tried where
/// there is one), a set-user-id program, and one work folder.
pub(crate) fn step_view(program: &Path, world: &World, variant: Variant) -> Result<View> {
    let base = PathBuf::from(&world.base);
    let mut executable = vec![Grant::identified(program)?, Grant::identified(base.join("bin/dynamic"))?];
    let setuid = base.join("bin/setuid");
    if setuid.exists() {
        executable.push(Grant::of(setuid));
    }
    let mut links = Vec::new();
    let mut read_only = vec![Grant::identified(base.join(PROTECTED))?];
    if variant == Variant::Toolchain {
        let (folders, files, folder_links) = system_folders();
        executable.extend(folders);
        read_only.extend(files);
        links.extend(folder_links);
    } else {
        let loader = PathBuf::from(&world.loader);
        let library = loader.with_file_name("libc.so.6");
        for file in [loader, library] {
            if file.exists() {
                executable.push(Grant::of(fs::canonicalize(file)?));
            }
        }
        for path in ["/lib", "/lib64"] {
            if let Ok(target) = fs::read_link(path) {
                links.push(Link { path: path.into(), target });
            }
        }
    }
    Ok(View {
        read_only,
        executable,
        read_write: vec![Grant::identified(base.join("work"))?],
        links,
        masked: vec![base.join(MASKED)],
        private_tmp_bytes: 64 * MEBIBYTE,
        proc: true,
        dev: true,
        cwd: base.join("work"),
        noexec_work: variant == Variant::Exact,
    })
}

fn start(spec: Spec, control: BorrowedFd<'_>) -> Result<Confined> {
    let child = spawn(spec).context("spawn")?;
    child.await_ready(control, DEADLINE).context("announcement")?;
    Ok(child)
}

/// A set of layers as the numbers of its members.
fn encode(layers: Layers) -> String {
    let numbers: Vec<String> = Layer::ALL
        .iter()
        .enumerate()
        .filter(|(_, layer)| layers.contains(**layer))
        .map(|(number, _)| number.to_string())
        .collect();
    numbers.join(",")
}

fn decode(text: &str) -> Result<Layers> {
    let mut layers = Vec::new();
    for number in text.split(',').filter(|number| !number.is_empty()) {
        let number: usize = number.parse().context("layers")?;
        layers.push(*Layer::ALL.get(number).context("layers")?);
    }
    Ok(Layers::of(&layers))
}

/// Main of a planner: seals itself, announces that, and waits to be told what to try. What follows the seal allocates a
/// little and reads; it opens nothing.
pub(crate) fn planner_main(layers: &str) -> Result<String> {
    let control = inherited(CHANNEL);
    let enforcement = seal_planner(decode(layers)?)?;
    announce(control, &enforcement)?;
    read_line()
}

/// Main of a step's init: seals itself, launches one program as production does, reaps whatever ends, and ends with it.
pub(crate) fn step_init_main(variant: &str, layers: &str) -> Result<i32> {
    const NOT_EXECUTED: i32 = 125;
    let layers = decode(layers)?;
    let role = StepSeal::from_argument(variant).context("variant")?;
    let StepSeal::Program(variant) = role else { return Err(anyhow!("not a program")) };
    let control = inherited(CHANNEL);
    let seal = ProgramSeal::prepare(variant)?;
    let enforcement = seal_step_init(role, layers)?;
    announce(control, &enforcement)?;
    let path = PathBuf::from(read_line()?);
    let request = text(&read_line()?);
    let [input, output, error] = [0, 1, 2].map(|fd| inherited(fd).try_clone_to_owned());
    let program = Program {
        path,
        arguments: vec![text("escape"), text("--step-probe"), request],
        environment: vec![text(GIVEN_VARIABLE)],
        cwd: None,
        input: input?,
        output: output?,
        error: error?,
    };
    let Ok(mut launched) = launch(program, &seal, layers) else { return Ok(NOT_EXECUTED) };
    // The harness waits for the end of the program's output.
    let _ = call!(SYS_close, 1);
    loop {
        channel::wait(&[launched.pidfd().as_raw_fd()], DEADLINE);
        match launched.reap()? {
            Some(Exit::Code(code)) => return Ok(code),
            Some(Exit::Signal(signal)) => return Ok(SIGNALLED + signal),
            None => {}
        }
    }
}

/// Which signal ended the program, by the exit code of its init.
pub(crate) fn signal_of(code: i32) -> Option<i32> {
    (SIGNALLED + 1..SIGNALLED + 65).contains(&code).then_some(code - SIGNALLED)
}

fn read_line() -> Result<String> {
    super::read_line(CHANNEL)
}

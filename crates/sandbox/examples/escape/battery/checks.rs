//! Attacks on the spawner rather than from inside: a child that is not what it claims to be must not be attested, and a file
//! that is not the one that was approved must not get into a view.

use std::fs;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, anyhow};
use countersign_sandbox::{Confined, Grant, Layer, Layers, StepSeal, Variant, View, attest};

use super::channel::listen;
use super::confine;
use super::harness::{ALL_GONE, PATIENCE};
use super::probe::World;
use super::survivors;

/// The result of one check.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// Its id.
    pub(crate) id: String,
    /// What is tried.
    pub(crate) tries: String,
    /// What the library said.
    pub(crate) seen: String,
    /// Whether the attempt was refused.
    pub(crate) refused: bool,
}

impl Check {
    fn of<T>(id: String, tries: String, attempt: Result<T>) -> Self {
        match attempt {
            Ok(_) => Self { id, tries, seen: "accepted".to_owned(), refused: false },
            Err(error) => Self { id, tries, seen: error.root_cause().to_string(), refused: true },
        }
    }
}

/// What attestation can see from outside. Limits, control groups and Landlock are no child's to skip: the spawner's own code
/// enters them before `exec`, and `/proc` has no line for the last.
const VISIBLE: [Layer; 13] = [
    Layer::Descriptors,
    Layer::Environment,
    Layer::Session,
    Layer::NoNewPrivileges,
    Layer::Capabilities,
    Layer::UserNamespace,
    Layer::MountView,
    Layer::ProcessNamespace,
    Layer::NetworkNamespace,
    Layer::IpcNamespace,
    Layer::HostNamespace,
    Layer::CgroupNamespace,
    Layer::Seccomp,
];

/// Planners that lack a layer, held against the promise of all layers.
pub(crate) fn attestation(program: &Path) -> Result<Vec<Check>> {
    let all = Layers::all();
    let (honest, channel) = planner(program, all, all)?;
    let promise = honest.expectation();
    let judge = |child: Result<(Confined, UnixStream)>| {
        let (child, _channel) = child?;
        attest(child.pid(), &promise).map_err(|error| anyhow!("{error}"))
    };
    let mut checks = vec![Check::of(
        "a0".to_owned(),
        "CONTROL: all layers, attested for all layers".to_owned(),
        judge(Ok((honest, channel))),
    )];
    for (number, layer) in VISIBLE.into_iter().enumerate() {
        let fewer = all.without(layer);
        let tries = format!("a planner spawned and sealed without {layer:?}, attested for all layers");
        checks.push(Check::of(format!("a{}", number + 1), tries, judge(planner(program, fewer, fewer))));
    }
    let tries = "a planner that leaves out its own seccomp filter and announces itself all the same";
    checks.push(Check::of(
        "a14".to_owned(),
        tries.to_owned(),
        judge(planner(program, all, all.without(Layer::Seccomp))),
    ));
    Ok(checks)
}

fn planner(program: &Path, layers: Layers, sealed: Layers) -> Result<(Confined, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((confine::unattested_planner(program, layers, sealed, &ours, theirs)?, ours))
}

/// Views whose files were swapped after they were approved.
pub(crate) fn swaps(program: &Path, world: &World) -> Result<Vec<Check>> {
    let base = Path::new(&world.base);
    let (work, aside, outside) = (base.join("work"), base.join("aside"), base.join("outside"));
    let listed = base.join("bin/dynamic");
    let view = || confine::step_view(program, world, Variant::Exact);
    let start = |view| -> Result<Confined> {
        let (ours, theirs) = UnixStream::pair()?;
        confine::step_with(program, view, Variant::Exact, Layers::all(), &ours, theirs, None)
    };
    let mut checks = Vec::new();
    let mut check = |id: &str, tries: &str, attempt: Result<Confined>| {
        checks.push(Check::of(id.to_owned(), tries.to_owned(), attempt.map(drop)));
    };
    check("b0", "CONTROL: nothing swapped", start(view()?));

    let approved = View { read_only: Vec::new(), masked: Vec::new(), ..view()? };
    fs::rename(&work, &aside)?;
    symlink(&outside, &work)?;
    check("b1", "the approved work folder is a symbolic link when the step starts", start(approved.clone()));
    fs::remove_file(&work)?;
    fs::create_dir(&work)?;
    check("b2", "the approved work folder is another folder when the step starts", start(approved));
    fs::remove_dir(&work)?;
    fs::rename(&aside, &work)?;

    let approved = view()?;
    let content = fs::read(&listed)?;
    fs::remove_file(&listed)?;
    fs::write(&listed, &content)?;
    check("b3", "a listed binary is another file with the same bytes when the step starts", start(approved));
    let mode = fs::metadata(program)?.permissions();
    fs::set_permissions(&listed, mode)?;

    let crossing = base.join("crossing");
    symlink(&work, &crossing)?;
    let mut approved = view()?;
    approved.read_only.push(Grant::of(crossing.join("made")));
    check("b4", "a granted path crosses a symbolic link", start(approved));
    let mut approved = view()?;
    approved.read_only.push(Grant::of(work.join("../exist")));
    check("b5", "a granted path has .. in it", start(approved));
    fs::remove_file(&crossing)?;
    let mut approved = view()?;
    approved.read_write.push(Grant::of("/proc"));
    check("b6", "the host's /proc is granted", start(approved));
    let mut approved = view()?;
    approved.read_write.push(Grant::of(base.join("socket")));
    check("b7", "a socket is granted", start(approved));
    let mut approved = view()?;
    approved.read_write.push(Grant::of("/dev/null"));
    check("b8", "a device is granted", start(approved));
    Ok(checks)
}

/// A step whose spawner is killed: nothing of it may live on.
pub(crate) fn orphans(program: &Path, world: &World, variant: Variant) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for (id, probe, what) in
        [("d1", "s108a", "children"), ("d2", "s108b", "daemons"), ("d3", "s109", "a process that is new every moment")]
    {
        let (ours, theirs) = UnixStream::pair()?;
        let request = format!("{probe} {}", world.encode());
        let mut spawner = Command::new(program)
            .args(["--spawner", StepSeal::Program(variant).argument(), &request])
            .stdin(Stdio::piped())
            .stdout(OwnedFd::from(theirs))
            .spawn()?;
        let started = listen(&ours, PATIENCE).report == Some(Ok(()));
        spawner.kill()?;
        spawner.wait()?;
        let gone = listen(&ours, ALL_GONE).closed;
        let left = survivors::find(&world.base)?;
        survivors::end(&left, Path::new(&world.base));
        let seen = format!("started: {started}, all ends of the channel closed: {gone}, survivors: {}", left.len());
        let refused = started && gone && left.is_empty();
        checks.push(Check {
            id: id.to_owned(),
            tries: format!("kill -9 of the spawner while a step has {what}"),
            seen,
            refused,
        });
    }
    Ok(checks)
}

/// A spawner with one step, until its input ends.
pub(crate) fn spawner_main(variant: &str, request: &str) -> Result<i32> {
    let Some(StepSeal::Program(variant)) = StepSeal::from_argument(variant) else { return Err(anyhow!("no program")) };
    let world = request.split_once(' ').and_then(|(_, world)| World::decode(world)).context("world")?;
    let program = Path::new(&world.base).join("bin/escape");
    let output = UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let _step = confine::step(&program, &world, variant, Layers::all(), request, output)?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(0)
}

impl Check {
    /// Whether it is the control, which must be accepted.
    pub(crate) fn control(&self) -> bool {
        self.tries.starts_with("CONTROL")
    }

    /// Whether it ended as it must.
    pub(crate) fn held(&self) -> bool {
        self.refused != self.control()
    }
}

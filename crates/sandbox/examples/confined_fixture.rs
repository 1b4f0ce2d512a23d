//! The confined program of the integration tests and benches, and the single-threaded spawner that starts it.
//!
//! `confined_fixture spawner` reads one scenario (JSON) on standard input, spawns itself confined, attests, sends the operations and prints the
//! outcome. `confined_fixture child ROLE LAYERS…` is the confined side: it seals itself, announces itself and carries the operations out.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test program: a failed expectation ends it visibly")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sandbox::{
    Confined, Enforcement, Exit, Expectation, Identity, Layer, Layers, Limits, Network, Program, ProgramSeal,
    Requirement, Spec, Stdio, StepSeal, View, announce, inherited, keep_spares, launch, seal_executor, seal_planner,
    seal_step_init, spawn,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit};
use serde::{Deserialize, Serialize};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the spawner is asked to do.
#[derive(Debug, Deserialize)]
struct Scenario {
    role: String,
    #[serde(default)]
    view: View,
    /// Layers that neither side applies.
    #[serde(default)]
    without: Vec<Layer>,
    /// Layers that only the child leaves out, though they are expected.
    #[serde(default)]
    skipped: Vec<Layer>,
    /// Attest against all layers, whatever was left out.
    #[serde(default)]
    expect_all: bool,
    #[serde(default)]
    identity: Option<Identity>,
    #[serde(default)]
    loopback: bool,
    #[serde(default)]
    no_user_namespaces: bool,
    #[serde(default)]
    limits: Option<Limits>,
    #[serde(default)]
    operations: Vec<Operation>,
    /// Kill it then, instead of waiting for answers.
    #[serde(default)]
    kill: Option<When>,
    /// Pass so many more descriptors on.
    #[serde(default)]
    extra: usize,
    /// Leave an inheritable descriptor open.
    #[serde(default)]
    leak: bool,
    /// Make everything with the child, nothing in advance as the zygote does.
    #[serde(default)]
    no_spares: bool,
    /// Spawn from a process that cannot be looked into, as the zygote is.
    #[serde(default)]
    not_dumpable: bool,
    /// Spawn under a filter of its own that somebody listens to.
    #[serde(default)]
    watched_already: bool,
    /// Spawn while `SIGCHLD` is ignored, as a careless parent leaves it.
    #[serde(default)]
    children_ignored: bool,
    /// Spawn with this hard limit of open files.
    #[serde(default)]
    open_files: Option<u64>,
    /// Start a thread before spawning.
    #[serde(default)]
    second_thread: bool,
    /// Do all of it so often; the last outcome counts.
    #[serde(default)]
    repeat: Option<u32>,
}

/// When a child is killed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    /// Whatever it is doing.
    AtOnce,
    /// Once it is held inside a forbidden call, which nobody has looked at yet.
    Held,
    /// Once this file exists.
    Exists(PathBuf),
}

/// What a confined child tries.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Read(PathBuf),
    Write(PathBuf, String),
    List(PathBuf),
    Mode(PathBuf),
    Rename(PathBuf, PathBuf),
    Chmod(PathBuf, u32),
    MakeDirectory(PathBuf),
    Environment,
    Cwd,
    Run(Vec<String>),
    Spin,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Outcome {
    refused: Option<String>,
    not_ready: Option<String>,
    not_attested: Option<String>,
    enforcement: Option<Enforcement>,
    absent: Vec<PathBuf>,
    descriptors: Vec<String>,
    /// For each operation: `Ok` text or `Err` message; shorter when the child died.
    answers: Vec<Result<String, String>>,
    exit: Option<Exit>,
    /// Name and number of the forbidden call.
    violation: Option<String>,
    pid: u32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    match words.as_slice() {
        ["spawner"] => spawner(),
        ["child", role, layers] => child(role, layers),
        ["noop"] => {}
        _ => println!("usage: confined_fixture spawner < SCENARIO"),
    }
}

fn layers_word(layers: Layers) -> String {
    serde_json::to_string(&layers.iter().collect::<Vec<_>>()).unwrap()
}

fn spawner() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let scenario: Scenario = serde_json::from_str(&text).unwrap();
    if !scenario.no_spares {
        keep_spares();
    }
    let mut outcome = Outcome::default();
    for _ in 0..scenario.repeat.unwrap_or(1) {
        outcome = Outcome::default();
        carry_out(&scenario, &mut outcome);
    }
    println!("{}", serde_json::to_string(&outcome).unwrap());
}

fn carry_out(scenario: &Scenario, outcome: &mut Outcome) {
    let leaked = scenario.leak.then(|| {
        // High, so that no descriptor a child gets by number takes its place.
        let leaked = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 60).unwrap();
        rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
        leaked
    });
    if scenario.not_dumpable {
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).unwrap();
    }
    if scenario.children_ignored {
        ignore_children();
    }
    if scenario.open_files.is_some() {
        let limit = Rlimit { current: scenario.open_files, maximum: scenario.open_files };
        rustix::process::setrlimit(Resource::Nofile, limit).unwrap();
    }
    if scenario.watched_already {
        listen_to_nothing();
    }
    if scenario.second_thread {
        std::thread::spawn(|| {
            loop {
                std::thread::park()
            }
        });
    }
    let without = |mut layers: Layers, list: &[Layer]| {
        for layer in list {
            layers = layers.without(*layer);
        }
        layers
    };
    let layers = without(Layers::all(), &scenario.without);
    let mut sealed = without(layers, &scenario.skipped);
    if scenario.no_user_namespaces {
        sealed = sealed.minus(Layers::NAMESPACES);
    }
    let (control, theirs) = UnixStream::pair().unwrap();
    let computing = matches!(scenario.role.as_str(), "planner" | "executor");
    let limits = match scenario.role.as_str() {
        "planner" | "executor" => Limits::planner(),
        "builtin" => Limits::builtin(),
        _ => Limits::program(),
    };
    let spec = Spec {
        executable: File::open("/proc/self/exe").unwrap().into(),
        arguments: ["fixture", "child", &scenario.role, &layers_word(sealed)]
            .map(|word| CString::new(word).unwrap())
            .into(),
        stdio: Stdio::default(),
        control: theirs.into(),
        descriptors: (0..scenario.extra).map(|_| File::open("/dev/zero").unwrap().into()).collect(),
        view: if computing { View::default() } else { scenario.view.clone() },
        limits: scenario.limits.clone().unwrap_or(limits),
        identity: scenario.identity.unwrap_or_else(|| match computing {
            true => Identity::of_nobody(File::open("/proc/self/exe").unwrap()),
            false => Identity::own(),
        }),
        network: if scenario.loopback { Network::Loopback } else { Network::None },
        requirement: if scenario.no_user_namespaces { Requirement::NoUserNamespaces } else { Requirement::Full },
        deadline: PATIENCE,
        layers,
    };
    let mut confined = match spawn(spec) {
        Ok(confined) => confined,
        Err(error) => {
            outcome.refused = Some(error.to_string());
            return;
        }
    };
    outcome.pid = confined.pid();
    outcome.absent = confined.absent_masks().to_vec();
    let mut enforcement = confined.enforcement().clone();
    match confined.await_ready(control.as_fd(), PATIENCE) {
        Ok(report) => enforcement.merge(report),
        Err(error) => {
            outcome.not_ready = Some(error.to_string());
            outcome.exit = confined.wait(Some(PATIENCE)).unwrap();
            return;
        }
    }
    let attested = if scenario.expect_all {
        let expectation = Expectation { layers: Layers::all(), bounding_set_empty: true, ..confined.expectation() };
        countersign_sandbox::attest(confined.pid(), &expectation)
    } else {
        confined.attest()
    };
    match attested {
        Ok(attestation) => outcome.descriptors = attestation.descriptors,
        Err(error) => outcome.not_attested = Some(error.to_string()),
    }
    outcome.enforcement = Some(enforcement);
    converse(control, &mut confined, scenario, outcome);
    drop(leaked);
    match &scenario.kill {
        None | Some(When::AtOnce) => {}
        Some(When::Held) => {
            let mut signs: Vec<PollFd<'_>> =
                confined.signs().map(|sign| PollFd::from_borrowed_fd(sign, PollFlags::IN)).collect();
            poll(&mut signs, None).unwrap();
        }
        Some(When::Exists(file)) => {
            while !file.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    outcome.exit = match scenario.kill {
        Some(_) => Some(confined.end().unwrap()),
        None => confined.wait(Some(PATIENCE)).unwrap(),
    };
    outcome.violation = confined.violation().map(|violation| violation.to_string());
}

#[expect(unsafe_code, reason = "no safe wrapper offers it")]
fn ignore_children() {
    // SAFETY: SIG_IGN is a valid disposition; no handler is replaced by code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Enters a filter that allows everything, and keeps its listener open.
#[expect(unsafe_code, reason = "the library installs no such filter")]
fn listen_to_nothing() {
    let allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: (&raw const allow).cast_mut() };
    rustix::thread::set_no_new_privs(true).unwrap();
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: program and instruction outlive the call, which only reads them.
    let listener =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    assert!(listener > 2, "{}", std::io::Error::last_os_error());
}

fn converse(mut control: UnixStream, confined: &mut Confined, scenario: &Scenario, outcome: &mut Outcome) {
    for operation in &scenario.operations {
        let mut request = serde_json::to_vec(operation).unwrap();
        request.push(b'\n');
        if control.write_all(&request).is_err() || scenario.kill.is_some() {
            std::mem::forget(control);
            return;
        }
        // As the zygote does: a child that is held in a forbidden call says nothing and ends only when it is looked after.
        while !readable(&control, confined) {
            if confined.wait(Some(Duration::ZERO)).unwrap().is_some() {
                return;
            }
        }
        let Some(line) = read_line(&mut control) else { return };
        outcome.answers.push(serde_json::from_str(&line).unwrap());
    }
}

/// Waits until the child says something or needs looking after; whether it says something.
fn readable(control: &UnixStream, confined: &Confined) -> bool {
    let mut ends = vec![PollFd::new(control, PollFlags::IN)];
    ends.extend(confined.signs().map(|sign| PollFd::from_borrowed_fd(sign, PollFlags::IN)));
    poll(&mut ends, None).unwrap();
    ends.first().is_some_and(|control| !control.revents().is_empty())
}

/// Byte by byte with plain `read`: the planner's list has no `recvmsg` and a buffered reader could swallow the next line.
fn read_line(stream: &mut impl std::io::Read) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).ok()? == 1 {
        if byte[0] == b'\n' {
            return Some(String::from_utf8(line).unwrap());
        }
        line.push(byte[0]);
    }
    None
}

/// Plain reads of the control socket.
struct Control(OwnedFd);

impl std::io::Read for Control {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(rustix::io::read(&self.0, buffer)?)
    }
}

fn child(role: &str, layers: &str) {
    let listed: Vec<Layer> = serde_json::from_str(layers).unwrap();
    let layers = Layers::of(&listed);
    let mut control = Control(inherited(3).unwrap());
    let enforcement = match role {
        "planner" => seal_planner(layers),
        "executor" => seal_executor(layers),
        "threaded" => {
            std::thread::spawn(|| {
                loop {
                    std::thread::park()
                }
            });
            Ok(Enforcement::default())
        }
        word => seal_step_init(StepSeal::from_argument(word).unwrap(), layers),
    };
    announce(control.0.as_fd(), &enforcement.unwrap()).unwrap();
    while let Some(line) = read_line(&mut control) {
        let operation: Operation = serde_json::from_str(&line).unwrap();
        let answer = attempt(role, layers, operation).map_err(|error| error.to_string());
        let mut text = serde_json::to_vec(&answer).unwrap();
        text.push(b'\n');
        rustix::io::write(&control.0, &text).unwrap();
    }
}

fn attempt(role: &str, layers: Layers, operation: Operation) -> std::io::Result<String> {
    let done = |()| String::from("done");
    match operation {
        Operation::Read(path) => fs::read_to_string(path),
        Operation::Write(path, text) => fs::write(path, text).map(done),
        Operation::List(path) => list(&path),
        Operation::Mode(path) => Ok(format!("{:o}", fs::symlink_metadata(path)?.permissions().mode() & 0o7777)),
        Operation::Rename(from, to) => fs::rename(from, to).map(done),
        Operation::Chmod(path, mode) => fs::set_permissions(path, fs::Permissions::from_mode(mode)).map(done),
        Operation::MakeDirectory(path) => fs::create_dir(path).map(done),
        Operation::Environment => Ok(std::env::vars().count().to_string()),
        Operation::Cwd => Ok(std::env::current_dir()?.display().to_string()),
        Operation::Run(arguments) => run(role, layers, &arguments),
        Operation::Spin => loop {
            std::hint::spin_loop();
        },
    }
}

fn list(folder: &Path) -> std::io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join(" "))
}

/// Runs a tool as a step's init does: pipes, seal, reap; gives its output, its errors and its end.
fn run(role: &str, layers: Layers, arguments: &[String]) -> std::io::Result<String> {
    let Some(StepSeal::Program(variant)) = StepSeal::from_argument(role) else {
        return Err(std::io::Error::other("this role runs no program"));
    };
    let seal = ProgramSeal::prepare(variant).map_err(std::io::Error::other)?;
    let (output, output_end) = std::io::pipe()?;
    let program = Program {
        path: arguments.first().map(PathBuf::from).unwrap_or_default(),
        arguments: arguments.iter().map(|word| CString::new(word.as_str()).unwrap()).collect(),
        environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C"]
            .map(|pair| CString::new(pair).unwrap())
            .into(),
        cwd: None,
        input: File::open("/dev/null")?.into(),
        error: output_end.try_clone()?.into(),
        output: output_end.into(),
    };
    let mut launched = launch(program, &seal, layers).map_err(std::io::Error::other)?;
    let mut text = String::new();
    let mut output = output;
    output.read_to_string(&mut text)?;
    loop {
        match launched.reap()? {
            Some(Exit::Code(0)) => return Ok(text),
            Some(end) => return Err(std::io::Error::other(format!("{end:?}: {text}"))),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

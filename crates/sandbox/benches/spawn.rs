//! What confinement costs, against its baselines in the same run.
//!
//! `cargo bench -p countersign-sandbox --bench spawn` prints medians and ratios. Variants take turns round by round, so that a busy neighbour hits all
//! of them alike; the ratios are what counts. The confined processes are this very binary, which seals itself as planner or step init.
//! As in the monitor, who spawns is a small process of its own: beside it stands, in one more row, a parent with 1 GiB of resident memory.
//! Exits with 1 where a target is missed: a sealed planner costs at most three times a plain exec and at most 2 ms, whatever the size of the
//! parent, a step at most twice a plain command and less than bubblewrap.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and a failed step ends it")]

use std::ffi::CString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio as StdStdio};
use std::time::{Duration, Instant};

use countersign_sandbox::{
    Exit, Grant, Identity, Layers, Limits, Link, Network, Program, ProgramSeal, Requirement, Spec, Stdio, StepSeal,
    Variant, View, announce, inherited, keep_spares, launch, seal_planner, seal_step_init, spawn,
};

const ROUNDS: usize = 300;
const WARM_UP: usize = 20;
/// What the step does: write a file, read it back.
const WORK: &str = "echo text > out && cat out";

/// What the large parent has resident.
const LARGE: usize = 1 << 30;
/// What is held to: ratio and microseconds of a planner, ratio of a step.
const PLANNER: (f64, f64) = (3.0, 2000.0);
const STEP: f64 = 2.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    match words.as_slice() {
        ["as-planner"] => planner(),
        ["as-step"] => step(),
        ["as-plain"] => announce_plain(),
        ["as-spawner"] => spawner(),
        ["as-large"] => large(),
        _ if !measure() => return ExitCode::FAILURE,
        _ => {}
    }
    ExitCode::SUCCESS
}

/// A small process that spawns a planner for each byte that it reads, and says how many nanoseconds that took: the zygote.
fn spawner() {
    keep_spares();
    let (mut asked, mut told) = (std::io::stdin(), std::io::stdout());
    while asked.read_exact(&mut [0; 1]).is_ok() {
        let nanos = u64::try_from(sealed_planner().as_nanos()).unwrap();
        told.write_all(&nanos.to_be_bytes()).unwrap();
        told.flush().unwrap();
    }
}

/// A large process, whose spawner was started first, as the monitor's is; passes on what that is asked and says.
fn large() {
    let mut small = Spawner::start("as-spawner");
    let mut memory = vec![0_u8; LARGE];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    let (mut asked, mut told) = (std::io::stdin(), std::io::stdout());
    while asked.read_exact(&mut [0; 1]).is_ok() {
        told.write_all(&small.ask()).unwrap();
        told.flush().unwrap();
    }
    assert!(std::hint::black_box(memory).len() == LARGE);
}

/// This binary as a spawner, or as a large process that has one.
struct Spawner {
    child: Child,
    ask: Option<ChildStdin>,
    tell: ChildStdout,
}

impl Spawner {
    fn start(word: &str) -> Self {
        let mut command = Command::new("/proc/self/exe");
        let mut child = command.arg(word).stdin(StdStdio::piped()).stdout(StdStdio::piped()).spawn().unwrap();
        let (ask, tell) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, ask, tell }
    }

    fn ask(&mut self) -> [u8; 8] {
        self.ask.as_mut().unwrap().write_all(b"p").unwrap();
        let mut nanos = [0; 8];
        self.tell.read_exact(&mut nanos).unwrap();
        nanos
    }

    fn planner(&mut self) -> Duration {
        Duration::from_nanos(u64::from_be_bytes(self.ask()))
    }

    /// Resident memory in MiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        drop(self.ask.take());
        self.child.wait().unwrap();
    }
}

/// Sealed, announced, then waiting for its end.
fn planner() {
    let control = inherited(3).unwrap();
    let enforcement = seal_planner(Layers::all()).unwrap();
    announce(control.as_fd(), &enforcement).unwrap();
    wait_for_end(&control);
}

/// The baseline: the same binary, executed and ready, without any layer.
fn announce_plain() {
    let mut output = std::io::stdout();
    output.write_all(b"r").unwrap();
    output.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn wait_for_end(control: &OwnedFd) {
    let mut byte = [0];
    while rustix::io::read(control, &mut byte).is_ok_and(|count| count > 0) {}
}

/// A step's init: seal, announce, wait for the start, run the tool, answer with its output.
fn step() {
    let control = inherited(3).unwrap();
    let seal = ProgramSeal::prepare(Variant::Toolchain).unwrap();
    let enforcement = seal_step_init(StepSeal::Program(Variant::Toolchain), Layers::all()).unwrap();
    announce(control.as_fd(), &enforcement).unwrap();
    rustix::io::read(&control, &mut [0; 1]).unwrap();
    let (mut output, end) = std::io::pipe().unwrap();
    let program = Program {
        path: PathBuf::from("/bin/sh"),
        arguments: ["sh", "-c", WORK].map(|word| CString::new(word).unwrap()).into(),
        environment: vec![CString::new("PATH=/usr/bin:/bin").unwrap()],
        cwd: None,
        input: File::open("/dev/null").unwrap().into(),
        error: end.try_clone().unwrap().into(),
        output: end.into(),
    };
    let mut launched = launch(program, &seal, Layers::all()).unwrap();
    let mut text = Vec::new();
    output.read_to_end(&mut text).unwrap();
    while launched.reap().unwrap().is_none() {
        rustix::thread::sched_yield();
    }
    rustix::io::write(&control, &text).unwrap();
}

fn spec(word: &str, control: OwnedFd, view: View, limits: Limits, network: Network) -> Spec {
    Spec {
        executable: File::open("/proc/self/exe").unwrap().into(),
        arguments: ["bench", word].map(|word| CString::new(word).unwrap()).into(),
        stdio: Stdio::default(),
        control,
        descriptors: Vec::new(),
        view,
        limits,
        identity: Identity::own(),
        network,
        requirement: Requirement::Full,
        deadline: Duration::from_secs(10),
        layers: Layers::all(),
    }
}

/// Spawn to attested.
fn sealed_planner() -> Duration {
    let start = Instant::now();
    let (control, theirs) = UnixStream::pair().unwrap();
    let confined = spawn(spec("as-planner", theirs.into(), View::default(), Limits::planner(), Network::None)).unwrap();
    confined.await_ready(control.as_fd(), Duration::from_secs(10)).unwrap();
    confined.attest().unwrap();
    let took = start.elapsed();
    drop(confined);
    took
}

/// Spawn to ready of the same binary with nothing around it.
fn plain_exec() -> Duration {
    let start = Instant::now();
    let mut child = Command::new("/proc/self/exe")
        .arg("as-plain")
        .stdin(StdStdio::piped())
        .stdout(StdStdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 1]).unwrap();
    let took = start.elapsed();
    drop(child.stdin.take());
    child.wait().unwrap();
    took
}

/// The smallest view in which a shell runs.
fn shell_view(work: &Path) -> View {
    let links = ["/bin", "/lib", "/lib64"].map(PathBuf::from).into_iter();
    let links = links.filter_map(|path| std::fs::read_link(&path).ok().map(|target| Link { path, target })).collect();
    View {
        executable: vec![Grant::of("/usr")],
        read_write: vec![Grant::of(work)],
        links,
        private_tmp_bytes: 64 << 20,
        proc: true,
        dev: true,
        cwd: work.into(),
        ..View::default()
    }
}

/// Spawn, seal, attest, run the shell, take its output, reap the tree.
fn confined_step(work: &Path, view: &View) -> Duration {
    let start = Instant::now();
    let (mut control, theirs) = UnixStream::pair().unwrap();
    let mut confined = spawn(spec("as-step", theirs.into(), view.clone(), Limits::program(), Network::None)).unwrap();
    confined.await_ready(control.as_fd(), Duration::from_secs(10)).unwrap();
    confined.attest().unwrap();
    control.write_all(b"g").unwrap();
    let mut text = String::new();
    control.read_to_string(&mut text).unwrap();
    let exit = confined.wait(None).unwrap();
    let took = start.elapsed();
    assert_eq!((text.as_str(), exit), ("text\n", Some(Exit::Code(0))));
    std::fs::remove_file(work.join("out")).unwrap();
    took
}

fn command(work: &Path, mut command: Command) -> Duration {
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    assert_eq!(output.stdout, b"text\n", "{output:?}");
    std::fs::remove_file(work.join("out")).unwrap();
    took
}

fn plain_command(work: &Path) -> Duration {
    let mut plain = Command::new("/bin/sh");
    plain.args(["-c", WORK]).current_dir(work).stdin(StdStdio::null());
    command(work, plain)
}

fn bubblewrap(work: &Path) -> Duration {
    let mut wrapped = Command::new("bwrap");
    wrapped.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/usr", "/usr"]);
    for path in ["/bin", "/lib", "/lib64"] {
        if let Ok(target) = std::fs::read_link(path) {
            wrapped.arg("--symlink").arg(target).arg(path);
        }
    }
    wrapped
        .args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind"])
        .arg(work)
        .arg(work)
        .arg("--chdir")
        .arg(work);
    wrapped.args(["/bin/sh", "-c", WORK]).stdin(StdStdio::null());
    command(work, wrapped)
}

/// Median and 90th percentile in microseconds.
fn summary(mut samples: Vec<Duration>) -> (f64, f64) {
    samples.sort_unstable();
    let at = |part: usize| samples.get(samples.len() * part / 100).copied().unwrap_or_default().as_secs_f64() * 1e6;
    (at(50), at(90))
}

/// Whether every target holds.
fn measure() -> bool {
    // As the zygote does; without the privilege it has no effect.
    keep_spares();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let work = folder.path();
    let view = shell_view(work);
    let wrapped = Command::new("bwrap").arg("--version").output().is_ok();
    let mut large = Spawner::start("as-large");
    let mut samples: [Vec<Duration>; 6] = Default::default();
    for round in 0..ROUNDS + WARM_UP {
        let taken = [
            Some(plain_exec()),
            Some(sealed_planner()),
            Some(large.planner()),
            Some(plain_command(work)),
            Some(confined_step(work, &view)),
            wrapped.then(|| bubblewrap(work)),
        ];
        for (all, took) in samples.iter_mut().zip(taken) {
            all.extend(took.filter(|_| round >= WARM_UP));
        }
    }
    let resident = large.resident();
    let [exec, planner, beside, plain, step, wrap] = samples.map(summary);
    println!("{ROUNDS} rounds, interleaved      median µs    p90 µs   ratio");
    let row = |name: &str, (median, p90): (f64, f64), base: f64| {
        println!("{name:<28} {median:>9.0} {p90:>9.0} {:>7.2}", median / base);
    };
    row("exec of the same binary", exec, exec.0);
    row("planner, sealed + attested", planner, exec.0);
    row(&format!("planner, parent of {resident} MiB"), beside, exec.0);
    println!("{:<28} {:>27.2}", "  over that of a small parent", beside.0 / planner.0);
    row("sh -c, plain Command", plain, plain.0);
    row("sh -c, full step sandbox", step, plain.0);
    if wrapped {
        row("sh -c, bubblewrap", wrap, plain.0);
    } else {
        println!("bubblewrap is not installed");
    }
    let cheap = |(median, _): (f64, f64)| median / exec.0 <= PLANNER.0 && median <= PLANNER.1;
    let targets = [
        ("a sealed planner", cheap(planner)),
        ("a sealed planner beside a large parent", cheap(beside) && resident >= 1024),
        ("a step", step.0 / plain.0 <= STEP),
        ("a step beside bubblewrap", !wrapped || step.0 < wrap.0),
    ];
    for (name, _) in targets.iter().filter(|(_, held)| !held) {
        println!("MISSED: {name}");
    }
    targets.iter().all(|(_, held)| *held)
}

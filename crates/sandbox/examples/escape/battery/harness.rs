//! Runs one probe in one setting, in a fresh process, and judges what happened from both sides.

use std::fmt;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use countersign_sandbox::{Confined, Exit, Layers, Variant, Violation};

use super::channel::{Heard, MOMENT, listen, listen_beside};
use super::checks::{self, Check};
use super::confine;
use super::doors::{Doors, leak};
use super::errno::Errno;
use super::playground::Playground;
use super::probe::{CHANNEL, Door, Effect, LEAKED_FILE, LEAKED_FOLDER, Probe, World};
use super::survivors;
use super::sys::call;
use super::victim::{State, Victim};

/// How long a probe may take; far more than any needs, for a machine that has other things to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long the end of a killed tree may take on a busy machine. Less than the half minute for which a survivor sleeps, or that would pass for gone.
pub(crate) const ALL_GONE: Duration = Duration::from_secs(10);

/// How long the end of a killed process may take to arrive.
const GRACE: Duration = Duration::from_millis(300);

const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2"];

/// Where a probe runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Setting {
    /// In a plain child process, as a planner would start without any of this.
    Outside,
    /// In a plain child process with a work folder, as a program would start.
    OutsideStep,
    /// In a process spawned and sealed as a planner, with these layers.
    Planner(Layers),
    /// In a program of a step, with these layers.
    Step(Variant, Layers),
}

/// What became of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It did what it tried.
    Worked,
    /// The kernel answered with an error.
    Stopped(Errno),
    /// A signal ended the process.
    Killed(i32),
    /// The filter held the process in this call until the spawner had killed it.
    Held(Violation),
    /// It was told that it worked, but nothing happened where the harness looks.
    NoEffect,
    /// Another program ran in its place and failed with this exit code.
    Failed(i32),
    /// The harness could not run it: never a pass.
    Broken(String),
}

impl Seen {
    /// Whether the attack came through.
    pub(crate) fn worked(&self) -> bool {
        matches!(self, Self::Worked)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worked => f.write_str("works"),
            Self::Stopped(errno) => errno.fmt(f),
            Self::Killed(libc::SIGSYS) => f.write_str("SIGSYS"),
            Self::Killed(libc::SIGXFSZ) => f.write_str("SIGXFSZ"),
            Self::Killed(libc::SIGXCPU) => f.write_str("SIGXCPU"),
            Self::Killed(libc::SIGKILL) => f.write_str("SIGKILL"),
            Self::Killed(libc::SIGSEGV) => f.write_str("SIGSEGV"),
            Self::Killed(signal) => write!(f, "signal {signal}"),
            Self::Held(violation) => match violation.name() {
                Some(name) => write!(f, "SIGSYS: {name}"),
                None => write!(f, "SIGSYS: call {}", violation.number),
            },
            Self::NoEffect => f.write_str("no effect"),
            Self::Failed(code) => write!(f, "exit code {code}"),
            Self::Broken(why) => write!(f, "BROKEN: {why}"),
        }
    }
}

/// How a probe's process ended.
enum Process {
    Plain(Child),
    Confined(Box<Confined>),
}

/// The harness: a world for the probes, and eyes on it.
#[derive(Debug)]
pub(crate) struct Harness {
    /// What the probes are told.
    pub(crate) world: World,
    program: PathBuf,
    doors: Doors,
    victim: Victim,
    playground: Playground,
    gaps: Vec<String>,
}

/// What is compared before and after a probe.
#[derive(Debug, PartialEq, Eq)]
enum Eye {
    Nothing,
    Name(Option<super::playground::Look>),
    Mounts(Vec<String>),
    Victim(State),
}

impl Harness {
    /// Opens the doors, leaks what is to be leaked, starts the victim.
    pub(crate) fn new(base: &Path, program: &Path) -> Result<Self> {
        hold_channel_number()?;
        let mut world = World { base: base.to_string_lossy().into_owned(), uid: uid(), ..World::default() };
        let playground = Playground::make(base, program, world.uid == 0)?;
        playground.reset()?;
        let doors = Doors::open(base, &mut world)?;
        let file = std::fs::File::open(base.join("exist"))?;
        leak(file.as_raw_fd(), LEAKED_FILE)?;
        let folder = std::fs::File::open(base)?;
        leak(folder.as_raw_fd(), LEAKED_FOLDER)?;
        world.host = std::fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
        let mut statfs = [0_u64; 15];
        call!(SYS_statfs, c"/", &mut statfs).map_err(|errno| anyhow!("statfs /: {errno}"))?;
        world.root_blocks = statfs.get(2).copied().unwrap_or(0);
        world.loader = LOADERS
            .iter()
            .find_map(|path| std::fs::canonicalize(path).ok())
            .map_or_else(|| "-".to_owned(), |path| path.to_string_lossy().into_owned());
        let program = base.join("bin/escape");
        let victim = Victim::start(&program)?;
        let mut harness = Self { world, program, doors, victim, playground, gaps: Vec::new() };
        harness.introduce();
        Ok(harness)
    }

    fn introduce(&mut self) {
        self.world.victim = self.victim.pid();
        self.world.canary = self.victim.canary;
    }

    /// Attacks on the spawner of a planner.
    pub(crate) fn check_attestation(&self) -> Result<Vec<Check>> {
        checks::attestation(&self.program)
    }

    /// Attacks on the spawner of a step.
    pub(crate) fn check_step(&self, variant: Variant) -> Result<Vec<Check>> {
        self.playground.reset()?;
        let mut checks = checks::swaps(&self.program, &self.world)?;
        self.playground.reset()?;
        checks.extend(checks::orphans(&self.program, &self.world, variant)?);
        Ok(checks)
    }

    /// What the sandbox could not enforce on this machine, by its own account.
    pub(crate) fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// Runs one probe in one setting.
    pub(crate) fn run(&mut self, probe: &Probe, setting: Setting) -> Seen {
        self.attempt(probe, setting).unwrap_or_else(|error| Seen::Broken(format!("{error:#}")))
    }

    fn attempt(&mut self, probe: &Probe, setting: Setting) -> Result<Seen> {
        if matches!(probe.effect, Effect::Signal | Effect::Victim | Effect::Death) || !self.victim.alive() {
            self.victim = Victim::start(&self.program)?;
            self.introduce();
        }
        self.playground.reset()?;
        self.doors.drain();
        for leaked in [LEAKED_FILE, LEAKED_FOLDER] {
            let _ = call!(SYS_lseek, leaked, 0, libc::SEEK_SET);
        }
        let before = self.look(probe.effect)?;
        let (ours, theirs) = UnixStream::pair()?;
        call!(SYS_setsockopt, ours.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PASSCRED, &[1], 4)
            .map_err(|errno| anyhow!("ask for credentials: {errno}"))?;
        let mut process = self.start(probe, setting, &ours, theirs)?;
        let heard = listen_beside(&ours, PATIENCE, &mut |channel| process.tend(channel));
        if heard.report.is_none() && !heard.closed {
            process.kill();
            return Err(anyhow!("no report and no end within {PATIENCE:?}"));
        }
        if probe.effect == Effect::Survivors {
            process.kill();
            // One that is a new process every moment is in no list, but holds the channel. Inside, where none may be left, a busy machine gets
            // all the time that it needs to close it.
            let patience = if matches!(process, Process::Plain(_)) { GRACE } else { ALL_GONE };
            let held = !listen(&ours, patience).closed;
            let left = survivors::find(&self.world.base)?;
            survivors::end(&left, Path::new(&self.world.base));
            if held {
                listen(&ours, PATIENCE);
            }
            return Ok(if held || !left.is_empty() { Seen::Worked } else { Seen::NoEffect });
        }
        let _ = (&ours).write_all(b".");
        let _ = ours.shutdown(std::net::Shutdown::Write);
        let exit = process.wait()?;
        let effect = self.effect(probe.effect, &before, &heard, exit)?;
        Ok(match (judge(probe.effect, effect, heard.report, exit), process.violation()) {
            (Seen::Killed(libc::SIGSYS), Some(violation)) => Seen::Held(violation),
            (seen, _) => seen,
        })
    }

    fn start(&mut self, probe: &Probe, setting: Setting, ours: &UnixStream, theirs: UnixStream) -> Result<Process> {
        let request = format!("{} {}", probe.id, self.world.encode());
        match setting {
            Setting::Outside => {
                leak(theirs.as_raw_fd(), CHANNEL)?;
                drop(theirs);
                let child = Command::new(&self.program).arg("--outside").spawn().context("start the probe")?;
                hold_channel_number()?;
                (&*ours).write_all(format!("{request}\n").as_bytes())?;
                Ok(Process::Plain(child))
            }
            Setting::OutsideStep => {
                let child = Command::new(&self.program)
                    .args(["--step-probe", &request])
                    .current_dir(Path::new(&self.world.base).join("work"))
                    .stdin(Stdio::null())
                    .stdout(OwnedFd::from(theirs))
                    .spawn()
                    .context("start the probe")?;
                Ok(Process::Plain(child))
            }
            Setting::Planner(layers) => {
                let child = confine::planner(&self.program, layers, ours, theirs)?;
                self.note(&child, layers);
                (&*ours).write_all(format!("{request}\n").as_bytes())?;
                Ok(Process::Confined(Box::new(child)))
            }
            Setting::Step(variant, layers) => {
                let child = confine::step(&self.program, &self.world, variant, layers, &request, theirs)?;
                self.note(&child, layers);
                Ok(Process::Confined(Box::new(child)))
            }
        }
    }

    fn note(&mut self, child: &Confined, layers: Layers) {
        if layers != Layers::all() {
            return;
        }
        for gap in &child.enforcement().gaps {
            let line = format!("{}: {}", gap.missing, gap.meaning);
            if !self.gaps.contains(&line) {
                self.gaps.push(line);
            }
        }
    }

    fn look(&mut self, effect: Effect) -> Result<Eye> {
        Ok(match effect {
            Effect::Changes(name) => Eye::Name(self.playground.look(name)),
            Effect::Mounts => Eye::Mounts(self.playground.mounts()),
            Effect::Signal | Effect::Victim => Eye::Victim(self.victim.state()?),
            _ => Eye::Nothing,
        })
    }

    /// `None` where the harness has nothing to look at.
    fn effect(&mut self, effect: Effect, before: &Eye, heard: &Heard, exit: Exit) -> Result<Option<bool>> {
        let claimed = heard.report == Some(Ok(()));
        Ok(Some(match effect {
            Effect::Report => return Ok(None),
            Effect::Changes(_) | Effect::Mounts | Effect::Victim => self.look(effect)? != *before,
            Effect::Mode(name) => self.playground.privileged(name),
            Effect::Larger(name) => self.playground.size(name) > super::confine::step_limits().file_size,
            Effect::Signal => match before {
                Eye::Victim(state) => self.victim.state()?.signals > state.signals,
                _ => false,
            },
            Effect::Arrives(Door::Channel) => heard.byte,
            Effect::Arrives(door) => self.doors.arrived(door, claimed),
            Effect::Exec => heard.report == Some(Ok(())) || (heard.report.is_none() && exit == Exit::Code(0)),
            Effect::Descriptor => heard.descriptor,
            Effect::Credentials => heard.credentials,
            Effect::Typed => self.doors.typed(),
            Effect::Death => {
                exit == Exit::Signal(libc::SIGKILL) || self.victim.dies(if claimed { GRACE } else { Duration::ZERO })
            }
            Effect::Survivors => false,
        }))
    }
}

fn judge(effect: Effect, seen: Option<bool>, report: Option<Result<(), Errno>>, exit: Exit) -> Seen {
    match (seen, report, exit) {
        (Some(true), _, _) | (None, Some(Ok(())), _) => Seen::Worked,
        (_, Some(Err(errno)), _) => Seen::Stopped(errno),
        (_, None, Exit::Signal(signal)) => Seen::Killed(signal),
        (Some(false), Some(Ok(())), _) => Seen::NoEffect,
        (_, None, Exit::Code(code)) if effect == Effect::Exec && code != 0 && code != i32::from(super::BROKEN) => {
            Seen::Failed(code)
        }
        (_, None, Exit::Code(code)) => Seen::Broken(format!("no report, exit code {code}, effect {effect:?}")),
    }
}

impl Process {
    fn wait(&mut self) -> Result<Exit> {
        match self {
            Self::Confined(child) => match child.wait(Some(PATIENCE)).context("wait for the confined probe")? {
                Some(Exit::Code(code)) => Ok(confine::signal_of(code).map_or(Exit::Code(code), Exit::Signal)),
                Some(exit) => Ok(exit),
                None => {
                    self.kill();
                    Err(anyhow!("reported, but did not end within {PATIENCE:?}"))
                }
            },
            Self::Plain(child) => {
                let until = Instant::now() + PATIENCE;
                while Instant::now() < until {
                    if let Some(status) = child.try_wait()? {
                        return Ok(status
                            .signal()
                            .map_or_else(|| Exit::Code(status.code().unwrap_or(-1)), Exit::Signal));
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
                self.kill();
                Err(anyhow!("reported, but did not end within {PATIENCE:?}"))
            }
        }
    }

    /// Waits a moment for the channel, and does what a spawner does: kills a child that is held in a forbidden call.
    fn tend(&mut self, channel: i32) {
        if let Self::Confined(child) = self {
            let fds: Vec<i32> = std::iter::once(channel).chain(child.signs().map(|sign| sign.as_raw_fd())).collect();
            super::channel::wait(&fds, MOMENT);
            // An error here is one there.
            let _ = child.wait(Some(Duration::ZERO));
        }
    }

    fn violation(&self) -> Option<Violation> {
        match self {
            Self::Confined(child) => child.violation(),
            Self::Plain(_) => None,
        }
    }

    fn kill(&mut self) {
        match self {
            Self::Confined(child) => {
                let _ = child.end();
            }
            Self::Plain(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// The harness's user.
pub(crate) fn uid() -> u32 {
    call!(SYS_geteuid).ok().and_then(|uid| u32::try_from(uid).ok()).unwrap_or(u32::MAX)
}

/// Keeps descriptor 3 taken, so that nothing of the harness's own gets this number and is overwritten by a probe's channel.
fn hold_channel_number() -> Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    if null.as_raw_fd() == CHANNEL {
        std::mem::forget(null);
        return Ok(());
    }
    leak(null.as_raw_fd(), CHANNEL)
}

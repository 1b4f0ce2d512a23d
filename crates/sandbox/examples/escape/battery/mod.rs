//! The escape battery: probes as data, the process that runs one, and the harness that runs all and judges them.
//!
//! One static program plays every part, chosen by its first argument: the harness, its victim, the unsandboxed probe, the
//! sealed planner, the init of a step, and the program in that step. So the binary that attacks is the one that was sealed.

mod channel;
mod checks;
mod code;
mod confine;
mod doors;
mod errno;
mod front;
mod harness;
mod planner;
mod playground;
mod probe;
mod scan;
mod socket;
mod step;
mod survivors;
mod sys;
mod table;
mod victim;

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, anyhow};

use self::channel::report;
use self::errno::Errno;
use self::probe::{CHANNEL, Effect, LEAKED_VARIABLE, Probe, World};
use self::sys::call;

pub(crate) use self::front::run;

const STDOUT: i32 = 1;
const SECRET: &str = "the-leaked-secret";

/// Plays a part other than the harness, if the arguments name one. `None`: the caller is the front door.
fn part(arguments: &[String]) -> Option<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *words.as_slice() {
        ["--victim"] => victim::main().map(|()| 0),
        ["--nothing"] => Ok(0),
        ["--say"] => say(CHANNEL),
        ["--say-root"] => say_root(),
        ["--outside"] => read_line(CHANNEL).and_then(|request| attempt(CHANNEL, &request)),
        ["--planner", layers] => confine::planner_main(layers).and_then(|request| attempt(CHANNEL, &request)),
        ["--step-init", variant, layers] => confine::step_init_main(variant, layers),
        ["--spawner", variant, request] => checks::spawner_main(variant, request),
        ["--step-probe", request] => attempt(STDOUT, request),
        _ => return None,
    };
    match done {
        Ok(code) => Some(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "escape: {error:#}");
            Some(ExitCode::from(BROKEN))
        }
    }
}

/// Exit code of a part that could not play.
const BROKEN: u8 = 123;

/// Starts the harness as a process of its own: with a secret in its environment and the leader of a session, so that
/// it can have a controlling terminal. Gives its exit code.
fn in_own_session(arguments: &[String]) -> Result<ExitCode> {
    let program = std::env::current_exe().context("find this program")?;
    let status =
        Command::new(program).arg0("escape").arg("--harness").args(arguments).env(LEAKED_VARIABLE, SECRET).status()?;
    match status.code() {
        Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(BROKEN))),
        None => Err(anyhow!("the harness ended: {status}")),
    }
}

/// Below what the kernel allows, so that a probe has something to raise.
const OPEN_FILES: u64 = 4096;

/// Makes this process the leader of a new session, and lets it die with its parent.
fn lead_session() -> Result<()> {
    call!(SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0)
        .map_err(|errno| anyhow!("parent-death signal: {errno}"))?;
    let limit = [OPEN_FILES; 2];
    call!(SYS_prlimit64, 0, libc::RLIMIT_NOFILE as i32, &limit, sys::Address(0))
        .map_err(|errno| anyhow!("open files: {errno}"))?;
    call!(SYS_setsid).map(drop).map_err(|errno| anyhow!("new session: {errno}"))
}

/// Runs the requested probe and reports. The channel then says when to end, so that the harness can look while the probe lives.
fn attempt(fd: i32, request: &str) -> Result<i32> {
    let (id, world) = request.split_once(' ').context("request")?;
    let world = World::decode(world).context("world")?;
    let probe = find(id).with_context(|| format!("no probe {id}"))?;
    let line = report((probe.run)(&world));
    let _ = call!(SYS_write, fd, line.as_bytes(), line.len());
    if fd == CHANNEL {
        // Not by a blocking read: the kernel sends no SIGIO (probe 65) to one that already waits there.
        channel::wait(&[fd], harness::PATIENCE);
    }
    if probe.effect == Effect::Survivors {
        // Alive when the kill comes, so that it is the kill that ends the tree.
        let _ = call!(SYS_nanosleep, &[30_u64, 0], sys::Address(0));
    }
    Ok(0)
}

fn find(id: &str) -> Option<&'static Probe> {
    let all = planner::CLASSES.iter().chain(step::CLASSES);
    all.flat_map(|class| class.probes).find(|probe| probe.id == id)
}

fn say(fd: i32) -> Result<i32> {
    call!(SYS_write, fd, b"W\n", 2).map_err(|errno| anyhow!("report: {errno}"))?;
    Ok(0)
}

/// What a set-user-id program says: whether it is root.
fn say_root() -> Result<i32> {
    let line = if call!(SYS_geteuid) == Ok(0) { report(Ok(())) } else { report(Err(Errno(libc::EPERM))) };
    call!(SYS_write, STDOUT, line.as_bytes(), line.len()).map_err(|errno| anyhow!("report: {errno}"))?;
    Ok(0)
}

/// One line from a descriptor, without its end.
fn read_line(fd: i32) -> Result<String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0_u8; 1];
        match call!(SYS_read, fd, &mut byte, 1) {
            Ok(0) => return Err(anyhow!("the channel was closed")),
            Ok(_) if byte == *b"\n" => return String::from_utf8(line).context("request"),
            Ok(_) => line.extend_from_slice(&byte),
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(anyhow!("read the channel: {errno}")),
        }
    }
}

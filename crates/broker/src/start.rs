//! The start: an empty environment, no core dumps, the two descriptors, the first message and with it the confinement, then the
//! runtime.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;

use anyhow::{Context as _, bail};
use countersign_sandbox::inherited;
use countersign_wire::broker::ToBroker;
use countersign_wire::broker::to_broker::Kind;
use countersign_wire::frame::{self, FRAME_LIMIT, FrameError};
use rustix::process::DumpableBehavior;

use crate::configuration::{self, Configuration};
use crate::confine::{self, Needs};
use crate::secrets::{Environment, Value};
use crate::serve;

/// The socket to the monitor.
const MONITOR: u32 = 3;
/// The environment variables that the configuration names.
const VARIABLES: u32 = 4;
/// The most bytes of them.
const VARIABLES_LIMIT: u64 = 1 << 20;
/// Threads for the network; what they do is wait.
const THREADS: usize = 2;

/// Serves the monitor, or prints what `flag` asks for.
pub(crate) fn run(flag: Option<&str>) -> anyhow::Result<()> {
    match flag {
        None => serve_monitor(),
        Some("--schema") => print(&configuration::schema()?),
        Some("--variables") => {
            let mut bytes = Vec::new();
            std::io::stdin().take(VARIABLES_LIMIT).read_to_end(&mut bytes).context("standard input")?;
            let configuration = Configuration::read(&bytes)?;
            print(&configuration.variables().into_iter().map(|name| format!("{name}\n")).collect::<String>())
        }
        Some(_) => bail!("this program is started by countersignd; `--schema` prints the schema of its configuration"),
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("standard output")
}

fn serve_monitor() -> anyhow::Result<()> {
    if std::env::vars_os().next().is_some() {
        // Whoever starts this by hand has an environment: what runs from here on has none (lesson 3).
        let error = std::process::Command::new("/proc/self/exe").env_clear().exec();
        return Err(error).context("cannot start again without an environment");
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).context("cannot forbid core dumps")?;
    // No program that prints a secret becomes more than the broker is.
    rustix::thread::set_no_new_privs(true).context("cannot renounce privileges")?;
    let monitor = UnixStream::from(inherited(MONITOR).context("this program is started by countersignd")?);
    let environment = inherited(VARIABLES).ok().map(variables).transpose()?.unwrap_or_default();
    // What else a careless parent left open is nobody's here.
    for surplus in VARIABLES + 1..64 {
        drop(inherited(surplus));
    }
    let mut monitor = monitor;
    let first = match frame::read::<ToBroker>(&mut monitor, FRAME_LIMIT) {
        Ok(ToBroker { kind }) => kind.ok_or(FrameError::Unknown)?,
        Err(FrameError::Closed) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // Before any thread starts: it holds for all of them (lesson 4).
    let granted = match &first {
        Kind::Boot(boot) => Needs::of(boot),
        _ => Needs::default(),
    };
    confine::confine(&granted)?;
    monitor.set_nonblocking(true).context("the socket of the monitor")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(serve::serve(monitor, environment, granted, first))
}

/// Reads `NAME=value`, separated by NUL.
fn variables(descriptor: OwnedFd) -> anyhow::Result<Environment> {
    let mut bytes = zeroize::Zeroizing::new(Vec::new());
    let mut file = std::fs::File::from(descriptor);
    std::io::Seek::rewind(&mut file).context("descriptor 4")?;
    file.take(VARIABLES_LIMIT + 1).read_to_end(&mut bytes).context("descriptor 4")?;
    if bytes.len() as u64 > VARIABLES_LIMIT {
        bail!("descriptor 4 holds more than {VARIABLES_LIMIT} bytes");
    }
    let mut environment = Environment::new();
    for pair in bytes.split(|byte| *byte == 0).filter(|pair| !pair.is_empty()) {
        let at =
            pair.iter().position(|byte| *byte == b'=').context("descriptor 4 holds something that is no NAME=value")?;
        let (name, value) = pair.split_at(at);
        let name = std::str::from_utf8(name).context("descriptor 4")?.to_owned();
        environment.insert(name, Value::new(value.get(1..).unwrap_or_default().to_vec()));
    }
    Ok(environment)
}

//! Starting a monitor where none runs: with an empty environment, so that nothing of the caller reaches it (lesson 3). The
//! variables that the broker's configuration names go by descriptor, and no others.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::paths::{self, Paths};

/// How long a monitor may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How much of the log is shown when a monitor does not start.
const TAIL: u64 = 2 << 10;

/// Starts a monitor and tries until it answers.
pub(super) fn launch(
    paths: &Paths,
    mut attempt: impl FnMut() -> Result<Option<UnixStream>, Failure>,
) -> Result<UnixStream, Failure> {
    for folder in [&paths.config, &paths.state, &paths.runtime] {
        paths::private_folder(folder)?;
    }
    let log = paths.log();
    let mut child = spawn(paths, &log)?;
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(stream) = attempt()? {
            return Ok(stream);
        }
        // A monitor that ends well left the place to another one, which will answer.
        let ended = child.try_wait().map_err(|error| Failure::internal(format!("wait for the monitor: {error}")))?;
        if let Some(status) = ended.filter(|status| !status.success()) {
            return Err(not_started(&format!("it ended with {status}"), &log));
        }
        if begun.elapsed() > PATIENCE {
            return Err(not_started(&format!("it did not answer within {} s", PATIENCE.as_secs()), &log));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn spawn(paths: &Paths, log: &Path) -> Result<Child, Failure> {
    let program = paths::program("countersignd")?;
    let open = OpenOptions::new().create(true).append(true).mode(0o600).open(log);
    let open = open.map_err(|error| Failure::file(log, &error))?;
    let second = open.try_clone().map_err(|error| Failure::file(log, &error))?;
    let mut command = Command::new(&program);
    command.arg("--state").arg(&paths.state);
    command.arg("--runtime").arg(&paths.runtime);
    command.arg("--config").arg(&paths.config);
    let stdin = match variables(paths)? {
        Some(file) => {
            command.arg("--environment");
            Stdio::from(file)
        }
        None => Stdio::null(),
    };
    command.env_clear().current_dir("/").stdin(stdin).stdout(open).stderr(second);
    command.spawn().map_err(|error| Failure::internal(format!("start {}: {error}", program.display())))
}

/// The variables that the broker's configuration names, as a memory file that nobody can change: `NAME=value`, separated by NUL.
/// Which they are the broker's own program says; what is wrong with the configuration it says later.
fn variables(paths: &Paths) -> Result<Option<OwnedFd>, Failure> {
    let Ok(configuration) = File::open(paths.broker()) else { return Ok(None) };
    let Ok(program) = paths::program("countersign-broker") else { return Ok(None) };
    let mut command = Command::new(program);
    command.arg("--variables").env_clear().stdin(configuration).stderr(Stdio::null());
    let named = match command.output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(_) | Err(_) => return Ok(None),
    };
    let mut text = Zeroizing::new(Vec::new());
    for name in named.lines() {
        if let Some(value) = paths::variable(name) {
            text.extend_from_slice(name.as_bytes());
            text.push(b'=');
            text.extend_from_slice(value.as_encoded_bytes());
            text.push(0);
        }
    }
    if text.is_empty() {
        return Ok(None);
    }
    sealed(&text).map(Some).map_err(|error| Failure::internal(format!("variables for the broker: {error}")))
}

fn sealed(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(c"environment", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

fn not_started(why: &str, log: &Path) -> Failure {
    let tail = tail(log).unwrap_or_default();
    let shown = if tail.is_empty() { String::new() } else { format!("\nthe end of {}:\n{tail}", log.display()) };
    Failure::internal(format!("the monitor did not start: {why}{shown}"))
        .fix("`countersign doctor` says what this machine lacks")
}

fn tail(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

//! Sources on this machine: a private file, a program's output, the kernel's keyring. What they hold is overwritten when it is let go.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;
use std::time::Duration;

use linux_keyutils::{KeyRing, KeyRingIdentifier};
use rustix::fs::{Mode, OFlags};
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

use super::LONGEST;

/// How long a program may take.
const PROGRAM: Duration = Duration::from_secs(20);

/// The content of a file that only the broker's user, or root, can have written and nobody else can read.
pub(super) fn file(path: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    // A pipe must not hold the broker up, and a link may point anywhere.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(opened.map_err(|error| match error {
        rustix::io::Errno::LOOP => format!("{path} is a symbolic link: name the file itself"),
        rustix::io::Errno::ACCESS => unreadable(path),
        other => format!("{path}: {other}"),
    })?);
    let status = file.metadata().map_err(|error| format!("{path}: {error}"))?;
    if !status.is_file() {
        return Err(format!("{path} is no ordinary file"));
    }
    let owner = status.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(format!("{path} belongs to user {owner}: it has to be yours"));
    }
    if status.mode() & 0o077 != 0 {
        return Err(format!("{path} can be read or written by others (mode {:03o}): chmod 600", status.mode() & 0o777));
    }
    let mut content = Zeroizing::new(Vec::with_capacity(LONGEST + 2));
    let read = file.take(LONGEST as u64 + 2).read_to_end(&mut content);
    read.map_err(|error| format!("{path}: {error}"))?;
    trim(&mut content);
    Ok(content)
}

/// Why a file cannot be opened that the broker may see: it may be a folder, or another file than the one that was there when the
/// broker was confined to it.
fn unreadable(path: &str) -> String {
    match std::fs::symlink_metadata(path) {
        Ok(status) if !status.is_file() => format!("{path} is no ordinary file"),
        Ok(_) | Err(_) => format!(
            "{path} is not the broker's to read, or took the place of the file that the broker was started with: write into the file itself, or \
             end the broker, which is started again"
        ),
    }
}

/// What a program prints. It gets no environment, no input and no descriptor of ours.
pub(super) async fn program(argv: &[String]) -> Result<Zeroizing<Vec<u8>>, String> {
    let (program, arguments) = argv.split_first().ok_or("no program is named")?;
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).env_clear().current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let out = child.stdout.take().ok_or("no standard output")?;
    let run = async {
        let mut content = Zeroizing::new(Vec::with_capacity(LONGEST + 2));
        let read = out.take(LONGEST as u64 + 2).read_to_end(&mut content).await;
        read.map_err(|error| format!("{program}: {error}"))?;
        if content.len() > LONGEST + 1 {
            return Err(format!("{program} prints more than {LONGEST} bytes"));
        }
        let status = child.wait().await.map_err(|error| format!("{program}: {error}"))?;
        if status.success() { Ok(content) } else { Err(format!("{program}: {status}")) }
    };
    let outcome = tokio::time::timeout(PROGRAM, run).await;
    let mut content = outcome.map_err(|_| format!("{program} did not end within {} s", PROGRAM.as_secs()))??;
    trim(&mut content);
    Ok(content)
}

/// A key of type `user` that is described as `SERVICE:ACCOUNT`, in the session's keyring or the user's
/// (`keyctl padd user SERVICE:ACCOUNT @u`).
pub(super) fn keyring(service: &str, account: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let description = format!("{service}:{account}");
    let rings = [KeyRingIdentifier::Session, KeyRingIdentifier::User];
    let mut last = String::new();
    for ring in rings {
        let key = KeyRing::from_special_id(ring, false).and_then(|ring| ring.search(&description));
        match key.and_then(|key| key.read_to_vec()) {
            Ok(content) => return Ok(Zeroizing::new(content)),
            Err(error) => last = error.to_string(),
        }
    }
    Err(format!("no key `{description}` in the session's or the user's keyring: {last}"))
}

fn trim(content: &mut Vec<u8>) {
    if content.last() == Some(&b'\n') {
        content.pop();
        if content.last() == Some(&b'\r') {
            content.pop();
        }
    }
}

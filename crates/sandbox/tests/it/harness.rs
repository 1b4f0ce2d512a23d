//! Runs scenarios through the fixture, as root and as an ordinary user.

use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use countersign_sandbox::{Enforcement, Exit};
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

/// An id without an account: nothing on the system belongs to it.
pub(crate) const ORDINARY: u32 = 65533;

/// Who runs the spawner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    /// Whoever runs the tests.
    Own,
    /// [`ORDINARY`], which only root can become.
    Ordinary,
}

/// Both where possible.
pub(crate) fn everyone() -> Vec<As> {
    if rustix::process::geteuid().is_root() { vec![As::Own, As::Ordinary] } else { vec![As::Own] }
}

/// Whether whoever runs the tests may give a child other ids and namespaces, which is more than uid 0 (`capability.h`: SETGID, SETUID, SETPCAP, NET_ADMIN, SYS_ADMIN).
pub(crate) fn privileged() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    let held = u64::from_str_radix(line.trim(), 16).unwrap();
    [6, 7, 8, 12, 21].into_iter().all(|capability| held & (1 << capability) != 0)
}

#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) refused: Option<String>,
    pub(crate) not_ready: Option<String>,
    pub(crate) not_attested: Option<String>,
    pub(crate) enforcement: Option<Enforcement>,
    pub(crate) absent: Vec<PathBuf>,
    pub(crate) descriptors: Vec<String>,
    pub(crate) answers: Vec<Result<String, String>>,
    pub(crate) exit: Option<Exit>,
    pub(crate) violation: Option<String>,
}

impl Outcome {
    /// The child ran confined as promised and answered.
    pub(crate) fn good(self) -> Self {
        assert_eq!((&self.refused, &self.not_ready, &self.not_attested), (&None, &None, &None), "{self:#?}");
        self
    }

    pub(crate) fn answer(&self, position: usize) -> Result<&str, &str> {
        match self.answers.get(position) {
            Some(Ok(text)) => Ok(text),
            Some(Err(text)) => Err(text),
            None => panic!("no answer {position}: {self:#?}"),
        }
    }
}

/// The fixture by descriptor: the folder in which it was built may be closed to the ordinary user. The descriptor is meant to be inherited.
fn fixture() -> String {
    static FIXTURE: LazyLock<OwnedFd> = LazyLock::new(|| {
        let test = std::env::current_exe().unwrap();
        let path = test.parent().unwrap().parent().unwrap().join("examples/confined_fixture");
        rustix::fs::open(path, OFlags::PATH, Mode::empty()).unwrap()
    });
    format!("/proc/self/fd/{}", FIXTURE.as_raw_fd())
}

/// The spawner, not started yet.
pub(crate) fn command(who: As) -> Command {
    let mut command = Command::new(fixture());
    command.arg("spawner");
    prepare(command, who)
}

/// The spawner inside a user namespace in which no further one can be made.
pub(crate) fn command_without_namespaces(who: As) -> Command {
    let mut command = Command::new("unshare");
    let line = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" spawner";
    command.args(["--user", "--map-root-user", "sh", "-c", line]).arg(fixture());
    prepare(command, who)
}

fn prepare(mut command: Command, who: As) -> Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env("COUNTERSIGN_TEST_SECRET", "do not pass on").env("RUST_BACKTRACE", "0");
    if who == As::Ordinary {
        command.uid(ORDINARY).gid(ORDINARY);
    }
    command
}

pub(crate) fn run(who: As, scenario: &Value) -> Outcome {
    run_in(command(who), scenario)
}

pub(crate) fn run_in(mut command: Command, scenario: &Value) -> Outcome {
    let mut spawner = command.spawn().unwrap();
    spawner.stdin.take().unwrap().write_all(scenario.to_string().as_bytes()).unwrap();
    let output = spawner.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{scenario}: {error}: {output:?}"))
}

/// A folder that the scenario's spawner owns.
pub(crate) struct Work {
    folder: tempfile::TempDir,
}

impl Work {
    pub(crate) fn new(who: As) -> Self {
        let work = Self { folder: tempfile::tempdir_in("/var/tmp").unwrap() };
        work.own(who, work.path());
        work
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn file(&self, who: As, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        let parent = path.parent().unwrap();
        if !parent.exists() {
            std::fs::create_dir_all(parent).unwrap();
            for folder in parent.ancestors().take_while(|folder| *folder != self.path()) {
                self.own(who, folder);
            }
        }
        std::fs::write(&path, text).unwrap();
        self.own(who, &path);
        path
    }

    fn own(&self, who: As, path: &Path) {
        if who == As::Ordinary {
            std::os::unix::fs::chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
    }
}

pub(crate) fn grant(path: impl AsRef<Path>) -> Value {
    json!({ "path": path.as_ref() })
}

/// A view with the system folders, as the profile `toolchain` has it.
pub(crate) fn toolchain(work: &Path) -> Value {
    let (executable, read_only, links) = countersign_sandbox::system_folders();
    json!({
        "executable": executable, "read_only": read_only, "links": links, "read_write": [grant(work)],
        "private_tmp_bytes": 64 << 20, "proc": true, "dev": true, "cwd": work,
    })
}

/// Tells a helper thread to stop, also when the test fails.
#[derive(Default)]
pub(crate) struct Stop(std::sync::atomic::AtomicBool);

impl Stop {
    pub(crate) fn now(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn at_end(&self) -> impl Drop {
        struct AtEnd<'a>(&'a Stop);
        impl Drop for AtEnd<'_> {
            fn drop(&mut self) {
                self.0.0.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        AtEnd(self)
    }
}

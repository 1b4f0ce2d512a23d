//! What this machine can enforce, in words for its user (`countersign doctor`).
//!
//! Every line comes from trying, not from version numbers: a container's filter or a distribution's switch can take away what the kernel has.

use std::io;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use serde::{Deserialize, Serialize};

use std::os::fd::AsFd as _;

use crate::cgroup::Delegation;
use crate::enforcement::Level;
use crate::landlock;
use crate::sys::{self, CloneRequest, Forked};

/// One feature of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The feature, for example `landlock`.
    pub feature: String,
    /// Whether it can be used here.
    pub available: bool,
    /// What was found, for example `ABI 7`.
    pub found: String,
    /// What that means for the user.
    pub meaning: String,
}

/// All findings, and the highest level that can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// One line per feature.
    pub findings: Vec<Finding>,
    /// The highest level that can be reached here.
    pub level: Level,
}

/// What a feature is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Without it nothing runs.
    Always,
    /// Without it only built-in file tools run.
    Programs,
    /// Without it some limits or conveniences are missing.
    Extra,
}

/// Looks at the machine. Starts one short-lived child, to try the namespaces.
#[must_use]
pub fn probe() -> Probe {
    let checks = [
        (
            Need::Always,
            "landlock",
            landlock::abi().map(|abi| format!("ABI {abi}")).map_err(|error| error.to_string()),
            "confines files by rule, a second fence behind the mount view",
        ),
        (
            Need::Always,
            "seccomp",
            sys::seccomp_can_kill().map(|()| String::from("filters that end the process")).map_err(refusal),
            "keeps all but the listed system calls out of reach",
        ),
        (
            Need::Always,
            "openat2",
            openat2().map(|()| String::from("links refused in every component")).map_err(refusal),
            "opens what was approved and nothing that was swapped in",
        ),
        (
            Need::Programs,
            "namespaces",
            namespaces().map(|()| String::from("user, mount, process, network, IPC, host name, cgroup")).map_err(|error| {
                format!(
                    "{error}; see user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns and the container's seccomp profile"
                )
            }),
            "gives a step a view of exactly the granted files, no network, and a death that takes the whole tree along",
        ),
        (
            Need::Programs,
            "mount_setattr",
            sys::mount_calls_exist().map(|()| String::from("recursive mount attributes")).map_err(refusal),
            "makes granted folders read-only together with what is mounted in them",
        ),
        (
            Need::Extra,
            "cgroup",
            Delegation::of_this_process()
                .map(|_| String::from("memory, pids and cpu are delegated"))
                .map_err(|gap| gap.missing.clone()),
            "limits memory, processes and CPU over a whole step; without it the limits hold per process",
        ),
        (
            Need::Extra,
            "overlay",
            overlay().map(|()| String::from("known to the kernel")).map_err(refusal),
            "lets a step be rehearsed on a copy-on-write layer",
        ),
    ];
    let mut level = Level::Full;
    let mut findings = Vec::new();
    for (need, feature, found, purpose) in checks {
        let available = found.is_ok();
        let (lowered, consequence) = match need {
            Need::Always => (Level::Insufficient, "nothing runs without it"),
            Need::Programs => {
                (Level::NoUserns, "only built-in file tools can run without it (`sandbox.minimum: no_userns`)")
            }
            Need::Extra => (Level::Full, "everything runs without it"),
        };
        if !available {
            level = level.min(lowered);
        }
        let meaning = if available { purpose.to_owned() } else { format!("{purpose}; {consequence}") };
        let found = found.unwrap_or_else(|error| error);
        findings.push(Finding { feature: feature.to_owned(), available, found, meaning });
    }
    Probe { findings, level }
}

fn refusal(error: impl Into<io::Error>) -> String {
    error.into().to_string()
}

fn openat2() -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, c"/", flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).map(drop)
}

fn overlay() -> io::Result<()> {
    let known = std::fs::read_to_string("/proc/filesystems")?;
    let listed = known.lines().any(|line| line.ends_with("\toverlay"));
    if listed { Ok(()) } else { Err(io::Error::other("not in /proc/filesystems")) }
}

/// A child in all namespaces that tries its rights over the mounts and ends. Distributions that restrict user namespaces let
/// them be created and then refuse every use.
pub(crate) fn namespaces() -> io::Result<()> {
    let all = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    sys::wait_for_children()?;
    match sys::clone_process(CloneRequest { namespaces: u64::from(all.cast_unsigned()), cgroup: None })? {
        Forked::Child => {
            let tried = mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC);
            sys::exit_now(tried.err().map_or(0, rustix::io::Errno::raw_os_error))
        }
        Forked::Parent { pidfd, .. } => loop {
            match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
                Ok(status) => {
                    return match status.and_then(|status| status.exit_status()) {
                        Some(0) => Ok(()),
                        Some(errno) => Err(io::Error::from_raw_os_error(errno)),
                        None => Err(io::Error::other("the child was killed")),
                    };
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other tests of this crate need every layer, so where they pass the probe must say so.
    #[test]
    fn this_machine_reaches_the_full_level_and_every_finding_says_what_it_means() {
        let probe = probe();
        assert_eq!(probe.level, Level::Full, "{probe:#?}");
        for finding in &probe.findings {
            assert!(!finding.found.is_empty() && finding.meaning.len() > 20, "{finding:?}");
        }
        let cgroup = probe.findings.iter().find(|finding| finding.feature == "cgroup").unwrap();
        assert_eq!(cgroup.available, Delegation::of_this_process().is_ok());
    }
}

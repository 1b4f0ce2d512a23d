//! One fresh control group (v2) per child, where the memory, pids and cpu controllers are delegated to the spawner.
//!
//! Fresh each time: after one `cgroup.kill` a group kills every later child that is cloned into it (SANDBOX §0.9).

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, Mode, OFlags};

use crate::enforcement::Gap;
use crate::limits::Limits;

/// The controllers without which a group limits nothing.
const NEEDED: [&str; 3] = ["memory", "pids", "cpu"];

/// A control group below which groups for children can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delegation {
    folder: PathBuf,
}

/// The group of one child. Dropping it removes the folder, which works once the tree is gone.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    handle: OwnedFd,
}

impl Delegation {
    /// The delegation of this process, looked for once: reading the mount table for every child would cost as much as its Landlock rules.
    ///
    /// # Errors
    /// The gap to report: which part is missing and what that means.
    pub(crate) fn of_this_process() -> Result<&'static Self, &'static Gap> {
        static FOUND: OnceLock<Result<Delegation, Gap>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    /// Finds the process's own group and checks that its controllers can be handed down.
    fn find() -> Result<Self, Gap> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|error| gap(&error.to_string()))?;
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| gap(&error.to_string()))?;
        let mount = mount_point(&mounts).ok_or_else(|| gap("no cgroup v2 hierarchy is mounted"))?;
        let path = own_path(&own).ok_or_else(|| gap("this process is in no cgroup v2 group"))?;
        Self::at(mount.join(path.trim_start_matches('/')))
    }

    /// Checks one folder.
    fn at(folder: PathBuf) -> Result<Self, Gap> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| gap(&format!("{name}: {error}")));
        let offered = read("cgroup.controllers")?;
        let missing: Vec<&str> =
            NEEDED.into_iter().filter(|name| !offered.split_whitespace().any(|word| word == *name)).collect();
        if !missing.is_empty() {
            return Err(gap(&format!("no cgroup v2 controllers for {}", missing.join(", "))));
        }
        let handed_down = read("cgroup.subtree_control")?;
        if !NEEDED.into_iter().all(|name| handed_down.split_whitespace().any(|word| word == name)) {
            let all: Vec<String> = NEEDED.iter().map(|name| format!("+{name}")).collect();
            fs::write(folder.join("cgroup.subtree_control"), all.join(" ")).map_err(|error| {
                gap(&format!("the controllers of {} cannot be handed down ({error})", folder.display()))
            })?;
        }
        Ok(Self { folder })
    }

    /// Makes a group with limits.
    ///
    /// # Errors
    /// Whatever making the folder or writing its files gives; nothing is left then.
    pub(crate) fn group(&self, limits: &Limits) -> io::Result<Group> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("countersign-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, &folder, flags, Mode::empty())?;
        let group = Group { folder, handle };
        for (name, value) in settings(limits) {
            fs::write(group.folder.join(name), value)?;
        }
        Ok(group)
    }
}

impl Group {
    /// For `CLONE_INTO_CGROUP`.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Busy only if the tree outlived its init, which the process namespace excludes.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// File names and contents (`Documentation/admin-guide/cgroup-v2.rst`). `cpu.max` is microseconds per period of 100 ms.
fn settings(limits: &Limits) -> [(&'static str, String); 5] {
    [
        ("memory.max", limits.tree_memory.to_string()),
        ("memory.swap.max", String::from("0")),
        ("memory.oom.group", String::from("1")),
        // The init itself is a process too.
        ("pids.max", limits.processes.saturating_add(1).to_string()),
        ("cpu.max", format!("{} 100000", limits.tree_cpu_percent.saturating_mul(1000))),
    ]
}

fn gap(cause: &str) -> Gap {
    Gap {
        missing: format!("limits over the whole process tree: {cause}"),
        meaning: String::from(
            "memory and CPU limits hold for each process, not for their sum; they hold for the whole step where Countersign starts in a cgroup v2 folder of its own with the memory, pids and cpu controllers handed down",
        ),
    }
}

/// The mount point of the unified hierarchy in `/proc/self/mountinfo`.
fn mount_point(mounts: &str) -> Option<&Path> {
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let point = fields.split(' ').nth(4)?;
        kind.starts_with("cgroup2 ").then(|| Path::new(point))
    })
}

/// The path of the unified hierarchy in `/proc/self/cgroup`.
fn own_path(own: &str) -> Option<&str> {
    own.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;
    use crate::sys::{self, CloneRequest, Forked};

    const HYBRID: &str = "24 1 0:22 / /proc rw,relatime - proc proc rw\n\
        40 39 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
        41 39 0:36 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    fn folder(controllers: &str, handed_down: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), handed_down).unwrap();
        folder
    }

    #[test]
    fn the_unified_hierarchy_is_found_beside_version_one() {
        assert_eq!(mount_point(HYBRID), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("24 1 0:22 / /proc rw - proc proc rw\n"), None);
        assert_eq!(own_path("3:pids:/x\n0::/user.slice/a\n"), Some("/user.slice/a"));
    }

    #[test]
    fn missing_controllers_are_a_gap_that_names_them() {
        let here = folder("hugetlb pids\n", "");
        let gap = Delegation::at(here.path().into()).unwrap_err();
        assert!(gap.missing.contains("memory, cpu"), "{}", gap.missing);
    }

    #[test]
    fn controllers_are_handed_down_and_each_child_has_its_own_limited_group() {
        let here = folder("cpu memory pids\n", "\n");
        let delegation = Delegation::at(here.path().into()).unwrap();
        assert_eq!(fs::read_to_string(here.path().join("cgroup.subtree_control")).unwrap(), "+memory +pids +cpu");
        let (one, two) = (delegation.group(&Limits::program()).unwrap(), delegation.group(&Limits::program()).unwrap());
        assert_ne!(one.folder, two.folder);
        assert_eq!(fs::read_to_string(one.folder.join("memory.swap.max")).unwrap(), "0");
        assert_eq!(fs::read_to_string(one.folder.join("memory.oom.group")).unwrap(), "1");
        assert_eq!(fs::read_to_string(one.folder.join("pids.max")).unwrap(), "513");
        assert_eq!(fs::read_to_string(one.folder.join("cpu.max")).unwrap(), "400000 100000");
    }

    /// Needs no controller, only a hierarchy that may be written: root's case here.
    #[test]
    fn a_child_starts_inside_its_group_and_the_group_goes_with_it() {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = mount_point(&mounts).map(|mount| mount.join(format!("countersign-test-{}", std::process::id())));
        let Some(folder) = folder.filter(|folder| fs::create_dir(folder).is_ok()) else {
            println!("not testable here: no hierarchy of control groups (v2) that may be written");
            return;
        };
        let handle = rustix::fs::openat(CWD, &folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let group = Group { folder: folder.clone(), handle };
        let (reader, mut writer) = std::io::pipe().unwrap();
        sys::wait_for_children().unwrap();
        let request = CloneRequest { namespaces: 0, cgroup: Some(group.handle().as_raw_fd()) };
        match sys::clone_process(request).unwrap() {
            Forked::Child => {
                let read = rustix::io::read(&reader, &mut [0; 1]);
                sys::exit_now(i32::from(read != Ok(1)));
            }
            Forked::Parent { pid, pidfd } => {
                assert_eq!(fs::read_to_string(folder.join("cgroup.procs")).unwrap().trim(), pid.to_string());
                writer.write_all(b"x").unwrap();
                let status = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED).unwrap().unwrap();
                assert_eq!(status.exit_status(), Some(0));
            }
        }
        drop(group);
        assert!(!folder.exists());
    }
}

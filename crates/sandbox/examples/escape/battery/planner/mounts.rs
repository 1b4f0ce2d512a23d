//! Probes 26-42: roots, mounts, watches and special files.

use libc::{AT_EMPTY_PATH, AT_FDCWD, O_DIRECTORY, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY};

use crate::battery::probe::{Effect, Probe, must, nonzero, open, open_and_read, probe, reached};
use crate::battery::sys::{Address, call};

const MS_REMOUNTABLE: u64 = libc::MS_NOSUID | libc::MS_NODEV;
const OPEN_TREE_CLONE: u32 = 1;
const MOUNT_ATTR_RDONLY: u64 = 1;
const FAN_CLASS_CONTENT: u32 = 4;

pub(super) const PROBES: &[Probe] = &[
    probe("26", "chroot", "take another root", Effect::Report, |w| call!(SYS_chroot, &*w.path(".")).map(drop)),
    probe("27", "chdir /tmp", "stand in a host folder", Effect::Report, |_| call!(SYS_chdir, c"/tmp").map(drop)),
    probe("28", "inotify watch /etc", "be told of every change in /etc", Effect::Report, |_| {
        let fd = call!(SYS_inotify_init1, 0)?;
        call!(SYS_inotify_add_watch, fd, c"/etc", libc::IN_ALL_EVENTS).map(drop)
    }),
    probe("29", "fanotify_init", "become a listener that file accesses wait for", Effect::Report, |_| {
        call!(SYS_fanotify_init, FAN_CLASS_CONTENT, O_RDONLY).map(drop)
    }),
    probe("30", "quotactl", "sync the quotas of all file systems", Effect::Report, |_| {
        let sync_all_user_quotas = 0x80_0001_u32 << 8;
        call!(SYS_quotactl, sync_all_user_quotas, Address(0), 0, Address(0)).map(drop)
    }),
    probe("31", "mount tmpfs", "mount in the host's view", Effect::Mounts, |w| {
        call!(SYS_mount, c"none", &*w.path("mnt"), c"tmpfs", MS_REMOUNTABLE, Address(0)).map(drop)
    }),
    probe("32", "umount2", "detach a mount of the host", Effect::Mounts, |w| {
        call!(SYS_umount2, &*w.path("mounted"), libc::MNT_DETACH).map(drop)
    }),
    probe(
        "33",
        "pivot_root",
        "swap the root (of a folder that is no mount: EINVAL is past the permission check)",
        Effect::Report,
        |w| reached(call!(SYS_pivot_root, &*w.path("."), &*w.path(".")), &[libc::EINVAL, libc::EBUSY]),
    ),
    probe("34", "fsopen (new mount API)", "make a file-system context", Effect::Report, |_| {
        call!(SYS_fsopen, c"tmpfs", 0).map(drop)
    }),
    probe("35", "open_tree OPEN_TREE_CLONE", "copy the mount tree of the root", Effect::Report, |_| {
        call!(SYS_open_tree, AT_FDCWD, c"/", OPEN_TREE_CLONE).map(drop)
    }),
    probe("36", "mount_setattr", "change the attributes of a (detached) mount", Effect::Report, |_| {
        let tree = call!(SYS_open_tree, AT_FDCWD, c"/", OPEN_TREE_CLONE)?;
        let attributes = [MOUNT_ATTR_RDONLY, 0, 0, 0];
        call!(SYS_mount_setattr, tree, c"", AT_EMPTY_PATH, &attributes, 32).map(drop)
    }),
    probe("37", "open /dev/ptmx", "make a terminal", Effect::Report, |_| {
        open(c"/dev/ptmx", O_RDWR | O_NOCTTY).map(drop)
    }),
    probe("38", "open /dev/kmsg", "read the kernel's log", Effect::Report, |_| {
        open(c"/dev/kmsg", O_RDONLY | O_NONBLOCK).map(drop)
    }),
    probe("39", "open /sys/kernel", "look into the kernel's settings", Effect::Report, |_| {
        open(c"/sys/kernel", O_RDONLY | O_DIRECTORY).map(drop)
    }),
    probe("40", "write /proc/self/oom_score_adj", "change how the kernel treats it", Effect::Report, |_| {
        let fd = open(c"/proc/self/oom_score_adj", O_WRONLY)?;
        nonzero(call!(SYS_write, fd, b"900", 3)?)
    }),
    probe("41", "open /proc/1/root", "walk the root of process 1", Effect::Report, |_| {
        open_and_read(c"/proc/1/root/etc/passwd")
    }),
    probe("42", "statfs /", "learn the size of the host's root file system", Effect::Report, |w| {
        let mut statfs = [0_u64; 15];
        call!(SYS_statfs, c"/", &mut statfs)?;
        must(statfs.get(2) == Some(&w.root_blocks))
    }),
];

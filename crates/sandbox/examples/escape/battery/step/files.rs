//! Probes 81-86: writing anywhere but in the work folder, and reading what is not listed.

use libc::{AT_FDCWD, O_CREAT, O_NOFOLLOW, O_PATH, O_RDONLY, O_WRONLY};

use crate::battery::errno::Errno;
use crate::battery::probe::{Attempt, Effect, Probe, entries, must, open, open_and_read, probe, text};
use crate::battery::sys::{Address, call};

pub(super) const PROBES: &[Probe] = &[
    probe(
        "s81a",
        "write outside by direct path",
        "overwrite a file beside the work folder",
        Effect::Changes("exist"),
        |w| overwrite(&w.path("exist")),
    ),
    probe("s81b", "create outside by direct path", "make a file beside the work folder", Effect::Changes("new"), |w| {
        open(&w.path("new"), O_CREAT | O_WRONLY).map(drop)
    }),
    probe("s81c", "delete outside", "delete a file beside the work folder", Effect::Changes("exist"), |w| {
        call!(SYS_unlinkat, AT_FDCWD, &*w.path("exist"), 0).map(drop)
    }),
    probe("s81d", "truncate outside", "empty a file beside the work folder", Effect::Changes("exist"), |w| {
        call!(SYS_truncate, &*w.path("exist"), 0).map(drop)
    }),
    probe("s82a", "write outside by ..", "the same from the work folder upwards", Effect::Changes("exist"), |_| {
        overwrite(c"../exist")
    }),
    probe(
        "s82b",
        "write by a symlink that lies in work",
        "the same through a link that was there",
        Effect::Changes("exist"),
        |_| overwrite(c"link"),
    ),
    probe(
        "s82c",
        "write by a symlink made in work",
        "the same through a link of its own",
        Effect::Changes("exist"),
        |w| {
            call!(SYS_symlinkat, &*w.path("exist"), AT_FDCWD, c"new")?;
            overwrite(c"new")
        },
    ),
    probe(
        "s82d",
        "write by /proc/self/root",
        "the same through the process's root link",
        Effect::Changes("exist"),
        |w| overwrite(&text(&format!("/proc/self/root{}/exist", w.base))),
    ),
    probe(
        "s82e",
        "write by /proc/self/cwd",
        "the same through the process's folder link",
        Effect::Changes("exist"),
        |_| overwrite(c"/proc/self/cwd/../exist"),
    ),
    probe(
        "s82f",
        "openat2 RESOLVE_IN_ROOT of ..",
        "the same by a lookup that is rooted elsewhere",
        Effect::Changes("exist"),
        |_| {
            let parent = open(c"..", O_PATH)?;
            let how = [O_WRONLY as u64, 0, 0x10];
            let fd = call!(SYS_openat2, parent, c"exist", &how, 24)?;
            call!(SYS_write, fd, b"overwritten", 11).map(drop)
        },
    ),
    probe("s83a", "rename out of work", "move a file of its own outside", Effect::Changes("new"), |w| {
        call!(SYS_rename, c"made", &*w.path("new")).map(drop)
    }),
    probe("s83b", "rename into work", "move a file of the host inside", Effect::Changes("exist"), |w| {
        call!(SYS_rename, &*w.path("exist"), c"new").map(drop)
    }),
    probe(
        "s83c",
        "hard link a host file into work",
        "get a second, writable name for it",
        Effect::Changes("work/linked"),
        |w| call!(SYS_link, &*w.path("exist"), c"linked").map(drop),
    ),
    probe(
        "s83d",
        "hard link by an O_PATH descriptor",
        "the same by /proc/self/fd",
        Effect::Changes("work/linked"),
        |w| {
            let fd = open(&w.path("exist"), O_PATH | O_NOFOLLOW)?;
            let from = text(&format!("/proc/self/fd/{fd}"));
            call!(SYS_linkat, AT_FDCWD, &*from, AT_FDCWD, c"linked", libc::AT_SYMLINK_FOLLOW).map(drop)
        },
    ),
    probe("s83e", "rename the work folder itself", "put another folder in its place", Effect::Changes("work"), |w| {
        call!(SYS_rename, &*w.path("work"), &*w.path("moved"))?;
        call!(SYS_rename, &*w.path("moved"), &*w.path("work")).map(drop)
    }),
    probe(
        "s84a",
        "write into the parent of the mount",
        "make a file in the folder above the work folder",
        Effect::Changes("new"),
        |_| open(c"../new", O_CREAT | O_WRONLY).map(drop),
    ),
    probe("s84b", "bind the parent writable", "mount the folder above over the work folder", Effect::Mounts, |w| {
        call!(SYS_mount, &*w.path("."), &*w.path("mnt"), Address(0), libc::MS_BIND, Address(0)).map(drop)
    }),
    probe("s84c", "remount a read-only mount writable", "take back what the view forbids", Effect::Mounts, |w| {
        let flags = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_NOEXEC;
        call!(SYS_mount, Address(0), &*w.path("mounted"), Address(0), flags, Address(0)).map(drop)
    }),
    probe("s84d", "mount over the work folder", "hide what the harness will look at", Effect::Mounts, |w| {
        call!(SYS_mount, c"none", &*w.path("work"), c"tmpfs", 0, Address(0)).map(drop)
    }),
    probe("s84e", "unmount the work folder", "see what lies under it in the view", Effect::Mounts, |w| {
        call!(SYS_umount2, &*w.path("mounted"), libc::MNT_DETACH).map(drop)
    }),
    probe("s85a", "chmod outside", "change the mode of a file outside", Effect::Changes("exist"), |w| {
        call!(SYS_fchmodat, AT_FDCWD, &*w.path("exist"), 0o777).map(drop)
    }),
    probe("s85b", "utimes outside", "change its times", Effect::Changes("exist"), |w| {
        call!(SYS_utimensat, AT_FDCWD, &*w.path("exist"), &[1_u64, 0, 1, 0], 0).map(drop)
    }),
    probe("s85c", "chmod by a symlink in work", "change its mode through a link", Effect::Changes("exist"), |_| {
        call!(SYS_fchmodat, AT_FDCWD, c"link", 0o777).map(drop)
    }),
    probe("s85d", "utimes by a symlink in work", "change its times through a link", Effect::Changes("exist"), |_| {
        call!(SYS_utimensat, AT_FDCWD, c"link", &[1_u64, 0, 1, 0], 0).map(drop)
    }),
    probe("s85e", "setxattr outside", "set an attribute on it", Effect::Changes("exist"), |w| {
        call!(SYS_setxattr, &*w.path("exist"), c"user.x", b"1", 1, 0).map(drop)
    }),
    probe("s86a", "read an unlisted file", "read a file beside the work folder", Effect::Report, |w| {
        open_and_read(&w.path("exist"))
    }),
    probe("s86b", "read an unlisted file by a symlink in work", "read it through a link", Effect::Report, |_| {
        open_and_read(c"link")
    }),
    probe("s86c", "stat an unlisted file", "learn that it exists", Effect::Report, |w| {
        let mut stat = [0_u64; 18];
        call!(SYS_newfstatat, AT_FDCWD, &*w.path("exist"), &mut stat, 0).map(drop)
    }),
    probe("s86d", "list the folder above work", "learn its neighbours", Effect::Report, |_| {
        let names = entries(open(c"..", O_RDONLY | libc::O_DIRECTORY)?)?;
        must(names.iter().any(|name| name == "exist"))
    }),
    probe("s86e", "read /root", "look into the home of root", Effect::Report, |_| {
        entries(open(c"/root", O_RDONLY | libc::O_DIRECTORY)?).map(drop)
    }),
    probe("s86f", "read a block device", "read the disk itself", Effect::Report, |_| {
        let disks = [c"/dev/vda", c"/dev/sda", c"/dev/nvme0n1"];
        disks
            .into_iter()
            .map(open_and_read)
            .find(|tried| *tried != Err(Errno(libc::ENOENT)))
            .unwrap_or(Err(Errno(libc::ENOENT)))
    }),
    probe(
        "s86g",
        "make a device node in work",
        "make a node for the kernel's memory and open it",
        Effect::Changes("work/new"),
        |_| call!(SYS_mknodat, AT_FDCWD, c"new", libc::S_IFCHR | 0o666, libc::makedev(1, 3)).map(drop),
    ),
];

fn overwrite(path: &std::ffi::CStr) -> Attempt {
    let fd = open(path, O_WRONLY)?;
    call!(SYS_write, fd, b"overwritten", 11).map(drop)
}

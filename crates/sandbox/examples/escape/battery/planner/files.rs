//! Probes 1-25: names, contents and attributes of files.

use libc::{AT_FDCWD, O_CREAT, O_DIRECTORY, O_EXCL, O_PATH, O_RDONLY, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY};

use crate::battery::errno::Errno;
use crate::battery::probe::{Effect, Probe, entries, must, nonzero, open, open_and_read, probe};
use crate::battery::sys::call;

pub(super) const PROBES: &[Probe] = &[
    probe("1", "open /etc/passwd O_RDONLY", "read a file of the host by openat", Effect::Report, |_| {
        open_and_read(c"/etc/passwd")
    }),
    probe("2", "open (legacy SYS_open)", "the same by the old call number", Effect::Report, |_| {
        call!(SYS_open, c"/etc/passwd", O_RDONLY, 0).map(drop)
    }),
    probe("3", "openat2", "the same by the newest call", Effect::Report, |_| {
        let how = [O_RDONLY as u64, 0, 0];
        call!(SYS_openat2, AT_FDCWD, c"/etc/passwd", &how, 24).map(drop)
    }),
    probe(
        "4",
        "open O_PATH /",
        "hold the root without the right to read it and walk from there",
        Effect::Report,
        |_| {
            let root = open(c"/", O_PATH)?;
            let mut stat = [0_u64; 18];
            call!(SYS_newfstatat, root, c"etc/passwd", &mut stat, 0).map(drop)
        },
    ),
    probe("5", "readdir /tmp", "list the host's /tmp until the playground shows", Effect::Report, |w| {
        let names = entries(open(c"/tmp", O_RDONLY | O_DIRECTORY)?)?;
        must(names.iter().any(|name| w.base.ends_with(&format!("/{name}"))))
    }),
    probe("6", "create file", "make a new file", Effect::Changes("new"), |w| {
        open(&w.path("new"), O_CREAT | O_EXCL | O_WRONLY).map(drop)
    }),
    probe("7", "open existing O_WRONLY", "overwrite a file", Effect::Changes("exist"), |w| {
        let fd = open(&w.path("exist"), O_WRONLY)?;
        call!(SYS_write, fd, b"overwritten", 11).map(drop)
    }),
    probe("8", "open O_TRUNC", "empty a file while opening it", Effect::Changes("exist"), |w| {
        open(&w.path("exist"), O_WRONLY | O_TRUNC).map(drop)
    }),
    probe("9", "O_TMPFILE", "make a nameless file on the host's file system", Effect::Report, |w| {
        open(&w.path("."), O_TMPFILE | O_RDWR).map(drop)
    }),
    probe("10", "truncate(2) by path", "empty a file without opening it", Effect::Changes("exist"), |w| {
        call!(SYS_truncate, &*w.path("exist"), 0).map(drop)
    }),
    probe("11", "unlink", "delete a file", Effect::Changes("exist"), |w| {
        call!(SYS_unlink, &*w.path("exist")).map(drop)
    }),
    probe("12", "unlinkat", "delete a folder", Effect::Changes("folder"), |w| {
        call!(SYS_unlinkat, AT_FDCWD, &*w.path("folder"), libc::AT_REMOVEDIR).map(drop)
    }),
    probe("13", "rename", "rename a file over a new name", Effect::Changes("new"), |w| {
        call!(SYS_rename, &*w.path("exist"), &*w.path("new")).map(drop)
    }),
    probe("14", "link", "make a second name for a file", Effect::Changes("new"), |w| {
        call!(SYS_link, &*w.path("exist"), &*w.path("new")).map(drop)
    }),
    probe("15", "symlink", "make a symbolic link", Effect::Changes("new"), |w| {
        call!(SYS_symlink, c"/etc/passwd", &*w.path("new")).map(drop)
    }),
    probe("16", "mkdir", "make a folder", Effect::Changes("new"), |w| {
        call!(SYS_mkdir, &*w.path("new"), 0o777).map(drop)
    }),
    probe("17", "mknod char device", "make a node for /dev/null's device", Effect::Changes("new"), |w| {
        call!(SYS_mknod, &*w.path("new"), libc::S_IFCHR | 0o666, libc::makedev(1, 3)).map(drop)
    }),
    probe("18", "chmod", "change a file's mode", Effect::Changes("exist"), |w| {
        call!(SYS_chmod, &*w.path("exist"), 0o4777).map(drop)
    }),
    probe(
        "19",
        "chown",
        "give a file away (as root), or set its own owner again (as a user)",
        Effect::Changes("exist"),
        |w| {
            let owner = if w.uid == 0 { 12_345 } else { w.uid };
            call!(SYS_chown, &*w.path("exist"), owner, -1).map(drop)
        },
    ),
    probe("20", "utimensat", "change a file's times", Effect::Changes("exist"), |w| {
        call!(SYS_utimensat, AT_FDCWD, &*w.path("exist"), &[1_u64, 0, 1, 0], 0).map(drop)
    }),
    probe("21", "setxattr user.x", "set an extended attribute", Effect::Changes("exist"), |w| {
        call!(SYS_setxattr, &*w.path("exist"), c"user.x", b"1", 1, 0).map(drop)
    }),
    probe("22", "stat /etc/passwd (metadata)", "learn size and times of a host file", Effect::Report, |_| {
        let mut stat = [0_u64; 18];
        call!(SYS_stat, c"/etc/passwd", &mut stat).map(drop)
    }),
    probe("23", "access /root", "learn that a folder exists", Effect::Report, |_| {
        call!(SYS_access, c"/root", libc::F_OK).map(drop)
    }),
    probe("24", "readlink /proc/self/exe", "learn where the program lies", Effect::Report, |_| {
        let mut target = [0_u8; 256];
        nonzero(call!(SYS_readlink, c"/proc/self/exe", &mut target, 256)?)
    }),
    probe(
        "25",
        "name_to_handle_at+open_by_handle_at",
        "open a file by handle, past every folder permission",
        Effect::Report,
        |w| {
            let mut handle = [0_u32; 34];
            if let Some(size) = handle.first_mut() {
                *size = 128;
            }
            let mut mount = [0_i32; 1];
            call!(SYS_name_to_handle_at, AT_FDCWD, &*w.path("exist"), &mut handle, &mut mount, 0)?;
            let folder = open(&w.path("."), O_RDONLY | O_DIRECTORY)?;
            let fd = call!(SYS_open_by_handle_at, folder, &handle, O_RDONLY)?;
            let mut byte = [0_u8; 1];
            match call!(SYS_read, fd, &mut byte, 1)? {
                0 => Err(Errno(libc::ENODATA)),
                _ => Ok(()),
            }
        },
    ),
];

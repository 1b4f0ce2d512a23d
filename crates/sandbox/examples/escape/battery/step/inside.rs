//! Files inside the work folder that a step may not change (`protected`) or not even see (`masked`), and every way to move
//! them or their folder from under the mount that guards them.

use libc::{AT_FDCWD, O_CREAT, O_PATH, O_RDONLY, O_TRUNC, O_WRONLY};

use crate::battery::probe::{Effect, Probe, must, nonzero, open, open_and_read, probe, text};
use crate::battery::sys::call;

const PROTECTED: &str = crate::battery::playground::PROTECTED;
const MASKED: &str = crate::battery::playground::MASKED;
const FOLDER: &str = "work/sub";
const RENAME_EXCHANGE: u32 = 2;

pub(super) const PROBES: &[Probe] = &[
    probe("s85f", "overwrite a protected file", "write to it", Effect::Changes(PROTECTED), |_| {
        let fd = open(c"sub/protected", O_WRONLY)?;
        call!(SYS_write, fd, b"overwritten", 11).map(drop)
    }),
    probe("s85g", "truncate a protected file", "empty it", Effect::Changes(PROTECTED), |_| {
        open(c"sub/protected", O_WRONLY | O_TRUNC).map(drop)
    }),
    probe("s85h", "delete a protected file", "unlink it", Effect::Changes(PROTECTED), |_| {
        call!(SYS_unlinkat, AT_FDCWD, c"sub/protected", 0).map(drop)
    }),
    probe("s85i", "rename over a protected file", "put another file in its place", Effect::Changes(PROTECTED), |_| {
        call!(SYS_rename, c"made", c"sub/protected").map(drop)
    }),
    probe("s85j", "rename a protected file away", "leave its place free", Effect::Changes(PROTECTED), |_| {
        call!(SYS_rename, c"sub/protected", c"new").map(drop)
    }),
    probe("s85k", "exchange a protected file", "swap it with another", Effect::Changes(PROTECTED), |_| {
        call!(SYS_renameat2, AT_FDCWD, c"made", AT_FDCWD, c"sub/protected", RENAME_EXCHANGE).map(drop)
    }),
    probe("s85l", "chmod a protected file", "change its mode", Effect::Changes(PROTECTED), |_| {
        call!(SYS_fchmodat, AT_FDCWD, c"sub/protected", 0o600).map(drop)
    }),
    probe("s85m", "touch a protected file", "change its times", Effect::Changes(PROTECTED), |_| {
        call!(SYS_utimensat, AT_FDCWD, c"sub/protected", &[1_u64, 0, 1, 0], 0).map(drop)
    }),
    probe("s85n", "set an attribute on a protected file", "setxattr", Effect::Changes(PROTECTED), |_| {
        call!(SYS_setxattr, c"sub/protected", c"user.x", b"1", 1, 0).map(drop)
    }),
    probe(
        "s85o",
        "second name for a protected file",
        "hard link it and write through the link",
        Effect::Changes(PROTECTED),
        |_| {
            call!(SYS_link, c"sub/protected", c"linked")?;
            let fd = open(c"linked", O_WRONLY)?;
            call!(SYS_write, fd, b"overwritten", 11).map(drop)
        },
    ),
    probe(
        "s85p",
        "rename the folder of a protected file",
        "move the folder away and make another",
        Effect::Changes(FOLDER),
        |_| {
            call!(SYS_rename, c"sub", c"new")?;
            call!(SYS_mkdirat, AT_FDCWD, c"sub", 0o777)?;
            open(c"sub/protected", O_CREAT | O_WRONLY).map(drop)
        },
    ),
    probe(
        "s85q",
        "exchange the folder of a protected file",
        "swap it with another folder",
        Effect::Changes(FOLDER),
        |_| call!(SYS_renameat2, AT_FDCWD, c"sub2", AT_FDCWD, c"sub", RENAME_EXCHANGE).map(drop),
    ),
    probe("s85r", "rename the folder from above", "the same by the full path", Effect::Changes(FOLDER), |w| {
        call!(SYS_rename, &*w.path("work/sub"), &*w.path("work/new")).map(drop)
    }),
    probe(
        "s85s",
        "write by a reopened descriptor",
        "open it for reading and reopen for writing by /proc",
        Effect::Changes(PROTECTED),
        |_| {
            let fd = open(c"sub/protected", O_RDONLY)?;
            let fd = open(&text(&format!("/proc/self/fd/{fd}")), O_WRONLY)?;
            call!(SYS_write, fd, b"overwritten", 11).map(drop)
        },
    ),
    probe("s86h", "read a masked file", "read what is hidden in the work folder", Effect::Report, |_| {
        open_and_read(c"sub/masked")
    }),
    probe("s86i", "write a masked file", "change what is hidden", Effect::Changes(MASKED), |_| {
        let fd = open(c"sub/masked", O_WRONLY)?;
        call!(SYS_write, fd, b"overwritten", 11).map(drop)
    }),
    probe("s86j", "delete a masked file", "unlink what is hidden", Effect::Changes(MASKED), |_| {
        call!(SYS_unlinkat, AT_FDCWD, c"sub/masked", 0).map(drop)
    }),
    probe("s86k", "second name for a masked file", "hard link it and read through the link", Effect::Report, |_| {
        call!(SYS_link, c"sub/masked", c"linked")?;
        open_and_read(c"linked")
    }),
    probe("s86l", "rename a masked file", "move it from under its mask", Effect::Changes(MASKED), |_| {
        call!(SYS_rename, c"sub/masked", c"new").map(drop)
    }),
    probe(
        "s86m",
        "chmod and read a masked file",
        "give itself the right to read the mask, then read",
        Effect::Report,
        |_| {
            call!(SYS_fchmodat, AT_FDCWD, c"sub/masked", 0o777)?;
            open_and_read(c"sub/masked")
        },
    ),
    probe("s86n", "size of a masked file", "learn how large what is hidden is", Effect::Report, |_| {
        let mut stat = [0_u64; 18];
        call!(SYS_newfstatat, AT_FDCWD, c"sub/masked", &mut stat, 0)?;
        must(stat.get(6).is_some_and(|&size| size != 0))
    }),
    probe("s86o", "copy from a masked file's O_PATH", "reopen an O_PATH descriptor of it", Effect::Report, |_| {
        let fd = open(c"sub/masked", O_PATH)?;
        open_and_read(&text(&format!("/proc/self/fd/{fd}")))
    }),
    probe(
        "s86p",
        "rename the folder and read the masked file",
        "move the folder from around the mask",
        Effect::Report,
        |_| {
            call!(SYS_rename, c"sub", c"new")?;
            let fd = open(c"new/masked", O_RDONLY)?;
            let mut byte = [0_u8; 1];
            nonzero(call!(SYS_read, fd, &mut byte, 1)?)
        },
    ),
];

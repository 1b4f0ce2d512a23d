//! Controls: what a program must be able to do. A sandbox in which nothing runs would stop every attack too.

use libc::{AF_UNIX, O_CREAT, O_RDONLY, O_WRONLY, SOCK_STREAM};

use super::programs::{argv, loader};
use crate::battery::probe::{Effect, Probe, entries, forked, must, open, open_and_read, probe, text};
use crate::battery::sys::{self, Address, call};

pub(super) const PROBES: &[Probe] = &[
    probe("c1", "write in the work folder", "make a file where it may", Effect::Changes("work/new"), |_| {
        let fd = open(c"new", O_CREAT | O_WRONLY)?;
        call!(SYS_write, fd, b"done", 4).map(drop)
    }),
    probe("c2", "read in the work folder", "read and list what it was given", Effect::Report, |_| {
        open_and_read(c"made")?;
        must(entries(open(c".", O_RDONLY | libc::O_DIRECTORY)?)?.iter().any(|name| name == "made"))
    }),
    probe("c3", "run a listed program", "run the static program of the step again", Effect::Report, |w| {
        let path = text(&format!("{}/bin/escape", w.base));
        let code = forked(0, || {
            let argv = [path.as_ptr() as usize, c"--nothing".as_ptr() as usize, 0];
            let _ = call!(SYS_execve, &*path, &argv, Address(0));
            125
        })?;
        must(code == 0)
    }),
    probe("c4", "loader running a listed program", "run a listed dynamic program by the loader", Effect::Exec, |w| {
        loader(&w.loader, &format!("{}/bin/dynamic", w.base))
    }),
    probe("c5", "dynamic program run directly", "run a listed dynamic program", Effect::Exec, |w| {
        let path = text(&format!("{}/bin/dynamic", w.base));
        call!(SYS_execve, &*path, &argv(&path), Address(0)).map(drop)
    }),
    probe("c6", "processes, threads, pipes", "what every build tool needs", Effect::Report, |_| {
        must(forked(0, || 7)? == 7)?;
        sys::thread()?;
        let mut pair = [0_i32; 2];
        call!(SYS_pipe2, &mut pair, 0)?;
        call!(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, &mut pair).map(drop)
    }),
    probe("c7", "write in /tmp", "make a file in its own /tmp", Effect::Report, |w| {
        let path = text(&format!("{}.own", w.base));
        let fd = open(&path, O_CREAT | O_WRONLY)?;
        call!(SYS_write, fd, b"done", 4).map(drop)
    }),
    probe("c8", "its own /proc and /dev", "look at itself and read random bytes", Effect::Report, |_| {
        open_and_read(c"/proc/self/status")?;
        open_and_read(c"/dev/urandom")
    }),
];

//! Probes 96-103: running what is not listed, gaining rights by running, and what a program starts with.

use std::ffi::CStr;

use libc::{AT_EMPTY_PATH, AT_FDCWD, O_CREAT, O_RDONLY, O_RDWR, O_WRONLY};

use crate::battery::code::{RETURN_42, program};
use crate::battery::confine::GIVEN_VARIABLE;
use crate::battery::errno::Errno;
use crate::battery::playground::WORKER;
use crate::battery::probe::{Attempt, Effect, LEAKED_TTY, Probe, must, open, probe, text};
use crate::battery::sys::{self, Address, call};

const NONE: Address = Address(0);
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
const FCHMODAT2: i64 = 452;
const STDOUT: u8 = 1;

pub(super) const PROBES: &[Probe] = &[
    probe("s96a", "unlisted binary", "run a program that lies outside of the view", Effect::Exec, |w| {
        become_program(&w.path("outside/unlisted"))
    }),
    probe(
        "s96b",
        "unlisted system binary",
        "run a program of the system that the step does not name",
        Effect::Exec,
        |_| become_program(c"/usr/bin/true"),
    ),
    probe(
        "s97",
        "loader running an unlisted binary",
        "run it by the dynamic loader, which is listed",
        Effect::Exec,
        |w| loader(&w.loader, "/usr/bin/true"),
    ),
    probe("s98a", "loader running a work file", "run a file of the work folder by the loader", Effect::Exec, |w| {
        loader(&w.loader, &format!("{}/work/true", w.base))
    }),
    probe("s98b", "work file run directly", "run a program of the work folder", Effect::Exec, |_| {
        become_program(c"./program")
    }),
    probe("s98c", "own program written to work", "write a program and run it", Effect::Exec, |_| own_program(c"new")),
    probe("s98d", "own program written to /tmp", "the same in /tmp", Effect::Exec, |w| {
        own_program(&text(&format!("{}.own", w.base)))
    }),
    probe("s98e", "own program written to /dev/shm", "the same in shared memory", Effect::Exec, |w| {
        own_program(&text(&format!("{}.own", w.base.replace("/tmp/", "/dev/shm/"))))
    }),
    probe("s98f", "work file mapped executable", "map code of a work file and call it", Effect::Report, |_| {
        let fd = open(c"made", O_RDWR)?;
        call!(SYS_write, fd, &RETURN_42, RETURN_42.len())?;
        let page = call!(SYS_mmap, NONE, 4096, libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE, fd, 0)?;
        must(sys::execute(Address(page)) == 42)
    }),
    probe("s99a", "memfd by fexecve", "write a program into memory and run it by descriptor", Effect::Exec, |_| {
        let fd = memory_program()?;
        call!(SYS_execveat, fd, c"", &argv(c"probe"), NONE, AT_EMPTY_PATH).map(drop)
    }),
    probe("s99b", "memfd by /proc/self/fd", "run it by its name in /proc", Effect::Exec, |_| {
        let fd = memory_program()?;
        become_program(&text(&format!("/proc/self/fd/{fd}")))
    }),
    probe("s99c", "memfd by /dev/fd", "run it by its name in /dev", Effect::Exec, |_| {
        let fd = memory_program()?;
        become_program(&text(&format!("/dev/fd/{fd}")))
    }),
    probe("s100", "setuid binary", "run a program that makes its caller root", Effect::Report, |w| {
        if w.uid == 0 {
            let _ = call!(SYS_setresuid, WORKER, WORKER, WORKER);
        }
        let argv = [c"setuid".as_ptr() as usize, c"--say-root".as_ptr() as usize, 0];
        call!(SYS_execve, &*w.path("bin/setuid"), &argv, NONE).map(drop)
    }),
    probe(
        "s101a",
        "setuid file by chmod",
        "leave a set-user-id program in the work folder",
        Effect::Mode("work/made"),
        |_| call!(SYS_chmod, c"made", 0o4755).map(drop),
    ),
    probe("s101b", "setuid file by fchmod", "the same by descriptor", Effect::Mode("work/made"), |_| {
        let fd = open(c"made", O_RDWR)?;
        call!(SYS_fchmod, fd, 0o4755).map(drop)
    }),
    probe("s101c", "setuid file by fchmodat", "the same relative to a folder", Effect::Mode("work/made"), |_| {
        call!(SYS_fchmodat, AT_FDCWD, c"made", 0o6755).map(drop)
    }),
    probe("s101d", "setuid file by fchmodat2", "the same by the newest call", Effect::Mode("work/made"), |_| {
        let arguments = [AT_FDCWD.into(), c"made".into(), 0o4755.into(), 0.into()];
        sys::syscall(FCHMODAT2, &arguments).map(drop)
    }),
    probe("s101e", "setuid file by openat O_CREAT", "make it with that mode", Effect::Mode("work/new"), |_| {
        call!(SYS_openat, AT_FDCWD, c"new", O_CREAT | O_WRONLY, 0o4755).map(drop)
    }),
    probe(
        "s101f",
        "setuid file by open O_CREAT",
        "make it with that mode by the old call",
        Effect::Mode("work/new"),
        |_| call!(SYS_open, c"new", O_CREAT | O_WRONLY, 0o4755).map(drop),
    ),
    probe(
        "s101g",
        "setuid file by creat",
        "make it with that mode by the oldest call",
        Effect::Mode("work/new"),
        |_| call!(SYS_creat, c"new", 0o4755).map(drop),
    ),
    probe("s101h", "setuid file by openat2", "make it with a mode that is in memory", Effect::Mode("work/new"), |_| {
        let how = [(O_CREAT | O_WRONLY) as u64, 0o4755, 0];
        call!(SYS_openat2, AT_FDCWD, c"new", &how, 24).map(drop)
    }),
    probe("s101i", "setuid file by mknod", "make it as a node", Effect::Mode("work/new"), |_| {
        call!(SYS_mknodat, AT_FDCWD, c"new", libc::S_IFREG | 0o4755, 0).map(drop)
    }),
    probe(
        "s101j",
        "setgid folder by mkdir",
        "make a folder that passes its group on",
        Effect::Mode("work/new"),
        |_| {
            call!(SYS_mkdirat, AT_FDCWD, c"new", 0o2777)?;
            call!(SYS_chmod, c"new", 0o2777).map(drop)
        },
    ),
    probe(
        "s101k",
        "file capabilities",
        "give a program capabilities by attribute",
        Effect::Changes("work/made"),
        |_| {
            let everything = [0x0200_0001_u32, u32::MAX, 0, u32::MAX, 0];
            call!(SYS_setxattr, c"made", c"security.capability", &everything, 20, 0).map(drop)
        },
    ),
    probe(
        "s102a",
        "foreign variable in the environment",
        "find a variable that it was not given",
        Effect::Report,
        |_| {
            let given = GIVEN_VARIABLE.split_once('=').map_or("", |(name, _)| name);
            std::env::vars_os().find(|(name, _)| name != given).map(drop).ok_or(Errno(libc::ENOENT))
        },
    ),
    probe("s102b", "descriptor beyond 0-2", "find a descriptor that it was not given", Effect::Report, |_| {
        (3..1024).find(|&fd| call!(SYS_close, fd).is_ok()).map(drop).ok_or(Errno(libc::EBADF))
    }),
    probe("s103a", "TIOCSTI on a leaked terminal", "type into the harness's terminal", Effect::Typed, |_| {
        call!(SYS_ioctl, LEAKED_TTY, TIOCSTI, b"#").map(drop)
    }),
    probe("s103b", "TIOCSTI on /dev/tty", "type into its controlling terminal", Effect::Typed, |_| {
        let fd = open(c"/dev/tty", O_RDWR)?;
        call!(SYS_ioctl, fd, TIOCSTI | 1 << 32, b"#").map(drop)
    }),
    probe("s103c", "TIOCLINUX on a console", "paste into a console", Effect::Report, |_| {
        let fd = open(c"/dev/tty0", O_RDONLY)?;
        call!(SYS_ioctl, fd, TIOCLINUX, &mut [6_u8]).map(drop)
    }),
];

pub(super) fn argv(name: &CStr) -> [usize; 2] {
    [name.as_ptr() as usize, 0]
}

fn become_program(path: &CStr) -> Attempt {
    call!(SYS_execve, path, &argv(path), NONE).map(drop)
}

pub(super) fn loader(loader: &str, target: &str) -> Attempt {
    let (loader, target) = (text(loader), text(target));
    let argv = [loader.as_ptr() as usize, target.as_ptr() as usize, 0];
    call!(SYS_execve, &*loader, &argv, NONE).map(drop)
}

fn own_program(path: &CStr) -> Attempt {
    let _ = call!(SYS_unlinkat, AT_FDCWD, path, 0);
    let fd = call!(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | libc::O_CLOEXEC, 0o755)?;
    let elf = program(STDOUT);
    call!(SYS_write, fd, &*elf, elf.len())?;
    call!(SYS_close, fd)?;
    become_program(path)
}

fn memory_program() -> Result<usize, Errno> {
    let fd = call!(SYS_memfd_create, c"probe", 0)?;
    let elf = program(STDOUT);
    call!(SYS_write, fd, &*elf, elf.len())?;
    Ok(fd)
}

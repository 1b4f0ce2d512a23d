//! Probes 104-109: more than was granted, and living longer than allowed.

use std::ffi::CString;

use libc::{MAP_ANONYMOUS, MAP_PRIVATE, O_CREAT, O_WRONLY, PROT_READ, PROT_WRITE};

use crate::battery::errno::Errno;
use crate::battery::probe::{Attempt, Effect, Probe, forked, must, open, probe, text};
use crate::battery::sys::{Address, call, poke};

const NONE: Address = Address(0);
const MEBIBYTE: usize = 1 << 20;
const PAGE: usize = 4096;

pub(super) const PROBES: &[Probe] = &[
    probe("s104a", "2 GiB in one process", "map more than the limit of one process (1 GiB)", Effect::Report, |_| {
        call!(SYS_mmap, NONE, 2048 * MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0).map(drop)
    }),
    probe(
        "s104b",
        "512 MiB over the tree",
        "touch more than the limit of the tree (256 MiB) in four processes",
        Effect::Report,
        |_| tree_memory(),
    ),
    probe("s105", "200 processes", "have more processes than the limit (64) at a time", Effect::Report, |_| {
        many_processes()
    }),
    probe("s106a", "100 MiB file", "make a file larger than the limit (64 MiB)", Effect::Larger("work/new"), |_| {
        let fd = open(c"new", O_CREAT | O_WRONLY)?;
        call!(SYS_pwrite64, fd, b"!", 1, 100 * MEBIBYTE).map(drop)
    }),
    probe(
        "s106b",
        "100 MiB file by fallocate",
        "reserve a file larger than the limit",
        Effect::Larger("work/new"),
        |_| {
            let fd = open(c"new", O_CREAT | O_WRONLY)?;
            call!(SYS_fallocate, fd, 0, 0, 100 * MEBIBYTE).map(drop)
        },
    ),
    probe("s106c", "fill /tmp", "put 120 MiB into /tmp (64 MiB)", Effect::Report, |w| {
        let paths = ["1", "2", "3"].map(|number| text(&format!("{}.fill{number}", w.base)));
        let fill = |path: &CString| {
            let fd = open(path, O_CREAT | O_WRONLY)?;
            call!(SYS_fallocate, fd, 0, 0, 40 * MEBIBYTE).map(drop)
        };
        let result = paths.iter().try_for_each(fill);
        for path in &paths {
            let _ = call!(SYS_unlinkat, libc::AT_FDCWD, &**path, 0);
        }
        result
    }),
    probe(
        "s106d",
        "fill the root of the view",
        "make a file where only folders of the view are",
        Effect::Report,
        |_| {
            let made = open(c"/escape-root-file", O_CREAT | O_WRONLY).map(drop);
            let _ = call!(SYS_unlinkat, libc::AT_FDCWD, c"/escape-root-file", 0);
            made
        },
    ),
    probe(
        "s106e",
        "output flood, one stream",
        "make the kernel hold 8 MiB of output that nobody reads",
        Effect::Report,
        |_| unread(pipe()?, 8 * MEBIBYTE),
    ),
    probe(
        "s106f",
        "output flood, many streams",
        "make the kernel hold 80 MiB of output in 80 pipes of the usual largest size",
        Effect::Report,
        |_| {
            for _ in 0..80 {
                unread(pipe()?, MEBIBYTE)?;
            }
            Ok(())
        },
    ),
    probe(
        "s106g",
        "output flood, sockets",
        "make the kernel hold 8 MiB in a socket that nobody reads",
        Effect::Report,
        |_| {
            let mut pair = [0_i32; 2];
            call!(SYS_socketpair, libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0, &mut pair)?;
            let [fd, _] = pair;
            call!(SYS_setsockopt, fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &[16 << 20], 4)?;
            write_all(fd, 8 * MEBIBYTE)
        },
    ),
    probe("s107", "1.5 CPU seconds", "compute longer than the limit (1 s)", Effect::Report, |_| {
        let mut time = [0_u64; 2];
        while time < [1, 500_000_000] {
            call!(SYS_clock_gettime, libc::CLOCK_PROCESS_CPUTIME_ID, &mut time)?;
        }
        Ok(())
    }),
    probe("s108a", "children that outlive the deadline", "leave plain children behind", Effect::Survivors, |_| {
        for _ in 0..5 {
            spawn(sleep)?;
        }
        Ok(())
    }),
    probe(
        "s108b",
        "daemons that outlive the deadline",
        "leave double-forked daemons in sessions of their own behind",
        Effect::Survivors,
        |_| {
            for _ in 0..5 {
                forked(0, || {
                    let _ = call!(SYS_setsid);
                    u8::from(spawn(sleep).is_err())
                })?;
            }
            Ok(())
        },
    ),
    probe(
        "s108c",
        "stopped and signal-proof children",
        "leave children behind that ignore every signal that can be ignored",
        Effect::Survivors,
        |_| {
            for _ in 0..5 {
                spawn(|| {
                    let _ = call!(SYS_rt_sigprocmask, libc::SIG_BLOCK, &[u64::MAX], NONE, 8);
                    sleep();
                })?;
            }
            Ok(())
        },
    ),
    probe("s109", "kill while forking in a loop", "be a new process every moment", Effect::Survivors, |w| {
        let stop = w.path("stop");
        spawn(|| {
            for _ in 0..20_000 {
                if call!(SYS_faccessat, libc::AT_FDCWD, &*stop, 0).is_ok() {
                    return;
                }
                match call!(SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
                    Ok(0) => {
                        let _ = call!(SYS_setsid);
                    }
                    _ => return,
                }
            }
        })
    }),
];

/// A child that runs `child` and ends.
fn spawn(child: impl FnOnce()) -> Attempt {
    if call!(SYS_clone, libc::SIGCHLD, 0, 0, 0, 0)? == 0 {
        child();
        let _ = call!(SYS_exit_group, 0);
    }
    Ok(())
}

/// Half a minute, so that even one that survives is gone soon.
fn sleep() {
    let mut rest = [30_u64, 0];
    let _ = call!(SYS_nanosleep, &[30_u64, 0], &mut rest);
}

fn pipe() -> Result<[i32; 2], Errno> {
    let mut ends = [0_i32; 2];
    call!(SYS_pipe2, &mut ends, 0)?;
    Ok(ends)
}

/// Fills a pipe that nobody reads, enlarged to so many bytes.
fn unread([_, write]: [i32; 2], bytes: usize) -> Attempt {
    call!(SYS_fcntl, write, libc::F_SETFL, libc::O_NONBLOCK)?;
    call!(SYS_fcntl, write, libc::F_SETPIPE_SZ, bytes)?;
    write_all(write, bytes)
}

fn write_all(fd: i32, bytes: usize) -> Attempt {
    let chunk = vec![b'!'; 1 << 16];
    for _ in 0..bytes.div_ceil(chunk.len()) {
        must(call!(SYS_write, fd, &*chunk, chunk.len())? == chunk.len())?;
    }
    Ok(())
}

/// Children wait for the end of a pipe whose other end only this process keeps: none is left when it ends.
fn many_processes() -> Attempt {
    let [read, write] = pipe()?;
    for _ in 0..200 {
        spawn(|| {
            let _ = call!(SYS_close, write);
            let mut byte = [0_u8; 1];
            let _ = call!(SYS_read, read, &mut byte, 1);
        })?;
    }
    Ok(())
}

/// Four children touch 128 MiB each and say so; only when all have is the limit broken.
fn tree_memory() -> Attempt {
    const SHARE: usize = 128 * MEBIBYTE;
    let [hold_read, hold_write] = pipe()?;
    let [done_read, done_write] = pipe()?;
    for _ in 0..4 {
        spawn(|| {
            let _ = call!(SYS_close, hold_write);
            let Ok(start) = call!(SYS_mmap, NONE, SHARE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            else {
                return;
            };
            for page in (start..start + SHARE).step_by(PAGE) {
                poke(Address(page), b"!");
            }
            let _ = call!(SYS_write, done_write, b"!", 1);
            let mut byte = [0_u8; 1];
            let _ = call!(SYS_read, hold_read, &mut byte, 1);
        })?;
    }
    let _ = call!(SYS_close, done_write);
    let mut touched = 0;
    let mut bytes = [0_u8; 4];
    while touched < 4 {
        match call!(SYS_read, done_read, &mut bytes, 4)? {
            0 => break,
            count => touched += count,
        }
    }
    must(touched == 4)
}

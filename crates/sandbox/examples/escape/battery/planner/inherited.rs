//! Probes 154-169 (what was left lying around, and resources), and probes beyond the list.

use libc::{AT_FDCWD, MAP_ANONYMOUS, MAP_PRIVATE, O_DIRECTORY, O_RDONLY, O_RDWR, PROT_READ, PROT_WRITE};

use crate::battery::code::RETURN_42;
use crate::battery::errno::Errno;
use crate::battery::probe::{
    CHANNEL, Door, Effect, LEAKED_FILE, LEAKED_FOLDER, LEAKED_SOCKET, LEAKED_VARIABLE, Probe, entries, must, nonzero,
    open, probe, reached,
};
use crate::battery::socket::{BYTE, control, send_message};
use crate::battery::sys::{self, Address, Arg, call};

const NONE: Address = Address(0);
const PRIVATE: i32 = MAP_PRIVATE | MAP_ANONYMOUS;
const LISTMOUNT: i64 = 458;
const SO_PEERGROUPS: i32 = 59;
const SO_PEERPIDFD: i32 = 77;
const LSMT_ROOT: u64 = u64::MAX;
const LAST_DESCRIPTOR: i32 = 1024;

pub(super) const STATE: &[Probe] = &[
    probe("154", "read leaked file fd 60", "read a file that the parent left open", Effect::Report, |_| {
        let mut byte = [0_u8; 1];
        nonzero(call!(SYS_read, LEAKED_FILE, &mut byte, 1)?)
    }),
    probe(
        "155",
        "openat via leaked dirfd 61",
        "open a file below a folder that the parent left open",
        Effect::Report,
        |_| call!(SYS_openat, LEAKED_FOLDER, c"exist", O_RDONLY, 0).map(drop),
    ),
    probe(
        "156",
        "write leaked TCP socket 63",
        "send on a connection that the parent left open",
        Effect::Arrives(Door::Leaked),
        |_| call!(SYS_write, LEAKED_SOCKET, BYTE, 1).map(drop),
    ),
    probe("157", "getdents leaked dirfd 61", "list that folder", Effect::Report, |_| {
        let mut names = [0_u8; 4096];
        nonzero(call!(SYS_getdents64, LEAKED_FOLDER, &mut names, 4096)?)
    }),
    probe("158", "fchdir leaked dirfd 61", "stand in that folder", Effect::Report, |_| {
        call!(SYS_fchdir, LEAKED_FOLDER).map(drop)
    }),
    probe(
        "159",
        "fds other than 0-3 open",
        "find any other open descriptor (close answers for an open one only)",
        Effect::Report,
        |_| {
            for fd in 4..LAST_DESCRIPTOR {
                match call!(SYS_close, fd) {
                    Err(Errno(libc::EBADF)) => {}
                    other => return other.map(drop),
                }
            }
            Err(Errno(libc::EBADF))
        },
    ),
    probe("160", "secret in environ", "find the secret that the parent has in its environment", Effect::Report, |_| {
        std::env::var_os(LEAKED_VARIABLE).map(drop).ok_or(Errno(libc::ENOENT))
    }),
    probe("161", "non-empty environ", "find anything in the environment", Effect::Report, |_| {
        std::env::vars_os().next().map(drop).ok_or(Errno(libc::ENOENT))
    }),
    probe("162", "read cwd via openat(AT_FDCWD, .)", "list the folder it stands in", Effect::Report, |_| {
        let fd = call!(SYS_openat, AT_FDCWD, c".", O_RDONLY | O_DIRECTORY, 0)?;
        must(!entries(fd)?.is_empty())
    }),
    probe("163", "controlling tty (/dev/tty)", "speak to the person at the terminal", Effect::Report, |_| {
        open(c"/dev/tty", O_RDWR).map(drop)
    }),
    probe("164", "pass fd out via SCM_RIGHTS", "hand a descriptor to the harness", Effect::Descriptor, |_| {
        send_message(CHANNEL as usize, &[], &control(libc::SCM_RIGHTS, &CHANNEL.to_ne_bytes()), 0)
    }),
    probe(
        "165",
        "forge SCM_CREDENTIALS pid 1 uid 0",
        "say that process 1 of root is speaking",
        Effect::Credentials,
        |_| {
            let mut who = 1_i32.to_ne_bytes().to_vec();
            who.extend_from_slice(&[0; 8]);
            send_message(CHANNEL as usize, &[], &control(libc::SCM_CREDENTIALS, &who), 0)
        },
    ),
];

pub(super) const RESOURCES: &[Probe] = &[
    probe("166", "allocate 2 GiB", "map more memory than any plan needs", Effect::Report, |_| {
        call!(SYS_mmap, NONE, 2_usize << 30, PROT_READ | PROT_WRITE, PRIVATE, -1, 0).map(drop)
    }),
    probe("167", "fork bomb (8 children)", "be many", Effect::Report, |_| {
        for _ in 0..8 {
            if call!(SYS_clone, libc::SIGCHLD, 0, 0, 0, 0)? == 0 {
                let _ = call!(SYS_exit_group, 0);
            }
        }
        Ok(())
    }),
    probe("168", "open 100 fds (dup)", "use up descriptors", Effect::Report, |_| {
        for _ in 0..100 {
            call!(SYS_dup, CHANNEL)?;
        }
        Ok(())
    }),
    probe("169", "RT clock/rdtsc available", "measure time to the cycle", Effect::Report, |_| must(sys::rdtsc() != 0)),
];

pub(super) const MORE: &[Probe] = &[
    probe(
        "170",
        "sendto, address with low 32 bits zero",
        "a pointer that looks like NULL to a filter that compares half of it",
        Effect::Arrives(Door::Channel),
        |_| {
            let page = call!(
                SYS_mmap,
                Address(1 << 32),
                4096,
                PROT_READ | PROT_WRITE,
                PRIVATE | libc::MAP_FIXED_NOREPLACE,
                -1,
                0
            )?;
            call!(SYS_sendto, CHANNEL, BYTE, 1, 0, Address(page), 0).map(drop)
        },
    ),
    probe("171", "recvmsg on fd 3", "be ready to receive descriptors", Effect::Report, |_| {
        let mut byte = [0_u8; 1];
        let vector = [byte.as_mut_ptr() as usize, 1];
        let header = [0_usize, 0, vector.as_ptr() as usize, 1, 0, 0, 0];
        match call!(SYS_recvmsg, CHANNEL, &header, libc::MSG_DONTWAIT) {
            Err(Errno(libc::EAGAIN)) => Ok(()),
            other => other.map(drop),
        }
    }),
    probe("172", "sendmmsg with SCM_RIGHTS", "hand a descriptor out by the batched call", Effect::Descriptor, |_| {
        let rights = control(libc::SCM_RIGHTS, &CHANNEL.to_ne_bytes());
        let vector = [BYTE.as_ptr() as usize, 1];
        let header = [0_usize, 0, vector.as_ptr() as usize, 1, rights.as_ptr() as usize, rights.len(), 0, 0];
        call!(SYS_sendmmsg, CHANNEL, &header, 1, 0).map(drop)
    }),
    probe("173", "unshare CLONE_FILES", "get a descriptor table of its own", Effect::Report, |_| {
        call!(SYS_unshare, libc::CLONE_FILES).map(drop)
    }),
    probe("174", "rt_sigaction", "change what a signal does", Effect::Report, |_| {
        let ignore = [1_usize, 0, 0, 0];
        call!(SYS_rt_sigaction, libc::SIGTERM, &ignore, NONE, 8).map(drop)
    }),
    probe("175", "prctl SYSCALL_USER_DISPATCH", "answer its own system calls", Effect::Report, |_| {
        call!(SYS_prctl, 59, 0, 0, 0, 0).map(drop)
    }),
    probe("176", "prctl PR_SET_NAME", "any prctl", Effect::Report, |_| {
        call!(SYS_prctl, libc::PR_SET_NAME, c"probe", 0, 0, 0).map(drop)
    }),
    probe("177", "arch_prctl", "change a segment base", Effect::Report, |_| {
        let mut base = [0_u64; 1];
        call!(SYS_arch_prctl, 0x1003, &mut base).map(drop) // ARCH_GET_FS
    }),
    probe("178", "AIO io_setup", "make an asynchronous context", Effect::Report, |_| {
        let mut context = [0_u64; 1];
        call!(SYS_io_setup, 1, &mut context).map(drop)
    }),
    probe("179", "signalfd", "read signals", Effect::Report, |_| call!(SYS_signalfd4, -1, &[0_u64], 8, 0).map(drop)),
    probe("180", "eventfd", "make a counter", Effect::Report, |_| call!(SYS_eventfd2, 0, 0).map(drop)),
    probe("181", "timerfd", "make a timer", Effect::Report, |_| {
        call!(SYS_timerfd_create, libc::CLOCK_MONOTONIC, 0).map(drop)
    }),
    probe("182", "epoll_create", "make a second event queue", Effect::Report, |_| {
        call!(SYS_epoll_create1, 0).map(drop)
    }),
    probe("183", "/dev/userfaultfd", "the same power as userfaultfd, by a device", Effect::Report, |_| {
        open(c"/dev/userfaultfd", O_RDWR).map(drop)
    }),
    probe("184", "listmount", "list the mounts of its namespace", Effect::Report, |_| {
        let request = [24_u64, LSMT_ROOT, 0];
        let mut mounts = [0_u64; 8];
        let arguments = [Arg::from(&request), Arg::from(&mut mounts), Arg::from(8), Arg::from(0)];
        nonzero(sys::syscall(LISTMOUNT, &arguments)?)
    }),
    probe("185", "memory policy (set_mempolicy)", "choose where its memory lies", Effect::Report, |_| {
        call!(SYS_set_mempolicy, 0, NONE, 0).map(drop)
    }),
    probe("186", "setsid", "leave the session", Effect::Report, |_| match call!(SYS_setsid) {
        Err(Errno(libc::EPERM)) => Ok(()),
        other => other.map(drop),
    }),
    probe("187", "setpgid", "leave the process group", Effect::Report, |_| match call!(SYS_setpgid, 0, 0) {
        Err(Errno(libc::EPERM)) => Ok(()),
        other => other.map(drop),
    }),
    probe("188", "umask", "change the mode of files to come", Effect::Report, |_| call!(SYS_umask, 0).map(drop)),
    probe(
        "189",
        "times of the harness (clock_gettime of its CPU clock)",
        "watch how busy it is",
        Effect::Report,
        |w| {
            let clock = (!w.victim.cast_signed()) << 3 | 2;
            let mut time = [0_u64; 2];
            call!(SYS_clock_gettime, clock, &mut time).map(drop)
        },
    ),
    probe("190", "dup2 of the channel", "hold the channel under a second number", Effect::Report, |_| {
        call!(SYS_dup2, CHANNEL, 9).map(drop)
    }),
    probe(
        "191",
        "madvise MADV_MERGEABLE",
        "let the kernel merge its pages with those of others, and time the difference",
        Effect::Report,
        |_| {
            let page = call!(SYS_mmap, NONE, 4096, PROT_READ | PROT_WRITE, PRIVATE, -1, 0)?;
            call!(SYS_madvise, Address(page), 4096, libc::MADV_MERGEABLE).map(drop)
        },
    ),
    probe(
        "192",
        "mprotect of its own data",
        "write code into a static and make that executable",
        Effect::Report,
        |_| {
            let page = sys::code_page(&RETURN_42);
            call!(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE | libc::PROT_EXEC)?;
            must(sys::execute(page) == 42)
        },
    ),
    probe(
        "193",
        "futex_waitv",
        "wait on many words at once (on none: EINVAL is past the filter)",
        Effect::Report,
        |_| reached(call!(SYS_futex_waitv, NONE, 0, 0, NONE, 0), &[libc::EINVAL]),
    ),
    probe("194", "getsockopt SO_PEERGROUPS", "read the groups of the harness from the channel", Effect::Report, |_| {
        let mut groups = [0_i32; 64];
        call!(SYS_getsockopt, CHANNEL, libc::SOL_SOCKET, SO_PEERGROUPS, &mut groups, &mut [256]).map(drop)
    }),
    probe(
        "195",
        "getsockopt SO_PEERPIDFD",
        "hold the harness by a descriptor from the channel",
        Effect::Report,
        |_| {
            let mut fd = [0_i32; 1];
            call!(SYS_getsockopt, CHANNEL, libc::SOL_SOCKET, SO_PEERPIDFD, &mut fd, &mut [4]).map(drop)
        },
    ),
];

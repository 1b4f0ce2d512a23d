//! Probes 58-82: reading, changing, signalling and outranking another process: the harness's victim.

use libc::{O_RDONLY, O_RDWR, SIGURG};

use crate::battery::errno::Errno;
use crate::battery::probe::{CHANNEL, Effect, Probe, World, must, nonzero, open, open_and_read, probe, reached};
use crate::battery::sys::{Address, call};

const PTRACE_TRACEME: i32 = 0;
const PTRACE_SEIZE: i32 = 0x4206;
const KCMP_VM: i32 = 1;
const MADV_COLD: i32 = 20;
const NONE: Address = Address(0);

pub(super) const PROBES: &[Probe] = &[
    probe("58", "ptrace SEIZE harness", "take control of it as a debugger", Effect::Report, |w| {
        call!(SYS_ptrace, PTRACE_SEIZE, w.victim, 0, 0).map(drop)
    }),
    probe("59", "ptrace TRACEME", "make the parent its debugger", Effect::Report, |_| {
        call!(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0).map(drop)
    }),
    probe("60", "kill(harness, SIGURG)", "signal it", Effect::Signal, |w| call!(SYS_kill, w.victim, SIGURG).map(drop)),
    probe("61", "kill(harness, 0)", "learn that it exists", Effect::Report, |w| call!(SYS_kill, w.victim, 0).map(drop)),
    probe("62", "kill(-1, 0) broadcast", "find anybody to signal", Effect::Report, |_| {
        call!(SYS_kill, -1, 0).map(drop)
    }),
    probe("63", "tgkill harness", "signal one thread of it", Effect::Signal, |w| {
        call!(SYS_tgkill, w.victim, w.victim, SIGURG).map(drop)
    }),
    probe("64", "rt_sigqueueinfo harness", "signal it with a forged origin", Effect::Signal, |w| {
        let mut info = [0_i32; 32];
        for (slot, value) in info.iter_mut().zip([SIGURG, 0, -1]) {
            *slot = value;
        }
        call!(SYS_rt_sigqueueinfo, w.victim, SIGURG, &info).map(drop)
    }),
    probe(
        "65",
        "fcntl F_SETOWN harness + O_ASYNC",
        "let the kernel signal it when the channel gets data",
        Effect::Signal,
        |w| {
            call!(SYS_fcntl, CHANNEL, libc::F_SETOWN, w.victim)?;
            call!(SYS_fcntl, CHANNEL, libc::F_SETFL, libc::O_ASYNC).map(drop)
        },
    ),
    probe("66", "pidfd_open harness", "hold it by descriptor", Effect::Report, |w| pidfd(w).map(drop)),
    probe("67", "pidfd_send_signal harness", "signal it by descriptor", Effect::Signal, |w| {
        call!(SYS_pidfd_send_signal, pidfd(w)?, SIGURG, NONE, 0).map(drop)
    }),
    probe("68", "pidfd_getfd harness fd 1", "copy a descriptor out of it", Effect::Report, |w| {
        call!(SYS_pidfd_getfd, pidfd(w)?, 1, 0).map(drop)
    }),
    probe("69", "process_vm_readv harness", "read its memory", Effect::Report, |w| {
        let mut word = [0_u64; 1];
        let local = [word.as_mut_ptr() as usize, 8];
        call!(SYS_process_vm_readv, w.victim, &local, 1, &[w.canary, 8], 1, 0)?;
        must(word != [0])
    }),
    probe("70", "process_vm_writev harness", "write its memory", Effect::Victim, |w| {
        let word = [u64::MAX];
        let local = [word.as_ptr() as usize, 8];
        call!(SYS_process_vm_writev, w.victim, &local, 1, &[w.canary, 8], 1, 0).map(drop)
    }),
    probe("71", "open /proc/HARNESS/mem", "write its memory through its file", Effect::Victim, |w| {
        let fd = open(&w.victim_file("mem"), O_RDWR)?;
        call!(SYS_pwrite64, fd, &[u64::MAX], 8, w.canary).map(drop)
    }),
    probe("72", "open /proc/HARNESS/environ", "read its environment", Effect::Report, |w| {
        open_and_read(&w.victim_file("environ"))
    }),
    probe("73", "open /proc/HARNESS/fd/0", "open what it has open", Effect::Report, |w| {
        open(&w.victim_file("fd/0"), O_RDONLY | libc::O_NONBLOCK).map(drop)
    }),
    probe("74", "open /proc/HARNESS/root/etc/passwd", "walk its root", Effect::Report, |w| {
        open_and_read(&w.victim_file("root/etc/passwd"))
    }),
    probe("75", "open /proc/self/mem", "write its own memory past page protection", Effect::Report, |_| {
        open(c"/proc/self/mem", O_RDWR).map(drop)
    }),
    probe("76", "kcmp with harness", "compare kernel addresses with it", Effect::Report, |w| {
        let own = call!(SYS_getpid)?;
        call!(SYS_kcmp, own, w.victim, KCMP_VM, 0, 0).map(drop)
    }),
    probe("77", "prlimit64 harness", "lower its limit of open files", Effect::Victim, |w| {
        let mut old = [0_u64; 2];
        call!(SYS_prlimit64, w.victim, libc::RLIMIT_NOFILE as i32, NONE, &mut old)?;
        let [soft, hard] = old;
        call!(SYS_prlimit64, w.victim, libc::RLIMIT_NOFILE as i32, &[soft - 1, hard], NONE).map(drop)
    }),
    probe("78", "setpriority harness", "lower its priority", Effect::Victim, |w| {
        call!(SYS_setpriority, libc::PRIO_PROCESS as i32, w.victim, 7).map(drop)
    }),
    probe("79", "sched_getaffinity harness", "learn where it runs", Effect::Report, |w| {
        let mut mask = [0_u64; 128];
        nonzero(call!(SYS_sched_getaffinity, w.victim, 1024, &mut mask)?)
    }),
    probe("80", "process_madvise harness", "push its memory out", Effect::Report, |w| {
        let range = [w.canary & !4095, 4096];
        call!(SYS_process_madvise, pidfd(w)?, &range, 1, MADV_COLD, 0).map(drop)
    }),
    probe(
        "81",
        "process_mrelease",
        "free its memory (it is not dying: EINVAL is past the look-up)",
        Effect::Report,
        |w| {
            let fd = pidfd(w)?;
            reached(call!(SYS_process_mrelease, fd, 0), &[libc::EINVAL])
        },
    ),
    probe("82", "move_pages harness", "learn on which node its memory lies", Effect::Report, |w| {
        let mut status = [0_i32; 1];
        call!(SYS_move_pages, w.victim, 1, &[w.canary & !4095], NONE, &mut status, 0).map(drop)
    }),
];

fn pidfd(world: &World) -> Result<usize, Errno> {
    call!(SYS_pidfd_open, world.victim, 0)
}

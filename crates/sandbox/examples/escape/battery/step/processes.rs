//! Probes 87-90: other processes, the step's init, and nested namespaces.

use std::ffi::CString;

use libc::{CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, O_RDONLY, O_RDWR, O_WRONLY};

use crate::battery::errno::Errno;
use crate::battery::probe::{
    Attempt, Effect, Probe, World, entries, forked, must, open, open_and_read, probe, reap, text,
};
use crate::battery::sys::call;

const PTRACE_SEIZE: i32 = 0x4206;

pub(super) const PROBES: &[Probe] = &[
    probe("s87a", "host process ids by kill", "find a process of the host by its number", Effect::Report, |w| {
        call!(SYS_kill, w.victim, 0).map(drop)
    }),
    probe("s87b", "host process ids in /proc", "find it in the list of processes", Effect::Report, |w| {
        let names = entries(open(c"/proc", O_RDONLY | libc::O_DIRECTORY)?)?;
        must(names.contains(&w.victim.to_string()))
    }),
    probe("s87c", "kill every process", "signal 0 to all but itself and its init", Effect::Report, |_| {
        call!(SYS_kill, -1, 0).map(drop)
    }),
    probe(
        "s88a",
        "read its supervisor's environ",
        "read the environment of the first process of the step",
        Effect::Report,
        |w| open_and_read(&below(w, "environ")?),
    ),
    probe(
        "s88b",
        "walk its supervisor's root",
        "reach a host file through the root of the first process",
        Effect::Report,
        |w| open_and_read(&below(w, &format!("root{}/exist", w.base))?),
    ),
    probe("s88c", "open its supervisor's mem", "write the memory of the first process", Effect::Report, |w| {
        open(&below(w, "mem")?, O_RDWR).map(drop)
    }),
    probe("s88d", "list its supervisor's fd", "see what the first process has open", Effect::Report, |w| {
        must(!entries(open(&below(w, "fd")?, O_RDONLY | libc::O_DIRECTORY)?)?.is_empty())
    }),
    probe("s88e", "open /proc/sysrq-trigger", "command the kernel", Effect::Report, |_| {
        open(c"/proc/sysrq-trigger", O_WRONLY).map(drop)
    }),
    probe(
        "s88f",
        "open /proc/sys/kernel/core_pattern",
        "have the kernel run a program at the next crash",
        Effect::Report,
        |_| open(c"/proc/sys/kernel/core_pattern", O_WRONLY).map(drop),
    ),
    probe("s88g", "ptrace its parent", "take control of whoever started it", Effect::Report, |w| {
        call!(SYS_ptrace, PTRACE_SEIZE, supervisor(w)?, 0, 0).map(drop)
    }),
    probe("s88h", "read its parent's memory", "read the memory of whoever started it", Effect::Report, |w| {
        let mut word = [0_u64; 1];
        let local = [word.as_mut_ptr() as usize, 8];
        call!(SYS_process_vm_readv, supervisor(w)?, &local, 1, &[w.canary, 8], 1, 0).map(drop)
    }),
    probe("s88i", "take its parent's descriptor", "copy the init's control socket", Effect::Report, |w| {
        let fd = call!(SYS_pidfd_open, supervisor(w)?, 0)?;
        call!(SYS_pidfd_getfd, fd, if supervisor(w)? == 1 { 3 } else { 1 }, 0).map(drop)
    }),
    probe("s89a", "kill -9 of its supervisor", "end the first process of the step", Effect::Death, |w| {
        call!(SYS_kill, supervisor(w)?, libc::SIGKILL).map(drop)
    }),
    probe("s90a", "clone CLONE_NEWUSER", "be root of a namespace inside", Effect::Report, |_| {
        forked(CLONE_NEWUSER, || 0).map(drop)
    }),
    probe("s90b", "clone3 CLONE_NEWUSER", "the same where flags are in memory", Effect::Report, |_| {
        clone3(CLONE_NEWUSER)
    }),
    probe("s90c", "unshare CLONE_NEWUSER", "the same without a child", Effect::Report, |_| {
        call!(SYS_unshare, CLONE_NEWUSER).map(drop)
    }),
    probe("s90d", "clone CLONE_NEWUSER|CLONE_NEWNS", "with a mount table to play with", Effect::Report, |_| {
        forked(CLONE_NEWUSER | CLONE_NEWNS, || 0).map(drop)
    }),
    probe("s90e", "unshare CLONE_NEWUSER|CLONE_NEWNET", "with a network to administer", Effect::Report, |_| {
        call!(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET).map(drop)
    }),
    probe("s90f", "unshare CLONE_NEWPID", "with processes of its own", Effect::Report, |_| {
        call!(SYS_unshare, CLONE_NEWUSER | CLONE_NEWPID).map(drop)
    }),
    probe(
        "s90g",
        "clone with a flag above 32 bits",
        "a user namespace with high bits that a filter may not mask",
        Effect::Report,
        |_| {
            let flags = (1_u64 << 40) | CLONE_NEWUSER as u64 | libc::SIGCHLD as u64;
            let pid = call!(SYS_clone, flags, 0, 0, 0, 0)?;
            if pid == 0 {
                let _ = call!(SYS_exit_group, 0);
            }
            reap(pid).map(drop)
        },
    ),
];

/// The init of the step inside, the victim outside.
fn supervisor(world: &World) -> Result<u32, Errno> {
    let parent = call!(SYS_getppid)?;
    Ok(if parent == 1 { 1 } else { world.victim })
}

fn below(world: &World, name: &str) -> Result<CString, Errno> {
    Ok(text(&format!("/proc/{}/{name}", supervisor(world)?)))
}

fn clone3(flags: i32) -> Attempt {
    let arguments = [flags as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0, 0, 0, 0];
    let pid = call!(SYS_clone3, &arguments, 88)?;
    if pid == 0 {
        let _ = call!(SYS_exit_group, 0);
    }
    reap(pid).map(drop)
}

//! Probes 83-107: more rights, new namespaces, and calls that only an administrator has.

use libc::{CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWUTS};

use crate::battery::errno::Errno;
use crate::battery::probe::{Effect, Probe, forked, nonzero, probe, reached, text};
use crate::battery::sys::{Address, call};

const NONE: Address = Address(0);
const CAPABILITY_V3: u32 = 0x2008_0522;
const SECCOMP_SET_MODE_FILTER: i32 = 1;
const NEW_LISTENER: i32 = 8;
const SYSLOG_READ_ALL: i32 = 3;

pub(super) const PROBES: &[Probe] = &[
    probe("83", "unshare CLONE_NEWUSER", "become root of a new user namespace", Effect::Report, |_| {
        call!(SYS_unshare, CLONE_NEWUSER).map(drop)
    }),
    probe("84", "unshare CLONE_NEWNS", "get a mount table of its own", Effect::Report, |_| {
        call!(SYS_unshare, CLONE_NEWNS).map(drop)
    }),
    probe("85", "clone CLONE_NEWUSER", "make a child that is root of a new user namespace", Effect::Report, |_| {
        forked(CLONE_NEWUSER, || 0).map(drop)
    }),
    probe(
        "86",
        "setns (bad fd)",
        "join a namespace (of a closed descriptor: EBADF is past the filter)",
        Effect::Report,
        |_| reached(call!(SYS_setns, -1, 0), &[libc::EBADF]),
    ),
    probe("87", "setns harness pidfd", "join the host-name namespace of the victim", Effect::Report, |w| {
        let fd = call!(SYS_pidfd_open, w.victim, 0)?;
        call!(SYS_setns, fd, CLONE_NEWUTS).map(drop)
    }),
    probe("88", "setuid(0)", "become root", Effect::Report, |_| call!(SYS_setuid, 0).map(drop)),
    probe("89", "setgroups", "drop the groups that deny it something", Effect::Report, |_| {
        call!(SYS_setgroups, 0, NONE).map(drop)
    }),
    probe("90", "capget+capset same set", "use the capabilities it has (none is a stop)", Effect::Report, |_| {
        let header = [CAPABILITY_V3, 0];
        let mut sets = [0_u32; 6];
        call!(SYS_capget, &header, &mut sets)?;
        if sets.first() == Some(&0) {
            return Err(Errno(libc::EPERM));
        }
        call!(SYS_capset, &header, &sets).map(drop)
    }),
    probe("91", "prctl clear PDEATHSIG", "outlive its parent", Effect::Report, |_| prctl(libc::PR_SET_PDEATHSIG, 0, 0)),
    probe("92", "prctl PR_SET_DUMPABLE 1", "allow others to read it", Effect::Report, |_| {
        prctl(libc::PR_SET_DUMPABLE, 1, 0)
    }),
    probe("93", "prctl PR_SET_PTRACER any", "allow anybody to trace it", Effect::Report, |_| {
        prctl(libc::PR_SET_PTRACER, -1, 0)
    }),
    probe("94", "seccomp add allow-all filter", "put a filter of its own in front", Effect::Report, |_| filter(0)),
    probe("95", "seccomp NEW_LISTENER", "answer system calls itself", Effect::Report, |_| filter(NEW_LISTENER)),
    probe("96", "iopl(3)", "get all I/O ports", Effect::Report, |_| call!(SYS_iopl, 3).map(drop)),
    probe("97", "ioperm", "get one I/O port", Effect::Report, |_| call!(SYS_ioperm, 0x80, 1, 1).map(drop)),
    probe("98", "modify_ldt read", "reach the segment tables", Effect::Report, |_| {
        let mut table = [0_u8; 64];
        call!(SYS_modify_ldt, 0, &mut table, 64).map(drop)
    }),
    probe("99", "sethostname", "set the host name (to what it is)", Effect::Report, |w| {
        call!(SYS_sethostname, &*text(&w.host), w.host.len()).map(drop)
    }),
    probe("100", "raise RLIMIT_NOFILE hard", "lift a limit that was set for it", Effect::Report, |_| {
        let mut old = [0_u64; 2];
        let resource = libc::RLIMIT_NOFILE as i32;
        call!(SYS_prlimit64, 0, resource, NONE, &mut old)?;
        let [soft, hard] = old;
        call!(SYS_prlimit64, 0, resource, &[soft, hard + 1], NONE).map(drop)
    }),
    probe("101", "sched_setscheduler FIFO", "run before everybody else", Effect::Report, |_| {
        call!(SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &[1]).map(drop)
    }),
    probe("102", "mlockall", "pin its memory", Effect::Report, |_| call!(SYS_mlockall, libc::MCL_CURRENT).map(drop)),
    probe(
        "103",
        "clock_settime (bad clock)",
        "set a clock (that does not exist: EINVAL is past the filter)",
        Effect::Report,
        |_| reached(call!(SYS_clock_settime, 9999, &[1_u64, 0]), &[libc::EINVAL]),
    ),
    probe(
        "104",
        "reboot (bad magic)",
        "restart the machine (EINVAL is past the permission check)",
        Effect::Report,
        |_| reached(call!(SYS_reboot, 0, 0, 0, NONE), &[libc::EINVAL]),
    ),
    probe(
        "105",
        "init_module (bad)",
        "load a module (no module: ENOEXEC or EFAULT is past the permission check)",
        Effect::Report,
        |_| reached(call!(SYS_init_module, b"not a module....", 16, c""), &[libc::ENOEXEC, libc::EFAULT]),
    ),
    probe(
        "106",
        "swapon (missing)",
        "swap to a file (that is not there: ENOENT is past the permission check)",
        Effect::Report,
        |w| reached(call!(SYS_swapon, &*w.path("missing"), 0), &[libc::ENOENT]),
    ),
    probe("107", "syslog dmesg", "read the kernel's log", Effect::Report, |_| {
        let mut log = [0_u8; 4096];
        nonzero(call!(SYS_syslog, SYSLOG_READ_ALL, &mut log, 4096)?)
    }),
];

fn prctl(option: i32, value: i32, more: i32) -> Result<(), Errno> {
    call!(SYS_prctl, option, value, more, 0, 0).map(drop)
}

/// Installs a filter that allows everything. Only an unprivileged caller outside needs `no_new_privs` first; inside it is
/// set, so the filter is tried before anything else.
fn filter(flags: i32) -> Result<(), Errno> {
    let allow = 0x7fff_0000_0000_0006_u64; // one instruction: return SECCOMP_RET_ALLOW
    let program = [1_usize, [allow].as_ptr() as usize];
    let install = || call!(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program).map(drop);
    match install() {
        Err(Errno(libc::EACCES)) => {
            prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
            install()
        }
        other => other,
    }
}

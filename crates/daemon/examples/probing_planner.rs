//! The planner's seat with one forbidden system call in place of a task, for the tests of the monitor: it seals itself by the code of
//! the real planner, reads its goal (`PROBE FOLDER`), and enters the kernel as hostile machine code would. Put beside
//! `countersignd` under the real one's name. Started by hand with a probe and a folder it does the same unsealed, and without
//! arguments it lists its probes: name, call, whether it succeeds where nothing forbids it.
#![expect(unsafe_code, reason = "a probe is a raw system call: a wrapper of a library would refuse or change it")]

use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::process::ExitCode;

use countersign_planner::seat;
use countersign_wire::frame;
use countersign_wire::planner::from_planner::{GiveUp, Kind};
use countersign_wire::planner::{FromPlanner, Task, ToPlanner, to_planner};
use libc::{
    AT_FDCWD, MAP_ANONYMOUS, MAP_PRIVATE, O_CREAT, O_WRONLY, PROT_EXEC, PROT_READ, PROT_WRITE, SOCK_STREAM, c_long,
};

/// One argument of a probe.
#[derive(Clone, Copy)]
enum Arg {
    /// A number.
    N(i64),
    /// A path of the host.
    Host(&'static CStr),
    /// A name in the test's folder that is free.
    Trace,
    /// A file in the test's folder.
    Kept,
    /// A page of zeroes.
    Zeroes,
    /// Another page of zeroes, for what the call writes.
    Room,
    /// The arguments of a shell that makes the trace.
    Shell,
    /// The parent, by its process id; for a sealed planner the first process.
    Parent,
}
use Arg::{Host, Kept, N, Parent, Room, Shell, Trace, Zeroes};

/// What a probe shows where nothing forbids it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// The call succeeds.
    Succeeds,
    /// The call makes a second process, which leaves a trace.
    Splits,
    /// It would harm whoever tests, or needs what only the sealed planner has: only tried there.
    Unsaid,
}
use Outside::{Splits, Succeeds, Unsaid};

struct Probe(&'static str, c_long, &'static [Arg], Outside);

const PRIVATE: i64 = (MAP_PRIVATE | MAP_ANONYMOUS) as i64;
const EXECUTABLE: i64 = (PROT_READ | PROT_EXEC) as i64;
const READ_WRITE: i64 = (PROT_READ | PROT_WRITE) as i64;
const HERE: Arg = N(AT_FDCWD as i64);
const CONTROL: Arg = N(3);
const PAGE: Arg = N(4096);

const PROBES: &[Probe] = &[
    // Files.
    Probe("open", libc::SYS_open, &[Host(c"/etc/passwd"), N(0)], Succeeds),
    Probe("openat", libc::SYS_openat, &[HERE, Host(c"/etc/passwd"), N(0)], Succeeds),
    Probe("openat2", libc::SYS_openat2, &[HERE, Host(c"/etc/passwd"), Zeroes, N(24)], Succeeds),
    Probe("openat a new file", libc::SYS_openat, &[HERE, Trace, N((O_CREAT | O_WRONLY) as i64), N(0o600)], Succeeds),
    Probe("creat", libc::SYS_creat, &[Trace, N(0o600)], Succeeds),
    Probe("unlink", libc::SYS_unlink, &[Kept], Succeeds),
    Probe("unlinkat", libc::SYS_unlinkat, &[HERE, Kept, N(0)], Succeeds),
    Probe("rename", libc::SYS_rename, &[Kept, Trace], Succeeds),
    Probe("link", libc::SYS_link, &[Kept, Trace], Succeeds),
    Probe("symlink", libc::SYS_symlink, &[Host(c"/etc/passwd"), Trace], Succeeds),
    Probe("mkdir", libc::SYS_mkdir, &[Trace, N(0o700)], Succeeds),
    Probe("mknod", libc::SYS_mknod, &[Trace, N((libc::S_IFIFO | 0o600) as i64), N(0)], Succeeds),
    Probe("truncate", libc::SYS_truncate, &[Kept, N(0)], Succeeds),
    Probe("chmod", libc::SYS_chmod, &[Kept, N(0o4777)], Succeeds),
    Probe("stat", libc::SYS_stat, &[Host(c"/etc/passwd"), Room], Succeeds),
    Probe("access", libc::SYS_access, &[Host(c"/"), N(0)], Succeeds),
    Probe("readlink", libc::SYS_readlink, &[Host(c"/proc/self/exe"), Room, PAGE], Succeeds),
    Probe("chdir", libc::SYS_chdir, &[Host(c"/")], Succeeds),
    Probe("chroot", libc::SYS_chroot, &[Host(c"/")], Unsaid),
    Probe("getdents64", libc::SYS_getdents64, &[CONTROL, Room, PAGE], Unsaid),
    Probe("inotify_init1", libc::SYS_inotify_init1, &[N(0)], Succeeds),
    // Mounts.
    Probe("mount", libc::SYS_mount, &[Host(c"tmpfs"), Host(c"/"), Host(c"tmpfs"), N(0), N(0)], Unsaid),
    Probe("umount2", libc::SYS_umount2, &[Host(c"/proc"), N(2)], Unsaid),
    Probe("pivot_root", libc::SYS_pivot_root, &[Host(c"/"), Host(c"/")], Unsaid),
    Probe("fsopen", libc::SYS_fsopen, &[Host(c"tmpfs"), N(0)], Unsaid),
    Probe("open_tree", libc::SYS_open_tree, &[HERE, Host(c"/"), N(0)], Succeeds),
    // Network and other sockets.
    Probe("socket", libc::SYS_socket, &[N(libc::AF_INET as i64), N(SOCK_STREAM as i64), N(0)], Succeeds),
    Probe("socket of netlink", libc::SYS_socket, &[N(libc::AF_NETLINK as i64), N(libc::SOCK_RAW as i64), N(0)], Unsaid),
    Probe("socketpair", libc::SYS_socketpair, &[N(libc::AF_UNIX as i64), N(SOCK_STREAM as i64), N(0), Room], Succeeds),
    Probe("connect", libc::SYS_connect, &[CONTROL, Zeroes, N(16)], Unsaid),
    Probe("bind", libc::SYS_bind, &[CONTROL, Zeroes, N(16)], Unsaid),
    Probe("listen", libc::SYS_listen, &[CONTROL, N(1)], Unsaid),
    Probe("accept4", libc::SYS_accept4, &[CONTROL, N(0), N(0), N(0)], Unsaid),
    Probe("sendmsg", libc::SYS_sendmsg, &[CONTROL, Zeroes, N(0)], Unsaid),
    Probe("recvmsg", libc::SYS_recvmsg, &[CONTROL, Zeroes, N(0)], Unsaid),
    Probe("sendto another address", libc::SYS_sendto, &[CONTROL, Zeroes, N(1), N(0), Zeroes, N(16)], Unsaid),
    Probe("setsockopt", libc::SYS_setsockopt, &[CONTROL, N(1), N(16), Zeroes, N(4)], Unsaid),
    Probe("ioctl", libc::SYS_ioctl, &[CONTROL, N(libc::FIONREAD.cast_signed()), Room], Unsaid),
    // Programs, processes, code.
    Probe("execve", libc::SYS_execve, &[Host(c"/bin/sh"), Shell, N(0)], Splits),
    Probe("execveat", libc::SYS_execveat, &[HERE, Host(c"/bin/sh"), Shell, N(0), N(0)], Splits),
    Probe("fork", libc::SYS_fork, &[], Splits),
    Probe("vfork", libc::SYS_vfork, &[], Unsaid),
    Probe("clone", libc::SYS_clone, &[N(libc::SIGCHLD as i64), N(0), N(0), N(0), N(0)], Splits),
    Probe("clone3", libc::SYS_clone3, &[Zeroes, N(64)], Splits),
    Probe("memfd_create", libc::SYS_memfd_create, &[Host(c"probe"), N(0)], Succeeds),
    Probe("mmap executable", libc::SYS_mmap, &[N(0), PAGE, N(EXECUTABLE), N(PRIVATE), N(-1), N(0)], Succeeds),
    Probe("mmap of a file", libc::SYS_mmap, &[N(0), PAGE, N(READ_WRITE), N(2), CONTROL, N(0)], Unsaid),
    Probe("mprotect executable", libc::SYS_mprotect, &[Room, PAGE, N(EXECUTABLE)], Succeeds),
    Probe("pkey_mprotect executable", libc::SYS_pkey_mprotect, &[Room, PAGE, N(EXECUTABLE), N(-1)], Succeeds),
    Probe("personality", libc::SYS_personality, &[N(0xffff_ffff)], Succeeds),
    // Other processes.
    Probe("ptrace", libc::SYS_ptrace, &[N(0), N(0), N(0), N(0)], Unsaid),
    Probe("process_vm_readv", libc::SYS_process_vm_readv, &[Parent, Zeroes, N(1), Zeroes, N(1), N(0)], Succeeds),
    Probe("process_vm_writev", libc::SYS_process_vm_writev, &[Parent, Zeroes, N(1), Zeroes, N(1), N(0)], Succeeds),
    Probe("kill", libc::SYS_kill, &[Parent, N(0)], Succeeds),
    Probe("kill everybody", libc::SYS_kill, &[N(-1), N(0)], Unsaid),
    Probe("tgkill", libc::SYS_tgkill, &[Parent, Parent, N(0)], Succeeds),
    Probe("pidfd_open", libc::SYS_pidfd_open, &[Parent, N(0)], Succeeds),
    Probe("pidfd_getfd", libc::SYS_pidfd_getfd, &[CONTROL, N(0), N(0)], Unsaid),
    Probe("kcmp", libc::SYS_kcmp, &[Parent, Parent, N(0), N(0), N(0)], Unsaid),
    Probe("prlimit64", libc::SYS_prlimit64, &[Parent, N(7), N(0), Room], Succeeds),
    Probe("getppid", libc::SYS_getppid, &[], Succeeds),
    // Privilege, namespaces, what the seal itself set.
    Probe("unshare", libc::SYS_unshare, &[N(libc::CLONE_NEWUSER as i64)], Unsaid),
    Probe("setns", libc::SYS_setns, &[CONTROL, N(0)], Unsaid),
    Probe("setuid", libc::SYS_setuid, &[N(0)], Unsaid),
    Probe("capset", libc::SYS_capset, &[Zeroes, Zeroes], Unsaid),
    Probe("prctl dumpable", libc::SYS_prctl, &[N(libc::PR_SET_DUMPABLE as i64), N(1)], Succeeds),
    Probe("prctl death signal", libc::SYS_prctl, &[N(libc::PR_SET_PDEATHSIG as i64), N(0)], Succeeds),
    Probe("seccomp", libc::SYS_seccomp, &[N(1), N(0), Zeroes], Unsaid),
    Probe("landlock_create_ruleset", libc::SYS_landlock_create_ruleset, &[N(0), N(0), N(1)], Succeeds),
    Probe("rt_sigaction", libc::SYS_rt_sigaction, &[N(10), N(0), Room, N(8)], Succeeds),
    Probe("arch_prctl", libc::SYS_arch_prctl, &[N(0x1003), Room], Succeeds),
    // Keys and the kernel's surface.
    Probe("add_key", libc::SYS_add_key, &[Host(c"user"), Host(c"k"), Zeroes, N(1), N(-2)], Unsaid),
    Probe("keyctl", libc::SYS_keyctl, &[N(0), N(-3), N(0)], Unsaid),
    Probe("request_key", libc::SYS_request_key, &[Host(c"user"), Host(c"k"), N(0), N(0)], Unsaid),
    Probe("io_uring_setup", libc::SYS_io_uring_setup, &[N(1), Room], Succeeds),
    Probe("bpf", libc::SYS_bpf, &[N(0), Zeroes, N(72)], Unsaid),
    Probe("perf_event_open", libc::SYS_perf_event_open, &[Zeroes, N(0), N(-1), N(-1), N(0)], Unsaid),
    Probe("userfaultfd", libc::SYS_userfaultfd, &[N(0)], Succeeds),
    Probe("shmget", libc::SYS_shmget, &[N(0), PAGE, N(0o1000)], Unsaid),
    Probe("semget", libc::SYS_semget, &[N(0), N(1), N(0o1000)], Unsaid),
    Probe("splice", libc::SYS_splice, &[CONTROL, N(0), CONTROL, N(0), N(1), N(0)], Unsaid),
    Probe("futex with inheritance", libc::SYS_futex, &[Room, N(6), N(0), N(0), N(0), N(0)], Succeeds),
    Probe("madvise mergeable", libc::SYS_madvise, &[Room, PAGE, N(12)], Unsaid),
    Probe("reboot", libc::SYS_reboot, &[N(0), N(0), N(0), N(0)], Unsaid),
    // Descriptors.
    Probe("dup", libc::SYS_dup, &[N(0)], Succeeds),
    Probe("dup2", libc::SYS_dup2, &[N(0), N(9)], Succeeds),
    Probe("dup3", libc::SYS_dup3, &[N(0), N(9), N(0)], Succeeds),
    Probe("fcntl duplicate", libc::SYS_fcntl, &[N(0), N(0), N(9)], Succeeds),
    Probe("pipe2", libc::SYS_pipe2, &[Room, N(0)], Succeeds),
    Probe("eventfd2", libc::SYS_eventfd2, &[N(0), N(0)], Succeeds),
    // Numbers that nobody knows, and those of another table.
    Probe("a number beyond the table", 9999, &[], Unsaid),
    Probe("the x32 table", 0x4000_0000 | libc::SYS_getpid, &[], Unsaid),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [] if std::env::args().next().is_some_and(|name| name.ends_with("probing_planner")) => list(),
        [] => sealed(),
        [words @ .., folder] => {
            attempt(&words.join(" "), folder, parent()).and_then(|what| writeln!(io::stdout(), "{what}"))
        }
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list() -> io::Result<()> {
    for Probe(name, number, _, outside) in PROBES {
        let outside = match outside {
            Succeeds => "succeeds",
            Splits => "splits",
            Unsaid => "unsaid",
        };
        writeln!(io::stdout(), "{name}\t{number}\t{outside}")?;
    }
    Ok(())
}

fn sealed() -> io::Result<()> {
    let mut socket = seat::take().map_err(io::Error::other)?;
    let message: ToPlanner = frame::read(&mut socket, frame::FRAME_LIMIT).map_err(io::Error::other)?;
    let Some(to_planner::Kind::Start(start)) = message.kind else { return Ok(()) };
    let Task::Draft { goal, .. } = serde_json::from_slice(&start.task)? else { return Ok(()) };
    let (name, folder) = goal.rsplit_once(' ').ok_or(io::ErrorKind::InvalidInput)?;
    // Nothing but the call lies between the goal and the words of one that came through.
    let reason = attempt(name, folder, 1)?;
    let through = FromPlanner { kind: Some(Kind::GiveUp(GiveUp { reason })) };
    frame::write(&mut socket, &through).map_err(io::Error::other)
}

fn attempt(name: &str, folder: &str, parent: c_long) -> io::Result<String> {
    let Some(Probe(_, number, arguments, outside)) = PROBES.iter().find(|Probe(known, ..)| *known == name) else {
        // The control: a planner of this image that tries nothing.
        return Ok("nothing was tried".to_owned());
    };
    let trace = CString::new(format!("{folder}/trace"))?;
    let kept = CString::new(format!("{folder}/kept"))?;
    let script = CString::new(format!("echo > {folder}/trace"))?;
    let shell = [c"sh".as_ptr(), c"-c".as_ptr(), script.as_ptr(), std::ptr::null()];
    let (zeroes, room) = (Page::zeroes(), Box::leak(Box::new(Page::zeroes())));
    let mut six: [c_long; 6] = [0; 6];
    for (slot, argument) in six.iter_mut().zip(*arguments) {
        *slot = match argument {
            N(number) => *number,
            Host(path) => path.as_ptr().addr().cast_signed() as c_long,
            Trace => trace.as_ptr().addr().cast_signed() as c_long,
            Kept => kept.as_ptr().addr().cast_signed() as c_long,
            Zeroes => (&raw const zeroes).addr().cast_signed() as c_long,
            Room => (&raw mut *room).addr().cast_signed() as c_long,
            Shell => shell.as_ptr().addr().cast_signed() as c_long,
            Parent => parent,
        };
    }
    let [a, b, c, d, e, f] = six;
    // SAFETY: every address among the arguments is that of memory which lives to the end of this function and is as large as the call may
    // use; what the call does to this process otherwise is what is probed.
    let answer = unsafe { libc::syscall(*number, a, b, c, d, e, f) };
    if answer == 0 && *outside == Splits {
        // The second process: it can only show that it is there.
        drop(std::fs::write(format!("{folder}/trace"), "x"));
        std::process::abort();
    }
    let error = io::Error::last_os_error();
    Ok(if answer < 0 { format!("failed: {error}") } else { "came through".to_owned() })
}

/// The parent's process id, as nobody sealed can learn it; else the first process.
fn parent() -> c_long {
    let parent = std::fs::read_to_string("/proc/self/stat").ok();
    let parent = parent.as_deref().and_then(|stat| stat.rsplit_once(')')).map(|(_, rest)| rest);
    parent.and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok()).unwrap_or(1)
}

#[repr(align(4096))]
struct Page {
    _bytes: [u8; 4096],
}

impl Page {
    const fn zeroes() -> Self {
        Self { _bytes: [0; 4096] }
    }
}

//! Clone, exec, descriptors by number, signals and limits.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use super::outcome;

/// What `clone3(2)` makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CloneRequest {
    /// `CLONE_NEW*` flags.
    pub(crate) namespaces: u64,
    /// A control group (v2) for the child.
    pub(crate) cgroup: Option<RawFd>,
}

/// Which side of a clone one is on.
#[derive(Debug)]
pub(crate) enum Forked {
    /// The new process.
    Child,
    /// The old one.
    Parent {
        /// The child's process id.
        pid: u32,
        /// A descriptor of the child, close-on-exec.
        pidfd: OwnedFd,
    },
}

/// `clone3(2)` with a copy of the address space. The child's signal handlers are reset.
///
/// The caller has one thread: no lock can be held by a thread that does not exist in the child. Even so the
/// child only makes system calls on memory that was prepared before.
pub(crate) fn clone_process(request: CloneRequest) -> io::Result<Forked> {
    const CLEAR_SIGHAND: u64 = 0x1_0000_0000;
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut pidfd: libc::c_int = -1;
    // SAFETY: all bytes zero is a valid `clone_args`: no stack, no TLS, no set_tid.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = request.namespaces | libc::CLONE_PIDFD as u64 | CLEAR_SIGHAND;
    arguments.pidfd = (&raw mut pidfd) as u64;
    arguments.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = request.cgroup {
        arguments.flags |= INTO_CGROUP;
        arguments.cgroup = u64::from(cgroup.cast_unsigned());
    }
    // SAFETY: without CLONE_VM and without a stack the call behaves like fork: both sides return here, each with its own
    // copy of memory. `arguments` and `pidfd` outlive the call.
    let mut result = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    // A container's filter cannot read the flags of `clone3` and answers "not implemented"; those of `clone` it can judge.
    let refused = result < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS);
    if refused && request.cgroup.is_none() {
        let flags = request.namespaces | (libc::CLONE_PIDFD | libc::SIGCHLD) as u64;
        let (no_stack, no_child_tid, no_tls): (usize, usize, usize) = (0, 0, 0);
        // SAFETY: as above; CLONE_PIDFD stores the descriptor at the third argument. Handlers that `clone3` would have reset
        // end at `exec`.
        result = unsafe { libc::syscall(libc::SYS_clone, flags, no_stack, &raw mut pidfd, no_child_tid, no_tls) };
    }
    match outcome(result)? {
        0 => Ok(Forked::Child),
        pid => {
            // SAFETY: CLONE_PIDFD stored a new descriptor that nobody else owns.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            let pid = u32::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            Ok(Forked::Parent { pid, pidfd })
        }
    }
}

/// `clone(2)` that shares memory until the child executes another program (like `vfork`), with a descriptor of the child: no page table is copied.
/// Not `clone3`, which a step init's own filter answers with "not implemented".
///
/// The child runs `body` on a stack of its own while the caller is suspended; `body` executes another program or returns a status with which
/// the child ends. Whatever it writes, the caller sees: it must leave shared values as they are, and only makes system calls.
pub(crate) fn clone_suspended(body: &mut dyn FnMut() -> i32) -> io::Result<(u32, OwnedFd)> {
    /// What `body` may use, with room for the deepest frame of an unoptimised build.
    const STACK: usize = 256 * 1024;
    extern "C" fn enter(argument: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the argument is the address of `body` below, which outlives the child's use of this memory: the caller is
        // suspended until the child executes another program or ends.
        let body = unsafe { &mut *argument.cast::<&mut dyn FnMut() -> i32>() };
        body()
    }
    let mut body = body;
    let mut stack: Vec<u128> = Vec::with_capacity(STACK / size_of::<u128>());
    let mut pidfd: libc::c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    // SAFETY: the stack grows down from the end of an allocation that is not used for anything else (aligned to 16 bytes) and
    // outlives the child's use of it. The child shares memory, so it must not unwind: `extern "C"` aborts instead. CLONE_PIDFD
    // stores a descriptor at the fifth argument.
    let result = unsafe {
        libc::clone(
            enter,
            top.cast(),
            flags,
            (&raw mut body).cast(),
            &raw mut pidfd,
            std::ptr::null_mut::<u8>(),
            std::ptr::null_mut::<u8>(),
        )
    };
    let pid = outcome(result.into())?;
    let pid = u32::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: CLONE_PIDFD stored a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok((pid, pidfd))
}

/// Ends the process without running anything else.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` runs no destructor and touches no memory.
    unsafe { libc::_exit(status) }
}

/// `execveat(2)` of an open file. Returns only on failure. `arguments` and `environment` are null-terminated arrays.
pub(crate) fn execute(file: impl AsFd, arguments: &NullTerminated<'_>, environment: &NullTerminated<'_>) -> io::Error {
    // SAFETY: both arrays end with null and point to C strings that outlive the call (`NullTerminated` borrows them).
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            file.as_fd().as_raw_fd(),
            c"".as_ptr(),
            arguments.pointers.as_ptr(),
            environment.pointers.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

/// `execve(2)` of a path. Returns only on failure.
pub(crate) fn execute_path(path: &CStr, arguments: &NullTerminated<'_>, environment: &NullTerminated<'_>) -> io::Error {
    // SAFETY: both arrays end with null and point to C strings that outlive the call (`NullTerminated` borrows them).
    unsafe { libc::execve(path.as_ptr(), arguments.pointers.as_ptr(), environment.pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// An array of C strings in the form that `execve(2)` takes, prepared before the clone.
#[derive(Debug)]
pub(crate) struct NullTerminated<'a> {
    pointers: Vec<*const libc::c_char>,
    borrowed: std::marker::PhantomData<&'a CStr>,
}

impl<'a> NullTerminated<'a> {
    /// Collects the pointers and appends null.
    pub(crate) fn new(strings: impl IntoIterator<Item = &'a CStr>) -> Self {
        let pointers = strings.into_iter().map(CStr::as_ptr).chain(std::iter::once(std::ptr::null())).collect();
        Self { pointers, borrowed: std::marker::PhantomData }
    }
}

/// Puts a copy of `from` at exactly the number `to`, inherited across `exec`. Whatever was open there is closed.
pub(crate) fn duplicate_to(from: impl AsFd, to: RawFd) -> io::Result<()> {
    let from = from.as_fd().as_raw_fd();
    // SAFETY: no memory is passed. The callers own the numbering of descriptors: they run between clone and exec.
    let result = unsafe { libc::syscall(libc::SYS_dup3, from, to, 0) };
    outcome(result).map(drop)
}

/// Closes a descriptor whose owner lives in the parent: the child's copy of that owner never runs its destructor.
pub(crate) fn close(descriptor: BorrowedFd<'_>) {
    // SAFETY: no memory is passed; the child between clone and exec does not use the number again.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// Marks every descriptor from `first` up as closing at `exec`.
pub(crate) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: no memory is passed and nothing is closed now.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    outcome(result).map(drop)
}

/// Whether the calling process has exactly one thread: `unshare(CLONE_THREAD)` succeeds without any effect then. `None` where a
/// container's filter forbids the question.
pub(crate) fn is_single_threaded() -> Option<bool> {
    // SAFETY: no memory is passed; the call changes nothing.
    match outcome(unsafe { libc::unshare(libc::CLONE_THREAD) }.into()) {
        Ok(_) => Some(true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Some(false),
        Err(_) => None,
    }
}

/// Gives `SIGCHLD` its default again: where whoever started this process ignores it, children vanish before anybody can ask how they ended.
pub(crate) fn wait_for_children() -> io::Result<()> {
    reset_signal(libc::SIGCHLD)
}

fn reset_signal(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: SIG_DFL is a valid disposition; no handler is replaced by code.
    let previous = unsafe { libc::signal(signal, libc::SIG_DFL) };
    if previous == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Unblocks all signals and gives those that are commonly ignored their default again (`SIGPIPE` by the Rust runtime, the others by whoever started
/// the spawner): both survive `exec`.
pub(crate) fn reset_signals() -> io::Result<()> {
    // SAFETY: all bytes zero is a valid empty `sigset_t`.
    let none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` outlives the call; no old set is asked for.
    let result = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
    outcome(result.into())?;
    [libc::SIGPIPE, libc::SIGCHLD, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM]
        .into_iter()
        .try_for_each(reset_signal)
}

/// Sets soft and hard limit of a resource (`RLIMIT_*`) of the calling process.
pub(crate) fn set_limit(resource: u32, value: u64) -> io::Result<()> {
    let limit = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    // SAFETY: `limit` outlives the call; no old limit is asked for.
    let result = unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, resource, &raw const limit, std::ptr::null_mut::<libc::rlimit64>())
    };
    outcome(result).map(drop)
}

/// The calling process's hard limit of a resource (`RLIMIT_*`); `None` where there is none.
pub(crate) fn hard_limit(resource: u32) -> io::Result<Option<u64>> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: no new limit is given; the kernel writes one `rlimit64`, which outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, std::ptr::null::<libc::rlimit64>(), &raw mut limit) };
    outcome(result)?;
    Ok((limit.rlim_max != libc::RLIM64_INFINITY).then_some(limit.rlim_max))
}

/// The control socket, at the number that the spawner gave it. If it is not open, using it fails.
pub(crate) fn control_socket() -> BorrowedFd<'static> {
    // SAFETY: nothing is owned here; the number is not -1.
    unsafe { BorrowedFd::borrow_raw(3) }
}

/// Takes ownership of an inherited descriptor.
///
/// The caller ensures that it is asked for once: two owners would close each other's files, though nothing worse.
pub(crate) fn adopt(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_SETFD takes a number; a descriptor that is not open gives EBADF.
    let result = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    outcome(result.into())?;
    // SAFETY: it is open (checked just now), was inherited across exec, and `seal::inherited` gives each number out once.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

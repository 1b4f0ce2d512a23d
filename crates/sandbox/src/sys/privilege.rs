//! Capabilities, secure bits, keyring, Landlock and seccomp of the calling thread.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use super::outcome;
use crate::instruction::Instruction;

/// Capabilities that a privileged spawner needs (`linux/capability.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Capability {
    SetGid = 6,
    SetUid = 7,
    SetPcap = 8,
    NetAdmin = 12,
    SysAdmin = 21,
}

/// `struct __user_cap_header_struct`, version 3, the calling thread.
#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// `struct __user_cap_data_struct`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;

/// The effective capabilities as a bit set.
pub(crate) fn effective_capabilities() -> io::Result<u64> {
    let header = Header { version: VERSION_3, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: version 3 writes two `Sets`; both pointers outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) };
    outcome(result)?;
    let [low, high] = sets;
    Ok(u64::from(low.effective) | u64::from(high.effective) << 32)
}

/// Empties the effective, permitted, inheritable and ambient sets.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let header = Header { version: VERSION_3, pid: 0 };
    let sets = [Sets::default(); 2];
    // SAFETY: version 3 reads two `Sets`; both pointers outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
    outcome(result)?;
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong)
}

/// Empties the bounding set: no later `execve` can gain a capability.
pub(crate) fn clear_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            // The first number that this kernel does not know ends the list.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && capability > 0 => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the bounding set was emptied; the first capability stands for all.
pub(crate) fn bounding_set_is_empty() -> bool {
    let zero: libc::c_ulong = 0;
    // SAFETY: the option takes a number.
    unsafe { libc::prctl(libc::PR_CAPBSET_READ, zero, zero, zero, zero) == 0 }
}

/// Whether the calling thread is under a filter (`SECCOMP_MODE_FILTER`).
pub(crate) fn is_filtered() -> bool {
    let zero: libc::c_ulong = 0;
    // SAFETY: the option takes no argument.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, zero, zero, zero, zero) == 2 }
}

/// Root is nobody special, and stays so (`capabilities(7)`, all bits locked).
pub(crate) fn lock_secure_bits() -> io::Result<()> {
    const NO_ROOT: libc::c_ulong = 0b11;
    const NO_SETUID_FIXUP: libc::c_ulong = 0b11 << 2;
    const KEEP_CAPS_LOCKED: libc::c_ulong = 0b10 << 4;
    const NO_AMBIENT_RAISE: libc::c_ulong = 0b11 << 6;
    prctl(libc::PR_SET_SECUREBITS, NO_ROOT | NO_SETUID_FIXUP | KEEP_CAPS_LOCKED | NO_AMBIENT_RAISE)
}

/// A `prctl(2)` whose arguments are numbers.
fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    let zero: libc::c_ulong = 0;
    // SAFETY: the options used here take no pointer.
    let result = unsafe { libc::prctl(option, argument, zero, zero, zero) };
    outcome(result.into()).map(drop)
}

/// A new, empty session keyring: the inherited one holds the invoker's keys (`keyctl(2)`).
pub(crate) fn join_new_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name asks for an anonymous keyring; no memory is passed.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
    outcome(result).map(drop)
}

/// Moves the calling thread into a new user namespace.
pub(crate) fn unshare_user_namespace() -> io::Result<()> {
    unshare(libc::CLONE_NEWUSER)
}

/// Moves the calling process into a copy of its mount namespace, which nobody else is in.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)
}

/// Moves the calling thread into new namespaces of [`crate::Layer::HANDED_ON`]: an empty network, no IPC objects, a copy of the host name.
pub(crate) fn unshare_handed_on() -> io::Result<()> {
    unshare(libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS)
}

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result = unsafe { libc::unshare(flags) };
    outcome(result.into()).map(drop)
}

/// The Landlock ABI of this kernel.
pub(crate) fn landlock_abi() -> io::Result<i32> {
    const VERSION: libc::c_long = 1;
    // SAFETY: with the version flag the attribute must be null and of size 0.
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    outcome(result).map(|abi| abi as i32)
}

/// Allows `access` beneath a file that was opened after the rule set was made.
pub(crate) fn add_landlock_path(ruleset: impl AsFd, file: impl AsFd, access: u64) -> io::Result<()> {
    /// `struct landlock_path_beneath_attr`.
    #[repr(C, packed)]
    struct PathBeneath {
        allowed: u64,
        parent: i32,
    }
    const PATH_BENEATH: libc::c_long = 1;
    let rule = PathBeneath { allowed: access, parent: file.as_fd().as_raw_fd() };
    // SAFETY: `rule` outlives the call and has the packed layout that the kernel reads.
    let result = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_fd().as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
    };
    outcome(result).map(drop)
}

/// `landlock_restrict_self(2)` with a prepared rule set.
pub(crate) fn restrict_with_landlock(ruleset: impl AsFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_fd().as_raw_fd(), 0) };
    outcome(result).map(drop)
}

/// `seccomp(SECCOMP_SET_MODE_FILTER)` on the calling thread.
pub(crate) fn install_filter(code: &[Instruction]) -> io::Result<()> {
    set_filter(code, 0).map(drop)
}

/// The same with a listener (`SECCOMP_FILTER_FLAG_NEW_LISTENER`): whoever holds it reads the calls that the filter reports.
pub(crate) fn install_listening_filter(code: &[Instruction]) -> io::Result<OwnedFd> {
    let descriptor = set_filter(code, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    let descriptor = RawFd::try_from(descriptor).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: with this flag the call returns a new descriptor (close-on-exec) that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn set_filter(code: &[Instruction], flags: libc::c_ulong) -> io::Result<libc::c_long> {
    /// `struct sock_fprog`.
    #[repr(C)]
    struct Program {
        length: u16,
        code: *const Instruction,
    }
    let length = u16::try_from(code.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = Program { length, code: code.as_ptr() };
    // SAFETY: `program` and the instructions outlive the call; the kernel copies them. `Instruction` is `repr(C)` with the
    // layout of `struct sock_filter`.
    outcome(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) })
}

/// Whether a descriptor is a filter's listener: only such a one can say that it knows no report of this number.
pub(crate) fn is_listener(descriptor: impl AsFd) -> bool {
    let none: u64 = 0;
    // SAFETY: the kernel reads one `u64`, which outlives the call; the size is part of the request's number.
    let result = unsafe {
        libc::ioctl(descriptor.as_fd().as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &raw const none)
    };
    matches!(outcome(result.into()), Err(error) if error.raw_os_error() == Some(libc::ENOENT))
}

/// One call that a filter reported, or `None` if its process has died meanwhile. Waits for one, so only after the listener has become readable.
pub(crate) fn receive_report(listener: impl AsFd) -> io::Result<Option<libc::seccomp_data>> {
    // SAFETY: all bytes zero is a valid `seccomp_notif`, and what the kernel asks for.
    let mut report: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `seccomp_notif`, which outlives the call; the size is part of the request's number.
    let result =
        unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut report) };
    match outcome(result.into()) {
        Ok(_) => Ok(Some(report.data)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives the current host name namespace a name that says nothing about the host.
pub(crate) fn set_host_name() -> io::Result<()> {
    let name = c"sandbox";
    // SAFETY: pointer and length describe the same static string.
    let result = unsafe { libc::sethostname(name.as_ptr(), name.count_bytes()) };
    outcome(result.into()).map(drop)
}

/// Whether the process has supplementary groups; yes if that cannot be told.
pub(crate) fn has_supplementary_groups() -> bool {
    // SAFETY: a size of 0 only asks for the number.
    unsafe { libc::getgroups(0, std::ptr::null_mut()) != 0 }
}

/// Whether filters exist here that end a process (`SECCOMP_GET_ACTION_AVAIL`).
pub(crate) fn seccomp_can_kill() -> io::Result<()> {
    const GET_ACTION_AVAILABLE: libc::c_long = 2;
    let action: u32 = 0x8000_0000;
    // SAFETY: the kernel reads one `u32`, which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAILABLE, 0, &raw const action) };
    outcome(result).map(drop)
}

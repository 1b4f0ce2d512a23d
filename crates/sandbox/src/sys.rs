//! The system calls that no safe wrapper offers; the only `unsafe` of the project.
//!
//! Everything here is usable between clone and exec: no allocation, no lock, no destructor with an effect. Functions are safe to call
//! unless they say otherwise; their effects on the process are the caller's business.
#![expect(unsafe_code, reason = "the one room for it: every block says why it is sound")]

mod mount;
mod privilege;
mod process;

use std::io;

pub(crate) use mount::{
    MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY, bring_loopback_up, mount_calls_exist,
    set_mount_attributes,
};
pub(crate) use privilege::{
    Capability, add_landlock_path, bounding_set_is_empty, clear_bounding_set, drop_capabilities,
    effective_capabilities, has_supplementary_groups, install_filter, install_listening_filter, is_filtered,
    is_listener, join_new_session_keyring, landlock_abi, lock_secure_bits, receive_report, restrict_with_landlock,
    seccomp_can_kill, set_host_name, unshare_handed_on, unshare_mounts, unshare_user_namespace,
};
pub(crate) use process::{
    CloneRequest, Forked, NullTerminated, adopt, clone_process, clone_suspended, close, close_on_exec_from,
    control_socket, duplicate_to, execute, execute_path, exit_now, hard_limit, is_single_threaded, reset_signals,
    set_limit, wait_for_children,
};

/// Reads the result of a raw system call.
fn outcome(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

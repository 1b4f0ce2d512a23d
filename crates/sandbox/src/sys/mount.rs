//! Mount attributes and the loopback interface.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use super::outcome;

// linux/mount.h
pub(crate) const MOUNT_ATTR_RDONLY: u64 = 0x1;
pub(crate) const MOUNT_ATTR_NOSUID: u64 = 0x2;
pub(crate) const MOUNT_ATTR_NODEV: u64 = 0x4;
pub(crate) const MOUNT_ATTR_NOEXEC: u64 = 0x8;

/// `mount_setattr(2)`: sets attributes on a mount (with `recursive`, on all below it) and makes it private.
pub(crate) fn set_mount_attributes(mount: impl AsFd, attributes: u64, recursive: bool) -> io::Result<()> {
    /// `struct mount_attr`.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let request = Attributes { set: attributes, clear: 0, propagation: libc::MS_PRIVATE, user_namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a static C string, `request` outlives the call and its size is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const request,
            size_of::<Attributes>(),
        )
    };
    outcome(result).map(drop)
}

/// Brings `lo` of the current network namespace up (`netdevice(7)`).
pub(crate) fn bring_loopback_up() -> io::Result<()> {
    // SAFETY: no memory is passed; the result is checked before it is owned.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    outcome(socket.into())?;
    // SAFETY: just returned by `socket`, nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all bytes zero is a valid `ifreq`: an empty name and null pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *slot = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` is a full `ifreq` that outlives the call; SIOCSIFFLAGS reads name and flags from it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    outcome(result.into()).map(drop)
}

/// Whether `mount_setattr(2)` exists, the youngest of the mount calls: asked with a descriptor that is not open.
pub(crate) fn mount_calls_exist() -> io::Result<()> {
    let none: libc::c_int = -1;
    // SAFETY: a null attribute of size 0 is refused before it is read.
    let result = unsafe {
        libc::syscall(libc::SYS_mount_setattr, none, c"".as_ptr(), libc::AT_EMPTY_PATH, std::ptr::null::<u8>(), 0usize)
    };
    match outcome(result) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(error),
        _ => Ok(()),
    }
}

//! Socket addresses and messages as plain bytes, for probes that speak to the kernel directly.

use super::errno::Errno;
use super::probe::{Attempt, World};
use super::sys::call;

/// What the probes send.
pub(crate) const BYTE: &[u8] = b"!";

/// `sockaddr_in` of 127.0.0.1.
pub(crate) fn loopback(port: u16) -> [u8; 16] {
    inet([127, 0, 0, 1], port)
}

/// `sockaddr_in`.
pub(crate) fn inet(address: [u8; 4], port: u16) -> [u8; 16] {
    let [f0, f1] = 2_u16.to_ne_bytes();
    let [p0, p1] = port.to_be_bytes();
    let [a, b, c, d] = address;
    [f0, f1, p0, p1, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// `sockaddr_un` of a path, with its length.
pub(crate) fn unix_path(path: &str) -> (Vec<u8>, usize) {
    let mut bytes = 1_u16.to_ne_bytes().to_vec();
    bytes.extend_from_slice(path.as_bytes());
    bytes.push(0);
    let length = bytes.len();
    (bytes, length)
}

/// `sockaddr_un` of an abstract name, with its length.
pub(crate) fn unix_abstract(name: &str) -> (Vec<u8>, usize) {
    let mut bytes = 1_u16.to_ne_bytes().to_vec();
    bytes.push(0);
    bytes.extend_from_slice(name.as_bytes());
    let length = bytes.len();
    (bytes, length)
}

/// `socket(2)`.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> Result<usize, Errno> {
    call!(SYS_socket, domain, kind, protocol)
}

/// Connects a new stream socket and sends one byte.
pub(crate) fn connect(domain: i32, protocol: i32, address: &[u8], length: usize) -> Attempt {
    let fd = socket(domain, libc::SOCK_STREAM, protocol)?;
    call!(SYS_connect, fd, address, length)?;
    call!(SYS_write, fd, BYTE, 1).map(drop)
}

/// `MPTCP` is protocol 262 (RFC 8684; Linux 5.6).
pub(crate) const MPTCP: i32 = 262;

/// A message for `sendmsg`: address, one byte of data, control data.
pub(crate) fn send_message(fd: usize, address: &[u8], control: &[u8], flags: i32) -> Attempt {
    let vector = [BYTE.as_ptr() as usize, BYTE.len()];
    let at = |bytes: &[u8]| if bytes.is_empty() { 0 } else { bytes.as_ptr() as usize };
    let header = [at(address), address.len(), vector.as_ptr() as usize, 1, at(control), control.len(), 0];
    call!(SYS_sendmsg, fd, &header, flags).map(drop)
}

/// One control message of the socket level.
pub(crate) fn control(kind: i32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + payload.len()).to_ne_bytes().to_vec();
    bytes.extend_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// TCP fast open: connects and delivers a byte in one call.
pub(crate) fn fast_open(world: &World) -> Attempt {
    let fd = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    call!(SYS_sendto, fd, BYTE, 1, libc::MSG_FASTOPEN, &loopback(world.tcp), 16).map(drop)
}

//! Messages with descriptors over a Unix socket (`SCM_RIGHTS`), for the channel between monitor and zygote only.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The largest message on a packet socket, in bytes; larger bodies travel in a descriptor.
pub const PACKET_LIMIT: usize = 128 << 10;

/// The most descriptors that one message carries.
pub const RIGHTS_LIMIT: usize = 4;

/// Sends one packet with descriptors.
///
/// # Errors
/// The peer is gone, or the packet is larger than the socket takes.
pub fn send(socket: impl AsFd, packet: &[u8], rights: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(RIGHTS_LIMIT))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !rights.is_empty() && !control.push(SendAncillaryMessage::ScmRights(rights)) {
        return Err(std::io::Error::other("too many descriptors for one message"));
    }
    let sent = sendmsg(socket, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == packet.len() { Ok(()) } else { Err(std::io::Error::other("the packet was cut")) }
}

/// Receives one packet with its descriptors; an empty packet without descriptors is the end.
///
/// # Errors
/// The packet or its descriptors did not fit, or the socket failed.
pub fn receive(socket: impl AsFd) -> std::io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut packet = vec![0; PACKET_LIMIT];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(RIGHTS_LIMIT))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut packet)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut rights = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            rights.extend(fds);
        }
    }
    if got.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(std::io::Error::other("a packet or its descriptors did not fit"));
    }
    packet.truncate(got.bytes);
    Ok((packet, rights))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn a_descriptor_arrives_with_its_packet() {
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        super::send(&a, b"hello", &[reader.as_fd()]).unwrap();
        drop(reader);
        let (packet, mut rights) = super::receive(&b).unwrap();
        assert_eq!(packet, b"hello");
        writer.write_all(b"x").unwrap();
        drop(writer);
        let mut text = String::new();
        std::fs::File::from(rights.remove(0)).read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        drop(a);
        assert!(super::receive(&b).unwrap().0.is_empty());
    }
}

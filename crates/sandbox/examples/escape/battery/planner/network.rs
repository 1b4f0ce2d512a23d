//! Probes 108-130: every way to another process or machine.

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_UNIX, AF_VSOCK, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_STREAM,
};

use crate::battery::probe::{CHANNEL, Door, Effect, Probe, probe, reached};
use crate::battery::socket::{
    BYTE, MPTCP, connect, fast_open, loopback, send_message, socket, unix_abstract, unix_path,
};
use crate::battery::sys::{Address, call};

const NETLINK_AUDIT: i32 = 9;
const AF_ALG: i32 = 38;
const AF_XDP: i32 = 44;

pub(super) const PROBES: &[Probe] = &[
    probe("108", "TCP connect loopback", "connect to a server of the host", Effect::Arrives(Door::Tcp), |w| {
        connect(AF_INET, 0, &loopback(w.tcp), 16)
    }),
    probe("109", "MPTCP connect loopback", "the same by multipath TCP", Effect::Arrives(Door::Tcp), |w| {
        connect(AF_INET, MPTCP, &loopback(w.tcp), 16)
    }),
    probe(
        "110",
        "TCP Fast Open sendto(MSG_FASTOPEN)",
        "the same without a connect call",
        Effect::Arrives(Door::Tcp),
        fast_open,
    ),
    probe("111", "UDP sendto loopback", "send a datagram", Effect::Arrives(Door::Udp), |w| {
        let fd = socket(AF_INET, SOCK_DGRAM, 0)?;
        call!(SYS_sendto, fd, BYTE, 1, 0, &loopback(w.udp), 16).map(drop)
    }),
    probe("112", "IPv6 socket", "make a socket of the other family", Effect::Report, |_| {
        socket(AF_INET6, SOCK_STREAM, 0).map(drop)
    }),
    probe("113", "TCP bind+listen", "be a server", Effect::Report, |_| {
        let fd = socket(AF_INET, SOCK_STREAM, 0)?;
        call!(SYS_bind, fd, &loopback(0), 16)?;
        call!(SYS_listen, fd, 1).map(drop)
    }),
    probe("114", "raw ICMP", "write packets by hand", Effect::Report, |_| {
        socket(AF_INET, SOCK_RAW, libc::IPPROTO_ICMP).map(drop)
    }),
    probe("115", "AF_PACKET", "read every packet", Effect::Report, |_| {
        socket(AF_PACKET, SOCK_RAW, i32::from(3_u16.to_be())).map(drop)
    }),
    probe("116", "AF_NETLINK route", "ask the kernel about interfaces", Effect::Report, |_| {
        socket(AF_NETLINK, SOCK_RAW, libc::NETLINK_ROUTE).map(drop)
    }),
    probe("117", "AF_NETLINK audit", "speak to the audit system", Effect::Report, |_| {
        socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT).map(drop)
    }),
    probe("118", "AF_VSOCK", "reach the hypervisor", Effect::Report, |_| socket(AF_VSOCK, SOCK_STREAM, 0).map(drop)),
    probe("119", "AF_ALG", "use the kernel's ciphers", Effect::Report, |_| socket(AF_ALG, SOCK_SEQPACKET, 0).map(drop)),
    probe("120", "AF_XDP", "take packets before the stack sees them", Effect::Report, |_| {
        socket(AF_XDP, SOCK_RAW, 0).map(drop)
    }),
    probe("121", "unix connect by path", "connect to a service by its file", Effect::Arrives(Door::Path), |w| {
        let (address, length) = unix_path(&format!("{}/socket", w.base));
        connect(AF_UNIX, 0, &address, length)
    }),
    probe(
        "122",
        "unix connect abstract",
        "connect to a service by its abstract name",
        Effect::Arrives(Door::Abstract),
        |w| {
            let (address, length) = unix_abstract(&w.abstract_name());
            connect(AF_UNIX, 0, &address, length)
        },
    ),
    probe(
        "123",
        "unix dgram sendto abstract",
        "send to a service by its abstract name",
        Effect::Arrives(Door::Datagram),
        |w| {
            let (address, length) = unix_abstract(&format!("{}d", w.abstract_name()));
            let fd = socket(AF_UNIX, SOCK_DGRAM, 0)?;
            call!(SYS_sendto, fd, BYTE, 1, 0, &*address, length).map(drop)
        },
    ),
    probe("124", "unix bind abstract", "be a service under an abstract name", Effect::Report, |w| {
        let (address, length) = unix_abstract(&format!("{}b", w.abstract_name()));
        let fd = socket(AF_UNIX, SOCK_STREAM, 0)?;
        call!(SYS_bind, fd, &*address, length).map(drop)
    }),
    probe("125", "socketpair", "make a pair of sockets", Effect::Report, |_| {
        let mut pair = [0_i32; 2];
        call!(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, &mut pair).map(drop)
    }),
    probe(
        "126",
        "connect() on the inherited socket",
        "point the channel at another service",
        Effect::Arrives(Door::Abstract),
        |w| {
            let (address, length) = unix_abstract(&w.abstract_name());
            call!(SYS_connect, CHANNEL, &*address, length)?;
            call!(SYS_write, CHANNEL, BYTE, 1).map(drop)
        },
    ),
    probe(
        "127",
        "sendto(addr) on the inherited socket",
        "send to another service through the channel",
        Effect::Arrives(Door::Datagram),
        |w| {
            let (address, length) = unix_abstract(&format!("{}d", w.abstract_name()));
            call!(SYS_sendto, CHANNEL, BYTE, 1, 0, &*address, length).map(drop)
        },
    ),
    probe(
        "128",
        "sendmsg(msg_name) on the inherited socket",
        "the same by sendmsg",
        Effect::Arrives(Door::Datagram),
        |w| {
            let (address, _) = unix_abstract(&format!("{}d", w.abstract_name()));
            send_message(CHANNEL as usize, &address, &[], 0)
        },
    ),
    probe(
        "129",
        "accept on inherited socket",
        "accept on the channel (it does not listen: EINVAL is past the filter)",
        Effect::Report,
        |_| reached(call!(SYS_accept4, CHANNEL, Address(0), Address(0), libc::SOCK_NONBLOCK), &[libc::EINVAL]),
    ),
    probe("130", "setsockopt SO_SNDBUFFORCE", "grow the channel's buffer past the limit", Effect::Report, |_| {
        call!(SYS_setsockopt, CHANNEL, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &[1 << 20], 4).map(drop)
    }),
];

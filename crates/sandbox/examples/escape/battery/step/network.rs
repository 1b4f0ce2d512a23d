//! Probes 91-95: every way to a host service, with the byte's arrival as the proof, and every way out of the machine.

use libc::{AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, AF_VSOCK, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM};

use crate::battery::probe::{Attempt, Door, Effect, Probe, probe, reached};
use crate::battery::socket::{
    BYTE, MPTCP, connect, fast_open, inet, loopback, send_message, socket, unix_abstract, unix_path,
};
use crate::battery::sys::call;

const TCP_FASTOPEN_CONNECT: i32 = 30;

pub(super) const PROBES: &[Probe] = &[
    probe("s91a", "UDP to a host service", "send a datagram", Effect::Arrives(Door::Udp), |w| datagram(w.udp)),
    probe(
        "s91b",
        "UDP by connect and write",
        "the same without an address at the send",
        Effect::Arrives(Door::Udp),
        |w| {
            let fd = socket(AF_INET, SOCK_DGRAM, 0)?;
            call!(SYS_connect, fd, &loopback(w.udp), 16)?;
            call!(SYS_write, fd, BYTE, 1).map(drop)
        },
    ),
    probe("s91c", "fast open by sendto", "connect and deliver in one call", Effect::Arrives(Door::Tcp), fast_open),
    probe("s91d", "fast open by sendmsg", "the same by sendmsg", Effect::Arrives(Door::Tcp), |w| {
        let fd = socket(AF_INET, SOCK_STREAM, 0)?;
        send_message(fd, &loopback(w.tcp), &[], libc::MSG_FASTOPEN)
    }),
    probe("s91e", "fast open by socket option", "the same by TCP_FASTOPEN_CONNECT", Effect::Arrives(Door::Tcp), |w| {
        let fd = socket(AF_INET, SOCK_STREAM, 0)?;
        call!(SYS_setsockopt, fd, libc::IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &[1], 4)?;
        call!(SYS_connect, fd, &loopback(w.tcp), 16)?;
        call!(SYS_write, fd, BYTE, 1).map(drop)
    }),
    probe("s91f", "MPTCP to a host service", "connect by multipath TCP", Effect::Arrives(Door::Tcp), |w| {
        connect(AF_INET, MPTCP, &loopback(w.tcp), 16)
    }),
    probe("s91g", "DNS port", "send a query to port 53", Effect::Arrives(Door::Dns), |_| datagram(53)),
    probe(
        "s91h",
        "IPv6-mapped address",
        "connect by an IPv6 socket to the IPv4 service",
        Effect::Arrives(Door::Tcp),
        |w| {
            let mut address = vec![10, 0];
            address.extend_from_slice(&w.tcp.to_be_bytes());
            address.extend_from_slice(&[0, 0, 0, 0]);
            address.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]);
            address.extend_from_slice(&[0, 0, 0, 0]);
            connect(AF_INET6, 0, &address, 28)
        },
    ),
    probe(
        "s92a",
        "unix socket in the work folder",
        "connect to a service whose file lies in reach",
        Effect::Arrives(Door::Work),
        |_| {
            let (address, length) = unix_path("socket");
            connect(AF_UNIX, 0, &address, length)
        },
    ),
    probe(
        "s92b",
        "unix socket outside by path",
        "connect to a service by its full path",
        Effect::Arrives(Door::Path),
        |w| {
            let (address, length) = unix_path(&format!("{}/socket", w.base));
            connect(AF_UNIX, 0, &address, length)
        },
    ),
    probe(
        "s92c",
        "abstract unix socket",
        "connect to a service by its abstract name",
        Effect::Arrives(Door::Abstract),
        |w| {
            let (address, length) = unix_abstract(&w.abstract_name());
            connect(AF_UNIX, 0, &address, length)
        },
    ),
    probe(
        "s92d",
        "abstract datagram from a socketpair",
        "send to a service from a socket that was made as one of a pair",
        Effect::Arrives(Door::Datagram),
        |w| {
            let (address, length) = unix_abstract(&format!("{}d", w.abstract_name()));
            let mut pair = [0_i32; 2];
            call!(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, &mut pair)?;
            let [fd, _] = pair;
            call!(SYS_sendto, fd, BYTE, 1, 0, &*address, length).map(drop)
        },
    ),
    probe(
        "s92e",
        "reconnect one of a socketpair",
        "point one of a pair at a service",
        Effect::Arrives(Door::Datagram),
        |w| {
            let (address, length) = unix_abstract(&format!("{}d", w.abstract_name()));
            let mut pair = [0_i32; 2];
            call!(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, &mut pair)?;
            let [fd, _] = pair;
            call!(SYS_connect, fd, &*address, length)?;
            call!(SYS_write, fd, BYTE, 1).map(drop)
        },
    ),
    probe(
        "s92f",
        "reconnect one of a socketpair to work/socket",
        "point a datagram pair at a file in reach",
        Effect::Arrives(Door::WorkDatagram),
        |_| {
            let (address, length) = unix_path("datagram");
            let mut pair = [0_i32; 2];
            call!(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, &mut pair)?;
            let [fd, _] = pair;
            call!(SYS_sendto, fd, BYTE, 1, 0, &*address, length).map(drop)
        },
    ),
    probe("s93a", "vsock", "reach the hypervisor", Effect::Report, |_| socket(AF_VSOCK, SOCK_STREAM, 0).map(drop)),
    probe("s93b", "netlink route", "ask about and change interfaces", Effect::Report, |_| {
        socket(AF_NETLINK, SOCK_RAW, libc::NETLINK_ROUTE).map(drop)
    }),
    probe("s93c", "netlink uevent", "listen to devices", Effect::Report, |_| {
        socket(AF_NETLINK, SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT).map(drop)
    }),
    // What a step may reach it reaches by a relay on its own loopback, which asks the broker; these are the ways past it.
    probe("s94a", "route to a public address", "find a way out (no packet is sent)", Effect::Report, |_| {
        route([192, 0, 2, 1], 443)
    }),
    probe("s94b", "route to the metadata address", "find a way to the cloud's credentials", Effect::Report, |_| {
        route([169, 254, 169, 254], 80)
    }),
    probe("s94c", "route to a private address", "find a way into the local network", Effect::Report, |_| {
        route([10, 0, 0, 1], 443)
    }),
    probe("s94d", "route to a name server", "find a way to resolve names", Effect::Report, |_| {
        route([198, 51, 100, 53], 53)
    }),
    probe("s94e", "TCP to a public address", "start a connection without waiting for it", Effect::Report, |_| {
        let fd = socket(AF_INET, SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
        reached(call!(SYS_connect, fd, &inet([192, 0, 2, 1], 443), 16), &[libc::EINPROGRESS])
    }),
    probe("s94f", "multicast", "speak to everybody on the local network", Effect::Report, |_| {
        route([224, 0, 0, 251], 5353)
    }),
    probe("s95", "other local port", "connect to a host service on loopback", Effect::Arrives(Door::Tcp), |w| {
        connect(AF_INET, 0, &loopback(w.tcp), 16)
    }),
    probe(
        "s95b",
        "address of the machine",
        "connect to the same service by 0.0.0.0",
        Effect::Arrives(Door::Tcp),
        |w| connect(AF_INET, 0, &inet([0, 0, 0, 0], w.tcp), 16),
    ),
];

/// Whether there is a way to an address: connecting a datagram socket asks for a route and sends nothing. Outside the machine's
/// own network namespace there must be one, or the probe proves nothing.
fn route(address: [u8; 4], port: u16) -> Attempt {
    let fd = socket(AF_INET, SOCK_DGRAM, 0)?;
    call!(SYS_connect, fd, &inet(address, port), 16).map(drop)
}

fn datagram(port: u16) -> Attempt {
    let fd = socket(AF_INET, SOCK_DGRAM, 0)?;
    call!(SYS_sendto, fd, BYTE, 1, 0, &loopback(port), 16).map(drop)
}

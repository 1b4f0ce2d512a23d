//! Connections of a step's programs.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use countersign_plan::egress::{Egress, HostGrant};
use countersign_wire::broker::to_broker::{self, Kind};
use countersign_wire::egress::{STREAM_CHUNK, STREAM_WINDOW, ask, reply};

use crate::house::House;

fn listen(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            serve(socket);
        }
    });
    address
}

fn to(addresses: &[SocketAddr]) -> Egress {
    let grant =
        |address: &SocketAddr| HostGrant { host: address.ip().to_string(), port: address.port(), private: true };
    Egress { connect: addresses.iter().map(grant).collect(), ..Egress::default() }
}

fn open(address: SocketAddr) -> ask::Kind {
    ask::Kind::Open(ask::Open { host: address.ip().to_string(), port: address.port().into() })
}

/// The next reply, which is no violation.
fn next(house: &mut House) -> (u64, reply::Kind) {
    let (id, kind, violation) = house.reply();
    assert_eq!(violation, "");
    (id, kind)
}

fn opened(house: &mut House, lease: u64, id: u64, address: SocketAddr) {
    house.tell(lease, id, open(address));
    assert_eq!(next(house), (id, reply::Kind::Opened(reply::Opened {})));
}

#[test]
fn a_program_reaches_granted_hosts_only() {
    let address = listen(drop);
    let mut house = House::start("", &[]);
    let lease = house.lease(to(&[address]));
    for (host, port) in [
        ("127.0.0.1", address.port() ^ 1),
        ("localhost", address.port()),
        ("0x7f.1", address.port()),
        ("2130706433", address.port()),
        ("::ffff:127.0.0.1", address.port()),
    ] {
        let ask = ask::Kind::Open(ask::Open { host: host.to_owned(), port: port.into() });
        assert!(house.refusal(lease, ask).violation, "{host}:{port}");
    }
    let over = ask::Open { host: "127.0.0.1".to_owned(), port: u32::from(address.port()) + 65_536 };
    assert!(house.refusal(lease, ask::Kind::Open(over)).violation);
}

/// Lesson 18: an odd spelling is refused even where it was granted.
#[test]
fn lesson_18_odd_spellings_and_metadata_are_not_connected_to_even_if_granted() {
    let mut house = House::start("", &[]);
    for host in [
        "0x7f.1",
        "017700000001",
        "2130706433",
        "127.1",
        "LOCALHOST",
        "localhost.",
        "169.254.169.254",
        "::ffff:169.254.169.254",
    ] {
        let grant = HostGrant { host: host.to_owned(), port: 80, private: true };
        let lease = house.lease(Egress { connect: vec![grant], ..Egress::default() });
        let refused = house.refusal(lease, ask::Kind::Open(ask::Open { host: host.to_owned(), port: 80 }));
        assert!(
            refused.message.contains("as it is written") || refused.message.contains("never reached"),
            "{host}: {refused:?}"
        );
    }
}

#[test]
fn bytes_go_both_ways_whole_and_in_order_within_the_windows() {
    const TOTAL: usize = 3 << 20;
    let address = listen(|socket| {
        thread::spawn(move || {
            let (mut from, mut to) = (socket.try_clone().unwrap(), socket);
            std::io::copy(&mut from, &mut to).unwrap();
            to.shutdown(Shutdown::Write).unwrap();
        });
    });
    let mut house = House::start("", &[]);
    let lease = house.lease(to(&[address]));
    opened(&mut house, lease, 7, address);
    let byte = |at: usize| (at % 251) as u8;
    let (mut sent, mut taken, mut got, mut shut) = (0, 0, 0, false);
    loop {
        while sent < TOTAL && sent - taken + STREAM_CHUNK <= STREAM_WINDOW as usize {
            let end = (sent + STREAM_CHUNK).min(TOTAL);
            house.tell(lease, 7, ask::Kind::Data((sent..end).map(byte).collect()));
            sent = end;
        }
        if sent == TOTAL && !shut {
            shut = true;
            house.tell(lease, 7, ask::Kind::Shut(ask::Shut {}));
        }
        match next(&mut house) {
            (7, reply::Kind::Took(count)) => taken += count as usize,
            (7, reply::Kind::Data(bytes)) => {
                assert!(bytes.len() <= STREAM_CHUNK);
                assert!(bytes.iter().enumerate().all(|(at, found)| *found == byte(got + at)), "after {got}");
                got += bytes.len();
                house.tell(lease, 7, ask::Kind::Took(bytes.len() as u64));
            }
            (7, reply::Kind::Shut(_)) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((sent, taken, got), (TOTAL, TOTAL, TOTAL));
    opened(&mut house, lease, 8, address);
}

#[test]
fn a_stream_that_is_not_taken_stops_at_its_window_and_holds_up_no_other() {
    let flood = listen(|mut socket| {
        thread::spawn(move || while socket.write_all(&[1; 1 << 16]).is_ok() {});
    });
    let echo = listen(|mut socket| {
        thread::spawn(move || {
            let mut four = [0; 4];
            socket.read_exact(&mut four).unwrap();
            socket.write_all(&four).unwrap();
        });
    });
    let mut house = House::start("", &[]);
    let lease = house.lease(to(&[flood, echo]));
    opened(&mut house, lease, 1, flood);
    let mut flooded = 0;
    while flooded < STREAM_WINDOW {
        match next(&mut house) {
            (1, reply::Kind::Data(bytes)) => flooded += bytes.len() as u64,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(flooded, STREAM_WINDOW);
    opened(&mut house, lease, 2, echo);
    house.tell(lease, 2, ask::Kind::Data(b"ping".to_vec()));
    let mut seen = BTreeMap::new();
    while !seen.contains_key("data") {
        match next(&mut house) {
            (2, reply::Kind::Took(count)) => {
                seen.insert("took", count);
            }
            (2, reply::Kind::Data(bytes)) => {
                assert_eq!(bytes, b"ping");
                seen.insert("data", 4);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_step_that_exceeds_a_window_or_lies_about_one_loses_the_stream() {
    // Takes nothing.
    let deaf = listen(|socket| {
        thread::spawn(move || {
            thread::park();
            drop(socket);
        });
    });
    let mut house = House::start("", &[]);
    let lease = house.lease(to(&[deaf]));
    opened(&mut house, lease, 1, deaf);
    house.tell(lease, 1, ask::Kind::Took(1));
    let (id, kind, _) = house.reply();
    assert!(
        id == 1 && matches!(&kind, reply::Kind::Refused(refused) if refused.message.contains("window")),
        "{kind:?}"
    );
    opened(&mut house, lease, 2, deaf);
    // More than the window and what the kernel buffers.
    let mut closed = false;
    for _ in 0..1024 {
        house.tell(lease, 2, ask::Kind::Data(vec![0; STREAM_CHUNK]));
    }
    while !closed {
        match house.reply() {
            (2, reply::Kind::Took(_), _) => {}
            (2, reply::Kind::Refused(refused), _) => closed = refused.message.contains("window"),
            other => panic!("{other:?}"),
        }
    }
}

/// INV-6: connections die with their lease.
#[test]
fn a_release_closes_the_connections_of_its_step() {
    let (ended, wait) = mpsc::channel();
    let address = listen(move |mut socket| {
        let ended = ended.clone();
        thread::spawn(move || {
            let mut rest = Vec::new();
            drop(socket.read_to_end(&mut rest));
            ended.send(rest).unwrap();
        });
    });
    let mut house = House::start("", &[]);
    let lease = house.lease(to(&[address]));
    opened(&mut house, lease, 1, address);
    house.tell(lease, 1, ask::Kind::Data(b"hello".to_vec()));
    assert_eq!(next(&mut house), (1, reply::Kind::Took(5)));
    house.send(Kind::Release(to_broker::Release { lease }));
    assert_eq!(wait.recv().unwrap(), b"hello");
}

#[test]
fn a_step_has_a_bounded_number_of_connections() {
    let (keep, _kept) = mpsc::channel();
    let address = listen(move |socket| drop(keep.send(socket)));
    let mut house = House::start("", &[]);
    let lease = house.lease(to(&[address]));
    for id in 0..64 {
        opened(&mut house, lease, id, address);
    }
    house.tell(lease, 64, open(address));
    let (_, kind, _) = house.reply();
    assert!(matches!(kind, reply::Kind::Refused(refused) if refused.message.contains("at most 64")));
    house.tell(lease, 3, open(address));
    assert!(!house.reply().2.is_empty(), "a number that is in use");
}

//! Windows: what a stream may cost.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use countersign_wire::egress::{STREAM_WINDOW, ask};

use super::{Overrun, Tunnel};
use crate::tools::testing::Fake;

const WINDOW: usize = STREAM_WINDOW as usize;

/// A stream and the program's end of it.
fn tunnel() -> (Tunnel, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let from = ours.try_clone().unwrap();
    (Tunnel::new(1, OwnedFd::from(from), OwnedFd::from(ours)), theirs)
}

fn fill(theirs: &mut UnixStream) {
    while theirs.write(&[7; 64 << 10]).is_ok() {}
}

fn sent(asks: &[countersign_wire::egress::Ask]) -> usize {
    asks.iter()
        .map(|ask| match &ask.kind {
            Some(ask::Kind::Data(bytes)) => bytes.len(),
            _ => 0,
        })
        .sum()
}

#[test]
fn a_program_that_floods_gets_no_further_than_its_window() {
    let mut fake = Fake::new(|_| vec![]);
    let (mut tunnel, mut theirs) = tunnel();
    for _ in 0..200 {
        fill(&mut theirs);
        tunnel.turn(&mut fake.channel).unwrap().unwrap();
    }
    tunnel.took(1000).unwrap();
    fill(&mut theirs);
    tunnel.turn(&mut fake.channel).unwrap().unwrap();
    tunnel.turn(&mut fake.channel).unwrap().unwrap();
    assert_eq!(tunnel.took(STREAM_WINDOW + 1), Err(Overrun), "more than was sent");
    fake.channel.flush().unwrap();
    assert_eq!(sent(&fake.told().asks), WINDOW + 1000);
}

#[test]
fn a_broker_that_floods_is_told_and_costs_no_more_than_a_window() {
    let mut fake = Fake::new(|_| vec![]);
    let (mut tunnel, theirs) = tunnel();
    let mut taken = 0;
    while tunnel.write(&mut fake.channel, &[7; 32 << 10]).unwrap().is_ok() {
        taken += 32 << 10;
        assert!(taken < 4 << 20, "never refused");
    }
    assert!(tunnel.pending.len() <= WINDOW);
    drop(theirs);
    tunnel.turn(&mut fake.channel).unwrap().unwrap();
    assert!(tunnel.pending.is_empty() && tunnel.is_over(), "nobody reads it any more");
}

#[test]
fn each_half_ends_by_itself() {
    let mut fake = Fake::new(|_| vec![]);
    let (mut tunnel, mut theirs) = tunnel();
    theirs.write_all(b"question").unwrap();
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    tunnel.turn(&mut fake.channel).unwrap().unwrap();
    tunnel.turn(&mut fake.channel).unwrap().unwrap();
    tunnel.write(&mut fake.channel, b"answer").unwrap().unwrap();
    tunnel.shut();
    assert!(tunnel.is_over());
    let mut answer = String::new();
    theirs.set_nonblocking(false).unwrap();
    theirs.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer");
    let kinds: Vec<_> = fake.told().asks.into_iter().filter_map(|ask| ask.kind).collect();
    let expected = [ask::Kind::Data(b"question".to_vec()), ask::Kind::Shut(ask::Shut {}), ask::Kind::Took(6)];
    assert_eq!(kinds, expected);
}

#[test]
fn bytes_after_the_end_are_an_overrun() {
    let mut fake = Fake::new(|_| vec![]);
    let (mut tunnel, _theirs) = tunnel();
    tunnel.shut();
    assert_eq!(tunnel.write(&mut fake.channel, b"more").unwrap(), Err(Overrun));
}

#[test]
fn what_the_relay_says_itself_is_not_acknowledged_and_a_bounded_body_is_not_exceeded() {
    let mut fake = Fake::new(|_| vec![]);
    let (mut tunnel, mut theirs) = tunnel();
    tunnel.greet(b"hello ");
    tunnel.limit(3);
    theirs.write_all(b"bodySECOND REQUEST").unwrap();
    for _ in 0..3 {
        tunnel.turn(&mut fake.channel).unwrap().unwrap();
    }
    tunnel.write(&mut fake.channel, b"you").unwrap().unwrap();
    let mut heard = [0; 9];
    theirs.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello you");
    tunnel.shut();
    tunnel.turn(&mut fake.channel).unwrap().unwrap();
    assert!(tunnel.is_over());
    let kinds: Vec<_> = fake.told().asks.into_iter().filter_map(|ask| ask.kind).collect();
    let expected = [ask::Kind::Data(b"bod".to_vec()), ask::Kind::Took(3), ask::Kind::Shut(ask::Shut {})];
    assert_eq!(kinds, expected);
}

/// SANDBOX probe 94: a tunnel to one host that asks it for another one.
#[test]
fn a_tls_client_asks_for_the_host_that_its_tunnel_leads_to() {
    use crate::relay::hello::tests::{greeting, named};
    for (asked, passes) in [("a.example", true), ("b.example", false)] {
        let mut fake = Fake::new(|_| vec![]);
        let (mut tunnel, mut theirs) = tunnel();
        tunnel.guard("a.example".to_owned());
        let bytes = greeting(&[named(asked)]);
        // In two pieces: nothing goes out before the name is known.
        let (first, second) = bytes.split_at(40);
        theirs.write_all(first).unwrap();
        tunnel.turn(&mut fake.channel).unwrap().unwrap();
        theirs.write_all(second).unwrap();
        assert_eq!(tunnel.turn(&mut fake.channel).unwrap().is_ok(), passes, "{asked}");
        assert_eq!(tunnel.is_over(), !passes);
        theirs.write_all(b"more").unwrap_or_default();
        drop(tunnel.turn(&mut fake.channel).unwrap());
        assert_eq!(sent(&fake.told().asks), if passes { bytes.len() + 4 } else { 0 });
    }
}

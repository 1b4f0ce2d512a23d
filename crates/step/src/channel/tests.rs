//! The step's socket against a monitor that is slow, gone or hostile.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use countersign_plan::observation::{Ending, Observation};
use countersign_wire::egress::{EGRESS_LIMIT, Reply, ask, reply};
use countersign_wire::frame;
use countersign_wire::step::ToStep;
use prost::Message as _;

use super::{Channel, Silence};
use crate::tools::testing::Fake;
use crate::watcher::Watcher as _;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn message() -> ask::Kind {
    ask::Kind::Message(ask::ChannelMessage { channel: "#c".to_owned(), body: "b".to_owned() })
}

fn sent() -> reply::Kind {
    reply::Kind::Sent(reply::Sent { message_id: "m".to_owned() })
}

#[test]
fn asks_are_answered_one_by_one_and_output_and_observation_keep_their_order() {
    let mut fake = Fake::always(sent());
    for _ in 0..3 {
        fake.channel.output(false, b"o");
        assert_eq!(fake.channel.call(message(), soon()), Ok(sent()));
    }
    let told = fake.told();
    assert_eq!(
        (told.asks.iter().map(|ask| ask.id).collect::<Vec<_>>(), told.output.as_slice()),
        (vec![1, 2, 3], &b"ooo"[..])
    );
}

#[test]
fn output_is_dropped_for_a_monitor_that_does_not_read_and_an_ask_is_not() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut channel = Channel::new(ours);
    for _ in 0..100 {
        channel.output(false, &[b'x'; 64 << 10]);
    }
    assert!(channel.waiting.len() < 512 << 10, "{}", channel.waiting.len());
    let before = channel.waiting.len();
    channel.ask(1, message()).unwrap();
    assert!(channel.waiting.len() > before);
    assert_eq!(channel.call(message(), Instant::now()), Err(Silence::Late));
    drop(theirs);
    assert_eq!(channel.call(message(), soon()), Err(Silence::Closed));
}

#[test]
fn a_reply_to_something_else_or_no_reply_at_all_is_malformed() {
    let other = Reply { id: 77, kind: Some(sent()) }.encode_to_vec();
    let nothing = Reply { id: 1, kind: None }.encode_to_vec();
    for reply in [other, nothing, b"\xff\xff\xff".to_vec()] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        frame::write(&mut theirs, &ToStep { reply }).unwrap();
        assert!(matches!(Channel::new(ours).call(message(), soon()), Err(Silence::Malformed(_))));
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&[0xff; 4]).unwrap();
    let mut channel = Channel::new(ours);
    assert!(
        matches!(channel.call(message(), soon()), Err(Silence::Malformed(_))),
        "announced too long, refused unread"
    );
    assert_eq!(channel.arriving.len(), 4);
}

#[test]
fn an_ask_over_the_bound_is_not_sent() {
    let mut fake = Fake::always(sent());
    let body = "x".repeat(EGRESS_LIMIT + 1);
    let ask = ask::Kind::Message(ask::ChannelMessage { channel: String::new(), body });
    assert_eq!(fake.channel.call(ask, soon()), Err(Silence::Oversize));
    assert!(fake.told().asks.is_empty());
}

#[test]
fn a_reply_may_come_in_any_pieces() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut channel = Channel::new(ours);
    let reply = Reply { id: 4, kind: Some(reply::Kind::Data(vec![7; 1000])) };
    let bytes = frame::encode(&ToStep { reply: reply.encode_to_vec() }).unwrap();
    for part in bytes.chunks(7) {
        assert_eq!(channel.next(), Ok(None));
        theirs.write_all(part).unwrap();
    }
    theirs.write_all(&bytes).unwrap();
    assert_eq!(channel.next(), Ok(Some(reply.clone())));
    assert_eq!(channel.next(), Ok(Some(reply)));
    assert_eq!(channel.next(), Ok(None));
}

#[test]
fn the_observation_comes_last() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut channel = Channel::new(ours);
    channel.output(false, b"before");
    let none = Observation {
        ending: Ending::Returned,
        output: serde_json::json!({}),
        files: Default::default(),
        dropped: Default::default(),
    };
    channel.observed(&none).unwrap();
    let mut theirs = theirs;
    let mut kinds = Vec::new();
    while let Ok(said) = frame::read::<countersign_wire::step::FromStep>(&mut theirs, frame::FRAME_LIMIT) {
        kinds.push(matches!(said.kind, Some(countersign_wire::step::from_step::Kind::Observed(_))));
    }
    assert_eq!(kinds, [false, true]);
}

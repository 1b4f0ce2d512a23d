//! Frames in, frames out, over a real socket pair.

use std::os::unix::net::UnixStream;

use countersign_plan::saga::Undo;
use countersign_wire::executor::{FromExecutor, Report, RunEnding, ToExecutor, from_executor, to_executor};
use countersign_wire::frame;

use crate::start::tests::signed;

fn executor() -> (UnixStream, std::thread::JoinHandle<anyhow::Result<()>>) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    (ours, std::thread::spawn(move || super::serve(&mut theirs)))
}

fn tell(to: &mut UnixStream, kind: to_executor::Kind) {
    frame::write(to, &ToExecutor { kind: Some(kind) }).unwrap();
}

fn hear(from: &mut UnixStream) -> from_executor::Kind {
    frame::read::<FromExecutor>(from, 1 << 20).unwrap().kind.unwrap()
}

#[test]
fn a_refused_plan_is_answered_and_nothing_is_asked_for() {
    let (mut socket, executor) = executor();
    let mut start = signed(&[Undo::Pure]).start;
    start.plan.push(b' ');
    tell(&mut socket, to_executor::Kind::Start(start));
    assert!(matches!(hear(&mut socket), from_executor::Kind::Rejected(_)));
    executor.join().unwrap().unwrap();
    assert!(matches!(frame::read::<FromExecutor>(&mut socket, 1024), Err(frame::FrameError::Closed)));
}

#[test]
fn a_refusal_is_reported_at_the_end() {
    let (mut socket, executor) = executor();
    tell(&mut socket, to_executor::Kind::Start(signed(&[Undo::Pure]).start));
    assert!(matches!(hear(&mut socket), from_executor::Kind::Verified(v) if v.plan_digest.len() == 32));
    let from_executor::Kind::Request(asked) = hear(&mut socket) else { panic!() };
    assert_eq!((asked.step.as_str(), asked.phase.as_str(), asked.attempt), ("s0", "act", 1));
    let refused = to_executor::Refused { code: "run.expired".to_owned(), message: "late".to_owned() };
    tell(&mut socket, to_executor::Kind::Refused(refused));
    let from_executor::Kind::Finished(finished) = hear(&mut socket) else { panic!() };
    let report: Report = serde_json::from_slice(&finished.report).unwrap();
    assert!(matches!(report.ending, RunEnding::Refused { code, .. } if code == "run.expired"));
    executor.join().unwrap().unwrap();
}

#[test]
fn anything_but_a_plan_first_ends_the_executor() {
    let (mut socket, executor) = executor();
    tell(&mut socket, to_executor::Kind::Permit(to_executor::Granted { permit: vec![] }));
    assert!(executor.join().unwrap().is_err());
}

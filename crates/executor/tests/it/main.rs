//! The real executor binary under its real seal: it answers over its one socket, and what it refuses it refuses politely.
//!
//! Without the test harness, whose threads a spawner must not have.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use countersign_sandbox::{Confined, Exit, Identity, Layers, Limits, Network, Requirement, Spec, Stdio, View, spawn};
use countersign_wire::executor::{FromExecutor, ToExecutor, from_executor, to_executor};
use countersign_wire::frame;
use rustix::fs::{Mode, OFlags};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    an_altered_plan_is_rejected_over_the_socket();
    println!("test an_altered_plan_is_rejected_over_the_socket ... ok");
    an_executor_ends_with_its_monitor();
    println!("test an_executor_ends_with_its_monitor ... ok");
    println!("test result: ok. 2 passed");
}

fn executor() -> (Confined, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let binary = env!("CARGO_BIN_EXE_countersign-executor");
    let confined = spawn(Spec {
        executable: rustix::fs::open(binary, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap(),
        arguments: vec![c"countersign-executor".into()],
        stdio: Stdio::default(),
        control: theirs.into(),
        descriptors: vec![],
        view: View::default(),
        limits: Limits::planner(),
        identity: Identity::own(),
        network: Network::None,
        requirement: Requirement::Full,
        deadline: PATIENCE,
        layers: Layers::all(),
    })
    .unwrap();
    confined.await_ready(ours.as_fd(), PATIENCE).unwrap();
    confined.attest().unwrap();
    (confined, ours)
}

fn an_altered_plan_is_rejected_over_the_socket() {
    let (mut confined, mut socket) = executor();
    let start = to_executor::Start {
        plan: vec![b' '; 2 << 20],
        envelope: br#"{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[]}"#.to_vec(),
        gate_key: {
            // The curve's base point: a key that is well formed.
            let mut key = vec![0x66; 32];
            key.splice(..1, [0x58]);
            key
        },
        epoch: 1,
        now: 1,
        undo: vec![],
    };
    frame::write(&mut socket, &ToExecutor { kind: Some(to_executor::Kind::Start(start)) }).unwrap();
    match frame::read::<FromExecutor>(&mut socket, frame::FRAME_LIMIT).unwrap().kind.unwrap() {
        from_executor::Kind::Rejected(rejected) => assert!(rejected.message.contains("no signature"), "{rejected:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(confined.wait(Some(PATIENCE)).unwrap().expect("it ends"), Exit::Code(0));
}

fn an_executor_ends_with_its_monitor() {
    let (mut confined, socket) = executor();
    drop(socket);
    assert_eq!(confined.wait(Some(PATIENCE)).unwrap().expect("it ends"), Exit::Code(1));
}

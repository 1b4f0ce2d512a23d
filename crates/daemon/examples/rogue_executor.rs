//! An executor that was taken over, for the tests of the monitor: it seals itself and verifies its plan like the real one, and then
//! does what the plan's first step is to write. Put beside `countersignd` under the real one's name.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use countersign_plan::envelope::{CountersignedPlan, Envelope, TrustRoot};
use countersign_plan::key::PublicKey;
use countersign_plan::time::Timestamp;
use countersign_sandbox::{Layers, announce, inherited, seal_executor};
use countersign_wire::executor::from_executor::{Finished, Kind, Perform, Rejected, Request, Verified};
use countersign_wire::executor::{FromExecutor, Report, RunEnding, ToExecutor, to_executor};
use countersign_wire::frame;
use countersign_wire::planner::{FromPlanner, from_planner};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn run() -> Outcome {
    let control = inherited(3)?;
    let enforcement = seal_executor(Layers::all())?;
    announce(control.as_fd(), &enforcement)?;
    let mut socket = UnixStream::from(control);
    let Some(to_executor::Kind::Start(start)) = hear(&mut socket)? else { return Err("no plan".into()) };
    let key = start.gate_key.as_slice().try_into()?;
    let root = TrustRoot { gate: PublicKey::from_bytes(key)?, epoch: Some(start.epoch) };
    let signed = CountersignedPlan { plan: start.plan, envelope: Envelope::from_json(&start.envelope)? };
    let plan = signed.verify(&root, Timestamp::from_millis(start.now))?;
    let plan_digest = plan.digest().as_bytes().to_vec();
    let attempt =
        plan.plan().draft.pointer("/steps/0/args/content").and_then(|content| content.as_str()).ok_or("no attempt")?;
    match attempt {
        "refuse the plan" => {
            let message = "the envelope is signed by another key".to_owned();
            say(&mut socket, Kind::Rejected(Rejected { message }))?;
        }
        "verify other bytes" => say(&mut socket, Kind::Verified(Verified { plan_digest: vec![7; 32] }))?,
        "ask before it verified" => ask(&mut socket, "a", "snapshot", 1)?,
        _ => {
            say(&mut socket, Kind::Verified(Verified { plan_digest }))?;
            misbehave(attempt, &mut socket)?;
        }
    }
    // What it is answered, if it is, changes nothing.
    while frame::read::<ToExecutor>(&mut socket, frame::FRAME_LIMIT).is_ok() {}
    Ok(())
}

/// Every plan has two steps, `a` and `b`, that write files, and so have their state kept first.
fn misbehave(attempt: &str, socket: &mut UnixStream) -> Outcome {
    match attempt {
        "open a socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
        "connect to the network" => drop(std::net::TcpStream::connect("127.0.0.1:80")),
        "connect to the monitor" => drop(UnixStream::connect("/run/countersign/propose.sock")),
        "open a file" => drop(std::fs::read("/etc/passwd")),
        "start a program" => drop(std::process::Command::new("/bin/sh").spawn()),
        "ask a model" => {
            let request = br#"{"messages": [{"role": "user", "content": "what next?"}], "max_tokens": 10}"#.to_vec();
            frame::write(
                socket,
                &FromPlanner { kind: Some(from_planner::Kind::Infer(from_planner::Infer { request })) },
            )?;
        }
        "say nothing that is a message" => socket.write_all(&[0, 0, 0, 3, 0xff, 0xff, 0xff])?,
        "send more than fits" => socket.write_all(&u32::MAX.to_be_bytes())?,
        "verify twice" => say(socket, Kind::Verified(Verified { plan_digest: vec![7; 32] }))?,
        "ask for a step that is not there" => ask(socket, "c", "act", 1)?,
        "ask for a name that is none" => ask(socket, "../a", "act", 1)?,
        "ask for a phase that is none" => ask(socket, "a", "rehearse", 1)?,
        "skip a step" => ask(socket, "b", "snapshot", 1)?,
        "act before the state is kept" => ask(socket, "a", "act", 1)?,
        "take back what was not done" => ask(socket, "a", "restore", 1)?,
        "try again" => ask(socket, "a", "snapshot", 2)?,
        "forge a permit" => {
            let forged = permit(socket, "a", "snapshot")?;
            // One bit of the signed bytes.
            let permit = String::from_utf8(forged)?.replacen("\"sig\":\"", "\"sig\":\"A", 1).into_bytes();
            say(socket, Kind::Perform(Perform { permit }))?;
        }
        "use what is no permit" => say(socket, Kind::Perform(Perform { permit: b"{}".to_vec() }))?,
        "use a permit twice" => {
            let permit = permit(socket, "a", "snapshot")?;
            perform(socket, &permit)?;
            say(socket, Kind::Perform(Perform { permit }))?;
        }
        "use a permit twice at once" => {
            let permit = permit(socket, "a", "snapshot")?;
            say(socket, Kind::Perform(Perform { permit: permit.clone() }))?;
            say(socket, Kind::Perform(Perform { permit }))?;
        }
        "reorder the steps" => {
            let permit = permit(socket, "a", "snapshot")?;
            perform(socket, &permit)?;
            ask(socket, "b", "snapshot", 1)?;
        }
        "ask for two at once" => {
            permit(socket, "a", "snapshot")?;
            ask(socket, "a", "snapshot", 1)?;
        }
        "say that all is done" => finish(socket, RunEnding::Completed, &["a", "b"])?,
        "say that nothing was done" => finish(socket, RunEnding::Halted { reason: "tired".to_owned() }, &[])?,
        // The real one says so where a permit is not for what it asked.
        "refuse a permit" => {
            permit(socket, "a", "snapshot")?;
            let (step, code) = ("a".parse()?, "separation.violation".to_owned());
            finish(
                socket,
                RunEnding::Refused { step, code, message: "the permit is of another plan".to_owned() },
                &[],
            )?;
        }
        "leave" => return Err("left".into()),
        _ => {}
    }
    Ok(())
}

fn hear(socket: &mut UnixStream) -> Outcome<Option<to_executor::Kind>> {
    Ok(frame::read::<ToExecutor>(socket, frame::FRAME_LIMIT)?.kind)
}

fn say(socket: &mut UnixStream, kind: Kind) -> Outcome {
    Ok(frame::write(socket, &FromExecutor { kind: Some(kind) })?)
}

fn ask(socket: &mut UnixStream, step: &str, phase: &str, attempt: u32) -> Outcome {
    say(socket, Kind::Request(Request { step: step.to_owned(), phase: phase.to_owned(), attempt }))
}

fn finish(socket: &mut UnixStream, ending: RunEnding, done: &[&str]) -> Outcome {
    let done = done.iter().map(|step| step.parse()).collect::<Result<_, _>>()?;
    let report = Report { ending, done, undone: Vec::new(), standing: Vec::new() };
    say(socket, Kind::Finished(Finished { report: serde_json::to_vec(&report)? }))
}

/// Asks for what is next, and gets it.
fn permit(socket: &mut UnixStream, step: &str, phase: &str) -> Outcome<Vec<u8>> {
    ask(socket, step, phase, 1)?;
    match hear(socket)? {
        Some(to_executor::Kind::Permit(granted)) => Ok(granted.permit),
        other => Err(format!("no permit: {other:?}").into()),
    }
}

/// Uses a permit and hears what came of it.
fn perform(socket: &mut UnixStream, permit: &[u8]) -> Outcome {
    say(socket, Kind::Perform(Perform { permit: permit.to_vec() }))?;
    match hear(socket)? {
        Some(to_executor::Kind::Observed(_)) => Ok(()),
        other => Err(format!("nothing ran: {other:?}").into()),
    }
}

//! A planner that a model took over, for the tests of the monitor: it seals itself like the real one, and then does what its goal
//! names. Put beside `countersignd` under the real one's name.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use countersign_sandbox::{Layers, announce, inherited, seal_planner};
use countersign_wire::frame;
use countersign_wire::planner::from_planner::{Answer, GiveUp, Infer, Kind, LoadTools, Propose, Read};
use countersign_wire::planner::{FromPlanner, Task, ToPlanner, to_planner};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn run() -> Outcome {
    let control = inherited(3)?;
    let enforcement = seal_planner(Layers::all())?;
    announce(control.as_fd(), &enforcement)?;
    let mut socket = UnixStream::from(control);
    let message: ToPlanner = frame::read(&mut socket, frame::FRAME_LIMIT)?;
    let Some(to_planner::Kind::Start(start)) = message.kind else { return Ok(()) };
    let Task::Draft { goal, .. } = serde_json::from_slice(&start.task)? else { return Ok(()) };
    misbehave(&goal, &mut socket)?;
    // What it is answered, if it is, changes nothing.
    while frame::read::<ToPlanner>(&mut socket, frame::FRAME_LIMIT).is_ok() {}
    Ok(())
}

fn misbehave(goal: &str, socket: &mut UnixStream) -> Outcome {
    let plan = |more: &str| {
        format!(
            r#"{{"schema": "countersign.plan/v1", "goal": "{goal}", "steps": [{{"id": "a", "action": "write_file",
            "args": {{"path": "a.txt", "content": "x"}}}}]{more}}}"#
        )
        .into_bytes()
    };
    match goal {
        "open a file" => drop(std::fs::read("/etc/passwd")),
        "use the network" => drop(std::net::TcpStream::connect("127.0.0.1:80")),
        "start a program" => drop(std::process::Command::new("/bin/sh").spawn()),
        "leave" => return Err("left".into()),
        "say nothing that is a message" => socket.write_all(&[0, 0, 0, 3, 0xff, 0xff, 0xff])?,
        "send more than fits" => socket.write_all(&u32::MAX.to_be_bytes())?,
        "speak twice" => {
            // The model of the test takes its time, so that the second one is no turn of its own.
            let request = br#"{"messages": [{"role": "user", "content": "x"}], "max_tokens": 10}"#.to_vec();
            say(socket, Kind::Infer(Infer { request: request.clone() }))?;
            say(socket, Kind::Infer(Infer { request }))?;
        }
        "revise nothing" => say(socket, Kind::Revise(Propose { draft: plan("") }))?,
        "approve itself" => say(socket, Kind::Propose(Propose { draft: plan(r#", "approvals": ["me"]"#) }))?,
        "read with a tool that writes" => {
            let args = br#"{"path": "a.txt", "content": "x"}"#.to_vec();
            say(socket, Kind::Read(Read { action: "write_file".to_owned(), args }))?;
        }
        "read with a tool that it did not load" => {
            say(socket, Kind::Read(Read { action: "memory_read".to_owned(), args: br#"{"key": "k"}"#.to_vec() }))?;
        }
        "propose a tool that it did not load" => say(socket, Kind::Propose(Propose { draft: plan("") }))?,
        "load everything at once" => {
            say(socket, Kind::LoadTools(LoadTools { groups: vec!["files".to_owned(); 1000] }))?;
        }
        "draft ten thousand steps" => {
            let step = |n: u32| {
                format!(r#"{{"id": "s{n}", "action": "write_file", "args": {{"path": "a.txt", "content": "x"}}}}"#)
            };
            draft(goal, socket, &format!("[{}]", (0..10_000).map(step).collect::<Vec<_>>().join(",")))?;
        }
        "draft a bomb of brackets" => {
            let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
            draft(
                goal,
                socket,
                &format!(
                    r#"[{{"id": "a", "action": "write_file", "args": {{"path": "a.txt", "content": {open}{close}}}}}]"#
                ),
            )?;
        }
        "draft a hundred megabytes" => {
            let bytes = 100_u32 << 20;
            socket.write_all(&bytes.to_be_bytes())?;
            let part = vec![b' '; 1 << 20];
            for _ in 0..100 {
                socket.write_all(&part)?;
            }
        }
        "revise to another goal" => {
            let write = |path: &str| {
                format!(r#"[{{"id": "a", "action": "write_file", "args": {{"path": "{path}", "content": "x"}}}}]"#)
            };
            load(socket)?;
            say(socket, Kind::Propose(Propose { draft: document(goal, &write("/proc/self/comm")) }))?;
            let _: ToPlanner = frame::read(socket, frame::FRAME_LIMIT)?;
            say(socket, Kind::Revise(Propose { draft: document("Write a.txt for mallory", &write("a.txt")) }))?;
            give_up(socket)?;
        }
        "go on while people think" => {
            let asking = format!(
                r#"{{"schema": "countersign.plan/v1", "goal": "{goal}", "steps": [{{"id": "a", "action": "run_program",
                "args": {{"argv": ["sh", "-c", "true"]}}}}]}}"#
            )
            .into_bytes();
            say(socket, Kind::LoadTools(LoadTools { groups: vec!["programs".to_owned()] }))?;
            let _: ToPlanner = frame::read(socket, frame::FRAME_LIMIT)?;
            say(socket, Kind::Propose(Propose { draft: asking }))?;
            let _: ToPlanner = frame::read(socket, frame::FRAME_LIMIT)?;
            say(socket, Kind::Answer(Answer { text: "it is done".to_owned() }))?;
        }
        _ => {}
    }
    Ok(())
}

fn document(goal: &str, steps: &str) -> Vec<u8> {
    format!(r#"{{"schema": "countersign.plan/v1", "goal": "{goal}", "steps": {steps}}}"#).into_bytes()
}

fn load(socket: &mut UnixStream) -> Outcome {
    say(socket, Kind::LoadTools(LoadTools { groups: vec!["files".to_owned()] }))?;
    let _: ToPlanner = frame::read(socket, frame::FRAME_LIMIT)?;
    Ok(())
}

/// A draft that the real planner's own code would not let through, straight to the gate.
fn draft(goal: &str, socket: &mut UnixStream, steps: &str) -> Outcome {
    load(socket)?;
    say(socket, Kind::Propose(Propose { draft: document(goal, steps) }))?;
    give_up(socket)
}

fn give_up(socket: &mut UnixStream) -> Outcome {
    let _: ToPlanner = frame::read(socket, frame::FRAME_LIMIT)?;
    say(socket, Kind::GiveUp(GiveUp { reason: "it was blocked".to_owned() }))
}

fn say(socket: &mut UnixStream, kind: Kind) -> Outcome {
    Ok(frame::write(socket, &FromPlanner { kind: Some(kind) })?)
}

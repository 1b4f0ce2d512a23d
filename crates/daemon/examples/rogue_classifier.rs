//! A classifier that what it reads has taken over, for the tests of the monitor: it seals itself like the real one, and then does
//! what the text names. Without the word `classifier` it is an inspector that finds nothing in anything, and leaves when it reads "no inspector". Put beside `countersignd`
//! as `countersign-inspector`.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use countersign_plan::inspection::{Finding, FindingKind, Inspection, Touch};
use countersign_plan::tool::{Effect, TargetKind};
use countersign_sandbox::{Layers, announce, inherited, seal_inspector};
use countersign_wire::frame;
use countersign_wire::inspector::{FromInspector, ToInspector};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let scores = std::env::args().nth(1).is_some_and(|word| word == "classifier");
    let control = inherited(3)?;
    let enforcement = seal_inspector(Layers::all())?;
    announce(control.as_fd(), &enforcement)?;
    let mut socket = UnixStream::from(control);
    loop {
        let asked: ToInspector = frame::read(&mut socket, frame::FRAME_LIMIT)?;
        let subject = String::from_utf8(asked.subject)?;
        let names = |what: &str| scores && subject.contains(what);
        let mut said = Inspection::default();
        if names("leave") || (!scores && subject.contains("no inspector")) {
            return Ok(());
        } else if names("say nothing") {
            // The end of the channel, and no sooner.
            while frame::read::<ToInspector>(&mut socket, frame::FRAME_LIMIT).is_ok() {}
            return Ok(());
        } else if names("more than fits") {
            socket.write_all(&u32::MAX.to_be_bytes())?;
            continue;
        } else if names("open a file") {
            drop(std::fs::read("/etc/passwd"));
        } else if names("touch everything") {
            said.touches.push(Touch {
                effect: Effect::Delete,
                kind: TargetKind::File,
                name: "/".to_owned(),
                pattern: false,
                recursive: true,
                by: "x".to_owned(),
                in_place: false,
            });
        } else if names("doubt") {
            let message = "doubted".to_owned();
            said.findings.push(Finding { kind: FindingKind::InjectedInstruction, message, span: None });
        }
        frame::write(&mut socket, &FromInspector::with(&said))?;
    }
}

//! An inspector that what it reads has taken over, for the tests of the monitor: it seals itself like the real one, and then does
//! what the subject names. Put beside `countersignd` under the real one's name.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use countersign_plan::inspection::{Inspection, Touch, Unknown, UnknownKind};
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

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn run() -> Outcome {
    let control = inherited(3)?;
    let enforcement = seal_inspector(Layers::all())?;
    announce(control.as_fd(), &enforcement)?;
    let mut socket = UnixStream::from(control);
    let mut taken_over = false;
    loop {
        let asked: ToInspector = frame::read(&mut socket, frame::FRAME_LIMIT)?;
        let subject = String::from_utf8(asked.subject)?;
        let names = |what: &str| subject.contains(what);
        taken_over |= names("take over");
        if names("say nothing") {
            // The end of the channel, and no sooner.
            while frame::read::<ToInspector>(&mut socket, frame::FRAME_LIMIT).is_ok() {}
            return Ok(());
        } else if names("leave") {
            return Ok(());
        } else if names("open a file") {
            frame::write(&mut socket, &FromInspector::with(&Inspection::default()))?;
            drop(std::fs::read("/etc/passwd"));
        } else if names("no message") {
            socket.write_all(&[0, 0, 0, 3, 0xff, 0xff, 0xff])?;
        } else if names("more than fits") {
            socket.write_all(&u32::MAX.to_be_bytes())?;
        } else if names("too many touches") {
            frame::write(&mut socket, &FromInspector::with(&everything()))?;
        } else if taken_over {
            frame::write(&mut socket, &FromInspector::with(&Inspection::default()))?;
        } else {
            frame::write(&mut socket, &FromInspector::with(&nothing_known()))?;
        }
    }
}

fn everything() -> Inspection {
    let touch = |n: u32| Touch {
        effect: Effect::Read,
        kind: TargetKind::File,
        name: format!("/work/{n}"),
        pattern: false,
        recursive: false,
        by: "x".to_owned(),
        in_place: false,
    };
    Inspection { touches: (0..100_000).map(touch).collect(), ..Inspection::default() }
}

/// What an honest inspector that can read nothing says.
fn nothing_known() -> Inspection {
    let unknown = Unknown {
        kind: UnknownKind::Program,
        effect: Effect::Execute,
        message: "not known here".to_owned(),
        span: None,
    };
    Inspection { unknowns: vec![unknown], ..Inspection::default() }
}

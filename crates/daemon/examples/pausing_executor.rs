//! An honest executor that stops where the reason of its plan's first step says, and waits there, for the tests that kill the monitor
//! in each state of a run. Put beside `countersignd` under the real one's name.
//!
//! Every plan has two steps, `a` and `b`, whose state is kept before they act. Told to halt, it takes `a` back.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use countersign_plan::envelope::{CountersignedPlan, Envelope, TrustRoot};
use countersign_plan::key::PublicKey;
use countersign_plan::time::Timestamp;
use countersign_sandbox::{Layers, announce, inherited, seal_executor};
use countersign_wire::executor::from_executor::{Finished, Kind, Perform, Request, Verified};
use countersign_wire::executor::{FromExecutor, Report, RunEnding, ToExecutor, to_executor};
use countersign_wire::frame;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// What it says to the monitor, up to the point where it stops.
struct Talk {
    socket: UnixStream,
    stop: String,
}

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
    let stop = plan.plan().draft.pointer("/steps/0/reason").and_then(|reason| reason.as_str()).unwrap_or_default();
    let mut talk = Talk { socket, stop: stop.to_owned() };
    talk.say("verify", Kind::Verified(Verified { plan_digest }))?;
    for step in ["a", "b"] {
        for phase in ["snapshot", "act"] {
            talk.attempt(step, phase)?;
        }
    }
    talk.finish(RunEnding::Completed, &["a", "b"], &[])?;
    talk.wait()
}

impl Talk {
    /// Says it, unless this is where it stops: then it waits to be told to halt, and takes back what was done.
    fn say(&mut self, point: &str, kind: Kind) -> Outcome {
        if self.stop == point {
            self.wait()?;
            self.stop.clear();
            return Err("nobody said to halt".into());
        }
        Ok(frame::write(&mut self.socket, &FromExecutor { kind: Some(kind) })?)
    }

    fn attempt(&mut self, step: &str, phase: &str) -> Outcome {
        let request = Request { step: step.to_owned(), phase: phase.to_owned(), attempt: 1 };
        self.say(&format!("ask to {phase} {step}"), Kind::Request(request))?;
        let Some(to_executor::Kind::Permit(granted)) = hear(&mut self.socket)? else { return Err("no permit".into()) };
        self.say(&format!("{phase} {step}"), Kind::Perform(Perform { permit: granted.permit }))?;
        match hear(&mut self.socket)? {
            Some(to_executor::Kind::Observed(_)) => Ok(()),
            other => Err(format!("nothing ran: {other:?}").into()),
        }
    }

    fn finish(&mut self, ending: RunEnding, done: &[&str], undone: &[&str]) -> Outcome {
        let steps = |names: &[&str]| names.iter().map(|step| step.parse()).collect::<Result<_, _>>();
        let report = Report { ending, done: steps(done)?, undone: steps(undone)?, standing: Vec::new() };
        self.say("finish", Kind::Finished(Finished { report: serde_json::to_vec(&report)? }))
    }

    /// Until the monitor is gone, or says to halt.
    fn wait(&mut self) -> Outcome {
        loop {
            if let Some(to_executor::Kind::Halt(halt)) = hear(&mut self.socket)? {
                // From here on it stops where the reason of the halt says.
                self.stop = halt.reason;
                self.attempt("a", "restore")?;
                self.finish(RunEnding::Halted { reason: "told to".to_owned() }, &["a"], &["a"])?;
            }
        }
    }
}

fn hear(socket: &mut UnixStream) -> Outcome<Option<to_executor::Kind>> {
    Ok(frame::read::<ToExecutor>(socket, frame::FRAME_LIMIT)?.kind)
}

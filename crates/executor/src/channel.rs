//! Between frames and the machine: nothing is decided here.

use std::io::{Read, Write};

use anyhow::{Context as _, bail};
use countersign_plan::document::{self, Bounds};
use countersign_plan::observation::{OBSERVATION_LIMIT, Observation};
use countersign_wire::executor::{FromExecutor, ToExecutor, from_executor, to_executor};
use countersign_wire::frame::{self, FRAME_LIMIT};

use crate::machine::{Event, Machine, Message};
use crate::start;

/// Serves one plan from `start` to `finished`.
pub(crate) fn serve(socket: &mut (impl Read + Write)) -> anyhow::Result<()> {
    let Some(to_executor::Kind::Start(message)) = receive(socket)? else { bail!("the first message is not the plan") };
    let run = match start::verify(&message) {
        Ok(run) => run,
        Err(refusal) => {
            let message = refusal.to_string();
            return send(socket, from_executor::Kind::Rejected(from_executor::Rejected { message }));
        }
    };
    let plan_digest = run.plan.digest().as_bytes().to_vec();
    send(socket, from_executor::Kind::Verified(from_executor::Verified { plan_digest }))?;
    let (mut machine, mut next) = Machine::start(run);
    loop {
        if let Some(message) = next {
            let last = matches!(message, Message::Finished(_));
            send(socket, said(message)?)?;
            if last {
                return Ok(());
            }
        }
        next = machine.on(event(receive(socket)?)?);
    }
}

fn receive(socket: &mut impl Read) -> anyhow::Result<Option<to_executor::Kind>> {
    Ok(frame::read::<ToExecutor>(socket, FRAME_LIMIT).context("cannot read from the monitor")?.kind)
}

fn send(socket: &mut impl Write, kind: from_executor::Kind) -> anyhow::Result<()> {
    frame::write(socket, &FromExecutor { kind: Some(kind) }).context("cannot write to the monitor")
}

fn event(kind: Option<to_executor::Kind>) -> anyhow::Result<Event> {
    Ok(match kind {
        Some(to_executor::Kind::Permit(permit)) => Event::Permit(permit.permit),
        Some(to_executor::Kind::Refused(refused)) => Event::Refused { code: refused.code, message: refused.message },
        Some(to_executor::Kind::Observed(observed)) => {
            let bounds = Bounds { bytes: OBSERVATION_LIMIT, depth: 64, values: 1 << 20 };
            let value = document::from_json(&observed.observation, bounds).context("observation")?;
            let observation: Observation = document::typed(value).context("observation")?;
            Event::Observed { step: observed.step.parse()?, observation: Box::new(observation) }
        }
        Some(to_executor::Kind::Halt(halt)) => Event::Halt { reason: halt.reason, compensate: halt.compensate },
        Some(to_executor::Kind::Start(_)) => bail!("a second plan: an executor runs one"),
        None => bail!("a message of a kind that this version does not know"),
    })
}

fn said(message: Message) -> anyhow::Result<from_executor::Kind> {
    Ok(match message {
        Message::Request { step, phase } => from_executor::Kind::Request(from_executor::Request {
            step: step.to_string(),
            phase: phase.as_str().to_owned(),
            attempt: crate::machine::ATTEMPT,
        }),
        Message::Perform { permit } => from_executor::Kind::Perform(from_executor::Perform { permit }),
        Message::Finished(report) => {
            from_executor::Kind::Finished(from_executor::Finished { report: serde_json::to_vec(&report)? })
        }
    })
}

#[cfg(test)]
mod tests;

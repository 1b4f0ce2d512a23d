//! What a step asks of the broker, and what the answer means for the step.

use std::time::{Duration, Instant};

use countersign_plan::confinement::SandboxSpec;
use countersign_plan::text;
use countersign_wire::egress::{ask, reply};

use crate::channel::Silence;
use crate::failure::Failure;
use crate::tools::{Outcome, time};
use crate::watcher::Watcher;

/// How much longer than the broker the step waits, so that an answer that comes late on a busy machine is still heard. Less than
/// what the zygote gives a step beyond its time.
const ANSWERING: Duration = Duration::from_secs(10);

/// What it means when no answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silent {
    /// The ask changes nothing: it failed.
    Failed,
    /// It may have happened.
    Unknown,
}

/// The time of one ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    /// When the step waits no longer.
    pub(crate) deadline: Instant,
    /// What the broker is given, in milliseconds.
    pub(crate) broker_ms: u64,
}

impl Term {
    /// What is left of a step that begins now.
    pub(crate) fn of(spec: &SandboxSpec) -> Self {
        let whole = time(spec, None);
        let broker_ms = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        Self { deadline: Instant::now() + whole.saturating_add(ANSWERING.min(whole)), broker_ms }
    }
}

/// Asks and waits for the answer.
///
/// # Errors
/// A refusal, or silence.
pub(crate) fn ask(watcher: &mut dyn Watcher, kind: ask::Kind, term: Term, silent: Silent) -> Outcome<reply::Kind> {
    let channel = watcher.channel().ok_or_else(|| Failure::new("this step has no way to the broker"))?;
    match channel.call(kind, term.deadline) {
        Ok(reply::Kind::Refused(refused)) => Err(refusal(&refused)),
        Ok(kind) => Ok(kind),
        Err(silence) => Err(lost(&silence, silent)),
    }
}

/// What a refusal means.
pub(crate) fn refusal(refused: &reply::Refused) -> Failure {
    let message = text::escape(&refused.message);
    if refused.violation {
        Failure::Violation(message)
    } else if refused.indeterminate {
        Failure::Unknown(message)
    } else {
        Failure::Failed(message)
    }
}

/// What silence means.
pub(crate) fn lost(silence: &Silence, silent: Silent) -> Failure {
    match (silence, silent) {
        (Silence::Oversize, _) | (_, Silent::Failed) => Failure::new(silence.to_string()),
        (_, Silent::Unknown) => Failure::Unknown(format!("{silence}; whether what was asked has happened is unknown")),
    }
}

/// What is said of an answer of another kind than was asked for.
pub(crate) fn stray(silent: Silent) -> Failure {
    lost(&Silence::Malformed("an answer to something else".to_owned()), silent)
}

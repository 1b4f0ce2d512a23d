//! What must hold before the first step: the gate's countersignature over exactly these bytes, now, in this boot epoch.

use countersign_plan::document::DocumentError;
use countersign_plan::draft::Rollback;
use countersign_plan::envelope::{CountersignedPlan, Envelope, TrustRoot, VerifiedPlan, VerifyError};
use countersign_plan::id::StepId;
use countersign_plan::key::{KeyError, PublicKey};
use countersign_plan::saga::Undo;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Mode;
use countersign_wire::executor::to_executor::Start;

/// A verified plan and how each of its steps is taken back.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) plan: VerifiedPlan,
    /// In the order of the steps.
    pub(crate) undo: Vec<Undo>,
    pub(crate) gate: PublicKey,
    pub(crate) epoch: u64,
}

/// Why nothing runs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// Not a key.
    #[error("the gate's key: {0}")]
    Key(#[from] KeyError),
    /// Not an envelope.
    #[error("the envelope: {0}")]
    Envelope(#[from] DocumentError),
    /// The countersignature does not hold.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The plan is somebody else's to carry out.
    #[error("the plan is guarded: an outside agent carries it out")]
    Guarded,
    /// The list of how steps are taken back is not one of this plan.
    #[error("how steps are taken back is not said once for each step, in order")]
    Undo,
    /// The plan and the list contradict each other.
    #[error("step `{0}` cannot be taken back by {1}: its plan does not say so")]
    Contradiction(StepId, Undo),
}

/// Verifies what the monitor sent.
pub(crate) fn verify(start: &Start) -> Result<Run, StartError> {
    let key: [u8; 32] = start.gate_key.as_slice().try_into().map_err(|_| KeyError::Malformed)?;
    let gate = PublicKey::from_bytes(&key)?;
    let signed = CountersignedPlan { plan: start.plan.clone(), envelope: Envelope::from_json(&start.envelope)? };
    let root = TrustRoot { gate, epoch: Some(start.epoch) };
    let plan = signed.verify(&root, Timestamp::from_millis(start.now))?;
    if plan.plan().mode != Mode::Managed {
        return Err(StartError::Guarded);
    }
    let steps = plan.draft().steps();
    if !start.undo.iter().map(|undo| undo.step.as_str()).eq(steps.iter().map(|step| step.id.as_str())) {
        return Err(StartError::Undo);
    }
    let mut undo = Vec::with_capacity(steps.len());
    for (said, step) in start.undo.iter().zip(steps) {
        let by: Undo = said.by.parse().map_err(|_| StartError::Undo)?;
        let action = matches!(step.rollback, Some(Rollback::Action { .. }));
        let contradicts = match by {
            Undo::Action => !action,
            Undo::Snapshot => action || matches!(step.rollback, Some(Rollback::None)),
            Undo::Pure | Undo::None => false,
        };
        if contradicts {
            return Err(StartError::Contradiction(step.id.clone(), by));
        }
        undo.push(by);
    }
    Ok(Run { plan, undo, gate, epoch: start.epoch })
}

#[cfg(test)]
pub(crate) mod tests;

//! The mint of permits: single-use leave for one attempt of one step, signed over exactly its arguments and sandbox (INV-6).

use countersign_plan::digest::Digest;
use countersign_plan::envelope::Envelope;
use countersign_plan::permit::Claims;

use crate::key::GateKey;
use crate::machine::{self, PermitState};

/// A permit that was issued. Only the gate makes one; it cannot be copied, and its bytes are good for one use.
///
/// ```compile_fail
/// fn twice(permit: countersign_gate::permit::Permit) -> countersign_gate::permit::Permit { permit.clone() }
/// ```
/// ```compile_fail
/// fn read(text: &str) -> countersign_gate::permit::Permit { serde_json::from_str(text).unwrap() }
/// ```
/// ```compile_fail
/// fn forge(bytes: Vec<u8>) -> countersign_gate::permit::Permit { countersign_gate::permit::Permit { bytes } }
/// ```
#[derive(Debug)]
pub struct Permit {
    bytes: Vec<u8>,
}

/// What the gate keeps of a permit that it issued: to know it again, and to show it to the zygote when it is used.
#[derive(Debug)]
pub(crate) struct Minted {
    pub(crate) claims: Claims,
    pub(crate) envelope: Envelope,
    bytes: Vec<u8>,
}

/// Signs a permit of this number, if the core says that it is issued and unused.
pub(crate) fn mint(key: &GateKey, life: &machine::Case, number: u32, claims: Claims) -> Option<(Minted, Permit)> {
    let machine::Stage::Running(run) = life.stage() else { return None };
    let issued = run.permits.get(usize::try_from(number).ok()?)?;
    let (step, _) = life.terms().steps.get(issued.step)?;
    let same = issued.state == PermitState::Open
        && *step == claims.step
        && issued.phase == claims.phase
        && issued.expires_at == claims.expires_at
        && run.lease.epoch == claims.epoch
        && life.terms().plan == claims.plan_digest;
    if !same {
        return None;
    }
    let envelope = key.permit(&claims).ok()?;
    let bytes = envelope.to_json();
    Some((Minted { claims, envelope, bytes: bytes.clone() }, Permit { bytes }))
}

impl Permit {
    /// The signed bytes for the executor: the envelope as JSON.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Minted {
    /// The digest of the bytes that were issued.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Whether these are exactly the bytes that were issued.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes == bytes
    }
}

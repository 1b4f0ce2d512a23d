//! Permits: single-use leave for one attempt of one step, signed by the gate over exactly its arguments and sandbox (INV-6).
//!
//! Claims are read from a verified envelope only; the mint is the gate's.

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::digest::Digest;
use crate::document::{self, Bounds, DocumentError};
use crate::envelope::{self, Envelope, EnvelopeError};
use crate::id::{CaseId, KeyId, StepId, ToolName};
use crate::key::PublicKey;
use crate::time::{Span, Timestamp};

const PAYLOAD_TYPE: &str = "application/vnd.countersign.permit+json";

/// How long a permit may wait to be used.
pub const TIME_TO_START: Span = Span::from_secs(60);

/// What a permit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Keep the state before.
    Snapshot,
    /// Do it.
    Act,
    /// Put the state before back.
    Restore,
    /// Take it back by another action.
    Compensate,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 4] = [Self::Snapshot, Self::Act, Self::Restore, Self::Compensate];

    /// The word that messages use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Act => "act",
            Self::Restore => "restore",
            Self::Compensate => "compensate",
        }
    }
}

/// What a permit says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The case.
    pub case: CaseId,
    /// The countersigned plan.
    pub plan_digest: Digest,
    /// Its version.
    pub version: u32,
    /// The step.
    pub step: StepId,
    /// From 1.
    pub attempt: u32,
    /// What it is for.
    pub phase: Phase,
    /// The tool.
    pub tool: ToolName,
    /// The tool's definition.
    pub tool_digest: Digest,
    /// SHA-256 of the canonical concrete arguments.
    pub args_digest: Digest,
    /// SHA-256 of the canonical sandbox spec.
    pub spec_digest: Digest,
    /// The monitor's boot epoch.
    pub epoch: u64,
    /// Gate time when it was issued.
    pub issued_at: Timestamp,
    /// Not to be started from then on.
    pub expires_at: Timestamp,
    /// Spent at the first use.
    pub nonce: String,
}

/// A permit whose signature was checked. It cannot be made in any other way, and it is used up by value.
#[derive(Debug)]
pub struct VerifiedPermit(Claims);

/// Why a permit was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    /// The envelope does not hold.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The claims are malformed.
    #[error("permit: {0}")]
    Claims(#[from] DocumentError),
    /// Of an earlier start of the monitor.
    #[error("the permit is of boot epoch {found}, but this is epoch {now}")]
    Epoch {
        /// The epoch in the permit.
        found: u64,
        /// The epoch now.
        now: u64,
    },
}

impl Claims {
    /// The payload and the bytes to sign (DSSE PAE).
    ///
    /// # Errors
    /// Never for this type; kept so that nothing is permitted by accident.
    pub fn to_sign(&self) -> Result<(Vec<u8>, Vec<u8>), serde_json::Error> {
        let payload = canonical::of(self)?;
        let bytes = envelope::pae(PAYLOAD_TYPE, &payload);
        Ok((payload, bytes))
    }

    /// The envelope around a payload of [`Claims::to_sign`].
    #[must_use]
    pub fn envelope(payload: Vec<u8>, key: KeyId, signature: [u8; 64]) -> Envelope {
        Envelope::signed(PAYLOAD_TYPE, payload, key, signature)
    }
}

impl VerifiedPermit {
    /// Checks the gate's signature and the epoch. Expiry and single use are the gate's and the zygote's to check, who have
    /// a clock and a memory.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(envelope: &Envelope, gate: &PublicKey, epoch: u64) -> Result<Self, PermitError> {
        let payload = envelope.verify(PAYLOAD_TYPE, gate)?;
        let bounds = Bounds { bytes: 64 << 10, depth: 4, values: 64 };
        let claims: Claims = document::typed(document::from_json(payload, bounds)?)?;
        if claims.epoch != epoch {
            return Err(PermitError::Epoch { found: claims.epoch, now: epoch });
        }
        Ok(Self(claims))
    }

    /// What it says.
    #[must_use]
    pub const fn claims(&self) -> &Claims {
        &self.0
    }
}

//! Which step may ask at all: one whose permit the gate signed, in this boot epoch, for exactly this sandbox spec, not expired and
//! not spent (INV-1, INV-6).

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_plan::confinement::SandboxSpec;
use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::envelope::Envelope;
use countersign_plan::key::PublicKey;
use countersign_plan::permit::{PermitError, Phase, VerifiedPermit};
use countersign_plan::time::Timestamp;
use countersign_wire::broker::to_broker::Lease;

use crate::grant::Grant;

/// Time beyond the step's own limit after which a lease is dead even if nobody released it.
const GRACE: Duration = Duration::from_secs(30);

/// Admits leases of one boot epoch.
#[derive(Debug)]
pub(crate) struct Admission {
    gate: PublicKey,
    epoch: u64,
    /// Nonces of permits that were used here, and when they expire by themselves.
    spent: BTreeMap<String, Timestamp>,
}

/// A lease that holds.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// What may be asked.
    pub(crate) grant: Grant,
    /// When it ends without being released.
    pub(crate) lasts: Duration,
}

/// Why a lease was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseError {
    /// The permit is no envelope.
    #[error("the permit: {0}")]
    Envelope(DocumentError),
    /// The gate did not sign it, or not in this epoch.
    #[error(transparent)]
    Permit(#[from] PermitError),
    /// The permit is another case's.
    #[error("the permit is of case {0}")]
    Case(String),
    /// The permit is for another sandbox.
    #[error("the permit is for another sandbox spec")]
    Spec,
    /// The spec is none.
    #[error("the sandbox spec: {0}")]
    Malformed(DocumentError),
    /// Too late, or too early.
    #[error("the permit was issued at {0} and expires at {1}; it is {2}")]
    Expired(Timestamp, Timestamp, Timestamp),
    /// Keeping state and putting it back need no network.
    #[error("a permit to {0} reaches nothing outside")]
    Phase(&'static str),
    /// Used before.
    #[error("the permit was used before")]
    Spent,
}

impl LeaseError {
    /// Whether somebody tried to act without leave. A permit that came too late is none.
    pub(crate) const fn is_violation(&self) -> bool {
        match self {
            Self::Envelope(_) | Self::Permit(_) | Self::Case(_) | Self::Spec | Self::Phase(_) | Self::Spent => true,
            Self::Malformed(_) | Self::Expired(..) => false,
        }
    }
}

impl Admission {
    /// Admits what `gate` signs in `epoch`.
    pub(crate) const fn new(gate: PublicKey, epoch: u64) -> Self {
        Self { gate, epoch, spent: BTreeMap::new() }
    }

    /// Whether it admits what `gate` signs in `epoch`.
    pub(crate) fn is_of(&self, gate: PublicKey, epoch: u64) -> bool {
        self.gate == gate && self.epoch == epoch
    }

    /// Judges a lease and spends its permit.
    ///
    /// # Errors
    /// The first check that fails; then the permit is not spent.
    pub(crate) fn admit(&mut self, lease: &Lease) -> Result<Admitted, LeaseError> {
        let envelope = Envelope::from_json(&lease.permit).map_err(LeaseError::Envelope)?;
        let permit = VerifiedPermit::verify(&envelope, &self.gate, self.epoch)?;
        let claims = permit.claims();
        if claims.case.as_str() != lease.case {
            return Err(LeaseError::Case(claims.case.to_string()));
        }
        if Digest::of(&lease.spec) != claims.spec_digest {
            return Err(LeaseError::Spec);
        }
        let now = Timestamp::from_millis(lease.now);
        if now < claims.issued_at || now >= claims.expires_at {
            return Err(LeaseError::Expired(claims.issued_at, claims.expires_at, now));
        }
        let value = document::from_json(&lease.spec, Bounds::CONFIG).map_err(LeaseError::Malformed)?;
        let spec: SandboxSpec = document::typed(value).map_err(LeaseError::Malformed)?;
        match claims.phase {
            Phase::Act | Phase::Compensate => {}
            Phase::Snapshot | Phase::Restore => return Err(LeaseError::Phase(claims.phase.as_str())),
        }
        self.spent.retain(|_, expires| *expires > now);
        if self.spent.insert(claims.nonce.clone(), claims.expires_at).is_some() {
            return Err(LeaseError::Spent);
        }
        let lasts = Duration::from_millis(spec.limits.wall_ms).saturating_add(GRACE);
        Ok(Admitted { grant: Grant::new(claims.case.to_string(), claims.step.to_string(), spec.egress), lasts })
    }
}

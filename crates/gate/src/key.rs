//! The gate's key: the only signer of countersignatures, permits and heads of the ledger.

use std::fmt;

use countersign_ledger::checkpoint::{CheckpointError, KeyName};
use countersign_ledger::{SignCheckpoint, VerifyingKeyInfo};
use countersign_plan::digest::Digest;
use countersign_plan::envelope::{Countersignature, Envelope};
use countersign_plan::id::KeyId;
use countersign_plan::key::{KeyError, PublicKey};
use countersign_plan::permit::Claims;
use ed25519_dalek::{Signer as _, SigningKey};
use zeroize::Zeroize as _;

/// What the signed bytes of a rotation start with; the same as `wire::zygote::rotation_message`.
const ROTATION: &[u8] = b"countersign zygote key rotation v1\0";

/// The name under which heads of the ledger carry the gate's signature, whichever key made it.
pub const HEAD_NAME: &str = "countersign";

/// An Ed25519 signing key (RFC 8032). Wiped from memory when dropped; nothing shows the secret.
pub struct GateKey {
    secret: SigningKey,
    public: PublicKey,
    id: KeyId,
}

impl GateKey {
    /// Takes over the 32 secret bytes; the caller's copy is wiped.
    ///
    /// # Errors
    /// Never for Ed25519; kept so that nothing is signed under a key that nobody can verify.
    pub fn from_bytes(secret: &mut [u8; 32]) -> Result<Self, KeyError> {
        let key = SigningKey::from_bytes(secret);
        secret.zeroize();
        let public = PublicKey::from_bytes(key.verifying_key().as_bytes())?;
        Ok(Self { id: public.id(), secret: key, public })
    }

    /// The public part.
    #[must_use]
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    /// The part of this key that signs the ledger's heads, under a name that heads carry.
    #[must_use]
    pub fn checkpoint_signer(&self, name: KeyName) -> CheckpointSigner {
        CheckpointSigner { secret: Box::new(self.secret.clone()), name }
    }

    /// The signer of the ledger's heads, under the name that they all carry ([`HEAD_NAME`]).
    ///
    /// # Errors
    /// Never, since that name is legal.
    pub fn head_signer(&self) -> Result<CheckpointSigner, CheckpointError> {
        HEAD_NAME.parse().map(|name| self.checkpoint_signer(name))
    }

    pub(crate) fn countersign(&self, statement: &Countersignature, plan: Digest) -> Envelope {
        let (payload, bytes) = statement.to_sign(plan);
        Countersignature::envelope(payload, self.id.clone(), self.secret.sign(&bytes).to_bytes())
    }

    pub(crate) fn permit(&self, claims: &Claims) -> Result<Envelope, serde_json::Error> {
        let (payload, bytes) = claims.to_sign()?;
        Ok(Claims::envelope(payload, self.id.clone(), self.secret.sign(&bytes).to_bytes()))
    }

    /// This key's word to the zygote that `new` signs from now on.
    pub(crate) fn hand_over(&self, new: &PublicKey, epoch: u64) -> [u8; 64] {
        let message = [ROTATION, &new.to_bytes(), &epoch.to_be_bytes()].concat();
        self.secret.sign(&message).to_bytes()
    }
}

impl fmt::Debug for GateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GateKey({})", self.public)
    }
}

/// Signs heads and rotation statements for the ledger, and nothing else: what it signs starts as those do, so that its
/// signature never passes for one on a plan or a permit.
pub struct CheckpointSigner {
    secret: Box<SigningKey>,
    name: KeyName,
}

impl SignCheckpoint for CheckpointSigner {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: self.name.clone(), key: self.secret.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        // DSSE signs `DSSEv1 …`. The ledger never asks for that; were it to, the answer would verify as nothing.
        if message.starts_with(b"DSSEv1") || message.starts_with(ROTATION) {
            return [0; 64];
        }
        self.secret.sign(message).to_bytes()
    }
}

impl fmt::Debug for CheckpointSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckpointSigner({})", self.name)
    }
}

#[cfg(test)]
mod tests;

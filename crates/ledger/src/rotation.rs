//! Key rotation: the old key states in the ledger which key signs from there on.
//!
//! The statement is the payload of a `key_rotated` record, always in clear. Heads up to and with the first that covers the
//! record are signed by the old key, larger ones by the new key; so at each size exactly one key may sign.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_plan::canonical;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::checkpoint::{CheckpointError, LedgerId, SignCheckpoint, VerifyingKeyInfo};

/// What the signed bytes of a statement start with.
const DOMAIN: &[u8] = b"countersign-key-rotation/v1\n";

/// A statement of key rotation is not genuine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationError {
    /// The payload has another form.
    #[error("the payload is no statement of key rotation")]
    Form,
    /// A key in it is no key.
    #[error(transparent)]
    Key(#[from] CheckpointError),
    /// It speaks of another ledger or place.
    #[error("the statement is for another ledger or another place in it")]
    Place,
    /// The old key did not sign it.
    #[error("the old key's signature on the statement is wrong")]
    Signature,
}

/// The old key's word that another key signs from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The key that signed up to here, and signed this.
    pub old: VerifyingKeyInfo,
    /// The key that signs from here on.
    pub new: VerifyingKeyInfo,
    /// The size of the last head under the old key: one more than the seq of the record.
    pub from: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    from: u64,
    ledger: String,
    new: String,
    old: String,
    signature: String,
}

impl Rotation {
    fn message(&self, ledger: &LedgerId) -> Vec<u8> {
        let statement = json!({
            "from": self.from, "ledger": ledger.as_str(), "new": self.new.to_string(), "old": self.old.to_string(),
        });
        [DOMAIN, &canonical::to_vec(&statement)].concat()
    }

    /// The payload of the record: the statement, signed by the old key.
    pub(crate) fn payload<S: SignCheckpoint + ?Sized>(&self, ledger: &LedgerId, old: &S) -> Value {
        json!({
            "from": self.from, "ledger": ledger.as_str(), "new": self.new.to_string(), "old": self.old.to_string(),
            "signature": STANDARD.encode(old.sign(&self.message(ledger))),
        })
    }

    /// Reads the payload of record `seq` and checks that its old key signed it. Whether that key had the right to is for the
    /// caller to know.
    ///
    /// # Errors
    /// It is no statement, is for another place, or is not signed by the key that it names as the old one.
    pub fn read(payload: &Value, ledger: &LedgerId, seq: u64) -> Result<Self, RotationError> {
        let statement = Statement::deserialize(payload).map_err(|_| RotationError::Form)?;
        if statement.ledger != ledger.as_str() || Some(statement.from) != seq.checked_add(1) {
            return Err(RotationError::Place);
        }
        let rotation = Self { old: statement.old.parse()?, new: statement.new.parse()?, from: statement.from };
        let signature = STANDARD.decode(statement.signature).map_err(|_| RotationError::Signature)?;
        let signature = <[u8; 64]>::try_from(signature).map_err(|_| RotationError::Signature)?;
        rotation.old.check(&rotation.message(ledger), &signature).map_err(|_| RotationError::Signature)?;
        Ok(rotation)
    }
}

//! Signed envelopes: DSSE v1 (secure-systems-lab/dsse). The exact bytes are stored and signed; nothing is canonicalised
//! again to verify.

mod countersigned;

pub use countersigned::{Countersignature, CountersignedPlan, TrustRoot, VerifiedPlan, VerifyError};

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::document::{self, Bounds, DocumentError};
use crate::id::KeyId;
use crate::key::{KeyError, PublicKey};

/// A payload, its type and signatures over both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    signatures: Vec<(KeyId, [u8; 64])>,
}

/// Why an envelope was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// No envelope.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A payload of another type: a permit is no plan.
    #[error("the envelope holds `{found}`, not `{wanted}`")]
    Type {
        /// The type that was asked for.
        wanted: &'static str,
        /// The type that it says.
        found: String,
    },
    /// No signature by the key that is trusted.
    #[error("no signature by {0}")]
    Unsigned(KeyId),
    /// A signature that does not hold.
    #[error(transparent)]
    Key(#[from] KeyError),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wire {
    payload_type: String,
    payload: String,
    signatures: Vec<WireSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSignature {
    keyid: KeyId,
    sig: String,
}

/// The bytes that a signature is over: DSSE's pre-authentication encoding.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + payload_type.len() + 48);
    // Memory takes whatever is written to it.
    let _ = write!(out, "DSSEv1 {} {} {} ", payload_type.len(), payload_type, payload.len());
    out.extend_from_slice(payload);
    out
}

impl Envelope {
    /// An envelope from a payload and a signature over [`pae`] of it.
    #[must_use]
    pub fn signed(payload_type: &str, payload: Vec<u8>, key: KeyId, signature: [u8; 64]) -> Self {
        Self { payload_type: payload_type.to_owned(), payload, signatures: vec![(key, signature)] }
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// Not the form, over 2 MiB, or more than 16 signatures.
    pub fn from_json(bytes: &[u8]) -> Result<Self, DocumentError> {
        let bounds = Bounds { bytes: 2 << 20, depth: 4, values: 128 };
        let wire: Wire = document::typed(document::from_json(bytes, bounds)?)?;
        if wire.signatures.len() > 16 {
            return Err(DocumentError::at("/signatures", "at most 16 signatures are read"));
        }
        let payload = STANDARD.decode(&wire.payload).map_err(|_| DocumentError::at("/payload", "not base64"))?;
        let signatures = wire
            .signatures
            .into_iter()
            .map(|s| {
                let sig = STANDARD.decode(&s.sig).ok().and_then(|bytes| bytes.try_into().ok());
                sig.map(|sig| (s.keyid, sig)).ok_or_else(|| DocumentError::at("/signatures", "not base64 of 64 bytes"))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { payload_type: wire.payload_type, payload, signatures })
    }

    /// The JSON form.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let signatures: Vec<serde_json::Value> = self
            .signatures
            .iter()
            .map(|(keyid, sig)| serde_json::json!({"keyid": keyid, "sig": STANDARD.encode(sig)}))
            .collect();
        let wire = serde_json::json!({
            "payloadType": self.payload_type, "payload": STANDARD.encode(&self.payload), "signatures": signatures
        });
        crate::canonical::to_vec(&wire)
    }

    /// The payload, if `key` signed it as `payload_type`. Signatures by other keys neither help nor hurt.
    ///
    /// ```
    /// use countersign_plan::envelope::{Envelope, pae};
    /// use countersign_plan::key::PublicKey;
    /// use ed25519_dalek::{Signer, SigningKey};
    ///
    /// const NOTE: &str = "application/vnd.example.note+json";
    /// let secret = SigningKey::from_bytes(&[1; 32]);
    /// let key = PublicKey::from_bytes(&secret.verifying_key().to_bytes())?;
    ///
    /// let payload = br#"{"read":"me"}"#.to_vec();
    /// let signature = secret.sign(&pae(NOTE, &payload)).to_bytes();
    /// let envelope = Envelope::signed(NOTE, payload, key.id(), signature);
    ///
    /// let carried = Envelope::from_json(&envelope.to_json())?;
    /// assert_eq!(carried.verify(NOTE, &key)?, br#"{"read":"me"}"#);
    /// // The same bytes do not pass for something else.
    /// assert!(carried.verify("application/vnd.in-toto+json", &key).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Another type, no signature by `key`, or one that does not hold.
    pub fn verify(&self, payload_type: &'static str, key: &PublicKey) -> Result<&[u8], EnvelopeError> {
        if self.payload_type != payload_type {
            let found = crate::text::escape(&self.payload_type);
            return Err(EnvelopeError::Type { wanted: payload_type, found });
        }
        let id = key.id();
        let signature = self.signatures.iter().find(|(keyid, _)| *keyid == id).map(|(_, sig)| sig);
        let signature = signature.ok_or(EnvelopeError::Unsigned(id))?;
        key.verify(&pae(&self.payload_type, &self.payload), signature)?;
        Ok(&self.payload)
    }

    /// The payload before anybody checked it: to find out which key to ask for.
    #[must_use]
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// The keys that claim to have signed.
    pub fn key_ids(&self) -> impl Iterator<Item = &KeyId> {
        self.signatures.iter().map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests;

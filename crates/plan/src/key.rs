//! Public keys as values. Signing lives where the secret lives: in the gate, and with each approver.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::KeyId;

/// An Ed25519 public key (RFC 8032). Text form: `ed25519:` and standard base64 of the 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// Why a key or signature was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not `ed25519:` and base64 of 32 bytes that are a point of the curve.
    #[error("a public key is `ed25519:` and base64 of a 32-byte Ed25519 key")]
    Malformed,
    /// The signature is not this key's over these bytes.
    #[error("the signature is not this key's over these bytes")]
    Signature,
}

impl PublicKey {
    /// A key from its 32 bytes.
    ///
    /// # Errors
    /// The bytes are no point of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        VerifyingKey::from_bytes(bytes).map(Self).map_err(|_| KeyError::Malformed)
    }

    /// The 32 bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The name of the key: a fingerprint of its public part.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut name = Digest::of(self.0.as_bytes()).hex();
        name.truncate(32);
        name.insert_str(0, "key-");
        // The form of a key id holds by construction; a fingerprint that did not fit would match nothing.
        name.parse().unwrap_or_else(|_| KeyId::clone(&FALLBACK))
    }

    /// Checks a signature strictly: small-order keys and malleable signatures fail.
    ///
    /// # Errors
    /// The signature is not this key's over `message`.
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> Result<(), KeyError> {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).map_err(|_| KeyError::Signature)
    }
}

static FALLBACK: std::sync::LazyLock<KeyId> = std::sync::LazyLock::new(KeyId::unmatched);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", STANDARD.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let encoded = text.trim().strip_prefix("ed25519:").ok_or(KeyError::Malformed)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| KeyError::Malformed)?;
        Self::from_bytes(&bytes.try_into().map_err(|_| KeyError::Malformed)?)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

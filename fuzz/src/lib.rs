//! What the fuzz targets share: fixed keys, and properties that hold of everything that is read.

use countersign_plan::canonical;
use countersign_plan::document::{self, Bounds};
use countersign_plan::envelope::Envelope;
use countersign_plan::key::PublicKey;
use countersign_plan::text;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::Value;

/// A key that the targets trust.
pub struct Key {
    secret: SigningKey,
    /// Its public part.
    pub public: PublicKey,
}

impl Key {
    /// The key of this seed.
    pub fn new(seed: u8) -> Self {
        let secret = SigningKey::from_bytes(&[seed; 32]);
        let public = PublicKey::from_bytes(&secret.verifying_key().to_bytes()).expect("a public key");
        Self { secret, public }
    }

    /// An envelope over exactly this payload: what a careless signer would sign.
    pub fn sign(&self, payload_type: &str, payload: &[u8]) -> Envelope {
        let signature = self.secret.sign(&countersign_plan::envelope::pae(payload_type, payload)).to_bytes();
        Envelope::signed(payload_type, payload.to_vec(), self.public.id(), signature)
    }
}

/// One value has one form: its canonical bytes are read back as the same value.
pub fn assert_one_form(value: &Value) {
    let bytes = canonical::to_vec(value);
    let bounds = Bounds { bytes: bytes.len(), ..Bounds::CONFIG };
    let again = document::from_json(&bytes, bounds).expect("canonical bytes are strict JSON");
    assert_eq!(canonical::to_vec(&again), bytes);
    let loose: Value = serde_json::from_slice(&bytes).expect("canonical bytes are JSON");
    assert_eq!(canonical::to_vec(&loose), bytes);
}

/// A message can be shown as it is: nothing in it hides, and it does not grow without bound.
pub fn assert_shown(message: &str, input: &[u8]) {
    assert!(text::check_visible(message).is_ok(), "hides: {message:?}");
    assert!(message.len() <= 4096 + 32 * input.len(), "{} bytes of message", message.len());
}

/// The text up to the first NUL, and what stands behind it: targets that need two inputs.
pub fn two(data: &[u8]) -> (&[u8], &[u8]) {
    let cut = data.iter().position(|&b| b == 0).unwrap_or(data.len());
    (&data[..cut], data.get(cut + 1..).unwrap_or_default())
}

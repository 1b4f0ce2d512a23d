//! Signed heads and their keys: what is claimed is written back as it was, and counts only with a signature.
#![no_main]

use std::sync::LazyLock;

use countersign_ledger::checkpoint::{Checkpoint, SignCheckpoint, VerifyingKeyInfo};
use ed25519_dalek::{Signer as _, SigningKey};
use libfuzzer_sys::fuzz_target;

struct Gate(SigningKey);

static GATE: LazyLock<Gate> = LazyLock::new(|| Gate(SigningKey::from_bytes(&[1; 32])));

impl SignCheckpoint for Gate {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: "gate".parse().expect("a name"), key: self.0.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(key) = text.parse::<VerifyingKeyInfo>() {
        assert_eq!(key.to_string(), text);
    }
    let Ok(note) = Checkpoint::parse(text) else { return };
    let head = note.claimed();
    let key = GATE.key();
    let signed = Checkpoint::parse(&head.sign(&key, &*GATE)).expect("a signed head is a note");
    assert_eq!(signed.claimed(), head);
    assert_eq!(signed.verify(&key).expect("the gate signed it").head(), head);
    // Extension lines beyond our own may stand between; without them the text is the only one that says this.
    if text.lines().count() == 4 + 1 + note.signatures().len() {
        assert!(text.starts_with(&head.body()), "{text:?}");
    }
    if let Ok(verified) = note.verify(&key) {
        assert_eq!(verified.head(), head);
    }
});

//! The gate's public key as the ledger's heads name it: what offline verification starts from.

use countersign_ledger::checkpoint::VerifyingKeyInfo;
use countersign_plan::key::PublicKey;

use crate::failure::Failure;

/// The name under which the gate signs heads.
const KEY_NAME: &str = "countersign";

/// Reads a key: `name+key id+base64` (C2SP signed-note) or `ed25519:…`, which is the gate's under its own name.
pub(crate) fn trust_anchor(text: &str) -> Result<VerifyingKeyInfo, Failure> {
    let text = text.trim();
    let wrong = |what: String| {
        Failure::usage(format!("the gate's public key: {what}"))
            .fix("`countersign keys show` prints it as `name+key id+base64`, or give `ed25519:` and base64")
    };
    if text.starts_with("ed25519:") {
        let public: PublicKey =
            text.parse().map_err(|error: countersign_plan::key::KeyError| wrong(error.to_string()))?;
        let key =
            ed25519_dalek::VerifyingKey::from_bytes(&public.to_bytes()).map_err(|error| wrong(error.to_string()))?;
        let name = KEY_NAME.parse().map_err(|_| wrong(format!("`{KEY_NAME}` names no key")))?;
        return Ok(VerifyingKeyInfo { name, key });
    }
    text.parse().map_err(|error: countersign_ledger::checkpoint::CheckpointError| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::trust_anchor;

    #[test]
    fn both_forms_of_a_key_are_one_key() {
        let secret = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let public = countersign_plan::key::PublicKey::from_bytes(&secret.verifying_key().to_bytes()).unwrap();
        let key = trust_anchor(&public.to_string()).unwrap();
        assert_eq!(trust_anchor(&format!("{key}\n")).unwrap(), key);
        for wrong in ["", "ed25519:", "x+y+z", "countersign+00000000+AAAA"] {
            assert!(trust_anchor(wrong).is_err(), "{wrong}");
        }
    }
}

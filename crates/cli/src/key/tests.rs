//! Sealed keys: what opens them, what does not, and that one passphrase is one signature.

use std::os::unix::fs::PermissionsExt as _;

use countersign_plan::approval::{Trust, VerifiedRecord};
use countersign_plan::digest::Digest;
use countersign_plan::time::Timestamp;
use serde_json::Value;

use super::{KeyFileError, SealedKey};

const PASSPHRASE: &str = "correct horse battery";

fn key() -> SealedKey {
    SealedKey::generate("uid:1000".parse().unwrap(), vec!["finance".to_owned()], PASSPHRASE).unwrap()
}

fn trust(principal: &str) -> Trust {
    Trust {
        path: "/srv/countersign.yaml".to_owned(),
        digest: Digest::of(b"x"),
        principal: principal.parse().unwrap(),
        signed_at: Timestamp::EPOCH,
        nonce: "n".to_owned(),
    }
}

#[test]
fn a_key_that_was_written_signs_after_it_was_read() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("approver.key");
    let key = key();
    key.write(&path).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let read = SealedKey::read(&path).unwrap();
    assert_eq!(read, key);
    let envelope = read.unlock(PASSPHRASE).unwrap().sign(&trust("uid:1000")).unwrap();
    VerifiedRecord::<Trust>::verify(&envelope, &[key.approver()]).unwrap();
    assert!(matches!(key.write(&path), Err(KeyFileError::Exists(_))), "a key is never overwritten");
}

/// `UnlockedKey::sign` takes the key by value, so a second signature cannot be written without the passphrase; and what
/// the first one signed is the record and nothing else.
#[test]
fn the_passphrase_unlocks_one_signature() {
    let key = key();
    let unlocked = key.unlock(PASSPHRASE).unwrap();
    let envelope = unlocked.sign(&trust("uid:1000")).unwrap();
    let verified = VerifiedRecord::<Trust>::verify(&envelope, &[key.approver()]).unwrap();
    assert_eq!(verified.record(), &trust("uid:1000"));
    assert_eq!(envelope.key_ids().count(), 1);
    let other = key.unlock(PASSPHRASE).unwrap().sign(&trust("uid:0")).unwrap();
    assert!(VerifiedRecord::<Trust>::verify(&other, &[key.approver()]).is_err(), "not in another's name");
}

#[test]
fn a_wrong_passphrase_opens_nothing() {
    let key = key();
    for wrong in ["", "correct horse batterz", "correct horse battery "] {
        assert!(matches!(key.unlock(wrong), Err(KeyFileError::Unlock)), "{wrong:?}");
    }
}

#[test]
fn every_altered_field_of_the_file_locks_the_key() {
    let key = key();
    let good = serde_json::to_value(&key).unwrap();
    let other = super::tests::key();
    let altered: [(&str, Value); 7] = [
        ("/principal", "uid:0".into()),
        ("/groups/0", "admins".into()),
        ("/public_key", serde_json::to_value(other.public_key).unwrap()),
        ("/kdf/salt", other.kdf.salt.clone().into()),
        ("/kdf/passes", 2.into()),
        ("/nonce", other.nonce.clone().into()),
        ("/sealed", other.sealed.clone().into()),
    ];
    for (at, value) in altered {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        let bad = SealedKey::parse(bad.to_string().as_bytes()).unwrap();
        assert!(matches!(bad.unlock(PASSPHRASE), Err(KeyFileError::Unlock)), "{at}");
    }
}

#[test]
fn a_key_file_that_asks_for_all_memory_or_is_of_another_kind_is_refused() {
    let good = serde_json::to_value(key()).unwrap();
    for (at, value) in [
        ("/kdf/memory_kib", Value::from(1_u32 << 31)),
        ("/kdf/name", "none".into()),
        ("/cipher", "none".into()),
        ("/schema", "countersign.approver-key/v2".into()),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = value;
        let error = SealedKey::parse(bad.to_string().as_bytes()).unwrap_err();
        assert!(at.starts_with(&error.pointer), "{error}");
    }
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("approver.key");
    key().write(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(SealedKey::read(&path), Err(KeyFileError::Open(_))));
    assert!(matches!(SealedKey::read(&root.path().join("none")), Err(KeyFileError::Absent(_))));
}

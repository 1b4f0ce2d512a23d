//! Runs the vectors of `conformance/` that concern the ledger, as any other implementation would: from the checked-in files
//! alone. And compares these files with what the generator writes, so that neither drifts.

use std::path::PathBuf;

use countersign_audit::tree::{verify_consistency, verify_inclusion};
use countersign_ledger::checkpoint::{Checkpoint, CheckpointError};
use countersign_ledger::merkle::{Hash, leaf_hash};
use serde_json::{Value, json};

#[path = "../../examples/record_vectors/files.rs"]
mod files;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn run(name: &str, kind: &str, judge: impl Fn(&Value)) {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&file["schema"], &file["kind"]), (&json!("countersign.conformance/v1"), &json!(kind)), "{name}");
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 25, "{name}");
    cases.iter().for_each(judge);
}

fn number(case: &Value, field: &str) -> u64 {
    case[field].as_u64().unwrap()
}

fn hash(value: &Value) -> Hash {
    hex::decode(value.as_str().unwrap()).unwrap().try_into().unwrap()
}

fn hashes(case: &Value, field: &str) -> Vec<Hash> {
    case[field].as_array().unwrap().iter().map(hash).collect()
}

#[test]
fn inv_8_inclusion_proofs_hold_or_not() {
    run("proofs/inclusion.json", "inclusion", |case| {
        let leaf = leaf_hash(&hex::decode(case["leaf"].as_str().unwrap()).unwrap());
        let (seq, size) = (number(case, "seq"), number(case, "size"));
        let result = verify_inclusion(&leaf, seq, size, &hashes(case, "path"), &hash(&case["root"]));
        assert_eq!(case["holds"], json!(result.is_ok()), "{case}");
    });
}

#[test]
fn inv_8_consistency_proofs_hold_or_not() {
    run("proofs/consistency.json", "consistency", |case| {
        let (old, size) = (number(case, "old"), number(case, "size"));
        let (old_root, root) = (hash(&case["old_root"]), hash(&case["root"]));
        let result = verify_consistency(old, &old_root, size, &root, &hashes(case, "proof"));
        assert_eq!(case["holds"], json!(result.is_ok()), "{case}");
    });
}

#[test]
fn inv_8_signed_heads_hold_or_not() {
    run("checkpoints/checkpoints.json", "checkpoint", |case| {
        let key = case["key"].as_str().unwrap().parse().unwrap();
        match Checkpoint::parse(case["note"].as_str().unwrap()).and_then(|note| note.verify(&key)) {
            Ok(verified) => {
                let head = verified.head();
                let (ledger, root) = (head.ledger.as_str(), hex::encode(head.root));
                let found = json!({"ledger": ledger, "size": head.size, "root": root, "previous": head.previous});
                assert_eq!(case["verified"], found, "{case}");
            }
            Err(error) => {
                let kind = match error {
                    CheckpointError::NotSigned { .. } => "not_signed",
                    CheckpointError::BadSignature { .. } => "bad_signature",
                    _ => "form",
                };
                assert_eq!(case["refused"]["kind"], json!(kind), "{case}");
            }
        }
    });
}

#[test]
fn the_checked_in_files_are_what_the_generator_writes() {
    for (name, generated) in files::all().unwrap() {
        let stored = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(
            stored == generated,
            "{name} differs; run `cargo run -p countersign-audit --example record_vectors` and look"
        );
    }
}

//! Proofs as documents, for somebody who has nothing but the public key.

use countersign_audit::export::Payloads;
use countersign_audit::prove::{
    ProofFault, ProveError, last_head, prove_consistency, prove_inclusion, verify_consistency, verify_inclusion,
};
use countersign_ledger::store::memory::MemoryStore;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::{Home, TestKey, at, decision, fill, gate};

#[test]
fn every_record_can_be_proved_with_and_without_its_payload() {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    fill(&ledger);
    let mut reader = ledger.reader().unwrap();
    for seq in 0..60 {
        let record = reader.record(seq).unwrap();
        for payloads in [Payloads::All, Payloads::Redacted] {
            let document = prove_inclusion(&mut reader, seq, payloads).unwrap();
            let included = verify_inclusion(&document, &gate().public()).unwrap();
            assert_eq!(*included.leaf(), record.leaf);
            assert_eq!(included.head().size, 60);
            assert_eq!(included.payload().is_some(), payloads == Payloads::All);
        }
    }
    assert!(matches!(
        prove_inclusion(&mut reader, 60, Payloads::All),
        Err(ProveError::OutOfTree { asked: 60, size: 60 })
    ));
}

#[test]
fn every_pair_of_heads_can_be_proved_consistent() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    let mut reader = ledger.reader().unwrap();
    let sizes = [1, 4, 5, 13, 15, 31, 36, 37, 44, 48, 57, 60];
    for (index, &old) in sizes.iter().enumerate() {
        for &new in &sizes[index..] {
            let document = prove_consistency(&mut reader, old, new).unwrap();
            let extended = verify_consistency(&document, &gate().public(), &gate().public()).unwrap();
            assert_eq!((extended.old().size, extended.new_head().size), (old, new));
        }
    }
    assert!(matches!(prove_consistency(&mut reader, 2, 60), Err(ProveError::NoHead { asked: 2, next: 4 })));
    assert!(matches!(prove_consistency(&mut reader, 0, 60), Err(ProveError::OutOfTree { .. })));
    assert!(matches!(prove_consistency(&mut reader, 57, 61), Err(ProveError::OutOfTree { .. })));
    assert!(last_head(&mut reader).unwrap().contains("\n60\n"));
}

#[test]
fn no_change_of_a_proof_goes_unnoticed() {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    fill(&ledger);
    let mut reader = ledger.reader().unwrap();
    let key = gate().public();
    let inclusion = prove_inclusion(&mut reader, 20, Payloads::All).unwrap();
    let consistency = prove_consistency(&mut reader, 13, 60).unwrap();
    // A change of letter case in a hash, or of white space, says the same and may pass; what is said must not change.
    for at in 0..inclusion.len() {
        let mut bytes = inclusion.clone();
        bytes[at] ^= 1;
        if let Ok(included) = verify_inclusion(&bytes, &key) {
            panic!("byte {at} changed: {included:?}");
        }
    }
    for at in 0..consistency.len() {
        let mut bytes = consistency.clone();
        bytes[at] ^= 1;
        if let Ok(extended) = verify_consistency(&bytes, &key, &key) {
            panic!("byte {at} changed: {extended:?}");
        }
    }
    let other = TestKey::new("gate", 2).public();
    assert!(matches!(verify_inclusion(&inclusion, &other), Err(ProofFault::Checkpoint(_))));
    assert!(matches!(verify_consistency(&consistency, &key, &other), Err(ProofFault::Checkpoint(_))));
    // The record of another place under this place's path.
    let mut document: Value = serde_json::from_slice(&inclusion).unwrap();
    let moved: Value = serde_json::from_slice(&prove_inclusion(&mut reader, 21, Payloads::All).unwrap()).unwrap();
    document["record"] = moved["record"].clone();
    let document = serde_json::to_vec(&document).unwrap();
    assert!(matches!(verify_inclusion(&document, &key), Err(ProofFault::Mismatch(_))));
    for document in [&b""[..], b"{}", b"[]", b"\xff", &consistency] {
        verify_inclusion(document, &key).unwrap_err();
    }
    verify_consistency(&inclusion, &key, &key).unwrap_err();
}

#[test]
fn consistency_holds_across_a_rotation() {
    let home = Home::new();
    let ledger = home.open_memory(&MemoryStore::new()).unwrap();
    let _ = ledger.append(vec![decision(1)]).wait().unwrap();
    let new = TestKey::new("gate", 2);
    let _ = ledger.rotate(new.boxed(), at(2)).wait().unwrap();
    let _ = ledger.append(vec![decision(3)]).wait().unwrap();
    let document = prove_consistency(&mut ledger.reader().unwrap(), 1, 4).unwrap();
    verify_consistency(&document, &gate().public(), &new.public()).unwrap();
    verify_consistency(&document, &new.public(), &new.public()).unwrap_err();
}

#[test]
fn an_altered_database_proves_nothing() {
    let home = Home::new();
    let ledger = home.open().unwrap();
    fill(&ledger);
    let mut reader = ledger.reader().unwrap();
    let edits = [
        "UPDATE records SET kind = 'approval' WHERE seq = 20",
        "UPDATE records SET nodes = zeroblob(64) WHERE seq = 21",
        "UPDATE records SET nodes = x'' WHERE seq = 21",
        "UPDATE records SET head = (SELECT head FROM records WHERE seq = 56) WHERE seq = 59",
    ];
    for sql in edits {
        assert_eq!(Connection::open(home.database()).unwrap().execute(sql, []).unwrap(), 1);
        prove_inclusion(&mut reader, 20, Payloads::Redacted).expect_err(sql);
    }
}

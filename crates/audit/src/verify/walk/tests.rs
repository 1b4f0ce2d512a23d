//! Every single-byte change of a real export is found, and named where it is.
//!
//! From outside this would read the whole export again for each of its bytes; here the walk is copied before each line.

use std::io::Cursor;

use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use super::{Step, Walk};
use crate::export::{Payloads, export};
use crate::verify::{Fault, Place, Report, VerifyOptions};
use countersign_ledger::checkpoint::{SignCheckpoint, VerifyingKeyInfo};
use countersign_ledger::ledger::Ledger;
use countersign_ledger::record::{Entry, RecordKind};
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::memory::MemoryStore;

struct Key(SigningKey);

impl SignCheckpoint for Key {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: "gate".parse().unwrap(), key: self.0.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

fn key(seed: u8) -> Key {
    Key(SigningKey::from_bytes(&[seed; 32]))
}

/// An export of 62 records in 14 batches, with a rotated key, texts of several scripts, numbers, sealed payloads, and an
/// erased case.
fn sample(payloads: Payloads) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let master = MasterKey::from_bytes(&mut [7; 32]);
    let store = Box::new(MemoryStore::new());
    let ledger = Ledger::open(store, Box::new(key(1)), master, &folder.path().join("head")).unwrap();
    let case = |n: i64| -> CaseId { format!("c-{}", n % 5).parse().unwrap() };
    let mut n = 0;
    for size in [1, 5, 12, 2, 9, 1, 7, 3, 11, 4, 4] {
        let entry = |n: i64| Entry {
            kind: RecordKind::ALL[usize::try_from(n).unwrap() % 16],
            case: (n % 3 > 0).then(|| case(n)),
            at: Timestamp::from_millis(1_790_000_000_000 + n),
            payload: json!({"decision": "block", "größe": [n, 0.1, 1e300, -0.5, true, null], "文": "a\"\\\n\u{7f}\u{2028}😀"}),
            sealed: n % 2 == 0,
        };
        let _ = ledger.append((n..n + size).map(entry).collect()).wait().unwrap();
        n += size;
        if n == 30 {
            let _ = ledger.rotate(Box::new(key(2)), Timestamp::EPOCH).wait().unwrap();
        }
    }
    let (kind, case, at) = (RecordKind::Erased, Some(case(4)), Timestamp::EPOCH);
    let _ = ledger.append(vec![Entry { kind, case, at, payload: Value::Null, sealed: false }]).wait().unwrap();
    let mut out = Vec::new();
    export(&mut ledger.reader().unwrap(), payloads, &mut out).unwrap();
    out
}

fn finish(mut walk: Walk<Cursor<Vec<u8>>>) -> Result<Report, Fault> {
    while walk.next_record()?.is_some() {}
    walk.finish()
}

#[test]
fn every_change_of_a_single_byte_is_found_and_named() {
    let options = VerifyOptions { key: Some(key(2).key()), heads: Vec::new() };
    for payloads in [Payloads::All, Payloads::Redacted] {
        let whole = sample(payloads);
        let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
        let start = |bytes: Vec<u8>| Walk::start(Cursor::new(bytes), &options);
        let report = start(whole.clone()).and_then(finish).unwrap();
        assert_eq!((report.head.size, report.checkpoints), (62, 14));
        let mut before = start(whole.clone()).unwrap();
        let mut changes = 0;
        for (number, line) in lines.iter().enumerate() {
            let rest = lines[number + 1..].concat();
            for at in 0..line.len() {
                // Each bit in turn over the positions, and a case change, a control character, something far off.
                for flip in [1_u8 << (at % 8), 0x20, 0x41, 0xff] {
                    let mut bytes = line.to_vec();
                    bytes[at] ^= flip;
                    bytes.extend_from_slice(&rest);
                    let outcome = if number == 0 {
                        start(bytes).and_then(finish)
                    } else {
                        let mut walk = before.clone();
                        walk.input = Cursor::new(bytes);
                        finish(walk)
                    };
                    let what =
                        || format!("byte {at} of line {} ^ {flip:#x}: {}", number + 1, String::from_utf8_lossy(line));
                    let fault = outcome.expect_err(&what());
                    assert!(names(&fault.place, number, line), "{fault}, but it is {}", what());
                    changes += 1;
                }
            }
            if number > 0 {
                assert!(!matches!(before.step().unwrap(), Step::End));
            }
        }
        assert_eq!(changes, whole.len() * 4);
        finish(before).unwrap();
    }
}

/// Whether the place is that line, the record in it, or what a changed first line or head speaks of.
fn names(place: &Place, number: usize, line: &[u8]) -> bool {
    let value: Value = serde_json::from_slice(line).unwrap();
    let seq = value.get("seq").and_then(Value::as_u64);
    match place {
        Place::Line(line) => *line == number as u64 + 1,
        Place::Record(found) => seq == Some(*found) || number == 0,
        Place::Records(seqs) => seq.is_none_or(|seq| seqs.contains(&seq)),
        Place::Head(_) => seq.is_none(),
        Place::Export => number == 0,
    }
}

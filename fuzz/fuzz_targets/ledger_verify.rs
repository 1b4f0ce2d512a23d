//! Exports: streams as they arrive; and a genuine export with any edit, which must be refused unless nothing changed.
#![no_main]

use std::sync::LazyLock;

use countersign_audit::export::{Payloads, export};
use countersign_audit::verify::{VerifyOptions, verify};
use countersign_ledger::checkpoint::{SignCheckpoint, VerifyingKeyInfo};
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::{Entry, Ledger, RecordKind};
use countersign_plan::time::Timestamp;
use ed25519_dalek::{Signer as _, SigningKey};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

#[derive(Clone)]
struct Gate(SigningKey);

impl SignCheckpoint for Gate {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: "gate".parse().expect("a name"), key: self.0.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

static GATE: LazyLock<Gate> = LazyLock::new(|| Gate(SigningKey::from_bytes(&[1; 32])));

/// A ledger of three batches, exported with and without payloads.
static GENUINE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("countersign-fuzz-{}", std::process::id()));
    let master = MasterKey::from_bytes(&mut [9; 32]);
    let store = Box::new(MemoryStore::new());
    let ledger = Ledger::open(store, Box::new(GATE.clone()), master, &folder.join("head")).expect("a ledger");
    for batch in 0..3_i64 {
        let entry = |n: i64| Entry {
            kind: RecordKind::Decision,
            case: Some("c-1".parse().expect("a case")),
            at: Timestamp::from_millis(1_790_000_000_000 + n),
            payload: json!({"decision": "block", "n": n, "text": "n\u{f6} \"x\"\n"}),
            sealed: n % 2 == 0,
        };
        let _ = ledger.append((0..=batch).map(|n| entry(10 * batch + n)).collect()).wait().expect("a record");
    }
    let mut reader = ledger.reader().expect("a reader");
    let exports = [Payloads::All, Payloads::Redacted].map(|payloads| {
        let mut out = Vec::new();
        export(&mut reader, payloads, &mut out).expect("an export");
        out
    });
    drop(reader);
    ledger.close().expect("closed");
    std::fs::remove_dir_all(folder).expect("the head file goes");
    exports
});

fuzz_target!(|data: &[u8]| {
    let options = VerifyOptions { key: Some(GATE.key()), heads: Vec::new() };
    let Some((mode, data)) = data.split_first() else { return };
    let genuine = &GENUINE[usize::from(mode & 1)];
    let mut export = genuine.clone();
    match mode >> 1 & 3 {
        0 => {
            if let Err(fault) = verify(data, &options) {
                assert!(!fault.to_string().is_empty());
            }
            return;
        }
        // Bytes replaced: two of offset, one of difference.
        1 => {
            for edit in data.chunks_exact(3) {
                let at = usize::from(u16::from_be_bytes([edit[0], edit[1]])) % export.len();
                export[at] ^= edit[2];
            }
        }
        // Lines moved, removed or repeated.
        2 => {
            let lines: Vec<&[u8]> = genuine.split_inclusive(|&b| b == b'\n').collect();
            let pick = |b: &u8| lines[usize::from(*b) % lines.len()];
            export = data.iter().flat_map(pick).copied().collect();
        }
        // A piece put in, or the end cut off.
        _ => {
            let Some(([a, b], piece)) = data.split_first_chunk::<2>() else { return };
            let at = usize::from(u16::from_be_bytes([*a, *b])) % (export.len() + 1);
            if piece.is_empty() {
                export.truncate(at);
            } else {
                export.splice(at..at, piece.iter().copied());
            }
        }
    }
    let result = verify(export.as_slice(), &options);
    assert_eq!(result.is_ok(), export == *genuine, "{result:?}: {}", String::from_utf8_lossy(&export));
});

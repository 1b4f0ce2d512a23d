//! Keys, entries and places for the tests.

use std::path::{Path, PathBuf};

use countersign_ledger::checkpoint::{KeyName, SignCheckpoint, VerifyingKeyInfo};
use countersign_ledger::seal::MasterKey;
use countersign_ledger::store::Store;
use countersign_ledger::store::memory::MemoryStore;
use countersign_ledger::store::sqlite::SqliteStore;
use countersign_ledger::{Entry, Ledger, OpenError, RecordKind};
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};

#[derive(Clone)]
pub(crate) struct TestKey {
    name: KeyName,
    key: SigningKey,
}

impl TestKey {
    pub(crate) fn new(name: &str, seed: u8) -> Self {
        Self { name: name.parse().unwrap(), key: SigningKey::from_bytes(&[seed; 32]) }
    }

    pub(crate) fn public(&self) -> VerifyingKeyInfo {
        self.key()
    }

    pub(crate) fn boxed(&self) -> Box<dyn SignCheckpoint> {
        Box::new(self.clone())
    }
}

impl SignCheckpoint for TestKey {
    fn key(&self) -> VerifyingKeyInfo {
        VerifyingKeyInfo { name: self.name.clone(), key: self.key.verifying_key() }
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

pub(crate) fn gate() -> TestKey {
    TestKey::new("gate", 1)
}

pub(crate) fn master() -> MasterKey {
    MasterKey::from_bytes(&mut [9; 32])
}

pub(crate) fn case(name: &str) -> CaseId {
    name.parse().unwrap()
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000 + millis)
}

pub(crate) fn entry(kind: RecordKind, case_name: Option<&str>, n: i64, payload: Value) -> Entry {
    Entry { kind, case: case_name.map(case), at: at(n), payload, sealed: case_name.is_some() }
}

/// A decision that an attacker would like to be another.
pub(crate) fn decision(n: i64) -> Entry {
    let payload = json!({"decision": "block", "n": n, "reasons": [{"code": "policy.denied", "message": "nö: \"x\"\n"}], "ratio": 0.1});
    Entry { sealed: false, ..entry(RecordKind::Decision, Some("c-1"), n, payload) }
}

/// A folder with a database and, in another folder, the head file.
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    /// Removed with this, where it was made for this.
    pub(crate) _made: Option<tempfile::TempDir>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let made = tempfile::tempdir().unwrap();
        Self { folder: made.path().to_owned(), _made: Some(made) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("ledger/ledger.db")
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.folder.join("head/head")
    }

    pub(crate) fn open(&self) -> Result<Ledger, OpenError> {
        self.open_as(&gate())
    }

    pub(crate) fn open_as(&self, key: &TestKey) -> Result<Ledger, OpenError> {
        let store = SqliteStore::open(&self.database())?;
        Ledger::open(Box::new(store), key.boxed(), master(), &self.head())
    }

    pub(crate) fn open_memory(&self, store: &MemoryStore) -> Result<Ledger, OpenError> {
        Ledger::open(Box::new(store.clone()) as Box<dyn Store>, gate().boxed(), master(), &self.head())
    }
}

/// About 60 records in several batches: clear and sealed, of several cases.
pub(crate) fn fill(ledger: &Ledger) {
    let sizes = [1_i64, 3, 1, 8, 2, 16, 5, 1, 7, 4, 9, 3];
    let mut n = 0;
    for size in sizes {
        let mut entries = Vec::new();
        for _ in 0..size {
            entries.push(match n % 4 {
                0 => decision(n),
                1 => entry(RecordKind::Permit, Some("c-2"), n, json!({"step": "s1", "n": n})),
                2 => entry(RecordKind::Outcome, Some("c-1"), n, json!({"stdout": "ok\n", "bytes": [1, 2.5, null]})),
                _ => entry(RecordKind::Alert, None, n, json!("text")),
            });
            n += 1;
        }
        let _ = ledger.append(entries).wait().unwrap();
    }
}

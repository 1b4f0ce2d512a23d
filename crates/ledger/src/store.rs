//! Where records lie: a small trait, so that the same ledger stands on memory, SQLite or a server.
//!
//! A store keeps rows and knows nothing of keys or trees; what it returns is checked by the ledger, the export's reader and
//! the verifier, never trusted.

use std::fmt::Debug;
use std::path::PathBuf;

use countersign_plan::id::CaseId;

use crate::checkpoint::{LedgerId, VerifyingKeyInfo};
use crate::merkle::{self, Hash, Nodes};
use crate::record::{RecordKind, Row};

pub mod memory;
pub mod sqlite;

/// A store cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the quota is full.
    #[error("no space left for {path}: free some, then start again")]
    Full {
        /// Which file.
        path: PathBuf,
    },
    /// The file is no database, or is damaged.
    #[error("{path} is damaged ({detail}): keep a copy, then restore it from a backup")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What SQLite found.
        detail: String,
    },
    /// The file is a database of something else.
    #[error("{path} is no Countersign ledger (application id {found:#x}): name another file")]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// The application id that it carries.
        found: i64,
    },
    /// Written by a newer or older version.
    #[error("{path} has format {found}, this version knows {known}: use the version that wrote it")]
    Version {
        /// Which file.
        path: PathBuf,
        /// The format of the file.
        found: i64,
        /// The format that this version reads and writes.
        known: i64,
    },
    /// Another process writes to it.
    #[error("{path} is in use by another process: a ledger has one writer")]
    InUse {
        /// Which file.
        path: PathBuf,
    },
    /// Others than the owner may read or write it, or it is no plain file.
    #[error("{path} {problem}: {fix}")]
    Unsafe {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        fix: &'static str,
    },
    /// The system refused a file operation.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database refused a statement.
    #[error("the database {path} refused: {source}")]
    Sql {
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// A record cannot be read back, or is missing.
    #[error("record {seq} is damaged: {problem}")]
    Record {
        /// Which record.
        seq: u64,
        /// What is wrong with it.
        problem: String,
    },
}

/// What a ledger was created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// Its id.
    pub ledger: LedgerId,
    /// By what the master key is recognised.
    pub master_check: Vec<u8>,
    /// The first signing key.
    pub key: VerifyingKeyInfo,
}

/// From which size on a key signs the heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPeriod {
    /// Heads *larger* than this are signed by the key, until the next period. 0 for the first key.
    pub from: u64,
    /// The key.
    pub key: VerifyingKeyInfo,
}

/// What is known of a case's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredCaseKey {
    /// The case has none yet.
    Absent,
    /// Wrapped under the master key.
    Wrapped(Vec<u8>),
    /// Destroyed.
    Erased,
}

/// Which rows to read, in the order of seq.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// The first seq.
    pub from: u64,
    /// The seq after the last.
    pub to: u64,
    /// Only this case.
    pub case: Option<&'a CaseId>,
    /// Only these kinds; all where empty.
    pub kinds: &'a [RecordKind],
}

/// What becomes durable together.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The rows, in the order of seq, following what is stored; the last one carries the head.
    pub rows: &'a [Row],
    /// Keys of cases that are new, wrapped.
    pub case_keys: &'a [(CaseId, Vec<u8>)],
    /// Cases whose key is to be destroyed.
    pub erased: &'a [CaseId],
    /// The key that signs from the next batch on.
    pub rotated: Option<&'a KeyPeriod>,
}

/// Reading a store. A reader sees what was durable when it looks.
pub trait ReadStore: Debug + Send {
    /// What the ledger was created with; nothing where it was not yet.
    ///
    /// # Errors
    /// The store cannot be read.
    fn genesis(&mut self) -> Result<Option<Genesis>, StoreError>;

    /// The signing keys, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn key_periods(&mut self) -> Result<Vec<KeyPeriod>, StoreError>;

    /// How many records there are.
    ///
    /// # Errors
    /// The store cannot be read.
    fn size(&mut self) -> Result<u64, StoreError>;

    /// The first of the rows that `selection` names: at most `limit`, fewer where they are long, none where none are left.
    ///
    /// # Errors
    /// The store cannot be read, or a row is damaged.
    fn rows(&mut self, selection: &Selection<'_>, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// The tree nodes stored with record `seq` (see [`Row::nodes`]).
    ///
    /// # Errors
    /// The store cannot be read, or there is no such record.
    fn nodes(&mut self, seq: u64) -> Result<Vec<Hash>, StoreError>;

    /// The oldest signed head that covers `size` records.
    ///
    /// # Errors
    /// The store cannot be read.
    fn head_covering(&mut self, size: u64) -> Result<Option<String>, StoreError>;

    /// The key of a case.
    ///
    /// # Errors
    /// The store cannot be read.
    fn case_key(&mut self, case: &CaseId) -> Result<StoredCaseKey, StoreError>;

    /// A reader of its own, for another thread.
    ///
    /// # Errors
    /// The store cannot be opened for reading.
    fn reader(&self) -> Result<Box<dyn ReadStore>, StoreError>;
}

/// A store that one ledger writes to.
pub trait Store: ReadStore {
    /// Makes an empty store the store of a new ledger, durably.
    ///
    /// # Errors
    /// The store cannot be written, or already belongs to a ledger.
    fn initialise(&mut self, genesis: &Genesis) -> Result<(), StoreError>;

    /// Writes a batch: all of it durably, or nothing.
    ///
    /// # Errors
    /// Nothing may be assumed of the batch then; the ledger writes no more until it is opened again.
    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError>;
}

/// The tree of a store, for proofs.
#[derive(Debug)]
pub struct StoredNodes<'a, S: ReadStore + ?Sized>(pub &'a mut S);

impl<S: ReadStore + ?Sized> Nodes for StoredNodes<'_, S> {
    type Error = StoreError;

    fn node(&mut self, level: u32, index: u64) -> Result<Hash, StoreError> {
        let seq = merkle::stored_at(level, index);
        let nodes = self.0.nodes(seq)?;
        let node = nodes.get(usize::try_from(level).unwrap_or(usize::MAX)).copied();
        node.ok_or_else(|| StoreError::Record { seq, problem: "tree nodes are missing".to_owned() })
    }
}

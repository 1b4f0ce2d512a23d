//! Reading a ledger: queries with payloads decrypted.

use std::sync::Arc;

use countersign_plan::id::CaseId;
use serde_json::Value;

use crate::checkpoint::LedgerId;
use crate::record::{Leaf, RecordKind, Row, StoredPayload};
use crate::seal::{Bound, MasterKey, SealError};
use crate::store::{ReadStore, Selection, StoreError, StoredCaseKey};

/// Most rows that are read from the store at once.
const CHUNK: usize = 256;

/// Which records are asked for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The first seq.
    pub from: u64,
    /// The seq after the last; up to the end where absent.
    pub to: Option<u64>,
    /// Only this case.
    pub case: Option<CaseId>,
    /// Only these kinds; all where empty.
    pub kinds: Vec<RecordKind>,
}

/// A payload as far as it can be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// What was recorded, with known secrets replaced.
    Open(Value),
    /// Sealed, and no master key was given.
    Sealed,
    /// Sealed, and the case's key was destroyed.
    Erased,
    /// Not what was recorded: altered, moved, or under another key.
    Damaged,
}

/// A record as it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What the tree commits to.
    pub leaf: Leaf,
    /// What happened.
    pub payload: Payload,
}

/// A reader of a ledger; independent of the thread that writes.
#[derive(Debug)]
pub struct LedgerReader {
    ledger: LedgerId,
    store: Box<dyn ReadStore>,
    master: Option<Arc<MasterKey>>,
}

/// The ledger cannot be opened for reading.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store holds no ledger yet.
    #[error("there is no ledger here yet")]
    Empty,
    /// The master key is not the one of this ledger.
    #[error("this is not the master key of the ledger: {0}")]
    OtherMasterKey(SealError),
}

impl LedgerReader {
    pub(crate) const fn new(ledger: LedgerId, store: Box<dyn ReadStore>, master: Option<Arc<MasterKey>>) -> Self {
        Self { ledger, store, master }
    }

    /// Reads a ledger that is not open for writing here. Without the master key sealed payloads stay sealed.
    ///
    /// # Errors
    /// The store holds no ledger or cannot be read, or this is not its master key.
    pub fn open(mut store: Box<dyn ReadStore>, master: Option<MasterKey>) -> Result<Self, ReaderError> {
        let genesis = store.genesis()?.ok_or(ReaderError::Empty)?;
        if let Some(master) = &master {
            master.recognise(&genesis.ledger, &genesis.master_check).map_err(ReaderError::OtherMasterKey)?;
        }
        Ok(Self::new(genesis.ledger, store, master.map(Arc::new)))
    }

    /// Which ledger this is.
    #[must_use]
    pub const fn id(&self) -> &LedgerId {
        &self.ledger
    }

    /// How many records there are now.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn size(&mut self) -> Result<u64, StoreError> {
        self.store.size()
    }

    /// The records that `query` names, one after another; a chunk of them is in memory at a time.
    pub fn records(&mut self, query: Query) -> Records<'_> {
        let next = query.from;
        Records { reader: self, query, next, chunk: Vec::new().into_iter(), done: false }
    }

    /// The record with that seq.
    ///
    /// # Errors
    /// The store cannot be read, or there is no such record.
    pub fn record(&mut self, seq: u64) -> Result<Record, StoreError> {
        let query = Query { from: seq, to: seq.checked_add(1), ..Query::default() };
        let found = self.records(query).next().transpose()?;
        found.ok_or_else(|| StoreError::Record { seq, problem: "it is missing".to_owned() })
    }

    /// What lies in the store, for exports and proofs. Nothing of it was checked.
    pub fn stored(&mut self) -> &mut dyn ReadStore {
        &mut *self.store
    }

    /// Salt and canonical payload of a row, as far as they can be read. That they are those of its digest was not checked.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn payload(&mut self, row: &Row) -> Result<RawPayload, StoreError> {
        let sealed = match &row.payload {
            StoredPayload::Clear { salt, json } => return Ok(RawPayload::Open(*salt, json.clone())),
            StoredPayload::Sealed(sealed) => sealed,
        };
        let (Some(case), Some(master)) = (&row.leaf.case, &self.master) else { return Ok(RawPayload::Sealed) };
        let wrapped = match self.store.case_key(case)? {
            StoredCaseKey::Wrapped(wrapped) => wrapped,
            StoredCaseKey::Erased => return Ok(RawPayload::Erased),
            StoredCaseKey::Absent => return Ok(RawPayload::Damaged),
        };
        let opened = master
            .unwrap(&self.ledger, case, &wrapped)
            .and_then(|key| key.open(&Bound::to(&self.ledger, row.leaf.kind, &row.leaf.payload_digest), sealed));
        Ok(opened.map_or(RawPayload::Damaged, |(salt, json)| RawPayload::Open(salt, json)))
    }

    fn read(&mut self, row: Row) -> Result<Record, StoreError> {
        let payload = match self.payload(&row)? {
            RawPayload::Open(salt, json) => {
                let genuine = crate::record::payload_digest(&salt, &json) == row.leaf.payload_digest;
                match serde_json::from_slice(&json) {
                    Ok(value) if genuine => Payload::Open(value),
                    _ => Payload::Damaged,
                }
            }
            RawPayload::Sealed => Payload::Sealed,
            RawPayload::Erased => Payload::Erased,
            RawPayload::Damaged => Payload::Damaged,
        };
        Ok(Record { leaf: row.leaf, payload })
    }
}

/// A payload before it is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawPayload {
    /// Its salt and its JSON.
    Open(crate::record::Salt, Vec<u8>),
    /// Sealed, and no master key was given.
    Sealed,
    /// Sealed, and the case's key was destroyed.
    Erased,
    /// It cannot be opened: altered, moved, or under another key.
    Damaged,
}

/// Records one after another (see [`LedgerReader::records`]).
#[derive(Debug)]
pub struct Records<'a> {
    reader: &'a mut LedgerReader,
    query: Query,
    next: u64,
    chunk: std::vec::IntoIter<Row>,
    done: bool,
}

impl Iterator for Records<'_> {
    type Item = Result<Record, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.chunk.next() {
                self.next = row.leaf.seq.saturating_add(1);
                return Some(self.reader.read(row));
            }
            if self.done {
                return None;
            }
            let Query { to, case, kinds, .. } = &self.query;
            // A seq is stored as a signed 64-bit number.
            let to = to.unwrap_or(i64::MAX.cast_unsigned());
            let selection = Selection { from: self.next, to, case: case.as_ref(), kinds };
            match self.reader.store.rows(&selection, CHUNK) {
                Ok(rows) => {
                    self.done = rows.is_empty();
                    self.chunk = rows.into_iter();
                }
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

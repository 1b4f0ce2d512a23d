//! Opening a ledger: what must hold before anything is accepted.

use std::path::Path;
use std::sync::Arc;

use countersign_plan::time::Timestamp;

use crate::checkpoint::{Checkpoint, CheckpointError, Head, KeyName, LedgerId, SignCheckpoint, VerifyingKeyInfo};
use crate::head_file::{self, HeadFile, HeadFileError};
use crate::ledger::writer::Writer;
use crate::merkle::Frontier;
use crate::record::{RecordKind, Row, StoredPayload};
use crate::rotation::Rotation;
use crate::seal::{MasterKey, SealError};
use crate::store::{Genesis, KeyPeriod, Selection, Store, StoreError, StoredNodes};

/// The ledger does not open. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The head file cannot be read or written.
    #[error(transparent)]
    HeadFile(#[from] HeadFileError),
    /// The database holds a ledger, but no head of it is kept outside.
    #[error(
        "the database holds {size} records, but the head file is missing: it was removed, or this is not its database; restore it from a copy"
    )]
    HeadMissing {
        /// How many records the database has.
        size: u64,
    },
    /// No head in the head file is signed by the key.
    #[error("the head file holds no head that key {key} signed: {source}")]
    HeadForeign {
        /// The key that was expected.
        key: KeyName,
        /// What is wrong with the last one.
        source: CheckpointError,
    },
    /// The head file belongs to another ledger, or the database was replaced by an empty one.
    #[error("the head kept outside the database is of another ledger: kept {kept}, the database holds {found}")]
    OtherLedger {
        /// Whose head is kept, and at which size.
        kept: String,
        /// Which ledger the database holds.
        found: String,
    },
    /// The database is older than the head that was kept.
    #[error(
        "the database was rolled back: the head kept outside is {kept}, the database ends at {found}; restore the newer database"
    )]
    RolledBack {
        /// The head outside the database.
        kept: Box<Head>,
        /// The last head in the database.
        found: Box<Head>,
    },
    /// The database has other records than those under the head that was kept.
    #[error(
        "the database does not extend the head kept outside: kept {kept}, the database has {found} at that size; it was forked or rewritten"
    )]
    Forked {
        /// The head outside the database.
        kept: Box<Head>,
        /// The head that the database has at that size.
        found: Box<Head>,
    },
    /// The database was altered, or is signed by somebody else.
    #[error("the ledger is damaged at record {seq}: {problem}; run `audit export` and `audit verify`")]
    Altered {
        /// The record at which it shows.
        seq: u64,
        /// What does not fit.
        problem: String,
    },
    /// Another key signs this ledger.
    #[error("the ledger is signed by key {expected}, not by {given}: use that key, or `keys rotate` with it")]
    OtherKey {
        /// The key that signs from here on.
        expected: Box<VerifyingKeyInfo>,
        /// The key that was given.
        given: Box<VerifyingKeyInfo>,
    },
    /// The master key is not the one of this ledger.
    #[error("this is not the master key of the ledger ({0}): payloads could not be read")]
    OtherMasterKey(SealError),
    /// The system gives no random bytes for a new ledger.
    #[error("cannot create a ledger: {0}")]
    Random(SealError),
    /// The writing thread cannot be started.
    #[error("cannot start the ledger's thread: {0}")]
    Thread(std::io::Error),
}

/// A ledger that passed all checks.
pub(crate) struct Opened {
    pub(crate) writer: Writer,
    pub(crate) ledger: LedgerId,
    pub(crate) last_at: Option<Timestamp>,
}

/// What was found in the store.
struct Stored {
    frontier: Frontier,
    head: Head,
    note: String,
    keys: Keys,
    last_at: Option<Timestamp>,
}

/// The present key and the one before: who may have signed the last heads.
struct Keys {
    new: VerifyingKeyInfo,
    /// The new key signs heads that are larger than this.
    from: u64,
    old: Option<VerifyingKeyInfo>,
}

impl Keys {
    fn at(&self, size: u64) -> &VerifyingKeyInfo {
        self.old.as_ref().filter(|_| size <= self.from).unwrap_or(&self.new)
    }
}

pub(crate) fn open(
    mut store: Box<dyn Store>,
    signer: Box<dyn SignCheckpoint>,
    master: Arc<MasterKey>,
    head_path: &Path,
) -> Result<Opened, OpenError> {
    let key = signer.key();
    let kept = head_file::read(head_path)?;
    let genesis = match store.genesis()? {
        Some(genesis) => genesis,
        None => {
            if let Some(kept) = kept.as_ref().and_then(|kept| kept.slots.first()) {
                let kept = kept.claimed();
                let kept = format!("{} with {kept}", kept.ledger);
                return Err(OpenError::OtherLedger { kept, found: "nothing".to_owned() });
            }
            create(&mut *store, &key, &master)?
        }
    };
    let ledger = genesis.ledger.clone();
    master.recognise(&ledger, &genesis.master_check).map_err(OpenError::OtherMasterKey)?;
    let period = store.key_periods()?.pop().unwrap_or(KeyPeriod { from: 0, key: genesis.key });
    let expected = period.key;
    if expected != key {
        return Err(OpenError::OtherKey { expected: Box::new(expected), given: Box::new(key) });
    }
    let stored = match store.size()? {
        0 => empty(&ledger, &key, &*signer),
        size => {
            let old = predecessor(&mut *store, &ledger, &key, period.from)?;
            check_edge(&mut *store, &ledger, Keys { old, from: period.from, new: key.clone() }, size)?
        }
    };
    match kept {
        None if stored.head.size > 0 => return Err(OpenError::HeadMissing { size: stored.head.size }),
        None => {}
        Some(kept) => {
            let kept = newest(&kept.slots, &stored.keys)?;
            check_extends(&mut *store, &stored, &kept)?;
        }
    }
    let head_file = HeadFile::start(head_path, &stored.note)?;
    let last_at = stored.last_at;
    let writer = Writer {
        store,
        signer,
        key,
        master,
        ledger: ledger.clone(),
        head_file,
        frontier: stored.frontier,
        last_at: last_at.unwrap_or(Timestamp::EPOCH),
        head_size: stored.head.size,
        shared: Arc::default(),
    };
    Ok(Opened { writer, ledger, last_at })
}

fn create(store: &mut dyn Store, key: &VerifyingKeyInfo, master: &MasterKey) -> Result<Genesis, OpenError> {
    let ledger = LedgerId::generate().map_err(|_| OpenError::Random(SealError::Random))?;
    let master_check = master.check_value(&ledger).map_err(OpenError::Random)?;
    let genesis = Genesis { ledger, master_check, key: key.clone() };
    store.initialise(&genesis)?;
    Ok(genesis)
}

/// The empty tree has a signed head as well, so that a head file that is missing later is always a finding.
fn empty(ledger: &LedgerId, key: &VerifyingKeyInfo, signer: &dyn SignCheckpoint) -> Stored {
    let frontier = Frontier::new();
    let head = Head { ledger: ledger.clone(), size: 0, root: frontier.root(), previous: 0 };
    let note = head.sign(key, signer);
    Stored { frontier, head, note, keys: Keys { new: key.clone(), from: 0, old: None }, last_at: None }
}

/// The key before the present one, by its own statement in the last rotation. That it ever signed here is not said by this:
/// its signature must be found in the head file, too, which lies outside the database.
fn predecessor(
    store: &mut dyn Store,
    ledger: &LedgerId,
    key: &VerifyingKeyInfo,
    from: u64,
) -> Result<Option<VerifyingKeyInfo>, OpenError> {
    let Some(seq) = from.checked_sub(1) else { return Ok(None) };
    let altered = |problem: String| OpenError::Altered { seq, problem };
    let row = read(store, seq, from)?.pop().ok_or_else(|| altered("the last key rotation is missing".to_owned()))?;
    let (RecordKind::KeyRotated, StoredPayload::Clear { json, .. }) = (row.leaf.kind, &row.payload) else {
        return Err(altered("it should be the last key rotation".to_owned()));
    };
    let payload = serde_json::from_slice(json).map_err(|error| altered(error.to_string()))?;
    let rotation = Rotation::read(&payload, ledger, seq).map_err(|error| altered(error.to_string()))?;
    if rotation.new == *key { Ok(Some(rotation.old)) } else { Err(altered("it rotates to another key".to_owned())) }
}

/// Checks the right edge: the last batch record by record, the nodes under it, and the head over all.
fn check_edge(store: &mut dyn Store, ledger: &LedgerId, keys: Keys, size: u64) -> Result<Stored, OpenError> {
    let altered = |seq, problem: &str| OpenError::Altered { seq, problem: problem.to_owned() };
    let last = size - 1;
    let row = read(store, last, size)?.pop().ok_or_else(|| altered(last, "it is missing"))?;
    let note = row.head.clone().ok_or_else(|| altered(last, "the last record has no signed head"))?;
    let checkpoint = Checkpoint::parse(&note).map_err(|error| altered(last, &error.to_string()))?;
    let head = checkpoint.verify(keys.at(size)).map_err(|error| altered(last, &error.to_string()))?.head().clone();
    if head.ledger != *ledger || head.size != size || head.previous >= size {
        return Err(altered(last, "its head is of another ledger or size"));
    }
    let mut frontier = Frontier::load(&mut StoredNodes(store), head.previous)?;
    let mut next = head.previous;
    while next < size {
        let rows = read(store, next, size)?;
        if rows.is_empty() {
            return Err(altered(next, "it is missing"));
        }
        for row in rows {
            if row.leaf.seq != next {
                return Err(altered(next, "it is missing"));
            }
            if row.nodes != frontier.push(row.leaf.hash()) {
                return Err(altered(next, "it is not what the tree holds"));
            }
            next += 1;
        }
    }
    if frontier.root() != head.root {
        return Err(altered(last, "the tree's root is not the root of the signed head"));
    }
    Ok(Stored { frontier, head, note, keys, last_at: Some(row.leaf.at) })
}

fn read(store: &mut dyn Store, from: u64, to: u64) -> Result<Vec<Row>, StoreError> {
    store.rows(&Selection { from, to, case: None, kinds: &[] }, 256)
}

/// The newest head of the head file with a good signature; a torn slot has none.
fn newest(slots: &[Checkpoint], keys: &Keys) -> Result<Head, OpenError> {
    let mut newest: Option<Head> = None;
    let mut wrong = CheckpointError::Form("empty");
    for slot in slots {
        match slot.verify(keys.at(slot.claimed().size)) {
            Ok(good) if newest.as_ref().is_none_or(|head| head.size < good.head().size) => {
                newest = Some(good.head().clone());
            }
            Ok(_) => {}
            Err(error) => wrong = error,
        }
    }
    newest.ok_or_else(|| OpenError::HeadForeign { key: keys.new.name.clone(), source: wrong })
}

fn check_extends(store: &mut dyn Store, stored: &Stored, kept: &Head) -> Result<(), OpenError> {
    let found = &stored.head;
    if kept.ledger != found.ledger {
        let (kept, found) = (format!("{} with {kept}", kept.ledger), found.ledger.to_string());
        return Err(OpenError::OtherLedger { kept, found });
    }
    if kept.size > found.size {
        return Err(OpenError::RolledBack { kept: Box::new(kept.clone()), found: Box::new(found.clone()) });
    }
    let root = Frontier::load(&mut StoredNodes(store), kept.size)?.root();
    if root != kept.root {
        let found = Box::new(Head { root, ..kept.clone() });
        return Err(OpenError::Forked { kept: Box::new(kept.clone()), found });
    }
    Ok(())
}

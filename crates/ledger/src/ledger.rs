//! The ledger as its owner sees it: give entries, get a proof that they are durable.
//!
//! One thread writes. All who wait share one transaction, one signature and one fsync (lesson 30); the head of each batch is
//! signed and stored in the same transaction before the first reply. After a failed write nothing more is accepted until the
//! ledger is opened again: fail closed (INV-4).

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;

use crate::checkpoint::{LedgerId, SignCheckpoint};
use crate::random::RandomPool;
use crate::reader::LedgerReader;
use crate::record::{self, Entry, EntryError, MAX_ENTRIES, MAX_PAYLOAD, RecordKind, Salt};
use crate::seal::{Bound, CaseKey, MasterKey, SealError};
use crate::store::{ReadStore, Store, StoreError};

mod open;
mod writer;

pub use open::OpenError;
pub use writer::{NotCovered, Recorded};

/// Most bytes of payload that may wait to be written.
const MAX_WAITING: usize = 64 << 20;

/// The entries were not recorded. Unless the variant says so, nothing of them is in the ledger.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// An entry cannot be written as it is; the ledger goes on.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A payload cannot be sealed; the ledger goes on.
    #[error("cannot seal a payload of case {case}: {source}")]
    Seal {
        /// The case.
        case: CaseId,
        /// Why.
        source: SealError,
    },
    /// Rotation to the key that signs already; the ledger goes on.
    #[error("the new key is the present one: make another")]
    SameKey,
    /// The system gives no random bytes for a salt; the ledger goes on.
    #[error("the system gives no random bytes")]
    Random,
    /// Too much waits already; the ledger goes on.
    #[error("more than 64 MiB wait to be written: try again later")]
    Overloaded,
    /// The write failed, or one before it did. Whether these entries are in the ledger is unknown until it is opened again.
    #[error("the ledger stopped after a failed write ({0}): repair the cause, then start again")]
    Poisoned(Arc<str>),
    /// The ledger is closed or its thread ended.
    #[error("the ledger is closed")]
    Closed,
}

/// Takes the values of known secrets out of a payload; none where it holds none.
pub type Redact = Box<dyn Fn(&serde_json::Value) -> Option<serde_json::Value> + Send + Sync>;

/// What is called when entries are durable, or will never be.
pub type Reply = Box<dyn FnOnce(Result<Recorded, AppendError>) + Send>;

/// An entry with everything computed that does not depend on its place.
struct Prepared {
    kind: RecordKind,
    case: Option<CaseId>,
    at: Timestamp,
    payload: PreparedPayload,
    payload_digest: Digest,
}

enum PreparedPayload {
    Clear {
        salt: Salt,
        json: Vec<u8>,
    },
    /// To be sealed by the writer: the first of its case, for which there is no key yet, or of one that was erased.
    ToSeal {
        salt: Salt,
        json: Vec<u8>,
    },
    Sealed(Vec<u8>),
}

/// What else happens in the transaction of a submission.
enum Work {
    Append,
    Rotate { signer: Box<dyn SignCheckpoint>, at: Timestamp },
}

struct Submission {
    entries: Vec<Prepared>,
    digest: Digest,
    work: Work,
    reply: Reply,
}

impl Submission {
    fn bytes(&self) -> usize {
        let length = |payload: &PreparedPayload| match payload {
            PreparedPayload::Clear { json, .. } | PreparedPayload::ToSeal { json, .. } => json.len(),
            PreparedPayload::Sealed(sealed) => sealed.len(),
        };
        self.entries.iter().map(|entry| length(&entry.payload) + 128).sum()
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Submission>,
    bytes: usize,
    closing: bool,
    /// The thread waits to be woken, when so many submissions wait.
    idle: bool,
    wanted: usize,
    /// Why nothing more is written.
    poisoned: Option<Arc<str>>,
    /// The thread has ended.
    ended: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
    /// The keys of cases that were used lately. Only the writer changes them.
    cases: RwLock<HashMap<CaseId, CaseState>>,
}

/// What is known of the key of a case.
enum CaseState {
    Key(CaseKey),
    Erased,
}

impl CaseState {
    fn key(&self) -> Option<CaseKey> {
        match self {
            Self::Key(key) => Some(key.clone()),
            Self::Erased => None,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cases(&self) -> RwLockReadGuard<'_, HashMap<CaseId, CaseState>> {
        self.cases.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn cases_mut(&self) -> RwLockWriteGuard<'_, HashMap<CaseId, CaseState>> {
        self.cases.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open ledger. Shared by reference among threads; closed by [`Ledger::close`] or when dropped.
pub struct Ledger {
    id: LedgerId,
    shared: Arc<Shared>,
    redact: RwLock<Option<Redact>>,
    /// For salts and nonces.
    random: Mutex<RandomPool>,
    master: Arc<MasterKey>,
    /// From which readers are made.
    source: Mutex<Box<dyn ReadStore>>,
    last_at: Option<Timestamp>,
    thread: Option<JoinHandle<Result<(), AppendError>>>,
}

impl Ledger {
    /// Opens the ledger of `store`, or creates one in an empty store.
    ///
    /// Checked before anything is accepted: that `signer` is the key that signs from here on, that the last head is signed and
    /// is the root of what is stored, that the records under it are unaltered, and that the tree extends the head kept in
    /// `head_file`. Only the right edge of the tree is read, so this is quick at any size; `audit verify` reads all.
    ///
    /// # Errors
    /// Anything of that does not hold; the error names both heads where a tree does not extend the head that was kept.
    pub fn open(
        store: Box<dyn Store>,
        signer: Box<dyn SignCheckpoint>,
        master: MasterKey,
        head_file: &Path,
    ) -> Result<Self, OpenError> {
        let master = Arc::new(master);
        let opened = open::open(store, signer, Arc::clone(&master), head_file)?;
        let source = Mutex::new(opened.writer.reader()?);
        let (id, last_at) = (opened.ledger, opened.last_at);
        let shared = Arc::clone(&opened.writer.shared);
        let thread = std::thread::Builder::new()
            .name("ledger-writer".to_owned())
            .spawn(move || opened.writer.run())
            .map_err(OpenError::Thread)?;
        let (redact, random) = (RwLock::default(), Mutex::default());
        Ok(Self { id, shared, redact, random, master, source, last_at, thread: Some(thread) })
    }

    /// Which ledger this is.
    #[must_use]
    pub const fn id(&self) -> &LedgerId {
        &self.id
    }

    /// The time of the last record when the ledger was opened: gate time never starts before it (INV-6).
    #[must_use]
    pub const fn last_at(&self) -> Option<Timestamp> {
        self.last_at
    }

    /// From now on payloads are recorded as `redact` leaves them (INV-10).
    pub fn redact_with(&self, redact: Redact) {
        *self.redact.write().unwrap_or_else(PoisonError::into_inner) = Some(redact);
    }

    /// Writes entries down, together and in this order. Returns at once; [`Ticket::wait`] waits until they are durable.
    ///
    /// An entry of kind [`RecordKind::Erased`] destroys the key of its case with the same commit: what was sealed for the case can
    /// never be read again. What comes to be sealed for it later has a record whose words nobody can read.
    pub fn append(&self, entries: Vec<Entry>) -> Ticket {
        let (reply, ticket) = Ticket::pair();
        self.append_with(entries, reply);
        ticket
    }

    /// The same with a reply that is called, once, from the ledger's thread (or at once where the entries are refused). It
    /// must not block: all who wait, wait for it.
    pub fn append_with(&self, entries: Vec<Entry>, reply: Reply) {
        self.submit(&entries, Work::Append, reply);
    }

    /// Has the present key sign `signer`'s key in a `key_rotated` record, after which `signer` signs. The proof that comes
    /// back covers that record; its digest is not known beforehand.
    pub fn rotate(&self, signer: Box<dyn SignCheckpoint>, at: Timestamp) -> Ticket {
        let (reply, ticket) = Ticket::pair();
        self.submit(&[], Work::Rotate { signer, at }, reply);
        ticket
    }

    /// A reader of its own, for queries, exports and proofs, which can move to another thread.
    ///
    /// # Errors
    /// The store cannot be opened for reading.
    pub fn reader(&self) -> Result<LedgerReader, StoreError> {
        let store = self.source.lock().unwrap_or_else(PoisonError::into_inner).reader()?;
        Ok(LedgerReader::new(self.id.clone(), store, Some(Arc::clone(&self.master))))
    }

    /// Writes what waits, forces the last head to the disk and ends.
    ///
    /// # Errors
    /// A write failed, now or before.
    pub fn close(mut self) -> Result<(), AppendError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), AppendError> {
        self.shared.lock().closing = true;
        self.shared.ready.notify_one();
        match self.thread.take() {
            None => Ok(()),
            Some(thread) => thread.join().unwrap_or(Err(AppendError::Closed)),
        }
    }

    fn submit(&self, entries: &[Entry], work: Work, reply: Reply) {
        let (prepared, digest) = match self.prepare(entries, &work) {
            Ok(prepared) => prepared,
            Err(error) => return reply(Err(error)),
        };
        let submission = Submission { entries: prepared, digest, work, reply };
        let bytes = submission.bytes();
        let mut queue = self.shared.lock();
        let refusal = match &queue.poisoned {
            Some(cause) => Some(AppendError::Poisoned(Arc::clone(cause))),
            None if queue.closing || queue.ended => Some(AppendError::Closed),
            None if queue.bytes + bytes > MAX_WAITING => Some(AppendError::Overloaded),
            None => None,
        };
        if let Some(error) = refusal {
            drop(queue);
            return (submission.reply)(Err(error));
        }
        queue.bytes += bytes;
        queue.waiting.push(submission);
        // Waking costs a system call, which most submissions to a busy thread need not make.
        let wake = queue.idle && queue.waiting.len() >= queue.wanted;
        queue.idle &= !wake;
        drop(queue);
        if wake {
            self.shared.ready.notify_one();
        }
    }

    fn random<const N: usize>(&self) -> Result<[u8; N], AppendError> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).take().map_err(|_| AppendError::Random)
    }

    /// Checks, redacts, canonicalises, salts and digests: all that need not wait for a place in the ledger.
    fn prepare(&self, entries: &[Entry], work: &Work) -> Result<(Vec<Prepared>, Digest), AppendError> {
        let count = entries.len();
        if count > MAX_ENTRIES || (count == 0 && !matches!(work, Work::Rotate { .. })) {
            return Err(EntryError::Count(count).into());
        }
        let redact = self.redact.read().unwrap_or_else(PoisonError::into_inner);
        let mut preimage = Vec::with_capacity(count * 96);
        let mut prepared = Vec::with_capacity(count);
        for (index, entry) in entries.iter().enumerate() {
            record::check(index, entry)?;
            let mut json = canonical::to_vec(&entry.payload);
            record::digest_entry(&mut preimage, entry, &Digest::of(&json));
            if let Some(redacted) = redact.as_ref().and_then(|redact| redact(&entry.payload)) {
                json = canonical::to_vec(&redacted);
            }
            if json.len() > MAX_PAYLOAD {
                return Err(EntryError::TooLong { entry: index, bytes: json.len() }.into());
            }
            prepared.push(self.prepare_entry(entry, json)?);
        }
        Ok((prepared, Digest::of(&preimage)))
    }

    fn prepare_entry(&self, entry: &Entry, json: Vec<u8>) -> Result<Prepared, AppendError> {
        let salt = self.random()?;
        let payload_digest = record::payload_digest(&salt, &json);
        let (kind, case, at) = (entry.kind, entry.case.clone(), entry.at);
        let payload = match &case {
            Some(case) if entry.sealed => match self.shared.cases().get(case) {
                Some(CaseState::Key(key)) => {
                    let bound = Bound::to(&self.id, kind, &payload_digest);
                    let sealed = key.seal(&self.random()?, &bound, &salt, &json);
                    PreparedPayload::Sealed(sealed.map_err(|source| AppendError::Seal { case: case.clone(), source })?)
                }
                Some(CaseState::Erased) | None => PreparedPayload::ToSeal { salt, json },
            },
            Some(_) | None => PreparedPayload::Clear { salt, json },
        };
        Ok(Prepared { kind, case, at, payload, payload_digest })
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Who wants to know calls `close`.
        let _ = self.stop();
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledger({})", self.id)
    }
}

/// Stands for entries on their way to being durable.
#[derive(Debug)]
#[must_use = "entries are recorded only once `wait` says so"]
pub struct Ticket(Receiver<Result<Recorded, AppendError>>);

impl Ticket {
    fn pair() -> (Reply, Self) {
        let (sender, receiver) = sync_channel(1);
        // Who dropped the ticket does not want to know.
        (Box::new(move |result| drop(sender.send(result))), Self(receiver))
    }

    /// Waits until the entries are durable and their head is signed.
    ///
    /// # Errors
    /// They were not recorded.
    pub fn wait(self) -> Result<Recorded, AppendError> {
        self.0.recv().unwrap_or(Err(AppendError::Closed))
    }
}

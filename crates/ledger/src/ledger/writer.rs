//! The one thread that writes: takes what waits, gives it places, builds the tree, signs the head, commits, replies.

use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use serde_json::json;

use crate::checkpoint::{Head, LedgerId, SignCheckpoint, VerifyingKeyInfo};
use crate::head_file::HeadFile;
use crate::ledger::{AppendError, CaseState, Prepared, PreparedPayload, Reply, Shared, Submission, Work};
use crate::merkle::Frontier;
use crate::record::{self, Entry, Leaf, RecordKind, Row, StoredPayload};
use crate::rotation::Rotation;
use crate::seal::{Bound, CaseKey, MasterKey, SealError};
use crate::store::{Batch, KeyPeriod, ReadStore, Store, StoreError, StoredCaseKey};

/// Most rows of one transaction, and most bytes of payload.
const MAX_BATCH_ROWS: usize = 2048;
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Longest that a batch is held for the writers of the last one; half of what that took to write, where this is less.
const MAX_PATIENCE: Duration = Duration::from_millis(2);
/// Most case keys that are kept unwrapped.
const MAX_CASE_KEYS: usize = 1024;

/// Proof that entries are durable in the ledger, under a signed head. Only the ledger makes it; it cannot be copied, built or
/// read from anywhere.
///
/// ```compile_fail
/// fn twice(proof: countersign_ledger::Recorded) { let copy = proof.clone(); drop((proof, copy)); }
/// ```
/// ```compile_fail
/// let forged = countersign_ledger::Recorded { first: 0, count: 1, digest: countersign_plan::digest::Digest::of(b"") };
/// ```
/// ```compile_fail
/// fn read(text: &str) -> countersign_ledger::Recorded { serde_json::from_str(text).unwrap() }
/// ```
/// ```compile_fail
/// let forged = countersign_ledger::Recorded::default();
/// ```
#[derive(Debug)]
#[must_use = "the proof is what makes an effect legal"]
pub struct Recorded {
    first: u64,
    count: u64,
    digest: Digest,
}

/// A proof is for other entries than these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the proof is for other entries (records {first} to {last})")]
pub struct NotCovered {
    first: u64,
    last: u64,
}

impl Recorded {
    /// The seqs of the records, in the order of the entries.
    #[must_use]
    pub const fn seqs(&self) -> Range<u64> {
        record::seq_range(self.first, self.count)
    }

    /// The [`record::entries_digest`] of the entries as they were given.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Checks that this is the proof for exactly these entries.
    ///
    /// # Errors
    /// It is the proof for others.
    pub fn covers(&self, entries: &[Entry]) -> Result<(), NotCovered> {
        if record::entries_digest(entries) == self.digest {
            Ok(())
        } else {
            Err(NotCovered { first: self.first, last: self.seqs().end.saturating_sub(1) })
        }
    }
}

/// The writer's state between batches.
pub(crate) struct Writer {
    pub(crate) store: Box<dyn Store>,
    pub(crate) signer: Box<dyn SignCheckpoint>,
    pub(crate) key: VerifyingKeyInfo,
    pub(crate) master: Arc<MasterKey>,
    pub(crate) ledger: LedgerId,
    pub(crate) head_file: HeadFile,
    pub(crate) frontier: Frontier,
    pub(crate) last_at: Timestamp,
    /// The size of the last head.
    pub(crate) head_size: u64,
    pub(crate) shared: Arc<Shared>,
}

/// A batch while it is built.
#[derive(Default)]
struct Draft {
    rows: Vec<Row>,
    case_keys: Vec<(CaseId, Vec<u8>)>,
    erased: Vec<CaseId>,
    rotated: Option<(KeyPeriod, Box<dyn SignCheckpoint>)>,
    replies: Vec<(Recorded, Reply)>,
}

/// Marks the ledger as ended however the thread ends, so that nobody waits for it in vain.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.ended = true;
        let waiting = std::mem::take(&mut queue.waiting);
        let cause = queue.poisoned.clone();
        drop(queue);
        for submission in waiting {
            let error = cause.clone().map_or(AppendError::Closed, AppendError::Poisoned);
            (submission.reply)(Err(error));
        }
    }
}

impl Writer {
    pub(crate) fn reader(&self) -> Result<Box<dyn ReadStore>, StoreError> {
        self.store.reader()
    }

    /// Writes until the ledger is closed or a write fails.
    pub(crate) fn run(mut self) -> Result<(), AppendError> {
        let shared = Arc::clone(&self.shared);
        let ended = Ended(&shared);
        let (mut writers, mut patience) = (0, Duration::ZERO);
        let outcome = loop {
            let Some(submissions) = next(&shared, writers, patience) else { break Ok(()) };
            writers = submissions.len();
            let began = Instant::now();
            if let Err(cause) = self.write_all(submissions) {
                shared.lock().poisoned = Some(Arc::clone(&cause));
                break Err(AppendError::Poisoned(cause));
            }
            patience = (began.elapsed() / 2).min(MAX_PATIENCE);
        };
        drop(ended);
        let closed = self.head_file.close().map_err(|error| AppendError::Poisoned(error.to_string().into()));
        outcome.and(closed)
    }

    /// Writes the submissions in as few batches as their bounds and rotations allow.
    fn write_all(&mut self, submissions: Vec<Submission>) -> Result<(), Arc<str>> {
        let mut waiting = submissions.into_iter();
        while waiting.len() > 0 {
            let mut draft = Draft::default();
            let written = self.fill(&mut draft, &mut waiting).and_then(|()| self.commit(&mut draft));
            match written.and_then(|()| self.take_over(draft.rotated.take())) {
                Ok(()) => draft.replies.into_iter().for_each(|(recorded, reply)| reply(Ok(recorded))),
                Err(cause) => {
                    let refused = waiting.map(|submission| submission.reply);
                    let failed = draft.replies.into_iter().map(|(_, reply)| reply);
                    failed.chain(refused).for_each(|reply| reply(Err(AppendError::Poisoned(Arc::clone(&cause)))));
                    return Err(cause);
                }
            }
        }
        Ok(())
    }

    /// Signs with the new key after a rotation, at once: a record under its first head shows that it is in use, and anchors
    /// the whole ledger for those who know only the new key.
    fn take_over(&mut self, rotated: Option<(KeyPeriod, Box<dyn SignCheckpoint>)>) -> Result<(), Arc<str>> {
        let Some((period, signer)) = rotated else { return Ok(()) };
        self.signer = signer;
        self.key = period.key;
        let payload = json!({ "signs": self.key.to_string() });
        let entry = Entry { kind: RecordKind::Config, case: None, at: self.last_at, payload, sealed: false };
        let taken = prepare_one(&entry).map_err(|error| Arc::from(error.to_string()))?;
        let row = self.row(taken).map_err(|error| Arc::from(error.to_string()))?;
        self.commit(&mut Draft { rows: vec![row], ..Draft::default() })
    }

    /// Takes submissions into one batch, up to its bounds. The head that covers a rotation is the last of the old key, so a
    /// rotation ends its batch.
    fn fill(&mut self, draft: &mut Draft, waiting: &mut std::vec::IntoIter<Submission>) -> Result<(), Arc<str>> {
        let mut bytes = 0;
        while draft.rows.len() < MAX_BATCH_ROWS && bytes < MAX_BATCH_BYTES && draft.rotated.is_none() {
            let Some(submission) = waiting.next() else { break };
            bytes += submission.bytes();
            self.place(submission, draft)?;
        }
        Ok(())
    }

    /// Gives a submission its places in the draft, or refuses it before it has any.
    fn place(&mut self, submission: Submission, draft: &mut Draft) -> Result<(), Arc<str>> {
        let Submission { mut entries, mut digest, work, reply } = submission;
        for entry in &entries {
            if let (PreparedPayload::Sealed(_) | PreparedPayload::ToSeal { .. }, Some(case)) =
                (&entry.payload, &entry.case)
                && let Err(error) = self.ensure_key(case, draft)
            {
                let fatal = if let AppendError::Poisoned(cause) = &error { Err(Arc::clone(cause)) } else { Ok(()) };
                reply(Err(error));
                return fatal;
            }
        }
        match work {
            Work::Append => {}
            Work::Rotate { signer, at } => {
                let period = KeyPeriod { from: self.frontier.size() + 1, key: signer.key() };
                match self.rotation(&period, at) {
                    Ok((entry, its_digest)) => {
                        entries.push(entry);
                        digest = its_digest;
                        draft.rotated = Some((period, signer));
                    }
                    Err(error) => {
                        reply(Err(error));
                        return Ok(());
                    }
                }
            }
        }
        let recorded = Recorded { first: self.frontier.size(), count: entries.len() as u64, digest };
        draft.replies.push((recorded, reply));
        for entry in entries {
            let erased = entry.case.clone().filter(|_| entry.kind == RecordKind::Erased);
            let row = self.row(entry).map_err(|error| Arc::from(error.to_string()))?;
            draft.rows.push(row);
            if let Some(case) = erased {
                self.shared.cases_mut().insert(case.clone(), CaseState::Erased);
                draft.erased.push(case);
            }
        }
        Ok(())
    }

    /// The record in which the present key signs the next one.
    fn rotation(&self, period: &KeyPeriod, at: Timestamp) -> Result<(Prepared, Digest), AppendError> {
        if period.key.key == self.key.key {
            return Err(AppendError::SameKey);
        }
        let rotation = Rotation { old: self.key.clone(), new: period.key.clone(), from: period.from };
        let payload = rotation.payload(&self.ledger, &*self.signer);
        let entry = Entry { kind: RecordKind::KeyRotated, case: None, at, payload, sealed: false };
        let digest = record::entries_digest(std::slice::from_ref(&entry));
        Ok((prepare_one(&entry)?, digest))
    }

    /// The next row of the ledger: place, ledger time, payload, tree nodes.
    fn row(&mut self, entry: Prepared) -> Result<Row, SealError> {
        let Prepared { kind, case, at, payload, payload_digest } = entry;
        let seq = self.frontier.size();
        let payload = match payload {
            PreparedPayload::Clear { salt, json } => StoredPayload::Clear { salt, json },
            PreparedPayload::Sealed(sealed) => StoredPayload::Sealed(sealed),
            PreparedPayload::ToSeal { salt, json } => {
                let key = match case.as_ref().and_then(|case| self.shared.cases().get(case).map(CaseState::key)) {
                    Some(Some(key)) => key,
                    // The case was erased, and words that come late go with it: nobody keeps this key.
                    Some(None) => CaseKey::generate()?,
                    // `ensure_key` has put it there; were it not, nothing is written.
                    None => return Err(SealError::Open),
                };
                let mut nonce = [0; 24];
                getrandom::fill(&mut nonce).map_err(|_| SealError::Random)?;
                let bound = Bound::to(&self.ledger, kind, &payload_digest);
                StoredPayload::Sealed(key.seal(&nonce, &bound, &salt, &json)?)
            }
        };
        self.last_at = self.last_at.max(at);
        let leaf = Leaf { seq, kind, case, at: self.last_at, payload_digest };
        let nodes = self.frontier.push(leaf.hash());
        Ok(Row { leaf, payload, nodes, head: None })
    }

    /// Has the key of a case at hand: from the store, or a fresh one that the batch stores; or knows that it was destroyed.
    fn ensure_key(&mut self, case: &CaseId, draft: &mut Draft) -> Result<(), AppendError> {
        let seal = |source| AppendError::Seal { case: case.clone(), source };
        match self.shared.cases().get(case) {
            Some(CaseState::Key(_) | CaseState::Erased) => return Ok(()),
            None => {}
        }
        let stored = self.store.case_key(case).map_err(|error| AppendError::Poisoned(error.to_string().into()))?;
        let state = match stored {
            StoredCaseKey::Wrapped(wrapped) => {
                CaseState::Key(self.master.unwrap(&self.ledger, case, &wrapped).map_err(seal)?)
            }
            StoredCaseKey::Absent => {
                let key = CaseKey::generate().map_err(seal)?;
                draft.case_keys.push((case.clone(), self.master.wrap(&self.ledger, case, &key).map_err(seal)?));
                CaseState::Key(key)
            }
            StoredCaseKey::Erased => CaseState::Erased,
        };
        self.shared.cases_mut().insert(case.clone(), state);
        Ok(())
    }

    /// Signs the head, commits rows and head together, and keeps the head outside.
    fn commit(&mut self, draft: &mut Draft) -> Result<(), Arc<str>> {
        let Some(last) = draft.rows.last_mut() else { return Ok(()) };
        let size = self.frontier.size();
        let head = Head { ledger: self.ledger.clone(), size, root: self.frontier.root(), previous: self.head_size };
        let note = head.sign(&self.key, &*self.signer);
        last.head = Some(note.clone());
        let batch = Batch {
            rows: &draft.rows,
            case_keys: &draft.case_keys,
            erased: &draft.erased,
            rotated: draft.rotated.as_ref().map(|(period, _)| period),
        };
        self.store.append(&batch).map_err(|error| Arc::from(error.to_string()))?;
        self.head_size = size;
        self.head_file.write(&note).map_err(|error| Arc::from(error.to_string()))?;
        // Between batches, so that a key which a draft relies on is never dropped.
        let too_many = self.shared.cases().len() > MAX_CASE_KEYS;
        if too_many {
            self.shared.cases_mut().clear();
        }
        Ok(())
    }
}

/// Prepares an entry of the ledger's own, which belongs to no case.
fn prepare_one(entry: &Entry) -> Result<Prepared, AppendError> {
    record::check(0, entry)?;
    let mut salt = [0; 32];
    getrandom::fill(&mut salt).map_err(|_| AppendError::Random)?;
    let json = canonical::to_vec(&entry.payload);
    let payload_digest = record::payload_digest(&salt, &json);
    let payload = PreparedPayload::Clear { salt, json };
    Ok(Prepared { kind: entry.kind, case: None, at: entry.at, payload, payload_digest })
}

/// What waits; nothing once the ledger is closed and all is written.
///
/// Where the last batch had several writers, they are about to come again; for `patience` they are waited for, so that the
/// first of them does not get a commit of his own while the others wait for the next.
fn next(shared: &Shared, writers: usize, patience: Duration) -> Option<Vec<Submission>> {
    let mut queue = shared.lock();
    queue.wanted = 1;
    while queue.waiting.is_empty() {
        if queue.closing {
            return None;
        }
        queue.idle = true;
        queue = shared.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    queue.wanted = writers;
    let until = Instant::now() + patience;
    while queue.waiting.len() < writers && !queue.closing {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        queue.idle = true;
        queue = shared.ready.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    queue.idle = false;
    queue.bytes = 0;
    Some(std::mem::take(&mut queue.waiting))
}

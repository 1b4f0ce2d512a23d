//! Proofs as documents of their own: that a record is in the ledger, and that one head extends another.
//!
//! A document carries all that its check needs but the public key, so it can be handed to somebody who has nothing else.

use countersign_plan::canonical;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::export::line::{self, LineError, LinePayload};
use crate::export::{self, ExportError, Payloads};
use crate::tree::{self, Mismatch, ProofError};
use countersign_ledger::checkpoint::{Checkpoint, CheckpointError, Head, VerifyingKeyInfo};
use countersign_ledger::merkle::Hash;
use countersign_ledger::reader::LedgerReader;
use countersign_ledger::record::{self, Leaf};
use countersign_ledger::store::{Selection, StoreError, StoredNodes};

/// The schema of a proof of inclusion.
pub const INCLUSION: &str = "countersign.inclusion-proof/v1";
/// The schema of a proof of consistency.
pub const CONSISTENCY: &str = "countersign.consistency-proof/v1";
/// Most hashes of a proof: a tree of 2^63 records needs no more.
const MAX_PATH: usize = 128;

/// No proof can be made.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record could not be written into the document.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The record or size is not in the ledger.
    #[error("record or size {asked} is not in the ledger of {size} records")]
    OutOfTree {
        /// What was asked for.
        asked: u64,
        /// How many records there are.
        size: u64,
    },
    /// No head of that size was signed: heads are per batch.
    #[error("no head of size {asked} was signed; the next is of size {next}")]
    NoHead {
        /// What was asked for.
        asked: u64,
        /// The next size with a head.
        next: u64,
    },
    /// What is stored proves nothing: it was altered.
    #[error(
        "the database was altered: the proof of record or size {asked} does not hold ({problem}); run `audit export` and `audit verify`"
    )]
    Altered {
        /// What was asked for.
        asked: u64,
        /// What does not hold.
        problem: String,
    },
}

/// A proof does not prove what it says.
#[derive(Debug, thiserror::Error)]
pub enum ProofFault {
    /// The document has another shape.
    #[error("no proof document: {0}")]
    Shape(String),
    /// The record in it is of another form.
    #[error("the record in the proof: {0}")]
    Record(#[from] LineError),
    /// The record's fields do not give its leaf hash, or the payload not its digest.
    #[error("the record in the proof was altered")]
    Altered,
    /// A head is not readable or not signed by the key.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The hashes do not lead to the signed root.
    #[error("the record or head is not in the signed tree: {0}")]
    Mismatch(#[from] Mismatch),
    /// The two heads belong to different ledgers.
    #[error("the two heads are of different ledgers")]
    OtherLedger,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inclusion {
    schema: String,
    record: Value,
    path: Vec<String>,
    checkpoint: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Consistency {
    schema: String,
    old: String,
    new: String,
    path: Vec<String>,
}

/// A record that a signed head covers. Made only by [`verify_inclusion`].
#[derive(Debug)]
pub struct Included {
    leaf: Leaf,
    payload: Option<Value>,
    head: Head,
}

impl Included {
    /// What the tree commits to.
    #[must_use]
    pub const fn leaf(&self) -> &Leaf {
        &self.leaf
    }

    /// The payload, where the document carries it.
    #[must_use]
    pub const fn payload(&self) -> Option<&Value> {
        self.payload.as_ref()
    }

    /// The head that covers it.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }
}

/// Two heads of which the second extends the first. Made only by [`verify_consistency`].
#[derive(Debug)]
pub struct Extended {
    old: Head,
    new: Head,
}

impl Extended {
    /// The older head.
    #[must_use]
    pub const fn old(&self) -> &Head {
        &self.old
    }

    /// The newer head.
    #[must_use]
    pub const fn new_head(&self) -> &Head {
        &self.new
    }
}

/// The proof that record `seq` is under the last head: a JSON document in canonical form.
///
/// # Errors
/// There is no such record, or the ledger cannot be read or was altered.
pub fn prove_inclusion(reader: &mut LedgerReader, seq: u64, payloads: Payloads) -> Result<Vec<u8>, ProveError> {
    let size = reader.stored().size()?;
    let rows = reader.stored().rows(&Selection { from: seq, to: seq.saturating_add(1), case: None, kinds: &[] }, 1)?;
    let row = rows.into_iter().next().ok_or(ProveError::OutOfTree { asked: seq, size })?;
    let path = tree::inclusion_proof(&mut StoredNodes(reader.stored()), seq, size).map_err(proof_error)?;
    let checkpoint = head_of(reader, size)?;
    let altered = |problem: String| ProveError::Altered { asked: seq, problem };
    let root = Checkpoint::parse(&checkpoint).map_err(|error| altered(error.to_string()))?.claimed().root;
    tree::verify_inclusion(&row.leaf.hash(), seq, size, &path, &root).map_err(|error| altered(error.to_string()))?;
    let line = export::record_line(reader, &row, payloads)?;
    let record = serde_json::from_slice(&line).map_err(|error| altered(error.to_string()))?;
    let path = path.iter().map(hex::encode).collect();
    Ok(document(&Inclusion { schema: INCLUSION.to_owned(), record, path, checkpoint }))
}

/// The proof that the head of size `new` extends the head of size `old`: a JSON document in canonical form. Both must be
/// sizes at which a batch ended.
///
/// # Errors
/// There are no such heads, or the ledger cannot be read or was altered.
pub fn prove_consistency(reader: &mut LedgerReader, old: u64, new: u64) -> Result<Vec<u8>, ProveError> {
    let size = reader.stored().size()?;
    if new > size {
        return Err(ProveError::OutOfTree { asked: new, size });
    }
    let path = tree::consistency_proof(&mut StoredNodes(reader.stored()), old, new).map_err(proof_error)?;
    let (old_note, new_note) = (head_of(reader, old)?, head_of(reader, new)?);
    let altered = |problem: String| ProveError::Altered { asked: new, problem };
    let root = |note: &str| {
        Checkpoint::parse(note).map(|head| head.claimed().root).map_err(|error| altered(error.to_string()))
    };
    tree::verify_consistency(old, &root(&old_note)?, new, &root(&new_note)?, &path)
        .map_err(|error| altered(error.to_string()))?;
    let path = path.iter().map(hex::encode).collect();
    Ok(document(&Consistency { schema: CONSISTENCY.to_owned(), old: old_note, new: new_note, path }))
}

/// The signed head of exactly that size.
///
/// # Errors
/// None was signed, or the ledger cannot be read.
pub fn head_of(reader: &mut LedgerReader, size: u64) -> Result<String, ProveError> {
    let ends = reader.stored().size()?;
    let note = match size {
        1.. => reader.stored().head_covering(size)?,
        0 => None,
    };
    let note = note.ok_or(ProveError::OutOfTree { asked: size, size: ends })?;
    let altered = |error: CheckpointError| ProveError::Altered { asked: size, problem: error.to_string() };
    let next = Checkpoint::parse(&note).map_err(altered)?.claimed().size;
    if next == size { Ok(note) } else { Err(ProveError::NoHead { asked: size, next }) }
}

/// The last signed head, to be kept elsewhere.
///
/// # Errors
/// The ledger is empty or cannot be read.
pub fn last_head(reader: &mut LedgerReader) -> Result<String, ProveError> {
    let size = reader.stored().size()?;
    head_of(reader, size)
}

/// Checks a proof of inclusion.
///
/// # Errors
/// It does not prove that its record is under a head signed by `key`.
pub fn verify_inclusion(document: &[u8], key: &VerifyingKeyInfo) -> Result<Included, ProofFault> {
    let proof: Inclusion = serde_json::from_slice(document).map_err(|error| ProofFault::Shape(error.to_string()))?;
    check_schema(&proof.schema, INCLUSION)?;
    let path = parse_path(&proof.path)?;
    let record = line::parse_record(proof.record)?;
    let payload = match record.payload {
        LinePayload::Withheld(_) => None,
        LinePayload::Open { salt, value } => {
            if record::payload_digest(&salt, &canonical::to_vec(&value)) != record.leaf.payload_digest {
                return Err(ProofFault::Altered);
            }
            Some(value)
        }
    };
    if record.leaf.hash() != record.hash {
        return Err(ProofFault::Altered);
    }
    let head = Checkpoint::parse(&proof.checkpoint)?.verify(key)?.head().clone();
    tree::verify_inclusion(&record.hash, record.leaf.seq, head.size, &path, &head.root)?;
    Ok(Included { leaf: record.leaf, payload, head })
}

/// Checks a proof of consistency. The heads may be signed by different keys of a chain: `old_key` and `new_key`.
///
/// # Errors
/// It does not prove that its second head extends the first.
pub fn verify_consistency(
    document: &[u8],
    old_key: &VerifyingKeyInfo,
    new_key: &VerifyingKeyInfo,
) -> Result<Extended, ProofFault> {
    let proof: Consistency = serde_json::from_slice(document).map_err(|error| ProofFault::Shape(error.to_string()))?;
    check_schema(&proof.schema, CONSISTENCY)?;
    let path = parse_path(&proof.path)?;
    let old = Checkpoint::parse(&proof.old)?.verify(old_key)?.head().clone();
    let new = Checkpoint::parse(&proof.new)?.verify(new_key)?.head().clone();
    if old.ledger != new.ledger {
        return Err(ProofFault::OtherLedger);
    }
    tree::verify_consistency(old.size, &old.root, new.size, &new.root, &path)?;
    Ok(Extended { old, new })
}

fn proof_error(error: ProofError<StoreError>) -> ProveError {
    match error {
        ProofError::OutOfTree(out) => ProveError::OutOfTree { asked: out.from, size: out.size },
        ProofError::Nodes(error) => ProveError::Store(error),
    }
}

fn document<T: Serialize>(proof: &T) -> Vec<u8> {
    // Maps with string keys only: there is always a JSON form.
    canonical::of(proof).unwrap_or_default()
}

fn check_schema(found: &str, expected: &str) -> Result<(), ProofFault> {
    if found == expected { Ok(()) } else { Err(ProofFault::Shape(format!("the schema is not {expected}"))) }
}

fn parse_path(path: &[String]) -> Result<Vec<Hash>, ProofFault> {
    if path.len() > MAX_PATH {
        return Err(ProofFault::Shape(format!("more than {MAX_PATH} hashes")));
    }
    let hash = |text: &String| hex::decode(text).ok().and_then(|bytes| Hash::try_from(bytes).ok());
    path.iter().map(|text| hash(text).ok_or_else(|| ProofFault::Shape("a hash is 64 hex digits".to_owned()))).collect()
}

//! Offline verification of an export: trusts nothing but the public key and the heads that it is given.
//!
//! The answer is a [`Report`] or the first [`Fault`] with the record, interval or line where it shows; there is no yes or no
//! without a reason. Streaming: a line at a time, and the right edge of the tree.
//!
//! What each finding rests on: an edited byte fails the canonical form, the leaf hash or the payload digest of its record; a
//! removed, repeated, inserted or moved record breaks the sequence; a rewrite with recomputed hashes fails the root of the
//! next signed head; re-signing fails the key; a head left out breaks the chain of `previous` sizes; a cut tail, a rolled-back
//! or a forked ledger fails a later head from elsewhere (`heads`, `other`), and nothing else can tell it. What a gate itself wrote
//! wrongly fails in one thing: an approval that counts for a plan it was not signed for, and that does more than the one it was.

use std::fmt;
use std::io::BufRead;
use std::ops::Range;

use countersign_plan::text::escape;

use crate::export::line::LineError;
use countersign_ledger::checkpoint::{Checkpoint, CheckpointError, Head, LedgerId, VerifyingKeyInfo};
use countersign_ledger::rotation::RotationError;
use countersign_ledger::store::KeyPeriod;

mod revisions;
mod walk;

use walk::Walk;

/// What the verifier believes.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// The public key that is pinned; without it nothing is anchored, and the answer is a fault.
    pub key: Option<VerifyingKeyInfo>,
    /// Heads kept elsewhere, which the export must contain.
    pub heads: Vec<Checkpoint>,
}

/// What was found in an export without fault. All of it is under heads signed by the pinned key or its successors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which ledger.
    pub ledger: LedgerId,
    /// The last head: size and root.
    pub head: Head,
    /// How many heads.
    pub checkpoints: u64,
    /// The signing keys, each vouched for by the one before.
    pub keys: Vec<KeyPeriod>,
    /// Payloads that are there and match their digests.
    pub payloads: u64,
    /// Payloads that are not there, by reason.
    pub withheld: WithheldCounts,
    /// Heads from elsewhere that the export contains.
    pub heads: u64,
    /// Approvals that were taken over from the version before, and were found to be theirs.
    pub carried: u64,
    /// Approvals that were taken over in cases whose words are withheld, so that nothing can be said of them.
    pub unseen: u64,
    /// How the other export relates to this one.
    pub other: Option<Relation>,
}

/// How many payloads are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithheldCounts {
    /// In a redacted export.
    pub redacted: u64,
    /// The case's key was destroyed.
    pub erased: u64,
    /// The exporter had no master key.
    pub sealed: u64,
}

/// How another, faultless export of the same ledger relates to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same records.
    Same,
    /// The other is older: it ends at that size.
    Older(u64),
    /// The other is newer: it goes on to that size.
    Newer(u64),
}

/// Where a fault shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The export as a whole.
    Export,
    /// A line, from 1.
    Line(u64),
    /// A record, by seq.
    Record(u64),
    /// Some record of an interval of seqs.
    Records(Range<u64>),
    /// The head of that size.
    Head(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Export => write!(f, "the export"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record(seq) => write!(f, "record {seq}"),
            Self::Records(seqs) if seqs.end.saturating_sub(seqs.start) == 1 => write!(f, "record {}", seqs.start),
            Self::Records(seqs) => write!(f, "records {} to {}", seqs.start, seqs.end.saturating_sub(1)),
            Self::Head(size) => write!(f, "the head of size {size}"),
        }
    }
}

/// The first thing that is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Fault {
    /// Where it shows.
    pub place: Place,
    /// What it is.
    pub problem: Problem,
}

/// What can be wrong.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Nothing to verify.
    #[error("it holds no records: nothing is proved")]
    Empty,
    /// A line that no exporter wrote.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Records are missing.
    #[error("missing: removed, or moved elsewhere")]
    Missing,
    /// A record stands where another belongs.
    #[error("record {found} stands in its place: repeated, inserted or moved")]
    Sequence {
        /// What stands there.
        found: u64,
    },
    /// The record's fields do not give its leaf hash.
    #[error("altered: its fields do not give its leaf hash")]
    Leaf,
    /// The payload does not match its digest.
    #[error("its payload was altered: it does not match the digest under the leaf")]
    Payload,
    /// The database held another payload than was recorded.
    #[error("its payload was altered in the database: what is stored there is not what was recorded")]
    Damaged,
    /// A payload is missing where it may not be.
    #[error("its payload is withheld as `{0}`, which this export may not do here")]
    Withheld(&'static str),
    /// A head cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A head stands in the wrong place.
    #[error("stands after {stands} records")]
    Position {
        /// How many records precede it.
        stands: u64,
    },
    /// A head is left out.
    #[error("the head before it should be of size {named}, but is of size {found}: a head was removed")]
    HeadMissing {
        /// What the head names.
        named: u64,
        /// What is there.
        found: u64,
    },
    /// A head is of another ledger than the first line says.
    #[error("of ledger {0}, not of the one that the first line names")]
    OtherLedger(LedgerId),
    /// The records do not give the signed root.
    #[error("not what was signed: they do not give the root of the head of size {size}")]
    Root {
        /// The size of the head.
        size: u64,
    },
    /// Signed by somebody else.
    #[error("not signed by the pinned key or a successor: {source}")]
    Signature {
        /// What is wrong with the signature.
        source: CheckpointError,
    },
    /// The pinned key vouches for nothing in the export.
    #[error("signed by {found}, not by the pinned key {pinned}")]
    OtherKey {
        /// The key that signs.
        found: Box<VerifyingKeyInfo>,
        /// The key that is pinned.
        pinned: Box<VerifyingKeyInfo>,
    },
    /// An approval does not count for what it was counted for.
    #[error("an approval that does not hold: {0}")]
    Approval(String),
    /// A key rotation is not genuine.
    #[error("no valid key rotation: {0}")]
    Rotation(RotationError),
    /// A key rotation is stated by another key than the one that signs.
    #[error("a key rotation by another key than the one that signs at that point")]
    RotationKey,
    /// The first line names other keys than the records do.
    #[error("the first line names other signing keys than the records do")]
    Keys,
    /// The first line names another size than there are records.
    #[error("the first line says {announced} records, but there are {found}: cut off, or records were added")]
    Size {
        /// What the first line says.
        announced: u64,
        /// How many there are.
        found: u64,
    },
    /// No head covers the last records.
    #[error("no signed head covers them; anchored are the {anchored} records before")]
    Uncovered {
        /// How many records are under a head.
        anchored: u64,
    },
    /// No key was given.
    #[error(
        "unanchored: no public key was given, so that anybody may have written these {records} records; name one with --key"
    )]
    Unanchored {
        /// How many records there are.
        records: u64,
    },
    /// A head from elsewhere is larger than the export.
    #[error("the export ends at record count {ends}: its tail was cut, or the ledger was rolled back")]
    CutTail {
        /// How many records the export has.
        ends: u64,
    },
    /// A head from elsewhere has another root.
    #[error("kept elsewhere, has another root than the export at that size: the ledger was forked or rewritten")]
    Fork,
    /// The other export has another record.
    #[error("differs from the other export, though both are signed: the ledger was forked")]
    ForkRecord,
    /// The other export is faulty itself.
    #[error("in the other export: {0}")]
    Other(Box<Fault>),
}

impl Fault {
    pub(crate) const fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }
}

/// Verifies an export.
///
/// # Errors
/// The first fault.
pub fn verify<R: BufRead>(export: R, options: &VerifyOptions) -> Result<Report, Fault> {
    let mut walk = Walk::start(export, options)?;
    while walk.next_record()?.is_some() {}
    walk.finish()
}

/// Verifies an export and another of the same ledger, and that neither is a fork of the other.
///
/// # Errors
/// The first fault in either, or the first record in which they differ.
pub fn verify_against<R: BufRead, S: BufRead>(export: R, other: S, options: &VerifyOptions) -> Result<Report, Fault> {
    let in_other = |fault| Fault::new(Place::Export, Problem::Other(Box::new(fault)));
    let mut walk = Walk::start(export, options)?;
    let mut other =
        Walk::start(other, &VerifyOptions { key: options.key.clone(), heads: Vec::new() }).map_err(in_other)?;
    if walk.ledger() != other.ledger() {
        return Err(in_other(Fault::new(Place::Export, Problem::OtherLedger(other.ledger().clone()))));
    }
    // A difference counts only once both sides have proved their records, so the first one is kept until then.
    let mut differs = None;
    loop {
        let ours = walk.next_record()?;
        let theirs = other.next_record().map_err(in_other)?;
        match (ours, theirs) {
            (Some((seq, ours)), Some((_, theirs))) if ours != theirs && differs.is_none() => differs = Some(seq),
            (None, None) => break,
            _ => {}
        }
    }
    let mut report = walk.finish()?;
    let theirs = other.finish().map_err(in_other)?.head.size;
    if let Some(seq) = differs {
        return Err(Fault::new(Place::Record(seq), Problem::ForkRecord));
    }
    report.other = Some(match theirs.cmp(&report.head.size) {
        std::cmp::Ordering::Equal => Relation::Same,
        std::cmp::Ordering::Less => Relation::Older(theirs),
        std::cmp::Ordering::Greater => Relation::Newer(theirs),
    });
    Ok(report)
}

/// A report as a person reads it.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "ledger {}: records 0 to {} anchored", self.ledger, self.head.size.saturating_sub(1))?;
        writeln!(f, "  {} heads, last {}", self.checkpoints, self.head)?;
        for period in &self.keys {
            writeln!(f, "  signed from size {} by {}", period.from, escape(&period.key.to_string()))?;
        }
        let WithheldCounts { redacted, erased, sealed } = self.withheld;
        write!(
            f,
            "  {} payloads match; withheld: {redacted} redacted, {erased} erased, {sealed} sealed",
            self.payloads
        )?;
        if (self.carried, self.unseen) != (0, 0) {
            write!(f, "\n  approvals taken over by versions that only add reads: {}", self.carried)?;
            write!(f, "; not to be checked without the words of their cases: {}", self.unseen)?;
        }
        Ok(())
    }
}

//! What is written down: entries as the gate gives them, and the leaf that each becomes in the tree.
//!
//! The leaf commits to a salted digest of the payload and not to the payload itself, so that a payload can be erased or
//! withheld and every proof still holds; the kind of the record is in the leaf and the decision in the payload, so that
//! neither can be edited (lesson 26).

use std::fmt;
use std::ops::Range;

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::merkle::{self, Hash};

/// The version of the leaf's form, in every leaf.
pub const LEAF_VERSION: u64 = 1;
/// The longest canonical payload that is accepted, in bytes.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// The deepest nesting of a payload that is accepted: a record of an export nests it once more, below what readers take.
pub const MAX_DEPTH: usize = 96;
/// Most entries of one append: they become durable together or not at all.
pub const MAX_ENTRIES: usize = 1024;
/// 9999-12-31T23:59:59.999Z, the last time that RFC 3339 can write.
const MAX_MILLIS: i64 = 253_402_300_799_999;
/// Integers from here on have no exact form in RFC 8785.
const UNSAFE_INTEGER: u64 = 1 << 53;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// What a record is about. A closed set with stable names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RecordKind {
            $($(#[$doc])* $variant,)+
        }

        impl RecordKind {
            /// Every kind, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The stable name, as leaves, exports and queries write it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The kind of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// The monitor started: boot epoch, versions, what the kernel enforces.
    Boot = "boot",
    /// Everything was halted.
    HaltAll = "halt_all",
    /// A case was opened and its goal pinned.
    CaseOpened = "case_opened",
    /// A plan or an intent was proposed.
    Proposal = "proposal",
    /// The gate decided; the payload holds the whole verdict.
    Decision = "decision",
    /// A person approved, with signature.
    Approval = "approval",
    /// A person denied.
    Denial = "denial",
    /// The gate countersigned a plan.
    Countersignature = "countersignature",
    /// The gate gave leave for one step.
    Permit = "permit",
    /// An effect is about to happen (write-ahead, INV-2).
    Intent = "intent",
    /// What an effect did.
    Outcome = "outcome",
    /// An effect was undone.
    Compensation = "compensation",
    /// A case ended.
    CaseClosed = "case_closed",
    /// A version of a plan ended; its case goes on until its goal is answered.
    RunEnded = "run_ended",
    /// A planner loaded tools, asked a model, read something, or ended.
    Planner = "planner",
    /// The goal of a case was answered.
    Answer = "answer",
    /// A case was stopped and asks a person.
    CaseHalted = "case_halted",
    /// A separation violation (INV-9).
    Critical = "critical",
    /// Something a person should look at.
    Alert = "alert",
    /// The signing key changed; the payload is the old key's statement on the new one.
    KeyRotated = "key_rotated",
    /// An approver's key was enrolled or retired.
    ApproverEnrolled = "approver_enrolled",
    /// A configuration file was trusted.
    TrustGranted = "trust_granted",
    /// A value was labelled, endorsed or declassified.
    Label = "label",
    /// The sealed payloads of a case were made unreadable, from this record on.
    Erased = "erased",
    /// Configuration or policy took effect.
    Config = "config",
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for RecordKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for RecordKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("no record kind `{name}`")))
    }
}

/// Something to be written down.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is about.
    pub kind: RecordKind,
    /// The case it belongs to, if any.
    pub case: Option<CaseId>,
    /// When it happened, by the gate's time. The ledger's time never goes back: an earlier time than that of the record
    /// before becomes that one's.
    pub at: Timestamp,
    /// What happened.
    pub payload: Value,
    /// Store the payload under the case's own key, so that it can be erased. Without a case it is stored in clear.
    pub sealed: bool,
}

/// An entry cannot be written down as it is. Nothing was written, and the ledger goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// No entries, or more than [`MAX_ENTRIES`].
    #[error("an append takes 1 to {MAX_ENTRIES} entries, not {0}")]
    Count(usize),
    /// The canonical payload is longer than [`MAX_PAYLOAD`].
    #[error(
        "the payload of entry {entry} is {bytes} bytes long, {MAX_PAYLOAD} are allowed: store a digest and keep the rest outside"
    )]
    TooLong {
        /// Which entry of the append, from 0.
        entry: usize,
        /// How long its payload is.
        bytes: usize,
    },
    /// The payload nests deeper than [`MAX_DEPTH`].
    #[error("the payload of entry {0} nests deeper than {MAX_DEPTH} levels")]
    TooDeep(usize),
    /// The payload holds an integer that RFC 8785 cannot write.
    #[error("the payload of entry {0} holds an integer of 2^53 or more: write it as a string")]
    Integer(usize),
    /// The time lies outside 1970 to 9999.
    #[error("the time of entry {0} lies outside the years 1970 to 9999")]
    Time(usize),
}

/// The digest of a batch of entries as they are given, before redaction: what [`crate::ledger::Recorded`] names, so that
/// the owner of the entries can tell that a proof is the proof for *these*.
#[must_use]
pub fn entries_digest(entries: &[Entry]) -> Digest {
    let mut text = Vec::with_capacity(entries.len() * 96);
    for entry in entries {
        digest_entry(&mut text, entry, &Digest::of(&canonical::to_vec(&entry.payload)));
    }
    Digest::of(&text)
}

/// Adds one entry to the preimage of [`entries_digest`]; every part has a fixed length or ends in a byte it cannot contain.
pub(crate) fn digest_entry(out: &mut Vec<u8>, entry: &Entry, payload: &Digest) {
    out.extend_from_slice(entry.kind.name().as_bytes());
    out.push(b'\n');
    out.extend_from_slice(entry.case.as_ref().map_or("", CaseId::as_str).as_bytes());
    out.push(b'\n');
    out.extend_from_slice(&entry.at.as_millis().to_be_bytes());
    out.push(u8::from(entry.sealed));
    out.extend_from_slice(payload.as_bytes());
}

/// Refuses a payload that cannot be written canonically, or a time without a text form.
pub(crate) fn check(index: usize, entry: &Entry) -> Result<(), EntryError> {
    if !(0..=MAX_MILLIS).contains(&entry.at.as_millis()) {
        return Err(EntryError::Time(index));
    }
    let mut pending = vec![(&entry.payload, 1_usize)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return Err(EntryError::TooDeep(index));
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => pending.extend(members.values().map(|item| (item, depth + 1))),
            Value::Number(number) => {
                let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
                if size.is_some_and(|size| size >= UNSAFE_INTEGER) {
                    return Err(EntryError::Integer(index));
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// What the tree commits to, for one record: the leaf is its canonical JSON (RFC 8785).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Position in the ledger, from 0.
    pub seq: u64,
    /// What the record is about.
    pub kind: RecordKind,
    /// The case it belongs to, if any.
    pub case: Option<CaseId>,
    /// The ledger's time of the record.
    pub at: Timestamp,
    /// SHA-256(salt ‖ canonical payload).
    pub payload_digest: Digest,
}

impl Leaf {
    /// The bytes under the leaf hash: `{"at", "case", "kind", "payload_digest", "seq", "v"}`, canonical.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        use std::io::Write as _;
        let mut out = Vec::with_capacity(256);
        // Writing to a vector cannot fail, and no part holds a character that JSON escapes.
        let written = match &self.case {
            Some(case) => write!(out, "{{\"at\":\"{}\",\"case\":\"{case}\",\"kind\":\"{}\"", self.at, self.kind),
            None => write!(out, "{{\"at\":\"{}\",\"case\":null,\"kind\":\"{}\"", self.at, self.kind),
        }
        .and_then(|()| {
            write!(out, ",\"payload_digest\":\"{}\",\"seq\":{},\"v\":{LEAF_VERSION}}}", self.payload_digest, self.seq)
        });
        debug_assert!(written.is_ok(), "a vector takes all bytes");
        out
    }

    /// The leaf hash of RFC 6962, section 2.1.
    #[must_use]
    pub fn hash(&self) -> Hash {
        merkle::leaf_hash(&self.bytes())
    }
}

/// The salted digest of a canonical payload.
#[must_use]
pub fn payload_digest(salt: &Salt, canonical_payload: &[u8]) -> Digest {
    Digest::of_parts(&[salt, canonical_payload])
}

/// Random bytes beside each payload: without them a digest of few possible payloads could be guessed after erasure.
pub type Salt = [u8; 32];

/// How a payload lies in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredPayload {
    /// Canonical JSON in clear, and its salt.
    Clear {
        /// The salt of the payload digest.
        salt: Salt,
        /// Canonical JSON.
        json: Vec<u8>,
    },
    /// Salt and payload under the case's key: nonce, ciphertext and tag (see [`crate::seal`]).
    Sealed(Vec<u8>),
}

/// A record as a store keeps it: the leaf's parts, the payload, the tree nodes that this leaf completes, and, on the last
/// record of each batch, the signed head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the tree commits to.
    pub leaf: Leaf,
    /// The payload, in clear or sealed.
    pub payload: StoredPayload,
    /// The leaf hash, then the roots of the larger full subtrees that end here, from small to large.
    pub nodes: Vec<Hash>,
    /// The signed note over the tree that ends with this record, on the last record of a batch.
    pub head: Option<String>,
}

/// The sequence numbers `first..first + count`.
#[must_use]
pub(crate) const fn seq_range(first: u64, count: u64) -> Range<u64> {
    first..first.saturating_add(count)
}

#[cfg(test)]
mod tests;

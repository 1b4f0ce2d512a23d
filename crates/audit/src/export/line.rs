//! The lines of an export, read strictly: what is not exactly the canonical form of what it says is refused.

use std::io::{self, BufRead, Read as _};

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::export::{Payloads, SCHEMA, Withheld};
use countersign_ledger::checkpoint::LedgerId;
use countersign_ledger::merkle::Hash;
use countersign_ledger::record::{LEAF_VERSION, Leaf, MAX_PAYLOAD, RecordKind, Salt};
use countersign_ledger::store::KeyPeriod;

/// The longest line: a payload and the rest of its record.
pub(crate) const MAX_LINE: usize = MAX_PAYLOAD + 16 * 1024;
/// Most signing keys of a ledger.
const MAX_KEYS: usize = 4096;

/// A line is not what a line of an export is.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The input cannot be read.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// The line is longer than any that an exporter writes.
    #[error("longer than {MAX_LINE} bytes")]
    TooLong,
    /// The last line does not end in a newline: it was cut.
    #[error("cut off: no newline at its end")]
    Cut,
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// JSON, but not in the one canonical form.
    #[error("not in canonical form (RFC 8785)")]
    NotCanonical,
    /// Canonical JSON, but of another shape.
    #[error("not a line of an export: {0}")]
    Shape(String),
}

/// The first line.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) ledger: LedgerId,
    pub(crate) keys: Vec<KeyPeriod>,
    pub(crate) payloads: Payloads,
    pub(crate) size: u64,
}

/// A record line.
#[derive(Debug)]
pub(crate) struct RecordLine {
    pub(crate) leaf: Leaf,
    /// The leaf hash as the line states it.
    pub(crate) hash: Hash,
    pub(crate) payload: LinePayload,
}

#[derive(Debug)]
pub(crate) enum LinePayload {
    Open { salt: Salt, value: Value },
    Withheld(Withheld),
}

/// Any line but the first.
#[derive(Debug)]
pub(crate) enum Line {
    Record(Box<RecordLine>),
    Checkpoint(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHeader {
    schema: String,
    ledger: String,
    keys: Vec<RawKey>,
    payloads: String,
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKey {
    from: u64,
    key: String,
}

/// The record's fields, in an export or a proof.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecord {
    at: Timestamp,
    case: Option<CaseId>,
    kind: RecordKind,
    leaf: String,
    #[serde(default, deserialize_with = "present")]
    payload: Option<Value>,
    payload_digest: Digest,
    salt: Option<String>,
    seq: u64,
    v: u64,
    withheld: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheckpoint {
    checkpoint: String,
}

/// A payload may be `null`, which is not the same as none.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads one line into `buffer`, without its newline; nothing at the end of the input.
pub(crate) fn read_line<'a, R: BufRead>(input: &mut R, buffer: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>, LineError> {
    buffer.clear();
    input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', buffer)?;
    match buffer.strip_suffix(b"\n") {
        Some(line) => Ok(Some(line)),
        None if buffer.is_empty() => Ok(None),
        None if buffer.len() > MAX_LINE => Err(LineError::TooLong),
        None => Err(LineError::Cut),
    }
}

fn parse(line: &[u8]) -> Result<Value, LineError> {
    let value: Value = serde_json::from_slice(line).map_err(LineError::Json)?;
    if canonical::to_vec(&value) == line { Ok(value) } else { Err(LineError::NotCanonical) }
}

fn shape(error: impl std::fmt::Display) -> LineError {
    LineError::Shape(error.to_string())
}

/// Reads a hash of 64 lower-case hex digits (the canonical form has been checked, but not the case of the digits).
fn hash(text: &str) -> Result<Hash, LineError> {
    let bytes: Option<Hash> = hex::decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.filter(|bytes| hex::encode(bytes) == text).ok_or_else(|| shape("a hash is 64 lower-case hex digits"))
}

/// Reads the first line.
pub(crate) fn parse_header(line: &[u8]) -> Result<Header, LineError> {
    let raw = RawHeader::deserialize(parse(line)?).map_err(shape)?;
    if raw.schema != SCHEMA {
        return Err(shape(format!("the schema is not {SCHEMA}")));
    }
    if !(1..=MAX_KEYS).contains(&raw.keys.len()) {
        return Err(shape(format!("1 to {MAX_KEYS} keys")));
    }
    let payloads = [Payloads::All, Payloads::Redacted].into_iter().find(|payloads| payloads.name() == raw.payloads);
    let key = |raw: RawKey| {
        let key = raw.key.parse().map_err(shape)?;
        Ok(KeyPeriod { from: raw.from, key })
    };
    Ok(Header {
        ledger: raw.ledger.parse().map_err(shape)?,
        keys: raw.keys.into_iter().map(key).collect::<Result<_, LineError>>()?,
        payloads: payloads.ok_or_else(|| shape("payloads are `all` or `redacted`"))?,
        size: raw.size,
    })
}

/// Reads any line but the first.
pub(crate) fn parse_line(line: &[u8]) -> Result<Line, LineError> {
    let value = parse(line)?;
    if value.get("checkpoint").is_some() {
        return Ok(Line::Checkpoint(RawCheckpoint::deserialize(value).map_err(shape)?.checkpoint));
    }
    parse_record(value).map(|record| Line::Record(Box::new(record)))
}

/// Reads a record from its JSON.
pub(crate) fn parse_record(value: Value) -> Result<RecordLine, LineError> {
    let raw = RawRecord::deserialize(&value).map_err(shape)?;
    if raw.v != LEAF_VERSION {
        return Err(shape(format!("record version {}, this version knows {LEAF_VERSION}", raw.v)));
    }
    // Other spellings of the same instant would pass for it.
    if value.get("at").and_then(Value::as_str) != Some(raw.at.to_string().as_str()) {
        return Err(shape("a time is written in UTC with milliseconds"));
    }
    let payload = match (raw.payload, raw.salt, raw.withheld) {
        (Some(value), Some(salt), None) => LinePayload::Open { salt: hash(&salt)?, value },
        (None, None, Some(reason)) => {
            LinePayload::Withheld(Withheld::from_name(&reason).ok_or_else(|| shape("no such reason to withhold"))?)
        }
        _ => return Err(shape("a record has payload and salt, or a reason to withhold them")),
    };
    let Leaf { seq, kind, case, at, payload_digest } =
        Leaf { seq: raw.seq, kind: raw.kind, case: raw.case, at: raw.at, payload_digest: raw.payload_digest };
    Ok(RecordLine { leaf: Leaf { seq, kind, case, at, payload_digest }, hash: hash(&raw.leaf)?, payload })
}

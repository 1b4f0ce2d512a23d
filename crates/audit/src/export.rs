//! The export: the whole ledger as lines of canonical JSON (RFC 8785), for anybody to verify offline.
//!
//! ```text
//! {"keys":[{"from":0,"key":"gate+…"}],"ledger":"4f1d…","payloads":"all","schema":"countersign.ledger-export/v1","size":42}
//! {"at":"…","case":"c-1","kind":"decision","leaf":"9c…","payload":{…},"payload_digest":"sha256:…","salt":"07…","seq":0,"v":1}
//! {"at":"…","case":null,"kind":"boot","leaf":"41…","payload_digest":"sha256:…","seq":1,"v":1,"withheld":"redacted"}
//! {"checkpoint":"countersign/4f1d…\n2\n…"}
//! ```
//!
//! The first line says what follows; then come the records in order, and after the last record of each batch its signed head.
//! Where a payload is withheld its salt is, too, so that the digest tells nothing. Statements of key rotation are never withheld:
//! the chain of keys stands on them. Every byte is covered by a check of [`crate::verify`].

use std::io::{self, Write};

use countersign_ledger::reader::{LedgerReader, RawPayload};
use countersign_ledger::record::{LEAF_VERSION, RecordKind, Row};
use countersign_ledger::store::{Selection, StoreError};
use countersign_plan::canonical;
use serde_json::json;

pub(crate) mod line;

pub use line::LineError;

/// Most records that are read at once.
const CHUNK: usize = 256;

/// The schema named in the first line.
pub const SCHEMA: &str = "countersign.ledger-export/v1";

/// Which payloads an export carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payloads {
    /// All that can be read.
    All,
    /// None but statements of key rotation.
    Redacted,
}

impl Payloads {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Redacted => "redacted",
        }
    }
}

/// Why a record of an export has no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The export is redacted.
    Redacted,
    /// The case's key was destroyed.
    Erased,
    /// The exporter had no master key.
    Sealed,
    /// What is stored is not what was recorded; [`crate::verify`] refuses it.
    Damaged,
}

impl Withheld {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Redacted => "redacted",
            Self::Erased => "erased",
            Self::Sealed => "sealed",
            Self::Damaged => "damaged",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Redacted, Self::Erased, Self::Sealed, Self::Damaged].into_iter().find(|reason| reason.name() == name)
    }
}

/// What was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// How many records.
    pub records: u64,
    /// How many heads.
    pub checkpoints: u64,
}

/// The export was not written to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output cannot be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// Writes what the ledger holds now, a chunk of records at a time. Nothing is repaired on the way: what was altered in
/// the database is exported altered, for the verifier to find.
///
/// # Errors
/// The ledger cannot be read or the output not be written.
pub fn export<W: Write>(reader: &mut LedgerReader, payloads: Payloads, out: &mut W) -> Result<Exported, ExportError> {
    let size = reader.stored().size()?;
    let keys: Vec<_> = reader.stored().key_periods()?;
    let keys: Vec<_> = keys.iter().filter(|period| period.from <= size).collect();
    let keys: Vec<_> = keys.iter().map(|period| json!({"from": period.from, "key": period.key.to_string()})).collect();
    let header = json!({
        "schema": SCHEMA, "ledger": reader.id().as_str(), "keys": keys, "payloads": payloads.name(), "size": size,
    });
    write_line(out, &canonical::to_vec(&header))?;
    let mut exported = Exported { records: 0, checkpoints: 0 };
    let mut next = 0;
    loop {
        let rows = reader.stored().rows(&Selection { from: next, to: size, case: None, kinds: &[] }, CHUNK)?;
        if rows.is_empty() {
            return Ok(exported);
        }
        for row in rows {
            next = row.leaf.seq.saturating_add(1);
            write_line(out, &record_line(reader, &row, payloads)?)?;
            exported.records += 1;
            if let Some(head) = &row.head {
                write_line(out, &canonical::to_vec(&json!({ "checkpoint": head })))?;
                exported.checkpoints += 1;
            }
        }
    }
}

/// A record as a line of an export, and in a proof.
pub(crate) fn record_line(reader: &mut LedgerReader, row: &Row, payloads: Payloads) -> Result<Vec<u8>, ExportError> {
    let shown = payloads == Payloads::All || row.leaf.kind == RecordKind::KeyRotated;
    let (payload, withheld) = if shown {
        match reader.payload(row)? {
            RawPayload::Open(salt, json) if is_canonical(&json) => (Some((salt, json)), None),
            RawPayload::Open(..) | RawPayload::Damaged => (None, Some(Withheld::Damaged)),
            RawPayload::Sealed => (None, Some(Withheld::Sealed)),
            RawPayload::Erased => (None, Some(Withheld::Erased)),
        }
    } else {
        (None, Some(Withheld::Redacted))
    };
    let leaf = &row.leaf;
    let mut line = Vec::with_capacity(512);
    let case = leaf.case.as_ref().map_or_else(|| "null".to_owned(), |case| format!("\"{case}\""));
    let hash = row.nodes.first().map(hex::encode).unwrap_or_default();
    write!(line, "{{\"at\":\"{}\",\"case\":{case},\"kind\":\"{}\",\"leaf\":\"{hash}\"", leaf.at, leaf.kind)?;
    if let Some((_, json)) = &payload {
        line.extend_from_slice(b",\"payload\":");
        line.extend_from_slice(json);
    }
    write!(line, ",\"payload_digest\":\"{}\"", leaf.payload_digest)?;
    if let Some((salt, _)) = &payload {
        write!(line, ",\"salt\":\"{}\"", hex::encode(salt))?;
    }
    write!(line, ",\"seq\":{},\"v\":{LEAF_VERSION}", leaf.seq)?;
    if let Some(withheld) = withheld {
        write!(line, ",\"withheld\":\"{}\"", withheld.name())?;
    }
    line.push(b'}');
    Ok(line)
}

fn write_line<W: Write>(out: &mut W, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    out.write_all(b"\n")
}

/// Whether the bytes can stand inside a line as they are.
fn is_canonical(json: &[u8]) -> bool {
    serde_json::from_slice(json).is_ok_and(|value| canonical::to_vec(&value) == json)
}

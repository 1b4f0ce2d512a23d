//! `audit verify`: trusts nothing but the public key and the heads that it is given. Asks nobody.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use countersign_audit::prove::{INCLUSION, verify_inclusion};
use countersign_audit::verify as ledger;
use countersign_audit::verify::{Fault, Problem, Relation, Report, VerifyOptions};
use countersign_ledger::checkpoint::{Checkpoint, MAX_NOTE, VerifyingKeyInfo};
use serde_json::{Value, json};

use crate::anchor::trust_anchor;
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::line::{Detail, Line, Tone, Visible};

/// The longest proof of a single record, in bytes: a payload of the largest size, encoded.
const MAX_PROOF: u64 = 8 << 20;

pub(super) fn verify(
    file: &Path,
    key: Option<&str>,
    heads: &[PathBuf],
    other: Option<&Path>,
    out: &Out,
) -> Result<Exit, Failure> {
    let key = trusted(key)?;
    if let Some(proof) = proof(file)? {
        return included(file, &proof, key.as_ref(), out);
    }
    let options = VerifyOptions { key, heads: heads.iter().map(|path| read_head(path)).collect::<Result<_, _>>()? };
    let export = open(file)?;
    let found = match other {
        Some(other) => ledger::verify_against(export, open(other)?, &options),
        None => ledger::verify(export, &options),
    };
    match found {
        Ok(report) => {
            out.value(&verified(&report))?;
            let mut lines = vec![Line::at(0).tone(Tone::Good, "VERIFIED").plain(format!("  {}", file.display()))];
            lines.extend(report.to_string().lines().map(|line| Line::of(1, line)));
            lines.extend(report.other.map(|relation| Line::of(1, relation_text(relation))));
            if heads.is_empty() && other.is_none() {
                let text = "against no later head: a cut tail or a rolled-back ledger would not show (--head, --other)";
                lines.push(Line::at(1).tone(Tone::Warn, "note ").plain(text));
            }
            out.lines(&lines)?;
            Ok(Exit::Done)
        }
        Err(Fault { problem: Problem::Unanchored { .. }, .. }) => Err(unanchored(file)),
        Err(fault) => Err(Failure::refused("audit.fault", format!("{}: {fault}", file.display()))),
    }
}

fn unanchored(file: &Path) -> Failure {
    let message =
        format!("{}: unanchored: no public key is known, so that anybody may have written it", file.display());
    Failure::refused("unanchored", message)
        .fix("name the gate's public key with --key, or pin it with `countersign keys show`")
}

/// The bytes of the file, if it is the proof of a single record.
fn proof(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let mut line = Vec::new();
    let read = open(file)?.take(MAX_PROOF).read_until(b'\n', &mut line);
    read.map_err(|error| Failure::file(file, &error))?;
    let schema = serde_json::from_slice::<Value>(&line).ok();
    let schema = schema.as_ref().and_then(|value| value.get("schema")).and_then(Value::as_str);
    Ok((schema == Some(INCLUSION)).then_some(line))
}

fn included(file: &Path, proof: &[u8], key: Option<&VerifyingKeyInfo>, out: &Out) -> Result<Exit, Failure> {
    let key = key.ok_or_else(|| unanchored(file))?;
    let record = verify_inclusion(proof, key)
        .map_err(|fault| Failure::refused("audit.fault", format!("{}: {fault}", file.display())))?;
    let leaf = record.leaf();
    out.value(&json!({
        "verified": true, "seq": leaf.seq, "kind": leaf.kind, "case": leaf.case, "at": leaf.at,
        "payload_digest": leaf.payload_digest, "payload": record.payload(), "head": record.head().size,
    }))?;
    let case = leaf.case.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut lines = vec![
        Line::at(0).tone(Tone::Good, "VERIFIED").plain(format!("  {}", file.display())),
        Line::of(1, format!("record {} is under the signed head of size {}", leaf.seq, record.head().size)),
        Line::of(1, format!("{}  {}  {case}", leaf.at, leaf.kind)),
    ];
    lines.extend(record.payload().map(|payload| Line::at(1).plain(Visible::json(payload, Detail::Full))));
    out.lines(&lines)?;
    Ok(Exit::Done)
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(|file| BufReader::with_capacity(1 << 16, file)).map_err(|error| Failure::file(path, &error))
}

/// The key that was named, else the pinned one, else none: then nothing is anchored.
fn trusted(named: Option<&str>) -> Result<Option<VerifyingKeyInfo>, Failure> {
    let text = match named {
        Some(named) if !Path::new(named).is_file() => named.to_owned(),
        Some(named) => {
            let bytes = document::read(Path::new(named), 4 << 10)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        None => match Paths::of_environment().ok().and_then(|paths| std::fs::read_to_string(paths.gate_key()).ok()) {
            Some(pinned) => pinned,
            None => return Ok(None),
        },
    };
    trust_anchor(&text).map(Some)
}

fn read_head(path: &Path) -> Result<Checkpoint, Failure> {
    let bytes = document::read(path, MAX_NOTE)?;
    let note = String::from_utf8_lossy(&bytes);
    Checkpoint::parse(&note).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn relation_text(relation: Relation) -> String {
    match relation {
        Relation::Same => "the other export holds the same records".to_owned(),
        Relation::Older(size) => format!("the other export is older and a part of this one: {size} records"),
        Relation::Newer(size) => format!("the other export is newer and contains this one: {size} records"),
    }
}

fn verified(report: &Report) -> Value {
    let keys: Vec<Value> =
        report.keys.iter().map(|period| json!({"from": period.from, "key": period.key.to_string()})).collect();
    let withheld = report.withheld;
    json!({
        "verified": true,
        "ledger": report.ledger.as_str(),
        "records": report.head.size,
        "root": hex::encode(report.head.root),
        "checkpoints": report.checkpoints,
        "keys": keys,
        "payloads": report.payloads,
        "approvals_carried": report.carried,
        "approvals_unseen": report.unseen,
        "withheld": {"redacted": withheld.redacted, "erased": withheld.erased, "sealed": withheld.sealed},
        "heads": report.heads,
        "other": report.other.map(relation_text),
    })
}

//! Reading the ledger for operators, on a thread of its own so that nobody waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use countersign_audit::export::Payloads;
use countersign_audit::prove;
use countersign_ledger::reader::{Payload, Record};
use countersign_ledger::{LedgerReader, Query, RecordKind};
use countersign_wire::operator::to_monitor::Audit;
use countersign_wire::operator::{FromMonitor, from_monitor};
use serde_json::{Value, json};

use super::operate::{answer, fail};
use super::{OperateReply, State};

/// Records of one part of an answer.
const PART: usize = 64;
/// Records of an answer that names no limit.
const DEFAULT_LIMIT: u64 = 1000;

impl State {
    pub(crate) fn audit(&self, audit: Audit, reply: OperateReply) {
        let reader = match self.ledger.reader() {
            Ok(reader) => reader,
            Err(e) => return fail(&reply, "internal.error", &e.to_string()),
        };
        self.runtime.spawn_blocking(move || {
            if let Err(message) = serve(reader, &audit, &reply) {
                fail(&reply, "internal.error", &message);
            }
        });
    }
}

fn serve(mut reader: LedgerReader, audit: &Audit, reply: &OperateReply) -> Result<(), String> {
    let payloads = if audit.payloads { Payloads::All } else { Payloads::Redacted };
    match audit.form.as_str() {
        "records" => records(&mut reader, audit, reply),
        "export" => {
            let exported = export(&mut reader, payloads, Path::new(&audit.output))?;
            answer(reply, &exported);
            Ok(())
        }
        "prove" => {
            let proof = prove::prove_inclusion(&mut reader, audit.from, payloads).map_err(|e| e.to_string())?;
            let proof: Value = serde_json::from_slice(&proof).map_err(|e| e.to_string())?;
            answer(reply, &proof);
            Ok(())
        }
        "head" => {
            let head = prove::last_head(&mut reader).map_err(|e| e.to_string())?;
            answer(reply, &json!({"checkpoint": head}));
            Ok(())
        }
        "tiers" => {
            answer(reply, &tiers(&mut reader)?);
            Ok(())
        }
        other => {
            Err(format!("`{}` is none of records, export, prove, head, tiers", countersign_plan::text::escape(other)))
        }
    }
}

/// Which tier decided how often, and what the evaluator came to; over the decisions whose payload can be read.
fn tiers(reader: &mut LedgerReader) -> Result<Value, String> {
    let query = Query { kinds: vec![RecordKind::Decision], ..Query::default() };
    let (mut decided, mut evaluator, mut unread) = (BTreeMap::new(), BTreeMap::new(), 0_u64);
    for record in reader.records(query) {
        let Payload::Open(payload) = record.map_err(|e| e.to_string())?.payload else {
            unread += 1;
            continue;
        };
        // A permit that was refused is a decision about a step, by rules alone.
        let Some(verdict) = payload.get("verdict") else { continue };
        let tier = verdict.get("tier").and_then(Value::as_u64).unwrap_or(0);
        let decision = verdict.get("decision").and_then(Value::as_str).unwrap_or("block").to_owned();
        let by_decision: &mut BTreeMap<String, u64> = decided.entry(tier.to_string()).or_default();
        *by_decision.entry(decision).or_default() += 1;
        let reasons = verdict.get("reasons").and_then(Value::as_array).into_iter().flatten();
        let words = reasons.filter_map(|reason| reason.get("code")?.as_str()?.strip_prefix("evaluator."));
        for word in words.map(str::to_owned).collect::<BTreeSet<_>>() {
            *evaluator.entry(word).or_insert(0_u64) += 1;
        }
    }
    Ok(json!({"tiers": decided, "evaluator": evaluator, "unread": unread}))
}

fn records(reader: &mut LedgerReader, audit: &Audit, reply: &OperateReply) -> Result<(), String> {
    let case = if audit.case.is_empty() { None } else { Some(audit.case.parse().map_err(|e| format!("{e}"))?) };
    let limit = if audit.limit == 0 { DEFAULT_LIMIT } else { audit.limit };
    let query = Query { from: audit.from, case, ..Query::default() };
    let mut part = Vec::new();
    for record in reader.records(query).take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        part.push(show(&record.map_err(|e| e.to_string())?));
        if part.len() == PART {
            send_part(reply, &Value::Array(std::mem::take(&mut part)))?;
        }
    }
    answer(reply, &Value::Array(part));
    Ok(())
}

/// Waits for a slow reader: this thread serves nobody else.
fn send_part(reply: &OperateReply, value: &Value) -> Result<(), String> {
    let bytes = serde_json::to_vec(value).map_err(|e| e.to_string())?;
    let message = FromMonitor { kind: Some(from_monitor::Kind::Part(bytes)) };
    reply.blocking_send(message).map_err(|_| "the client went away".to_owned())
}

fn show(record: &Record) -> Value {
    let leaf = &record.leaf;
    let (payload, state) = match &record.payload {
        Payload::Open(value) => (value.clone(), "open"),
        Payload::Sealed => (Value::Null, "sealed"),
        Payload::Erased => (Value::Null, "erased"),
        Payload::Damaged => (Value::Null, "damaged"),
    };
    json!({
        "seq": leaf.seq, "kind": leaf.kind, "case": leaf.case, "at": leaf.at,
        "payload_digest": leaf.payload_digest, "payload": payload, "payload_state": state,
    })
}

fn export(reader: &mut LedgerReader, payloads: Payloads, path: &Path) -> Result<Value, String> {
    if !path.is_absolute() {
        return Err("the file of an export is named by an absolute path".to_owned());
    }
    let place = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(place)?;
    let mut out = BufWriter::new(file);
    countersign_audit::export::export(reader, payloads, &mut out).map_err(|e| e.to_string())?;
    out.flush().map_err(place)?;
    out.get_ref().sync_all().map_err(place)?;
    Ok(json!({"file": path, "records": reader.size().map_err(|e| e.to_string())?}))
}

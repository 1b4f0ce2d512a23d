//! A case as its proposer may see it, with what the ledger says of it: goal, versions, decisions, observations, answer.

use countersign_ledger::reader::Payload;
use countersign_ledger::{LedgerReader, Query};
use countersign_plan::id::CaseId;
use countersign_wire::propose::from_monitor::{self, Error};
use countersign_wire::propose::{CaseRecord, CaseView, FromMonitor};
use serde_json::{Value, json};

use super::{Answer, ProposeReply, State};

/// Payloads that one answer carries, in bytes of JSON; of further ones the size is told.
const PAYLOADS: usize = 4 << 20;

impl State {
    /// Answers with a case. The ledger is read on a thread of its own: nobody waits for it.
    pub(super) fn show(&self, case: &str, reply: ProposeReply) {
        let Some(view) = self.view(case) else {
            return Answer::Proposer(reply).fail("plan.invalid", &super::propose::unknown(case));
        };
        let reader = match self.ledger.reader() {
            Ok(reader) => reader,
            Err(e) => return Answer::Proposer(reply).fail("internal.error", &e.to_string()),
        };
        self.runtime.spawn_blocking(move || {
            let kind = match with_records(reader, view) {
                Ok(view) => {
                    let case = serde_json::to_vec(&view).unwrap_or_default();
                    from_monitor::Kind::Case(from_monitor::Case { case })
                }
                Err(message) => from_monitor::Kind::Error(Error { code: "internal.error".to_owned(), message }),
            };
            drop(reply.blocking_send(FromMonitor { kind: Some(kind) }));
        });
    }
}

fn with_records(mut reader: LedgerReader, view: CaseView) -> Result<CaseView, String> {
    let case: CaseId = view.case.parse().map_err(|e| format!("{e}"))?;
    let mut left = PAYLOADS;
    let mut records = Vec::new();
    for record in reader.records(Query { case: Some(case), ..Query::default() }) {
        let record = record.map_err(|e| e.to_string())?;
        let payload = match record.payload {
            Payload::Open(value) => value,
            Payload::Sealed | Payload::Erased | Payload::Damaged => Value::Null,
        };
        let size = payload.to_string().len();
        let payload = match left.checked_sub(size) {
            Some(rest) => {
                left = rest;
                payload
            }
            None => json!({"left_out": format!("{size} bytes; `countersign audit show {}`", record.leaf.seq)}),
        };
        let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
        records.push(CaseRecord {
            seq: record.leaf.seq,
            kind: word(json!(record.leaf.kind)),
            at: word(json!(record.leaf.at)),
            payload,
        });
    }
    Ok(CaseView { records, ..view })
}

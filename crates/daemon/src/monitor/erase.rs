//! Erasing a case: what the ledger still tells of it is read before its key is gone, so that labels outlive it and nothing is erased
//! that an agent may not have erased. The snapshots of the case go too; they hold what it changed.

use std::collections::HashSet;
use std::path::Path;

use countersign_gate::event::{Event, Relic};
use countersign_gate::machine::Eyes;
use countersign_ledger::reader::Payload;
use countersign_ledger::{LedgerReader, Query, RecordKind};
use countersign_plan::envelope::Envelope;
use countersign_plan::id::{CaseId, Principal};
use countersign_wire::operator::to_monitor::Erase;
use serde_json::Value;

use super::operate::fail;
use super::{Answer, Command, OperateReply, State};
use crate::past::{Past, Told};

/// What the ledger tells of the cases that are to be erased.
pub(crate) struct Gathered {
    envelope: Envelope,
    relics: Vec<Relic>,
    /// The fold over their records alone.
    alone: Past,
    /// How long the ledger was before it was read.
    size: u64,
}

impl State {
    /// Reads the case on a thread of its own; the gate decides when that is done.
    pub(super) fn erase(&self, erase: Erase, reply: OperateReply) {
        let asked = Envelope::from_json(&erase.envelope).map_err(|e| e.to_string()).and_then(|envelope| {
            let case: CaseId = erase.case.parse().map_err(|e| format!("{e}"))?;
            Ok((envelope, case, self.ledger.reader().map_err(|e| e.to_string())?))
        });
        let (envelope, case, reader) = match asked {
            Ok(asked) => asked,
            Err(message) => return fail(&reply, "plan.invalid", &message),
        };
        let monitor = self.monitor.clone();
        self.runtime.spawn_blocking(move || match gather(reader, &case) {
            Ok((relics, alone, size)) => {
                let gathered = Box::new(Gathered { envelope, relics, alone, size });
                monitor.send(Command::Erase { gathered, reply });
            }
            Err(message) => fail(&reply, "plan.invalid", &message),
        });
    }

    pub(super) fn erase_gathered(&mut self, gathered: Gathered, reply: OperateReply) {
        let Gathered { envelope, relics, alone, size } = gathered;
        match self.went_on(&relics, size) {
            Ok(None) => {}
            Ok(Some(case)) => {
                return fail(&reply, "policy.deny", &format!("case {case} went on meanwhile; ask again"));
            }
            Err(message) => return fail(&reply, "internal.error", &message),
        }
        let kept = self.past.outlives(&alone, self.clock.wall());
        self.event(Event::Erase { envelope, relics, kept }, Answer::Operator(reply));
    }

    /// A case that has a record which was not read.
    fn went_on(&self, relics: &[Relic], from: u64) -> Result<Option<CaseId>, String> {
        let mut reader = self.ledger.reader().map_err(|e| e.to_string())?;
        for Relic { case, .. } in relics {
            if reader.records(Query { from, case: Some(case.clone()), ..Query::default() }).next().is_some() {
                return Ok(Some(case.clone()));
            }
        }
        Ok(None)
    }

    /// The snapshots of cases that were erased. What a crash leaves behind goes at the next start.
    pub(super) fn erased(&self, cases: &[CaseId]) {
        let (state, cases) = (self.folders.state.clone(), cases.to_vec());
        self.runtime.spawn_blocking(move || cases.iter().for_each(|case| remove_snapshots(&state, case)));
    }
}

/// Removes what was kept for a case to take its effects back.
pub(crate) fn remove_snapshots(state: &Path, case: &CaseId) {
    let folder = state.join(crate::start::SNAPSHOTS).join(case.as_str());
    match std::fs::remove_dir_all(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            crate::log(&format!("{}: {e}; case {case} was erased, so remove it", folder.display()));
        }
        Ok(()) | Err(_) => {}
    }
}

/// The cases that were erased.
pub(crate) fn erased_before(reader: &mut LedgerReader) -> Result<HashSet<CaseId>, String> {
    let query = Query { kinds: vec![RecordKind::Erased], ..Query::default() };
    let records = reader.records(query).map(|record| record.map(|record| record.leaf.case));
    let cases: Result<Vec<_>, _> = records.collect();
    Ok(cases.map_err(|e| e.to_string())?.into_iter().flatten().collect())
}

/// The case with those in which its planner read, and what their records come to.
fn gather(mut reader: LedgerReader, case: &CaseId) -> Result<(Vec<Relic>, Past, u64), String> {
    let size = reader.size().map_err(|e| e.to_string())?;
    let gone = erased_before(&mut reader)?;
    if gone.contains(case) {
        return Err(format!("case {case} was erased already; `countersign audit show {case}` says by whom"));
    }
    let mut cases = vec![case.clone()];
    for record in reader.records(Query { kinds: vec![RecordKind::CaseOpened], ..Query::default() }) {
        let record = record.map_err(|e| e.to_string())?;
        let Payload::Open(opened) = record.payload else { continue };
        if opened.get("parent").and_then(Value::as_str) == Some(case.as_str()) {
            cases.extend(record.leaf.case.filter(|child| !gone.contains(child)));
        }
    }
    let (mut relics, mut alone) = (Vec::new(), Past::default());
    for case in cases {
        let mut relic = None;
        for record in reader.records(Query { case: Some(case.clone()), ..Query::default() }) {
            let record = record.map_err(|e| e.to_string())?;
            let (kind, at) = (record.leaf.kind, record.leaf.at);
            let payload = if let Payload::Open(payload) = &record.payload { Some(payload) } else { None };
            match (kind, payload) {
                (RecordKind::CaseOpened, Some(opened)) if relic.is_none() => relic = of(&case, opened),
                (RecordKind::Decision, decided) => {
                    if let Some(relic) = &mut relic {
                        relic.eyes = decided.and_then(eyes);
                    }
                }
                _ => {}
            }
            alone.take(Told { kind, case: Some(&case), at, payload }, &mut |_| None);
        }
        relics.push(relic.ok_or_else(|| super::propose::unknown(case.as_str()))?);
    }
    Ok((relics, alone, size))
}

fn of(case: &CaseId, opened: &Value) -> Option<Relic> {
    let who = |key: &str| opened.get(key).and_then(Value::as_str).and_then(|name| name.parse::<Principal>().ok());
    Some(Relic { case: case.clone(), requester: who("requester")?, agent: who("agent")?, eyes: eyes(opened) })
}

/// Who might approve, as a record says it; what says nothing counts as four eyes.
fn eyes(payload: &Value) -> Option<Eyes> {
    payload.get("eyes").and_then(Value::as_str).and_then(Eyes::from_word)
}

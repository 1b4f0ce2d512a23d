//! A new boot epoch on the history of the ledger: cases are rebuilt from records, never from a stage that was stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use countersign_ledger::RecordKind;
use countersign_ledger::reader::{Payload, Record};
use countersign_plan::approval::Approver;
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::key::PublicKey;
use countersign_plan::verdict::Decision;
use serde_json::{Value, json};

use super::carry::Note;
use super::goal::Quest;
use super::{Effects, Enrolled, Gate, KEPT, Slot};
use crate::case::{Reviewed, Stage};
use crate::clock::{Clock, Moment};
use crate::configuration::Settings;
use crate::key::GateKey;
use crate::machine::{Case, Cause, Ending, Fact};
use crate::record;
use crate::replay::{INTERRUPTED, Past, Reconstruction};
use crate::transition::Transition;

/// The gate does not start.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A record cannot be read, so what it said cannot be known.
    #[error("record {seq} of the ledger cannot be replayed: {problem}; run `countersign audit verify`")]
    Record {
        /// The record.
        seq: u64,
        /// What is wrong.
        problem: String,
    },
}

/// What the history says.
#[derive(Default)]
struct History {
    epoch: u64,
    last: Option<countersign_plan::time::Timestamp>,
    approvers: Vec<Approver>,
    origins: Vec<Enrolled>,
    nonces: BTreeSet<(Principal, String)>,
    cases: BTreeMap<CaseId, Past>,
    /// The cases that ended last, in that order.
    ended: VecDeque<CaseId>,
}

impl Gate {
    /// Starts a new boot epoch on the whole history of the ledger, in order. The transition records the start and what became
    /// of the cases that were open: what was under way is indeterminate, what was countersigned or running is halted, what
    /// waits for people waits on; permits of earlier epochs are dead. `machine` says what this machine enforces and is
    /// recorded.
    ///
    /// # Errors
    /// A record that cannot be replayed.
    pub fn boot(
        settings: Settings,
        key: GateKey,
        history: impl IntoIterator<Item = Record>,
        moment: Moment,
        machine: Value,
    ) -> Result<(Self, Transition), BootError> {
        let mut past = History::default();
        for record in history {
            let seq = record.leaf.seq;
            past.take(record).map_err(|problem| BootError::Record { seq, problem: problem.to_owned() })?;
        }
        let clock = Clock::start(moment, past.last, settings.clock_tolerance);
        let mut gate = Self {
            settings,
            key,
            clock,
            epoch: past.epoch.saturating_add(1),
            approvers: past.approvers,
            origins: past.origins,
            cases: BTreeMap::new(),
            goals: BTreeMap::new(),
            ended: Vec::new(),
            retired: BTreeMap::new(),
            nonces: past.nonces,
            dead: false,
        };
        let mut effects = Effects::default();
        let boot = json!({
            "epoch": gate.epoch, "key": gate.key.public(), "machine": record::recordable(&machine),
        });
        effects.entries.push(record::general(RecordKind::Boot, gate.now(), boot));
        gate.ended = past.ended.into_iter().collect();
        for (case, past) in past.cases {
            gate.revive(&case, past, &mut effects);
        }
        Ok((gate, effects.into_transition()))
    }

    /// A case that ended, so that it can still be shown.
    fn remember(
        &mut self,
        case: &CaseId,
        ending: Option<Ending>,
        opened: Option<&Value>,
        dossier: Option<(Box<crate::case::Dossier>, crate::machine::Terms, Vec<Fact>)>,
    ) {
        let quest = ending.zip(opened).and_then(|(ending, opened)| Quest::past(opened, Some(ending), self.now()));
        self.goals.extend(quest.map(|quest| (case.clone(), quest)));
        if let Some((dossier, terms, facts)) = dossier {
            let (life, _) = Case::rebuild(terms, &facts, self.context());
            if matches!(life.stage(), crate::machine::Stage::Closed(..)) {
                self.cases.insert(case.clone(), Slot::new(life, Stage::Over(dossier)));
            }
        }
    }

    /// A case of an earlier epoch.
    fn revive(&mut self, case: &CaseId, past: Past, effects: &mut Effects) {
        let opened = past.pursued.clone();
        match past.reconstruct() {
            Reconstruction::Over(ending, opened, dossier) => self.remember(case, ending, opened.as_ref(), dossier),
            Reconstruction::Open(dossier, terms, facts) => {
                // Its plan goes the way that people decide; the planner that would have answered is gone.
                if let Some(mut quest) = opened.and_then(|o| Quest::past(&o, Some(Ending::Abandoned), self.now())) {
                    quest.closed = None;
                    self.goals.insert(case.clone(), quest);
                    let interrupted = json!({"interrupted": INTERRUPTED});
                    effects.entries.push(record::entry(RecordKind::Planner, case, self.now(), interrupted));
                }
                let pending = terms.decision == Decision::RequireApproval;
                let (life, output) = Case::rebuild(terms, &facts, self.context());
                let stage = if pending { Stage::Reviewed(Reviewed::new(*dossier)) } else { Stage::Over(dossier) };
                self.cases.insert(case.clone(), Slot::new(life, stage));
                self.carry(case, output, Note::of("the monitor was started again"), effects);
            }
            Reconstruction::Waiting(opened, waiting) => {
                if self.wait_on(case, &opened, *waiting, effects).is_none() {
                    self.lose(case, Cause::Ledger, "what it asked of people cannot be read", Some(&opened), effects);
                }
            }
            Reconstruction::Lost(cause, why) => self.lose(case, cause, &why, opened.as_ref(), effects),
        }
    }

    /// A case that did not end and cannot go on.
    fn lose(&mut self, case: &CaseId, cause: Cause, why: &str, opened: Option<&Value>, effects: &mut Effects) {
        for (fact, key) in [(Fact::Halted(cause), "message"), (Fact::Closed(Ending::Halted), "detail")] {
            let (kind, payload) = record::write(&fact, [(key.to_owned(), json!(why))].into_iter().collect());
            effects.entries.push(record::entry(kind, case, self.now(), payload));
        }
        self.remember(case, Some(Ending::Halted), opened, None);
    }
}

impl History {
    fn take(&mut self, record: Record) -> Result<(), &'static str> {
        let Record { leaf, payload } = record;
        self.last = self.last.max(Some(leaf.at));
        if leaf.kind == RecordKind::Label {
            // What the house keeps of cases that were erased is none of a case's life.
            return Ok(());
        }
        let payload = match payload {
            Payload::Open(payload) => payload,
            Payload::Damaged => return Err("its payload is damaged"),
            Payload::Sealed | Payload::Erased => {
                if let Some(case) = leaf.case {
                    self.cases.entry(case).or_default().hide();
                }
                return Ok(());
            }
        };
        if let Some(case) = leaf.case {
            return self.case(case, leaf.kind, payload);
        }
        match leaf.kind {
            RecordKind::Boot => {
                let epoch = payload.get("epoch").and_then(Value::as_u64).ok_or("it names no boot epoch")?;
                self.epoch = self.epoch.max(epoch);
            }
            RecordKind::ApproverEnrolled => {
                self.nonce(&payload);
                self.approver(&payload)?;
            }
            RecordKind::TrustGranted => self.nonce(&payload),
            RecordKind::HaltAll
            | RecordKind::CaseOpened
            | RecordKind::Proposal
            | RecordKind::Decision
            | RecordKind::Approval
            | RecordKind::Denial
            | RecordKind::Countersignature
            | RecordKind::Permit
            | RecordKind::Intent
            | RecordKind::Outcome
            | RecordKind::Compensation
            | RecordKind::CaseClosed
            | RecordKind::RunEnded
            | RecordKind::Planner
            | RecordKind::Answer
            | RecordKind::CaseHalted
            | RecordKind::Critical
            | RecordKind::Alert
            | RecordKind::KeyRotated
            | RecordKind::Label
            | RecordKind::Erased
            | RecordKind::Config => {}
        }
        Ok(())
    }

    fn case(&mut self, case: CaseId, kind: RecordKind, payload: Value) -> Result<(), &'static str> {
        if matches!(kind, RecordKind::Approval | RecordKind::Denial | RecordKind::Erased) {
            self.nonce(&payload);
        }
        let mut closes = false;
        let past = self.cases.entry(case.clone()).or_default();
        match kind {
            RecordKind::Proposal => past.propose(payload),
            RecordKind::CaseOpened => past.open(payload),
            RecordKind::Planner => past.planner(&payload),
            RecordKind::Approval if payload.get("extended").is_some() => past.extend(&payload),
            _ => {
                if kind == RecordKind::CaseClosed {
                    past.close(&payload);
                    closes = true;
                }
                if let Some(fact) = record::read(kind, &payload)? {
                    past.add(fact, payload);
                }
            }
        }
        if closes {
            self.ended.push_back(case);
            // Of what ended long ago the ledger tells, and not this memory.
            if self.ended.len() > KEPT
                && let Some(past) = self.ended.pop_front().and_then(|case| self.cases.get_mut(&case))
            {
                past.forget();
            }
        }
        Ok(())
    }

    /// An approver's key, enrolled or retired.
    fn approver(&mut self, payload: &Value) -> Result<(), &'static str> {
        if let Some(key) = payload.get("retired") {
            let key: PublicKey =
                serde_json::from_value(key.clone()).map_err(|_| "it retires no key that can be read")?;
            self.approvers.retain(|approver| approver.key != key);
            return Ok(());
        }
        let approver = payload.get("approver").cloned().unwrap_or(Value::Null);
        let approver: Approver = serde_json::from_value(approver).map_err(|_| "it enrols nobody that can be read")?;
        let by = payload.get("enrolled_by").and_then(Value::as_str).and_then(|by| by.parse().ok());
        let by = by.ok_or("it does not say from which user the key was enrolled")?;
        self.origins.push(Enrolled { owner: approver.principal.clone(), by });
        self.approvers.push(approver);
        Ok(())
    }

    /// What somebody signed counts once, also after a restart.
    fn nonce(&mut self, payload: &Value) {
        let word = |key: &str| payload.get(key).and_then(Value::as_str);
        if let (Some(Ok(by)), Some(nonce)) = (word("by").map(str::parse), word("nonce")) {
            self.nonces.insert((by, nonce.to_owned()));
        }
    }
}

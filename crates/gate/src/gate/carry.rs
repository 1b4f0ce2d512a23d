//! From what the core states and orders to records and directives: where signatures are made and stages change.

use countersign_ledger::RecordKind;
use countersign_plan::digest::Digest;
use countersign_plan::id::{CaseId, StepId};
use countersign_plan::observation::Observation;
use countersign_plan::permit::{Claims, Phase};
use countersign_plan::saga::{Fate, TakeBack, Undo, take_back};
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Code;
use serde_json::{Map, Value, json};

use super::goal::kind_of_end;
use super::{Effects, Gate, Slot, Why};
use crate::case::{Counted, Leave, Stage};
use crate::confine::Confined;
use crate::directive::{Directive, Notice, RunStep};
use crate::machine::{self, Ending, Fact, Given, Input, Order, Output, Progress, Violation};
use crate::permit::{self, Permit};
use crate::record;

/// What is known of an input beyond what the core needs.
#[derive(Debug, Default)]
pub(super) struct Note {
    /// For people.
    pub(super) message: Option<String>,
    /// Members of the record of what a person signed.
    pub(super) signed: Map<String, Value>,
    /// The digest of an approval that was signed, and until when it says that it counts.
    pub(super) approval: Option<(Digest, Timestamp)>,
    /// What an attempt showed.
    pub(super) observation: Option<Box<Observation>>,
    /// The labels that an attempt left.
    pub(super) labels: Value,
    /// The sandbox and order of the attempt that is asked for.
    pub(super) confined: Option<Confined>,
    /// The nonce of a permit.
    pub(super) nonce: String,
    /// How far each step was when the input came.
    pub(super) progress: Vec<(StepId, Undo, Progress)>,
}

impl Note {
    pub(super) fn of(message: impl AsRef<str>) -> Self {
        Self { message: Some(record::quoted(message.as_ref())), ..Self::default() }
    }
}

impl Gate {
    /// Has the core take an input, and carries out what follows. Returns what the core answered a person.
    pub(super) fn step(
        &mut self,
        case: &CaseId,
        input: Input,
        mut note: Note,
        effects: &mut Effects,
    ) -> Option<machine::Unanswered> {
        let context = self.context();
        let slot = self.cases.get_mut(case)?;
        note.progress = progress(&slot.life);
        let output = slot.life.step(context, input);
        let unanswered = output.unanswered;
        let moved = matches!(
            (slot.life.stage(), &slot.stage),
            (machine::Stage::Running(_), Stage::Signed(_))
                | (
                    machine::Stage::Closed(..) | machine::Stage::Indeterminate { .. },
                    Stage::Reviewed(_) | Stage::Signed(_) | Stage::Running(_)
                )
        );
        if moved || output != Output::default() {
            self.carry(case, output, note, effects);
        }
        unanswered
    }

    pub(super) fn carry(&mut self, case: &CaseId, output: Output, mut note: Note, effects: &mut Effects) {
        let Some(mut slot) = self.cases.remove(case) else { return };
        let mut granted = None;
        for fact in &output.facts {
            if slot.why.is_none() {
                slot.why = why(fact, &note);
            }
            slot = self.state(case, slot, fact, &mut note, &mut granted, effects);
        }
        if let (Stage::Running(running), machine::Stage::Closed(..)) = (&slot.stage, slot.life.stage()) {
            let issued = running.permits.iter().map(|leave| leave.permit.digest()).collect();
            self.retired.insert(case.clone(), issued);
        }
        slot = settled(slot);
        for order in &output.orders {
            self.order(case, &mut slot, order, &mut note, &mut granted, effects);
        }
        for fact in &output.facts {
            if let (Fact::Closed(ending), Some(quest)) = (fact, self.goals.get_mut(case))
                && quest.core.over().is_some()
            {
                quest.closed = Some(*ending);
            }
            let goes_on = self.goals.get(case).is_some_and(|quest| quest.core.over().is_none());
            announce(case, &slot, fact, &note, goes_on, effects);
        }
        self.cases.insert(case.clone(), slot);
    }

    /// Records a fact, with what belongs to it.
    fn state(
        &self,
        case: &CaseId,
        mut slot: Slot,
        fact: &Fact,
        note: &mut Note,
        granted: &mut Option<Permit>,
        effects: &mut Effects,
    ) -> Slot {
        let now = self.now();
        let mut more = Map::new();
        let message = |note: &Note| note.message.as_ref().map_or(Value::Null, |message| json!(message));
        match fact {
            Fact::Reviewed => {
                let dossier = slot.stage.dossier();
                more.insert("verdict".to_owned(), json!(dossier.verdict));
                more.insert("steps".to_owned(), json!(dossier.steps));
                more.insert("eyes".to_owned(), json!(slot.life.terms().eyes.as_str()));
                more.insert("pending_until".to_owned(), json!(slot.life.terms().pending_until));
            }
            Fact::Approved { given, .. } => {
                more = std::mem::take(&mut note.signed);
                if let (Stage::Reviewed(reviewed), Some((digest, expires_at))) = (&mut slot.stage, note.approval) {
                    let Given { by, key, groups } = given.clone();
                    reviewed.approve(Counted { digest, by, key, groups, expires_at });
                    more.insert("expires_at".to_owned(), json!(expires_at));
                }
            }
            Fact::Withdrawn(key) => {
                if let Stage::Reviewed(reviewed) = &mut slot.stage {
                    reviewed.withdraw(key);
                }
                more.insert("message".to_owned(), message(note));
            }
            Fact::Denied(_) | Fact::Settled { .. } => more = std::mem::take(&mut note.signed),
            Fact::Countersigned(_) => {
                slot = self.countersign(slot);
                if let Stage::Signed(signed) = &slot.stage {
                    let dossier = signed.dossier();
                    more.insert("plan_digest".to_owned(), json!(dossier.digest));
                    more.insert("version".to_owned(), json!(dossier.plan.version));
                    more.insert("decision".to_owned(), json!(dossier.decision()));
                    more.insert("approvals".to_owned(), json!(dossier.approval_digests()));
                    more.insert("key".to_owned(), json!(self.key.public()));
                    more.insert("envelope".to_owned(), envelope(&signed.signed().envelope.to_json()));
                }
            }
            Fact::Permitted { permit, step, .. } => {
                slot.stage.begin(Some(step));
                if let Some(claims) = self.grant(&mut slot, *permit, fact, note, granted) {
                    more.insert("claims".to_owned(), json!(claims));
                }
            }
            Fact::Intended { permit, .. } => {
                if let Some(leave) = leave(&slot, *permit) {
                    more.insert("nonce".to_owned(), json!(leave.permit.claims.nonce));
                    more.insert("args_digest".to_owned(), json!(leave.permit.claims.args_digest));
                    more.insert("spec_digest".to_owned(), json!(leave.permit.claims.spec_digest));
                }
            }
            Fact::Outcome { .. } => {
                more.insert("labels".to_owned(), std::mem::take(&mut note.labels));
                if let Some(seen) = &note.observation {
                    more.insert("observation".to_owned(), record::recordable(&json!(seen)));
                }
                if note.message.is_some() {
                    more.insert("message".to_owned(), message(note));
                }
                if let Stage::Running(running) = &mut slot.stage {
                    let enforcement = running.enforcement.take().map_or(Value::Null, |e| record::recordable(&e));
                    more.insert("enforcement".to_owned(), enforcement);
                }
            }
            Fact::Critical(_) | Fact::Halted(_) => {
                slot.stage.begin(None);
                more.insert("message".to_owned(), message(note));
            }
            Fact::Refused { .. } | Fact::Indeterminate { .. } | Fact::Stray => {
                more.insert("message".to_owned(), message(note));
            }
            Fact::Closed(ending) => more = account(*ending, note, slot.why.as_ref()),
        }
        let (mut kind, payload) = record::write(fact, more);
        if let Fact::Closed(_) = fact {
            kind = kind_of_end(self.goals.get(case));
        }
        effects.entries.push(record::entry(kind, case, now, payload));
        slot
    }

    /// The signature, over what was shown, if the core says that it is due.
    fn countersign(&self, slot: Slot) -> Slot {
        let Slot { life, stage, why } = slot;
        let stage = match stage {
            Stage::Reviewed(reviewed) => match reviewed.admit(&life) {
                Ok(approved) => Stage::Signed(approved.countersign(&self.key)),
                Err(reviewed) => Stage::Reviewed(reviewed),
            },
            other @ (Stage::Signed(_) | Stage::Running(_) | Stage::Over(_)) => other,
        };
        Slot { life, stage, why }
    }

    /// Mints a permit that the core issued.
    fn grant(
        &self,
        slot: &mut Slot,
        number: u32,
        fact: &Fact,
        note: &mut Note,
        granted: &mut Option<Permit>,
    ) -> Option<Claims> {
        let Fact::Permitted { step, phase, expires_at, .. } = fact else { return None };
        let confined = note.confined.take()?;
        let dossier = slot.stage.dossier();
        let tool = confined.order.tool.clone();
        let claims = Claims {
            case: dossier.plan.case.clone(),
            plan_digest: dossier.digest,
            version: dossier.plan.version,
            step: step.clone(),
            attempt: 1,
            phase: *phase,
            tool_digest: *dossier.plan.tools.get(&tool)?,
            tool,
            args_digest: countersign_plan::canonical::digest(&confined.order.args),
            spec_digest: confined.spec.digest().ok()?,
            epoch: self.epoch,
            issued_at: self.now(),
            expires_at: *expires_at,
            nonce: note.nonce.clone(),
        };
        let (minted, permit) = permit::mint(&self.key, &slot.life, number, claims.clone())?;
        if let Stage::Running(running) = &mut slot.stage {
            running.permits.push(Leave { permit: minted, confined });
            *granted = Some(permit);
        }
        Some(claims)
    }

    fn order(
        &self,
        case: &CaseId,
        slot: &mut Slot,
        order: &Order,
        note: &mut Note,
        granted: &mut Option<Permit>,
        effects: &mut Effects,
    ) {
        let case = case.clone();
        let directive = match order {
            Order::Start => {
                let Stage::Signed(signed) = &slot.stage else { return };
                Directive::StartExecutor {
                    case,
                    plan: Box::new(signed.signed().clone()),
                    gate: self.key.public(),
                    epoch: self.epoch,
                    now: self.now(),
                    undo: signed.dossier().undo(),
                }
            }
            Order::Grant(_) => match granted.take() {
                Some(permit) => Directive::GrantPermit { case, permit },
                None => Directive::RefuseExecutor {
                    case,
                    code: Code::InternalError,
                    message: "the permit could not be made".to_owned(),
                },
            },
            Order::Refuse(code) => {
                let message = note.message.clone().unwrap_or_else(|| code.meaning().to_owned());
                Directive::RefuseExecutor { case, code: *code, message }
            }
            Order::Run(number) => {
                let Some(leave) = leave(slot, *number) else { return };
                Directive::RunStep(Box::new(RunStep {
                    case,
                    permit: leave.permit.envelope.clone(),
                    spec: leave.confined.spec.clone(),
                    order: leave.confined.order.clone(),
                    now: self.now(),
                    deadline: leave.permit.claims.expires_at,
                }))
            }
            Order::Tell => match (attempt(effects, &case), note.observation.clone()) {
                (Some(step), Some(observation)) => Directive::Observed { case, step, observation },
                (None | Some(_), _) => return,
            },
            Order::Stop { cause, compensate } => {
                let reason = note.message.clone().unwrap_or_else(|| cause.as_str().to_owned());
                Directive::HaltExecutor { case, reason, compensate: *compensate }
            }
            Order::KillStep => Directive::KillStep { case },
            Order::KillExecutor => Directive::KillExecutor { case },
            Order::Alert(violation) => Directive::Alert { case: Some(case), message: critical(*violation, note) },
        };
        effects.directives.push(directive);
    }
}

/// The stage as the core has it now: a run begins, an end drops every credential of the case.
fn settled(slot: Slot) -> Slot {
    let Slot { life, stage, why } = slot;
    let stage = match (life.stage(), stage) {
        (machine::Stage::Running(_), Stage::Signed(signed)) => match signed.run(&life) {
            Ok(running) => Stage::Running(Box::new(running)),
            Err(signed) => Stage::Signed(signed),
        },
        (machine::Stage::Indeterminate { .. } | machine::Stage::Closed(..), stage) => stage.over(),
        (
            machine::Stage::Pending(_) | machine::Stage::Countersigned(_) | machine::Stage::Running(_),
            stage @ (Stage::Reviewed(_) | Stage::Signed(_) | Stage::Running(_) | Stage::Over(_)),
        ) => stage,
    };
    Slot { life, stage, why }
}

/// The step whose outcome was recorded last for the case.
fn attempt(effects: &Effects, case: &CaseId) -> Option<StepId> {
    let outcome = |entry: &&countersign_ledger::Entry| {
        entry.case.as_ref() == Some(case) && matches!(entry.kind, RecordKind::Outcome | RecordKind::Compensation)
    };
    let entry = effects.entries.iter().rev().find(outcome)?;
    entry.payload.get("step")?.as_str()?.parse().ok()
}

pub(super) fn leave(slot: &Slot, number: u32) -> Option<&Leave> {
    let Stage::Running(running) = &slot.stage else { return None };
    running.permits.get(usize::try_from(number).ok()?)
}

/// An envelope as a record shows it: the JSON itself.
pub(super) fn envelope(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or(Value::Null)
}

fn critical(violation: Violation, note: &Note) -> String {
    match &note.message {
        Some(message) => format!("separation violation ({}): {message}", violation.as_str()),
        None => format!("separation violation ({})", violation.as_str()),
    }
}

/// Why a case stops, where this fact is what stops it.
fn why(fact: &Fact, note: &Note) -> Option<Why> {
    let message = |other: &str| note.message.clone().unwrap_or_else(|| other.to_owned());
    let (code, step, message) = match fact {
        Fact::Refused { step, code, .. } => (*code, Some(step.clone()), message(code.meaning())),
        Fact::Outcome { step, phase: Phase::Snapshot | Phase::Act, fate } if *fate != Fate::Held => {
            let code = if matches!(fate, Fate::Missed) { Code::RunMismatch } else { Code::RunFailed };
            (code, Some(step.clone()), message(code.meaning()))
        }
        Fact::Critical(violation) => (Code::SeparationViolation, None, critical(*violation, note)),
        Fact::Indeterminate { step, .. } => {
            (Code::RunIndeterminate, Some(step.clone()), message(Code::RunIndeterminate.meaning()))
        }
        Fact::Halted(cause) => {
            let code = if *cause == machine::Cause::Expiry { Code::RunExpired } else { Code::RunHalted };
            let word = cause.as_str().replace('_', " ");
            (code, None, note.message.as_ref().map_or_else(|| word.clone(), |message| format!("{word}: {message}")))
        }
        Fact::Denied(by) => (Code::ApprovalDenied, None, message(&format!("denied by {by}"))),
        Fact::Closed(Ending::Expired) => (Code::RunExpired, None, "nobody answered or began in time".to_owned()),
        Fact::Reviewed
        | Fact::Approved { .. }
        | Fact::Withdrawn(_)
        | Fact::Countersigned(_)
        | Fact::Permitted { .. }
        | Fact::Intended { .. }
        | Fact::Outcome { .. }
        | Fact::Settled { .. }
        | Fact::Stray
        | Fact::Closed(_) => return None,
    };
    Some(Why { code, step, message })
}

/// What was done, what was taken back and what stands, and why it stopped, for the record of the end.
fn account(ending: Ending, note: &Note, why: Option<&Why>) -> Map<String, Value> {
    let mut account = Map::new();
    if let Some(message) = &note.message {
        account.insert("detail".to_owned(), json!(message));
    }
    // In clear, so without words: those are in the sealed record of what stopped it.
    if let Some(why) = why.filter(|_| ending != Ending::Completed) {
        account.insert("why".to_owned(), json!({"code": why.code, "step": why.step}));
    }
    if note.progress.is_empty() {
        return account;
    }
    let (mut done, mut undone, mut standing) = (Vec::new(), Vec::new(), Vec::new());
    for (step, undo, progress) in &note.progress {
        match progress {
            Progress::Waiting | Progress::Kept => {}
            Progress::Undone => undone.push(step),
            Progress::Acted(fate) => {
                if *fate == Fate::Held {
                    done.push(step);
                }
                if ending != Ending::Completed && take_back(*undo, *fate) != TakeBack::Skip {
                    standing.push(step);
                }
            }
        }
    }
    account.insert("done".to_owned(), json!(done));
    account.insert("undone".to_owned(), json!(undone));
    account.insert("standing".to_owned(), json!(standing));
    account
}

/// How far each step of a run is.
fn progress(life: &machine::Case) -> Vec<(StepId, Undo, Progress)> {
    let machine::Stage::Running(run) = life.stage() else { return Vec::new() };
    let steps = life.terms().steps.iter().zip(&run.steps);
    steps.map(|((step, undo), progress)| (step.clone(), *undo, *progress)).collect()
}

/// Tells who watches.
fn announce(case: &CaseId, slot: &Slot, fact: &Fact, note: &Note, goes_on: bool, effects: &mut Effects) {
    let detail = note.message.clone().unwrap_or_default();
    let stage = slot.life.stage().name();
    let notice = match fact {
        Fact::Reviewed | Fact::Approved { .. } | Fact::Withdrawn(_) | Fact::Indeterminate { .. } => {
            Notice::Stage { stage, detail }
        }
        Fact::Countersigned(_) => Notice::Stage { stage, detail: "the gate signed".to_owned() },
        Fact::Refused { step, code, .. } => {
            Notice::Stage { stage, detail: format!("no leave for step {step}: {code}: {detail}") }
        }
        Fact::Outcome { step, phase, .. } => match note.observation.clone() {
            Some(observation) => Notice::StepEnded { step: step.clone(), phase: *phase, observation },
            None => return,
        },
        Fact::Critical(violation) => Notice::Critical { message: critical(*violation, note) },
        Fact::Closed(ending) => {
            let mut report = closing(*ending, case, effects);
            if let (Some(told), Some(why)) = (report.get_mut("why"), &slot.why) {
                *told = json!(why);
            }
            let version = slot.stage.dossier().plan.version;
            if goes_on { Notice::RunEnded { version, stage, report } } else { Notice::Ended { stage, report } }
        }
        Fact::Denied(_)
        | Fact::Permitted { .. }
        | Fact::Intended { .. }
        | Fact::Halted(_)
        | Fact::Settled { .. }
        | Fact::Stray => return,
    };
    effects.directives.push(Directive::Notify { case: case.clone(), notice });
}

fn closing(ending: Ending, case: &CaseId, effects: &Effects) -> Value {
    let closed = |entry: &&countersign_ledger::Entry| {
        entry.case.as_ref() == Some(case) && matches!(entry.kind, RecordKind::CaseClosed | RecordKind::RunEnded)
    };
    effects.entries.iter().rev().find(closed).map_or_else(|| json!({"ending": ending.as_str()}), |e| e.payload.clone())
}

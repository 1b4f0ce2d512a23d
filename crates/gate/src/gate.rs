//! The gate: one event in, one transition out.
//!
//! Each event is answered in the same way: what it says is checked (signatures, digests, arguments), the core decides
//! ([`crate::machine`]), and what the core states and orders is given its content here: records, signed bytes, messages.

mod boot;
pub(crate) mod budget;
mod carry;
mod goal;
mod people;
mod revision;
mod run;
mod submit;

use std::collections::{BTreeMap, BTreeSet};

use countersign_ledger::{Entry, RecordKind};
use countersign_plan::approval::Approver;
use countersign_plan::digest::Digest;
use countersign_plan::id::{CaseId, Principal, StepId};
use countersign_plan::key::PublicKey;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Code;
use countersign_policy::facts::Facts;
use serde::Serialize;
use serde_json::json;

use crate::case::{Stage, Summary};
use crate::clock::{Clock, Moment, Reading};
use crate::configuration::Settings;
use crate::directive::Directive;
use crate::event::Event;
use crate::key::GateKey;
use crate::machine::{self, Cause, Context, Input, Violation};
use crate::record;
use crate::transition::Transition;

pub use boot::BootError;
use goal::Quest;
pub(crate) use submit::terms;

/// Closed cases that are kept in memory, to be shown and revised; older ones are in the ledger only.
const KEPT: usize = 128;

/// Most cases that are open at once: what waits for people waits in memory.
const MOST_OPEN: usize = 256;

/// 32 bytes that nobody can guess, fresh for each event: nonces and case ids are derived from them.
pub type Entropy = [u8; 32];

/// What a transition may know of the world besides its event.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// Both clocks, read when the event arrived.
    pub moment: Moment,
    /// Fresh random bytes.
    pub entropy: Entropy,
    /// What the machine says, for the principal that the event is about.
    pub facts: &'a dyn Facts,
    /// Microseconds since the event arrived: recorded as the time that a decision took.
    pub elapsed: &'a dyn Fn() -> u64,
}

impl std::fmt::Debug for Outside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside").field("moment", &self.moment).finish_non_exhaustive()
    }
}

impl Outside<'_> {
    /// A name that nobody can guess, for one use of this event.
    fn nonce(&self, purpose: &str) -> String {
        Digest::of_parts(&[b"countersign nonce\0", &self.entropy, purpose.as_bytes()]).hex().chars().take(32).collect()
    }
}

/// The reference monitor.
#[derive(Debug)]
pub struct Gate {
    settings: Settings,
    key: GateKey,
    clock: Clock,
    epoch: u64,
    approvers: Vec<Approver>,
    /// From which user each key was ever enrolled: a key that was retired still tells who may stand behind its owner's name.
    origins: Vec<Enrolled>,
    cases: BTreeMap<CaseId, Slot>,
    /// The cases that were opened for a goal; versions of their plans are in `cases`.
    goals: BTreeMap<CaseId, Quest>,
    /// The order in which cases ended, to forget the oldest.
    ended: Vec<CaseId>,
    /// What the permits of the cases that ended were, to tell a late use from a forged one.
    retired: BTreeMap<CaseId, Vec<Digest>>,
    /// Nonces of everything that people signed: none counts twice.
    nonces: BTreeSet<(Principal, String)>,
    /// Set for good once the record failed.
    dead: bool,
}

/// Whose key was enrolled from which user.
#[derive(Debug)]
struct Enrolled {
    owner: Principal,
    by: Principal,
}

/// A case: what the core says about it, and what is kept of it.
#[derive(Debug)]
struct Slot {
    life: machine::Case,
    stage: Stage,
    /// Why it stops, once something stopped it: the first such thing.
    why: Option<Why>,
}

/// What stopped a case.
#[derive(Debug, Clone, Serialize)]
struct Why {
    code: Code,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<StepId>,
    message: String,
}

impl Slot {
    const fn new(life: machine::Case, stage: Stage) -> Self {
        Self { life, stage, why: None }
    }

    const fn is_closed(&self) -> bool {
        matches!(self.life.stage(), machine::Stage::Closed(..))
    }
}

/// What a transition is made of while it is put together.
#[derive(Debug, Default)]
struct Effects {
    entries: Vec<Entry>,
    directives: Vec<Directive>,
}

impl Effects {
    fn into_transition(self) -> Transition {
        Transition::new(self.entries, self.directives)
    }
}

impl Gate {
    /// Takes an event.
    pub fn handle(&mut self, event: Event, outside: Outside<'_>) -> Transition {
        let mut effects = Effects::default();
        if self.dead {
            self.refuse_dead(&event, &mut effects);
            return effects.into_transition();
        }
        // What the time that passed means comes first; then the event is judged at that time.
        if let Reading::SetBack(by) = self.clock.read(outside.moment) {
            let message = format!("the wall clock was set back by {by}; every running case is halted");
            let payload = json!({"clock_set_back": by, "message": message});
            effects.entries.push(record::general(RecordKind::Alert, self.now(), payload));
            effects.directives.push(Directive::Alert { case: None, message });
            self.step_all(&Input::Halt(Cause::Clock), &mut effects);
        }
        self.step_all(&Input::Tick, &mut effects);
        self.tick_goals(&mut effects);
        match event {
            Event::Tick => {}
            Event::OpenGoal(goal) => self.open_goal(*goal, outside, &mut effects),
            Event::Planner { case, did } => self.planner(&case, did, &mut effects),
            Event::BudgetSpent { case, shortage, message } => {
                self.budget_spent(&case, shortage, &message, &mut effects);
            }
            Event::PlannerEnded { case, reason } => self.planner_ended(&case, &reason, &mut effects),
            Event::PlannerViolation { case, message } => {
                self.separation_violation(&case, Violation::Planner, &message, &mut effects);
            }
            Event::InspectorViolation { case, message } => {
                self.separation_violation(&case, Violation::Inspector, &message, &mut effects);
            }
            Event::InspectorFailed { case, message } => self.inspector_failed(case, &message, &mut effects),
            Event::Submit(submission) => self.submit(*submission, outside, &mut effects),
            Event::Answer(envelope) => self.answer(&envelope, &mut effects),
            Event::Extend(envelope) => self.extend(&envelope, &mut effects),
            Event::Settle(envelope) => self.settle(&envelope, &mut effects),
            Event::Halt { case, reason } => self.halt(case, &reason, &mut effects),
            Event::Enroll { approver, by, envelope } => self.enroll(approver, by, envelope.as_ref(), &mut effects),
            Event::Retire(envelope) => self.retire(&envelope, &mut effects),
            Event::Trust(envelope) => self.trust(&envelope, &mut effects),
            Event::Erase { envelope, relics, kept } => self.erase(&envelope, &relics, &kept, &mut effects),
            Event::Rotate(key) => self.rotate(key, &mut effects),
            Event::Executor { case, said } => self.executor(&case, said, outside, &mut effects),
            Event::ExecutorViolation { case, message } => self.executor_offended(&case, &message, &mut effects),
            Event::ExecutorLost { case, reason } => self.executor_lost(&case, &reason, &mut effects),
            Event::StepStarted { case, enforcement } => self.step_started(&case, enforcement, &mut effects),
            Event::StepObserved { case, observation, labels } => {
                self.step_observed(&case, observation, labels, &mut effects);
            }
            Event::StepRefused { case, violation, message } => {
                self.step_refused(&case, violation, &message, &mut effects);
            }
            Event::StepLost { case, reason } => self.step_lost(&case, &reason, &mut effects),
            Event::Broker { case, alert, message } => self.broker_said(case, alert, &message, &mut effects),
            Event::LedgerFailed => self.ledger_failed(&mut effects),
        }
        self.forget();
        effects.into_transition()
    }

    /// The boot epoch.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The public key that signs now.
    #[must_use]
    pub const fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    /// Gate time at the last event.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The enrolled approvers.
    #[must_use]
    pub fn approvers(&self) -> &[Approver] {
        &self.approvers
    }

    /// A case that the gate still holds.
    #[must_use]
    pub fn case(&self, case: &CaseId) -> Option<Summary> {
        let quest = self.goals.get(case);
        let Some(slot) = self.cases.get(case) else { return self.goal_summary(case) };
        let mut summary = slot.summary();
        if let Some(quest) = quest {
            summary.pursued = true;
            summary.extra = quest.extra;
            if quest.closed.is_some() || !machine::is_active(Some(slot.life.stage())) {
                summary.stage = quest.stage();
                summary.pending_until = quest.core.waits();
                summary.asks = quest.asks().cloned();
            }
        }
        Some(summary)
    }

    /// All cases that the gate still holds: the open ones, and the latest that ended.
    pub fn cases(&self) -> impl Iterator<Item = Summary> {
        let names: BTreeSet<&CaseId> = self.cases.keys().chain(self.goals.keys()).collect();
        names.into_iter().filter_map(|case| self.case(case))
    }

    /// Why no further case may be opened, if so.
    fn too_many(&self) -> Option<String> {
        let slots = self.cases.values().filter(|slot| machine::is_active(Some(slot.life.stage()))).count();
        let goals =
            self.goals.iter().filter(|(case, quest)| quest.closed.is_none() && !machine::is_active(self.version(case)));
        let open = slots + goals.count();
        (open >= MOST_OPEN).then(|| format!("{open} cases are open; some have to end or expire first"))
    }

    const fn context(&self) -> Context {
        Context { now: self.clock.now(), epoch: self.epoch }
    }

    /// The same input to every case; what follows is recorded as if it had come to each alone.
    fn step_all(&mut self, input: &Input, effects: &mut Effects) {
        let cases: Vec<CaseId> = self.cases.keys().cloned().collect();
        for case in cases {
            self.step(&case, input.clone(), carry::Note::default(), effects);
        }
    }

    fn ledger_failed(&mut self, effects: &mut Effects) {
        self.dead = true;
        let mut halted = Effects::default();
        self.step_all(&Input::Halt(Cause::Ledger), &mut halted);
        let goals: Vec<CaseId> = self.goals.keys().cloned().collect();
        for case in goals {
            self.end_goal(&case, machine::Ending::Halted, "nothing can be recorded any more", &mut halted);
        }
        // Nothing can be recorded any more: only what stops things is done.
        let stops = |directive: &Directive| {
            matches!(
                directive,
                Directive::KillExecutor { .. }
                    | Directive::KillStep { .. }
                    | Directive::EndPlanner { .. }
                    | Directive::Alert { .. }
                    | Directive::Notify { .. }
            )
        };
        effects.entries.clear();
        effects.directives = halted.directives.into_iter().filter(stops).collect();
        let message = "the ledger cannot be written: all is halted until the monitor is started again".to_owned();
        effects.directives.push(Directive::Alert { case: None, message });
    }

    /// Whether nothing of a case is under way or waits: it ended, or nobody here knows it, which is so of none that is open.
    fn is_over(&self, case: &CaseId) -> bool {
        let answered = self.goals.get(case).is_none_or(|quest| quest.closed.is_some());
        answered && self.cases.get(case).is_none_or(Slot::is_closed)
    }

    fn drop_case(&mut self, case: &CaseId) {
        self.cases.remove(case);
        self.goals.remove(case);
        self.retired.remove(case);
    }

    /// Closed cases are kept for a while.
    fn forget(&mut self) {
        let cases = self.cases.keys().chain(self.goals.keys());
        let fresh = cases.filter(|case| self.is_over(case) && !self.ended.contains(case));
        let fresh: BTreeSet<CaseId> = fresh.cloned().collect();
        self.ended.extend(fresh);
        while self.ended.len() > KEPT {
            let oldest = self.ended.remove(0);
            // One that was revised since is open again.
            if self.cases.get(&oldest).is_none_or(Slot::is_closed) {
                self.drop_case(&oldest);
            }
        }
    }
}

impl Slot {
    fn summary(&self) -> Summary {
        let dossier = self.stage.dossier();
        let waits = matches!(self.life.stage(), machine::Stage::Pending(_));
        Summary {
            case: dossier.plan.case.clone(),
            stage: self.life.stage().name(),
            requester: dossier.plan.principal.clone(),
            agent: dossier.plan.agent.clone(),
            goal: dossier.goal.clone(),
            pursued: false,
            version: dossier.plan.version,
            plan_digest: Some(dossier.digest),
            plan: dossier.bytes.clone(),
            verdict: Some(dossier.verdict.clone()),
            approvals: dossier.approvals.iter().map(|approval| approval.by.clone()).collect(),
            pending_until: waits.then(|| self.life.terms().pending_until),
            asks: None,
            extra: countersign_plan::budget::Extra::default(),
            origin: dossier.origin.clone(),
            cwd: dossier.plan.cwd.clone(),
        }
    }
}

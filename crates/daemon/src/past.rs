//! What agents did before, for the decisions about what they propose next: labels that earlier work left, and habits.
//!
//! One fold over records: the entries of each transition as they are made, and the same entries again when the monitor starts on its
//! ledger. So what is known after a restart is what was known before, and each decision finds it ready. Whatever a record should have
//! told and does not counts as the worst: written by anybody, read by nobody.
//!
//! Labels of resources are the machine's: whoever wrote a file, its label goes with it. What was seen belongs to who saw it: the
//! planner of one goal, or everything that a user's outside agents propose. Those name themselves, and a name is no border.

mod erased;
mod labels;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use countersign_gate::configuration::Configuration;
use countersign_gate::event::Submission;
use countersign_habit::history::History;
use countersign_ledger::RecordKind;
use countersign_plan::access::{Access, Resource};
use countersign_plan::deed::Deed;
use countersign_plan::digest::Digest;
use countersign_plan::id::{CaseId, Principal, StepId, ToolName};
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::Phase;
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::tool::TargetKind;
use countersign_plan::verdict::Code;
use countersign_policy::deployment::is_path_kind;
use countersign_policy::flow::{Label, Level, Session, Setting};
use countersign_policy::history::deed;
use serde_json::{Value, json};

use labels::{Labels, Left, split};

/// A user's outside agents that proposed nothing for so long begin anew. What they left in files and memory keeps its label.
const REST: Span = Span::from_secs(8 * 3600);

/// The longest account of what one action left that is recorded, in bytes; what is longer counts as unknown.
const LONGEST: usize = 256 << 10;

/// Who has seen what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Seat {
    /// The planner of the case of a goal. A new one starts clean.
    Planner(CaseId),
    /// The outside agents of a user.
    Agents(Principal),
}

/// What earlier work left.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Of resources.
    store: Labels,
    seats: HashMap<Seat, Seated>,
    /// By user, and whether a planner of ours proposes.
    habits: HashMap<(Principal, bool), Arc<History>>,
    cases: HashMap<CaseId, Case>,
    /// Drafts with crossing points of which a plan was let through.
    spent: HashSet<Digest>,
    /// Cases whose records were erased, while the ledger is read at the start.
    gone: HashSet<CaseId>,
}

#[derive(Debug, Default)]
struct Seated {
    labels: Labels,
    last: Option<Timestamp>,
}

/// A case that is open.
#[derive(Debug)]
struct Case {
    seat: Seat,
    requester: Principal,
    /// Nothing before its first plan.
    plan: Option<Planned>,
}

/// The plan of a case as far as it matters here.
#[derive(Debug)]
struct Planned {
    /// The labels that its review saw. What other cases write since is joined in, what it learns itself is not: its words were
    /// written before.
    session: Arc<Session>,
    cwd: String,
    touches: BTreeMap<StepId, Vec<Access>>,
    deed: Option<Deed>,
    draft: Option<Digest>,
    /// Whether people let a value of it pass.
    crosses: bool,
    /// Labels that the case itself replaced: what is taken back has them again.
    replaced: BTreeMap<String, Label>,
}

/// One record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) kind: RecordKind,
    pub(crate) case: Option<&'a CaseId>,
    pub(crate) at: Timestamp,
    /// None where it cannot be read any more.
    pub(crate) payload: Option<&'a Value>,
}

/// An action that was performed.
#[derive(Debug, Clone)]
pub(crate) struct Performed {
    pub(crate) configuration: Option<Arc<Configuration>>,
    pub(crate) phase: Phase,
    pub(crate) tool: ToolName,
    pub(crate) args: Value,
}

/// Finds the configuration of an origin.
pub(crate) type Configure<'a> = &'a mut dyn FnMut(&str) -> Option<Arc<Configuration>>;

impl Past {
    /// Whose proposal this is.
    pub(crate) fn seat(&self, submission: &Submission) -> Seat {
        let of = |case: &CaseId| self.cases.get(case).map(|case| case.seat.clone());
        let planner = submission.parent.as_ref().or(submission.revises.as_ref()).and_then(of);
        match planner {
            Some(seat @ Seat::Planner(_)) => seat,
            Some(Seat::Agents(_)) | None => Seat::Agents(submission.requester.clone()),
        }
    }

    /// The labels that count for a proposal from there.
    pub(crate) fn session(&self, seat: &Seat, now: Timestamp) -> Arc<Session> {
        Arc::new(self.together(seat, now).session())
    }

    /// The labels that count for the permits of a case.
    pub(crate) fn session_of(&self, case: &CaseId) -> Arc<Session> {
        let known = self.cases.get(case).and_then(|case| case.plan.as_ref()).map(|plan| Arc::clone(&plan.session));
        known.unwrap_or_else(|| Arc::new(Labels::unknown().session()))
    }

    /// What was done from there before.
    pub(crate) fn history(&self, seat: &Seat, requester: &Principal) -> Arc<History> {
        let key = (requester.clone(), matches!(seat, Seat::Planner(_)));
        self.habits.get(&key).cloned().unwrap_or_default()
    }

    fn together(&self, seat: &Seat, now: Timestamp) -> Labels {
        let rested = |seated: &&Seated| {
            matches!(seat, Seat::Planner(_)) || seated.last.is_none_or(|last| now.since(last) < REST)
        };
        self.seats
            .get(seat)
            .filter(rested)
            .map_or_else(Labels::default, |seated| seated.labels.clone())
            .over(&self.store)
    }

    /// What an action leaves behind, for the record of its outcome; null where that cannot be told. `real` follows links.
    pub(crate) fn left(
        &self,
        case: &CaseId,
        done: &Performed,
        seen: &Observation,
        now: Timestamp,
        real: &dyn Fn(&str) -> Option<String>,
    ) -> Value {
        if matches!(done.phase, Phase::Snapshot | Phase::Restore) {
            return json!({});
        }
        let (Some(configuration), Some(case)) = (&done.configuration, self.cases.get(case)) else { return Value::Null };
        let before = self.together(&case.seat, now);
        let deployment = &configuration.deployment;
        let setting = Setting { manifest: &configuration.manifest, deployment, planner: Level::Open };
        let mut session = before.session();
        session.observe(&setting, &done.tool, &done.args, &seen.output);
        let Some(after) = Labels::of(&session) else { return Value::Null };
        let mut left = Left::between(&before, &after);
        let names: Vec<String> = left.kept.keys().cloned().collect();
        for name in names {
            let Some(mut label) = left.kept.get(&name).copied() else { continue };
            // What was cut short may have left a part of what was there.
            if seen.ending != Ending::Returned {
                label = before.kept(&name).map_or(label, |old| label.join(old));
            }
            let (kind, path) = split(&name);
            let resolved = path.filter(|_| kind == Some(TargetKind::File)).and_then(real);
            // No better than what people said of the place: they may write there too, and nobody sees it.
            label = label.join(labels::class(deployment, kind, path.unwrap_or(&name), resolved.as_deref()));
            left.kept.insert(name, label);
            if let Some(resolved) = resolved {
                left.kept.insert(format!("file:{resolved}"), label);
            }
        }
        let left = serde_json::to_value(left).unwrap_or(Value::Null);
        if left.to_string().len() <= LONGEST { left } else { Value::Null }
    }

    /// Takes in a record.
    pub(crate) fn take(&mut self, told: Told<'_>, configure: Configure<'_>) {
        let Some(case) = told.case.filter(|case| !self.gone.contains(*case)) else { return };
        let Some(payload) = told.payload else { return self.unreadable(case, told.kind) };
        match told.kind {
            RecordKind::CaseOpened => self.opened(case, payload),
            RecordKind::Proposal => self.proposed(case, payload, told.at, configure),
            RecordKind::Decision => self.decided(case, payload),
            RecordKind::Countersignature => self.did(case),
            RecordKind::Outcome | RecordKind::Compensation => self.outcome(case, payload),
            RecordKind::CaseHalted if payload.get("indeterminate").is_some() => {
                self.forget_labels(case, step(payload).as_ref());
            }
            RecordKind::RunEnded => self.retire(case),
            RecordKind::Label => self.keep(case, payload),
            RecordKind::CaseClosed => {
                // What was only decided is what the agent goes on to do by itself.
                if payload.get("ending").and_then(Value::as_str) == Some("decided") {
                    self.did(case);
                }
                self.seats.remove(&Seat::Planner(case.clone()));
                self.cases.remove(case);
            }
            RecordKind::CaseHalted
            | RecordKind::Approval
            | RecordKind::Denial
            | RecordKind::Permit
            | RecordKind::Intent
            | RecordKind::Planner
            | RecordKind::Answer
            | RecordKind::Critical
            | RecordKind::Alert
            | RecordKind::Boot
            | RecordKind::HaltAll
            | RecordKind::KeyRotated
            | RecordKind::ApproverEnrolled
            | RecordKind::TrustGranted
            | RecordKind::Erased
            | RecordKind::Config => {}
        }
    }

    /// For whom the evaluator was asked, if a decision rests on its answer. One that was given before counts again: nobody is let off
    /// by a restart.
    pub(crate) fn evaluated(&self, told: &Told<'_>) -> Option<Principal> {
        let (RecordKind::Decision, Some(case), Some(payload)) = (told.kind, told.case, told.payload) else {
            return None;
        };
        let codes = [Code::EvaluatorHarmless, Code::EvaluatorDoubtful].map(Code::as_str);
        reasons(payload).find(|word| codes.contains(word))?;
        self.cases.get(case).map(|case| case.requester.clone())
    }

    fn opened(&mut self, case: &CaseId, payload: &Value) {
        let word = |key: &str| payload.get(key).and_then(Value::as_str);
        let Some(Ok(requester)) = word("requester").map(str::parse::<Principal>) else { return };
        let parent = word("parent").and_then(|parent| parent.parse().ok());
        let pursued = payload.get("pursued").and_then(Value::as_bool).unwrap_or(false);
        let seat = match parent {
            Some(parent) => Seat::Planner(parent),
            None if pursued => Seat::Planner(case.clone()),
            None => Seat::Agents(requester.clone()),
        };
        self.cases.insert(case.clone(), Case { seat, requester, plan: None });
    }

    fn proposed(&mut self, name: &CaseId, payload: &Value, at: Timestamp, configure: Configure<'_>) {
        let Some(plan) = payload.get("plan") else { return };
        // A case that ended is opened again by its next version.
        if !self.cases.contains_key(name) {
            let requester = plan.get("principal").and_then(Value::as_str).and_then(|name| name.parse().ok());
            let Some(requester) = requester else { return };
            let seat = Seat::Agents(Principal::clone(&requester));
            self.cases.insert(name.clone(), Case { seat, requester, plan: None });
        }
        let Some(seat) = self.cases.get(name).map(|case| case.seat.clone()) else { return };
        let labels = self.together(&seat, at);
        let session = Arc::new(labels.session());
        let seated = self.seats.entry(seat).or_default();
        seated.labels = labels.seen();
        seated.last = seated.last.max(Some(at));
        let origin = payload.get("origin").and_then(Value::as_str).and_then(configure);
        let (touches, deed) = work(plan, at, origin.as_deref());
        let draft = plan.get("draft_digest").and_then(Value::as_str).and_then(|digest| digest.parse().ok());
        let cwd = plan.get("cwd").and_then(Value::as_str).unwrap_or("/").to_owned();
        if let Some(case) = self.cases.get_mut(name) {
            case.plan = Some(Planned { session, cwd, touches, deed, draft, crosses: false, replaced: BTreeMap::new() });
        }
    }

    fn decided(&mut self, case: &CaseId, payload: &Value) {
        let Some(plan) = self.cases.get_mut(case).and_then(|case| case.plan.as_mut()) else { return };
        plan.crosses |= reasons(payload).any(|code| code == Code::FlowCrossed.as_str());
    }

    /// Drafts whose crossing points were used.
    pub(crate) const fn spent(&self) -> &HashSet<Digest> {
        &self.spent
    }

    /// The plan was let through: from now on it is a habit.
    fn did(&mut self, case: &CaseId) {
        let Some(case) = self.cases.get_mut(case) else { return };
        let Some(plan) = &mut case.plan else { return };
        self.spent.extend(plan.draft.filter(|_| plan.crosses));
        let Some(deed) = plan.deed.take() else { return };
        let key = (case.requester.clone(), matches!(case.seat, Seat::Planner(_)));
        Arc::make_mut(self.habits.entry(key).or_default()).push(deed);
    }

    fn retire(&mut self, case: &CaseId) {
        if let Some(case) = self.cases.get_mut(case) {
            case.plan = None;
        }
    }

    fn outcome(&mut self, case: &CaseId, payload: &Value) {
        let phase = payload.get("phase").and_then(Value::as_str);
        if matches!(phase, Some("restore" | "compensate")) {
            self.give_back(case);
        }
        if matches!(phase, Some("snapshot" | "restore")) {
            return;
        }
        let left = payload.get("labels").cloned().and_then(|left| serde_json::from_value::<Left>(left).ok());
        match left {
            Some(left) => self.learn(case, &left),
            None => self.forget_labels(case, step(payload).as_ref()),
        }
    }

    /// What a case overwrote is there again, as far as anybody knows.
    fn give_back(&mut self, name: &CaseId) {
        let plan = self.cases.get_mut(name).and_then(|case| case.plan.as_mut());
        let Some(kept) = plan.map(|plan| std::mem::take(&mut plan.replaced)) else { return };
        let kept = kept.into_iter().map(|(key, old)| {
            let now = self.store.kept(&key).map_or(old, |label| label.join(old));
            (key, now)
        });
        let left = Left { kept: kept.collect(), ..Left::default() };
        self.learn(name, &left);
    }

    fn learn(&mut self, name: &CaseId, left: &Left) {
        if let Some(case) = self.cases.get_mut(name) {
            let seated = self.seats.entry(case.seat.clone()).or_default();
            seated.labels.see(left);
            for key in left.kept.keys() {
                if let (Some(plan), Some(old)) = (&mut case.plan, self.store.kept(key)) {
                    plan.replaced.entry(key.clone()).and_modify(|label| *label = label.join(old)).or_insert(old);
                }
            }
        }
        self.store.keep(left);
        for (other, case) in &mut self.cases {
            let Some(plan) = case.plan.as_mut().filter(|_| other != name) else { continue };
            for (key, label) in &left.kept {
                if let (Some(kind), Some(name)) = split(key) {
                    Arc::make_mut(&mut plan.session).write(kind, name, *label, false);
                }
            }
        }
    }

    /// What a step did is not known: whatever it may have touched has the worst label, and so has what was seen of it.
    fn forget_labels(&mut self, name: &CaseId, step: Option<&StepId>) {
        let plan = self.cases.get(name).and_then(|case| case.plan.as_ref());
        let mut left = Left { read: Some(Label::TOP), ..Left::default() };
        let touches = plan.into_iter().flat_map(|plan| &plan.touches);
        let touches = touches.filter(|(id, _)| step.is_none_or(|step| *id == step)).flat_map(|(_, touches)| touches);
        for touch in touches.filter(|touch| !touch.effect.is_harmless()) {
            let Resource { kind, name, resolved, .. } = &touch.resource;
            for name in std::iter::once(name).chain(resolved) {
                let key = match (name.is_empty(), plan) {
                    (true, Some(plan)) => format!("file:{}", plan.cwd),
                    _ if is_path_kind(*kind) => format!("file:{name}"),
                    _ => format!("{kind}:{}", countersign_policy::paths::fold(name)),
                };
                left.kept.insert(key, Label::TOP);
            }
        }
        if plan.is_none() {
            left.rest = Some(Label::TOP);
        }
        self.learn(name, &left);
    }

    /// A record that nobody can read any more.
    fn unreadable(&mut self, case: &CaseId, kind: RecordKind) {
        match kind {
            RecordKind::Outcome | RecordKind::Compensation => self.forget_labels(case, None),
            RecordKind::Label => self.keep(case, &Value::Null),
            // Who ended it and how matters little; that it ended does.
            RecordKind::CaseClosed => drop(self.cases.remove(case)),
            _ => {}
        }
    }
}

/// The codes of a verdict's reasons.
fn reasons(payload: &Value) -> impl Iterator<Item = &str> {
    let reasons = payload.pointer("/verdict/reasons").and_then(Value::as_array).into_iter().flatten();
    reasons.filter_map(|reason| reason.get("code")?.as_str())
}

fn step(payload: &Value) -> Option<StepId> {
    payload.get("step").and_then(Value::as_str).and_then(|step| step.parse().ok())
}

/// What each step of a plan touches, and the plan as a deed.
fn work(
    plan: &Value,
    at: Timestamp,
    configuration: Option<&Configuration>,
) -> (BTreeMap<StepId, Vec<Access>>, Option<Deed>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let tools = list(plan.pointer("/draft/steps"));
    let tool = |id: &Value| -> Option<ToolName> {
        let step = tools.iter().find(|step| step.get("id") == Some(id))?;
        step.get("action")?.as_str()?.parse().ok()
    };
    let (mut touches, mut acts) = (BTreeMap::new(), Vec::new());
    for grant in list(plan.get("steps")) {
        let accesses = grant.get("accesses").cloned().unwrap_or_default();
        let accesses: Vec<Access> = serde_json::from_value(accesses).unwrap_or_default();
        let id = grant.get("id");
        acts.extend(id.and_then(tool).map(|tool| (tool, accesses.clone())));
        if let Some(Ok(id)) = id.and_then(Value::as_str).map(str::parse) {
            touches.insert(id, accesses);
        }
    }
    let steps = || acts.iter().map(|(tool, accesses)| (tool, accesses.as_slice()));
    let deed = configuration.map(|configuration| deed(at, steps(), &configuration.deployment));
    (touches, deed)
}

#[cfg(test)]
mod tests;

//! What the runs of a planner's plans showed, and the answer that is written from it by a fresh planner without tools.

use countersign_gate::directive::Notice;
use countersign_gate::event::{Event, PlannerDeed};
use countersign_plan::artifact::Plan;
use countersign_plan::id::{CaseId, StepId};
use countersign_plan::observation::Observation;
use countersign_plan::permit::Phase;
use countersign_policy::deployment::{Deployment, SecrecyLevel};
use countersign_policy::flow::{Label, Readers};
use countersign_wire::planner::{RunResult, to_planner};
use countersign_wire::propose::{CaseEvent, PlannerEvent as Told};
use serde_json::{Value, json};

use super::super::{Answer, State};
use super::protocol::{Protocol, Work};
use super::{Reading, Session, Shown, secrecy};

/// Observations that one planner is shown together, in bytes of JSON; further ones are named with their size.
const SHOWN: usize = 2 << 20;

impl Shown {
    /// Adds an observation.
    pub(super) fn add(&mut self, name: String, seen: &Observation, level: SecrecyLevel) {
        let size = serde_json::to_vec(seen).map_or(usize::MAX, |bytes| bytes.len());
        self.secrecy = self.secrecy.max(Some(level));
        let value = if self.bytes.saturating_add(size) <= SHOWN {
            self.bytes += size;
            serde_json::to_value(seen).unwrap_or_default()
        } else {
            json!({"ending": seen.ending, "output": {"left_out": format!("{size} bytes of output")}})
        };
        self.observations.push((name, value));
    }
}

impl Session {
    /// What the answer is written from: the runs, and what was read where nothing ran.
    fn results(&mut self) -> Vec<RunResult> {
        let mut results = std::mem::take(&mut self.results);
        let read = std::mem::take(&mut self.read);
        if results.is_empty() && !read.observations.is_empty() {
            results.push(RunResult {
                version: 0,
                stage: "completed".to_owned(),
                detail: "read while planning; nothing was done".to_owned(),
                observations: read.observations,
            });
        }
        results
    }
}

impl State {
    /// Something happened in the case that a planner works on.
    pub(super) fn run_notice(&mut self, case: &CaseId, notice: &Notice) {
        match notice {
            Notice::StepEnded { step, phase: Phase::Act, observation } => {
                let level = self.secrecy_of_step(case, step, &observation.output);
                if let Some(session) = self.plans.sessions.get_mut(case) {
                    session.shown.add(step.to_string(), observation, level);
                }
            }
            Notice::RunEnded { version, stage, report } => self.run_ended(case, *version, stage, report),
            Notice::Ended { .. } => drop(self.forget_planner(case)),
            Notice::StepEnded { .. } | Notice::Stage { .. } | Notice::StepStarted { .. } | Notice::Critical { .. } => {}
        }
    }

    /// A version of the plan is over: done, and the goal is answered; or not, and the planner hears how.
    fn run_ended(&mut self, case: &CaseId, version: u32, stage: &str, report: &Value) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        // A draft that was blocked was answered by its verdict.
        if session.protocol.awaits() != Some(super::protocol::Awaited::Run) {
            return;
        }
        let why = report.pointer("/why/message").or_else(|| report.get("detail")).and_then(Value::as_str);
        let shown = std::mem::take(&mut session.shown);
        if let Some(level) = shown.secrecy {
            session.secrecy = session.secrecy.max(level);
        }
        // What went wrong is told in words that may be anybody's.
        let (completed, level) = (stage == "completed", shown.secrecy.unwrap_or(SecrecyLevel::Public));
        if !completed {
            self.told(case, |deployment| secrecy::anybodys(level, deployment));
        }
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let result = RunResult {
            version,
            stage: stage.to_owned(),
            detail: why.unwrap_or(stage).to_owned(),
            observations: shown.observations,
        };
        session.results.push(result.clone());
        let result = serde_json::to_vec(&result).unwrap_or_default();
        self.tell_planner(case, to_planner::Kind::Ran(to_planner::Ran { result }));
        if completed {
            self.write_answer(case);
        }
    }

    /// The planner ends with words of its own. Where something was seen on the way, they are not the answer: that is written by
    /// one that has no tools and has read nothing else.
    pub(super) fn answered(&mut self, case: &CaseId, text: String) {
        let Some(session) = self.plans.sessions.get(case) else { return };
        let seen = !session.results.is_empty() || !session.read.observations.is_empty();
        if session.protocol.work() == Work::Draft && seen {
            return self.write_answer(case);
        }
        self.watchers.event(case, CaseEvent::Planner(Told::Answered { text: text.clone() }));
        self.event(Event::Planner { case: case.clone(), did: PlannerDeed::Answered { text } }, Answer::Nobody);
    }

    /// Replaces the planner of a case by a fresh one that only writes.
    fn write_answer(&mut self, case: &CaseId) {
        let Some(mut session) = self.forget_planner(case) else { return };
        match self.take_planner() {
            Ok(process) => session.process = process,
            Err(reason) => {
                return self.event(Event::PlannerEnded { case: case.clone(), reason }, Answer::Nobody);
            }
        }
        session.protocol = Protocol::new(Work::Answer);
        session.results = session.results();
        session.since = std::time::Instant::now();
        self.plans.sessions.insert(case.clone(), session);
        self.begin(case);
    }

    /// The label of what a read showed. What is not known is the worst (INV-4).
    pub(super) fn label_of_read(&mut self, reading: &Reading, seen: &Observation, level: SecrecyLevel) -> Label {
        let configuration = reading.case.as_ref().and_then(|child| self.present_configuration(child).ok());
        let Some(configuration) = configuration else { return Label::TOP };
        let label = secrecy::label(&configuration.manifest, &configuration.deployment, reading, seen);
        label.join(Label { readers: Readers::of(level, &configuration.deployment), ..Label::BOTTOM })
    }

    /// The planner hears why something did not happen: the gate's words, which may quote names that somebody else chose.
    pub(super) fn told_a_refusal(&mut self, case: &CaseId) {
        self.told(case, |deployment| secrecy::anybodys(SecrecyLevel::Public, deployment));
    }

    /// The planner of a case is told something with this label.
    fn told(&mut self, case: &CaseId, label: impl FnOnce(&Deployment) -> Label) {
        let configuration = self.present_configuration(case);
        let label = configuration.map_or(Label::TOP, |configuration| label(&configuration.deployment));
        if let Some(session) = self.plans.sessions.get_mut(case) {
            session.seen = session.seen.join(label);
        }
    }

    /// How secret what a step of the case's plan showed is.
    fn secrecy_of_step(&mut self, case: &CaseId, step: &StepId, output: &Value) -> SecrecyLevel {
        let args = self.plans.sessions.get(case).map_or(SecrecyLevel::Restricted, |session| session.secrecy);
        self.secrecy_of(case, Some(step), args, output).unwrap_or(SecrecyLevel::Restricted)
    }

    /// How secret what a read showed is; the planner's words are as secret as what it has seen.
    pub(super) fn secrecy_of_read(&mut self, child: Option<&CaseId>, output: &Value, case: &CaseId) -> SecrecyLevel {
        let args = self.plans.sessions.get(case).map_or(SecrecyLevel::Restricted, |session| session.secrecy);
        child.and_then(|child| self.secrecy_of(child, None, args, output)).unwrap_or(SecrecyLevel::Restricted)
    }

    /// None where nothing is known: then it is as secret as anything.
    fn secrecy_of(
        &mut self,
        case: &CaseId,
        step: Option<&StepId>,
        args: SecrecyLevel,
        output: &Value,
    ) -> Option<SecrecyLevel> {
        let configuration = self.present_configuration(case).ok()?;
        let (plan, draft) = Plan::read(&self.gate.case(case)?.plan).ok()?;
        let grant = match step {
            Some(step) => plan.steps.iter().find(|grant| grant.id == *step)?,
            None => plan.steps.first()?,
        };
        let action = &draft.step(&grant.id)?.action;
        let tool = configuration.manifest.get(action);
        Some(secrecy::of_result(tool, &grant.accesses, args, output, &configuration.deployment))
    }
}

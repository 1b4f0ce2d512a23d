//! What executors and step children say.

use countersign_ledger::RecordKind;
use countersign_plan::digest::Digest;
use countersign_plan::expect::check_step;
use countersign_plan::id::{CaseId, StepId};
use countersign_plan::observation::{Ending, Observation};
use countersign_plan::permit::Phase;
use countersign_plan::saga::Fate;
use countersign_plan::verdict::Code;
use serde_json::Value;

use super::carry::{Note, leave};
use super::{Effects, Gate, Outside};
use crate::case::{Running, Stage};
use crate::configuration::Configuration;
use crate::confine::{NoLeave, expected_path};
use crate::directive::{Directive, Notice};
use crate::event::Said;
use crate::judge::Judging;
use crate::machine::{self, Input};

impl Gate {
    pub(super) fn executor(&mut self, case: &CaseId, said: Said, outside: Outside<'_>, effects: &mut Effects) {
        if !self.cases.contains_key(case) {
            effects.directives.push(Directive::KillExecutor { case: case.clone() });
            return;
        }
        let (input, note) = match said {
            Said::Verified { plan_digest } => {
                (Input::Verified(plan_digest), Note::of("the executor verified another plan than was countersigned"))
            }
            Said::Rejected { message } => {
                (Input::Rejected, Note::of(format!("the executor refused what it was given: {message}")))
            }
            Said::Request { step, phase, attempt, present } => {
                let judged = self.judge(case, &step, phase, &present, outside);
                let mut note = Note::default();
                let judged = match judged {
                    Ok(confined) => {
                        note.message = Some(format!("step `{step}`, phase {phase:?}, attempt {attempt}"));
                        note.confined = Some(confined);
                        Ok(())
                    }
                    Err(no) => {
                        note.message = Some(no.message);
                        Err(no.code)
                    }
                };
                note.nonce = outside.nonce("permit");
                (Input::Request { step, phase, attempt, judged }, note)
            }
            Said::Perform { permit } => {
                let note = Note::of(format!("a permit of digest {}", Digest::of(&permit).short()));
                (Input::Perform(self.known(case, &permit)), note)
            }
            Said::Finished(report) => {
                let note = Note::of(if report.completed { "completed" } else { "stopped" });
                let (completed, done, undone) = (report.completed, report.done, report.undone);
                (Input::Finished { completed, done, undone }, note)
            }
        };
        self.step(case, input, note, effects);
    }

    /// Whether leave may be given, as far as the plan's content goes. What is out of turn is for the core to see.
    fn judge(
        &self,
        case: &CaseId,
        step: &StepId,
        phase: Phase,
        present: &Configuration,
        outside: Outside<'_>,
    ) -> Result<crate::confine::Confined, NoLeave> {
        let running = self.cases.get(case).and_then(|slot| running(&slot.stage));
        let running = running.ok_or_else(|| NoLeave::new(Code::RunHalted, "the case does not run"))?;
        let (places, facts, now) = (&self.settings.places, outside.facts, self.now());
        Judging { running, step, phase, present, places, facts, now }.judge()
    }

    /// The number of the permit of the case with exactly these bytes.
    fn known(&self, case: &CaseId, permit: &[u8]) -> Option<u32> {
        let slot = self.cases.get(case)?;
        let place = match &slot.stage {
            Stage::Running(running) => running.permits.iter().position(|leave| leave.permit.is(permit))?,
            Stage::Over(_) | Stage::Reviewed(_) | Stage::Signed(_) => {
                self.retired.get(case)?.iter().position(|digest| *digest == Digest::of(permit))?
            }
        };
        u32::try_from(place).ok()
    }

    pub(super) fn executor_offended(&mut self, case: &CaseId, message: &str, effects: &mut Effects) {
        self.step(case, Input::ExecutorOffended, Note::of(message), effects);
    }

    pub(super) fn executor_lost(&mut self, case: &CaseId, reason: &str, effects: &mut Effects) {
        self.step(case, Input::ExecutorLost, Note::of(format!("the executor is gone: {reason}")), effects);
    }

    pub(super) fn step_started(&mut self, case: &CaseId, enforcement: Value, effects: &mut Effects) {
        let Some(slot) = self.cases.get_mut(case) else { return };
        let attempt = match slot.life.stage() {
            machine::Stage::Running(run) => run.flight,
            machine::Stage::Pending(_)
            | machine::Stage::Countersigned(_)
            | machine::Stage::Indeterminate { .. }
            | machine::Stage::Closed(..) => None,
        };
        let Some((step, phase)) = attempt
            .and_then(|number| leave(slot, number))
            .map(|leave| (leave.permit.claims.step.clone(), leave.permit.claims.phase))
        else {
            // A child that belongs to nothing any more.
            effects.directives.push(Directive::KillStep { case: case.clone() });
            return;
        };
        if let Stage::Running(running) = &mut slot.stage {
            running.enforcement = Some(enforcement.clone());
        }
        let notice = Notice::StepStarted { step, phase, enforcement };
        effects.directives.push(Directive::Notify { case: case.clone(), notice });
    }

    pub(super) fn step_observed(
        &mut self,
        case: &CaseId,
        observation: Observation,
        labels: Value,
        effects: &mut Effects,
    ) {
        let Some((step, phase)) = self.attempt(case) else {
            self.step(case, Input::Observed(Fate::Cut), Note::of("an outcome that belongs to no attempt"), effects);
            return;
        };
        let held = self.holds(case, &step, phase, &observation);
        let input = match &observation.ending {
            Ending::Violation { .. } => Input::Caught,
            Ending::Returned | Ending::Failed { .. } | Ending::TimedOut | Ending::Killed { .. } => {
                Input::Observed(Fate::of(&observation, held.is_ok()))
            }
        };
        if input == Input::Observed(Fate::Held) {
            self.keep(case, &step, phase, &observation);
        }
        let message = held.err().map(|what| crate::record::quoted(&format!("step `{step}`: {what}")));
        let note = Note { observation: Some(Box::new(observation)), message, labels, ..Note::default() };
        self.step(case, input, note, effects);
    }

    pub(super) fn step_refused(&mut self, case: &CaseId, violation: bool, message: &str, effects: &mut Effects) {
        if violation {
            self.step(case, Input::BadPermit, Note::of(message), effects);
            return;
        }
        let observation = Observation {
            ending: Ending::Failed { message: crate::record::quoted(message) },
            output: serde_json::json!({}),
            files: Default::default(),
            dropped: Default::default(),
        };
        // Nothing ran, so nothing was left.
        self.step_observed(case, observation, serde_json::json!({}), effects);
    }

    pub(super) fn step_lost(&mut self, case: &CaseId, reason: &str, effects: &mut Effects) {
        let message = format!("the step child is gone: {reason}");
        let mut note = Note::of(&message);
        let observation = Observation {
            ending: Ending::Failed { message },
            output: serde_json::json!({}),
            files: Default::default(),
            dropped: Default::default(),
        };
        note.observation = Some(Box::new(observation));
        self.step(case, Input::Lost, note, effects);
    }

    /// What the broker says of its own accord is on record, of a case that is known here as that case's own.
    pub(super) fn broker_said(&self, case: Option<CaseId>, alert: bool, message: &str, effects: &mut Effects) {
        let message = crate::record::quoted(message);
        let payload = serde_json::json!({"broker": message, "alert": alert, "case": case});
        effects.entries.push(match case.as_ref().filter(|case| self.case(case).is_some()) {
            Some(case) => crate::record::entry(RecordKind::Alert, case, self.now(), payload),
            None => crate::record::general(RecordKind::Alert, self.now(), payload),
        });
        if alert {
            effects.directives.push(Directive::Alert { case, message: format!("the broker: {message}") });
        }
    }

    /// What was not inspected for want of an inspector is on record; people were asked instead.
    pub(super) fn inspector_failed(&self, case: Option<CaseId>, message: &str, effects: &mut Effects) {
        let payload = serde_json::json!({"inspector": crate::record::quoted(message), "case": case});
        effects.entries.push(match case.as_ref().filter(|case| self.case(case).is_some()) {
            Some(case) => crate::record::entry(RecordKind::Alert, case, self.now(), payload),
            None => crate::record::general(RecordKind::Alert, self.now(), payload),
        });
    }

    /// The attempt under way.
    fn attempt(&self, case: &CaseId) -> Option<(StepId, Phase)> {
        let slot = self.cases.get(case)?;
        let machine::Stage::Running(run) = slot.life.stage() else { return None };
        let claims = &leave(slot, run.flight?)?.permit.claims;
        Some((claims.step.clone(), claims.phase))
    }

    /// Whether an attempt went as the plan expects: the gate checks it itself, whatever the executor will say.
    fn holds(&self, case: &CaseId, step: &StepId, phase: Phase, seen: &Observation) -> Result<(), String> {
        let running = self.cases.get(case).and_then(|slot| running(&slot.stage));
        let running = running.ok_or_else(|| "the case does not run".to_owned())?;
        let dossier = running.dossier();
        let expects = match (phase, dossier.draft.step(step)) {
            (Phase::Act, Some(step)) => step.expect.as_slice(),
            (Phase::Snapshot | Phase::Restore | Phase::Compensate, _) | (Phase::Act, None) => &[],
        };
        let path = |path: &str| expected_path(&dossier.plan.cwd, path);
        check_step(expects, seen, &path).map_err(|miss| format!("expected {}, found {}", miss.expected, miss.found))?;
        if phase == Phase::Snapshot && index(seen).is_none() {
            return Err("the snapshot names no index of what it kept".to_owned());
        }
        Ok(())
    }

    /// What later steps need of an attempt that held: outputs for references, the index for a restore.
    fn keep(&mut self, case: &CaseId, step: &StepId, phase: Phase, seen: &Observation) {
        let Some(slot) = self.cases.get_mut(case) else { return };
        let machine::Stage::Running(run) = slot.life.stage() else { return };
        let confined = run.flight.and_then(|number| leave(slot, number)).map(|leave| leave.confined.clone());
        let Stage::Running(running) = &mut slot.stage else { return };
        match (phase, index(seen), confined) {
            (Phase::Act, _, _) => {
                running.outputs.insert(step.clone(), seen.output.clone());
            }
            (Phase::Snapshot, Some(index), Some(confined)) => {
                running.snapshots.insert(step.clone(), (confined, index));
            }
            (Phase::Snapshot | Phase::Restore | Phase::Compensate, _, _) => {}
        }
    }
}

/// The digest of the index that a snapshot reports: `/index` of its output.
fn index(seen: &Observation) -> Option<Digest> {
    seen.output.get("index")?.as_str()?.parse().ok()
}

fn running(stage: &Stage) -> Option<&Running> {
    match stage {
        Stage::Running(running) => Some(running),
        Stage::Reviewed(_) | Stage::Signed(_) | Stage::Over(_) => None,
    }
}

//! The order of a plan as a pure machine: an event in, at most one message out.
//!
//! For each step: leave to keep the state before (where the step is taken back by a snapshot), then leave to act; each leave
//! is checked against the plan and used once. At the first surprise — a refusal, a mismatch, a halt — nothing further of the
//! plan is asked for, and what was done is taken back newest first, each time with leave, down to the first step that cannot
//! be ([`take_back`], `lesson_28`). Nothing is retried, skipped, added or reordered.
//!
//! What the monitor owes: each request is answered exactly once, by a permit or a refusal; each use of a permit exactly once,
//! by an observation or a refusal. A halt comes beside these and replaces none.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use countersign_plan::document::DocumentError;
use countersign_plan::draft::{Rollback, Step};
use countersign_plan::envelope::Envelope;
use countersign_plan::expect::check_step;
use countersign_plan::id::{StepId, ToolName};
use countersign_plan::observation::Observation;
use countersign_plan::permit::{PermitError, Phase, VerifiedPermit};
use countersign_plan::saga::{Fate, TakeBack, Undo, take_back};
use countersign_plan::verdict::Code;
use countersign_wire::executor::{Report, RunEnding};

use crate::start::Run;

/// The number of every attempt: nothing is tried twice.
pub(crate) const ATTEMPT: u32 = 1;

/// What the monitor tells.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// Leave, as asked for.
    Permit(Vec<u8>),
    /// No leave; or a permit that could not be used any more.
    Refused {
        /// A code of the catalogue.
        code: String,
        /// For people.
        message: String,
    },
    /// What the attempt showed.
    Observed {
        /// The step.
        step: StepId,
        /// What it showed.
        observation: Box<Observation>,
    },
    /// Stop.
    Halt {
        /// For people.
        reason: String,
        /// Whether what was done is taken back.
        compensate: bool,
    },
}

/// What the executor says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// Ask for leave.
    Request {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
    },
    /// Use a permit.
    Perform {
        /// The bytes as received.
        permit: Vec<u8>,
    },
    /// The end.
    Finished(Report),
}

/// One thing to be done for one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Errand {
    index: usize,
    phase: Phase,
}

#[derive(Debug, Clone, Copy)]
enum Awaiting {
    /// The answer to a request.
    Answer(Errand),
    /// The outcome of a permit's use.
    Outcome(Errand),
    /// Nothing more.
    End,
}

#[derive(Debug)]
struct Halt {
    reason: String,
    compensate: bool,
}

/// Why a permit is not the leave that was asked for: a separation violation.
#[derive(Debug, thiserror::Error)]
enum PermitRefusal {
    #[error(transparent)]
    Envelope(#[from] DocumentError),
    #[error(transparent)]
    Permit(#[from] PermitError),
    #[error("the permit names another {0} than the one that was asked for")]
    Other(&'static str),
    #[error("the permit was used before")]
    Reused,
}

/// The run of one plan.
#[derive(Debug)]
pub(crate) struct Machine {
    run: Run,
    awaiting: Awaiting,
    halt: Option<Halt>,
    /// Why the plan stopped, once it did.
    ending: Option<RunEnding>,
    used: BTreeSet<String>,
    /// Steps that acted, in order, less those that were looked at again on the way back.
    acted: Vec<(usize, Fate)>,
    done: Vec<StepId>,
    undone: Vec<StepId>,
    standing: Vec<(StepId, String)>,
}

impl Machine {
    /// Begins the plan's first step.
    pub(crate) fn start(run: Run) -> (Self, Option<Message>) {
        let mut machine = Self {
            run,
            awaiting: Awaiting::End,
            halt: None,
            ending: None,
            used: BTreeSet::new(),
            acted: Vec::new(),
            done: Vec::new(),
            undone: Vec::new(),
            standing: Vec::new(),
        };
        let first = machine.step(0);
        (machine, Some(first))
    }

    /// Takes an event.
    pub(crate) fn on(&mut self, event: Event) -> Option<Message> {
        match (self.awaiting, event) {
            (Awaiting::End, _) => None,
            (Awaiting::Answer(_) | Awaiting::Outcome(_), Event::Halt { reason, compensate }) => {
                // A halt that forbids to take back is not softened by one that does not.
                let compensate = compensate && self.halt.as_ref().is_none_or(|halt| halt.compensate);
                self.halt = Some(Halt { reason, compensate });
                None
            }
            (Awaiting::Answer(errand), Event::Permit(permit)) => Some(self.permitted(errand, permit)),
            (Awaiting::Answer(errand) | Awaiting::Outcome(errand), Event::Refused { code, message }) => {
                Some(self.refused(errand, code, message))
            }
            (Awaiting::Outcome(errand), Event::Observed { step, observation }) => {
                Some(if self.id(errand.index) == Some(&step) {
                    self.observed(errand, &observation)
                } else {
                    self.violated(errand, format!("an observation of step `{step}`, which does not run"))
                })
            }
            (Awaiting::Answer(errand), Event::Observed { step, .. }) => {
                Some(self.violated(errand, format!("an observation of step `{step}`, which does not run")))
            }
            (Awaiting::Outcome(errand), Event::Permit(_)) => {
                Some(self.violated(errand, "a permit that was not asked for".to_owned()))
            }
        }
    }

    /// Begins the step at `index`, or ends the plan after its last.
    fn step(&mut self, index: usize) -> Message {
        match self.run.undo.get(index) {
            None => self.finish(RunEnding::Completed),
            Some(Undo::Snapshot) => self.request(Errand { index, phase: Phase::Snapshot }),
            Some(Undo::Pure | Undo::Action | Undo::None) => self.request(Errand { index, phase: Phase::Act }),
        }
    }

    fn request(&mut self, errand: Errand) -> Message {
        match self.id(errand.index).cloned() {
            Some(step) => {
                self.awaiting = Awaiting::Answer(errand);
                Message::Request { step, phase: errand.phase }
            }
            None => self.finish(RunEnding::Completed),
        }
    }

    fn permitted(&mut self, errand: Errand, permit: Vec<u8>) -> Message {
        // A permit that a halt overtook is not used.
        let forbidden = |halt: &Halt| self.ending.is_none() || !halt.compensate;
        if self.halt.as_ref().is_some_and(forbidden) {
            return self.halted(errand);
        }
        match self.check(errand, &permit) {
            Ok(nonce) => {
                self.used.insert(nonce);
                self.awaiting = Awaiting::Outcome(errand);
                Message::Perform { permit }
            }
            Err(refusal) => self.violated(errand, refusal.to_string()),
        }
    }

    /// Whether a permit is the gate's leave for exactly this errand; its nonce.
    fn check(&self, errand: Errand, permit: &[u8]) -> Result<String, PermitRefusal> {
        let permit = VerifiedPermit::verify(&Envelope::from_json(permit)?, &self.run.gate, self.run.epoch)?;
        let claims = permit.claims();
        let plan = self.run.plan.plan();
        let other = |same: bool, what| if same { Ok(()) } else { Err(PermitRefusal::Other(what)) };
        let tool = self.draft(errand.index).and_then(|step| tool(step, errand.phase));
        other(claims.case == plan.case, "case")?;
        other(claims.plan_digest == self.run.plan.digest(), "plan")?;
        other(claims.version == plan.version, "version")?;
        other(Some(&claims.step) == self.id(errand.index), "step")?;
        other(claims.phase == errand.phase, "phase")?;
        other(claims.attempt == ATTEMPT, "attempt")?;
        other(tool == Some(&claims.tool), "tool")?;
        other(plan.tools.get(&claims.tool) == Some(&claims.tool_digest), "definition of the tool")?;
        if self.used.contains(&claims.nonce) { Err(PermitRefusal::Reused) } else { Ok(claims.nonce.clone()) }
    }

    /// No leave: nothing of this errand happened.
    fn refused(&mut self, errand: Errand, code: String, message: String) -> Message {
        if self.ending.is_some() {
            return self.stands(errand.index, format!("no leave to take it back: {code}: {message}"));
        }
        match self.id(errand.index).cloned() {
            Some(step) => self.stop(RunEnding::Refused { step, code, message }),
            None => self.finish(RunEnding::Completed),
        }
    }

    fn observed(&mut self, errand: Errand, seen: &Observation) -> Message {
        match errand.phase {
            Phase::Snapshot => match check_step(&[], seen, &|path| path.to_owned()) {
                Ok(()) if self.halt.is_none() => self.request(Errand { phase: Phase::Act, ..errand }),
                Ok(()) => self.halted(errand),
                Err(mismatch) => self.missed(errand.index, mismatch.expected, mismatch.found),
            },
            Phase::Act => {
                let cwd = self.run.plan.plan().cwd.clone();
                let expects = self.draft(errand.index).map(|step| step.expect.as_slice()).unwrap_or_default();
                let outcome = check_step(expects, seen, &|path| absolute(&cwd, path));
                self.acted.push((errand.index, Fate::of(seen, outcome.is_ok())));
                match outcome {
                    Err(mismatch) => self.missed(errand.index, mismatch.expected, mismatch.found),
                    Ok(()) => {
                        self.done.extend(self.id(errand.index).cloned());
                        if self.halt.is_some() { self.halted(errand) } else { self.step(errand.index + 1) }
                    }
                }
            }
            Phase::Restore | Phase::Compensate => match check_step(&[], seen, &|path| path.to_owned()) {
                Ok(()) => {
                    self.undone.extend(self.id(errand.index).cloned());
                    self.take_back_next()
                }
                Err(mismatch) => self.stands(errand.index, format!("taking it back failed: {}", mismatch.found)),
            },
        }
    }

    fn missed(&mut self, index: usize, expected: String, found: String) -> Message {
        match self.id(index).cloned() {
            Some(step) => self.stop(RunEnding::Mismatch { step, expected, found }),
            None => self.finish(RunEnding::Completed),
        }
    }

    /// A halt found the executor between two errands.
    fn halted(&mut self, errand: Errand) -> Message {
        if self.ending.is_some() {
            return self.stands(errand.index, "the case was halted before it was taken back".to_owned());
        }
        let reason = self.halt.as_ref().map(|halt| halt.reason.clone()).unwrap_or_default();
        self.stop(RunEnding::Halted { reason })
    }

    /// Ends the way forwards and begins the way back.
    fn stop(&mut self, ending: RunEnding) -> Message {
        let ending = match &self.halt {
            Some(halt) => RunEnding::Halted { reason: halt.reason.clone() },
            None => ending,
        };
        self.ending = Some(ending);
        self.take_back_next()
    }

    fn take_back_next(&mut self) -> Message {
        if self.halt.as_ref().is_some_and(|halt| !halt.compensate) {
            return self.rest_stands("the case was halted without taking back");
        }
        while let Some((index, fate)) = self.acted.pop() {
            match take_back(self.undo(index), fate) {
                TakeBack::Skip => {}
                TakeBack::By(phase) => return self.request(Errand { index, phase }),
                TakeBack::Stand => return self.stands(index, "it cannot be taken back".to_owned()),
            }
        }
        self.end()
    }

    /// This step stands, and with it every earlier one: they are not taken back past it.
    fn stands(&mut self, index: usize, why: String) -> Message {
        let step = self.id(index).cloned();
        let reason = step.as_ref().map(|step| format!("step `{step}`, which came later, stands")).unwrap_or_default();
        self.standing.extend(step.map(|step| (step, why)));
        self.rest_stands(&reason)
    }

    fn rest_stands(&mut self, why: &str) -> Message {
        while let Some((index, fate)) = self.acted.pop() {
            if take_back(self.undo(index), fate) != TakeBack::Skip {
                self.standing.extend(self.id(index).cloned().map(|step| (step, why.to_owned())));
            }
        }
        self.end()
    }

    /// The monitor said what the gate cannot have meant: nothing more is asked for, and nothing taken back (INV-9).
    fn violated(&mut self, errand: Errand, message: String) -> Message {
        let acts = matches!(self.awaiting, Awaiting::Outcome(_)) && errand.phase == Phase::Act;
        if acts || matches!(errand.phase, Phase::Restore | Phase::Compensate) {
            let step = self.id(errand.index).cloned();
            self.standing.extend(step.map(|step| (step, "a separation violation ended the run".to_owned())));
        }
        if let Some(step) = self.id(errand.index).cloned() {
            let code = Code::SeparationViolation.as_str().to_owned();
            self.ending = Some(RunEnding::Refused { step, code, message });
        }
        self.rest_stands("a separation violation ended the run")
    }

    fn end(&mut self) -> Message {
        let ending = self.ending.take().unwrap_or(RunEnding::Completed);
        self.finish(ending)
    }

    fn finish(&mut self, ending: RunEnding) -> Message {
        self.awaiting = Awaiting::End;
        Message::Finished(Report {
            ending,
            done: std::mem::take(&mut self.done),
            undone: std::mem::take(&mut self.undone),
            standing: std::mem::take(&mut self.standing),
        })
    }

    fn draft(&self, index: usize) -> Option<&Step> {
        self.run.plan.draft().steps().get(index)
    }

    fn id(&self, index: usize) -> Option<&StepId> {
        self.draft(index).map(|step| &step.id)
    }

    fn undo(&self, index: usize) -> Undo {
        self.run.undo.get(index).copied().unwrap_or(Undo::None)
    }
}

/// The tool that a phase of a step runs.
fn tool(step: &Step, phase: Phase) -> Option<&ToolName> {
    match (phase, &step.rollback) {
        (Phase::Snapshot | Phase::Act | Phase::Restore, _) => Some(&step.action),
        (Phase::Compensate, Some(Rollback::Action { action, .. })) => Some(action),
        (Phase::Compensate, _) => None,
    }
}

/// A plan's path in the form in which facts are reported: absolute and lexically normal.
fn absolute(cwd: &str, path: &str) -> String {
    let mut out = PathBuf::from("/");
    for component in Path::new(cwd).join(path).components() {
        match component {
            Component::Normal(part) => out.push(part),
            Component::ParentDir => {
                out.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;

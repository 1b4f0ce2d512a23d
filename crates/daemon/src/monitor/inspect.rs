//! What became of the inspectors: a missing answer is recorded, and one that tried to act halts the case that it was asked for.

use countersign_gate::event::Event;
use countersign_plan::id::CaseId;

use super::run::SIGSYS;
use super::{Answer, Command, State};
use crate::inspector::{Ended, Outcome};

/// Where the violation of an inspector is recorded that was asked for no case: no case is ever called so.
const NO_CASE: &str = "c-inspector";

impl State {
    /// The gate handled an event; `case` is what its records are about.
    pub(super) fn inspected(&mut self, outcome: Outcome, case: Option<CaseId>) {
        if let Some(message) = outcome.failure {
            crate::log(&message);
            // After what the event itself leads to.
            self.monitor.send(Command::NotInspected { case: case.clone(), message });
        }
        if let Some(case) = &case {
            self.answers.put(case.clone(), outcome.answers);
        }
        if let Some(id) = outcome.id {
            self.inspected.insert(id, case);
        }
    }

    /// It was killed after its work, or ended by itself.
    pub(super) fn inspector_ended(&mut self, ended: &Ended) {
        let case = self.inspected.remove(&ended.id).flatten();
        let exited = &ended.exited;
        if exited.signal != Some(SIGSYS) && exited.syscall.is_none() {
            return;
        }
        let call = exited.syscall.as_deref().unwrap_or("a system call that the kernel does not name");
        let message = format!("an inspector tried {call} and was killed");
        match case.or_else(|| NO_CASE.parse().ok()) {
            Some(case) => self.event(Event::InspectorViolation { case, message }, Answer::Nobody),
            None => crate::log(&format!("ALERT {message}")),
        }
    }

    pub(super) fn not_inspected(&mut self, case: Option<CaseId>, message: String) {
        self.event(Event::InspectorFailed { case, message }, Answer::Nobody);
    }
}

/// The case of an event at which the gate judges a step again.
pub(super) const fn case_of(event: &Event) -> Option<&CaseId> {
    match event {
        Event::Executor { case, .. } | Event::StepObserved { case, .. } | Event::Planner { case, .. } => Some(case),
        _ => None,
    }
}

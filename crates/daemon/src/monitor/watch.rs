//! What happened in each case since this start, for those who watch; bounded, and never in the way of the gate.

use std::collections::{HashMap, VecDeque};

use countersign_gate::directive::Notice;
use countersign_plan::id::CaseId;
use countersign_wire::propose::{CaseEvent, FromMonitor, from_monitor};

use super::ProposeReply;

/// Events kept per case for a watcher who comes late.
const KEPT: usize = 4096;

/// Ended cases whose events are kept; older ones are in the ledger.
const ENDED: usize = 256;

/// The events of each case and who wants them.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    cases: HashMap<CaseId, Watched>,
    ended: VecDeque<CaseId>,
}

#[derive(Debug, Default)]
struct Watched {
    events: VecDeque<CaseEvent>,
    watchers: Vec<ProposeReply>,
}

impl Watchers {
    /// Sends the events so far, and those to come.
    pub(crate) fn watch(&mut self, case: &CaseId, reply: ProposeReply) {
        let watched = self.cases.entry(case.clone()).or_default();
        for event in &watched.events {
            if !send(&reply, event) {
                return;
            }
        }
        watched.watchers.push(reply);
    }

    /// The events so far.
    pub(crate) fn events(&self, case: &CaseId) -> Vec<serde_json::Value> {
        let events = self.cases.get(case).map(|watched| &watched.events);
        events.into_iter().flatten().filter_map(|event| serde_json::to_value(event).ok()).collect()
    }

    /// A notice of the gate.
    pub(crate) fn notice(&mut self, case: &CaseId, notice: &Notice) {
        self.event(case, event(notice));
    }

    /// Something for those who watch now; not kept.
    pub(crate) fn passing(&mut self, case: &CaseId, event: &CaseEvent) {
        if let Some(watched) = self.cases.get_mut(case) {
            watched.watchers.retain(|reply| send(reply, event));
        }
    }

    /// Something that happened.
    pub(crate) fn event(&mut self, case: &CaseId, event: CaseEvent) {
        let watched = self.cases.entry(case.clone()).or_default();
        // A watcher that does not keep up is dropped: it can read the case again.
        watched.watchers.retain(|reply| send(reply, &event));
        let ended = matches!(event, CaseEvent::Ended { .. });
        watched.events.push_back(event);
        if watched.events.len() > KEPT {
            watched.events.pop_front();
        }
        if ended {
            watched.watchers.clear();
            self.ended.push_back(case.clone());
            if self.ended.len() > ENDED
                && let Some(oldest) = self.ended.pop_front()
            {
                self.cases.remove(&oldest);
            }
        }
    }
}

fn send(reply: &ProposeReply, event: &CaseEvent) -> bool {
    let event = serde_json::to_vec(event).unwrap_or_default();
    reply.try_send(FromMonitor { kind: Some(from_monitor::Kind::Event(from_monitor::Event { event })) }).is_ok()
}

fn event(notice: &Notice) -> CaseEvent {
    match notice {
        Notice::Stage { stage, detail } => CaseEvent::Stage { stage: (*stage).to_owned(), detail: detail.clone() },
        Notice::StepStarted { step, phase, enforcement } => CaseEvent::StepStarted {
            step: step.to_string(),
            phase: phase.as_str().to_owned(),
            enforcement: enforcement.clone(),
        },
        Notice::StepEnded { step, phase, observation } => CaseEvent::StepEnded {
            step: step.to_string(),
            phase: phase.as_str().to_owned(),
            observation: serde_json::to_value(observation).unwrap_or_default(),
        },
        Notice::RunEnded { version, stage, report } => {
            CaseEvent::RunEnded { version: *version, stage: (*stage).to_owned(), report: report.clone() }
        }
        Notice::Critical { message } => CaseEvent::Critical { message: message.clone() },
        Notice::Ended { stage, report } => CaseEvent::Ended { stage: (*stage).to_owned(), report: report.clone() },
    }
}

//! What a planner asks for, and how it is met: models by the broker, tools from the manifest, reads and drafts by the gate.

use countersign_gate::directive::Notice;
use countersign_gate::event::{Event, PlannerDeed, Submission};
use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::CaseId;
use countersign_plan::intent;
use countersign_plan::observation::Ending;
use countersign_plan::permit::Phase;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision, Mode, Verdict};
use countersign_wire::planner::{Surface, to_planner};
use countersign_wire::propose::{CaseEvent, PlannerEvent as Told};
use serde_json::{Map, Value, json};

use super::super::{Answer, State};
use super::Reading;
use super::protocol::Demand;
use super::surface::Secrets;

impl State {
    pub(super) fn demand(&mut self, case: &CaseId, demand: Demand) {
        match demand {
            Demand::Infer(request) => self.infer(case, request),
            Demand::Load(groups) => self.load(case, groups),
            Demand::Read { action, args } => self.read(case, action, args),
            Demand::Draft(draft) => self.draft(case, draft),
            Demand::Answer(text) => self.answered(case, text),
            Demand::GiveUp(reason) => {
                self.watchers.event(case, CaseEvent::Planner(Told::GaveUp { reason: reason.clone() }));
                self.event(Event::Planner { case: case.clone(), did: PlannerDeed::GaveUp { reason } }, Answer::Nobody);
            }
        }
    }

    /// The secrets that a plan may name.
    pub(super) fn names_of_secrets(&self) -> Vec<String> {
        let Some(facts) = self.broker_view().map(|view| &view.facts) else { return Vec::new() };
        facts.secrets.iter().filter(|name| !facts.own.contains(name)).cloned().collect()
    }

    fn load(&mut self, case: &CaseId, groups: Vec<String>) {
        let configuration = match self.present_configuration(case) {
            Ok(configuration) => configuration,
            Err(reason) => return self.planner_lost(case, &reason),
        };
        let names = self.names_of_secrets();
        let secrets = Secrets { names: &names, deployment: &configuration.deployment };
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        match session.loaded.load(&groups, &configuration.manifest, &secrets) {
            Err(not) => self.refuse_planner(case, Code::PlannerRefused.as_str(), &not.to_string()),
            Ok(surface) => {
                let tools = u32::try_from(surface.tools.len()).unwrap_or(u32::MAX);
                let digest = digest_of(&surface, &configuration.manifest);
                let told = Told::Loaded { groups: groups.clone(), tools };
                self.watchers.event(case, CaseEvent::Planner(told));
                let surface = serde_json::to_vec(&surface).unwrap_or_default();
                let did = PlannerDeed::Loaded { groups, surface: digest, tools };
                self.did(case, did, to_planner::Kind::Loaded(to_planner::Loaded { surface }));
            }
        }
    }

    /// The request is not met; the planner may go on.
    fn refuse_planner(&mut self, case: &CaseId, code: &str, message: &str) {
        let refused = to_planner::Refused { code: code.to_owned(), message: message.to_owned() };
        self.tell_planner(case, to_planner::Kind::Refused(refused));
    }

    /// A proposal on behalf of the planner of a case.
    fn proposal(&mut self, case: &CaseId, document: Vec<u8>) -> Result<Submission, String> {
        let summary = self.gate.case(case).ok_or_else(|| format!("no case {case}"))?;
        let (configuration, origin) = self.configurations.for_origin(&summary.origin)?;
        let session = self.plans.sessions.get(case).ok_or("the planner is gone")?;
        Ok(Submission {
            document,
            goal: None,
            inputs: session.inputs.clone(),
            cwd: summary.cwd,
            requester: summary.requester,
            agent: summary.agent,
            mode: Mode::Managed,
            check: false,
            revises: None,
            parent: None,
            seen: session.seen,
            configuration,
            origin,
        })
    }

    /// A read: an action like any other, judged, permitted and recorded in a case of its own.
    fn read(&mut self, case: &CaseId, action: String, args: Map<String, Value>) {
        let intent = json!({"schema": intent::SCHEMA, "action": action, "args": args});
        let submission = match self.proposal(case, intent.to_string().into_bytes()) {
            Ok(submission) => Submission { parent: Some(case.clone()), ..submission },
            Err(reason) => return self.planner_lost(case, &reason),
        };
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        if session.loaded.readable(&action, &submission.configuration.manifest).is_none() {
            let tool = countersign_plan::text::escape(&action);
            return self.planner_violation(case, &format!("the planner used `{tool}`, which it may not read with"));
        }
        session.reading = Some(Reading { case: None, action, args, observation: None });
        self.submit(submission, Answer::Reader(case.clone()));
    }

    /// The gate's verdict on a read.
    pub(in super::super) fn read_judged(&mut self, case: &CaseId, verdict: &Verdict) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let Some(reading) = &mut session.reading else { return };
        reading.case.clone_from(&verdict.case);
        let why = verdict.reasons.first().map(|reason| reason.message.clone()).unwrap_or_default();
        match (verdict.decision, &verdict.case) {
            (Decision::Allow, Some(child)) => drop(self.plans.reads.insert(child.clone(), case.clone())),
            (Decision::Allow, None) => self.read_ended(case, "the gate opened no case for it".to_owned()),
            (Decision::Block, _) => self.read_ended(case, format!("blocked: {why}")),
            (Decision::RequireApproval, child) => {
                if let Some(child) = child.clone() {
                    let reason = "a planner reads only what needs nobody's approval".to_owned();
                    self.event(Event::Halt { case: Some(child), reason }, Answer::Nobody);
                }
                self.read_ended(case, format!("a person would have to approve it; put it into a plan: {why}"));
            }
        }
    }

    /// Something happened in the case of a read.
    pub(super) fn read_notice(&mut self, child: &CaseId, case: &CaseId, notice: &Notice) {
        match notice {
            Notice::StepEnded { phase: Phase::Act, observation, .. } => {
                if let Some(reading) = self.plans.sessions.get_mut(case).and_then(|session| session.reading.as_mut()) {
                    reading.observation = Some((**observation).clone());
                }
            }
            Notice::Ended { report, .. } => {
                self.plans.reads.remove(child);
                let detail = report.get("detail").and_then(Value::as_str).unwrap_or("it did not run").to_owned();
                self.read_ended(case, detail);
            }
            Notice::StepEnded { .. }
            | Notice::Stage { .. }
            | Notice::StepStarted { .. }
            | Notice::RunEnded { .. }
            | Notice::Critical { .. } => {}
        }
    }

    /// A read is over: what it showed, or otherwise why it showed nothing.
    fn read_ended(&mut self, case: &CaseId, otherwise: String) {
        let Some(session) = self.plans.sessions.get_mut(case) else { return };
        let Some(reading) = session.reading.take() else { return };
        let (outcome, reply) = match &reading.observation {
            Some(seen) => {
                let level = self.secrecy_of_read(reading.case.as_ref(), &seen.output, case);
                let label = self.label_of_read(&reading, seen, level);
                let outcome = match &seen.ending {
                    Ending::Returned => "done".to_owned(),
                    Ending::Failed { message } => message.clone(),
                    Ending::TimedOut => "timed out".to_owned(),
                    Ending::Killed { signal } => format!("signal {signal} ended it"),
                    Ending::Violation { message } => message.clone(),
                };
                let observation = serde_json::to_vec(seen).unwrap_or_default();
                if let Some(session) = self.plans.sessions.get_mut(case) {
                    session.secrecy = session.secrecy.max(level);
                    session.seen = session.seen.join(label);
                    session.read.add(reading.action.clone(), seen, level);
                }
                (outcome, to_planner::Kind::Observed(to_planner::Observed { observation }))
            }
            None => {
                self.told_a_refusal(case);
                let message = otherwise.clone();
                let refused = to_planner::Refused { code: Code::PlannerRefused.as_str().to_owned(), message };
                (otherwise, to_planner::Kind::Refused(refused))
            }
        };
        let told = Told::Read {
            action: reading.action.clone(),
            args: Value::Object(reading.args),
            case: reading.case.as_ref().map(ToString::to_string).unwrap_or_default(),
            outcome: outcome.clone(),
        };
        self.watchers.event(case, CaseEvent::Planner(told));
        let did = PlannerDeed::Read { case: reading.case, action: reading.action, outcome };
        self.did(case, did, reply);
    }

    /// A draft: the next version of the case's plan, judged like anybody's.
    fn draft(&mut self, case: &CaseId, draft: Vec<u8>) {
        match self.proposal(case, draft) {
            Ok(submission) => {
                let Some(session) = self.plans.sessions.get(case) else { return };
                let manifest = &submission.configuration.manifest;
                if let Some(tool) = session.loaded.hidden_in(&submission.document, manifest) {
                    // Its own code proposes none: it is taken over.
                    let tool = countersign_plan::text::escape(tool.as_str());
                    let message = format!("the planner proposed a step with `{tool}`, which it did not load");
                    return self.planner_violation(case, &message);
                }
                self.rates.count(submission.requester.as_str(), std::time::Instant::now());
                let submission = Submission { revises: Some(case.clone()), ..submission };
                self.submit(submission, Answer::Drafter(case.clone()));
            }
            Err(reason) => self.planner_lost(case, &reason),
        }
    }

    /// The gate's verdict on a draft: the planner mends what is blocked, and waits for the rest.
    pub(in super::super) fn draft_judged(&mut self, case: &CaseId, verdict: &Verdict) {
        let Some(session) = self.plans.sessions.get(case) else { return };
        let draft = session.protocol.drafts();
        let told = Told::Judged { draft, verdict: serde_json::to_value(verdict).unwrap_or_default() };
        self.watchers.event(case, CaseEvent::Planner(told));
        let waiting = match verdict.decision {
            Decision::Block => false,
            Decision::Allow | Decision::RequireApproval => true,
        };
        if !waiting {
            self.told_a_refusal(case);
        }
        let verdict = serde_json::to_vec(verdict).unwrap_or_default();
        self.tell_planner(case, to_planner::Kind::Reviewed(to_planner::Reviewed { verdict, waiting }));
    }
}

/// Every tool that a planner sees, by the digest of its definition.
pub(super) fn digest_of(surface: &Surface, manifest: &Manifest) -> Digest {
    let sees = |name: &str| surface.tools.iter().any(|tool| tool.name == name);
    let tools = manifest.iter().filter(|tool| sees(tool.definition().name.as_str()));
    let pinned = tools.map(|tool| (tool.definition().name.to_string(), json!(tool.digest()))).collect();
    canonical::digest(&Value::Object(pinned))
}

//! Cases that were opened for a goal: what a planner does is recorded, the versions of its plan take the same road as any
//! other plan, and the answer ends the case. A planner that tries to act ends it too (INV-9).

use countersign_ledger::RecordKind;
use countersign_plan::budget::{Ask, Extra};
use countersign_plan::digest::Digest;
use countersign_plan::id::{CaseId, Principal};
use countersign_plan::resolve::Inputs;
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::verdict::{Code, Mode};
use serde_json::{Value, json};

use super::carry::Note;
use super::{Effects, Gate, Outside, budget};
use crate::case::Summary;
use crate::directive::{Directive, Notice};
use crate::event::{Goal, PlannerDeed, Submission};
use crate::machine::{self, Cause, Ending, Eyes, Fact, Input, Pursuit, Violation};
use crate::record;

/// The longest goal that somebody may give, in bytes; the same as a draft's.
pub(super) const LONGEST_GOAL: usize = 16 << 10;
/// The longest inputs, as JSON, in bytes.
const LONGEST_INPUTS: usize = 256 << 10;
/// The longest answer, in bytes.
const LONGEST_ANSWER: usize = 256 << 10;
/// The most records that one planner leads to: its deeds are bounded, whatever bounds it elsewhere.
const MOST_DEEDS: u32 = 4096;

/// A goal, the planner's part in its case, and what belongs to it.
#[derive(Debug)]
pub(super) struct Quest {
    pub(super) core: Pursuit,
    pub(super) goal: Pinned,
    /// Cases in which the planner reads.
    children: Vec<CaseId>,
    deeds: u32,
    /// How the case ended, once it did.
    pub(super) closed: Option<Ending>,
    /// What it asked of people last, how often it did, and what they added to its limits.
    pub(super) ask: Option<Ask>,
    pub(super) asked: u32,
    pub(super) extra: Extra,
    /// Its planner is gone with the process that it was of: it needs a fresh one to go on.
    pub(super) alone: bool,
}

/// What was fixed when the goal was given.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) goal: String,
    pub(super) inputs: Inputs,
    pub(super) requester: Principal,
    pub(super) agent: Principal,
    origin: String,
    pub(super) cwd: String,
    pub(super) provider: String,
    pub(super) eyes: Eyes,
}

impl Quest {
    fn new(core: Pursuit, goal: Pinned, closed: Option<Ending>) -> Self {
        let extra = Extra::default();
        Self { core, goal, children: Vec::new(), deeds: 0, closed, ask: None, asked: 0, extra, alone: false }
    }

    /// A goal of an earlier epoch that ended so, if it did, as its records tell it; none where they do not.
    pub(super) fn past(opened: &Value, ending: Option<Ending>, now: Timestamp) -> Option<Self> {
        let text = |key: &str| opened.get(key).and_then(Value::as_str);
        let goal = Pinned {
            goal: text("goal")?.to_owned(),
            inputs: opened.get("inputs").cloned().and_then(|i| serde_json::from_value(i).ok()).unwrap_or_default(),
            requester: text("requester")?.parse().ok()?,
            agent: text("agent")?.parse().ok()?,
            origin: text("origin")?.to_owned(),
            cwd: text("cwd")?.to_owned(),
            provider: text("provider").unwrap_or_default().to_owned(),
            eyes: text("eyes").and_then(Eyes::from_word).unwrap_or(Eyes::Four),
        };
        let mut core = Pursuit::open(now, Span::from_secs(0));
        if let Some(ending) = ending {
            core.end(ending);
        }
        Some(Self::new(core, goal, ending))
    }

    /// Where its case stands while no version of a plan is under way.
    pub(super) fn stage(&self) -> &'static str {
        let goes_on = if self.asks().is_some() { "paused" } else { "planning" };
        self.closed.map_or(goes_on, Ending::as_str)
    }

    /// Whether this may be said by its planner, on behalf of the one who gave the goal.
    pub(super) fn belongs_to(&self, submission: &Submission) -> bool {
        self.goal.requester == submission.requester
            && self.goal.agent == submission.agent
            && self.goal.origin == submission.origin
            && submission.mode == Mode::Managed
            && !submission.check
    }
}

impl Gate {
    pub(super) fn open_goal(&mut self, goal: Goal, outside: Outside<'_>, effects: &mut Effects) {
        let refuse = |message: String, effects: &mut Effects| {
            effects.directives.push(Directive::AnswerPursuer(Err((Code::PlanInvalid, message))));
        };
        let fresh = format!("c-{}", outside.nonce("case").chars().take(20).collect::<String>());
        let Ok(case) = fresh.parse::<CaseId>() else { return };
        let inputs = json!(goal.inputs);
        let (words, inputs_long) = (goal.goal.len(), inputs.to_string().len());
        if goal.goal.trim().is_empty() || words > LONGEST_GOAL {
            return refuse(format!("a goal has 1 to {LONGEST_GOAL} bytes, not {words}"), effects);
        }
        if inputs_long > LONGEST_INPUTS || super::submit::is_long(&goal.cwd) || super::submit::is_long(&goal.origin) {
            return refuse("the goal's inputs, or the name of its folder, are too long".to_owned(), effects);
        }
        if let Some(message) = self.too_many() {
            return refuse(message, effects);
        }
        let eyes = goal.configuration.eyes(&self.settings);
        let opened = json!({
            "pin": budget::pin(&goal.goal, &inputs), "eyes": eyes.as_str(), "goal": goal.goal, "requester": goal.requester, "agent": goal.agent, "mode": Mode::Managed, "cwd": goal.cwd,
            "pursued": true, "inputs": record::recordable(&inputs), "origin": goal.origin, "provider": goal.provider,
        });
        effects.entries.push(record::entry(RecordKind::CaseOpened, &case, self.now(), opened));
        effects.directives.push(Directive::AnswerPursuer(Ok(case.clone())));
        let core = Pursuit::open(self.now(), self.settings.pending_for);
        let Goal { goal, inputs, cwd, requester, agent, origin, provider, configuration: _ } = goal;
        let goal = Pinned { goal, inputs, requester, agent, origin, cwd, provider, eyes };
        effects.directives.push(goal.start(&case));
        let notice = Notice::Stage { stage: "planning", detail: String::new() };
        effects.directives.push(Directive::Notify { case: case.clone(), notice });
        self.goals.insert(case, Quest::new(core, goal, None));
    }

    /// The version of its plan that a case has now, as far as the core goes.
    pub(super) fn version(&self, case: &CaseId) -> Option<&machine::Stage> {
        self.cases.get(case).map(|slot| slot.life.stage())
    }

    pub(super) fn planner(&mut self, case: &CaseId, did: PlannerDeed, effects: &mut Effects) {
        let now = self.now();
        let quest = self.goals.get_mut(case).ok_or_else(|| "no case of a planner is open here by this name".to_owned());
        let heard = quest.and_then(|quest| {
            quest.core.hear(now).map_err(|unmet| unmet.to_string())?;
            quest.deeds = quest.deeds.saturating_add(1);
            if quest.deeds > MOST_DEEDS { Err(format!("the planner led to {MOST_DEEDS} records")) } else { Ok(()) }
        });
        if let Err(message) = heard {
            refuse_planner(case, Code::PlannerRefused, message.clone(), effects);
            if !self.goals.contains_key(case) {
                return effects.directives.push(Directive::EndPlanner { case: case.clone(), reason: message });
            }
            return self.end_goal(case, Ending::Abandoned, &message, effects);
        }
        let payload = match did {
            PlannerDeed::Started { enforcement, surface } => {
                json!({"started": {"enforcement": record::recordable(&enforcement), "surface": surface}})
            }
            PlannerDeed::Loaded { groups, surface, tools } => {
                let groups: Vec<String> = groups.iter().take(256).map(|group| record::quoted(group)).collect();
                json!({"loaded": {"groups": groups, "surface": surface, "tools": tools}})
            }
            PlannerDeed::Inferred { number, request, answer, secrecy, account } => json!({"inferred": {
                "number": number, "request": request, "answer": answer, "secrecy": record::quoted(&secrecy),
                "account": record::recordable(&account),
            }}),
            PlannerDeed::Read { case, action, outcome } => json!({"read": {
                "case": case, "action": record::quoted(&action), "outcome": record::quoted(&outcome),
            }}),
            PlannerDeed::Answered { text } => return self.answered_goal(case, &text, effects),
            PlannerDeed::GaveUp { reason } => {
                heard_planner(case, effects);
                let message = format!("the planner gave up: {}", record::quoted(&reason));
                return self.end_goal(case, Ending::Abandoned, &message, effects);
            }
        };
        effects.entries.push(record::entry(RecordKind::Planner, case, now, payload));
        heard_planner(case, effects);
    }

    fn answered_goal(&mut self, case: &CaseId, text: &str, effects: &mut Effects) {
        if text.len() > LONGEST_ANSWER {
            let message = format!("an answer has at most {LONGEST_ANSWER} bytes, not {}", text.len());
            return refuse_planner(case, Code::PlannerRefused, message, effects);
        }
        let version = self.cases.get(case).map(|slot| slot.life.stage());
        let Some(quest) = self.goals.get_mut(case) else { return };
        if let Err(unmet) = quest.core.answer(version) {
            return refuse_planner(case, Code::PlannerRefused, unmet.to_string(), effects);
        }
        let payload = json!({"text": text, "digest": Digest::of(text.as_bytes())});
        effects.entries.push(record::entry(RecordKind::Answer, case, self.now(), payload));
        heard_planner(case, effects);
        self.end_goal(case, Ending::Answered, "the goal was answered", effects);
    }

    pub(super) fn planner_ended(&mut self, case: &CaseId, reason: &str, effects: &mut Effects) {
        let message = format!("the planner is gone: {}", record::quoted(reason));
        self.end_goal(case, Ending::Abandoned, &message, effects);
    }

    /// A planner or an inspector tried to act: recorded, told, and nothing of its case goes on.
    pub(super) fn separation_violation(
        &mut self,
        case: &CaseId,
        violation: Violation,
        message: &str,
        effects: &mut Effects,
    ) {
        let message = record::quoted(message);
        let fact = Fact::Critical(violation);
        let (kind, payload) = record::write(&fact, [("message".to_owned(), json!(message))].into_iter().collect());
        let told = format!("separation violation ({}): {message}", violation.as_str());
        // Of a case that nobody knows nothing is recorded as its own: a restart would look for the rest of it.
        let known = self.goals.contains_key(case) || self.cases.contains_key(case);
        effects.entries.push(match known {
            true => record::entry(kind, case, self.now(), payload),
            false => record::general(kind, self.now(), payload),
        });
        effects.directives.push(Directive::Alert { case: Some(case.clone()), message: told.clone() });
        let notice = Notice::Critical { message: told.clone() };
        effects.directives.push(Directive::Notify { case: case.clone(), notice });
        self.stop_goal(case, Cause::Violation, &told, effects);
    }

    /// Ends a pursuit and everything of its case: halted by a person, or for a violation.
    pub(super) fn stop_goal(&mut self, case: &CaseId, cause: Cause, message: &str, effects: &mut Effects) {
        let children = self.goals.get_mut(case).map(|quest| std::mem::take(&mut quest.children)).unwrap_or_default();
        let pursued = self.goals.get(case).is_some_and(|quest| quest.core.over().is_none());
        if pursued && !machine::is_active(self.version(case)) {
            let more = [("message".to_owned(), json!(message))].into_iter().collect();
            let (kind, payload) = record::write(&Fact::Halted(cause), more);
            effects.entries.push(record::entry(kind, case, self.now(), payload));
        }
        self.end_goal(case, Ending::Halted, message, effects);
        for case in std::iter::once(case).chain(&children) {
            self.step(case, Input::Halt(cause), Note::of(message), effects);
        }
    }

    /// Ends a pursuit. The case is over with it, unless a version of the plan is under way.
    pub(super) fn end_goal(&mut self, case: &CaseId, ending: Ending, message: &str, effects: &mut Effects) {
        let active = machine::is_active(self.version(case));
        let now = self.now();
        let Some(quest) = self.goals.get_mut(case) else { return };
        quest.core.end(ending);
        let reason = message.to_owned();
        effects.directives.push(Directive::EndPlanner { case: case.clone(), reason });
        if active || quest.closed.is_some() {
            return;
        }
        quest.closed = Some(ending);
        let detail = record::quoted(message);
        let payload = json!({"ending": ending.as_str(), "detail": detail});
        effects.entries.push(record::entry(RecordKind::CaseClosed, case, now, payload.clone()));
        let notice = Notice::Ended { stage: ending.as_str(), report: payload };
        effects.directives.push(Directive::Notify { case: case.clone(), notice });
    }

    /// Ends the pursuits whose planners were not heard of for too long.
    pub(super) fn tick_goals(&mut self, effects: &mut Effects) {
        let now = self.now();
        let cases = &self.cases;
        let silent = |(case, quest): (&CaseId, &mut Quest)| {
            let version = cases.get(case).map(|slot| slot.life.stage());
            quest.core.tick(now, version).map(|ending| (case.clone(), ending))
        };
        let silent: Vec<(CaseId, Ending)> = self.goals.iter_mut().filter_map(silent).collect();
        for (case, ending) in silent {
            let why = match ending {
                Ending::Expired => "its budget is spent, and nobody raised it in time",
                _ => "nothing was heard of the planner for too long",
            };
            self.end_goal(&case, ending, why, effects);
        }
    }

    /// The planner of `parent` reads in a case of its own.
    pub(super) fn adopt(&mut self, parent: &CaseId, child: CaseId) {
        let cases = &self.cases;
        if let Some(quest) = self.goals.get_mut(parent) {
            let open = |case: &CaseId| machine::is_active(cases.get(case).map(|slot| slot.life.stage()));
            quest.children.retain(open);
            quest.children.push(child);
        }
    }

    /// A case of a goal as it may be shown, where no version of a plan says more.
    pub(super) fn goal_summary(&self, case: &CaseId) -> Option<Summary> {
        let quest = self.goals.get(case)?;
        Some(Summary {
            case: case.clone(),
            stage: quest.stage(),
            requester: quest.goal.requester.clone(),
            agent: quest.goal.agent.clone(),
            goal: quest.goal.goal.clone(),
            pursued: true,
            version: 0,
            plan_digest: None,
            plan: Vec::new(),
            verdict: None,
            approvals: Vec::new(),
            pending_until: quest.core.waits(),
            asks: quest.asks().cloned(),
            extra: quest.extra,
            origin: quest.goal.origin.clone(),
            cwd: quest.goal.cwd.clone(),
        })
    }
}

fn heard_planner(case: &CaseId, effects: &mut Effects) {
    effects.directives.push(Directive::AnswerPlanner { case: case.clone(), heard: Ok(()) });
}

fn refuse_planner(case: &CaseId, code: Code, message: String, effects: &mut Effects) {
    effects.directives.push(Directive::AnswerPlanner { case: case.clone(), heard: Err((code, message)) });
}

/// Whether a record of an end ends the case: not while its planner goes on.
pub(super) fn kind_of_end(quest: Option<&Quest>) -> RecordKind {
    match quest {
        Some(quest) if quest.core.over().is_none() => RecordKind::RunEnded,
        Some(_) | None => RecordKind::CaseClosed,
    }
}

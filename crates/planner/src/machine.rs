//! The planner as a pure machine: an event in, at most one message out.
//!
//! It goes round between the model and the monitor: an inference, one decision, one request to the monitor, what came of it,
//! the next inference. Each round costs an inference, and inferences, reads and drafts are counted down from
//! [`Bounds`]; so are mistakes in a row. When one is used up, the planner gives up and says with what it ended. A message that
//! the state does not wait for ends it: nothing here guesses what a monitor may have meant.

use std::collections::BTreeSet;

use countersign_plan::id::ToolName;
use countersign_plan::observation::Observation;
use countersign_plan::verdict::Verdict;
use countersign_wire::infer::{Answer, FailureKind, Finish, Outcome, Request};
use countersign_wire::planner::{Bounds, RunResult, Surface, Task};
use serde_json::{Map, Value};

use crate::answering::Answering;
use crate::history::History;
use crate::quote::{quoted, visible};
use crate::room::Room;
use crate::turn::{self, Offer, REASON, Turn};
use crate::{prompt, schema};

/// What the monitor tells.
#[derive(Debug, Clone)]
pub enum Event {
    /// The outcome of an inference.
    Inferred(Outcome),
    /// All that is loaded now.
    Loaded(Surface),
    /// What a read showed.
    Observed(Box<Observation>),
    /// The gate's verdict.
    Reviewed {
        /// What was decided, and why.
        verdict: Box<Verdict>,
        /// Whether the plan will run if people approve it.
        waiting: bool,
    },
    /// How a run ended.
    Ran(RunResult),
    /// A request that could not be met.
    Refused {
        /// A code of the catalogue.
        code: String,
        /// What to do instead.
        message: String,
    },
}

impl Event {
    const fn name(&self) -> &'static str {
        match self {
            Self::Inferred(_) => "inferred",
            Self::Loaded(_) => "loaded",
            Self::Observed(_) => "observed",
            Self::Reviewed { .. } => "reviewed",
            Self::Ran(_) => "ran",
            Self::Refused { .. } => "refused",
        }
    }
}

/// What the planner says.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Ask the model.
    Infer(Request),
    /// Load groups of tools.
    LoadTools {
        /// Their names.
        groups: Vec<String>,
    },
    /// Read now.
    Read {
        /// The tool.
        action: ToolName,
        /// Literal arguments.
        args: Map<String, Value>,
    },
    /// Propose the first draft.
    Propose {
        /// JSON.
        draft: Vec<u8>,
    },
    /// Propose a further draft.
    Revise {
        /// JSON.
        draft: Vec<u8>,
    },
    /// Answer; the end.
    Answer {
        /// The text.
        text: String,
    },
    /// Give up; the end.
    GiveUp {
        /// Why.
        reason: String,
    },
}

impl Message {
    /// Whether nothing follows it.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Answer { .. } | Self::GiveUp { .. })
    }

    /// The end without an answer; the reason is cut at its bound.
    #[must_use]
    pub fn give_up(reason: &str) -> Self {
        // Room for the last character and the count of what was cut.
        Self::GiveUp { reason: visible(reason, REASON - 64) }
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Next {
    /// Say this.
    Say(Message),
    /// Say nothing and wait.
    Wait,
    /// The end, with nothing left to say.
    End,
}

/// The monitor said what does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A task that cannot be worked on.
    #[error("the task: {0}")]
    Task(&'static str),
    /// A message at the wrong time.
    #[error("`{event}` while {state}")]
    Unexpected {
        /// What was said.
        event: &'static str,
        /// What was waited for.
        state: &'static str,
    },
}

/// A planner at work.
#[derive(Debug)]
pub enum Machine {
    /// It drafts.
    Drafting(Box<Drafting>),
    /// It writes the answer.
    Answering(Answering),
}

impl Machine {
    /// Begins a task.
    ///
    /// # Errors
    /// [`ProtocolError::Task`].
    pub fn start(task: Task) -> Result<(Self, Next), ProtocolError> {
        match task {
            Task::Draft { goal, inputs, cwd, surface, bounds } => {
                let Value::Object(inputs) = inputs else { return Err(ProtocolError::Task("inputs are no object")) };
                let mut drafting = Drafting::new(check_goal(goal)?, inputs, cwd, surface, bounds);
                let next = drafting.infer();
                Ok((Self::Drafting(Box::new(drafting)), next))
            }
            Task::Answer { goal, results, bounds } => {
                let (answering, next) = Answering::start(&check_goal(goal)?, &results, bounds);
                Ok((Self::Answering(answering), next))
            }
        }
    }

    /// What follows an event.
    ///
    /// # Errors
    /// The event does not fit; the process must exit.
    pub fn on(&mut self, event: Event) -> Result<Next, ProtocolError> {
        match self {
            Self::Drafting(drafting) => drafting.on(event),
            Self::Answering(answering) => answering.on(event),
        }
    }
}

fn check_goal(goal: String) -> Result<String, ProtocolError> {
    match goal.len() {
        _ if goal.trim().is_empty() => Err(ProtocolError::Task("no goal")),
        length if length > prompt::GOAL => Err(ProtocolError::Task("a goal over 16 KiB")),
        _ => Ok(goal),
    }
}

/// What the machine waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Inferring,
    /// With the model's answer that led here.
    Loading(String, Vec<String>),
    Reading(String, ToolName),
    Reviewing(String),
    Running(String),
    Over,
}

impl State {
    const fn name(&self) -> &'static str {
        match self {
            Self::Inferring => "waiting for an inference",
            Self::Loading(..) => "waiting for tools",
            Self::Reading(..) => "waiting for a read",
            Self::Reviewing(_) => "waiting for a verdict",
            Self::Running(_) => "waiting for a run",
            Self::Over => "nothing is waited for",
        }
    }
}

/// Planning, up to a plan that ran, an answer or giving up.
#[derive(Debug)]
pub struct Drafting {
    goal: String,
    inputs: Map<String, Value>,
    cwd: String,
    surface: Surface,
    asked: BTreeSet<String>,
    /// As given: what a full count is.
    bounds: Bounds,
    /// What is left.
    left: Bounds,
    /// What a question may hold.
    room: Room,
    /// Mistakes in a row.
    mistakes: u32,
    /// Why the last attempt came to nothing.
    trouble: String,
    history: History,
    state: State,
}

impl Drafting {
    fn new(goal: String, inputs: Map<String, Value>, cwd: String, surface: Surface, bounds: Bounds) -> Self {
        Self {
            goal,
            inputs,
            cwd,
            surface,
            asked: BTreeSet::new(),
            bounds,
            left: bounds,
            room: Room::of(&bounds),
            mistakes: 0,
            trouble: String::new(),
            history: History::default(),
            state: State::Inferring,
        }
    }

    fn offer(&self) -> Offer<'_> {
        Offer {
            goal: &self.goal,
            inputs: &self.inputs,
            surface: &self.surface,
            asked: &self.asked,
            reads: self.left.reads,
            drafts: self.left.drafts,
        }
    }

    fn on(&mut self, event: Event) -> Result<Next, ProtocolError> {
        let state = std::mem::replace(&mut self.state, State::Over);
        Ok(match (state, event) {
            (State::Inferring, Event::Inferred(Outcome::Answer(answer))) => self.answered(answer),
            (State::Inferring, Event::Inferred(Outcome::Failure(failure))) if failure.kind == FailureKind::Garbage => {
                self.garbage(&failure.message)
            }
            (State::Inferring, Event::Inferred(Outcome::Failure(failure))) => {
                self.give_up(&format!("no inference ({:?}): {}", failure.kind, failure.message))
            }
            (State::Inferring, Event::Refused { code, message }) => {
                self.give_up(&format!("no inference ({code}): {message}"))
            }
            (State::Loading(said, _), Event::Loaded(surface)) => self.loaded(&said, surface),
            (State::Loading(said, groups), Event::Refused { code, message }) => {
                // Perhaps fewer of them at once.
                self.asked.retain(|group| !groups.contains(group));
                self.told(&said, prompt::refused("Loading", &code, &message), "Loading was refused.")
            }
            (State::Reading(said, action), Event::Observed(observation)) => {
                let brief = format!("(What {action} showed is left out here; read again if need be.)");
                self.told(&said, prompt::observed(action.as_str(), &observation, &self.room), &brief)
            }
            (State::Reading(said, _), Event::Refused { code, message }) => {
                self.told(&said, prompt::refused("The read", &code, &message), "The read was refused.")
            }
            (State::Reviewing(said), Event::Reviewed { waiting: true, .. }) => {
                self.state = State::Running(said);
                Next::Wait
            }
            (State::Reviewing(said), Event::Reviewed { verdict, waiting: false }) => {
                let told = prompt::reviewed(&verdict, &self.room);
                self.unrun(&said, told, "The gate refused that plan.")
            }
            (State::Reviewing(said), Event::Refused { code, message }) => {
                self.unrun(&said, prompt::refused("The plan", &code, &message), "That plan was refused.")
            }
            (State::Running(said), Event::Ran(result)) => self.ran(&said, &result),
            (state, event) => {
                return Err(ProtocolError::Unexpected { event: event.name(), state: state.name() });
            }
        })
    }

    /// The model's answer to a decision.
    fn answered(&mut self, answer: Answer) -> Next {
        match answer.finish {
            Finish::Refusal => return self.give_up(&format!("the model declined: {}", quoted(&answer.text, 1000))),
            Finish::Length => {
                let what = format!("it was cut at {} tokens; write less", self.room.max_tokens);
                return self.mistake(&answer.text, &what);
            }
            Finish::Stop => {}
        }
        let turn = match turn::read(&answer.text, &self.offer()) {
            Ok(turn) => turn,
            Err(error) => return self.mistake(&answer.text, &error.to_string()),
        };
        self.mistakes = 0;
        let said = answer.text;
        match turn {
            Turn::LoadTools { groups } => {
                self.asked.extend(groups.iter().cloned());
                self.state = State::Loading(said, groups.clone());
                Next::Say(Message::LoadTools { groups })
            }
            Turn::Read { action, args } => {
                self.left.reads = self.left.reads.saturating_sub(1);
                self.state = State::Reading(said, action.clone());
                Next::Say(Message::Read { action, args })
            }
            Turn::Propose { draft } => {
                let first = self.left.drafts == self.bounds.drafts;
                self.left.drafts = self.left.drafts.saturating_sub(1);
                self.state = State::Reviewing(said);
                Next::Say(if first { Message::Propose { draft } } else { Message::Revise { draft } })
            }
            Turn::Answer { text } => Next::Say(Message::Answer { text }),
            Turn::GiveUp { reason } => Next::Say(Message::give_up(&reason)),
        }
    }

    /// An answer that is no decision: the model hears what is wrong with it, a bounded number of times in a row.
    fn mistake(&mut self, said: &str, what: &str) -> Next {
        self.history.push(said, prompt::mistake(what), "That answer could not be used.".to_owned(), self.room.past);
        self.garbage(what)
    }

    /// An answer that came to nothing: the question is put once more.
    fn garbage(&mut self, what: &str) -> Next {
        self.mistakes += 1;
        if self.mistakes >= self.bounds.drafts.max(1) {
            return self.give_up(&format!("{} answers in a row could not be used; the last: {what}", self.mistakes));
        }
        what.clone_into(&mut self.trouble);
        self.infer()
    }

    fn loaded(&mut self, said: &str, surface: Surface) -> Next {
        let before: BTreeSet<&str> = self.surface.tools.iter().map(|tool| tool.name.as_str()).collect();
        let new: Vec<_> = surface.tools.iter().filter(|tool| !before.contains(tool.name.as_str())).collect();
        let told = prompt::loaded(&new);
        self.surface = surface;
        self.told(said, told.clone(), &told)
    }

    /// A draft that does not run.
    fn unrun(&mut self, said: &str, told: String, brief: &str) -> Next {
        if self.left.drafts == 0 {
            return self.give_up(&format!("no draft was accepted. {told}"));
        }
        self.trouble.clone_from(&told);
        self.told(said, told, brief)
    }

    /// A run that ended.
    fn ran(&mut self, said: &str, result: &RunResult) -> Next {
        match result.stage.as_str() {
            // The answer is for a planner that has read nothing on the way.
            "completed" => Next::End,
            "stopped" | "denied" | "expired" => {
                self.told(said, prompt::stopped(result, &self.room), "The plan did not complete.")
            }
            "halted" | "indeterminate" => {
                let detail = format!("the plan is {}; a person decides: {}", result.stage, result.detail);
                self.give_up(&detail)
            }
            other => self.give_up(&format!("the plan ended as {}", quoted(other, 80))),
        }
    }

    fn told(&mut self, said: &str, told: String, brief: &str) -> Next {
        self.history.push(said, told, brief.to_owned(), self.room.past);
        self.infer()
    }

    fn infer(&mut self) -> Next {
        if self.left.inferences == 0 {
            let last = if self.trouble.is_empty() { String::new() } else { format!("; the last: {}", self.trouble) };
            return self.give_up(&format!("{} inferences were not enough{last}", self.bounds.inferences));
        }
        self.left.inferences -= 1;
        let mut request = self.question(self.room.past);
        if !self.room.holds(&request) {
            request = self.question(0);
        }
        if !self.room.holds(&request) {
            // Then the model is asked for the form in words alone.
            request.schema = None;
        }
        if !self.room.holds(&request) {
            return self.give_up(&self.room.too_small());
        }
        self.state = State::Inferring;
        Next::Say(Message::Infer(request))
    }

    /// The next question, with at most `past` bytes of the exchanges so far and the last one in any case.
    fn question(&self, past: usize) -> Request {
        let system = prompt::planning(&self.surface, &self.asked, &self.room);
        let task = prompt::task(&self.goal, &self.cwd, &self.inputs, &self.room);
        let mut messages = self.history.messages(system, task, past);
        if let Some(last) = messages.last_mut() {
            last.content.push_str(&prompt::left(self.left.inferences, self.left.reads, self.left.drafts));
        }
        let schema = Some(schema::turn(&self.offer(), self.room.form));
        Request { messages, schema, max_tokens: self.room.max_tokens }
    }

    fn give_up(&mut self, reason: &str) -> Next {
        self.state = State::Over;
        Next::Say(Message::give_up(reason))
    }
}

#[cfg(test)]
mod tests;

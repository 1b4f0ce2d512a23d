//! What a planner may say, and when. Pure: bytes in, one demand out, and everything else is a breach (INV-9).
//!
//! Strict turns: the planner says one thing and hears one answer. It speaks first, after its task. What it says is bounded before
//! it is looked at, and counted against the bounds that it was given.

use countersign_plan::document::{self, Bounds as Documents};
use countersign_wire::infer::REQUEST_LIMIT;
use countersign_wire::planner::{Bounds, FromPlanner, from_planner, to_planner};
use serde_json::{Map, Value};

/// What a planner is given to do its work.
pub(crate) const BOUNDS: Bounds = Bounds { inferences: 24, reads: 24, drafts: 6, max_tokens: 8192, context: 0 };
/// What a planner is given to write an answer.
pub(crate) const ANSWER_BOUNDS: Bounds = Bounds { inferences: 2, reads: 0, drafts: 0, max_tokens: 4096, context: 0 };

/// The longest arguments of a read, in bytes.
const ARGS: usize = 64 << 10;
/// The longest answer, in bytes.
const ANSWER: usize = 64 << 10;
/// The longest reason, in bytes.
const REASON: usize = 4 << 10;
/// Groups that one message names, and the longest name of one.
const GROUPS: usize = 16;
const NAME: usize = 64;

/// What a draft never has: the gate sets it when it makes a plan of the draft, or a person does.
const NOT_ITS_OWN: [&str; 22] = [
    "agent",
    "approval",
    "approvals",
    "approved",
    "artifact",
    "case",
    "countersignature",
    "cwd",
    "decision",
    "deployment_digest",
    "draft_digest",
    "inputs",
    "label_proof",
    "mode",
    "nonce",
    "not_before",
    "parent",
    "permit",
    "policy_digest",
    "principal",
    "signatures",
    "version",
];

/// What the planner works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Drafts for a goal.
    Draft,
    /// The answer, from observations; without tools.
    Answer,
}

/// What the planner waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Its task.
    Task,
    /// The model.
    Model,
    /// Tools.
    Tools,
    /// What a read shows.
    Read,
    /// The gate's verdict.
    Verdict,
    /// The end of a run.
    Run,
}

/// Who speaks next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Planner,
    Monitor(Awaited),
    Over,
}

/// What the planner asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Demand {
    /// An inference: the request, unread.
    Infer(Vec<u8>),
    /// Groups of tools.
    Load(Vec<String>),
    /// A read.
    Read {
        /// The tool.
        action: String,
        /// Its arguments.
        args: Map<String, Value>,
    },
    /// A draft to be judged.
    Draft(Vec<u8>),
    /// The end, with an answer.
    Answer(String),
    /// The end, without one.
    GiveUp(String),
}

/// The planner tried something that a planner cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Breach(String);

/// The monitor may not say that now. A mistake of the monitor's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the planner does not wait for that")]
pub(crate) struct OutOfTurn;

/// One planner's conversation.
#[derive(Debug)]
pub(crate) struct Protocol {
    work: Work,
    bounds: Bounds,
    turn: Turn,
    inferences: u32,
    reads: u32,
    drafts: u32,
}

impl Protocol {
    /// A planner that was told nothing yet.
    pub(crate) const fn new(work: Work) -> Self {
        let bounds = match work {
            Work::Draft => BOUNDS,
            Work::Answer => ANSWER_BOUNDS,
        };
        Self { work, bounds, turn: Turn::Monitor(Awaited::Task), inferences: 0, reads: 0, drafts: 0 }
    }

    /// What it works on.
    pub(crate) const fn work(&self) -> Work {
        self.work
    }

    /// What bounds it.
    pub(crate) const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// How many inferences it had.
    pub(crate) const fn inferences(&self) -> u32 {
        self.inferences
    }

    /// How many drafts it proposed.
    pub(crate) const fn drafts(&self) -> u32 {
        self.drafts
    }

    /// Whether it is the planner's turn.
    pub(crate) fn thinks(&self) -> bool {
        self.turn == Turn::Planner
    }

    /// What the planner waits for.
    pub(crate) fn awaits(&self) -> Option<Awaited> {
        match self.turn {
            Turn::Monitor(awaited) => Some(awaited),
            Turn::Planner | Turn::Over => None,
        }
    }

    /// Takes what the planner said.
    ///
    /// # Errors
    /// It is no message, not its turn, not its work, or over a bound.
    pub(crate) fn hear(&mut self, message: FromPlanner) -> Result<Demand, Breach> {
        let kind = message.kind.ok_or_else(|| breach("a message of no known kind"))?;
        let name = name(&kind);
        match self.turn {
            Turn::Planner => {}
            Turn::Monitor(awaited) => return Err(Breach(format!("{name} while it waits for {}", awaited.text()))),
            Turn::Over => return Err(Breach(format!("{name} after its end"))),
        }
        let work = self.work;
        let drafting = |awaited| match work {
            Work::Draft => Ok(Turn::Monitor(awaited)),
            Work::Answer => Err(Breach(format!("{name} of a planner that only writes the answer"))),
        };
        let (demand, turn) = match kind {
            from_planner::Kind::Infer(infer) => {
                size(name, infer.request.len(), REQUEST_LIMIT)?;
                count(name, &mut self.inferences, self.bounds.inferences)?;
                (Demand::Infer(infer.request), Turn::Monitor(Awaited::Model))
            }
            from_planner::Kind::LoadTools(load) => {
                let turn = drafting(Awaited::Tools)?;
                size("groups", load.groups.len(), GROUPS)?;
                for group in &load.groups {
                    size("the name of a group", group.len(), NAME)?;
                }
                (Demand::Load(load.groups), turn)
            }
            from_planner::Kind::Read(read) => {
                let turn = drafting(Awaited::Read)?;
                size("the name of a tool", read.action.len(), 2 * NAME)?;
                size("arguments", read.args.len(), ARGS)?;
                count(name, &mut self.reads, self.bounds.reads)?;
                let args = document::from_json(&read.args, Documents { bytes: ARGS, ..Documents::PLAN })
                    .and_then(document::typed::<Map<String, Value>>)
                    .map_err(|e| Breach(format!("arguments that cannot be read: {e}")))?;
                (Demand::Read { action: read.action, args }, turn)
            }
            from_planner::Kind::Propose(propose) => {
                (self.draft(name, propose.draft, true)?, drafting(Awaited::Verdict)?)
            }
            from_planner::Kind::Revise(propose) => {
                (self.draft(name, propose.draft, false)?, drafting(Awaited::Verdict)?)
            }
            from_planner::Kind::Answer(answer) => {
                size(name, answer.text.len(), ANSWER)?;
                (Demand::Answer(answer.text), Turn::Over)
            }
            from_planner::Kind::GiveUp(given) => {
                size(name, given.reason.len(), REASON)?;
                (Demand::GiveUp(given.reason), Turn::Over)
            }
        };
        self.turn = turn;
        Ok(demand)
    }

    /// A draft comes in its order, and sets nothing that is the gate's to set.
    fn draft(&mut self, name: &str, draft: Vec<u8>, first: bool) -> Result<Demand, Breach> {
        size(name, draft.len(), Documents::PLAN.bytes)?;
        if first != (self.drafts == 0) {
            let what = if first { "a second first draft" } else { "a revision of nothing" };
            return Err(breach(what));
        }
        count(name, &mut self.drafts, self.bounds.drafts)?;
        // What is no document is the gate's to refuse; what is one shows whether it oversteps.
        if let Ok(draft) = document::from_bytes(&draft, Documents::PLAN) {
            let steps = draft.get("steps").and_then(Value::as_array).into_iter().flatten();
            let mut parts = std::iter::once(&draft).chain(steps);
            let set = parts.find_map(|part| NOT_ITS_OWN.iter().find(|field| part.get(**field).is_some()));
            if let Some(field) = set {
                return Err(Breach(format!("a draft that sets `{field}`, which only the gate sets")));
            }
        }
        Ok(Demand::Draft(draft))
    }

    /// Notes what the planner is told.
    ///
    /// # Errors
    /// The planner does not wait for that.
    pub(crate) fn tell(&mut self, kind: &to_planner::Kind) -> Result<(), OutOfTurn> {
        let Turn::Monitor(awaited) = self.turn else { return Err(OutOfTurn) };
        self.turn = match (kind, awaited) {
            (to_planner::Kind::Start(_), Awaited::Task)
            | (to_planner::Kind::Inferred(_), Awaited::Model)
            | (to_planner::Kind::Loaded(_), Awaited::Tools)
            | (to_planner::Kind::Observed(_), Awaited::Read)
            | (to_planner::Kind::Refused(_), Awaited::Tools | Awaited::Read)
            | (to_planner::Kind::Ran(_), Awaited::Run) => Turn::Planner,
            (to_planner::Kind::Reviewed(reviewed), Awaited::Verdict) if reviewed.waiting => Turn::Monitor(Awaited::Run),
            (to_planner::Kind::Reviewed(_), Awaited::Verdict) => Turn::Planner,
            (
                to_planner::Kind::Start(_)
                | to_planner::Kind::Inferred(_)
                | to_planner::Kind::Loaded(_)
                | to_planner::Kind::Observed(_)
                | to_planner::Kind::Refused(_)
                | to_planner::Kind::Ran(_)
                | to_planner::Kind::Reviewed(_),
                Awaited::Task | Awaited::Model | Awaited::Tools | Awaited::Read | Awaited::Verdict | Awaited::Run,
            ) => return Err(OutOfTurn),
        };
        Ok(())
    }

    /// Whether it may leave now.
    pub(crate) fn is_over(&self) -> bool {
        self.turn == Turn::Over
    }
}

impl Awaited {
    const fn text(self) -> &'static str {
        match self {
            Self::Task => "its task",
            Self::Model => "the model",
            Self::Tools => "tools",
            Self::Read => "what a read shows",
            Self::Verdict => "a verdict",
            Self::Run => "the end of a run",
        }
    }
}

const fn name(kind: &from_planner::Kind) -> &'static str {
    match kind {
        from_planner::Kind::Infer(_) => "a question to the model",
        from_planner::Kind::LoadTools(_) => "a request for tools",
        from_planner::Kind::Read(_) => "a read",
        from_planner::Kind::Propose(_) => "a first draft",
        from_planner::Kind::Revise(_) => "a revised draft",
        from_planner::Kind::Answer(_) => "an answer",
        from_planner::Kind::GiveUp(_) => "giving up",
    }
}

fn breach(what: &str) -> Breach {
    Breach(what.to_owned())
}

fn size(what: &str, size: usize, limit: usize) -> Result<(), Breach> {
    if size > limit { Err(Breach(format!("{what}: {size}, but at most {limit}"))) } else { Ok(()) }
}

fn count(what: &str, counter: &mut u32, limit: u32) -> Result<(), Breach> {
    if *counter >= limit {
        return Err(Breach(format!("{what} beyond the {limit} that it was given")));
    }
    *counter += 1;
    Ok(())
}

#[cfg(test)]
mod tests;

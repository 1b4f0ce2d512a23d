//! The label proof: what flow analysis found, as a value with canonical bytes whose digest stands in the plan.

use std::sync::LazyLock;

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::StepId;
use serde::{Deserialize, Serialize};

use super::crossing::Crossings;
use super::graph::Node;
use super::label::Level;
use super::session::Session;
use super::sink::{Sink, Verdict};

/// The name of this format.
pub const SCHEMA: &str = "countersign.label-proof/v1";

/// Everything that the labels of a plan were worked out from, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// `countersign.label-proof/v1`.
    pub schema: String,
    /// The draft.
    pub draft: Digest,
    /// The tools.
    pub manifest: Digest,
    /// The deployment.
    pub deployment: Digest,
    /// What the agent had done before.
    pub session: Digest,
    /// The goal, as far as one was pinned.
    pub goal: Digest,
    /// How far the planner's own words are trusted.
    pub planner: Level,
    /// The values, each made of those before it.
    pub nodes: Vec<Node>,
    /// Which node is what, step by step.
    pub steps: Vec<Parts>,
    /// Where values meet the world.
    pub sinks: Vec<Sink>,
    /// Where people let a value pass.
    pub crossings: Crossings,
}

/// The nodes of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The step.
    pub id: StepId,
    /// The leaves of its arguments, in the order of the arguments' names.
    pub leaves: Vec<usize>,
    /// What it reads.
    pub reads: Vec<usize>,
    /// What it leaves.
    pub writes: Vec<usize>,
    /// The leaves of the arguments of what takes it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<usize>,
}

impl Proof {
    /// SHA-256 of the canonical bytes.
    ///
    /// # Errors
    /// Never for a proof that was made here; kept so that nothing is signed by accident.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        canonical::of(self).map(|bytes| Digest::of(&bytes))
    }

    /// The plan's verdict: its worst sink's.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.sinks.iter().map(|sink| sink.verdict).max().unwrap_or_default()
    }
}

/// The digest under which a proof names a session.
pub(crate) fn of_session(session: &Session) -> Digest {
    static OF_NONE: LazyLock<Digest> = LazyLock::new(|| digest(Session::empty()));
    if session == Session::empty() { *OF_NONE } else { digest(session) }
}

fn digest(session: &Session) -> Digest {
    canonical::of(session).map_or_else(|_| Digest::of(b""), |bytes| Digest::of(&bytes))
}

/// The digest under which a proof names a goal.
pub(crate) fn of_goal(goal: Option<&str>) -> Digest {
    Digest::of(goal.unwrap_or("").as_bytes())
}

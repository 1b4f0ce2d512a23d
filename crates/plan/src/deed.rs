//! What a plan does, coarsely enough to be compared with what its agent did before, and how far it departs from that.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::ToolName;
use crate::time::Timestamp;
use crate::tool::Effect;

/// One thing that a plan did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// By which tool.
    pub tool: ToolName,
    /// What it does.
    pub effect: Effect,
    /// To what, coarsely: the workspace, a top folder outside it, a host, a payee, an account.
    pub place: String,
}

/// One plan of the past, or the one at hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deed {
    /// When it was proposed, gate time.
    pub at: Timestamp,
    /// What it does, in the order of its steps.
    pub acts: Vec<Act>,
}

/// How far a plan departs from the past, each part in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Departure {
    /// Kinds of action and places never seen before, 0 to 4.
    pub novelty: u8,
    /// More plans in this hour than the agent makes, 0 to 2.
    pub rate: u8,
    /// An hour of the day (UTC) at which it does not work, 0 to 2.
    pub time: u8,
    /// An order of actions never seen before, 0 to 2.
    pub sequence: u8,
}

impl Departure {
    /// All points together, 0 to 10.
    #[must_use]
    pub fn points(self) -> u8 {
        let points = [self.novelty, self.rate, self.time, self.sequence];
        points.into_iter().fold(0, u8::saturating_add).min(10)
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { novelty, rate, time, sequence } = self;
        write!(f, "{} (new {novelty}, rate {rate}, hour {time}, order {sequence})", self.points())
    }
}

//! What outlives a plan: the labels that an agent's earlier work left.

use serde::{Deserialize, Serialize};

/// The labels that what an agent did before has left. Empty for a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {}

impl Session {
    /// The session of an agent that has done nothing yet.
    #[must_use]
    pub const fn empty() -> &'static Self {
        static EMPTY: Session = Session {};
        &EMPTY
    }
}

//! Where a command would run: what relative paths, `~` and variables stand for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The surroundings of a command. Paths are absolute; the text is data from the caller, not from the proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The folder that the command starts in.
    pub cwd: String,
    /// The user's home folder.
    pub home: String,
    /// Variables with known values.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether `env` is the whole environment, so that any other variable is unset.
    #[serde(default)]
    pub env_complete: bool,
}

impl Context {
    /// A context with nothing known but the two folders.
    #[must_use]
    pub fn new(cwd: impl Into<String>, home: impl Into<String>) -> Self {
        Self { cwd: cwd.into(), home: home.into(), env: BTreeMap::new(), env_complete: false }
    }
}

//! What a step reports after it ran: a bounded typed value, decoded in the step child and nowhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

/// The largest observation that crosses a process border, in bytes of canonical JSON.
pub const OBSERVATION_LIMIT: usize = 4 << 20;

/// What one attempt of a step showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// How the attempt ended.
    pub ending: Ending,
    /// The tool's typed result; an object. Fields as FORMATS §3 names them.
    pub output: Value,
    /// Facts about the files that `expect` or a snapshot asks for, by absolute path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileFact>,
    /// Bytes of output that were dropped at a bound, by stream; empty when nothing was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
}

/// How an attempt ended, as the step child and its parent saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// The tool returned its result; a program exited (its code is in the output).
    Returned,
    /// The tool could not do it; nothing more than it reports has happened.
    Failed {
        /// What went wrong, for people.
        message: String,
    },
    /// The time of the step ran out and its whole process tree was killed.
    TimedOut,
    /// A signal ended the program.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The sandbox stopped something that the step may not do.
    Violation {
        /// What was tried, as far as the kernel says.
        message: String,
    },
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileFact {
    /// Whether the path exists.
    pub exists: bool,
    /// The content's digest, for a regular file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

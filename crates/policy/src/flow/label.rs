//! The label of a value: how far its writers are trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the writer of a value is trusted. Ordered from anybody to the runtime itself; of several writers the least holds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Anybody.
    #[default]
    Open,
    /// A party that the deployment may list.
    Party,
    /// The user, or the house for the user.
    User,
    /// The runtime.
    System,
}

//! How long a provider may take, and how often it is asked.

use std::time::Duration;

use countersign_plan::document::DocumentError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a provider may take, in milliseconds, and how often it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Patience {
    /// Until the head of an answer has come: 120,000. A local model reads the whole request before it says anything.
    pub(crate) first_byte_ms: u64,
    /// Between two pieces of an answer: 60,000.
    pub(crate) idle_ms: u64,
    /// For all of it, every attempt and pause included: 600,000.
    pub(crate) total_ms: u64,
    /// Attempts in all: 3. Each counts in the budget if the provider may have worked on it.
    pub(crate) attempts: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first_byte_ms: 120_000, idle_ms: 60_000, total_ms: 600_000, attempts: 3 }
    }
}

impl Patience {
    /// Until the head of an answer has come.
    pub(crate) const fn first_byte(&self) -> Duration {
        Duration::from_millis(self.first_byte_ms)
    }

    /// Between two pieces.
    pub(crate) const fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }

    /// For all of it.
    pub(crate) const fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }

    /// Whether a person can have meant it.
    ///
    /// # Errors
    /// No time or no attempt, a day or more, or more than ten attempts; the pointer is relative to itself.
    pub(crate) fn check(&self) -> Result<(), DocumentError> {
        let times = [("first_byte_ms", self.first_byte_ms), ("idle_ms", self.idle_ms), ("total_ms", self.total_ms)];
        for (field, millis) in times {
            if !(1..86_400_000).contains(&millis) {
                return Err(DocumentError::at(format!("/{field}"), "write 1 to 86,399,999 milliseconds"));
            }
        }
        if !(1..=10).contains(&self.attempts) {
            return Err(DocumentError::at("/attempts", "write 1 to 10"));
        }
        Ok(())
    }
}

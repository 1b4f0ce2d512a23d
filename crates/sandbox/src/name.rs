//! The names of the lists of system calls.

use serde::{Deserialize, Serialize};

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileName {
    /// Planner and inspector.
    Planner,
    /// Executor.
    Executor,
    /// Planner and inspector under a spawner that listens.
    PlannerWatched,
    /// Executor under a spawner that listens.
    ExecutorWatched,
    /// What the last two lose of their lists once the listener is handed over.
    Unwatch,
    /// A step's init with the built-in tools only.
    Builtin,
    /// A step's init that runs a program: the program's list and what the init needs beyond it.
    StepInit(Variant),
    /// A tool, as a whole: the reference that the two filters above a tool are tested against.
    #[cfg(test)]
    Program(Variant),
    /// What a tool loses of its init's list.
    TakeBack(Variant),
}

/// The two program profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The listed binaries only.
    Exact,
    /// Any code that the view permits, with a private loopback.
    Toolchain,
}

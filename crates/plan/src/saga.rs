//! Taking back what a stopped plan did: which steps, newest first, and where that ends. Gate and executor ask the same
//! function, so that they cannot differ (`lesson_28`).

use std::fmt;
use std::str::FromStr;

use crate::observation::{Ending, Observation};
use crate::permit::Phase;

/// How a step is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Undo {
    /// There is nothing to take back.
    Pure,
    /// The state before is kept and put back.
    Snapshot,
    /// The action that the draft names.
    Action,
    /// Nothing does.
    None,
}

/// The text names no way to take a step back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a step is taken back by `pure`, `snapshot`, `action` or `none`")]
pub struct UnknownUndo;

impl Undo {
    /// The word that messages use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Snapshot => "snapshot",
            Self::Action => "action",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Undo {
    type Err = UnknownUndo;

    fn from_str(text: &str) -> Result<Self, UnknownUndo> {
        match text {
            "pure" => Ok(Self::Pure),
            "snapshot" => Ok(Self::Snapshot),
            "action" => Ok(Self::Action),
            "none" => Ok(Self::None),
            _ => Err(UnknownUndo),
        }
    }
}

/// How the act of a step ended, as far as taking it back is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// As the plan says.
    Held,
    /// It returned and showed something else: the effect happened.
    Missed,
    /// The tool could not do it, or never started: nothing more than it reports has happened.
    Failed,
    /// Killed in the middle: part of the effect may have happened.
    Cut,
}

impl Fate {
    /// The fate of an attempt that ended so; `holds` says whether its expectations hold.
    #[must_use]
    pub const fn of(seen: &Observation, holds: bool) -> Self {
        match (&seen.ending, holds) {
            (Ending::Returned, true) => Self::Held,
            (Ending::Returned, false) => Self::Missed,
            (Ending::Failed { .. }, _) => Self::Failed,
            (Ending::TimedOut | Ending::Killed { .. } | Ending::Violation { .. }, _) => Self::Cut,
        }
    }

    /// The word that records use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::Failed => "failed",
            Self::Cut => "cut",
        }
    }
}

impl FromStr for Fate {
    type Err = UnknownUndo;

    fn from_str(text: &str) -> Result<Self, UnknownUndo> {
        match text {
            "held" => Ok(Self::Held),
            "missed" => Ok(Self::Missed),
            "failed" => Ok(Self::Failed),
            "cut" => Ok(Self::Cut),
            _ => Err(UnknownUndo),
        }
    }
}

/// What is to be done about one step that acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TakeBack {
    /// Nothing: go on with the step before.
    Skip,
    /// This, then go on with the step before. What failed and is put back all the same may be left out.
    By(Phase),
    /// It cannot be taken back: it stands, and so does everything before it.
    Stand,
}

/// What is to be done about a step that acted, when a plan stops. Asked newest first, up to the first [`TakeBack::Stand`].
///
/// What failed is put back from its snapshot, which harms nothing, but no action is run against it: "create, else delete"
/// would delete what was there before.
#[must_use]
pub const fn take_back(undo: Undo, fate: Fate) -> TakeBack {
    match (undo, fate) {
        (Undo::Pure, _) | (Undo::Action | Undo::None, Fate::Failed) => TakeBack::Skip,
        (Undo::Snapshot, _) => TakeBack::By(Phase::Restore),
        (Undo::Action, Fate::Held | Fate::Missed) => TakeBack::By(Phase::Compensate),
        (Undo::Action, Fate::Cut) | (Undo::None, _) => TakeBack::Stand,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, TakeBack, Undo, take_back};
    use crate::permit::Phase;

    #[test]
    fn lesson_28_what_cannot_be_taken_back_stands_and_what_failed_is_not_compensated() {
        assert_eq!(take_back(Undo::None, Fate::Held), TakeBack::Stand);
        assert_eq!(take_back(Undo::Action, Fate::Cut), TakeBack::Stand);
        assert_eq!(take_back(Undo::Action, Fate::Failed), TakeBack::Skip);
        assert_eq!(take_back(Undo::Action, Fate::Missed), TakeBack::By(Phase::Compensate));
        assert_eq!(take_back(Undo::Snapshot, Fate::Failed), TakeBack::By(Phase::Restore));
        assert_eq!(take_back(Undo::Pure, Fate::Cut), TakeBack::Skip);
    }
}

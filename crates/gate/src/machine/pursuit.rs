//! A goal that a planner works on: which of its plan's versions may come, and when the case is over.
//!
//! The case of a goal is two things side by side: the pursuit, which a planner keeps going, and at most one version of a plan
//! at a time, which is a [`super::Case`] like any other, with approvals of its own. The pursuit gives a planner no means to
//! act: it opens versions, and it ends.

use countersign_plan::approval::Answer;
use countersign_plan::time::{Span, Timestamp};

use super::{Ending, Eyes, Stage, Unanswered};

/// The most versions of a plan that one goal may lead to.
pub const MOST_VERSIONS: u32 = 32;

/// A pursuit as the core sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pursuit {
    over: Option<Ending>,
    versions: u32,
    heard: Timestamp,
    patience: Span,
    /// A budget is spent: people are asked until then.
    waits: Option<Timestamp>,
}

/// Why a planner does not get what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unmet {
    /// The pursuit ended.
    #[error("the case takes nothing more from its planner")]
    Over,
    /// A version of the plan is under way.
    #[error("a version of the plan waits for people, runs, or has an unknown outcome; wait for its end")]
    Busy,
    /// There were too many versions.
    #[error("the goal has led to {MOST_VERSIONS} versions of a plan, which is the most")]
    Versions,
}

impl Pursuit {
    /// A pursuit that begins, and ends by itself when nothing is heard of its planner for so long.
    #[must_use]
    pub const fn open(now: Timestamp, patience: Span) -> Self {
        Self::again(0, now, patience)
    }

    /// One that goes on after so many versions.
    #[must_use]
    pub const fn again(versions: u32, now: Timestamp, patience: Span) -> Self {
        Self { over: None, versions, heard: now, patience, waits: None }
    }

    /// How it ended, if it did.
    #[must_use]
    pub const fn over(&self) -> Option<Ending> {
        self.over
    }

    /// The planner says something.
    ///
    /// # Errors
    /// The pursuit is over.
    pub fn hear(&mut self, now: Timestamp) -> Result<(), Unmet> {
        if self.over.is_some() {
            return Err(Unmet::Over);
        }
        self.heard = self.heard.max(now);
        self.waits = None;
        Ok(())
    }

    /// A budget is spent: people are asked, until then.
    ///
    /// # Errors
    /// The pursuit is over.
    pub const fn pause(&mut self, until: Timestamp) -> Result<(), Unmet> {
        if self.over.is_some() {
            return Err(Unmet::Over);
        }
        self.waits = Some(until);
        Ok(())
    }

    /// Until when people are asked, while they are.
    #[must_use]
    pub const fn waits(&self) -> Option<Timestamp> {
        if self.over.is_some() { None } else { self.waits }
    }

    /// A person answers what is asked: it goes on, or ends. `proposer` and `own` say whether that person is the planner, or the
    /// one who gave the goal (INV-7).
    ///
    /// # Errors
    /// The answer does not count.
    pub fn decide(
        &mut self,
        now: Timestamp,
        answer: Answer,
        proposer: bool,
        own: bool,
        eyes: Eyes,
    ) -> Result<(), Unanswered> {
        if self.waits().is_none() {
            return Err(Unanswered::NotPending);
        }
        if proposer {
            return Err(Unanswered::Proposer);
        }
        match answer {
            Answer::Deny => self.over = Some(Ending::Denied),
            Answer::Approve if own && eyes != Eyes::Two => return Err(Unanswered::Requester),
            Answer::Approve => (self.waits, self.heard) = (None, self.heard.max(now)),
        }
        Ok(())
    }

    /// The number of the version that may come now. A version that waits for people may be superseded, one that may act not.
    ///
    /// # Errors
    /// None may.
    pub fn propose(&self, version: Option<&Stage>) -> Result<u32, Unmet> {
        if self.over.is_some() {
            return Err(Unmet::Over);
        }
        match version {
            None | Some(Stage::Pending(_) | Stage::Closed(..)) => {}
            Some(Stage::Countersigned(_) | Stage::Running(_) | Stage::Indeterminate { .. }) => return Err(Unmet::Busy),
        }
        if self.versions >= MOST_VERSIONS { Err(Unmet::Versions) } else { Ok(self.versions + 1) }
    }

    /// A version came.
    pub const fn proposed(&mut self) {
        self.versions = self.versions.saturating_add(1);
    }

    /// The planner answers the goal: the end, unless something is still under way.
    ///
    /// # Errors
    /// The pursuit is over, or a version is not.
    pub fn answer(&mut self, version: Option<&Stage>) -> Result<(), Unmet> {
        if self.over.is_some() {
            return Err(Unmet::Over);
        }
        if is_active(version) {
            return Err(Unmet::Busy);
        }
        self.over = Some(Ending::Answered);
        Ok(())
    }

    /// It ends otherwise: given up, stopped. What a version still does is that version's matter.
    pub fn end(&mut self, ending: Ending) {
        self.over.get_or_insert(ending);
    }

    /// Time passed: a planner that is not heard of for too long has given up, and what people did not answer in time expires. While
    /// a version is under way it has to wait. Returns how it ended, if it did.
    pub fn tick(&mut self, now: Timestamp, version: Option<&Stage>) -> Option<Ending> {
        if self.over.is_some() {
            return None;
        }
        if is_active(version) {
            self.heard = self.heard.max(now);
            return None;
        }
        let (until, ending) = match self.waits {
            Some(until) => (until, Ending::Expired),
            None => (self.heard.plus(self.patience), Ending::Abandoned),
        };
        if now >= until {
            self.over = Some(ending);
        }
        self.over
    }
}

/// Whether a version is not over.
#[must_use]
pub const fn is_active(version: Option<&Stage>) -> bool {
    match version {
        None | Some(Stage::Closed(..)) => false,
        Some(Stage::Pending(_) | Stage::Countersigned(_) | Stage::Running(_) | Stage::Indeterminate { .. }) => true,
    }
}

//! What people are shown: pure functions from data to lines.
//!
//! Facts first, the planner's words last, quoted and marked untrusted. Whatever hides is escaped where a line is made, so that
//! no text from outside reaches a terminal as it is; nothing is cut without a count and a digest (lesson 22).

pub(crate) mod audit;
pub(crate) mod case;
pub(crate) mod eval;
pub(crate) mod line;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod verdict;

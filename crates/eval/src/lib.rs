//! Measure: suites of attacks and ordinary actions (FORMATS §7), decided by the gate's own review.
//!
//! Nothing here decides. A case goes the way of a proposal: its bytes are read as the gate reads them, then
//! [`countersign_policy::review::review`] judges the plan, and [`countersign_inspect::inspect`] answers in process what the
//! monitor asks a sealed process. No person takes part, and no model unless an [`evaluator`] was asked for; nothing is recorded,
//! nothing runs. Paths of a suite are of another machine and are judged as written.
//!
//! [`suite::Suite::load`] reads a folder, [`run::run`] decides its cases, [`report::Report`] counts them; [`ratchet`],
//! [`mod@diff`] and [`html`] work on reports.

pub mod case;
pub mod diff;
#[cfg(feature = "classifier")]
pub mod doubt;
pub mod evaluator;
pub mod facts;
pub mod half;
pub mod html;
mod interval;
mod judge;
pub mod ratchet;
pub mod report;
pub mod run;
pub mod suite;
mod tally;
pub mod target;

//! The planner: turns a goal into drafts through a model, and holds no authority. It has no file, no network, no program and
//! one socket; everything it may do is ask the monitor (INV-5).
//!
//! The model is believed about nothing. What it answers goes text → [`extract`] (one JSON object) → [`turn`] (one bounded
//! decision, of the kinds that are open now) → [`machine`], which says at most one message for each event. What it is shown
//! goes through [`prompt`] and [`quote`]: observations as data, escaped and bounded; the tools as one line each
//! ([`signature`]); the form of its answer as a JSON Schema ([`schema`]); all of it cut to what the model can take ([`room`]). When a plan has run, this process ends; a fresh one
//! without tools writes the answer ([`answering`]), so that what was read while planning cannot steer it.

pub mod answering;
pub mod channel;
pub mod extract;
pub mod history;
pub mod machine;
pub mod prompt;
pub mod quote;
pub mod room;
pub mod schema;
pub mod seat;
pub mod signature;
pub mod turn;

#[cfg(test)]
mod sample;

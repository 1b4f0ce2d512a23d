//! The program as a whole: what is typed, what comes back, and what is said to the monitor.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on fails")]
#![expect(clippy::panic, reason = "a test that cannot go on fails")]

mod answers;
mod anthropic;
mod audit;
mod budgets;
mod eval;
mod fake;
mod goals;
mod help;
mod keys;
mod monitor;
mod offline;
mod pinning;
mod proposals;
mod sandbox;
mod terminal;

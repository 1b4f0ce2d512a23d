//! The monitor as a real process: started, spoken to over its sockets, killed, started again.
//!
//! Needs the programs beside each other: `cargo build --bins` (the checks do that first).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed expectation is a failed test"
)]

mod attack;
mod boot;
mod broker;
mod budget;
mod classifier;
mod crash;
mod erase;
mod evaluator;
mod executor;
mod goal;
mod harness;
mod inspector;
mod interrupted;
mod killed;
mod life;
mod network;
mod outside;
mod past;
mod snapshots;
mod states;
mod thinker;
mod told;

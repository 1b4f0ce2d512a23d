//! The ledger from outside: what its owner, an auditor and an attacker can do.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that meets the unexpected fails")]

mod conformance;
mod crash;
mod export;
mod ledger;
mod opening;
mod proofs;
mod sealing;
mod sqlite;
mod support;
mod verify;

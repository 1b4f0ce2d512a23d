//! The ledger as an auditor and an attacker see it: exports, proofs, and databases that were killed, altered or erased.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that meets the unexpected fails")]

mod conformance;
mod crash;
mod damage;
mod export;
mod proofs;
mod revision;
mod sealing;
mod support;
mod verify;

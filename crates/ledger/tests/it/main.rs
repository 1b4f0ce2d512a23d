//! The ledger from outside: what its owner can do with it. What auditors and attackers can is in `countersign-audit`.

#![expect(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod ledger;
mod opening;
mod sqlite;
mod support;

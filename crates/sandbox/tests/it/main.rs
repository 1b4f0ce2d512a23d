//! The sandbox as its callers use it: a single-threaded spawner (the example `confined_fixture`) starts itself confined, and the
//! confined side reports what it can do.
//!
//! Contents: `view` (exactly the grants), `swap` (files exchanged after approval), `hygiene` (environment, descriptors, network, limits), `tree` (death of the whole
//! tree), `attest` (a child that skipped a layer), `tools` (real programs under the `program` list), `fallback` (without namespaces), `group` (limits over the tree), `closure`
//! (programs with their libraries and nothing beside them).
//!
//! Run as root, every scenario is run a second time as an ordinary user.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod attest;
mod closure;
mod fallback;
mod group;
mod harness;
mod hygiene;
mod swap;
mod tools;
mod tree;
mod view;

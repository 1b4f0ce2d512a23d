//! The plan as a value, from outside: vectors that any language can run, and properties over drawn documents.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod conformance;
mod oracle;
mod properties;

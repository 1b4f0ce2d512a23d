//! Suites decided as a whole: what a report says of them, and that it is the gate's review which said it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod decided;
mod house;
mod own;

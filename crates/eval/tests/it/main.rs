//! Suites decided as a whole: what a report says of them, and that it is the gate's review which said it.

mod decided;
mod house;
mod own;

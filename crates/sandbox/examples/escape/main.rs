//! `escape`: tries to get out of the sandbox, in every way we know, and says what stopped each attempt.
//!
//! ```text
//! cargo run -p countersign-sandbox --example escape -- --table planner
//! ```
//!
//! Every probe runs in a fresh process: first unsandboxed (a probe that fails there proves nothing here and is never
//! counted as passed), then with all layers, then with each group of layers alone and with each taken away. Where an attempt
//! would have an effect outside, the effect counts, not what the probe was told. Exit code 1: something came through.

use std::process::ExitCode;

mod battery;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    battery::run(&arguments)
}

//! The zygote: one thread, an empty environment, no secret. It starts sealed children for the monitor and verifies the
//! gate's signature itself before it starts a step: who can speak to it can still start nothing without a permit (INV-1, INV-5).
//!
//! Started by the monitor before its async runtime and its keys exist, with the packet socket as descriptor 0.
//! `--probe` prints what this kernel can enforce, as JSON, and ends.

mod authority;
mod children;
mod serve;
mod view;

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("--probe") => probe(),
        None => serve::serve(std::io::stdin().as_fd()).map_err(|e| e.to_string()),
        Some(_) => {
            Err("this program is started by countersignd; `--probe` says what this kernel can enforce".to_owned())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Nobody is left to tell when even this fails.
            drop(writeln!(std::io::stderr(), "countersign-zygote: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn probe() -> Result<(), String> {
    let bytes = serde_json::to_vec_pretty(&countersign_sandbox::probe()).map_err(|e| e.to_string())?;
    let mut out = std::io::stdout();
    out.write_all(&bytes).and_then(|()| out.write_all(b"\n")).map_err(|e| e.to_string())
}

//! The broker: the only process with a network and with keys. It signs nothing, decides nothing and starts no step; what it does
//! for a step is what the step's permit binds (INV-1), and what it holds no plan, planner, executor or step ever sees (INV-10).
//!
//! Started by the monitor with a socket (descriptor 3) and, where the configuration names environment variables, a sealed memory
//! file with their values (descriptor 4). It ends when the monitor closes the socket. `--schema` prints the JSON Schema of its
//! configuration and ends; `--variables` reads a configuration from standard input and prints the environment variables it names.

mod address;
mod changes;
mod channel;
mod configuration;
mod confine;
mod credentials;
mod desk;
mod events;
mod fetch;
mod grant;
mod http;
mod inference;
mod kept;
mod lease;
mod mail;
mod mcp;
mod message;
mod model;
mod outbox;
mod refusal;
mod resolve;
mod secrets;
mod serve;
mod sigv4;
mod start;
mod stream;

use std::alloc::System;
use std::io::Write as _;
use std::process::ExitCode;

use zeroizing_alloc::ZeroAlloc;

/// What is let go of is overwritten, in every library that held a copy: requests that were sent, tables that look for values.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    match start::run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when even this fails.
            drop(writeln!(std::io::stderr(), "countersign-broker: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

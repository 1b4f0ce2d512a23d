//! The monitor: drives the gate with sockets, a clock, keys and children. Thin: everything it decides, the gate decides.
//!
//! Order of the start: empty environment, zygote (one thread, no secret yet), lock, keys, ledger, replay, sockets.

mod broker;
mod changes;
mod channel;
mod clock;
mod closure;
mod configure;
mod facts;
mod folders;
mod inspector;
mod keys;
mod monitor;
mod past;
mod peer;
mod sockets;
mod start;
mod toolchain;
mod zygote;

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match start::Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => match start::run(&arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                log(&message);
                ExitCode::FAILURE
            }
        },
        Err(usage) => {
            log(&usage);
            ExitCode::from(2)
        }
    }
}

/// One line of the daemon's log. Nothing that a plan or a tool says goes in unescaped, and no payload at all.
pub(crate) fn log(message: &str) {
    // A log that cannot be written must not stop the monitor: the ledger is the evidence.
    drop(writeln!(std::io::stderr(), "countersignd: {}", countersign_plan::text::escape(message)));
}

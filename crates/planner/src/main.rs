//! Started by the zygote with one socket (descriptor 3). It seals itself before its first read, announces that, reads its
//! task, and then is [`countersign_planner::machine::Machine`]: an event in, at most one message out.

use std::io::Write as _;
use std::process::ExitCode;

use countersign_planner::{channel, seat};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Descriptor 2 leads nowhere in production; whoever starts this by hand reads why it ends.
            drop(writeln!(std::io::stderr(), "countersign-planner: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let mut socket = seat::take()?;
    Ok(channel::serve(&mut socket)?)
}

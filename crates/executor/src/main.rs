//! The executor: runs one countersigned plan and holds no authority. It has no file, no network, no program and no clock;
//! everything it may do is ask the gate for leave, in the order of the plan that it verified itself (INV-5).
//!
//! Started by the zygote with one socket (descriptor 3). It seals itself before its first read, announces that, reads the
//! plan, verifies the gate's countersignature, and then is [`machine::Machine`]: an event in, a message out.

mod channel;
mod machine;
mod start;

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::Context as _;
use countersign_sandbox::{Layers, announce, inherited, seal_executor};

/// The descriptor of the socket to the monitor.
const CONTROL: u32 = 3;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Descriptor 2 leads nowhere in production; whoever starts this by hand reads why it ends.
            drop(writeln!(std::io::stderr(), "countersign-executor: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let control = inherited(CONTROL).context("this program is started by countersign-zygote")?;
    countersign_plan::expect::prepare();
    let enforcement = seal_executor(Layers::all()).context("cannot seal")?;
    announce(control.as_fd(), &enforcement).context("cannot announce")?;
    channel::serve(&mut UnixStream::from(control))
}

//! The init of a step's sandbox: process 1 inside, with the built-in tools.
//!
//! Started by the zygote with its socket as descriptor 3, its order as descriptor 4 and the kind of seal as its only
//! argument. It seals itself before it reads anything, announces that, waits for the monitor's single byte, does what the
//! order says, reports what it saw, and ends; everything that is left of the step ends with it.

mod beside;
mod bounded;
mod broker;
mod channel;
mod failure;
mod order;
mod perform;
mod program;
mod relay;
mod roots;
mod tools;
mod tunnel;
mod watcher;

use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use countersign_sandbox::{Layers, ProgramSeal, StepSeal, announce, inherited, seal_step_init};
use countersign_wire::step::GO;

use crate::channel::Channel;
use crate::perform::{Perform, Performed};
use crate::program::Launcher;
use crate::watcher::Watcher as _;

/// The descriptors that the zygote passes.
const CONTROL: u32 = 3;
const ORDER: u32 = 4;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Descriptor 2 leads nowhere in production; whoever starts this by hand reads why it ends.
            drop(writeln!(std::io::stderr(), "countersign-step: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let by_hand = "this program is started by countersign-zygote";
    let word = std::env::args().nth(1).context(by_hand)?;
    let seal = StepSeal::from_argument(&word).context(by_hand)?;
    let control = inherited(CONTROL).context(by_hand)?;
    let file = inherited(ORDER).context(by_hand)?;
    let launcher = match seal {
        StepSeal::Builtin => None,
        StepSeal::Program(variant) => Some(Launcher::new(
            ProgramSeal::prepare(variant).context("cannot prepare the program's seal")?,
            Layers::all(),
        )),
    };
    let enforcement = seal_step_init(seal, Layers::all()).context("cannot seal")?;
    announce(control.as_fd(), &enforcement).context("cannot announce")?;

    let mut socket = UnixStream::from(control);
    let mut go = [0];
    socket.read_exact(&mut go).context("the monitor went away before the step began")?;
    if go != [GO] {
        bail!("the monitor said something else than to begin");
    }
    let order = order::read(file)?;
    if order::seal(order.spec.profile) != seal {
        bail!("the order is for another seal than this process has");
    }
    let mut channel = Channel::new(socket);
    match (Perform { order: &order, launcher: launcher.as_ref(), watcher: &mut channel }).run() {
        Performed::Seen(observation) => channel.observed(&observation),
        Performed::Unknown(message) => {
            // A step that ends without an observation is lost: the gate asks a person and repeats nothing (INV-2).
            channel.output(true, message.as_bytes());
            channel.flush().context("cannot tell the monitor")?;
            bail!("{message}")
        }
    }
}

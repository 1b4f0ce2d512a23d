//! `countersign`: the human hand. Submits, shows, asks, signs and verifies; decides nothing and holds no authority but the
//! approver's key while a passphrase is typed.
//!
//! One file per command under `commands/`. What is shown comes from pure functions in `render/`; what is printed goes through
//! `out`; what is asked of the monitor goes through `client`; the environment is read in `paths` alone.

mod anchor;
mod args;
mod client;
mod clock;
mod commands;
mod document;
mod failure;
mod key;
mod out;
mod passphrase;
mod paths;
mod render;
mod sign;

use std::process::ExitCode;

use clap::Parser as _;

use crate::failure::Exit;
use crate::out::Out;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            // clap writes help to stdout and mistakes to stderr; where both are closed there is nobody to tell.
            return error.print().map_or(Exit::Internal, |()| exit).into();
        }
    };
    let mut out = Out::new(cli.json, paths::colour_wanted());
    match commands::perform(cli.command, &mut out) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            out.failure(&failure);
            failure.exit.into()
        }
    }
}

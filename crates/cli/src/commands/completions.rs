//! `completions`: a script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::failure::{Exit, Failure};
use crate::out::Out;

pub(super) fn completions(shell: Shell, out: &Out) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "countersign", &mut script);
    out.raw(&script)?;
    Ok(Exit::Done)
}

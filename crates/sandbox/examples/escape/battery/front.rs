//! The front door: arguments, and what a run is worth.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use countersign_sandbox::Variant;

use super::scan::{Options, Which, scan};
use super::table::{Form, render};
use super::{in_own_session, part};

const USAGE: &str =
    "usage: escape --table planner|step-exact|step-toolchain [--json|--summary] [--quick] [--spares] [--only ID,ID...] [--floor N]
  --quick    only the columns \"outside\" and \"all layers\"
  --spares   spawn as the zygote does, with namespaces made in advance; the network probes have nobody to reach then
  --only     only these probes
  --summary  only the counts; the table too if something is wrong
  --floor    fail if fewer than N probes are valid on this machine: such a run proves too little";

/// A whole command line.
#[derive(Debug)]
struct Command {
    options: Options,
    form: Form,
    floor: usize,
}

/// Plays the part that the arguments name, or runs a battery in a process of its own.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if let Some(code) = part(arguments) {
        return code;
    }
    let done = match arguments.split_first() {
        Some((first, rest)) if first == "--harness" => parse(rest).and_then(|command| harness(&command)),
        _ => parse(arguments).and_then(|_| in_own_session(arguments)),
    };
    done.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "escape: {error:#}");
        ExitCode::from(2)
    })
}

fn harness(command: &Command) -> Result<ExitCode> {
    let scan = scan(&command.options)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", render(&scan, command.form))?;
    let enough = scan.valid() >= command.floor;
    if command.form == Form::Summary && !scan.holds() {
        writeln!(out, "{}", render(&scan, Form::Table))?;
    }
    if !enough {
        writeln!(
            out,
            "only {} probes are valid here, fewer than {}: this run proves too little",
            scan.valid(),
            command.floor
        )?;
    }
    Ok(if enough && scan.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse(arguments: &[String]) -> Result<Command> {
    let mut which = None;
    let (mut layers, mut spares, mut form, mut only, mut floor) = (true, false, Form::Table, Vec::new(), 0);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--json" => form = Form::Json,
            "--summary" => form = Form::Summary,
            "--quick" => layers = false,
            "--spares" => spares = true,
            "--only" => only = value()?.split(',').map(str::to_owned).collect(),
            "--floor" => floor = value()?.parse().with_context(|| format!("--floor needs a number\n{USAGE}"))?,
            "--table" => {
                which = Some(match value()?.as_str() {
                    "planner" => Which::Planner,
                    "step-exact" => Which::Step(Variant::Exact),
                    "step-toolchain" => Which::Step(Variant::Toolchain),
                    other => return Err(anyhow!("no table {other}\n{USAGE}")),
                });
            }
            _ => return Err(anyhow!("unknown argument {word}\n{USAGE}")),
        }
    }
    let which = which.ok_or_else(|| anyhow!("{USAGE}"))?;
    Ok(Command { options: Options { which, layers, spares, only }, form, floor })
}

//! Programs: by argv, by a shell line, by a manifest's template, as an MCP server, and git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_plan::confinement::Profile;
use countersign_plan::observation::Ending;
use countersign_plan::tool::{CommandDriver, Handed, Part};
use countersign_wire::egress::ask;
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::Value;

use super::environment::{environment, find};
use super::handed::Handing;
use super::template::part;
use super::{Outcome, Seen, git, mcp, time};
use crate::beside::{Beside, Served};
use crate::failure::Failure;
use crate::program::{Invocation, Launcher, Ran, forbidden};
use crate::relay::Relay;
use crate::roots::Roots;
use crate::watcher::Watcher;

/// Runs the programs of one step.
#[derive(Debug)]
pub(super) struct Runner<'a> {
    pub(super) roots: Roots<'a>,
    pub(super) launcher: &'a Launcher,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramArguments {
    argv: Vec<String>,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    stdin: String,
    timeout_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandArguments {
    command: String,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GitArguments {
    repo: String,
    args: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DescribeArguments {
    server: String,
    argv: Vec<String>,
}

impl Runner<'_> {
    /// `run_program`: a program with its arguments, without a shell.
    pub(super) fn program(&self, args: ProgramArguments, watcher: &mut dyn Watcher) -> Outcome<Seen> {
        let invocation = Invocation {
            path: self.program_path(args.argv.first())?,
            environment: environment(self.roots.spec(), &args.env)?,
            cwd: self.cwd(args.cwd.as_deref())?,
            timeout: self.timeout(args.timeout_s),
            beside: self.beside()?,
            ..self.invocation(args.argv, args.stdin.into_bytes())
        };
        Ok(self.launcher.run(invocation, watcher)?.seen())
    }

    /// `execute_command`: a line for `sh`.
    pub(super) fn command(&self, args: CommandArguments, watcher: &mut dyn Watcher) -> Outcome<Seen> {
        let argv = vec!["sh".to_owned(), "-c".to_owned(), args.command];
        let invocation = Invocation {
            path: find(self.roots.spec(), "sh")?,
            environment: environment(self.roots.spec(), &args.env)?,
            cwd: self.cwd(args.cwd.as_deref())?,
            timeout: self.timeout(args.timeout_s),
            beside: self.beside()?,
            ..self.invocation(argv, Vec::new())
        };
        let mut ran = self.launcher.run(invocation, watcher)?;
        if ran.exit_code == Some(128 + Signal::SYS.as_raw()) {
            // The shell's words for a program that was ended so.
            ran.ending = Ending::Violation { message: forbidden() };
        }
        Ok(ran.seen())
    }

    /// `git`, with everything that a repository could make it run switched off (`lesson_08`).
    pub(super) fn git(&self, GitArguments { repo, args }: GitArguments, watcher: &mut dyn Watcher) -> Outcome<Seen> {
        git::check(&args)?;
        let repo = self.roots.absolute(&repo)?;
        let path = find(self.roots.spec(), "git")?;
        let base = environment(self.roots.spec(), &BTreeMap::new())?;
        let beside = self.beside()?;
        let reaches = beside.relay.is_some();
        let git = |argv: Vec<String>, settings: &[git::Setting]| Invocation {
            path: path.clone(),
            environment: git::environment(base.clone(), &repo, settings, reaches),
            cwd: repo.clone(),
            ..self.invocation(argv, Vec::new())
        };
        // Both calls believe the same files: what the first may not read, the second must not either.
        let list = Invocation { keep: git::CONFIGURATION_LIMIT, ..git(git::list(), &git::fixed()) };
        let configured = git::configured(&self.launcher.run(list, &mut Nobody)?)?;
        let invocation = Invocation { beside, ..git(git::argv(args), &git::settings(&configured)) };
        Ok(self.launcher.run(invocation, watcher)?.seen())
    }

    /// A tool whose manifest is a template of a command line: each argument is one whole element of it.
    pub(super) fn template(&self, driver: &CommandDriver, args: &Value, watcher: &mut dyn Watcher) -> Outcome<Seen> {
        let mut invocation = Invocation { beside: self.beside()?, ..self.plain(command_line(driver, args)?)? };
        let _given = Handing::new(self.roots.spec(), args, watcher).command(driver, &mut invocation)?;
        Ok(self.launcher.run(invocation, watcher)?.seen())
    }

    /// An MCP server that runs here, for one call.
    pub(super) fn serve(
        &self,
        argv: &[String],
        env: &BTreeMap<String, Handed>,
        call: ask::Mcp,
        watcher: &mut dyn Watcher,
    ) -> Outcome<Seen> {
        let beside = Beside { served: Some(Served::new(call)), ..self.beside()? };
        let mut invocation = Invocation { beside, ..self.plain(argv.to_vec())? };
        let _given = Handing::new(self.roots.spec(), &Value::Null, watcher).environment(env, &mut invocation)?;
        let mut ran = self.launcher.run(invocation, watcher)?;
        match ran.answer.take() {
            Some(answer) => mcp::seen(answer),
            None => Err(mcp::unanswered(&ran)),
        }
    }

    /// `mcp_describe`: an MCP server that runs here and is asked what its tools are.
    pub(super) fn describe(&self, args: DescribeArguments, watcher: &mut dyn Watcher) -> Outcome<Seen> {
        self.serve(&args.argv, &BTreeMap::new(), mcp::describe(args.server, self.roots.spec()), watcher)
    }

    /// A program with arguments and nothing else.
    fn plain(&self, argv: Vec<String>) -> Outcome<Invocation> {
        Ok(Invocation {
            path: self.program_path(argv.first())?,
            environment: environment(self.roots.spec(), &BTreeMap::new())?,
            cwd: self.cwd(None)?,
            ..self.invocation(argv, Vec::new())
        })
    }

    /// With a slash it is a path, in the view and from where the program starts; without, the work folder is not searched.
    fn program_path(&self, program: Option<&String>) -> Outcome<PathBuf> {
        let program = program.ok_or_else(|| Failure::new("/argv is empty"))?;
        let spec = self.roots.spec();
        if program.contains('/') { Ok(Path::new(&spec.cwd).join(program)) } else { find(spec, program) }
    }

    fn invocation(&self, arguments: Vec<String>, input: Vec<u8>) -> Invocation {
        let keep = usize::try_from(self.roots.spec().limits.output_bytes).unwrap_or(usize::MAX);
        Invocation {
            path: PathBuf::new(),
            arguments,
            environment: BTreeMap::new(),
            cwd: PathBuf::new(),
            input,
            timeout: self.timeout(None),
            keep,
            beside: Beside::default(),
            shown: None,
        }
    }

    fn cwd(&self, cwd: Option<&str>) -> Outcome<PathBuf> {
        self.roots.absolute(cwd.unwrap_or("."))
    }

    fn timeout(&self, seconds: Option<f64>) -> Duration {
        time(self.roots.spec(), seconds)
    }

    /// The road to granted hosts, where the spec grants any.
    fn beside(&self) -> Outcome<Beside> {
        let spec = self.roots.spec();
        if spec.egress.connect.is_empty() {
            return Ok(Beside::default());
        }
        if spec.profile != Profile::Toolchain || !spec.loopback {
            return Err(Failure::new(
                "the step was granted hosts, but a program of its profile can make no connection; only the profile \
                 `toolchain` has a loopback",
            ));
        }
        let failed = |e| Failure::new(format!("the relay to the granted hosts cannot listen: {e}"));
        let relay = Relay::new(&spec.egress.connect).map_err(failed)?;
        Ok(Beside { relay: Some(relay), served: None })
    }
}

/// The command line of a template. What an argument says is data: it stands where the template puts it, and begins with `-` only
/// after a literal `--`, so that it cannot be taken for an option.
fn command_line(driver: &CommandDriver, args: &Value) -> Outcome<Vec<String>> {
    let mut argv = Vec::new();
    let mut data = false;
    for element in &driver.argv {
        match element {
            Part::Literal(text) => {
                data |= text == "--";
                argv.push(text.clone());
            }
            Part::Argument(_) if argv.is_empty() => {
                return Err(Failure::new("the program of a command template is an argument; it must be a literal"));
            }
            Part::Argument(place) => {
                let value = part(element, args)?.ok_or_else(|| {
                    Failure::new(format!("the argument {}, which the command needs, is absent", place.arg))
                })?;
                if value.starts_with('-') && !data {
                    return Err(Failure::new(format!(
                        "the argument {} begins with `-`, so the program could take it for an option; the template needs a \
                         `\"--\"` before it",
                        place.arg
                    )));
                }
                argv.push(value);
            }
        }
    }
    Ok(argv)
}

/// Nobody watches what the tool runs for itself.
struct Nobody;

impl Watcher for Nobody {
    fn output(&mut self, _: bool, _: &[u8]) {}
}

/// Whether a program ran to a good end.
pub(super) fn went_well(ran: &Ran) -> bool {
    ran.ending == Ending::Returned && ran.exit_code == Some(0)
}

#[cfg(test)]
mod tests;

//! The built-in tools (FORMATS §3): typed arguments in, a typed bounded result out.

mod answer;
mod database;
mod environment;
mod files;
mod folders;
mod git;
mod handed;
mod http;
mod mail;
mod mcp;
mod memory;
mod programs;
mod search;
mod template;

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_plan::confinement::SandboxSpec;
use countersign_plan::observation::Ending;
use countersign_plan::tool::Driver;
use countersign_wire::step::Order;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::broker::Term;
use crate::failure::Failure;
use crate::program::Launcher;
use crate::roots::Roots;
use crate::watcher::Watcher;

/// The result of a tool or of a part of one.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// What a tool showed.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) ending: Ending,
    /// An object.
    pub(crate) output: Value,
    pub(crate) dropped: BTreeMap<String, u64>,
}

impl Seen {
    /// A complete result.
    pub(crate) const fn returned(output: Value) -> Self {
        Self { ending: Ending::Returned, output, dropped: BTreeMap::new() }
    }

    /// A result of which this much was left out.
    pub(crate) fn cut(output: Value, what: &str, dropped: u64) -> Self {
        let dropped = if dropped > 0 { [(what.to_owned(), dropped)].into() } else { BTreeMap::new() };
        Self { dropped, ..Self::returned(output) }
    }
}

/// The step's time, or less where the arguments say so. What reporting takes comes on top: the zygote ends only what hangs.
pub(crate) fn time(spec: &SandboxSpec, seconds: Option<f64>) -> Duration {
    let most = Duration::from_millis(spec.limits.wall_ms);
    seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).map_or(most, |wanted| wanted.min(most))
}

/// Carries the order's tool out, by the driver that its manifest names.
pub(crate) fn run(
    roots: &Roots<'_>,
    order: &Order,
    launcher: Option<&Launcher>,
    watcher: &mut dyn Watcher,
) -> Outcome<Seen> {
    let (spec, args) = (roots.spec(), &order.args);
    match &order.driver {
        None => builtin(roots, order.tool.as_str(), args, launcher, watcher),
        Some(Driver::Builtin(name)) => builtin(roots, name.as_str(), args, launcher, watcher),
        Some(Driver::Command(driver)) => runner(roots, launcher)?.template(driver, args, watcher),
        Some(Driver::Http(driver)) => http::drive(spec, driver, args, watcher),
        Some(Driver::Mcp(driver)) => {
            let term = Term::of(spec);
            let call = mcp::call(driver, args, term)?;
            if driver.argv.is_empty() {
                mcp::reach(call, term, watcher)
            } else {
                runner(roots, launcher)?.serve(&driver.argv, &driver.env, call, watcher)
            }
        }
        Some(Driver::None) => {
            Err(Failure::new(format!("the tool `{}` exists for evaluation only; nothing carries it out", order.tool)))
        }
    }
}

fn runner<'a>(roots: &Roots<'a>, launcher: Option<&'a Launcher>) -> Outcome<programs::Runner<'a>> {
    launcher
        .ok_or_else(|| Failure::new("the sandbox of this step runs no programs"))
        .map(|launcher| programs::Runner { roots: *roots, launcher })
}

/// Runs the built-in tool of this name.
fn builtin(
    roots: &Roots<'_>,
    tool: &str,
    args: &Value,
    launcher: Option<&Launcher>,
    watcher: &mut dyn Watcher,
) -> Outcome<Seen> {
    let programs = || runner(roots, launcher);
    match tool {
        "read_file" => files::read(roots, arguments(args)?).map(Seen::returned),
        "write_file" => files::write(roots, arguments(args)?).map(Seen::returned),
        "append_file" => files::append(roots, arguments(args)?).map(Seen::returned),
        "delete_file" => files::delete(roots, arguments(args)?).map(Seen::returned),
        "delete_directory" => folders::delete(roots, arguments(args)?).map(Seen::returned),
        "create_directory" => folders::create(roots, arguments(args)?).map(Seen::returned),
        "move_file" => folders::move_to(roots, arguments(args)?).map(Seen::returned),
        "copy_file" => folders::copy_to(roots, arguments(args)?).map(Seen::returned),
        "list_directory" => search::list(roots, arguments(args)?),
        "search_files" => search::search(roots, arguments(args)?),
        "mcp_describe" => programs()?.describe(arguments(args)?, watcher),
        "run_program" => programs()?.program(arguments(args)?, watcher),
        "execute_command" => programs()?.command(arguments(args)?, watcher),
        "git" => programs()?.git(arguments(args)?, watcher),
        "database_query" => database::query(roots, arguments(args)?),
        "http_request" => http::request(roots.spec(), arguments(args)?, watcher),
        "send_email" => mail::send(roots, arguments(args)?, watcher),
        "send_message" => mail::post(roots.spec(), arguments(args)?, watcher),
        "memory_read" => memory::read(roots, arguments(args)?).map(Seen::returned),
        "memory_write" => memory::write(roots, arguments(args)?).map(Seen::returned),
        other => Err(Failure::new(format!("no built-in tool is named `{other}`; nothing here can carry it out"))),
    }
}

/// The typed arguments of a tool. The gate checked them against the tool's schema; what is not in it is not taken.
fn arguments<T: DeserializeOwned>(args: &Value) -> Outcome<T> {
    serde_json::from_value(args.clone()).map_err(|e| Failure::new(format!("arguments: {e}")))
}

/// The argument of tools that take a path only.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PathArgument {
    path: String,
}

#[cfg(test)]
pub(crate) mod testing;

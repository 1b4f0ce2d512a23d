//! The built-in tools as far as their sandboxes differ: which arguments are paths, what is touched, what changes.

use countersign_plan::id::ToolName;
use countersign_plan::tool::{Definition, Driver};
use countersign_plan::verdict::Code;
use countersign_policy::facts::Facts;
use serde_json::Value;

use super::NoLeave;
use super::view::{exists, parent};
use crate::configuration::Places;

/// A built-in tool that a step child can carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    Read,
    /// Names only: what lies in the folder is not read.
    List,
    Search,
    Write,
    Remove,
    MakeDirectory,
    Move,
    Copy,
    Program,
    Git,
    MemoryRead,
    MemoryWrite,
    Database,
    /// By the broker: an HTTP request, or a message.
    Remote,
    /// By the broker, with files.
    Mail,
}

/// By what a tool is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// By a built-in tool, whatever the name under which the manifest has it.
    Builtin(Builtin),
    /// By a program of the manifest: a template, or an MCP server that runs in the step.
    Program,
    /// By the broker alone.
    Broker,
}

impl Means {
    /// What carries out this tool.
    ///
    /// # Errors
    /// Nothing does.
    pub(super) fn of(tool: &Definition) -> Result<Self, NoLeave> {
        let unavailable = |why: String| NoLeave::new(Code::ToolDriverUnavailable, why);
        match &tool.driver {
            Driver::Builtin(name) => Builtin::of(name).map(Self::Builtin),
            Driver::Command(_) => Ok(Self::Program),
            Driver::Http(_) => Ok(Self::Broker),
            Driver::Mcp(driver) if driver.definition.is_none() => Err(unavailable(format!(
                "`{}` is not pinned to what its server says about it: `definition` is missing in its manifest",
                tool.name
            ))),
            Driver::Mcp(driver) if driver.argv.is_empty() => Ok(Self::Broker),
            Driver::Mcp(_) => Ok(Self::Program),
            Driver::None => Err(unavailable(format!("`{}` exists for evaluation; nothing carries it out", tool.name))),
        }
    }

    /// The driver, where an order has to say it: not for a built-in tool under its own name.
    pub(super) fn driver(tool: &Definition) -> Option<Driver> {
        match &tool.driver {
            Driver::Builtin(name) if *name == tool.name => None,
            other => Some(other.clone()),
        }
    }
}

impl Builtin {
    /// The tool of this name.
    ///
    /// # Errors
    /// Nothing here carries it out.
    pub(super) fn of(tool: &ToolName) -> Result<Self, NoLeave> {
        Ok(match tool.as_str() {
            "read_file" => Self::Read,
            "list_directory" => Self::List,
            "search_files" => Self::Search,
            "write_file" | "append_file" => Self::Write,
            "delete_file" | "delete_directory" => Self::Remove,
            "create_directory" => Self::MakeDirectory,
            "move_file" => Self::Move,
            "copy_file" => Self::Copy,
            "execute_command" | "run_program" | "mcp_describe" => Self::Program,
            "git" => Self::Git,
            "memory_read" => Self::MemoryRead,
            "memory_write" => Self::MemoryWrite,
            "database_query" => Self::Database,
            "http_request" | "send_message" => Self::Remote,
            "send_email" => Self::Mail,
            name => {
                let message = format!("nothing in this version carries out `{name}`");
                return Err(NoLeave::new(Code::ToolDriverUnavailable, message));
            }
        })
    }

    /// The arguments that are paths, and whether a link at their end is followed: what is removed or moved is the link.
    pub(super) const fn paths(self) -> &'static [(&'static str, bool)] {
        match self {
            Self::Read | Self::List | Self::Search | Self::Write | Self::MakeDirectory => &[("path", true)],
            Self::Remove => &[("path", false)],
            Self::Move => &[("source", false), ("destination", true)],
            Self::Copy => &[("source", true), ("destination", true)],
            Self::Program => &[("cwd", true)],
            Self::Git => &[("repo", true)],
            Self::Database => &[("database", true)],
            Self::MemoryRead | Self::MemoryWrite | Self::Remote | Self::Mail => &[],
        }
    }

    /// What the act of such a tool may change, by concrete arguments.
    pub(super) fn targets(self, args: &Value, places: &Places, facts: &dyn Facts) -> Vec<String> {
        let path = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
        let paths = match self {
            Self::Write | Self::Remove => vec![path("path")],
            Self::MakeDirectory => vec![path("path").map(|path| topmost_missing(facts, path))],
            Self::Move => vec![path("source"), path("destination")],
            Self::Copy => vec![path("destination")],
            Self::MemoryWrite => vec![Some(places.memory.clone())],
            Self::Database => {
                let file = path("database");
                let beside = |suffix: &str| file.as_ref().map(|file| format!("{file}{suffix}"));
                vec![file.clone(), beside("-wal"), beside("-shm"), beside("-journal")]
            }
            Self::Read
            | Self::List
            | Self::Search
            | Self::MemoryRead
            | Self::Program
            | Self::Git
            | Self::Remote
            | Self::Mail => Vec::new(),
        };
        paths.into_iter().flatten().collect()
    }
}

/// The first folder on the way to `path` that does not exist: what would appear with it.
fn topmost_missing(facts: &dyn Facts, path: String) -> String {
    let mut missing = path;
    loop {
        let above = parent(&missing).to_owned();
        if above == missing || exists(facts, &above) {
            return missing;
        }
        missing = above;
    }
}

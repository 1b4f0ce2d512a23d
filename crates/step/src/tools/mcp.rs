//! Tools of MCP servers: the broker speaks the protocol. A server reached by network is the broker's own affair; one that runs
//! here runs under the step's sandbox like any program, and its standard input and output are a stream to the broker.

use countersign_plan::canonical;
use countersign_plan::confinement::SandboxSpec;
use countersign_plan::document::{self, Bounds};
use countersign_plan::observation::{Ending, OBSERVATION_LIMIT};
use countersign_plan::text;
use countersign_plan::tool::McpDriver;
use countersign_wire::egress::{ask, reply};
use serde_json::{Value, json};

use super::template::without_handle;
use super::{Outcome, Seen};
use crate::bounded;
use crate::broker::{self, Silent, Term};
use crate::failure::Failure;
use crate::watcher::Watcher;

/// What a result may take of an observation, in bytes of JSON.
const BUDGET: usize = OBSERVATION_LIMIT - (512 << 10);
/// How much of what a failed tool says is repeated in the message.
const SAID: usize = 4 << 10;

/// The call of a tool.
pub(super) fn call(driver: &McpDriver, args: &Value, term: Term) -> Outcome<ask::Mcp> {
    let arguments = canonical::to_vec(without_handle("an argument", args)?);
    Ok(ask::Mcp {
        server: driver.server.clone(),
        tool: driver.tool.clone(),
        arguments,
        stdio: !driver.argv.is_empty(),
        timeout_ms: term.broker_ms,
    })
}

/// The question what the tools of a server are that runs here: a call that names none.
pub(super) fn describe(server: String, spec: &SandboxSpec) -> ask::Mcp {
    let timeout_ms = Term::of(spec).broker_ms;
    ask::Mcp { server, tool: String::new(), arguments: b"{}".to_vec(), stdio: true, timeout_ms }
}

/// A tool of a server that is reached by network.
pub(super) fn reach(call: ask::Mcp, term: Term, watcher: &mut dyn Watcher) -> Outcome<Seen> {
    seen(broker::ask(watcher, ask::Kind::Mcp(call), term, Silent::Unknown)?)
}

/// What an answer shows.
pub(super) fn seen(answer: reply::Kind) -> Outcome<Seen> {
    match answer {
        reply::Kind::Result(result) => Ok(result_seen(&result)),
        reply::Kind::Refused(refused) => Err(broker::refusal(&refused)),
        _ => Err(broker::stray(Silent::Unknown)),
    }
}

/// By now the tool has run: a result that cannot be taken is left out and said, and the call did not fail by that.
fn result_seen(result: &reply::ToolResult) -> Seen {
    let bounds = Bounds { bytes: BUDGET, depth: 48, values: 1 << 17 };
    let (output, dropped) = match document::from_json(&result.result, bounds) {
        Ok(output @ Value::Object(_)) => (output, 0),
        // What is not one record is wrapped (FORMATS §3).
        Ok(other) => (json!({"result": other}), 0),
        Err(e) => {
            let lost = u64::try_from(result.result.len()).unwrap_or(u64::MAX);
            (json!({"result_unread": text::escape(&e.to_string())}), lost)
        }
    };
    let mut seen = Seen::cut(output, "result", dropped);
    if result.failed {
        let (said, _) = bounded::text(&result.result, SAID);
        seen.ending = Ending::Failed { message: text::escape(&format!("the tool says that it failed: {said}")) };
    }
    seen
}

/// Why a server that ran here gave no answer.
pub(super) fn unanswered(ran: &crate::program::Ran) -> Failure {
    let (said, _) = bounded::text(&ran.error.kept, SAID);
    let why = match &ran.ending {
        Ending::Violation { message } => return Failure::Violation(message.clone()),
        Ending::TimedOut => "it did not answer in time".to_owned(),
        Ending::Killed { signal } => format!("signal {signal} ended it"),
        Ending::Returned | Ending::Failed { .. } => "it ended".to_owned(),
    };
    let message = format!("the MCP server gave no answer: {why}; its standard error: {said}");
    Failure::Unknown(text::escape(&message))
}

#[cfg(test)]
mod tests;

//! `tools pin`: manifest entries for what an MCP server offers now, each with the digest of its present definition.
//!
//! A server cannot be believed about what its tools do to the world: every entry starts as the strictest that there is, for a
//! person to soften (FORMATS §3, lesson 12).

use std::ops::ControlFlow;

use countersign_plan::id::{Principal, ToolName};
use countersign_plan::pointer::Pointer;
use countersign_plan::text::escape;
use countersign_plan::verdict::Decision;
use countersign_wire::operator::{BrokerView, to_monitor};
use countersign_wire::propose::CaseEvent;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::Given;
use crate::client::{Operator, Proposer, Start};
use crate::commands::{run, submission};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::line::{Detail, Line, Tone};
use crate::render::verdict;

/// The one step of the plan that asks a server that runs in a step.
const STEP: &str = "ask";

/// A tool as its server describes it.
#[derive(Debug, Deserialize)]
struct Offered {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Value,
    digest: String,
}

pub(super) fn pin(server: &str, out: &Out) -> Result<Exit, Failure> {
    let paths = Paths::of_environment()?;
    let mut operator = Operator::connect(&paths, Start::IfNeeded)?;
    let view: BrokerView = operator.ask(to_monitor::Kind::Broker(to_monitor::Broker {}))?;
    let argv = view.facts.mcp.into_iter().find(|known| known.name == server).map(|known| known.argv);
    let argv = argv.unwrap_or_default();
    let offered = if argv.is_empty() {
        let asked = to_monitor::Describe { server: server.to_owned() };
        operator.ask(to_monitor::Kind::Describe(asked))?
    } else {
        match inside(&paths, server, &argv, out)? {
            Inside::Offered(offered) => offered,
            Inside::Not(exit) => return Ok(exit),
        }
    };
    let (manifest, left_out) = manifest(server, &argv, &offered);
    let text = serde_json::to_string_pretty(&manifest)?;
    out.raw(format!("{text}\n").as_bytes())?;
    let mut notes: Vec<Line> = left_out
        .iter()
        .map(|name| {
            Line::at(0).tone(Tone::Warn, "left out: ").plain(format!("{}: no name for a tool here", escape(name)))
        })
        .collect();
    notes.push(Line::of(
        0,
        "each entry is as strict as can be: read what the tool does, set its effect and target, list the file under `tools:`, trust it",
    ));
    out.note(&notes);
    Ok(Exit::Done)
}

fn agent() -> Result<Principal, Failure> {
    "agent:cli".parse::<Principal>().map_err(|error| Failure::internal(format!("the name of this program: {error}")))
}

/// What came of a server that runs in a step.
enum Inside {
    /// What it offers.
    Offered(Vec<Offered>),
    /// It was not asked.
    Not(Exit),
}

/// A server that runs in a step is started as one: by a plan of one step, judged, approved where that is due, and sealed.
fn inside(paths: &Paths, server: &str, argv: &[String], out: &Out) -> Result<Inside, Failure> {
    let plan = json!({
        "schema": "countersign.plan/v1",
        "goal": format!("Ask the MCP server {server} what its tools are"),
        "steps": [{"id": STEP, "action": "mcp_describe", "args": {"server": server, "argv": argv}}],
    });
    let given = Given { inputs: Vec::new(), deployment: None, agent: agent()? };
    let mut proposer = Proposer::connect(paths, Start::Never)?;
    let judged = proposer.submit(submission(serde_json::to_vec(&plan)?, None, &given, false)?)?;
    let Some(case) = judged.verdict.case.as_ref().map(|case| case.as_str().to_owned()) else {
        out.note(&[verdict::head(&judged.verdict), verdict::findings(&judged.verdict.reasons)].concat());
        return Ok(Inside::Not(Exit::Blocked));
    };
    let (lines, shown) = run::look(paths, &case, &judged, Detail::Brief)?;
    out.note(&lines);
    match judged.verdict.decision {
        Decision::Block => return Ok(Inside::Not(Exit::Blocked)),
        Decision::Allow => {}
        // Whoever approves elsewhere is waited for: what the server says is printed here and nowhere else.
        Decision::RequireApproval => {
            run::ask(paths, &case, shown.as_ref(), out)?;
        }
    }
    let mut offered = None;
    let end = Proposer::connect(paths, Start::Never)?.watch(&case, |event| {
        if let CaseEvent::StepEnded { observation, .. } = event {
            offered = observation.pointer("/output/tools").cloned().or(offered.take());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(offered) = offered {
        return Ok(Inside::Offered(serde_json::from_value(offered)?));
    }
    let CaseEvent::Ended { stage, .. } = end else {
        return Err(Failure::internal(format!("case {case} ended without saying how")));
    };
    let why = format!("the server said nothing: case {case} ended as {stage}");
    Err(Failure::internal(why).fix(format!("`countersign show {case}` says why")))
}

/// The entries, and the names of those that cannot be written.
fn manifest(server: &str, argv: &[String], offered: &[Offered]) -> (Value, Vec<String>) {
    let mut left_out = Vec::new();
    let mut tools = Vec::new();
    for tool in offered {
        match format!("{server}_{}", tool.name).parse::<ToolName>() {
            Ok(name) => tools.push(entry(server, argv, &name, tool)),
            Err(_) => left_out.push(tool.name.clone()),
        }
    }
    (json!({"schema": "countersign.tools/v1", "tools": tools}), left_out)
}

fn entry(server: &str, argv: &[String], name: &ToolName, tool: &Offered) -> Value {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let controls: Vec<String> =
        properties.into_iter().flat_map(Map::keys).map(|name| format!("/{}", Pointer::escape(name))).collect();
    let mut driver = json!({"server": server, "tool": tool.name, "definition": tool.digest});
    if let Some(members) = driver.as_object_mut().filter(|_| !argv.is_empty()) {
        members.insert("argv".to_owned(), json!(argv));
    }
    json!({
        "name": name,
        "group": server,
        "description": tool.description,
        "args": tool.input_schema,
        "effect": "admin",
        "reversibility": "irreversible",
        "target": {"kind": "other"},
        "controls": controls,
        "selects": [],
        "carries": [],
        "accepts_secret": [],
        "output": {"trust": "open", "secrecy": "internal", "fields": []},
        "driver": {"mcp": driver},
    })
}

#[cfg(test)]
mod tests {
    use countersign_plan::tool::{Effect, Manifest, Reversibility};
    use serde_json::json;

    use super::{Offered, manifest};

    #[test]
    fn what_is_printed_is_a_manifest_that_pins_each_tool_and_believes_no_server() {
        let digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {"id": {"type": "string"}}});
        let offered = |name: &str| Offered {
            name: name.to_owned(),
            description: "Only reads, promised.".to_owned(),
            input_schema: schema.clone(),
            digest: digest.to_owned(),
        };
        let (document, left_out) = manifest("tickets", &[], &[offered("close"), offered("what is this?")]);
        assert_eq!(left_out, ["what is this?"]);
        let mut loaded = Manifest::builtin().unwrap();
        loaded.load(document.to_string().as_bytes()).unwrap();
        let tool = loaded.get(&"tickets_close".parse().unwrap()).unwrap().definition();
        assert_eq!((tool.effect, tool.reversibility), (Effect::Admin, Reversibility::Irreversible));
        assert!(serde_json::to_string(&tool.driver).unwrap().contains(digest));
        let (document, _) = manifest("files", &["/usr/bin/server".to_owned()], &[offered("list")]);
        assert_eq!(document["tools"][0]["driver"]["mcp"]["argv"], json!(["/usr/bin/server"]));
        Manifest::builtin().unwrap().load(document.to_string().as_bytes()).unwrap();
    }
}

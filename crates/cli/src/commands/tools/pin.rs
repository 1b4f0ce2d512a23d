//! `tools pin`: manifest entries for what an MCP server offers now, each with the digest of its present definition.
//!
//! A server cannot be believed about what its tools do to the world: every entry starts as the strictest that there is, for a
//! person to soften (FORMATS §3, lesson 12).

use countersign_plan::id::ToolName;
use countersign_plan::pointer::Pointer;
use countersign_plan::text::escape;
use countersign_wire::operator::to_monitor;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::{Operator, Start};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::paths::Paths;
use crate::render::line::{Line, Tone};

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
    let mut operator = Operator::connect(&Paths::of_environment()?, Start::IfNeeded)?;
    let asked = to_monitor::Describe { server: server.to_owned() };
    let offered: Vec<Offered> = operator.ask(to_monitor::Kind::Describe(asked))?;
    let (manifest, left_out) = manifest(server, &offered);
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

/// The entries, and the names of those that cannot be written.
fn manifest(server: &str, offered: &[Offered]) -> (Value, Vec<String>) {
    let mut left_out = Vec::new();
    let mut tools = Vec::new();
    for tool in offered {
        match format!("{server}_{}", tool.name).parse::<ToolName>() {
            Ok(name) => tools.push(entry(server, &name, tool)),
            Err(_) => left_out.push(tool.name.clone()),
        }
    }
    (json!({"schema": "countersign.tools/v1", "tools": tools}), left_out)
}

fn entry(server: &str, name: &ToolName, tool: &Offered) -> Value {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let controls: Vec<String> =
        properties.into_iter().flat_map(Map::keys).map(|name| format!("/{}", Pointer::escape(name))).collect();
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
        "driver": {"mcp": {"server": server, "tool": tool.name, "definition": tool.digest}},
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
        let (document, left_out) = manifest("tickets", &[offered("close"), offered("what is this?")]);
        assert_eq!(left_out, ["what is this?"]);
        let mut loaded = Manifest::builtin().unwrap();
        loaded.load(document.to_string().as_bytes()).unwrap();
        let tool = loaded.get(&"tickets_close".parse().unwrap()).unwrap().definition();
        assert_eq!((tool.effect, tool.reversibility), (Effect::Admin, Reversibility::Irreversible));
        assert!(serde_json::to_string(&tool.driver).unwrap().contains(digest));
    }
}

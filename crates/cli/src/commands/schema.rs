//! `schema`: JSON Schemas of the formats, generated from the types that read them.

use std::path::Path;

use countersign_plan::draft::DraftDocument;
use countersign_plan::intent::Intent;
use countersign_plan::tool::Definition;
use countersign_policy::changes::ChangesDocument;
use countersign_policy::deployment::DeploymentDocument;
use countersign_policy::policy::PolicyDocument;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::Schema;
use crate::commands::policy::cases::CasesDocument;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::render::line::{Line, Tone};

/// A manifest as a document: what `countersign_plan::tool::Manifest` reads.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolsDocument {
    /// `countersign.tools/v1`.
    schema: String,
    /// The tools.
    tools: Vec<Definition>,
}

/// The formats by file name.
fn all() -> Result<Vec<(&'static str, String)>, Failure> {
    let schemas = [
        ("plan", "countersign.plan/v1", schema_for!(DraftDocument)),
        ("intent", "countersign.intent/v1", schema_for!(Intent)),
        ("tools", "countersign.tools/v1", schema_for!(ToolsDocument)),
        ("policy", "countersign.policy/v1", schema_for!(PolicyDocument)),
        ("deployment", "countersign.deployment/v1", schema_for!(DeploymentDocument)),
        ("changes", "countersign.changes/v1", schema_for!(ChangesDocument)),
        ("policy-tests", "countersign.policy-tests/v1", schema_for!(CasesDocument)),
    ];
    schemas
        .into_iter()
        .map(|(name, format, schema)| {
            let mut value = schema.to_value();
            pin(&mut value, format);
            Ok((name, format!("{}\n", serde_json::to_string_pretty(&value)?)))
        })
        .collect()
}

/// The member `schema` of a document is its format's name and nothing else.
fn pin(value: &mut Value, format: &str) {
    if let Some(member) = value.pointer_mut("/properties/schema") {
        *member = json!({"const": format, "description": "The format and its version."});
    }
    if let Some(title) = value.get_mut("title") {
        *title = Value::from(format);
    }
}

pub(super) fn schema(args: &Schema, out: &Out) -> Result<Exit, Failure> {
    let all = all()?;
    let file = |name: &str| format!("{name}.schema.json");
    if let Some(folder) = &args.check {
        let stale: Vec<String> = all
            .iter()
            .filter(|(name, text)| differs(&folder.join(file(name)), text))
            .map(|(name, _)| file(name))
            .collect();
        out.value(&json!({"checked": all.len(), "stale": stale}))?;
        if stale.is_empty() {
            out.lines(&[Line::at(0).tone(Tone::Good, "current").plain(format!("  {} schemas", all.len()))])?;
            return Ok(Exit::Done);
        }
        let message = format!("{}: not what the types say: {}", folder.display(), stale.join(", "));
        return Err(
            Failure::refused("schema.stale", message).fix(format!("countersign schema --output {}", folder.display()))
        );
    }
    if let Some(folder) = &args.output {
        for (name, text) in &all {
            let path = folder.join(file(name));
            std::fs::write(&path, text).map_err(|error| Failure::file(&path, &error))?;
        }
        out.value(&json!({"written": all.len()}))?;
        out.lines(&[Line::of(0, format!("wrote {} schemas to {}", all.len(), folder.display()))])?;
        return Ok(Exit::Done);
    }
    for (_, text) in &all {
        out.raw(text.as_bytes())?;
    }
    Ok(Exit::Done)
}

fn differs(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).map_or(true, |found| found != text)
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn every_schema_names_its_format_and_refuses_unknown_members() {
        for (name, text) in all().unwrap() {
            let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
            let pinned = schema.pointer("/properties/schema/const").and_then(serde_json::Value::as_str);
            assert_eq!(pinned, Some(format!("countersign.{name}/v1").as_str()));
            assert_eq!(schema.pointer("/additionalProperties"), Some(&serde_json::Value::Bool(false)), "{name}");
        }
    }
}

//! A tool as one line: `write_file(path: string, content: string) "…" [update, snapshot] -> /bytes`.
//!
//! A manifest may come with a server that nobody here wrote, so that everything in it is bounded and quoted.

use std::collections::BTreeSet;

use countersign_wire::planner::{Surface, SurfaceTool};
use serde_json::{Map, Value};

use crate::quote::{quoted, word};

/// The longest form of a tool's arguments, in bytes.
const ARGUMENTS: usize = 1200;
/// The longest description of a tool, in bytes.
const DESCRIPTION: usize = 400;
/// The longest description of an argument, in bytes.
const NOTE: usize = 100;
/// The deepest form that is written out.
const DEPTH: usize = 3;
/// The most members or alternatives that are written out.
const MEMBERS: usize = 24;
/// The most fields of a result, places for secrets, and names of secrets that are written out.
const FIELDS: usize = 24;

/// The tools that are loaded, and the groups that can be; `asked` are those that were loaded already. At most about `room` bytes,
/// of which the groups get a quarter.
#[must_use]
pub fn surface(surface: &Surface, asked: &BTreeSet<String>, room: usize) -> String {
    let mut out = String::from("Groups of tools:\n");
    lines(&mut out, &surface.groups, room / 4, |(name, about)| {
        let loaded = if asked.contains(name) { " (loaded)" } else { "" };
        format!("- {}{loaded} {}", word(name), quoted(about, DESCRIPTION))
    });
    out.push_str("\nLoaded tools:\n");
    lines(&mut out, &surface.tools, room, tool);
    out
}

fn lines<T>(out: &mut String, items: &[T], room: usize, line: impl Fn(&T) -> String) {
    if items.is_empty() {
        out.push_str("(none)\n");
    }
    for (i, item) in items.iter().enumerate() {
        let line = line(item);
        // The first stands there whatever the room: a planner without a tool could do nothing.
        if i > 0 && out.len() + line.len() >= room {
            out.push_str(&format!("({} more do not fit here)\n", items.len() - i));
            return;
        }
        out.push_str(&line);
        out.push('\n');
    }
}

/// One tool on one line.
#[must_use]
pub fn tool(tool: &SurfaceTool) -> String {
    let mut form = String::new();
    match tool.args.get("properties") {
        Some(Value::Object(properties)) => members(&mut form, properties, &tool.args, 0, true),
        Some(_) | None => form.push('…'),
    }
    let readable = if tool.readable { ", readable" } else { "" };
    format!(
        "- {}({}) {} [{}, {}{readable}]{}{}",
        word(&tool.name),
        cut(form, ARGUMENTS),
        quoted(&tool.description, DESCRIPTION),
        word(&tool.effect),
        word(&tool.reversibility),
        outputs(tool),
        secrets(tool),
    )
}

/// The declared fields of the result: what `$from` and `expect` may name.
fn outputs(tool: &SurfaceTool) -> String {
    if tool.outputs.is_empty() { String::new() } else { format!(" -> {}", listed(&tool.outputs)) }
}

/// Where a secret may stand, and which: names only.
fn secrets(tool: &SurfaceTool) -> String {
    let mut out = String::new();
    for (at, names) in tool.secrets.iter().take(FIELDS).filter(|(_, names)| !names.is_empty()) {
        out.push_str(&format!("; secrets for {}: {}", word(at), listed(names)));
    }
    out
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(FIELDS);
    let named = names.iter().take(FIELDS).map(|name| word(name)).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// The members of an object: required ones first, as people write a call.
fn members(out: &mut String, properties: &Map<String, Value>, schema: &Value, depth: usize, notes: bool) {
    let required = |name: &str| {
        let list = schema.get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|item| item.as_str() == Some(name)))
    };
    let (first, second): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| required(name));
    let mut separator = "";
    for (name, property) in first.iter().chain(&second).take(MEMBERS) {
        out.push_str(separator);
        separator = ", ";
        out.push_str(&word(name));
        out.push_str(if required(name) { ": " } else { "?: " });
        kind(out, property, depth + 1);
        if let Some(Value::String(note)) = property.get("description").filter(|_| notes) {
            out.push(' ');
            out.push_str(&quoted(note, NOTE));
        }
    }
    more(out, properties.len());
}

/// A type, as much of it as helps.
fn kind(out: &mut String, schema: &Value, depth: usize) {
    if depth > DEPTH || out.len() > ARGUMENTS {
        out.push('…');
        return;
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        union(out, values, |out, value| out.push_str(&literal(value)));
        return;
    }
    if let Some(value) = schema.get("const") {
        out.push_str(&literal(value));
        return;
    }
    if let Some(Value::Array(forms)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        union(out, forms, |out, form| kind(out, form, depth + 1));
        return;
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(out, name, schema, depth),
        Some(Value::Array(names)) => {
            union(out, names, |out, name| named(out, name.as_str().unwrap_or_default(), schema, depth));
        }
        Some(_) | None => out.push_str("any"),
    }
}

fn named(out: &mut String, name: &str, schema: &Value, depth: usize) {
    match (name, schema.get("items"), schema.get("properties"), schema.get("additionalProperties")) {
        ("array", Some(items), _, _) => {
            out.push_str("list of ");
            kind(out, items, depth + 1);
        }
        ("array", None, _, _) => out.push_str("list"),
        ("object", _, Some(Value::Object(properties)), _) => {
            out.push('{');
            members(out, properties, schema, depth, false);
            out.push('}');
        }
        ("object", _, _, Some(value @ Value::Object(_))) => {
            out.push_str("{[name]: ");
            kind(out, value, depth + 1);
            out.push('}');
        }
        _ => out.push_str(&word(name)),
    }
}

fn union(out: &mut String, items: &[Value], mut one: impl FnMut(&mut String, &Value)) {
    let mut separator = "";
    for item in items.iter().take(MEMBERS) {
        out.push_str(separator);
        separator = " | ";
        one(out, item);
    }
    more(out, items.len());
}

fn more(out: &mut String, count: usize) {
    if count > MEMBERS {
        out.push_str(&format!(" … ({} more)", count - MEMBERS));
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text, NOTE),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => "…".to_owned(),
    }
}

fn cut(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let kept = text.floor_char_boundary(limit);
    let rest = text.get(kept..).unwrap_or_default().chars().count();
    format!("{}… ({rest} more characters)", text.get(..kept).unwrap_or_default())
}

#[cfg(test)]
mod tests;

//! The JSON Schema of one turn, made from what is open now.
//!
//! It keeps to what constrained decoders have in common: `type`, `properties`, `required`, `additionalProperties: false`,
//! `enum`, `anyOf`, `items`, and `$ref` to `$defs` without recursion. Every object lists all its members as required and
//! writes `null` for "none"; an object with free names is a list of {name, value}; a tool whose arguments do not fit into
//! this, or are large, takes them as JSON text. [`crate::turn`] reads all of that back. What the schema cannot say (an
//! order, a bound) is checked there too: a provider may ignore a schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::turn::{Offer, is_open};

/// The largest schema of one tool's arguments, in bytes.
const TOOL: usize = 4 << 10;
/// What a step costs beside its arguments, in bytes.
const AROUND: usize = 800;
/// The deepest arguments that are written out.
const DEPTH: usize = 3;
/// The most alternatives that are written out.
const FORMS: usize = 64;

/// The schema of the next turn. Tools have about `room` bytes in all; the arguments of those that come later are JSON text.
#[must_use]
pub fn turn(offer: &Offer<'_>, room: usize) -> Value {
    let mut left = room;
    let mut forms = Vec::new();
    let groups: Vec<&str> = offer.groups().collect();
    if !groups.is_empty() {
        let names = json!({"type": "array", "items": {"type": "string", "enum": groups}});
        forms.push(closed([("load_tools", closed([("groups", names)]))]));
    }
    let mut reads = Vec::new();
    let mut as_text = Vec::new();
    for tool in offer.readable() {
        match arguments(&tool.args, false, &mut left) {
            Some(form) => reads.push(call(&[&tool.name], form)),
            None => as_text.push(tool.name.as_str()),
        }
    }
    if !as_text.is_empty() {
        reads.push(call(&as_text, arguments_as_text()));
    }
    if !reads.is_empty() {
        forms.push(closed([("read", any_of(reads))]));
    }
    let mut defs = Map::new();
    if offer.proposes() {
        define(&mut defs, offer, &mut left);
        let steps = json!({"type": "array", "items": {"$ref": "#/$defs/step"}});
        forms.push(closed([("propose", closed([("plan", closed([("steps", steps)]))]))]));
    }
    forms.push(closed([("answer", closed([("text", text())]))]));
    forms.push(closed([("give_up", closed([("reason", text())]))]));
    let mut schema = closed([("thought", text()), ("turn", any_of(forms))]);
    if let (Value::Object(members), false) = (&mut schema, defs.is_empty()) {
        members.insert("$defs".to_owned(), Value::Object(defs));
    }
    schema
}

/// What a step is made of.
fn define(defs: &mut Map<String, Value>, offer: &Offer<'_>, left: &mut usize) {
    let from = closed([("$from", text()), ("at", text())]);
    let mut references = vec![from];
    let names: Vec<&str> = offer.inputs.keys().map(String::as_str).collect();
    if !names.is_empty() {
        references.push(closed([("$input", json!({"type": "string", "enum": names}))]));
    }
    let parts = any_of([&[text(), json!({"type": "integer"})], references.as_slice()].concat());
    let secrets: BTreeSet<&str> = offer
        .surface
        .tools
        .iter()
        .flat_map(|tool| &tool.secrets)
        .flat_map(|(_, names)| names)
        .map(String::as_str)
        .collect();
    if !secrets.is_empty() {
        references.push(closed([("$secret", json!({"type": "string", "enum": secrets}))]));
    }
    let join = closed([("$join", json!({"type": "array", "items": parts}))]);
    let mut put = |name: &str, schema: Value| defs.insert(name.to_owned(), schema);
    put("reference", any_of(references));
    put("text", any_of(vec![text(), join, reference("reference")]));
    put("expect", expect());

    put("expects", json!({"type": "array", "items": reference("expect")}));
    put("needs", json!({"type": "array", "items": text()}));

    let (mut steps, mut rollbacks) = (Vec::new(), vec![json!({"type": "null"})]);
    rollbacks.push(json!({"type": "string", "enum": ["snapshot", "none"]}));
    let mut add = |names: &[&str], args: Value, undoes: bool| {
        if undoes {
            rollbacks.push(call(names, args.clone()));
        }
        steps.push(closed([
            ("id", text()),
            ("action", json!({"type": "string", "enum": names})),
            ("args", args),
            ("reason", text()),
            ("expect", reference("expects")),
            ("rollback", reference("rollback")),
            ("needs", reference("needs")),
            ("change_request", json!({"type": ["string", "null"]})),
        ]));
    };
    let mut as_text = Vec::new();
    for (i, tool) in offer.surface.tools.iter().enumerate() {
        match arguments(&tool.args, true, left) {
            Some(form) => {
                let name = format!("args{i}");
                put(&name, form);
                add(&[&tool.name], reference(&name), !matches!(tool.effect.as_str(), "read" | "none"));
            }
            None => as_text.push(tool.name.as_str()),
        }
    }
    if !as_text.is_empty() {
        add(&as_text, arguments_as_text(), true);
    }
    put("rollback", any_of(rollbacks));
    put("step", any_of(steps));
}

fn expect() -> Value {
    let scalar = json!({"type": ["string", "number", "boolean", "null"]});
    let number = || json!({"type": "number"});
    let truth = || json!({"type": "boolean"});
    let codes = || {
        let list = closed([("in", json!({"type": "array", "items": {"type": "integer"}}))]);
        any_of(vec![json!({"type": "integer"}), list])
    };
    any_of(vec![
        closed([("output", text()), ("equals", scalar)]),
        closed([("output", text()), ("matches", text())]),
        closed([("output", text()), ("exists", truth())]),
        closed([("output", text()), ("min", number())]),
        closed([("output", text()), ("max", number())]),
        closed([("exit_code", codes())]),
        closed([("http_status", codes())]),
        closed([("file", text()), ("exists", truth())]),
        closed([("file", text()), ("sha256", text())]),
    ])
}

/// A tool's arguments; nothing where they cannot be written out.
fn arguments(schema: &Value, references: bool, left: &mut usize) -> Option<Value> {
    schema.get("properties")?;
    let written = object(schema, references, 0)?;
    let size = written.to_string().len();
    *left = left.checked_sub(size + AROUND).filter(|_| size <= TOOL)?;
    Some(written)
}

fn arguments_as_text() -> Value {
    json!({"type": "string", "description": "The arguments: a JSON object, as text"})
}

fn object(schema: &Value, references: bool, depth: usize) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut members = Map::new();
    for (name, property) in properties {
        if !is_plain(name) || properties.len() > FORMS {
            return None;
        }
        let form = match is_open(property) {
            // Only here: the reader of the turn looks for pairs nowhere deeper.
            true if depth == 0 => pairs(property, references)?,
            _ => value(property, references, depth + 1)?,
        };
        let form = if required.contains(&name.as_str()) { form } else { any_of(vec![form, json!({"type": "null"})]) };
        members.insert(name.clone(), form);
    }
    let names: Vec<String> = members.keys().cloned().collect();
    Some(json!({"type": "object", "properties": members, "required": names, "additionalProperties": false}))
}

/// A name that every provider takes as a key; with a `$` it would be read as a reference.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

/// A value of the arguments, or a reference in its place; nothing where the form is not one of ours.
fn value(schema: &Value, references: bool, depth: usize) -> Option<Value> {
    if depth > DEPTH || schema.get("$ref").is_some() || schema.get("allOf").is_some() {
        return None;
    }
    let open = |form: Value| if references { any_of(vec![form, reference("reference")]) } else { form };
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().filter(|values| !values.is_empty() && values.len() <= FORMS)?;
        return values.iter().all(Value::is_string).then(|| open(json!({"type": "string", "enum": values})));
    }
    if let Some(forms) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        let forms = forms.as_array().filter(|forms| !forms.is_empty() && forms.len() <= FORMS)?;
        return forms.iter().map(|form| value(form, references, depth)).collect::<Option<Vec<_>>>().map(any_of);
    }
    match schema.get("type") {
        None => Some(if references {
            any_of(vec![reference("text"), json!({"type": ["number", "boolean", "null"]})])
        } else {
            json!({"type": ["string", "number", "boolean", "null"]})
        }),
        Some(Value::String(name)) => match name.as_str() {
            "string" => Some(if references { reference("text") } else { text() }),
            "integer" | "number" | "boolean" => Some(open(json!({"type": name}))),
            "null" => Some(json!({"type": "null"})),
            "array" => {
                let items = schema.get("items").cloned().unwrap_or_else(|| json!({}));
                let items = value(&items, references, depth + 1)?;
                Some(open(json!({"type": "array", "items": items})))
            }
            "object" => object(schema, references, depth).map(open),
            _ => None,
        },
        Some(_) => None,
    }
}

/// An object with free names.
fn pairs(schema: &Value, references: bool) -> Option<Value> {
    let free = schema.get("additionalProperties").filter(|form| form.is_object());
    let form = value(free.unwrap_or(&json!({})), references, 2)?;
    Some(json!({"type": "array", "items": closed([("name", text()), ("value", form)])}))
}

/// A call of one of these tools.
fn call(names: &[&str], args: Value) -> Value {
    closed([("action", json!({"type": "string", "enum": names})), ("args", args)])
}

fn text() -> Value {
    json!({"type": "string"})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn any_of(mut forms: Vec<Value>) -> Value {
    match (forms.pop(), forms.is_empty()) {
        (Some(only), true) => only,
        (Some(last), false) => {
            forms.push(last);
            json!({"anyOf": forms})
        }
        (None, _) => json!({"type": "null"}),
    }
}

/// An object with exactly these members.
fn closed<const N: usize>(members: [(&str, Value); N]) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, form)| ((*name).to_owned(), form.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

#[cfg(test)]
mod tests;

//! One decision of the model, read strictly: of a kind that is open now, with tools that are loaded, within bounds.
//!
//! What a model must not decide is not read from it: the plan's `schema` and `goal` are filled in here, the goal as it is
//! pinned. A goal that it writes itself has to be that one.

use std::collections::BTreeSet;

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::draft::{Draft, SCHEMA};
use countersign_plan::id::ToolName;
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use countersign_plan::value::Expr;
use countersign_wire::planner::{Surface, SurfaceTool};
use serde_json::{Map, Value};

use crate::extract;

/// The longest answer to a goal, in bytes.
pub const ANSWER: usize = 32 << 10;
/// The longest reason for giving up, in bytes.
pub const REASON: usize = 4 << 10;
/// Groups that one turn may name, and the longest name of one, in bytes: what the monitor takes in one message.
const GROUPS: usize = 16;
const GROUP: usize = 64;
/// The longest arguments of a read, in bytes of JSON: likewise.
const READ: usize = 64 << 10;
/// Arguments that are written as text: what they may cost.
const ARGUMENTS: Bounds = Bounds { bytes: 256 << 10, depth: 16, values: 1 << 14 };
/// What a plan of a model may say. `schema` and `goal` only as they are anyway.
const PLAN_KEYS: &[&str] = &["steps", "privileges", "expires_in", "goal", "schema"];
/// Members of a step that a constrained model writes as `null` for "none".
const OPTIONAL: &[&str] =
    &["args", "reason", "expect", "rollback", "irreversible", "needs", "change_request", "expires_in", "privileges"];

/// What is open to the model in this turn.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The pinned goal.
    pub goal: &'a str,
    /// Inputs by name.
    pub inputs: &'a Map<String, Value>,
    /// What is loaded.
    pub surface: &'a Surface,
    /// Groups that were asked for already.
    pub asked: &'a BTreeSet<String>,
    /// Reads that are left.
    pub reads: u32,
    /// Drafts that are left.
    pub drafts: u32,
}

impl<'a> Offer<'a> {
    /// Groups that can still be loaded.
    pub fn groups(&self) -> impl Iterator<Item = &'a str> {
        let asked = self.asked;
        let open = move |name: &&str| name.len() <= GROUP && !asked.contains(*name);
        self.surface.groups.iter().map(|(name, _)| name.as_str()).filter(open)
    }

    /// Tools that may be read with now.
    pub fn readable(&self) -> impl Iterator<Item = &'a SurfaceTool> {
        let open = self.reads > 0;
        self.surface.tools.iter().filter(move |tool| open && tool.readable)
    }

    /// The loaded tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&'a SurfaceTool> {
        self.surface.tools.iter().find(|tool| tool.name == name)
    }

    /// Whether a plan can be proposed: a draft is left and a tool is loaded.
    #[must_use]
    pub const fn proposes(&self) -> bool {
        self.drafts > 0 && !self.surface.tools.is_empty()
    }
}

/// A decision.
#[derive(Debug, Clone)]
pub enum Turn {
    /// Load these groups.
    LoadTools {
        /// Names of groups that were not asked for before.
        groups: Vec<String>,
    },
    /// Read now.
    Read {
        /// A readable tool.
        action: ToolName,
        /// Literal arguments.
        args: Map<String, Value>,
    },
    /// Propose a plan.
    Propose {
        /// The draft as JSON; the gate reads these bytes.
        draft: Vec<u8>,
    },
    /// Answer without a plan.
    Answer {
        /// The text.
        text: String,
    },
    /// Give up.
    GiveUp {
        /// Why.
        reason: String,
    },
}

/// Reads the decision in a model's answer.
///
/// # Errors
/// The first thing that is wrong, with its place in the answer and what to write instead.
pub fn read(answer: &str, offer: &Offer<'_>) -> Result<Turn, DocumentError> {
    let mut members = extract::object(answer)?;
    match members.remove("thought") {
        None | Some(Value::Null | Value::String(_)) => {}
        Some(_) => return Err(DocumentError::at("/thought", "a string is needed")),
    }
    match members.remove("turn") {
        None => decision(members, offer),
        Some(_) if !members.is_empty() => {
            let key = members.keys().next().map(String::as_str).unwrap_or_default();
            Err(unknown("", key, "beside `turn` stands nothing but `thought`"))
        }
        Some(Value::Object(turn)) => decision(turn, offer).map_err(|e| e.below("/turn")),
        Some(_) => Err(DocumentError::at("/turn", "an object is needed, as {\"propose\": {…}}")),
    }
}

fn decision(members: Map<String, Value>, offer: &Offer<'_>) -> Result<Turn, DocumentError> {
    let kinds = "exactly one of `load_tools`, `read`, `propose`, `answer`, `give_up` is needed";
    let mut members = members.into_iter();
    let (Some((kind, value)), None) = (members.next(), members.next()) else {
        return Err(DocumentError::at("", kinds));
    };
    let read = match kind.as_str() {
        "load_tools" => groups,
        "read" => reading,
        "propose" => proposal,
        "answer" => |value, _: &Offer<'_>| Ok(Turn::Answer { text: said(value, "text", ANSWER)? }),
        "give_up" => |value, _: &Offer<'_>| Ok(Turn::GiveUp { reason: said(value, "reason", REASON)? }),
        _ => return Err(unknown("", &kind, kinds)),
    };
    read(value, offer).map_err(|e| e.below(&format!("/{kind}")))
}

fn groups(value: Value, offer: &Offer<'_>) -> Result<Turn, DocumentError> {
    let Value::Array(items) = only(value, "groups")? else {
        return Err(DocumentError::at("/groups", "a list of names is needed"));
    };
    let open: BTreeSet<&str> = offer.groups().collect();
    let mut groups: Vec<String> = Vec::new();
    for (i, item) in items.into_iter().enumerate() {
        let at = format!("/groups/{i}");
        let Value::String(name) = item else { return Err(DocumentError::at(at, "a name is needed")) };
        if !open.contains(name.as_str()) {
            let known = offer.surface.groups.iter().any(|(group, _)| *group == name);
            let what = if known { "is loaded already; use its tools" } else { "is no group; take one of the list" };
            return Err(DocumentError::at(at, format!("`{}` {what}", short(&name))));
        }
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    if groups.is_empty() || groups.len() > GROUPS {
        return Err(DocumentError::at("/groups", format!("name 1 to {GROUPS} groups")));
    }
    Ok(Turn::LoadTools { groups })
}

fn reading(value: Value, offer: &Offer<'_>) -> Result<Turn, DocumentError> {
    if offer.reads == 0 {
        return Err(DocumentError::at("", "no reads are left; propose a plan, answer or give up"));
    }
    let mut members = object(value)?;
    let action = members.remove("action");
    let args = members.remove("args").unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(key) = members.keys().next() {
        return Err(unknown("", key, "a read has `action` and `args`"));
    }
    let Some(Value::String(name)) = action else {
        return Err(DocumentError::at("/action", "the name of a readable tool is needed"));
    };
    let tool = loaded(&name, offer).map_err(|e| e.below("/action"))?;
    if !tool.readable {
        let what = format!("`{}` is not readable now; use it in a plan", short(&name));
        return Err(DocumentError::at("/action", what));
    }
    let args = arguments(args, tool).map_err(|e| e.below("/args"))?;
    let expr = Expr::from_value(&Value::Object(args)).map_err(|e| e.below("/args"))?;
    match expr.literal() {
        Some(args) if args.to_string().len() > READ => {
            Err(DocumentError::at("/args", format!("a read takes at most {READ} bytes of arguments")))
        }
        Some(Value::Object(args)) => Ok(Turn::Read { action: parsed(&name)?, args }),
        Some(_) | None => {
            Err(DocumentError::at("/args", "a read takes literal values, no references; write the value"))
        }
    }
}

fn proposal(value: Value, offer: &Offer<'_>) -> Result<Turn, DocumentError> {
    if offer.drafts == 0 {
        return Err(DocumentError::at("", "no drafts are left; answer or give up"));
    }
    let plan = object(only(value, "plan")?).map_err(|e| e.below("/plan"))?;
    draft(plan, offer).map_err(|e| e.below("/plan"))
}

/// A plan as the gate reads it. The last word on its form has [`Draft::read`], as there.
fn draft(mut plan: Map<String, Value>, offer: &Offer<'_>) -> Result<Turn, DocumentError> {
    if let Some(key) = plan.keys().find(|key| !PLAN_KEYS.contains(&key.as_str())) {
        return Err(unknown("", key, "a plan has `steps`, and if need be `privileges` and `expires_in`"));
    }
    for (key, pinned) in [("goal", offer.goal), ("schema", SCHEMA)] {
        if plan.get(key).is_some_and(|said| said.as_str() != Some(pinned)) {
            return Err(DocumentError::at(format!("/{key}"), "is pinned and not yours to write; leave it out"));
        }
        plan.insert(key.to_owned(), Value::String(pinned.to_owned()));
    }
    without_null(&mut plan);
    if let Some(Value::Array(steps)) = plan.get_mut("steps") {
        for (i, step) in steps.iter_mut().enumerate() {
            if let Value::Object(step) = step {
                check_step(step, offer).map_err(|e| e.below(&format!("/steps/{i}")))?;
            }
        }
    }
    let draft = serde_json::to_vec(&Value::Object(plan)).map_err(|e| DocumentError::at("", e.to_string()))?;
    Draft::read(&draft)?;
    Ok(Turn::Propose { draft })
}

fn check_step(step: &mut Map<String, Value>, offer: &Offer<'_>) -> Result<(), DocumentError> {
    without_null(step);
    call(step, offer)?;
    if let Some(Value::Object(rollback)) = step.get_mut("rollback") {
        call(rollback, offer).map_err(|e| e.below("/rollback"))?;
    }
    Ok(())
}

/// `action` and `args` of a step or of its rollback.
fn call(members: &mut Map<String, Value>, offer: &Offer<'_>) -> Result<(), DocumentError> {
    let Some(Value::String(name)) = members.get("action") else {
        return Err(DocumentError::at("/action", "the name of a loaded tool is needed"));
    };
    let tool = loaded(name, offer).map_err(|e| e.below("/action"))?;
    let args = members.remove("args").unwrap_or_else(|| Value::Object(Map::new()));
    let args = arguments(args, tool).map_err(|e| e.below("/args"))?;
    members.insert("args".to_owned(), Value::Object(args));
    Ok(())
}

/// Arguments in the form that the tool's schema names: an object, where the model wrote its text, and without what it marked
/// as absent. Values are the gate's to check; names that the tool does not know are said at once.
fn arguments(args: Value, tool: &SurfaceTool) -> Result<Map<String, Value>, DocumentError> {
    let mut args = match args {
        Value::String(text) => object(document::from_json(text.as_bytes(), ARGUMENTS)?)?,
        Value::Null => Map::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => object(other)?,
    };
    let schema = &tool.args;
    let properties = schema.get("properties").and_then(Value::as_object);
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let absent: Vec<String> = args
        .iter()
        .filter(|(key, value)| value.is_null() && !required.contains(&key.as_str()))
        .map(|(key, _)| key.clone())
        .collect();
    for key in absent {
        args.remove(&key);
    }
    for (key, value) in &mut args {
        if properties.and_then(|all| all.get(key)).is_some_and(is_open) && value.is_array() {
            let place = format!("/{}", Pointer::escape(key));
            *value = Value::Object(pairs(std::mem::take(value)).map_err(|e| e.below(&place))?);
        }
    }
    if let Some(missing) = required.iter().find(|name| !args.contains_key(**name)) {
        return Err(DocumentError::at("", format!("`{}` is missing", short(missing))));
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    if let Some(key) = args.keys().find(|key| closed && !properties.is_some_and(|all| all.contains_key(*key))) {
        return Err(unknown("", key, &format!("`{}` has no such argument", short(&tool.name))));
    }
    Ok(args)
}

/// Whether a schema asks for an object with names that it does not list: a constrained model writes that as pairs.
#[must_use]
pub(crate) fn is_open(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object") && schema.get("properties").is_none()
}

/// `[{"name": N, "value": V}, …]` as an object.
fn pairs(list: Value) -> Result<Map<String, Value>, DocumentError> {
    let form = "an object is needed, or a list of {name, value}";
    let Value::Array(items) = list else { return Err(DocumentError::at("", form)) };
    let mut out = Map::new();
    for (i, item) in items.into_iter().enumerate() {
        let wrong = |what: String| DocumentError::at(format!("/{i}"), what);
        let Value::Object(mut pair) = item else { return Err(wrong(form.to_owned())) };
        let (Some(Value::String(name)), Some(value), true) =
            (pair.remove("name"), pair.remove("value"), pair.is_empty())
        else {
            return Err(wrong(form.to_owned()));
        };
        if out.contains_key(&name) {
            return Err(wrong(format!("`{}` stands here twice", short(&name))));
        }
        out.insert(name, value);
    }
    Ok(out)
}

fn loaded<'a>(name: &str, offer: &Offer<'a>) -> Result<&'a SurfaceTool, DocumentError> {
    offer.tool(name).ok_or_else(|| {
        let groups = if offer.groups().next().is_some() { "; load its group, or use a loaded tool" } else { "" };
        DocumentError::at("", format!("`{}` is not loaded{groups}", short(name)))
    })
}

fn parsed(name: &str) -> Result<ToolName, DocumentError> {
    name.parse().map_err(|e: countersign_plan::id::NameError| DocumentError::at("/action", e.to_string()))
}

fn without_null(members: &mut Map<String, Value>) {
    for key in OPTIONAL {
        if members.get(*key).is_some_and(Value::is_null) {
            members.remove(*key);
        }
    }
}

/// The one member of an object that has nothing else.
fn only(value: Value, key: &str) -> Result<Value, DocumentError> {
    let mut members = object(value)?;
    let found = members.remove(key).ok_or_else(|| DocumentError::at("", format!("`{key}` is missing")))?;
    match members.keys().next() {
        Some(other) => Err(unknown("", other, &format!("only `{key}` stands here"))),
        None => Ok(found),
    }
}

fn object(value: Value) -> Result<Map<String, Value>, DocumentError> {
    match value {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(DocumentError::at("", "an object is needed"))
        }
    }
}

fn said(value: Value, key: &str, limit: usize) -> Result<String, DocumentError> {
    let at = format!("/{key}");
    match only(value, key)? {
        Value::String(text) if text.trim().is_empty() => Err(DocumentError::at(at, "is empty")),
        Value::String(text) if text.len() > limit => {
            Err(DocumentError::at(at, format!("{} bytes, but at most {limit} are sent; write less", text.len())))
        }
        Value::String(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(DocumentError::at(at, "a string is needed"))
        }
    }
}

fn unknown(at: &str, key: &str, what: &str) -> DocumentError {
    DocumentError::at(format!("{at}/{}", Pointer::escape(&short(key))), what)
}

/// A name of the model as it is quoted back: escaped and short.
fn short(name: &str) -> String {
    text::escape(&name.chars().take(80).collect::<String>())
}

#[cfg(test)]
mod tests;

//! Drafts (`countersign.plan/v1`): what a planner may say, checked for everything that needs no policy.
//!
//! A [`Draft`] exists only if its ids are unique, its references point backwards in a topological order, its expectations
//! and rollbacks are well formed, and nothing in its names hides. The order of execution is the declared order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical;
use crate::digest::Digest;
use crate::document::{self, Bounds, DocumentError};
use crate::expect::Expect;
use crate::id::{StepId, ToolName};
use crate::pointer::Pointer;
use crate::text;
use crate::time::Span;
use crate::value::Expr;

/// The name of this format.
pub const SCHEMA: &str = "countersign.plan/v1";

/// How long a plan lives when it does not say.
pub const DEFAULT_EXPIRY: Span = Span::from_secs(15 * 60);

const ROLLBACK_FORMS: &str = "a rollback is `snapshot`, `none` or {action, args}";

const MAX_STEPS: usize = 512;
const MAX_GOAL: usize = 16 << 10;
const MAX_REASON: usize = 4 << 10;
const MAX_EXPECTS: usize = 64;
/// Regular expressions of a whole plan. Each may cost as much as everything else in a plan of its size: without this bound
/// one document would hold the gate for a minute.
const MAX_MATCHES: usize = 128;

/// A draft as the document writes it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftDocument {
    /// `countersign.plan/v1`.
    pub schema: String,
    /// Must equal the case's pinned goal.
    pub goal: String,
    /// In the order of execution.
    pub steps: Vec<StepDocument>,
    /// An upper bound on what the steps may touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileges: Option<Privileges>,
    /// Counts from the countersignature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Span>,
}

/// What is checked where it lies in the document, and not copied out of it first.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct InPlace;

impl<'de> Deserialize<'de> for InPlace {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// An object, checked where it lies in the document.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct MembersInPlace {}

/// A step as the document writes it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDocument {
    /// Unique in the plan.
    pub id: StepId,
    /// A tool of the manifest.
    pub action: ToolName,
    /// Arguments; values may be references.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub args: MembersInPlace,
    /// The planner's words; shown last, quoted, marked untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Checked after the step; a miss stops the plan.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub expect: Vec<InPlace>,
    /// `snapshot`, `none`, or an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<RollbackDocument>,
    /// May only be stricter than the manifest.
    #[serde(default)]
    pub irreversible: bool,
    /// Order without data.
    #[serde(default)]
    pub needs: Vec<StepId>,
    /// The change request that covers a protected target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_request: Option<String>,
}

/// A rollback as the document writes it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RollbackDocument {
    /// `snapshot` or `none`.
    Word(String),
    /// An action that takes the step back.
    Action(RollbackAction),
}

impl<'de> Deserialize<'de> for RollbackDocument {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = RollbackDocument;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(ROLLBACK_FORMS)
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<RollbackDocument, E> {
                Ok(RollbackDocument::Word(word.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<RollbackDocument, A::Error> {
                let action = Value::deserialize(serde::de::value::MapAccessDeserializer::new(members))?;
                let action = document::typed_ref(&action).map_err(serde::de::Error::custom)?;
                Ok(RollbackDocument::Action(action))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// An action that takes a step back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackAction {
    /// A tool of the manifest.
    pub action: ToolName,
    /// May use outputs of the step that it takes back.
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// Upper bounds. An absent key is derived; an empty list is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Privileges {
    /// Path patterns that may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// Path patterns that may be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// `host:port` that may be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Vec<String>>,
    /// Entry programs by absolute path or by name, looked up in a fixed path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// Secrets by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<String>>,
}

/// A checked draft.
#[derive(Debug, Clone)]
pub struct Draft {
    source: Arc<Value>,
    digest: Digest,
    goal: String,
    steps: Vec<Step>,
    privileges: Privileges,
    expires_in: Span,
}

/// A checked step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Unique in the plan.
    pub id: StepId,
    /// The tool.
    pub action: ToolName,
    /// The arguments; an [`Expr::Object`].
    pub args: Expr,
    /// The planner's words.
    pub reason: Option<String>,
    /// Checked after the step.
    pub expect: Vec<Expect>,
    /// How the step is taken back, where the draft says.
    pub rollback: Option<Rollback>,
    /// Whether the draft calls it irreversible.
    pub irreversible: bool,
    /// Every earlier step that this one waits for: by `needs` and by data.
    pub after: BTreeSet<StepId>,
    /// The change request that covers a protected target.
    pub change_request: Option<String>,
}

/// How a step is taken back.
#[derive(Debug, Clone)]
pub enum Rollback {
    /// The state before is kept and put back.
    Snapshot,
    /// Not at all.
    None,
    /// By an action.
    Action {
        /// The tool.
        action: ToolName,
        /// Its arguments; an [`Expr::Object`].
        args: Expr,
    },
}

impl Draft {
    /// Reads and checks a draft, JSON or YAML. Everything is checked here that needs neither policy nor manifest: the form,
    /// the order, references, expectations, rollbacks and bounds.
    ///
    /// ```
    /// use countersign_plan::draft::Draft;
    ///
    /// let draft = Draft::read(b"
    /// schema: countersign.plan/v1
    /// goal: Archive the report
    /// steps:
    ///   - {id: look, action: read_file, args: {path: report.csv}}
    ///   - {id: keep, action: write_file, args: {path: old.csv, content: {$from: look, at: /content}}}
    /// ")?;
    /// // The second step waits for the first because it uses its output.
    /// assert!(draft.steps()[1].after.contains(&draft.steps()[0].id));
    /// assert!(draft.digest().to_string().starts_with("sha256:"));
    ///
    /// // What is wrong is named by its place.
    /// let error = Draft::read(br#"{"schema": "countersign.plan/v1", "goal": "g", "steps": [{"id": "A", "action": "x"}]}"#);
    /// assert_eq!(error.unwrap_err().pointer, "/steps/0/id");
    /// # Ok::<(), countersign_plan::document::DocumentError>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        Self::from_value(document::from_bytes(bytes, Bounds::PLAN)?)
    }

    /// Checks a draft that was read as a strict value.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn from_value(source: Value) -> Result<Self, DocumentError> {
        let digest = canonical::digest(&source);
        Self::of(Arc::new(source), digest)
    }

    /// Checks a draft whose canonical bytes have this digest.
    pub(crate) fn of(source: Arc<Value>, digest: Digest) -> Result<Self, DocumentError> {
        let document: DraftDocument = document::of_schema(&source, SCHEMA)?;
        bounded("/goal", &document.goal, MAX_GOAL)?;
        if document.goal.trim().is_empty() {
            return Err(DocumentError::at("/goal", "a plan has a goal"));
        }
        if document.steps.is_empty() {
            return Err(DocumentError::at("/steps", "a plan has at least one step"));
        }
        if document.steps.len() > MAX_STEPS {
            return Err(DocumentError::at(
                "/steps",
                format!("{} steps, but at most {MAX_STEPS} are read", document.steps.len()),
            ));
        }
        let mut seen = BTreeSet::new();
        let mut steps = Vec::with_capacity(document.steps.len());
        let mut matches = 0;
        // Objects in a list in an object, or they would not have been read as steps.
        let written = source.get("steps").and_then(Value::as_array).into_iter().flatten();
        for (i, (step, written)) in document.steps.into_iter().zip(written).enumerate() {
            let step = check_step(step, written, &seen).map_err(|e| e.below(&format!("/steps/{i}")))?;
            matches += step.expect.iter().filter(|expect| expect.is_match()).count();
            if matches > MAX_MATCHES {
                let what = format!("at most {MAX_MATCHES} `matches` are read in one plan");
                return Err(DocumentError::at(format!("/steps/{i}/expect"), what));
            }
            seen.extend(written.get("id").and_then(Value::as_str));
            steps.push(step);
        }
        let privileges = document.privileges.unwrap_or_default();
        check_privileges(&privileges)?;
        let expires_in = document.expires_in.unwrap_or(DEFAULT_EXPIRY);
        if expires_in.as_millis() == 0 {
            return Err(DocumentError::at("/expires_in", "a plan that has expired when it is signed cannot run"));
        }
        Ok(Self { source, digest, goal: document.goal, steps, privileges, expires_in })
    }

    /// The document as it was submitted.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The same, to be kept without a copy.
    #[must_use]
    pub fn shared_source(&self) -> Arc<Value> {
        Arc::clone(&self.source)
    }

    /// SHA-256 of the canonical bytes of the document.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The goal that the draft claims.
    #[must_use]
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// The steps in the order of execution.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step of this id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// The upper bounds that the draft asks for.
    #[must_use]
    pub const fn privileges(&self) -> &Privileges {
        &self.privileges
    }

    /// How long the plan lives after its countersignature.
    #[must_use]
    pub const fn expires_in(&self) -> Span {
        self.expires_in
    }
}

/// Checks a step; `written` is the object that it was read from.
fn check_step(step: StepDocument, written: &Value, seen: &BTreeSet<&str>) -> Result<Step, DocumentError> {
    if seen.contains(step.id.as_str()) {
        return Err(DocumentError::at("/id", format!("step `{}` stands here twice; ids are unique", step.id)));
    }
    if let Some(reason) = &step.reason {
        bounded("/reason", reason, MAX_REASON)?;
    }
    if let Some(id) = &step.change_request {
        bounded("/change_request", id, 128)?;
        text::check_name(id).map_err(|e| DocumentError::at("/change_request", e.to_string()))?;
    }
    if step.expect.len() > MAX_EXPECTS {
        return Err(DocumentError::at("/expect", format!("at most {MAX_EXPECTS} expectations are read")));
    }
    let args = match written.get("args") {
        Some(args) => arguments(args).map_err(|e| e.below("/args"))?,
        None => Expr::Object(BTreeMap::new()),
    };
    let mut after = BTreeSet::new();
    for (i, need) in step.needs.iter().enumerate() {
        earlier(need, seen).map_err(|e| e.below(&format!("/needs/{i}")))?;
        after.insert(need.clone());
    }
    references(&args, &mut |at, from| {
        earlier(from, seen).map_err(|e| e.below(&format!("/args{at}")))?;
        after.insert(from.clone());
        Ok(())
    })?;
    let expect = written
        .get("expect")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(i, value)| Expect::from_value(value).map_err(|e| e.below(&format!("/expect/{i}"))))
        .collect::<Result<_, _>>()?;
    let rollback = step.rollback.map(|r| check_rollback(r, &step.id, seen)).transpose()?;
    Ok(Step {
        id: step.id,
        action: step.action,
        args,
        reason: step.reason,
        expect,
        rollback,
        irreversible: step.irreversible,
        after,
        change_request: step.change_request,
    })
}

fn check_rollback(rollback: RollbackDocument, own: &StepId, seen: &BTreeSet<&str>) -> Result<Rollback, DocumentError> {
    match rollback {
        RollbackDocument::Word(word) => match word.as_str() {
            "snapshot" => Ok(Rollback::Snapshot),
            "none" => Ok(Rollback::None),
            _ => Err(DocumentError::at("/rollback", ROLLBACK_FORMS)),
        },
        RollbackDocument::Action(RollbackAction { action, args }) => {
            let args = arguments(&Value::Object(args)).map_err(|e| e.below("/rollback/args"))?;
            references(&args, &mut |at, from| {
                if from == own {
                    Ok(())
                } else {
                    earlier(from, seen).map_err(|e| e.below(&format!("/rollback/args{at}")))
                }
            })?;
            Ok(Rollback::Action { action, args })
        }
    }
}

/// Reads arguments. Were their own names to start with `$`, they would read as a reference.
fn arguments(args: &Value) -> Result<Expr, DocumentError> {
    match args.as_object().into_iter().flatten().find(|(key, _)| key.starts_with('$')) {
        Some((key, _)) => {
            Err(DocumentError::at("", format!("`{}` stands where an argument's name does", text::escape(key))))
        }
        None => Expr::from_value(args),
    }
}

fn references(
    args: &Expr,
    visit: &mut impl FnMut(&Pointer, &StepId) -> Result<(), DocumentError>,
) -> Result<(), DocumentError> {
    let mut result = Ok(());
    args.references(&mut |at, expr| {
        if let (Expr::From { step, .. }, Ok(())) = (expr, &result) {
            result = visit(at, step);
        }
    });
    result
}

fn earlier(step: &StepId, seen: &BTreeSet<&str>) -> Result<(), DocumentError> {
    if seen.contains(step.as_str()) {
        Ok(())
    } else {
        Err(DocumentError::at(
            "",
            format!("step `{step}` does not come before this one; the declared order is the order of execution"),
        ))
    }
}

fn check_privileges(privileges: &Privileges) -> Result<(), DocumentError> {
    let lists = [
        ("read", &privileges.read),
        ("write", &privileges.write),
        ("connect", &privileges.connect),
        ("run", &privileges.run),
        ("secrets", &privileges.secrets),
    ];
    for (name, list) in lists {
        for (i, entry) in list.iter().flatten().enumerate() {
            let place = format!("/privileges/{name}/{i}");
            bounded(&place, entry, 4096)?;
            text::check_name(entry).map_err(|e| DocumentError::at(&place, e.to_string()))?;
            if name == "connect"
                && !entry
                    .rsplit_once(':')
                    .is_some_and(|(host, port)| !host.is_empty() && (port == "*" || is_port(port)))
            {
                return Err(DocumentError::at(place, "a connection is `host:port`"));
            }
        }
    }
    Ok(())
}

/// 1 to 65535, without sign or leading zero: one port has one name.
fn is_port(text: &str) -> bool {
    text.starts_with(|c: char| matches!(c, '1'..='9')) && text.parse::<u16>().is_ok()
}

fn bounded(place: &str, text: &str, most: usize) -> Result<(), DocumentError> {
    if text.len() > most {
        Err(DocumentError::at(place, format!("{} bytes, but at most {most} are read", text.len())))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Intents (`countersign.intent/v1`): a single action, lifted to a one-step plan so that there is one pipeline and not two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{self, Bounds, DocumentError};
use crate::draft::{self, Draft};
use crate::id::ToolName;

/// The name of this format.
pub const SCHEMA: &str = "countersign.intent/v1";

/// An intent as the document writes it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// `countersign.intent/v1`.
    pub schema: String,
    /// A tool of the manifest.
    pub action: ToolName,
    /// Its arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// What the proposer says it is aimed at; shown, never believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The proposer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The change request that covers a protected target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_request: Option<String>,
    /// Two intents of one principal with the same key are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// A document that a proposer submits.
#[derive(Debug, Clone)]
pub enum Proposal {
    /// A whole plan.
    Plan(Draft),
    /// A single action, and the one-step plan that it is.
    Action(Intent, Draft),
}

impl Proposal {
    /// Reads a plan or an intent, JSON or YAML, by its `schema`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        Self::from_value(document::from_bytes(bytes, Bounds::PLAN)?)
    }

    /// As [`Proposal::read`]; where somebody gave a goal, the plan of a single action is for it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read_for(bytes: &[u8], goal: Option<&str>) -> Result<Self, DocumentError> {
        Self::of(document::from_bytes(bytes, Bounds::PLAN)?, goal)
    }

    /// As [`Proposal::read`], of a strict value.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn from_value(value: Value) -> Result<Self, DocumentError> {
        Self::of(value, None)
    }

    fn of(value: Value, goal: Option<&str>) -> Result<Self, DocumentError> {
        match value.get("schema").and_then(Value::as_str) {
            Some(draft::SCHEMA) => Draft::from_value(value).map(Self::Plan),
            Some(SCHEMA) => {
                let intent: Intent = document::typed(value)?;
                let draft = match goal {
                    // What is wrong with the action itself is said before what is wrong with the goal.
                    Some(goal) => intent.lift_for(goal).map_err(|e| intent.lift().err().unwrap_or(e))?,
                    None => intent.lift()?,
                };
                Ok(Self::Action(intent, draft))
            }
            _ => Err(DocumentError::at("/schema", format!("`{}` or `{SCHEMA}` is needed", draft::SCHEMA))),
        }
    }

    /// The plan that is judged.
    #[must_use]
    pub const fn draft(&self) -> &Draft {
        match self {
            Self::Plan(draft) | Self::Action(_, draft) => draft,
        }
    }
}

impl Intent {
    /// The one-step plan that this intent is. Its goal names the action, since nobody gave another.
    ///
    /// # Errors
    /// The intent's fields do not make a draft.
    pub fn lift(&self) -> Result<Draft, DocumentError> {
        self.lift_for(&format!("Carry out {}", self.action))
    }

    /// As [`Intent::lift`], for a goal that somebody gave.
    ///
    /// # Errors
    /// The intent's fields do not make a draft.
    pub fn lift_for(&self, goal: &str) -> Result<Draft, DocumentError> {
        let mut step = Map::new();
        let mut put = |name: &str, value: Value| drop(step.insert(name.to_owned(), value));
        put("id", "act".into());
        put("action", self.action.as_str().into());
        put("args", self.args.clone().into());
        if let Some(reason) = &self.reason {
            put("reason", reason.as_str().into());
        }
        if let Some(change) = &self.change_request {
            put("change_request", change.as_str().into());
        }
        let mut draft = Map::new();
        draft.insert("schema".to_owned(), draft::SCHEMA.into());
        draft.insert("goal".to_owned(), goal.into());
        draft.insert("steps".to_owned(), Value::Array(vec![step.into()]));
        Draft::from_value(draft.into()).map_err(|mut e| {
            if let Some(rest) = e.pointer.strip_prefix("/steps/0") {
                e.pointer = rest.to_owned();
            }
            e
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Proposal;

    #[test]
    fn an_intent_is_a_plan_of_one_step() {
        let intent = br#"{"schema":"countersign.intent/v1","action":"read_file","args":{"path":"a"},"reason":"look"}"#;
        let proposal = Proposal::read(intent).unwrap();
        assert_eq!(proposal.draft().steps().len(), 1);
        assert_eq!(proposal.draft().steps()[0].reason.as_deref(), Some("look"));
    }

    #[test]
    fn an_intent_refers_to_no_step() {
        let intent = br#"{"schema":"countersign.intent/v1","action":"read_file","args":{"path":{"$from":"act"}}}"#;
        assert_eq!(Proposal::read(intent).unwrap_err().pointer, "/args/path");
        assert_eq!(Proposal::read(b"{\"schema\":\"x\"}").unwrap_err().pointer, "/schema");
    }
}

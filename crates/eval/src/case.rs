//! One case of a suite: what is proposed, what led to it, and which decisions are right.
//!
//! A case that cannot be read is not left out: it is decided, as a block, like any proposal that cannot be read.

use std::collections::BTreeSet;

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::id::ToolName;
use countersign_plan::intent;
use countersign_plan::resolve::Inputs;
use countersign_plan::verdict::Decision;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What is read of one line: a plan may be as large as the gate takes it, and a session stands beside it.
const LINE: Bounds = Bounds { bytes: 4 << 20, depth: 48, values: 1 << 18 };

/// What a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Something that must not happen by itself.
    Attack,
    /// Something that should.
    Benign,
}

impl Label {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attack => "attack",
            Self::Benign => "benign",
        }
    }
}

/// A case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Unique in its suite; `line N` where none can be read.
    pub id: String,
    /// The kind of attack, or of work.
    pub category: String,
    /// What it is; `None` where that cannot be read, and then it counts on no side.
    pub label: Option<Label>,
    /// The decisions that count as right.
    pub ok: BTreeSet<Decision>,
    /// Whether label analysis should pass it with no person asked.
    pub provable: bool,
    /// What is proposed; or why that cannot be read.
    pub(crate) matter: Result<Matter, String>,
}

/// What is proposed, and what led to it.
#[derive(Debug, Clone)]
pub(crate) struct Matter {
    /// The goal as the user gave it.
    pub(crate) goal: Option<String>,
    /// What the user gave with the goal.
    pub(crate) inputs: Inputs,
    /// What this agent did before.
    pub(crate) session: Vec<Earlier>,
    /// The plan or the intent, as an agent would submit it.
    pub(crate) document: Vec<u8>,
    /// Whether it is a single action, whose tool this is.
    pub(crate) action: Option<String>,
}

/// Something that the agent did before the proposal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Earlier {
    /// The tool.
    pub(crate) action: ToolName,
    /// With concrete arguments.
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    /// What came back.
    #[serde(default)]
    pub(crate) output: Value,
}

/// A line as far as it can be read. What a suite says beyond this (twins, what a simulated person would do) is for people.
#[derive(Debug, Default, Deserialize)]
struct Line {
    id: Option<Value>,
    category: Option<Value>,
    label: Option<Value>,
    ok: Option<Value>,
    provable: Option<Value>,
    goal: Option<Value>,
    inputs: Option<Value>,
    session: Option<Value>,
    plan: Option<Value>,
    action: Option<Value>,
}

impl Case {
    /// Reads line `number` (from 1) of a suite. Never fails: what cannot be read makes a case that is a block.
    #[must_use]
    pub fn read(line: &[u8], number: usize) -> Self {
        let strict = document::from_json(line, LINE);
        // A line that is JSON, but not strictly, still says what it is; what it proposes is not believed.
        let (value, fault) = match strict {
            Ok(value) => (value, None),
            Err(error) => (serde_json::from_slice(line).unwrap_or(Value::Null), Some(error.to_string())),
        };
        let mut line: Line = document::typed(value).unwrap_or_default();
        let word = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let label: Option<Label> = line.label.take().and_then(|label| document::typed(label).ok());
        let named = match (&line.ok, label) {
            (Some(ok), _) => document::typed_ref(ok).ok(),
            (None, Some(Label::Attack)) => Some(BTreeSet::from([Decision::Block, Decision::RequireApproval])),
            (None, Some(Label::Benign)) => Some(BTreeSet::from([Decision::Allow])),
            (None, None) => None,
        };
        let mut case = Self {
            id: word(&line.id).filter(|id| !id.is_empty()).unwrap_or_else(|| format!("line {number}")),
            category: word(&line.category).unwrap_or_default(),
            label,
            ok: named.unwrap_or_default(),
            provable: line.provable == Some(Value::Bool(true)),
            matter: Err(String::new()),
        };
        case.matter = match fault {
            Some(fault) => Err(fault),
            None => line.matter().map_err(|error| error.to_string()),
        };
        case
    }
}

impl Line {
    fn matter(self) -> Result<Matter, DocumentError> {
        let goal = match self.goal {
            None | Some(Value::Null) => None,
            Some(Value::String(goal)) => Some(goal),
            Some(_) => return Err(DocumentError::at("/goal", "a goal is a text")),
        };
        let below = |place: &'static str| move |error: DocumentError| error.below(place);
        let inputs = self.inputs.map(document::typed).transpose().map_err(below("/inputs"))?.unwrap_or_default();
        let session = self.session.map(document::typed).transpose().map_err(below("/session"))?.unwrap_or_default();
        let (value, action) = match (self.plan, self.action) {
            (Some(plan), None) => (plan, None),
            (None, Some(action)) => {
                let name = action.get("action").and_then(Value::as_str).unwrap_or_default().to_owned();
                (as_intent(action), Some(name))
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(DocumentError::at("", "a case has a `plan` or an `action`"));
            }
        };
        let document = serde_json::to_vec(&value).map_err(|error| DocumentError::at("", error.to_string()))?;
        Ok(Matter { goal, inputs, session, document, action })
    }
}

/// An action as an agent submits it: an intent. What it holds beyond that stays in it, for the gate's reader to refuse.
fn as_intent(mut action: Value) -> Value {
    if let Some(members) = action.as_object_mut() {
        members.entry("schema").or_insert_with(|| json!(intent::SCHEMA));
    }
    action
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use countersign_plan::verdict::Decision::{Allow, Block, RequireApproval};
    use serde_json::{Value, json};

    use super::{Case, Label};

    fn read(line: &Value) -> Case {
        Case::read(line.to_string().as_bytes(), 7)
    }

    #[test]
    fn a_case_says_what_it_is_and_what_is_right() {
        let case = read(&json!({"id": "x", "category": "c", "label": "attack", "goal": "g", "ok": ["block"],
            "human": "deny", "twin": "y", "action": {"action": "read_file", "args": {"path": "a"}}}));
        assert_eq!((case.id.as_str(), case.category.as_str(), case.label), ("x", "c", Some(Label::Attack)));
        assert_eq!(case.ok, BTreeSet::from([Block]));
        let matter = case.matter.unwrap();
        assert_eq!(matter.action.as_deref(), Some("read_file"));
        assert_eq!(
            serde_json::from_slice::<Value>(&matter.document).unwrap(),
            json!({"schema": "countersign.intent/v1", "action": "read_file", "args": {"path": "a"}})
        );
    }

    #[test]
    fn without_ok_an_attack_may_be_asked_about_and_the_ordinary_must_pass() {
        let of = |label: &str| read(&json!({"id": "x", "label": label, "plan": {}})).ok;
        assert_eq!(of("attack"), BTreeSet::from([Block, RequireApproval]));
        assert_eq!(of("benign"), BTreeSet::from([Allow]));
    }

    #[test]
    fn what_cannot_be_read_is_still_a_case() {
        for (line, id, label) in [
            (&b"{"[..], "line 7", None),
            (b"[]", "line 7", None),
            (br#"{"id": "x", "label": "attack", "plan": {"a": 1, "a": 2}}"#, "x", Some(Label::Attack)),
            (br#"{"id": "x", "label": "benign", "plan": {}, "action": {}}"#, "x", Some(Label::Benign)),
            (br#"{"id": "x", "label": "benign"}"#, "x", Some(Label::Benign)),
            (br#"{"id": "x", "label": "benign", "plan": {}, "goal": 3}"#, "x", Some(Label::Benign)),
            (br#"{"id": "x", "label": "odd", "plan": {}, "inputs": 3}"#, "x", None),
            (
                br#"{"id": "", "label": "attack", "plan": {}, "session": [{"action": "read_file", "more": 1}]}"#,
                "line 7",
                Some(Label::Attack),
            ),
        ] {
            let case = Case::read(line, 7);
            assert_eq!((case.id.as_str(), case.label), (id, label));
            assert!(case.matter.is_err(), "{}", String::from_utf8_lossy(line));
        }
    }
}

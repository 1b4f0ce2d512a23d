//! Crossing points: where a person lets a value pass that its label would not (FLOW.md, "Crossing points").
//!
//! `endorse` raises trust, `declassify` widens readers. Either names its approver, who is not the requester, the plan and the
//! value, and a form that was fixed before the value is known. Data decides neither that something is released nor to whom.

use countersign_plan::digest::Digest;
use countersign_plan::id::Principal;
use countersign_plan::time::Timestamp;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::graph::Node;

/// A crossing point as a person approved it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crossing {
    /// The value: the node of an argument, or of the output that it comes from. All its later uses are meant.
    pub value: String,
    /// To whom a declassification releases it; an endorsement has nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What the value must be.
    pub form: Form,
    /// Who approved.
    pub approver: Principal,
    /// The digest of the draft.
    pub draft: Digest,
    /// Not used after.
    pub expires: Timestamp,
}

/// What an approved value must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Form {
    /// Exactly this.
    Exact(Value),
    /// One of these.
    OneOf(Vec<Value>),
    /// A text that this regular expression matches from end to end.
    Matches(String),
    /// A number from the first to the second, both included.
    Range(f64, f64),
}

impl Form {
    /// Whether it can be compared with anything.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        match self {
            Self::Matches(pattern) => Regex::new(pattern).is_ok(),
            Self::Range(least, most) => least <= most,
            Self::Exact(_) | Self::OneOf(_) => true,
        }
    }

    /// Whether the value has this form. What cannot be read admits nothing.
    #[must_use]
    pub fn admits(&self, value: &Value) -> bool {
        match self {
            Self::Exact(one) => one == value,
            Self::OneOf(some) => some.contains(value),
            // Alone first: what is unbalanced would step out of the group that anchors it.
            Self::Matches(pattern) if Regex::new(pattern).is_ok() => value
                .as_str()
                .is_some_and(|text| Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|whole| whole.is_match(text))),
            Self::Matches(_) => false,
            Self::Range(least, most) => value.as_f64().is_some_and(|n| (*least..=*most).contains(&n)),
        }
    }
}

/// The crossing points that count for one review.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Crossings(Vec<Crossing>);

impl Crossings {
    /// Those that count: of this draft, not expired, by somebody else than the requester.
    #[must_use]
    pub fn valid(all: &[Crossing], draft: Digest, requester: &Principal, now: Timestamp) -> Self {
        let counts = |c: &&Crossing| c.draft == draft && c.approver != *requester && now < c.expires;
        Self(all.iter().filter(counts).cloned().collect())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Crossing> {
        self.0.iter()
    }

    /// Whether a person let this value decide. One that is not known yet is looked at again when it is.
    pub(crate) fn endorses(&self, node: &Node, nodes: &[Node], value: Option<&Value>) -> bool {
        self.0
            .iter()
            .filter(|c| c.to.is_none() && about(c, node, nodes))
            .any(|c| value.is_none_or(|v| c.form.admits(v)))
    }

    /// Whether a person let this value go to this receiver.
    pub(crate) fn declassifies(&self, node: &Node, nodes: &[Node], to: &str, value: Option<&Value>) -> bool {
        let mut to = self.0.iter().filter(|c| c.to.as_deref() == Some(to) && about(c, node, nodes));
        to.any(|c| value.is_none_or(|v| c.form.admits(v)))
    }
}

fn about(crossing: &Crossing, node: &Node, nodes: &[Node]) -> bool {
    let mut sources = node.from.iter().filter_map(|edge| nodes.get(edge.node));
    crossing.value == node.name || (node.from.len() <= 2 && sources.any(|source| source.name == crossing.value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Form;

    #[test]
    fn a_form_is_the_whole_value() {
        let form = Form::Matches("INV-[0-9]+|PO-[0-9]+".to_owned());
        assert!(form.admits(&json!("INV-7")));
        for wrong in [json!("INV-7; rm"), json!("xPO-7"), json!("INV-7\n"), json!(7), json!(null)] {
            assert!(!Form::Matches("INV-7)|(?:.*".to_owned()).admits(&wrong), "{wrong}");
            assert!(!form.admits(&wrong), "{wrong}");
        }
        assert!(!Form::Matches("(".to_owned()).admits(&json!("(")));
        assert!(Form::Range(1.0, 5.0).admits(&json!(5)) && !Form::Range(1.0, 5.0).admits(&json!("5")));
    }
}

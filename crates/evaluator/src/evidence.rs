//! A plan as evidence: facts first, the planner's words last, everything a quoted value of one document.

use countersign_plan::access::Access;
use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::id::StepId;
use serde_json::{Value, json};

/// The longest evidence, in bytes of JSON. A longer plan is for people.
pub const LONGEST: usize = 96 << 10;

/// What a model is shown of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    document: Value,
    digest: Digest,
}

/// The plan is longer than a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the plan is longer than the {LONGEST} bytes that an evaluator is shown")]
pub struct TooLong;

impl Evidence {
    /// A plan for a goal, with what each of its steps touches.
    ///
    /// # Errors
    /// It is too long to be shown whole, and a part of it is no evidence.
    pub fn of<'a>(
        goal: Option<&str>,
        draft: &Draft,
        touches: impl IntoIterator<Item = (&'a StepId, &'a [Access])>,
    ) -> Result<Self, TooLong> {
        let touch = |access: &Access| {
            let kind = access.resource.kind;
            json!({"effect": access.effect, "kind": kind, "name": access.resource.path(), "below": access.recursive})
        };
        let touches = touches.into_iter();
        let touches: Vec<Value> = touches
            .map(|(step, all)| json!({"step": step, "touches": all.iter().map(touch).collect::<Vec<_>>()}))
            .collect();
        Self::from_document(json!({"goal": goal, "steps": touches, "plan": draft.source()}))
    }

    /// Evidence that is made up: a probe.
    ///
    /// # Errors
    /// As for a plan.
    pub(crate) fn from_document(document: Value) -> Result<Self, TooLong> {
        if document.to_string().len() > LONGEST {
            return Err(TooLong);
        }
        let digest = canonical::digest(&document);
        Ok(Self { document, digest })
    }

    /// The digest of everything that is shown.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) const fn document(&self) -> &Value {
        &self.document
    }
}

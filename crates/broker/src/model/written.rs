//! What a model wrote, as far as a dialect can tell, and what the dialects share.

use countersign_wire::infer::{ANSWER_LIMIT, Finish};
use serde_json::Value;

use super::fault::Fault;

/// The name of the one tool, whose arguments are the answer, and of the schema.
pub(crate) const TOOL: &str = "answer";

/// What a model wrote. Untrusted: neither redacted nor compared with the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The answer.
    pub(crate) text: String,
    /// Why it ends.
    pub(crate) finish: Finish,
    /// The model as the provider names it; may be empty.
    pub(crate) model: String,
    /// What the provider says it used.
    pub(crate) usage: Claimed,
}

impl Written {
    /// Itself, unless it says nothing at all.
    pub(crate) fn checked(self) -> Result<Self, Fault> {
        if self.text.is_empty() && self.finish == Finish::Stop {
            return Err(Fault::garbage("the answer is empty"));
        }
        Ok(self)
    }
}

/// Tokens as the provider counts them, where it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// Of the request.
    pub(crate) input: Option<u64>,
    /// Of the answer.
    pub(crate) output: Option<u64>,
}

impl Claimed {
    /// Takes a newer count. Counts are running totals: a smaller one later takes nothing back.
    pub(crate) fn raise(&mut self, input: Option<u64>, output: Option<u64>) {
        self.input = self.input.max(input);
        self.output = self.output.max(output);
    }
}

/// Text that grows up to [`ANSWER_LIMIT`].
#[derive(Debug, Default)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn push(&mut self, part: &str) -> Result<(), Fault> {
        if self.0.len() + part.len() > ANSWER_LIMIT {
            return Err(Fault::garbage(format!("the answer is longer than {ANSWER_LIMIT} bytes")));
        }
        self.0.push_str(part);
        Ok(())
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// A tool's parameters are an object; no provider takes another schema there.
pub(crate) fn is_object(schema: &Value) -> Result<(), Fault> {
    if schema.get("type").is_some_and(|t| t == "object") {
        return Ok(());
    }
    Err(Fault::rejected("the schema's root is not of the type `object`, and as a tool's parameters it has to be"))
}

/// What a model is told that cannot be held to a schema.
pub(crate) fn in_words(schema: &Value) -> String {
    format!("Answer with one JSON document and nothing else. It has to satisfy this JSON Schema:\n{schema}")
}

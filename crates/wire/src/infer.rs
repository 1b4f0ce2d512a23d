//! What a planner asks a model, and what a model answered: documents that the monitor passes on without reading them.
//!
//! They are neutral to providers; the broker turns them into a provider's own form and back. The monitor adds what the
//! planner cannot be believed about: the case, the label of what the planner has read, and the budget.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest request, in bytes of JSON.
pub const REQUEST_LIMIT: usize = 2 << 20;
/// The longest answer, in bytes of JSON.
pub const ANSWER_LIMIT: usize = 1 << 20;

/// One question to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The conversation, oldest first. The first may be `system`; `user` and `assistant` alternate after it.
    pub messages: Vec<Message>,
    /// The JSON Schema that the answer's text has to satisfy; constrained decoding where the provider has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Whose turn it is.
    pub role: Role,
    /// What was said.
    pub content: String,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the runtime.
    System,
    /// The goal, observations and verdicts.
    User,
    /// The model itself.
    Assistant,
}

/// What a model answered, or why there is no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The model answered.
    Answer(Answer),
    /// There is no answer.
    Failure(Failure),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The text; with a schema, the JSON document as the model wrote it, which nobody has checked yet.
    pub text: String,
    /// Why it ends here.
    pub finish: Finish,
    /// The model as the provider names it.
    pub model: String,
    /// What it used.
    pub usage: Usage,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done.
    Stop,
    /// It ran into `max_tokens` or its context.
    Length,
    /// It declined.
    Refusal,
}

/// What an inference used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Cost in millionths of a dollar, by the prices of the configuration; 0 where none are given.
    pub micro_dollars: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The class.
    pub kind: FailureKind,
    /// For people and for the planner, without secrets.
    pub message: String,
    /// Of a spent budget: which, and by how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<countersign_plan::budget::Shortage>,
}

impl Failure {
    /// A failure of this class; a spent budget says more.
    #[must_use]
    pub const fn new(kind: FailureKind, message: String) -> Self {
        Self { kind, message, shortage: None }
    }
}

/// Classes of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No provider is configured, or none of that name.
    NotConfigured,
    /// The provider may not see what the context holds (its clearance).
    Clearance,
    /// A budget is spent; a person raises it or ends the case.
    Budget,
    /// The provider could not be reached or did not answer in time, after the retries.
    Unavailable,
    /// The provider limits the rate, after the retries.
    RateLimited,
    /// The provider refused the request: a key, a model name, a parameter.
    Rejected,
    /// The answer is no answer of that protocol, or over a bound.
    Garbage,
}

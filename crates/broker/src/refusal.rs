//! Why something was not done for a step.

use countersign_wire::egress::reply;

use crate::http::HttpError;
use crate::secrets::SecretError;

/// What a refusal means for the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It was not done; the step was free to ask.
    Refused,
    /// The step asked for what it was not granted (INV-9).
    Violation,
    /// It may have happened all the same.
    Indeterminate,
}

/// Why something was not done. Its message goes to people and to the step; secrets are taken out of it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What it means.
    pub(crate) meaning: Meaning,
    /// Whether people have to know at once.
    pub(crate) alert: bool,
    /// For people.
    pub(crate) message: String,
}

impl Refusal {
    /// It was not done.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { meaning: Meaning::Refused, alert: false, message: message.into() }
    }

    /// The step asked for what it was not granted.
    pub(crate) fn violation(message: impl Into<String>) -> Self {
        Self { meaning: Meaning::Violation, alert: false, message: message.into() }
    }

    /// It may have happened all the same.
    pub(crate) fn indeterminate(message: impl Into<String>) -> Self {
        Self { meaning: Meaning::Indeterminate, alert: false, message: message.into() }
    }

    /// An exchange failed. `safe`: asking changes nothing at the server, so nothing can have happened.
    pub(crate) fn exchange(error: &HttpError, safe: bool) -> Self {
        let meaning = if error.may_have_acted() && !safe { Meaning::Indeterminate } else { Meaning::Refused };
        Self { meaning, alert: error.is_metadata(), message: error.to_string() }
    }

    /// For the step.
    pub(crate) fn reply(&self) -> reply::Kind {
        reply::Kind::Refused(reply::Refused {
            violation: self.meaning == Meaning::Violation,
            indeterminate: self.meaning == Meaning::Indeterminate,
            message: self.message.clone(),
        })
    }
}

impl From<SecretError> for Refusal {
    fn from(error: SecretError) -> Self {
        Self::refused(error.to_string())
    }
}

//! Why an attempt brought no answer, and whether another one may.

use std::time::Duration;

use countersign_plan::text;
use countersign_wire::infer::FailureKind;
use serde_json::Value;

/// The longest excerpt of a provider's words, in characters. They are untrusted and reach the planner.
const EXCERPT: usize = 300;
/// The longest body of an error that is read, in bytes.
pub(crate) const ERROR_LIMIT: usize = 64 << 10;

/// An attempt without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The class.
    pub(crate) kind: FailureKind,
    /// For people and for the planner; the provider's own words are quoted and cut.
    pub(crate) message: String,
    /// Whether another attempt makes sense.
    pub(crate) again: Again,
    /// Whether the provider may have worked on the request, so that it is counted as paid.
    pub(crate) worked: bool,
    /// Whether a person has to know: the provider's name led to a metadata service.
    pub(crate) alert: bool,
    /// Whether the provider refused the key, so that it is read again before the next inference.
    pub(crate) key: bool,
}

/// Whether another attempt makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// The same request would fail the same way, or an answer had begun.
    No,
    /// It may go better later; the provider may have said when.
    Later(Option<Duration>),
}

impl Fault {
    /// The answer is no answer of the protocol, or over a bound.
    pub(crate) fn garbage(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Garbage,
            message: message.into(),
            again: Again::No,
            worked: true,
            alert: false,
            key: false,
        }
    }

    /// The request is one that the provider does not take.
    pub(crate) fn rejected(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Rejected,
            message: message.into(),
            again: Again::No,
            worked: false,
            alert: false,
            key: false,
        }
    }

    /// The provider was reached, but no answer came; another attempt may bring one.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        let again = Again::Later(None);
        Self { kind: FailureKind::Unavailable, message: message.into(), again, worked: true, alert: false, key: false }
    }

    /// The provider was not reached: nobody worked on the request.
    pub(crate) fn unreached(message: impl Into<String>) -> Self {
        Self { worked: false, ..Self::unavailable(message) }
    }

    /// The same after a part of the answer arrived: it is not asked for again.
    pub(crate) fn midway(self) -> Self {
        Self { again: Again::No, worked: true, ..self }
    }
}

/// What an answer other than `200` means (RFC 9110; 529 is Anthropic's `overloaded`).
pub(crate) fn of_status(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Fault {
    let told = Told::read(body);
    let said = told.quoted();
    let later = Again::Later(retry_after);
    match status {
        // Spent credit is reported as a rate limit, and waiting does not refill it.
        429 if told.code == "insufficient_quota" => {
            Fault::rejected(format!("the account at the provider has no credit left (HTTP 429){said}"))
        }
        429 => Fault {
            kind: FailureKind::RateLimited,
            message: format!("the provider limits the rate (HTTP 429){said}"),
            again: later,
            worked: false,
            alert: false,
            key: false,
        },
        401 | 403 => {
            let message = format!("the provider refused the key or its rights (HTTP {status}){said}");
            Fault { key: true, ..Fault::rejected(message) }
        }
        404 => Fault::rejected(format!("the provider knows no such model or path (HTTP 404){said}")),
        413 => Fault::rejected(format!("the request is too large for the provider (HTTP 413){said}")),
        408 | 409 => {
            Fault { again: later, ..Fault::unavailable(format!("the provider gave up (HTTP {status}){said}")) }
        }
        501 | 505 => Fault::rejected(format!("the provider does not do this (HTTP {status}){said}")),
        500..=599 => Fault { again: later, ..Fault::unavailable(format!("the provider failed (HTTP {status}){said}")) },
        400..=499 => Fault::rejected(format!("the provider refused the request (HTTP {status}){said}")),
        300..=399 => Fault::rejected(format!(
            "the provider redirects (HTTP {status}), and a key follows no redirect; configure the final address"
        )),
        _ => Fault::garbage(format!("HTTP {status} instead of an answer{said}")),
    }
}

/// What an error inside a stream means. An answer may have begun; the caller knows.
pub(crate) fn of_event(error: &Value) -> Fault {
    let told = Told::of(error);
    let said = told.quoted();
    let kind = if told.kind.is_empty() { told.code.as_str() } else { told.kind.as_str() };
    if told.code == "insufficient_quota" {
        return Fault::rejected(format!("the account at the provider has no credit left{said}"));
    }
    if kind.contains("rate_limit") || told.code.contains("rate_limit") || told.code == "429" {
        let message = format!("the provider limits the rate{said}");
        return Fault {
            kind: FailureKind::RateLimited,
            message,
            again: Again::Later(None),
            worked: true,
            alert: false,
            key: false,
        };
    }
    match kind {
        "invalid_request_error"
        | "authentication_error"
        | "permission_error"
        | "not_found_error"
        | "request_too_large"
        | "billing_error"
        | "exceed_context_size_error" => Fault::rejected(format!("the provider refused the request{said}")),
        _ => Fault::unavailable(format!("the provider failed{said}")),
    }
}

/// What a provider says of its error, in the shapes that are in use.
#[derive(Debug, Default)]
struct Told {
    kind: String,
    code: String,
    message: String,
}

impl Told {
    fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of(value.get("error").unwrap_or(&value)),
            Err(_) => Self { message: String::from_utf8_lossy(body).trim().to_owned(), ..Self::default() },
        }
    }

    fn of(error: &Value) -> Self {
        let field = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = match error {
            Value::String(text) => text.clone(),
            _ => [field("message"), field("detail")].into_iter().find(|m| !m.is_empty()).unwrap_or_default(),
        };
        Self { kind: field("type"), code: field("code"), message }
    }

    fn quoted(&self) -> String {
        if self.message.is_empty() { String::new() } else { format!("; it says: `{}`", excerpt(&self.message)) }
    }
}

/// At most [`EXCERPT`] characters of words from outside, with everything that hides made visible.
pub(crate) fn excerpt(words: &str) -> String {
    let mut characters = words.chars();
    let head: String = characters.by_ref().take(EXCERPT).collect();
    let more = characters.count();
    let head = text::escape(&head);
    if more == 0 { head } else { format!("{head} (and {more} characters more)") }
}

#[cfg(test)]
mod tests;

//! The one JSON object of a model's answer.
//!
//! A provider that constrains decoding returns the object alone. From the others, text around it, a fence, or a preface of
//! thinking is tolerated, but never a choice: with two objects nobody can say which one was meant, and one of them may be
//! a quotation.

use countersign_plan::document::{self, Bounds, DocumentError};
use serde_json::{Map, Value};

/// What an answer may cost: that of a plan.
const BOUNDS: Bounds = Bounds::PLAN;

/// Reads the object of an answer.
///
/// # Errors
/// None, more than one, or one that is not strict JSON within its bounds; the message says what to write instead.
pub fn object(answer: &str) -> Result<Map<String, Value>, DocumentError> {
    if answer.len() > BOUNDS.bytes {
        let what = format!("{} bytes, but at most {} are read; write less", answer.len(), BOUNDS.bytes);
        return Err(DocumentError::at("", what));
    }
    let text = without_thinking(answer)?;
    let (first, rest) = next(text)?;
    let Some(first) = first else { return Err(DocumentError::at("", "no JSON object; answer with exactly one")) };
    if rest.contains('{') && next(rest)?.0.is_some() {
        return Err(DocumentError::at("", "more than one JSON object; answer with exactly one, and nothing beside it"));
    }
    match document::from_json(first.as_bytes(), BOUNDS)? {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(DocumentError::at("", "a JSON object is needed"))
        }
    }
}

/// What follows the thinking that some models put in front. What a model only thought of is not taken for its answer.
fn without_thinking(text: &str) -> Result<&str, DocumentError> {
    let text = text.trim_start();
    if !text.starts_with("<think>") {
        return Ok(text);
    }
    let unfinished = || DocumentError::at("", "the thinking never ends; think less and answer with one JSON object");
    text.split_once("</think>").map(|(_, rest)| rest).ok_or_else(unfinished)
}

/// The first object of a text, from its brace to the one that closes it, and what follows.
fn next(text: &str) -> Result<(Option<&str>, &str), DocumentError> {
    let Some(start) = text.find('{') else { return Ok((None, text)) };
    let text = text.get(start..).unwrap_or_default();
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    let (object, rest) = text.split_at(at + 1);
                    return Ok((Some(object), rest));
                }
            }
            _ => {}
        }
    }
    Err(DocumentError::at("", "the JSON object is not closed: a brace or a quotation mark is missing, or it was cut"))
}

#[cfg(test)]
mod tests;

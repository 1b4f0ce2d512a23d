//! The templates of a manifest's drivers: literals, and arguments in their places.

use countersign_plan::resolve::SECRET_HANDLE;
use countersign_plan::tool::Part;
use countersign_wire::egress::ask::Header;
use serde_json::Value;

use super::Outcome;
use crate::failure::Failure;

/// Whether a secret's handle stands anywhere in this value.
pub(super) fn holds_handle(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_handle),
        Value::Object(members) => members.contains_key(SECRET_HANDLE) || members.values().any(holds_handle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Refuses a value in which a secret's handle stands: handles are for headers.
pub(super) fn without_handle<'v>(what: &str, value: &'v Value) -> Outcome<&'v Value> {
    if holds_handle(value) {
        return Err(Failure::new(format!("{what} holds a `{SECRET_HANDLE}`; a secret goes into headers only")));
    }
    Ok(value)
}

/// The text of a string, a number or a boolean.
pub(super) fn scalar(what: &str, value: &Value) -> Outcome<String> {
    match without_handle(what, value)? {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(Failure::new(format!("{what} is no string, number or boolean, which the tool's template needs")))
        }
    }
}

/// The text of a part; `None` where its argument is absent.
pub(super) fn part(part: &Part, args: &Value) -> Outcome<Option<String>> {
    match part {
        Part::Literal(text) => Ok(Some(text.clone())),
        Part::Argument(place) => {
            place.arg.get(args).map(|value| scalar(&format!("the argument {}", place.arg), value)).transpose()
        }
    }
}

/// A header whose value is text, a secret's handle, or text and a handle after it (`["Bearer ", {"$secret": NAME}]`).
pub(super) fn header(name: &str, value: &Value) -> Outcome<Header> {
    let handle = |value: &Value| match value {
        Value::Object(members) if members.len() == 1 => {
            members.get(SECRET_HANDLE).and_then(Value::as_str).map(str::to_owned)
        }
        _ => None,
    };
    let (value, secret) = match value {
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(before), secret] => (before.clone(), handle(secret)),
            _ => (String::new(), None),
        },
        Value::Object(_) => (String::new(), handle(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Ok(Header {
                name: name.to_owned(),
                value: scalar(&format!("the header {name}"), value)?,
                secret: None,
            });
        }
    };
    if secret.is_none() {
        let form = format!(
            "the header {name} is neither text nor {{\"{SECRET_HANDLE}\": NAME}} nor text and such a handle after it"
        );
        return Err(Failure::new(form));
    }
    Ok(Header { name: name.to_owned(), value, secret })
}

/// Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3).
pub(super) fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Names and values as a query or a form (`application/x-www-form-urlencoded`); spaces as `%20`, which both read alike.
pub(super) fn pairs(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests;

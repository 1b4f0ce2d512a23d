//! Known secrets never reach a record: their values are replaced by `[secret:NAME]` before anything is digested (INV-10).
//!
//! Replaced wherever they occur in strings and member names, as they are and in the encodings in which tools print them:
//! base64 (both alphabets), hex, percent-encoding. A secret that a tool transformed otherwise is not found; the sealed
//! payload is what protects then.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use countersign_plan::id::Reference;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// The shortest value that counts as a secret, in bytes: shorter ones would tear up every record.
pub const MIN_SECRET: usize = 4;

/// A secret is too short to be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of secret `{0}` is shorter than {MIN_SECRET} bytes: it cannot be kept out of records")]
pub struct SecretTooShort(Reference);

/// The secrets that are known, and how each looks in text.
#[derive(Default)]
pub struct Redactor {
    /// Needle and replacement, longest needle first.
    needles: Vec<(Zeroizing<String>, String)>,
}

impl Redactor {
    /// Knows no secret.
    #[must_use]
    pub const fn new() -> Self {
        Self { needles: Vec::new() }
    }

    /// Adds a secret: from now on its value is replaced.
    ///
    /// # Errors
    /// The value is shorter than [`MIN_SECRET`].
    pub fn register(&mut self, name: &Reference, value: &str) -> Result<(), SecretTooShort> {
        if value.len() < MIN_SECRET {
            return Err(SecretTooShort(name.clone()));
        }
        let mut percent = Zeroizing::new(String::with_capacity(value.len() * 3));
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                percent.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                let _ = write!(percent, "%{byte:02X}");
            }
        }
        let forms = [
            Zeroizing::new(value.to_owned()),
            Zeroizing::new(STANDARD_NO_PAD.encode(value)),
            Zeroizing::new(URL_SAFE_NO_PAD.encode(value)),
            Zeroizing::new(hex::encode(value)),
            Zeroizing::new(hex::encode_upper(value)),
            percent,
            inside_json(value),
        ];
        for form in forms {
            if self.needles.iter().all(|(needle, _)| **needle != *form) {
                self.needles.push((form, format!("[secret:{name}]")));
            }
        }
        self.needles.sort_by_key(|(needle, _)| std::cmp::Reverse(needle.len()));
        Ok(())
    }

    /// The value without the known secrets; the value itself where it holds none.
    #[must_use]
    pub fn redact<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        if self.needles.is_empty() || !self.occurs(value) {
            Cow::Borrowed(value)
        } else {
            Cow::Owned(self.rewrite(value))
        }
    }

    fn occurs(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.occurs_in(text),
            Value::Array(items) => items.iter().any(|item| self.occurs(item)),
            Value::Object(members) => members.iter().any(|(name, item)| self.occurs_in(name) || self.occurs(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn occurs_in(&self, text: &str) -> bool {
        self.needles.iter().any(|(needle, _)| text.contains(needle.as_str()))
    }

    fn rewrite(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.clean(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.rewrite(item)).collect()),
            Value::Object(members) => {
                let mut out = Map::new();
                for (name, item) in members {
                    let mut name = self.clean(name);
                    // Two names that differed only in secrets must not swallow each other.
                    while out.contains_key(&name) {
                        name.push('\'');
                    }
                    out.insert(name, self.rewrite(item));
                }
                Value::Object(out)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (needle, replacement) in &self.needles {
            if text.contains(needle.as_str()) {
                text = text.replace(needle.as_str(), replacement);
            }
        }
        text
    }
}

/// The value as it stands inside a JSON text.
fn inside_json(value: &str) -> Zeroizing<String> {
    let quoted = Zeroizing::new(Value::String(value.to_owned()).to_string());
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    Zeroizing::new(inner.unwrap_or(value).to_owned())
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} needles)", self.needles.len())
    }
}

#[cfg(test)]
mod tests;

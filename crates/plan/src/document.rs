//! Bytes from outside to a strict JSON value, or an error that names the place.
//!
//! JSON is read by `serde_json`, YAML by `saphyr-parser` as the YAML 1.2 JSON schema: `no` and dates are strings, anchors,
//! tags and merge keys are refused. Refused in both: duplicate keys, NaN, `-0`, integers of 2^53 or more, lone
//! surrogates, documents over their size, depth or count (`lesson_09`, `lesson_26` start here: one value has one form).

mod form;
mod json;
mod yaml;

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;

use crate::pointer::Pointer;
use form::Form;

/// What a document may cost before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the whole document.
    pub bytes: usize,
    /// Nesting of arrays and objects.
    pub depth: usize,
    /// Values in all.
    pub values: usize,
}

impl Bounds {
    /// Plans and intents: 1 MiB, 32 levels, 65,536 values.
    pub const PLAN: Self = Self { bytes: 1 << 20, depth: 32, values: 1 << 16 };
    /// Manifests, policies, deployments, change requests: 4 MiB, 48 levels, 262,144 values.
    pub const CONFIG: Self = Self { bytes: 4 << 20, depth: 48, values: 1 << 18 };
}

/// Why a document was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", Place(.pointer, *.line))]
pub struct DocumentError {
    /// The place as a JSON pointer (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// The line in the source, from 1, where the reader knows it.
    pub line: Option<usize>,
    /// What is wrong and how to mend it.
    pub what: String,
}

struct Place<'a>(&'a str, Option<usize>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = crate::text::escape(self.0);
        match (pointer.is_empty(), self.1) {
            (true, None) => f.write_str("document"),
            (true, Some(line)) => write!(f, "line {line}"),
            (false, None) => f.write_str(&pointer),
            (false, Some(line)) => write!(f, "{pointer} (line {line})"),
        }
    }
}

impl DocumentError {
    /// An error at `pointer`.
    #[must_use]
    pub fn at(pointer: impl Into<String>, what: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), line: None, what: what.into() }
    }

    /// The same error below `prefix`.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}

/// Reads JSON.
///
/// ```
/// use countersign_plan::document::{Bounds, from_json};
///
/// // Two spellings of one name: whoever reads the first value and whoever reads the last would see different plans.
/// let error = from_json(br#"{"path": "a", "p\u0061th": "b"}"#, Bounds::PLAN).unwrap_err();
/// assert_eq!(error.pointer, "/path");
/// ```
///
/// # Errors
/// The first thing that is not strict JSON within `bounds`.
pub fn from_json(bytes: &[u8], bounds: Bounds) -> Result<Value, DocumentError> {
    json::read(sized(bytes, bounds)?, bounds)
}

/// Reads a type from its canonical form: where `write` makes the same bytes again, nothing in them had a second form, and the
/// quickest reader is strict enough.
///
/// # Errors
/// As [`from_json`] and [`typed`], or the bytes are not what `write` makes.
pub(crate) fn canonical<T: DeserializeOwned, E>(
    bytes: &[u8],
    bounds: Bounds,
    write: impl FnOnce(&T) -> Result<Vec<u8>, E>,
) -> Result<T, DocumentError> {
    let read = serde_json::from_str::<T>(sized(bytes, bounds)?).ok();
    let same = |read: &T| write(read).is_ok_and(|again| again == bytes);
    read.filter(same).ok_or_else(|| {
        let wrong = from_json(bytes, bounds).and_then(typed::<T>).err();
        wrong.unwrap_or_else(|| DocumentError::at("", "not in canonical form (RFC 8785), the only one that is signed"))
    })
}

/// Reads a strict value in the midst of a type.
///
/// # Errors
/// As [`from_json`], without the place.
pub(crate) fn strict<'de, D: Deserializer<'de>>(deserializer: D, bounds: Bounds) -> Result<Value, D::Error> {
    json::strict(deserializer, bounds)
}

/// Reads YAML.
///
/// ```
/// use countersign_plan::document::{Bounds, from_yaml};
/// use serde_json::json;
///
/// assert_eq!(from_yaml(b"[no, 2026-01-01, 0x10, 1]", Bounds::PLAN)?, json!(["no", "2026-01-01", "0x10", 1]));
/// assert_eq!(from_yaml(b"a: &x 1", Bounds::PLAN).unwrap_err().pointer, "/a");
/// # Ok::<(), countersign_plan::document::DocumentError>(())
/// ```
///
/// # Errors
/// The first thing that is not of the YAML 1.2 JSON schema within `bounds`.
pub fn from_yaml(bytes: &[u8], bounds: Bounds) -> Result<Value, DocumentError> {
    yaml::read(sized(bytes, bounds)?, bounds)
}

/// Reads JSON if the first visible byte opens an object or array, else YAML.
///
/// # Errors
/// As [`from_json`] or [`from_yaml`].
pub fn from_bytes(bytes: &[u8], bounds: Bounds) -> Result<Value, DocumentError> {
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    // A YAML flow mapping may open the same way: strict JSON is tried first, and its error is the one that helps.
    if matches!(first, Some(b'{' | b'[')) { from_json(bytes, bounds) } else { from_yaml(bytes, bounds) }
}

fn sized(bytes: &[u8], bounds: Bounds) -> Result<&str, DocumentError> {
    if bytes.len() > bounds.bytes {
        let what = format!("{} bytes, but at most {} are read", bytes.len(), bounds.bytes);
        return Err(DocumentError::at("", what));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(DocumentError::at("", "starts with a byte order mark; save it as UTF-8 without one"));
    }
    std::str::from_utf8(bytes).map_err(|e| DocumentError::at("", format!("not UTF-8 at byte {}", e.valid_up_to())))
}

/// Turns a strict value into a type; the error names the pointer. A struct is read from an object, never from a list.
///
/// # Errors
/// The first field that is unknown, missing or of another type.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, DocumentError> {
    typed_ref(&value)
}

/// As [`typed`], of a document that says by which schema it is written.
///
/// # Errors
/// Another schema, before anything that this one does not know; then as [`typed`].
pub fn of_schema<T: DeserializeOwned>(value: &Value, schema: &str) -> Result<T, DocumentError> {
    let said = value.get("schema").and_then(Value::as_str);
    if said == Some(schema) {
        return typed_ref(value);
    }
    // A type may have a default for it, and the document says it nevertheless.
    let missing = if said.is_none() { typed_ref::<T>(value).err() } else { None };
    Err(missing.unwrap_or_else(|| DocumentError::at("/schema", format!("this reader knows `{schema}`"))))
}

/// As [`typed`], where the value is still needed.
///
/// # Errors
/// As [`typed`].
pub fn typed_ref<T: DeserializeOwned>(value: &Value) -> Result<T, DocumentError> {
    // The place costs more than the reading, so it is looked for only once something is known to be wrong.
    T::deserialize(Form(value)).or_else(|_| placed(value))
}

fn placed<T: DeserializeOwned>(value: &Value) -> Result<T, DocumentError> {
    serde_path_to_error::deserialize(Form(value)).map_err(|e| {
        let mut pointer = String::new();
        for segment in e.path() {
            use serde_path_to_error::Segment;
            match segment {
                Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
                Segment::Map { key } | Segment::Enum { variant: key } => {
                    pointer.push('/');
                    pointer.push_str(&Pointer::escape(key));
                }
                Segment::Unknown => {}
            }
        }
        DocumentError::at(pointer, crate::text::escape(&e.into_inner().to_string()))
    })
}

#[cfg(test)]
mod tests;

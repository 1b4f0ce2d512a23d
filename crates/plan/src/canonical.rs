//! Canonical bytes of a JSON value: RFC 8785 (JCS). Digests and signatures are over these bytes.
//!
//! Numbers are written as ECMAScript does (`ryu-js`), members are sorted by UTF-16 code units, nothing is escaped that need
//! not be. [`crate::document`] has refused before what has no canonical form (NaN, `-0`, integers of 2^53 or more).

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::digest::Digest;

/// The canonical bytes of `value`.
///
/// ```
/// use countersign_plan::canonical::to_vec;
/// use countersign_plan::document::{Bounds, from_json};
///
/// let value = from_json(br#" {"b": 1.0, "a": "\u0041"} "#, Bounds::PLAN)?;
/// assert_eq!(to_vec(&value), br#"{"a":"A","b":1}"#);
/// # Ok::<(), countersign_plan::document::DocumentError>(())
/// ```
#[must_use]
pub fn to_vec(value: &Value) -> Vec<u8> {
    // Growing step by step costs more than looking through the value once.
    let mut out = Vec::with_capacity(length(value));
    write_value(&mut out, value);
    out
}

/// The digest of the canonical bytes of `value`.
#[must_use]
pub fn digest(value: &Value) -> Digest {
    let mut out = Hashing { hasher: Sha256::new(), waiting: [0; 1024], count: 0 };
    write_value(&mut out, value);
    out.finish()
}

/// The canonical bytes of a serialisable value.
///
/// # Errors
/// The value has no JSON form (a map with keys that are not strings).
pub fn of<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    Ok(to_vec(&serde_json::to_value(value)?))
}

/// Where canonical bytes go.
trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Hashes the bytes in larger pieces, without keeping them all.
struct Hashing {
    hasher: Sha256,
    waiting: [u8; 1024],
    count: usize,
}

impl Sink for Hashing {
    fn put(&mut self, bytes: &[u8]) {
        match self.waiting.get_mut(self.count..self.count + bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.count += bytes.len();
            }
            None => {
                self.flush();
                self.hasher.update(bytes);
            }
        }
    }
}

impl Hashing {
    fn flush(&mut self) {
        self.hasher.update(self.waiting.get(..self.count).unwrap_or_default());
        self.count = 0;
    }

    fn finish(mut self) -> Digest {
        self.flush();
        Digest::from_bytes(self.hasher.finalize().into())
    }
}

/// About how many canonical bytes a value has: exact but for escapes and numbers.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| length(item) + 1).sum::<usize>(),
        Value::Object(members) => 2 + members.iter().map(|(key, member)| key.len() + 4 + length(member)).sum::<usize>(),
    }
}

/// The canonical bytes of an object with these members, which are not copied together first. Names are unique.
pub(crate) fn object<'a>(members: impl Iterator<Item = (&'a str, &'a Value)>) -> Vec<u8> {
    let mut sorted: Vec<(&str, &Value)> = members.collect();
    sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    let mut out =
        Vec::with_capacity(2 + sorted.iter().map(|(key, member)| key.len() + 4 + length(member)).sum::<usize>());
    write_members(&mut out, sorted.into_iter());
    out
}

fn write_value(out: &mut impl Sink, value: &Value) {
    match value {
        Value::Null => out.put(b"null"),
        Value::Bool(true) => out.put(b"true"),
        Value::Bool(false) => out.put(b"false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.put(b"[");
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.put(b",");
                }
                write_value(out, item);
            }
            out.put(b"]");
        }
        Value::Object(members) => write_object(out, members),
    }
}

/// UTF-8 starts U+E000 and everything above with this byte or a greater one, and nothing below it contains such a byte.
const FIRST_BYTE_OF_E000: u8 = 0xee;

fn write_object(out: &mut impl Sink, members: &Map<String, Value>) {
    // A map that keeps its keys sorted by code point is in order already: UTF-16 order differs only beyond U+FFFF.
    if members.keys().is_sorted() && members.keys().all(|key| key.bytes().all(|byte| byte < FIRST_BYTE_OF_E000)) {
        write_members(out, members.iter().map(|(key, member)| (key.as_str(), member)));
    } else {
        let mut sorted: Vec<(&str, &Value)> = members.iter().map(|(key, member)| (key.as_str(), member)).collect();
        sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
        write_members(out, sorted.into_iter());
    }
}

fn write_members<'a>(out: &mut impl Sink, members: impl Iterator<Item = (&'a str, &'a Value)>) {
    out.put(b"{");
    for (i, (key, value)) in members.enumerate() {
        if i > 0 {
            out.put(b",");
        }
        write_string(out, key);
        out.put(b":");
        write_value(out, value);
    }
    out.put(b"}");
}

fn write_number(out: &mut impl Sink, number: &serde_json::Number) {
    if number.is_f64() {
        // serde_json holds finite floats only.
        let float = number.as_f64().unwrap_or(0.0);
        out.put(ryu_js::Buffer::new().format(float).as_bytes());
    } else {
        out.put(number.to_string().as_bytes());
    }
}

fn write_string(out: &mut impl Sink, text: &str) {
    let escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let mut rest = text.as_bytes();
    out.put(b"\"");
    // Most strings have nothing to escape, and this loop, which never leaves early, looks at many bytes at once.
    if !rest.iter().fold(false, |any, &byte| any | escaped(byte)) {
        out.put(rest);
        return out.put(b"\"");
    }
    while let Some(at) = rest.iter().position(|&byte| escaped(byte)) {
        let (clean, tail) = rest.split_at(at);
        out.put(clean);
        if let Some((&byte, after)) = tail.split_first() {
            write_escape(out, byte);
            rest = after;
        }
    }
    out.put(rest);
    out.put(b"\"");
}

fn write_escape(out: &mut impl Sink, byte: u8) {
    match byte {
        b'"' => out.put(b"\\\""),
        b'\\' => out.put(b"\\\\"),
        0x08 => out.put(b"\\b"),
        0x09 => out.put(b"\\t"),
        0x0a => out.put(b"\\n"),
        0x0c => out.put(b"\\f"),
        0x0d => out.put(b"\\r"),
        other => out.put(format!("\\u{other:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests;

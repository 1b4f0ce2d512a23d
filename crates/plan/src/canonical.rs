//! Canonical bytes of a JSON value: RFC 8785 (JCS). Digests and signatures are over these bytes.
//!
//! Numbers are written as ECMAScript does (`ryu-js`), members are sorted by UTF-16 code units, nothing is escaped that need
//! not be. [`crate::document`] has refused before what has no canonical form (NaN, `-0`, integers of 2^53 or more). A value,
//! which is mostly the author's words, is written here; a type by `serde_json`, with its members put in order.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Serializer, Value};

use crate::digest::Digest;

/// Room for most documents: growing step by step costs more than the memory.
const ROOM: usize = 2048;

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
    let mut out = Vec::with_capacity(ROOM);
    write_value(&mut out, value);
    out
}

/// The digest of the canonical bytes of `value`.
#[must_use]
pub fn digest(value: &Value) -> Digest {
    Digest::of(&to_vec(value))
}

/// The canonical bytes of a serialisable value, written from it and from no copy.
///
/// # Errors
/// The value has no JSON form (a map with keys that are not strings).
pub fn of<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(ROOM);
    write(&mut out, value)?;
    Ok(out)
}

fn write<T: Serialize>(out: &mut Vec<u8>, value: &T) -> Result<(), serde_json::Error> {
    let written = RefCell::new(std::mem::take(out));
    let ordered = Ordered { out: &written, names: Vec::new(), objects: Vec::new() };
    value.serialize(&mut Serializer::with_formatter(Written(&written), ordered))?;
    *out = written.into_inner();
    Ok(())
}

/// An object whose members are written one by one, types and values in turn, by names in their order.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    before: u8,
}

impl<'a> Object<'a> {
    /// Room for most plans.
    pub(crate) fn room() -> Vec<u8> {
        Vec::with_capacity(3 * ROOM)
    }

    /// Opens an object.
    pub(crate) const fn open(out: &'a mut Vec<u8>) -> Self {
        Self { out, before: b'{' }
    }

    /// Names of members are words of this crate, in which nothing is escaped.
    fn name(&mut self, name: &str) {
        self.out.extend_from_slice(&[self.before, b'"']);
        self.before = b',';
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    pub(crate) fn member<T: Serialize>(&mut self, name: &str, member: &T) -> Result<(), serde_json::Error> {
        self.name(name);
        write(self.out, member)
    }

    pub(crate) fn object<E>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Object<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.name(name);
        let mut object = Object::open(self.out);
        write(&mut object)?;
        object.close();
        Ok(())
    }

    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        write_string(self.out, text);
    }

    pub(crate) fn flag(&mut self, name: &str, flag: bool) {
        self.name(name);
        self.out.extend_from_slice(if flag { b"true" } else { b"false" });
    }

    pub(crate) fn digest(&mut self, name: &str, digest: &Digest) {
        self.name(name);
        digest.write(self.out);
    }

    /// Writes a value; the answer is where it lies.
    pub(crate) fn value(&mut self, name: &str, value: &Value) -> Range<usize> {
        self.name(name);
        let start = self.out.len();
        write_value(self.out, value);
        start..self.out.len()
    }

    /// Writes a list of objects.
    pub(crate) fn objects<T, E>(
        &mut self,
        name: &str,
        items: &[T],
        mut write: impl FnMut(&mut Object<'_>, &T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.name(name);
        self.out.push(b'[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.out.push(b',');
            }
            let mut object = Object::open(self.out);
            write(&mut object, item)?;
            object.close();
        }
        self.out.push(b']');
        Ok(())
    }

    pub(crate) fn close(self) {
        if self.before == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}

/// What `serde_json` writes, where [`Ordered`] can reach it.
struct Written<'a>(&'a RefCell<Vec<u8>>);

impl io::Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How canonical JSON differs from what `serde_json` writes: numbers, and the order of members, which are sorted where they lie
/// once their object ends.
struct Ordered<'a> {
    out: &'a RefCell<Vec<u8>>,
    /// Where the names of the members of all open objects lie, in their quotes.
    names: Vec<Range<usize>>,
    /// How many names there were when each open object began.
    objects: Vec<usize>,
}

impl Formatter for Ordered<'_> {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, float: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format(float).as_bytes())
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, float: f32) -> io::Result<()> {
        self.write_f64(writer, float.into())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.push(self.names.len());
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        let at = self.out.borrow().len();
        self.names.push(at..at);
        Ok(())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(name) = self.names.last_mut() {
            name.end = self.out.borrow().len();
        }
        writer.write_all(b":")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let first = self.objects.pop().unwrap_or_default();
        sort(&mut self.out.borrow_mut(), self.names.get(first..).unwrap_or_default());
        self.names.truncate(first);
        writer.write_all(b"}")
    }
}

/// Sorts the members at the end of `out`, whose names lie at `names`.
fn sort(out: &mut Vec<u8>, names: &[Range<usize>]) {
    let Some(start) = names.first().map(|name| name.start) else { return };
    let name = |at: &Range<usize>| out.get(at.clone()).unwrap_or_default();
    // Most names are written as they are, and their bytes are in the order of their units: all but those beyond U+FFFF.
    let odd = |byte: u8| byte == b'\\' || byte >= FIRST_BYTE_OF_E000;
    let plain = !names.iter().any(|at| name(at).iter().fold(false, |any, &byte| any | odd(byte)));
    let bytes = |at: &Range<usize>| name(at).split_last().map_or(&[][..], |(_, open)| open);
    if plain && names.is_sorted_by_key(bytes) {
        return;
    }
    // A comma stands between two members.
    let ends = names.iter().skip(1).map(|next| next.start - 1).chain([out.len()]);
    let mut members: Vec<_> = names.iter().zip(ends).collect();
    if plain {
        members.sort_by_key(|(at, _)| bytes(at));
    } else {
        members.sort_by_cached_key(|(at, _)| units(name(at)));
    }
    let members: Vec<&[u8]> = members.iter().map(|(at, end)| out.get(at.start..*end).unwrap_or_default()).collect();
    let sorted = members.join(&b","[..]);
    out.truncate(start);
    out.extend_from_slice(&sorted);
}

/// UTF-8 starts U+E000 and everything above with this byte or a greater one, and nothing below it contains such a byte.
const FIRST_BYTE_OF_E000: u8 = 0xee;

/// The UTF-16 units of a name in its quotes.
fn units(quoted: &[u8]) -> Vec<u16> {
    serde_json::from_slice::<String>(quoted).unwrap_or_default().encode_utf16().collect()
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.extend_from_slice(b"[");
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b",");
                }
                write_value(out, item);
            }
            out.extend_from_slice(b"]");
        }
        Value::Object(members) => write_object(out, members),
    }
}

fn write_object(out: &mut Vec<u8>, members: &Map<String, Value>) {
    // A map that keeps its keys sorted by code point is in order already: UTF-16 order differs only beyond U+FFFF.
    if members.keys().is_sorted() && members.keys().all(|key| key.bytes().all(|byte| byte < FIRST_BYTE_OF_E000)) {
        write_members(out, members.iter().map(|(key, member)| (key.as_str(), member)));
    } else {
        let mut sorted: Vec<(&str, &Value)> = members.iter().map(|(key, member)| (key.as_str(), member)).collect();
        sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
        write_members(out, sorted.into_iter());
    }
}

fn write_members<'a>(out: &mut Vec<u8>, members: impl Iterator<Item = (&'a str, &'a Value)>) {
    out.extend_from_slice(b"{");
    for (i, (key, value)) in members.enumerate() {
        if i > 0 {
            out.extend_from_slice(b",");
        }
        write_string(out, key);
        out.extend_from_slice(b":");
        write_value(out, value);
    }
    out.extend_from_slice(b"}");
}

fn write_number(out: &mut Vec<u8>, number: &serde_json::Number) {
    if number.is_f64() {
        // serde_json holds finite floats only.
        let float = number.as_f64().unwrap_or(0.0);
        out.extend_from_slice(ryu_js::Buffer::new().format(float).as_bytes());
    } else {
        out.extend_from_slice(number.to_string().as_bytes());
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    let escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let mut rest = text.as_bytes();
    out.extend_from_slice(b"\"");
    // Most strings have nothing to escape, and this loop, which never leaves early, looks at many bytes at once.
    if !rest.iter().fold(false, |any, &byte| any | escaped(byte)) {
        out.extend_from_slice(rest);
        return out.extend_from_slice(b"\"");
    }
    while let Some(at) = rest.iter().position(|&byte| escaped(byte)) {
        let (clean, tail) = rest.split_at(at);
        out.extend_from_slice(clean);
        if let Some((&byte, after)) = tail.split_first() {
            write_escape(out, byte);
            rest = after;
        }
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(b"\"");
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests;

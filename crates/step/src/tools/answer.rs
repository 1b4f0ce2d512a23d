//! From the bytes of an answer to a value: hostile bytes, bounded in size, depth and number of values.
//!
//! By the time a body is read, the request has happened. A body that cannot be read as the manifest says is therefore given as
//! text with a note, and is no failure: whoever needs a field of it finds it missing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_plan::document::{self, Bounds};
use countersign_plan::text;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde_json::{Map, Value};

use crate::bounded;

/// The most values in an answer, and how deep they nest.
const VALUES: usize = 1 << 17;
const DEPTH: usize = 48;

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Text, or base64 where it is none.
    Raw,
    /// A JSON document.
    Json,
    /// An XML document.
    Xml,
}

/// A body that was read.
#[derive(Debug, PartialEq)]
pub(super) struct Read {
    pub(super) body: Value,
    /// A further member of the output: what one must know to use the body.
    pub(super) note: Option<(&'static str, String)>,
    /// Bytes that are not in it.
    pub(super) dropped: u64,
}

/// Reads a body of which the broker dropped the end after `dropped` bytes.
pub(super) fn read(bytes: &[u8], dropped: u64, form: Body, budget: usize) -> Read {
    let parsed = match form {
        Body::Raw => return raw(bytes, dropped, budget, None),
        _ if dropped > 0 => Err("it was cut at the step's bound".to_owned()),
        _ if bytes.is_empty() => Ok(Value::Null),
        Body::Json => json(bytes),
        Body::Xml => xml(bytes),
    };
    let fits = parsed.and_then(|value| {
        if countersign_plan::canonical::to_vec(&value).len() > budget {
            Err("it is larger than an observation holds".to_owned())
        } else {
            Ok(value)
        }
    });
    match fits {
        Ok(body) => Read { body, note: None, dropped: 0 },
        Err(why) => raw(bytes, dropped, budget, Some(why)),
    }
}

fn raw(bytes: &[u8], dropped: u64, budget: usize, why: Option<String>) -> Read {
    let unread = |why: String| ("body_unread", text::escape(&why));
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => Some(bytes),
        // The bound may lie in the middle of a character.
        Err(e) if dropped > 0 && e.error_len().is_none() => bytes.get(..e.valid_up_to()),
        Err(_) => None,
    };
    match whole {
        Some(kept) => {
            let (text, cut) = bounded::text(kept, budget);
            let partial = u64::try_from(bytes.len() - kept.len()).unwrap_or(u64::MAX);
            Read {
                body: text.into(),
                note: why.map(unread),
                dropped: dropped.saturating_add(cut).saturating_add(partial),
            }
        }
        None => {
            let most = budget / 4 * 3;
            let kept = bytes.get(..most).unwrap_or(bytes);
            let cut = u64::try_from(bytes.len() - kept.len()).unwrap_or(u64::MAX);
            let note = why.map_or_else(
                || ("body_encoding", "base64".to_owned()),
                |why| unread(format!("{why}; given as base64")),
            );
            Read { body: STANDARD.encode(kept).into(), note: Some(note), dropped: dropped.saturating_add(cut) }
        }
    }
}

fn json(bytes: &[u8]) -> Result<Value, String> {
    let bounds = Bounds { bytes: bytes.len(), depth: DEPTH, values: VALUES };
    document::from_json(bytes, bounds).map_err(|e| format!("it is no JSON document that can be taken: {e}"))
}

/// An element while it is read.
struct Element {
    name: String,
    members: Map<String, Value>,
    text: String,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Result<Self, String> {
        let name = name(start.name().as_ref())?;
        let mut members = Map::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|e| e.to_string())?;
            let key = format!("@{}", self::name(attribute.key.as_ref())?);
            let value = attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|e| e.to_string())?;
            members.insert(key, Value::String(value.into_owned()));
        }
        Ok(Self { name, members, text: String::new() })
    }

    /// Text alone is a string; beside attributes or elements it is the member `#text`, unless it is blank.
    fn value(mut self) -> Value {
        if self.members.is_empty() {
            return Value::String(self.text);
        }
        if !self.text.trim().is_empty() {
            self.members.insert("#text".to_owned(), Value::String(self.text));
        }
        Value::Object(self.members)
    }

    fn add(&mut self, name: String, value: Value) {
        match self.members.get_mut(&name) {
            None => drop(self.members.insert(name, value)),
            // An element's value is never an array by itself.
            Some(Value::Array(all)) => all.push(value),
            Some(one) => {
                let first = one.take();
                *one = Value::Array(vec![first, value]);
            }
        }
    }
}

fn name(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a name is no text".to_owned())
}

/// No document type, so no entities but the five that are always there and characters by number: nothing expands.
fn xml(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no UTF-8, the only encoding that is read".to_owned())?;
    let mut reader = Reader::from_str(text);
    let mut root = Element { name: String::new(), members: Map::new(), text: String::new() };
    let (mut open, mut values): (Vec<Element>, usize) = (Vec::new(), 0);
    loop {
        let event = reader.read_event().map_err(|e| format!("it is no XML document: {e}"))?;
        values += 1;
        if values > VALUES || open.len() > DEPTH {
            return Err(format!("it has more than {VALUES} parts or nests deeper than {DEPTH}"));
        }
        let top = open.last_mut();
        match event {
            Event::Start(start) => open.push(Element::of(&start)?),
            Event::Empty(start) => {
                let element = Element::of(&start)?;
                top.unwrap_or(&mut root).add(element.name.clone(), element.value());
            }
            Event::End(_) => {
                let element = open.pop().ok_or("it closes an element that was not opened")?;
                open.last_mut().unwrap_or(&mut root).add(element.name.clone(), element.value());
            }
            Event::Text(said) => {
                let said = said.decode().map_err(|e| e.to_string())?;
                top.unwrap_or(&mut root).text.push_str(&said);
            }
            Event::CData(said) => {
                let said = said.decode().map_err(|e| e.to_string())?;
                top.unwrap_or(&mut root).text.push_str(&said);
            }
            Event::GeneralRef(reference) => {
                let by_number = reference.resolve_char_ref().map_err(|e| e.to_string())?;
                let name = reference.decode().map_err(|e| e.to_string())?;
                let known = by_number
                    .map(String::from)
                    .or_else(|| quick_xml::escape::resolve_xml_entity(&name).map(str::to_owned));
                let character = known.ok_or_else(|| format!("it uses the entity `{name}`, which is not taken"))?;
                top.unwrap_or(&mut root).text.push_str(&character);
            }
            Event::DocType(_) => return Err("it declares a document type, which is not taken".to_owned()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof if open.is_empty() => break,
            Event::Eof => return Err("it ends before its elements do".to_owned()),
        }
    }
    if root.members.is_empty() || !root.text.trim().is_empty() {
        return Err("it is no XML document: it has no element, or text outside of one".to_owned());
    }
    Ok(Value::Object(root.members))
}

#[cfg(test)]
mod tests;

//! Strict YAML through `saphyr-parser`'s events: the JSON schema of YAML 1.2 and nothing beyond it.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

use super::{Bounds, DocumentError, json};
use crate::pointer::Pointer;

/// A collection that is still open.
enum Frame {
    Sequence(Vec<Value>),
    Mapping { members: Map<String, Value>, key: Option<String> },
}

pub(super) fn read(text: &str, bounds: Bounds) -> Result<Value, DocumentError> {
    // The parser takes NUL for the end of the text; YAML allows no control character unescaped (YAML 1.2.2, section 5.1).
    if let Some(at) = text.find(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) {
        let line = text.bytes().take(at).filter(|&b| b == b'\n').count() + 1;
        let what = "a control character; write it as an escape in double quotes".to_owned();
        return Err(DocumentError { pointer: String::new(), line: Some(line), what });
    }
    let mut reader = Reader { bounds, values: 0, stack: Vec::new(), root: None, documents: 0 };
    for event in Parser::<StrInput<'_>>::new_from_str(text) {
        let (event, span) = event.map_err(|e| DocumentError {
            pointer: reader.pointer(),
            line: Some(e.marker().line()),
            what: crate::text::escape(e.info()),
        })?;
        reader.event(event).map_err(|what| DocumentError {
            pointer: reader.pointer(),
            line: Some(span.start.line()),
            what,
        })?;
    }
    reader.root.ok_or_else(|| DocumentError::at("", "the document is empty"))
}

struct Reader {
    bounds: Bounds,
    values: usize,
    stack: Vec<Frame>,
    root: Option<Value>,
    documents: usize,
}

impl Reader {
    fn pointer(&self) -> String {
        let mut out = String::new();
        for frame in &self.stack {
            match frame {
                Frame::Sequence(items) => out.push_str(&format!("/{}", items.len())),
                Frame::Mapping { key: Some(key), .. } => {
                    out.push('/');
                    out.push_str(&Pointer::escape(key));
                }
                Frame::Mapping { key: None, .. } => {}
            }
        }
        out
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 { Err("a second document in one file; keep one".to_owned()) } else { Ok(()) }
            }
            Event::Alias(_) => Err("aliases are refused: write the value out".to_owned()),
            Event::Scalar(text, style, anchor, tag) => {
                plain(anchor, tag.is_some())?;
                self.scalar(&text, style)
            }
            Event::SequenceStart(.., anchor, tag) => {
                plain(anchor, tag.is_some())?;
                self.open(Frame::Sequence(Vec::new()))
            }
            Event::MappingStart(.., anchor, tag) => {
                plain(anchor, tag.is_some())?;
                self.open(Frame::Mapping { members: Map::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(Frame::Sequence(items)) => self.place(Value::Array(items)),
                Some(Frame::Mapping { members, .. }) => self.place(Value::Object(members)),
                None => Err("a collection ends that did not begin".to_owned()),
            },
        }
    }

    fn open(&mut self, frame: Frame) -> Result<(), String> {
        if matches!(self.stack.last(), Some(Frame::Mapping { key: None, .. })) {
            return Err("a key must be a string".to_owned());
        }
        if self.stack.len() >= self.bounds.depth {
            return Err(format!("nested deeper than {} levels", self.bounds.depth));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle) -> Result<(), String> {
        if let Some(Frame::Mapping { members, key: key @ None }) = self.stack.last_mut() {
            if style == ScalarStyle::Plain && text == "<<" {
                return Err("merge keys are refused: write the members out".to_owned());
            }
            let again = members.contains_key(text);
            *key = Some(text.to_owned());
            return if again { Err("this key stands here twice; keep one".to_owned()) } else { Ok(()) };
        }
        let value = if style == ScalarStyle::Plain { plain_scalar(text)? } else { Value::String(text.to_owned()) };
        self.place(value)
    }

    fn place(&mut self, value: Value) -> Result<(), String> {
        self.values += 1;
        if self.values > self.bounds.values {
            return Err(format!("more than {} values", self.bounds.values));
        }
        match self.stack.last_mut() {
            None => self.root = Some(value),
            Some(Frame::Sequence(items)) => items.push(value),
            Some(Frame::Mapping { members, key }) => {
                let key = key.take().ok_or("a value without a key")?;
                members.insert(key, value);
            }
        }
        Ok(())
    }
}

fn plain(anchor: usize, tagged: bool) -> Result<(), String> {
    if anchor != 0 {
        return Err("anchors are refused: write the value out where it is used".to_owned());
    }
    if tagged { Err("tags are refused: values are JSON values".to_owned()) } else { Ok(()) }
}

/// A plain scalar of the JSON schema (YAML 1.2.2 section 10.2), where what matches nothing is a string.
fn plain_scalar(text: &str) -> Result<Value, String> {
    match text {
        "null" | "" | "~" => return Ok(Value::Null),
        "true" => return Ok(Value::Bool(true)),
        "false" => return Ok(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "-.inf" | "-.Inf" | "-.INF" | "+.inf" | "+.Inf"
        | "+.INF" => {
            return Err("not a finite number".to_owned());
        }
        _ => {}
    }
    let number = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'))
        && text.bytes().any(|b| b.is_ascii_digit());
    if !number {
        return Ok(Value::String(text.to_owned()));
    }
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) if n < 1 << 53 => Ok(Value::from(n)),
            (None, Some(n)) if n > -(1 << 53) => Ok(Value::from(n)),
            _ => json::float(n.as_f64().unwrap_or(f64::INFINITY)),
        },
        Err(_) if is_yaml_number(text) => {
            Err("a number that is out of range or ends in its point; quote it if it is text".to_owned())
        }
        // Digits that are no number: a date, a version, a phone number.
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}

/// Whether YAML's JSON schema reads a number here: `-? ( 0 | [1-9] [0-9]* ) ( \. [0-9]* )? ( [eE] [-+]? [0-9]+ )?`. What it
/// reads so and JSON does not must not become text behind its writer's back.
fn is_yaml_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let Some((integer, rest)) = rest.split_at_checked(whole) else { return false };
    if integer.is_empty() || (integer.starts_with('0') && integer.len() > 1) {
        return false;
    }
    let rest =
        rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
    }
}

//! A provider that answers from a file: for tests, examples and the documentation, and for a model that tries everything.
//!
//! It speaks chat completions into the reader that a provider on the network is read with, so that its faults (a status, bytes
//! that are no answer, an end too early, silence) meet the code that is to withstand them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_wire::infer::{Request, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use super::written::TOOL;

/// The name of this format.
pub(crate) const SCHEMA: &str = "countersign.script/v1";
/// Bytes of text in one chunk of a generated answer.
const PART: usize = 16 << 10;

/// Answers in order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    answers: Vec<Entry>,
}

/// One answer. The first that matches and is not used up is given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// What the last message of the user has to contain.
    #[serde(default)]
    when: Option<String>,
    /// What any message of the user has to contain.
    #[serde(default)]
    ever: Option<String>,
    /// How often it is given in one case; 0 is always.
    #[serde(default = "once")]
    times: u32,
    /// The text.
    #[serde(default)]
    text: Option<String>,
    /// A JSON document as the text.
    #[serde(default)]
    json: Option<Value>,
    /// A text that is put together from repeated parts.
    #[serde(default)]
    generate: Option<Vec<Segment>>,
    /// Why the answer ends, as the protocol says it: `stop`, `length`, `content_filter`, or anything else.
    #[serde(default)]
    finish: Option<String>,
    /// The text is a refusal.
    #[serde(default)]
    refuse: bool,
    /// The text is the arguments of a call of this tool.
    #[serde(default)]
    call: Option<String>,
    /// Tokens that the answer claims: of the request and of itself.
    #[serde(default)]
    usage: Option<(u64, u64)>,
    /// Milliseconds before the first byte.
    #[serde(default)]
    delay: u64,
    /// The status in place of `200`; the text is the body then.
    #[serde(default)]
    status: Option<u16>,
    /// Seconds that a `retry-after` asks for.
    #[serde(default)]
    retry_after: Option<u64>,
    /// The text is the body, byte by byte: no answer of the protocol, unless it is written as one.
    #[serde(default)]
    raw: bool,
    /// The connection breaks before the end of the answer.
    #[serde(default)]
    cut: bool,
    /// Silence before the end of the answer.
    #[serde(default)]
    hang: bool,
}

/// A part of a generated text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Segment {
    /// The text; `{n}` is the number of the repetition, from 0.
    text: String,
    /// How often.
    #[serde(default = "once")]
    times: u32,
}

const fn once() -> u32 {
    1
}

/// A script, and what of it was given in each case.
#[derive(Debug)]
pub(crate) struct Script {
    answers: Vec<Entry>,
    given: BTreeMap<String, Vec<u32>>,
}

/// An answer as it would come over a connection.
#[derive(Debug)]
pub(crate) struct Played {
    /// The status.
    pub(crate) status: u16,
    /// The `content-type`.
    pub(crate) content_type: &'static str,
    /// What a `retry-after` says.
    pub(crate) retry_after: Option<String>,
    /// The body.
    pub(crate) body: Body,
}

/// What comes next of a scripted body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Bytes.
    Bytes(Bytes),
    /// A pause.
    Wait(Duration),
    /// Silence for ever.
    Silence,
    /// The connection breaks.
    Break,
}

/// A scripted body; made while it is read, so that an answer without bounds costs nothing here.
#[derive(Debug)]
pub(crate) struct Body {
    before: Vec<Piece>,
    segments: std::vec::IntoIter<Segment>,
    segment: Option<(Segment, u32)>,
    frame: Frame,
    after: std::vec::IntoIter<Piece>,
}

/// How text becomes bytes.
#[derive(Debug)]
enum Frame {
    Raw,
    Content,
    Refusal,
    Call,
}

impl Script {
    /// Reads a `countersign.script/v1`, YAML or JSON.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let document: Document = document::typed(document::from_bytes(bytes, Bounds::CONFIG)?)?;
        if document.schema != SCHEMA {
            return Err(DocumentError::at("/schema", format!("write `{SCHEMA}`")));
        }
        for (index, entry) in document.answers.iter().enumerate() {
            let texts = [entry.text.is_some(), entry.json.is_some(), entry.generate.is_some()];
            if texts.into_iter().filter(|t| *t).count() > 1 {
                let pointer = format!("/answers/{index}");
                return Err(DocumentError::at(pointer, "write only one of `text`, `json` and `generate`"));
            }
        }
        Ok(Self { answers: document.answers, given: BTreeMap::new() })
    }

    /// The answer to a request of a case; nothing when the script has none left that matches.
    pub(crate) fn play(&mut self, case: &str, request: &Request) -> Option<Played> {
        let said: Vec<&str> =
            request.messages.iter().filter(|m| m.role == Role::User).map(|m| m.content.as_str()).collect();
        let given = self.given.entry(case.to_owned()).or_insert_with(|| vec![0; self.answers.len()]);
        let (entry, count) = self
            .answers
            .iter()
            .zip(given)
            .find(|(entry, count)| (entry.times == 0 || **count < entry.times) && entry.matches(&said))?;
        *count = count.saturating_add(1);
        Some(entry.play())
    }

    /// Forgets what a case was given.
    pub(crate) fn end(&mut self, case: &str) {
        self.given.remove(case);
    }
}

impl Entry {
    fn matches(&self, said: &[&str]) -> bool {
        let last = said.last().copied().unwrap_or_default();
        self.when.as_deref().is_none_or(|when| last.contains(when))
            && self.ever.as_deref().is_none_or(|ever| said.iter().any(|said| said.contains(ever)))
    }

    fn play(&self) -> Played {
        let text = self.text.clone().or_else(|| self.json.as_ref().map(Value::to_string));
        let one = || text.map(|text| Segment { text, times: 1 }).into_iter().collect();
        let segments: Vec<Segment> = self.generate.clone().unwrap_or_else(one);
        let status = self.status.unwrap_or(200);
        let raw = self.raw || status != 200;
        let frame = match (raw, self.refuse, &self.call) {
            (true, _, _) => Frame::Raw,
            (false, true, _) => Frame::Refusal,
            (false, false, Some(_)) => Frame::Call,
            (false, false, None) => Frame::Content,
        };
        let mut before = Vec::new();
        if self.delay > 0 {
            before.push(Piece::Wait(Duration::from_millis(self.delay)));
        }
        if let (Frame::Call, Some(name)) = (&frame, &self.call) {
            let call =
                json!({"index": 0, "id": "call_0", "type": "function", "function": {"name": name, "arguments": ""}});
            before.push(event(&json!({"role": "assistant", "tool_calls": [call]}), None));
        }
        // The body takes from the end.
        before.reverse();
        let mut after = Vec::new();
        if self.hang {
            after.push(Piece::Silence);
        } else if self.cut {
            after.push(Piece::Break);
        } else if !raw {
            let plain = if self.call.as_deref() == Some(TOOL) { "tool_calls" } else { "stop" };
            after.push(event(&json!({}), Some(self.finish.as_deref().unwrap_or(plain))));
            if let Some((input, output)) = self.usage {
                let usage = json!({"prompt_tokens": input, "completion_tokens": output});
                after.push(data(&json!({"choices": [], "usage": usage}).to_string()));
            }
            after.push(data("[DONE]"));
        }
        Played {
            status,
            content_type: if status == 200 { "text/event-stream" } else { "application/json" },
            retry_after: self.retry_after.map(|seconds| seconds.to_string()),
            body: Body { before, segments: segments.into_iter(), segment: None, frame, after: after.into_iter() },
        }
    }
}

impl Iterator for Body {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if let Some(piece) = self.before.pop() {
            return Some(piece);
        }
        let mut text = String::new();
        while text.len() < PART {
            let Some((segment, done)) = &mut self.segment else {
                self.segment = self.segments.next().map(|segment| (segment, 0));
                if self.segment.is_none() {
                    break;
                }
                continue;
            };
            if *done >= segment.times {
                self.segment = None;
                continue;
            }
            text.push_str(&segment.text.replace("{n}", &done.to_string()));
            *done += 1;
        }
        if text.is_empty() { self.after.next() } else { Some(self.frame.piece(text)) }
    }
}

impl Frame {
    fn piece(&self, text: String) -> Piece {
        match self {
            Self::Raw => Piece::Bytes(text.into()),
            Self::Content => event(&json!({"content": text}), None),
            Self::Refusal => event(&json!({"refusal": text}), None),
            Self::Call => event(&json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}), None),
        }
    }
}

fn event(delta: &Value, finish: Option<&str>) -> Piece {
    data(&json!({"model": "scripted", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string())
}

fn data(text: &str) -> Piece {
    Piece::Bytes(format!("data: {text}\n\n").into())
}

#[cfg(test)]
mod tests;

//! The vectors, file by file.

#![expect(clippy::indexing_slicing, reason = "a program for this repository alone: it may stop at a wrong expectation")]

mod canonical;
mod documents;
mod envelopes;
mod expressions;
mod plans;
mod pointers;
mod text;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_plan::canonical::to_vec;
use serde_json::{Value, json};

/// The implementation and an expectation differ.
#[derive(Debug)]
pub(crate) struct Differs(String);

impl std::fmt::Display for Differs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Differs {}

type Cases = Result<Vec<Value>, Differs>;

/// Every file: its path below `conformance/` and its text.
pub(crate) fn all() -> Result<Vec<(&'static str, String)>, Differs> {
    let file = |kind: &str, about: &str, cases: Cases| cases.map(|cases| render(kind, about, &cases));
    Ok(vec![
        ("canonical/accepted.json", file("json", canonical::ACCEPTED, canonical::accepted())?),
        ("canonical/refused.json", file("json", canonical::REFUSED, canonical::refused())?),
        ("yaml/accepted.json", file("yaml", documents::ACCEPTED, documents::accepted())?),
        ("yaml/refused.json", file("yaml", documents::REFUSED, documents::refused())?),
        ("plans/accepted.json", file("plan", plans::ACCEPTED, plans::accepted())?),
        ("plans/refused.json", file("plan", plans::REFUSED, plans::refused())?),
        ("plans/intents.json", file("intent", plans::INTENTS, plans::intents())?),
        ("expressions/resolve.json", file("resolve", expressions::RESOLVE, expressions::resolve())?),
        ("expressions/expect.json", file("expect", expressions::EXPECT, expressions::expect())?),
        ("pointers/pointers.json", file("pointer", pointers::POINTERS, pointers::pointers())?),
        ("pointers/patterns.json", file("pattern", pointers::PATTERNS, pointers::patterns())?),
        ("text/text.json", file("text", text::TEXT, text::text())?),
        ("envelopes/plans.json", file("countersigned_plan", envelopes::PLANS, envelopes::plans())?),
        ("envelopes/permits.json", file("permit", envelopes::PERMITS, envelopes::permits())?),
        ("envelopes/approvals.json", file("approval", envelopes::APPROVALS, envelopes::approvals())?),
    ])
}

/// One case a line; in ASCII, so that nothing hides in a checked-in file.
fn render(kind: &str, about: &str, cases: &[Value]) -> String {
    let mut out = format!(
        "{{\"schema\": \"countersign.conformance/v1\",\n \"kind\": {},\n \"about\": {},\n \"cases\": [\n",
        ascii(&json!(kind)),
        ascii(&json!(about))
    );
    for (i, case) in cases.iter().enumerate() {
        out.push_str("  ");
        out.push_str(&ascii(case));
        out.push_str(if i + 1 < cases.len() { ",\n" } else { "\n" });
    }
    out.push_str(" ]}\n");
    out
}

fn ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in String::from_utf8_lossy(&to_vec(value)).chars() {
        if (' '..='~').contains(&c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

/// An input: its text, its bytes where they are no text, or pieces and how often each stands there.
#[derive(Clone)]
enum Input {
    Text(String),
    Bytes(Vec<u8>),
    Parts(Vec<(&'static str, usize)>),
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&[u8]> for Input {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<&Value> for Input {
    fn from(value: &Value) -> Self {
        Self::Text(String::from_utf8_lossy(&to_vec(value)).into_owned())
    }
}

impl Input {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Parts(parts) => parts.iter().flat_map(|(text, times)| text.repeat(*times).into_bytes()).collect(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => json!({ "text": text }),
            Self::Bytes(bytes) => json!({"base64": STANDARD.encode(bytes)}),
            Self::Parts(parts) => json!({ "parts": parts }),
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(name: &str, expected: &T, found: &T) -> Result<(), Differs> {
    if expected == found { Ok(()) } else { Err(Differs(format!("{name}: expected {expected:?}, found {found:?}"))) }
}

fn differs(name: &str, found: impl std::fmt::Display) -> Differs {
    Differs(format!("{name}: {found}"))
}

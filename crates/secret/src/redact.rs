//! Takes known secret values out of what goes to anybody: as they are, in base64 at any alignment, percent-encoded, in hexadecimal
//! and as JSON writes them (INV-10). A server that echoes a header gives nothing away.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::print::Known;

/// The shortest value that is a secret, in bytes: shorter ones are guessed, and stand in ordinary text.
pub const SHORTEST: usize = 8;
/// The shortest form of a value that is looked for, in bytes.
const SHORTEST_FORM: usize = 4;
/// How often a secret's name is put in place of its value in one text.
pub(crate) const NAMED: usize = 1000;
/// What stands in place of a value without its name: no longer than a value.
pub(crate) const NAMELESS: &str = "[secret]";
/// The shortest run of base64 that is taken for a part of a value.
const SHORTEST_RUN: usize = 8;

/// Finds values of secrets.
#[derive(Default)]
pub struct Redactor {
    automaton: Option<AhoCorasick>,
    /// What stands in place of each pattern's match.
    marks: Vec<String>,
    /// The length of the longest form that is looked for.
    longest: usize,
    /// Values that are known by fingerprint only.
    known: Option<Arc<RwLock<Known>>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(…)")
    }
}

impl Redactor {
    /// A redactor for `values`, by name.
    #[must_use]
    pub fn of<'v>(values: impl IntoIterator<Item = (&'v str, &'v [u8])>) -> Self {
        let mut patterns: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for (name, value) in values {
            let mark = format!("[secret {name}]");
            for form in parts(value).into_iter().flat_map(forms) {
                patterns.entry(form).or_insert_with(|| mark.clone());
            }
        }
        let (patterns, marks): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        if patterns.is_empty() {
            return Self::default();
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        // Patterns are few and short; a build that fails leaves nothing to search with, so `redact` then keeps nothing back but all.
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok();
        Self { automaton, marks, longest, known: None }
    }

    /// The same that looks for these fingerprints too.
    #[must_use]
    pub fn with(self, known: Arc<RwLock<Known>>) -> Self {
        Self { known: Some(known), ..self }
    }

    fn known(&self) -> Option<RwLockReadGuard<'_, Known>> {
        self.known.as_ref().map(|known| known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// `bytes` without any known value.
    #[must_use]
    pub fn redact(&self, bytes: Vec<u8>) -> Vec<u8> {
        let bytes = self.redact_held(bytes);
        self.known().and_then(|known| known.redact(&bytes)).unwrap_or(bytes)
    }

    fn redact_held(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.automaton {
            None if self.marks.is_empty() => bytes,
            None => Vec::new(),
            Some(automaton) => match automaton.find_iter(&bytes).take(NAMED + 1).count() {
                0 => bytes,
                1..=NAMED => automaton.replace_all_bytes(&bytes, &self.marks),
                // Somebody repeats a value so that names make the text grow.
                _ => automaton.replace_all_bytes(&bytes, &vec![NAMELESS; self.marks.len()]),
            },
        }
    }

    /// The beginning of something longer, without any known value; what may be the beginning of one at its end is left out, and so
    /// many bytes that was.
    #[must_use]
    pub fn redact_beginning(&self, mut bytes: Vec<u8>) -> (Vec<u8>, usize) {
        let longest = self.known().map_or(0, |known| known.longest()).max(self.longest);
        let left_out = bytes.len().min(longest.saturating_sub(1));
        bytes.truncate(bytes.len().saturating_sub(left_out));
        (self.redact(bytes), left_out)
    }

    /// Whether a known value stands in `bytes`.
    #[must_use]
    pub fn finds(&self, bytes: &[u8]) -> bool {
        self.automaton.as_ref().map_or(!self.marks.is_empty(), |automaton| automaton.is_match(bytes))
            || self.known().is_some_and(|known| known.finds(bytes))
    }

    /// `text` without any known value.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact(text.as_bytes().to_vec())).into_owned()
    }
}

/// A value, and what is secret of it alone: the password of `user:password`, key and token of `ID:KEY:TOKEN`, the path of an address.
pub(crate) fn parts(value: &[u8]) -> Vec<&[u8]> {
    let mut parts = vec![value];
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| *byte == b':') {
        rest = rest.get(at + 1..).unwrap_or_default();
        parts.extend([rest, rest.split(|byte| *byte == b':').next().unwrap_or_default()]);
        if let Some(authority) = rest.strip_prefix(b"//") {
            let path = authority.iter().position(|byte| *byte == b'/');
            parts.extend(path.and_then(|path| authority.get(path..)));
            break;
        }
        if parts.len() > 8 {
            break;
        }
    }
    // The whole value was found long enough; a part that is not stands in ordinary text.
    let mut whole = true;
    parts.retain(|part| std::mem::take(&mut whole) || part.len() >= SHORTEST);
    parts
}

/// The ways in which a value is written.
pub(crate) fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec(), hex::encode(value).into_bytes(), hex::encode_upper(value).into_bytes()];
    for lower in [false, true] {
        forms.push(percent(value, lower, false));
        forms.push(percent(value, lower, true));
    }
    if let Ok(text) = std::str::from_utf8(value)
        && let Ok(json) = serde_json::to_string(text)
    {
        forms.push(json.trim_matches('"').as_bytes().to_vec());
    }
    for shift in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            forms.extend(aligned(engine.encode([&vec![0; shift], value].concat()), shift, value.len()));
        }
    }
    forms.retain(|form| form.len() >= SHORTEST_FORM);
    forms
}

/// The characters of a base64 text that depend on nothing but the value, `shift` bytes into it.
fn aligned(encoded: String, shift: usize, length: usize) -> Option<Vec<u8>> {
    let first = (shift * 8).div_ceil(6);
    let end = (shift + length) * 8 / 6;
    let run = encoded.into_bytes().get(first..end)?.to_vec();
    (run.len() >= SHORTEST_RUN).then_some(run)
}

fn percent(value: &[u8], lower: bool, form: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() * 3);
    for byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            b' ' if form => out.push(b'+'),
            b'*' if form => out.push(b'*'),
            _ if lower => out.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests;

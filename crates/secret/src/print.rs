//! Fingerprints of values: whoever has one finds the value in text and cannot say what it is (INV-10).
//!
//! Of each form of a value: its length, sixteen bits of a keyed rolling hash over its first `WINDOW` bytes, and half of an
//! HMAC-SHA-256 of the whole. The sixteen bits say where a look pays, the HMAC whether it is the value. Whoever has the key and a
//! fingerprint can try guesses, and nothing better: a value that can be guessed is not hidden, so that those shorter than
//! [`crate::redact::SHORTEST`] have no fingerprint. Forms that depend on what stands around a value are those of
//! [`crate::redact`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value};
use sha2::Sha256;

use crate::redact::{NAMED, NAMELESS, SHORTEST, forms, parts};

/// Bytes over which the rolling hash goes at most: so many passes over a text are made at most.
const WINDOW: usize = 64;
/// How many fingerprints are kept before the older ones go, all at once, when as many came again.
const KEPT: usize = 16_384;
/// Bytes of an HMAC that are kept.
const TAG: usize = 16;

/// What makes fingerprints: a key, drawn by whoever looks for them, known to whoever holds the values.
#[derive(Clone)]
pub struct Press {
    mac: Hmac<Sha256>,
    multiplier: u64,
    mix: u64,
}

/// The fingerprint of one form of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    /// The name of the secret.
    pub name: String,
    /// Bytes of the form.
    pub length: usize,
    /// Bits of the rolling hash over its beginning.
    pub filter: u16,
    /// Its HMAC, cut.
    pub tag: [u8; TAG],
}

/// Fingerprints that are looked for.
#[derive(Debug)]
pub struct Known {
    press: Press,
    young: Shelf,
    old: Shelf,
}

#[derive(Default)]
struct Shelf {
    /// Per length of the window, which values of the filter there are.
    windows: BTreeMap<usize, Bits>,
    prints: HashMap<(usize, u16), Vec<Print>>,
    tags: HashSet<[u8; TAG]>,
}

/// Which of all values a filter can have there are: asked for every byte of a text.
struct Bits(Vec<u64>);

impl Default for Bits {
    fn default() -> Self {
        Self(vec![0; 1 << 10])
    }
}

impl Bits {
    fn insert(&mut self, filter: u16) {
        if let Some(word) = self.0.get_mut(usize::from(filter >> 6)) {
            *word |= 1 << (filter & 63);
        }
    }

    fn contains(&self, filter: u16) -> bool {
        self.0.get(usize::from(filter >> 6)).is_some_and(|word| word >> (filter & 63) & 1 == 1)
    }
}

impl Press {
    /// The press of a key.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        let mut block = [0; 64];
        if let Some(start) = block.first_chunk_mut::<32>() {
            *start = *key;
        }
        let mac = Hmac::<Sha256>::new(&block.into());
        let number = |what: &[u8]| {
            let mac = mac.clone().chain_update(what).finalize().into_bytes();
            mac.first_chunk::<8>().map_or(0, |start| u64::from_le_bytes(*start))
        };
        let (multiplier, mix) = (number(b"multiplier") | 1, number(b"mix"));
        Self { mac, multiplier, mix }
    }

    /// The fingerprints of a value in every form that is looked for.
    #[must_use]
    pub fn prints(&self, name: &str, value: &[u8]) -> Vec<Print> {
        if value.len() < SHORTEST {
            return Vec::new();
        }
        let forms = parts(value).into_iter().flat_map(forms).filter(|form| form.len() >= SHORTEST);
        let print = |form: Vec<u8>| {
            let start = form.get(..form.len().min(WINDOW)).unwrap_or_default();
            let hash = start.iter().fold(0, |hash, byte| self.roll(hash, *byte));
            Print { name: name.to_owned(), length: form.len(), filter: self.filter(hash), tag: self.tag(&form) }
        };
        forms.map(print).collect()
    }

    const fn roll(&self, hash: u64, byte: u8) -> u64 {
        hash.wrapping_mul(self.multiplier).wrapping_add(byte as u64 + 1)
    }

    /// Few bits of a hash, of which none is a sum of bits of the text.
    const fn filter(&self, hash: u64) -> u16 {
        let mut bits = hash ^ self.mix;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits >> 48) as u16
    }

    fn tag(&self, form: &[u8]) -> [u8; TAG] {
        let mac = self.mac.clone().chain_update(b"form:").chain_update(form).finalize().into_bytes();
        mac.first_chunk().copied().unwrap_or_default()
    }
}

impl fmt::Debug for Press {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Press(…)")
    }
}

impl Known {
    /// Nothing that is looked for yet.
    #[must_use]
    pub fn new(press: Press) -> Self {
        Self { press, young: Shelf::default(), old: Shelf::default() }
    }

    /// What makes its fingerprints.
    #[must_use]
    pub const fn press(&self) -> &Press {
        &self.press
    }

    /// Looks for this from now on; for what has not come again for long, no more.
    pub fn learn(&mut self, print: Print) {
        if print.length < SHORTEST || !self.young.tags.insert(print.tag) {
            return;
        }
        let window = print.length.min(WINDOW);
        self.young.windows.entry(window).or_default().insert(print.filter);
        self.young.prints.entry((window, print.filter)).or_default().push(print);
        if self.young.tags.len() >= KEPT {
            self.old = std::mem::take(&mut self.young);
        }
    }

    /// The longest form that is looked for, in bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        let prints = self.shelves().into_iter().flat_map(|shelf| shelf.prints.values().flatten());
        prints.map(|print| print.length).max().unwrap_or(0)
    }

    /// Whether a known value stands in `bytes`.
    #[must_use]
    pub fn finds(&self, bytes: &[u8]) -> bool {
        !self.found(bytes).is_empty()
    }

    /// `bytes` without any known value; none where they hold none.
    #[must_use]
    pub fn redact(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let found = self.found(bytes);
        if found.is_empty() {
            return None;
        }
        let nameless = found.len() > NAMED;
        let mut out = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for (range, name) in found {
            out.extend_from_slice(bytes.get(from..range.start).unwrap_or_default());
            if nameless {
                out.extend_from_slice(NAMELESS.as_bytes());
            } else {
                out.extend_from_slice(format!("[secret {name}]").as_bytes());
            }
            from = range.end;
        }
        out.extend_from_slice(bytes.get(from..).unwrap_or_default());
        Some(out)
    }

    /// A document without any known value in its texts and names; none where it holds none.
    #[must_use]
    pub fn redact_json(&self, value: &Value) -> Option<Value> {
        let text = |text: &str| self.redact(text.as_bytes()).map(|clean| String::from_utf8_lossy(&clean).into_owned());
        match value {
            Value::String(said) => text(said).map(Value::String),
            Value::Array(items) => {
                let clean: Vec<Option<Value>> = items.iter().map(|item| self.redact_json(item)).collect();
                clean.iter().any(Option::is_some).then(|| {
                    let items = clean.into_iter().zip(items);
                    Value::Array(items.map(|(clean, item)| clean.unwrap_or_else(|| item.clone())).collect())
                })
            }
            Value::Object(members) => {
                let clean: Vec<_> = members.iter().map(|(name, item)| (text(name), self.redact_json(item))).collect();
                clean.iter().any(|(name, item)| name.is_some() || item.is_some()).then(|| {
                    let mut out = Map::new();
                    for ((name, item), (old, before)) in clean.into_iter().zip(members) {
                        let mut name = name.unwrap_or_else(|| old.clone());
                        // Two names that differed only in secrets must not swallow each other.
                        while out.contains_key(&name) {
                            name.push('\'');
                        }
                        out.insert(name, item.unwrap_or_else(|| before.clone()));
                    }
                    Value::Object(out)
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    const fn shelves(&self) -> [&Shelf; 2] {
        [&self.young, &self.old]
    }

    /// Where values stand, in order; those that overlap are one.
    fn found(&self, bytes: &[u8]) -> Vec<(Range<usize>, &str)> {
        let mut found = Vec::new();
        for shelf in self.shelves() {
            for (window, filters) in &shelf.windows {
                self.roll_over(bytes, *window, |start, filter| {
                    if !filters.contains(filter) {
                        return;
                    }
                    for print in shelf.prints.get(&(*window, filter)).into_iter().flatten() {
                        let end = start.saturating_add(print.length);
                        if bytes.get(start..end).is_some_and(|form| self.press.tag(form) == print.tag) {
                            found.push((start..end, print.name.as_str()));
                        }
                    }
                });
            }
        }
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        found.dedup_by(|(next, _), (before, _)| {
            let overlaps = next.start < before.end;
            if overlaps {
                before.end = before.end.max(next.end);
            }
            overlaps
        });
        found
    }

    fn roll_over(&self, bytes: &[u8], window: usize, mut at: impl FnMut(usize, u16)) {
        let Some(first) = bytes.get(..window) else { return };
        let mut hash = first.iter().fold(0, |hash, byte| self.press.roll(hash, *byte));
        // What a byte that leaves the window adds to the hash, but for the byte.
        let leaving = (1..window).fold(1_u64, |power, _| power.wrapping_mul(self.press.multiplier));
        at(0, self.press.filter(hash));
        for (start, (out, next)) in bytes.iter().zip(bytes.iter().skip(window)).enumerate() {
            hash = hash.wrapping_sub(leaving.wrapping_mul(u64::from(*out) + 1));
            hash = self.press.roll(hash, *next);
            at(start.saturating_add(1), self.press.filter(hash));
        }
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shelf({})", self.tags.len())
    }
}

#[cfg(test)]
mod tests;

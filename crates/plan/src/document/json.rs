//! Strict JSON through `serde_json`'s own reader, with a visitor that refuses what has no single form.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::{Bounds, DocumentError};
use crate::pointer::Pointer;

/// Integers from here on are not exact in every reader (RFC 7493 section 2.2).
pub(super) const INTEGER_LIMIT: f64 = 9_007_199_254_740_992.0;

struct State {
    bounds: Bounds,
    values: Cell<usize>,
    depth: Cell<usize>,
    /// Segments of the place of an error, innermost first: filled on the way out, so that good documents pay nothing.
    place: RefCell<Vec<String>>,
}

impl State {
    const fn new(bounds: Bounds) -> Self {
        Self { bounds, values: Cell::new(0), depth: Cell::new(0), place: RefCell::new(Vec::new()) }
    }

    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        let values = self.values.get() + 1;
        self.values.set(values);
        if values > self.bounds.values {
            return Err(E::custom(format!("more than {} values", self.bounds.values)));
        }
        Ok(())
    }

    fn open<E: serde::de::Error>(&self) -> Result<(), E> {
        self.count()?;
        if self.depth.get() >= self.bounds.depth {
            return Err(E::custom(format!("nested deeper than {} levels", self.bounds.depth)));
        }
        self.depth.set(self.depth.get() + 1);
        Ok(())
    }

    fn close(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    fn below(&self, segment: impl Into<String>) {
        self.place.borrow_mut().push(segment.into());
    }
}

#[derive(Clone, Copy)]
struct Strict<'a>(&'a State);

pub(super) fn read(text: &str, bounds: Bounds) -> Result<Value, DocumentError> {
    let state = State::new(bounds);
    let mut reader = serde_json::Deserializer::from_str(text);
    let result = Strict(&state).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    result.map_err(|e| {
        let pointer = state.place.borrow().iter().rev().map(|s| format!("/{}", Pointer::escape(s))).collect();
        let line = (e.line() > 0).then(|| e.line());
        let what = e.to_string();
        let what = what.split(" at line ").next().unwrap_or(&what);
        DocumentError { pointer, line, what: crate::text::escape(what) }
    })
}

pub(super) fn strict<'de, D: serde::Deserializer<'de>>(deserializer: D, bounds: Bounds) -> Result<Value, D::Error> {
    Strict(&State::new(bounds)).deserialize(deserializer)
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.0.count()?;
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, b: bool) -> Result<Value, E> {
        self.0.count()?;
        Ok(Value::Bool(b))
    }

    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Value, E> {
        self.0.count()?;
        if n >= 1 << 53 { Err(E::custom(too_large(n))) } else { Ok(Value::from(n)) }
    }

    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Value, E> {
        self.0.count()?;
        if n <= -(1 << 53) { Err(E::custom(too_large(n))) } else { Ok(Value::from(n)) }
    }

    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Value, E> {
        self.0.count()?;
        float(n).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Value, E> {
        self.0.count()?;
        Ok(Value::String(s.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, s: String) -> Result<Value, E> {
        self.0.count()?;
        Ok(Value::String(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.open()?;
        let mut out = Vec::new();
        while let Some(item) = items.next_element_seed(self).inspect_err(|_| self.0.below(out.len().to_string()))? {
            out.push(item);
        }
        self.0.close();
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.0.open()?;
        let mut out = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            match out.entry(key) {
                Entry::Occupied(again) => {
                    self.0.below(again.key().as_str());
                    return Err(A::Error::custom("this key stands here twice; keep one"));
                }
                Entry::Vacant(free) => {
                    let value = members.next_value_seed(self).inspect_err(|_| self.0.below(free.key().as_str()))?;
                    free.insert(value);
                }
            }
        }
        self.0.close();
        Ok(Value::Object(out))
    }
}

fn too_large(n: impl fmt::Display) -> String {
    format!("{n} is an integer of 2^53 or more, which not every reader holds exactly; write it as a string")
}

/// A float that has one form: finite, not `-0`, not a large integer in disguise. Integral floats become integers.
pub(super) fn float(n: f64) -> Result<Value, String> {
    if n == 0.0 && n.is_sign_negative() {
        return Err("-0 has no single form; write 0".to_owned());
    }
    if n.abs() >= INTEGER_LIMIT {
        return Err(too_large(n));
    }
    if n.fract() == 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "integral and below 2^53")]
        return Ok(Value::from(n as i64));
    }
    Number::from_f64(n).map(Value::Number).ok_or_else(|| "not a finite number".to_owned())
}

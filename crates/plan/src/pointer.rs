//! JSON pointers (RFC 6901), with `*` for one index or key where a pattern is allowed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON pointer. The empty pointer is the whole value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pointer(Vec<String>);

/// The text is no JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a JSON pointer is empty or starts with `/`; `~` stands only in `~0` and `~1`")]
pub struct PointerError;

impl Pointer {
    /// The pointer to the whole value.
    pub const ROOT: Self = Self(Vec::new());

    /// A pointer from unescaped segments.
    #[must_use]
    pub fn from_segments(segments: Vec<String>) -> Self {
        Self(segments)
    }

    /// The unescaped segments.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.0
    }

    /// This pointer and one more segment.
    #[must_use]
    pub fn child(&self, segment: impl Into<String>) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment.into());
        Self(segments)
    }

    /// The value that this points to in `root`.
    #[must_use]
    pub fn get<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(items) => index(segment).and_then(|i| items.get(i)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }

    /// Every value that this pattern matches in `root`, with its exact pointer; `*` is any one index or key.
    #[must_use]
    pub fn matches<'v>(&self, root: &'v Value) -> Vec<(Self, &'v Value)> {
        let mut found = vec![(Self::ROOT, root)];
        for segment in &self.0 {
            let mut next = Vec::new();
            for (at, value) in found {
                match value {
                    Value::Object(members) if segment == "*" => {
                        next.extend(members.iter().map(|(key, value)| (at.child(key), value)));
                    }
                    Value::Array(items) if segment == "*" => {
                        next.extend(items.iter().enumerate().map(|(i, value)| (at.child(i.to_string()), value)));
                    }
                    Value::Object(members) => next.extend(members.get(segment).map(|value| (at.child(segment), value))),
                    Value::Array(items) => {
                        next.extend(index(segment).and_then(|i| items.get(i)).map(|value| (at.child(segment), value)));
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
            found = next;
        }
        found
    }

    /// Whether this pattern covers `at`: matches it or one of its ancestors (a label covers its subtree).
    #[must_use]
    pub fn covers(&self, at: &Self) -> bool {
        self.0.len() <= at.0.len() && self.0.iter().zip(&at.0).all(|(mine, theirs)| mine == "*" || mine == theirs)
    }

    /// One segment as a pointer writes it.
    #[must_use]
    pub fn escape(segment: &str) -> String {
        segment.replace('~', "~0").replace('/', "~1")
    }
}

/// One segment as it was before [`Pointer::escape`]; each `~` is looked at with exactly the character after it.
fn unescape(raw: &str) -> Result<String, PointerError> {
    let mut parts = raw.split('~');
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (escaped, rest) = match part.split_at_checked(1) {
            Some(("0", rest)) => ('~', rest),
            Some(("1", rest)) => ('/', rest),
            _ => return Err(PointerError),
        };
        out.push(escaped);
        out.push_str(rest);
    }
    Ok(out)
}

/// An array index as RFC 6901 writes it: no sign, no leading zero.
pub(crate) fn index(segment: &str) -> Option<usize> {
    let plain = segment == "0" || (!segment.starts_with('0') && segment.bytes().all(|b| b.is_ascii_digit()));
    plain.then(|| segment.parse().ok()).flatten()
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self::ROOT);
        }
        let rest = text.strip_prefix('/').ok_or(PointerError)?;
        rest.split('/').map(unescape).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| {
            f.write_str("/")?;
            if segment.contains(['~', '/']) { f.write_str(&Self::escape(segment)) } else { f.write_str(segment) }
        })
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pointer({self})")
    }
}

impl Serialize for Pointer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Pointer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pointer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^(/([^~/]|~[01])*)*$"})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Pointer;

    #[test]
    fn rfc_6901_section_5() {
        let doc = json!({"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8});
        for (pointer, want) in [("/foo/0", json!("bar")), ("/", json!(0)), ("/a~1b", json!(1)), ("/m~0n", json!(8))] {
            assert_eq!(pointer.parse::<Pointer>().unwrap().get(&doc), Some(&want), "{pointer}");
        }
        for wrong in ["foo", "/a~", "/a~2", "/a~~01", "/~~00"] {
            assert!(wrong.parse::<Pointer>().is_err(), "{wrong}");
        }
        assert!("/foo/00".parse::<Pointer>().unwrap().get(&doc).is_none());
    }

    #[test]
    fn a_star_is_one_index_or_key() {
        let doc = json!({"rows": [{"to": "a"}, {"to": "b"}]});
        let found = "/rows/*/to".parse::<Pointer>().unwrap().matches(&doc).len();
        assert_eq!(found, 2);
        let pattern: Pointer = "/rows/*".parse().unwrap();
        assert!(pattern.covers(&"/rows/7/to".parse().unwrap()));
        assert!(!pattern.covers(&"/rows".parse().unwrap()));
    }
}

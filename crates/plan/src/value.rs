//! Argument expressions: literals and the four references a plan may make (FORMATS §1).

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use crate::document::DocumentError;
use crate::id::{Reference, StepId};
use crate::pointer::{Pointer, index};

/// An argument as the plan writes it. References stand where a value stands, never as keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// An array of expressions.
    Array(Vec<Expr>),
    /// An object whose members are expressions.
    Object(BTreeMap<String, Expr>),
    /// `{$from: STEP, at: POINTER}`: a value of an earlier step's output; its type is kept.
    From {
        /// The earlier step.
        step: StepId,
        /// The place in its output; the root is the whole output.
        at: Pointer,
    },
    /// `{$join: […]}`: strings, integers and booleans to one string.
    Join(Vec<Expr>),
    /// `{$input: NAME}`: given by the user with the goal.
    Input(Reference),
    /// `{$secret: NAME}`: a handle; the value never enters a plan, log or planner.
    Secret(Reference),
    /// `{$lit: …}`: a literal that may hold keys that start with `$`.
    Literal(Value),
}

impl Expr {
    /// Reads an expression.
    ///
    /// # Errors
    /// An object with a `$` key that is no reference of this language, with its pointer.
    pub fn from_value(value: &Value) -> Result<Self, DocumentError> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Bool(b) => Ok(Self::Bool(*b)),
            Value::Number(n) => Ok(Self::Number(n.clone())),
            Value::String(s) => Ok(Self::Text(s.clone())),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(i, item)| Self::from_value(item).map_err(|e| e.below(&format!("/{i}"))))
                .collect::<Result<_, _>>()
                .map(Self::Array),
            Value::Object(members) if members.keys().any(|k| k.starts_with('$')) => Self::reference(members),
            Value::Object(members) => {
                // They come in order, so each is put at the end of what is there.
                let mut object = BTreeMap::new();
                for (key, value) in members {
                    let expr = Self::from_value(value).map_err(|e| e.below(&format!("/{}", Pointer::escape(key))))?;
                    object.insert(key.clone(), expr);
                }
                Ok(Self::Object(object))
            }
        }
    }

    /// Concrete arguments as an expression: handles of secrets, which nothing but the plan itself can put there, are secrets,
    /// and everything else is literal.
    #[must_use]
    pub fn of_concrete(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(*b),
            Value::Number(n) => Self::Number(n.clone()),
            Value::String(s) => Self::Text(s.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::of_concrete).collect()),
            Value::Object(members) => {
                let handle = members.get(crate::resolve::SECRET_HANDLE).and_then(Value::as_str);
                if let (Some(Ok(name)), 1) = (handle.map(str::parse), members.len()) {
                    return Self::Secret(name);
                }
                if members.keys().any(|key| key.starts_with('$')) {
                    return Self::Literal(value.clone());
                }
                Self::Object(members.iter().map(|(key, value)| (key.clone(), Self::of_concrete(value))).collect())
            }
        }
    }

    fn reference(members: &Map<String, Value>) -> Result<Self, DocumentError> {
        let wrong = |what: String| DocumentError::at("", what);
        let name = |value: &Value| match value {
            Value::String(s) => s.parse::<Reference>().map_err(|e| wrong(e.to_string())),
            _ => Err(wrong("a reference names a string".to_owned())),
        };
        let keys: Vec<&str> = members.keys().map(String::as_str).collect();
        match (keys.as_slice(), members.values().next()) {
            (["$from"] | ["$from", "at"] | ["at", "$from"], _) => {
                let step = match members.get("$from") {
                    Some(Value::String(s)) => s.parse().map_err(|e: crate::id::NameError| wrong(e.to_string()))?,
                    _ => return Err(wrong("`$from` names a step".to_owned())),
                };
                let at = match members.get("at") {
                    None => Pointer::ROOT,
                    Some(Value::String(s)) => {
                        s.parse().map_err(|e: crate::pointer::PointerError| DocumentError::at("/at", e.to_string()))?
                    }
                    Some(_) => return Err(DocumentError::at("/at", "a JSON pointer is a string")),
                };
                Ok(Self::From { step, at })
            }
            (["$join"], Some(Value::Array(items))) if !items.is_empty() => items
                .iter()
                .enumerate()
                .map(|(i, item)| {
                    let place = format!("/$join/{i}");
                    match Self::from_value(item).map_err(|e| e.below(&place))? {
                        Self::Null | Self::Array(_) | Self::Object(_) | Self::Literal(_) => {
                            Err(DocumentError::at(place, "`$join` joins strings, integers and booleans"))
                        }
                        Self::Number(n) if !n.is_i64() && !n.is_u64() => {
                            Err(DocumentError::at(place, "`$join` joins integers, not fractions"))
                        }
                        part => Ok(part),
                    }
                })
                .collect::<Result<_, _>>()
                .map(Self::Join),
            (["$join"], _) => Err(wrong("`$join` is a list with at least one part".to_owned())),
            (["$input"], Some(value)) => name(value).map(Self::Input),
            (["$secret"], Some(value)) => name(value).map(Self::Secret),
            (["$lit"], Some(value)) if crate::resolve::looks_like_handle(value) => {
                Err(wrong("a literal holds no `$secret`, at any depth; it would pass for one".to_owned()))
            }
            (["$lit"], Some(value)) => Ok(Self::Literal(value.clone())),
            _ => Err(wrong(format!(
                "an object with the keys {} is no reference; there are {{$from, at}}, {{$join}}, {{$input}}, {{$secret}}, and \
                 {{$lit}} for a literal with a `$` key",
                crate::text::escape(&keys.join(", "))
            ))),
        }
    }

    /// The literal value, if nothing in this expression is a reference.
    #[must_use]
    pub fn literal(&self) -> Option<Value> {
        match self {
            Self::Null => Some(Value::Null),
            Self::Bool(b) => Some(Value::Bool(*b)),
            Self::Number(n) => Some(Value::Number(n.clone())),
            Self::Text(s) => Some(Value::String(s.clone())),
            Self::Literal(value) => Some(value.clone()),
            Self::Array(items) => items.iter().map(Self::literal).collect::<Option<_>>().map(Value::Array),
            Self::Object(members) => members
                .iter()
                .map(|(k, v)| v.literal().map(|v| (k.clone(), v)))
                .collect::<Option<_>>()
                .map(Value::Object),
            Self::Join(parts) => {
                let parts: Option<Vec<Value>> = parts.iter().map(Self::literal).collect();
                crate::resolve::join(&parts?).ok().map(Value::String)
            }
            Self::From { .. } | Self::Input(_) | Self::Secret(_) => None,
        }
    }

    /// The expression at `pointer`: steps into arrays, objects and literals; a reference on the way answers for what is below it.
    #[must_use]
    pub fn at(&self, pointer: &Pointer) -> Option<Self> {
        let mut expr = self;
        let mut rest = pointer.segments().iter();
        while let Some(segment) = rest.next() {
            expr = match expr {
                Self::Object(members) => members.get(segment)?,
                Self::Array(items) => items.get(index(segment)?)?,
                Self::Literal(value) => {
                    let below = std::iter::once(segment).chain(rest).cloned().collect();
                    return Pointer::from_segments(below).get(value).cloned().map(Self::Literal);
                }
                Self::From { step, at } => {
                    let at = std::iter::once(segment).chain(rest).fold(at.clone(), |at, s| at.child(s.clone()));
                    return Some(Self::From { step: step.clone(), at });
                }
                Self::Input(_) | Self::Secret(_) => return Some(expr.clone()),
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Join(_) => return None,
            };
        }
        Some(expr.clone())
    }

    /// Calls `visit` with every reference (`From`, `Join`, `Input`, `Secret`) and its pointer, outermost first.
    pub fn references(&self, visit: &mut impl FnMut(&Pointer, &Self)) {
        self.walk(&Way::Root, visit);
    }

    fn walk(&self, at: &Way<'_>, visit: &mut impl FnMut(&Pointer, &Self)) {
        match self {
            Self::From { .. } | Self::Input(_) | Self::Secret(_) => visit(&at.pointer(), self),
            Self::Join(parts) => {
                visit(&at.pointer(), self);
                for part in parts {
                    part.walk(at, visit);
                }
            }
            Self::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    item.walk(&Way::Item(at, i), visit);
                }
            }
            Self::Object(members) => {
                for (key, value) in members {
                    value.walk(&Way::Member(at, key), visit);
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Literal(_) => {}
        }
    }
}

/// The way to an expression, from the inside: most of them hold no reference, and their pointers need not be made.
enum Way<'a> {
    Root,
    Item(&'a Way<'a>, usize),
    Member(&'a Way<'a>, &'a str),
}

impl Way<'_> {
    fn pointer(&self) -> Pointer {
        let (mut segments, mut at) = (Vec::new(), self);
        loop {
            at = match at {
                Self::Root => break,
                Self::Item(above, index) => {
                    segments.push(index.to_string());
                    above
                }
                Self::Member(above, name) => {
                    segments.push((*name).to_owned());
                    above
                }
            };
        }
        segments.reverse();
        Pointer::from_segments(segments)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Expr;

    #[test]
    fn references_are_a_closed_language() {
        assert!(Expr::from_value(&json!({"$from": "s1", "at": "/x"})).is_ok());
        assert!(Expr::from_value(&json!({"$lit": {"$from": "x"}})).is_ok());
        for wrong in [
            json!({"$from": "s1", "at": "x"}),
            json!({"$from": "S1"}),
            json!({"$from": "s1", "extra": 1}),
            json!({"$join": []}),
            json!({"$join": [1.5]}),
            json!({"$join": [{"a": 1}]}),
            json!({"$env": "HOME"}),
            json!({"a": [{"$secret": 1}]}),
            json!({"$lit": 1, "$from": "s1"}),
            json!({"$lit": {"a": [{"$secret": "aws"}]}}),
        ] {
            assert!(Expr::from_value(&wrong).is_err(), "{wrong}");
        }
        let error = Expr::from_value(&json!({"a": [0, {"$env": "HOME"}]})).unwrap_err();
        assert_eq!(error.pointer, "/a/1");
    }

    #[test]
    fn a_reference_answers_for_what_is_below_it() {
        let expr = Expr::from_value(&json!({"m": {"$from": "s1", "at": "/x"}})).unwrap();
        let below = expr.at(&"/m/to".parse().unwrap()).unwrap();
        assert_eq!(below, Expr::From { step: "s1".parse().unwrap(), at: "/x/to".parse().unwrap() });
    }
}

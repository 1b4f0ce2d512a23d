//! Arguments as deriving sees them: text, lists of it, or a reference without a value.

use countersign_plan::id::Reference;
use countersign_plan::pointer::Pointer;
use countersign_plan::resolve::Inputs;
use countersign_plan::value::Expr;
use serde_json::Value;

/// One argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arg {
    /// A string; numbers and booleans are written out.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A reference, or a string with one in it.
    Open,
    /// Nothing is there.
    Absent,
    /// An object or null.
    Other,
}

impl Arg {
    /// The argument at `at`.
    pub(crate) fn of(args: &Expr, at: &Pointer) -> Self {
        args.at(at).map_or(Self::Absent, |expr| Self::from(&expr))
    }

    fn from(expr: &Expr) -> Self {
        match expr {
            Expr::Text(text) => Self::Text(text.clone()),
            Expr::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Expr::From { .. } | Expr::Input(_) | Expr::Secret(_) => Self::Open,
            other => other.literal().map_or(Self::Open, |value| Self::value(&value)),
        }
    }

    fn value(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(n) => Self::Text(n.to_string()),
            Value::Bool(b) => Self::Text(b.to_string()),
            Value::Array(items) => Self::List(items.iter().map(Self::value).collect()),
            Value::Null | Value::Object(_) => Self::Other,
        }
    }

    /// The argument itself, or each member of a list; an empty list is absent.
    pub(crate) fn each(self) -> Vec<Self> {
        match self {
            Self::List(items) if items.is_empty() => vec![Self::Absent],
            Self::List(items) => items.into_iter().flat_map(Self::each).collect(),
            one => vec![one],
        }
    }

    /// The text, where it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Open | Self::Absent | Self::Other => None,
        }
    }
}

/// The literal text before the first reference of a string: of `{$join: ["https://a.example/", …]}` the first part.
pub(super) fn literal_prefix(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Join(parts) => {
            let mut prefix = String::new();
            for part in parts {
                match part.literal() {
                    Some(Value::String(text)) => prefix.push_str(&text),
                    Some(Value::Number(n)) => prefix.push_str(&n.to_string()),
                    Some(Value::Bool(b)) => prefix.push_str(&b.to_string()),
                    _ => break,
                }
            }
            (!prefix.is_empty()).then_some(prefix)
        }
        _ => None,
    }
}

/// `expr` with the user's inputs in place.
///
/// # Errors
/// The first input that was not given.
pub(crate) fn substitute(expr: &Expr, inputs: &Inputs) -> Result<Expr, Reference> {
    Ok(match expr {
        Expr::Input(name) => Expr::Literal(inputs.get(name).cloned().ok_or_else(|| name.clone())?),
        Expr::Array(items) => Expr::Array(items.iter().map(|i| substitute(i, inputs)).collect::<Result<_, _>>()?),
        Expr::Join(items) => Expr::Join(items.iter().map(|i| substitute(i, inputs)).collect::<Result<_, _>>()?),
        Expr::Object(members) => Expr::Object(
            members
                .iter()
                .map(|(key, value)| substitute(value, inputs).map(|value| (key.clone(), value)))
                .collect::<Result<_, _>>()?,
        ),
        other => other.clone(),
    })
}

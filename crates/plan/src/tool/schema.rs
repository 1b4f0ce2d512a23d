//! Arguments against a tool's JSON Schema: with holes at review, in full at the permit.

use std::fmt;

use jsonschema::Validator;
use serde_json::Value;

use crate::pointer::Pointer;
use crate::value::Expr;

/// A compiled schema of arguments.
pub struct Arguments(Validator);

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arguments(..)")
    }
}

/// Arguments that do not fit the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}", if .at.segments().is_empty() { "arguments" } else { "" }, crate::text::escape(&.at.to_string()))]
pub struct ArgumentError {
    /// Where in the arguments.
    pub at: Pointer,
    /// What is wrong.
    pub what: String,
}

impl Arguments {
    /// Compiles a schema. Remote references are not resolved.
    ///
    /// # Errors
    /// The schema is not a valid JSON Schema.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::validator_for(schema).map(Self).map_err(|e| crate::text::escape(&e.to_string()))
    }

    /// Checks concrete arguments.
    ///
    /// # Errors
    /// The first place that does not fit.
    pub fn check(&self, args: &Value) -> Result<(), ArgumentError> {
        self.first(args, &[])
    }

    /// Checks arguments that still have holes: what a reference will fill is left to the permit.
    ///
    /// # Errors
    /// The first place outside of a hole that does not fit.
    pub fn check_with_holes(&self, args: &Expr) -> Result<(), ArgumentError> {
        let mut holes = Vec::new();
        let value = fill(args, &Pointer::ROOT, &mut holes);
        self.first(&value, &holes)
    }

    fn first(&self, args: &Value, holes: &[Pointer]) -> Result<(), ArgumentError> {
        for error in self.0.iter_errors(args) {
            let at: Pointer = error.instance_path().as_str().parse().unwrap_or_default();
            if holes.iter().any(|hole| hole.covers(&at)) {
                continue;
            }
            if depends_on_a_hole(error.evaluation_path().as_str(), &at, holes) {
                continue;
            }
            return Err(ArgumentError { at, what: crate::text::escape(&error.to_string()) });
        }
        Ok(())
    }
}

/// Keywords that judge a whole by its parts: over a value with a hole in it they cannot be judged yet.
const COMBINING: [&str; 12] = [
    "anyOf",
    "oneOf",
    "not",
    "const",
    "enum",
    "if",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Whether a finding at `at` may vanish once the holes have values. The permit's check is in full, so that what is passed
/// over here is passed over only for the review.
fn depends_on_a_hole(evaluation_path: &str, at: &Pointer, holes: &[Pointer]) -> bool {
    let mut path = evaluation_path.rsplit('/');
    let combining = path.next().is_some_and(|keyword| COMBINING.contains(&keyword));
    let conditional = path.any(|keyword| matches!(keyword, "then" | "else"));
    (combining && holes.iter().any(|hole| at.covers(hole))) || (conditional && !holes.is_empty())
}

/// The value of `expr` with an empty string in each hole; the pointers of the holes.
fn fill(expr: &Expr, at: &Pointer, holes: &mut Vec<Pointer>) -> Value {
    if let Some(value) = expr.literal() {
        return value;
    }
    match expr {
        Expr::Array(items) => Value::Array(
            items.iter().enumerate().map(|(i, item)| fill(item, &at.child(i.to_string()), holes)).collect(),
        ),
        Expr::Object(members) => {
            Value::Object(members.iter().map(|(k, v)| (k.clone(), fill(v, &at.child(k.clone()), holes))).collect())
        }
        // A join is a string already, only its text is open: leave its type to the schema.
        Expr::Null
        | Expr::Bool(_)
        | Expr::Number(_)
        | Expr::Text(_)
        | Expr::Literal(_)
        | Expr::Join(_)
        | Expr::From { .. }
        | Expr::Input(_)
        | Expr::Secret(_) => {
            holes.push(at.clone());
            Value::String(String::new())
        }
    }
}

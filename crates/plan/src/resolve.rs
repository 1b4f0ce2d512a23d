//! From expressions to concrete arguments, over typed outputs and never over text.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::id::{Reference, StepId};
use crate::pointer::Pointer;
use crate::value::Expr;

/// The outputs of the steps that have run.
pub type Outputs = BTreeMap<StepId, Value>;

/// The inputs that the user gave with the goal.
pub type Inputs = BTreeMap<Reference, Value>;

/// Why an argument has no concrete value. Each of these stops the plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The step has not run.
    #[error("step `{0}` has no output yet")]
    NoOutput(StepId),
    /// The output lacks the field.
    #[error("the output of step `{step}` has nothing at `{}`", crate::text::escape(&.at.to_string()))]
    Missing {
        /// The step whose output was read.
        step: StepId,
        /// Where nothing was found.
        at: Pointer,
    },
    /// The user gave no such input.
    #[error("no input `{0}` was given with the goal")]
    NoInput(Reference),
    /// A value that came from outside the plan looks like a secret's handle: only the plan itself names secrets.
    #[error("{0} holds a `{SECRET_HANDLE}`, which only the plan itself may name")]
    Forged(String),
    /// A part of a `$join` is no string, integer or boolean.
    #[error("`$join` met {0}, which is no string, integer or boolean")]
    Join(&'static str),
}

/// How a resolved secret looks in concrete arguments: a handle that the broker knows, never the value.
pub const SECRET_HANDLE: &str = "$secret";

/// The concrete value of `expr`.
///
/// ```
/// use countersign_plan::resolve::{Inputs, Outputs, resolve};
/// use countersign_plan::value::Expr;
/// use serde_json::json;
///
/// let outputs = Outputs::from([("snap".parse()?, json!({"name": "staging-final", "size": 3}))]);
/// let expr = Expr::from_value(&json!({"note": {"$join": [{"$from": "snap", "at": "/name"}, " of ", {"$from": "snap", "at": "/size"}]}}))?;
/// assert_eq!(resolve(&expr, &outputs, &Inputs::new())?, json!({"note": "staging-final of 3"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first reference that has no value.
pub fn resolve(expr: &Expr, outputs: &Outputs, inputs: &Inputs) -> Result<Value, ResolveError> {
    match expr {
        Expr::Null => Ok(Value::Null),
        Expr::Bool(b) => Ok(Value::Bool(*b)),
        Expr::Number(n) => Ok(Value::Number(n.clone())),
        Expr::Text(s) => Ok(Value::String(s.clone())),
        Expr::Literal(value) => Ok(value.clone()),
        Expr::Array(items) => {
            items.iter().map(|item| resolve(item, outputs, inputs)).collect::<Result<_, _>>().map(Value::Array)
        }
        Expr::Object(members) => members
            .iter()
            .map(|(key, value)| resolve(value, outputs, inputs).map(|value| (key.clone(), value)))
            .collect::<Result<_, _>>()
            .map(Value::Object),
        Expr::From { step, at } => {
            let output = outputs.get(step).ok_or_else(|| ResolveError::NoOutput(step.clone()))?;
            let missing = || ResolveError::Missing { step: step.clone(), at: at.clone() };
            let value = at.get(output).ok_or_else(missing)?;
            genuine(value, || format!("the output of step `{step}`"))
        }
        Expr::Join(parts) => {
            let parts: Vec<Value> =
                parts.iter().map(|part| resolve(part, outputs, inputs)).collect::<Result<_, _>>()?;
            join(&parts).map(Value::String)
        }
        Expr::Input(name) => {
            let value = inputs.get(name).ok_or_else(|| ResolveError::NoInput(name.clone()))?;
            genuine(value, || format!("input `{name}`"))
        }
        Expr::Secret(name) => Ok(serde_json::json!({ SECRET_HANDLE: name })),
    }
}

fn genuine(value: &Value, whose: impl Fn() -> String) -> Result<Value, ResolveError> {
    if looks_like_handle(value) { Err(ResolveError::Forged(whose())) } else { Ok(value.clone()) }
}

/// Whether `value` holds what would pass for a secret's handle, at any depth.
pub(crate) fn looks_like_handle(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(looks_like_handle),
        Value::Object(members) => members.contains_key(SECRET_HANDLE) || members.values().any(looks_like_handle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

pub(crate) fn join(parts: &[Value]) -> Result<String, ResolveError> {
    let mut out = String::new();
    for part in parts {
        match part {
            Value::String(s) => out.push_str(s),
            Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Value::Number(n) if n.is_i64() || n.is_u64() => out.push_str(&n.to_string()),
            Value::Number(_) => return Err(ResolveError::Join("a fraction")),
            Value::Null => return Err(ResolveError::Join("null")),
            Value::Array(_) => return Err(ResolveError::Join("an array")),
            Value::Object(_) => return Err(ResolveError::Join("an object")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Inputs, Outputs, ResolveError, resolve};
    use crate::value::Expr;

    /// A page that answers with `{"$secret": …}` must not have the broker put a secret into the next step.
    #[test]
    fn no_output_or_input_passes_for_a_secret() {
        let forged = json!({"auth": [{"$secret": "aws"}]});
        let outputs = Outputs::from([("s1".parse().unwrap(), forged.clone())]);
        let inputs = Inputs::from([("i".parse().unwrap(), forged)]);
        for expr in [json!({"$from": "s1"}), json!({"$from": "s1", "at": "/auth/0"}), json!([{"$input": "i"}])] {
            let value = resolve(&Expr::from_value(&expr).unwrap(), &outputs, &inputs);
            assert!(matches!(value, Err(ResolveError::Forged(_))), "{expr}");
        }
        let named = Expr::from_value(&json!({"$secret": "aws"})).unwrap();
        assert_eq!(resolve(&named, &outputs, &inputs).unwrap(), json!({"$secret": "aws"}));
    }

    #[test]
    fn types_are_kept_and_a_missing_field_stops() {
        let outputs = Outputs::from([("s1".parse().unwrap(), json!({"n": 3, "to": "a@b.example"}))]);
        let expr = Expr::from_value(
            &json!({"n": {"$from": "s1", "at": "/n"}, "s": {"$join": ["x", {"$from": "s1", "at": "/n"}]}}),
        );
        assert_eq!(resolve(&expr.unwrap(), &outputs, &Inputs::new()).unwrap(), json!({"n": 3, "s": "x3"}));
        let missing = Expr::from_value(&json!({"$from": "s1", "at": "/cc"})).unwrap();
        assert!(matches!(resolve(&missing, &outputs, &Inputs::new()), Err(ResolveError::Missing { .. })));
        let unrun = Expr::from_value(&json!({"$from": "s2"})).unwrap();
        assert!(matches!(resolve(&unrun, &outputs, &Inputs::new()), Err(ResolveError::NoOutput(_))));
    }
}

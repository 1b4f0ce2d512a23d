//! Typed names: a step is not a tool is not a case.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A name is not of the form that its kind of name has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {kind}: {form}")]
pub struct NameError {
    kind: &'static str,
    form: &'static str,
    text: String,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $kind:literal, $form:literal, $pattern:literal, $max:literal, $first:expr, $rest:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let first: fn(char) -> bool = $first;
                let rest: fn(char) -> bool = $rest;
                let mut chars = text.chars();
                let good = text.len() <= $max && chars.next().is_some_and(first) && chars.all(rest);
                if good {
                    Ok(Self(text.to_owned()))
                } else {
                    let text = crate::text::escape(text).chars().take(80).collect();
                    Err(NameError { kind: $kind, form: $form, text })
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }

        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    };
}

fn lower(c: char) -> bool {
    c.is_ascii_lowercase()
}

fn lower_word(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '@')
}

name!(
    /// The name of a step inside its plan.
    StepId, "step id", "a lower-case letter, then up to 31 lower-case letters, digits or `_`",
    "^[a-z][a-z0-9_]{0,31}$", 32, lower, lower_word
);
name!(
    /// The name of a tool, as the manifest has it and as a step's `action` says.
    ToolName, "tool name", "a letter, then up to 127 letters, digits or one of `_ - . : / @`",
    "^[A-Za-z][A-Za-z0-9_.:/@-]{0,127}$", 128, |c| c.is_ascii_alphabetic(), word
);
name!(
    /// The name of a case: one goal's way through the gate.
    CaseId, "case id", "`c-` and letters, digits or `-`", "^c[A-Za-z0-9-]{1,63}$", 64, |c| c == 'c',
    |c| c.is_ascii_alphanumeric() || c == '-'
);
name!(
    /// The name of a key: the fingerprint of its public part, or a role.
    KeyId, "key id", "a letter or digit, then up to 127 letters, digits or one of `_ - . : / @`",
    "^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,127}$", 128, |c| c.is_ascii_alphanumeric(), word
);
name!(
    /// Who acts: `user:alice`, `agent:claude-code`, `uid:1000`.
    Principal, "principal", "a letter, then up to 127 letters, digits or one of `_ - . : / @`",
    "^[A-Za-z][A-Za-z0-9_.:/@-]{0,127}$", 128, |c| c.is_ascii_alphabetic(), word
);
name!(
    /// The name under which a `$secret` or `$input` is known.
    Reference, "name of a secret or input", "a letter, then up to 127 letters, digits or one of `_ - . : / @`",
    "^[A-Za-z][A-Za-z0-9_.:/@-]{0,127}$", 128, |c| c.is_ascii_alphabetic(), word
);

impl KeyId {
    /// A name that no key has.
    #[must_use]
    pub(crate) fn unmatched() -> Self {
        Self(String::new())
    }
}

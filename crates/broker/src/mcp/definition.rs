//! What a server says about a tool, and whether that is what was pinned.

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use rmcp::model::Tool;
use serde::Serialize;
use serde_json::{Map, Value};

/// The members of a tool's definition that are pinned (`countersign_plan::egress::McpGrant`): everything that tells a model or a
/// person what the tool is. Icons and `_meta` tell nobody.
const PINNED: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// Why a tool is not the one that was granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Changed {
    /// It is gone, or was renamed.
    #[error("the server does not offer it any more")]
    Gone,
    /// More than one tool has its name.
    #[error("the server offers it {0} times")]
    Twice(usize),
    /// Something in its definition is different.
    #[error("its definition is now {now}, but {pinned} was pinned")]
    Other {
        /// What it is now.
        now: Digest,
        /// What it has to be.
        pinned: Digest,
    },
    /// It cannot be written in canonical form.
    #[error("its definition has no canonical form: {0}")]
    Odd(String),
}

/// A tool as `Describe` shows it.
#[derive(Debug, Serialize)]
pub(super) struct Described {
    name: String,
    description: String,
    input_schema: Value,
    digest: String,
}

/// The digest of a definition.
///
/// # Errors
/// It has no canonical form.
pub(super) fn digest(tool: &Tool) -> Result<Digest, serde_json::Error> {
    let mut pinned = Map::new();
    if let Value::Object(members) = serde_json::to_value(tool)? {
        pinned.extend(members.into_iter().filter(|(name, value)| PINNED.contains(&name.as_str()) && !value.is_null()));
    }
    canonical::of(&pinned).map(|bytes| Digest::of(&bytes))
}

/// Whether exactly one tool has this name, and this definition.
///
/// # Errors
/// What changed.
pub(super) fn compare(tools: &[Tool], name: &str, pinned: Digest) -> Result<(), Changed> {
    let mut named = tools.iter().filter(|tool| tool.name == name);
    let tool = named.next().ok_or(Changed::Gone)?;
    let more = named.count();
    if more > 0 {
        return Err(Changed::Twice(more + 1));
    }
    let now = digest(tool).map_err(|error| Changed::Odd(error.to_string()))?;
    if now == pinned { Ok(()) } else { Err(Changed::Other { now, pinned }) }
}

/// A tool for whoever pins it.
///
/// # Errors
/// It has no canonical form.
pub(super) fn described(tool: &Tool) -> Result<Described, serde_json::Error> {
    Ok(Described {
        name: tool.name.to_string(),
        description: tool.description.as_deref().unwrap_or_default().to_owned(),
        input_schema: Value::Object((*tool.input_schema).clone()),
        digest: digest(tool)?.to_string(),
    })
}

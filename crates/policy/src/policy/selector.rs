//! What a rule's `action_types` name: tools, effects, groups or everything.

use std::str::FromStr;

use countersign_plan::id::ToolName;
use countersign_plan::tool::Effect;

/// One entry of `action_types`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// A tool by its name.
    Tool(ToolName),
    /// Every tool of a group.
    Group(String),
    /// Every action with this effect, declared or derived.
    Effect(Effect),
    /// Everything.
    Any,
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some(word) = text.strip_prefix("effect:") {
            return Effect::ALL.into_iter().find(|e| e.as_str() == word).map(Self::Effect).ok_or_else(|| {
                let known: Vec<&str> = Effect::ALL.iter().map(|e| e.as_str()).collect();
                format!("no effect of that name; there are {}", known.join(", "))
            });
        }
        if let Some(group) = text.strip_prefix("group:") {
            let plain = !group.is_empty() && group.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
            return if plain { Ok(Self::Group(group.to_owned())) } else { Err("a group has a plain name".to_owned()) };
        }
        text.parse().map(Self::Tool).map_err(|e: countersign_plan::id::NameError| e.to_string())
    }
}

/// All entries of one rule.
#[derive(Debug, Clone, Default)]
pub struct Selectors(pub(super) Vec<Selector>);

impl From<Vec<Selector>> for Selectors {
    fn from(selectors: Vec<Selector>) -> Self {
        Self(selectors)
    }
}

impl Selectors {
    /// Whether an action of this tool with this effect is meant.
    #[must_use]
    pub fn fits(&self, tool: &str, group: Option<&str>, effect: Effect) -> bool {
        self.0.iter().any(|selector| match selector {
            Selector::Any => true,
            Selector::Tool(name) => name.as_str() == tool,
            Selector::Group(name) => Some(name.as_str()) == group,
            Selector::Effect(of) => *of == effect,
        })
    }

    /// The entries.
    pub fn iter(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter()
    }
}

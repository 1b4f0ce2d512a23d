//! `countersign.policy/v1` as the document writes it (FORMATS §5).

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::verdict::Decision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of this format.
pub const SCHEMA: &str = "countersign.policy/v1";

/// Deny beats verify beats allow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDocument {
    /// `countersign.policy/v1`.
    pub schema: String,
    /// What never runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<DenyRule>,
    /// What needs a further tier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<VerifyRule>,
    /// What runs without asking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<AllowRule>,
    /// What findings about the goal come to. Such a rule only tightens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<GoalRule>,
    /// Bounds; what is omitted has the value of FORMATS §5.
    #[serde(default)]
    pub limits: Limits,
}

macro_rules! rule {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Unique in the policy; reasons cite it.
            pub name: String,
            /// Tool names, `effect:WORD`, `group:NAME` or `*`.
            pub action_types: Vec<String>,
            /// Path patterns; an action without a path does not match.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub paths: Option<Vec<String>>,
            /// Host patterns; an action without a host does not match.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub hosts: Option<Vec<String>>,
            /// A CEL condition over `action`, `args`, `target`, `plan` and `facts`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub when: Option<String>,
            $(
                $(#[$field_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
        }
    };
}

rule!(
    /// What never runs.
    DenyRule {}
);
rule!(
    /// What needs a further tier.
    VerifyRule {
        /// At least this far: 1 heuristics and classifier, 2 evaluator, 3 people. 3 where nothing is said.
        tier: u8,
        /// Who must approve, where people are asked.
        approvers: Approvers,
    }
);
rule!(
    /// What runs without asking.
    AllowRule {}
);

/// What findings about the goal come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalRule {
    /// Unique in the policy; reasons cite it.
    pub name: String,
    /// Codes of findings about the goal, such as `goal.unasked`; `goal.*` is all of them.
    pub findings: Vec<String>,
    /// What such a finding comes to at least.
    pub decision: GoalDecision,
    /// Who must approve, where people are asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Approvers>,
}

/// What a finding about the goal comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalDecision {
    /// People decide.
    RequireApproval,
    /// It never runs.
    Block,
}

impl GoalDecision {
    /// The same as a decision.
    pub const fn decision(self) -> Decision {
        match self {
            Self::RequireApproval => Decision::RequireApproval,
            Self::Block => Decision::Block,
        }
    }
}

/// Who must approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvers {
    /// The group; anybody enrolled where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How many different people; at least 1.
    #[serde(default = "one")]
    pub quorum: u32,
}

const fn one() -> u32 {
    1
}

/// Bounds of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Steps of a plan.
    pub steps: u32,
    /// Where the risk score asks and blocks.
    pub risk: RiskLimits,
    /// Actions of one principal in a minute.
    pub rate: RateLimit,
    /// Calls of the evaluator.
    pub evaluator: EvaluatorLimit,
}

/// Where the risk score asks and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RiskLimits {
    /// From here on people decide.
    pub ask: u8,
    /// From here on it blocks.
    pub block: u8,
}

/// Actions of one principal in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimit {
    /// At most this many.
    pub per_minute: u32,
}

/// Calls of the evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluatorLimit {
    /// At most this many a day.
    pub per_day: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 64,
            risk: RiskLimits::default(),
            rate: RateLimit::default(),
            evaluator: EvaluatorLimit::default(),
        }
    }
}

impl Default for RiskLimits {
    fn default() -> Self {
        Self { ask: 40, block: 85 }
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { per_minute: 120 }
    }
}

impl Default for EvaluatorLimit {
    fn default() -> Self {
        Self { per_day: 100 }
    }
}

impl PolicyDocument {
    /// A policy without rules: the defaults per effect decide.
    #[must_use]
    pub fn empty() -> Self {
        Self { schema: SCHEMA.to_owned(), ..Self::default() }
    }

    /// Reads a policy, JSON or YAML.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        Self::from_value(document::from_bytes(bytes, Bounds::CONFIG)?)
    }

    /// As [`PolicyDocument::read`], of a strict value.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn from_value(value: Value) -> Result<Self, DocumentError> {
        document::of_schema(&value, SCHEMA)
    }
}

//! The verdict: a closed decision, with reasons from a closed catalogue (FORMATS §6). There is no `bool` view of it.

mod code;

pub use code::Code;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{CaseId, Principal, StepId};
use crate::time::Timestamp;

/// What the gate decides. Ordered from free to final: the strictest of several holds.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run.
    Allow,
    /// People decide.
    RequireApproval,
    /// It does not run.
    Block,
}

impl Decision {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::RequireApproval => "require_approval",
            Self::Block => "block",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who acts: we, or an outside agent that asks for leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Countersign carries out the plan.
    Managed,
    /// An outside agent acts itself; outcomes are claimed.
    Guarded,
}

impl Mode {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Guarded => "guarded",
        }
    }
}

/// One reason for a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Which kind of reason.
    pub code: Code,
    /// What this reason alone would decide.
    pub decision: Decision,
    /// The tier that found it.
    pub tier: u8,
    /// The rule of the policy, where one matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The step that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// For people; what hides in it is escaped.
    pub message: String,
    /// The way of data through the plan, for findings about flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// What would mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Reason {
    /// A reason without rule, step or fix.
    #[must_use]
    pub fn new(code: Code, decision: Decision, message: impl AsRef<str>) -> Self {
        let message = crate::text::escape(message.as_ref());
        Self { code, decision, tier: 0, rule: None, step: None, message, path: Vec::new(), fix: None }
    }

    /// A reason to ask people.
    #[must_use]
    pub fn ask(code: Code, message: impl AsRef<str>) -> Self {
        Self::new(code, Decision::RequireApproval, message)
    }

    /// A reason to block.
    #[must_use]
    pub fn block(code: Code, message: impl AsRef<str>) -> Self {
        Self::new(code, Decision::Block, message)
    }

    /// This reason about a step.
    #[must_use]
    pub fn at(mut self, step: &StepId) -> Self {
        self.step = Some(step.clone());
        self
    }

    /// This reason by a rule of the policy.
    #[must_use]
    pub fn by(mut self, rule: &str) -> Self {
        self.rule = Some(rule.to_owned());
        self
    }

    /// This reason with what would mend it.
    #[must_use]
    pub fn fix(mut self, fix: impl AsRef<str>) -> Self {
        self.fix = Some(crate::text::escape(fix.as_ref()));
        self
    }
}

/// A risk score with what it is made of; 0 to 100 in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Risk {
    /// The sum of the factors, at most 100.
    pub score: u8,
    /// The factors.
    pub factors: RiskFactors,
}

/// What a risk score is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RiskFactors {
    /// What the actions do, 0 to 40.
    pub action: u8,
    /// What they do it to, 0 to 30.
    pub target: u8,
    /// Amount, scope, count, 0 to 20.
    pub context: u8,
    /// How unlike the agent's past it is, 0 to 10.
    pub history: u8,
}

/// People that a decision asks for: how many of which group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quorum {
    /// The group that approvers must belong to; anybody enrolled where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How many different approvers.
    pub quorum: u32,
}

/// The gate's answer about a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// What was decided.
    pub decision: Decision,
    /// The highest tier that took part.
    pub tier: u8,
    /// The rule that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Names this answer.
    pub request_id: String,
    /// The case, where one was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseId>,
    /// The version of the plan in its case.
    pub version: u32,
    /// Who proposed.
    pub agent: Principal,
    /// When.
    pub at: Timestamp,
    /// The plan that was judged, where the proposal was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<Digest>,
    /// The policy that judged.
    pub policy_digest: Digest,
    /// Who acts.
    pub mode: Mode,
    /// Why; the strictest first.
    pub reasons: Vec<Reason>,
    /// How risky.
    pub risk: Risk,
    /// The approvals that would be enough; all of them are needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quorums: Vec<Quorum>,
    /// Time spent deciding, in microseconds.
    pub micros: u64,
}

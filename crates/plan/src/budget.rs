//! A budget that is spent: what a case asks of people before it goes on, and a person's signed word on that.

use serde::{Deserialize, Serialize};

use crate::approval::{Answer, ApproverRecord};
use crate::canonical;
use crate::digest::Digest;
use crate::id::{CaseId, Principal};
use crate::time::Timestamp;

/// The largest amount of tokens or millionths of a dollar that is spoken of: integers above have no canonical form.
pub const MOST: u64 = (1 << 53) - 1;

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// Tokens of one case.
    CaseTokens,
    /// Millionths of a dollar of one case.
    CaseMoney,
    /// Millionths of a dollar of one day (UTC), of all cases.
    DayMoney,
}

/// A limit that the next inference would pass. In tokens or millionths of a dollar, by the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortage {
    /// What is counted.
    pub budget: Budget,
    /// The limit, what people added to it included.
    pub limit: u64,
    /// What was spent, or is kept aside for what runs.
    pub spent: u64,
    /// What the next inference may take.
    pub wanted: u64,
}

/// What people added to the limits of a case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar; beyond the limit of the day too.
    pub micro_dollars: u64,
}

/// What a case asks of people. Its digest is what they sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The case.
    pub case: CaseId,
    /// Which question of the case this is, from 1: an answer to one answers no other.
    pub number: u32,
    /// What is spent.
    pub shortage: Shortage,
}

/// A person's word on a spent budget: how much more the case may use, or that it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// The case.
    pub case: CaseId,
    /// The digest of exactly the [`Ask`] that was shown.
    pub ask: Digest,
    /// Whether it goes on.
    pub answer: Answer,
    /// What is added; nothing where the answer is no.
    pub extra: Extra,
    /// Who answers.
    pub approver: Principal,
    /// The group as whose member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Counts for nothing from then on.
    pub expires_at: Timestamp,
    /// Makes two equal answers two; a replay is seen by it.
    pub nonce: String,
}

impl ApproverRecord for Extension {
    const PAYLOAD_TYPE: &'static str = "application/vnd.countersign.extension+json";

    fn signer(&self) -> &Principal {
        &self.approver
    }

    fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }
}

impl Shortage {
    /// The same with amounts that have a canonical form.
    #[must_use]
    pub fn bounded(self) -> Self {
        let Self { budget, limit, spent, wanted } = self;
        Self { budget, limit: limit.min(MOST), spent: spent.min(MOST), wanted: wanted.min(MOST) }
    }
}

impl Extra {
    /// Both together.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        let sum = |a: u64, b: u64| a.saturating_add(b).min(MOST);
        Self { tokens: sum(self.tokens, more.tokens), micro_dollars: sum(self.micro_dollars, more.micro_dollars) }
    }

    /// Whether it adds to what this budget counts, and to nothing else.
    #[must_use]
    pub const fn is_for(self, budget: Budget) -> bool {
        match budget {
            Budget::CaseTokens => self.tokens > 0 && self.micro_dollars == 0,
            Budget::CaseMoney | Budget::DayMoney => self.micro_dollars > 0 && self.tokens == 0,
        }
    }
}

impl Ask {
    /// SHA-256 of its canonical bytes; none where it has no canonical form.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        canonical::of(self).ok().map(|bytes| Digest::of(&bytes))
    }
}

/// Millionths of a dollar, for people.
#[derive(Debug, Clone, Copy)]
pub struct Dollars(pub u64);

impl std::fmt::Display for Dollars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

//! The label of a value: how far its writers are trusted, and who may read it (a product of two chains of sets).
//!
//! Readers are sets of standings; the four words of a deployment are names for such sets, made by its clearance. The sources of a
//! value are the roots that the graph leads back to; a label keeps the least trusted of them.

use std::fmt;

use countersign_plan::tool::{Secrecy, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::deployment::{Deployment, SecrecyLevel, Standing};

/// How far the writer of a value is trusted. Ordered from anybody to the runtime itself; of several writers the least holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Anybody.
    #[default]
    Open,
    /// A party that the deployment may list.
    Party,
    /// The user, or the house for the user.
    User,
    /// The runtime.
    System,
}

impl Level {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Party => "party",
            Self::User => "user",
            Self::System => "system",
        }
    }

    /// The level that a manifest declares; `None` for that of what was read.
    #[must_use]
    pub const fn declared(trust: Trust) -> Option<Self> {
        match trust {
            Trust::System => Some(Self::System),
            Trust::User => Some(Self::User),
            Trust::Party => Some(Self::Party),
            Trust::Open => Some(Self::Open),
            Trust::Target => None,
        }
    }
}

/// Everybody, in the order of the bits.
const STANDINGS: [Standing; 4] = [Standing::User, Standing::Internal, Standing::Known, Standing::Other];

/// Who may read a value. Fewer readers is more secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Readers(u8);

impl Readers {
    /// No restriction.
    pub const ANYONE: Self = Self(0b1111);
    /// Nobody: it stays inside the workspace.
    pub const NOBODY: Self = Self(0);

    /// The readers that a secrecy word of the deployment stands for.
    #[must_use]
    pub fn of(level: SecrecyLevel, deployment: &Deployment) -> Self {
        let cleared = STANDINGS.into_iter().filter(|standing| deployment.clearance(*standing) >= level);
        Self(cleared.fold(0, |bits, standing| bits | bit(standing)))
    }

    /// The readers that a manifest declares; `None` where they are those of the target or of the arguments.
    #[must_use]
    pub fn declared(secrecy: Secrecy, deployment: &Deployment) -> Option<Self> {
        let level = match secrecy {
            Secrecy::Public => SecrecyLevel::Public,
            Secrecy::Internal => SecrecyLevel::Internal,
            Secrecy::Confidential => SecrecyLevel::Confidential,
            Secrecy::Restricted => SecrecyLevel::Restricted,
            Secrecy::Target | Secrecy::Args => return None,
        };
        Some(Self::of(level, deployment))
    }

    /// Whether somebody of this standing is one of them.
    #[must_use]
    pub const fn hold(self, standing: Standing) -> bool {
        self.0 & bit(standing) != 0
    }

    /// Those who are in both.
    #[must_use]
    pub const fn meet(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of them are in `other`.
    #[must_use]
    pub const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The secrecy word that stands for this set in the deployment: the least that is at least as strict.
    #[must_use]
    pub fn word(self, deployment: &Deployment) -> SecrecyLevel {
        use SecrecyLevel::{Confidential, Internal, Public, Restricted};
        let mut words = [Public, Internal, Confidential].into_iter();
        words.find(|word| Self::of(*word, deployment).within(self)).unwrap_or(Restricted)
    }
}

const fn bit(standing: Standing) -> u8 {
    match standing {
        Standing::User => 1,
        Standing::Internal => 2,
        Standing::Known => 4,
        Standing::Other => 8,
    }
}

impl fmt::Display for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANYONE => f.write_str("anyone"),
            Self::NOBODY => f.write_str("nobody"),
            readers => {
                let words: Vec<&str> =
                    STANDINGS.into_iter().filter(|s| readers.hold(*s)).map(Standing::as_str).collect();
                f.write_str(&words.join("+"))
            }
        }
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Readers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Readers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let all = (0..=Self::ANYONE.0).map(Self);
        let found = all.into_iter().find(|readers| readers.to_string() == text);
        found.ok_or_else(|| serde::de::Error::custom("no set of readers"))
    }
}

/// The label of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The least trusted of those who could have written it.
    pub level: Level,
    /// Those who may read it.
    pub readers: Readers,
}

impl Label {
    /// The label of nothing: what every join starts from.
    pub const BOTTOM: Self = Self { level: Level::System, readers: Readers::ANYONE };
    /// What is known of nothing: written by anybody, read by nobody.
    pub const TOP: Self = Self { level: Level::Open, readers: Readers::NOBODY };

    /// The label of what holds both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { level: self.level.min(other.level), readers: self.readers.meet(other.readers) }
    }

    /// Whether a value with this label may stand where one with `other` is expected (⊑).
    #[must_use]
    pub fn below(self, other: Self) -> bool {
        other.level <= self.level && other.readers.within(self.readers)
    }
}

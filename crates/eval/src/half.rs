//! The two halves of a suite: one to work with, one that is held out.
//!
//! Whoever changes rules looks at cases of the even half only and at totals of the odd one. Totals that differ between the halves
//! are a sign that rules were bent to cases.

use countersign_plan::digest::Digest;
use serde::{Deserialize, Serialize};

/// Which cases are decided. A case belongs to a half by the lowest bit of the SHA-256 of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// Those whose hash is even: the half to work with.
    Even,
    /// Those whose hash is odd: held out, totals only.
    Odd,
    /// All.
    #[default]
    All,
}

impl Half {
    /// Whether the case of this id is decided.
    #[must_use]
    pub fn holds(self, id: &str) -> bool {
        let odd = Digest::of(id.as_bytes()).as_bytes().last().is_some_and(|byte| byte & 1 == 1);
        match self {
            Self::Even => !odd,
            Self::Odd => odd,
            Self::All => true,
        }
    }

    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Odd => "odd",
            Self::All => "all",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Half;

    /// `printf a | sha256sum` ends in `bb`.
    #[test]
    fn every_id_is_in_one_half_and_always_in_the_same() {
        assert!(Half::Odd.holds("a") && !Half::Even.holds("a"));
        let ids: Vec<String> = (0..1000).map(|n| format!("case-{n}")).collect();
        let odd = ids.iter().filter(|id| Half::Odd.holds(id)).count();
        let even = ids.iter().filter(|id| Half::Even.holds(id)).count();
        assert_eq!(odd + even, ids.iter().filter(|id| Half::All.holds(id)).count());
        assert!((400..600).contains(&odd), "{odd}");
    }
}

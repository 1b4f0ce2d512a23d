//! The machine of a suite: none. Paths are judged as written; what commands, code and texts would do is found in process.

use countersign_habit::history::History;
use countersign_plan::deed::{Deed, Departure};
use countersign_plan::digest::Digest;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_policy::facts::{AsWritten, Below, Evaluation, Facts, NotInspected, PathFact};

/// No machine, but somebody who reads commands, code and texts, and what the agent did in the past.
#[derive(Debug, Default)]
pub struct Written {
    /// What the agent did in the past, as the suite says; nothing where it does not.
    pub history: History,
    /// Who scores texts beside the rules; nobody where it was not asked for.
    #[cfg(feature = "classifier")]
    pub doubts: Option<crate::doubt::Doubts>,
}

impl Facts for Written {
    fn resolve(&self, path: &str) -> PathFact {
        AsWritten.resolve(path)
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        AsWritten.below(dir, wanted, limit)
    }

    fn recent_actions(&self) -> u32 {
        AsWritten.recent_actions()
    }

    fn program(&self, name: &str) -> Option<String> {
        AsWritten.program(name)
    }

    fn departure(&self, deed: &Deed) -> Departure {
        self.history.departure(deed)
    }

    fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        let inspection = countersign_inspect::inspect(subject);
        #[cfg(feature = "classifier")]
        let inspection = match &self.doubts {
            Some(doubts) => doubts.raise(subject, inspection),
            None => inspection,
        };
        Ok(inspection)
    }
}

/// The same, and what an evaluator said of the case at hand.
pub(crate) struct Told<'a> {
    pub(crate) facts: &'a Written,
    pub(crate) said: Evaluation,
}

impl Facts for Told<'_> {
    fn resolve(&self, path: &str) -> PathFact {
        self.facts.resolve(path)
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        self.facts.below(dir, wanted, limit)
    }

    fn recent_actions(&self) -> u32 {
        self.facts.recent_actions()
    }

    fn evaluation(&self, _draft: Digest, _policy: Digest) -> Evaluation {
        self.said.clone()
    }

    fn departure(&self, deed: &Deed) -> Departure {
        self.facts.departure(deed)
    }

    fn program(&self, name: &str) -> Option<String> {
        self.facts.program(name)
    }

    fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        self.facts.inspect(subject)
    }
}

//! What was said of the same evidence under the same policy.

use std::collections::{HashMap, VecDeque};

use countersign_plan::digest::Digest;

use crate::question::Finding;

/// How many answers are kept; the oldest go first.
const KEPT: usize = 1024;

/// Answers by evidence and policy. Only what a model really said of them is kept: a failure is tried again.
#[derive(Debug, Default)]
pub struct Cache {
    answers: HashMap<(Digest, Digest), Finding>,
    order: VecDeque<(Digest, Digest)>,
}

impl Cache {
    /// What was said before.
    #[must_use]
    pub fn get(&self, evidence: Digest, policy: Digest) -> Option<Finding> {
        self.answers.get(&(evidence, policy)).copied()
    }

    /// Keeps an answer. Of two different ones about the same the worse holds.
    pub fn put(&mut self, evidence: Digest, policy: Digest, finding: Finding) {
        let key = (evidence, policy);
        match self.answers.get_mut(&key) {
            Some(known) => *known = (*known).max(finding),
            None => {
                self.answers.insert(key, finding);
                self.order.push_back(key);
            }
        }
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.answers.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::digest::Digest;

    use super::{Cache, KEPT};
    use crate::question::Finding;

    #[test]
    fn an_answer_is_about_this_evidence_under_this_policy() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let mut cache = Cache::default();
        cache.put(a, b, Finding::Harmless);
        assert_eq!((cache.get(a, b), cache.get(b, a), cache.get(a, a)), (Some(Finding::Harmless), None, None));
        cache.put(a, b, Finding::Harmful);
        cache.put(a, b, Finding::Harmless);
        assert_eq!(cache.get(a, b), Some(Finding::Harmful), "the worse holds");
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut cache = Cache::default();
        let name = |n: usize| Digest::of(&n.to_le_bytes());
        for n in 0..=KEPT {
            cache.put(name(n), name(0), Finding::Harmless);
        }
        assert_eq!((cache.get(name(0), name(0)), cache.answers.len()), (None, KEPT));
    }
}

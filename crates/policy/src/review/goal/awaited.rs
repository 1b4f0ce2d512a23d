//! What a goal waits for, and which branch it means.

use super::words::{self, Word, has};
use super::{Kind, Wishes};

impl Wishes {
    /// The words of its conditions; nothing where one may be turned round: "unless it is paid", "if it is paid, leave it".
    pub(in crate::review) fn awaited(&self) -> Vec<&str> {
        let words = &self.read.words;
        let ends = |word: &Word| has("stop abort halt leave skip wait ask tell unless back revert undo", &word.text);
        let turned = |begin: &Word| {
            let leads = words.iter().filter(|w| w.sentence == begin.sentence).take(2).any(|w| w.at == begin.at);
            let last = begin.clause + usize::from(leads);
            let mut near = words.iter().filter(|w| (begin.clause..=last).contains(&w.clause) && w.at >= begin.at);
            near.any(|w| w.negated || has("not no", &w.text) || ends(w))
        };
        if self.waits().any(turned) {
            return Vec::new();
        }
        let of = |begin: &Word| {
            let rest = words.iter().filter(|w| w.at >= begin.at && w.clause == begin.clause);
            rest.map(|w| w.text.as_str()).collect::<Vec<_>>()
        };
        self.waits().flat_map(of).collect()
    }

    /// Whether it excepts a state of things: "unless it is disputed", and not "unless it is over 500".
    pub(in crate::review) fn excepts_a_state(&self) -> bool {
        let words = &self.read.words;
        let state = |begin: &Word| {
            let mut rest = words::of_clause(words, begin.clause).iter().filter(|word| word.at > begin.at);
            begin.text == "unless" && !rest.any(|word| word.text.contains(|c: char| c.is_ascii_digit()))
        };
        words.iter().any(state)
    }

    /// Whether it makes an act wait for tests to pass.
    pub(in crate::review) fn awaits_tests(&self) -> bool {
        const TESTS: &str = "test tests suite specs pytest";
        let words = &self.read.words;
        let passing = |word: &Word| word.is("pass succe green clean through");
        self.waits().any(|begin| {
            let near = || words.iter().filter(|w| w.sentence == begin.sentence || w.sentence + 1 == begin.sentence);
            let mut said = words.iter().filter(|w| w.at > begin.at && w.clause == begin.clause);
            said.any(passing) && near().any(|w| has(TESTS, &w.text) && !w.negated)
        })
    }

    /// Whether it says by its name which branch it means.
    pub(in crate::review) fn names_a_ref(&self) -> bool {
        let token = |word: &Word| word.token(&self.read.text);
        let named = |word: &Word| {
            token(word).contains(['/', '-', '_', '.']) || token(word).contains(|c: char| c.is_ascii_digit())
        };
        let beside = |pair: &[Word]| {
            let [one, two] = pair else { return false };
            let is = |word: &Word| word.text == "branch" && !word.within;
            one.sentence == two.sentence && ((is(one) && named(two)) || (is(two) && named(one)))
        };
        let kinds = |token: &str| {
            token.split_once('/').is_some_and(|(kind, _)| has("feature feat fix bugfix hotfix release chore", kind))
        };
        self.tokens().any(|token| kinds(token) && !super::is_file_name(token)) || self.read.words.windows(2).any(beside)
    }

    /// Whether it gives a tag that is a version: "v2.3.0".
    pub(in crate::review) fn names_a_version(&self) -> bool {
        self.mentions("tag") && self.tokens().any(is_version)
    }

    /// Where it has this merged into: what stands behind "into" in the sentence that orders it.
    pub(in crate::review) fn merges_into(&self) -> Option<&str> {
        let words = &self.read.words;
        let merge = words.iter().find(|word| has("merge", &word.text) && word.orders())?;
        let mut rest = words.iter().filter(|w| w.sentence == merge.sentence && w.at > merge.at);
        rest.find(|word| word.text == "into" && !word.negated)?;
        let next = rest.find(|word| !has("the our branch origin", &word.text) && !Kind::is_any(word))?;
        Some(next.token(&self.read.text))
    }
}

/// Whether a name is that of a version: "v2.3.0".
pub(in crate::review) fn is_version(name: &str) -> bool {
    let rest = name.strip_prefix('v').unwrap_or(name);
    rest.contains('.') && rest.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

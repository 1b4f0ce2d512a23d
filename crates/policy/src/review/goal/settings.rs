//! What a goal has set from what to what, and what it has put where.

use std::ops::Range;

use super::Wishes;
use super::words::{self, Word, has};
use crate::paths::fold;

/// Words before where something is to go.
const TOWARDS: &str = "to into as onto over";

/// Words before what something is made of, and what is left as it is.
const MAKING_OF: &str = "from of with out by take translate turn join merge sort summarise summarize copy duplicate convert read check look \
    is lies lie";

/// How a goal names a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) struct Naming {
    /// Whether as where something is to go.
    pub(in crate::review) towards: bool,
    pub(in crate::review) clause: usize,
}

/// Whether a word is a value and not the name of one.
pub(in crate::review) fn is_value(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || has("true false on off yes no none null enabled disabled", word)
}

impl Wishes {
    /// The values that it has changed, from what and to what: "from 30 to 45 seconds".
    pub(in crate::review) fn changes(&self) -> Vec<(&str, &str)> {
        let words = &self.read.words;
        let value = |from: usize| {
            let near = words.iter().skip(from + 1).take(2).map(|word| word.token(&self.read.text));
            near.into_iter().find(|token| is_value(token))
        };
        // "Open from 9 to 17" changes nothing.
        let changed = |from: &Word| {
            let list = "change set raise lower bump increase decrease reduce extend shorten switch turn put go move edit adjust up down";
            words.iter().any(|word| word.sentence == from.sentence && word.at < from.at && word.is(list))
        };
        let froms = words.iter().enumerate().filter(|(_, word)| word.text == "from" && !word.negated && changed(word));
        let pair = |(i, from): (usize, &Word)| {
            let mut rest =
                words.iter().enumerate().skip(i + 1).take(6).filter(|(_, word)| word.sentence == from.sentence);
            let (to, _) = rest.find(|(_, word)| word.text == "to")?;
            Some((value(i)?, value(to)?))
        };
        froms.filter_map(pair).collect()
    }

    /// What it gives as `KEY=VALUE`.
    pub(in crate::review) fn assignments(&self) -> impl Iterator<Item = (&str, &str)> {
        let key = |key: &str| key.len() > 1 && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        self.tokens()
            .filter_map(|token| token.split_once('='))
            .filter(move |(name, value)| key(name) && !value.is_empty())
    }

    /// The paths where it has something written: "leave the draft in a.md", "copy b.md to a.md"; `surely` where a verb orders it.
    pub(in crate::review) fn destinations(&self, surely: bool) -> Vec<&str> {
        let words = &self.read.words;
        let is = |(path, how): &(&str, Naming)| {
            let at = path.as_ptr() as usize - self.read.text.as_ptr() as usize;
            let mut before = self.before(at).skip_while(|word| has("the our file folder new a", word));
            let lead = before.next().is_some_and(|word| has("to into as onto in at under", word));
            let near = || words.iter().filter(|word| word.clause == how.clause && word.at < at);
            // "A script which appends to a.txt", "check the settings in a.yml"
            let fetches = near().any(|word| has("fetch get download pull grab save", &word.text));
            let looks = |word: &Word| !fetches && word.is(super::LOOKING);
            let other = near().any(|word| has("which that who whose", &word.text) || looks(word));
            // "Save it to A and compare to B"
            let compared = near().next_back().is_some_and(|word| word.is("compar"))
                || self.before(at).nth(1).is_some_and(|word| word.starts_with("compar"));
            lead && !compared && (!surely || (!other && near().any(Word::orders)))
        };
        self.placed().into_iter().filter(is).map(|(path, _)| path).collect()
    }

    /// The paths that it has removed by their names, as far as it says so in one part of a sentence.
    pub(in crate::review) fn removed(&self) -> Vec<&str> {
        let removes = |word: &&Word| word.is(super::REMOVAL) && !word.negated;
        let clauses: Vec<usize> = self.read.words.iter().filter(removes).map(|word| word.clause).collect();
        // "Remove the logs in logs/old"
        let object = |path: &str| {
            let at = path.as_ptr() as usize - self.read.text.as_ptr() as usize;
            !self
                .before(at)
                .next()
                .is_some_and(|word| has("in from under below to into as with than against like that", word))
        };
        let placed = self.placed().into_iter().filter(|(path, how)| clauses.contains(&how.clause) && object(path));
        placed.map(|(path, _)| path).collect()
    }

    /// The folders in which it has something removed: "delete the loose copies in scans/2020".
    pub(in crate::review) fn removed_in(&self, but: &str) -> Vec<&str> {
        let removes = |word: &&Word| word.is(super::REMOVAL) && word.orders();
        let clauses: Vec<usize> = self.read.words.iter().filter(removes).map(|word| word.clause).collect();
        let within = |path: &str| self.lead(path).is_some_and(|word| has("in from under below", word));
        // "… and everything in tmp/render"
        if self.placed().iter().any(|(path, _)| is_named_so(but, path) && within(path)) {
            return Vec::new();
        }
        let placed = self.placed().into_iter().filter(|(path, how)| clauses.contains(&how.clause) && within(path));
        placed.map(|(path, _)| path).collect()
    }

    /// The word before a path that it names, but for articles and what kind of thing it is.
    fn lead(&self, path: &str) -> Option<&str> {
        let at = path.as_ptr() as usize - self.read.text.as_ptr() as usize;
        self.before(at).find(|word| !has("the our file folder directory new a an one single page", word))
    }

    /// Whether it takes something from this path, or makes something of it: "translate A into B", "the new text is in A".
    pub(in crate::review) fn takes_from(&self, path: &str) -> bool {
        let mut places = self.placed().into_iter().filter(|(said, _)| *said == path).map(|(said, _)| said).peekable();
        places.peek().is_some()
            && places.all(|said| {
                // "The text is in A"
                let at = said.as_ptr() as usize - self.read.text.as_ptr() as usize;
                let lies = || self.before(at).nth(1).is_some_and(|word| has("is lies lie", word));
                self.lead(said).is_none_or(|word| has(MAKING_OF, word) || (word == "in" && lies()))
            })
    }

    /// Whether it has this path itself changed: "shorten A".
    pub(in crate::review) fn edits(&self, path: &str) -> bool {
        let changes = |word: &Word| word.orders() && word.is(super::MAKING) && !has(MAKING_OF, &word.text);
        let verb = |lead: &str| self.read.words.iter().any(|word| word.text == lead && changes(word));
        self.placed().iter().any(|(said, _)| is_named_so(path, said) && self.lead(said).is_some_and(verb))
    }

    /// The files into which it has something written.
    pub(in crate::review) fn put_into(&self) -> Vec<&str> {
        let into = |path: &&str| {
            let at = path.as_ptr() as usize - self.read.text.as_ptr() as usize;
            let arrow = self.read.text.get(..at).is_some_and(|text| text.trim_end().ends_with(['>', '→']));
            let base = path.rsplit('/').next().unwrap_or(path);
            let file = super::is_file_name(base) && !base.starts_with('.');
            file && (arrow || self.lead(path).is_some_and(|word| has("to into as onto in", word)))
        };
        self.placed().into_iter().map(|(path, _)| path).filter(into).collect()
    }

    /// Whether a path is one under which it has something kept as it is: "keep the old one as B", "B.bak".
    pub(in crate::review) fn keeps_as(&self, path: &str) -> bool {
        const KEPT: &str = "old bak backup backups before orig original prev previous archive archived saved";
        let keeps = |word: &Word| word.is("keep kept backup preserv aside archiv");
        let clause =
            |clause: usize| self.read.words.iter().any(|word| word.clause == clause && !word.within && keeps(word));
        path.split(|c: char| !c.is_alphanumeric()).any(|part| has(KEPT, part))
            || self.placed().iter().any(|(said, how)| *said == path && clause(how.clause))
    }

    /// Whether it has this file as where something is to go: "in X", "as X", "to X".
    pub(in crate::review) fn wants_into(&self, file: &str) -> bool {
        let file = fold(file);
        let mut said = self.read.words.iter().filter(|word| {
            let token = word.token(&self.read.text);
            token.rsplit('/').next().is_some_and(|base| base == file)
        });
        let into = |word: &Word| {
            let start = word.token.start;
            let clause = words::of_clause(&self.read.words, word.clause);
            // "Findings in reports/a.md", and not "read the findings in reports/a.md"
            let bare = || !clause.iter().any(Word::orders_anything);
            let kept = |other: &Word| {
                has("keep write save store put note record log dump extract export quote belongs goes", &other.text)
                    || (has("findings result results outcome", &other.text) && bare())
            };
            // "Which rules, half a page, reports/gate.md"
            let paper = || {
                let before =
                    words::before(&self.read.words, start).last().filter(|before| before.clause + 1 == word.clause);
                let listed = self.read.text.get(..start).is_some_and(|text| text.trim_end().ends_with([',', ':']));
                listed
                    && before.is_some_and(|before| has("page pages list summary table report note lines", &before.text))
            };
            // "What would it throw away? -> reports/untracked.txt"
            let pointed = self.read.text.get(..start).is_some_and(|text| text.trim_end().ends_with(['>', '→']));
            let before = self.before(start).next().unwrap_or("");
            let placed = has("in called file at under", before) && clause.iter().any(kept);
            let compares = |w: &Word| {
                w.clause == word.clause
                    && w.is("compar differ diff match relat accord due next close similar same like format templat")
            };
            let compares = self.read.words.iter().any(compares);
            pointed || placed || paper() || before == "into" || (has("as to", before) && !compares)
        };
        said.any(into)
    }

    /// The paths and names of files that it gives, and how it names each.
    pub(in crate::review) fn placed(&self) -> Vec<(&str, Naming)> {
        let places = self.paths.get_or_init(|| self.find_placed());
        places.iter().filter_map(|(at, how)| Some((self.read.text.get(at.clone())?, *how))).collect()
    }

    fn find_placed(&self) -> Vec<(Range<usize>, Naming)> {
        let text = &self.read.text;
        let mut all: Vec<(Range<usize>, Naming)> = Vec::new();
        for word in &self.read.words {
            let token = word.token(text);
            let start = word.token.start;
            let path = (token.contains('/') || super::is_file_name(token))
                && !token.contains(['@', '*'])
                && !token.contains("://");
            if !path || word.at != start && self.read.words.iter().any(|w| w.at < word.at && w.token.start == start) {
                continue;
            }
            let before = self.before(start).find(|before| !has("the our file folder directory", before)).unwrap_or("");
            let path = token.trim_start_matches("./");
            let at = start + token.len() - path.len();
            let path = path.trim_end_matches('/');
            all.push((at..at + path.len(), Naming { towards: has_towards(before), clause: word.clause }));
        }
        all
    }

    /// Whether it has things copied or moved as they are, in this part of a sentence.
    pub(in crate::review) fn copies_in(&self, clause: usize) -> bool {
        let copies = |word: &Word| {
            word.clause == clause && !word.negated && word.is("copy copie sync rsync mirror move rename save")
        };
        self.read.words.iter().any(copies)
    }
}

fn has_towards(word: &str) -> bool {
    has(TOWARDS, word)
}

/// Whether a path is the one that is named so.
pub(in crate::review) fn is_named_so(path: &str, said: &str) -> bool {
    let path = fold(path);
    path.strip_suffix(said).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

//! What a goal leaves for later: "live comes next week", "I'll have a look before subscribers get it".

use std::ops::Range;

use serde_json::Value;

use super::Wishes;
use super::words::{Word, has};
use crate::paths::fold;

/// Words for another time than now.
const ANOTHER_TIME: &str =
    "later afterwards tomorrow next monday tuesday wednesday thursday friday saturday sunday week month weekend";

/// Words behind "not" for what is for another time.
const NOT_NOW: &str = "today now yet tonight";

/// Words for what a thing does then.
const COMING: &str = "comes come follows follow goes go happens";

/// Words for what somebody does then.
const GETTING: &str = "get gets see sees hear hears receive receives read reads";

/// How a goal ends that wants nothing beside what it says.
const CLOSING: [&str; 12] = [
    "only that",
    "only those",
    "only this",
    "only these",
    "only him",
    "only her",
    "only his",
    "nothing else",
    "nothing more",
    "no other",
    "that's all",
    "thats all",
];

/// Places that what must not leave them stays in.
const OWN_PLACES: &str = "machine laptop computer workstation desktop host server box disk house home building premises office site lab room \
    company firm institute network lan cluster infrastructure";

/// Places beside the one at hand, for which something comes later.
const PLACES: &str = "prod production live";

/// Places at hand before them.
const BEFORE: &str = "staging preview test testing qa uat dev canary demo stage preprod";

/// The sentences that leave a place for later: "production only once Jonas has approved, so not today", "live not yet".
pub(super) fn left(words: &[Word], end: usize) -> Vec<Range<usize>> {
    let sentences = words.chunk_by(|one, next| one.sentence == next.sentence);
    let left = sentences.filter(|sentence| {
        let texts: Vec<&str> = sentence.iter().take(3).map(|word| word.text.as_str()).collect();
        matches!(texts.as_slice(), [place, how, when] if has(PLACES, place)
            && words.iter().filter(|word| word.text == *place).count() == 1
            && words.iter().any(|word| sentence.first().is_some_and(|first| word.at < first.at) && !word.within && has(BEFORE, &word.text))
            && ((*how == "not" && has(NOT_NOW, when)) || (*how == "only" && has("once when after if", when))))
    });
    let range = |sentence: &[Word]| {
        let next = words.iter().find(|word| sentence.first().is_some_and(|first| word.sentence > first.sentence));
        Some(sentence.first()?.at..next.map_or(end, |next| next.at))
    };
    left.filter_map(range).collect()
}

impl Wishes {
    /// "It must not leave the machine", "nothing may leave the house": whether its data is for nobody outside.
    pub(in crate::review) fn confines(&self) -> bool {
        let words = &self.read.words;
        words.iter().enumerate().any(|(i, word)| {
            let near = words.iter().skip(i + 1).take(3).filter(|w| w.sentence == word.sentence);
            // "And don't leave the server running"
            let ordered =
                words.get(i.saturating_sub(2)..i).unwrap_or_default().iter().any(|w| has("do don dont", &w.text));
            has("leave leaves leaving left", &word.text)
                && (word.forbidden || word.negated)
                && !ordered
                && near.take_while(|w| !has("to in on with for", &w.text)).any(|w| has(OWN_PLACES, &w.text))
        })
    }

    /// The place that it leaves for later where an argument or a line has it, by any of its names: "prod not yet", and `production`.
    pub(in crate::review) fn reaches_left(&self, given: &Value) -> Option<&'static str> {
        if left(&self.read.words, self.read.text.len()).is_empty() {
            return None;
        }
        let place = |text: &str| {
            let text = fold(text);
            let mut parts = text.split(|c: char| !c.is_alphanumeric());
            parts.find_map(|part| PLACES.split(' ').find(|place| part == *place))
        };
        let members = given.as_object().into_iter().flatten();
        members
            .flat_map(|(key, value)| {
                value
                    .as_array()
                    .map_or(std::slice::from_ref(value), Vec::as_slice)
                    .iter()
                    .map(move |value| (key, value))
            })
            .filter_map(|(key, value)| Some((key, value.as_str()?)))
            .filter(|(key, text)| key.as_str() == "command" || !text.contains(' '))
            .find_map(|(_, text)| place(text))
    }

    /// Whether it leaves what is called so for later, and speaks of it nowhere else.
    pub(in crate::review) fn postpones(&self, value: &str) -> bool {
        let value = fold(value);
        let words = &self.read.words;
        let own = |word: &Word| word.token(&self.read.text).trim_start_matches('#') == value.trim_start_matches('#');
        let mut named = words.iter().enumerate().filter(|(_, word)| own(word));
        let (Some((i, word)), None) = (named.next(), named.next()) else { return false };
        let after = || words.iter().skip(i + 1).take_while(|next| next.clause == word.clause);
        let mut before = words.iter().take(i).rev().take_while(|before| before.sentence == word.sentence);
        let mut lead = before.by_ref().skip_while(|before| has("the our all any", &before.text));
        let awaited = |lead: Option<&Word>| lead.is_some_and(|lead| lead.text == "before");
        let does = |list: &'static str| after().next().is_some_and(|next| has(list, &next.text));
        let subject =
            |lead: Option<&Word>| lead.is_none_or(|lead| lead.clause != word.clause || has("and but", &lead.text));
        let lead = lead.next();
        // "Going live is something for next week"
        let subject = |lead: Option<&Word>| subject(lead) || lead.is_some_and(|lead| lead.text == "going");
        let kept = does("is") && after().take(4).any(|next| next.text == "for");
        let place = left(words, self.read.text.len()).iter().any(|range| range.start == word.at);
        (does(GETTING) && awaited(lead))
            || place
            || ((does(COMING) || kept) && subject(lead) && after().take(5).any(|next| has(ANOTHER_TIME, &next.text)))
    }

    /// Whether it is about something that runs on this machine, and about nothing elsewhere: "my local stack".
    pub(in crate::review) fn is_about_local(&self) -> bool {
        const HERE: &str = "stack api app server services service database db postgres mysql redis broker kafka queue instance cluster ingest \
            connect environment dev backend frontend site endpoint port minio gateway sqlite";
        const ELSEWHERE: &str = "prod production staging remote live upstream preview qa uat";
        let words = &self.read.words;
        let here = |pair: &[Word]| matches!(pair, [local, what] if (local.text == "local" && has(HERE, &what.text) || has("on at", &local.text) && what.text == "localhost") && !local.negated && !local.within && !what.within);
        words.windows(2).any(here) && !words.iter().any(|word| has(ELSEWHERE, &word.text))
    }

    /// Whether what stands there is all that brackets name: "for the leads (#desk-leads)".
    pub(in crate::review) fn is_bracketed(&self, said: Range<usize>) -> bool {
        let text = &self.read.text;
        let opens = text.get(..said.start).is_some_and(|before| before.trim_end_matches('#').ends_with('('));
        opens && text.get(said.end..).is_some_and(|after| after.starts_with(')'))
    }

    /// Whether it wants nothing beside what it says.
    pub(in crate::review) fn is_closed(&self) -> bool {
        CLOSING.iter().any(|end| self.read.text.contains(end))
    }
}

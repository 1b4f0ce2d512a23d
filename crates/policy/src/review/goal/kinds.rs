//! The kinds of things that people ask for.

use countersign_plan::tool::Effect;

use super::turns::PAPERS;
use super::vocabulary::{ACTING, GOVERNED, GOVERNING, LOOKING, MAKING, PAYING, REMOVAL, SETTING, TELLING};
use super::words::{Word, has};
use crate::lists::MONEY;

/// A kind of thing that people ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Look,
    Make,
    Remove,
    Tell,
    Pay,
    Govern,
}

impl Kind {
    pub(super) const ALL: [Self; 6] = [Self::Look, Self::Make, Self::Remove, Self::Tell, Self::Pay, Self::Govern];

    /// Whether a word is one for any of them.
    pub(super) fn is_any(word: &Word) -> bool {
        Self::ALL.iter().any(|kind| word.is(kind.stems()))
    }

    /// The kind of an effect that somebody has to have asked for.
    pub(super) const fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Delete => Some(Self::Remove),
            Effect::Send => Some(Self::Tell),
            Effect::Pay => Some(Self::Pay),
            Effect::Admin => Some(Self::Govern),
            Effect::None | Effect::Read | Effect::Create | Effect::Update | Effect::Execute => None,
        }
    }

    pub(super) const fn stems(self) -> &'static str {
        match self {
            Self::Look => LOOKING,
            Self::Make => MAKING,
            Self::Remove => REMOVAL,
            Self::Tell => TELLING,
            Self::Pay => PAYING,
            Self::Govern => GOVERNING,
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Look => "look at something",
            Self::Make => "make or change something",
            Self::Remove => "remove something",
            Self::Tell => "send something to somebody",
            Self::Pay => "move money",
            Self::Govern => "change who may do what",
        }
    }

    /// Whether the words ask for it.
    pub(super) fn is_asked(self, words: &[Word]) -> bool {
        // "From a neighbour who wants to talk": a word that goes on about a thing asks nothing.
        let goes_on = |i: usize| {
            let (word, before) = (words.get(i), i.checked_sub(1).and_then(|i| words.get(i)));
            word.zip(before).is_some_and(|(word, before)| {
                let verb = words.get(i + 1).map_or("", |next| next.text.as_str());
                has("who which whose", &word.text)
                    && word.clause == before.clause
                    // It is not all that is said, and nobody wonders.
                    && words.last().is_some_and(|last| last.sentence != word.sentence)
                    && has("wants wanted has had is was are were wrote asked asks needs needed came called sent", verb)
                    && !(before.is(LOOKING)
                        || before.is(TELLING)
                        || has("me us out and or see know him her them wonder sure idea unclear clue curious forgot", &before.text))
            })
        };
        words.iter().enumerate().any(|(i, word)| match self {
            // "Whatever it had before" is no question.
            Self::Look => {
                let looks = word.is(LOOKING) && !word.text.ends_with("ever") && !goes_on(i);
                word.asks || (!word.negated && !word.name && looks)
            }
            // What is governed has no verbs of its own: it counts beside any order that is more than looking.
            Self::Govern if word.is(GOVERNED) && !word.within => {
                let acts = |other: &Word| other.orders() && !other.is(LOOKING) && other.sentence == word.sentence;
                let looks = words.iter().any(|w| w.sentence == word.sentence && w.orders() && w.is(LOOKING));
                !word.negated && !word.subordinate && (!looks || words.iter().any(|w| acts(w) && w.is(ACTING)))
            }
            Self::Make if has(SETTING, &word.text) => word.orders() && !word.within,
            // "Send me the two amounts" moves no money.
            Self::Pay if word.text.starts_with("send") => {
                let next = words.iter().find(|next| next.at > word.at);
                let money = |w: &Word| {
                    let amount = w.text.starts_with(|c: char| c.is_ascii_digit());
                    amount || has("money amount payment fee deposit refund balance sum eur euro euros", &w.text)
                };
                // "Write down the amount and send it to ap@…": who is written to is paid nothing.
                let written_to = |pair: &[Word]| {
                    matches!(pair, [to, who] if to.text == "to" && who.within && to.clause == word.clause && to.at > word.at)
                };
                // "Send them back the difference"
                let back = |who: &Word| words.iter().any(|w| w.clause == who.clause && w.at > who.at && w.text == "back");
                // "Send them CHF 1150"
                let sum = |who: &Word| {
                    let mut after = words.iter().filter(|w| w.clause == who.clause && w.at > who.at).take(2);
                    let number = |w: &Word| w.text.starts_with(|c: char| c.is_ascii_digit());
                    has("them him her", &who.text) && after.clone().any(number) && after.any(|w| has(MONEY, &w.text))
                };
                let paper = |w: &Word| w.at > word.at && w.clause == word.clause && has(PAPERS, &w.text);
                word.orders()
                    && words.iter().any(money)
                    && !words.iter().any(paper)
                    && !words.windows(2).any(written_to)
                    && !next.is_some_and(|next| has("me us them him her everybody everyone", &next.text) && !back(next) && !sum(next))
            }
            Self::Make | Self::Remove | Self::Tell | Self::Pay | Self::Govern => word.orders() && word.is(self.stems()),
        })
    }
}

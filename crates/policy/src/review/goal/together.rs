//! Which things a goal asks something of, and which it only speaks of.

use std::borrow::Cow;
use std::ops::Range;

use countersign_plan::tool::Effect;

use super::removal::base;
use super::words::{self, Word, has};
use super::{Kind, Wishes, bans, is_file_name, order};
use crate::effects::Touch;
use crate::paths::fold;

/// Words with which a sentence says how something is.
pub(super) const COPULAS: &str = "is was are were has had belongs stays keeps lives comes did does waits remains looks seems went ran stands sits hangs";

/// Words for what nobody has decided.
const TENTATIVE: &str = "idea ideas toys toying thinks thinking considers considering wonders wondering undecided perhaps maybe might dreams mulls hesitates";

/// Words for what was named before.
const ANAPHORS: &str = "it its that this them those these they there here";

impl Wishes {
    /// Whether what a step is done to and what it sets stand together in a sentence that says nothing else of them: "beta-eu: 12 replicas",
    /// "take that fleet to 12 replicas". `spans` are the places of all values that decide.
    pub(in crate::review) fn say_together(&self, action: &str, spans: &[Range<usize>]) -> bool {
        let words = &self.read.words;
        let word_at = |span: &Range<usize>| words.iter().find(|word| word.at >= span.start && word.at < span.end);
        let Some(said) = spans.iter().map(word_at).collect::<Option<Vec<&Word>>>() else { return false };
        let Some(last) = said.iter().max_by_key(|word| word.sentence) else { return false };
        if said.len() < 2 || said.iter().any(|word| word.negated || word.subordinate) {
            return false;
        }
        let sentence = || words.iter().filter(|word| word.sentence == last.sentence);
        // "List the lamp hours of mill-1 and mill-3"
        let looks = |word: &Word| {
            word.orders() && word.is(super::LOOKING) && said.iter().any(|said| said.clause == word.clause)
        };
        if sentence().any(looks) {
            return false;
        }
        let describes = |word: &Word| word.clause == last.clause && has(COPULAS, &word.text);
        if sentence().any(|word| word.asks || describes(word)) {
            return false;
        }
        // What is named there is the step's own, or the sentence goes on about what was named before.
        let text = &self.read.text;
        let foreign = |word: &Word| {
            let own = spans.iter().any(|span| {
                let start = word.token.start;
                start < span.end && span.start < start + word.token(text).len()
            });
            is_named(word.token(text)) && !own
        };
        let here = said.iter().all(|word| word.sentence == last.sentence);
        here || (!sentence().filter(|word| word.clause == last.clause).any(foreign)
            && (sentence().any(|word| has(ANAPHORS, &word.text) || super::by_name(action, &word.text))
                || sentence().count() <= 6))
    }

    /// Whether it orders something by such a word in a sentence that names this.
    pub(in crate::review) fn order_beside(&self, stems: &'static str, name: &str) -> bool {
        let (words, name) = (&self.read.words, fold(name));
        let named = |sentence: usize| words.iter().any(|w| w.sentence == sentence && w.token(&self.read.text) == name);
        words.iter().any(|word| word.orders() && word.is(stems) && named(word.sentence))
    }

    /// Whether it says that this is not what is meant.
    pub(in crate::review) fn warns_of(&self, name: &str) -> bool {
        const WARNINGS: [&str; 5] =
            ["mixed up with ", "mix up with ", "confused with ", "mistaken for ", "mistake for "];
        let name = fold(name);
        let follows = |rest: &str| {
            let rest = rest.strip_prefix("the ").unwrap_or(rest);
            rest.strip_prefix(name.as_ref()).is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        };
        let mut places =
            WARNINGS.iter().flat_map(|word| self.read.text.match_indices(word).map(|(at, found)| at + found.len()));
        name.len() > 2 && places.any(|at| self.read.text.get(at..).is_some_and(follows))
    }

    /// Whether it names somebody with the same last name and another first one, and not this one.
    pub(in crate::review) fn names_namesake(&self, name: &str) -> bool {
        const NO_NAMES: &str = "the our my for to from of at in on mr mrs ms dr miss prof and or with by is dear as that this his her their";
        let (words, name) = (&self.read.words, fold(name));
        let Some((first, last)) = name.split_once(' ').filter(|(_, last)| !last.contains(' ')) else { return false };
        let letters = |word: &str| word.len() > 2 && word.chars().all(char::is_alphabetic);
        let namesake = |pair: &[Word]| {
            matches!(pair, [one, two] if two.text == last && one.text != first && one.sentence == two.sentence
                && letters(&one.text) && !has(NO_NAMES, &one.text) && !Kind::ALL.iter().any(|kind| one.is(kind.stems())))
        };
        letters(first) && letters(last) && !self.read.text.contains(name.as_ref()) && words.windows(2).any(namesake)
    }

    /// Whether it gives an order about this thing with a verb that no list has: "double the import-worker there".
    pub(in crate::review) fn order_at(&self, name: &str) -> bool {
        const NO_VERBS: &str = "i we you he she they it that this these those there here the a an our my your his \
            her their its no not yes if when once as after before while since because to in on at by for from with \
            of about hi hello dear thanks thank sorry so well ok okay also just now today tomorrow yesterday only \
            still both all some any each every everything nothing who what which why how where whether and or but \
            then please wait wonder skim study consult compare skip ignore leave avoid exclude spare mind watch \
            open view visit monitor follow track peek glance scan quote cite await expect remember hold keep never \
            don do does did is are has have let";
        const AFTER_VERBS: &str =
            "the a an our my your his her their its this that these those it them all both every each";
        let (words, text, name) = (&self.read.words, &self.read.text, fold(name));
        words.iter().enumerate().any(|(i, word)| {
            let before = i.checked_sub(1).and_then(|i| words.get(i));
            let first = before.is_none_or(|before| before.sentence != word.sentence)
                || before.is_some_and(|before| has("please and then", &before.text));
            let next = words.get(i + 1);
            let verb = first && word.orders() && !word.within && !has(NO_VERBS, &word.text) && !Kind::is_any(word);
            let object = next.is_some_and(|next| {
                has(AFTER_VERBS, &next.text) || is_named(next.token(text)) || next.token(text) == name
            });
            let mut rest = words.iter().skip(i + 1).take_while(|next| next.clause == word.clause);
            verb && object && rest.any(|next| next.token(text) == name)
        })
    }

    /// Whether these places are all in sentences about what somebody only thinks of.
    pub(in crate::review) fn only_speak_at(&self, places: &[Range<usize>]) -> bool {
        let words = &self.read.words;
        let sentences: Vec<usize> = places
            .iter()
            .flat_map(|place| std::iter::once(place.start).chain(self.again(place.clone())))
            .filter_map(|at| words.iter().rfind(|word| word.at <= at).map(|word| word.sentence))
            .collect();
        // "We may have to cancel it"
        let open = |words: &[Word]| matches!(words, [who, may, lead] if has("we i they he she", &who.text) && may.text == "may" && has("have need want", &lead.text));
        let tentative = |sentence: usize| {
            words.iter().any(|word| word.sentence == sentence && has(TENTATIVE, &word.text))
                || words.windows(3).any(|w| w.first().is_some_and(|w| w.sentence == sentence) && open(w))
        };
        !sentences.is_empty() && sentences.iter().all(|sentence| tentative(*sentence))
    }

    /// Whether what it makes things depend on is for whoever reads it to judge: "if something looks suspicious".
    pub(in crate::review) fn is_vague(&self) -> bool {
        const VAGUE: &str =
            "suspicious suspicous odd strange unusual weird fishy wrong interesting relevant important urgent";
        let words = &self.read.words;
        words
            .iter()
            .any(|word| has(VAGUE, &word.text) && words.iter().any(|w| w.text == "if" && w.sentence == word.sentence))
    }

    /// Whether it makes what is done to this depend on something: "if …, do it", "pay it only when …", "as soon as …, K-2231 is issued".
    pub(in crate::review) fn waits_with(&self, touch: &Touch) -> bool {
        let words = &self.read.words;
        let pays = |word: &Word| touch.effect == Effect::Pay && word.is(Kind::Pay.stems());
        let name = fold(&touch.name);
        self.waits().any(|at| {
            let here = |word: &&Word| word.clause == at.clause && word.at < at.at;
            // "Pay B-8032, 612.40 EUR, but only when they are marked as checked"
            let taken_back = words.iter().any(|w| w.sentence == at.sentence && has("back revert undo", &w.text));
            let whole = has("only provided once when", &at.text)
                || (at.text == "if" && !taken_back)
                || (at.text == "soon" && touch.effect == Effect::Pay);
            // "First Henk, then the others, and only when those are out the page": that is what comes then.
            let follows = at.text == "only"
                && words.iter().rev().find(|w| w.at < at.at).is_some_and(|w| has("and then", &w.text));
            let before = |word: &&Word| whole && !follows && word.sentence == at.sentence && word.at < at.at;
            // "Ask in #purchasing if it is all right"
            const ASKING: &str = "see check look know tell ask find verify test say wonder enquire sure";
            const REMINDING: &str = "remind ask nudge chase";
            let asks = at.text == "if" && words.iter().filter(here).any(|word| has(ASKING, &word.text));
            // "Only when it is verified: post it", "As soon as it is there (and only then!) post it".
            let leads = words.iter().filter(|word| word.sentence == at.sentence).take(2).any(|word| word.at == at.at);
            // "When it gives a 200, write 'It is back.' in #crew", and not an order of its own behind it.
            let next = words.iter().find(|word| word.sentence == at.sentence + 1);
            let goes_on = at.text != "when" || !next.is_some_and(Kind::is_any);
            let last = at.sentence + usize::from(leads && goes_on);
            // "Book Fatima. If her card says anything other than active, stop."
            let stops = leads && words.iter().any(|w| w.sentence == at.sentence && has("stop abort halt", &w.text));
            // "Release 60 bottles of L-7655. But not before the duty of E-54 is settled."
            let first = if stops { 0 } else { at.sentence.saturating_sub(usize::from(leads && at.text == "not")) };
            let after = |word: &&Word| {
                (first..=last).contains(&word.sentence) && (word.at > at.at || word.sentence < at.sentence)
            };
            let mut said = words.iter().filter(|word| here(word) || before(word) || after(word));
            let named = |word: &Word| {
                let token = word.token(&self.read.text).trim_end_matches('/');
                token == name
                    || (token.contains('/') && name.ends_with(&format!("/{}", token.trim_start_matches("./"))))
            };
            // "Production only when Jonas has signed - remind him", "ask Anya and Wen if Friday works": who is asked waits for nothing, where
            // that is the last thing that is ordered before he is named.
            let reminded = |word: &Word| {
                let mut before = words.iter().rev().filter(|w| w.sentence == word.sentence && w.at < word.at);
                let order = before.find(|w| w.orders() && (has(REMINDING, &w.text) || Kind::is_any(w)));
                touch.effect == Effect::Send && order.is_some_and(|w| has(REMINDING, &w.text))
            };
            // "Would be good if that happened today" is a wish.
            let mut back = self.before(at.at);
            let good = back.next().is_some_and(|word| has("good nice great glad helpful lovely best", word));
            let wished = good && back.next() == Some("be");
            !asks && !wished && said.any(|word| (named(word) && !reminded(word)) || pays(word))
        })
    }

    /// The words with which it makes something wait for something.
    pub(super) fn waits(&self) -> impl Iterator<Item = &Word> {
        let words = &self.read.words;
        let text = |i: usize| words.get(i).map_or("", |word| word.text.as_str());
        let before = |i: usize| i.checked_sub(1).and_then(|i| words.get(i)).map(|w| w.sentence);
        let waits = move |(i, word): &(usize, &Word)| match (word.text.as_str(), text(i + 1)) {
            // "If you need the background" is a courtesy; "pay it if received" ends with its condition.
            ("if" | "unless" | "provided", next) => {
                let courtesy = next == "you" && has("need want like wonder prefer", text(i + 2));
                !word.within && !courtesy
            }
            ("only", next) => has("when once after if", next),
            ("once", next) => has("you the its their every everything", next),
            ("soon", "as") | ("not", "before") => true,
            // "When it gives a 200, write to them" begins so, and not "When you have a moment, …".
            ("when", next) => before(*i) != Some(word.sentence) && !has("you it", next),
            _ => false,
        };
        words.iter().enumerate().filter(waits).map(|(_, word)| word)
    }

    /// The records that its conditions are about: "provided DE-8102 stands at accepted".
    pub(in crate::review) fn named_by_conditions(&self) -> Vec<String> {
        let words = &self.read.words;
        let text = &self.read.text;
        // "As soon as 77300 shows delivered you may pay LN-21007": what comes then is what is to be done.
        let allows = |(i, at): &(usize, &Word)| {
            let seeing = words.get(i + 1).is_some_and(|next| has("have ve see saw know are", &next.text));
            has("may can then", &at.text) || (at.text == "you" && !seeing)
        };
        let of_conditions = self.waits().flat_map(|begin| {
            let rest = words.iter().enumerate().filter(|(_, word)| word.at > begin.at && word.clause == begin.clause);
            rest.filter(|(_, word)| word.sentence == begin.sentence).take_while(|word| !allows(word))
        });
        // "If it matches purchase order 5518"
        let numbered = |i: usize, at: &Word| {
            let before = i.checked_sub(1).and_then(|i| words.get(i));
            at.text.len() > 2
                && at.text.chars().all(|c| c.is_ascii_digit())
                && before.is_some_and(|w| has("order po invoice bill ticket issue pr case number", &w.text))
        };
        let record = |(i, at): (usize, &Word)| {
            let token = at.token(text);
            let file = is_file_name(token) && !token.contains("://");
            let name = if file { base(token) } else { token };
            (file || prefix(token).is_some() || numbered(i, at)).then(|| name.to_owned())
        };
        let mut named: Vec<String> = of_conditions.filter_map(record).collect();
        // "Compare it with our order PO-7720, and pay it only when that order shows as delivered"
        if named.is_empty() && self.waits().next().is_some() {
            let mut checked = None;
            for (i, at) in words.iter().enumerate() {
                if checked == Some(at.clause) {
                    named.extend(record((i, at)));
                } else if at.orders() && at.is("compar check verif") {
                    checked = Some(at.clause);
                }
            }
        }
        named.dedup();
        named
    }

    /// Whether an order of this kind has the word for the other of two things, and not the word for this one.
    pub(in crate::review) fn orders_the_other(&self, removes: bool, ours: &str, theirs: &str) -> bool {
        let words = &self.read.words;
        let kind = if removes { super::REMOVAL } else { super::TELLING };
        let ordered = |word: &Word| word.orders() && word.is(kind);
        let clauses: Vec<usize> = words.iter().filter(|word| ordered(word)).map(|word| word.clause).collect();
        // The names of the files themselves say nothing of which is meant.
        let has_word =
            |text: &str| words.iter().any(|word| clauses.contains(&word.clause) && !word.within && word.text == text);
        has_word(theirs) && !has_word(ours)
    }

    /// Whether only what it names is to be in a commit: "only that file in the commit", "commit it, nothing else".
    pub(in crate::review) fn commits_only(&self) -> bool {
        let words = &self.read.words;
        let commit =
            |sentence: usize| words.iter().any(|word| word.sentence == sentence && word.text.starts_with("commit"));
        words.windows(2).any(|pair| {
            let [one, two] = pair else { return false };
            let only = has("only just", &one.text) && has("that this the it these those file files", &two.text);
            // "Commit only my change to faq.md", and not "commit only, I push myself" or "commit only if it builds".
            let before = words::before(words, one.at)
                .last()
                .is_some_and(|word| word.clause == one.clause && word.text == "commit");
            let named = has("only just", &one.text)
                && before
                && one.clause == two.clause
                && !has("if when once after", &two.text);
            (only || named || (one.text == "nothing" && has("else more", &two.text))) && commit(one.sentence)
        })
    }

    /// Whether figures are to be told and nothing else: "total and number, nothing else, and no names".
    pub(in crate::review) fn wants_figures_only(&self, receivers: &[&str]) -> bool {
        const FIGURES: &str =
            "total totals number numbers count counts sum sums figure figures average amount amounts percentage";
        let words = &self.read.words;
        let figures = words.iter().any(|word| has(FIGURES, &word.text) && !word.negated);
        // "In #ext-b only the total" says nothing of what #product is told.
        let others = |sentence: usize| {
            let named = words.iter().filter(|word| word.sentence == sentence);
            let mut named = named.map(|word| word.token(&self.read.text)).filter(|t| t.contains(['@', '#'])).peekable();
            named.peek().is_some() && named.all(|name| !receivers.iter().any(|one| fold(one) == name))
        };
        let only = |a: &Word, b: &Word| {
            (a.text == "nothing" && has("else more", &b.text))
                || (a.text == "no" && has("names name details addresses persons people individuals", &b.text))
                || (has("only just", &a.text) && (has("the", &b.text) || has(FIGURES, &b.text)))
        };
        figures && words.windows(2).any(|pair| matches!(pair, [a, b] if only(a, b) && !others(a.sentence)))
    }

    /// Whether it says this as what has happened: "Maud has released it", and not "once Maud has".
    pub(in crate::review) fn states(&self, participle: &str) -> bool {
        let said = |word: &Word| word.text == participle && !word.negated && !word.subordinate;
        let open = |word: &Word| self.before(word.at).next().is_some_and(|before| has("be to get", before));
        self.read.words.iter().any(|word| said(word) && !open(word))
    }

    /// Whether something is ordered in the part of a sentence that names this file.
    pub(in crate::review) fn orders_beside(&self, file: &str) -> bool {
        let file = crate::paths::fold(file);
        let words = &self.read.words;
        let named = |word: &&Word| word.token(&self.read.text).rsplit('/').next() == Some(&file);
        let orders = |word: &Word, clause: usize| {
            let verb = word.is(super::MAKING) || has("set put", &word.text) || word.is("writ");
            word.clause == clause && word.orders() && verb
        };
        words.iter().filter(named).any(|named| words.iter().any(|word| orders(word, named.clause)))
    }

    /// Whether all that it orders beside looks and messages is written into files, and nothing is called as a tool of this name is.
    pub(in crate::review) fn only_write_files(&self, tool: &str) -> bool {
        let words = &self.read.words;
        let makes = |word: &&Word| {
            let kinds = || Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Look | Kind::Tell));
            word.orders() && (word.is(super::ACTING) || kinds().any(|kind| word.is(kind.stems())))
        };
        let into_file = |word: &Word| {
            let mut rest = words.iter().filter(|other| other.clause == word.clause && other.at > word.at);
            word.is("write note put save keep store list record log")
                && rest.any(|other| {
                    let token = other.token(&self.read.text);
                    token.contains('/') || super::is_file_name(token)
                })
        };
        let mut made = words.iter().filter(makes).peekable();
        let looks = words.iter().any(|word| word.asks || (word.orders() && word.is(super::LOOKING)));
        looks && made.peek().is_some() && made.all(into_file) && !self.call(tool)
    }

    /// Whether it says what is to be done where something fails, by a word of this tool's name: "should that fail, leave a note".
    pub(in crate::review) fn speak_after_failure(&self, tool: &str) -> bool {
        let words = &self.read.words;
        let fails = words.iter().find(|word| word.is("fail") && !word.negated);
        fails.is_some_and(|fails| {
            let after = words.iter().filter(|word| word.sentence == fails.sentence && word.at > fails.at);
            after.into_iter().any(|word| !word.negated && super::parts(tool).any(|part| part == word.text))
        })
    }

    /// Whether it speaks of one of several and does not say which: "one of the two is still open, pay the open one".
    pub(in crate::review) fn leaves_open(&self) -> bool {
        let words = &self.read.words;
        let of = words.windows(3).any(|three| {
            matches!(three, [one, of, rest] if has("one either", &one.text) && of.text == "of" && has("the these them those my our", &rest.text))
        });
        let picks = words.windows(3).any(|three| {
            matches!(three, [the, which, one] if the.text == "the" && has("one ones", &one.text) && which.text.chars().all(char::is_alphabetic))
        });
        of && picks
    }

    /// Whether what it wants done is for one that is found to be in a state: "whichever is not yet paid", "cancel the one that …".
    pub(in crate::review) fn chooses(&self) -> bool {
        let words = &self.read.words;
        let said = words.windows(3).any(|three| {
            matches!(three, [the, one, that] if the.text == "the" && has("one ones", &one.text) && has("that which who whose", &that.text))
        });
        said || words.iter().any(|word| word.text == "whichever")
    }

    /// Whether it means those alone that are found to be in a state: "pay only what is still open".
    pub(in crate::review) fn takes_only_some(&self) -> bool {
        self.read.words.windows(3).any(|three| {
            matches!(three, [only, what, is] if only.text == "only" && has("what those whatever ones", &what.text) && has("is are that has which still hasn haven isn aren wasn", &is.text))
        })
    }

    /// Whether it orders something of another number of this kind, and nothing of this one: "publish version 4, version 3 has the wrong map".
    pub(in crate::review) fn means_another_number(&self, kind: &str, number: u64) -> bool {
        let (words, number) = (&self.read.words, number.to_string());
        let orders = |w: &Word| w.orders_anything() || has("goes gets moves", &w.text);
        let ordered = |at: &Word| words.iter().any(|w| w.clause == at.clause && orders(w));
        let said = || {
            words.windows(2).filter_map(|pair| if let [of, at] = pair { (of.text == kind).then_some(at) } else { None })
        };
        said().any(|at| at.text == number)
            && said().all(|at| at.text != number || !ordered(at))
            && said().any(|at| at.text.bytes().all(|b| b.is_ascii_digit()) && ordered(at))
    }

    /// Where it orders anything, and in which sentence.
    fn orders(&self) -> &[(usize, usize)] {
        self.orders.get_or_init(|| {
            let orders = self.read.words.iter().filter(|word| {
                let acts = word.is(super::ACTING) && !has("give let allow make put take", &word.text);
                word.orders() && (acts || Kind::is_any(word))
            });
            orders.map(|word| (word.at, word.sentence)).collect()
        })
    }

    /// Whether it only says of this how it is, and has another of its kind besides: "careful, pl-55920 is his brother".
    pub(in crate::review) fn only_describe(&self, name: &str, named: &[Cow<'_, str>]) -> bool {
        let name = fold(name);
        let plain = |name: &str| order::is_own_name(name) && name.chars().all(|c| c.is_alphabetic() || c == '-');
        let kind = prefix(&name);
        if kind.is_none() && !plain(&name) {
            return false;
        }
        let words = &self.read.words;
        let text = &self.read.text;
        let token = |word: &Word| word.token(text);
        let number = name.split_once('-').map(|(_, number)| number);
        let alike = |other: &str| {
            let same = || other.split_once('-').map(|(_, number)| number) == number;
            let alike =
                kind.map_or_else(|| plain(other), |kind| prefix(other).is_some_and(|own| own == kind || same()));
            alike && (other == name || named.iter().all(|named| named != other))
        };
        // "R-5511 was already paid" orders nothing, "has to be paid" does.
        let passive = |word: &Word| {
            let near = || words::before(words, word.at).iter().rev().filter(|w| w.clause == word.clause).take(3);
            let participle = word.text.ends_with("ed") || has("paid sent done sold put set", &word.text);
            participle && near().any(|w| has("is are was were been", &w.text)) && !near().any(|w| w.text == "to")
        };
        // "PL-7001 is a copy of PL-7000": what is said is said of the first.
        let compared = |place: &Word| {
            let before = || words::before(words, place.token.start).iter().rev().filter(|w| w.clause == place.clause);
            let of = before().take_while(|w| has("of the original", &w.text)).any(|w| w.text == "of");
            let is = before().find(|w| has(COPULAS, &w.text)).map_or(0, |is| is.at);
            of && before().any(|w| w.at < is && token(w) != token(place) && alike(token(w)))
        };
        let described = |(i, place): (usize, &Word)| {
            let name = token(place);
            // "PL-1 and PL-2 are copies"
            let listed = |w: &Word| w.sentence == place.sentence && (w.text == "and" || alike(token(w)));
            let next = words.iter().skip(i + 1).find(|word| token(word) != name && !listed(word));
            let verb = next.is_some_and(|word| word.sentence == place.sentence && has(COPULAS, &word.text));
            let before = i.checked_sub(1).and_then(|i| words.get(i));
            let inside = before.is_some_and(|word| token(word) == name);
            let orders = |word: &Word| {
                let kinds = || Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Look));
                // "The one we keep"
                let ours = self.before(word.at).next().is_some_and(|who| has("we i they", who));
                let order = word.orders() && !passive(word) && !ours;
                word.sentence == place.sentence && order && kinds().any(|kind| word.is(kind.stems()))
            };
            // "There is a draft DD-7 and a declaration DE-7."
            let there =
                words.iter().find(|word| word.sentence == place.sentence).is_some_and(|word| word.text == "there");
            // "The good one is RB-5"
            let clause = || words.iter().filter(|word| word.clause == place.clause && word.at < place.at);
            let good = clause().next_back().is_some_and(|word| has("is are", &word.text))
                && clause().any(|word| has("good right correct valid real proper", &word.text));
            inside || ((verb || there || good) && !words.iter().any(orders)) || compared(place)
        };
        // Nothing is ordered in its part of a sentence, and something is in that of another one.
        let ordered = |word: &Word| {
            let clause = words::of_clause(words, word.clause);
            let verb = |w: &Word| {
                let kinds = || Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Look));
                let order =
                    w.orders() && !passive(w) && (w.is(super::ACTING) || kinds().any(|kind| w.is(kind.stems())));
                // "w-07 gets drained"
                order || has("gets goes becomes moves", &w.text)
            };
            // "Note it on T-901", "file it in the record of PT-880"
            let kept = |w: &Word| has("note file log record jot enter", &w.text);
            // "Settle B-2260 (310) and B-2261 (275)": one order for both.
            let before = words::before(words, word.token.start).last();
            let after = words.iter().find(|w| w.at > word.at && token(w) != token(word));
            let goes_on =
                after.is_none_or(|w| w.text.starts_with(|c: char| c.is_ascii_digit()) || w.clause != word.clause);
            // "Void F-771, F-772 and F-775"
            let earlier_one = words::before(words, word.token.start).iter().rfind(|w| w.text != "and");
            let listed = earlier_one.is_some_and(|w| token(w) != name && kind.is_some() && prefix(token(w)) == kind)
                && !after.is_some_and(|w| w.sentence == word.sentence && has(COPULAS, &w.text));
            // "Assign LK-50 to ben and LK-51 to mateo", "24 EUR on INV-1 and 42 EUR on INV-2"
            let led = after.is_some_and(|w| has("to that with by as for on in", &w.text));
            let begins = clause.first().is_some_and(|w| w.text == "and");
            let parallel = begins && before.is_some_and(|w| has("on to in for of", &w.text));
            let joined = listed || parallel || ((goes_on || led) && before.is_some_and(|w| w.text == "and"));
            let earlier = || {
                let before = self.orders().iter().rev().find(|(at, _)| *at < word.at);
                before.is_some_and(|(_, sentence)| *sentence == word.sentence)
            };
            clause.iter().any(|w| verb(w) || kept(w)) || (joined && earlier())
        };
        let own = || words.iter().filter(|word| token(word) == name);
        // "Red cells U-71, platelets U-72. Quarantine the platelets": called by what it is.
        let called = |word: &Word| {
            let before = words::before(words, word.token.start).iter().rfind(|w| w.clause == word.clause);
            let noun = before.filter(|w| w.text.len() > 3 && !w.orders_anything());
            // What others of its kind are called as well says nothing.
            let shared = |noun: &Word| {
                let others = words.iter().filter(|w| token(w) != name && alike(token(w)));
                others.into_iter().any(|other| {
                    let before = words::before(words, other.token.start).last();
                    before.is_some_and(|w| w.text == noun.text)
                })
            };
            let noun = noun.filter(|noun| !shared(noun));
            noun.is_some_and(|noun| {
                let again = |w: &Word| w.text == noun.text && w.sentence != noun.sentence && !w.negated;
                words.iter().filter(|w| again(w)).any(|w| {
                    let denied = words.iter().rev().filter(|b| b.at < w.at && b.sentence == w.sentence).take(3);
                    !denied.into_iter().any(|b| has("not no except but without", &b.text))
                })
            })
        };
        if own().any(called) {
            return false;
        }
        let another = |word: &Word| token(word) != name && alike(token(word)) && ordered(word);
        if kind.is_some() && own().next().is_some() && !own().any(ordered) && words.iter().any(another) {
            return true;
        }
        if kind.is_some() && !own().any(ordered) && own().any(compared) {
            return true;
        }
        // Where of each it is only said how it is, what is asked for is asked of them.
        let sibling = |(i, word): (usize, &Word)| token(word) != name && alike(token(word)) && !described((i, word));
        let mut places = words.iter().enumerate().filter(|(_, word)| token(word) == name).peekable();
        places.peek().is_some() && places.all(described) && words.iter().enumerate().any(sibling)
    }
}

/// Whether a token is the name of one thing.
fn is_named(token: &str) -> bool {
    bans::is_name(token) || order::is_own_name(token) || super::is_file_name(token)
}

/// The letters before the number of a record: "inv" of "inv-3418".
pub(super) fn prefix(name: &str) -> Option<&str> {
    let (letters, number) = name.split_once('-')?;
    let numbered = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '-');
    (numbered && !letters.is_empty() && letters.chars().all(char::is_alphabetic)).then_some(letters)
}

//! What the pinned goal asks for, read with care: a few word stems and plain occurrence, never the planner's words.
//!
//! Goal integrity is a comparison of kinds: a goal whose words ask for something, and for nothing of the kind that a step does,
//! is a finding for people. A goal without a word of any kind is unclear and compared with nothing; so is one in a language that
//! the lists do not have.

mod awaited;
mod bans;
mod conditions;
mod exceptions;
mod fields;
mod forbidden;
mod kinds;
mod later;
mod looking;
mod mood;
mod order;
mod pairs;
mod removal;
mod settings;
mod together;
mod turns;
mod unasked;
mod vocabulary;
mod wanted;
mod words;

use std::cell::OnceCell;
use std::ops::Range;

use countersign_plan::tool::Effect;

use super::prepare::Prepared;
use crate::effects::Touch;
use crate::lists::{OPPOSITES, are_synonyms};
use crate::paths::fold;

pub(super) use awaited::is_version;
use bans::Ban;
pub(super) use fields::for_another;
pub(super) use forbidden::forbidden;
use kinds::Kind;
pub(super) use looking::beyond_a_look;
pub(super) use mood::only_spoken_of;
pub(super) use order::reversed;
pub(super) use pairs::mixed_up;
pub(super) use settings::{Naming, is_named_so, is_value};
use unasked::is_started;
pub(super) use unasked::{only_described, unasked};
use vocabulary::{ACTING, GOVERNED, GOVERNING, LOOKING, PLAIN, POWERS, READING, TELLING, UNCLEAR};
pub(super) use vocabulary::{
    DESTROYING, EMPTYING, ERASING, FOR_GOOD, HOOKS, MAKING, PUSHING, REBUILDING, RELOADING, REMOVAL, TIDYING,
};
pub(super) use wanted::unwanted;

use words::{Goal, Word, has};

/// A pinned goal, read once for all steps.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    read: Goal,
    asked: Vec<Kind>,
    bans: Vec<Ban>,
    /// Parts of the names of tools that do the opposite, worked out when it is first asked.
    opposites: OnceCell<Vec<&'static str>>,
    // The same for every step, and worked out when it is first asked.
    /// Where it names paths.
    paths: OnceCell<Vec<(Range<usize>, Naming)>>,
    /// The figures that it orders.
    figures: OnceCell<Vec<String>>,
    /// Its words with the signs in them: where each begins, and of which form it is.
    formed: OnceCell<Vec<(Range<usize>, Option<pairs::Form>)>>,
    /// Where it orders anything, and in which sentence.
    orders: OnceCell<Vec<(usize, usize)>>,
    /// Whether it makes what it asks for depend on something: then a plan has to look before it acts.
    pub(super) conditional: bool,
    /// Whether that, or it has something come before something else: "only when …", "before anything …".
    pub(super) ordered: bool,
    /// Whether it has something wait for somebody's word.
    pub(super) awaits_word: bool,
    /// Whether it forbids something before somebody has said a word.
    pub(super) held_back: bool,
}

impl Wishes {
    pub(super) fn of(goal: Option<&str>) -> Self {
        let mut read = Goal::new(goal.unwrap_or(""));
        read.withhold();
        let asked = Kind::ALL.into_iter().filter(|kind| kind.is_asked(&read.words)).collect();
        let bans = bans::of(&read);
        // "Text: 'tell us if you are free'": what is to be written makes nothing depend on anything.
        let (conditional, ordered) = if words::DICTATION.iter().any(|begin| read.text.contains(begin)) {
            let said: Vec<_> = read.words.iter().filter(|w| !words::dictated(&read.text, w.at)).cloned().collect();
            conditions::conditions(&said)
        } else {
            conditions::conditions(&read.words)
        };
        // "identical => delete the old ones", "all matched? then post it", "still open = leave it alone"
        const SIGNS: [&str; 10] = [
            " => ", "? then ", " = leave", " = dont", " = don't", " = stop", " green: ", " red: ", " match: ",
            " clean: ",
        ];
        let signed = SIGNS.iter().any(|sign| read.text.contains(sign));
        let (conditional, ordered) = (conditional || signed, ordered || signed);
        let [awaits_word, held_back] = [false, true].map(|held| conditions::awaits_word(&read.words, held));
        Self { read, asked, bans, conditional, ordered, awaits_word, held_back, ..Self::default() }
    }

    /// Whether it asks for what a tool of this name does: an effect of this kind, by any word for it or by the tool's own.
    pub(super) fn ask_for(&self, tool: &str, effect: Effect) -> bool {
        // Whoever adds somebody to something need not say "member"; powers have names.
        let mild = |word: &Word| word.text == "add" && !parts(tool).any(|part| has(POWERS, &part));
        let meant = |word: &Word| !has(PLAIN, &word.text) || mild(word) || self.speak_of_object(tool);
        let alike = |word: &Word| parts(tool).any(|part| are_synonyms(&part, &word.text));
        let turned = |word: &Word| word.means.is_some_and(|means| by_name(tool, means));
        let named = |word: &Word| {
            ((by_name(tool, &word.text) || alike(word)) && meant(word)) || turned(word) || self.in_two_words(tool, word)
        };
        if effect.is_harmless() || self.read.words.iter().any(|word| word.orders() && named(word)) {
            return true;
        }
        // Whoever only wants to be shown something wants nothing changed; an unclear goal says neither.
        match Kind::of(effect) {
            // Words for telling are many and mild: beside an order for more than a look, any of them will do.
            Some(Kind::Tell) => {
                let spoken = || self.read.words.iter().any(|word| !word.negated && word.is(TELLING));
                self.asked.is_empty() || self.asked.contains(&Kind::Tell) || (self.want_more_than_a_look() && spoken())
            }
            Some(kind) => self.asked.contains(&kind),
            // A helper that reads and a page that is written are ways to be shown something.
            None if effect != Effect::Update => true,
            // Whoever wants to see or tell something wants nothing changed.
            None => self.asked.is_empty() || self.asked.iter().any(|kind| !matches!(kind, Kind::Look | Kind::Tell)),
        }
    }

    /// Whether a word of it begins so, with no negation before it.
    pub(super) fn speak_of(&self, stems: &'static str) -> bool {
        // A name may have any word in it.
        self.read.words.iter().any(|word| !word.negated && !word.within && word.is(stems))
    }

    /// The same for a single beginning, whatever it is.
    pub(super) fn speak_of_one(&self, stem: &str) -> bool {
        let begins = |word: &Word| word.text.starts_with(stem) || word.means.is_some_and(|word| word.starts_with(stem));
        self.read.words.iter().any(|word| !word.negated && !word.within && begins(word))
    }

    /// Whether it wants it changed who may do what, or speaks of such things or of the file that says so; or is not clear.
    pub(super) fn ask_for_powers(&self, path: &str) -> bool {
        let file = path.rsplit('/').next().unwrap_or(path);
        // How one gets somewhere, or as whom, is not yet who may: that is a matter of keys.
        let keys = path.contains("/.ssh/");
        let spoken = || match keys {
            true => self.speak_of("key access credential password passwordl login authori"),
            false => self.speak_of(GOVERNED) || self.speak_of("ssh sudo login doas pam polkit"),
        };
        // So few words, none of them for anything, say nothing either way.
        let silent = self.asked.is_empty() && self.read.words.len() <= UNCLEAR;
        silent || self.asked.contains(&Kind::Govern) || spoken() || names(Some(&self.read.text), file)
    }

    /// Whether it gives digests of 64 hex digits, and this one not.
    pub(super) fn give_other_digests(&self, hex: &str) -> bool {
        let digits = |word: &&str| word.len() == hex.len() && word.chars().all(|c| c.is_ascii_hexdigit());
        let mut given = self.read.text.split(|c: char| !c.is_alphanumeric()).filter(digits).peekable();
        given.peek().is_some() && !given.any(|given| given == hex)
    }

    /// The digests that it gives: 64 hex digits.
    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        let words = self.read.text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit()))
    }

    /// Whether it orders what a tool of this name does by a word of that name.
    pub(super) fn call(&self, tool: &str) -> bool {
        let named = |word: &Word| {
            by_name(tool, &word.text)
                || word.means.is_some_and(|means| by_name(tool, means))
                || self.in_two_words(tool, word)
        };
        self.read.words.iter().any(|word| word.orders() && !has(PLAIN, &word.text) && named(word))
    }

    /// Whether a word and the next one together are a part of the tool's name: "write off" for `stock_writeoff`.
    fn in_two_words(&self, tool: &str, word: &Word) -> bool {
        let next = self.read.words.iter().find(|next| next.at > word.at && next.sentence == word.sentence);
        next.is_some_and(|next| {
            let both = format!("{}{}", word.text, next.text);
            both.len() > 5 && parts(tool).any(|part| part == both)
        })
    }

    /// The same where the word stands as orders do: at the beginning, or after what leads to an order.
    pub(super) fn command(&self, tool: &str) -> bool {
        let words = &self.read.words;
        let leads = |before: &Word| {
            has("please and then to you just also now or kindly could can should must need ll", &before.text)
                || before.text.ends_with("ly")
        };
        words.iter().enumerate().any(|(i, word)| {
            let before = i.checked_sub(1).and_then(|i| words.get(i));
            let first = before.is_none_or(|b| b.sentence != word.sentence || b.clause != word.clause || leads(b));
            // "Access is his decision"
            let subject = words.get(i + 1).is_some_and(|next| has("is are was were has have", &next.text));
            first && !subject && word.orders() && !has(PLAIN, &word.text) && by_name(tool, &word.text)
        })
    }

    /// Whether it has a word of a text in any form, other than those of any call that reads.
    pub(super) fn share_a_word(&self, text: &str) -> bool {
        let text = fold(text);
        let mut parts = text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() >= 4 && !has(READING, w));
        parts.any(|part| {
            let stem: String = part.chars().take(6).collect();
            let stem = stem.trim_end_matches('s');
            stem.len() >= 3 && self.read.words.iter().any(|word| !word.negated && word.text.starts_with(stem))
        })
    }

    /// Whether it leaves to what is read what there is to do: "do whatever is needed there", "deal with it".
    pub(super) fn delegates(&self) -> bool {
        let pair = |pair: &[Word]| match pair {
            [one, two] => {
                // "I'll deal with it tomorrow" leaves it to nobody else.
                !one.subordinate
                    && ((has("deal dealing", &one.text) && two.text == "with")
                        || (one.text == "take" && two.text == "care"))
            }
            _ => false,
        };
        let words = &self.read.words;
        // "Whatever is needed", and not "paste whatever is there".
        let left = |i: usize| {
            let after = words
                .iter()
                .skip(i + 1)
                .take(4)
                .take_while(|w| words.get(i).is_some_and(|at| at.sentence == w.sentence));
            after.into_iter().any(|w| {
                has("need needs needed necessary takes want wants wanted ask asks asked say says said required requires requested should must do done due", &w.text)
            })
        };
        // "Whatever it wants, write it down"
        let noted = |i: usize| {
            let mut after =
                words.iter().skip(i + 1).skip_while(|w| words.get(i).is_some_and(|at| at.clause == w.clause));
            after.next().is_some_and(|w| {
                w.orders() && has("write note put list jot log tell collect record summarise", &w.text)
            })
        };
        words.iter().enumerate().any(|(i, word)| {
            !word.negated
                && ((word.text == "whatever" && left(i) && !noted(i)) || (word.text == "handle" && word.orders()))
        }) || words.windows(2).any(pair)
    }

    /// Whether it orders something with a word that begins so.
    pub(super) fn order(&self, stems: &'static str) -> bool {
        self.read.words.iter().any(|word| word.orders() && word.is(stems))
    }

    /// Whether these digits stand in it, alone or in a date.
    pub(super) fn has_digits(&self, digits: &str) -> bool {
        self.read.text.contains(digits.trim_start_matches('0'))
    }

    /// Whether it names this, as a whole word.
    pub(super) fn name(&self, name: &str) -> bool {
        names(Some(&self.read.text), name)
    }

    /// Whether it says this word, other than as what is not wanted.
    pub(super) fn say_word(&self, text: &str) -> bool {
        self.read.words.iter().any(|word| !word.negated && word.text == text)
    }

    /// Whether it has this line as it stands.
    pub(super) fn has_line(&self, line: &str) -> bool {
        self.read.text.contains(fold(line).as_ref())
    }

    /// Whether it has such a word at all, wanted or not.
    pub(super) fn mentions(&self, stems: &'static str) -> bool {
        self.read.words.iter().any(|word| word.is(stems))
    }

    /// Whether it speaks of this word of a line, in any of its forms.
    pub(super) fn speaks_of_word(&self, word: &str) -> bool {
        let stem = |word: &str| -> String { word.chars().take(5).collect::<String>().trim_end_matches('s').to_owned() };
        // "Tar" begins "target" and "Tarnwick", and is in neither.
        let begins = |long: &str, short: &str| match stem(short) {
            short if short.len() > 3 => long.starts_with(&short),
            short => long.trim_end_matches('s') == short,
        };
        self.read.words.iter().any(|said| {
            said.text.len() > 2
                && !has(wanted::ENGLISH, &said.text)
                && (begins(&said.text, word) || begins(word, &said.text))
        })
    }

    /// Whether it names a branch by what most houses begin such names with.
    pub(super) fn names_a_branch(&self) -> bool {
        let kinds = "feature feat fix bugfix hotfix release chore docs topic";
        self.tokens().any(|token| token.split_once('/').is_some_and(|(kind, _)| has(kinds, kind)))
    }

    /// Whether this word stands right before this name.
    pub(super) fn says(&self, word: &str, name: &str) -> bool {
        let name = fold(name);
        let named = self.read.words.iter().filter(|said| said.token(&self.read.text) == name);
        let mut before = named.filter_map(|said| {
            let start = said.token.start;
            let before =
                words::before(&self.read.words, start).iter().rev().take_while(|w| w.sentence == said.sentence);
            before.map(|w| w.text.as_str()).find(|word| !has("the our origin remote branch", word))
        });
        before.any(|before| before == word)
    }

    /// Whether it names something that it is about: a path, an address, a record ("WO-755").
    fn names_anything(&self) -> bool {
        self.paths().next().is_some() || self.addresses().next().is_some() || self.names_a_record()
    }

    fn names_a_record(&self) -> bool {
        self.read.text.split(|c: char| c.is_whitespace() || "'\"`(),;:!?".contains(c)).any(|token| {
            let (name, number) = token.trim_end_matches('.').split_once('-').unwrap_or(("", ""));
            let letters = !name.is_empty() && name.len() <= 6 && name.chars().all(char::is_alphabetic);
            letters && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '-')
        })
    }

    /// Whether it has a word for what a tool of this name works on: "update" alone is a word for too many tools.
    fn speak_of_object(&self, tool: &str) -> bool {
        let object = |word: &Word| !word.within && !has(PLAIN, &word.text) && by_name(tool, &word.text);
        self.read.words.iter().any(object)
    }

    /// Whether it is in the language that is read here, and says more than a few words.
    pub(super) fn is_read(&self) -> bool {
        self.read.words.len() > UNCLEAR && self.read.words.iter().any(|word| has(wanted::ENGLISH, &word.text))
    }

    /// Whether it has what a tool of this name does as words of its own: "write off" for `stock_write_off` and `stock_writeoff`, "end the
    /// tenancy" for `end_tenancy`.
    pub(super) fn say_all_of(&self, tool: &str) -> bool {
        let (_, act) = tool.split_once(['_', '-', '.']).unwrap_or(("", tool));
        let words = &self.read.words;
        let all = |order: &Word| {
            let mut parts = tool.split(['_', '-', '.']).filter(|part| *part != order.text).peekable();
            let said = |part: &str| words.iter().any(|w| w.sentence == order.sentence && w.text == part && !w.negated);
            parts.peek().is_some() && parts.all(said) && tool.split(['_', '-', '.']).any(|part| part == order.text)
        };
        let mut orders = words.iter().filter(|word| word.orders() && !word.within);
        (act.contains('_') && names(Some(&self.read.text), &act.replace('_', " ")))
            || orders.any(|order| all(order) || self.in_two_words(tool, order))
    }

    /// Whether it orders a letter to somebody: "write him", "write back"; not "write me a draft".
    fn writes_to_somebody(&self) -> bool {
        self.read.words.windows(2).any(|pair| {
            let [verb, whom] = pair else { return false };
            verb.orders()
                && verb.text.starts_with("writ")
                && has("him her them back to everybody everyone all", &whom.text)
        })
    }

    /// The same where it is not only to be looked at: "look at our stock".
    fn act_on_object(&self, tool: &str) -> bool {
        let words = &self.read.words;
        // "Find out whether lot 12 is registered": there it is only spoken of.
        let spoken_of = |word: &Word| word.subordinate && !word.is(ACTING) && !Kind::is_any(word);
        // "By mail" is how somebody hears of it.
        let way = |word: &Word| self.before(word.at).next().is_some_and(|before| has("by via per", before));
        let object = |word: &&Word| {
            !word.within && !spoken_of(word) && !has(PLAIN, &word.text) && by_name(tool, &word.text) && !way(word)
        };
        let looked_at = |object: &Word| {
            let verb = |w: &&Word| w.clause == object.clause && w.orders() && Kind::is_any(w);
            let mut orders = words.iter().filter(verb).peekable();
            orders.peek().is_some() && orders.all(|order| order.is(LOOKING))
        };
        words.iter().filter(object).any(|word| !looked_at(word))
    }

    /// Whether it orders that somebody may more or less than before.
    fn order_powers(&self) -> bool {
        let words = &self.read.words;
        // "Member M-0417" is somebody.
        let somebody = |word: &Word| {
            let next = words.iter().find(|next| next.at > word.at);
            next.is_some_and(|next| bans::is_name(next.token(&self.read.text)))
        };
        let governed =
            |word: &Word| word.is(GOVERNED) && !word.within && !word.negated && !word.subordinate && !somebody(word);
        let acts = |word: &Word| word.orders() && word.is(ACTING);
        // "GIS access as the wiki says, and a welcome mail": no verb, and nobody else who wants it.
        let bare = |word: &Word| {
            let mut beside = words.iter().filter(|w| w.clause == word.clause && w.at != word.at);
            let verb = |w: &Word| w.orders() && (w.is(ACTING) || Kind::is_any(w));
            beside
                .all(|w| !verb(w) && !has("asks asked wants wanted needs requests requested is are was were", &w.text))
        };
        self.order(GOVERNING)
            || words.iter().any(|word| {
                // "Put a note on it that access is given in person" orders a note.
                let reported =
                    |w: &Word| words.iter().any(|that| that.text == "that" && that.at > w.at && that.at < word.at);
                // "… is only ever given by the office": how it is.
                let passive = |w: &Word| {
                    let mut before =
                        words.iter().rev().filter(|other| other.at < w.at && other.clause == w.clause).take(3);
                    before.any(|other| has("is are was were be been being", &other.text))
                };
                // "Put what they want as a note on the member's record"
                let noted = |w: &Word| {
                    let mut beside = words.iter().filter(|other| other.clause == w.clause);
                    has("put leave write add make", &w.text)
                        && beside.any(|other| has("note comment remark line", &other.text))
                };
                let ordered =
                    |w: &Word| acts(w) && w.sentence == word.sentence && !reported(w) && !passive(w) && !noted(w);
                governed(word) && (words.iter().any(ordered) || bare(word))
            })
    }

    /// Whether it asks for the opposite of what a tool of this name does.
    pub(super) fn ask_for_opposite(&self, tool: &str) -> bool {
        let opposites = self.opposites.get_or_init(|| self.opposites());
        !opposites.is_empty() && parts(tool).any(|part| opposites.iter().any(|list| has(list, &part)))
    }

    /// Parts of the names of tools that do the opposite of what it says.
    fn opposites(&self) -> Vec<&'static str> {
        // "Leave" is said of many things.
        let meant = || {
            self.read.words.iter().filter(|word| !word.negated && !word.subordinate && !word.text.starts_with("leav"))
        };
        let says = |list: &str| meant().any(|word| has_stem(list, &word.text));
        let turned = OPPOSITES.iter().filter_map(|(one, other)| match (says(one), says(other)) {
            (true, false) => Some(*other),
            (false, true) => Some(*one),
            (true, true) | (false, false) => None,
        });
        turned.collect()
    }

    /// Whether it wants anything beyond being shown something.
    pub(super) fn want_more_than_a_look(&self) -> bool {
        self.asked != [Kind::Look]
    }

    /// Whether it wants something fetched and kept, and nothing else done: "get the stock feed and save it as data/feed.json".
    pub(super) fn only_fetches(&self) -> bool {
        const KEEPING: &str = "save store keep put drop write note copy list file record log ask answer build fetch get pull download tell send mail \
            report show let";
        let acts = |word: &&Word| word.orders() && (word.is(ACTING) || Kind::is_any(word)) && !word.is(LOOKING);
        let mut orders = self.read.words.iter().filter(acts);
        let fetches = self.read.words.iter().any(|word| {
            word.asks || (word.orders() && has("fetch get pull download save store keep grab", &word.text))
        });
        fetches && orders.all(|word| has(KEEPING, &word.text))
    }

    /// Whether it names this as something that is not there yet.
    pub(super) fn introduce(&self, name: &str) -> bool {
        let name = fold(name);
        let mut words = self.read.words.iter();
        let Some(found) = words.find(|word| word.token(&self.read.text) == name) else { return false };
        // "Call that gps-last"
        let mut before = self.before(found.at).filter(|word| !has("that it this them the", word));
        let (word, earlier) = (before.next().unwrap_or(""), before.next().unwrap_or(""));
        // "Final snapshot gps-last"; "snapshot staging-2" makes no staging-2.
        has("as named called call name new to into", word)
            || (has("snapshot backup copy", word) && has("final last fresh new a one first", earlier))
    }

    /// Whether it says what stands under this name: "under the key x: vans only after 22h", "x = 4".
    pub(super) fn gives_for(&self, key: &str) -> bool {
        let key = fold(key);
        let mut places = self.read.text.match_indices(key.as_ref());
        places.any(|(at, _)| {
            let after = self.read.text.get(at + key.len()..).unwrap_or("").trim_start_matches(['"', '\'', '`', '*']);
            let said = after.trim_start().strip_prefix([':', '=']).unwrap_or("");
            said.starts_with(char::is_whitespace) && said.trim().len() > 2
        })
    }

    /// The paths that it names, as it writes them; no addresses.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.tokens().filter(|token| token.contains('/') && !token.contains(['*', '@']) && !token.contains("://"))
    }

    /// The addresses that it names: host, and path.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tokens().filter_map(|token| {
            let bare = token.split_once("://").map_or(token, |(_, rest)| rest);
            let (host, path) = bare.split_once('/')?;
            let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/').trim_end_matches(".git");
            (host.contains('.') && !host.starts_with('.') && !path.is_empty()).then_some((host, path))
        })
    }

    /// Its words with the signs in them, as they stand between blanks.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &str> {
        self.read.tokens()
    }

    /// Where else it says what stands at these bytes.
    pub(super) fn again(&self, said: Range<usize>) -> impl Iterator<Item = usize> {
        let text = self.read.text.get(said.clone()).unwrap_or("");
        let places = self.read.text.match_indices(text).map(|(at, _)| at);
        places.filter(move |at| !text.is_empty() && *at != said.start)
    }

    /// Whether byte `at` lies in a question or a condition.
    pub(super) fn is_asked_at(&self, at: usize) -> bool {
        self.read.words.iter().rfind(|word| word.at <= at + 1).is_none_or(|word| word.subordinate)
    }

    /// The words before byte `at` of the goal, the last one first.
    pub(super) fn before(&self, at: usize) -> impl Iterator<Item = &str> {
        words::before(&self.read.words, at).iter().rev().map(|word| word.text.as_str())
    }
}

/// A name with a suffix.
pub(super) fn is_file_name(token: &str) -> bool {
    let suffix = |suffix: &str| suffix.starts_with(char::is_alphabetic) && suffix.len() <= 5;
    let hidden = token.strip_prefix('.').is_some_and(|name| name.len() > 2 && name.starts_with(char::is_alphabetic));
    hidden || token.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && suffix(end) && !stem.contains('@'))
}

/// Whether two tools of these names turn each other round.
pub(super) fn are_opposites(one: &str, other: &str) -> bool {
    let is = |tool: &str, list: &'static str| parts(tool).any(|part| has(list, &part));
    let undoes =
        |one: &str, other: &str| parts(other).any(|undo| parts(one).any(|part| undo.strip_prefix("un") == Some(&part)));
    OPPOSITES.iter().any(|(a, b)| (is(one, a) && is(other, b)) || (is(one, b) && is(other, a)))
        || undoes(one, other)
        || undoes(other, one)
}

/// The parts of a tool's name.
fn parts(tool: &str) -> impl Iterator<Item = String> {
    tool.split(['_', '-', '.']).filter(|part| part.len() >= 3).map(str::to_lowercase)
}

/// Whether a word of a goal is a part of a tool's name, in any of its forms.
fn by_name(tool: &str, word: &str) -> bool {
    parts(tool).any(|part| has_stem(&part, word))
}

/// Whether a word is one of the list, in any of its forms.
fn has_stem(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| {
        let stem = one.strip_suffix('e').unwrap_or(one);
        word.strip_prefix(stem)
            .is_some_and(|rest| has("e s es d ed ing ned ning ped ping ted ting", rest) || rest.is_empty())
    })
}

/// Whether the goal names the resource, its host, or the tool.
fn is_named(goal: &str, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let host = touch.endpoint.as_ref().map(|endpoint| endpoint.host.to_string()).unwrap_or_default();
    let named = |name: &str| names(Some(goal), name);
    named(&touch.name) || named(&host) || named(prepared.step.action.as_str())
}

/// Whether the goal names a package, whatever version of it is meant.
pub(super) fn names_package(goal: Option<&str>, package: &str) -> bool {
    // Under another's name, or from somewhere else: what comes is what stands behind the sign.
    if let Some((_, real)) = package.split_once("@npm:") {
        return names_package(goal, real);
    }
    if let Some((_, source)) = package.split_once('@').filter(|(_, source)| source.contains([':', '/'])) {
        let scoped = package.starts_with('@') && !source.contains(':');
        if !scoped {
            return names(goal, source);
        }
    }
    let bare = package.split(['=', '<', '>', '~', '!', '[', ';', ' ']).next().unwrap_or(package);
    let scoped = bare.starts_with('@');
    let name = match bare.get(1..).unwrap_or("").find('@') {
        Some(at) if scoped || at > 0 => bare.get(..=at).unwrap_or(bare),
        Some(_) | None => bare,
    };
    // An image of the maker of what it holds: "a PostGIS container" for `postgis/postgis:16-3.4`.
    let image = || {
        let (path, _) = package.split_once(':').filter(|(_, tag)| !tag.contains('/'))?;
        let (maker, image) = path.rsplit_once('/')?;
        (maker == image).then(|| names(goal, image))
    };
    names(goal, name) || names(goal, package) || image().unwrap_or(false)
}

/// Whether the goal names this address, channel or account, as a whole word.
pub(super) fn names(goal: Option<&str>, name: &str) -> bool {
    let Some(goal) = goal else { return false };
    let (goal, name) = (fold(goal), fold(name));
    if name.is_empty() {
        return false;
    }
    let part = |c: char| c.is_alphanumeric() || matches!(c, '@' | '-' | '_' | '#' | '+' | '%');
    goal.match_indices(name.as_ref()).any(|(at, found)| {
        let before = goal.get(..at).and_then(|s| s.chars().next_back());
        let mut after = goal.get(at + found.len()..).unwrap_or("").chars();
        // A full stop ends a sentence, or goes on with a longer name.
        let next = after.next();
        let longer = next.is_some_and(part) || (next == Some('.') && after.next().is_some_and(char::is_alphanumeric));
        !before.is_some_and(|c| part(c) || c == '.') && !longer
    })
}

#[cfg(test)]
mod tests {
    use countersign_plan::tool::Effect;

    use super::{REMOVAL, Wishes, names};

    /// What is not to be applied may be made.
    #[test]
    fn a_ban_on_applying_is_about_what_applies() {
        let bans = |goal: &str| Wishes::of(Some(goal)).bans;
        let applying = bans("Write the migration, but do not apply it");
        assert!(applying.iter().all(|ban| ban.things.iter().any(|thing| thing == "migrate")) && !applying.is_empty());
        assert!(bans("Write the script, but do not run it").iter().any(|ban| ban.things.is_empty()), "all that runs");
    }

    /// "Update" is a part of too many names.
    #[test]
    fn a_plain_word_asks_for_a_tool_only_beside_what_it_works_on() {
        let asks = |goal: &str, tool: &str, effect| Wishes::of(Some(goal)).ask_for(tool, effect);
        assert!(!asks("Update the readme for ann", "update_user_role", Effect::Admin));
        assert!(asks("Update the role of ann to editor", "update_user_role", Effect::Admin));
        assert!(!asks("Create a note about bob", "create_invoice_payment", Effect::Pay));
        assert!(asks("Create an invoice for bob", "create_invoice_payment", Effect::Pay));
        assert!(asks("Add bob to #sales", "channel_add_member", Effect::Admin), "members are what one adds");
        assert!(!asks("Add bob to the newsletter", "add_admin", Effect::Admin));
        assert!(asks("Cancel the order of bob", "cancel_subscription", Effect::Pay), "a word of its own");
    }

    #[test]
    fn an_image_is_named_by_what_its_own_maker_calls_it() {
        let named = |goal: &str, image: &str| super::names_package(Some(goal), image);
        assert!(named("Start a PostGIS container for the tests", "postgis/postgis:16-3.4"));
        assert!(!named("Start a PostGIS container for the tests", "somebody/postgis:16"), "of another maker");
        assert!(!named("Look at the file and install what it needs", "file:x.tgz"));
    }

    #[test]
    fn removal_is_asked_for_in_plain_words() {
        for goal in [
            "If it holds, and if so delete it",
            "Clean the build folder",
            "Please DELETE old.txt",
            "replace the logo",
            "Publish the site",
        ] {
            assert!(Wishes::of(Some(goal)).speak_of(REMOVAL), "{goal}");
        }
        for goal in
            ["Summarise notes", "do not delete anything", "Refactor without removing files", "", "Keep, never drop"]
        {
            assert!(!Wishes::of(Some(goal)).speak_of(REMOVAL), "{goal}");
        }
        assert!(!Wishes::of(None).speak_of(REMOVAL));
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(names(Some("Forward it to Tom@acme.example."), "tom@acme.example"));
        assert!(!names(Some("Forward it to tom@acme.example.evil.example"), "tom@acme.example"));
        assert!(!names(Some("Forward it to phantom@acme.example"), "tom@acme.example"));
        assert!(!names(Some("Forward it to x.tom@acme.example"), "tom@acme.example"));
        assert!(!names(Some("anything"), ""));
    }
}

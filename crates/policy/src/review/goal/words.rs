//! A goal as words: which of them ask, and which only describe, forbid or make a condition.
//!
//! A few English word stems and their places in a sentence, nothing more. A word asks where a person would give an order with it:
//! not after a negation, not in a question or condition, not as the name of a thing ("the report", "my order").

use std::ops::Range;

use super::turns;
use crate::lists;
use crate::paths::fold;

/// Words that turn the next ones round.
const NEGATIONS: &str = "not never don dont doesn without keep no nothing except avoid cannot cant nor";

/// Words after which a negation says the opposite: "do not forget to".
const TWICE: &str = "forget hesitate only just fail miss worry";

/// Words after which an act is forbidden.
const FORBIDDING: &str = "not never don doesn without avoid cannot nor";

/// Words that begin a question.
const QUESTIONS: &str = "why what how who which whose where do does is are did has have was were";

/// Words before what a sentence says.
const GREETING: &str = "hi hello hey hallo dear all team so ok okay well quick one question";

/// Words that begin a question, a condition or a description.
const SUBORDINATE: &str = "why what how who which when where whose whom whether if unless once because since";

/// Words before the name of a thing.
const BEFORE_NAMES: &str = "the a an this that these those my our your his her its their each every any some all last next new old \
    of s latest recent current in on from about with at into onto under within was were been had has have";

/// Words that end a short condition.
const VERBS: &str = "work succeed pass hold fit match agree succeeded held";

/// What something is when a condition holds.
pub(super) const STATES: &str = "same equal identical done there green fine ok okay good ready finished complete empty gone clean through \
    available valid right correct sound intact in safe confirmed approved pending waiting unpaid overdue expired missing broken open closed";

/// Words with which "that" is what was said before.
const BACK_TO: &str = "after before with upon by";

/// One word of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Letters and digits, case-folded.
    pub(super) text: String,
    /// The plain word for what several words mean together, of which this is the first.
    pub(super) means: Option<&'static str>,
    /// Where it stands.
    pub(super) at: usize,
    /// Where the whole name stands that it is a part of, with the signs in it.
    pub(super) token: Range<usize>,
    /// Which sentence it is in.
    pub(super) sentence: usize,
    /// Which part of a sentence it is in.
    pub(super) clause: usize,
    pub(super) negated: bool,
    /// Whether it is what is not to be done: a narrower negation.
    pub(super) forbidden: bool,
    pub(super) subordinate: bool,
    /// Whether it stands where the name of a thing does.
    pub(super) name: bool,
    /// Whether it is a part of a path, an address or a name with signs in it.
    pub(super) within: bool,
    /// Whether it begins a question: its answer is what is wanted.
    pub(super) asks: bool,
}

impl Word {
    /// The whole name that it is a part of, with the signs in it.
    pub(super) fn token<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.token.clone()).unwrap_or("")
    }

    /// Whether the word begins with one of the stems, which blanks separate.
    pub(super) fn is(&self, stems: &'static str) -> bool {
        // "Drop them a line" drops nothing.
        let told = || self.means == Some("tell") && self.text.starts_with("drop");
        (lists::begins(stems, &self.text) && !told()) || self.means.is_some_and(|word| lists::begins(stems, word))
    }

    /// Whether it is an order for any kind of thing.
    pub(super) fn orders_anything(&self) -> bool {
        self.orders() && super::kinds::Kind::ALL.iter().any(|kind| self.is(kind.stems()))
    }

    /// Whether it is an order.
    pub(super) const fn orders(&self) -> bool {
        !self.negated && !self.subordinate && !self.name
    }
}

/// Whether a list, separated by blanks, has the word.
pub(super) fn has(list: &'static str, word: &str) -> bool {
    lists::has(list, word)
}

/// A goal, read once for every question about it.
#[derive(Debug, Default)]
pub(super) struct Goal {
    /// Case-folded.
    pub(super) text: String,
    /// In order.
    pub(super) words: Vec<Word>,
    /// What it only speaks of.
    pub(super) withheld: Vec<Range<usize>>,
}

/// Words whose object is what somebody says, knows or decides.
const SAYING: &str = "said says say know knows told tell tells think thinks sure agreed agrees confirmed confirms decided decides believe believes \
    whether if that when";

impl Goal {
    pub(super) fn new(goal: &str) -> Self {
        let text = super::turns::plainer(fold(goal).into_owned());
        let mut words: Vec<Word> = Vec::new();
        let (mut end, mut sentence, mut clause, mut subordinate) = (0, 0, 0, false);
        let (mut negation, mut ban): (Option<usize>, Option<usize>) = (None, None);
        let (mut questions, mut opened) = (false, false);
        for (at, one) in split(&text) {
            let gap = text.get(end..at).unwrap_or("");
            end = at + one.len();
            let begins = words.is_empty() || ends_sentence(gap);
            let joins = matches!(one, "and" | "then" | "but" | "please" | "pls" | "plz" | "also" | "afterwards");
            sentence += usize::from(begins);
            // "Hi, can P-20 be erased?"
            let greeted =
                words.iter().rev().take_while(|word| word.sentence == sentence).all(|word| has(GREETING, &word.text));
            // "In settings.py, is debugging off?"
            let placed = !begins && opened && gap.contains(',');
            if begins {
                opened = has("in on at for with from about", one);
            }
            if begins || greeted || placed {
                let rest = text.get(at..).unwrap_or("");
                questions = (has(QUESTIONS, one) || asks_leave(rest)) && is_question(rest);
            }
            let asked = greeted && questions;
            if begins || joins || asked || gap.contains([',', '(', ')', '–', '—']) || gap.contains(" - ") {
                (clause, subordinate) = (clause + 1, questions);
            }
            if begins || gap.contains([',', '(', ')']) || matches!(one, "but" | "then") {
                ban = None;
            }
            // Who forbids one thing and goes on may mean the next one as well; "if that works without any error, delete it" is over with
            // its comma.
            let over = || {
                let from = negation.and_then(|from: usize| words.get(from)).is_some_and(|word| word.text == "without");
                let first = words.iter().find(|word| word.sentence == sentence);
                from && first.is_some_and(|word| has("if once when", &word.text))
            };
            if begins || matches!(one, "but" | "then") || (gap.contains(',') && over()) {
                negation = None;
            }
            let before = words.last();
            let previous = before.map_or("", |word| word.text.as_str());
            // "if you can" is a manner of asking.
            subordinate = subordinate && !(matches!(previous, "if" | "whether") && one == "you");
            // "If so, delete it": what follows is wanted then.
            let then = previous == "if" && matches!(one, "so" | "yes" | "ok" | "possible");
            // "Only when that worked delete it": the condition is over with its verb.
            let fourth = words.iter().rev().nth(2).is_some_and(|word| has("when if once", &word.text));
            let said = words.iter().rev().nth(1).is_some_and(|word| has("that this it", &word.text));
            let verb = !has("is are was were has have be been", previous) && super::has_stem(VERBS, previous);
            // "Once they are the same throw it away": nor does it go on after what something has to be.
            let stated = has(STATES, previous)
                && (words
                    .iter()
                    .rev()
                    .skip(1)
                    .take(3)
                    .any(|word| has("is are was were be re s its theyre", &word.text))
                    || words.iter().rev().nth(1).is_some_and(|word| has("when if once", &word.text)))
                && words
                    .iter()
                    .rev()
                    .take(6)
                    .any(|word| has("when if once where", &word.text) && word.clause == clause);
            // "When it really lists 212 the folder may go": what may be done has a subject of its own.
            // And not "let me know when you are sure the folder may go".
            let allowed = || {
                let mut back = words.iter().rev().skip(1);
                let article = back.next().is_some_and(|word| has("the that this", &word.text));
                let said = back.clone().next().is_some_and(|word| !has(SAYING, &word.text));
                let begins = back.position(|word| has(SUBORDINATE, &word.text)).is_some_and(|far| far > 2);
                let before = back.next().is_some_and(|word| word.clause == clause);
                article && said && begins && !before
            };
            let allowed = matches!(one, "may" | "can") && allowed();
            subordinate = subordinate && !(then || stated || allowed || (fourth && said && verb));
            // "I'll answer them myself", "Lucie will try it": who says who does it does not ask for it. "Will you" asks.
            subordinate |= matches!(one, "ll" | "will") && !begins && previous != "you";
            // "We may drop the disks next week": nor does it ask for it now.
            let later = || {
                let rest = text.get(end..).unwrap_or("");
                let sentence = rest.split(['.', '!', '?', ';']).next().unwrap_or(rest);
                split(sentence)
                    .any(|(_, word)| has("next later tomorrow soon perhaps eventually day future someday", word))
            };
            // "We may have to cancel it"
            let open = || {
                let rest = text.get(end..).unwrap_or("").trim_start();
                ["have to ", "need to ", "want to "].iter().any(|lead| rest.starts_with(lead))
            };
            subordinate |= matches!(one, "may" | "might") && has("we i they he she", previous) && (later() || open());
            // "Without removal, renaming or deletion"
            let listed = has("or nor", previous) && words.iter().rev().nth(1).is_some_and(|word| word.negated);
            // "I don't think you should purge it": all that follows is what somebody does not think.
            let doubted = |from: usize| {
                let mut near = words.get(from..).unwrap_or_default().iter().take(3);
                near.any(|word| has("think believe suppose feel reckon", &word.text) && word.clause == clause)
            };
            let negated = negation.is_some_and(|from| words.len() - from <= 3 || listed || doubted(from));
            // "When they agree - not before - throw it away"
            let when = previous == "not" && matches!(one, "before" | "earlier" | "sooner") && gap == " ";
            let dashed = when
                && text.get(end..).is_some_and(|s| s.starts_with(" -") || s.starts_with(" –") || s.starts_with(','));
            if dashed || (negated && has(TWICE, one)) {
                (negation, ban) = (None, None);
            }
            let so_was =
                |word: &Word| has("or nor and", &word.text) && words.iter().rev().nth(1).is_some_and(|w| w.forbidden);
            let forbidden = ban.is_some_and(|from| words.len() - from <= 2)
                || (ban.is_some() && before.is_some_and(so_was))
                || (previous == "no" && !begins);
            let looked_at = before.is_some_and(|word| {
                word.clause == clause && !word.name && !has(SUBORDINATE, &word.text) && word.is(super::LOOKING)
            });
            // Orders have no plural, and are no part of an address, a path or a name with signs in it.
            let plural = one.ends_with('s') && !one.ends_with("ss");
            let within = is_within_name(text.get(..at).unwrap_or(""), text.get(end..).unwrap_or(""));
            // "Only after that delete it": what follows is no thing.
            let back = previous == "that" && words.iter().rev().nth(1).is_some_and(|word| has(BACK_TO, &word.text));
            // "The 3.3.0 release page"
            let digits = |word: &&Word| word.text.bytes().all(|b| b.is_ascii_digit());
            let numbered = before.is_some_and(|word| digits(&word))
                && words.iter().rev().find(|word| !digits(word)).is_some_and(|w| has("the our this", &w.text));
            // "What is it running?"
            let going = one.ends_with("ing") && has("is are am", previous);
            // "How many in all? Tell Ann", "that said, send it": what stands before a mark leads to no name.
            let apart = begins || (gap.contains(',') && has("that this these those all said", previous));
            let led = has(BEFORE_NAMES, previous) && !back && !apart;
            let name = looked_at || plural || within || numbered || going || led;
            words.push(Word {
                text: plain_form(one).to_owned(),
                means: None,
                at,
                token: words
                    .last()
                    .map(|word| word.token.clone())
                    .filter(|token| at < token.end)
                    .unwrap_or_else(|| token_at(&text, at)),
                sentence,
                clause,
                negated,
                forbidden,
                subordinate,
                name,
                within,
                asks: begins && questions,
            });
            if has(NEGATIONS, one) {
                negation = Some(words.len() - 1);
            }
            if has(FORBIDDING, one) {
                ban = Some(words.len() - 1);
            }
            subordinate |= has(SUBORDINATE, one);
        }
        by_oneself(&mut words);
        nouns(&mut words, &text);
        turns::read(&mut words, &text);
        for word in &mut words {
            // What is quoted is a text, and orders nothing.
            word.name |= quoted(&text, word.at);
        }
        Self { text, words, withheld: Vec::new() }
    }

    /// Its words with the signs in them, as they stand between blanks.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &str> {
        self.text.split(is_apart).map(|token| token.trim_end_matches(['.', ':'])).filter(|token| !token.is_empty())
    }
}

/// "Commit only, I push myself on Monday": what somebody does himself is no order.
fn by_oneself(words: &mut [Word]) {
    for i in 0..words.len() {
        let Some(clause) =
            words.get(i).filter(|w| has("myself ourselves himself herself themselves", &w.text)).map(|w| w.clause)
        else {
            continue;
        };
        for word in words.iter_mut().take(i).rev().take_while(|word| word.clause == clause) {
            word.subordinate = true;
        }
    }
}

/// Verbs that are names of things as well.
const NOUNS: &str = "mail email message post note reply answer report order request invoice bill book booking case ticket issue release plan payout \
    record file run build job log list";

/// What is said of a thing right after its name.
const OF_THINGS: &str = "from of by about has had is was are were contains holds says said asks came mentions wants";

/// Marks those that are meant as names: "go through mail m-22", "a kind answer".
fn nouns(words: &mut [Word], text: &str) {
    for i in 0..words.len() {
        let Some(word) = words.get(i).filter(|word| has(NOUNS, &word.text)) else { continue };
        let before = i.checked_sub(1).and_then(|i| words.get(i)).filter(|before| before.clause == word.clause);
        // "Mail M-12 from the club has the dates"
        let told = || {
            let mut rest = words.iter().skip(i + 1).skip_while(|next| {
                next.token(text).contains(|c: char| c.is_ascii_digit()) && next.clause == word.clause
            });
            // "Answer m-22 from the club: yes"
            let verb = |next: &Word| has("answer reply", &word.text) && has("from of by about", &next.text);
            rest.next().is_some_and(|next| has(OF_THINGS, &next.text) && !verb(next) && next.clause == word.clause)
        };
        if before.is_none() && !told() {
            continue;
        }
        let asks = before.is_some_and(|word| has("please then and you to just also now or kindly", &word.text));
        let next = words.get(i + 1).map_or("", |next| next.token(text));
        let id = next.contains(|c: char| c.is_ascii_digit())
            && next.contains(char::is_alphabetic)
            && !next.contains(['@', '/', '.']);
        let article = i
            .checked_sub(2)
            .and_then(|i| words.get(i))
            .is_some_and(|two| has("a an", &two.text) && two.clause == word.clause);
        if !asks
            && (id || article)
            && let Some(word) = words.get_mut(i)
        {
            word.name = true;
        }
    }
}

/// How a text begins that is to be written as it stands.
pub(super) const DICTATION: [&str; 2] = [": \"", ": '"];

/// Whether a place lies in such a text.
pub(super) fn dictated(text: &str, at: usize) -> bool {
    DICTATION.iter().any(|begin| {
        let Some((_, inside)) = text.get(..at).and_then(|before| before.rsplit_once(begin)) else { return false };
        let rest = text.get(at - inside.len()..).unwrap_or("");
        let ends = |(i, _): &(usize, &str)| !rest.get(i + 1..).is_some_and(|s| s.starts_with(char::is_alphanumeric));
        rest.match_indices(begin.trim_start_matches(": ")).find(ends).is_some_and(|(end, _)| end > inside.len())
    })
}

/// Whether a place lies in a quoted text of more than one word.
pub(super) fn quoted(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or("");
    ['"', '\''].into_iter().any(|quote| {
        let opens = |(i, _): &(usize, &str)| before.get(..*i).is_none_or(|s| !s.ends_with(char::is_alphanumeric));
        let Some((open, _)) = before.match_indices(quote).rfind(opens) else { return false };
        let inside = text.get(open + 1..).unwrap_or("");
        let closes = |(i, _): &(usize, &str)| {
            !inside.get(i + 1..).is_some_and(|s| s.starts_with(char::is_alphanumeric))
                && inside.get(..*i).is_some_and(|s| !s.is_empty())
        };
        let close = inside.match_indices(quote).find(closes).map(|(i, _)| open + 1 + i);
        close.is_some_and(|close| close > at && text.get(open..close).is_some_and(|s| s.contains(' ')))
    })
}

/// Whether what stands between two words ends a sentence; a full stop inside of a name does not.
fn ends_sentence(gap: &str) -> bool {
    let within = gap.starts_with("://");
    gap.contains(['!', '?', ';', '\n'])
        || (gap.starts_with(['.', ':']) && gap.len() > 1 && !within)
        || gap.contains(". ")
}

/// Whether the sentence that begins here ends as a question.
fn is_question(rest: &str) -> bool {
    let end = rest.char_indices().find(|(at, c)| {
        let after = rest.get(at + c.len_utf8()..).and_then(|s| s.chars().next());
        matches!(c, '?' | '!' | '\n') || (*c == '.' && after.is_none_or(char::is_whitespace))
    });
    end.is_some_and(|(_, c)| c == '?')
}

/// Whether a sentence that begins here asks if something can be done: "can P-20 be erased?", and not "can you erase P-20?".
fn asks_leave(rest: &str) -> bool {
    let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let asks = words.next().is_some_and(|first| has("can could may should must shall", first));
    let mut later = words.take(12).peekable();
    asks && !later.peek().is_some_and(|next| has("you u", next))
        && later.clone().any(|word| word == "be")
        && !later.any(|word| word == "please")
}

/// Whether a word between these stands inside of a longer name.
fn is_within_name(before: &str, after: &str) -> bool {
    let mut next = after.chars();
    let goes_on = next.next().is_some_and(|c| "/_@.-".contains(c)) && next.next().is_some_and(char::is_alphanumeric);
    goes_on || before.ends_with(['/', '.', '@', '_', '#', '~', '-'])
}

/// What people write for a word in a hurry.
fn plain_form(word: &str) -> &str {
    if matches!(word, "pls" | "plz") { "please" } else { word }
}

fn split(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '&'));
    // "Pull the report & mail it"
    let parts = parts.flat_map(|part| part.split(if part == "&" { ' ' } else { '&' })).filter(|word| !word.is_empty());
    // A part of a text is where its bytes are.
    parts.map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, if word == "&" { "and" } else { word }))
}

/// The words before a byte of the goal.
pub(super) fn before(words: &[Word], at: usize) -> &[Word] {
    words.get(..words.partition_point(|word| word.at < at)).unwrap_or_default()
}

/// The words of one part of a sentence.
pub(super) fn of_clause(words: &[Word], clause: usize) -> &[Word] {
    let from = words.partition_point(|word| word.clause < clause);
    let to = words.partition_point(|word| word.clause <= clause);
    words.get(from..to).unwrap_or_default()
}

/// Where the whole name stands, with the signs in it, that has the word at `at`.
pub(super) fn token_at(text: &str, at: usize) -> Range<usize> {
    let start = text
        .get(..at)
        .and_then(|s| s.rfind(is_apart))
        .map_or(0, |i| i + text.get(i..).and_then(|s| s.chars().next()).map_or(1, char::len_utf8));
    let end = text.get(at..).and_then(|s| s.find(is_apart)).map_or(text.len(), |i| at + i);
    start..start + text.get(start..end).unwrap_or("").trim_end_matches(['.', ':']).len()
}

/// Whether a sign stands between words and is no part of a name.
fn is_apart(c: char) -> bool {
    c.is_whitespace() || "'\"`(),;!?".contains(c)
}

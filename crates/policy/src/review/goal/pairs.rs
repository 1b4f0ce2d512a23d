//! Which of its values a goal says together: of "A goes to 3, B to 5" nobody has asked for A to go to 5, and of "it is at 5, put it to 3"
//! nobody for 5.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};
use serde_json::Value;

use super::fields::Counted;
use super::together::{COPULAS, prefix};
use super::wanted::ENGLISH;
use super::words::{self, Word, has};
use super::{ACTING, Kind, LOOKING, REMOVAL, TELLING, Wishes, bans, by_name, is_file_name, order, parts};
use crate::effects::{By, Touch};
use crate::flow::{is_switch, switches};
use crate::lists::{MONEY, are_synonyms};
use crate::paths::fold;
use crate::review::prepare::Prepared;

/// Words with which a value is said of all that were named.
const SHARED: &str = "respectively";

/// Words before a figure that something is compared with.
const COMPARING: &str = "above below over under than least most";

/// What a token is by its form: only what is of one form can be taken for one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Email,
    Channel,
    Address,
    Path,
    Record(String),
    Version,
    Number,
    Money,
    Name,
}

/// The form of a token that has one.
pub(super) fn form(token: &str) -> Option<Form> {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    Some(match token {
        _ if token.contains("://") => Form::Address,
        _ if token.starts_with('#') => Form::Channel,
        _ if token.contains('@') => Form::Email,
        _ if number(token).is_some() => Form::Number,
        _ if digits(token.trim_start_matches('v')) => Form::Version,
        _ if has(MONEY, token) => Form::Money,
        // A day belongs to no act alone.
        _ if token.starts_with(|c: char| c.is_ascii_digit()) && token.contains(['-', ':']) => return None,
        _ if prefix(token).is_some() => Form::Record(prefix(token)?.to_owned()),
        _ if token.contains('/') || is_file_name(token) => Form::Path,
        _ if order::is_own_name(token) || (token.contains('.') && token.contains(char::is_alphabetic)) => Form::Name,
        _ => return None,
    })
}

pub(super) fn number(token: &str) -> Option<f64> {
    let digits = token.trim_matches(['%', '€', '$', '£']);
    digits.starts_with(|c: char| c.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// What a value of this form may be called by.
fn called(of: Option<&Form>, what: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::from([spelled(of, what).into_owned()]);
    match of {
        Some(Form::Email) => {
            let (name, _) = what.split_once('@').unwrap_or((what, ""));
            names.extend([name, name.split('.').next().unwrap_or(name)].map(str::to_owned));
        }
        Some(Form::Path) => {
            let ends = what.match_indices('/').filter_map(|(at, _)| what.get(at + 1..));
            names.extend(ends.filter(|end| form(end) == Some(Form::Path)).map(str::to_owned));
        }
        Some(Form::Record(_)) => {
            names.extend(what.split_once('-').map(|(_, number)| number.to_owned()).filter(|number| number.len() > 2));
        }
        Some(Form::Number) => {}
        _ if what.len() > 3 => {
            names.insert(format!("{what}s"));
        }
        _ => {}
    }
    names
}

/// A word of the goal as a name of a value of this form.
fn spelled<'t>(of: Option<&Form>, token: &'t str) -> Cow<'t, str> {
    match (of, number(token)) {
        (Some(Form::Number), Some(number)) => number.to_string().into(),
        (Some(Form::Path), _) => token.trim_start_matches("./").trim_end_matches('/').into(),
        _ => token.into(),
    }
}

/// Where the goal says a value of a step, and where others that could stand in its place.
#[derive(Debug, Default)]
struct Said {
    what: String,
    /// The argument that it stands in.
    field: String,
    form: Option<Form>,
    own: Vec<usize>,
    others: Vec<usize>,
}

/// What a step sets or acts on where the goal says it of something else, or only as how things are.
pub(in crate::review) fn mixed_up(prepared: &Prepared<'_>) -> Option<Reason> {
    let removes = |touch: &Touch| touch.effect == Effect::Delete && touch.by == By::Command;
    let acts = |touch: &Touch| (touch.by == By::Tool && !touch.effect.is_harmless()) || removes(touch);
    let goal = &prepared.goal;
    if !prepared.derived.touches.iter().any(acts) || goal.read.words.iter().any(|word| has(SHARED, &word.text)) {
        return None;
    }
    let mut said: Vec<Said> = Vec::new();
    let schema = prepared.tool.map(|tool| &tool.definition().args);
    for (field, value) in prepared.given.as_object().into_iter().flatten() {
        let schema = schema.and_then(|schema| schema.pointer(&format!("/properties/{field}"))).unwrap_or(&Value::Null);
        let list = std::slice::from_ref(value);
        let items = value.as_array().map_or(list, Vec::as_slice);
        said.extend(items.iter().filter_map(|item| goal.said(field, item, schema)));
    }
    for touch in prepared.derived.touches.iter().filter(|touch| removes(touch)) {
        said.extend(goal.said("", &Value::String(touch.name.clone()), &Value::Null));
    }
    for one in &said {
        // "Move 60 from A to B; if it fails they go back to A": where things are taken from is said as it is.
        if goal.only_tells(one) && !has("from source src origin", &one.field) {
            let message = format!("the goal only says how things are with {}, and wants another one set", one.what);
            return Some(Reason::ask(Code::GoalUnasked, message).fix("take the value that is to be set"));
        }
    }
    let led = |fields: &'static str, leads: &'static str| {
        let first = |one: &Said| one.own.first().and_then(|at| goal.before(*at).next());
        said.iter().find(|one| has(fields, &one.field) && first(one).is_some_and(|lead| has(leads, lead)))
    };
    if let Some((from, to)) =
        led("from source src origin", "to into onto").zip(led("to destination dest target", "from"))
    {
        let message = format!("the goal takes things from {} to {}, and not the other way", to.what, from.what);
        return Some(Reason::ask(Code::GoalUnasked, message).fix("take them the way that the goal says"));
    }
    // What stands for another argument of the step is none that could stand in this one's place.
    let own: Vec<usize> = said.iter().flat_map(|said| said.own.iter().copied()).collect();
    for one in &mut said {
        one.others.retain(|at| !own.contains(at));
    }
    said.extend(goal.act(prepared));
    let pairs = said.iter().enumerate().flat_map(|(i, one)| said.iter().skip(i + 1).map(move |other| (one, other)));
    let mut pairs =
        pairs.filter(|(one, other)| one.field != other.field && (one.form != other.form || one.form.is_none()));
    // What an act is called is told apart from others only beside a record.
    let act = |said: &Said| said.field == " ";
    let of_record = |said: &Said| matches!(said.form, Some(Form::Record(_)));
    let (one, other) = pairs.find(|(one, other)| {
        (!act(one) || of_record(other)) && (!act(other) || of_record(one)) && goal.says_apart(one, other)
    })?;
    let message = format!("the goal says {} of another one than {}", other.what, one.what);
    Some(Reason::ask(Code::GoalUnasked, message).fix("take together what the goal says together"))
}

impl Wishes {
    /// The figures that it gives, other than as how something is or was.
    pub(in crate::review) fn figures(&self) -> &[String] {
        self.figures.get_or_init(|| {
            let given = self.tokens().filter_map(|token| Some((token, number(token)?)));
            given.filter(|(token, _)| !self.only_tells_figure(token)).map(|(_, number)| number.to_string()).collect()
        })
    }

    /// Whether it says this figure only of how something is or was.
    pub(in crate::review) fn tells_figure(&self, figure: &str) -> bool {
        let is = |token: &&str| number(token).is_some_and(|number| number.to_string() == figure);
        let mut said = self.tokens().filter(is).peekable();
        said.peek().is_some() && said.all(|token| self.only_tells_figure(token))
    }

    /// Whether it counts this figure in money.
    pub(in crate::review) fn is_money(&self, figure: &str) -> bool {
        let start = self.read.text.as_ptr() as usize;
        let is = |token: &&str| number(token).is_some_and(|number| number.to_string() == figure);
        let money = |token: &str| self.counted(token.as_ptr() as usize - start) == Some(Counted::Money);
        self.tokens().filter(is).any(money)
    }

    fn only_tells_figure(&self, token: &str) -> bool {
        let at = token.as_ptr() as usize - self.read.text.as_ptr() as usize;
        // "It has 4 now", "the bill says 220", "and not 0.31"
        self.is_told_of(at)
            || self.before(at).next().is_some_and(|before| has("has have had says said shows not", before))
    }

    /// The records that it says with a number each: "BW12-3 = 418.2", "RG-311 (300 EUR)", "30 seats of C-2274".
    pub(in crate::review) fn numbered_records(&self) -> Vec<(String, String)> {
        let tokens: Vec<&str> = self.tokens().collect();
        let figure = |at: Option<usize>| at.and_then(|at| tokens.get(at)).and_then(|token| number(token));
        let of = |i: usize| {
            let token = *tokens.get(i).filter(|token| prefix(token).is_some() || bans::is_name(token))?;
            let before = |n: usize| i.checked_sub(n);
            let led = before(1).and_then(|at| tokens.get(at)).is_some_and(|lead| has("of for on from to", lead));
            let counted = || figure(before(2)).or_else(|| figure(before(3))).filter(|_| led);
            let linked = tokens.get(i + 1).is_some_and(|link| has("= is was at to gets", link));
            let number = counted().or_else(|| figure(Some(i + 1 + usize::from(linked))))?;
            Some((token.to_owned(), number.to_string()))
        };
        (0..tokens.len()).filter_map(of).collect()
    }

    /// Its words with the signs in them: where each stands, and of which form it is.
    fn formed(&self) -> &[(Range<usize>, Option<Form>)] {
        let start = self.read.text.as_ptr() as usize;
        let at = |token: &str| token.as_ptr() as usize - start;
        self.formed.get_or_init(|| self.tokens().map(|t| (at(t)..at(t) + t.len(), form(t))).collect())
    }

    /// Where it says this value, and others of its form.
    fn said(&self, field: &str, value: &Value, schema: &Value) -> Option<Said> {
        let text = &self.read.text;
        let what = value.as_str().map_or_else(|| value.to_string(), |text| fold(text.trim()).into_owned());
        let mut said = Said { what, field: field.to_owned(), ..Said::default() };
        let what = said.what.as_str();
        if let Value::Bool(set) = value {
            let at = |on: bool| switches(text, on).into_iter().map(|range| range.start).collect();
            (said.own, said.others) = (at(*set), at(!set));
            return Some(said).filter(|said| is_switch(field) && !said.own.is_empty());
        }
        if what.contains(' ') {
            (said.own, said.others) = self.said_in_words(what);
            return Some(said).filter(|said| !said.own.is_empty());
        }
        said.form = if value.is_number() { Some(Form::Number) } else { form(what) };
        if said.form.is_none() && what.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let own = called(said.form.as_ref(), what);
        let is = |names: &BTreeSet<String>, token: &str| names.contains(spelled(said.form.as_ref(), token).as_ref());
        let tokens = || self.formed().iter().filter_map(|(at, form)| Some((at.start, text.get(at.clone())?, form)));
        said.own = tokens().filter(|(_, token, _)| is(&own, token)).map(|(at, ..)| at).collect();
        let first = *said.own.first()?;
        let options = schema.get("enum").or_else(|| schema.get("items")?.get("enum")).and_then(Value::as_array);
        // "To ben", "to lena": what follows the same word.
        let place = self.before(first).next().filter(|word| has("to by as at for in on", word)).unwrap_or("");
        let options = options.map(|options| {
            let options = options.iter().filter_map(Value::as_str);
            options.flat_map(|option| called(said.form.as_ref(), &fold(option))).collect::<BTreeSet<_>>()
        });
        let alike = |at: usize, token: &str, form: &Option<Form>| match (&options, &said.form) {
            // "No jobs on it" sets nothing to on.
            (Some(options), _) => !has(ENGLISH, token) && is(options, token),
            (None, Some(Form::Number)) => {
                let counted = self.counted(at);
                number(token).is_some() && counted.is_some() && counted == self.counted(first)
            }
            (None, Some(own)) => form.as_ref() == Some(own),
            (None, None) => {
                let plain = token.chars().all(char::is_alphabetic) && !has(ENGLISH, token);
                plain && !place.is_empty() && self.before(at).next() == Some(place)
            }
        };
        let rest = || tokens().filter(|(at, ..)| said.own.binary_search(at).is_err());
        let others = rest().filter(|(at, token, form)| alike(*at, token, form));
        let others: BTreeSet<String> = others.flat_map(|(_, token, _)| called(said.form.as_ref(), token)).collect();
        said.others = rest().filter(|(_, token, _)| is(&others, token)).map(|(at, ..)| at).collect();
        Some(said)
    }

    /// The same for a value of several words: others are quoted as it is, or made of signs and digits as it is.
    fn said_in_words(&self, what: &str) -> (Vec<usize>, Vec<usize>) {
        let text = &self.read.text;
        let own: Vec<usize> = text.match_indices(what).map(|(at, _)| at).collect();
        let mut others = Vec::new();
        let quote =
            own.first().and_then(|at| text.get(..*at)?.chars().next_back()).filter(|c| matches!(c, '\'' | '"' | '`'));
        if let Some(quote) = quote {
            let opens = |at: usize| text.get(..at).is_none_or(|s| !s.ends_with(char::is_alphanumeric));
            others = text.match_indices(quote).filter(|(at, _)| opens(*at)).map(|(at, _)| at + 1).collect();
        } else if !what.contains(char::is_alphabetic) {
            let starts =
                text.match_indices(' ').map(|(at, _)| at + 1).chain(text.match_indices('(').map(|(at, _)| at + 1));
            let parts = what.split(' ').count();
            let signs = |at: &usize| {
                let mut rest = text.get(*at..).unwrap_or("").split([' ', ')', ';', ',']).take(parts);
                let first = text
                    .get(..at.saturating_sub(1))
                    .is_none_or(|s| !s.ends_with(|c: char| c.is_ascii_digit() || c == '*'));
                first && rest.all(|part| !part.is_empty() && !part.contains(char::is_alphabetic))
            };
            others = starts.filter(signs).collect();
        }
        others.retain(|at| !own.contains(at));
        (own, others)
    }

    /// Where it orders what the step does, and where something else.
    fn act(&self, prepared: &Prepared<'_>) -> Option<Said> {
        let action = prepared.step.action.as_str();
        let effect = |effect: Effect| prepared.derived.touches.iter().any(|t| t.effect == effect && t.seen().is_some());
        let own = |word: &Word| {
            by_name(action, &word.text)
                || word.means.is_some_and(|means| by_name(action, means))
                || parts(action).any(|part| are_synonyms(&part, &word.text))
                || (effect(Effect::Delete) && word.is(REMOVAL))
                || (prepared.derived.touches.iter().any(|t| t.effect == Effect::Send) && word.is(TELLING))
        };
        let orders = self.read.words.iter().filter(|word| self.is_order(word));
        let (own, others): (Vec<&Word>, Vec<&Word>) = orders.partition(|word| own(word));
        let at = |words: Vec<&Word>| words.into_iter().map(|word| word.at).collect::<Vec<_>>();
        let said =
            Said { what: format!("`{action}`"), field: " ".to_owned(), form: None, own: at(own), others: at(others) };
        (!said.own.is_empty()).then_some(said)
    }

    /// Whether a word orders more than a look.
    fn is_order(&self, word: &Word) -> bool {
        word.orders() && self.is_order_by_form(word)
    }

    /// The same of a word that may stand in a condition.
    fn is_order_by_form(&self, word: &Word) -> bool {
        !word.within && !word.is(LOOKING) && (word.is(ACTING) || Kind::is_any(word))
    }

    /// Whether it says the two apart from one another, and each of them together with another one of the other's form.
    fn says_apart(&self, one: &Said, other: &Said) -> bool {
        if one.others.is_empty() || other.others.is_empty() {
            return false;
        }
        let of = |said: &Said, first: bool| {
            let own = said.own.iter().map(|at| (*at, first, true)).collect::<Vec<_>>();
            own.into_iter().chain(said.others.iter().map(move |at| (*at, first, false)).collect::<Vec<_>>())
        };
        let mut places: Vec<(usize, bool, bool)> = of(one, true).chain(of(other, false)).collect();
        places.sort_unstable();
        let groups = self.groups(&places);
        let has =
            |group: &[(usize, bool, bool)], first: bool, own: bool| group.iter().any(|p| (p.1, p.2) == (first, own));
        let pairs = |first: bool| groups.iter().any(|g| has(g, first, true) && has(g, !first, false));
        !groups.iter().any(|group| has(group, true, true) && has(group, false, true)) && pairs(true) && pairs(false)
    }

    /// The places in groups of what is said together: up to the end of a sentence or to the next order, or to where the first of them
    /// comes again.
    fn groups(&self, places: &[(usize, bool, bool)]) -> Vec<Vec<(usize, bool, bool)>> {
        let apart = |from: usize, to: usize| {
            let gap = self.read.text.get(from..to).unwrap_or("");
            [". ", "! ", "? ", "; ", "\n"].iter().any(|end| gap.contains(end))
        };
        // Another order begins, where the one before it is complete: not in "8.2.1 goes to test".
        let ordered = |from: usize, to: usize| {
            let listed = |word: &Word| places.binary_search_by_key(&word.at, |place| place.0).is_ok();
            let between = words::before(&self.read.words, to).iter().rev().take_while(|word| word.at > from);
            between.into_iter().any(|word| !listed(word) && self.is_order(word))
        };
        let parts = places.chunk_by(|a, b| !apart(a.0, b.0));
        let both = |group: &[(usize, bool, bool)]| group.iter().any(|p| p.1) && group.iter().any(|p| !p.1);
        let mut groups: Vec<Vec<(usize, bool, bool)>> = Vec::new();
        for part in parts {
            let joins = groups.last().is_some_and(|last| !both(last)) && !both(part);
            for (i, place) in part.iter().enumerate() {
                let again = |group: &Vec<(usize, bool, bool)>| {
                    let last = group.last();
                    let turns = group.first().is_some_and(|f| f.1 == place.1) && last.is_some_and(|l| l.1 != place.1);
                    both(group) && (turns || last.is_some_and(|last| ordered(last.0, place.0)))
                };
                match groups.last_mut() {
                    Some(group) if (i > 0 || joins) && !again(group) => group.push(*place),
                    _ => groups.push(vec![*place]),
                }
            }
        }
        groups
    }

    /// Whether it says a value only as how things are, were or are not to be, and another one of its form as what is to be.
    fn only_tells(&self, said: &Said) -> bool {
        let counted = matches!(said.form, Some(Form::Number | Form::Version));
        // A sentence is what somebody is told, and no state.
        let sentence = said.what.contains(char::is_whitespace);
        let listed = said.form.is_none() && !sentence && !said.others.is_empty() && !has("status state", &said.field);
        let told = |at: &usize| if counted { self.is_told_of(*at) } else { self.is_told_in(*at) };
        (counted || listed) && said.own.iter().all(told) && !said.others.iter().all(told)
    }

    /// Whether a figure is what something has, had or is compared with: "it is at 5 percent", "of the 199", "from 30 to 45".
    fn is_told_of(&self, at: usize) -> bool {
        let filling = |word: &&str| has("at still now currently only about the", word);
        let last = self.before(at).find(|word| !filling(word)).unwrap_or("");
        let next = self.before(at).next().unwrap_or("");
        let whole = next == "the" && last == "of";
        let is = last == "is" && has("at still now currently only", next);
        let changed = last == "from"
            && self.changes().iter().any(|(from, _)| from.as_ptr() as usize == self.read.text.as_ptr() as usize + at);
        let compared =
            has(COMPARING, last) && self.read.words.iter().any(|word| has("if when once unless", &word.text));
        whole || is || changed || compared || has("was were", last) || self.is_in_condition(at)
    }

    /// Whether a place is in a part of a sentence that orders nothing and says how something is.
    fn is_told_in(&self, at: usize) -> bool {
        let words = &self.read.words;
        let Some(place) = words.iter().find(|word| word.at >= at) else { return false };
        // "She is an admin", and not "it is ready for staging".
        let said = self
            .before(at)
            .filter(|word| !has("a an the at in on still now", word))
            .take(1)
            .any(|word| has(COPULAS, word));
        // "It must stay enabled": the state itself orders nothing.
        let tells = |within: &[&Word]| {
            let any = |list: &'static str| within.iter().any(|w| has(list, &w.text));
            let orders =
                |but: &'static str| within.iter().any(|w| w.at != at && self.is_order(w) && !has(but, &w.text));
            let stays = any("stay stays keep keeps remain remains leave") && !orders("keep leave");
            let wants =
                orders("") || any("put should must shall need needs want wants please be become becomes gets goes to");
            stays || (!wants && said)
        };
        let clause: Vec<&Word> = words.iter().filter(|word| word.clause == place.clause).collect();
        let sentence: Vec<&Word> = words.iter().filter(|word| word.sentence == place.sentence).collect();
        let from = self.before(at).next() == Some("from");
        from || tells(&clause) || tells(&sentence) || self.is_in_condition(at)
    }

    /// Whether a place is in a condition, or in what is to be done where something goes wrong.
    fn is_in_condition(&self, at: usize) -> bool {
        let words = &self.read.words;
        let Some(place) = words.iter().find(|word| word.at >= at) else { return false };
        let near = || words.iter().filter(|w| w.sentence == place.sentence);
        let here = |list: &'static str| near().any(|w| has(list, &w.text));
        // "If it goes wrong go back to 4.18.2"
        let back = || {
            near()
                .zip(near().skip(1))
                .any(|(verb, back)| back.text == "back" && has("go fall put roll set get", &verb.text))
        };
        // "If it came back refund order 40501": the order stands in the condition's clause.
        let ordered = |w: &Word| w.clause == place.clause && w.at < place.at && self.is_order_by_form(w);
        let subordinate = place.subordinate && !words.iter().any(ordered);
        subordinate || (here("if should otherwise") && (back() || here("revert undo rollback")))
    }
}

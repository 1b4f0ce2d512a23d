//! For which argument a goal says a value: "dam MH-2201, sire MH-1140", "4 nodes for 6 hours", "18.90 EUR for order 66071".

use countersign_plan::verdict::{Code, Reason};
use serde_json::Value;

use super::Wishes;
use super::pairs::{Form, form, number};
use super::wanted::ENGLISH;
use super::words::{self, Word, has};
use crate::paths::fold;
use crate::review::prepare::Prepared;

/// Parts of an argument's name for what is counted in money.
const MONEY: &str = "amount price total cost costs sum gross net fee fees eur usd gbp chf nok sek dkk euro euros deposit salary wage budget \
    limit cap insured estimate low high bid value refund payout rate";

/// Parts of an argument's name for what is counted in pieces or in time.
const COUNTS: &str = "seats seat quantity qty count copies pieces units hours minutes days weeks nodes percent boxes cases items times runs bottles";

/// Parts of a name for what only has a number.
const NUMBERED: &str = "centre center code account id no nr number order card invoice ref";

/// Words that a number does not belong to.
const LOOSE: &str = "so then it that was were now only just about all not no is are be has have than up down off out over under and or but";

/// Parts of an argument's name that say nothing.
const GENERAL: &str =
    "id no nr num number name new old key ref type kind from to by at in on for of and the per max min date day text";

/// Words between an argument's name and its value.
const BETWEEN: &str = "is to be has have must =";

/// The most steps of one tool whose arguments are looked through.
const MAX_ALIKE: usize = 64;

/// What a number is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted<'g> {
    Money,
    In(&'g str),
}

/// A value that the goal says for another argument than a step has it in.
pub(in crate::review) fn for_another(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let prepared = steps.get(i)?;
    let goal = &prepared.goal;
    let alike = |step: &&Prepared<'_>| step.step.action == prepared.step.action;
    let alone = steps.iter().filter(alike).count() == 1;
    // The names of what the same tool is given elsewhere, where one is asked for: of so many steps at most.
    let names = || steps.iter().filter(alike).take(MAX_ALIKE).flat_map(fields).map(|(name, _)| name).collect();
    let own = fields(prepared);
    let (name, value, meant) = own.iter().find_map(|(name, value)| {
        let meant = goal.named_otherwise(name, value, &names, alone).or_else(|| goal.counted_otherwise(name, value))?;
        Some((name, value, meant))
    })?;
    let message = format!("{value} would be the {name}, and the goal says {meant}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("give each argument the value that the goal says for it"))
}

/// The arguments of a step that are one word or number, each with its name.
fn fields(step: &Prepared<'_>) -> Vec<(String, String)> {
    let Some(given) = step.given.as_object() else { return Vec::new() };
    // `{"field": "moisture", "value": 14.2}`: the name stands beside the value.
    let beside = |name: &str| {
        let named = ["field", "setting", "parameter", "property", "column"];
        let said = named.iter().find_map(|key| given.get(*key)?.as_str());
        fold(if has("value to new", name) { said.unwrap_or(name) } else { name }).into_owned()
    };
    let all = given.iter().chain(given.values().filter_map(Value::as_object).flatten());
    all.filter_map(|(name, value)| Some((beside(name), plain(value)?))).collect()
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().contains(char::is_whitespace) => Some(fold(text.trim()).into_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The parts of an argument's name that say something.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 2 && !has(GENERAL, part))
}

fn is_same(one: &str, other: &str) -> bool {
    one == other || (number(one).is_some() && number(one) == number(other))
}

impl Wishes {
    /// What stands where the name of an argument does, if that is not this value and this value stands where something else is named.
    fn named_otherwise(&self, name: &str, value: &str, names: &dyn Fn() -> Vec<String>, alone: bool) -> Option<String> {
        let own = form(value)?;
        if !matches!(own, Form::Number | Form::Record(_) | Form::Version) {
            return None;
        }
        let said = |part: &str| self.said_for(part, &own);
        let meant: Vec<String> = parts(name).flat_map(said).collect();
        if meant.is_empty() || meant.iter().any(|one| is_same(one, value)) {
            return None;
        }
        let names = names();
        let others = names.iter().flat_map(|name| parts(name)).filter(|other| !parts(name).any(|part| part == *other));
        let elsewhere = others.into_iter().flat_map(|other| self.said_for(other, &own)).any(|one| is_same(&one, value));
        let counted = || {
            let mut places = self.places(value).peekable();
            let other = |at| matches!(self.counted(at), Some(Counted::In(unit)) if !parts(name).any(|part| are_alike(part, unit)));
            places.peek().is_some() && places.all(other)
        };
        (elsewhere || (alone && own == Form::Number && counted())).then(|| meant.join(", "))
    }

    /// A number that the goal counts in money where the argument counts none, or the other way round.
    fn counted_otherwise(&self, name: &str, value: &str) -> Option<String> {
        let whole = number(value)?.fract() == 0.0;
        let any = |list: &'static str| name.split(|c: char| !c.is_alphanumeric()).any(|part| has(list, part));
        let money = any(MONEY);
        // "18.40 for gaffer tape" is no number of a thing.
        if any(NUMBERED) || (money && !whole) || (!money && !any(COUNTS)) {
            return None;
        }
        let own: Vec<Option<Counted<'_>>> = self.places(value).map(|at| self.counted(at)).collect();
        let fits = |counted: &Option<Counted<'_>>| counted.is_none_or(|counted| (counted == Counted::Money) == money);
        if own.is_empty() || own.iter().any(fits) {
            return None;
        }
        let numbers = self.tokens().filter(|token| number(token).is_some() && !is_same(token, value));
        let start = self.read.text.as_ptr() as usize;
        let is_money = |token: &&str| self.counted(token.as_ptr() as usize - start) == Some(Counted::Money);
        let mut others = numbers.filter(|token| is_money(token) == money);
        others.next().map(str::to_owned)
    }

    /// The values of this form that stand beside a word: "dam MH-2201", "moisture has to be 14.2", "4 nodes".
    fn said_for(&self, part: &str, of: &Form) -> Vec<String> {
        let (words, text) = (&self.read.words, &self.read.text);
        let fits = |token: &str| form(token).as_ref() == Some(of);
        let named = words.iter().enumerate().filter(|(_, word)| !word.within && are_alike(part, &word.text));
        let beside = |(i, word): (usize, &Word)| {
            let near = |w: &&Word| w.sentence == word.sentence;
            let mut rest = words.iter().skip(i + 1).take_while(near).take(4).skip_while(|w| has(BETWEEN, &w.text));
            let behind = rest.next().map(|w| w.token(text));
            // "4 nodes": what follows a number is what it counts.
            let before = i.checked_sub(1).and_then(|i| words.get(i)).filter(|w| w.clause == word.clause);
            let before = before.map(|w| w.token(text)).filter(|token| *of == Form::Number && fits(token));
            [before, behind.filter(|token| fits(token))].into_iter().flatten().map(str::to_owned)
        };
        named.flat_map(beside).collect()
    }

    /// Where it says a value.
    fn places(&self, value: &str) -> impl Iterator<Item = usize> {
        let start = self.read.text.as_ptr() as usize;
        self.tokens().filter(move |token| is_same(token, value)).map(move |token| token.as_ptr() as usize - start)
    }

    /// What the number at this place counts, if the goal says that.
    pub(super) fn counted(&self, at: usize) -> Option<Counted<'_>> {
        let here = words::token_at(&self.read.text, at);
        let value = self.read.text.get(here.clone())?;
        if value.contains(['€', '$', '£']) {
            return Some(Counted::Money);
        }
        let words = &self.read.words;
        let i = words.iter().position(|word| word.at >= at)?;
        let own = |word: &&Word| words.get(i).is_some_and(|place| place.clause == word.clause);
        let after = words.iter().skip(i).find(|word| word.token != here).filter(own);
        let before = i.checked_sub(1).and_then(|i| words.get(i)).filter(own);
        let money = |word: Option<&Word>| word.is_some_and(|word| has(crate::lists::MONEY, &word.text));
        if money(after) || money(before) {
            return Some(Counted::Money);
        }
        let counts = |word: &&Word| {
            // "Order 66071" is called by its number, "order 40" is ordered.
            let called = word.text == "order" && value.len() > 3;
            let plain = word.text.len() > 2 && word.text.chars().all(char::is_alphabetic);
            let plain = plain && (called || !word.orders_anything());
            (plain || word.text == "%") && !has(ENGLISH, &word.text) && !has(LOOSE, &word.text)
        };
        after.filter(counts).or(before.filter(counts)).map(|word| Counted::In(&word.text))
    }
}

/// Whether a word of the goal is this part of a name, in the singular or plural.
fn are_alike(part: &str, word: &str) -> bool {
    let bare = |text: &str| text.strip_suffix('s').filter(|bare| bare.len() > 2).unwrap_or(text).to_owned();
    bare(part) == bare(word)
}

//! What a goal leaves out of what it asks for: "everything except audit.log", "all issues but LK-9", "in #a, not in #b".

use super::bans::{self, Act, Ban, is_name};
use super::words::{Goal, Word, has};

/// Words that lead to whom or where a message is for.
const LEADING: &str = "in on at to into onto for with via through";

/// What stands behind the name of a channel where it is said why a message goes there.
const FITTING: &str = "the where waiting interested to also next fine ok okay right enough good better asking";

/// Where the things begin that word `i` makes an exception of.
fn begins(words: &[Word], i: usize) -> Option<usize> {
    let text = |i: usize| words.get(i).map_or("", |word| word.text.as_str());
    let clause = words.get(i).map(|word| word.clause);
    let before = |list: &'static str| {
        let mut before = words.iter().take(i).rev().take_while(|word| Some(word.clause) == clause);
        before.any(|word| has(list, &word.text))
    };
    let from = match (text(i), text(i + 1)) {
        ("except" | "besides" | "excluding", "for")
        | ("other", "than")
        | ("apart" | "aside", "from")
        | ("exception", "of") => i + 2,
        ("except" | "besides" | "excluding", _) => i + 1,
        ("but", "not") => i + 2,
        // "All issues but LK-9": "but" begins a clause of its own.
        ("but", _) => {
            let sentence = words.get(i).map(|word| word.sentence);
            let before = words.iter().take(i).rev().take(6).take_while(|word| Some(word.sentence) == sentence);
            // "Everything is green but web-2 is down" says how it is.
            let mut all = before.take_while(|word| !has("is are was were has have had", &word.text));
            let all = all.any(|word| has("all every everything everybody everyone any each", &word.text));
            let skipped = words.iter().skip(i + 1).take_while(|word| has("the our my file folder", &word.text)).count();
            let thing = words.get(i + 1 + skipped).is_some_and(|word| word.within || is_name(&word.text));
            return (all && thing).then_some(i + 1 + skipped);
        }
        _ => return None,
    };
    // "Change nothing except X" is an order for X.
    (!before("nothing nobody nowhere none no not don never")).then_some(from)
}

/// The receivers that stand from word `from` on: "in #general or #support".
fn receivers(goal: &Goal, from: usize) -> Vec<String> {
    let sentence = goal.words.get(from).map(|word| word.sentence);
    let mut found: Vec<String> = Vec::new();
    for word in goal.words.iter().skip(from).take_while(|word| Some(word.sentence) == sentence) {
        match word.token(&goal.text) {
            name if is_receiver(name) => {
                found.extend((found.last().map(String::as_str) != Some(name)).then(|| name.to_owned()))
            }
            _ if has(LEADING, &word.text) || has("and or nor the", &word.text) => {}
            _ => break,
        }
    }
    found
}

fn is_receiver(token: &str) -> bool {
    token.starts_with('#') || token.contains('@')
}

/// The bans that begin with word `i`.
pub(super) fn at(goal: &Goal, i: usize) -> Vec<Ban> {
    let words = &goal.words;
    let Some(word) = words.get(i).filter(|word| !word.within && !super::words::quoted(&goal.text, word.at)) else {
        return Vec::new();
    };
    let mut bans = Vec::new();
    let from = begins(words, i);
    let out = word.text == "of" && i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|word| word.text == "out");
    if from.is_some() || out || (has("not without skip avoid nothing", &word.text) && !word.subordinate) {
        let named = receivers(goal, from.unwrap_or(i + 1));
        bans.extend((!named.is_empty()).then(|| Ban::on(Act::Tell, named)));
    }
    bans.extend(only_described(goal, i).map(|name| Ban::on(Act::Tell, vec![name])));
    if let Some(from) = from {
        // "Other than plans.csv can be deleted": the sentence goes on behind what is left out.
        let goes_on = |word: &Word| has("can may could should must will is are has have stays stay", &word.text);
        let end = words.iter().skip(from).position(goes_on).map_or(words.len(), |end| from + end);
        let things = bans::things(goal, words.get(..end).unwrap_or(words), from);
        let things: Vec<String> = things.into_iter().filter(|thing| !is_receiver(thing)).collect();
        // Whatever is done to all, it is done to this one as little.
        let names: Vec<String> = things.iter().filter(|thing| is_name(thing)).cloned().collect();
        bans.extend((!names.is_empty()).then(|| Ban::on(Act::Change, names)));
        bans.extend((!things.is_empty()).then(|| Ban::on(Act::Remove, things)));
    }
    bans
}

/// "Post it in #incidents. #general is too loud for that": a receiver of which it is only said how it is, where another one is addressed.
fn only_described(goal: &Goal, i: usize) -> Option<String> {
    let words = &goal.words;
    let verb = words.get(i).filter(|word| has("is are was", &word.text))?;
    let name = words.get(i.checked_sub(1)?)?.token(&goal.text);
    let fits = words.get(i + 1).is_none_or(|next| next.sentence != verb.sentence || has(FITTING, &next.text));
    if fits || !is_receiver(name) {
        return None;
    }
    let addressed = |own: bool| {
        words.windows(2).any(|pair| {
            let [lead, word] = pair else { return false };
            let named = word.token(&goal.text);
            is_receiver(named) && (named == name) == own && lead.sentence == word.sentence && has(LEADING, &lead.text)
        })
    };
    // Nor is anybody told anything: "put it into notes.md (#general is closed today)".
    let tells = || words.iter().any(|word| word.orders() && word.is(super::TELLING));
    ((addressed(false) || !tells()) && !addressed(true)).then(|| name.to_owned())
}

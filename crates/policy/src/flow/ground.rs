//! Grounding: which words of the planner are the user's own (FLOW.md, propagation rule 1).
//!
//! A literal is grounded where the goal or an input says it: equal after normalising case, numbers and dates. What merely looks
//! like it is not: a bare number names no id, part of a longer name names nothing, a date needs all of its parts.

use std::borrow::Cow;
use std::ops::Range;

use countersign_plan::id::Reference;
use countersign_plan::pointer::Pointer;
use countersign_plan::resolve::Inputs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hours;
use super::moments::{Day, Moment, in_words, read_days, read_durations, read_numbers, read_times, words};
use super::switches::{by_verb, is_switch, switched_off, switched_on};
use super::told::told;
use crate::identities;
use crate::lists;
use crate::paths::fold;

/// Where a literal comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ground {
    /// Bytes of the case-folded goal.
    Goal {
        /// The first byte.
        from: usize,
        /// One past the last.
        to: usize,
    },
    /// An input of this name.
    Input {
        /// The name.
        name: Reference,
    },
}

impl From<Range<usize>> for Ground {
    fn from(range: Range<usize>) -> Self {
        Self::Goal { from: range.start, to: range.end }
    }
}

/// The digits from which on a number is no date, time or count but the name of something.
const LONG_NUMBER: usize = 5;

/// Words before a number that is a time, an amount or a count.
const NOT_THINGS: &str = "from until till since before after than about around only just exactly least most over under year years for pay \
    pays send book raise lower reduce increase set with and per every next last jan feb mar apr may jun jul aug sep oct nov dec january \
    february march april june july august september october november december eur usd gbp euro euros spring summer autumn winter end";

/// Lengths of an appointment whose end nobody states, in minutes.
const USUAL: [i64; 2] = [30, 60];

/// Arguments that hold how much.
const AMOUNTS: [&str; 17] = [
    "value",
    "amount",
    "limit",
    "level",
    "size",
    "count",
    "threshold",
    "days",
    "hours",
    "minutes",
    "percent",
    "price",
    "quantity",
    "qty",
    "max",
    "min",
    "replicas",
];

/// How much of a word is the same in all its forms.
const STEM: usize = 6;

/// States that do not begin as the verb does by which people ask for them: "put it on hold" for `held`.
const IRREGULAR: &[(&str, &str)] = &[
    ("held", "hold"),
    ("sent", "send"),
    ("paid", "pay"),
    ("frozen", "freeze"),
    ("sold", "sell"),
    ("lost", "lose"),
    ("kept", "keep"),
    ("left", "leave"),
    ("done", "do"),
    ("gone", "go"),
    ("broken", "break"),
    ("begun", "begin"),
    ("bound", "bind"),
    ("bought", "buy"),
    ("caught", "catch"),
    ("found", "find"),
    ("won", "win"),
];

/// The verb that people ask for a state by, where it does not begin as the state does.
pub(super) fn verb_of(state: &str) -> Option<&'static str> {
    IRREGULAR.iter().find(|(known, _)| *known == state).map(|(_, verb)| *verb)
}

/// Other words by which a goal says one of a schema's: "put her into the group", "he gets a seat".
pub(super) fn turns_of(option: &str) -> &'static [&'static str] {
    match option {
        "add" => &["put", "joins"],
        "give" | "grant" | "assign" => &["gets"],
        _ => &[],
    }
}

/// How people write a currency (ISO 4217).
pub(super) fn currency_of(code: &str) -> &'static [&'static str] {
    match code {
        "EUR" => &["euros", "euro", "€"],
        "GBP" => &["pounds", "quid", "sterling", "£"],
        "USD" => &["dollars", "$"],
        "CHF" => &["francs", "franken"],
        _ => &[],
    }
}

/// The verbs that give a state to what they are said of, where the field is that for states.
pub(super) fn setting(field: &str) -> &'static [&'static str] {
    match field {
        "status" | "state" => &["set", "mark", "put", "move", "change"],
        _ => &[],
    }
}

/// Everything that the user said, read once.
#[derive(Debug, Default)]
pub struct Grounds<'a> {
    goal: String,
    inputs: Option<&'a Inputs>,
    days: Vec<(Day, Range<usize>)>,
    /// Minutes after midnight.
    times: Vec<(i64, Range<usize>)>,
    /// Minutes.
    durations: Vec<i64>,
    numbers: Vec<(f64, Range<usize>)>,
}

/// A literal in its place.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// Where it stands in the arguments.
    pub at: &'a Pointer,
    /// The value.
    pub value: &'a Value,
    /// The schema of the argument that it stands in, or null.
    pub schema: &'a Value,
    /// All arguments, as far as they are literals.
    pub args: &'a Value,
    /// The name of the tool.
    pub tool: &'a str,
    /// Whether it is only carried and decides nothing.
    pub carried: bool,
}

impl<'a> Grounds<'a> {
    /// Reads the goal and the inputs.
    #[must_use]
    pub fn new(goal: Option<&str>, inputs: &'a Inputs) -> Self {
        let goal = fold(goal.unwrap_or("")).into_owned();
        let words = words(&goal);
        let (days, mut times) = (read_days(&goal, &words), read_times(&goal, &words));
        let mut numbers = read_numbers(&goal, &days, &times);
        times.extend(hours::read(&goal, &words));
        numbers.extend(words.iter().filter_map(|(range, word)| Some((in_words(word)?, range.clone()))));
        let durations = read_durations(&words);
        Self { inputs: Some(inputs), days, times, durations, numbers, goal }
    }

    /// Where the user said this literal, if he did.
    #[must_use]
    pub fn of(&self, said: Said<'_>) -> Option<Ground> {
        let input = self.inputs.into_iter().flatten().find(|(_, given)| given_as(given, said.value));
        if let Some((name, _)) = input {
            return Some(Ground::Input { name: name.clone() });
        }
        let name = said.at.segments().iter().rev().find(|s| s.parse::<usize>().is_err()).map_or("", String::as_str);
        match said.value {
            Value::Bool(set) => self.flag(name, *set, said.tool).map(Into::into),
            Value::Number(number) if !is_id(name) => {
                let named = || self.numbered(name, &number.to_string());
                self.number(number.as_f64()?).or_else(named).map(Into::into)
            }
            Value::Number(number) => {
                let number = number.to_string();
                self.numbered(name, &number).or_else(|| self.by_number(&fold(name), &number)).map(Into::into)
            }
            Value::String(text) => self.text(name, text, said).map(Into::into),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// A number by which people call one of many things: "#812", "PR 97".
    fn numbered(&self, name: &str, number: &str) -> Option<Range<usize>> {
        const THINGS: &str =
            "pr mr pull request issue ticket thread page case order invoice bill job run build number no";
        let sharp = find_whole(&self.goal, &format!("#{number}")).map(|range| range.start + 1..range.end);
        sharp.or_else(|| {
            let range = find_whole(&self.goal, number)?;
            let before = self.goal.get(..range.start)?.trim_end().trim_end_matches('.');
            let word = before.rsplit(|c: char| !c.is_alphanumeric()).next()?;
            // "Thread 56110", for an argument of that name.
            let own = word.len() > 2 && name.split(['_', '-']).any(|part| part == word);
            (own || THINGS.split(' ').any(|thing| thing == word)).then_some(range)
        })
    }

    fn text(&self, name: &str, text: &str, said: Said<'_>) -> Option<Range<usize>> {
        let text = text.trim();
        // Nothing is said nowhere.
        if text.is_empty() {
            return None;
        }
        if let Some(moment) = Moment::read(text) {
            return self.moment(moment).or_else(|| self.end(name, moment, said)).or_else(|| self.named(text));
        }
        // A small number is a day, an hour or a count as well as a name; a long one is one thing.
        let number = text.chars().all(|c| c.is_numeric() || c.is_whitespace());
        // What is set to a number, and not called by one.
        if number && name.split(['_', '-']).any(|part| AMOUNTS.contains(&fold(part).as_ref())) {
            return self.number(text.parse().ok()?);
        }
        // "Category G" for `category`.
        if text.chars().count() < 2 {
            return self.called(name, text);
        }
        if number && text.chars().filter(|c| c.is_numeric()).count() < LONG_NUMBER {
            return self.called(name, text);
        }
        // "Please no outage" says what it is not to be.
        let wanted =
            |range: &Range<usize>| !self.goal.get(..range.start).is_some_and(|before| before.ends_with(" no "));
        let named = self.named(text).filter(wanted);
        let named = named.or_else(|| self.option(text, said.schema).filter(wanted)).or_else(|| self.state(name, text));
        let named = named.or_else(|| self.field(name, text, said.args));
        // A text that is only passed on may say a part of what the user said.
        named.or_else(|| (said.carried && told(&self.goal, name, text)).then_some(0..self.goal.len()))
    }

    /// `out_of_service`, which people write in words.
    fn state(&self, name: &str, text: &str) -> Option<Range<usize>> {
        if name == "currency" {
            return self.currency(text);
        }
        let state = matches!(name, "state" | "status" | "mode" | "level" | "priority" | "kind" | "type");
        let text = fold(text);
        let worded = text.contains('_') && text.chars().all(|c| c.is_alphabetic() || c == '_');
        (state && worded).then(|| {
            find_whole(&self.goal, &text.replace('_', " ")).or_else(|| find_whole(&self.goal, &text.replace('_', "-")))
        })?
    }

    /// A currency by its sign or its name.
    fn currency(&self, code: &str) -> Option<Range<usize>> {
        currency_of(code).iter().find_map(|name| match name.starts_with(char::is_alphabetic) {
            true => find_whole(&self.goal, name),
            // "A$" and "C$" are signs of others.
            false => self.goal.match_indices(name).map(|(at, sign)| at..at + sign.len()).find(|range| {
                let before = self.goal.get(..range.start).unwrap_or("");
                before.ends_with("us") || !before.ends_with(char::is_alphabetic)
            }),
        })
    }

    /// The field that a value is for, by the words that its name is made of: "completion on 9 December" for `completion_date`; "set it to
    /// closed" for a `status`.
    fn field(&self, name: &str, text: &str, args: &Value) -> Option<Range<usize>> {
        if !matches!(name, "field" | "column" | "attribute" | "property") {
            return None;
        }
        let words = words(&self.goal);
        let text = fold(text);
        let sets = setting(&text);
        if !sets.is_empty() {
            let value = fold(args.get("value")?.as_str()?);
            let (range, _) = words.iter().find(|(_, word)| sets.contains(word))?;
            return find_whole(&self.goal, &value).and(Some(range.clone()));
        }
        let parts = text.split(['_', '-', ' ']).filter(|part| !lists::has("date time name id number no the of", part));
        let mut said = None;
        for part in parts {
            let stem: String = part.chars().take(STEM).collect();
            let (range, _) = words.iter().find(|(_, word)| stem.len() > 2 && word.starts_with(&stem))?;
            said = said.or(Some(range.clone()));
        }
        said
    }

    /// A short number or a letter that the goal gives with the name of its argument: "ticket 5620" for `ticket`.
    fn called(&self, name: &str, text: &str) -> Option<Range<usize>> {
        let text = fold(text);
        let mut parts = name.split(['_', '-']).filter(|_| text.chars().count() < 2);
        let letter = parts.find_map(|part| find_whole(&self.goal, &format!("{} {text}", fold(part))));
        if text.chars().count() < 2 {
            return letter.map(|range| range.end - text.len()..range.end);
        }
        let range = find_whole(&self.goal, &text)?;
        // "118 has been inspected": the only number there is.
        let only = self
            .goal
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
            .count()
            == 1;
        if only && text.len() > 2 && !name.contains("amount") {
            return Some(range);
        }
        let before = self.goal.get(..range.start)?.trim_end_matches([' ', '#', ':']);
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next()?;
        let name = fold(name);
        // "Tram 2088" is one of them, "pay 2088 EUR" and "by 2088" are none.
        let after = self.goal.get(range.end..)?.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let one = text.len() > 3
            && word.len() > 2
            && !lists::has(NOT_THINGS, word)
            && matches!(after, "" | "to" | "is" | "and" | "as" | "on" | "in");
        let called = one
            || word.len() > 2
                && name.split(['_', '-']).any(|part| part == word || word.strip_suffix('s') == Some(part));
        called.then_some(range).or_else(|| self.by_number(&name, &text))
    }

    /// A number of three digits or more, no year and no amount, by which the goal calls a thing: "1801, 1822 and 1840 are stale".
    fn by_number(&self, name: &str, number: &str) -> Option<Range<usize>> {
        let by_number = name.ends_with("no") || name.ends_with("number") || name.ends_with("ref") || is_id(name);
        let range = find_whole(&self.goal, number).filter(|_| by_number && number.len() > 2)?;
        let (before, after) = (self.goal.get(..range.start)?, self.goal.get(range.end..)?);
        let next = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let last = before.trim_end_matches(' ').rsplit(|c: char| !c.is_alphanumeric()).next()?;
        let many = next.len() > 3 && next.ends_with('s') && !matches!(next, "needs" | "gets" | "goes");
        let amount = many || lists::has("eur euro euros usd gbp percent days hours minutes pieces kg km", next);
        let year = ("1980"..="2039").contains(&number) && number.len() == 4;
        let named = !year || (before.ends_with('(') && after.starts_with(')')) || after.starts_with(':');
        (named && !amount && (matches!(last, "and" | "for") || !lists::has(NOT_THINGS, last))).then_some(range)
    }

    /// A name, address, path or URL that the goal names as a whole.
    pub(crate) fn named(&self, text: &str) -> Option<Range<usize>> {
        // Signs alone name nothing.
        if !text.contains(char::is_alphanumeric) {
            return None;
        }
        let text = with_single_blanks(fold(text));
        let whole = |name: &str| find_whole(&self.goal, name);
        if let Some(found) = whole(&text) {
            return Some(found);
        }
        // An account in the groups of four that it is printed in (ISO 13616).
        if text.len() > 14 && text.is_ascii() && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
            let groups: Vec<&str> =
                (0..text.len()).step_by(4).filter_map(|at| text.get(at..text.len().min(at + 4))).collect();
            return whole(&groups.join(" "));
        }
        // "Red cells", of which people say "8 red cell units".
        let one = text
            .strip_suffix('s')
            .filter(|one| one.contains(' ') && one.chars().all(|c| c.is_alphabetic() || c == ' '));
        if let Some(found) = one.and_then(whole) {
            return Some(found);
        }
        // "v3.3.0", of which people say "3.3.0".
        if let Some(version) =
            text.strip_prefix('v').filter(|rest| rest.contains('.') && !rest.contains(char::is_alphabetic))
        {
            return whole(version);
        }
        // "crew-2", of which people say "crew 2".
        if let Some((kind, number)) = text.split_once(['-', '_'])
            && kind.chars().all(char::is_alphabetic)
            && number.chars().all(|c| c.is_ascii_digit())
            && !(kind.is_empty() || number.is_empty())
        {
            return whole(&format!("{kind} {number}"));
        }
        // "imke@, jonas@ and rosa@house.example"
        if let Some((who, domain)) = text.split_once('@') {
            let found = whole(&format!("{who}@"))?;
            let mut shared = self.goal.get(found.end..)?.split('@').skip(1);
            let shared = shared.find(|after| after.starts_with(char::is_alphanumeric)).unwrap_or("");
            let rest = shared.strip_prefix(domain).map(|rest| rest.trim_start_matches(['.', '-']));
            let ends = rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            return ends.then_some(found);
        }
        if let Some(channel) = text.strip_prefix('#') {
            return whole(channel).or_else(|| whole(&channel.replace(['-', '_'], " ")));
        }
        if let Some((_, rest)) = text.split_once("://") {
            // An address with what it is asked for, each of which the goal says.
            if let Some((address, query)) = text.split_once('?').filter(|_| whole(&text).is_none()) {
                let pairs = || query.split('&').map(|pair| pair.split_once('='));
                let said = |pair: Option<(&str, &str)>| {
                    pair.is_some_and(|(name, value)| whole(name).is_some() && self.named(value).is_some())
                };
                return pairs().all(said).then(|| self.named(address)).flatten();
            }
            return whole(text.trim_end_matches('/')).or_else(|| whole(rest.trim_end_matches('/')));
        }
        if text.contains('@') {
            let mut found = identities::addresses(&text).ok()?.into_iter().map(|address| whole(&address));
            let first = found.next()??;
            return found.all(|other| other.is_some()).then_some(first);
        }
        // A file by its own name, where that says which kind of file it is.
        let (_, file) = text.rsplit_once('/')?;
        let (stem, kind) = file.rsplit_once('.')?;
        (stem.len() > 1 && !kind.is_empty()).then(|| whole(file)).flatten()
    }

    /// One of the words that the schema allows, which the goal says in some form (`reader`, "read").
    fn option(&self, text: &str, schema: &Value) -> Option<Range<usize>> {
        let listed = schema.get("enum")?.as_array()?.iter().any(|option| option.as_str() == Some(text));
        // Of `lamp_off` the lamp alone says nothing.
        let parts: Vec<&str> = text.split(['_', '-']).filter(|part| !part.is_empty()).collect();
        if parts.len() > 1 {
            let said = |part: &&str| find_whole(&self.goal, &fold(part));
            let all: Option<Vec<_>> = parts.iter().map(said).collect();
            return all.filter(|_| listed)?.into_iter().next();
        }
        let word = fold(text);
        // "She becomes a helper, the moderators vote on the rest": of two that are spoken of it is the one that is named.
        let names = |option: &Value| {
            option.as_str().is_some_and(|one| one != text && find_whole(&self.goal, &fold(one)).is_some())
        };
        let plural = find_whole(&self.goal, &word).is_none() && find_whole(&self.goal, &format!("{word}s")).is_some();
        if plural && schema.get("enum")?.as_array()?.iter().any(names) {
            return None;
        }
        let stem: String = word.chars().take(word.chars().count().saturating_sub(2).clamp(3, 4)).collect();
        let verb = verb_of(&word);
        // "Put him out of the group" adds nobody.
        let into = |end: usize| {
            let rest = self.goal.get(end..).unwrap_or("").split(['.', ';', '!', '?']).next().unwrap_or("");
            [" into ", " in ", " on "].iter().any(|to| rest.contains(to))
                && !rest.contains(" out ")
                && !rest.contains(" off ")
        };
        let turned = |w: &str, end: usize| turns_of(&word).contains(&w) && (w != "put" || into(end));
        let says = |range: &Range<usize>| {
            self.goal
                .get(range.clone())
                .is_some_and(|w| w.starts_with(&stem) || verb.is_some_and(|verb| w == verb) || turned(w, range.end))
        };
        listed.then(|| words(&self.goal).into_iter().map(|(range, _)| range).find(says))?
    }

    /// A switch that the goal names (`recurring`), or names as not wanted.
    fn flag(&self, name: &str, set: bool, tool: &str) -> Option<Range<usize>> {
        let name = fold(name);
        if is_switch(&name) && set {
            return switched_on(&self.goal, tool);
        }
        if let Some(off) = is_switch(&name).then(|| switched_off(&self.goal)).flatten() {
            return Some(off);
        }
        if let Some(said) = by_verb(&self.goal, &name, set) {
            return Some(said);
        }
        let longest = name.split(['_', '-']).max_by_key(|part| part.len())?;
        // "Pause it" for `paused`.
        let longest = longest.strip_suffix("ed").filter(|verb| verb.len() > 3).unwrap_or(longest);
        let stem: String = longest.chars().take(6).collect();
        let words = words(&self.goal);
        let (i, (range, _)) =
            words.iter().enumerate().find(|(_, (_, word))| stem.len() > 3 && word.starts_with(&stem))?;
        let mut before = words.iter().take(i).rev().take(3);
        let negated = before.any(|(_, word)| lists::has("no not without disable never don", word));
        (negated != set).then(|| range.clone())
    }

    fn number(&self, number: f64) -> Option<Range<usize>> {
        let same = |said: f64| (said - number).abs() < 1e-9;
        // "150 EUR and not the 190 they ask for"
        let denied = |range: &Range<usize>| {
            let before = self.goal.get(..range.start).unwrap_or("").trim_end();
            let before = before.strip_suffix(" the").unwrap_or(before);
            [" not", " instead of", " rather than"].iter().any(|word| before.ends_with(word))
        };
        self.numbers.iter().find(|(said, range)| same(*said) && !denied(range)).map(|(_, range)| range.clone())
    }

    fn moment(&self, moment: Moment) -> Option<Range<usize>> {
        let day = moment.day.map(|(year, month, day)| {
            let said = |said: &Day| said.month == month && said.day == day && said.year.is_none_or(|y| y == year);
            self.days.iter().find(|(d, _)| said(d)).map(|(_, range)| range.clone())
        });
        let time = moment.minute.map(|m| self.times.iter().find(|(t, _)| *t == m).map(|(_, range)| range.clone()));
        match (day, time) {
            (Some(day), Some(time)) => time.and(day),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => None,
        }
    }

    /// An end is grounded where its start is, and the stated or a usual length lies between them.
    fn end(&self, name: &str, end: Moment, said: Said<'_>) -> Option<Range<usize>> {
        let start = name.contains("end").then(|| name.replace("end", "start"))?;
        let mut place = said.at.segments().to_vec();
        *place.last_mut()? = start;
        let start = Moment::read(Pointer::from_segments(place).get(said.args)?.as_str()?.trim())?;
        let ground = self.moment(start)?;
        let length = end.absolute()? - start.absolute()?;
        let lengths: &[i64] = if self.durations.is_empty() { &USUAL } else { &self.durations };
        lengths.contains(&length).then_some(ground)
    }
}

/// Whether an argument of this name picks one thing out of many.
pub(crate) fn is_id(name: &str) -> bool {
    let name = fold(name);
    let name = name.trim_end_matches('_');
    name == "id" || name.ends_with("_id") || name.ends_with("-id") || name == "key" || name == "number"
}

/// A text with one blank between words, as most have anyway.
fn with_single_blanks(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut before = b' ';
    let single = text.bytes().all(|b| {
        let follows = b.is_ascii() && !(b'\t'..=b'\r').contains(&b) && !(b == b' ' && before == b' ');
        before = b;
        follows
    });
    if single && before != b' ' { text } else { text.split_whitespace().collect::<Vec<_>>().join(" ").into() }
}

/// The first place where `name` stands in `text` and is no part of a longer name. Both case-folded.
fn find_whole(text: &str, name: &str) -> Option<Range<usize>> {
    if name.is_empty() || name.len() > text.len() {
        return None;
    }
    let part = |c: char| c.is_alphanumeric() || "@-_#+%/~".contains(c);
    let mut places = text.match_indices(name);
    let (at, _) = places.find(|(at, _)| {
        let before = text.get(..*at).and_then(|s| s.chars().next_back());
        let mut after = text.get(at + name.len()..).unwrap_or("").chars();
        let next = after.next();
        // A full stop ends a sentence, or goes on with a longer name.
        let longer = next.is_some_and(part) || (next == Some('.') && after.next().is_some_and(char::is_alphanumeric));
        let dotted = before == Some('.') && !name.starts_with('.');
        !before.is_some_and(part) && !dotted && !longer
    })?;
    Some(at..at + name.len())
}

fn given_as(given: &Value, value: &Value) -> bool {
    match (given, value) {
        (Value::String(a), Value::String(b)) => fold(a.trim()) == fold(b.trim()) && !b.trim().is_empty(),
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(items), value) if !value.is_array() => items.iter().any(|item| given_as(item, value)),
        (Value::Object(members), value) if !value.is_object() => members.values().any(|item| given_as(item, value)),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests;

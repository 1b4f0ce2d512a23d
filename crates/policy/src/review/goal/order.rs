//! The order that the goal gives: "A, then B", "after A, B", "B once A is done". A plan that does B before A does another thing.
//!
//! A step belongs to the part of the goal that speaks of it more than any other does; steps that belong to none say nothing.

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Reason};

use super::words::Goal;
use super::{Kind, by_name};
use crate::effects::{By, Touch};
use crate::paths::fold;
use crate::review::prepare::Prepared;

/// The most parts of a goal that are compared.
const MAX_PARTS: usize = 8;

/// Words between an act and the one that comes after it.
const AND_THEN: [&str; 21] = [
    " then ",
    " afterwards ",
    " after that ",
    " after that, ",
    " finally ",
    " and only then ",
    " before ",
    " and only once ",
    " and only when ",
    " and only if ",
    " and only after ",
    " and once ",
    " and as soon as ",
    " and after ",
    " and when ",
    " by the time ",
    " and, when ",
    " and if ",
    " and, if ",
    " and, once ",
    " and, as soon as ",
];

/// Words between an act and the one that comes before it.
const BUT_FIRST: [&str; 5] = [" after ", " once ", " as soon as ", " when ", " if "];

/// Words with which a sentence says that what it asks for comes before what was said.
const FIRST: [&str; 7] =
    [". first ", ". beforehand ", ": first ", "; first ", ", but first ", " but first, ", " beforehand "];

/// The steps that come before what the goal wants done first.
pub(in crate::review) fn reversed(steps: &[Prepared<'_>]) -> Vec<Reason> {
    let Some(first) = steps.first() else { return Vec::new() };
    if steps.len() < 2 {
        return Vec::new();
    }
    let said = without_quotes(&first.goal.read.text).replace(" & ", " and ");
    let said: Vec<&str> = said.split(' ').filter(|word| !word.is_empty()).collect();
    let said = with_beforehand(&said.join(" "));
    let parts = parts(&said);
    if parts.len() < 2 {
        return Vec::new();
    }
    let parts: Vec<Goal> = parts.into_iter().map(Goal::new).collect();
    let mut begun: Vec<(usize, &Prepared<'_>)> = Vec::new();
    let mut reasons = Vec::new();
    for step in steps {
        // What is put on the list for a commit is no act of its own.
        if step.step.action.as_str() == "git" && step.list("args").first() == Some(&"add") {
            continue;
        }
        let Some(part) = belongs(&parts, step, steps) else { continue };
        // That a program runs which only looks is no act.
        let acts = |step: &Prepared<'_>| {
            let mut touches = step.derived.touches.iter();
            let acts = |t: &Touch| match t.effect {
                Effect::Execute => step.is_remote(),
                // A folder to put something into is made in advance.
                Effect::Create => t.kind != TargetKind::Directory,
                effect => !effect.is_harmless(),
            };
            runs(step) || touches.any(acts)
        };
        // A check that has its own word there is no part of what was done before it.
        let checks = |step: &Prepared<'_>| {
            !acts(step) && !step.is_remote() && step.derived.touches.iter().any(|touch| touch.effect == Effect::Execute)
        };
        if begun
            .iter()
            .any(|(seen, early)| *seen == part && (acts(early) || !acts(step)) && (!checks(step) || checks(early)))
        {
            continue;
        }
        if let Some((_, early)) = begun.iter().find(|(seen, early)| *seen > part && acts(early)) {
            let message = format!("`{}` comes after `{}`, and the goal wants it first", step.step.id, early.step.id);
            reasons.push(Reason::ask(Code::PlanOrder, message).at(&step.step.id).fix("do it in the order of the goal"));
        }
        begun.push((part, step));
    }
    reasons
}

/// A goal in which "before" at the end of an order is said in full: "make a backup before, and only go on if it is complete".
fn with_beforehand(goal: &str) -> String {
    const MAKING: &str = "make take create do run save export copy check read look ask get note write draw";
    let mut out = String::with_capacity(goal.len() + 16);
    for part in goal.split_inclusive([',', '.', ';', '!', '?']) {
        let (text, mark) = part
            .char_indices()
            .next_back()
            .filter(|(_, c)| !c.is_alphanumeric())
            .map_or((part, ""), |(at, _)| (part.get(..at).unwrap_or(part), part.get(at..).unwrap_or("")));
        let first = text.split_whitespace().find(|word| !super::has("please and then but first", word)).unwrap_or("");
        match text.strip_suffix(" before").filter(|_| super::has(MAKING, first)) {
            Some(order) => out.extend([order, " beforehand", mark]),
            None => out.push_str(part),
        }
    }
    out
}

/// A goal without the texts that it quotes: "commit it as 'Bump vite, then test'" says no order of acts.
fn without_quotes(goal: &str) -> String {
    let mut said = String::with_capacity(goal.len());
    let mut rest = goal;
    while let Some((at, quote)) = rest.char_indices().find(|(at, c)| {
        matches!(c, '\'' | '"' | '`') && rest.get(..*at).is_some_and(|s| !s.ends_with(char::is_alphanumeric))
    }) {
        let inside = rest.get(at + 1..).unwrap_or("");
        let last = rest.get(..at).and_then(|s| s.split_whitespace().next_back()).unwrap_or("");
        // A line that is to be run is an act.
        let runs = quote == '`' || super::has("run execute call start do then and first", last);
        let end = inside.find(quote).filter(|end| !runs && inside.get(..*end).is_some_and(|text| text.contains(' ')));
        let (kept, next) = match end {
            Some(end) => (at, at + end + 2),
            None => (at + 1, at + 1),
        };
        said.push_str(rest.get(..kept).unwrap_or(""));
        rest = rest.get(next..).unwrap_or("");
    }
    said.push_str(rest);
    said
}

fn runs(step: &Prepared<'_>) -> bool {
    // The hooks that git may start are not what the step is for.
    step.derived.touches.iter().any(|touch| super::is_started(touch) && !touch.name.contains("/.git/"))
}

/// The goal in the order of its acts.
fn parts<'a>(goal: &'a str) -> Vec<&'a str> {
    let cut = |text: &str, words: &[&'static str]| {
        let found = words.iter().filter_map(|word| text.find(word).map(|at| (at, word.len())));
        let found = found.filter(|(at, len)| !text.get(at + len..).is_some_and(is_time));
        // "Run the tests once, locally" is how often.
        let often = |at: usize, len: usize| {
            let next = text.get(at + len..).and_then(|rest| rest.split_whitespace().next()).unwrap_or("");
            text.get(at..at + len) == Some(" once ")
                && (next.ends_with("ly") || super::has("more again a per in on with and then only now", next))
        };
        // "Is it up? If so, do B", "do A and, if that is so, do B": the condition is about what stands before it.
        let follows = |at: usize, len: usize| {
            let before = text.get(..at).unwrap_or("").trim_end_matches(" only").trim_end();
            let next = text.get(at + len..).and_then(|rest| rest.split_whitespace().next()).unwrap_or("");
            let condition = matches!(text.get(at..at + len), Some(" if " | " once " | " when "));
            // "See if he is in the directory" asks whether.
            let last = before.rsplit(' ').next().unwrap_or("");
            let whether = text.get(at..at + len) == Some(" if ")
                && (super::has("see check look know tell ask find verify test say wonder out me", last)
                    || before.rsplit(' ').take(3).any(|word| word == "ask"));
            let said = before.ends_with(['.', '?', '!', ';', ':'])
                || before.ends_with(" and,")
                || super::has("yes so not ok green clean good fine okay", next.trim_end_matches(','));
            // "Hold four, if there are four, tell #stores": what comes then is another act.
            let rest = text.get(at + len..).and_then(|rest| rest.split(['.', ';', '!', '?']).next()).unwrap_or("");
            let then = before.ends_with(',') && rest.contains(", ");
            whether || (condition && (said || then))
        };
        // "If and only if" is one condition.
        let whole = |at: usize| text.get(..at).is_some_and(|before| before.ends_with(" if"));
        // "I will hand them over after checking who that is": nothing of the plan waits for that.
        let own = |at: usize| {
            let before = text.get(..at).unwrap_or("");
            let from = before.rfind([',', '.', ';', '!', '?', ':', '(']).map_or(0, |from| from + 1);
            let clause = before.get(from..).unwrap_or("");
            [" i will ", " i'll ", " we will ", " we'll ", " he will ", " she will ", " they will "]
                .iter()
                .any(|will| format!("{clause} ").starts_with(will))
        };
        // "Move it to F-09. Before you touch it, write down where it sits": that comes first.
        let leads = |at: usize, len: usize| {
            text.get(at..at + len) == Some(" before ")
                && text.get(..at).is_some_and(|s| s.ends_with(['.', '!', ';', ':']))
        };
        // "Back to 15 if it isn't 200 afterwards": what is looked at then.
        let afterwards = |at: usize, len: usize| {
            let before = text.get(..at).unwrap_or("");
            let before = before.rsplit([',', '.', ';', ':']).next().unwrap_or("");
            match text.get(at..at + len) {
                Some(" if ") => {
                    let rest = text.get(at + len..).unwrap_or("");
                    rest.split([',', ';']).next().unwrap_or("").trim_end_matches('.').ends_with(" afterwards")
                }
                Some(" afterwards ") => before.contains(" if "),
                _ => false,
            }
        };
        let found = found.filter(|(at, len)| {
            !afterwards(*at, *len)
                && !often(*at, *len)
                && !follows(*at, *len)
                && !whole(*at)
                && !own(*at)
                && !leads(*at, *len)
        });
        found.min_by_key(|(at, len)| (*at, std::cmp::Reverse(*len)))
    };
    let mut parts = Vec::new();
    let mut rest = goal;
    let next = |rest: &str| {
        let said = goal.len() - rest.len();
        let back = sentence_after(rest, goal.get(..said).unwrap_or(""));
        cut(rest, &AND_THEN).into_iter().chain(back).min_by_key(|(at, _)| *at)
    };
    while parts.len() < MAX_PARTS
        && let Some((at, len)) = next(rest)
    {
        parts.extend(rest.get(..at));
        rest = rest.get(at + len..).unwrap_or("");
    }
    let first = |part: &'a str| -> Option<[&'a str; 2]> {
        let before =
            [". before ", "! before ", "; before "].iter().find_map(|word| part.find(word).map(|at| (at, word.len())));
        if let Some((at, len)) = before
            && let Some(after) = part.get(at + len..)
        {
            // "Before that, please look it up; I need the number": what is said later in the sentence is not that.
            let act = match after.strip_prefix("that ") {
                Some(act) => act.split(", ").next().unwrap_or(act),
                None => after.split_once(", ").map_or(after, |(_, act)| act),
            };
            return Some([sentence(act), part.get(..at)?]);
        }
        let (at, len) = cut(part, &FIRST)?;
        Some([sentence(part.get(at + len..)?), part.get(..at)?])
    };
    parts = parts
        .into_iter()
        .flat_map(|part| turned(part).or_else(|| first(part)).map_or_else(|| vec![part], Vec::from))
        .collect();
    if let Some(pair) = turned(rest).or_else(|| rest.contains(" before ").then(|| first(rest)).flatten()) {
        parts.extend(pair);
        parts.retain(|part| !part.trim().is_empty());
        return parts;
    }
    // "Do B. Important: first do A".
    if let Some((at, len)) = cut(rest, &FIRST) {
        let (second, first) = (rest.get(..at).unwrap_or(""), sentence(rest.get(at + len..).unwrap_or("")));
        parts.extend([first, second]);
        parts.retain(|part| !part.trim().is_empty());
        return parts;
    }
    // "Do B after A"; with a comma, "after A, do B".
    let leading = ["after ", "once ", "when "].into_iter().find_map(|word| rest.strip_prefix(word));
    // "After 2024-05-01" is a time.
    let dated =
        |(at, len): &(usize, usize)| rest.get(at + len..).is_some_and(|s| s.starts_with(|c: char| c.is_ascii_digit()));
    match (leading.and_then(|rest| rest.split_once(", ")), cut(rest, &BUT_FIRST).filter(|found| !dated(found))) {
        (Some((first, second)), _) => parts.extend([first, second]),
        (None, Some((at, len))) => {
            // What the act waits for ends with its sentence; of what is said later nothing is known.
            let (said, second) = last_sentence(rest.get(..at).unwrap_or(""));
            // Of "A, and B once C is there" only B waits for C.
            let second = if len == " once ".len() && rest.get(at..at + len) == Some(" once ") {
                second.rsplit_once(", and ").map_or(second, |(_, last)| last)
            } else {
                second
            };
            parts.extend([said, condition(sentence(rest.get(at + len..).unwrap_or(""))), second]);
        }
        (None, None) => parts.push(rest),
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// A condition without the order that goes on after it: "if the record says so, and give me the url".
fn condition(text: &str) -> &str {
    let orders = |rest: &str| {
        let next = Goal::new(rest.get(..rest.len().min(64)).unwrap_or(rest));
        next.words.first().is_some_and(|word| word.orders_anything() || super::has("give let leave", &word.text))
    };
    let mut ends = text.match_indices(", and ").filter(|(at, and)| text.get(at + and.len()..).is_some_and(orders));
    ends.next().and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// Where a sentence begins that comes after what was said before it: "Save it; when that backup is there, restore the other".
fn sentence_after(rest: &str, said: &str) -> Option<(usize, usize)> {
    const AFTER: [&str; 6] = ["when ", "once ", "as soon as ", "after ", "only when ", "only after "];
    let begins = [". ", "; ", "! ", ") "].into_iter().flat_map(|end| rest.match_indices(end).map(|(at, _)| at + 2));
    let mut found: Vec<(usize, usize)> = begins
        .filter_map(|at| {
            let after = rest.get(at..)?;
            let word = AFTER.iter().find(|word| after.starts_with(**word))?;
            let (condition, _) = after.get(word.len()..)?.split_once(", ")?;
            let before = rest.get(..at)?;
            let known = |word: &str| {
                let stem = word.get(..word.len().saturating_sub(3).max(4)).unwrap_or(word);
                word.len() >= 4 && !super::has(VAGUE, word) && (before.contains(stem) || said.contains(stem))
            };
            let mut words = condition.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            let refers = words.any(|word| super::has("that this it they both these those done", word) || known(word));
            // What is waited for was said; what comes then is what stands after it.
            refers.then_some((at, word.len() + condition.len() + 2))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().next()
}

/// Words that stand in many sentences and mean nothing that was said.
const VAGUE: &str =
    "have been with from there then this that they were will what when which their them your would could should";

/// "Do B, but A has to be green first": what is first, and what comes after it.
fn turned(text: &str) -> Option<[&str; 2]> {
    let end = ends_first(text)?;
    let before = text.get(..end)?;
    let cuts = [", but ", " but ", "; ", ". ", ": "].into_iter();
    let (at, from) = cuts.filter_map(|cut| before.rfind(cut).map(|at| (at, at + cut.len()))).max()?;
    let first = text.get(from..end)?;
    // "Ann wants to read it first" is what Ann does.
    let others =
        [" wants to ", " want to ", " will ", " would like to ", "'ll "].iter().any(|words| first.contains(words));
    (!others).then_some([first, text.get(..at)?])
}

/// Where a clause ends with "first", which says that it comes before what was said.
fn ends_first(text: &str) -> Option<usize> {
    let inside = [" first", " beforehand"]
        .into_iter()
        .flat_map(|word| {
            [".", "!", ";", ",", " -"].into_iter().filter_map(move |end| text.find(&format!("{word}{end}")))
        })
        .min();
    let ends = |word: &str| text.trim_end().strip_suffix(word).map(str::len);
    inside.or_else(|| ends(" first")).or_else(|| ends(" beforehand"))
}

/// Whether a text begins with a time of the day, the week or the year, so that the word before it is about when and not about which
/// act comes first.
fn is_time(text: &str) -> bool {
    const TIMES: &str = "lunch noon midnight breakfast dinner christmas easter monday tuesday wednesday thursday friday saturday sunday \
        january february march april may june july august september october november december tomorrow today tonight weekend \
        yesterday holidays vacation";
    let first = text.split_whitespace().find(|word| !super::has("the this next last", word)).unwrap_or("");
    super::has(TIMES, first.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

/// What was said before the last sentence of a text, and that sentence.
fn last_sentence(text: &str) -> (&str, &str) {
    let begins = [". ", "! ", "? ", "; "].into_iter().filter_map(|end| text.rfind(end).map(|at| at + end.len())).max();
    text.split_at_checked(begins.unwrap_or(0)).unwrap_or(("", text))
}

/// A text to the end of its sentence.
fn sentence(text: &str) -> &str {
    let end = text
        .match_indices(['.', '!', '?', ';'])
        .map(|(at, _)| at + 1)
        .find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(char::is_whitespace)));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The part that speaks of the step, if exactly one does so most.
fn belongs(parts: &[Goal], step: &Prepared<'_>, steps: &[Prepared<'_>]) -> Option<usize> {
    let others: Vec<&Prepared<'_>> = steps.iter().filter(|other| other.step.id != step.step.id).collect();
    let mut scores: Vec<u32> = parts.iter().map(|part| score(part, step, &others)).collect();
    // Where only one part speaks of a letter, that is where it is written.
    let sends =
        step.derived.touches.iter().any(|touch| touch.effect == Effect::Send && touch.kind == TargetKind::Email);
    let letters = |part: &Goal| part.words.iter().any(|word| !word.within && word.is("mail email messag letter"));
    if sends && parts.iter().filter(|part| letters(part)).count() == 1 {
        for (score, part) in scores.iter_mut().zip(parts) {
            *score += 6 * u32::from(letters(part));
        }
    }
    let best = scores.iter().copied().max().filter(|best| *best >= 3)?;
    let mut at = scores.iter().enumerate().filter(|(_, score)| **score == best).map(|(i, _)| i);
    let first = at.next()?;
    at.next().is_none().then_some(first)
}

/// Whether a word is a name and no word of a language.
pub(super) fn is_own_name(token: &str) -> bool {
    token.contains('/') || (token.len() > 4 && token.contains(['-', '_']) && !token.ends_with('-'))
}

/// Whether a step acts by its tool on exactly this.
fn acts_on(step: &Prepared<'_>, name: &str) -> bool {
    step.has_effect() && step.derived.touches.iter().any(|touch| touch.by == By::Tool && touch.name == name)
}

/// Whether the part has a word that the step has as a whole argument ("off"), and no other act on the same thing has.
fn says_how(part: &Goal, step: &Prepared<'_>) -> bool {
    let args = &step.given;
    let said = |value: &serde_json::Value| {
        value.as_str().is_some_and(|text| {
            let text = fold(text);
            part.words.iter().any(|word| !word.negated && !word.within && word.text == *text)
        })
    };
    args.as_object().is_some_and(|args| args.values().any(said))
}

fn score(part: &Goal, step: &Prepared<'_>, others: &[&Prepared<'_>]) -> u32 {
    let touches = || step.derived.touches.iter().filter(|touch| touch.by != By::View && !touch.is_open());
    let base = |name: &str| fold(name.rsplit('/').next().unwrap_or(name)).into_owned();
    // What several acts are done to tells none of them from the others.
    let shared = |touch: &Touch| touch.by == By::Tool && others.iter().any(|other| acts_on(other, &touch.name));
    let mut names: Vec<String> = touches()
        .filter(|touch| touch.effect != Effect::Execute && !shared(touch))
        .map(|touch| base(&touch.name))
        .filter(|name| super::names(Some(&part.text), name))
        .collect();
    names.sort_unstable();
    names.dedup();
    let named = !names.is_empty();
    let words = &part.words;
    // What its line speaks of, under the name that the part gives it.
    let line = fold(&step.given.to_string()).into_owned();
    let tokens = words.iter().map(|word| word.token(&part.text));
    let common = |token: &str| touches().any(|touch| shared(touch) && fold(&touch.name) == token);
    let spoken = tokens
        .filter(|token| (is_own_name(token) || super::is_file_name(token)) && !common(token))
        .any(|token| line.contains(token));
    let how = step.is_remote() && step.has_effect() && says_how(part, step);
    let kinds = || touches().filter_map(|touch| Kind::of(touch.effect));
    let asked = kinds().any(|kind| kind != Kind::Tell && kind.is_asked(words));
    let told = touches().any(|touch| touch.effect == Effect::Send)
        && words.iter().any(|w| w.is("mail send post tell publish"));
    let by_word = |word: &&super::Word| !word.within && by_name(step.step.action.as_str(), &word.text);
    let called = words.iter().any(|word| by_word(&word));
    // A verb, and not the name of a thing that the act is about.
    let ordered = words.iter().any(|word| by_word(&word) && !word.name);
    // A push, or what is started elsewhere, is spoken of by its own word.
    let pushed = step.derived.touches.iter().any(Touch::is_push)
        && words.iter().any(|word| word.orders() && word.is(super::PUSHING));
    // A command line by its own words: "the tests" are what `cargo test` runs.
    let runs_line = step.tool.is_some_and(|tool| tool.definition().effect == Effect::Execute);
    let worded = runs_line
        && line
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() >= 4)
            .any(|word| words.iter().any(|said| !said.negated && super::has_stem(word, &said.text)));
    let begun = step.is_remote() && step.has_effect() && called;
    let runs = runs(step)
        && words.iter().any(|word| word.orders() && word.is("run execut start install"))
        && given_line(&part.text).is_none_or(|said| line.contains(&said) || !others.iter().any(|o| has_line(o, &said)));
    let looks = !step.has_effect()
        && words.iter().any(|word| word.orders() && word.is("read look check verif compar list show test"));
    let score = 4 * u32::from(named || spoken)
        // Its own target says more than what it writes about, and two say more than one.
        + u32::try_from(names.len().min(2)).unwrap_or(0)
        + 4 * u32::from(pushed || (begun && ordered))
        + 2 * u32::from(begun && !ordered)
        + 4 * u32::from(asked)
        + 3 * u32::from(how)
        + 2 * u32::from(told)
        + 2 * u32::from(called)
        + u32::from(called && ordered)
        + 6 * u32::from(runs)
        + 2 * u32::from(looks);
    // A word of the line alone says less than a name in it.
    if score == 0 { 3 * u32::from(worded) } else { score }
}

/// The two words after "run", which may be the line that is to be run.
fn given_line(part: &str) -> Option<String> {
    let (_, after) = part.rsplit_once("run ")?;
    let mut words = after.split_whitespace().map(|word| word.trim_matches(|c: char| "'\"`.,;:()".contains(c)));
    Some(format!("{} {}", words.next()?, words.next()?))
}

fn has_line(step: &Prepared<'_>, said: &str) -> bool {
    fold(&step.given.to_string()).contains(said)
}

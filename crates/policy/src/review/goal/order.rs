//! The order that the goal gives: "A, then B", "after A, B", "B once A is done". A plan that does B before A does another thing.
//!
//! A step belongs to the part of the goal that speaks of it more than any other does; steps that belong to none say nothing.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::words::Goal;
use super::{Kind, by_name};
use crate::effects::{By, Touch};
use crate::paths::fold;
use crate::review::prepare::Prepared;

/// The most parts of a goal that are compared.
const MAX_PARTS: usize = 8;

/// Words between an act and the one that comes after it.
const AND_THEN: [&str; 13] = [
    " then ",
    " afterwards ",
    " after that ",
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
];

/// Words between an act and the one that comes before it.
const BUT_FIRST: [&str; 5] = [" after ", " once ", " as soon as ", " when ", " if "];

/// Words with which a sentence says that what it asks for comes before what was said.
const FIRST: [&str; 6] = [". first ", ": first ", "; first ", ", but first ", " but first, ", " beforehand "];

/// The steps that come before what the goal wants done first.
pub(in crate::review) fn reversed(steps: &[Prepared<'_>]) -> Vec<Reason> {
    let Some(first) = steps.first() else { return Vec::new() };
    if steps.len() < 2 {
        return Vec::new();
    }
    let parts = parts(&first.goal.read.text);
    if parts.len() < 2 {
        return Vec::new();
    }
    let parts: Vec<Goal> = parts.into_iter().map(Goal::new).collect();
    let mut begun: Vec<(usize, &Prepared<'_>)> = Vec::new();
    let mut reasons = Vec::new();
    for step in steps {
        let Some(part) = belongs(&parts, step, steps) else { continue };
        let acts = |step: &Prepared<'_>| step.has_effect() || runs(step);
        if begun.iter().any(|(seen, early)| *seen == part && (acts(early) || !acts(step))) {
            continue;
        }
        if let Some((_, early)) = begun.iter().find(|(seen, early)| *seen > part && acts(early)) {
            let message = format!("`{}` comes after `{}`, and the goal wants it first", step.step.id, early.step.id);
            let reason = Reason::new(Code::PlanOrder, Decision::RequireApproval, message).at(&step.step.id);
            reasons.push(reason.fix("do it in the order of the goal"));
        }
        begun.push((part, step));
    }
    reasons
}

fn runs(step: &Prepared<'_>) -> bool {
    // The hooks that git may start are not what the step is for.
    step.derived.touches.iter().any(|touch| super::is_started(touch) && !touch.name.contains("/.git/"))
}

/// The goal in the order of its acts.
fn parts(goal: &str) -> Vec<&str> {
    let cut = |text: &str, words: &[&'static str]| {
        let found = words.iter().filter_map(|word| text.find(word).map(|at| (at, word.len())));
        let found = found.filter(|(at, len)| !text.get(at + len..).is_some_and(is_time));
        // "Run the tests once, locally" is how often.
        let often = |at: usize, len: usize| {
            let next = text.get(at + len..).and_then(|rest| rest.split_whitespace().next()).unwrap_or("");
            text.get(at..at + len) == Some(" once ")
                && (next.ends_with("ly") || super::has("more again a per in on with", next))
        };
        // "Is it up? If so, do B", "do A and, if that is so, do B": the condition is about what stands before it.
        let follows = |at: usize, len: usize| {
            let before = text.get(..at).unwrap_or("").trim_end_matches(" only").trim_end();
            let next = text.get(at + len..).and_then(|rest| rest.split_whitespace().next()).unwrap_or("");
            let condition = matches!(text.get(at..at + len), Some(" if " | " once " | " when "));
            // "See if he is in the directory" asks whether.
            let last = before.rsplit(' ').next().unwrap_or("");
            let whether = text.get(at..at + len) == Some(" if ")
                && super::has("see check look know tell ask find verify test say wonder out me", last);
            let said = before.ends_with(['.', '?', '!', ';', ':'])
                || before.ends_with(" and,")
                || super::has("yes so not ok green clean good fine okay", next.trim_end_matches(','));
            whether || (condition && said)
        };
        // "If and only if" is one condition.
        let whole = |at: usize| text.get(..at).is_some_and(|before| before.ends_with(" if"));
        let found = found.filter(|(at, len)| !often(*at, *len) && !follows(*at, *len) && !whole(*at));
        found.min_by_key(|(at, len)| (*at, std::cmp::Reverse(*len)))
    };
    let mut parts = Vec::new();
    let mut rest = goal;
    while parts.len() < MAX_PARTS
        && let Some((at, len)) = cut(rest, &AND_THEN)
    {
        parts.extend(rest.get(..at));
        rest = rest.get(at + len..).unwrap_or("");
    }
    parts = parts.into_iter().flat_map(|part| turned(part).map_or_else(|| vec![part], Vec::from)).collect();
    if let Some(pair) = turned(rest) {
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
            parts.extend([said, sentence(rest.get(at + len..).unwrap_or("")), second]);
        }
        (None, None) => parts.push(rest),
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

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
    let inside =
        [" first.", " first!", " first;", " first,", " first -"].into_iter().filter_map(|end| text.find(end)).min();
    inside.or_else(|| text.trim_end().strip_suffix(" first").map(str::len))
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
    let scores: Vec<u32> = parts.iter().map(|part| score(part, step, &others)).collect();
    let best = scores.iter().copied().max().filter(|best| *best >= 3)?;
    let mut at = scores.iter().enumerate().filter(|(_, score)| **score == best).map(|(i, _)| i);
    let first = at.next()?;
    at.next().is_none().then_some(first)
}

/// Whether a word is a name and no word of a language.
fn is_own_name(token: &str) -> bool {
    token.contains('/') || (token.len() > 4 && token.contains(['-', '_']) && !token.ends_with('-'))
}

/// Whether a step acts by its tool on exactly this.
fn acts_on(step: &Prepared<'_>, name: &str) -> bool {
    step.has_effect() && step.derived.touches.iter().any(|touch| touch.by == By::Tool && touch.name == name)
}

/// Whether the part has a word that the step has as a whole argument ("off"), and no other act on the same thing has.
fn says_how(part: &Goal, step: &Prepared<'_>) -> bool {
    let args = crate::flow::fill(&step.args);
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
    let named = touches().any(|touch| {
        touch.effect != Effect::Execute && !shared(touch) && super::names(Some(&part.text), &base(&touch.name))
    });
    let words = &part.words;
    // What its line speaks of, under the name that the part gives it.
    let line = fold(&crate::flow::fill(&step.args).to_string()).into_owned();
    let tokens = words.iter().map(|word| super::bans::token(&part.text, word.at));
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
        + 4 * u32::from(pushed || begun)
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
    fold(&crate::flow::fill(&step.args).to_string()).contains(said)
}

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
const AND_THEN: [&str; 6] = [" then ", " afterwards ", " after that ", " finally ", " and only then ", " before "];

/// Words between an act and the one that comes before it.
const BUT_FIRST: [&str; 5] = [" after ", " once ", " as soon as ", " when ", " if "];

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
        let Some(part) = belongs(&parts, step) else { continue };
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
    // "Do B after A"; with a comma, "after A, do B".
    let leading = ["after ", "once ", "when "].into_iter().find_map(|word| rest.strip_prefix(word));
    // "After 2024-05-01" is a time.
    let dated =
        |(at, len): &(usize, usize)| rest.get(at + len..).is_some_and(|s| s.starts_with(|c: char| c.is_ascii_digit()));
    match (leading.and_then(|rest| rest.split_once(", ")), cut(rest, &BUT_FIRST).filter(|found| !dated(found))) {
        (Some((first, second)), _) => parts.extend([first, second]),
        (None, Some((at, len))) => {
            // What the act waits for ends with its sentence; of what is said later nothing is known.
            parts.extend([sentence(rest.get(at + len..).unwrap_or("")), rest.get(..at).unwrap_or("")]);
        }
        (None, None) => parts.push(rest),
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
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

/// A text to the end of its sentence.
fn sentence(text: &str) -> &str {
    let end = text
        .match_indices(['.', '!', '?', ';'])
        .map(|(at, _)| at + 1)
        .find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(char::is_whitespace)));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The part that speaks of the step, if exactly one does so most.
fn belongs(parts: &[Goal], step: &Prepared<'_>) -> Option<usize> {
    let scores: Vec<u32> = parts.iter().map(|part| score(part, step)).collect();
    let best = scores.iter().copied().max().filter(|best| *best >= 2)?;
    let mut at = scores.iter().enumerate().filter(|(_, score)| **score == best).map(|(i, _)| i);
    let first = at.next()?;
    at.next().is_none().then_some(first)
}

fn score(part: &Goal, step: &Prepared<'_>) -> u32 {
    let touches = || step.derived.touches.iter().filter(|touch| touch.by != By::View && !touch.is_open());
    let base = |name: &str| fold(name.rsplit('/').next().unwrap_or(name)).into_owned();
    let named =
        touches().any(|touch| touch.effect != Effect::Execute && super::names(Some(&part.text), &base(&touch.name)));
    let words = &part.words;
    // What its line speaks of, under the name that the part gives it.
    let line = fold(&crate::flow::fill(&step.args).to_string()).into_owned();
    let tokens = words.iter().map(|word| super::bans::token(&part.text, word.at));
    let spoken =
        tokens.filter(|token| token.contains('/') || super::is_file_name(token)).any(|token| line.contains(token));
    let kinds = || touches().filter_map(|touch| Kind::of(touch.effect));
    let asked = kinds().any(|kind| kind != Kind::Tell && kind.is_asked(words));
    let told = touches().any(|touch| touch.effect == Effect::Send)
        && words.iter().any(|w| w.is("mail send post tell publish"));
    let called = words.iter().any(|word| by_name(step.step.action.as_str(), &word.text));
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
    let runs = runs(step) && words.iter().any(|word| word.orders() && word.is("run execut start install"));
    let looks = !step.has_effect()
        && words.iter().any(|word| word.orders() && word.is("read look check verif compar list show test"));
    let score = 2 * u32::from(named || spoken)
        + 2 * u32::from(pushed || begun)
        + 2 * u32::from(asked)
        + u32::from(told)
        + u32::from(called)
        + 3 * u32::from(runs)
        + u32::from(looks);
    if score == 0 { 2 * u32::from(worded) } else { score }
}

//! Whether what is looked at is what the goal waits for: its state, its record, its tests.

use countersign_plan::expect::{Condition, Expect};
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};
use regex::Regex;
use serde_json::Value;

use super::prepare::Prepared;
use super::{Request, checks};
use crate::effects::{By, Touch};
use crate::lists::has;
use crate::paths::fold;

/// States of things, one list for those that come to the same.
const STATES: &[&str] = &[
    "green success successful succeeded passed passing pass healthy true",
    "red failure failed failing fail error unhealthy broken false",
    "pending queued in_progress",
    "paid settled cleared",
    "open unpaid due overdue outstanding",
    "approved accepted",
    "rejected declined denied",
];

/// Whether an expression holds for a good state and for one that is not: "success|pending", "paid|open", "[a-z]+".
pub(super) fn lets_opposites(regex: &Regex) -> bool {
    let holds = |list: &str| list.split(' ').any(|state| regex.is_match(state));
    let (good, bad): (Vec<&str>, Vec<&str>) =
        STATES.iter().partition(|list| has("green paid approved", list.split(' ').next().unwrap_or("")));
    good.into_iter().any(holds) && bad.into_iter().any(holds)
}

/// A record, a payment or the like, for which the goal waits for a state that no step expects: "if its checks are green", and they are
/// expected to have failed, or the branch to be another one.
pub(super) fn other_state(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let awaited = step.goal.awaited();
    let wanted = |list: &&&'static str| awaited.iter().any(|word| has(list, word));
    let state = *STATES.iter().find(wanted)?;
    let looks = || steps.iter().take(i).filter(|before| !before.has_effect() && checks::can_stop(before));
    let program = |before: &Prepared<'_>| before.derived.touches.iter().any(|touch| touch.effect == Effect::Execute);
    if request.session.has_acted() || !waits(step) || looks().next().is_none() || looks().any(program) {
        return None;
    }
    let tells = |expect: &Expect| {
        let Expect::Output { at, is } = expect else { return true };
        let field = fold(at.segments().last().map_or("", String::as_str)).into_owned();
        let stem = |part: &str| part.get(..6).is_some_and(|stem| state.split(' ').any(|word| word.starts_with(stem)));
        let spoken =
            field.split('_').any(|part| part.len() > 2 && (has(state, part) || stem(part) || awaited.contains(&part)));
        let other = |text: &str| STATES.iter().any(|list| *list != state && has(list, text));
        // A field that says how a thing is may have other words for it.
        let plain = has("state status result conclusion phase health outcome", &field);
        match is {
            Condition::Equals(Value::String(text)) => {
                let text = fold(text);
                has(state, &text) || awaited.contains(&text.as_ref()) || ((spoken || plain) && !other(&text))
            }
            Condition::Equals(Value::Bool(is)) => spoken && *is,
            Condition::Matches(regex) => spoken || plain || state.split(' ').any(|state| regex.is_match(state)),
            Condition::Exists(_) => spoken,
            Condition::Equals(_) | Condition::Min(_) | Condition::Max(_) => true,
        }
    };
    if looks().flat_map(|before| &before.step.expect).any(tells) {
        return None;
    }
    let what = awaited.iter().find(|word| has(state, word))?;
    let message =
        format!("`{}` waits for something to be {what}, and no step before it expects that", step.step.action);
    Some(Reason::ask(Code::PlanOrder, message).fix("expect the state that the goal waits for"))
}

/// An act that waits for a state that may be there, before which only numbers are looked at: "unless it is disputed", and the sum is expected.
pub(super) fn state_unseen(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    if !step.goal.excepts_a_state() || !waits(step) {
        return None;
    }
    let number = |expect: &Expect| {
        matches!(
            expect,
            Expect::Output { is: Condition::Equals(Value::Number(_)) | Condition::Min(_) | Condition::Max(_), .. }
        )
    };
    let looks = steps.iter().take(i).filter(|before| !before.has_effect() && checks::can_stop(before));
    let mut expected = looks.flat_map(|before| &before.step.expect).peekable();
    expected.peek()?;
    let message = format!("`{}` waits for how something is, and only numbers are expected before it", step.step.action);
    expected.all(number).then(|| Reason::ask(Code::PlanOrder, message).fix("expect the state that the goal speaks of"))
}

/// An act that waits for something, before which only other things of its kind are looked at: pull request 213, and 212 is merged.
pub(super) fn other_thing(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let awaited = step.goal.awaited();
    if awaited.is_empty() || !waits(step) {
        return None;
    }
    let plain = |value: &Value| match value {
        Value::String(text) => fold(text).into_owned(),
        value => value.to_string(),
    };
    let said = |value: &str| {
        let last = value.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or(value);
        step.goal.name(value) && step.goal.say_word(last)
    };
    let other = |look: &Prepared<'_>| {
        let own = step.given.as_object()?;
        let target = step.tool?.definition().target.arg.as_ref()?.segments().last()?;
        look.given.as_object()?.iter().find_map(|(key, value)| {
            let (value, own) = (plain(value), plain(own.get(key).filter(|own| !own.is_null())?));
            // "Only if staging is healthy", and the production of it is looked at.
            let choice = || {
                look.tool
                    .and_then(|tool| tool.definition().args.pointer(&format!("/properties/{key}/enum"))?.as_array())
            };
            let another = |one: &Value| plain(one) != value && awaited.contains(&plain(one).as_str());
            let wrong = (key == target && value != own && !said(&value))
                || (!awaited.contains(&value.as_str()) && choice().is_some_and(|all| all.iter().any(another)));
            wrong.then(|| format!("{key} {value}"))
        })
    };
    let looks = steps.iter().take(i).filter(|before| !before.has_effect() && checks::can_stop(before));
    let others = looks.map(other).collect::<Option<Vec<String>>>()?;
    let message = format!("`{}` waits for something, and only {} is looked at", step.step.action, others.first()?);
    Some(Reason::ask(Code::PlanOrder, message).fix("look at what the goal waits for"))
}

/// Whether the goal makes what a step does elsewhere wait.
fn waits(step: &Prepared<'_>) -> bool {
    let acts = |touch: &&Touch| touch.by == By::Tool && !touch.effect.is_harmless() && touch.seen().is_none();
    step.derived.touches.iter().filter(acts).any(|touch| step.goal.waits_with(touch))
}

/// Options with which a runner of tests runs none (the manuals of pytest, Cargo, Jest, Go and Make).
const RUNS_NONE: &str =
    "--version --help --co --collect-only --no-run --dry-run --list --listTests --fixtures --setup-plan";

/// Options that pick some of the tests.
const PICKS: &str = "-k --grep --filter --last-failed --lf --deselect --ignore";

/// Programs that test nothing.
const NO_TESTS: &str = "git ls cat echo true head tail grep wc cd pwd find which test printf date diff stat tee sleep";

/// What goes out of the house or into a history where the goal waits for its tests, and none were run before, some only, or their failure
/// stops nothing.
pub(super) fn untested(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let goes_out = |call: &[String]| matches!(call, [git, verb, ..] if git == "git" && matches!(verb.as_str(), "push" | "commit" | "merge" | "tag"));
    let at = step.derived.calls.iter().position(|call| goes_out(call))?;
    let elsewhere = |before: &Prepared<'_>| before.is_remote();
    let before = steps.get(..i).unwrap_or(&[]);
    if !step.goal.awaits_tests() || request.session.has_acted() || before.iter().any(elsewhere) {
        return None;
    }
    let tests = |call: &&Vec<String>| call.first().is_some_and(|name| !has(NO_TESTS, name));
    let real = |call: &&Vec<String>| tests(call) && !call.iter().any(|arg| has(RUNS_NONE, arg));
    let own = step.derived.calls.get(..at).unwrap_or(&[]);
    let mut runs = before.iter().flat_map(|step| &step.derived.calls).chain(own).filter(real).peekable();
    let picked = |call: &Vec<String>| {
        let file = |arg: &&String| arg.contains("::") || (super::goal::is_file_name(arg) && arg.contains("test"));
        let picks = |arg: &&String| has(PICKS, arg.split('=').next().unwrap_or(arg));
        // What a shell or Python runs is no test that is picked.
        let script = call.first().is_some_and(|name| has("sh bash python python3 node", name));
        call.iter().skip(1 + usize::from(script)).find(|arg| (file(arg) && !step.goal.name(arg)) || picks(arg)).cloned()
    };
    let fails = |expect: &Expect| matches!(expect, Expect::ExitCode(codes) if codes.iter().any(|code| *code != 0));
    let failed = || {
        before
            .iter()
            .filter(|step| step.derived.calls.iter().any(|call| tests(&call)))
            .any(|step| step.step.expect.iter().any(fails))
    };
    // A line goes on after `;` whatever came before.
    let line = step.text("command").unwrap_or("");
    let goes_on = |line: &str| {
        let before = line.split(" push").next().unwrap_or("").trim_end_matches("git").trim_end();
        own.iter().any(|call| real(&call)) && before.ends_with([';', '\n']) && !line.contains("set -e")
    };
    let why = match (runs.peek().is_some(), runs.find_map(picked)) {
        (false, _) => "no step before it runs any".to_owned(),
        (true, Some(some)) => format!("`{some}` picks some of them"),
        _ if failed() || goes_on(line) => "it goes on when they fail".to_owned(),
        _ => return None,
    };
    let message = format!("the goal waits for the tests before this, and {why}");
    Some(Reason::ask(Code::PlanOrder, message).fix("run the tests first, and expect exit code 0"))
}

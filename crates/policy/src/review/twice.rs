//! What is done twice to one thing where the goal names as many things as there are acts: "pay RG-311 and RG-312".

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};
use serde_json::Value;

use super::Request;
use super::prepare::Prepared;
use crate::flow::Level;
use crate::lists::has;
use crate::paths::fold;

/// A step that acts on what an earlier one of its kind acted on, where another thing of that form, which the goal names, is left.
pub(super) fn check(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let alike = |other: &&Prepared<'_>| other.step.action == step.step.action && other.has_effect();
    let has = |other: &Prepared<'_>, name: &str, thing: &str| {
        other.given.get(name).and_then(Value::as_str).is_some_and(|own| own.eq_ignore_ascii_case(thing))
    };
    let given = step.given.as_object()?;
    let (thing, left) = given.iter().find_map(|(name, thing)| {
        let thing = fold(thing.as_str()?);
        let action = step.step.action.as_str();
        let whole = action == "write_file" && name == "path";
        let kind = kind(&thing).filter(|_| action.starts_with("delete_") || whole || !thing.contains('/'))?;
        let mut others =
            step.goal.tokens().filter(|named| self::kind(named) == Some(kind) && *named != thing).peekable();
        others.peek()?;
        let earlier = steps.iter().take(i).filter(alike).any(|other| has(other, name, &thing));
        // A file that is read, or that a line names, is one of those that are taken.
        let taken = |named: &str| {
            let own = |step: &&Prepared<'_>| whole || alike(step);
            let names = |step: &Prepared<'_>| whole && fold(&step.given.to_string()).contains(named);
            steps.iter().filter(own).any(|step| given.keys().any(|name| has(step, name, named)) || names(step))
        };
        let left = others.filter(|_| earlier).find(|named| !taken(named))?;
        Some((thing.clone(), left))
    })?;
    let message = format!("`{}` would take {thing} twice, and the goal names {left} too", step.step.action);
    Some(Reason::ask(Code::GoalUnasked, message).fix("take each thing that the goal names once"))
}

/// A payment of each of those that the goal names, where it wants only some of them paid: "pay only what hasn't been paid".
pub(super) fn all_of_some(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.goal.takes_only_some())?;
    let pays = |step: &Prepared<'_>| step.derived.touches.iter().any(|touch| touch.effect == Effect::Pay);
    if !pays(step) || steps.iter().skip(i + 1).any(pays) {
        return None;
    }
    let things = |step: &Prepared<'_>| step.texts().map(|text| fold(text).into_owned()).collect::<Vec<_>>();
    let own = things(step);
    let kind = own.iter().find_map(|thing| kind(thing))?;
    let mut named: Vec<&str> = step.goal.tokens().filter(|named| self::kind(named) == Some(kind)).collect();
    named.sort_unstable();
    named.dedup();
    let taken =
        |named: &&str| steps.iter().filter(|step| pays(step)).any(|step| things(step).iter().any(|own| own == named));
    if named.len() < 2 || !named.iter().all(taken) {
        return None;
    }
    let message = format!("the goal wants only some of {} paid, and the plan pays all of them", named.join(", "));
    Some(Reason::ask(Code::GoalUnasked, message).fix("look which are meant, and pay those"))
}

/// What a text from outside wants as well, done by the tool that does it for what the goal names: his statement, "and hers too, please".
pub(super) fn as_told(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    const PROSE: &str = "subject body text message content note comment reason title";
    let step = steps.get(i).filter(|step| step.has_effect())?;
    if request.planner >= Level::User || step.goal.delegates() || !step.goal.is_closed() {
        return None;
    }
    let alike = || steps.iter().filter(|other| other.step.action == step.step.action && other.has_effect());
    let named = |name: &str| {
        let mut own = alike().filter_map(|other| other.given.get(name).and_then(Value::as_str));
        own.any(|own| step.goal.name(own))
    };
    let told = |text: &&str| text.len() <= 60 && !step.goal.name(text) && request.session.was_told(text);
    // A state or a format of a list is nobody's name.
    let schema = step.tool.map(|tool| &tool.definition().args);
    let listed = |name: &str| schema.is_some_and(|args| args.pointer(&format!("/properties/{name}/enum")).is_some());
    let given = step.given.as_object()?.iter().filter(|(name, _)| !has(PROSE, name) && !listed(name));
    let found = given.filter_map(|(name, value)| Some((name, value.as_str().filter(told)?)));
    let (_, value) = found.into_iter().find(|(name, _)| named(name))?;
    let message = format!("data from outside names {value}, and the goal wants nothing else");
    let fix = "say in the goal that it is wanted";
    Some(Reason::block(Code::FlowUntrustedControl, message).fix(fix))
}

/// What things of one kind have in common: the letters before their numbers, the house of an address.
pub(super) fn kind(name: &str) -> Option<&str> {
    if let Some((_, house)) = name.split_once('@') {
        return Some(house);
    }
    if name.contains('/') {
        return name.rsplit_once('.').map(|(_, kind)| kind);
    }
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    // Numbers as long as one another, and no years.
    if digits(name) && !name.starts_with("20") && !name.starts_with("19") {
        return "00000000000000".get(..name.len()).filter(|_| name.len() > 3);
    }
    let (letters, number) = name.split_once('-')?;
    let numbered = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '-');
    (numbered && !letters.is_empty() && letters.chars().all(char::is_alphabetic)).then_some(letters)
}

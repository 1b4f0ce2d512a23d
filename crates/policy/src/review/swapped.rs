//! Values that come from the wrong place: what another record's step found, a number that the goal gives for something else.

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::tool::Effect;
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Reason};
use serde_json::Value;

use super::prepare::Prepared;
use super::twice::kind;
use crate::paths::fold;

/// What a step for one record takes from a step for another one, where there is a step like that for its own: the label of order 40510 for
/// 40511.
pub(super) fn of_another(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let things = |step: &Prepared<'_>| step.texts().map(|text| fold(text).into_owned()).collect::<Vec<_>>();
    let own: Vec<String> =
        things(step).into_iter().filter(|thing| kind(thing).is_some() && step.goal.name(thing)).collect();
    // "It is from the same patient as S-4500"
    if own.is_empty() || step.goal.speak_of("same like copy copie") {
        return None;
    }
    let mut found = None;
    step.step.args.references(&mut |_, expr| {
        let Expr::From { step: id, .. } = expr else { return };
        let Some(from) = steps.iter().take(i).find(|before| before.step.id == *id) else { return };
        let of = things(from);
        let alike = |before: &&Prepared<'_>| before.step.action == from.step.action && before.step.id != from.step.id;
        let another = |own: &&String| {
            let other = of.iter().find(|other| kind(other) == kind(own) && other != own);
            let own_one = || steps.iter().take(i).filter(alike).flat_map(things).any(|thing| thing == **own);
            other.filter(|_| !of.contains(own) && own_one())
        };
        found = found.take().or_else(|| own.iter().find_map(|own| Some((own.clone(), another(&own)?.clone()))));
    });
    let (own, other) = found?;
    let message = format!("`{}` is for {own}, and would take what was found of {other}", step.step.action);
    Some(Reason::ask(Code::GoalUnasked, message).fix("take what was found of its own"))
}

/// A number that the goal says once and that stands in two arguments of a step, where the goal gives another one that no step takes:
/// "4 CPUs and 16 GB", and 16 of each.
pub(super) fn one_for_two(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let mut fields: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, value) in step.given.as_object()? {
        if let Some(number) = number(value) {
            fields.entry(number).or_default().push(name);
        }
    }
    let once = |number: &String| step.goal.figures().iter().filter(|figure| *figure == number).count() == 1;
    let (twice, names) = fields.into_iter().find(|(number, names)| names.len() > 1 && once(number))?;
    let left = left(steps, step.goal.figures(), &twice)?;
    let message = format!("{twice} would be {}, and the goal says {left} too", names.join(" and "));
    Some(Reason::ask(Code::GoalUnasked, message).fix("take each number for what the goal says it of"))
}

/// A number that the goal only says of how something is or was, where it orders another one that no step takes: "if it shows 6 or more, put
/// HS-15 to 64", and 6.
pub(super) fn told_for_ordered(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let said = step.goal.figures();
    let told = |number: &String| !said.contains(number) && step.goal.tells_figure(number);
    // What is called by a number is no figure.
    let called = |value: &Value| value.as_str().is_some_and(|text| kind(text).is_some());
    let given = step.given.as_object()?.iter().filter(|(_, value)| !called(value));
    let mut numbers = given.filter_map(|(name, value)| Some((name, number(value)?)));
    let (name, told) = numbers.find(|(_, number)| told(number))?;
    // "It was 199 EUR. Give it back within 14 days"
    let alike: Vec<String> =
        said.iter().filter(|figure| step.goal.is_money(figure) == step.goal.is_money(&told)).cloned().collect();
    let left = left(steps, &alike, &told)?;
    let message = format!("{told} would be the {name}, and the goal only tells that number and orders {left}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the number that is ordered"))
}

/// The number that the goal says of another record than the one that a step is for: "BW12-3 = 418.2, BW12-4 = 377.0".
pub(super) fn of_another_record(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let pairs = step.goal.numbered_records();
    let own: Vec<&(String, String)> =
        pairs.iter().filter(|(record, _)| step.texts().any(|text| fold(text) == *record)).collect();
    let [(record, own)] = own.as_slice() else { return None };
    let of_other = |number: &String| {
        number != own
            && kind(record).is_some()
            && pairs.iter().any(|(other, said)| said == number && other != record && kind(other) == kind(record))
    };
    let other = step.given.as_object()?.values().filter_map(number).find(of_other)?;
    let message = format!("the goal says {own} of {record}, and {other} of another one");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take together what the goal says together"))
}

/// A figure of the goal that no step but one that tells somebody takes.
fn left<'f>(steps: &[Prepared<'_>], said: &'f [String], but: &str) -> Option<&'f String> {
    let sends = |step: &&Prepared<'_>| !step.derived.touches.iter().any(|touch| touch.effect == Effect::Send);
    let mut texts = Vec::new();
    for step in steps.iter().filter(sends) {
        super::carried::gather(&step.step.args, &mut texts);
        texts.push(step.given.to_string());
    }
    let words = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '.'));
    let taken: BTreeSet<String> = words.filter_map(|word| plain(word.trim_end_matches('.'))).collect();
    let year = |figure: &str| figure.len() == 4 && (figure.starts_with("19") || figure.starts_with("20"));
    said.iter().find(|figure| *figure != but && *figure != "0" && !taken.contains(*figure) && !year(figure))
}

/// An argument that is a number, or a text that is nothing else.
fn number(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => plain(&number.to_string()),
        Value::String(text) => plain(text),
        _ => None,
    }
}

/// A number as it is written without what it may have at its end: "12.50" and 12.5.
fn plain(text: &str) -> Option<String> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    text.parse::<f64>().ok().filter(|number| digits && *number > 0.0).map(|number| number.to_string())
}

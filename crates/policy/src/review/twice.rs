//! What is done twice to one thing where the goal names as many things as there are acts: "pay RG-311 and RG-312".

use countersign_plan::verdict::{Code, Reason};

use super::prepare::Prepared;
use crate::paths::fold;

/// A step that acts on what an earlier one of its kind acted on, where another thing of that form, which the goal names, is left.
pub(super) fn check(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let alike = |other: &&Prepared<'_>| other.has_effect() && other.step.action == step.step.action;
    let earlier = || steps.iter().take(i).filter(alike);
    earlier().next()?;
    let texts = |step: &Prepared<'_>| -> Vec<(String, String)> {
        let given = step.given.as_object().into_iter().flatten();
        given.filter_map(|(name, value)| Some((name.clone(), fold(value.as_str()?).into_owned()))).collect()
    };
    let removes = step.step.action.as_str().starts_with("delete_");
    let own = texts(step);
    let (name, thing, left) = own.iter().find_map(|(name, thing)| {
        let kind = kind(thing).filter(|_| !thing.contains('/') || removes)?;
        let same = |other: &Prepared<'_>| texts(other).iter().any(|one| one.0 == *name && one.1 == *thing);
        earlier().any(same).then_some(())?;
        let taken = |named: &str| steps.iter().filter(alike).any(|step| texts(step).iter().any(|one| one.1 == named));
        let left = step.goal.tokens().find(|named| self::kind(named) == Some(kind) && !taken(named))?;
        Some((name, thing, left))
    })?;
    let message =
        format!("`{}` would act on the {name} {thing} twice, and the goal names {left} as well", step.step.action);
    Some(Reason::ask(Code::GoalUnasked, message).fix("take each thing that the goal names once"))
}

/// What things of one kind have in common: the letters before their numbers, the house of an address.
fn kind(name: &str) -> Option<&str> {
    if let Some((_, house)) = name.split_once('@') {
        return Some(house);
    }
    if name.contains('/') {
        return name.rsplit_once('.').map(|(_, kind)| kind);
    }
    let (letters, number) = name.split_once('-')?;
    let numbered = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '-');
    (numbered && !letters.is_empty() && letters.chars().all(char::is_alphabetic)).then_some(letters)
}

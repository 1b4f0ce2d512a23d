//! What a plan loses of what the goal wants kept: the copy that it has just made, the old state of which it copies the new one, the source
//! that is written in place of the target.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::direction::{Carried, bare, carried};
use super::goal::is_named_so;
use super::prepare::Prepared;
use super::threats::takes;
use crate::effects::Touch;
use crate::paths::fold;

/// The path that a step writes as a whole.
fn written<'s>(step: &'s Prepared<'_>) -> Option<&'s str> {
    (step.step.action.as_str() == "write_file").then(|| step.text("path").map(bare)).flatten()
}

/// Whether a step removes what is called so.
fn removes(step: &Prepared<'_>, said: &str) -> bool {
    step.derived.touches.iter().any(|touch| touch.effect == Effect::Delete && is_named_so(&touch.name, said))
}

/// How the goal names a path.
fn named<'g>(step: &'g Prepared<'_>, path: &str) -> Option<&'g str> {
    step.goal.placed().into_iter().map(|(said, _)| said).find(|said| is_named_so(path, said))
}

/// A copy that the plan has made and that goes again, or that holds something else at the end, while the original stays: "keep it as B, then
/// empty A", and B is emptied.
pub(super) fn copy_lost(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let written = written(step);
    if written.is_none() && !step.derived.touches.iter().any(|touch| touch.effect == Effect::Delete) {
        return None;
    }
    let lost = |act: &Carried<'_>| {
        let [source] = act.sources.as_slice() else { return None };
        let overwritten = written == Some(act.destination);
        if !overwritten && !removes(step, &fold(act.destination)) {
            return None;
        }
        let copy = named(step, act.destination)?;
        let meant = if overwritten { !step.goal.keeps_as(copy) } else { step.goal.removed().contains(&copy) };
        let stays = named(step, source).is_some() && !steps.iter().any(|step| removes(step, &fold(source)));
        (!meant && stays).then(|| copy.to_owned())
    };
    let copy = steps.iter().take(i).flat_map(carried).find_map(|act| lost(&act))?;
    let message = format!("{copy} would be lost, which an earlier step made as a copy");
    Some(Reason::ask(Code::GoalUnasked, message).fix("leave the copy, and change the original"))
}

/// A copy that is to keep what was there, and is made of what comes in its place: "keep the present one as A.old".
pub(super) fn keeps_the_new(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let kept = |act: &Carried<'_>| {
        let copy = named(step, act.destination).filter(|copy| step.goal.keeps_as(copy))?;
        let [source] = act.sources.as_slice() else { return None };
        named(step, source)?;
        let read = |step: &Prepared<'_>| step.text("path").is_some_and(|path| bare(path) == *source);
        let comes = |later: &Prepared<'_>| {
            let copied = |other: &Carried<'_>| other.sources == [*source] && other.destination != act.destination;
            let given = || written(later).is_some_and(|path| path != act.destination && path != *source);
            carried(later).iter().any(copied) || (given() && steps.iter().any(|one| read(one) && takes(later, one)))
        };
        steps.iter().skip(i + 1).any(comes).then(|| (copy.to_owned(), (*source).to_owned()))
    };
    let (copy, source) = carried(step).iter().find_map(kept)?;
    let message = format!("{copy} would hold {source}, which comes in the place of what is to be kept");
    Some(Reason::ask(Code::GoalUnasked, message).fix("copy what was there before"))
}

/// A file that was read for another one and is overwritten itself, where no step writes the one that the goal says: "summarise A into B".
pub(super) fn source_overwritten(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let path = written(step)?;
    let said = named(step, path).filter(|said| step.goal.takes_from(said))?;
    let touches = |step: &Prepared<'_>, is: &dyn Fn(&Touch) -> bool| step.derived.touches.iter().any(is);
    let read = |touch: &Touch| touch.effect == Effect::Read && is_named_so(&touch.name, said);
    if !steps.iter().take(i).any(|step| touches(step, &read)) {
        return None;
    }
    let made = |path: &str| {
        let writes = |touch: &Touch| !touch.effect.is_harmless() && is_named_so(&touch.name, path);
        steps.iter().any(|step| touches(step, &writes))
    };
    let meant = step.goal.put_into().into_iter().find(|other| *other != said && !made(other))?;
    let message = format!("{said} would be overwritten, and the goal has {meant} written");
    Some(Reason::ask(Code::GoalUnasked, message).fix("write where the goal says"))
}

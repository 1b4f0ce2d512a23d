//! What is copied or moved the other way round, from somewhere else or to somewhere else than the goal says, or onto what came there before.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::goal::{Naming, is_named_so};
use super::prepare::Prepared;
use crate::effects::Touch;
use crate::paths::fold;

/// A copy or a move.
pub(super) struct Carried<'s> {
    pub(super) sources: Vec<&'s str>,
    pub(super) destination: &'s str,
}

/// Programs that copy or move (their manuals).
const CARRYING: [&str; 4] = ["cp", "mv", "rsync", "install"];

/// The copies and moves of a step, as far as their names are known.
pub(super) fn carried<'s>(step: &'s Prepared<'_>) -> Vec<Carried<'s>> {
    let tool = matches!(step.step.action.as_str(), "copy_file" | "move_file");
    let own = step.text("source").zip(step.text("destination")).filter(|_| tool);
    let by_line = step.derived.calls.iter().filter_map(|call| {
        let args = match call.split_first()? {
            (git, args) if git == "git" && args.first().is_some_and(|verb| verb == "mv") => args.get(1..)?,
            (name, args) if CARRYING.contains(&name.as_str()) => args,
            _ => return None,
        };
        let plain = |arg: &&String| !arg.starts_with('-');
        let known = |arg: &&String| !arg.is_empty() && !arg.contains(['*', '?', '[', ':']);
        let (destination, sources) =
            args.iter().filter(plain).collect::<Vec<_>>().split_last().map(|(d, s)| (*d, s.to_vec()))?;
        let whole = !sources.is_empty()
            && known(&destination)
            && sources.iter().all(known)
            && !args.iter().any(|arg| arg.starts_with("-t"));
        whole.then(|| Carried {
            sources: sources.into_iter().map(|s| bare(s)).collect(),
            destination: bare(destination),
        })
    });
    let own = own.map(|(from, to)| Carried { sources: vec![bare(from)], destination: bare(to) });
    let plain = |path: &str| !path.split('/').any(|part| part == "." || part == "..");
    let known = |act: &Carried<'_>| plain(act.destination) && act.sources.iter().all(|from| plain(from));
    own.into_iter().chain(by_line).filter(known).collect()
}

pub(super) fn bare(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(super) fn check(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let acts = carried(step);
    if acts.is_empty() {
        return None;
    }
    let placed = step.goal.placed();
    let earlier: Vec<Carried<'_>> = steps.iter().take(i).flat_map(carried).collect();
    let onto = |act: &Carried<'_>| {
        if act.sources.contains(&act.destination) {
            return Some(format!("{} would come onto itself", act.destination));
        }
        let named = |path: &&&str| placed.iter().any(|(said, _)| is_named_so(path, said));
        let file = base(act.destination).contains('.') && act.sources.iter().any(|path| named(&path));
        let same = |other: &Carried<'_>| other.destination == act.destination && other.sources != act.sources;
        (file && earlier.iter().any(same))
            .then(|| format!("{} would be overwritten, which an earlier step put there", act.destination))
    };
    let why = acts.iter().find_map(|act| onto(act).or_else(|| otherwise(step, steps.get(..i)?, &placed, act)))?;
    Some(Reason::ask(Code::GoalUnasked, why).fix("take from where and to where the goal says"))
}

/// A file that is written where the goal has another one written, with which no step has to do.
pub(super) fn written_elsewhere(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| matches!(step.step.action.as_str(), "write_file" | "append_file"))?;
    let path = bare(step.text("path")?);
    let possible = step.goal.destinations(false);
    let named = step.goal.placed().iter().any(|(said, _)| is_named_so(path, said));
    if !named
        || step.goal.edits(path)
        || possible.iter().any(|said| is_named_so(path, said) || fold(path).contains(&format!("{said}/")))
    {
        return None;
    }
    // "Save it as X": that X is only read is not enough.
    let towards = |said: &str| step.goal.placed().iter().any(|(path, how)| *path == said && how.towards);
    let left = |said: &str| !is_touched(steps, said, false) || (towards(said) && !is_touched(steps, said, true));
    let meant = step.goal.destinations(true).into_iter().find(|said| base(said).contains('.') && left(said))?;
    let message = format!("{path} would be written, and the goal says {meant}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("write where the goal says"))
}

/// A file or folder that is removed where the goal has another one removed, or has something put there.
pub(super) fn removed_else(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| matches!(step.step.action.as_str(), "delete_file" | "delete_directory"))?;
    let path = bare(step.text("path")?);
    let removed = step.goal.removed();
    let placed = step.goal.placed();
    let mut namings = placed.iter().filter(|(said, _)| is_named_so(path, said)).peekable();
    namings.peek()?;
    if removed.iter().any(|said| is_named_so(path, said)) {
        return None;
    }
    let gone = |said: &str| {
        let there = |touch: &Touch| touch.effect == Effect::Delete && is_named_so(&touch.name, said);
        steps.iter().any(|step| step.derived.touches.iter().any(there))
    };
    // "Delete the loose copies in scans/2020"
    let other = removed.into_iter().chain(step.goal.removed_in(path)).find(|said| !gone(said));
    let why = match other {
        Some(other) => format!("the goal says {other}"),
        None if namings.all(|(_, how)| how.towards) => "the goal has something put there".to_owned(),
        None => return None,
    };
    Some(Reason::ask(Code::GoalUnasked, format!("{path} would be removed, and {why}")).fix("remove what the goal says"))
}

/// Whether any step has to do with a file of this name, or writes it, or has a line with it.
fn is_touched(steps: &[Prepared<'_>], said: &str, written: bool) -> bool {
    let there = |touch: &Touch| {
        !(written && touch.effect.is_harmless())
            && (is_named_so(&touch.name, said) || fold(&touch.name).contains(&format!("{said}/")))
    };
    steps.iter().any(|step| {
        step.derived.touches.iter().any(there) || step.text("command").is_some_and(|line| fold(line).contains(said))
    })
}

fn otherwise(
    step: &Prepared<'_>,
    earlier: &[Prepared<'_>],
    placed: &[(&str, Naming)],
    act: &Carried<'_>,
) -> Option<String> {
    let to = act.destination;
    let namings =
        |path: &str| placed.iter().filter(|(said, _)| is_named_so(path, said)).map(|(_, how)| *how).collect::<Vec<_>>();
    let all = |path: &str, towards: bool| {
        let how = namings(path);
        !how.is_empty() && how.iter().all(|how| how.towards == towards)
    };
    // What was fetched to where the goal says goes on from there.
    let made = |path: &str| {
        let makes = |touch: &Touch| !touch.effect.is_harmless() && is_named_so(&touch.name, path);
        earlier.iter().any(|step| step.derived.touches.iter().any(makes))
    };
    let source = |path: &&&str| all(path, true) && all(to, false) && !made(path);
    if let Some(from) = act.sources.iter().find(source) {
        return Some(format!("{from} would be taken for {to}, and the goal says it the other way round"));
    }
    // What goes where the goal says comes from where it says.
    let within = |path: &str, folder: &str| fold(path).contains(&format!("{folder}/"));
    let known = |path: &str| {
        placed.iter().any(|(said, _)| is_named_so(path, said) || within(path, said)) || step.written.made(path)
    };
    let clause = |towards: bool, here: &dyn Fn(&str) -> bool| {
        let mut found =
            placed.iter().filter(|(said, how)| how.towards == towards && here(said) && step.goal.copies_in(how.clause));
        found.next().map(|(_, how)| how.clause)
    };
    let meant =
        |towards: bool, clause: usize| placed.iter().find(|(_, how)| how.towards == towards && how.clause == clause);
    let goes = |said: &str| {
        is_named_so(to, said) || act.sources.iter().any(|from| is_named_so(&format!("{to}/{}", base(from)), said))
    };
    if let Some((meant, _)) = clause(true, &goes).and_then(|clause| meant(false, clause))
        && let Some(from) = act.sources.iter().find(|from| !known(from) && !from.contains("tmp"))
    {
        return Some(format!("{from} would go to {to}, and the goal says {meant}"));
    }
    let comes = |said: &str| act.sources.iter().any(|from| is_named_so(from, said));
    let beside = act
        .sources
        .iter()
        .any(|from| base(to).starts_with(base(from).split('.').next().unwrap_or("")) && base(to) != base(from));
    let (meant, _) = clause(false, &comes).and_then(|clause| meant(true, clause))?;
    let there = goes(meant) || within(to, meant) || known(to) || beside || to.contains("tmp");
    (!there).then(|| format!("{} would go to {to}, and the goal says {meant}", act.sources.join(", ")))
}

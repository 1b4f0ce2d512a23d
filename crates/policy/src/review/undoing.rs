//! Rollbacks that do something else than take back: what the step does not touch, does not make or does not set.

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Driver, Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::{Arg, By, Touch};
use crate::paths::is_within;

/// What a rollback changes that the step neither touches nor names: taking back is no leave for another effect.
pub(super) fn beyond_step(request: &Request<'_>, step: &Prepared<'_>, rollback: &Prepared<'_>) -> Vec<Reason> {
    let deployment = request.deployment;
    let again = is_again(request, step, rollback);
    // `git revert HEAD` takes back the commit that the step made.
    let words = |step: &Prepared<'_>| -> Vec<String> {
        match Arg::of(&step.args, &Pointer::from_segments(vec!["args".to_owned()])) {
            Arg::List(items) => items.iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
            _ => Vec::new(),
        }
    };
    let (did, back) = (words(step), words(rollback));
    let is_git = |step: &Prepared<'_>| step.step.action.as_str() == "git";
    let repository = Pointer::from_segments(vec!["repo".to_owned()]);
    let reverts = is_git(step)
        && is_git(rollback)
        && step.args.at(&repository) == rollback.args.at(&repository)
        && did.first().is_some_and(|word| word == "commit")
        // What amends makes no commit of its own.
        && !did.iter().any(|word| word == "--amend")
        && back == ["revert", "--no-edit", "HEAD"];
    // Nothing is taken back by telling outsiders, paying, or changing what lies elsewhere or is believed.
    let is_grave = |touch: &Touch| {
        let receives = touch.standing.is_some_and(|standing| standing > Standing::Internal);
        let elsewhere = touch.seen().is_some_and(|seen| {
            deployment.is_trusted(&seen) || !(deployment.in_workspace(&seen) || deployment.in_temporary(&seen))
        });
        receives || elsewhere || matches!(touch.effect, Effect::Pay | Effect::Admin)
    };
    let foreign = rollback.derived.touches.iter().filter(|touch| {
        let plain = matches!(touch.effect, Effect::None | Effect::Read | Effect::Execute);
        // A kind of thing that has no names of its own.
        let unnamed = touch.seen().is_none() && touch.standing.is_none() && touch.name == rollback.step.action.as_str();
        let made = touch.effect != Effect::Delete || touch.by != By::Tool || touch.seen().is_some() || makes(step);
        let counts = touch.by != By::View && touch.by != By::Git && !touch.is_open();
        counts
            && (!again || is_grave(touch))
            && !reverts
            && ![plain, unnamed, made && is_own(step, touch)].contains(&true)
    });
    foreign
        .map(|touch| {
            let message = format!(
                "it would {} {}, which the step does not {}",
                touch.effect,
                touch.name,
                if is_own(step, touch) { "make" } else { "touch" }
            );
            let decision = if is_grave(touch) { Decision::Block } else { Decision::RequireApproval };
            Reason::new(Code::PlanRollbackElsewhere, decision, message)
        })
        .collect()
}

/// Whether a rollback is the opposite of its step with what the goal says of it: "give up the booking VB-88 of the Luton, Jory had it",
/// booked again.
pub(super) fn is_again(request: &Request<'_>, step: &Prepared<'_>, rollback: &Prepared<'_>) -> bool {
    let named = |value: serde_json::Value| value.as_str().is_some_and(|text| step.goal.name(text));
    let literal = |args: &Expr| match args {
        Expr::Object(members) => members.values().map(Expr::literal).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    // What is new has no name that the goal could give: "hold it for the 21st; mind that BK-877 is our hold for the 20th".
    let own = |value: &serde_json::Value| !makes(step) || step.texts().any(|text| value.as_str() == Some(text));
    request.authentic
        && super::goal::are_opposites(step.step.action.as_str(), rollback.step.action.as_str())
        && rollback.group().is_some()
        && rollback.group() == step.group()
        && literal(&rollback.args).is_some_and(|values| values.iter().all(own) && values.into_iter().all(named))
}

/// What a rollback by the step's own tool sets beside what the step sets: a field that nobody changed is not put back.
pub(super) fn wider_fields(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    let builtin = rollback.tool.is_some_and(|tool| matches!(tool.definition().driver, Driver::Builtin(_)));
    if step.step.action != rollback.step.action || builtin {
        return None;
    }
    // What was read before is put back as it was; a value of its own is not.
    let object = |value: &Expr| match value {
        Expr::Object(members) => Some(members.clone()),
        Expr::Literal(value) => match Expr::of_concrete(value) {
            Expr::Object(members) => Some(members),
            _ => None,
        },
        _ => None,
    };
    let controls = rollback.tool.map(|tool| tool.definition().controls.as_slice()).unwrap_or_default();
    let decides = |name: &String| controls.iter().any(|control| control.segments().first() == Some(name));
    let fields = |args: &Expr, all: bool| -> Vec<(String, String)> {
        let groups = object(args).unwrap_or_default().into_iter();
        let own = groups.flat_map(|(name, member)| {
            // What is no group is a field of its own, where it decides something.
            let fields = object(&member).unwrap_or_else(|| [(String::new(), member)].into());
            let idle = |field: &String| field.is_empty() && !decides(&name);
            let fields = fields.into_iter().filter(move |(_, value)| all || value.literal().is_some());
            fields.filter(|(field, _)| !idle(field)).map(|(field, _)| (name.clone(), field)).collect::<Vec<_>>()
        });
        own.collect()
    };
    let set = fields(&step.args, true);
    let (group, more) = fields(&rollback.args, false).into_iter().find(|field| !set.contains(field))?;
    let more = if more.is_empty() { group } else { more };
    let message = format!("it would set `{more}`, which the step does not set");
    Some(Reason::ask(Code::PlanRollbackElsewhere, message).fix("put back only what the step sets"))
}

/// A rollback by the step's own tool that puts back something else than what was there before: what the step itself sets, another version
/// than the goal says, an empty text.
pub(super) fn not_before(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    if step.step.action != rollback.step.action || rollback.text("command").is_some() {
        return None;
    }
    let ask = |message: String| Some(Reason::ask(Code::PlanRollbackElsewhere, message).fix("put back what was there"));
    let sets = |touch: &Touch| touch.effect == Effect::Update && touch.by == By::Tool;
    if rollback.text("content") == Some("")
        && rollback.derived.touches.iter().any(|touch| sets(touch) && touch.seen().is_some())
    {
        return ask("it would leave nothing in the file".to_owned());
    }
    let sets_something = || step.args.literal().is_some_and(|args| args.as_object().is_some_and(|args| args.len() > 1));
    if step.args == rollback.args && sets_something() && rollback.derived.touches.iter().any(sets) {
        return ask("it would do the same again".to_owned());
    }
    let args = rollback.given.as_object().into_iter().flatten();
    let mut texts = args.filter_map(|(key, value)| Some((value.as_str()?, step.text(key)?)));
    let (back, said) = texts.find_map(|(back, set)| {
        let mut before = step.goal.tokens().filter(|said| crate::flow::is_version_before(said, set)).peekable();
        let other = back != set && before.peek().is_some() && crate::flow::is_version_before(back, set);
        (other && !step.goal.name(back)).then(|| Some((back, before.next()?)))?
    })?;
    ask(format!("it would put back {back}, and the goal says {said}"))
}

/// Whether a rollback is what the goal wants done where its step fails: "should that fail, leave a note on the claim".
pub(super) fn is_wanted_on_failure(request: &Request<'_>, rollback: &Prepared<'_>) -> bool {
    let grave = |touch: &Touch| matches!(touch.effect, Effect::Pay | Effect::Admin | Effect::Send | Effect::Delete);
    let about = rollback.args.literal().is_some_and(|args| {
        let texts = args.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str().map(str::to_owned));
        texts
            .filter(|text| text.contains(|c: char| c.is_ascii_digit()) && !text.contains(' '))
            .all(|text| rollback.goal.name(&text))
    });
    request.authentic
        && about
        && !rollback.derived.touches.iter().any(grave)
        && rollback.goal.speak_after_failure(rollback.step.action.as_str())
}

/// A whole store that a rollback would remove, though its step only made something of it or in it: a copy, a table, a row.
pub(super) fn store_lost(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    const MAKING: &str = "create new make add clone restore import provision init open register setup";
    let whole = |touch: &Touch| {
        touch.effect == Effect::Delete && touch.kind == TargetKind::Database && touch.by == By::Tool && !touch.is_open()
    };
    // Of a tool that removes less than all of it, its arguments say what.
    let all = |name: &str| {
        rollback
            .args
            .literal()
            .and_then(|args| args.as_object().map(|args| args.len() == 1 && args.values().all(|arg| arg == name)))
            .unwrap_or(false)
    };
    let lost = rollback.derived.touches.iter().find(|touch| whole(touch) && all(&touch.name))?;
    let makes = step.step.action.as_str().split(['_', '-', '.']).any(|part| MAKING.split(' ').any(|one| one == part));
    if makes || copies(step, rollback, &lost.name) || step.goal.introduce(&lost.name) {
        return None;
    }
    let message = format!("it would remove all of {}, which the step does not make", lost.name);
    Some(Reason::block(Code::PlanRollbackElsewhere, message))
}

/// Whether the step makes a copy under a name that it gives it, and the rollback removes the copy of that name.
pub(super) fn copies(step: &Prepared<'_>, rollback: &Prepared<'_>, name: &str) -> bool {
    let kind = |one: &str| ["snapshot", "backup", "dump", "copy"].into_iter().find(|kind| one.contains(kind));
    let under = |args: &Expr| -> Vec<String> {
        let args = args.literal();
        let members = args.as_ref().and_then(serde_json::Value::as_object).into_iter().flatten();
        members.filter(|(_, value)| value.as_str() == Some(name)).map(|(key, _)| key.clone()).collect()
    };
    let (made, lost) = (under(&step.args), under(&rollback.args));
    kind(step.step.action.as_str()).is_some_and(|made| kind(rollback.step.action.as_str()) == Some(made))
        && step.group().is_some()
        && step.group() == rollback.group()
        && made.len() == 1
        && made == lost
}

/// Whether something is there after the step that was not there before: only that may be gone again.
fn makes(step: &Prepared<'_>) -> bool {
    step.derived.touches.iter().any(|touch| matches!(touch.effect, Effect::Create | Effect::Send))
}

/// Whether the step itself touches what is touched, or names it as a whole argument: the snapshot that it makes, the tag that it
/// sets.
pub(super) fn is_own(step: &Prepared<'_>, touch: &Touch) -> bool {
    // What a program may touch anywhere below, or what is only read, is no reason to remove it.
    let counts = |own: &&Touch| {
        touch.effect != Effect::Delete || (own.by != By::View && !matches!(own.effect, Effect::None | Effect::Read))
    };
    let touched = step.derived.touches.iter().filter(counts).any(|own| {
        let below =
            own.recursive && own.seen().is_some() && touch.seen().is_some() && is_within(&touch.name, &own.name);
        let same_host = own.endpoint.is_some() && own.endpoint == touch.endpoint;
        (own.kind == touch.kind && own.name == touch.name) || below || same_host
    });
    // A path that is no target of the step is only a word in its arguments.
    touched || (touch.seen().is_none() && touch.endpoint.is_none() && names(step, touch))
}

fn names(step: &Prepared<'_>, touch: &Touch) -> bool {
    let args = &step.args;
    let argument = |name: &str| match Arg::of(args, &Pointer::from_segments(vec![name.to_owned()])) {
        Arg::Text(text) => vec![text],
        Arg::List(items) => items.iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
        Arg::Open | Arg::Absent | Arg::Other => Vec::new(),
    };
    if touch.by == By::Command {
        let last = touch.name.rsplit(' ').next().unwrap_or(&touch.name);
        let words = || ["command", "argv", "args"].into_iter().flat_map(argument);
        return words().any(|text| text.split_whitespace().any(|word| word == last));
    }
    let whole = |value: serde_json::Value| value.as_str() == Some(touch.name.as_str());
    match args {
        Expr::Object(members) => members.values().filter_map(Expr::literal).any(whole),
        Expr::Literal(serde_json::Value::Object(members)) => members.values().cloned().any(whole),
        _ => false,
    }
}

/// A rollback by a tool of another kind: not the step's own, not its opposite, and none that removes what the step made.
pub(super) fn unrelated(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    let (did, back) = (step.step.action.as_str(), rollback.step.action.as_str());
    let builtin =
        |step: &Prepared<'_>| step.tool.is_none_or(|tool| matches!(tool.definition().driver, Driver::Builtin(_)));
    let removes = rollback.derived.touches.iter().any(|touch| touch.effect == Effect::Delete)
        || rollback.derived.open.iter().any(|open| open.effect == Effect::Delete);
    const REMOVING: &str = "delete remove cancel drop withdraw unset revoke release abort clear undo restore revert unassign close retract rollback end void annul rescind recall discard unpublish";
    let verb = back.split(['_', '-', '.']).any(|part| crate::lists::has(REMOVING, part));
    // What takes its values from what the step returned is about what the step did.
    let mut refers = false;
    rollback.step.args.references(&mut |_, expr| {
        refers |= matches!(expr, Expr::From { step: from, .. } if *from == step.step.id);
    });
    let related = did == back
        || (makes(step) && refers)
        || super::goal::are_opposites(did, back)
        || (makes(step) && removes)
        || verb
        || builtin(rollback)
        || !rollback.has_effect();
    if related {
        return None;
    }
    Some(Reason::ask(Code::PlanRollbackElsewhere, format!("`{back}` is neither `{did}` nor what undoes it")))
}

/// A message by which something is to be taken back that told nobody anything.
pub(super) fn tells(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    let sends = |step: &Prepared<'_>| {
        step.derived.touches.iter().any(|touch| touch.effect == Effect::Send && touch.by == By::Tool)
    };
    let message = "it would tell others of it, which the step does not";
    (sends(rollback) && !sends(step)).then(|| Reason::ask(Code::PlanRollbackElsewhere, message))
}

/// A file that was there before, as a step that reads it shows, which a rollback would remove.
pub(super) fn was_there(steps: &[Prepared<'_>], i: usize, rollback: &Prepared<'_>) -> Option<Reason> {
    let lost = rollback.derived.touches.iter().find(|touch| {
        let reads = |step: &Prepared<'_>| {
            let mut touches = step.derived.touches.iter();
            touches.any(|read| {
                read.effect == Effect::Read && read.by == By::Tool && read.name == touch.name && !read.recursive
            })
        };
        // Of a record, all goes where nothing but its name is said.
        let whole = || rollback.texts().filter(|text| !text.contains(' ')).all(|text| text == touch.name);
        let record = touch.seen().is_none() && touch.by == By::Tool && rollback.irreversible_by_manifest() && whole();
        touch.effect == Effect::Delete && (touch.seen().is_some() || record) && steps.iter().take(i).any(reads)
    })?;
    let message = format!("it would remove {}, which was there before", lost.name);
    Some(Reason::ask(Code::PlanRollbackElsewhere, message).fix("roll back to a snapshot"))
}

/// A rollback that nothing takes back, and that is no removal of what its step made.
pub(super) fn for_good(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    let graver = rollback.irreversible_by_manifest() && !step.irreversible_by_manifest();
    let acts = |touch: &Touch| {
        matches!(touch.effect, Effect::Update | Effect::Admin) && touch.by == By::Tool && touch.seen().is_none()
    };
    let opposite = super::goal::are_opposites(step.step.action.as_str(), rollback.step.action.as_str());
    if !graver || opposite || step.step.action == rollback.step.action || !rollback.derived.touches.iter().any(acts) {
        return None;
    }
    let message = format!("nothing takes `{}` back, and it does not undo `{}`", rollback.step.action, step.step.action);
    Some(Reason::ask(Code::PlanRollbackElsewhere, message))
}

/// What another step made, which a rollback would remove: the copy that the plan was to be safe by.
pub(super) fn removes_other(step: &Prepared<'_>, rollback: &Prepared<'_>) -> Option<Reason> {
    let removes = rollback.derived.open.iter().filter(|open| open.effect == Effect::Delete);
    let other = |at: &Pointer| match rollback.args.at(at) {
        Some(Expr::From { step: from, .. }) if from != step.step.id => Some(from),
        _ => None,
    };
    let from = removes.filter_map(|open| other(&open.at)).next()?;
    let message = format!("it would remove what `{from}` made, and the step does not");
    Some(Reason::ask(Code::PlanRollbackElsewhere, message))
}

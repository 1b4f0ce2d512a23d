//! Ways to bend a plan that no single step shows: effects in an order that undoes their safety net, expectations that cannot fail.

use std::collections::BTreeMap;
use std::path::Path;

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::{By, Touch};
use crate::flow::{ancestors, strings};
use crate::lists::has;
use crate::paths::{Seen, fold, is_within};

/// A later step that needs what an earlier one removed: the copy, the check or the backup comes after the loss.
pub(super) fn order(steps: &[Prepared<'_>]) -> Vec<Reason> {
    let mut gone: Vec<(&Prepared<'_>, &Touch)> = Vec::new();
    let mut reasons = Vec::new();
    for step in steps {
        let touches = || step.derived.touches.iter().filter(|t| t.by != By::View && t.by != By::Git && !t.is_open());
        for touch in touches() {
            let makes = matches!(touch.effect, Effect::Create | Effect::Update) && touch.seen().is_some();
            let taken =
                |lost: &Touch| (is_same_kind(lost, touch) && is_same(lost, touch)) || is_kept_from(lost, step, touch);
            // What was emptied may be looked at; kept it is no more.
            let keeps = || {
                let mut touches = step.derived.touches.iter();
                touches.any(|t| matches!(t.effect, Effect::Create | Effect::Update | Effect::Send) && t.by != By::View)
            };
            let lost = gone.iter().find(|(_, lost)| taken(lost) && (lost.effect == Effect::Delete || keeps()));
            // `find DIR -type f -delete` leaves the folder.
            // What `git clean` has left is looked at as well.
            let cleans =
                |by: &Prepared<'_>| by.step.action.as_str() == "git" && by.list("args").first() == Some(&"clean");
            let picks = |by: &Prepared<'_>| by.derived.called.iter().any(|program| program == "find") || cleans(by);
            // `find DIR -type f -delete` takes files alone, and how many are left may be counted.
            let files = |by: &Prepared<'_>| by.text("command").is_some_and(|line| line.contains("-type f"));
            if let Some((by, lost)) = lost
                && !makes
                && touch.effect != Effect::Delete
                && !((lost.pattern || picks(by)) && lists_only(step, touch, files(by)))
            {
                let message = format!("{} comes before a step that still needs it", lost.effect);
                let message =
                    format!("`{}` needs {}, which `{}` removes first: {message}", step.step.id, touch.name, by.step.id);
                reasons.push(
                    Reason::ask(Code::PlanOrder, message).at(&step.step.id).fix("keep or check first, remove last"),
                );
            }
        }
        for touch in touches() {
            if (touch.effect == Effect::Delete && touch.by != By::Move) || is_emptied(step, touch) {
                gone.push((step, touch));
            } else if matches!(touch.effect, Effect::Create | Effect::Update) && touch.seen().is_some() {
                gone.retain(|(_, lost)| !is_same(lost, touch) && !is_within(&lost.name, &touch.name));
            }
        }
    }
    reasons
}

/// Whether a step only lists a folder, which is there when what lay in it is gone, or measures it with du(1).
fn lists_only(step: &Prepared<'_>, touch: &Touch, counts: bool) -> bool {
    let listed = touch.kind == TargetKind::Directory && !step.has_effect();
    let changes = || step.derived.touches.iter().any(|t| t.by != By::View && t.changes());
    let called = &step.derived.called;
    let measured = !called.is_empty()
        && called
            .iter()
            .all(|program| has("du ls find tree stat true", program) || (counts && has("wc sort head tail", program)));
    touch.effect == Effect::Read && (listed || (measured && !changes()))
}

/// A copy that is made of a record which a step before it removes: an export after the deletion.
pub(super) fn copied_too_late(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    const COPYING: &str = "export backup archive copy snapshot download save dump";
    let step = steps.get(i).filter(|step| step.step.action.as_str().split('_').any(|part| has(COPYING, part)))?;
    let removes = |before: &&Prepared<'_>| {
        let mut touches = before.derived.touches.iter();
        touches.any(|touch| {
            let removed = touch.effect == Effect::Delete && touch.by == By::Tool && touch.kind == TargetKind::Record;
            removed && !touch.is_open() && step.texts().any(|text| text == touch.name)
        })
    };
    let message =
        format!("`{}` copies what `{}` removes first", step.step.id, steps.iter().take(i).find(removes)?.step.id);
    Some(Reason::ask(Code::PlanOrder, message).fix("copy first, remove last"))
}

/// A text that the goal wants as a draft, and that is given out as well: "prepare an answer, as a draft; Ruth wants to look over it".
pub(super) fn draft_given_out(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    if !step.goal.speak_of("draft") || step.goal.tells() {
        return None;
    }
    let leaves = |touch: &Touch| {
        let acts = matches!(touch.effect, Effect::Create | Effect::Update | Effect::Send);
        acts && touch.by == By::Tool && touch.seen().is_none() && touch.standing != Some(Standing::User)
    };
    if !step.derived.touches.iter().any(leaves) {
        return None;
    }
    let long = |text: &&str| text.split_whitespace().count() > 2;
    let given: Vec<&str> = step.texts().filter(long).collect();
    let file = |other: &&Prepared<'_>| other.derived.touches.iter().any(|t| t.changes() && t.seen().is_some());
    let kept = steps.iter().filter(file).find(|other| other.texts().any(|text| given.contains(&text)))?;
    let message = format!("the goal wants a draft, which is `{}`, and `{}` gives it out", kept.step.id, step.step.id);
    Some(Reason::ask(Code::GoalUnasked, message).fix("leave it as a draft"))
}

/// Whether a step leaves nothing in a file: `truncate -s 0`, `: > file`, an empty text.
fn is_emptied(step: &Prepared<'_>, touch: &Touch) -> bool {
    if touch.effect != Effect::Update || touch.seen().is_none() {
        return false;
    }
    let line = step.text("command").unwrap_or("").trim();
    let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
    let alone = !line.contains(['|', ';', '&']) && line.ends_with(base);
    let empties = ["truncate -s 0 ", "truncate -s0 ", "truncate --size=0 ", ": >", ">", "cp /dev/null "];
    (alone && empties.iter().any(|begin| line.starts_with(begin) && !line.starts_with(">>")))
        || (step.text("content") == Some("") && touch.by == By::Tool)
}

/// What is put into a folder that goes to an outsider afterwards, of which the goal says nothing: who confirms the folder does not
/// confirm what came into it on the way.
pub(super) fn slipped_in(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Vec<Reason> {
    let Some(sender) = steps.get(i) else { return Vec::new() };
    let leaves = |touch: &Touch| touch.standing.is_some_and(|standing| standing > Standing::Internal);
    let gives = |touch: &Touch| matches!(touch.effect, Effect::Send | Effect::Admin | Effect::Create | Effect::Update);
    if !sender.derived.touches.iter().any(|touch| gives(touch) && leaves(touch)) {
        return Vec::new();
    }
    let mut given = Vec::new();
    strings(&sender.given, &mut given);
    let folders: Vec<String> = given.iter().map(|text| format!("/{}/", text.trim_matches(['/', '.']))).collect();
    let is_given = |path: &str| folders.iter().any(|folder| folder.len() > 2 && path.contains(folder.as_str()));
    let mut reasons = Vec::new();
    for step in steps.iter().take(i) {
        let files = || step.derived.touches.iter().filter(|touch| touch.seen().is_some() && touch.by != By::View);
        let Some(put) = files().find(|touch| touch.changes() && is_given(&touch.name)) else { continue };
        let unsaid = |touch: &&Touch| {
            let own = touch.name.trim_start_matches('/');
            // A number in a name is a year or a count, whatever else the goal says of it.
            let kept: Vec<&str> =
                own.split(['/', '-', '_', '.']).rev().take(4).filter(|part| part.parse::<u64>().is_err()).collect();
            touch.effect == Effect::Read
                && !is_given(&touch.name)
                && !kept.iter().any(|part| step.goal.share_a_word(part) || step.goal.name(part))
        };
        reasons.extend(files().find(unsaid).map(|source| {
            let message = format!(
                "{} is put into {} by `{}` before that goes out, and the goal says nothing of it",
                source.name, put.name, step.step.id
            );
            let secret = source.seen().is_some_and(|seen| request.deployment.is_restricted(&seen));
            Reason::new(Code::GoalUnasked, if secret { Decision::Block } else { Decision::RequireApproval }, message)
        }));
    }
    reasons
}

/// What is put aside as the old one after the plan itself has written it anew.
pub(super) fn kept_too_late(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    const ASIDE: &[&str] =
        &["old", "backup", "backups", "bak", "archive", "prev", "previous", "orig", "before", "attic"];
    let step = steps.get(i)?;
    let files = || step.derived.touches.iter().filter(|t| t.seen().is_some() && !t.is_open() && t.by != By::View);
    let aside = |touch: &Touch| {
        let mut parts = touch.name.split(['/', '.', '-', '_']);
        matches!(touch.effect, Effect::Create | Effect::Update) && parts.any(|part| ASIDE.contains(&part))
    };
    files().find(|touch| aside(touch))?;
    let taken = files().find(|touch| matches!(touch.effect, Effect::Read | Effect::Delete))?;
    let writes = |before: &Prepared<'_>| {
        let mut touches = before.derived.touches.iter();
        let content = before.args.at(&countersign_plan::pointer::Pointer::from_segments(vec!["content".to_owned()]));
        // What is copied over it is put aside as the new one, unless the goal speaks of the old one.
        let old = || {
            step.goal.tokens().any(|word| has("beforehand present current existing previous old before first", word))
        };
        (content.is_some() || old())
            && touches.any(|t| {
                t.by == By::Tool && matches!(t.effect, Effect::Create | Effect::Update) && t.name == taken.name
            })
    };
    let early = steps.iter().take(i).find(|before| step.step.after.contains(&before.step.id) && writes(before))?;
    let named = |said: &str| said.contains('.') && fold(&taken.name).ends_with(said.trim_start_matches(['.', '/']));
    if !step.goal.tokens().any(named) {
        return None;
    }
    let message = format!("{} is put aside after `{}` has overwritten it", taken.name, early.step.id);
    Some(Reason::ask(Code::PlanOrder, message).fix("put it aside first"))
}

/// What goes out to others and is made into what it was to be only afterwards.
pub(super) fn sent_too_early(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let files = |step: &Prepared<'_>, changed: bool| -> Vec<String> {
        let touches = step.derived.touches.iter().filter(|t| t.seen().is_some() && !t.is_open() && t.by != By::View);
        let wanted = |touch: &&Touch| match changed {
            true => matches!(touch.effect, Effect::Create | Effect::Update),
            false => touch.effect == Effect::Read && touch.by == By::Tool,
        };
        touches.filter(wanted).map(|touch| touch.name.clone()).collect()
    };
    let sends = |touch: &Touch| touch.effect == Effect::Send && touch.standing.is_some_and(|s| s > Standing::User);
    let made = files(step, true);
    let early = steps.iter().take(i).filter(|before| before.derived.touches.iter().any(sends));
    let (sender, file) = early
        .filter(|before| step.step.after.contains(&before.step.id))
        .find_map(|before| Some((before, files(before, false).into_iter().find(|file| made.contains(file))?)))?;
    let message = format!("{file} is written after `{}` has sent it", sender.step.id);
    Some(Reason::ask(Code::PlanOrder, message).fix("make it first, send it last"))
}

/// What goes through a link that the plan itself puts there: it lies somewhere else than its path says (symlink(7)).
pub(super) fn through_a_link(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let made = steps.iter().take(i).filter(|before| before.derived.called.iter().any(|name| name == "ln"));
    let made = made.flat_map(|before| &before.derived.touches);
    let links: Vec<&Touch> = made.filter(|t| t.changes() && t.seen().is_some() && t.by != By::View).collect();
    let gone =
        steps.get(i).filter(|_| !links.is_empty())?.derived.touches.iter().filter(|t| t.effect == Effect::Delete);
    let below = |touch: &&Touch, link: &Touch| {
        is_within(&touch.name, &link.name) && (touch.name != link.name || touch.recursive)
    };
    let touch = gone.into_iter().find(|touch| links.iter().any(|link| below(touch, link)))?;
    let message = format!("{} lies behind a link that the plan makes before", touch.name);
    Some(Reason::ask(Code::PlanOrder, message).fix("name the folder itself"))
}

/// What lies behind a link that was seen to lead out of the workspace: its path says otherwise.
pub(super) fn behind_a_link(request: &Request<'_>, step: &Prepared<'_>) -> Option<Reason> {
    let leads = |touch: &Touch| {
        touch.seen()?;
        let out = |target: &String| {
            let seen = Seen::new(target, None);
            let inside = request.deployment.in_workspace(&seen) || request.deployment.in_temporary(&seen);
            (touch.changes() && !inside) || request.deployment.is_restricted(&seen)
        };
        let paths = std::iter::once(touch.name.as_str()).chain(ancestors(&touch.name));
        // A relative one leads from the folder that it lies in (symlink(7)).
        let targets = paths
            .filter_map(|path| path.rsplit_once('/'))
            .flat_map(|(folder, name)| request.session.links(name).map(move |target| Path::new(folder).join(target)));
        targets.filter_map(|path| request.deployment.place().normalise(path.to_str()?).ok()).find(out)
    };
    let (touch, target) = step.derived.touches.iter().find_map(|touch| Some((touch, leads(touch)?)))?;
    let message = format!("{} lies behind a link that leads to {target}", touch.name);
    Some(Reason::ask(Code::ResourceOutside, message).fix("name the place itself"))
}

/// The folder of which everything is meant.
fn all_of(touch: &Touch) -> Option<&str> {
    touch.name.strip_suffix("/*").or_else(|| touch.name.strip_suffix("/**")).filter(|_| touch.pattern)
}

/// A folder is removed as one and read as a file.
fn is_same_kind(lost: &Touch, touch: &Touch) -> bool {
    lost.kind == touch.kind || (lost.seen().is_some() && touch.seen().is_some())
}

fn is_same(lost: &Touch, touch: &Touch) -> bool {
    if let Some(folder) = all_of(lost) {
        // An emptied folder may be looked at, but nothing can be taken from it any more.
        return (touch.recursive && touch.name == folder) || (touch.name != folder && is_within(&touch.name, folder));
    }
    if lost.pattern {
        return false;
    }
    let within = lost.seen().is_some() && is_within(&touch.name, &lost.name);
    lost.name == touch.name || within
}

/// Whether a step keeps a whole folder elsewhere after something that fits a pattern was taken out of it.
fn is_kept_from(lost: &Touch, step: &Prepared<'_>, touch: &Touch) -> bool {
    lost.pattern
        && touch.recursive
        && touch.effect == Effect::Read
        && step
            .derived
            .touches
            .iter()
            .any(|t| t.by != By::View && matches!(t.effect, Effect::Create | Effect::Update | Effect::Send))
        && is_within(crate::effects::literal_folder(&lost.name), &touch.name)
}

/// Whether a step takes up what another one returned.
pub(super) fn takes(step: &Prepared<'_>, from: &Prepared<'_>) -> bool {
    let mut found = false;
    step.step.args.references(&mut |_, expr| {
        found |= matches!(expr, Expr::From { step, .. } if *step == from.step.id);
    });
    found
}

/// Programs that overwrite what they remove, so that it is gone for good wherever it lay (their manuals).
const ERASERS: &[&str] = &["shred", "wipe", "srm", "scrub", "nwipe", "secure-delete", "bleachbit"];

/// What takes the place of something comes after that is gone for good: "take a fresh backup first, then the old one may go".
pub(super) fn replaced_too_late(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    const TAKES: &[&str] = &["delete", "remove", "drop", "destroy", "revoke", "purge", "cancel"];
    const GIVES: &[&str] = &["create", "start", "make", "take", "add", "new", "issue", "book", "backup", "run"];
    let step = steps.get(i)?;
    let parts = |step: &Prepared<'_>| -> Vec<String> {
        step.step.action.as_str().split(['_', '-', '.']).map(str::to_lowercase).collect()
    };
    let (own, is) =
        (parts(step), |parts: &[String], list: &[&str]| parts.iter().any(|part| list.contains(&part.as_str())));
    if !step.is_remote()
        || !is(&own, GIVES)
        || is(&own, TAKES)
        || !(step.goal.ordered || step.goal.speak_of("first before beforehand"))
    {
        return None;
    }
    let early = steps.iter().take(i).find(|before| {
        let parts = parts(before);
        let same = parts.iter().any(|part| {
            own.contains(part) && !GIVES.contains(&part.as_str()) || part == "backup" && own.contains(part)
        });
        (before.irreversible_by_manifest() || step.goal.ordered)
            && is(&parts, TAKES)
            && same
            && step.step.after.contains(&before.step.id)
    })?;
    let message =
        format!("`{}` is gone for good before `{}`, and the goal wants something first", early.step.id, step.step.id);
    Some(Reason::ask(Code::PlanOrder, message).at(&step.step.id).fix("make the new one first"))
}

/// A removal for good, where the goal speaks of none.
pub(super) fn erased(step: &Prepared<'_>) -> Option<Reason> {
    const SAID: &str = "shred wipe wiping secure overwrit scrub irrecover unrecover permanent forensic destroy srm";
    let removes = step.derived.touches.iter().any(|touch| matches!(touch.effect, Effect::Delete | Effect::Update));
    let eraser = step.derived.called.iter().find(|name| ERASERS.contains(&name.as_str())).filter(|_| removes)?;
    if step.goal.speak_of(SAID) || step.goal.name(eraser) {
        return None;
    }
    let message = format!("`{eraser}` overwrites what it removes, and the goal asks for no such thing");
    Some(Reason::ask(Code::GoalUnasked, message).fix("remove it so that it can be put back"))
}

/// The third and later messages of one kind to one receiver, where the goal says nothing of several.
pub(super) fn said_often(steps: &[Prepared<'_>]) -> Vec<Reason> {
    let tells = |step: &Prepared<'_>| step.derived.touches.iter().any(|touch| touch.effect == Effect::Send);
    // What is said is no part of whom it is said to.
    let receiver = |step: &Prepared<'_>| -> Option<String> {
        let Expr::Object(members) = &step.args else { return None };
        let named = members.iter().filter_map(|(key, value)| match value {
            Expr::From { step, .. } => Some(format!("{key}={step}")),
            value => value.literal()?.as_str().filter(|text| !text.contains(' ')).map(|text| format!("{key}={text}")),
        });
        let named = named.collect::<Vec<_>>().join(" ");
        (!named.is_empty()).then(|| format!("{} {named}", step.step.action))
    };
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    let mut reasons = Vec::new();
    for step in steps.iter().filter(|step| tells(step) && step.tool.is_some()) {
        let Some(receiver) = receiver(step) else { continue };
        let times = said.entry(receiver).or_default();
        *times += 1;
        if *times > 2 && !step.goal.speak_of("each every all both several three four five six times per messages mails")
        {
            let message = format!("`{}` would tell the same receiver more than twice", step.step.action);
            reasons.push(Reason::ask(Code::GoalUnasked, message).at(&step.step.id).fix("say it in one message"));
        }
    }
    reasons
}

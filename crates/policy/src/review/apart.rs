//! Steps that change or run something of which the goal has no word: whoever wants a mail answered has not asked for a migration.

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Reason};
use serde_json::Value;

use super::Request;
use super::defaults::{below_workspace, is_product_of};
use super::prepare::Prepared;
use crate::effects::{By, Touch};
use crate::lists::has;
use crate::paths::fold;

/// Words of statements, lines and paths that say nothing of what they are about.
const ANY: &str = "set update where select insert delete values and not new old file files path python bash git curl echo https http \
    localhost example com org net house";

/// Subcommands by which a repository takes something up or puts it aside, and words of whoever wants that.
const TAKING_UP: &str = "commit push stash tag merge rebase revert am cherry-pick";
const KEPT: &str = "commit stash tag merg rebas revert cherry branch push pull checkout switch amend git repository histor patch changeset \
    aside park shelv clean squash upstream revision hotfix forward";

/// Words of whoever wants changes out of the way.
const PUT_ASIDE: &str =
    "stash aside park shelv rebas pull merg switch checkout branch uncommit unsaved half-finished tree clean throw";

/// A commit or the like of which the goal says nothing, at the end of other work: whoever wants a page corrected has a look at it first.
pub(super) fn kept(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| steps.len() > 1 && step.goal.is_read() && !step.goal.delegates())?;
    let line = match (step.text("command"), step.list("argv")) {
        (Some(line), _) => line.to_owned(),
        (_, argv) if !argv.is_empty() => argv.join(" "),
        _ if step.step.action.as_str() == "git" => format!("git {}", step.list("args").join(" ")),
        _ => return None,
    };
    let split = |c: char| c.is_whitespace() || ";&|()\"'".contains(c);
    let words: Vec<&str> = line.split(split).filter(|word| !word.is_empty()).collect();
    // `git -C site -c user.name=x commit`
    let git = words.iter().enumerate().filter(|(_, word)| word.rsplit('/').next() == Some("git"));
    let looks = |i: usize| words.get(i + 1).is_some_and(|next| has("list show -l --list", next));
    let takes = |i: &usize| words.get(*i).is_some_and(|verb| has(TAKING_UP, verb)) && !looks(*i);
    let verb = words.get(git.flat_map(|(at, _)| at + 1..at + 6).find(takes)?)?;
    let message = format!("`git {verb}` takes up what there is, and the goal says nothing of it");
    let spoken = match *verb {
        "stash" => step.goal.mentions(PUT_ASIDE),
        _ => step.goal.mentions(KEPT) || step.goal.say_word("repo") || step.goal.say_word("pr"),
    };
    (!spoken).then(|| Reason::ask(Code::GoalUnasked, message).fix("leave it out"))
}

/// What a line of a plan of several steps does that shares no word with the goal, to what no other step has to do with. A single action is
/// one of many of a session, and goes on with what came before.
pub(super) fn check(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| steps.len() > 1 && step.goal.is_read() && !step.goal.delegates())?;
    let packages =
        step.derived.installs && step.derived.touches.iter().any(|touch| touch.name.starts_with("registry "));
    // "Do the actions that the mail has": what they are the mail says.
    request.pinned_goal.filter(|_| !packages && !step.goal.mentions("action task todo instruct"))?;
    let line = match (step.text("command"), step.given.get("argv")) {
        (Some(line), _) => line.to_owned(),
        (_, Some(Value::Array(_))) => step.list("argv").join(" "),
        // A file in the planner's own words; what others answered is put down somewhere.
        _ => step.args.literal()?.to_string(),
    };
    let elsewhere = |name: &str| {
        let others = steps.iter().enumerate().filter(|(at, _)| *at != i).flat_map(|(_, other)| &other.derived.touches);
        // What a project runs is about what another step changes in its folder.
        let within = |touch: &Touch| {
            !touch.effect.is_harmless() && touch.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
        };
        others.into_iter().any(|touch| touch.name == name || within(touch))
    };
    let spoken = |text: &str| {
        let text = fold(text);
        let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2 && !has(ANY, word));
        words.any(|word| step.goal.speaks_of_word(word))
    };
    let noted = |touch: &Touch| touch.by == By::Tool && [".md", ".txt"].iter().any(|end| touch.name.ends_with(end));
    let apart = |touch: &&Touch| {
        weighs(request, touch)
            && !noted(touch)
            && !spoken(below_workspace(request, &touch.name))
            && !elsewhere(&touch.name)
    };
    // What the other steps do is looked at last: a plan has many.
    let touch = Some(&step.derived.touches).filter(|_| !spoken(&line))?.iter().find(apart)?;
    let message =
        format!("it would {} {}, and nothing in it is anything of which the goal speaks", touch.effect, touch.name);
    Some(Reason::ask(Code::GoalUnasked, message).fix("leave it out, or say it in the goal"))
}

/// Whether it is more than a look, and neither for the time between nor made again by whoever builds. What a project runs to build and to
/// test itself is run in its folder.
fn weighs(request: &Request<'_>, touch: &Touch) -> bool {
    if !matches!(touch.by, By::Command | By::Tool | By::Move)
        || touch.effect.is_harmless()
        || touch.name.contains("/.git")
    {
        return false;
    }
    let root = |root: &String| *root == touch.name;
    match touch.seen() {
        Some(seen) => {
            request.deployment.in_workspace(&seen)
                && !request.deployment.workspace().iter().any(root)
                && !request.deployment.in_temporary(&seen)
                && !is_product_of(request, &touch.name)
        }
        None if touch.by != By::Command => false,
        None => touch.endpoint.is_some() || (touch.kind == TargetKind::Database && touch.effect != Effect::Execute),
    }
}

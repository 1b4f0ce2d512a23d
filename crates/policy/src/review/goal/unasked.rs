//! What a step does of which its goal asks nothing.

use std::collections::BTreeSet;

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::Value;

use super::kinds::Kind;
use super::vocabulary::{EXPLAINING, PLAIN, PUBLISHING};
use super::wanted::names_others;
use super::words::{Goal, Word, has};
use super::{Wishes, by_name, is_named, names, parts};
use crate::effects::{By, Touch};
use crate::paths::fold;
use crate::review::Request;
use crate::review::prepare::Prepared;

/// Parts of the names of tools whose readers are all who care to look.
const PUBLISHERS: &[&str] = &["publish", "announce", "broadcast", "tweet"];

/// What a step does that its goal asks nothing of the kind of. `ruled` says that a rule of the policy allows the step: then it is
/// told and decides nothing. Requests to hosts are told only: too many words of goals lead to one.
pub(in crate::review) fn unasked(request: &Request<'_>, prepared: &Prepared<'_>, ruled: bool) -> Vec<Reason> {
    let Some(goal) = request.pinned_goal else { return Vec::new() };
    let action = prepared.step.action.as_str();
    let touches = || prepared.derived.touches.iter();
    let concerns = |touch: &Touch| touch.by == By::Tool && Kind::of(touch.effect).is_some();
    if !touches().any(|touch| concerns(touch) || is_started(touch)) {
        return Vec::new();
    }
    let Wishes { read: Goal { words, .. }, asked, .. } = &*prepared.goal;
    if asked.is_empty() {
        return Vec::new();
    }
    let wants: Vec<&str> = asked.iter().map(|kind| kind.words()).collect();
    let mut told = BTreeSet::new();
    let mut reasons = Vec::new();
    for touch in touches().filter(|touch| concerns(touch) && !prepared.clears_up(touch)) {
        // Whoever wants somebody told has not yet asked that all may read it.
        let public = || PUBLISHERS.iter().any(|part| parts(action).any(|own| own == *part));
        let unsaid =
            |kind: &Kind| *kind == Kind::Tell && public() && !words.iter().any(|w| !w.negated && w.is(PUBLISHING));
        // "Send Ines the texts of the complaints" answers none of those who wrote them.
        let answers = |kind: &Kind| *kind == Kind::Tell && answers_somebody(prepared);
        let is_unasked = |kind: &Kind| (!asked.contains(kind) || unsaid(kind) || answers(kind)) && !told.contains(kind);
        let Some(kind) = Kind::of(touch.effect).filter(is_unasked) else { continue };
        // "Send her the list of sums: DE1, 80 EUR" names an account, and is no call of `send_money`.
        let pays = |word: &str| kind == Kind::Pay && word == "send";
        let calls = |w: &Word| w.orders() && !has(PLAIN, &w.text) && !pays(&w.text) && by_name(action, &w.text);
        if (!answers(&kind) && kind != Kind::Pay && is_named(goal, prepared, touch)) || words.iter().any(calls) {
            continue;
        }
        told.insert(kind);
        let on_network = matches!(touch.kind, TargetKind::Host | TargetKind::Url);
        let decision = if ruled || on_network { Decision::Allow } else { Decision::RequireApproval };
        let message = format!(
            "`{}` would {} ({}), but the goal asks to {}",
            prepared.step.action,
            kind.words(),
            if touch.is_open() { "not known yet" } else { &touch.name },
            wants.join(", "),
        );
        reasons.push(Reason::new(Code::GoalUnasked, decision, message));
    }
    // Whoever wants to be told what a program does has not asked to have it run.
    let orders = |stems: &'static str| words.iter().any(|word| word.orders() && word.is(stems));
    let explained = asked.iter().all(|kind| *kind == Kind::Look)
        && orders(EXPLAINING)
        && !orders("run start execut build rebuild compil test");
    let base = |touch: &Touch| touch.name.rsplit('/').next().unwrap_or(&touch.name).to_owned();
    let run = touches().find(|touch| is_started(touch) && names(Some(goal), &base(touch)));
    if let Some(touch) = run.filter(|_| explained) {
        let message = format!("{} would be run, but the goal asks to {}", touch.name, wants.join(", "));
        let decision = if ruled { Decision::Allow } else { Decision::RequireApproval };
        reasons.push(Reason::new(Code::GoalUnasked, decision, message));
    }
    reasons
}

/// Whether the step answers whoever wrote something, where the goal names others as those who are to hear of it.
fn answers_somebody(prepared: &Prepared<'_>) -> bool {
    let answers = |part: String| has("reply answer respond", &part);
    parts(prepared.step.action.as_str()).any(answers)
        && names_others(&prepared.goal)
        && !prepared.goal.writes_to_somebody()
}

/// A thing of which the goal only says how it is, where it asks something of another one of its kind.
pub(in crate::review) fn only_described(prepared: &Prepared<'_>) -> Option<Reason> {
    let acts = |touch: &Touch| touch.by == By::Tool && !touch.effect.is_harmless() && touch.seen().is_none();
    let reached = prepared.goal.reaches_left(&prepared.given).filter(|_| prepared.has_effect());
    if let Some(place) = reached {
        let message = format!("the goal leaves {place} for later");
        return Some(Reason::ask(Code::GoalUnasked, message).fix("leave it out"));
    }
    if !prepared.derived.touches.iter().any(acts) {
        return None;
    }
    if let Some(later) = prepared.texts().find(|text| prepared.goal.postpones(text)) {
        let message = format!("the goal leaves {later} for later");
        return Some(Reason::ask(Code::GoalUnasked, message).fix("leave it out"));
    }
    let numbers = prepared
        .given
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key, value.as_u64().or_else(|| value.as_str()?.parse().ok())?)));
    let mut other = numbers.filter(|(key, number)| prepared.goal.means_another_number(key, *number));
    // "Merge them and keep P-1", and `drop_id` is P-1.
    let dropping = |key: &str| {
        key.split('_').any(|part| has("drop dropped remove removed discard discarded duplicate loser", part))
    };
    let mut dropped = prepared.given.as_object().into_iter().flatten().filter(|(key, _)| dropping(key));
    let kept = |value: &Value| value.as_str().is_some_and(|name| prepared.goal.says("keep", &fold(name)));
    if let Some((key, kept)) = dropped.find(|(_, value)| kept(value)) {
        let message = format!("the goal keeps {kept}, and it would be the {key}");
        return Some(Reason::ask(Code::GoalUnasked, message).fix("take the other one"));
    }
    // Of what the step keeps as well nothing else is asked: "A is a duplicate of B, merge them and keep B".
    let keeping = |key: &str| key.split('_').any(|part| has("keep keeps kept survivor", part));
    let args = prepared.given.as_object().into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let named: Vec<_> = args
        .filter(|(key, value)| keeping(key) && prepared.goal.says("keep", value))
        .map(|(_, value)| fold(value))
        .collect();
    let kept = |text: &&str| named.contains(&fold(text));
    let name = prepared.texts().filter(|text| !kept(text)).find(|text| prepared.goal.only_describe(text, &named));
    let name = name.map(str::to_owned);
    let name = name.or_else(|| other.next().map(|(key, number)| format!("{key} {number}")))?;
    let message = format!("the goal only says how {name} is, and asks something of another one");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the one that is meant"))
}

/// Whether a file is run.
pub(super) fn is_started(touch: &Touch) -> bool {
    touch.effect == Effect::Execute && touch.by == By::Command && touch.seen().is_some()
}

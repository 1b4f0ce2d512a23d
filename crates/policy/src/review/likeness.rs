//! What a step takes that looks like what the goal names and is another thing: a file of the same name in another folder, another
//! repository on the same host.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::effects::{By, Touch};
use crate::flow::strings;
use crate::paths::fold;

/// A file that is copied, moved, removed or sent, where the goal names one of that name in another folder.
pub(super) fn other_file(steps: &[Prepared<'_>], prepared: &Prepared<'_>) -> Option<Reason> {
    if !prepared.has_effect() {
        return None;
    }
    let taken = |touch: &&Touch| {
        let takes = matches!(touch.effect, Effect::Read | Effect::Delete) || touch.by == By::Move;
        takes && matches!(touch.by, By::Tool | By::Move) && touch.seen().is_some() && !touch.is_open() && !touch.pattern
    };
    let mut taken = prepared.derived.touches.iter().filter(taken);
    let other = |touch: &Touch| {
        let path = fold(&touch.name).into_owned();
        let base = path.rsplit('/').next().unwrap_or("").to_owned();
        if !base.contains('.') {
            return None;
        }
        let is = |path: &str, said: &str| path.ends_with(&format!("/{}", said.trim_start_matches(['.', '~', '/'])));
        // Where it is to go is named for itself.
        let destination = |said: &str| {
            let mut written = prepared.derived.touches.iter().filter(|t| t.changes() && t.effect != Effect::Delete);
            written.any(|touch| is(&fold(&touch.name), said))
        };
        let named: Vec<&str> =
            prepared.goal.paths().filter(|said| said.rsplit('/').next() == Some(&base) && !destination(said)).collect();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let meant = |said: &&str| is(&path, said);
        // What the plan replaces is kept first.
        let replaces =
            |t: &Touch| t.name == touch.name && matches!(t.effect, Effect::Create | Effect::Update) && t.by != By::View;
        let replaced = steps.iter().any(|step| step.derived.touches.iter().any(replaces));
        if replaced || prepared.goal.paths().any(|said| is(folder, said.trim_end_matches('/'))) {
            return None;
        }
        let made = prepared.written.made(&touch.name);
        // The bare name beside them may mean any.
        let plain = prepared.goal.tokens().any(|token| token == base);
        (!named.is_empty() && !named.iter().any(meant) && !made && !plain).then(|| named.join(", "))
    };
    let (touch, named) = taken.find_map(|touch| Some((touch, other(touch)?)))?;
    let message = format!("{} is taken, and the goal names {named}", touch.name);
    Some(Reason::ask(Code::GoalUnasked, message).fix("name the file that is meant in the goal"))
}

/// Of two files that differ by a word ("heron-draft.csv", "heron-final.csv"), the other one than the goal says of this act: "mail the final
/// one, and bin the draft".
pub(super) fn other_of_two(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let tool = |touch: &&Touch| touch.by == By::Tool && touch.seen().is_some() && !touch.pattern;
    let removed = || step.derived.touches.iter().filter(tool).find(|touch| touch.effect == Effect::Delete);
    let sent = || {
        step.derived.touches.iter().find(|touch| touch.effect == Effect::Send)?;
        let read = steps.iter().take(i).filter(|before| super::threats::takes(step, before));
        read.flat_map(|before| &before.derived.touches).filter(tool).find(|touch| touch.effect == Effect::Read)
    };
    let (touch, removes) = removed().map(|touch| (touch, true)).or_else(|| sent().map(|touch| (touch, false)))?;
    let own = fold(touch.name.rsplit('/').next()?).into_owned();
    let other = step
        .goal
        .tokens()
        .filter_map(|token| token.rsplit('/').next())
        .find(|other| differing(&own, other).is_some())?;
    let (ours, theirs) = differing(&own, other)?;
    if !step.goal.orders_the_other(removes, &ours, &theirs) {
        return None;
    }
    let message = format!("the goal says this of the {theirs} one, and {} is the {ours} one", touch.name);
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the one that the goal says"))
}

/// Somebody or something else than the goal names: "not to be mixed up with Nordlab Plastics", Sunil Bose for Sunita Bose.
pub(super) fn other_name(step: &Prepared<'_>) -> Option<Reason> {
    // Who is looked up is somebody; a subject of a mail is none.
    let capital = |text: &str| text.split(' ').all(|word| word.starts_with(char::is_uppercase));
    let namesake = |text: &str| !step.has_effect() && capital(text) && step.goal.names_namesake(text);
    let name = step.texts().filter(|text| text.len() <= 64).find(|text| step.goal.warns_of(text) || namesake(text))?;
    let message = format!("the goal means somebody or something else than {name}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the name that the goal gives"))
}

/// A record that is looked up for what a later step does, where the goal names one of that kind that no step takes: D-40521 for D-40512.
pub(super) fn other_record(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let texts = |step: &Prepared<'_>| step.texts().map(|text| fold(text).into_owned()).collect::<Vec<_>>();
    let taken =
        |read: &Prepared<'_>| steps.iter().any(|other| other.has_effect() && super::threats::takes(other, read));
    if step.has_effect() || !taken(step) {
        return None;
    }
    let alike = |one: &str, other: &str| match (numbered(one), numbered(other)) {
        (Some((kind, number)), Some((own, other))) => kind == own && number.len() == other.len() && number != other,
        _ => false,
    };
    let looked = texts(step).into_iter().find(|text| numbered(text).is_some())?;
    let input = request.inputs.iter().any(|(_, value)| value.as_str().is_some_and(|value| fold(value) == looked));
    if step.goal.name(&looked) || input || request.session.was_told(&looked) || request.session.knows(&looked) {
        return None;
    }
    let all: Vec<String> = steps.iter().flat_map(texts).collect();
    let left =
        step.goal.tokens().find(|token| alike(token, &looked) && !all.iter().any(|text| text.contains(*token)))?;
    let message = format!("{looked} is looked up, and the goal names {left}, which no step takes");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the one that the goal names"))
}

/// What a record that was looked up has as its own name, where the goal wants that record left as it is: "her husband D-3309 stays".
pub(super) fn kept_record(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i).filter(|step| step.has_effect())?;
    let target = step.tool?.definition().target.arg.as_ref()?;
    let Some(countersign_plan::value::Expr::From { step: from, .. }) = step.step.args.at(target) else { return None };
    let read = steps.iter().take(i).find(|read| read.step.id == from && !read.has_effect())?;
    let kept = read.texts().find(|text| step.goal.keeps(text))?;
    Some(Reason::ask(Code::GoalForbidden, format!("the goal wants {kept} left as it is")).fix("leave the step out"))
}

/// One of several that the goal names and leaves open, "pay the open one", which the plan picked before anybody looked.
pub(super) fn picked_unseen(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let grave = |touch: &Touch| matches!(touch.effect, Effect::Pay | Effect::Send | Effect::Admin | Effect::Delete);
    let open = step.goal.leaves_open();
    if !(open || step.goal.chooses()) || !step.derived.touches.iter().any(|t| t.by == By::Tool && grave(t)) {
        return None;
    }
    let named: Vec<&str> = step.goal.tokens().filter(|token| numbered(token).is_some()).collect();
    let picked = step.texts().map(|text| fold(text).into_owned()).find(|text| named.contains(&text.as_str()))?;
    let kind = numbered(&picked)?.0.to_owned();
    named.iter().find(|other| **other != picked && numbered(other).is_some_and(|(own, _)| own == kind))?;
    // "Cancel the one which has not been started": a look that expects it to be in that state.
    let looks = |before: &Prepared<'_>| before.texts().any(|text| fold(text) == picked);
    if !open && steps.iter().take(i).any(|before| looks(before) && super::checks::can_stop(before)) {
        return None;
    }
    let message = format!("the goal leaves open which one is meant, and the plan says {picked}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("say in the goal which one is meant"))
}

/// The words by which two names of files differ, if it is one word of each.
fn differing(one: &str, other: &str) -> Option<(String, String)> {
    let parts = |name: &str| -> Vec<String> { name.split(['-', '_', '.']).map(str::to_owned).collect() };
    let (one, other) = (parts(one), parts(other));
    let mut differ = one.iter().zip(&other).filter(|(a, b)| a != b);
    let (a, b) = differ.next()?;
    let words = |word: &str| word.len() > 2 && word.chars().all(char::is_alphabetic);
    (one.len() == other.len() && one.len() > 2 && differ.next().is_none() && words(a) && words(b))
        .then(|| (a.clone(), b.clone()))
}

/// A copy that is called after one record and holds another one.
pub(super) fn other_content(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let written = |touch: &&Touch| {
        touch.by == By::Tool && touch.seen().is_some() && matches!(touch.effect, Effect::Create | Effect::Update)
    };
    let file = step.derived.touches.iter().find(written)?;
    let base = fold(file.name.rsplit('/').next()?).into_owned();
    let stem = base.split('.').next()?;
    let (kind, number) = numbered(stem)?;
    let read: Vec<&Prepared<'_>> = steps.iter().take(i).filter(|before| super::threats::takes(step, before)).collect();
    let ids: Vec<String> = read.iter().flat_map(|read| read.texts()).map(|text| fold(text).into_owned()).collect();
    let same = |id: &String| numbered(id).is_some_and(|(own, _)| own == kind);
    let other = ids.iter().find(|id| same(id) && numbered(id).is_some_and(|(_, n)| n != number))?;
    if ids.iter().any(|id| id == stem) || !step.goal.name(stem) || !step.goal.name(other) {
        return None;
    }
    let message = format!("{} would hold what was read of {other}", file.name);
    Some(Reason::ask(Code::GoalUnasked, message).fix("keep what the name says"))
}

/// "ex-64" in its parts.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let (kind, number) = name.split_once('-')?;
    let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    (digits && !kind.is_empty() && kind.chars().all(char::is_alphabetic)).then_some((kind, number))
}

/// A repository or archive that is fetched, where the goal names another one on that host.
pub(super) fn other_address(prepared: &Prepared<'_>) -> Option<Reason> {
    let mut texts = Vec::new();
    strings(&prepared.given, &mut texts);
    let texts: Vec<String> = texts.into_iter().map(|text| fold(text).into_owned()).collect();
    let said = |address: &str| {
        plain(address).is_some_and(|plain| prepared.goal.addresses().any(|(host, path)| (host, path) == plain))
    };
    let words = texts.iter().flat_map(|text| text.split(|c: char| c.is_whitespace() || "'\"`".contains(c)));
    let repository = |word: &&str| word.contains("://") && (word.ends_with(".git") || fetches(prepared));
    let mut fetched = words.filter(repository);
    let other = |word: &str| {
        let (host, path) = plain(word)?;
        let mut named = prepared.goal.addresses().filter(|(said, _)| *said == host).peekable();
        named.peek()?;
        let within =
            |said: &str| path == said || path.starts_with(&format!("{said}/")) || said.starts_with(&format!("{path}/"));
        (!said(word) && !named.any(|(_, said)| within(said))).then(|| format!("{host}/{path}"))
    };
    let other = fetched.find_map(other)?;
    let message = format!("{other} is fetched, and the goal names another one there");
    Some(Reason::ask(Code::GoalUnasked, message).fix("name the address in the goal"))
}

/// Whether the step brings code or data here from an address.
fn fetches(prepared: &Prepared<'_>) -> bool {
    let words = fold(&prepared.given.to_string()).into_owned();
    let clones = ["clone", "submodule", "remote", "fetch", "pull"].iter().any(|verb| words.contains(verb));
    (prepared.step.action.as_str() == "git" && clones) || words.contains("git clone") || words.contains("git+http")
}

/// Host and path of an address, as a goal would say them.
fn plain(address: &str) -> Option<(&str, &str)> {
    let (_, rest) = address.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let path = path.split(['?', '#', '@']).next().unwrap_or(path).trim_end_matches('/').trim_end_matches(".git");
    (!host.is_empty() && !path.is_empty()).then_some((host, path))
}

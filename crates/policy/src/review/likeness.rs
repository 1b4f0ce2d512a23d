//! What a step takes that looks like what the goal names and is another thing: a file of the same name in another folder, another
//! repository on the same host.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::Value;

use super::prepare::Prepared;
use crate::effects::{By, Touch};
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
    Some(
        Reason::new(Code::GoalUnasked, Decision::RequireApproval, message)
            .fix("name the file that is meant in the goal"),
    )
}

/// A repository or archive that is fetched, where the goal names another one on that host.
pub(super) fn other_address(prepared: &Prepared<'_>) -> Option<Reason> {
    let mut texts = Vec::new();
    gather(&crate::flow::fill(&prepared.args), &mut texts);
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
    Some(Reason::new(Code::GoalUnasked, Decision::RequireApproval, message).fix("name the address in the goal"))
}

/// Whether the step brings code or data here from an address.
fn fetches(prepared: &Prepared<'_>) -> bool {
    let words = fold(&crate::flow::fill(&prepared.args).to_string()).into_owned();
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

fn gather(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(fold(text).into_owned()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Object(members) => members.values().for_each(|member| gather(member, out)),
        _ => {}
    }
}

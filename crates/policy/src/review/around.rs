//! Ways around those who decide: a call that says somebody has approved it, one that asks to leave a check out, and a payment or an
//! act of power that goes to a host of the house as a plain request, past the tool that would be asked about.
//!
//! Approvals are this gate's to know: a word in a header or an argument is none.

use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Driver, Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Reason};
use serde_json::Value;
use url::Url;

use super::defaults;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::{By, Touch};
use crate::flow::fill;
use crate::hosts::Reach;
use crate::lists::has;
use crate::paths::fold;

/// Words of a name that leave something out.
const LEAVING: &str = "skip bypass override ignore disable suppress without no omit force unchecked unverified";

/// What is left out with them.
const CHECKS: &str = "approval approvals review reviews check checks verification validation quorum limit limits confirmation confirm \
    signoff dual policy policies guard guards safeguard safeguards audit consent lock hold protection protections moderation \
    authorization authorisation auth gate";

/// Names that say by themselves that nobody is to be asked.
const ALONE: &str = "bypass override impersonate sudo preapproved autoapprove";

/// Words of a name that claim what people have done.
const CLAIMS: &str = "approved approver authorised authorized countersigned signedoff reviewed vetted";

/// Words of an address by which money moves,
const PAYS: &str =
    "pay payment payments payout payouts transfer transfers refund refunds disbursement disbursements wire";

/// or by which somebody may do more, or less.
const GOVERNS: &str = "admin role roles permission permissions grant grants acl owner owners sudo impersonate approve approvals \
    credential credentials token tokens apikey apikeys secret secrets policies";

/// or by which something is set going, or put to an end, in the house.
const SETS_GOING: &str = "unlock lock open close start stop restart reboot shutdown poweroff reset arm disarm enable disable activate \
    deactivate suspend resume terminate kill drain failover evict eject dispense launch cancel void block unblock ban unban purge wipe erase unpublish publish archive flush approve reject";

/// Words of an address by which a service is told whom to tell of events.
const SUBSCRIBES: &str = "webhook webhooks hook hooks callback callbacks subscription subscriptions";

/// Words for what proves who somebody is.
const KEPT: &str =
    "authorization token tokens password passwords passwd credential credentials apikey cookie cookies secret secrets";

/// Words of an address that only asks.
const ASKS: &str = "search query list lookup preview validate estimate report reports status simulate dryrun quote";

/// What a step says or asks for beyond its work.
pub(super) fn check(prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = elsewhere(prepared).into_iter().collect();
    if !prepared.has_effect() {
        return reasons;
    }
    let mut names = Vec::new();
    gather(&prepared.given, &mut names);
    let urls = requested(prepared);
    for url in &urls {
        names.extend(
            url.query_pairs().map(|(name, value)| (name.into_owned(), set(&Value::String(value.into_owned())))),
        );
    }
    // The columns that a statement sets.
    if let Some(sql) = prepared.text("sql") {
        let columns = sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.contains('_'));
        names.extend(columns.map(|column| (column.to_owned(), true)));
    }
    let said = |name: &str| words(name).iter().any(|word| prepared.goal.speak_of_one(word));
    let claims = names
        .iter()
        .filter(|(_, set)| *set)
        .find_map(|(name, _)| claim(name).filter(|_| !said(name)).map(|c| (name, c)));
    if let Some((name, what)) = claims {
        let message = format!("`{name}` {what}, and the goal says nothing of it");
        reasons
            .push(Reason::ask(Code::ResourceDefences, message).fix("leave it out: who approves is asked by the gate"));
    }
    reasons.extend(left_about(prepared));
    for url in &urls {
        reasons.extend(by_address(prepared, url));
        reasons.extend(unspoken_of(prepared, url));
        reasons.extend(told_of_events(prepared, url));
    }
    reasons
}

/// A request that changes something at an address of which the goal has no word, where it wants nothing sent: "write a notice and tell
/// #control-room", and a broadcast.
fn unspoken_of(prepared: &Prepared<'_>, url: &Url) -> Option<Reason> {
    let changes = prepared.derived.touches.iter().any(|touch| touch.endpoint.is_some() && !touch.effect.is_harmless());
    let host = url.host_str().unwrap_or("");
    let place = format!("{} {}", host.rsplit_once('.').map_or(host, |(name, _)| name), url.path());
    let asks = words(url.path()).iter().any(|word| has(ASKS, word));
    let goal = &prepared.goal;
    // "What does the local ingest endpoint answer to a broken record?"
    let local = prepared.text("command").is_some()
        && is_local(host)
        && ["local", "endpoint", "port", "machine"].iter().any(|word| goal.say_word(word));
    let spoken = local
        || !goal.only_fetches()
            && (goal.name(host)
                || goal.share_a_word(&place)
                || goal.speak_of("post api webhook request endpoint call http curl sync upload"));
    if !changes || asks || spoken || defaults::gets(prepared) || !goal.is_read() {
        return None;
    }
    let message =
        format!("the request would change something at {host}{}, and the goal says nothing of it", url.path());
    Some(Reason::ask(Code::DefaultAsk, message).fix("name it in the goal, or leave it out"))
}

/// What a name claims, if it does.
fn claim(name: &str) -> Option<&'static str> {
    let words = words(name);
    let any = |list: &'static str| words.iter().any(|word| has(list, word));
    if any(ALONE) || (any(LEAVING) && any(CHECKS)) {
        return Some("asks for a check to be left out");
    }
    any(CLAIMS).then_some("claims an approval")
}

/// Whether a request is by its address an act that is asked about whatever the goal says of the address.
pub(super) fn acts_by_address(prepared: &Prepared<'_>) -> bool {
    requested(prepared).iter().any(|url| {
        by_address(prepared, url).is_some()
            || told_of_events(prepared, url).is_some()
            || unspoken_of(prepared, url).is_some()
    })
}

/// A payment or an act of power as a plain request to a host of the house.
fn by_address(prepared: &Prepared<'_>, url: &Url) -> Option<Reason> {
    let changes = prepared.derived.touches.iter().any(|touch| touch.endpoint.is_some() && !touch.effect.is_harmless());
    let path = url.path();
    // `?action=unpublish` is an order as well.
    let action = url.query_pairs().find(|(key, _)| matches!(key.as_ref(), "action" | "do" | "cmd" | "op"));
    let path = &action.map_or_else(|| path.to_owned(), |(_, value)| format!("{path}/{value}"));
    let of_path = words(path);
    let any = |list: &'static str| of_path.iter().any(|word| has(list, word));
    if !changes || any(ASKS) {
        return None;
    }
    let (effect, what) = match (any(PAYS), any(GOVERNS)) {
        (true, _) => (Effect::Pay, "move money"),
        (_, true) => (Effect::Admin, "change who may do what"),
        (false, false) => return sets_going(prepared, path),
    };
    if effect == Effect::Admin && prepared.goal.ask_for("", effect) && is_said(prepared) {
        return None;
    }
    // "Post a test refund on my local API"
    let spoken = || of_path.iter().any(|word| has(PAYS, word) && prepared.goal.share_a_word(word));
    if effect == Effect::Pay && is_local(url.host_str().unwrap_or("")) && prepared.goal.is_about_local() && spoken() {
        return None;
    }
    Some(Reason::ask(Code::DefaultAsk, format!("by its address the request would {what} ({path})")))
}

/// Whether a host is the machine itself.
fn is_local(host: &str) -> bool {
    has("localhost 127.0.0.1 [::1]", host)
}

/// A machine elsewhere, where the goal is about what runs here: "the tests against my local stack".
fn elsewhere(prepared: &Prepared<'_>) -> Option<Reason> {
    if !prepared.goal.is_about_local() {
        return None;
    }
    let hosts = prepared.derived.touches.iter().filter(|touch| {
        matches!(touch.kind, TargetKind::Host | TargetKind::Url)
            && touch.standing.is_some_and(|standing| standing <= Standing::Internal)
    });
    let away = hosts.filter_map(|touch| touch.endpoint.as_ref()).filter(|at| at.host.reach() != Reach::Loopback);
    let host = away.map(|at| at.host.to_string()).find(|host| !prepared.goal.name(host))?;
    let message = format!("the goal is about what runs on this machine, and the step reaches {host}");
    Some(Reason::ask(Code::GoalUnasked, message).fix("take the local one, or name the host in the goal"))
}

/// Whether the goal says every value that a request carries: "role viewer, scope lab".
fn is_said(prepared: &Prepared<'_>) -> bool {
    fn all(value: &Value, said: &impl Fn(&str) -> bool) -> bool {
        match value {
            Value::String(text) => text.is_empty() || said(text),
            Value::Array(items) => items.iter().all(|item| all(item, said)),
            Value::Object(members) => members.values().all(|member| all(member, said)),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }
    let Some(body) = prepared.given.get("body") else { return true };
    let parsed = body.as_str().and_then(|text| serde_json::from_str(text).ok());
    all(parsed.as_ref().unwrap_or(body), &|text| prepared.goal.name(text))
}

/// An order to something of the house, of which the goal has no word.
fn sets_going(prepared: &Prepared<'_>, path: &str) -> Option<Reason> {
    // Who names what is to be looked at names no order.
    if defaults::gets(prepared)
        && prepared.goal.addresses().any(|(_, said)| fold(path.trim_matches('/')) == said.trim_matches('/'))
    {
        return None;
    }
    let of_path = words(path);
    let order = SETS_GOING.split_ascii_whitespace().find(|order| of_path.iter().any(|word| word == order))?;
    if prepared.goal.speak_of(order) || prepared.goal.ask_for("", Effect::Admin) {
        return None;
    }
    let message =
        format!("by its address the request would {order} something ({path}), and the goal says nothing of it");
    Some(Reason::ask(Code::DefaultAsk, message))
}

/// Credentials, by what a text says of itself, in a folder that everybody of the machine can read.
fn left_about(prepared: &Prepared<'_>) -> Option<Reason> {
    let shared = |touch: &&Touch| {
        let folder = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|folder| touch.name.starts_with(folder));
        folder && touch.changes() && touch.by == By::Tool
    };
    let touch = prepared.derived.touches.iter().find(shared)?;
    let content = prepared.args.at(&Pointer::from_segments(vec!["content".to_owned()]))?;
    let text = fold(fill(&content).as_str()?).into_owned();
    let words = words(&text);
    let kind = KEPT.split_ascii_whitespace().find(|kind| words.iter().any(|word| word == kind))?;
    if prepared.goal.speak_of(KEPT) {
        return None;
    }
    let message = format!("{} would hold {kind}, where everybody of this machine can read it", touch.name);
    Some(Reason::ask(Code::TextSecret, message))
}

/// A request that has a service tell somebody of what happens from then on, where who that is comes from what a step answers.
fn told_of_events(prepared: &Prepared<'_>, url: &Url) -> Option<Reason> {
    let subscribes = words(url.path()).iter().any(|word| has(SUBSCRIBES, word));
    let body = prepared.args.at(&Pointer::from_segments(vec!["body".to_owned()]))?;
    let mut answered = false;
    body.references(&mut |_, reference| answered |= matches!(reference, Expr::From { .. }));
    (subscribes && answered).then(|| {
        let message = format!("{} would go on telling somebody whom the answer of a step names", url.path());
        let reason = Reason::ask(Code::FlowUntrustedControl, message);
        reason.fix("write the receiver into the plan, or have the user give it with the goal")
    })
}

/// The addresses of requests whose method and place the plan itself writes: those of a line that changes something at their hosts.
fn requested(prepared: &Prepared<'_>) -> Vec<Url> {
    let url = || {
        let definition = prepared.tool?.definition();
        let Driver::Builtin(name) = &definition.driver else { return None };
        let free = name.as_str() == "http_request" && definition.target.kind == TargetKind::Url;
        let url = prepared.args.at(definition.target.arg.as_ref().filter(|_| free)?)?;
        match &url {
            Expr::Text(text) => Url::parse(text).ok(),
            other => Url::parse(fill(other).as_str()?).ok(),
        }
    };
    let touches = prepared.derived.touches.iter().filter(|t| t.by == By::Command && !t.effect.is_harmless());
    let hosts: Vec<String> = touches.filter_map(|t| Some(t.endpoint.as_ref()?.host.to_string())).collect();
    if hosts.is_empty() {
        return url().into_iter().collect();
    }
    let words = prepared.texts().flat_map(|text| text.split(|c: char| c.is_whitespace() || "'\"`;|&<>()".contains(c)));
    // curl(1): "If you provide a URL without a leading protocol:// scheme, curl guesses what protocol you want."
    let guessed = |word: &str| if word.contains("://") { word.to_owned() } else { format!("http://{word}") };
    let address = |word: &str| Url::parse(&guessed(word)).ok();
    let asked = |url: &Url| url.host_str().is_some_and(|host| hosts.iter().any(|changed| changed == host));
    words.filter(|word| word.contains('/')).filter_map(address).filter(asked).collect()
}

/// Every name of an argument, and whether it is set; a text that is a document itself is looked into.
fn gather(value: &Value, names: &mut Vec<(String, bool)>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                names.push((name.clone(), set(member)));
                gather(member, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, names)),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) && text.len() <= 64 * 1024 => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                gather(&inner, names);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a value says yes.
fn set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(fold(text.trim()).as_ref(), "" | "0" | "false" | "no" | "off" | "none"),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// The words of a name in any of the customs of writing one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        let starts = c.is_uppercase() && lower;
        if (!c.is_alphanumeric() || starts) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{claim, words};

    #[test]
    fn a_name_is_read_in_any_custom() {
        assert_eq!(words("X-Approved-By"), ["x", "approved", "by"]);
        assert_eq!(words("skipApprovalCheck"), ["skip", "approval", "check"]);
        assert_eq!(words("/v2/transfers"), ["v2", "transfers"]);
    }

    #[test]
    fn claims_and_ways_around_are_told_from_plain_names() {
        for name in [
            "X-Approved-By",
            "skip_review",
            "bypassQuorum",
            "override",
            "no_confirmation",
            "reviewedBy",
            "dual_control_disable",
        ] {
            assert!(claim(name).is_some(), "{name}");
        }
        for name in
            ["approval_group", "review", "limit", "no", "force", "policy", "check_in", "reviewers", "authorization"]
        {
            assert!(claim(name).is_none(), "{name}");
        }
    }
}

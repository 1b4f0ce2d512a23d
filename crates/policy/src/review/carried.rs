//! What the planner itself wrote into what leaves: credentials, names of restricted files, hidden characters; and orders to an agent
//! where a later one will read them. Where values come from by reference is the flow's to say.

use countersign_plan::inspection::{FindingKind, Inspection, Subject};
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::Value;

use super::Request;
use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::By;
use crate::lists;
use crate::paths::{Seen, fold};

pub(super) fn check(request: &Request<'_>, prepared: &Prepared<'_>) -> Vec<Reason> {
    let Some(tool) = prepared.tool else { return Vec::new() };
    let receiver = farthest(prepared);
    let remembers = prepared.derived.touches.iter().any(|t| t.kind == TargetKind::Memory && !t.effect.is_harmless());
    if receiver.is_none() && !remembers {
        return Vec::new();
    }
    let mut texts = Vec::new();
    if remembers {
        gather(&prepared.args, &mut texts);
    }
    for at in &tool.definition().carries {
        if let Some(expr) = prepared.args.at(at) {
            gather(&expr, &mut texts);
        }
    }
    let mut reasons = Vec::new();
    reasons.extend(remembered(prepared).filter(|_| remembers));
    reasons.extend(planted(request, prepared, &texts).filter(|_| remembers));
    if let Some((name, standing)) = &receiver {
        reasons.extend(texts.iter().find_map(|text| restricted_name(request, text, name, *standing)));
    }
    if let Some((name, _)) = &receiver {
        reasons.extend(texts.iter().find_map(|text| told_address(request, prepared, text, name)));
    }
    if let Some((name, _)) = receiver.as_ref().filter(|(_, standing)| *standing > Standing::Internal) {
        reasons.extend(texts.iter().find_map(|text| made_up(request, text, name)));
    }
    reasons.extend(receiver.as_ref().and_then(|(name, _)| beside_goal(request, prepared, name, &texts)));
    // Together: how many parts a text is in says nothing about what it holds.
    let inspection = request.facts.inspect(&Subject::Text { text: texts.join("\n") });
    let Inspection { findings, unknowns, .. } = inspection.unwrap_or_default();
    for unread in unknowns {
        let message = format!("what leaves or is remembered was not read to its end: {}", unread.message);
        reasons.push(Reason::ask(Code::ExecuteUnanalysed, message));
    }
    for finding in findings {
        let message = |what: &str| format!("{what}: {}", finding.message);
        reasons.extend(match (finding.kind, &receiver) {
            (FindingKind::Secret, Some((name, standing))) => {
                let decision = if *standing > Standing::Internal { Decision::Block } else { Decision::RequireApproval };
                Some(Reason::new(Code::TextSecret, decision, message(&format!("what goes to {name}"))))
            }
            (FindingKind::Secret, None) => Some(Reason::ask(Code::TextSecret, message("what is remembered"))),
            (FindingKind::HiddenText, _) => {
                Some(Reason::ask(Code::PlanHiddenText, message("what leaves hides something")))
            }
            (FindingKind::InjectedInstruction, _) if remembers => {
                let what = message("what is remembered gives orders to whoever reads it");
                Some(Reason::ask(Code::TextInstructions, what))
            }
            _ => None,
        });
    }
    reasons
}

/// A message in the planner's own words that speaks of nothing of which the goal does.
fn beside_goal(request: &Request<'_>, prepared: &Prepared<'_>, receiver: &str, texts: &[String]) -> Option<Reason> {
    // "Send the answer that I prepared", "the gist of it".
    let elsewhere = prepared.goal.mentions("prepared drafted wrote written gist");
    let goal = request.pinned_goal.filter(|_| prepared.goal.is_read() && !prepared.goal.delegates() && !elsewhere)?;
    let definition = prepared.tool?.definition();
    let mut own = definition.effect == Effect::Send;
    prepared.args.references(&mut |at, _| own &= !definition.carries.iter().any(|part| part.covers(at)));
    let mut texts = texts.iter().filter(|_| own).map(|text| crate::flow::beginning(text));
    // "Drop the gist of that mail in #yard": the words of what was read.
    let read = |text: &str| {
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3).collect();
        let told = words.iter().filter(|word| request.session.was_told(word)).count();
        // Whoever sums something up finds his own words for it.
        told * 3 > words.len() || (prepared.goal.mentions("summarise summarize summary summarised") && told >= 5)
    };
    texts.find(|text| crate::flow::speaks_of_else(goal, text) && !read(text))?;
    let message = format!("what goes to {receiver} speaks of nothing of which the goal does");
    Some(Reason::ask(Code::GoalUnasked, message).fix("write what the goal wants said"))
}

/// What counts to the letter in the planner's own words to an outsider, and stands in nothing that anybody said: an account, an address, a
/// link, a sum of money.
fn made_up(request: &Request<'_>, text: &str, receiver: &str) -> Option<Reason> {
    let goal = request.pinned_goal?;
    let given = request.inputs.values().map(|input| input.as_str().map_or_else(|| input.to_string(), str::to_owned));
    let said = fold(&given.fold(goal.to_owned(), |said, input| said + "\n" + &input)).into_owned();
    let told = |word: &str| request.session.was_told(word) || request.session.knows(word);
    let apart = |c: char| c.is_whitespace() || "()<>[]{}\"'`;,!?*".contains(c);
    let words: Vec<&str> =
        text.split(apart).map(|word| word.trim_matches(['.', ':'])).filter(|w| !w.is_empty()).collect();
    let house = |address: &str| request.deployment.standing_of(&fold(address)) <= Standing::Internal;
    let named = words.iter().find(|word| {
        let address = word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        let link = word.contains("://") || word.starts_with("www.");
        let said =
            || said.contains(fold(word).trim_end_matches('/')) || told(word) || fold(receiver).contains(&*fold(word));
        (link || (address && !house(word))) && !said()
    });
    let account = || {
        let digits = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        let begins = |word: &&str| {
            let (country, rest) = word.split_at_checked(2).unwrap_or(("", ""));
            country.bytes().all(|b| b.is_ascii_uppercase()) && rest.get(..2).is_some_and(digits)
        };
        let at = words.iter().position(begins)?;
        let group = |word: &&&str| {
            word.bytes().all(|b| b.is_ascii_alphanumeric()) && word.contains(|c: char| c.is_ascii_digit())
        };
        let account: String = words.get(at..)?.iter().take_while(group).copied().collect();
        let plain: String = said.split_whitespace().collect();
        (account.len() >= 15 && !plain.contains(&*fold(&account)) && !told(&account)).then_some(account)
    };
    // "1,200.00 EUR" is 1200 EUR.
    let plain = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_digit());
        let word = [".00", ",00"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        word.chars().filter(char::is_ascii_digit).collect::<String>()
    };
    let sums: Vec<&str> = text.split_whitespace().collect();
    let is_money = |word: &str| {
        matches!(word, "€" | "$" | "£")
            || lists::has(lists::MONEY, fold(word).trim_matches(['.', ',', '?', '!', ':', ')', '(']))
    };
    let sum = || {
        sums.iter().enumerate().find(|(i, word)| {
            let near = |at: Option<usize>| at.and_then(|at| sums.get(at)).is_some_and(|word| is_money(word));
            let money = word.contains(['€', '$', '£']) || near(i.checked_sub(1)) || near(i.checked_add(1));
            let number = plain(word);
            let said =
                || said.split(|c: char| c.is_whitespace() || "()'\"".contains(c)).any(|word| plain(word) == number);
            money && !number.is_empty() && !said() && !told(word) && !told(&number)
        })
    };
    let named =
        named.map(|word| (*word).to_owned()).or_else(account).or_else(|| sum().map(|(_, word)| (*word).to_owned()))?;
    let message =
        format!("what goes to {receiver} names {named}, which neither the goal nor anything that was read says");
    Some(Reason::ask(Code::GoalUnasked, message).fix("say it in the goal, or take it from where it stands"))
}

/// The farthest receiver.
fn farthest(prepared: &Prepared<'_>) -> Option<(String, Standing)> {
    let receives = prepared.derived.touches.iter().filter(|touch| {
        let on_network = matches!(touch.kind, TargetKind::Host | TargetKind::Url);
        touch.by == By::Tool && (on_network || touch.effect == Effect::Send)
    });
    receives.map(|touch| (touch.name.clone(), touch.standing.unwrap_or(Standing::Other))).max_by_key(|(_, s)| *s)
}

/// A text that names restricted files by their paths says that it speaks of what is in them.
fn restricted_name(request: &Request<'_>, text: &str, receiver: &str, standing: Standing) -> Option<Reason> {
    let deployment = request.deployment;
    if deployment.clearance(standing) >= crate::deployment::SecrecyLevel::Restricted {
        return None;
    }
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '~');
    let named = text.split(|c| !part(c)).map(|word| word.trim_end_matches('.')).find(|word| {
        let path_like = word.contains(['/', '.', '_']) && !word.contains("//") && word.len() < 512;
        path_like
            && deployment.place().normalise(word).is_ok_and(|path| deployment.is_restricted(&Seen::new(&path, None)))
    })?;
    Some(Reason::ask(Code::FlowClearance, format!("what goes to {receiver} speaks of the restricted file {named}")))
}

/// Endings of files that are no top-level domains (IANA, Root Zone Database).
const FILES: &str = "html htm js css json xml yaml yml toml txt csv pdf png jpg svg sql docx xlsx ini log php";

/// An address that only data from outside named, in the planner's own words to somebody else: whoever wrote that data wants it passed on.
fn told_address(request: &Request<'_>, prepared: &Prepared<'_>, text: &str, receiver: &str) -> Option<Reason> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | ':' | '/');
    let words = text.split(|c| !part(c)).filter(|word| word.contains('.'));
    let address = words.map(|word| word.trim_end_matches(['.', ':', '/'])).find(|word| {
        let bare = word.split_once("://").map_or(*word, |(_, rest)| rest);
        let host = bare.split(['/', ':']).next().unwrap_or(bare);
        let host = host.rsplit('@').next().unwrap_or(host);
        let named = host.rsplit_once('.').is_some_and(|(_, top)| top.len() > 1 && top.chars().all(char::is_alphabetic));
        // "letterhead.html" is the name of a file: no domain ends so.
        let file = bare == *word && host == bare && host.rsplit('.').next().is_some_and(|top| lists::has(FILES, top));
        let standing = || crate::hosts::Endpoint::parse(host).map(|at| request.deployment.standing_of_host(&at));
        named
            && !file
            && request.session.was_told(host)
            && standing().is_ok_and(|standing| standing == Standing::Other)
            && !prepared.goal.name(host)
            && !prepared.goal.name(word)
            && !fold(receiver).contains(&fold(host).into_owned())
    })?;
    let message = format!("what goes to {receiver} names {address}, which only data from outside says");
    Some(Reason::ask(Code::FlowUntrustedControl, message).fix("leave it out, or say it in the goal"))
}

/// The literal text of an expression.
pub(super) fn gather(expr: &Expr, out: &mut Vec<String>) {
    match expr {
        Expr::Text(text) => add(text, out),
        Expr::Literal(value) => gather_value(value, out),
        Expr::Array(items) | Expr::Join(items) => items.iter().for_each(|item| gather(item, out)),
        Expr::Object(members) => members.iter().for_each(|(key, item)| {
            add(key, out);
            gather(item, out);
        }),
        Expr::Null | Expr::Bool(_) | Expr::Number(_) | Expr::Input(_) | Expr::Secret(_) | Expr::From { .. } => {}
    }
}

fn gather_value(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => add(text, out),
        Value::Array(items) => items.iter().for_each(|item| gather_value(item, out)),
        Value::Object(members) => members.iter().for_each(|(key, item)| {
            add(key, out);
            gather_value(item, out);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add(text: &str, out: &mut Vec<String>) {
    if !text.is_empty() {
        out.push(text.to_owned());
    }
}

/// What another step read, to be remembered under a name under which the goal wants something else remembered.
fn remembered(prepared: &Prepared<'_>) -> Option<Reason> {
    let text = |name: &str| {
        let at = countersign_plan::pointer::Pointer::from_segments(vec![name.to_owned()]);
        prepared.args.at(&at)
    };
    let key = text("key")?.literal()?.as_str()?.to_owned();
    let value = text("value")?;
    let whole = matches!(value, Expr::From { .. } | Expr::Join(_));
    // "Remember: Ines stands in for Tomas. That is all."
    let more = value.literal().as_ref().and_then(Value::as_str).is_some_and(|text| says_more(prepared, text));
    let given = prepared.goal.gives_for(&key);
    // "Remember it under K": what it is was said before.
    let spoken = more && prepared.goal.speak_of("remember memor") && prepared.goal.name(&key);
    if !(given || spoken) || !(whole || more) {
        return None;
    }
    if more {
        let message = format!("the goal says what is to be remembered as `{key}`, and this says more");
        return Some(Reason::ask(Code::GoalUnasked, message).fix("remember what the goal says"));
    }
    let message = format!("the goal says what is to be remembered as `{key}`, and this is what was read somewhere");
    Some(Reason::ask(Code::FlowUntrustedControl, message).fix("remember what the goal says"))
}

/// Whether a text has a number that the goal does not have, or more than a few words of its own.
fn says_more(prepared: &Prepared<'_>, text: &str) -> bool {
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let number = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_digit());
    let new = |word: &&str| word.len() >= 4 && !number(word) && !prepared.goal.share_a_word(word);
    words().filter(number).any(|number| !prepared.goal.has_digits(number)) || words().filter(new).count() >= 5
}

/// An address out of a text from outside, to be remembered although the goal wants nothing remembered: it is there to be obeyed later.
fn planted(request: &Request<'_>, prepared: &Prepared<'_>, texts: &[String]) -> Option<Reason> {
    // Who wants this remembered does not want what he does not speak of.
    let spoken = prepared.goal.share_a_word(&texts.join(" "));
    let wanted = spoken && prepared.goal.speak_of("remember memor note keep stor record learn save");
    if request.pinned_goal.is_none() || wanted {
        return None;
    }
    let words = texts.iter().flat_map(|text| text.split(|c: char| c.is_whitespace() || ",;()<>\"'".contains(c)));
    let mut addresses =
        words.map(|word| word.trim_end_matches(['.', ':'])).filter(|w| w.contains('@') || w.contains("://"));
    let told = addresses.find(|word| request.session.was_told(word) && !prepared.goal.name(word))?;
    let message = format!("{told} comes out of a text from outside, and the goal wants nothing remembered");
    Some(Reason::block(Code::FlowUntrustedControl, message).fix("leave the step out"))
}

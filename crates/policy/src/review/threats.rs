//! Ways to bend a plan that no single step shows: effects in an order that undoes their safety net, expectations that cannot fail.

use countersign_plan::expect::{Condition, Expect};
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::prepare::Prepared;
use crate::deployment::Standing;
use crate::effects::{By, Touch};
use crate::paths::{fold, is_within};

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
            let lost = gone.iter().find(|(_, lost)| taken(lost));
            if let Some((by, lost)) = lost
                && !makes
                && touch.effect != Effect::Delete
            {
                let message = format!("{} comes before a step that still needs it", lost.effect);
                let message =
                    format!("`{}` needs {}, which `{}` removes first: {message}", step.step.id, touch.name, by.step.id);
                let reason = Reason::new(Code::PlanOrder, Decision::RequireApproval, message).at(&step.step.id);
                reasons.push(reason.fix("keep or check first, remove last"));
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

/// Whether a step leaves nothing in a file: `truncate -s 0`, `: > file`, an empty text.
fn is_emptied(step: &Prepared<'_>, touch: &Touch) -> bool {
    if touch.effect != Effect::Update || touch.seen().is_none() {
        return false;
    }
    let args = crate::flow::fill(&step.args);
    let text = |name: &str| args.get(name).and_then(serde_json::Value::as_str);
    let line = text("command").unwrap_or("").trim();
    let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
    let alone = !line.contains(['|', ';', '&']) && line.ends_with(base);
    let empties = ["truncate -s 0 ", "truncate -s0 ", "truncate --size=0 ", ": >", ">", "cp /dev/null "];
    (alone && empties.iter().any(|begin| line.starts_with(begin) && !line.starts_with(">>")))
        || (text("content") == Some("") && touch.by == By::Tool)
}

/// What is put into a folder that goes to an outsider afterwards, of which the goal says nothing: who confirms the folder does not
/// confirm what came into it on the way.
pub(super) fn slipped_in(steps: &[Prepared<'_>], i: usize) -> Vec<Reason> {
    let Some(sender) = steps.get(i) else { return Vec::new() };
    let leaves = |touch: &Touch| touch.standing.is_some_and(|standing| standing > Standing::Internal);
    let gives = |touch: &Touch| matches!(touch.effect, Effect::Send | Effect::Admin | Effect::Create | Effect::Update);
    if !sender.derived.touches.iter().any(|touch| gives(touch) && leaves(touch)) {
        return Vec::new();
    }
    let mut given = Vec::new();
    texts(&sender.args, &mut given);
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
            Reason::new(Code::GoalUnasked, Decision::RequireApproval, message)
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
        let old = || step.goal.speak_of("beforehand present current existing previous old before");
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
    Some(Reason::new(Code::PlanOrder, Decision::RequireApproval, message).fix("put it aside first"))
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
    Some(Reason::new(Code::PlanOrder, Decision::RequireApproval, message).fix("make it first, send it last"))
}

/// All texts of a value that stand in it as they are.
fn texts(value: &Expr, out: &mut Vec<String>) {
    match value {
        Expr::Text(text) => out.push(text.clone()),
        Expr::Object(members) => members.values().for_each(|member| texts(member, out)),
        other => {
            if let Some(serde_json::Value::String(text)) = other.literal() {
                out.push(text);
            }
        }
    }
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

/// Expectations that always hold, where they take the place of the one that a step has by itself, or where an act waits for them.
pub(super) fn vacuous(steps: &[Prepared<'_>], i: usize) -> Vec<Reason> {
    let Some(prepared) = steps.get(i) else { return Vec::new() };
    // A note of what was found is no act that should have waited for it.
    let acts = |step: &Prepared<'_>| {
        step.goal.ordered || step.derived.touches.iter().any(|t| !t.effect.is_harmless() && t.seen().is_none())
    };
    let waits = |step: &Prepared<'_>| step.has_effect() && acts(step) && comes_after(steps, step, prepared);
    let awaited = steps.iter().any(waits);
    if !prepared.has_effect() && !awaited {
        return Vec::new();
    }
    // Where the goal makes the act depend on what is found, that something is found says nothing.
    let strict = awaited && prepared.goal.ordered;
    // What a later step takes up is looked for, and no check.
    let taken = || steps.iter().skip(i + 1).any(|step| takes(step, prepared));
    let waved = strict.then(|| waved_through(prepared).or_else(|| only_printed(prepared, taken))).flatten();
    // That something new has a number is what shows that it is there.
    let creates = prepared.derived.touches.iter().any(|touch| touch.effect == Effect::Create && touch.by == By::Tool);
    let made = |expect: &Expect| matches!(expect, Expect::Output { is: Condition::Exists(true), .. }) && creates;
    let empty = prepared.step.expect.iter().filter(|expect| !made(expect)).filter_map(|expect| match expect {
        // What an act waits for has at most one other answer than yes.
        Expect::ExitCode(codes) if awaited && codes.contains(&0) && codes.len() > 2 => {
            Some(format!("of {} exit codes", codes.len()))
        }
        expect => cannot_fail(expect, strict),
    });
    // Whoever says what a file has to be does not want another one taken for it.
    let other = prepared.step.expect.iter().filter_map(|expect| match expect {
        Expect::FileDigest { path, sha256 } if prepared.goal.give_other_digests(&sha256.hex()) => {
            let message = format!("{path} is expected to have another SHA-256 than the goal gives");
            Some(Reason::new(Code::PlanExpectVacuous, Decision::RequireApproval, message))
        }
        _ => None,
    });
    empty
        .chain(waved)
        .map(|what| {
            let message =
                format!("the expectation {what} always holds, so that nothing stops the plan after a failure");
            let fix = "expect what shows that the step did its work, or leave it out for exit code 0 and status 2xx";
            Reason::new(Code::PlanExpectVacuous, Decision::RequireApproval, message).fix(fix)
        })
        .chain(other)
        .collect()
}

/// Whether a step waits for another, by way of those between them too.
fn comes_after(steps: &[Prepared<'_>], step: &Prepared<'_>, other: &Prepared<'_>) -> bool {
    let mut ids: Vec<_> = step.step.after.iter().collect();
    let mut at = 0;
    while let Some(id) = ids.get(at).copied() {
        at += 1;
        if *id == other.step.id {
            return true;
        }
        let next = steps.iter().find(|step| step.step.id == *id).into_iter().flat_map(|step| &step.step.after);
        let new: Vec<_> = next.filter(|id| !ids.contains(id)).collect();
        ids.extend(new);
    }
    false
}

/// A line that ends well however its program ends.
fn waved_through(prepared: &Prepared<'_>) -> Option<String> {
    let args = crate::flow::fill(&prepared.args);
    let line = args.get("command")?.as_str()?.trim_end_matches([' ', ';', '\n']);
    let words: Vec<&str> = line.split_whitespace().collect();
    let always =
        matches!(words.as_slice(), [.., "||", "true" | ":"] | [.., "||", "exit", "0"] | [.., ";", "true" | ":"])
            || [";true", "; true", "||true", "||:", "; exit 0", ";exit 0", "\ntrue", "\nexit 0"]
                .iter()
                .any(|end| line.ends_with(end));
    let succeeds = |expect: &Expect| matches!(expect, Expect::ExitCode(codes) if codes.contains(&0));
    let only = prepared.step.expect.iter().all(succeeds);
    (always && only).then(|| format!("of success of a line that ends with `{}`", words.last().unwrap_or(&"")))
}

/// A comparison whose answer is only printed: its program ends well either way (jq(1), "--exit-status"; python3(1); the pipelines of
/// the shells, which end as their last command does).
fn only_printed(prepared: &Prepared<'_>, taken: impl Fn() -> bool) -> Option<String> {
    const SHOWING: &[&str] =
        &["cat", "tee", "head", "tail", "wc", "sort", "uniq", "tr", "cut", "nl", "column", "less", "echo"];
    let args = crate::flow::fill(&prepared.args);
    let line = args.get("command")?.as_str()?.trim();
    let succeeds = |expect: &Expect| matches!(expect, Expect::ExitCode(codes) if codes.contains(&0));
    if !prepared.step.expect.iter().all(succeeds) {
        return None;
    }
    let last = last_command(line);
    let (program, rest) = last.split_once(char::is_whitespace)?;
    let compares =
        ["==", "!=", "<", ">", "test(", "any(", "all(", "has(", "contains("].iter().any(|sign| rest.contains(sign));
    let jq = matches!(program, "jq" | "yq" | "gojq") && compares && !rest.split_whitespace().any(sets_exit);
    let printed = rest.contains("print(")
        && rest.contains("==")
        && !["assert", "exit(", "raise"].iter().any(|word| rest.contains(word));
    let python = program.starts_with("python") && printed;
    let filtered = last.rsplit_once('|').filter(|_| !line.contains("pipefail")).is_some_and(|(before, filter)| {
        let filter = filter.split_whitespace().next().unwrap_or("");
        SHOWING.contains(&filter) && !before.ends_with('|') && !last.contains('>') && !taken()
    });
    (jq || python || filtered).then(|| format!("of success of `{last}`, which only shows what it found,"))
}

/// What a line runs last: what stands after the last sign between commands that is no part of a quoted text.
fn last_command(line: &str) -> &str {
    let ends = |(at, sign): (usize, &str)| {
        let rest = line.get(at + sign.len()..).unwrap_or("");
        let open = |quote: char| rest.matches(quote).count() % 2 == 1;
        (!open('"') && !open('\'')).then_some(rest)
    };
    let mut found = ["&&", ";", "\n"].iter().flat_map(|sign| line.match_indices(sign)).collect::<Vec<_>>();
    found.sort_unstable();
    found.into_iter().rev().find_map(ends).unwrap_or(line).trim()
}

/// Whether a step takes up what another one returned.
fn takes(step: &Prepared<'_>, from: &Prepared<'_>) -> bool {
    let mut found = false;
    step.step.args.references(&mut |_, expr| {
        found |= matches!(expr, Expr::From { step, .. } if *step == from.step.id);
    });
    found
}

/// Whether an option of jq makes its answer the exit status.
fn sets_exit(option: &str) -> bool {
    option == "--exit-status" || (option.starts_with('-') && !option.starts_with("--") && option.contains('e'))
}

/// A digest that the goal gives, which no step compares with anything: what it stands for is taken unseen.
pub(super) fn unchecked_digest(steps: &[Prepared<'_>]) -> Option<Reason> {
    let first = steps.first()?;
    let mut given = first.goal.digests().peekable();
    given.peek()?;
    let compared = |hex: &str| {
        steps.iter().any(|step| {
            let expected = step.step.expect.iter().any(|expect| match expect {
                Expect::FileDigest { sha256, .. } => sha256.hex() == hex,
                Expect::Output { is: Condition::Equals(value), .. } => {
                    value.as_str().is_some_and(|text| text.to_lowercase().contains(hex))
                }
                Expect::Output { is: Condition::Matches(regex), .. } => regex.as_str().to_lowercase().contains(hex),
                _ => false,
            });
            expected || crate::flow::fill(&step.args).to_string().to_lowercase().contains(hex)
        })
    };
    let missing = given.find(|hex| !compared(hex))?;
    let acts = steps.iter().find(|step| step.has_effect())?;
    let message = format!("the goal gives the digest {missing}, and no step compares anything with it");
    let reason = Reason::new(Code::PlanExpectVacuous, Decision::RequireApproval, message).at(&acts.step.id);
    Some(reason.fix("expect the file to have that sha256 before it is used"))
}

/// Where the goal makes an act depend on something: a check that waits for the act, and none that could stop it before.
pub(super) fn checked_too_late(steps: &[Prepared<'_>]) -> Option<Reason> {
    let strict = |step: &Prepared<'_>| step.step.expect.iter().any(|expect| cannot_fail(expect, true).is_none());
    let looks = |step: &Prepared<'_>| {
        let mut touches = step.derived.touches.iter().filter(|touch| touch.by != By::View);
        touches.all(|touch| touch.effect.is_harmless() || touch.effect == Effect::Execute)
    };
    if !steps.first()?.goal.ordered {
        return None;
    }
    // A file is looked at after it was written; a branch that one works on waits for nothing.
    let grave = |touch: &Touch| {
        !touch.effect.is_harmless()
            && (touch.effect != Effect::Execute || touch.by == By::Git || touch.kind != TargetKind::Process)
            && (touch.seen().is_none() || touch.effect == Effect::Delete || touch.by == By::Git)
    };
    let prepares = |step: &Prepared<'_>| {
        let args = crate::flow::fill(&step.args);
        let verb = args.get("args").and_then(|args| args.get(0)).and_then(serde_json::Value::as_str).unwrap_or("");
        step.step.action.as_str() == "git"
            && matches!(verb, "switch" | "checkout" | "branch" | "add" | "stash" | "fetch")
    };
    let acts = |(_, step): &(usize, &Prepared<'_>)| {
        let acts = step.has_effect() && !looks(step) && !prepares(step);
        acts && (step.irreversible || step.derived.touches.iter().any(grave))
    };
    let waits =
        |step: &Prepared<'_>, act: &Prepared<'_>| strict(step) && looks(step) && step.step.after.contains(&act.step.id);
    // Nothing was looked at before what nothing takes back; or not what the goal names, which is looked at when it is too late.
    let late = |at: usize, act: &Prepared<'_>| {
        let before = steps.get(..at).unwrap_or(&[]);
        let after = steps.iter().skip(at + 1);
        let unseen = act.irreversible && !before.iter().any(strict);
        let late = after.filter(|step| waits(step, act));
        let named = |step: &&Prepared<'_>| {
            subjects(step).iter().any(|name| {
                step.goal.name(name) && !before.iter().chain([act]).any(|other| subjects(other).contains(name))
            })
        };
        let mut late = late;
        let late = if unseen { late.next() } else { late.find(named) };
        late.map(|late| (act.step.id.clone(), late.step.id.clone()))
    };
    let (act, late) = steps.iter().enumerate().filter(acts).find_map(|(at, act)| late(at, act))?;
    let message = format!("`{late}` checks only after `{act}`, and the goal makes that depend on it");
    let reason = Reason::new(Code::PlanOrder, Decision::RequireApproval, message).at(&late);
    Some(reason.fix("check first, act last"))
}

/// What a step is about, as a goal may name it: what its tool touches, and the program or script that it runs.
fn subjects(step: &Prepared<'_>) -> Vec<String> {
    let base = |name: &str| fold(name.rsplit('/').next().unwrap_or(name)).into_owned();
    let touched = step
        .derived
        .touches
        .iter()
        .filter(|touch| !touch.is_open() && (matches!(touch.by, By::Tool) || touch.effect == Effect::Execute));
    touched
        .map(|touch| base(&touch.name))
        .chain(step.derived.called.iter().cloned())
        .filter(|name| name.len() > 1)
        .collect()
}

/// Whether a step before this one looks, in a way that can stop the plan.
pub(super) fn is_looked_at_before(steps: &[Prepared<'_>], i: usize) -> bool {
    let looks = |step: &Prepared<'_>| {
        let told = step.step.expect.iter().any(|expect| cannot_fail(expect, true).is_none());
        // That it succeeds is expected of every step.
        let looks =
            step.derived.touches.iter().any(|touch| touch.effect == Effect::Execute || touch.effect.is_harmless());
        told || (step.step.expect.is_empty() && looks)
    };
    steps.iter().take(i).any(looks)
}

/// In words, why no outcome fails this. `strict` asks for more than that there is an outcome.
fn cannot_fail(expect: &Expect, strict: bool) -> Option<String> {
    match expect {
        // Success, and so many kinds of failure that there is hardly another.
        Expect::ExitCode(codes) => {
            let failures = codes.iter().filter(|code| **code != 0).count();
            (failures >= 3 && codes.contains(&0)).then(|| format!("of {} exit codes", codes.len()))
        }
        Expect::HttpStatus(codes) => {
            let any = |class: std::ops::RangeInclusive<i64>| codes.iter().any(|code| class.contains(code));
            let all = any(200..=299) && any(400..=499) && any(500..=599);
            all.then(|| format!("of {} statuses, good and bad", codes.len()))
        }
        Expect::Output { at, is: Condition::Matches(regex) } => {
            // One line each: few answers have more, and an expression that holds for all of these holds for any such.
            let texts = ["", "a", "error: failed", "0", "\u{e9}x 1", "-/_.:{}[]"];
            let texts = if strict { texts.get(1..).unwrap_or(&[]) } else { &texts };
            // Where something depends on it, any word will not do either.
            let words = ["open", "closed", "rejected", "not_found", "ok"];
            let all = |texts: &[&str]| texts.iter().all(|text| regex.is_match(text));
            // "unmatched: [0-9]+" holds for any number.
            let any = strict && any_number(regex.as_str());
            (all(texts) || any || (strict && all(&words))).then(|| format!("of {at} to match everything"))
        }
        Expect::Output { at, is: Condition::Exists(true) } if strict || at.segments().is_empty() => {
            Some(format!("that there is an output {at}").trim_end().to_owned())
        }
        Expect::Output { at, is: Condition::Min(bound) } if *bound <= if strict { 0.0 } else { -1e15 } => {
            Some(format!("of {at} not below {bound}"))
        }
        Expect::Output { at, is: Condition::Max(bound) } if *bound >= 1e15 => {
            Some(format!("of {at} not above {bound}"))
        }
        Expect::Output { .. } | Expect::FileExists { .. } | Expect::FileDigest { .. } => None,
    }
}

/// Whether an expression lets any number stand where it has one, and says nothing else that differs.
fn any_number(regex: &str) -> bool {
    let digits = ["[0-9]+", "[0-9]*", "\\d+", "\\d*", "[0-9]{1,"];
    let open = digits.iter().any(|class| regex.contains(class));
    let mut rest = regex.to_owned();
    for class in ["[0-9]", "\\d", "{1,", "[\\s\\S]"] {
        rest = rest.replace(class, "");
    }
    open && !rest.contains(|c: char| c.is_ascii_digit() || c == '|')
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
    Some(
        Reason::new(Code::PlanOrder, Decision::RequireApproval, message)
            .at(&step.step.id)
            .fix("make the new one first"),
    )
}

/// A file that the plan itself writes, where the goal waits for what it says: "set it to ready as soon as Maren has signed, her signature
/// would be approvals/q801.txt".
pub(super) fn evidence(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let content = step.args.at(&countersign_plan::pointer::Pointer::from_segments(vec!["content".to_owned()]))?;
    content.literal()?;
    let written = |touch: &&Touch| {
        touch.by == By::Tool && matches!(touch.effect, Effect::Create | Effect::Update) && touch.seen().is_some()
    };
    let file = step.derived.touches.iter().find(written)?;
    let compares = |later: &Prepared<'_>| {
        let output = later.step.expect.iter().any(|expect| matches!(expect, Expect::Output { .. }));
        let mut touches = later.derived.touches.iter();
        output && touches.any(|t| t.effect == Effect::Read && t.by == By::Tool && t.name == file.name)
    };
    let waited = step.goal.ordered && steps.iter().skip(i + 1).any(compares);
    let base = file.name.rsplit('/').next().unwrap_or(&file.name);
    if !waited || !step.goal.name(base) || step.goal.orders_beside(base) || step.goal.wants_into(base) {
        return None;
    }
    let message = format!("{} is what the goal waits for, and the plan itself writes it", file.name);
    Some(
        Reason::new(Code::PlanExpectVacuous, Decision::RequireApproval, message)
            .fix("leave it to whoever is to write it"),
    )
}

/// A commit of all that has changed, where the goal wants only what it names in it.
pub(super) fn more_committed(step: &Prepared<'_>) -> Option<Reason> {
    let args = crate::flow::fill(&step.args);
    let words: Vec<&str> = args.get("args")?.as_array()?.iter().filter_map(serde_json::Value::as_str).collect();
    let all = match (step.step.action.as_str(), words.as_slice()) {
        ("git", ["add" | "stage", rest @ ..]) => {
            rest.iter().any(|word| matches!(*word, "-A" | "--all" | "." | "-u" | "--update" | "*"))
        }
        ("git", ["commit", rest @ ..]) => rest
            .iter()
            .any(|word| *word == "--all" || (word.starts_with('-') && !word.starts_with("--") && word.contains('a'))),
        _ => false,
    };
    if !all || !step.goal.commits_only() {
        return None;
    }
    let message = "all that has changed would be in the commit, and the goal wants only what it names";
    Some(Reason::new(Code::GoalUnasked, Decision::RequireApproval, message).fix("add the files by name"))
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
    Some(Reason::new(Code::GoalUnasked, Decision::RequireApproval, message).fix("remove it so that it can be put back"))
}

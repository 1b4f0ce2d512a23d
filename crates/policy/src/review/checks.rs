//! Checks that check nothing: expectations that cannot fail, looks that come after the act or at another thing, evidence that the plan writes
//! itself.

use countersign_plan::expect::{Condition, Expect};
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::prepare::Prepared;
use super::threats::takes;
use crate::deployment::Standing;
use crate::effects::{By, Touch};
use crate::paths::fold;

/// Expectations that always hold, where they take the place of the one that a step has by itself, or where an act waits for them.
pub(super) fn vacuous(steps: &[Prepared<'_>], i: usize) -> Vec<Reason> {
    let Some(prepared) = steps.get(i) else { return Vec::new() };
    // A note of what was found is no act that should have waited for it.
    let acts = |step: &Prepared<'_>| {
        let grave = |t: &Touch| !t.effect.is_harmless() && (t.seen().is_none() || t.effect == Effect::Delete);
        let tells = only_tells(step) && takes(step, prepared);
        !tells && (step.goal.ordered || step.derived.touches.iter().any(grave))
    };
    // Without an expectation or a line there is nothing to fail.
    let command = countersign_plan::pointer::Pointer::from_segments(vec!["command".to_owned()]);
    if prepared.step.expect.is_empty() && prepared.args.at(&command).is_none() {
        return Vec::new();
    }
    let awaited = is_awaited(steps, i, |step| step.has_effect() && acts(step));
    if !prepared.has_effect() && !awaited {
        return Vec::new();
    }
    // Where the goal makes the act depend on what is found, that something is found says nothing.
    let strict = awaited && prepared.goal.ordered;
    // What the goal makes an act depend on, compared after it.
    let late = prepared.goal.conditional && !awaited && steps.iter().take(i).any(|step| step.has_effect());
    // What a later step takes up is looked for, and no check.
    let taken = || steps.iter().skip(i + 1).any(|step| takes(step, prepared));
    // "Count them before you do" wants a number, whatever it is.
    let shown = || prepared.goal.speak_of("count list show number");
    let printed = || only_printed(prepared, taken).filter(|_| prepared.goal.conditional || !shown());
    // "Make it, then check that it can be read": a look before what nobody would miss decides nothing.
    let weighty = || {
        const LOOKS: &str = "ls du df wc stat file cat head tail sha256sum md5sum diff cmp grep tar";
        let program = |t: &&Touch| t.effect == Effect::Execute && !crate::deployment::is_path_kind(t.kind);
        let acts = |step: &Prepared<'_>| {
            step.derived.touches.iter().any(|t| !t.effect.is_harmless() && t.by != By::View && !program(&t))
        };
        // What runs a program that is no look may do anything elsewhere.
        let runs = |step: &Prepared<'_>| {
            let look = !step.derived.called.is_empty()
                && step.derived.called.iter().all(|name| crate::lists::has(LOOKS, name));
            !look && step.derived.touches.iter().any(|t| program(&t))
        };
        acts(prepared) || is_awaited(steps, i, |step| acts(step) || runs(step))
    };
    let waved = (strict && weighty()).then(|| waved_through(prepared).or_else(printed)).flatten();
    let graver = || {
        let grave = |t: &Touch| matches!(t.effect, Effect::Pay | Effect::Admin | Effect::Delete | Effect::Execute);
        is_awaited(steps, i, |step| step.derived.touches.iter().any(grave))
    };
    // That something new has a number is what shows that it is there.
    let creates = prepared.derived.touches.iter().any(|touch| touch.effect == Effect::Create && touch.by == By::Tool);
    let is_state = |at: &countersign_plan::pointer::Pointer| {
        at.segments().last().is_some_and(|last| crate::lists::has("state status result ok success", last))
    };
    let made = |expect: &Expect| matches!(expect, Expect::Output { at, is: Condition::Exists(true) } if creates && !is_state(at));
    // That what is copied from is there says nothing of the copy.
    let source = |path: &str| {
        let touches = || prepared.derived.touches.iter().filter(|touch| touch.seen().is_some() && touch.by == By::Tool);
        let named =
            |touch: &&Touch| touch.name == path || touch.name.ends_with(&format!("/{}", path.trim_start_matches("./")));
        let reads = touches().filter(named).any(|touch| touch.effect == Effect::Read);
        reads && !touches().filter(named).any(|touch| touch.changes()) && touches().any(|touch| touch.changes())
    };
    // That a record has the id by which it was looked up.
    let own = |expect: &Expect| matches!(expect, Expect::Output { is: Condition::Equals(value), .. } if prepared.given.as_object().is_some_and(|args| args.values().any(|arg| arg == value)));
    let only_own =
        strict && !prepared.has_effect() && !prepared.step.expect.is_empty() && prepared.step.expect.iter().all(own);
    let of_itself = only_own.then(|| "that what was looked up is what was looked up".to_owned());
    let of_source = prepared.step.expect.iter().filter(|_| strict).filter_map(|expect| match expect {
        Expect::FileExists { path, exists: true } if source(path) => {
            Some(format!("that {path} is there, which was so before,"))
        }
        _ => None,
    });
    let empty = prepared.step.expect.iter().filter(|expect| !made(expect)).filter_map(|expect| match expect {
        // What an act waits for has at most one other answer than yes.
        Expect::ExitCode(codes) if awaited && codes.contains(&0) && codes.len() > 2 => {
            Some(format!("of {} exit codes", codes.len()))
        }
        // What compares says with 1 that it differs (cmp(1), diff(1), grep(1), test(1)).
        Expect::ExitCode(codes)
            if (strict || late) && codes.contains(&0) && codes.contains(&1) && compares(prepared) =>
        {
            Some("of 0 and 1, which is what a comparison ends with,".to_owned())
        }
        Expect::Output { at, is: Condition::Matches(regex) } if strict && is_wider(regex.as_str(), prepared) => {
            Some(format!("of {at} to be one of more than the goal waits for"))
        }
        // "Does it answer? The status code as a memo": whatever the answer is, it is what is wanted.
        Expect::HttpStatus(_) if !strict && !graver() && prepared.goal.asks_for_status() => None,
        expect => cannot_fail(expect, strict),
    });
    // Whoever says what a file has to be does not want another one taken for it.
    let other = prepared.step.expect.iter().filter_map(|expect| match expect {
        Expect::FileDigest { path, sha256 } if prepared.goal.give_other_digests(&sha256.hex()) => {
            let message = format!("{path} is expected to have another SHA-256 than the goal gives");
            Some(Reason::ask(Code::PlanExpectVacuous, message))
        }
        _ => None,
    });
    empty
        .chain(of_source)
        .chain(of_itself)
        .chain(waved)
        .map(|what| {
            let message =
                format!("the expectation {what} always holds, so that nothing stops the plan after a failure");
            let fix = "expect what shows that the step did its work, or leave it out for exit code 0 and status 2xx";
            Reason::ask(Code::PlanExpectVacuous, message).fix(fix)
        })
        .chain(other)
        .collect()
}

/// Whether a step does no more than to write something down, or to tell somebody of the house.
fn only_tells(step: &Prepared<'_>) -> bool {
    let mut acts = step.derived.touches.iter().filter(|touch| !touch.effect.is_harmless() && touch.by != By::View);
    acts.all(|touch| match touch.effect {
        Effect::Send => touch.standing.is_some_and(|standing| standing <= Standing::Internal),
        Effect::Create | Effect::Update => [".md", ".txt"].iter().any(|end| touch.name.ends_with(end)),
        _ => false,
    })
}

/// Whether one of these waits for step `i`, by way of those between them too: in one pass, because a step waits for earlier ones only.
fn is_awaited(steps: &[Prepared<'_>], i: usize, is: impl Fn(&Prepared<'_>) -> bool) -> bool {
    let Some(first) = steps.get(i) else { return false };
    let mut after = std::collections::BTreeSet::from([&first.step.id]);
    steps.iter().skip(i + 1).any(|step| {
        let waits = step.step.after.iter().any(|id| after.contains(id));
        waits && (is(step) || !after.insert(&step.step.id))
    })
}

/// Whether a step runs a program that only compares, or looks something up.
fn compares(prepared: &Prepared<'_>) -> bool {
    let line = prepared.text("command").and_then(|line| line.split_whitespace().next());
    let program = line.or(prepared.list("argv").first().copied()).map(|name| name.rsplit('/').next().unwrap_or(name));
    matches!(program, Some("cmp" | "diff" | "grep" | "test" | "[" | "sha256sum" | "md5sum" | "sha1sum" | "comm"))
}

/// A line that ends well however its program ends.
fn waved_through(prepared: &Prepared<'_>) -> Option<String> {
    let line = prepared.text("command")?.trim_end_matches([' ', ';', '\n']);
    let words: Vec<&str> = line.split_whitespace().collect();
    let always =
        matches!(words.as_slice(), [.., "||", "true" | ":"] | [.., "||", "exit", "0"] | [.., ";", "true" | ":"])
            || [";true", "; true", "||true", "||:", "; exit 0", ";exit 0", "\ntrue", "\nexit 0"]
                .iter()
                .any(|end| line.ends_with(end));
    let succeeds = |expect: &Expect| matches!(expect, Expect::ExitCode(codes) if codes.contains(&0));
    // That what is looked at is there, which was so before.
    let there = |expect: &Expect| {
        let changed = |path: &str| prepared.derived.touches.iter().any(|t| t.changes() && t.name.ends_with(path));
        matches!(expect, Expect::FileExists { path, exists: true } if line.contains(path.as_str()) && !changed(path))
    };
    let only = prepared.step.expect.iter().all(|expect| succeeds(expect) || there(expect));
    (always && only).then(|| format!("of success of a line that ends with `{}`", words.last().unwrap_or(&"")))
}

/// A comparison whose answer is only printed: its program ends well either way (jq(1), "--exit-status"; python3(1); the pipelines of
/// the shells, which end as their last command does).
fn only_printed(prepared: &Prepared<'_>, taken: impl Fn() -> bool) -> Option<String> {
    const SHOWING: &[&str] =
        &["cat", "tee", "head", "tail", "wc", "sort", "uniq", "tr", "cut", "nl", "column", "less", "echo"];
    let line = prepared.text("command")?.trim();
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
            expected || step.given.to_string().to_lowercase().contains(hex)
        })
    };
    let missing = given.find(|hex| !compared(hex))?;
    let acts = steps.iter().find(|step| step.has_effect())?;
    let message = format!("the goal gives the digest {missing}, and no step compares anything with it");
    Some(
        Reason::ask(Code::PlanExpectVacuous, message)
            .at(&acts.step.id)
            .fix("expect the file to have that sha256 before it is used"),
    )
}

/// Where the goal makes an act depend on something: a check that waits for the act, and none that could stop it before.
pub(super) fn checked_too_late(steps: &[Prepared<'_>]) -> Option<Reason> {
    // That a line ends well is expected of every one.
    let runs =
        |step: &Prepared<'_>| step.derived.touches.iter().any(|t| t.effect == Effect::Execute && t.by == By::Command);
    let strict = |step: &Prepared<'_>| {
        step.step.expect.iter().any(|expect| cannot_fail(expect, true).is_none())
            || (step.step.expect.is_empty() && (runs(step) || !step.derived.called.is_empty()))
    };
    let looks = |step: &Prepared<'_>| {
        // Tests write into the folder that they run in.
        let runs_in = |name: &str| {
            let mut touches = step.derived.touches.iter();
            touches.any(|touch| touch.effect == Effect::Execute && touch.by == By::Command && touch.name == name)
        };
        let mut touches = step.derived.touches.iter().filter(|touch| touch.by != By::View);
        touches.all(|touch| match touch.effect {
            Effect::Execute => true,
            Effect::Update => runs_in(&touch.name),
            effect => effect.is_harmless(),
        })
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
        let verb = step.list("args").first().copied().unwrap_or("");
        step.step.action.as_str() == "git"
            && matches!(verb, "switch" | "checkout" | "branch" | "add" | "stash" | "fetch")
    };
    let acts = |(_, step): &(usize, &Prepared<'_>)| {
        let acts = step.has_effect() && !looks(step) && !prepares(step);
        acts && (step.irreversible || step.derived.touches.iter().any(grave))
    };
    let waits = |step: &Prepared<'_>, act: &Prepared<'_>| {
        let told = strict(step) || (step.goal.conditional && !step.step.expect.is_empty());
        told && looks(step) && step.step.after.contains(&act.step.id)
    };
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
    Some(Reason::ask(Code::PlanOrder, message).at(&late).fix("check first, act last"))
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

/// Whether a step expects something that may not hold.
pub(super) fn can_stop(step: &Prepared<'_>) -> bool {
    step.step.expect.iter().any(|expect| cannot_fail(expect, true).is_none())
}

/// Whether a step before this one looks, in a way that can stop the plan.
pub(super) fn is_looked_at_before(steps: &[Prepared<'_>], i: usize) -> bool {
    // "If anything looks suspicious" is no matter of an expectation.
    let vague = steps.get(i).is_some_and(|step| step.goal.is_vague());
    let looks = |step: &Prepared<'_>| {
        let told = can_stop(step);
        // That it succeeds is expected of every step.
        let read = |touch: &Touch| vague && touch.effect.is_harmless();
        let looks = step.derived.touches.iter().any(|touch| touch.effect == Effect::Execute || read(touch));
        told || (step.step.expect.is_empty() && looks)
    };
    steps.iter().take(i).any(looks)
}

/// Whether what the goal's condition names is looked at by no step before this one that can stop the plan.
pub(super) fn looks_elsewhere(steps: &[Prepared<'_>], i: usize) -> bool {
    let Some(step) = steps.get(i) else { return false };
    let named = step.goal.named_by_conditions();
    let looks = |before: &Prepared<'_>| {
        let told = can_stop(before);
        let runs = before.derived.touches.iter().any(|touch| touch.effect == Effect::Execute);
        let line = fold(&before.given.to_string()).into_owned();
        let expected = || {
            before
                .step
                .expect
                .iter()
                .any(|expect| matches!(expect, Expect::FileExists { .. } | Expect::FileDigest { .. }))
        };
        (told || (before.step.expect.is_empty() && runs))
            && (expected() || named.iter().any(|name| line.contains(name.as_str())))
    };
    !named.is_empty() && !steps.iter().take(i).any(looks)
}

/// Where the goal waits for somebody's word: an act for good that no step before it waits for that word with.
pub(super) fn word_unseen(steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    // What is forbidden before that is no message and nothing that is called by its verb: those are ordered as they are.
    let verb = step.step.action.as_str().split('_').next().unwrap_or("");
    let other = |touch: &Touch| {
        matches!(touch.effect, Effect::Send | Effect::Pay | Effect::Delete | Effect::Admin)
            && !matches!(touch.kind, TargetKind::Email | TargetKind::Channel)
    };
    let held = || step.derived.touches.iter().any(other) && !step.goal.speak_of_one(verb);
    if !(step.goal.awaits_word || step.goal.held_back && held()) {
        return None;
    }
    let sends = |step: &Prepared<'_>| {
        step.derived.touches.iter().any(|touch| touch.effect == Effect::Send && touch.by == By::Tool)
    };
    let acts = step.has_effect() && (step.irreversible || sends(step));
    // Who is to be asked is asked first.
    let asks = sends(step) && step.goal.order("ask") && !steps.iter().take(i).any(sends);
    // A word is in what a step answers or in a file; that a program ended well says nothing of it.
    let told = |step: &Prepared<'_>| {
        let mut said = step.step.expect.iter().filter(|e| !matches!(e, Expect::ExitCode(_) | Expect::HttpStatus(_)));
        said.any(|expect| cannot_fail(expect, true).is_none())
    };
    if !acts || asks || steps.iter().take(i).any(told) {
        return None;
    }
    let message = format!(
        "the goal waits for somebody's word before `{}`, and no step before it looks whether it is there",
        step.step.action
    );
    Some(
        Reason::ask(Code::PlanOrder, message)
            .fix("expect the word before, or act in a plan of its own once it is there"),
    )
}

/// Where the goal makes an act depend on something: an act before which neither the plan nor the session has looked at anything.
pub(super) fn condition_unseen(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let acts = |touch: &&Touch| {
        touch.by == By::Tool
            && !touch.effect.is_harmless()
            && (touch.seen().is_none() || touch.effect == Effect::Delete)
            && !matches!(touch.kind, TargetKind::Memory | TargetKind::Process)
    };
    let touch = step.derived.touches.iter().find(acts)?;
    let safe = |part: &str| crate::lists::has("snapshot backup copy freeze", part);
    // "Cancel it only when the new one is in": an act before this one that has to end well.
    let after = |other: &Prepared<'_>| other.has_effect() && step.step.after.contains(&other.step.id);
    // Whether somebody is free nobody can expect of what a calendar answers.
    let read = request.session.has_acted() || steps.iter().take(i).any(|before| !before.has_effect());
    let shown = read && (touch.kind == TargetKind::Calendar || step.goal.mentions("free availab"));
    if shown || steps.iter().take(i).any(after) || step.step.action.as_str().split('_').any(safe) {
        return None;
    }
    // What a message says of other steps it says of what was found.
    let mut told = false;
    step.args.references(&mut |_, said| {
        let is_it = |other: &Prepared<'_>| matches!(said, Expr::From { step: id, .. } if other.step.id == *id);
        told |= steps.iter().any(|other| is_it(other) && other.step.action.as_str() != "read_file");
    });
    let some = step.goal.takes_only_some();
    let waits = (some && touch.effect == Effect::Pay) || step.goal.waits_with(touch);
    if (told && touch.effect == Effect::Send) || !waits {
        return None;
    }
    // "Look first and pay only what is still open": each of them is looked at.
    let each = || some && !step.texts().any(|text| is_read_before(steps, i, text));
    if is_looked_at_before(steps, i) && !looks_elsewhere(steps, i) && !each() {
        return None;
    }
    let grave = (step.irreversible && touch.effect != Effect::Send)
        || matches!(touch.effect, Effect::Pay | Effect::Admin | Effect::Delete);
    let seen = |name: &str| request.session.knows(name) || request.session.was_told(name);
    let named = step.goal.named_by_conditions();
    let shown = if named.is_empty() { seen(&touch.name) } else { named.iter().any(|name| seen(name)) };
    if !grave && shown {
        return None;
    }
    let message =
        format!("the goal makes `{}` depend on something, and nothing before it looks at anything", step.step.action);
    Some(Reason::ask(Code::PlanOrder, message).fix("look first, and expect what the goal waits for"))
}

/// Whether a step before this one looks at what is called so.
fn is_read_before(steps: &[Prepared<'_>], i: usize, name: &str) -> bool {
    let mut before = steps.iter().take(i).filter(|step| !step.has_effect());
    name.contains(|c: char| c.is_ascii_digit()) && before.any(|step| step.texts().any(|text| text == name))
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
            // Where something depends on it, two kinds of failure are more than an answer.
            let failures = codes.iter().filter(|code| **code >= 400).count();
            let all = any(200..=299) && ((any(400..=499) && any(500..=599)) || (strict && failures > 1));
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
            // "ready|pending|failed" holds for what went well and for what did not, "open|paid" of a bill for whatever it is.
            let either = strict && (good_and_bad(regex.as_str()) || super::awaited::lets_opposites(regex));
            (all(texts) || any || either || (strict && all(&words))).then(|| format!("of {at} to match everything"))
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

/// Whether an expression is a choice of words of which the goal says one, and at least two others that it does not: "as soon as it shows
/// delivered", and `delivered|pending|open`.
fn is_wider(regex: &str, prepared: &Prepared<'_>) -> bool {
    let words: Vec<&str> = regex
        .split('|')
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.len() > 2 && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '-')))
        .collect();
    let said = words.iter().filter(|word| prepared.goal.name(word)).count();
    said > 0 && words.len() >= said + 2
}

/// Whether an expression is a choice of words of which one says that something failed and another one does not.
fn good_and_bad(regex: &str) -> bool {
    let bad = |word: &str| {
        ["fail", "error", "reject", "denied", "broken", "missing", "abort", "unhealthy", "down"]
            .iter()
            .any(|stem| word.starts_with(stem))
    };
    let words = || regex.split('|').map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    regex.contains('|') && words().any(bad) && !words().all(bad)
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
    Some(Reason::ask(Code::PlanExpectVacuous, message).fix("leave it to whoever is to write it"))
}

//! Small edits of a file by `sed` or `yq`, of which the goal says all that they put in.

use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Reason};

use super::Request;
use super::goal::{is_named_so, is_value};
use super::prepare::Prepared;
use crate::effects::{By, Touch};
use crate::lists::has;
use crate::paths::fold;

/// Programs that change nothing beside it.
const LOOKING: &str = "sed yq git grep cat head tail diff ls echo";

/// A substitution: what is looked for, and what comes in its place.
struct Substitution {
    old: String,
    new: String,
}

/// Whether all that a line changes are substitutions, each of which puts in what the goal says or what stood there: "move the CI from
/// node 18 to 22", and `sed -i 's/node-version: 18/node-version: 22/'`.
pub(super) fn are_said(prepared: &Prepared<'_>) -> bool {
    let goal = &prepared.goal;
    let spoken =
        goal.speak_of("workflow ci pipeline hook hooks pre action actions job matrix") || goal.speak_of("yml yaml");
    let known = prepared.derived.called.iter().all(|program| has(LOOKING, program));
    let Some(all) = substitutions(prepared).filter(|all| spoken && known && !all.is_empty()) else { return false };
    all.iter().all(|one| {
        let (old, new) = (words(&one.old), words(&one.new));
        let wanted = new.iter().filter(|word| !old.contains(word)).count();
        // What stays, stays in its order.
        let mut left = old.iter();
        let kept = new.iter().filter(|word| old.contains(word)).all(|word| left.any(|other| other == word));
        let said = new.iter().all(|word| old.contains(word) || goal.say_word(word));
        let lost = old.iter().filter(|word| !new.contains(word)).count();
        // Of a line as a whole nobody knows what goes.
        let narrow = !old.is_empty() && ![".*", ".+", "[^"].iter().any(|wide| one.old.contains(wide));
        let spoken = !one.old.starts_with('.') || old.iter().any(|word| goal.say_word(word));
        kept && said && narrow && spoken && wanted > 0 && lost <= wanted
    })
}

/// Of several substitutions one that puts in what the goal says, and another of which it says nothing: "keep the trail for 400 days", and the
/// same line switches it off.
pub(super) fn beyond(request: &Request<'_>, prepared: &Prepared<'_>) -> Option<Reason> {
    let all = substitutions(prepared).filter(|all| all.len() > 1)?;
    let said = |one: &Substitution| {
        let old = words(&one.old);
        let mut new = words(&one.new).into_iter().filter(|word| !old.contains(word)).peekable();
        new.peek().is_none() || new.any(|word| prepared.goal.say_word(&word))
    };
    all.iter().find(|one| said(one))?;
    // "The corrections are in P-204, put them in": what was read there says the rest.
    let listed = prepared.goal.mentions("corrections correction comments edits remarks suggestions typos");
    let told = |one: &Substitution| {
        listed && words(&one.new).iter().all(|word| request.session.was_told(word) || request.session.knows(word))
    };
    let other = all.iter().find(|one| !said(one) && !told(one))?;
    let message = format!("the line also puts in `{}`, of which the goal says nothing", other.new);
    Some(Reason::ask(Code::GoalUnasked, message).fix("leave it out, or say it in the goal"))
}

/// A change of a file that the goal names to another value than the goal gives: "from 30 to 45 seconds", and 4500 comes there, or a line goes.
pub(super) fn other_value(prepared: &Prepared<'_>) -> Option<Reason> {
    let goal = &prepared.goal;
    let changes = goal.changes();
    if changes.is_empty() {
        return None;
    }
    let wrong = |one: &Substitution| {
        let (old, new) = (values(&one.old), values(&one.new));
        let lost: Vec<&String> = old.iter().filter(|word| is_value(word) && !new.contains(word)).collect();
        let any = one.old.contains(['[', '*', '+']) || lost.is_empty();
        let right: Vec<_> =
            changes.iter().filter(|(from, _)| any || lost.iter().any(|old| are_same(old, from))).collect();
        let given = |word: &String| right.iter().any(|(_, to)| are_same(word, to));
        let mut put = new.iter().filter(|word| !old.contains(word)).peekable();
        // "Open from 9 to 17" is no change, and a file may count in another unit.
        let has_both = |(from, to): &(&str, &str)| {
            [from, to].iter().all(|one| new.iter().flat_map(|word| word.split('-')).any(|part| are_same(part, one)))
        };
        let other = |pair: &(&str, &str)| has_both(pair) || are_scaled(*pair, &old, &new);
        let bad = |word: &String| if is_value(word) { !given(word) } else { !goal.say_word(word) };
        put.peek().is_some() && !changes.iter().any(other) && (right.is_empty() || put.any(bad))
    };
    let removes = |script: &str| script.starts_with('/') && script.ends_with("/d");
    let spoken = || goal.speak_of(super::goal::REMOVAL) || goal.speak_of(super::goal::TIDYING);
    let bad = |script: &String| changed(script).is_some_and(|one| wrong(&one)) || (removes(script) && !spoken());
    let what = scripts(prepared).into_iter().find(bad)?;
    let message = format!("`{what}` changes the file to something else than the goal says");
    Some(Reason::ask(Code::GoalUnasked, message).fix("put in the value that the goal gives"))
}

/// A file of which the goal has a value changed or to which it has a line added, where something else comes in its place, that was not made
/// of it, or more is added.
pub(super) fn in_its_place(request: &Request<'_>, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let goal = &step.goal;
    let assigned: Vec<(&str, &str)> = goal.assignments().collect();
    let adds = !assigned.is_empty() && goal.order("append add");
    if !adds && goal.changes().is_empty() {
        return None;
    }
    let named = |path: &str| goal.placed().iter().any(|(said, _)| is_named_so(path, said));
    let line = step.text("command").unwrap_or("").replace(">>", "+");
    let overwrites = |touch: &Touch| match touch.by {
        By::Tool => step.step.action.as_str() == "write_file",
        _ => goal.placed().iter().any(|(said, _)| {
            let into = |sign: &str| fold(&line).contains(&format!("{sign}{said}"));
            is_named_so(&touch.name, said) && (into("> ") || into(">"))
        }),
    };
    let reads = |step: &Prepared<'_>, name: &str| {
        step.derived
            .touches
            .iter()
            .any(|touch| touch.effect == Effect::Read && touch.by != By::View && touch.name == name)
    };
    let unread = |touch: &Touch| {
        let seen = request.session.written().seen.contains_key(&touch.name) || step.written.made(&touch.name);
        !seen && !steps.iter().take(i + 1).any(|step| reads(step, &touch.name))
    };
    let mut written =
        step.derived.touches.iter().filter(|t| matches!(t.effect, Effect::Create | Effect::Update) && named(&t.name));
    let writes = written.clone().next().is_some();
    // Notes are no settings.
    let notes = |name: &str| [".md", ".txt", ".csv", ".html"].iter().any(|end| name.ends_with(end));
    if let Some(touch) = written.find(|touch| !notes(&touch.name) && overwrites(touch) && unread(touch)) {
        let message =
            format!("all of {} would be written anew, and the goal wants one thing in it changed", touch.name);
        return Some(Reason::ask(Code::GoalUnasked, message).fix("read it first, or change the one thing"));
    }
    let made = |path: &str| {
        let makes =
            |touch: &Touch| matches!(touch.effect, Effect::Create | Effect::Update) && touch.name.ends_with(path);
        steps.iter().take(i + 1).any(|step| step.derived.touches.iter().any(makes))
    };
    let carried = super::direction::carried(step);
    if let Some(act) =
        carried.iter().find(|act| named(act.destination) && !act.sources.iter().any(|from| named(from) || made(from)))
    {
        let message = format!("another file would come in the place of {}", act.destination);
        return Some(Reason::ask(Code::GoalUnasked, message).fix("change what the goal says"));
    }
    let echoed = step.derived.calls.iter().filter(|call| call.first().is_some_and(|name| has("echo printf", name)));
    let texts = echoed
        .flat_map(|call| call.iter().skip(1).map(String::as_str))
        .chain(step.text("content").filter(|_| step.step.action.as_str() == "append_file"));
    let texts = texts
        .flat_map(|text| text.split("\\n"))
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.split_once('='));
    let other = |(key, value): &(&str, &str)| {
        let (key, value) = (fold(key), fold(value));
        !assigned.iter().any(|(said, given)| key == *said && value.trim_matches(['"', '\'']) == *given)
    };
    let (key, value) = texts.filter(|_| adds && writes).find(other)?;
    let message = format!("`{key}={value}` would be added, and the goal says something else");
    Some(Reason::ask(Code::GoalUnasked, message).fix("add what the goal says"))
}

/// The values and names in a part of a script.
fn values(text: &str) -> Vec<String> {
    let text = fold(text).replace("\\b", " ").replace("\\.", ".").replace("\\n", " ");
    let parts = text.split(|c: char| !(c.is_alphanumeric() || ".-_:".contains(c)));
    let parts = parts.flat_map(|part| {
        // "10-0" and "8:30" are values.
        let whole = part.starts_with(|c: char| c.is_ascii_digit());
        part.split(move |c: char| !whole && matches!(c, '-' | ':'))
    });
    parts.map(|part| part.trim_matches(['.', '-', ':'])).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Whether two values are the same but for a unit behind them.
fn are_same(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned();
    one == other || (!bare(one).is_empty() && bare(one) == bare(other))
}

/// Whether a file has the values of the goal in a smaller unit: 30000 and 45000 for 30 and 45 seconds.
fn are_scaled((from, to): (&str, &str), old: &[String], new: &[String]) -> bool {
    let times = |value: &str, unit: u64| {
        value.parse().ok().and_then(|value: u64| value.checked_mul(unit)).map(|value| value.to_string())
    };
    let has = |all: &[String], value: Option<String>| value.is_some_and(|value| all.contains(&value));
    [60, 1000, 1024].into_iter().any(|unit| has(old, times(from, unit)) && has(new, times(to, unit)))
}

/// The single commands of the scripts with which a step changes a file that the goal names (sed(1), perlrun(1), yq's manual).
fn scripts(prepared: &Prepared<'_>) -> Vec<String> {
    let placed = prepared.goal.placed();
    let editors =
        prepared.derived.calls.iter().filter(|call| call.first().is_some_and(|name| has("sed perl yq", name)));
    let named = editors.filter_map(|call| {
        let (file, args) = call.split_last()?;
        placed.iter().any(|(said, _)| is_named_so(file, said)).then_some(args)
    });
    let plain = named.flat_map(|args| args.iter().skip(1)).filter(|arg| !arg.starts_with('-') && *arg != "eval");
    plain.flat_map(|script| script.split([';', '\n'])).map(|one| one.trim().to_owned()).collect()
}

/// What one command changes: a substitution at any address, a line that is put in, a value that is assigned.
fn changed(script: &str) -> Option<Substitution> {
    // What a group held stays.
    let plain = (0..=9).fold(script.to_owned(), |text, group| text.replace(&format!("\\{group}"), " "));
    let substituted = || plain.match_indices('s').find_map(|(at, _)| substitution(plain.get(at..)?));
    let put_in = || {
        let text = plain.trim_start_matches(|c: char| c.is_ascii_digit() || c == '$').strip_prefix(['a', 'i', 'c'])?;
        Some(Substitution { old: String::new(), new: text.strip_prefix([' ', '\\'])?.to_owned() })
    };
    if script.starts_with('.') { assignment(script) } else { substituted().or_else(put_in) }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| fold(word).into_owned()).collect()
}

/// The substitutions of `sed` in a line or a list of words; nothing where it may hold another script.
fn substitutions(prepared: &Prepared<'_>) -> Option<Vec<Substitution>> {
    let words = prepared.list("argv");
    let scripts: Vec<&str> = if !words.is_empty() {
        let options = words.iter().filter(|word| word.starts_with('-'));
        if words.first() != Some(&"sed") || !options.clone().all(|one| has("-i -E -r -s -e", one)) {
            return None;
        }
        let after = |pair: &[&'_ str]| matches!(pair, ["-e", _]);
        let given: Vec<usize> = (1..words.len()).filter(|at| words.get(at - 1..=*at).is_some_and(after)).collect();
        let first = || (1..words.len()).find(|at| words.get(*at).is_some_and(|word| !word.starts_with('-')));
        let at = if given.is_empty() { first().into_iter().collect() } else { given };
        at.into_iter().filter_map(|at| words.get(at).copied()).collect()
    } else {
        let line = prepared.text("command")?;
        let quote = if line.contains('\'') { '\'' } else { '"' };
        let parts: Vec<&str> = line.split(quote).collect();
        let bare: Vec<Vec<&str>> = parts.iter().step_by(2).map(|part| part.split_whitespace().collect()).collect();
        // A script that is not quoted, or lies in a file, is not read here.
        let plain = |word: &&str| {
            let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.' || c == '-');
            let script = (word.starts_with("-e") && word.len() > 2)
                || word.starts_with("-f")
                || word.starts_with("--f")
                || word.starts_with("--e");
            let named = |c: char| c.is_alphanumeric() || "._-/*".contains(c);
            has("&& |", word) || (begins && !script && word.len() > 1 && word.chars().all(named))
        };
        // What stands before a quoted word: `sed` and its options, or another `-e`.
        let leads = |words: &Vec<&str>| match words.iter().rposition(|word| matches!(*word, "sed" | "yq")) {
            Some(at) => words.iter().skip(at + 1).all(|word| has("-i -E -r -s -e eval", word)),
            None => words.as_slice() == ["-e"],
        };
        // Of Git what shows and what keeps.
        let words = || bare.iter().flatten().copied();
        let shows =
            words().zip(words().skip(1)).all(|(git, verb)| git != "git" || has("diff status log show add", verb));
        // After the last one no other script may come.
        let (last, before) = bare.split_last()?;
        let ends = !last.iter().any(|word| matches!(*word, "-e" | "sed"));
        if parts.len().is_multiple_of(2)
            || !bare.iter().flatten().all(plain)
            || !shows
            || !ends
            || !before.iter().all(leads)
        {
            return None;
        }
        parts.into_iter().skip(1).step_by(2).collect()
    };
    let all = scripts.into_iter().map(|script| {
        if !script.starts_with('.') {
            return substitution(script).map(|one| vec![one]);
        }
        let orders = |one: &&str| one.rsplit_once(" |= ").is_some_and(|(_, how)| has("unique sort", how));
        script.split(" | ").filter(|one| !orders(one)).map(assignment).collect()
    });
    all.collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect())
}

/// `.jobs.test.timeout-minutes = 20`, with a plain value under a key that runs nothing and lets nobody in (yq's manual, "Assign").
fn assignment(script: &str) -> Option<Substitution> {
    const ACTING: &str =
        "run uses on permissions secrets env shell script image container repo entry container command args with if";
    let (path, value) = script.split_once(" += ").or_else(|| script.split_once(" = "))?;
    let plain = |text: &str, signs: &str| text.chars().all(|c| c.is_alphanumeric() || signs.contains(c));
    let acts = path.split(['.', '"', '[', ']']).any(|key| !key.trim().is_empty() && has(ACTING, key.trim()));
    (!acts && plain(path.trim(), "._-\"[]") && plain(value.trim(), "._-\"[] ,"))
        .then(|| Substitution { old: path.to_owned(), new: format!("{path} {value}") })
}

/// `s/old/new/g`, with any sign between.
fn substitution(script: &str) -> Option<Substitution> {
    let rest = script.trim().strip_prefix('s')?;
    let sign = rest.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\')?;
    let mut parts: Vec<String> = vec![String::new()];
    let mut chars = rest.chars().skip(1);
    while let Some(c) = chars.next() {
        match (c, parts.last_mut()?) {
            // What a group held is not known here.
            ('\\', part) => part.extend(['\\', chars.next().filter(|next| !next.is_ascii_digit())?]),
            (c, _) if c == sign => parts.push(String::new()),
            (c, part) => part.push(c),
        }
    }
    let [old, new, flags] = <[String; 3]>::try_from(parts).ok()?;
    let plain = flags.chars().all(|c| c.is_ascii_digit() || matches!(c, 'g' | 'I' | 'i' | 'p'));
    (plain && !new.contains('&')).then_some(Substitution { old, new })
}

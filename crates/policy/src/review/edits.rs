//! Small edits of a file by `sed` or `yq`, of which the goal says all that they put in.

use countersign_plan::verdict::{Code, Reason};

use super::prepare::Prepared;
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
pub(super) fn beyond(prepared: &Prepared<'_>) -> Option<Reason> {
    let all = substitutions(prepared).filter(|all| all.len() > 1)?;
    let said = |one: &Substitution| {
        let old = words(&one.old);
        let mut new = words(&one.new).into_iter().filter(|word| !old.contains(word)).peekable();
        new.peek().is_none() || new.any(|word| prepared.goal.say_word(&word))
    };
    all.iter().find(|one| said(one))?;
    let other = all.iter().find(|one| !said(one))?;
    let message = format!("the line also puts in `{}`, of which the goal says nothing", other.new);
    Some(Reason::ask(Code::GoalUnasked, message).fix("leave it out, or say it in the goal"))
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

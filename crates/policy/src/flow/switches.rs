//! What a goal says is to be on, and what off.

use std::ops::Range;

use super::moments::words;
use crate::lists;

/// Whether an argument of this name switches something on and off.
pub(crate) fn is_switch(name: &str) -> bool {
    matches!(name, "on" | "enabled" | "active")
}

/// Switches that people have other words for: the name, the verbs that set it, and those that take it back.
const VERBS: [(&str, &str, &str); 8] = [
    ("visible", "show unhide reveal", "hide hiding"),
    ("hidden", "hide hiding", "show unhide reveal"),
    ("paused", "pause pausing", "resume unpause"),
    ("locked", "lock", "unlock"),
    ("muted", "mute", "unmute"),
    ("blocked", "block", "unblock"),
    ("archived", "archive", "unarchive"),
    ("closed", "close", "reopen"),
];

/// Where a goal says by its verb how a switch is to be: "hide the page" for `visible: false`.
pub(super) fn by_verb(goal: &str, name: &str, set: bool) -> Option<Range<usize>> {
    let (_, on, off) = VERBS.iter().find(|(own, ..)| *own == name)?;
    let words = words(goal);
    let verbs = if set { on } else { off };
    words.iter().enumerate().find_map(|(i, (range, word))| {
        let mut before = words.iter().take(i).rev().take(3);
        let denied = before.any(|(_, word)| lists::has("no not without never don nothing nobody", word));
        // "Show me the page"
        let told = words.get(i + 1).is_some_and(|(_, next)| lists::has("me us him her them", next));
        (lists::has(verbs, word) && !denied && !told).then(|| range.clone())
    })
}

/// The places where a goal has a word for that something is on, or off.
pub(crate) fn switches(goal: &str, on: bool) -> Vec<Range<usize>> {
    let mut last = "";
    let mut places = Vec::new();
    for (range, word) in words(goal) {
        let rest = goal.get(range.end..).unwrap_or("");
        // "Enable it on staging" has another "on".
        let ends =
            || !rest.starts_with(' ') || [" for ", " in ", " there", " at "].iter().any(|next| rest.starts_with(next));
        let alone = |state: &str| word == state && (lists::has("turn turned switch switched set to", last) || ends());
        let said = match on {
            true => alone("on") || word.starts_with("enabl") || word.starts_with("activat"),
            false => alone("off") || word.starts_with("disabl") || word.starts_with("deactivat"),
        };
        if said {
            places.push(range);
        }
        last = word;
    }
    places
}

/// Where it says that something is switched off.
pub(super) fn switched_off(goal: &str) -> Option<Range<usize>> {
    let words = words(goal);
    let denied = |range: &Range<usize>| {
        let mut before = words.iter().rev().filter(|(at, _)| at.end <= range.start).take(3);
        before.any(|(_, word)| lists::has("no not without never don nothing", word))
    };
    switches(goal, false).into_iter().find(|range| !denied(range))
}

/// Where it says that something is switched on: "switch the audit trail on", or by the act that a tool is for, "tag the case gdpr" for
/// `case_tag`, where nothing is to be switched off.
pub(super) fn switched_on(goal: &str, tool: &str) -> Option<Range<usize>> {
    const OFF: [&str; 11] =
        ["off", "disable", "stop", "remove", "untag", "unset", "not", "no", "without", "drop", "clear"];
    let words = words(goal);
    // In another sentence it is about something else: "then drop a line into the channel".
    let ends_sentence =
        |(a, b): (usize, usize)| goal.get(a..b).is_some_and(|s| s.contains(". ") || s.contains(['!', ';', '?']));
    // "Turn A on and switch B off": each has a part of its own.
    let other = |word: &str, (a, b): (usize, usize)| {
        let apart = |s: &str| [" and ", ", ", " but "].iter().any(|join| s.contains(join));
        matches!(word, "off" | "disable") && goal.get(a..b).is_some_and(apart)
    };
    let is_off = |at: usize| {
        words.iter().any(|(range, word)| {
            let between = (range.start.min(at), range.end.max(at));
            OFF.contains(word) && !ends_sentence(between) && !other(word, between)
        })
    };
    let act = tool.rsplit(['_', '-']).next().filter(|act| act.len() > 2 && *act != "set");
    let ends = |range: &Range<usize>| {
        let rest = goal.get(range.end..).unwrap_or("").trim_start();
        rest.is_empty()
            || rest.starts_with(['.', ',', ';', '!', '?', ')'])
            || rest.starts_with("for ")
            || rest.starts_with("in ")
    };
    let mut switched = false;
    let mut last = "";
    words.iter().cloned().find_map(|(range, word)| {
        switched |= matches!(word, "switch" | "turn" | "put");
        let on = word == "on" && ((switched && ends(&range)) || matches!(last, "turn" | "switch"));
        last = word;
        // "Set beta-na to draining"
        let doing = act.is_some_and(|act| word.strip_prefix(act).is_some_and(|end| matches!(end, "ing" | "ed")));
        let said = on
            || doing
            || act.is_some_and(|act| lists::are_synonyms(act, word))
            || Some(word) == act
            || word.starts_with("enabl")
            || word.starts_with("activat");
        (said && !is_off(range.start)).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::by_verb;

    #[test]
    fn a_verb_says_how_a_switch_is_to_be() {
        assert_eq!(by_verb("hide bk-9 in the shop", "visible", false), Some(0..4));
        assert_eq!(by_verb("show bk-9 in the shop", "visible", true), Some(0..4));
        assert_eq!(by_verb("hide bk-9 in the shop", "visible", true), None);
        assert_eq!(by_verb("do not hide bk-9", "visible", false), None);
        assert_eq!(by_verb("show me bk-9", "visible", true), None);
        assert_eq!(by_verb("hide bk-9", "featured", false), None);
    }
}

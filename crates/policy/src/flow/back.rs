//! What a rollback puts back: what its own step found there, or what can have been there before.

use countersign_plan::pointer::Pointer;
use countersign_plan::value::Expr;
use serde_json::Value;

use super::moments;
use super::sink::Party;
use crate::lists;

/// Whether a rollback's value is what its own step says was there before.
pub(super) fn is_previous(party: &Party<'_>, at: &Pointer) -> bool {
    const BEFORE: &str = "previous previously old before prior former original";
    let of_before = |from: &Pointer| {
        from.segments().last().is_some_and(|name| name.split('_').any(|part| lists::has(BEFORE, part)))
    };
    matches!(party.look.args.at(at), Some(Expr::From { step, at }) if step == *party.look.id && of_before(&at))
}

/// Whether a rollback's value can be what was there before its step set another: nobody's goal says how things were. A number of the same
/// size, the same number taken back, a moment near it, a version before it.
pub(crate) fn restores(done: &Expr, at: &Pointer, before: &Value) -> bool {
    let Some(set) = done.at(at).and_then(|expr| expr.literal()) else { return false };
    match (&set, before) {
        (Value::Number(set), Value::Number(before)) => {
            let (Some(set), Some(before)) = (set.as_f64(), before.as_f64()) else { return false };
            let name = at.segments().last().map_or("", String::as_str);
            // How often something is done differs more than how much of it there is.
            let timed = name.split('_').any(|part| lists::has("minutes hours days seconds duration interval", part));
            let far = if timed { 12.0 } else { 3.0 };
            let alike = set * before > 0.0 && before.abs() <= far * set.abs() && set.abs() <= far * before.abs();
            // A time that something is muted for ends with none.
            let ends = before == 0.0 && lists::has("minutes hours days seconds duration", name);
            alike || ends || before == -set || (set == 0.0 && (1.0..=5.0).contains(&before))
        }
        // What was switched on is switched off again; what was off may always have been. What is shown or held back was the other before.
        (Value::Bool(set), Value::Bool(before)) => {
            let name = at.segments().last().map_or("", String::as_str);
            set != before && (*set || lists::has("visible paused locked muted blocked hidden archived suspended", name))
        }
        (Value::String(set), Value::String(before)) => {
            moments::is_near(set, before)
                || is_version_before(before, set)
                || is_undecided(before, set)
                || lists::are_opposites(before, set)
        }
        _ => false,
    }
}

/// Whether `set` decides about something, and `before` says that nobody has.
fn is_undecided(before: &str, set: &str) -> bool {
    const BEFORE: &str =
        "open reopen reopened pending new draft unassigned undecided todo backlog waiting received requested submitted";
    const DECIDED: &str = "monitoring investigating identified acknowledged accepted rejected approved declined denied closed resolved done cancelled canceled completed confirmed granted \
        accept reject approve decline deny close resolve cancel complete confirm grant refuse finish settle \
        finished fixed settled refused hold held paused suspended";
    // What was put out of use is in use again.
    const OUT: &str =
        "disabled off inactive closed paused stopped suspended muted locked draining maintenance out_of_service";
    const IN: &str = "active enabled on open running live normal in_service available";
    let set = set.to_lowercase();
    // What is mended or looked for was there, what is not listed was shown.
    let pairs = [("repair lost", "available missing"), ("hidden unlisted", "visible listed")];
    if pairs.iter().any(|(away, there)| lists::has(away, &set) && lists::has(there, &before.to_lowercase())) {
        return true;
    }
    if lists::has(OUT, &set) && lists::has(IN, &before.to_lowercase()) {
        return true;
    }
    lists::has(BEFORE, &before.to_lowercase()) && (lists::has(DECIDED, &set) || lists::has(BEFORE, &set))
}

/// Whether both are versions of one form, `before` the smaller.
pub(crate) fn is_version_before(before: &str, set: &str) -> bool {
    let parts = |text: &str| -> Option<Vec<u32>> {
        let digits = text.strip_prefix('v').unwrap_or(text);
        digits.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>().filter(|parts| parts.len() > 1)
    };
    parts(before).zip(parts(set)).is_some_and(|(a, b)| a.len() == b.len() && a < b && a.first() == b.first())
}

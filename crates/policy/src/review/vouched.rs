//! What a text that the planner wrote says of somebody else's decision: "released by Maud", "Signed: Lena". Only the goal may say so; what a
//! tool returned is taken over by reference.

use countersign_plan::verdict::{Code, Reason};

use super::carried::gather;
use super::prepare::Prepared;
use crate::lists::has;

/// Words for what somebody has decided,
const DECIDED: &str = "approved signed released authorised authorized countersigned cleared sanctioned preapproved";

/// and those before them that say that nobody has yet.
const STILL: &str = "be not no until once if when to must needs without unless awaiting before never who whoever";

pub(super) fn check(prepared: &Prepared<'_>) -> Option<Reason> {
    if !prepared.has_effect() {
        return None;
    }
    let mut texts = Vec::new();
    gather(&prepared.args, &mut texts);
    // Most texts have none of these words in any form; long ones are not taken apart for nothing.
    let texts = texts.into_iter().map(|text| text.to_lowercase());
    let texts: Vec<String> = texts.filter(|text| DECIDED.split(' ').any(|word| text.contains(word))).collect();
    let mut clauses =
        texts.iter().flat_map(|text| text.split(['.', '\n', ';', '('])).flat_map(|part| part.split(" and "));
    let said = clauses.find(|clause| vouches(prepared, clause))?.trim().chars().take(80).collect::<String>();
    let message = format!("\"{said}\" says what somebody has decided, and the goal does not");
    Some(Reason::ask(Code::ResourceDefences, message).fix("leave it to whoever decides, or take it over by reference"))
}

/// Whether a part of a sentence, in small letters, says that somebody, who is named, has decided.
fn vouches(prepared: &Prepared<'_>, clause: &str) -> bool {
    let bare = |word: &str| word.trim_end_matches([':', ',']).to_owned();
    let words: Vec<&str> = clause.split_whitespace().take(64).collect();
    let Some(at) = words.iter().position(|word| has(DECIDED, &bare(word))) else { return false };
    let (before, rest) = words.split_at(at);
    // "signed off by", "signed off: Lena"
    let rest: Vec<&str> = rest.iter().copied().filter(|word| *word != "off").collect();
    let (Some(decided), Some(next)) = (rest.first(), rest.get(1)) else { return false };
    let who = match (decided.ends_with(':') || *next == "off:", *next) {
        (true, "off:") | (false, "by") => rest.get(2),
        (true, _) => Some(next),
        (false, _) => None,
    };
    who.is_some_and(|who| who.starts_with(char::is_alphanumeric))
        && !before.iter().any(|word| has(STILL, word))
        && !prepared.goal.states(&bare(decided))
}

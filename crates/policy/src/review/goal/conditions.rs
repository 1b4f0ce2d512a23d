//! What a goal makes depend on something, and what it has come before something else.

use super::vocabulary::BACK;
use super::words::{Word, has};

/// What "back" belongs to where somebody is told something.
const HEARING: &str = "report come comes get gets call calls write writes hear hears answer ring mail message";

/// Whether it makes what it asks for depend on something, and whether it has something come before something else.
pub(super) fn conditions(words: &[Word]) -> (bool, bool) {
    let ensured = |pair: &[Word]| {
        let [one, two] = pair else { return false };
        has("sure verify check ensure confirm", &one.text)
            && has("that whether there it all every everything nothing both each", &two.text)
    };
    // What a condition takes back comes after a failure, not before an act: "if not, go back", "should go back there if it fails".
    let back = |i: usize| {
        let Some(at) = words.get(i) else { return false };
        // "Report back if it passed" takes nothing back.
        let taken = |pair: &[Word]| matches!(pair, [verb, word] if word.text == "back" && word.clause == at.clause && !has(HEARING, &verb.text));
        let near = words.get(i.saturating_sub(5)..i).is_some_and(|near| near.windows(2).any(taken));
        let rest = words.iter().skip(i + 1).filter(|w| !w.within).take(BACK).filter(|w| w.sentence == at.sentence);
        let texts: Vec<&str> = rest.map(|word| word.text.as_str()).collect();
        let verb = texts.iter().position(|text| has("go put roll switch set bring change turn", text));
        let as_it_was = texts.windows(2).any(|pair| matches!(pair, ["as", next] if has("it they is before", next)));
        let stays = texts.iter().any(|text| has("leave keep", text));
        // "If it goes wrong just leave Merle in"
        let fails = texts.iter().take(5).any(|text| has("wrong misbehaves misfires", text));
        // "If it comes out wrong, remove the new file again"
        let again = || fails && ["remove", "again"].iter().all(|word| texts.contains(word));
        near || again()
            || (stays && (fails || as_it_was))
            || texts.iter().any(|text| has("revert undo", text))
            || texts
                .windows(3)
                .any(|three| matches!(three, [verb, "back", "to"] if !has("come comes came get gets gone", verb)))
            || texts.first() == Some(&"back")
            || verb.is_some_and(|at| texts.iter().skip(at).any(|t| *t == "back"))
    };
    // "Restart it and look if it answers" asks whether, once it is done.
    let word = |i: Option<usize>| i.and_then(|i| words.get(i));
    let whether = |i: usize| {
        word(i.checked_sub(1)).is_some_and(|w| has("look see", &w.text))
            && word(i.checked_sub(2)).is_some_and(|w| has("and then", &w.text))
            && words.iter().skip(i + 1).all(|w| !has("so then", &w.text))
    };
    // "If you need the background" is no matter of the work.
    let polite = |i: usize| {
        word(Some(i + 1)).is_some_and(|w| w.text == "you")
            && word(Some(i + 2)).is_some_and(|w| has("need needs want wants like wonder wonders prefer", &w.text))
    };
    // "It would be good if that happened today"
    let wished = |i: usize| {
        word(i.checked_sub(1)).is_some_and(|w| has("good nice great glad helpful lovely best", &w.text))
            && word(i.checked_sub(2)).is_some_and(|w| w.text == "be")
    };
    // "Nothing gets approved before Thursday, even if it says that it is urgent"
    let even = |i: usize| word(i.checked_sub(1)).is_some_and(|w| has("even as", &w.text));
    let condition = |(i, word): (usize, &Word)| {
        has("unless provided", &word.text)
            || (word.text == "if" && !back(i) && !whether(i) && !polite(i) && !wished(i) && !even(i))
    };
    // "Only when it is delivered", "not before it is there", "before anything is sent".
    let awaited = |pair: &[Word]| {
        let [one, two] = pair else { return false };
        (one.text == "only" && has("when once after if then in", &two.text))
            || (one.text == "not" && has("before until", &two.text))
            // "Once its list checks out"
            || (one.text == "once" && has("the its their all both every each everything", &two.text))
            // "When they are green, copy it; when red, stop"
            || (one.text == "when" && has("they red green clean ok okay both everything", &two.text))
            || (one.text == "soon" && two.text == "as")
            || (one.text == "after" && has("it they", &two.text))
            || (one.text == "before" && has("anything any you", &two.text))
            // "At least 3 are ready, or else stop"
            || (one.text == "or" && has("else otherwise", &two.text))
            || (one.text == "otherwise" && has("stop abort leave do don not no skip halt wait", &two.text))
    };
    // "When the upload is complete, purge it"
    let complete = words.windows(2).enumerate().any(|(i, pair)| {
        let [is, done] = pair else { return false };
        // "Confirm when it is done" comes after all of it.
        let thing =
            i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| !has("it that this all everything", &w.text));
        let near = words.iter().take(i).rev().take(5).filter(|w| w.sentence == is.sentence);
        has("is are has have", &is.text)
            && has("complete completed done finished through ready successful succeeded passed", &done.text)
            && thing
            && near.into_iter().any(|w| has("when once after", &w.text))
    });
    // "Check that it is marked so, then give it back"
    let checked = words.iter().any(|word| {
        let then = |w: &Word| w.text == "then" && w.sentence == word.sentence && w.at > word.at;
        word.orders() && has("check verify confirm ensure", &word.text) && words.iter().any(then)
    });
    let conditional = words.iter().enumerate().any(condition) || words.windows(2).any(ensured);
    (conditional, complete || checked || conditional || words.windows(2).any(awaited))
}

/// Whether it has something wait for somebody's word: "as soon as Ilse has given her ok", "when she has answered"; or where `held`, forbids
/// something before that: "do not hand it in before she has said yes".
pub(super) fn awaits_word(words: &[Word], held: bool) -> bool {
    let begins = |i: usize| {
        let one = |n: usize| words.get(i + n).map_or("", |word| word.text.as_str());
        match held {
            true => {
                let sentence = words.get(i).map(|word| word.sentence);
                let forbids = |word: &Word| Some(word.sentence) == sentence && (word.forbidden || word.negated);
                has("before until till", one(0)) && words.iter().take(i).any(forbids)
            }
            false => has("when once after", one(0)) || (one(0) == "soon" && one(1) == "as"),
        }
    };
    // What another place waits for this one does not.
    let end = words.last().map_or(0, |word| word.at + 1);
    let later = super::later::left(words, end);
    let here = |word: &Word| !later.iter().any(|range| range.contains(&word.at));
    words.iter().enumerate().filter(|(i, word)| begins(*i) && here(word)).any(|(i, word)| {
        let rest = words.iter().skip(i + 1).take(7).filter(|next| next.sentence == word.sentence && next.clause == word.clause);
        let texts: Vec<&str> = rest.map(|word| word.text.as_str()).collect();
        let said = |pair: &[&str]| matches!(pair, [has_, done] if has("has have s ve", has_) && has("answered replied responded agreed approved confirmed signed consented read seen checked", done));
        let given = texts.iter().any(|text| has("given gives gave says said", text)) && texts.iter().any(|text| has("ok okay approval consent go word yes nod blessing", text));
        // "Lodging it is for after his yes"
        let word_of = matches!(texts.as_slice(), [whose, word, ..]
            if has("his her their its the", whose) && has("yes ok okay approval consent nod blessing go", word));
        texts.windows(2).any(said) || given || word_of
    })
}

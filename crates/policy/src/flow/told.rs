//! Words that the user said to be passed on: a text of the planner that says nothing but what the goal says is the user's own.
//!
//! Every word of it that carries meaning is a word of the goal, in some form and in the goal's order; numbers and names exactly, and no
//! negation is left out. What is left is grammar and courtesy, which says nothing. So the planner, whatever it has read, can put nothing
//! into such a text but a part of what the user said (FLOW.md, propagation rule 1).

use crate::lists::{self, has};
use crate::paths::fold;

/// The fewest words with a meaning: fewer are a name or an order, which is grounded as a whole or not at all.
const FEWEST: usize = 3;

/// The longest text that is compared, in bytes.
const LONGEST: usize = 4096;

/// How much of a word is the same in all its forms.
const STEM: usize = 5;

/// Words that turn what follows round, and how far, in words.
const NEGATIONS: [&str; 10] = ["not", "no", "never", "without", "nothing", "nobody", "except", "unless", "don", "if"];
const REACH: usize = 3;

/// Words of grammar and courtesy.
const EMPTY: &str = "a an the this that these those it its he she they him her them his their we our us i my me you your to of in on at by \
    for with from as is are was were be been being has have had do does did will would shall should can could may might must and \
    or but so then than also there here what which who when where how all any some please thanks thank hello hi hey \
    dear good morning afternoon evening day kind best warm regards greetings sincerely cheers team member members colleagues customer customers madam sir everyone sorry yes ok just now already \
    again about into up out over re subject note let know said says";

/// Whether a text says nothing but what the goal says. `goal` is case-folded, `name` that of the argument: of a title a single word says
/// enough.
pub(super) fn told(goal: &str, name: &str, text: &str) -> bool {
    let fewest = if matches!(name, "subject" | "title") { 1 } else { FEWEST };
    all_told(goal, text) >= fewest
}

/// Words of a sentence that says how something is to be decided from then on.
const RULING: &str = "approv clear trust allow pay paid releas grant permit skip ignor never always any without amount sign ask confirm send \
    forward not no must instruct order rule valid exempt";

/// Whether a sentence of a text says how something is to be decided, and is about something else than the goal: of its words with a meaning
/// hardly one is the goal's.
pub(crate) fn strays(goal: &str, text: &str) -> bool {
    let (goal, text) = (fold(goal), fold(text));
    let said: Vec<&str> = words(&goal).collect();
    text.split(['.', '!', '?', ';', '\n']).any(|sentence| {
        let own: Vec<&str> = words(sentence).filter(|word| word.len() > 2 && !has(EMPTY, word)).collect();
        let told = own.iter().filter(|word| said.iter().any(|one| is_form(one, word))).count();
        let rules = words(sentence).filter(|word| lists::begins(RULING, word)).count();
        own.len() > FEWEST && told * 3 < own.len() && rules > 1
    })
}

/// Whether a text says only what a goal says that turns nothing round: each word with a meaning is the goal's, and the goal's names and
/// numbers come in its order.
pub(crate) fn repeats(goal: &str, text: &str) -> bool {
    const TURNING: &str = "not no never nobody nothing none nor without except unless instead only don doesn didn can cannot could couldn may might must should \
        all every everything everybody always any forbid forbids forbidden refuse refuses stop stops deny denies but";
    let pieces: Vec<&str> = words(goal).collect();
    let said: Vec<_> = pieces.iter().map(|word| fold(word)).collect();
    let place = |word: &str| said.iter().position(|one| is_form(one, word));
    let named = |at: &usize| {
        pieces.get(*at).is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit() || c.is_uppercase()))
    };
    let text = fold(text);
    let turns = |word: &str| has(TURNING, word);
    let order: Vec<usize> = words(&text).filter_map(place).filter(named).collect();
    // Nor is a part of it taken for all: "unpaid invoices are blocked and paid ones released".
    let meant = || said.iter().filter(|word| word.len() > 2 && !has(EMPTY, word) && !word.starts_with("remember"));
    let most = meant().filter(|one| words(&text).any(|word| is_form(one, word))).count() * 5 >= meant().count() * 3;
    let mut own = words(&text).filter(|word| !has(EMPTY, word)).peekable();
    !said.iter().any(|word| turns(word))
        && !words(&text).any(turns)
        && own.peek().is_some()
        && own.all(|word| place(word).is_some())
        && order.is_sorted()
        && most
}

/// What a text is about shows where it begins, however long it is.
pub(crate) fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

/// Whether a text speaks of something, and of nothing that the goal speaks of.
pub(crate) fn speaks_of_else(goal: &str, text: &str) -> bool {
    let (goal, text) = (fold(goal), fold(text));
    let said: Vec<&str> = words(&goal).collect();
    let own = words(&text).filter(|word| word.len() > 2 && !has(EMPTY, word) && !has(CIVIL, word));
    let own: Vec<&str> = own.collect();
    // A text in another language is not compared.
    let english = words(&text).any(|word| has("the a an to of and in on for with is are we you our your", word));
    english && own.len() > FEWEST && !own.iter().any(|word| said.iter().any(|one| is_form(one, word)))
}

/// The longest text that a goal stands for without saying each word of it, in bytes.
const LONGEST_ANSWER: usize = 600;

/// Words of an answer that tells nothing: that somebody was heard, that it is looked into, where to ask again.
const CIVIL: &str = "message mail letter wait patience understanding help hesitate contact reach touch back come look looking looked into \
    make sure welcome glad happy hope everything fine question questions soon apologise apologies inconvenience writing wrote write heard \
    answer reply asked request receive received attached find below wish nice great";

/// The most words of a name with which somebody signs, the word before it among them.
const MAX_NAMES: usize = 4;

/// Words behind which somebody signs.
const SIGNING: &str = "regards greetings sincerely cheers wishes";

/// Words for what nobody is told in passing, however the goal speaks of it.
const KEPT: &str = "password passwords passphrase secret secrets credential credentials token tokens key keys env pin salary salaries \
    confidential private";

/// Whether a text tells whoever receives it nothing of which the goal does not speak: every number, address, id and name in it is the goal's,
/// but for that of who is greeted and who signs, and every sentence is civil or is about what the goal says. The planner still chose the words,
/// so that they are no more than its own; but what it has read besides is not in them.
pub(crate) fn tells_no_more(goal: &str, text: &str) -> bool {
    let folded = fold(goal);
    let said: Vec<&str> = words(&folded).collect();
    let is_said = |word: &str| said.iter().any(|one| is_form(one, word));
    if text.len() > LONGEST_ANSWER || words(&fold(text)).any(|word| has(KEPT, word)) {
        return false;
    }
    text.split(['.', '!', '?', ';', '\n']).all(|sentence| {
        let (mut greets, mut signs, mut signers) = (true, false, Vec::new());
        let special = sentence.split_whitespace().any(|word| {
            let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
            let low = fold(plain);
            let capital = plain.chars().next().is_some_and(char::is_uppercase);
            let odd = plain.contains(|c: char| !(c.is_alphabetic() || matches!(c, '-' | '\'' | '’')));
            let named = capital && !greets && !has(EMPTY, &low);
            // Whoever is greeted stands behind the greeting, whoever signs behind the last one.
            signs |= has(SIGNING, &low);
            signers.extend((signs && capital && signers.len() < MAX_NAMES).then(|| low.to_string()));
            // "Kind regards, the office of Mira Holt"
            greets = (greets && (capital || (signs && has("the office team desk of for", &low))))
                || has(
                    "dear hello hi hey ms mr mrs dr regards greetings sincerely cheers wishes thanks kind best warm",
                    &low,
                );
            (odd || named) && !words(&low).all(is_said)
        });
        let low = fold(sentence);
        // Who signs is no part of what is said.
        let own = words(&low).filter(|word| !has(SIGNING, word) && !signers.iter().any(|signer| signer == word));
        let own: Vec<&str> = own.filter(|word| word.len() > 2 && !has(EMPTY, word) && !has(CIVIL, word)).collect();
        let told = own.iter().filter(|word| is_said(word)).count();
        !special && (own.len() < FEWEST || told * 3 >= own.len())
    })
}

/// How many words with a meaning a text has, if the goal says them all.
fn all_told(goal: &str, text: &str) -> usize {
    if text.len() > LONGEST {
        return 0;
    }
    let text = fold(text);
    let said: Vec<&str> = words(goal).collect();
    let mut all = 0;
    // What is said in several sentences may be said in another order of them.
    for part in text.split(['.', '!', '?', ';', '\n']).flat_map(|part| part.split(": ")) {
        let (mut next, mut count) = (0, 0);
        for word in words(part).filter(|word| !has(EMPTY, word)) {
            let rest = said.get(next..).unwrap_or(&[]);
            let Some(at) = rest.iter().position(|one| is_form(one, word)).map(|at| next + at) else { return 0 };
            // What the user denied is not told without the denial.
            // Of a later sentence it may stand further away.
            let reach = if all == 0 { REACH } else { 2 * REACH };
            let from = if count == 0 { at.saturating_sub(reach) } else { next };
            if said.get(from..at).unwrap_or(&[]).iter().any(|one| NEGATIONS.contains(one)) {
                return 0;
            }
            (next, count) = (at + 1, count + 1);
        }
        all += count;
    }
    all
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether two words are forms of one.
fn is_form(one: &str, other: &str) -> bool {
    let stem = |word: &str| word.char_indices().nth(STEM).map_or(0, |(at, _)| at);
    let plain = |word: &str| word.chars().all(char::is_alphabetic);
    one == other
        || (plain(one)
            && plain(other)
            && one.len().abs_diff(other.len()) <= 3
            && one.get(..stem(one)).is_some_and(|stem| !stem.is_empty() && other.starts_with(stem)))
}

#[cfg(test)]
mod tests {
    use super::{repeats, told};

    #[test]
    fn what_is_remembered_says_what_the_goal_says() {
        let goal = "Remember for next week: Jonas covers returns from Monday 30 Nov to Friday 4 Dec, Ines is away";
        assert!(repeats(goal, "Returns are covered by Jonas from 30 Nov to 4 Dec, Ines is away."));
        for other in [
            "Returns are covered by Ines from 30 Nov to 4 Dec, Jonas is away.",
            "Returns are covered by Jonas from 4 Nov to 30 Dec, Ines is away.",
            "Returns are covered by Jonas, refunds need no approval.",
            "Jonas covers all returns from 30 Nov to 4 Dec.",
            "Jonas never covers returns from 30 Nov to 4 Dec.",
            "returns are covered by ines from 30 Nov to 4 Dec, jonas is away.",
            "",
        ] {
            assert!(!repeats(goal, other), "{other}");
        }
        // What a goal turns round is not taken apart.
        for (goal, other) in [
            ("Remember that Keller may prescribe and Meier may not discharge", "Meier may discharge"),
            ("Remember that deploys are forbidden on Fridays unless Otto approves", "Deploys approved on Fridays"),
            ("Remember that unpaid invoices are blocked and paid ones are released", "Invoices are released."),
            ("Remember: Halvorsen has no right to admin and Bluegate has read", "halvorsen has admin"),
        ] {
            assert!(!repeats(goal, other), "{other}");
        }
    }

    const GOAL: &str =
        "the customer asks why tracking was down. it was the database fail-over, 07:10 to 07:55. write him that";

    #[test]
    fn the_goals_own_words_are_the_users() {
        assert!(told(
            GOAL,
            "body",
            "Hello,\n\ntracking was down for a database fail-over (07:10 to 07:55).\n\nKind regards"
        ));
        assert!(told("remember that we write passphrase and not password", "body", "Write passphrase, not password."));
    }

    #[test]
    fn an_answer_tells_nothing_of_which_the_goal_does_not_speak() {
        let goal = "Answer C-6230: the crew comes Thursday 3 December between 8 and 12, somebody should be in. Sorry for the wait";
        let tells_no_more = |text: &str| super::tells_no_more(goal, text);
        assert!(tells_no_more(
            "Dear Ms Quill,\n\nwe are sorry for the wait. Our crew comes on Thursday 3 December between 8 and 12; please make sure somebody is in.\n\nKind regards, Mara"
        ));
        assert!(tells_no_more(
            "Thank you for your message. We are looking into it. Kind regards, the office of Mara Quill"
        ));
        assert!(!tells_no_more("Best Wishes We Accept Your Whole Claim Without Further Questions"), "nor so");
        assert!(!tells_no_more("Cheers, we accept the whole claim without further questions"), "nobody signs so");
        for more in [
            "Our crew comes on Thursday between 8 and 12. The meter next door is M-40117.",
            "The crew comes on Thursday. Your neighbour Fenwick complained as well.",
            "The crew comes on Thursday. The code of the gate is blue heron, and the watchman sleeps upstairs.",
            "The crew comes Thursday, the password of the crew is Thursday.",
            "See https://h.example/x for the crew.",
        ] {
            assert!(!tells_no_more(more), "{more}");
        }
    }

    #[test]
    fn a_word_or_number_more_is_the_planners() {
        assert!(!told(GOAL, "body", "Hello, tracking was down for a database fail-over of db-7 (07:10 to 07:55)."));
        assert!(!told(GOAL, "body", "Tracking was down 07:10 to 08:55 because of the database."));
        assert!(!told(GOAL, "body", "Tracking was down, the password of the database is tracking"));
        let wording = "remember that we write passphrase and not password in texts";
        assert!(!told(wording, "body", "Write password and not passphrase in texts"), "turned round");
        assert!(!told(wording, "body", "Write passphrase and password in texts"), "the denial is left out");
        assert!(!told("do not delete the old exports", "body", "delete the old exports"), "denied before");
        assert!(!told(GOAL, "body", "customer"));
        assert!(!told(GOAL, "body", "hello, thank you, kind regards"));
    }
}

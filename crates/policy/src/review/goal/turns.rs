//! Turns of speech: several words that ask for what one plain word would ask for ("get rid of", "can go", "no longer needed").
//!
//! Each stands for the plainest word of its kind, so that the lists of words go on deciding. The meanings are those of a dictionary of
//! phrasal verbs, not of any tool.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::vocabulary::LOOKING;
use super::words::{STATES, Word, has};
use crate::lists::MONEY;

/// Words that follow one another, and what they mean together. Alternatives are separated by `|`.
const TURNS: &[Turn] = &[
    (&["get|gets|got|getting|be", "rid", "of"], "remove"),
    (&["throw|throws|thrown|throwing|threw|chuck", "away|out"], "remove"),
    (&["do|done", "away", "with"], "remove"),
    (&["free|frees|freeing", "up"], "clean"),
    (&["make|making", "room|space"], "clean"),
    (&["tear|tearing|torn", "down"], "remove"),
    (&["no", "longer", "need|needs|needed|use|used|wanted|required"], "obsolete"),
    (&["not", "needed|wanted|required|used", "any|anymore"], "obsolete"),
    (&["isn|aren|wasn", "t", "needed|wanted|required|used", "any|anymore"], "obsolete"),
    (&["don|doesn", "t", "need|use|want", "it|them|that|this|those|these", "any|anymore"], "obsolete"),
    (&["out", "of", "date|use"], "obsolete"),
    (&["left", "over|behind"], "obsolete"),
    (&["let", "go", "of"], "remove"),
    (&["give|gives|giving|hand|serve", "notice"], "terminate"),
    (&["drop|dropping", "a|an|him|her|them|us", "line|note|mail|message"], "tell"),
    (&["drop|dropping", "him|her|them|us", "a|an", "line|note|mail|message"], "tell"),
    (&["get|gets|getting", "back", "to"], "reply"),
    (&["get", "in", "touch"], "contact"),
    (&["heads", "up"], "tell"),
    (&["pass|passing", "on|along"], "forward"),
    (&["bring", "up", "to", "date"], "update"),
    (&["goes|moves|shifts|switches", "to|into|from"], "change"),
    (&["fill|filling", "in|out"], "write"),
    (&["write|note|jot|take", "down"], "write"),
    (&["take", "note"], "write"),
    (&["put|putting", "together"], "create"),
    (&["put|putting", "in", "writing"], "write"),
    (&["look|looking", "up|into|through|over"], "look"),
    (&["find|finding", "out"], "find"),
    (&["go|going", "through|over"], "review"),
    (&["top", "up"], "pay"),
    (&["do|doing", "the|its|all|these|those", "points|items|tasks|steps|todos|chores|entries"], "make"),
    (&["do|doing", "item|point|task|step|number"], "make"),
    (&["do|doing", "the", "first|last|next", "two|three|four|five|few|item|point|task"], "make"),
    (&["end|ending", "the|her|his|their|our|its", "subscription|contract|membership|lease|plan|trial"], "cancel"),
    (&["sign|signing", "up"], "subscribe"),
];

type Turn = (&'static [&'static str], &'static str);

/// The turns by the first of their words.
static BY_FIRST: LazyLock<HashMap<&'static str, Vec<Turn>>> = LazyLock::new(|| {
    let mut turns: HashMap<&str, Vec<Turn>> = HashMap::new();
    for turn in TURNS {
        for first in turn.0.first().into_iter().flat_map(|one| one.split('|')) {
            turns.entry(first).or_default().push(*turn);
        }
    }
    turns
});

/// Words that are read as a plainer one, which is no longer: conditions, exceptions, what stays.
const PLAINER: &[(&str, &str)] = &[
    ("assuming", "if"),
    ("as long as", "if"),
    ("so long as", "if"),
    ("on condition that", "if"),
    ("on the condition that", "if"),
    ("in the event that", "if"),
    ("in the event of", "if"),
    ("only w/", "only if"),
    ("provided that", "if"),
    ("provided", "if"),
    ("in case", "if"),
    ("apart from", "except"),
    ("aside from", "except"),
    ("with the exception of", "except"),
    ("remains", "stays"),
    ("remain", "stay"),
    ("prior to", "before"),
    ("however", "but"),
    ("call off", "cancel"),
    ("called off", "canceled"),
    ("i'd be grateful if you", "please"),
    ("i would be grateful if you", "please"),
    ("i'd be thankful if you", "please"),
    ("i'd be obliged if you", "please"),
    ("i would be obliged if you", "please"),
    ("i'd appreciate it if you", "please"),
    ("i would appreciate it if you", "please"),
    ("it would be great if you", "please"),
    ("it would be nice if you", "please"),
    ("it'd be great if you", "please"),
    ("would you be so kind as to", "please"),
    ("be so kind as to", "please"),
    ("be so kind and", "please"),
    ("may i ask you to", "please"),
    ("might i ask you to", "please"),
    ("what i ask of you now is to", "please"),
    ("what i ask of you is to", "please"),
    ("all that remains is for you to", "please"),
    ("all that is left is for you to", "please"),
    ("i'd like you to", "please"),
    ("i would like you to", "please"),
    ("i'd be glad if you", "please"),
    ("i would be glad if you", "please"),
];

/// A goal with the plainer word for each of those, followed by as many blanks as keep every other word where it stands.
pub(super) fn plainer(mut text: String) -> String {
    for (phrase, plain) in PLAINER {
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(phrase)).map(|at| from + at) {
            let end = at + phrase.len();
            let part = |c: char| c.is_alphanumeric() || "_-/@#.".contains(c);
            let before = text.get(..at).and_then(|s| s.chars().next_back()).is_some_and(part);
            let mut rest = text.get(end..).unwrap_or("").chars();
            let next = rest.next();
            let after = next.is_some_and(part) && (next != Some('.') || rest.next().is_some_and(char::is_alphanumeric));
            // "The list provided by Ann", "keep a copy in case it breaks"
            let said = text.get(..at).unwrap_or("").trim_end();
            let leads = said.is_empty()
                || said.ends_with([',', ';', '.', ':', '-', '(', '!', '?'])
                || has("only but and then so now hi hello hey", said.rsplit(' ').next().unwrap_or(""));
            let next_word = text.get(end..).unwrap_or("").split_whitespace().next().unwrap_or("");
            let other = match *phrase {
                "provided" => has("by in with at on to from for as", next_word),
                "in case" => !leads,
                // "I don't think it would be great if you did" asks for nothing.
                // "I would appreciate it if you asked me before you do it" wants to be asked.
                _ if *plain == "please" => {
                    let rest = text.get(end..).unwrap_or("").split(['.', '!', '?', ';']).next().unwrap_or("");
                    let waits =
                        rest.split_whitespace().any(|word| has("before until first", word.trim_end_matches(',')));
                    !leads || waits || has("think consider wait hold say not never asked told waited", next_word)
                }
                _ => false,
            };
            if !before && !after && !other {
                text.replace_range(at..end, &format!("{plain:width$}", width = phrase.len()));
            }
            from = end;
        }
    }
    kinds_apart(&text)
}

/// Kinds of files that a slash joins are no path, and stand where they stood: "*.orig/*.rej".
fn kinds_apart(text: &str) -> String {
    let joined = |word: &str| word.contains("/*.") && word.split('/').all(|kind| kind.starts_with("*."));
    let apart = |word: &str| if joined(word) { word.replace('/', " ") } else { word.to_owned() };
    text.split(' ').map(apart).collect::<Vec<_>>().join(" ")
}

/// What may be done with what can go.
const MODAL: &str = "can could may should must";

/// Words after "go" with which it is a way and no end.
const WAYS: &str = "to into in out on onto through over up down back ahead by with for live from via via around along";

/// Verbs, and the word after which they take something away: "take them off the list".
const AWAY: &[(&str, &str)] = &[
    ("take taking", "off out down away"),
    ("clear clearing", "out away"),
    ("throw throwing chuck chucking toss sweep sweeping", "out away up"),
    ("empty emptying", ""),
];

/// Verbs that mean something else with a word that stands after what they are about: "pass it on", "bring their record up to date".
const APART: &[(&str, &str, &str)] = &[
    ("pass passing hand handing", "on along over", "forward"),
    ("put putting", "together", "create"),
    ("jot jotting write writing note noting", "down", "write"),
    ("bring bringing get keep", "date", "update"),
    ("send sending give giving return returning grant granting issue issuing", MONEY, "pay"),
    ("send sending give giving grant granting issue issuing", "voucher refund", "pay"),
    ("get getting keep", "moving going", "remind"),
    ("put putting set setting", "right straight", "correct"),
    ("roll rolling", "back", "restore"),
    ("put putting set setting bring bringing", "back", "change"),
    ("put putting drop dropping stick", "channel", "post"),
    ("make making", "room space", "clean"),
    ("set setting add adding arrange arranging fix schedule", "hour half minutes appointment slot", "contact"),
];

/// What tells of money and is none: "give me the total in EUR".
pub(super) const PAPERS: &str = "list lists report summary overview table letter note total totals sum sums figure figures statement copy \
    breakdown answer";

/// Where a version runs.
const STAGES: &str = "prod production live staging preprod test testing qa uat dev preview canary demo integration";

/// Words before what something is done with.
const THE: &str = "the a an it its them this that these those all any every my our his her their";

/// The most words between the two.
const BETWEEN: usize = 8;

/// Verbs that with the name of a channel are ways to post something there.
const POSTING: &str = "put putting drop dropping stick say write paste pop leave copy give show note jot";

/// Whether a verb is about a channel that is named after it in its sentence, with where the channel's name stands in the text.
fn posts(words: &[Word], at: usize, text: &str) -> bool {
    let Some(verb) = words.get(at).filter(|word| has(POSTING, &word.text)) else { return false };
    let leads = at.checked_sub(1).and_then(|i| words.get(i)).is_none_or(|before| {
        let apart = before.sentence != verb.sentence || before.clause != verb.clause;
        apart || has("and then please to also just you now can could should", &before.text)
    });
    if !leads {
        return false;
    }
    let mut later = words.iter().enumerate().skip(at + 1).take_while(|(_, word)| word.sentence == verb.sentence);
    let channel = later.find(|(_, word)| text.get(..word.at).is_some_and(|before| before.ends_with('#')));
    // "Give #circulation the figures"
    let whom = has("give show", &verb.text);
    let way = |i: usize| {
        (whom && i == at + 1)
            || i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has("in into on to onto", &w.text))
    };
    channel.is_some_and(|(i, _)| way(i))
}

/// Whether a word is a message that its clause has for somebody, or what is made for a channel to read.
fn goes_out(words: &[Word], at: usize, text: &str) -> bool {
    let Some(word) = words.get(at).filter(|word| !word.negated && !word.within) else { return false };
    let before = |n: usize| at.checked_sub(n).and_then(|i| words.get(i)).map_or("", |word| word.text.as_str());
    let channel = |word: &Word| text.get(..word.at).is_some_and(|before| before.ends_with('#'));
    let near = || words.iter().skip(at + 1).take_while(|w| w.sentence == word.sentence && w.clause == word.clause);
    // For whom it is, right behind the word that says so.
    let led = |leads: &'static str, whom: &dyn Fn(&Word) -> bool| {
        near().zip(near().skip(1)).any(|(lead, next)| has(leads, &lead.text) && whom(next))
    };
    if has("line note mail email message word heads summary", &word.text) && has("a one short brief quick", before(1)) {
        let address = |word: &Word| channel(word) || word.token(text).contains('@');
        return led("to in", &address) || (before(2) == "as" && near().next().is_some_and(|w| w.text == "to"));
    }
    // "Summary of the open cases, into #support"
    let begins = at.checked_sub(1).and_then(|i| words.get(i)).is_none_or(|before| before.sentence != word.sentence);
    let sentence = || words.iter().skip(at + 1).take_while(|w| w.sentence == word.sentence);
    let into =
        || sentence().zip(sentence().skip(1)).any(|(lead, next)| has("to in into for", &lead.text) && channel(next));
    (has("summarise summarize sum", &word.text) && led("for", &channel))
        || (begins && has("summary overview digest", &word.text) && into())
}

/// "The stripped file goes to lab@…": what goes to an address is sent.
fn goes_to_somebody(words: &[Word], at: usize, text: &str) -> bool {
    let next = |n: usize| words.get(at + n);
    let to = next(1).is_some_and(|word| word.text == "to");
    let address = |word: &Word| word.token(text).contains('@') || text.get(..word.at).is_some_and(|t| t.ends_with('#'));
    // "The list goes to Mira, mira@…"
    let named = |n: usize| next(n).filter(|word| words.get(at).is_some_and(|goes| goes.sentence == word.sentence));
    next(0).is_some_and(|word| has("goes go", &word.text)) && to && (2..=4).any(|n| named(n).is_some_and(address))
}

/// Where a short sentence without a verb says to whom what it names goes: its "to", or the receiver behind an arrow or a colon.
fn telegraphed(words: &[Word], at: usize, text: &str) -> Option<usize> {
    const VERBS: &str = "is are was were be been has have had did does do went goes go came comes gets got sent belongs said says wrote writes \
        replied spoke talked which what who whom whose when where how why whether that not no never without old last again wrong route thread \
        context log channel channels questions my our from only";
    const COUNTED: &str = "count number total list summary result results figures";
    let word = words.get(at)?;
    let token = word.token(text);
    let before = text.get(..word.token.start)?.trim_end();
    let (channel, first) = (token.starts_with('#'), at == 0 || words.get(at - 1)?.token != word.token);
    if !first || !(channel || token.contains('@')) || word.negated {
        return None;
    }
    let near = words.iter().skip(at.saturating_sub(SHORT)).take(2 * SHORT);
    let sentence: Vec<&Word> = near.filter(|w| w.sentence == word.sentence).collect();
    if sentence.len() > SHORT {
        return None;
    }
    let lead = at.checked_sub(1).and_then(|i| words.get(i)).filter(|lead| lead.clause == word.clause);
    let to = lead.filter(|lead| lead.text == "to" || (lead.text == "for" && channel));
    let arrow = before.ends_with(['>', '→']);
    let colon = channel
        && before.ends_with(':')
        && at.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has(COUNTED, &w.text));
    let receiver = |said: &Word| said.token != word.token && said.token(text).contains(['@', '#']);
    // "Count them -> #registrar"
    let looks = |said: &Word| (arrow || colon) && said.is(LOOKING);
    let acts = |said: &Word| {
        let orders = said.orders_anything() && !looks(said);
        !said.within
            && said.at < word.at
            && (said.subordinate || orders || said.means.is_some())
            && said.clause == word.clause
    };
    let tells = |said: &Word| (!said.within && has(VERBS, &said.text)) || receiver(said);
    ((to.is_some() || arrow || colon) && !sentence.into_iter().any(|said| acts(said) || tells(said)))
        .then(|| if arrow || colon { at } else { at - 1 })
}

/// The most words of a sentence that is taken for a short one.
const SHORT: usize = 24;

/// How many words the name has whose first is this one.
fn name_words(words: &[Word], at: usize) -> usize {
    let token = words.get(at).map(|word| &word.token);
    words.iter().skip(at).take_while(|word| Some(&word.token) == token).count()
}

/// Marks what the words mean together.
pub(super) fn read(words: &mut [Word], text: &str) {
    for i in 0..words.len() {
        let post = posts(words, i, text).then_some("post");
        let send = goes_to_somebody(words, i, text).then_some("send");
        let Some(means) = post.or(send).or_else(|| meaning(words, i)) else { continue };
        let Some(word) = words.get_mut(i) else { continue };
        word.means = Some(means);
        word.name = false;
    }
    // "#all-members would like to hear how it went"
    for i in 0..words.len() {
        let channel = words.get(i).is_some_and(|word| text.get(..word.at).is_some_and(|before| before.ends_with('#')));
        if !channel {
            continue;
        }
        let name = words.get(i).map_or("", |word| word.token(text));
        let after = |word: &&mut Word| word.token(text) != name;
        let mut rest = words.iter_mut().skip(i + 1).skip_while(|word| !after(word)).take(6);
        let wants =
            rest.next().is_some_and(|word| has("would wants want should needs need likes asks asked", &word.text));
        let heard = rest.find(|word| has("hear know see have read get learn", &word.text)).filter(|_| wants);
        if let Some(word) = heard {
            (word.means, word.name, word.subordinate) = (Some("tell"), false, false);
        }
        // "Keller wants the number in #it", and not "if Keller wants the number discussed in #it"
        let near = |n: usize| i.checked_sub(n).and_then(|i| words.get(i));
        let placed = near(1).is_some_and(|word| word.text == "in");
        let thing = near(3).is_some_and(|the| has(THE, &the.text));
        let ends = words
            .get(i + name_words(words, i))
            .is_none_or(|after| after.clause != words.get(i).map_or(0, |word| word.clause) || after.text == "because");
        let asked = near(5).is_none_or(|who| !has("if when whether does", &who.text))
            && near(4).is_some_and(|wants| wants.text == "wants" && !wants.subordinate && !wants.negated);
        if placed
            && thing
            && ends
            && asked
            && let Some(word) = i.checked_sub(4).and_then(|i| words.get_mut(i))
        {
            (word.means, word.name, word.subordinate) = (Some("post"), false, false);
        }
    }
    // "… and when done a line to #guides", "as a mail to the coordinator", "summarise it for #stores"
    for i in 0..words.len() {
        if goes_out(words, i, text)
            && let Some(word) = words.get_mut(i)
        {
            (word.means, word.name, word.subordinate) = (Some("tell"), false, false);
        }
    }
    // "The top 20 -> #registrar", "count: #releases", "M-7310 for #accounts, in a sentence"
    for i in 0..words.len() {
        if let Some(at) = telegraphed(words, i, text)
            && let Some(word) = words.get_mut(at)
        {
            (word.means, word.name, word.subordinate) = (Some("tell"), false, false);
        }
    }
    // "A short answer in #registry is enough"
    for i in 0..words.len() {
        let Some(word) = words.get(i).filter(|word| has("answer line note word message", &word.text)) else { continue };
        let mut near = words.iter().skip(i + 1).take(3).filter(|w| w.sentence == word.sentence);
        let channel = near.any(|w| text.get(..w.at).is_some_and(|before| before.ends_with('#')));
        let will_do = words
            .iter()
            .any(|w| w.sentence == word.sentence && w.at > word.at && has("enough do suffices fine", &w.text));
        if channel
            && will_do
            && let Some(word) = words.get_mut(i)
        {
            (word.means, word.name, word.subordinate) = (Some("post"), false, false);
        }
    }
    // "Two bills over 212 EUR and 96 EUR, both to the IBAN I typed in"
    for i in 0..words.len() {
        let Some([to, the, account]) = words.get(i..i + 3) else { continue };
        let sentence = |word: &&Word| word.sentence == to.sentence;
        let place = to.text == "to" && has("the this our my", &the.text) && has("iban account", &account.text);
        let money = |word: &Word| has(MONEY, &word.text);
        if place
            && words.iter().filter(sentence).any(money)
            && !words.iter().filter(sentence).any(Word::orders_anything)
            && let Some(word) = words.get_mut(i)
        {
            (word.means, word.name, word.subordinate) = (Some("pay"), false, false);
        }
    }
    // "A float of 1500 NOK for him please"
    for i in 0..words.len() {
        let Some(please) = words.get(i).filter(|word| has("please pls", &word.text)) else { continue };
        let (sentence, number) = (please.sentence, |word: &Word| word.text.starts_with(|c: char| c.is_ascii_digit()));
        let within = || words.iter().filter(|word| word.sentence == sentence);
        let money = words
            .windows(2)
            .any(|pair| matches!(pair, [sum, of] if sum.sentence == sentence && number(sum) && has(MONEY, &of.text)));
        let sum = within().any(|word| has("float advance deposit refund tip payment transfer allowance", &word.text));
        if money
            && sum
            && !within().any(|word| word.orders_anything() || word.means.is_some())
            && let Some(word) = words.get_mut(i)
        {
            (word.means, word.name, word.subordinate) = (Some("pay"), false, false);
        }
    }
    // What is not to be left lying around is to be removed.
    for i in 0..words.len() {
        let left = words.get(i).is_some_and(|word| word.negated && has("leave leaving", &word.text));
        let around = words.iter().skip(i + 1).take(BETWEEN).any(|word| has("lying around behind", &word.text));
        if let Some(word) = words.get_mut(i).filter(|_| left && around) {
            (word.means, word.negated, word.forbidden) = (Some("remove"), false, false);
        }
    }
}

fn meaning(words: &[Word], at: usize) -> Option<&'static str> {
    let rest = words.get(at..)?;
    let (first, next) =
        (rest.first()?, |i: usize| rest.get(i).filter(|word| Some(word.sentence) == rest.first().map(|w| w.sentence)));
    let begins = at == 0
        || words.get(at - 1).is_some_and(|before| {
            before.sentence != first.sentence
                || before.clause != first.clause
                || has("please kindly to and then you also just now should can could must", &before.text)
                || (has(STATES, &before.text) && !first.subordinate)
        });
    let turned = BY_FIRST.get(first.text.as_str()).into_iter().flatten().find(|(turn, _)| {
        turn.iter().enumerate().all(|(i, one)| next(i).is_some_and(|word| one.split('|').any(|form| form == word.text)))
    });
    // "Get tool 3.2.0 onto staging", and with no verb at all "tool 3.2.1 onto staging"
    let number = |word: &Word| word.text.starts_with(|c: char| c.is_ascii_digit());
    let staged = |words: &[Word]| {
        let mut tokens = words.chunk_by(|one, next| one.token == next.token);
        let (tool, version, onto) = (tokens.next(), tokens.next(), tokens.next());
        let place = tokens.next().and_then(|place| place.first());
        tool.is_some_and(|tool| !tool.iter().any(|word| number(word) || has(THE, &word.text)))
            && version
                .is_some_and(|version| version.len() > 1 && version.iter().all(|word| number(word) && !word.negated))
            && onto.and_then(|onto| onto.first()).is_some_and(|onto| onto.text == "onto")
            && place.is_some_and(|place| has(STAGES, &place.text))
    };
    let here = || rest.iter().take_while(|word| word.clause == first.clause).count();
    let clause = |from: usize| rest.get(from..here()).unwrap_or_default();
    if (begins && has("get bring put ship", &first.text) && staged(clause(1))) || (at == 0 && staged(clause(0))) {
        return Some("deploy");
    }
    // "Roll tool 3.2.0 out to staging"
    let out = |three: &[Word]| matches!(three, [out, to, place] if out.text == "out" && has("to on onto", &to.text) && has(STAGES, &place.text));
    if begins && first.text == "roll" && clause(1).windows(3).any(out) {
        return Some("deploy");
    }
    // "Book the destruction of the batch", and not "book a room to discuss the destruction of it"
    let verb = at.checked_sub(2).and_then(|i| words.get(i)).filter(|verb| verb.clause == first.clause);
    if has("destruction deletion removal disposal erasure", &first.text)
        && next(1).is_some_and(|word| word.text == "of")
        && verb.is_some_and(|verb| has("book arrange initiate trigger", &verb.text) && verb.orders())
        && at.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|the| has(THE, &the.text))
        && at.checked_sub(3).and_then(|i| words.get(i)).is_none_or(|before| before.clause != first.clause)
    {
        return Some("remove");
    }
    // "At the end the plan is saved"
    if let Some((_, means)) = turned.filter(|_| begins || !has("end ending do doing", &first.text)) {
        return Some(means);
    }
    let ends = |word: Option<&Word>| word.is_none_or(|word| !has(WAYS, &word.text));
    if has(MODAL, &first.text) && next(1).is_some_and(|word| word.text == "go") && ends(next(2)) {
        return Some("remove");
    }
    // "Copy the title into the notes", and not "the staging copy".
    if begins && has("copy duplicate", &first.text) {
        return Some("make");
    }
    // "Whatever is older than a month goes."
    let all = || {
        words.iter().take(at).any(|w| w.sentence == first.sentence && has("whatever everything all anything", &w.text))
    };
    // "I look at them before anything goes" waits.
    let awaited = || words.iter().take(at).rev().take(3).any(|w| has("before until", &w.text));
    if has("goes go", &first.text) && next(1).is_none_or(|word| word.clause != first.clause) && all() && !awaited() {
        return Some("remove");
    }
    // "Four replicas instead of two"
    let few = |word: &Word| has("one two three four five six seven eight nine ten", &word.text);
    let counted = |word: &Word| number(word) || few(word);
    if first.text == "instead" && next(1).is_some_and(|w| w.text == "of") && next(2).is_some_and(counted) {
        return Some("change");
    }
    // "house-ferns: down to 14 degrees"
    if begins && has("down up", &first.text) && next(1).is_some_and(|w| w.text == "to") && next(2).is_some_and(number) {
        return Some("change");
    }
    // Somebody is let have or know something.
    let given = || {
        rest.iter()
            .skip(2)
            .take(2)
            .any(|word| word.clause == first.clause && has("have know see read check review", &word.text))
    };
    if first.text == "let" && given() {
        return Some("tell");
    }
    // "Everything inside tmp/out should be gone"
    let all_of = || words.iter().take(at).any(|w| w.clause == first.clause && has("everything all anything", &w.text));
    let gone = next(1).is_some_and(|w| w.text == "be") && next(2).is_some_and(|w| w.text == "gone");
    let ends_there = || next(3).is_none_or(|word| word.clause != first.clause);
    if has("should must shall to", &first.text) && gone && ends_there() && all_of() {
        return Some("remove");
    }
    // "Del the caches", "rm catalogue/dist", "kill them all"
    let thing = || next(1).is_some_and(|word| word.within || has(THE, &word.text));
    if begins
        && ((has("rm del", &first.text) && thing())
            || (first.text == "kill" && next(1).is_some_and(|word| has("them those these", &word.text))))
    {
        return Some("remove");
    }
    // Words that are things as well, unless something is to be done with it.
    if begins && has("bin ditch scrap junk nuke axe", &first.text) && next(1).is_some_and(|word| has(THE, &word.text)) {
        return Some("remove");
    }
    let apart = |particles: &'static str| {
        let mut later = rest.iter().skip(1).take(BETWEEN - 2).take_while(|word| word.clause == first.clause);
        later.any(|word| has(particles, &word.text))
    };
    if let Some((.., means)) = APART.iter().find(|(verbs, particles, _)| has(verbs, &first.text) && apart(particles)) {
        return (*means != "pay" || !apart(PAPERS)).then_some(means);
    }
    let (_, particles) = AWAY.iter().find(|(verbs, _)| begins && has(verbs, &first.text))?;
    let away =
        || rest.iter().skip(1).take(BETWEEN).any(|word| word.clause == first.clause && has(particles, &word.text));
    // What is taken off a list or a wall is not yet destroyed.
    let means = if has("take taking", &first.text) { "unlist" } else { "remove" };
    (particles.is_empty() || away()).then_some(means)
}

#[cfg(test)]
mod tests {
    use super::super::REMOVAL;
    use super::super::Wishes;

    #[test]
    fn removal_is_asked_for_in_turns_of_speech() {
        for goal in [
            "The old dumps can go",
            "Get rid of the stale branches",
            "use a scratch file, but don't leave it lying around",
            "empty the tray folder",
            "Please take the three test users off the list",
            "We no longer need last year's exports",
            "If it is cancelled, bin the folder",
            "pack it, and only when that worked delete the folder",
            "The quotes of 2022 aren't needed any more, take them away",
            "make some room on the disk",
        ] {
            assert!(Wishes::of(Some(goal)).speak_of(REMOVAL), "{goal}");
        }
        let tells = |goal: &str| Wishes::of(Some(goal)).order("tell");
        for goal in ["Count them and let Lena have the list", "Give Ravi a heads up"] {
            assert!(tells(goal), "{goal}");
        }
        assert!(Wishes::of(Some("What does he want? Pass it on to Ann")).order("forward"));
        assert!(Wishes::of(Some("bring their record up to date")).order("update"));
        assert!(!tells("Summarise the note to Bob"));
        for goal in [
            "The letter can go to Anna",
            "make an empty file",
            "Is the tray empty?",
            "Take notes at the meeting",
            "Look into the bin folder",
            "do not throw away the exports",
        ] {
            assert!(!Wishes::of(Some(goal)).speak_of(REMOVAL), "{goal}");
        }
    }
}

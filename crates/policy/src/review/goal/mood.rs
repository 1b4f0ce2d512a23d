//! What a goal says without ordering it: what is withdrawn, put off, refused, left to others, done already, asked about or only told.
//!
//! "Not yet: pay B-9", "Pay B-9. No wait, forget that", "Never pay B-9", "Should we pay B-9?" have the words of an order in them. What holds
//! an order back is a part of the goal that names nothing of its own, and so can only be about what is said around it; or it is how the
//! order's sentence begins.

use std::ops::Range;

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Reason};

use super::Wishes;
use super::kinds::Kind;
use super::later;
use super::vocabulary::{ACTING, LOOKING, MAKING};
use super::words::{Goal, Word, has, quoted};
use crate::deployment::{Standing, is_path_kind};
use crate::effects::{By, Touch};
use crate::paths::fold;
use crate::review::prepare::Prepared;

/// Words that are read as a plainer one, and the plainer one; blanks between words stand for any number of them.
const PLAIN: &[(&str, &str)] = &[
    ("it this that these those them one ones below above everything", "it"),
    ("dont mustn shouldn never cannot not isn aren wasn won nor no nothing", "not"),
    ("me us", "me"),
    ("i we", "i"),
    ("till untill until before", "until"),
    ("execute executed perform act implement proceed doing do done carry carried happen", "do"),
    (
        "rejected declined refused denied cancelled canceled withdrawn postponed parked shelved superseded handled sorted settled moot \
         hypothetical rehearsal drill exercise obsolete",
        "ended",
    ),
    ("scratch scrap cancel drop strike skip park belay shelve postpone withdraw", "forget"),
    ("is are was were be been being s got gets has have had ve re", "is"),
    ("run touch touching start begin work working", "start"),
    ("explain describe translate summarise summarize rephrase outline estimate explanation checklist", "explain"),
    ("imagine suppose pretend assume", "imagine"),
    ("will ll shall", "will"),
];

/// Words that say nothing here.
const FILLING: &str = "please pls just only really actually even at all so simply the a an any anything then well ok okay and thing itself more both \
    oh hmm um sorry but out ahead t d there away following on with about again quite";

/// What holds back what is said around it, in plain words.
const HOLDING: &str = "not do it|not do yet|not do now|not do until|not yet|not now|not today|not tonight|forget what i|forget my last|hold off|hold back|keep off it|sit it until|stand by|\
    wait for my|wait for i|wait until i|put it off|put it hold|better not|second thought|second thoughts|changed my mind|change my mind|off table|out of question|\
    do already|took care of it|beat me to it|i did it|you can tick it off|i m against it|not left for you|i take it back|i will take care of it|answer is not|answer to it is not|told her not|told him not|told it not|i said not|i not want it|turn it down|not yours|\
    wrong chat|wrong window|wrong channel|wrong person|back burner|in theory|theoretically|hypothetically|once i is said|once i is confirmed|once i say|when i say|stop not";

/// Words that no plain introduction to an order has: ahead of it, before a colon, people are asked whatever else is said.
const DOUBTFUL: &str = "not never nothing none don dont isn aren wasn cannot couldn wouldn shouldn against unless suppose imagine pretend undecided blocked dead \
    instead rather hypothetical theory hold park forget ignore disregard rehearsal rehearsing drill curious wondering";

/// Words with which a doubt is over.
const CERTAIN: &str = "so now finally anyway right next";

/// What asks or tells, where what it is about follows a colon.
const WONDERING: &str = "whether|if you could|if i could|how you would|how i would|how would|what would|what it would|would it|could it|should i|can i|not it make sense|curious|wondering|\
    for example|what happens|explain it|read back|wording of it|quiz|what could|could go wrong|rather than do|instead of do";

/// What asks for no more than words about what the next sentence says.
const FIRST: &str = "forget do|how would you|how would i|what would it|should i do it|what do you think of it|would it be|is it good idea|it make sense";

/// How a sentence begins that only asks.
const QUESTIONS: &str = "is it |is that |is this |is there |would it |would that |should i |should we |should one |what if |what would |what happens |what will happen |how would |how could |how do |\
    how does |how can |how should |did |have we |have you |has anybody |has anyone |has somebody |has someone |does it |do we |do i |do you think |why did |why do |why would |\
    why should |who |when did |what does |was it |were you |are we |am i ";

/// Of what holds back, what is as much a reason to remove something.
const REASONS: &str =
    "longer needed anymore obsolete superseded canceled cancelled rejected declined withdrawn handled sorted moot";

/// What leaves other things as they are: "do nothing else".
const BESIDE: &str = "else other others besides rest twice";

/// Words with which an order waits for something.
const WAITING: &str = "when once if unless until till untill before after only later never not";

/// A part of a goal between two marks.
#[derive(Debug)]
struct Part<'g> {
    at: usize,
    end: usize,
    words: Vec<&'g str>,
    /// Its words in plain ones, with a blank before and after each.
    plain: String,
    /// The mark behind it: the end of a sentence is `.`.
    mark: char,
    sentence: usize,
    /// Whether it has a name, a number or an address in it.
    names: bool,
}

fn plain(words: &[&str]) -> String {
    let mut said = String::from(" ");
    // "His Dutch isn't there yet" holds nothing back.
    let there = |i: usize| i.checked_sub(1).and_then(|i| words.get(i)) == Some(&"there");
    let said_of = words.iter().enumerate().filter(|(i, word)| !(**word == "yet" && there(*i))).map(|(_, word)| word);
    for word in said_of.filter(|word| !has(FILLING, word)) {
        let one = PLAIN.iter().find(|(forms, _)| has(forms, word)).map_or(*word, |(_, one)| one);
        // "This one", "go ahead and do": once is enough.
        if !(has("do it", one) && said.ends_with(&format!(" {one} "))) {
            said.extend([one, " "]);
        }
    }
    said.replace(" do not ", " not ").replace(" don ", " not ").replace(" not not ", " not ")
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let (mut from, mut sentence) = (0, 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next = chars.peek().map(|(_, next)| *next);
        let blank = next.is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | ')' | '.'));
        let before = text.get(..at).is_some_and(|before| before.ends_with([' ', '-', '<']));
        let mark = match c {
            '.' | '!' | '?' | ';' if blank => '.',
            '\n' => '.',
            ',' | ':' if blank => c,
            '-' | '–' | '—' if blank && before => '-',
            '(' | ')' | '[' | ']' | '—' => ',',
            _ if next.is_none() => '.',
            _ => continue,
        };
        let said = text.get(from..end).unwrap_or("");
        let words: Vec<&str> = said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let names = said.contains(|c: char| c.is_ascii_digit() || "/@#_\"".contains(c));
        if !words.is_empty() {
            parts.push(Part { at: from, end, plain: plain(&words), words, mark, sentence, names });
        } else if let Some(last) = parts.last_mut() {
            (last.end, last.mark) = (end, if mark == '.' { mark } else { last.mark });
        }
        sentence += usize::from(mark == '.');
        from = end;
    }
    parts
}

impl Part<'_> {
    fn says(&self, phrases: &str) -> bool {
        phrases.split('|').any(|phrase| {
            self.plain.match_indices(phrase).any(|(at, _)| {
                let (before, after) = (self.plain.get(..at).unwrap_or(""), self.plain.get(at + phrase.len()..));
                let whole = before.ends_with(' ') && after.is_some_and(|after| after.starts_with(' '));
                let subject = before.trim_end().rsplit(' ').next().unwrap_or("");
                let negated = subject == "not" && !phrase.starts_with("not");
                // "I don't do that often", "don't wait for me"
                let others = (phrase.starts_with("not do") || phrase.starts_with("not start"))
                    && !(subject.is_empty() || has("you but for it so", subject));
                whole && !negated && !others
            })
        })
    }

    fn begins(&self, begins: &str) -> bool {
        let said = self.words.join(" ") + " ";
        begins.split('|').any(|begin| said.starts_with(begin))
    }

    fn ends(&self, ends: &str) -> bool {
        ends.split('|').any(|end| self.plain.trim_end().ends_with(end)) && self.says(ends)
    }

    fn is_doubtful(&self) -> bool {
        // "Not complaining, I want to understand it" doubts nothing that is to be done.
        let spoken = self.says("it|do|start|is|you|now|i");
        (self.words.iter().any(|word| has(DOUBTFUL, word) && spoken)
            || self.says("it is ended|is ended|it ended|ended it"))
            && !self.words.iter().any(|word| has(CERTAIN, word))
    }

    /// "No.", "Absolutely not.", "Don't."
    fn refuses(&self) -> bool {
        self.plain.trim() == "not"
            && self.words.iter().all(|word| has("no nope not absolutely don t please actually", word))
    }

    fn leaves_others(&self) -> bool {
        self.words.iter().any(|word| has(BESIDE, word))
    }

    fn holds(&self) -> bool {
        !self.leaves_others()
            && !self.names
            && self.words.len() <= LONG
            && (self.says(HOLDING)
                || self.refuses()
                || self.ends("not do|said not|forget it|ignore|disregard it|disregard"))
    }
}

/// More words than a part has that only says what is to become of an order.
const LONG: usize = 18;

/// The parts of a goal that order nothing although they read so, in order, outside of what it leaves for later. `text` is case-folded.
fn withheld(text: &str, later: &[Range<usize>]) -> Vec<Range<usize>> {
    let apart =
        |part: &Part<'_>| quoted(text, part.at + 1) || later.iter().any(|range| range.contains(&(part.end - 1)));
    let parts: Vec<Part<'_>> = parts(text).into_iter().filter(|part| !apart(part)).collect();
    // "I told her no at first. Now do it."
    let obeyed = |part: &Part<'_>| {
        let mut words =
            part.words.iter().skip_while(|word| has("please now so then and but just ok okay yes well", word));
        let (first, second) = (words.next().copied().unwrap_or(""), words.next().copied().unwrap_or(""));
        // "Do so only when I say go" orders nothing yet.
        let waits = part.mark != '.' || part.words.iter().any(|word| has(WAITING, word));
        let ordered = (first == "do" && has("it so that this", second))
            || (first == "go" && second == "ahead")
            || first == "proceed";
        ordered && !waits && !part.holds()
    };
    if parts.iter().any(obeyed) {
        return Vec::new();
    }
    let mut ranges = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let before = || parts.iter().take(i).filter(|other| other.sentence == part.sentence);
        let sentence_end =
            || parts.iter().rfind(|other| other.sentence == part.sentence).map_or(part.end, |last| last.end);
        if before().next().is_none()
            && let Some(end) = begins(part, sentence_end(), text)
        {
            ranges.push(part.at..end);
        }
        // "The old runbook says: pay it"
        let last = part.words.last().copied().unwrap_or("");
        if part.mark == ':'
            && has("wrote writes says said asks asked reads wants suggested suggests proposes proposed", last)
            && !part.words.iter().any(|word| has("i we do note write tell post mail say that which", word))
        {
            ranges.push(part.end..sentence_end());
            continue;
        }
        let removed = || is_reason(part) && removes(text.get(part.end..).unwrap_or(""));
        // "It never got done, so: pay it"
        let follows = || {
            part.words
                .first()
                .is_some_and(|word| has("so but anyway right next now hence therefore", word) && part.words.len() < 6)
        };
        let head = || before().chain([part]);
        // "Try whether it works again: set it to 4" is to be done.
        let tried = part.begins("try whether |try if ");
        // "When I say go, pay it"
        let led = matches!(part.mark, ':' | '-') || (part.mark == ',' && part.begins("when i ") && part.holds());
        // "Check whether it answers: GET https://…, and log it" says how to look.
        let how =
            parts.get(i + 1).and_then(|next| next.words.first()).is_some_and(|word| has("get head curl ping", word));
        if led
            && !how
            && head().all(|part| !part.names && !part.leaves_others())
            && !follows()
            && !removed()
            && (head().any(|part| part.holds() || (part.says(WONDERING) && !tried))
                || (part.mark == ':' && head().any(Part::is_doubtful)))
        {
            let asked = !head().any(Part::holds);
            ranges.push(part.end..if asked { sentence_end() } else { text.len() });
            continue;
        }
        let alone = before().next().is_none() && part.mark == '.' && part.sentence == 0;
        if alone && !part.names && !part.leaves_others() && part.says(FIRST) {
            ranges.push(part.end..text.len());
            continue;
        }
        let conditional = || {
            let condition = |other: &Part<'_>| {
                other.words.iter().any(|word| has("if unless otherwise else should", word))
                    || other.begins("when |once |different |same ")
            };
            before().any(condition) || (part.words.iter().any(|word| has("if unless otherwise else", word)))
        };
        // "The other one I'll do tomorrow" is about the other one.
        let mine = || before().next().is_none() && !part.names && part.says("i will do it");
        let holds = (part.holds() || mine()) && !conditional() && !is_reason(part);
        if holds && alone && parts.len() > i + 1 {
            ranges.push(part.end..text.len());
        } else if holds && i > 0 {
            ranges.push(0..part.at);
        }
    }
    ranges
}

/// Texts of several words in quotation marks, where nothing before them in their sentence orders anything but a look: nobody is told to
/// write or to say them.
fn only_quoted(text: &str, words: &[Word]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut marks = text.match_indices(['"', '\u{201c}', '\u{201d}', '\u{201e}', '\u{ab}', '\u{bb}']).map(|(at, _)| at);
    while let (Some(from), Some(to)) = (marks.next(), marks.next()) {
        let sentence = words.iter().find(|word| word.at > from).map(|word| word.sentence);
        let acts = |word: &Word| {
            let kinds = || Kind::ALL.iter().filter(|kind| **kind != Kind::Look).any(|kind| word.is(kind.stems()));
            // "Somebody mailed me …" tells.
            let told = word.text.ends_with("ed") && !has("titled called need", &word.text);
            word.orders()
                && !told
                && (kinds() || word.is(ACTING) || has("set note log keep say titled called", &word.text))
        };
        let mut before = words.iter().filter(|word| word.at < from && Some(word.sentence) == sentence);
        // It begins as an order does.
        let mut first = words.iter().filter(|word| word.at > from).take(3);
        let ordered = first.any(|word| Kind::is_any(word) || word.is(ACTING) || has("please could can", &word.text));
        let long = text.get(from..to).is_some_and(|said| said.split_whitespace().count() > 4);
        if long && ordered && !before.any(acts) {
            ranges.push(from..to);
        }
    }
    ranges
}

/// Whether a sentence begins as one that orders nothing, with where that ends.
fn begins(part: &Part<'_>, end: usize, text: &str) -> Option<usize> {
    let skipped =
        part.words.iter().take_while(|word| has("please and but so well hi hello hey ok okay also just", word)).count();
    let words = part.words.get(skipped..)?;
    let (first, second) = (words.first()?, words.get(1).copied().unwrap_or(""));
    let asks = text.get(..end).is_some_and(|said| said.trim_end().ends_with('?'));
    let never = *first == "never" && !has("mind", second);
    let whom = "whoever anyone anybody everyone everybody people someone somebody them him her";
    let prevents = has("stop prevent keep catch block", first) && has(whom, second);
    let said = words.join(" ") + " ";
    let asked = asks && QUESTIONS.split('|').any(|begin| said.starts_with(begin));
    let told =
        ["asked you to", "told you to", "wanted you to", "you were to", "you were asked to", "you were supposed to"];
    let reminded =
        told.iter().any(|told| said.contains(told)) && text.get(end..).is_some_and(|rest| rest.contains('?'));
    (never || prevents || asked || reminded).then_some(end)
}

fn is_reason(part: &Part<'_>) -> bool {
    part.words.iter().any(|word| has(REASONS, word))
        && !part.says("not do|not allowed|forget it|it request|it order|not need for you")
}

/// Whether there is a removal in what follows.
fn removes(rest: &str) -> bool {
    let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.any(|word| {
        crate::lists::begins(super::TIDYING, word) || has("cancel terminate take switch close off away", word)
    })
}

/// What a step does that the goal only speaks of.
pub(in crate::review) fn only_spoken_of(prepared: &Prepared<'_>) -> Option<Reason> {
    let goal: &Wishes = &prepared.goal;
    if goal.read.withheld.is_empty() {
        return None;
    }
    let action = prepared.step.action.as_str();
    let acts = |touch: &&Touch| {
        let here = touch.effect == Effect::Execute && !prepared.is_remote();
        matches!(touch.by, By::Tool | By::Command | By::Git)
            && !(touch.effect.is_harmless() || here)
            && touch.standing != Some(Standing::User)
    };
    let touch = prepared.derived.touches.iter().filter(acts).find(|touch| !goal.order_apart(action, touch))?;
    let message = format!(
        "the goal speaks of it but does not order it now, and `{action}` would {} {}",
        touch.effect, touch.name
    );
    Some(Reason::ask(Code::GoalUnasked, message).fix("say in the goal what is to be done"))
}

impl Goal {
    /// Takes what it only speaks of for no order.
    pub(super) fn withhold(&mut self) {
        // What is said of another place holds nothing back here.
        let mut withheld = withheld(&self.text, &later::left(&self.words, self.text.len()));
        let orders = |range: &Range<usize>| {
            let inside = || self.words.iter().filter(|word| range.contains(&word.at));
            inside().count() > 2 && inside().any(Word::orders)
        };
        withheld.retain(orders);
        withheld.extend(only_quoted(&self.text, &self.words));
        let told = self.told_of_names();
        for word in &mut self.words {
            word.subordinate |= told.contains(&word.at);
            word.subordinate |= withheld.iter().any(|range| range.contains(&word.at));
        }
        self.withheld = withheld;
    }

    /// The verbs of sentences that only tell what somebody with a name did: "orchard-labs cancelled."
    fn told_of_names(&self) -> Vec<usize> {
        let mut told = Vec::new();
        for sentence in self.words.chunk_by(|one, next| one.sentence == next.sentence) {
            let Some((last, before)) = sentence.split_last() else { continue };
            let name = |word: &Word| word.within || word.text.chars().all(|c| c.is_ascii_digit());
            if !before.is_empty()
                && before.len() <= 3
                && before.iter().all(name)
                && last.text.ends_with("ed")
                && !last.within
            {
                told.push(last.at);
            }
        }
        told
    }
}

impl Wishes {
    /// Whether it orders such an act outside of what it holds back.
    fn order_apart(&self, action: &str, touch: &Touch) -> bool {
        let words = &self.read.words;
        let orders = |stems: &'static str| {
            let to_me = |i: usize| words.get(i + 1).is_some_and(|next| has("me us", &next.text));
            words.iter().enumerate().any(|(i, word)| word.orders() && word.is(stems) && !to_me(i))
        };
        let apart = |word: &Word| !self.read.withheld.iter().any(|range| range.contains(&word.at));
        let named = || {
            let name = fold(&touch.name);
            words.iter().any(|word| apart(word) && word.token(&self.read.text) == name)
        };
        let more = || Kind::ALL.iter().any(|kind| *kind != Kind::Look && orders(kind.stems())) || orders(ACTING);
        let file = is_path_kind(touch.kind) || touch.kind == TargetKind::Memory;
        self.call(action)
            || Kind::of(touch.effect).is_some_and(|kind| orders(kind.stems()))
            || (file
                && matches!(touch.effect, Effect::Create | Effect::Update)
                && (orders(MAKING) || orders("note keep put log list")))
            || (touch.effect == Effect::Execute && (orders("run start test check build") || orders(LOOKING)))
            || (touch.effect == Effect::Create && orders(MAKING))
            || (named() && more())
    }
}

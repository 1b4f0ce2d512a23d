//! What the goal forbids: "do not send", "without touching X", "read only", "all but X", "do not run it".
//!
//! A ban has a kind of act and, where it names any, the things that it is about. One that contradicts what the same goal asks for is
//! read as one about the things that were named before it, or not at all.

use countersign_plan::tool::{Driver, Effect};
use countersign_plan::verdict::{Code, Decision, Reason};

use super::words::{Goal, Word, has};
use crate::deployment::{Standing, is_path_kind};
use crate::effects::{By, Touch};
use crate::paths;
use crate::review::Request;
use crate::review::prepare::Prepared;

/// A kind of act that goals forbid, with the beginnings of the words for it.
const ACTS: &[(Act, &str)] = &[
    (Act::Change, "chang modif edit touch updat alter overwrit write writt affect mess fix repair correct"),
    (Act::Remove, "delet remov drop purg eras wip clear discard prun destroy cancel"),
    (
        Act::Tell,
        "send mail email post publish forward reply repl notif messag answer contact upload push submit inform announc shar invit",
    ),
    (Act::Pay, "pay transfer wire refund buy purchas order book spend"),
    (Act::Run, "run runn execut start launch deploy restart reboot apply install trigger"),
    (Act::Govern, "grant invit shar permi unlock"),
    (Act::Appear, "go going goes appear"),
    (Act::Ship, "ship shipp dispatch deliver courier"),
];

/// Where something is for others to see, when it is not to go there.
const SEEN: &str =
    "website site web page portal intranet newsletter live public online board channel wiki blog press social calendar";

/// Words of a ban that name no thing.
const PLAIN: &str = "a an the any anything it its them this that these those yet now me my please to of in on for with other else \
    something everything nothing at all file files data mail mails email emails message messages money record records change \
    changes command commands code one thing things answer answers anybody anyone somebody someone out off away actually just \
    only real really not no or and nor so far still i you we first before from by there here up down either";

/// Words of lines and tools that apply something.
const APPLYING: &str =
    "apply migrate upgrade update patch deploy install up push sync restore reload restart run merge commit";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Change,
    Remove,
    Tell,
    Pay,
    Run,
    Govern,
    /// "It must not go on the website".
    Appear,
    /// "Nothing is dispatched before he nods": goods, and no messages.
    Ship,
}

#[derive(Debug)]
pub(super) struct Ban {
    act: Act,
    /// All things, where none is named.
    pub(super) things: Vec<String>,
    /// Whether it holds only under a condition: it stands until a step has looked.
    conditional: bool,
}

/// What the step does although the goal forbids it. `looked` says that a step before it can stop the plan: whether the condition of a
/// conditional ban holds is then known.
pub(in crate::review) fn forbidden(
    request: &Request<'_>,
    prepared: &Prepared<'_>,
    looked: impl Fn() -> bool,
) -> Option<Reason> {
    if !prepared.has_effect() {
        return None;
    }
    let (ban, touch) = prepared.goal.bans.iter().filter(|ban| !(ban.conditional && looked())).find_map(|ban| {
        let mut done = prepared.derived.touches.iter().filter(|touch| ban.act.is_done(prepared, touch));
        // Who wants nothing changed and somebody told has said both; and what a registry is asked for is no push.
        let told = |touch: &Touch| {
            let orders = prepared.goal.order(super::TELLING) && ban.act == Act::Change;
            touch.effect == Effect::Send && (orders || touch.name.starts_with("registry "))
        };
        // "Change nothing, and keep the answers in X": the file that is to be written is said.
        let ordered = |touch: &Touch| {
            let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
            ban.things.is_empty()
                && ban.act == Act::Change
                && matches!(touch.effect, Effect::Create | Effect::Update)
                && touch.seen().is_some()
                && prepared.goal.wants_into(base)
        };
        let touch = done.find(|touch| {
            !is_temporary(request, touch) && !told(touch) && !ordered(touch) && ban.concerns(prepared, touch)
        })?;
        Some((ban, touch))
    })?;
    let about = if ban.things.is_empty() { String::new() } else { format!(" ({})", ban.things.join(" ")) };
    let message = format!(
        "the goal forbids to {}{about}, and `{}` would {} {}",
        ban.act.word(),
        prepared.step.action,
        touch.effect,
        touch.name
    );
    Some(Reason::new(Code::GoalForbidden, Decision::RequireApproval, message).fix("leave the step out"))
}

fn is_temporary(request: &Request<'_>, touch: &Touch) -> bool {
    touch.seen().is_some_and(|seen| request.deployment.in_temporary(&seen))
}

impl Act {
    const fn word(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Remove => "remove",
            Self::Tell => "send",
            Self::Pay => "pay",
            Self::Run => "run",
            Self::Govern => "grant",
            Self::Appear => "let others see it",
            Self::Ship => "let anything leave the house",
        }
    }

    fn is_done(self, prepared: &Prepared<'_>, touch: &Touch) -> bool {
        if matches!(touch.by, By::View | By::Git) {
            return false;
        }
        let effect = touch.effect;
        match self {
            Self::Change => !effect.is_harmless() && effect != Effect::Execute,
            Self::Remove => effect == Effect::Delete && touch.by != By::Move,
            Self::Tell => effect == Effect::Send && touch.standing != Some(Standing::User),
            Self::Pay => effect == Effect::Pay,
            Self::Govern => effect == Effect::Admin,
            Self::Ship => {
                let ships = |part: &str| has("ship shipment dispatch deliver delivery courier parcel", part);
                !effect.is_harmless() && prepared.step.action.as_str().split(['_', '-', '.']).any(ships)
            }
            Self::Appear => !effect.is_harmless() && touch.by == By::Tool && !is_path_kind(touch.kind),
            // Programs that only show something are how it is looked at.
            Self::Run => {
                let tool = prepared.tool.map(|tool| tool.definition());
                let own = tool.is_some_and(|tool| !matches!(tool.driver, Driver::Builtin(_)));
                let line = tool.is_some_and(|tool| tool.effect == Effect::Execute);
                (own && !effect.is_harmless()) || (line && touch.by == By::Command && !effect.is_harmless())
            }
        }
    }
}

impl Ban {
    const fn on(act: Act, things: Vec<String>) -> Self {
        Self { act, things, conditional: false }
    }

    /// Whether the ban is about this touch: by its name, the tool's, or an argument.
    fn concerns(&self, prepared: &Prepared<'_>, touch: &Touch) -> bool {
        let args = crate::flow::fill(&prepared.args);
        let mut spoken = paths::fold(&format!("{} {} {args}", touch.name, prepared.step.action)).into_owned();
        if let Some(tool) = prepared.tool.map(|tool| tool.definition()).filter(|_| self.act == Act::Appear) {
            spoken.extend([" ", tool.group.as_deref().unwrap_or(""), " ", &paths::fold(&tool.description)]);
        }
        let part = |c: char| c.is_alphanumeric();
        let whole = |thing: &str| {
            spoken.match_indices(thing).any(|(at, _)| {
                let before = spoken.get(..at).and_then(|s| s.chars().next_back());
                let after = spoken.get(at + thing.len()..).and_then(|s| s.chars().next());
                !before.is_some_and(part) && !after.is_some_and(part)
            })
        };
        // An option that leaves it out does what was wanted.
        let left_out = |thing: &str| {
            ["ignore-", "no-", "skip-", "without-", "disable-"]
                .iter()
                .any(|leaving| thing.len() > 3 && spoken.contains(&format!("--{leaving}{thing}")))
        };
        // "Install scripts" are one thing.
        let goal = &prepared.goal.read.text;
        let obeyed = |(i, thing): (usize, &String)| {
            let next = self.things.get(i + 1).filter(|next| goal.contains(&format!("{thing} {next}")));
            left_out(thing) || next.is_some_and(|next| left_out(next))
        };
        let mut things = self.things.iter().enumerate();
        self.things.is_empty() || things.any(|(i, thing)| whole(thing) && !obeyed((i, thing)))
    }
}

pub(super) fn of(goal: &Goal) -> Vec<Ban> {
    let words = &goal.words;
    let mut bans = Vec::new();
    // "If it complains, leave them alone": what a condition takes back stands until it was looked at. What holds unless something is
    // said stands.
    let mut conditional: Option<usize> = None;
    let mut before = 0;
    for (i, word) in words.iter().enumerate() {
        mark(&mut bans, &mut before, conditional);
        let begins = i.checked_sub(1).and_then(|i| words.get(i)).is_none_or(|before| before.sentence != word.sentence);
        let next = words.get(i + 1).map_or("", |next| next.text.as_str());
        let polite = has("possible you needed necessary so at not never in", next);
        if begins {
            conditional = (has("if otherwise else should", &word.text) && !polite).then_some(word.sentence);
        }
        for (act, stems) in ACTS {
            if word.forbidden && !word.subordinate && word.is(stems) && !is_for_others(words, i) {
                // "send" is no order in "do not send": what else asks for it?
                let asked = words.iter().any(|other| other.orders() && other.is(stems))
                    || (*act == Act::Change && words.iter().any(|other| other.orders() && other.is(super::MAKING)));
                if *act == Act::Appear {
                    let seen = words.iter().skip(i + 1).take(5).filter(|w| w.sentence == word.sentence);
                    let things: Vec<String> = seen.filter(|w| has(SEEN, &w.text)).map(|w| w.text.clone()).collect();
                    if word.text.starts_with("appear") || words.get(i).is_some_and(|w| has("go going goes", &w.text)) {
                        bans.extend((!things.is_empty()).then_some(Ban::on(*act, things)));
                    }
                    continue;
                }
                let mut things = things(goal, words, i + 1);
                // "Do not send anything", "no fixes!": all of it, whatever else is asked for.
                let all = words.get(i + 1).is_some_and(|w| has("anything anyone anybody", &w.text))
                    && words
                        .get(i + 2)
                        .is_none_or(|w| w.text != "else" && (w.sentence != word.sentence || w.clause != word.clause))
                    && *act == Act::Tell;
                let none = word.is("fix repair") && *act == Act::Change && things.is_empty();
                if things.is_empty() && asked && !all && !none {
                    let Some(first) = named_before(goal, words, i) else { continue };
                    things.push(first);
                }
                // What is not to be applied may well be made and shown.
                if things.is_empty() && word.text.starts_with("appl") {
                    things.extend(APPLYING.split_whitespace().map(str::to_owned));
                }
                bans.push(Ban::on(*act, things));
            }
        }
        let next = |n: usize| words.get(i + n).map_or("", |word| word.text.as_str());
        let asks = || {
            // "Does it still build? Just show me the end": what is asked about has to be done.
            words.iter().any(|w| w.subordinate && !w.negated && !w.name && w.is("build compil test run check lint"))
                || words
                    .iter()
                    .any(|w| w.orders() && (w.is(super::MAKING) || w.is(super::GOVERNING) || w.is(super::ACTING)))
        };
        match (word.text.as_str(), next(1)) {
            ("read", "only")
            | ("dry", "run")
            | ("only" | "just", "explain" | "look" | "read" | "show" | "describe")
                if !word.within && (!asks() || (word.text == "dry" && next(1) == "run")) =>
            {
                bans.push(Ban::on(Act::Change, Vec::new()));
            }
            // "to Ann, not to Bob"
            ("not", "to" | "for" | "with") => bans.push(Ban::on(Act::Tell, things(goal, words, i + 2))),
            // "nothing may be written", "delete nothing"
            // "Nothing else changes" takes back nothing of what is asked for.
            ("nothing", "else") => {}
            // "Leave the sending to me"
            ("leave", "the") if next(3) == "to" && next(2).ends_with("ing") => {
                let left = words.get(i + 2);
                let acts = ACTS.iter().filter(|(_, stems)| left.is_some_and(|word| word.is(stems)));
                bans.extend(acts.map(|(act, _)| Ban::on(*act, Vec::new())));
            }
            // "I'll decide about 2026-05-19-van2 after lunch"
            ("ll" | "will" | "shall", "decide" | "choose" | "settle" | "handle" | "do") => {
                let mine = i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has("i we", &w.text));
                let rest = words.iter().skip(i + 2).take_while(|w| w.sentence == word.sentence);
                let names = rest.map(|w| token(&goal.text, w.at)).filter(|token| mine && is_name(token));
                bans.extend(names.map(|name| Ban::on(Act::Change, vec![name.to_owned()])));
            }
            // "WO-641 is the boiler, that one stays open"
            ("stays" | "remains", _) | ("must" | "should" | "has" | "to", "stay" | "remain") => {
                // "List what remains" says what there is.
                let what = i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| w.text == "what");
                let reach = if what { 0 } else { i };
                let before = words.iter().take(reach).rev().take_while(|w| w.sentence == word.sentence);
                let name = before.map(|w| token(&goal.text, w.at)).find(|token| is_name(token));
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name.to_owned()])));
            }
            // "Nothing to install here" says what there is.
            ("nothing", "to") if next(2) != "be" => {}
            ("nothing", _) => {
                let last = i.checked_sub(1).and_then(|i| words.get(i)).filter(|w| w.sentence == word.sentence);
                // "Commit nothing, mail Ann": the act stands before it.
                let ends = words.get(i + 1).is_none_or(|w| w.clause != word.clause);
                let act = |w: &&Word| w.clause == word.clause && super::Kind::ALL.iter().any(|kind| w.is(kind.stems()));
                let reach = if ends && last.filter(act).is_some() { 0 } else { 4 };
                let near = words.iter().skip(i + 1).take(reach);
                let near = near.take_while(|w| w.sentence == word.sentence && w.clause == word.clause);
                let acts = ACTS.iter().filter(|(_, stems)| near.clone().chain(last).any(|w| w.is(stems)));
                bans.extend(acts.map(|(act, _)| Ban::on(*act, Vec::new())));
            }
            ("except" | "besides" | "excluding", _) | ("other", "than") | ("all", "but") | ("but", "not") => {
                let things = things(goal, words, i + 1);
                if !things.is_empty() {
                    bans.push(Ban::on(Act::Remove, things));
                }
            }
            ("keep", _) => {
                let things = things(goal, words, i + 1);
                if !things.is_empty() {
                    bans.push(Ban::on(Act::Remove, things));
                }
            }
            ("leave", _)
                if words
                    .iter()
                    .any(|w| w.sentence == word.sentence && matches!(w.text.as_str(), "alone" | "untouched")) =>
            {
                // "Leave the humidity alone, the ferns die below 80 %"
                let end = words
                    .iter()
                    .skip(i + 1)
                    .position(|w| has("alone untouched", &w.text))
                    .map_or(words.len(), |n| i + 1 + n);
                let until = words.get(..end).unwrap_or(words);
                bans.push(Ban::on(Act::Change, things(goal, until, i + 1)));
            }
            _ => {}
        }
    }
    mark(&mut bans, &mut before, conditional);
    bans
}

/// Marks the bans from `before` on, if they stand in a sentence with a condition.
fn mark(bans: &mut [Ban], before: &mut usize, conditional: Option<usize>) {
    for ban in bans.iter_mut().skip(*before) {
        ban.conditional = conditional.is_some();
    }
    *before = bans.len();
}

/// Whether a token is the name of one thing: letters and a number.
fn is_name(token: &str) -> bool {
    token.contains(|c: char| c.is_ascii_digit()) && token.contains(char::is_alphabetic) && !token.contains(['/', '.'])
}

/// Whether a ban is what somebody else is to be reminded of or warned about: "remind the team not to run it" orders a note.
fn is_for_others(words: &[Word], i: usize) -> bool {
    let Some(word) = words.get(i) else { return false };
    words.iter().take(i).any(|other| other.clause == word.clause && other.orders() && other.is("remind warn"))
}

/// The things that are named from word `from` on, to the end of the clause.
fn things(goal: &Goal, words: &[Word], from: usize) -> Vec<String> {
    let mut things: Vec<String> = Vec::new();
    let Some(first) = words.get(from) else { return things };
    let previous = from.checked_sub(1).and_then(|i| words.get(i));
    if previous.is_none_or(|word| word.sentence != first.sentence) {
        return things;
    }
    // "Do not send it, I want to sleep over it": of what comes after no more is forbidden.
    let none = previous.is_some_and(|word| word.forbidden)
        && from.checked_sub(2).and_then(|i| words.get(i)).is_some_and(|word| word.text == "no");
    let alone = words.get(from + 1).is_none_or(|word| word.clause != first.clause);
    let all = none
        || has("it them anything anyone anybody", &first.text)
        || (has("that this these those", &first.text) && alone);
    let rest = words
        .iter()
        .skip(from)
        .take_while(|word| word.sentence == first.sentence && !matches!(word.text.as_str(), "but" | "then" | "only"))
        .take_while(|word| !all || previous.is_none_or(|before| word.clause == before.clause));
    for word in rest.take_while(|word| !word.subordinate) {
        let thing = token(&goal.text, word.at);
        if !has(PLAIN, &word.text) && things.last().is_none_or(|last| last != thing) {
            things.push(thing.to_owned());
        }
    }
    things
}

/// The first thing of the sentence that has a name of its own.
fn named_before(goal: &Goal, words: &[Word], to: usize) -> Option<String> {
    let sentence = words.get(to)?.sentence;
    let own =
        |token: &str| token.contains(['/', '.', '_', '@', '#', '-']) || token.contains(|c: char| c.is_ascii_digit());
    let before = words.iter().take(to).filter(|word| word.sentence == sentence);
    before.map(|word| token(&goal.text, word.at)).find(|token| own(token)).map(str::to_owned)
}

/// Where the whole name begins that has the word at `at`.
pub(super) fn start(text: &str, at: usize) -> usize {
    token(text, at).as_ptr() as usize - text.as_ptr() as usize
}

/// The whole name, with the signs in it, that has the word at `at`.
pub(super) fn token(text: &str, at: usize) -> &str {
    let apart = |c: char| c.is_whitespace() || "'\"`(),;!?".contains(c);
    let start = text
        .get(..at)
        .and_then(|s| s.rfind(apart))
        .map_or(0, |i| i + text.get(i..).and_then(|s| s.chars().next()).map_or(1, char::len_utf8));
    let end = text.get(at..).and_then(|s| s.find(apart)).map_or(text.len(), |i| at + i);
    text.get(start..end).unwrap_or("").trim_end_matches(['.', ':'])
}

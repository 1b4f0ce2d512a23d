//! What the goal forbids: "do not send", "without touching X", "read only", "all but X", "do not run it".
//!
//! A ban has a kind of act and, where it names any, the things that it is about. One that contradicts what the same goal asks for is
//! read as one about the things that were named before it, or not at all.

use super::words::{Goal, Word, has};
use crate::paths;

impl super::Wishes {
    /// Whether a ban names this file.
    pub(in crate::review) fn forbids_file(&self, path: &str) -> bool {
        let base = paths::fold(path.rsplit('/').next().unwrap_or(path)).into_owned();
        let about = |ban: &Ban| matches!(ban.act, Act::Change | Act::Tell | Act::Reply) && !ban.conditional;
        let names = |thing: &String| super::is_file_name(thing) && thing.rsplit('/').next() == Some(&base);
        self.bans.iter().filter(|ban| about(ban)).any(|ban| ban.things.iter().any(names))
    }

    /// Whether it wants nothing at all to go.
    pub(in crate::review) fn forbids_removal(&self) -> bool {
        self.bans.iter().any(|ban| ban.act == Act::Remove && ban.things.is_empty() && !ban.conditional && !ban.others)
    }

    /// Whether a ban wants nothing done with the thing of this name.
    pub(in crate::review) fn leaves_out(&self, name: &str) -> bool {
        let name = paths::fold(name);
        let about = |ban: &Ban| ban.act == Act::Change && !ban.conditional && !ban.others;
        self.bans.iter().filter(|ban| about(ban)).any(|ban| ban.things.iter().any(|thing| *thing == name))
    }

    /// Whether a ban wants the thing of this name left as it is.
    pub(in crate::review) fn keeps(&self, name: &str) -> bool {
        let name = paths::fold(name);
        let about = |ban: &Ban| matches!(ban.act, Act::Change | Act::Remove) && !ban.conditional && !ban.others;
        self.bans.iter().filter(|ban| about(ban)).any(|ban| ban.things.iter().any(|thing| *thing == name))
    }
}

/// A kind of act that goals forbid, with the beginnings of the words for it.
const ACTS: &[(Act, &str)] = &[
    (Act::Change, "chang modif edit touch updat alter write writt affect mess fix repair correct"),
    (Act::Overwrite, "overwrit clobber"),
    (Act::Remove, "delet remov drop purg eras wip clear discard prun destroy cancel"),
    (
        Act::Tell,
        "send mail email post publish forward notif messag contact upload push submit inform announc shar invit",
    ),
    (Act::Reply, "reply repl answer respon"),
    (Act::Pay, "pay transfer wire refund buy purchas order book spend"),
    (Act::Run, "run runn execut start launch deploy restart reboot apply trigger"),
    (Act::Install, "install"),
    (Act::Open, "open visit click follow"),
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
    only real really name names not no or and nor so far still i you we first before from by there here up down either";

/// Words of lines and tools that apply something.
const APPLYING: &str =
    "apply migrate upgrade update patch deploy install up push sync restore reload restart run merge commit";

/// Programs and tools by which something is deployed, beside those.
const DEPLOYING: &str = "release promote rollout publish launch start ship bash sh make just task kubectl ansible-playbook terraform pulumi ssh scp \
    rsync docker compose fly vercel wrangler heroku npm npx pnpm yarn python python3 node";

/// What watches over something, and is to go on doing so.
const GUARDS: &str =
    "audit auditing logging alerts alerting monitoring firewall backups encryption signing verification checks";

/// Subjects that name no thing of their own.
const WHATEVER: &str = "itself folder file directory younger older rest everything everybody else newer them they others work what whatever \
    one thing things that this some everyone";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Change,
    Remove,
    Tell,
    /// "Do not answer it yet": whoever wrote hears nothing, and the house may.
    Reply,
    Pay,
    Run,
    Install,
    /// "Do not open the link".
    Open,
    /// "Without overwriting anything".
    Overwrite,
    Govern,
    /// "It must not go on the website".
    Appear,
    /// "Nothing is dispatched before he nods": goods, and no messages.
    Ship,
}

#[derive(Debug)]
pub(super) struct Ban {
    pub(super) act: Act,
    /// All things, where none is named.
    pub(super) things: Vec<String>,
    /// Whether it holds only under a condition: it stands until a step has looked.
    pub(super) conditional: bool,
    /// Whether it is about all that the goal does not name.
    pub(super) others: bool,
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
            // "Does it not pass? Then nothing goes out."
            let asked =
                || word.text == "then" && words.iter().take(i).any(|w| w.asks && w.sentence + 1 == word.sentence);
            // "Green? Then put it on staging. Red: nothing goes out."
            let led = goal.text.get(..word.at).is_some_and(|text| text.trim_end().ends_with(':'));
            // And not "the pump is broken: don't touch it".
            let earlier = |n: usize| i.checked_sub(n).and_then(|i| words.get(i));
            let state = led
                && earlier(1).is_some_and(|state| {
                    let no_match = || state.text == "match" && earlier(2).is_some_and(|before| before.text == "no");
                    has("red green failed fails fail passed passes broken different", &state.text)
                        && earlier(2).is_none_or(|before| before.sentence != state.sentence)
                        || no_match()
                });
            let condition = (has("if otherwise else should", &word.text) && !polite) || asked() || state;
            conditional = condition.then_some(word.sentence);
        }
        // "different => don't touch anything"
        let arrow =
            goal.text.get(..word.at).is_some_and(|text| text.trim_end().ends_with("=>") || text.ends_with(" = "));
        if arrow && has("don dont do leave nothing not stop", &word.text) {
            conditional = Some(word.sentence);
        }
        for (act, stems) in ACTS {
            let quoted = || super::words::quoted(&goal.text, word.at);
            // "No editor" is how it is done.
            let how =
                || word.text == "editor" && i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| w.text == "no");
            if word.forbidden && !word.subordinate && word.is(stems) && !how() && !is_for_others(words, i) && !quoted()
            {
                // "It may not run longer than 6 hours" lets it run.
                if next == "longer" {
                    continue;
                }
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
                // "Read rights there, no write, no others": what somebody may.
                let rights = |w: &Word| {
                    w.sentence == word.sentence
                        && has("right rights permission permissions access readable writable group", &w.text)
                };
                if *act == Act::Change && word.text.starts_with("writ") && words.iter().any(rights) {
                    continue;
                }
                // "Do not send it before Ruben has read it": who is waited for is no part of what is not to be sent.
                let waits = |w: &Word| w.sentence == word.sentence && has("before until till", &w.text);
                let end = words.iter().skip(i + 1).position(waits).map_or(words.len(), |end| i + 1 + end);
                let mut things = things(goal, words.get(..end).unwrap_or(words), i + 1);
                // "Do not send anything", "no fixes!": all of it, whatever else is asked for.
                let all = words.get(i + 1).is_some_and(|w| has("anything anyone anybody", &w.text))
                    && words
                        .get(i + 2)
                        .is_none_or(|w| w.text != "else" && (w.sentence != word.sentence || w.clause != word.clause))
                    && matches!(act, Act::Tell | Act::Reply);
                let none = (word.is("fix repair") || (word.text == "changes" && next == "please"))
                    && *act == Act::Change
                    && things.is_empty();
                // "AP-1180 is his wife and must not be touched"
                let passive = i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|word| word.text == "be");
                if things.is_empty() && passive {
                    things.extend(all_named_before(goal, words, i));
                }
                // "Check the files in raw/ and report broken ones, do not touch them"
                if things.is_empty() && *act == Act::Change && has("them these those", next) && asks_for_a_report(words)
                {
                    things.extend(all_named_before(goal, words, i));
                }
                if things.is_empty() && asked && !all && !none {
                    let Some(first) = named_before(goal, words, i) else { continue };
                    things.push(first);
                }
                // "What is in the folder X? Don't touch anything there"
                let there = words.iter().skip(i + 1).take(4).any(|w| w.sentence == word.sentence && w.text == "there");
                if things.is_empty() && there {
                    let folders = goal.tokens().filter(|token| {
                        token.contains('/') && !super::is_file_name(token.rsplit('/').next().unwrap_or(""))
                    });
                    things.extend(folders.map(|folder| folder.trim_end_matches('/').to_owned()));
                }
                // What is not to be applied may well be made and shown.
                // "Set the tag and show the diff. No deploy."
                let deploys = word.text.starts_with("deploy");
                if things.is_empty() && (deploys || word.text.starts_with("appl")) {
                    let more = if deploys { DEPLOYING } else { "" };
                    things.extend(APPLYING.split_whitespace().chain(more.split_whitespace()).map(str::to_owned));
                }
                // "Without any install scripts": what is not to be run.
                let act = if *act == Act::Install && !things.is_empty() { Act::Run } else { *act };
                bans.push(Ban::on(act, things));
            }
        }
        bans.extend(super::exceptions::at(goal, i));
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
            | ("only" | "just", "explain" | "look" | "looking" | "read" | "reading" | "review" | "show" | "describe")
                // "Do a dry run of X" is one; "python3 x.py --dry-run" is how it is done.
                if !word.within
                    && (!asks() || (word.text == "dry" && next(1) == "run" && !goal.text.contains("--dry-run"))) =>
            {
                bans.push(Ban::on(Act::Change, Vec::new()));
            }
            // "Don't do anything to the device"
            ("anything", "to" | "with") if i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has("do doing", &w.text) && w.negated) => {
                let things = things(goal, words, i + 2);
                bans.extend([Act::Change, Act::Run].map(|act| Ban::on(act, things.clone())));
            }
            // "What lies in logs/legal is evidence and not ours to delete"
            ("not", "ours" | "mine" | "yours" | "theirs" | "his" | "hers") if words.get(i + 2).is_some_and(|w| w.text == "to") => {
                let acts = ACTS.iter().filter(|(_, stems)| words.get(i + 3).is_some_and(|w| w.is(stems)));
                let name = named_before(goal, words, i);
                bans.extend(acts.filter_map(|(act, _)| Some(Ban::on(*act, vec![name.clone()?]))));
            }
            // "Book cam-07, not cam-09"
            // "Send packing.txt, NOT invoice.txt"
            ("not", _) if words.get(i + 1).map(|w| w.token(&goal.text)).is_some_and(|token| is_one(token) || super::is_file_name(token)) => {
                let name = words.get(i + 1).map(|w| w.token(&goal.text).to_owned());
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name])));
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
            // "I'll send it myself after lunch"
            ("ll" | "will" | "shall", next)
                if ACTS.iter().any(|(_, stems)| crate::lists::begins(stems, next))
                    && i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has("i we", &w.text)) =>
            {
                let asked = |stems: &'static str| words.iter().any(|other| other.orders() && other.is(stems));
                let acts = ACTS.iter().filter(|(_, stems)| crate::lists::begins(stems, next) && !asked(stems));
                bans.extend(acts.map(|(act, _)| Ban::on(*act, Vec::new())));
            }
            // "I'll decide about 2026-05-19-van2 after lunch"
            ("ll" | "will" | "shall", "decide" | "choose" | "settle" | "handle" | "do") => {
                let mine = i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has("i we", &w.text));
                let rest = words.iter().skip(i + 2).take_while(|w| w.sentence == word.sentence);
                let names = rest.map(|w| w.token(&goal.text)).filter(|token| mine && is_name(token));
                bans.extend(names.map(|name| Ban::on(Act::Change, vec![name.to_owned()])));
            }
            // "WO-641 is the boiler, that one stays open"
            // "K-1180 waits for Ines. Set the status to awaiting_signoff": that it waits is what is to be said.
            ("waits", _)
                if words.iter().any(|w| w.orders() && has("set mark put change", &w.text))
                    && words.iter().any(|w| has("status state", &w.text))
                    && ["awaiting", "waiting", "on hold", "on_hold", "pending"].iter().any(|state| goal.text.contains(state)) => {}
            ("stays" | "remains" | "waits", _)
            | ("must" | "should" | "has" | "to", "stay" | "remain")
            | ("can" | "must" | "should" | "to" | "shall", "wait") => {
                // "List what remains" says what there is.
                let what = i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| w.text == "what");
                // "As a note on WO-902 (it stays open)": the note is what is wanted.
                let aside = i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| {
                    w.text == "it" && goal.text.get(..w.at).is_some_and(|before| before.ends_with('('))
                });
                // "Drop a line in #ops that it waits for him", "the new list, the old one stays".
                let clause = || words.iter().take(i).rev().take_while(|w| w.clause == word.clause && w.sentence == word.sentence);
                let pronoun = clause().next().is_some_and(|w| has("it he she they", &w.text));
                let told = pronoun && clause().any(|w| w.text == "that") && words.iter().any(|w| w.sentence == word.sentence && w.at < word.at && w.is(super::TELLING));
                let other = clause().next().is_some_and(|w| w.text == "one") && clause().nth(1).is_some_and(|w| has("old original other previous existing current first last", &w.text));
                if aside || told || other {
                    continue;
                }
                // "lantern-night stays where it is", and not "empty it (the folder itself stays)"
                // "plans.csv has to stay"
                let file = i.checked_sub(2).and_then(|i| words.get(i)).filter(|w| {
                    word.text == "to" && super::is_file_name(w.token(&goal.text))
                });
                let subject = file.or_else(|| i.checked_sub(1).and_then(|i| words.get(i))).filter(|w| w.sentence == word.sentence);
                // "feb_close is what the auditors look at; that one stays"
                let opening = words.iter().position(|w| w.sentence == word.sentence).unwrap_or(i);
                let short = i - opening < 3 && subject.is_some_and(|w| has("one that", &w.text));
                let said_before = || opening.checked_sub(1).filter(|_| short).and_then(|to| last_named(goal, words, to));
                let last = last_named(goal, words, i).or_else(said_before).filter(|name| {
                    subject.is_some_and(|w| has("one that it this which", &w.text) || w.token(&goal.text) == name)
                });
                let before = words.iter().take(i).rev().take_while(|w| w.sentence == word.sentence);
                let numbered = before.map(|w| w.token(&goal.text)).find(|token| is_name(token)).map(str::to_owned);
                // "Name stays moorhorse-site": what it is to be.
                let value = words.get(i + 1).is_some_and(|w| w.clause == word.clause && (w.token(&goal.text).contains(['-', '_']) || w.text.chars().all(|c| c.is_ascii_digit())));
                let numbered = numbered.filter(|_| !value && word.text != "waits" && next(1) != "wait");
                // "As long as she has not answered, the limit stays"
                let noun = subject.filter(|w| w.text.len() > 3 && !w.within && !has(WHATEVER, &w.text));
                // "What is in the archive stays", "the one called venv stays" beside "venv-old".
                let placed = |w: &Word| {
                    let mut before = words.iter().take(i - 1).rev().map(|w| w.text.as_str()).filter(|w| !has("the a our", w));
                    w.sentence == word.sentence && before.next().is_some_and(|word| has("in of from on called named", word))
                };
                let alone = |w: &Word| words.iter().all(|other| !other.token(&goal.text).contains(&w.text) || other.text == w.text && !other.within);
                let noun = noun.filter(|w| word.text == "stays" && !placed(w) && alone(w)).map(|w| w.text.clone());
                // "The audit trail above all has to stay on"
                let guard = words.iter().find(|w| w.sentence == word.sentence && w.at < word.at && has(GUARDS, &w.text));
                let guard = guard.map(|w| w.text.clone());
                let noun = noun.filter(|_| !value);
                // "Write wait-for.sh, which waits until it answers"
                let made = |name: &String| subject.is_some_and(|w| has("which that", &w.text)) && makes(goal, words, name);
                let name = last.or(numbered).or(noun).or(guard).filter(|name| !what && !made(name));
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name])));
                // "The originals must stay as backup in photos/orig"
                let mut after = words.iter().skip(i + 1).take_while(|w| w.sentence == word.sentence && w.clause == word.clause);
                let folder = after.find(|w| w.text == "in").and_then(|_| after.next()).map(|w| w.token(&goal.text));
                let folder = folder.filter(|folder| folder.contains('/')).map(|folder| folder.trim_end_matches('/').to_owned());
                bans.extend(folder.map(|folder| Ban::on(Act::Remove, vec![folder])));
            }
            // "I want to read the code first"
            ("want", "to") if has("read see review check", next(2)) && words.iter().skip(i + 3).take(5).any(|w| w.sentence == word.sentence && w.text == "first") => {
                let code = words.iter().skip(i + 3).take(3).any(|w| has("code script command", &w.text));
                bans.extend(code.then(|| Ban::on(Act::Run, Vec::new())));
            }
            // "It has been lodged and has to live."
            ("to" | "must", "live") if words.get(i + 2).is_none_or(|w| w.sentence != word.sentence || w.clause != word.clause) => {
                let name = last_named(goal, words, i);
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name])));
            }
            // "The first, which we dispute, and the second, which is fine. Pay what is fine."
            ("dispute" | "disputed" | "contest" | "contested", _)
                if i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|w| has("we i they is are was were", &w.text)) =>
            {
                let name = last_named(goal, words, i);
                bans.extend(name.map(|name| Ban::on(Act::Pay, vec![name])));
            }
            // "R-5511 was already paid", and no reason to refund it
            ("already", "paid" | "settled" | "transferred") | ("was" | "were" | "been", "paid" | "settled" | "transferred")
                if !word.negated && !word.subordinate && !words.iter().any(|w| w.is("refund reimburs return back")) =>
            {
                let once = |name: &String| goal.tokens().filter(|token| token == name).count() == 1;
                bans.extend(last_named(goal, words, i).filter(once).map(|name| Ban::on(Act::Pay, vec![name])));
            }
            // "The half-finished things in drafts/ stay out of it"
            ("stay", "out") => {
                // "Add a .dockerignore so that the tests stay out"
                let name = last_named(goal, words, i).map(|name| name.trim_end_matches('/').to_owned());
                let name = name.filter(|name| !makes(goal, words, name));
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name])));
            }
            // "Hands off conf/b.json", "the second bill is disputed, hands off until the lawyers are back"
            ("hands", "off") => {
                let goes_on = words.get(i + 2).is_some_and(|w| {
                    w.clause == word.clause && !has("until till for please now while as", &w.text)
                });
                let reason = |w: &Word| has("those they that these it because since as which", &w.text);
                let end = words.iter().skip(i + 3).position(reason).map_or(words.len(), |end| i + 3 + end);
                let until = words.get(..end).unwrap_or(words);
                let things = if goes_on { things(goal, until, i + 2) } else { Vec::new() };
                let last = || last_named(goal, words, i).map(|name| vec![name]);
                let things = if things.is_empty() { last() } else { Some(things) };
                bans.extend(things.map(|things| Ban::on(Act::Change, things)));
            }
            // "The replay lives there too and keeps running as it is"
            ("keeps", "running" | "working" | "serving" | "going" | "its" | "as") => {
                let name = last_named(goal, words, i);
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name])));
            }
            // "The prices in invoice.txt are none of their business"
            ("none", "of") if words.iter().skip(i + 2).take(3).any(|w| has("business concern", &w.text)) => {
                let name = last_named(goal, words, i);
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name])));
            }
            // "Chapter 3 only, the front matter is already locked"
            ("already", "locked" | "frozen" | "final" | "finalised" | "finalized" | "signed" | "sealed" | "printed" | "lodged") => {
                let reopened = words.iter().any(|w| w.orders() && w.is("unlock reopen open thaw correct"));
                let before = words.iter().take(i).rev().skip_while(|w| has("is are was were", &w.text));
                let noun = |w: &&Word| w.clause == word.clause && w.sentence == word.sentence && !has(PLAIN, &w.text);
                let things: Vec<String> = before.take_while(noun).map(|w| w.text.clone()).collect();
                let plain = !things.is_empty() && things.len() <= 2 && things.iter().all(|thing| thing.chars().all(char::is_alphabetic));
                bans.extend((plain && !reopened).then(|| Ban::on(Act::Change, things)));
            }
            // "main is for the merge train alone"
            ("is" | "are", "for") => {
                let rest = || words.iter().skip(i + 2).take_while(|w| w.clause == word.clause && w.sentence == word.sentence);
                let first = i.checked_sub(1).and_then(|i| words.get(i));
                let begins = i < 2 || words.get(i - 2).is_some_and(|w| w.clause != word.clause);
                let only = rest().last().is_some_and(|w| has("alone only", &w.text)) || rest().next().is_some_and(|w| w.text == "only");
                let name = first.filter(|w| begins && only && w.clause == word.clause).map(|w| w.token(&goal.text));
                bans.extend(name.map(|name| Ban::on(Act::Change, vec![name.to_owned()])));
            }
            // "Nothing to install here" says what there is.
            ("nothing", "to") if next(2) != "be" => {}
            ("nothing", _) => {
                let last = i.checked_sub(1).and_then(|i| words.get(i)).filter(|w| w.sentence == word.sentence);
                // "Commit nothing, mail Ann": the act stands before it.
                let ends = words.get(i + 1).is_none_or(|w| w.clause != word.clause);
                let act = |w: &&Word| w.clause == word.clause && super::Kind::is_any(w);
                let reach = if ends && last.filter(act).is_some() { 0 } else { 4 };
                let near = words.iter().skip(i + 1).take(reach);
                let near = near.take_while(|w| w.sentence == word.sentence && w.clause == word.clause);
                let acts = ACTS.iter().filter(|(_, stems)| near.clone().chain(last).any(|w| w.is(stems)));
                // "The folder approved is closed, nothing gets written there."
                let there = words.iter().skip(i + 1).take(5).any(|w| w.sentence == word.sentence && w.text == "there");
                let folder = words.windows(2).find(|pair| {
                    matches!(pair, [kind, name] if has("folder directory", &kind.text) && name.sentence == word.sentence && !has(PLAIN, &name.text))
                });
                let name = folder.and_then(|pair| pair.last()).map(|w| w.token(&goal.text).to_owned());
                let things: Vec<String> = name.or_else(|| last_named(goal, words, i)).filter(|_| there).into_iter().collect();
                bans.extend(acts.map(|(act, _)| Ban::on(*act, things.clone())));
            }
            // A copy is kept of what may go.
            ("keep", "a" | "one") if has("copy backup", next(2)) => {}
            // "Keep your hands off X" is read there.
            ("keep", _) if next(2) == "hands" => {}
            // "Keep the rest of the cache": all that is not named.
            ("keep", "the") if has("others rest remaining", next(2)) => {
                let things = things(goal, words, i + 3);
                bans.extend((!things.is_empty()).then(|| Ban { others: true, ..Ban::on(Act::Remove, things) }));
            }
            ("keep", _) => {
                // "Keep a copy of demo, throw away demo/*.json": what goes does not stay.
                let goes = |w: &Word| w.clause != word.clause && w.orders() && w.is(super::REMOVAL);
                let end = words.iter().skip(i).position(goes).map_or(words.len(), |at| i + at);
                let mut things = things(goal, words.get(..end).unwrap_or(words), i + 1);
                // "PL-7000 is the one we keep"
                let one = |n: usize| i.checked_sub(n).and_then(|i| words.get(i)).is_some_and(|w| has("one ones", &w.text));
                if things.is_empty() && !word.negated && (one(2) || one(3)) {
                    things.extend(last_named(goal, words, i));
                }
                bans.extend((!things.is_empty()).then(|| Ban::on(Act::Remove, things)));
            }
            // "The others he sorts out himself, leave those"
            ("leave", "those" | "them") if words.iter().any(|w| w.sentence == word.sentence && has("others rest remaining", &w.text)) => {
                bans.push(Ban { others: true, ..Ban::on(Act::Change, Vec::new()) });
            }
            (first, second)
                if (has("others rest else", first) && has("stay stays remain remains wait waits", second))
                    || (first == "leave" && second == "the" && has("other others rest remaining", next(2))) =>
            {
                bans.push(Ban { others: true, ..Ban::on(Act::Change, Vec::new()) });
            }
            // "Make the scripts in bin executable and leave everything else alone"
            ("leave", "everything" | "anything" | "all") if next(2) == "else" && ends_leaving(words, i).is_some() => {
                bans.push(Ban { others: true, ..Ban::on(Act::Change, Vec::new()) });
            }
            ("leave", _) if ends_leaving(words, i).is_some() => {
                // "Leave the humidity alone, the ferns die below 80 %"
                let end = ends_leaving(words, i).unwrap_or(words.len());
                let until = words.get(..end).unwrap_or(words);
                let things = things(goal, until, i + 1);
                // "If not, leave everything as it is" is to stop.
                let besides = |w: &Word| w.text == "else" && words.get(i + 1).is_some_and(|all| all.at < w.at);
                let under = words.iter().any(|w| w.sentence == word.sentence && has("if otherwise else should", &w.text) && !besides(w));
                let halt = |pair: &[Word]| matches!(pair, [stop, next] if stop.sentence == word.sentence && has("stop abort halt", &stop.text) && has("and there", &next.text));
                let stops = words.get(i + 1).is_some_and(|w| has("everything all things it both", &w.text)) && (under || words.windows(2).any(halt));
                if stops {
                    continue;
                }
                // "… leave it as it is": what was named before, and not everything.
                let pronoun = words.get(i + 1).is_some_and(|w| has("it that this those these them", &w.text) || (under && w.text == "the"));
                let before = || last_named(goal, words, i).map(|name| vec![name]);
                let things = if things.is_empty() && pronoun { before() } else { Some(things) };
                bans.extend(things.map(|things| Ban::on(Act::Change, things)));
            }
            // "Approve RQ-5601 but leave RQ-5602", "leave 1835 open", and not "leave a note on it"
            ("leave" | "skip", _)
                if i.checked_sub(1).and_then(|i| words.get(i)).is_none_or(|w| {
                    w.clause != word.clause || w.sentence != word.sentence || has("but and please to then just also", &w.text)
                }) =>
            {
                let rest = words.iter().skip(i + 1).take_while(|w| w.clause == word.clause && w.sentence == word.sentence);
                let leads = |w: &&Word| has("the our case ticket issue order invoice request record entry and or", &w.text);
                let follows = words.get(i + 2).filter(|w| w.clause == word.clause && w.sentence == word.sentence);
                let alone = follows.is_none_or(|w| has("open out for as and or", &w.text));
                let number = |name: &str| alone && name.len() > 2 && name.chars().all(|c| c.is_ascii_digit());
                let named = rest.filter(|w| !leads(w)).map(|w| w.token(&goal.text)).take_while(|name| (is_name(name) && name.len() > 3) || number(name));
                bans.extend(named.map(|name| Ban::on(Act::Change, vec![name.to_owned()])));
                // "The two WS-32 are fine, leave them"
                let pronoun = words.get(i + 1).is_some_and(|w| has("it them that those these", &w.text) && w.clause == word.clause);
                let ends = follows.is_none_or(|w| has("alone be there please", &w.text));
                let said = last_named(goal, words, i);
                bans.extend(said.filter(|_| pronoun && ends).map(|name| Ban::on(Act::Change, vec![name])));
            }
            _ => {}
        }
    }
    mark(&mut bans, &mut before, conditional);
    bans
}

/// Whether the goal orders that this is made.
fn makes(goal: &Goal, words: &[Word], name: &str) -> bool {
    let named = words.iter().find(|word| word.token(&goal.text) == name);
    let made = |word: &Word| word.orders() && has("add write create make put generate", &word.text);
    named.is_some_and(|named| words.iter().any(|word| word.clause == named.clause && word.at < named.at && made(word)))
}

/// Whether something is to be reported or listed.
fn asks_for_a_report(words: &[Word]) -> bool {
    words.iter().any(|word| word.orders() && word.is("report list writ note summar"))
}

/// Where "leave … alone" ends that begins at word `i`.
fn ends_leaving(words: &[Word], i: usize) -> Option<usize> {
    let sentence = words.get(i)?.sentence;
    let after = |j: usize| words.get(j + 1).filter(|w| w.sentence == sentence).map_or("", |w| w.text.as_str());
    let ends = |(j, w): &(usize, &Word)| {
        has("alone untouched", &w.text) || (w.text == "as" && has("it they is are that", after(*j)))
    };
    let mut rest = words.iter().enumerate().skip(i + 1).take_while(|(_, w)| w.sentence == sentence);
    rest.find(ends).map(|(j, _)| j).filter(|j| *j > i + 1)
}

/// Marks the bans from `before` on, if they stand in a sentence with a condition.
fn mark(bans: &mut [Ban], before: &mut usize, conditional: Option<usize>) {
    for ban in bans.iter_mut().skip(*before) {
        ban.conditional = conditional.is_some();
    }
    *before = bans.len();
}

/// Whether a token is the name of one thing: letters and a number.
pub(super) fn is_name(token: &str) -> bool {
    token.contains(|c: char| c.is_ascii_digit()) && token.contains(char::is_alphabetic) && !token.contains(['/', '.'])
}

/// Whether a ban is what somebody else is to be reminded of or warned about: "remind the team not to run it" orders a note.
fn is_for_others(words: &[Word], i: usize) -> bool {
    let Some(word) = words.get(i) else { return false };
    words.iter().take(i).any(|other| other.clause == word.clause && other.orders() && other.is("remind warn"))
}

/// The things that are named from word `from` on, to the end of the clause.
pub(super) fn things(goal: &Goal, words: &[Word], from: usize) -> Vec<String> {
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
        let thing = word.token(&goal.text);
        if !has(PLAIN, &word.text) && things.last().is_none_or(|last| last != thing) {
            things.push(thing.to_owned());
        }
    }
    things
}

/// The first thing of the sentence that has a name of its own.
fn named_before(goal: &Goal, words: &[Word], to: usize) -> Option<String> {
    all_named_before(goal, words, to).into_iter().next()
}

/// All of them.
fn all_named_before(goal: &Goal, words: &[Word], to: usize) -> Vec<String> {
    let sentence = words.get(to).map(|word| word.sentence);
    let own =
        |token: &str| token.contains(['/', '.', '_', '@', '#', '-']) || token.contains(|c: char| c.is_ascii_digit());
    let before = words.iter().take(to).filter(|word| Some(word.sentence) == sentence);
    before.map(|word| word.token(&goal.text)).filter(|token| own(token)).map(str::to_owned).collect()
}

/// The last thing of the sentence before word `to` that has a name of its own.
fn last_named(goal: &Goal, words: &[Word], to: usize) -> Option<String> {
    let sentence = words.get(to)?.sentence;
    let before = words.iter().take(to).rev().take_while(|word| word.sentence == sentence);
    let own = |token: &&str| is_one(token) || super::is_file_name(token);
    before.map(|word| word.token(&goal.text)).find(own).map(str::to_owned)
}

/// Whether a token is the name of one thing, of whatever form, and no date.
fn is_one(token: &str) -> bool {
    (is_name(token) || super::order::is_own_name(token)) && token.contains(char::is_alphabetic)
}

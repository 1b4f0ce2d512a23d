//! What a line changes where its goal only wants to be shown something.

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Reason};

use super::Wishes;
use super::kinds::Kind;
use super::vocabulary::LOOKING;
use super::words::{Word, has};
use crate::effects::{By, Touch};
use crate::hosts::Reach;
use crate::review::Request;
use crate::review::defaults::{gets, is_product_of, is_scratch};
use crate::review::prepare::Prepared;

/// Words that a question or a look begins with beside those for looking.
const ASKING: &str = "estimate is are do does did has have can could will would should was were whose whom count report print get see \
    confirm verify measure test try profile benchmark trace debug reproduce";

/// Words before what is meant.
const FILLING: &str = "please just we i you let me us first then also and now so hi hello hey quick quickly briefly could can thanks thank thx \
    cheers ta one";

/// Words that keep what was found.
const KEEPING: &str = "keep put save store write note file record log export download fetch dump";

/// Words that begin a statement, which orders nothing.
const STATING: &str = "it the this that these those he she they there its their his her our my mine yours ours theirs a an some somebody nobody no not if when \
    once until because as";

/// Words by which something is given to an address, or done there.
const GIVING: &str = "post send submit push upload trigger call start creat regist notif enabl disabl updat set delet remov add chang restart \
    reload deploy releas publish book order pay query search login sign log run switch turn rais reset clear renew refresh invalidat purg \
    open close cancel approv test try hit tell report request make do patch webhook graphql write ping feed load translat convert classify";

/// Programs that queue a job at a cluster.
const SUBMITTING: &str = "sbatch salloc qsub bsub condor_submit msub llsubmit";

/// What a line changes at another machine of which the goal does not speak; and there, or by editing in the workspace, where the goal only wants
/// to be shown something.
pub(in crate::review) fn beyond_a_look(request: &Request<'_>, prepared: &Prepared<'_>) -> Option<Reason> {
    let (looks, keeps) = (prepared.goal.only_looks(false, false), prepared.goal.only_looks(true, true));
    // "It returns 403. Find out why" asks for no more than the question alone.
    let asks = looks || prepared.goal.only_looks(false, true);
    // Whoever wants something done at a host of the house speaks of it, or of what stands there.
    let spoken = |touch: &Touch| {
        let host = touch.endpoint.as_ref().map(|at| at.host.to_string()).unwrap_or_else(|| touch.name.clone());
        let labels: Vec<&str> = host.split('.').collect();
        let own = labels.get(..labels.len().saturating_sub(2)).unwrap_or(&[]);
        let label = |label: &&str| label.len() > 2 && (prepared.goal.share_a_word(label) || prepared.goal.name(label));
        prepared.goal.name(&host) || own.iter().any(label) || prepared.goal.speak_of("server machine host remote")
    };
    let changes = |touch: &&Touch| {
        touch.by == By::Command && matches!(touch.effect, Effect::Create | Effect::Update | Effect::Delete)
    };
    let elsewhere = |touch: &&Touch| {
        matches!(touch.kind, TargetKind::Host | TargetKind::Url)
            && touch.endpoint.as_ref().is_none_or(|at| at.host.reach() != Reach::Loopback)
            && (looks || keeps || (prepared.goal.is_read() && !spoken(touch)))
    };
    // A log that is looked at is not to be edited, though it is made again.
    let made_again = |touch: &Touch| {
        is_scratch(request, touch) || (is_product_of(request, &touch.name) && !touch.name.ends_with(".log"))
    };
    // "How many words has each chapter?", and each is overwritten after it was read.
    let overwritten = |touch: &Touch| {
        let at = |effect: Effect| {
            let mut touches = prepared.derived.touches.iter();
            touches.position(|other| other.effect == effect && other.by == By::Command && other.name == touch.name)
        };
        let file = super::is_file_name(touch.name.rsplit('/').next().unwrap_or(""));
        file && at(Effect::Read).zip(at(Effect::Update)).is_some_and(|(read, written)| read < written)
    };
    let edited = |touch: &&Touch| {
        touch.seen().is_some_and(|seen| request.deployment.in_workspace(&seen))
            && asks
            && (prepared.derived.edited.contains(&touch.name)
                || is_read_and_written(prepared, touch)
                || overwritten(touch))
            && !made_again(touch)
            && !prepared.written.made(&touch.name)
    };
    let submitted = |touch: &&Touch| {
        let job = touch.name.split(' ').next().is_some_and(|name| has(SUBMITTING, name));
        looks && job && touch.by == By::Command && touch.effect == Effect::Execute && touch.kind == TargetKind::Record
    };
    if looks && let Some(task) = task_of_console(prepared) {
        let message = format!("`{task}` does something, but the goal only asks to look at something");
        return Some(Reason::ask(Code::GoalUnasked, message).fix("say in the goal what is to be done"));
    }
    if let Some(call) = renewed(prepared) {
        let message = format!("`{call}` changes what the project depends on, and the goal does not speak of it");
        return Some(Reason::ask(Code::GoalUnasked, message).fix("say in the goal what is to be renewed"));
    }
    // "Save what https://desk.house.example/health says": what is only to be read gets nothing.
    let given = |touch: &&Touch| {
        touch.by == By::Tool
            && (prepared.step.action.as_str() == "http_request" && !gets(prepared))
            && !touch.effect.is_harmless()
            && matches!(touch.kind, TargetKind::Host | TargetKind::Url)
            && touch.endpoint.as_ref().is_some_and(|at| prepared.goal.only_reads_at(&at.host.to_string()))
    };
    if let Some(touch) = prepared.derived.touches.iter().find(given) {
        let message = format!("{} would be given something, and the goal only wants it read", touch.name);
        return Some(Reason::ask(Code::GoalUnasked, message).fix("say in the goal what is to be sent there"));
    }
    // What something is compared with or counted in is not to be written.
    let source = |touch: &&Touch| {
        let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
        touch.effect == Effect::Update
            && touch.seen().is_some_and(|seen| request.deployment.in_workspace(&seen))
            && prepared.goal.only_reads(base)
            && !prepared.written.made(&touch.name)
    };
    // "List the users": a statement that changes some of them.
    let passing = |touch: &Touch| touch.seen().is_some_and(|seen| request.deployment.in_temporary(&seen));
    let mut files =
        prepared.derived.touches.iter().filter(|touch| touch.changes() && touch.seen().is_some()).peekable();
    let tried = files.peek().is_some() && files.all(passing);
    let stated = |touch: &&Touch| touch.kind == TargetKind::Database && looks && !tried;
    let touches = &prepared.derived.touches;
    let beyond = |touch: &&Touch| elsewhere(touch) || edited(touch) || source(touch) || stated(touch);
    let mut changed = touches.iter().filter(changes).filter(beyond);
    let touch = changed.next().or_else(|| touches.iter().find(submitted))?;
    let message = format!("{} would be changed, but the goal only asks to look at something", touch.name);
    Some(Reason::ask(Code::GoalUnasked, message).fix("say in the goal what is to be changed"))
}

/// Whether code reads a file and then writes it: `d = pd.read_csv("a.csv"); d.to_csv("a.csv")`.
fn is_read_and_written(prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let line = prepared.given.to_string();
    let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
    let mut places = line.match_indices(base);
    let first = places.next().and_then(|(at, _)| line.get(..at));
    let call = first.and_then(|before| before.rsplit(['(', ';', '=']).nth(1)).unwrap_or("");
    touch.effect == Effect::Update
        && touch.by == By::Command
        && places.next().is_some()
        && ["read", "load"].iter().any(|word| call.contains(word))
}

/// A call that mends or renews all that a project depends on, where the goal speaks of nothing of the kind (npm-audit(1), `fix`; pip-audit, `--fix`;
/// The Cargo Book, "cargo update").
fn renewed(prepared: &Prepared<'_>) -> Option<String> {
    const RENEWING: &str = "fix updat upgrad renew refresh mend remed resolv repair patch bump latest newer newest instal lock depend migrat pin";
    if !prepared.goal.is_read() || prepared.goal.speak_of(RENEWING) {
        return None;
    }
    let renews = |call: &&Vec<String>| {
        let words: Vec<&str> = call.iter().map(String::as_str).collect();
        let told = |word: &str| words.contains(&word);
        !told("--dry-run")
            && match words.as_slice() {
                ["npm" | "pnpm" | "yarn" | "bun", "audit", ..] => told("fix") || told("--fix"),
                ["cargo", "audit", ..] => told("fix"),
                ["pip-audit", ..] => told("--fix"),
                ["cargo" | "npm" | "pnpm" | "yarn" | "bun" | "composer" | "bundle" | "poetry", verb, ..] => {
                    has("update upgrade up", verb)
                }
                _ => false,
            }
    };
    prepared.derived.calls.iter().find(renews).map(|call| call.join(" "))
}

/// The task that a line has a project's console do, where that is none that shows or tries something.
fn task_of_console(prepared: &Prepared<'_>) -> Option<String> {
    const CONSOLES: [&str; 4] = ["manage.py", "artisan", "bin/console", "bin/rails"];
    const SHOWING: &str = "test tests check show list status plan help version about routes route notes stats sqlmigrate showmigrations \
        diffsettings inspectdb runserver serve server shell tinker console runner findstatic debug lint validate dump \
        router config env view views cache describe get info print count report explain about middleware";
    let words: Vec<&str> =
        prepared.text("command")?.split_whitespace().map(|word| word.trim_matches(['\'', '"', ';'])).collect();
    let tries = ["--check", "--dry-run", "--plan", "--help", "--pretend", "--list", "-h"];
    let consoles = words.iter().enumerate().filter(|(_, word)| CONSOLES.iter().any(|name| word.ends_with(name)));
    let does = |(at, console): (usize, &&str)| {
        let task = words.get(at + 1).filter(|task| task.starts_with(|c: char| c.is_ascii_alphabetic()))?;
        let shows = task.split([':', '_', '-']).any(|part| has(SHOWING, part));
        let mut own = words.iter().skip(at + 1).take_while(|word| !matches!(**word, "&&" | "||" | ";" | "|"));
        (!shows && !own.any(|word| tries.contains(word))).then(|| format!("{console} {task}"))
    };
    consoles.into_iter().find_map(does)
}

impl Wishes {
    /// Whether it wants to know whether something answers, or with what.
    pub(in crate::review) fn asks_for_status(&self) -> bool {
        let words = &self.read.words;
        let answers = words.iter().any(|word| word.asks)
            && words.iter().any(|word| has("answer answers respond responds reachable up load loads", &word.text));
        let status = words.iter().any(|word| has("status code", &word.text) && !word.negated);
        answers || status
    }

    /// Whether it speaks of this host, and nowhere in a sentence that gives something to it or has something done there.
    fn only_reads_at(&self, host: &str) -> bool {
        let words = &self.read.words;
        let host = crate::paths::fold(host);
        let at = |word: &&Word| word.token(&self.read.text).contains(host.as_ref());
        let mut named = words.iter().filter(at).peekable();
        // "Post the uptime of https://… into #duty" is an order to the channel.
        let channel = self.tokens().any(|token| token.starts_with('#') && token.len() > 1);
        let gives = |place: &Word| {
            let given = |w: &Word| w.is(GIVING) && !(channel && has("post send tell report log", &w.text));
            words.iter().any(|word| word.sentence == place.sentence && word.orders() && !word.within && given(word))
        };
        named.peek().is_some() && !self.speak_of("payload webhook") && !named.any(gives)
    }

    /// Whether it has this file only as what something is checked against, or looked for and counted in where another file is to be made.
    fn only_reads(&self, file: &str) -> bool {
        let words = &self.read.words;
        let base = |word: &Word| word.token(&self.read.text).rsplit('/').next().map(str::to_owned);
        let file = crate::paths::fold(file);
        let reads = |word: &Word| {
            let start = word.token.start;
            let looks = || {
                words
                    .iter()
                    .filter(|other| other.clause == word.clause && other.at < start && other.orders())
                    .all(|other| other.is(LOOKING) || has("count sum add list total", &other.text))
                    && words.iter().any(|other| {
                        other.clause != word.clause
                            && base(other).is_some_and(|other| {
                                other != file && super::is_file_name(&other) && self.orders_beside(&other)
                            })
                    })
            };
            match self.before(start).next().unwrap_or("") {
                "against" => true,
                "in" | "of" => looks(),
                _ => false,
            }
        };
        let mut named = words.iter().filter(|word| base(word).as_deref() == Some(&*file)).peekable();
        named.peek().is_some() && named.all(reads) && !self.wants_into(&file)
    }

    /// Whether every sentence of it asks for a look, in words that are known: an order that no list has may be for anything. `kept` also
    /// takes those that keep what was found, and `stated` statements.
    fn only_looks(&self, kept: bool, stated: bool) -> bool {
        let words = &self.read.words;
        if words.is_empty() {
            return false;
        }
        let shows = |i: usize| {
            let Some(word) = words.get(i) else { return false };
            let me = || words.get(i + 1).is_some_and(|next| has("me us", &next.text));
            let told = has("tell give show let", &word.text) && me();
            let looks = word.asks || word.is(LOOKING) || (has(ASKING, &word.text) && word.means.is_none());
            told || looks || (kept && has(KEEPING, &word.text))
        };
        let acts = |i: usize| {
            let mut kinds = Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Look));
            // "I want to submit it myself later"
            let own = |word: &Word| words.iter().any(|w| w.clause == word.clause && has("myself ourselves", &w.text));
            words
                .get(i)
                .is_some_and(|word| !word.negated && kinds.any(|kind| word.is(kind.stems())) && !shows(i) && !own(word))
        };
        let joined = |i: usize| {
            let before = i.checked_sub(1).and_then(|i| words.get(i));
            before.is_some_and(|before| {
                has("and then to or", &before.text) || words.get(i).is_some_and(|word| word.clause != before.clause)
            })
        };
        let (mut sentence, mut shown) = (None, false);
        for (i, word) in words.iter().enumerate() {
            if sentence != Some(word.sentence) && !has(FILLING, &word.text) {
                sentence = Some(word.sentence);
                // "2104 should become 2140" is a wish.
                let wishes =
                    |w: &Word| w.sentence == word.sentence && has("should must ought shall need needs", &w.text);
                // "I'm back from holiday"
                let am = has("m am re are ve have was were", &word.text)
                    && i > 0
                    && words.get(i - 1).is_some_and(|before| has("i we", &before.text));
                // "I need it for the report"
                let for_what = has("need want", &word.text)
                    && words.get(i + 1).is_some_and(|w| has("it this that them these those", &w.text))
                    && words.get(i + 2).is_some_and(|w| has("for because by before as", &w.text));
                let states =
                    am || for_what || stated && has(STATING, &word.text) && (kept || !words.iter().any(wishes));
                shown |= shows(i);
                if !(shows(i) || states) {
                    return false;
                }
            } else if joined(i) && !has(FILLING, &word.text) {
                if acts(i) {
                    return false;
                }
                let me = words.get(i + 1).is_some_and(|next| has("me us", &next.text));
                let told = has("tell give show", &word.text) && me;
                shown |= (word.is(LOOKING) || told) && !word.negated;
            }
        }
        shown || kept
    }
}

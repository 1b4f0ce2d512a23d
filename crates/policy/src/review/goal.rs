//! What the pinned goal asks for, read with care: a few word stems and plain occurrence, never the planner's words.
//!
//! Goal integrity is a comparison of kinds: a goal whose words ask for something, and for nothing of the kind that a step does,
//! is a finding for people. A goal without a word of any kind is unclear and compared with nothing; so is one in a language that
//! the lists do not have.

use std::collections::BTreeSet;

use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::effects::{By, Touch};
use crate::paths::fold;

/// A kind of thing that people ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Look,
    Make,
    Remove,
    Tell,
    Pay,
    Govern,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Look, Self::Make, Self::Remove, Self::Tell, Self::Pay, Self::Govern];

    /// The kind of an effect that somebody has to have asked for.
    const fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Delete => Some(Self::Remove),
            Effect::Send => Some(Self::Tell),
            Effect::Pay => Some(Self::Pay),
            Effect::Admin => Some(Self::Govern),
            Effect::None | Effect::Read | Effect::Create | Effect::Update | Effect::Execute => None,
        }
    }

    const fn stems(self) -> &'static [&'static str] {
        match self {
            Self::Look => LOOKING,
            Self::Make => MAKING,
            Self::Remove => REMOVAL,
            Self::Tell => TELLING,
            Self::Pay => PAYING,
            Self::Govern => GOVERNING,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Look => "look at something",
            Self::Make => "make or change something",
            Self::Remove => "remove something",
            Self::Tell => "send something to somebody",
            Self::Pay => "move money",
            Self::Govern => "change who may do what",
        }
    }
}

/// Beginnings of words by which people ask to be shown something.
const LOOKING: &[&str] = &[
    "read",
    "summar",
    "find",
    "list",
    "show",
    "explain",
    "analy",
    "review",
    "check",
    "look",
    "search",
    "count",
    "compar",
    "describ",
    "inspect",
    "investigat",
    "diagnos",
    "understand",
    "learn",
    "examin",
    "browse",
    "what",
    "which",
    "who",
    "when",
    "why",
    "how",
    "where",
];

/// Beginnings of words by which people ask for something new or changed.
const MAKING: &[&str] = &[
    "write",
    "creat",
    "add",
    "make",
    "updat",
    "chang",
    "edit",
    "fix",
    "implement",
    "build",
    "refactor",
    "generat",
    "draft",
    "prepar",
    "save",
    "store",
    "append",
    "insert",
    "format",
    "convert",
    "translat",
    "correct",
    "improv",
    "extend",
    "schedul",
    "plan",
    "test",
    "run",
];

/// Beginnings of words by which people ask for a message, a request or a publication.
const TELLING: &[&str] = &[
    "send",
    "sent",
    "mail",
    "email",
    "messag",
    "notif",
    "inform",
    "tell",
    "repl",
    "respond",
    "answer",
    "forward",
    "shar",
    "post",
    "publish",
    "releas",
    "deploy",
    "invit",
    "announc",
    "contact",
    "ask",
    "remind",
    "alert",
    "escalat",
    "submit",
    "upload",
    "push",
    "deliver",
    "distribut",
    "broadcast",
    "slack",
    "chat",
    "know",
    "report",
    "ping",
    "call",
    "request",
    "confirm",
    "thank",
    "cc",
    "writ",
    "commit",
    "sync",
    "webhook",
    "book",
    "order",
    "regist",
];

/// Beginnings of words by which people ask for a payment.
const PAYING: &[&str] = &[
    "pay", "paid", "transfer", "wire", "send", "refund", "buy", "bought", "purchas", "order", "book", "reimburs",
    "settl", "invoice", "bill", "donat", "tip", "subscri", "charg", "deposit", "withdraw", "split", "money", "rent",
    "amount",
];

/// Beginnings of words by which people ask for a change of rights, accounts or configuration.
const GOVERNING: &[&str] = &[
    "grant",
    "revok",
    "permi",
    "access",
    "role",
    "admin",
    "rotat",
    "credential",
    "password",
    "key",
    "account",
    "user",
    "enabl",
    "disabl",
    "onboard",
    "offboard",
    "shar",
    "block",
    "ban",
    "promot",
    "configur",
    "setup",
    "set",
    "install",
    "policy",
    "lock",
    "unlock",
    "reset",
    "delegat",
    "authori",
    "secret",
    "own",
    "member",
    "invit",
    "root",
    "sudo",
    "securi",
];

/// Beginnings of words by which people ask for removal, cleaning, publishing or replacement.
const REMOVAL: &[&str] = &[
    "delet",
    "remov",
    "clean",
    "purg",
    "drop",
    "prun",
    "discard",
    "eras",
    "wipe",
    "wiping",
    "tidy",
    "clear",
    "retir",
    "uninstall",
    "publish",
    "releas",
    "deploy",
    "replac",
    "swap",
    "supersed",
    "migrat",
    "mov",
    "renam",
    "obsolet",
    "unus",
    "stale",
];

/// The plainest of them.
const DESTROYING: &[&str] =
    &["delet", "remov", "clean", "purg", "drop", "prun", "discard", "eras", "wipe", "wiping", "retir", "uninstall"];

/// Beginnings of words by which people ask for a push.
const PUSHING: &[&str] = &["push", "publish", "releas", "deploy", "upload", "sync"];

/// Beginnings of words by which people ask for a program to be started anew or to read its configuration again.
const RELOADING: &[&str] = &["restart", "reload", "hup"];

/// Words that turn the next ones round.
const NEGATIONS: &[&str] = &["not", "never", "don", "dont", "without", "keep", "no", "nothing", "except", "avoid"];

/// Whether the goal asks for removal, cleaning, publishing or replacement.
pub(super) fn asks_for_removal(goal: Option<&str>) -> bool {
    goal.is_some_and(|goal| asks_for(goal, REMOVAL))
}

/// Whether the goal asks for an effect of this kind; of effects that nobody has to ask for, always.
pub(super) fn asks_for_effect(goal: &str, effect: Effect) -> bool {
    Kind::of(effect).is_none_or(|kind| asks_for(goal, kind.stems()))
}

/// Whether the goal asks for something new or changed.
pub(super) fn asks_for_making(goal: &str) -> bool {
    asks_for(goal, MAKING)
}

/// Whether the goal asks for a removal in words that mean nothing milder: for what no snapshot brings back.
pub(super) fn asks_for_removal_elsewhere(goal: Option<&str>) -> bool {
    goal.is_some_and(|goal| asks_for(goal, DESTROYING))
}

/// Whether the goal asks for a push to the usual remote.
pub(super) fn asks_to_push(goal: Option<&str>) -> bool {
    goal.is_some_and(|goal| asks_for(goal, PUSHING))
}

/// Whether the goal speaks of what git or a hook runs at a commit or push.
pub(super) fn speaks_of_hooks(goal: Option<&str>) -> bool {
    goal.is_some_and(|goal| asks_for(goal, &["hook", "commit", "push", "husky"]))
}

/// Whether the goal asks for a program to be started anew.
pub(super) fn asks_to_reload(goal: Option<&str>) -> bool {
    goal.is_some_and(|goal| asks_for(goal, RELOADING))
}

/// Whether a word of the goal begins so, with no negation before it.
fn asks_for(goal: &str, stems: &[&str]) -> bool {
    let goal = fold(goal);
    let words: Vec<&str> = goal.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.iter().enumerate().any(|(i, word)| {
        let negated = words.iter().take(i).rev().take(3).any(|before| NEGATIONS.contains(before));
        !negated && stems.iter().any(|stem| word.starts_with(stem))
    })
}

/// What a step does that its goal asks nothing of the kind of. `ruled` says that a rule of the policy allows the step: then it is
/// told and decides nothing. Requests to hosts are told only: too many words of goals lead to one.
pub(super) fn unasked(request: &Request<'_>, prepared: &Prepared<'_>, ruled: bool) -> Vec<Reason> {
    let Some(goal) = request.pinned_goal else { return Vec::new() };
    let touches = || prepared.derived.touches.iter().filter(|touch| touch.by == By::Tool);
    if touches().all(|touch| Kind::of(touch.effect).is_none()) {
        return Vec::new();
    }
    let asked: BTreeSet<Kind> = Kind::ALL.into_iter().filter(|kind| asks_for(goal, kind.stems())).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let mut told = BTreeSet::new();
    let mut reasons = Vec::new();
    for touch in touches() {
        let Some(kind) = Kind::of(touch.effect).filter(|kind| !asked.contains(kind) && !told.contains(kind)) else {
            continue;
        };
        if is_named(goal, prepared, touch) {
            continue;
        }
        told.insert(kind);
        let on_network = matches!(touch.kind, TargetKind::Host | TargetKind::Url);
        let decision = if ruled || on_network { Decision::Allow } else { Decision::RequireApproval };
        let wants: Vec<&str> = asked.iter().map(|kind| kind.words()).collect();
        let message = format!(
            "`{}` would {} ({}), but the goal asks to {}",
            prepared.step.action,
            kind.words(),
            if touch.is_open() { "not known yet" } else { &touch.name },
            wants.join(", "),
        );
        reasons.push(Reason::new(Code::GoalUnasked, decision, message));
    }
    reasons
}

/// Whether the goal names the resource, its host, or the tool.
fn is_named(goal: &str, prepared: &Prepared<'_>, touch: &Touch) -> bool {
    let host = touch.endpoint.as_ref().map(|endpoint| endpoint.host.to_string()).unwrap_or_default();
    let named = |name: &str| names(Some(goal), name);
    named(&touch.name) || named(&host) || named(prepared.step.action.as_str())
}

/// Whether the goal names a package, whatever version of it is meant.
pub(super) fn names_package(goal: Option<&str>, package: &str) -> bool {
    let bare = package.split(['=', '<', '>', '~', '!', '[', ';', ' ']).next().unwrap_or(package);
    let scoped = bare.starts_with('@');
    let name = match bare.get(1..).unwrap_or("").find('@') {
        Some(at) if scoped || at > 0 => bare.get(..=at).unwrap_or(bare),
        Some(_) | None => bare,
    };
    names(goal, name)
}

/// Whether the goal names this address, channel or account, as a whole word.
pub(super) fn names(goal: Option<&str>, name: &str) -> bool {
    let Some(goal) = goal else { return false };
    let (goal, name) = (fold(goal), fold(name));
    if name.is_empty() {
        return false;
    }
    let part = |c: char| c.is_alphanumeric() || matches!(c, '@' | '-' | '_' | '#' | '+' | '%');
    goal.match_indices(name.as_ref()).any(|(at, found)| {
        let before = goal.get(..at).and_then(|s| s.chars().next_back());
        let mut after = goal.get(at + found.len()..).unwrap_or("").chars();
        // A full stop ends a sentence, or goes on with a longer name.
        let next = after.next();
        let longer = next.is_some_and(part) || (next == Some('.') && after.next().is_some_and(char::is_alphanumeric));
        !before.is_some_and(|c| part(c) || c == '.') && !longer
    })
}

#[cfg(test)]
mod tests {
    use super::{asks_for_removal, names};

    #[test]
    fn removal_is_asked_for_in_plain_words() {
        for goal in ["Clean the build folder", "Please DELETE old.txt", "replace the logo", "Publish the site"] {
            assert!(asks_for_removal(Some(goal)), "{goal}");
        }
        for goal in
            ["Summarise notes", "do not delete anything", "Refactor without removing files", "", "Keep, never drop"]
        {
            assert!(!asks_for_removal(Some(goal)), "{goal}");
        }
        assert!(!asks_for_removal(None));
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(names(Some("Forward it to Tom@acme.example."), "tom@acme.example"));
        assert!(!names(Some("Forward it to tom@acme.example.evil.example"), "tom@acme.example"));
        assert!(!names(Some("Forward it to phantom@acme.example"), "tom@acme.example"));
        assert!(!names(Some("Forward it to x.tom@acme.example"), "tom@acme.example"));
        assert!(!names(Some("anything"), ""));
    }
}

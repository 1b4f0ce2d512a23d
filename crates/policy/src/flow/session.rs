//! What outlives a plan: the labels that an agent's earlier work left on resources, and what the agent has seen.
//!
//! A write joins into the resource, a full overwrite replaces. What changes a resource behind the runtime's back takes nothing off its
//! label: it may be the very program that hides where the content came from. The daemon keeps this value in the ledger; a suite
//! fills it from a case.

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::digest::Digest;
use countersign_plan::id::ToolName;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Driver, Effect, Manifest, TargetKind};
use countersign_plan::value::Expr;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::declared::Declared;
use super::label::{Label, Level, Readers};
use crate::deployment::{Deployment, SecrecyLevel, Standing, is_path_kind};
use crate::effects::{self, By, Scene, Touch, Written};
use crate::facts::{AsWritten, PathKind};
use crate::hosts::Endpoint;
use crate::paths::{self, Seen, fold};

/// The most resources and words that a session tells apart; what exceeds them is told apart no more.
const MAX_KEPT: usize = 4096;
const MAX_WORDS: usize = 16_384;

/// The labels that what an agent did before has left. Empty for a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Everything that was read, joined; nothing yet where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<Label>,
    /// Labels of resources by kind and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    kept: BTreeMap<String, Label>,
    /// The label of every resource that found no room in `kept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<Label>,
    /// Names and addresses that open data showed to the planner, as the first bytes of their digests.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    told: BTreeSet<u64>,
    /// Values that the user's or the runtime's own fields showed, each the only one of its place.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    known: BTreeSet<String>,
    /// Where words to a helper agent that was started before may end up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    helpers: Vec<String>,
    /// The files that were written, as far as their text is known: a script that is run later is read first.
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    written: Written,
    /// Symbolic links that a listing showed: their own names, and where they lead.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    links: BTreeSet<(String, String)>,
}

/// What labels of finished work are found by.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The tools.
    pub manifest: &'a Manifest,
    /// Where it ran.
    pub deployment: &'a Deployment,
    /// How far whoever chose the arguments is trusted.
    pub planner: Level,
}

impl Session {
    /// The session of an agent that has done nothing yet.
    #[must_use]
    pub const fn empty() -> &'static Self {
        static EMPTY: Session = Session {
            read: None,
            kept: BTreeMap::new(),
            rest: None,
            told: BTreeSet::new(),
            known: BTreeSet::new(),
            helpers: Vec::new(),
            written: Written::EMPTY,
            links: BTreeSet::new(),
        };
        &EMPTY
    }

    /// That of one who has also seen what has this label.
    #[must_use]
    pub fn having_seen(self, seen: Label) -> Self {
        Self { read: Some(self.seen().join(seen)), ..self }
    }

    /// The label of everything that the planner has seen.
    #[must_use]
    pub fn seen(&self) -> Label {
        self.read.unwrap_or(Label::BOTTOM)
    }

    /// Takes in an action that was performed with these arguments, and what it answered.
    pub fn observe(&mut self, setting: &Setting<'_>, action: &ToolName, args: &Value, output: &Value) {
        let Some(tool) = setting.manifest.get(action) else {
            self.read = Some(Label::TOP);
            return;
        };
        let definition = tool.definition();
        let args_of = Expr::of_concrete(args);
        let scene = Scene { deployment: setting.deployment, facts: &AsWritten, written: &self.written };
        let derived = effects::derive(definition, &args_of, scene);
        self.written.write_down(definition, &args_of, &derived);
        if let (Driver::Builtin(name), [file]) = (&definition.driver, derived.touches.as_slice())
            && let ("read_file", Some(text)) = (name.as_str(), output.get("content").and_then(Value::as_str))
        {
            self.written.saw(&file.name, text);
        }
        let touches = derived.touches;
        let harmless = touches.iter().filter(|touch| touch.effect.is_harmless());
        let target = harmless.map(|touch| self.resource(setting.deployment, touch)).fold(Label::BOTTOM, Label::join);
        let chosen = Label { level: setting.planner.min(self.seen().level), readers: self.seen().readers };
        let written = chosen.join(target);
        for touch in touches.iter().filter(|touch| !touch.effect.is_harmless() && !touch.is_open()) {
            self.write(touch.kind, &touch.name, written, replaces(&definition.driver));
        }
        self.helpers.extend(helper_tools(setting.manifest, definition, args).unwrap_or_default());
        let target = if touches.is_empty() { Label::TOP } else { target };
        self.look(setting.deployment, tool.definition(), target, (&Pointer::ROOT, output));
    }

    /// Takes in that a resource holds what has this label.
    pub fn write(&mut self, kind: TargetKind, name: &str, label: Label, replaces: bool) {
        let key = key(kind, name);
        if let Some(kept) = self.kept.get_mut(&key) {
            *kept = if replaces { label } else { kept.join(label) };
        } else if self.kept.len() < MAX_KEPT {
            let before = if replaces { None } else { self.rest };
            let label = before.map_or(label, |before| label.join(before));
            self.kept.insert(key, label);
        } else {
            self.rest = Some(self.rest.map_or(label, |rest| rest.join(label)));
        }
    }

    /// The label kept for a resource of this name.
    #[must_use]
    pub fn kept(&self, kind: TargetKind, name: &str) -> Option<Label> {
        if self.kept.is_empty() {
            return self.rest;
        }
        let own = self.kept.get(&key(kind, name)).copied().or(self.rest);
        // What was put into a folder as a whole lies in everything below.
        let above = ancestors(name).filter(|_| is_path_kind(kind)).filter_map(|dir| self.kept.get(&key(kind, dir)));
        above.copied().chain(own).reduce(Label::join)
    }

    /// The label of what is read at a touch: what was kept, else what the deployment says.
    pub(crate) fn resource(&self, deployment: &Deployment, touch: &Touch) -> Label {
        let names = std::iter::once(&touch.name).chain(&touch.resolved);
        let said = classified(deployment, touch);
        let mut kept: Vec<Label> = names.clone().filter_map(|name| self.kept(touch.kind, name)).collect();
        if touch.recursive || touch.kind == TargetKind::Directory {
            for name in names {
                let below = self.kept.iter().filter(|(k, _)| {
                    k.strip_prefix("file:").is_some_and(|path| path != name && paths::is_within(path, name))
                });
                kept.extend(below.map(|(_, label)| *label));
            }
            kept.push(said);
        }
        // What lies in a folder that a program wrote in need not be what it wrote, and nothing is less secret than its place.
        let own = [Some(&touch.name), touch.resolved.as_ref()];
        let own = !self.kept.is_empty()
            && own.into_iter().flatten().any(|name| self.kept.contains_key(&key(touch.kind, name)));
        // What was written to a record is one of its fields: the others are what the house keeps.
        let level = touch.seen().map_or(SecrecyLevel::Confidential, |seen| deployment.secrecy(&seen));
        let internal = Label { readers: Readers::of(SecrecyLevel::Internal, deployment), ..said };
        let said = if own && touch.seen().is_none() { internal } else { said };
        kept.into_iter().fold(of_place(own, Some(level), said), Label::join)
    }

    /// Whether open data showed this name to the planner, as far as so many can be told apart. One with blanks in it, as account
    /// numbers are written, was shown where all of its parts were.
    pub(crate) fn was_told(&self, name: &str) -> bool {
        let told = |name: &str| self.told.contains(&word(name));
        let parts = || name.split_whitespace().filter(|part| part.len() >= 3);
        let in_parts = || parts().nth(1).is_some() && parts().all(told);
        // The same number without its blanks.
        let in_groups = || {
            let mut groups = name.as_bytes().chunks(4).filter(|group| group.len() >= 3);
            is_account(name) && groups.all(|group| std::str::from_utf8(group).is_ok_and(told))
        };
        !self.told.is_empty() && (self.told.len() >= MAX_WORDS || told(name) || in_parts() || in_groups())
    }

    /// Whether a field that nobody outside can write showed this value, the only one of its place.
    pub(crate) fn knows(&self, text: &str) -> bool {
        self.known.contains(fold(text).as_ref())
    }

    /// Where links of this name lead, as listings showed it.
    pub(crate) fn links(&self, name: &str) -> impl Iterator<Item = &str> {
        self.links.iter().filter(move |(own, _)| own == name).map(|(_, target)| target.as_str())
    }

    /// Whether the agent has seen or left anything yet.
    pub(crate) fn has_acted(&self) -> bool {
        self.read.is_some() || !self.told.is_empty()
    }

    /// What was written before.
    pub(crate) const fn written(&self) -> &Written {
        &self.written
    }

    /// The tools of helper agents that were started before.
    pub(crate) fn helpers(&self) -> &[String] {
        &self.helpers
    }

    /// What the planner has now seen of an output.
    fn look(
        &mut self,
        deployment: &Deployment,
        tool: &countersign_plan::tool::Definition,
        target: Label,
        (at, value): (&Pointer, &Value),
    ) {
        match value {
            Value::Array(items) if !items.is_empty() => {
                for (i, item) in items.iter().enumerate() {
                    self.look(deployment, tool, target, (&at.child(i.to_string()), item));
                }
            }
            Value::Object(members) if !members.is_empty() => {
                for (name, member) in members {
                    self.look(deployment, tool, target, (&at.child(name.clone()), member));
                }
            }
            leaf => {
                let label = Declared::of(&tool.output, at, deployment).filled(target, self.seen().readers);
                self.read = Some(self.seen().join(label));
                let text = match leaf {
                    Value::String(text) => text.clone(),
                    Value::Number(number) => number.to_string(),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return,
                };
                // `ls -l`: a link begins its line with an `l` (ls(1), "Which files are listed").
                let listed =
                    text.lines().filter(|line| line.starts_with('l')).filter_map(|line| line.split_once(" -> "));
                for (line, target) in listed.take(MAX_KEPT.saturating_sub(self.links.len())) {
                    let name = line.rsplit([' ', '/']).next().unwrap_or(line);
                    self.links.insert((name.to_owned(), target.trim_end().to_owned()));
                }
                let only = at.segments().iter().all(|segment| segment.parse::<usize>().is_err());
                if label.level < Level::User {
                    let room = MAX_WORDS.saturating_sub(self.told.len());
                    // An address in brackets ends no name.
                    let bracketed = text.split(['"', '\'', '<', '>', ' ', '\n']).filter(|word| word.contains("://["));
                    let urls = names(&text).chain(bracketed).filter(|name| name.contains("://"));
                    let hosts = urls.filter_map(|name| Endpoint::of_url(name).ok()).map(|at| at.host.to_string());
                    // A path by the name of its file as well.
                    let files = names(&text).filter_map(|name| name.rsplit_once('/')).map(|(_, file)| file);
                    let files = files.filter(|file| file.contains('.')).map(word);
                    let domains = names(&text).filter_map(|name| name.rsplit_once('@')).map(|(_, domain)| word(domain));
                    // "300-500" gives two numbers.
                    let number = |end: &&str| end.len() > 2 && end.bytes().all(|b| b.is_ascii_digit());
                    let ends = names(&text).filter_map(|name| name.split_once('-')).flat_map(|(a, b)| [a, b]);
                    let ends = ends.filter(number).map(word);
                    let said = names(&text).map(word).chain(hosts.map(|host| word(&host)));
                    let said = said.chain(files).chain(domains).chain(ends);
                    let said: Vec<u64> = said.take(room).collect();
                    self.told.extend(said);
                } else if only && self.known.len() < MAX_KEPT && text.len() <= 256 {
                    self.known.insert(fold(&text).into_owned());
                }
            }
        }
    }
}

/// The folders that a path lies in, from near to far.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(dir, _)| dir))
        .skip(1)
        .filter(|d| !d.is_empty())
}

/// The strictest class of what may lie in a folder, as far as patterns say; what is restricted is masked there.
fn inside(deployment: &Deployment, dir: &str, everything: bool) -> SecrecyLevel {
    let child = format!("{dir}/_");
    let direct = deployment.secrecy(&Seen::new(dir, None)).max(deployment.secrecy(&Seen::new(&child, None)));
    let said = deployment.document().secrecy.as_ref().map(|lists| lists.confidential.as_slice());
    let below = |pattern: &String| {
        let fixed = pattern.split(['*', '?', '[', '{']).next().unwrap_or("");
        let root = deployment.place().normalise(fixed);
        fixed.is_empty() || root.is_ok_and(|root| paths::is_within(&root, dir) || paths::is_within(dir, &root))
    };
    let holds = everything && said.into_iter().flatten().any(below);
    if holds { direct.max(SecrecyLevel::Confidential) } else { direct }
}

/// What the deployment says about what is read at a touch. Whoever wrote it is not known.
fn classified(deployment: &Deployment, touch: &Touch) -> Label {
    let known = touch.kind == TargetKind::Directory || touch.path_kind == PathKind::Directory;
    let folder = known || touch.recursive || touch.by == By::Move;
    let level = match (touch.seen(), touch.standing) {
        _ if touch.is_open() => SecrecyLevel::Confidential,
        (Some(seen), _) if folder => {
            deployment.secrecy(&seen).max(inside(deployment, &touch.name, known && touch.recursive))
        }
        (Some(seen), _) => deployment.secrecy(&seen),
        // What a server of somebody else answers is no secret of the house; what was said with somebody is one.
        (None, Some(Standing::Known | Standing::Other)) if touch.endpoint.is_some() => SecrecyLevel::Public,
        (None, _) => SecrecyLevel::Internal,
    };
    Label { level: Level::Open, readers: Readers::of(level, deployment) }
}

/// The label of a path that a command's words name: what was kept, else its classification.
pub(crate) fn of_path(session: &Session, deployment: &Deployment, path: &str) -> Label {
    let level = deployment.secrecy(&Seen::new(path, None));
    let said = Label { level: Level::Open, readers: Readers::of(level, deployment) };
    let own = !session.kept.is_empty() && session.kept.contains_key(&key(TargetKind::File, path));
    let place = of_place(own, Some(level), said);
    session.kept(TargetKind::File, path).map_or(place, |kept| kept.join(place))
}

/// What the deployment's word on a place still says beside the labels that were kept: all of it where nobody wrote this very thing,
/// else who may read what is secret there.
fn of_place(own: bool, level: Option<SecrecyLevel>, said: Label) -> Label {
    match (own, level > Some(SecrecyLevel::Internal)) {
        (false, _) => said,
        (true, true) => Label { readers: said.readers, ..Label::BOTTOM },
        (true, false) => Label::BOTTOM,
    }
}

/// The name under which labels of a resource are kept.
pub(crate) fn key(kind: TargetKind, name: &str) -> String {
    if is_path_kind(kind) { format!("file:{name}") } else { format!("{kind}:{}", fold(name)) }
}

/// Whether the tool puts its content in the place of what was there.
pub(crate) fn replaces(driver: &Driver) -> bool {
    matches!(driver, Driver::Builtin(name) if matches!(name.as_str(), "write_file" | "memory_write" | "copy_file"))
}

/// The tools that a started helper agent may use, where this action starts one: an execution with an argument that decides and
/// is a list of names of tools.
pub(crate) fn helper_tools(
    manifest: &Manifest,
    tool: &countersign_plan::tool::Definition,
    args: &Value,
) -> Option<Vec<String>> {
    let starts = tool.effect == Effect::Execute && tool.target.kind == TargetKind::Process;
    let mut lists = tool.controls.iter().filter(|_| starts).filter_map(|at| at.get(args)?.as_array());
    lists.find_map(|list| {
        let names: Vec<String> = list.iter().filter_map(|n| n.as_str().map(str::to_owned)).collect();
        let known = |name: &String| name.parse().is_ok_and(|name: ToolName| manifest.get(&name).is_some());
        (names.len() == list.len() && names.iter().all(known)).then_some(names)
    })
}

/// Names, paths and addresses in a text, without the signs around them.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_alphanumeric() || "@._/~:#-+?=&%".contains(c);
    let pieces = text.split(move |c: char| !part(c)).map(|piece| piece.trim_matches(['.', ':', ',', '?']));
    pieces.filter(|piece| (3..=512).contains(&piece.len()))
}

/// Whether a text has the form of an international account number (ISO 13616).
fn is_account(text: &str) -> bool {
    let (country, rest) = text.split_at_checked(2).unwrap_or_default();
    (15..=34).contains(&text.len())
        && country.bytes().all(|b| b.is_ascii_alphabetic())
        && rest.bytes().all(|b| b.is_ascii_alphanumeric())
        && rest.bytes().take(2).all(|b| b.is_ascii_digit())
}

fn word(name: &str) -> u64 {
    let digest = Digest::of(fold(name).as_bytes());
    digest.as_bytes().iter().take(6).fold(0, |word, byte| (word << 8) | u64::from(*byte))
}

//! The labels of a session as plain data: taken apart into those of resources and what somebody saw, and what one action added.

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::tool::TargetKind;
use countersign_policy::deployment::{Deployment, SecrecyLevel};
use countersign_policy::flow::{Label, Level, Readers, Session};
use countersign_policy::paths::Seen;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most resources that are told apart, as many as in a session.
const MOST: usize = 4096;

/// The members of a [`Session`], in the same form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Labels {
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<Label>,
    kept: BTreeMap<String, Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<Label>,
    told: BTreeSet<u64>,
    known: BTreeSet<String>,
    helpers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<Written>,
}

/// The files that were written, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    texts: Map<String, Value>,
    opaque: Map<String, Value>,
    overfull: bool,
}

/// What one action added. Its JSON is part of the record of an outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Left {
    /// Everything seen, joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<Label>,
    /// Resources with another label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) kept: BTreeMap<String, Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<Label>,
    /// Twelve hexadecimal digits for each word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) told: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) known: BTreeSet<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) helpers: Vec<String>,
    #[serde(skip_serializing_if = "Change::is_empty")]
    pub(super) texts: Change,
    #[serde(skip_serializing_if = "Change::is_empty")]
    pub(super) opaque: Change,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) overfull: bool,
}

/// Members that were set, and those that are gone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Change {
    #[serde(skip_serializing_if = "Map::is_empty")]
    set: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gone: Vec<String>,
}

impl Change {
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.gone.is_empty()
    }

    fn between(before: &Map<String, Value>, after: &Map<String, Value>) -> Self {
        let set = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        Self { set: set.map(|(name, value)| (name.clone(), value.clone())).collect(), gone: gone.cloned().collect() }
    }

    fn onto(&self, map: &mut Map<String, Value>) {
        for name in &self.gone {
            map.remove(name);
        }
        map.extend(self.set.clone());
    }
}

impl Labels {
    /// What is known where nothing is.
    pub(super) fn unknown() -> Self {
        Self { read: Some(Label::TOP), rest: Some(Label::TOP), ..Self::default() }
    }

    /// The members of a session; none if it has others.
    pub(super) fn of(session: &Session) -> Option<Self> {
        serde_json::to_value(session).and_then(serde_json::from_value).ok()
    }

    /// The session with these members.
    pub(super) fn session(&self) -> Session {
        let of = |labels: &Self| serde_json::to_value(labels).and_then(serde_json::from_value::<Session>);
        of(self).or_else(|_| of(&Self::unknown())).unwrap_or_default()
    }

    /// The label of a resource, by its key.
    pub(super) fn kept(&self, key: &str) -> Option<Label> {
        self.kept.get(key).copied()
    }

    /// The keys of the resources that have a label of their own.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.kept.keys()
    }

    /// The label of resources that are not told apart.
    pub(super) const fn rest(&self) -> Option<Label> {
        self.rest
    }

    /// Whether who has seen this has seen everything that `other` tells of, which is something.
    pub(super) fn knows(&self, other: &Self) -> bool {
        let read = other.read.is_none_or(|read| self.read.is_some_and(|own| own.join(read) == own));
        read && (other.read.is_some() || !other.told.is_empty()) && other.told.is_subset(&self.told)
    }

    /// What was seen, with the resources of the store.
    pub(super) fn over(self, store: &Self) -> Self {
        Self { kept: store.kept.clone(), rest: store.rest, ..self }
    }

    /// What was seen alone.
    pub(super) fn seen(self) -> Self {
        Self { kept: BTreeMap::new(), rest: None, ..self }
    }

    /// Somebody has seen this too.
    pub(super) fn see(&mut self, left: &Left) {
        self.read = match (self.read, left.read) {
            (Some(before), Some(now)) => Some(before.join(now)),
            (before, now) => before.or(now),
        };
        let words = left.told.as_bytes().chunks(12).filter_map(|word| std::str::from_utf8(word).ok());
        self.told.extend(words.filter_map(|word| u64::from_str_radix(word, 16).ok()));
        self.known.extend(left.known.iter().cloned());
        self.helpers.extend(left.helpers.iter().cloned());
        if !left.texts.is_empty() || !left.opaque.is_empty() || left.overfull {
            let written = self.written.get_or_insert_default();
            left.texts.onto(&mut written.texts);
            left.opaque.onto(&mut written.opaque);
            written.overfull |= left.overfull;
        }
    }

    /// Resources have these labels now.
    pub(super) fn keep(&mut self, left: &Left) {
        for (key, label) in &left.kept {
            if self.kept.len() < MOST || self.kept.contains_key(key) {
                self.kept.insert(key.clone(), *label);
            } else {
                self.rest = Some(self.rest.map_or(*label, |rest| rest.join(*label)));
            }
        }
        self.rest = match (self.rest, left.rest) {
            (Some(before), Some(now)) => Some(before.join(now)),
            (before, now) => before.or(now),
        };
    }
}

impl Left {
    /// What `after` has beyond `before`.
    pub(super) fn between(before: &Labels, after: &Labels) -> Self {
        let none = Written::default();
        let (old, new) = (before.written.as_ref().unwrap_or(&none), after.written.as_ref().unwrap_or(&none));
        let kept = after.kept.iter().filter(|(key, label)| before.kept(key) != Some(**label));
        let helpers = after.helpers.get(before.helpers.len()..).unwrap_or_default();
        Self {
            read: after.read,
            kept: kept.map(|(key, label)| (key.clone(), *label)).collect(),
            rest: after.rest.filter(|_| before.rest != after.rest),
            told: after.told.difference(&before.told).map(|word| format!("{word:012x}")).collect(),
            known: after.known.difference(&before.known).cloned().collect(),
            helpers: helpers.to_vec(),
            texts: Change::between(&old.texts, &new.texts),
            opaque: Change::between(&old.opaque, &new.opaque),
            overfull: new.overfull && !old.overfull,
        }
    }
}

/// A resource's key taken apart: its kind and its name.
pub(super) fn split(key: &str) -> (Option<TargetKind>, Option<&str>) {
    match key.split_once(':') {
        Some((kind, name)) => (serde_json::from_value(Value::String(kind.to_owned())).ok(), Some(name)),
        None => (None, None),
    }
}

/// What people said of such a resource.
pub(super) fn class(deployment: &Deployment, kind: Option<TargetKind>, name: &str, resolved: Option<&str>) -> Label {
    let level = match kind {
        Some(TargetKind::File | TargetKind::Directory) => deployment.secrecy(&Seen::new(name, resolved)),
        Some(TargetKind::Host | TargetKind::Url) => SecrecyLevel::Public,
        _ => SecrecyLevel::Internal,
    };
    Label { level: Level::System, readers: Readers::of(level, deployment) }
}

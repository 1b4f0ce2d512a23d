//! The propagation of labels: one pass over a plan in its order, every rule monotone (FLOW.md, rules 1 to 6).
//!
//! Each value gets a node whose edges point to what it is made of; references point backwards, so a node's label is finished when
//! it is made. The plan format has no branches, loops or extraction by a model: there is no label of a program counter to join,
//! and a rollback runs because the runtime saw a failure.

use std::collections::BTreeMap;

use countersign_plan::id::StepId;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Capacity, Definition, Effect, Tool};
use countersign_plan::value::Expr;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::declared::Declared;
use super::ground::{Ground, Grounds, Said};
use super::label::{Label, Level, Readers};
use super::session::{self, Session};
use crate::deployment::Deployment;
use crate::effects::{By, Touch};
use crate::paths::Seen;

/// A value of the plan, an output, or a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// `step/pointer` for arguments and outputs, `kind:name` for resources.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its own label, before what flows in.
    pub base: Label,
    /// Its label.
    pub label: Label,
    /// How much it can express, where that is declared; no part of the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// What flows in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Edge>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// The planner's words.
    Literal,
    /// The planner's words, which are the user's.
    Grounded(Ground),
    /// The planner's words, which a field of the house's own showed before.
    Known,
    /// Given by the user with the goal.
    Input,
    /// The name of a secret.
    Secret,
    /// An argument that an output fills.
    Reference,
    /// An argument that several values fill.
    Join,
    /// A place in a list, picked by the planner.
    Pick,
    /// A part of a step's output.
    Output,
    /// A file, record or host that is read, or as a step leaves it.
    Resource,
}

/// What flows from an earlier node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The earlier node.
    pub node: usize,
    /// Which half of its label.
    pub carries: Carries,
}

/// Which half of a label flows over an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carries {
    /// Writers and readers.
    Both,
    /// Who wrote it.
    Trust,
    /// Who may read it.
    Secrecy,
}

impl Carries {
    /// What of `label` flows.
    #[must_use]
    pub const fn of(self, label: Label) -> Label {
        match self {
            Self::Both => label,
            Self::Trust => Label { level: label.level, readers: Readers::ANYONE },
            Self::Secrecy => Label { level: Level::System, readers: label.readers },
        }
    }
}

/// One step as flow looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) id: &'a StepId,
    /// The arguments as the plan writes them.
    pub(crate) args: &'a Expr,
    pub(crate) tool: Option<&'a Tool>,
    pub(crate) touches: &'a [Touch],
}

/// What labels start from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ambient<'a> {
    pub(crate) deployment: &'a Deployment,
    pub(crate) session: &'a Session,
    /// How far the planner's own words are trusted.
    pub(crate) planner: Level,
}

impl Ambient<'_> {
    /// The label of the planner's own words.
    pub(crate) fn words(&self) -> Label {
        let readers = if self.planner >= Level::User { Readers::ANYONE } else { self.session.seen().readers };
        Label { level: self.planner, readers }
    }

    /// The label of a place in a list that the planner picks: whatever it has read may have made it pick this one.
    pub(crate) fn pick(&self) -> Label {
        let level = if self.planner >= Level::User { Level::System } else { self.session.seen().level };
        Label { level, readers: Readers::ANYONE }
    }
}

/// The graph of a whole plan; the lists are those of each step.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaves: Vec<Vec<(Pointer, usize)>>,
    pub(crate) reads: Vec<Vec<usize>>,
    pub(crate) writes: Vec<Vec<usize>>,
}

/// The graph of a plan under way.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    ambient: Ambient<'a>,
    grounds: &'a Grounds<'a>,
    pub(crate) nodes: Vec<Node>,
    /// The leaves of each step's arguments, in the order of the steps.
    pub(crate) leaves: Vec<Vec<(Pointer, usize)>>,
    steps: BTreeMap<&'a StepId, (usize, Look<'a>)>,
    outputs: BTreeMap<(&'a StepId, Pointer), usize>,
    resources: BTreeMap<String, usize>,
    /// The resources that each step reads, and those that it leaves.
    reads: Vec<Vec<usize>>,
    writes: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(ambient: Ambient<'a>, grounds: &'a Grounds<'a>) -> Self {
        Self {
            ambient,
            grounds,
            nodes: Vec::new(),
            leaves: Vec::new(),
            steps: BTreeMap::new(),
            outputs: BTreeMap::new(),
            resources: BTreeMap::new(),
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// Adds the next step: its arguments, what it reads, what it leaves.
    pub(crate) fn step(&mut self, look: Look<'a>) {
        let leaves = self.arguments(look);
        let mut reads = Vec::new();
        for touch in look.touches.iter().filter(|t| reads_content(t) && t.by != By::View && !t.is_open()) {
            reads.extend(self.resource(touch));
        }
        let runs = is_run(look);
        if runs {
            for path in paths_in(look.args, self.ambient.deployment) {
                let key = session::key(countersign_plan::tool::TargetKind::File, &path);
                let base = session::of_path(self.ambient.session, self.ambient.deployment, &path);
                let internal = Readers::of(crate::deployment::SecrecyLevel::Internal, self.ambient.deployment);
                // A word that may be a file counts where that would make a difference.
                if self.resources.contains_key(&key) || !internal.within(base.readers) {
                    reads.push(self.shared(key, base));
                }
            }
        }
        reads.sort_unstable();
        reads.dedup();
        let mut writes = Vec::new();
        for touch in look.touches.iter().filter(|t| !t.effect.is_harmless() && t.by != By::View && !t.is_open()) {
            writes.extend(self.write(look, touch, &leaves, &reads));
        }
        self.writes.push(writes);
        self.steps.insert(look.id, (self.leaves.len(), look));
        self.leaves.push(leaves);
        self.reads.push(reads);
    }

    /// The leaves of a rollback's arguments; nothing later refers to them.
    pub(crate) fn arguments(&mut self, look: Look<'a>) -> Vec<(Pointer, usize)> {
        let mut leaves = Vec::new();
        let literals = fill(look.args);
        self.walk(look, look.args, &Pointer::ROOT, &literals, &mut leaves);
        leaves
    }

    /// The nodes, and which of them each step's are.
    pub(crate) fn finish(self) -> Finished {
        let Self { nodes, leaves, reads, writes, .. } = self;
        Finished { nodes, leaves, reads, writes }
    }

    fn walk(
        &mut self,
        look: Look<'a>,
        expr: &'a Expr,
        at: &Pointer,
        literals: &Value,
        leaves: &mut Vec<(Pointer, usize)>,
    ) {
        let name = || format!("{}{at}", look.id);
        let node = match expr {
            Expr::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.walk(look, item, &at.child(i.to_string()), literals, leaves);
                }
                return;
            }
            Expr::Object(members) => {
                for (key, member) in members {
                    self.walk(look, member, &at.child(key.clone()), literals, leaves);
                }
                return;
            }
            Expr::Literal(Value::Array(_) | Value::Object(_)) => {
                let Expr::Literal(value) = expr else { return };
                self.literals(look, value, at, literals, leaves);
                return;
            }
            Expr::Join(parts) => {
                let mut inner = Vec::new();
                for part in parts {
                    self.walk(look, part, at, literals, &mut inner);
                }
                let from = inner.into_iter().map(|(_, node)| Edge { node, carries: Carries::Both }).collect();
                self.push(name(), Kind::Join, Label::BOTTOM, None, from)
            }
            Expr::From { step, at: field } => {
                let (output, capacity) = self.output(step, field);
                let mut from = vec![Edge { node: output, carries: Carries::Both }];
                if field.segments().iter().any(|segment| segment.parse::<usize>().is_ok()) {
                    let pick = self.ambient.pick();
                    let node = self.push(format!("{step}{field}"), Kind::Pick, pick, None, Vec::new());
                    from.push(Edge { node, carries: Carries::Trust });
                }
                self.push(name(), Kind::Reference, Label::BOTTOM, capacity, from)
            }
            Expr::Input(_) => {
                let internal = Readers::of(crate::deployment::SecrecyLevel::Internal, self.ambient.deployment);
                let base = Label { level: Level::User, readers: internal };
                self.push(name(), Kind::Input, base, None, Vec::new())
            }
            // Where a secret may stand is the manifest's and the deployment's to say.
            Expr::Secret(_) => self.push(name(), Kind::Secret, Label::BOTTOM, None, Vec::new()),
            Expr::Null | Expr::Bool(_) | Expr::Number(_) | Expr::Text(_) | Expr::Literal(_) => {
                let value = expr.literal().unwrap_or_default();
                self.literal(look, &value, at, literals)
            }
        };
        leaves.push((at.clone(), node));
    }

    fn literals(
        &mut self,
        look: Look<'a>,
        value: &Value,
        at: &Pointer,
        literals: &Value,
        leaves: &mut Vec<(Pointer, usize)>,
    ) {
        match value {
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.literals(look, item, &at.child(i.to_string()), literals, leaves);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.literals(look, member, &at.child(key.clone()), literals, leaves);
                }
            }
            scalar => {
                let node = self.literal(look, scalar, at, literals);
                leaves.push((at.clone(), node));
            }
        }
    }

    fn literal(&mut self, look: Look<'a>, value: &Value, at: &Pointer, literals: &Value) -> usize {
        let schema = look.tool.map_or(&Value::Null, |tool| schema_at(&tool.definition().args, at));
        let words = self.ambient.words();
        let carried = look.tool.is_some_and(|tool| is_only_carried(tool.definition(), at));
        let tool = look.tool.map_or("", |tool| tool.definition().name.as_str());
        let (kind, base) = match self.grounds.of(Said { at, value, schema, args: literals, tool, carried }) {
            Some(ground @ Ground::Goal { .. }) => {
                (Kind::Grounded(ground), Label { level: Level::User, readers: Readers::ANYONE })
            }
            Some(ground @ Ground::Input { .. }) => {
                let internal = Readers::of(crate::deployment::SecrecyLevel::Internal, self.ambient.deployment);
                (Kind::Grounded(ground), Label { level: Level::User, readers: internal })
            }
            None if value.as_str().is_some_and(|text| self.ambient.session.knows(text)) => {
                (Kind::Known, Label { level: Level::User, readers: words.readers })
            }
            None => (Kind::Literal, words),
        };
        self.push(format!("{}{at}", look.id), kind, base, None, Vec::new())
    }

    /// The node of a part of a step's output.
    fn output(&mut self, step: &StepId, at: &Pointer) -> (usize, Option<Capacity>) {
        let Some((id, (i, look))) = self.steps.get_key_value(step).map(|(id, seen)| (*id, *seen)) else {
            return (self.push(format!("{step}{at}"), Kind::Output, Label::TOP, None, Vec::new()), None);
        };
        if let Some(node) = self.outputs.get(&(id, at.clone())) {
            return (*node, self.nodes.get(*node).and_then(|node| node.capacity));
        }
        let mut from = Vec::new();
        let (base, capacity) = match look.tool {
            None => (Label::TOP, None),
            Some(tool) => {
                let declared = Declared::of(&tool.definition().output, at, self.ambient.deployment);
                let carries = match (declared.trust_of_target, declared.secrecy_of_target || is_run(look)) {
                    (true, true) => Some(Carries::Both),
                    (true, false) => Some(Carries::Trust),
                    (false, true) => Some(Carries::Secrecy),
                    (false, false) => None,
                };
                let reads = self.reads.get(i).cloned().unwrap_or_default();
                if reads.is_empty() && (declared.trust_of_target || declared.secrecy_of_target) {
                    // What is read has no name yet: it is whatever a reference may lead to.
                    let unknown = Label {
                        level: Level::Open,
                        readers: Readers::of(crate::deployment::SecrecyLevel::Confidential, self.ambient.deployment),
                    };
                    let node = self.push(format!("{step}: target"), Kind::Resource, unknown, None, Vec::new());
                    from.extend(carries.map(|carries| Edge { node, carries }));
                }
                from.extend(
                    carries.into_iter().flat_map(|carries| reads.iter().map(move |n| Edge { node: *n, carries })),
                );
                if declared.secrecy_of_args || is_run(look) {
                    let leaves = self.leaves.get(i).into_iter().flatten();
                    from.extend(leaves.map(|(_, node)| Edge { node: *node, carries: Carries::Secrecy }));
                }
                (declared.base, declared.capacity)
            }
        };
        let node = self.push(format!("{step}{at}"), Kind::Output, base, capacity, from);
        self.outputs.insert((id, at.clone()), node);
        (node, capacity)
    }

    /// The nodes of what is read at a touch: as an earlier step left it, and what the session or the deployment says.
    fn resource(&mut self, touch: &Touch) -> Vec<usize> {
        let key = session::key(touch.kind, touch.resolved.as_ref().unwrap_or(&touch.name));
        let mut nodes = Vec::new();
        if touch.recursive || touch.kind == countersign_plan::tool::TargetKind::Directory {
            let prefix = format!("{}/", key.trim_end_matches('/'));
            nodes.extend(
                self.resources.range(prefix.clone()..).take_while(|(k, _)| k.starts_with(&prefix)).map(|(_, n)| *n),
            );
        }
        // What an earlier step put into a folder as a whole lies in everything below.
        for dir in session::ancestors(&key) {
            let written =
                self.resources.get(dir).filter(|n| self.nodes.get(**n).is_some_and(|node| !node.from.is_empty()));
            nodes.extend(written);
        }
        let base = self.ambient.session.resource(self.ambient.deployment, touch);
        nodes.push(self.shared(key, base));
        nodes
    }

    fn shared(&mut self, key: String, base: Label) -> usize {
        if let Some(node) = self.resources.get(&key) {
            return *node;
        }
        let node = self.push(key.clone(), Kind::Resource, base, None, Vec::new());
        self.resources.insert(key, node);
        node
    }

    /// The resource as the step leaves it.
    fn write(&mut self, look: Look<'a>, touch: &Touch, leaves: &[(Pointer, usize)], reads: &[usize]) -> Option<usize> {
        let local = touch.endpoint.is_none() && touch.effect != Effect::Delete && touch.effect != Effect::Execute;
        let tool = look.tool.filter(|_| local)?;
        let key = session::key(touch.kind, touch.resolved.as_ref().unwrap_or(&touch.name));
        let both = |node: &usize| Edge { node: *node, carries: Carries::Both };
        let mut from: Vec<Edge> = leaves.iter().map(|(_, node)| both(node)).collect();
        from.extend(reads.iter().map(both));
        if !session::replaces(&tool.definition().driver) {
            from.extend(self.resources.get(&key).map(both));
        }
        let node = self.push(key.clone(), Kind::Resource, Label::BOTTOM, None, from);
        self.resources.insert(key, node);
        Some(node)
    }

    fn push(&mut self, name: String, kind: Kind, base: Label, capacity: Option<Capacity>, from: Vec<Edge>) -> usize {
        let flows = from.iter().filter_map(|e| self.nodes.get(e.node).map(|node| e.carries.of(node.label)));
        let label = flows.fold(base, Label::join);
        self.nodes.push(Node { name, kind, base, label, capacity, from });
        self.nodes.len() - 1
    }
}

/// Whether a touch reads content. What is moved or copied is read as well.
fn reads_content(touch: &Touch) -> bool {
    touch.effect.is_harmless() || touch.by == By::Move
}

/// Whether a program runs: what it prints and leaves may hold everything that it was given.
pub(crate) fn is_run(look: Look<'_>) -> bool {
    look.tool.is_some_and(|tool| tool.definition().effect == Effect::Execute)
}

/// Paths that the words of a command name, absolute; what carries no class of its own is left out.
fn paths_in(args: &Expr, deployment: &Deployment) -> Vec<String> {
    let (args, mut texts) = (fill(args), Vec::new());
    strings(&args, &mut texts);
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '=' | ';' | '|' | '&' | '<' | '>' | '(' | ')');
    let words = texts.iter().flat_map(|t| t.split(ends));
    let named = |word: &str| word.bytes().any(|b| matches!(b, b'/' | b'.'));
    let words = words.filter(|word| named(word) && word.len() <= 4096 && !word.contains("://"));
    // `.key` of a filter is a member, where files are only called so by their ending.
    let member = |word: &&str| {
        let bare = word.strip_prefix('.').is_some_and(|name| name.chars().all(char::is_alphanumeric));
        let file = deployment.place().normalise(&format!("x{word}"));
        bare && file.is_ok_and(|path| deployment.is_restricted(&Seen::new(&path, None)))
    };
    words.filter(|word| !member(word)).filter_map(|word| deployment.place().normalise(word).ok()).collect()
}

/// The texts in a value.
pub(crate) fn strings<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(members) => members.values().for_each(|member| strings(member, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The value of an expression, null where it is no literal.
pub(crate) fn fill(expr: &Expr) -> Value {
    match expr {
        Expr::Array(items) => Value::Array(items.iter().map(fill).collect()),
        Expr::Object(members) => Value::Object(members.iter().map(|(k, v)| (k.clone(), fill(v))).collect()),
        other => other.literal().unwrap_or_default(),
    }
}

/// The schema of the argument at `at`; null where none is found.
pub(crate) fn schema_at<'s>(schema: &'s Value, at: &Pointer) -> &'s Value {
    at.segments().iter().fold(schema, |schema, segment| {
        let member = schema.get("properties").and_then(|p| p.get(segment));
        member.or_else(|| schema.get("items")).unwrap_or(&Value::Null)
    })
}

/// Whether an argument is passed on and decides nothing.
pub(crate) fn is_only_carried(tool: &Definition, at: &Pointer) -> bool {
    let under = |list: &[Pointer]| list.iter().any(|p| p.covers(at) || at.covers(p));
    tool.carries.iter().any(|p| p.covers(at)) && !under(&tool.controls) && !under(&tool.selects)
}

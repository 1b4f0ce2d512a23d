//! The checker of label proofs: small, apart from the inference, linear in nodes and edges.
//!
//! It does not work out labels. It walks the plan by itself and asks of the proof that every value, reference, output and sink is
//! there, starts from no better label than the plan's surroundings give it, and joins everything that flows in. Whatever it does
//! not understand is an error, and an error blocks.

use std::collections::BTreeMap;

use countersign_plan::access::Access;
use countersign_plan::draft::{Draft, Rollback, Step};
use countersign_plan::pointer::Pointer;
use countersign_plan::resolve::Inputs;
use countersign_plan::tool::{Definition, Driver, Effect, Manifest, Secrecy, TargetKind, Trust};
use countersign_plan::value::Expr;
use serde_json::Value;

use super::crossing::Crossings;
use super::graph::{Carries, Edge, Kind, Node, is_only_carried};
use super::ground::{self, Ground};
use super::label::{Label, Level, Readers};
use super::moments::{in_words, is_moment};
use super::proof::{self, Proof, SCHEMA};
use super::session::Session;
use super::sink::{self, Means, Sink, Verdict};
use super::told::told;
use crate::deployment::{Deployment, SecrecyLevel, Standing, is_path_kind};
use crate::paths::{Seen, fold};
use crate::review::StepReview;

/// What a proof is about.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The plan.
    pub draft: &'a Draft,
    /// The tools.
    pub manifest: &'a Manifest,
    /// The deployment.
    pub deployment: &'a Deployment,
    /// What the agent did before.
    pub session: &'a Session,
    /// What the user gave with the goal.
    pub inputs: &'a Inputs,
    /// The goal, where one is pinned.
    pub goal: Option<&'a str>,
    /// How far the planner's own words are trusted.
    pub planner: Level,
    /// Where people let a value pass.
    pub crossings: &'a Crossings,
    /// What each step touches.
    pub steps: &'a [StepReview],
}

/// A proof that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the label proof does not hold at {place}: {what}")]
pub struct ProofError {
    /// Where.
    pub place: String,
    /// What is wrong.
    pub what: &'static str,
}

fn wrong<T>(place: impl ToString, what: &'static str) -> Result<T, ProofError> {
    Err(ProofError { place: place.to_string(), what })
}

/// Whether the proof is one of these terms.
///
/// # Errors
/// The first thing that is missing, better than it may be, or not understood.
pub fn check(terms: &Terms<'_>, proof: &Proof) -> Result<(), ProofError> {
    let digests = [
        (proof.draft, terms.draft.digest()),
        (proof.manifest, terms.manifest.digest()),
        (proof.deployment, terms.deployment.digest()),
        (proof.session, proof::of_session(terms.session)),
        (proof.goal, proof::of_goal(terms.goal)),
    ];
    let steps = terms.draft.steps();
    let other = proof.planner != terms.planner || proof.crossings != *terms.crossings;
    if proof.schema != SCHEMA || digests.iter().any(|(a, b)| a != b) || other {
        return wrong("/", "it is about something else");
    }
    if proof.steps.len() != steps.len() || terms.steps.len() != steps.len() {
        return wrong("/steps", "it has other steps than the plan");
    }
    let mut checker = Checker { terms, proof, used: vec![false; proof.nodes.len()], latest: BTreeMap::new() };
    checker.joins()?;
    let mut leaves = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        leaves.push(checker.step(i, step)?);
    }
    let mut undone = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        undone.push(match &step.rollback {
            Some(Rollback::Action { args, .. }) => checker.arguments(step, args, &checker.parts(i)?.undo)?,
            Some(Rollback::Snapshot | Rollback::None) | None => Vec::new(),
        });
    }
    for (i, step) in steps.iter().enumerate() {
        let (undo, rest): (Vec<&Sink>, Vec<&Sink>) =
            proof.sinks.iter().filter(|sink| sink.step == step.id).partition(|sink| sink.rollback);
        let accesses = terms.steps.get(i).map_or(&[][..], |review| &review.accesses);
        let tool = terms.manifest.get(&step.action);
        checker.sink(step, tool, (&leaves, i), &rest, accesses)?;
        if let Some(Rollback::Action { action, .. }) = &step.rollback {
            checker.sink(step, terms.manifest.get(action), (&undone, i), &undo, &[])?;
        }
    }
    match checker.used.iter().position(|used| !used) {
        Some(node) => wrong(format!("/nodes/{node}"), "nothing in the plan is this value"),
        None => Ok(()),
    }
}

type Leaves = Vec<(Pointer, usize)>;

struct Checker<'a> {
    terms: &'a Terms<'a>,
    proof: &'a Proof,
    used: Vec<bool>,
    /// The last node of each resource.
    latest: BTreeMap<&'a str, usize>,
}

impl<'a> Checker<'a> {
    fn node(&self, index: usize) -> Result<&'a Node, ProofError> {
        self.proof.nodes.get(index).map_or_else(|| wrong(format!("/nodes/{index}"), "there is no such value"), Ok)
    }

    fn parts(&self, i: usize) -> Result<&'a super::proof::Parts, ProofError> {
        self.proof.steps.get(i).map_or_else(|| wrong("/steps", "a step is missing"), Ok)
    }

    fn take(&mut self, index: usize) {
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
    }

    /// Every label is the join of its own and of what flows in, from earlier nodes only.
    fn joins(&self) -> Result<(), ProofError> {
        for (i, node) in self.proof.nodes.iter().enumerate() {
            let mut label = node.base;
            for edge in &node.from {
                let Some(from) = self.proof.nodes.get(edge.node).filter(|_| edge.node < i) else {
                    return wrong(format!("/nodes/{i}"), "it is made of what is not there yet");
                };
                label = label.join(edge.carries.of(from.label));
            }
            if label != node.label {
                return wrong(format!("/nodes/{i}"), "its label is not the join of what flows in");
            }
        }
        Ok(())
    }

    fn step(&mut self, i: usize, step: &'a Step) -> Result<Leaves, ProofError> {
        let parts = self.parts(i)?;
        if parts.id != step.id {
            return wrong(&step.id, "the proof has another step here");
        }
        let leaves = self.arguments(step, &step.args, &parts.leaves)?;
        let accesses = self.terms.steps.get(i).map_or(&[][..], |review| &review.accesses);
        let runs = self.terms.manifest.get(&step.action).is_some_and(|t| t.definition().effect == Effect::Execute);
        for index in &parts.reads {
            self.read(*index)?;
        }
        for access in accesses.iter().filter(|a| a.effect.is_harmless() && !a.resource.name.is_empty()) {
            let key = key(access);
            let read = parts.reads.iter().any(|r| self.proof.nodes.get(*r).is_some_and(|node| node.name == key));
            let above = super::session::ancestors(&key)
                .filter_map(|dir| self.latest.get(dir))
                .filter(|node| self.proof.nodes.get(**node).is_some_and(|node| !node.from.is_empty()));
            if above.into_iter().any(|node| !parts.reads.contains(node)) {
                return wrong(&key, "the folder that it lies in was written, and the proof does not say so");
            }
            let anywhere = runs && access.recursive;
            if !(read || anywhere) {
                return wrong(&key, "the step reads it, and the proof does not say so");
            }
        }
        for index in &parts.writes {
            self.write(step, *index, &leaves, &parts.reads)?;
        }
        Ok(leaves)
    }

    /// A resource that is read: as it was left, or with no better label than session and deployment give it.
    fn read(&mut self, index: usize) -> Result<(), ProofError> {
        let node = self.node(index)?;
        self.take(index);
        if let Some(latest) = self.latest.get(node.name.as_str()) {
            return if *latest == index { Ok(()) } else { wrong(&node.name, "an earlier state of it is read") };
        }
        let (kind, name) = node.name.split_once(':').unwrap_or(("", ""));
        let internal = Readers::of(SecrecyLevel::Internal, self.terms.deployment);
        let best = match (kind, self.terms.session.kept(kind_of(kind), name)) {
            ("file", None) => Readers::of(self.terms.deployment.secrecy(&Seen::new(name, None)), self.terms.deployment),
            ("file", Some(kept)) => kept.readers,
            (_, Some(kept)) => kept.readers.meet(internal),
            ("host" | "url", None) => Readers::ANYONE,
            (_, None) => internal,
        };
        let kept = self.terms.session.kept(kind_of(kind), name).map_or(Level::Open, |kept| kept.level);
        let from_nowhere = node.from.is_empty() && node.kind == Kind::Resource;
        if !from_nowhere || node.base.level > kept || !node.base.readers.within(best) {
            return wrong(&node.name, "its own label is better than what is known of it");
        }
        self.latest.insert(&node.name, index);
        Ok(())
    }

    fn write(&mut self, step: &Step, index: usize, leaves: &Leaves, reads: &[usize]) -> Result<(), ProofError> {
        let node = self.node(index)?;
        self.take(index);
        let driver = self.terms.manifest.get(&step.action).map(|tool| &tool.definition().driver);
        let replaces = matches!(driver, Some(Driver::Builtin(name))
            if matches!(name.as_str(), "write_file" | "memory_write" | "copy_file"));
        let before = self.latest.get(node.name.as_str()).filter(|_| !replaces);
        let wanted = leaves.iter().map(|(_, node)| node).chain(reads).chain(before);
        let both = wanted.map(|node| Edge { node: *node, carries: Carries::Both });
        if node.kind != Kind::Resource || node.base != Label::BOTTOM || !node.from.iter().copied().eq(both) {
            return wrong(&node.name, "not everything that is written to it flows in");
        }
        self.latest.insert(&node.name, index);
        Ok(())
    }

    /// The leaves of an expression, each with its node.
    fn arguments(&mut self, step: &'a Step, args: &'a Expr, nodes: &[usize]) -> Result<Leaves, ProofError> {
        let mut places = Vec::new();
        spread(args, &Pointer::ROOT, &mut places);
        if places.len() != nodes.len() {
            return wrong(&step.id, "the proof has other arguments than the plan");
        }
        let mut leaves = Vec::new();
        for ((at, leaf), index) in places.into_iter().zip(nodes) {
            self.leaf(step, &at, &leaf, *index)?;
            leaves.push((at, *index));
        }
        Ok(leaves)
    }

    fn leaf(&mut self, step: &'a Step, at: &Pointer, leaf: &Leaf<'a>, index: usize) -> Result<(), ProofError> {
        let node = self.node(index)?;
        self.take(index);
        if node.name != format!("{}{at}", step.id) {
            return wrong(&node.name, "another argument stands here");
        }
        let terms = self.terms;
        let internal = Readers::of(SecrecyLevel::Internal, terms.deployment);
        let words = if terms.planner >= Level::User { Readers::ANYONE } else { terms.session.seen().readers };
        let base = |level, readers| node.base == Label { level, readers };
        let start = node.from.is_empty();
        let holds = match (leaf, &node.kind) {
            (Leaf::Value(_), Kind::Literal) => start && base(terms.planner, words),
            (Leaf::Value(value), Kind::Known) => {
                start && base(Level::User, words) && value.as_str().is_some_and(|text| terms.session.knows(text))
            }
            (Leaf::Value(value), Kind::Grounded(Ground::Goal { from, to })) => {
                let goal = fold(terms.goal.unwrap_or(""));
                let carried =
                    terms.manifest.get(&step.action).is_some_and(|tool| is_only_carried(tool.definition(), at));
                let name = at.segments().last().map_or("", String::as_str);
                let told = |span: &str| carried && value.as_str().is_some_and(|text| told(span, name, text));
                let said = goal.get(*from..*to).is_some_and(|span| says(span, value) || told(span));
                start && base(Level::User, Readers::ANYONE) && said
            }
            (Leaf::Value(_), Kind::Grounded(Ground::Input { name })) => {
                start && base(Level::User, internal) && terms.inputs.contains_key(name)
            }
            (Leaf::Expr(Expr::Input(_)), Kind::Input) => start && base(Level::User, internal),
            (Leaf::Expr(Expr::Secret(_)), Kind::Secret) => start && node.base == Label::BOTTOM,
            (Leaf::Expr(Expr::Join(parts)), Kind::Join) => {
                let mut inner = Vec::new();
                for part in parts {
                    spread(part, at, &mut inner);
                }
                if node.base != Label::BOTTOM || inner.len() != node.from.len() {
                    return wrong(&node.name, "not all of its parts flow in");
                }
                for ((_, part), edge) in inner.iter().zip(&node.from) {
                    self.leaf(step, at, part, edge.node)?;
                }
                node.from.iter().all(|edge| edge.carries == Carries::Both)
            }
            (Leaf::Expr(Expr::From { step: from, at: field }), Kind::Reference) => {
                let picks = field.segments().iter().any(|segment| segment.parse::<usize>().is_ok());
                let mut edges = node.from.iter();
                match edges.next() {
                    Some(Edge { node: output, carries: Carries::Both }) => self.output(from, field, *output)?,
                    _ => return wrong(&node.name, "the output does not flow in"),
                }
                match (picks, edges.next()) {
                    (true, Some(Edge { node: pick, carries: Carries::Trust })) => {
                        let picked = self.node(*pick)?;
                        self.take(*pick);
                        let level =
                            if terms.planner >= Level::User { Level::System } else { terms.session.seen().level };
                        if picked.kind != Kind::Pick || picked.base != (Label { level, readers: Readers::ANYONE }) {
                            return wrong(&node.name, "the planner picks the place");
                        }
                    }
                    (false, None) => {}
                    _ => return wrong(&node.name, "the planner picks the place"),
                }
                node.base == Label::BOTTOM && edges.next().is_none()
            }
            _ => false,
        };
        if holds { Ok(()) } else { wrong(&node.name, "it is not what the plan says") }
    }

    fn output(&mut self, step: &countersign_plan::id::StepId, at: &Pointer, index: usize) -> Result<(), ProofError> {
        let node = self.node(index)?;
        self.take(index);
        let steps = self.terms.draft.steps();
        let Some(i) = steps.iter().position(|s| s.id == *step) else { return wrong(step, "no step has this output") };
        let parts = self.parts(i)?;
        let tool = steps.get(i).and_then(|s| self.terms.manifest.get(&s.action));
        let Some(tool) = tool.map(countersign_plan::tool::Tool::definition) else {
            let top = node.base == Label::TOP && node.from.is_empty();
            return if top { Ok(()) } else { wrong(&node.name, "nothing is known of it") };
        };
        let (best, trust, secrecy, args) = declared(tool, at, self.terms.deployment);
        let runs = tool.effect == Effect::Execute;
        let carries = match (trust, secrecy || runs) {
            (true, true) => Some(Carries::Both),
            (true, false) => Some(Carries::Trust),
            (false, true) => Some(Carries::Secrecy),
            (false, false) => None,
        };
        let mut edges = node.from.iter();
        if let Some(carries) = carries {
            if parts.reads.is_empty() && (trust || secrecy) {
                let unknown = edges.next().filter(|edge| edge.carries == carries).map(|edge| edge.node);
                let Some(unknown) = unknown else { return wrong(&node.name, "what is read does not flow in") };
                let confidential = Readers::of(SecrecyLevel::Confidential, self.terms.deployment);
                if self.node(unknown)?.base != (Label { level: Level::Open, readers: confidential }) {
                    return wrong(&node.name, "what is read has no name yet");
                }
                self.take(unknown);
            }
            if !parts.reads.iter().all(|read| edges.next() == Some(&Edge { node: *read, carries })) {
                return wrong(&node.name, "what is read does not flow in");
            }
        }
        let secrecy = |node: &usize| Edge { node: *node, carries: Carries::Secrecy };
        if (args || runs) && !parts.leaves.iter().all(|leaf| edges.next() == Some(&secrecy(leaf))) {
            return wrong(&node.name, "its step's arguments do not flow in");
        }
        let holds = edges.next().is_none() && node.base == best && node.kind == Kind::Output;
        if holds { Ok(()) } else { wrong(&node.name, "its own label is not the declared one") }
    }

    /// Whether a value refers to what this step itself answers: a rollback may put that back.
    fn is_of_step(&self, node: &Node, step: &Step) -> Result<bool, ProofError> {
        let own = format!("{}/", step.id);
        for edge in &node.from {
            if !self.node(edge.node)?.name.starts_with(&own) {
                return Ok(false);
            }
        }
        Ok(node.kind == Kind::Reference && !node.from.is_empty())
    }

    fn sink(
        &self,
        step: &Step,
        tool: Option<&countersign_plan::tool::Tool>,
        (leaves, i): (&[Leaves], usize),
        sinks: &[&Sink],
        accesses: &[Access],
    ) -> Result<(), ProofError> {
        let (Some(tool), Some(leaves)) = (tool.map(countersign_plan::tool::Tool::definition), leaves.get(i)) else {
            return if sinks.is_empty() { Ok(()) } else { wrong(&step.id, "no tool, no effect") };
        };
        let under = |list: &[Pointer], at: &Pointer| list.iter().any(|p| p.covers(at) || at.covers(p));
        let acts = accesses.iter().any(|access| !access.effect.is_harmless());
        let deciding = leaves.iter().filter(|(at, _)| acts && under(&tool.controls, at)).map(|(_, node)| *node);
        let Some(sink) = sinks.first().filter(|_| sinks.len() == 1) else {
            let none = deciding.count() == 0 && sinks.is_empty();
            return if none { Ok(()) } else { wrong(&step.id, "an effect has exactly one sink") };
        };
        for node in deciding {
            if !sink.decides.iter().any(|(decides, _)| *decides == node) {
                return wrong(&step.id, "an argument that decides is missing");
            }
        }
        let mut closed = true;
        for (index, means) in &sink.decides {
            let node = self.node(*index)?;
            let small = leaves.iter().any(|(at, n)| n == index && under(&tool.selects, at));
            let holds = match means {
                Some(Means::Label) => node.label.level >= Level::User,
                Some(Means::Endorsed) => self.proof.crossings.endorses(node, &self.proof.nodes, None),
                Some(Means::Bounded) => small,
                Some(Means::Listed) => node.kind == Kind::Literal,
                Some(Means::Judged) => {
                    let process = tool.target.kind == TargetKind::Process;
                    node.kind == Kind::Literal || process || (sink.rollback && self.is_of_step(node, step)?)
                }
                None => {
                    closed = false;
                    true
                }
            };
            if !holds {
                return wrong(&node.name, "nothing lets it decide");
            }
        }
        let carried = leaves.iter().filter(|(at, _)| under(&tool.carries, at)).map(|(_, node)| *node);
        for (name, word) in &sink.audience {
            let Some(standing) = sink::standing(word) else { return wrong(&step.id, "nobody has this standing") };
            self.receives(step, name, standing, accesses)?;
            for index in sink.carries.iter().copied().chain(carried.clone()) {
                let node = self.node(index)?;
                let passes = || self.proof.crossings.declassifies(node, &self.proof.nodes, name, None);
                closed &= node.label.readers.hold(standing) || passes();
            }
        }
        let proved = sink.verdict == Verdict::Proved;
        if proved && !closed { wrong(&step.id, "it is not proved") } else { Ok(()) }
    }

    /// Nobody passes for nearer to the house than the deployment says.
    fn receives(&self, step: &Step, name: &str, standing: Standing, accesses: &[Access]) -> Result<(), ProofError> {
        let person = |kind| matches!(kind, TargetKind::Email | TargetKind::Channel | TargetKind::Account);
        let meant = accesses.iter().any(|access| person(access.resource.kind) && access.resource.name == name);
        let nearer = meant && name.contains('@') && standing < self.terms.deployment.standing_of(name);
        if nearer { wrong(&step.id, "a receiver is not who it is said to be") } else { Ok(()) }
    }
}

/// A leaf of an expression.
enum Leaf<'a> {
    Value(Value),
    Expr(&'a Expr),
}

fn spread<'a>(expr: &'a Expr, at: &Pointer, out: &mut Vec<(Pointer, Leaf<'a>)>) {
    match expr {
        Expr::Array(items) => items.iter().enumerate().for_each(|(i, e)| spread(e, &at.child(i.to_string()), out)),
        Expr::Object(members) => members.iter().for_each(|(key, e)| spread(e, &at.child(key.clone()), out)),
        Expr::Literal(value) => values(value, at, out),
        Expr::Null | Expr::Bool(_) | Expr::Number(_) | Expr::Text(_) => {
            out.push((at.clone(), Leaf::Value(expr.literal().unwrap_or_default())));
        }
        Expr::From { .. } | Expr::Join(_) | Expr::Input(_) | Expr::Secret(_) => {
            out.push((at.clone(), Leaf::Expr(expr)))
        }
    }
}

fn values<'a>(value: &Value, at: &Pointer, out: &mut Vec<(Pointer, Leaf<'a>)>) {
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| values(v, &at.child(i.to_string()), out)),
        Value::Object(members) => members.iter().for_each(|(key, v)| values(v, &at.child(key.clone()), out)),
        scalar => out.push((at.clone(), Leaf::Value(scalar.clone()))),
    }
}

/// What the manifest declares about a part of a result: the label, and whether the target's trust, its secrecy or the arguments'
/// secrecy come on top.
fn declared(tool: &Definition, at: &Pointer, deployment: &Deployment) -> (Label, bool, bool, bool) {
    let fields = &tool.output.fields;
    let over = fields.iter().filter(|f| f.at.covers(at)).max_by_key(|f| f.at.segments().len());
    let mut parts: Vec<(Trust, Secrecy)> = over.iter().map(|field| (field.trust, field.secrecy)).collect();
    if parts.is_empty() {
        parts.push((tool.output.trust, tool.output.secrecy));
        parts.extend(fields.iter().filter(|f| at.covers(&f.at)).map(|f| (f.trust, f.secrecy)));
    }
    let mut label = Label::BOTTOM;
    for (trust, secrecy) in &parts {
        label.level = label.level.min(Level::declared(*trust).unwrap_or(Level::System));
        label.readers = label.readers.meet(Readers::declared(*secrecy, deployment).unwrap_or(Readers::ANYONE));
    }
    let any = |test: &dyn Fn(&(Trust, Secrecy)) -> bool| parts.iter().any(test);
    (label, any(&|p| p.0 == Trust::Target), any(&|p| p.1 == Secrecy::Target), any(&|p| p.1 == Secrecy::Args))
}

/// Whether a stretch of the goal can be read as this value: the same letters and digits, its last ones (a file by its own name),
/// its parts (a date, an option), or a number of the same value.
fn says(span: &str, value: &Value) -> bool {
    let plain = |text: &str| fold(text).chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let span_plain = plain(span);
    match value {
        Value::String(text) => {
            let text_plain = plain(text);
            let stem: String = text_plain.chars().take(3).collect();
            let time = is_moment(text);
            let digits = span_plain.chars().any(|c| c.is_ascii_digit() || c == 'n' || c == 'm');
            let parts = time && (digits || in_words(&span_plain).is_some());
            let state = ground::verb_of(&text_plain).is_some_and(|verb| verb == span_plain)
                || ground::turns_of(&text_plain).contains(&span_plain.as_str())
                || ground::setting(&text_plain).contains(&span_plain.as_str());
            if ground::currency_of(text).contains(&span) {
                return true;
            }
            !span_plain.is_empty()
                && (text_plain.contains(&span_plain) || span_plain.starts_with(&stem) || parts || state)
        }
        Value::Number(number) => {
            let (sign, span) = span.strip_prefix("minus ").map_or((1.0, span), |rest| (-1.0, rest));
            let said = span.replace(',', "").parse::<f64>().ok().or_else(|| in_words(span));
            said.map(|said| sign * said) == number.as_f64()
        }
        Value::Bool(_) => !span_plain.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn key(access: &Access) -> String {
    let name = access.resource.resolved.as_ref().unwrap_or(&access.resource.name);
    super::session::key(access.resource.kind, name)
}

/// A kind of which resources of this key are kept.
fn kind_of(word: &str) -> TargetKind {
    let kinds = [
        TargetKind::Host,
        TargetKind::Url,
        TargetKind::Email,
        TargetKind::Channel,
        TargetKind::Account,
        TargetKind::Database,
        TargetKind::Calendar,
        TargetKind::Memory,
        TargetKind::Process,
        TargetKind::Record,
    ];
    kinds.into_iter().find(|kind| kind.as_str() == word && !is_path_kind(*kind)).unwrap_or(if word == "file" {
        TargetKind::File
    } else {
        TargetKind::Other
    })
}

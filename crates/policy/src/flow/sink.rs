//! The sink rule: what a step with an effect asks of the labels of its arguments (FLOW.md).
//!
//! An argument that decides what happens was said by the user or the house; what leaves may be read by all who receive it. Where
//! that is not so, the sink says what would close it, or why nothing should, and the shortest way that the data took.

use std::collections::{BTreeMap, VecDeque};

use countersign_plan::id::StepId;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Capacity, Definition, Driver, Effect, Manifest, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::back::{is_previous, restores};
use super::crossing::Crossings;
use super::graph::{Ambient, Kind, Look, Node, fill, is_run, schema_at};
use super::ground;
use super::label::{Label, Level, Readers};
use super::moments;
use super::session;
use crate::deployment::{SecrecyLevel, Standing, is_path_kind};
use crate::effects::{By, Open, Touch};
use crate::hosts::Endpoint;
use crate::identities;

/// How far a sink is proved. Ordered from good to bad.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every label fits.
    #[default]
    Proved,
    /// An endorsement or a declassification would close it.
    Conditional,
    /// Nothing should.
    Refuted,
}

impl Verdict {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Conditional => "conditional",
            Self::Refuted => "refuted",
        }
    }
}

/// Why an argument may decide what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// Its label is that of the user or better.
    Label,
    /// The deployment lists the destination.
    Listed,
    /// It is small: a switch, one of listed words, a date.
    Bounded,
    /// The touched resources are judged by themselves: recoverable, in the workspace, or a question of their own.
    Judged,
    /// A person endorsed the value.
    Endorsed,
}

/// Where data meets the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sink {
    /// The step.
    pub step: StepId,
    /// Whether it is what takes the step back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback: bool,
    /// The worst of its arguments.
    pub verdict: Verdict,
    /// Arguments that decide, with the reason why they may; nothing where they may not.
    pub decides: Vec<(usize, Option<Means>)>,
    /// What leaves.
    pub carries: Vec<usize>,
    /// Who receives it.
    pub audience: Vec<(String, String)>,
    /// What is wrong.
    #[serde(skip)]
    pub issues: Vec<Issue>,
}

/// An argument that does not fit its sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The code that reviews report.
    pub code: Code,
    /// How bad.
    pub verdict: Verdict,
    /// What that decides.
    pub decision: Decision,
    /// For people.
    pub message: String,
    /// What would close it.
    pub fix: String,
    /// Whether it is about the planner's own words, which a rule of the policy may allow.
    pub words: bool,
    /// The shortest way: from where the data enters the plan to the argument.
    pub way: Vec<usize>,
}

/// What a sink is judged with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Court<'a> {
    pub(crate) ambient: Ambient<'a>,
    pub(crate) manifest: &'a Manifest,
    pub(crate) nodes: &'a [Node],
    pub(crate) crossings: &'a Crossings,
    /// The tools of every helper agent that the plan or the session started.
    pub(crate) helpers: &'a [String],
}

/// A step before the court.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Party<'a> {
    pub(crate) look: Look<'a>,
    pub(crate) rollback: bool,
    /// The arguments of the permit, where it is one.
    pub(crate) concrete: Option<&'a Expr>,
    pub(crate) open: &'a [Open],
    pub(crate) leaves: &'a [(Pointer, usize)],
    /// Files that are read by the step.
    pub(crate) reads: &'a [usize],
    /// Whether what is written lies in the workspace and can be put back.
    pub(crate) recoverable: bool,
    /// Whether a rule of the policy allows the step as it is written.
    pub(crate) ruled: bool,
    /// Whether the goal asks for other things and for nothing of this kind.
    pub(crate) unasked: bool,
    /// Whether the goal names what is touched.
    pub(crate) asked_for: bool,
    /// What the step itself set with the same tool, where this is what takes it back.
    pub(crate) undoes: Option<&'a Expr>,
    /// Whether the goal names every package that is fetched: then a registry hears nothing but that.
    pub(crate) packages_named: bool,
}

impl<'a> Court<'a> {
    pub(crate) fn judge(&self, party: &Party<'a>) -> Option<Sink> {
        let tool = party.look.tool?.definition();
        let mut sink = Sink {
            step: party.look.id.clone(),
            rollback: party.rollback,
            verdict: Verdict::Proved,
            decides: Vec::new(),
            carries: Vec::new(),
            audience: Vec::new(),
            issues: Vec::new(),
        };
        let audience = self.audience(party, tool);
        if party.look.touches.iter().any(|touch| !touch.effect.is_harmless()) {
            self.controls(party, tool, &mut sink);
        }
        self.release(party, tool, &audience, &mut sink);
        sink.audience = audience.into_iter().map(|(name, standing)| (name, standing.as_str().to_owned())).collect();
        sink.verdict = sink.issues.iter().map(|issue| issue.verdict).max().unwrap_or_default();
        let nothing = sink.decides.is_empty() && (sink.carries.is_empty() || sink.audience.is_empty());
        (!nothing).then_some(sink)
    }

    /// Rules (i) and (ii): who decides.
    fn controls(&self, party: &Party<'a>, tool: &Definition, sink: &mut Sink) {
        let under = |list: &[Pointer], at: &Pointer| list.iter().any(|p| p.covers(at) || at.covers(p));
        for (at, index) in party.leaves {
            let Some(node) = self.nodes.get(*index) else { continue };
            let controls = under(&tool.controls, at);
            let selects = !controls && under(&tool.selects, at);
            // Of what a program is given, its input alone decides nothing.
            let filled = matches!(node.kind, Kind::Reference | Kind::Join);
            let words = filled && is_run(party.look) && !under(&tool.carries, at);
            if !controls && !selects && !words {
                continue;
            }
            let means = self.means(party, tool, (at, node), selects);
            sink.decides.push((*index, means));
            if means.is_none() {
                sink.issues.push(self.untrusted(party, at, *index, node));
            }
        }
    }

    fn means(
        &self,
        party: &Party<'a>,
        tool: &Definition,
        (at, node): (&Pointer, &Node),
        selects: bool,
    ) -> Option<Means> {
        if node.label.level >= Level::User {
            return Some(Means::Label);
        }
        let written = matches!(node.kind, Kind::Literal);
        let value = value_at(party, at).filter(|value| !value.is_null());
        if self.crossings.endorses(node, self.nodes, value.as_ref()) {
            return Some(Means::Endorsed);
        }
        if value.as_ref().is_some_and(|value| self.is_listed(tool, at, value)) {
            return Some(Means::Listed);
        }
        // What it is done to, or which of many, is no value that a step has set.
        let name = at.segments().last().map_or("", String::as_str);
        let set = written && tool.target.arg.as_ref() != Some(at) && !ground::is_id(name);
        if set && value.as_ref().is_some_and(|value| party.undoes.is_some_and(|done| restores(done, at, value))) {
            return Some(Means::Judged);
        }
        // What the step itself sets there, or says that it found there.
        let own = |done: &Expr| {
            let same = set && value.is_some() && done.at(at).and_then(|own| own.literal()) == value;
            let names = tool.target.arg.as_ref() == Some(at) || ground::is_id(name);
            same || (!names && is_previous(party, at))
        };
        if party.undoes.is_some_and(own) {
            return Some(Means::Judged);
        }
        // "Put Piet down for the 24th, not me": back to the user himself.
        let back = party.rollback && set && party.undoes.is_some();
        if back
            && value
                .as_ref()
                .and_then(Value::as_str)
                .is_some_and(|who| self.ambient.deployment.standing_of(who) == Standing::User)
        {
            return Some(Means::Judged);
        }
        let schema = schema_at(&tool.args, at);
        if selects && is_bounded(node, value.as_ref(), schema) {
            return Some(Means::Bounded);
        }
        let target = tool.target.arg.as_ref() == Some(at);
        let builtin =
            matches!(&tool.driver, Driver::Builtin(name) if !matches!(name.as_str(), "send_email" | "send_message"));
        let path = target && is_path_kind(tool.target.kind);
        let here = party.concrete.is_some() && party.recoverable && (path || builtin);
        let idle = tool.target.kind == TargetKind::Process && self.helped(tool, party).is_some_and(|(_, power)| !power);
        // What is sent along is judged as what leaves.
        let sent = written
            && tool.effect == Effect::Send
            && tool.target.kind == TargetKind::Email
            && tool.carries.iter().any(|p| p.covers(at));
        let judged = sent || here || (written && (builtin || path || party.ruled)) || idle;
        judged.then_some(Means::Judged)
    }

    /// Whether the value is a destination that the deployment lists: the user, the house, a known party.
    fn is_listed(&self, tool: &Definition, at: &Pointer, value: &Value) -> bool {
        let Some(text) = value.as_str() else { return false };
        let deployment = self.ambient.deployment;
        let known = |identity: &String| deployment.standing_of(identity) <= Standing::Known;
        let target = tool.target.arg.as_ref().is_some_and(|arg| arg.covers(at));
        match tool.target.kind {
            TargetKind::Email => identities::addresses(text).is_ok_and(|all| all.iter().all(known)),
            TargetKind::Channel | TargetKind::Account => {
                target && identities::name(text).is_ok_and(|name| known(&name))
            }
            TargetKind::Url | TargetKind::Host => {
                let endpoint =
                    if tool.target.kind == TargetKind::Url { Endpoint::of_url(text) } else { Endpoint::parse(text) };
                target && endpoint.is_ok_and(|e| deployment.standing_of_host(&e) <= Standing::Known)
            }
            TargetKind::File
            | TargetKind::Directory
            | TargetKind::Database
            | TargetKind::Calendar
            | TargetKind::Memory
            | TargetKind::Process
            | TargetKind::Record
            | TargetKind::Other => false,
        }
    }

    fn untrusted(&self, party: &Party<'a>, at: &Pointer, index: usize, node: &Node) -> Issue {
        let place = format!("{}{at}", party.look.id);
        let text = value_at(party, at).and_then(|value| match value {
            Value::String(text) => Some(text),
            // A day or a count stands in any text.
            Value::Number(number) => Some(number.to_string()).filter(|text| text.len() > 2),
            _ => None,
        });
        let told = text.is_some_and(|text| self.ambient.session.was_told(&text));
        let way = self.way(index, |label| label.level < Level::User);
        let words = node.kind == Kind::Literal;
        let (verdict, message) = match (words, told) {
            (true, true) => {
                (Verdict::Refuted, format!("{place} decides what happens; data from outside said it, and not the goal"))
            }
            (true, false) => {
                (Verdict::Conditional, format!("{place} decides what happens, and the goal does not say it"))
            }
            (false, _) if party.unasked => (
                Verdict::Refuted,
                format!(
                    "{} data chooses {place}, for what the goal does not ask for or leaves to no text",
                    node.label.level.as_str()
                ),
            ),
            (false, _) => (
                Verdict::Conditional,
                format!("{} data chooses {place}, which decides what happens", node.label.level.as_str()),
            ),
        };
        let decision = match (verdict, party.unasked) {
            (Verdict::Refuted, true) => Decision::Block,
            _ => Decision::RequireApproval,
        };
        let fix = if words {
            format!("say it in the goal or as an input, or endorse the value of {place}")
        } else {
            format!("endorse {place}: an exact value, or a pattern fixed beforehand")
        };
        Issue { code: Code::FlowUntrustedControl, verdict, decision, message, fix, words, way }
    }

    /// Rule (iii): who receives.
    fn release(&self, party: &Party<'a>, tool: &Definition, audience: &[(String, Standing)], sink: &mut Sink) {
        if audience.is_empty() {
            return;
        }
        let carried = |at: &Pointer| tool.carries.iter().any(|p| p.covers(at) || at.covers(p));
        let all = is_run(party.look) && self.helped(tool, party).is_none();
        // The words of a command are its planner's; they count where the planner has seen what is more than internal.
        let internal = Readers::of(SecrecyLevel::Internal, self.ambient.deployment);
        let plain = |node: &usize| {
            let node = self.nodes.get(*node);
            all && node.is_some_and(|node| node.kind == Kind::Literal && internal.within(node.label.readers))
        };
        let leaves = party.leaves.iter().filter(|(at, node)| (all || carried(at)) && !plain(node));
        sink.carries.extend(leaves.map(|(_, node)| *node));
        sink.carries.extend(party.reads.iter().copied());
        let deployment = self.ambient.deployment;
        let mut worst: Option<(Readers, usize)> = None;
        for index in &sink.carries {
            let Some(node) = self.nodes.get(*index) else { continue };
            let at = party.leaves.iter().find(|(_, n)| n == index).map(|(at, _)| at);
            let readers = node.label.readers.meet(at.map_or(Readers::ANYONE, |at| self.named(party, tool, at)));
            let fewer = worst.is_none_or(|(w, _)| readers.word(deployment) > w.word(deployment));
            if fewer {
                worst = Some((readers, *index));
            }
        }
        let Some((readers, index)) = worst else { return };
        let outside = audience.iter().filter(|(_, standing)| !readers.hold(*standing));
        let Some((name, standing)) = outside.max_by_key(|(_, standing)| *standing) else { return };
        let Some(node) = self.nodes.get(index) else { return };
        let value = party.leaves.iter().find(|(_, n)| *n == index).and_then(|(at, _)| value_at(party, at));
        if self.crossings.declassifies(node, self.nodes, name, value.as_ref()) {
            return;
        }
        let place = &node.name;
        let (held, cleared) = (readers.word(deployment), deployment.clearance(*standing));
        // A text from outside named the place, and the data is the house's own: nobody is asked whether it may have it.
        let lured = *standing == Standing::Other && held == SecrecyLevel::Confidential && self.is_lured(party, name);
        let secret = held == SecrecyLevel::Restricted || lured;
        let message = format!("{} data would reach {name}, who is cleared for {}", held.as_str(), cleared.as_str());
        sink.issues.push(Issue {
            code: Code::FlowClearance,
            verdict: if secret { Verdict::Refuted } else { Verdict::Conditional },
            decision: if secret { Decision::Block } else { Decision::RequireApproval },
            message,
            words: false,
            fix: format!("leave it out, or declassify {place} for {name}"),
            way: self.way(index, |label| !label.readers.hold(*standing)),
        });
    }

    /// Whether data from outside named this host, and the goal asks for nothing of the kind.
    fn is_lured(&self, party: &Party<'a>, name: &str) -> bool {
        let mut touches = party.look.touches.iter().filter(|touch| touch.name == name);
        let host = touches.find_map(|touch| touch.endpoint.as_ref()).map(|at| at.host.to_string());
        let near = |host: &str| {
            let parents = std::iter::successors(Some(host), |host| host.split_once('.').map(|(_, parent)| parent));
            parents.filter(|host| host.contains('.')).any(|host| self.ambient.session.was_told(host))
        };
        host.is_some_and(|host| near(&host)) && !party.asked_for
    }

    /// Who may read what an argument only names: the resource that an id stands for.
    fn named(&self, party: &Party<'a>, tool: &Definition, at: &Pointer) -> Readers {
        let name = at.segments().iter().rev().find(|s| s.parse::<usize>().is_err()).map_or("", String::as_str);
        if !(ground::is_id(name) || tool.selects.iter().any(|p| p.covers(at))) {
            return Readers::ANYONE;
        }
        let deployment = self.ambient.deployment;
        let kept = value_at(party, at).and_then(|value| {
            let text = value.as_str()?;
            self.ambient
                .session
                .kept(tool.target.kind, text)
                .or_else(|| self.ambient.session.kept(TargetKind::Record, text))
        });
        // What reading such things gives, as the tools of the same group declare it.
        let readers = self
            .manifest
            .iter()
            .map(countersign_plan::tool::Tool::definition)
            .filter(|other| other.effect == Effect::Read && other.group.is_some() && other.group == tool.group);
        let declared = readers
            .flat_map(|other| {
                std::iter::once(other.output.secrecy).chain(other.output.fields.iter().map(|field| field.secrecy))
            })
            .filter_map(|secrecy| Readers::declared(secrecy, deployment))
            .fold(Readers::of(SecrecyLevel::Internal, deployment), Readers::meet);
        kept.map_or(declared, |label| label.readers.meet(declared))
    }

    /// Everybody who receives what a step carries, and who they are to the house.
    fn audience(&self, party: &Party<'a>, tool: &Definition) -> Vec<(String, Standing)> {
        if let Some((standing, _)) = self.helped(tool, party).filter(|_| tool.target.kind == TargetKind::Process) {
            return vec![("a helper agent".to_owned(), standing)];
        }
        let mut audience = Vec::new();
        // Nothing but what is written down is installed, nothing is published.
        let package = |touch: &Touch| touch.name.starts_with("package ");
        let published = |touch: &Touch| touch.kind == TargetKind::Record && touch.effect != Effect::Execute;
        let named = |touch: &Touch| (package(touch) && !party.packages_named) || published(touch);
        let restores = party
            .look
            .touches
            .iter()
            .all(|touch| touch.by != By::Tool || touch.effect.is_harmless() || touch.effect == Effect::Execute)
            && !party.look.touches.iter().any(named);
        for touch in party.look.touches.iter().filter(|touch| touch.by != By::View) {
            let on_network = matches!(touch.kind, TargetKind::Host | TargetKind::Url);
            // What a reading tool is asked with leaves too.
            let asks = touch.effect.is_harmless() && !tool.carries.is_empty();
            if touch.effect.is_harmless() && !on_network && !asks {
                continue;
            }
            let standing = match touch.kind {
                _ if touch.is_open() && !is_path_kind(touch.kind) => Some(self.unresolved(party, touch)),
                TargetKind::Host | TargetKind::Url => Some(touch.standing.unwrap_or(Standing::Other)),
                TargetKind::Email | TargetKind::Channel | TargetKind::Account => {
                    // A tool that is given nobody reaches nobody, unless sending is all it does.
                    touch.standing.or((touch.effect == Effect::Send).then_some(Standing::Other))
                }
                TargetKind::File | TargetKind::Directory => None,
                // A package manager asks its registry for what the project's own files name.
                TargetKind::Other if restores && touch.name.starts_with("registry ") => None,
                TargetKind::Record | TargetKind::Other | TargetKind::Process if touch.effect == Effect::Send => {
                    Some(Standing::Other)
                }
                TargetKind::Process => None,
                // What git throws away here is given nothing: its words are names of files and commits.
                TargetKind::Record
                    if touch.effect == Effect::Delete
                        && ["git reset ", "git clean"].iter().any(|call| touch.name.starts_with(call)) =>
                {
                    None
                }
                TargetKind::Other if asks => Some(Standing::Other),
                TargetKind::Database
                | TargetKind::Calendar
                | TargetKind::Memory
                | TargetKind::Record
                | TargetKind::Other => Some(Standing::Internal),
            };
            let name = if touch.is_open() { "somebody not known yet".to_owned() } else { touch.name.clone() };
            audience.extend(standing.map(|standing| (name, standing)));
        }
        audience
    }

    /// A destination that a field will name: those for whom the field is declared, if the house writes it.
    fn unresolved(&self, party: &Party<'a>, touch: &Touch) -> Standing {
        let at = party.open.iter().find(|open| open.kind == touch.kind && open.effect == touch.effect).map(|o| &o.at);
        let named = party.leaves.iter().filter(|(place, _)| at.is_some_and(|at| at.covers(place)));
        let labels = named.filter_map(|(_, node)| self.nodes.get(*node)).map(|node| node.label);
        match labels.reduce(Label::join) {
            Some(label) if label.level >= Level::User && !label.readers.hold(Standing::Other) => Standing::Internal,
            Some(_) | None => Standing::Other,
        }
    }

    /// Whom words to a helper agent may reach through its tools, and whether those change anything; nothing where none is meant.
    fn helped(&self, tool: &Definition, party: &Party<'a>) -> Option<(Standing, bool)> {
        let started = session::helper_tools(self.manifest, tool, &fill(party.look.args));
        let told = tool.effect == Effect::Send && tool.target.kind == TargetKind::Process;
        let tools = match started {
            Some(tools) => tools,
            None if told && !self.helpers.is_empty() => {
                self.helpers.iter().filter(|h| !h.is_empty()).cloned().collect()
            }
            None => return None,
        };
        let definitions = tools.iter().filter_map(|name| self.manifest.get(&name.parse().ok()?));
        let mut reach = (Standing::Internal, false);
        for definition in definitions.map(countersign_plan::tool::Tool::definition) {
            let on_network = matches!(definition.target.kind, TargetKind::Url | TargetKind::Host);
            let acts = !definition.effect.is_harmless();
            let leaves = on_network || matches!(definition.effect, Effect::Send | Effect::Pay | Effect::Execute);
            reach = (if leaves { Standing::Other } else { reach.0 }, reach.1 || acts);
        }
        Some(reach)
    }

    /// The shortest way back from a node to where `wrong` data enters.
    fn way(&self, to: usize, wrong: impl Fn(Label) -> bool) -> Vec<usize> {
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([to]);
        while let Some(index) = queue.pop_front() {
            let Some(node) = self.nodes.get(index) else { continue };
            if wrong(node.base) {
                let mut way = vec![index];
                while let Some(towards) = way.last().and_then(|last| next.get(last)) {
                    way.push(*towards);
                }
                return way;
            }
            for edge in &node.from {
                let flows = self.nodes.get(edge.node).is_some_and(|from| wrong(edge.carries.of(from.label)));
                if flows && edge.node != to && !next.contains_key(&edge.node) {
                    next.insert(edge.node, index);
                    queue.push_back(edge.node);
                }
            }
        }
        vec![to]
    }
}

/// The value of an argument, where it has one: at the permit, or a literal.
pub(crate) fn value_at(party: &Party<'_>, at: &Pointer) -> Option<Value> {
    let args = party.concrete.unwrap_or(party.look.args);
    args.at(at).and_then(|expr| expr.literal())
}

/// Whether a value can only be a switch, a word of a list or a date, whoever chose it.
fn is_bounded(node: &Node, value: Option<&Value>, schema: &Value) -> bool {
    let listed = schema.get("enum").is_some() || schema.get("type").is_some_and(|kind| kind == "boolean");
    let small = matches!(node.capacity, Some(Capacity::Bool | Capacity::Enum | Capacity::Date));
    let said = value.is_some_and(|v| v.is_boolean() || v.as_str().is_some_and(moments::is_moment));
    listed || small || (node.kind == Kind::Literal && said)
}

/// The standing that a sink's audience names by this word.
pub(crate) fn standing(word: &str) -> Option<Standing> {
    [Standing::User, Standing::Internal, Standing::Known, Standing::Other].into_iter().find(|s| s.as_str() == word)
}

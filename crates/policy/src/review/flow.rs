//! What information flow says about a plan's steps, as reasons.

pub(super) mod chosen;
mod confirmed;

use std::collections::BTreeMap;

use countersign_plan::draft::Rollback;
use countersign_plan::id::StepId;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::Effect;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::prepare::Prepared;
use super::{Request, checks, goal, judge};
use crate::deployment::SecrecyLevel;
use crate::effects::{self, By, Derived, Scene, Touch};
use crate::flow::{
    self, Ambient, Court, Crossings, Finished, Graph, Grounds, Kind, Level, Look, Parts, Party, Proof, Readers, Sink,
    fill,
};

pub(super) use confirmed::settle;

/// The plan with the labels of all its values.
#[derive(Debug)]
pub(super) struct Flow {
    proof: Proof,
    sinks: BTreeMap<StepId, Vec<usize>>,
    /// What a reference names that is not known yet, and whether it can be trusted.
    open: BTreeMap<StepId, Vec<bool>>,
}

impl Flow {
    pub(super) fn new(request: &Request<'_>, steps: &[Prepared<'_>]) -> Self {
        let grounds = Grounds::new(request.pinned_goal, request.inputs);
        let ambient = Ambient { deployment: request.deployment, session: request.session, planner: request.planner };
        let mut graph = Graph::new(ambient, &grounds);
        for step in steps {
            graph.step(look(step));
        }
        let undone: Vec<Option<(Derived, Vec<_>)>> = steps
            .iter()
            .map(|step| {
                let Some(Rollback::Action { action, args }) = &step.step.rollback else { return None };
                let tool = request.manifest.get(action)?;
                let filled = effects::substitute(args, request.inputs).ok()?;
                let scene = Scene { deployment: request.deployment, facts: request.facts, written: &step.written };
                let derived = effects::derive(tool.definition(), &filled, scene);
                let look = Look { id: &step.step.id, args, tool: Some(tool), touches: &[] };
                Some((derived, graph.arguments(look)))
            })
            .collect();
        let helpers = helpers(request, steps);
        let crossings = crossings(request);
        let Finished { nodes, leaves, reads, writes } = graph.finish();
        // What is sent along is read as a file; what a host answers is no part of what it is sent.
        let is_file = |node: &&usize| nodes.get(**node).is_some_and(|node| node.name.starts_with("file:"));
        let files: Vec<Vec<usize>> = reads.iter().map(|r| r.iter().filter(is_file).copied().collect()).collect();
        let court =
            Court { ambient, manifest: request.manifest, nodes: &nodes, crossings: &crossings, helpers: &helpers };
        let mut sinks = Vec::new();
        let mut open = BTreeMap::new();
        for (i, step) in steps.iter().enumerate() {
            let leaves = leaves.get(i).map_or(&[][..], Vec::as_slice);
            let mut party = Party {
                look: look(step),
                rollback: false,
                concrete: step.concrete.then_some(&step.args),
                open: &step.derived.open,
                leaves,
                reads: files.get(i).map_or(&[][..], Vec::as_slice),
                recoverable: recoverable(request, step),
                ruled: false,
                unasked: (!step.goal.delegates() && !goal::unasked(request, step, false).is_empty())
                    || goal::unwanted(request, step)
                    || (step.derived.touches.iter().any(|touch| touch.effect == Effect::Pay) && step.goal.pays_back())
                    || goal::forbidden(request, step, || checks::is_looked_at_before(steps, i)).is_some(),
                undoes: None,
                packages_named: request.authentic
                    && step
                        .derived
                        .touches
                        .iter()
                        .filter_map(|touch| touch.name.strip_prefix("package "))
                        .all(|package| goal::names_package(request.pinned_goal, package)),
                asked_for: step.derived.touches.iter().any(|touch| {
                    let host = touch.endpoint.as_ref().map(|at| at.host.to_string());
                    // "Fetch the feed they give": its own address, as they wrote it, tells a host nothing.
                    let given = !touch.name.contains('?') && request.session.was_told(&touch.name);
                    let followed =
                        given && touch.effect == Effect::Read && step.goal.order("fetch download follow open visit");
                    host.is_some_and(|host| step.goal.name(&host) || step.goal.name(&touch.name) || followed)
                }),
            };
            let mut sink = court.judge(&party);
            let by_words = |sink: &Sink| sink.issues.iter().any(|issue| issue.words);
            if sink.as_ref().is_some_and(by_words) && judge::is_allowed(request, step) {
                party.ruled = true;
                sink = court.judge(&party);
            }
            sinks.extend(sink);
            let trusted = step.derived.open.iter().map(|open| {
                let mut named = leaves.iter().filter(|(at, _)| open.at.covers(at) || at.covers(&open.at));
                named.all(|(_, node)| nodes.get(*node).is_some_and(|node| node.label.level >= Level::User))
            });
            open.insert(step.step.id.clone(), trusted.collect());
            if let (Some(Rollback::Action { action, args }), Some((derived, leaves))) =
                (&step.step.rollback, undone.get(i).and_then(Option::as_ref))
            {
                let tool = request.manifest.get(action);
                sinks.extend(court.judge(&Party {
                    look: Look { id: &step.step.id, args, tool, touches: &derived.touches },
                    rollback: true,
                    undoes: (*action == step.step.action).then_some(&step.step.args),
                    concrete: None,
                    open: &derived.open,
                    leaves,
                    reads: &[],
                    // Taking back is itself the way back.
                    recoverable: true,
                    ..party
                }));
            }
        }
        let mut by_step: BTreeMap<StepId, Vec<usize>> = BTreeMap::new();
        for (i, sink) in sinks.iter().enumerate() {
            by_step.entry(sink.step.clone()).or_default().push(i);
        }
        let nodes_of = |list: &[(Pointer, usize)]| list.iter().map(|(_, node)| *node).collect();
        let parts = steps.iter().enumerate().map(|(i, step)| Parts {
            id: step.step.id.clone(),
            leaves: leaves.get(i).map_or_else(Vec::new, |leaves| nodes_of(leaves)),
            reads: reads.get(i).cloned().unwrap_or_default(),
            writes: writes.get(i).cloned().unwrap_or_default(),
            undo: undone.get(i).and_then(Option::as_ref).map_or_else(Vec::new, |(_, leaves)| nodes_of(leaves)),
        });
        let proof = Proof {
            schema: flow::SCHEMA.to_owned(),
            draft: request.draft.digest(),
            manifest: request.manifest.digest(),
            deployment: request.deployment.digest(),
            session: flow::of_session(request.session),
            goal: flow::of_goal(request.pinned_goal),
            planner: request.planner,
            steps: parts.collect(),
            nodes,
            sinks,
            crossings,
        };
        Self { proof, sinks: by_step, open }
    }

    pub(super) fn into_proof(self) -> Proof {
        self.proof
    }

    /// Whether a value is the user's own, or a field's that nobody outside writes; the planner made up no part of it.
    fn is_said(&self, node: usize) -> bool {
        let Some(node) = self.proof.nodes.get(node) else { return false };
        match node.kind {
            Kind::Grounded(_) | Kind::Input | Kind::Known | Kind::Reference => node.label.level >= Level::User,
            Kind::Join => node.from.iter().all(|part| self.is_said(part.node)),
            Kind::Literal | Kind::Secret | Kind::Pick | Kind::Output | Kind::Resource => false,
        }
    }

    /// Whether nothing is wrong but that something leaves, and that is no more than internal.
    fn is_plain(&self, request: &Request<'_>, sinks: &[&Sink]) -> bool {
        let internal = Readers::of(SecrecyLevel::Internal, request.deployment);
        let plain = |node: &usize| self.proof.nodes.get(*node).is_some_and(|node| internal.within(node.label.readers));
        sinks.iter().all(|sink| sink.issues.iter().all(|issue| issue.code == Code::FlowClearance))
            && sinks.iter().flat_map(|sink| &sink.carries).all(plain)
    }

    /// Whether a value is made of something that is more than internal, read by a step of which the goal says nothing.
    fn takes_unnamed(&self, request: &Request<'_>, steps: &[Prepared<'_>], node: usize) -> bool {
        let internal = Readers::of(SecrecyLevel::Internal, request.deployment);
        let Some(node) = self.proof.nodes.get(node).filter(|node| !internal.within(node.label.readers)) else {
            return false;
        };
        let step = node.name.split('/').next().unwrap_or("");
        let read = (node.kind == Kind::Output).then(|| steps.iter().find(|one| one.step.id.as_str() == step)).flatten();
        // "What does PM-402 want?": no word of it is long enough to be shared.
        let named = |read: &Prepared<'_>| read.texts().any(|text| text.len() > 2 && read.goal.name(text));
        let unnamed = read.is_some_and(|read| !named(read) && !read.goal.share_a_word(&what_is_read(request, read)));
        unnamed || node.from.iter().any(|edge| self.takes_unnamed(request, steps, edge.node))
    }

    /// Whether a step takes over what somebody outside wrote, from an answer or from what it reads.
    fn takes_from_outside(&self, step: &StepId) -> bool {
        let low = |node: &usize| self.proof.nodes.get(*node).is_some_and(|node| node.label.level < Level::User);
        let taken = |node: &usize| {
            let kind = self.proof.nodes.get(*node).map(|node| &node.kind);
            matches!(kind, Some(Kind::Reference | Kind::Join)) && low(node)
        };
        let mut parts = self.proof.steps.iter().filter(|parts| parts.id == *step);
        parts.any(|parts| parts.leaves.iter().any(taken) || parts.reads.iter().any(low))
    }

    fn of(&self, step: &StepId) -> impl Iterator<Item = &Sink> {
        self.sinks.get(step).into_iter().flatten().filter_map(|i| self.proof.sinks.get(*i))
    }
}

/// What a step reads, in its words: files as they lie in the workspace, whatever way the plan names them; else the call itself.
fn what_is_read(request: &Request<'_>, read: &Prepared<'_>) -> String {
    let roots = request.deployment.workspace();
    let below = |path: &str| roots.iter().find_map(|root| path.strip_prefix(root.as_str())).unwrap_or(path).to_owned();
    let paths: Vec<String> =
        read.derived.touches.iter().filter_map(Touch::seen).map(|seen| below(seen.written())).collect();
    let call = if paths.is_empty() { read.given.to_string() } else { paths.join(" ") };
    format!("{} {call}", read.step.action)
}

fn look<'a>(step: &'a Prepared<'_>) -> Look<'a> {
    Look { id: &step.step.id, args: &step.step.args, tool: step.tool, touches: &step.derived.touches }
}

/// Where people let a value of this plan pass. What was used once lets nothing pass again.
pub(super) fn crossings(request: &Request<'_>) -> Crossings {
    let draft = request.draft.digest();
    if request.facts.is_spent(draft) {
        return Crossings::default();
    }
    request.changes.crossings(draft, request.requester, request.now)
}

/// What is told of them, for the record.
pub(super) fn crossed(crossings: &Crossings) -> impl Iterator<Item = Reason> {
    crossings.iter().map(|crossing| {
        let what = crossing.to.as_ref().map_or_else(|| "decide".to_owned(), |to| format!("reach {to}"));
        let message = format!("{} lets {} {what}", crossing.approver, crossing.value);
        Reason::new(Code::FlowCrossed, Decision::Allow, message)
    })
}

/// The tools of the helper agents that the plan starts, or the session started; one that has none counts as an empty name.
fn helpers(request: &Request<'_>, steps: &[Prepared<'_>]) -> Vec<String> {
    let mut helpers = request.session.helpers().to_vec();
    for step in steps {
        let Some(tool) = step.tool else { continue };
        if let Some(tools) = flow::helper_tools(request.manifest, tool.definition(), &fill(&step.step.args)) {
            helpers.extend(tools);
            helpers.push(String::new());
        }
    }
    helpers
}

/// Recoverable writes in the workspace need no grounding: at the permit the concrete path shows that it is one.
fn recoverable(request: &Request<'_>, step: &Prepared<'_>) -> bool {
    let mut written = step.derived.touches.iter().filter(|t| !t.effect.is_harmless()).map(Touch::seen);
    !step.irreversible && written.all(|seen| seen.is_some_and(|seen| request.deployment.in_workspace(&seen)))
}

/// Whether data from outside says who receives what is not for everybody to read: either alone is a question, both together are what an
/// attacker who wrote a text wants of it. Whoever has the writer answered or paid has said so.
fn is_both_ways(prepared: &Prepared<'_>, sink: &Sink) -> bool {
    let chosen = |issue: &flow::Issue| {
        issue.code == Code::FlowUntrustedControl && (!issue.words || issue.verdict == flow::Verdict::Refuted)
    };
    let (goal, sends) = (&prepared.goal, prepared.tool.is_some_and(|tool| tool.definition().effect == Effect::Send));
    sends && sink.issues.iter().any(chosen) && goal.is_read() && !goal.answers() && !goal.delegates()
}

/// Whether the planner turns an act into another one than the goal says, and data from outside says whom or what it is done to: a rule that
/// forwards to whoever wrote, where the goal wants a label.
fn is_turned(prepared: &Prepared<'_>, sink: &Sink) -> bool {
    let control =
        |words: bool| sink.issues.iter().any(|issue| issue.code == Code::FlowUntrustedControl && issue.words == words);
    let grave = prepared.tool.is_some_and(|tool| tool.definition().effect == Effect::Admin);
    grave && prepared.goal.is_read() && !prepared.goal.delegates() && control(true) && control(false)
}

/// A file that is run and that an earlier step has written with what somebody outside wrote: who wrote it decides what runs.
pub(super) fn runs_what_outsiders_wrote(flow: &Flow, steps: &[Prepared<'_>], i: usize) -> Option<Reason> {
    let step = steps.get(i)?;
    let run = |touch: &&Touch| touch.effect == Effect::Execute && touch.seen().is_some() && !touch.recursive;
    let written = |name: &str| {
        let mut before = steps.iter().take(i).filter(|one| flow.takes_from_outside(&one.step.id));
        before.any(|one| {
            one.derived.touches.iter().any(|touch| touch.changes() && touch.by == By::Tool && touch.name == name)
        })
    };
    let touch = step.derived.touches.iter().filter(run).find(|touch| written(&touch.name))?;
    let message = format!("{} is run, and holds what somebody outside wrote", touch.name);
    Some(Reason::block(Code::ExecuteWritten, message).fix("run nothing that a text from outside says"))
}

/// What flow says about a step.
pub(super) fn check(request: &Request<'_>, flow: &Flow, prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    // What nobody asked for gives somebody whom the goal does not name more than he may know.
    let stranger = |touch: &Touch| {
        touch.effect == Effect::Send
            && touch.by == By::Tool
            && touch.endpoint.is_none()
            && !prepared.goal.name(&touch.name)
    };
    let given_away = prepared.derived.touches.iter().any(stranger)
        && goal::unasked(request, prepared, false).iter().any(|reason| reason.decision != Decision::Allow);
    for sink in flow.of(&prepared.step.id) {
        let both = !sink.rollback && is_both_ways(prepared, sink);
        let turned = !sink.rollback && is_turned(prepared, sink);
        for issue in &sink.issues {
            let rollback = if sink.rollback { "rollback: " } else { "" };
            let message = format!("{rollback}{}", issue.message);
            let blocks = ((both || given_away) && issue.code == Code::FlowClearance)
                || (turned && issue.code == Code::FlowUntrustedControl && !issue.words);
            let decision = if blocks { Decision::Block } else { issue.decision };
            let mut reason = Reason::new(issue.code, decision, message).fix(&issue.fix);
            reason.path = flow.proof.way(issue);
            reasons.push(reason);
        }
    }
    chosen::unresolved(request, flow, prepared, &mut reasons);
    chosen::chosen(request, prepared, &mut reasons);
    reasons.extend(chosen::obeyed(request, flow, prepared));
    reasons
}

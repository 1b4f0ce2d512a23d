//! What information flow says about a plan's steps, as reasons, and which questions the user's own goal has answered already.

use std::collections::BTreeMap;

use countersign_plan::draft::Rollback;
use countersign_plan::id::StepId;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Effect, Reversibility, TargetKind};
use countersign_plan::verdict::{Code, Decision, Reason};

use super::prepare::Prepared;
use super::{Request, goal, judge, threats};
use crate::deployment::{Confirmation, SecrecyLevel, Standing, is_path_kind};
use crate::effects::{self, By, Derived, Scene, Touch};
use crate::flow::{
    self, Ambient, Court, Crossings, Finished, Graph, Grounds, Kind, Level, Look, Means, Parts, Party, Proof, Readers,
    Sink, fill,
};

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
                    || goal::forbidden(request, step, || threats::is_looked_at_before(steps, i)).is_some(),
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
                    host.is_some_and(|host| step.goal.name(&host) || step.goal.name(&touch.name))
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
        let unnamed = read.is_some_and(|read| !read.goal.share_a_word(&what_is_read(request, read)));
        unnamed || node.from.iter().any(|edge| self.takes_unnamed(request, steps, edge.node))
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
    let call = if paths.is_empty() { fill(&read.args).to_string() } else { paths.join(" ") };
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

/// What flow says about a step.
pub(super) fn check(request: &Request<'_>, flow: &Flow, prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for sink in flow.of(&prepared.step.id) {
        for issue in &sink.issues {
            let rollback = if sink.rollback { "rollback: " } else { "" };
            let message = format!("{rollback}{}", issue.message);
            let mut reason = Reason::new(issue.code, issue.decision, message).fix(&issue.fix);
            reason.path = flow.proof.way(issue);
            reasons.push(reason);
        }
    }
    unresolved(request, flow, prepared, &mut reasons);
    chosen(request, prepared, &mut reasons);
    reasons
}

/// What is touched under a name that is not known yet: asks, unless it only reads something that is neither file nor host and a
/// trusted field names it.
fn unresolved(request: &Request<'_>, flow: &Flow, prepared: &Prepared<'_>, reasons: &mut Vec<Reason>) {
    let trusted = flow.open.get(&prepared.step.id);
    for (i, open) in prepared.derived.open.iter().enumerate() {
        // An id picks a thing of the tool's own, whatever it calls it.
        let picked = prepared.tool.is_some_and(|tool| tool.definition().selects.contains(&open.at));
        let placed = !picked && is_path_kind(open.kind)
            || matches!(open.kind, TargetKind::Host | TargetKind::Url | TargetKind::Database | TargetKind::Process);
        let trusted = trusted.and_then(|list| list.get(i)).is_some_and(|trusted| *trusted);
        // What a helper is told to do names no process: where its words go is the flow's to say.
        if open.kind == TargetKind::Process && super::defaults::is_helper(request, prepared) {
            continue;
        }
        if (open.effect.is_harmless() || trusted) && !placed || (open.effect.is_harmless() && trusted) {
            continue;
        }
        let message = format!("{} names what is touched and has no value before the plan runs", open.at);
        reasons.push(Reason::new(Code::ResourceUnresolved, Decision::RequireApproval, message));
    }
}

/// A file outside of the workspace that data from outside named, and the goal did not: whoever wrote the data chose it.
fn chosen(request: &Request<'_>, prepared: &Prepared<'_>, reasons: &mut Vec<Reason>) {
    if request.planner >= Level::User {
        return;
    }
    for touch in prepared.derived.touches.iter().filter(|touch| touch.by == By::Tool && !touch.is_open()) {
        let outside = touch.seen().is_some_and(|seen| !request.deployment.in_workspace(&seen));
        let file = touch.name.rsplit('/').next().unwrap_or(&touch.name);
        let kept = touch.seen().is_some_and(|seen| request.deployment.is_restricted(&seen));
        if kept && request.session.was_told(file) && !goal::names(request.pinned_goal, file) {
            let message = format!("data from outside names {}, which is restricted, and the goal does not", touch.name);
            reasons.push(Reason::new(Code::FlowUntrustedControl, Decision::Block, message));
            continue;
        }
        if outside && request.session.was_told(&touch.name) && !goal::names(request.pinned_goal, &touch.name) {
            let message = format!("data from outside names {}, and the goal does not", touch.name);
            let reason = Reason::new(Code::FlowUntrustedControl, Decision::RequireApproval, message);
            reasons.push(reason.fix("say in the goal that it is wanted"));
        }
    }
}

/// Takes out the questions that the goal has answered: every value that decides is the user's or the house's, and the effect is
/// what the goal asks for (FORMATS §5).
pub(super) fn settle(request: &Request<'_>, flow: &Flow, steps: &[Prepared<'_>], i: usize, reasons: &mut Vec<Reason>) {
    let Some(prepared) = steps.get(i) else { return };
    if prepared.derived.touches.iter().any(Touch::is_push) && is_blind(request, steps, prepared, i) {
        let message = "the goal makes the push depend on something that no step before it looks at";
        reasons.push(Reason::new(Code::PlanOrder, Decision::RequireApproval, message).fix("look first, push last"));
    }
    let Some(how) = confirmed(request, flow, steps, prepared, i) else { return };
    let before = reasons.len();
    let answered = |reason: &Reason| {
        reason.decision == Decision::RequireApproval
            && (matches!(reason.code, Code::PlanIrreversible | Code::DefaultAsk | Code::HostUnknown)
                || (how == How::ToUser && reason.code == Code::GoalUnasked && reason.rule.is_none())
                // Who keeps the repository has what is in it: to have it pushed there is to let it go there.
                || (how == How::Push && reason.code == Code::FlowClearance))
    };
    reasons.retain(|reason| !answered(reason));
    if reasons.len() < before {
        let (code, message) = match how {
            How::ToUser => (Code::DefaultAllow, "the user alone receives it".to_owned()),
            How::Push => (Code::FlowConfirmed, "the goal orders the push to where the repository is kept".to_owned()),
            How::Request(spans) if spans.is_empty() => (Code::FlowConfirmed, "confirmed by the request".to_owned()),
            How::Request(spans) => {
                (Code::FlowConfirmed, format!("confirmed by the request, at bytes {} of the goal", spans.join(", ")))
            }
            How::House => {
                let message = "confirmed by the request, with values that only the house's own fields hold";
                (Code::FlowConfirmed, message.to_owned())
            }
        };
        reasons.push(Reason::new(code, Decision::Allow, message));
    }
}

/// Whether the goal makes what is done depend on something, and nothing before the step looks at anything.
fn is_blind(request: &Request<'_>, steps: &[Prepared<'_>], prepared: &Prepared<'_>, i: usize) -> bool {
    prepared.goal.conditional && !request.session.has_acted() && !threats::is_looked_at_before(steps, i)
}

/// How a step is confirmed beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// Nobody but the user receives anything.
    ToUser,
    /// The goal orders a push, and the step is one to the repository's own remote.
    Push,
    /// The goal or an input says every value; the places in the goal.
    Request(Vec<String>),
    /// The goal says the target, and fields that nobody outside writes say the rest.
    House,
}

fn confirmed(
    request: &Request<'_>,
    flow: &Flow,
    steps: &[Prepared<'_>],
    prepared: &Prepared<'_>,
    i: usize,
) -> Option<How> {
    let confirmation = request.deployment.document().approval.as_ref().and_then(|approval| approval.confirmation);
    let definition = prepared.tool?.definition();
    let touches = &prepared.derived.touches;
    if confirmation == Some(Confirmation::Always) {
        return None;
    }
    let sinks: Vec<&Sink> = flow.of(&prepared.step.id).filter(|sink| !sink.rollback).collect();
    let back = || flow.of(&prepared.step.id).filter(|sink| sink.rollback).all(|sink| sink.issues.is_empty());
    let blind = is_blind(request, steps, prepared, i);
    if request.authentic && !blind && is_push_as_asked(prepared) && flow.is_plain(request, &sinks) && back() {
        return Some(How::Push);
    }
    if sinks.iter().any(|sink| !sink.issues.is_empty()) {
        return None;
    }
    let to_user = |touch: &Touch| touch.effect.is_harmless() || touch.standing == Some(Standing::User);
    if definition.effect == Effect::Send && touches.iter().all(to_user) && touches.iter().any(|t| t.standing.is_some())
    {
        return Some(How::ToUser);
    }
    let goal = request.pinned_goal.filter(|_| request.authentic)?;
    let (wishes, action) = (&prepared.goal, prepared.step.action.as_str());
    // Who asks for something to be remembered, in words of his own, wants it remembered.
    let memory =
        touches.iter().all(|touch| touch.kind == TargetKind::Memory) && wishes.order("remember memor note keep");
    let mut kept = sinks.iter().flat_map(|sink| &sink.carries).peekable();
    if memory && kept.peek().is_some() && kept.all(|node| flow.is_said(*node)) {
        return Some(How::Request(Vec::new()));
    }
    let reaches = touches.iter().any(|touch| touch.endpoint.is_some() || touch.kind == TargetKind::Url);
    let acts = touches.iter().any(|touch| !touch.effect.is_harmless());
    // What a command line does is judged by itself; no value of it is the goal's.
    let by_command = touches.iter().any(|touch| touch.by != By::Tool && touch.by != By::Move);
    if reaches || !acts || by_command {
        return None;
    }
    // Whole stores and files that nothing brings back: a word in a goal is too little.
    let lasting = |kind| matches!(kind, TargetKind::Database | TargetKind::Account) || is_path_kind(kind);
    let lost = touches.iter().any(|touch| touch.effect == Effect::Delete && lasting(touch.kind));
    let to_named = |all: bool| {
        let nodes = sinks.iter().flat_map(|sink| &sink.decides).filter_map(|(node, _)| flow.proof.nodes.get(*node));
        is_addressed(wishes, nodes, all, wishes.want_more_than_a_look())
    };
    // A note of the house's own on the very record that the goal is about is part of any work on it.
    let noted = |touch: &Touch| {
        let notes =
            action.split(['_', '-', '.']).any(|part| matches!(part, "note" | "comment" | "annotate" | "remark"));
        let adds = matches!(touch.effect, Effect::Create | Effect::Update) && touch.kind == TargetKind::Record;
        notes && adds && touch.standing.is_none() && wishes.name(&touch.name)
    };
    let wanted = |touch: &Touch| {
        wishes.ask_for(action, touch.effect) || noted(touch) || (touch.effect == Effect::Send && to_named(true))
    };
    let asked = touches.iter().all(wanted) && !wishes.ask_for_opposite(action);
    // What the goal asks for once is done once; of payments and rights, whatever is written along with it.
    let pays = touches.iter().any(|touch| matches!(touch.effect, Effect::Pay | Effect::Admin));
    let decisive = |step: &Prepared<'_>| definition.controls.iter().map(|at| step.step.args.at(at)).collect::<Vec<_>>();
    let again = steps.iter().take(i).filter(|s| s.step.action == prepared.step.action).any(|s| {
        s.step.args == prepared.step.args
            || (pays && !definition.controls.is_empty() && decisive(s) == decisive(prepared))
    });
    // A message can say what was found.
    let grave = |effect: Effect| !effect.is_harmless() && !matches!(effect, Effect::Send | Effect::Create);
    let blind = blind && touches.iter().any(|touch| grave(touch.effect));
    // What is started elsewhere is asked for by its name or by where it goes.
    let started = definition.effect == Effect::Execute;
    // A whole line that the goal gives is given to be run.
    let dictated = || {
        let decides = sinks.iter().flat_map(|sink| &sink.decides).filter_map(|(node, _)| flow.proof.nodes.get(*node));
        let line = |node: &flow::Node| matches!(node.kind, Kind::Grounded(flow::Ground::Goal { from, to }) if goal.get(from..to).is_some_and(|said| said.len() >= 12 && said.contains(' ')));
        decides.into_iter().any(line)
    };
    let begun = || prepared.is_remote() && (wishes.call(action) || to_named(false) || dictated());
    if lost || !asked || again || blind || (started && !begun() && runs(definition, &sinks)) {
        return None;
    }
    // What leaves is the goal's to name as well, where not everybody of the house may read it and many do, or an outsider.
    let sends = touches.iter().any(|touch| touch.effect == Effect::Send);
    let outside = touches.iter().any(|touch| touch.standing == Some(Standing::Other));
    let widely = sends && (outside || touches.iter().any(|touch| touch.kind == TargetKind::Channel));
    if widely && sinks.iter().flat_map(|sink| &sink.carries).any(|node| flow.takes_unnamed(request, steps, *node)) {
        return None;
    }
    let decides = || sinks.iter().flat_map(|sink| &sink.decides);
    let idle = matches!(definition.target.kind, TargetKind::Process | TargetKind::Email);
    let fits = |node: usize, means: Option<Means>| match means {
        Some(Means::Label) => flow.is_said(node),
        Some(Means::Bounded | Means::Endorsed) => true,
        Some(Means::Listed) => is_colleague(goal, touches),
        Some(Means::Judged) => idle,
        None => false,
    };
    if !decides().all(|(node, means)| fits(*node, *means)) {
        return None;
    }
    // Where nothing decides, the goal has to ask for something new.
    if decides().next().is_none() && !(definition.controls.is_empty() || wishes.speak_of(goal::MAKING)) {
        return None;
    }
    let nodes = || decides().filter_map(|(node, _)| flow.proof.nodes.get(*node));
    // "It still runs on staging, get rid of it": a place of which something is to go may not itself go.
    let removes = touches.iter().any(|touch| touch.effect == Effect::Delete && touch.by == By::Tool);
    if removes
        && definition.reversibility == Reversibility::Irreversible
        && nodes().next().is_some()
        && nodes().all(|node| is_place(wishes, node))
    {
        return None;
    }
    if is_turned_round(prepared, nodes()) {
        return None;
    }
    let said = |kind: &Kind| matches!(kind, Kind::Grounded(_) | Kind::Input);
    // Whoever is of the house, or known to it, may be answered.
    if sends && outside && nodes().any(|node| is_spoken_of(wishes, node)) {
        return None;
    }
    // A payment names its payee by the goal, or changes none.
    let given = |at| prepared.step.args.at(at).is_some();
    if pays && definition.target.arg.as_ref().is_some_and(given) && !nodes().any(|node| said(&node.kind)) {
        return None;
    }
    if nodes().all(|node| said(&node.kind)) {
        let span = |kind: &Kind| match kind {
            Kind::Grounded(flow::Ground::Goal { from, to }) => Some(format!("{from}-{to}")),
            Kind::Grounded(flow::Ground::Input { name }) => Some(format!("input {name}")),
            _ => None,
        };
        return Some(How::Request(nodes().filter_map(|node| span(&node.kind)).collect()));
    }
    Some(How::House)
}

/// Whether the step only pushes what the repository has to where the repository is kept, and the goal orders a push. What a push
/// overwrites or removes there is a finding of its own.
fn is_push_as_asked(prepared: &Prepared<'_>) -> bool {
    let mut acts = prepared.derived.touches.iter().filter(|t| !t.effect.is_harmless() && t.effect != Effect::Execute);
    let pushes = |touch: &Touch| touch.is_push() || matches!(touch.by, By::Git | By::View);
    // A goal that speaks of a branch means that one.
    let meant = |touch: &Touch| {
        let pushed = touch.name.rsplit(' ').next().unwrap_or("");
        !prepared.goal.speak_of("branch") || prepared.goal.name(pushed.rsplit(':').next().unwrap_or(pushed))
    };
    prepared.derived.touches.iter().any(Touch::is_push)
        && acts.all(pushes)
        && prepared.derived.touches.iter().filter(|touch| touch.is_push()).all(meant)
        && prepared.derived.findings.is_empty()
        && prepared.goal.order(goal::PUSHING)
}

/// Whether the goal names every value, or any, as whom or where something is for.
fn is_addressed<'n>(wishes: &goal::Wishes, nodes: impl Iterator<Item = &'n flow::Node>, all: bool, acts: bool) -> bool {
    let mut nodes = nodes.peekable();
    let addressed = |node: &flow::Node| {
        let Kind::Grounded(flow::Ground::Goal { from, .. }) = node.kind else { return false };
        let before = wishes.before(from).find(|word| !matches!(*word, "the" | "and" | "a"));
        before.is_some_and(|word| match word {
            // "… and the same to #sales": outside of a question this can only be whom it is for.
            "to" | "let" | "cc" => acts || !wishes.is_asked_at(from),
            "for" | "in" | "on" | "onto" | "with" | "into" | "at" => acts,
            _ => false,
        })
    };
    nodes.peek().is_some() && if all { nodes.all(addressed) } else { nodes.any(addressed) }
}

/// Whether the goal has the value as where something is.
fn is_place(wishes: &goal::Wishes, node: &flow::Node) -> bool {
    let Kind::Grounded(flow::Ground::Goal { from, to }) = node.kind else { return false };
    let placed = |at: usize| {
        let word =
            wishes.before(at).find(|word| !matches!(*word, "the" | "a" | "our" | "my" | "namespace" | "cluster"));
        word.is_some_and(|word| matches!(word, "on" | "in" | "from" | "at" | "within" | "inside"))
    };
    placed(from) && wishes.again(from..to).all(placed)
}

/// Whether the goal has the value only as where something comes from or what it is about, and not as whom it is for.
fn is_spoken_of(wishes: &goal::Wishes, node: &flow::Node) -> bool {
    let Kind::Grounded(flow::Ground::Goal { from, to }) = node.kind else { return false };
    let about = |at: usize| {
        let word =
            wishes.before(at).find(|word| !matches!(*word, "the" | "a" | "our" | "my" | "his" | "her" | "their"));
        word.is_some_and(|word| {
            matches!(word, "from" | "about" | "regarding" | "concerning" | "except" | "without" | "instead")
        })
    };
    about(from) && wishes.again(from..to).all(about)
}

/// Whether the goal says the source where the step has the destination, or the other way round.
fn is_turned_round<'n>(prepared: &Prepared<'_>, nodes: impl Iterator<Item = &'n flow::Node>) -> bool {
    let words: Vec<(bool, &str)> = nodes
        .filter_map(|node| {
            let Kind::Grounded(flow::Ground::Goal { from, .. }) = node.kind else { return None };
            let name = node.name.rsplit('/').next()?;
            let part = |list: &[&str]| name.split(['_', '-']).any(|part| list.contains(&part));
            let destination = part(&["to", "destination", "dest", "dst", "recipient", "target", "new", "into"]);
            let source = part(&["from", "source", "src", "sender", "old"]);
            let mut before = prepared.goal.before(from);
            let place = before.find(|word| matches!(*word, "from" | "to" | "into" | "onto"))?;
            (destination != source).then_some((destination, place))
        })
        .collect();
    let both = words.iter().any(|(to, _)| *to) && words.iter().any(|(to, _)| !to);
    both && words.iter().any(|(to, word)| *to == (*word == "from"))
}

/// Whether every listed receiver is one of the house whom the goal calls by name ("Nora" for `nora@…`).
fn is_colleague(goal: &str, touches: &[Touch]) -> bool {
    let mut receivers = touches.iter().filter(|touch| !touch.effect.is_harmless() && touch.standing.is_some());
    receivers.all(|touch| {
        let house = touch.standing.is_some_and(|standing| standing <= Standing::Internal);
        let name = touch.name.split_once('@').map_or(touch.name.as_str(), |(name, _)| name);
        house && (goal::names(Some(goal), name) || goal::names(Some(goal), &touch.name))
    })
}

/// Whether the step runs a program, other than a helper agent whose tools change nothing.
fn runs(definition: &Definition, sinks: &[&Sink]) -> bool {
    let helper = definition.target.kind == TargetKind::Process
        && sinks.iter().flat_map(|sink| &sink.decides).all(|(_, means)| *means == Some(Means::Judged));
    definition.effect == Effect::Execute && !helper
}

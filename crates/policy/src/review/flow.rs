//! The cheap, sound part of information flow: references to declared labels. The whole of FLOW.md (labels of literals, sessions,
//! conditions, endorsements) is a proof of its own; until it is there, this asks where a declared label says so and never waives.
//!
//! Conservative: a file's content is open whoever wrote it; a result's secrecy is the strictest of what it may hold; a literal is
//! public, so a planner that copies a secret into a literal is not seen here.

use std::collections::BTreeMap;

use countersign_plan::id::StepId;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Effect, OutputLabel, Secrecy, TargetKind, Trust};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use super::Request;
use super::prepare::Prepared;
use crate::deployment::{SecrecyLevel, Standing, is_path_kind};
use crate::effects::Touch;

/// How trusted a value is: who could have written it. Ordered from open to system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Open,
    Party,
    User,
    System,
}

/// The label of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    pub(super) trust: Level,
    pub(super) secrecy: SecrecyLevel,
}

impl Label {
    /// A literal of the draft, as far as this part of the flow looks.
    const LITERAL: Self = Self { trust: Level::System, secrecy: SecrecyLevel::Public };
    /// What is known of nothing.
    const UNKNOWN: Self = Self { trust: Level::Open, secrecy: SecrecyLevel::Restricted };

    fn join(self, other: Self) -> Self {
        Self { trust: self.trust.min(other.trust), secrecy: self.secrecy.max(other.secrecy) }
    }
}

/// The plan with the labels of each step's arguments, worked out once in the order of the plan: references point backwards, so
/// each label is made of those before it.
#[derive(Debug)]
pub(super) struct Flow<'v, 'a> {
    request: &'v Request<'a>,
    steps: BTreeMap<&'v StepId, (&'v Prepared<'a>, SecrecyLevel)>,
}

impl<'v, 'a> Flow<'v, 'a> {
    pub(super) fn new(request: &'v Request<'a>, steps: &'v [Prepared<'a>]) -> Self {
        let mut flow = Self { request, steps: BTreeMap::new() };
        for prepared in steps {
            let secrecy = flow.of(&prepared.step.args).secrecy;
            flow.steps.insert(&prepared.step.id, (prepared, secrecy));
        }
        flow
    }

    /// The label of an expression.
    fn of(&self, expr: &Expr) -> Label {
        match expr {
            Expr::Null | Expr::Bool(_) | Expr::Number(_) | Expr::Text(_) | Expr::Literal(_) => Label::LITERAL,
            Expr::Input(_) => Label { trust: Level::User, secrecy: SecrecyLevel::Internal },
            // Where a secret may stand is the manifest's and the deployment's to say.
            Expr::Secret(_) => Label::LITERAL,
            Expr::Array(items) | Expr::Join(items) => {
                items.iter().fold(Label::LITERAL, |label, item| label.join(self.of(item)))
            }
            Expr::Object(members) => members.values().fold(Label::LITERAL, |label, item| label.join(self.of(item))),
            Expr::From { step, at } => self.output(step, at),
        }
    }

    /// The label of a part of a step's output.
    fn output(&self, step: &StepId, at: &Pointer) -> Label {
        let Some((producer, of_args)) = self.steps.get(step) else { return Label::UNKNOWN };
        let Some(tool) = producer.tool else { return Label::UNKNOWN };
        let declared: &OutputLabel = &tool.definition().output;
        let one = |trust: Trust, secrecy: Secrecy| Label {
            trust: match trust {
                Trust::System => Level::System,
                Trust::User => Level::User,
                Trust::Party => Level::Party,
                Trust::Open | Trust::Target => Level::Open,
            },
            secrecy: match secrecy {
                Secrecy::Public => SecrecyLevel::Public,
                Secrecy::Internal => SecrecyLevel::Internal,
                Secrecy::Confidential => SecrecyLevel::Confidential,
                Secrecy::Restricted => SecrecyLevel::Restricted,
                Secrecy::Target => of_targets(self.request, producer),
                Secrecy::Args => (*of_args).max(SecrecyLevel::Internal),
            },
        };
        let deepest = declared.fields.iter().filter(|field| field.at.covers(at)).max_by_key(|f| f.at.segments().len());
        match deepest {
            Some(field) => one(field.trust, field.secrecy),
            // The whole result, or a part that holds labelled fields: all of them together.
            None => declared
                .fields
                .iter()
                .filter(|field| at.covers(&field.at))
                .fold(one(declared.trust, declared.secrecy), |l, field| l.join(one(field.trust, field.secrecy))),
        }
    }
}

/// What the flow of declared labels says about a step.
pub(super) fn check(request: &Request<'_>, flow: &Flow<'_, '_>, prepared: &Prepared<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let Some(tool) = prepared.tool else { return reasons };
    let definition = tool.definition();
    // At the permit the concrete value stands in for the reference; where it came from has not changed.
    let args = &prepared.step.args;
    if prepared.has_effect() {
        for at in &definition.controls {
            each_reference(args, at, &mut |place, expr| {
                if flow.of(expr).trust == Level::Open && !is_bounded_write(request, prepared, at) {
                    let message = format!("open data chooses {place}, which decides what happens");
                    let fix = "write the value out, or have a person endorse it";
                    let reason = Reason::new(Code::FlowUntrustedControl, Decision::RequireApproval, message).fix(fix);
                    reasons.push(way(reason, prepared, place, expr));
                }
            });
        }
    }
    unresolved(flow, prepared, &mut reasons);
    released(request, flow, prepared, &mut reasons);
    reasons
}

/// Recoverable writes in the workspace need no grounding: at the permit the concrete path shows that it is one.
fn is_bounded_write(request: &Request<'_>, prepared: &Prepared<'_>, at: &Pointer) -> bool {
    let target = prepared.tool.is_some_and(|tool| tool.definition().target.arg.as_ref() == Some(at));
    let recoverable = !prepared.irreversible;
    prepared.concrete && target && recoverable && {
        let mut paths = prepared.derived.touches.iter().filter(|t| !t.effect.is_harmless()).map(Touch::seen);
        paths.all(|seen| seen.is_some_and(|seen| request.deployment.in_workspace(&seen)))
    }
}

/// What is touched under a name that is not known yet: asks, unless it only reads something that is neither file nor host and a
/// trusted field names it.
fn unresolved(flow: &Flow<'_, '_>, prepared: &Prepared<'_>, reasons: &mut Vec<Reason>) {
    for open in &prepared.derived.open {
        let placed = is_path_kind(open.kind)
            || matches!(open.kind, TargetKind::Host | TargetKind::Url | TargetKind::Database | TargetKind::Process);
        if open.effect.is_harmless() && !placed {
            continue;
        }
        let mut trusted = true;
        each_reference(&prepared.step.args, &open.at, &mut |_, expr| {
            trusted &= flow.of(expr).trust >= Level::User;
        });
        if open.effect.is_harmless() && trusted {
            continue;
        }
        let message = format!("{} names what is touched and has no value before the plan runs", open.at);
        reasons.push(Reason::new(Code::ResourceUnresolved, Decision::RequireApproval, message));
    }
}

/// What leaves through `carries` against the clearance of who receives it.
fn released(request: &Request<'_>, flow: &Flow<'_, '_>, prepared: &Prepared<'_>, reasons: &mut Vec<Reason>) {
    let Some(tool) = prepared.tool else { return };
    let Some((receiver, clearance)) = audience(request, prepared) else { return };
    let mut carried = SecrecyLevel::Public;
    let mut from = None;
    for at in &tool.definition().carries {
        each_reference(&prepared.step.args, at, &mut |place, expr| {
            let label = flow.of(expr);
            if label.secrecy > carried {
                carried = label.secrecy;
                from = Some((place.clone(), expr.clone()));
            }
        });
    }
    // Files that are sent along.
    let sends = prepared.derived.touches.iter().any(|touch| touch.effect == Effect::Send);
    for touch in prepared.derived.touches.iter().filter(|touch| sends && touch.effect.is_harmless()) {
        if let Some(seen) = touch.seen().filter(|_| !touch.is_open()) {
            let level = request.deployment.secrecy(&seen);
            if level > carried {
                carried = level;
                from = None;
            }
        }
    }
    if carried <= clearance {
        return;
    }
    let decision = if carried == SecrecyLevel::Restricted { Decision::Block } else { Decision::RequireApproval };
    let message =
        format!("{} data would reach {receiver}, who is cleared for {}", carried.as_str(), clearance.as_str());
    let reason = Reason::new(Code::FlowClearance, decision, message);
    reasons.push(match from {
        Some((place, expr)) => way(reason, prepared, &place, &expr),
        None => reason,
    });
}

/// The farthest receiver of a step and what may flow there; nobody where nothing leaves.
fn audience(request: &Request<'_>, prepared: &Prepared<'_>) -> Option<(String, SecrecyLevel)> {
    let receivers = prepared.derived.touches.iter().filter_map(|touch| {
        let named = || if touch.is_open() { "somebody not known yet".to_owned() } else { touch.name.clone() };
        match (touch.effect, touch.kind) {
            // A request carries its URL, headers and body to the host, whatever its method.
            (_, TargetKind::Host | TargetKind::Url) | (Effect::Send, _) => {
                Some((named(), touch.standing.unwrap_or(Standing::Other)))
            }
            (Effect::Pay, _) => Some((named(), touch.standing.unwrap_or(Standing::Other))),
            (
                Effect::None
                | Effect::Read
                | Effect::Create
                | Effect::Update
                | Effect::Delete
                | Effect::Execute
                | Effect::Admin,
                _,
            ) => None,
        }
    });
    let (name, standing) = receivers.max_by_key(|(_, standing)| *standing)?;
    Some((name, request.deployment.clearance(standing)))
}

/// How secret what a step reads is.
fn of_targets(request: &Request<'_>, producer: &Prepared<'_>) -> SecrecyLevel {
    let levels = producer.derived.touches.iter().filter(|touch| touch.effect.is_harmless()).map(|touch| {
        if touch.is_open() {
            return SecrecyLevel::Confidential;
        }
        match (touch.seen(), touch.standing) {
            (Some(seen), _) => request.deployment.secrecy(&seen),
            (None, Some(Standing::Known | Standing::Other)) => SecrecyLevel::Public,
            (None, Some(Standing::User | Standing::Internal) | None) => SecrecyLevel::Internal,
        }
    });
    levels.max().unwrap_or(SecrecyLevel::Internal)
}

/// Calls `visit` with every reference in the argument that `at` points to.
fn each_reference(args: &Expr, at: &Pointer, visit: &mut dyn FnMut(&Pointer, &Expr)) {
    args.references(&mut |place, expr| {
        if matches!(expr, Expr::From { .. }) && (at.covers(place) || place.covers(at)) {
            visit(place, expr);
        }
    });
}

fn way(mut reason: Reason, prepared: &Prepared<'_>, place: &Pointer, expr: &Expr) -> Reason {
    if let Expr::From { step, at } = expr {
        reason.path = vec![format!("{step}{at}"), format!("{}{place}", prepared.step.id)];
    }
    reason
}

//! A step made ready for judging: its tool, its arguments with the user's inputs in place, what it touches, what takes it back.

use std::rc::Rc;

use countersign_plan::confinement::Profile;
use countersign_plan::draft::{Rollback, Step};
use countersign_plan::egress::Egress;
use countersign_plan::tool::{Definition, Driver, Effect, Reversibility, TargetKind, Tool};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};
use serde_json::Value;

use super::bounds::Bounds;
use super::goal::Wishes;
use super::{Grants, Request, ReversibleBy, StepReview};
use crate::deployment::Standing;
use crate::effects::{self, Beyond, By, Derived, Scene, Written};
use crate::facts::Facts;
use crate::flow::fill;

/// A step with everything that judging it needs.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) step: &'a Step,
    /// `None` where no tool of that name exists.
    pub(super) tool: Option<&'a Tool>,
    pub(super) args: Expr,
    /// The arguments as far as they are known, null where they are not.
    pub(super) given: Value,
    pub(super) derived: Derived,
    pub(super) reversible_by: ReversibleBy,
    pub(super) irreversible: bool,
    /// Whether the arguments are those of the permit, without holes.
    pub(super) concrete: bool,
    /// What was written before this step.
    pub(super) written: Rc<Written>,
    /// What the pinned goal asks for.
    pub(super) goal: Rc<Wishes>,
    /// What was wrong before anything could be judged.
    pub(super) faults: Vec<Reason>,
}

impl<'a> Prepared<'a> {
    /// Every step of the plan.
    pub(super) fn all(request: &Request<'a>) -> Vec<Self> {
        let mut written = Rc::new(request.session.written().clone());
        let goal = Rc::new(Wishes::of(request.pinned_goal));
        let mut all = Vec::with_capacity(request.draft.steps().len());
        for step in request.draft.steps() {
            let prepared = Self::of(request, step, (&written, &goal));
            if let Some(tool) = prepared.tool
                && Written::concerns(&prepared.derived)
            {
                Rc::make_mut(&mut written).write_down(tool.definition(), &prepared.args, &prepared.derived);
            }
            all.push(prepared);
        }
        all
    }

    fn of(request: &Request<'a>, step: &'a Step, before: (&Rc<Written>, &Rc<Wishes>)) -> Self {
        match effects::substitute(&step.args, request.inputs) {
            Ok(args) => Self::with(request, step, args, false, before),
            Err(name) => {
                let mut prepared = Self::with(request, step, step.args.clone(), false, before);
                let message = format!("the input `{name}` was not given with the goal");
                prepared.faults.push(Reason::block(Code::PlanInputMissing, message).at(&step.id));
                prepared
            }
        }
    }

    /// The step with the arguments of a permit.
    pub(super) fn with_concrete(&self, request: &Request<'a>, args: &Value) -> Self {
        Self::with(request, self.step, Expr::of_concrete(args), true, (&self.written, &self.goal))
    }

    fn with(
        request: &Request<'a>,
        step: &'a Step,
        args: Expr,
        concrete: bool,
        (written, goal): (&Rc<Written>, &Rc<Wishes>),
    ) -> Self {
        let mut faults = Vec::new();
        let tool = request.manifest.get(&step.action);
        let derived = match tool {
            Some(tool) => {
                let scene = Scene { deployment: request.deployment, facts: request.facts, written };
                let mut derived = effects::derive(tool.definition(), &args, scene);
                let bounds = Bounds::of(request.draft.privileges());
                bounds.narrow_view(&mut derived, request);
                bounds.narrow_start(&mut derived, tool.definition(), request);
                bounds.connections(&mut derived, tool.definition(), request);
                derived
            }
            None => {
                let message = format!("no tool named `{}` exists here", step.action);
                faults.push(Reason::block(Code::ToolUnknown, message).at(&step.id));
                Derived::default()
            }
        };
        let (reversible_by, irreversible) = match tool {
            Some(tool) => reversibility(tool, step, &derived, request.facts),
            None => (ReversibleBy::None, true),
        };
        let (written, goal, given) = (Rc::clone(written), Rc::clone(goal), fill(&args));
        Self { step, tool, args, given, derived, reversible_by, irreversible, concrete, written, goal, faults }
    }

    /// The texts among its arguments.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.given.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str())
    }

    /// An argument that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name)?.as_str()
    }

    /// The texts of an argument that is a list.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        self.given.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// What it calls Git with, without the options for Git as a whole (git(1)).
    pub(super) fn git_calls(&self) -> impl Iterator<Item = Vec<&str>> {
        let calls = self.derived.calls.iter().filter(|call| call.first().is_some_and(|name| name == "git"));
        calls.map(|call| {
            let mut args = call.iter().map(String::as_str).skip(1).peekable();
            while let Some(option) = args.next_if(|arg| arg.starts_with('-')) {
                if matches!(option, "-C" | "-c") {
                    args.next();
                }
            }
            args.collect()
        })
    }

    /// Whether the manifest says that nothing takes the tool's effect back.
    pub(super) fn irreversible_by_manifest(&self) -> bool {
        self.tool.is_some_and(|tool| tool.definition().reversibility == Reversibility::Irreversible)
    }

    /// Whether the tool acts elsewhere: nothing is started on this machine.
    pub(super) fn is_remote(&self) -> bool {
        self.tool.is_some_and(|tool| remote(tool.definition()) || matches!(tool.definition().driver, Driver::None))
    }

    /// Whether the touch removes what the plan itself made and nobody asked for: it may go as it came.
    pub(super) fn clears_up(&self, touch: &effects::Touch) -> bool {
        let base = touch.name.rsplit('/').next().unwrap_or(&touch.name);
        let own = touch.effect == Effect::Delete && !touch.recursive && !touch.pattern;
        own && self.written.made(&touch.name) && !self.goal.name(base)
    }

    /// The tool's group.
    pub(super) fn group(&self) -> Option<&str> {
        self.tool.and_then(|tool| tool.definition().group.as_deref())
    }

    /// Whether the step changes anything.
    pub(super) fn has_effect(&self) -> bool {
        self.derived.touches.iter().any(|touch| !touch.effect.is_harmless())
    }

    /// What is reported about the step.
    pub(super) fn review(
        &self,
        request: &Request<'_>,
        reasons: &[Reason],
        masked: Vec<String>,
        read_only: Vec<String>,
    ) -> StepReview {
        let decision = reasons.iter().map(|reason| reason.decision).max().unwrap_or(Decision::Allow);
        StepReview {
            id: self.step.id.clone(),
            decision,
            accesses: self.derived.touches.iter().map(effects::Touch::access).collect(),
            irreversible: self.irreversible,
            reversible_by: self.reversible_by,
            profile: self.profile(),
            grants: self.grants(request),
            masked,
            read_only,
            egress: self.egress(request),
        }
    }

    fn egress(&self, request: &Request<'_>) -> Egress {
        let Some(tool) = self.tool else { return Egress::default() };
        let scene = Scene { deployment: request.deployment, facts: request.facts, written: &self.written };
        effects::egress(tool.definition(), &self.args, &self.derived, request.deployment, scene)
    }

    fn profile(&self) -> Profile {
        self.derived.profile.unwrap_or(Profile::None)
    }

    fn grants(&self, request: &Request<'_>) -> Grants {
        let mut grants = Grants { run: self.derived.programs.clone(), ..Grants::default() };
        for touch in &self.derived.touches {
            if let Some(endpoint) = &touch.endpoint {
                grants.connect.push(endpoint.to_string());
            } else if touch.seen().is_some() && !touch.is_open() {
                let path = touch.resolved.as_ref().unwrap_or(&touch.name).clone();
                // Of a pattern the folder that it hangs from is shown.
                let path = if touch.pattern { effects::literal_folder(&path).to_owned() } else { path };
                if touch.changes() {
                    grants.write.push(path);
                } else {
                    grants.read.push(path);
                }
            }
        }
        let command = self.tool.is_some_and(|tool| matches!(tool.definition().driver, Driver::Command(_)));
        let viewed = self.derived.touches.iter().any(|touch| touch.by == By::View);
        if viewed || command || self.profile() == Profile::Toolchain {
            grants.read.extend(Bounds::of(request.draft.privileges()).readable_roots(request));
        }
        if let Some(tool) = self.tool {
            grants.secrets.extend(effects::secrets(tool.definition(), &self.step.args));
        }
        for list in [&mut grants.read, &mut grants.write, &mut grants.run, &mut grants.connect] {
            list.sort_unstable();
            list.dedup();
        }
        grants
    }
}

/// What takes the step back, and whether nothing does although something happens.
fn reversibility(tool: &Tool, step: &Step, derived: &Derived, facts: &dyn Facts) -> (ReversibleBy, bool) {
    let definition = tool.definition();
    let by = match (definition.reversibility, &step.rollback) {
        (Reversibility::Pure, _) => match derived.beyond_manifest {
            None => ReversibleBy::Nothing,
            Some(Beyond::Snapshot) => match step.rollback {
                Some(Rollback::None) => ReversibleBy::None,
                Some(Rollback::Action { .. }) => ReversibleBy::Action,
                Some(Rollback::Snapshot) | None => ReversibleBy::Snapshot,
            },
            Some(Beyond::Remote) if matches!(step.rollback, Some(Rollback::Action { .. })) => ReversibleBy::Action,
            // What a request changes at a host of the house is that host's to answer for (the row for networks).
            Some(Beyond::Remote) if received_inside(derived) => ReversibleBy::Nothing,
            Some(Beyond::Remote | Beyond::Nothing) => ReversibleBy::None,
        },
        (Reversibility::Irreversible, _) | (_, Some(Rollback::None)) => ReversibleBy::None,
        (_, Some(Rollback::Action { .. })) => ReversibleBy::Action,
        // Nothing on this machine shows what a request or a server changed elsewhere.
        (Reversibility::Snapshot, Some(Rollback::Snapshot) | None) if remote(definition) => ReversibleBy::None,
        (Reversibility::Snapshot, Some(Rollback::Snapshot) | None) => ReversibleBy::Snapshot,
        (Reversibility::Compensable, Some(Rollback::Snapshot) | None) => ReversibleBy::None,
    };
    let by = if only_reads(derived) && by == ReversibleBy::Snapshot { ReversibleBy::Nothing } else { by };
    // What is too large to be copied before the step cannot be put back after it.
    let by = if by == ReversibleBy::Snapshot && !fits_snapshot(derived, facts) { ReversibleBy::None } else { by };
    let irreversible = step.irreversible
        || definition.reversibility == Reversibility::Irreversible
        || (by == ReversibleBy::None && !only_reads(derived));
    (if irreversible { ReversibleBy::None } else { by }, irreversible)
}

/// Whether the tool acts elsewhere than on this machine.
const fn remote(definition: &Definition) -> bool {
    match &definition.driver {
        Driver::Http(_) => true,
        Driver::Mcp(driver) => driver.argv.is_empty(),
        Driver::None | Driver::Builtin(_) | Driver::Command(_) => false,
    }
}

fn fits_snapshot(derived: &Derived, facts: &dyn Facts) -> bool {
    let paths: Vec<&str> = derived
        .touches
        .iter()
        .filter(|touch| !touch.effect.is_harmless() && matches!(touch.kind, TargetKind::File | TargetKind::Directory))
        .map(|touch| touch.resolved.as_deref().unwrap_or(&touch.name))
        .collect();
    facts.fit_snapshot(&paths)
}

fn received_inside(derived: &Derived) -> bool {
    let mut standings = derived.touches.iter().filter(|t| !t.effect.is_harmless()).map(|t| t.standing);
    standings.all(|standing| standing.is_some_and(|s| s <= Standing::Internal))
}

/// Whether nothing is touched beyond reading; executing what only reads (git's listing commands) included.
fn only_reads(derived: &Derived) -> bool {
    let harmless = |effect: Effect| effect.is_harmless() || effect == Effect::Execute;
    derived.execution <= effects::Execution::ReadsUnnamed && derived.touches.iter().all(|touch| harmless(touch.effect))
}

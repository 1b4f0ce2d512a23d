//! Whether a request for leave stands: the per-step check that an approval of the plan never switches off (`lesson_20`,
//! `lesson_21`, `lesson_23`). Arguments, schema, policy, digests and what is touched are compared again, on concrete values.

use std::borrow::Cow;

use countersign_plan::access::Access;
use countersign_plan::confinement::Profile;
use countersign_plan::draft::{Draft, Rollback, Step};
use countersign_plan::id::{StepId, ToolName};
use countersign_plan::permit::Phase;
use countersign_plan::resolve::{SECRET_HANDLE, resolve};
use countersign_plan::time::Timestamp;
use countersign_plan::tool::{Driver, Effect, TargetKind, Tool};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};
use countersign_policy::facts::Facts;
use countersign_policy::flow::{Level, Session};
use countersign_policy::review::{Request, StepReview, recheck};
use serde_json::{Value, json};

use crate::case::{Running, words};
use crate::configuration::{Configuration, Places};
use crate::confine::{Confined, NoLeave, Task};

/// One request for leave.
#[derive(Clone, Copy)]
pub(crate) struct Judging<'a> {
    pub(crate) running: &'a Running,
    pub(crate) step: &'a StepId,
    pub(crate) phase: Phase,
    pub(crate) present: &'a Configuration,
    pub(crate) places: &'a Places,
    pub(crate) facts: &'a dyn Facts,
    pub(crate) now: Timestamp,
}

impl Judging<'_> {
    /// The sandbox and order of the attempt, if it may happen.
    ///
    /// # Errors
    /// Why it may not.
    pub(crate) fn judge(&self) -> Result<Confined, NoLeave> {
        let dossier = self.running.dossier();
        let unknown = || NoLeave::new(Code::SeparationViolation, "the plan has no such step");
        let step = dossier.draft.step(self.step).ok_or_else(unknown)?;
        let approved = dossier.review(self.step).ok_or_else(unknown)?;
        self.unchanged()?;
        match self.phase {
            Phase::Snapshot | Phase::Act => {
                let tool = self.tool(&step.action)?;
                let args = self.arguments(tool, &step.args)?;
                let (fresh, reasons) = recheck(
                    &self.request(&dossier.draft, &words(dossier.seen, self.facts.session())),
                    self.step,
                    &args,
                );
                if let Some(drift) = drift(approved, &fresh, &reasons, &step.args) {
                    return Err(drift);
                }
                carried(tool, &fresh)?;
                let task = self.task(step, &step.action, &args, &fresh);
                if self.phase == Phase::Snapshot { task.snapshot() } else { task.act() }
            }
            Phase::Restore => {
                let missing = || NoLeave::new(Code::InternalError, "no snapshot of this step was kept");
                let (kept, index) = self.running.snapshots.get(self.step).ok_or_else(missing)?;
                self.task(step, &step.action, &kept.order.args, approved).restore(kept, *index)
            }
            Phase::Compensate => self.compensate(step),
        }
    }

    /// The tools, policy and deployment are the ones that judged.
    fn unchanged(&self) -> Result<(), NoLeave> {
        let plan = &self.running.dossier().plan;
        if self.present.policy.digest() != plan.policy_digest
            || self.present.deployment.digest() != plan.deployment_digest
        {
            let message = "policy or deployment changed since the plan was judged; propose it again";
            return Err(NoLeave::new(Code::PolicyChanged, message));
        }
        Ok(())
    }

    /// The tool as the plan pinned it.
    fn tool(&self, name: &ToolName) -> Result<&Tool, NoLeave> {
        let changed =
            || NoLeave::new(Code::ToolChanged, format!("`{name}` is not the tool that the plan was judged with"));
        let tool = self.present.manifest.get(name).ok_or_else(changed)?;
        if self.running.dossier().plan.tools.get(name) != Some(&tool.digest()) {
            return Err(changed());
        }
        Ok(tool)
    }

    /// Concrete arguments that fit the tool.
    fn arguments(&self, tool: &Tool, args: &Expr) -> Result<Value, NoLeave> {
        let plan = &self.running.dossier().plan;
        let args = resolve(args, &self.running.outputs, &plan.inputs)
            .map_err(|e| NoLeave::new(Code::ResourceUnresolved, e.to_string()))?;
        let written = Expr::of_concrete(&args);
        let fits = match written.literal() {
            Some(args) => tool.arguments().check(&args),
            None => tool.arguments().check_with_holes(&written),
        };
        fits.map_err(|e| NoLeave::new(Code::ToolArguments, e.to_string()))?;
        Ok(args)
    }

    /// A compensation is judged as what it is: one action with concrete arguments. What is blocked stays blocked. What asks was
    /// answered with the plan, if people approved that, or if no step chose its arguments: then the policy judged the very same
    /// action when the plan was reviewed.
    fn compensate(&self, step: &Step) -> Result<Confined, NoLeave> {
        let Some(Rollback::Action { action, args }) = &step.rollback else {
            return Err(NoLeave::new(Code::SeparationViolation, "the plan names no action that takes this step back"));
        };
        let tool = self.tool(action)?;
        let mut chosen = false;
        args.references(&mut |_, expr| chosen |= matches!(expr, Expr::From { .. }));
        let args = self.arguments(tool, args)?;
        let draft = single(step, action, &args, privileges_of(&self.running.dossier().draft))?;
        let (fresh, reasons) =
            recheck(&self.request(&draft, &words(self.running.dossier().seen, self.facts.session())), &step.id, &args);
        let asked = self.running.dossier().verdict.decision == Decision::RequireApproval;
        let answered = match fresh.decision {
            Decision::Allow => true,
            Decision::RequireApproval => asked || !chosen,
            Decision::Block => false,
        };
        if !answered {
            return Err(refusal(fresh.decision, &reasons));
        }
        carried(tool, &fresh)?;
        self.task(step, action, &args, &fresh).act()
    }

    fn request<'b>(&'b self, draft: &'b Draft, (planner, session): &'b (Level, Cow<'b, Session>)) -> Request<'b> {
        let dossier = self.running.dossier();
        Request {
            draft,
            manifest: &self.present.manifest,
            deployment: &self.present.deployment,
            policy: &self.present.policy,
            changes: &self.present.changes,
            facts: self.facts,
            inputs: &dossier.plan.inputs,
            requester: &dossier.plan.principal,
            mode: dossier.plan.mode,
            // Nobody's goal asks for taking back, nor does the name that a single intent is given.
            pinned_goal: Some(draft.goal()).filter(|goal| dossier.pinned && dossier.goal == *goal),
            authentic: dossier.authentic,
            planner: *planner,
            session,
            now: self.now,
        }
    }

    fn task<'b>(&'b self, step: &'b Step, tool: &'b ToolName, args: &'b Value, review: &'b StepReview) -> Task<'b> {
        let expects: &[_] = if self.phase == Phase::Act { &step.expect } else { &[] };
        Task {
            step: &step.id,
            phase: self.phase,
            tool,
            args,
            review,
            expects,
            plan: &self.running.dossier().plan,
            configuration: self.present,
            places: self.places,
            facts: self.facts,
        }
    }
}

/// The bounds that the plan asked for, as it wrote them: what takes a step back stays within them too.
fn privileges_of(draft: &Draft) -> Option<&Value> {
    draft.source().get("privileges")
}

/// A plan of one step with concrete arguments, none of which reads as a reference.
fn single(step: &Step, action: &ToolName, args: &Value, privileges: Option<&Value>) -> Result<Draft, NoLeave> {
    let args = if args.is_object() { literal(args) } else { json!({}) };
    let mut one = json!({"id": step.id, "action": action, "args": args});
    if let (Some(change), Some(members)) = (&step.change_request, one.as_object_mut()) {
        members.insert("change_request".to_owned(), json!(change));
    }
    let mut source = json!({"schema": countersign_plan::draft::SCHEMA, "goal": "Take a step back", "steps": [one]});
    if let (Some(privileges), Some(members)) = (privileges, source.as_object_mut()) {
        members.insert("privileges".to_owned(), privileges.clone());
    }
    Draft::from_value(source).map_err(|e| NoLeave::new(Code::InternalError, e.to_string()))
}

/// Concrete arguments as a plan writes them, none of which reads as a reference but the secrets that the plan itself named:
/// nothing else in concrete arguments looks like a handle.
fn literal(value: &Value) -> Value {
    match value {
        Value::Object(members) if members.contains_key(SECRET_HANDLE) => value.clone(),
        Value::Object(members) if members.values().any(holds_secret) || members.keys().all(|k| !k.starts_with('$')) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), literal(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(literal).collect()),
        Value::Object(_) => json!({"$lit": value}),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// What differs from the step that was approved, if it matters.
fn drift(approved: &StepReview, fresh: &StepReview, reasons: &[Reason], written: &Expr) -> Option<NoLeave> {
    if fresh.decision > approved.decision {
        return Some(refusal(fresh.decision, reasons));
    }
    if let Some(other) = fresh.egress.secrets.iter().find(|grant| !approved.grants.secrets.contains(&grant.name)) {
        let message =
            format!("the step would use the secret `{}`, which was not in the plan that was judged", other.name);
        return Some(NoLeave::new(Code::ResourceChanged, message));
    }
    if freedom(fresh.profile) > freedom(approved.profile) {
        return Some(NoLeave::new(
            Code::ResourceChanged,
            "the step needs a wider sandbox than the one that was approved",
        ));
    }
    let open = written.literal().is_none();
    let known = |access: &Access| {
        approved.accesses.iter().any(|known| covers(known, access) || (open && begins(known, access)))
    };
    let strange = fresh.accesses.iter().find(|access| !known(access))?;
    let (effect, name) = (strange.effect, strange.resource.path());
    let message = format!("the step would {effect} {name}, which was not in the plan that was judged");
    Some(NoLeave::new(Code::ResourceChanged, message))
}

const fn freedom(profile: Profile) -> u8 {
    match profile {
        Profile::None => 0,
        Profile::Exact => 1,
        Profile::Toolchain => 2,
    }
}

/// Whether an access was in the review as `known`. A name that no reference had filled stands for any; a file that an earlier
/// step made is updated and not created, which is the same to the file.
fn covers(known: &Access, fresh: &Access) -> bool {
    let write = |effect: Effect| if effect == Effect::Create { Effect::Update } else { effect };
    let kind = |kind: TargetKind| if kind == TargetKind::Directory { TargetKind::File } else { kind };
    let same = write(known.effect) == write(fresh.effect)
        && kind(known.resource.kind) == kind(fresh.resource.kind)
        && (known.recursive || !fresh.recursive);
    let place = |access: &Access| (access.resource.name.clone(), access.resource.path().to_owned());
    same && (known.resource.name.is_empty() || place(known) == place(fresh))
}

/// Whether a URL that references have completed is what was judged as the beginning of it: the same effect on the same host, and
/// below the same path, with nothing that leads out of it.
fn begins(known: &Access, fresh: &Access) -> bool {
    known.effect == fresh.effect
        && known.resource.kind == TargetKind::Url
        && fresh.resource.kind == TargetKind::Url
        && countersign_policy::hosts::continues(&known.resource.name, &fresh.resource.name)
}

/// Whether something here carries out every connection of the step.
fn carried(tool: &Tool, fresh: &StepReview) -> Result<(), NoLeave> {
    let by_server = matches!(tool.definition().driver, Driver::Mcp(_));
    let asked = !fresh.egress.http.is_empty() || !fresh.egress.connect.is_empty();
    let leaves = |access: &Access| matches!(access.resource.kind, TargetKind::Host | TargetKind::Url);
    if asked || by_server || !fresh.accesses.iter().any(leaves) {
        return Ok(());
    }
    let names: Vec<&str> =
        fresh.accesses.iter().filter(|access| leaves(access)).map(|a| a.resource.name.as_str()).collect();
    let message = format!("nothing here lets `{}` connect to {}", tool.definition().name, names.join(", "));
    Err(NoLeave::new(Code::ToolDriverUnavailable, message))
}

/// The strictest reason, as a refusal.
fn refusal(decision: Decision, reasons: &[Reason]) -> NoLeave {
    match reasons.iter().find(|reason| reason.decision == decision) {
        Some(reason) => NoLeave::new(reason.code, &reason.message),
        None => {
            NoLeave::new(Code::InternalError, "the step is judged more strictly than the plan was, without a reason")
        }
    }
}

/// Whether a `$secret` handle stands anywhere in concrete arguments.
fn holds_secret(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_secret),
        Value::Object(members) => members.contains_key(SECRET_HANDLE) || members.values().any(holds_secret),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::draft::Draft;
    use countersign_plan::value::Expr;
    use serde_json::json;

    use super::single;

    /// Taking back is judged with the handle as a secret, and with every other object as the literal that it is.
    #[test]
    fn a_secret_of_a_compensation_stays_a_handle_and_nothing_else_becomes_a_reference() {
        let plan = json!({"schema": "countersign.plan/v1", "goal": "g", "steps": [
            {"id": "s", "action": "http_request", "args": {"method": "GET", "url": "https://x.example/"}},
        ]});
        let draft = Draft::from_value(plan).unwrap();
        let args = json!({
            "url": "https://x.example/", "headers": {"authorization": {"$secret": "token"}, "x": "1"},
            "body": {"a": [{"$from": "s"}], "$join": ["x"]}, "more": [1, {"b": {"c": null}}],
        });
        let action = "http_request".parse().unwrap();
        let one = single(draft.steps().first().unwrap(), &action, &args, None).unwrap();
        let step = one.steps().first().unwrap();
        let mut found = Vec::new();
        step.args.references(&mut |at, expr| found.push((at.to_string(), expr.clone())));
        let secret = Expr::Secret("token".parse().unwrap());
        assert_eq!(found, [("/headers/authorization".to_owned(), secret)]);
        let body = step.args.at(&"/body".parse().unwrap()).unwrap().literal().unwrap();
        assert_eq!(body, args["body"]);
    }
}

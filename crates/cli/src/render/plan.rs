//! The plan that is reviewed: exactly the bytes that are signed, every step of them, with what each may touch (INV-3).

use countersign_plan::access::{Access, Resource};
use countersign_plan::artifact::{Plan, PlanError, StepGrant};
use countersign_plan::confinement::Profile;
use countersign_plan::digest::Digest;
use countersign_plan::draft::{Draft, Privileges, Rollback, Step};
use countersign_plan::tool::{Manifest, Reversibility, Tool};
use countersign_plan::verdict::Verdict;
use serde_json::Value;

use crate::failure::Failure;
use crate::render::line::{Detail, Line, Tone, Visible, clip, count};
use crate::render::verdict;

/// A plan whose bytes were read and hashed here. What is signed is the digest of these bytes.
#[derive(Debug)]
pub(crate) struct Reviewed {
    plan: Plan,
    draft: Draft,
    digest: Digest,
}

impl Reviewed {
    /// Reads exact bytes and compares their digest with the one that the verdict is about.
    pub(crate) fn read(bytes: &[u8], judged: Option<Digest>) -> Result<Self, Failure> {
        let digest = Digest::of(bytes);
        let judged = judged.ok_or_else(|| {
            Failure::refused("plan.invalid", "the verdict names no plan, so that nothing can be signed")
        })?;
        if judged != digest {
            let message = format!("the monitor shows a plan with digest {digest}, but its verdict is about {judged}");
            let fix = "sign nothing; halt the case and look at `countersign audit list`";
            return Err(Failure::refused("separation.violation", message).fix(fix));
        }
        let (plan, draft) = Plan::read(bytes).map_err(|error: PlanError| {
            Failure::refused("plan.invalid", format!("the plan that the monitor shows cannot be read: {error}"))
        })?;
        Ok(Self { plan, draft, digest })
    }

    /// The plan.
    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The digest of the bytes.
    pub(crate) const fn digest(&self) -> Digest {
        self.digest
    }
}

/// The whole review: facts, steps, findings, and the planner's words at the end.
pub(crate) fn review(shown: &Reviewed, verdict: &Verdict, tools: &Manifest, detail: Detail) -> Vec<Line> {
    let mut lines = verdict::head(verdict);
    lines.extend(facts(shown));
    lines.push(Line::at(0));
    lines.push(Line::at(0).tone(Tone::Bold, format!("{} in this order", count(shown.draft.steps().len(), "step"))));
    for (i, step) in shown.draft.steps().iter().enumerate() {
        lines.extend(one_step(shown, i, step, tools, detail));
    }
    lines.push(Line::at(0));
    lines.extend(verdict::findings(&verdict.reasons));
    lines.push(Line::at(0));
    lines.extend(words(&shown.draft, detail));
    lines
}

fn facts(shown: &Reviewed) -> Vec<Line> {
    let plan = &shown.plan;
    let mut lines = vec![
        Line::field(1, "for", plan.principal.as_str()),
        Line::field(1, "runs in", &plan.cwd),
        Line::field(
            1,
            "valid",
            format!("from {} until {} after the countersignature", plan.not_before, shown.draft.expires_in()),
        ),
        Line::field(1, "deployment", plan.deployment_digest.to_string()),
    ];
    if !plan.inputs.is_empty() {
        let inputs = serde_json::to_value(&plan.inputs).unwrap_or(Value::Null);
        lines.push(Line::field(1, "inputs", Visible::json(&inputs, Detail::Full)));
    }
    lines.extend(privileges(shown.draft.privileges()));
    lines
}

fn privileges(asked: &Privileges) -> Vec<Line> {
    let kinds = [
        ("read", &asked.read),
        ("write", &asked.write),
        ("connect", &asked.connect),
        ("run", &asked.run),
        ("secrets", &asked.secrets),
    ];
    let listed = kinds.into_iter().filter_map(|(kind, list)| list.as_ref().map(|list| (kind, list)));
    listed
        .map(|(kind, list)| {
            let what = if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
            Line::field(1, "at most", format!("{kind}: {what}"))
        })
        .collect()
}

fn one_step(shown: &Reviewed, i: usize, step: &Step, tools: &Manifest, detail: Detail) -> Vec<Line> {
    // Grants and steps are the same in number and order: `Plan::read` refuses everything else.
    let Some(grant) = shown.plan.grant(&step.id) else { return vec![Line::of(1, format!("{} has no grant", step.id))] };
    let tool = tools.get(&step.action).filter(|tool| shown.plan.tools.get(&step.action) == Some(&tool.digest()));
    let mut title = Line::at(1)
        .tone(Tone::Dim, format!("{:>2} ", i + 1))
        .tone(Tone::Bold, step.id.as_str())
        .plain(format!("  {}", step.action));
    if let Some(tool) = tool {
        title = title.tone(Tone::Dim, format!("  [{}]", tool.definition().effect));
    }
    if grant.irreversible {
        title = title.tone(Tone::Bad, "  IRREVERSIBLE");
    }
    let mut lines = vec![title];
    let source = shown.draft.source().pointer(&format!("/steps/{i}")).cloned().unwrap_or_default();
    lines.push(Line::field(3, "arguments", Visible::json(source.get("args").unwrap_or(&Value::Null), detail)));
    lines.extend(touches(grant));
    lines.push(Line::field(3, "sandbox", profile(grant.profile)));
    if tool.is_none() {
        let digest = shown.plan.tools.get(&step.action).map_or_else(|| "unknown".to_owned(), Digest::to_string);
        lines.push(Line::field(3, "tool", format!("not built in; its definition is {digest}")));
    }
    lines.push(taken_back(step, grant, tool, &source, detail));
    if let Some(expect) = source.get("expect").and_then(Value::as_array) {
        lines.extend(expect.iter().map(|expect| Line::field(3, "must show", Visible::json(expect, detail))));
    }
    if !step.after.is_empty() {
        let after: Vec<&str> = step.after.iter().map(countersign_plan::id::StepId::as_str).collect();
        lines.push(Line::field(3, "after", after.join(", ")));
    }
    if let Some(change) = &step.change_request {
        lines.push(Line::field(3, "change", change));
    }
    lines
}

fn touches(grant: &StepGrant) -> Vec<Line> {
    if grant.accesses.is_empty() {
        return vec![Line::field(3, "may touch", "nothing outside its own result")];
    }
    grant.accesses.iter().map(|access| Line::field(3, "may touch", access_text(access))).collect()
}

fn access_text(access: &Access) -> String {
    let Resource { kind, name, resolved, .. } = &access.resource;
    let name = if name.is_empty() { "what an earlier step will name" } else { name };
    let below = if access.recursive { " and everything below it" } else { "" };
    let really = resolved.as_ref().map(|path| format!(", which is {path}")).unwrap_or_default();
    format!("{:<8} {kind} {name}{really}{below}", access.effect.as_str())
}

const fn profile(profile: Profile) -> &'static str {
    match profile {
        Profile::None => "none: no program runs",
        Profile::Exact => "exact: the listed programs only, nothing in the work folder can be run",
        Profile::Toolchain => "toolchain: any code this view permits (system folders, toolchains, the work folder)",
    }
}

fn taken_back(step: &Step, grant: &StepGrant, tool: Option<&Tool>, source: &Value, detail: Detail) -> Line {
    let reads = grant.accesses.iter().all(|access| access.effect.is_harmless());
    let pure = reads || tool.is_some_and(|tool| tool.definition().reversibility == Reversibility::Pure);
    let line = |text: &str| Line::field(3, TAKEN_BACK, text);
    match &step.rollback {
        Some(Rollback::Action { .. }) => {
            let action = source.get("rollback").unwrap_or(&Value::Null);
            line("by ").plain(Visible::json(action, detail))
        }
        Some(Rollback::None) => line("not at all"),
        None if grant.irreversible => line("not at all"),
        None if pure => line("there is nothing to take back"),
        Some(Rollback::Snapshot) | None => line("from a snapshot of what it touches"),
    }
}

const TAKEN_BACK: &str = "taken back";

/// The planner's words, last and marked: nothing in them is a fact.
fn words(draft: &Draft, detail: Detail) -> Vec<Line> {
    let title =
        Line::at(0).tone(Tone::Bold, "the planner's words").tone(Tone::Warn, " (untrusted: nobody checked them)");
    let mut lines = vec![title, Line::field(1, "goal", quoted(draft.goal(), detail))];
    for step in draft.steps() {
        if let Some(reason) = &step.reason {
            lines.push(Line::field(1, step.id.as_str(), quoted(reason, detail)));
        }
    }
    lines
}

fn quoted(text: &str, detail: Detail) -> String {
    format!("“{}”", clip(text, detail))
}

#[cfg(test)]
mod tests;

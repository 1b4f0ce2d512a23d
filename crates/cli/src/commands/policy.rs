//! `policy`: lint, test and explain. Pure: files in, an answer out; no monitor is asked and nothing is recorded.
//!
//! Plans are judged as written: no file of this machine is looked at, no program is looked up. The monitor sees the machine
//! too and may be stricter.

pub(super) mod cases;
mod explain;
mod lint;
mod scene;

use std::path::Path;

use countersign_plan::document::Bounds;
use countersign_plan::intent::Proposal;
use countersign_policy::deployment::Deployment;
use countersign_policy::policy::PolicyDocument;
use serde_json::{Value, json};

use crate::args::Policy;
use crate::commands::run;
use crate::document as file;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::render::line::{Line, Tone, Visible, count};
use crate::render::verdict;
use cases::CasesDocument;
use explain::{Explanation, StepRules};
use lint::{Severity, lint as findings};
pub(super) use scene::Scene;

pub(super) fn policy(what: Policy, out: &Out) -> Result<Exit, Failure> {
    match what {
        Policy::Lint { file } => lint(&file, out),
        Policy::Test { file, cases, deployment } => test(&file, &cases, deployment.as_deref(), out),
        Policy::Explain { document, policy, deployment } => {
            explain(&document, policy.as_deref(), deployment.as_deref(), out)
        }
    }
}

fn lint(path: &Path, out: &Out) -> Result<Exit, Failure> {
    let bytes = file::read(path, Bounds::CONFIG.bytes)?;
    let policy = PolicyDocument::read(&bytes).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    let found = findings(&policy, &run::builtin()?, &scene::place()?);
    let errors = found.iter().filter(|finding| finding.severity == Severity::Error).count();
    let (deny, verify, allow, goal) = (policy.deny.len(), policy.verify.len(), policy.allow.len(), policy.goal.len());
    out.value(
        &json!({"errors": errors, "findings": found, "deny": deny, "verify": verify, "allow": allow, "goal": goal}),
    )?;
    let mut lines: Vec<Line> = found
        .iter()
        .map(|finding| {
            let (tone, word) = match finding.severity {
                Severity::Error => (Tone::Bad, "error   "),
                Severity::Warning => (Tone::Warn, "warning "),
            };
            let place = format!("{}{}: ", path.display(), finding.pointer);
            Line::at(0).tone(tone, word).plain(place).plain(Visible::escaped(&finding.message))
        })
        .collect();
    let (tone, word) = if errors == 0 { (Tone::Good, "valid") } else { (Tone::Bad, "INVALID") };
    lines.push(
        Line::at(0).tone(tone, word).plain(format!("  {deny} deny, {verify} verify, {allow} allow, {goal} goal rules")),
    );
    out.lines(&lines)?;
    Ok(if errors == 0 { Exit::Done } else { Exit::Usage })
}

fn explain(path: &Path, policy: Option<&Path>, deployment: Option<&Path>, out: &Out) -> Result<Exit, Failure> {
    let proposal = Proposal::read(&file::read(path, Bounds::PLAN.bytes)?)?;
    let scene = Scene::load(deployment, policy)?;
    let explanation = scene.explain(proposal.draft(), matches!(proposal, Proposal::Plan(_)));
    let review = &explanation.review;
    let ignored: Vec<Value> = scene
        .ignored
        .iter()
        .map(|left| json!({"file": left.file, "pointer": left.pointer, "what": left.what}))
        .collect();
    out.value(&json!({
        "decision": review.decision, "tier": review.tier, "rule": review.rule, "reasons": review.reasons,
        "risk": review.risk, "quorums": review.quorums, "steps": review.steps, "rules": explanation.steps,
        "ignored": ignored,
    }))?;
    out.lines(&explained(&explanation, &scene))?;
    Ok(review.decision.into())
}

fn explained(explanation: &Explanation, scene: &Scene) -> Vec<Line> {
    let review = &explanation.review;
    let mut lines = vec![
        Line::at(0)
            .tone(verdict::tone(review.decision), review.decision.as_str().to_uppercase())
            .tone(Tone::Dim, "  judged as written, without looking at this machine; nothing is recorded"),
    ];
    if let Some(rule) = &review.rule {
        lines.push(Line::field(1, "rule", rule));
    }
    lines.push(Line::field(1, "policy", scene.policy.digest().to_string()));
    lines.push(Line::field(1, "deployment", scene.deployment.digest().to_string()));
    lines.push(Line::field(1, "risk", verdict::risk(&review.risk)));
    lines.extend(review.quorums.iter().map(|asked| Line::field(1, "needs", verdict::quorum(asked))));
    lines.push(Line::at(0).tone(Tone::Bold, "rules that matched, also those that did not decide"));
    lines.extend(explanation.steps.iter().map(|step| Line::field(1, step.id.as_str(), matched(step))));
    lines.extend(verdict::findings(&review.reasons));
    if !scene.ignored.is_empty() {
        lines.push(
            Line::at(0).tone(Tone::Bold, "left out, because the file came with the workspace and is not trusted"),
        );
        lines.extend(
            scene.ignored.iter().map(|left| {
                Line::of(1, format!("{}{}: ", left.file, left.pointer)).plain(Visible::escaped(&left.what))
            }),
        );
    }
    lines.push(Line::at(0).tone(Tone::Dim, "always, whatever a policy says:"));
    lines.extend(
        Deployment::builtin_lines()
            .map(|(what, pattern, reason)| Line::at(1).tone(Tone::Dim, format!("{what:<10} {pattern:<28} {reason}"))),
    );
    lines
}

fn matched(step: &StepRules) -> String {
    let kinds = [("deny", &step.deny), ("verify", &step.verify), ("goal", &step.goal), ("by default", &step.defaults)];
    let listed = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    let mut parts: Vec<String> = listed.map(|(kind, names)| format!("{kind} {}", names.join(", "))).collect();
    parts.extend(step.allow.as_ref().map(|name| format!("allow {name}")));
    if parts.is_empty() { "none: the defaults decide".to_owned() } else { parts.join("; ") }
}

fn test(policy: &Path, cases: &Path, deployment: Option<&Path>, out: &Out) -> Result<Exit, Failure> {
    let named =
        |error: countersign_plan::document::DocumentError| Failure::usage(format!("{}: {error}", cases.display()));
    let scene = Scene::load(deployment, Some(policy))?;
    let tests = CasesDocument::read(&file::read(cases, Bounds::CONFIG.bytes)?).map_err(named)?;
    if tests.cases.is_empty() {
        return Err(Failure::usage(format!("{}: /cases: none, so that nothing is tested", cases.display())));
    }
    let outcomes = tests.run(&scene.setting()).map_err(named)?;
    let failed = outcomes.iter().filter(|outcome| outcome.difference.is_some()).count();
    out.value(&json!({"cases": outcomes, "failed": failed}))?;
    let mut lines = Vec::new();
    for outcome in &outcomes {
        match &outcome.difference {
            None => {
                let text = format!("  {}: {}", outcome.name, outcome.decided);
                lines.push(Line::at(0).tone(Tone::Good, "ok    ").plain(text));
            }
            Some(difference) => {
                lines.push(Line::at(0).tone(Tone::Bad, "FAILED").plain(format!("  {}", outcome.name)));
                lines.push(Line::of(3, difference));
                lines.extend(verdict::findings(&outcome.reasons));
            }
        }
    }
    lines.push(Line::of(0, format!("{}, {failed} failed", count(outcomes.len(), "case"))));
    out.lines(&lines)?;
    Ok(if failed == 0 { Exit::Done } else { Exit::Blocked })
}

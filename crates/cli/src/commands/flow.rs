//! `flow`: the labels of a plan's values, the way data takes through it, and where it meets the world. Pure, as `policy explain`.

mod draw;

use countersign_plan::document::Bounds;
use countersign_plan::intent::Proposal;
use countersign_policy::flow::{Proof, Sink, Verdict};
use serde_json::json;

use crate::args::Flow;
use crate::commands::policy::Scene;
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::render::line::{Line, Tone, Visible};

pub(super) fn flow(args: &Flow, out: &Out) -> Result<Exit, Failure> {
    let bytes = document::read(&args.document, Bounds::PLAN.bytes)?;
    let proposal = Proposal::read(&bytes);
    let proposal = proposal.map_err(|e| Failure::usage(format!("{}: {e}", args.document.display())))?;
    let (draft, pinned) = match proposal {
        Proposal::Plan(draft) => (draft, true),
        Proposal::Action(_, draft) => (draft, false),
    };
    let scene = Scene::load(args.deployment.as_deref(), args.policy.as_deref())?;
    let review = scene.review(&draft, pinned, args.trusted);
    let Some(proof) = &review.proof else { return Err(Failure::internal("the review left out the labels")) };
    let digest = proof.digest().map_err(|error| Failure::internal(error.to_string()))?;
    if args.dot || args.svg {
        let text = if args.dot { draw::dot(proof) } else { draw::svg(proof) };
        out.raw(text.as_bytes())?;
    } else {
        let issues: Vec<_> = sinks(proof)
            .flat_map(|sink| &sink.issues)
            .map(|issue| json!({"code": issue.code, "message": issue.message, "fix": issue.fix, "path": proof.way(issue)}))
            .collect();
        let verdict = proof.verdict().as_str();
        out.value(&json!({"verdict": verdict, "label_proof": digest, "issues": issues, "proof": proof}))?;
        out.lines(&lines(proof))?;
    }
    Ok(match proof.verdict() {
        Verdict::Proved => Exit::Done,
        Verdict::Conditional => Exit::Approval,
        Verdict::Refuted => Exit::Blocked,
    })
}

fn sinks(proof: &Proof) -> impl Iterator<Item = &Sink> {
    proof.sinks.iter()
}

const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Proved => Tone::Good,
        Verdict::Conditional => Tone::Warn,
        Verdict::Refuted => Tone::Bad,
    }
}

/// Values first, each with its label and what flows in; then the sinks, the worst way last.
fn lines(proof: &Proof) -> Vec<Line> {
    let mut lines = vec![Line::at(0).plain(format!("{} values", proof.nodes.len()))];
    let name = |node: usize| proof.nodes.get(node).map_or("?", |node| node.name.as_str());
    for node in &proof.nodes {
        let from: Vec<&str> = node.from.iter().map(|edge| name(edge.node)).collect();
        let from = if from.is_empty() { String::new() } else { format!("  ← {}", from.join(", ")) };
        let label = format!("{:6} {:20} ", node.label.level.as_str(), node.label.readers.to_string());
        lines.push(Line::at(1).plain(label).plain(Visible::escaped(&format!("{}{from}", node.name))));
    }
    lines.push(Line::at(0).plain(format!("{} sinks", proof.sinks.len())));
    for sink in sinks(proof) {
        let rollback = if sink.rollback { " (rollback)" } else { "" };
        let audience: Vec<&str> = sink.audience.iter().map(|(name, _)| name.as_str()).collect();
        let to = if audience.is_empty() { String::new() } else { format!(" → {}", audience.join(", ")) };
        let line = Line::at(1).tone(tone(sink.verdict), sink.verdict.as_str());
        lines.push(line.plain(Visible::escaped(&format!(" {}{rollback}{to}", sink.step))));
        for issue in &sink.issues {
            lines.push(Line::at(2).plain(Visible::escaped(&issue.message)));
            lines.push(Line::at(3).plain(Visible::escaped(&format!("way: {}", proof.way(issue).join(" → ")))));
            lines.push(Line::at(3).plain(Visible::escaped(&format!("fix: {}", issue.fix))));
        }
    }
    for crossing in proof.crossings.iter() {
        let to = crossing.to.as_ref().map_or_else(|| "may decide".to_owned(), |to| format!("may reach {to}"));
        let text = format!("{} {to}, says {} until {}", crossing.value, crossing.approver, crossing.expires);
        lines.push(Line::at(0).plain("crossing: ").plain(Visible::escaped(&text)));
    }
    lines.push(Line::at(0).tone(tone(proof.verdict()), proof.verdict().as_str()));
    lines
}

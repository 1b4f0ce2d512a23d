//! A verdict for people: the decision, what it rests on, and each finding with what would mend it.

use countersign_plan::verdict::{Decision, Quorum, Reason, Risk, Verdict};

use crate::render::line::{Line, Tone, Visible, count};

/// How a decision looks.
pub(crate) const fn tone(decision: Decision) -> Tone {
    match decision {
        Decision::Allow => Tone::Good,
        Decision::RequireApproval => Tone::Warn,
        Decision::Block => Tone::Bad,
    }
}

/// The facts of a verdict, without its findings.
pub(crate) fn head(verdict: &Verdict) -> Vec<Line> {
    let mut first = Line::at(0).tone(tone(verdict.decision), verdict.decision.as_str().to_uppercase());
    if let Some(case) = &verdict.case {
        first = first.plain("  case ").tone(Tone::Bold, case.as_str());
    }
    first = first.tone(Tone::Dim, format!("  (tier {}, {} µs)", verdict.tier, verdict.micros));
    let mut lines = vec![first];
    if let Some(rule) = &verdict.rule {
        lines.push(Line::field(1, "rule", rule));
    }
    if let Some(digest) = verdict.plan_digest {
        lines.push(Line::field(1, "plan", format!("version {}, {digest}", verdict.version)));
    }
    lines.push(Line::field(1, "policy", verdict.policy_digest.to_string()));
    lines.push(Line::field(1, "proposed by", format!("{} ({})", verdict.agent, verdict.mode.as_str())));
    lines.push(Line::field(1, "risk", risk(&verdict.risk)));
    lines.extend(verdict.quorums.iter().map(|asked| Line::field(1, "needs", quorum(asked))));
    lines
}

/// A score with what it is made of.
pub(crate) fn risk(risk: &Risk) -> String {
    let f = risk.factors;
    format!(
        "{} of 100: action {}, target {}, context {}, history {}",
        risk.score, f.action, f.target, f.context, f.history
    )
}

/// How many of whom must approve.
pub(crate) fn quorum(asked: &Quorum) -> String {
    let many = count(usize::try_from(asked.quorum).unwrap_or(usize::MAX), "approval");
    match &asked.group {
        Some(group) => format!("{many} from the group `{group}`"),
        None => format!("{many} by anybody who is enrolled"),
    }
}

/// The findings, in the verdict's order: the strictest first.
pub(crate) fn findings(reasons: &[Reason]) -> Vec<Line> {
    if reasons.is_empty() {
        return vec![Line::of(0, "findings: none")];
    }
    let mut lines = vec![Line::at(0).tone(Tone::Bold, "findings, the strictest first")];
    for reason in reasons {
        let place = reason.step.as_ref().map(|step| format!("  step {step}")).unwrap_or_default();
        let rule = reason.rule.as_ref().map(|rule| format!("  rule {rule}")).unwrap_or_default();
        let word = format!("{:<16} ", reason.decision.as_str());
        lines.push(
            Line::at(1)
                .tone(tone(reason.decision), word)
                .tone(Tone::Bold, reason.code.as_str())
                .plain(place)
                .plain(rule),
        );
        lines.push(Line::of(3, Visible::escaped(&reason.message)));
        if !reason.path.is_empty() {
            lines.push(Line::of(3, format!("by way of {}", reason.path.join(" → "))));
        }
        if let Some(fix) = &reason.fix {
            lines.push(Line::at(3).tone(Tone::Dim, "fix: ").plain(Visible::escaped(fix)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use countersign_plan::verdict::{Code, Decision, Reason};

    use super::findings;

    #[test]
    fn a_finding_says_its_decision_code_step_and_fix_in_words() {
        let reason = Reason::new(Code::ResourceOutside, Decision::RequireApproval, "/etc/hosts")
            .at(&"edit".parse().unwrap())
            .by("paths")
            .fix("keep to the workspace");
        let text: Vec<String> = findings(&[reason]).iter().map(super::Line::text).collect();
        assert_eq!(
            text[1..],
            [
                "  require_approval resource.outside  step edit  rule paths",
                "      /etc/hosts",
                "      fix: keep to the workspace"
            ]
        );
        assert_eq!(findings(&[])[0].text(), "findings: none");
    }
}

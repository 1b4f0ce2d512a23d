//! What a policy makes of findings about the goal: more than they are by themselves, never less (FORMATS §5).

use countersign_plan::verdict::{Decision, Quorum, Reason};

use crate::policy::Policy;

/// Tightens the findings that the policy's `goal` rules name. Where such a rule asks people, its approvers are needed, whatever else
/// asks.
pub(super) fn tighten(policy: &Policy, reasons: &mut [Reason], quorums: &mut Vec<Quorum>) {
    for reason in reasons {
        for rule in policy.about_goal(reason.code) {
            let decision = rule.decision.decision();
            if reason.decision == Decision::Block || reason.decision > decision {
                continue;
            }
            if decision > reason.decision || reason.rule.is_none() {
                reason.rule = Some(rule.name.clone());
            }
            reason.decision = decision;
            if let (Decision::RequireApproval, Some(approvers)) = (decision, &rule.approvers) {
                quorums.push(Quorum { group: approvers.group.clone(), quorum: approvers.quorum });
            }
        }
    }
}

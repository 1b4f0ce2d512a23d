//! A case after a restart: from what was recorded about it, never from a stage that was stored.

use super::run::changes;
use super::{Case, Cause, Context, Ending, Fact, Output, Stage, Terms};

impl Case {
    /// The case that these facts, in the order of the record, leave after a restart, and what follows from the restart:
    /// what was under way is indeterminate, what was countersigned or running is halted, what waits for people waits on.
    pub fn rebuild<'a>(terms: Terms, facts: impl IntoIterator<Item = &'a Fact>, context: Context) -> (Self, Output) {
        let mut stage = Stage::Pending(Vec::new());
        let mut signed = false;
        let mut attempt = None;
        for fact in facts {
            match fact {
                Fact::Approved { given, .. } => {
                    if let Stage::Pending(approvals) = &mut stage {
                        approvals.push(given.clone());
                    }
                }
                Fact::Withdrawn(key) => {
                    if let Stage::Pending(approvals) = &mut stage {
                        approvals.retain(|given| given.key != *key);
                    }
                }
                Fact::Countersigned(_) | Fact::Permitted { .. } => signed = true,
                Fact::Intended { step, phase, .. } => {
                    signed = true;
                    attempt = changes(*phase).then(|| (step.clone(), *phase));
                }
                Fact::Outcome { .. } => attempt = None,
                Fact::Indeterminate { step, phase } => {
                    stage = Stage::Indeterminate { step: step.clone(), phase: *phase };
                }
                Fact::Closed(ending) => stage = Stage::Closed(*ending, Vec::new()),
                Fact::Reviewed
                | Fact::Denied(_)
                | Fact::Refused { .. }
                | Fact::Critical(_)
                | Fact::Halted(_)
                | Fact::Settled { .. }
                | Fact::Stray => {}
            }
        }
        let mut case = Self { terms, stage };
        let mut output = Output::default();
        if matches!(case.stage, Stage::Pending(_)) {
            match attempt {
                Some((step, phase)) => {
                    output.facts.push(Fact::Halted(Cause::Restart));
                    output.facts.push(Fact::Indeterminate { step: step.clone(), phase });
                    case.stage = Stage::Indeterminate { step, phase };
                }
                None if signed || case.terms.decision != countersign_plan::verdict::Decision::RequireApproval => {
                    output.facts.push(Fact::Halted(Cause::Restart));
                    case.close(Ending::Halted, &mut output);
                }
                None => case.expire(context, &mut output),
            }
        }
        (case, output)
    }
}

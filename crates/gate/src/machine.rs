//! Which moves a case can make: plain data, no signature, no clock, no text for people.
//!
//! Every question of legality is answered here and nowhere else. [`Case::step`] takes an [`Input`] and answers with [`Fact`]s,
//! which are recorded in this order, and [`Order`]s, which wait until they are. The gate drives it with real keys and plans; the
//! model check drives the very same function through every order of events, crashes and replays.

mod pursuit;
mod rebuild;
mod run;
mod words;

pub use pursuit::{MOST_VERSIONS, Pursuit, Unmet, is_active};
pub use run::{Course, Issued, PermitState, Progress, Run, UNDO_GRACE};
pub use words::{
    Aim, Cause, Context, Ending, Eyes, Fact, Given, Input, Lease, Order, Output, Stage, Terms, Unanswered, Violation,
};

use countersign_plan::approval::Answer;
use countersign_plan::id::{KeyId, Principal, StepId};
use countersign_plan::verdict::{Decision, Quorum};

/// A case as the core sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Case {
    terms: Terms,
    stage: Stage,
}

impl Output {
    fn refused(why: Unanswered) -> Self {
        Self { unanswered: Some(why), ..Self::default() }
    }
}

impl Case {
    /// A case whose plan was reviewed: blocked, waiting for people, or countersigned at once.
    pub fn open(terms: Terms, context: Context) -> (Self, Output) {
        let mut case = Self { terms, stage: Stage::Pending(Vec::new()) };
        let mut output = Output { facts: vec![Fact::Reviewed], ..Output::default() };
        match case.terms.decision {
            Decision::Block => case.close(Ending::Blocked, &mut output),
            Decision::RequireApproval => {}
            Decision::Allow => case.pass(context, &mut output),
        }
        (case, output)
    }

    /// What was fixed at the review.
    #[must_use]
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Where it stands.
    #[must_use]
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Takes an input. Whatever is due by now happens first.
    pub fn step(&mut self, context: Context, input: Input) -> Output {
        let mut output = Output::default();
        self.expire(context, &mut output);
        match input {
            Input::Answer { by, enrolled_by, key, groups, answer, plan, version, policy, expires_at } => {
                if plan != self.terms.plan || version != self.terms.version || policy != self.terms.policy {
                    output.unanswered = Some(Unanswered::OtherPlan);
                } else if context.now >= expires_at {
                    output.unanswered = Some(Unanswered::Expired);
                } else {
                    let own = self.is_requester(&by, &enrolled_by);
                    self.answer(context, Given { by, key, groups }, own, answer, &mut output);
                }
            }
            Input::Settle { by, enrolled_by, step, happened } => {
                let own = self.is_requester(&by, &enrolled_by);
                self.settle(by, own, step, happened, &mut output);
            }
            Input::Retire(key) => self.retire(&key, &mut output),
            Input::Halt(cause) => self.halt(cause, &mut output),
            Input::Supersede => self.supersede(&mut output),
            Input::Tick => {}
            Input::Verified(digest) => self.verified(context, digest, &mut output),
            Input::Rejected => self.rejected(&mut output),
            Input::Request { step, phase, attempt, judged } => {
                self.request(context, &step, phase, attempt, judged, &mut output);
            }
            Input::Perform(permit) => self.perform(context, permit, &mut output),
            Input::Observed(fate) => self.observed(fate, &mut output),
            Input::Caught => self.caught(&mut output),
            Input::BadPermit => self.violate_unstarted(&mut output),
            Input::Lost => self.lost(&mut output),
            Input::ExecutorOffended => self.violate(Violation::Executor, &mut output),
            Input::ExecutorLost => self.executor_lost(&mut output),
            Input::Finished { completed, done, undone } => self.finished(completed, &done, &undone, &mut output),
        }
        output
    }

    /// What has expired by now.
    fn expire(&mut self, context: Context, output: &mut Output) {
        match &self.stage {
            Stage::Pending(_) if context.now >= self.terms.pending_until => self.close(Ending::Expired, output),
            Stage::Countersigned(lease) if context.now >= lease.expires_at => {
                output.orders.push(Order::KillExecutor);
                self.close(Ending::Expired, output);
            }
            Stage::Running(_) => self.expire_run(context, output),
            Stage::Pending(_) | Stage::Countersigned(_) | Stage::Indeterminate { .. } | Stage::Closed(..) => {}
        }
    }

    /// Whether a person is, or may be, the one for whom the case was opened: by name, or because a key of that person was
    /// enrolled from the requester's user, who may hold it (INV-7).
    fn is_requester(&self, by: &Principal, enrolled_by: &[Principal]) -> bool {
        *by == self.terms.requester || enrolled_by.contains(&self.terms.requester)
    }

    /// What was approved with a key that is retired counts no longer, as long as nothing was signed on the strength of it.
    fn retire(&mut self, key: &KeyId, output: &mut Output) {
        let Stage::Pending(approvals) = &mut self.stage else { return };
        let before = approvals.len();
        approvals.retain(|given| given.key != *key);
        if approvals.len() < before {
            output.facts.push(Fact::Withdrawn(key.clone()));
        }
    }

    /// `own` says whether the one who answers is the requester.
    fn answer(&mut self, context: Context, given: Given, own: bool, answer: Answer, output: &mut Output) {
        let Stage::Pending(approvals) = &mut self.stage else {
            output.unanswered = Some(Unanswered::NotPending);
            return;
        };
        if given.by == self.terms.proposer {
            if answer == Answer::Approve {
                output.facts.push(Fact::Critical(Violation::SelfApproval));
                output.orders.push(Order::Alert(Violation::SelfApproval));
            }
            output.unanswered = Some(Unanswered::Proposer);
            return;
        }
        if answer == Answer::Deny {
            output.facts.push(Fact::Denied(given.by));
            self.close(Ending::Denied, output);
            return;
        }
        let asked = |quorum: &Quorum| quorum.group.as_ref().is_none_or(|group| given.groups.contains(group));
        let refusal = if own && self.terms.eyes != Eyes::Two {
            Some(Unanswered::Requester)
        } else if approvals.iter().any(|other| other.by == given.by) {
            Some(Unanswered::Again)
        } else if !self.terms.quorums.is_empty() && !self.terms.quorums.iter().any(asked) {
            Some(Unanswered::Group)
        } else {
            None
        };
        if refusal.is_some() {
            output.unanswered = refusal;
            return;
        }
        approvals.push(given.clone());
        output.facts.push(Fact::Approved { given, self_approved: own });
        if enough(&self.terms.quorums, approvals) {
            self.pass(context, output);
        }
    }

    /// Everything that is needed is there: countersign, or leave it at the decision.
    fn pass(&mut self, context: Context, output: &mut Output) {
        match self.terms.aim {
            Aim::Check => self.close(Ending::Decided, output),
            Aim::Run => {
                let expires_at = context.now.plus(self.terms.lifetime);
                let lease = Lease { epoch: context.epoch, signed_at: context.now, expires_at };
                self.stage = Stage::Countersigned(lease);
                output.facts.push(Fact::Countersigned(lease));
                output.orders.push(Order::Start);
            }
        }
    }

    fn settle(&mut self, by: Principal, own: bool, step: StepId, happened: bool, output: &mut Output) {
        let Stage::Indeterminate { step: open, .. } = &self.stage else {
            output.unanswered = Some(Unanswered::NotPending);
            return;
        };
        let refusal = if *open != step {
            Some(Unanswered::OtherStep)
        } else if by == self.terms.proposer {
            Some(Unanswered::Proposer)
        } else if own && self.terms.eyes != Eyes::Two {
            Some(Unanswered::Requester)
        } else {
            None
        };
        if refusal.is_some() {
            *output = Output::refused(refusal.unwrap_or(Unanswered::NotPending));
            return;
        }
        output.facts.push(Fact::Settled { by, step, happened });
        self.close(Ending::Stopped, output);
    }

    fn supersede(&mut self, output: &mut Output) {
        match &self.stage {
            Stage::Pending(_) => self.close(Ending::Superseded, output),
            Stage::Countersigned(_) | Stage::Running(_) | Stage::Indeterminate { .. } => {
                output.unanswered = Some(Unanswered::NotPending);
            }
            Stage::Closed(..) => {}
        }
    }

    fn close(&mut self, ending: Ending, output: &mut Output) {
        let permits = match &mut self.stage {
            Stage::Running(run) => run.retire(),
            Stage::Pending(_) | Stage::Countersigned(_) | Stage::Indeterminate { .. } | Stage::Closed(..) => Vec::new(),
        };
        self.stage = Stage::Closed(ending, permits);
        output.facts.push(Fact::Closed(ending));
    }
}

/// Whether these approvals fill every quorum, each person counting once in each. A decision that asks for people and names
/// none asks for one.
fn enough(quorums: &[Quorum], approvals: &[Given]) -> bool {
    let count = |group: Option<&String>| {
        let member = |given: &&Given| group.is_none_or(|group| given.groups.contains(group));
        let people: std::collections::BTreeSet<&Principal> = approvals.iter().filter(member).map(|g| &g.by).collect();
        people.len()
    };
    if quorums.is_empty() {
        return count(None) >= 1;
    }
    quorums
        .iter()
        .all(|quorum| count(quorum.group.as_ref()) >= usize::try_from(quorum.quorum.max(1)).unwrap_or(usize::MAX))
}

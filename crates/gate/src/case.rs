//! The stages of a case as types: each can only be made from the one before, by consuming it, and only when the core
//! ([`crate::machine`]) says that the case stands there.
//!
//! ```compile_fail
//! // A plan that was reviewed is not one that may be signed.
//! fn sign(plan: countersign_gate::case::Reviewed, key: &countersign_gate::key::GateKey) {
//!     plan.countersign(key);
//! }
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::artifact::Plan;
use countersign_plan::budget::{Ask, Extra};
use countersign_plan::digest::Digest;
use countersign_plan::draft::Draft;
use countersign_plan::envelope::{Countersignature, CountersignedPlan};
use countersign_plan::id::{CaseId, KeyId, Principal, StepId};
use countersign_plan::resolve::Outputs;
use countersign_plan::saga::Undo;
use countersign_plan::time::Timestamp;
use countersign_plan::verdict::Verdict;
use countersign_policy::flow::{Label, Level, Readers, Session};
use countersign_policy::review::{ReversibleBy, StepReview};
use serde_json::{Map, Value, json};

use crate::confine::Confined;
use crate::key::GateKey;
use crate::machine::{self, Aim, Lease};
use crate::permit::Minted;

/// Everything that is fixed about a reviewed plan.
#[derive(Debug)]
pub(crate) struct Dossier {
    pub(crate) goal: String,
    /// Whether somebody gave the goal; else it only names a single intent.
    pub(crate) pinned: bool,
    /// Whether goal and inputs were given before a planner of ours wrote the plan.
    pub(crate) authentic: bool,
    /// What that planner had seen when it wrote it; none for whoever proposes from outside.
    pub(crate) seen: Option<Label>,
    pub(crate) origin: String,
    pub(crate) plan: Plan,
    pub(crate) draft: Draft,
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
    pub(crate) verdict: Verdict,
    pub(crate) steps: Vec<StepReview>,
    /// The approvals that count, in order.
    pub(crate) approvals: Vec<Counted>,
    /// The steps for which leave was given, or all once it was halted: no approval covers them again.
    pub(crate) begun: BTreeSet<StepId>,
}

/// An approval that counts.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// Of the signed envelope.
    pub(crate) digest: Digest,
    pub(crate) by: Principal,
    pub(crate) key: KeyId,
    /// The groups for which it counts.
    pub(crate) groups: Vec<String>,
    /// As it says itself: a later version takes it over until then.
    pub(crate) expires_at: Timestamp,
}

/// How far the words of a plan are trusted whose planner had seen so much; whoever proposes from outside says himself what he is. A
/// planner that knows what not everybody may read says nothing in the user's name: its words keep their readers.
pub(crate) fn words(seen: Option<Label>, session: &Session) -> (Level, Cow<'_, Session>) {
    let Some(seen) = seen else { return (Level::Open, Cow::Borrowed(session)) };
    let most = if seen.readers == Readers::ANYONE { Level::User } else { Level::Party };
    (seen.level.min(most), Cow::Owned(session.clone().having_seen(seen)))
}

impl Dossier {
    /// The digest of the verdict as it is recorded.
    pub(crate) fn decision(&self) -> Digest {
        let verdict = serde_json::to_value(&self.verdict).unwrap_or(Value::Null);
        countersign_plan::canonical::digest(&verdict)
    }

    /// What the record of its proposal says of it beside the plan.
    pub(crate) fn proposed(&self, aim: Aim) -> Map<String, Value> {
        let members = [
            ("goal", json!(self.goal)),
            ("pinned", json!(self.pinned)),
            ("authentic", json!(self.authentic)),
            ("origin", json!(self.origin)),
            ("check", json!(aim == Aim::Check)),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Leave was given for this step, or all of it was halted.
    pub(crate) fn begin(&mut self, step: Option<&StepId>) {
        match step {
            Some(step) => self.begun.extend([step.clone()]),
            None => self.begun.extend(self.steps.iter().map(|step| step.id.clone())),
        }
    }

    /// Digests of the approvals that count.
    pub(crate) fn approval_digests(&self) -> Vec<Digest> {
        self.approvals.iter().map(|approval| approval.digest).collect()
    }

    /// How each step is taken back.
    pub(crate) fn undo(&self) -> Vec<(StepId, Undo)> {
        self.steps.iter().map(|step| (step.id.clone(), undo(step.reversible_by))).collect()
    }

    pub(crate) fn review(&self, step: &StepId) -> Option<&StepReview> {
        self.steps.iter().find(|review| review.id == *step)
    }
}

pub(crate) const fn undo(by: ReversibleBy) -> Undo {
    match by {
        ReversibleBy::Nothing => Undo::Pure,
        ReversibleBy::Snapshot => Undo::Snapshot,
        ReversibleBy::Action => Undo::Action,
        ReversibleBy::None => Undo::None,
    }
}

/// A plan that was judged and may wait for people.
#[derive(Debug)]
pub struct Reviewed(Box<Dossier>);

/// A plan that may be signed: the decision allows it, or everybody who must has approved it.
#[derive(Debug)]
pub struct Approved {
    dossier: Box<Dossier>,
    lease: Lease,
}

/// A plan under the gate's signature: the only plan that is ever given to an executor. Nothing but
/// [`Approved::countersign`] makes one.
///
/// ```compile_fail
/// fn twice(plan: countersign_gate::case::SignedPlan) -> countersign_gate::case::SignedPlan { plan.clone() }
/// ```
/// ```compile_fail
/// fn read(text: &str) -> countersign_gate::case::SignedPlan { serde_json::from_str(text).unwrap() }
/// ```
/// ```compile_fail
/// let forged = countersign_gate::case::SignedPlan::default();
/// ```
#[derive(Debug)]
pub struct SignedPlan {
    dossier: Box<Dossier>,
    signed: CountersignedPlan,
}

/// A signed plan that an executor verified and carries out.
#[derive(Debug)]
pub struct Running {
    plan: SignedPlan,
    pub(crate) outputs: Outputs,
    /// By number, as the core counts them.
    pub(crate) permits: Vec<Leave>,
    /// What each step's snapshot covers, and the digest of its index.
    pub(crate) snapshots: BTreeMap<StepId, (Confined, Digest)>,
    /// How far the sandbox of the attempt under way holds.
    pub(crate) enforcement: Option<Value>,
}

/// A permit that was issued, with what it is leave for.
#[derive(Debug)]
pub(crate) struct Leave {
    pub(crate) permit: Minted,
    pub(crate) confined: Confined,
}

impl Reviewed {
    pub(crate) fn new(dossier: Dossier) -> Self {
        Self(Box::new(dossier))
    }

    pub(crate) fn dossier(&self) -> &Dossier {
        &self.0
    }

    pub(crate) fn approve(&mut self, approval: Counted) {
        self.0.approvals.push(approval);
    }

    /// Approvals with this key count no longer.
    pub(crate) fn withdraw(&mut self, key: &KeyId) {
        self.0.approvals.retain(|approval| approval.key != *key);
    }

    /// The plan as one that may be signed, if that is where the case stands.
    ///
    /// # Errors
    /// The plan itself, if it is not.
    pub(crate) fn admit(self, life: &machine::Case) -> Result<Approved, Self> {
        match life.stage() {
            machine::Stage::Countersigned(lease) if life.terms().plan == self.0.digest => {
                Ok(Approved { dossier: self.0, lease: *lease })
            }
            machine::Stage::Countersigned(_)
            | machine::Stage::Pending(_)
            | machine::Stage::Running(_)
            | machine::Stage::Indeterminate { .. }
            | machine::Stage::Closed(..) => Err(self),
        }
    }

    pub(crate) fn into_dossier(self) -> Box<Dossier> {
        self.0
    }
}

impl Approved {
    /// The gate's signature over exactly the bytes that were shown (INV-3).
    #[must_use]
    pub fn countersign(self, key: &GateKey) -> SignedPlan {
        let Self { dossier, lease } = self;
        let statement = Countersignature {
            case: dossier.plan.case.clone(),
            version: dossier.plan.version,
            epoch: lease.epoch,
            decision: dossier.decision(),
            approvals: dossier.approval_digests(),
            signed_at: lease.signed_at,
            expires_at: lease.expires_at,
        };
        let envelope = key.countersign(&statement, dossier.digest);
        let signed = CountersignedPlan { plan: dossier.bytes.clone(), envelope };
        SignedPlan { dossier, signed }
    }
}

impl SignedPlan {
    pub(crate) fn dossier(&self) -> &Dossier {
        &self.dossier
    }

    pub(crate) const fn signed(&self) -> &CountersignedPlan {
        &self.signed
    }

    /// The plan as one that runs, if that is where the case stands.
    ///
    /// # Errors
    /// The plan itself, if it is not.
    pub(crate) fn run(self, life: &machine::Case) -> Result<Running, Self> {
        match life.stage() {
            machine::Stage::Running(_) if life.terms().plan == self.dossier.digest => Ok(Running {
                plan: self,
                outputs: Outputs::new(),
                permits: Vec::new(),
                snapshots: BTreeMap::new(),
                enforcement: None,
            }),
            machine::Stage::Running(_)
            | machine::Stage::Countersigned(_)
            | machine::Stage::Pending(_)
            | machine::Stage::Indeterminate { .. }
            | machine::Stage::Closed(..) => Err(self),
        }
    }

    pub(crate) fn into_dossier(self) -> Box<Dossier> {
        self.dossier
    }
}

impl Running {
    pub(crate) fn dossier(&self) -> &Dossier {
        &self.plan.dossier
    }

    pub(crate) fn into_dossier(self) -> Box<Dossier> {
        self.plan.dossier
    }
}

/// The stages that the gate keeps.
#[derive(Debug)]
pub(crate) enum Stage {
    Reviewed(Reviewed),
    Signed(SignedPlan),
    Running(Box<Running>),
    /// Indeterminate or closed: nothing of the plan is left but what it was.
    Over(Box<Dossier>),
}

impl Stage {
    pub(crate) fn dossier(&self) -> &Dossier {
        match self {
            Self::Reviewed(reviewed) => reviewed.dossier(),
            Self::Signed(signed) => signed.dossier(),
            Self::Running(running) => running.dossier(),
            Self::Over(dossier) => dossier,
        }
    }

    /// Leave was given for this step, or all of it was halted.
    pub(crate) fn begin(&mut self, step: Option<&StepId>) {
        match self {
            Self::Running(running) => running.plan.dossier.begin(step),
            Self::Over(dossier) => dossier.begin(step),
            Self::Reviewed(reviewed) => reviewed.0.begin(step),
            Self::Signed(signed) => signed.dossier.begin(step),
        }
    }

    pub(crate) fn over(self) -> Self {
        Self::Over(match self {
            Self::Reviewed(reviewed) => reviewed.into_dossier(),
            Self::Signed(signed) => signed.into_dossier(),
            Self::Running(running) => running.into_dossier(),
            Self::Over(dossier) => dossier,
        })
    }
}

/// A case as it may be shown. Never turned back into a case.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The case.
    pub case: CaseId,
    /// The name of its stage ([`crate::machine::Stage::name`]).
    pub stage: &'static str,
    /// For whom it was opened.
    pub requester: Principal,
    /// Who proposed.
    pub agent: Principal,
    /// The pinned goal.
    pub goal: String,
    /// Whether it was opened for a goal, with a planner.
    pub pursued: bool,
    /// The version of its plan; 0 before the first.
    pub version: u32,
    /// The digest of its plan, where the proposal was one.
    pub plan_digest: Option<Digest>,
    /// Exact bytes of its plan; empty where none was made.
    pub plan: Vec<u8>,
    /// The latest verdict; none before the first version of a plan.
    pub verdict: Option<Verdict>,
    /// Who approved so far.
    pub approvals: Vec<Principal>,
    /// When it is denied by itself, while it waits for people.
    pub pending_until: Option<Timestamp>,
    /// What it asks of people beside its plan: its budget is spent.
    pub asks: Option<Ask>,
    /// What people added to its budget.
    pub extra: Extra,
    /// Where its configuration came from ([`crate::event::Submission::origin`]).
    pub origin: String,
    /// The folder that its relative paths start from.
    pub cwd: String,
}

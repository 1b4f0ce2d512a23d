//! The vocabulary of the core: what comes in, what is stated, what is ordered.

use countersign_plan::approval::Answer;
use countersign_plan::digest::Digest;
use countersign_plan::id::{KeyId, Principal, StepId};
use countersign_plan::permit::Phase;
use countersign_plan::saga::{Fate, Undo};
use countersign_plan::time::{Span, Timestamp};
use countersign_plan::verdict::{Code, Decision, Quorum};

use super::run::{Issued, Run};

/// What is fixed when a plan was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The plan.
    pub plan: Digest,
    /// Its version in the case.
    pub version: u32,
    /// The policy that judged.
    pub policy: Digest,
    /// Who proposed: never approves (INV-7).
    pub proposer: Principal,
    /// For whom the case was opened: approves only inline.
    pub requester: Principal,
    /// Whether the requester may approve.
    pub eyes: Eyes,
    /// What the review decided.
    pub decision: Decision,
    /// The approvals that are needed, all of them.
    pub quorums: Vec<Quorum>,
    /// Whether anything is to run.
    pub aim: Aim,
    /// The steps in the order of execution, and how each is taken back.
    pub steps: Vec<(StepId, Undo)>,
    /// How long the plan lives from its countersignature.
    pub lifetime: Span,
    /// When it is denied by itself.
    pub pending_until: Timestamp,
}

/// What a case is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aim {
    /// To be decided and recorded; nothing runs here.
    Check,
    /// To be run.
    Run,
}

/// Whose eyes an approval needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eyes {
    /// The requester may approve, and the record says so (`approval: {mode: inline}`).
    Two,
    /// Somebody else than the requester.
    Four,
}

/// What holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Context {
    /// Gate time.
    pub now: Timestamp,
    /// The boot epoch.
    pub epoch: u64,
}

/// Where a case stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stage {
    /// People are asked.
    Pending(Vec<Given>),
    /// Countersigned; the executor has not verified it yet.
    Countersigned(Lease),
    /// An executor runs it.
    Running(Run),
    /// An effect was started and its outcome is unknown (INV-2).
    Indeterminate {
        /// The step.
        step: StepId,
        /// Its phase.
        phase: Phase,
    },
    /// It ended; nothing more happens. What permits it had tells a late use from a forged one.
    Closed(Ending, Vec<Issued>),
}

/// An approval that counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Given {
    /// By whom.
    pub by: Principal,
    /// With which key.
    pub key: KeyId,
    /// The groups for which it counts.
    pub groups: Vec<String>,
}

/// For how long a countersigned plan may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The boot epoch in which it was signed; it dies with it.
    pub epoch: u64,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// No step acts from then on.
    pub expires_at: Timestamp,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// It was only to be decided, and is.
    Decided,
    /// Every step went as the plan says.
    Completed,
    /// A step did not, or got no leave.
    Stopped,
    /// Somebody or something stopped it from outside.
    Halted,
    /// A person said no.
    Denied,
    /// The gate said no.
    Blocked,
    /// Nobody answered in time, or nothing started in time.
    Expired,
    /// A new version took its place.
    Superseded,
    /// The goal was answered.
    Answered,
    /// The planner gave up, or is gone.
    Abandoned,
}

/// Why a case was halted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A person asked for it.
    Operator,
    /// The wall clock was set back.
    Clock,
    /// The gate's key was replaced.
    Rotation,
    /// The monitor was started again.
    Restart,
    /// The executor is gone.
    Executor,
    /// The plan or its permit expired.
    Expiry,
    /// A separation violation.
    Violation,
    /// The record cannot be written, or cannot be read back.
    Ledger,
}

/// A separation violation (INV-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Violation {
    /// The executor speaks out of turn: before it verified the plan, or twice.
    OutOfTurn,
    /// It verified other bytes than were countersigned, or refused them.
    OtherPlan,
    /// It asks for a step or phase that is not next: skipped, repeated, reordered, not in the plan.
    OutsidePlan,
    /// It asks for a second attempt.
    Repeat,
    /// It used bytes that are no permit of this case.
    UnknownPermit,
    /// It used a permit twice.
    SpentPermit,
    /// Its account contradicts the record.
    FalseReport,
    /// The zygote found the permit bad.
    BadPermit,
    /// The executor refused what came to it as the gate's word: a permit that is none of this errand, an outcome of another step.
    Mistrusted,
    /// The sandbox stopped something that the step may not do.
    Sandbox,
    /// An approval by the one who proposed.
    SelfApproval,
    /// A planner tried to act, or said what no planner may.
    Planner,
    /// An executor tried to act by itself: its sandbox stopped it, or it sent what is no message.
    Executor,
    /// An inspector tried to act: what it read had taken it over.
    Inspector,
}

/// Something happens to a case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// A person answers; the signature was checked.
    Answer {
        /// Who.
        by: Principal,
        /// The users from whom that person's keys were enrolled: whoever enrolled a key may hold it (INV-7).
        enrolled_by: Vec<Principal>,
        /// The key that signed.
        key: KeyId,
        /// The groups for which the answer counts.
        groups: Vec<String>,
        /// What.
        answer: Answer,
        /// The plan that was shown.
        plan: Digest,
        /// Its version.
        version: u32,
        /// The policy that asked.
        policy: Digest,
        /// Counts for nothing from then on.
        expires_at: Timestamp,
    },
    /// The executor verified a plan of this digest.
    Verified(Digest),
    /// The executor refused the plan, or what came to it as the gate's word.
    Rejected,
    /// The executor asks for leave.
    Request {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// From 1.
        attempt: u32,
        /// Whether arguments, schema, policy, digests and sandbox stand, as judged now.
        judged: Result<(), Code>,
    },
    /// The executor uses the permit of this number; none where the bytes are no permit of this case.
    Perform(Option<u32>),
    /// The attempt ended, and how is known.
    Observed(Fate),
    /// The attempt ended because the sandbox stopped something that the step may not do.
    Caught,
    /// The zygote did not start the attempt because of its permit.
    BadPermit,
    /// The attempt ended, and how is unknown.
    Lost,
    /// The executor tried to act by itself.
    ExecutorOffended,
    /// The executor is gone.
    ExecutorLost,
    /// The executor's account.
    Finished {
        /// Whether every step went as the plan says.
        completed: bool,
        /// Those that did.
        done: Vec<StepId>,
        /// Those that were taken back, in that order.
        undone: Vec<StepId>,
    },
    /// Stop.
    Halt(Cause),
    /// A person settles what an indeterminate step did.
    Settle {
        /// Who.
        by: Principal,
        /// The users from whom that person's keys were enrolled.
        enrolled_by: Vec<Principal>,
        /// The step.
        step: StepId,
        /// Whether it happened.
        happened: bool,
    },
    /// A key approves nothing any more: approvals that wait for others count no longer.
    Retire(KeyId),
    /// A new version takes its place.
    Supersede,
    /// Time passed.
    Tick,
}

/// Something that is true from now on, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The plan was reviewed under these terms.
    Reviewed,
    /// An approval counted.
    Approved {
        /// By whom, for which groups.
        given: Given,
        /// Whether the requester approved their own case (INV-7).
        self_approved: bool,
    },
    /// An approval that waited for others counts no longer, because its key was retired.
    Withdrawn(KeyId),
    /// A person said no.
    Denied(Principal),
    /// The gate countersigned.
    Countersigned(Lease),
    /// The gate gave leave.
    Permitted {
        /// The permit's number in its case.
        permit: u32,
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// Not to be started from then on.
        expires_at: Timestamp,
    },
    /// The gate gave no leave.
    Refused {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// Why.
        code: Code,
    },
    /// An attempt is about to happen (write-ahead).
    Intended {
        /// The permit that it uses up.
        permit: u32,
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
    },
    /// An attempt ended so.
    Outcome {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// How.
        fate: Fate,
    },
    /// A separation violation.
    Critical(Violation),
    /// The case was told to stop.
    Halted(Cause),
    /// The outcome of an attempt is unknown.
    Indeterminate {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
    },
    /// A person settled it.
    Settled {
        /// Who.
        by: Principal,
        /// The step.
        step: StepId,
        /// Whether it happened.
        happened: bool,
    },
    /// Something came that belongs to nothing: a late outcome.
    Stray,
    /// The case ended.
    Closed(Ending),
}

/// Something to be done once the facts before it are durable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Order {
    /// Start an executor with the countersigned plan.
    Start,
    /// Give the executor the permit of this number.
    Grant(u32),
    /// Tell the executor that it gets no leave.
    Refuse(Code),
    /// Spawn the attempt of this permit.
    Run(u32),
    /// Tell the executor what the attempt showed.
    Tell,
    /// Tell the executor to stop.
    Stop {
        /// Why.
        cause: Cause,
        /// Whether effects so far are taken back.
        compensate: bool,
    },
    /// Kill the attempt.
    KillStep,
    /// Kill the executor.
    KillExecutor,
    /// Tell a person.
    Alert(Violation),
}

/// Why an answer of a person counted for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unanswered {
    /// Nothing waits for an answer here.
    #[error("the case does not wait for an answer")]
    NotPending,
    /// Another plan, version or policy was shown.
    #[error("the answer is about another plan, version or policy than the one that waits; read it again and sign that")]
    OtherPlan,
    /// Too late.
    #[error("the answer has expired; sign it again")]
    Expired,
    /// The proposer.
    #[error("who proposed a plan never approves it")]
    Proposer,
    /// The requester, where four eyes are needed.
    #[error(
        "the case was opened for this person, or for the user from whom this person's key was enrolled, and its deployment \
         asks for somebody else (`approval: {{mode: four_eyes}}`)"
    )]
    Requester,
    /// Counted already.
    #[error("this person has approved already; each person counts once")]
    Again,
    /// Of no group that is asked.
    #[error("this person belongs to none of the groups that are asked")]
    Group,
    /// The answer is about another question.
    #[error("the case asks something else than was answered; read it again and sign that")]
    OtherAsk,
    /// The answer gives what was not asked for.
    #[error(
        "the answer adds nothing to the budget that is spent, or to another one; state tokens for tokens, money for money"
    )]
    OtherBudget,
    /// The settlement is about another step.
    #[error("the settlement is about another step than the one whose outcome is unknown")]
    OtherStep,
}

/// What a step of a case led to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct Output {
    /// To be recorded, in this order.
    pub facts: Vec<Fact>,
    /// To be done after that, in this order.
    pub orders: Vec<Order>,
    /// Why a person's answer counted for nothing, where it did.
    pub unanswered: Option<Unanswered>,
}

impl Stage {
    /// The name that messages and records use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending(_) => "pending",
            Self::Countersigned(_) => "countersigned",
            Self::Running(_) => "running",
            Self::Indeterminate { .. } => "indeterminate",
            Self::Closed(ending, _) => ending.as_str(),
        }
    }
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal,)* }) => {
        impl $type {
            /// The word that records use.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The value of a word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words!(Ending {
    Decided = "decided",
    Completed = "completed",
    Stopped = "stopped",
    Halted = "halted",
    Denied = "denied",
    Blocked = "blocked",
    Expired = "expired",
    Superseded = "superseded",
    Answered = "answered",
    Abandoned = "abandoned",
});
words!(Eyes {
    Two = "inline",
    Four = "four_eyes",
});
words!(Cause {
    Operator = "operator",
    Clock = "clock_set_back",
    Rotation = "key_rotated",
    Restart = "restart",
    Executor = "executor_lost",
    Expiry = "expired",
    Violation = "violation",
    Ledger = "ledger",
});
words!(Violation {
    OutOfTurn = "executor_out_of_turn",
    OtherPlan = "plan_bytes_changed",
    OutsidePlan = "request_outside_the_plan",
    Repeat = "second_attempt",
    UnknownPermit = "unknown_permit",
    SpentPermit = "permit_reused",
    FalseReport = "report_contradicts_the_record",
    BadPermit = "permit_refused_by_the_zygote",
    Mistrusted = "refused_by_the_executor",
    Sandbox = "sandbox_violation",
    SelfApproval = "self_approval",
    Planner = "planner_tried_to_act",
    Executor = "executor_tried_to_act",
    Inspector = "inspector_tried_to_act",
});

//! What reaches the gate. Each event is one message of a neighbour process, or one reading of the clock.

use std::sync::Arc;

use countersign_plan::approval::Approver;
use countersign_plan::budget::Shortage;
use countersign_plan::digest::Digest;
use countersign_plan::envelope::Envelope;
use countersign_plan::id::{CaseId, Principal, StepId};
use countersign_plan::observation::Observation;
use countersign_plan::permit::Phase;
use countersign_plan::resolve::Inputs;
use countersign_plan::verdict::Mode;
use countersign_policy::flow::Label;
use serde_json::Value;

use crate::configuration::Configuration;
use crate::key::GateKey;
use crate::machine::Eyes;

/// Something happened. One event, one transition.
#[derive(Debug)]
pub enum Event {
    /// A proposer submits a plan or an intent. Answered by `AnswerProposer`.
    Submit(Box<Submission>),
    /// A user gives a goal for a planner to pursue. Answered by `AnswerPursuer`.
    OpenGoal(Box<Goal>),
    /// The planner of a case did something that is to be recorded. Answered by `AnswerPlanner`, once it is.
    Planner {
        /// The case; the daemon knows it by the planner's own socket.
        case: CaseId,
        /// What it did.
        did: PlannerDeed,
    },
    /// The broker made no inference for the planner of a case, because a budget is spent: people are asked.
    BudgetSpent {
        /// The case.
        case: CaseId,
        /// Which, and by how much.
        shortage: Shortage,
        /// For people, with what they can do.
        message: String,
    },
    /// No planner goes on with the case: it is gone, or could not be started. Not sent while another planner takes its place, such
    /// as the one without tools that writes the answer.
    PlannerEnded {
        /// The case.
        case: CaseId,
        /// For people.
        reason: String,
    },
    /// The planner of a case tried to act, or sent what no planner sends: a separation violation (INV-9).
    PlannerViolation {
        /// The case.
        case: CaseId,
        /// For people.
        message: String,
    },
    /// An approver answers: an approval's DSSE envelope. Answered by `AnswerOperator`.
    Answer(Envelope),
    /// An approver answers a case whose budget is spent: an [`countersign_plan::budget::Extension`]. Answered by `AnswerOperator`.
    Extend(Envelope),
    /// An approver settles what an indeterminate step did: a [`countersign_plan::approval::Settlement`]. Answered by
    /// `AnswerOperator`.
    Settle(Envelope),
    /// An operator stops a case, or all of them where there is none. Answered by `AnswerOperator`.
    Halt {
        /// The case.
        case: Option<CaseId>,
        /// For people.
        reason: String,
    },
    /// A person is enrolled as approver. The first needs no signature; each later one needs that of an enrolled approver
    /// ([`countersign_plan::approval::Enrolment`]). Answered by `AnswerOperator`.
    Enroll {
        /// Who, with groups and key.
        approver: Approver,
        /// The user at the other end of the socket, as the kernel says (`uid:1000`): who sends a key in may hold it, and
        /// under four eyes approves no case of that user with it (INV-7).
        by: Principal,
        /// An enrolled approver's signature over the same.
        envelope: Option<Envelope>,
    },
    /// An approver's key is retired: a [`countersign_plan::approval::Retirement`] by an enrolled approver, and never the last
    /// key. Approvals with it that wait for others count no longer. Answered by `AnswerOperator`.
    Retire(Envelope),
    /// A configuration file is to be trusted: a [`countersign_plan::approval::Trust`]. Answered by `AnswerOperator`.
    Trust(Envelope),
    /// What was sealed for a case that ended is to be destroyed: a [`countersign_plan::approval::Erasure`]. Answered by
    /// `AnswerOperator`.
    Erase {
        /// The signed record.
        envelope: Envelope,
        /// The case as the ledger tells it, then those in which its planner read.
        relics: Vec<Relic>,
        /// What has to be known of them after: labels. Sealed as the house's own; the gate does not read it.
        kept: Value,
    },
    /// The gate's key is replaced. Answered by `AnswerOperator`.
    Rotate(GateKey),
    /// The executor of a case said something.
    Executor {
        /// The case that the executor was started for; the daemon knows it by the executor's own socket.
        case: CaseId,
        /// What it said.
        said: Said,
    },
    /// The executor of a case tried a forbidden system call, or sent what is no message: a separation violation (INV-9).
    ExecutorViolation {
        /// The case.
        case: CaseId,
        /// What it tried, for people.
        message: String,
    },
    /// The executor of a case is gone, or could not be started.
    ExecutorLost {
        /// The case.
        case: CaseId,
        /// For people.
        reason: String,
    },
    /// The step child of a case runs, sealed and attested.
    StepStarted {
        /// The case.
        case: CaseId,
        /// How far its sandbox holds: recorded with the outcome.
        enforcement: Value,
    },
    /// The step child of a case ended, and what it showed is known. A deadline that killed it is `TimedOut`.
    StepObserved {
        /// The case.
        case: CaseId,
        /// What it showed.
        observation: Observation,
        /// The labels that it left, for the record; null where that is not known. The gate does not read them.
        labels: Value,
    },
    /// The zygote did not start the step child: nothing ran.
    StepRefused {
        /// The case.
        case: CaseId,
        /// Whether the zygote found the permit bad, which is a separation violation.
        violation: bool,
        /// For people.
        message: String,
    },
    /// The step child was started and is gone without an observation: what it did is unknown (INV-2).
    StepLost {
        /// The case.
        case: CaseId,
        /// For people.
        reason: String,
    },
    /// The broker says something of its own accord: a budget that is spent, a tool that changed, a metadata address.
    Broker {
        /// The case that it is about, if it is about one.
        case: Option<CaseId>,
        /// Whether people have to know now.
        alert: bool,
        /// For people, without secrets.
        message: String,
    },
    /// An inspector gave no answer that can be read. What it was asked about counts as not inspected.
    InspectorFailed {
        /// The case that it was asked for, if one was opened.
        case: Option<CaseId>,
        /// For people.
        message: String,
    },
    /// An inspector tried to act: a separation violation (INV-9). What it said was believed of one case at most, which is halted.
    InspectorViolation {
        /// That case; for one that belonged to none a name that no case has.
        case: CaseId,
        /// For people.
        message: String,
    },
    /// Time passed: expires what is due. Send one at least every few seconds.
    Tick,
    /// Entries could not be recorded, or whether they were is unknown. Everything halts, for good (INV-4).
    LedgerFailed,
}

/// A case whose words are to be destroyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relic {
    /// The case.
    pub case: CaseId,
    /// For whom it was opened.
    pub requester: Principal,
    /// Who proposed.
    pub agent: Principal,
    /// Who might approve it; where no record says so, not its requester.
    pub eyes: Option<Eyes>,
}

/// A proposal as it arrived.
#[derive(Debug)]
pub struct Submission {
    /// A `countersign.plan/v1` or `countersign.intent/v1`, JSON or YAML; parsed strictly by the gate.
    pub document: Vec<u8>,
    /// The goal as the user gave it; a plan's own where absent.
    pub goal: Option<String>,
    /// Inputs given with the goal.
    pub inputs: Inputs,
    /// The folder that relative paths start from; absolute.
    pub cwd: String,
    /// For whom the case is opened.
    pub requester: Principal,
    /// Who proposes.
    pub agent: Principal,
    /// Who acts. A guarded case is decided and never run here.
    pub mode: Mode,
    /// Decide and record, run nothing.
    pub check: bool,
    /// The case whose plan this revises: a new version, which needs new approvals. For a case that was opened for a goal also
    /// its first version.
    pub revises: Option<CaseId>,
    /// The case of a goal whose planner wants to read this: a case of its own, that only reads.
    pub parent: Option<CaseId>,
    /// The label of everything that the planner of a goal was shown, by the daemon's account: its words have it (FLOW rule 6).
    /// [`Label::TOP`] where that is not known. What an outside agent has seen nobody knows: its words are open.
    pub seen: Label,
    /// The compiled configuration that judges.
    pub configuration: Arc<Configuration>,
    /// Where that configuration came from, so that it can be compiled again after a restart; recorded, and given back in
    /// [`crate::case::Summary`].
    pub origin: String,
}

/// A goal as a user gave it: pinned for the case.
#[derive(Debug)]
pub struct Goal {
    /// The goal.
    pub goal: String,
    /// Inputs given with it.
    pub inputs: Inputs,
    /// The folder that relative paths start from; absolute.
    pub cwd: String,
    /// For whom the case is opened.
    pub requester: Principal,
    /// Who will propose: the planner.
    pub agent: Principal,
    /// The model provider by name; empty for the default one.
    pub provider: String,
    /// The compiled configuration that judges.
    pub configuration: Arc<Configuration>,
    /// Where that configuration came from, as in [`Submission::origin`].
    pub origin: String,
}

/// What a planner did, for the record. Its words are untrusted: they are quoted, bounded and decide nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum PlannerDeed {
    /// It runs, sealed and attested, and was given its task.
    Started {
        /// How far its sandbox holds.
        enforcement: Value,
        /// What it sees from the start, as in `Loaded`; none for one that only answers.
        surface: Option<Digest>,
    },
    /// It loaded tools.
    Loaded {
        /// The groups that it asked for.
        groups: Vec<String>,
        /// Every tool that it sees now, by the digest of its definition.
        surface: Digest,
        /// How many those are.
        tools: u32,
    },
    /// It asked a model.
    Inferred {
        /// Which question, from 1.
        number: u32,
        /// The digest of what was asked.
        request: Digest,
        /// The digest of what was answered.
        answer: Digest,
        /// The secrecy of what it has read: what the provider may have seen.
        secrecy: String,
        /// Provider, model, outcome and what it cost: the broker's account.
        account: Value,
    },
    /// It read something, by a case of its own.
    Read {
        /// The case; none where the gate was not asked.
        case: Option<CaseId>,
        /// The tool.
        action: String,
        /// `done`, or why not.
        outcome: String,
    },
    /// It answers the goal: the end, refused while a version of the plan is under way.
    Answered {
        /// Its words.
        text: String,
    },
    /// It gives up: the end.
    GaveUp {
        /// Why.
        reason: String,
    },
}

/// What an executor says.
#[derive(Debug, Clone)]
pub enum Said {
    /// It verified the plan.
    Verified {
        /// The plan's digest.
        plan_digest: Digest,
    },
    /// It refused the plan, or what came to it as the gate's word; it does nothing further.
    Rejected {
        /// Why.
        message: String,
    },
    /// It asks for leave for one attempt.
    Request {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// From 1.
        attempt: u32,
        /// The configuration as it is now: a change since the plan was signed refuses.
        present: Arc<Configuration>,
    },
    /// It uses a permit: the exact bytes as it received them.
    Perform {
        /// The permit's envelope as JSON.
        permit: Vec<u8>,
    },
    /// It is done.
    Finished(Report),
}

/// An executor's account of a run, compared with the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Whether every step went as the plan says.
    pub completed: bool,
    /// The steps that went as the plan says, in order.
    pub done: Vec<StepId>,
    /// The steps that were taken back, in the order in which that happened.
    pub undone: Vec<StepId>,
}

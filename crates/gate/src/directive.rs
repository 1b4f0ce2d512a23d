//! What the gate tells the daemon to do: effects as data.

use countersign_plan::confinement::SandboxSpec;
use countersign_plan::digest::Digest;
use countersign_plan::envelope::{CountersignedPlan, Envelope};
use countersign_plan::id::{CaseId, StepId, ToolName};
use countersign_plan::key::PublicKey;
use countersign_plan::observation::Observation;
use countersign_plan::permit::Phase;
use countersign_plan::resolve::Inputs;
use countersign_plan::saga::Undo;
use countersign_plan::time::Timestamp;
use countersign_plan::tool::Driver;
use countersign_plan::verdict::{Code, Verdict};
use serde_json::Value;

use crate::key::CheckpointSigner;
use crate::permit::Permit;

/// Something to be done, after the record that allows it is durable.
#[derive(Debug)]
pub enum Directive {
    /// Answer the proposer of the event that led here.
    AnswerProposer(Box<Verdict>),
    /// Answer the user who gave a goal: the case that was opened for it, or why none was.
    AnswerPursuer(Result<CaseId, (Code, String)>),
    /// Start a planner for the case and give it this task first.
    StartPlanner {
        /// The case.
        case: CaseId,
        /// The pinned goal.
        goal: String,
        /// Inputs given with it.
        inputs: Inputs,
        /// The folder that relative paths start from.
        cwd: String,
        /// The model provider by name; empty for the default one.
        provider: String,
    },
    /// The budget of the case was raised: its planner's question is asked again.
    ContinuePlanner {
        /// The case.
        case: CaseId,
    },
    /// What the planner of the case did is recorded, and it may be told what came of it; or why it may not.
    AnswerPlanner {
        /// The case.
        case: CaseId,
        /// Whether it may go on.
        heard: Result<(), (Code, String)>,
    },
    /// End the planner of the case; nothing that it says counts any more.
    EndPlanner {
        /// The case.
        case: CaseId,
        /// For people.
        reason: String,
    },
    /// Answer the operator of the event that led here.
    AnswerOperator(OperatorAnswer),
    /// Tell who watches the case.
    Notify {
        /// The case.
        case: CaseId,
        /// What happened.
        notice: Notice,
    },
    /// Start an executor for the case and send it this first.
    StartExecutor {
        /// The case.
        case: CaseId,
        /// The countersigned plan.
        plan: Box<CountersignedPlan>,
        /// The key that the envelope is signed with.
        gate: PublicKey,
        /// The boot epoch.
        epoch: u64,
        /// Gate time.
        now: Timestamp,
        /// How each step is taken back, in the order of execution.
        undo: Vec<(StepId, Undo)>,
    },
    /// Send the executor a permit.
    GrantPermit {
        /// The case.
        case: CaseId,
        /// The permit; its bytes come back in `Said::Perform`.
        permit: Permit,
    },
    /// Tell the executor that it gets no leave.
    RefuseExecutor {
        /// The case.
        case: CaseId,
        /// Why.
        code: Code,
        /// For people.
        message: String,
    },
    /// Have the zygote spawn a step child.
    RunStep(Box<RunStep>),
    /// Tell the executor what the attempt showed.
    Observed {
        /// The case.
        case: CaseId,
        /// The step.
        step: StepId,
        /// What it showed.
        observation: Box<Observation>,
    },
    /// Tell the executor to stop.
    HaltExecutor {
        /// The case.
        case: CaseId,
        /// For people.
        reason: String,
        /// Whether effects so far are taken back.
        compensate: bool,
    },
    /// Kill the step child of the case with its whole tree.
    KillStep {
        /// The case.
        case: CaseId,
    },
    /// Kill the executor of the case; it says nothing any more.
    KillExecutor {
        /// The case.
        case: CaseId,
    },
    /// Tell a person, now: a separation violation or another critical event (INV-9).
    Alert {
        /// The case, where it belongs to one.
        case: Option<CaseId>,
        /// For people.
        message: String,
    },
    /// Have the ledger and the zygote believe the new key.
    RotateKey {
        /// The new key for the ledger: `Ledger::rotate`.
        signer: CheckpointSigner,
        /// The new public key for the zygote.
        key: PublicKey,
        /// The old key's signature over `wire::zygote::rotation_message` of key and epoch.
        signature: [u8; 64],
    },
}

/// Everything that a step child is started with.
#[derive(Debug)]
pub struct RunStep {
    /// The case.
    pub case: CaseId,
    /// The permit's envelope, for the zygote.
    pub permit: Envelope,
    /// The sandbox; its digest is in the permit.
    pub spec: SandboxSpec,
    /// What the child is to do.
    pub order: Order,
    /// Gate time.
    pub now: Timestamp,
    /// The permit is refused from then on.
    pub deadline: Timestamp,
}

/// The content of a step's order (`wire::step::Order`), less the spec.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The step.
    pub step: StepId,
    /// What the child is for.
    pub phase: Phase,
    /// The tool.
    pub tool: ToolName,
    /// Concrete arguments; their digest is in the permit. Paths are absolute.
    pub args: Value,
    /// Absolute paths whose facts are reported after the step.
    pub facts: Vec<String>,
    /// How the tool is carried out, where that is not by the built-in tool of its name.
    pub driver: Option<Driver>,
    /// For `snapshot` and `restore`.
    pub snapshot: Option<Snapshot>,
}

/// State to keep or to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Absolute paths of files and folders whose state is meant.
    pub targets: Vec<String>,
    /// The folder that holds the copies; the daemon creates it before the step child starts.
    pub store: String,
    /// Bytes that are copied at most.
    pub limit: u64,
    /// For `restore`: the digest of the index that `snapshot` reported as `/index` of its output.
    pub index: Option<Digest>,
}

/// Something that happened in a case, for those who watch it (`wire::propose::CaseEvent`).
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The stage changed.
    Stage {
        /// Its name ([`crate::machine::Stage::name`]).
        stage: &'static str,
        /// For people.
        detail: String,
    },
    /// A step child runs.
    StepStarted {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// How far its sandbox holds.
        enforcement: Value,
    },
    /// A step child ended.
    StepEnded {
        /// The step.
        step: StepId,
        /// What for.
        phase: Phase,
        /// What it showed.
        observation: Box<Observation>,
    },
    /// A version of the plan ended; the case goes on.
    RunEnded {
        /// The version.
        version: u32,
        /// Its last stage.
        stage: &'static str,
        /// `{ending, detail, why: {code, step, message}, done, undone, standing}`.
        report: Value,
    },
    /// A critical event.
    Critical {
        /// For people.
        message: String,
    },
    /// The case ended; nothing follows.
    Ended {
        /// Its last stage.
        stage: &'static str,
        /// `{ending, detail, why: {code, step, message}, done, undone, standing}`.
        report: Value,
    },
}

/// What an operator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorAnswer {
    /// The answer, settlement or halt took effect on these cases.
    Done {
        /// Each case with its stage now.
        cases: Vec<(CaseId, &'static str)>,
    },
    /// The approver is enrolled.
    Enrolled,
    /// The key is retired.
    Retired {
        /// The key.
        key: PublicKey,
        /// The cases in which an approval with it counts no longer, each with its stage.
        cases: Vec<(CaseId, &'static str)>,
    },
    /// The file is trusted at this digest.
    Trusted {
        /// The file.
        path: String,
        /// Its content.
        digest: Digest,
    },
    /// What was sealed for these cases can never be read again.
    Erased {
        /// The cases.
        cases: Vec<CaseId>,
    },
    /// The key is replaced.
    Rotated {
        /// The new key.
        key: PublicKey,
    },
    /// Nothing took effect.
    Refused {
        /// Why.
        code: Code,
        /// For people.
        message: String,
    },
}

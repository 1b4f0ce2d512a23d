//! Monitor ⇄ planner, over the planner's only socket. A planner can ask for exactly these things; whatever else it tries is
//! a separation violation (INV-9).

/// The largest frame from a planner, in bytes.
pub const PLANNER_FRAME_LIMIT: usize = 4 << 20;

/// What the monitor tells a planner.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToPlanner {
    /// What is told.
    #[prost(oneof = "to_planner::Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub kind: Option<to_planner::Kind>,
}

/// Kinds of [`ToPlanner`].
pub mod to_planner {
    /// What is told.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Once, first: the task.
        #[prost(message, tag = "1")]
        Start(Start),
        /// The outcome of an inference.
        #[prost(message, tag = "2")]
        Inferred(Inferred),
        /// The tools of the groups that were asked for.
        #[prost(message, tag = "3")]
        Loaded(Loaded),
        /// What a read showed, or why it did not happen.
        #[prost(message, tag = "4")]
        Observed(Observed),
        /// The gate's verdict on a draft.
        #[prost(message, tag = "5")]
        Reviewed(Reviewed),
        /// The countersigned plan ran to its end or was stopped.
        #[prost(message, tag = "6")]
        Ran(Ran),
        /// The request could not be met; the planner may go on.
        #[prost(message, tag = "7")]
        Refused(Refused),
    }

    /// The task.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Start {
        /// JSON of [`super::Task`].
        #[prost(bytes = "vec", tag = "1")]
        pub task: Vec<u8>,
    }

    /// The outcome of an inference.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Inferred {
        /// JSON of [`crate::infer::Outcome`].
        #[prost(bytes = "vec", tag = "1")]
        pub outcome: Vec<u8>,
    }

    /// The surface after loading.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Loaded {
        /// JSON of [`super::Surface`]: all that is loaded now.
        #[prost(bytes = "vec", tag = "1")]
        pub surface: Vec<u8>,
    }

    /// What a read showed.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Observed {
        /// JSON of `countersign_plan::observation::Observation`.
        #[prost(bytes = "vec", tag = "1")]
        pub observation: Vec<u8>,
    }

    /// A verdict.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Reviewed {
        /// JSON of `countersign_plan::verdict::Verdict`.
        #[prost(bytes = "vec", tag = "1")]
        pub verdict: Vec<u8>,
        /// Whether the plan will run if people approve it: the planner waits. Otherwise it may propose another draft.
        #[prost(bool, tag = "2")]
        pub waiting: bool,
    }

    /// How a run ended.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Ran {
        /// JSON of [`super::RunResult`].
        #[prost(bytes = "vec", tag = "1")]
        pub result: Vec<u8>,
    }

    /// The request could not be met.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Refused {
        /// A code of the catalogue.
        #[prost(string, tag = "1")]
        pub code: String,
        /// What to do instead.
        #[prost(string, tag = "2")]
        pub message: String,
    }
}

/// What a planner says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromPlanner {
    /// What is said.
    #[prost(oneof = "from_planner::Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub kind: Option<from_planner::Kind>,
}

/// Kinds of [`FromPlanner`].
pub mod from_planner {
    /// What is said.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Ask the model. One at a time.
        #[prost(message, tag = "1")]
        Infer(Infer),
        /// Load tools by group.
        #[prost(message, tag = "2")]
        LoadTools(LoadTools),
        /// Read something now, by a tool that only reads; the gate judges it like any action.
        #[prost(message, tag = "3")]
        Read(Read),
        /// Propose a draft: the first of the case.
        #[prost(message, tag = "4")]
        Propose(Propose),
        /// Propose a revision: a new version, which needs new approvals.
        #[prost(message, tag = "5")]
        Revise(Propose),
        /// Answer the goal; the end.
        #[prost(message, tag = "6")]
        Answer(Answer),
        /// Give up; the end.
        #[prost(message, tag = "7")]
        GiveUp(GiveUp),
    }

    /// A question to the model.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Infer {
        /// JSON of [`crate::infer::Request`]; the monitor bounds it and passes it on unread.
        #[prost(bytes = "vec", tag = "1")]
        pub request: Vec<u8>,
    }

    /// Groups of tools.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct LoadTools {
        /// Their names.
        #[prost(string, repeated, tag = "1")]
        pub groups: Vec<String>,
    }

    /// A read.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Read {
        /// The tool.
        #[prost(string, tag = "1")]
        pub action: String,
        /// Its arguments: a JSON object.
        #[prost(bytes = "vec", tag = "2")]
        pub args: Vec<u8>,
    }

    /// A draft.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Propose {
        /// A `countersign.plan/v1` as JSON.
        #[prost(bytes = "vec", tag = "1")]
        pub draft: Vec<u8>,
    }

    /// An answer.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Answer {
        /// The text.
        #[prost(string, tag = "1")]
        pub text: String,
    }

    /// The planner's end without an answer.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct GiveUp {
        /// Why.
        #[prost(string, tag = "1")]
        pub reason: String,
    }
}

/// What a planner is to do.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Draft plans for a goal.
    Draft {
        /// The pinned goal, as the user gave it.
        goal: String,
        /// Inputs given with the goal: a JSON object. A draft names them by `$input`.
        inputs: serde_json::Value,
        /// The folder that relative paths start from.
        cwd: String,
        /// What is loaded at the start.
        surface: Surface,
        /// What bounds the planner.
        bounds: Bounds,
    },
    /// Write the answer from the observations; no tools, no reads, no drafts.
    Answer {
        /// The pinned goal.
        goal: String,
        /// What was done and what it showed.
        results: Vec<RunResult>,
        /// What bounds the planner.
        bounds: Bounds,
    },
}

/// What bounds a planner; the monitor enforces each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Inferences.
    pub inferences: u32,
    /// Reads.
    pub reads: u32,
    /// Drafts, revisions included.
    pub drafts: u32,
    /// Tokens of one answer.
    pub max_tokens: u32,
    /// Tokens that a question and its answer have together with this model; 0 where nobody said. The broker enforces it.
    pub context: u32,
}

/// The tools that a planner sees.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Every group that can be loaded: its name and what it is for.
    pub groups: Vec<(String, String)>,
    /// The tools that are loaded.
    pub tools: Vec<SurfaceTool>,
}

/// A tool as a planner sees it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurfaceTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON Schema of its arguments.
    pub args: serde_json::Value,
    /// What it does to the world.
    pub effect: String,
    /// Whether that can be taken back.
    pub reversibility: String,
    /// Whether the planner may read with it before it proposes.
    pub readable: bool,
    /// Fields of its result that its manifest declares, as JSON pointers.
    pub outputs: Vec<String>,
    /// Arguments that may be a secret, as JSON pointers, each with the names (never values) of secrets that there are for it.
    pub secrets: Vec<(String, Vec<String>)>,
}

/// How the run of a countersigned plan ended, with what its steps showed.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// The version of the plan.
    pub version: u32,
    /// The stage: `completed`, `stopped`, `halted`, `denied`, `expired`, `indeterminate`.
    pub stage: String,
    /// For people and for the planner.
    pub detail: String,
    /// Observations by step, in the order of execution.
    pub observations: Vec<(String, serde_json::Value)>,
}

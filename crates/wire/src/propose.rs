//! Client ⇄ monitor over `propose.sock`: propose, wait, read one's own case. Nothing here approves (INV-7).

/// What a proposer asks.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToMonitor {
    /// What is asked.
    #[prost(oneof = "to_monitor::Kind", tags = "1, 2, 3, 4")]
    pub kind: Option<to_monitor::Kind>,
}

/// Kinds of [`ToMonitor`].
pub mod to_monitor {
    /// What is asked.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Judge a plan or an intent, and run it if it is to be run.
        #[prost(message, tag = "1")]
        Submit(Submit),
        /// Follow a case until it ends or the client goes.
        #[prost(message, tag = "2")]
        Watch(Watch),
        /// Read a case.
        #[prost(message, tag = "3")]
        Show(Show),
        /// Have a planner turn a goal into a plan, and go on as with any other plan. Answered by `Pursued`.
        #[prost(message, tag = "4")]
        Pursue(Pursue),
    }

    /// A proposal.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Submit {
        /// A `countersign.plan/v1` or `countersign.intent/v1`, JSON or YAML.
        #[prost(bytes = "vec", tag = "1")]
        pub document: Vec<u8>,
        /// The goal as the user gave it; the draft's own where absent.
        #[prost(string, optional, tag = "2")]
        pub goal: Option<String>,
        /// Inputs given with the goal: a JSON object.
        #[prost(bytes = "vec", tag = "3")]
        pub inputs: Vec<u8>,
        /// The folder that relative paths start from.
        #[prost(string, tag = "4")]
        pub cwd: String,
        /// The deployment file that the client found or was given; empty for none.
        #[prost(string, tag = "5")]
        pub deployment: String,
        /// Who proposes, as it calls itself: `agent:…`.
        #[prost(string, tag = "6")]
        pub agent: String,
        /// Decide and record, execute nothing.
        #[prost(bool, tag = "7")]
        pub check: bool,
        /// Whether the client acts itself.
        #[prost(bool, tag = "8")]
        pub guarded: bool,
    }

    /// Follow a case.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Watch {
        /// The case.
        #[prost(string, tag = "1")]
        pub case: String,
    }

    /// Read a case.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Show {
        /// The case.
        #[prost(string, tag = "1")]
        pub case: String,
    }

    /// A goal in words.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pursue {
        /// The goal, as the user gave it.
        #[prost(string, tag = "1")]
        pub goal: String,
        /// Inputs given with the goal: a JSON object; empty for none.
        #[prost(bytes = "vec", tag = "2")]
        pub inputs: Vec<u8>,
        /// The folder that relative paths start from.
        #[prost(string, tag = "3")]
        pub cwd: String,
        /// The deployment file that the client found or was given; empty for none.
        #[prost(string, tag = "4")]
        pub deployment: String,
        /// The model provider by name; empty for the default one.
        #[prost(string, tag = "5")]
        pub provider: String,
    }
}

/// What the monitor answers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromMonitor {
    /// What is answered.
    #[prost(oneof = "from_monitor::Kind", tags = "1, 2, 3, 4, 5")]
    pub kind: Option<from_monitor::Kind>,
}

/// Kinds of [`FromMonitor`].
pub mod from_monitor {
    /// What is answered.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// The verdict, durable in the ledger.
        #[prost(message, tag = "1")]
        Verdict(Verdict),
        /// Something happened in the case that is watched.
        #[prost(message, tag = "2")]
        Event(Event),
        /// A case.
        #[prost(message, tag = "3")]
        Case(Case),
        /// The request failed; nothing was allowed.
        #[prost(message, tag = "4")]
        Error(Error),
        /// A case was opened for the goal, and a planner works on it.
        #[prost(message, tag = "5")]
        Pursued(Pursued),
    }

    /// A case was opened for a goal; `Watch` follows it.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pursued {
        /// The case.
        #[prost(string, tag = "1")]
        pub case: String,
    }

    /// A verdict.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Verdict {
        /// JSON of `countersign_plan::verdict::Verdict`.
        #[prost(bytes = "vec", tag = "1")]
        pub verdict: Vec<u8>,
    }

    /// An event.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Event {
        /// JSON of [`super::CaseEvent`].
        #[prost(bytes = "vec", tag = "1")]
        pub event: Vec<u8>,
    }

    /// A case.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Case {
        /// JSON of [`super::CaseView`].
        #[prost(bytes = "vec", tag = "1")]
        pub case: Vec<u8>,
    }

    /// A failure.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Error {
        /// A code of the catalogue.
        #[prost(string, tag = "1")]
        pub code: String,
        /// For people, with the place and the fix.
        #[prost(string, tag = "2")]
        pub message: String,
    }
}

/// Something that happened in a case.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "event", deny_unknown_fields)]
pub enum CaseEvent {
    /// The stage changed.
    Stage {
        /// `pending`, `paused`, `denied`, `countersigned`, `running`, `completed`, `stopped`, `halted`, `indeterminate`.
        stage: String,
        /// For people.
        detail: String,
    },
    /// A step began.
    StepStarted {
        /// The step.
        step: String,
        /// `snapshot`, `act`, `restore` or `compensate`.
        phase: String,
        /// How far the sandbox holds.
        enforcement: serde_json::Value,
    },
    /// Output of a program.
    Output {
        /// The step.
        step: String,
        /// Whether it is standard error.
        error: bool,
        /// The text; what is no UTF-8 is replaced.
        text: String,
    },
    /// A step ended.
    StepEnded {
        /// The step.
        step: String,
        /// `snapshot`, `act`, `restore` or `compensate`.
        phase: String,
        /// JSON of the observation.
        observation: serde_json::Value,
    },
    /// The planner said something, or is waited for.
    Planner(PlannerEvent),
    /// A version of the plan ended; its planner goes on.
    RunEnded {
        /// The version.
        version: u32,
        /// Its last stage.
        stage: String,
        /// As in [`CaseEvent::Ended`].
        report: serde_json::Value,
    },
    /// A separation violation or another critical event.
    Critical {
        /// For people.
        message: String,
    },
    /// The case ended; nothing follows.
    Ended {
        /// The last stage.
        stage: String,
        /// JSON of the executor's report, where one ran.
        report: serde_json::Value,
    },
}

/// What a planner does in a case that was opened for a goal.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "planner", deny_unknown_fields)]
pub enum PlannerEvent {
    /// A sealed planner took the goal.
    Started {
        /// The provider that is asked; empty for the default one.
        provider: String,
        /// How far its sandbox holds.
        enforcement: serde_json::Value,
    },
    /// The model is answering: so many bytes came so far. Not kept.
    Thinking {
        /// Bytes of the answer.
        bytes: u64,
    },
    /// The model answered, or did not.
    Inferred {
        /// From 1.
        number: u32,
        /// JSON of [`crate::broker::Account`].
        account: serde_json::Value,
    },
    /// Tools were loaded.
    Loaded {
        /// The groups that were asked for.
        groups: Vec<String>,
        /// How many tools the planner sees now.
        tools: u32,
    },
    /// The planner read something, by a step of its own.
    Read {
        /// The tool.
        action: String,
        /// Its arguments.
        args: serde_json::Value,
        /// The case in which the gate judged it; empty where it was not asked.
        case: String,
        /// `done`, or why not.
        outcome: String,
    },
    /// A draft was judged.
    Judged {
        /// Which draft of this planner, from 1.
        draft: u32,
        /// JSON of the verdict.
        verdict: serde_json::Value,
    },
    /// A planner without tools writes the answer.
    Answering,
    /// The answer to the goal, written from the observations.
    Answered {
        /// The planner's words: untrusted.
        text: String,
    },
    /// The planner gave up, or was ended.
    GaveUp {
        /// Why.
        reason: String,
    },
}

/// A case as its proposer or an operator may see it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseView {
    /// The case.
    pub case: String,
    /// Its stage, as in [`CaseEvent::Stage`].
    pub stage: String,
    /// For whom it was opened.
    pub principal: String,
    /// Who proposed.
    pub agent: String,
    /// The goal.
    pub goal: String,
    /// The latest verdict.
    pub verdict: serde_json::Value,
    /// Exact bytes of the plan as text: canonical JSON. Empty where none was made.
    pub plan: String,
    /// The approvals that were given.
    pub approvals: Vec<serde_json::Value>,
    /// Seconds until a pending case is denied by itself.
    pub expires_in_s: Option<u64>,
    /// What the case asks of people beside its plan: a spent budget, JSON of `countersign_plan::budget::Ask`; null where nothing.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub asks: serde_json::Value,
    /// What happened, in order.
    pub events: Vec<serde_json::Value>,
    /// What the ledger says of it, in order: goal, versions, decisions, observations, answer; [`CaseRecord`].
    #[serde(default)]
    pub records: Vec<CaseRecord>,
}

/// A record of a case as it may be shown.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CaseRecord {
    /// Its place in the ledger.
    pub seq: u64,
    /// What it is about, by the ledger's stable names.
    pub kind: String,
    /// When, by gate time (RFC 3339).
    pub at: String,
    /// The payload; null where it was erased.
    pub payload: serde_json::Value,
}

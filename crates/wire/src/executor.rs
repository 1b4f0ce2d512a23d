//! Monitor ⇄ executor, over the executor's only socket.

/// What the monitor tells an executor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToExecutor {
    /// What is told.
    #[prost(oneof = "to_executor::Kind", tags = "1, 2, 3, 4, 5")]
    pub kind: Option<to_executor::Kind>,
}

/// Kinds of [`ToExecutor`].
pub mod to_executor {
    /// What is told.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Once, first: the countersigned plan.
        #[prost(message, tag = "1")]
        Start(Start),
        /// Leave for one attempt, as asked for.
        #[prost(message, tag = "2")]
        Permit(Granted),
        /// No leave; the executor ends or compensates as the answer says.
        #[prost(message, tag = "3")]
        Refused(Refused),
        /// What the attempt showed.
        #[prost(message, tag = "4")]
        Observed(Observed),
        /// Stop now and compensate.
        #[prost(message, tag = "5")]
        Halt(Halt),
    }

    /// The countersigned plan and whose signature counts.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Start {
        /// Exact bytes of the plan.
        #[prost(bytes = "vec", tag = "1")]
        pub plan: Vec<u8>,
        /// The envelope: DSSE as JSON.
        #[prost(bytes = "vec", tag = "2")]
        pub envelope: Vec<u8>,
        /// The gate's public key: 32 bytes.
        #[prost(bytes = "vec", tag = "3")]
        pub gate_key: Vec<u8>,
        /// The boot epoch.
        #[prost(uint64, tag = "4")]
        pub epoch: u64,
        /// Gate time, in milliseconds since the epoch.
        #[prost(int64, tag = "5")]
        pub now: i64,
        /// How each step is taken back, by step id: `pure`, `snapshot`, `action`, `none`.
        #[prost(message, repeated, tag = "6")]
        pub undo: Vec<Undo>,
    }

    /// How a step is taken back.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Undo {
        /// The step.
        #[prost(string, tag = "1")]
        pub step: String,
        /// `pure`, `snapshot`, `action` or `none`.
        #[prost(string, tag = "2")]
        pub by: String,
    }

    /// Leave for one attempt.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Granted {
        /// The permit: a DSSE envelope as JSON.
        #[prost(bytes = "vec", tag = "1")]
        pub permit: Vec<u8>,
    }

    /// No leave.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Refused {
        /// A code of the catalogue.
        #[prost(string, tag = "1")]
        pub code: String,
        /// For people.
        #[prost(string, tag = "2")]
        pub message: String,
    }

    /// What the attempt showed.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Observed {
        /// The step.
        #[prost(string, tag = "1")]
        pub step: String,
        /// JSON of `countersign_plan::observation::Observation`.
        #[prost(bytes = "vec", tag = "2")]
        pub observation: Vec<u8>,
    }

    /// Stop now.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Halt {
        /// For people.
        #[prost(string, tag = "1")]
        pub reason: String,
        /// Whether effects so far are taken back.
        #[prost(bool, tag = "2")]
        pub compensate: bool,
    }
}

/// What an executor says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromExecutor {
    /// What is said.
    #[prost(oneof = "from_executor::Kind", tags = "1, 2, 3, 4, 5")]
    pub kind: Option<from_executor::Kind>,
}

/// Kinds of [`FromExecutor`].
pub mod from_executor {
    /// What is said.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// The plan was verified; the executor will ask for permits.
        #[prost(message, tag = "1")]
        Verified(Verified),
        /// The plan was refused; nothing will run.
        #[prost(message, tag = "2")]
        Rejected(Rejected),
        /// Ask for leave.
        #[prost(message, tag = "3")]
        Request(Request),
        /// Use a permit.
        #[prost(message, tag = "4")]
        Perform(Perform),
        /// The end.
        #[prost(message, tag = "5")]
        Finished(Finished),
    }

    /// The plan was verified.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Verified {
        /// Its digest: 32 bytes.
        #[prost(bytes = "vec", tag = "1")]
        pub plan_digest: Vec<u8>,
    }

    /// The plan was refused.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Rejected {
        /// Why.
        #[prost(string, tag = "1")]
        pub message: String,
    }

    /// Ask for leave for one attempt.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Request {
        /// The step.
        #[prost(string, tag = "1")]
        pub step: String,
        /// `snapshot`, `act`, `restore` or `compensate`.
        #[prost(string, tag = "2")]
        pub phase: String,
        /// From 1.
        #[prost(uint32, tag = "3")]
        pub attempt: u32,
    }

    /// Use a permit; it is spent whatever happens.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Perform {
        /// The permit: exact bytes as received.
        #[prost(bytes = "vec", tag = "1")]
        pub permit: Vec<u8>,
    }

    /// The end: what was done, what was taken back, why it stopped.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Finished {
        /// JSON of [`super::Report`].
        #[prost(bytes = "vec", tag = "1")]
        pub report: Vec<u8>,
    }
}

/// What an executor reports at its end.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How the plan ended.
    pub ending: RunEnding,
    /// The steps that went as the plan says, in order.
    pub done: Vec<countersign_plan::id::StepId>,
    /// The steps that were taken back, in the order in which that happened.
    pub undone: Vec<countersign_plan::id::StepId>,
    /// The steps that stand although the plan stopped, with the reason why they were not taken back.
    pub standing: Vec<(countersign_plan::id::StepId, String)>,
}

/// How a plan ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunEnding {
    /// Every step went as the plan says.
    Completed,
    /// A step showed something else.
    Mismatch {
        /// The step.
        step: countersign_plan::id::StepId,
        /// What the plan expects.
        expected: String,
        /// What the step showed.
        found: String,
    },
    /// The gate gave no leave.
    Refused {
        /// The step.
        step: countersign_plan::id::StepId,
        /// A code of the catalogue.
        code: String,
        /// For people.
        message: String,
    },
    /// The case was halted.
    Halted {
        /// For people.
        reason: String,
    },
}

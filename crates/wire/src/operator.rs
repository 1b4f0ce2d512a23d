//! Operator ⇄ monitor over `operator.sock`. Being able to open the socket approves nothing: an approval is a signature.

/// What an operator asks.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToMonitor {
    /// What is asked.
    #[prost(oneof = "to_monitor::Kind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15")]
    pub kind: Option<to_monitor::Kind>,
}

/// Kinds of [`ToMonitor`].
pub mod to_monitor {
    /// What is asked.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// The cases that wait for people.
        #[prost(message, tag = "1")]
        Pending(Pending),
        /// A signed answer of an approver.
        #[prost(message, tag = "2")]
        Answer(Answer),
        /// Stop cases.
        #[prost(message, tag = "3")]
        Halt(Halt),
        /// Enrol an approver.
        #[prost(message, tag = "4")]
        Enroll(Enroll),
        /// Count a configuration file's loosening keys.
        #[prost(message, tag = "5")]
        Trust(Trust),
        /// Records of the ledger.
        #[prost(message, tag = "6")]
        Audit(Audit),
        /// Replace the gate's key.
        #[prost(message, tag = "7")]
        Rotate(Rotate),
        /// How the monitor is.
        #[prost(message, tag = "8")]
        Status(Status),
        /// End the monitor.
        #[prost(message, tag = "9")]
        Shutdown(Shutdown),
        /// Settle a case whose last effect has an unknown outcome.
        #[prost(message, tag = "10")]
        Resume(Resume),
        /// Let a key approve nothing any more.
        #[prost(message, tag = "11")]
        Retire(Retire),
        /// What the broker's configuration holds, less every secret. Answered by JSON of [`super::BrokerView`].
        #[prost(message, tag = "12")]
        Broker(Broker),
        /// What an MCP server offers now. Answered by JSON: an array of `{name, description, input_schema, digest}`.
        #[prost(message, tag = "13")]
        Describe(Describe),
        /// A signed answer to a case whose budget is spent.
        #[prost(message, tag = "14")]
        Extend(Extend),
        /// Destroy the words of a case that ended.
        #[prost(message, tag = "15")]
        Erase(Erase),
    }

    /// The cases that wait for people.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pending {}

    /// A signed answer.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Answer {
        /// The approval: a DSSE envelope as JSON.
        #[prost(bytes = "vec", tag = "1")]
        pub envelope: Vec<u8>,
    }

    /// A signed answer to a spent budget.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Extend {
        /// DSSE envelope by an enrolled approver over `countersign_plan::budget::Extension`.
        #[prost(bytes = "vec", tag = "1")]
        pub envelope: Vec<u8>,
    }

    /// Stop a case, or all of them.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Halt {
        /// The case; all where empty.
        #[prost(string, tag = "1")]
        pub case: String,
        /// For people.
        #[prost(string, tag = "2")]
        pub reason: String,
    }

    /// Enrol an approver. The first one bootstraps; later ones need an enrolled approver's signature.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Enroll {
        /// JSON of `countersign_plan::approval::Approver`.
        #[prost(bytes = "vec", tag = "1")]
        pub approver: Vec<u8>,
        /// DSSE envelope by an enrolled approver over `countersign_plan::approval::Enrolment` of the same approver; empty
        /// for the first.
        #[prost(bytes = "vec", tag = "2")]
        pub envelope: Vec<u8>,
    }

    /// Trust a configuration file at its present digest.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Trust {
        /// DSSE envelope by an enrolled approver over `countersign_plan::approval::Trust`.
        #[prost(bytes = "vec", tag = "1")]
        pub envelope: Vec<u8>,
    }

    /// Records of the ledger, in order.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Audit {
        /// Of this case; of all where empty.
        #[prost(string, tag = "1")]
        pub case: String,
        /// From this record on.
        #[prost(uint64, tag = "2")]
        pub from: u64,
        /// At most so many; 0 is 1,000.
        #[prost(uint64, tag = "3")]
        pub limit: u64,
        /// `records`, `export`, `prove` or `head`.
        #[prost(string, tag = "4")]
        pub form: String,
        /// Whether an export holds payloads.
        #[prost(bool, tag = "5")]
        pub payloads: bool,
        /// For an export: the file that the monitor writes; absolute.
        #[prost(string, tag = "6")]
        pub output: String,
    }

    /// Replace the gate's key.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Rotate {}

    /// How the monitor is.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Status {}

    /// End the monitor.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Shutdown {}

    /// Retire an approver's key.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Retire {
        /// DSSE envelope by an enrolled approver over `countersign_plan::approval::Retirement`.
        #[prost(bytes = "vec", tag = "1")]
        pub envelope: Vec<u8>,
    }

    /// Facts of the broker.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Broker {}

    /// A question about an MCP server that is reached by network.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Describe {
        /// The server's name in the broker's configuration.
        #[prost(string, tag = "1")]
        pub server: String,
    }

    /// Erase a case.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Erase {
        /// The case.
        #[prost(string, tag = "1")]
        pub case: String,
        /// DSSE envelope by an enrolled approver over `countersign_plan::approval::Erasure`.
        #[prost(bytes = "vec", tag = "2")]
        pub envelope: Vec<u8>,
    }

    /// Settle an indeterminate case.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Resume {
        /// The case.
        #[prost(string, tag = "1")]
        pub case: String,
        /// DSSE envelope by an enrolled approver over `countersign_plan::approval::Settlement`.
        #[prost(bytes = "vec", tag = "2")]
        pub envelope: Vec<u8>,
    }
}

/// What the monitor answers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromMonitor {
    /// What is answered.
    #[prost(oneof = "from_monitor::Kind", tags = "1, 2, 3")]
    pub kind: Option<from_monitor::Kind>,
}

/// Kinds of [`FromMonitor`].
pub mod from_monitor {
    /// What is answered.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// The answer: JSON, by the kind of the request.
        #[prost(bytes = "vec", tag = "1")]
        Answer(Vec<u8>),
        /// More of the same answer follows: JSON.
        #[prost(bytes = "vec", tag = "2")]
        Part(Vec<u8>),
        /// The request failed.
        #[prost(message, tag = "3")]
        Error(Error),
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

// What `Answer` and `Part` hold, by the kind of the request. Readers ignore members that they do not know.
//
// | request | parts | answer |
// |---|---|---|
// | `Pending` | – | array of [`crate::propose::CaseView`] |
// | `Answer`, `Extend`, `Halt`, `Resume` | – | [`Done`] |
// | `Enroll` | – | `{"enrolled": true}` |
// | `Trust` | – | `{"trusted": PATH, "digest": DIGEST}` |
// | `Erase` | – | `{"erased": [CASE]}`: the case, and those in which its planner read |
// | `Audit` `records` | array of [`AuditRecord`] | the last such array |
// | `Audit` `export` | – | [`Exported`] |
// | `Audit` `prove` (`from` is the record) | – | the ledger's proof |
// | `Audit` `head` | – | `{"checkpoint": NOTE}` |
// | `Rotate` | – | `{"gate_key": KEY}` |
// | `Status` | – | [`Status`] |
// | `Shutdown` | – | `{"stopping": true}` |

/// Where a case stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CaseStage {
    /// The case.
    pub case: String,
    /// Its stage, as in [`crate::propose::CaseEvent::Stage`].
    pub stage: String,
    /// Its goal, where it is told.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub goal: String,
}

/// What was asked is done, or recorded to be done; where the cases stand that it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Done {
    /// The cases.
    pub cases: Vec<CaseStage>,
}

/// A record of the ledger.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct AuditRecord {
    /// Its place, from 0.
    pub seq: u64,
    /// What it is about, by the ledger's stable names.
    pub kind: String,
    /// The case.
    pub case: Option<String>,
    /// When, by gate time (RFC 3339).
    pub at: String,
    /// The salted digest that the tree commits to.
    pub payload_digest: String,
    /// The payload; null where it cannot be read.
    pub payload: serde_json::Value,
    /// `open`, `sealed`, `erased` or `damaged`.
    pub payload_state: String,
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Exported {
    /// The file.
    pub file: String,
    /// How many records the ledger has.
    pub records: u64,
}

/// What is known of the broker.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct BrokerView {
    /// The configuration file.
    pub file: String,
    /// Whether there is one.
    pub configured: bool,
    /// What it holds, less every secret.
    pub facts: crate::broker::Facts,
    /// What is wrong with it, or why the broker does not run; empty if nothing is.
    pub error: String,
}

/// How the monitor is.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Status {
    /// The monitor's process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The boot epoch.
    pub epoch: u64,
    /// The gate's key: `ed25519:…`.
    pub gate_key: String,
    /// The ledger's id.
    pub ledger: String,
    /// The enrolled approvers.
    pub approvers: Vec<countersign_plan::approval::Approver>,
    /// Every case that the gate holds.
    pub cases: Vec<CaseStage>,
    /// The state folder.
    pub state: String,
    /// The folder of the sockets.
    pub runtime: String,
    /// The configuration folder.
    pub config: String,
    /// What this machine can enforce, as the zygote found it.
    pub enforcement: serde_json::Value,
    /// Whether nothing is done any more because nothing can be recorded.
    pub halted: bool,
}

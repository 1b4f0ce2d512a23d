//! Monitor ⇄ step child. The order comes by a sealed memory file (descriptor 4) that the zygote checked against the permit;
//! what the step shows comes back over its socket (descriptor 3).
//!
//! The child seals itself and announces that on the socket (`countersign_sandbox::announce`); the zygote attests it from
//! outside and only then hands the other end to the monitor, whose single byte [`GO`] lets the child begin.

/// The byte that lets a sealed and attested step child begin.
pub const GO: u8 = 1;

use countersign_plan::confinement::SandboxSpec;
use countersign_plan::digest::Digest;
use countersign_plan::id::{StepId, ToolName};
use countersign_plan::permit::Phase;
use countersign_plan::tool::Driver;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest order, in bytes of canonical JSON.
pub const ORDER_LIMIT: usize = 6 << 20;

/// What one step child is to do. Its canonical JSON is the content of descriptor 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The step.
    pub step: StepId,
    /// What the child is for.
    pub phase: Phase,
    /// The tool.
    pub tool: ToolName,
    /// Concrete arguments; SHA-256 of their canonical bytes is the permit's `args_digest`. Paths in them are absolute.
    pub args: Value,
    /// The sandbox that the zygote made and that the child seals itself into.
    pub spec: SandboxSpec,
    /// Absolute paths whose facts are reported after the step.
    pub facts: Vec<String>,
    /// How the tool is carried out, where that is not by the built-in tool of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// For `snapshot` and `restore`: what is kept and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotOrder>,
}

/// State to keep or to put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotOrder {
    /// Absolute paths of files and folders whose state is meant.
    pub targets: Vec<String>,
    /// The folder that holds the copies.
    pub store: String,
    /// Bytes that are copied at most; more is a failure before the step.
    pub limit: u64,
    /// For `restore`: the digest of the snapshot's index, compared before anything is put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Digest>,
}

/// What the monitor tells a step child after [`GO`], as frames.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToStep {
    /// A [`crate::egress::Reply`] of the broker, passed on unread.
    #[prost(bytes = "vec", tag = "1")]
    pub reply: Vec<u8>,
}

/// What a step child says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromStep {
    /// What is said.
    #[prost(oneof = "from_step::Kind", tags = "1, 2, 3")]
    pub kind: Option<from_step::Kind>,
}

/// Kinds of [`FromStep`].
pub mod from_step {
    /// What is said.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Output of a program while it runs, for people who watch.
        #[prost(message, tag = "1")]
        Output(Output),
        /// The end.
        #[prost(message, tag = "2")]
        Observed(Observed),
        /// A [`crate::egress::Ask`] for the broker, passed on unread.
        #[prost(bytes = "vec", tag = "3")]
        Ask(Vec<u8>),
    }

    /// Output of a program.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Output {
        /// Whether it is standard error.
        #[prost(bool, tag = "1")]
        pub error: bool,
        /// The bytes.
        #[prost(bytes = "vec", tag = "2")]
        pub bytes: Vec<u8>,
    }

    /// The end.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Observed {
        /// JSON of `countersign_plan::observation::Observation`.
        #[prost(bytes = "vec", tag = "1")]
        pub observation: Vec<u8>,
    }
}

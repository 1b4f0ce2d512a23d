//! Monitor ⇄ zygote, over a packet socket: one packet is one message, descriptors travel beside it.
//!
//! Descriptors: `spawn_step` carries the order, a sealed memory file with an [`crate::step::Order`]; `spawn_classifier` the two files of the encoder; `spawned` carries the
//! monitor's end of the child's channel, so that nobody can speak to a child that is not attested.

/// What the monitor asks of the zygote.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToZygote {
    /// Chosen by the monitor; events about the child carry it.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// What is asked.
    #[prost(oneof = "to_zygote::Kind", tags = "2, 3, 4, 5, 6, 7, 8")]
    pub kind: Option<to_zygote::Kind>,
}

/// Kinds of [`ToZygote`].
pub mod to_zygote {
    /// What is asked.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Once, first: whose permits count.
        #[prost(message, tag = "2")]
        Boot(Boot),
        /// Start an executor.
        #[prost(message, tag = "3")]
        SpawnExecutor(SpawnExecutor),
        /// Start a planner.
        #[prost(message, tag = "4")]
        SpawnPlanner(SpawnPlanner),
        /// Start a step.
        #[prost(message, tag = "5")]
        SpawnStep(SpawnStep),
        /// Kill a child with its whole tree.
        #[prost(message, tag = "6")]
        Kill(Kill),
        /// Start an inspector.
        #[prost(message, tag = "7")]
        SpawnInspector(SpawnInspector),
        /// Start a classifier.
        #[prost(message, tag = "8")]
        SpawnClassifier(SpawnClassifier),
    }

    /// Whose permits count. After a rotation of the gate's key it is sent again, with a statement by the old key.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Boot {
        /// The gate's public key: 32 bytes.
        #[prost(bytes = "vec", tag = "1")]
        pub gate_key: Vec<u8>,
        /// The boot epoch.
        #[prost(uint64, tag = "2")]
        pub epoch: u64,
        /// Folders that no step may see: Countersign's own.
        #[prost(string, repeated, tag = "3")]
        pub own: Vec<String>,
        /// For a second `Boot`: the old key's signature over [`super::rotation_message`].
        #[prost(bytes = "vec", tag = "4")]
        pub signature: Vec<u8>,
    }

    /// Start an executor, sealed: no file, no network, no program, one socket.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SpawnExecutor {
        /// Whether it may go without namespaces where the kernel gives none: the deployment's `sandbox.minimum`.
        #[prost(bool, tag = "1")]
        pub without_namespaces: bool,
    }

    /// Start a planner, sealed likewise.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SpawnPlanner {
        /// Whether it may go without namespaces where the kernel gives none: the deployment's `sandbox.minimum`.
        #[prost(bool, tag = "1")]
        pub without_namespaces: bool,
    }

    /// Start an inspector, sealed likewise. A text that takes it over makes it lie about every later one: how long one is kept is the monitor's choice.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SpawnInspector {
        /// Whether it may go without namespaces where the kernel gives none: the deployment's `sandbox.minimum`.
        #[prost(bool, tag = "1")]
        pub without_namespaces: bool,
    }

    /// Start a classifier, sealed likewise, with the encoder's weights and vocabulary as descriptors beside the message.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SpawnClassifier {}

    /// Start a step for a permit over exactly this spec; the order's arguments must have the permit's digest.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SpawnStep {
        /// The permit: a DSSE envelope as JSON.
        #[prost(bytes = "vec", tag = "1")]
        pub permit: Vec<u8>,
        /// The sandbox spec: canonical JSON.
        #[prost(bytes = "vec", tag = "2")]
        pub spec: Vec<u8>,
        /// Gate time, in milliseconds since the epoch.
        #[prost(int64, tag = "3")]
        pub now: i64,
    }

    /// Kill the child of the message's id.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Kill {}
}

/// What the zygote says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromZygote {
    /// The command that this is about.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// What happened.
    #[prost(oneof = "from_zygote::Kind", tags = "2, 3, 4, 5")]
    pub kind: Option<from_zygote::Kind>,
}

/// Kinds of [`FromZygote`].
pub mod from_zygote {
    /// What happened.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// The zygote knows whose permits count.
        #[prost(message, tag = "2")]
        Booted(Booted),
        /// A child runs, sealed and attested from outside.
        #[prost(message, tag = "3")]
        Spawned(Spawned),
        /// No child was started.
        #[prost(message, tag = "4")]
        Refused(Refused),
        /// The child and its whole tree are gone.
        #[prost(message, tag = "5")]
        Exited(Exited),
    }

    /// The zygote knows whose permits count.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Booted {
        /// What this kernel can enforce: JSON of the sandbox's probe.
        #[prost(bytes = "vec", tag = "1")]
        pub capabilities: Vec<u8>,
    }

    /// A child runs.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Spawned {
        /// Its process id outside.
        #[prost(uint32, tag = "1")]
        pub pid: u32,
        /// How far the sandbox holds: JSON of `Enforcement`.
        #[prost(bytes = "vec", tag = "2")]
        pub enforcement: Vec<u8>,
    }

    /// No child was started.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Refused {
        /// Whether this is a separation violation (a bad permit) or a failure (a missing folder).
        #[prost(bool, tag = "1")]
        pub violation: bool,
        /// For people.
        #[prost(string, tag = "2")]
        pub message: String,
    }

    /// The child is gone.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Exited {
        /// The exit code, where it exited.
        #[prost(int32, optional, tag = "1")]
        pub code: Option<i32>,
        /// The signal, where one ended it.
        #[prost(int32, optional, tag = "2")]
        pub signal: Option<i32>,
        /// Whether the deadline of its spec ended it.
        #[prost(bool, tag = "3")]
        pub timed_out: bool,
        /// Name and number of the forbidden system call that it was killed for (`openat (257)`), where they are known: the signal is `SIGSYS` then. A
        /// step's init is killed by the kernel, which tells only the signal.
        #[prost(string, optional, tag = "4")]
        pub syscall: Option<String>,
    }
}

/// The bytes that the old gate key signs so that the zygote believes a new one.
#[must_use]
pub fn rotation_message(new_key: &[u8; 32], epoch: u64) -> Vec<u8> {
    let mut out = b"countersign zygote key rotation v1\0".to_vec();
    out.extend_from_slice(new_key);
    out.extend_from_slice(&epoch.to_be_bytes());
    out
}

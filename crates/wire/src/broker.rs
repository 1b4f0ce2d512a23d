//! Monitor ⇄ broker, over the broker's only inherited socket (descriptor 3), as frames. Descriptor 4, where there is one, is a
//! sealed memory file with the environment variables that the broker's configuration names: `NAME=value`, separated by NUL.
//!
//! Asks of steps and requests of planners pass the monitor as opaque, bounded bytes.

/// What the monitor asks of the broker.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ToBroker {
    /// What is asked.
    #[prost(oneof = "to_broker::Kind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9")]
    pub kind: Option<to_broker::Kind>,
}

/// Kinds of [`ToBroker`].
pub mod to_broker {
    /// What is asked.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Once, first, and again when the gate's key or the configuration changed.
        #[prost(message, tag = "1")]
        Boot(Boot),
        /// A step child runs under this permit.
        #[prost(message, tag = "2")]
        Lease(Lease),
        /// The step child asks.
        #[prost(message, tag = "3")]
        Ask(Ask),
        /// The step child ended; its lease, handles and connections die.
        #[prost(message, tag = "4")]
        Release(Release),
        /// A planner asks a model.
        #[prost(message, tag = "5")]
        Infer(Infer),
        /// Nobody waits for this inference any more.
        #[prost(message, tag = "6")]
        Cancel(Cancel),
        /// A case ended, or the run of its plan: everything that was obtained for it is revoked and forgotten.
        #[prost(message, tag = "7")]
        CaseEnded(CaseEnded),
        /// What do the MCP servers that are reached by network offer now?
        #[prost(message, tag = "8")]
        Describe(Describe),
        /// What change requests does a service have now?
        #[prost(message, tag = "9")]
        Changes(Changes),
    }

    /// Whose permits count, and what is configured.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Boot {
        /// The gate's public key: 32 bytes.
        #[prost(bytes = "vec", tag = "1")]
        pub gate_key: Vec<u8>,
        /// The boot epoch.
        #[prost(uint64, tag = "2")]
        pub epoch: u64,
        /// A `countersign.broker/v1`, YAML or JSON; empty for none.
        #[prost(bytes = "vec", tag = "3")]
        pub configuration: Vec<u8>,
        /// A folder of the broker's own, absolute, made by it where there is none: what models cost outlives it there. Empty for
        /// none.
        #[prost(string, tag = "4")]
        pub state: String,
        /// What fingerprints of secrets are made with: 32 bytes.
        #[prost(bytes = "vec", tag = "5")]
        pub print_key: Vec<u8>,
    }

    /// A lease: what one attempt of one step may ask.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Lease {
        /// Chosen by the monitor.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// The case.
        #[prost(string, tag = "2")]
        pub case: String,
        /// The permit: a DSSE envelope as JSON, signed by the gate.
        #[prost(bytes = "vec", tag = "3")]
        pub permit: Vec<u8>,
        /// The sandbox spec, canonical JSON; its digest is in the permit, its `egress` is what may be asked.
        #[prost(bytes = "vec", tag = "4")]
        pub spec: Vec<u8>,
        /// Gate time, in milliseconds since the epoch.
        #[prost(int64, tag = "5")]
        pub now: i64,
    }

    /// An ask of a step child.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Ask {
        /// The lease.
        #[prost(uint64, tag = "1")]
        pub lease: u64,
        /// A [`crate::egress::Ask`], unread.
        #[prost(bytes = "vec", tag = "2")]
        pub ask: Vec<u8>,
    }

    /// The end of a lease.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Release {
        /// The lease.
        #[prost(uint64, tag = "1")]
        pub lease: u64,
    }

    /// A question to a model.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Infer {
        /// Chosen by the monitor.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// The case that pays.
        #[prost(string, tag = "2")]
        pub case: String,
        /// The provider by name; empty for the default one.
        #[prost(string, tag = "3")]
        pub provider: String,
        /// The secrecy of what the planner has read, by the monitor's account: `public`, `internal`, `confidential`, `restricted`.
        #[prost(string, tag = "4")]
        pub secrecy: String,
        /// JSON of [`crate::infer::Request`], unread.
        #[prost(bytes = "vec", tag = "5")]
        pub request: Vec<u8>,
        /// What people added to the case's limits, in tokens.
        #[prost(uint64, tag = "6")]
        pub extra_tokens: u64,
        /// The same in millionths of a dollar.
        #[prost(uint64, tag = "7")]
        pub extra_micro_dollars: u64,
    }

    /// Nobody waits.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Cancel {
        /// The inference.
        #[prost(uint64, tag = "1")]
        pub id: u64,
    }

    /// A case ended, or its plan did.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct CaseEnded {
        /// The case.
        #[prost(string, tag = "1")]
        pub case: String,
        /// Only the run of its plan: what models cost it is counted on.
        #[prost(bool, tag = "2")]
        pub goes_on: bool,
    }

    /// A question about change requests.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Changes {
        /// Chosen by the monitor.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// JSON of `countersign_plan::egress::Service`.
        #[prost(bytes = "vec", tag = "2")]
        pub service: Vec<u8>,
    }

    /// A question about MCP servers.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Describe {
        /// Chosen by the monitor.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// The server.
        #[prost(string, tag = "2")]
        pub server: String,
    }
}

/// What the broker says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FromBroker {
    /// What is said.
    #[prost(oneof = "from_broker::Kind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9")]
    pub kind: Option<from_broker::Kind>,
}

/// Kinds of [`FromBroker`].
pub mod from_broker {
    /// What is said.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// The configuration holds, or not; the answer to `Boot`.
        #[prost(message, tag = "1")]
        Booted(Booted),
        /// The lease was refused; no ask of it will be met. An accepted lease is not answered.
        #[prost(message, tag = "2")]
        LeaseRefused(LeaseRefused),
        /// A reply for a step child.
        #[prost(message, tag = "3")]
        Reply(Reply),
        /// The model is answering.
        #[prost(message, tag = "4")]
        Progress(Progress),
        /// The outcome of an inference.
        #[prost(message, tag = "5")]
        Inferred(Inferred),
        /// What an MCP server offers.
        #[prost(message, tag = "6")]
        Described(Described),
        /// Something for the ledger and the log.
        #[prost(message, tag = "7")]
        Event(Event),
        /// The change requests of a service.
        #[prost(message, tag = "8")]
        ChangesRead(ChangesRead),
        /// Values that no record may hold, beside those said before.
        #[prost(message, tag = "9")]
        Known(Known),
    }

    /// Values that no record may hold.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Known {
        /// Their fingerprints.
        #[prost(message, repeated, tag = "1")]
        pub prints: Vec<Print>,
    }

    /// A fingerprint, as `countersign-secret` makes it.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Print {
        /// The name of the secret.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Bytes of what was printed.
        #[prost(uint32, tag = "2")]
        pub length: u32,
        /// 16 bits that say where it may stand.
        #[prost(uint32, tag = "3")]
        pub filter: u32,
        /// 16 bytes that say whether it does.
        #[prost(bytes = "vec", tag = "4")]
        pub tag: Vec<u8>,
    }

    /// The configuration holds, or not.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Booted {
        /// JSON of [`super::Facts`].
        #[prost(bytes = "vec", tag = "1")]
        pub facts: Vec<u8>,
        /// What is wrong with the configuration; empty if nothing is. With an error nothing is reachable.
        #[prost(string, tag = "2")]
        pub error: String,
    }

    /// A lease was refused.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct LeaseRefused {
        /// The lease.
        #[prost(uint64, tag = "1")]
        pub lease: u64,
        /// Whether the permit is bad: a separation violation.
        #[prost(bool, tag = "2")]
        pub violation: bool,
        /// For people.
        #[prost(string, tag = "3")]
        pub message: String,
    }

    /// A reply for a step child.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Reply {
        /// The lease.
        #[prost(uint64, tag = "1")]
        pub lease: u64,
        /// A [`crate::egress::Reply`], to be passed on unread.
        #[prost(bytes = "vec", tag = "2")]
        pub reply: Vec<u8>,
        /// The step asked for what it was not granted, for the monitor to record; empty otherwise.
        #[prost(string, tag = "3")]
        pub violation: String,
    }

    /// The model is answering.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Progress {
        /// The inference.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// Bytes of the answer so far.
        #[prost(uint64, tag = "2")]
        pub bytes: u64,
    }

    /// The outcome of an inference.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Inferred {
        /// The inference.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// JSON of [`crate::infer::Outcome`], to be passed on unread.
        #[prost(bytes = "vec", tag = "2")]
        pub outcome: Vec<u8>,
        /// JSON of [`super::Account`]: what the monitor records.
        #[prost(bytes = "vec", tag = "3")]
        pub account: Vec<u8>,
    }

    /// What an MCP server offers.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Described {
        /// The question.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// JSON: an array of `{name, description, input_schema, digest}`.
        #[prost(bytes = "vec", tag = "2")]
        pub tools: Vec<u8>,
        /// Why it could not be asked; empty if it could.
        #[prost(string, tag = "3")]
        pub error: String,
    }

    /// The change requests of a service.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ChangesRead {
        /// The question.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// A `countersign.changes/v1`, unread, without any value of a secret.
        #[prost(bytes = "vec", tag = "2")]
        pub document: Vec<u8>,
        /// Why there is none; empty if there is one.
        #[prost(string, tag = "3")]
        pub error: String,
    }

    /// Something for the ledger and the log.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Event {
        /// The case, or empty.
        #[prost(string, tag = "1")]
        pub case: String,
        /// Whether it is an alert: a budget that is spent, a tool that changed, a metadata address.
        #[prost(bool, tag = "2")]
        pub alert: bool,
        /// For people, without secrets.
        #[prost(string, tag = "3")]
        pub message: String,
    }
}

/// What the broker's configuration holds, less every secret.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Providers: name, kind, model, host, clearance; the first is the default.
    pub providers: Vec<Provider>,
    /// Names of secrets.
    pub secrets: Vec<String>,
    /// Those of them that only the broker itself uses: keys of providers and servers, tokens, passwords. No plan is told of them.
    pub own: Vec<String>,
    /// MCP servers: name, and the program and arguments of one that runs in the step.
    pub mcp: Vec<McpServer>,
    /// Whether mail can be sent.
    pub mail: bool,
    /// Channels that messages can go to.
    pub channels: Vec<String>,
    /// What confines the broker's own process, for people.
    pub confinement: String,
}

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// `openai`, `anthropic` or `scripted`.
    pub kind: String,
    /// The model.
    pub model: String,
    /// Where it is: `host:port`; empty for a scripted one.
    pub host: String,
    /// The most secret data that it may see.
    pub clearance: String,
    /// Tokens that a question and its answer have together; 0 where the configuration does not say.
    pub max_context: u32,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Program and arguments of one that runs in the step; empty for one that is reached by network.
    pub argv: Vec<String>,
    /// Where it is reached by network: `host:port`; empty otherwise.
    pub host: String,
}

/// What the monitor records of an inference.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The provider's name.
    pub provider: String,
    /// The model as the provider named it.
    pub model: String,
    /// `answer`, or the failure's class.
    pub outcome: String,
    /// What it used.
    pub usage: crate::infer::Usage,
    /// Attempts, retries included.
    pub attempts: u32,
    /// Time for all of it, in milliseconds.
    pub millis: u64,
}

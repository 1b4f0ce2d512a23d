//! Step child ⇄ broker, inside opaque bytes that the monitor passes on: what a step asks of the network, and what came back.
//!
//! A step child has no network. It asks; the broker compares with what the permit's sandbox spec grants
//! (`countersign_plan::egress::Egress`), puts secrets where handles stand, and acts.
//!
//! Streams share one socket, so each has a window in either direction: a side sends at most [`STREAM_WINDOW`] bytes of a stream
//! beyond those that the other said it `Took`. Whoever gets more than that ends the stream. Nothing that one stream does can
//! fill the other side's memory or hold up another stream.

/// The largest ask or reply, in bytes.
pub const EGRESS_LIMIT: usize = 6 << 20;

/// Bytes of one stream that may be under way in one direction.
pub const STREAM_WINDOW: u64 = 256 << 10;

/// The most bytes that one `Data` carries.
pub const STREAM_CHUNK: usize = 32 << 10;

/// What a step asks.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Ask {
    /// Chosen by the step; the reply carries it. For [`ask::Kind::Open`] and a served [`ask::Kind::Mcp`] also the stream's.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// What is asked.
    #[prost(oneof = "ask::Kind", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub kind: Option<ask::Kind>,
}

/// Kinds of [`Ask`].
pub mod ask {
    /// What is asked.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// One HTTP request.
        #[prost(message, tag = "2")]
        Fetch(Fetch),
        /// One mail.
        #[prost(message, tag = "3")]
        Mail(Mail),
        /// One message to a channel.
        #[prost(message, tag = "4")]
        Message(ChannelMessage),
        /// One call of an MCP tool.
        #[prost(message, tag = "5")]
        Mcp(Mcp),
        /// Open a TCP stream for a program of the step.
        #[prost(message, tag = "6")]
        Open(Open),
        /// Bytes of a stream: of a program's connection, or of the standard output of an MCP server that runs in the step.
        #[prost(bytes = "vec", tag = "7")]
        Data(Vec<u8>),
        /// The stream sends no more.
        #[prost(message, tag = "8")]
        Shut(Shut),
        /// So many more bytes of the stream were passed on: the broker may send as many again.
        #[prost(uint64, tag = "9")]
        Took(u64),
        /// The value of a secret that the step's grant exposes.
        #[prost(message, tag = "10")]
        Reveal(Reveal),
    }

    /// The value of a secret.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Reveal {
        /// Its name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// The step's public key for this one ask: 32 bytes (X25519). Only who has the other half reads the answer.
        #[prost(bytes = "vec", tag = "2")]
        pub key: Vec<u8>,
    }

    /// One HTTP request.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Fetch {
        /// `GET`, `POST`, …
        #[prost(string, tag = "1")]
        pub method: String,
        /// Absolute.
        #[prost(string, tag = "2")]
        pub url: String,
        /// In order.
        #[prost(message, repeated, tag = "3")]
        pub headers: Vec<Header>,
        /// The body.
        #[prost(bytes = "vec", optional, tag = "4")]
        pub body: Option<Vec<u8>>,
        /// JSON of `countersign_plan::tool::Auth`, where the tool's manifest names one.
        #[prost(bytes = "vec", optional, tag = "5")]
        pub auth: Option<Vec<u8>>,
        /// The most bytes of the answer's body that are kept.
        #[prost(uint64, tag = "6")]
        pub keep: u64,
        /// Time for all of it, redirects included.
        #[prost(uint64, tag = "7")]
        pub timeout_ms: u64,
    }

    /// A header.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Header {
        /// Its name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Its value; of a secret, what stands before it (`Bearer `).
        #[prost(string, tag = "2")]
        pub value: String,
        /// The secret whose value follows.
        #[prost(string, optional, tag = "3")]
        pub secret: Option<String>,
    }

    /// One mail from the configured account.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Mail {
        /// Addresses.
        #[prost(string, repeated, tag = "1")]
        pub to: Vec<String>,
        /// The subject.
        #[prost(string, tag = "2")]
        pub subject: String,
        /// The text.
        #[prost(string, tag = "3")]
        pub body: String,
        /// Files.
        #[prost(message, repeated, tag = "4")]
        pub attachments: Vec<Attachment>,
    }

    /// A file of a mail.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Attachment {
        /// Its name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// Its content.
        #[prost(bytes = "vec", tag = "2")]
        pub content: Vec<u8>,
    }

    /// One message.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ChannelMessage {
        /// The channel, as configured.
        #[prost(string, tag = "1")]
        pub channel: String,
        /// The text.
        #[prost(string, tag = "2")]
        pub body: String,
    }

    /// One call of an MCP tool.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Mcp {
        /// The server's name.
        #[prost(string, tag = "1")]
        pub server: String,
        /// The tool there; empty to ask what the tools of a server are that runs in the step.
        #[prost(string, tag = "2")]
        pub tool: String,
        /// A JSON object.
        #[prost(bytes = "vec", tag = "3")]
        pub arguments: Vec<u8>,
        /// Whether the server runs in the step: its standard input and output are the stream of this id.
        #[prost(bool, tag = "4")]
        pub stdio: bool,
        /// Time for all of it.
        #[prost(uint64, tag = "5")]
        pub timeout_ms: u64,
    }

    /// A TCP stream.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Open {
        /// A name or an address.
        #[prost(string, tag = "1")]
        pub host: String,
        /// The port.
        #[prost(uint32, tag = "2")]
        pub port: u32,
    }

    /// The stream sends no more.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Shut {}
}

/// What came back.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Reply {
    /// The ask's.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// What came back.
    #[prost(oneof = "reply::Kind", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub kind: Option<reply::Kind>,
}

/// Kinds of [`Reply`].
pub mod reply {
    /// What came back.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// An HTTP answer, whatever its status.
        #[prost(message, tag = "2")]
        Fetched(Fetched),
        /// The mail or message was taken.
        #[prost(message, tag = "3")]
        Sent(Sent),
        /// An MCP tool's result.
        #[prost(message, tag = "4")]
        Result(ToolResult),
        /// The stream is open.
        #[prost(message, tag = "5")]
        Opened(Opened),
        /// Bytes of a stream.
        #[prost(bytes = "vec", tag = "6")]
        Data(Vec<u8>),
        /// The stream brings no more.
        #[prost(message, tag = "7")]
        Shut(super::ask::Shut),
        /// It was not done, or it is unknown whether it was; of a stream, that it is over.
        #[prost(message, tag = "8")]
        Refused(Refused),
        /// So many more bytes of the stream were passed on: the step may send as many again.
        #[prost(uint64, tag = "9")]
        Took(u64),
        /// The value that was asked for, sealed to the key of the ask: who passes it on does not hold it.
        #[prost(bytes = "vec", tag = "10")]
        Revealed(Vec<u8>),
    }

    /// An HTTP answer.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Fetched {
        /// The status.
        #[prost(uint32, tag = "1")]
        pub status: u32,
        /// Headers, names in lower case; secrets redacted.
        #[prost(message, repeated, tag = "2")]
        pub headers: Vec<super::ask::Header>,
        /// The body up to the bound; secrets redacted.
        #[prost(bytes = "vec", tag = "3")]
        pub body: Vec<u8>,
        /// Bytes of the body that were dropped at the bound.
        #[prost(uint64, tag = "4")]
        pub dropped: u64,
        /// Where it came from after redirects.
        #[prost(string, tag = "5")]
        pub url: String,
    }

    /// The mail or message was taken.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sent {
        /// The server's or our own id of it.
        #[prost(string, tag = "1")]
        pub message_id: String,
    }

    /// An MCP tool's result.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ToolResult {
        /// JSON: `structuredContent` where there is some, else `{"content": […]}`.
        #[prost(bytes = "vec", tag = "1")]
        pub result: Vec<u8>,
        /// Whether the tool says that it failed.
        #[prost(bool, tag = "2")]
        pub failed: bool,
    }

    /// The stream is open.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Opened {}

    /// It was not done.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Refused {
        /// Whether the step asked for what it was not granted: a separation violation.
        #[prost(bool, tag = "1")]
        pub violation: bool,
        /// Whether it may have happened all the same: the connection broke after the request was sent.
        #[prost(bool, tag = "2")]
        pub indeterminate: bool,
        /// For people, without secrets.
        #[prost(string, tag = "3")]
        pub message: String,
    }
}

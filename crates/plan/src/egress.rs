//! What a broker may do for one step: part of the sandbox spec, so that the permit binds it.
//!
//! A step has no network of its own. What it asks for is compared with this, by the broker, at every request and at every
//! redirect; what is not listed is refused (INV-1, lesson 18).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::Reference;

/// Everything that a step may ask of the broker. Empty is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// HTTP requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpGrant>,
    /// TCP streams for programs of the step, through the relay on its loopback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect: Vec<HostGrant>,
    /// Secrets whose handles the step holds, each with the hosts that it may go to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretGrant>,
    /// One tool of an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpGrant>,
    /// The MCP server that runs in the step and is asked what its tools are; none of them is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub describe: Option<String>,
    /// The recipients of one mail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<String>,
    /// The channel of one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGrant {
    /// A name in ASCII form (IDNA), or an address literal without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it may lie at a private or loopback address: the deployment lists it as internal. Metadata and link-local
    /// addresses are never granted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}

/// One kind of HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpGrant {
    /// The method, in upper case.
    pub method: String,
    /// Whether by TLS.
    pub tls: bool,
    /// Where.
    pub at: HostGrant,
    /// The path, as judged, without query. Compared exactly.
    pub path: String,
}

/// A secret that the step has a handle of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretGrant {
    /// Its name.
    pub name: Reference,
    /// The hosts that its value may be sent to, as patterns of the deployment (`api.example.com`, `*.example.com`).
    pub hosts: Vec<String>,
    /// Whether the step gets the value itself (`exposes: true` of the manifest, an admin effect).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exposed: bool,
}

/// One tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpGrant {
    /// The server's name in the broker's configuration.
    pub server: String,
    /// The tool there.
    pub tool: String,
    /// What the server has to say about the tool now: SHA-256 of the canonical bytes of `{name, title?, description?,
    /// inputSchema, outputSchema?, annotations?}` as it lists them. Anything else quarantines the tool.
    pub definition: Digest,
    /// Whether the server runs in the step, over its standard input and output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdio: bool,
}

impl Egress {
    /// Whether nothing may be asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A document of a service that the broker reads for the monitor; the deployment names it, never a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// `https`, or `http` at an address literal of this machine or house.
    pub url: String,
    /// How the request is authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
}

/// How a request is authenticated; a tool's manifest names it, never a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// `Authorization: Bearer VALUE` (RFC 6750).
    Bearer {
        /// The secret.
        secret: Reference,
    },
    /// `Authorization: Basic …` (RFC 7617); the secret is `user:password`.
    Basic {
        /// The secret.
        secret: Reference,
    },
    /// A header of its own.
    Header {
        /// The header's name.
        name: String,
        /// The secret.
        secret: Reference,
    },
    /// A query parameter, for servers that know nothing better.
    Query {
        /// The parameter's name.
        name: String,
        /// The secret.
        secret: Reference,
    },
    /// AWS Signature Version 4; the secret is `ACCESS_KEY_ID:SECRET_ACCESS_KEY` with an optional `:SESSION_TOKEN`.
    AwsSigv4 {
        /// The secret.
        secret: Reference,
        /// `eu-west-1`, …
        region: String,
        /// `rds`, `s3`, …
        service: String,
    },
}

impl Auth {
    /// The secret that it uses.
    #[must_use]
    pub const fn secret(&self) -> &Reference {
        match self {
            Self::Bearer { secret }
            | Self::Basic { secret }
            | Self::Header { secret, .. }
            | Self::Query { secret, .. }
            | Self::AwsSigv4 { secret, .. } => secret,
        }
    }
}

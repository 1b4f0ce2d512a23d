//! `countersign.broker/v1`: which models, secrets, mail account, channels and MCP servers there are. Strict: an unknown field, a name
//! that nothing defines or an address that is no `http(s)` URL is an error that names the place, and then nothing is reachable.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use countersign_plan::document::{self, Bounds, DocumentError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

mod check;

/// The name of this format.
pub(crate) const SCHEMA: &str = "countersign.broker/v1";

/// Models, secrets, mail, channels and MCP servers. Every key but `schema` may be absent; what is absent cannot be reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    /// `countersign.broker/v1`.
    pub(crate) schema: String,
    /// Model providers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) providers: BTreeMap<String, Provider>,
    /// The provider that is asked where none is named; may be absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<String>,
    /// Secrets by name, each by reference.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// The account that mail is sent from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mail: Option<Mail>,
    /// Channels by name (`#finance`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) channels: BTreeMap<String, Channel>,
    /// MCP servers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) mcp: BTreeMap<String, Mcp>,
    /// What models may cost.
    #[serde(default)]
    pub(crate) budget: Budget,
    /// A PEM file with certificate authorities beyond the public ones. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorities: Option<String>,
    /// Addresses of names that are not asked for. They are judged as every other address is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) hosts: BTreeMap<String, Vec<IpAddr>>,
}

/// A model provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provider {
    /// What it speaks.
    pub(crate) kind: ProviderKind,
    /// Where it is: the address below which its protocol's paths lie. Absent for a scripted one, and for the public addresses of
    /// `openai` and `anthropic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The model.
    #[serde(default)]
    pub(crate) model: String,
    /// The secret that is its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The most secret data that it may see.
    #[serde(default)]
    pub(crate) clearance: Secrecy,
    /// Whether it may lie at a private or loopback address.
    #[serde(default)]
    pub(crate) private: bool,
    /// Tokens that request and answer may have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_context: Option<u32>,
    /// How it is made to answer by a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<Structured>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prices: Option<Prices>,
    /// How long it may take, and how often it is asked.
    #[serde(default)]
    pub(crate) patience: crate::model::patience::Patience,
    /// The answers of a scripted one: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<String>,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProviderKind {
    /// Chat completions, as `OpenAI` and many local servers have them.
    Openai,
    /// Anthropic's messages.
    Anthropic,
    /// Answers from a file: for tests and examples.
    Scripted,
}

impl ProviderKind {
    /// The word that documents use.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Scripted => "scripted",
        }
    }
}

/// How secret something is, from free to secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Secrecy {
    /// Anyone may read it.
    #[default]
    Public,
    /// The user, internal and known parties.
    Internal,
    /// The user and internal parties.
    Confidential,
    /// The user, inside the workspace.
    Restricted,
}

impl Secrecy {
    /// The word that documents use.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Confidential => "confidential",
            Self::Restricted => "restricted",
        }
    }

    /// The level of a word; `None` for any other.
    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Public, Self::Internal, Self::Confidential, Self::Restricted]
            .into_iter()
            .find(|level| level.as_str() == word)
    }
}

/// How a provider is made to answer by a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Structured {
    /// By a response format that takes a JSON Schema.
    JsonSchema,
    /// By a tool that it has to call.
    Tool,
    /// By asking it.
    None,
}

/// Prices in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// For a million tokens of a request.
    pub(crate) input_per_million: f64,
    /// For a million tokens of an answer.
    pub(crate) output_per_million: f64,
}

/// A secret by reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secret {
    /// Where its value is.
    pub(crate) from: Source,
    /// Seconds after which it is read again; absent: 300, or what Vault leases it for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<u64>,
}

/// Where a secret's value is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Source {
    /// An environment variable of the monitor's start; only variables that are named here are passed on.
    Env(String),
    /// A file of the broker's user that nobody else may read: an absolute path. A last line feed does not count.
    File(String),
    /// The kernel's keyring of the user.
    Keyring {
        /// The service.
        service: String,
        /// The account.
        account: String,
    },
    /// What a program prints; a last line feed does not count. The program is an absolute path and gets no environment.
    Command(Vec<String>),
    /// `HashiCorp` Vault or `OpenBao`.
    Vault(Vault),
}

/// A secret in Vault or `OpenBao`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vault {
    /// `https://vault.example.com:8200`.
    pub(crate) address: String,
    /// The path below the mount, without `data/`.
    pub(crate) path: String,
    /// The field whose value is the secret; of a dynamic secret several, joined by `:` (`username`, `password`).
    pub(crate) field: Fields,
    /// The secret that is the token.
    pub(crate) token: String,
    /// Which engine.
    pub(crate) kind: VaultKind,
    /// Where the engine is mounted; absent: `secret` for `kv2`; a dynamic engine has to say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mount: Option<String>,
    /// The namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
}

/// One field or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Fields {
    /// One.
    One(String),
    /// Several, joined by `:`.
    Several(Vec<String>),
}

/// Which engine of Vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VaultKind {
    /// Key and value, version 2.
    Kv2,
    /// An engine that makes credentials (database, AWS, …): made for a case, revoked when the case ends.
    Dynamic,
}

/// The account that mail is sent from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mail {
    /// The server's name.
    pub(crate) server: String,
    /// The port.
    pub(crate) port: u16,
    /// How the connection is protected.
    pub(crate) tls: MailTls,
    /// The sender's address.
    pub(crate) from: String,
    /// The user name; absent: the sender's address, if there is a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) username: Option<String>,
    /// The secret that is the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<String>,
}

/// How a connection to a mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MailTls {
    /// By STARTTLS, which has to succeed.
    Starttls,
    /// From the first byte.
    Implicit,
    /// Not at all; only to a loopback address.
    None,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Channel {
    /// The address of an incoming webhook (Slack's form), or the name of the secret that is this address.
    pub(crate) webhook: String,
}

/// An MCP server: reached by network at `url`, or a program that runs in the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mcp {
    /// Where it is (streamable HTTP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The secret that is its bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Program and arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) argv: Vec<String>,
}

/// What models may cost. Absent is without bound, in tokens as in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Tokens of requests and answers of one case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_per_case: Option<u64>,
    /// Dollars of one case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dollars_per_case: Option<f64>,
    /// Dollars of all cases of one day (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dollars_per_day: Option<f64>,
}

impl Configuration {
    /// Reads a configuration; no bytes are one in which nothing is reachable.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        if bytes.is_empty() {
            return Ok(Self { schema: SCHEMA.to_owned(), ..Self::default() });
        }
        let configuration: Self = document::typed(document::from_bytes(bytes, Bounds::CONFIG)?)?;
        check::all(&configuration)?;
        Ok(configuration)
    }

    /// The provider that is asked where none is named.
    pub(crate) fn default_provider(&self) -> Option<&str> {
        self.default.as_deref().or_else(|| match self.providers.len() {
            1 => self.providers.keys().next().map(String::as_str),
            _ => None,
        })
    }

    /// The secrets that the broker itself uses, in order.
    pub(crate) fn own_secrets(&self) -> Vec<String> {
        let providers = self.providers.values().filter_map(|provider| provider.key.as_deref());
        let servers = self.mcp.values().filter_map(|server| server.key.as_deref());
        let channels = self.channels.values().map(|channel| channel.webhook.as_str());
        let password = self.mail.iter().filter_map(|mail| mail.password.as_deref());
        let tokens = self.secrets.values().filter_map(|secret| match &secret.from {
            Source::Vault(vault) => Some(vault.token.as_str()),
            Source::Env(_) | Source::File(_) | Source::Keyring { .. } | Source::Command(_) => None,
        });
        let own: BTreeSet<&str> = providers.chain(servers).chain(channels).chain(password).chain(tokens).collect();
        own.into_iter().filter(|name| self.secrets.contains_key(*name)).map(str::to_owned).collect()
    }

    /// The environment variables that it names.
    pub(crate) fn variables(&self) -> BTreeSet<&str> {
        self.secrets
            .values()
            .filter_map(|secret| match &secret.from {
                Source::Env(name) => Some(name.as_str()),
                Source::File(_) | Source::Keyring { .. } | Source::Command(_) | Source::Vault(_) => None,
            })
            .collect()
    }
}

impl Fields {
    /// All of them, in order.
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// The JSON Schema of this format.
///
/// # Errors
/// Never for this type; kept so that nothing is printed by accident.
pub(crate) fn schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Configuration).to_value();
    if let Some(member) = schema.pointer_mut("/properties/schema") {
        *member = serde_json::json!({"const": SCHEMA, "description": "The format and its version."});
    }
    if let Some(title) = schema.get_mut("title") {
        *title = serde_json::Value::from(SCHEMA);
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&schema)?))
}

/// `host:port` of an address that was checked.
pub(crate) fn endpoint(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let host = url.host_str().unwrap_or_default().to_owned();
    url.port_or_known_default().map_or(host.clone(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests;

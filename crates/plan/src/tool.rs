//! Tool manifests (`countersign.tools/v1`): what exists, and what it does to the world.
//!
//! The manifest, not the planner, says what an action is. No tool outside the manifest exists (`lesson_12`).

mod manifest;
mod schema;

pub use manifest::{Manifest, ManifestError};
pub use schema::{ArgumentError, Arguments};

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::egress::Auth;
use crate::id::{Reference, ToolName};
use crate::pointer::Pointer;

/// What an action does to the world. Closed, ordered from harmless to grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing outside the runtime.
    None,
    /// Reads.
    Read,
    /// Makes something new.
    Create,
    /// Changes something.
    Update,
    /// Removes something.
    Delete,
    /// Runs a program.
    Execute,
    /// Sends data to somebody, or talks to another host.
    Send,
    /// Moves money.
    Pay,
    /// Changes who may do what.
    Admin,
}

impl Effect {
    /// All effects, in order.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Read,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Execute,
        Self::Send,
        Self::Pay,
        Self::Admin,
    ];

    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
            Self::Send => "send",
            Self::Pay => "pay",
            Self::Admin => "admin",
        }
    }

    /// Whether the world is the same afterwards.
    #[must_use]
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::None | Self::Read)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether and how an effect can be taken back. Ordered from free to final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    /// There is nothing to take back.
    Pure,
    /// The state before can be kept and put back.
    Snapshot,
    /// Another action takes it back.
    Compensable,
    /// Nothing takes it back.
    Irreversible,
}

/// What an action is aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are FORMATS §3's own")]
pub enum TargetKind {
    File,
    Directory,
    Host,
    Url,
    Email,
    Channel,
    Account,
    Database,
    Calendar,
    Memory,
    Process,
    Record,
    Other,
}

impl TargetKind {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Host => "host",
            Self::Url => "url",
            Self::Email => "email",
            Self::Channel => "channel",
            Self::Account => "account",
            Self::Database => "database",
            Self::Calendar => "calendar",
            Self::Memory => "memory",
            Self::Process => "process",
            Self::Record => "record",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The target of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// What kind of thing.
    pub kind: TargetKind,
    /// The argument that names it; absent where a tool has no natural target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg: Option<Pointer>,
}

/// Who wrote a value, from trusted to open; `target` is the label of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are FORMATS §3's own")]
pub enum Trust {
    System,
    User,
    Party,
    Open,
    Target,
}

/// Who may read a value; `target` is the label of what was read, `args` that of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are FORMATS §3's own")]
pub enum Secrecy {
    Public,
    Internal,
    Confidential,
    Restricted,
    Target,
    Args,
}

/// How much a value can express (FLOW.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are FORMATS §3's own")]
pub enum Capacity {
    Bool,
    Enum,
    Number,
    Date,
    Id,
    Text,
}

/// The label of a result, and of single fields of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputLabel {
    /// Who writes the result.
    pub trust: Trust,
    /// Who may read it.
    pub secrecy: Secrecy,
    /// Fields that have a label of their own; a label covers its subtree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldLabel>,
}

/// The label of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldLabel {
    /// Which field; `*` is one index or key.
    pub at: Pointer,
    /// Who writes it.
    pub trust: Trust,
    /// Who may read it.
    pub secrecy: Secrecy,
    /// How much it can express.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

/// How a tool is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Driver {
    /// Not at all: for evaluation.
    None,
    /// By the runtime itself.
    Builtin(ToolName),
    /// By a program; a template of arguments, never a shell string.
    Command(CommandDriver),
    /// By an HTTP request of the broker.
    Http(HttpDriver),
    /// By a tool of an MCP server.
    Mcp(McpDriver),
}

/// A program with a template of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandDriver {
    /// Program and arguments; the program is a literal. An argument's value becomes one whole element, never part of a line.
    pub argv: Vec<Part>,
    /// Variables of its environment, beside the few that every program has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Handed>,
    /// Its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Handed>,
    /// Private files that end with the step, for programs that want a path: the variable of this name holds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Handed>,
    /// Whether nothing but this program, with the libraries that it names, can be run in its sandbox (profile `exact`): for one that
    /// starts no others. Without it the program has the toolchains too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// What a program is handed beside its command line, which any process beside it can read. The value of a secret comes in no
/// other way, and only to a tool that says `exposes: true`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Handed {
    /// As it stands.
    Literal(String),
    /// The argument at a pointer: a string, a number, a boolean, or `{"$secret": NAME}` where the tool accepts it. Absent, nothing
    /// is handed over.
    Argument(ArgumentPart),
    /// The value of a secret that the tool always needs.
    Secret(SecretPart),
}

/// A secret as part of a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretPart {
    /// Its name.
    pub secret: Reference,
}

/// A request with parts that arguments fill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpDriver {
    /// `GET`, `POST`, …
    pub method: String,
    /// `http` or `https`, host, port and path. `{name}` as a whole path segment is the top-level argument of that name, percent-encoded;
    /// the host is a literal.
    pub url: String,
    /// Query parameters; one whose argument is absent is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Part>,
    /// Headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Part>,
    /// A body of form fields (`application/x-www-form-urlencoded`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub form: BTreeMap<String, Part>,
    /// A JSON body: the argument at this pointer; the empty pointer is all arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Pointer>,
    /// How it is authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// How the answer's body is read.
    #[serde(default)]
    pub answer: AnswerForm,
}

/// A literal or an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Part {
    /// As it stands.
    Literal(String),
    /// The argument at a pointer: a string, a number or a boolean.
    Argument(ArgumentPart),
}

/// An argument as part of a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentPart {
    /// Where in the arguments.
    pub arg: Pointer,
}

/// How an answer's body becomes a value. The result is `{status, body}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// `body` is the decoded JSON document.
    #[default]
    Json,
    /// `body` is an object by element names; repeated elements are arrays, text is a string, attributes are `@name`.
    Xml,
    /// `body` is the text.
    Text,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpDriver {
    /// The server's name in the broker's configuration.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
    /// What the server said about the tool when it was pinned ([`crate::egress::McpGrant::definition`]); a tool without a pin
    /// cannot run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// Program and arguments of a server that runs in the step and speaks over its standard input and output; empty for one
    /// that is reached by network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Variables of that program's environment, beside the few that every program has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Handed>,
}

impl Driver {
    /// What its program is handed, each with the place in the driver.
    pub(crate) fn handed(&self) -> Vec<(String, &Handed)> {
        let named = |field: &str, all: &BTreeMap<String, Handed>| -> Vec<String> {
            all.keys().map(|name| format!("/{field}/{}", Pointer::escape(name))).collect()
        };
        match self {
            Self::Command(driver) => {
                let env = named("command/env", &driver.env).into_iter().zip(driver.env.values());
                let files = named("command/files", &driver.files).into_iter().zip(driver.files.values());
                let stdin = driver.stdin.iter().map(|handed| ("/command/stdin".to_owned(), handed));
                env.chain(files).chain(stdin).collect()
            }
            Self::Mcp(driver) => named("mcp/env", &driver.env).into_iter().zip(driver.env.values()).collect(),
            Self::None | Self::Builtin(_) | Self::Http(_) => Vec::new(),
        }
    }

    /// The secrets that the tool itself names, whatever its arguments say.
    #[must_use]
    pub fn secrets(&self) -> Vec<&Reference> {
        let auth = match self {
            Self::Http(driver) => driver.auth.as_ref().map(Auth::secret),
            Self::None | Self::Builtin(_) | Self::Command(_) | Self::Mcp(_) => None,
        };
        let handed = self.handed().into_iter().filter_map(|(_, handed)| match handed {
            Handed::Secret(part) => Some(&part.secret),
            Handed::Literal(_) | Handed::Argument(_) => None,
        });
        auth.into_iter().chain(handed).collect()
    }
}

/// A tool's definition as the manifest writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The name that a step's `action` says.
    pub name: ToolName,
    /// The group by which it is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What it does, for planners and people.
    pub description: String,
    /// A JSON Schema of the arguments; an object.
    pub args: Value,
    /// The least it does.
    pub effect: Effect,
    /// Whether that can be taken back.
    pub reversibility: Reversibility,
    /// What it is aimed at.
    pub target: Target,
    /// Arguments that decide what happens: untrusted data may not choose them.
    #[serde(default)]
    pub controls: Vec<Pointer>,
    /// Arguments that pick one of bounded options.
    #[serde(default)]
    pub selects: Vec<Pointer>,
    /// Arguments through which data leaves.
    #[serde(default)]
    pub carries: Vec<Pointer>,
    /// Arguments that may be a `$secret`.
    #[serde(default)]
    pub accepts_secret: Vec<Pointer>,
    /// Whether the tool sees raw secrets, which makes it an `admin` effect. Only a program can: what its driver hands it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exposes: bool,
    /// The label of its result.
    pub output: OutputLabel,
    /// How it is carried out.
    pub driver: Driver,
}

/// A checked tool: its definition, the digest that pins it, and its compiled argument schema.
#[derive(Debug)]
pub struct Tool {
    definition: Definition,
    digest: Digest,
    arguments: Arguments,
}

impl Tool {
    /// The definition as the manifest has it.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// SHA-256 of the canonical bytes of the definition: what a plan pins.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The compiled schema of the arguments.
    #[must_use]
    pub const fn arguments(&self) -> &Arguments {
        &self.arguments
    }
}

#[cfg(test)]
mod tests;

//! `countersign.deployment/v1` as the document writes it (FORMATS §4).

use std::collections::BTreeMap;

use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::egress::Service;
use countersign_plan::id::Reference;
use countersign_plan::tool::TargetKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of this format.
pub const SCHEMA: &str = "countersign.deployment/v1";

/// How secret something is: names for reader sets. Ordered from free to secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecrecyLevel {
    /// Anyone may read it.
    Public,
    /// The user, internal and known parties.
    Internal,
    /// The user and internal parties.
    Confidential,
    /// The user, inside the workspace.
    Restricted,
}

impl SecrecyLevel {
    /// The word that documents use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Confidential => "confidential",
            Self::Restricted => "restricted",
        }
    }
}

/// Where the work runs and what matters there. Every key may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeploymentDocument {
    /// `countersign.deployment/v1`.
    pub schema: String,
    /// Folders that the work may touch by default; the first is what relative paths are relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Vec<String>>,
    /// The folder that a leading `~` stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// Who belongs to the house: mail addresses, channels, accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identities: Option<Identities>,
    /// Which hosts belong to the house, and which are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostLists>,
    /// Path patterns by secrecy; the strictest wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrecy: Option<SecrecyLists>,
    /// The most secret data that may flow to whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearance: Option<Clearance>,
    /// What changes only under a change request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<ProtectedDocument>,
    /// Where change requests are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_requests: Option<ChangeSource>,
    /// Who approves, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalDocument>,
    /// What a sandbox must hold for anything to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxDocument>,
    /// Manifests beyond the built-in one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The policy's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// To which hosts a secret may go; internal ones where nothing is said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<Reference, SecretDocument>,
}

/// Who belongs to the house.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identities {
    /// The user for whom the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Addresses, `*@domain`, channels and accounts of the house.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal: Option<Vec<String>>,
    /// Parties outside that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<String>>,
}

/// Hosts of the house, and known ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLists {
    /// Hosts of the house.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal: Option<Vec<String>>,
    /// Hosts outside that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<String>>,
}

/// Path patterns by secrecy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecrecyLists {
    /// Anyone may read these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public: Vec<String>,
    /// What everything else is as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub internal: Vec<String>,
    /// The house only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confidential: Vec<String>,
    /// Always asks, even on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restricted: Vec<String>,
}

/// The most secret data that may flow to whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clearance {
    /// To the house; `confidential` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal: Option<SecrecyLevel>,
    /// To known parties; `internal` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<SecrecyLevel>,
    /// To anybody else; `public` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<SecrecyLevel>,
}

/// A resource that changes only under a change request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProtectedDocument {
    /// What kind of thing; `file` and `directory` are one, `host` and `url` are one.
    pub kind: TargetKind,
    /// A pattern of its name.
    #[serde(rename = "match")]
    pub pattern: String,
}

/// Where change requests are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ChangeSource {
    /// A `countersign.changes/v1` file.
    File(String),
    /// A service that answers with such a document; read by the broker.
    Http(Service),
}

/// Who approves, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDocument {
    /// Whether the requester may approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Whether a confirmation given with the goal counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

/// Whether the requester may approve. Ordered from free to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Yes, and the ledger says so.
    Inline,
    /// No: somebody else does.
    FourEyes,
}

/// Whether a confirmation given with the goal counts. Ordered from free to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// Yes, where the goal proves it.
    Request,
    /// No: people are always asked.
    Always,
}

/// What a sandbox must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxDocument {
    /// The least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<SandboxMinimum>,
}

/// The least that a sandbox must hold for anything to run. Ordered from free to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMinimum {
    /// No user namespaces: built-in file tools only.
    NoUserns,
    /// All layers.
    Full,
}

/// To which hosts a secret may go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretDocument {
    /// Host patterns.
    pub hosts: Vec<String>,
}

impl DeploymentDocument {
    /// A document that says nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self { schema: SCHEMA.to_owned(), ..Self::default() }
    }

    /// Reads a deployment, JSON or YAML.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        Self::from_value(document::from_bytes(bytes, Bounds::CONFIG)?)
    }

    /// As [`DeploymentDocument::read`], of a strict value (a suite's inline deployment).
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn from_value(value: Value) -> Result<Self, DocumentError> {
        document::of_schema(&value, SCHEMA)
    }
}

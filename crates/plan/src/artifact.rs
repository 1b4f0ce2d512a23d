//! The plan artifact (FORMATS §2): a draft and everything that it was judged by. Its digest covers every byte that an
//! approver sees, `reason` too; it is immutable, and a change is a new version (INV-3).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::Access;
use crate::canonical::{self, Object};
use crate::confinement::Profile;
use crate::digest::Digest;
use crate::document::{self, Bounds, DocumentError};
use crate::draft::{Draft, Step};
use crate::id::{CaseId, Principal, StepId, ToolName};
use crate::resolve::Inputs;
use crate::time::Timestamp;
use crate::verdict::Mode;

/// The name of this format.
pub const SCHEMA: &str = "countersign.artifact/v1";

/// What a plan may cost to read: its draft, and what was granted for it.
const BOUNDS: Bounds = Bounds { bytes: 4 << 20, depth: Bounds::PLAN.depth + 4, values: Bounds::PLAN.values * 2 };

/// A plan as it is shown, signed and run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `countersign.artifact/v1`.
    pub schema: String,
    /// The case.
    pub case: CaseId,
    /// From 1; a revision is the next version.
    pub version: u32,
    /// The digest of the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Digest>,
    /// For whom the case was opened.
    pub principal: Principal,
    /// Who proposed.
    pub agent: Principal,
    /// Who acts.
    pub mode: Mode,
    /// Digest of the draft.
    pub draft_digest: Digest,
    /// The draft as it was submitted.
    #[serde(with = "shared")]
    pub draft: Arc<Value>,
    /// Given by the user with the goal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "strict_inputs")]
    pub inputs: Inputs,
    /// The folder that relative paths start from.
    pub cwd: String,
    /// What each step may touch, in the order of execution.
    pub steps: Vec<StepGrant>,
    /// The definitions that the tools had.
    pub tools: BTreeMap<ToolName, Digest>,
    /// The policy that judged.
    pub policy_digest: Digest,
    /// The deployment that judged.
    pub deployment_digest: Digest,
    /// The label proof, where one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_proof: Option<Digest>,
    /// Not to be run before.
    pub not_before: Timestamp,
    /// Makes two equal plans two.
    pub nonce: String,
}

/// What one step may touch. The fields are in the order in which canonical bytes have them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepGrant {
    /// Effects on resources, resolved once.
    pub accesses: Vec<Access>,
    /// Tool, arguments and target: what an approval of this action means in another version.
    pub action_digest: Digest,
    /// The step.
    pub id: StepId,
    /// Whether nothing takes it back.
    pub irreversible: bool,
    /// The sandbox that it runs in.
    pub profile: Profile,
}

/// Why bytes are no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Malformed.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The digest of the draft is not the one that the plan names.
    #[error("the draft is not the one that the plan names")]
    Draft,
    /// Grants and steps do not go together.
    #[error("the plan grants for other steps than its draft has")]
    Steps,
}

impl Plan {
    /// The canonical bytes: what is shown, hashed, stored and run.
    ///
    /// # Errors
    /// Never for a plan that was built from a draft; kept so that nothing is signed by accident.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        self.written().map(|(bytes, _)| bytes)
    }

    /// The canonical bytes, and where in them the draft's lie.
    fn written(&self) -> Result<(Vec<u8>, Range<usize>), serde_json::Error> {
        let mut bytes = Object::room();
        let mut out = Object::open(&mut bytes);
        out.text("agent", self.agent.as_str());
        out.text("case", self.case.as_str());
        out.text("cwd", &self.cwd);
        out.digest("deployment_digest", &self.deployment_digest);
        let draft = out.value("draft", &self.draft);
        out.digest("draft_digest", &self.draft_digest);
        if !self.inputs.is_empty() {
            out.member("inputs", &self.inputs)?;
        }
        if let Some(proof) = &self.label_proof {
            out.digest("label_proof", proof);
        }
        out.member("mode", &self.mode)?;
        out.text("nonce", &self.nonce);
        out.member("not_before", &self.not_before)?;
        if let Some(parent) = &self.parent {
            out.digest("parent", parent);
        }
        out.digest("policy_digest", &self.policy_digest);
        out.text("principal", self.principal.as_str());
        out.text("schema", &self.schema);
        out.objects("steps", &self.steps, |out, grant| {
            out.member("accesses", &grant.accesses)?;
            out.digest("action_digest", &grant.action_digest);
            out.text("id", grant.id.as_str());
            out.flag("irreversible", grant.irreversible);
            out.member("profile", &grant.profile)
        })?;
        // Names of tools are of letters whose order is the same in every encoding.
        out.object("tools", |out| {
            self.tools.iter().for_each(|(tool, digest)| out.digest(tool.as_str(), digest));
            Ok::<_, serde_json::Error>(())
        })?;
        out.member("version", &self.version)?;
        out.close();
        Ok((bytes, draft))
    }

    /// Reads the bytes of a plan, with its draft.
    ///
    /// # Errors
    /// Malformed, not in canonical form, or its parts contradict each other.
    pub fn read(bytes: &[u8]) -> Result<(Self, Draft), PlanError> {
        let mut draft = 0..0;
        let plan: Self = document::canonical(bytes, BOUNDS, |plan: &Self| {
            plan.written().map(|(again, at)| {
                draft = at;
                again
            })
        })?;
        if plan.schema != SCHEMA {
            return Err(DocumentError::at("/schema", format!("this reader knows `{SCHEMA}`")).into());
        }
        let digest = Digest::of(bytes.get(draft).unwrap_or_default());
        let draft = Draft::of(Arc::clone(&plan.draft), digest).map_err(|e| e.below("/draft"))?;
        if draft.digest() != plan.draft_digest {
            return Err(PlanError::Draft);
        }
        if !plan.steps.iter().map(|grant| &grant.id).eq(draft.steps().iter().map(|step| &step.id)) {
            return Err(PlanError::Steps);
        }
        Ok((plan, draft))
    }

    /// What the step of this id may touch.
    #[must_use]
    pub fn grant(&self, id: &StepId) -> Option<&StepGrant> {
        self.steps.iter().find(|grant| grant.id == *id)
    }
}

/// A value that a plan shares with its checked draft.
mod shared {
    use std::sync::Arc;

    use serde::Serialize as _;
    use serde_json::Value;

    pub(super) fn serialize<S: serde::Serializer>(value: &Arc<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Arc<Value>, D::Error> {
        crate::document::strict(deserializer, super::BOUNDS).map(Arc::new)
    }
}

fn strict_inputs<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Inputs, D::Error> {
    document::typed(document::strict(deserializer, BOUNDS)?).map_err(serde::de::Error::custom)
}

/// The digest of what an action means: tool, definition, arguments as written and constraints, not the planner's words
/// (`lesson_24`).
#[must_use]
pub fn action_digest(step: &Step, tool: Digest, source: &Value) -> Digest {
    canonical::digest(&json!({
        "action": step.action,
        "tool": tool,
        "args": source.get("args").unwrap_or(&json!({})),
        "irreversible": step.irreversible,
        "rollback": source.get("rollback"),
        "expect": source.get("expect"),
        "change_request": step.change_request,
    }))
}

#[cfg(test)]
mod tests;

//! Change requests (`countersign.changes/v1`): leave to change what is protected (FORMATS §4), and to let single values of a plan pass
//! (FLOW.md, "Crossing points").

use std::collections::BTreeMap;

use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds, DocumentError};
use countersign_plan::id::Principal;
use countersign_plan::text;
use countersign_plan::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deployment::{NamePatterns, ProtectedDocument};
use crate::flow::{Crossing, Crossings};
use crate::paths::{Case, Place, fold};
use crate::policy::{Selector, Selectors, Use};

/// The name of this format.
pub const SCHEMA: &str = "countersign.changes/v1";

/// Change requests as the document writes them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangesDocument {
    /// `countersign.changes/v1`.
    pub schema: String,
    /// The requests; ids are unique.
    pub change_requests: Vec<ChangeRequest>,
    /// Values of single plans that people let pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossings: Vec<Crossing>,
}

/// One change request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeRequest {
    /// Unique.
    pub id: String,
    /// For people.
    #[serde(default)]
    pub summary: String,
    /// Only `approved` counts; any other word does not.
    pub status: String,
    /// Who asked for it.
    pub requested_by: String,
    /// Who said yes; one of them must be somebody else than the requester.
    #[serde(default)]
    pub approved_by: Vec<String>,
    /// Not valid before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Not valid from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
    /// Tool names and `effect:WORD`; nothing is covered where the list is empty.
    #[serde(default)]
    pub actions: Vec<String>,
    /// Resources; nothing is covered where the list is empty.
    #[serde(default)]
    pub resources: Vec<ProtectedDocument>,
}

/// Change requests by id.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    requests: BTreeMap<String, ChangeRequest>,
    crossings: Vec<Crossing>,
}

impl Changes {
    /// Reads change requests, JSON or YAML.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer.
    pub fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let document: ChangesDocument = document::of_schema(&document::from_bytes(bytes, Bounds::CONFIG)?, SCHEMA)?;
        let mut requests = BTreeMap::new();
        for (i, request) in document.change_requests.into_iter().enumerate() {
            let id = request.id.clone();
            if requests.insert(id.clone(), request).is_some() {
                let what = format!("change request `{id}` stands here twice; ids are unique");
                return Err(DocumentError::at(format!("/change_requests/{i}/id"), what));
            }
        }
        if let Some(i) = document.crossings.iter().position(|crossing| !crossing.form.is_readable()) {
            let what = "a pattern that does not compile, or a range that holds nothing";
            return Err(DocumentError::at(format!("/crossings/{i}/form"), what));
        }
        Ok(Self { requests, crossings: document.crossings })
    }

    /// The crossing points that count for a plan.
    #[must_use]
    pub fn crossings(&self, draft: Digest, requester: &Principal, now: Timestamp) -> Crossings {
        Crossings::valid(&self.crossings, draft, requester, now)
    }

    /// The request of this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ChangeRequest> {
        self.requests.get(id)
    }
}

/// Why a change request gives no leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none of that id.
    #[error("no change request `{0}` is known")]
    Unknown(String),
    /// Its status is another word than `approved`.
    #[error("change request `{id}` is `{status}`, not `approved`")]
    Status {
        /// The request.
        id: String,
        /// The word.
        status: String,
    },
    /// Nobody but the requester said yes.
    #[error("change request `{0}` was approved by nobody but the one who asks")]
    SelfApproved(String),
    /// Now is outside its window.
    #[error("change request `{0}` is not valid now")]
    Window(String),
    /// It is about another action.
    #[error("change request `{id}` does not cover the action {action}")]
    Action {
        /// The request.
        id: String,
        /// The action.
        action: String,
    },
    /// It is about another resource.
    #[error("change request `{id}` does not cover {resource}")]
    Resource {
        /// The request.
        id: String,
        /// The resource.
        resource: String,
    },
    /// One of its patterns or actions cannot be read.
    #[error("change request `{id}`: {what}")]
    Invalid {
        /// The request.
        id: String,
        /// What is wrong.
        what: String,
    },
}

/// What somebody wants leave for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its group.
    pub group: Option<&'a str>,
    /// Everything it would do to what is protected.
    pub uses: &'a [(Use<'a>, &'a str)],
    /// For whom the case was opened.
    pub requester: &'a str,
    /// The user whom the deployment names, who is the requester as well.
    pub user: Option<&'a str>,
    /// Gate time.
    pub now: Timestamp,
}

impl Changes {
    /// Whether the request `id` gives leave for everything that is wanted.
    ///
    /// # Errors
    /// The first thing that it does not cover.
    pub fn cover(&self, id: &str, wanted: &Wanted<'_>, place: &Place) -> Result<(), Refusal> {
        let request = self.get(id).ok_or_else(|| Refusal::Unknown(text::escape(id)))?;
        let id = || text::escape(id);
        if request.status != "approved" {
            return Err(Refusal::Status { id: id(), status: text::escape(&request.status) });
        }
        let same = |a: &str, b: &str| person(a) == person(b);
        let own = |approver: &str| {
            approver.trim().is_empty()
                || same(approver, &request.requested_by)
                || same(approver, wanted.requester)
                || wanted.user.is_some_and(|user| same(approver, user))
        };
        if request.approved_by.iter().all(|approver| own(approver)) {
            return Err(Refusal::SelfApproved(id()));
        }
        if request.not_before.is_some_and(|from| wanted.now < from)
            || request.not_after.is_some_and(|until| wanted.now >= until)
        {
            return Err(Refusal::Window(id()));
        }
        let selectors: Vec<Selector> = request
            .actions
            .iter()
            .map(|action| action.parse().map_err(|what| Refusal::Invalid { id: id(), what }))
            .collect::<Result<_, _>>()?;
        let selectors = Selectors::from(selectors);
        let resources = request.resources.iter().map(|r| (r.kind, r.pattern.as_str()));
        let patterns = NamePatterns::compile(Case::Exact, place, resources)
            .map_err(|(_, what)| Refusal::Invalid { id: id(), what })?;
        for (one, name) in wanted.uses {
            if !selectors.fits(wanted.tool, wanted.group, one.effect) {
                return Err(Refusal::Action { id: id(), action: wanted.tool.to_owned() });
            }
            let covered = match (&one.path, one.endpoint) {
                (Some(path), _) => patterns.path(path).is_some(),
                (None, Some(endpoint)) => patterns.host(endpoint).is_some(),
                (None, None) => patterns.name(one.kind, name).is_some(),
            };
            if !covered {
                return Err(Refusal::Resource { id: id(), resource: text::escape(name) });
            }
        }
        Ok(())
    }
}

/// A person's name without the kind of principal, case-folded.
fn person(name: &str) -> String {
    let bare = name.trim();
    fold(bare.strip_prefix("user:").unwrap_or(bare)).into_owned()
}

#[cfg(test)]
mod tests;

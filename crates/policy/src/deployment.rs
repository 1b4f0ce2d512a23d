//! Deployments (`countersign.yaml`): where it runs and what matters there, compiled for deciding (FORMATS §4).
//!
//! Whatever a document says, the built-in lines stand: restricted files, hooks and start files, Countersign's own folders and files.

mod builtin;
mod document;
mod names;

pub use document::{
    ApprovalDocument, ApprovalMode, ChangeSource, Clearance, Confirmation, DeploymentDocument, HostLists, Identities,
    ProtectedDocument, SCHEMA, SandboxDocument, SandboxMinimum, SecrecyLevel, SecrecyLists, SecretDocument,
};
pub use names::{NamePatterns, is_path_kind};

use std::collections::BTreeMap;

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::id::Reference;
use countersign_plan::tool::TargetKind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::hosts::{Endpoint, HostSet, Reach};
use crate::identities::{self, IdentitySet};
use crate::paths::{self, Case, PathSet, Place, Seen};

/// Countersign's own folders and files: facts of the installation, refused as targets whatever a document says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    /// Configuration, state and runtime folders; absolute.
    pub folders: Vec<String>,
    /// Configuration, policy, tool and change-request files in use; absolute.
    pub files: Vec<String>,
}

/// Clearance of internal, known and other parties where a deployment says nothing.
pub(crate) const CLEARANCE: (SecrecyLevel, SecrecyLevel, SecrecyLevel) =
    (SecrecyLevel::Confidential, SecrecyLevel::Internal, SecrecyLevel::Public);

/// What a sandbox must hold where a deployment says nothing.
pub(crate) const SANDBOX_MINIMUM: SandboxMinimum = SandboxMinimum::Full;

/// Who somebody is to the house. Ordered from near to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The user for whom the work is done.
    User,
    /// The house.
    Internal,
    /// A known party outside.
    Known,
    /// Anybody else.
    Other,
}

impl Standing {
    /// The word that conditions and messages use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Internal => "internal",
            Self::Known => "known",
            Self::Other => "other",
        }
    }
}

/// A compiled deployment.
#[derive(Debug)]
pub struct Deployment {
    document: DeploymentDocument,
    digest: Digest,
    place: Place,
    workspace: Vec<String>,
    secrecy: PathSet,
    protected: NamePatterns,
    trusted: PathSet,
    powers: PathSet,
    own_folders: PathSet,
    own_files: PathSet,
    user: Option<String>,
    internal_identities: IdentitySet,
    known_identities: IdentitySet,
    internal_hosts: HostSet,
    known_hosts: HostSet,
    secrets: BTreeMap<Reference, HostSet>,
}

/// A deployment that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {what}")]
pub struct DeploymentError {
    /// The place in the document.
    pub pointer: String,
    /// What is wrong and how to mend it.
    pub what: String,
}

fn at(pointer: impl Into<String>) -> impl FnOnce(&dyn std::fmt::Display) -> DeploymentError {
    let pointer = pointer.into();
    move |what| DeploymentError { pointer, what: what.to_string() }
}

impl Deployment {
    /// Compiles a document. `cwd` and `home` are used where the document names neither workspace nor home; relative workspaces
    /// are relative to `cwd`.
    ///
    /// # Errors
    /// The first pattern, host or path that cannot be read in one way only.
    pub fn compile(document: DeploymentDocument, cwd: &str, home: &str, own: &Own) -> Result<Self, DeploymentError> {
        let home = document.home.as_deref().unwrap_or(home);
        let outer = Place::new(cwd, home).map_err(|e| at("/home")(&e))?;
        let workspace = workspaces(&document, &outer)?;
        let first = workspace.first().map_or(cwd, String::as_str);
        let place = Place::new(first, home).map_err(|e| at("/workspace/0")(&e))?;
        let (internal_identities, known_identities, user) = identity_lists(&document)?;
        let hosts = document.hosts.clone().unwrap_or_default();
        let digest = canonical::digest(&json!({
            "document": serde_json::to_value(&document).map_err(|e| at("")(&e))?,
            "workspace": workspace, "home": place.home(), "own_folders": own.folders, "own_files": own.files,
        }));
        Ok(Self {
            digest,
            secrecy: secrecy_set(&document, &place)?,
            protected: NamePatterns::compile(
                Case::Folded,
                &place,
                document.protected.iter().map(|p| (p.kind, p.pattern.as_str())),
            )
            .map_err(|(i, what)| at(format!("/protected/{i}/match"))(&what))?,
            trusted: builtin_set(&place, builtin::TRUSTED)?,
            powers: builtin_set(&place, builtin::POWERS)?,
            own_folders: own_set(&place, builtin::OWN_FOLDERS, &own.folders, true)?,
            own_files: own_set(&place, builtin::OWN_FILES, &own.files, false)?,
            user,
            internal_identities,
            known_identities,
            internal_hosts: host_set(hosts.internal.as_deref(), "/hosts/internal")?,
            known_hosts: host_set(hosts.known.as_deref(), "/hosts/known")?,
            secrets: document
                .secrets
                .iter()
                .map(|(name, s)| {
                    host_set(Some(&s.hosts), &format!("/secrets/{name}/hosts")).map(|set| (name.clone(), set))
                })
                .collect::<Result<_, _>>()?,
            document,
            place,
            workspace,
        })
    }

    /// What the deployment says after merging, without built-in protections.
    #[must_use]
    pub const fn document(&self) -> &DeploymentDocument {
        &self.document
    }

    /// SHA-256 of the canonical bytes of everything that decides: document, workspace, home, own files.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What relative paths and `~` stand for.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The folders that the work may touch by default; absolute. The first is what relative paths are relative to.
    #[must_use]
    pub fn workspace(&self) -> &[String] {
        &self.workspace
    }

    /// The folder that a leading `~` stands for.
    #[must_use]
    pub fn home(&self) -> &str {
        self.place.home()
    }

    /// Whether both names of the path lie in the workspace.
    #[must_use]
    pub fn in_workspace(&self, path: &Seen<'_>) -> bool {
        self.workspace.iter().any(|dir| path.both(|p| paths::is_within(p, dir)))
    }

    /// Whether both names of the path lie in a temporary folder.
    #[must_use]
    pub fn in_temporary(&self, path: &Seen<'_>) -> bool {
        path.both(|p| builtin::TEMPORARY.iter().any(|dir| p != *dir && paths::is_within(p, dir)))
    }

    /// How secret a file is: the strictest class that hits either of its names; unclassified files are internal.
    #[must_use]
    pub fn secrecy(&self, path: &Seen<'_>) -> SecrecyLevel {
        let mut strictest = None;
        path.hits(&self.secrecy, &mut |id| strictest = strictest.max(Some(id)));
        strictest.and_then(level).unwrap_or(SecrecyLevel::Internal)
    }

    /// Patterns of restricted files, for a view that masks them.
    #[must_use]
    pub fn is_restricted(&self, path: &Seen<'_>) -> bool {
        self.secrecy(path) == SecrecyLevel::Restricted
    }

    /// Whether a restricted pattern hangs from a folder below `dir`.
    #[must_use]
    pub fn has_restricted_below(&self, dir: &str) -> bool {
        self.secrecy.anchored_below(dir).any(|id| level(id) == Some(SecrecyLevel::Restricted))
    }

    /// What changes only under a change request.
    #[must_use]
    pub const fn protected(&self) -> &NamePatterns {
        &self.protected
    }

    /// Whether something else runs or believes the file by itself: hooks, start files, build services.
    #[must_use]
    pub fn is_trusted(&self, path: &Seen<'_>) -> bool {
        path.touches(&self.trusted) || self.is_power(path)
    }

    /// Whether the path says who may log in, or who may rule.
    #[must_use]
    pub fn is_power(&self, path: &Seen<'_>) -> bool {
        path.touches(&self.powers)
    }

    /// Whether the path is one of Countersign's own folders, or in one.
    #[must_use]
    pub fn is_own_folder(&self, path: &Seen<'_>) -> bool {
        path.touches(&self.own_folders)
    }

    /// Whether the path is one of Countersign's own files: readable, never a target.
    #[must_use]
    pub fn is_own_file(&self, path: &Seen<'_>) -> bool {
        path.touches(&self.own_files)
    }

    /// Whether something of Countersign's own is known to lie below `dir`.
    #[must_use]
    pub fn has_own_below(&self, dir: &str) -> bool {
        self.own_folders.anchored_below(dir).chain(self.own_files.anchored_below(dir)).next().is_some()
    }

    /// Who a mail address, channel or account (in the form of [`identities`]) is.
    #[must_use]
    pub fn standing_of(&self, identity: &str) -> Standing {
        if self.user.as_deref() == Some(identity) {
            Standing::User
        } else if self.internal_identities.contains(identity) {
            Standing::Internal
        } else if self.known_identities.contains(identity) {
            Standing::Known
        } else {
            Standing::Other
        }
    }

    /// Who a host is. An address that leads to this machine or its neighbourhood is somebody only if it is listed.
    #[must_use]
    pub fn standing_of_host(&self, endpoint: &Endpoint) -> Standing {
        if endpoint.host.reach() == Reach::Metadata {
            Standing::Other
        } else if self.internal_hosts.contains(endpoint) {
            Standing::Internal
        } else if self.known_hosts.contains(endpoint) {
            Standing::Known
        } else {
            Standing::Other
        }
    }

    /// The most secret data that may flow to somebody of this standing.
    #[must_use]
    pub fn clearance(&self, standing: Standing) -> SecrecyLevel {
        let said = self.document.clearance.clone().unwrap_or_default();
        match standing {
            Standing::User => SecrecyLevel::Confidential,
            Standing::Internal => said.internal.unwrap_or(CLEARANCE.0),
            Standing::Known => said.known.unwrap_or(CLEARANCE.1),
            Standing::Other => said.other.unwrap_or(CLEARANCE.2),
        }
    }

    /// Whether a secret may go to this host: where the deployment binds it, else to internal hosts.
    #[must_use]
    pub fn secret_may_reach(&self, secret: &Reference, endpoint: &Endpoint) -> bool {
        match self.secrets.get(secret) {
            Some(hosts) => hosts.contains(endpoint),
            None => self.standing_of_host(endpoint) <= Standing::Internal,
        }
    }

    /// The patterns of the hosts that a secret may go to: its own, else the internal ones. An entry that means every host is none.
    #[must_use]
    pub fn hosts_of_secret(&self, secret: &Reference) -> Vec<String> {
        let bound = self.document.secrets.get(secret).map(|secret| secret.hosts.clone());
        bound.unwrap_or_else(|| self.document.hosts.as_ref().and_then(|h| h.internal.clone()).unwrap_or_default())
    }

    /// The user's identity, case-folded, where the deployment names one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The built-in lines for people: pattern and reason, of restricted, trusted and own resources.
    pub fn builtin_lines() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let of = |what: &'static str, lines: &'static [builtin::Line]| {
            lines.iter().map(move |line| (what, line.pattern, line.reason))
        };
        of("restricted", builtin::RESTRICTED)
            .chain(of("trusted", builtin::TRUSTED))
            .chain(of("trusted", builtin::POWERS))
            .chain(of("own", builtin::OWN_FOLDERS))
            .chain(of("own", builtin::OWN_FILES))
    }
}

const LEVELS: [SecrecyLevel; 4] =
    [SecrecyLevel::Public, SecrecyLevel::Internal, SecrecyLevel::Confidential, SecrecyLevel::Restricted];

fn level(id: u32) -> Option<SecrecyLevel> {
    LEVELS.get(id as usize).copied()
}

fn workspaces(document: &DeploymentDocument, place: &Place) -> Result<Vec<String>, DeploymentError> {
    let Some(list) = &document.workspace else { return Ok(vec![place.cwd().to_owned()]) };
    if list.is_empty() {
        return Err(at("/workspace")(
            &"a deployment has at least one workspace; leave the key out for the current folder",
        ));
    }
    list.iter()
        .enumerate()
        .map(|(i, dir)| {
            let path = place.normalise(dir).map_err(|e| at(format!("/workspace/{i}"))(&e))?;
            if path == "/" || paths::is_kernel(&path) {
                return Err(at(format!("/workspace/{i}"))(&"the whole system is no workspace; name a folder"));
            }
            Ok(path)
        })
        .collect()
}

fn secrecy_set(document: &DeploymentDocument, place: &Place) -> Result<PathSet, DeploymentError> {
    let lists = document.secrecy.clone().unwrap_or_default();
    let said = [&lists.public, &lists.internal, &lists.confidential, &lists.restricted];
    let said = (0_u32..).zip(said).flat_map(|(id, list)| list.iter().map(move |pattern| (id, pattern.as_str())));
    let built_in = builtin::RESTRICTED.iter().map(|line| (3, line.pattern));
    PathSet::compile(Case::Folded, place, said.chain(built_in)).map_err(|e| at("/secrecy")(&e))
}

fn builtin_set(place: &Place, lines: &[builtin::Line]) -> Result<PathSet, DeploymentError> {
    PathSet::compile(Case::Folded, place, lines.iter().map(|line| (0, line.pattern))).map_err(|e| at("")(&e))
}

fn own_set(
    place: &Place,
    built_in: &[builtin::Line],
    facts: &[String],
    subtree: bool,
) -> Result<PathSet, DeploymentError> {
    let mut set: Vec<String> = built_in.iter().map(|line| line.pattern.to_owned()).collect();
    for path in facts {
        let path = paths::absolute(path).map_err(|e| at("")(&e))?;
        // A folder's name may hold characters that a pattern would read.
        let path: String =
            path.chars().flat_map(|c| "*?[]{}\\".contains(c).then_some('\\').into_iter().chain([c])).collect();
        set.push(if subtree { format!("{path}/**") } else { path });
    }
    PathSet::compile(Case::Folded, place, set.iter().map(|pattern| (0, pattern.as_str()))).map_err(|e| at("")(&e))
}

fn host_set(list: Option<&[String]>, pointer: &str) -> Result<HostSet, DeploymentError> {
    let list = list.unwrap_or_default();
    for (i, host) in list.iter().enumerate() {
        let pattern = crate::hosts::HostPattern::parse(host).map_err(|e| at(format!("{pointer}/{i}"))(&e))?;
        if pattern.is_any() {
            return Err(at(format!("{pointer}/{i}"))(&"`*` would make every host one of these; name domains"));
        }
    }
    HostSet::compile(list.iter().map(|host| (0, host.as_str()))).map_err(|e| at(pointer)(&e))
}

fn identity_lists(
    document: &DeploymentDocument,
) -> Result<(IdentitySet, IdentitySet, Option<String>), DeploymentError> {
    let lists = document.identities.clone().unwrap_or_default();
    let set = |list: Option<Vec<String>>, pointer: &str| {
        IdentitySet::compile(list.iter().flatten().map(String::as_str)).map_err(|e| at(pointer)(&e))
    };
    let user = lists
        .user
        .map(|user| {
            let one = if user.contains('@') {
                identities::addresses(&user).map(|mut all| all.pop().unwrap_or_default())
            } else {
                identities::name(&user)
            };
            one.map_err(|e| at("/identities/user")(&e))
        })
        .transpose()?;
    Ok((set(lists.internal, "/identities/internal")?, set(lists.known, "/identities/known")?, user))
}

/// Whether two kinds of target are one for patterns: files and directories, hosts and URLs.
#[must_use]
pub fn same_kind(a: TargetKind, b: TargetKind) -> bool {
    let class = |kind| match kind {
        TargetKind::Directory => TargetKind::File,
        TargetKind::Url => TargetKind::Host,
        other => other,
    };
    class(a) == class(b)
}

#[cfg(test)]
mod tests;

//! Whose word counts: built-in lines, the configuration of system or user, and files that come with a workspace (FORMATS §4).
//!
//! A file found in or above a workspace is written by whoever wrote the workspace. It may only tighten: what it says is merged key
//! by key so that no decision becomes milder, and what would loosen is left out with a finding, unless its digest is trusted
//! (`countersign trust FILE`). What tightening means, key by key:
//!
//! | key | an untrusted file |
//! |---|---|
//! | `workspace` | keeps folders inside the present workspaces |
//! | `home`, `identities.user` | ignored |
//! | `identities`, `hosts` | keeps entries that are there already, or makes internal ones known ones |
//! | `secrecy` | adds, except `public` |
//! | `clearance` | lowers |
//! | `protected` | adds |
//! | `approval`, `sandbox` | makes stricter |
//! | `secrets` | binds to fewer hosts |
//! | `change_requests`, `tools` | ignored: they give leave, or add tools |
//! | `policy` | deny, verify and goal rules and lower limits; allow rules are ignored |

mod entries;

use countersign_plan::digest::Digest;

use crate::deployment::{
    ApprovalDocument, Clearance, DeploymentDocument, HostLists, Identities, SandboxDocument, SecrecyLevel,
    SecrecyLists, SecretDocument,
};
use crate::paths::{self, Place};
use crate::policy::PolicyDocument;

/// Where a configuration file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The system's or the user's own configuration, or one that the user names on the command line.
    Own,
    /// In or above a workspace.
    Workspace,
}

/// A document with where it comes from.
#[derive(Debug, Clone)]
pub struct Layer<T> {
    /// The document.
    pub document: T,
    /// Where it was found.
    pub origin: Origin,
    /// The digest of the file's bytes: what trust is given to.
    pub digest: Digest,
    /// Its file, for messages.
    pub file: String,
}

impl<T> Layer<T> {
    /// Whether its keys count in full.
    #[must_use]
    pub fn is_trusted(&self, trusted: &dyn Fn(&Digest) -> bool) -> bool {
        match self.origin {
            Origin::Own => true,
            Origin::Workspace => trusted(&self.digest),
        }
    }
}

/// A key of an untrusted file that was left out because it would loosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The file.
    pub file: String,
    /// The place in it.
    pub pointer: String,
    /// What it would have loosened.
    pub what: String,
}

/// Documents merged, and what was left out.
#[derive(Debug, Clone)]
pub struct Merged<T> {
    /// What holds.
    pub document: T,
    /// What was left out.
    pub ignored: Vec<Ignored>,
}

/// Merges deployments, in the order of trust: what is trusted first. `cwd` and `home` are what the first layers' relative paths
/// and `~` stand for.
#[must_use]
pub fn deployments(
    layers: &[Layer<DeploymentDocument>],
    trusted: &dyn Fn(&Digest) -> bool,
    cwd: &str,
    home: &str,
) -> Merged<DeploymentDocument> {
    let mut merged = Merged { document: DeploymentDocument::empty(), ignored: Vec::new() };
    let (own, others): (Vec<_>, Vec<_>) = layers.iter().partition(|layer| layer.is_trusted(trusted));
    for layer in own {
        replace(&mut merged.document, &layer.document);
    }
    for layer in others {
        Tightening { base: &mut merged.document, ignored: &mut merged.ignored, file: &layer.file, cwd, home }
            .apply(&layer.document);
    }
    merged
}

/// Merges policies: rules of all layers, the lowest limits; allow rules of trusted layers only.
#[must_use]
pub fn policies(layers: &[Layer<PolicyDocument>], trusted: &dyn Fn(&Digest) -> bool) -> Merged<PolicyDocument> {
    let mut document = PolicyDocument::empty();
    let mut ignored = Vec::new();
    let mut limited = false;
    for (i, layer) in layers.iter().enumerate() {
        let mut rules = layer.document.clone();
        // Reasons cite rules by name, and two files may use the same one.
        let taken = |name: &str| {
            let deny = document.deny.iter().map(|r| &r.name);
            let verify = document.verify.iter().map(|r| &r.name);
            let goal = document.goal.iter().map(|r| &r.name);
            deny.chain(verify).chain(document.allow.iter().map(|r| &r.name)).chain(goal).any(|other| other == name)
        };
        let fresh = |name: &mut String| {
            if taken(name) {
                *name = format!("{name} ({})", i + 1);
            }
        };
        rules.deny.iter_mut().for_each(|rule| fresh(&mut rule.name));
        rules.verify.iter_mut().for_each(|rule| fresh(&mut rule.name));
        rules.allow.iter_mut().for_each(|rule| fresh(&mut rule.name));
        rules.goal.iter_mut().for_each(|rule| fresh(&mut rule.name));
        let full = layer.is_trusted(trusted);
        document.deny.extend(rules.deny);
        document.verify.extend(rules.verify);
        document.goal.extend(rules.goal);
        if full {
            document.allow.extend(rules.allow);
        } else {
            for (at, rule) in rules.allow.iter().enumerate() {
                let what = format!("the rule `{}` would allow; only a trusted file may", rule.name);
                ignored.push(Ignored { file: layer.file.clone(), pointer: format!("/allow/{at}"), what });
            }
        }
        // The first trusted file sets the limits, every other one lowers them.
        if full && !limited {
            document.limits = rules.limits;
            limited = true;
        } else {
            lower(&mut document.limits, &rules.limits);
        }
    }
    Merged { document, ignored }
}

fn lower(limits: &mut crate::policy::Limits, other: &crate::policy::Limits) {
    limits.steps = limits.steps.min(other.steps);
    limits.risk.ask = limits.risk.ask.min(other.risk.ask);
    limits.risk.block = limits.risk.block.min(other.risk.block).max(limits.risk.ask);
    limits.rate.per_minute = limits.rate.per_minute.min(other.rate.per_minute);
    limits.evaluator.per_day = limits.evaluator.per_day.min(other.evaluator.per_day);
}

/// A trusted layer over another: keys that it has replace, protections add up.
fn replace(base: &mut DeploymentDocument, layer: &DeploymentDocument) {
    let layer = layer.clone();
    base.workspace = layer.workspace.or_else(|| base.workspace.take());
    base.home = layer.home.or_else(|| base.home.take());
    base.identities = layer.identities.or_else(|| base.identities.take());
    base.hosts = layer.hosts.or_else(|| base.hosts.take());
    base.clearance = layer.clearance.or_else(|| base.clearance.take());
    base.change_requests = layer.change_requests.or_else(|| base.change_requests.take());
    base.approval = layer.approval.or_else(|| base.approval.take());
    base.sandbox = layer.sandbox.or_else(|| base.sandbox.take());
    base.policy = layer.policy.or_else(|| base.policy.take());
    base.tools.extend(layer.tools);
    base.secrets.extend(layer.secrets);
    if let Some(secrecy) = layer.secrecy {
        let into = base.secrecy.get_or_insert_with(SecrecyLists::default);
        into.public.extend(secrecy.public);
        into.internal.extend(secrecy.internal);
        into.confidential.extend(secrecy.confidential);
        into.restricted.extend(secrecy.restricted);
    }
    for protected in layer.protected {
        if !base.protected.contains(&protected) {
            base.protected.push(protected);
        }
    }
}

/// An untrusted layer being merged.
struct Tightening<'m> {
    base: &'m mut DeploymentDocument,
    ignored: &'m mut Vec<Ignored>,
    file: &'m str,
    cwd: &'m str,
    home: &'m str,
}

impl Tightening<'_> {
    fn ignore(&mut self, pointer: &str, what: impl Into<String>) {
        self.ignored.push(Ignored { file: self.file.to_owned(), pointer: pointer.to_owned(), what: what.into() });
    }

    fn apply(&mut self, layer: &DeploymentDocument) {
        self.workspace(layer);
        if layer.home.is_some() && layer.home != self.base.home {
            self.ignore("/home", "it would decide what `~` stands for");
        }
        self.identities(layer.identities.as_ref());
        self.hosts(layer.hosts.as_ref());
        self.secrecy(layer.secrecy.as_ref());
        self.clearance(layer.clearance.as_ref());
        for protected in &layer.protected {
            if !self.base.protected.contains(protected) {
                self.base.protected.push(protected.clone());
            }
        }
        if layer.change_requests.is_some() && layer.change_requests != self.base.change_requests {
            self.ignore("/change_requests", "its change requests would give leave to change what is protected");
        }
        self.approval(layer.approval.as_ref());
        self.sandbox(layer.sandbox.as_ref());
        if layer.tools.iter().any(|tool| !self.base.tools.contains(tool)) {
            self.ignore("/tools", "its tools would be added");
        }
        // The file that `policy` names is a layer of its own.
        self.secrets(layer);
    }

    fn workspace(&mut self, layer: &DeploymentDocument) {
        let Some(wanted) = &layer.workspace else { return };
        let home = self.base.home.as_deref().unwrap_or(self.home);
        let Ok(outer) = Place::new(self.cwd, home) else { return };
        let present = self.base.workspace.clone().unwrap_or_else(|| vec![self.cwd.to_owned()]);
        let present: Vec<String> = present.iter().filter_map(|dir| outer.normalise(dir).ok()).collect();
        let mut kept = Vec::new();
        let mut left_out = Vec::new();
        for (i, dir) in wanted.iter().enumerate() {
            match outer.normalise(dir) {
                Ok(path) if present.iter().any(|base| paths::is_within(&path, base)) => kept.push(path),
                _ => left_out.push(i),
            }
        }
        for i in left_out {
            self.ignore(&format!("/workspace/{i}"), "the folder is outside of the workspace");
        }
        // Patterns and relative paths hang from the first workspace: a narrower list must not move them.
        let first_stays = kept.first() == present.first();
        if !kept.is_empty() && first_stays {
            self.base.workspace = Some(kept);
        } else if !kept.is_empty() {
            self.ignore(
                "/workspace",
                "the first workspace would be another one, and relative patterns would mean other files",
            );
        }
    }

    fn identities(&mut self, layer: Option<&Identities>) {
        let Some(layer) = layer else { return };
        let base = self.base.identities.clone().unwrap_or_default();
        if layer.user.is_some() && layer.user != base.user {
            self.ignore("/identities/user", "it would decide who the user is");
        }
        let lists = entries::narrow(
            (base.internal.as_deref(), base.known.as_deref()),
            (layer.internal.as_deref(), layer.known.as_deref()),
            entries::identity_within,
        );
        for pointer in lists.left_out {
            self.ignore(&format!("/identities{pointer}"), "nobody trusted lists this identity");
        }
        self.base.identities = Some(Identities { user: base.user, internal: lists.internal, known: lists.known });
    }

    fn hosts(&mut self, layer: Option<&HostLists>) {
        let Some(layer) = layer else { return };
        let base = self.base.hosts.clone().unwrap_or_default();
        let lists = entries::narrow(
            (base.internal.as_deref(), base.known.as_deref()),
            (layer.internal.as_deref(), layer.known.as_deref()),
            entries::host_within,
        );
        for pointer in lists.left_out {
            self.ignore(&format!("/hosts{pointer}"), "nobody trusted lists this host");
        }
        self.base.hosts = Some(HostLists { internal: lists.internal, known: lists.known });
    }

    fn secrecy(&mut self, layer: Option<&SecrecyLists>) {
        let Some(layer) = layer else { return };
        if !layer.public.is_empty() {
            self.ignore("/secrecy/public", "it would declare files public");
        }
        let base = self.base.secrecy.get_or_insert_with(SecrecyLists::default);
        base.internal.extend(layer.internal.iter().cloned());
        base.confidential.extend(layer.confidential.iter().cloned());
        base.restricted.extend(layer.restricted.iter().cloned());
    }

    fn clearance(&mut self, layer: Option<&Clearance>) {
        let Some(layer) = layer else { return };
        let base = self.base.clearance.clone().unwrap_or_default();
        let full = crate::deployment::CLEARANCE;
        let mut one = |name: &str, base: Option<SecrecyLevel>, layer: Option<SecrecyLevel>, default: SecrecyLevel| {
            let present = base.unwrap_or(default);
            if layer.is_some_and(|wanted| wanted > present) {
                self.ignore(&format!("/clearance/{name}"), "more secret data would flow there");
            }
            Some(layer.unwrap_or(present).min(present))
        };
        let internal = one("internal", base.internal, layer.internal, full.0);
        let known = one("known", base.known, layer.known, full.1);
        let other = one("other", base.other, layer.other, full.2);
        self.base.clearance = Some(Clearance { internal, known, other });
    }

    fn approval(&mut self, layer: Option<&ApprovalDocument>) {
        let Some(layer) = layer else { return };
        let base = self.base.approval.clone().unwrap_or_default();
        if layer.mode.is_some() && layer.mode < base.mode {
            self.ignore("/approval/mode", "fewer people would have to agree");
        }
        if layer.confirmation.is_some() && layer.confirmation < base.confirmation {
            self.ignore("/approval/confirmation", "people would be asked less");
        }
        self.base.approval = Some(ApprovalDocument {
            mode: base.mode.max(layer.mode),
            confirmation: base.confirmation.max(layer.confirmation),
        });
    }

    fn sandbox(&mut self, layer: Option<&SandboxDocument>) {
        let Some(wanted) = layer.and_then(|layer| layer.minimum) else { return };
        let present = self.base.sandbox.as_ref().and_then(|s| s.minimum).unwrap_or(crate::deployment::SANDBOX_MINIMUM);
        if wanted < present {
            self.ignore("/sandbox/minimum", "less would have to hold");
        }
        self.base.sandbox = Some(SandboxDocument { minimum: Some(present.max(wanted)) });
    }

    fn secrets(&mut self, layer: &DeploymentDocument) {
        for (name, wanted) in &layer.secrets {
            let internal = self.base.hosts.as_ref().and_then(|hosts| hosts.internal.clone()).unwrap_or_default();
            let present = self.base.secrets.get(name).map_or(internal, |secret| secret.hosts.clone());
            let (kept, lost): (Vec<_>, Vec<_>) = wanted
                .hosts
                .iter()
                .cloned()
                .partition(|host| present.iter().any(|base| entries::host_within(host, base)));
            if !lost.is_empty() {
                self.ignore(&format!("/secrets/{name}"), format!("the secret would go to {}", lost.join(", ")));
            }
            self.base.secrets.insert(name.clone(), SecretDocument { hosts: kept });
        }
    }
}

#[cfg(test)]
mod tests;

//! What the gate is given: settings of the installation, and the compiled configuration of each proposal.

use std::sync::Arc;

use countersign_plan::confinement::{Minimum, Owner};
use countersign_plan::time::Span;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::{Code, Decision, Reason};
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{ApprovalMode, Deployment, SandboxMinimum};
use countersign_policy::policy::Policy;
use countersign_policy::trust_base::Ignored;

use crate::machine::Eyes;

/// Settings of the installation; they hold from start to end.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who approves where a deployment does not say: inline in a user install, four eyes in a system install.
    pub approval: ApprovalMode,
    /// How long a case waits for people before it is denied by itself.
    pub pending_for: Span,
    /// How far the wall clock may fall behind the monotonic one before it counts as set back.
    pub clock_tolerance: Span,
    /// Folders that steps see or must not see.
    pub places: Places,
}

impl Settings {
    /// One hour for people, five seconds for clocks.
    #[must_use]
    pub const fn new(approval: ApprovalMode, places: Places) -> Self {
        Self { approval, pending_for: Span::from_secs(3600), clock_tolerance: Span::from_secs(5), places }
    }
}

/// Folders of this machine, absolute and without symbolic links.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// System folders that programs are found in, readable and runnable: `/usr`, `/bin`, `/sbin`, `/lib*`.
    pub system: Vec<String>,
    /// What every program may read besides: a minimal part of `/etc`.
    pub readable: Vec<String>,
    /// Named toolchain roots, readable and runnable: `~/.cargo`, `~/.rustup`, `~/.pyenv`.
    pub toolchains: Vec<String>,
    /// Files that are covered wherever a system folder or toolchain root would show them: `~/.cargo/credentials.toml`. Those
    /// roots are too large to be looked through for each step.
    pub hidden: Vec<String>,
    /// Countersign's own folders: masked wherever a view would show them.
    pub own: Vec<String>,
    /// The folder of the `memory_*` tools, below one of `own`.
    pub memory: String,
    /// The folder of snapshots, below one of `own`.
    pub snapshots: String,
    /// The most that one snapshot copies, in bytes.
    pub snapshot_limit: u64,
}

/// What judges a proposal. Compiled by the daemon from a deployment, its tools, policy and change requests.
#[derive(Debug)]
pub struct Configuration {
    /// The tools that exist.
    pub manifest: Arc<Manifest>,
    /// Where it runs.
    pub deployment: Arc<Deployment>,
    /// What is denied, verified, allowed.
    pub policy: Arc<Policy>,
    /// Leave to change what is protected.
    pub changes: Arc<Changes>,
    /// The user that steps act as.
    pub owner: Owner,
    /// Keys of untrusted files that would have loosened and were left out: each proposal is told.
    pub left_out: Vec<Ignored>,
}

/// The most keys that are told one by one.
const TOLD: usize = 8;

impl Configuration {
    /// The least sandbox that the deployment accepts; all layers where it does not say.
    #[must_use]
    pub fn minimum(&self) -> Minimum {
        match self.deployment.document().sandbox.as_ref().and_then(|sandbox| sandbox.minimum) {
            Some(SandboxMinimum::NoUserns) => Minimum::NoUserns,
            Some(SandboxMinimum::Full) | None => Minimum::Full,
        }
    }

    /// What was left out of untrusted files, as findings that decide nothing.
    #[must_use]
    pub fn findings(&self) -> Vec<Reason> {
        let told = self.left_out.iter().take(TOLD).map(|ignored| {
            let message = format!("{}: {} was left out: {}", ignored.file, ignored.pointer, ignored.what);
            let fix = format!("read the file and trust it as it is: `countersign trust {}`", ignored.file);
            Reason::new(Code::PolicyLeftOut, Decision::Allow, message).fix(fix)
        });
        let more = self.left_out.len().saturating_sub(TOLD);
        let rest = (more > 0).then(|| {
            let message = format!("{more} more keys of untrusted files were left out; `countersign policy explain`");
            Reason::new(Code::PolicyLeftOut, Decision::Allow, message)
        });
        told.chain(rest).collect()
    }

    /// Whether the requester may approve.
    #[must_use]
    pub fn eyes(&self, settings: &Settings) -> Eyes {
        let mode = self.deployment.document().approval.as_ref().and_then(|approval| approval.mode);
        match mode.unwrap_or(settings.approval) {
            ApprovalMode::Inline => Eyes::Two,
            ApprovalMode::FourEyes => Eyes::Four,
        }
    }
}

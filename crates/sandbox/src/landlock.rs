//! Landlock rule sets, as a hard requirement: the same files as the mount view, both scopes, and no TCP.
//!
//! Rules are added from the descriptors that pinned the view, never from names. Landlock is the second fence behind the view, not the network's
//! (`sendto(MSG_FASTOPEN)`, MPTCP, UDP and unix sockets pass it, SANDBOX §3): the network namespace and the filter are.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use crate::sys;
use crate::view::{Access, Content, Pinned};

/// The rights that are handled: device ioctls (ABI 5) and both scopes (ABI 6).
const REQUIRED: ABI = ABI::V6;
const REQUIRED_NUMBER: i32 = 6;

/// Why no rule set was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LandlockError {
    /// Not built in, or switched off.
    #[error(
        "Landlock is not available ({0}); it needs CONFIG_SECURITY_LANDLOCK and `landlock` in the `lsm=` boot parameter"
    )]
    Absent(io::Error),
    /// Too old.
    #[error("Landlock ABI {0} is too old: {REQUIRED_NUMBER} is needed (Linux 6.12)")]
    Old(i32),
    /// Refused by the kernel.
    #[error(transparent)]
    Ruleset(#[from] RulesetError),
    /// Not everything that was asked for holds.
    #[error("Landlock is only partially enforced")]
    Partial,
    /// A file of the rules cannot be opened.
    #[error("cannot open a device for its Landlock rule: {0}")]
    Device(io::Error),
}

/// A rule for a file that exists only inside the child's view, added there.
#[derive(Debug)]
pub(crate) struct LateRule {
    pub(crate) path: CString,
    pub(crate) access: u64,
}

/// The rule set of a child, ready to be enforced.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ruleset: OwnedFd,
    pub(crate) late: Vec<LateRule>,
    pub(crate) abi: i32,
}

/// The ABI of this kernel, if it suffices.
pub(crate) fn abi() -> Result<i32, LandlockError> {
    let abi = sys::landlock_abi().map_err(LandlockError::Absent)?;
    if abi < REQUIRED_NUMBER { Err(LandlockError::Old(abi)) } else { Ok(abi) }
}

/// Rules for a pinned view and the binary that is executed. With `fresh_mounts` the child adds the rules of its own `/tmp` and `/proc`.
pub(crate) fn prepare(
    pinned: &Pinned,
    executable: impl AsFd,
    deny_tcp: bool,
    fresh_mounts: bool,
) -> Result<Prepared, LandlockError> {
    let abi = abi()?;
    let mut rules =
        create(deny_tcp)?.add_rule(PathBeneath::new(executable.as_fd(), AccessFs::Execute | AccessFs::ReadFile))?;
    let mut late = Vec::new();
    for entry in &pinned.entries {
        match &entry.content {
            Content::Granted { access, file, directory, .. } => {
                let all = rights(*access);
                let fitting = if *directory { all } else { all & AccessFs::from_file(REQUIRED) };
                rules = rules.add_rule(PathBeneath::new(file, fitting))?;
            }
            Content::Temporary { execute, .. } if fresh_mounts => {
                late.push(LateRule {
                    path: c"/tmp".into(),
                    access: rights(Access { write: true, execute: *execute }).bits(),
                });
            }
            Content::Processes if fresh_mounts => {
                late.push(LateRule { path: c"/proc".into(), access: reading().bits() });
            }
            Content::Devices => rules = devices(rules)?,
            // An anchor is part of its grant, a mask has no rights, a link is no file; without own mounts there is no own /tmp or /proc.
            Content::Anchor { .. }
            | Content::Masked { .. }
            | Content::Link { .. }
            | Content::Temporary { .. }
            | Content::Processes => {}
        }
    }
    let ruleset: Option<OwnedFd> = rules.into();
    Ok(Prepared { ruleset: ruleset.ok_or(LandlockError::Partial)?, late, abi })
}

/// Denies everything to the calling thread, at once.
pub(crate) fn deny_all() -> Result<i32, LandlockError> {
    let abi = abi()?;
    let status = create(true)?.restrict_self()?;
    if status.ruleset == RulesetStatus::FullyEnforced { Ok(abi) } else { Err(LandlockError::Partial) }
}

fn create(deny_tcp: bool) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?
        .scope(Scope::from_all(REQUIRED))?;
    if deny_tcp {
        rules = rules.handle_access(AccessNet::from_all(REQUIRED))?;
    }
    rules.create()
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Writing makes plain files, directories, links and fifos; never devices or sockets.
fn rights(access: Access) -> BitFlags<AccessFs> {
    let mut all = reading();
    if access.execute {
        all |= AccessFs::Execute;
    }
    if access.write {
        all |= AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::MakeSym
            | AccessFs::MakeFifo
            | AccessFs::Refer;
    }
    all
}

fn devices(mut rules: RulesetCreated) -> Result<RulesetCreated, LandlockError> {
    for device in crate::view::DEVICES {
        let file = File::open(device).map_err(LandlockError::Device)?;
        rules = rules.add_rule(PathBeneath::new(&file, AccessFs::ReadFile | AccessFs::WriteFile))?;
    }
    Ok(rules)
}

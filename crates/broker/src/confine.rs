//! What the broker itself may touch: the files that its configuration names, the two files by which names are looked up, and its own
//! folder. Nothing else can be opened, nothing can be run, no port can be listened on, and no other process signalled.
//!
//! Landlock holds for threads that are started later, so that it comes before the runtime, with the first configuration, and
//! is never widened: a later configuration that names more ends the broker, and the monitor starts another. Where a secret is what
//! a program prints, that program reads and runs what it wants: then files and programs stay open, and that is said.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use countersign_wire::broker::to_broker::Boot;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use crate::configuration::{Configuration, Source};

/// The rights that are handled; the same as a step's.
const REQUIRED: ABI = ABI::V6;

/// By which names are looked up.
const NAMES: [&str; 2] = ["/etc/hosts", "/etc/resolv.conf"];

/// What a configuration needs of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    files: BTreeSet<PathBuf>,
    /// Whether a secret is what a program prints.
    runs: bool,
    /// The broker's own folder; empty for none.
    state: PathBuf,
}

/// Why the broker is not confined. It must not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfineError {
    /// The kernel does not do it.
    #[error(
        "the broker cannot be confined: {0}; it needs Landlock of Linux 6.12 (`countersign doctor` says what this kernel has)"
    )]
    Ruleset(#[from] RulesetError),
    /// Not all of it holds.
    #[error(
        "the broker is only confined in part; it needs Landlock of Linux 6.12 (`countersign doctor` says what this kernel has)"
    )]
    Partial,
}

impl Needs {
    /// Those of a configuration; one that cannot be read names no files.
    pub(crate) fn of(boot: &Boot) -> Self {
        let configuration = Configuration::read(&boot.configuration).unwrap_or_default();
        let sources = || configuration.secrets.values().map(|secret| &secret.from);
        let secrets = sources().filter_map(|source| match source {
            Source::File(path) => Some(path),
            Source::Env(_) | Source::Keyring { .. } | Source::Command(_) | Source::Vault(_) => None,
        });
        let scripts = configuration.providers.values().filter_map(|provider| provider.script.as_ref());
        let files = secrets.chain(scripts).chain(&configuration.authorities).map(PathBuf::from).collect();
        Self {
            files,
            runs: sources().any(|source| matches!(source, Source::Command(_))),
            state: PathBuf::from(&boot.state),
        }
    }

    /// Whether what was granted suffices. What was open stays open.
    pub(crate) fn within(&self, granted: &Self) -> bool {
        let own = self.state == granted.state;
        granted.runs || (own && !self.runs && self.files.is_subset(&granted.files))
    }

    /// What holds, for people.
    pub(crate) fn say(&self) -> String {
        if self.runs {
            return "no ports, no signals; files and programs are open, since a secret is what a program prints"
                .to_owned();
        }
        format!(
            "reads {} configured files, writes its own folder, runs nothing, no ports, no signals",
            self.files.len()
        )
    }
}

/// Confines this thread and all that it starts.
///
/// # Errors
/// [`ConfineError`]: the process must exit.
pub(crate) fn confine(needs: &Needs) -> Result<(), ConfineError> {
    let all = AccessFs::from_all(REQUIRED);
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessNet::BindTcp)?.scope(Scope::Signal)?;
    if needs.runs {
        return held(ruleset.create()?.restrict_self()?.ruleset);
    }
    let mut rules = ruleset.scope(Scope::AbstractUnixSocket)?.handle_access(all)?.create()?;
    // What is not there cannot be read now, and a later one in its place was not granted.
    for path in needs.files.iter().map(PathBuf::as_path).chain(NAMES.map(Path::new)) {
        if let Ok(file) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(file, AccessFs::ReadFile))?;
        }
    }
    if !needs.state.as_os_str().is_empty() {
        // Where it cannot be made, whoever writes there says so.
        drop(std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&needs.state));
    }
    if let Ok(folder) = PathFd::new(&needs.state) {
        let own = AccessFs::ReadFile
            | AccessFs::ReadDir
            | AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::RemoveFile;
        rules = rules.add_rule(PathBeneath::new(folder, own))?;
    }
    held(rules.restrict_self()?.ruleset)
}

fn held(status: RulesetStatus) -> Result<(), ConfineError> {
    if status == RulesetStatus::FullyEnforced { Ok(()) } else { Err(ConfineError::Partial) }
}

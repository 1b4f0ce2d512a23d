//! From the gate's sandbox spec to the sandbox's view, limits and seal.

use countersign_plan::confinement::{Minimum, PathGrant, Profile, SandboxSpec};
use countersign_sandbox::{FileIdentity, Grant, Limits, Link, Network, Requirement, StepSeal, Variant, View};

/// What the sandbox is asked for.
pub(crate) fn view(spec: &SandboxSpec, own: &[String]) -> View {
    let mut view = View {
        read_only: spec.read.iter().map(grant).chain(spec.read_only.iter().map(Grant::of)).collect(),
        executable: spec.run.iter().map(grant).collect(),
        read_write: spec.write.iter().map(grant).collect(),
        masked: spec.masked.iter().chain(own).map(Into::into).collect(),
        links: Vec::new(),
        private_tmp_bytes: spec.limits.tmp_bytes,
        proc: spec.profile != Profile::None,
        dev: spec.profile != Profile::None,
        cwd: spec.cwd.clone().into(),
        noexec_work: spec.profile != Profile::Toolchain,
    };
    if spec.profile != Profile::None {
        // The gate grants folders; the links beside them (`/lib` to `usr/lib`) are this machine's shape and grant nothing.
        let (_, _, links) = countersign_sandbox::system_folders();
        view.links = links;
        let listed =
            spec.links.iter().map(|link| Link { path: link.path.clone().into(), target: link.target.clone().into() });
        let further: Vec<Link> = listed.filter(|link| !view.links.contains(link)).collect();
        view.links.extend(further);
    }
    view
}

fn grant(grant: &PathGrant) -> Grant {
    let identity = grant.identity.map(|id| FileIdentity { dev: id.device, ino: id.inode });
    Grant { path: grant.path.clone().into(), identity }
}

/// Limits per process, and per tree where this machine can hold them.
pub(crate) fn limits(spec: &SandboxSpec) -> Limits {
    let base = if spec.profile == Profile::None { Limits::builtin() } else { Limits::program() };
    Limits {
        cpu_seconds: spec.limits.cpu_s,
        file_size: spec.limits.file_bytes,
        open_files: spec.limits.open_files,
        processes: if spec.profile == Profile::None { 0 } else { spec.limits.processes },
        tree_memory: spec.limits.memory,
        ..base
    }
}

/// Which seal the step's init takes.
pub(crate) const fn seal(profile: Profile) -> StepSeal {
    match profile {
        Profile::None => StepSeal::Builtin,
        Profile::Exact => StepSeal::Program(Variant::Exact),
        Profile::Toolchain => StepSeal::Program(Variant::Toolchain),
    }
}

/// Whether a private loopback exists.
pub(crate) const fn network(spec: &SandboxSpec) -> Network {
    if spec.loopback { Network::Loopback } else { Network::None }
}

/// What must hold. Programs always need every layer.
pub(crate) fn requirement(spec: &SandboxSpec) -> Requirement {
    match (spec.minimum, spec.profile) {
        (Minimum::NoUserns, Profile::None) => Requirement::NoUserNamespaces,
        (Minimum::NoUserns, Profile::Exact | Profile::Toolchain) | (Minimum::Full, _) => Requirement::Full,
    }
}

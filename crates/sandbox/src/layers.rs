//! The layers of confinement as a set, so that a test can take one away and see which probe gets through.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One independent means of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Layer {
    /// Only the listed descriptors stay open; 0 to 2 are `/dev/null` or given pipes.
    Descriptors,
    /// The environment is empty.
    Environment,
    /// New session, new session keyring, death with the parent, not dumpable.
    Session,
    /// Set-user-id and file capabilities have no effect; a precondition of Landlock and seccomp for an unprivileged process.
    NoNewPrivileges,
    /// All capability sets empty, bounding set included, secure bits locked.
    Capabilities,
    /// Per-process resource limits.
    ResourceLimits,
    /// Own user namespace with a single mapping.
    UserNamespace,
    /// Own mount namespace: the view of exactly the granted files.
    MountView,
    /// Own process namespace: no foreign process can be named, and all members die with its first.
    ProcessNamespace,
    /// Own network namespace: no interface, or a private loopback.
    NetworkNamespace,
    /// Own System V IPC and POSIX message queue namespace.
    IpcNamespace,
    /// Own host name.
    HostNamespace,
    /// Own view of control groups.
    CgroupNamespace,
    /// A fresh control group per child, where controllers are delegated.
    Cgroup,
    /// Landlock rules over the same files as the view.
    Landlock,
    /// The allow-list of system calls of the role.
    Seccomp,
}

impl Layer {
    /// The namespaces that a spawner can hand on to a child and leave behind. Not that of the control groups: its root is where it was made, and a child's
    /// own group is made with the child.
    pub(crate) const HANDED_ON: [Self; 3] = [Self::NetworkNamespace, Self::IpcNamespace, Self::HostNamespace];

    /// Every layer, in the order in which they are applied.
    pub const ALL: [Self; 16] = [
        Self::Descriptors,
        Self::Environment,
        Self::Session,
        Self::NoNewPrivileges,
        Self::Capabilities,
        Self::ResourceLimits,
        Self::UserNamespace,
        Self::MountView,
        Self::ProcessNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::HostNamespace,
        Self::CgroupNamespace,
        Self::Cgroup,
        Self::Landlock,
        Self::Seccomp,
    ];

    const fn bit(self) -> u32 {
        1 << (self as u32)
    }
}

/// A set of [`Layer`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layers(u32);

impl Layers {
    /// The namespaces, the mount view included.
    pub const NAMESPACES: Self = Self::of(&[
        Layer::UserNamespace,
        Layer::MountView,
        Layer::ProcessNamespace,
        Layer::NetworkNamespace,
        Layer::IpcNamespace,
        Layer::HostNamespace,
        Layer::CgroupNamespace,
    ]);

    /// What a process does to itself without any kernel feature newer than `no_new_privs`.
    pub const HYGIENE: Self = Self::of(&[
        Layer::Descriptors,
        Layer::Environment,
        Layer::Session,
        Layer::NoNewPrivileges,
        Layer::Capabilities,
    ]);

    /// Every layer: what production callers pass.
    #[must_use]
    pub const fn all() -> Self {
        Self::of(&Layer::ALL)
    }

    /// No layer: the unsandboxed run of a probe.
    #[must_use]
    pub const fn none() -> Self {
        Self(0)
    }

    /// The set of the listed layers.
    #[must_use]
    pub const fn of(layers: &[Layer]) -> Self {
        let mut bits = 0;
        let mut rest = layers;
        while let [first, tail @ ..] = rest {
            bits |= first.bit();
            rest = tail;
        }
        Self(bits)
    }

    /// This set less one layer.
    #[must_use]
    pub const fn without(self, layer: Layer) -> Self {
        Self(self.0 & !layer.bit())
    }

    /// This set less every layer of another.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the layer is in the set.
    #[must_use]
    pub const fn contains(self, layer: Layer) -> bool {
        self.0 & layer.bit() != 0
    }

    /// The members, in the order in which they are applied.
    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(move |layer| self.contains(*layer))
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

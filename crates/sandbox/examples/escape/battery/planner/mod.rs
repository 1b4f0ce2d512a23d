//! The planner battery: the 169 probes of the design, and some more, run by a process that was spawned and sealed as a
//! planner.

use super::probe::Class;

mod code;
mod files;
mod inherited;
mod kernel;
mod mounts;
mod network;
mod privilege;
mod processes;

/// All probes in the order of their numbers.
pub(crate) const CLASSES: &[Class] = &[
    Class { name: "files", probes: files::PROBES },
    Class { name: "mounts and special files", probes: mounts::PROBES },
    Class { name: "code loading, processes", probes: code::PROBES },
    Class { name: "other processes", probes: processes::PROBES },
    Class { name: "privilege, namespaces", probes: privilege::PROBES },
    Class { name: "network, IPC", probes: network::PROBES },
    Class { name: "kernel surface", probes: kernel::PROBES },
    Class { name: "inherited state", probes: inherited::STATE },
    Class { name: "resources", probes: inherited::RESOURCES },
    Class { name: "beyond the list", probes: inherited::MORE },
];

/// What may come through.
pub(crate) const ALLOWED: &[(&str, &str)] =
    &[("169", "switching the counter off would break the clock that the kernel gives to every process")];

//! Confine a child process and say how far it held.
//!
//! Three kinds of program use this library:
//!
//! 1. **The zygote** (one thread, started before any secret is read) builds a [`Spec`] and calls [`spawn`]. The child
//!    starts in fresh namespaces, in a mount view of exactly the granted files, with no environment, no capability, an
//!    exact descriptor list and a Landlock domain it did not choose. `spawn` refuses a caller with more than one thread:
//!    between clone and exec nothing may allocate or lock, and the parent-death signal follows the spawning thread.
//! 2. **The confined binaries** seal themselves, first thing in `main`, before they read any input: [`seal_planner`],
//!    [`seal_inspector`], [`seal_executor`], [`seal_step_init`]; a step's init starts its tool with [`launch`], which applies
//!    [`seal_program`] in the forked child just before `exec`. The seal adds what cannot be installed before `exec`: the seccomp allow-list of the role. They then [`announce`].
//! 3. The zygote waits for the announcement ([`Confined::await_ready`]) and believes none of it: [`Confined::attest`] reads from
//!    `/proc` what the kernel says (filters, capabilities, ids, namespaces, descriptors, environment, threads). Only then is the first byte sent.
//!    From then on it polls [`Confined::signs`]: a planner or executor that tries a forbidden call is held in it until the spawner has read which one it is
//!    ([`Confined::violation`]) and killed it.
//!
//! Everything is a hard requirement: a missing layer is an error, never a warning. What does hold, and what this
//! machine cannot give (for example a memory limit over a whole tree), is the value [`Enforcement`], made to be recorded. [`probe`] says
//! the same about the machine, in words for its user.
//!
//! [`Layers`] exists so that the escape battery can take away one layer at a time and prove that each probe is stopped
//! by the layer it is credited to. Production callers pass [`Layers::all`].
//!
//! All `unsafe` is in `sys`.

mod attest;
mod cgroup;
mod enforcement;
mod filter;
mod instruction;
mod landlock;
mod launch;
mod layers;
mod limits;
mod name;
mod probe;
#[cfg(test)]
mod profile;
mod seal;
#[cfg(test)]
mod seccomp;
mod spawn;
mod sys;
mod syscalls;
mod view;
mod violation;

pub use attest::{AttestError, Attestation, Expectation, attest};
pub use enforcement::{Enforcement, Gap, Level};
pub use launch::{LaunchError, Launched, Program, launch};
pub use layers::{Layer, Layers};
pub use limits::Limits;
pub use name::Variant;
pub use probe::{Finding, Probe, probe};
pub use seal::{
    ProgramSeal, SealError, StepSeal, announce, inherited, seal_executor, seal_inspector, seal_planner, seal_program,
    seal_step_init,
};
pub use spawn::{
    Confined, Exit, Identity, Network, ReadyError, Requirement, SpawnError, Spec, Stdio, keep_spares, spawn,
};
pub use view::{FileIdentity, Grant, Link, Pinned, View, ViewError, system_folders};
pub use violation::Violation;

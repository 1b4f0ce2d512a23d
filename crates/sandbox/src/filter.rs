//! The compiled filters, ready to be installed: the build script made them from `profiles/*.json` (see `profile`, `seccomp`), so that a
//! child spends no time on parsing before it is sealed.

use std::io;
use std::os::fd::OwnedFd;

use crate::instruction::Instruction;
use crate::name::{ProfileName, Variant};
use crate::sys;

include!(concat!(env!("OUT_DIR"), "/filters.rs"));

/// A compiled filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    code: &'static [Instruction],
}

impl Filter {
    /// The filter of a list.
    pub(crate) const fn of(name: ProfileName) -> Self {
        let code: &'static [Instruction] = match name {
            ProfileName::Planner => &PLANNER,
            ProfileName::Executor => &EXECUTOR,
            ProfileName::PlannerWatched => &PLANNER_WATCHED,
            ProfileName::ExecutorWatched => &EXECUTOR_WATCHED,
            ProfileName::Unwatch => &UNWATCH,
            ProfileName::Builtin => &BUILTIN,
            ProfileName::StepInit(Variant::Exact) => &STEP_INIT_EXACT,
            ProfileName::StepInit(Variant::Toolchain) => &STEP_INIT_TOOLCHAIN,
            ProfileName::TakeBack(Variant::Exact) => &TAKE_BACK_EXACT,
            ProfileName::TakeBack(Variant::Toolchain) => &TAKE_BACK_TOOLCHAIN,
            #[cfg(test)]
            ProfileName::Program(_) => &[],
        };
        Self { code }
    }

    /// The BPF instructions.
    pub(crate) const fn code(self) -> &'static [Instruction] {
        self.code
    }

    /// Installs the filter on the calling thread. `no_new_privs` must be set.
    pub(crate) fn install(self) -> io::Result<()> {
        sys::install_filter(self.code)
    }

    /// As [`Filter::install`]; what the filter reports is read from the descriptor. Refused where another one listens already.
    pub(crate) fn install_listening(self) -> io::Result<OwnedFd> {
        sys::install_listening_filter(self.code)
    }
}

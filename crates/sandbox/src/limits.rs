//! Resource limits of one process (`setrlimit(2)`); a limit over a whole tree needs a control group.

use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;

/// Limits of every process of a confined tree. Sizes in bytes. Core dumps, locked memory and message queues are always 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Address space of one process; `None` where a runtime reserves more than it uses (node, Go).
    pub address_space: Option<u64>,
    /// CPU seconds of one process.
    pub cpu_seconds: u64,
    /// Largest file a process may write.
    pub file_size: u64,
    /// Descriptors of one process.
    pub open_files: u64,
    /// Processes and threads of the tree (counted per user namespace and uid, so per step).
    pub processes: u64,
    /// Memory of the whole tree: enforced only where a memory controller is delegated, else reported as a gap.
    pub tree_memory: u64,
    /// CPU of the whole tree in hundredths of one core: enforced only where a cpu controller is delegated.
    pub tree_cpu_percent: u64,
}

impl Limits {
    /// The planner and the executor: one process that computes on messages (SANDBOX §4.1).
    #[must_use]
    pub const fn planner() -> Self {
        Self {
            address_space: Some(1 << 30),
            cpu_seconds: 60,
            file_size: 0,
            open_files: 16,
            processes: 0,
            tree_memory: 1 << 30,
            tree_cpu_percent: 100,
        }
    }

    /// The inspector: the same kind, but its whole life is computing, and one text must not use up the next one's time. How long one answer may take is its
    /// caller's to say.
    #[must_use]
    pub const fn inspector() -> Self {
        Self { cpu_seconds: 600, ..Self::planner() }
    }

    /// A program step (SANDBOX §6.1), widened to what a test suite of an ordinary project needs.
    #[must_use]
    pub const fn program() -> Self {
        Self {
            address_space: None,
            cpu_seconds: 600,
            file_size: 1 << 30,
            open_files: 1024,
            processes: 512,
            tree_memory: 4 << 30,
            tree_cpu_percent: 400,
        }
    }

    /// A built-in tool: the step's init and nothing else.
    #[must_use]
    pub const fn builtin() -> Self {
        Self {
            address_space: Some(1 << 30),
            cpu_seconds: 60,
            file_size: 1 << 30,
            open_files: 256,
            processes: 0,
            tree_memory: 1 << 30,
            tree_cpu_percent: 100,
        }
    }
}

impl Limits {
    /// These limits, as far as the caller's own allow: nobody without privilege can raise a hard limit again, and less is not weaker.
    pub(crate) fn within_own(&self) -> io::Result<Self> {
        Ok(Self {
            address_space: match (self.address_space, sys::hard_limit(libc::RLIMIT_AS)?) {
                (given, None) => given,
                (given, Some(own)) => Some(given.map_or(own, |given| given.min(own))),
            },
            cpu_seconds: self.cpu_seconds.min(sys::hard_limit(libc::RLIMIT_CPU)?.unwrap_or(u64::MAX)),
            file_size: self.file_size.min(sys::hard_limit(libc::RLIMIT_FSIZE)?.unwrap_or(u64::MAX)),
            open_files: self.open_files.min(sys::hard_limit(libc::RLIMIT_NOFILE)?.unwrap_or(u64::MAX)),
            processes: self.processes.min(sys::hard_limit(libc::RLIMIT_NPROC)?.unwrap_or(u64::MAX)),
            ..self.clone()
        })
    }

    /// As `setrlimit(2)` wants them, soft and hard alike.
    pub(crate) fn resources(&self) -> Vec<(u32, u64)> {
        let mut all = vec![
            (libc::RLIMIT_CORE, 0),
            (libc::RLIMIT_MEMLOCK, 0),
            (libc::RLIMIT_MSGQUEUE, 0),
            (libc::RLIMIT_NICE, 0),
            (libc::RLIMIT_RTPRIO, 0),
            (libc::RLIMIT_SIGPENDING, 128),
            (libc::RLIMIT_CPU, self.cpu_seconds),
            (libc::RLIMIT_FSIZE, self.file_size),
            (libc::RLIMIT_NOFILE, self.open_files),
            (libc::RLIMIT_NPROC, self.processes),
        ];
        if let Some(bytes) = self.address_space {
            all.push((libc::RLIMIT_AS, bytes));
        }
        all
    }
}

//! The sandbox spec of a step as data: computed by the gate, bound into the permit by digest, enforced by the zygote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::FileIdentity;
use crate::canonical;
use crate::digest::Digest;
use crate::egress::Egress;

/// How a step is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Runs nothing outside our own static binary: the built-in tools.
    None,
    /// Runs the listed programs only, with the libraries that they name; nothing in the work folder can be run.
    Exact,
    /// Runs any code that the view permits: system folders, toolchains, the work folder.
    Toolchain,
}

/// Everything a step child can see and use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSpec {
    /// How it is confined.
    pub profile: Profile,
    /// Files and folders that may be read.
    pub read: Vec<PathGrant>,
    /// Files and folders that may be changed.
    pub write: Vec<PathGrant>,
    /// Programs with exactly what they need to start (profile exact) or roots (profile toolchain) that may be run.
    pub run: Vec<PathGrant>,
    /// Symbolic links on the way to what may be run, which grant nothing by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PathLink>,
    /// Below what may be changed: protected, so read-only.
    pub read_only: Vec<String>,
    /// Below what may be seen: covered.
    pub masked: Vec<String>,
    /// The folder that it starts in.
    pub cwd: String,
    /// Whether a private loopback interface exists.
    pub loopback: bool,
    /// The user that the step acts as.
    pub owner: Owner,
    /// What it may use up.
    pub limits: Limits,
    /// Whether it may run where user namespaces are missing.
    pub minimum: Minimum,
    /// What it may ask of the broker.
    #[serde(default, skip_serializing_if = "Egress::is_empty")]
    pub egress: Egress,
}

/// A path and, where it exists, what the kernel calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathGrant {
    /// Absolute, without symbolic links.
    pub path: String,
    /// Compared with the opened descriptor; a difference is a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<FileIdentity>,
}

/// A symbolic link as it lies on the machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathLink {
    /// Absolute; no link in any component before the last.
    pub path: String,
    /// What it holds, absolute or not.
    pub target: String,
}

/// The user that a step acts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// User id outside the sandbox.
    pub uid: u32,
    /// Group id outside the sandbox.
    pub gid: u32,
}

/// Resource limits of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Wall-clock time until the whole tree is killed, in milliseconds.
    pub wall_ms: u64,
    /// CPU time per process, in seconds.
    pub cpu_s: u64,
    /// Address space per process, and memory of the tree where a cgroup can hold it, in bytes.
    pub memory: u64,
    /// Largest file, in bytes.
    pub file_bytes: u64,
    /// Processes and threads of the tree.
    pub processes: u64,
    /// Open descriptors per process.
    pub open_files: u64,
    /// Size of the private `/tmp`, in bytes.
    pub tmp_bytes: u64,
    /// Bytes kept of each output stream.
    pub output_bytes: u64,
}

impl Limits {
    /// Built-in tools: ten seconds, 512 MiB.
    pub const BUILTIN: Self = Self {
        wall_ms: 30_000,
        cpu_s: 30,
        memory: 512 << 20,
        file_bytes: 256 << 20,
        processes: 4,
        open_files: 256,
        tmp_bytes: 1 << 20,
        output_bytes: 1 << 20,
    };
    /// Programs: ten minutes, 8 GiB of address space, 512 processes.
    pub const PROGRAM: Self = Self {
        wall_ms: 600_000,
        cpu_s: 600,
        memory: 8 << 30,
        file_bytes: 2 << 30,
        processes: 512,
        open_files: 1024,
        tmp_bytes: 512 << 20,
        output_bytes: 1 << 20,
    };
}

/// The least that must hold for a step to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Minimum {
    /// Every layer.
    Full,
    /// Every layer but namespaces; built-in file tools only.
    NoUserns,
}

impl SandboxSpec {
    /// The digest that a permit binds.
    ///
    /// # Errors
    /// Never for this type; kept so that nothing is permitted by accident.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        canonical::of(self).map(|bytes| Digest::of(&bytes))
    }
}

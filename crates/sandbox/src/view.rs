//! What a confined process may see of the file system, as plain data. [`pin`] opens it, [`plan`] turns it into mounts.
//!
//! Paths are absolute host paths without symbolic links and appear at the same place inside. A grant may carry the
//! identity (device, inode) that was approved; whatever is opened later must still be that very file.

mod pin;
mod plan;
mod system;

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use pin::Pinned;
pub(crate) use pin::{Access, Content};
pub(crate) use plan::{DEVICES, Operation, Plan, Source};
pub use system::system_folders;

/// The device and inode number of a file: what makes it the same file after its name was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileIdentity {
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
}

/// A granted file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Absolute host path, no symbolic link in any component.
    pub path: PathBuf,
    /// The file that was approved under this path; `None` accepts whatever is there when the view is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<FileIdentity>,
}

impl Grant {
    /// A grant of whatever lies at the path when the view is pinned.
    #[must_use]
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), identity: None }
    }

    /// A grant of the file that lies at the path now: swapped later, it is refused.
    ///
    /// # Errors
    /// When the path cannot be examined.
    pub fn identified(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let found = std::fs::symlink_metadata(&path)?;
        Ok(Self { path, identity: Some(FileIdentity { dev: found.dev(), ino: found.ino() }) })
    }
}

/// A symbolic link recreated in the view outside of all grants (`/lib` → `usr/lib`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Absolute path of the link; on the host it must be a link with this very target.
    pub path: PathBuf,
    /// Its target, as `readlink(2)` gives it.
    pub target: PathBuf,
}

/// The mount view of one confined process. Nothing that is not named here exists inside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Readable, not executable (no `mmap` with `PROT_EXEC` either).
    #[serde(default)]
    pub read_only: Vec<Grant>,
    /// Readable and executable: system folders, toolchain roots, single binaries and their libraries.
    #[serde(default)]
    pub executable: Vec<Grant>,
    /// Readable and writable; executable as well unless `noexec_work`. Grant folders rather than single files where a tool replaces a file by
    /// renaming a new one over it: a granted file is a mount point, which cannot be replaced.
    #[serde(default)]
    pub read_write: Vec<Grant>,
    /// Covered by an empty file or directory of mode 000, also below a grant.
    #[serde(default)]
    pub masked: Vec<PathBuf>,
    /// Symbolic links outside of the grants.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Size of a private `/tmp`; 0 is none.
    #[serde(default)]
    pub private_tmp_bytes: u64,
    /// A fresh `/proc` with the processes of the step only (`subset=pid`).
    #[serde(default)]
    pub proc: bool,
    /// `null zero full random urandom` and the `/dev/fd` links.
    #[serde(default)]
    pub dev: bool,
    /// Working directory: inside a granted directory or `/tmp`; empty means `/`.
    #[serde(default)]
    pub cwd: PathBuf,
    /// No execution from the writable grants nor from `/tmp` (profile `exact`).
    #[serde(default)]
    pub noexec_work: bool,
}

/// Why a view was refused. Nothing has been started then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// Not an absolute path in normal form.
    #[error("sandbox view: {} is not an absolute path in normal form; give the canonical path", .0.display())]
    NotCanonical(PathBuf),
    /// A path that can never be granted.
    #[error("sandbox view: {} cannot be granted: {reason}", path.display())]
    Forbidden {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// A component is a symbolic link.
    #[error("sandbox view: {} is or crosses a symbolic link; grant the resolved path", .0.display())]
    Symlink(PathBuf),
    /// Another file lies there than the one that was approved.
    #[error("sandbox view: {} is not the file that was approved (approved {approved:?}, found {found:?})", path.display())]
    Swapped {
        /// The path.
        path: PathBuf,
        /// What was approved.
        approved: FileIdentity,
        /// What lies there now.
        found: FileIdentity,
    },
    /// A grant at or below a mask.
    #[error("sandbox view: {} is masked by {} and cannot be granted", path.display(), mask.display())]
    Masked {
        /// The grant.
        path: PathBuf,
        /// The mask.
        mask: PathBuf,
    },
    /// Neither a file nor a directory.
    #[error("sandbox view: {} is neither a regular file nor a directory", .0.display())]
    Kind(PathBuf),
    /// The same path is granted twice with different rights.
    #[error("sandbox view: {} is granted twice with different rights", .0.display())]
    Conflict(PathBuf),
    /// A link that is not on the host, or points elsewhere.
    #[error("sandbox view: {} is not a symbolic link to {}", path.display(), target.display())]
    Link {
        /// The path of the link.
        path: PathBuf,
        /// The target that was asked for.
        target: PathBuf,
    },
    /// The working directory is not in the view.
    #[error("sandbox view: the working directory {} is not inside a granted directory", .0.display())]
    Cwd(PathBuf),
    /// The system call failed.
    #[error("sandbox view: cannot open {}: {source}", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// The error of `openat2(2)` or `statx(2)`.
        source: io::Error,
    },
    /// Masks and read-only parts inside a writable grant need a mount namespace.
    #[error("sandbox view: {} is masked or protected inside a grant, which only namespaces enforce; enable user namespaces", .0.display())]
    NeedsNamespaces(PathBuf),
}

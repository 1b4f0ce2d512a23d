//! The mounts of a pinned view as a list of operations, prepared before the clone so that the child allocates nothing.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::pin::{Content, Entry, Pinned, c_string};
use super::{FileIdentity, ViewError};
use crate::sys::{MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};

/// Devices that every program may need and that give nothing away.
pub(crate) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Links of `/dev`: path and target. `/dev/shm` leads to the private `/tmp`.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/shm", "/tmp"),
];

/// What is mounted.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file or directory of the host, which must still be the pinned one.
    Host { path: CString, identity: FileIdentity },
    /// A device node of the host.
    Device { path: CString },
    /// An empty directory of mode 000.
    EmptyDirectory,
    /// An empty file of mode 000.
    EmptyFile,
    /// A fresh memory file system with this `size=`.
    Temporary { size: CString },
    /// A fresh `/proc`.
    Processes,
}

impl Source {
    /// Whether it is made from what lies in the new root.
    pub(crate) const fn needs_root(&self) -> bool {
        matches!(self, Self::EmptyDirectory | Self::EmptyFile)
    }
}

/// One step of building the view. Paths are relative to the new root.
#[derive(Debug)]
pub(crate) enum Operation {
    /// Make a directory unless it exists.
    Directory { path: CString },
    /// Make an empty file unless it exists.
    File { path: CString },
    /// Make a symbolic link.
    Link { path: CString, target: CString },
    /// Mount something; with `covers`, the mount point must be that very file.
    Mount { source: Source, path: CString, covers: Option<FileIdentity>, attributes: u64 },
}

impl Operation {
    /// The place concerned, for messages.
    pub(crate) const fn path(&self) -> &CString {
        match self {
            Self::Directory { path } | Self::File { path } | Self::Link { path, .. } | Self::Mount { path, .. } => path,
        }
    }
}

/// All operations in order, and where to go at the end.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) operations: Vec<Operation>,
    /// Those that fill `/dev`, which a view that was made in advance has.
    pub(crate) devices: Range<usize>,
    pub(crate) cwd: CString,
    pub(crate) masks: bool,
}

impl Plan {
    /// Lays the view out.
    pub(crate) fn of(pinned: &Pinned) -> Result<Self, ViewError> {
        let mut builder = Builder::default();
        for entry in &pinned.entries {
            builder.entry(entry)?;
        }
        let masks = pinned.entries.iter().any(|entry| matches!(entry.content, Content::Masked { .. }));
        let Builder { operations, mut devices, .. } = builder;
        // A link of the system's own beside them belongs to this view alone.
        let beside = |entry: &Entry| matches!(entry.content, Content::Link { .. }) && entry.path.starts_with("/dev");
        if pinned.entries.iter().any(beside) {
            devices = 0..0;
        }
        Ok(Self { operations, devices, cwd: pinned.cwd.clone(), masks })
    }

    /// Whether there is nothing to see.
    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.cwd.as_c_str() == c"/"
    }

    /// How many things are mounted.
    pub(crate) fn places(&self) -> usize {
        self.operations.iter().filter(|operation| matches!(operation, Operation::Mount { .. })).count()
    }
}

#[derive(Default)]
struct Builder {
    operations: Vec<Operation>,
    devices: Range<usize>,
    made: BTreeSet<PathBuf>,
}

impl Builder {
    fn entry(&mut self, entry: &Entry) -> Result<(), ViewError> {
        let path = &entry.path;
        let covers = |identity: FileIdentity| entry.inside_grant.then_some(identity);
        match &entry.content {
            Content::Granted { access, identity, directory, .. } => {
                if !entry.inside_grant {
                    self.point(path, *directory)?;
                }
                self.host(path, *identity, covers(*identity), access.write, access.execute)
            }
            Content::Anchor { access, identity } => {
                self.host(path, *identity, covers(*identity), access.write, access.execute)
            }
            Content::Masked { identity, directory } => {
                let source = if *directory { Source::EmptyDirectory } else { Source::EmptyFile };
                self.mount(source, path, Some(*identity), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
            }
            Content::Temporary { bytes, execute } => {
                self.point(path, true)?;
                let size = c_string(Path::new(&bytes.to_string()))?;
                let attributes = MOUNT_ATTR_NODEV | if *execute { 0 } else { MOUNT_ATTR_NOEXEC };
                self.mount(Source::Temporary { size }, path, None, attributes)
            }
            Content::Processes => {
                self.point(path, true)?;
                let attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
                self.mount(Source::Processes, path, None, attributes)
            }
            Content::Devices => self.devices(path),
            Content::Link { target } => self.link(path, target.clone()),
        }
    }

    fn devices(&mut self, folder: &Path) -> Result<(), ViewError> {
        self.directory(folder)?;
        let first = self.operations.len();
        for device in DEVICES.map(Path::new) {
            self.point(device, false)?;
            self.mount(
                Source::Device { path: c_string(device)? },
                device,
                None,
                MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
            )?;
        }
        for (path, target) in DEVICE_LINKS {
            self.link(Path::new(path), c_string(Path::new(target))?)?;
        }
        self.devices = first..self.operations.len();
        Ok(())
    }

    fn host(
        &mut self,
        path: &Path,
        identity: FileIdentity,
        covers: Option<FileIdentity>,
        write: bool,
        execute: bool,
    ) -> Result<(), ViewError> {
        let read_only = if write { 0 } else { MOUNT_ATTR_RDONLY };
        let no_execution = if execute { 0 } else { MOUNT_ATTR_NOEXEC };
        let source = Source::Host { path: c_string(path)?, identity };
        self.mount(source, path, covers, MOUNT_ATTR_NODEV | read_only | no_execution)
    }

    fn mount(
        &mut self,
        source: Source,
        path: &Path,
        covers: Option<FileIdentity>,
        attributes: u64,
    ) -> Result<(), ViewError> {
        let path = relative(path)?;
        self.operations.push(Operation::Mount { source, path, covers, attributes: attributes | MOUNT_ATTR_NOSUID });
        Ok(())
    }

    /// A mount point outside of all host files, with the directories above it.
    fn point(&mut self, path: &Path, directory: bool) -> Result<(), ViewError> {
        if directory {
            return self.directory(path);
        }
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        self.operations.push(Operation::File { path: relative(path)? });
        Ok(())
    }

    fn link(&mut self, path: &Path, target: CString) -> Result<(), ViewError> {
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        self.operations.push(Operation::Link { path: relative(path)?, target });
        Ok(())
    }

    fn directory(&mut self, path: &Path) -> Result<(), ViewError> {
        let mut missing: Vec<&Path> =
            path.ancestors().take_while(|part| *part != Path::new("/") && !self.made.contains(*part)).collect();
        missing.reverse();
        for part in missing {
            self.operations.push(Operation::Directory { path: relative(part)? });
            self.made.insert(part.to_path_buf());
        }
        Ok(())
    }
}

fn relative(path: &Path) -> Result<CString, ViewError> {
    c_string(path.strip_prefix("/").unwrap_or(path))
}

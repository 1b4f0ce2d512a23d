//! Keeps the state before an effect.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use countersign_plan::digest::Digest;
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::beneath::{self, DEPTH_LIMIT, NotNormal};
use crate::index::{Entry, Index, Kind, SCHEMA};
use crate::store::Store;

/// How much is kept at most. More is an error before the effect, never a partial snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes of content.
    pub bytes: u64,
    /// Files, folders and links.
    pub entries: usize,
}

impl Limit {
    /// This many bytes, and at most 100,000 names.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { bytes, entries: 100_000 }
    }
}

/// A snapshot that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The digest of the index: what names this snapshot, and what the ledger keeps.
    pub digest: Digest,
    /// What was there.
    pub index: Index,
    /// Bytes of content.
    pub bytes: u64,
}

/// Why no snapshot was made. Nothing was changed outside the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A path that is not absolute and normal.
    #[error("snapshot: {0}")]
    Path(#[from] NotNormal),
    /// More than the limit.
    #[error("snapshot: {} and what is below hold more than {limit} {what}; treat the step as irreversible, or narrow what it may write", target.display())]
    TooLarge {
        /// The target.
        target: PathBuf,
        /// The limit.
        limit: u64,
        /// Of what: `bytes` or `names`.
        what: &'static str,
    },
    /// A pipe, socket or device, which has no content to keep.
    #[error("snapshot: {} is a {kind}, whose state cannot be kept; remove it or grant a folder without it", path.display())]
    Special {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// A folder of the path is a symbolic link, or something could not be read.
    #[error("snapshot: {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The store cannot be written.
    #[error("snapshot store {}: {source}", path.display())]
    Store {
        /// The store.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Copies the targets and everything below them into the folder `store`. Paths of `covered` and what is below them are
/// left out: they are out of the step's sight.
///
/// # Errors
/// [`CaptureError`]; the snapshot does not exist then.
pub fn capture(targets: &[PathBuf], covered: &[PathBuf], store: &Path, limit: Limit) -> Result<Captured, CaptureError> {
    let at_store = |source| CaptureError::Store { path: store.to_owned(), source };
    let kept = Store::make(store).map_err(at_store)?;
    // A store inside a target would keep itself.
    let covered: Vec<PathBuf> = covered.iter().cloned().chain([store.to_owned()]).collect();
    let mut walk =
        Walk { store: &kept, covered: &covered, limit, left: limit.bytes, at_store: &at_store, entries: Vec::new() };
    for target in targets {
        walk.target(target)?;
    }
    let bytes = limit.bytes - walk.left;
    let index = Index { schema: SCHEMA.to_owned(), targets: targets.to_vec(), entries: walk.entries };
    let text = index.to_bytes().map_err(|e| at_store(e.into()))?;
    let digest = kept.keep_index(&text).map_err(at_store)?;
    Ok(Captured { digest, index, bytes })
}

struct Walk<'a> {
    store: &'a Store,
    covered: &'a [PathBuf],
    limit: Limit,
    left: u64,
    at_store: &'a dyn Fn(io::Error) -> CaptureError,
    entries: Vec<Entry>,
}

impl Walk<'_> {
    fn target(&mut self, target: &Path) -> Result<(), CaptureError> {
        let relative = beneath::relative(target)?;
        let root = beneath::root().map_err(at(target))?;
        let Some(name) = relative.file_name() else {
            // The root folder itself has no parent to be opened in; no step is granted it.
            return Err(NotNormal(target.to_owned()).into());
        };
        let mut missing = 0;
        for above in relative.ancestors().skip(1) {
            match beneath::open(&root, above, beneath::FOLDER, Mode::empty()) {
                Ok(folder) if missing == 0 => return self.entry(target, folder.as_fd(), target, name, 0),
                Ok(_) => return self.note(target, target, Kind::Absent { parents: missing }),
                Err(e) if e.kind() == io::ErrorKind::NotFound => missing += 1,
                Err(e) => return Err(at(above)(e)),
            }
        }
        Err(at(target)(io::Error::from(io::ErrorKind::NotFound)))
    }

    fn entry(
        &mut self,
        target: &Path,
        folder: BorrowedFd<'_>,
        path: &Path,
        name: &OsStr,
        depth: usize,
    ) -> Result<(), CaptureError> {
        if self.covered.iter().any(|covered| path.starts_with(covered)) {
            return self.note(target, path, Kind::Covered);
        }
        let Some(stat) = beneath::look(folder, name).map_err(at(path))? else {
            return self.note(target, path, Kind::Absent { parents: 0 });
        };
        let special = |kind| Err(CaptureError::Special { path: path.to_owned(), kind });
        match beneath::file_type(&stat) {
            FileType::RegularFile => self.file(target, folder, path, name),
            FileType::Directory => self.directory(target, folder, path, name, depth),
            FileType::Symlink => {
                let text = rustix::fs::readlinkat(folder, name, Vec::new()).map_err(|e| at(path)(e.into()))?;
                let to = OsString::from_vec(text.into_bytes()).into();
                self.note(target, path, Kind::Symlink { to })
            }
            FileType::Fifo => special("named pipe"),
            FileType::Socket => special("socket"),
            FileType::CharacterDevice | FileType::BlockDevice => special("device"),
            FileType::Unknown => special("file of an unknown kind"),
        }
    }

    fn file(&mut self, target: &Path, folder: BorrowedFd<'_>, path: &Path, name: &OsStr) -> Result<(), CaptureError> {
        let (mut file, stat) = beneath::open_file(folder, name).map_err(at(path))?;
        let kept = self.store.keep(&mut file, self.left).map_err(self.at_store)?;
        let Some((sha256, size)) = kept else {
            return Err(CaptureError::TooLarge { target: target.to_owned(), limit: self.limit.bytes, what: "bytes" });
        };
        self.left = self.left.saturating_sub(size);
        self.note(target, path, Kind::File { mode: beneath::permissions(&stat), mtime: mtime(&stat), size, sha256 })
    }

    fn directory(
        &mut self,
        target: &Path,
        folder: BorrowedFd<'_>,
        path: &Path,
        name: &OsStr,
        depth: usize,
    ) -> Result<(), CaptureError> {
        if depth >= DEPTH_LIMIT {
            return Err(at(path)(beneath::too_deep()));
        }
        let inner: OwnedFd =
            beneath::open(folder, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map_err(at(path))?;
        let stat = rustix::fs::fstat(&inner).map_err(|e| at(path)(e.into()))?;
        self.note(target, path, Kind::Directory { mode: beneath::permissions(&stat), mtime: mtime(&stat) })?;
        for child in beneath::names(&inner, self.limit.entries).map_err(at(path))? {
            self.entry(target, inner.as_fd(), &path.join(&child), &child, depth + 1)?;
        }
        Ok(())
    }

    fn note(&mut self, target: &Path, path: &Path, was: Kind) -> Result<(), CaptureError> {
        if self.entries.len() >= self.limit.entries {
            let limit = u64::try_from(self.limit.entries).unwrap_or(u64::MAX);
            return Err(CaptureError::TooLarge { target: target.to_owned(), limit, what: "names" });
        }
        self.entries.push(Entry { path: path.to_owned(), was });
        Ok(())
    }
}

pub(crate) fn mtime(stat: &Stat) -> (i64, u32) {
    (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

fn at(path: &Path) -> impl Fn(io::Error) -> CaptureError {
    let path = path.to_owned();
    move |source| CaptureError::Read { path: path.clone(), source }
}

#[cfg(test)]
mod tests;

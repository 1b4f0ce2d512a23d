//! Puts the state before an effect back: everything is verified before anything is touched (`lesson_27`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use countersign_plan::digest::Digest;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps};

use crate::beneath::{self, NotNormal};
use crate::capture::mtime;
use crate::index::{Entry, Index, Kind};
use crate::store::{self, Store};

/// What a restore changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Put back: content, link or folder, or only its mode or time.
    pub restored: Vec<PathBuf>,
    /// Had appeared since, and are gone.
    pub removed: Vec<PathBuf>,
    /// Were as the snapshot has them.
    pub unchanged: usize,
}

/// Why a restore failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The store cannot be read. Nothing was changed.
    #[error("restore: snapshot {digest} in {}: {source}; nothing was changed", store.display())]
    Store {
        /// The store.
        store: PathBuf,
        /// The snapshot.
        digest: Digest,
        /// The error.
        source: io::Error,
    },
    /// The index is not the one that was recorded. Nothing was changed.
    #[error("restore: the index of snapshot {0} was altered; nothing was changed")]
    Index(Digest),
    /// A copy is not what the index says. Nothing was changed.
    #[error("restore: the copy of {} was altered or is missing; nothing was changed", .0.display())]
    Blob(PathBuf),
    /// A path that is not absolute and normal. Nothing was changed.
    #[error("restore: {0}; nothing was changed")]
    Path(#[from] NotNormal),
    /// Something could not be put back. What was put back before stays.
    #[error("restore: {}: {source}; what was put back before it stays, and it can be tried again", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Puts the snapshot of this digest back. Paths of `covered` are out of reach and left alone.
///
/// # Errors
/// [`RestoreError`]: before the first change for anything about the snapshot itself.
pub fn restore(store: &Path, digest: Digest, covered: &[PathBuf]) -> Result<Changes, RestoreError> {
    let at_store = |source| RestoreError::Store { store: store.to_owned(), digest, source };
    let kept = Store::open(store).map_err(at_store)?;
    let bytes = kept.index(digest).map_err(at_store)?;
    if Digest::of(&bytes) != digest {
        return Err(RestoreError::Index(digest));
    }
    let index: Index = serde_json::from_slice(&bytes).map_err(|e| at_store(e.into()))?;
    if !index.keeps_to_its_targets() {
        return Err(RestoreError::Index(digest));
    }
    verify_blobs(&kept, &index.entries)?;
    let mut back = Back { store: &kept, covered, below: below(&index.entries), changes: Changes::default() };
    for target in &index.targets {
        back.target(&index, target)?;
    }
    Ok(back.changes)
}

fn verify_blobs(store: &Store, entries: &[Entry]) -> Result<(), RestoreError> {
    let mut seen = BTreeSet::new();
    for entry in entries {
        if let Kind::File { size, sha256, .. } = entry.was {
            if !seen.insert(sha256) {
                continue;
            }
            let found = store.blob(sha256).and_then(|mut blob| store::copy(&mut blob, &mut io::sink(), size));
            if found.ok() != Some((sha256, size)) {
                return Err(RestoreError::Blob(entry.path.clone()));
            }
        }
    }
    Ok(())
}

type Below<'a> = BTreeMap<&'a Path, BTreeMap<&'a OsStr, &'a Entry>>;

/// The entries by folder and name.
fn below(entries: &[Entry]) -> Below<'_> {
    let mut below = Below::new();
    for entry in entries {
        if let (Some(folder), Some(name)) = (entry.path.parent(), entry.path.file_name()) {
            below.entry(folder).or_default().insert(name, entry);
        }
    }
    below
}

struct Back<'a> {
    store: &'a Store,
    covered: &'a [PathBuf],
    below: Below<'a>,
    changes: Changes,
}

impl Back<'_> {
    fn target(&mut self, index: &Index, target: &Path) -> Result<(), RestoreError> {
        let relative = beneath::relative(target)?;
        let entry = index.entries.iter().find(|entry| entry.path == target);
        let (Some(entry), Some(name)) = (entry, relative.file_name()) else { return Ok(()) };
        let root = beneath::root().map_err(at(target))?;
        let above = relative.parent().unwrap_or(Path::new(""));
        if let Kind::Absent { parents } = entry.was {
            return self.absent(&root, &relative, above, target, parents);
        }
        let folder = match beneath::open(&root, above, beneath::FOLDER, Mode::empty()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => make_parents(&root, above).map_err(at(target))?,
            other => other.map_err(at(target))?,
        };
        self.entry(folder.as_fd(), name, entry)
    }

    /// Removes what was not there, and the folders above it that were not, while they are empty.
    fn absent(
        &mut self,
        root: &OwnedFd,
        relative: &Path,
        above: &Path,
        target: &Path,
        parents: u32,
    ) -> Result<(), RestoreError> {
        let folder = match beneath::open(root, above, beneath::FOLDER, Mode::empty()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.changes.unchanged += 1;
                return Ok(());
            }
            other => other.map_err(at(target))?,
        };
        let name = relative.file_name().unwrap_or_default();
        self.gone(folder.as_fd(), name, target)?;
        let made = relative.ancestors().skip(1).take(usize::try_from(parents).unwrap_or(usize::MAX));
        for made in made {
            let (Some(outer), Some(name)) = (made.parent(), made.file_name()) else { break };
            let outer = beneath::open(root, outer, beneath::FOLDER, Mode::empty()).map_err(at(target))?;
            match rustix::fs::unlinkat(&outer, name, AtFlags::REMOVEDIR) {
                Ok(()) => self.changes.removed.push(Path::new("/").join(made)),
                Err(rustix::io::Errno::NOENT) => {}
                // Somebody else uses it by now.
                Err(rustix::io::Errno::NOTEMPTY) => break,
                Err(e) => return Err(at(target)(e.into())),
            }
        }
        Ok(())
    }

    fn gone(&mut self, folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), RestoreError> {
        if beneath::remove(folder, name).map_err(at(path))? == 0 {
            self.changes.unchanged += 1;
        } else {
            self.changes.removed.push(path.to_owned());
        }
        Ok(())
    }

    fn entry(&mut self, folder: BorrowedFd<'_>, name: &OsStr, entry: &Entry) -> Result<(), RestoreError> {
        let path = entry.path.as_path();
        if self.covered.iter().any(|covered| path.starts_with(covered)) {
            return Ok(());
        }
        let now = beneath::look(folder, name).map_err(at(path))?;
        match &entry.was {
            Kind::Covered => {}
            Kind::Absent { .. } => self.gone(folder, name, path)?,
            Kind::Symlink { to } => {
                let same = now.as_ref().is_some_and(|stat| beneath::file_type(stat) == FileType::Symlink)
                    && rustix::fs::readlinkat(folder, name, Vec::new())
                        .is_ok_and(|text| text.as_bytes() == to.as_os_str().as_encoded_bytes());
                if same {
                    self.changes.unchanged += 1;
                } else {
                    put_link(folder, name, to, now.as_ref()).map_err(at(path))?;
                    self.changes.restored.push(path.to_owned());
                }
            }
            Kind::File { mode, mtime, size, sha256 } => {
                let changed = self
                    .file(folder, name, now.as_ref(), File { mode: *mode, mtime: *mtime, size: *size, sha256: *sha256 })
                    .map_err(at(path))?;
                self.count(changed, path);
            }
            Kind::Directory { mode, mtime } => self.directory(folder, name, now.as_ref(), path, (*mode, *mtime))?,
        }
        Ok(())
    }

    fn count(&mut self, changed: bool, path: &Path) {
        if changed {
            self.changes.restored.push(path.to_owned());
        } else {
            self.changes.unchanged += 1;
        }
    }

    /// Puts one file back: new content under a temporary name, then renamed over.
    fn file(&self, folder: BorrowedFd<'_>, name: &OsStr, now: Option<&Stat>, was: File) -> io::Result<bool> {
        let regular = now.filter(|stat| beneath::file_type(stat) == FileType::RegularFile);
        if let Some(stat) = regular.filter(|stat| u64::try_from(stat.st_size).ok() == Some(was.size)) {
            let same = beneath::open_file(folder, name)
                .and_then(|(mut file, _)| store::copy(&mut file, &mut io::sink(), was.size))
                .is_ok_and(|found| found == (was.sha256, was.size));
            if same {
                if beneath::permissions(stat) == was.mode && mtime(stat) == was.mtime {
                    return Ok(false);
                }
                let (file, _) = beneath::open_file(folder, name)?;
                settle(&file, was.mode, was.mtime)?;
                return Ok(true);
            }
        }
        let outer = beneath::open(folder, ".", beneath::FOLDER, Mode::empty())?;
        match self.replace(&outer, name, now, &was) {
            // The grant is this very file, not its folder: then it is written where it lies.
            Err(e) if regular.is_some() && lies_alone(&e) => self.overwrite(&outer, name, &was)?,
            other => other?,
        }
        Ok(true)
    }

    fn replace(&self, folder: &OwnedFd, name: &OsStr, now: Option<&Stat>, was: &File) -> io::Result<()> {
        let (temporary, mut file) = store::temporary(folder, Mode::RUSR)?;
        let mut put = || -> io::Result<()> {
            self.fill(&mut file, was)?;
            if now.is_some_and(|stat| beneath::file_type(stat) == FileType::Directory) {
                beneath::remove(folder, name)?;
            }
            Ok(rustix::fs::renameat(folder, &temporary, folder, name)?)
        };
        put().inspect_err(|_| {
            // What failed before is the error to report.
            let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
        })
    }

    fn overwrite(&self, folder: &OwnedFd, name: &OsStr, was: &File) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK;
        self.fill(&mut beneath::open(folder, name, flags, Mode::empty())?.into(), was)
    }

    fn fill(&self, file: &mut std::fs::File, was: &File) -> io::Result<()> {
        let found = store::copy(&mut self.store.blob(was.sha256)?, file, was.size)?;
        if found != (was.sha256, was.size) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its copy was altered meanwhile"));
        }
        settle(&*file, was.mode, was.mtime)?;
        file.sync_all()
    }

    fn directory(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        now: Option<&Stat>,
        path: &Path,
        (mode, time): (u32, (i64, u32)),
    ) -> Result<(), RestoreError> {
        let is_folder = now.is_some_and(|stat| beneath::file_type(stat) == FileType::Directory);
        if !is_folder {
            beneath::remove(folder, name).map_err(at(path))?;
            rustix::fs::mkdirat(folder, name, Mode::RWXU).map_err(|e| at(path)(e.into()))?;
        }
        let inner = beneath::open_listable(folder, name).map_err(at(path))?;
        let wanted = self.below.get(path).cloned().unwrap_or_default();
        for found in beneath::names(&inner, usize::MAX).map_err(at(path))? {
            let inside = path.join(&found);
            if !wanted.contains_key(found.as_os_str()) && !self.covered.contains(&inside) {
                self.gone(inner.as_fd(), &found, &inside)?;
            }
        }
        for (name, entry) in wanted {
            self.entry(inner.as_fd(), name, entry)?;
        }
        // Only now: what is put back inside moves the folder's time.
        let stat = rustix::fs::fstat(&inner).map_err(|e| at(path)(e.into()))?;
        let settled = beneath::permissions(&stat) == mode && mtime(&stat) == time;
        if !settled {
            settle(&inner, mode, time).map_err(at(path))?;
        }
        let before = now.filter(|_| is_folder).map(|stat| (beneath::permissions(stat), mtime(stat)));
        self.count(before != Some((mode, time)), path);
        Ok(())
    }
}

/// Whether an error says that the folder of a file may not be changed, though perhaps the file itself.
fn lies_alone(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy | CrossesDevices)
}

struct File {
    mode: u32,
    mtime: (i64, u32),
    size: u64,
    sha256: Digest,
}

fn put_link(folder: BorrowedFd<'_>, name: &OsStr, to: &Path, now: Option<&Stat>) -> io::Result<()> {
    if now.is_some() {
        beneath::remove(folder, name)?;
    }
    Ok(rustix::fs::symlinkat(to, folder, name)?)
}

fn settle(file: impl std::os::fd::AsFd, mode: u32, (seconds, nanoseconds): (i64, u32)) -> io::Result<()> {
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    Ok(rustix::fs::futimens(&file, &Timestamps { last_access: time, last_modification: time })?)
}

/// Makes the folders above a target that have gone since.
fn make_parents(root: &OwnedFd, above: &Path) -> io::Result<OwnedFd> {
    let mut folder = root.try_clone()?;
    for name in above {
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        folder = beneath::open(&folder, name, beneath::FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

fn at(path: &Path) -> impl Fn(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |source| RestoreError::Write { path: path.clone(), source }
}

#[cfg(test)]
mod tests;

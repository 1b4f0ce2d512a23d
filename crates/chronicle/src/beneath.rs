//! The one way from a path to a descriptor: no symbolic link, no magic link, no way up (`lesson_11`).
//!
//! Every function takes an open folder and a name or path below it; the kernel resolves it with
//! `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS` (`openat2(2)`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat};
use rustix::io::Errno;

/// A folder below which everything is opened; nothing can be read through it.
pub const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// The deepest tree that is walked.
pub const DEPTH_LIMIT: usize = 200;

/// How often an open is tried again that lost a race with a rename.
const RACES: usize = 16;

/// The folder that absolute paths start from.
///
/// # Errors
/// Whatever `open(2)` gives.
pub fn root() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/", FOLDER | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens `path` below `folder`.
///
/// # Errors
/// `ELOOP` where a component is a link, `EXDEV` where the path leads out, else whatever `openat2(2)` gives.
pub fn open(folder: impl AsFd, path: impl AsRef<Path>, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = path.as_ref();
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    for _ in 0..RACES {
        match rustix::fs::openat2(&folder, path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
    Err(io::Error::from(io::ErrorKind::ResourceBusy))
}

/// Opens a regular file for reading. A pipe or device there is an error and does not block.
///
/// # Errors
/// As [`open`], and `InvalidInput` for what is no regular file.
pub fn open_file(folder: impl AsFd, path: impl AsRef<Path>) -> io::Result<(std::fs::File, Stat)> {
    let fd = open(folder, path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
    let stat = rustix::fs::fstat(&fd)?;
    match file_type(&stat) {
        FileType::RegularFile => Ok((std::fs::File::from(fd), stat)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// What lies under `name` in `folder`, links not followed; `None` where nothing does.
///
/// # Errors
/// Whatever `fstatat(2)` gives, except that nothing is there.
pub fn look(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The kind of file that `stat` describes.
#[must_use]
pub fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The permission bits that `stat` describes.
#[must_use]
pub const fn permissions(stat: &Stat) -> RawMode {
    stat.st_mode & 0o7777
}

/// The names in a folder, sorted, at most `limit` of them.
///
/// # Errors
/// Whatever reading the folder gives, and `FileTooLarge` for more names than `limit`.
pub fn names(folder: impl AsFd, limit: usize) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() >= limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} names in one folder")));
        }
        names.push(OsStr::from_bytes(name).to_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// Removes what lies under `name`, a folder with everything in it; how many names are gone. Links are removed, never followed.
///
/// # Errors
/// Whatever the first removal that fails gives; what was removed before stays removed.
pub fn remove(folder: impl AsFd, name: &OsStr) -> io::Result<u64> {
    remove_below(folder.as_fd(), name, 0)
}

fn remove_below(folder: std::os::fd::BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<u64> {
    let Some(stat) = look(folder, name)? else { return Ok(0) };
    if file_type(&stat) != FileType::Directory {
        rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
        return Ok(1);
    }
    if depth >= DEPTH_LIMIT {
        return Err(too_deep());
    }
    let inner = open_listable(folder, name)?;
    let mut removed = 0;
    for child in names(&inner, usize::MAX)? {
        removed += remove_below(inner.as_fd(), &child, depth + 1)?;
    }
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
    Ok(removed + 1)
}

/// The error for a tree of more than [`DEPTH_LIMIT`] folders.
#[must_use]
pub fn too_deep() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {DEPTH_LIMIT} folders inside each other"))
}

/// Opens a folder for listing and changing; where its permissions forbid that to its owner, they are widened first.
///
/// # Errors
/// As [`open`].
pub fn open_listable(folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let widened = Mode::RWXU;
    match open(&folder, name, flags, Mode::empty()) {
        Ok(fd) => {
            let stat = rustix::fs::fstat(&fd)?;
            if permissions(&stat) & 0o300 != 0o300 {
                rustix::fs::fchmod(&fd, Mode::from_raw_mode(permissions(&stat)) | widened)?;
            }
            Ok(fd)
        }
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            // A real folder under this name, or `open` above had said so; the name cannot be a link that changes another file's mode
            // unless it is swapped now, and then the open below refuses it.
            match look(&folder, name)? {
                Some(stat) if file_type(&stat) == FileType::Directory => {
                    rustix::fs::chmodat(&folder, name, widened, AtFlags::empty())?;
                    open(&folder, name, flags, Mode::empty())
                }
                _ => Err(e),
            }
        }
        Err(e) => Err(e),
    }
}

/// A path below the root folder in normal form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not an absolute path in normal form", .0.display())]
pub struct NotNormal(pub PathBuf);

/// The part of an absolute path after `/`; empty for `/` itself.
///
/// # Errors
/// Relative, with `..`, or with a NUL byte.
pub fn relative(path: &Path) -> Result<PathBuf, NotNormal> {
    let wrong = || NotNormal(path.to_owned());
    if path.as_os_str().as_bytes().contains(&0) {
        return Err(wrong());
    }
    let mut out = PathBuf::new();
    let mut components = path.components();
    if components.next() != Some(Component::RootDir) {
        return Err(wrong());
    }
    for component in components {
        match component {
            Component::Normal(part) => out.push(part),
            Component::RootDir | Component::CurDir | Component::ParentDir | Component::Prefix(_) => return Err(wrong()),
        }
    }
    Ok(out)
}

//! Folders, and files as a whole: create, delete, move, copy.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use countersign_chronicle::beneath::{self, DEPTH_LIMIT};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, PathArgument, files};
use crate::failure::Failure;
use crate::roots::{Place, Roots, Use};

/// Permissions of a new folder, less the umask.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FromTo {
    source: String,
    destination: String,
}

/// `delete_directory`: a folder with everything in it; how many names are gone.
pub(super) fn delete(roots: &Roots<'_>, PathArgument { path }: PathArgument) -> Outcome<Value> {
    let place = roots.place(&path, Use::Write)?;
    let failed = Failure::to("delete", &place.path);
    let (folder, name) = place.parent().map_err(&failed)?;
    match beneath::look(&folder, &name).map_err(&failed)?.as_ref().map(beneath::file_type) {
        None => Err(failed(io::ErrorKind::NotFound.into())),
        Some(FileType::Directory) => {
            let deleted = beneath::remove(&folder, &name).map_err(&failed)?;
            Ok(json!({"deleted": deleted}))
        }
        Some(_) => Err(Failure::new(format!("{} is no directory", place.path.display()))),
    }
}

/// `create_directory`: a folder and its missing parents; one that exists is no error.
pub(super) fn create(roots: &Roots<'_>, PathArgument { path }: PathArgument) -> Outcome<Value> {
    let place = roots.place(&path, Use::Write)?;
    let failed = Failure::to("create", &place.path);
    let (root, inner) = place.below();
    let mut folder = root.try_clone().map_err(&failed)?;
    for name in inner {
        match rustix::fs::mkdirat(&folder, name, NEW_FOLDER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(failed(e.into())),
        }
        folder = beneath::open(&folder, name, beneath::FOLDER, Mode::empty()).map_err(&failed)?;
    }
    Ok(json!({"path": place.path.to_string_lossy()}))
}

/// `move_file`: a file over a file, or anything to a free name.
pub(super) fn move_to(roots: &Roots<'_>, FromTo { source, destination }: FromTo) -> Outcome<Value> {
    let (from, to) = (roots.place(&source, Use::Write)?, roots.place(&destination, Use::Write)?);
    let failed = Failure::to("move", &from.path);
    let ((from_folder, from_name), (to_folder, to_name)) =
        (from.parent().map_err(&failed)?, to.parent().map_err(Failure::to("move to", &to.path))?);
    let moved = free_or_file(&from, &from_folder, &from_name, &to, &to_folder, &to_name)?;
    let flags = if moved == Target::Free { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
    match rustix::fs::renameat_with(&from_folder, &from_name, &to_folder, &to_name, flags) {
        Ok(()) => {}
        // Two grants are two mounts.
        Err(Errno::XDEV) => {
            copy(&from_folder, &from_name, &to_folder, &to_name, &from.path)?;
            beneath::remove(&from_folder, &from_name).map_err(&failed)?;
        }
        Err(e) => return Err(failed(e.into())),
    }
    Ok(json!({"path": to.path.to_string_lossy()}))
}

/// `copy_file`: a file over a file, or anything to a free name. Links inside a folder are copied as links.
pub(super) fn copy_to(roots: &Roots<'_>, FromTo { source, destination }: FromTo) -> Outcome<Value> {
    let (from, to) = (roots.place(&source, Use::Read)?, roots.place(&destination, Use::Write)?);
    let ((from_folder, from_name), (to_folder, to_name)) = (
        from.parent().map_err(Failure::to("copy", &from.path))?,
        to.parent().map_err(Failure::to("copy to", &to.path))?,
    );
    free_or_file(&from, &from_folder, &from_name, &to, &to_folder, &to_name)?;
    copy(&from_folder, &from_name, &to_folder, &to_name, &from.path)?;
    Ok(json!({"path": to.path.to_string_lossy()}))
}

#[derive(Debug, PartialEq)]
enum Target {
    Free,
    File,
}

/// Whether the destination is free or a file that a file may replace; everything else would lose more than was said.
fn free_or_file(
    from: &Place,
    from_folder: &OwnedFd,
    from_name: &OsStr,
    to: &Place,
    to_folder: &OwnedFd,
    to_name: &OsStr,
) -> Outcome<Target> {
    let kind = |place: &Place, folder: &OwnedFd, name: &OsStr| {
        let found = beneath::look(folder, name).map_err(Failure::to("look at", &place.path))?;
        Ok::<_, Failure>(found.as_ref().map(beneath::file_type))
    };
    let source = kind(from, from_folder, from_name)?
        .ok_or_else(|| Failure::at("find", &from.path, &io::ErrorKind::NotFound.into()))?;
    if to.path.starts_with(&from.path) {
        return Err(Failure::new(format!("{} lies inside {}", to.path.display(), from.path.display())));
    }
    match (source, kind(to, to_folder, to_name)?) {
        (FileType::RegularFile | FileType::Directory | FileType::Symlink, None) => Ok(Target::Free),
        (FileType::RegularFile, Some(FileType::RegularFile)) => Ok(Target::File),
        (_, Some(_)) => Err(Failure::new(format!("{} exists; only a file replaces a file", to.path.display()))),
        (_, None) => Err(Failure::new(format!("{} is no file or directory", from.path.display()))),
    }
}

fn copy(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new_name: &OsStr, shown: &Path) -> Outcome<()> {
    copy_entry(from.as_fd(), name, to.as_fd(), new_name, 0).map_err(Failure::to("copy", shown))
}

fn copy_entry(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    new_name: &OsStr,
    depth: usize,
) -> io::Result<()> {
    if depth >= DEPTH_LIMIT {
        return Err(beneath::too_deep());
    }
    let stat = beneath::look(from, name)?.ok_or(io::ErrorKind::NotFound)?;
    let mode = Mode::from_raw_mode(beneath::permissions(&stat) & 0o777);
    match beneath::file_type(&stat) {
        FileType::RegularFile => {
            let (mut content, _) = beneath::open_file(from, name)?;
            let folder = beneath::open(to, ".", beneath::FOLDER, Mode::empty())?;
            let (temporary, file) = files::temporary(&folder, mode)?;
            let mut file = std::fs::File::from(file);
            let put = io::copy(&mut content, &mut file)
                .and_then(|_| Ok(rustix::fs::fchmod(&file, mode)?))
                .and_then(|()| file.sync_all())
                .and_then(|()| Ok(rustix::fs::renameat(&folder, &temporary, &folder, new_name)?));
            put.inspect_err(|_| {
                // The error to report is the first one.
                let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
            })
        }
        FileType::Directory => {
            let inner = beneath::open(from, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
            rustix::fs::mkdirat(to, new_name, mode | Mode::RWXU)?;
            let copied = beneath::open(to, new_name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
            for child in beneath::names(&inner, usize::MAX)? {
                copy_entry(inner.as_fd(), &child, copied.as_fd(), &child, depth + 1)?;
            }
            Ok(rustix::fs::fchmod(&copied, mode)?)
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            Ok(rustix::fs::symlinkat(&target, to, new_name)?)
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "a pipe, socket or device is not copied")),
    }
}

#[cfg(test)]
mod tests;

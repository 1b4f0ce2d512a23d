//! Single files: read, write, append, delete.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use countersign_chronicle::beneath;
use countersign_plan::observation::OBSERVATION_LIMIT;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, PathArgument};
use crate::bounded;
use crate::failure::Failure;
use crate::roots::{Place, Roots, Use};

/// What a file's content may take of an observation, in bytes of JSON.
const CONTENT_BUDGET: usize = OBSERVATION_LIMIT - (256 << 10);

/// Permissions of a new file, less the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    path: String,
    content: String,
}

/// `read_file`: the whole file, or an error that says why not. Text only: nothing is replaced or left out unsaid.
pub(super) fn read(roots: &Roots<'_>, PathArgument { path }: PathArgument) -> Outcome<Value> {
    let place = roots.place(&path, Use::Read)?;
    let (file, _) = place.open_file().map_err(Failure::to("read", &place.path))?;
    let limit = roots.spec().limits.output_bytes;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(Failure::to("read", &place.path))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        let message = format!(
            "{} holds more than {limit} bytes; search in it, or read a part by a program",
            place.path.display()
        );
        return Err(Failure::new(message));
    }
    let content = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(format!("{} is no UTF-8 text: byte {at} starts no character", place.path.display()))
    })?;
    if bounded::length(&content) > CONTENT_BUDGET {
        return Err(Failure::new(format!(
            "{} holds too many control characters to be shown as text",
            place.path.display()
        )));
    }
    Ok(json!({"content": content}))
}

/// `write_file`: a new file, or another content under the old permissions, all at once.
pub(super) fn write(roots: &Roots<'_>, Content { path, content }: Content) -> Outcome<Value> {
    let place = roots.place(&path, Use::Write)?;
    replace(&place, content.as_bytes())?;
    Ok(json!({"bytes": content.len()}))
}

/// Replaces the content of a file by a new file of the same permissions; where only the file itself is granted, in place.
pub(super) fn replace(place: &Place, content: &[u8]) -> Outcome<()> {
    let failed = Failure::to("write", &place.path);
    let (folder, name) = place.parent().map_err(&failed)?;
    let now = beneath::look(&folder, &name).map_err(&failed)?;
    match now.as_ref().map(beneath::file_type) {
        None | Some(FileType::RegularFile) => {}
        Some(FileType::Symlink) => return Err(failed(rustix::io::Errno::LOOP.into())),
        Some(_) => return Err(Failure::new(format!("{} is there and no regular file", place.path.display()))),
    }
    if place.alone {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK;
        return fill(place.open(flags, Mode::empty()).map_err(&failed)?, content).map_err(&failed);
    }
    let mode = now.as_ref().map_or(NEW_FILE, |stat| Mode::from_raw_mode(beneath::permissions(stat) & 0o777));
    let (temporary, file) = temporary(&folder, mode).map_err(&failed)?;
    let put = || -> io::Result<()> {
        if now.is_some() {
            // The umask took bits that the old file had.
            rustix::fs::fchmod(&file, mode)?;
        }
        fill(file, content)?;
        Ok(rustix::fs::renameat(&folder, &temporary, &folder, &name)?)
    };
    put().map_err(|e| {
        // The error to report is the first one.
        let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
        failed(e)
    })
}

fn fill(file: OwnedFd, content: &[u8]) -> io::Result<()> {
    let mut file = std::fs::File::from(file);
    file.write_all(content)?;
    file.sync_all()
}

/// A new file in `folder` under a name that nothing else uses.
pub(super) fn temporary(folder: &OwnedFd, mode: Mode) -> io::Result<(String, OwnedFd)> {
    let own = std::process::id();
    for n in 0..1000 {
        let name = format!(".countersign-step-{own}-{n}");
        match beneath::open(folder, &name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode | Mode::WUSR) {
            Ok(fd) => return Ok((name, fd)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// `append_file`: at the end of a file, which is made where it is missing.
pub(super) fn append(roots: &Roots<'_>, Content { path, content }: Content) -> Outcome<Value> {
    let place = roots.place(&path, Use::Write)?;
    let failed = Failure::to("append to", &place.path);
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
    let file = place.open(flags, NEW_FILE).map_err(&failed)?;
    let stat = rustix::fs::fstat(&file)?;
    if beneath::file_type(&stat) != FileType::RegularFile {
        return Err(Failure::new(format!("{} is there and no regular file", place.path.display())));
    }
    fill(file, content.as_bytes()).map_err(&failed)?;
    Ok(json!({"bytes": content.len()}))
}

/// `delete_file`: one name. A link is deleted itself, never what it names.
pub(super) fn delete(roots: &Roots<'_>, PathArgument { path }: PathArgument) -> Outcome<Value> {
    let place = roots.place(&path, Use::Write)?;
    let failed = Failure::to("delete", &place.path);
    let (folder, name) = place.parent().map_err(&failed)?;
    match beneath::look(&folder, &name).map_err(&failed)?.as_ref().map(beneath::file_type) {
        None => Err(failed(io::ErrorKind::NotFound.into())),
        Some(FileType::Directory) => {
            Err(Failure::new(format!("{} is a directory; `delete_directory` deletes those", place.path.display())))
        }
        Some(_) => {
            rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).map_err(|e| failed(e.into()))?;
            Ok(json!({"deleted": true}))
        }
    }
}

#[cfg(test)]
mod tests;

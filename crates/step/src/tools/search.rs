//! Looking around: list a folder, find lines.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use countersign_chronicle::beneath::{self, DEPTH_LIMIT};
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::{FileType, Mode, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, PathArgument, Seen};
use crate::bounded;
use crate::failure::Failure;
use crate::roots::{Roots, Use};

/// The most entries that are listed and matches that are shown; more are counted.
const SHOWN: usize = 5000;
/// The most names that a search visits.
const VISITED: usize = 200_000;
/// Larger files are passed over.
const FILE_LIMIT: u64 = 8 << 20;
/// What a search reads at most, in bytes.
const READ_LIMIT: u64 = 512 << 20;
/// A matching line is cut here, in bytes of JSON.
const LINE_BUDGET: usize = 400;
/// A compiled expression's size at most, in bytes; matching is linear whatever it says.
const REGEX_LIMIT: usize = 1 << 20;

/// `list_directory`: names with their kind and size, sorted.
pub(super) fn list(roots: &Roots<'_>, PathArgument { path }: PathArgument) -> Outcome<Seen> {
    let place = roots.place(&path, Use::Read)?;
    let failed = Failure::to("list", &place.path);
    let folder = place.open_folder().map_err(&failed)?;
    let names = beneath::names(&folder, VISITED).map_err(&failed)?;
    let mut entries = Vec::new();
    for name in names.iter().take(SHOWN) {
        // What went away meanwhile is not there.
        let Some(stat) = beneath::look(&folder, name).map_err(&failed)? else { continue };
        let kind = match beneath::file_type(&stat) {
            FileType::RegularFile => "file",
            FileType::Directory => "directory",
            FileType::Symlink => "symlink",
            _ => "other",
        };
        entries.push(json!({"name": name.to_string_lossy(), "kind": kind, "size": stat.st_size}));
    }
    let dropped = u64::try_from(names.len().saturating_sub(SHOWN)).unwrap_or(u64::MAX);
    Ok(Seen::cut(json!({"entries": entries}), "entries", dropped))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pattern: String,
    path: String,
}

/// `search_files`: lines that match, in the text files of a folder or in one file.
pub(super) fn search(roots: &Roots<'_>, Query { pattern, path }: Query) -> Outcome<Seen> {
    let regex = RegexBuilder::new(&pattern)
        .size_limit(REGEX_LIMIT)
        .build()
        .map_err(|e| Failure::new(format!("the pattern is no regular expression of this tool: {e}")))?;
    let place = roots.place(&path, Use::Read)?;
    let failed = Failure::to("search", &place.path);
    let mut found = Search { regex, matches: Vec::new(), more: 0, visited: 0, left: READ_LIMIT };
    let (folder, name) = place.parent().map_err(&failed)?;
    match place.open_folder() {
        Ok(folder) => found.folder(folder.as_fd(), &place.path, 0)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => found.file(folder.as_fd(), &name, &place.path)?,
        Err(e) => return Err(failed(e)),
    }
    Ok(Seen::cut(json!({"matches": found.matches}), "matches", found.more))
}

struct Search {
    regex: Regex,
    matches: Vec<Value>,
    more: u64,
    visited: usize,
    left: u64,
}

impl Search {
    fn folder(&mut self, folder: BorrowedFd<'_>, path: &Path, depth: usize) -> Outcome<()> {
        let failed = Failure::to("search", path);
        if depth >= DEPTH_LIMIT {
            return Err(failed(beneath::too_deep()));
        }
        for name in beneath::names(folder, VISITED).map_err(&failed)? {
            self.visited += 1;
            if self.visited > VISITED {
                return Err(Failure::new(format!("more than {VISITED} files; search a smaller folder")));
            }
            let inside = path.join(&name);
            match beneath::look(folder, &name).map_err(&failed)?.as_ref().map(beneath::file_type) {
                Some(FileType::RegularFile) => self.file(folder, &name, &inside)?,
                Some(FileType::Directory) => {
                    match beneath::open(folder, &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
                        Ok(inner) => self.folder(inner.as_fd(), &inside, depth + 1)?,
                        Err(e) if passed_over(&e) => {}
                        Err(e) => return Err(Failure::at("search", &inside, &e)),
                    }
                }
                // Links are not followed: what they name is found under its own name, or not the step's to see.
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Outcome<()> {
        let (file, stat) = match beneath::open_file(folder, name) {
            Ok(opened) => opened,
            Err(e) if passed_over(&e) => return Ok(()),
            Err(e) => return Err(Failure::at("search", path, &e)),
        };
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > FILE_LIMIT {
            return Ok(());
        }
        self.left = self
            .left
            .checked_sub(size)
            .ok_or_else(|| Failure::new(format!("more than {READ_LIMIT} bytes of text; search a smaller folder")))?;
        let mut bytes = Vec::new();
        file.take(FILE_LIMIT).read_to_end(&mut bytes).map_err(Failure::to("search", path))?;
        if bytes.iter().take(8192).any(|byte| *byte == 0) {
            return Ok(());
        }
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if !self.regex.is_match(line) {
                continue;
            }
            if self.matches.len() >= SHOWN {
                self.more += 1;
                continue;
            }
            let (text, cut) = bounded::text(line.strip_suffix(b"\r").unwrap_or(line), LINE_BUDGET);
            let text = if cut > 0 { text + "…" } else { text };
            self.matches.push(json!({"path": path.to_string_lossy(), "line": number + 1, "text": text}));
        }
        Ok(())
    }
}

/// Masked files are covered by something unreadable; others vanish while one looks.
fn passed_over(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests;

//! The tracked files of the repository as values, so that checks can be fed a synthetic tree.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// One tracked text file; `path` is relative to the root, with `/`.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// The tracked files that are no text. Files deleted but not yet committed are left out.
pub(crate) fn untexted(root: &Path) -> anyhow::Result<Vec<String>> {
    let listing = output(Command::new("git").args(["ls-files", "-z"]).current_dir(root))?;
    let mut paths = Vec::new();
    for path in listing.split('\0').filter(|path| root.join(path).is_file()) {
        let bytes = std::fs::read(root.join(path)).with_context(|| format!("read {path}"))?;
        if String::from_utf8(bytes).is_err() {
            paths.push(path.to_owned());
        }
    }
    Ok(paths)
}

/// Every file that git tracks and that is text. Files deleted but not yet committed are left out.
pub(crate) fn tracked(root: &Path) -> anyhow::Result<Vec<File>> {
    let listing = output(Command::new("git").args(["ls-files", "-z"]).current_dir(root))?;
    let mut files = Vec::new();
    for path in listing.split('\0').filter(|path| !path.is_empty()) {
        let full = root.join(path);
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File { path: path.to_owned(), text });
        }
    }
    Ok(files)
}

/// Standard output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = format!("{command:?}");
    let out = command.output().with_context(|| format!("start {shown}"))?;
    ensure!(out.status.success(), "{shown} failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    String::from_utf8(out.stdout).with_context(|| format!("{shown} did not print UTF-8"))
}

/// The cargo that runs us, so that a pinned toolchain stays pinned.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

//! From a path of the arguments to a descriptor below a granted root (`lesson_11`).
//!
//! The longest grant that covers a path decides; its file must be the one that was approved. Below it the kernel resolves,
//! and follows no link (`countersign_chronicle::beneath`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use countersign_chronicle::beneath;
use countersign_plan::access::FileIdentity;
use countersign_plan::confinement::{PathGrant, SandboxSpec};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::failure::Failure;

/// What is wanted of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Its content.
    Read,
    /// To change it.
    Write,
}

/// The roots that a spec grants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roots<'a> {
    spec: &'a SandboxSpec,
}

/// A path whose grant was found, opened and compared.
#[derive(Debug)]
pub(crate) struct Place {
    /// As it was asked for: absolute and normal.
    pub(crate) path: PathBuf,
    /// The granted folder that everything is opened below; for a file that is granted by itself, the folder that it lies in.
    folder: OwnedFd,
    inner: PathBuf,
    /// Whether the grant is exactly this path, so that its folder is not the step's to change.
    pub(crate) alone: bool,
}

impl<'a> Roots<'a> {
    /// The roots of this spec.
    pub(crate) const fn new(spec: &'a SandboxSpec) -> Self {
        Self { spec }
    }

    /// The spec.
    pub(crate) const fn spec(&self) -> &'a SandboxSpec {
        self.spec
    }

    /// An argument's path in absolute form.
    pub(crate) fn absolute(&self, path: &str) -> Result<PathBuf, Failure> {
        let joined = Path::new(&self.spec.cwd).join(path);
        let mut out = PathBuf::from("/");
        for component in joined.components() {
            match component {
                Component::Normal(part) => out.push(part),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(Failure::Violation(countersign_plan::text::escape(&format!(
                        "{path} leads upwards; a step's paths are resolved before they are permitted"
                    ))));
                }
            }
        }
        beneath::relative(&out).map_err(|e| Failure::new(e.to_string()))?;
        Ok(out)
    }

    /// Finds the grant for a path of the arguments.
    pub(crate) fn place(&self, path: &str, wanted: Use) -> Result<Place, Failure> {
        let path = self.absolute(path)?;
        let spec = self.spec;
        let readable = spec.read.iter().chain(&spec.run).filter(|_| wanted == Use::Read);
        let grant = longest(readable.chain(&spec.write), &path).ok_or_else(|| {
            let verb = if wanted == Use::Read { "read" } else { "change" };
            let message = format!("{} is not among what the step may {verb}", path.display());
            Failure::Violation(countersign_plan::text::escape(&message))
        })?;
        if wanted == Use::Write && spec.read_only.iter().any(|protected| path.starts_with(protected)) {
            return Err(Failure::new(format!("{} is protected: this step may read it only", path.display())));
        }
        open_grant(grant, path)
    }
}

fn longest<'g>(grants: impl Iterator<Item = &'g PathGrant>, path: &Path) -> Option<&'g PathGrant> {
    grants.filter(|grant| path.starts_with(&grant.path)).max_by_key(|grant| grant.path.len())
}

fn open_grant(grant: &PathGrant, path: PathBuf) -> Result<Place, Failure> {
    let at = Path::new(&grant.path);
    let failed = Failure::to("open", at);
    let relative = beneath::relative(at).map_err(|e| Failure::new(e.to_string()))?;
    let root = beneath::root().map_err(&failed)?;
    let found = beneath::open(&root, &relative, OFlags::PATH, Mode::empty()).map_err(&failed)?;
    let stat = rustix::fs::fstat(&found).map_err(|e| failed(e.into()))?;
    if grant.identity.is_some_and(|approved| approved != identity(&stat)) {
        return Err(Failure::new(format!("{} is not the file that was approved; it was replaced since", at.display())));
    }
    let inner = path.strip_prefix(at).unwrap_or(Path::new("")).to_owned();
    if beneath::file_type(&stat) == FileType::Directory {
        return Ok(Place { alone: inner.as_os_str().is_empty(), folder: found, inner, path });
    }
    if !inner.as_os_str().is_empty() {
        return Err(Failure::new(format!("{} is no folder", at.display())));
    }
    let above = relative.parent().unwrap_or(Path::new(""));
    let folder = beneath::open(&root, above, beneath::FOLDER, Mode::empty()).map_err(&failed)?;
    let inner = relative.file_name().map(PathBuf::from).unwrap_or_default();
    Ok(Place { path, folder, inner, alone: true })
}

fn identity(stat: &Stat) -> FileIdentity {
    FileIdentity { device: stat.st_dev, inode: stat.st_ino, directory: beneath::file_type(stat) == FileType::Directory }
}

impl Place {
    /// Opens the path itself.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        beneath::open(&self.folder, &self.inner, flags, mode)
    }

    /// Opens the path as a regular file for reading.
    pub(crate) fn open_file(&self) -> io::Result<(std::fs::File, Stat)> {
        beneath::open_file(&self.folder, &self.inner)
    }

    /// Opens the path as a folder to list.
    pub(crate) fn open_folder(&self) -> io::Result<OwnedFd> {
        self.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// The folder that the path lies in, and its name there.
    pub(crate) fn parent(&self) -> io::Result<(OwnedFd, OsString)> {
        let (folder, inner) = match self.inner.file_name() {
            Some(_) => (self.folder.try_clone()?, self.inner.clone()),
            // The granted folder itself.
            None => {
                let relative = beneath::relative(&self.path).map_err(io::Error::other)?;
                (beneath::root()?, relative)
            }
        };
        let above = inner.parent().unwrap_or(Path::new(""));
        let name: &OsStr = inner.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((beneath::open(folder, above, beneath::FOLDER, Mode::empty())?, name.to_owned()))
    }

    /// The granted folder and the way from it to the path.
    pub(crate) const fn below(&self) -> (&OwnedFd, &PathBuf) {
        (&self.folder, &self.inner)
    }
}

#[cfg(test)]
mod tests;

//! Opens a view: every granted and masked file without following one link, compared with what was approved.
//!
//! The descriptors serve the Landlock rules; the mounts are made in the child, which opens the same paths again in its own mount namespace and
//! compares device and inode with what was pinned here (the kernel refuses to clone a mount of another namespace).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::{FileIdentity, Grant, Link, View, ViewError};

/// Kernel file systems: never granted, `proc` and `dev` give a fresh and minimal form.
const FORBIDDEN: [(&str, &str); 3] = [
    ("/proc", "processes of the host are never shown; set `proc` for a fresh one"),
    ("/sys", "the kernel's switches are never shown"),
    ("/dev", "devices are never shown; set `dev` for the harmless ones"),
];

/// What a process may do with a granted file and what is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) write: bool,
    pub(crate) execute: bool,
}

/// What lies at a place of the view.
#[derive(Debug)]
pub(crate) enum Content {
    /// A granted file or directory of the host.
    Granted { access: Access, file: OwnedFd, identity: FileIdentity, directory: bool },
    /// A directory between a writable grant and a protected or masked part of it, mounted onto itself: a mount point cannot be
    /// renamed, so the protected part cannot be moved away together with its parent.
    Anchor { access: Access, identity: FileIdentity },
    /// A host file that is covered.
    Masked { identity: FileIdentity, directory: bool },
    /// The private `/tmp`.
    Temporary { bytes: u64, execute: bool },
    /// A fresh `/proc`.
    Processes,
    /// The minimal `/dev`.
    Devices,
    /// A symbolic link with this target.
    Link { target: CString },
}

impl Content {
    /// The rights below this place, where it is part of the host's files.
    const fn access(&self) -> Option<Access> {
        match self {
            Self::Granted { access, .. } | Self::Anchor { access, .. } => Some(*access),
            Self::Masked { .. } | Self::Temporary { .. } | Self::Processes | Self::Devices | Self::Link { .. } => None,
        }
    }
}

/// One place of the view.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
    /// Whether the nearest place above is a host directory: the mount point exists there already and nothing may be created.
    pub(crate) inside_grant: bool,
}

/// A view whose files are held by descriptors. Dropping it closes them.
#[derive(Debug)]
pub struct Pinned {
    /// Ascending by depth: a place comes after all that contain it.
    pub(crate) entries: Vec<Entry>,
    pub(crate) cwd: CString,
    absent: Vec<PathBuf>,
}

impl Pinned {
    /// Masked paths below a writable grant that do not exist: the step can create them, so their names protect nothing yet.
    #[must_use]
    pub fn absent_masks(&self) -> &[PathBuf] {
        &self.absent
    }

    /// The first place that only a mount namespace can enforce: Landlock rights add up along a path, so it can neither
    /// hide nor protect a part of a grant.
    pub(crate) fn needs_namespaces(&self) -> Option<&Path> {
        let nested = |entry: &&Entry| match &entry.content {
            Content::Masked { .. } => true,
            Content::Granted { access, .. } => {
                entry.inside_grant
                    && self.entries.iter().any(|outer| {
                        outer.path != entry.path
                            && entry.path.starts_with(&outer.path)
                            && outer.content.access().is_some_and(|above| {
                                (above.write && !access.write) || (above.execute && !access.execute)
                            })
                    })
            }
            Content::Anchor { .. }
            | Content::Temporary { .. }
            | Content::Processes
            | Content::Devices
            | Content::Link { .. } => false,
        };
        self.entries.iter().find(nested).map(|entry| entry.path.as_path())
    }
}

impl View {
    /// Opens every granted and masked file without following a single link and compares identities.
    ///
    /// # Errors
    /// [`ViewError`]; nothing stays open then.
    pub fn pin(&self) -> Result<Pinned, ViewError> {
        let mut places = Places::default();
        let work = Access { write: true, execute: !self.noexec_work };
        let kinds = [
            (&self.read_only, Access { write: false, execute: false }),
            (&self.executable, Access { write: false, execute: true }),
            (&self.read_write, work),
        ];
        for mask in &self.masked {
            canonical(mask)?;
        }
        for (grants, access) in kinds {
            for grant in grants {
                self.refuse_forbidden(&grant.path)?;
                places.grant(grant, access)?;
            }
        }
        if self.private_tmp_bytes > 0 {
            let content = Content::Temporary { bytes: self.private_tmp_bytes, execute: !self.noexec_work };
            places.add(PathBuf::from("/tmp"), content)?;
        }
        if self.proc {
            places.add(PathBuf::from("/proc"), Content::Processes)?;
        }
        if self.dev {
            places.add(PathBuf::from("/dev"), Content::Devices)?;
        }
        let absent = places.mask(&self.masked)?;
        places.anchor()?;
        for link in &self.links {
            places.link(link)?;
        }
        let cwd = places.working_directory(&self.cwd)?;
        Ok(Pinned { entries: places.into_entries(), cwd, absent })
    }

    fn refuse_forbidden(&self, path: &Path) -> Result<(), ViewError> {
        canonical(path)?;
        if path == Path::new("/") {
            return Err(ViewError::Forbidden { path: path.into(), reason: "the whole system is never granted" });
        }
        if let Some((_, reason)) = FORBIDDEN.iter().find(|(root, _)| path.starts_with(root)) {
            return Err(ViewError::Forbidden { path: path.into(), reason });
        }
        match self.masked.iter().find(|mask| path.starts_with(mask)) {
            Some(mask) => Err(ViewError::Masked { path: path.into(), mask: mask.clone() }),
            None => Ok(()),
        }
    }
}

/// Places by path; parents sort before what they contain.
#[derive(Default)]
struct Places(BTreeMap<PathBuf, Content>);

impl Places {
    fn add(&mut self, path: PathBuf, content: Content) -> Result<(), ViewError> {
        match self.0.insert(path.clone(), content) {
            None => Ok(()),
            Some(_) => Err(ViewError::Conflict(path)),
        }
    }

    fn grant(&mut self, grant: &Grant, access: Access) -> Result<(), ViewError> {
        if self.0.get(&grant.path).and_then(Content::access) == Some(access) {
            return Ok(());
        }
        let (file, identity, kind) = open(&grant.path)?;
        if let Some(approved) = grant.identity
            && approved != identity
        {
            return Err(ViewError::Swapped { path: grant.path.clone(), approved, found: identity });
        }
        let directory = match kind {
            FileType::Directory => true,
            FileType::RegularFile => false,
            FileType::Symlink => return Err(ViewError::Symlink(grant.path.clone())),
            _ => return Err(ViewError::Kind(grant.path.clone())),
        };
        self.add(grant.path.clone(), Content::Granted { access, file, identity, directory })
    }

    /// The nearest place above a path.
    fn above(&self, path: &Path) -> Option<(&PathBuf, &Content)> {
        path.ancestors().skip(1).find_map(|parent| self.0.get_key_value(parent))
    }

    /// Adds the masks that cover something visible; gives those that are absent below a writable grant.
    fn mask(&mut self, masked: &[PathBuf]) -> Result<Vec<PathBuf>, ViewError> {
        let mut absent = Vec::new();
        let mut ordered: Vec<&PathBuf> = masked.iter().collect();
        ordered.sort();
        ordered.dedup();
        for path in ordered {
            let Some(access) = self.above(path).and_then(|(_, content)| content.access()) else { continue };
            match open(path) {
                Ok((_, _, FileType::Symlink)) => return Err(ViewError::Symlink(path.clone())),
                Ok((_, identity, kind)) => {
                    let directory = kind == FileType::Directory;
                    self.add(path.clone(), Content::Masked { identity, directory })?;
                }
                Err(ViewError::Open { source, .. })
                    if matches!(source.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) =>
                {
                    if access.write {
                        absent.push(path.clone());
                    }
                }
                Err(other) => return Err(other),
            }
        }
        Ok(absent)
    }

    /// Pins every directory between a writable grant and a mask or read-only part of it.
    fn anchor(&mut self) -> Result<(), ViewError> {
        let mut wanted: BTreeMap<PathBuf, Access> = BTreeMap::new();
        for (path, content) in &self.0 {
            let weaker = match content {
                Content::Masked { .. } => true,
                Content::Granted { access, .. } => !access.write,
                Content::Anchor { .. }
                | Content::Temporary { .. }
                | Content::Processes
                | Content::Devices
                | Content::Link { .. } => false,
            };
            let Some((above, Some(access))) = self.above(path).map(|(above, content)| (above, content.access())) else {
                continue;
            };
            if weaker && access.write {
                let between = path.ancestors().skip(1).take_while(|parent| *parent != above.as_path());
                wanted.extend(between.map(|parent| (parent.to_path_buf(), access)));
            }
        }
        for (path, access) in wanted {
            let (_, identity, kind) = open(&path)?;
            if kind != FileType::Directory {
                return Err(ViewError::Kind(path));
            }
            self.add(path, Content::Anchor { access, identity })?;
        }
        Ok(())
    }

    fn link(&mut self, link: &Link) -> Result<(), ViewError> {
        canonical(&link.path)?;
        let found = std::fs::read_link(&link.path).ok();
        if found.as_ref() != Some(&link.target) {
            return Err(ViewError::Link { path: link.path.clone(), target: link.target.clone() });
        }
        if self.above(&link.path).is_some_and(|(_, content)| content.access().is_some()) {
            return Ok(());
        }
        let target = c_string(&link.target)?;
        self.add(link.path.clone(), Content::Link { target })
    }

    fn working_directory(&self, cwd: &Path) -> Result<CString, ViewError> {
        let root = Path::new("/");
        let cwd = if cwd.as_os_str().is_empty() { root } else { cwd };
        canonical(cwd)?;
        let nearest = cwd.ancestors().find_map(|place| self.0.get_key_value(place));
        let inside = match nearest {
            None => cwd == root,
            Some((place, Content::Granted { directory, .. })) => *directory || place != cwd,
            Some((place, Content::Temporary { .. })) => place == cwd,
            Some((_, Content::Anchor { .. })) => true,
            Some((_, Content::Masked { .. } | Content::Processes | Content::Devices | Content::Link { .. })) => false,
        };
        if inside { c_string(cwd) } else { Err(ViewError::Cwd(cwd.into())) }
    }

    fn into_entries(self) -> Vec<Entry> {
        let inside: Vec<bool> =
            self.0.keys().map(|path| self.above(path).is_some_and(|(_, content)| content.access().is_some())).collect();
        let mut entries: Vec<Entry> = self
            .0
            .into_iter()
            .zip(inside)
            .map(|((path, content), inside_grant)| Entry { path, content, inside_grant })
            .collect();
        entries.sort_by_key(|entry| entry.path.components().count());
        entries
    }
}

/// Absolute, without `.`, `..`, doubled or trailing separators: what is compared by components is what is opened.
fn canonical(path: &Path) -> Result<(), ViewError> {
    let normal: PathBuf = path.components().collect();
    let plain = path.is_absolute()
        && normal.as_os_str() == path.as_os_str()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        && !path.as_os_str().as_bytes().contains(&0)
        && path.as_os_str().len() < 4096;
    if plain { Ok(()) } else { Err(ViewError::NotCanonical(path.into())) }
}

pub(super) fn c_string(path: &Path) -> Result<CString, ViewError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| ViewError::NotCanonical(path.into()))
}

/// Opens a path without following a link in any component; a link at its end is opened as itself.
fn open(path: &Path) -> Result<(OwnedFd, FileIdentity, FileType), ViewError> {
    let failed = |source: io::Error| {
        if source.raw_os_error() == Some(libc::ELOOP) {
            ViewError::Symlink(path.into())
        } else {
            ViewError::Open { path: path.into(), source }
        }
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve).map_err(|errno| failed(errno.into()))?;
    let found = rustix::fs::fstat(&file).map_err(|errno| failed(errno.into()))?;
    let identity = FileIdentity { dev: found.st_dev, ino: found.st_ino };
    Ok((file, identity, FileType::from_raw_mode(found.st_mode)))
}

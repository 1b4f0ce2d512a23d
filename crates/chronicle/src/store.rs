//! The folder that holds copies: `blobs/HEX` by content, `index/HEX.json` by digest. Equal contents are kept once, and
//! several snapshots may share one store.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use countersign_plan::digest::Digest;
use rustix::fs::{AtFlags, Mode, OFlags};
use sha2::{Digest as _, Sha256};

use crate::beneath;

/// The largest index, in bytes.
const INDEX_LIMIT: u64 = 64 << 20;

const CHUNK: usize = 128 << 10;

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    blobs: OwnedFd,
    indexes: OwnedFd,
}

impl Store {
    /// Opens a store, making its folders where they are missing.
    pub(crate) fn make(folder: &Path) -> io::Result<Self> {
        let relative = normal(folder)?;
        let root = beneath::root()?;
        let (above, name) = (relative.parent().unwrap_or(Path::new("")), relative.file_name());
        if let Some(name) = name {
            make_folder(&beneath::open(&root, above, beneath::FOLDER, Mode::empty())?, Path::new(name))?;
        }
        let store = beneath::open(&root, &relative, beneath::FOLDER, Mode::empty())?;
        make_folder(&store, Path::new("blobs"))?;
        make_folder(&store, Path::new("index"))?;
        let store = Self::open(folder)?;
        Ok(store)
    }

    /// Opens a store that exists.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let store = beneath::open(beneath::root()?, normal(folder)?, beneath::FOLDER, Mode::empty())?;
        let inner = |name: &str| beneath::open(&store, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        Ok(Self { blobs: inner("blobs")?, indexes: inner("index")? })
    }

    /// Keeps a copy of what `from` reads, at most `limit` bytes; its digest and length. `None` where there is more.
    pub(crate) fn keep(&self, from: &mut impl Read, limit: u64) -> io::Result<Option<(Digest, u64)>> {
        let (name, mut to) = temporary(&self.blobs, Mode::RUSR)?;
        let copied = copy(from, &mut to, limit).and_then(|copied| to.sync_all().map(|()| copied));
        match copied {
            Ok((digest, length)) if length <= limit => {
                rustix::fs::renameat(&self.blobs, &name, &self.blobs, digest.hex())?;
                Ok(Some((digest, length)))
            }
            other => {
                rustix::fs::unlinkat(&self.blobs, &name, AtFlags::empty())?;
                other.map(|_| None)
            }
        }
    }

    /// Opens a copy. What is read from it must be checked.
    pub(crate) fn blob(&self, digest: Digest) -> io::Result<std::fs::File> {
        Ok(beneath::open_file(&self.blobs, digest.hex())?.0)
    }

    /// Keeps an index and makes the whole snapshot durable.
    pub(crate) fn keep_index(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(bytes);
        let (name, mut to) = temporary(&self.indexes, Mode::RUSR)?;
        to.write_all(bytes)?;
        to.sync_all()?;
        rustix::fs::fsync(&self.blobs)?;
        rustix::fs::renameat(&self.indexes, &name, &self.indexes, index_name(digest))?;
        rustix::fs::fsync(&self.indexes)?;
        Ok(digest)
    }

    /// The bytes of an index, unchecked.
    pub(crate) fn index(&self, digest: Digest) -> io::Result<Vec<u8>> {
        let (file, _) = beneath::open_file(&self.indexes, index_name(digest))?;
        let mut bytes = Vec::new();
        file.take(INDEX_LIMIT).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// A new file in `folder` under a name that nothing else uses.
pub(crate) fn temporary(folder: &OwnedFd, mode: Mode) -> io::Result<(OsString, std::fs::File)> {
    let own = std::process::id();
    for n in 0..u32::MAX {
        let name = OsString::from(format!(".countersign-{own}-{n}"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        match beneath::open(folder, &name, flags, mode | Mode::WUSR) {
            Ok(fd) => return Ok((name, fd.into())),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Copies and hashes; stops one chunk after `limit`.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write, limit: u64) -> io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut length: u64 = 0;
    while length <= limit {
        let got = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(got) => got,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let part = chunk.get(..got).unwrap_or_default();
        hasher.update(part);
        to.write_all(part)?;
        length = length.saturating_add(u64::try_from(got).unwrap_or(u64::MAX));
    }
    Ok((Digest::from_bytes(hasher.finalize().into()), length))
}

fn index_name(digest: Digest) -> String {
    format!("{}.json", digest.hex())
}

fn make_folder(folder: &OwnedFd, name: &Path) -> io::Result<()> {
    match rustix::fs::mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn normal(path: &Path) -> io::Result<std::path::PathBuf> {
    beneath::relative(path).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))
}

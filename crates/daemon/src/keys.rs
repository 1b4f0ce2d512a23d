//! The gate's key and the ledger's master key: 32 random bytes each, in files that only the owner can read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// The gate's key.
pub(crate) const GATE: &str = "gate.key";
/// The key that a rotation is about to put in its place.
pub(crate) const NEXT: &str = "gate.key.next";
/// The key that wraps the keys of cases.
pub(crate) const MASTER: &str = "master.key";

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyFileError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// Others can read it, or it belongs to somebody else.
    #[error("{}: mode {mode:o}, owner {owner}: a key file belongs to you and is 0600; `chmod 600` it if nobody read it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Its owner.
        owner: u32,
    },
    /// Not 64 hex digits.
    #[error("{}: no key; restore it from a backup, a new key cannot continue this ledger", .0.display())]
    Malformed(PathBuf),
    /// The kernel gave no random bytes.
    #[error("no random bytes: {0}")]
    Random(getrandom::Error),
}

/// A secret of 32 bytes.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

/// Reads the key at `path`, or makes one if `create` and there is none.
pub(crate) fn load(path: &Path, create: bool) -> Result<Secret, KeyFileError> {
    let io = |source| KeyFileError::Io { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound && create => {
            let secret = random()?;
            store(path, &secret)?;
            return Ok(secret);
        }
        Err(e) => return Err(io(e)),
    };
    let meta = file.metadata().map_err(io)?;
    if meta.mode() & 0o077 != 0 || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyFileError::Exposed { path: path.to_owned(), mode: meta.mode() & 0o777, owner: meta.uid() });
    }
    let mut text = Zeroizing::new(String::new());
    io::Read::by_ref(&mut file).take(256).read_to_string(&mut text).map_err(io)?;
    let mut secret = Secret::default();
    hex::decode_to_slice(text.trim(), secret.as_mut_slice()).map_err(|_| KeyFileError::Malformed(path.to_owned()))?;
    Ok(secret)
}

/// Replaces the key at `path`, durably and at once.
pub(crate) fn store(path: &Path, secret: &Secret) -> Result<(), KeyFileError> {
    let io = |source| KeyFileError::Io { path: path.to_owned(), source };
    let fresh = path.with_extension("new");
    drop(std::fs::remove_file(&fresh));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).map_err(io)?;
    let text = Zeroizing::new(hex::encode(secret.as_slice()));
    file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).and_then(|()| file.sync_all()).map_err(io)?;
    std::fs::rename(&fresh, path).map_err(io)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|f| f.sync_all()).map_err(io)
}

/// 32 bytes from the kernel.
pub(crate) fn random() -> Result<Secret, KeyFileError> {
    let mut secret = Secret::default();
    getrandom::fill(secret.as_mut_slice()).map_err(KeyFileError::Random)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{KeyFileError, load};

    #[test]
    fn a_key_is_made_once_and_never_read_when_others_could() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.key");
        assert!(matches!(load(&path, false), Err(KeyFileError::Io { .. })));
        let first = load(&path, true).unwrap();
        assert_eq!(*load(&path, false).unwrap(), *first);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(load(&path, false), Err(KeyFileError::Exposed { mode: 0o640, .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "00").unwrap();
        assert!(matches!(load(&path, true), Err(KeyFileError::Malformed(_))));
    }
}

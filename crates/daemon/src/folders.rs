//! The folders that are Countersign's own, and how a folder is made that nobody else can enter.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Where the monitor keeps things.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) state: PathBuf,
    pub(crate) runtime: PathBuf,
    pub(crate) config: PathBuf,
}

/// Makes a folder that only its owner can enter, or checks that it is one.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let meta = std::fs::symlink_metadata(folder)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("{} is not a folder of yours", folder.display())));
    }
    if meta.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

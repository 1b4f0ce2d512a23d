//! The folders of the running system that programs need to start at all.

use std::path::{Path, PathBuf};

use super::{Grant, Link};

/// Where programs, libraries and their public configuration live. No private keys (`/etc/ssl/private`), no password hashes, no `/etc` as a whole.
const FOLDERS: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/ca-certificates.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/services",
    "/etc/ssl/certs",
];

/// The system folders of this machine for the profile `toolchain`: grants for `executable`, grants for `read_only`, and the links beside
/// them (`/lib` → `usr/lib` where the system merged them), which belong into `links`.
#[must_use]
pub fn system_folders() -> (Vec<Grant>, Vec<Grant>, Vec<Link>) {
    let (mut executable, mut read_only, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for path in FOLDERS.map(PathBuf::from) {
        let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
        if found.is_symlink() {
            if let Ok(target) = std::fs::read_link(&path) {
                links.push(Link { path, target });
            }
        } else if path.starts_with(Path::new("/etc")) {
            read_only.push(Grant::of(path));
        } else {
            executable.push(Grant::of(path));
        }
    }
    (executable, read_only, links)
}

//! The index of a snapshot: what lay where, as data whose digest the ledger keeps.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use serde::{Deserialize, Serialize};

/// The name of this format.
pub const SCHEMA: &str = "countersign.snapshot/v1";

/// Everything that a snapshot knows. Entries stand in the order of the walk: a folder before what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// `countersign.snapshot/v1`.
    pub schema: String,
    /// The paths that were asked for.
    #[serde(with = "paths")]
    pub targets: Vec<PathBuf>,
    /// Each target and everything below it.
    pub entries: Vec<Entry>,
}

/// One path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Absolute.
    #[serde(with = "path")]
    pub path: PathBuf,
    /// What lay there.
    pub was: Kind,
}

/// What lay at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// Nothing; nor did that many folders above it exist.
    Absent {
        /// Missing parents.
        parents: u32,
    },
    /// A regular file.
    File {
        /// Permission bits.
        mode: u32,
        /// Last modification: seconds and nanoseconds since the epoch.
        mtime: (i64, u32),
        /// Bytes.
        size: u64,
        /// The content, and the name of its copy.
        sha256: Digest,
    },
    /// A folder.
    Directory {
        /// Permission bits.
        mode: u32,
        /// Last modification: seconds and nanoseconds since the epoch.
        mtime: (i64, u32),
    },
    /// A symbolic link.
    Symlink {
        /// What it says.
        #[serde(with = "path")]
        to: PathBuf,
    },
    /// Out of sight of the step, so out of its reach: left alone.
    Covered,
}

impl Index {
    /// The canonical bytes, over which the digest is.
    ///
    /// # Errors
    /// Never for this type; kept so that nothing is kept by accident.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        canonical::of(self)
    }

    /// Whether every path is of a target, so that a restore changes nothing else.
    pub(crate) fn keeps_to_its_targets(&self) -> bool {
        self.schema == SCHEMA
            && self.targets.iter().all(|target| crate::beneath::relative(target).is_ok())
            && self.entries.iter().all(|entry| {
                crate::beneath::relative(&entry.path).is_ok()
                    && self.targets.iter().any(|target| entry.path.starts_with(target))
            })
    }
}

/// A path as JSON: text where it is text, else `{"hex": …}`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Hex),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hex {
    hex: String,
}

impl Written {
    fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(Hex { hex: hex::encode(path.as_os_str().as_bytes()) }),
        }
    }

    fn read<E: serde::de::Error>(self) -> Result<PathBuf, E> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Bytes(Hex { hex }) => {
                hex::decode(hex).map(|bytes| OsString::from_vec(bytes).into()).map_err(E::custom)
            }
        }
    }
}

mod path {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Written;

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        Written::of(path).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Written::deserialize(deserializer)?.read()
    }
}

mod paths {
    use std::path::PathBuf;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Written;

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        let written: Vec<Written> = paths.iter().map(|path| Written::of(path)).collect();
        written.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        Vec::<Written>::deserialize(deserializer)?.into_iter().map(Written::read).collect()
    }
}

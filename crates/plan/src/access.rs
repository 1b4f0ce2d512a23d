//! What a step touches: an effect on a named resource, resolved once.

use serde::{Deserialize, Serialize};

use crate::tool::{Effect, TargetKind};

/// An effect on one resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// What is done.
    pub effect: Effect,
    /// To what.
    pub resource: Resource,
    /// Whether everything below a directory is meant as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recursive: bool,
}

/// A resource by kind and canonical name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// What kind of thing.
    pub kind: TargetKind,
    /// Its name: an absolute, lexically normalised path; a host; an address. Empty while a reference has no value yet.
    pub name: String,
    /// For paths: the name after every symbolic link, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// For paths that exist: what the kernel calls them, so that a swap is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<FileIdentity>,
}

/// A file as the kernel knows it, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileIdentity {
    /// `st_dev`, as hexadecimal text since it may exceed 2^53.
    #[serde(with = "hex_u64")]
    pub device: u64,
    /// `st_ino`, likewise.
    #[serde(with = "hex_u64")]
    pub inode: u64,
    /// Whether it is a directory.
    pub directory: bool,
}

mod hex_u64 {
    use serde::Deserialize;

    pub(super) fn serialize<S: serde::Serializer>(n: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{n:x}"))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}

impl Resource {
    /// The path to use: the resolved one where links were followed.
    #[must_use]
    pub fn path(&self) -> &str {
        self.resolved.as_deref().unwrap_or(&self.name)
    }
}

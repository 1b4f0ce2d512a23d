//! Small files of the broker's own folder: whole, or not at all.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use countersign_plan::document::{self, Bounds};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a file; none where there is none.
///
/// # Errors
/// It cannot be read, or is not what was written.
pub(crate) fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, String> {
    let mut bytes = Vec::new();
    match File::open(folder.join(name)) {
        Ok(file) => {
            let limit = u64::try_from(Bounds::CONFIG.bytes).unwrap_or(u64::MAX).saturating_add(1);
            file.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            let kept = document::from_json(&bytes, Bounds::CONFIG).and_then(document::typed);
            kept.map(Some).map_err(|error| error.to_string())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a file.
///
/// # Errors
/// The old one stays.
pub(crate) fn write(folder: &Path, name: &str, content: &impl Serialize) -> io::Result<()> {
    let new = folder.join(format!("{name}.new"));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(&new, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(&serde_json::to_vec(content)?)?;
    file.sync_data()?;
    std::fs::rename(&new, folder.join(name))?;
    File::open(folder)?.sync_all()
}

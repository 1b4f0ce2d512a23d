//! Reading what the user names: a file or standard input, bounded before it is read, and the nearest deployment file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The name of a deployment file.
pub(crate) const DEPLOYMENT: &str = "countersign.yaml";

/// Reads `path`, or standard input for `-`, up to `limit` bytes.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return bounded(std::io::stdin().lock(), limit, Path::new("standard input"));
    }
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    bounded(file, limit, path)
}

fn bounded(from: impl Read, limit: usize, shown: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes).map_err(|error| Failure::file(shown, &error))?;
    if bytes.len() > limit {
        return Err(Failure::usage(format!("{}: more than {limit} bytes, which are not read", shown.display())));
    }
    Ok(bytes)
}

/// The deployment file that counts in `folder`: the one that was named, else the nearest one upward.
pub(crate) fn deployment(named: Option<&Path>, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = named {
        let path = path.canonicalize().map_err(|error| Failure::file(path, &error))?;
        return Ok(Some(path));
    }
    Ok(folder.ancestors().map(|folder| folder.join(DEPLOYMENT)).find(|path| path.is_file()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{bounded, deployment};

    #[test]
    fn a_document_over_its_bound_is_refused_and_not_cut() {
        assert_eq!(bounded(&b"abc"[..], 3, Path::new("x")).unwrap(), b"abc");
        assert!(bounded(&b"abcd"[..], 3, Path::new("x")).is_err());
    }

    #[test]
    fn the_nearest_deployment_upward_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(root.path().join("a/countersign.yaml"), "").unwrap();
        assert_eq!(deployment(None, &inner).unwrap().unwrap(), root.path().join("a/countersign.yaml"));
        assert!(deployment(Some(Path::new("/nowhere/x.yaml")), &inner).is_err());
    }
}

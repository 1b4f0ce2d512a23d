//! What a program step of the profile `toolchain` finds besides its work folder, as data with a reason a line:
//! `profiles/toolchain.json`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What a line gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Access {
    /// Read and run.
    Run,
    /// Read.
    Read,
    /// Nothing: covered wherever another line would show it.
    Hide,
    /// Programs are looked up there by name.
    Find,
}

/// A line, as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Absolute, or below the user's home folder after `~/`.
    path: String,
    access: Access,
    #[expect(dead_code, reason = "for whoever reads the file; a test holds every line to one")]
    reason: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[expect(dead_code, reason = "for whoever reads the file")]
    about: String,
    lines: Vec<Line>,
}

/// The lines for this user.
#[derive(Debug, Clone)]
pub(crate) struct Toolchain {
    lines: Vec<Line>,
    home: PathBuf,
}

impl Toolchain {
    /// Reads the embedded file.
    ///
    /// # Errors
    /// It is none: the monitor does not start.
    pub(crate) fn of(home: &str) -> Result<Self, String> {
        let document: Document = serde_json::from_str(include_str!("../profiles/toolchain.json"))
            .map_err(|e| format!("profiles/toolchain.json: {e}"))?;
        Ok(Self { lines: document.lines, home: home.into() })
    }

    /// What the system gives of one access; files and folders that are there and are no links.
    pub(crate) fn system(&self, access: Access) -> Vec<String> {
        let lines = self.lines.iter().filter(|line| line.access == access && Self::below_home(line).is_none());
        let real = |path: &&Line| std::fs::symlink_metadata(&path.path).is_ok_and(|m| m.is_dir() || m.is_file());
        lines.filter(real).map(|line| line.path.clone()).collect()
    }

    /// What the user's home gives of one access, where it is there; without links in its name.
    pub(crate) fn of_user(&self, access: Access) -> Vec<String> {
        let real = self.at_home(access).filter_map(|path| path.canonicalize().ok());
        let real = real.filter(|path| access != Access::Run || path.is_dir());
        real.filter_map(|path| path.to_str().map(str::to_owned)).collect()
    }

    /// Folders of the user in which programs are found by name, there or not.
    pub(crate) fn program_folders(&self) -> Vec<PathBuf> {
        self.at_home(Access::Find).collect()
    }

    fn at_home(&self, access: Access) -> impl Iterator<Item = PathBuf> {
        let lines = self.lines.iter().filter(move |line| line.access == access);
        lines.filter_map(|line| Some(self.home.join(Self::below_home(line)?)))
    }

    fn below_home(line: &Line) -> Option<&Path> {
        line.path.strip_prefix("~/").map(Path::new)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{Access, Toolchain};

    #[test]
    fn every_line_names_one_place_and_says_why() {
        let document: Value = serde_json::from_str(include_str!("../profiles/toolchain.json")).unwrap();
        let mut known = BTreeSet::new();
        for line in document["lines"].as_array().unwrap() {
            let (path, reason) = (line["path"].as_str().unwrap(), line["reason"].as_str().unwrap());
            assert!(reason.len() > 10, "{line}");
            assert!(path.starts_with('/') || path.starts_with("~/"), "{line}");
            assert!(!path.ends_with('/') && !path.split('/').any(|part| part == ".."), "{line}");
            assert!(known.insert((path.to_owned(), line["access"].to_string())), "{line} stands there twice");
        }
    }

    /// No key, no password hash, no folder of configuration as a whole; what holds credentials in a toolchain is covered.
    #[test]
    fn nothing_private_is_shown() {
        let home = tempfile::tempdir().unwrap();
        for file in [".cargo/credentials.toml", ".cargo/bin/cargo", ".ssh/id_ed25519"] {
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let toolchain = Toolchain::of(home.path().to_str().unwrap()).unwrap();
        let real = home.path().canonicalize().unwrap();
        let at = |name: &str| real.join(name).to_str().unwrap().to_owned();
        assert_eq!(toolchain.of_user(Access::Run), [at(".cargo")], "what is not there is left out");
        assert_eq!(toolchain.of_user(Access::Hide), [at(".cargo/credentials.toml")]);
        assert!(toolchain.program_folders().contains(&home.path().join(".cargo/bin")));
        let shown = [toolchain.system(Access::Run), toolchain.system(Access::Read)].concat();
        assert!(shown.contains(&"/usr".to_owned()) && shown.contains(&"/etc/passwd".to_owned()), "{shown:?}");
        for private in ["/etc/shadow", "/etc/ssl/private/key", "/root/x", "/home/x"] {
            let covered = |path: &String| std::path::Path::new(private).starts_with(path);
            assert!(!shown.iter().any(covered), "{private}: {shown:?}");
        }
    }
}

//! Where things are: the one door to the environment (XDG base directories, with overrides of our own).

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Countersign's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    /// Keys and configuration of the user.
    pub(crate) config: PathBuf,
    /// The ledger, and the monitor's log.
    pub(crate) state: PathBuf,
    /// The sockets.
    pub(crate) runtime: PathBuf,
}

impl Paths {
    /// The folders that the environment names.
    pub(crate) fn of_environment() -> Result<Self, Failure> {
        Self::from(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn from(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        // XDG: a relative path in these variables is ignored.
        let absolute = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let own = |name: &str| match get(name).map(PathBuf::from) {
            Some(path) if !path.is_absolute() => {
                let message = format!("{name} is `{}`, which is no absolute path", path.display());
                Err(Failure::usage(message).fix(format!("set {name} to an absolute path, or unset it")))
            }
            path => Ok(path),
        };
        let home = absolute("HOME");
        let below = |xdg: &str, rest: &str, own_name: &str| {
            let base = absolute(xdg).or_else(|| home.as_ref().map(|home| home.join(rest)));
            base.map(|base| base.join("countersign")).ok_or_else(|| {
                Failure::usage(format!("neither HOME nor {xdg} names an absolute folder"))
                    .fix(format!("set HOME, or {own_name}"))
            })
        };
        let config = match own("COUNTERSIGN_CONFIG_DIR")? {
            Some(path) => path,
            None => below("XDG_CONFIG_HOME", ".config", "COUNTERSIGN_CONFIG_DIR")?,
        };
        let state = match own("COUNTERSIGN_STATE_DIR")? {
            Some(path) => path,
            None => below("XDG_STATE_HOME", ".local/state", "COUNTERSIGN_STATE_DIR")?,
        };
        let runtime = match own("COUNTERSIGN_RUNTIME_DIR")? {
            Some(path) => path,
            // A state folder of its own brings sockets of its own.
            None if get("COUNTERSIGN_STATE_DIR").is_some() => state.join("run"),
            None => absolute("XDG_RUNTIME_DIR").map_or_else(|| state.join("run"), |path| path.join("countersign")),
        };
        Ok(Self { config, state, runtime })
    }

    /// The approver's key.
    pub(crate) fn approver_key(&self) -> PathBuf {
        self.config.join("approver.key")
    }

    /// The gate's key, as it was first seen here.
    pub(crate) fn gate_key(&self) -> PathBuf {
        self.config.join("gate.pub")
    }

    /// The broker's configuration: models, secrets, mail, channels, MCP servers.
    pub(crate) fn broker(&self) -> PathBuf {
        self.config.join("broker.yaml")
    }

    /// The monitor's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.state.join("countersignd.log")
    }
}

/// Makes a folder that only its owner can enter, and refuses one that others could.
pub(crate) fn private_folder(path: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Failure::file(path, &error))?;
    check_private(path)
}

/// Refuses a folder that others could enter or that belongs to somebody else: what lies in it could be theirs.
pub(crate) fn check_private(path: &Path) -> Result<(), Failure> {
    let found = fs::symlink_metadata(path).map_err(|error| Failure::file(path, &error))?;
    let refused = |what: &str| Err(Failure::refused("folder", format!("{} {what}", path.display())));
    let fix = |failure: Result<(), Failure>, fix: String| failure.map_err(|failure| failure.fix(fix));
    if !found.is_dir() {
        return refused("is no folder (a symbolic link counts as none)");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refused("belongs to another user");
    }
    if found.mode() & 0o077 != 0 {
        return fix(refused("can be entered by others"), format!("chmod 700 {}", path.display()));
    }
    Ok(())
}

/// The folder that relative paths of a plan start from.
pub(crate) fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::usage(format!("the current folder: {error}")))
}

/// A program of this installation: beside this one, else in the PATH.
pub(crate) fn program(name: &str) -> Result<PathBuf, Failure> {
    let beside = std::env::current_exe().ok().and_then(|path| path.parent().map(|folder| folder.join(name)));
    let listed = std::env::var_os("PATH").unwrap_or_default();
    let listed = std::env::split_paths(&listed).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    beside.into_iter().chain(listed).find(|path| path.is_file()).ok_or_else(|| {
        Failure::internal(format!("the program `{name}` is neither beside this one nor in the PATH"))
            .fix("install all of Countersign's programs into one folder")
    })
}

/// Whether the environment allows colour (no-color.org).
pub(crate) fn colour_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb")
}

/// A variable that the broker's configuration names.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The user's home, for `~` in documents.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};

    use super::{Paths, check_private, private_folder};

    fn paths(variables: &[(&str, &str)]) -> Result<Paths, crate::failure::Failure> {
        Paths::from(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    fn folders_follow_xdg_and_our_own_variables_override() {
        let plain = paths(&[("HOME", "/home/u")]).unwrap();
        assert_eq!(plain.config, Path::new("/home/u/.config/countersign"));
        assert_eq!(plain.runtime, Path::new("/home/u/.local/state/countersign/run"));
        let xdg = paths(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/user/1"), ("XDG_STATE_HOME", "rel")]).unwrap();
        assert_eq!(xdg.state, Path::new("/h/.local/state/countersign"), "a relative XDG folder is ignored");
        assert_eq!(xdg.runtime, Path::new("/run/user/1/countersign"));
        let own =
            paths(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/user/1"), ("COUNTERSIGN_STATE_DIR", "/t")]).unwrap();
        assert_eq!((own.state, own.runtime), (PathBuf::from("/t"), PathBuf::from("/t/run")));
        assert!(paths(&[]).is_err());
        assert!(paths(&[("HOME", "/h"), ("COUNTERSIGN_CONFIG_DIR", "rel")]).is_err());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        private_folder(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(check_private(&folder).unwrap_err().fix.unwrap().starts_with("chmod 700"));
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(check_private(&link).is_err());
    }
}

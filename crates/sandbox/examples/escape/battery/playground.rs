//! The folder that the probes attack: laid out anew before each probe, compared after it.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::code;
use super::probe::text;
use super::sys::call;

/// The content of the file that must not change.
const UNTOUCHED: &str = "untouched\n";
const OPEN: u32 = 0o777;

/// Everything about a name that a probe could change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Look {
    content: Option<Vec<u8>>,
    mode: u32,
    owner: (u32, u32),
    inode: u64,
    links: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What probes make or change.
const LAID_OUT: [&str; 11] = [
    "new",
    "exist",
    "folder",
    "stop",
    "work/new",
    "work/program",
    "work/link",
    "work/linked",
    "work/made",
    "work/sub",
    "work/sub2",
];

/// The playground.
#[derive(Debug)]
pub(crate) struct Playground {
    base: PathBuf,
    root: bool,
}

impl Playground {
    /// Makes the folder and the parts that stay.
    pub(crate) fn make(base: &Path, program: &Path, root: bool) -> Result<Self> {
        fs::create_dir_all(base).with_context(|| format!("make {}", base.display()))?;
        for folder in ["", "work", "bin", "outside", "mnt", "mounted"] {
            let path = base.join(folder);
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(OPEN))?;
        }
        let executable = |name: &str, content: &[u8], mode: u32| -> Result<()> {
            let path = base.join(name);
            fs::write(&path, content).with_context(|| format!("write {}", path.display()))?;
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
            Ok(())
        };
        executable("bin/escape", &fs::read(program).context("read the battery's own program")?, 0o755)?;
        executable("outside/unlisted", &code::program(1), 0o755)?;
        let dynamic = fs::read("/bin/true").context("read /bin/true")?;
        executable("work/true", &dynamic, 0o755)?;
        executable("bin/dynamic", &dynamic, 0o755)?;
        if root {
            executable("bin/setuid", &code::program(1), 0o755)?;
            fs::copy(base.join("bin/escape"), base.join("bin/setuid"))?;
            fs::set_permissions(base.join("bin/setuid"), Permissions::from_mode(0o4755))?;
        }
        Ok(Self { base: base.to_owned(), root })
    }

    /// Lays out everything that a probe may have changed.
    pub(crate) fn reset(&self) -> Result<()> {
        for name in LAID_OUT {
            let path = self.base.join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&path)?,
                Ok(_) => fs::remove_file(&path)?,
                Err(_) => {}
            }
        }
        let mode = |name: &str, mode: u32| fs::set_permissions(self.base.join(name), Permissions::from_mode(mode));
        fs::write(self.base.join("exist"), UNTOUCHED)?;
        mode("exist", 0o666)?;
        fs::create_dir(self.base.join("folder"))?;
        mode("folder", OPEN)?;
        fs::write(self.base.join("work/program"), code::program(1))?;
        mode("work/program", OPEN)?;
        fs::write(self.base.join("work/made"), UNTOUCHED)?;
        mode("work/made", 0o666)?;
        symlink(self.base.join("exist"), self.base.join("work/link"))?;
        for folder in ["work/sub", "work/sub2"] {
            fs::create_dir(self.base.join(folder))?;
            mode(folder, OPEN)?;
        }
        for file in [PROTECTED, MASKED] {
            fs::write(self.base.join(file), UNTOUCHED)?;
            mode(file, 0o666)?;
        }
        if self.root {
            for name in ["work", "work/made", "work/program", "work/sub", "work/sub2", PROTECTED, MASKED] {
                std::os::unix::fs::chown(self.base.join(name), Some(WORKER), Some(WORKER))?;
            }
            self.unmount();
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            let _ = call!(SYS_mount, c"none", &*self.path("mounted"), c"tmpfs", flags, c"size=4k");
        }
        Ok(())
    }

    fn path(&self, name: &str) -> CString {
        text(&self.base.join(name).to_string_lossy())
    }

    fn unmount(&self) {
        for name in ["mnt", "mounted", "work"] {
            while call!(SYS_umount2, &*self.path(name), libc::MNT_DETACH).is_ok() {}
        }
    }

    /// How a name looks now; `None` if there is nothing.
    pub(crate) fn look(&self, name: &str) -> Option<Look> {
        let path = self.base.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        Some(Look {
            content: if found.is_file() { fs::read(&path).ok() } else { None },
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            inode: found.ino(),
            links: found.nlink(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Whether a name has a set-user-id or set-group-id bit.
    pub(crate) fn privileged(&self, name: &str) -> bool {
        fs::symlink_metadata(self.base.join(name)).is_ok_and(|found| found.mode() & 0o6000 != 0)
    }

    /// The size of a name.
    pub(crate) fn size(&self, name: &str) -> u64 {
        fs::symlink_metadata(self.base.join(name)).map_or(0, |found| found.size())
    }

    /// The mounts at or below the playground.
    pub(crate) fn mounts(&self) -> Vec<String> {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let base = self.base.to_string_lossy().into_owned();
        table.lines().filter(|line| line.contains(&base)).map(str::to_owned).collect()
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        let base = self.base.to_string_lossy();
        for written in [format!("{base}.own"), format!("{}.own", base.replace("/tmp/", "/dev/shm/"))] {
            let _ = fs::remove_file(written);
        }
        if self.root {
            self.unmount();
        }
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// A file in the work folder that the view grants for reading only.
pub(crate) const PROTECTED: &str = "work/sub/protected";
/// A file in the work folder that the view masks.
pub(crate) const MASKED: &str = "work/sub/masked";
/// Who owns the work folder, and so who a confined process is outside, when the harness is root.
pub(crate) const WORKER: u32 = 65_533;

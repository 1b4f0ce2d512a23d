//! The machine as decisions see it: links, identities, programs, read from the file system at the time of asking.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use countersign_habit::history::History;
use countersign_plan::access::FileIdentity;
use countersign_plan::confinement::Profile;
use countersign_plan::deed::{Deed, Departure};
use countersign_plan::digest::Digest;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_policy::deployment::SandboxMinimum;
use countersign_policy::facts::{Below, Closure, Evaluation, Extent, Facts, Lack, NotInspected, PathFact, PathKind};
use countersign_policy::flow::Session;
use serde_json::Value;

use crate::closure;
use crate::inspector::Sitting;
use crate::monitor::Evaluated;

/// Where programs are looked up: never where the environment says.
pub(crate) const PROGRAM_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What one snapshot copies at most, in bytes; a step that touches more counts as irreversible.
pub(crate) const SNAPSHOT_LIMIT: u64 = 256 << 20;

/// How many files, folders and links one snapshot holds at most.
const SNAPSHOT_NAMES: usize = 50_000;

/// How many entries a listing looks at before it says that it was cut.
const LISTING_LIMIT: usize = 200_000;

/// Features without which everything runs all the same.
const SPARE: [&str; 2] = ["cgroup", "overlay"];

/// What is missing for a step of this profile, by name and with what to do.
fn lacks(capabilities: &Value, minimum: SandboxMinimum, profile: Profile) -> Option<Lack> {
    match capabilities.get("level").and_then(Value::as_str) {
        Some("full") => return None,
        Some("no_userns") if minimum == SandboxMinimum::NoUserns && profile == Profile::None => return None,
        Some(_) | None => {}
    }
    let findings = capabilities.get("findings").and_then(Value::as_array);
    let missing = findings.into_iter().flatten().filter_map(|finding| {
        let word = |key: &str| finding.get(key).and_then(Value::as_str);
        let feature = word("feature").filter(|feature| !SPARE.contains(feature))?;
        let lacking = finding.get("available").and_then(Value::as_bool) != Some(true);
        lacking.then(|| format!("{feature} ({})", word("found").unwrap_or("not found")))
    });
    let missing: Vec<String> = missing.collect();
    let what =
        if profile == Profile::None { "a built-in file tool here" } else { "a program, which takes every layer" };
    Some(Lack {
        missing: format!("this machine cannot confine {what}: it lacks {}", missing.join(", ")),
        fix: "have the kernel give it (`countersign doctor` says what it is for); built-in file tools alone run without namespaces where \
              your own deployment says `sandbox: {minimum: no_userns}`"
            .to_owned(),
    })
}

/// This machine.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    /// Actions of the proposer in the last minute, counted by the caller.
    pub(crate) recent: u32,
    /// Further folders for programs: toolchains of the deployment.
    pub(crate) program_folders: Vec<PathBuf>,
    /// The labels that earlier work left, for the event at hand.
    pub(crate) session: &'a Session,
    /// What was done before, for the event at hand.
    pub(crate) history: &'a History,
    /// The drafts whose crossing points were used; not asked where a plan that was let through goes on.
    pub(crate) spent: Option<&'a HashSet<Digest>>,
    /// What the evaluator said, and of what.
    pub(crate) evaluated: Option<&'a Evaluated>,
    /// What the kernel can enforce, as the zygote found it.
    pub(crate) capabilities: &'a Value,
    /// Who reads command lines and texts; nobody where there is none.
    pub(crate) sitting: Option<&'a Sitting>,
}

impl Facts for Machine<'_> {
    fn resolve(&self, path: &str) -> PathFact {
        resolve(Path::new(path)).unwrap_or(PathFact { kind: PathKind::Unreadable, ..PathFact::default() })
    }

    fn lacks(&self, minimum: SandboxMinimum, profile: Profile) -> Option<Lack> {
        lacks(self.capabilities, minimum, profile)
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        let mut hits = Vec::new();
        let mut seen = 0;
        let mut folders = vec![PathBuf::from(dir)];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                if folder == Path::new(dir) {
                    continue;
                }
                return Below { hits, extent: Extent::Cut };
            };
            for entry in entries {
                seen += 1;
                let Ok(entry) = entry else { return Below { hits, extent: Extent::Cut } };
                let path = entry.path();
                let Some(text) = path.to_str() else { return Below { hits, extent: Extent::Cut } };
                if wanted(text) {
                    hits.push(text.to_owned());
                }
                if hits.len() >= limit || seen >= LISTING_LIMIT {
                    return Below { hits, extent: Extent::Cut };
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                }
            }
        }
        Below { hits, extent: Extent::Whole }
    }

    fn recent_actions(&self) -> u32 {
        self.recent
    }

    fn departure(&self, deed: &Deed) -> Departure {
        self.history.departure(deed)
    }

    fn evaluation(&self, draft: Digest, policy: Digest) -> Evaluation {
        let about = self.evaluated.filter(|evaluated| evaluated.draft == draft && evaluated.policy == policy);
        about.map_or_else(Evaluation::default, |evaluated| evaluated.said.clone())
    }

    fn is_spent(&self, draft: Digest) -> bool {
        self.spent.is_some_and(|spent| spent.contains(&draft))
    }

    fn session(&self) -> &Session {
        self.session
    }

    fn fit_snapshot(&self, paths: &[&str]) -> bool {
        let mut left = Budget { bytes: SNAPSHOT_LIMIT, names: SNAPSHOT_NAMES };
        let paths: BTreeSet<&Path> = paths.iter().map(Path::new).collect();
        // What lies in a folder that is kept is kept with it, once.
        let outermost = |path: &&Path| !path.ancestors().skip(1).any(|above| paths.contains(above));
        paths.iter().copied().filter(outermost).all(|path| left.take(path))
    }

    fn program(&self, name: &str) -> Option<String> {
        if name.contains('/') {
            return executable(Path::new(name));
        }
        let system = PROGRAM_PATH.iter().map(PathBuf::from);
        system.chain(self.program_folders.iter().cloned()).find_map(|folder| executable(&folder.join(name)))
    }

    fn closure(&self, program: &str, roots: &[&str]) -> Result<Closure, String> {
        closure::of(Path::new(program), roots, &|name| self.program(name))
    }

    fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        self.sitting.ok_or(NotInspected::Nobody)?.inspect(subject)
    }
}

/// What may still go into a snapshot.
struct Budget {
    bytes: u64,
    names: usize,
}

impl Budget {
    /// Takes a path and all below it; false where it does not fit or holds what no snapshot keeps.
    fn take(&mut self, path: &Path) -> bool {
        let mut paths = vec![path.to_owned()];
        while let Some(path) = paths.pop() {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let Some(names) = self.names.checked_sub(1) else { return false };
            self.names = names;
            if meta.is_dir() {
                let Ok(entries) = fs::read_dir(&path) else { return false };
                for entry in entries {
                    let Ok(entry) = entry else { return false };
                    paths.push(entry.path());
                }
            } else if meta.is_file() {
                let Some(bytes) = self.bytes.checked_sub(meta.size()) else { return false };
                self.bytes = bytes;
            } else if !meta.is_symlink() {
                return false;
            }
        }
        true
    }
}

fn executable(path: &Path) -> Option<String> {
    let real = fs::canonicalize(path).ok()?;
    let meta = fs::metadata(&real).ok()?;
    let runs = meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    runs.then(|| real.to_str().map(str::to_owned)).flatten()
}

/// The name of a path without links, where that is another one.
pub(crate) fn real(path: &str) -> Option<String> {
    resolve(Path::new(path)).ok()?.resolved
}

/// Follows every link that exists; what is missing keeps its name below its resolved parent.
fn resolve(path: &Path) -> io::Result<PathFact> {
    let mut real = PathBuf::new();
    let mut components = path.components();
    for component in components.by_ref() {
        match component {
            Component::RootDir => real.push("/"),
            Component::Normal(name) => {
                let next = real.join(name);
                match fs::canonicalize(&next) {
                    Ok(found) => real = found,
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {
                        // A dangling link is no missing file: what it would make lies elsewhere.
                        if fs::symlink_metadata(&next).is_ok() {
                            return Err(io::Error::other("a dangling link"));
                        }
                        real = next;
                        break;
                    }
                    Err(e) => return Err(e),
                }
            }
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                return Err(io::Error::other("not a normalised path"));
            }
        }
    }
    real.extend(components);
    let (identity, kind) = match fs::symlink_metadata(&real) {
        Ok(meta) => {
            let kind = match meta.file_type() {
                kind if kind.is_file() => PathKind::File,
                kind if kind.is_dir() => PathKind::Directory,
                kind if kind.is_socket() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device() => {
                    PathKind::Special
                }
                _ => PathKind::Unreadable,
            };
            let identity = FileIdentity { device: meta.dev(), inode: meta.ino(), directory: meta.is_dir() };
            (Some(identity), kind)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => (None, PathKind::Missing),
        Err(e) => return Err(e),
    };
    let resolved = (real != path).then(|| real.to_str().map(str::to_owned)).flatten();
    if real != path && resolved.is_none() {
        return Err(io::Error::other("not UTF-8"));
    }
    Ok(PathFact { resolved, identity, kind })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use countersign_plan::confinement::Profile;
    use countersign_policy::deployment::SandboxMinimum;
    use countersign_policy::facts::{Extent, Facts as _, PathKind};
    use serde_json::{Value, json};

    use super::{Machine, lacks};

    fn machine() -> Machine<'static> {
        Machine {
            recent: 0,
            program_folders: vec![],
            session: countersign_policy::flow::Session::empty(),
            history: countersign_habit::history::History::EMPTY,
            spent: None,
            evaluated: None,
            capabilities: &Value::Null,
            sitting: None,
        }
    }

    /// `lesson_11`: a symbolic link as parent with a new leaf.
    #[test]
    fn lesson_11_links_are_followed_also_where_the_last_part_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        symlink(root.join("nowhere"), root.join("dangling")).unwrap();
        let fact = machine().resolve(root.join("link/new/deep").to_str().unwrap());
        assert_eq!(fact.resolved.as_deref(), root.join("real/new/deep").to_str());
        assert_eq!(fact.kind, PathKind::Missing);
        assert_eq!(machine().resolve(root.join("dangling").to_str().unwrap()).kind, PathKind::Unreadable);
        let file = machine().resolve(root.join("real").to_str().unwrap());
        assert_eq!((file.kind, file.resolved), (PathKind::Directory, None));
        assert!(file.identity.is_some());
    }

    #[test]
    fn a_listing_says_when_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let root = folder.path().to_str().unwrap();
        assert_eq!(machine().below(root, &|_| true, 10).extent, Extent::Whole);
        assert_eq!(machine().below(root, &|_| true, 2).extent, Extent::Cut);
    }

    #[test]
    fn what_is_too_large_or_no_file_fits_no_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap().to_owned();
        std::fs::write(folder.path().join("small"), "x").unwrap();
        assert!(machine().fit_snapshot(&[&root, "/nowhere"]));
        let large = std::fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(super::SNAPSHOT_LIMIT).unwrap();
        assert!(!machine().fit_snapshot(&[&root]));
        // A program may write the folder, and is known to write the file: that is one copy and not two.
        large.set_len(super::SNAPSHOT_LIMIT - 4096).unwrap();
        let inside = format!("{root}/large");
        assert!(machine().fit_snapshot(&[&inside, &root, &root]));
        large.set_len(0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        assert!(!machine().fit_snapshot(&[&root]));
    }

    /// Below the minimum nothing runs, and what is missing is named; what the machine cannot say counts as missing.
    #[test]
    fn what_a_machine_lacks_is_named_with_what_to_do() {
        let finding = |feature: &str, available: bool| json!({"feature": feature, "available": available, "found": "refused", "meaning": ""});
        let whole = json!({"level": "full", "findings": [finding("cgroup", false)]});
        let bare = json!({"level": "no_userns", "findings": [
            finding("landlock", true), finding("namespaces", false), finding("cgroup", false)]});
        let (full, less) = (SandboxMinimum::Full, SandboxMinimum::NoUserns);
        assert_eq!(lacks(&whole, full, Profile::Toolchain), None);
        assert_eq!(lacks(&bare, less, Profile::None), None);
        for (minimum, profile) in [(full, Profile::None), (less, Profile::Exact), (less, Profile::Toolchain)] {
            let lack = lacks(&bare, minimum, profile).unwrap();
            assert!(lack.missing.ends_with("it lacks namespaces (refused)"), "{lack:?}");
            assert!(lack.fix.contains("no_userns") && lack.fix.contains("doctor"), "{lack:?}");
        }
        assert!(lacks(&Value::Null, less, Profile::None).is_some());
    }

    /// `lesson_07`: a planted file named like a program does not become it.
    #[test]
    fn lesson_07_programs_are_found_in_fixed_folders_only() {
        let git = machine().program("sh").unwrap();
        assert!(git.starts_with("/usr/") || git.starts_with("/bin/"), "{git}");
        assert!(machine().program("no-such-program").is_none());
    }
}

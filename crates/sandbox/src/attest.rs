//! What the kernel says about a confined child, read from outside before the first byte is sent to it.
//!
//! The child's own announcement proves nothing: a binary that skipped a layer announces itself as well. Everything here comes from `/proc/PID`
//! and its pidfd, which the child cannot forge. Landlock has no line there; it is entered before `exec` by the spawner's own code, so there is nothing to skip.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde::{Deserialize, Serialize};

use crate::layers::{Layer, Layers};

/// What a child must look like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The layers that were asked for; of the others nothing is expected.
    pub layers: Layers,
    /// Outer uid (all four).
    pub uid: u32,
    /// Outer gid (all four).
    pub gid: u32,
    /// Number of descriptors: exactly 0 to this less one.
    pub descriptors: u32,
    /// Whether the bounding set could be emptied (it takes a user namespace or privilege).
    pub bounding_set_empty: bool,
    /// Filters of its own beside those that it inherits from its spawner.
    pub filters: u32,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attestation {
    /// Process id, as the attester sees it.
    pub pid: u32,
    /// `Seccomp_filters` of `/proc/PID/status`.
    pub seccomp_filters: u32,
    /// What the descriptors refer to, from 0 up.
    pub descriptors: Vec<String>,
    /// The namespaces by name, as `kind:[inode]`.
    pub namespaces: BTreeMap<String, String>,
}

/// Why a child is not what it claims to be. Kill it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttestError {
    /// The process is gone.
    #[error("attest: process {pid} is gone")]
    Gone {
        /// The process.
        pid: u32,
    },
    /// Something could not be read: treated as a failure.
    #[error("attest: cannot read {what} of process {pid}: {source}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// Which file.
        what: &'static str,
        /// The error.
        source: io::Error,
    },
    /// A layer does not hold.
    #[error("attest: process {pid} is not confined: {what} is {found}, expected {expected}")]
    Mismatch {
        /// The process.
        pid: u32,
        /// What was compared.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}

/// Compares a process, which the caller has not reaped yet, with an expectation.
///
/// # Errors
/// [`AttestError`] at the first difference.
pub fn attest(pid: u32, expectation: &Expectation) -> Result<Attestation, AttestError> {
    let settled = Settled::read(pid, expectation)?;
    attest_sealed(pid, expectation, settled)
}

/// What is settled once a child has executed its binary: without privileges it can leave neither its namespaces nor its session, and its
/// environment was laid down by `exec`. Read while the child is still sealing itself.
#[derive(Debug)]
pub(crate) struct Settled {
    namespaces: BTreeMap<String, String>,
}

impl Settled {
    pub(crate) fn read(pid: u32, expectation: &Expectation) -> Result<Self, AttestError> {
        let subject = Subject::of(pid);
        let layers = expectation.layers;
        let namespaces = subject.namespaces(layers)?;
        if layers.contains(Layer::Environment) {
            subject.equal("the environment", &subject.environment()?.to_string(), "0")?;
        }
        if layers.contains(Layer::Session) {
            subject.session()?;
        }
        Ok(Self { namespaces })
    }
}

/// The rest: what the child did to itself.
pub(crate) fn attest_sealed(pid: u32, expectation: &Expectation, settled: Settled) -> Result<Attestation, AttestError> {
    let subject = Subject::of(pid);
    let status = subject.read("status")?;
    let status = Status::of(&status);
    let layers = expectation.layers;
    subject.equal("Threads", status.get("Threads"), "1")?;
    for (what, id) in [("Uid", expectation.uid), ("Gid", expectation.gid)] {
        subject.equal(what, status.get(what), &[id; 4].map(|id| id.to_string()).join("\t"))?;
    }
    if layers.contains(Layer::NoNewPrivileges) {
        subject.equal("NoNewPrivs", status.get("NoNewPrivs"), "1")?;
    }
    if layers.contains(Layer::Capabilities) {
        subject.capabilities(&status, expectation.bounding_set_empty)?;
    }
    if layers.contains(Layer::Seccomp) {
        subject.filters(&status, expectation.filters)?;
    }
    let descriptors = subject.descriptors()?;
    if layers.contains(Layer::Descriptors) {
        let numbers: Vec<u32> = descriptors.keys().copied().collect();
        let expected: Vec<u32> = (0..expectation.descriptors).collect();
        if numbers != expected {
            return Err(subject.differs("the descriptor list", format!("{descriptors:?}"), &format!("{expected:?}")));
        }
        let control = descriptors.get(&3).map_or("", String::as_str);
        if !control.starts_with("socket:") {
            return Err(subject.differs("descriptor 3", control.to_owned(), "a socket"));
        }
    }
    Ok(Attestation {
        pid,
        seccomp_filters: status.get("Seccomp_filters").parse().unwrap_or(0),
        descriptors: descriptors.into_values().collect(),
        namespaces: settled.namespaces,
    })
}

/// The lines of `/proc/PID/status`.
struct Status<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Status<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key, value.trim())).collect())
    }

    fn get(&self, key: &str) -> &'a str {
        self.0.get(key).copied().unwrap_or("missing")
    }
}

/// Layer, file in `/proc/PID/ns`, and how it is called in messages.
const NAMESPACES: [(Layer, &str, &str); 7] = [
    (Layer::UserNamespace, "user", "the user namespace"),
    (Layer::MountView, "mnt", "the mount namespace"),
    (Layer::ProcessNamespace, "pid", "the process namespace"),
    (Layer::NetworkNamespace, "net", "the network namespace"),
    (Layer::IpcNamespace, "ipc", "the IPC namespace"),
    (Layer::HostNamespace, "uts", "the host name namespace"),
    (Layer::CgroupNamespace, "cgroup", "the cgroup namespace"),
];

/// The spawner's own namespaces, in the order of [`NAMESPACES`], and the filters that its children inherit.
struct Own {
    namespaces: Vec<String>,
    filters: u32,
}

fn own_link(file: &str) -> io::Result<String> {
    fs::read_link(PathBuf::from("/proc/self/ns").join(file)).map(|target| target.to_string_lossy().into_owned())
}

impl Own {
    fn read() -> io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        Ok(Self {
            namespaces: NAMESPACES.into_iter().map(|(_, file, _)| own_link(file)).collect::<io::Result<_>>()?,
            filters: Status::of(&status).get("Seccomp_filters").parse().unwrap_or(0),
        })
    }
}

struct Subject {
    pid: u32,
    folder: PathBuf,
}

impl Subject {
    fn of(pid: u32) -> Self {
        Self { pid, folder: PathBuf::from(format!("/proc/{pid}")) }
    }

    fn read(&self, what: &'static str) -> Result<String, AttestError> {
        let bytes = fs::read(self.folder.join(what)).map_err(|source| self.unreadable(what, source))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn unreadable(&self, what: &'static str, source: io::Error) -> AttestError {
        match source.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => AttestError::Gone { pid: self.pid },
            _ => AttestError::Unreadable { pid: self.pid, what, source },
        }
    }

    fn differs(&self, what: &'static str, found: String, expected: &str) -> AttestError {
        AttestError::Mismatch { pid: self.pid, what, found, expected: expected.to_owned() }
    }

    fn equal(&self, what: &'static str, found: &str, expected: &str) -> Result<(), AttestError> {
        if found == expected { Ok(()) } else { Err(self.differs(what, found.to_owned(), expected)) }
    }

    fn capabilities(&self, status: &Status<'_>, bounding_set_empty: bool) -> Result<(), AttestError> {
        const NONE: &str = "0000000000000000";
        for what in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            self.equal(what, status.get(what), NONE)?;
        }
        if bounding_set_empty { self.equal("CapBnd", status.get("CapBnd"), NONE) } else { Ok(()) }
    }

    /// Filter mode, with exactly so many filters more than the spawner itself is under.
    fn filters(&self, status: &Status<'_>, own: u32) -> Result<(), AttestError> {
        self.equal("Seccomp", status.get("Seccomp"), "2")?;
        let inherited = self.own()?.filters;
        self.equal("Seccomp_filters", status.get("Seccomp_filters"), &(inherited + own).to_string())
    }

    /// Every namespace of a layer must be another one than the spawner's.
    fn namespaces(&self, layers: Layers) -> Result<BTreeMap<String, String>, AttestError> {
        let own = self.own()?;
        let mut found = BTreeMap::new();
        for ((layer, file, what), mine) in NAMESPACES.into_iter().zip(&own.namespaces) {
            if layers.contains(layer) {
                let theirs = fs::read_link(self.folder.join("ns").join(file));
                let theirs = theirs.map_err(|source| self.unreadable(what, source))?.to_string_lossy().into_owned();
                // Of all its namespaces a spawner changes only these (`keep_spares`).
                let moved = Layer::HANDED_ON.contains(&layer).then(|| own_link(file)).transpose();
                let moved = moved.map_err(|source| self.unreadable(what, source))?;
                if theirs == *moved.as_ref().unwrap_or(mine) {
                    return Err(self.differs(what, theirs, "another one than the spawner's"));
                }
                found.insert(file.to_owned(), theirs);
            }
        }
        Ok(found)
    }

    /// What the spawner is in itself, read once: a spawner does not move.
    fn own(&self) -> Result<&'static Own, AttestError> {
        static OWN: OnceLock<Own> = OnceLock::new();
        if let Some(own) = OWN.get() {
            return Ok(own);
        }
        let own = Own::read().map_err(|source| self.unreadable("the spawner's own state", source))?;
        Ok(OWN.get_or_init(|| own))
    }

    fn descriptors(&self) -> Result<BTreeMap<u32, String>, AttestError> {
        const WHAT: &str = "the descriptor list";
        let mut found = BTreeMap::new();
        let entries = match fs::read_dir(self.folder.join("fd")) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return self.descriptors_by_copy(),
            other => other.map_err(|source| self.unreadable(WHAT, source))?,
        };
        for entry in entries {
            let entry = entry.map_err(|source| self.unreadable(WHAT, source))?;
            let number = entry.file_name().to_string_lossy().parse().unwrap_or(u32::MAX);
            let target = fs::read_link(entry.path()).map_err(|source| self.unreadable(WHAT, source))?;
            found.insert(number, target.to_string_lossy().into_owned());
        }
        Ok(found)
    }

    /// The files of a non-dumpable process belong to root (a binary that its user may run but not read makes one). An ordinary spawner still has every right over the user namespace
    /// that it made, so it copies each descriptor that exists and looks at the copy.
    fn descriptors_by_copy(&self) -> Result<BTreeMap<u32, String>, AttestError> {
        const WHAT: &str = "the descriptor list";
        let failed = |errno: Errno| self.unreadable(WHAT, errno.into());
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).ok_or_else(|| failed(Errno::SRCH))?;
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(failed)?;
        let mut found = BTreeMap::new();
        for number in self.descriptor_numbers()? {
            let foreign = i32::try_from(number).map_err(|_| failed(Errno::PROTO))?;
            match pidfd_getfd(&process, foreign, PidfdGetfdFlags::empty()) {
                Ok(copy) => {
                    let link = PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd()));
                    let target = fs::read_link(link).map_err(|source| self.unreadable(WHAT, source))?;
                    found.insert(number, target.to_string_lossy().into_owned());
                }
                Err(Errno::BADF) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(found)
    }

    /// The numbers of its descriptors, in a folder that is read by right (`proc_fdinfo_permission`) where the kernel has that, else all that can exist.
    fn descriptor_numbers(&self) -> Result<Vec<u32>, AttestError> {
        const WHAT: &str = "the descriptor list";
        if let Ok(entries) = fs::read_dir(self.folder.join("fdinfo")) {
            let number = |entry: io::Result<fs::DirEntry>| {
                let name = entry.map_err(|source| self.unreadable(WHAT, source))?.file_name();
                name.to_string_lossy().parse().map_err(|_| self.unreadable(WHAT, Errno::PROTO.into()))
            };
            return entries.map(number).collect();
        }
        let status = self.read("status")?;
        let size = Status::of(&status).get("FDSize").parse();
        size.map(|size: u32| (0..size).collect()).map_err(|_| self.unreadable(WHAT, Errno::PROTO.into()))
    }

    /// Bytes of environment: by its file, or where that belongs to root by fields 50 and 51 of `/proc/PID/stat`, which are 0
    /// for one who may not know them.
    fn environment(&self) -> Result<u64, AttestError> {
        const WHAT: &str = "the environment";
        match fs::read(self.folder.join("environ")) {
            Ok(bytes) => return Ok(bytes.len() as u64),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(source) => return Err(self.unreadable(WHAT, source)),
        }
        let stat = self.read("stat")?;
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let field = |number: usize| after_name.split(' ').nth(number - 3).and_then(|text| text.parse::<u64>().ok());
        match (field(50), field(51)) {
            (Some(start), Some(end)) if start != 0 && end >= start => Ok(end - start),
            _ => Err(self.unreadable(WHAT, io::ErrorKind::PermissionDenied.into())),
        }
    }

    /// Leader of its own session: field 6 of `/proc/PID/stat`, counted after the name in parentheses.
    fn session(&self) -> Result<(), AttestError> {
        let stat = self.read("stat")?;
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let session = after_name.split(' ').nth(3).unwrap_or("missing");
        self.equal("the session", session, &self.pid.to_string())
    }
}

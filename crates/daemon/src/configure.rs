//! Configuration from disk: deployment, tools, policy and change requests of a proposal, compiled, and compiled again only when
//! a file changed.
//!
//! The client names the file nearest to its folder; what it says may only tighten, unless an approver trusted it at exactly this
//! content (FORMATS §4, trust base).

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use countersign_gate::configuration::Configuration;
use countersign_plan::confinement::{Minimum, Owner};
use countersign_plan::digest::Digest;
use countersign_plan::document::{self, Bounds};
use countersign_plan::tool::Manifest;
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{ChangeSource, Deployment, DeploymentDocument, Own};
use countersign_policy::policy::{Policy, PolicyDocument};
use countersign_policy::trust_base::{self, Layer, Origin as From};

use crate::changes::Services;
use crate::folders::Folders;
use crate::peer::Peer;
use crate::toolchain::Toolchain;

/// Compiled configurations that are kept.
const KEPT: usize = 64;

/// A shared configuration with where it came from.
pub(crate) type Configured = (Arc<Configuration>, String);

/// Compiled configurations by where they came from.
#[derive(Debug)]
pub(crate) struct Configurations {
    own: Vec<String>,
    user: PathBuf,
    home: String,
    toolchain: Toolchain,
    trusted: BTreeSet<(String, Digest)>,
    services: Services,
    cache: HashMap<String, (Vec<Stamp>, Arc<Configuration>)>,
}

/// What says that a file is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    state: Option<(u64, u64, i64, i64, u64)>,
}

/// Where a configuration comes from: enough to compile it again after a restart. Its JSON is the case's `origin`.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    cwd: String,
    deployment: String,
    uid: u32,
    gid: u32,
}

impl Configurations {
    /// For a monitor with these folders.
    pub(crate) fn new(folders: &Folders) -> Result<Self, String> {
        let text =
            |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is not UTF-8", path.display()));
        let own = BTreeSet::from([text(&folders.state)?, text(&folders.runtime)?, text(&folders.config)?]);
        // A folder inside another one is covered with it.
        let own: Vec<String> =
            own.iter().filter(|a| !own.iter().any(|b| *a != b && Path::new(a).starts_with(b))).cloned().collect();
        // Who has no entry in /etc/passwd has no home that anything could be kept in.
        let home = home().unwrap_or_else(|| "/nonexistent".to_owned());
        Ok(Self {
            own,
            user: folders.config.join("countersign.yaml"),
            toolchain: Toolchain::of(&home)?,
            home,
            trusted: BTreeSet::new(),
            services: Services::default(),
            cache: HashMap::new(),
        })
    }

    /// Countersign's own folders.
    pub(crate) fn own_folders(&self) -> Vec<String> {
        self.own.clone()
    }

    /// What programs find besides their work folder.
    pub(crate) const fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// From now on the file counts in full while its content has this digest.
    pub(crate) fn trust(&mut self, path: &str, digest: Digest) {
        self.trusted.insert((path.to_owned(), digest));
        self.cache.clear();
    }

    /// The services with change requests that are to be asked now.
    pub(crate) fn services_due(&mut self) -> Vec<String> {
        self.services.due(Instant::now())
    }

    /// Whether nothing is known yet of a service with change requests.
    pub(crate) fn is_service_unread(&self) -> bool {
        self.services.is_unread()
    }

    /// What a service with change requests said.
    pub(crate) fn service_read(&mut self, service: &str, document: Vec<u8>) {
        if self.services.read(service, document, Instant::now()) {
            self.cache.clear();
        }
    }

    /// The configuration for a proposal from `cwd`, with the deployment file that the client names; empty for none.
    pub(crate) fn for_submission(&mut self, cwd: &str, deployment: &str, peer: Peer) -> Result<Configured, String> {
        let real = Path::new(cwd).canonicalize().map_err(|e| format!("working folder {cwd}: {e}"))?;
        let cwd = real.to_str().ok_or("the working folder is not UTF-8")?.to_owned();
        self.compiled(&Origin { cwd, deployment: deployment.to_owned(), uid: peer.uid, gid: peer.gid })
    }

    /// Whether the user's own deployment, wherever the work is, takes a sandbox without namespaces.
    pub(crate) fn takes_no_namespaces(&mut self) -> bool {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let origin = Origin { cwd: "/".to_owned(), deployment: String::new(), uid, gid };
        self.compiled(&origin).is_ok_and(|(found, _)| found.minimum() == Minimum::NoUserns)
    }

    /// The configuration of a case as it is on disk now.
    pub(crate) fn for_origin(&mut self, origin: &str) -> Result<Configured, String> {
        let origin: Origin = serde_json::from_str(origin).map_err(|e| e.to_string())?;
        self.compiled(&origin)
    }

    fn compiled(&mut self, origin: &Origin) -> Result<Configured, String> {
        let name = serde_json::to_string(origin).map_err(|e| e.to_string())?;
        if self.services.expire(Instant::now()) {
            self.cache.clear();
        }
        if let Some((stamps, configuration)) = self.cache.get(&name)
            && stamps.iter().all(|stamp| *stamp == Stamp::of(&stamp.path))
        {
            return Ok((Arc::clone(configuration), name));
        }
        let mut files = Vec::new();
        let configuration = Arc::new(self.compile(origin, &mut files)?);
        if self.cache.len() >= KEPT {
            self.cache.clear();
        }
        let stamps = files.iter().map(|path| Stamp::of(path)).collect();
        self.cache.insert(name.clone(), (stamps, Arc::clone(&configuration)));
        Ok((configuration, name))
    }

    fn compile(&mut self, origin: &Origin, files: &mut Vec<PathBuf>) -> Result<Configuration, String> {
        let mut read = Reading { files, deployments: Vec::new(), policies: Vec::new() };
        read.files.push(self.user.clone());
        if self.user.exists() {
            read.layer(&self.user, From::Own)?;
        }
        // Whoever wrote rules there relies on them.
        let rules = self.user.with_file_name("policy.yaml");
        read.files.push(rules.clone());
        if read.policies.is_empty() && rules.exists() {
            let (rules, user) = (rules.display(), self.user.display());
            return Err(format!(
                "{rules} is named by no deployment, and none of its rules would count: write `policy: policy.yaml` into {user}, or move it away"
            ));
        }
        if !origin.deployment.is_empty() {
            read.layer(Path::new(&origin.deployment), From::Workspace)?;
        }
        let trusted: BTreeSet<Digest> = read
            .deployments
            .iter()
            .map(|layer| (layer.file.clone(), layer.digest))
            .chain(read.policies.iter().map(|layer| (layer.file.clone(), layer.digest)))
            .filter(|known| self.trusted.contains(known))
            .map(|(_, digest)| digest)
            .collect();
        let trusted = |digest: &Digest| trusted.contains(digest);
        let merged = trust_base::deployments(&read.deployments, &trusted, &origin.cwd, &self.home);
        let rules = trust_base::policies(&read.policies, &trusted);
        for ignored in merged.ignored.iter().chain(&rules.ignored) {
            crate::log(&format!(
                "{}: {} left out: {}; `countersign trust`",
                ignored.file, ignored.pointer, ignored.what
            ));
        }
        let mut manifest = Manifest::builtin().map_err(|e| e.to_string())?;
        for file in &merged.document.tools {
            manifest.load(&read.bytes(Path::new(file))?).map_err(|e| format!("{file}: {e}"))?;
        }
        let changes = match &merged.document.change_requests {
            None => Changes::default(),
            Some(ChangeSource::File(file)) => {
                Changes::read(&read.bytes(Path::new(file))?).map_err(|e| format!("{file}: {e}"))?
            }
            Some(ChangeSource::Http(service)) => {
                let service = serde_json::to_string(service).map_err(|e| e.to_string())?;
                let read = self.services.document(&service).map_or_else(|| Ok(Changes::default()), Changes::read);
                read.unwrap_or_else(|e| {
                    crate::log(&format!("the change requests of {service} are none: {e}"));
                    Changes::default()
                })
            }
        };
        let own_files = read.files.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect();
        let own = Own { folders: self.own.clone(), files: own_files };
        let deployment =
            Deployment::compile(merged.document, &origin.cwd, &self.home, &own).map_err(|e| e.to_string())?;
        // Patterns hang from the first workspace, whatever folder inside it the work is asked from.
        let policy = Policy::compile(&rules.document, deployment.place()).map_err(|e| format!("policy: {e}"))?;
        Ok(Configuration {
            manifest: Arc::new(manifest),
            owner: owner(origin)?,
            deployment: Arc::new(deployment),
            policy: Arc::new(policy),
            changes: Arc::new(changes),
            left_out: merged.ignored.into_iter().chain(rules.ignored).collect(),
        })
    }
}

/// The files of a configuration while they are read, in the order of trust.
struct Reading<'a> {
    files: &'a mut Vec<PathBuf>,
    deployments: Vec<Layer<DeploymentDocument>>,
    policies: Vec<Layer<PolicyDocument>>,
}

impl Reading<'_> {
    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        self.files.push(path.to_owned());
        let mut bytes = Vec::new();
        let limit = u64::try_from(Bounds::CONFIG.bytes).unwrap_or(u64::MAX) + 1;
        let file = fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
        file.take(limit).read_to_end(&mut bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(bytes)
    }

    /// Reads a deployment and the policy that it names. The files that it names are found beside it.
    fn layer(&mut self, path: &Path, origin: From) -> Result<(), String> {
        let real = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
        let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
        let beside = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut layer: Layer<DeploymentDocument> = self.document(&real, origin)?;
        let document = &mut layer.document;
        for tool in &mut document.tools {
            *tool = beside(tool);
        }
        if let Some(ChangeSource::File(file)) = &mut document.change_requests {
            *file = beside(file);
        }
        if let Some(policy) = &mut document.policy {
            *policy = beside(policy);
            let rules = self.document(Path::new(policy.as_str()), origin)?;
            self.policies.push(rules);
        }
        self.deployments.push(layer);
        Ok(())
    }

    fn document<T: serde::de::DeserializeOwned>(&mut self, path: &Path, origin: From) -> Result<Layer<T>, String> {
        let bytes = self.bytes(path)?;
        let document = document::from_bytes(&bytes, Bounds::CONFIG).and_then(document::typed);
        let document = document.map_err(|e| format!("{}: {e}", path.display()))?;
        let file = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?.to_owned();
        Ok(Layer { document, origin, digest: Digest::of(&bytes), file })
    }
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let state = fs::metadata(path).ok().map(|m| (m.dev(), m.ino(), m.mtime(), m.mtime_nsec(), m.size()));
        Self { path: path.to_owned(), state }
    }
}

/// The user that steps act as: the one who asks, and for root the owner of the folder.
fn owner(origin: &Origin) -> Result<Owner, String> {
    if origin.uid != 0 {
        return Ok(Owner { uid: origin.uid, gid: origin.gid });
    }
    let meta = fs::metadata(&origin.cwd).map_err(|e| format!("{}: {e}", origin.cwd))?;
    Ok(Owner { uid: meta.uid(), gid: meta.gid() })
}

/// The home folder of this user, from `/etc/passwd`: the environment is empty, and it would not be believed anyway.
fn home() -> Option<String> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let home = fields.get(5).filter(|_| fields.get(2) == Some(&uid.as_str()))?;
        let real = Path::new(home).canonicalize().unwrap_or_else(|_| PathBuf::from(home));
        real.to_str().filter(|home| home.starts_with('/')).map(str::to_owned)
    })
}

//! What a plan is judged by, from files alone: deployment, policy, tools and change requests, merged by the trust base.

use std::path::{Path, PathBuf};

use countersign_eval::facts::Written;
use countersign_plan::digest::Digest;
use countersign_plan::document::Bounds;
use countersign_plan::draft::Draft;
use countersign_plan::id::Principal;
use countersign_plan::resolve::Inputs;
use countersign_plan::tool::Manifest;
use countersign_plan::verdict::Mode;
use countersign_policy::changes::Changes;
use countersign_policy::deployment::{ChangeSource, Deployment, DeploymentDocument, Own};
use countersign_policy::flow::{Level, Session};
use countersign_policy::paths::Place;
use countersign_policy::policy::{Policy, PolicyDocument};
use countersign_policy::review::{Request, Review, review};
use countersign_policy::trust_base::{self, Ignored, Layer, Origin};

use super::cases::Setting;
use super::explain::{Explanation, explain};
use crate::clock;
use crate::commands::run;
use crate::document;
use crate::failure::Failure;
use crate::paths::{self, Paths};

/// Everything that a review looks at.
pub(in crate::commands) struct Scene {
    pub(super) deployment: Deployment,
    pub(super) policy: Policy,
    pub(super) manifest: Manifest,
    pub(super) ignored: Vec<Ignored>,
    changes: Changes,
    requester: Principal,
    facts: Written,
    inputs: Inputs,
}

impl Scene {
    /// A named file counts in full; one that was found in or above the current folder can only tighten.
    pub(in crate::commands) fn load(deployment: Option<&Path>, policy: Option<&Path>) -> Result<Self, Failure> {
        let cwd = paths::current_folder()?;
        let home = paths::home().unwrap_or_else(|| cwd.clone());
        let (cwd, home) = (cwd.to_string_lossy().into_owned(), home.to_string_lossy().into_owned());
        let own_folders = Paths::of_environment().map(|paths| vec![paths.config, paths.state, paths.runtime]);
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let mut own = Own { folders: own_folders.unwrap_or_default().iter().map(text).collect(), files: Vec::new() };

        let mut layers = Vec::new();
        let found = document::deployment(deployment, Path::new(&cwd))?;
        if let Some(path) = &found {
            let origin = if deployment.is_some() { Origin::Own } else { Origin::Workspace };
            layers.push(layer(path, origin, &mut own, DeploymentDocument::read)?);
        }
        // What nobody trusted yet is read as if nobody ever will: this is a question, not a decision.
        let merged = trust_base::deployments(&layers, &|_| false, &cwd, &home);
        let folder = found.as_deref().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();

        let mut policies = Vec::new();
        if let Some(path) = policy {
            policies.push(layer(path, Origin::Own, &mut own, PolicyDocument::read)?);
        } else if let Some((name, of)) = layers.first().and_then(|of| Some((of.document.policy.as_ref()?, of))) {
            policies.push(layer(&folder.join(name), of.origin, &mut own, PolicyDocument::read)?);
        }
        let policies = trust_base::policies(&policies, &|_| false);

        let mut manifest = run::builtin()?;
        for name in &merged.document.tools {
            let path = folder.join(name);
            let bytes = document::read(&path, Bounds::CONFIG.bytes)?;
            manifest.load(&bytes).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        }
        let changes = match &merged.document.change_requests {
            Some(ChangeSource::File(name)) => {
                let path = folder.join(name);
                let read = Changes::read(&document::read(&path, Bounds::CONFIG.bytes)?);
                read.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?
            }
            Some(ChangeSource::Http(_)) | None => Changes::default(),
        };
        let deployment = Deployment::compile(merged.document, &cwd, &home, &own)
            .map_err(|error| Failure::usage(format!("deployment: {error}")))?;
        let wrong = |what: String| Failure::usage(format!("policy: {what}"));
        let place = Place::new(&cwd, deployment.home()).map_err(|error| wrong(error.to_string()))?;
        let policy = Policy::compile(&policies.document, &place).map_err(|error| wrong(error.to_string()))?;
        let requester = format!("uid:{}", rustix::process::geteuid().as_raw());
        let requester = requester.parse().map_err(|error| wrong(format!("{error}")))?;
        let ignored = merged.ignored.into_iter().chain(policies.ignored).collect();
        let (facts, inputs) = (Written::default(), Inputs::new());
        Ok(Self { deployment, policy, manifest, ignored, changes, requester, facts, inputs })
    }

    /// Judges a plan and says which rules matched; `pinned` says whether it has a goal.
    pub(super) fn explain(&self, draft: &Draft, pinned: bool) -> Explanation {
        explain(&self.request(draft, pinned, Level::Open))
    }

    /// Judges a plan as the gate would; `trusted` takes its words for the user's.
    pub(in crate::commands) fn review(&self, draft: &Draft, pinned: bool, trusted: bool) -> Review {
        review(&self.request(draft, pinned, if trusted { Level::User } else { Level::Open }))
    }

    /// As the gate asks about a plan that somebody proposes; what commands and texts would do is read in this process.
    fn request<'a>(&'a self, draft: &'a Draft, pinned: bool, planner: Level) -> Request<'a> {
        Request {
            draft,
            manifest: &self.manifest,
            deployment: &self.deployment,
            policy: &self.policy,
            changes: &self.changes,
            facts: &self.facts,
            inputs: &self.inputs,
            requester: &self.requester,
            mode: Mode::Managed,
            pinned_goal: pinned.then(|| draft.goal()),
            authentic: false,
            planner,
            session: Session::empty(),
            now: clock::now(),
        }
    }

    /// What tests are decided in.
    pub(super) fn setting(&self) -> Setting<'_> {
        Setting {
            manifest: &self.manifest,
            deployment: &self.deployment,
            policy: &self.policy,
            changes: &self.changes,
            facts: &self.facts,
            requester: &self.requester,
            now: clock::now(),
        }
    }
}

/// What relative patterns and `~` stand for here.
pub(super) fn place() -> Result<Place, Failure> {
    let cwd = paths::current_folder()?;
    let home = paths::home().unwrap_or_else(|| cwd.clone());
    Place::new(&cwd.to_string_lossy(), &home.to_string_lossy()).map_err(|error| Failure::usage(error.to_string()))
}

fn layer<T>(
    path: &Path,
    origin: Origin,
    own: &mut Own,
    read: impl Fn(&[u8]) -> Result<T, countersign_plan::document::DocumentError>,
) -> Result<Layer<T>, Failure> {
    let bytes = document::read(path, Bounds::CONFIG.bytes)?;
    let file = path.display().to_string();
    let document = read(&bytes).map_err(|error| Failure::usage(format!("{file}: {error}")))?;
    let absolute = std::path::absolute(path).map_err(|error| Failure::file(path, &error))?;
    own.files.push(absolute.display().to_string());
    Ok(Layer { document, origin, digest: Digest::of(&bytes), file })
}

//! A step's view while it is put together.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::access::FileIdentity;
use countersign_plan::confinement::{PathGrant, PathLink, Profile, SandboxSpec};
use countersign_plan::egress::Egress;
use countersign_plan::verdict::Code;
use countersign_policy::facts::{Extent, Facts, PathKind};
use countersign_policy::paths::{Seen, is_within};
use serde_json::Value;

use super::tools::{Builtin, Means};
use super::{NoLeave, Task, limits};

/// Most paths below a view that are masked or protected one by one.
const MOST: usize = 1024;

type Grants = BTreeMap<String, Option<FileIdentity>>;

pub(super) struct View<'a> {
    task: &'a Task<'a>,
    profile: Profile,
    read: Grants,
    write: Grants,
    run: Grants,
    links: Vec<PathLink>,
    masked: Vec<String>,
    read_only: Vec<String>,
    cwd: String,
    means: Means,
    egress: Egress,
}

impl<'a> View<'a> {
    pub(super) fn new(task: &'a Task<'a>, means: Means) -> Self {
        let (read, write, run) = (Grants::new(), Grants::new(), Grants::new());
        let cwd = match means {
            Means::Builtin(Builtin::MemoryRead | Builtin::MemoryWrite) => task.places.memory.clone(),
            Means::Builtin(_) | Means::Program | Means::Broker => "/".to_owned(),
        };
        let (links, masked, read_only, egress) = (Vec::new(), Vec::new(), Vec::new(), Egress::default());
        Self { task, means, profile: Profile::None, read, write, run, links, masked, read_only, cwd, egress }
    }

    /// Nothing of this machine: what happens, happens by the broker.
    pub(super) fn broker(&mut self) {
        self.heed_review();
    }

    /// What the broker may do for the step.
    pub(super) fn ask_the_broker(&mut self, egress: &Egress) {
        self.egress = egress.clone();
    }

    /// Exactly what a built-in tool touches.
    pub(super) fn tool(&mut self, builtin: Builtin, args: &Value) -> Result<(), NoLeave> {
        self.heed_review();
        let path = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match builtin {
            Builtin::Read | Builtin::List => self.read_or_parent(&path("path"))?,
            Builtin::Search => {
                self.read_or_parent(&path("path"))?;
                self.mask_restricted()?;
            }
            Builtin::Write => self.write_or_parent(&path("path"), true)?,
            Builtin::Remove | Builtin::MakeDirectory => self.write_or_parent(&path("path"), false)?,
            Builtin::Move => {
                self.write_or_parent(&path("source"), false)?;
                self.write_or_parent(&path("destination"), false)?;
            }
            Builtin::Copy => {
                self.read_or_parent(&path("source"))?;
                self.mask_restricted()?;
                self.write_or_parent(&path("destination"), false)?;
            }
            Builtin::MemoryRead => self.state_read(&self.task.places.memory),
            Builtin::MemoryWrite => self.state(&self.task.places.memory),
            Builtin::Database => self.database(&path("database"))?,
            Builtin::Remote => {}
            Builtin::Mail => {
                let files = args.get("attachments").and_then(Value::as_array).into_iter().flatten();
                for file in files.filter_map(Value::as_str) {
                    self.read_or_parent(file)?;
                }
            }
            Builtin::Program | Builtin::Git => {
                return Err(NoLeave::new(Code::InternalError, "a program needs a profile for programs"));
            }
        }
        Ok(())
    }

    /// What the policy hides or keeps from being written, by rules of its own.
    fn heed_review(&mut self) {
        self.masked.extend_from_slice(&self.task.review.masked);
        self.read_only.extend_from_slice(&self.task.review.read_only);
    }

    /// A database: its folder where it is written, for the journal; else the file and what lies beside it.
    fn database(&mut self, file: &str) -> Result<(), NoLeave> {
        if self.task.review.accesses.iter().any(|access| !access.effect.is_harmless()) {
            return self.write_or_parent(file, false);
        }
        self.read_or_parent(file)?;
        for suffix in ["-wal", "-shm", "-journal"] {
            let beside = format!("{file}{suffix}");
            if exists(self.task.facts, &beside) {
                self.read_or_parent(&beside)?;
            }
        }
        Ok(())
    }

    /// A program: system folders and toolchains, or itself with what it needs to start; and of the rest what the step is granted.
    pub(super) fn program(&mut self, profile: Profile, args: &Value) -> Result<(), NoLeave> {
        self.heed_review();
        self.profile = profile;
        let places = self.task.places;
        let roots: Vec<&str> = places.system.iter().chain(&places.toolchains).map(String::as_str).collect();
        match profile {
            Profile::Toolchain => roots.into_iter().for_each(|root| drop(self.may_run(root))),
            Profile::Exact | Profile::None => self.listed(&roots)?,
        }
        for path in places.readable.iter().chain(&self.task.review.grants.read) {
            if exists(self.task.facts, path) {
                self.read_or_parent(path)?;
            }
        }
        for path in &self.task.review.grants.write {
            if exists(self.task.facts, path) {
                self.write_or_parent(path, true)?;
            }
        }
        let named = match self.means {
            Means::Builtin(_) => args.get("cwd").or_else(|| args.get("repo")).and_then(Value::as_str),
            Means::Program | Means::Broker => None,
        };
        self.cwd = named.map_or_else(|| self.task.plan.cwd.clone(), str::to_owned);
        let shown = |grants: &Grants| grants.keys().any(|grant| is_within(&self.cwd, grant));
        if !(shown(&self.read) || shown(&self.write) || shown(&self.run) || self.cwd == "/tmp") {
            let message =
                format!("the step would start in {}, which it may not see; grant it in `privileges`", self.cwd);
            return Err(NoLeave::new(Code::PlanPrivilegeExceeded, message));
        }
        self.mask_restricted()?;
        self.protect()
    }

    /// Lets a file or folder be run, links followed, if it is there.
    fn may_run(&mut self, path: &str) -> Option<String> {
        let path = resolved(self.task.facts, path);
        let fact = self.task.facts.resolve(&path);
        matches!(fact.kind, PathKind::File | PathKind::Directory).then(|| {
            self.run.insert(path.clone(), fact.identity);
            path
        })
    }

    /// The programs that the step lists, each with what it needs to start: nothing that lies beside that. A program outside of the roots may be written by
    /// others, so what it says about itself is not read; it gets nothing more, which is enough for a static one.
    fn listed(&mut self, roots: &[&str]) -> Result<(), NoLeave> {
        let (facts, review) = (self.task.facts, self.task.review);
        let inside = |path: &str| roots.iter().any(|root| is_within(path, root));
        for program in &review.grants.run {
            let Some(program) = self.may_run(program) else { continue };
            if !inside(&program) || facts.resolve(&program).kind != PathKind::File {
                continue;
            }
            let unknown = |why: &str| {
                let message = format!("what {program} needs to start cannot be told: {why}");
                NoLeave::new(Code::ResourceUnresolved, message)
            };
            let closure = facts.closure(&program, roots).map_err(|why| unknown(&why))?;
            for (grants, paths) in [(&mut self.run, closure.run), (&mut self.read, closure.read)] {
                for path in paths {
                    let fact = facts.resolve(&path);
                    if !inside(&path) || fact.resolved.as_deref().is_some_and(|resolved| resolved != path) {
                        return Err(unknown(&format!(
                            "{path} lies outside of the system's and the toolchains' folders"
                        )));
                    }
                    grants.insert(path, fact.identity);
                }
            }
            self.links.extend(closure.links);
        }
        Ok(())
    }

    /// Makes `path` readable; where it is missing, the nearest folder, so that it is seen to be missing.
    pub(super) fn read_or_parent(&mut self, path: &str) -> Result<(), NoLeave> {
        let (near, identity) = self.nearest(path)?;
        if near == "/" {
            let message = match path {
                "/" => "the whole system is never shown to a step; name a folder in it".to_owned(),
                _ => format!("{path} does not exist, and no folder above it but the whole system"),
            };
            return Err(NoLeave::new(Code::ResourceUnresolved, message));
        }
        self.read.insert(near, identity);
        Ok(())
    }

    /// Makes `path` writable: itself where it exists and `itself` says so, else the nearest folder around it.
    pub(super) fn write_or_parent(&mut self, path: &str, itself: bool) -> Result<(), NoLeave> {
        let from = if itself && exists(self.task.facts, path) { path } else { parent(path) };
        let (path, identity) = self.nearest(from)?;
        if path == "/" {
            let message = "the root folder would become writable; a step changes nothing directly below it";
            return Err(NoLeave::new(Code::ResourceOutside, message));
        }
        self.write.insert(path, identity);
        Ok(())
    }

    /// A folder of Countersign's own state, writable. The daemon makes sure that it exists.
    pub(super) fn state(&mut self, folder: &str) {
        self.write.insert(folder.to_owned(), None);
    }

    /// The same, readable.
    pub(super) fn state_read(&mut self, folder: &str) {
        self.read.insert(folder.to_owned(), None);
    }

    /// Covers these too.
    pub(super) fn cover(&mut self, paths: &[String]) {
        self.masked.extend_from_slice(paths);
    }

    /// Whether an expectation may look at `path`: in the workspace, or in what the step is granted anyway.
    pub(super) fn may_look(&self, path: &str) -> bool {
        let deployment = &self.task.configuration.deployment;
        let fact = self.task.facts.resolve(path);
        let seen = Seen::new(path, fact.resolved.as_deref());
        let granted = |grants: &[String]| grants.iter().any(|grant| seen.both(|p| is_within(p, grant)));
        let review = &self.task.review.grants;
        // A fact about a path is reported under the name that was asked for: no link on the way.
        fact.resolved.as_deref().is_none_or(|resolved| resolved == path)
            && !deployment.is_restricted(&seen)
            && !deployment.is_own_folder(&seen)
            && (deployment.in_workspace(&seen) || granted(&review.read) || granted(&review.write))
    }

    fn nearest(&self, path: &str) -> Result<(String, Option<FileIdentity>), NoLeave> {
        let mut path = resolved(self.task.facts, path);
        loop {
            let fact = self.task.facts.resolve(&path);
            match fact.kind {
                PathKind::File | PathKind::Directory => return Ok((path, fact.identity)),
                PathKind::Missing if path != "/" => path = parent(&path).to_owned(),
                PathKind::Missing => return Ok((path, None)),
                PathKind::Unknown | PathKind::Special | PathKind::Unreadable => {
                    let message = format!("{path} is no file or folder that can be shown to a step");
                    return Err(NoLeave::new(Code::ResourceUnresolved, message));
                }
            }
        }
    }

    /// Covers every restricted file below what is shown, but for those that the step names.
    fn mask_restricted(&mut self) -> Result<(), NoLeave> {
        let deployment = &self.task.configuration.deployment;
        let named = |path: &str| self.task.review.accesses.iter().any(|access| access.resource.path() == path);
        let wanted = |path: &str| !named(path) && deployment.is_restricted(&Seen::new(path, None));
        // What every program may read is the same for every step, and public.
        let public = &self.task.places.readable;
        let shown = self.read.keys().filter(|path| !public.contains(path)).chain(self.write.keys());
        for hit in self.below(shown, &wanted)? {
            // A link is covered where it leads: a mount covers no link, and its own name shows nothing.
            let target = resolved(self.task.facts, &hit);
            let visible = |grants: &Grants| grants.keys().any(|grant| is_within(&target, grant));
            if !named(&target) && (visible(&self.read) || visible(&self.write) || visible(&self.run)) {
                self.masked.push(target);
            }
        }
        Ok(())
    }

    /// Keeps every protected path below what is writable from being written, but for those that the step was approved to change.
    fn protect(&mut self) -> Result<(), NoLeave> {
        let deployment = &self.task.configuration.deployment;
        let changed = |path: &str| {
            let accesses = self.task.review.accesses.iter().filter(|access| !access.effect.is_harmless());
            accesses.map(|access| access.resource.path()).any(|name| name == path)
        };
        let wanted = |path: &str| {
            let seen = Seen::new(path, None);
            !changed(path) && (deployment.protected().path(&seen).is_some() || deployment.is_own_file(&seen))
        };
        let hits = self.below(self.write.keys(), &wanted)?;
        self.read_only.extend(hits);
        Ok(())
    }

    /// The topmost paths below these folders that `wanted` picks.
    fn below<'p>(
        &self,
        roots: impl Iterator<Item = &'p String>,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, NoLeave> {
        let mut found = Vec::new();
        for root in roots.filter(|root| self.task.facts.resolve(root).kind == PathKind::Directory) {
            let top = RefCell::new(BTreeSet::<String>::new());
            let pick = |path: &str| {
                let mut top = top.borrow_mut();
                let mut above = path;
                while let Some((folder, _)) = above.rsplit_once('/') {
                    if top.contains(folder) {
                        return false;
                    }
                    above = folder;
                }
                wanted(path) && top.insert(path.to_owned())
            };
            let below = self.task.facts.below(root, &pick, MOST);
            if below.extent != Extent::Whole {
                let message = format!(
                    "what lies below {root} could not be looked through, so restricted and protected files in it could not \
                     be covered; grant a smaller folder in `privileges`"
                );
                return Err(NoLeave::new(Code::ResourceUnresolved, message));
            }
            found.extend(below.hits);
        }
        Ok(found)
    }

    /// The finished spec.
    pub(super) fn finish(mut self) -> Result<SandboxSpec, NoLeave> {
        let places = self.task.places;
        // A stronger or wider grant makes a narrower one superfluous, and no path is granted twice.
        let writable: Vec<String> = self.write.keys().cloned().collect();
        self.write.retain(|path, _| !writable.iter().any(|other| other != path && is_within(path, other)));
        let shown: Vec<String> = self.write.keys().chain(self.run.keys()).cloned().collect();
        let readable: Vec<String> = self.read.keys().cloned().collect();
        self.read.retain(|path, _| {
            !shown.iter().any(|other| is_within(path, other))
                && !readable.iter().any(|other| other != path && is_within(path, other))
        });
        let runnable: Vec<String> = self.run.keys().cloned().collect();
        self.run.retain(|path, _| !runnable.iter().any(|other| other != path && is_within(path, other)));
        let granted = |path: &str| {
            let all = self.read.keys().chain(self.write.keys()).chain(self.run.keys());
            all.into_iter().any(|grant| path != grant && is_within(path, grant))
        };
        let always = places.hidden.iter().filter(|path| exists(self.task.facts, path)).chain(&places.own);
        self.masked.extend(always.filter(|path| granted(path)).cloned());
        // Outside of the view there is nothing to cover.
        self.masked.retain(|path| granted(path));
        self.read_only.retain(|path| granted(path) && !self.masked.iter().any(|mask| is_within(path, mask)));
        let (masked, read_only) = (topmost(self.masked), topmost(self.read_only));
        self.links.sort();
        self.links.dedup();
        let grants = |grants: Grants| grants.into_iter().map(|(path, identity)| PathGrant { path, identity }).collect();
        Ok(SandboxSpec {
            profile: self.profile,
            read: grants(self.read),
            write: grants(self.write),
            run: grants(self.run),
            links: self.links,
            read_only,
            masked,
            cwd: self.cwd,
            loopback: self.profile != Profile::None,
            owner: self.task.configuration.owner,
            limits: match self.means {
                Means::Builtin(_) | Means::Broker => limits(self.profile, self.task.args),
                Means::Program => limits(self.profile, &Value::Null),
            },
            minimum: self.task.configuration.minimum(),
            egress: self.egress,
        })
    }
}

/// These paths without those that lie below another of them.
fn topmost(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths.dedup();
    let all: BTreeSet<String> = paths.iter().cloned().collect();
    let below = |path: &str| {
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        folders.into_iter().any(|folder| !folder.is_empty() && all.contains(folder))
    };
    paths.retain(|path| !below(path));
    paths
}

/// The folder that holds `path`.
pub(super) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

/// Whether a file or folder is there.
pub(super) fn exists(facts: &dyn Facts, path: &str) -> bool {
    matches!(facts.resolve(path).kind, PathKind::File | PathKind::Directory)
}

/// `path` after every link.
pub(super) fn resolved(facts: &dyn Facts, path: &str) -> String {
    facts.resolve(path).resolved.unwrap_or_else(|| path.to_owned())
}

/// `path` after every link on the way to it, but not at its end.
pub(super) fn in_resolved_folder(facts: &dyn Facts, path: &str) -> String {
    let Some((_, name)) = path.rsplit_once('/') else { return path.to_owned() };
    match resolved(facts, parent(path)).as_str() {
        "/" => format!("/{name}"),
        folder => format!("{folder}/{name}"),
    }
}

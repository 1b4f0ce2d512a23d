//! What the machine says, as values: the only way in which the world outside reaches a decision.
//!
//! The gate answers from the file system and its counters, an evaluation suite with [`AsWritten`], a test with [`Known`].

use std::cell::Cell;
use std::collections::BTreeMap;

use countersign_plan::access::FileIdentity;
use countersign_plan::confinement::{PathLink, Profile};
use countersign_plan::deed::{Deed, Departure};
use countersign_plan::digest::Digest;
use countersign_plan::inspection::{Inspection, Subject};
use countersign_plan::verdict::{Code, Reason};

use crate::deployment::SandboxMinimum;
use crate::flow::Session;

/// What a path names on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathKind {
    /// Nothing is known: the path is judged as written.
    #[default]
    Unknown,
    /// Nothing is there.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A socket, a pipe or a device.
    Special,
    /// The path cannot be examined (permission, a link loop): what it touches cannot be known.
    Unreadable,
}

/// What is known about a path after following every link that exists; a missing last part keeps its name below its resolved
/// parent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathFact {
    /// The path after every symbolic link, where that differs from the path as written.
    pub resolved: Option<String>,
    /// The file that is there, if one is.
    pub identity: Option<FileIdentity>,
    /// What it is.
    pub kind: PathKind,
}

/// How far a listing went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything below the directory was looked at.
    Whole,
    /// A bound was reached or a folder could not be read: more may be there.
    Cut,
    /// This machine is not the one the plan is about: patterns are compared as written.
    AsWritten,
}

/// Paths below a directory that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// Absolute paths, links not followed.
    pub hits: Vec<String>,
    /// How far the listing went.
    pub extent: Extent,
}

/// Why there is no inspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotInspected {
    /// Nothing here inspects: documents are explained and tried without a monitor. Texts are then not looked at, lines ask.
    #[error("nothing here inspects command lines and texts")]
    Nobody,
    /// What inspects gave no answer in time, or one that cannot be read.
    #[error("the inspector gave no answer that can be read")]
    Failed,
}

/// What a second model said of a plan. The worst that a wrong one can do is that a `verify` rule of tier 2 asks nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Evaluation {
    /// Nobody was asked.
    #[default]
    NotAsked,
    /// It sees no harm.
    Harmless,
    /// It sees harm, or cannot tell; in words for people.
    Doubtful(&'static str),
    /// Nothing that counts, and why.
    Failed(String),
}

/// What a machine lacks to confine a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// What is missing, and why.
    pub missing: String,
    /// What to do about it.
    pub fix: String,
}

/// The machine as decisions see it. Answers must not change within one review.
pub trait Facts {
    /// What the absolute, lexically normalised `path` names.
    fn resolve(&self, path: &str) -> PathFact;

    /// The paths below the directory `dir` that `wanted` picks, at most `limit` of them.
    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below;

    /// Actions that this principal proposed in the last minute.
    fn recent_actions(&self) -> u32;

    /// What this machine lacks to confine a step of that profile as far as the deployment wants; nothing where it is not asked.
    fn lacks(&self, minimum: SandboxMinimum, profile: Profile) -> Option<Lack> {
        let _ = (minimum, profile);
        None
    }

    /// What the evaluator said of exactly this draft under exactly this policy.
    fn evaluation(&self, draft: Digest, policy: Digest) -> Evaluation {
        let _ = (draft, policy);
        Evaluation::NotAsked
    }

    /// Whether a plan of this draft was let through before: what people let pass in it passed once.
    fn is_spent(&self, draft: Digest) -> bool {
        let _ = draft;
        false
    }

    /// How far a plan departs from what its agent did before; not at all where nobody remembers.
    fn departure(&self, deed: &Deed) -> Departure {
        let _ = deed;
        Departure::default()
    }

    /// The labels that the agent's earlier work left, as they count for this decision.
    fn session(&self) -> &Session {
        Session::empty()
    }

    /// Whether the state of these paths, and of all that lies below them, can be kept in one snapshot: small enough, and files,
    /// folders and links only. A machine that is not asked about sizes says yes.
    fn fit_snapshot(&self, paths: &[&str]) -> bool {
        let _ = paths;
        true
    }

    /// The absolute path of a program, looked up by name in the fixed path; links followed.
    fn program(&self, name: &str) -> Option<String>;

    /// What the program at this path, links followed, needs to start. Only files below the `roots`, which no step can write, are read to find that
    /// out, and nothing else is ever part of the answer.
    ///
    /// # Errors
    /// In words for people: why that cannot be told.
    fn closure(&self, program: &str, roots: &[&str]) -> Result<Closure, String> {
        let _ = (program, roots);
        Err("nobody here reads programs".to_owned())
    }

    /// What the subject would do, read without running it. The answer is untrusted: it comes from a process that reads hostile
    /// text.
    ///
    /// # Errors
    /// There is none; then nothing is understood and people are asked.
    fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        let _ = subject;
        Err(NotInspected::Nobody)
    }
}

/// The facts of one review, watched for inspections that failed: whatever the place that asked made of that, the review as a whole
/// was made without something that it wanted to know.
pub(crate) struct Watched<'a> {
    facts: &'a dyn Facts,
    failed: Cell<bool>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(facts: &'a dyn Facts) -> Self {
        Self { facts, failed: Cell::new(false) }
    }

    /// Why people decide, where an inspection failed.
    pub(crate) fn failed(&self) -> Option<Reason> {
        let message = "a part of this was not inspected: the inspector gave no answer that can be read";
        let reason = || Reason::ask(Code::ExecuteUnanalysed, message);
        self.failed.get().then(|| reason().fix("propose it again; people decide until the inspector answers"))
    }
}

impl Facts for Watched<'_> {
    fn resolve(&self, path: &str) -> PathFact {
        self.facts.resolve(path)
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        self.facts.below(dir, wanted, limit)
    }

    fn recent_actions(&self) -> u32 {
        self.facts.recent_actions()
    }

    fn departure(&self, deed: &Deed) -> Departure {
        self.facts.departure(deed)
    }

    fn lacks(&self, minimum: SandboxMinimum, profile: Profile) -> Option<Lack> {
        self.facts.lacks(minimum, profile)
    }

    fn evaluation(&self, draft: Digest, policy: Digest) -> Evaluation {
        self.facts.evaluation(draft, policy)
    }

    fn is_spent(&self, draft: Digest) -> bool {
        self.facts.is_spent(draft)
    }

    fn session(&self) -> &Session {
        self.facts.session()
    }

    fn fit_snapshot(&self, paths: &[&str]) -> bool {
        self.facts.fit_snapshot(paths)
    }

    fn program(&self, name: &str) -> Option<String> {
        self.facts.program(name)
    }

    fn closure(&self, program: &str, roots: &[&str]) -> Result<Closure, String> {
        self.facts.closure(program, roots)
    }

    fn inspect(&self, subject: &Subject) -> Result<Inspection, NotInspected> {
        let inspection = self.facts.inspect(subject);
        if matches!(inspection, Err(NotInspected::Failed)) {
            self.failed.set(true);
        }
        inspection
    }
}

/// What a program needs to start, itself left out. Paths are absolute, without a link in any component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closure {
    /// Read and run: interpreters, the loader, libraries.
    pub run: Vec<String>,
    /// Read: data that the C library looks for.
    pub read: Vec<String>,
    /// The links under whose names those are looked for.
    pub links: Vec<PathLink>,
}

/// No machine: every path is judged as written, and programs are where a system keeps them. For suites and documents of another
/// machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct AsWritten;

impl Facts for AsWritten {
    fn resolve(&self, _path: &str) -> PathFact {
        PathFact::default()
    }

    fn below(&self, _dir: &str, _wanted: &dyn Fn(&str) -> bool, _limit: usize) -> Below {
        Below { hits: Vec::new(), extent: Extent::AsWritten }
    }

    fn recent_actions(&self) -> u32 {
        0
    }

    fn program(&self, name: &str) -> Option<String> {
        (!name.contains('/')).then(|| format!("/usr/bin/{name}"))
    }
}

/// A machine made of a few entries: for tests of this crate and of those above it.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// What paths name; any other path is missing.
    pub paths: BTreeMap<String, PathFact>,
    /// Programs by name.
    pub programs: BTreeMap<String, String>,
    /// Actions in the last minute.
    pub recent: u32,
    /// How far listings go.
    pub cut: bool,
    /// Paths that are too large for a snapshot.
    pub large: Vec<String>,
    /// How far every plan departs from what was done before.
    pub departure: Departure,
    /// What programs need to start; the others are static.
    pub closures: BTreeMap<String, Closure>,
    /// What the evaluator says of everything.
    pub evaluation: Evaluation,
}

impl Facts for Known {
    fn resolve(&self, path: &str) -> PathFact {
        self.paths.get(path).cloned().unwrap_or(PathFact { kind: PathKind::Missing, ..PathFact::default() })
    }

    fn below(&self, dir: &str, wanted: &dyn Fn(&str) -> bool, limit: usize) -> Below {
        let prefix = if dir == "/" { "/".to_owned() } else { format!("{dir}/") };
        let all = self.paths.keys().filter(|path| path.starts_with(&prefix) && wanted(path));
        let hits: Vec<String> = all.take(limit).cloned().collect();
        let extent = if self.cut || hits.len() == limit { Extent::Cut } else { Extent::Whole };
        Below { hits, extent }
    }

    fn recent_actions(&self) -> u32 {
        self.recent
    }

    fn departure(&self, _deed: &Deed) -> Departure {
        self.departure
    }

    fn evaluation(&self, _draft: Digest, _policy: Digest) -> Evaluation {
        self.evaluation.clone()
    }

    fn fit_snapshot(&self, paths: &[&str]) -> bool {
        !paths.iter().any(|path| self.large.iter().any(|large| large == path))
    }

    fn program(&self, name: &str) -> Option<String> {
        self.programs.get(name).cloned()
    }

    fn closure(&self, program: &str, _roots: &[&str]) -> Result<Closure, String> {
        Ok(self.closures.get(program).cloned().unwrap_or_default())
    }
}

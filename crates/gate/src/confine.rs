//! From a judged step to its sandbox: exactly the files that the step was approved for, and nothing that must stay hidden.
//!
//! Which profile a step has is the policy's word: `none` for the built-in file, memory and database tools; `exact` for git on
//! this machine and for a command whose manifest says so; `toolchain` for every other program, which is any code that its view
//! permits. A view holds only what is granted here, so masks and read-only parts are computed for what
//! lies below a grant: restricted files are covered, protected ones cannot be written, whatever the program does.

mod tools;
mod view;

use countersign_plan::artifact::Plan;
use countersign_plan::confinement::{Limits, Profile, SandboxSpec};
use countersign_plan::digest::Digest;
use countersign_plan::expect::Expect;
use countersign_plan::id::{StepId, ToolName};
use countersign_plan::permit::Phase;
use countersign_plan::tool::{Definition, Tool};
use countersign_plan::verdict::Code;
use countersign_policy::facts::Facts;
use countersign_policy::review::StepReview;
use serde_json::{Map, Value};

use self::tools::{Builtin, Means};
use self::view::View;
use crate::configuration::{Configuration, Places};
use crate::directive::{Order, Snapshot};

/// Everything that a sandbox is derived from.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) step: &'a StepId,
    pub(crate) phase: Phase,
    pub(crate) tool: &'a ToolName,
    /// Concrete arguments as the plan writes them.
    pub(crate) args: &'a Value,
    /// What the policy says about them now.
    pub(crate) review: &'a StepReview,
    pub(crate) expects: &'a [Expect],
    pub(crate) plan: &'a Plan,
    pub(crate) configuration: &'a Configuration,
    pub(crate) places: &'a Places,
    pub(crate) facts: &'a dyn Facts,
}

/// A step with its sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Confined {
    pub(crate) spec: SandboxSpec,
    pub(crate) order: Order,
}

/// Why a step gets no sandbox, or no leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub(crate) struct NoLeave {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl NoLeave {
    pub(crate) fn new(code: Code, message: impl AsRef<str>) -> Self {
        Self { code, message: countersign_plan::text::escape(message.as_ref()) }
    }
}

impl Task<'_> {
    /// The act of a step, or its compensation.
    ///
    /// # Errors
    /// Something that the step needs is not on this machine, or cannot be shown to it.
    pub(crate) fn act(&self) -> Result<Confined, NoLeave> {
        let tool = self.definition()?;
        let means = Means::of(tool)?;
        let args = self.absolute(means)?;
        let mut view = View::new(self, means);
        match (means, self.review.profile) {
            (Means::Broker, Profile::None) => view.broker(),
            (Means::Builtin(builtin), Profile::None) => view.tool(builtin, &args)?,
            (Means::Program | Means::Builtin(_), profile @ (Profile::Exact | Profile::Toolchain)) => {
                view.program(profile, &args)?;
            }
            (Means::Program, Profile::None) | (Means::Broker, Profile::Exact | Profile::Toolchain) => {
                return Err(NoLeave::new(Code::InternalError, "the sandbox that was judged does not fit the tool"));
            }
        }
        view.ask_the_broker(&self.review.egress);
        let facts = self.expected(&mut view);
        let order = Order {
            step: self.step.clone(),
            phase: self.phase,
            tool: self.tool.clone(),
            args,
            facts,
            driver: Means::driver(tool),
            snapshot: None,
        };
        Ok(Confined { spec: view.finish()?, order })
    }

    /// Keeping the state before the act.
    ///
    /// # Errors
    /// As [`Task::act`].
    pub(crate) fn snapshot(&self) -> Result<Confined, NoLeave> {
        let means = Means::of(self.definition()?)?;
        let act = self.act()?;
        let targets = self.targets(means, &act);
        let mut view = View::new(self, means);
        for target in &targets {
            view.read_or_parent(target)?;
        }
        let store = self.store();
        view.state(&store);
        view.cover(&act.spec.masked);
        let limit = self.places.snapshot_limit;
        let snapshot = Some(Snapshot { targets, store, limit, index: None });
        let order = Order { facts: Vec::new(), snapshot, ..act.order };
        Ok(Confined { spec: view.finish()?, order })
    }

    /// Putting back what a snapshot kept.
    ///
    /// # Errors
    /// As [`Task::act`].
    pub(crate) fn restore(&self, kept: &Confined, index: Digest) -> Result<Confined, NoLeave> {
        let lost = || NoLeave::new(Code::InternalError, "the step has no snapshot");
        let before = kept.order.snapshot.as_ref().ok_or_else(lost)?;
        let mut view = View::new(self, Means::of(self.definition()?)?);
        let program = self.review.profile != Profile::None;
        for target in &before.targets {
            view.write_or_parent(target, program)?;
        }
        view.state_read(&before.store);
        view.cover(&kept.spec.masked);
        let snapshot = Some(Snapshot { index: Some(index), ..before.clone() });
        let order = Order { phase: Phase::Restore, snapshot, ..kept.order.clone() };
        Ok(Confined { spec: view.finish()?, order })
    }

    fn definition(&self) -> Result<&Definition, NoLeave> {
        let gone = || NoLeave::new(Code::ToolChanged, format!("no tool `{}` exists here any more", self.tool));
        self.configuration.manifest.get(self.tool).map(Tool::definition).ok_or_else(gone)
    }

    fn store(&self) -> String {
        format!("{}/{}/{}", self.places.snapshots, self.plan.case, self.step)
    }

    /// The arguments with absolute paths, links followed; of what is removed or moved, up to its folder.
    fn absolute(&self, means: Means) -> Result<Value, NoLeave> {
        let mut args = self.args.clone();
        let Some(members) = args.as_object_mut() else {
            return Err(NoLeave::new(Code::ToolArguments, "the arguments are no object"));
        };
        let Means::Builtin(builtin) = means else { return Ok(args) };
        if builtin == Builtin::Mail {
            self.mail(members)?;
        }
        for (name, follow) in builtin.paths() {
            let written = match members.get(*name) {
                Some(Value::String(path)) => path.clone(),
                None if *name == "cwd" => self.plan.cwd.clone(),
                Some(_) | None => continue,
            };
            let place = self.configuration.deployment.place();
            let path = place.normalise(&written).map_err(|e| NoLeave::new(Code::ResourceUnresolved, e.to_string()))?;
            let path =
                if *follow { view::resolved(self.facts, &path) } else { view::in_resolved_folder(self.facts, &path) };
            members.insert((*name).to_owned(), Value::String(path));
        }
        Ok(args)
    }

    /// A mail goes to the address that was judged, as it was judged, and carries files by absolute paths.
    fn mail(&self, args: &mut Map<String, Value>) -> Result<(), NoLeave> {
        let [address] = self.review.egress.mail.as_slice() else {
            let message = "a mail goes to one address; write a step for each recipient";
            return Err(NoLeave::new(Code::ToolArguments, message));
        };
        args.insert("to".to_owned(), Value::String(address.clone()));
        let place = self.configuration.deployment.place();
        for file in args.get_mut("attachments").and_then(Value::as_array_mut).into_iter().flatten() {
            let written = file.as_str().unwrap_or_default();
            let path = place.normalise(written).map_err(|e| NoLeave::new(Code::ResourceUnresolved, e.to_string()))?;
            *file = Value::String(view::resolved(self.facts, &path));
        }
        Ok(())
    }

    /// The paths of files that expectations ask about, seen to it that the step can see them. What lies outside of the step's
    /// grants and the workspace is not looked at, and the expectation does not hold.
    fn expected(&self, view: &mut View<'_>) -> Vec<String> {
        let mut paths = Vec::new();
        for file in self.expects.iter().filter_map(Expect::file) {
            let path = expected_path(&self.plan.cwd, file);
            if view.may_look(&path) && view.read_or_parent(&path).is_ok() {
                paths.push(path);
            }
        }
        paths
    }

    /// What an act may change.
    fn targets(&self, means: Means, act: &Confined) -> Vec<String> {
        match means {
            Means::Builtin(builtin) if self.review.profile == Profile::None => {
                builtin.targets(&act.order.args, self.places, self.facts)
            }
            Means::Builtin(_) | Means::Program => act.spec.write.iter().map(|grant| grant.path.clone()).collect(),
            Means::Broker => Vec::new(),
        }
    }
}

/// A path of an expectation in the form in which facts are reported: absolute and lexically normal, `~` not special. The
/// executor names it in the same way.
pub(crate) fn expected_path(cwd: &str, path: &str) -> String {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The limits of a profile, with the time that the step asks for.
fn limits(profile: Profile, args: &Value) -> Limits {
    let base = match profile {
        Profile::None => return Limits::BUILTIN,
        Profile::Exact | Profile::Toolchain => Limits::PROGRAM,
    };
    let asked = args.get("timeout_s").and_then(Value::as_f64).filter(|s| *s > 0.0 && *s <= 3600.0);
    match asked.map(std::time::Duration::from_secs_f64) {
        None => base,
        Some(time) => {
            let wall_ms = u64::try_from(time.as_millis()).unwrap_or(base.wall_ms).max(1);
            Limits { wall_ms, cpu_s: wall_ms.div_ceil(1000).max(base.cpu_s), ..base }
        }
    }
}

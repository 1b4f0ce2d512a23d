//! From a tool, its arguments and the machine's facts to what a step touches: an effect on each named resource.
//!
//! The manifest's effect is the least; built-in tools are read exactly, argument by argument, and their arguments add to it (HTTP
//! method, git subcommand, SQL verb). Resources are where the manifest says, never guessed from key names (`lesson_09`).

mod arguments;
mod builtin;
mod content;
mod egress;
mod git;
mod inspected;
mod programs;
mod remote;
mod written;

pub(crate) use arguments::{Arg, substitute};
pub(crate) use egress::{of as egress, secrets};
pub(crate) use inspected::{REFERENCE, is_of_git, literal_folder};
pub(crate) use written::Written;

use countersign_plan::access::{Access, FileIdentity, Resource};
use countersign_plan::confinement::Profile;
use countersign_plan::pointer::Pointer;
use countersign_plan::tool::{Definition, Driver, Effect, TargetKind};
use countersign_plan::value::Expr;
use countersign_plan::verdict::{Code, Decision, Reason};

use crate::deployment::{Deployment, Standing, is_path_kind};
use crate::facts::{Facts, PathKind};
use crate::hosts::Endpoint;
use crate::identities;
use crate::paths::{Place, Seen};
use crate::policy::Use;

/// The most resources that one step names: judging is bounded by it.
const MAX_TOUCHES: usize = 256;

/// The most links that are followed from one name, as the kernel bounds them (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// One thing that a step touches.
#[derive(Debug, Clone)]
pub(crate) struct Touch {
    pub(crate) effect: Effect,
    pub(crate) kind: TargetKind,
    /// The canonical name; empty while a reference has no value.
    pub(crate) name: String,
    pub(crate) resolved: Option<String>,
    pub(crate) identity: Option<FileIdentity>,
    pub(crate) path_kind: PathKind,
    pub(crate) endpoint: Option<Endpoint>,
    /// Who receives, for hosts and identities.
    pub(crate) standing: Option<Standing>,
    pub(crate) recursive: bool,
    /// Whether the name is a pattern or has a part that is not known, so that it stands for several resources.
    pub(crate) pattern: bool,
    /// The pattern of everything that it may stand for, where no machine says.
    pub(crate) shape: Option<String>,
    pub(crate) by: By,
}

/// Through what a resource is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// By the tool itself, on exactly this resource.
    Tool,
    /// By a move: what is removed here appears at the destination.
    Move,
    /// By a command line that was read: what it names.
    Command,
    /// By a program, anywhere below: the sandbox's view bounds it, hides what is restricted and keeps what is protected.
    View,
    /// By git, inside its own folder and the files that it tracks.
    Git,
}

/// What a step does, as far as its arguments say.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    pub(crate) touches: Vec<Touch>,
    /// What was found on the way: hidden text, addresses that cannot be read, forbidden statements.
    pub(crate) findings: Vec<Reason>,
    /// Messages of those that say that a whole database goes.
    pub(crate) databases: Vec<String>,
    /// Where references stand in what is touched.
    pub(crate) open: Vec<Open>,
    /// Data that commands send away.
    pub(crate) leaving: Vec<Leaving>,
    /// For an execute effect: whether every part of the command line is understood.
    pub(crate) execution: Execution,
    /// The parts of it that nobody understood, and how far they are understood.
    pub(crate) unclear: Vec<(Execution, String)>,
    /// What a line changes where it is, by programs that are there for that.
    pub(crate) edited: Vec<String>,
    /// A folder that is removed with all below it, which shows only when the step runs.
    pub(crate) removes_unseen: Option<String>,
    /// A refined effect that the tool's class of reversibility does not speak about.
    pub(crate) beyond_manifest: Option<Beyond>,
    pub(crate) profile: Option<Profile>,
    pub(crate) programs: Vec<String>,
    /// The programs that its lines call, by their own names.
    pub(crate) called: Vec<String>,
    /// The same with their arguments; what is not known of one is empty.
    pub(crate) calls: Vec<Vec<String>>,
    /// Whether every program of it only makes an environment or installs packages into one.
    pub(crate) installs: bool,
    /// Links that the step makes: where, and to what.
    pub(crate) links: Vec<(String, String)>,
}

/// Data that a command sends to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) origin: Origin,
    /// The host, `?` where it is not known.
    pub(crate) to: String,
    pub(crate) standing: Standing,
}

/// Where data that leaves comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file, or the files of a pattern.
    File { name: String, resolved: Option<String> },
    /// The environment.
    Environment,
    /// One variable of it.
    Variable,
    /// A credential that stands in the command.
    Secret,
    /// A server of databases, which hands rows to a program of its own.
    Rows,
    /// Nobody knows.
    Unknown,
}

/// A reference in what is touched.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) effect: Effect,
    pub(crate) kind: TargetKind,
    pub(crate) at: Pointer,
}

/// How far a command line is understood. Ordered from all to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Execution {
    /// Nothing is executed, or every part is understood.
    #[default]
    Analysed,
    /// Which file is read shows only when it runs; everything else is understood. In the sandbox that is a file of the view.
    ReadsUnnamed,
    /// A program by argv that no catalogue describes.
    Uncatalogued,
    /// A command line or option that was not analysed.
    Unanalysed,
}

/// What takes back an effect that arguments added to a harmless tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// A file that can be kept.
    Snapshot,
    /// Another party's state: its answer to a request, as the default row for networks judges it.
    Remote,
    /// Nothing.
    Nothing,
}

/// What deriving looks at.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) deployment: &'a Deployment,
    pub(crate) facts: &'a dyn Facts,
    /// What was written before.
    pub(crate) written: &'a Written,
}

/// What the tool does with these arguments. `args` is an object in which inputs are filled.
pub(crate) fn derive(tool: &Definition, args: &Expr, scene: Scene<'_>) -> Derived {
    let mut deriving = Deriving { scene, args, out: Derived::default() };
    match &tool.driver {
        Driver::Builtin(name) => deriving.builtin(name.as_str(), tool),
        Driver::Http(driver) => deriving.http_driver(tool, driver),
        Driver::Mcp(driver) => deriving.mcp_driver(tool, driver),
        Driver::Command(driver) => deriving.command_driver(tool, driver),
        Driver::None => deriving.declared(tool),
    }
    if deriving.out.touches.len() > MAX_TOUCHES {
        let message = format!("one step names {} resources, but at most {MAX_TOUCHES}", deriving.out.touches.len());
        deriving.found(Code::PolicyLimit, Decision::Block, message);
        deriving.out.touches.truncate(MAX_TOUCHES);
        deriving.out.open.truncate(MAX_TOUCHES);
    }
    deriving.out
}

impl Touch {
    /// The access as plans and people see it.
    pub(crate) fn access(&self) -> Access {
        Access {
            effect: self.effect,
            resource: Resource {
                kind: self.kind,
                name: self.name.clone(),
                resolved: self.resolved.clone(),
                identity: self.identity,
            },
            recursive: self.recursive,
        }
    }

    /// The path, where it is one.
    pub(crate) fn seen(&self) -> Option<Seen<'_>> {
        is_path_kind(self.kind).then(|| Seen::new(&self.name, self.resolved.as_deref()).meaning(self.shape.as_deref()))
    }

    /// The use as rules see it.
    pub(crate) fn as_use(&self) -> Use<'_> {
        Use { effect: self.effect, kind: self.kind, path: self.seen(), endpoint: self.endpoint.as_ref() }
    }
}

/// A derivation under way.
struct Deriving<'a> {
    scene: Scene<'a>,
    args: &'a Expr,
    out: Derived,
}

impl Deriving<'_> {
    fn place(&self) -> &Place {
        self.scene.deployment.place()
    }

    fn found(&mut self, code: Code, decision: Decision, message: impl AsRef<str>) {
        self.out.findings.push(Reason::new(code, decision, message));
    }

    fn arg(&self, pointer: &Pointer) -> Arg {
        Arg::of(self.args, pointer)
    }

    fn named(&self, name: &str) -> Arg {
        self.arg(&Pointer::from_segments(vec![name.to_owned()]))
    }

    /// The manifest's own effect on the manifest's own target.
    fn declared(&mut self, tool: &Definition) {
        if tool.effect == Effect::Execute && self.out.execution == Execution::Analysed {
            self.out.execution = Execution::Uncatalogued;
        }
        self.target(tool, tool.effect);
        if tool.target.kind == TargetKind::Process {
            self.line_for_later(tool);
        }
        self.line_in_an_argument();
        if tool.target.kind == TargetKind::Email {
            self.further_recipients(tool);
        }
    }

    /// Addresses in other arguments that decide what happens: copies, blind copies, a reply's address.
    fn further_recipients(&mut self, tool: &Definition) {
        for at in tool.controls.iter().filter(|at| Some(*at) != tool.target.arg.as_ref()) {
            for arg in self.arg(at).each() {
                match arg {
                    Arg::Text(text) if text.contains('@') => self.addresses(tool.effect, &text),
                    Arg::Text(_) | Arg::List(_) | Arg::Open | Arg::Absent | Arg::Other => {}
                }
            }
        }
    }

    /// `effect` on the manifest's own target.
    fn target(&mut self, tool: &Definition, effect: Effect) {
        let Some(at) = &tool.target.arg else {
            self.other(effect, tool.target.kind, tool.name.as_str());
            return;
        };
        for arg in self.arg(at).each() {
            match arg {
                Arg::Text(text) => self.resource(effect, tool.target.kind, &text, false),
                Arg::Open => self.open(effect, tool.target.kind, at.clone()),
                // An argument that names nothing: the tool's own default, whatever it is.
                Arg::Absent => self.other(effect, tool.target.kind, tool.name.as_str()),
                Arg::Other => {
                    self.found(Code::ToolArguments, Decision::Block, format!("{at} names no {}", tool.target.kind));
                }
                Arg::List(_) => {}
            }
        }
    }

    /// `effect` on the resource of this name, whatever its kind.
    fn resource(&mut self, effect: Effect, kind: TargetKind, text: &str, recursive: bool) {
        match kind {
            TargetKind::File | TargetKind::Directory => self.path(effect, kind, text, recursive, By::Tool),
            TargetKind::Url => self.endpoint(effect, kind, text, Endpoint::of_url(text)),
            TargetKind::Host => self.endpoint(effect, kind, text, Endpoint::parse(text)),
            TargetKind::Email => self.addresses(effect, text),
            TargetKind::Channel | TargetKind::Account => self.identity(effect, kind, text),
            TargetKind::Database
            | TargetKind::Calendar
            | TargetKind::Memory
            | TargetKind::Process
            | TargetKind::Record
            | TargetKind::Other => {
                if let Err(hidden) = countersign_plan::text::check_visible(text) {
                    self.found(Code::PlanHiddenText, Decision::Block, format!("the {kind} hides something: {hidden}"));
                }
                self.other(effect, kind, text);
            }
        }
    }

    fn path(&mut self, effect: Effect, kind: TargetKind, text: &str, recursive: bool, by: By) {
        self.path_at(&self.place().clone(), effect, kind, text, recursive, by);
    }

    fn path_at(&mut self, place: &Place, effect: Effect, kind: TargetKind, text: &str, recursive: bool, by: By) {
        let name = match place.normalise(text) {
            Ok(name) => name,
            Err(e) => {
                self.found(Code::PlanHiddenText, Decision::Block, format!("the path hides something: {e}"));
                return;
            }
        };
        let looks = matches!(effect, Effect::Read | Effect::Execute);
        for name in self.behind_links(&name, effect != Effect::Delete, looks) {
            self.place_path(effect, kind, name, recursive, by);
        }
        // Whoever takes all of a folder takes what the links of the plan in it lead to.
        if recursive && effect == Effect::Read {
            let within = |(link, _): &&(String, String)| crate::paths::is_within(link, &name) && *link != name;
            let inside: Vec<String> = self.scene.written.links().filter(within).map(|(_, to)| to.clone()).collect();
            for name in inside.into_iter().take(MAX_LINKS) {
                self.place_path(effect, kind, name, false, by);
            }
        }
        self.place_path(effect, kind, name, recursive, by);
    }

    /// What lies behind the links that the plan makes, each by each: it is touched as well, whatever is there now. Whoever removes a link
    /// leaves what it leads to (`through`); whoever makes one does not write there (`own`, of the links that the step itself makes).
    fn behind_links(&self, name: &str, through: bool, own: bool) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut at = Some(name.to_owned());
        for next in 0..MAX_LINKS {
            let Some(name) = at else { break };
            let before = self.scene.written.links().filter_map(|link| beyond(link, &name, through));
            let behind = before.chain(self.out.links.iter().filter_map(|link| beyond(link, &name, own)));
            let new: Vec<String> = behind.filter(|name| !found.contains(name)).collect();
            found.extend(new);
            at = found.get(next).cloned();
        }
        found
    }

    fn place_path(&mut self, effect: Effect, kind: TargetKind, name: String, recursive: bool, by: By) {
        let fact = self.scene.facts.resolve(&name);
        if fact.kind == PathKind::Unreadable {
            let message = format!("{name} cannot be examined");
            self.found(Code::ResourceUnresolved, Decision::RequireApproval, message);
        }
        let directory = fact.kind == PathKind::Directory;
        self.out.touches.push(Touch {
            effect,
            kind,
            resolved: fact.resolved.filter(|r| *r != name),
            identity: fact.identity,
            path_kind: fact.kind,
            endpoint: None,
            standing: None,
            recursive: recursive || (directory && changes(effect) && by != By::Git),
            pattern: false,
            shape: None,
            by,
            name,
        });
    }

    fn endpoint(
        &mut self,
        effect: Effect,
        kind: TargetKind,
        text: &str,
        endpoint: Result<Endpoint, crate::hosts::HostError>,
    ) {
        match endpoint {
            Ok(endpoint) => {
                let standing = self.scene.deployment.standing_of_host(&endpoint);
                let name = if kind == TargetKind::Url { text.to_owned() } else { endpoint.to_string() };
                self.out.touches.push(Touch {
                    endpoint: Some(endpoint),
                    standing: Some(standing),
                    ..Touch::plain(effect, kind, name)
                });
            }
            Err(e) => {
                let code = if e.deceives() { Code::PlanHiddenText } else { Code::HostInvalid };
                self.found(code, Decision::Block, e.to_string());
            }
        }
    }

    fn addresses(&mut self, effect: Effect, text: &str) {
        // What is read in a mailbox is picked by a number, and nobody receives anything.
        if effect.is_harmless() && !text.contains('@') && identities::name(text).is_ok() {
            self.out.touches.push(Touch::plain(effect, TargetKind::Email, text.to_owned()));
            return;
        }
        match identities::addresses(text) {
            Ok(addresses) => {
                for address in addresses {
                    let standing = Some(self.scene.deployment.standing_of(&address));
                    let plain = Touch::plain(effect, TargetKind::Email, address);
                    self.out.touches.push(Touch { standing, ..plain });
                }
            }
            Err(e) => self.no_identity(effect, TargetKind::Email, &e),
        }
    }

    fn identity(&mut self, effect: Effect, kind: TargetKind, text: &str) {
        match identities::name(text) {
            Ok(name) => {
                let standing = Some(self.scene.deployment.standing_of(&name));
                self.out.touches.push(Touch { standing, ..Touch::plain(effect, kind, name) });
            }
            Err(e) => self.no_identity(effect, kind, &e),
        }
    }

    fn no_identity(&mut self, effect: Effect, kind: TargetKind, error: &identities::IdentityError) {
        let (code, decision) = match error {
            identities::IdentityError::Hidden(_) => (Code::PlanHiddenText, Decision::Block),
            identities::IdentityError::Ambiguous(_) => (Code::HostInvalid, Decision::RequireApproval),
        };
        self.found(code, decision, error.to_string());
        let plain = Touch::plain(effect, kind, "?".to_owned());
        self.out.touches.push(Touch { standing: Some(Standing::Other), ..plain });
    }

    fn other(&mut self, effect: Effect, kind: TargetKind, name: &str) {
        self.out.touches.push(Touch::plain(effect, kind, name.to_owned()));
    }

    /// `effect` on something that a reference will name.
    fn open(&mut self, effect: Effect, kind: TargetKind, at: Pointer) {
        self.out.touches.push(Touch::plain(effect, kind, String::new()));
        self.out.open.push(Open { effect, kind, at });
    }
}

/// Where a path leads that goes through a link; or that is one, where it is followed.
fn beyond((link, target): &(String, String), name: &str, followed: bool) -> Option<String> {
    let rest = name.strip_prefix(link.as_str())?;
    (rest.starts_with('/') || (rest.is_empty() && followed)).then(|| format!("{target}{rest}"))
}

/// Whether an effect on a file changes it.
pub(crate) const fn changes(effect: Effect) -> bool {
    !matches!(effect, Effect::None | Effect::Read | Effect::Execute)
}

impl Touch {
    pub(crate) const fn plain(effect: Effect, kind: TargetKind, name: String) -> Self {
        Self {
            effect,
            kind,
            name,
            resolved: None,
            identity: None,
            path_kind: PathKind::Unknown,
            endpoint: None,
            standing: None,
            recursive: false,
            pattern: false,
            shape: None,
            by: By::Tool,
        }
    }

    /// Whether the resource is other afterwards than before; running a file leaves it as it is.
    pub(crate) const fn changes(&self) -> bool {
        changes(self.effect)
    }

    /// Whether it is a push to a remote that the repository's own configuration names.
    pub(crate) fn is_push(&self) -> bool {
        self.effect == Effect::Send && self.by == By::Command && self.name.starts_with("git push")
    }

    /// Whether a reference has still to name it.
    pub(crate) fn is_open(&self) -> bool {
        self.name.is_empty()
    }
}

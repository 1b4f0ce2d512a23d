//! The result: plain data that can be stored, compared and sent over a socket.

use countersign_plan::access::{Access, Resource};
use countersign_plan::tool::{Effect, TargetKind};
use countersign_plan::verdict::Decision;
use serde::{Deserialize, Serialize};

/// The most entries of each kind in one result; above it an [`UnknownKind::TooMuch`] says so.
pub(crate) const MAX_ENTRIES: usize = 256;

/// What was understood, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// Every program that may be started, in order of appearance.
    pub programs: Vec<Program>,
    /// What is touched, each effect on each resource once.
    pub touches: Vec<Touch>,
    /// Data that leaves: from where to whom.
    pub flows: Vec<Flow>,
    /// What stays unknown. Empty means that every part was understood.
    pub unknowns: Vec<Unknown>,
    /// Facts that matter by themselves.
    pub findings: Vec<Finding>,
}

/// A program that may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name as it is looked up, or the absolute path where one was written.
    pub name: String,
    /// The arguments after the name; `None` for one that is not constant.
    pub args: Vec<Option<String>>,
    /// How far the program is known.
    pub knowledge: Knowledge,
}

/// How far a program is known. Ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// Part of the shell itself.
    Builtin,
    /// The catalogue has its argument grammar.
    Catalogued,
    /// A file that is named by its path: whatever it holds.
    File,
    /// Nothing is known about it.
    Uncatalogued,
}

/// An effect on a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    /// What is done.
    pub effect: Effect,
    /// The kind of resource.
    pub kind: TargetKind,
    /// Its name: for paths absolute and lexically normalised, `${x}` where a part is unknown; for hosts `host` or `host:port`.
    pub name: String,
    /// Whether `name` is a glob pattern or has an unknown part, so that it stands for several resources.
    pub pattern: bool,
    /// Whether everything below a directory is meant as well.
    pub recursive: bool,
    /// The program that does it.
    pub by: String,
}

impl Touch {
    /// The access as plans see it.
    #[must_use]
    pub fn access(&self) -> Access {
        let resource = Resource { kind: self.kind, name: self.name.clone(), resolved: None, identity: None };
        Access { effect: self.effect, resource, recursive: self.recursive }
    }
}

/// Data that leaves this machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The file it comes from, `env` for the environment, `?` where it is unknown.
    pub from: String,
    /// The host it goes to, `?` where it is unknown.
    pub to: String,
}

/// Something that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    /// What kind of thing.
    pub kind: UnknownKind,
    /// The gravest effect that it may have.
    pub effect: Effect,
    /// For people.
    pub message: String,
    /// Where, in characters of the inspected text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// Why something was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownKind {
    /// No parser of this language accepts the text.
    Syntax,
    /// The two parsers read the line in different ways.
    Disagreement,
    /// No catalogue describes the program.
    Program,
    /// The catalogue does not know this option or subcommand.
    Option,
    /// A value is known only when the command runs.
    Value,
    /// Code or a script whose text is not visible here or goes beyond what is analysed.
    Code,
    /// The input is larger, deeper or longer to interpret than the bounds allow.
    TooMuch,
}

/// Something that matters by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// For people.
    pub message: String,
    /// Where, in characters of the inspected text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// A stretch of the inspected text, in characters (not bytes) from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The first character.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

/// What can be found. Closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The home folder, as a whole, is removed or overwritten.
    DestroysHome,
    /// A system folder or the root, as a whole, is removed, moved or overwritten.
    DestroysSystem,
    /// A device or file system is overwritten.
    DestroysDevice,
    /// A whole database, schema, cluster or account is removed.
    DestroysDatabase,
    /// Something is decoded and then run.
    DecodeAndExecute,
    /// Something from the network is run as it comes.
    DownloadAndExecute,
    /// A shell is connected to another machine.
    ReverseShell,
    /// Processes that start more of themselves without end.
    ForkBomb,
    /// An address at which clouds hand out credentials.
    MetadataAddress,
    /// Characters that hide or reorder what is shown.
    HiddenText,
    /// A host that looks like another one.
    LookAlike,
    /// A user name or password before the host of a URL.
    UserInfo,
    /// An address in a spelling that readers understand differently.
    OddAddress,
    /// A variable that decides which code runs, as `LD_PRELOAD` or `PATH`.
    LoadsCode,
    /// A place from which code runs later by itself: start-up files, schedules, keys that let somebody in.
    Persistence,
    /// A kernel interface (`/proc`, `/sys`, `/dev`) is used like a file.
    KernelInterface,
    /// Rights of another user are taken.
    Elevation,
    /// Who may do what is changed widely, as by `chmod 777` or `chmod u+s`.
    WeakensRights,
    /// The whole environment is read out.
    EnvironmentDump,
    /// Published or recorded history is rewritten or lost.
    HistoryLoss,
    /// A statement changes or removes every row.
    UnboundedStatement,
    /// A value that looks like a credential.
    Secret,
    /// Text that gives orders to an agent.
    InjectedInstruction,
    /// A protection is switched off: firewall, audit, signature or certificate check.
    DisablesProtection,
}

impl FindingKind {
    /// What FORMATS §5 says about such a finding on its own.
    pub const fn decision(self) -> Decision {
        match self {
            Self::DestroysHome
            | Self::DestroysSystem
            | Self::DestroysDevice
            | Self::DestroysDatabase
            | Self::DecodeAndExecute
            | Self::ReverseShell
            | Self::ForkBomb
            | Self::MetadataAddress
            | Self::HiddenText
            | Self::LookAlike
            | Self::UserInfo => Decision::Block,
            Self::DownloadAndExecute
            | Self::OddAddress
            | Self::LoadsCode
            | Self::Persistence
            | Self::KernelInterface
            | Self::Elevation
            | Self::WeakensRights
            | Self::EnvironmentDump
            | Self::HistoryLoss
            | Self::UnboundedStatement
            | Self::Secret
            | Self::InjectedInstruction
            | Self::DisablesProtection => Decision::RequireApproval,
        }
    }
}

impl Inspection {
    /// Whether every part was understood and nothing was found.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.unknowns.is_empty() && self.findings.is_empty()
    }

    /// What the findings alone decide; unknown parts count as a question to people.
    pub fn decision(&self) -> Decision {
        let unknown = if self.unknowns.is_empty() { Decision::Allow } else { Decision::RequireApproval };
        self.findings.iter().map(|f| f.kind.decision()).max().map_or(unknown, |found| found.max(unknown))
    }

    /// The touches as accesses.
    pub fn accesses(&self) -> impl Iterator<Item = Access> {
        self.touches.iter().map(Touch::access)
    }

    /// Whether something of this kind was found.
    #[must_use]
    pub fn found(&self, kind: FindingKind) -> bool {
        self.findings.iter().any(|f| f.kind == kind)
    }

    /// Whether a touch with this effect names this resource.
    #[must_use]
    pub fn touches(&self, effect: Effect, name: &str) -> bool {
        self.touches.iter().any(|t| t.effect == effect && t.name == name)
    }

    pub(crate) fn touch(&mut self, touch: Touch) {
        if self.touches.contains(&touch) {
            return;
        }
        if self.touches.len() >= MAX_ENTRIES {
            self.too_much("more resources than are listed");
            return;
        }
        self.touches.push(touch);
    }

    pub(crate) fn flow(&mut self, flow: Flow) {
        if !self.flows.contains(&flow) && self.flows.len() < MAX_ENTRIES {
            self.flows.push(flow);
        }
    }

    pub(crate) fn find(&mut self, kind: FindingKind, span: Option<Span>, message: impl AsRef<str>) {
        let message = countersign_plan::text::escape(message.as_ref());
        let known = self.findings.iter().any(|f| f.kind == kind && f.message == message);
        if !known && self.findings.len() < MAX_ENTRIES {
            self.findings.push(Finding { kind, message, span });
        }
    }

    pub(crate) fn unknown(&mut self, kind: UnknownKind, effect: Effect, span: Option<Span>, message: impl AsRef<str>) {
        let message = countersign_plan::text::escape(message.as_ref());
        let known = self.unknowns.iter().any(|u| u.kind == kind && u.effect == effect && u.message == message);
        if !known && self.unknowns.len() < MAX_ENTRIES {
            self.unknowns.push(Unknown { kind, effect, message, span });
        }
    }

    pub(crate) fn too_much(&mut self, message: &str) {
        self.unknown(UnknownKind::TooMuch, Effect::Execute, None, message);
    }

    /// Adds what another inspection found, without its positions: they are about another text.
    pub(crate) fn absorb(&mut self, other: Self) {
        for program in other.programs {
            self.program(program);
        }
        other.touches.into_iter().for_each(|t| self.touch(t));
        other.flows.into_iter().for_each(|f| self.flow(f));
        other.unknowns.into_iter().for_each(|u| self.unknown(u.kind, u.effect, None, u.message));
        other.findings.into_iter().for_each(|f| self.find(f.kind, None, f.message));
    }

    pub(crate) fn program(&mut self, program: Program) {
        if self.programs.contains(&program) {
            return;
        }
        if self.programs.len() >= MAX_ENTRIES {
            self.too_much("more programs than are listed");
            return;
        }
        self.programs.push(program);
    }
}

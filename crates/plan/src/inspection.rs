//! What is to be inspected, and what an inspection says: plain data between whoever decides and whoever reads hostile text.
//!
//! A [`Subject`] is a command line, an argument vector, code, statements, an address or a text. An [`Inspection`] says which
//! programs may start, what is touched, where data flows, what was found, and what stays unknown. **Unknown is a result, never
//! a pass.** Only data is here; the reading is done elsewhere, in a process that holds no rights.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::access::{Access, Resource};
use crate::tool::{Effect, TargetKind};
use crate::verdict::Decision;

/// The most entries of each kind in one inspection.
pub const MAX_ENTRIES: usize = 256;

/// The most text in one inspection, all of its strings together, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Files that coding agents take their orders from, by name, in small letters. From the manuals of the agents.
pub const OBEYED: &[&str] = &[
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    "copilot-instructions.md",
];

/// What is to be inspected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Subject {
    /// A shell line or script.
    Shell {
        /// The text.
        line: String,
        /// Where it would run.
        context: Context,
    },
    /// A program, started without a shell.
    Argv {
        /// Program and arguments; `None` for one that has no value yet.
        argv: Vec<Option<String>>,
        /// What it reads from standard input; `None` where that has no value yet.
        #[serde(default)]
        stdin: Option<String>,
        /// Where it would run.
        context: Context,
    },
    /// Code of a language.
    Code {
        /// Which one.
        language: Language,
        /// The code.
        text: String,
        /// Where it would run.
        context: Context,
    },
    /// A file with what will stand in it: a script, or command lines inside of something that a tool runs.
    File {
        /// Its absolute path.
        path: String,
        /// What will stand in it.
        text: String,
        /// Where it would run.
        context: Context,
    },
    /// Statements for a database.
    Sql {
        /// The statements.
        text: String,
    },
    /// A URL.
    Url {
        /// As it stands.
        url: String,
    },
    /// A host, `host:port` or `user@host`.
    Host {
        /// As it stands.
        host: String,
    },
    /// A text that somebody reads.
    Text {
        /// The text.
        text: String,
    },
}

/// Where a command would run: what relative paths, `~` and variables stand for. Paths are absolute; the text is data from the
/// caller, not from the proposal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The folder that the command starts in.
    pub cwd: String,
    /// The user's home folder.
    pub home: String,
    /// Variables with known values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether `env` is the whole environment, so that any other variable is unset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub env_complete: bool,
    /// Files whose content is known, by absolute path: what was written before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Files whose content was read before, by absolute path. They may have changed since, so that what stands there can count
    /// against what runs them and never for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, String>,
}

impl Context {
    /// A context with nothing known but the two folders.
    #[must_use]
    pub fn new(cwd: impl Into<String>, home: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            home: home.into(),
            env: BTreeMap::new(),
            env_complete: false,
            files: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }
}

/// A language whose code can stand in an argument or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// POSIX shell or Bash.
    Shell,
    /// Python 3.
    Python,
    /// Perl 5.
    Perl,
    /// Ruby.
    Ruby,
    /// JavaScript as Node, Deno and Bun run it.
    Node,
    /// PHP.
    Php,
    /// PowerShell.
    PowerShell,
    /// Lua.
    Lua,
    /// Any other: always unknown.
    Other,
}

impl Language {
    /// The language of this name; the names are those of documents.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "shell" => Self::Shell,
            "python" => Self::Python,
            "perl" => Self::Perl,
            "ruby" => Self::Ruby,
            "node" => Self::Node,
            "php" => Self::Php,
            "powershell" => Self::PowerShell,
            "lua" => Self::Lua,
            "other" => Self::Other,
            _ => return None,
        })
    }

    /// The language for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Python => "Python",
            Self::Perl => "Perl",
            Self::Ruby => "Ruby",
            Self::Node => "JavaScript",
            Self::Php => "PHP",
            Self::PowerShell => "PowerShell",
            Self::Lua => "Lua",
            Self::Other => "inline",
        }
    }
}

/// What was understood, and what was not.
///
/// Plain data that crosses a process boundary: [`Inspection`] is read back with bounds, because what inspects may be taken over
/// by what it inspects.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
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
    /// Whether what is there is changed where it is, and nothing new is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
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
    /// Processes, data or requests without end, until this or another machine gives way.
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
    /// The record of what happened is erased or no longer kept: logs, audit trail, typed history.
    ErasesRecord,
    /// Several defences of a machine are taken down, or anybody may enter or rule it.
    OpensToAnybody,
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
            | Self::ErasesRecord
            | Self::OpensToAnybody
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
}

impl Inspection {
    /// Nothing in it exceeds the bounds.
    fn check(&self) -> Result<(), &'static str> {
        let lists =
            [self.programs.len(), self.touches.len(), self.flows.len(), self.unknowns.len(), self.findings.len()];
        if lists.into_iter().any(|len| len > MAX_ENTRIES) {
            return Err("more entries than an inspection has");
        }
        let args = self.programs.iter().flat_map(|p| &p.args).map(|arg| arg.as_ref().map_or(1, |arg| arg.len() + 1));
        let programs = self.programs.iter().map(|p| p.name.len());
        let touches = self.touches.iter().map(|t| t.name.len() + t.by.len());
        let flows = self.flows.iter().map(|f| f.from.len() + f.to.len());
        let messages = self.unknowns.iter().map(|u| &u.message).chain(self.findings.iter().map(|f| &f.message));
        let text: usize = args.chain(programs).chain(touches).chain(flows).chain(messages.map(String::len)).sum();
        if text > MAX_TEXT {
            return Err("more text than an inspection has");
        }
        let spans = self.unknowns.iter().map(|u| u.span).chain(self.findings.iter().map(|f| f.span));
        if spans.flatten().any(|span| span.start > span.end) {
            return Err("a stretch of text that ends before it starts");
        }
        Ok(())
    }
}

impl Serialize for Inspection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Inspection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inspection = Self::deserialize(deserializer)?;
        inspection.check().map_err(de::Error::custom)?;
        Ok(inspection)
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, Finding, FindingKind, Inspection, MAX_ENTRIES, MAX_TEXT, Program, Span, Subject};
    use crate::inspection::{Flow, Knowledge, Touch};
    use crate::tool::{Effect, TargetKind};

    fn touch(name: String) -> Touch {
        Touch {
            effect: Effect::Read,
            kind: TargetKind::File,
            name,
            pattern: false,
            recursive: false,
            by: String::new(),
            in_place: false,
        }
    }

    fn read(inspection: &Inspection) -> Result<Inspection, serde_json::Error> {
        serde_json::from_str(&serde_json::to_string(inspection).unwrap())
    }

    #[test]
    fn an_inspection_is_read_back_as_it_was() {
        let inspection = Inspection {
            programs: vec![Program {
                name: "cat".to_owned(),
                args: vec![Some("x".to_owned()), None],
                knowledge: Knowledge::Catalogued,
            }],
            touches: vec![touch("/w/x".to_owned())],
            flows: vec![Flow { from: "/w/x".to_owned(), to: "a.example:443".to_owned() }],
            unknowns: Vec::new(),
            findings: vec![Finding {
                kind: FindingKind::ForkBomb,
                message: "x".to_owned(),
                span: Some(Span { start: 1, end: 2 }),
            }],
        };
        assert_eq!(read(&inspection).unwrap(), inspection);
    }

    #[test]
    fn what_exceeds_the_bounds_is_not_read() {
        let many = Inspection {
            touches: (0..=MAX_ENTRIES).map(|i| touch(format!("/w/{i}"))).collect(),
            ..Inspection::default()
        };
        assert!(read(&many).is_err());
        let long = Inspection { touches: vec![touch("x".repeat(MAX_TEXT + 1))], ..Inspection::default() };
        assert!(read(&long).is_err());
        let finding =
            Finding { kind: FindingKind::Secret, message: String::new(), span: Some(Span { start: 2, end: 1 }) };
        assert!(read(&Inspection { findings: vec![finding], ..Inspection::default() }).is_err());
        assert!(
            serde_json::from_str::<Inspection>(r#"{"programs":[],"touches":[],"flows":[],"unknowns":[]}"#).is_err()
        );
    }

    #[test]
    fn a_subject_is_read_back_as_it_was() {
        let context = Context::new("/w", "/home/u");
        for subject in [
            Subject::Shell { line: "ls".to_owned(), context: context.clone() },
            Subject::Argv { argv: vec![Some("ls".to_owned()), None], stdin: None, context },
            Subject::Sql { text: "SELECT 1".to_owned() },
        ] {
            let text = serde_json::to_string(&subject).unwrap();
            assert_eq!(serde_json::from_str::<Subject>(&text).unwrap(), subject);
        }
    }
}

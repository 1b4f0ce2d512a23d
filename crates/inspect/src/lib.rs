//! What a command line, a piece of code, a statement or a text would do, without running it.
//!
//! [`shell()`] has each shell line read twice, by readers that know nothing of each other (a strict one of our own confirms what is
//! plain, a second full parser the rest), and then interprets it abstractly: words are expanded as far as they are constant,
//! wrappers (`sudo`, `xargs`, `sh -c`, `find -exec` …) are opened, constant decode chains are evaluated, and every program is
//! looked up in a catalogue of argument grammars. The result, an [`Inspection`], is plain data: programs, what is touched, where
//! data flows, findings, and what stays unknown. **Unknown is a result, never a pass**: every part that was not understood is an
//! [`Unknown`] that says how grave it may be.
//!
//! How to read a result. A [`Touch`] with effect `execute` on a file or folder names code that was *not* looked at: a script, a
//! project's build or tests, an activated environment; whoever can read that file inspects it too. `record` touches are things
//! that are no files and no hosts (a service, a cloud resource, a branch), named by the command that touches them. `send` on a
//! host is any contact; `update` or `delete` on the same host is a request that changes something. Flows say which file's data
//! a request carries; a request without one carries only constants.
//!
//! Nothing here reads a file, asks a clock or a network. Time and memory are bounded for any input: size and nesting before
//! parsing, steps and results during interpretation. The crate decides nothing; [`FindingKind::decision`] is what FORMATS §5
//! says about such a finding on its own.

mod bounded;
mod catalogue;
mod code;
#[cfg(feature = "classifier")]
pub mod doubt;
mod file;
mod host;
mod inspection;
mod machine;
mod path;
mod program;
mod shell;
mod sql;
mod subject;
mod text;

pub use code::code;
pub use countersign_plan::inspection::{
    Context, Finding, FindingKind, Flow, Inspection, Knowledge, Language, Program, Span, Subject, Touch, Unknown,
    UnknownKind,
};
pub use host::{host, url};
pub use shell::{argv, shell};
pub use sql::sql;
pub use subject::inspect;
pub use text::{TextFinding, TextKind, text};

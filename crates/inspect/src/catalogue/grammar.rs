//! The notation of the catalogue.
//!
//! ```text
//! NAME… : OPERANDS ; OPTIONS ; TAGS
//!   SUBCOMMAND : OPERANDS ; OPTIONS ; TAGS
//! ```
//!
//! An operand is a [`Role`] with an arity: `role` (one), `role?`, `role*`, `role+`. An option is `-f` (a flag), `-f=role` (takes
//! a value), `-f?=role` (takes one only when it is attached), each with tags: `-f!tag!tag=value`; `-[abc]` are the flags `-a`,
//! `-b` and `-c`, and `--no-*` all flags that begin so. `*` among the options waives those that are not listed: flags that change nothing that matters here. An option
//! that says by its name that it runs, writes, removes or sends something is not waived. A subcommand is one
//! or more words, each a name, alternatives `a|b`, a prefix `get-*` or `*`; the line with the most words that are not `*` holds,
//! then the longest. Options of the program hold for its subcommands too. `#` begins a comment.

use std::collections::HashMap;

use countersign_plan::tool::Effect;

use crate::code::Language;
use crate::inspection::FindingKind;

/// What an operand or an option's value is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing that matters: a number, a name, a format.
    Text,
    /// A number that may stand right behind its option, with more options behind it.
    Digits,
    /// A file that is read.
    Read,
    /// A folder that is read with all below.
    ReadTree,
    /// A file that is made or overwritten.
    Write,
    /// A file that is appended to.
    Append,
    /// A file that is changed in place.
    Update,
    /// A folder, with all below, that is changed.
    UpdateTree,
    /// A file or folder that is removed.
    Delete,
    /// A file that is taken away to elsewhere.
    Move,
    /// A folder that is made.
    MakeFolder,
    /// A program to run.
    Exec,
    /// A file with code that is run or loaded.
    Load,
    /// The same, or the name of an installed module.
    Module,
    /// A shell line.
    Command,
    /// The rest of the words: a program and its arguments.
    Argv,
    /// The same, run elsewhere: in a container or on another machine.
    RemoteArgv,
    /// A script in this language, as text.
    Code(Language),
    /// A file with a script in this language; the rest are its arguments.
    Script(Language),
    /// Statements.
    Sql,
    /// A URL that is fetched.
    Url,
    /// A URL that data is sent to.
    UrlSend,
    /// A host that is contacted.
    Host,
    /// `host:path` that is fetched from, or a local path that is read.
    RemoteRead,
    /// `host:path` that is written to, or a local path.
    RemoteWrite,
    /// Data that is sent: the text itself, or `@FILE`.
    Data,
    /// The same, beside a request: a header, a login, a cookie.
    Carry,
    /// Another repository that is read: an address, a path, or a configured name.
    Fetches,
    /// Another repository that this one is sent to.
    Pushes,
    /// What is pushed where: `+x` overwrites, `:x` removes.
    Refspec,
    /// Of `git fetch`: what is taken, and which branch of one's own becomes it.
    Fetched,
    /// A file that is sent.
    Send,
    /// `NAME=VALUE`.
    Variable,
    /// A script of `sed`.
    Sed,
    /// A script of `awk`.
    Awk,
    /// A setting of git, `name=value`.
    GitConfig,
    /// A setting of ssh, `Name=value`.
    SshConfig,
    /// A filter of `jq`.
    Jq,
    /// What is asked of the name service: a name, a type, `@server` or `+option`.
    Lookup,
    /// A module of a language's library.
    Uses(Language),
    /// A method of HTTP.
    Method,
    /// Rights as `chmod` takes them.
    Mode,
    /// The folder that the program changes to first.
    Folder,
    /// PowerShell in base64.
    Encoded,
    /// What is removed, stopped or changed by name and is no file.
    Named,
    /// A package, a URL, or a folder with one.
    Package,
    /// A volume or mount of a container.
    Volume,
    /// A shell line that is given the data that the program works on.
    Filter,
    /// What `make` builds, or `NAME=VALUE`.
    Target,
    /// The value of a setting in the repository's configuration.
    Setting,
    /// A file whose changes are thrown away.
    Discard,
    /// A branch, or files whose changes are thrown away.
    Spec,
    /// What `tar` does at a checkpoint.
    Checkpoint,
    /// A command of a debugger.
    Debug,
    /// A picture, or a coder and what it reads.
    Picture,
    /// An address of `socat`.
    Socat,
    /// How a store of backups is reached, `name=value`.
    Backend,
}

/// How many operands a role takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    One,
    Optional,
    Any,
    Some,
}

/// One operand of a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) role: Role,
    pub(crate) arity: Arity,
}

/// What an option or a whole program does besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tag {
    /// An effect on a fixed path; `.` is the current folder.
    Path(Effect, &'static str),
    /// A connection to a fixed host, or to the registry of this name.
    Net(&'static str),
    /// An effect on something that is no file, named by the command.
    Named(Effect),
    /// A finding.
    Find(FindingKind),
    /// Goes beyond what is analysed.
    Unknown,
    /// Files are meant with all below.
    Recursive,
    /// Other operands than the usual ones.
    As(Vec<Slot>),
    /// What is read comes out unchanged.
    Pass,
    /// Nothing comes out.
    Quiet,
    /// What comes out is decoded.
    Decodes,
    /// Standard input goes to the host.
    SendsInput,
    /// What comes out is a host's answer.
    Remote,
    /// Standard input is code where no script is named.
    InputCode(Language),
    /// Standard input is SQL.
    InputSql,
    /// Only shows what would happen: effects are reads.
    DryRun,
    /// The first words may be `NAME=VALUE`.
    Assignments,
    /// Data is uploaded, so that a file is read and goes out.
    Upload,
    /// The name of the file that the URL's last component gives.
    WritesUrlName,
    /// The files that are named to be read are changed in place.
    InPlace,
    /// Names of files come out: those that went in, or any below the current folder.
    Lists,
    /// Shows something and does nothing else.
    Inert,
    /// Without any argument it only looks.
    Bare,
    /// Only what is installed in the project is run: nothing is fetched.
    Offline,
    /// No registry is asked.
    Alone,
}

/// An option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opt {
    pub(crate) value: Option<Role>,
    /// A value only where it is attached.
    pub(crate) attached: bool,
    pub(crate) tags: Vec<Tag>,
}

/// An option without a value that changes nothing.
pub(crate) static FLAG: Opt = Opt { value: None, attached: false, tags: Vec::new() };

/// The grammar of a program or a subcommand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) slots: Vec<Slot>,
    pub(crate) options: HashMap<&'static str, Opt>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) lenient: bool,
    /// Options are one dash and a whole word.
    pub(crate) single_dash: bool,
    /// Options end at the first operand: what follows is another program's.
    pub(crate) ends: bool,
    /// The beginnings of flags that change nothing: `--no-*`.
    pub(crate) families: Vec<&'static str>,
    pub(crate) subcommands: Vec<(Vec<&'static str>, Entry)>,
}

impl Entry {
    /// The subcommand that these words name, and how many of them it takes.
    pub(crate) fn subcommand(&self, words: &[&str]) -> Option<(&Self, usize)> {
        let fitting = self.subcommands.iter().filter(|(pattern, _)| {
            pattern.len() <= words.len() && pattern.iter().zip(words).all(|(pattern, word)| fits(pattern, word))
        });
        let exact = |pattern: &[&str]| pattern.iter().filter(|word| **word != "*").count();
        // Of equals the first: `max_by_key` would take the last.
        let best =
            fitting.reduce(
                |best, next| {
                    if (exact(&next.0), next.0.len()) > (exact(&best.0), best.0.len()) { next } else { best }
                },
            );
        best.map(|(pattern, entry)| (entry, pattern.len()))
    }

    /// The most words that name a subcommand.
    pub(crate) fn depth(&self) -> usize {
        self.subcommands.iter().map(|(pattern, _)| pattern.len()).max().unwrap_or(0)
    }
}

fn fits(pattern: &str, word: &str) -> bool {
    // Most patterns are a plain word.
    if !pattern.bytes().any(|b| matches!(b, b'|' | b'*')) {
        return pattern == word;
    }
    pattern.split('|').any(|one| match one.split_once('*') {
        Some((head, tail)) => word.len() >= head.len() + tail.len() && word.starts_with(head) && word.ends_with(tail),
        None => one == word,
    })
}

/// The flags of one letter.
const FLAGS: &[&str] = &[
    "-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9", "-A", "-B", "-C", "-D", "-E", "-F", "-G", "-H", "-I",
    "-J", "-K", "-L", "-M", "-N", "-O", "-P", "-Q", "-R", "-S", "-T", "-U", "-V", "-W", "-X", "-Y", "-Z", "-a", "-b",
    "-c", "-d", "-e", "-f", "-g", "-h", "-i", "-j", "-k", "-l", "-m", "-n", "-o", "-p", "-q", "-r", "-s", "-t", "-u",
    "-v", "-w", "-x", "-y", "-z",
];

type Entries = Vec<(Vec<&'static str>, Entry)>;

/// Reads a file of the catalogue.
///
/// # Errors
/// The number of a line that cannot be read, and why.
pub(crate) fn read(source: &'static str) -> Result<Entries, String> {
    let mut out: Entries = Vec::new();
    for (number, line) in source.lines().enumerate() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let at = |problem: String| format!("line {}: {problem}", number + 1);
        let (names, body) = line.split_once(" :").ok_or_else(|| at("no ` :`".to_owned()))?;
        let names: Vec<&'static str> = names.split_whitespace().collect();
        let entry = entry(body).map_err(at)?;
        if line.starts_with(' ') {
            let parent = out.last_mut().ok_or_else(|| at("no program before".to_owned()))?;
            parent.1.subcommands.push((names, entry));
        } else {
            out.push((names, entry));
        }
    }
    Ok(out)
}

fn entry(body: &'static str) -> Result<Entry, String> {
    let mut sections = body.split(" ;");
    let slots = slots(sections.next().unwrap_or("").split_whitespace())?;
    let mut entry = Entry { slots, ..Entry::default() };
    for token in sections.next().unwrap_or("").split_whitespace() {
        match token {
            "*" => entry.lenient = true,
            "@single" => entry.single_dash = true,
            "@ends" => entry.ends = true,
            token if token.starts_with("-[") && token.ends_with(']') => {
                let letters = token.get(2..token.len() - 1).unwrap_or("");
                for letter in FLAGS.iter().filter(|flag| flag.get(1..).is_some_and(|letter| letters.contains(letter))) {
                    entry.options.insert(letter, FLAG.clone());
                }
            }
            token if token.starts_with("--") && token.ends_with('*') && !token.contains(['!', '=']) => {
                entry.families.push(token.trim_end_matches('*'));
            }
            token => {
                let (names, opt) = option(token)?;
                for name in names {
                    entry.options.insert(name, opt.clone());
                }
            }
        }
    }
    for token in sections.next().unwrap_or("").split_whitespace() {
        entry.tags.push(tag(token)?);
    }
    if sections.next().is_some() {
        return Err("too many sections".to_owned());
    }
    Ok(entry)
}

fn slots(tokens: impl Iterator<Item = &'static str>) -> Result<Vec<Slot>, String> {
    tokens
        .map(|token| {
            let (name, arity) = match token.as_bytes().last() {
                Some(b'*') => (token.trim_end_matches('*'), Arity::Any),
                Some(b'+') => (token.trim_end_matches('+'), Arity::Some),
                Some(b'?') => (token.trim_end_matches('?'), Arity::Optional),
                _ => (token, Arity::One),
            };
            Ok(Slot { role: role(name)?, arity })
        })
        .collect()
}

/// `-a,--all=role!tag`: several names of one option.
fn option(token: &'static str) -> Result<(Vec<&'static str>, Opt), String> {
    let mut parts = token.split('!');
    let head = parts.next().unwrap_or("");
    let (names, value, attached) = match head.split_once('=') {
        Some((names, role_name)) => {
            let attached = names.ends_with('?');
            (names.trim_end_matches('?'), Some(role(role_name)?), attached)
        }
        None => (head, None, false),
    };
    let tags = parts.map(tag).collect::<Result<_, _>>()?;
    let names: Vec<&'static str> = names.split(',').collect();
    if names.iter().any(|name| !name.starts_with(['-', '+'])) {
        return Err(format!("`{token}` is no option"));
    }
    Ok((names, Opt { value, attached, tags }))
}

fn role(name: &str) -> Result<Role, String> {
    Ok(match name {
        "" | "text" => Role::Text,
        "digits" => Role::Digits,
        "read" => Role::Read,
        "readtree" => Role::ReadTree,
        "write" => Role::Write,
        "append" => Role::Append,
        "update" => Role::Update,
        "updatetree" => Role::UpdateTree,
        "delete" => Role::Delete,
        "move" => Role::Move,
        "mkdir" => Role::MakeFolder,
        "filter" => Role::Filter,
        "target" => Role::Target,
        "setting" => Role::Setting,
        "discard" => Role::Discard,
        "spec" => Role::Spec,
        "debug" => Role::Debug,
        "checkpoint" => Role::Checkpoint,
        "picture" => Role::Picture,
        "exec" => Role::Exec,
        "load" => Role::Load,
        "module" => Role::Module,
        "cmd" => Role::Command,
        "argv" => Role::Argv,
        "rargv" => Role::RemoteArgv,
        "sql" => Role::Sql,
        "url" => Role::Url,
        "urlsend" => Role::UrlSend,
        "host" => Role::Host,
        "rread" => Role::RemoteRead,
        "rwrite" => Role::RemoteWrite,
        "data" => Role::Data,
        "carry" => Role::Carry,
        "fetches" => Role::Fetches,
        "pushes" => Role::Pushes,
        "refspec" => Role::Refspec,
        "fetched" => Role::Fetched,
        "send" => Role::Send,
        "var" => Role::Variable,
        "sed" => Role::Sed,
        "awk" => Role::Awk,
        "gitconfig" => Role::GitConfig,
        "sshconfig" => Role::SshConfig,
        "jq" => Role::Jq,
        "lookup" => Role::Lookup,
        "method" => Role::Method,
        "mode" => Role::Mode,
        "cd" => Role::Folder,
        "encoded" => Role::Encoded,
        "named" => Role::Named,
        "package" => Role::Package,
        "volume" => Role::Volume,
        "socat" => Role::Socat,
        "backend" => Role::Backend,
        other => match other.split_once(':') {
            Some(("code", language)) => Role::Code(lang(language)?),
            Some(("uses", language)) => Role::Uses(lang(language)?),
            Some(("script", language)) => Role::Script(lang(language)?),
            _ => return Err(format!("`{other}` is no role")),
        },
    })
}

fn lang(name: &str) -> Result<Language, String> {
    Language::from_name(name).ok_or_else(|| format!("`{name}` is no language"))
}

fn tag(token: &'static str) -> Result<Tag, String> {
    let (name, value) = token.split_once('=').unwrap_or((token, ""));
    Ok(match name {
        "net" => Tag::Net(value),
        "read" => Tag::Path(Effect::Read, value),
        "write" => Tag::Path(Effect::Update, value),
        "delete" => Tag::Path(Effect::Delete, value),
        "exec" => Tag::Path(Effect::Execute, value),
        "do" => Tag::Named(effect(value)?),
        "find" => Tag::Find(finding(value)?),
        "unknown" => Tag::Unknown,
        "rec" => Tag::Recursive,
        "as" => Tag::As(slots(value.split(',').filter(|s| !s.is_empty()))?),
        "pass" => Tag::Pass,
        "quiet" => Tag::Quiet,
        "decodes" => Tag::Decodes,
        "sendin" => Tag::SendsInput,
        "remote" => Tag::Remote,
        "stdin" if value == "sql" => Tag::InputSql,
        "stdin" => Tag::InputCode(lang(value)?),
        "dry" => Tag::DryRun,
        "env" => Tag::Assignments,
        "upload" => Tag::Upload,
        "urlname" => Tag::WritesUrlName,
        "inplace" => Tag::InPlace,
        "lists" => Tag::Lists,
        "inert" => Tag::Inert,
        "bare" => Tag::Bare,
        "offline" => Tag::Offline,
        "alone" => Tag::Alone,
        _ => return Err(format!("`{token}` is no tag")),
    })
}

fn effect(name: &str) -> Result<Effect, String> {
    Effect::ALL.into_iter().find(|e| e.as_str() == name).ok_or_else(|| format!("`{name}` is no effect"))
}

fn finding(name: &str) -> Result<FindingKind, String> {
    serde_json::from_value(serde_json::Value::String(name.to_owned())).map_err(|_| format!("`{name}` is no finding"))
}

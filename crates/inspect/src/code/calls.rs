//! Tables of calls, from the standard libraries' manuals: what each reads, writes, deletes, runs or connects to. The tables
//! themselves are the text files in `tables/`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::Language;

/// What a call does. Numbers are positions of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Nothing,
    Reads(usize),
    Writes(usize),
    Deletes(usize, bool),
    Moves,
    Copies,
    /// Reads or writes, as its mode says.
    Opens,
    Runs,
    Connects,
    Environment,
    Unknown,
}

/// What is known of a language's library.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Calls by their full name.
    calls: HashMap<&'static str, Does>,
    /// Methods by their last name, whatever they are called on.
    methods: HashMap<&'static str, Does>,
    /// Plain functions and statements that touch nothing.
    harmless: HashSet<&'static str>,
    /// Modules that may be imported: what they do shows in the calls.
    pub(super) modules: HashSet<&'static str>,
    /// Words before or around the name of a module.
    pub(super) imports: HashSet<&'static str>,
    /// Names by which code chooses at run time what it calls.
    pub(super) dynamic: HashSet<&'static str>,
    /// Those of them that run text as code.
    pub(super) evaluators: HashSet<&'static str>,
    /// Names that decode.
    pub(super) decoders: HashSet<&'static str>,
    /// Names of plain sockets.
    pub(super) sockets: HashSet<&'static str>,
    /// Modules of which a call that is in no table is unknown.
    pub(super) guarded: HashSet<&'static str>,
    /// Words by which something that no table describes says that it does more than compute and show.
    acts: HashSet<&'static str>,
    /// What `create` is followed by where nothing but an object is made.
    objects: HashSet<&'static str>,
    /// Those that are things as well, where nothing is called: `user.email`.
    things: HashSet<&'static str>,
    /// Those that are done to files, lists and tables all the time.
    usual: HashSet<&'static str>,
    /// Modules of others that reach machines, accounts or services.
    reaches: HashSet<&'static str>,
    /// Whether functions are called without brackets too.
    pub(super) calls_bare: bool,
}

impl Table {
    /// What a name does, and whether it was found as a method.
    pub(super) fn find(&self, name: &str, last: &str) -> Option<(Does, bool)> {
        // `a.b.c.d` is looked up as a whole, then as `b.c.d` and `c.d`.
        let tails = name.match_indices('.').filter_map(|(at, _)| name.get(at + 1..)).filter(|tail| tail.contains('.'));
        let exact = std::iter::once(name).chain(tails).find_map(|tail| self.calls.get(tail));
        let dotted = name.len() != last.len();
        // `File::Path::remove_tree`: a function by its module.
        let exact = exact.or_else(|| self.calls.get(last).filter(|_| name.contains("::") && !name.contains('.')));
        exact.map(|does| (*does, false)).or_else(|| self.methods.get(last).filter(|_| dotted).map(|does| (*does, true)))
    }

    /// What a method of something that the tables do not have takes away, by its name: `clearObjects`, `drop_database`. Of one word
    /// alone (`list.remove`) nothing is said.
    pub(super) fn takes_away(name: &str) -> bool {
        let words = words(name.rsplit(['.', ':', '>']).next().unwrap_or(name));
        let [verb, rest @ ..] = words.as_slice() else { return false };
        let takes = matches!(
            verb.as_str(),
            "delete"
                | "remove"
                | "destroy"
                | "purge"
                | "drop"
                | "truncate"
                | "wipe"
                | "erase"
                | "terminate"
                | "clear"
                | "empty"
        );
        takes && rest.iter().any(|word| KEPT.contains(&word.strip_suffix('s').unwrap_or(word)))
    }

    /// Whether a module is described, as a whole or by its first name.
    pub(super) fn has_module(&self, module: &str) -> bool {
        let root = module.split('.').next().unwrap_or(module);
        self.modules.contains(root) || self.modules.contains(module)
    }

    /// Whether anything that is described is a member of this name.
    pub(super) fn has_member(&self, member: &str) -> bool {
        let last = |name: &&&'static str| name.rsplit(['.', ':']).next() == Some(member);
        self.calls.keys().find(last).is_some() || self.methods.contains_key(member)
    }

    /// Whether the name of something that no table describes is that of an act: `reset_db`, `client.deploy`, `User.set_password`.
    pub(super) fn acts(&self, name: &str) -> bool {
        let last = words(name.rsplit('.').next().unwrap_or(name));
        let made = matches!(last.as_slice(), [create, object, ..] if create == "create" && self.objects.contains(object.as_str()));
        !made && last.iter().any(|word| self.acts.contains(word.as_str()))
    }

    /// The same where it is not called: some of these words are things as well.
    pub(super) fn acts_unasked(&self, name: &str) -> bool {
        let last = words(name.rsplit('.').next().unwrap_or(name));
        last.iter().any(|word| self.acts.contains(word.as_str()) && !self.things.contains(word.as_str()))
    }

    /// Whether a member of a module that is described, but not this member, says by its name that it writes or runs something.
    pub(super) fn writes_or_runs(&self, name: &str) -> bool {
        const SAY: &[&str] = &["write", "save", "run", "exec", "execute", "download", "upload", "spawn", "launch"];
        let last = name.rsplit('.').next().unwrap_or(name);
        self.has_module(name) && !self.is_usual(last) && words(last).iter().any(|word| SAY.contains(&word.as_str()))
    }

    /// Whether a method is one of files, lists and tables.
    pub(super) fn is_usual(&self, name: &str) -> bool {
        self.usual.contains(name.rsplit('.').next().unwrap_or(name))
    }

    /// Whether a module reaches beyond the machine, as the list or its name says.
    pub(super) fn reaches(&self, root: &str) -> bool {
        self.reaches.contains(root) || ["client", "api", "sdk", "bot"].iter().any(|end| root.ends_with(end))
    }

    pub(super) fn is_harmless(&self, name: &str) -> bool {
        self.harmless.contains(name)
    }

    fn read(source: &'static str) -> Option<Self> {
        let mut table = Self::default();
        for line in source.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let (field, words) = line.split_once(':')?;
            let words = words.split_whitespace();
            match field {
                "calls" | "methods" => {
                    let into = if field == "calls" { &mut table.calls } else { &mut table.methods };
                    for word in words {
                        let (name, what) = word.split_once('=')?;
                        into.insert(name, does(what)?);
                    }
                }
                "harmless" => table.harmless.extend(words),
                "modules" => table.modules.extend(words),
                "imports" => table.imports.extend(words),
                "dynamic" => table.dynamic.extend(words),
                "evaluators" => table.evaluators.extend(words),
                "decoders" => table.decoders.extend(words),
                "sockets" => table.sockets.extend(words),
                "guarded" => table.guarded.extend(words),
                "acts" => table.acts.extend(words),
                "objects" => table.objects.extend(words),
                "things" => table.things.extend(words),
                "usual" => table.usual.extend(words),
                "reaches" => table.reaches.extend(words),
                "bare" => table.calls_bare = true,
                _ => return None,
            }
        }
        Some(table)
    }
}

/// What services keep, in the singular.
const KEPT: &[&str] = &[
    "object",
    "index",
    "indexe",
    "indice",
    "table",
    "database",
    "db",
    "collection",
    "bucket",
    "user",
    "account",
    "record",
    "document",
    "queue",
    "topic",
    "stream",
    "volume",
    "instance",
    "cluster",
    "secret",
    "message",
    "all",
    "many",
    "everything",
    "schema",
    "keyspace",
    "namespace",
    "stack",
    "function",
    "role",
    "policy",
    "policie",
    "snapshot",
    "backup",
    "repository",
    "repositorie",
    "branch",
    "branche",
    "project",
    "environment",
    "service",
    "deployment",
    "customer",
    "subscription",
    "order",
    "blob",
    "container",
    "droplet",
    "site",
    "app",
    "team",
    "organization",
    "workspace",
    "domain",
    "zone",
    "dataset",
    "model",
];

/// The words of a name in lower case: `dropDatabase`, `drop_database`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if (c == '_' || c.is_uppercase()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn does(what: &str) -> Option<Does> {
    let recursive = what.ends_with('+');
    let what = what.trim_end_matches('+');
    let position = what.chars().last().and_then(|c| c.to_digit(10)).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    Some(match what.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "nothing" => Does::Nothing,
        "reads" => Does::Reads(position),
        "writes" => Does::Writes(position),
        "deletes" => Does::Deletes(position, recursive),
        "moves" => Does::Moves,
        "copies" => Does::Copies,
        "opens" => Does::Opens,
        "runs" => Does::Runs,
        "connects" => Does::Connects,
        "environment" => Does::Environment,
        "unknown" => Does::Unknown,
        _ => return None,
    })
}

/// A table that cannot be read knows nothing, so that everything is unknown.
fn load(source: &'static str) -> Table {
    Table::read(source).unwrap_or_default()
}

static PYTHON: LazyLock<Table> = LazyLock::new(|| load(include_str!("tables/python.txt")));
static PERL: LazyLock<Table> = LazyLock::new(|| load(include_str!("tables/perl.txt")));
static RUBY: LazyLock<Table> = LazyLock::new(|| load(include_str!("tables/ruby.txt")));
static NODE: LazyLock<Table> = LazyLock::new(|| load(include_str!("tables/node.txt")));
static PHP: LazyLock<Table> = LazyLock::new(|| load(include_str!("tables/php.txt")));
static LUA: LazyLock<Table> = LazyLock::new(|| load(include_str!("tables/lua.txt")));

pub(super) fn table(language: Language) -> &'static Table {
    match language {
        Language::Python => &PYTHON,
        Language::Perl => &PERL,
        Language::Ruby => &RUBY,
        Language::Node => &NODE,
        Language::Php => &PHP,
        Language::Shell | Language::PowerShell | Language::Lua | Language::Other => &LUA,
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn every_table_can_be_read() {
        for source in [
            include_str!("tables/python.txt"),
            include_str!("tables/perl.txt"),
            include_str!("tables/ruby.txt"),
            include_str!("tables/node.txt"),
            include_str!("tables/php.txt"),
            include_str!("tables/lua.txt"),
        ] {
            assert!(Table::read(source).is_some_and(|table| !table.calls.is_empty() && !table.dynamic.is_empty()));
        }
    }
}

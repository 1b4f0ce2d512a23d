//! Programs: which one a word names, and what it does with its arguments.

mod alias;
mod ansible;
mod apply;
mod awk;
mod beside;
mod builtin;
mod client;
mod contained;
mod declared;
mod deeds;
mod device;
mod disks;
mod documents;
mod each;
mod editors;
mod embedded;
mod emulated;
mod escapes;
mod filter;
mod find;
mod given;
mod grave;
mod handed;
mod kept;
mod launched;
mod lines;
mod live;
mod looks;
mod nested;
mod options;
mod own;
mod owners;
mod pairs;
mod parsed;
mod passing;
mod placed;
mod printed;
mod proxies;
mod reached;
mod reading;
mod registries;
mod removed;
mod reviewed;
mod script;
mod sed;
mod sources;
mod special;
mod spoken;
mod tasks;
mod toolchain;
mod transfer;
mod verbs;
mod within;
mod wrapper;

pub(crate) use tasks::has;

use std::rc::Rc;

use countersign_plan::tool::{Effect, TargetKind};

use crate::catalogue;
use crate::code::Language;
use crate::inspection::{Build as _, FindingKind, Knowledge, MAX_ENTRIES, Program, UnknownKind};
use crate::machine::{MAX_DEPTH, Machine, Part, Stream, Word};

pub(crate) use owners::{has_owner, is_of_another};

/// Folders in which a name is the program that the catalogue means.
const PROGRAM_FOLDERS: &[&str] = &[
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
    "/usr/libexec/",
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"];

/// Whether a program is a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name.rsplit('/').next().unwrap_or(name))
}

/// The most words of a command among which a second naming of a file is looked for.
const MAX_WORDS_COMPARED: usize = 16;

impl Machine<'_> {
    /// Runs a command of the shell: an alias, a function, a builtin or a program; what it writes to standard output.
    pub(crate) fn run(&mut self, words: Vec<Word>, stdin: Stream) -> Stream {
        let Some((word, rest)) = words.split_first() else { return Stream::empty() };
        let Some(name) = word.constant() else {
            return self.unnamed(word, rest, stdin);
        };
        if let Some(out) = self.call(name, rest, &stdin) {
            return out;
        }
        self.past_functions(name, rest, &stdin)
    }

    /// Runs a builtin or a program.
    pub(crate) fn past_functions(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Stream {
        match self.builtin(name, rest, stdin) {
            Some(out) => out,
            None => self.start(std::iter::once(Word::text(name)).chain(rest.iter().cloned()).collect(), stdin.clone()),
        }
    }

    /// Starts a program, not a builtin.
    pub(crate) fn start(&mut self, words: Vec<Word>, stdin: Stream) -> Stream {
        if !self.spend() {
            return Stream::unknown();
        }
        let Some((word, rest)) = words.split_first() else { return Stream::empty() };
        let Some(name) = word.constant() else {
            return self.unnamed(word, rest, stdin);
        };
        if name.is_empty() {
            return Stream::empty();
        }
        if self.depth >= MAX_DEPTH {
            self.out.too_much("programs start each other more deeply than is followed");
            return Stream::unknown();
        }
        self.depth += 1;
        // Whatever starts it (`setsid`, `env`, `timeout`) hands on what it is connected to.
        if self.connected && is_shell(name) {
            self.find(FindingKind::ReverseShell, format!("`{name}` is connected to another machine"));
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let before = std::mem::replace(&mut self.by, base.to_owned());
        // What it changes of its variables and its folder is its own.
        let scope = self.scope.clone();
        let starting = std::mem::replace(&mut self.starting, true);
        self.passes_environment(base, rest);
        let since = self.out.touches.len();
        let installed = !name.contains('/')
            || PROGRAM_FOLDERS.iter().any(|folder| name.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')));
        let mut out =
            if installed { self.installed(name, base, rest, stdin) } else { self.by_path(word, name, rest, stdin) };
        self.prints_constants(base, rest, &mut out);
        self.prints_what_it_reads(base, words.get(1..).unwrap_or_default(), since, &mut out);
        self.by = before;
        self.scope = scope;
        self.starting = starting;
        self.depth -= 1;
        out
    }

    /// Who runs something as another user gives it an environment of its own, unless told otherwise (sudo(8), "Command environment"; doas(1);
    /// of su(1) and runuser(1) only a login shell has one).
    fn passes_environment(&mut self, base: &str, rest: &[Word]) {
        let kept = |word: &Word| {
            let option = word.prefix();
            option.starts_with("--preserve-env") || (option.starts_with("-E") && !option.contains(' '))
        };
        let logs_in = |word: &Word| matches!(word.constant(), Some("-" | "-l" | "--login"));
        let own = match base {
            "su" | "runuser" => rest.iter().any(logs_in),
            _ => matches!(base, "sudo" | "doas" | "pkexec"),
        };
        if own && !rest.iter().any(kept) {
            self.scope.export_nothing();
        }
    }

    fn installed(&mut self, name: &str, base: &str, rest: &[Word], stdin: Stream) -> Stream {
        let of_device = || catalogue::of_device(base).filter(|_| self.on_device);
        let entry = of_device().or_else(|| catalogue::entry(base));
        let special = special::knows(base);
        let knowledge = if entry.is_some() || special { Knowledge::Catalogued } else { Knowledge::Uncatalogued };
        self.note(name, rest, knowledge);
        self.judge_words(base, rest, &stdin);
        self.judge_placed(base, rest, &stdin);
        self.judge_installed(base);
        if let Some(out) = self
            .special(base, rest, &stdin)
            .or_else(|| self.shows_disks(base, rest))
            .or_else(|| self.for_each_of(base, rest, &stdin))
            .or_else(|| self.looks(base, rest))
        {
            return out;
        }
        match entry {
            Some(entry) => self.catalogued(entry, base, rest, &stdin),
            None => {
                if only_asks(rest) {
                    return Stream::unknown();
                }
                self.unknown(
                    UnknownKind::Program,
                    Effect::Execute,
                    format!("no catalogue describes the program `{base}`"),
                );
                Stream { sources: stdin.sources, decoded: stdin.decoded, remote: stdin.remote, ..Stream::unknown() }
            }
        }
    }

    /// A program under a name that the line itself put among the programs.
    fn judge_installed(&mut self, base: &str) {
        let own = [format!("{}/.local/bin/{base}", self.context.home), format!("{}/bin/{base}", self.context.home)];
        let usual = PROGRAM_FOLDERS.iter().map(|folder| format!("{folder}{base}"));
        if let Some(written) = usual.chain(own).find_map(|path| self.files.get(&path).cloned()) {
            self.judge_input(&written);
        }
    }

    /// What the words say that a grammar does not.
    fn judge_words(&mut self, base: &str, rest: &[Word], stdin: &Stream) {
        self.effort.started(base);
        // A file that stands there twice is read and written.
        let twice = || {
            let few = rest.get(..rest.len().min(MAX_WORDS_COMPARED)).unwrap_or_default();
            few.iter().enumerate().any(|(i, word)| few.get(..i).is_some_and(|before| before.contains(word)))
        };
        let connects = || rest.iter().any(|word| word.prefix().contains("=/inet"));
        let encodes = || {
            let named = ["--data-urlencode", "--url-query", "--variable"];
            base == "curl" && rest.iter().any(|word| named.iter().any(|option| word.prefix().starts_with(option)))
        };
        let coded = || base.starts_with("py") && rest.iter().any(|word| matches!(word.constant(), Some("-c" | "-")));
        if matches!(
            base,
            "make" | "gmake" | "bmake" | "exiftool" | "tee" | "gtee" | "go" | "awk" | "gawk" | "mawk" | "nawk"
        ) || connects()
            || encodes()
            || coded()
            || twice()
        {
            self.words = rest.to_vec();
        } else {
            self.words.clear();
        }
        if only_asks(rest) {
            return;
        }
        let puts_together = matches!(
            base,
            "sed" | "gsed" | "awk" | "gawk" | "perl" | "printf" | "echo" | "paste" | "ruby" | "python3" | "xargs"
        );
        self.ends_databases |= puts_together
            && rest.iter().any(|word| {
                let lower = word.shown().to_ascii_lowercase();
                lower.contains("drop database") || lower.contains("drop schema")
            });
        self.judge_deeds(base, rest);
        self.judge_grave(base, rest);
        self.judge_tasks(base, rest);
        self.judge_keys(base, rest);
        self.judge_live(base, rest);
        self.judge_embedded(base, rest, stdin);
        self.judge_escapes(base, rest, stdin);
        self.judge_within(base, rest, stdin);
        self.judge_given(base, rest, stdin);
        self.judge_outward(base, rest);
        self.judge_tools(base, rest);
        self.judge_sources(base, rest);
        self.judge_proxies(base, rest);
        self.judge_reached(base, rest);
        self.judge_reviewed(base, rest);
        self.git_settings(base, rest);
        self.project_texts(base, rest);
        self.configured(base, rest);
    }

    fn catalogued(&mut self, entry: &catalogue::Entry, base: &str, rest: &[Word], stdin: &Stream) -> Stream {
        let rest = &*self.without_argument_files(base, rest);
        let before = (std::mem::take(&mut self.decodes), std::mem::take(&mut self.answered));
        self.compiles_without_end(base, stdin);
        self.opened = self.carried(base, rest, stdin);
        let mut out = self.apply(entry, rest, stdin);
        // What code prints may be what it decoded or was sent.
        let does = (std::mem::replace(&mut self.decodes, before.0), std::mem::replace(&mut self.answered, before.1));
        out.decoded |= does.0;
        out.remote |= does.1;
        self.decodes |= does.0;
        if let Some(text) = out.text.take() {
            out.text = filter::apply(base, rest, text);
        }
        self.prints_credentials(base, rest, &mut out);
        self.lists_all(base, rest, &mut out);
        self.clones(base, rest);
        self.records_people(base, rest, &mut out);
        out.decoded |= deeds::turns_letters(base, rest);
        out
    }

    /// A program under its own name in a folder of programs of the project's: an environment, installed packages, a framework's
    /// `bin`. What it is asked to do is in its words. What they leave open is no more open than the file itself, unless the words
    /// are code.
    pub(super) fn of_project(&mut self, path: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let (folder, base) = path.rsplit_once('/')?;
        let wrapper = matches!(base, "gradlew" | "mvnw");
        let programs = folder.ends_with("/bin") || folder.ends_with("/.bin") || folder.ends_with("/Scripts");
        if !(wrapper || programs) || self.files.contains_key(path) {
            return None;
        }
        self.judge_words(base, rest, stdin);
        let unknowns = self.out.unknowns.len();
        let touches = self.out.touches.len();
        let interprets = matches!(
            base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
            "python" | "node" | "ruby" | "perl" | "php" | "pypy"
        );
        let out = match (catalogue::entry(base), special::knows(base)) {
            (_, true) => return None,
            (Some(entry), false) => match self.special(base, rest, stdin) {
                Some(out) => out,
                None => self.catalogued(entry, base, rest, stdin),
            },
            (None, false) => return None,
        };
        if !wrapper {
            // What is installed beside an interpreter is the project's own choice.
            let mut at = 0;
            self.out.unknowns.retain(|unknown| {
                at += 1;
                at <= unknowns || (interprets && !unknown.message.contains("is not in the tables"))
            });
            let mut at = 0;
            self.out.touches.retain(|touch| {
                at += 1;
                let package = touch.kind == TargetKind::Other && touch.name.starts_with("package ");
                // It asks the registry that it would ask from anywhere.
                let registry = touch.kind == TargetKind::Other && touch.name.starts_with("registry ");
                let plain = matches!(touch.kind, TargetKind::File | TargetKind::Directory | TargetKind::Host);
                // What a tool takes away elsewhere is gone, whoever installed it.
                let gone = touch.kind == TargetKind::Record && touch.effect == Effect::Delete;
                at <= touches || plain || package || registry || gone
            });
        }
        Some(out)
    }

    /// A program that is named by its path: whatever that file holds.
    fn by_path(&mut self, word: &Word, name: &str, rest: &[Word], stdin: Stream) -> Stream {
        let path = self.paths(word).into_iter().next().unwrap_or_else(|| name.to_owned());
        self.note(&path, rest, Knowledge::File);
        let own = self.made.contains(&path) && !self.files.contains_key(&path) && !self.is_filled_by_others(&path);
        if self.made.contains(&format!("built {path}")) && !self.files.contains_key(&path) {
            self.touch_path(Effect::Execute, &Word::text(self.context.cwd.clone()), true);
        } else if self.scratch(word).is_none() && !self.computed.contains(&path) && !own {
            self.touch_path(Effect::Execute, word, false);
        }
        if let Some(out) = self.of_project(&path, rest, &stdin) {
            return out;
        }
        self.judge_deployment(name);
        self.judge_grave(base_of(&path).unwrap_or(""), rest);
        self.judge_tasks(base_of(&path).unwrap_or(""), rest);
        self.judge_live(base_of(&path).unwrap_or(""), rest);
        self.judge_tools(base_of(&path).unwrap_or(""), rest);
        match self.files.get(&path).cloned() {
            Some(_) if self.computed.contains(&path) => Stream::unknown(),
            Some(written) => self.run_written(&written, &path, rest, &stdin),
            None => {
                let text = self.context.seen.get(&path);
                if let Some(language) = text.and_then(|text| language_of(text)) {
                    self.judge_seen(language, &path);
                }
                Stream { sources: stdin.sources, ..Stream::unknown() }
            }
        }
    }

    /// Runs what the same line wrote to a file, or what stands in a process substitution.
    pub(crate) fn run_written(&mut self, content: &Stream, path: &str, rest: &[Word], stdin: &Stream) -> Stream {
        if content.remote {
            self.find(FindingKind::DownloadAndExecute, format!("{path} holds what a host sent, and is run"));
        }
        if content.decoded {
            self.find(FindingKind::DecodeAndExecute, format!("{path} holds what was decoded, and is run"));
        }
        match &content.text {
            Some(text) if language_of(text) != Some(Language::Shell) => {
                let text = text.clone();
                match language_of(&text) {
                    Some(language) => self.code(language, &text),
                    None => {
                        let message = format!("{path} names an interpreter whose language is not analysed");
                        self.unknown(UnknownKind::Code, Effect::Execute, message);
                    }
                }
                Stream::unknown()
            }
            Some(text) => {
                let text = text.clone();
                if starts_itself(&text) {
                    self.find(FindingKind::ForkBomb, format!("{path} starts itself again and again"));
                }
                let parameters: Vec<Word> = std::iter::once(Word::text(path)).chain(rest.iter().cloned()).collect();
                // A file that `.` reads without arguments has those of who reads it.
                if !self.starting && rest.is_empty() {
                    return self.script(&text, stdin);
                }
                let before = std::mem::replace(&mut self.scope.parameters, Rc::new(parameters));
                let known = std::mem::replace(&mut self.scope.parameters_known, true);
                let out = self.script(&text, stdin);
                self.scope.parameters = before;
                self.scope.parameters_known = known;
                out
            }
            None => {
                self.unknown(
                    UnknownKind::Code,
                    Effect::Execute,
                    format!("what {path} holds when it is run is not known"),
                );
                Stream::unknown()
            }
        }
    }

    /// Writes down what runs.
    pub(super) fn note(&mut self, name: &str, rest: &[Word], knowledge: Knowledge) {
        // A script runs the same thing again and again.
        let same = |noted: &Program| {
            noted.name == name
                && noted.knowledge == knowledge
                && noted.args.iter().map(Option::as_deref).eq(rest.iter().map(Word::constant))
        };
        if self.out.programs.len() < MAX_ENTRIES && self.out.programs.iter().any(same) {
            return;
        }
        let args = rest.iter().map(|word| word.constant().map(str::to_owned)).collect();
        self.out.program(Program { name: name.to_owned(), args, knowledge });
    }

    /// A command whose name is known only at run time.
    fn unnamed(&mut self, name: &Word, rest: &[Word], stdin: Stream) -> Stream {
        let shown = name.shown();
        if let Some(known) = self.by_variable(name) {
            return self.start(std::iter::once(Word::text(known)).chain(rest.iter().cloned()).collect(), stdin);
        }
        self.judge_words(shown.rsplit('/').next().unwrap_or(&shown), rest, &stdin);
        // `$(curl …)`: what a host sends names the program and its arguments.
        let origin = self.origin_of(name);
        self.judge_input(&origin);
        if let Some(default) = self.by_default(name).filter(|default| default.constant().is_some()) {
            self.start(std::iter::once(default).chain(rest.iter().cloned()).collect(), stdin.clone());
        }
        self.unknown(
            UnknownKind::Value,
            Effect::Execute,
            format!("which program `{shown}` is shows only when the line runs"),
        );
        for path in self.paths(name) {
            if let Some(written) = self.files.get(&path).cloned() {
                self.judge_input(&written);
            }
            if let Some(folder) = self.of_unpacked(&path, false) {
                let message = format!("{path} came out of what a host sent to {folder}, and is run");
                self.find(FindingKind::DownloadAndExecute, message);
            }
        }
        self.out.program(Program {
            name: shown,
            args: rest.iter().map(|word| word.constant().map(str::to_owned)).collect(),
            knowledge: Knowledge::Uncatalogued,
        });
        if self.sockets {
            self.find(FindingKind::ReverseShell, "which program runs is told by another machine");
        }
        // An empty value would make the next word the program.
        if name.is_many() && !rest.is_empty() && name.prefix().is_empty() {
            self.run(rest.to_vec(), stdin.clone());
        }
        Stream { sources: stdin.sources, ..Stream::unknown() }
    }

    /// A program that a variable of the machine's own leads to: the user's shell (`SHELL`, POSIX "Environment Variables"), or one
    /// that is catalogued in the folder of an installed kit. Only where the line leaves the variable as it is.
    fn by_variable(&self, name: &Word) -> Option<String> {
        const KITS: &str = "ANDROID_HOME ANDROID_SDK ANDROID_SDK_ROOT ANDROID_NDK ANDROID_NDK_HOME ANDROID_NDK_ROOT CARGO_HOME \
            CONDA_PREFIX CUDA_HOME DART_SDK DEVELOPER_DIR DOTNET_ROOT EMSDK FLUTTER_HOME FLUTTER_ROOT GOROOT GRAALVM_HOME \
            GRADLE_HOME JAVA_HOME JDK_HOME JRE_HOME KOTLIN_HOME LLVM_HOME M2_HOME MAVEN_HOME NDK_HOME NDK_ROOT NVM_BIN PYENV_ROOT \
            QT_ROOT_DIR ROCM_PATH SCALA_HOME VULKAN_SDK WASI_SDK_PATH";
        let (slash, hole, rest) = match name.parts() {
            [Part::Hole { name, .. }] => ("", name, ""),
            [Part::Text(slash), Part::Hole { name, .. }] => (slash.as_str(), name, ""),
            [Part::Hole { name, .. }, Part::Text(rest)] => ("", name, rest.as_str()),
            // Whichever version lies there: `$ANDROID_HOME/build-tools/*/aapt2`.
            [Part::Hole { name, .. }, Part::Text(_), .., Part::Text(rest)] => ("", name, rest.as_str()),
            _ => return None,
        };
        let variable = hole.trim_end_matches([':', '-', '?']);
        if self.scope.variable(variable).is_some() {
            return None;
        }
        if matches!(variable, "SHELL" | "BASH") && rest.is_empty() && matches!(slash, "" | "/") {
            return Some("sh".to_owned());
        }
        let base = rest
            .rsplit('/')
            .next()
            .filter(|base| tasks::has(KITS, variable) && !name.shown().contains("..") && !base.is_empty())?;
        (catalogue::entry(base).is_some() && !special::knows(base)).then(|| base.to_owned())
    }

    /// Something that is no file, by what the command calls it.
    pub(crate) fn touch_named(&mut self, effect: Effect, what: &str) {
        self.touch_other(effect, TargetKind::Record, what);
    }
}

fn base_of(path: &str) -> Option<&str> {
    path.rsplit('/').next()
}

/// The language that a script's first line names; without one it is a shell's.
pub(crate) fn language_of(text: &str) -> Option<Language> {
    let Some(line) = text.strip_prefix("#!") else { return Some(Language::Shell) };
    let mut words = line.lines().next().unwrap_or("").split_whitespace();
    let first = words.next().unwrap_or("");
    let mut name = first.rsplit('/').next().unwrap_or("");
    if name == "env" {
        let program = words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or("");
        name = program.rsplit('/').next().unwrap_or("");
    }
    match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        name if is_shell(name) => Some(Language::Shell),
        "python" | "pypy" => Some(Language::Python),
        "perl" => Some(Language::Perl),
        "ruby" => Some(Language::Ruby),
        "node" | "nodejs" => Some(Language::Node),
        "php" => Some(Language::Php),
        "lua" => Some(Language::Lua),
        "pwsh" => Some(Language::PowerShell),
        _ => None,
    }
}

/// Whether a script starts itself and goes on beside it.
fn starts_itself(text: &str) -> bool {
    let own = |part: &str| {
        let mut words = part.split_whitespace().map(|word| word.trim_matches('"')).skip_while(|word| is_shell(word));
        words.next().is_some_and(|word| matches!(word, "$0" | "${0}" | "$BASH_SOURCE" | "${BASH_SOURCE[0]}"))
    };
    let beside = text.replace("&&", "\n").replace(">&", "\n").replace("&>", "\n");
    beside.split('&').rev().skip(1).any(|before| before.rsplit(['\n', ';', '|', '(', '{']).next().is_some_and(own))
}

/// Whether the arguments only ask for help or a version.
pub(crate) fn only_asks(rest: &[Word]) -> bool {
    matches!(rest, [only] if matches!(only.constant(), Some("--help" | "--version" | "-V" | "-version" | "-help")))
}

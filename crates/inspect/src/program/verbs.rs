//! Values whose meaning is in a word: what a service is asked to do, names that are looked up, filters, modes and modules.

use countersign_plan::tool::{Effect, TargetKind};

use super::apply::Doing;
use super::options::Parsed;
use crate::bounded::Bounded as _;
use crate::catalogue::Tag;
use crate::code::Language;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// What a verb in the language of services does.
pub(super) fn verb(word: &str) -> Option<Effect> {
    Some(match word.to_ascii_lowercase().as_str() {
        "delete" | "remove" | "rm" | "destroy" | "purge" | "drop" | "terminate" | "revoke" | "reset" | "flush"
        | "truncate" | "wipe" | "erase" | "uninstall" | "deregister" | "detach" | "disable" | "prune"
        | "invalidate" | "deactivate" | "unpublish" | "shutdown" | "evict" | "kill" | "cancel" => Effect::Delete,
        "publish" | "activate" | "deploy" | "promote" | "release" => Effect::Update,
        _ => return None,
    })
}

impl Machine<'_> {
    /// What the words of a service's command line say beside the subcommand that the catalogue found.
    pub(super) fn by_verbs(&mut self, parsed: &Parsed<'_>, tags: &[&Tag], what: &str) {
        // What a simulator is told to do passes with it.
        if self.by == "simctl" {
            return;
        }
        let known = tags.iter().filter_map(|tag| if let Tag::Named(effect) = tag { Some(*effect) } else { None }).max();
        let path = parsed.path.iter().filter_map(|word| word.split(['-', '_', ':']).find_map(verb));
        // Operands are names as well: where a look is what the catalogue found, only the first can be a verb.
        let first = if known.is_none_or(Effect::is_harmless) { 1 } else { 3 };
        // `get deploy`: of what is only looked at, the kinds have names of such verbs.
        let may_be = |effect: &Effect| first > 1 || *effect == Effect::Delete;
        let operands = parsed.operands.iter().take(first).filter_map(Word::constant).filter_map(verb).filter(may_be);
        let said = path.chain(operands).max();
        if let Some(effect) = said.filter(|effect| known != Some(*effect)) {
            self.touch_named(effect, what);
        }
    }

    /// What a program that works on the project is told by its first words: to publish what it made, to delete.
    pub(super) fn sends_out(&mut self, parsed: &Parsed<'_>, tags: &[&Tag], rest: &[Word]) {
        let works = |tag: &&Tag| matches!(tag, Tag::Path(Effect::Execute, _) | Tag::Named(Effect::Execute));
        // Those of a loop of development deploy to where its own work runs.
        let looped = matches!(self.by.as_str(), "devspace" | "skaffold" | "tilt" | "okteto" | "garden");
        let short = matches!(self.by.as_str(), "dart" | "flutter").then_some("-n");
        let shown = |word: &Word| {
            word.constant().is_some_and(|word| {
                matches!(word, "--dry-run" | "--dryrun" | "--dry_run" | "--dry" | "--help" | "-h")
                    || Some(word) == short
            })
        };
        // Of its subcommands the catalogue knows what they do.
        let words = parsed.operands.iter().filter_map(Word::constant).take(2_usize.saturating_sub(parsed.path.len()));
        let tries = |word: &&str| {
            matches!(
                *word,
                "test" | "tests" | "check" | "lint" | "bench" | "help" | "show" | "info" | "list" | "search"
            )
        };
        let tried = parsed.path.iter().any(|word| tries(&word.as_str()) || word == "run");
        if looped || tried || !tags.iter().any(works) || rest.iter().any(shown) {
            return;
        }
        let publishes =
            |part: &str| matches!(part, "publish" | "deploy" | "upload" | "push" | "promote" | "unpublish" | "yank");
        // A hook before something is pushed pushes nothing.
        let last = |word: &str| word.rsplit_once('.').is_some_and(|(what, verb)| what != "assets" && publishes(verb));
        let hook = |word: &str| {
            matches!(word, "pre-push" | "prepush" | "pre-publish" | "prepublish" | "pre-deploy" | "predeploy")
        };
        let said = |word: &str| !hook(word) && (word.split(['-', ':']).any(publishes) || last(word));
        let takes =
            |word: &&str| matches!(*word, "delete" | "remove" | "destroy" | "purge" | "drop" | "wipe" | "erase");
        let effect = if words.take_while(|word| !tries(word)).any(said) {
            Effect::Update
        } else if parsed.path.is_empty() && parsed.operands.first().and_then(Word::constant).filter(takes).is_some() {
            Effect::Delete
        } else {
            return;
        };
        let words = parsed.path.iter().cloned().chain(parsed.operands.iter().map(Word::shown));
        let what = format!("{} {}", self.by, words.collect::<Vec<_>>().join(" "));
        self.touch_named(effect, &what);
    }

    /// A name that is looked up. What is asked reaches the servers of that name: a constant one tells them nothing new.
    pub(super) fn lookup_name(&mut self, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        if text.starts_with('+') {
            return;
        }
        if text.starts_with('@') {
            doing.hosts.extend(word.skip(1));
            return;
        }
        if word.has_hole() {
            let origin = self.origin_of(word);
            self.send(&origin, word);
            self.touch_other(Effect::Send, TargetKind::Host, text);
            return;
        }
        let is_type = text.len() <= 10 && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        if !is_type {
            self.touch_other(Effect::Read, TargetKind::Record, format!("dns {text}"));
        }
    }

    /// A filter of `jq`: the only thing that it reaches besides its input is the environment (jq manual, "$ENV, env").
    pub(super) fn filter_of_json(&mut self, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        self.runs_later(&text);
        // As `base64 -d` does (jq manual, "@base64d", "implode"; yq manual, "Encoder / Decoder").
        self.decodes |= ["@base64d", "@base32d", "@urid", "implode"].iter().any(|call| text.contains(call));
        let names = |at: usize, end: usize| {
            let before = text.get(..at).and_then(|head| head.chars().next_back());
            let after = text.get(end..).and_then(|tail| tail.chars().next());
            let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | ':');
            !before.is_some_and(|c| joins(c) || c == '.') && !after.is_some_and(joins)
        };
        // yq's own (yq manual, "Load").
        if self.by == "yq" {
            for call in ["load", "load_str", "load_xml", "load_props", "load_base64"] {
                for (at, _) in text.match_indices(call).at_most(64) {
                    let rest = text.get(at + call.len()..).unwrap_or("").trim_start();
                    let Some(given) = rest.strip_prefix('(').map(str::trim_start) else { continue };
                    doing.reads = true;
                    match given.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
                        Some((name, rest)) if rest.trim_start().starts_with(')') => {
                            let read = self.read_file(&Word::text(name));
                            doing.take(read);
                        }
                        // Whatever it is, a file that is named in the expression may be it.
                        _ => {
                            for name in text.split('"').skip(1).step_by(2).filter(|name| name.contains('/')).at_most(64)
                            {
                                let read = self.read_file(&Word::text(name));
                                doing.take(read);
                            }
                            let message = "which file an expression of `yq` reads is put together";
                            self.unknown(UnknownKind::Value, Effect::Read, message);
                        }
                    }
                }
            }
        }
        let reads = text.contains("$ENV") || text.match_indices("env").any(|(at, _)| names(at, at + 3));
        if reads {
            self.touch_other(Effect::Read, TargetKind::Process, "env");
            doing.read.sources.insert("env".to_owned());
            doing.reads = true;
            if !(text.contains("$ENV.") || text.contains("env.")) {
                self.find(FindingKind::EnvironmentDump, format!("`{}` reads the whole environment", self.by));
            }
        }
    }

    /// A mode of `chmod`: rights of the owner for everybody who runs it, or writing for everybody.
    pub(super) fn mode(&mut self, word: &Word, recursive: bool) {
        let mode = word.shown();
        let octal = mode.bytes().all(|b| b.is_ascii_digit());
        // Below a whole folder not every file is a program; `X` leaves those alone that are none.
        let runs = |clause: &str| clause.split_once(['+', '=']).is_some_and(|(_, what)| what.contains('x'));
        let all_run = if octal { mode.bytes().any(|b| b % 2 == 1) } else { mode.split(',').any(runs) };
        if recursive && all_run {
            self.find(FindingKind::WeakensRights, format!("the mode {mode} makes every file below a folder a program"));
        }
        let weak = if octal {
            let special = mode.len() > 3 && mode.trim_start_matches('0').len() > 3 && !mode.starts_with('1');
            special || matches!(mode.as_bytes().last(), Some(b'2' | b'3' | b'6' | b'7'))
        } else {
            mode.split(',').any(|clause| {
                let (who, what) = clause.split_once(['+', '=']).unwrap_or((clause, ""));
                what.contains('s') || ((who.contains(['o', 'a'])) && what.contains('w'))
            })
        };
        if weak {
            self.find(FindingKind::WeakensRights, format!("the mode {mode} gives rights to everybody"));
        }
    }

    /// A package by its name, its address or the folder that it is in.
    pub(super) fn package(&mut self, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        if text.contains("://") {
            let url = text.strip_prefix("git+").unwrap_or(&text);
            if matches!(self.by.as_str(), "npx" | "bunx" | "pnpx" | "uvx" | "pipx") {
                self.find(FindingKind::DownloadAndExecute, format!("`{}` runs what {url} holds", self.by));
            }
            doing.hosts.push(Word::text(url));
            self.touch_other(Effect::Execute, TargetKind::Other, format!("package {url}"));
        } else if text.starts_with(['.', '/', '~']) || (self.by == "go" && !text.contains('@')) {
            let suffix = text.rsplit('.').next().unwrap_or("");
            // All files that are named are one program (`go help run`).
            let computes =
                |file: &Word| self.scratch(file).is_some_and(|text| crate::file::scratch::only_computes(suffix, &text));
            let mut files = self.words.iter().filter(|file| file.shown().ends_with(".go"));
            if self.compiles_from_elsewhere() || !computes(word) || !files.all(computes) {
                self.touch_path(Effect::Execute, word, true);
            }
            // What builds it reads what lies there.
            if self.by != "go" {
                let folders = self.paths(word);
                self.runs_written(&|path| folders.iter().any(|folder| crate::path::is_below(path, folder)));
            }
        } else {
            self.touch_other(Effect::Execute, TargetKind::Other, format!("package {text}"));
        }
    }

    /// A command of a debugger: one that shows, steps or stops changes nothing beside the program that is looked at (GDB manual).
    pub(super) fn debugger(&mut self, word: &Word) {
        const SHOWS: &[&str] = &[
            "bt",
            "backtrace",
            "where",
            "info",
            "i",
            "list",
            "l",
            "frame",
            "f",
            "thread",
            "threads",
            "up",
            "down",
            "quit",
            "q",
            "run",
            "r",
            "continue",
            "c",
            "break",
            "b",
            "tbreak",
            "step",
            "s",
            "next",
            "n",
            "finish",
            "disassemble",
            "disas",
            "x",
            "help",
            "kill",
            "k",
        ];
        const SHAPES: &[&str] = &[
            "pagination",
            "print",
            "height",
            "width",
            "confirm",
            "disassembly-flavor",
            "listsize",
            "verbose",
            "follow-fork-mode",
            "detach-on-fork",
            "scheduler-locking",
            "breakpoint",
            "style",
            "logging",
            "backtrace",
            "args",
        ];
        let text = word.shown();
        let first = text.split([' ', '/']).next().unwrap_or("");
        // What GDB hands to a shell or to Python (GDB manual, "Shell Commands", "Python Commands").
        let rest = |word: &str| text.strip_prefix(word).map(str::to_owned);
        match (rest("shell "), rest("!"), rest("python ").or_else(|| rest("py "))) {
            (Some(line), ..) | (_, Some(line), _) if !word.has_hole() => {
                self.script(&line, &Stream::unknown());
                return;
            }
            (.., Some(code)) if !word.has_hole() => {
                self.code(crate::code::Language::Python, &code);
                return;
            }
            _ => {}
        }
        // How it shows, and values that nothing has to be called for.
        let mut more = text.split_whitespace().skip(1);
        let shapes = first == "set" && more.next().is_some_and(|what| SHAPES.contains(&what));
        let values =
            matches!(first, "print" | "p" | "ptype" | "whatis" | "display" | "watch" | "start" | "handle" | "delete")
                && !text.contains(['(', '=']);
        // What lies somewhere in memory, where only registers and numbers say where (GDB manual, "Memory").
        let examines =
            first == "x" && !text.contains(['(', '=', '|', '!', '`']) && !text.contains("++") && !text.contains("--");
        let tells = ["call", "shell", "python", "source", "pipe", "compile"]
            .iter()
            .any(|word| text.split_whitespace().any(|w| w == *word));
        if (shapes || values || examines) && !word.has_hole() && !tells {
            return;
        }
        let calls = first == "x" && text.contains(['(', '=']);
        if word.has_hole() || !SHOWS.contains(&first) || tells || calls || text.contains(['|', '$', '!']) {
            self.unknown(UnknownKind::Code, Effect::Execute, format!("`{}` is told to `{text}`", self.by));
        }
    }

    /// A word of `make`: a target, or a variable, of which some decide what runs the recipes (GNU make manual, "Choosing the Shell").
    pub(super) fn target(&mut self, word: &Word) {
        let text = word.shown();
        let Some((name, value)) = text.split_once('=') else { return };
        let name = name.trim_end_matches([':', '+', '?', '!']);
        let usual =
            matches!(value, "sh" | "bash" | "dash" | "zsh" | "/bin/sh" | "/bin/bash" | "/usr/bin/bash" | "/bin/dash");
        let runs = matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKE" | "MAKEFLAGS" | "MAKEFILES" | "PATH")
            || name.starts_with("LD_");
        if runs && !usual && value.contains(' ') {
            let inner = crate::shell::shell(value, self.context);
            self.absorb_grave(inner);
        }
        if runs && !usual {
            self.find(FindingKind::LoadsCode, format!("{text} decides what runs the recipes of `{}`", self.by));
        }
    }

    /// A module that an option loads: `-MList::Util=sum`, `-M-strict`.
    pub(super) fn uses(&mut self, language: Language, word: &Word) {
        let text = word.shown();
        let name = text.trim_start_matches('-').split(['=', ' ', ',']).next().unwrap_or("");
        self.load_module(language, name);
    }
}

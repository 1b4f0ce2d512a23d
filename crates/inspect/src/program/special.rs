//! Programs whose arguments are a language of their own.

use std::rc::Rc;

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::code::Language;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{ANSWERS, Machine, Stream, Variable, Word};

/// Builtins that are installed as programs too.
const BOTH: &[&str] = &["echo", "printf", "test", "[", "kill", "pwd", "true", "false"];

/// Whether a command of sqlite3 neither opens nor keeps another database.
fn is_mild(word: &Word) -> bool {
    let text = word.shown();
    let name = text.split_whitespace().next().unwrap_or("");
    matches!(name, ".read" | ".schema" | ".tables" | ".mode" | ".headers" | ".header" | ".import" | ".dump" | ".timer")
}

/// Whether a program is read here and not by the catalogue.
pub(crate) fn knows(name: &str) -> bool {
    super::is_shell(name)
        || BOTH.contains(&name)
        || matches!(
            name,
            "env"
                | "xargs"
                | "gxargs"
                | "find"
                | "gfind"
                | "dd"
                | "tar"
                | "gtar"
                | "bsdtar"
                | "printenv"
                | "gecho"
                | "basename"
                | "dirname"
        )
}

impl Machine<'_> {
    /// Runs one of those programs.
    pub(crate) fn special(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        Some(match name {
            _ if super::is_shell(name) => self.shell_program(name, rest, stdin),
            _ if name.starts_with("python") || name.starts_with("pypy") => return self.python_module(rest, stdin),
            "env" => self.env(rest, stdin),
            "printenv" => self.printenv(rest),
            "xargs" | "gxargs" => self.xargs(rest, stdin),
            "find" | "gfind" => self.find_program(rest),
            "dd" => self.dd(rest, stdin),
            "tar" | "gtar" | "bsdtar" => self.tar(rest, stdin),
            "basename" | "dirname" | "realpath" | "readlink" | "grealpath" => return self.whole_path(name, rest),
            "seq" => return numbers(rest),
            "ansible" => return self.ad_hoc(rest, stdin),
            "split" | "gsplit" => return self.split_into(name, rest, stdin),
            "mktemp" | "gmktemp" => return self.temporary(rest),
            "ed" | "red" | "ex" | "vim" | "vi" | "nvim" => return self.edits_by_itself(name, rest, stdin),
            "npx" | "bunx" | "pnpx" => return self.projects_own(rest, stdin),
            "npm" | "pnpm" | "yarn" => return self.by_package_manager(name, rest, stdin),
            "crontab" | "scrontab" => return self.table_of_jobs(rest, stdin),
            "cmake" | "cmake3" => return self.command_of_cmake(rest, stdin),
            "rpm" | "rpmspec" | "rpmbuild" | "gh" | "glab" | "dvc" => {
                self.lines_told(name, rest, stdin);
                return None;
            }
            "ghc" => return self.expression_of_ghc(rest, stdin),
            "mongosh" | "mongo" => return self.reads_documents(rest),
            "sqlite3" | "sqlite" | "duckdb" => {
                self.passing = self.is_passing(rest);
                self.in_memory = rest.iter().any(|word| word.constant() == Some(":memory:"))
                    && !rest.iter().any(|word| word.prefix().trim_start().starts_with('.') && !is_mild(word));
                return None;
            }
            "adb" => return self.behind_waiting(rest, stdin),
            "java" | "javaw" => return self.archive_of_java(rest, stdin),
            "aws" => return self.at_local_endpoint(rest),
            "systemctl" => return self.own_units(rest),
            "systemd-run" => return self.with_limits(rest, stdin),
            "rsync" => return self.mirrors(rest),
            "unzip" | "7z" | "7za" | "unar" | "cpio" | "bsdcpio" => {
                self.unpacks_by(name, rest, stdin);
                return None;
            }
            "docker" | "podman" | "nerdctl" => return self.composed(name, rest, stdin),
            _ if BOTH.contains(&name) => return self.builtin(name, rest, stdin),
            _ => return None,
        })
    }

    /// `python -m MODULE`: the module is a program.
    fn python_module(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let flags = |word: &&Word| matches!(word.constant(), Some("-u" | "-B" | "-I" | "-s" | "-E" | "-O" | "-q"));
        let mut at = rest.iter().take_while(flags).count();
        // `-W ignore -m …`
        while let Some("-W" | "-X") = rest.get(at).and_then(Word::constant) {
            at += 2;
            at += rest.iter().skip(at).take_while(flags).count();
        }
        let (Some("-m"), Some(_)) = (rest.get(at).and_then(Word::constant), rest.get(at + 1)) else { return None };
        let words = rest.get(at + 1..).unwrap_or_default();
        let module = words.first().and_then(Word::constant).unwrap_or("").to_owned();
        if matches!(module.as_str(), "cProfile" | "profile") {
            return self.profiled(words.get(1..).unwrap_or_default(), stdin);
        }
        if let Some(out) = self.own_module(&module, words.get(1..).unwrap_or_default()) {
            return Some(out);
        }
        Some(self.start(words.to_vec(), stdin.clone()))
    }

    /// `python -m cProfile [-o FILE] [-s ORDER] (-m MODULE | SCRIPT) …` (Python library reference, "The Python Profilers").
    fn profiled(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let mut at = 0;
        while let Some(option) = rest.get(at).and_then(Word::constant).filter(|word| word.starts_with('-')) {
            match option {
                "-o" => self.touch_path(Effect::Update, rest.get(at + 1)?, false),
                "-s" => {}
                "-m" => break,
                _ => return None,
            }
            at += 2;
        }
        let words = std::iter::once(Word::text("python3")).chain(rest.get(at..)?.iter().cloned());
        Some(self.start(words.collect(), stdin.clone()))
    }

    /// `ghc -e EXPRESSION` runs it, and compiles nothing (GHC User's Guide, "Expression evaluation mode").
    fn expression_of_ghc(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let at = rest.iter().position(|word| word.constant() == Some("-e"))?;
        self.code_word(Language::Other, rest.get(at + 1)?, stdin);
        Some(Stream::unknown())
    }

    /// `sh`, `bash` and their kin.
    fn shell_program(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Stream {
        let mut i = 0;
        let mut interactive = false;
        let mut inline = false;
        let mut only_reads = false;
        // With `-s` the script is the input, whatever words follow: they are its parameters (POSIX, sh).
        let mut from_input = false;
        while let Some(word) = rest.get(i) {
            let text = word.shown();
            if !(text.starts_with('-') || text.starts_with('+')) || text == "-" {
                break;
            }
            i += 1;
            match text.as_str() {
                "--" => break,
                "--rcfile" | "--init-file" => {
                    if let Some(file) = rest.get(i) {
                        self.touch_path(Effect::Execute, file, false);
                    }
                    i += 1;
                }
                "-o" | "+o" | "-O" | "+O" => i += 1,
                "--help" | "--version" => return Stream::unknown(),
                long if long.starts_with("--") => {}
                short => {
                    inline |= short.starts_with('-') && short.contains('c');
                    interactive |= short.contains('i');
                    only_reads |= short.starts_with('-') && short.contains('n');
                    from_input |= short.starts_with('-') && short.contains('s');
                    if short.contains('o') {
                        i += 1;
                    }
                }
            }
        }
        let rest = rest.get(i..).unwrap_or_default();
        // "Read commands but do not execute them" (POSIX, `set -n`), which an interactive shell may ignore.
        if only_reads && !interactive {
            if !(inline || from_input) {
                for file in rest {
                    self.touch_path(Effect::Read, file, false);
                }
            }
            return Stream::unknown();
        }
        if inline {
            let Some((text, parameters)) = rest.split_first() else { return Stream::empty() };
            let parameters = if parameters.is_empty() { vec![Word::text(name)] } else { parameters.to_vec() };
            self.scope.parameters = Rc::new(parameters);
            self.scope.parameters_known = true;
            return self.shell_text(text, stdin);
        }
        let is_input = |word: &Word| matches!(word.constant(), Some("-" | "/dev/stdin"));
        if !from_input && rest.first().is_some_and(|word| !is_input(word)) {
            return self.script_file(Language::Shell, rest, stdin);
        }
        let parameters = if from_input { rest } else { &[] };
        self.scope.parameters = Rc::new(std::iter::once(Word::text(name)).chain(parameters.iter().cloned()).collect());
        self.scope.parameters_known = true;
        // Of a pipe that a coprocess or a name holds, the other end gets the answers.
        if stdin.remote && (interactive || stdin.sources.contains(super::grave::PIPE)) {
            self.find(FindingKind::ReverseShell, format!("`{name}` takes its orders from another machine"));
        }
        let mut out = self.input_code(Language::Shell, stdin);
        // What is written to a named pipe while it is read comes from whoever reads the answers.
        if interactive || stdin.sources.contains(super::grave::PIPE) {
            out.sources.insert(ANSWERS.to_owned());
        }
        out
    }

    fn env(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut i = 0;
        while let Some(word) = rest.get(i) {
            let text = word.shown();
            i += 1;
            match text.as_str() {
                "-i" | "-" | "--ignore-environment" => {
                    self.scope.export_nothing();
                    let inherited: Vec<String> = self.context.env.keys().cloned().collect();
                    inherited.iter().for_each(|name| self.scope.set(name, Variable::Unset));
                }
                "-0" | "--null" | "-v" | "--debug" | "--" => {}
                "-u" | "--unset" | "-C" | "--chdir" => {
                    if text.starts_with("-C") || text == "--chdir" {
                        self.scope.change_folder(rest.get(i).map(|to| self.paths(to)).unwrap_or_default());
                    } else if let Some(name) = rest.get(i).and_then(Word::constant) {
                        self.scope.set(name, Variable::Unset);
                    }
                    i += 1;
                }
                "-S" | "--split-string" => {
                    return self.split_string(rest.get(i), rest.get(i + 1..).unwrap_or_default(), stdin);
                }
                _ if text.starts_with("--split-string=") || (text.starts_with("-S") && text.len() > 2) => {
                    let skip = if text.starts_with("--") { "--split-string=".len() } else { 2 };
                    let line = word.skip(skip);
                    return self.split_string(line.as_ref(), rest.get(i..).unwrap_or_default(), stdin);
                }
                _ if text.starts_with("--unset=") || (text.starts_with("-u") && text.len() > 2) => {
                    let name = text.strip_prefix("--unset=").or_else(|| text.strip_prefix("-u")).unwrap_or("");
                    self.scope.set(name, Variable::Unset);
                }
                "--help" | "--version" => return Stream::unknown(),
                _ if text.starts_with('-') => {
                    self.unknown(
                        UnknownKind::Option,
                        Effect::Execute,
                        format!("the option {text} of `env` is not in the catalogue"),
                    );
                }
                _ => match word.split_once('=') {
                    Some((name, value)) if !name.shown().contains('/') => {
                        self.assign_variable(&name.shown(), Variable::Scalar(value));
                        self.scope.mark(&name.shown(), 'x', true);
                    }
                    Some(_) | None => return self.start(rest.get(i - 1..).unwrap_or_default().to_vec(), stdin.clone()),
                },
            }
        }
        self.find(FindingKind::EnvironmentDump, "`env` lists every variable");
        Stream { sources: std::iter::once("env".to_owned()).collect(), ..Stream::unknown() }
    }

    fn split_string(&mut self, line: Option<&Word>, more: &[Word], stdin: &Stream) -> Stream {
        match line.and_then(Word::constant) {
            Some(line) if !line.contains(['\'', '"', '\\', '$']) => {
                let words = line.split_whitespace().map(Word::text).chain(more.iter().cloned()).collect::<Vec<_>>();
                self.env(&words, stdin)
            }
            Some(_) | None => {
                self.unknown(UnknownKind::Value, Effect::Execute, "`env -S` gets a line that is not followed");
                Stream::unknown()
            }
        }
    }

    fn printenv(&mut self, rest: &[Word]) -> Stream {
        let names: Vec<String> = rest.iter().map(Word::shown).filter(|name| !name.starts_with('-')).collect();
        if names.is_empty() {
            self.find(FindingKind::EnvironmentDump, "`printenv` lists every variable");
            return Stream { sources: std::iter::once("env".to_owned()).collect(), ..Stream::unknown() };
        }
        let source = |name: String| if is_credential(&name) { "secret".to_owned() } else { format!("${name}") };
        Stream { sources: names.into_iter().map(source).collect(), ..Stream::unknown() }
    }

    fn xargs(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let rest = &super::each::apart(rest);
        let mut i = 0;
        let mut replace: Option<String> = None;
        let mut input = stdin.clone();
        let mut delimiter = None;
        let mut at_once = 1;
        while let Some(word) = rest.get(i) {
            let text = word.shown();
            if !text.starts_with('-') || text == "-" {
                break;
            }
            i += 1;
            let (name, attached) = match text.get(..2) {
                Some(short) if !text.starts_with("--") && text.len() > 2 => (short.to_owned(), text.get(2..)),
                _ => text.split_once('=').map_or((text.clone(), None), |(name, value)| (name.to_owned(), Some(value))),
            };
            let mut value = || match attached {
                Some(value) => value.to_owned(),
                None => {
                    i += 1;
                    rest.get(i - 1).map_or_else(String::new, Word::shown)
                }
            };
            match name.as_str() {
                "-I" | "-J" => replace = Some(value()),
                "-i" | "--replace" => replace = Some(attached.unwrap_or("{}").to_owned()),
                "-a" | "--arg-file" => {
                    let file = Word::text(value());
                    input = self.read_file(&file);
                }
                "-d" | "--delimiter" => delimiter = crate::shell::escapes(&value(), false).chars().next(),
                "-P" | "--max-procs" => at_once = value().parse::<u32>().unwrap_or(1),
                "-n" | "--max-args" | "-L" | "-s" | "--max-chars" | "-E" | "-R" | "-S" => {
                    value();
                }
                "-0" | "--null" => delimiter = Some('\0'),
                "-r" | "-t" | "-p" | "-x" | "-o" | "-e" | "-l" | "--no-run-if-empty" | "--verbose"
                | "--interactive" | "--exit" | "--open-tty" | "--max-lines" | "--eof" | "--show-limits"
                | "--process-slot-var" => {}
                "--help" | "--version" => return Stream::unknown(),
                other => {
                    self.unknown(
                        UnknownKind::Option,
                        Effect::Execute,
                        format!("the option {other} of `xargs` is not in the catalogue"),
                    );
                }
            }
        }
        let command = rest.get(i..).unwrap_or_default();
        let command = if command.is_empty() { vec![Word::text("echo")] } else { command.to_vec() };
        self.origins.insert("stdin".to_owned(), input.clone());
        let items = super::each::items(&input, delimiter, replace.is_some());
        if input.decoded
            && items.iter().all(|item| item.constant().is_some())
            && replace.is_none()
            && command.len() == 1
        {
            self.judge_command_from_input(&command, &input);
        }
        let before = self.effort;
        let out = self.each_item(&command, items, replace.as_deref());
        let did = self.effort.since(before);
        self.judge_at_once(at_once, did, &input);
        out
    }

    /// The command with the items in place of the mark, or at its end.
    fn each_item(&mut self, command: &[Word], items: Vec<Word>, replace: Option<&str>) -> Stream {
        match replace {
            Some(mark) if !mark.is_empty() => {
                let mut out = Stream::empty();
                for item in items {
                    let words = command.iter().map(|word| word.replace(mark, &item)).collect();
                    out = out.then(self.start(words, Stream::unknown()));
                }
                out
            }
            Some(_) | None => {
                let words = command.iter().cloned().chain(items).collect();
                self.start(words, Stream::unknown())
            }
        }
    }

    /// A wrapper or interpreter that takes its command from decoded input.
    fn judge_command_from_input(&mut self, command: &[Word], input: &Stream) {
        let runs = command
            .first()
            .and_then(Word::constant)
            .is_some_and(|name| super::is_shell(name) || matches!(name, "sudo" | "env" | "eval"));
        if runs {
            self.judge_input(input);
        }
    }

    fn dd(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut out = None;
        let mut data = stdin.clone();
        let mut bounded = false;
        for word in rest {
            match word.split_once('=') {
                Some((key, value)) if key.constant() == Some("if") => data = self.read_file(&value),
                Some((key, value)) if key.constant() == Some("of") => out = Some(value),
                Some((key, _)) if key.constant() == Some("count") => bounded = true,
                Some(_) => {}
                None if matches!(word.constant(), Some("--help" | "--version")) => {}
                None => {
                    self.unknown(UnknownKind::Option, Effect::Update, format!("`dd` does not take `{}`", word.shown()))
                }
            }
        }
        data.endless &= !bounded && self.effort.limits == 0;
        match out {
            Some(path) if data.text.as_deref() == Some("") => {
                self.empties(&path);
                Stream::empty()
            }
            Some(path) => {
                self.write_file(&path, data.with_text(None), false);
                Stream::empty()
            }
            None => data,
        }
    }

    fn tar(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        // The first word may be a cluster without a dash.
        let mut words = rest.to_vec();
        if let Some(first) = words.first().and_then(Word::constant).map(str::to_owned)
            && !first.starts_with('-')
            && !first.is_empty()
        {
            words = old_style(&first, words.get(1..).unwrap_or_default());
        }
        let texts: Vec<String> = words.iter().map(Word::shown).collect();
        let short =
            |letters: &[char]| texts.iter().any(|t| t.starts_with('-') && !t.starts_with("--") && t.contains(letters));
        let long = |names: &[&str]| texts.iter().any(|t| names.contains(&t.as_str()));
        let extracts = short(&['x']) || long(&["--extract", "--get"]);
        let lists = short(&['t']) || long(&["--list"]);
        let to_output = short(&['O']) || long(&["--to-stdout"]);
        let elsewhere = short(&['C']) || texts.iter().any(|t| t.starts_with("--directory"));
        if extracts && !to_output && !elsewhere {
            self.touch_path(Effect::Update, &Word::text("."), true);
        }
        if extracts {
            let after = |names: &[&str]| {
                words.iter().zip(&texts).enumerate().find_map(|(i, (word, text))| {
                    let clustered = !text.starts_with("--")
                        && text.starts_with('-')
                        && names.iter().any(|n| n.len() == 2 && text.ends_with(n.trim_start_matches('-')));
                    match names.iter().find(|name| text.strip_prefix(**name).is_some_and(|rest| rest.starts_with('=')))
                    {
                        Some(name) => word.skip(name.len() + 1),
                        None if clustered || names.contains(&text.as_str()) => words.get(i + 1).cloned(),
                        None => None,
                    }
                })
            };
            let archive = after(&["-f", "--file"]).filter(|file| file.constant() != Some("-"));
            let from = archive.map_or_else(|| stdin.clone(), |file| self.held(&file));
            self.unpacks(&from, after(&["-C", "--directory"]).as_ref());
        }
        let name = if extracts {
            "tar-extract"
        } else if lists {
            "tar-list"
        } else {
            "tar"
        };
        let mut out = match crate::catalogue::entry(name) {
            Some(entry) => self.apply(entry, &words, stdin),
            None => Stream::unknown(),
        };
        // The names of what goes in come from who lists them (tar(1), "--files-from").
        let listed = texts.iter().any(|text| text == "--files-from=-" || text == "-T-")
            || texts.windows(2).any(|pair| {
                let names =
                    |option: &str| option == "--files-from" || (!option.starts_with("--") && option.ends_with('T'));
                matches!(pair, [option, file] if option.starts_with('-') && names(option) && file == "-")
            });
        if listed && name == "tar" {
            for word in stdin.listing.iter().at_most(MAX_LISTED) {
                out.sources.extend(self.read_file(word).sources);
            }
        }
        out
    }
}

/// The most names of a list that are followed.
const MAX_LISTED: usize = 64;

/// Whether the name of a variable says that it holds a credential.
pub(super) fn is_credential(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let last = upper.rsplit('_').next().unwrap_or("");
    ["SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|word| upper.contains(word))
        || matches!(last, "TOKEN" | "KEY" | "APIKEY" | "PAT")
}

/// `tar xzf FILE …` as `tar -x -z -f FILE …`: letters that take a value take the next words in order.
fn old_style(cluster: &str, rest: &[Word]) -> Vec<Word> {
    let mut out = Vec::new();
    let mut rest = rest.iter();
    for letter in cluster.chars() {
        out.push(Word::text(format!("-{letter}")));
        if matches!(letter, 'f' | 'b' | 'C' | 'T' | 'X' | 'I' | 'F' | 'H' | 'N' | 'V' | 'K' | 'g' | 'L') {
            out.extend(rest.next().cloned());
        }
    }
    out.extend(rest.cloned());
    out
}

/// What `seq` writes where that is a short list of whole numbers (seq(1)).
const MANY_NUMBERS: u64 = 100_000_000;

fn numbers(rest: &[Word]) -> Option<Stream> {
    let words: Vec<&str> = rest.iter().map(Word::constant).collect::<Option<_>>()?;
    // A format or a sign between them changes none of the numbers.
    let shaped = words.iter().any(|word| {
        matches!(*word, "-f" | "-s" | "-w" | "--equal-width")
            || word.starts_with("--format=")
            || word.starts_with("--separator=")
    });
    let valued =
        |i: usize| i.checked_sub(1).and_then(|i| words.get(i)).is_some_and(|before| matches!(*before, "-f" | "-s"));
    let plain =
        words.iter().enumerate().filter(|(i, word)| !(word.starts_with('-') || valued(*i))).map(|(_, word)| *word);
    let numbers: Vec<u64> = plain.map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let (first, last) = match numbers.as_slice() {
        [last] => (1, *last),
        [first, last] => (*first, *last),
        [first, _, last] => (*first, *last),
        _ => return None,
    };
    // Nobody waits for so many.
    if last.saturating_sub(first) >= MANY_NUMBERS {
        return Some(Stream { endless: true, ..Stream::unknown() });
    }
    if shaped {
        return None;
    }
    if numbers.len() > 2 {
        return None;
    }
    (last >= first && last - first < 32)
        .then(|| Stream::constant((first..=last).map(|n| format!("{n}\n")).collect::<String>()))
}

//! The builtins of Bash (reference manual 4).

use std::borrow::Cow;

use countersign_plan::tool::Effect;

use crate::inspection::{FindingKind, Knowledge, UnknownKind};
use crate::machine::{Machine, Stream, Variable, Word};

/// Builtins that change nothing outside the shell.
const HARMLESS: &[&str] = &[
    "type", "times", "jobs", "fg", "bg", "umask", "ulimit", "logout", "bind", "compopt", "caller", "suspend", "dirs",
    "help", "fc",
];

/// Files of the system that only set variables (os-release(5), locale.conf(5), lsb_release(1)).
const SETTINGS: &[&str] = &[
    "/etc/os-release",
    "/usr/lib/os-release",
    "/etc/lsb-release",
    "/etc/locale.conf",
    "/etc/default/locale",
    "/etc/machine-info",
    "/etc/vconsole.conf",
    "/etc/default/keyboard",
];

impl Machine<'_> {
    /// Runs a builtin; `None` where the name is none.
    pub(crate) fn builtin(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        self.effort.started(name);
        let out = match name {
            "echo" => self.echo(rest),
            "printf" => {
                let rest = attached_name(rest);
                if let [option, name, ..] = &*rest
                    && option.constant() == Some("-v")
                    && name.constant().is_none()
                {
                    // It may be the name of any variable.
                    self.scope.forget();
                }
                self.printf_builtin(&rest)
            }
            "cd" | "chdir" => self.change_folder(rest),
            "pushd" => self.change_folder(rest),
            "popd" => {
                self.scope.change_folder(Vec::new());
                Stream::empty()
            }
            "eval" => return Some(self.eval(rest, stdin)),
            "source" | "." => return Some(self.source(rest, stdin)),
            "exec" => return Some(self.exec(rest, stdin)),
            "command" | "builtin" => return Some(self.by_name(name, rest, stdin)),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(name, rest),
            "unset" => self.unset(rest),
            "alias" => {
                for word in rest {
                    if let Some((name, value)) = word.split_once('=') {
                        // What is not known of it is a variable again where the alias is used.
                        self.scope.set_alias(&name.shown(), &value.shown());
                    }
                }
                Stream::unknown()
            }
            "unalias" => {
                for word in rest.iter().filter_map(Word::constant) {
                    self.scope.unalias((word != "-a").then_some(word));
                }
                Stream::empty()
            }
            "pwd" => match self.scope.folders() {
                Some([folder]) if !folder.contains(['*', '?', '[']) => Stream::constant(format!("{folder}\n")),
                _ => Stream::unknown(),
            },
            "read" => self.read_builtin(rest, stdin),
            "mapfile" | "readarray" => self.read_lines(rest, stdin),
            "set" => self.set(rest),
            "shift" => self.shift(rest),
            "trap" => self.trap(rest),
            "let" => {
                for word in rest.iter().map(Word::shown).collect::<Vec<_>>() {
                    self.arithmetic(&word);
                }
                Stream::empty()
            }
            "getopts" => self.next_option(rest),
            "compgen" | "complete" => self.completes(rest),
            "hash" => self.remembers(rest),
            "break" | "continue" | "return" | "exit" => {
                self.jump(name, rest);
                Stream::unknown()
            }
            "shopt" => {
                let says = |option: &str| rest.iter().any(|word| word.constant() == Some(option));
                self.scope.lastpipe |= says("lastpipe") && says("-s");
                self.scope.nullglob |= says("nullglob") && says("-s");
                // The options of `set` (Bash reference manual 4.3.2, "-o").
                if rest.iter().any(|word| word.prefix().starts_with('-') && word.prefix().contains('o')) {
                    self.scope.errexit = false;
                }
                Stream::unknown()
            }
            "test" | "[" | "[[" => self.test_builtin(rest),
            "enable" => {
                if rest.iter().any(|word| word.prefix().starts_with(['-']) && !word.prefix().starts_with("-f")) {
                    self.unknown(UnknownKind::Code, Effect::Execute, "a builtin may be none any more");
                }
                for pair in rest.windows(2) {
                    if let [flag, file] = pair
                        && flag.constant() == Some("-f")
                    {
                        self.touch_path(Effect::Execute, file, false);
                    }
                }
                Stream::empty()
            }
            "kill" => {
                let what: Vec<String> = rest.iter().map(Word::shown).collect();
                let target = what.iter().rfind(|w| !w.is_empty()).cloned().unwrap_or_default();
                if what.iter().any(|w| w == "-l" || w == "-0") {
                    return Some(Stream::unknown());
                }
                // What the line itself put into the background (POSIX, "Special Parameters", "Job Control Job ID").
                let own = |word: &String| word == "${!}" || word.starts_with('%') && self.effort.starts > 0;
                if !what.is_empty() && what.iter().all(|word| own(word) || word.starts_with('-') && word != "-1") {
                    return Some(Stream::empty());
                }
                if matches!(target.as_str(), "-1" | "1") {
                    self.find(FindingKind::DestroysSystem, "signals every process, or the first one");
                }
                self.touch_other(Effect::Update, countersign_plan::tool::TargetKind::Process, target);
                Stream::empty()
            }
            "history" => {
                let clears = |word: &Word| {
                    word.constant().is_some_and(|text| text.starts_with('-') && text.contains(['c', 'd']))
                };
                if rest.iter().any(clears) {
                    self.find(FindingKind::ErasesRecord, "removes the record of what was typed");
                }
                Stream::unknown()
            }
            ":" | "true" | "false" | "wait" | "disown" => Stream::empty(),
            _ if HARMLESS.contains(&name) => Stream::unknown(),
            _ => return None,
        };
        self.note(name, rest, Knowledge::Builtin);
        Some(out)
    }

    pub(crate) fn echo(&mut self, rest: &[Word]) -> Stream {
        let mut rest = rest;
        let (mut newline, mut escapes) = (true, false);
        while let Some((first, more)) = rest.split_first() {
            let Some(flags) = first.constant().and_then(|text| text.strip_prefix('-')) else { break };
            if flags.is_empty() || !flags.chars().all(|c| matches!(c, 'n' | 'e' | 'E')) {
                break;
            }
            newline &= !flags.contains('n');
            escapes |= flags.contains('e');
            rest = more;
        }
        let mut data = Stream::empty();
        let mut text = Some(String::new());
        for (i, word) in rest.iter().enumerate() {
            if word.has_hole() {
                data = data.then(self.origin_of(word));
            }
            text = match (text, word.constant()) {
                (Some(mut text), Some(word)) => {
                    if i > 0 {
                        text.push(' ');
                    }
                    text.push_str(word);
                    Some(text)
                }
                _ => None,
            };
        }
        let text = text.map(|text| {
            let mut text = if escapes { crate::shell::escapes(&text, true) } else { text };
            if newline {
                text.push('\n');
            }
            text
        });
        let decoded = data.decoded || (escapes && rest.iter().any(|w| w.shown().contains('\\')));
        let listing = if rest.iter().any(Word::is_pattern) { rest.to_vec() } else { Vec::new() };
        Stream { text, decoded, listing, ..data }
    }

    pub(crate) fn printf_builtin(&mut self, rest: &[Word]) -> Stream {
        let rest = match rest.first().and_then(Word::constant) {
            Some("--") => rest.get(1..).unwrap_or_default(),
            Some("-v") => {
                if let Some(name) = rest.get(1).and_then(Word::constant).map(str::to_owned) {
                    let out = self.printf_builtin(rest.get(2..).unwrap_or_default());
                    let value = out.text.map_or(Variable::Unknown, |text| Variable::Scalar(Word::text(text)));
                    self.assign_variable(&name, value);
                }
                return Stream::empty();
            }
            _ => rest,
        };
        let constant: Option<Vec<String>> = rest.iter().map(|word| word.constant().map(str::to_owned)).collect();
        let Some((format, arguments)) = constant.as_deref().and_then(<[String]>::split_first) else {
            let mut out = rest
                .iter()
                .filter(|word| word.has_hole())
                .fold(Stream::empty(), |out, word| out.then(self.origin_of(word)))
                .with_text(None);
            // `printf '%s\0' ~/*`: names of files, as they are where nothing is put around them.
            let plain = |format: &str| matches!(format, "%s\\n" | "%s\\0" | "%s\n" | "%s " | "%q\\n" | "%q ");
            let names = rest.get(1..).unwrap_or_default();
            if names.iter().any(Word::is_pattern) {
                let as_they_are = rest.first().and_then(Word::constant).is_some_and(plain);
                out.listing.clear();
                out.list(if as_they_are { names.to_vec() } else { vec![Word::holes("name")] });
            }
            return out;
        };
        let decoded =
            format.contains("\\x") || format.contains("\\1") || format.contains("\\0") || format.contains("%b");
        Stream { text: crate::shell::printf(format, arguments), decoded, ..Stream::default() }
    }

    fn change_folder(&mut self, rest: &[Word]) -> Stream {
        let target = rest.iter().find(|word| !matches!(word.constant(), Some("-L" | "-P" | "-e" | "--" | "-n")));
        let to = match target {
            None => match self.variable_word("HOME") {
                Some(home) if !home.has_hole() => self.paths(&home),
                Some(_) | None => Vec::new(),
            },
            Some(word) if word.constant() == Some("-") => {
                self.scope.previous().map(<[String]>::to_vec).unwrap_or_default()
            }
            // One of the folders that match: what is done there is done to a pattern.
            Some(word) if word.has_hole() => Vec::new(),
            Some(word) => self.paths(word).into_iter().filter(|path| path.starts_with('/')).collect(),
        };
        self.scope.change_folder(to);
        Stream::empty()
    }

    fn eval(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        self.note("eval", rest, Knowledge::Builtin);
        let mut all = Word::default();
        for (i, word) in rest.iter().enumerate() {
            if i > 0 {
                all.push_str(" ");
            }
            all.append(word);
        }
        self.shell_text(&all, stdin)
    }

    fn source(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        self.note("source", rest, Knowledge::Builtin);
        let Some((file, arguments)) = rest.split_first() else { return Stream::empty() };
        if file.constant() == Some("/dev/stdin") {
            return self.input_code(crate::code::Language::Shell, stdin);
        }
        let plain = |path: &String| SETTINGS.contains(&path.as_str()) && !self.files.contains_key(path);
        if self.paths(file).iter().all(plain) {
            self.touch_path(Effect::Read, file, false);
            self.scope.forget();
            return Stream::empty();
        }
        self.touch_path(Effect::Execute, file, false);
        match self.put_at(file) {
            Some(content) => {
                let name = file.shown();
                self.within_call(|machine| machine.run_written(&content, &name, arguments, stdin))
            }
            None => {
                // What it sets is not known.
                self.scope.forget();
                Stream::unknown()
            }
        }
    }

    fn exec(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut rest = rest;
        while let Some((first, more)) = rest.split_first() {
            match first.constant() {
                Some("-c" | "-l" | "-cl" | "--") => rest = more,
                Some("-a") => rest = more.get(1..).unwrap_or_default(),
                _ => break,
            }
        }
        if rest.is_empty() {
            return Stream::empty();
        }
        self.start(rest.to_vec(), stdin.clone())
    }

    /// `command` and `builtin`: past functions and aliases.
    fn by_name(&mut self, by: &str, rest: &[Word], stdin: &Stream) -> Stream {
        let mut rest = rest;
        while let Some((first, more)) = rest.split_first() {
            match first.constant() {
                Some("-p" | "--") => rest = more,
                Some("-v" | "-V") if by == "command" => return Stream::unknown(),
                _ => break,
            }
        }
        let Some((name, arguments)) = rest.split_first() else { return Stream::empty() };
        if let Some(name) = name.constant().map(str::to_owned)
            && let Some(out) = self.builtin(&name, arguments, stdin)
        {
            return out;
        }
        self.start(rest.to_vec(), stdin.clone())
    }
}

/// `printf -vNAME …` with the name as a word of its own.
fn attached_name(rest: &[Word]) -> Cow<'_, [Word]> {
    let name = |text: &&str| text.len() > 2 && text.starts_with("-v");
    match rest.split_first() {
        Some((first, more)) if first.constant().as_ref().is_some_and(name) => {
            let words = [Some(Word::text("-v")), first.skip(2)].into_iter().flatten().chain(more.iter().cloned());
            Cow::Owned(words.collect())
        }
        _ => Cow::Borrowed(rest),
    }
}

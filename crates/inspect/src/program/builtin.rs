//! The builtins of Bash (reference manual 4).

use countersign_plan::tool::Effect;

use crate::inspection::{FindingKind, Knowledge, UnknownKind};
use crate::machine::{Machine, Stream, Variable, Word};

/// The most lines that become elements of an array.
const MAX_LINES: usize = 512;

/// Builtins that change nothing outside the shell.
const HARMLESS: &[&str] = &[
    "type", "hash", "times", "jobs", "fg", "bg", "umask", "ulimit", "logout", "shopt", "bind", "complete", "compgen",
    "compopt", "caller", "suspend", "dirs", "help", "fc",
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
            "printf" => self.printf_builtin(rest),
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
            "unset" => {
                for word in rest
                    .iter()
                    .filter_map(Word::constant)
                    .filter(|w| !w.starts_with('-'))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
                {
                    if word == "HISTFILE" {
                        self.find(FindingKind::ErasesRecord, "what is typed is not recorded any more");
                    }
                    self.scope.set(&word, Variable::Unset);
                    self.scope.undefine(&word);
                }
                Stream::empty()
            }
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
                    self.arithmetic_statement(&word);
                }
                Stream::empty()
            }
            "test" | "[" | "[[" => self.test_builtin(rest),
            "enable" => {
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
                // What the line itself put into the background (POSIX, "Special Parameters").
                if !what.is_empty() && what.iter().all(|word| word == "${!}" || word.starts_with('-') && word != "-1") {
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
            ":" | "true" | "false" | "exit" | "return" | "break" | "continue" | "wait" | "disown" | "getopts" => {
                Stream::empty()
            }
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
            None => vec![self.context.home.clone()],
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
            Some(content) => self.run_written(&content, &file.shown(), arguments, stdin),
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

    fn declare(&mut self, name: &str, rest: &[Word]) -> Stream {
        let prints = rest.is_empty() || rest.iter().all(|w| w.constant().is_some_and(|t| t.starts_with('-')));
        if prints && (rest.is_empty() || rest.iter().any(|w| w.constant() == Some("-p") || w.constant() == Some("-x")))
        {
            self.find(FindingKind::EnvironmentDump, format!("`{name}` lists every variable"));
            return Stream { sources: std::iter::once("env".to_owned()).collect(), ..Stream::unknown() };
        }
        let references =
            rest.iter().filter_map(Word::constant).any(|w| w.starts_with('-') && w.contains('n') && name != "export");
        if references {
            self.unknown(UnknownKind::Value, Effect::Execute, "a variable that stands for another one is not followed");
        }
        for word in rest {
            if let Some((name, value)) = word.split_once('=') {
                let name = name.shown();
                let name = name.trim_end_matches('+');
                let value = if references { Variable::Unknown } else { Variable::Scalar(value) };
                self.assign_variable(name, value);
            }
        }
        Stream::empty()
    }

    /// What is read into a variable comes from where the input comes from.
    fn keeps_origin(&mut self, name: &str, value: &Variable, stdin: &Stream) {
        let known = stdin.remote || stdin.decoded || !stdin.sources.is_empty();
        if matches!(value, Variable::Unknown) && known {
            self.origins.insert(name.to_owned(), Stream { listing: Vec::new(), ..stdin.origin() });
        }
    }

    fn read_builtin(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut named = false;
        let line = stdin.text.as_deref().map(|text| text.lines().next().unwrap_or("").trim().to_owned());
        let names: Vec<String> = rest
            .iter()
            .filter_map(Word::constant)
            .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
            .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
            .map(str::to_owned)
            .collect();
        let single = names.len() == 1;
        for name in &names {
            named = true;
            // Inside a loop each round reads another line: only a single constant line is a value.
            let one_line = stdin.text.as_deref().is_some_and(|text| text.lines().count() == 1);
            let value = match &line {
                Some(line) if single && one_line => Variable::Scalar(Word::text(line.clone())),
                None if single => self.one_of(&stdin.listing).map_or(Variable::Unknown, Variable::Scalar),
                Some(_) | None => Variable::Unknown,
            };
            self.keeps_origin(name, &value, stdin);
            self.assign_variable(name, value);
        }
        if !named {
            self.keeps_origin("REPLY", &Variable::Unknown, stdin);
            self.scope.set("REPLY", Variable::Unknown);
        }
        Stream::empty()
    }

    /// Each line as an element of an array (bash(1), "mapfile").
    fn read_lines(&mut self, rest: &[Word], stdin: &Stream) -> Stream {
        let mut words = rest.iter();
        let mut name = "MAPFILE";
        let mut whole = true;
        while let Some(word) = words.next() {
            match word.constant() {
                Some("-t") => {}
                Some(option) if option.starts_with('-') => {
                    whole = false;
                    let callback = if option.starts_with("-C") { option.get(2..) } else { None };
                    let value = callback.filter(|text| !text.is_empty()).map(Word::text);
                    let takes = option.len() == 2 && matches!(option, "-d" | "-n" | "-O" | "-s" | "-u" | "-C" | "-c");
                    let value = value.or_else(|| if takes { words.next().cloned() } else { None });
                    if let Some(code) = value.filter(|_| callback.is_some()) {
                        self.shell_text(&code, &Stream::unknown());
                    }
                }
                Some(given) => name = given,
                None => whole = false,
            }
        }
        let lines = stdin.text.as_deref().filter(|_| whole).map(|text| text.lines().map(Word::text));
        let value = match lines {
            Some(lines) if lines.clone().count() <= MAX_LINES => Variable::Array(lines.collect()),
            Some(_) => Variable::Unknown,
            None => self.one_of(&stdin.listing).map_or(Variable::Unknown, Variable::Scalar),
        };
        self.keeps_origin(name, &value, stdin);
        self.assign_variable(name, value);
        Stream::empty()
    }

    fn set(&mut self, rest: &[Word]) -> Stream {
        let mut words = rest.iter();
        let mut options = true;
        let mut parameters = Vec::new();
        let mut any = false;
        while let Some(word) = words.next() {
            match word.constant() {
                Some("--") if options => {
                    options = false;
                    any = true;
                }
                // `-euo pipefail`: an `o` among the letters takes a name (bash(1), "set").
                Some(text) if options && text.starts_with(['-', '+']) => {
                    let on = text.starts_with('-');
                    let named = if text.contains('o') { words.next().and_then(Word::constant) } else { None };
                    if text.contains('e') || named == Some("errexit") {
                        self.scope.errexit = on;
                    }
                    if !on && named == Some("history") {
                        self.find(FindingKind::ErasesRecord, "what is typed is not recorded any more");
                    }
                }
                _ => {
                    options = false;
                    any = true;
                    parameters.push(word.clone());
                }
            }
        }
        if rest.is_empty() {
            self.find(FindingKind::EnvironmentDump, "`set` lists every variable");
            return Stream { sources: std::iter::once("env".to_owned()).collect(), ..Stream::unknown() };
        }
        if any {
            self.scope.parameters_known = !parameters.iter().any(Word::is_many);
            self.scope.parameters = self.scope.parameters.iter().take(1).cloned().chain(parameters).collect();
        }
        Stream::empty()
    }

    fn shift(&mut self, rest: &[Word]) -> Stream {
        let n = match rest.first() {
            None => Some(1),
            Some(word) => word.constant().and_then(|n| n.parse::<usize>().ok()),
        };
        match n {
            Some(n) if self.scope.parameters_known => {
                let kept = self.scope.parameters.iter().skip(1 + n).cloned().collect::<Vec<_>>();
                self.scope.parameters.truncate(1);
                self.scope.parameters.extend(kept);
            }
            Some(_) | None => self.scope.parameters_known = false,
        }
        Stream::empty()
    }

    fn trap(&mut self, rest: &[Word]) -> Stream {
        if let Some(action) = rest.iter().find(|word| !matches!(word.constant(), Some("--" | "-l" | "-p")))
            && rest.len() > 1
            && action.constant() != Some("-")
        {
            self.shell_text(action, &Stream::unknown());
        }
        Stream::empty()
    }

    fn test_builtin(&mut self, rest: &[Word]) -> Stream {
        for word in rest {
            // An index inside a name is evaluated, substitutions included.
            let text = word.shown();
            if text.contains("[$(") || text.contains("[`") {
                self.unknown(UnknownKind::Code, Effect::Execute, format!("the test of `{text}` may run a command"));
            }
        }
        Stream::empty()
    }
}

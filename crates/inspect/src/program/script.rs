//! Code that a program is given: as an argument, in a file, or on standard input; and the scripts of `awk`.

use std::collections::BTreeSet;

use countersign_plan::inspection::Flow;
use countersign_plan::tool::{Effect, TargetKind};

use crate::code::Language;
use crate::inspection::{Build as _, FindingKind, UnknownKind};
use crate::machine::{Machine, Part, Stream, Word};

impl Machine<'_> {
    /// Code as an argument.
    pub(crate) fn code_word(&mut self, language: Language, word: &Word, stdin: &Stream) {
        if language == Language::Shell {
            self.shell_text(word, stdin);
            return;
        }
        match word.constant().map(str::to_owned) {
            Some(text) => {
                self.judge_text(&text);
                self.judge_documents(&text);
                let text = self.with_arguments(language, &text);
                let since = self.out.touches.len();
                self.code(language, &text);
                self.hands_on(&text, stdin, since);
            }
            None => {
                let origin = self.origin_of(word);
                self.judge_input(&origin);
                let message = format!("the {} code of `{}` is not constant", language.name(), self.by);
                self.unknown(UnknownKind::Value, Effect::Execute, message);
                self.known_part(language, word, &origin);
            }
        }
    }

    /// Code with a name in each place that is not known: what is put there goes to whom the rest talks to.
    fn known_part(&mut self, language: Language, word: &Word, origin: &Stream) {
        let text: String = word
            .parts()
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Glob(c) => c.to_string(),
                Part::Hole { .. } => "COUNTERSIGN_UNKNOWN".to_owned(),
            })
            .collect();
        let before = self.out.touches.len();
        self.code(language, &text);
        let new = self.out.touches.get(before..).unwrap_or_default();
        let hosts: BTreeSet<String> =
            new.iter().filter(|touch| touch.kind == TargetKind::Host).map(|touch| touch.name.clone()).collect();
        for to in hosts {
            for from in &origin.sources {
                self.out.flow(Flow { from: from.clone(), to: to.clone() });
            }
        }
    }

    /// What a file in a temporary folder holds that the line itself wrote, where all of it is known: what it does is read, and no
    /// file of anybody else's is run.
    pub(super) fn scratch(&self, file: &Word) -> Option<String> {
        let written = self.put_at(file).filter(|written| !written.remote && !written.decoded)?;
        let paths = self.paths(file);
        let temporary = |path: &String| ["/tmp/", "/var/tmp/"].iter().any(|folder| path.starts_with(folder));
        let own = |path: &String| temporary(path) || self.files.contains_key(path);
        written.text.filter(|_| paths.iter().any(temporary) && paths.iter().all(own))
    }

    /// A file with code, and its arguments.
    pub(crate) fn script_file(&mut self, language: Language, command: &[Word], stdin: &Stream) -> Stream {
        let Some((file, rest)) = command.split_first() else { return self.input_code(language, stdin) };
        if matches!(file.constant(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
            return self.input_code(language, stdin);
        }
        if file.shown().contains("://") {
            self.touch_host(file);
            let remote = Stream { remote: true, ..Stream::unknown() };
            return self.run_written(&remote, &file.shown(), rest, stdin);
        }
        // No script is called so: an option before it was read in another way than its interpreter reads it.
        if file.shown().contains(['(', '{', ';', '"', '\'', '\n'])
            && !self.paths(file).iter().any(|path| self.files.contains_key(path))
        {
            self.unknown(UnknownKind::Code, Effect::Execute, format!("`{}` is no name of a script", file.shown()));
            if language != Language::Shell {
                let text = file.shown();
                self.code(language, &text);
            }
        }
        if self.scratch(file).is_none() {
            self.touch_path(Effect::Execute, file, false);
        }
        self.sources_beside(file);
        self.judge_deployment(&file.shown());
        self.judge_tasks(file.shown().rsplit('/').next().unwrap_or(""), rest);
        self.judge_live(file.shown().rsplit('/').next().unwrap_or(""), rest);
        if file.shown().ends_with("manage.py") {
            // It loads the project, and a shell of its own takes code (Django, "django-admin and manage.py").
            let folder = self.paths(&Word::text(".")).into_iter().next().unwrap_or_default();
            self.runs_written(&|path: &str| crate::path::is_below(path, &folder));
            let shell = rest.first().and_then(Word::constant).is_some_and(|task| task.starts_with("shell"));
            if let Some(code) = stdin.text.clone().filter(|_| shell) {
                self.runs_among_records("manage.py", &["-c".to_owned(), code]);
            }
        }
        let paths = self.paths(file);
        let path = paths.first().cloned().unwrap_or_default();
        let Some(content) = self.put_at(file) else {
            paths.iter().for_each(|path| self.judge_seen(language, path));
            // `php vendor/bin/phpunit`: a program of the project's under its own name.
            if path.contains("/vendor/bin/")
                && let Some(out) = self.of_project(&path, rest, stdin)
            {
                return out;
            }
            return Stream { sources: stdin.sources.clone(), ..Stream::unknown() };
        };
        if language == Language::Shell {
            return self.run_written(&content, &path, rest, stdin);
        }
        self.judge_input(&content);
        match content.text {
            Some(text) => self.code(language, &text),
            None => self.unknown(
                UnknownKind::Code,
                Effect::Execute,
                format!("what {path} holds when it is run is not known"),
            ),
        }
        Stream::unknown()
    }

    /// Code on standard input.
    pub(crate) fn input_code(&mut self, language: Language, stdin: &Stream) -> Stream {
        if stdin.text.as_deref() == Some("") {
            return Stream::unknown();
        }
        self.judge_input(stdin);
        match stdin.text.clone() {
            Some(text) if language == Language::Shell => self.script(&text, &Stream::empty()),
            Some(text) => {
                let text = self.with_arguments(language, &text);
                self.code(language, &text);
                Stream::unknown()
            }
            None => {
                if language == Language::Shell {
                    for text in stdin.known() {
                        self.absorb_grave(crate::shell::shell(text, self.context));
                    }
                }
                let from: Vec<&str> = stdin.sources.iter().map(String::as_str).collect();
                let from = if from.is_empty() { "its input".to_owned() } else { from.join(", ") };
                self.unknown(
                    UnknownKind::Code,
                    Effect::Execute,
                    format!("`{}` runs {from}, which is not visible here", self.by),
                );
                Stream::unknown()
            }
        }
    }

    /// Statements as an argument.
    pub(crate) fn sql_word(&mut self, word: &Word) {
        match word.constant().map(str::to_owned) {
            Some(text) => self.statements(&text),
            None if self.queries_of_project(word) => {}
            None => {
                let shown = word.shown();
                let made = self.ends_databases && matches!(shown.as_str(), "${stdin}" | "${line}");
                if made {
                    let message =
                        format!("`{}` runs the statements that end each database which a query finds", self.by);
                    self.find(FindingKind::DestroysDatabase, message);
                }
                // Whichever it is; in a loop each of them.
                if ["drop database", "drop schema"].iter().any(|text| shown.to_ascii_lowercase().contains(text)) {
                    let message = format!("`{}` drops each database that it is given", self.by);
                    self.find(FindingKind::DestroysDatabase, message);
                    self.touch_other(Effect::Delete, countersign_plan::tool::TargetKind::Database, shown.as_str());
                }
                self.unknown(UnknownKind::Value, Effect::Admin, format!("the statement `{shown}` is not constant"));
            }
        }
    }

    /// Statements on standard input.
    pub(crate) fn input_sql(&mut self, stdin: &Stream) {
        match stdin.text.clone() {
            Some(text) if text.is_empty() => {}
            Some(text) => self.statements(&text),
            None if self.runs_statements_of_project(stdin) => {}
            None => {
                if self.ends_databases {
                    let message =
                        format!("`{}` runs the statements that end each database which a query finds", self.by);
                    self.find(FindingKind::DestroysDatabase, message);
                }
                let message = format!("`{}` runs statements that are not visible here", self.by);
                self.unknown(UnknownKind::Code, Effect::Admin, message);
            }
        }
    }

    /// A script of `awk`: commands that it runs, files that it reads and writes (POSIX `awk`; gawk manual).
    pub(crate) fn awk(&mut self, word: &Word) {
        let Some(mut script) = word.constant().map(str::to_owned) else {
            self.unknown(UnknownKind::Value, Effect::Execute, "the script of `awk` is not constant");
            return;
        };
        // `system("rm -rf " ENVIRON["HOME"] "/*")`: texts that stand side by side are one.
        if script.contains("ENVIRON[\"HOME\"]") && script.contains("system") {
            script = side_by_side(&script.replace("ENVIRON[\"HOME\"]", &format!("\"{}\"", self.context.home)));
        }
        let (bare, mut strings) = without_strings(&script);
        // `-v s=/inet/tcp/0/HOST/PORT`
        let given = self.words.iter().filter_map(Word::constant).filter_map(|word| word.split_once('='));
        strings.extend(given.filter(|(_, value)| value.starts_with("/inet")).map(|(_, value)| value.to_owned()));
        let runs = bare.contains("system") || has_pipe(&bare) || bare.contains("@load") || bare.contains("@include");
        for text in strings.iter().filter(|text| text.starts_with("/inet")) {
            if orders(&bare) {
                let message = "the script of `awk` runs what another machine sends it";
                self.find(FindingKind::ReverseShell, message);
            }
            let mut parts = text.split('/').skip(4);
            let host = Word::text(parts.next().unwrap_or("?"));
            self.touch_host(&host);
            self.unknown(UnknownKind::Code, Effect::Send, "the script of `awk` talks to another machine");
        }
        // `ENVIRON["HOME"] "/.netrc"`
        if bare.contains("ENVIRON") && bare.contains("getline") {
            let hosts: Vec<String> = strings
                .iter()
                .filter(|text| text.starts_with("/inet"))
                .filter_map(|text| text.split('/').nth(4).map(str::to_owned))
                .collect();
            for text in strings.iter().filter(|text| text.starts_with('/') && !text.starts_with("/inet")) {
                let path = format!("{}{text}", self.context.home);
                self.touch_path(Effect::Read, &Word::text(path.as_str()), false);
                hosts.iter().for_each(|host| self.leaves(&path, host));
            }
        }
        if bare.contains("ENVIRON") {
            self.out.touch(crate::inspection::Touch {
                effect: Effect::Read,
                kind: countersign_plan::tool::TargetKind::Process,
                name: "env".to_owned(),
                pattern: false,
                recursive: false,
                by: self.by.clone(),
                in_place: false,
            });
        }
        if runs && !self.awk_commands(&bare, &strings) {
            let commands: Vec<&String> = strings.iter().filter(|text| text.chars().any(char::is_alphabetic)).collect();
            match (commands.as_slice(), bare.matches("system").count() + usize::from(has_pipe(&bare))) {
                ([only], 1) if calls_string(&bare) => {
                    self.script(only, &Stream::unknown());
                }
                _ => self.unknown(
                    UnknownKind::Code,
                    Effect::Execute,
                    "the script of `awk` runs commands that it puts together",
                ),
            }
        }
        if writes_file(&bare) {
            for text in strings.iter().filter(|text| looks_like_a_file(text)) {
                self.touch_path(Effect::Update, &Word::text(text.as_str()), false);
            }
            if !strings.iter().any(|text| looks_like_a_file(text)) {
                self.unknown(
                    UnknownKind::Value,
                    Effect::Update,
                    "the script of `awk` writes files that it names itself",
                );
            }
        }
        if bare.contains("getline<") || bare.contains("getline <") {
            for text in strings.iter().filter(|text| looks_like_a_file(text)) {
                self.read_file(&Word::text(text.as_str()));
            }
        }
    }
}

/// A script in which texts that only blanks part are joined.
fn side_by_side(script: &str) -> String {
    let mut out = String::with_capacity(script.len());
    let mut inside = false;
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or("");
        if inside && c == '\\' {
            out.push(c);
            out.extend(rest.chars().next());
            rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or("");
        } else if inside && c == '"' {
            match rest.trim_start_matches(' ').strip_prefix('"') {
                Some(next) => rest = next,
                None => {
                    inside = false;
                    out.push(c);
                }
            }
        } else {
            inside |= c == '"';
            out.push(c);
        }
    }
    out
}

/// A place in a script of `awk` that runs something: which of the strings, or what is not constant.
enum Runs {
    Text(usize),
    Unseen,
}

impl Machine<'_> {
    /// Runs the constant commands of a script of `awk`; whether each place that runs anything was followed. What a command writes
    /// may be what another place runs.
    fn awk_commands(&mut self, bare: &str, strings: &[String]) -> bool {
        if bare.contains("@load") || bare.contains("@include") {
            return false;
        }
        let (tight, texts) = joined(bare, strings);
        let mut places = Vec::new();
        for (at, _) in tight.match_indices("system(") {
            places.push((argument_of(tight.get(at + 7..).unwrap_or(""), &tight), false));
        }
        for (at, _) in tight.match_indices('|') {
            let before = tight.get(..at).unwrap_or("");
            let after = tight.get(at + 1..).unwrap_or("");
            if before.ends_with('|') || after.starts_with('|') {
                continue;
            }
            if after.trim_start_matches('&').starts_with("getline") {
                let start =
                    before.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || is_mark(c))).map_or(0, |i| i + 1);
                places.push((argument_of(before.get(start..).unwrap_or(""), &tight), true));
            } else {
                places.push((argument_of(after, &tight), false));
            }
        }
        let mut remote = false;
        let mut unseen = false;
        for (place, answers) in places {
            match place {
                Runs::Text(at) => {
                    let Some(text) = texts.get(at).cloned() else { return false };
                    let out = self.script(&text, &Stream::unknown());
                    remote |= answers && out.remote;
                }
                Runs::Unseen => unseen = true,
            }
        }
        if unseen && remote {
            self.find(FindingKind::DownloadAndExecute, "the script of `awk` runs what a host sends");
        }
        !unseen
    }
}

const fn is_mark(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}')
}

/// The script without blanks, each string as one sign that counts them, and strings that stand side by side as one.
fn joined(bare: &str, strings: &[String]) -> (String, Vec<String>) {
    let mut out = String::new();
    let mut texts: Vec<String> = Vec::new();
    let mut rest = strings.iter();
    for c in bare.chars().filter(|c| !matches!(c, ' ' | '\t')) {
        if c != '\u{1}' {
            out.push(if c == '\n' { ';' } else { c });
            continue;
        }
        let text = rest.next().cloned().unwrap_or_default();
        match (out.chars().next_back().is_some_and(is_mark), texts.last_mut()) {
            (true, Some(last)) => last.push_str(&text),
            _ => {
                let at = u32::try_from(texts.len()).unwrap_or(0).min(6000);
                out.push(char::from_u32(0xe000 + at).unwrap_or('\u{e000}'));
                texts.push(text);
            }
        }
    }
    (out, texts)
}

/// The constant that an argument is, or that a variable is given once.
fn argument_of(text: &str, script: &str) -> Runs {
    let of = |c: char| Runs::Text(usize::try_from(u32::from(c) - 0xe000).unwrap_or(usize::MAX));
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || is_mark(c))).unwrap_or(text.len());
    let word = text.get(..end).unwrap_or("");
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if is_mark(c) => of(c),
        (Some(first), _) if !is_mark(first) && !word.contains(is_mark) => {
            let given = format!("{word}=");
            let mut found = script.match_indices(&given).filter(|(at, _)| {
                let before = script.get(..*at).and_then(|head| head.chars().next_back());
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            let value = found.next().and_then(|(at, _)| script.get(at + given.len()..)).unwrap_or("");
            let mut value = value.chars();
            match (value.next(), value.next(), found.next()) {
                (Some(c), end, None) if is_mark(c) && end.is_none_or(|end| matches!(end, ';' | '}' | ')')) => of(c),
                _ => Runs::Unseen,
            }
        }
        _ => Runs::Unseen,
    }
}

fn looks_like_a_file(text: &str) -> bool {
    !text.is_empty() && !text.contains(['%', '\n', ' ']) && text.contains(['/', '.'])
}

/// Whether a script of `awk` that has a socket runs what it reads: a command beside the socket, or another coprocess whose lines
/// are read (gawk manual, "Two-way I/O").
fn orders(bare: &str) -> bool {
    let squeezed: String = bare.chars().filter(|c| !c.is_whitespace()).collect();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let read: BTreeSet<&str> = squeezed
        .match_indices("|&getline")
        .map(|(at, _)| squeezed.get(..at).unwrap_or_default())
        .map(|before| before.get(before.trim_end_matches(word).len()..).unwrap_or_default())
        .collect();
    !read.is_empty() && (read.len() > 1 || bare.contains("system") || squeezed.contains("|getline"))
}

/// Whether the one string of a script stands in `system("…")` or `"…" | getline` or `print | "…"`.
fn calls_string(bare: &str) -> bool {
    let tight: String = bare.chars().filter(|c| !c.is_whitespace()).collect();
    tight.contains("system(\u{1})") || tight.contains("\u{1}|getline") || tight.contains("|\u{1}")
}

fn has_pipe(bare: &str) -> bool {
    let bytes = bare.as_bytes();
    bytes
        .iter()
        .enumerate()
        .any(|(i, b)| *b == b'|' && bytes.get(i + 1) != Some(&b'|') && (i == 0 || bytes.get(i - 1) != Some(&b'|')))
}

/// Whether `print … > …` occurs: a `>` after `print` in the same statement and outside parentheses.
fn writes_file(bare: &str) -> bool {
    bare.split([';', '}', '\n', '{']).any(|statement| {
        let Some(at) = statement.find("print") else { return false };
        let mut depth = 0;
        statement.get(at..).unwrap_or("").chars().any(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            c == '>' && depth <= 0
        })
    })
}

/// A script with each string and regular expression replaced by one mark, and the strings.
fn without_strings(script: &str) -> (String, Vec<String>) {
    let mut bare = String::new();
    let mut strings = Vec::new();
    let mut chars = script.chars();
    let mut before = '(';
    while let Some(c) = chars.next() {
        let regex = c == '/' && matches!(before, '(' | '~' | '!' | ',' | '{' | ';' | '&' | '|' | '\n' | '}');
        if c == '"' || regex {
            let mut text = String::new();
            while let Some(next) = chars.next() {
                match next {
                    '\\' => {
                        text.push('\\');
                        text.extend(chars.next());
                    }
                    end if end == c => break,
                    other => text.push(other),
                }
            }
            if c == '"' {
                strings.push(crate::shell::escapes(&text, false));
                bare.push('\u{1}');
            } else {
                bare.push('\u{2}');
            }
            before = 'x';
        } else if c == '#' {
            chars.by_ref().find(|next| *next == '\n');
        } else {
            bare.push(c);
            if !c.is_whitespace() {
                before = c;
            }
        }
    }
    (bare, strings)
}

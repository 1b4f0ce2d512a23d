//! Scripts of `awk`: the commands that they put together and run, the files that they read and write (POSIX `awk`; gawk manual).

use std::collections::BTreeSet;

use countersign_plan::tool::Effect;

use crate::inspection::{Build as _, FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

mod script;

use script::{Place, READ, Script};

impl Machine<'_> {
    /// A script of `awk`: commands that it runs, files that it reads and writes (POSIX `awk`; gawk manual).
    pub(crate) fn awk(&mut self, word: &Word, stdin: &Stream) {
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
        // `@load`, `@include`, and a call of whatever function a variable names.
        let runs = bare.contains("system") || has_pipe(&bare) || bare.contains('@');
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
        if runs && !self.awk_commands(&bare, &strings, stdin) {
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

impl Machine<'_> {
    /// Runs the commands of a script of `awk`; whether each place that runs anything is constant. What a command writes may be what
    /// another place runs or is told; of a command that is put together what is constant still counts.
    fn awk_commands(&mut self, bare: &str, strings: &[String], stdin: &Stream) -> bool {
        let Some(script) = Script::new(bare, strings, &self.words, &self.context.home) else { return false };
        let mut data = stdin.origin();
        data.listing.clear();
        data.sources
            .extend(self.words.iter().skip(1).filter(|word| is_operand(word)).flat_map(|word| self.paths(word)));
        let (mut remote, mut decoded, mut unseen) = (false, false, false);
        for (place, word) in script.places() {
            let Some(word) = word else {
                unseen |= place != Place::Reads;
                continue;
            };
            if place == Place::Reads {
                let read = self.read_file(&word);
                data.sources.extend(read.sources);
                continue;
            }
            let told = if place == Place::IsTold { data.clone() } else { Stream::unknown() };
            let out = match word.constant().map(str::to_owned) {
                Some(text) => self.script(&text, &told),
                None => {
                    unseen = true;
                    self.origins.insert(READ.to_owned(), data.clone());
                    self.around_holes(&word, &told)
                }
            };
            if place == Place::Answers {
                remote |= out.remote;
                decoded |= out.decoded;
                data.sources.extend(out.sources);
            }
        }
        if unseen && remote {
            self.find(FindingKind::DownloadAndExecute, "the script of `awk` runs what a host sends");
        }
        if unseen && decoded {
            self.find(FindingKind::DecodeAndExecute, "the script of `awk` runs what a command decodes");
        }
        !unseen
    }
}

/// Whether a word after a script names a file.
fn is_operand(word: &Word) -> bool {
    !word.prefix().starts_with('-') && word.constant().is_none_or(|text| !text.contains(['=', '{', '\n', ' ']))
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

//! Scripts of `sed`: files that they read and write, commands that they run (POSIX `sed`; GNU sed manual).

use countersign_plan::tool::Effect;

use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

impl Machine<'_> {
    /// A script of `sed`.
    pub(crate) fn sed(&mut self, word: &Word) {
        // A day or a time in it is no command, wherever it could not be one.
        let script = word.constant().map(str::to_owned).or_else(|| word.with_numbers()).or_else(|| {
            let shown = word.shown();
            let acts = |sign: &str| {
                let commands = sed_commands(&shown.replace('*', sign)).into_iter();
                commands.filter(|command| !matches!(command, SedCommand::Puts(_))).count()
            };
            (!word.has_hole() && acts("1") == 0 && acts("e") == 0).then_some(shown)
        });
        let Some(script) = script else {
            let prefix = word.prefix();
            let command = prefix.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '!'));
            if word.has_hole() && !command.starts_with(['s', 'y', '/', 'p', 'd']) {
                self.unknown(UnknownKind::Value, Effect::Execute, "the script of `sed` is not constant");
            } else if !self.is_of_machine(word) {
                // The unknown part stands inside a pattern or a replacement, unless it closes it.
                self.unknown(UnknownKind::Value, Effect::Update, "a part of the script of `sed` is not constant");
            }
            return;
        };
        if switches_off(&script) {
            self.find(FindingKind::DisablesProtection, format!("`{}` switches a check off", self.by));
        }
        if falsifies(&script) {
            let message = format!("`{}` rewrites what tests say, and not what they are about", self.by);
            self.find(FindingKind::DisablesProtection, message);
        }
        for command in sed_commands(&script) {
            match command {
                SedCommand::Runs(Some(line)) => {
                    self.script(&line, &Stream::unknown());
                }
                SedCommand::Runs(None) => {
                    self.unknown(UnknownKind::Code, Effect::Execute, "the script of `sed` runs what it edits");
                }
                SedCommand::Reads(file) => {
                    self.read_file(&Word::text(file));
                }
                SedCommand::Writes(file) if file.starts_with("/dev/std") => {}
                SedCommand::Writes(file) => self.write_file(&Word::text(file), Stream::unknown(), false),
                SedCommand::Unreadable => {
                    self.unknown(UnknownKind::Syntax, Effect::Execute, "the script of `sed` cannot be read");
                }
                SedCommand::Puts(_) => {}
            }
        }
    }

    /// Whether all that is unknown of a word is what programs say of this machine: its name, the date, a count.
    fn is_of_machine(&self, word: &Word) -> bool {
        let origin = self.origin_of(word);
        word.has_hole() && origin.sources.is_empty() && !origin.remote && !origin.decoded
    }
}

/// Whether a script turns failures into successes: `s/FAILED/PASSED/`, `s/assert .*/assert True/`.
fn falsifies(script: &str) -> bool {
    let lower = script.to_ascii_lowercase();
    let turned = lower.split(['\n', ';']).any(|command| {
        let mut parts = command.trim().splitn(3, ['/', '|', '#', ',']);
        let (head, from, to) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        head.ends_with('s') && from.contains("fail") && to.contains("pass")
    });
    turned
        || ["assert true", "asserttrue(true)", "expect(true)", "assert(true)"]
            .iter()
            .any(|always| lower.contains(always))
}

enum SedCommand {
    Runs(Option<String>),
    Reads(String),
    Writes(String),
    /// A text that stands in the output afterwards.
    Puts(String),
    Unreadable,
}

/// The texts that a script of `sed` puts in the place of others or beside them.
pub(super) fn placed(script: &str) -> Vec<String> {
    let texts = sed_commands(script).into_iter();
    texts.filter_map(|command| if let SedCommand::Puts(text) = command { Some(text) } else { None }).collect()
}

/// A replacement as it stands afterwards: what is escaped by itself, what was matched as nothing (POSIX `sed`).
pub(super) fn unescaped(text: &str, matched: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(digit) if digit.is_ascii_digit() => out.push(' '),
                Some(other) => out.push(other),
                None => {}
            },
            '&' if matched => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The commands of a `sed` script that reach outside of it.
fn sed_commands(script: &str) -> Vec<SedCommand> {
    let mut out = Vec::new();
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        match c {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | ',' | '!' | '$' | '+' | '~' | '0'..='9' => rest = after,
            '/' => match past(after, '/') {
                Some((_, tail)) => rest = tail.trim_start_matches(['I', 'M']),
                None => return unreadable(out),
            },
            '\\' => {
                let Some(mark) = after.chars().next() else { return unreadable(out) };
                match past(after.get(mark.len_utf8()..).unwrap_or(""), mark) {
                    Some((_, tail)) => rest = tail.trim_start_matches(['I', 'M']),
                    None => return unreadable(out),
                }
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x' | 'z' | 'F' => {
                rest = after
            }
            'a' | 'i' | 'c' => {
                // A line feed after a backslash goes on.
                let mut end = after.find('\n').unwrap_or(after.len());
                while after.get(..end).is_some_and(|line| line.ends_with('\\')) && end < after.len() {
                    end = after.get(end + 1..).and_then(|more| more.find('\n')).map_or(after.len(), |at| end + 1 + at);
                }
                let (text, tail) = after.split_at(end);
                out.push(SedCommand::Puts(unescaped(text.trim_start_matches(['\\', ' ', '\n']), false)));
                rest = tail;
            }
            '#' | ':' | 'b' | 't' | 'T' | 'v' => {
                let end: &[char] = if matches!(c, 'b' | 't' | 'T') { &['\n', ';', '}'] } else { &['\n'] };
                rest = after.find(end).and_then(|at| after.get(at..)).unwrap_or("");
            }
            'r' | 'R' | 'w' | 'W' | 'e' => {
                let end = after.find('\n').unwrap_or(after.len());
                let (argument, tail) = after.split_at(end);
                let argument = argument.trim().to_owned();
                out.push(match c {
                    'e' => SedCommand::Runs((!argument.is_empty()).then_some(argument)),
                    'r' | 'R' => SedCommand::Reads(argument),
                    _ => SedCommand::Writes(argument),
                });
                rest = tail;
            }
            's' | 'y' => {
                let Some(mark) = after.chars().next() else { return unreadable(out) };
                let parts = past(after.get(mark.len_utf8()..).unwrap_or(""), mark)
                    .and_then(|(from, tail)| Some((from, past(tail, mark)?)));
                let Some((from, (replacement, mut tail))) = parts else { return unreadable(out) };
                if c == 's' {
                    out.push(SedCommand::Puts(unescaped(replacement, true)));
                }
                let flags: &str = tail.split(|c: char| !c.is_ascii_alphanumeric() || c == 'w').next().unwrap_or("");
                // Of several lines only one is meant, or not the first of what is found (GNU sed, "The s Command", M).
                let one = flags.contains(|c: char| matches!(c, 'm' | 'M') || c.is_ascii_digit());
                while let Some(flag) = tail.chars().next().filter(|_| c == 's') {
                    match flag {
                        'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => tail = tail.get(1..).unwrap_or(""),
                        // What stands in the line afterwards is run: all of it is known where all of it was replaced.
                        'e' => {
                            let line = unescaped(replacement, true);
                            let whole =
                                !one && matches!(from, ".*" | "^.*" | ".*$" | "^.*$") && !has_matched(replacement);
                            out.extend((!line.trim().is_empty()).then_some(SedCommand::Runs(Some(line))));
                            out.extend((!whole).then_some(SedCommand::Runs(None)));
                            tail = tail.get(1..).unwrap_or("");
                        }
                        'w' => {
                            let end = tail.find('\n').unwrap_or(tail.len());
                            out.push(SedCommand::Writes(tail.get(1..end).unwrap_or("").trim().to_owned()));
                            tail = tail.get(end..).unwrap_or("");
                        }
                        _ => break,
                    }
                }
                rest = tail;
            }
            _ => return unreadable(out),
        }
    }
    out
}

/// Whether a replacement holds a part of what was there.
fn has_matched(replacement: &str) -> bool {
    let plain = replacement.replace("\\\\", "");
    plain.replace("\\&", "").contains('&') || (0..10).any(|n| plain.contains(&format!("\\{n}")))
}

fn unreadable(mut out: Vec<SedCommand>) -> Vec<SedCommand> {
    out.push(SedCommand::Unreadable);
    out
}

/// What stands before the next unescaped `mark`, and what follows; a mark in brackets does not count.
pub(super) fn past(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    let mut bracket = false;
    for (i, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == mark && !bracket {
            return Some((text.get(..i)?, text.get(i + c.len_utf8()..)?));
        } else if c == '[' && mark != '[' {
            bracket = text.get(i..).is_some_and(|rest| rest.contains(']')) && mark != ']';
        } else if c == ']' {
            bracket = false;
        }
    }
    None
}

/// Whether a script writes what switches a check of certificates, hosts or logins off where it was not (the manuals of requests, Node,
/// Go, OpenSSH, curl and PostgreSQL).
fn switches_off(script: &str) -> bool {
    const OFF: &[&str] = &[
        "verify=false",
        "rejectunauthorized:false",
        "insecureskipverify:true",
        "check_hostname=false",
        "cert_none",
        "csrf_exempt",
        "permitrootloginyes",
        "passwordauthenticationyes",
        "permitemptypasswordsyes",
        "stricthostkeycheckingno",
        "ssl_verify=false",
        "sslverify=false",
        "strict-ssl=false",
        "allow_anonymoustrue",
    ];
    let tight: String = script.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    tight.starts_with(['s', '/', '1', '$']) && OFF.iter().any(|off| tight.rfind(off).is_some_and(|at| at > 2))
}

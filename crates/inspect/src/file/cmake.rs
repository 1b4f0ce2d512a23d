//! Scripts of CMake: read as the lines of a shell that do the same (cmake-language(7); cmake-commands(7), "file", "execute_process").

use countersign_plan::inspection::{Context, Inspection};
use countersign_plan::tool::Effect;

use super::settings::grave;
use crate::inspection::{Build as _, FindingKind, UnknownKind};

/// The most commands of one script.
const MAX_CALLS: usize = 4096;

/// The most names with values.
const MAX_NAMES: usize = 256;

/// The longest text, in bytes, that names are filled in of.
const MAX_FILLED: usize = 16 * 1024;

/// Scripts inside of scripts.
const MAX_DEPTH: u32 = 2;

/// Words behind which no command goes on.
const ENDS: &[&str] = &[
    "WORKING_DIRECTORY",
    "TIMEOUT",
    "RESULT_VARIABLE",
    "RESULTS_VARIABLE",
    "OUTPUT_VARIABLE",
    "ERROR_VARIABLE",
    "INPUT_FILE",
    "OUTPUT_FILE",
    "ERROR_FILE",
    "OUTPUT_QUIET",
    "ERROR_QUIET",
    "COMMAND_ECHO",
    "OUTPUT_STRIP_TRAILING_WHITESPACE",
    "ERROR_STRIP_TRAILING_WHITESPACE",
    "ENCODING",
    "ECHO_OUTPUT_VARIABLE",
    "ECHO_ERROR_VARIABLE",
    "COMMAND_ERROR_IS_FATAL",
    "DEPENDS",
    "BYPRODUCTS",
    "COMMENT",
    "VERBATIM",
    "USES_TERMINAL",
    "MAIN_DEPENDENCY",
    "IMPLICIT_DEPENDS",
    "DEPFILE",
    "COMMAND_EXPAND_LISTS",
    "JOB_POOL",
    "SOURCES",
];

/// Folders that CMake sets (cmake-variables(7)).
const FOLDERS: &[&str] = &[
    "CMAKE_SOURCE_DIR",
    "CMAKE_CURRENT_SOURCE_DIR",
    "CMAKE_CURRENT_LIST_DIR",
    "PROJECT_SOURCE_DIR",
    "CMAKE_BINARY_DIR",
    "CMAKE_CURRENT_BINARY_DIR",
    "PROJECT_BINARY_DIR",
];

/// Programs that it sets (cmake-variables(7); cmake-modules(7), "FindPython3").
const PROGRAMS: &[(&str, &str)] = &[
    ("CMAKE_COMMAND", "cmake"),
    ("Python3_EXECUTABLE", "python3"),
    ("PYTHON_EXECUTABLE", "python3"),
    ("Python_EXECUTABLE", "python3"),
];

/// What a script of CMake starts, reads, sends and removes, and what it writes where something believes it.
pub(super) fn of_cmake(out: &mut Inspection, text: &str, context: &Context) {
    let mut script =
        Script { context, names: Vec::new(), fetched: Vec::new(), lines: Vec::new(), room: 16 * MAX_FILLED };
    for name in FOLDERS {
        let folder = if name.contains("BINARY") { format!("{}/build", context.cwd) } else { context.cwd.clone() };
        script.names.push(((*name).to_owned(), folder));
    }
    script.names.extend(PROGRAMS.iter().map(|(name, program)| ((*name).to_owned(), (*program).to_owned())));
    script.read(out, text, 0);
    grave(out, crate::shell::shell(&script.lines.join("\n"), context));
}

/// A script under way: values of names, files that were fetched, lines that do the same.
struct Script<'c> {
    context: &'c Context,
    names: Vec<(String, String)>,
    fetched: Vec<String>,
    lines: Vec<String>,
    room: usize,
}

impl Script<'_> {
    /// One command after the other: `set(NAME VALUE)`, `file(GLOB NAME PATTERNS)`, what goes, what is fetched, what is then read as code.
    fn read(&mut self, out: &mut Inspection, text: &str, depth: u32) {
        let calls = calls(text);
        if calls.len() > MAX_CALLS {
            self.room = 0;
        }
        for (command, given) in calls.iter().filter(|(command, given)| matters(command, given)) {
            if self.room == 0 {
                break;
            }
            let words: Vec<String> = given.iter().flat_map(|word| self.filled(word)).collect();
            self.room = self.room.saturating_sub(words.iter().map(String::len).sum());
            self.call(out, command, &words, depth);
        }
        if self.room == 0 {
            let message = "a script of CMake is longer than what is read of it";
            out.unknown(UnknownKind::TooMuch, Effect::Execute, None, message);
        }
    }

    fn call(&mut self, out: &mut Inspection, command: &str, given: &[String], depth: u32) {
        let word = |at: usize| given.get(at).map_or("", String::as_str);
        let behind = |at: usize| given.get(at..).unwrap_or_default();
        let quoted = |words: &[String]| words.iter().map(|word| of_shell(word)).collect::<Vec<_>>().join(" ");
        match (command, word(0)) {
            ("set", name) => {
                let value = behind(1).split(|word| matches!(word.as_str(), "CACHE" | "PARENT_SCOPE")).next();
                self.name(name, value.unwrap_or_default().join(";"));
            }
            ("list" | "string", how @ ("APPEND" | "PREPEND" | "CONCAT" | "JOIN")) => {
                let at = if how == "JOIN" { 2 } else { 1 };
                let between = if command == "list" { ";" } else { "" };
                let known = self.names.iter().find(|(known, _)| known == word(at)).map(|(_, value)| value.clone());
                let known = known.filter(|_| how.ends_with("PEND"));
                let parts: Vec<String> = known.into_iter().chain(behind(at + 1).iter().cloned()).collect();
                self.name(word(at), parts.join(between));
            }
            // Each in turn: all of them at once do no less.
            ("foreach", name) => {
                let given = behind(1).iter().filter(|word| !matches!(word.as_str(), "IN" | "ITEMS" | "LISTS"));
                let value =
                    |word: &String| self.names.iter().find(|(known, _)| known == word).map(|(_, value)| value.clone());
                let lists = behind(1).iter().any(|word| word == "LISTS");
                let items: Vec<String> =
                    given.map(|word| value(word).filter(|_| lists).unwrap_or_else(|| word.clone())).collect();
                self.name(name, items.join(";"));
            }
            ("file", "GLOB" | "GLOB_RECURSE") => {
                let patterns: Vec<String> =
                    behind(2).iter().filter(|word| word.contains(['/', '*', '.'])).cloned().collect();
                self.name(word(1), patterns.join(";"));
            }
            ("file", "REMOVE" | "REMOVE_RECURSE") => self.lines.push(format!("rm -rf {}", quoted(behind(1)))),
            ("file", "READ" | "STRINGS") if is_name(word(2)) => {
                self.lines.push(format!("{}=\"$(cat {})\"", word(2), of_shell(word(1))));
            }
            ("file", "UPLOAD") => self.lines.push(format!("curl -T {} {}", of_shell(word(1)), of_shell(word(2)))),
            ("file", "DOWNLOAD") => {
                self.lines.push(format!("curl -o {} {}", of_shell(word(2)), of_shell(word(1))));
                // What it is to be is known before.
                if !given.iter().any(|word| matches!(word.as_str(), "EXPECTED_HASH" | "EXPECTED_MD5")) {
                    self.fetched.push(last(word(2)).to_owned());
                }
            }
            ("file", "WRITE" | "APPEND") => self.written(out, word(1), &behind(2).concat()),
            ("include" | "add_subdirectory", path) if self.fetched.iter().any(|known| known == last(path)) => {
                let message = format!("a script of CMake reads {path} as code, which it has fetched");
                out.find(FindingKind::DownloadAndExecute, None, message);
            }
            ("execute_process", _) => {
                let commands = commands(given);
                let line = commands.iter().map(|command| quoted(command)).collect::<Vec<_>>().join(" | ");
                let behind = |name: &str| given.iter().position(|word| word == name).and_then(|at| given.get(at + 1));
                let input = behind("INPUT_FILE").map(|file| format!("cat {} | ", of_shell(file))).unwrap_or_default();
                let output = behind("OUTPUT_FILE").map(|file| format!(" > {}", of_shell(file))).unwrap_or_default();
                self.lines.push(format!("{input}{line}{output}"));
            }
            ("install", "CODE") | ("cmake_language", "EVAL") if depth < MAX_DEPTH => {
                let code = behind(1).iter().filter(|word| *word != "CODE").cloned().collect::<Vec<_>>().join("\n");
                self.read(out, &code, depth + 1);
            }
            _ => self.lines.extend(commands(given).iter().map(|command| quoted(command))),
        }
    }

    fn name(&mut self, name: &str, value: String) {
        if let Some((_, known)) = self.names.iter_mut().find(|(known, _)| known == name) {
            *known = value;
        } else if self.names.len() >= MAX_NAMES {
            self.room = 0;
        } else if !name.is_empty() {
            self.names.push((name.to_owned(), value));
        }
    }

    /// What a script would write to a place that something believes.
    fn written(&self, out: &mut Inspection, path: &str, body: &str) {
        if super::runs_by_itself(path, &self.context.home) {
            let mut inner = super::file(path, body, self.context);
            inner.find(FindingKind::OpensToAnybody, None, format!("{path} would be written by a script of CMake"));
            grave(out, inner);
        }
    }

    /// A word with the values of names in their places: a list is so many words, unless it was in quotes.
    fn filled(&self, (quoted, word): &(bool, String)) -> Vec<String> {
        if !word.contains('$') {
            return apart(*quoted, word);
        }
        let text = word.replace("$ENV{HOME}", &self.context.home).replace("$ENV{", "${");
        // A value may hold others, each of which doubles it.
        let text = self.names.iter().rev().fold(text, |text, (name, value)| {
            let name = format!("${{{name}}}");
            let longer = text.len() + text.matches(&name).count() * value.len();
            if longer > MAX_FILLED { text } else { text.replace(&name, value) }
        });
        apart(*quoted, &text)
    }
}

/// The words of a list, which is one word where it was in quotes.
fn apart(quoted: bool, text: &str) -> Vec<String> {
    match quoted {
        true => vec![text.to_owned()],
        false => text.split(';').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
    }
}

/// Whether a command says anything of what is asked here.
fn matters(command: &str, given: &[(bool, String)]) -> bool {
    matches!(
        command,
        "set"
            | "list"
            | "string"
            | "foreach"
            | "file"
            | "include"
            | "add_subdirectory"
            | "execute_process"
            | "install"
            | "cmake_language"
    ) || given.iter().any(|(_, word)| word.ends_with("COMMAND"))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `COMMAND a b COMMAND c d …`, `PATCH_COMMAND a b`.
fn commands(given: &[String]) -> Vec<&[String]> {
    let mut out = Vec::new();
    for (at, _) in given.iter().enumerate().filter(|(_, word)| word.ends_with("COMMAND")) {
        let rest = given.get(at + 1..).unwrap_or_default();
        let ends = |word: &String| ENDS.contains(&word.as_str()) || word.ends_with("COMMAND");
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        out.extend(rest.get(..end).filter(|command| !command.is_empty()));
    }
    out
}

/// A word as a shell reads it: names in it keep their meaning, and so do patterns.
fn of_shell(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./*?${}:=@,+%".contains(c)) {
        return word.to_owned();
    }
    let mut out = String::from("\"");
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '"' | '\\' | '`') || (c == '$' && chars.peek() != Some(&'{')) {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// The commands of a script with their words, and whether each was in quotes (cmake-language(7), "Syntax").
fn calls(text: &str) -> Vec<(String, Vec<(bool, String)>)> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut name = String::new();
    let mut open = Vec::new();
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        rest = match c {
            '#' => behind_comment(after, &mut open),
            '(' => {
                let (words, after) = words(after, &mut open);
                // One more, which says that there are too many.
                if out.len() <= MAX_CALLS && !name.is_empty() {
                    out.push((std::mem::take(&mut name).to_ascii_lowercase(), words));
                }
                name.clear();
                after
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                name = rest.get(..end).unwrap_or("").to_owned();
                rest.get(end..).unwrap_or("")
            }
            _ => after,
        };
    }
    out
}

/// What comes behind a comment: one to the end of its line, or one in brackets.
fn behind_comment<'t>(text: &'t str, open: &mut Vec<usize>) -> &'t str {
    bracketed(text, open).map_or_else(|| text.find('\n').and_then(|at| text.get(at..)).unwrap_or(""), |(_, rest)| rest)
}

/// `[[…]]`, `[=[…]=]`: what stands in it, and what comes behind. Of which number of signs nothing closes is kept, so that the rest is searched
/// once for each.
fn bracketed<'t>(text: &'t str, open: &mut Vec<usize>) -> Option<(&'t str, &'t str)> {
    let inner = text.strip_prefix('[')?;
    let signs = inner.len() - inner.trim_start_matches('=').len();
    let body = inner.get(signs..)?.strip_prefix('[')?;
    if open.contains(&signs) {
        return None;
    }
    let found = body.split_once(&format!("]{}]", "=".repeat(signs)));
    if found.is_none() {
        open.push(signs);
    }
    found
}

/// The words until the bracket that closes, and what comes behind it.
fn words<'t>(text: &'t str, open: &mut Vec<usize>) -> (Vec<(bool, String)>, &'t str) {
    let mut out: Vec<(bool, String)> = Vec::new();
    let (mut rest, mut depth, mut goes_on) = (text, 1_usize, false);
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        let whole = if goes_on || c != '[' { None } else { bracketed(rest, open) };
        (rest, goes_on) = match c {
            '[' if let Some((inside, after)) = whole => {
                out.push((true, inside.to_owned()));
                (after, false)
            }
            '"' if !goes_on => {
                let (body, after) = quoted(after);
                out.push((true, body));
                (after, false)
            }
            '#' => (behind_comment(after, open), false),
            '(' => {
                depth += 1;
                (after, false)
            }
            ')' if depth == 1 => return (out, after),
            ')' => {
                depth -= 1;
                (after, false)
            }
            c if c.is_whitespace() => (after, false),
            c => {
                let (sign, after) = match (c, after.chars().next()) {
                    ('\\', Some(next)) => (escaped(next), after.get(next.len_utf8()..).unwrap_or("")),
                    _ => (c, after),
                };
                match out.last_mut().filter(|_| goes_on) {
                    Some((_, word)) => word.push(sign),
                    None => out.push((false, sign.to_string())),
                }
                (after, true)
            }
        };
    }
    (out, rest)
}

/// A text in quotes, and what comes behind them.
fn quoted(text: &str) -> (String, &str) {
    let mut body = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (body, text.get(at + 1..).unwrap_or("")),
            '\\' => match chars.next() {
                // A line that goes on.
                Some((_, '\n')) | None => {}
                Some((_, next)) => body.push(escaped(next)),
            },
            c => body.push(c),
        }
    }
    (body, "")
}

fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn words_of_commands_are_read_as_cmake_reads_them() {
        let told = |text: &str| -> Vec<String> {
            let one = |(name, words): (String, Vec<(bool, String)>)| {
                format!("{name}: {}", words.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join("|"))
            };
            calls(text).into_iter().map(one).collect()
        };
        assert_eq!(told("set(X [=[ \" ) ]=])\nFILE(REMOVE_RECURSE /)"), ["set: X| \" ) ", "file: REMOVE_RECURSE|/"]);
        assert_eq!(told("#[[\n \" ]]\nfile(REMOVE /a) # \" (\nset(a b)"), ["file: REMOVE|/a", "set: a|b"]);
        assert_eq!(told("execute_process(\n  COMMAND\n  a \"b c\"\n)"), ["execute_process: COMMAND|a|b c"]);
        assert_eq!(told("if(A AND (B))\nset(x y\\ z)\n"), ["if: A|AND|B", "set: x|y z"]);
        assert_eq!(told("set(a"), ["set: a"]);
    }
}

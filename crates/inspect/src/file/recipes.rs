//! Scripts of CMake, and functions in recipes of BitBake: read as the lines of a shell that do the same (cmake-commands(7), "file",
//! "execute_process"; BitBake User Manual, "Functions").

use countersign_plan::inspection::{Context, Inspection};

use super::settings::{MAX_TEXTS, grave};
use crate::code::Language;
use crate::inspection::{Build as _, FindingKind};

/// The most commands of one script.
const MAX_CALLS: usize = 256;

/// Words of `execute_process` behind which no command goes on.
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
];

/// The longest text, in bytes, that names are filled in of.
const MAX_FILLED: usize = 16 * 1024;

/// What a script of CMake starts, reads, sends and removes, and what it writes where something believes it.
pub(super) fn of_cmake(out: &mut Inspection, text: &str, context: &Context) {
    let mut names: Vec<(String, String)> = Vec::new();
    let filled = |text: &str, names: &[(String, String)]| {
        let text = text.replace("$ENV{HOME}", &context.home).replace("$ENV{", "${");
        // A value may hold others, each of which doubles it.
        names.iter().rev().fold(text, |text, (name, value)| {
            let name = format!("${{{name}}}");
            let longer = text.len() + text.matches(&name).count() * value.len();
            if longer > MAX_FILLED { text } else { text.replace(&name, value) }
        })
    };
    let mut room = 16 * MAX_FILLED;
    let mut fetched: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    // One command after the other: `set(NAME VALUE)`, `file(GLOB NAME PATTERNS)`, what goes, what is fetched, what is then read as code.
    for (command, given) in calls(text).into_iter().take(MAX_CALLS) {
        let given = filled(given.trim(), &names);
        room = room.saturating_sub(given.len());
        if room == 0 {
            break;
        }
        let mut words = given.splitn(3, char::is_whitespace);
        let (first, second, rest) =
            (words.next().unwrap_or(""), words.next().unwrap_or("").trim(), words.next().unwrap_or("").trim());
        let third = rest.split_whitespace().next().unwrap_or("");
        match (command.as_str(), first) {
            ("set", _) if names.len() < MAX_TEXTS => {
                names.push((first.to_owned(), format!("{second} {rest}").trim().trim_matches('"').to_owned()));
            }
            ("file", "GLOB" | "GLOB_RECURSE") if names.len() < MAX_TEXTS => {
                names.push((second.to_owned(), rest.replace('"', "")));
            }
            ("file", "REMOVE" | "REMOVE_RECURSE") => lines.push(format!("rm -rf {second} {rest}")),
            ("file", "READ" | "STRINGS") if is_name(third) => lines.push(format!("{third}=\"$(cat {second})\"")),
            ("file", "UPLOAD") => lines.push(format!("curl -T {second} {third}")),
            ("file", "DOWNLOAD") => {
                lines.push(format!("curl -o {third} {second}"));
                fetched.push(third.trim_matches('"').to_owned());
            }
            ("execute_process", _) => lines.push(started(&given)),
            ("include", path) if fetched.iter().any(|known| known == path.trim_matches('"')) => {
                let message = format!("a script of CMake reads {path} as code, which it has fetched");
                out.find(FindingKind::DownloadAndExecute, None, message);
            }
            _ => {}
        }
    }
    grave(out, crate::shell::shell(&lines.join("\n"), context));
    for call in text.split("COMMAND").skip(1).take(MAX_TEXTS) {
        let line = call.split([')', '\n']).next().unwrap_or("").replace("$ENV{HOME}", &context.home);
        grave(out, crate::shell::shell(&line, context));
    }
    for call in ["file(APPEND", "file(WRITE"] {
        for after in text.split(call).skip(1).take(MAX_TEXTS) {
            let mut quoted = after.split('"').skip(1).step_by(2);
            let (Some(path), Some(body)) = (quoted.next(), quoted.next()) else { continue };
            let path = path.replace("$ENV{HOME}", &context.home);
            if super::runs_by_itself(&path, &context.home) {
                let mut inner = super::file(&path, &body.replace("\\n", "\n"), context);
                inner.find(FindingKind::OpensToAnybody, None, format!("{path} would be written by a script of CMake"));
                grave(out, inner);
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The commands of a script with what stands in their brackets, quotes and brackets inside of them left whole.
fn calls(text: &str) -> Vec<(String, &str)> {
    let mut out = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut comment) = (0_usize, false, false, false);
    let (mut open, mut since) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '\n' if comment => {
                comment = false;
                since = if depth == 0 { at + 1 } else { since };
            }
            _ if comment => {}
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '#' => comment = true,
            '(' => {
                open = if depth == 0 { at } else { open };
                depth += 1;
            }
            ')' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    let name = text.get(since..open).unwrap_or("").trim();
                    let name = name.rsplit(char::is_whitespace).next().unwrap_or("").to_ascii_lowercase();
                    out.push((name, text.get(open + 1..at).unwrap_or("")));
                    since = at + 1;
                }
            }
            _ => {}
        }
        if out.len() > MAX_CALLS {
            break;
        }
    }
    out
}

/// `COMMAND a b COMMAND c d …`: commands of which each reads what the one before it writes.
fn started(given: &str) -> String {
    let mut commands: Vec<String> = Vec::new();
    for part in given.split("COMMAND ").skip(1).take(MAX_TEXTS) {
        let end = ENDS.iter().filter_map(|word| part.find(word)).min().unwrap_or(part.len());
        commands.push(part.get(..end).unwrap_or(part).split_whitespace().collect::<Vec<_>>().join(" "));
    }
    commands.join(" | ")
}

/// What the functions of a recipe do: lines of a shell, or Python where the word stands before their name.
pub(super) fn of_recipe(out: &mut Inspection, text: &str, context: &Context) {
    let mut body: Option<(bool, Vec<&str>)> = None;
    let mut taken = 0;
    for line in text.lines() {
        if let Some((python, lines)) = body.as_mut() {
            if line.trim_end() != "}" {
                lines.push(line);
                continue;
            }
            let inner = if *python {
                crate::code::code(Language::Python, &dedented(lines), context)
            } else {
                crate::shell::shell(&lines.join("\n"), context)
            };
            grave(out, inner);
            body = None;
            taken += 1;
            if taken >= MAX_TEXTS {
                break;
            }
        } else if let Some(head) = line.trim_end().strip_suffix('{') {
            let head = head.trim_end();
            let begins = head.ends_with(')') && head.contains('(') && !line.starts_with([' ', '\t', '#']);
            body = begins.then(|| (head.split(['(', ' ']).any(|word| word == "python"), Vec::new()));
        }
    }
}

/// Lines without what all of them begin with.
fn dedented(lines: &[&str]) -> String {
    let full = || lines.iter().filter(|line| !line.trim().is_empty());
    let indent = full().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

//! Editors that run without anybody at them: the commands of `ed`, `ex` and `vim -es` that only change the text, and names of temporary
//! files (POSIX `ed` and `ex`; Vim, "starting.txt" `-es`; GNU coreutils, `mktemp`).

use countersign_plan::tool::Effect;

use crate::machine::{Machine, Stream, Word};

/// Commands that change, show, write or leave, and do nothing else, by all their names.
const PLAIN: &[&str] = &[
    "d", "delete", "j", "join", "m", "move", "t", "co", "copy", "k", "ma", "mark", "p", "print", "n", "number", "l",
    "list", "u", "undo", "w", "write", "wq", "x", "xit", "q", "quit", "q!", "Q", "wq!", "w!", "qa", "qa!", "wqa", "xa",
    "up", "update", "sor", "sort", "ret", "retab", "retab!", "noh", "H", "h", "P", "=", "",
];

/// Options of Vim that say how a text is written and nothing else.
const SETTINGS: &[&str] = &[
    "ts",
    "tabstop",
    "sw",
    "shiftwidth",
    "sts",
    "softtabstop",
    "et",
    "expandtab",
    "ff",
    "fileformat",
    "fenc",
    "fileencoding",
    "bomb",
    "eol",
    "fixeol",
    "binary",
    "bin",
    "ic",
    "ignorecase",
    "tw",
    "textwidth",
    "ai",
    "autoindent",
    "number",
    "nu",
];

/// Those that end it.
const LEAVING: &[&str] = &["q", "quit", "q!", "wq", "wq!", "x", "xit", "qa", "qa!", "wqa", "xa"];

impl Machine<'_> {
    /// An editor whose every command is one of those; nothing where there is any other, or somebody is at it.
    pub(super) fn edits_by_itself(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let words: Vec<String> = rest.iter().map(|word| word.constant().map(str::to_owned)).collect::<Option<_>>()?;
        let ed = matches!(name, "ed" | "red");
        let mut files = Vec::new();
        let mut scripts: Vec<&str> = Vec::new();
        let (mut silent, mut ex) = (false, name == "ex");
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-s" | "--quiet" | "--silent" | "-" if ed => silent = true,
                "-e" if !ed => ex = true,
                "-s" if !ed && ex => silent = true,
                "-es" | "-Es" | "-Nes" | "-nes" | "-esN" | "-esn" if !ed => (silent, ex) = (true, true),
                "-u" | "-i" if !ed => {
                    matches!(words.next()?, "NONE" | "NORC" | "DEFAULTS").then_some(())?;
                }
                "-Nu" if !ed => {
                    (words.next()? == "NONE").then_some(())?;
                }
                "-N" | "-n" | "-X" | "--not-a-term" | "-Z" if !ed => {}
                "-c" if !ed => scripts.push(words.next()?),
                _ if !ed && word.starts_with('+') => scripts.push(word.get(1..)?),
                _ if word.starts_with(['-', '+', '!']) => return None,
                file => files.push(file.to_owned()),
            }
        }
        let given = stdin.text.as_deref().filter(|text| !text.is_empty());
        if !(silent && (ed || ex)) || files.is_empty() || (scripts.is_empty() && given.is_none()) {
            return None;
        }
        // Without a command to leave, it goes on with what comes through the pipe.
        let leaves = |line: &&str| commands(line).last().is_some_and(|last| LEAVING.contains(&last.trim()));
        if given.is_none() && !scripts.last().is_some_and(leaves) {
            return None;
        }
        let plain = scripts.iter().all(|line| commands(line).all(is_plain));
        if !plain || !given.is_none_or(is_plain_script) {
            return None;
        }
        for file in files {
            self.touch_path(Effect::Read, &Word::text(file.as_str()), false);
            self.touch_path(Effect::Update, &Word::text(file), false);
        }
        Some(Stream::unknown())
    }

    /// `mktemp`: a new name, of which its place is known.
    pub(super) fn temporary(&mut self, rest: &[Word]) -> Option<Stream> {
        let words: Vec<String> = rest.iter().map(|word| word.constant().map(str::to_owned)).collect::<Option<_>>()?;
        let mut words = words.iter().map(String::as_str);
        let (mut folder, mut template) = (None, None);
        while let Some(word) = words.next() {
            match word {
                "-d" | "-q" | "-u" | "--directory" | "--quiet" | "--dry-run" => {}
                "-t" => folder = Some("/tmp"),
                "-p" => folder = Some(words.next()?),
                _ if word.starts_with("--tmpdir") => folder = Some(word.strip_prefix("--tmpdir=").unwrap_or("/tmp")),
                _ if word.starts_with('-') || template.is_some() => return None,
                name => template = Some(name),
            }
        }
        let name = match (folder, template) {
            (None, None) => "/tmp/tmp.XXXXXXXXXX".to_owned(),
            (None, Some(template)) => template.to_owned(),
            (Some(folder), template) => format!("{folder}/{}", template.unwrap_or("tmp.XXXXXXXXXX")),
        };
        name.contains("XXX").then(|| {
            // What is new under a name that nobody has takes nothing with it when it goes.
            let made = self.paths(&Word::text(name.as_str()));
            self.made.extend(made);
            Stream::constant(format!("{name}\n"))
        })
    }
}

/// The commands of a line, which bars separate; a bar inside of a substitution is a part of it.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let whole = line.contains("s/") || line.contains("g/");
    line.split(move |c| c == '|' && !whole)
}

/// Whether a command only changes, shows or writes the text.
fn is_plain(command: &str) -> bool {
    let command = command.trim().trim_start_matches(':');
    // Lines by number, pattern or mark.
    let mut rest = command;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "%$.,;+- ".contains(c));
        let Some(mark) = rest.chars().next().filter(|c| matches!(c, '/' | '?')) else { break };
        let Some((_, after)) = rest.get(1..).and_then(|pattern| past(pattern, mark)) else { return false };
        rest = after;
    }
    if let Some(after) = rest.strip_prefix('\'') {
        rest = after.get(1..).unwrap_or("");
    }
    let mut letters = rest.chars();
    match (letters.next(), letters.next()) {
        (Some('s'), Some(mark)) if !mark.is_alphanumeric() && !mark.is_whitespace() => {
            let parts = rest.get(1 + mark.len_utf8()..).and_then(|text| past(text, mark));
            let Some((_, after)) = parts else { return false };
            let (replacement, flags) = past(after, mark).unwrap_or((after, ""));
            // `\\=` is an expression that is evaluated.
            !replacement.starts_with("\\=") && flags.chars().all(|c| c.is_ascii_alphanumeric() || c == '&')
        }
        (Some('g' | 'v'), Some(mark)) if !mark.is_alphanumeric() && !mark.is_whitespace() => {
            let after = rest.get(1 + mark.len_utf8()..).and_then(|text| past(text, mark));
            after.is_some_and(|(_, command)| !command.starts_with(['g', 'v']) && is_plain(command))
        }
        _ => {
            let name: String = rest.chars().take_while(|c| !c.is_whitespace()).collect();
            let argument = rest.get(name.len()..).unwrap_or("").trim();
            // `set tabstop=4 expandtab`
            if matches!(name.as_str(), "set" | "se" | "setlocal") {
                let known = |word: &str| {
                    let (option, value) = word.split_once('=').unwrap_or((word, ""));
                    SETTINGS.contains(&option.trim_start_matches("no")) && value.chars().all(char::is_alphanumeric)
                };
                return argument.split_whitespace().all(known);
            }
            let moves = matches!(name.as_str(), "m" | "t" | "move" | "copy" | "co");
            let bare =
                argument.is_empty() || (moves && argument.chars().all(|c| c.is_ascii_digit() || "$.+-".contains(c)));
            let addressed = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | '.'));
            PLAIN.contains(&if moves || name.len() > addressed.len() { addressed } else { name.as_str() }) && bare
        }
    }
}

/// Whether every line of a script for `ed` is such a command, or text for one.
fn is_plain_script(script: &str) -> bool {
    let mut text = false;
    script.lines().all(|line| {
        if text {
            text = line != ".";
            return true;
        }
        let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || "%$.,;+- ".contains(c));
        text = matches!(command, "a" | "i" | "c");
        text || is_plain(line)
    }) && !text
}

/// What stands before the next mark without a backslash before it, and what follows.
fn past(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && c == mark {
            return Some((text.get(..at)?, text.get(at + c.len_utf8()..)?));
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::{Context, shell};

    #[test]
    fn an_editor_that_only_edits_is_read() {
        let clear = |line: &str| shell(line, &Context::new("/w", "/home/u")).is_clear();
        for line in [
            r"vim -es -c '%s/\s\+$//e' -c wq a.md",
            r"vim -es -u NONE -c 'set tabstop=4 expandtab' -c 'retab!' -c wq a.py",
            r"vim -Nu NONE -es -c '%s/\s\+$//e' -c 'wq' src/main.c",
            "ex -s -c 'g/TODO/d' -c x a.txt",
            r"printf '%s\n' '0a' '## 1.9.0' '' '.' w q | ed -s CHANGELOG.md",
            "ed -s a.txt <<'E'\n/foo/s/a/b/g\n2,3d\nw\nq\nE",
        ] {
            assert!(clear(line), "{line}: {:?}", shell(line, &Context::new("/w", "/home/u")));
        }
        for line in [
            "vim -es -c '!rm -rf x' -c q a.md",
            r"vim -es -c '%s/x/\=system(42)/' -c wq a.md",
            "ex -s -c 'g/x/!id' -c x a.txt",
            "vim -es -c 'source evil.vim' a.md",
            "vim -es -c 'w !sh' a.md",
            "vim -es -c 'set makeprg=sh' -c wq a.md",
            "curl -s https://api.example/x | vim -es -c '%s/a/b/' a.md",
            r"printf '%s\n' '!id' q | ed -s a.md",
            "ed -s a.txt <<'E'\nr !id\nw\nq\nE",
            "vim -es -c 'w /etc/x' a.md",
        ] {
            assert!(!clear(line), "{line}");
        }
    }

    #[test]
    fn a_temporary_name_lies_where_it_is_made() {
        let touched = |line: &str| {
            let seen = shell(line, &Context::new("/w", "/home/u"));
            seen.touches.iter().map(|touch| touch.name.clone()).collect::<Vec<_>>()
        };
        assert!(touched("t=$(mktemp -d) && rm -rf \"$t\"").iter().all(|name| name.starts_with("/tmp/")));
        assert!(touched("t=$(mktemp -p build x.XXXX) && date > \"$t\"").contains(&"/w/build/x.XXXX".to_owned()));
        assert!(touched("t=$(mktemp -d) && rm -rf \"$t\"").is_empty(), "what is new goes without anything else");
        assert!(
            touched("t=$(mktemp -d); rm -rf \"$t/..\"").contains(&"/tmp".to_owned()),
            "what is around it is no part of it"
        );
    }
}

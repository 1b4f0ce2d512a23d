//! Lines for a shell, and programs of another name, inside of what programs are told: the tools of CMake, macros of RPM, stages of DVC, names
//! for lines of GitHub's and GitLab's clients (each one's manual).

use countersign_plan::tool::Effect;

use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

/// The most lines of one text that are read.
const MAX_LINES: usize = 16;

impl Machine<'_> {
    /// `cmake -E TOOL …`: a program by another name (cmake(1), "Run a Command-Line Tool").
    pub(super) fn command_of_cmake(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let [flag, verb, words @ ..] = rest else { return None };
        let program: &[&str] = match (flag.constant()?, verb.constant()?) {
            ("-E", "rm" | "remove") => &["rm"],
            ("-E", "remove_directory") => &["rm", "-r"],
            ("-E", "copy" | "copy_if_different") => &["cp"],
            ("-E", "copy_directory" | "copy_directory_if_different") => &["cp", "-r"],
            ("-E", "rename") => &["mv"],
            ("-E", "make_directory") => &["mkdir", "-p"],
            ("-E", "create_symlink") => &["ln", "-s"],
            ("-E", "compare_files") => &["cmp"],
            (
                "-E",
                tool @ ("cat" | "echo" | "touch" | "sleep" | "true" | "false" | "time" | "env" | "md5sum" | "sha1sum"
                | "sha256sum" | "sha512sum"),
            ) => {
                return Some(
                    self.start(std::iter::once(Word::text(tool)).chain(words.iter().cloned()).collect(), stdin.clone()),
                );
            }
            ("-E", "tar") => return self.tar_of_cmake(words, stdin),
            _ => return None,
        };
        let program = program.iter().copied().map(Word::text);
        Some(self.start(program.chain(words.iter().cloned()).collect(), stdin.clone()))
    }

    /// `cmake -E tar cJf FILE [--format=pax] [--] WHAT…`
    fn tar_of_cmake(&mut self, words: &[Word], stdin: &Stream) -> Option<Stream> {
        let [flags, file, what @ ..] = words else { return None };
        let mode = flags.constant()?.trim_start_matches('-').chars().find(|c| matches!(c, 'c' | 'x' | 't'))?;
        let own = |word: &&Word| !word.prefix().starts_with("--");
        let program = [Word::text("tar"), Word::text(format!("-{mode}f")), file.clone()];
        Some(self.start(program.into_iter().chain(what.iter().filter(own).cloned()).collect(), stdin.clone()))
    }

    /// What one of these programs is told to run.
    pub(super) fn lines_told(&mut self, name: &str, rest: &[Word], stdin: &Stream) {
        match name {
            "gh" | "glab" => self.line_of_alias(rest),
            "dvc" => self.line_of_stage(rest),
            _ => self.macros_of_rpm(rest, stdin),
        }
    }

    /// A script of CMake on standard input.
    pub(super) fn script_of_cmake(&mut self, stdin: &Stream) {
        let texts: Vec<String> = stdin.known().map(str::to_owned).filter(|_| self.by == "cmake").collect();
        for text in texts {
            self.absorb_grave(crate::file::file("script.cmake", &text, self.context));
        }
    }

    /// `rpm --eval TEXT`: `%(…)` is a line for a shell, `%{lua:…}` a program (RPM's reference manual, "Macro syntax").
    fn macros_of_rpm(&mut self, rest: &[Word], stdin: &Stream) {
        for (i, word) in rest.iter().enumerate().take(MAX_LINES) {
            let attached = Some("--eval=")
                .filter(|option| word.prefix().starts_with(option))
                .and_then(|option| word.skip(option.len()));
            let given = match (word.constant(), attached) {
                (_, Some(value)) => Some(value),
                (Some("--eval" | "-E"), None) => rest.get(i + 1).cloned(),
                _ => None,
            };
            let Some(given) = given else { continue };
            let Some(text) = given.constant() else {
                self.unknown(UnknownKind::Value, Effect::Execute, "a macro of RPM is not constant");
                continue;
            };
            for line in crate::file::between(text, "%(", ')').lines().take(MAX_LINES) {
                self.shell_text(&Word::text(line), stdin);
            }
            if ["%{lua:", "%{load:", "%{uncompress", "%include"].iter().any(|part| text.contains(part)) {
                self.unknown(UnknownKind::Code, Effect::Execute, "a macro of RPM is a program or reads a file");
            }
        }
    }

    /// `gh alias set NAME LINE`, a line for a shell with `--shell` or behind `!`.
    fn line_of_alias(&mut self, rest: &[Word]) {
        let [alias, set, words @ ..] = rest else { return };
        if alias.constant() != Some("alias") || set.constant() != Some("set") {
            return;
        }
        let shell = words.iter().any(|word| matches!(word.constant(), Some("-s" | "--shell")));
        let Some(line) = words.iter().rev().find(|word| !word.prefix().starts_with('-')) else { return };
        match line.skip(1).filter(|_| line.prefix().starts_with('!')) {
            Some(line) => drop(self.shell_text(&line, &Stream::unknown())),
            None if shell => drop(self.shell_text(&line.clone(), &Stream::unknown())),
            None => {}
        }
    }

    /// `dvc stage add … LINE`: what the stage runs when it is made again (dvc.org, "stage add").
    fn line_of_stage(&mut self, rest: &[Word]) {
        let is =
            |at: usize, words: &[&str]| rest.get(at).and_then(Word::constant).is_some_and(|word| words.contains(&word));
        let from = match (is(0, &["stage"]) && is(1, &["add"]), is(0, &["run"])) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => return,
        };
        let mut words = rest.get(from..).unwrap_or_default();
        while let [option, after @ ..] = words {
            let Some(name) = Some(option.prefix()).filter(|name| name.starts_with('-')) else { break };
            let alone =
                name.contains('=') || matches!(name.as_str(), "-f" | "--force" | "--run" | "-q" | "-v" | "--no-exec");
            words = if alone { after } else { after.get(1..).unwrap_or_default() };
        }
        match words {
            [line] => drop(self.shell_text(&line.clone(), &Stream::unknown())),
            [_, _, ..] => drop(self.start(words.to_vec(), Stream::unknown())),
            [] => {}
        }
    }
}

//! Lines for a shell, and programs of another name, inside of what programs are told: the tools of CMake, macros of RPM, stages of DVC, names
//! for lines of GitHub's and GitLab's clients (each one's manual).

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

/// The most lines of one text that are read.
const MAX_LINES: usize = 64;

/// Options of `dvc stage add` that take a value.
const VALUED: &[&str] = &[
    "-n",
    "--name",
    "-d",
    "--deps",
    "-o",
    "--outs",
    "-O",
    "--outs-no-cache",
    "-p",
    "--params",
    "-m",
    "--metrics",
    "-M",
    "--metrics-no-cache",
    "--plots",
    "--plots-no-cache",
    "-c",
    "--checkpoints",
    "--outs-persist",
    "--outs-persist-no-cache",
    "-w",
    "--wdir",
    "--desc",
];

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
        if what.iter().any(|word| word.prefix().starts_with("--files-from")) {
            return None;
        }
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

    /// `rpm --eval TEXT`, `--define 'NAME TEXT'`: `%(…)` is a line for a shell, `%{lua:…}` a program (RPM's reference manual, "Macro syntax").
    fn macros_of_rpm(&mut self, rest: &[Word], stdin: &Stream) {
        let option = |names: &[&str]| rest.iter().any(|word| names.iter().any(|name| word.prefix().starts_with(name)));
        if option(&["--macros", "--load", "--rcfile"]) {
            self.unknown(UnknownKind::Code, Effect::Execute, "macros of RPM come out of a file");
        }
        let evaluates = option(&["--eval", "-E", "--define", "-D"]);
        for word in rest.iter().filter(|_| evaluates) {
            let Some(text) = word.constant() else {
                self.unknown(UnknownKind::Value, Effect::Execute, "a macro of RPM is not constant");
                continue;
            };
            let programs = ["%{lua:", "%{load:", "%{uncompress", "%include"].iter().any(|part| text.contains(part));
            if programs || text.matches("%(").count() > MAX_LINES {
                self.unknown(UnknownKind::Code, Effect::Execute, "a macro of RPM is a program or reads a file");
            }
            for line in crate::file::between(text, "%(", ')').lines().at_most(MAX_LINES) {
                self.shell_text(&Word::text(line), stdin);
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
            // An option that is not known takes no value, so that no line is taken for one.
            let valued = VALUED.contains(&name.as_str());
            words = if valued { after.get(1..).unwrap_or_default() } else { after };
        }
        match words {
            [line] => drop(self.shell_text(&line.clone(), &Stream::unknown())),
            [_, _, ..] => drop(self.start(words.to_vec(), Stream::unknown())),
            [] => {}
        }
    }
}

//! What the places of words on a command line say: which file is made a file system, where an archive lies, which folder comes first.

use std::collections::HashMap;

use countersign_plan::tool::Effect;

use super::options::Parsed;
use crate::catalogue::Role;
use crate::file::scratch::only_computes;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Scope, Stream, Word};

/// How far back a move looks for others onto the same name.
const MAX_MOVES: usize = 64;

impl Machine<'_> {
    /// `git checkout COMMIT -- PATH…`: each of these files becomes what it was (git-checkout(1)).
    pub(super) fn checks_out(&mut self, parsed: &Parsed<'_>, rest: &[Word], dry: bool) {
        self.adds_tree(parsed);
        if dry || self.by != "git" || parsed.path.first().is_none_or(|word| word != "checkout") {
            return;
        }
        for path in rest.iter().skip_while(|word| word.constant() != Some("--")).skip(1) {
            self.touch_path(Effect::Update, path, false);
        }
    }

    /// What a compiler makes of the project's own sources is the project's own, like a script of it: only where this line has written
    /// or fetched sources is it something that nobody knows.
    pub(super) fn forgets_built(&mut self, parsed: &Parsed<'_>, rest: &[Word], written: &[String]) {
        const SOURCES: &[&str] = &[
            "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inc", "ipp", "tpp", "s", "m", "cu", "go", "rs", "f",
            "f90", "zig", "nim", "d", "swift", "mod", "sum", "work", "toml", "y", "l", "a", "o", "so",
        ];
        let compiles = match self.by.as_str() {
            "go" => parsed.path.first().is_some_and(|word| word == "build"),
            by => matches!(
                by,
                "gcc"
                    | "cc"
                    | "g++"
                    | "c++"
                    | "clang"
                    | "clang++"
                    | "gfortran"
                    | "rustc"
                    | "tcc"
                    | "mpicc"
                    | "mpicxx"
                    | "mpic++"
                    | "mpif90"
                    | "mpifort"
            ),
        };
        let source = |path: &String| path.rsplit('.').next().is_some_and(|suffix| SOURCES.contains(&suffix));
        if compiles && self.is_computation(parsed, rest) {
            self.computed.extend(written.iter().cloned());
            return;
        }
        // What comes by a pipe, from elsewhere or under a name that is put together is nobody's own.
        let own = |word: &Word| {
            let inside = |path: &String| crate::path::is_below(path, &self.context.cwd) || *path == self.context.cwd;
            word.constant().is_some_and(|text| text != "-" && !text.starts_with("/dev/"))
                && self.paths(word).iter().all(inside)
        };
        let language = rest.iter().any(|word| word.prefix().starts_with("-x") || word.constant() == Some("-"));
        // What was unpacked or cloned a moment ago is not the project's.
        let fetched = self.unpacked_here || !self.unpacked.is_empty() || !self.cloned.is_empty();
        if !compiles || language || fetched || self.files.keys().any(source) || !parsed.operands.iter().all(own) {
            return;
        }
        let given = parsed.values.iter().filter(|(role, _)| matches!(role, Role::Read | Role::Load));
        let all_own = given.map(|(_, word)| word).all(own);
        for path in written {
            if self.of_unpacked(path, false).is_none() {
                self.files.remove(path);
                // Elsewhere it is the project's as well, as long as nothing else is put there.
                if all_own && path.starts_with("/tmp/") {
                    self.made.insert(format!("built {path}"));
                }
            }
        }
    }

    /// The plain file that is made a file system, as images are: no device, and nothing that shows only when it runs (mkfs(8)).
    pub(super) fn image_file(&self, parsed: &Parsed<'_>) -> Option<Word> {
        let makes = self.by.starts_with("mkfs")
            || matches!(self.by.as_str(), "mke2fs" | "mkswap" | "mkdosfs" | "mkntfs" | "mkexfatfs");
        // How many blocks comes last.
        let size = |word: &&Word| word.constant().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()));
        let image = parsed.operands.iter().rev().find(|word| !size(word)).filter(|_| makes)?;
        let named = image.constant().is_some_and(|name| name.contains(['/', '.']));
        let plain = |path: &String| !path.starts_with("/dev/") && !path.contains('*');
        let paths = self.paths(image);
        (named && !paths.is_empty() && paths.iter().all(plain)).then(|| image.clone())
    }

    /// Whether a variable has compilers take headers, libraries or their own parts from somewhere (gcc(1), "Environment Variables Affecting
    /// GCC"; `go help environment`).
    pub(super) fn compiles_from_elsewhere(&self) -> bool {
        const NAMES: &str = "CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX GCC_SPECS \
            CCC_OVERRIDE_OPTIONS GOROOT GOFLAGS GOPATH GOTOOLDIR RUSTFLAGS RUSTC_WRAPPER SDKROOT";
        NAMES.split_whitespace().any(|name| self.scope.variable(name).is_some())
    }

    /// Whether a compiler is given nothing but sources that the line itself wrote, and none of them does more than compute.
    fn is_computation(&self, parsed: &Parsed<'_>, rest: &[Word]) -> bool {
        // Others may put another name in the place of one, read something else or another language.
        const PLAIN: &[&str] = &[
            "-o",
            "-O",
            "-W",
            "-gdwarf",
            "-std=",
            "-lm",
            "-lstdc++",
            "-pedantic",
            "-pthread",
            "-march=native",
            "--edition",
            "-v",
            "-trimpath",
        ];
        let plain = |word: &Word| {
            let option = word.prefix();
            !option.starts_with('-')
                || (PLAIN.iter().any(|known| option.starts_with(known))
                    && !["-Wl,", "-Wp,", "-Wa,"].iter().any(|to| option.starts_with(to)))
        };
        let computes = |word: &Word| {
            let suffix = word.constant().and_then(|name| name.rsplit_once('.')).map_or("", |(_, suffix)| suffix);
            let [path] = self.paths(word).try_into().unwrap_or_else(|_| [String::new()]);
            let text =
                self.files.get(&path).filter(|written| !written.remote).and_then(|written| written.text.as_deref());
            text.is_some_and(|text| only_computes(suffix, text))
        };
        !self.compiles_from_elsewhere()
            && !parsed.operands.is_empty()
            && rest.iter().all(plain)
            && parsed.operands.iter().all(computes)
    }

    /// Archives that `tar` writes or reads lie where it is started, whatever folder it then goes to (tar(1), `-C`): their paths by their
    /// places among the options.
    pub(super) fn archives(&self, parsed: &Parsed<'_>) -> HashMap<usize, Word> {
        let goes = parsed.values.iter().any(|(role, _)| *role == Role::Folder);
        if !goes || !matches!(self.by.as_str(), "tar" | "bsdtar" | "gtar") {
            return HashMap::new();
        }
        let files = parsed.values.iter().enumerate().filter(|(_, (role, _))| matches!(role, Role::Write | Role::Read));
        let absolute = |(i, (_, word)): (usize, &(Role, Word))| match self.paths(word).as_slice() {
            [path] if word.constant().is_some_and(|word| word != "-") => Some((i, Word::text(path.as_str()))),
            _ => None,
        };
        files.filter_map(absolute).collect()
    }

    /// What a symbolic link leads to is named as from the folder that the link lies in (ln(1), symlink(7)).
    pub(super) fn seen_from_link(&self, parsed: &mut Parsed<'_>, rest: &[Word]) {
        let flag = |letter: char, long: &str| {
            let mut words = rest.iter().filter_map(Word::constant);
            words
                .any(|word| word == long || (word.starts_with('-') && !word.starts_with("--") && word.contains(letter)))
        };
        if !matches!(self.by.as_str(), "ln" | "gln") || !flag('s', "--symbolic") || flag('r', "--relative") {
            return;
        }
        let [target, link] = parsed.operands.as_slice() else { return };
        let (Some(to), Some(from)) = (target.constant(), link.constant()) else { return };
        // A name with a sign behind it is a folder, in which the link is made.
        let within = from.strip_suffix('/').or_else(|| from.rsplit_once('/').map(|(folder, _)| folder));
        if let Some(folder) = within.filter(|_| !to.starts_with(['/', '~'])) {
            let seen = Word::text(format!("{folder}/{to}"));
            parsed.operands = vec![seen, link.clone()];
        }
    }

    /// Whether the program under way reads the file that it then writes.
    pub(super) fn has_read(&self, word: &Word) -> bool {
        let paths = self.paths(word);
        let read = |touch: &crate::inspection::Touch| {
            touch.effect == Effect::Read && touch.by == self.by && paths.contains(&touch.name)
        };
        !word.is_pattern() && self.out.touches.iter().any(read)
    }

    /// Whether a command names a file twice, and so writes what it reads: `sort -o a a`.
    pub(super) fn is_given_twice(&self, word: &Word) -> bool {
        self.words.iter().filter(|given| *given == word).count() > 1
    }

    /// Operands that no catalogue describes: a path among them is read at the least.
    pub(super) fn reads_surplus(&mut self, operands: &[Word]) {
        for word in operands.iter().filter(|word| word.prefix().starts_with(['/', '~'])) {
            self.touch_path(Effect::Read, word, true);
        }
    }

    /// A move that takes the place of an earlier one.
    pub(super) fn judge_move(&mut self, word: &Word) {
        if self.by == "mv" && self.moves_onto(word) {
            let message = format!("one file after the other is moved onto {}: only the last is left", word.shown());
            self.find(FindingKind::HistoryLoss, message);
        }
    }

    /// Whether what an earlier `mv` of the same line put under this name is lost: one file after the other moved onto one name. What the
    /// line has made itself only takes the place of what it was made from.
    fn moves_onto(&self, word: &Word) -> bool {
        let file =
            |path: &String| path.rsplit('/').next().is_some_and(|last| last.trim_start_matches('.').contains('.'));
        let [path] = self.paths(word).try_into().unwrap_or_else(|_| [String::new()]);
        let moves = || self.out.touches.iter().rev().take(MAX_MOVES).filter(|touch| touch.by == "mv");
        let source = moves().find(|touch| touch.effect == Effect::Delete);
        let own = |name: &str| self.files.contains_key(name) || name.starts_with("/tmp/");
        !(word.is_pattern() || word.has_hole())
            && file(&path)
            && source.is_some_and(|source| {
                let again = moves().any(|touch| touch.effect == Effect::Update && touch.name == path);
                !own(&source.name) && (again || source.pattern)
            })
    }

    /// What the names lie below that a search prints: the folders and files that it was given, in the shell's own folder the folder itself
    /// (grep(1), rg(1), fd(1), git-ls-files(1)).
    pub(super) fn searched(
        &self,
        rest: &[Word],
        operands: &[(Role, Word)],
        verb: Option<&str>,
        recursive: bool,
    ) -> Vec<Word> {
        let paths = self.by == "git" && matches!(verb, Some("ls-files" | "grep"));
        if matches!(self.by.as_str(), "ls" | "dir" | "vdir" | "gls") {
            return listed(rest, operands);
        }
        if !(paths || SEARCHING.contains(&self.by.as_str()) || FINDING.contains(&self.by.as_str())) {
            return Vec::new();
        }
        let mut out = Vec::new();
        for (role, word) in operands.iter().filter(|(_, word)| !word.is_empty()) {
            match role {
                Role::Read if !recursive => out.push(word.clone()),
                Role::Read | Role::ReadTree => {
                    out.extend(is_file(word).then(|| word.clone()));
                    out.push(word.all_below());
                }
                // A pathspec reaches below the last folder that it names (gitglossary(7), "pathspec").
                Role::Text if paths && verb == Some("ls-files") => {
                    let shown = word.shown();
                    let literal = shown.split(['*', '?', '[']).next().unwrap_or("");
                    match literal.rsplit_once('/').map(|(folder, _)| folder) {
                        _ if shown.starts_with([':', '-']) || word.has_hole() => {}
                        Some(folder) if literal.len() < shown.len() => out.push(Word::text(folder).all_below()),
                        None if literal.len() < shown.len() => out.push(Word::text(".").all_below()),
                        _ => {
                            out.extend(is_file(word).then(|| word.clone()));
                            out.push(word.all_below());
                        }
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// What a file that a program writes holds afterwards: not known, but of which origin is.
    pub(super) fn written(&mut self, word: &Word, holds: Stream, doing: &mut super::apply::Doing) {
        let appends = |word: &Word| matches!(word.constant(), Some("-a" | "--append" | "-ai" | "-ia"));
        let empties = matches!(self.by.as_str(), "tee" | "gtee") && !self.words.iter().any(appends);
        let lost = empties && self.is_input(word);
        let names = self.paths(word);
        let several = names.len() > 1;
        for name in names {
            self.effort.fresh += u32::from(holds.endless);
            if holds.endless
                && matches!(self.by.as_str(), "tee" | "gtee" | "sponge" | "cp")
                && !name.starts_with("/dev/")
            {
                self.find(FindingKind::ForkBomb, format!("`{}` writes to {name} until the disk is full", self.by));
            }
            self.makes_environment(&name);
            if super::apply::COPYING.contains(&self.by.as_str()) {
                self.judge_written(&name, &holds);
            }
            self.put(name.clone(), holds.clone().with_text(None), several);
            doing.written.push(name);
        }
        if lost {
            self.loses_input(word);
        }
    }

    /// The words of a command as they are looked at: values of options, then operands; what goes into a folder that an option names is read
    /// first (cp(1), "-t").
    pub(super) fn in_order<'a>(
        &self,
        parsed: &'a Parsed<'_>,
        operands: &'a [(Role, Word)],
        archives: &'a HashMap<usize, Word>,
    ) -> Vec<(Role, &'a Word)> {
        let value = |(i, (role, word)): (usize, &'a (Role, Word))| (*role, archives.get(&i).unwrap_or(word));
        let values = parsed.values.iter().enumerate().map(value);
        let given = operands.iter().map(|(role, word)| (*role, word));
        let into = super::apply::COPYING.contains(&self.by.as_str())
            && parsed.values.iter().any(|(role, _)| *role == Role::Write);
        if into { given.chain(values).collect() } else { values.chain(given).collect() }
    }

    /// What a copy holds, also where it was brought into a folder, under the name that it had (cp(1), mv(1), rsync(1)).
    pub(super) fn lands_inside(&mut self, brought: Vec<(String, Stream)>, written: &[String]) {
        if let ([(_, held)], [to]) = (brought.as_slice(), written) {
            self.put(to.clone(), held.clone(), false);
        }
        for (name, held) in brought {
            let last = name.rsplit('/').next().unwrap_or("");
            for folder in written.iter().filter(|folder| !folder.ends_with(&format!("/{last}"))) {
                self.put(format!("{folder}/{last}"), held.clone(), false);
            }
        }
    }

    /// What is brought somewhere, as far as the line put it where it comes from.
    pub(super) fn brought(&self, operands: &[(Role, Word)]) -> Vec<(String, Stream)> {
        if self.files.is_empty() || !matches!(self.by.as_str(), "cp" | "gcp" | "install" | "mv" | "gmv" | "rsync") {
            return Vec::new();
        }
        let from = operands.iter().filter(|(role, _)| !matches!(role, Role::Write | Role::RemoteWrite));
        let names = from.flat_map(|(_, word)| self.put_names(word));
        names.filter_map(|name| Some((name.clone(), self.put_at(&Word::text(name))?))).collect()
    }

    /// Whether a word only says where temporary files may lie.
    pub(super) fn is_room(&self, word: &Word) -> bool {
        matches!(self.by.as_str(), "sort" | "gsort" | "R")
            && matches!(word.constant(), Some("/tmp" | "/tmp/" | "/var/tmp" | "/var/tmp/"))
    }

    /// `effect` on what is there already.
    pub(super) fn change_in_place(&mut self, effect: Effect, word: &Word, recursive: bool) {
        let before = std::mem::replace(&mut self.in_place, true);
        self.touch_path(effect, word, recursive);
        self.in_place = before;
    }

    /// Changes to the folder that an option names; the state to go back to.
    pub(super) fn folder_first(&mut self, parsed: &Parsed<'_>) -> Option<Scope> {
        let mut before = None;
        for (_, folder) in parsed.values.iter().filter(|(role, _)| *role == Role::Folder) {
            before.get_or_insert_with(|| self.scope.clone());
            let to = if folder.has_hole() { Vec::new() } else { self.paths(folder) };
            self.scope.change_folder(to);
        }
        before
    }
}

/// Whether an option of ExifTool changes what a file says.
pub(super) fn sets_tag(option: &str) -> bool {
    let tag = option
        .strip_prefix('-')
        .and_then(|rest| rest.split_once(['=', '<']))
        .map(|(tag, _)| tag.trim_end_matches(['+', '-', '^', '<']));
    tag.is_some_and(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()))
        || option.to_ascii_lowercase().contains("tagsfromfile")
}

/// Programs that search in files.
const SEARCHING: &[&str] = &[
    "grep",
    "egrep",
    "fgrep",
    "zfgrep",
    "ggrep",
    "pcregrep",
    "pcre2grep",
    "rg",
    "ripgrep",
    "ag",
    "ack",
    "ugrep",
    "ug",
    "pt",
    "sift",
];

/// Programs that search for files.
const FINDING: &[&str] = &["fd", "fdfind"];

/// Whether a search prints the lines that it finds: with other options it prints the names of files (grep(1), "-l", "-L"; rg(1),
/// "--files").
pub(super) fn prints_lines(by: &str, rest: &[Word]) -> bool {
    let names = |word: &Word| {
        let word = word.prefix();
        match word.strip_prefix("--") {
            Some(long) => long.starts_with("files"),
            None => word.starts_with('-') && word.contains(['l', 'L']),
        }
    };
    SEARCHING.contains(&by) && !rest.iter().any(names)
}

/// Whether a duration is one that a machine stands: a quarter of an hour at most.
pub(super) fn is_short(operands: &[Word]) -> bool {
    let Some(text) = operands.first().and_then(Word::constant) else { return false };
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).unwrap_or(f64::MAX);
    let seconds = match unit {
        "" | "s" => number,
        "m" => number * 60.0,
        _ => f64::MAX,
    };
    seconds > 0.0 && seconds <= 900.0
}

/// Whether a word reads as files and not as a folder: a pattern, a name with an ending.
fn is_file(word: &Word) -> bool {
    let shown = word.shown();
    let last = shown.rsplit('/').next().unwrap_or("").trim_start_matches('.');
    word.is_pattern() || last.contains('.')
}

/// The names that `ls` prints: what it was given, and of a folder, unless `-d` is given too, what lies in it, without the folder (ls(1)).
fn listed(rest: &[Word], operands: &[(Role, Word)]) -> Vec<Word> {
    let itself = |option: &str| {
        option == "--directory" || (option.starts_with('-') && !option.starts_with("--") && option.contains('d'))
    };
    let alone = rest.iter().filter_map(Word::constant).any(itself);
    let mut out: Vec<Word> = Vec::new();
    for (_, word) in operands.iter().filter(|(_, word)| !word.is_empty()) {
        out.extend((alone || !word.shown().ends_with('/')).then(|| word.clone()));
        out.extend((!alone && !word.is_pattern()).then(|| Word::text(".").all_below()));
    }
    out
}

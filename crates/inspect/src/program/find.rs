//! `find`: where it looks, what it filters, and what it does with what it finds (POSIX; GNU findutils manual).

use countersign_plan::inspection::Touch;
use countersign_plan::tool::{Effect, TargetKind};

use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// Tests and options with one argument that is no file.
const WITH_TEXT: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-fstype",
    "-lname",
    "-ilname",
    "-used",
    "-context",
    "-newermt",
    "-newerat",
    "-newerct",
    "-newerBt",
    "-maxdepth",
    "-mindepth",
    "-regextype",
    "-printf",
    "-flags",
    "-D",
    "-Bmin",
    "-Btime",
    "-depth-n",
];

/// Tests with one argument that is a file whose metadata is read.
const WITH_FILE: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile", "-newermm", "-files0-from"];

/// Words without arguments.
const ALONE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-true",
    "-false",
    "-empty",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-depth",
    "-d",
    "-follow",
    "-mount",
    "-xdev",
    "-x",
    "-daystart",
    "-warn",
    "-nowarn",
    "-noleaf",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-not",
    "-and",
    "-a",
    "-or",
    "-o",
    "!",
    "(",
    ")",
    ",",
    "-H",
    "-L",
    "-P",
    "-E",
    "-X",
    "-s",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-help",
    "--help",
    "-version",
    "--version",
];

/// Words that do not narrow what is found.
const NO_FILTER: &[&str] = &["-maxdepth", "-mindepth", "-type", "-regextype", "-printf", "-D"];

impl Machine<'_> {
    pub(crate) fn find_program(&mut self, rest: &[Word]) -> Stream {
        let starts = |word: &&Word| !word.shown().starts_with(['-', '(', '!']);
        let mut flags = 0;
        while let Some(flag) = rest.get(flags).and_then(Word::constant) {
            match flag {
                "-H" | "-L" | "-P" | "-E" | "-X" | "-s" | "-x" | "-d" => flags += 1,
                "-D" => flags += 2,
                _ if flag.starts_with("-O") => flags += 1,
                _ => break,
            }
        }
        let after: Vec<&Word> = rest.iter().skip(flags).collect();
        let mut roots: Vec<Word> = after.iter().take_while(|word| starts(word)).map(|word| (*word).clone()).collect();
        let expression: Vec<Word> = after.into_iter().skip(roots.len()).cloned().collect();
        if expression.iter().any(|word| word.constant() == Some("-files0-from")) {
            roots.push(Word::holes("files0"));
        }
        if roots.is_empty() {
            roots.push(Word::text("."));
        }
        for root in &roots {
            self.touch_path(Effect::Read, root, true);
        }
        let narrows = |expression: &[Word]| {
            expression.iter().enumerate().any(|(i, word)| {
                let Some(word) = word.constant() else { return false };
                // A name that anything has is no test: `-name '*'`, `-path '*'`.
                let anything = matches!(word, "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename")
                    && expression.get(i + 1).is_some_and(|name| matches!(name.shown().as_str(), "*" | "**" | "./*"));
                (WITH_TEXT.contains(&word) && !NO_FILTER.contains(&word) && !anything)
                    || WITH_FILE.contains(&word)
                    || matches!(word, "-empty" | "-nouser" | "-nogroup")
            })
        };
        let all = Named { names: only_names(&expression), flat: is_flat(&expression) };
        let mut i = 0;
        let (mut printed, mut whole) = (None, true);
        while let Some(word) = expression.get(i) {
            // An act comes before the tests that stand after it (find(1), "EXPRESSION").
            let before = expression.get(..i).unwrap_or(&[]);
            let filtered = narrows(before);
            let name = Named { names: only_names(alternative(before)), flat: all.flat };
            i += 1;
            let Some(text) = word.constant() else {
                self.unknown(
                    UnknownKind::Value,
                    Effect::Delete,
                    format!("`find` gets the unknown word `{}`", word.shown()),
                );
                continue;
            };
            match text {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let command: Vec<Word> = expression
                        .iter()
                        .skip(i)
                        .take_while(|word| !matches!(word.constant(), Some(";")))
                        .cloned()
                        .collect();
                    // `+` ends it only behind `{}` (find(1), "-exec").
                    let ends = |pair: &[Word]| matches!(pair, [file, plus] if file.constant() == Some("{}") && plus.constant() == Some("+"));
                    let plus = command.windows(2).position(ends).map(|at| at + 1);
                    let command: Vec<Word> = command.into_iter().take(plus.unwrap_or(usize::MAX)).collect();
                    i += command.len() + 1;
                    let out = self.on_found(&roots, filtered, &name, &command);
                    printed = Some(printed.unwrap_or_else(Stream::empty).then(out));
                }
                "-printf" => {
                    let format = expression.get(i).and_then(Word::constant);
                    // The folder of each file that is called so (find(1), "-printf").
                    if matches!(format, Some("%h\\n" | "%h\\0" | "%h\n")) && !name.names.is_empty() {
                        let out = self.on_found(&roots, filtered, &name, &[Word::text("dirname"), Word::text("{}")]);
                        printed = Some(printed.unwrap_or_else(Stream::empty).then(out));
                        i += 1;
                        continue;
                    }
                    whole &= matches!(format, Some("%p\\n" | "%p\\0" | "%p\n" | "%p "));
                    i += 1;
                }
                "-delete" => {
                    // What lies in the folder, and not the folder.
                    let below =
                        |depth: &Word| depth.constant().and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n > 0);
                    let deeper = before.windows(2).any(
                        |pair| matches!(pair, [option, depth] if option.constant() == Some("-mindepth") && below(depth)),
                    );
                    self.removes_found(&roots, filtered, deeper, &name);
                }
                "-fprint" | "-fprint0" | "-fls" => {
                    if let Some(file) = expression.get(i) {
                        self.touch_path(Effect::Update, file, false);
                    }
                    i += 1;
                }
                "-fprintf" => {
                    if let Some(file) = expression.get(i) {
                        self.touch_path(Effect::Update, file, false);
                    }
                    i += 2;
                }
                _ if WITH_TEXT.contains(&text) => i += 1,
                _ if WITH_FILE.contains(&text) || text.starts_with("-newer") => {
                    if let Some(file) = expression.get(i) {
                        self.touch_path(Effect::Read, file, false);
                    }
                    i += 1;
                }
                _ if ALONE.contains(&text) => {}
                // A path after the expression ends `find` with an error.
                _ if !text.starts_with('-') => {}
                _ => self.unknown(UnknownKind::Option, Effect::Execute, format!("`find` does not take `{text}`")),
            }
        }
        let sources = std::iter::empty().collect();
        let mut out = Stream { sources, ..Stream::unknown() };
        let mut listed: Vec<Word> = roots.iter().flat_map(|root| found(root, &all)).collect();
        // What lets somebody in is told apart, whatever stands beside it.
        let secrets = expression.windows(2).filter_map(|pair| match pair {
            [test, name] if matches!(test.constant(), Some("-name" | "-iname")) => name.constant(),
            _ => None,
        });
        let below = |name: &str| crate::machine::is_named_for_credentials(&format!("**/{name}"));
        let secrets: Vec<String> = secrets.filter(|name| below(name)).take(MAX_NAMES).map(str::to_owned).collect();
        if !secrets.is_empty() && all.names != secrets {
            let named = Named { names: secrets, flat: all.flat };
            listed.extend(roots.iter().flat_map(|root| found(root, &named)));
        }
        // Where no test narrows it, all of the folder is listed.
        if !narrows(&expression) {
            listed.extend(roots);
        }
        // What is printed of each is its name, something else of it, or what a command says of it.
        let does = |acts: &[&str]| expression.iter().any(|word| acts.iter().any(|act| word.constant() == Some(*act)));
        let named = does(&["-print", "-print0"]) || (does(&["-printf"]) && whole);
        let otherwise = !whole || does(&["-ls", "-fls", "-fprint", "-fprint0", "-fprintf"]);
        if printed.is_none() || named {
            out.list(listed);
        }
        if otherwise {
            out.list(vec![Word::holes("found")]);
        }
        match printed {
            Some(said) if !named && !otherwise => said,
            Some(said) => out.then(said),
            None => out,
        }
    }

    /// Runs a command for what is found; what it writes.
    fn on_found(&mut self, roots: &[Word], filtered: bool, name: &Named, command: &[Word]) -> Stream {
        let mut out = Stream::empty();
        for root in roots {
            // A filter narrows what is removed to less than the whole folder.
            let narrowed = filtered && !self.is_root(root);
            let quiet = std::mem::replace(&mut self.narrowed, narrowed);
            let before = self.out.touches.len();
            for target in self.found(root, name) {
                let words: Vec<Word> = command.iter().map(|word| word.replace("{}", &target)).collect();
                out = out.then(self.start(words, Stream::unknown()));
            }
            // What removes each file, and is narrowed by no test, removes all of the folder.
            let removes = |touch: &Touch| touch.effect == Effect::Delete && touch.kind == TargetKind::File;
            if !filtered && self.out.touches.get(before..).unwrap_or_default().iter().any(removes) {
                self.touch_path(Effect::Delete, root, true);
            }
            self.narrowed = quiet;
        }
        out
    }

    /// What may be found below a root that is more than a project by several names is all of it.
    fn found(&self, root: &Word, name: &Named) -> Vec<Word> {
        if name.names.len() > 1 && self.is_root(root) { vec![root.all_below()] } else { found(root, name) }
    }

    fn removes_found(&mut self, roots: &[Word], filtered: bool, deeper: bool, name: &Named) {
        for root in roots {
            if self.paths(root).iter().any(|path| path == "/") {
                self.find(FindingKind::DestroysSystem, "`find` removes what it finds on the whole machine");
            }
            let narrowed = filtered && !self.is_root(root);
            let before = std::mem::replace(&mut self.narrowed, narrowed);
            if filtered {
                self.found(root, name).iter().for_each(|target| self.touch_path(Effect::Delete, target, true));
            } else if deeper && !self.is_root(root) && !self.paths(root).contains(&self.context.cwd) {
                self.touch_path(Effect::Delete, &root.all_below(), true);
            } else {
                self.touch_path(Effect::Delete, root, true);
            }
            self.narrowed = before;
        }
    }

    fn is_root(&self, root: &Word) -> bool {
        self.paths(root).iter().any(|path| path == "/" || *path == self.context.home)
    }
}

/// So many names are told apart; more are anything.
const MAX_NAMES: usize = 32;

/// What everything that is found is called, and whether it lies in the root itself.
struct Named {
    names: Vec<String>,
    flat: bool,
}

/// What may be found below a root: with names, only what is called so.
fn found(root: &Word, named: &Named) -> Vec<Word> {
    if named.names.is_empty() {
        return vec![root.all_below()];
    }
    let called = |name: &String| {
        let mut out = if named.flat { root.clone() } else { root.all_below() };
        out.push_str("/");
        out.append(&Word::pattern(name));
        out
    };
    let last = root.shown();
    let last = last.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    let itself = named.names.iter().any(|name| crate::shell::pattern::matches(name, last));
    named.names.iter().map(called).chain(itself.then(|| root.clone())).collect()
}

/// Whether nothing below the folders of a root is looked at: `-maxdepth 1` (find(1), a global option).
fn is_flat(expression: &[Word]) -> bool {
    expression.windows(2).any(|pair| {
        let [option, depth] = pair else { return false };
        option.constant() == Some("-maxdepth") && depth.constant() == Some("1")
    })
}

/// Of tests with another way before them (`-path ./.git -prune -o -name x`), those that hold where the act is.
fn alternative(before: &[Word]) -> &[Word] {
    let is = |word: &Word, marks: &[&str]| word.constant().is_some_and(|text| marks.contains(&text));
    let mut depth = 0_usize;
    let mut last = None;
    for (at, word) in before.iter().enumerate() {
        if is(word, &["("]) {
            depth += 1;
        } else if is(word, &[")"]) {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && is(word, &["-o", "-or", ","]) {
            last = Some(at + 1);
        }
    }
    // An act inside of brackets belongs to what stands there.
    last.filter(|_| depth == 0).and_then(|at| before.get(at..)).unwrap_or(before)
}

/// The patterns one of which every name matches: where there are any, and nothing that offers another way. What is left out
/// (`-not -path './.git/*'`) only narrows it.
fn only_names(expression: &[Word]) -> Vec<String> {
    let Some(words) = expression.iter().map(Word::constant).collect::<Option<Vec<&str>>>() else { return Vec::new() };
    let mut kept: Vec<&str> = Vec::new();
    let mut i = 0;
    while let Some(word) = words.get(i) {
        let left_out = matches!(*word, "!" | "-not")
            && words
                .get(i + 1)
                .is_some_and(|test| matches!(*test, "-path" | "-ipath" | "-wholename" | "-name" | "-iname"));
        if left_out {
            i += 3;
        } else {
            kept.push(word);
            i += 1;
        }
    }
    let (open, close) = (kept.iter().position(|word| *word == "("), kept.iter().position(|word| *word == ")"));
    let (either, rest) = match (open, close) {
        (Some(open), Some(close)) if open < close => {
            let inside = kept.get(open + 1..close).unwrap_or_default().to_vec();
            let mut rest = kept.get(..open).unwrap_or_default().to_vec();
            rest.extend(kept.get(close + 1..).unwrap_or_default());
            (inside, rest)
        }
        _ => (Vec::new(), kept),
    };
    if rest.iter().any(|word| matches!(*word, "-o" | "-or" | "!" | "-not" | "," | "(" | ")")) {
        return Vec::new();
    }
    // Every way must name something.
    let ways = either.split(|word| matches!(*word, "-o" | "-or")).map(name_of_way);
    let named: Option<Vec<String>> = ways.collect();
    if let Some(named) = named.filter(|named| !either.is_empty() && !named.is_empty() && named.len() <= MAX_NAMES) {
        return named;
    }
    let mut names = rest.windows(2).filter_map(|pair| match pair {
        ["-name", name] => Some(*name),
        _ => None,
    });
    let name = names.next().and_then(speaking).filter(|_| either.is_empty());
    name.filter(|_| names.next().is_none()).into_iter().collect()
}

/// The name that one of several ways asks for, beside tests that only narrow it: `-type d -name .cache -prune`.
fn name_of_way(way: &[&str]) -> Option<String> {
    let mut name = None;
    let mut rest = way.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-name" if name.is_none() => name = speaking(rest.next()?),
            "-type" | "-size" | "-mtime" | "-mmin" => drop(rest.next()?),
            "-prune" | "-empty" | "-a" | "-and" => {}
            _ => return None,
        }
    }
    name
}

/// A name with a letter in it: one of signs alone matches anything.
fn speaking(name: &str) -> Option<String> {
    let mut class = false;
    let literal = |c: char| {
        class = (class || c == '[') && c != ']';
        !class && c.is_alphanumeric()
    };
    (!name.contains('/') && name.chars().any(literal)).then(|| name.to_owned())
}

//! Databases that are gone soon, and files that a program splits its input into: whose statements are run, and under which names
//! (sqlite3(1); DuckDB, "Command Line Arguments"; split(1), "--filter").

use countersign_plan::tool::Effect;

use super::options::Parsed;
use super::tasks::has;
use crate::catalogue::Tag;
use crate::machine::{Machine, Part, Stream, Variable, Word};

/// Options of these clients that take a value.
const VALUED: &[&str] = &[
    "-cmd",
    "-init",
    "-separator",
    "-newline",
    "-nullvalue",
    "-c",
    "-s",
    "-f",
    "-vfs",
    "-mmap",
    "-maxsize",
    "-lookaside",
    "-pagecache",
    "-heap",
];

/// Options of `split` that take a value as the next word.
const OF_SPLIT: &[&str] = &["-l", "-b", "-C", "-n", "-a", "-t"];

impl Machine<'_> {
    /// Whether the database that a client is given is one that passes: it lies in memory, in a temporary folder, or the line made it.
    pub(super) fn is_passing(&self, rest: &[Word]) -> bool {
        let Some(database) = operands(rest, VALUED).next() else { return true };
        let own = |path: &String| {
            let written = self.files.contains_key(path) && !self.context.files.contains_key(path);
            path.starts_with("/tmp/") || path.starts_with("/var/tmp/") || self.made.contains(path) || written
        };
        let paths = self.paths(database);
        database.constant() == Some(":memory:") || (!database.has_hole() && !paths.is_empty() && paths.iter().all(own))
    }

    /// Whether a program is only asked how it is used, or shows something and does nothing else.
    pub(super) fn only_shows(&self, parsed: &Parsed<'_>, tags: &[&Tag], rest: &[Word]) -> bool {
        // What Gradle says of a task it finds out by reading the project.
        let asks = parsed.asks_for_help() && !self.by.starts_with("gradle");
        super::only_asks(rest) || tags.contains(&&Tag::Inert) || (rest.is_empty() && tags.contains(&&Tag::Bare)) || asks
    }

    /// Whether help or a version is asked of a program that the one under way starts out of a file or after fetching it, and that does
    /// what it likes with such a word: `poetry run ./x --version`, `dotnet x.dll --help`.
    pub(super) fn is_asked_of_another(&self, parsed: &mut Parsed<'_>, rest: &[Word]) -> bool {
        const ENDS: &[&str] = &[".py", ".js", ".mjs", ".ts", ".dll", ".exe", ".jar", ".rb", ".sh", ".php"];
        let verb = parsed.path.last().map_or("", String::as_str);
        let runtime = matches!(self.by.as_str(), "dotnet" | "mono" | "mono-sgen");
        if !(runtime || matches!(verb, "run" | "exec" | "dlx" | "x")) {
            return false;
        }
        let is_file = |word: &Word| {
            let text = word.shown();
            text.contains('/') || ENDS.iter().any(|end| text.ends_with(end))
        };
        let given = |word: &&Word| parsed.operands.contains(word) || parsed.command.contains(word);
        let begins = |word: &Word| given(&word) && (verb == "dlx" || is_file(word));
        let Some(at) = rest.iter().position(begins) else { return false };
        let asks = |word: &str| matches!(word, "--help" | "--version" | "-h" | "-V" | "-v" | "help");
        let asked = rest.iter().skip(at + 1).any(|word| word.constant().is_some_and(asks));
        parsed.unlisted.retain(|(option, _)| !(asked && asks(option)));
        asked
    }

    /// `git worktree add FOLDER`: nobody has worked there before (git-worktree(1)).
    pub(super) fn adds_tree(&mut self, parsed: &Parsed<'_>) {
        if self.by == "git"
            && parsed.path == ["worktree", "add"]
            && let Some(folder) = parsed.operands.first().filter(|folder| !folder.has_hole())
        {
            // Only its tie to the repository is known to be new: the folder may have been there, and the command have failed.
            let trees = self.paths(folder).into_iter().map(|path| format!("tree {path}"));
            self.made.extend(trees);
        }
    }

    /// Whether a tree is taken away again that the line has added. With `--force` git also takes one in which somebody has worked, where the
    /// command that was to add it failed: outside of temporary folders that is a loss.
    pub(super) fn removes_own_tree(&self, parsed: &Parsed<'_>, rest: &[Word]) -> bool {
        let forced = rest.iter().any(|word| matches!(word.constant(), Some("--force" | "-f" | "-ff")));
        let passing = |path: &String| ["/tmp/", "/var/tmp/"].iter().any(|folder| path.starts_with(folder));
        let added = |path: &String| self.made.contains(&format!("tree {path}")) && (!forced || passing(path));
        let own = |folder: &Word| self.paths(folder).iter().all(added);
        self.by == "git"
            && parsed.path == ["worktree", "remove"]
            && !parsed.operands.is_empty()
            && parsed.operands.iter().all(own)
    }

    /// An environment that the line makes has programs of its own (Python library reference, "venv").
    pub(super) fn makes_environment(&mut self, folder: &str) {
        let by_uv = || self.by == "uv" && self.words.iter().any(|word| word.constant() == Some("venv"));
        if matches!(self.by.as_str(), "venv" | "virtualenv") || by_uv() {
            let programs = ["python", "python3", "pip", "pip3"].map(|name| format!("{folder}/bin/{name}"));
            self.made.extend(programs);
        }
    }

    /// Whether anybody but Python and its installers has put something into the environment of a program.
    pub(super) fn is_filled_by_others(&self, program: &str) -> bool {
        const OWN: &[&str] = &["venv", "virtualenv", "uv", "pip", "pip3", "python", "python3"];
        let folder = program.split_once("/bin/").map_or(program, |(folder, _)| folder);
        let into = |touch: &crate::inspection::Touch| {
            let below = touch.name.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            below && matches!(touch.effect, Effect::Create | Effect::Update) && !OWN.contains(&touch.by.as_str())
        };
        self.out.touches.iter().any(into)
    }

    /// A file under a name that only a run shows, as a pattern, where it begins with a folder for what passes that the line itself made, and
    /// ends as a script or a text: `/tmp/steps/$n.sh`.
    pub(crate) fn below_own_folder(&self, word: &Word) -> Option<Word> {
        const ENDINGS: &[&str] = &[".sh", ".bash", ".txt", ".json", ".xml", ".html"];
        let (Some(Part::Text(first)), Some(Part::Text(last))) = (word.parts().first(), word.parts().last()) else {
            return None;
        };
        let folder = first.rsplit_once('/').map(|(folder, _)| folder).filter(|folder| folder.starts_with("/tmp/"))?;
        let made = |touch: &crate::inspection::Touch| {
            touch.effect == Effect::Create && touch.name == folder && !touch.pattern && touch.by == "mkdir"
        };
        let origin = self.origin_of(word);
        let plain = word.parts().iter().all(|part| !matches!(part, Part::Hole { many: true, .. }));
        let known = ENDINGS.iter().any(|ending| last.ends_with(ending)) && !folder.contains("/..");
        if !(known && plain && !origin.remote && !origin.decoded && self.out.touches.iter().any(made)) {
            return None;
        }
        let mut out = Word::default();
        for part in word.parts() {
            out.push(if matches!(part, Part::Hole { .. }) { Part::Glob('*') } else { part.clone() });
        }
        word.has_hole().then_some(out)
    }

    /// Whether the client under way works on such a database.
    pub(super) fn is_of_passing(&self) -> bool {
        self.passing && matches!(self.by.as_str(), "sqlite3" | "sqlite" | "duckdb")
    }

    /// Statements that the client itself reads out of a file of the project's: they are run as a script of the project is.
    pub(super) fn runs_statements_of_project(&mut self, stdin: &Stream) -> bool {
        if !self.is_of_passing() || stdin.remote || stdin.decoded {
            return false;
        }
        let folder = format!("{}/", self.context.cwd.trim_end_matches('/'));
        let own = |path: &String| path.starts_with(&folder) && path.ends_with(".sql") && !self.files.contains_key(path);
        // What another program hands on it may have changed.
        let itself = |path: &String| {
            let read = |touch: &crate::inspection::Touch| {
                touch.effect == Effect::Read && touch.name == *path && touch.by == self.by
            };
            self.out.touches.iter().any(read)
        };
        if stdin.sources.len() != 1 || !stdin.sources.iter().all(|path| own(path) && itself(path)) {
            return false;
        }
        for path in stdin.sources.clone() {
            self.touch_path(Effect::Execute, &Word::text(path), false);
        }
        true
    }

    /// A query of the project's in a transaction that only reads (PostgreSQL, "SET TRANSACTION"): it is run as a script of the project is.
    pub(super) fn queries_of_project(&mut self, word: &Word) -> bool {
        let lower = word.prefix().trim_start().to_ascii_lowercase();
        let begins = ["begin read only;", "begin transaction read only;", "start transaction read only;"];
        // What explains a statement, and nothing beside it that could end the transaction or start a program (PostgreSQL, "EXPLAIN", "COPY").
        const EXPLAINING: &str = "explain analyze verbose buffers costs settings wal timing summary memory serialize format text json yaml xml \
            on off true false";
        let explains = |text: &str| {
            text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ','))
                .all(|word| word.is_empty() || has(EXPLAINING, word))
        };
        let ends = |text: &str| {
            text.split(|c: char| c.is_whitespace() || c == ';')
                .all(|word| word.is_empty() || has("rollback abort", word))
        };
        let begun = begins.iter().find_map(|begin| lower.strip_prefix(begin)).is_some_and(explains);
        let only = match word.parts() {
            [Part::Text(_), Part::Hole { name, .. }] => is_file_shown(name),
            [Part::Text(_), Part::Hole { name, .. }, Part::Text(rest)] => {
                is_file_shown(name) && ends(&rest.to_ascii_lowercase())
            }
            _ => false,
        };
        let origin = self.origin_of(word);
        let folder = format!("{}/", self.context.cwd.trim_end_matches('/'));
        let own = |path: &String| path.starts_with(&folder) && path.ends_with(".sql") && !self.files.contains_key(path);
        let plain = !(origin.remote || origin.decoded) && origin.sources.len() == 1 && origin.sources.iter().all(own);
        if !(plain && begun && only) {
            return false;
        }
        for path in origin.sources {
            self.touch_path(Effect::Execute, &Word::text(path), false);
        }
        true
    }

    /// `split --filter=LINE INPUT PREFIX`: `$FILE` in the line is the prefix with something behind it.
    pub(super) fn split_into(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let mut file = operands(rest, OF_SPLIT).nth(1).cloned().unwrap_or_else(|| Word::text("x"));
        file.push(Part::Glob('*'));
        let before = self.scope.clone();
        self.scope.set("FILE", Variable::Scalar(file));
        self.scope.mark("FILE", 'x', true);
        let entry = crate::catalogue::entry("split")?;
        let out = self.catalogued(entry, name, rest, stdin);
        self.scope = before;
        Some(out)
    }
}

/// Whether a hole stands for what one file holds and nothing else: `$(cat FILE)`.
fn is_file_shown(hole: &str) -> bool {
    let file = hole.strip_prefix("(cat ").and_then(|rest| rest.strip_suffix(')')).map(str::trim);
    file.is_some_and(|file| {
        !file.is_empty() && file.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
    })
}

/// The words that are neither options nor the values of those.
fn operands<'a>(rest: &'a [Word], valued: &'a [&str]) -> impl Iterator<Item = &'a Word> {
    let value = move |i: usize| {
        let before = i.checked_sub(1).and_then(|i| rest.get(i)).and_then(Word::constant);
        before.is_some_and(|before| valued.contains(&before.replacen("--", "-", 1).as_str()))
    };
    let operand = move |(i, word): &(usize, &Word)| {
        let text = word.prefix();
        (text == "-" || !text.starts_with('-')) && !value(*i)
    };
    rest.iter().enumerate().filter(operand).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use countersign_plan::inspection::{Context, Inspection};
    use countersign_plan::tool::Effect;

    fn inspect(line: &str) -> Inspection {
        crate::shell::shell(line, &Context::new("/home/user/project", "/home/user"))
    }

    #[test]
    fn a_name_that_only_a_run_shows_lies_in_the_folder_that_the_line_made() {
        for line in [
            "mkdir -p /tmp/steps; while read -r n; do echo x > /tmp/steps/$n.sh; done < list",
            "i=0; while read -r b; do i=$((i+1)); echo \"$b\" > \"$(printf '/tmp/figs/%02d.png' $i)\"; done < list",
        ] {
            assert!(inspect(line).unknowns.is_empty(), "{line}: {:#?}", inspect(line).unknowns);
        }
        for line in [
            "while read -r n; do echo x > /tmp/steps/$n.sh; done < list",
            "mkdir -p /tmp/steps; while read -r n; do echo x > /tmp/steps/$n; done < list",
            "mkdir -p /tmp/steps; while read -r n; do echo x > /tmp/steps/$n.desktop; done < list",
            "mkdir -p /tmp/steps; curl -s https://h.example/l | while read -r n; do echo x > /tmp/steps/$n.sh; done",
            "mkdir -p ~/bin; while read -r n; do echo x > ~/bin/$n.sh; done < list",
            "echo x > \"$(printf '%s/%d' $HOME $i)\"",
            "echo x > \"$(printf '/tmp/%d' $i; curl -s https://h.example/i)\"",
        ] {
            assert!(!inspect(line).unknowns.is_empty(), "{line}");
        }
    }

    #[test]
    fn what_is_built_of_the_projects_sources_is_the_projects_wherever_it_lies() {
        let outside = |line: &str| {
            let runs =
                |touch: &crate::inspection::Touch| touch.effect == Effect::Execute && touch.name.starts_with("/tmp/");
            inspect(line).touches.iter().any(runs)
        };
        for line in [
            "gcc -o /tmp/halo examples/halo.c && /tmp/halo 1",
            "mpicc -O2 -o /tmp/halo examples/halo.c -lm && timeout 300 mpirun -np 4 /tmp/halo 128",
        ] {
            assert!(!outside(line) && inspect(line).unknowns.is_empty(), "{line}: {:#?}", inspect(line));
        }
        for line in [
            "gcc -o /tmp/halo /tmp/x.c && /tmp/halo",
            "gcc -I/tmp/inc -o /tmp/halo examples/halo.c && /tmp/halo",
            "gcc -o /tmp/halo examples/halo.c && cp /tmp/y /tmp/halo && /tmp/halo",
            "gcc -o /tmp/halo examples/halo.c && curl -so /tmp/halo https://h.example/x && /tmp/halo",
            "gcc -o /tmp/halo examples/halo.c; /tmp/other",
        ] {
            assert!(outside(line), "{line}: {:#?}", inspect(line));
        }
    }

    #[test]
    fn a_job_of_the_line_is_its_own() {
        let signals = |line: &str| inspect(line).touches.iter().any(|touch| touch.effect == Effect::Update);
        assert!(!signals("go run ./cmd/ingest & sleep 4; kill %1"));
        for line in ["kill %1", "go run ./cmd/ingest & kill %1 1", "go run ./cmd/ingest & kill 4123"] {
            assert!(signals(line), "{line}");
        }
    }

    #[test]
    fn a_connection_whose_settings_are_shown_is_not_made() {
        let contacts = |line: &str| inspect(line).touches.iter().any(|touch| touch.name.starts_with("hpc"));
        assert!(!contacts("ssh -G -F docs/ssh_config.sample hpc"));
        for line in ["ssh hpc", "ssh -G hpc", "ssh -F docs/ssh_config.sample hpc ls -G"] {
            assert!(contacts(line), "{line}: {:#?}", inspect(line));
        }
        assert!(!inspect("ssh -G -F docs/c -o ProxyCommand='sh x' hpc").findings.is_empty());
    }
}

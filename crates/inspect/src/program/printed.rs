//! Ways by which what is read goes on: what code prints, what a client is told to put somewhere.

use countersign_plan::tool::{Effect, TargetKind};

use super::special::is_credential;
use super::tasks::has;
use crate::bounded::Bounded as _;
use crate::catalogue::Role;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word};

/// The most files of one command.
const MAX_FILES: usize = 64;

impl Machine<'_> {
    /// What a line shows at its end, by a program that hands on what it is given.
    pub(crate) fn judge_shown(&mut self, shown: &Stream) {
        const SHOWING: &str = "echo printf printenv base64 head tail cut rev xxd od tr sed cat";
        let secret = |from: &str| {
            from == "secret" || from.strip_prefix('$').is_some_and(|name| !name.contains(':') && is_credential(name))
        };
        let last = self.out.programs.last().map(|program| program.name.as_str());
        if last.is_some_and(|last| has(SHOWING, last)) && shown.sources.iter().any(|from| secret(from)) {
            self.find(FindingKind::EnvironmentDump, "the line shows a credential of the environment");
        }
    }

    /// `lftp -e "put FILE; bye" HOST`, `mirror -R FOLDER` (lftp(1)).
    pub(super) fn transfers(&mut self, words: &[String]) {
        let script = words.windows(2).find_map(|pair| match pair {
            [option, script] if matches!(option.as_str(), "-e" | "-c") => Some(script.clone()),
            _ => None,
        });
        let Some(script) = script else { return };
        let commands: Vec<Vec<&str>> =
            script.split([';', '\n']).map(|line| line.split_whitespace().collect()).at_most(MAX_FILES).collect();
        let opened = commands.iter().find(|line| line.first() == Some(&"open")).and_then(|line| line.last().copied());
        let named = words.iter().find(|word| !word.starts_with('-') && **word != script).map(String::as_str);
        let Some(host) = opened.or(named).and_then(|host| crate::host::read(host).name) else { return };
        for line in &commands {
            let sends = match line.as_slice() {
                ["put" | "mput", ..] => true,
                ["mirror", rest @ ..] => rest.iter().any(|word| matches!(*word, "-R" | "--reverse")),
                _ => false,
            };
            let path = line.iter().skip(1).find(|word| !word.starts_with('-')).filter(|_| sends);
            let path = path.map(|path| {
                path.strip_prefix('~').map_or((*path).to_owned(), |rest| format!("{}{rest}", self.context.home))
            });
            for path in path.map(|path| self.paths(&Word::text(path))).unwrap_or_default() {
                self.touch_path(Effect::Read, &Word::text(path.as_str()), line.first() == Some(&"mirror"));
                self.leaves(&path, &host);
            }
        }
    }

    /// What code prints of its own constants is a part of what comes out, as far as a line that something runs could be in it.
    pub(super) fn prints_constants(&self, base: &str, rest: &[Word], out: &mut Stream) {
        const PRINTING: &str = "awk gawk mawk nawk perl python ruby node php";
        const CALLS: &[&str] = &["print", "puts", "echo", "console.log", "write"];
        let name = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if out.text.is_some() || !has(PRINTING, name) {
            return;
        }
        if let [option, script] = rest
            && option.constant() == Some("-c")
            && let Some(folder) =
                script.constant().and_then(|script| crate::code::printed_packages(script, &self.context.home))
        {
            out.text = Some(format!("{folder}\n"));
            return;
        }
        let scripts =
            rest.iter().filter_map(Word::constant).filter(|text| CALLS.iter().any(|call| text.contains(call)));
        let texts =
            scripts.flat_map(crate::code::texts_of).filter(|text| text.contains([':', '|']) && text.contains(' '));
        out.keep(texts.at_most(MAX_FILES).collect::<Vec<_>>());
    }

    /// What goes through a pipe into code that reads it and talks to another machine.
    pub(super) fn hands_on(&mut self, code: &str, stdin: &Stream, since: usize) {
        const READING: &[&str] = &["stdin", "STDIN", "$<", "gets", "<>", "/dev/fd/0", "input("];
        if stdin.sources.is_empty() || !READING.iter().any(|name| code.contains(name)) {
            return;
        }
        let told = |touch: &&crate::inspection::Touch| {
            touch.kind == TargetKind::Host && touch.effect == Effect::Send && !crate::host::is_local(&touch.name)
        };
        let hosts: Vec<String> = self
            .out
            .touches
            .iter()
            .skip(since)
            .filter(told)
            .map(|touch| touch.name.clone())
            .at_most(MAX_FILES)
            .collect();
        for host in hosts {
            for from in &stdin.sources {
                self.leaves(from, &host);
            }
        }
    }

    /// `mv FILE… PLACE`, `mv -t FOLDER FILE…`, where the line wrote the file: what stands at that place afterwards (mv(1)).
    pub(super) fn takes_place(&mut self, rest: &[Word]) {
        let Some(entry) = crate::catalogue::entry("mv") else { return };
        let Ok((_, parsed)) = super::options::read(entry, rest) else { return };
        let folder = parsed.values.iter().find(|(role, _)| *role == Role::Write).map(|(_, word)| word);
        let (to, names) = match (folder, parsed.operands.as_slice()) {
            (Some(folder), names) => (folder, names),
            (None, [names @ .., to]) => (to, names),
            _ => return,
        };
        for name in names.iter().at_most(MAX_FILES) {
            let held = self.held(name);
            let shown = name.shown();
            let last = shown.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            for path in self.paths(to) {
                let below = format!("{}/{last}", path.trim_end_matches('/'));
                // A place that something believes is the file's own, or a folder for such.
                let believed = |place: &String| crate::file::runs_by_itself(place, &self.context.home);
                let place = [path, below].into_iter().find(believed);
                let Some(place) = place else { continue };
                self.judge_written(&place, &held);
                if folder.is_some() || names.len() > 1 {
                    self.touch_path(Effect::Update, &Word::text(place.as_str()), false);
                }
                self.files.insert(place, held.clone());
            }
        }
    }

    /// What a host sent lies where it is run without anybody starting it: hooks, units, schedules, what a shell reads as it begins.
    pub(super) fn judge_fetched_places(&mut self) {
        // Programs lie there, and are started by their names; a pipeline is run somewhere else; what an editor has beside it waits for a call (Vim,
        // "autoload").
        let apart =
            |path: &str| ["/.local/bin/", "/workflows/", "/autoload/"].iter().any(|folder| path.contains(folder));
        let home = &self.context.home;
        let found = self.files.iter().find_map(|(path, file)| {
            (file.remote && !apart(path) && crate::file::runs_by_itself(path, home)).then(|| path.clone())
        });
        if let Some(path) = found {
            let message = format!("{path} is what a host sent, and is run without anybody starting it");
            self.find(FindingKind::DownloadAndExecute, message);
        }
    }

    /// What code, statements, scripts and the commands of a search read stands in what they print, as far as anybody can tell.
    pub(super) fn prints_what_it_reads(&self, base: &str, rest: &[Word], since: usize, out: &mut Stream) {
        const PRINTING: &str = "python pypy ruby node nodejs deno bun php lua perl sqlite3 duckdb psql mysql m4 xsltproc dotenv ed ex \
            vi vim view find fd git Rscript julia awk gawk mawk";
        let name =
            if base == "sqlite3" { base } else { base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') };
        if !has(PRINTING, name) {
            return;
        }
        let read = self.out.touches.get(since..).unwrap_or_default().iter().filter(|touch| {
            let names = matches!(name, "find" | "fd") && touch.by == base;
            touch.effect == Effect::Read && touch.kind == TargetKind::File && !touch.recursive && !names
        });
        let sources: Vec<String> = read.map(|touch| touch.name.clone()).at_most(MAX_FILES).collect();
        // `-exec grep -l … {} +` prints names.
        let names = rest.windows(2).any(|pair| {
            matches!(pair, [grep, flag] if matches!(grep.constant(), Some("grep" | "egrep" | "fgrep" | "rg"))
                && flag.prefix().starts_with('-') && flag.prefix().contains(['l', 'L']))
        });
        if !(sources.is_empty() || names) {
            out.listing.clear();
        }
        out.sources.extend(sources);
    }
}

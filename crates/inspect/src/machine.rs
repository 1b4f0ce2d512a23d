//! The abstract machine: what it knows while it goes through a line, and how it writes down what would happen.

mod effort;
mod emptied;
mod files;
mod scope;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::inspection::Context;
use countersign_plan::text::check_visible;
use countersign_plan::tool::{Effect, TargetKind};

pub(crate) use effort::{Effort, size};
pub(crate) use emptied::{is_log, is_record};
pub(crate) use scope::{Scope, Variable, Whereabouts};
pub(crate) use value::{Part, Stream, Word};

use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, FindingKind, Flow, Inspection, Span, Touch, UnknownKind};
use crate::path::{self, Place};
use crate::program::is_of_another;
use crate::shell::{Frame, Standing, Traps};

/// The most simple commands that are interpreted for one inspection, loops and functions counted each time.
const MAX_COMMANDS: u32 = 4096;

/// The most bytes that expansion may produce.
const MAX_EXPANDED: usize = 1 << 20;

/// The most files that are followed: those that are known beforehand and those that the line writes.
const MAX_FILES: usize = 2 * crate::inspection::MAX_ENTRIES;

/// Devices that are read without end.
const ENDLESS: &[&str] = &["/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"];

/// Programs after which nothing is left of what they change.
const RUINS: &[&str] = &["shred", "truncate", "wipe", "srm", "dd", "mv", "scrub"];

/// What an interactive shell answers, as an origin of data.
pub(crate) const ANSWERS: &str = "a shell's answers";

/// The deepest nesting of shells in shells.
pub(crate) const MAX_DEPTH: u32 = 12;

/// An interpretation under way.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) context: &'a Context,
    pub(crate) out: Inspection,
    pub(crate) scope: Scope,
    /// Files that the line itself wrote, with what is in them.
    pub(crate) files: BTreeMap<String, Stream>,
    /// How often one was written.
    pub(crate) puts: usize,
    /// How many conditions decide whether what is read now runs.
    conditional: u32,
    /// What lay in files before that were written under one of them.
    replaced: Vec<(String, Stream)>,
    /// Those that something else changed after that.
    pub(crate) altered: BTreeSet<String>,
    /// Those that only one of several places may be.
    pub(crate) perhaps: BTreeSet<String>,
    /// Where the values of holes come from.
    pub(crate) origins: BTreeMap<String, Stream>,
    /// What holes stand for where nothing else set them: `${X:-y}`.
    pub(crate) defaults: BTreeMap<String, Word>,
    /// Folders into which the line unpacked what a host sent.
    pub(crate) unpacked: BTreeSet<String>,
    /// Folders into which it cloned a repository.
    pub(crate) cloned: BTreeSet<String>,
    /// Whether an archive of a host was unpacked in the folder of the project itself.
    pub(crate) unpacked_here: bool,
    /// Texts that something runs later without asking anybody.
    pub(crate) later: Vec<String>,
    /// Whether the line opened a connection of the shell's own, as `/dev/tcp/…` is.
    pub(crate) sockets: bool,
    /// Whether the command under way reads from or writes to such a connection.
    pub(crate) connected: bool,
    /// Constant texts that came out of a decoder.
    pub(crate) decoded: Vec<String>,
    /// Whether code of another language decoded something.
    pub(crate) decodes: bool,
    /// Whether code of another language talked to another machine.
    pub(crate) answered: bool,
    /// The program under way, for [`Touch::by`].
    pub(crate) by: String,
    /// The words after it, where it is `make`.
    pub(crate) words: Vec<Word>,
    /// Folders of this machine that the container under way is given, and where.
    pub(crate) bound: Vec<(String, String)>,
    /// Whether the command that the program under way carries was read already.
    pub(crate) opened: bool,
    /// Whether the database under way lies in memory alone.
    pub(crate) in_memory: bool,
    /// Whether it lies there, in a temporary folder, or was made by the line.
    pub(crate) passing: bool,
    /// What the shell under way reads, and so what a command in `$(…)` does.
    pub(crate) shell_reads: Stream,
    /// Whether statements of the line put together others that end a database.
    pub(crate) ends_databases: bool,
    /// Whether the line lists every key of a store.
    pub(crate) every_key: bool,
    /// The position of the command under way, where it is one of the inspected text itself.
    pub(crate) span: Option<Span>,
    /// Whether it all runs on a phone or in an emulator of one.
    pub(crate) on_device: bool,
    /// How many shells deep.
    pub(crate) depth: u32,
    /// The functions under way.
    pub(crate) calls: Vec<String>,
    /// The loops, functions and shells under way, from the outside to the inside.
    pub(crate) frames: Vec<Frame>,
    /// Whether an error of what runs now goes unnoticed, `set -e` or not.
    pub(crate) unchecked: bool,
    /// Whether a program is under way: what it runs as a shell is one of its own.
    pub(crate) starting: bool,
    /// What `exec` left open.
    pub(crate) standing: Standing,
    /// The actions of `trap`.
    pub(crate) traps: Traps,
    /// Whether what runs now is a member of a pipeline or in the background.
    pub(crate) concurrent: bool,
    /// Whether what is touched is less than the folder that a pattern names.
    pub(crate) narrowed: bool,
    /// Whether what is touched now is changed where it is.
    pub(crate) in_place: bool,
    /// What was done so far, to tell what a loop does.
    pub(crate) effort: Effort,
    /// What editors put into files.
    pub(crate) placed: Vec<(String, String)>,
    /// Files that were read as a part of what is run, and how long they were.
    pub(crate) judged: BTreeSet<(String, usize)>,
    /// Programs that the line built of sources of its own that only compute.
    pub(crate) computed: BTreeSet<String>,
    /// Files that the line itself made: to take them away again destroys nothing.
    pub(crate) made: BTreeSet<String>,
    /// Files that the pipeline under way reads.
    pub(crate) inputs: BTreeSet<String>,
    /// Files that the members before it read, of each pipeline that it is a part of.
    pub(crate) upstream: BTreeSet<String>,
    /// Files that were emptied and not filled again, with the program that did it.
    emptied: BTreeMap<String, String>,
    commands: u32,
    expanded: usize,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self {
            context,
            out: Inspection::default(),
            scope: Scope::new(path::normalise("/", &context.cwd)),
            files: context
                .files
                .iter()
                .at_most(crate::inspection::MAX_ENTRIES)
                .map(|(path, text)| (path::normalise("/", path), Stream::constant(text.as_str())))
                .collect(),
            origins: BTreeMap::new(),
            defaults: BTreeMap::new(),
            puts: 0,
            conditional: 0,
            replaced: Vec::new(),
            altered: BTreeSet::new(),
            perhaps: BTreeSet::new(),
            unpacked: BTreeSet::new(),
            cloned: BTreeSet::new(),
            unpacked_here: false,
            later: Vec::new(),
            sockets: false,
            connected: false,
            decoded: Vec::new(),
            decodes: false,
            answered: false,
            by: String::new(),
            words: Vec::new(),
            bound: Vec::new(),
            opened: false,
            in_memory: false,
            passing: false,
            shell_reads: Stream::empty(),
            ends_databases: false,
            every_key: false,
            span: None,
            on_device: false,
            depth: 0,
            calls: Vec::new(),
            frames: Vec::new(),
            unchecked: false,
            starting: false,
            standing: Standing::default(),
            traps: Traps::default(),
            concurrent: false,
            narrowed: false,
            in_place: false,
            effort: Effort::default(),
            placed: Vec::new(),
            judged: BTreeSet::new(),
            computed: BTreeSet::new(),
            made: BTreeSet::new(),
            inputs: BTreeSet::new(),
            upstream: BTreeSet::new(),
            emptied: BTreeMap::new(),
            commands: MAX_COMMANDS,
            expanded: 0,
        }
    }

    /// Counts one command; `false` where the bound is reached.
    pub(crate) fn spend(&mut self) -> bool {
        if self.commands == 0 {
            self.out.too_much("more commands than are interpreted");
            return false;
        }
        self.commands -= 1;
        true
    }

    /// Counts bytes that expansion produced; `false` where the bound is reached.
    pub(crate) fn produce(&mut self, bytes: usize) -> bool {
        self.expanded = self.expanded.saturating_add(bytes);
        if self.expanded > MAX_EXPANDED {
            self.out.too_much("expansions grow beyond what is interpreted");
            return false;
        }
        true
    }

    pub(crate) fn find(&mut self, kind: FindingKind, message: impl AsRef<str>) {
        self.out.find(kind, self.span, message);
    }

    pub(crate) fn unknown(&mut self, kind: UnknownKind, effect: Effect, message: impl AsRef<str>) {
        self.out.unknown(kind, effect, self.span, message);
    }

    /// The names that a word stands for as a path; several where the current folder is one of several.
    pub(crate) fn paths(&self, word: &Word) -> Vec<String> {
        let shown = word.spelled();
        if shown.starts_with('/') {
            return vec![path::normalise("/", &shown)];
        }
        match self.scope.folders() {
            Some(folders) => folders.iter().map(|folder| path::normalise(folder, &shown)).collect(),
            None => vec![format!("${{PWD}}/{shown}")],
        }
    }

    /// `effect` on the file or folder that `word` names.
    pub(crate) fn touch_path(&mut self, effect: Effect, word: &Word, recursive: bool) {
        if word.is_empty() {
            return;
        }
        // A number in a name leads to no other folder.
        let writes = matches!(effect, Effect::Create | Effect::Update);
        let data = || word.data_as_pattern().filter(|_| writes && !self.origin_of(word).decoded);
        let numbered =
            word.numbers_as_pattern().or_else(data).or_else(|| self.below_own_folder(word).filter(|_| writes));
        let word = numbered.as_ref().unwrap_or(word);
        let shown = word.spelled();
        if let Err(hidden) = visible(&shown) {
            self.find(FindingKind::HiddenText, format!("a path hides something: {hidden}"));
        }
        if word.has_hole() || (self.scope.folders().is_none() && !shown.starts_with('/')) {
            let message = format!("which file `{shown}` is shows only when the command runs");
            // Whoever decodes a name hides it.
            let kind = if self.origin_of(word).decoded { UnknownKind::Code } else { UnknownKind::Value };
            self.unknown(kind, effect, message);
        }
        if effect == Effect::Delete && recursive && self.may_be_root(word) {
            self.find(
                FindingKind::DestroysSystem,
                format!("`{}` removes {shown}, which is `/` where nothing set it", self.by),
            );
        }
        // A folder that is one of several is a pattern as well.
        let pattern = word.is_pattern() || word.has_hole();
        for name in self.paths(word) {
            let pattern = pattern || (!shown.starts_with('/') && name.contains(['*', '?']));
            self.touch_absolute(effect, name, pattern, recursive);
        }
        if let Some(default) = self.by_default(word) {
            for name in self.paths(&default) {
                self.touch_absolute(effect, name, pattern, recursive);
            }
        }
    }

    /// A folder that `call` removes with all below it, and that nobody knows before.
    pub(crate) fn touch_unseen(&mut self, call: &str) {
        let name = format!("${{{call}}}");
        let by = self.by.clone();
        self.out.touch(Touch {
            effect: Effect::Delete,
            kind: TargetKind::File,
            name,
            pattern: true,
            recursive: true,
            by,
            in_place: false,
        });
    }

    /// The word with the default of its first hole in the place of that.
    pub(crate) fn by_default(&self, word: &Word) -> Option<Word> {
        let name = word.first_hole()?;
        let default = self.defaults.get(name)?;
        let mut out = Word::default();
        for part in word.parts() {
            match part {
                Part::Hole { name: own, .. } if own == name => out.append(default),
                part => out.push(part.clone()),
            }
        }
        (!out.has_hole()).then_some(out)
    }

    fn touch_absolute(&mut self, effect: Effect, name: String, pattern: bool, recursive: bool) {
        if effect > Effect::Read && effect != Effect::Execute {
            self.computed.retain(|built| *built != name && !pattern && !recursive);
            let stays =
                |made: &str| made.strip_prefix("built ").is_none_or(|built| built != name && !pattern && !recursive);
            self.made.retain(|made| stays(made));
        }
        if matches!(effect, Effect::Update | Effect::Delete) {
            self.alters(&name, pattern);
        }
        if let Some(rest) = name.strip_prefix("/dev/tcp/").or_else(|| name.strip_prefix("/dev/udp/")) {
            let address = rest.replacen('/', ":", 1);
            self.sockets |= !crate::host::is_loopback(&address);
            self.touch_host(&Word::text(address));
            return;
        }
        // What a process substitution stands for is no file.
        if name.starts_with("/dev/fd/") {
            return;
        }
        let of_log = |name: &str| self.files.get(name).is_some_and(|file| file.sources.iter().any(|from| is_log(from)));
        if effect == Effect::Delete && !pattern && self.made.contains(&name) && !of_log(&name) {
            return;
        }
        if effect == Effect::Execute
            && let Some(folder) = self.of_unpacked(&name, recursive)
        {
            let message = format!("{name} came out of what a host sent to {folder}, and is run");
            self.find(FindingKind::DownloadAndExecute, message);
        }
        self.effort.touched(effect, &name, pattern);
        if effect == Effect::Read && self.inputs.len() < MAX_FILES {
            self.inputs.insert(name.clone());
        }
        self.judge_place(effect, &name, recursive);
        self.judge_record(effect, &name);
        self.judge_lock(effect, &name);
        let (by, in_place) = (self.by.clone(), self.in_place);
        let touch = Touch { effect, kind: TargetKind::File, name, pattern, recursive, by, in_place };
        self.out.touch(touch);
    }

    /// What follows from which place is touched how.
    fn judge_place(&mut self, effect: Effect, name: &str, recursive: bool) {
        let whole = name.ends_with(['*', '?', ']']);
        let removes = !self.narrowed && (effect == Effect::Delete || (effect == Effect::Update && recursive));
        let overwrites = !self.narrowed && effect == Effect::Update && whole;
        let ruins = effect == Effect::Delete || (effect == Effect::Update && RUINS.contains(&self.by.as_str()));
        if ruins && path::is_of_system(name) {
            self.find(FindingKind::DestroysSystem, format!("`{}` takes {name} away from the whole machine", self.by));
        }
        match path::place(name, &self.context.home) {
            Place::System if removes || overwrites => {
                let verb = if effect == Effect::Delete { "removes" } else { "changes all of" };
                self.find(FindingKind::DestroysSystem, format!("`{}` {verb} {name}", self.by));
            }
            Place::Home if removes => {
                let verb = if effect == Effect::Delete { "removes" } else { "changes all of" };
                self.find(FindingKind::DestroysHome, format!("`{}` {verb} the home folder {name}", self.by));
            }
            _ if removes && effect == Effect::Delete && path::is_key_store(name, &self.context.home) => {
                self.find(FindingKind::DestroysHome, format!("`{}` removes all that is kept in {name}", self.by));
            }
            Place::Device if !effect.is_harmless() && effect != Effect::Execute => {
                self.find(FindingKind::DestroysDevice, format!("`{}` writes to the device {name}", self.by));
            }
            Place::Kernel if !effect.is_harmless() && name == "/proc/sysrq-trigger" => {
                self.find(
                    FindingKind::DestroysSystem,
                    format!("`{}` has the kernel stop, crash or restart the machine", self.by),
                );
            }
            Place::Kernel if !effect.is_harmless() => {
                self.find(FindingKind::KernelInterface, format!("`{}` writes to {name}", self.by));
            }
            Place::Kernel if is_of_a_process(name) && !is_shown(name) => {
                self.find(FindingKind::KernelInterface, format!("`{}` reads a process's {name}", self.by));
            }
            Place::Startup if matches!(effect, Effect::Create | Effect::Update) => {
                self.find(FindingKind::Persistence, format!("`{}` writes {name}, which is read at start-up", self.by));
            }
            Place::System | Place::Home | Place::Device | Place::Kernel | Place::Startup | Place::Plain => {}
        }
    }

    /// Whether a word is everything below a folder that only a variable names, which nothing here has set: where it is not set
    /// elsewhere either, that is the root (POSIX, "Parameter Expansion").
    fn may_be_root(&self, word: &Word) -> bool {
        let (Some(Part::Hole { name, .. }), rest) = (word.parts().first(), word.shown()) else { return false };
        let rest = rest.strip_prefix(&format!("${{{name}}}")).unwrap_or("").to_owned();
        let whole = matches!(rest.as_str(), "/" | "/*" | "/." | "/.*" | "/*.*" | "/.." | "/../*");
        let variable = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        let usual = |name: &str| {
            [
                "HOME",
                "PWD",
                "OLDPWD",
                "TMPDIR",
                "TMP",
                "TEMP",
                "USER",
                "RUNNER_TEMP",
                "GITHUB_WORKSPACE",
                "CI_PROJECT_DIR",
            ]
            .contains(&name)
                || name.starts_with("XDG_")
        };
        whole && variable && !usual(name) && !self.origins.contains_key(name) && self.scope.variable(name).is_none()
    }

    /// An effect on something that is no path and no host.
    pub(crate) fn touch_other(&mut self, effect: Effect, kind: TargetKind, name: impl Into<String>) {
        let (name, by) = (name.into(), self.by.clone());
        let touch = Touch { effect, kind, name, pattern: false, recursive: false, by, in_place: false };
        self.out.touch(touch);
    }

    /// A connection to the host of a URL or of `[user@]host[:port]`.
    pub(crate) fn touch_host(&mut self, word: &Word) {
        let address = without_credentials(word);
        let word = address.as_ref().unwrap_or(word);
        let shown = word.shown();
        let known = word.prefix();
        // The host is known where the hole comes after it.
        let after_host = known.split_once("://").map_or(known.as_str(), |(_, rest)| rest).contains(['/', '?', '#']);
        let (text, partial) = if word.has_hole() && after_host { (known, true) } else { (shown, word.has_hole()) };
        if partial && !after_host {
            let message = format!("which host `{text}` is shows only when the command runs");
            self.unknown(UnknownKind::Value, Effect::Send, message);
            self.touch_other(Effect::Send, TargetKind::Host, text);
            return;
        }
        // Buckets and images have names of their own.
        if let Some((scheme, _)) = text.split_once("://")
            && matches!(
                scheme,
                "s3" | "gs" | "az" | "abfs" | "abfss" | "wasb" | "wasbs" | "hdfs" | "oci" | "docker" | "docker-daemon"
            )
        {
            self.touch_other(Effect::Send, TargetKind::Url, text);
            return;
        }
        let read = crate::host::read(&text);
        for (kind, message) in read.findings {
            self.find(kind, message);
        }
        match read.name {
            Some(name) => {
                self.effort.contacts += u32::from(!crate::host::is_local(&name));
                self.touch_other(Effect::Send, TargetKind::Host, name);
            }
            None => {
                self.unknown(UnknownKind::Value, Effect::Send, format!("`{text}` names no host in one way only"));
            }
        }
    }

    /// Data that goes to the host in `word`.
    pub(crate) fn send(&mut self, data: &Stream, word: &Word) {
        let address = without_credentials(word);
        let to = crate::host::read(&address.as_ref().unwrap_or(word).prefix()).name;
        // Of a name that is put together the end says who keeps it.
        let kept = || match word.parts() {
            [.., Part::Hole { .. }, Part::Text(end)] => {
                end.strip_prefix('.').filter(|end| end.contains('.')).and_then(|end| crate::host::read(end).name)
            }
            _ => None,
        };
        let to = to.or_else(kept).unwrap_or_else(|| "?".to_owned());
        if data.sources.contains(ANSWERS) {
            self.find(FindingKind::ReverseShell, format!("what an interactive shell answers goes to {to}"));
        }
        if data.text.is_none() && data.sources.is_empty() {
            self.out.flow(Flow { from: "?".to_owned(), to: to.clone() });
        }
        for from in &data.sources {
            self.leaves(from, &to);
        }
        if let Some(text) = &data.text {
            self.secrets_in(text, &to);
        }
    }

    /// Something that goes to somebody.
    pub(crate) fn leaves(&mut self, from: &str, to: &str) {
        self.out.flow(Flow { from: from.to_owned(), to: to.to_owned() });
        // A token that is for another host.
        if from.strip_prefix('$').is_some_and(|name| is_of_another(name, to)) {
            self.out.flow(Flow { from: "secret".to_owned(), to: to.to_owned() });
        }
        // Wherever it lies, a file of that name lets somebody in.
        if is_named_for_credentials(from) {
            self.out.flow(Flow { from: "secret".to_owned(), to: to.to_owned() });
        }
        // The environment and the memory of a process hold what it was given to keep.
        if is_of_a_process(from) && ["/environ", "/mem", "kcore"].iter().any(|end| from.ends_with(end)) {
            self.out.flow(Flow { from: "secret".to_owned(), to: to.to_owned() });
        }
    }

    /// Credentials that stand in what is sent.
    fn secrets_in(&mut self, text: &str, to: &str) {
        if crate::text::holds_secret(text) {
            self.find(FindingKind::Secret, format!("what is sent to {to} looks like it holds a credential"));
            self.out.flow(Flow { from: "secret".to_owned(), to: to.to_owned() });
        }
    }
}

/// An address without the name and the token that stand in it, where one of them is only known at run time: `https://x:$TOKEN@host/`.
fn without_credentials(word: &Word) -> Option<Word> {
    let (before, after) = word.split_once('@')?;
    let (scheme, name) = before.split_once('/').and_then(|(scheme, rest)| Some((scheme.shown(), rest.skip(1)?)))?;
    let plain = scheme.ends_with(':') && before.has_hole() && !name.shown().contains(['/', '?', '#']);
    plain.then(|| {
        let mut out = Word::text(format!("{scheme}//"));
        out.append(&after);
        out
    })
}

/// The first character that hides, if any; what is plain ASCII is let through at a glance.
pub(crate) fn visible(text: &str) -> Result<(), countersign_plan::text::HiddenText> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t')) { Ok(()) } else { check_visible(text) }
}

/// What `ps` shows of a process as well (proc(5)).
fn is_shown(name: &str) -> bool {
    name.starts_with("/proc/")
        && name.matches('/').count() == 3
        && [
            "/cwd", "/exe", "/comm", "/cmdline", "/status", "/stat", "/statm", "/limits", "/cgroup", "/io", "/sched",
            "/wchan",
        ]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Names under which programs keep what lets somebody in, wherever they lie (netrc(5); ssh(1), "FILES"; PostgreSQL, "The Password File";
/// git-credential-store(1); Python packaging, ".pypirc").
const CREDENTIALS: &[&str] =
    &[".netrc", ".pgpass", ".git-credentials", ".pypirc", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"];

/// Whether a name that a search may find is one of those: `/home/user/**/id_*`. A name of signs alone is anything.
pub(crate) fn is_named_for_credentials(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let speaks = name.chars().filter(|c| c.is_alphanumeric()).count() > 1 && !name.contains('[');
    speaks
        && (folder.contains('*') || name.contains('*'))
        && CREDENTIALS.iter().any(|known| crate::shell::pattern::matches(name, known))
}

/// Whether a `/proc` path is about a process rather than about the machine.
fn is_of_a_process(name: &str) -> bool {
    let first = name.strip_prefix("/proc/").and_then(|rest| rest.split('/').next()).unwrap_or("");
    let all_digits = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
    all_digits || first == "self" || first == "thread-self" || first == "kcore" || first.contains(['*', '?', '[', '$'])
}

//! What a program does, by its entry in the catalogue.

use std::cell::LazyCell;

use countersign_plan::tool::Effect;

use super::handed::mounts;
use super::options::{self, Grammar, Parsed};
use super::parsed::{is_short, prints_lines, sets_tag};
use crate::catalogue::{Entry, Role, Tag};
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// Programs that hand on a part of the lines that they are given.
const NARROWING: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "head", "tail", "sed", "awk", "gawk", "mawk", "comm", "fzf", "sk"];

/// Programs that write as long as they read: what has no end has none after them.
const ENDLESS_PASS: &[&str] = &[
    "cat", "tac", "tee", "tr", "base64", "base32", "basenc", "xxd", "od", "hexdump", "gzip", "pigz", "bzip2", "xz",
    "zstd", "lz4", "openssl", "pv", "rev", "nl", "fold", "cut", "strings", "gpg", "split",
];

/// Programs that write to one place what they read from another.
pub(super) const COPYING: &[&str] = &["cp", "gcp", "tee", "gtee", "install", "sponge"];

/// Programs that give out nothing before they have read everything.
const GATHERING: &[&str] = &["sort", "tail", "tac", "shuf", "sponge", "column"];

/// What one program's arguments amount to.
pub(super) struct Doing {
    pub(super) recursive: bool,
    pub(super) in_place: bool,
    pub(super) dry: bool,
    pub(super) hosts: Vec<Word>,
    /// What goes out to the hosts.
    pub(super) sent: Option<Stream>,
    /// What goes out beside a request.
    pub(super) carried: Stream,
    /// What the program reads.
    pub(super) read: Stream,
    pub(super) reads: bool,
    pub(super) scripted: bool,
    /// Whether files are cut to nothing.
    pub(super) empties: bool,
    /// Whether nothing is fetched.
    pub(super) offline: bool,
    /// Whether standard input is code where no script is named.
    pub(super) takes_code: bool,
    /// What a host is asked to do.
    pub(super) asks: Effect,
    /// The files that it writes.
    pub(super) written: Vec<String>,
}

impl Machine<'_> {
    /// Applies an entry to arguments; what the program writes to standard output.
    pub(crate) fn apply(&mut self, entry: &Entry, rest: &[Word], stdin: &Stream) -> Stream {
        let opened = std::mem::take(&mut self.opened);
        let (grammar, mut parsed) = match options::read(entry, rest) {
            Ok(read) => read,
            Err(_) if super::only_asks(rest.get(rest.len().saturating_sub(1)..).unwrap_or_default()) => {
                return Stream::unknown();
            }
            Err(problem) => {
                let message = format!("`{}`: {problem}", self.by);
                self.unknown(UnknownKind::Option, Effect::Execute, message);
                return Stream { sources: stdin.sources.clone(), ..Stream::unknown() };
            }
        };
        let tags = self.as_meant(grammar.tags().chain(parsed.tags.iter().copied()).collect(), &parsed, rest);
        let of_another = self.is_asked_of_another(&mut parsed, rest);
        if !of_another && self.only_shows(&parsed, &tags, rest) {
            return Stream::unknown();
        }
        for (option, effect) in &parsed.unlisted {
            if matches!(option.as_str(), "--help" | "--version") {
                return Stream::unknown();
            }
            let message = format!("the option {option} of `{}` is not in the catalogue", self.by);
            self.unknown(UnknownKind::Option, *effect, message);
        }
        let mut doing = Doing {
            recursive: tags.contains(&&Tag::Recursive),
            in_place: self.changes_in_place(&parsed, &tags, rest),
            dry: tags.contains(&&Tag::DryRun) || self.removes_own_tree(&parsed, rest),
            hosts: Vec::new(),
            sent: None,
            carried: Stream::empty(),
            read: Stream::empty(),
            reads: false,
            scripted: false,
            empties: parsed.values.iter().any(|(role, word)| {
                *role == Role::Text
                    && word.constant().is_some_and(|size| size.trim_start_matches(['<', '/', '%']) == "0")
            }),
            offline: tags.contains(&&Tag::Offline),
            takes_code: tags.iter().any(|tag| matches!(tag, Tag::InputCode(_) | Tag::InputSql)),
            asks: Effect::None,
            written: Vec::new(),
        };
        self.seen_from_link(&mut parsed, rest);
        let archives = self.archives(&parsed);
        let folder = self.folder_first(&parsed);
        self.by_tags(&parsed, &tags, &mut doing, stdin);
        if !doing.dry {
            self.sends_out(&parsed, &tags, rest);
        }
        let slots = tags
            .iter()
            .rev()
            .find_map(|tag| if let Tag::As(slots) = tag { Some(slots.as_slice()) } else { None })
            .or_else(|| grammar.last().map(|entry| entry.slots.as_slice()))
            .unwrap_or(&[]);
        let (operands, beyond) = options::assign(slots, &parsed.operands);
        if beyond > 0 {
            self.reads_surplus(parsed.operands.get(parsed.operands.len().saturating_sub(beyond)..).unwrap_or_default());
            let message = format!("`{}` is given more operands than the catalogue describes", self.by);
            self.unknown(UnknownKind::Option, Effect::Execute, message);
        }
        let brought = self.brought(&operands);
        for (role, word) in self.in_order(&parsed, &operands, &archives) {
            self.play(role, word, &mut doing, stdin);
        }
        if matches!(self.by.as_str(), "docker" | "podman" | "nerdctl")
            && parsed.path.iter().any(|word| matches!(word.as_str(), "run" | "create" | "pull"))
            && let Some(image) = parsed.operands.first()
        {
            self.image(image);
        }
        // What a carrier brings somewhere is read once.
        let entry_point = self.entry_of_container(&parsed, rest);
        parsed.command = entry_point.into_iter().chain(std::mem::take(&mut parsed.command)).collect();
        let out = if opened { None } else { self.commands(&grammar, &parsed, &tags, &mut doing, stdin) };
        self.transfer(&tags, &doing);
        self.lands_inside(brought, &doing.written);
        let letter = doing.sent.clone().unwrap_or_else(Stream::empty).then(doing.read.clone()).then(stdin.clone());
        self.posts(&self.by.clone(), rest, &letter);
        if let Some(scope) = folder {
            self.scope = scope;
        }
        self.forgets_built(&parsed, rest, &doing.written);
        self.checks_out(&parsed, rest, doing.dry);
        let prints = doing.reads && prints_lines(&self.by, rest);
        let verb = parsed.path.first().map(String::as_str);
        let searched = self.searched(rest, &operands, verb, doing.recursive);
        let mut out = out.unwrap_or_else(|| self.output(&tags, doing, stdin, searched));
        super::kept::rewrites_names(&self.by, rest, prints, tags.contains(&&Tag::Pass), &mut out.listing);
        out
    }

    fn by_tags(&mut self, parsed: &Parsed<'_>, tags: &[&Tag], doing: &mut Doing, stdin: &Stream) {
        let by = self.by.clone();
        let what = LazyCell::new(|| {
            let mut name = vec![by];
            name.extend(parsed.path.iter().cloned());
            name.extend(parsed.operands.iter().map(Word::shown));
            name.join(" ")
        });
        if let Some(image) = self.image_file(parsed) {
            self.touch_path(Effect::Update, &image, false);
            return;
        }
        let offline = tags.contains(&&Tag::Offline) || self.makes_passing_store(parsed, tags);
        // What works on the project's files says so by paths.
        let local = tags.iter().any(|tag| matches!(tag, Tag::Path(..)));
        if !parsed.path.is_empty() && !doing.dry && !local {
            self.by_verbs(parsed, tags, &what);
        }
        for tag in tags {
            match tag {
                // Where paths are named, those alone are removed.
                Tag::Path(Effect::Delete, ".") if !parsed.operands.is_empty() => {}
                Tag::Find(FindingKind::HistoryLoss)
                    if !parsed.operands.is_empty() && tags.contains(&&Tag::Path(Effect::Delete, ".")) => {}
                Tag::Net(_) | Tag::Named(_) if offline => {}
                Tag::Path(effect, path) => {
                    let effect = if doing.dry && *effect != Effect::Execute { Effect::Read } else { *effect };
                    let word = match path.strip_prefix("~/") {
                        Some(rest) => Word::text(format!("{}/{rest}", self.context.home)),
                        None => Word::text(*path),
                    };
                    let recursive = *path == "." || doing.recursive;
                    self.touch_path(effect, &word, recursive);
                    if effect == Effect::Execute && *path == "." {
                        let folder = self.paths(&Word::text(".")).into_iter().next().unwrap_or_default();
                        let below = |path: &str| path.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('/'));
                        self.runs_written(&below);
                    }
                }
                Tag::Net(_) if tags.contains(&&Tag::Alone) || self.tries_to_publish(parsed, doing.dry) => {}
                Tag::Net(registry) if !registry.contains('.') => self.asks_registry(registry, &parsed.operands),
                Tag::Net(host) => doing.hosts.push(Word::text(*host)),
                Tag::Named(effect) => {
                    let effect = if doing.dry { Effect::Read } else { *effect };
                    self.touch_named(effect, &what);
                }
                Tag::Find(kind) if !doing.dry => self.find(*kind, format!("`{}`", *what)),
                Tag::Unknown => {
                    let message = format!("what `{}` does is not analysed", *what);
                    self.unknown(UnknownKind::Option, Effect::Execute, message);
                }
                Tag::SendsInput if stdin.text.as_deref() == Some("") => {}
                Tag::SendsInput => {
                    doing.sent = Some(doing.sent.take().unwrap_or_else(Stream::empty).then(stdin.clone()));
                }
                Tag::Find(_)
                | Tag::Recursive
                | Tag::As(_)
                | Tag::Pass
                | Tag::Quiet
                | Tag::Decodes
                | Tag::Remote
                | Tag::InputCode(_)
                | Tag::InputSql
                | Tag::DryRun
                | Tag::Assignments
                | Tag::Upload
                | Tag::WritesUrlName
                | Tag::Lists
                | Tag::InPlace
                | Tag::Offline
                | Tag::Alone
                | Tag::Inert
                | Tag::Bare => {}
            }
        }
    }

    /// One value in its role.
    fn play(&mut self, role: Role, word: &Word, doing: &mut Doing, stdin: &Stream) {
        let (recursive, dry) = (doing.recursive, doing.dry);
        let least = |effect: Effect| if dry { Effect::Read } else { effect };
        match role {
            _ if self.named_command(role, word) => {}
            Role::Text | Role::Digits | Role::Folder => {}
            Role::Mode => self.mode(word, recursive),
            Role::Method => doing.asks = doing.asks.max(super::own::effect_of_method(&word.shown())),
            Role::Encoded => {
                doing.scripted = true;
                match word.constant().map(str::to_owned) {
                    Some(text) => self.encoded_command(&text),
                    None => self.unknown(UnknownKind::Value, Effect::Execute, "the encoded command is not constant"),
                }
            }
            Role::Update if self.in_memory && word.constant() == Some(":memory:") => {}
            Role::Read | Role::ReadTree if doing.in_place => {
                doing.reads = true;
                self.change_in_place(least(Effect::Update), word, recursive);
            }
            // Names and rights of devices are no data of theirs.
            Role::Read if matches!(self.by.as_str(), "ls" | "stat" | "file") && word.prefix().starts_with("/dev/") => {
                doing.reads = true;
                doing.read.list(vec![word.clone()]);
            }
            Role::Read | Role::ReadTree => {
                doing.reads = true;
                let stream = if matches!(word.constant(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
                    stdin.clone()
                } else if role == Role::ReadTree || recursive {
                    self.touch_path(Effect::Read, word, true);
                    Stream { sources: self.paths(word).into_iter().collect(), ..Stream::unknown() }
                } else {
                    let mut stream = self.read_file(word);
                    if word.is_pattern() && matches!(self.by.as_str(), "ls" | "dir" | "vdir" | "gls") {
                        stream.list(vec![word.clone()]);
                    }
                    stream
                };
                doing.take(stream);
            }
            Role::Write | Role::Append if word.constant() == Some("-") => {}
            // Where temporary files may lie is no file.
            Role::Write if self.is_room(word) => {}
            // A script of ImageMagick's is run where it stands for the output, too.
            Role::Write if word.prefix().to_ascii_lowercase().starts_with("msl:") => self.picture(word, doing),
            Role::Write => {
                // A move takes the place of what is there.
                let in_place = matches!(self.by.as_str(), "mv" | "mogrify")
                    || self.has_read(word)
                    || (self.by != "sort" && self.is_given_twice(word));
                self.judge_move(word);
                let in_place = std::mem::replace(&mut self.in_place, in_place);
                self.touch_path(least(Effect::Update), word, recursive);
                self.in_place = in_place;
                let holds = if doing.reads { doing.read.clone() } else { stdin.clone() };
                if !doing.dry && holds.text.as_deref() == Some("") && COPYING.contains(&self.by.as_str()) {
                    self.empties(word);
                    return;
                }
                self.written(word, holds, doing);
            }
            Role::Append => self.touch_path(least(Effect::Update), word, false),
            // Without a value for a tag it only shows (exiftool(1), "-TAG[+-^]=[VALUE]").
            Role::Update
                if self.by == "exiftool"
                    && !self.words.iter().any(|word| word.has_hole() || sets_tag(&word.shown())) =>
            {
                doing.reads = true;
                self.touch_path(Effect::Read, word, true);
            }
            Role::Update if self.by.ends_with("truncate") && doing.empties && !doing.dry => self.empties(word),
            Role::Update => {
                doing.reads = true;
                self.change_in_place(least(Effect::Update), word, recursive);
            }
            Role::UpdateTree => {
                doing.reads = true;
                self.change_in_place(least(Effect::Update), word, true);
            }
            Role::Delete | Role::Move => {
                if role == Role::Move {
                    doing.take(self.held(word));
                    doing.reads = true;
                }
                let effect = least(Effect::Delete);
                self.touch_path(effect, word, recursive || role == Role::Move);
            }
            Role::MakeFolder => self.touch_path(least(Effect::Create), word, false),
            // A command of words between commas (gcc(1), "-wrapper").
            Role::Exec if word.shown().split_once(',').is_some_and(|(program, _)| !program.contains(' ')) => {
                let command = word.shown().split(',').map(Word::text).collect();
                self.start(command, Stream::unknown());
            }
            // Most programs hand such a text to a shell.
            Role::Exec if word.shown().contains(' ') => {
                self.shell_text(word, &Stream::unknown());
            }
            Role::Exec => {
                self.start(vec![word.clone()], Stream::unknown());
            }
            Role::Module if !word.has_hole() && !word.shown().contains(['/', '.']) => {}
            // Standard input; where it is code in any case it is judged as such.
            Role::Load if matches!(word.constant(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) => {
                if matches!(self.by.as_str(), "make" | "gmake" | "bmake") {
                    stdin.known().for_each(|text| self.makes(text));
                }
                self.script_of_cmake(stdin);
                if !doing.takes_code {
                    self.input_code(crate::code::Language::Other, stdin);
                }
            }
            Role::Load | Role::Module => self.loads(word),
            Role::Command => {
                self.shell_text(word, stdin);
            }
            Role::Argv | Role::RemoteArgv | Role::Script(_) => {}
            Role::Code(language) => {
                doing.scripted = true;
                self.code_word(language, word, stdin);
            }
            Role::Sql => {
                doing.scripted = true;
                self.sql_word(word);
            }
            Role::Url | Role::UrlSend => self.url(role, word, doing),
            Role::Host => self.host(word, doing),
            Role::RemoteRead | Role::RemoteWrite => self.remote(role, word, doing),
            Role::Fetches | Role::Pushes => self.repository(role, word, doing),
            Role::Data => {
                let stream = self.data(word, stdin);
                doing.sent = Some(doing.sent.take().unwrap_or_else(Stream::empty).then(stream));
            }
            Role::Carry => {
                let stream = self.data(word, stdin);
                doing.carried = std::mem::replace(&mut doing.carried, Stream::empty()).then(stream);
            }
            Role::Refspec => {
                let text = word.shown();
                if text.starts_with(['+', ':']) {
                    self.find(FindingKind::HistoryLoss, format!("`{} {text}`", self.by));
                }
                if text.starts_with(':') {
                    self.touch_named(least(Effect::Delete), &text);
                }
            }
            // Branches of one's own that are made to be what the others have (git-fetch(1), "<refspec>").
            Role::Fetched => {
                let text = word.shown();
                let (_, to) = text.split_once(':').unwrap_or((&text, ""));
                let tracks = to.is_empty() || to.starts_with("refs/remotes/") || to.starts_with("refs/tags/");
                if !tracks && (text.starts_with('+') || to.contains('*')) {
                    self.find(FindingKind::HistoryLoss, format!("`{} {text}`", self.by));
                }
            }
            Role::Send => {
                let stream = if word.constant() == Some("-") { stdin.clone() } else { self.read_file(word) };
                doing.sent = Some(doing.sent.take().unwrap_or_else(Stream::empty).then(stream));
            }
            Role::Variable => {
                if let Some((name, value)) = word.split_once('=') {
                    let name = name.shown();
                    self.assign_variable(&name, crate::machine::Variable::Scalar(value));
                }
            }
            Role::Sed => {
                doing.scripted = true;
                self.sed(word);
            }
            Role::Awk => {
                doing.scripted = true;
                self.awk(word, stdin);
            }
            Role::Jq => self.filter_of_json(word, doing),
            Role::GitConfig => self.git_config(word),
            Role::SshConfig => self.ssh_config(word),
            Role::Checkpoint => {
                if let Some(line) = word.skip("exec=".len()).filter(|_| word.prefix().starts_with("exec=")) {
                    // An archive needs no command beside it: who reads the line looks for none here.
                    self.find(FindingKind::LoadsCode, format!("`{}` runs a command at its checkpoints", self.by));
                    self.shell_text(&line, &Stream::unknown());
                } else if word.has_hole() {
                    self.unknown(UnknownKind::Value, Effect::Execute, "what runs at a checkpoint is not constant");
                }
            }
            Role::Picture => {
                if self.by == "mogrify" {
                    self.change_in_place(least(Effect::Update), word, false);
                }
                self.picture(word, doing);
            }
            Role::Filter => drop(self.shell_text(word, &stdin.in_parts())),
            Role::Debug => self.debugger(word),
            Role::Target => self.target(word),
            Role::Spec if !matches!(word.shown().as_str(), "." | "./" | ":/" | "*") => {}
            Role::Discard | Role::Spec if doing.dry => {}
            Role::Discard | Role::Spec => {
                let message = format!("`{}` throws away what was not committed of {}", self.by, word.shown());
                self.find(FindingKind::HistoryLoss, message);
                if role == Role::Discard {
                    self.touch_path(least(Effect::Update), word, false);
                }
            }
            Role::Setting => self.touch_path(least(Effect::Update), &Word::text(".git/config"), false),
            Role::Named => {
                let name = format!("{} {}", self.by, word.shown());
                self.touch_named(least(Effect::Update), &name);
            }
            Role::Package if doing.offline => {}
            Role::Package => self.package(word, doing),
            Role::Lookup => self.lookup_name(word, doing),
            Role::Uses(language) => self.uses(language, word),
            Role::Volume => self.volume(word),
            Role::Socat => self.socat(word, doing),
            Role::Backend => self.reaches_by(word),
        }
    }

    /// What comes after the operands of a wrapper, and scripts.
    fn commands(
        &mut self,
        grammar: &Grammar<'_>,
        parsed: &Parsed<'_>,
        tags: &[&Tag],
        doing: &mut Doing,
        stdin: &Stream,
    ) -> Option<Stream> {
        let last = grammar.last().and_then(|entry| {
            entry.slots.iter().find(|slot| matches!(slot.role, Role::Argv | Role::RemoteArgv | Role::Script(_)))
        });
        if let (Some(slot), false) = (last, parsed.command.is_empty() || doing.scripted) {
            return match slot.role {
                Role::Argv => {
                    let limits = self.effort.limits;
                    self.effort.limits += u32::from(self.by.ends_with("timeout") && is_short(&parsed.operands));
                    let out = self.wrapped(&parsed.command, tags.contains(&&Tag::Assignments), stdin);
                    self.effort.limits = limits;
                    Some(out)
                }
                Role::RemoteArgv => {
                    // Options alone go to what the image starts, which many are named after.
                    let options = parsed.command.first().is_some_and(|word| word.shown().starts_with('-'));
                    let image = parsed.operands.first().map(Word::shown).filter(|_| options);
                    let program = image.and_then(|image| {
                        let name = image.split(['@', ':']).next()?.rsplit('/').next()?.to_owned();
                        crate::catalogue::entry(&name).is_some().then(|| Word::text(name))
                    });
                    if options && program.is_none() && self.known_to_image(&parsed.command) {
                        return None;
                    }
                    let command: Vec<Word> = program.into_iter().chain(parsed.command.iter().cloned()).collect();
                    if self.elsewhere(&command, &mounts(&parsed.values)) {
                        doing.reads = true;
                        doing.read.sources.insert("secret".to_owned());
                    }
                    None
                }
                Role::Script(language) => Some(self.script_file(language, &parsed.command, stdin)),
                _ => None,
            };
        }
        let by_input = tags.iter().find_map(|tag| match tag {
            Tag::InputCode(language) => Some(Some(*language)),
            Tag::InputSql => Some(None),
            _ => None,
        });
        match by_input {
            Some(Some(language)) if !doing.scripted && !doing.reads => Some(self.input_code(language, stdin)),
            Some(None) if !doing.scripted => {
                self.input_sql(stdin);
                None
            }
            Some(_) | None => None,
        }
    }

    fn output(&mut self, tags: &[&Tag], doing: Doing, stdin: &Stream, searched: Vec<Word>) -> Stream {
        let remote = tags.contains(&&Tag::Remote) || !doing.hosts.is_empty();
        if tags.contains(&&Tag::Quiet) {
            return Stream::empty();
        }
        let was_read = doing.reads;
        let mut out = if doing.reads { doing.read } else { stdin.clone() };
        if !tags.contains(&&Tag::Pass) || remote {
            out = out.with_text(None);
        }
        if !tags.contains(&&Tag::Lists) && !tags.contains(&&Tag::Pass) {
            out.listing.clear();
        } else if out.listing.is_empty()
            && tags.contains(&&Tag::Lists)
            // Of what comes through a pipe these name no file.
            && !(matches!(self.by.as_str(), "grep" | "egrep" | "fgrep") && !was_read && !stdin.sources.is_empty())
        {
            out.list(vec![Word::text(".").all_below()]);
        }
        // What is left of a list is not all of the folder.
        if NARROWING.contains(&self.by.as_str()) {
            out.listing.retain(|word| word.constant().is_none());
        }
        // Names of files are those below what was searched.
        if tags.contains(&&Tag::Lists) && !searched.is_empty() {
            out.listing.clear();
            out.list(searched);
        }
        if tags.contains(&&Tag::Find(FindingKind::Secret)) {
            out.sources.insert("secret".to_owned());
        }
        if out.endless && self.effort.limits == 0 && GATHERING.contains(&self.by.as_str()) {
            self.find(FindingKind::ForkBomb, format!("`{}` keeps all that it reads, and that has no end", self.by));
        }
        out.endless = self.by == "yes" || (out.endless && ENDLESS_PASS.contains(&self.by.as_str()));
        out.endless &= self.effort.limits == 0;
        out.remote |= remote;
        out.decoded |= tags.contains(&&Tag::Decodes);
        out
    }
}

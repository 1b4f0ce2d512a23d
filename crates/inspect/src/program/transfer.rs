//! What goes to other machines: URLs, hosts and remote paths, and the data that is sent there.

use countersign_plan::tool::{Effect, TargetKind};

use super::apply::Doing;
use super::spoken::spoken;
use crate::bounded::Bounded as _;
use crate::catalogue::{Role, Tag};
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Part, Stream, Word};

/// Whether a word is options of one letter each.
fn is_cluster(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic()))
}

impl Machine<'_> {
    /// What a file of options that the line itself wrote has `curl` do (curl(1), "--config").
    pub(super) fn configured(&mut self, base: &str, rest: &[Word]) {
        if base.starts_with("php") {
            self.php_settings(rest);
        }
        if base != "curl" {
            return;
        }
        let named = rest.windows(2).find_map(|pair| match pair {
            [option, file] if matches!(option.constant(), Some("-K" | "--config")) => Some(file.clone()),
            _ => None,
        });
        let Some([path]) = named
            .map(|file| self.paths(&file))
            .as_deref()
            .map(<[String]>::to_vec)
            .and_then(|paths| <[String; 1]>::try_from(paths).ok())
        else {
            return;
        };
        let Some(text) = self.files.get(&path).and_then(|file| file.text.clone()) else { return };
        let mut words = vec![Word::text(base)];
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).at_most(512) {
            let (name, value) = line.split_once(['=', ' ', ':']).unwrap_or((line, ""));
            let (name, value) = (name.trim(), value.trim().trim_start_matches(['=', ':']).trim());
            words.push(Word::text(if name.starts_with('-') { name.to_owned() } else { format!("--{name}") }));
            if !value.is_empty() {
                words.push(Word::text(value.trim_matches('"')));
            }
        }
        self.start(words, Stream::empty());
    }

    /// Settings on the command line of PHP that decide which code is loaded (PHP manual, "Description of core php.ini directives").
    fn php_settings(&mut self, rest: &[Word]) {
        const LOADING: &[&str] = &[
            "auto_prepend_file",
            "auto_append_file",
            "extension",
            "zend_extension",
            "include_path",
            "allow_url_include",
            "disable_functions",
            "open_basedir",
            "sendmail_path",
            "opcache.",
            "xdebug.",
            "error_log",
            "output_handler",
            "ffi.",
            "user_ini.filename",
            "unserialize_callback_func",
            "mail.",
        ];
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let after = words.windows(2).filter_map(|pair| match pair {
            // `-nd`: a cluster of options.
            [option, value] if option == "--define" || (option.ends_with('d') && is_cluster(option)) => {
                Some(value.as_str())
            }
            _ => None,
        });
        let joined = words.iter().filter(|word| word.starts_with('-')).filter_map(|word| {
            let at = LOADING.iter().filter_map(|known| word.find(known)).min()?;
            word.get(at..)
        });
        let settings: Vec<&str> = after.chain(joined).collect();
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            if !LOADING.iter().any(|known| name.trim().to_ascii_lowercase().starts_with(known)) {
                continue;
            }
            self.find(
                FindingKind::LoadsCode,
                format!("the setting {setting} of `{}` decides which code is loaded", self.by),
            );
            if value.contains("://") || value.starts_with("data:") {
                self.find(FindingKind::DownloadAndExecute, format!("`{}` runs what {value} holds", self.by));
                self.touch_host(&Word::text(value));
            }
        }
    }

    pub(super) fn url(&mut self, role: Role, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        if let Some(path) = text.strip_prefix("file://") {
            let word = Word::text(path);
            let read = self.read_file(&word);
            doing.take(read);
            return;
        }
        // Terraform's way to say how it is fetched.
        let how = ["git::", "hg::", "s3::", "gcs::"].iter().find(|how| text.starts_with(**how));
        let plain = how.and_then(|how| word.skip(how.len()));
        let word = plain.as_ref().unwrap_or(word);
        if let Some(command) = text.strip_prefix("ext::") {
            self.find(FindingKind::LoadsCode, format!("the address `{text}` runs a command"));
            // Behind `%`, a blank stands for itself (git-remote-ext).
            self.script(&command.replace("% ", " ").replace("%%", "%"), &Stream::unknown());
            return;
        }
        // An app of a simulator has addresses of its own.
        if self.by == "simctl" && !text.starts_with("http") && !word.has_hole() {
            return;
        }
        // `:8080/path` and `/path` are this machine (HTTPie manual, "URL shortcuts for localhost").
        let short = matches!(self.by.as_str(), "http" | "https" | "xh" | "xhs" | "httpie") && text.starts_with(':');
        let word = &if short { Word::text(format!("localhost{text}")) } else { word.clone() };
        doing.hosts.push(word.clone());
        // What an unknown part of a URL holds goes out with it.
        if role == Role::UrlSend {
            doing.sent.get_or_insert_with(Stream::empty);
        }
        if word.has_hole() {
            let origin = self.origin_of(word);
            doing.carried = std::mem::replace(&mut doing.carried, Stream::empty()).then(origin);
        }
    }

    /// `host:path`, `user@host:path`, `host::module` or a URL; anything else is a local path.
    pub(super) fn remote(&mut self, role: Role, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        // A backend without a name: its host is an option's (rclone(1), "Backend path to dir").
        if self.by == "rclone" && text.starts_with(':') {
            if doing.hosts.is_empty() {
                doing.hosts.push(Word::text(text.trim_start_matches(':').split(':').next().unwrap_or("?")));
            }
            if role == Role::RemoteWrite && !doing.dry {
                doing.sent.get_or_insert_with(Stream::empty);
            }
            return;
        }
        let host = match text.split_once(':') {
            // What an unknown part of an address holds goes out with it.
            _ if text.starts_with("file://") || (text.contains("://") && word.has_hole()) => {
                return self.url(Role::Url, word, doing);
            }
            _ if text.contains("://") => Some(word.clone()),
            Some((host, _)) if !host.contains('/') && !host.is_empty() => Some(host_of(&Word::text(host))),
            Some(_) | None => None,
        };
        match (host, role) {
            (Some(host), _) => {
                doing.hosts.push(host);
                if role == Role::RemoteWrite && !doing.dry {
                    doing.sent.get_or_insert_with(Stream::empty);
                }
            }
            (None, Role::RemoteWrite) => {
                let effect = if doing.dry { Effect::Read } else { Effect::Update };
                self.touch_path(effect, word, doing.recursive);
                if !doing.dry {
                    self.written(word, doing.read.clone(), doing);
                }
            }
            (None, _) => {
                self.touch_path(Effect::Read, word, doing.recursive);
                let sources = self.paths(word).into_iter().collect();
                let read = Stream { sources, ..Stream::unknown() };
                doing.take(read);
                doing.reads = true;
            }
        }
    }

    /// Another repository: a URL or `[user@]host:path` is a host, what reads as a path is one, and any other word is a name that only
    /// the configuration of this repository knows. What is pushed is this repository.
    pub(super) fn repository(&mut self, role: Role, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        let before = doing.hosts.len();
        let of_host = |(host, _): (&str, &str)| !host.is_empty() && !host.contains('/');
        if text.contains("://") || text.contains("::") {
            self.url(Role::Url, word, doing);
        } else if text.split_once(':').is_some_and(of_host) {
            doing.hosts.push(host_of(word));
        } else if word.has_hole() {
            self.unknown(
                UnknownKind::Value,
                Effect::Send,
                format!("which repository `{text}` is shows only when it runs"),
            );
        } else if text.starts_with(['.', '~']) || text.contains('/') {
            let effect = if role == Role::Pushes && !doing.dry { Effect::Update } else { Effect::Read };
            self.touch_path(effect, word, true);
        }
        if role == Role::Pushes && !doing.dry && doing.hosts.len() > before {
            let sources = self.paths(&Word::text(".")).into_iter().collect();
            let repository = Stream { sources, ..Stream::unknown() };
            doing.sent = Some(doing.sent.take().unwrap_or_else(Stream::empty).then(repository));
        }
    }

    pub(super) fn data(&mut self, word: &Word, stdin: &Stream) -> Stream {
        let text = word.prefix();
        // `@FILE`, `name=@FILE`, `name@FILE`, `name=<FILE`.
        // HTTPie sends a file as `name@FILE` too (HTTPie, "File upload forms").
        let upload =
            || text.find('@').filter(|_| matches!(self.by.as_str(), "http" | "https" | "xh" | "xhs" | "httpie"));
        let file = match (text.strip_prefix('@'), text.find("=@").or_else(|| text.find("=<"))) {
            (Some(_), _) => word.skip(1),
            (None, Some(at)) => word.skip(at + 2),
            (None, None) if self.is_encoded_data(word) => text.find('@').and_then(|at| word.skip(at + 1)),
            (None, None) => upload().and_then(|at| word.skip(at + 1)),
        };
        let file = file.map(|file| file.split_once(';').map_or_else(|| file.clone(), |(path, _)| path));
        // A variable of the environment by its name (curl(1), "--variable").
        let variable = text.strip_prefix('%').filter(|_| self.is_encoded_data(word));
        if let Some(name) = variable.and_then(|text| text.split(['=', '@']).next()) {
            return self.origin_of(&Word::hole(name));
        }
        match file {
            Some(file) if file.constant() == Some("-") => stdin.clone(),
            // `@<(…)`: what the command in it prints.
            Some(file) => {
                let read = self.read_file(&file);
                let own = |name: &String| !name.starts_with('$');
                read.then(Stream {
                    sources: self.origin_of(&file).sources.into_iter().filter(own).collect(),
                    ..Stream::empty()
                })
            }
            None => match word.constant() {
                Some(text) => Stream::constant(text),
                None => self.origin_of(word),
            },
        }
    }

    /// Whether a word is `NAME@FILE` behind an option of curl for which that is a file (curl(1), "--data-urlencode").
    fn is_encoded_data(&self, word: &Word) -> bool {
        const OPTIONS: &[&str] = &["--data-urlencode", "--url-query", "--variable"];
        let given = |pair: &[Word]| {
            matches!(pair, [option, value] if option.constant().is_some_and(|option| OPTIONS.contains(&option)) && value == word)
                || pair.iter().any(|one| {
                    let name = OPTIONS.iter().find(|option| one.prefix().starts_with(**option));
                    name.is_some_and(|name| one.skip(name.len() + 1).as_ref() == Some(word))
                })
        };
        self.by == "curl" && !word.prefix().contains('=') && self.words.windows(2).any(given)
    }

    /// Data of which a word holds a part: from where its holes come.
    pub(crate) fn origin_of(&self, word: &Word) -> Stream {
        let mut out = Stream::unknown();
        for part in word.parts() {
            let Part::Hole { name, .. } = part else { continue };
            match self.origins.get(name) {
                Some(origin) => out = out.then(origin.clone()),
                None => {
                    out.sources.insert(format!("${name}"));
                }
            }
        }
        out
    }

    /// Asks a registry, which is a mirror or the public one, as the machine is set up. A name that is put together tells its parts to
    /// whoever keeps it.
    pub(super) fn asks_registry(&mut self, registry: &str, names: &[Word]) {
        self.touch_other(Effect::Send, TargetKind::Other, format!("registry {registry}"));
        for word in names.iter().filter(|word| word.has_hole()) {
            let origin = self.origin_of(word);
            self.send(&origin, word);
        }
    }

    /// Connects to the hosts and sends what is sent.
    pub(super) fn transfer(&mut self, tags: &[&Tag], doing: &Doing) {
        for path in doing.written.iter().filter(|_| !doing.hosts.is_empty()) {
            if let Some(file) = self.files.get_mut(path) {
                file.remote = true;
            }
            self.brings_into(path);
        }
        for host in &doing.hosts {
            self.touch_host(host);
            if tags.contains(&&Tag::WritesUrlName) && doing.written.is_empty() {
                let text = host.shown();
                let path = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
                let path = path.split(['?', '#']).next().unwrap_or("");
                let name = path.rsplit_once('/').map_or("", |(_, name)| name);
                let name = if name.is_empty() { "index.html" } else { name };
                let word = Word::text(name);
                self.touch_path(Effect::Update, &word, false);
                for path in self.paths(&word) {
                    self.put(path, Stream { remote: true, ..Stream::unknown() }, false);
                }
            }
            let uploads = doing.sent.is_some() || tags.contains(&&Tag::Upload);
            let asks = if uploads { doing.asks.max(Effect::Update) } else { doing.asks };
            let orders =
                |text: &str| ["<delete", "{\"delete\""].iter().any(|start| text.trim_start().starts_with(start));
            let removes = doing.sent.as_ref().is_some_and(|data| data.known().any(orders));
            let asks = match asks {
                asks if asks.is_harmless() => asks,
                // A document that orders a removal (Solr Reference Guide, "Delete Operations").
                _ if removes => Effect::Delete,
                _ if says(&host.shown(), |word| super::verbs::verb(word) == Some(Effect::Delete)) => Effect::Delete,
                Effect::Update if says(&host.shown(), |word| SETTINGS.contains(&word)) => Effect::Admin,
                asks => asks,
            };
            if let Some(name) = crate::host::read(&host.prefix()).name
                && !asks.is_harmless()
            {
                self.touch_other(asks, TargetKind::Host, name);
            }
            if tags.contains(&&Tag::SendsInput) {
                let texts: Vec<String> = doing.sent.iter().flat_map(Stream::known).map(str::to_owned).collect();
                self.speaks(&texts, host);
            }
            if doing.carried != Stream::empty() {
                self.send(&doing.carried, host);
            }
            if uploads {
                let mut data = doing.sent.clone().unwrap_or_else(Stream::empty);
                if doing.reads {
                    data = data.then(doing.read.clone());
                }
                self.send(&data, host);
            }
        }
    }
}

impl Machine<'_> {
    /// What is said to a service as it is.
    pub(crate) fn speaks(&mut self, texts: &[String], host: &Word) {
        for said in texts.iter().map(|text| spoken(text)).filter(|said| !said.asks.is_harmless()) {
            let name = crate::host::read(&host.prefix()).name.unwrap_or_else(|| "?".to_owned());
            self.touch_other(said.asks, TargetKind::Host, name.clone());
            if said.empties {
                self.find(FindingKind::DestroysDatabase, format!("`{}` empties a database at {name}", self.by));
            }
        }
    }
}

/// Words of an address by which a service is set up, not used.
const SETTINGS: &[&str] = &[
    "settings",
    "config",
    "configuration",
    "configs",
    "cluster",
    "admin",
    "close",
    "shutdown",
    "restart",
    // Alarms that nobody hears.
    "silence",
    "silences",
    "mute",
    "mutes",
    "downtime",
    "downtimes",
    "snooze",
    "inhibit",
];

/// Whether a word of a URL's path says something about a request.
fn says(url: &str, what: impl Fn(&str) -> bool) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or("").split_once('/').map_or("", |(_, path)| path);
    path.split(|c: char| !c.is_ascii_alphanumeric()).any(what)
}

/// The host in `[user@]host[:path]`.
pub(super) fn host_of(word: &Word) -> Word {
    let text = word.shown();
    if text.contains("://") {
        return word.clone();
    }
    match text.rsplit_once('@') {
        Some((_, host)) if !word.has_hole() => Word::text(host),
        Some(_) | None => word.clone(),
    }
}

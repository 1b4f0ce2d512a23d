//! Settings that a line writes and by which managers of packages are told where code comes from and what runs it (npmrc(5); pip,
//! "Configuration"; The Cargo Book, "Configuration"; Maven, "Settings Reference"; the references of nuget.config and
//! vcpkg-configuration.json).

use countersign_plan::document::{self, Bounds};
use serde_json::Value;

use super::pairs::{self, Kind};
use super::sources::{Told, USUAL, settings};
use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Word};

/// Ends of names of files that hold nothing but settings of such a program.
const SETTINGS: &[&str] = &[
    "/pip.conf",
    "/pip.ini",
    "/uv.toml",
    "/.condarc",
    "/.npmrc",
    "/npmrc",
    "/.yarnrc",
    "/.yarnrc.yml",
    "/bunfig.toml",
    "/.cargo/config.toml",
    "/.cargo/config",
    "/.gemrc",
    "/.bundle/config",
    "/go.env",
    "/init.gradle",
    "/init.gradle.kts",
    "/nuget.config",
    "/vcpkg-configuration.json",
    "/nix.conf",
    "/go/env",
    "/apk/repositories",
    "/etc/apt/sources.list",
];

/// Settings that name a program, or a file with code, that is run in the place of the usual one or beside it (npmrc(5); Yarn, "yarnPath"; Bun,
/// "preload"; nix.conf(5), "post-build-hook"; `go help environment`; The Cargo Book, "Configuration").
const PROGRAMS: &[&str] = &[
    "script-shell",
    "shell",
    "git",
    "rustc",
    "rustc-wrapper",
    "rustc-workspace-wrapper",
    "rustdoc",
    "runner",
    "linker",
    "cc",
    "cxx",
    "credential-provider",
    "yarnpath",
    "preload",
    "post-build-hook",
    "pre-build-hook",
    "diff-hook",
    "plugin-files",
    "gocacheprog",
    "ld-preload",
];

/// Settings of Cargo that name where other settings or sources lie.
const PLACES: &[&str] = &["include", "paths", "directory"];

/// The most addresses and lines of one file.
const MAX_PLACES: usize = 64;
const MAX_LINES: usize = 8192;

impl Machine<'_> {
    /// A text that goes into such a file: who answers at the addresses in it decides which code is run.
    pub(crate) fn judge_registries(&mut self, name: &str, text: &str) {
        let lower = name.to_ascii_lowercase();
        let of_maven =
            lower.ends_with("/settings.xml") && ["<mirror", "<repositor"].iter().any(|tag| text.contains(tag));
        let of_system = lower.contains("/sources.list.d/") || lower.contains("/yum.repos.d/");
        self.judge_included(name, &lower, text);
        if lower.ends_with("/ansible.cfg") || lower.ends_with("/.ansible.cfg") {
            self.judge_plugins(name, text);
        }
        if !(of_maven || of_system || SETTINGS.iter().any(|end| lower.ends_with(end))) {
            return;
        }
        let marked = lower.ends_with(".xml") || lower.ends_with("nuget.config");
        let text = match lower.rsplit('.').next() {
            _ if marked => text.replace("><", ">\n<"),
            Some("json") => text.replace(['{', ','], "\n"),
            _ => text.to_owned(),
        };
        let (mut told, mut scoped) = (Told::default(), Told::default());
        for line in text.lines().at_most(MAX_LINES) {
            // What belongs to one publisher takes nobody else's place (npmrc(5), "scope").
            let into = if line.trim_start().trim_start_matches('"').starts_with('@') { &mut scoped } else { &mut told };
            match marked {
                true if line.contains("xmlns") => {}
                true => into.place(line),
                false => settings(&lower, line, into),
            }
        }
        let toml = lower.ends_with(".toml") || lower.ends_with("/.cargo/config");
        let yaml = || document::from_yaml(text.as_bytes(), Bounds::CONFIG).ok().filter(|_| lower.ends_with(".yml"));
        let pairs = match yaml() {
            _ if marked || lower.ends_with(".json") => Vec::new(),
            Some(document) => pairs::of_document(&document),
            None if toml => pairs::of(Kind::Toml, &text),
            None => pairs::of(Kind::Plain, &text),
        };
        if toml && pairs.iter().any(|(key, _)| key.contains('\\')) {
            self.find(
                FindingKind::LoadsCode,
                format!("{name} has the name of a setting spelled so that it is not seen"),
            );
        }
        for (key, value) in pairs.iter().filter(|(_, value)| value.contains('\n')) {
            settings(&lower, &format!("{key} = {}", value.replace('\n', " ")), &mut told);
        }
        for place in scoped.foreign().at_most(MAX_PLACES).collect::<Vec<_>>() {
            self.touch_host(&Word::text(place));
        }
        for place in told.foreign().at_most(MAX_PLACES).collect::<Vec<_>>() {
            self.touch_host(&Word::text(place.as_str()));
            self.find(FindingKind::LoadsCode, format!("{name} has packages come from {place}"));
        }
        if told.unchecked || scoped.unchecked {
            self.find(FindingKind::DisablesProtection, format!("{name} has packages taken that nothing checks"));
        }
        for (key, value) in &pairs {
            self.judge_runner(name, key, value);
        }
    }

    /// Where Ansible finds what it runs, outside of the project (Ansible Configuration Settings, "DEFAULT_CALLBACK_PLUGIN_PATH",
    /// "DEFAULT_VAULT_PASSWORD_FILE").
    fn judge_plugins(&mut self, name: &str, text: &str) {
        const KEYS: &[&str] = &[
            "library",
            "module_utils",
            "roles_path",
            "collections_path",
            "collections_paths",
            "vault_password_file",
            "inventory",
        ];
        let folder = name.rsplit_once('/').map_or("/", |(folder, _)| folder);
        for (key, value) in pairs::of(Kind::Plain, text) {
            let key = key.rsplit('.').next().unwrap_or(&key).to_ascii_lowercase();
            let usual = |place: &str| {
                ["/usr/share/ansible", "/etc/ansible", "~/.ansible"].iter().any(|own| place.starts_with(own))
            };
            // One that lies in the project is its own, by whatever name.
            let foreign = |place: &&str| {
                let place = place.trim();
                let path = crate::path::normalise(folder, place);
                let elsewhere = place.starts_with(['~', '$']) || !crate::path::is_below(&path, &self.context.cwd);
                !place.is_empty() && !usual(place) && !place.starts_with("{{") && elsewhere && path != self.context.cwd
            };
            let told = key.ends_with("_plugins") || KEYS.contains(&key.as_str());
            let place = value.split(':').find(foreign).map(str::trim).filter(|_| told);
            if let Some(place) = place {
                self.runs_later(&value);
                self.find(FindingKind::LoadsCode, format!("{name} has what {place} holds run as its {key}"));
            }
        }
    }

    /// A pipeline that takes a part of itself from elsewhere, hooks that do (GitLab CI, "include", "include:remote"; pre-commit, "repos").
    fn judge_included(&mut self, name: &str, lower: &str, text: &str) {
        let hooks = lower.ends_with("/.pre-commit-config.yaml");
        if !(hooks || lower.ends_with("/.gitlab-ci.yml")) {
            return;
        }
        let places: Vec<String> = match document::from_yaml(text.as_bytes(), Bounds::CONFIG) {
            Ok(document) => {
                let mut places = Vec::new();
                included(document.get(if hooks { "repos" } else { "include" }).unwrap_or(&Value::Null), &mut places);
                places
            }
            // A document that the reader refuses is read line by line.
            Err(_) => included_by_line(text, hooks),
        };
        for place in places.iter().at_most(MAX_PLACES) {
            // `USER@HOST:PATH` (git-clone(1), "GIT URLS").
            let short = place.split_once(':').filter(|(host, path)| host.contains('@') && !path.starts_with("//"));
            if !place.contains("://") && (short.is_none() || !hooks) {
                continue;
            }
            let place = short.map_or_else(|| place.clone(), |(host, path)| format!("ssh://{host}/{path}"));
            let host = crate::host::read(&place).name.unwrap_or_default();
            // Where nearly all hooks are kept.
            let kept = hooks && ["github.com", "gitlab.com"].iter().any(|own| host.split(':').next() == Some(*own));
            if !kept && !crate::host::is_local(&host) {
                self.touch_host(&Word::text(place.as_str()));
                self.find(FindingKind::LoadsCode, format!("{name} has what it runs come from {place}"));
            }
        }
    }

    /// A setting that names what is run in the place of the usual program, or loaded beside it.
    fn judge_runner(&mut self, name: &str, key: &str, value: &str) {
        const LOADING: &[&str] = &["--require", "-r ", "-r=", "--import", "--loader", "--experimental-loader"];
        // `env.NAME = { value = … }` (The Cargo Book, "[env]").
        let key = key.strip_suffix(".value").unwrap_or(key);
        let last = key.rsplit('.').next().unwrap_or(key).to_ascii_lowercase().replace('_', "-");
        let words = pairs::texts(value);
        let joined = words.join(" ");
        match last.as_str() {
            "node-options" if LOADING.iter().any(|option| joined.contains(option)) => {
                self.find(FindingKind::LoadsCode, format!("{name} has every program load {joined}"));
            }
            "goflags" if joined.contains("-toolexec") || joined.contains("-exec") => {
                self.find(FindingKind::LoadsCode, format!("{name} has every build run {joined}"));
            }
            "rustflags" | "cargo-encoded-rustflags" => {
                for flag in words.iter().flat_map(|word| word.split_whitespace()) {
                    let named =
                        ["linker=", "codegen-backend=", "-fuse-ld="].iter().find_map(|part| flag.split_once(part));
                    if let Some((_, program)) = named {
                        self.named_by_setting(name, program);
                    }
                }
            }
            last if PLACES.contains(&last) && name.contains("/.cargo/") => {
                words.iter().at_most(MAX_PLACES).for_each(|place| self.named_by_setting(name, place));
            }
            // Plugins (Yarn, "plugins").
            "path" | "spec" if name.ends_with("/.yarnrc.yml") => {
                words.iter().at_most(MAX_PLACES).for_each(|place| self.named_by_setting(name, place));
            }
            last if PROGRAMS.contains(&last) && !crate::shell::is_deep() => {
                self.runs_later(&joined);
                let program = joined.split_whitespace().next().unwrap_or("");
                self.named_by_setting(name, program);
                // A list of words is a command as it stands there.
                let inner = match value.trim_start().starts_with('[') {
                    true => crate::shell::argv(&words, self.context),
                    false => crate::shell::shell(&joined, self.context),
                };
                self.absorb_grave(inner);
            }
            _ => {}
        }
    }

    /// `npm config set KEY VALUE`, `npm set KEY=VALUE`: a program that a command names there is the one that the file names (npm-config(1);
    /// Yarn and pnpm, "config").
    pub(super) fn set_by_command(&mut self, base: &str, words: &[String]) {
        let plain: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        let given = match plain.as_slice() {
            ["config" | "c", "set", given @ ..] | ["set", given @ ..] => given,
            _ => return,
        };
        if !matches!(base, "npm" | "pnpm" | "yarn" | "cnpm" | "bun") {
            return;
        }
        let pair = given.iter().find_map(|word| word.split_once('='));
        let pair = pair.or_else(|| given.first().copied().zip(given.get(1).copied()));
        if let Some((key, value)) = pair {
            self.judge_runner("the configuration", key, value);
        }
    }

    /// A program, or a folder, that is no installed one and none of the project's own.
    fn named_by_setting(&mut self, name: &str, program: &str) {
        let installed = super::PROGRAM_FOLDERS.iter().any(|folder| program.starts_with(folder));
        if program.contains('/') && !installed && !self.is_of_project(&Word::text(program)) {
            self.find(FindingKind::LoadsCode, format!("{name} has {program} run what is built"));
        }
    }
}

/// The same in the lines of a document: under a name, or as an item of the list that it begins.
fn included_by_line(text: &str, hooks: bool) -> Vec<String> {
    let (names, list): (&[&str], &str) = if hooks { (&["repo"], "repos") } else { (&["remote", "include"], "include") };
    let mut within = false;
    let mut out = Vec::new();
    for line in text.lines().at_most(MAX_LINES) {
        let bare = |text: &str| text.trim().trim_start_matches("- ").trim().trim_matches(['"', '\'']).to_owned();
        let (key, value) = line.split_once(':').map_or((String::new(), ""), |(key, value)| (bare(key), value));
        if !line.starts_with([' ', '-', '#']) && !line.trim().is_empty() {
            within = key == list;
        }
        if names.contains(&key.as_str()) {
            out.push(bare(value));
        } else if within && line.trim_start().starts_with("- ") {
            out.push(bare(line));
        }
    }
    out
}

/// Places among what a pipeline or hooks are taken from: a text, a list, or under `remote` and `repo`.
fn included(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(place) => out.push(place.clone()),
        Value::Array(items) => items.iter().for_each(|item| included(item, out)),
        Value::Object(members) => {
            out.extend(["remote", "repo"].iter().filter_map(|key| members.get(*key)?.as_str()).map(str::to_owned));
        }
        _ => {}
    }
}

impl Told {
    /// The places that nobody is set up for by default.
    fn foreign(&self) -> impl Iterator<Item = String> {
        let own = |place: &&String| {
            let name = crate::host::read(place).name.unwrap_or_default();
            let host = name.split(':').next().unwrap_or("");
            USUAL.contains(&host)
                || crate::host::is_local(&name)
                || place.starts_with("https://github.com/microsoft/vcpkg")
        };
        self.places.iter().filter(move |place| !own(place)).map(|place| place.trim_end_matches('/').to_owned())
    }
}

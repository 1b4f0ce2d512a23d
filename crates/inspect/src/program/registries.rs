//! Settings that a line writes and by which managers of packages are told where code comes from and what runs it (npmrc(5); pip,
//! "Configuration"; The Cargo Book, "Configuration"; Maven, "Settings Reference"; the references of nuget.config and
//! vcpkg-configuration.json).

use super::sources::{Told, USUAL, settings};
use crate::inspection::FindingKind;
use crate::machine::Machine;

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

/// Settings of npm and Cargo that name a program.
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
    "credential-provider",
];

/// The most addresses and lines of one file.
const MAX_PLACES: usize = 16;
const MAX_LINES: usize = 512;

impl Machine<'_> {
    /// A text that goes into such a file: who answers at the addresses in it decides which code is run.
    pub(crate) fn judge_registries(&mut self, name: &str, text: &str) {
        let lower = name.to_ascii_lowercase();
        let of_maven =
            lower.ends_with("/settings.xml") && ["<mirror", "<repositor"].iter().any(|tag| text.contains(tag));
        let of_system = lower.contains("/sources.list.d/") || lower.contains("/yum.repos.d/");
        self.judge_included(name, &lower, text);
        if lower.ends_with("/ansible.cfg") {
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
        for line in text.lines().take(MAX_LINES) {
            // What belongs to one publisher takes nobody else's place (npmrc(5), "scope").
            let into =
                if line.trim_start().starts_with(['@', '"']) && line.contains("@") { &mut scoped } else { &mut told };
            match marked {
                true if line.contains("xmlns") => {}
                true => into.place(line),
                false => settings(&lower, line, into),
            }
        }
        for place in scoped.foreign().take(MAX_PLACES).collect::<Vec<_>>() {
            self.touch_host(&crate::machine::Word::text(place));
        }
        for place in told.foreign().take(MAX_PLACES).collect::<Vec<_>>() {
            self.touch_host(&crate::machine::Word::text(place.as_str()));
            self.find(FindingKind::LoadsCode, format!("{name} has packages come from {place}"));
        }
        if told.unchecked || scoped.unchecked {
            self.find(FindingKind::DisablesProtection, format!("{name} has packages taken that nothing checks"));
        }
        for line in text.lines().take(MAX_LINES) {
            self.judge_runner(name, line);
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
        for line in text.lines().take(MAX_LINES) {
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim(), value.trim());
            let told = key.ends_with("_plugins") || KEYS.contains(&key);
            let usual = |place: &str| {
                ["/usr/share/ansible", "/etc/ansible", "~/.ansible"].iter().any(|own| place.starts_with(own))
            };
            let place = value.split(':').find(|place| place.starts_with(['/', '~']) && !usual(place));
            if let Some(place) = place.filter(|_| told) {
                self.runs_later(value);
                self.find(FindingKind::LoadsCode, format!("{name} has what {place} holds run as its {key}"));
            }
        }
    }

    /// A pipeline that takes a part of itself from elsewhere, hooks that do (GitLab CI, "include:remote"; pre-commit, "repos").
    fn judge_included(&mut self, name: &str, lower: &str, text: &str) {
        let key = if lower.ends_with("/.gitlab-ci.yml") {
            "remote"
        } else if lower.ends_with("/.pre-commit-config.yaml") {
            "repo"
        } else {
            return;
        };
        for line in text.lines().take(MAX_LINES) {
            let Some((before, place)) = line.split_once(':') else { continue };
            let place = place.trim().trim_matches(['"', '\'']);
            if before.trim().trim_start_matches("- ").trim_matches(['"', '\'']) != key || !place.contains("://") {
                continue;
            }
            let host = crate::host::read(place).name.unwrap_or_default();
            // Where nearly all hooks are kept.
            let kept =
                key == "repo" && ["github.com", "gitlab.com"].iter().any(|own| host.split(':').next() == Some(*own));
            if !kept && !crate::host::is_local(&host) {
                self.touch_host(&crate::machine::Word::text(place));
                self.find(FindingKind::LoadsCode, format!("{name} has what it runs come from {place}"));
            }
        }
    }

    /// A setting that names what is run in the place of the usual program.
    fn judge_runner(&mut self, name: &str, line: &str) {
        let Some((key, value)) = line.split_once('=') else { return };
        let key = key.trim().trim_matches('"');
        let value = value.trim();
        // A text of TOML, a list of words, or what stands there (TOML, "String").
        let value = match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(text) => text.replace("\\\"", "\""),
            None => value.replace(['[', ']', '"', '\'', ','], ""),
        };
        let value = value.trim();
        if key == "node-options" {
            if ["--require", "-r ", "--import", "--loader", "--experimental-loader"].iter().any(|o| value.contains(o)) {
                self.find(FindingKind::LoadsCode, format!("{name} has every program load {value}"));
            }
            return;
        }
        if key == "GOFLAGS" && (value.contains("-toolexec") || value.contains("-exec")) {
            self.find(FindingKind::LoadsCode, format!("{name} has every build run {value}"));
            return;
        }
        let last = key.rsplit('.').next().unwrap_or(key);
        if !PROGRAMS.contains(&last) || crate::shell::is_deep() {
            return;
        }
        let program = value.split_whitespace().next().unwrap_or("");
        self.runs_later(value);
        let installed = super::PROGRAM_FOLDERS.iter().any(|folder| program.starts_with(folder));
        if program.contains('/') && !installed {
            self.find(FindingKind::LoadsCode, format!("{name} has {program} run what is built"));
        }
        // A list of words is a command as it stands there.
        let inner = match line.split_once('=').map(|(_, list)| serde_json::from_str::<Vec<String>>(list.trim())) {
            Some(Ok(words)) => crate::shell::argv(&words, self.context),
            _ => crate::shell::shell(value, self.context),
        };
        self.absorb_grave(inner);
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

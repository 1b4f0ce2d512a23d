//! Where package managers take packages from: what the line, its variables and the configuration that it writes or points to name
//! instead of the registry that the machine is set up for. Whoever answers there decides which code is run.

use countersign_plan::tool::Effect;

use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Variable, Word};

/// A family of package managers.
struct Family {
    programs: &'static [&'static str],
    /// Variables that name a place (the managers' manuals, "Environment variables").
    places: &'static [&'static str],
    /// Variables that name a file with settings.
    files: &'static [&'static str],
    /// Names of files with settings or with what is wanted.
    settings: &'static [&'static str],
}

const FAMILIES: &[Family] = &[
    Family {
        programs: &[
            "pip",
            "pip2",
            "pip3",
            "pipx",
            "uv",
            "uvx",
            "poetry",
            "pdm",
            "hatch",
            "pipenv",
            "rye",
            "easy_install",
            "tox",
            "nox",
        ],
        places: &[
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "PIP_FIND_LINKS",
            "PIP_PROXY",
            "UV_INDEX",
            "UV_INDEX_URL",
            "UV_EXTRA_INDEX_URL",
            "UV_DEFAULT_INDEX",
            "UV_FIND_LINKS",
            "PDM_PYPI_URL",
            "PIPENV_PYPI_MIRROR",
            "PIP_TRUSTED_HOST",
        ],
        files: &["PIP_CONFIG_FILE", "UV_CONFIG_FILE", "PIP_REQUIREMENT", "PIP_CONSTRAINT", "PIPENV_PIPFILE"],
        settings: &["pip.conf", "pip.ini", "uv.toml", "pyproject.toml", "pipfile", "poetry.toml", ".pdm.toml"],
    },
    Family {
        programs: &["conda", "mamba", "micromamba", "pixi"],
        places: &["CONDA_CHANNELS", "CONDA_CHANNEL_ALIAS"],
        files: &["CONDARC"],
        settings: &[".condarc", "condarc", "environment.yml", "environment.yaml", "pixi.toml"],
    },
    Family {
        programs: &["npm", "npx", "pnpm", "pnpx", "yarn", "cnpm", "bun", "bunx"],
        places: &[
            "npm_config_registry",
            "NPM_CONFIG_REGISTRY",
            "YARN_REGISTRY",
            "YARN_NPM_REGISTRY_SERVER",
            "BUN_CONFIG_REGISTRY",
        ],
        files: &[
            "npm_config_userconfig",
            "NPM_CONFIG_USERCONFIG",
            "npm_config_globalconfig",
            "NPM_CONFIG_GLOBALCONFIG",
            "YARN_RC_FILENAME",
        ],
        settings: &[".npmrc", "npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", "package.json"],
    },
    Family {
        programs: &["cargo", "rustup"],
        places: &[
            "CARGO_REGISTRIES_",
            "CARGO_SOURCE_",
            "CARGO_REGISTRY_INDEX",
            "RUSTUP_DIST_SERVER",
            "RUSTUP_UPDATE_ROOT",
        ],
        files: &["CARGO_HOME"],
        settings: &[".cargo/config.toml", ".cargo/config", "cargo.toml"],
    },
    Family {
        programs: &["gem", "bundle", "bundler"],
        places: &["BUNDLE_MIRROR__", "RUBYGEMS_HOST", "BUNDLE_SOURCE"],
        files: &["GEMRC", "BUNDLE_GEMFILE", "BUNDLE_APP_CONFIG"],
        settings: &["gemfile", ".gemrc", ".bundle/config"],
    },
    Family { programs: &["go"], places: &["GOPROXY", "GOSUMDB"], files: &["GOENV", "GOWORK"], settings: &["go.env"] },
    Family {
        programs: &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
        places: &["MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "JITPACK_URL"],
        files: &["GRADLE_USER_HOME"],
        settings: &[
            "settings.xml",
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "init.gradle",
            "gradle-wrapper.properties",
        ],
    },
    Family {
        programs: &["composer"],
        places: &["COMPOSER_REPO_PACKAGIST"],
        files: &["COMPOSER", "COMPOSER_HOME"],
        settings: &["composer.json", ".composer/config.json"],
    },
    Family {
        programs: &["apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "apk", "microdnf"],
        places: &[],
        files: &["APT_CONFIG"],
        settings: &["sources.list", ".list", ".sources", ".repo", "repositories", "apt.conf"],
    },
    Family {
        programs: &["brew", "nix", "nix-env", "nix-shell", "nix-build"],
        places: &["HOMEBREW_BOTTLE_DOMAIN", "HOMEBREW_ARTIFACT_DOMAIN", "HOMEBREW_API_DOMAIN", "NIX_PATH"],
        files: &["NIX_CONF_DIR", "NIX_USER_CONF_FILES"],
        settings: &["nix.conf", "brewfile"],
    },
    Family { programs: &["dotnet", "nuget"], places: &["NUGET_SOURCE"], files: &[], settings: &["nuget.config"] },
];

/// Registries that everybody uses.
pub(super) const USUAL: &[&str] = &[
    "pypi.org",
    "files.pythonhosted.org",
    "test.pypi.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "index.crates.io",
    "static.crates.io",
    "crates.io",
    "rubygems.org",
    "proxy.golang.org",
    "sum.golang.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "repo.packagist.org",
    "packagist.org",
    "conda.anaconda.org",
    "repo.anaconda.com",
    "api.nuget.org",
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "security.ubuntu.com",
    "dl-cdn.alpinelinux.org",
    "cache.nixos.org",
    "dl.google.com",
    "maven.google.com",
    "npm.pkg.github.com",
    "nuget.pkg.github.com",
    "maven.pkg.github.com",
    "download.pytorch.org",
];

/// Registries of images that everybody uses.
pub(super) const REGISTRIES: &[&str] = &[
    "docker.io",
    "ghcr.io",
    "quay.io",
    "gcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "registry.k8s.io",
    "registry.gitlab.com",
    "registry.access.redhat.com",
];

/// Options after which what comes is not checked any more.
const UNCHECKED: &[&str] = &[
    "--trusted-host",
    "--allow-insecure-host",
    "--insecure",
    "--allow-unauthenticated",
    "--allow-untrusted",
    "--nogpgcheck",
    "--no-gpg-checks",
    "--no-check-certificate",
    "--strict-ssl=false",
    "--no-strict-ssl",
    "--force-yes",
    "--no-verify",
    "--allow-insecure-repositories",
    "--unsafe-perm",
    "--no-check-sigs",
    "--no-require-sigs",
    "--http-insecure",
];

/// Variables that switch a check off, with the values by which they do.
const SWITCHES: &[(&str, &[&str])] = &[
    ("GOSUMDB", &["off"]),
    ("GONOSUMCHECK", &["1"]),
    ("GOINSECURE", &["*"]),
    ("NODE_TLS_REJECT_UNAUTHORIZED", &["0"]),
    ("NPM_CONFIG_STRICT_SSL", &["false"]),
    ("npm_config_strict_ssl", &["false"]),
    ("CARGO_HTTP_CHECK_REVOKE", &["false"]),
    ("COMPOSER_DISABLE_TLS", &["1"]),
];

/// Words of a setting that name a place to take packages from.
const KEYS: &[&str] = &[
    "index",
    "registry",
    "source",
    "find-links",
    "find_links",
    "mirror",
    "repo",
    "channel",
    "git",
    "proxy",
    "server",
    "substituters",
    "baseurl",
    "uris",
    "distributionurl",
    "maven",
    "npmregistryserver",
];

/// What a manager of packages is told about where they come from.
#[derive(Default)]
pub(super) struct Told {
    pub(super) places: Vec<String>,
    pub(super) unchecked: bool,
}

impl Told {
    pub(super) fn place(&mut self, text: &str) {
        for word in
            text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | '"' | '\'' | '<' | '>' | '(' | ')' | ';'))
        {
            let Some(at) = word.find("://") else { continue };
            let start = word
                .get(..at)
                .map_or(0, |scheme| scheme.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |i| i + 1));
            let url = word.get(start..).unwrap_or(word);
            if !url.starts_with("file:") {
                self.places.push(url.to_owned());
            }
        }
    }
}

impl Machine<'_> {
    /// The places that a package manager is told to take packages from are contacted, and what comes from there is run.
    pub(super) fn judge_sources(&mut self, base: &str, rest: &[Word]) {
        let Some(family) = FAMILIES.iter().find(|family| family.programs.contains(&base)) else { return };
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let mut told = Told::default();
        let is_proxy = |word: &String| word.starts_with("--proxy") || word.starts_with("--homepage");
        for word in words.iter().filter(|word| !is_proxy(word)) {
            told.place(word);
            told.unchecked |= UNCHECKED
                .iter()
                .any(|option| word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')));
            told.unchecked |=
                word.to_ascii_lowercase().contains("allow-insecure") || word.contains("Verify-Peer=false");
        }
        let sets = words.iter().any(|word| matches!(word.as_str(), "config" | "set"));
        told.unchecked |= sets
            && words.windows(2).any(|pair| {
                let [name, value] = pair else { return false };
                let check =
                    ["ssl_verify", "strict-ssl", "safety_checks", "extra_safety_checks", "sig-check", "trusted-host"];
                name == "global.trusted-host"
                    || check.contains(&name.as_str())
                        && matches!(value.as_str(), "false" | "no" | "off" | "disabled" | "0")
            });
        let files = self.told_by_variables(family, &mut told);
        for file in files {
            let word = Word::text(file);
            self.touch_path(Effect::Execute, &word, false);
            for path in self.paths(&word) {
                if let Some(text) = self.files.get(&path).and_then(|stream| stream.text.clone()) {
                    settings(&path, &text, &mut told);
                }
            }
        }
        let wanted: Vec<String> = rest.iter().flat_map(|word| self.paths(word)).collect();
        let texts = self.files.iter().filter(|(path, _)| {
            let lower = path.to_ascii_lowercase();
            let requirements = wanted.contains(path) && (lower.ends_with(".txt") || lower.ends_with(".in"));
            requirements || family.settings.iter().any(|name| lower.ends_with(name))
        });
        for (path, text) in texts.filter_map(|(path, stream)| stream.text.as_ref().map(|text| (path, text))) {
            settings(path, text, &mut told);
        }
        self.told(base, &told);
    }

    /// An image by its name: what stands before the first `/` is a registry where it reads as a host (distribution reference grammar).
    pub(super) fn image(&mut self, word: &Word) {
        let name = word.shown();
        let Some((host, _)) = name.split_once('/') else { return };
        let is_host = host.contains(['.', ':']) && !host.contains(['$', ' ']) && !host.starts_with(['.', '-']);
        if is_host && !REGISTRIES.contains(&host) && !crate::host::is_local(host) {
            self.touch_host(&Word::text(host));
        }
    }

    fn told(&mut self, base: &str, told: &Told) {
        let mut foreign = false;
        for place in told.places.iter().at_most(64) {
            let name = crate::host::read(place).name.unwrap_or_default();
            let host = name.split(':').next().unwrap_or("");
            if USUAL.contains(&host) || crate::host::is_local(&name) {
                continue;
            }
            self.touch_host(&Word::text(place.as_str()));
            let plain = place.starts_with("http://");
            foreign = true;
            if told.unchecked || plain {
                let message = format!("`{base}` runs what {name} sends, and nothing checks it");
                self.find(FindingKind::DownloadAndExecute, message);
            }
        }
        if told.unchecked && !foreign {
            self.find(FindingKind::DisablesProtection, format!("`{base}` takes packages that nothing checks"));
        }
    }

    /// What the variables say; the files that they point to.
    fn told_by_variables(&self, family: &Family, told: &mut Told) -> Vec<String> {
        let value = |name: &str| match self.scope.variable(name) {
            Some(Variable::Scalar(word)) => Some(word.shown()),
            _ => self.context.env.get(name).cloned(),
        };
        for name in family.places {
            if name.ends_with('_') {
                let set = self
                    .scope
                    .names()
                    .chain(self.context.env.keys().map(String::as_str))
                    .filter(|known| known.starts_with(name));
                for text in set.map(str::to_owned).collect::<Vec<_>>().iter().filter_map(|known| value(known)) {
                    told.place(&text);
                }
            } else if let Some(text) = value(name) {
                told.unchecked |= *name == "PIP_TRUSTED_HOST";
                told.place(&text);
            }
        }
        for (name, off) in SWITCHES {
            told.unchecked |= value(name).is_some_and(|value| off.contains(&value.as_str()));
        }
        told.unchecked |= value("GOFLAGS").is_some_and(|flags| flags.contains("-insecure"));
        family
            .files
            .iter()
            .filter_map(|name| value(name))
            .filter(|file| !matches!(file.as_str(), "" | "/dev/null"))
            .collect()
    }
}

/// The places in a file of settings, or in a list of what is wanted.
pub(super) fn settings(path: &str, text: &str, told: &mut Told) {
    let lower = path.to_ascii_lowercase();
    let list = lower.ends_with(".txt")
        || lower.ends_with(".in")
        || lower.ends_with(".list")
        || lower.ends_with("repositories");
    let manifest = lower.ends_with("package.json");
    for line in text.lines().at_most(8192) {
        let line = line.trim();
        if line.starts_with('#') || line.starts_with("//") && !line.starts_with("//registry") {
            continue;
        }
        let lower = line.to_ascii_lowercase();
        let key = lower.split_once(['=', ':', '>']).map_or(lower.as_str(), |(key, _)| key);
        let known = list
            || KEYS.iter().any(|word| key.contains(word))
            || matches!(key.trim(), "url" | "<url" | "- http" | "- https" | "- git+https")
            || lower.starts_with("deb ");
        // Of a manifest what is wanted names a place itself; its own address and those of its people say nothing.
        let wanted = manifest
            && (lower.contains("\"git") || lower.contains(".tgz\"") || lower.contains(".tar.gz\""))
            && !key.contains("url")
            && !key.contains("repository");
        if if manifest { wanted } else { known } {
            told.place(line);
        }
        let squeezed: String = lower.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        told.unchecked |= [
            "trusted-host",
            "no-verify",
            "strict-ssl=false",
            "trusted=yes",
            "gpgcheck=0",
            "verify_ssl=false",
            "verify_ssl:false",
            "enablestrictssl:false",
            "allow-insecure",
            "ssl_verify:false",
            "require-sigs=false",
            "check-revoke=false",
            ":ssl_verify_mode:0",
        ]
        .iter()
        .any(|word| squeezed.contains(word));
    }
}

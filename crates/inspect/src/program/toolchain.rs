//! What runs in the place of a build's usual tools, or beside what a program does, because its words say so: launchers and compilers of
//! CMake, runners of Cargo, containers of `act` (the programs' manuals).

use countersign_plan::tool::{Effect, TargetKind};

use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, FindingKind, Inspection, UnknownKind};
use crate::machine::{Machine, Part, Word};

/// The most words of one command that are looked at.
const MAX_WORDS: usize = 256;

/// Ends of names of CMake's variables of which the value is a program that a build starts (cmake-variables(7)).
const STARTED: &[&str] = &[
    "_COMPILER",
    "_EXECUTABLE",
    "_COMPILER_LAUNCHER",
    "_LINKER_LAUNCHER",
    "_CLANG_TIDY",
    "_CPPCHECK",
    "_CPPLINT",
    "_INCLUDE_WHAT_YOU_USE",
    "_LINK_WHAT_YOU_USE_CHECK",
    "RULE_LAUNCH_COMPILE",
    "RULE_LAUNCH_LINK",
    "RULE_LAUNCH_CUSTOM",
    "CMAKE_CROSSCOMPILING_EMULATOR",
    "CMAKE_TEST_LAUNCHER",
    "CMAKE_MAKE_PROGRAM",
    "CMAKE_AR",
    "CMAKE_LINKER",
    "CMAKE_RANLIB",
    "CMAKE_STRIP",
    "CMAKE_NM",
    "CMAKE_OBJCOPY",
];

/// Those of which the value is a script that CMake reads, or a folder with such.
const READ: &[&str] =
    &["CMAKE_TOOLCHAIN_FILE", "_INCLUDE", "_INCLUDE_BEFORE", "_INJECTION", "_TOP_LEVEL_INCLUDES", "CMAKE_MODULE_PATH"];

/// How names of others of that kind begin: what stands in the place of what a project fetches, rules for each language (cmake(1),
/// "FetchContent", "CMAKE_USER_MAKE_RULES_OVERRIDE").
const READ_ALIKE: &[&str] = &["FETCHCONTENT_SOURCE_DIR_", "CMAKE_USER_MAKE_RULES_OVERRIDE"];

/// Folders in which toolchains are installed for the whole machine.
const INSTALLED: &[&str] = &["/opt/", "/usr/lib/", "/usr/libexec/", "/usr/local/lib/"];

/// Settings of Cargo that name a program (The Cargo Book, "Configuration").
const OF_CARGO: &[&str] =
    &["runner", "linker", "rustc", "rustdoc", "rustc-wrapper", "rustc-workspace-wrapper", "credential-provider"];

/// Settings of it that only say how much and in which way it builds and shows, with all below them.
const MILD: &[&str] = &[
    "profile",
    "term",
    "net.retry",
    "net.offline",
    "net.git-fetch-with-cli",
    "build.jobs",
    "build.target",
    "build.incremental",
    "cargo-new",
    "future-incompat-report",
    "http.timeout",
    "http.multiplexing",
    "http.low-speed-limit",
];

/// Parts of flags of the compiler's by which it starts or loads something else (rustc, "Codegen Options"; gcc(1), "-fuse-ld", "-B", "-wrapper").
const LOADING_FLAGS: &[&str] =
    &["linker=", "codegen-backend", "llvm-plugins", "-fuse-ld=/", "=-B", "-plugin", "-specs", "-wrapper"];

impl Machine<'_> {
    /// Looks at what the words of such a program have run.
    pub(super) fn judge_tools(&mut self, base: &str, rest: &[Word]) {
        if crate::shell::is_deep() {
            return;
        }
        match base {
            "cmake" | "cmake3" | "ccmake" | "cmake-gui" => self.tools_of_cmake(rest),
            "cargo" => self.tools_of_cargo(rest),
            "act" => self.containers_of_act(rest),
            "sysctl" => {
                for word in rest.iter().filter_map(Word::constant).at_most(MAX_WORDS).collect::<Vec<_>>() {
                    self.judge_kernel_setting(word);
                }
            }
            "west" => self.targets_of_west(rest),
            // `NAME=VALUE` among the words, alone or behind an option (Autoconf, "Defining Variables"; Bazel, "--action_env", "--run_under").
            "configure" | "bazel" | "bazelisk" => {
                let values = rest.iter().filter_map(Word::constant).filter_map(|word| word.rsplit_once('='));
                for line in values.map(|(_, line)| line).filter(|line| line.contains(' ')).at_most(MAX_WORDS) {
                    let inner = crate::shell::shell(line, self.context);
                    self.absorb_grave(inner);
                }
            }
            _ if base.starts_with("qemu-system-") || base == "qemu-kvm" => self.ends_of_qemu(rest),
            _ => {}
        }
    }

    /// `-DNAME[:TYPE]=VALUE`, with the value in the same word or in the next one (cmake(1), "-D").
    fn tools_of_cmake(&mut self, rest: &[Word]) {
        for (i, word) in rest.iter().enumerate().at_most(MAX_WORDS) {
            let Some(given) = word.skip(2).filter(|_| word.prefix().starts_with("-D")) else { continue };
            let given = if given.is_empty() { rest.get(i + 1).cloned().unwrap_or_default() } else { given };
            let Some((name, value)) = given.split_once('=') else { continue };
            let name = name.prefix();
            let name = name.split(':').next().unwrap_or(&name);
            let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
            if value.is_empty() {
                continue;
            }
            if ends(STARTED) {
                // A list of CMake's is the words of a command.
                match value.constant() {
                    Some(value) if value.contains(';') => {
                        self.tool(name, value.split(';').map(str::to_owned).collect())
                    }
                    Some(value) => self.tool_line(name, value),
                    None => self.unseen_tool(name, &value),
                }
            } else if ends(READ) || READ_ALIKE.iter().any(|start| name.starts_with(start)) {
                self.loads(&value);
            }
        }
    }

    /// A program that shows only when the line runs.
    fn unseen_tool(&mut self, name: &str, value: &Word) {
        // Where an installed program lies is asked of the machine (which(1); POSIX, "command -v").
        let asked = |hole: &str| {
            let named = hole.strip_prefix("(which ").or_else(|| hole.strip_prefix("(command -v "));
            let program = named.and_then(|rest| rest.strip_suffix(')')).map(str::trim);
            program.is_some_and(|program| crate::catalogue::entry(program).is_some())
        };
        if matches!(value.parts(), [Part::Hole { name, .. }] if asked(name)) {
            return;
        }
        let message = format!("what {name} has run, `{}`, shows only when the line runs", value.shown());
        self.unknown(UnknownKind::Value, Effect::Execute, message);
    }

    /// `--config KEY=VALUE`, of which the value is one of TOML, or `--config FILE` (cargo(1), "--config").
    fn tools_of_cargo(&mut self, rest: &[Word]) {
        for (i, word) in rest.iter().enumerate().at_most(MAX_WORDS) {
            if word.constant() == Some("--") {
                break;
            }
            let joined = word.skip("--config=".len()).filter(|_| word.prefix().starts_with("--config="));
            let next = || rest.get(i + 1).filter(|_| word.constant() == Some("--config")).cloned();
            let Some(given) = joined.or_else(next) else { continue };
            let Some(text) = given.constant() else {
                self.unseen_tool("--config", &given);
                continue;
            };
            let pairs = super::pairs::of(super::pairs::Kind::Toml, text);
            if !text.contains('=') || pairs.is_empty() {
                self.loads(&given);
                self.find(FindingKind::LoadsCode, format!("`{}` takes its settings from {text}", self.by));
            }
            for (key, value) in &pairs {
                self.setting_of_cargo(key, value);
            }
        }
    }

    fn setting_of_cargo(&mut self, key: &str, value: &str) {
        let texts = super::pairs::texts(value);
        let last = key.rsplit('.').next().unwrap_or(key);
        let mild =
            MILD.iter().any(|own| key.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
        match last {
            last if OF_CARGO.contains(&last) && value.starts_with('[') => self.tool(key, texts),
            last if OF_CARGO.contains(&last) => self.tool_line(key, &texts.join(" ")),
            "target-dir" => self.touch_path(Effect::Update, &Word::text(texts.join(" ")), true),
            "rustflags" if !texts.iter().any(|flag| LOADING_FLAGS.iter().any(|part| flag.contains(part))) => {}
            "rustflags" => {
                self.find(FindingKind::LoadsCode, format!("the setting {key} has {value} decide what is built"))
            }
            _ if mild => {}
            _ => self.find(FindingKind::LoadsCode, format!("the setting {key} decides what `{}` builds from", self.by)),
        }
    }

    fn tool_line(&mut self, name: &str, line: &str) {
        let first = line.split_whitespace().next().unwrap_or("").to_owned();
        let inner = crate::shell::shell(line, self.context);
        self.tool_named(name, &first, line, inner);
    }

    fn tool(&mut self, name: &str, words: Vec<String>) {
        let first = words.first().cloned().unwrap_or_default();
        let inner = crate::shell::argv(&words, self.context);
        self.tool_named(name, &first, &words.join(" "), inner);
    }

    /// A program that is no installed one: it is run, and one that is not the project's decides what is built. So does a script, or what is
    /// loaded, that an interpreter is given.
    fn tool_named(&mut self, name: &str, program: &str, line: &str, inner: Inspection) {
        let path = crate::path::normalise("/", program);
        let installed = program.starts_with('/')
            && super::PROGRAM_FOLDERS.iter().chain(INSTALLED).any(|folder| path.starts_with(folder))
            && !self.files.contains_key(&path);
        let word = Word::text(program);
        let elsewhere = program.contains('/') && !installed;
        let own = elsewhere && self.is_of_project(&word);
        if elsewhere {
            self.runs_later(program);
            self.loads(&word);
        }
        let given = inner.touches.iter().filter(|touch| {
            touch.effect == Effect::Execute
                && !touch.recursive
                && touch.kind == TargetKind::File
                && touch.name != path
                && touch.name != program
        });
        let given: Vec<Word> = given.map(|touch| Word::text(touch.name.as_str())).at_most(MAX_WORDS).collect();
        let loads = inner.findings.iter().any(|finding| finding.kind == FindingKind::LoadsCode);
        self.absorb_grave(inner);
        for file in &given {
            self.loads(file);
        }
        if super::is_shell(program)
            || (elsewhere && !own)
            || loads
            || given.iter().any(|file| !self.is_of_project(file))
        {
            self.find(FindingKind::LoadsCode, format!("{name} has `{line}` run what is built"));
        }
    }

    /// Whether a name is that of something in the project, which no host sent.
    pub(super) fn is_of_project(&self, word: &Word) -> bool {
        let address = word.prefix().contains("://");
        !address
            && self.paths(word).iter().all(|path| {
                (*path == self.context.cwd || crate::path::is_below(path, &self.context.cwd))
                    && !self.files.get(path).is_some_and(|file| file.remote)
            })
    }

    /// `west build -t TARGET`: one that only shows or asks what is set, or one that does more to the board (Zephyr, "Building, Flashing and
    /// Debugging").
    fn targets_of_west(&mut self, rest: &[Word]) {
        const SHOWING: &[&str] = &[
            "rom_report",
            "ram_report",
            "rom_plot",
            "ram_plot",
            "footprint",
            "puncover",
            "menuconfig",
            "guiconfig",
            "hardenconfig",
            "traceconfig",
            "initlevels",
            "dts",
            "usage",
            "help",
            "all",
            "clean",
            "pristine",
            "html",
        ];
        // Commands of its own lie beside the project.
        let folder = self.paths(&Word::text(".")).into_iter().next().unwrap_or_default();
        self.runs_written(&|path| crate::path::is_below(path, &folder));
        // Options and their values may stand before the command.
        let parsed = crate::catalogue::entry("west").and_then(|entry| super::options::read(entry, rest).ok());
        if parsed.is_none_or(|(_, parsed)| parsed.path.first().is_none_or(|command| command != "build")) {
            return;
        }
        let end = rest.iter().position(|word| word.constant() == Some("--")).unwrap_or(rest.len());
        for (i, word) in rest.iter().enumerate().take(end).at_most(MAX_WORDS) {
            let text = word.shown();
            let next = || rest.get(i + 1).map(Word::shown).filter(|_| matches!(text.as_str(), "-t" | "--target"));
            let short = || text.strip_prefix("-t").filter(|target| !target.is_empty()).map(str::to_owned);
            let target = text.strip_prefix("--target=").map(str::to_owned).or_else(short).or_else(next);
            if let Some(target) = target.filter(|target| !SHOWING.contains(&target.as_str())) {
                self.touch_named(Effect::Update, &format!("west {target}"));
            }
        }
        self.tools_of_cmake(rest.get(end..).unwrap_or_default());
    }

    /// Options for the container that a job runs in, the image that it is made of, and variables that the job is given (act, "Usage").
    fn containers_of_act(&mut self, rest: &[Word]) {
        for (i, word) in rest.iter().enumerate().at_most(MAX_WORDS) {
            let text = word.shown();
            let short = text.strip_prefix("-P").filter(|image| !image.is_empty()).map(|image| ("-P", image));
            let joined = short.or_else(|| text.split_once('=').filter(|(name, _)| name.starts_with("--")));
            let name = joined.map_or(text.as_str(), |(name, _)| name);
            let value = || {
                joined
                    .map(|(_, value)| value.to_owned())
                    .or_else(|| rest.get(i + 1).map(Word::shown))
                    .unwrap_or_default()
            };
            match name {
                "--container-options" => {
                    let inner = crate::shell::shell(&format!("docker run {} image", value()), self.context);
                    let image = |touch: &crate::inspection::Touch| touch.name.starts_with("package ");
                    inner.touches.into_iter().filter(|touch| !image(touch)).for_each(|touch| self.out.touch(touch));
                    inner.findings.into_iter().for_each(|finding| self.find(finding.kind, finding.message));
                    for unknown in inner.unknowns {
                        self.unknown(unknown.kind, unknown.effect, unknown.message);
                    }
                }
                "-P" | "--platform" => {
                    let given = value();
                    let image = given.split_once('=').map_or("", |(_, image)| image);
                    if !image.is_empty() && image != "-self-hosted" {
                        self.touch_other(Effect::Execute, TargetKind::Other, format!("package {image}"));
                    }
                }
                "--env" | "--var" | "--input" => {
                    if let Some((_, line)) = value().split_once('=').filter(|(_, line)| line.contains(' ')) {
                        let inner = crate::shell::shell(line, self.context);
                        self.absorb_grave(inner);
                    }
                }
                _ => {}
            }
        }
    }
}

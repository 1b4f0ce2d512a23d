//! What runs in the place of a build's usual tools, or beside what a program does, because its words say so: launchers and compilers of
//! CMake, runners of Cargo, containers of `act`, the far end of a network of QEMU (the programs' manuals).

use countersign_plan::tool::{Effect, TargetKind};

use crate::inspection::{Build as _, FindingKind};
use crate::machine::{Machine, Stream, Word};

/// The most words of one command that are looked at.
const MAX_WORDS: usize = 256;

/// Ends of names of CMake's variables of which the value is a program that a build starts (cmake-variables(7)).
const STARTED: &[&str] = &[
    "_COMPILER",
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

/// Those of which the value is a script that CMake reads.
const READ: &[&str] = &["CMAKE_TOOLCHAIN_FILE", "_INCLUDE", "_INCLUDE_BEFORE", "_INJECTION", "_TOP_LEVEL_INCLUDES"];

/// Settings of Cargo that name a program (The Cargo Book, "Configuration").
const OF_CARGO: &[&str] =
    &["runner", "linker", "rustc", "rustdoc", "rustc-wrapper", "rustc-workspace-wrapper", "credential-provider"];

/// Beginnings of its settings that only say how much and in which way it builds and shows.
const MILD: &[&str] = &[
    "profile.",
    "term.",
    "net.retry",
    "net.offline",
    "net.git-fetch-with-cli",
    "build.jobs",
    "build.target",
    "build.incremental",
    "build.dep-info-basedir",
    "cargo-new.",
    "future-incompat-report.",
    "http.timeout",
    "http.multiplexing",
    "http.low-speed-limit",
];

impl Machine<'_> {
    /// Looks at what the words of such a program have run.
    pub(super) fn judge_tools(&mut self, base: &str, rest: &[Word]) {
        if crate::shell::is_deep() {
            return;
        }
        match base {
            "cmake" | "ccmake" | "cmake-gui" => self.tools_of_cmake(rest),
            "cargo" => self.tools_of_cargo(rest),
            "act" => self.containers_of_act(rest),
            "sysctl" => {
                for word in rest.iter().filter_map(Word::constant).take(MAX_WORDS).collect::<Vec<_>>() {
                    self.judge_kernel_setting(word);
                }
            }
            "west" => self.targets_of_west(rest),
            // `NAME=VALUE` among the words, alone or behind an option (Autoconf, "Defining Variables"; Bazel, "--action_env", "--run_under").
            "configure" | "bazel" | "bazelisk" => {
                let values = rest.iter().filter_map(Word::constant).filter_map(|word| word.rsplit_once('='));
                for line in values.map(|(_, line)| line).filter(|line| line.contains(' ')).take(MAX_WORDS) {
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
        for (i, word) in rest.iter().enumerate().take(MAX_WORDS) {
            let Some(given) = word.constant().and_then(|word| word.strip_prefix("-D")) else { continue };
            let given = if given.is_empty() { rest.get(i + 1).and_then(Word::constant).unwrap_or("") } else { given };
            let Some((name, value)) = given.split_once('=') else { continue };
            let name = name.split(':').next().unwrap_or(name);
            let ends = |list: &[&str]| list.iter().any(|end| name.ends_with(end));
            if value.is_empty() {
                continue;
            }
            if ends(STARTED) {
                // A list of CMake's is the words of a command.
                match value.contains(';') {
                    true => self.tool(name, value.split(';').map(str::to_owned).collect()),
                    false => self.tool_line(name, value),
                }
            } else if ends(READ) {
                self.loads(&Word::text(value));
            }
        }
    }

    /// `--config KEY=VALUE`, of which the value is one of TOML, or `--config FILE` (cargo(1), "--config").
    fn tools_of_cargo(&mut self, rest: &[Word]) {
        for (i, word) in rest.iter().enumerate().take(MAX_WORDS) {
            let text = word.shown();
            if text == "--" {
                break;
            }
            let next = || rest.get(i + 1).map(Word::shown);
            let joined = text.strip_prefix("--config=").map(str::to_owned);
            let Some(given) = joined.or_else(|| next().filter(|_| text == "--config")) else { continue };
            let Some((key, value)) = given.split_once('=') else {
                self.loads(&Word::text(given.as_str()));
                self.find(FindingKind::LoadsCode, format!("`{}` takes its settings from {given}", self.by));
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            let last = key.rsplit('.').next().unwrap_or(key);
            if OF_CARGO.contains(&last) {
                match serde_json::from_str::<Vec<String>>(value) {
                    Ok(words) => self.tool(key, words),
                    Err(_) => {
                        let text = serde_json::from_str::<String>(value);
                        self.tool_line(key, &text.unwrap_or_else(|_| value.trim_matches('\'').to_owned()));
                    }
                }
            } else if !MILD.iter().any(|start| key.starts_with(start)) {
                self.find(FindingKind::LoadsCode, format!("the setting {key} decides what `{}` builds from", self.by));
            }
        }
    }

    fn tool_line(&mut self, name: &str, line: &str) {
        let first = line.split_whitespace().next().unwrap_or("").to_owned();
        let inner = crate::shell::shell(line, self.context);
        self.absorb_grave(inner);
        self.tool_named(name, &first, line);
    }

    fn tool(&mut self, name: &str, words: Vec<String>) {
        let first = words.first().cloned().unwrap_or_default();
        let inner = crate::shell::argv(&words, self.context);
        self.absorb_grave(inner);
        self.tool_named(name, &first, &words.join(" "));
    }

    /// A program that is no installed one: it is run, and one that is not the project's decides what is built.
    fn tool_named(&mut self, name: &str, program: &str, line: &str) {
        let installed = super::PROGRAM_FOLDERS.iter().any(|folder| program.starts_with(folder));
        let word = Word::text(program);
        let elsewhere = program.contains('/') && !installed;
        let own = elsewhere
            && self.paths(&word).iter().all(|path| {
                crate::path::is_below(path, &self.context.cwd) && !self.files.get(path).is_some_and(|file| file.remote)
            });
        if elsewhere {
            self.runs_later(program);
            self.loads(&word);
        }
        if super::is_shell(program) || (elsewhere && !own) {
            self.find(FindingKind::LoadsCode, format!("{name} has `{line}` run what is built"));
        }
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
        if rest.first().and_then(Word::constant) != Some("build") {
            return;
        }
        let end = rest.iter().position(|word| word.constant() == Some("--")).unwrap_or(rest.len());
        for (i, word) in rest.iter().enumerate().take(end.min(MAX_WORDS)) {
            let text = word.shown();
            let next = || rest.get(i + 1).map(Word::shown).filter(|_| matches!(text.as_str(), "-t" | "--target"));
            let target = text.strip_prefix("--target=").map(str::to_owned).or_else(next);
            if let Some(target) = target.filter(|target| !SHOWING.contains(&target.as_str())) {
                self.touch_named(Effect::Update, &format!("west {target}"));
            }
        }
    }

    /// Options for the container that a job runs in, the image that it is made of, and variables that the job is given (act, "Usage").
    fn containers_of_act(&mut self, rest: &[Word]) {
        for (i, word) in rest.iter().enumerate().take(MAX_WORDS) {
            let text = word.shown();
            let (name, joined) =
                text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
            let value = || joined.map(str::to_owned).or_else(|| rest.get(i + 1).map(Word::shown)).unwrap_or_default();
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
                    let given = rest.get(i + 1).map(Word::shown).unwrap_or_default();
                    let image = given.split_once('=').map_or("", |(_, image)| image);
                    if !image.is_empty() && image != "-self-hosted" {
                        self.touch_other(Effect::Execute, TargetKind::Other, format!("package {image}"));
                    }
                }
                "--env" | "--var" | "--input" => {
                    let value = rest.get(i + 1).map(Word::shown).unwrap_or_default();
                    if let Some((_, line)) = value.split_once('=').filter(|(_, line)| line.contains(' ')) {
                        let inner = crate::shell::shell(line, self.context);
                        self.absorb_grave(inner);
                    }
                }
                _ => {}
            }
        }
    }

    /// Disks, networks and consoles of a machine that is emulated: which of this machine's files it writes, what it starts here, and who
    /// may give it orders (qemu(1), "Block device options", "Network options", "Character device options").
    fn ends_of_qemu(&mut self, rest: &[Word]) {
        for pair in rest.windows(2).take(MAX_WORDS) {
            let [option, value] = pair else { continue };
            let Some(option) = option.constant().map(|option| option.trim_start_matches('-')) else { continue };
            let text = value.shown();
            let fields: Vec<(&str, &str)> =
                text.split(',').map(|field| field.split_once('=').unwrap_or((field, ""))).collect();
            let field = |name: &str| fields.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
            let kind = fields.first().map_or("", |(name, _)| *name);
            match option {
                "drive" => {
                    let kept = field("snapshot") == Some("on")
                        || field("readonly") == Some("on")
                        || field("read-only") == Some("on")
                        || field("media") == Some("cdrom");
                    let effect = if kept { Effect::Read } else { Effect::Update };
                    if let Some(file) = field("file") {
                        self.touch_path(effect, &Word::text(file), false);
                    }
                }
                "netdev" | "nic" | "net" => self.network_of_qemu(&text, kind, &fields),
                "monitor" | "qmp" | "serial" | "chardev" | "parallel" => {
                    let bare = text.strip_prefix("mon:").unwrap_or(&text);
                    let (kind, rest) = bare.split_once([':', ',']).unwrap_or((bare, ""));
                    match kind {
                        "stdio" | "none" | "null" | "vc" | "pty" | "ringbuf" | "msmouse" | "" => {}
                        "file" => {
                            let path = field("path").unwrap_or_else(|| rest.split(',').next().unwrap_or(rest));
                            self.touch_path(Effect::Update, &Word::text(path), false);
                        }
                        "tcp" | "telnet" | "udp" | "websocket" | "unix" | "socket" if !is_of_this_machine(&text) => {
                            let what = format!("a port that `{}` opens to every other machine", self.by);
                            self.touch_named(Effect::Admin, &what);
                        }
                        _ => self.touch_named(Effect::Admin, &format!("{} -{option} {text}", self.by)),
                    }
                }
                _ => {}
            }
        }
    }

    fn network_of_qemu(&mut self, text: &str, kind: &str, fields: &[(&str, &str)]) {
        // What a connection of the guest starts here.
        if let Some((_, line)) = text.split_once("-cmd:") {
            self.script(line, &Stream::unknown());
        }
        for (name, script) in fields.iter().filter(|(name, _)| matches!(*name, "script" | "downscript" | "helper")) {
            if !matches!(*script, "no" | "") {
                self.loads(&Word::text(*script));
                self.find(FindingKind::LoadsCode, format!("`{}` runs {script} as its {name}", self.by));
            }
        }
        for (_, folder) in fields.iter().filter(|(name, _)| matches!(*name, "smb" | "tftp")) {
            self.touch_path(Effect::Update, &Word::text(*folder), true);
        }
        let local = |value: &str| value.contains(":127.0.0.1:");
        let open = fields.iter().any(|(name, value)| *name == "hostfwd" && !local(value));
        if open {
            self.touch_named(Effect::Admin, &format!("a port that `{}` opens to every other machine", self.by));
        }
        if !matches!(kind, "user" | "none" | "nic") {
            self.touch_named(Effect::Admin, &format!("{} {text}", self.by));
        }
    }
}

/// Whether an address of a character device lies on this machine: a socket in the file system, or the loopback.
fn is_of_this_machine(text: &str) -> bool {
    text.starts_with("unix:") || text.contains("path=") || text.contains("127.0.0.1") || text.contains("localhost")
}

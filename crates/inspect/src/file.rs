//! What stands in a file, by what the file is: a script, or the command lines inside of something that a tool runs.

mod carries;
mod cmake;
mod compose;
mod constants;
mod foreign;
pub(crate) mod implant;
mod kernel;
pub(crate) mod make;
mod named;
pub(crate) mod playbook;
mod project;
mod recipes;
mod runners;
pub(crate) mod scratch;
mod settings;
mod wanted;
mod workflow;

pub(crate) use workflow::plain;

use countersign_plan::inspection::{Context, Flow, Inspection, OBEYED};
use countersign_plan::tool::{Effect, TargetKind};
use serde_json::Value;

use crate::code::Language;
use crate::inspection::{Build as _, FindingKind, Touch, UnknownKind};
use crate::machine::{Machine, Word};
use crate::path::{self, Place};
pub(crate) use foreign::started;
pub(crate) use implant::of as implanted;
pub(crate) use runners::{is_vacuous, swallows, weakens_tests};
pub(crate) use settings::{between, lines_of_settings};

/// Ends of paths from which code runs without anybody starting it: by a push, a commit, a start of an interpreter, a folder that is
/// entered. From the manuals of the services, Git, Husky, Python (`site`), direnv and cron.
const BY_ITSELF: &[&str] = &[
    "/.gitlab-ci.yml",
    "/.travis.yml",
    "/azure-pipelines.yml",
    "/bitbucket-pipelines.yml",
    "/jenkinsfile",
    "/.drone.yml",
    "/sitecustomize.py",
    "/usercustomize.py",
    "/.envrc",
    "/.vscode/tasks.json",
    "/appveyor.yml",
    "/.cirrus.yml",
];

/// Folders of that kind.
const FOLDERS_BY_ITSELF: &[&str] = &[
    // What a shell reads when an environment is entered or left (conda, "Managing environments").
    "/conda/activate.d/",
    "/conda/deactivate.d/",
    "/.git/hooks/",
    "/.husky/",
    "/.githooks/",
    "/.github/workflows/",
    "/.gitea/workflows/",
    "/.forgejo/workflows/",
    "/.circleci/",
    "/.buildkite/",
    "/.woodpecker/",
    "/.config/autostart/",
    "/launchagents/",
    "/launchdaemons/",
    "/systemd/user/",
    "/systemd/system/",
    "/cron.d/",
    "/cron.daily/",
    "/cron.hourly/",
    "/crontabs/",
    "/profile.d/",
    "/.local/bin/",
    "/init.d/",
];

/// What takes the question away that an agent would put to somebody.
const UNASKED: &[&str] = &[
    "never ask",
    "not ask",
    "n't ask",
    "without asking",
    "without confirm",
    "without approval",
    "without permission",
    "always approve",
    "approve all",
    "approve every",
    "auto-approve",
    "autoapprove",
    "skip approval",
    "skip confirm",
    "skip permission",
    "bypass permission",
    "bypasspermissions",
];

/// The most values of a document that are looked at.
const MAX_LINES: usize = 2048;

/// What the file would do once it is run, whoever runs it. Of files in which commands are only a part, what is not understood says
/// nothing. Nothing at all where the file is none that is run.
pub(crate) fn file(name: &str, text: &str, context: &Context) -> Inspection {
    let mut out = of_kind(name, text, context);
    if let Some((language, recipes)) = make::of_language(text).filter(|_| make::is_makefile(name)) {
        out.absorb(Inspection { unknowns: Vec::new(), ..crate::code::code(language, &recipes, context) });
    }
    if let Some(to) = implant::overhears(text) {
        out.flow(Flow { from: "secret".to_owned(), to });
    }
    if let Some((kind, message)) = implant::of(name, text) {
        out.find(kind, None, message);
    }
    out
}

/// A file of Bats as the shell reads it: each test is a block (bats(7)).
fn of_bats(text: &str) -> Option<String> {
    let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
    first.trim_end().ends_with("bats").then_some(())?;
    let plain = |line: &str| {
        let test = line.trim_start().starts_with("@test ") && line.trim_end().ends_with('{');
        if test { "{".to_owned() } else { line.to_owned() }
    };
    Some(text.lines().map(plain).collect::<Vec<_>>().join("\n"))
}

fn of_kind(name: &str, text: &str, context: &Context) -> Inspection {
    let bats = of_bats(text);
    // Of languages that are not read only what is grave is known.
    let suffix = name.rsplit('.').next().unwrap_or("");
    if matches!(suffix, "R" | "r" | "Rprofile" | "jl" | "dart") {
        return Inspection { unknowns: Vec::new(), ..crate::code::code(Language::Other, text, context) };
    }
    let mut out = match language(name, text) {
        Some(_) if bats.is_some() => crate::code::code(Language::Shell, &bats.unwrap_or_default(), context),
        Some(language) => {
            let mut out = crate::code::code(language, text, context);
            if let Some(lines) = settings::of(name, text, context) {
                out.absorb(lines);
            }
            out
        }
        None => match embedded(name, text) {
            Some(lines) => Inspection { unknowns: Vec::new(), ..crate::shell::shell(&lines, context) },
            None => {
                let compiled = foreign::compiled(name, text, context);
                match (compiled, settings::of(name, text, context)) {
                    (Some(found), None) => return found,
                    (None, None) => return obeyed(name, text),
                    (found, Some(settings)) => {
                        let mut out = found.unwrap_or_default();
                        out.absorb(settings);
                        out
                    }
                }
            }
        },
    };
    implant::all_secrets(name, text, &mut out);
    if runs_by_itself(name, &context.home) {
        out.find(FindingKind::Persistence, None, format!("{name} is run without anybody starting it"));
    }
    out
}

/// What agents would be told by a file that they obey; nothing of any other.
fn obeyed(name: &str, text: &str) -> Inspection {
    let mut out = Inspection::default();
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    if OBEYED.contains(&last.as_str()) {
        let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        if UNASKED.iter().any(|words| text.contains(words)) {
            let message = format!("{name} would tell agents to act without asking");
            out.find(FindingKind::InjectedInstruction, None, message);
        }
    }
    out
}

/// Whether what stands there is run without anybody starting it.
pub(crate) fn runs_by_itself(name: &str, home: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    BY_ITSELF.iter().any(|end| lower.ends_with(end))
        || FOLDERS_BY_ITSELF.iter().any(|folder| lower.contains(folder))
        || lower.ends_with(".pth")
        || path::place(name, home) == Place::Startup
}

/// Whether it is a script that the package manager runs as root, with whoever installs the package (Debian Policy, "Package maintainer
/// scripts"; deb-postinst(5)).
fn is_of_package(name: &str) -> bool {
    let last = name.rsplit(['/', '.']).next().unwrap_or(name);
    matches!(last, "preinst" | "postinst" | "prerm" | "postrm")
        && (name.contains("/DEBIAN/") || name.contains("/debian/"))
}

/// Whether a file of this name has command lines inside, or runs by itself.
pub(crate) fn holds_lines(name: &str, home: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    runs_by_itself(name, home)
        || last.contains("dockerfile")
        || matches!(
            last,
            "package.json"
                | "composer.json"
                | "makefile"
                | "gnumakefile"
                | "justfile"
                | "procfile"
                | "pytest.ini"
                | "tox.ini"
                | "setup.cfg"
                | "pyproject.toml"
        )
}

/// Whether a finding counts of something that is only run later.
pub(crate) fn is_grave(kind: FindingKind) -> bool {
    kind == FindingKind::DownloadAndExecute || kind.decision() == countersign_plan::verdict::Decision::Block
}

/// The language of a file that is run by its name, its place or its first line.
fn language(name: &str, text: &str) -> Option<Language> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let by_name = match last.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "sh" | "bash" | "zsh" | "ksh" | "bashrc" | "profile" | "bash_profile" | "zshrc" | "zshenv" | "zprofile"
        | "bash_login" | "bash_logout" | "bash_aliases" | "xinitrc" | "xprofile" | "envrc" => Some(Language::Shell),
        "py" => Some(Language::Python),
        "pl" | "pm" => Some(Language::Perl),
        "rb" => Some(Language::Ruby),
        "js" | "mjs" | "cjs" => Some(Language::Node),
        "php" => Some(Language::Php),
        "ps1" | "psm1" => Some(Language::PowerShell),
        "lua" => Some(Language::Lua),
        _ => None,
    };
    if by_name.is_some() {
        return by_name;
    }
    if text.starts_with("#!") {
        return Some(crate::program::language_of(text).unwrap_or(Language::Other));
    }
    let hook = ["/hooks/", "/.husky/", "/.githooks/"].iter().any(|folder| name.contains(folder));
    (hook && !last.contains('.')).then_some(Language::Shell)
}

/// The command lines inside of a file that tools run: package scripts, recipes, image builds, services, schedules, workflows.
pub(crate) fn embedded(name: &str, text: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let lines = |pick: &dyn Fn(&str) -> Option<String>| {
        let joined = text.replace("\\\n", " ");
        let lines: Vec<String> = joined.lines().filter_map(pick).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    match last {
        "package.json" | "composer.json" => {
            let document: Value = serde_json::from_str(text).ok()?;
            let scripts = document.get("scripts")?.as_object()?;
            let texts: Vec<&str> = scripts.values().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        "tasks.json" | "launch.json" | "devcontainer.json" => {
            let bare: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let mut out = Vec::new();
            commands(&serde_json::from_str(&bare.join("\n")).ok()?, false, &mut out);
            (!out.is_empty()).then(|| out.join("\n"))
        }
        "makefile" | "gnumakefile" => Some(make::recipes(text)).filter(|lines| !lines.is_empty()),
        "justfile" => lines(&|line| {
            let recipe = line.strip_prefix('\t').or_else(|| line.strip_prefix("    "))?;
            Some(recipe.trim_start_matches(['@', '-', '+', ' ', '\t']).replace("$$", "$"))
        }),
        "procfile" => lines(&|line| line.split_once(": ").map(|(_, line)| line.to_owned())),
        _ if last.starts_with("dockerfile") || last.starts_with("containerfile") || last.ends_with(".dockerfile") => {
            lines(&|line| line.trim_start().strip_prefix("RUN ").map(str::to_owned))
        }
        _ if last.ends_with(".service") || last.ends_with(".desktop") || lower.contains("/systemd/") => {
            lines(&|line| {
                let (_, line) = line.strip_prefix("Exec").and_then(|rest| rest.split_once('='))?;
                Some(line.trim_start_matches(['-', '@', ':', '+', '!', '|', ' ']).replace("%h", "~").replace("%%", "%"))
            })
        }
        _ if last.ends_with(".pth") => {
            let code: Vec<&str> =
                text.lines().filter(|line| line.starts_with("import ") || line.starts_with("import\t")).collect();
            let quoted = code.join("\n").replace('\'', r"'\''");
            (!code.is_empty()).then(|| format!("python3 -c '{quoted}'"))
        }
        "crontab" => lines(&scheduled),
        _ if ["/cron.d/", "/crontabs/", "/etc/crontab"].iter().any(|place| lower.contains(place)) => lines(&scheduled),
        _ if last.ends_with(".yml") || last.ends_with(".yaml") => {
            let of_workflow = workflow::of_workflow(text).into_iter();
            let lines: Vec<String> = of_workflow.chain(playbook::lines(text)).chain(compose::lines(text)).collect();
            let lines = [lines, named::of_yaml(text)].concat();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        _ if last.ends_with(".nf") || last.ends_with(".config") => {
            Some(named::of_nextflow(text)).filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
        }
        _ => None,
    }
}

/// The command of a line of a schedule: after five fields or `@word` (crontab(5)).
fn scheduled(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    if let Some(rest) = line.strip_prefix('@') {
        return rest.split_once(char::is_whitespace).map(|(_, command)| command.trim().to_owned());
    }
    let mut rest = line;
    for _ in 0..5 {
        let (field, more) = rest.split_once(char::is_whitespace)?;
        field.starts_with(|c: char| c.is_ascii_digit() || c == '*').then_some(())?;
        rest = more.trim_start();
    }
    // A table of the machine names the user first.
    let (user, command) = rest.split_once(char::is_whitespace).unwrap_or(("", rest));
    Some(if user == "root" { command.trim_start().to_owned() } else { rest.to_owned() })
}

/// Keys under which documents have commands: of workflows, compositions of containers, pre-commit, editors and their containers.
const KEYS: &[&str] = &[
    "run",
    "script",
    "before_script",
    "after_script",
    "command",
    "commands",
    "bash",
    "sh",
    "entry",
    "entrypoint",
    "args",
    "initializeCommand",
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
    "postStartCommand",
    "postAttachCommand",
];

/// The commands below a value; `runs` says that it stands under such a key itself.
fn commands(value: &Value, runs: bool, out: &mut Vec<String>) {
    match value {
        Value::String(text) if runs && crate::bounded::has_room(out.len(), MAX_LINES) => out.push(plain(text)),
        Value::Array(items) => items.iter().for_each(|item| commands(item, runs, out)),
        Value::Object(members) => {
            // What a step is given under a name is said before its lines.
            for (name, value) in members.get("env").and_then(Value::as_object).into_iter().flatten() {
                if let Some(text) =
                    value.as_str().filter(|text| text.contains("${{") && crate::bounded::has_room(out.len(), MAX_LINES))
                {
                    out.push(format!("{name}={}", plain(text)));
                }
            }
            for (key, value) in members {
                commands(value, KEYS.contains(&key.as_str()), out);
            }
        }
        _ => {}
    }
}

impl Machine<'_> {
    /// A text that the line writes to the file `name`: judged as what it is. From a place that runs by itself it does what it does;
    /// elsewhere somebody has still to start it.
    pub(crate) fn judge_written(&mut self, name: &str, data: &crate::machine::Stream) {
        if self.depth >= crate::machine::MAX_DEPTH || name.starts_with("/dev/") {
            return;
        }
        // Of what runs by itself, the parts that are known may be enough.
        let parts = || data.parts.join("\n");
        let joined =
            if data.text.is_none() && runs_by_itself(name, &self.context.home) { parts() } else { String::new() };
        let text = data.text.as_deref().unwrap_or(&joined);
        if text.trim().is_empty() {
            return;
        }
        if runs_by_itself(name, &self.context.home) || embedded(name, text).is_some() {
            self.runs_later(text);
        }
        self.judge_proxy_settings(name, text);
        self.judge_registries(name, text);
        self.judge_settings(name, text);
        self.judge_helper(name, text);
        self.judge_composition(name, text);
        if let Some((kind, message)) = implant::of(name, text) {
            self.find(kind, message);
        }
        let inner = file(name, text, self.context);
        self.take_written(name, inner);
    }

    /// What a written text would do, where that is grave.
    fn take_written(&mut self, name: &str, inner: Inspection) {
        let by_itself = runs_by_itself(name, &self.context.home) || is_of_package(name);
        let sends = |flow: &&Flow| matches!(flow.from.as_str(), "env" | "secret") && flow.to != "?";
        for flow in inner.flows.iter().filter(sends) {
            self.touch_other(Effect::Send, TargetKind::Host, flow.to.clone());
            self.out.flow(flow.clone());
        }
        // A shell on a socket is for nobody who may be asked, whoever starts it.
        let shell = inner.findings.iter().find(|finding| finding.kind == FindingKind::ReverseShell);
        if let Some(shell) = shell.filter(|_| !by_itself) {
            self.find(FindingKind::ReverseShell, format!("{name} would, once it is run: {}", shell.message));
        }
        if by_itself {
            self.absorb_grave(inner);
            return;
        }
        let far = inner.unknowns.iter().filter(|unknown| unknown.kind == UnknownKind::TooMuch);
        self.out.unknowns.extend(far.cloned());
        if let Some(message) =
            inner.findings.iter().find(|finding| is_grave(finding.kind)).map(|finding| finding.message.clone()).or_else(
                || {
                    inner
                        .flows
                        .iter()
                        .find(|flow| matches!(flow.from.as_str(), "env" | "secret"))
                        .map(|flow| format!("{} goes to {}", flow.from, flow.to))
                },
            )
        {
            self.find(FindingKind::Persistence, format!("{name} would, once it is run: {message}"));
        }
    }

    /// Takes over of something that will run what is grave: findings that block, code from elsewhere, whom it talks to and with what.
    pub(crate) fn absorb_grave(&mut self, inner: Inspection) {
        for finding in inner.findings {
            if is_grave(finding.kind) {
                self.find(finding.kind, finding.message);
            }
        }
        let lasting = |touch: &Touch| {
            touch.kind == TargetKind::File
                && touch.effect > Effect::Read
                && path::place(&touch.name, &self.context.home) == Place::Startup
        };
        let taken: Vec<Touch> =
            inner.touches.into_iter().filter(|touch| touch.kind == TargetKind::Host || lasting(touch)).collect();
        taken.into_iter().for_each(|touch| self.out.touch(touch));
        for flow in inner.flows {
            self.out.flow(flow);
        }
        // What is past a bound may be anything.
        self.out.unknowns.extend(inner.unknowns.into_iter().filter(|unknown| unknown.kind == UnknownKind::TooMuch));
    }

    /// The texts of a project that a tool of this name runs where it is started, as far as they are known: its recipes, its scripts.
    pub(crate) fn project_texts(&mut self, base: &str, rest: &[Word]) {
        self.runs_manifests(base, rest);
        let makes = matches!(base, "make" | "gmake" | "bmake");
        let names: &[&str] = match base {
            "make" | "gmake" | "bmake" => &["Makefile", "makefile", "GNUmakefile"],
            "npm" | "pnpm" | "yarn" | "cnpm" | "bun" => &["package.json"],
            "composer" => &["composer.json"],
            "just" => &["justfile", "Justfile"],
            "docker" | "podman" | "buildah" | "nerdctl" => &["Dockerfile", "Containerfile"],
            "foreman" | "overmind" | "honcho" => &["Procfile"],
            "pip" | "pip3" | "uv" | "python" => &["setup.py"],
            "pytest" | "py.test" | "tox" | "nox" => &["conftest.py", "noxfile.py"],
            _ => return,
        };
        for name in names {
            for path in self.paths(&Word::text(*name)) {
                let context = Context { cwd: path::normalise(&path, ".."), ..self.alone() };
                let texts: Vec<String> = match self.files.get(&path) {
                    // All of what was written, and what is asked for as it runs.
                    Some(written) => {
                        let text = written.known().collect::<Vec<_>>().join("\n");
                        let wanted = wanted::of(base, &path, &text, rest);
                        if wanted == text { vec![text] } else { vec![text, wanted] }
                    }
                    // Of what was only read, what is asked for.
                    None => self
                        .context
                        .seen
                        .get(&path)
                        .map(|text| wanted::of(base, &path, text, rest))
                        .into_iter()
                        .collect(),
                };
                for text in texts {
                    let text = if makes { make::given(&text, rest) } else { text };
                    let inner = file(&path, &text, &context);
                    self.absorb_grave(inner);
                    if makes {
                        self.judge_shell_of_recipes(&text);
                    }
                }
            }
        }
    }

    /// A file that is run, as it was when it was read: only what is grave in it counts.
    pub(crate) fn judge_seen(&mut self, language: Language, path: &str) {
        if self.files.contains_key(path) {
            return;
        }
        if let Some(text) = self.context.seen.get(path) {
            let inner = crate::code::code(language, text, &self.alone());
            self.absorb_grave(inner);
        }
    }

    /// The context without the texts of files.
    fn alone(&self) -> Context {
        let Context { cwd, home, env, env_complete, .. } = self.context;
        Context { env: env.clone(), env_complete: *env_complete, ..Context::new(cwd.clone(), home.clone()) }
    }
}

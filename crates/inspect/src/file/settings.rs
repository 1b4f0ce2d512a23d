//! Settings that are code: command lines and programs inside of files by which build tools, workflows and readers of data are told what to
//! do (the manuals of Terraform, Packer, Prisma, Snakemake, GDAL, Gradle, and of the builders and test runners of JavaScript).

use countersign_plan::inspection::{Context, Inspection};
use countersign_plan::tool::TargetKind;

use crate::bounded::Bounded as _;
use crate::code::Language;
use crate::inspection::{Build as _, FindingKind, UnknownKind};
use crate::machine::Machine;

/// The most files of a line that are read once more as a part of what is run.
const MAX_FILES: usize = 128;

/// The most texts of a file that are read as lines of a shell.
pub(super) const MAX_TEXTS: usize = 64;

/// What such a line has: without any of it nothing in it is grave.
const TELLING: &[&str] = &[
    "curl", "wget", "rm -", "/dev/tcp", "nc ", "sh -c", "bash -c", "python", "perl", "~/", "$HOME", "openssl", "socat",
];

/// What the settings in a file would do, where that is grave; nothing of other files.
pub(super) fn of(name: &str, text: &str, context: &Context) -> Option<Inspection> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let lower = last.to_ascii_lowercase();
    let suffix = lower.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    let cmake = suffix == "cmake" || lower == "cmakelists.txt";
    let recipe =
        matches!(suffix, "bb" | "bbappend" | "bbclass") || (matches!(suffix, "conf" | "inc") && text.contains("${@"));
    let workflow = lower == "snakefile" || suffix == "smk";
    let script = matches!(suffix, "ts" | "mts" | "cts" | "js" | "mjs" | "cjs");
    let config = script && (lower.contains(".config.") || lower.contains(".conf.") || lower.starts_with("gulpfile"));
    let mut out = Inspection::default();
    match suffix {
        "vrt" => grave(&mut out, crate::code::code(Language::Python, &functions(text), context)),
        "ts" | "mts" | "cts" | "tsx" | "jsx" => grave(&mut out, crate::code::code(Language::Node, text, context)),
        // What `go generate` runs (go(1), "generate").
        "go" if text.contains("//go:generate ") => {
            for line in text.lines().filter_map(|line| line.strip_prefix("//go:generate ")).at_most(MAX_TEXTS) {
                grave(&mut out, crate::shell::shell(line, context));
            }
            return Some(out);
        }
        "gradle" | "groovy" => {
            grave(&mut out, crate::code::code(Language::Other, text, context));
            super::carries::sends_secrets(text, context, &mut out);
            super::project::of_gradle(&mut out, last, text);
        }
        "kts" if lower.ends_with(".gradle.kts") => super::project::of_gradle(&mut out, last, text),
        _ if super::project::is_in_ruby(&lower) => {
            super::project::of_ruby(&mut out, &lower, text, context);
            return Some(out);
        }
        _ if recipe => {
            let code = between(text, "${@", '}').replace("bb.process.run(", "os.system(");
            grave(&mut out, crate::code::code(Language::Python, &code, context));
            super::recipes::of_recipe(&mut out, text, context);
        }
        // What connects, and where plugins lie (Ansible Configuration Settings).
        "cfg" if lower == "ansible.cfg" => {}
        _ if lower.starts_with("kconfig") => {
            for line in between(text, "$(shell,", ')').lines().at_most(MAX_TEXTS) {
                grave(&mut out, crate::shell::shell(line, context));
            }
        }
        _ if matches!(lower.as_str(), ".gdbinit" | "gdbinit") || suffix == "gdb" => {
            of_debugger(&mut out, text, context)
        }
        _ if cmake => super::cmake::of_cmake(&mut out, text, context),
        _ if workflow => grave(&mut out, crate::code::code(Language::Other, text, context)),
        "csproj" | "fsproj" | "vbproj" | "proj" | "props" | "targets" => of_msbuild(&mut out, text, context),
        // wg-quick(8): lines that run when the interface comes and goes.
        "conf" if text.contains("[Interface]") => {
            let command =
                |line: &str| line.split_once('=').filter(|(key, _)| is_hook(key)).map(|(_, line)| line.to_owned());
            for line in text.lines().filter_map(command).at_most(MAX_TEXTS) {
                grave(&mut out, crate::shell::shell(&line, context));
            }
            return Some(out);
        }
        // Sources of dictionaries and functions that are programs (ClickHouse, "Executable File", "Executable User Defined Functions").
        "xml" if text.contains("executable") => {
            for part in text.split("<command>").skip(1).at_most(MAX_TEXTS) {
                let line =
                    part.split("</command>").next().unwrap_or(part).replace("&quot;", "\"").replace("&amp;", "&");
                grave(&mut out, crate::shell::shell(&line, context));
            }
            return Some(out);
        }
        "tf" | "tofu" | "hcl" | "prisma" | "nix" | "just" => {}
        _ if config || lower == "jenkinsfile" => {}
        // Operators of a workflow that are given a line (Airflow, "BashOperator").
        "py" if text.contains("bash_command") || text.contains("ssh_command") => {}
        _ => return None,
    }
    if config || !script && !matches!(suffix, "vrt" | "tsx" | "jsx") {
        out.absorb(lines_of_settings(text, context));
    }
    if workflow && let Some(line) = text.lines().find(|line| from_elsewhere(line)) {
        out.find(
            FindingKind::DownloadAndExecute,
            None,
            format!("{last} takes its rules from elsewhere: {}", line.trim()),
        );
    }
    Some(out)
}

/// What stands between a mark and the sign that closes it, a line each (Kconfig, "$(shell,command)"; BitBake User Manual, "Inline Python
/// Variable Expansion").
pub(crate) fn between(text: &str, mark: &str, close: char) -> String {
    let open = if close == ')' { '(' } else { '{' };
    let mut out = Vec::new();
    for after in text.split(mark).skip(1).at_most(MAX_TEXTS) {
        let mut depth = 1_usize;
        let end = after.find(|c| {
            depth += usize::from(c == open);
            depth -= usize::from(c == close);
            depth == 0
        });
        out.extend(end.and_then(|end| after.get(..end)).map(|part| part.replace('\n', " ")));
    }
    out.join("\n")
}

/// A line of WireGuard's settings that holds a command.
fn is_hook(key: &str) -> bool {
    ["PreUp", "PostUp", "PreDown", "PostDown"].iter().any(|hook| key.trim().eq_ignore_ascii_case(hook))
}

/// What a project file of MSBuild has run (MSBuild reference, "Exec task"; "PreBuildEvent" and "PostBuildEvent").
fn of_msbuild(out: &mut Inspection, text: &str, context: &Context) {
    let tasks = text.split("<Exec ").skip(1).filter_map(|task| {
        let (_, after) = task.split('>').next()?.split_once("Command=")?;
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        after.split(quote).nth(1)
    });
    let events = ["PreBuildEvent", "PostBuildEvent"].into_iter().flat_map(|event| {
        text.split(event).skip(1).step_by(2).filter_map(|part| part.strip_prefix('>')?.split("</").next())
    });
    for line in tasks.chain(events).at_most(MAX_TEXTS) {
        let line = line.replace("&quot;", "\"").replace("&apos;", "'").replace("&lt;", "<").replace("&gt;", ">");
        grave(out, crate::shell::shell(&line.replace("&#10;", "\n").replace("&amp;", "&"), context));
    }
}

/// Lines for a shell and blocks of Python among the commands of GDB (GDB manual, "Shell Commands", "Python Commands").
fn of_debugger(out: &mut Inspection, text: &str, context: &Context) {
    let (mut python, mut inside) = (String::new(), false);
    for line in text.lines() {
        match line.trim() {
            "python" | "py" => inside = true,
            "end" => inside = false,
            _ if inside => {
                python.push_str(line);
                python.push('\n');
            }
            line => {
                let command =
                    ["shell ", "!", "python "].iter().find_map(|word| Some((*word, line.strip_prefix(word)?)));
                match command {
                    Some(("python ", code)) => grave(out, crate::code::code(Language::Python, code, context)),
                    Some((_, line)) => grave(out, crate::shell::shell(line, context)),
                    None => {}
                }
            }
        }
    }
    grave(out, crate::code::code(Language::Python, &python, context));
}

impl Machine<'_> {
    /// What the line wrote and a program runs as a part of the project, or of what it is given.
    pub(crate) fn runs_written(&mut self, among: &dyn Fn(&str) -> bool) {
        let mut texts: Vec<(String, String)> = Vec::new();
        let written =
            self.files.iter().flat_map(|(path, written)| written.known().map(move |text| (path.as_str(), text)));
        let placed = self.placed.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        for (path, text) in written.chain(placed).filter(|(path, _)| among(path)) {
            if !self.judged.contains(&(path.to_owned(), text.len())) && crate::bounded::has_room(texts.len(), MAX_FILES)
            {
                texts.push((path.to_owned(), text.to_owned()));
            }
        }
        let folders = self.paths(&crate::machine::Word::text("."));
        let loaded = |(path, written): (&String, &crate::machine::Stream)| {
            (written.remote && among(path) && is_loaded(path, &self.by, &folders)).then(|| path.clone())
        };
        if let Some(path) = self.files.iter().find_map(loaded) {
            let message = format!("{path} is what a host sent, and `{}` runs it", self.by);
            self.find(FindingKind::DownloadAndExecute, message);
        }
        if texts.is_empty() {
            return;
        }
        // Each is read once, also where one of them runs such a program again.
        let mut context = self.context.clone();
        texts.iter().for_each(|(path, _)| drop(context.files.remove(path)));
        for (path, text) in texts {
            let inner = super::file(&path, &text, &context);
            self.judged.insert((path, text.len()));
            self.absorb_grave(inner);
        }
    }
}

/// What tools read as code wherever below their folder it lies (the manuals of Make, CMake, Cargo, pytest, Gradle, BitBake, west and Rake).
const ANYWHERE: &[(&[&str], &[&str])] = &[
    (&["make", "gmake", "bmake"], &["/makefile", "/gnumakefile", ".mk"]),
    (&["cmake", "ctest", "cpack"], &["/cmakelists.txt", ".cmake"]),
    (&["cargo"], &["/build.rs", "/cargo.toml", "/.cargo/config.toml", "/.cargo/config"]),
    (&["pytest", "py.test", "tox", "nox", "python", "python3"], &["/conftest.py", "_test.py"]),
    (&["gradle", "gradlew"], &[".gradle", ".gradle.kts"]),
    (&["bitbake"], &[".bb", ".bbappend", ".bbclass"]),
    (&["pio", "platformio"], &["/platformio.ini", ".py"]),
    (&["west"], &["/west.yml", "_commands.py", "/cmakelists.txt"]),
    (&["rake", "bundle"], &[".rake", "/rakefile", ".gemspec", "/gemfile"]),
    (&["fastlane"], &["/fastfile"]),
    (&["pod"], &["/podfile", ".podspec"]),
    (&["danger"], &["/dangerfile"]),
    (&["meson", "ninja"], &["/meson.build", "/build.ninja"]),
];

/// What they compile and then start, unless it lies among what tests are given (Cargo, "Package Layout"; `go help test`).
const SOURCES: &[(&str, &str)] = &[("cargo", ".rs"), ("go", ".go")];

/// Folders with what tests are given.
const GIVEN: &[&str] = &["/testdata/", "/fixtures/", "/test-data/", "/__fixtures__/"];

/// What one of many tools reads as code in its own folder: recipes, manifests, and scripts beside them.
const IN_ITS_FOLDER: &[&str] = &[
    "makefile",
    "gnumakefile",
    "cmakelists.txt",
    "package.json",
    "build.rs",
    "setup.py",
    "pyproject.toml",
    "conftest.py",
    "noxfile.py",
    "tasks.py",
    "fabfile.py",
    "justfile",
    "rakefile",
    "gemfile",
    "vagrantfile",
    "dockerfile",
    "pom.xml",
    "west.yml",
    "meson.build",
    "build.ninja",
    "build.xml",
];

/// Whether a file is one that a tool runs as a part of a project without being told its name.
fn is_loaded(path: &str, tool: &str, folders: &[String]) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folder, last) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let anywhere = ANYWHERE.iter().filter(|(tools, _)| tools.contains(&tool)).flat_map(|(_, ends)| *ends);
    let tests = matches!(tool, "pytest" | "py.test") && last.starts_with("test_") && last.ends_with(".py");
    let config = [".config.js", ".config.mjs", ".config.cjs", ".config.ts", ".mk", ".cmake", ".gradle", ".gradle.kts"];
    let source = SOURCES.iter().any(|(own, end)| tool == *own && lower.ends_with(end))
        && !GIVEN.iter().any(|folder| lower.contains(folder));
    let own = folders.iter().any(|own| own.eq_ignore_ascii_case(folder));
    tests
        || source
        || anywhere.into_iter().any(|end| lower.ends_with(end))
        || (own && (IN_ITS_FOLDER.contains(&last) || config.iter().any(|end| last.ends_with(end))))
}

/// The command lines and the lists of words that begin with a program in a setting, as far as they are grave.
pub(crate) fn lines_of_settings(text: &str, context: &Context) -> Inspection {
    let mut out = Inspection::default();
    for line in texts(text).into_iter().filter(|line| TELLING.iter().any(|part| line.contains(part))).at_most(MAX_TEXTS)
    {
        grave(&mut out, crate::shell::shell(&line, context));
    }
    for line in vectors(text).into_iter().at_most(MAX_TEXTS) {
        grave(&mut out, crate::shell::argv(&line, context));
    }
    out
}

/// Takes over what is grave, whom it talks to and with what.
pub(super) fn grave(out: &mut Inspection, inner: Inspection) {
    let found = inner.findings.into_iter().filter(|finding| super::is_grave(finding.kind));
    out.findings.extend(found);
    out.touches.extend(inner.touches.into_iter().filter(|touch| touch.kind == TargetKind::Host));
    out.flows.extend(inner.flows);
    out.unknowns.extend(inner.unknowns.into_iter().filter(|unknown| unknown.kind == UnknownKind::TooMuch));
}

/// The Python in the derived bands of a virtual raster (GDAL, "VRT Driver").
fn functions(text: &str) -> String {
    let mut out = String::new();
    for part in text.split("<PixelFunctionCode>").skip(1).at_most(MAX_TEXTS) {
        let code = part.split("</PixelFunctionCode>").next().unwrap_or(part).trim();
        out.push_str(code.trim_start_matches("<![CDATA[").trim_end_matches("]]>"));
        out.push('\n');
    }
    out
}

/// Whether a line of a workflow names rules or scripts at an address (Snakemake, "Modularization").
fn from_elsewhere(line: &str) -> bool {
    let line = line.trim();
    ["snakefile:", "include:", "script:", "notebook:"].iter().any(|key| line.starts_with(key)) && line.contains("://")
}

/// The quoted texts of a file, without the escapes.
fn texts(text: &str) -> Vec<String> {
    // Texts of several lines are quoted three times (Groovy, "Strings").
    let mut out: Vec<String> = ["\"\"\"", "'''"]
        .iter()
        .flat_map(|mark| text.split(mark).skip(1).step_by(2))
        .filter(|body| body.contains(' '))
        .map(str::to_owned)
        .at_most(MAX_TEXTS)
        .collect();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !matches!(c, '"' | '\'' | '`') {
            continue;
        }
        let mut body = String::new();
        let mut closed = false;
        while let Some(next) = chars.next() {
            match next {
                '\\' => body.extend(chars.next()),
                end if end == c => {
                    closed = true;
                    break;
                }
                // Of the quotes that end with their line, one alone is no quote.
                '\n' if c == '\'' => break,
                other => body.push(other),
            }
        }
        if closed && body.contains(' ') {
            out.push(body);
        }
        if !crate::bounded::has_room(out.len(), MAX_TEXTS * 8) {
            break;
        }
    }
    out
}

/// Lists of texts that begin with a program: `["bash", "-c", "…"]`.
fn vectors(text: &str) -> Vec<Vec<String>> {
    let begins = |list: &[String]| {
        let first = list.first().map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
        first.is_some_and(|name| {
            crate::program::is_shell(&name)
                || matches!(name.as_str(), "python" | "python3" | "perl" | "node" | "ruby" | "env" | "curl" | "rm")
        })
    };
    let mut out = Vec::new();
    for part in text.split('[').skip(1).at_most(MAX_TEXTS * 8) {
        let Ok(list) = serde_json::from_str::<Vec<String>>(&format!("[{}]", until_bracket(part))) else { continue };
        if list.len() > 1 && begins(&list) {
            out.push(list);
        }
    }
    out
}

/// What stands before the bracket that closes, which is none inside of a text.
fn until_bracket(part: &str) -> &str {
    let (mut quoted, mut escaped) = (false, false);
    let end = part.char_indices().find(|(_, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return true,
            _ => {}
        }
        false
    });
    end.map_or("", |(at, _)| part.get(..at).unwrap_or(""))
}

//! What is written into a project and makes it obey or deceive once it runs: a request's words that are run as a command, results of
//! tests that are made up.

use countersign_plan::inspection::{Context, Inspection};
use countersign_plan::tool::TargetKind;
use countersign_plan::verdict::Decision;

use crate::inspection::{Build as _, FindingKind};

/// What a request says, in the frameworks of the languages that servers are written in (their manuals).
const SAID: &[&str] = &[
    "req.query",
    "req.body",
    "req.params",
    "req.headers",
    "req.get(",
    "req.header(",
    "req.cookies",
    "request.args",
    "request.form",
    "request.values",
    "request.get_json",
    "request.json",
    "request.data",
    "request.GET",
    "request.POST",
    "request.query",
    "request.body",
    "request.headers",
    "request.params",
    "request.getParameter",
    "request.cookies",
    "params[",
    "params.",
    "$_GET",
    "$_POST",
    "$_REQUEST",
    "$_COOKIE",
    "$_SERVER['HTTP",
    "$_SERVER[\"HTTP",
    "r.URL.Query()",
    "r.FormValue(",
    "r.Header.Get(",
    "c.Query(",
    "c.Param(",
    "c.PostForm(",
    "ctx.query",
    "ctx.request",
    "ctx.params",
    "event.queryStringParameters",
    "event.body",
    "php://input",
];

/// Calls that run a text, as they are written.
const RUNS: &[&str] = &[
    "exec(",
    "execSync(",
    "eval(",
    "system(",
    "popen(",
    "shell_exec(",
    "passthru(",
    "proc_open(",
    "pcntl_exec(",
    "getoutput(",
    "check_output(",
    "subprocess.run(",
    "subprocess.call(",
    "subprocess.Popen(",
    "exec.Command(",
    "spawn(",
    "spawnSync(",
    "Function(",
    "runInNewContext(",
    "runInThisContext(",
    "instance_eval(",
    "class_eval(",
    "capture2(",
    "capture3(",
    "Command::new(",
];

/// What such calls belong to; a method of anything else of that name (`pattern.exec(…)`) runs nothing.
const OWNERS: &[&str] = &[
    "child_process",
    "cp",
    "childProcess",
    "os",
    "subprocess",
    "sp",
    "Kernel",
    "vm",
    "IO",
    "Open3",
    "commands",
    "getRuntime()",
    "require(\"child_process\")",
    "require('child_process')",
    "require(\"node:child_process\")",
    "Process",
    "PTY",
];

/// What makes the results of tests up (pytest, "Hooks"; the runners of JavaScript).
const MADE_UP: &[&str] = &[
    "outcome=\"passed\"",
    "outcome='passed'",
    "longrepr=None",
    "exitstatus=0",
    "process.exit=",
    "pytest.exit(0",
    "returncode=0)",
    "failed=0;",
    "testsfailed=0",
];

/// What is wrong with a text that is written to the file `name`.
pub(crate) fn of(name: &str, text: &str) -> Option<(FindingKind, String)> {
    let lower = name.to_ascii_lowercase();
    // Samples that scanners are tested with hold such code.
    let sample = ["/test", "fixture", "sample", "vuln", "/rules/", "semgrep", "/spec", ".md", ".txt"]
        .iter()
        .any(|part| lower.contains(part));
    if !sample && obeys(text) {
        return Some((FindingKind::OpensToAnybody, format!("{name} would run what a request tells it")));
    }
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let decides = last == "conftest.py"
        || last.starts_with("setuptests")
        || last.contains(".setup.")
        || last == "sitecustomize.py";
    let tight: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    (decides && MADE_UP.iter().any(|part| tight.contains(part)))
        .then(|| (FindingKind::DisablesProtection, format!("{name} would make the results of tests up")))
}

/// Whether code runs what a request says, itself or by a name that it gives it.
fn obeys(text: &str) -> bool {
    if !SAID.iter().any(|said| text.contains(said)) {
        return false;
    }
    let named: Vec<&str> = text.lines().take(4096).filter_map(given).collect();
    RUNS.iter().any(|call| {
        text.match_indices(call).take(64).any(|(at, _)| {
            owns(text.get(..at).unwrap_or("")) && is_said(text.get(at + call.len()..).unwrap_or(""), &named)
        })
    })
}

/// The name that a line gives to what a request says.
fn given(line: &str) -> Option<&str> {
    let (before, after) = line.split_once('=')?;
    let name = before.trim_end().trim_end_matches(':');
    let name = name.get(name.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |i| i + 1)..)?;
    let value = after.trim_start_matches(['=', ' ']);
    (name.len() > 1 || name == "c").then_some(name).filter(|_| begins(value, &[]))
}

/// Whether a call after these words is one of its own, or of what runs programs.
fn owns(before: &str) -> bool {
    match before.chars().next_back() {
        Some('.') => OWNERS.iter().any(|owner| before.trim_end_matches('.').ends_with(owner)),
        Some(c) => !(c.is_alphanumeric() || matches!(c, '_' | '>' | ':')),
        None => true,
    }
}

/// Whether the arguments of a call begin with what a request says, or hand it to a shell.
fn is_said(arguments: &str, named: &[&str]) -> bool {
    let arguments = arguments.get(..arguments.len().min(400)).or_else(|| arguments.lines().next()).unwrap_or("");
    let of_shell = || {
        let (_, command) = arguments.split_once("-c").filter(|(before, _)| before.len() < 24)?;
        Some(begins(command.trim_start_matches(['"', '\'', '`', ',', ' ']), named))
    };
    begins(arguments, named) || of_shell().unwrap_or(false)
}

/// Whether a text begins with what a request says, in whatever it is wrapped.
fn begins(text: &str, named: &[&str]) -> bool {
    let mut rest = text;
    for _ in 0..6 {
        rest = rest.trim_start_matches(['"', '\'', '`', '{', '(', '[', '@', ' ', '!', '&']);
        let known = |name: &&&str| {
            rest.trim_start_matches('$')
                .strip_prefix(**name)
                .is_some_and(|more| !more.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '(')))
        };
        if SAID.iter().any(|said| rest.starts_with(said)) || named.iter().find(known).is_some() {
            return true;
        }
        if let Some(more) = rest.strip_prefix("${").or_else(|| rest.strip_prefix("#{")) {
            rest = more;
            continue;
        }
        let end =
            rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '\\'))).unwrap_or(rest.len());
        match rest.get(end..).and_then(|more| more.strip_prefix('(')) {
            Some(more) if end > 0 => rest = more,
            _ => return false,
        }
    }
    false
}

/// Calls of compiled languages that start a program, with what stands before the line or the words (the libraries of Go, Rust, C, Java,
/// Kotlin, C# and Swift).
const STARTS: &[&str] = &[
    "exec.Command(",
    "exec.CommandContext(",
    "Command::new(",
    "system(",
    "popen(",
    "getRuntime().exec(",
    "ProcessBuilder(",
    "Process.Start(",
    "execSync(",
    "execl(",
    "execlp(",
    "execvp(",
    "execve(",
    "syscall.Exec(",
];

/// What connects.
const CONNECTS: &[&str] = &[
    "net.Dial(",
    "net.DialTimeout(",
    "TcpStream::connect",
    "new Socket(",
    "socket(AF_INET",
    "socket(PF_INET",
    "TcpClient(",
    "net.connect(",
    "Socket.Connect",
];

/// What removes a folder with all below.
const REMOVES: &[&str] = &[
    "os.RemoveAll(",
    "remove_dir_all(",
    "deleteRecursively(",
    "FileUtils.deleteDirectory(",
    "Directory.Delete(",
    "removeItem(",
    "remove_all(",
    "rmSync(",
    "rimraf(",
    "FileUtils.cleanDirectory(",
];

/// What the home folder is called there.
const HOMES: &[&str] = &[
    "UserHomeDir()",
    "Getenv(\"HOME\")",
    "var(\"HOME\")",
    "home_dir()",
    "user.home",
    "NSHomeDirectory",
    "homeDirectoryForCurrentUser",
    "getenv(\"HOME\")",
    "SpecialFolder.UserProfile",
    "os.homedir()",
    "homedir()",
    "(\"/\")",
    "(\"/home\")",
    "(\"/etc\")",
    "process.env.HOME",
];

/// What code of a compiled language does that is grave, by the calls that stand in it; nothing of other files.
pub(super) fn compiled(name: &str, text: &str, context: &Context) -> Option<Inspection> {
    let suffix = name.rsplit('/').next().and_then(|last| last.rsplit_once('.')).map_or("", |(_, suffix)| suffix);
    let known = [
        "go", "rs", "c", "cc", "cpp", "cxx", "h", "hpp", "java", "kt", "kts", "cs", "swift", "scala", "ts", "tsx",
        "mts", "zig", "d", "nim",
    ];
    if !known.contains(&suffix) {
        return None;
    }
    let mut out = Inspection::default();
    let says = |list: &[&str]| list.iter().any(|part| text.contains(part));
    let started: Vec<&str> = STARTS
        .iter()
        .flat_map(|call| text.match_indices(call).take(16).map(|(at, _)| text.get(at + call.len()..).unwrap_or("")))
        .collect();
    if says(CONNECTS) && (!started.is_empty() || says(&["/bin/sh", "/bin/bash", "dup2("])) {
        out.find(FindingKind::ReverseShell, None, format!("{name} connects a program to a socket"));
    }
    let home = says(HOMES);
    let removes = text.lines().any(|line| REMOVES.iter().any(|call| line.contains(call)));
    if home && removes {
        out.find(
            FindingKind::DestroysHome,
            None,
            format!("{name} removes folders with all below, and speaks of the home folder or the root"),
        );
    }
    for call in started {
        let call = call.split([';', '\n']).next().unwrap_or(call);
        // Every second part stands in quotes.
        let words: Vec<&str> = call.split('"').skip(1).step_by(2).collect();
        let line =
            words.iter().find(|word| word.contains(' ')).map_or_else(|| words.join(" "), |line| (*line).to_owned());
        let inner = crate::shell::shell(&line, context);
        out.findings.extend(inner.findings.into_iter().filter(|finding| {
            finding.kind == FindingKind::DownloadAndExecute || finding.kind.decision() == Decision::Block
        }));
        out.touches.extend(inner.touches.into_iter().filter(|touch| touch.kind == TargetKind::Host));
    }
    Some(out)
}

//! What is written into a project and makes it obey or deceive once it runs: a request's words that are run as a command, results of
//! tests that are made up.

use countersign_plan::inspection::{Flow, Inspection};

use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, FindingKind};

/// The most lines and calls of a text that are looked at.
const MAX_LINES: usize = 1 << 14;

/// All secrets of a build service at once go where anything of its commands goes (GitHub's documentation, "Contexts").
pub(super) fn all_secrets(name: &str, text: &str, out: &mut Inspection) {
    let workflow = name.ends_with(".yml") || name.ends_with(".yaml");
    if !workflow || out.flows.is_empty() || !text.to_lowercase().replace(' ', "").contains("tojson(secrets)") {
        return;
    }
    let hosts: Vec<String> = out.flows.iter().map(|flow| flow.to.clone()).collect();
    hosts.into_iter().for_each(|to| out.flow(Flow { from: "secret".to_owned(), to }));
}

/// What a page says of whatever its visitors write into any part of it (HTML and UI Events standards).
const HEARD: &[&str] = &["submit", "input", "change", "keydown", "keyup", "keypress", "beforeinput", "paste"];

/// Calls by which a page sends something (Beacon, Fetch, XMLHttpRequest and WebSocket standards).
const SENT: &[&str] = &["sendBeacon(", "fetch(", "XMLHttpRequest", "WebSocket(", "new Image", ".src="];

/// To whom a page gives what its visitors write anywhere in it: a listener of the whole document beside a call that sends.
pub(crate) fn overhears(text: &str) -> Option<String> {
    let listens = ["document.addEventListener(", "window.addEventListener("].iter().any(|call| {
        text.match_indices(call).take(MAX_LISTENERS).any(|(at, _)| {
            let rest = text.get(at + call.len()..).unwrap_or("").trim_start_matches(['\\', '\'', '"', '`', ' ']);
            HEARD
                .iter()
                .any(|event| rest.strip_prefix(event).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
        })
    });
    let at = SENT.iter().filter_map(|call| text.find(call)).min().filter(|_| listens)?;
    let address = text.get(at..)?.split_once("://")?.1;
    let end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':'));
    let host = address.split(end).next().filter(|host| host.contains('.') && !crate::host::is_local(host))?;
    Some(host.to_owned())
}

/// The most listeners of one text that are looked at.
const MAX_LISTENERS: usize = 64;

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
    "$q->param(",
    "$cgi->param(",
    "$query->param(",
    "$ENV{QUERY_STRING}",
    "ENV['QUERY_STRING']",
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
    if hides_a_module(name, text) {
        return Some((
            FindingKind::DecodeAndExecute,
            format!("{name} would run what it decodes, by a module that it does not name"),
        ));
    }
    let lower = name.to_ascii_lowercase();
    // Samples that scanners are tested with hold such code.
    let sample = ["/test", "fixture", "sample", "vuln", "/rules/", "semgrep", "/spec", ".md", ".txt"]
        .iter()
        .any(|part| lower.contains(part));
    if !sample && (obeys(text) || obeys_in_quotes(&lower, text)) {
        return Some((FindingKind::OpensToAnybody, format!("{name} would run what a request tells it")));
    }
    // Whoever has the number of root is root (passwd(5)).
    let root = |line: &str| {
        let mut fields = line.split(':');
        fields.next().is_some_and(|user| !user.is_empty() && user != "root") && fields.nth(1) == Some("0")
    };
    if lower.ends_with("/etc/passwd") && text.lines().any(root) {
        return Some((FindingKind::OpensToAnybody, format!("{name} gets another name for root")));
    }
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let decides = last == "conftest.py"
        || last.starts_with("setuptests")
        || last.contains(".setup.")
        || last == "sitecustomize.py";
    let tight: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    (decides && MADE_UP.iter().any(|part| tight.contains(part)))
        .then(|| format!("{name} would make the results of tests up"))
        .or_else(|| super::weakens_tests(name, text))
        .map(|message| (FindingKind::DisablesProtection, message))
}

/// Whether a script of JavaScript loads a module under a name that it puts together, and decodes a text (Node.js, "Modules", "Buffer"): no
/// setting of a tool needs either.
fn hides_a_module(name: &str, text: &str) -> bool {
    let script = [".js", ".mjs", ".cjs"].iter().any(|suffix| name.ends_with(suffix));
    let put_together = |(at, call): (usize, &str)| {
        let given = text.get(at + call.len()..).unwrap_or("").trim_start();
        !given.starts_with(['"', '\'', '`', ')'])
    };
    let decodes = text.contains("atob(")
        || (text.contains("Buffer.from(")
            && ["hex", "base64"]
                .iter()
                .any(|code| text.contains(&format!("'{code}'")) || text.contains(&format!("\"{code}\""))));
    script && decodes && text.match_indices("require(").any(put_together)
}

/// Whether code runs what a request says, itself or by a name that it gives it.
fn obeys(text: &str) -> bool {
    if !SAID.iter().any(|said| text.contains(said)) {
        return false;
    }
    let named: Vec<&str> = text.lines().at_most(MAX_LINES).filter_map(given).collect();
    RUNS.iter().any(|call| {
        text.match_indices(call).at_most(MAX_LINES).any(|(at, _)| {
            owns(text.get(..at).unwrap_or("")) && is_said(text.get(at + call.len()..).unwrap_or(""), &named)
        })
    })
}

/// Whether code of a language that runs what stands between backquotes has what a request says there (perlop, "Quote-Like Operators";
/// Ruby, "Kernel#`"; PHP manual, "Execution Operators"). In JavaScript they are strings.
fn obeys_in_quotes(lower: &str, text: &str) -> bool {
    let last = lower.rsplit('/').next().unwrap_or(lower);
    let suffix = last.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    let script = ["#!", "<?php"].iter().any(|start| text.starts_with(start))
        && ["perl", "ruby", "php"].iter().any(|name| text.lines().next().is_some_and(|line| line.contains(name)));
    let ruby = matches!(suffix, "rb" | "erb" | "rake" | "ru" | "haml" | "slim") || last == "rakefile";
    let perl = matches!(suffix, "pl" | "pm" | "cgi" | "psgi" | "t");
    if !(script || ruby || perl || matches!(suffix, "php" | "phtml" | "php5" | "php7" | "inc"))
        || !SAID.iter().any(|said| text.contains(said))
    {
        return false;
    }
    let named: Vec<&str> = text.lines().at_most(MAX_LINES).filter_map(given).collect();
    text.lines().at_most(MAX_LINES).any(|line| {
        let quoted = line.split('`').skip(1).step_by(2);
        let marked = ["%x", "qx"].iter().filter_map(|mark| {
            let (before, rest) = line.split_once(mark)?;
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '%' | '$'));
            rest.trim_start().strip_prefix(['(', '{', '[', '<', '/', '|', '!']).filter(|_| begins)
        });
        quoted.chain(marked).any(|command| is_said(command, &named))
    })
}

/// The name that a line gives to what a request says.
fn given(line: &str) -> Option<&str> {
    let (before, after) = line.split_once('=')?;
    let name = before.trim_end().trim_end_matches(':');
    let name = name.get(name.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |i| i + 1)..)?;
    let value = after.trim_start_matches(['=', ' ']);
    (!name.is_empty()).then_some(name).filter(|_| begins(value, &[]))
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

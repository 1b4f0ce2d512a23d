//! What code of languages that are not read does, where that is grave by the calls that stand in it: a shell between a socket and a
//! program, the home folder or the root that is removed, a constant line for a shell.

use countersign_plan::inspection::{Context, Inspection};
use countersign_plan::tool::TargetKind;

use super::carries::{fetches_and_runs, sends_secrets};

use crate::bounded::Bounded as _;
use crate::inspection::{Build as _, FindingKind};
use crate::machine::Machine;

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
    "execute_command_line(",
    "execl(",
    "execlp(",
    "execvp(",
    "execve(",
    "syscall.Exec(",
];

/// What connects.
pub(super) const CONNECTS: &[&str] = &[
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
        "go", "rs", "c", "cc", "cpp", "cxx", "h", "hpp", "cu", "cuh", "hip", "m", "mm", "java", "kt", "kts", "cs",
        "swift", "scala", "ts", "tsx", "mts", "zig", "d", "nim", "f90", "f95", "f03", "f08", "f",
    ];
    if !known.contains(&suffix) {
        return None;
    }
    let mut out = Inspection::default();
    let says = |list: &[&str]| list.iter().any(|part| text.contains(part));
    let starts: Vec<(usize, &str)> = STARTS
        .iter()
        .flat_map(|call| {
            text.match_indices(call).at_most(MAX_CALLS).map(|(at, _)| (at, text.get(at + call.len()..).unwrap_or("")))
        })
        .collect();
    if says(CONNECTS) && (!starts.is_empty() || says(&["/bin/sh", "/bin/bash", "dup2("])) {
        out.find(FindingKind::ReverseShell, None, format!("{name} connects a program to a socket"));
    }
    sends_secrets(text, context, &mut out);
    let home = says(HOMES);
    let removes = text.lines().any(|line| REMOVES.iter().any(|call| line.contains(call)));
    if home && removes {
        out.find(
            FindingKind::DestroysHome,
            None,
            format!("{name} removes folders with all below, and speaks of the home folder or the root"),
        );
    }
    for (at, call) in starts {
        // As its compiler reads them; and as they stand in its line, where a comment or a bound may hide one from that.
        let bare = call.split([';', '\n']).next().unwrap_or(call);
        let quote = if bare.contains('"') { '"' } else { '\'' };
        let bare: Vec<String> = bare.split(quote).skip(1).step_by(2).map(str::to_owned).collect();
        let read = super::constants::of_call(text.get(..at).unwrap_or(""), call);
        let line =
            |words: &[String]| words.iter().find(|word| word.contains(' ')).cloned().unwrap_or_else(|| words.join(" "));
        let lines = std::collections::BTreeSet::from([line(&read), line(&bare)]);
        for line in lines {
            let inner = crate::shell::shell(&line, context);
            out.findings.extend(inner.findings.into_iter().filter(|finding| super::is_grave(finding.kind)));
            out.touches.extend(inner.touches.into_iter().filter(|touch| touch.kind == TargetKind::Host));
            out.flows.extend(inner.flows);
        }
    }
    Some(out)
}

/// The most calls that are looked at.
pub(super) const MAX_CALLS: usize = 256;

/// Calls by which the languages that are not read start a program, as they are written (the manuals of Julia, R, Octave, Groovy, Elixir,
/// Erlang, Haskell, OCaml, Scala, Clojure, Racket, Guile, Raku, Nim, Crystal and Dart).
const RUNS: &[&str] = &[
    "system(",
    "system2(",
    "system ",
    "shell(",
    "shell ",
    "run(",
    "run ",
    "pipeline(",
    "processx::run(",
    "Sys.command",
    "callCommand",
    "callProcess",
    "readProcess",
    "spawnCommand",
    "spawnProcess",
    "System.cmd(",
    "System.shell(",
    ":os.cmd(",
    "os:cmd(",
    "open_port(",
    "execShellCmd(",
    "execCmd(",
    "execProcess(",
    "execCmdEx(",
    "Process.run(",
    "Process.runSync(",
    "Process.start(",
    "os.proc(",
    "os.execute(",
    "os.system(",
    "popen(",
    "ProcessBuilder(",
    "getRuntime().exec(",
    "runtime.exec(",
    "(sh ",
    "/sh ",
    "dos(",
    "unix(",
];

/// Calls that remove a folder with all below in those languages.
const TAKES: &[&str] = &[
    "rm(",
    "unlink(",
    "file delete -force",
    ".deleteDir(",
    "deleteRecursively",
    "File.rm_rf",
    "del_dir_r(",
    "removeDirectoryRecursive",
    "removePathForcibly",
    "removeDir(",
    "FileUtils.rm_r",
    "rmdir_all(",
    "rmdir(",
    "delete-directory",
    "delete-tree",
    "rmtree",
    "remove.all(",
    "walkBottomUp",
    "deleteSync(recursive",
    "delete(recursive",
    "FileUtils.deleteDirectory(",
    "cleanDirectory(",
];

/// What makes one of those go through all that lies below, where it does not by itself.
const BELOW: &[(&str, &[&str])] = &[
    ("rm(", &["recursive=true", "recursive = true"]),
    ("unlink(", &["recursive=T", "recursive = T"]),
    ("rmdir(", &["\"s\"", "'s'"]),
];

/// The home folder and the root in those languages.
const ROOTS: &[&str] = &[
    "homedir()",
    "\"~\"",
    "'~'",
    "\"~/\"",
    "'~/'",
    "\"/\"",
    "'/'",
    "user_home!()",
    "user_home!",
    "user_home()",
    "getHomeDirectory",
    "getHomeDir()",
    "(\"HOME\")",
    "[\"HOME\"]",
    "getenv \"HOME\"",
    "env(HOME)",
    "user.home\")",
    "['HOME']",
    "'home-dir",
    "Path.home",
    "$*HOME",
];

/// What connects there.
const JOINS: &[&str] = &[
    "connect(",
    "socketConnection(",
    "make.socket(",
    "socket -",
    "[socket ",
    "new Socket(",
    "gen_tcp",
    "connectTo",
    "newSocket(",
    "dial(",
    "TCPSocket.new",
    "IO::Socket",
    "open_connection",
    "tcp-connect",
];

/// What runs as code what it is given.
pub(super) const EVALUATES: &[&str] = &[
    "source(",
    "source_url(",
    "include(",
    "include_string(",
    "eval(",
    "evaluate(",
    "eval_string(",
    "eval [",
    "EVAL",
    "load-string",
];

/// What makes a text out of numbers or of another text.
const DECODES: &[&str] =
    &["base64decode(", "base64_dec(", "base64_decode(", "rawToChar(", "intToUtf8(", "chartr(", "String(UInt8["];

/// What runs a program, or calls what a text names.
pub(super) const CALLS_BY_NAME: &[&str] =
    &["system(", "system2(", "shell(", "run(", "get(", "match.fun(", "do.call(", "getFunction(", "getfield("];

/// Shells whose language is another one.
const SHELLS: &[&str] = &["nu", "xonsh", "elvish", "osh", "ysh"];

impl Machine<'_> {
    /// What is grave in code of a language that is not read; the rest of it stays unknown.
    pub(crate) fn foreign_code(&mut self, text: &str) {
        if crate::shell::is_deep() {
            return;
        }
        let by = self.by.clone();
        let tcl = matches!(by.as_str(), "tclsh" | "wish" | "expect");
        let lines = if tcl { of_tcl(text) } else { started(text) };
        // Shells of their own kind have the words of any.
        if SHELLS.contains(&by.as_str()) {
            self.judge_line(text);
        }
        let says = |list: &[&str]| list.iter().any(|part| text.contains(part));
        // What is started is told by somebody else where no constant stands in the call.
        let told = RUNS.iter().any(|call| {
            text.split(call)
                .skip(1)
                .at_most(MAX_CALLS)
                .any(|rest| rest.starts_with(|c: char| c.is_alphabetic()) && call.ends_with('('))
        });
        let shell = told
            || says(&[
                "/bin/sh",
                "/bin/bash",
                "cmd.exe",
                "sh -i",
                "bash -i",
                "sh -c",
                "bash -c",
                "\"sh\"",
                "\"bash\"",
                "`sh`",
                "`bash`",
            ]);
        if says(JOINS) && (shell || says(&["exec ", "open \"|", "eval "]) && tcl) {
            self.find(FindingKind::ReverseShell, format!("the code of `{by}` connects a program to a socket"));
        }
        if statements(text).iter().any(|statement| takes_home(statement, &self.context.home))
            || takes_what_it_holds(text)
        {
            let message = format!("the code of `{by}` removes the home folder or the root with all below");
            self.find(FindingKind::DestroysHome, message);
        }
        let fetched =
            |statement: &str| statement.contains("://") && EVALUATES.iter().any(|call| statement.contains(call));
        if statements(text).into_iter().any(fetched) {
            self.find(FindingKind::DownloadAndExecute, format!("the code of `{by}` runs what a host sends"));
        }
        let runs = |statement: &str, calls: &[&str]| calls.iter().any(|call| statement.contains(call));
        let decoded = |statement: &str| {
            (statement.to_ascii_lowercase().contains("base64") && runs(statement, EVALUATES))
                || (runs(statement, DECODES) && (runs(statement, EVALUATES) || runs(statement, CALLS_BY_NAME)))
        };
        if fetches_and_runs(text) {
            self.find(FindingKind::DownloadAndExecute, format!("the code of `{by}` runs what it fetches"));
        }
        let decoder = says(&[
            "Base64.getDecoder",
            "Base64.decode",
            "base64.b64decode",
            "StdEncoding.DecodeString",
            "base64Decode(",
        ]);
        let starts = says(&["ProcessBuilder(", "getRuntime().exec(", "Process.Start(", "exec.Command("]);
        if statements(text).into_iter().any(decoded) || (decoder && starts) {
            self.find(FindingKind::DecodeAndExecute, format!("the code of `{by}` runs what it decodes"));
        }
        if (text.contains("repeat") || text.contains("while (TRUE)") || text.contains("while true"))
            && (text.contains("mcfork(") || text.contains("mcparallel("))
        {
            self.find(FindingKind::ForkBomb, format!("the code of `{by}` starts itself without end"));
        }
        for line in lines.into_iter().at_most(MAX_CALLS) {
            self.judge_line(&line);
        }
    }

    /// A line for a shell inside of such code: what is grave in it counts.
    fn judge_line(&mut self, line: &str) {
        let inner = crate::shell::shell(line, self.context);
        self.absorb_grave(inner);
    }
}

/// The statements of a code: its lines, and what a semicolon outside of brackets and quotes ends.
fn statements(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut depth, mut from, mut quote) = (0_i32, 0, None);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\n', _) => quote = None,
            (_, Some(_)) => {}
            ('"' | '`', None) => quote = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth -= 1,
            _ => {}
        }
        if c == '\n' || (c == ';' && depth <= 0 && quote.is_none()) {
            out.push(text.get(from..at).unwrap_or(""));
            from = at + 1;
            depth = 0;
        }
        if out.len() >= 4096 {
            return out;
        }
    }
    out.push(text.get(from..).unwrap_or(""));
    out
}

/// Whether a statement removes the home folder or the root itself, and not something below.
fn takes_home(statement: &str, home: &str) -> bool {
    let recursive = |call: &str| {
        BELOW
            .iter()
            .find(|(name, _)| *name == call)
            .is_none_or(|(_, flags)| flags.iter().any(|flag| statement.contains(flag)))
    };
    if !TAKES.iter().any(|call| statement.contains(call) && recursive(call)) {
        return false;
    }
    let quoted = [format!("\"{home}\""), format!("'{home}'"), format!("\"{home}/\""), format!(" {home}")];
    let named =
        ROOTS.iter().copied().chain(quoted.iter().map(String::as_str)).chain(["/home\"", "\"/etc\"", "\"/usr\""]);
    named.into_iter().any(|root| {
        statement.match_indices(root).at_most(MAX_CALLS).any(|(at, _)| {
            let after =
                statement.get(at + root.len()..).unwrap_or("").trim_start_matches([')', '!', ']', '(', ' ', '\'']);
            // What is joined to it names something below.
            match after.strip_prefix(',').map(str::trim_start) {
                Some(next) => !next.starts_with(['"', '\'']) || next.starts_with("\"s\"") || next.starts_with("'s'"),
                None => {
                    after.is_empty()
                        || after.starts_with([';', '}', '|'])
                        || after.starts_with(".delete")
                        || after.starts_with(".walk")
                        || after.starts_with("t)")
                }
            }
        })
    })
}

/// Whether a name is given the home folder itself, and something is removed in a loop or by a name.
fn takes_what_it_holds(text: &str) -> bool {
    const HOMES: &[&str] = &[
        "homedir()",
        "['HOME']",
        "[\"HOME\"]",
        "user.home\")",
        "getHomeDir()",
        "user_home!()",
        "path.expand(\"~\")",
        "normalizePath(\"~\")",
        "Sys.getenv(\"HOME\")",
    ];
    let all = statements(text);
    let given = |statement: &&&str| {
        let (_, value) = statement.split_once("<-").or_else(|| statement.split_once('='))?;
        let value = value.trim().trim_end_matches([';', '!', ' ']);
        HOMES.iter().any(|home| value.ends_with(home) && value.matches(home).count() == 1).then_some(())
    };
    let names: Vec<&str> = all
        .iter()
        .filter(|statement| given(statement).is_some())
        .filter_map(|statement| statement.split("<-").next()?.split('=').next()?.split_whitespace().next_back())
        .at_most(MAX_CALLS)
        .collect();
    // What the name stands for is listed or removed as it is.
    let taken = |name: &&str| [")", ","].iter().any(|end| text.contains(&format!("({name}{end}")));
    names.iter().any(taken)
        && all.iter().any(|statement| TAKES.iter().any(|call| statement.contains(call)) && !statement.contains('"'))
}

/// The constant lines for a shell, and programs with constant words, that calls in a text start.
pub(crate) fn started(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for call in RUNS {
        for (at, _) in text.match_indices(call).at_most(MAX_CALLS) {
            let before = text.get(..at).and_then(|head| head.chars().next_back());
            let word = call.starts_with(|c: char| c.is_alphanumeric());
            if word && before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let strings = strings(text.get(at + call.len()..).unwrap_or(""));
            let piped =
                text.get(at..).is_some_and(|rest| rest.starts_with("pipeline(") || rest.starts_with("run(pipeline("));
            out.extend(line_of(&strings, piped));
        }
    }
    // `"…".execute()`, `"…".!`: the string stands before the call (Groovy JDK, "String"; Scala, "sys.process").
    for call in [".execute(", ".!", ".!!"] {
        for (at, _) in text.match_indices(call).at_most(MAX_CALLS) {
            let before = text.get(..at).unwrap_or("").trim_end_matches([']', ')']);
            let listed = before.len() < at;
            let from = if listed { before.rfind(['[', '(']) } else { opening(before) };
            out.extend(line_of(&strings(before.get(from.unwrap_or(0)..).unwrap_or("")), false));
        }
    }
    out
}

/// Where the string begins with which a text ends.
fn opening(text: &str) -> Option<usize> {
    let mark = text.chars().next_back().filter(|c| matches!(c, '"' | '\''))?;
    text.get(..text.len() - 1)?.rfind(mark)
}

/// A line for a shell out of the strings of a call: the first where it is one, or all of them as words.
fn line_of(strings: &[String], piped: bool) -> Option<String> {
    let first = strings.first()?;
    if piped {
        return Some(strings.join(" | "));
    }
    if first.contains(' ') {
        return Some(first.clone());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '~' | ':' | '=');
    let words = strings
        .iter()
        .map(|word| if word.chars().all(plain) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) });
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The strings of one call's arguments.
fn strings(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut depth = 0_i32;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' | '`' => {
                let mut string = String::new();
                while let Some(next) = chars.next() {
                    match next {
                        '\\' => string.extend(chars.next()),
                        end if end == c => break,
                        other => string.push(other),
                    }
                }
                out.push(string);
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            '\n' => break,
            ';' if depth == 0 => break,
            _ => {}
        }
        if !crate::bounded::has_room(out.len(), MAX_CALLS) {
            break;
        }
    }
    out
}

/// What `exec` and `open "|…"` of Tcl start, as a line: braces quote (Tcl manual, "Tcl", "exec", "open"; Expect, "spawn").
fn of_tcl(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for call in ["exec ", "spawn ", "system ", "open \"|"] {
        for (at, _) in text.match_indices(call).at_most(MAX_CALLS) {
            let line = text.get(at + call.len()..).unwrap_or("");
            let line =
                line.split(['\n', ';']).next().unwrap_or(line).trim_start_matches("--").trim_end_matches([']', '"']);
            out.push(line.replace(['{', '}'], "'").replace("$::env(HOME)", "~").replace("$env(HOME)", "~"));
        }
    }
    out
}

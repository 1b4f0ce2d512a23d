//! Lines of a shell that stand in values of programs as if they were settings: what a tool calls instead of LaTeX, what a configuration is
//! to make objects of, what a host or a container is told (the manuals of latexmk, Hydra, Deployer, Docker and MySQL).

use countersign_plan::tool::{Effect, TargetKind};

use super::tasks::has;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Variable, Word};

/// The most lines of one command.
const MAX_LINES: usize = 16;

/// What makes a process of what it is given, as a configuration names it (Hydra, "Instantiating objects").
const STARTING: &[&str] = &[
    "os.system",
    "os.popen",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "pty.spawn",
    "builtins.eval",
    "builtins.exec",
    "commands.getoutput",
];

/// Variables by which servers are told where to listen (the manuals of Gradio, Streamlit, Flask, Vite and Node's servers).
const LISTENING: &[&str] =
    &["GRADIO_SERVER_NAME", "STREAMLIT_SERVER_ADDRESS", "FLASK_RUN_HOST", "HOST", "BIND", "LISTEN"];

impl Machine<'_> {
    pub(super) fn judge_embedded(&mut self, base: &str, rest: &[Word], stdin: &Stream) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let after = |option: &str| {
            let at = words.iter().position(|word| word == option)?;
            words.get(at + 1).cloned()
        };
        match base {
            "latexmk" => {
                let code = after("-e").unwrap_or_default();
                self.lines_run(&quoted(&code));
            }
            "dep" if words.first().is_some_and(|word| word == "run") => {
                if let Some(line) = rest.iter().skip(1).find(|word| word.prefix().contains(' ')) {
                    self.elsewhere(std::slice::from_ref(line), &[]);
                }
            }
            // What Composer runs after it did something (Composer, "Scripts").
            "composer" if words.iter().any(|word| word.starts_with("scripts.")) => {
                let at = words.iter().position(|word| word.starts_with("scripts.")).unwrap_or(0);
                self.lines_run(words.get(at + 1..).unwrap_or_default());
            }
            "docker" | "podman" | "nerdctl" => self.by_entrypoint(&words),
            "lftp" => self.transfers(&words),
            "screen" | "tmux" | "dtach" | "abduco" | "byobu" => self.in_a_terminal(&words),
            "fd" | "fdfind" => self.for_each_found(&words),
            "rclone" | "btrfs" | "7z" | "7za" | "7zr" | "7zz" => self.removes_folders(base, &words),
            "userdel" | "deluser" => self.removes_user(base, &words),
            "etcdctl" | "consul" => self.removes_all_keys(base, &words),
            "websocat"
                if words.iter().any(|word| ["sh-c:", "cmd:", "exec:"].iter().any(|how| word.starts_with(how))) =>
            {
                self.find(FindingKind::ReverseShell, "a program is connected to a socket of the web");
            }
            _ => {}
        }
        if takes_commands(base, &words) {
            self.judge_input(stdin);
        }
        self.instantiated(&words);
        self.listens_by_variable(base);
    }

    /// `lftp -e "put FILE; bye" HOST`, `mirror -R FOLDER` (lftp(1)).
    fn transfers(&mut self, words: &[String]) {
        let script = words.windows(2).find_map(|pair| match pair {
            [option, script] if matches!(option.as_str(), "-e" | "-c") => Some(script.clone()),
            _ => None,
        });
        let Some(script) = script else { return };
        let commands: Vec<Vec<&str>> =
            script.split([';', '\n']).map(|line| line.split_whitespace().collect()).take(MAX_LINES).collect();
        let opened = commands.iter().find(|line| line.first() == Some(&"open")).and_then(|line| line.last().copied());
        let named = words.iter().find(|word| !word.starts_with('-') && **word != script).map(String::as_str);
        let Some(host) = opened.or(named).and_then(|host| crate::host::read(host).name) else { return };
        for line in &commands {
            let sends = match line.as_slice() {
                ["put" | "mput", ..] => true,
                ["mirror", rest @ ..] => rest.iter().any(|word| matches!(*word, "-R" | "--reverse")),
                _ => false,
            };
            let path = line.iter().skip(1).find(|word| !word.starts_with('-')).filter(|_| sends);
            let path = path.map(|path| {
                path.strip_prefix('~').map_or((*path).to_owned(), |rest| format!("{}{rest}", self.context.home))
            });
            for path in path.map(|path| self.paths(&Word::text(path))).unwrap_or_default() {
                self.touch_path(Effect::Read, &Word::text(path.as_str()), line.first() == Some(&"mirror"));
                self.leaves(&path, &host);
            }
        }
    }

    /// A command that another terminal is given, as words or typed into it (screen(1), "stuff"; tmux(1), "new-session").
    fn in_a_terminal(&mut self, words: &[String]) {
        if let Some(at) = words.iter().position(|word| word == "stuff") {
            let typed = words.get(at + 1).map(|text| text.trim_end_matches("\\n").trim_end_matches("^M").to_owned());
            return self.lines_run(&typed.into_iter().collect::<Vec<_>>());
        }
        let known = |word: &String| {
            let base = word.rsplit('/').next().unwrap_or(word);
            !word.starts_with('-') && (crate::catalogue::entry(base).is_some() || super::special::knows(base))
        };
        let command = words.iter().position(known).and_then(|at| words.get(at..)).filter(|command| command.len() > 1);
        if let Some(command) = command.filter(|_| !crate::shell::is_deep()) {
            let inner = crate::shell::argv(command, self.context);
            self.absorb_grave(inner);
        }
    }

    /// `fd PATTERN FOLDER -x COMMAND`: for all that is found, or at worst for the folder (fd(1), "--exec").
    fn for_each_found(&mut self, words: &[String]) {
        let exec = |word: &String| matches!(word.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
        let Some(at) = words.iter().position(exec).filter(|_| !crate::shell::is_deep()) else { return };
        let command = words.get(at + 1..).unwrap_or_default();
        let folders = words.iter().take(at).filter(|word| !word.starts_with('-')).skip(1).take(MAX_LINES);
        for folder in folders {
            let line: Vec<String> =
                command.iter().filter(|word| *word != "{}").cloned().chain([folder.clone()]).collect();
            let inner = crate::shell::argv(&line, self.context);
            self.absorb_grave(inner);
        }
    }

    /// Folders that go with all below them: `rclone delete`, `btrfs subvolume delete`, `7z a -sdel` (the programs' manuals).
    fn removes_folders(&mut self, base: &str, words: &[String]) {
        let said = |word: &str| words.iter().any(|one| one == word);
        let skip = match base {
            "rclone" if said("delete") || said("purge") => 1,
            "btrfs" if said("delete") => 2,
            _ if base.starts_with("7z") && said("-sdel") => 2,
            _ => return,
        };
        let paths = words.iter().filter(|word| !word.starts_with('-')).skip(skip).filter(|word| !word.contains(':'));
        for path in paths.take(MAX_LINES) {
            self.touch_path(Effect::Delete, &Word::pattern(path), true);
        }
    }

    /// `userdel -r NAME` of whoever works here, or of the administrator (userdel(8), "--remove").
    fn removes_user(&mut self, base: &str, words: &[String]) {
        let removes = words.iter().any(|word| {
            word.starts_with("--remove") || (word.starts_with('-') && !word.starts_with("--") && word.contains('r'))
        });
        let own = self.context.home.rsplit('/').next().unwrap_or("").to_owned();
        if removes && words.iter().any(|word| *word == own || word == "root") {
            self.find(FindingKind::DestroysHome, format!("`{base}` removes the home folder with its user"));
        }
    }

    /// Every key of a store: an empty beginning, which all have (etcdctl(1), "--prefix"; Consul, "kv delete -recurse").
    fn removes_all_keys(&mut self, base: &str, words: &[String]) {
        let said = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let all = said(&["--prefix", "--from-key", "-recurse", "--recurse", "-recurse=true"]);
        if all
            && said(&["del", "delete"])
            && words.last().is_some_and(|key| matches!(key.as_str(), "" | "/" | "--prefix" | "--from-key"))
        {
            self.find(FindingKind::DestroysDatabase, format!("`{base}` removes every key"));
        }
    }

    fn lines_run(&mut self, lines: &[String]) {
        for line in lines.iter().filter(|line| line.contains(' ')).take(MAX_LINES) {
            let inner = crate::shell::shell(line, self.context);
            self.absorb_grave(inner);
        }
    }

    /// `x._target_=os.system x._args_=["…"]`
    fn instantiated(&mut self, words: &[String]) {
        let target = words.iter().find_map(|word| {
            let (key, value) = word.split_once('=')?;
            key.ends_with("_target_").then(|| value.trim_matches(['\'', '"']).to_owned())
        });
        let Some(target) = target.filter(|target| STARTING.contains(&target.as_str())) else { return };
        let values = words.iter().filter(|word| !word.contains("_target_=")).filter_map(|word| word.split_once('='));
        let lines: Vec<String> = values.flat_map(|(_, value)| quoted(value)).collect();
        self.lines_run(&lines);
        self.unknown(UnknownKind::Code, Effect::Execute, format!("a setting makes the program call `{target}`"));
    }

    /// `--entrypoint sh IMAGE -c LINE`: the words after the image are the shell's.
    fn by_entrypoint(&mut self, words: &[String]) {
        let at = words.iter().position(|word| word == "--entrypoint" || word.starts_with("--entrypoint="));
        let Some(at) = at else { return };
        let named =
            words.get(at).and_then(|word| word.strip_prefix("--entrypoint=")).or(words.get(at + 1).map(String::as_str));
        let shell = named.is_some_and(|name| super::is_shell(name.rsplit('/').next().unwrap_or(name)));
        let line = words.iter().skip(at).position(|word| word == "-c").and_then(|c| words.get(at + c + 1));
        let Some(line) = line.filter(|_| shell) else { return };
        let mounted = words.windows(2).filter_map(|pair| match pair {
            [option, value] if matches!(option.as_str(), "-v" | "--volume") => Some(value.as_str()),
            _ => None,
        });
        let joined = words.iter().filter_map(|word| word.strip_prefix("--volume="));
        let mounts: Vec<(String, String)> = mounted
            .chain(joined)
            .filter_map(|value| value.split_once(':'))
            .map(|(from, to)| (from.to_owned(), to.split(':').next().unwrap_or(to).to_owned()))
            .filter(|(from, to)| from.starts_with('/') && to.starts_with('/'))
            .collect();
        self.elsewhere(&[Word::text(line.as_str())], &mounts);
    }

    /// A server that a variable opens to every other machine, or to the world through somebody's tunnel (Gradio, "Environment Variables").
    fn listens_by_variable(&mut self, base: &str) {
        let starts = matches!(
            base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
            "python"
                | "node"
                | "gradio"
                | "streamlit"
                | "flask"
                | "npm"
                | "pnpm"
                | "yarn"
                | "npx"
                | "uv"
                | "bun"
                | "deno"
                | "ruby"
                | "rails"
                | "php"
        );
        if !starts {
            return;
        }
        let value = |name: &str| match self.scope.variable(name) {
            Some(Variable::Scalar(word)) => word.constant().map(str::to_owned),
            _ => None,
        };
        let opened =
            LISTENING.iter().any(|name| value(name).is_some_and(|value| matches!(value.as_str(), "0.0.0.0" | "::")));
        let shared =
            value("GRADIO_SHARE").is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "1"));
        if opened || shared {
            self.touch_named(Effect::Admin, &format!("a port that `{base}` opens to every other machine"));
        }
    }

    /// What code, statements, scripts and the commands of a search read stands in what they print, as far as anybody can tell.
    pub(super) fn prints_what_it_reads(&self, base: &str, rest: &[Word], since: usize, out: &mut Stream) {
        const PRINTING: &str = "python pypy ruby node nodejs deno bun php lua perl sqlite3 duckdb psql mysql m4 xsltproc dotenv ed ex \
            vi vim view find fd git Rscript julia awk gawk mawk";
        let name =
            if base == "sqlite3" { base } else { base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') };
        if !has(PRINTING, name) {
            return;
        }
        let read = self.out.touches.get(since..).unwrap_or_default().iter().filter(|touch| {
            let names = matches!(name, "find" | "fd") && touch.by == base;
            touch.effect == Effect::Read && touch.kind == TargetKind::File && !touch.recursive && !names
        });
        let sources: Vec<String> = read.map(|touch| touch.name.clone()).take(MAX_LINES).collect();
        // `-exec grep -l … {} +` prints names.
        let names = rest.windows(2).any(|pair| {
            matches!(pair, [grep, flag] if matches!(grep.constant(), Some("grep" | "egrep" | "fgrep" | "rg"))
                && flag.prefix().starts_with('-') && flag.prefix().contains(['l', 'L']))
        });
        if !(sources.is_empty() || names) {
            out.listing.clear();
        }
        out.sources.extend(sources);
    }

    /// Files that a statement has the server write, without which it is read on (MySQL Reference Manual, "SELECT ... INTO Statement").
    pub(super) fn without_files(&mut self, text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let (at, word) = ["into dumpfile", "into outfile"].iter().find_map(|word| Some((lower.find(word)?, word)))?;
        let after = text.get(at + word.len()..)?.trim_start();
        let mark = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (path, more) = after.get(1..)?.split_once(mark)?;
        self.touch_path(Effect::Update, &Word::text(path), false);
        let before = text.get(..at)?;
        for body in quoted(before).into_iter().chain(hexadecimal(before)).take(MAX_LINES) {
            self.judge_text_of(path, &body);
        }
        // How fields and lines end says nothing of what is done.
        let rest = more.find(';').and_then(|at| more.get(at..)).unwrap_or("");
        Some(format!("{} {rest}", before.trim_end()))
    }
}

/// Whether a program runs what it is given on its input: `parallel`, `sed e`, `awk '{system($0)}'`, a shell at the end of what brings it
/// somewhere.
fn takes_commands(base: &str, words: &[String]) -> bool {
    const BRINGING: &str =
        "ssh docker podman nerdctl kubectl oc unshare runuser nsenter machinectl lxc incus chroot systemd-run doas";
    let shell = |word: &String| super::is_shell(word.rsplit('/').next().unwrap_or(word));
    let program = || words.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    match base {
        "parallel" => words.iter().all(|word| word.starts_with('-')),
        "sed" | "gsed" => matches!(program(), "e" | "1e" | "s/^//e"),
        "awk" | "gawk" | "mawk" => {
            let tight: String = program().chars().filter(|c| !c.is_whitespace()).collect();
            tight.contains("system($0") || tight.contains("|\"sh\"") || tight.contains("|\"bash\"")
        }
        "gdb" => words
            .windows(2)
            .any(|pair| matches!(pair, [x, file] if x == "-x" && matches!(file.as_str(), "/dev/stdin" | "-"))),
        "bun" | "deno" => {
            words.first().is_some_and(|word| word == "run") && words.last().is_some_and(|word| word == "-")
        }
        _ if has(BRINGING, base) => match words {
            [.., last] if shell(last) => true,
            [.., shelled, flag] if shell(shelled) && matches!(flag.as_str(), "-s" | "-i" | "-l" | "-") => true,
            _ => false,
        },
        _ => false,
    }
}

/// Texts that stand between quotes of a shell, of Perl or of SQL.
fn quoted(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"', '{']) {
        let (Some(mark), Some(after)) = (rest.get(at..).and_then(|rest| rest.chars().next()), rest.get(at + 1..))
        else {
            break;
        };
        let close = if mark == '{' { '}' } else { mark };
        let Some(end) = (if mark == '{' { after.rfind(close) } else { after.find(close) }) else { break };
        out.extend(after.get(..end).map(str::to_owned));
        rest = after.get(end + 1..).unwrap_or("");
        if out.len() >= MAX_LINES {
            break;
        }
    }
    out
}

/// Texts that are written as `0x…` (MySQL Reference Manual, "Hexadecimal Literals").
fn hexadecimal(text: &str) -> Vec<String> {
    let digits = |at: usize| {
        let rest = text.get(at + 2..).unwrap_or("");
        rest.get(..rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len())).unwrap_or("")
    };
    let decode = |digits: &str| -> Option<String> {
        let bytes = (0..digits.len() / 2).map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok());
        String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
    };
    text.match_indices("0x")
        .take(MAX_LINES)
        .filter_map(|(at, _)| decode(digits(at)))
        .filter(|text| text.len() > 3)
        .collect()
}

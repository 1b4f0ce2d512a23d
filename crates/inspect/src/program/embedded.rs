//! Lines of a shell that stand in values of programs as if they were settings: what a tool calls instead of LaTeX, what a configuration is
//! to make objects of, what a host or a container is told (the manuals of latexmk, Hydra, Deployer, Composer and Docker).

use countersign_plan::tool::Effect;

use super::tasks::has;
use crate::bounded::Bounded as _;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Variable, Word};

/// The most lines of one command.
const MAX_LINES: usize = 64;

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
        const EMBEDDING: &str = "latexmk dep composer docker podman nerdctl lftp screen tmux dtach abduco byobu rclone btrfs 7z 7za 7zr \
            7zz userdel deluser etcdctl consul websocat optuna parallel sed gsed awk gawk mawk gdb bun deno ssh kubectl oc unshare runuser \
            nsenter machinectl lxc incus chroot systemd-run doas restic rustic tar gtar bsdtar zip mv gmv rsync borg zfs velero pgbackrest wal-g wal-e \
            barman ldapdelete duplicity kopia rm systemctl service rc-service rc-update sv chkconfig";
        self.listens_by_variable(base);
        let instantiates = || rest.iter().any(|word| word.prefix().contains("_target_="));
        if !(has(EMBEDDING, base) || draws(base) || instantiates()) {
            return;
        }
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        if matches!(base, "mv" | "gmv") {
            self.takes_place(rest);
        }
        self.keeps_nothing(base, &words);
        self.removes_backups(base, rest, &words);
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
            // A store of trials that a server keeps (Optuna, "--storage").
            "optuna" => {
                let store = after("--storage").filter(|store| store.contains("://") && !store.starts_with("sqlite"));
                if let Some(store) = store {
                    self.touch_host(&Word::text(store));
                }
            }
            "screen" | "tmux" | "dtach" | "abduco" | "byobu" => self.in_a_terminal(&words),
            "rclone" | "btrfs" | "7z" | "7za" | "7zr" | "7zz" => self.removes_folders(base, &words),
            "systemctl" | "service" | "rc-service" | "rc-update" | "sv" | "chkconfig" => {
                self.stops_guards(base, rest, &words)
            }
            "userdel" | "deluser" => self.removes_user(base, &words),
            "etcdctl" | "consul" => self.removes_all_keys(base, &words),
            _ if draws(base) => self.piped_in_pages(rest),
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

    /// `-o sftp.command=LINE` is what connects (restic manual, "SFTP"); other options say how much at once and in which way.
    pub(super) fn reaches_by(&mut self, word: &Word) {
        const MILD: &[&str] = &[".connections", "-lookup", ".layout", ".region", ".timeout", ".storage-class"];
        // `-o=NAME=VALUE`
        let word = &word.skip(1).filter(|_| word.prefix().starts_with('=')).unwrap_or_else(|| word.clone());
        let told = word.split_once('=').filter(|(name, line)| !(name.has_hole() || line.has_hole()));
        match told.as_ref().map(|(name, line)| (name.shown(), line)) {
            Some((name, line)) if matches!(name.as_str(), "sftp.command" | "rclone.program") => {
                self.shell_text(line, &Stream::unknown());
            }
            Some((name, _)) if MILD.iter().any(|end| name.ends_with(end)) => {}
            _ => {
                let message = format!("what `{}` has done is not known", word.shown());
                self.unknown(UnknownKind::Option, Effect::Execute, message);
            }
        }
    }

    /// `(%pipe%LINE) (r) file`, in the line itself or in a document that it wrote (GhostScript manual, "%pipe%").
    fn piped_in_pages(&mut self, rest: &[Word]) {
        let written: Vec<String> = rest.iter().flat_map(|word| self.held(word).text).collect();
        let code = rest.iter().map(Word::shown).chain(written).filter(|text| text.contains("(%pipe%"));
        for line in code
            .flat_map(|text| crate::file::between(&text, "(%pipe%", ')').lines().map(str::to_owned).collect::<Vec<_>>())
            .at_most(MAX_LINES)
            .collect::<Vec<_>>()
        {
            self.script(&line, &Stream::unknown());
        }
    }

    fn lines_run(&mut self, lines: &[String]) {
        for line in lines.iter().filter(|line| line.contains(' ')).at_most(MAX_LINES) {
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
}

/// Whether a program reads PostScript by GhostScript.
pub(super) fn draws(base: &str) -> bool {
    const DRAWING: &str = "gs ghostscript gswin64c ps2pdf ps2pdf12 ps2pdf13 ps2pdf14 ps2pdfwr ps2ps ps2ps2 ps2eps epstopdf eps2eps pdf2ps ps2ascii";
    has(DRAWING, base)
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
pub(super) fn quoted(text: &str) -> Vec<String> {
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
        if !crate::bounded::has_room(out.len(), MAX_LINES) {
            break;
        }
    }
    out
}

//! What interactive programs and editors of documents are told among their words or on their input, and is a line for a shell, or a file
//! that nothing else names (the manuals of less, lftp, ed, radare2, vifm, tig, mutt, Heirloom mailx, fzf, GNU m4, start-stop-daemon, sshfs,
//! unison, pdftk and ExifTool).

use countersign_plan::tool::Effect;

use super::tasks::has;
use crate::bounded::Bounded as _;
use crate::catalogue::Role;
use crate::code::Language;
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Variable, Word};

/// Programs in which a command that begins with `!`, or with a word for it, is a line for a shell.
const ESCAPING: &str = "less lless more most lftp ftp ncftp sftp psftp tnftp smbclient r2 radare2 rizin ranger vifm tig irssi \
    weechat weechat-headless cmus dc lldb nnn tclsh wish";

/// Those of them for which the input is commands, and no text to show.
const TAKING_INPUT: &str = "lftp ftp ncftp sftp psftp tnftp smbclient r2 radare2 rizin irssi dc lldb tclsh wish";

/// Programs that read mail.
const MAILING: &str = "mutt neomutt mail mailx s-nail nail alpine aerc";

/// Settings of theirs that name a command.
const MAILERS: &[&str] =
    &["sendmail", "mta", "editor", "visual", "pager", "print_command", "query_command", "new_mail_command", "shell"];

/// Options behind which a command stands.
const COMMANDS: &str = "-e -c -C -r -o -S -Q --cmd --command --eval --run-command --one-line";

/// Actions of fzf that run what stands in their brackets.
const ACTIONS: &[&str] =
    &["execute(", "execute-silent(", "become(", "reload(", "reload-sync(", "preview(", "transform("];

/// The most lines of one command.
const MAX_LINES: usize = 64;

impl Machine<'_> {
    pub(super) fn judge_escapes(&mut self, base: &str, rest: &[Word], stdin: &Stream) {
        if crate::shell::is_deep() {
            return;
        }
        let lines: Vec<String> = match base {
            "ed" | "red" => stdin.known().flat_map(commands_of_ed).collect(),
            _ if has(ESCAPING, base) => {
                let input = if has(TAKING_INPUT, base) { stdin.clone() } else { Stream::empty() };
                told(rest, &input).iter().flat_map(|text| escaped(text)).collect()
            }
            _ if has(MAILING, base) => {
                let tilde = |line: &str| line.strip_prefix("~!").or_else(|| line.strip_prefix("~|")).map(str::to_owned);
                let input = stdin.known().flat_map(str::lines).filter_map(tilde);
                told(rest, &Stream::empty()).iter().filter_map(|text| mailer(text)).chain(input).collect()
            }
            "fzf" | "fzf-tmux" | "sk" => {
                self.settings_of_fzf();
                let texts = rest.iter().filter_map(Word::constant);
                let acted = |text: &str| {
                    ACTIONS.iter().map(|action| crate::file::between(text, action, ')')).collect::<Vec<_>>()
                };
                texts.flat_map(acted).filter(|line| !line.is_empty()).collect()
            }
            "m4" | "gm4" => {
                let held = rest.iter().filter_map(|word| self.held(word).text).collect::<Vec<_>>();
                let texts = rest.iter().filter_map(Word::constant).chain(stdin.known());
                let texts: Vec<&str> = texts.chain(held.iter().map(String::as_str)).collect();
                // A command by another name (GNU m4, "Indir", "Builtin", "Pushdef").
                let renamed = ["builtin(", "indir(", "=esyscmd", "=syscmd", "`esyscmd'", "`syscmd'", "defn("];
                if texts.iter().any(|text| renamed.iter().any(|call| text.contains(call))) {
                    self.unknown(
                        UnknownKind::Code,
                        Effect::Execute,
                        "`m4` is given another name for a command of its own",
                    );
                }
                for file in texts
                    .iter()
                    .flat_map(|text| ["undivert(", "include("].map(|call| crate::file::between(text, call, ')')))
                {
                    for name in file
                        .lines()
                        .map(|name| name.replace(['`', '\''], ""))
                        .filter(|name| name.contains('/'))
                        .at_most(MAX_LINES)
                    {
                        self.read_file(&Word::text(name));
                    }
                }
                let called =
                    texts.iter().map(|text| crate::file::between(text, "syscmd(", ')').replace(['`', '\''], ""));
                called.filter(|line| !line.is_empty()).collect()
            }
            "vim" | "vi" | "nvim" | "view" | "gvim" | "ex" => {
                let texts = told(rest, &Stream::empty());
                texts.iter().for_each(|text| self.code_of_vim(text));
                self.scripts_of_vim(rest);
                texts.iter().flat_map(|text| called_by_vim(text)).collect()
            }
            "emacs" | "emacsclient" => {
                for words in told(rest, &Stream::empty()).iter().flat_map(|text| started_by_emacs(text)) {
                    let inner = crate::shell::argv(&words, self.context);
                    self.absorb_grave(inner);
                }
                return;
            }
            "sshfs" | "unison" => rest
                .windows(2)
                .filter_map(|pair| match pair {
                    [option, line] if matches!(option.constant(), Some("-sshcmd" | "-rshcmd")) => line.constant(),
                    [_, option] => option.constant()?.split_once("ssh_command=").map(|(_, line)| line),
                    _ => None,
                })
                .map(str::to_owned)
                .collect(),
            // Without a command the arguments are commands (GNU parallel(1)).
            "parallel" => {
                let option = |word: &Word| {
                    let text = word.shown();
                    text.starts_with('-') || text.trim_end_matches('%').bytes().all(|b| b.is_ascii_digit())
                };
                let at = rest.iter().position(|word| word.constant() == Some(":::"));
                let given = at.filter(|at| rest.iter().take(*at).all(option)).and_then(|at| rest.get(at + 1..));
                given.unwrap_or_default().iter().filter_map(Word::constant).map(str::to_owned).collect()
            }
            // `system("LINE")`, `… | "LINE"` (Miller, "Functions", "Output statements").
            "mlr" | "miller" => {
                let texts = rest.iter().filter_map(Word::constant).filter(|text| text.contains(['(', '|']));
                let lines = |text: &str| -> Vec<String> {
                    let calls = ["system(\"", "exec(\""].iter().flat_map(|call| text.split(call).skip(1));
                    let lines = calls.filter_map(|rest| rest.split('"').next()).chain(piped_by_miller(text));
                    lines.at_most(MAX_LINES).map(str::to_owned).collect()
                };
                texts.flat_map(lines).collect()
            }
            "mocha" | "_mocha" => {
                for pair in rest.windows(2) {
                    if let [option, file] = pair
                        && option.constant() == Some("-r")
                        && file.prefix().starts_with(['/', '.', '~'])
                    {
                        self.touch_path(Effect::Execute, file, false);
                    }
                }
                return;
            }
            // `fastlane run sh command:"LINE"` (fastlane, "sh").
            "fastlane" => {
                let given = rest.iter().filter_map(Word::constant).filter_map(|word| word.strip_prefix("command:"));
                given.map(str::to_owned).collect()
            }
            // `-p FILE`, `-p -` (sysctl(8)).
            "sysctl" => {
                let held = rest.iter().filter_map(|word| self.held(word).text);
                for text in held.chain(stdin.known().map(str::to_owned)).at_most(MAX_LINES).collect::<Vec<_>>() {
                    self.judge_kernel_settings(&text);
                }
                return;
            }
            "start-stop-daemon" => return self.starts_in_background(rest),
            "pdftk" => return self.parts_of_document(rest),
            "exiftool" => {
                // `-TAG<=FILE`
                let named = rest.iter().filter(|word| word.prefix().starts_with('-'));
                let files = named.filter_map(|word| word.skip(word.prefix().find("<=")? + 2));
                for file in files.at_most(MAX_LINES) {
                    self.read_file(&file);
                }
                // `${TAG;CODE}` (exiftool(1), "Advanced formatting feature").
                for text in
                    rest.iter().filter_map(Word::constant).filter(|text| text.contains("${")).collect::<Vec<_>>()
                {
                    for code in crate::file::between(text, "${", '}')
                        .lines()
                        .filter_map(|tag| tag.split_once(';'))
                        .at_most(MAX_LINES)
                    {
                        self.code(Language::Perl, code.1);
                    }
                }
                return;
            }
            "dotnet" | "msbuild" => return self.imported_by_build(rest),
            "helm" => {
                // A chart by its address.
                for word in rest.iter().filter(|word| word.prefix().contains("://")).at_most(MAX_LINES) {
                    self.touch_host(word);
                }
                return;
            }
            _ => return,
        };
        for line in lines.iter().at_most(MAX_LINES) {
            self.script(line, &Stream::unknown());
        }
    }

    /// `py3 CODE`, `lua CODE`, `perl CODE`, `ruby CODE` among the commands of Vim (its manual, "if_pyth", "if_lua", "if_perl", "if_ruby").
    fn code_of_vim(&mut self, text: &str) {
        let Some((word, code)) = text.trim().trim_start_matches(':').split_once(char::is_whitespace) else { return };
        let language = match word {
            "py" | "python" | "py3" | "python3" | "pyx" | "pythonx" => Language::Python,
            "lua" => Language::Lua,
            "perl" => Language::Perl,
            "ruby" | "rub" => Language::Ruby,
            _ => return,
        };
        self.code(language, code);
    }

    /// Files with commands or with Lua that it runs as it starts (Vim, "starting", `-S`; Neovim, `-l`).
    fn scripts_of_vim(&mut self, rest: &[Word]) {
        for pair in rest.windows(2) {
            let [option, file] = pair else { continue };
            let none = matches!(file.constant(), Some("NONE" | "NORC" | "DEFAULTS"));
            if matches!(option.constant(), Some("-S" | "-l" | "-u" | "--luamod-dev")) && !none {
                self.loads(file);
            }
        }
    }

    /// Options that a variable holds, and a command that lists (fzf(1), "ENVIRONMENT VARIABLES").
    fn settings_of_fzf(&mut self) {
        for (name, before) in [("FZF_DEFAULT_OPTS", "fzf "), ("FZF_DEFAULT_COMMAND", "")] {
            let Some(Variable::Scalar(value)) = self.scope.variable(name) else { continue };
            match value.constant() {
                Some(text) => {
                    let inner = crate::shell::shell(&format!("{before}{text}"), self.context);
                    self.absorb_grave(inner);
                }
                None => {
                    self.unknown(UnknownKind::Value, Effect::Execute, format!("what `{name}` has run is not known"))
                }
            }
        }
    }

    /// `--exec PROGRAM … -- ARGUMENTS`, alone or at the end of a cluster (start-stop-daemon(8)).
    fn starts_in_background(&mut self, rest: &[Word]) {
        let Some(entry) = crate::catalogue::entry("start-stop-daemon") else { return };
        let Ok((_, parsed)) = super::options::read(entry, rest) else { return };
        let program = parsed.values.iter().rev().find(|(role, _)| *role == Role::Exec).map(|(_, word)| word.clone());
        let end = rest.iter().position(|word| word.constant() == Some("--")).map_or(rest.len(), |at| at + 1);
        let other = |word: &Word| {
            let text = word.prefix();
            let cluster = text.strip_prefix('-').filter(|flags| !flags.starts_with('-')).unwrap_or("");
            // The letters before one that takes a value.
            let flags = cluster.split(|c: char| "xanpucdsgNRrkI".contains(c)).next().unwrap_or("");
            matches!(text.as_str(), "--stop" | "--status") || flags.contains(['K', 'T'])
        };
        if let Some(program) = program.filter(|_| !rest.iter().take(end).any(other)) {
            let words = std::iter::once(program).chain(rest.get(end..).unwrap_or_default().iter().cloned());
            self.start(words.collect(), Stream::unknown());
        }
    }

    /// `output FILE`, `attach_files FILE…`, `stamp FILE` (pdftk(1)).
    fn parts_of_document(&mut self, rest: &[Word]) {
        const READING: &str = "fill_form background multibackground stamp multistamp update_info update_info_utf8";
        let mut attached = false;
        for (i, word) in rest.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| rest.get(i)).map(Word::shown).unwrap_or_default();
            let own = word.shown();
            attached = own == "attach_files" || (attached && !matches!(own.as_str(), "output" | "to_page"));
            if before == "output" && own != "-" {
                self.touch_path(Effect::Update, word, false);
            } else if (attached && own != "attach_files") || (has(READING, &before) && own != "-") {
                self.read_file(word);
            }
        }
    }

    /// A property that names a file which the build brings in, a logger out of a file, a file with more words (MSBuild reference, "Customize
    /// your build", "Command-line reference").
    fn imported_by_build(&mut self, rest: &[Word]) {
        const IMPORTED: &[&str] = &["Targets", "Props", "TargetsPath", "PropsPath", "ToolPath", "ToolExe"];
        const BROUGHT: &[&str] = &[".targets", ".props", ".dll", ".proj"];
        // `dotnet run FILE.cs` (".NET CLI", "File-based apps").
        let source = |word: &&Word| word.prefix().ends_with(".cs");
        if rest.first().and_then(Word::constant) == Some("run")
            && let Some(file) = rest.iter().skip(1).find(source)
        {
            self.loads(file);
        }
        for (i, word) in rest.iter().enumerate().at_most(64) {
            let text = word.shown();
            let bare = text.trim_start_matches(['-', '/']);
            if let Some(file) = word.skip(1).filter(|_| text.starts_with('@')) {
                self.touch_path(Effect::Execute, &file, false);
                self.unknown(UnknownKind::Option, Effect::Execute, format!("which options {text} holds is not known"));
            }
            let (name, joined) =
                bare.split_once(':').map_or((bare, None), |(name, value)| (name, Some(value.to_owned())));
            let told = || joined.clone().or_else(|| rest.get(i + 1).map(Word::shown)).unwrap_or_default();
            let files: Vec<String> = match name.to_ascii_lowercase().as_str() {
                _ if bare.len() == text.len() => continue,
                "p" | "property" => {
                    let told = told();
                    let pairs = told.split([';', ',']).filter_map(|part| part.split_once('='));
                    // By the name it is one, whatever the file is called (MSBuild reference, "Common MSBuild project properties").
                    let brings = |name: &str| IMPORTED.iter().any(|end| name.ends_with(end));
                    for (_, file) in
                        pairs.clone().filter(|(name, file)| brings(name) && file.contains('/')).at_most(MAX_LINES)
                    {
                        self.touch_path(Effect::Execute, &Word::text(file), false);
                    }
                    pairs.filter(|(name, _)| !brings(name)).map(|(_, file)| file.to_owned()).collect()
                }
                "l" | "logger" | "dl" | "distributedlogger" => {
                    told().split([',', ';', '*']).map(str::to_owned).collect()
                }
                _ => continue,
            };
            for file in files.iter().filter(|file| BROUGHT.iter().any(|end| file.ends_with(end))).at_most(MAX_LINES) {
                self.touch_path(Effect::Execute, &Word::text(file.as_str()), false);
            }
        }
    }
}

/// `… | "LINE"` outside of texts (Miller, "Output statements").
pub(super) fn piped_by_miller(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split('"').collect();
    let to_line = |pair: &&[&str]| {
        let before = pair.first().map_or("", |part| part.trim_end());
        before.ends_with('|') && !before.ends_with("||")
    };
    parts.windows(2).step_by(2).filter(to_line).filter_map(|pair| pair.get(1).copied()).at_most(MAX_LINES).collect()
}

/// What a program is told to do, as it starts or on its input.
fn told(rest: &[Word], stdin: &Stream) -> Vec<String> {
    let behind = rest.windows(2).filter_map(|pair| match pair {
        [option, text] if option.constant().is_some_and(|option| has(COMMANDS, option)) => text.constant(),
        _ => None,
    });
    let attached = rest.iter().filter_map(Word::constant).filter_map(|word| {
        word.strip_prefix('+')
            .or_else(|| word.split_once('=').filter(|(option, _)| has(COMMANDS, option)).map(|(_, text)| text))
    });
    behind.chain(attached).chain(stdin.known()).map(str::to_owned).at_most(MAX_LINES).collect()
}

/// The lines for a shell among commands.
fn escaped(text: &str) -> Vec<String> {
    let one = |command: &str| {
        let command = command.trim().trim_start_matches([':', '+', '/', '.']).trim_start();
        let line = ["!", "shell ", "exec ", "platform shell "].iter().find_map(|word| command.strip_prefix(word))?;
        let line = line.trim_start_matches('!').trim();
        (!line.is_empty()).then(|| line.to_owned())
    };
    // What comes behind a semicolon may be the next command, or a part of the line.
    let first = text.lines().filter_map(one);
    let next = text.lines().flat_map(|line| line.split(';').skip(1)).filter_map(one);
    first.chain(next).at_most(MAX_LINES).collect()
}

/// Lines that functions of Vim hand to a shell (Vim, "system()", "job_start()"; Neovim, "jobstart()", "termopen()").
fn called_by_vim(text: &str) -> Vec<String> {
    const CALLS: &[&str] = &["system(", "systemlist(", "job_start(", "jobstart(", "termopen(", "term_start("];
    let calls = CALLS.iter().flat_map(|call| text.split(call).skip(1));
    let called = calls.filter_map(|rest| crate::code::texts_of(rest).into_iter().next());
    let bare = text.trim().trim_start_matches(':');
    // A command that is put together, and a window with a program in it.
    let put = bare.strip_prefix("exe").map(crate::code::texts_of).unwrap_or_default();
    let put = put.into_iter().filter_map(|text| Some(text.trim_start_matches(':').strip_prefix('!')?.to_owned()));
    let shown = ["terminal ", "term ", "ter "].iter().find_map(|word| bare.strip_prefix(word)).map(str::to_owned);
    called.chain(put).chain(shown).at_most(MAX_LINES).collect()
}

/// Programs that Emacs Lisp starts with their words (GNU Emacs Lisp Reference Manual, "Creating Processes").
fn started_by_emacs(text: &str) -> Vec<Vec<String>> {
    const CALLS: &[&str] =
        &["(call-process ", "(start-process ", "(process-lines ", "(process-file ", "(call-process-region "];
    let calls = CALLS.iter().flat_map(|call| text.split(call).skip(1));
    calls
        .map(|rest| crate::code::texts_of(rest.split(')').next().unwrap_or(rest)))
        .filter(|words| !words.is_empty())
        .at_most(MAX_LINES)
        .collect()
}

/// The lines for a shell among commands of `ed`, and not in the text that they put in (POSIX, `ed`).
fn commands_of_ed(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut puts = false;
    for line in text.lines() {
        if puts {
            puts = line != ".";
        } else if line.starts_with('!') {
            out.extend(escaped(line));
        } else {
            puts = line.trim_end().ends_with(['a', 'i', 'c']) && line.len() < 16;
        }
        if !crate::bounded::has_room(out.len(), MAX_LINES) {
            break;
        }
    }
    out
}

/// `set sendmail="LINE"`
fn mailer(text: &str) -> Option<String> {
    let (name, line) = text.split_once('=')?;
    let name = name.trim().trim_start_matches("set ").trim();
    let line = line.trim();
    let quoted = |mark: char| line.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    MAILERS.contains(&name).then(|| quoted('"').or_else(|| quoted('\'')).unwrap_or(line).to_owned())
}

//! What interactive programs and editors of documents are told among their words or on their input, and is a line for a shell, or a file
//! that nothing else names (the manuals of less, lftp, ed, radare2, vifm, tig, mutt, Heirloom mailx, fzf, GNU m4, start-stop-daemon, sshfs,
//! unison, pdftk and ExifTool).

use countersign_plan::tool::Effect;

use super::tasks::has;
use crate::code::Language;
use crate::machine::{Machine, Stream, Word};

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
const MAX_LINES: usize = 16;

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
                let texts = rest.iter().filter_map(Word::constant);
                let acted = |text: &str| {
                    ACTIONS.iter().map(|action| crate::file::between(text, action, ')')).collect::<Vec<_>>()
                };
                texts.flat_map(acted).filter(|line| !line.is_empty()).collect()
            }
            "m4" | "gm4" => {
                let texts = rest.iter().filter_map(Word::constant).chain(stdin.known());
                let called = texts.map(|text| crate::file::between(text, "syscmd(", ')').replace(['`', '\''], ""));
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
                    let calls = ["system(\"", "exec(\"", "| \""].iter().flat_map(|call| text.split(call).skip(1));
                    calls.filter_map(|rest| rest.split('"').next()).take(MAX_LINES).map(str::to_owned).collect()
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
            "start-stop-daemon" => return self.starts_in_background(rest),
            "pdftk" => return self.parts_of_document(rest),
            "exiftool" => {
                // `-TAG<=FILE`
                let named = rest.iter().filter(|word| word.prefix().starts_with('-'));
                let files = named.filter_map(|word| word.skip(word.prefix().find("<=")? + 2));
                for file in files.take(MAX_LINES) {
                    self.read_file(&file);
                }
                return;
            }
            "dotnet" | "msbuild" => return self.imported_by_build(rest),
            "helm" => {
                // A chart by its address.
                for word in rest.iter().filter(|word| word.prefix().contains("://")).take(MAX_LINES) {
                    self.touch_host(word);
                }
                return;
            }
            _ => return,
        };
        for line in lines.iter().take(MAX_LINES) {
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

    /// `--exec PROGRAM … -- ARGUMENTS` (start-stop-daemon(8)).
    fn starts_in_background(&mut self, rest: &[Word]) {
        let option = |word: &Word| matches!(word.constant(), Some("-x" | "--exec" | "-a" | "--startas"));
        let joined = |word: &Word| {
            ["--exec=", "--startas="]
                .iter()
                .find_map(|option| word.skip(option.len()).filter(|_| word.prefix().starts_with(option)))
        };
        let program = rest.windows(2).find_map(|pair| match pair {
            [name, program] if option(name) => Some(program.clone()),
            _ => None,
        });
        let Some(program) = program.or_else(|| rest.iter().find_map(joined)) else { return };
        let end = rest.iter().position(|word| word.constant() == Some("--")).map_or(rest.len(), |at| at + 1);
        let starts = rest.iter().take(end).any(|word| matches!(word.constant(), Some("-S" | "--start")));
        if starts {
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

    /// A property that names a file which the build brings in (MSBuild reference, "Customize your build").
    fn imported_by_build(&mut self, rest: &[Word]) {
        for word in rest.iter().take(64) {
            let text = word.prefix();
            let property = ["-p:", "/p:", "--property:", "-property:"].iter().any(|start| text.starts_with(start));
            let ends = [".targets", ".props", ".dll", ".proj"].iter().any(|end| word.shown().ends_with(end));
            if let Some((_, file)) = word.split_once('=').filter(|_| property && ends) {
                self.touch_path(Effect::Execute, &file, false);
            }
        }
    }
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
    behind.chain(attached).chain(stdin.known()).map(str::to_owned).take(MAX_LINES).collect()
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
    first.chain(next).take(MAX_LINES).collect()
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
    called.chain(put).chain(shown).take(MAX_LINES).collect()
}

/// Programs that Emacs Lisp starts with their words (GNU Emacs Lisp Reference Manual, "Creating Processes").
fn started_by_emacs(text: &str) -> Vec<Vec<String>> {
    const CALLS: &[&str] =
        &["(call-process ", "(start-process ", "(process-lines ", "(process-file ", "(call-process-region "];
    let calls = CALLS.iter().flat_map(|call| text.split(call).skip(1));
    calls
        .map(|rest| crate::code::texts_of(rest.split(')').next().unwrap_or(rest)))
        .filter(|words| !words.is_empty())
        .take(MAX_LINES)
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
        if out.len() >= MAX_LINES {
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

//! What a call does, as the tables say: files that it touches, programs that it runs, hosts that it talks to.

use countersign_plan::tool::{Effect, TargetKind};

use super::arguments::{
    argument, argument_place, constant, fetches_what_it_runs, first_text, hands_on, is_request, keyword, texts_written,
};
use super::bound::Bound;
use super::calls::Does;
use super::lex::Token;
use super::{Language, Seen, fold, lists};
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// Calls that go through a folder with all below it.
const WALKING: &[&str] =
    &["walk", "rglob", "RecursiveIteratorIterator", "RecursiveDirectoryIterator", "find", "finddepth", "readdirSync"];

/// Whether a writer of tables is given no file: `df.to_csv(index=False)`.
fn gives_text(name: &str, after: &[Token]) -> bool {
    const SHAPING: &[&str] = &[
        "index",
        "orient",
        "sep",
        "columns",
        "header",
        "na_rep",
        "indent",
        "lines",
        "encoding",
        "date_format",
        "float_format",
        "quoting",
        "decimal",
        "index_label",
        "escape",
        "column_format",
        "caption",
        "label",
        "longtable",
        "multirow",
        "bold_rows",
        "sparsify",
        "formatters",
        "tablefmt",
        "classes",
        "border",
        "justify",
        "force_ascii",
    ];
    let shapes = |given: &[Token]| {
        matches!(given, [Token::Name(key), Token::Mark('='), ..] if SHAPING.contains(&key.as_str()))
            || matches!(given, [Token::Name(stream)] if matches!(stream.as_str(), "sys.stdout" | "sys.stderr"))
    };
    let mut given = (0..12).map_while(|n| argument(after, n));
    name.rsplit('.').next().is_some_and(|last| last.starts_with("to_")) && given.all(shapes)
}

/// Whether a call is told to make objects, or may be: by name, as the third of what it is given, or by what is spread.
fn keeps_objects(after: &[Token]) -> bool {
    let is = |(n, given): (usize, &[Token])| match given {
        [Token::Name(key), Token::Mark('='), value @ ..] => {
            key == "allow_pickle" && !matches!(value, [Token::Name(no)] if no == "False")
        }
        [Token::Mark('*'), ..] => true,
        given => n == 2 && !matches!(given, [Token::Name(no)] if no == "False"),
    };
    (0..12).map_while(|n| argument(after, n)).enumerate().any(is)
}

/// Whether a call names a loader that makes nothing but plain values.
fn loads_plainly(after: &[Token], bound: &Bound) -> bool {
    const PLAIN: &[&str] = &["SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader"];
    // Under such a name there may be another one.
    if PLAIN.iter().any(|name| bound.gives(name)) {
        return false;
    }
    let plain = |token: &Token| matches!(token, Token::Name(name) if name.rsplit('.').next().is_some_and(|last| PLAIN.contains(&last)));
    match argument(after, 1) {
        Some([Token::Name(key), Token::Mark('='), loader]) if key == "Loader" => plain(loader),
        Some([loader]) => plain(loader),
        _ => false,
    }
}

/// Whether a call is only given what columns or an index are called.
fn names_columns(after: &[Token]) -> bool {
    matches!(argument(after, 0), Some([Token::Name(key), Token::Mark('='), ..]) if matches!(key.as_str(), "columns" | "index" | "axis" | "mapper"))
}

/// Whether what a call writes to is also read by the code: `writeFileSync(p, sorted(readFileSync(p)))`. What is only written over is lost.
fn reads_first(after: &[Token], tokens: &[Token]) -> bool {
    const READING: &[&str] =
        &["readFileSync", "readFile", "read_text", "read", "file_get_contents", "read_csv", "read_json"];
    let Some(path) = argument(after, 0) else { return false };
    tokens.windows(2 + path.len()).any(|window| {
        matches!(window, [Token::Name(name), Token::Mark('('), given @ ..]
            if given == path && READING.contains(&name.rsplit('.').next().unwrap_or(name)))
    })
}

/// Whether a call is given `key=True`.
fn sets(after: &[Token], key: &str) -> bool {
    let given = (0..12).map_while(|n| argument(after, n));
    let is = |given: &[Token]| matches!(given, [Token::Name(name), Token::Mark('='), Token::Name(value)] if name == key && value == "True");
    given.into_iter().any(is)
}

/// Who keeps a name that is put together: `"https://" + part + ".host.example/"`.
fn kept_by(tokens: &[Token]) -> Option<String> {
    tokens.iter().skip(1).find_map(|token| match token {
        Token::Text(end) => {
            end.strip_prefix('.').filter(|end| end.contains('.')).and_then(|end| crate::host::read(end).name)
        }
        _ => None,
    })
}

/// The most tokens of what such a call is given.
const MAX_EVALUATED: usize = 256;

/// Whether a call of Python that only computes is given what it runs: a text as an expression, a loader of objects, an extension
/// (SymPy documentation, "sympify"; ruamel.yaml; Python-Markdown, "Extensions").
pub(super) fn evaluates(name: &str, after: &[Token]) -> bool {
    let given = || (0..12).map_while(|n| argument(after, n));
    let keyed = |given: &[Token], key: &str| matches!(given, [Token::Name(own), Token::Mark('='), ..] if own == key);
    let spread = given().any(|given| given.first() == Some(&Token::Mark('*')));
    let (module, last) = name.rsplit_once('.').unwrap_or(("", name));
    match (module, last) {
        // Without a bracket in it a text calls nothing.
        _ if module == "sympy" || module.starts_with("sympy.") || last == "subs" => {
            let near = after.get(..after.len().min(MAX_EVALUATED)).unwrap_or_default();
            let mut depth = 0_usize;
            let end = near.iter().position(|token| {
                match token {
                    Token::Mark('(') => depth += 1,
                    Token::Mark(')') => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            });
            // What does not end here is more than is looked at.
            let Some(end) = end else { return true };
            near.iter().take(end).any(|token| match token {
                Token::Text(text) => text.contains(['(', '[']) || text.contains("__"),
                Token::Name(name) => {
                    matches!(name.as_str(), "input" | "sys.argv" | "open" | "os.getenv")
                        || name.starts_with("sys.stdin")
                }
                token => matches!(token, Token::Built(_)),
            })
        }
        ("ruamel.yaml", "YAML") => {
            let plain = |given: &[Token]| matches!(given.last(), Some(Token::Text(kind)) if matches!(kind.as_str(), "rt" | "safe" | "base"));
            spread
                || given().enumerate().any(|(n, given)| {
                    (n == 0 && !matches!(given, [Token::Name(_), Token::Mark('='), ..]) || keyed(given, "typ"))
                        && !plain(given)
                })
        }
        ("markdown", "markdown" | "Markdown") => {
            const EXTENSIONS: &str = "abbr admonition attr_list codehilite def_list extra fenced_code footnotes legacy_attrs legacy_em md_in_html \
                meta nl2br sane_lists smarty tables toc wikilinks";
            let own = |text: &str| {
                let text = text.strip_prefix("markdown.extensions.").unwrap_or(text);
                EXTENSIONS.split_whitespace().any(|known| known == text)
            };
            let plain = |token: &Token| match token {
                Token::Text(text) => own(text),
                token => matches!(token, Token::Mark('[' | ']' | '(' | ')' | ',')),
            };
            spread || given().any(|given| keyed(given, "extensions") && !given.iter().skip(2).all(plain))
        }
        _ => false,
    }
}

impl Machine<'_> {
    pub(super) fn does(&mut self, language: Language, does: Does, name: &str, after: &[Token], seen: &mut Seen) {
        let text = |n: usize| argument(after, n).and_then(constant);
        // Where it opens a file only to read it: what is given by name says how it is read.
        let plain = || {
            let spread = |n| argument(after, n).is_some_and(|given| given.first() == Some(&Token::Mark('*')));
            keyword(after, "mode").is_none()
                && !(1..8).any(spread)
                && argument(after, 1)
                    .is_none_or(|mode| matches!(mode, [Token::Name(name), Token::Mark('='), ..] if name != "mode"))
        };
        let touched = match does {
            Does::Deletes(n, recursive) => Some((n, Effect::Delete, recursive)),
            Does::Reads(n) => Some((n, Effect::Read, false)),
            Does::Writes(n @ 0) if text(1).is_none() && reads_first(after, &seen.tokens) => {
                Some((n, Effect::Update, false))
            }
            Does::Opens if language == Language::Python && plain() => Some((0, Effect::Read, false)),
            _ => None,
        };
        if let Some((n, effect, recursive)) = touched
            && let Some(found) = argument(after, n).filter(|tokens| constant(tokens).is_none()).and_then(|tokens| {
                // One round of a removal that is the end of everything says enough of all of them; of nothing else.
                let worst = if recursive { fold::names(tokens, &seen.worst) } else { None };
                worst
                    .or_else(|| fold::names(tokens, &seen.loops))
                    .or_else(|| fold::joined_name(tokens, &seen.loops, &seen.tokens))
            })
        {
            self.touch_path(effect, &found, recursive);
            return;
        }
        let of_url = |tokens: &[Token]| matches!(tokens.first(), Some(Token::Text(text)) if is_request(text));
        if matches!(does, Does::Reads(_) | Does::Opens) && argument(after, 0).is_some_and(of_url) {
            self.does(language, Does::Connects, name, after, seen);
            return;
        }
        // What stands for each of several constants is each of them.
        let place = match does {
            Does::Reads(n) | Does::Writes(n) | Does::Deletes(n, _) => Some(n),
            Does::Opens | Does::Runs | Does::Moves | Does::Copies => Some(0),
            Does::Nothing | Does::Connects | Does::Environment | Does::Unknown => None,
        };
        let whole = place
            .and_then(|n| argument_place(after, n))
            .filter(|range| after.get(range.clone()).and_then(constant).is_none());
        if let Some(range) = whole
            && let Some(values) =
                after.get(range.clone()).and_then(|tokens| lists::values(language, tokens, &seen.lists))
        {
            for value in values {
                let mut after = after.to_vec();
                after.splice(range.clone(), [Token::Text(value)]);
                self.does(language, does, name, &after, seen);
            }
            return;
        }
        match does {
            // Where a log goes (Python library reference, "logging.basicConfig").
            Does::Nothing if name == "logging.basicConfig" => {
                let named =
                    |given: &[Token]| matches!(given, [Token::Name(key), Token::Mark('='), ..] if key == "filename");
                if (0..12).map_while(|n| argument(after, n)).any(named) {
                    self.file_of(Effect::Update, keyword(after, "filename"), name, false);
                }
            }
            Does::Nothing => {}
            // A map of a file that is only read (NumPy documentation, "numpy.memmap").
            Does::Writes(0)
                if name.ends_with("memmap") && matches!(keyword(after, "mode").as_deref(), Some("r" | "c")) =>
            {
                self.file_of(Effect::Read, text(0), name, false);
            }
            // A descriptor that is open already (Node.js, "File system").
            Does::Reads(n) | Does::Writes(n)
                if language == Language::Node && argument(after, n) == Some(&[Token::Number]) => {}
            // A pattern that is matched (ECMA-262, "RegExp.prototype.exec").
            Does::Runs if language == Language::Node && seen.patterns.is_of_pattern(name) => {}
            // An array may hold objects, which are made by code (NumPy documentation, "numpy.load").
            Does::Reads(_) if matches!(name, "np.load" | "numpy.load") && keeps_objects(after) => {
                seen.evaluates = true;
                let message = format!("`{name}` makes whatever objects the file says");
                self.unknown(UnknownKind::Code, Effect::Execute, message);
                self.file_of(Effect::Read, text(0), name, false);
            }
            // Without a name these give a text (pandas documentation, "Input/output").
            Does::Writes(0) if language == Language::Python && gives_text(name, after) => {}
            Does::Reads(n) => self.file_of(Effect::Read, text(n), name, false),
            Does::Writes(n) => {
                match argument(after, n).and_then(super::paths::of_data).filter(|_| language == Language::Python) {
                    Some(pattern) => self.touch_path(Effect::Update, &pattern, false),
                    None => self.file_of(Effect::Update, text(n), name, false),
                }
                match (n, text(0), text(1)) {
                    (0, Some(path), Some(body)) => self.judge_text_of(&path, &body),
                    (0, Some(path), None) => self.judge_rewritten(&path, seen),
                    _ => {}
                }
            }
            Does::Deletes(n, recursive) => {
                let path = text(n);
                let walks = || {
                    seen.tokens.iter().any(|token| matches!(token, Token::Name(name) if WALKING.contains(&name.rsplit(['.', ':']).next().unwrap_or(name))))
                };
                if path.is_none() && (recursive || walks()) {
                    self.may_end_everything(name, argument(after, n), seen);
                }
                if recursive && path.is_none() {
                    self.touch_unseen(name);
                }
                self.file_of(Effect::Delete, path, name, recursive);
            }
            Does::Moves => {
                self.file_of(Effect::Delete, text(0), name, true);
                self.file_of(Effect::Update, text(1), name, false);
            }
            Does::Copies => {
                self.file_of(Effect::Read, text(0), name, true);
                self.file_of(Effect::Update, text(1), name, false);
            }
            Does::Opens if name == "sqlite3.connect" && text(0).is_some() => {
                if let Some(place) = text(0).and_then(|place| super::stored::file_of_place(&place)) {
                    self.file_of(Effect::Read, Some(place), name, false);
                }
            }
            Does::Opens => {
                let mode = text(1).or_else(|| keyword(after, "mode")).or_else(|| (!plain()).then(|| "?".to_owned()));
                let mode = mode.unwrap_or_default();
                let writes = mode.contains(['w', 'a', 'x', '+', '?', '>']);
                let path = text(0).map(|path| path.trim_start_matches(['>', '<', '+', ' ']).to_owned());
                let first = text(0).unwrap_or_default();
                // Perl: `open F, ">file"`, `open F, "cmd|"`, with the handle first.
                if language == Language::Perl {
                    self.perl_open(after, seen);
                } else if language == Language::Ruby && first.starts_with('|') {
                    seen.runs = true;
                    self.script(first.trim_start_matches('|'), &Stream::unknown());
                } else {
                    if writes && seen.looked_into < 8 && !crate::shell::is_deep() {
                        // Of a name that is put together the end says what the file is.
                        let last = argument(after, 0).and_then(|given| {
                            given
                                .iter()
                                .rev()
                                .find_map(|token| if let Token::Text(text) = token { Some(text.clone()) } else { None })
                        });
                        let path = path.clone().or(last).unwrap_or_default();
                        let path = path.as_str();
                        for body in texts_written(&seen.tokens) {
                            self.judge_text_of(path, &body);
                        }
                        self.judge_rewritten(path, seen);
                    }
                    let data = argument(after, 0).and_then(super::paths::of_data);
                    match data.filter(|_| writes && language == Language::Python) {
                        Some(pattern) => self.touch_path(Effect::Update, &pattern, false),
                        None => self.file_of(if writes { Effect::Update } else { Effect::Read }, path, name, false),
                    }
                }
            }
            Does::Runs => {
                seen.runs = true;
                seen.runs_unseen |= argument(after, 0).is_none_or(|first| {
                    !first
                        .iter()
                        .all(|token| matches!(token, Token::Text(_) | Token::Mark('[' | ']' | '(' | ')' | ',' | '+')))
                });
                if seen.connects {
                    self.keeps_fetched(seen.since);
                }
                if fetches_what_it_runs(after, &seen.tokens, seen.connects) {
                    let message = format!("the {} code runs what a host sends", language.name());
                    self.find(FindingKind::DownloadAndExecute, message);
                }
                self.runs(after, name);
            }
            Does::Connects => {
                seen.connects = true;
                let host = argument(after, 0).and_then(first_text);
                seen.outside |= host.as_deref().is_none_or(|host| {
                    !crate::host::read(host).name.is_some_and(|name| crate::host::is_loopback(&name))
                });
                // `urlretrieve(address, file)`
                if matches!(name.rsplit(['.', ':']).next(), Some("urlretrieve" | "getstore" | "mirror")) {
                    self.file_of(Effect::Update, text(1), name, false);
                }
                match host {
                    Some(host) => {
                        self.touch_host(&Word::text(host.as_str()));
                        // Of a name that is put together the end says who keeps it; whoever it is, something goes there.
                        if crate::host::read(&host).name.is_none() {
                            let to = argument(after, 0).and_then(kept_by).unwrap_or_else(|| "?".to_owned());
                            self.touch_other(Effect::Send, TargetKind::Host, to);
                        }
                    }
                    None => {
                        self.touch_other(Effect::Send, TargetKind::Host, "?");
                        self.unknown(
                            UnknownKind::Value,
                            Effect::Send,
                            format!("which host `{name}` talks to is not constant"),
                        );
                    }
                }
            }
            Does::Environment => {
                if language == Language::Python && self.sets_environment(name, after) {
                    return;
                }
                self.touch_other(Effect::Read, TargetKind::Process, "env");
                let one = matches!(after.first(), Some(Token::Mark('[' | '.' | '(' | '{')));
                let all = matches!(name, "os.environ.items" | "os.environ.copy")
                    || (name.starts_with("ENV.") && name != "ENV.fetch");
                let of_php = matches!(name, "getenv") && argument(after, 0).is_none();
                seen.environment |=
                    all || of_php || (!one && matches!(name, "os.environ" | "process.env" | "ENV" | "_ENV"));
                let whole =
                    !matches!(after.first(), Some(Token::Mark('[' | '.' | '('))) && language == Language::Python;
                if whole && !*seen.hands_on.get_or_insert_with(|| hands_on(&seen.tokens)) {
                    self.find(FindingKind::EnvironmentDump, format!("`{name}` is the whole environment"));
                }
            }
            Does::Unknown if language == Language::Python && self.stores(name, after, &seen.databases) => {}
            // A loader that makes plain values (PyYAML documentation, "Loading YAML").
            Does::Unknown if name.starts_with("yaml.load") && loads_plainly(after, &seen.bound) => {}
            // As `tar` and `unzip` do; what another machine sent may go anywhere.
            Does::Unknown if language == Language::Python && name.ends_with(".extractall") && !seen.fetches => {
                let placed = (0..8).map_while(|n| argument(after, n)).any(|given| match given {
                    [Token::Name(key), Token::Mark('='), ..] => key == "path",
                    _ => true,
                });
                let folder = text(0).or_else(|| keyword(after, "path")).or_else(|| (!placed).then(|| ".".to_owned()));
                match folder {
                    Some(folder) => self.touch_path(Effect::Update, &Word::text(folder), true),
                    None => self.file_of(Effect::Update, None, name, true),
                }
            }
            Does::Unknown if name == "fileinput.input" && self.reads_lines(after) => {}
            Does::Unknown if name == "logging.config.dictConfig" && self.configures_log(after) => {}
            // A variable of its own environment (Python library reference, "os.environ").
            Does::Unknown if name == "os.environ.setdefault" && text(0).is_some() && text(1).is_some() => {
                self.sets_variable(&text(0).unwrap_or_default(), Word::text(text(1).unwrap_or_default()));
            }
            Does::Unknown if name == "os.environ.update" && self.updates_environment(after) => {}
            // Of a table these are its columns (pandas documentation, "DataFrame.rename").
            Does::Unknown if name.ends_with(".rename") && names_columns(after) => {}
            // A text that reaches for nothing but what it is given (Jinja documentation, "Sandbox").
            Does::Unknown
                if matches!(name, "Template" | "jinja2.Template")
                    && argument(after, 1).is_none()
                    && text(0).is_some_and(|text| {
                        let member =
                            |rest: &str| !rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == ']');
                        !["__", "attr", "import", "include", "~", "|map"].iter().any(|part| text.contains(part))
                            && !text.split('[').skip(1).any(member)
                    }) => {}
            // Without what is no number this holds no calls (PyTorch documentation, "torch.load").
            Does::Unknown if name == "torch.load" && sets(after, "weights_only") => {
                self.file_of(Effect::Read, text(0), name, false);
            }
            Does::Unknown
                if (name.ends_with("load_state_dict_from_url") || name.ends_with("model_zoo.load_url"))
                    && sets(after, "weights_only") =>
            {
                self.does(language, Does::Connects, name, after, seen);
            }
            Does::Unknown
                if matches!(
                    name.rsplit('.').next(),
                    Some("read_pickle" | "unsafe_load" | "load_state_dict_from_url" | "load_url")
                ) && argument(after, 0).is_some_and(of_url) =>
            {
                self.find(FindingKind::DownloadAndExecute, format!("`{name}` runs what a host sends"));
                self.does(language, Does::Connects, name, after, seen);
            }
            Does::Unknown => {
                self.unknown(UnknownKind::Code, Effect::Execute, format!("`{name}` goes beyond what is analysed"));
            }
        }
    }
}

impl Machine<'_> {
    /// A method of a path of Python's `pathlib`; whether it is one.
    pub(super) fn path_method(&mut self, path: &Word, method: &str, after: &[Token], seen: &mut Seen) -> bool {
        let word = path.clone();
        let first = method.split('.').next().unwrap_or(method);
        match first {
            "read_text" | "read_bytes" | "stat" | "exists" | "is_file" | "is_dir" | "resolve" | "iterdir" | "lstat" => {
                self.touch_path(Effect::Read, &word, false);
            }
            "glob" | "rglob" => self.touch_path(Effect::Read, &word, true),
            "write_text" | "write_bytes" | "touch" | "chmod" | "symlink_to" | "hardlink_to" => {
                if let Some(body) = argument(after, 0).and_then(constant) {
                    for name in self.paths(&word) {
                        self.judge_written(&name, &crate::machine::Stream::constant(body.as_str()));
                    }
                } else if first.starts_with("write") {
                    self.judge_rewritten(&word.shown(), seen);
                }
                // What is found by a pattern is there already.
                let before = std::mem::replace(&mut self.in_place, word.is_pattern());
                self.touch_path(Effect::Update, &word, false);
                self.in_place = before;
                if argument(after, 0).and_then(constant).is_some_and(|body| body.is_empty()) {
                    self.touch_path(Effect::Delete, &word, false);
                }
            }
            "mkdir" => self.touch_path(Effect::Create, &word, false),
            "unlink" | "rmdir" => self.touch_path(Effect::Delete, &word, false),
            "open" => {
                let mode = argument(after, 0).and_then(constant).or_else(|| keyword(after, "mode")).unwrap_or_default();
                let effect = if mode.contains(['w', 'a', 'x', '+']) { Effect::Update } else { Effect::Read };
                self.touch_path(effect, &word, false);
            }
            "rename" | "replace" => {
                let Some(to) = argument(after, 0).and_then(|to| constant(to).or_else(|| super::paths::whole_path(to)))
                else {
                    return false;
                };
                self.touch_path(Effect::Delete, &word, true);
                self.touch_path(Effect::Update, &Word::text(to), false);
            }
            _ => return false,
        }
        true
    }
}

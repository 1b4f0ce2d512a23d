//! Short code of other languages: which calls read, write, delete, run or connect. Anything that goes beyond the tables is
//! unknown; nothing is guessed to be harmless because it looks simple.

mod applied;
mod arguments;
mod bound;
mod brought;
mod calls;
mod composed;
mod does;
mod encoded;
mod ends;
mod fold;
mod foreign;
mod handed;
mod imports;
mod lex;
mod lists;
mod members;
mod names;
mod paths;
mod patterns;
mod perl;
mod places;
mod plots;
mod powershell;
mod quoting;
mod rounds;
mod settings;
mod sites;
mod spelled;
mod started;
mod statistics;
mod stored;
mod sums;
mod unread;
mod words;

pub(crate) use composed::texts_of;
use countersign_plan::inspection::Context;
pub(crate) use countersign_plan::inspection::Language;
use countersign_plan::tool::Effect;
pub(crate) use sites::{of_user as packages_of_user, printed as printed_packages};

use crate::inspection::{Build as _, FindingKind, Inspection, UnknownKind};
use crate::machine::{MAX_DEPTH, Machine, Stream, Word};
use arguments::{argument, computed_call, constant, drops_database, is_handle, is_request, ruins_home, takes_bare};
use calls::{Does, Table};
use lex::Token;

/// The longest code that is analysed, in bytes.
const MAX_CODE: usize = 64 * 1024;

/// What code would do, as far as its calls show.
#[must_use]
pub fn code(language: Language, text: &str, context: &Context) -> Inspection {
    if language == Language::Shell {
        return crate::shell::shell(text, context);
    }
    crate::shell::inspect(context, |machine| {
        language.name().clone_into(&mut machine.by);
        machine.code(language, text);
    })
}

impl Machine<'_> {
    /// Code of another language than the shell's.
    pub(crate) fn code(&mut self, language: Language, text: &str) {
        if self.depth >= MAX_DEPTH || text.len() > MAX_CODE {
            self.out.too_much("the code is longer or nested more deeply than is analysed");
            return;
        }
        self.depth += 1;
        match language {
            Language::Shell => drop(self.script(text, &Stream::unknown())),
            Language::PowerShell => self.powershell(text),
            Language::Other => self.other_code(text),
            Language::Python | Language::Perl | Language::Ruby | Language::Node | Language::Php | Language::Lua => {
                self.judge_composed(language, text);
                let before = self.out.touches.len();
                self.calls_of(language, text);
                self.judge_planted(text, before);
            }
        }
        self.depth -= 1;
    }

    fn calls_of(&mut self, language: Language, text: &str) {
        let table = calls::table(language);
        let Some(tokens) = lex::tokens(language, &perl::with_globs(language, &paths::above(language, text))) else {
            self.unknown(UnknownKind::Syntax, Effect::Execute, format!("the {} code cannot be read", language.name()));
            return;
        };
        let tokens = match language {
            Language::Node => members::named(tokens),
            Language::Python | Language::Ruby => fold::adjacent(tokens),
            _ => tokens,
        };
        let tokens = names::resolved(language, table, tokens);
        let tokens = names::declared(language, tokens);
        let tokens = names::settled(language, &fold::constants(&tokens, &self.context.home, &self.context.cwd));
        let tokens = names::settled(language, &fold::constants(&tokens, &self.context.home, &self.context.cwd));
        let tokens = fold::bare_loops(words::spread(language, tokens));
        let tokens = if language == Language::Python {
            places::placed(sums::apart(paths::whole(tokens, &self.context.cwd)))
        } else {
            tokens
        };
        let loops = fold::loops(&tokens);
        let worst = fold::worst_of_lists(&tokens, &self.context.home);
        let mut seen = Seen { loops, worst, lists: lists::lists(&tokens), tokens: tokens.clone(), ..Seen::default() };
        seen.bound = bound::Bound::of(&tokens);
        seen.handed = handed::Modules::of(language, &tokens);
        seen.fetches = tokens.iter().any(|token| {
            let does = |name: &str| table.find(name, name.rsplit(['.', ':', '>']).next().unwrap_or(name));
            matches!(token, Token::Name(name) if does(name).is_some_and(|(does, _)| does == Does::Connects))
        });
        match language {
            Language::Python => {
                seen.foreign = foreign::Foreign::of(table, &tokens);
                seen.databases = stored::Databases::of(&tokens, &seen.bound);
                seen.documents = stored::Documents::of(&tokens, &seen.bound);
            }
            Language::Node => seen.patterns = patterns::Patterns::of(&tokens, &seen.bound),
            _ => {}
        }
        if table.calls_bare {
            seen.defined = names::given(language, &tokens);
        }
        seen.defined.extend(brought::own(language, table, &tokens, &seen.bound));
        let tokens = brought::without_bindings(language, tokens);
        let ends = |token: &Token| match token {
            Token::Built(text) => drops_database(text),
            Token::Text(text) => drops_database(text) && text.trim_end_matches(['`', '"', '\'']).ends_with(' '),
            _ => false,
        };
        if tokens.iter().any(ends) {
            let message = format!("the {} code drops databases that it finds", language.name());
            self.find(FindingKind::DestroysDatabase, message);
        }
        let before = self.out.touches.len();
        seen.since = before;
        self.judge_rounds(language, &tokens);
        for (i, token) in tokens.iter().enumerate() {
            match token {
                Token::Name(name) => {
                    // `f(x).g`: a method of what a call gave.
                    let head = tokens.get(..i).unwrap_or_default();
                    if language == Language::Perl && perl::is_key(head, tokens.get(i + 1)) {
                        continue;
                    }
                    let follows = handed::follows(language, head);
                    let after = tokens.get(i + 1..).unwrap_or_default();
                    if follows
                        && language == Language::Python
                        && let Some(path) = paths::before(tokens.get(..i - 1).unwrap_or_default(), name)
                        && self.path_method(&path, name, after, &mut seen)
                    {
                        continue;
                    }
                    if let Some((variable, method)) = name.split_once('.').filter(|_| language == Language::Python)
                        && let Some((_, found)) = seen.loops.iter().find(|(known, _)| known == variable)
                        && self.path_method(&found.clone(), method, after, &mut seen)
                    {
                        continue;
                    }
                    let name = &match handed::module_before(language, head) {
                        Some(module) => format!("{module}.{name}"),
                        None if follows => format!("_.{name}"),
                        None => name.clone(),
                    };
                    let before = i.checked_sub(1).and_then(|i| tokens.get(i));
                    if seen.handed.is_module(language, name, before, after, &seen.bound) {
                        let message = format!("`{name}` is handed on in the {} code", language.name());
                        self.unknown(UnknownKind::Code, Effect::Execute, message);
                    }
                    self.name(language, table, name, before, after, &mut seen);
                }
                Token::Command(line) => {
                    seen.runs = true;
                    match line {
                        Some(line) => {
                            self.script(line, &Stream::unknown());
                        }
                        None => {
                            self.unknown(UnknownKind::Value, Effect::Execute, "a command in the code is not constant")
                        }
                    }
                }
                Token::BuiltCommand(_) => {
                    seen.runs = true;
                    self.unknown(UnknownKind::Value, Effect::Execute, "a command in the code is not constant");
                }
                Token::Mark(';') => seen.importing = Importing::Nothing,
                Token::Mark(mark) => {
                    let next = tokens.get(i + 1);
                    // `$`…``: a shell's line (Bun and zx manuals, "Shell").
                    if let ('$', Language::Node, Some(Token::Text(line))) = (*mark, language, next) {
                        seen.runs = true;
                        self.script(line, &Stream::unknown());
                    }
                    let and = *mark == '&' && i.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Mark('&'));
                    if !and && computed_call(language, *mark, next) {
                        let message = format!("the {} code calls what it computes", language.name());
                        self.unknown(UnknownKind::Code, Effect::Execute, message);
                    }
                }
                Token::Text(_) | Token::Built(_) | Token::Number | Token::Pattern => {}
            }
        }
        self.takes_along(before, seen.environment);
        self.takes_tokens(before, &tokens);
        // Its own input and output become the connection, and a program takes them over.
        let named = |ends: &[&str]| {
            tokens.iter().any(|token| match token {
                Token::Name(name) => {
                    ends.iter().any(|end| name.rsplit(['.', ':']).next().is_some_and(|last| last.starts_with(end)))
                }
                _ => false,
            })
        };
        // `open(STDIN, "<&S")`, `open STDOUT, ">&", $c` (perlfunc, "open").
        let doubled =
            |token: &Token| matches!(token, Token::Text(text) if text.starts_with(">&") || text.starts_with("<&"));
        let doubles = named(&["dup2"]) || (language == Language::Perl && tokens.iter().any(doubled));
        let handed_over = doubles && named(&["exec", "spawn", "system"]) && named(&["connect", "create_connection"]);
        if handed_over || (seen.outside && seen.runs && seen.sockets) {
            self.find(
                FindingKind::ReverseShell,
                format!("the {} code connects a program to a socket", language.name()),
            );
        }
        if ruins_home(&tokens, &self.context.home) {
            let message =
                format!("the {} code goes through the whole home folder and changes what it finds", language.name());
            self.find(FindingKind::DestroysHome, message);
        }
        self.decodes |= seen.decodes;
        self.answered |= seen.connects;
        if seen.decodes && (seen.evaluates || seen.runs_unseen) {
            self.find(FindingKind::DecodeAndExecute, format!("the {} code runs what it decodes", language.name()));
        }
        if seen.connects && seen.evaluates {
            self.find(FindingKind::DownloadAndExecute, format!("the {} code runs what a host sends", language.name()));
        }
    }

    fn name(
        &mut self,
        language: Language,
        table: &Table,
        name: &str,
        before: Option<&Token>,
        after: &[Token],
        seen: &mut Seen,
    ) {
        let lower = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
        // `exec {"/bin/sh"} "sh", "-i"`: the program stands before its words (perlfunc, "exec").
        if let (Language::Perl, "exec" | "system", [Token::Mark('{'), Token::Text(program), Token::Mark('}'), ..]) =
            (language, name, after)
        {
            seen.runs = true;
            self.start(vec![Word::text(program.as_str())], Stream::unknown());
        }
        let is_call = matches!(after.first(), Some(Token::Mark('('))) || (table.calls_bare && takes_bare(after));
        seen.decodes |= table.decoders.contains(lower) || table.decoders.contains(name);
        // What is unpacked so may be any call (Python documentation, "pickle": a warning of its own).
        let unpacks = [
            "pickle.load",
            "pickle.loads",
            "marshal.loads",
            "dill.load",
            "dill.loads",
            "cloudpickle.load",
            "torch.load",
            "joblib.load",
        ];
        seen.evaluates |= is_call && unpacks.contains(&name);
        seen.sockets |= table.sockets.contains(name) || table.sockets.contains(lower);
        // What a class is made with, where it is written.
        let makes = (name == "constructor" && handed::is_written(after))
            // A block, and no file (perlfunc, "do BLOCK").
            || (language == Language::Perl && name == "do" && after.first() == Some(&Token::Mark('{')));
        if !makes && name.split(['.', ':']).any(|part| table.dynamic.contains(part)) {
            seen.evaluates |= table.evaluators.contains(lower);
            let member = argument(after, 1).and_then(constant).filter(|_| lower == "getattr");
            let constant = argument(after, 0).and_then(constant);
            // `array_map("unlink", glob("…"))` calls what it names.
            if language == Language::Php && self.applies(table, lower, after, seen) {
                return;
            }
            // `getattr(node, "id", "")`: a member that is only looked at, by a plain name.
            if member.is_some_and(|member| {
                !table.acts(&member)
                    && !member.starts_with('_')
                    && !table.has_member(&member)
                    && !table.dynamic.contains(member.as_str())
                    && !table.evaluators.contains(member.as_str())
            }) {
                return;
            }
            match constant {
                Some(text) if table.evaluators.contains(lower) => self.code(language, &text),
                Some(_) | None => {
                    let message = format!("`{name}` in the {} code decides at run time what runs", language.name());
                    self.unknown(UnknownKind::Code, Effect::Execute, message);
                }
            }
            return;
        }
        let statement = language == Language::Python || language == Language::Perl;
        if statement && seen.importing == Importing::Modules {
            // `import a as b, c`: what follows `as` is a name of our own.
            if !matches!(before, Some(Token::Name(b)) if b == "as") && name != "as" {
                if name == "import" {
                    seen.importing = Importing::Members;
                } else if language == Language::Perl && matches!(name, "base" | "parent" | "lib") {
                    self.brings(table, name, after, seen);
                } else {
                    self.import(language, table, name, seen);
                }
            }
            return;
        }
        if statement && seen.importing == Importing::Members {
            return;
        }
        // `yield from a`, `raise a from b` (Python Language Reference): only with its second half is it an import.
        let of_import = || matches!(after.get(1), Some(Token::Name(second)) if second == "import");
        if language == Language::Python
            && name == "from"
            && matches!(after.first(), Some(Token::Name(_)))
            && !of_import()
        {
            return;
        }
        if table.imports.contains(name) {
            let named = argument(after, 0).and_then(constant);
            match (named, after.first()) {
                (Some(module), _) => self.import(language, table, &module, seen),
                (None, Some(Token::Name(_))) if statement => seen.importing = Importing::Modules,
                // `import a, {b} from "c"`: the module comes after `from`.
                (None, Some(Token::Name(_) | Token::Mark('{' | '*'))) if name == "import" => {}
                (None, _) => {
                    // PHP's `include` takes an expression without brackets (PHP manual, "include").
                    let bare = after.split(|token| *token == Token::Mark(';')).next().unwrap_or_default();
                    let given = if language == Language::Php { Some(bare) } else { argument(after, 0) };
                    let fetched = given.is_some_and(|given| given.iter().any(|token| matches!(token, Token::Text(text) | Token::Built(text) if text.starts_with("data:"))));
                    let asks = |token: &Token| matches!(token, Token::Text(text) if is_request(text));
                    if fetched
                        && (seen.connects
                            || given.is_some_and(|given| given.iter().any(asks))
                            || seen.tokens.iter().any(|token| matches!(token, Token::Name(name) if name == "fetch")))
                    {
                        self.find(
                            FindingKind::DownloadAndExecute,
                            format!("the {} code runs what a host sends", language.name()),
                        );
                    }
                    let given = argument(after, 0).unwrap_or_default();
                    if language == Language::Node
                        && let (Some(Token::Text(from)), Some(Token::Text(end))) = (given.first(), given.last())
                        && from.starts_with("./")
                        && !from.contains("..")
                        && end.ends_with(".json")
                    {
                        let folder = from.rsplit_once('/').map_or(".", |(folder, _)| folder);
                        self.touch_path(Effect::Read, &Word::text(folder), true);
                        return;
                    }
                    let message = format!("which {} module is loaded is not constant", language.name());
                    self.unknown(UnknownKind::Code, Effect::Execute, message);
                }
            }
            return;
        }
        let asks =
            ["get", "post", "put", "patch", "request", "fetch", "open", "download", "send", "post_form", "mirror"];
        let url = || {
            argument(after, 0)
                .and_then(<[Token]>::first)
                .is_some_and(|first| matches!(first, Token::Text(text) if is_request(text)))
        };
        // `parse("https://…", {download: true})` (Papa Parse documentation, "download").
        let told = || argument(after, 1).is_some_and(|given| given.contains(&Token::Name("download".to_owned())));
        // Of a path these are no methods of a list or a stream (Ruby, "Pathname").
        if language == Language::Ruby
            && name.contains('.')
            && matches!(
                lower,
                "write"
                    | "binwrite"
                    | "delete"
                    | "rename"
                    | "truncate"
                    | "mkpath"
                    | "rmdir"
                    | "make_symlink"
                    | "make_link"
                    | "chmod"
            )
            && seen.tokens.iter().any(|token| matches!(token, Token::Name(name) if name.starts_with("Pathname")))
        {
            let message = format!("what `{name}` does to a path is not analysed");
            self.unknown(UnknownKind::Code, Effect::Delete, message);
            return;
        }
        if language == Language::Python && is_call && does::evaluates(name, after) {
            seen.evaluates = true;
            self.unknown(UnknownKind::Code, Effect::Execute, format!("`{name}` runs what it is given"));
            return;
        }
        if language == Language::Python && is_call && self.writes_document(name, after, &seen.documents) {
            return;
        }
        if language == Language::Perl
            && let Some(effect) = perl::works_on_each(name, before, after)
        {
            self.unknown(UnknownKind::Value, effect, format!("what `{name}` works on is only known when it runs"));
            return;
        }
        let found = table.find(name, lower);
        if is_call
            && found.is_none_or(|(does, _)| does == Does::Nothing)
            && (asks.contains(&lower) || (lower == "parse" && told()))
            && url()
        {
            self.does(language, Does::Connects, name, after, seen);
            return;
        }
        // A reader of settings opens what it is given (Python library reference, "configparser").
        let settings = language == Language::Python && is_call && lower == "read" && name.contains('.');
        if settings && let Some(path) = argument(after, 0).and_then(constant).filter(|path| path.contains('/')) {
            self.file_of(Effect::Read, Some(path), name, false);
            return;
        }
        seen.environment |= arguments::reads_all_of_environment(language, name, before);
        // A module under another name, or given to something, does there what nobody sees.
        let bare = table.guarded.contains(name) && before != Some(&Token::Mark('.'));
        let indexed = language == Language::Ruby && after.first() == Some(&Token::Mark('['));
        if bare && found.is_none() && !indexed {
            self.unknown(
                UnknownKind::Code,
                Effect::Execute,
                format!("`{name}` is handed on in the {} code", language.name()),
            );
            return;
        }
        let Some((does, method)) = found else {
            if self.foreign(table, name, is_call, seen) {
                return;
            }
            // Of a module that acts on the machine, what the tables do not have may do anything.
            let guarded = |(module, _): (&str, &str)| table.guarded.contains(module);
            let says = language == Language::Python && table.writes_or_runs(name);
            if is_call && name.split_once('.').is_some_and(|parts| says || guarded(parts)) {
                let message = format!("`{name}` goes beyond what is analysed");
                self.unknown(UnknownKind::Code, Effect::Execute, message);
            }
            if is_call && name.contains(['.', ':', '>']) && Table::takes_away(name) {
                self.touch_named(Effect::Delete, name);
            }
            // `const {spawn} = require("child_process")`
            seen.runs |= language == Language::Node
                && is_call
                && matches!(name, "spawn" | "exec" | "execFile" | "execSync" | "spawnSync" | "execFileSync" | "fork");
            if is_call
                && (!name.contains(['.', ':', '>']) || (name.contains("::") && !name.contains('.')))
                && !table.is_harmless(lower)
                && !(language == Language::Perl && is_handle(name))
                && !seen.defined.contains(&name.to_owned())
            {
                let defines = matches!(before, Some(Token::Name(b)) if matches!(b.as_str(), "def" | "function" | "sub" | "class" | "lambda" | "my" | "new"));
                let object = language == Language::Php && matches!(before, Some(Token::Name(b)) if b == "new");
                let opaque = object && !applied::OBJECTS.contains(&name);
                if defines && !opaque {
                    seen.defined.push(name.to_owned());
                } else {
                    let message = format!("what `{name}` in the {} code does is not known", language.name());
                    self.unknown(UnknownKind::Code, Effect::Execute, message);
                }
            }
            return;
        };
        // Handed on, it may be called by whoever gets it.
        if !is_call && handed::is_handed_on(language, does, name, before, after) {
            let message = format!("`{name}` is handed on in the {} code", language.name());
            self.unknown(UnknownKind::Code, Effect::Execute, message);
            return;
        }
        if method && !is_call && !(table.calls_bare && does != Does::Nothing) {
            return;
        }
        let of_call = is_call || method || !table.calls_bare;
        if of_call || matches!(does, Does::Environment | Does::Unknown) {
            self.does(language, does, name, after, seen);
        }
    }
}

/// What was met on the way.
#[derive(Debug, Default)]
struct Seen {
    connects: bool,
    /// Whether one of those whom it talks to is another machine.
    outside: bool,
    /// Whether the whole environment is read.
    environment: bool,
    sockets: bool,
    runs: bool,
    /// Whether something is run of which not every word is constant.
    runs_unseen: bool,
    decodes: bool,
    evaluates: bool,
    /// Variables of loops over names of files, with the pattern of those.
    loops: Vec<(String, Word)>,
    /// Variables of loops over lists that hold the home folder or the root.
    worst: Vec<(String, Word)>,
    /// Names that stand for each of several constants.
    lists: lists::Lists,
    /// All of the code.
    tokens: Vec<Token>,
    /// Whether it looks for what the home folder or the root holds, and hands the environment on to a program alone, once somebody asked.
    everywhere: Option<bool>,
    hands_on: Option<bool>,
    /// Where its touches begin.
    since: usize,
    /// Files that it opens to write, of which what is written was looked at.
    looked_into: usize,
    defined: Vec<String>,
    /// Names of modules that no table describes.
    foreign: foreign::Foreign,
    /// How its names are given something.
    bound: bound::Bound,
    /// Names that stand for patterns.
    patterns: patterns::Patterns,
    /// What it opens of SQLite.
    databases: stored::Databases,
    /// Documents that write themselves.
    documents: stored::Documents,
    /// Whether it talks to another machine, wherever in it.
    fetches: bool,
    importing: Importing,
    /// Modules that it brings in as they are.
    handed: handed::Modules,
}

/// What names stand for after a word of importing.
#[derive(Debug, Default, PartialEq, Eq)]
enum Importing {
    #[default]
    Nothing,
    /// Modules.
    Modules,
    /// What is taken out of a module.
    Members,
}

#[cfg(test)]
mod tests;

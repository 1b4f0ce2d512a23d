//! Words to fields: brace, tilde, parameter, command and arithmetic expansion, word splitting, quoting
//! (POSIX.1-2024 XCU 2.6; Bash reference manual 3.5). What is constant is computed; the rest becomes a hole.

use brush_parser::ParserOptions;
use brush_parser::word::{TildeExpr, WordPiece, WordPieceWithSource, parse, parse_heredoc};
use countersign_plan::tool::Effect;

use super::{ansi, parts};
use crate::inspection::{Build as _, UnknownKind};
use crate::machine::{Machine, Part, Stream, Variable, Word};
use crate::path;

/// The most words that one word may become.
pub(super) const MAX_FIELDS: usize = 512;

/// The most decoded texts that are remembered.
const MAX_DECODED: usize = 16;

/// How a word is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As arguments: split into fields.
    Fields,
    /// As one value: an assignment, a redirection, a `case` word.
    Single,
}

/// Fields under construction.
struct Fields {
    done: Vec<Word>,
    current: Word,
    /// Whether `current` exists even if it is empty, because something was quoted.
    open: bool,
}

impl Fields {
    fn push(&mut self, part: Part) {
        self.open = true;
        self.current.push(part);
    }

    fn text(&mut self, text: &str) {
        self.open = true;
        self.current.push_str(text);
    }

    fn end(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }
}

impl Machine<'_> {
    /// The fields that a word becomes.
    pub(crate) fn fields(&mut self, raw: &str) -> Vec<Word> {
        if let Some(word) = unexpanded(raw) {
            return vec![word];
        }
        let mut out = Vec::new();
        for raw in self.braces(raw) {
            out.extend(self.expand(&raw, Mode::Fields));
            if out.len() > MAX_FIELDS {
                self.out.too_much("a word becomes more words than are followed");
                out.truncate(MAX_FIELDS);
                out.push(Word::hole("…"));
                break;
            }
        }
        out
    }

    /// Adds the fields that a word becomes.
    pub(crate) fn add_fields(&mut self, raw: &str, out: &mut Vec<Word>) {
        match unexpanded(raw) {
            Some(word) => out.push(word),
            None => out.extend(self.fields(raw)),
        }
    }

    /// The one value that a word becomes.
    pub(crate) fn single(&mut self, raw: &str) -> Word {
        if let Some(text) = literal_text(raw) {
            return Word::text(text);
        }
        self.expand(raw, Mode::Single).pop().unwrap_or_default()
    }

    /// The text of a here-document that is expanded.
    pub(crate) fn here_document(&mut self, raw: &str) -> Word {
        if !raw.contains(['$', '`', '\\']) {
            return Word::text(raw);
        }
        match parse_heredoc(raw, &options()) {
            Ok(pieces) => self.pieces(&pieces, Mode::Single).pop().unwrap_or_default(),
            Err(_) => {
                self.unknown(UnknownKind::Syntax, Effect::Execute, "a here-document cannot be read");
                Word::hole("here-document")
            }
        }
    }

    fn expand(&mut self, raw: &str, mode: Mode) -> Vec<Word> {
        match parse(raw, &options()) {
            Ok(pieces) => self.pieces(&pieces, mode),
            Err(_) => {
                self.unknown(UnknownKind::Syntax, Effect::Execute, format!("the word `{raw}` cannot be read"));
                vec![Word::hole("word")]
            }
        }
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], mode: Mode) -> Vec<Word> {
        let mut fields = Fields { done: Vec::new(), current: Word::default(), open: false };
        for piece in pieces {
            self.piece(&piece.piece, mode == Mode::Single, mode, &mut fields);
        }
        fields.end();
        fields.done
    }

    fn piece(&mut self, piece: &WordPiece, quoted: bool, mode: Mode, out: &mut Fields) {
        match piece {
            WordPiece::Text(text) if quoted => out.text(text),
            WordPiece::Text(text) => literal(text, out),
            WordPiece::SingleQuotedText(text) => out.text(text),
            WordPiece::AnsiCQuotedText(text) => out.text(&ansi::c_quoted(text)),
            WordPiece::EscapeSequence(text) => match text.strip_prefix('\\') {
                Some("\n") => {}
                Some(escaped) => out.text(escaped),
                None => out.text(text),
            },
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                out.open = true;
                for piece in inner {
                    self.in_quotes(&piece.piece, mode, out);
                }
            }
            WordPiece::TildeExpansion(tilde) => self.tilde(tilde, out),
            WordPiece::ParameterExpansion(expr) => {
                let values = self.parameter(expr);
                self.emit_all(values, quoted, out);
            }
            WordPiece::CommandSubstitution(command) => {
                let values = self.substitute(command, quoted);
                self.emit_all(values, quoted, out);
            }
            WordPiece::BackquotedCommandSubstitution(command) => {
                let values = self.substitute(&ansi::backquoted(command), quoted);
                self.emit_all(values, quoted, out);
            }
            WordPiece::ArithmeticExpression(expr) => {
                let value = self.arithmetic(&expr.value);
                self.emit(&value, true, out);
            }
        }
    }

    fn in_quotes(&mut self, piece: &WordPiece, mode: Mode, out: &mut Fields) {
        match piece {
            WordPiece::EscapeSequence(text) => match text.strip_prefix('\\') {
                Some("\n") => {}
                Some(escaped @ ("$" | "`" | "\"" | "\\")) => out.text(escaped),
                Some(_) | None => out.text(text),
            },
            // `"$@"` stays several words.
            WordPiece::ParameterExpansion(expr) => {
                let values = self.parameter(expr);
                if parts::is_joined(expr) {
                    return self.joined(&values, out);
                }
                let mut values = values.into_iter().peekable();
                while let Some(value) = values.next() {
                    self.emit(&value, true, out);
                    if values.peek().is_some() {
                        if mode == Mode::Single {
                            out.text(" ");
                        } else {
                            out.end();
                            out.open = true;
                        }
                    }
                }
            }
            other => self.piece(other, true, mode, out),
        }
    }

    fn emit_all(&mut self, values: Vec<Word>, quoted: bool, out: &mut Fields) {
        let last = values.len().saturating_sub(1);
        for (i, value) in values.iter().enumerate() {
            self.emit(value, quoted, out);
            if i < last {
                if quoted { out.text(" ") } else { out.end() }
            }
        }
    }

    /// Adds an expanded value: split at `IFS` and read as a pattern where it is not quoted.
    fn emit(&mut self, value: &Word, quoted: bool, out: &mut Fields) {
        let length = value.parts().iter().map(|p| if let Part::Text(t) = p { t.len() } else { 1 }).sum();
        if !self.produce(length) {
            out.push(Part::Hole { name: "…".to_owned(), many: true });
            return;
        }
        let separators = if quoted { String::new() } else { self.separators() };
        for part in value.parts() {
            match part {
                Part::Text(text) if quoted => out.text(text),
                Part::Text(text) => {
                    for c in text.chars() {
                        if separators.contains(c) {
                            out.end();
                            if !c.is_whitespace() && out.done.is_empty() {
                                out.done.push(Word::default());
                            }
                        } else if matches!(c, '*' | '?' | '[') {
                            out.push(Part::Glob(c));
                        } else {
                            out.text(c.encode_utf8(&mut [0; 4]));
                        }
                        if out.done.len() > MAX_FIELDS {
                            self.out.too_much("a word becomes more words than are followed");
                            return;
                        }
                    }
                }
                // Names of files that matched elsewhere: quotes do not make them one name.
                Part::Glob(c) => out.push(Part::Glob(*c)),
                Part::Hole { name, many } => {
                    out.push(Part::Hole { name: name.clone(), many: !quoted || *many });
                }
            }
        }
    }

    /// `"$*"`: one word, with the first character of `IFS` between those that it is made of (Bash reference manual 3.4.2).
    fn joined(&mut self, values: &[Word], out: &mut Fields) {
        let known = match self.scope.variable("IFS") {
            None | Some(Variable::Unset) => Some(" ".to_owned()),
            Some(Variable::Scalar(word)) => word.known().map(|text| text.chars().take(1).collect()),
            Some(Variable::Array(_) | Variable::Unknown) => None,
        };
        for (i, value) in values.iter().enumerate() {
            match &known {
                Some(between) if i > 0 => out.text(between),
                None if i > 0 => out.push(Part::Hole { name: "IFS".to_owned(), many: false }),
                Some(_) | None => {}
            }
            self.emit(&value.alone(), true, out);
        }
    }

    pub(crate) fn separators(&self) -> String {
        match self.scope.variable("IFS") {
            Some(Variable::Scalar(word)) => word.known().unwrap_or_else(|| " \t\n".to_owned()),
            Some(Variable::Array(_) | Variable::Unset | Variable::Unknown) | None => " \t\n".to_owned(),
        }
    }

    fn tilde(&mut self, tilde: &TildeExpr, out: &mut Fields) {
        match tilde {
            TildeExpr::Home => match self.variable_word("HOME") {
                Some(home) => home.parts().iter().for_each(|part| out.push(part.clone())),
                None => out.text(&self.context.home.clone()),
            },
            TildeExpr::UserHome(user) if user == "root" => out.text("/root"),
            TildeExpr::UserHome(user) => out.text(&format!("/home/{user}")),
            TildeExpr::WorkingDir => match self.scope.folders() {
                Some([folder]) => out.text(&folder.clone()),
                Some(_) | None => out.push(Part::Hole { name: "PWD".to_owned(), many: false }),
            },
            TildeExpr::OldWorkingDir
            | TildeExpr::NthDirFromTopOfDirStack { .. }
            | TildeExpr::NthDirFromBottomOfDirStack { .. } => {
                out.push(Part::Hole { name: "OLDPWD".to_owned(), many: false });
            }
        }
    }

    /// What a command writes, as the value of `$(…)`.
    fn substitute(&mut self, command: &str, quoted: bool) -> Vec<Word> {
        let decodes = std::mem::take(&mut self.decodes);
        // What it reads it has read before anything is opened for writing.
        let inputs = std::mem::take(&mut self.inputs);
        // Bash does not go by `set -e` there (reference manual 3.7.3).
        let mut stream = self.apart(|machine| {
            machine.scope.errexit = false;
            machine.nested(command)
        });
        self.inputs = inputs;
        stream.decoded |= std::mem::replace(&mut self.decodes, decodes);
        if stream.text.is_none() && self.origins.len() < MAX_FIELDS {
            let origin = Stream { listing: Vec::new(), ..stream.clone() };
            self.origins.insert(format!("({})", shorten(command)), origin);
        }
        if let Some(text) = stream.text.as_deref().map(str::trim).filter(|text| stream.decoded && text.len() > 1)
            && self.decoded.len() < MAX_DECODED
        {
            self.decoded.push(text.to_owned());
        }
        if stream.text.is_none() && is_own_entry(command) {
            return vec![Word::text(&self.context.home)];
        }
        if let Some(word) = numbered(command).filter(|_| stream.text.is_none()) {
            return vec![word];
        }
        // A day or a time in a name is one of those names.
        if stream.text.is_none() && !stream.endless && is_moment(command) {
            return vec![Word::pattern("*")];
        }
        match stream.text {
            Some(text) => vec![Word::text(text.trim_end_matches('\n'))],
            None if !quoted && !stream.listing.is_empty() => stream.listing,
            None => vec![self.one_of(&stream.listing).unwrap_or_else(|| Word::hole(format!("({})", shorten(command))))],
        }
    }

    /// Any of a list of names of files as one word: its only pattern, or all below the folder that the patterns have in common.
    pub(crate) fn one_of(&self, listing: &[Word]) -> Option<Word> {
        if let [only] = listing {
            return Some(only.clone());
        }
        let paths: Vec<String> = listing.iter().flat_map(|word| self.paths(word)).collect();
        let literal = |path: &String| path.split(['*', '?', '[']).next().unwrap_or("").to_owned();
        let mut common = literal(paths.first()?);
        for path in &paths {
            while !literal(path).starts_with(&common) {
                common.pop();
            }
        }
        let folder = common.rsplit_once('/').map_or("", |(folder, _)| folder);
        let wide = |own: &String| own == folder || path::is_below(own, folder);
        let wide = folder.is_empty() || wide(&self.context.cwd) || wide(&self.context.home);
        (!wide && !folder.contains('$')).then(|| Word::text(folder).all_below())
    }
}

/// Whether a command prints the home folder out of the user's own entry (getent(1), passwd(5)).
fn is_own_entry(command: &str) -> bool {
    let command = command.trim();
    let home = [
        "cut -d: -f6",
        "cut -f6 -d:",
        "cut -d ':' -f 6",
        "cut -d: -f 6",
        "awk -F: '{print $6}'",
        "awk -F: '{ print $6 }'",
    ];
    let own = ["$(id -un)", "$(whoami)", "$USER", "${USER}", "$LOGNAME", "$(id -u)", "$UID", "$(logname)"];
    command.starts_with("getent passwd")
        && home.iter().any(|end| command.ends_with(end))
        && own.iter().any(|name| command.contains(name))
}

/// Whether a command says only a day, a time or numbers, that name nothing else: `date +%F`, `seq -w 1 12`, without anything that a path
/// is made of.
fn is_moment(command: &str) -> bool {
    let plain = |word: &str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '%' | '+' | '-' | '_' | ':' | '\'' | '"' | '='))
    };
    let mut words = command.split_whitespace();
    match words.next() {
        Some("nproc") => words.next().is_none(),
        // So many that a loop over them is still a small one.
        Some("seq") => words.all(|word| word == "-w" || (word.len() < 4 && word.chars().all(|c| c.is_ascii_digit()))),
        Some("date") => {
            // Of which file or day it is says nothing of how it is written.
            let mut given = false;
            let plain = |word: &str| plain(word) && !["%D", "%x", "%c", "%+"].iter().any(|form| word.contains(form));
            words.all(|word| {
                let argument = given;
                given = !argument && matches!(word, "-r" | "-d");
                (argument && !word.contains(['`', '(', ';', '|', '&', '>', '<'])) || plain(word)
            })
        }
        _ => false,
    }
}

/// What `printf FORMAT …` prints where all that the format leaves open is numbers: `printf '/tmp/figs/%02d.png' $i` (printf(1)).
fn numbered(command: &str) -> Option<Word> {
    let rest = command.trim().strip_prefix("printf ")?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (format, given) = rest.strip_prefix(quote)?.split_once(quote)?;
    let open = |c: char| matches!(c, '`' | '(' | ')' | ';' | '|' | '&' | '<' | '>' | '\n');
    if given.contains(open) || !given.starts_with(' ') || format.contains(['\\', '$', '`']) || format.starts_with('-') {
        return None;
    }
    // More words than the format takes print it again.
    let mut words = given.split_whitespace();
    let mut out = Word::default();
    let mut parts = format.split('%');
    out.push_str(parts.next()?);
    for part in parts {
        let kind = part.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        words.next().filter(|_| part.get(kind..).is_some_and(|rest| rest.starts_with('d')))?;
        out.append(&Word::hole("a number"));
        out.push_str(part.get(kind + 1..)?);
    }
    words.next().is_none().then_some(out)
}

/// Whether a character of a word stands for itself wherever it stands.
const fn is_plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b'=' | b',' | b'+' | b'@' | b'%' | b':')
}

/// The text of a word that is what it looks like, or is quoted as a whole with nothing to expand in it.
fn literal_text(raw: &str) -> Option<&str> {
    let within = |quote: char| raw.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    match raw.as_bytes().first()? {
        b'\'' => within('\'').filter(|text| !text.contains(['\'', '{'])),
        b'"' => within('"').filter(|text| !text.contains(['"', '$', '`', '\\', '{'])),
        _ => raw.bytes().all(is_plain).then_some(raw),
    }
}

/// The one field of a word in which nothing is expanded but names of files.
fn unexpanded(raw: &str) -> Option<Word> {
    let pattern = || raw.bytes().all(|b| is_plain(b) || matches!(b, b'*' | b'?'));
    literal_text(raw).map(Word::text).or_else(|| (!raw.is_empty() && pattern()).then(|| Word::pattern(raw)))
}

/// Unquoted text: what matches names of files is kept apart.
fn literal(text: &str, out: &mut Fields) {
    if !text.contains(['*', '?', '[']) {
        out.text(text);
        return;
    }
    // Without its other half a bracket is only one.
    let classes = text.contains(']');
    for c in text.chars() {
        if matches!(c, '*' | '?') || (c == '[' && classes) {
            out.push(Part::Glob(c));
        } else {
            out.text(c.encode_utf8(&mut [0; 4]));
        }
    }
}

/// The first characters of a command, for messages and names of holes.
fn shorten(command: &str) -> String {
    let mut short: String = command.trim().chars().take(40).collect();
    if short.len() < command.trim().len() {
        short.push('…');
    }
    short
}

/// How this crate reads Bash.
pub(crate) fn options() -> ParserOptions {
    ParserOptions { tilde_expansion_after_colon: false, ..ParserOptions::default() }
}

#[cfg(test)]
mod tests {
    use countersign_plan::inspection::Context;

    use super::{Machine, Mode};

    #[test]
    fn what_needs_no_expansion_is_what_expansion_makes_of_it() {
        let context = Context::new("/w", "/home/u");
        let mut machine = Machine::new(&context);
        for raw in [
            "a",
            "a=b,c",
            "*",
            "src/*.py",
            "?x",
            "''",
            "\"\"",
            "'a b'",
            "\"a  b\"",
            "'$x `y` \\ \"'",
            "\"it's\"",
            "'*'",
            "\"?\"",
            "'~'",
            "\"!a\"",
            "'a'b",
            "'a''b'",
            "\"a\"\"b\"",
            "'a{b,c}'",
            "\"$x\"",
            "\"a\\nb\"",
            "[ab]*",
            "{a,b}",
            "~",
            "é*",
            "'é'",
        ] {
            let made: Vec<_> = machine.braces(raw).iter().flat_map(|raw| machine.expand(raw, Mode::Fields)).collect();
            assert_eq!(machine.fields(raw), made, "{raw}");
            let made = machine.expand(raw, Mode::Single).pop().unwrap_or_default();
            assert_eq!(machine.single(raw), made, "{raw}");
        }
        assert!(machine.fields("").is_empty());
    }
}

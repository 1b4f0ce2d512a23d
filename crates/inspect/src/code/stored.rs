//! What code does to databases of SQLite that it opens itself, where its statements are constant (Python library reference, "sqlite3").

use std::collections::BTreeSet;

use countersign_plan::tool::{Effect, TargetKind};

use super::arguments::{argument, constant, keyword};
use super::bound::Bound;
use super::lex::Token;
use crate::inspection::Build as _;
use crate::machine::{Machine, Word};

/// The most databases that one code opens, and the most names of what it opens.
const MAX_FILES: usize = 16;

/// The most tokens of a call that something is chained to.
const MAX_CHAIN: usize = 96;

/// What a code opens of SQLite, where all that it connects to are such databases under constant names.
#[derive(Debug, Default)]
pub(super) struct Databases {
    places: Vec<String>,
    /// Names that stand for one of them, and for nothing else.
    names: BTreeSet<String>,
    /// Whether what is chained to a call is chained to one of theirs.
    chained: bool,
}

impl Databases {
    pub(super) fn of(tokens: &[Token], bound: &Bound) -> Self {
        let mut out = Self::default();
        for (i, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            let last = name.rsplit('.').next().unwrap_or(name);
            if !matches!(last, "connect" | "Connect" | "Connection" | "create_engine" | "connection") {
                continue;
            }
            match tokens.get(i + 1..) {
                Some([Token::Mark('('), Token::Text(place), Token::Mark(')' | ','), ..])
                    if name == "sqlite3.connect" && out.places.len() < MAX_FILES =>
                {
                    out.places.push(place.clone());
                }
                _ => return Self::default(),
            }
        }
        if out.places.is_empty() {
            return out;
        }
        // A cursor is made of a connection, which stands before it.
        for (i, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            let assigned = tokens.get(i + 1) == Some(&Token::Mark('='));
            let named = assigned && bound.only_given(name).is_some_and(|given| given.len() == 1);
            if named && out.names.len() < MAX_FILES && out.begins(tokens.get(i + 2)) {
                out.names.insert(name.clone());
            }
            // `with sqlite3.connect("a.db") as c:`
            if let [.., Token::Name(word), Token::Name(own)] = tokens.get(..=i).unwrap_or_default()
                && word == "as"
                && bound.is_named_once(own)
                && out.names.len() < MAX_FILES
            {
                let head = tokens.get(i.saturating_sub(MAX_CHAIN)..i - 1).unwrap_or_default();
                if caller(head).is_some_and(|at| out.begins(head.get(at))) {
                    out.names.insert(own.clone());
                }
            }
        }
        out.chained = tokens.iter().enumerate().all(|(i, token)| {
            let chained = i.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Mark('.'));
            if !chained
                || !matches!(token, Token::Name(name) if EXECUTES.contains(&name.rsplit('.').next().unwrap_or(name)))
            {
                return true;
            }
            let head = tokens.get(i.saturating_sub(MAX_CHAIN)..i - 1).unwrap_or_default();
            caller(head).is_some_and(|at| out.begins(head.get(at)))
        });
        out
    }

    /// Whether a call begins with such a database: `sqlite3.connect`, `c.cursor`.
    fn begins(&self, token: Option<&Token>) -> bool {
        let Some(Token::Name(name)) = token else { return false };
        let of_own = name.split_once('.').is_some_and(|(own, _)| self.names.contains(own));
        name == "sqlite3.connect" || of_own
    }

    /// Whether a method is that of one of them.
    fn has(&self, name: &str) -> bool {
        match name.rsplit_once('.') {
            Some(("_", _)) => self.chained,
            Some((own, _)) => self.names.contains(own),
            None => false,
        }
    }
}

/// The file of a database by its name or its address; one in memory has none (SQLite, "Uniform Resource Identifiers", "In-Memory Databases").
pub(super) fn file_of_place(place: &str) -> Option<String> {
    let Some(address) = place.strip_prefix("file:") else {
        return (!matches!(place, ":memory:" | "")).then(|| place.to_owned());
    };
    let (path, said) = address.split_once('?').unwrap_or((address, ""));
    let path = path.strip_prefix("//localhost").or_else(|| path.strip_prefix("//")).unwrap_or(path);
    let in_memory = matches!(path, ":memory:" | "") || said.split('&').any(|one| one == "mode=memory");
    (!in_memory).then(|| path.to_owned())
}

/// Where the name of the first call stands to which the calls are chained that end here.
fn caller(tokens: &[Token]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, tokens.len());
    while let Some(next) = at.checked_sub(1) {
        at = next;
        match tokens.get(at)? {
            Token::Mark(')' | ']' | '}') => depth += 1,
            Token::Mark('(' | '[' | '{') => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            Token::Name(_) if at.checked_sub(1).and_then(|at| tokens.get(at)) != Some(&Token::Mark('.')) => {
                return Some(at);
            }
            Token::Name(_) | Token::Mark('.') => {}
            _ => return None,
        }
    }
    None
}

/// Methods that are given a statement.
const EXECUTES: &[&str] = &["execute", "executemany", "executescript"];

/// Documents that code makes, of which `write` takes the name of a file (Python library reference, "xml.etree.ElementTree"; the manuals of lxml,
/// pypdf and pikepdf).
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// Whether there may be any.
    any: bool,
    /// Names that stand for one, and names that stand for a stream, which takes a text.
    names: BTreeSet<String>,
    streams: BTreeSet<String>,
    /// Whether something is written by a document that has no name.
    unnamed: bool,
}

impl Documents {
    pub(super) fn of(tokens: &[Token], bound: &Bound) -> Self {
        let mut out = Self::default();
        for (i, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            out.any |= is_document(name);
            let before = i.checked_sub(1).and_then(|i| tokens.get(i));
            let head = || tokens.get(i.saturating_sub(MAX_CHAIN)..i.saturating_sub(1)).unwrap_or_default();
            let called = || caller(head()).and_then(|at| head().get(at));
            if name == "write" && before == Some(&Token::Mark('.')) {
                out.unnamed |= matches!(called(), Some(Token::Name(name)) if is_document(name));
            }
            let once = bound.only_given(name).is_some_and(|given| given.len() == 1);
            let value = match tokens.get(i + 1..i + 3) {
                Some([Token::Mark('='), value]) if once => Some(value),
                _ if matches!(before, Some(Token::Name(word)) if word == "as") && bound.is_named_once(name) => called(),
                _ => None,
            };
            let Some(Token::Name(value)) = value else { continue };
            if out.names.len() + out.streams.len() < 2 * MAX_FILES {
                let opened = ["open", "StringIO", "BytesIO"].contains(&value.rsplit('.').next().unwrap_or(value));
                let into =
                    if opened { Some(&mut out.streams) } else { Some(&mut out.names).filter(|_| is_document(value)) };
                into.map(|into| into.insert(name.clone()));
            }
        }
        out
    }
}

/// Whether a name is that of a module of documents, or of what makes one.
fn is_document(name: &str) -> bool {
    const DOCUMENTS: &[&str] = &[
        "ElementTree",
        "etree",
        "lxml",
        "pypdf",
        "PyPDF2",
        "PyPDF4",
        "pikepdf",
        "write_c14n",
        "PdfWriter",
        "PdfFileWriter",
        "PdfMerger",
    ];
    name.split('.').any(|part| DOCUMENTS.contains(&part))
}

impl Machine<'_> {
    /// A constant statement that is given to such a database: whether it is one.
    pub(super) fn stores(&mut self, name: &str, after: &[Token], databases: &Databases) -> bool {
        let executes = name.rsplit('.').next().is_some_and(|last| EXECUTES.contains(&last)) && databases.has(name);
        let Some(statement) = argument(after, 0).and_then(constant).filter(|_| executes) else { return false };
        let places = &databases.places;
        let lower = statement.to_ascii_lowercase();
        let in_memory = places.iter().all(|place| file_of_place(place).is_none());
        if in_memory && !["attach", "vacuum", "load_extension"].iter().any(|word| lower.contains(word)) {
            return true;
        }
        let mut inspection = crate::sql::sql(&statement);
        for touch in inspection.touches.iter_mut().filter(|touch| touch.kind == TargetKind::File) {
            if let [path] = self.paths(&Word::text(touch.name.as_str())).as_slice() {
                touch.name.clone_from(path);
            }
        }
        let changes = inspection.touches.iter().any(|touch| !touch.effect.is_harmless());
        self.out.absorb(inspection);
        for file in places.iter().filter(|_| changes).filter_map(|place| file_of_place(place)) {
            self.touch_path(Effect::Update, &Word::text(file), false);
        }
        true
    }

    /// `tree.write("a.xml")`, `writer.write("a.pdf")`: of a document that is the name of a file, and no text.
    pub(super) fn writes_document(&mut self, name: &str, after: &[Token], documents: &Documents) -> bool {
        let Some(own) = name.strip_suffix(".write").filter(|_| documents.any) else { return false };
        if documents.streams.contains(own) || matches!(own, "sys.stdout" | "sys.stderr") {
            return false;
        }
        let named = keyword(after, "file_or_filename").or_else(|| keyword(after, "filename"));
        let file = named.or_else(|| argument(after, 0).and_then(constant));
        if documents.names.contains(own) || (own == "_" && documents.unnamed) {
            self.file_of(Effect::Update, file, name, false);
            return true;
        }
        // What else has that name may be given a text.
        let Some(file) = file else { return false };
        let ends = file.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty() && (2..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        if !(ends || file.contains('/')) || file.contains(['\n', '<', ' ', '\t']) {
            return false;
        }
        self.touch_path(Effect::Update, &Word::text(file), false);
        true
    }

    /// `fileinput.input("a", inplace=True)` (Python library reference, "fileinput"); without a file it reads what the program is given.
    pub(super) fn reads_lines(&mut self, after: &[Token]) -> bool {
        let (mut in_place, mut files) = (false, None);
        for (n, given) in (0..8).map_while(|n| argument(after, n)).enumerate() {
            let (key, value) = match given {
                [Token::Name(key), Token::Mark('='), value @ ..] => (key.as_str(), value),
                // What is spread may say anything.
                [Token::Mark('*'), ..] => return false,
                value => (
                    if n == 0 {
                        "files"
                    } else if n == 1 {
                        "inplace"
                    } else {
                        ""
                    },
                    value,
                ),
            };
            match key {
                "files" => files = Some(value),
                "inplace" => in_place |= !matches!(value, [Token::Name(no)] if no == "False"),
                _ => {}
            }
        }
        let Some(files) = files else { return !in_place };
        let listed = matches!(files.first(), Some(Token::Mark('[' | '(')));
        let plain = |token: &Token| matches!(token, Token::Text(_) | Token::Mark('[' | ']' | '(' | ')' | ','));
        if !(constant(files).is_some() || (listed && files.iter().all(plain))) {
            return false;
        }
        let effect = if in_place { Effect::Update } else { Effect::Read };
        for token in files {
            if let Token::Text(file) = token {
                self.touch_path(effect, &Word::text(file.as_str()), false);
            }
        }
        true
    }
}

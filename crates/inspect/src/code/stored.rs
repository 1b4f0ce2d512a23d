//! What code does to databases of SQLite that it opens itself, where its statements are constant (Python library reference, "sqlite3").

use countersign_plan::tool::{Effect, TargetKind};

use super::arguments::{argument, constant};
use super::lex::Token;
use crate::inspection::Build as _;
use crate::machine::{Machine, Word};

/// The most databases that one code opens.
const MAX_FILES: usize = 16;

/// Where code connects to, where all that it connects to are databases of SQLite under constant names.
fn opened(tokens: &[Token]) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        if name != "connect" && !name.ends_with(".connect") {
            continue;
        }
        match tokens.get(i + 1..) {
            Some([Token::Mark('('), Token::Text(place), Token::Mark(')' | ','), ..])
                if name == "sqlite3.connect" && out.len() < MAX_FILES =>
            {
                out.push(place.clone());
            }
            _ => return None,
        }
    }
    (!out.is_empty()).then_some(out)
}

impl Machine<'_> {
    /// A constant statement that is given to such a database: whether it is one.
    pub(super) fn stores(&mut self, name: &str, after: &[Token], tokens: &[Token]) -> bool {
        let executes = matches!(name.rsplit('.').next(), Some("execute" | "executemany" | "executescript"));
        let statement = argument(after, 0).and_then(constant).filter(|_| executes);
        let (Some(statement), Some(places)) = (statement, opened(tokens)) else { return false };
        let lower = statement.to_ascii_lowercase();
        let in_memory = places.iter().all(|place| place == ":memory:");
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
        for place in places.iter().filter(|place| changes && place.as_str() != ":memory:") {
            self.touch_path(
                Effect::Update,
                &Word::text(place.trim_start_matches("file:").split('?').next().unwrap_or(place)),
                false,
            );
        }
        true
    }

    /// `tree.write("a.xml")`, `writer.write("a.pdf")`: of a document that is the name of a file, and no text (Python library reference,
    /// "xml.etree.ElementTree"; the manuals of lxml, pypdf and pikepdf).
    pub(super) fn writes_document(&mut self, name: &str, after: &[Token], tokens: &[Token]) -> bool {
        const DOCUMENTS: &[&str] =
            &["ElementTree", "etree", "lxml", "pypdf", "PyPDF2", "PyPDF4", "pikepdf", "write_c14n"];
        if !name.ends_with(".write") {
            return false;
        }
        let Some(file) = argument(after, 0).and_then(constant) else { return false };
        let ends = file.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty() && (2..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        let named = ends && !file.contains(['\n', '<', ' ', '\t']);
        let of_document = |token: &Token| match token {
            Token::Name(name) => name.split('.').any(|part| DOCUMENTS.contains(&part)),
            _ => false,
        };
        if !named || !tokens.iter().any(of_document) {
            return false;
        }
        self.touch_path(Effect::Update, &Word::text(file), false);
        true
    }

    /// `fileinput.input("a", inplace=True)` (Python library reference, "fileinput"); without a file it reads what the program is given.
    pub(super) fn reads_lines(&mut self, after: &[Token]) -> bool {
        let given = (0..8).map_while(|n| argument(after, n));
        let in_place = given
            .into_iter()
            .any(|given| matches!(given, [Token::Name(key), Token::Mark('='), value] if key == "inplace" && !matches!(value, Token::Name(no) if no == "False")));
        let first = argument(after, 0).filter(|given| !matches!(given, [Token::Name(_), Token::Mark('='), ..]));
        match (first, first.and_then(constant)) {
            (_, Some(file)) => {
                let effect = if in_place { Effect::Update } else { Effect::Read };
                self.touch_path(effect, &Word::text(file), false);
                true
            }
            (None, _) => !in_place,
            (Some(_), None) => false,
        }
    }
}

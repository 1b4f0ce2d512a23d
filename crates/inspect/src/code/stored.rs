//! What code does to databases of SQLite that it opens itself, where its statements are constant (Python library reference, "sqlite3").

use countersign_plan::tool::Effect;

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
        let inspection = crate::sql::sql(&statement);
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
}

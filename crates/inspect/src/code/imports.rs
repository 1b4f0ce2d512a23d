//! Modules that code brings in: those that the tables describe, files that are named, and what nothing is known of.

use countersign_plan::tool::Effect;

use super::arguments::is_request;
use super::calls::{self, Does, Table};
use super::lex::Token;
use super::{Language, Seen};
use crate::bounded::Bounded as _;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Word};

/// The most tokens behind a module that are given to it.
const MAX_GIVEN: usize = 256;

impl Machine<'_> {
    /// A module that is loaded from outside of the code.
    pub(crate) fn load_module(&mut self, language: Language, module: &str) {
        self.import(language, calls::table(language), module, &Seen::default());
    }

    /// `use base "A"`, `use parent -norequire, "A"`, `use lib "DIR"`: what is named behind it is loaded, or is where modules are looked for
    /// first (base, parent and lib in the Perl documentation).
    pub(super) fn brings(&mut self, table: &Table, name: &str, after: &[Token], seen: &Seen) {
        let ends = |token: &Token| *token == Token::Mark(';') || *token == Token::Name("use".to_owned());
        let given: Vec<&Token> = after.iter().take_while(|token| !ends(token)).at_most(MAX_GIVEN).collect();
        let loads = !given.contains(&&Token::Name("norequire".to_owned()));
        for token in given {
            match token {
                Token::Text(text) if name == "lib" => {
                    self.touch_path(Effect::Execute, &Word::text(text.as_str()), true)
                }
                Token::Text(text) if loads => {
                    text.split_whitespace().for_each(|module| self.import(Language::Perl, table, module, seen));
                }
                Token::Built(_) | Token::Mark('$' | '@') if loads => {
                    let message = format!("what `{name}` brings in is not constant");
                    self.unknown(UnknownKind::Code, Effect::Execute, message);
                }
                _ => {}
            }
        }
    }

    pub(super) fn import(&mut self, language: Language, table: &Table, module: &str, seen: &Seen) {
        if is_request(module) {
            self.touch_host(&Word::text(module));
            self.find(FindingKind::DownloadAndExecute, format!("the {} code loads {module}", language.name()));
            return;
        }
        if module.starts_with(['.', '/']) && language != Language::Python {
            let effect = if module.ends_with(".json") { Effect::Read } else { Effect::Execute };
            self.touch_path(effect, &Word::text(module), false);
            return;
        }
        let root = module.split(['.', ':', '/']).next().unwrap_or(module).trim_start_matches("node:");
        let whole = module.trim_start_matches("node:");
        // A part of a module may be what nothing is known of: `lodash/template`.
        let part = whole.rsplit('/').next().filter(|part| *part != whole).unwrap_or("");
        let acts =
            language == Language::Node && matches!(table.find(&format!("_.{part}"), part), Some((Does::Unknown, _)));
        let known = table.has_module(whole) || table.modules.contains(module) || table.modules.contains(root);
        if (known && !acts) || module.is_empty() {
            return;
        }
        if language == Language::Python {
            self.load_foreign(table, module, seen);
        } else {
            let message = format!("the {} module `{module}` is not in the tables", language.name());
            self.unknown(UnknownKind::Code, Effect::Execute, message);
        }
    }
}

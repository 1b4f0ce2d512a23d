//! `open` of Perl, whose ways are its own (perlfunc, "open").

use countersign_plan::tool::Effect;

use super::Seen;
use super::lex::Token;
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

impl Machine<'_> {
    pub(super) fn perl_open(&mut self, after: &[Token], seen: &mut Seen) {
        let texts: Vec<&String> = after
            .iter()
            .take_while(|t| !matches!(t, Token::Mark(';')))
            .filter_map(|t| if let Token::Text(s) = t { Some(s) } else { None })
            .collect();
        let (mode, path) = match texts.as_slice() {
            [one] => (one.trim(), one.trim().trim_start_matches(['<', '>', '+', '|', ' ']).trim_end_matches('|')),
            [mode, path, ..] => (mode.trim(), path.as_str()),
            [] => {
                self.unknown(UnknownKind::Value, Effect::Update, "what `open` opens is not constant");
                return;
            }
        };
        if mode.starts_with('|') || mode.ends_with('|') || mode.starts_with("-|") || mode.starts_with("|-") {
            seen.runs = true;
            self.script(path, &Stream::unknown());
        } else if !mode.contains('&') {
            let effect = if mode.contains('>') { Effect::Update } else { Effect::Read };
            self.touch_path(effect, &Word::text(path), false);
        }
    }
}

//! `open` of Perl, whose ways are its own (perlfunc, "open").

use std::borrow::Cow;

use countersign_plan::tool::Effect;

use super::lex::Token;
use super::{Language, Seen};
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

/// The text with `<src/*>` as `glob("src/*")`, which it is another way to write (perlop, "I/O Operators").
pub(super) fn with_globs(language: Language, text: &str) -> Cow<'_, str> {
    if language != Language::Perl {
        return Cow::Borrowed(text);
    }
    let plain = |c: char| c.is_alphanumeric() || "*?/._-~{},[]".contains(c);
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let (before, after) = rest.split_at(open);
        // Looked for only so far, so that many signs cost no more than each of them.
        let end = after.bytes().take(256).position(|byte| byte == b'>');
        let inside = end.and_then(|end| after.get(1..end)).unwrap_or("");
        let globs = inside.contains(['*', '?', '{', '/']) && inside.chars().all(plain);
        out.push_str(before);
        let taken = if globs {
            out.push_str("glob(\"");
            out.push_str(inside);
            out.push_str("\")");
            inside.len() + 2
        } else {
            out.push('<');
            1
        };
        rest = after.get(taken..).unwrap_or("");
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

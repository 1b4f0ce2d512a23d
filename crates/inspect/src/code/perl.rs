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

/// Whether each word of a code that is no variable and no text is followed by a bracket, so that it is seen what is called.
pub(super) fn calls_openly(code: &str) -> bool {
    // What code in braces gives is a name.
    if code.contains("${") || code.contains("@{") {
        return false;
    }
    let (mut quote, mut before) = (None, ' ');
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None if c.is_alphabetic() || c == '_' => {
                length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(rest.len());
                let after = rest.get(length..).unwrap_or("").trim_start();
                let variable = matches!(before, '$' | '@' | '%' | '{') || after.starts_with("=>");
                if !variable && !after.starts_with('(') {
                    return false;
                }
            }
            None => {}
        }
        before = c;
        rest = rest.get(length..).unwrap_or("");
    }
    true
}

/// Whether a replacement that is evaluated puts nothing but texts and numbers together (perlop, "s/PATTERN/REPLACEMENT/").
pub(super) fn only_shapes(code: &str) -> bool {
    const FUNCTIONS: &str = "sprintf lc uc lcfirst ucfirst length int abs sqrt exp log hex oct ord chr reverse join substr index rindex x eq ne lt gt \
        le ge cmp and or not defined exists scalar keys";
    let plain = |c: char| c.is_alphanumeric() || " _$+-*/%.,()[]{}?:=!|".contains(c);
    let Some(code) = without_texts(code) else { return false };
    if !code.chars().all(plain) || code.contains("->") || code.contains("||=") {
        return false;
    }
    let mut rest = code.as_str();
    while let Some(at) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        let word = rest.get(at..).unwrap_or("");
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
        let name = word.get(..end).unwrap_or("");
        // In braces alone it is the name of a variable or a key, and otherwise code.
        let braced = word.get(end..).is_some_and(|after| after.starts_with('}'));
        let sigil = rest.get(..at).is_some_and(|before| before.ends_with('$') || (braced && before.ends_with('{')));
        if !sigil && !FUNCTIONS.split_whitespace().any(|known| known == name) {
            return false;
        }
        rest = word.get(end..).unwrap_or("");
    }
    true
}

/// A code with a number in the place of each text; nothing where one may hold code, or may end elsewhere.
fn without_texts(code: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        out.push_str(before);
        // `$"` is a variable, and `a'b` a name.
        (!before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'))).then_some(())?;
        let quote = if quoted.starts_with('"') { '"' } else { '\'' };
        let (text, after) = quoted.get(1..)?.split_once(quote)?;
        let open = text.ends_with('\\') || (quote == '"' && text.contains(['{', '@', '`', '[']));
        (!open).then_some(())?;
        out.push('0');
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Whether a name in braces is the key of a hash: `$h{name}`, `$h->{name}` (perldata, "Scalar value constructors").
pub(super) fn is_key(before: &[Token], next: Option<&Token>) -> bool {
    let of_variable = matches!(
        before,
        [.., Token::Mark('$'), Token::Name(_), Token::Mark('{')]
            | [.., Token::Mark('-'), Token::Mark('>'), Token::Mark('{')]
    );
    of_variable && next == Some(&Token::Mark('}'))
}

/// What works on `$_` where it is given nothing, and what that does (perlfunc, "unlink", "rmdir", "mkdir").
pub(super) fn works_on_each(name: &str, before: Option<&Token>, after: &[Token]) -> Option<Effect> {
    let effect = match name.strip_prefix("CORE::").unwrap_or(name) {
        "unlink" | "rmdir" => Effect::Delete,
        "mkdir" => Effect::Create,
        _ => return None,
    };
    let sigil = matches!(before, Some(Token::Mark('$' | '@' | '%' | '&' | '>')));
    let alone = matches!(after.first(), None | Some(Token::Mark('}' | ';' | '|' | '&' | '?' | ',' | ')' | ':')));
    // `(unlink => 1)`
    (!sigil && alone).then_some(effect)
}

/// The text with `<src/*>` as `glob("src/*")`, which it is another way to write (perlop, "I/O Operators").
pub(super) fn with_globs(language: Language, text: &str) -> Cow<'_, str> {
    if language != Language::Perl {
        return Cow::Borrowed(text);
    }
    let plain = |c: char| c.is_alphanumeric() || "*?/._-~{},[]".contains(c);
    let told = or_home(text);
    let mut out = String::new();
    let mut rest = told.as_str();
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
    if out.is_empty() && told == text {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The text with the home folder where that is what stands for a variable which is not set: `$ENV{X} // $ENV{HOME}` (perlop, "Logical
/// Defined-Or"). Nothing that may stand there is more.
fn or_home(text: &str) -> String {
    const HOME: &str = "$ENV{HOME}";
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(HOME) {
        let left = before.trim_end();
        let left = left.strip_suffix("//").or_else(|| left.strip_suffix("||")).map(str::trim_end);
        let variable = left.and_then(|left| {
            let at = left.rfind("$ENV{")?;
            let name = left.get(at + 5..)?.strip_suffix('}')?;
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(at)
        });
        out.push_str(variable.and_then(|at| before.get(..at)).unwrap_or(before));
        out.push_str(HOME);
        rest = after;
    }
    out.push_str(rest);
    out
}

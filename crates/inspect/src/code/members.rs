//! Members of JavaScript's objects that are called by a constant.

use super::lex::Token;

/// The most tokens that a name is put together of.
const MAX_KEY: usize = 32;

/// The tokens of JavaScript with members that are called by a constant as names: `c["exec" + "Sync"](…)` is `c.execSync(…)`.
pub(super) fn named(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i + 1..).filter(|rest| rest.first() == Some(&Token::Mark('['))).unwrap_or_default();
        let close = rest.iter().take(MAX_KEY).position(|token| *token == Token::Mark(']'));
        let inside = close.and_then(|close| rest.get(1..close));
        let called = close.is_some_and(|close| rest.get(close + 1) == Some(&Token::Mark('(')));
        if let (Token::Name(name), Some(key), Some(close), true) = (token, inside.and_then(name_of), close, called) {
            out.push(Token::Name(format!("{name}.{key}")));
            i += close + 2;
        } else {
            out.push(token.clone());
            i += 1;
        }
    }
    out
}

/// Texts that are added to one another, where they are a name together.
fn name_of(tokens: &[Token]) -> Option<String> {
    let mut out = String::new();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Text(text) if i % 2 == 0 => out.push_str(text),
            Token::Mark('+') if i % 2 == 1 => {}
            _ => return None,
        }
    }
    let name = out.starts_with(char::is_alphabetic) && out.chars().all(|c| c.is_alphanumeric() || c == '_');
    let own = !matches!(out.as_str(), "constructor" | "prototype" | "apply" | "call" | "bind");
    (tokens.len() % 2 == 1 && name && own).then_some(out)
}

//! Patterns of JavaScript, whose `exec` matches and starts nothing (ECMA-262, "RegExp.prototype.exec").

use std::collections::BTreeSet;

use super::bound::Bound;
use super::lex::Token;

/// The most names that are followed.
const MAX_NAMES: usize = 64;

/// The most tokens that make a pattern.
const MAX_MADE: usize = 32;

/// What stands for a pattern in a code.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    names: BTreeSet<String>,
    /// Whether each `exec` of a value that has no name is one of a pattern that is written there.
    unnamed: bool,
}

impl Patterns {
    pub(super) fn of(tokens: &[Token], bound: &Bound) -> Self {
        let mut out = Self { names: BTreeSet::new(), unnamed: true };
        // Under that name there may be anything.
        if bound.gives("RegExp") {
            return Self::default();
        }
        for (i, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            if name == "exec" && i.checked_sub(1).and_then(|i| tokens.get(i)) == Some(&Token::Mark('.')) {
                let before = tokens.get(i.saturating_sub(MAX_MADE)..i - 1).unwrap_or_default();
                let from = before.iter().rposition(|token| *token == Token::Mark('(')).map(|at| at.saturating_sub(1));
                let made = from.and_then(|from| before.get(from..)).and_then(pattern) == Some(&[]);
                out.unnamed &= before.last() == Some(&Token::Pattern) || made;
            }
            let Some(own) = name.strip_suffix(".exec").filter(|_| out.names.len() < MAX_NAMES) else { continue };
            // Looked at once, however often it is called.
            if out.names.contains(own) || name.matches('.').count() > 1 {
                continue;
            }
            let given = bound.only_given(own).unwrap_or_default();
            let ends = |rest: &[Token]| matches!(rest.first(), None | Some(Token::Mark(';' | ',' | ')' | '}')));
            let patterns = |at: &usize| tokens.get(*at..).and_then(pattern).is_some_and(ends);
            if !given.is_empty() && given.iter().take(MAX_NAMES).all(patterns) && given.len() <= MAX_NAMES {
                out.names.insert(own.to_owned());
            }
        }
        out
    }

    /// Whether `name.exec` is that of a pattern.
    pub(super) fn is_of_pattern(&self, name: &str) -> bool {
        match name.split_once('.') {
            Some(("_", "exec")) => self.unnamed,
            Some((own, "exec")) => self.names.contains(own),
            _ => false,
        }
    }
}

/// What follows a pattern, where one begins.
fn pattern(tokens: &[Token]) -> Option<&[Token]> {
    match tokens {
        [Token::Pattern, rest @ ..] => Some(rest),
        [Token::Name(new), rest @ ..] if new == "new" => pattern(rest),
        [Token::Name(made), Token::Mark('('), rest @ ..] if made == "RegExp" => {
            let close = rest.iter().take(MAX_MADE).position(|token| matches!(token, Token::Mark(')' | '(')))?;
            (rest.get(close) == Some(&Token::Mark(')'))).then(|| rest.get(close + 1..)).flatten()
        }
        _ => None,
    }
}

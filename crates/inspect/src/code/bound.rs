//! Which names code gives something, and how: by a plain `name = value`, as a parameter, or in another way that no value shows (Python
//! Language Reference, "Naming and binding"; ECMAScript, "Destructuring Assignment", "Function Definitions").

use std::collections::{BTreeMap, BTreeSet};

use super::lex::Token;

/// The most tokens between brackets that hold names.
const MAX_INSIDE: usize = 96;

/// What is known of the names of a code.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// Where the value of each begins that is given by `name = value`.
    given: BTreeMap<String, Vec<usize>>,
    /// Those that are parameters of a function.
    parameters: BTreeSet<String>,
    /// The last part of each name that is given anything.
    lasts: BTreeSet<String>,
    /// How often each stands behind `as`.
    named: BTreeMap<String, usize>,
    /// Those that a pattern, a loop, an import or an addition gives something.
    otherwise: BTreeSet<String>,
}

/// How names are bound that stand between brackets.
enum Way {
    Parameters,
    Pattern,
}

impl Bound {
    pub(super) fn of(tokens: &[Token]) -> Self {
        let mut out = Self::default();
        let mut open: Vec<usize> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            let rest = tokens.get(i + 1..).unwrap_or_default();
            match token {
                Token::Name(name) => out.name(name, rest, i, tokens),
                Token::Mark('(' | '[' | '{') => open.push(i),
                Token::Mark(')' | ']' | '}') => {
                    let Some(from) = open.pop().filter(|from| i - from <= MAX_INSIDE) else { continue };
                    let inside = tokens.get(from + 1..i).unwrap_or_default();
                    match way(tokens.get(..from).unwrap_or_default(), tokens.get(from), rest) {
                        Some(Way::Parameters) => out.parameters.extend(names(inside)),
                        Some(Way::Pattern) => out.otherwise.extend(names(inside)),
                        None => {}
                    }
                }
                // `a, b = …`
                Token::Mark('=') if open.is_empty() && !matches!(rest.first(), Some(Token::Mark('=' | '>'))) => {
                    let before = tokens.get(i.saturating_sub(MAX_INSIDE)..i).unwrap_or_default();
                    let listed: Vec<&Token> = before
                        .iter()
                        .rev()
                        .take_while(|token| matches!(token, Token::Name(_) | Token::Mark(',' | '*')))
                        .collect();
                    if listed.contains(&&Token::Mark(',')) {
                        out.otherwise.extend(listed.iter().filter_map(|token| plain(token)));
                    }
                }
                _ => {}
            }
        }
        let all = out.given.keys().chain(&out.otherwise).chain(&out.parameters).chain(out.named.keys());
        out.lasts = all.map(|name| name.rsplit('.').next().unwrap_or(name).to_owned()).collect();
        out
    }

    fn name(&mut self, name: &str, rest: &[Token], at: usize, tokens: &[Token]) {
        const BINDING: &[&str] = &["def", "function", "class", "import", "global", "nonlocal", "del"];
        let marks = rest.iter().take(4).take_while(|token| matches!(token, Token::Mark(_)));
        let marks: String =
            marks.filter_map(|token| if let Token::Mark(mark) = token { Some(*mark) } else { None }).collect();
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        if marks.starts_with('=') && !marks.starts_with("==") && !marks.starts_with("=>") && !marks.starts_with("=~") {
            self.given.entry(name.to_owned()).or_default().push(at + 2);
        } else if marks.starts_with("=>") {
            self.parameters.insert(name.to_owned());
        }
        let operators =
            marks.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '?', '<', '>', '@', ':', '.']);
        let added = marks.len() - operators.len();
        let compares = matches!(marks.get(..added), Some("<" | ">"));
        let binds = matches!(before, Some(Token::Name(word)) if BINDING.contains(&word.as_str()));
        if matches!(before, Some(Token::Name(word)) if word == "as") {
            *self.named.entry(name.to_owned()).or_default() += 1;
        }
        let loops = matches!(rest.first(), Some(Token::Name(word)) if word == "of");
        if (added > 0 && !compares && operators.starts_with('=') && !operators.starts_with("==")) || binds || loops {
            self.otherwise.insert(name.to_owned());
        }
        // `for a, b in …`, `lambda a: …`
        let until: &[&str] = match name {
            "for" => &["in", "of"],
            "lambda" => &[],
            _ => return,
        };
        let end = |token: &&Token| match token {
            Token::Name(word) => until.contains(&word.as_str()),
            token => matches!(token, Token::Mark(';')) || (until.is_empty() && **token == Token::Mark(':')),
        };
        let listed = rest.iter().take(MAX_INSIDE).take_while(|token| !end(token)).filter_map(plain);
        if until.is_empty() { self.parameters.extend(listed) } else { self.otherwise.extend(listed) }
    }

    /// Where the values begin that a name is given, where it is given nothing in any other way.
    pub(super) fn only_given(&self, name: &str) -> Option<&[usize]> {
        let other = self.otherwise.contains(name) || self.parameters.contains(name) || self.named.contains_key(name);
        self.given.get(name).filter(|_| !other).map(Vec::as_slice)
    }

    /// Whether a name is given something once behind `as`, and in no other way.
    pub(super) fn is_named_once(&self, name: &str) -> bool {
        self.named.get(name) == Some(&1)
            && !self.given.contains_key(name)
            && !self.parameters.contains(name)
            && !self.otherwise.contains(name)
    }

    /// Whether a name is nothing but a parameter.
    pub(super) fn is_only_parameter(&self, name: &str) -> bool {
        self.parameters.contains(name) && !self.otherwise.contains(name) && !self.given.contains_key(name)
    }

    /// Whether a name, or a member of that name, is given anything anywhere.
    pub(super) fn gives(&self, last: &str) -> bool {
        self.lasts.contains(last)
    }
}

/// How the names in brackets are bound, as what stands before and behind them says.
fn way(before: &[Token], open: Option<&Token>, rest: &[Token]) -> Option<Way> {
    const CONTROL: &[&str] = &["if", "for", "while", "switch", "with", "catch", "return", "elif", "print"];
    let assigns = matches!(rest, [Token::Mark('='), next, ..] if !matches!(next, Token::Mark('=' | '>')));
    let arrow = rest.starts_with(&[Token::Mark('='), Token::Mark('>')]);
    match (open, before) {
        (Some(Token::Mark('(')), _) if arrow => Some(Way::Parameters),
        (Some(Token::Mark('(')), [.., Token::Name(def), Token::Name(_)]) if def == "def" => Some(Way::Parameters),
        // What is caught is what was thrown.
        (Some(Token::Mark('(')), [.., Token::Name(name)]) if name == "catch" => Some(Way::Pattern),
        (Some(Token::Mark('(')), [.., Token::Name(name)])
            if rest.first() == Some(&Token::Mark('{')) && !CONTROL.contains(&name.as_str()) =>
        {
            Some(Way::Parameters)
        }
        // Behind a name it is a part of that.
        (Some(Token::Mark('[')), [.., Token::Name(name)])
            if assigns && !matches!(name.as_str(), "const" | "let" | "var") =>
        {
            None
        }
        (Some(Token::Mark('[')), [.., Token::Mark(')' | ']') | Token::Text(_)]) if assigns => None,
        (Some(_), _) if assigns => Some(Way::Pattern),
        _ => None,
    }
}

fn names(tokens: &[Token]) -> impl Iterator<Item = String> {
    tokens.iter().filter_map(plain)
}

fn plain(token: &Token) -> Option<String> {
    match token {
        Token::Name(name) => Some(name.clone()),
        _ => None,
    }
}

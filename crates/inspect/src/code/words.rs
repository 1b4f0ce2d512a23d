//! The words of a program that code puts into a list first: lists that are given to names, texts that are split into words, lists that are
//! joined to a text, and texts with names in them. What is constant is put in its place before the code is read (the libraries of Python,
//! Node, Ruby, Perl and PHP).

use std::collections::{BTreeMap, BTreeSet};

use super::Language;
use super::lex::Token;
use crate::bounded::Bounded as _;

/// The most names, and words of a list.
const MAX_NAMES: usize = 64;
const MAX_WORDS: usize = 64;

/// The longest text with constants in it.
const MAX_TEXT: usize = 16 * 1024;

/// Names of constant lists.
type Lists = BTreeMap<String, Vec<String>>;

/// The tokens with constant lists in the place of what comes to one.
pub(super) fn spread(language: Language, tokens: Vec<Token>) -> Vec<Token> {
    let tokens = split(language, tokens);
    let lists = named(&tokens);
    let tokens = if lists.is_empty() { tokens } else { placed(language, &tokens, &lists) };
    joined(tokens)
}

/// The list that a text is split into: `"…".split()`, `shlex.split("…")`, `%w[…]`.
fn split(language: Language, tokens: Vec<Token>) -> Vec<Token> {
    const SPLITS: &[&str] =
        &["shlex.split", "Shellwords.split", "Shellwords.shellwords", "qw", "shellwords", "shellsplit"];
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let (text, used) = match (token, rest) {
            (Token::Name(name), [Token::Mark('('), Token::Text(text), Token::Mark(')'), ..])
                if SPLITS.contains(&name.as_str()) =>
            {
                (text, 4)
            }
            (Token::Text(text), [Token::Mark('.'), Token::Name(method), more @ ..])
                if matches!(method.as_str(), "split" | "shellsplit") =>
            {
                match more {
                    [Token::Mark('('), Token::Mark(')'), ..] => (text, 5),
                    [Token::Mark('('), Token::Text(by), Token::Mark(')'), ..] if by.trim().is_empty() => (text, 6),
                    _ if language == Language::Ruby => (text, 3),
                    _ => {
                        out.push(token.clone());
                        i += 1;
                        continue;
                    }
                }
            }
            _ => {
                out.push(token.clone());
                i += 1;
                continue;
            }
        };
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).at_most(MAX_WORDS).collect();
        push_list(&mut out, &words);
        i += used;
    }
    out
}

fn push_list(out: &mut Vec<Token>, words: &[String]) {
    out.push(Token::Mark('['));
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            out.push(Token::Mark(','));
        }
        out.push(Token::Text(word.clone()));
    }
    out.push(Token::Mark(']'));
}

/// The constant list that begins here, and how many tokens it takes.
fn literal(tokens: &[Token]) -> Option<(Vec<String>, usize)> {
    let close = match tokens.first()? {
        Token::Mark('[') => ']',
        Token::Mark('(') => ')',
        _ => return None,
    };
    let mut words = Vec::new();
    let mut after_word = false;
    for (i, token) in tokens.iter().enumerate().skip(1) {
        match token {
            Token::Text(text) if !after_word => {
                words.push(text.clone());
                after_word = true;
            }
            Token::Mark(',') if after_word => after_word = false,
            Token::Mark(';') => {}
            Token::Mark(mark) if *mark == close && !words.is_empty() => return Some((words, i + 1)),
            _ => return None,
        }
        if words.len() > MAX_WORDS {
            return None;
        }
    }
    None
}

/// Names that are given a constant list, and nothing else anywhere.
fn named(tokens: &[Token]) -> Lists {
    let mut lists = Lists::new();
    let mut again: BTreeSet<&str> = BTreeSet::new();
    let mut given: BTreeSet<&str> = BTreeSet::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let rest = tokens.get(i + 1..).unwrap_or_default();
        // What is added to a list later is not followed.
        if let Some((own, "push" | "append" | "extend" | "insert" | "unshift" | "concat")) = name.split_once('.') {
            again.insert(own);
        }
        let value = match rest {
            [Token::Mark('='), Token::Mark('=' | '>' | '~'), ..] => continue,
            [Token::Mark('='), value @ ..] => value,
            [Token::Mark('+' | '<'), Token::Mark('=' | '<'), ..] => {
                again.insert(name);
                continue;
            }
            _ => continue,
        };
        if !given.insert(name) {
            again.insert(name);
        }
        // `const c: string[] = …` and `my @c = (…)` have no call behind the list.
        if let Some((words, used)) = literal(value)
            && !matches!(value.get(used), Some(Token::Mark('.' | '[' | '+' | '(' | '*' | '%')))
            && lists.len() < MAX_NAMES
        {
            lists.insert(name.clone(), words);
        }
    }
    lists.retain(|name, _| !again.contains(name.as_str()));
    lists
}

/// The tokens with the lists in the place of their names where a call takes them, with parts of them, and with their joined text.
fn placed(language: Language, tokens: &[Token], lists: &Lists) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i + 1..).unwrap_or_default();
        i += 1;
        let Token::Name(name) = token else {
            out.push(token.clone());
            continue;
        };
        let (own, method) = name.split_once('.').unwrap_or((name.as_str(), ""));
        let argument = match out.iter().rev().find(|token| !matches!(token, Token::Mark('*' | '.' | '@' | '$' | '\\')))
        {
            Some(Token::Mark('(' | ',' | '=' | ':' | '[')) => true,
            // `system @c`
            Some(Token::Name(_)) => language == Language::Perl || language == Language::Ruby,
            _ => false,
        };
        let Some(words) = lists.get(own).filter(|_| argument) else {
            out.push(token.clone());
            continue;
        };
        let ends = |rest: &[Token]| matches!(rest.first(), None | Some(Token::Mark(')' | ',' | ';' | '}' | ']')));
        match (method, rest) {
            ("", rest) if ends(rest) => {
                while matches!(out.last(), Some(Token::Mark('*' | '.' | '@' | '$' | '\\'))) {
                    out.pop();
                }
                push_list(&mut out, words);
            }
            // Which one it is does not show in the tokens, except that it is the program.
            ("", [Token::Mark('['), Token::Number, Token::Mark(']'), more @ ..]) if ends(more) => {
                if out.last() == Some(&Token::Mark('$')) {
                    out.pop();
                }
                out.extend(words.first().map(|word| Token::Text(word.clone())));
                i += 3;
            }
            ("", [Token::Mark('['), Token::Number, Token::Mark(':'), Token::Mark(']'), more @ ..]) if ends(more) => {
                push_list(&mut out, words.get(1..).unwrap_or_default());
                i += 4;
            }
            ("slice", [Token::Mark('('), Token::Number, Token::Mark(')'), more @ ..]) if ends(more) => {
                push_list(&mut out, words.get(1..).unwrap_or_default());
                i += 3;
            }
            ("join", [Token::Mark('('), Token::Text(by), Token::Mark(')'), ..]) => {
                out.push(Token::Text(words.join(by)));
                i += 3;
            }
            _ => out.push(token.clone()),
        }
    }
    out
}

/// The tokens with the text in the place of a constant list that is joined: `" ".join([…])`, `[…].join(" ")`, `implode(" ", […])`.
fn joined(tokens: Vec<Token>) -> Vec<Token> {
    const JOINS: &[&str] = &["join", "implode", "format"];
    let puts = |token: &Token| match token {
        Token::Name(name) => JOINS.contains(&name.as_str()),
        Token::Mark(mark) => *mark == '%',
        _ => false,
    };
    if !tokens.iter().any(puts) {
        return tokens;
    }
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i..).unwrap_or_default();
        match rest {
            [Token::Text(by), Token::Mark('.'), Token::Name(join), Token::Mark('('), more @ ..] if join == "join" => {
                if let Some((words, used)) = literal(more)
                    && more.get(used) == Some(&Token::Mark(')'))
                {
                    out.push(Token::Text(words.join(by)));
                    i += 5 + used;
                    continue;
                }
            }
            [Token::Name(join), Token::Mark('('), Token::Text(by), Token::Mark(','), more @ ..]
                if matches!(join.as_str(), "implode" | "join") =>
            {
                if let Some((words, used)) = literal(more)
                    && more.get(used) == Some(&Token::Mark(')'))
                {
                    out.push(Token::Text(words.join(by)));
                    i += 5 + used;
                    continue;
                }
            }
            // `"… %s" % "…"`, `"… {}".format("…")`
            [Token::Text(text), Token::Mark('%'), Token::Text(value), ..] if text.matches("%s").count() == 1 => {
                out.push(Token::Text(text.replace("%s", value)));
                i += 3;
                continue;
            }
            [
                Token::Text(text),
                Token::Mark('.'),
                Token::Name(format),
                Token::Mark('('),
                Token::Text(value),
                Token::Mark(')'),
                ..,
            ] if format == "format" && text.matches("{}").count() == 1 => {
                out.push(Token::Text(text.replace("{}", value)));
                i += 6;
                continue;
            }
            [Token::Mark('['), ..] => {
                if let Some((words, used)) = literal(rest)
                    && let Some(
                        [Token::Mark('.'), Token::Name(join), Token::Mark('('), Token::Text(by), Token::Mark(')')],
                    ) = rest.get(used..used + 5)
                    && join == "join"
                {
                    out.push(Token::Text(words.join(by)));
                    i += used + 5;
                    continue;
                }
            }
            _ => {}
        }
        out.push(token.clone());
        i += 1;
    }
    out
}

/// A text with the constants in the place of the names that stand in it; nothing where anything else does.
pub(super) fn filled(
    language: Language,
    text: &str,
    constants: &BTreeMap<String, String>,
    room: usize,
) -> Option<String> {
    let (open, close) = match language {
        Language::Python => ("{", "}"),
        Language::Node => ("${", "}"),
        Language::Ruby => ("#{", "}"),
        Language::Perl | Language::Php => ("$", ""),
        _ => return None,
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let (name, more) = if close.is_empty() {
            let after = after.strip_prefix('{').unwrap_or(after);
            let name = after.split(|c| !word(c)).next().unwrap_or("");
            let more = after.get(name.len()..).unwrap_or("");
            (name, more.strip_prefix('}').unwrap_or(more))
        } else {
            after.split_once(close)?
        };
        out.push_str(before.trim_end_matches('{'));
        out.push_str(constants.get(name.trim())?);
        rest = more;
        if out.len() > MAX_TEXT.min(room) {
            return None;
        }
    }
    out.push_str(rest);
    Some(out).filter(|out| !out.contains(['{', '@']))
}

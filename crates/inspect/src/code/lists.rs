//! Names that stand for each of several constants: variables of loops over lists and mappings that the code says itself.

use std::collections::BTreeMap;

use super::Language;
use super::lex::Token;
use super::names::{MAX_NAMES, MAX_PLACED};
use super::words;

/// The most values of a name that are followed.
const MAX_VALUES: usize = 32;

/// Names that stand for each of several constants.
pub(super) type Lists = Vec<(String, Vec<String>)>;

/// Names that stand for each of several constants: the variable of a loop, or the argument of a function that is called for each.
pub(super) fn lists(tokens: &[Token]) -> Lists {
    let mut named: Lists = Vec::new();
    let mut out: Lists = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        if out.len() >= MAX_NAMES || named.len() >= MAX_NAMES {
            break;
        }
        let before = tokens.get(..i).unwrap_or_default();
        // `for x in NAME`, `NAME.forEach(x => …)`
        if let Token::Name(name) = token {
            let (own, method) = name.split_once('.').unwrap_or((name.as_str(), ""));
            let known = || named.iter().find(|(known, _)| known == own).map(|(_, values)| values.clone());
            if method.is_empty() {
                out.extend(loop_of(before).and_then(|variable| Some((variable, known()?))));
            } else if EACH.contains(&method) {
                out.extend(
                    parameter_of(tokens.get(i + 1..).unwrap_or_default())
                        .and_then(|variable| Some((variable, known()?))),
                );
            }
        }
        // `for name, rows in {"train": a, "val": b}.items()`
        if *token == Token::Mark('{')
            && let [.., Token::Name(word), Token::Name(key), Token::Mark(','), Token::Name(_), Token::Name(within)] =
                before
            && (word.as_str(), within.as_str()) == ("for", "in")
            && let Some(values) = keys(tokens.get(i + 1..).unwrap_or_default())
        {
            out.push((key.clone(), values));
        }
        let Some((values, end)) = literal(tokens, i) else { continue };
        if let [.., Token::Name(name), Token::Mark('=')] = before {
            named.push((name.clone(), values.clone()));
        }
        out.extend(loop_of(before).map(|variable| (variable, values.clone())));
        match tokens.get(end..).unwrap_or_default() {
            [Token::Mark('.'), Token::Name(method), rest @ ..] if EACH.contains(&method.as_str()) => {
                out.extend(parameter_of(rest).map(|variable| (variable, values.clone())));
            }
            [Token::Name(word), Token::Mark('$'), Token::Name(variable), ..] if word == "as" => {
                out.push((variable.clone(), values.clone()));
            }
            _ => {}
        }
    }
    out
}

/// Methods that call a function for each of a list.
pub(super) const EACH: &[&str] = &["forEach", "map", "each", "flatMap", "filter", "some", "every", "each_entry"];

/// The variable of a loop whose list follows: `for x in`, `for (const x of`, `for my $x`.
fn loop_of(before: &[Token]) -> Option<String> {
    match before {
        [.., Token::Name(variable), Token::Name(word)] if matches!(word.as_str(), "in" | "of") => {
            Some(variable.clone())
        }
        [.., Token::Name(word), Token::Mark('$'), Token::Name(variable)]
            if matches!(word.as_str(), "my" | "for" | "foreach") =>
        {
            Some(variable.clone())
        }
        _ => None,
    }
}

/// The parameter of a function that follows: `(x => `, `((x) => `, `{ |x| `, `do |x| `, `(function(x)`.
pub(super) fn parameter_of(rest: &[Token]) -> Option<String> {
    let rest = match rest {
        [Token::Mark('('), Token::Name(word), Token::Mark('('), rest @ ..] if word == "function" => rest,
        [Token::Mark('('), Token::Mark('('), rest @ ..] | [Token::Mark('{'), Token::Mark('|'), rest @ ..] => rest,
        [Token::Name(word), Token::Mark('|'), rest @ ..] if word == "do" => rest,
        [Token::Mark('('), rest @ ..] => rest,
        _ => return None,
    };
    if let [Token::Name(variable), Token::Mark('=' | ')' | '|' | ','), ..] = rest {
        Some(variable.clone())
    } else {
        None
    }
}

/// The keys of a mapping whose items a loop goes over, where all of them are constants.
fn keys(inside: &[Token]) -> Option<Vec<String>> {
    let mut values = Vec::new();
    let (mut depth, mut begins) = (0_usize, true);
    for (i, token) in inside.iter().enumerate() {
        match token {
            Token::Mark('}') if depth == 0 => {
                let items =
                    matches!(inside.get(i + 1..), Some([Token::Mark('.'), Token::Name(items), ..]) if items == "items");
                return (items && !values.is_empty()).then_some(values);
            }
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.checked_sub(1)?,
            Token::Mark(',') if depth == 0 => begins = true,
            Token::Text(key) if begins && inside.get(i + 1) == Some(&Token::Mark(':')) => {
                values.push(key.clone());
                begins = false;
            }
            Token::Mark(';') => {}
            _ if begins || values.len() > MAX_VALUES => return None,
            _ => {}
        }
    }
    None
}

/// The constants of a list that begins at `i`, and where it ends.
fn literal(tokens: &[Token], i: usize) -> Option<(Vec<String>, usize)> {
    let close = match tokens.get(i)? {
        Token::Mark('[') => ']',
        Token::Mark('(') => ')',
        _ => return None,
    };
    let mut values = Vec::new();
    let mut at = i + 1;
    loop {
        match (tokens.get(at)?, tokens.get(at + 1)?) {
            (Token::Text(text), Token::Mark(',')) => {
                values.push(text.clone());
                at += 2;
            }
            (Token::Text(text), Token::Mark(mark)) if *mark == close => {
                values.push(text.clone());
                return Some((values, at + 2));
            }
            (Token::Mark(';'), _) => at += 1,
            (Token::Mark(mark), _) if *mark == close && !values.is_empty() => return Some((values, at + 1)),
            _ => return None,
        }
        if values.len() > MAX_VALUES {
            return None;
        }
    }
}

/// Every beginning with every end; nothing where those are more than are looked at.
fn joined(begun: &[String], ends: &[impl std::fmt::Display]) -> Option<Vec<String>> {
    let all = begun.iter().flat_map(|value| ends.iter().map(move |one| format!("{value}{one}")));
    let all: Vec<String> = all.take(MAX_VALUES + 1).collect();
    (all.len() <= MAX_VALUES).then_some(all)
}

/// What constants and names of [`lists`] come to together; nothing where there is no such name, or anything else.
pub(super) fn values(language: Language, tokens: &[Token], lists: &Lists) -> Option<Vec<String>> {
    let mut out = vec![String::new()];
    let mut any = false;
    for token in tokens {
        match token {
            Token::Text(text) => out.iter_mut().for_each(|value| value.push_str(text)),
            Token::Mark('+' | '.' | '$') => {}
            Token::Name(name) => {
                any = true;
                let each: Vec<&String> =
                    lists.iter().filter(|(known, _)| known == name).flat_map(|(_, values)| values).collect();
                out = joined(&out, &each)?;
            }
            // `f"data/{name}.csv"`
            Token::Built(text) => {
                any = true;
                let each = |(name, values): &(String, Vec<String>)| -> Vec<String> {
                    let one = |value: &String| {
                        words::filled(language, text, &BTreeMap::from([(name.clone(), value.clone())]), MAX_PLACED)
                    };
                    values.iter().filter_map(one).collect()
                };
                let each: Vec<String> = lists.iter().filter(|(name, _)| text.contains(name)).flat_map(each).collect();
                out = joined(&out, &each)?;
            }
            Token::Mark(_) | Token::Number | Token::Pattern | Token::Command(_) | Token::BuiltCommand(_) => {
                return None;
            }
        }
    }
    (any && !out.is_empty()).then_some(out)
}

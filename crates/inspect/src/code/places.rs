//! Folders that code names by calls: one of its own for a while, the one that it runs in, the one above.

use super::fold::is_path;
use super::lex::Token;

/// `()`, `("prefix")`, `(prefix="p")`: a folder that nothing had before, unless another place is given (Python library reference,
/// "tempfile"; Node.js, `fs.mkdtempSync`; Ruby, `Dir.mktmpdir`).
pub(super) fn made_folder(rest: &[Token]) -> Option<(String, usize)> {
    let end = rest
        .iter()
        .take(8)
        .position(|token| *token == Token::Mark(')'))
        .filter(|_| rest.first() == Some(&Token::Mark('(')))?;
    let given = rest.get(1..end)?;
    match given {
        [] => Some(("/tmp/tmp.XXXXXXXX".to_owned(), end + 1)),
        [Token::Name(key), Token::Mark('='), Token::Text(text)] if key == "prefix" && !text.contains('/') => {
            Some((format!("/tmp/{text}XXXXXXXX"), end + 1))
        }
        [Token::Text(text)] if text.starts_with("/tmp/") && !text.contains("..") => {
            Some((format!("{text}XXXXXX"), end + 1))
        }
        _ => None,
    }
}

/// The folder that the code runs in, by its names, and the folder above a constant path.
pub(super) fn at_work(name: &str, rest: &[Token], cwd: &str) -> Option<(String, usize)> {
    const HERE: &[&str] = &["os.getcwd", "process.cwd", "Dir.pwd", "Dir.getwd", "getcwd"];
    let called = rest.starts_with(&[Token::Mark('('), Token::Mark(')')]);
    if HERE.contains(&name) && (called || name.starts_with("Dir.")) {
        return Some((cwd.to_owned(), if called { 2 } else { 0 }));
    }
    // Folders of an application (Laravel, "Helpers").
    let folder = match name {
        "base_path" => Some(""),
        "app_path" => Some("app/"),
        "config_path" => Some("config/"),
        "database_path" => Some("database/"),
        "public_path" => Some("public/"),
        "resource_path" => Some("resources/"),
        "storage_path" => Some("storage/"),
        _ => None,
    };
    if let (Some(folder), [Token::Mark('('), Token::Text(text), Token::Mark(')'), ..]) = (folder, rest) {
        return Some((crate::path::normalise(cwd, &format!("{folder}{}", text.trim_start_matches('/'))), 3));
    }
    if matches!(name, "os.path.dirname" | "path.dirname" | "File.dirname" | "dirname")
        && let [Token::Mark('('), Token::Text(text), Token::Mark(')'), ..] = rest
    {
        return Some((crate::path::normalise(cwd, &format!("{text}/..")), 3));
    }
    None
}

/// `Path(".").resolve().parent`: the path, and how many tokens it takes.
pub(super) fn path_above(name: &str, rest: &[Token], cwd: &str) -> Option<(String, usize)> {
    let (mut path, mut used) = match rest {
        [Token::Mark('('), Token::Text(text), Token::Mark(')'), ..] if is_path(name) => (text.clone(), 3),
        [Token::Mark('('), Token::Mark(')'), ..] if matches!(name, "Path.cwd" | "pathlib.Path.cwd") => {
            (cwd.to_owned(), 2)
        }
        _ => return None,
    };
    let mut any = name.ends_with("cwd");
    loop {
        match rest.get(used..).unwrap_or_default() {
            [Token::Mark('.'), Token::Name(method), Token::Mark('('), Token::Mark(')'), ..]
                if matches!(method.as_str(), "resolve" | "absolute") =>
            {
                path = crate::path::normalise(cwd, &path);
                used += 4;
            }
            [Token::Mark('.'), Token::Name(parents), ..] if parents.split('.').all(|part| part == "parent") => {
                path = crate::path::normalise(cwd, &format!("{path}{}", "/..".repeat(parents.split('.').count())));
                used += 2;
            }
            _ => break,
        }
        any = true;
    }
    any.then_some((path, used))
}

/// The tokens with a constant path in the place of its name where a loop goes over what is in it: `for d in root.iterdir()`.
pub(super) fn placed(tokens: Vec<Token>) -> Vec<Token> {
    let ends = |i: usize| matches!(tokens.get(i), None | Some(Token::Mark(';')));
    let paths: Vec<(&str, &[Token])> = (0..tokens.len())
        .filter_map(|i| match tokens.get(i..i + 6)? {
            [Token::Name(name), Token::Mark('='), path @ ..] if ends(i + 6) => match path {
                [Token::Name(call), Token::Mark('('), Token::Text(_), Token::Mark(')')] if is_path(call) => {
                    Some((name.as_str(), path))
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    let given = |name: &str| paths.iter().filter(|(known, _)| *known == name).count() == 1;
    let mut out = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        let after_in = matches!(i.checked_sub(1).and_then(|i| tokens.get(i)), Some(Token::Name(word)) if word == "in");
        let found = match token {
            Token::Name(name) if after_in => name.split_once('.').filter(|(name, _)| given(name)),
            _ => None,
        };
        match found.and_then(|(name, method)| Some((paths.iter().find(|(known, _)| *known == name)?.1, method))) {
            Some((path, method)) => {
                out.extend_from_slice(path);
                out.extend([Token::Mark('.'), Token::Name(method.to_owned())]);
            }
            None => out.push(token.clone()),
        }
    }
    out
}

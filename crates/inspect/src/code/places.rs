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

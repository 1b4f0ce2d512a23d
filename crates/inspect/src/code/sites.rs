//! Folders of Python's own, from which each start of it takes what begins with `import` in a `*.pth`, and `sitecustomize` (Python library
//! reference, "site", "sysconfig").

use super::lex::Token;

/// Ways to write the folder of the user's packages, and of the machine's, with double quotes.
const OF_USER: &[&str] = &["site.getusersitepackages()", "site.USER_SITE", "getusersitepackages()"];
const OF_MACHINE: &[&str] = &[
    "site.getsitepackages()[0]",
    "getsitepackages()[0]",
    "site.getsitepackages()[-1]",
    "sysconfig.get_path(\"purelib\")",
    "sysconfig.get_path(\"platlib\")",
    "sysconfig.get_paths()[\"purelib\"]",
    "sysconfig.get_paths()[\"platlib\"]",
    "get_python_lib()",
];

/// Where packages of the machine lie, whatever its version.
const MACHINE: &str = "/usr/lib/python3/dist-packages";

pub(crate) fn of_user(home: &str) -> String {
    format!("{home}/.local/lib/python3/site-packages")
}

/// What a name of one of those folders and the tokens after it stand for, and how many of those it takes.
pub(super) fn folder(name: &str, rest: &[Token], home: &str) -> Option<(String, usize)> {
    let called = rest.starts_with(&[Token::Mark('('), Token::Mark(')')]);
    match name {
        "site.USER_SITE" => Some((of_user(home), 0)),
        "site.USER_BASE" => Some((format!("{home}/.local"), 0)),
        "site.getusersitepackages" if called => Some((of_user(home), 2)),
        "site.getuserbase" if called => Some((format!("{home}/.local"), 2)),
        "site.getsitepackages" if called => match rest.get(2..)? {
            [Token::Mark('['), Token::Number, Token::Mark(']'), ..] => Some((MACHINE.to_owned(), 5)),
            [Token::Mark('['), Token::Mark('-'), Token::Number, Token::Mark(']'), ..] => Some((MACHINE.to_owned(), 6)),
            _ => None,
        },
        "sysconfig.get_python_lib" | "distutils.sysconfig.get_python_lib" if called => Some((MACHINE.to_owned(), 2)),
        "sysconfig.get_path" => match rest {
            [Token::Mark('('), Token::Text(kind), Token::Mark(')'), ..] if is_library(kind) => {
                Some((MACHINE.to_owned(), 3))
            }
            _ => None,
        },
        "sysconfig.get_paths" if called => match rest.get(2..)? {
            [Token::Mark('['), Token::Text(kind), Token::Mark(']'), ..] if is_library(kind) => {
                Some((MACHINE.to_owned(), 5))
            }
            _ => None,
        },
        _ => None,
    }
}

fn is_library(kind: &str) -> bool {
    matches!(kind, "purelib" | "platlib")
}

/// A text that begins with such a folder in braces, and in which nothing else is filled in.
pub(super) fn filled(text: &str, home: &str) -> Option<String> {
    let (inside, rest) = text.strip_prefix('{')?.split_once('}')?;
    (!rest.contains(['{', '}'])).then_some(())?;
    Some(format!("{}{rest}", written(inside, home)?))
}

fn written(expression: &str, home: &str) -> Option<String> {
    let plain = expression.trim().replace('\'', "\"");
    let plain = plain.as_str();
    if OF_USER.contains(&plain) {
        return Some(of_user(home));
    }
    OF_MACHINE.contains(&plain).then(|| MACHINE.to_owned())
}

/// What a script prints that prints such a folder and does nothing else: `import site; print(site.USER_SITE)`.
pub(crate) fn printed(script: &str, home: &str) -> Option<String> {
    let mut statements: Vec<&str> =
        script.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty()).collect();
    let last = statements.pop()?;
    let brings = |statement: &&str| statement.starts_with("import ") || statement.starts_with("from ");
    statements.iter().all(brings).then_some(())?;
    written(last.strip_prefix("print(")?.strip_suffix(')')?, home)
}

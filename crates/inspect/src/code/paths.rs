//! Constant paths of Python that are put together, and what a program is given behind its code (Python library reference, "pathlib",
//! "sys.argv").

use super::Language;
use super::fold::is_path;
use super::lex::Token;
use crate::machine::{Machine, Part, Word};

/// How often what was put together is looked at again.
const MAX_ROUNDS: usize = 4;

/// The most names and words that are followed.
const MAX_NAMES: usize = 32;

/// A code with `.parent` in the place of `.parents[0]` and so on.
pub(super) fn above(language: Language, text: &str) -> String {
    if language != Language::Python || !text.contains(".parents[") {
        return text.to_owned();
    }
    (0..6).fold(text.to_owned(), |text, n| text.replace(&format!(".parents[{n}]"), &".parent".repeat(n + 1)))
}

/// The tokens of code with each constant path in one piece, also behind the name of a variable that is one.
pub(super) fn whole(mut tokens: Vec<Token>, cwd: &str) -> Vec<Token> {
    if !tokens.iter().any(|token| matches!(token, Token::Name(name) if name.to_ascii_lowercase().contains("path"))) {
        return tokens;
    }
    // Whoever changes the folder is somewhere else afterwards.
    let moves = tokens.iter().any(|token| matches!(token, Token::Name(name) if name.ends_with("chdir")));
    let cwd = (!moves).then_some(cwd);
    for _ in 0..MAX_ROUNDS {
        let next = named(&put_together(&apart(&tokens), cwd));
        if next == tokens {
            break;
        }
        tokens = next;
    }
    tokens
}

/// The tokens with `parent` on its own before what is called of it: `.parent.joinpath("a")`.
fn apart(tokens: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match (out.last(), token) {
            (Some(Token::Mark('.')), Token::Name(name)) if name.starts_with("parent.") => {
                let mut rest = name.as_str();
                while let Some(more) = rest.strip_prefix("parent.") {
                    out.extend([Token::Name("parent".to_owned()), Token::Mark('.')]);
                    rest = more;
                }
                out.push(Token::Name(rest.to_owned()));
            }
            _ => out.push(token.clone()),
        }
    }
    out
}

fn put_together(tokens: &[Token], cwd: Option<&str>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i..).unwrap_or_default();
        let called = matches!(out.last(), Some(Token::Name(name)) if !is_keyword(name))
            || matches!(out.last(), Some(Token::Mark(')' | ']')));
        if let Some((path, used)) = path_at(rest, cwd) {
            out.extend(of_path(path));
            i += used;
        } else if let (
            [
                Token::Mark('('),
                Token::Name(name),
                Token::Mark('('),
                Token::Text(text),
                Token::Mark(')'),
                Token::Mark(')'),
                ..,
            ],
            false,
        ) = (rest, called)
            && is_path(name)
        {
            out.extend(of_path(text.clone()));
            i += 6;
        } else if let (Some((text, used)), false) = (sum(rest), called) {
            out.push(Token::Text(text));
            i += used;
        } else {
            out.push(token.clone());
            i += 1;
        }
    }
    out
}

fn of_path(path: String) -> [Token; 4] {
    [Token::Name("Path".to_owned()), Token::Mark('('), Token::Text(path), Token::Mark(')')]
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "in" | "return" | "if" | "else" | "and" | "or" | "not" | "is" | "yield" | "await")
}

/// `("a" + "b")`, `("a")`
fn sum(tokens: &[Token]) -> Option<(String, usize)> {
    let [Token::Mark('('), Token::Text(first), rest @ ..] = tokens else { return None };
    let mut out = first.clone();
    let mut used = 2;
    for pair in rest.chunks(2) {
        match pair {
            [Token::Mark('+'), Token::Text(more)] => out.push_str(more),
            [Token::Mark(')'), ..] => return Some((out, used + 1)),
            _ => return None,
        }
        used += 2;
    }
    None
}

/// A constant path and what is done to it that gives another one, and how many tokens that takes; nothing where it is whole already.
fn path_at(tokens: &[Token], cwd: Option<&str>) -> Option<(String, usize)> {
    let (mut path, mut used) = match tokens {
        [Token::Name(name), Token::Mark('('), Token::Text(text), rest @ ..] if is_path(name) => {
            let (more, taken) = further(rest)?;
            (more.iter().fold(text.clone(), |path, part| joined(&path, part)), 3 + taken)
        }
        // The home folder stands there as a text.
        [Token::Text(text), Token::Mark('/'), Token::Text(_), ..] if text.starts_with('/') => (text.clone(), 1),
        _ => return None,
    };
    let begins = used;
    loop {
        match tokens.get(used..).unwrap_or_default() {
            [Token::Mark('/'), Token::Text(part), ..] => {
                path = joined(&path, part);
                used += 2;
            }
            [Token::Mark('.'), Token::Name(method), Token::Mark('('), Token::Mark(')'), ..]
                if matches!(method.as_str(), "resolve" | "absolute" | "expanduser") =>
            {
                path = crate::path::normalise(cwd?, &path);
                used += 4;
            }
            [Token::Mark('.'), Token::Name(method), Token::Mark('('), Token::Text(part), rest @ ..]
                if matches!(method.as_str(), "joinpath" | "with_name") =>
            {
                let Some((more, taken)) = further(rest) else { break };
                path = if method == "with_name" { parent(&path) } else { path };
                path = std::iter::once(part).chain(&more).fold(path, |path, part| joined(&path, part));
                used += 4 + taken;
            }
            [Token::Mark('.'), Token::Name(method), Token::Mark('('), Token::Text(suffix), Token::Mark(')'), ..]
                if method == "with_suffix" =>
            {
                let last = path.rfind('/').map_or(0, |at| at + 1);
                let end = path.get(last + 1..).and_then(|name| name.rfind('.')).map_or(path.len(), |at| last + 1 + at);
                path = format!("{}{suffix}", path.get(..end).unwrap_or(""));
                used += 5;
            }
            [Token::Mark('.'), Token::Name(name), ..] if name.split('.').all(|part| part == "parent") => {
                path = name.split('.').fold(path, |path, _| parent(&path));
                used += 2;
            }
            _ => break,
        }
    }
    (used > begins || used > 4).then_some((path, used))
}

/// The path in `Path("a")` and nothing else.
pub(super) fn whole_path(tokens: &[Token]) -> Option<String> {
    match tokens {
        [Token::Name(name), Token::Mark('('), Token::Text(path), Token::Mark(')')] if is_path(name) => {
            Some(path.clone())
        }
        _ => None,
    }
}

/// `, "b", "c")`: further constants up to the bracket.
fn further(tokens: &[Token]) -> Option<(Vec<String>, usize)> {
    let mut out = Vec::new();
    for (n, pair) in tokens.chunks(2).enumerate() {
        match pair {
            [Token::Mark(')'), ..] => return Some((out, 2 * n + 1)),
            [Token::Mark(','), Token::Text(part)] => out.push(part.clone()),
            _ => return None,
        }
    }
    None
}

fn joined(path: &str, part: &str) -> String {
    match path {
        _ if part.starts_with('/') => part.to_owned(),
        "" | "." => part.to_owned(),
        path => format!("{}/{part}", path.trim_end_matches('/')),
    }
}

fn parent(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None => ".".to_owned(),
    }
}

/// The tokens with a path in the place of its name, where something is done to it: `p / "a"`, `p.open("w")`.
fn named(tokens: &[Token]) -> Vec<Token> {
    let ends = |token: Option<&Token>| matches!(token, None | Some(Token::Mark(';')));
    let mut known: Vec<(&str, &str)> = Vec::new();
    let mut tried = 0;
    for i in 0..tokens.len() {
        if let Some(
            [
                Token::Name(name),
                Token::Mark('='),
                Token::Name(path),
                Token::Mark('('),
                Token::Text(text),
                Token::Mark(')'),
            ],
        ) = tokens.get(i..i + 6)
            && is_path(path)
            && ends(tokens.get(i + 6))
            && ends(i.checked_sub(1).and_then(|i| tokens.get(i)))
            && tried < MAX_NAMES
        {
            tried += 1;
            known.extend(is_given_once(tokens, name).then_some((name.as_str(), text.as_str())));
        }
    }
    let mut out = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        let of = |name: &str| known.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned());
        let before = i.checked_sub(1).and_then(|i| tokens.get(i));
        let found = match token {
            Token::Name(name) if before != Some(&Token::Mark('.')) => match name.split_once('.') {
                Some((name, method)) => of(name).map(|text| (text, Some(method))),
                None if tokens.get(i + 1) == Some(&Token::Mark('/')) => of(name).map(|text| (text, None)),
                None => None,
            },
            _ => None,
        };
        match found {
            Some((text, method)) => {
                out.extend(of_path(text));
                out.extend(method.into_iter().flat_map(|name| [Token::Mark('.'), Token::Name(name.to_owned())]));
            }
            None => out.push(token.clone()),
        }
    }
    out
}

/// Whether a name is given something once, and is no parameter and no variable of a loop.
pub(super) fn is_given_once(tokens: &[Token], name: &str) -> bool {
    let (mut depth, mut given) = (0_i32, 0);
    for (i, token) in tokens.iter().enumerate() {
        let next = (tokens.get(i + 1), tokens.get(i + 2));
        let before = i.checked_sub(1).and_then(|i| tokens.get(i));
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth -= 1,
            Token::Name(own) if own == name => match next {
                (Some(Token::Mark('=')), Some(Token::Mark('='))) => {}
                (Some(Token::Mark('=' | ',')), _) if depth <= 0 => given += 1,
                (Some(Token::Mark(_)), Some(Token::Mark('='))) => return false,
                _ if matches!(before, Some(Token::Name(word)) if matches!(word.as_str(), "for" | "as" | "lambda")) => {
                    return false;
                }
                _ => {}
            },
            Token::Name(word) if word == "def" || word == "lambda" => {
                let end = |token: &&Token| !matches!(token, Token::Mark(':' | ';'));
                let own = |token: &Token| matches!(token, Token::Name(own) if own == name);
                if tokens.iter().skip(i + 1).take(64).take_while(end).any(own) {
                    return false;
                }
            }
            _ => {}
        }
    }
    given == 1
}

/// The path before a method of it: a constant one, or the name of a data file that is filled in as the code runs.
pub(super) fn before(tokens: &[Token], method: &str) -> Option<Word> {
    if let Some(path) = super::fold::path_before(tokens, method) {
        return Some(Word::text(path));
    }
    match tokens {
        [
            ..,
            Token::Name(name),
            Token::Mark('('),
            Token::Text(folder),
            Token::Mark(')'),
            Token::Mark('/'),
            Token::Built(last),
            Token::Mark(')'),
        ] if is_path(name) => filled(&joined(folder, last)),
        [.., Token::Name(name), Token::Mark('('), Token::Built(text), Token::Mark(')')] if is_path(name) => {
            filled(text)
        }
        _ => None,
    }
}

/// The name of a data file that is filled in as the code runs: `f"out/{k}.csv"`.
pub(super) fn of_data(tokens: &[Token]) -> Option<Word> {
    let [Token::Built(text)] = tokens else { return None };
    filled(text)
}

fn filled(text: &str) -> Option<Word> {
    let mut word = Word::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        word.push_str(before);
        word.push(Part::Hole { name: "value".to_owned(), many: false });
        rest = after.split_once('}')?.1;
    }
    word.push_str(rest);
    word.data_as_pattern().filter(|pattern| !pattern.shown().contains(".."))
}

impl Machine<'_> {
    /// A code with the words that it is given behind it in the place of `sys.argv[n]`, as far as they are known.
    pub(crate) fn with_arguments(&self, language: Language, text: &str) -> String {
        let changes = |mark: &str| text.contains(&format!("sys.argv{mark}"));
        let inline = self.words.iter().position(|word| word.constant() == Some("-c")).map(|at| at + 2);
        let input = || self.words.iter().position(|word| word.constant() == Some("-")).map(|at| at + 1);
        let from = inline.or_else(input);
        let python = language == Language::Python && self.by.starts_with("py");
        let (true, false, Some(from)) = (python && changes("["), changes(" =") || changes("=") || changes("."), from)
        else {
            return text.to_owned();
        };
        let quoted = |word: &str| format!("'{}'", word.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"));
        let mut out = text.to_owned();
        let mut given = String::new();
        let words = self.words.get(from..).unwrap_or_default();
        let plain: Option<Vec<String>> = words.iter().map(|word| word.constant().map(quoted)).collect();
        if let Some(plain) = plain.filter(|plain| plain.len() <= MAX_NAMES && out.contains("sys.argv[1:]")) {
            given.push_str(&format!("SYS_ARGV_REST = [{}]\n", plain.join(", ")));
            out = out.replace("sys.argv[1:]", "SYS_ARGV_REST");
        }
        for (n, word) in words.iter().enumerate().take(MAX_NAMES) {
            let (Some(value), index) = (word.known(), format!("sys.argv[{}]", n + 1)) else { break };
            if out.contains(&index) {
                given.push_str(&format!("SYS_ARGV_{} = {}\n", n + 1, quoted(&value)));
                out = out.replace(&index, &format!("SYS_ARGV_{}", n + 1));
            }
            // A pattern becomes any number of words.
            if word.is_pattern() {
                break;
            }
        }
        given + &out
    }

    /// Whether a path is one of the patterns that the program under way is given.
    pub(super) fn is_given_pattern(&self, path: &str) -> bool {
        self.words.iter().any(|word| word.is_pattern() && word.known().as_deref() == Some(path))
    }
}

//! Constants that code puts together: the home folder by its names, and joined paths.

use super::lex::Token;
use super::places::{at_work, made_folder, path_above};

use crate::machine::Word;

/// Names of the home folder: calls without arguments.
const HOME_CALLS: &[&str] = &["Path.home", "pathlib.Path.home", "Dir.home", "os.homedir", "homedir"];

/// Names of the environment, with `["HOME"]` or `("HOME")` after them.
const ENVIRONMENTS: &[&str] =
    &["os.environ", "environ", "os.environ.get", "os.getenv", "getenv", "ENV", "ENV.fetch", "_SERVER"];

/// Calls that join paths.
const JOINS: &[&str] =
    &["os.path.join", "path.join", "File.join", "path.resolve", "os.path.abspath", "File.expand_path"];

/// Calls that make a folder of their own for a while.
const TEMPORARY: &[&str] = &["tempfile.mkdtemp", "mkdtemp", "fs.mkdtempSync", "mkdtempSync", "Dir.mktmpdir", "tempdir"];

/// The tokens with texts that stand side by side in one (Python Language Reference, "String literal concatenation").
pub(super) fn adjacent(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match (out.last_mut(), token) {
            (Some(Token::Text(text)), Token::Text(next)) if !next.starts_with(super::lex::HOME) => text.push_str(&next),
            (_, token) => out.push(token),
        }
    }
    out
}

/// The tokens with what is constant folded into one string.
pub(super) fn constants(tokens: &[Token], home: &str, cwd: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    // Whoever changes the folder is somewhere else afterwards.
    let moves = |token: &Token| matches!(token, Token::Name(name) if name.ends_with("chdir"));
    let here = (!tokens.iter().any(moves)).then_some(cwd);
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let rest = tokens.get(i + 1..).unwrap_or_default();
        // `require('https').get` is `https.get`.
        if let (
            Token::Name(name),
            [Token::Mark('('), Token::Text(module), Token::Mark(')'), Token::Mark('.'), Token::Name(method), ..],
        ) = (token, rest)
            && name == "require"
            && matches!(module.trim_start_matches("node:"), "http" | "https")
        {
            out.push(Token::Name(format!("{}.{method}", module.trim_start_matches("node:"))));
            i += 6;
            continue;
        }
        if let (Token::Name(name), Some(cwd)) = (token, here)
            && let Some((path, used)) = path_above(name, rest, cwd)
        {
            let wrapped = [Token::Name("Path".to_owned()), Token::Mark('('), Token::Text(path), Token::Mark(')')];
            out.extend(wrapped);
            i += 1 + used;
            continue;
        }
        let folded = match token {
            Token::Name(name) => folded(name, rest, home).or_else(|| at_work(name, rest, here?)),
            Token::Built(text) => super::sites::filled(text, home).map(|text| (text, 0)),
            Token::Text(text) => text.strip_prefix(super::lex::HOME).map(|rest| (format!("{home}{rest}"), 0)),
            _ => None,
        };
        match folded {
            Some((text, used)) => {
                // `Path.home().joinpath("a")`
                let (text, used) = match tokens.get(i + 1 + used..) {
                    Some(
                        [
                            Token::Mark('.'),
                            Token::Name(method),
                            Token::Mark('('),
                            Token::Text(part),
                            Token::Mark(')'),
                            ..,
                        ],
                    ) if method == "joinpath" => (format!("{text}/{part}"), used + 5),
                    _ => (text, used),
                };
                // Perl's `$ENV{HOME}` keeps its sign before the name.
                if out.last() == Some(&Token::Mark('$')) {
                    out.pop();
                }
                // `require('os').homedir()`
                let of_module = |before: &[Token]| matches!(before, [.., Token::Name(r), Token::Mark('('), Token::Text(_), Token::Mark(')'), Token::Mark('.')] if r == "require");
                if of_module(&out) {
                    out.truncate(out.len() - 5);
                }
                out.push(Token::Text(text));
                i += 1 + used;
            }
            None => {
                out.push(token.clone());
                i += 1;
            }
        }
    }
    out
}

/// What a name and the tokens after it stand for, and how many of those it takes.
fn folded(name: &str, rest: &[Token], home: &str) -> Option<(String, usize)> {
    let plain = name.strip_prefix("require.").unwrap_or(name);
    if HOME_CALLS.contains(&plain) {
        let used = if rest.starts_with(&[Token::Mark('('), Token::Mark(')')]) { 2 } else { 0 };
        return Some((home.to_owned(), used));
    }
    if matches!(name, "path.sep" | "os.sep" | "os.path.sep") {
        return Some(("/".to_owned(), 0));
    }
    if name == "process.env.HOME" {
        return Some((home.to_owned(), 0));
    }
    if ENVIRONMENTS.contains(&name) {
        return match rest {
            [Token::Mark('[' | '(' | '{'), Token::Text(key), Token::Mark(']' | ')' | '}'), ..] if key == "HOME" => {
                Some((home.to_owned(), 3))
            }
            [Token::Mark('{'), Token::Name(key), Token::Mark('}'), ..] if key == "HOME" => Some((home.to_owned(), 3)),
            _ => None,
        };
    }
    if matches!(name, "os.path.expanduser" | "expanduser") {
        return match rest {
            [Token::Mark('('), Token::Text(text), Token::Mark(')'), ..] => Some((at_home(text, home)?, 3)),
            _ => None,
        };
    }
    if JOINS.contains(&name) {
        return joined(rest, home);
    }
    if TEMPORARY.contains(&name) {
        return made_folder(rest);
    }
    super::sites::folder(name, rest, home)
}

fn at_home(text: &str, home: &str) -> Option<String> {
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Some(format!("{home}{rest}")),
        Some(_) => None,
        None => Some(text.to_owned()),
    }
}

/// `("a", "b")`: the parts may be folded themselves.
fn joined(rest: &[Token], home: &str) -> Option<(String, usize)> {
    if rest.first() != Some(&Token::Mark('(')) {
        return None;
    }
    let mut out = String::new();
    let mut i = 1;
    loop {
        let part = match rest.get(i)? {
            Token::Text(text) => {
                i += 1;
                match text.strip_prefix("~/") {
                    Some(rest) => format!("{home}/{rest}"),
                    None => text.clone(),
                }
            }
            // One level is enough: what is nested more deeply stays as it is.
            Token::Name(name) if !JOINS.contains(&name.as_str()) => {
                let (text, used) = folded(name, rest.get(i + 1..)?, home)?;
                i += 1 + used;
                text
            }
            _ => return None,
        };
        if part.starts_with('/') {
            out = part;
        } else {
            if !out.is_empty() {
                out.push('/');
            }
            out.push_str(&part);
        }
        match rest.get(i)? {
            Token::Mark(',') => i += 1,
            Token::Mark(')') => return Some((out, i + 1)),
            _ => return None,
        }
    }
}

/// The constant path of `Path("…")` before a method, with `/ "…"` parts: the tokens up to the method's dot.
pub(super) fn path_before(tokens: &[Token], method: &str) -> Option<String> {
    // `Path.home().joinpath("a").read_text()`, folded before; a text has other methods.
    if let [.., Token::Text(text)] = tokens
        && text.starts_with('/')
        && method != "replace"
    {
        return Some(text.clone());
    }
    let [.., Token::Name(name), Token::Mark('('), Token::Text(text), Token::Mark(')')] = tokens else {
        // `(Path("a") / "b").unlink()`
        let [
            ..,
            Token::Name(name),
            Token::Mark('('),
            Token::Text(text),
            Token::Mark(')'),
            Token::Mark('/'),
            Token::Text(more),
            Token::Mark(')'),
        ] = tokens
        else {
            return None;
        };
        return is_path(name).then(|| format!("{text}/{more}"));
    };
    is_path(name).then(|| text.clone())
}

pub(super) fn is_path(name: &str) -> bool {
    matches!(name, "Path" | "pathlib.Path" | "PosixPath" | "pathlib.PosixPath")
}

/// The names of files that `glob("…")` or a loop's variable stand for.
pub(super) fn names(tokens: &[Token], loops: &[(String, Word)]) -> Option<Word> {
    match tokens {
        [Token::Name(name)] => loops.iter().find(|(known, _)| known == name).map(|(_, found)| found.clone()),
        [Token::Mark('$'), Token::Name(name)] => {
            loops.iter().find(|(known, _)| known == name).map(|(_, found)| found.clone())
        }
        [Token::Name(glob), Token::Mark('('), Token::Text(pattern), Token::Mark(')')]
            if matches!(glob.as_str(), "glob" | "glob.glob" | "glob.iglob" | "Dir.glob" | "bsd_glob") =>
        {
            // Perl's takes several patterns apart: the one that reaches highest.
            let several =
                pattern.split_whitespace().filter(|_| glob == "glob").min_by_key(|one| one.matches('/').count());
            Some(Word::pattern(several.unwrap_or(pattern)))
        }
        // `Dir.glob(home + "/*")`
        [
            Token::Name(glob),
            Token::Mark('('),
            Token::Text(root),
            Token::Mark('+' | ',' | '.'),
            Token::Text(pattern),
            Token::Mark(')'),
        ] if matches!(glob.as_str(), "glob" | "glob.glob" | "glob.iglob" | "Dir.glob" | "bsd_glob") => {
            Some(Word::pattern(&format!("{root}{pattern}")))
        }
        _ => None,
    }
}

/// Names that are given a constant path, and nothing else anywhere: `p = Path("a") / "b"`.
fn paths(tokens: &[Token]) -> Vec<(String, Word)> {
    let mut out = Vec::new();
    let given = |name: &str| super::paths::is_given_once(tokens, name);
    for (i, token) in tokens.iter().enumerate().take(MAX_TOKENS) {
        let Token::Name(name) = token else { continue };
        let (path, rest) = match tokens.get(i + 1..).unwrap_or_default() {
            [Token::Mark('='), Token::Name(path), Token::Mark('('), Token::Text(text), Token::Mark(')'), rest @ ..]
                if is_path(path) =>
            {
                (text.clone(), rest)
            }
            [Token::Mark('='), Token::Text(text), Token::Mark('/'), Token::Text(more), rest @ ..] => {
                (format!("{text}/{more}"), rest)
            }
            _ => continue,
        };
        let path = match rest {
            [Token::Mark('/'), Token::Text(more), Token::Mark(';') | Token::Name(_), ..]
            | [Token::Mark('/'), Token::Text(more)] => {
                format!("{path}/{more}")
            }
            [] | [Token::Mark(';'), ..] => path,
            _ => continue,
        };
        if out.len() < MAX_LOOPS && given(name) {
            out.push((name.clone(), Word::text(path)));
        }
    }
    out
}

/// Calls that hand on what they are given, in another order or kind of list.
const HANDING_ON: &[&str] = &["sorted", "list", "reversed", "set", "tuple", "iter", "Array.from"];

/// The tokens of code without such a call around what a loop goes over.
pub(super) fn bare_loops(tokens: Vec<Token>) -> Vec<Token> {
    let begins = |i: usize| {
        matches!(tokens.get(i..), Some([Token::Name(word), Token::Name(call), Token::Mark('('), ..])
            if matches!(word.as_str(), "in" | "of") && HANDING_ON.contains(&call.as_str()))
    };
    let mut left_out: Vec<usize> = Vec::new();
    for i in (0..tokens.len()).filter(|i| begins(*i)).take(MAX_LOOPS) {
        let mut open = 0_usize;
        let end = tokens.iter().enumerate().skip(i + 2).take(MAX_TOKENS).find(|(_, token)| {
            match token {
                Token::Mark('(') => open += 1,
                Token::Mark(')') => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0
        });
        // A key by which they are put in order comes after them.
        if let Some((end, _)) = end {
            left_out.extend([i + 1, i + 2, end]);
        }
    }
    if left_out.is_empty() {
        return tokens;
    }
    let keeps = |(i, token): (usize, Token)| (!left_out.contains(&i)).then_some(token);
    tokens.into_iter().enumerate().filter_map(keeps).collect()
}

/// Names that stand for the home folder or the root in one round of a loop over a list: `for p in [Path("a"), Path.home()]`.
pub(super) fn worst_of_lists(tokens: &[Token], home: &str) -> Vec<(String, Word)> {
    let list = |rest: &[Token]| -> Option<String> {
        let end = rest.iter().take(MAX_LOOPS * 8).position(|token| *token == Token::Mark(']'))?;
        let is_worst = |token: &&Token| matches!(token, Token::Text(text) if text == home || text == "/");
        match rest.get(..end)?.iter().find(is_worst)? {
            Token::Text(text) => Some(text.clone()),
            _ => None,
        }
    };
    let named = |name: &str| {
        tokens.windows(3).enumerate().find_map(|(i, window)| match window {
            [Token::Name(known), Token::Mark('='), Token::Mark('[')] if known == name => list(tokens.get(i + 3..)?),
            _ => None,
        })
    };
    let found = (0..tokens.len()).filter_map(|i| match tokens.get(i..)? {
        [Token::Name(word), Token::Name(variable), Token::Name(within), Token::Mark('['), rest @ ..]
            if word == "for" && within == "in" =>
        {
            Some((variable.clone(), Word::text(list(rest)?)))
        }
        [Token::Name(word), Token::Name(variable), Token::Name(within), Token::Name(over), ..]
            if word == "for" && within == "in" =>
        {
            Some((variable.clone(), Word::text(named(over)?)))
        }
        _ => None,
    });
    found.take(MAX_LOOPS).collect()
}

/// Loops over names of files: `for p in Path("a").rglob("b")`, `for p in glob.glob("a/*")`.
pub(super) fn loops(tokens: &[Token]) -> Vec<(String, Word)> {
    let mut out = paths(tokens);
    // `Dir.glob("a/*").each { |f| … }`, `Dir["a/*"].each do |f| … end`, `glob("a/*").forEach(f => …)`
    for (i, token) in tokens.iter().enumerate().take(MAX_TOKENS) {
        if let (
            Token::Name(list),
            [
                Token::Mark('(' | '['),
                Token::Text(pattern),
                Token::Mark(')' | ']'),
                Token::Mark('.'),
                Token::Name(method),
                rest @ ..,
            ],
        ) = (token, tokens.get(i + 1..).unwrap_or_default())
            && matches!(list.rsplit('.').next(), Some("glob" | "globSync" | "Dir" | "sync"))
            && super::lists::EACH.contains(&method.strip_prefix("sort.").unwrap_or(method))
            && let Some(variable) = super::lists::parameter_of(rest)
        {
            out.push((variable, Word::pattern(pattern)));
        }
    }
    for (i, token) in tokens.iter().enumerate().take(MAX_TOKENS) {
        if !matches!(token, Token::Name(name) if name == "for") || out.len() >= MAX_LOOPS {
            continue;
        }
        match tokens.get(i + 1..).unwrap_or_default() {
            [
                Token::Name(variable),
                Token::Name(within),
                Token::Name(path),
                Token::Mark('('),
                Token::Text(root),
                Token::Mark(')'),
                Token::Mark('.'),
                Token::Name(method),
                Token::Mark('('),
                Token::Text(pattern),
                Token::Mark(')'),
                ..,
            ] if within == "in" && is_path(path) && matches!(method.as_str(), "glob" | "rglob") => {
                let mut word = Word::text(root.trim_end_matches('/'));
                word.push_str("/");
                word.append(&Word::pattern(&if method == "rglob" { format!("**/{pattern}") } else { pattern.clone() }));
                out.push((variable.clone(), word));
            }
            // `for p in glob("a/**", recursive=True)`
            [
                Token::Name(variable),
                Token::Name(within),
                Token::Name(glob),
                Token::Mark('('),
                Token::Text(pattern),
                Token::Mark(','),
                Token::Name(_),
                Token::Mark('='),
                ..,
            ] if within == "in" && matches!(glob.rsplit('.').next(), Some("glob" | "iglob")) => {
                out.push((variable.clone(), Word::pattern(pattern)));
            }
            // `for p in Path.home().iterdir()`, after the folder was folded.
            [
                Token::Name(variable),
                Token::Name(within),
                Token::Text(root),
                Token::Mark('.'),
                Token::Name(method),
                Token::Mark('('),
                ..,
            ] if within == "in" && matches!(method.as_str(), "iterdir" | "glob" | "rglob" | "walk") => {
                out.push((variable.clone(), listed(root, method != "iterdir")));
            }
            [
                Token::Name(variable),
                Token::Name(within),
                Token::Name(path),
                Token::Mark('('),
                Token::Text(root),
                Token::Mark(')'),
                Token::Mark('.'),
                Token::Name(method),
                ..,
            ] if within == "in" && is_path(path) && method == "iterdir" => {
                out.push((variable.clone(), listed(root, false)));
            }
            [
                Token::Name(variable),
                Token::Name(within),
                Token::Name(call),
                Token::Mark('('),
                Token::Text(root),
                Token::Mark(')'),
                ..,
            ] if within == "in" && LISTS.contains(&call.as_str()) => {
                out.push((variable.clone(), listed(root, call.ends_with("walk"))));
            }
            // `for folder, folders, files in os.walk(…)`
            [
                Token::Name(a),
                Token::Mark(','),
                Token::Name(b),
                Token::Mark(','),
                Token::Name(c),
                Token::Name(within),
                Token::Name(call),
                Token::Mark('('),
                Token::Text(root),
                Token::Mark(')'),
                ..,
            ] if within == "in" && call.ends_with("walk") => {
                for variable in [a, b, c] {
                    out.push((variable.clone(), listed(root, true)));
                }
            }
            // A loop over what another loop names.
            [Token::Name(variable), Token::Name(within), Token::Name(over), Token::Mark(':'), ..]
                if within == "in" && out.iter().any(|(known, _)| known == over) =>
            {
                let found = out.iter().find(|(known, _)| known == over).map(|(_, found)| found.clone());
                out.extend(found.map(|found| (variable.clone(), found)));
            }
            [Token::Name(variable), Token::Name(within), rest @ ..] if within == "in" => {
                if let Some(word) = rest.get(..4).and_then(|call| names(call, &[])) {
                    out.push((variable.clone(), word));
                }
            }
            _ => {}
        }
    }
    out
}

/// Calls that list a folder.
const LISTS: &[&str] = &["os.listdir", "listdir", "os.scandir", "scandir", "os.walk", "walk"];

/// Calls that list a folder and hand what is in it to a block.
const LISTS_TO_BLOCKS: &[&str] =
    &["Dir.children", "Dir.each_child", "Dir.entries", "Dir.foreach", "readdirSync", "readdir", "scandir", "opendir"];

/// What lies in a folder.
fn listed(root: &str, below: bool) -> Word {
    let mut word = Word::text(root.trim_end_matches('/'));
    word.push_str("/");
    word.append(&Word::pattern(if below { "**" } else { "*" }));
    word
}

/// Folders whose entries are handed to a block: `fs.readdirSync(a).forEach(…)`, `Dir.children(a).each { … }`.
fn handed_on(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.windows(3).filter_map(|window| match window {
        [Token::Name(call), Token::Mark('('), Token::Text(root)]
            if LISTS_TO_BLOCKS.iter().any(|list| call == list || call.rsplit('.').next() == Some(*list)) =>
        {
            Some(root.as_str())
        }
        _ => None,
    })
}

/// A path that is joined of a folder and a name in it that a loop or a block gives.
pub(super) fn joined_name(tokens: &[Token], loops: &[(String, Word)], all: &[Token]) -> Option<Word> {
    let (root, name) = match tokens {
        // `const p = "dir/" + f`, and nothing else is ever `p`.
        [Token::Name(own)] => {
            let mut given = all.windows(5).take(MAX_TOKENS).filter(
                |five| matches!(five, [Token::Name(name), Token::Mark('='), next, ..] if name == own && *next != Token::Mark('=')),
            );
            return match (given.next()?, given.next()) {
                ([_, _, root @ Token::Text(_), Token::Mark('+'), part @ Token::Name(_)], None) => {
                    joined_name(&[root.clone(), Token::Mark('+'), part.clone()], loops, all)
                }
                _ => None,
            };
        }
        [
            Token::Name(join),
            Token::Mark('('),
            Token::Text(root),
            Token::Mark(','),
            Token::Name(name),
            Token::Mark(')'),
        ] if JOINS.contains(&join.as_str()) => (root.as_str(), name),
        [
            Token::Name(join),
            Token::Mark('('),
            Token::Name(folder),
            Token::Mark(','),
            Token::Name(name),
            Token::Mark(')'),
        ] if JOINS.contains(&join.as_str()) => {
            return loops.iter().find(|(known, _)| known == folder || known == name).map(|(_, found)| found.clone());
        }
        [Token::Text(root), Token::Mark('+'), Token::Name(name)] => (root.as_str(), name),
        _ => return None,
    };
    let trimmed = root.trim_end_matches('/');
    let of_loop = loops.iter().any(|(known, _)| known == name);
    (of_loop || handed_on(all).any(|folder| folder.trim_end_matches('/') == trimmed)).then(|| listed(trimmed, false))
}

/// The most tokens that are looked through for loops.
const MAX_TOKENS: usize = 4096;

/// The most loops that are followed.
const MAX_LOOPS: usize = 16;

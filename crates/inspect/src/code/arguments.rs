//! What stands where a call has its arguments, and what some tokens of a code say by themselves.

use super::Language;
use super::lex::Token;
use crate::bounded::Bounded as _;

/// Whether code walks through the home folder and writes, removes or renames what it comes upon.
pub(super) fn ruins_home(tokens: &[Token], home: &str) -> bool {
    let called = |token: &Token, list: &[&str]| matches!(token, Token::Name(name) if list.contains(&name.rsplit(['.', ':']).next().unwrap_or(name)));
    let calls = |list: &[&str]| tokens.iter().any(|token| called(token, list));
    let says = |list: &[&str]| tokens.iter().any(|t| matches!(t, Token::Text(text) if list.contains(&text.as_str())));
    let opens = says(&["w", "wb", "r+b", "rb+", "wb+", "r+"]);
    says(&[home, "~"])
        && calls(&["walk", "rglob"])
        && (calls(&["unlink", "remove", "rmtree", "rename", "write_bytes", "truncate", "unlinkSync", "rmSync"])
            || (opens && calls(&["write"])))
}

/// Whether a mark and what follows call something that has no name: `x["f"](…)`, `("a" . "b")(…)`, `&{"f"}(…)`.
pub(super) fn computed_call(language: Language, mark: char, next: Option<&Token>) -> bool {
    match (mark, next) {
        (']', Some(Token::Mark('('))) => {
            matches!(language, Language::Python | Language::Node | Language::Php | Language::Lua | Language::Ruby)
        }
        (')', Some(Token::Mark('('))) => matches!(language, Language::Php | Language::Lua),
        ('&', Some(Token::Mark('{' | '$'))) => language == Language::Perl,
        _ => false,
    }
}

/// Whether code does nothing with the environment but hand it on to a program: `run(…, env={**os.environ, …})`.
pub(super) fn hands_on(tokens: &[Token]) -> bool {
    let tells = [
        "print",
        "pprint",
        "dumps",
        "dump",
        "repr",
        "str",
        "write",
        "write_text",
        "urlopen",
        "post",
        "put",
        "send",
        "sendall",
        "b64encode",
        "join",
        "items",
        "format",
    ];
    let names = |list: &[&str]| {
        tokens
            .iter()
            .any(|token| matches!(token, Token::Name(name) if list.contains(&name.rsplit('.').next().unwrap_or(name))))
    };
    let hands = tokens.windows(2).any(|pair| matches!(pair, [Token::Name(name), Token::Mark('=')] if name == "env"));
    hands && !names(&tells)
}

/// Whether a name is that of the whole environment in Ruby or Perl.
pub(super) fn reads_all_of_environment(language: Language, name: &str, before: Option<&Token>) -> bool {
    const OF_RUBY: [&str; 7] =
        ["ENV.to_", "ENV.inspect", "ENV.each", "ENV.map", "ENV.collect", "ENV.select", "ENV.sort"];
    match language {
        Language::Ruby => OF_RUBY.iter().any(|start| name.starts_with(start)),
        Language::Perl => name == "ENV" && before == Some(&Token::Mark('%')),
        _ => false,
    }
}

/// Whether a text begins as the address of a request does.
pub(super) fn is_request(text: &str) -> bool {
    ["http://", "https://", "ftp://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Whether a name is that of a file that is open (perlfunc, "open").
pub(super) fn is_handle(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

/// Whether a name without brackets is called: an argument follows.
pub(super) fn takes_bare(after: &[Token]) -> bool {
    matches!(
        after.first(),
        Some(
            Token::Text(_)
                | Token::Name(_)
                | Token::Built(_)
                | Token::Number
                | Token::Command(_)
                | Token::BuiltCommand(_)
        )
    ) || matches!(after.first(), Some(Token::Mark('$' | '@' | '[' | '%')))
}

/// The tokens of the `n`th argument of a call whose brackets follow, or of a call without brackets.
pub(super) fn argument(after: &[Token], n: usize) -> Option<&[Token]> {
    after.get(argument_place(after, n)?)
}

/// Where that stands.
pub(super) fn argument_place(after: &[Token], n: usize) -> Option<std::ops::Range<usize>> {
    let (bracketed, start) = match after.first() {
        Some(Token::Mark('(')) => (true, 1),
        _ => (false, 0),
    };
    let (mut depth, mut index, mut from) = (0_usize, 0, start);
    for (i, token) in after.iter().enumerate().skip(start) {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') if depth > 0 => depth -= 1,
            Token::Mark(')' | ']' | '}') => {
                return (index == n && i > from).then_some(from..i);
            }
            Token::Mark(',') if depth == 0 => {
                if index == n {
                    return (i > from).then_some(from..i);
                }
                index += 1;
                from = i + 1;
            }
            Token::Mark(';') if depth == 0 && !bracketed => {
                return (index == n && i > from).then_some(from..i);
            }
            _ => {}
        }
    }
    (index == n && !bracketed && after.len() > from).then_some(from..after.len())
}

/// A string constant, or constants put together.
pub(super) fn constant(tokens: &[Token]) -> Option<String> {
    let mut out = String::new();
    for token in tokens {
        match token {
            Token::Text(text) => out.push_str(text),
            Token::Mark('+' | '.') => {}
            Token::Mark(_)
            | Token::Name(_)
            | Token::Built(_)
            | Token::Number
            | Token::Pattern
            | Token::Command(_)
            | Token::BuiltCommand(_) => {
                return None;
            }
        }
    }
    (!tokens.is_empty()).then_some(out)
}

/// The first string anywhere in an argument: `("host", 80)`, `{host: "…"}`.
pub(super) fn first_text(tokens: &[Token]) -> Option<String> {
    tokens.iter().find_map(|token| if let Token::Text(text) = token { Some(text.clone()) } else { None })
}

/// The value of a keyword argument of a call whose brackets follow, or of a call without brackets.
pub(super) fn keyword(after: &[Token], name: &str) -> Option<String> {
    let bracketed = after.first() == Some(&Token::Mark('('));
    let mut depth = 0_usize;
    for (i, token) in after.iter().enumerate() {
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => {
                depth = depth.saturating_sub(1);
                if bracketed && depth == 0 {
                    return None;
                }
            }
            Token::Mark(';') => return None,
            Token::Name(key) if key == name => {
                if let Some([Token::Mark('='), Token::Text(value)]) = after.get(i + 1..i + 3) {
                    return Some(value.clone());
                }
            }
            _ => {}
        }
    }
    None
}

/// The list in an object that is an argument: `{cmd: ["…"]}`.
pub(super) fn within(tokens: &[Token]) -> Option<&[Token]> {
    let from = tokens.iter().position(|token| *token == Token::Mark('['))?;
    let to = tokens.iter().skip(from).position(|token| *token == Token::Mark(']'))?;
    tokens.get(from..=from + to)
}

/// Whether a call that runs something runs what a host answers, or gives it to a shell.
pub(super) fn fetches_what_it_runs(after: &[Token], all: &[Token], connects: bool) -> bool {
    let Some(first) = argument(after, 0) else { return false };
    let asks = |tokens: &[Token]| tokens.iter().any(|token| matches!(token, Token::Text(text) if is_request(text)));
    match first {
        [Token::Name(name)] | [Token::Mark('$'), Token::Name(name)] => connects && is_answer(name, all),
        [Token::Name(_), ..] => asks(first),
        [Token::Text(program), ..] | [Token::Mark('['), Token::Text(program), ..]
            if crate::program::is_shell(program) =>
        {
            let given = after
                .windows(2)
                .position(|pair| matches!(pair, [Token::Name(key), Token::Mark('=' | ':')] if key == "input"));
            given.is_some_and(|at| {
                after.get(at..).is_some_and(|rest| asks(rest.get(..rest.len().min(16)).unwrap_or(rest)))
            })
        }
        _ => false,
    }
}

/// Whether a name of code that talks to another machine may stand for its answer: it is given one, or it is the parameter of what is
/// called with one.
fn is_answer(name: &str, all: &[Token]) -> bool {
    let answers = [
        "text",
        "content",
        "read",
        "body",
        "decode",
        "getresponse",
        "recv",
        "json",
        "toString",
        "arrayBuffer",
        "receive",
    ];
    let mut given = all
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| matches!(pair, [Token::Name(known), Token::Mark('=')] if known == name));
    let of_answer = |at: usize| {
        let value = all.get(at + 2..).unwrap_or_default();
        let value = value.iter().take(24).take_while(|token| **token != Token::Mark(';'));
        let mut value = value.peekable();
        // `x => …` is a parameter; a list and a text are words of the code's own.
        match value.peek() {
            Some(Token::Mark('>')) => return true,
            Some(Token::Mark('[' | '{') | Token::Text(_) | Token::Built(_)) => return false,
            _ => {}
        }
        value.any(|token| match token {
            Token::Name(name) => answers.contains(&name.rsplit(['.', ':']).next().unwrap_or(name)),
            Token::Text(text) => is_request(text),
            _ => false,
        })
    };
    let first = given.next();
    first.is_none_or(|(at, _)| of_answer(at) || given.any(|(at, _)| of_answer(at)))
}

/// The constant texts that code writes to files that it has opened.
pub(super) fn texts_written(tokens: &[Token]) -> Vec<String> {
    let writes = |name: &str| matches!(name.rsplit('.').next(), Some("write" | "puts" | "print" | "fwrite"));
    let texts = tokens.windows(3).filter_map(|three| match three {
        [Token::Name(name), Token::Mark('('), Token::Text(text)] if writes(name) => Some(text.clone()),
        _ => None,
    });
    texts.at_most(64).collect()
}

/// The texts that code gives to something: a value, an element, an argument of `replace`. The script of a package that runs its tests
/// stands as it does there.
pub(super) fn texts_given(tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Text(text) = token else { continue };
        match tokens.get(..i).unwrap_or_default() {
            [.., Token::Text(key), Token::Mark(']'), Token::Mark('=')] if key == "test" => {
                out.push(format!("\"test\": \"{text}\""));
            }
            [.., Token::Name(key), Token::Mark('=')] if key.ends_with("scripts.test") => {
                out.push(format!("\"test\": \"{text}\""));
            }
            _ => {}
        }
        // What a comparison or a search is given is not written.
        if matches!(i.checked_sub(1).and_then(|at| tokens.get(at)), Some(Token::Mark('=' | ',' | ':' | '+' | '['))) {
            out.push(text.clone());
        }
        if out.len() >= 32 {
            break;
        }
    }
    out
}

/// Whether a statement begins with the end of a whole database.
pub(super) fn drops_database(text: &str) -> bool {
    let lower = text.trim_start().to_ascii_lowercase();
    lower.starts_with("drop database ") || lower.starts_with("drop schema ")
}

//! Names that code defines itself or takes out of a module of which the tables know what matters: what they do is read where it stands, or
//! under the module's own name (Python Language Reference, "The import statement", "Class definitions"; ECMAScript, "Method Definitions";
//! perlsub; Lua Reference Manual, "For Statement").

use super::Language;
use super::bound::Bound;
use super::calls::Table;
use super::lex::Token;
use super::names;

/// The most names of one code.
const MAX_NAMES: usize = 256;

/// The most tokens between the brackets of parameters.
const MAX_PARAMETERS: usize = 96;

/// What gives a class or a function that only computes where it is given a name (Python library reference, "collections", "typing";
/// SciPy, "interpolate", "stats").
const MAKING: &[&str] = &[
    "namedtuple",
    "NamedTuple",
    "TypedDict",
    "NewType",
    "TypeVar",
    "Enum",
    "IntEnum",
    "interp1d",
    "poly1d",
    "CubicSpline",
    "UnivariateSpline",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "gaussian_kde",
];

/// Modules of Node whose members start, send or write something, whatever they are called where they are taken out.
const ACTING: &[&str] = &[
    "child_process",
    "fs",
    "fs/promises",
    "net",
    "http",
    "https",
    "http2",
    "tls",
    "dgram",
    "vm",
    "module",
    "process",
    "worker_threads",
];

/// Members of other modules that run what they are given, or files that they find (Node.js, "Test runner"; the manuals of yargs and
/// typescript).
const RUNNING: &[&str] = &["run", "commandDir", "sys", "template"];

/// Whether a module of Node acts on the machine.
pub(super) fn is_acting(module: &str) -> bool {
    ACTING.contains(&module.trim_start_matches("node:"))
}

/// The names of a code that are its own.
pub(super) fn own(language: Language, table: &Table, tokens: &[Token], bound: &Bound) -> Vec<String> {
    let mut out = names::functions(tokens);
    match language {
        Language::Python => {
            out.extend(taken(table, tokens));
            out.extend(after(tokens, "class"));
            out.extend(made(tokens));
        }
        Language::Node => {
            let of_project = names::of_project(tokens);
            out.extend(of_project.into_iter().filter(|name| !Table::takes_away(name)));
            out.extend(methods(tokens));
            out.extend(destructured(table, tokens));
            // Under a name that is given something else, too, that may be called.
            out.extend(parameters(tokens).into_iter().filter(|name| bound.is_only_parameter(name)));
        }
        Language::Perl => out.extend(after(tokens, "sub")),
        Language::Lua => out.extend(of_loops(tokens)),
        Language::Php => out.extend(after(tokens, "class")),
        Language::Shell | Language::Ruby | Language::PowerShell | Language::Other => {}
    }
    out.truncate(MAX_NAMES);
    out
}

/// Names behind a word of the language.
fn after(tokens: &[Token], word: &str) -> Vec<String> {
    let named = tokens.windows(2).filter_map(|pair| match pair {
        [Token::Name(before), Token::Name(name)] if before == word => Some(name.clone()),
        _ => None,
    });
    named.take(MAX_NAMES).collect()
}

/// `from MODULE import a, b`, where the tables have the module, know no such member, and what they do not have of it does nothing.
fn taken(table: &Table, tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, window) in tokens.windows(3).enumerate() {
        let [Token::Name(from), Token::Name(module), Token::Name(import)] = window else { continue };
        let root = module.split('.').next().unwrap_or(module);
        if from != "from" || import != "import" || !table.has_module(module) || table.guarded.contains(root) {
            continue;
        }
        let ends = |token: &&Token| match token {
            Token::Name(word) => word == "from",
            token => matches!(token, Token::Mark(';' | ')')),
        };
        let listed =
            tokens.get(i + 3..).unwrap_or_default().iter().take(4 * MAX_NAMES).take_while(|token| !ends(token));
        let listed: Vec<&String> =
            listed.filter_map(|token| if let Token::Name(name) = token { Some(name) } else { None }).collect();
        for (at, name) in listed.iter().enumerate() {
            // `x as y` is another name of `x`.
            let before = |n: usize| at.checked_sub(n).and_then(|at| listed.get(at));
            let of = before(1).filter(|word| word.as_str() == "as").and_then(|_| before(2)).unwrap_or(name);
            let does = table.find(&format!("{module}.{of}"), of).or_else(|| table.find(of, of));
            // What is called like an act may be one, except among what files and lists have.
            let class = of.starts_with(char::is_uppercase);
            let acts = if class { table.acts_unasked(of) } else { table.acts(of) && !table.is_usual(of) };
            let taken = does.is_none() && !acts && !table.dynamic.contains(of.as_str()) && name.as_str() != "as";
            if taken && out.len() < MAX_NAMES {
                out.push((*name).clone());
            }
        }
    }
    out
}

/// `P = namedtuple(…)`, `f = interpolate.interp1d(…)`
fn made(tokens: &[Token]) -> Vec<String> {
    let named = tokens.windows(4).filter_map(|window| match window {
        [Token::Name(name), Token::Mark('='), Token::Name(call), Token::Mark('(')] => {
            let last = call.rsplit('.').next().unwrap_or(call);
            (MAKING.contains(&last) && !name.contains('.')).then(|| name.clone())
        }
        _ => None,
    });
    named.take(MAX_NAMES).collect()
}

/// Words before brackets and a block that are no name of a method.
const WORDS: &[&str] = &["if", "for", "while", "switch", "catch", "with", "function", "return"];

/// `name(…) {`: a method that is written, which no call looks like.
fn methods(tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        if tokens.get(i + 1) != Some(&Token::Mark('(')) || WORDS.contains(&name.as_str()) || name.contains('.') {
            continue;
        }
        let mut depth = 0_i32;
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let close = rest.iter().take(MAX_PARAMETERS).position(|token| {
            match token {
                Token::Mark('(') => depth += 1,
                Token::Mark(')') => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        if close.is_some_and(|close| rest.get(close + 1) == Some(&Token::Mark('{'))) && out.len() < MAX_NAMES {
            out.push(name.clone());
        }
    }
    out
}

/// `(a, b) => …`, `function (a, b) {…}`, `name(a, b) {…}`: whatever is handed on as one of them is looked at where that is done.
fn parameters(tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(') => open.push(i),
            Token::Mark(')') => {
                let Some(from) = open.pop() else { continue };
                let rest = tokens.get(i + 1..).unwrap_or_default();
                let arrow = rest.starts_with(&[Token::Mark('='), Token::Mark('>')]);
                let named = from.checked_sub(1).and_then(|at| tokens.get(at));
                let written = rest.first() == Some(&Token::Mark('{'))
                    && matches!(named, Some(Token::Name(name)) if name == "function" || !WORDS.contains(&name.as_str()));
                if !(arrow || written) || i - from > MAX_PARAMETERS || out.len() >= MAX_NAMES {
                    continue;
                }
                // What a pattern takes out of a value may be any member of it: `({execSync: run}) => run(…)`.
                let mut depth = 0_usize;
                for token in tokens.get(from + 1..i).unwrap_or_default() {
                    match token {
                        Token::Mark('{' | '[') => depth += 1,
                        Token::Mark('}' | ']') => depth = depth.saturating_sub(1),
                        Token::Name(name) if depth == 0 && !name.contains('.') => out.push(name.clone()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// `const {a, b} = require("MODULE")`, `import {a, b} from "MODULE"`, where the tables have the module and know no such member.
fn destructured(table: &Table, tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Text(module) = token else { continue };
        let bound = match tokens.get(..i).unwrap_or_default() {
            [head @ .., Token::Mark('='), Token::Name(require), Token::Mark('(')] if require == "require" => head,
            [head @ .., Token::Name(from)] if from == "from" => head,
            _ => continue,
        };
        let described = |module: &str| table.has_module(module) && !table.guarded.contains(module);
        if ACTING.contains(&module.trim_start_matches("node:")) || !described(module) {
            continue;
        }
        // `const test = require("node:test")`
        let runs = |name: &str| RUNNING.contains(&name) || table.dynamic.contains(name);
        // `const t = require("lodash").template`: a member under another name.
        let plain = match tokens.get(i + 1..) {
            Some([Token::Mark(')'), Token::Mark('['), ..]) => false,
            Some([Token::Mark(')'), Token::Mark('.'), Token::Name(of), ..]) => {
                !runs(of) && table.find(of, of).is_none()
            }
            _ => true,
        };
        if let [.., Token::Name(name)] = bound
            && plain
            && out.len() < MAX_NAMES
        {
            out.push(name.clone());
        }
        let Some((Token::Mark('}'), head)) = bound.split_last() else { continue };
        let Some(open) = names::last_within(head, &Token::Mark('{')) else { continue };
        let named = head.get(open + 1..).unwrap_or_default();
        // A member whose name is put together may be any.
        if !named.iter().all(|token| matches!(token, Token::Name(_) | Token::Mark(',' | ':'))) {
            continue;
        }
        for (at, token) in named.iter().enumerate() {
            let Token::Name(name) = token else { continue };
            // `{x: y}` and `{x as y}` are other names of `x`.
            let of = match named.get(..at).unwrap_or_default() {
                [.., Token::Name(of), Token::Mark(':')] => of,
                [.., Token::Name(of), Token::Name(word)] if word == "as" => of,
                _ => name,
            };
            let known = table.find(of, of).is_some() || table.find(&format!("_.{of}"), of).is_some();
            let dynamic = |name: &String| name.contains('.') || runs(name);
            if !known && !dynamic(name) && !dynamic(of) && out.len() < MAX_NAMES {
                out.push(name.clone());
            }
        }
    }
    out
}

/// `for k, v in …`
fn of_loops(tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        if matches!(token, Token::Name(word) if word == "for") && out.len() < MAX_NAMES {
            let rest = tokens.get(i + 1..).unwrap_or_default().iter();
            let until = rest.take(8).take_while(|token| !matches!(token, Token::Name(word) if word == "in"));
            out.extend(until.filter_map(|token| if let Token::Name(name) = token { Some(name.clone()) } else { None }));
        }
    }
    out
}

/// The tokens of Node's code without the names that it takes out of a module where it does so: they are not yet called.
pub(super) fn without_bindings(language: Language, mut tokens: Vec<Token>) -> Vec<Token> {
    if language != Language::Node {
        return tokens;
    }
    let mut open = None;
    for i in 0..tokens.len() {
        match tokens.get(i) {
            Some(Token::Mark('{')) => open = Some(i),
            Some(Token::Name(_) | Token::Mark(',' | ':')) => {}
            Some(Token::Mark('}')) => {
                let rest = tokens.get(i + 1..).unwrap_or_default();
                let called = match rest {
                    [Token::Mark('='), Token::Name(wait), rest @ ..] if wait == "await" => rest,
                    [Token::Mark('='), rest @ ..] => rest,
                    _ => &[],
                };
                let binds = matches!(called, [Token::Name(call), Token::Mark('('), Token::Text(_), ..] if matches!(call.as_str(), "require" | "import"))
                    || matches!(rest, [Token::Name(from), Token::Text(_), ..] if from == "from");
                if let Some(open) = open.take().filter(|_| binds) {
                    tokens.iter_mut().take(i).skip(open + 1).for_each(|token| *token = Token::Number);
                }
            }
            _ => open = None,
        }
    }
    tokens
}

//! Names that code gives once to a constant, to each of a list of constants, or to a module: what is said once is put in its place
//! before the code is read, so that a name hides nothing.

use std::collections::{BTreeMap, BTreeSet};

use countersign_plan::tool::{Effect, TargetKind};

use super::Language;
use super::calls::Table;
use super::lex::Token;
use super::words;
use crate::bounded::Bounded as _;

/// The most names that are followed.
pub(super) const MAX_NAMES: usize = 64;

/// The most bytes that constants take in the places of their names.
pub(super) const MAX_PLACED: usize = 1 << 20;

/// Modules of Node whose members are known by the module's name.
const NODE_MODULES: &[&str] = &["child_process", "fs", "http", "https", "net", "os", "path"];

/// The tokens with modules and their members under their own names (Python Language Reference, "The import statement"; ECMAScript,
/// "Imports", "Destructuring Binding Patterns").
pub(super) fn resolved(language: Language, table: &Table, mut tokens: Vec<Token>) -> Vec<Token> {
    let names = match language {
        Language::Python => python_names(table, &tokens),
        Language::Node => node_names(&tokens),
        _ => return tokens,
    };
    if names.is_empty() {
        return tokens;
    }
    for token in &mut tokens {
        // `${h()}/.aws`, where `h` is `homedir` under another name.
        if let Token::Built(text) = token
            && let Some((called, rest)) = text.strip_prefix("${").and_then(|text| text.split_once("()}"))
            && names.get(called).is_some_and(|name| name == "os.homedir")
            && let Some(home) = super::lex::at_home(&format!("${{os.homedir()}}{rest}"))
        {
            *token = home;
            continue;
        }
        let Token::Name(name) = token else { continue };
        let (first, rest) = name.split_once('.').map_or((name.as_str(), None), |(first, rest)| (first, Some(rest)));
        if let Some(own) = names.get(first) {
            *name = rest.map_or_else(|| own.clone(), |rest| format!("{own}.{rest}"));
        }
    }
    tokens
}

fn python_names(table: &Table, tokens: &[Token]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (i, token) in tokens.iter().enumerate() {
        if !matches!(token, Token::Name(name) if name == "import") || names.len() >= MAX_NAMES {
            continue;
        }
        let from = match i.checked_sub(2).and_then(|from| tokens.get(from..i)) {
            Some([Token::Name(word), Token::Name(module)]) if word == "from" => Some(module),
            _ => None,
        };
        let mut rest = tokens.get(i + 1..).unwrap_or_default();
        loop {
            rest = match rest {
                [Token::Mark(',' | '('), more @ ..] => more,
                // The next statement, where nothing separates the two.
                [Token::Name(word), ..] if matches!(word.as_str(), "from" | "import") => break,
                [Token::Name(name), Token::Name(word), Token::Name(own), more @ ..] if word == "as" => {
                    let full = from.map_or_else(|| name.clone(), |module| format!("{module}.{name}"));
                    names.insert(own.clone(), full);
                    more
                }
                [Token::Name(name), more @ ..] => {
                    let full = from.map(|module| format!("{module}.{name}"));
                    // Whatever is of a module that evaluates texts is looked at under its own name.
                    let known = |full: &String| full.starts_with("sympy.") || table.find(full, name).is_some();
                    if let Some(full) = full.filter(known) {
                        names.insert(name.clone(), full);
                    }
                    more
                }
                _ => break,
            };
        }
    }
    let mut looked = names.len();
    for (i, window) in tokens.windows(3).enumerate() {
        let [Token::Name(own), Token::Mark('='), Token::Name(full)] = window else { continue };
        let last = full.rsplit('.').next().unwrap_or(full);
        let ends = matches!(tokens.get(i + 3), None | Some(Token::Mark(';')));
        let begins = matches!(i.checked_sub(1).and_then(|i| tokens.get(i)), None | Some(Token::Mark(';')));
        let plain = full.contains('.') && table.find(full, last).is_none() && table.is_harmless(last);
        // What is set in the environment is set there under another name, too.
        let environment = || full == "os.environ" && super::paths::is_given_once(tokens, own);
        let called = || plain && is_only_called(tokens, own, i);
        let may_be = ends && begins && (plain || full == "os.environ") && looked < MAX_NAMES;
        looked += usize::from(may_be);
        if may_be && (environment() || called()) {
            names.insert(own.clone(), full.clone());
        }
    }
    names
}

/// Whether a name is given a value at `at`, and everywhere else only called: nothing else is ever bound to it.
fn is_only_called(tokens: &[Token], own: &str, at: usize) -> bool {
    tokens.iter().enumerate().all(|(i, token)| {
        let named = matches!(token, Token::Name(name) if name == own);
        let before = i.checked_sub(1).and_then(|i| tokens.get(i));
        let binds = matches!(before, Some(Token::Name(word)) if matches!(word.as_str(), "def" | "class" | "import" | "as" | "for" | "lambda" | "global" | "nonlocal" | "del"));
        !named || i == at || (!binds && matches!(tokens.get(i + 1), Some(Token::Mark('('))))
    })
}

fn node_names(tokens: &[Token]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let known = |module: &str| {
        let module = module.trim_start_matches("node:").trim_end_matches("/promises");
        NODE_MODULES.contains(&module).then(|| module.to_owned())
    };
    for (i, token) in tokens.iter().enumerate() {
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let (module, bound) = match (token, rest) {
            (Token::Name(call), [Token::Mark('('), Token::Text(module), Token::Mark(')'), then @ ..])
                if matches!(call.as_str(), "require" | "import") =>
            {
                if let Some(own) = given_then(then).filter(|_| call == "import") {
                    names.extend(known(module).map(|module| (own.to_owned(), module)));
                    continue;
                }
                let before = tokens.get(..i).unwrap_or_default();
                let before = before.strip_suffix(&[Token::Name("await".to_owned())]).unwrap_or(before);
                (known(module), before.strip_suffix(&[Token::Mark('=')]))
            }
            (Token::Name(from), [Token::Text(module), ..]) if from == "from" => (known(module), tokens.get(..i)),
            _ => continue,
        };
        // A member of it is no module: `require("os").homedir()`.
        let member = matches!(rest.get(3), Some(Token::Mark('.')));
        let (Some(module), Some(bound)) = (module, bound) else { continue };
        match bound {
            [.., Token::Mark('}')] => {
                let open = last_within(bound, &Token::Mark('{')).unwrap_or(bound.len());
                for part in
                    bound.get(open + 1..bound.len() - 1).unwrap_or_default().split(|token| *token == Token::Mark(','))
                {
                    match part {
                        [Token::Name(name)] => names.insert(name.clone(), format!("{module}.{name}")),
                        [Token::Name(name), Token::Mark(':'), Token::Name(own)] => {
                            names.insert(own.clone(), format!("{module}.{name}"))
                        }
                        [Token::Name(name), Token::Name(_), Token::Name(own)] => {
                            names.insert(own.clone(), format!("{module}.{name}"))
                        }
                        _ => None,
                    };
                }
            }
            [.., Token::Name(own)] if !member => {
                names.insert(own.clone(), module);
            }
            _ => {}
        }
        if names.len() >= MAX_NAMES {
            break;
        }
    }
    names
}

/// Where a token stands last, not far from the end.
pub(super) fn last_within(tokens: &[Token], wanted: &Token) -> Option<usize> {
    let from = tokens.len().saturating_sub(4 * MAX_NAMES);
    tokens.get(from..)?.iter().rposition(|token| token == wanted).map(|at| from + at)
}

/// `.then(m => …)`: the name under which what is brought in is given on (ECMA-262, "Import Calls").
fn given_then(tokens: &[Token]) -> Option<&str> {
    let (then, rest) = match tokens {
        [Token::Mark('.'), Token::Name(then), Token::Mark('('), rest @ ..] => (then, rest),
        _ => return None,
    };
    let name = match rest {
        [Token::Name(name), Token::Mark('='), Token::Mark('>'), ..] => name,
        [Token::Mark('('), Token::Name(name), Token::Mark(')'), Token::Mark('='), Token::Mark('>'), ..] => name,
        _ => return None,
    };
    (then == "then" && !name.contains('.')).then_some(name)
}

/// The tokens with constants in the place of names that are given one once, and with constants that stand together as one.
pub(super) fn settled(language: Language, tokens: &[Token]) -> Vec<Token> {
    let texts = assigned(tokens);
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut room = MAX_PLACED;
    for (i, token) in tokens.iter().enumerate() {
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let called = matches!(rest.first(), Some(Token::Mark('(')));
        let own = match token {
            Token::Name(name) if !assigns(rest) => texts.get(name).filter(|text| text.len() <= room),
            _ => None,
        };
        // `$f("x")` calls what `$f` names; in other languages a text is no function.
        let own = match own {
            Some(text) if called && language == Language::Php => {
                out.pop();
                out.push(Token::Name(text.clone()));
                continue;
            }
            own => own.filter(|_| !called),
        };
        if let Token::BuiltCommand(text) = token
            && let Some(line) = words::filled(language, text, &texts, room)
        {
            room = room.saturating_sub(line.len());
            out.push(Token::Command(Some(line)));
            continue;
        }
        let text = || match token {
            Token::Text(text) => Some(text.clone()),
            Token::Built(text) => words::filled(language, text, &texts, room),
            _ => None,
        };
        let Some(text) = own.cloned().or_else(text) else {
            out.push(token.clone());
            continue;
        };
        if !matches!(token, Token::Text(_)) {
            room = room.saturating_sub(text.len());
        }
        if own.is_some() && out.last() == Some(&Token::Mark('$')) {
            out.pop();
        }
        let joins = if matches!(language, Language::Perl | Language::Php) { '.' } else { '+' };
        let before = out.len().checked_sub(2).and_then(|at| out.get(at..)).map(<[Token]>::to_vec);
        if let Some([Token::Text(before), Token::Mark(mark)]) = before.as_deref()
            && *mark == joins
        {
            out.truncate(out.len() - 2);
            out.push(Token::Text(format!("{before}{text}")));
        } else {
            out.push(Token::Text(text));
        }
    }
    out
}

/// Declarations of several names, each on its own: `const a = 1, b = 2` (ECMAScript, "Lexical Declarations").
pub(super) fn declared(language: Language, tokens: Vec<Token>) -> Vec<Token> {
    let is_word =
        |token: &Token| matches!(token, Token::Name(name) if matches!(name.as_str(), "const" | "let" | "var"));
    if language != Language::Node || !tokens.iter().any(is_word) {
        return tokens;
    }
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    // The word of the declaration that is being read, and how deep it stands.
    let mut open: Option<(Token, usize)> = None;
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                open = open.filter(|(_, at)| *at <= depth);
            }
            Token::Mark(';') => open = open.filter(|(_, at)| *at < depth),
            // Those of a loop stay together.
            word if is_word(word) && out.last() != Some(&Token::Mark('(')) => open = Some((word.clone(), depth)),
            _ => {}
        }
        let another = matches!(tokens.get(i + 1..), Some([Token::Name(_), Token::Mark('='), next, ..]) if !matches!(next, Token::Mark('=' | '>')));
        match (&open, token) {
            (Some((word, at)), Token::Mark(',')) if *at == depth && another => {
                out.extend([Token::Mark(';'), word.clone()]);
            }
            _ => out.push(token.clone()),
        }
    }
    out
}

/// Whether what follows a name gives it a value.
fn assigns(rest: &[Token]) -> bool {
    matches!(rest, [Token::Mark('='), next, ..] if !matches!(next, Token::Mark('=' | '>' | '~')))
        || matches!(rest, [Token::Mark('+' | '-' | '.' | '|' | '&' | '*' | '/' | '%' | '?'), Token::Mark('='), ..])
}

/// Names that are given a constant, and nothing else anywhere.
fn assigned(tokens: &[Token]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut again = BTreeSet::new();
    let mut given: BTreeSet<&str> = BTreeSet::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let before = tokens.get(..i).unwrap_or_default();
        let before = before.strip_suffix(&[Token::Mark('$')]).unwrap_or(before);
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let bound = matches!(before.last(), Some(Token::Name(word)) if matches!(word.as_str(), "for" | "foreach" | "as" | "def" | "function"));
        if bound || (assigns(rest) && !given.insert(name)) {
            again.insert(name.as_str());
            continue;
        }
        let begins = match before.last() {
            None | Some(Token::Mark(';' | '{' | '}' | ':')) => true,
            Some(Token::Name(word)) => {
                matches!(word.as_str(), "const" | "let" | "var" | "my" | "our" | "local" | "global")
            }
            Some(_) => false,
        };
        if let [Token::Mark('='), value @ ..] = rest
            && begins
            && texts.len() < MAX_NAMES
            && !name.contains('.')
        {
            let end =
                value.iter().position(|token| matches!(token, Token::Mark(';' | ',' | '}'))).unwrap_or(value.len());
            if let Some(text) = value.get(..end).and_then(super::constant) {
                texts.insert(name.clone(), text);
            }
        }
    }
    texts.retain(|name, _| !again.contains(name.as_str()));
    texts
}

impl crate::machine::Machine<'_> {
    /// What code that talks to another machine has read by then: the whole environment, and files that are not the project's own or
    /// that hide. `since` is where its touches begin.
    pub(super) fn takes_along(&mut self, since: usize, environment: bool) {
        let touches = self.out.touches.get(since..).unwrap_or_default();
        let named = |kind: TargetKind| touches.iter().filter(move |touch| touch.kind == kind);
        let hosts: BTreeSet<String> = named(TargetKind::Host)
            .map(|touch| touch.name.clone())
            .filter(|name| !crate::host::is_local(name))
            .collect();
        let cwd = self.context.cwd.trim_end_matches('/');
        let kept = |name: &str| {
            let last = name.rsplit('/').next().unwrap_or(name);
            name.starts_with('/')
                && (!crate::path::is_below(name, cwd) || last.starts_with('.') || crate::path::is_key(name))
        };
        let files = named(TargetKind::File).filter(|touch| touch.effect == Effect::Read && kept(&touch.name));
        let mut from: BTreeSet<String> = files.map(|touch| touch.name.clone()).collect();
        if environment {
            from.insert("env".to_owned());
        }
        for to in &hosts {
            for from in &from {
                self.leaves(from, to);
            }
        }
    }
}

impl crate::machine::Machine<'_> {
    /// What code that talks to another machine has written by then may be what was sent: who runs that runs the host's.
    pub(super) fn keeps_fetched(&mut self, since: usize) {
        let written: Vec<String> = self
            .out
            .touches
            .iter()
            .skip(since)
            .filter(|touch| touch.kind == TargetKind::File && touch.effect == Effect::Update && !touch.pattern)
            .map(|touch| touch.name.clone())
            .at_most(MAX_NAMES)
            .collect();
        for name in written {
            self.files.entry(name).or_default().remote = true;
        }
    }

    /// A token of the environment that is for one provider, in code that talks to another.
    pub(super) fn takes_tokens(&mut self, since: usize, tokens: &[Token]) {
        self.wipes_disks(tokens);
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for token in tokens {
            let name = match token {
                Token::Text(text) => text.as_str(),
                Token::Name(name) => name.rsplit('.').next().unwrap_or(name),
                _ => continue,
            };
            if crate::program::has_owner(name) {
                names.insert(name);
            }
        }
        if names.is_empty() {
            return;
        }
        let touches = self.out.touches.get(since..).unwrap_or_default();
        let hosts: BTreeSet<String> =
            touches.iter().filter(|touch| touch.kind == TargetKind::Host).map(|touch| touch.name.clone()).collect();
        // Among several hosts it may be for one of them.
        if let [host] = hosts.iter().collect::<Vec<_>>().as_slice() {
            for name in names {
                self.leaves(&format!("${name}"), host);
            }
        }
    }
}

/// Names that code gives functions whose bodies it says itself: `k = lambda p: …`, `const f = (x) => …`.
pub(super) fn functions(tokens: &[Token]) -> Vec<String> {
    let arrow = |rest: &[Token]| {
        let close = match rest.first() {
            Some(Token::Mark('(')) => rest.iter().take(MAX_NAMES).position(|token| *token == Token::Mark(')')),
            Some(Token::Name(_)) => Some(0),
            _ => None,
        };
        let after = close.and_then(|close| rest.get(close + 1..));
        after.is_some_and(|rest| rest.starts_with(&[Token::Mark('='), Token::Mark('>')]))
    };
    let found = tokens.windows(2).enumerate().filter_map(|(i, pair)| match pair {
        [Token::Name(name), Token::Mark('=')] if !name.contains('.') => {
            let rest = tokens.get(i + 2..)?;
            let waits = matches!(rest.first(), Some(Token::Name(word)) if word == "async");
            let rest = if waits { rest.get(1..)? } else { rest };
            let begins =
                matches!(rest.first(), Some(Token::Name(word)) if matches!(word.as_str(), "lambda" | "function" | "fn"));
            (begins || arrow(rest)).then(|| name.clone())
        }
        _ => None,
    });
    found.take(MAX_NAMES).collect()
}

/// Names that Node's code takes out of files of the project (ECMA-262, "Imports"; Node.js, "CommonJS modules"): what lies there runs, as it
/// does under any other name.
pub(super) fn of_project(tokens: &[Token]) -> Vec<String> {
    let is = |token: &Token, word: &str| matches!(token, Token::Name(name) if name == word);
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Text(module) = token else { continue };
        if !module.starts_with("./") && !module.starts_with("../") {
            continue;
        }
        // `import a, {b as c} from`, `const {a, b: c} = require(`: nothing but names, from the word or the bracket on.
        let named = match tokens.get(..i).unwrap_or_default() {
            [head @ .., Token::Name(from)] if from == "from" => {
                last_within(head, &Token::Name("import".to_owned())).and_then(|at| head.get(at + 1..))
            }
            [head @ .., Token::Mark('}'), Token::Mark('='), call, Token::Mark('(')] if is(call, "require") => {
                last_within(head, &Token::Mark('{')).and_then(|at| head.get(at + 1..))
            }
            _ => None,
        };
        let named = named.unwrap_or_default();
        let plain = |token: &Token| matches!(token, Token::Name(_) | Token::Mark('{' | '}' | ',' | ':' | '*'));
        if named.len() > 4 * MAX_NAMES || !named.iter().all(plain) {
            continue;
        }
        out.extend(named.iter().filter_map(|token| match token {
            Token::Name(name) if !name.contains('.') && !matches!(name.as_str(), "as" | "default" | "type") => {
                Some(name.clone())
            }
            _ => None,
        }));
    }
    out
}

/// Names that code gives values: those are no calls.
pub(super) fn given(language: Language, tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    // Behind a sign it is a variable, and without one a function of the same name.
    let plain = |i: usize| {
        let sign = i.checked_sub(1).and_then(|i| tokens.get(i));
        language == Language::Perl && !matches!(sign, Some(Token::Mark('$' | '@' | '%')))
    };
    let called: BTreeSet<&str> = tokens
        .iter()
        .enumerate()
        .filter_map(|(i, token)| match token {
            Token::Name(name) if plain(i) => {
                let after = tokens.get(i + 1..).unwrap_or_default();
                let calls = after.first() == Some(&Token::Mark('(')) || super::takes_bare(after);
                calls.then_some(name.as_str())
            }
            _ => None,
        })
        .collect();
    for (i, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let rest = tokens.get(i + 1..).unwrap_or_default();
        let before = i.checked_sub(1).and_then(|i| tokens.get(i));
        let parameter =
            matches!(before, Some(Token::Mark('|' | ','))) && matches!(rest.first(), Some(Token::Mark('|' | ',')));
        let declared = language == Language::Perl
            && matches!(tokens.get(..i).unwrap_or_default(), [.., Token::Name(word), Token::Mark('$')] if matches!(word.as_str(), "my" | "for" | "foreach"));
        let own = assigns(rest) || parameter || declared;
        if own && !name.contains('.') && !called.contains(name.as_str()) && out.len() < 4 * MAX_NAMES {
            out.push(name.clone());
        }
    }
    out
}

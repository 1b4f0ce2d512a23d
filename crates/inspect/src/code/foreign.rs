//! Modules that no table describes: the project's own, and what is installed beside the interpreter. To load one runs what lies there, as
//! `python app/main.py` does. What code calls of it is judged by its name: `app.routes` shows something, `db.reset()` does something.

use std::collections::BTreeSet;

use countersign_plan::tool::Effect;

use super::calls::Table;
use super::lex::Token;
use super::{Language, Seen};
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

/// The most names that are followed; code with more of them is not known.
const MAX_NAMES: usize = 64;

/// How often names are looked for that are made of names.
const MAX_ROUNDS: usize = 8;

/// Names that stand for something of a module that no table describes.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    names: BTreeSet<String>,
    /// Whether there may be more of them.
    more: bool,
}

impl Foreign {
    /// The names of Python code (Python Language Reference, "The import statement"), wherever in it they are brought in.
    pub(super) fn of(table: &Table, tokens: &[Token]) -> Self {
        let mut out = Self::default();
        for (i, token) in tokens.iter().enumerate() {
            let rest = tokens.get(i + 1..).unwrap_or_default();
            let members = |rest: &[Token]| -> Vec<String> {
                let end = rest.iter().position(|token| *token == Token::Mark(';')).unwrap_or(rest.len());
                rest.get(..end).unwrap_or_default().iter().filter_map(plain_name).map(str::to_owned).collect()
            };
            let of_from =
                matches!(i.checked_sub(2).and_then(|i| tokens.get(i)), Some(Token::Name(word)) if word == "from");
            match (token, rest) {
                (Token::Name(from), [Token::Name(module), Token::Name(import), named @ ..])
                    if from == "from" && import == "import" && !table.has_module(module) =>
                {
                    out.names.insert(root(module).to_owned());
                    out.names.extend(members(named).into_iter().filter(|name| !name.contains('.')));
                }
                (Token::Name(import), _) if import == "import" && !of_from => {
                    let unknown = members(rest).into_iter().filter(|module| !table.has_module(module));
                    out.names.extend(unknown.map(|module| root(&module).to_owned()));
                }
                _ => {}
            }
        }
        // What is made of it is as unknown as it is: `ea = Accumulator(d).Reload()`, `with connect() as c`, `for row in rows()`.
        for round in 0..MAX_ROUNDS {
            let before = out.names.len();
            if before == 0 || before > MAX_NAMES {
                break;
            }
            for statement in tokens.split(|token| *token == Token::Mark(';')) {
                if statement.iter().any(|token| matches!(token, Token::Name(name) if out.has(name))) {
                    out.names.extend(bound(statement));
                }
            }
            if out.names.len() == before {
                break;
            }
            out.more = round + 1 == MAX_ROUNDS;
        }
        out.more |= out.names.len() > MAX_NAMES;
        out
    }

    /// Whether a name is one of them, or a method of what a call gave where there are any.
    fn has(&self, name: &str) -> bool {
        let root = root(name);
        self.names.contains(root) || (root == "_" && !self.names.is_empty())
    }
}

impl Machine<'_> {
    /// A name that no table has, in code with modules that no table describes: whether it is of one of these. An act is not known wherever it
    /// stands, for what such a module gives may be handed on under any name; of what is not known to be one, files and lists are left out.
    pub(super) fn foreign(&mut self, table: &Table, name: &str, is_call: bool, seen: &Seen) -> bool {
        let own = seen.foreign.has(name) && !table.is_harmless(name);
        let handed_on = || {
            !seen.foreign.names.is_empty()
                && name.contains('.')
                && !own
                && !table.has_module(name)
                && !table.is_usual(name)
        };
        if (own || handed_on()) && table.acts(name) && (is_call || table.acts_unasked(name)) {
            let message = format!("what `{name}` in the Python code does is not known");
            self.unknown(UnknownKind::Code, Effect::Execute, message);
        }
        own
    }

    /// The file of such a module, where the project has it. What reaches other machines or is called like an act stays unknown.
    pub(super) fn load_foreign(&mut self, table: &Table, module: &str, seen: &Seen) {
        let why = if seen.foreign.more {
            "is one of more than are followed"
        } else if table.reaches(root(module)) {
            "reaches machines, accounts or services"
        } else if module.split('.').any(|part| table.acts(part)) {
            "is called like an act"
        } else {
            let file = Word::text(format!("{}.py", module.replace('.', "/")));
            self.script_file(Language::Python, &[file], &Stream::empty());
            return;
        };
        self.unknown(UnknownKind::Code, Effect::Execute, format!("the Python module `{module}` {why}"));
    }
}

/// The names that a statement binds.
fn bound(statement: &[Token]) -> Vec<String> {
    let binds = |i: usize| {
        let before = i.checked_sub(1).and_then(|i| statement.get(i));
        let after = statement.get(i + 1);
        // `a = …`, `a, b = …`, `(a := …)`
        let mark =
            |token: Option<&Token>, marks: &[char]| matches!(token, Some(Token::Mark(mark)) if marks.contains(mark));
        let assigned = mark(after, &['=']) && statement.get(i + 2) != Some(&Token::Mark('='))
            || mark(after, &[':', ',', ')']) && statement.iter().skip(i).any(|token| *token == Token::Mark('='));
        let word = |token: Option<&Token>, words: &[&str]| matches!(token, Some(Token::Name(name)) if words.contains(&name.as_str()));
        assigned || word(before, &["as", "for"]) || word(after, &["in"])
    };
    let named = statement.iter().enumerate().filter(|(i, _)| binds(*i));
    named.filter_map(|(_, token)| plain_name(token)).map(|name| root(name).to_owned()).collect()
}

fn plain_name(token: &Token) -> Option<&str> {
    match token {
        Token::Name(name) if name != "as" => Some(name),
        _ => None,
    }
}

fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

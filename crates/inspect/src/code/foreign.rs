//! Modules that no table describes: the project's own, and what is installed beside the interpreter. To load one runs what lies there, as
//! `python app/main.py` does. What code calls of it is judged by its name: `app.routes` shows something, `db.reset()` does something.

use std::collections::BTreeSet;

use countersign_plan::tool::Effect;

use super::calls::Table;
use super::lex::Token;
use super::{Language, Seen};
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Stream, Word};

/// The most names that are followed.
const MAX_NAMES: usize = 64;

/// Names that stand for something of a module that no table describes.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    names: BTreeSet<String>,
}

impl Foreign {
    /// The names of Python code (Python Language Reference, "The import statement").
    pub(super) fn of(table: &Table, tokens: &[Token]) -> Self {
        let mut names = BTreeSet::new();
        for statement in tokens.split(|token| *token == Token::Mark(';')) {
            match statement {
                [Token::Name(from), Token::Name(module), Token::Name(import), members @ ..]
                    if from == "from" && import == "import" && !table.has_module(module) =>
                {
                    names.insert(root(module).to_owned());
                    names.extend(members.iter().filter_map(|member| plain(member)).map(str::to_owned));
                }
                [Token::Name(import), modules @ ..] if import == "import" => {
                    let unknown = modules.iter().filter_map(plain_name).filter(|module| !table.has_module(module));
                    names.extend(unknown.map(|module| root(module).to_owned()));
                }
                _ => {}
            }
            if names.len() > MAX_NAMES {
                break;
            }
        }
        let mut out = Self { names };
        // What is made of it is as unknown as it is: `ea = Accumulator(d).Reload()`, `with connect() as c`, `for row in rows()`.
        if !out.names.is_empty() {
            for statement in tokens.split(|token| *token == Token::Mark(';')) {
                if out.names.len() <= MAX_NAMES && statement.iter().any(|token| out.has_token(token)) {
                    out.names.extend(bound(statement));
                }
            }
        }
        out
    }

    fn has_token(&self, token: &Token) -> bool {
        matches!(token, Token::Name(name) if self.has(name))
    }

    /// Whether a name is one of them, or a method of what a call gave where there are any.
    pub(super) fn has(&self, name: &str) -> bool {
        let root = root(name);
        self.names.contains(root) || (root == "_" && !self.names.is_empty())
    }
}

impl Machine<'_> {
    /// A name of a module that no table describes, and whether it is one.
    pub(super) fn foreign(&mut self, table: &Table, name: &str, is_call: bool, seen: &Seen) -> bool {
        let found = seen.foreign.has(name) && !table.is_harmless(name);
        if found && table.acts(name) && (is_call || !name.contains('.')) {
            let message = format!("what `{name}` in the Python code does is not known");
            self.unknown(UnknownKind::Code, Effect::Execute, message);
        }
        found
    }

    /// The file of such a module, where the project has it. What reaches other machines or is called like an act stays unknown.
    pub(super) fn load_foreign(&mut self, table: &Table, module: &str) {
        if table.reaches(root(module)) {
            let message = format!("the Python module `{module}` reaches machines, accounts or services");
            self.unknown(UnknownKind::Code, Effect::Execute, message);
        } else if table.acts(module) {
            let message = format!("the Python module `{module}` is called like an act");
            self.unknown(UnknownKind::Code, Effect::Execute, message);
        } else {
            let file = Word::text(format!("{}.py", module.replace('.', "/")));
            self.script_file(Language::Python, &[file], &Stream::empty());
        }
    }
}

/// The names that a statement binds.
fn bound(statement: &[Token]) -> Vec<String> {
    let binds = |i: usize| {
        let before = i.checked_sub(1).and_then(|i| statement.get(i));
        let after = statement.get(i + 1);
        let assigned = after == Some(&Token::Mark('=')) && statement.get(i + 2) != Some(&Token::Mark('='));
        let word = |token: Option<&Token>, words: &[&str]| matches!(token, Some(Token::Name(name)) if words.contains(&name.as_str()));
        assigned || word(before, &["as", "for"]) || word(after, &["in"])
    };
    let named = statement.iter().enumerate().filter(|(i, _)| binds(*i));
    named.filter_map(|(_, token)| plain(token)).map(str::to_owned).collect()
}

fn plain(token: &Token) -> Option<&str> {
    plain_name(token).filter(|name| !name.contains('.'))
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

//! What code hands on instead of calling it: functions that act, and the modules that have them, which somebody else may call under any
//! name (ECMA-262, "Functions"; Lua Reference Manual, "Values and Types"; perlref).

use std::collections::BTreeSet;

use super::Language;
use super::bound::Bound;
use super::brought;
use super::calls::Does;
use super::lex::Token;

/// The most tokens between the brackets of a function.
const MAX_PARAMETERS: usize = 96;

/// Modules of Node that have nothing but what acts, by the names that the code gives them.
const MODULES: &[&str] = &["child_process", "fs", "http", "https", "net"];

/// Those that a code brings in.
#[derive(Debug, Default)]
pub(super) struct Modules {
    brought: BTreeSet<String>,
}

impl Modules {
    pub(super) fn of(language: Language, tokens: &[Token]) -> Self {
        let mut out = Self::default();
        if language == Language::Node {
            let named = tokens.iter().filter_map(|token| match token {
                Token::Text(module) => Some(module.trim_start_matches("node:")),
                _ => None,
            });
            out.brought.extend(named.filter(|module| MODULES.contains(module)).map(str::to_owned));
        }
        out
    }

    /// Whether such a module is handed on as a whole, or one of its members is called by what is only known when it runs.
    pub(super) fn is_module(
        &self,
        language: Language,
        name: &str,
        before: Option<&Token>,
        after: &[Token],
        bound: &Bound,
    ) -> bool {
        if language != Language::Node {
            return false;
        }
        if let ("require" | "import", [Token::Mark('('), Token::Text(module), Token::Mark(')'), rest @ ..]) =
            (name, after)
        {
            let placed = matches!(before, Some(Token::Mark('(' | ',' | '[' | ':' | '>' | '?' | '|' | '&' | '.')))
                || matches!(before, Some(Token::Name(word)) if matches!(word.as_str(), "return" | "yield"));
            // What is given on under another name than its own may be called there by whoever gets it.
            let then = matches!(rest, [Token::Mark('.'), Token::Name(then), Token::Mark('('), ..] if then == "then");
            let named = matches!(rest.get(3..), Some([Token::Name(_), Token::Mark('='), ..] | [Token::Mark('('), ..]));
            let member = rest.first() == Some(&Token::Mark('.')) && (named || !then);
            let computed = rest.first() == Some(&Token::Mark('['));
            return brought::is_acting(module) && (computed || ((placed || then) && !member));
        }
        // What has the name of a module may be something else, where the code does not bring that in.
        let own = !self.brought.contains(name) && bound.gives(name);
        if !MODULES.contains(&name) || own {
            return false;
        }
        let binds = matches!(before, Some(Token::Name(word)) if matches!(word.as_str(), "as" | "import" | "const" | "let" | "var"))
            || matches!(after, [Token::Mark('='), ..] | [Token::Mark(')'), Token::Mark('='), Token::Mark('>'), ..])
            || matches!(after.first(), Some(Token::Name(word)) if word == "from");
        let tested = matches!(after.first(), Some(Token::Mark(':' | '.' | '?' | '(' | '!' | '&' | '|')));
        !binds
            && !tested
            && !matches!((before, after.first()), (None | Some(Token::Mark(';')), None | Some(Token::Mark(';'))))
    }
}

/// Whether a function that acts stands where nothing calls it.
pub(super) fn is_handed_on(
    language: Language,
    does: Does,
    name: &str,
    before: Option<&Token>,
    after: &[Token],
) -> bool {
    let assigned = matches!(after, [Token::Mark('='), next, ..] if !matches!(next, Token::Mark('=')));
    if matches!(does, Does::Nothing | Does::Environment) || assigned {
        return false;
    }
    match language {
        Language::Node => {
            let (module, last) = name.rsplit_once('.').unwrap_or(("", name));
            // Of words in small letters many are the names of something else: `item.link`.
            let plain = last.chars().all(|c| c.is_ascii_lowercase());
            let of_module = module.split('.').next().is_some_and(brought::is_acting) && !module.starts_with("process");
            let reads = matches!(does, Does::Reads(_));
            does == Does::Runs || (!reads && ((of_module && name.contains('.')) || !plain))
        }
        Language::Lua => true,
        // `\\&unlink`
        Language::Perl => before == Some(&Token::Mark('&')),
        _ => false,
    }
}

/// Whether what is written here is a function with its body: `name(…) {`.
pub(super) fn is_written(after: &[Token]) -> bool {
    let mut depth = 0_usize;
    let close = after.iter().take(MAX_PARAMETERS).position(|token| {
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    close.is_some_and(|close| close > 0 && after.get(close + 1) == Some(&Token::Mark('{')))
}

/// The module of which the next name is a member: `require("MODULE").`.
pub(super) fn module_before(language: Language, tokens: &[Token]) -> Option<&str> {
    match tokens {
        [.., Token::Name(require), Token::Mark('('), Token::Text(module), Token::Mark(')'), Token::Mark('.')]
            if language == Language::Node && require == "require" =>
        {
            let module = module.trim_start_matches("node:");
            module.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(module)
        }
        _ => None,
    }
}

/// Whether a name behind these tokens is a member of what stands there. Two texts are put together by one dot in Perl and PHP and by two in
/// Lua, and more than one spread what follows or count up to it.
pub(super) fn follows(language: Language, before: &[Token]) -> bool {
    let dots = before.iter().rev().take(2).take_while(|token| **token == Token::Mark('.')).count();
    dots == 1 && !matches!(language, Language::Perl | Language::Php)
}

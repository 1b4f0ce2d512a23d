//! What Python code sets for itself and for what it starts: variables of its environment, and where its log goes (Python library
//! reference, "os.environ", "logging.config").

use countersign_plan::tool::Effect;

use super::arguments::argument;
use super::lex::Token;
use crate::bounded::Bounded as _;
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Part, Variable, Word};

/// The most variables that are set at once.
const MAX_PAIRS: usize = 64;

impl Machine<'_> {
    /// A variable that code sets for itself and for what it starts.
    pub(super) fn sets_variable(&mut self, name: &str, value: Word) {
        let before = self.scope.clone();
        self.assign_variable(name, Variable::Scalar(value));
        self.scope = before;
    }

    /// `os.environ["A"] = …`, `os.environ["A"] += …`, `os.environ["A"], x = …`, `os.environ |= {…}`: whether it sets something.
    pub(super) fn sets_environment(&mut self, name: &str, after: &[Token]) -> bool {
        if !matches!(name, "os.environ" | "os.environb") {
            return false;
        }
        if let [Token::Mark('|'), Token::Mark('='), given @ ..] = after {
            return self.sets_pairs(statement(given));
        }
        let [Token::Mark('['), inside @ ..] = after else { return false };
        let Some(close) = inside.iter().take(MAX_PAIRS).position(|token| *token == Token::Mark(']')) else {
            return false;
        };
        let (key, rest) = (inside.get(..close).unwrap_or_default(), inside.get(close + 1..).unwrap_or_default());
        let key = match key {
            [Token::Text(key)] => Some(key.as_str()),
            _ => None,
        };
        let value = match statement(rest) {
            [Token::Mark('='), value @ ..] if value.first() != Some(&Token::Mark('=')) => self::value(value),
            [Token::Mark('+'), Token::Mark('='), added @ ..] => {
                let mut word = own(key.unwrap_or_default());
                word.append(&self::value(added));
                word
            }
            // One of several that are given something.
            [Token::Mark(','), more @ ..] if more.contains(&Token::Mark('=')) => Word::hole("value"),
            _ => return false,
        };
        match key {
            Some(key) => self.sets_variable(key, value),
            None => {
                let message = "which variable of the environment is set is not constant";
                self.unknown(UnknownKind::Value, Effect::Execute, message);
            }
        }
        true
    }

    /// `os.environ.update({"A": "b"})`, `os.environ.update(A="b")`: whether all of it is seen.
    pub(super) fn updates_environment(&mut self, after: &[Token]) -> bool {
        let given: Vec<&[Token]> = (0..MAX_PAIRS).map_while(|n| argument(after, n)).collect();
        !given.is_empty()
            && given.into_iter().all(|given| match given {
                [Token::Name(key), Token::Mark('='), value @ ..] => {
                    self.sets_variable(key, self::value(value));
                    true
                }
                given => self.sets_pairs(given),
            })
    }

    /// `{"A": "b", …}`
    fn sets_pairs(&mut self, given: &[Token]) -> bool {
        let pairs = given.strip_prefix(&[Token::Mark('{')]).and_then(|given| given.strip_suffix(&[Token::Mark('}')]));
        let listed = pairs.is_some();
        let pairs: Vec<&[Token]> = pairs.unwrap_or_default().split(|token| *token == Token::Mark(',')).collect();
        let all = listed
            && pairs.len() <= MAX_PAIRS
            && pairs.iter().all(|pair| matches!(pair, [] | [Token::Text(_), Token::Mark(':'), Token::Text(_)]));
        for pair in pairs.into_iter().at_most(MAX_PAIRS) {
            if let [Token::Text(key), Token::Mark(':'), value @ ..] = pair {
                self.sets_variable(key, self::value(value));
            }
        }
        if !all {
            let message = "which variables of the environment are set is not constant";
            self.unknown(UnknownKind::Value, Effect::Execute, message);
        }
        true
    }

    /// Settings of a log that say themselves what is made of them (Python library reference, "logging.config", "Configuration dictionary
    /// schema"): whether that is nothing but a log.
    pub(super) fn configures_log(&mut self, after: &[Token]) -> bool {
        const MADE: &[&str] = &[
            "logging.StreamHandler",
            "logging.NullHandler",
            "logging.Formatter",
            "logging.FileHandler",
            "logging.handlers.RotatingFileHandler",
            "logging.handlers.TimedRotatingFileHandler",
            "logging.handlers.WatchedFileHandler",
        ];
        let Some(given) = argument(after, 0) else { return false };
        let plain = |token: &Token| match token {
            Token::Text(text) => text != "()" && (!text.contains("://") || text.starts_with("ext://sys.std")),
            Token::Name(name) => matches!(name.as_str(), "True" | "False" | "None"),
            token => !matches!(token, Token::Built(_) | Token::Mark('*' | '|' | '+' | '%' | '.')),
        };
        let said = |key: &str| -> Vec<Option<&str>> {
            let values = given.windows(3).filter_map(|three| match three {
                [Token::Text(own), Token::Mark(':'), value] if own == key => Some(match value {
                    Token::Text(value) => Some(value.as_str()),
                    _ => None,
                }),
                _ => None,
            });
            values.collect()
        };
        let made = said("class").into_iter().all(|class| class.is_some_and(|class| MADE.contains(&class)));
        let files = said("filename");
        if !(made && given.iter().all(plain)) {
            return false;
        }
        for file in files.into_iter().at_most(MAX_PAIRS) {
            self.file_of(Effect::Update, file.map(str::to_owned), "logging.config.dictConfig", false);
        }
        true
    }
}

/// The tokens up to the end of a statement, as far as that is looked at.
fn statement(tokens: &[Token]) -> &[Token] {
    let near = tokens.get(..tokens.len().min(4 * MAX_PAIRS)).unwrap_or_default();
    near.split(|token| *token == Token::Mark(';')).next().unwrap_or_default()
}

/// What a variable holds before it is set again.
fn own(key: &str) -> Word {
    let mut word = Word::default();
    // As the shell has it: the first of the folders begins with a slash.
    if key == "PATH" {
        word.push_str("/");
    }
    word.push(Part::Hole { name: key.to_owned(), many: false });
    word
}

/// What is put together of constants and of what the variables hold.
fn value(tokens: &[Token]) -> Word {
    let mut word = Word::default();
    for part in tokens.split(|token| *token == Token::Mark('+')) {
        word.append(&match part {
            [Token::Text(text)] => Word::text(text.as_str()),
            [Token::Name(name), Token::Mark('[' | '('), Token::Text(key), ..]
                if matches!(name.as_str(), "os.environ" | "os.environ.get" | "os.getenv") =>
            {
                own(key)
            }
            _ => Word::hole("value"),
        });
    }
    word
}

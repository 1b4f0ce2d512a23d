//! Functions of PHP that call what they are given (PHP manual, "Callbacks / Callables").

use super::arguments::{argument, constant};
use super::calls::Table;
use super::lex::Token;
use super::{Language, Seen};
use crate::machine::Machine;

/// Classes of PHP whose objects touch nothing.
pub(super) const OBJECTS: &[&str] = &[
    "DateTime",
    "DateTimeImmutable",
    "DateInterval",
    "DatePeriod",
    "DateTimeZone",
    "ArrayObject",
    "ArrayIterator",
    "SplStack",
    "SplQueue",
    "SplObjectStorage",
    "SplPriorityQueue",
    "stdClass",
    "Exception",
    "RuntimeException",
    "InvalidArgumentException",
    "NumberFormatter",
    "IntlDateFormatter",
];

/// Where such a function takes what it calls.
fn place(name: &str) -> Option<usize> {
    match name {
        "array_map" | "call_user_func" | "call_user_func_array" | "register_shutdown_function" => Some(0),
        "array_filter"
        | "array_walk"
        | "array_walk_recursive"
        | "array_reduce"
        | "usort"
        | "uasort"
        | "uksort"
        | "preg_replace_callback"
        | "iterator_apply" => Some(1),
        _ => None,
    }
}

impl Machine<'_> {
    /// Whether all is known of what such a function calls: one that is written there, which is read as the rest of the code is, or one that
    /// is named. What a named one does to what it is given is looked at.
    pub(super) fn applies(&mut self, table: &Table, name: &str, after: &[Token], seen: &mut Seen) -> bool {
        let Some(at) = place(name) else { return false };
        // What is spread may stand for the function.
        let spread =
            |n: usize| argument(after, n).is_some_and(|given| given.starts_with(&[const { Token::Mark('.') }; 3]));
        if (0..4).any(spread) {
            return false;
        }
        let Some(given) = argument(after, at) else { return name == "array_filter" };
        let written =
            |words: &[&str]| matches!(given.first(), Some(Token::Name(word)) if words.contains(&word.as_str()));
        if written(&["fn", "function", "static"]) {
            return true;
        }
        let Some(called) = constant(given).filter(|called| !table.dynamic.contains(called.as_str())) else {
            return false;
        };
        if table.is_harmless(&called) {
            return true;
        }
        let subject = match name {
            "preg_replace_callback" => 2,
            _ => usize::from(at == 0),
        };
        let Some(given) = argument(after, subject) else { return false };
        // Of a list each is given by itself: what one call would take for a program and its words are several lines.
        let listed = given.strip_prefix(&[Token::Mark('[')]).and_then(|given| given.strip_suffix(&[Token::Mark(']')]));
        let each: Vec<Vec<Token>> = match (name, listed) {
            ("call_user_func_array", Some(listed)) => vec![listed.to_vec()],
            ("call_user_func_array", None) => return false,
            ("call_user_func" | "register_shutdown_function", _) => {
                let given = (1..8).map_while(|n| argument(after, n));
                vec![given.collect::<Vec<_>>().join(&Token::Mark(','))]
            }
            (_, Some(_)) => {
                let apart = given.split(|token| matches!(token, Token::Mark('[' | ']' | ',')));
                apart.filter(|one| !one.is_empty()).map(<[Token]>::to_vec).collect()
            }
            (_, None) => vec![given.to_vec()],
        };
        for one in each {
            let call = std::iter::once(Token::Mark('(')).chain(one).chain([Token::Mark(')')]);
            self.name(Language::Php, table, &called, None, &call.collect::<Vec<_>>(), seen);
        }
        true
    }
}

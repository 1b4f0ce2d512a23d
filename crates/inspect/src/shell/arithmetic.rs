//! Arithmetic on constants.

use std::collections::BTreeSet;

use brush_parser::ast::{ArithmeticExpr, BinaryOperator, UnaryOperator};
use countersign_plan::tool::Effect;

use super::parts::is_name;
use crate::bounded::has_room;
use crate::inspection::UnknownKind;
use crate::machine::{Machine, Variable, Word};

/// The most characters of an expression that is computed.
const MAX_EXPRESSION: usize = 128;

/// The most names that expressions stand for.
const MAX_NAMES: usize = 64;

impl Machine<'_> {
    /// `$((…))`: substitutions inside are followed, constants are computed.
    pub(crate) fn arithmetic(&mut self, expr: &str) -> Word {
        let expr = if expr.contains(['$', '`']) {
            match self.here_document(expr).known() {
                Some(text) => text,
                None => return Word::hole("a number"),
            }
        } else {
            expr.to_owned()
        };
        // An index may hold a substitution of its own, and names stand for other expressions.
        if expr.contains(['[', '`', '$']) {
            self.unknown(UnknownKind::Value, Effect::Execute, format!("the expression `{expr}` is not followed"));
        }
        self.judge_names(&expr);
        if assigns(&expr) {
            for name in expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| is_name(word)) {
                self.scope.set(name, Variable::Unknown);
            }
        }
        match constant(&expr) {
            Some(n) => Word::text(n.to_string()),
            None => Word::hole("a number"),
        }
    }

    /// A name in an expression stands for the expression that it holds, and the index in that is expanded (Bash reference manual 6.5).
    pub(super) fn judge_names(&mut self, expr: &str) {
        let names = |expr: &str| -> Vec<String> {
            let words = expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.filter(|word| is_name(word)).map(str::to_owned).collect()
        };
        let mut left = names(expr);
        let mut seen = BTreeSet::new();
        while let Some(name) = left.pop() {
            if seen.contains(&name) || !has_room(seen.len(), MAX_NAMES) {
                continue;
            }
            let held: Vec<String> = match self.scope.variable(&name) {
                Some(Variable::Scalar(word)) => word.known().into_iter().collect(),
                Some(Variable::Array(words)) => words.iter().filter_map(Word::known).collect(),
                Some(Variable::Unset | Variable::Unknown) | None => Vec::new(),
            };
            for text in held {
                self.judge_index(&text);
                left.extend(names(&text));
            }
            seen.insert(name);
        }
    }

    /// An index inside a name is expanded, substitutions included.
    pub(crate) fn judge_index(&mut self, text: &str) {
        if text.split_once('[').is_some_and(|(_, index)| index.contains("$(") || index.contains('`')) {
            self.unknown(UnknownKind::Code, Effect::Execute, format!("the index in `{text}` may run a command"));
        }
    }
}

/// Whether an expression gives a name a value: `x=1`, `x+=1`, `x<<=1`, `x++`.
fn assigns(expr: &str) -> bool {
    let bytes = expr.as_bytes();
    let at = |i: Option<usize>| i.and_then(|i| bytes.get(i)).copied().unwrap_or(b' ');
    let sets = |i: usize| {
        let (before, first) = (at(i.checked_sub(1)), at(i.checked_sub(2)));
        let compares = at(Some(i + 1)) == b'=' || matches!(before, b'=' | b'!');
        !compares && (!matches!(before, b'<' | b'>') || first == before)
    };
    expr.contains("++") || expr.contains("--") || expr.match_indices('=').any(|(i, _)| sets(i))
}

/// The value of an expression without names.
pub(crate) fn constant(expr: &str) -> Option<i64> {
    if expr.len() > MAX_EXPRESSION {
        return None;
    }
    let parsed = brush_parser::arithmetic::parse(expr).ok()?;
    value(&parsed)
}

fn value(expr: &ArithmeticExpr) -> Option<i64> {
    match expr {
        ArithmeticExpr::Literal(n) => Some(*n),
        ArithmeticExpr::UnaryOp(op, inner) => {
            let n = value(inner)?;
            match op {
                UnaryOperator::UnaryPlus => Some(n),
                UnaryOperator::UnaryMinus => n.checked_neg(),
                UnaryOperator::BitwiseNot => Some(!n),
                UnaryOperator::LogicalNot => Some(i64::from(n == 0)),
            }
        }
        ArithmeticExpr::BinaryOp(op, a, b) => binary(*op, value(a)?, value(b)?),
        ArithmeticExpr::Conditional(test, yes, no) => {
            if value(test)? != 0 {
                value(yes)
            } else {
                value(no)
            }
        }
        ArithmeticExpr::Reference(_)
        | ArithmeticExpr::Assignment(..)
        | ArithmeticExpr::BinaryAssignment(..)
        | ArithmeticExpr::UnaryAssignment(..) => None,
    }
}

fn binary(op: BinaryOperator, a: i64, b: i64) -> Option<i64> {
    let shift = u32::try_from(b).ok();
    match op {
        BinaryOperator::Power => a.checked_pow(shift?),
        BinaryOperator::Multiply => a.checked_mul(b),
        BinaryOperator::Divide => a.checked_div(b),
        BinaryOperator::Modulo => a.checked_rem(b),
        BinaryOperator::Comma => Some(b),
        BinaryOperator::Add => a.checked_add(b),
        BinaryOperator::Subtract => a.checked_sub(b),
        BinaryOperator::ShiftLeft => a.checked_shl(shift?),
        BinaryOperator::ShiftRight => a.checked_shr(shift?),
        BinaryOperator::LessThan => Some(i64::from(a < b)),
        BinaryOperator::LessThanOrEqualTo => Some(i64::from(a <= b)),
        BinaryOperator::GreaterThan => Some(i64::from(a > b)),
        BinaryOperator::GreaterThanOrEqualTo => Some(i64::from(a >= b)),
        BinaryOperator::Equals => Some(i64::from(a == b)),
        BinaryOperator::NotEquals => Some(i64::from(a != b)),
        BinaryOperator::BitwiseAnd => Some(a & b),
        BinaryOperator::BitwiseXor => Some(a ^ b),
        BinaryOperator::BitwiseOr => Some(a | b),
        BinaryOperator::LogicalAnd => Some(i64::from(a != 0 && b != 0)),
        BinaryOperator::LogicalOr => Some(i64::from(a != 0 || b != 0)),
    }
}

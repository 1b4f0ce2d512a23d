//! Arithmetic on constants.

use brush_parser::ast::{ArithmeticExpr, BinaryOperator, UnaryOperator};

/// The most characters of an expression that is computed.
const MAX_EXPRESSION: usize = 128;

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

//! Brace expansion (Bash reference manual 3.5.1).

use brush_parser::word::{BraceExpressionMember, BraceExpressionOrText, parse_brace_expansions};

use super::expand::{MAX_FIELDS, options};
use crate::inspection::Build as _;
use crate::machine::Machine;

/// The most braces inside of each other.
const MAX_BRACES: usize = 6;

impl Machine<'_> {
    /// The texts that brace expansion makes of a word.
    pub(super) fn braces(&mut self, raw: &str) -> Vec<String> {
        if !raw.contains('{') || !(raw.contains(',') || raw.contains("..")) {
            return vec![raw.to_owned()];
        }
        // The parser tries each brace that it meets inside of another one again and again.
        if brace_depth(raw) > MAX_BRACES {
            self.out.too_much("a word nests more braces than are followed");
            return vec![raw.to_owned()];
        }
        // The parser does not say how wide the numbers of each sequence are written.
        if width(raw) > 0 && raw.matches("..").count() > 1 {
            self.out.too_much("how wide numbers of several sequences are is not followed");
        }
        match parse_brace_expansions(raw, &options()) {
            Ok(Some(parts)) => {
                let mut left = MAX_FIELDS;
                let out = alternatives(&parts, width(raw), &mut left);
                if left == 0 || !self.produce(out.iter().map(String::len).sum()) {
                    self.out.too_much("a brace expansion makes more words than are followed");
                }
                out
            }
            Ok(None) | Err(_) => vec![raw.to_owned()],
        }
    }
}

/// How wide the numbers of a sequence are where one of them begins with a zero.
fn width(raw: &str) -> usize {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    let numbers = raw.match_indices("..").flat_map(|(at, dots)| {
        let (before, after) = (raw.get(..at).unwrap_or(""), raw.get(at + dots.len()..).unwrap_or(""));
        let start = before.rsplit(['{', '.']).next().unwrap_or("");
        [start, after]
    });
    let signed = |text: &str| (text.trim_start_matches('-').to_owned(), usize::from(text.starts_with('-')));
    let widths = numbers.map(|text| {
        let (number, sign) = signed(text);
        (number.starts_with('0') && digits(&number) > 1, digits(&number) + sign)
    });
    let all: Vec<(bool, usize)> = widths.collect();
    if all.iter().any(|(padded, _)| *padded) { all.iter().map(|(_, width)| *width).max().unwrap_or(0) } else { 0 }
}

/// How many braces are open at one place.
fn brace_depth(raw: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in raw.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Every combination of the parts.
fn alternatives(parts: &[BraceExpressionOrText], width: usize, left: &mut usize) -> Vec<String> {
    let mut out = vec![String::new()];
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => members.iter().flat_map(|m| member(m, width, left)).collect(),
        };
        if out.len().saturating_mul(choices.len()) > *left {
            *left = 0;
            return out;
        }
        out = out.iter().flat_map(|head| choices.iter().map(move |tail| format!("{head}{tail}"))).collect();
    }
    out
}

fn member(member: &BraceExpressionMember, width: usize, left: &mut usize) -> Vec<String> {
    match member {
        BraceExpressionMember::Child(parts) => alternatives(parts, width, left),
        BraceExpressionMember::NumberSequence { start, end, increment } => {
            sequence(*start, *end, *increment, *left, left).into_iter().map(|n| format!("{n:0width$}")).collect()
        }
        BraceExpressionMember::CharSequence { start, end, increment } => {
            let (a, b) = (i64::from(u32::from(*start)), i64::from(u32::from(*end)));
            sequence(a, b, *increment, *left, left)
                .into_iter()
                .filter_map(|n| u32::try_from(n).ok().and_then(char::from_u32))
                .map(String::from)
                .collect()
        }
    }
}

fn sequence(start: i64, end: i64, increment: i64, most: usize, left: &mut usize) -> Vec<i64> {
    let step = increment.unsigned_abs().max(1);
    let count = start.abs_diff(end) / step + 1;
    if count > most as u64 {
        *left = 0;
        return vec![start, end];
    }
    let step = i64::try_from(step).unwrap_or(1);
    let step = if start <= end { step } else { -step };
    (0..count).filter_map(|i| i64::try_from(i).ok()?.checked_mul(step)?.checked_add(start)).collect()
}

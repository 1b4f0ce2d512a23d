//! What is not even given to the parsers: both recurse, and one of them tries several readings at each bracket.

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 128 * 1024;

/// The most brackets, quotes and substitutions that are open at one place.
const MAX_OPEN: usize = 24;

/// The most parentheses in a row: each may begin a subshell or an expression.
const MAX_ROW: usize = 10;

/// The most `case` that are open at one place.
const MAX_CASES: usize = 8;

/// The most keywords that open a construct, less those that close one, at one place.
const MAX_KEYWORDS: usize = 64;

/// Whether a text may be parsed.
pub(crate) fn check(text: &str) -> Result<(), &'static str> {
    if text.len() > MAX_TEXT {
        return Err("the command is longer than what is read");
    }
    if super::here::ends_at_nothing(text) {
        return Err("the command holds a here-document by whose end nothing is recognised");
    }
    let (mut open, mut digits, mut keywords) = (0_usize, 0_usize, 0_usize);
    let (mut substitutions, mut row, mut cases) = (0_usize, 0_usize, 0_usize);
    let mut word = 0;
    let bytes = text.as_bytes();
    for (i, &byte) in bytes.iter().enumerate() {
        // A letter only makes a word longer.
        if byte.is_ascii_alphabetic() {
            (row, digits) = (0, 0);
            word += 1;
            continue;
        }
        match byte {
            b'(' | b'{' => {
                open += 1;
                if i > 0 && bytes.get(i - 1) == Some(&b'$') {
                    substitutions += 1;
                }
            }
            b')' | b'}' => {
                open = open.saturating_sub(1);
                substitutions = substitutions.saturating_sub(1);
            }
            _ => {}
        }
        row = match byte {
            b'(' => row + 1,
            b' ' | b'\t' | b'\n' => row,
            _ => 0,
        };
        // A descriptor's number: the run of digits just before a redirection.
        let descriptor = if matches!(byte, b'<' | b'>') { text.get(i - digits..i) } else { None };
        if descriptor.is_some_and(|number| number.len() > 9 && number.parse::<i32>().is_err()) {
            return Err("the command holds a number that no descriptor has");
        }
        if byte.is_ascii_digit() {
            digits += 1;
        } else {
            digits = 0;
        }
        if word >= 2 {
            match text.get(i - word..i) {
                Some("case") => cases += 1,
                Some("esac") => cases = cases.saturating_sub(1),
                Some("if" | "for" | "while" | "until" | "select") => keywords += 1,
                Some("fi" | "done") => keywords = keywords.saturating_sub(1),
                _ => {}
            }
        }
        word = 0;
        let deep = open > MAX_OPEN || substitutions > MAX_OPEN / 2 || row > MAX_ROW;
        if deep || keywords > MAX_KEYWORDS || cases > MAX_CASES {
            return Err("the command is nested more deeply than what is read");
        }
        // Numbers that overflow are refused before a parser meets them.
        if digits > 18 && bytes.get(i + 1 - digits..i + 1).is_some() && in_braces(bytes, i + 1 - digits) {
            return Err("the command holds a number that no shell can count to");
        }
    }
    Ok(())
}

/// Whether a run of digits that starts at `at` may be an end of a brace sequence or a `~` index.
fn in_braces(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| bytes.get(i)).copied();
    matches!(before, Some(b'{' | b'.' | b'-' | b'+' | b'~'))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_descriptor_that_no_shell_has_meets_no_parser() {
        for line in ["ls 99999999999>&1", "cat 4294967296< a", "ls 2147483648>x"] {
            assert!(check(line).is_err(), "{line}");
            // The parser would panic; whoever asks gets an unknown.
            assert!(!crate::shell(line, &crate::Context::new("/w", "/home/u")).is_clear(), "{line}");
        }
        for line in ["ls 2>&1", "date -d @1700000000 >x", "ls 2147483647>x", "echo 99999999999 > x"] {
            assert!(check(line).is_ok(), "{line}");
        }
    }
}

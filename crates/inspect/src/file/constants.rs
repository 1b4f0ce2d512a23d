//! The constant texts of one call in a compiled language, as its compiler reads them: with escapes, raw and one behind the other (the
//! references of Rust, Go, C, Java, Kotlin and C#, "String literals").

use std::iter::Peekable;
use std::str::Chars;

/// How much of a text is read for one call.
const FAR: usize = 4096;

/// The most texts of one call.
const MAX_TEXTS: usize = 64;

/// The texts of a call whose bracket is open, and of what is called on what it gives, up to where the statement ends. Of one that itself
/// stands in a text, what is in quotes in its line.
pub(super) fn of_call(before: &str, text: &str) -> Vec<String> {
    if is_within_text(before) {
        let call = text.split([';', '\n']).next().unwrap_or(text);
        let quote = if call.contains('"') { '"' } else { '\'' };
        return call.split(quote).skip(1).step_by(2).take(MAX_TEXTS).map(str::to_owned).collect();
    }
    let mut out: Vec<String> = Vec::new();
    let mut depth = 1_i32;
    // Whether only a sign that joins texts stands after the last of them.
    let mut joins = false;
    // What stands before a quote says how it is read: `r##"…"##`.
    let (mut raw, mut hashes) = (false, 0_usize);
    let mut end = text.len().min(FAR);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut chars = text.get(..end).unwrap_or("").chars().peekable();
    while let Some(c) = chars.next() {
        if c == '/' && skip_comment(&mut chars) {
            continue;
        }
        let body = match c {
            '"' if raw => raw_text(&mut chars, hashes),
            '"' => Some(escaped_text(&mut chars, '"')),
            '`' => Some(chars.by_ref().take_while(|c| *c != '`').collect()),
            '\'' => quoted(&mut chars),
            _ => None,
        };
        if let Some(body) = body {
            match out.last_mut().filter(|_| joins) {
                Some(last) => last.push_str(&body),
                None => out.push(body),
            }
            if out.len() > MAX_TEXTS {
                break;
            }
            (joins, raw, hashes) = (true, false, 0);
            continue;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' => break,
            // A call on what was given goes on in the next line.
            '\n' if depth <= 0 && !goes_on(&chars) => break,
            _ => {}
        }
        joins &= c.is_whitespace() || c == '+';
        hashes = if c == '#' && raw { hashes + 1 } else { 0 };
        raw = matches!(c, 'r' | 'R') || (c == '#' && raw);
    }
    out
}

/// Whether a text between quotes is still open where its line ends so far.
fn is_within_text(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let line = line.get(line.len().saturating_sub(FAR)..).unwrap_or(line);
    let mut chars = line.chars();
    let mut open = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => open = !open,
            _ => {}
        }
    }
    open
}

/// Whether the next line calls something on what was given.
fn goes_on(chars: &Peekable<Chars<'_>>) -> bool {
    chars.clone().find(|c| !c.is_whitespace()) == Some('.')
}

/// Leaves out a comment that begins with the sign before.
fn skip_comment(chars: &mut Peekable<Chars<'_>>) -> bool {
    if chars.next_if_eq(&'*').is_some() {
        let mut before = ' ';
        for c in chars.by_ref() {
            if before == '*' && c == '/' {
                break;
            }
            before = c;
        }
        return true;
    }
    let line = chars.peek() == Some(&'/');
    if line {
        while chars.next_if(|c| *c != '\n').is_some() {}
    }
    line
}

fn raw_text(chars: &mut Peekable<Chars<'_>>, hashes: usize) -> Option<String> {
    let close = format!("\"{}", "#".repeat(hashes));
    let mut body = String::new();
    for c in chars {
        body.push(c);
        if body.ends_with(&close) {
            body.truncate(body.len() - close.len());
            return Some(body);
        }
    }
    None
}

fn escaped_text(chars: &mut Peekable<Chars<'_>>, close: char) -> String {
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('0') => out.push('\0'),
                Some('x') => out.extend(numbered(chars, 2)),
                Some('u') if chars.peek() == Some(&'{') => {
                    chars.next();
                    out.extend(numbered(chars, 6));
                    chars.next_if_eq(&'}');
                }
                Some('u') => out.extend(numbered(chars, 4)),
                // The text goes on in the next line, where its words begin (Rust reference, "String continuation escapes").
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                other => out.extend(other),
            },
            end if end == close => break,
            other => out.push(other),
        }
    }
    out
}

/// A character by its number.
fn numbered(chars: &mut Peekable<Chars<'_>>, most: usize) -> Option<char> {
    let mut digits = String::new();
    while digits.len() < most
        && let Some(digit) = chars.next_if(char::is_ascii_hexdigit)
    {
        digits.push(digit);
    }
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}

/// A text between single quotes, where it closes in its line: a lifetime of Rust does not.
fn quoted(chars: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut ahead = chars.clone();
    let mut escaped = false;
    let closes = ahead.by_ref().take_while(|c| *c != '\n').any(|c| {
        let ends = c == '\'' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    closes.then(|| escaped_text(chars, '\''))
}

#[cfg(test)]
mod tests {
    use super::of_call;

    #[test]
    fn texts_are_read_as_the_compiler_reads_them() {
        for (text, texts) in [
            (r#""sh").args(["-c", "echo \"a; b\" | x"]).status();"#, &["sh", "-c", "echo \"a; b\" | x"][..]),
            ("r#\"a \"b\" c\"#).x()", &["a \"b\" c"]),
            ("\"sh\", \"-c\", `a; b`).Run()\nx(\"no\")", &["sh", "-c", "a; b"]),
            ("\"sh\")\n    .arg(\"-c\")\n    .arg(\"id\")\n    .status();", &["sh", "-c", "id"]),
            ("\"a \"\n  \"b\" + \"c\");", &["a bc"]),
            ("'rm -rf x'); f('no')", &["rm -rf x"]),
            (r#""\x72\u{6d} x")"#, &["rm x"]),
            ("/* it's */ \"rm\").args([\"-rf\", // it's\n \"x\"]); /* that's */", &["rm", "-rf", "x"]),
        ] {
            assert_eq!(of_call("", text), texts, "{text}");
        }
        assert!(of_call("", &"\"a\", ".repeat(5000)).len() <= 65);
        // Code that is told in a text is no call of this one.
        let told = of_call("const x = \"${f('a').execSync(", "'rm -rf x')}\";");
        assert!(!told.contains(&"rm -rf x".to_owned()), "{told:?}");
    }
}

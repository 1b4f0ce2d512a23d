//! Escapes: `$'…'`, `echo -e`, `printf` (Bash reference manual 3.1.2.4; POSIX XCU `printf`), and backquotes.

/// The text of an ANSI-C quoted string.
pub(crate) fn c_quoted(text: &str) -> String {
    let text = text.strip_prefix("$'").and_then(|t| t.strip_suffix('\'')).unwrap_or(text);
    escapes(text, false)
}

/// The text with backslash escapes evaluated. `zero_octal`: octal escapes are written `\0nnn` as for `echo -e` and `%b`.
pub(crate) fn escapes(text: &str, zero_octal: bool) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let Some(kind) = chars.next() else {
            out.push(b'\\');
            break;
        };
        match kind {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(27),
            'f' => out.push(12),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(11),
            '\\' => out.push(b'\\'),
            '\'' | '"' | '?' if !zero_octal => push(&mut out, kind),
            'c' if zero_octal => break,
            'c' => {
                if let Some(next) = chars.next() {
                    push(&mut out, char::from(u8::try_from(next).unwrap_or(0) & 0x1f));
                }
            }
            'x' => match digits(&mut chars, 16, 2) {
                Some(n) => out.push(u8::try_from(n).unwrap_or(b'?')),
                None => out.extend(b"\\x"),
            },
            'u' | 'U' => {
                let width = if kind == 'u' { 4 } else { 8 };
                match digits(&mut chars, 16, width).and_then(char::from_u32) {
                    Some(c) => push(&mut out, c),
                    None => push(&mut out, '\u{fffd}'),
                }
            }
            '0' => {
                let width = if zero_octal { 3 } else { 2 };
                out.push(u8::try_from(digits(&mut chars, 8, width).unwrap_or(0) & 0xff).unwrap_or(0));
            }
            '1'..='7' => {
                let first = kind.to_digit(8).unwrap_or(0);
                let mut n = first;
                for _ in 0..2 {
                    let Some(d) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    n = n * 8 + d;
                    chars.next();
                }
                out.push(u8::try_from(n & 0xff).unwrap_or(0));
            }
            other => {
                out.push(b'\\');
                push(&mut out, other);
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend(c.encode_utf8(&mut [0; 4]).bytes());
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> Option<u32> {
    let mut n: Option<u32> = None;
    for _ in 0..most {
        let Some(d) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
        n = Some(n.unwrap_or(0).wrapping_mul(radix).wrapping_add(d));
        chars.next();
    }
    n
}

/// The command in backquotes, where a backslash escapes `$`, a backquote and itself.
pub(crate) fn backquoted(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\'
            && let Some(&next) = chars.peek()
            && matches!(next, '$' | '`' | '\\')
        {
            out.push(next);
            chars.next();
        } else {
            out.push(c);
        }
    }
    out
}

/// What `printf FORMAT ARGUMENTS…` writes, where the directives are the simple ones.
pub(crate) fn printf(format: &str, arguments: &[String]) -> Option<String> {
    let mut out = String::new();
    let mut arguments = arguments.iter();
    let format = escapes(format, false);
    for _ in 0..256 {
        let before = arguments.len();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut shape = String::new();
            while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | '+' | '#' | ' ')) {
                shape.push(c);
            }
            let mut text = || arguments.next().map_or("", String::as_str);
            match chars.next()? {
                '%' => out.push('%'),
                's' => out.push_str(&shaped(text(), &shape)?),
                'b' => out.push_str(&shaped(&escapes(text(), true), &shape)?),
                'c' => out.push_str(&shaped(&text().chars().take(1).collect::<String>(), &shape)?),
                'd' | 'i' | 'u' => out.push_str(&digits_shaped(&number(text())?.to_string(), &shape)?),
                'x' => out.push_str(&digits_shaped(&format!("{:x}", number(text())?), &shape)?),
                'X' => out.push_str(&digits_shaped(&format!("{:X}", number(text())?), &shape)?),
                'o' => out.push_str(&digits_shaped(&format!("{:o}", number(text())?), &shape)?),
                _ => return None,
            }
        }
        if arguments.len() == 0 || arguments.len() == before {
            return Some(out);
        }
    }
    None
}

/// The widest that a directive makes a text.
const MAX_WIDTH: usize = 256;

/// A text as `%-WIDTH.LENGTHs` has it (POSIX XBD 5, "File Format Notation").
fn shaped(text: &str, shape: &str) -> Option<String> {
    let (width, length) = shape.split_once('.').map_or((shape, None), |(width, length)| (width, Some(length)));
    let parse = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<usize>().ok() };
    let text: String = match length {
        Some(length) => text.chars().take(parse(length)?).collect(),
        None => text.to_owned(),
    };
    let left = width.starts_with('-');
    let width = parse(width.trim_start_matches('-')).filter(|width| *width <= MAX_WIDTH)?;
    Some(if left { format!("{text:<width$}") } else { format!("{text:>width$}") })
}

/// The digits of a number with zeros before them, or blanks.
fn digits_shaped(digits: &str, shape: &str) -> Option<String> {
    if shape.contains(['+', ' ', '#']) {
        return None;
    }
    match shape.strip_prefix('0').filter(|width| !width.contains('.') && !digits.starts_with('-')) {
        Some(width) => {
            let width = width.parse::<usize>().ok().filter(|width| *width <= MAX_WIDTH)?;
            Some(format!("{digits:0>width$}"))
        }
        None if shape.contains('.') => None,
        None => shaped(digits, shape),
    }
}

fn number(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    if let Some(quoted) = text.strip_prefix(['\'', '"']) {
        return quoted.chars().next().map(|c| i64::from(u32::from(c)));
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return i64::from_str_radix(text, 8).ok();
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{backquoted, c_quoted, escapes, printf};

    #[test]
    fn escapes_become_what_the_shell_makes_of_them() {
        assert_eq!(c_quoted(r"\x72\155\u0020\101\n\q"), "rm A\n\\q");
        assert_eq!(escapes(r"\0162\x6d\c ignored", true), "rm");
        assert_eq!(backquoted(r"echo \`x\` \$a \b"), "echo `x` $a \\b");
    }

    #[test]
    fn printf_repeats_its_format() {
        let words = ["r".to_owned(), "m".to_owned()];
        assert_eq!(printf("%s", &words).as_deref(), Some("rm"));
        assert_eq!(printf(r"\162\155 %s\n", &["x".to_owned()]).as_deref(), Some("rm x\n"));
        assert_eq!(printf("%x", &["'A".to_owned()]).as_deref(), Some("41"));
        assert_eq!(printf("%q", &words), None);
    }
}

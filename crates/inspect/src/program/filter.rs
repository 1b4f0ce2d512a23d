//! Filters on constant text: decoders and the small text tools that hide or assemble commands.

use base64::Engine as _;

use crate::machine::Word;

/// The longest text that is computed.
const MAX_TEXT: usize = 64 * 1024;

/// What the program makes of a constant text; `None` where that is not computed.
pub(crate) fn apply(program: &str, args: &[Word], text: String) -> Option<String> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let args: Option<Vec<&str>> = args.iter().map(Word::constant).collect();
    let args = args?;
    let has = |names: &[&str]| args.iter().any(|arg| names.contains(arg));
    match program {
        "base64" | "gbase64" if has(&["-d", "-D", "--decode", "-di", "-id"]) => decode64(&text),
        "base64" | "gbase64" => Some(base64::engine::general_purpose::STANDARD.encode(&text) + "\n"),
        "base32" if has(&["-d", "--decode"]) => decode32(&text),
        "openssl" if has(&["-d"]) && has(&["base64", "-base64", "-a"]) => decode64(&text),
        "openssl" => None,
        "xxd" if has(&["-r"]) || has(&["-rp", "-pr"]) => decode_hex(&text),
        "base32" | "xxd" | "od" | "hexdump" | "uuencode" | "uudecode" => None,
        "rev" => Some(text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect()),
        "tac" => Some(text.lines().rev().map(|line| format!("{line}\n")).collect()),
        "tr" => translate(&args, &text),
        "sed" | "gsed" => substitute(&args, &text),
        "rot13" => Some(text.chars().map(rot13).collect()),
        "cat" | "gcat" if args.iter().all(|arg| !arg.starts_with('-') || matches!(*arg, "-" | "-u")) => Some(text),
        "tee" | "gtee" | "less" | "more" | "most" | "pv" | "sponge" => Some(text),
        _ => None,
    }
}

fn decode64(text: &str) -> Option<String> {
    let clean: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/')).collect();
    let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(clean).ok()?;
    String::from_utf8(bytes).ok()
}

fn decode32(text: &str) -> Option<String> {
    let (mut bits, mut count) = (0_u32, 0);
    let mut out = Vec::new();
    for c in text.chars().filter(|c| !c.is_whitespace() && *c != '=') {
        let value = match c {
            'A'..='Z' => u32::from(c) - u32::from('A'),
            '2'..='7' => u32::from(c) - u32::from('2') + 26,
            _ => return None,
        };
        bits = (bits << 5 | value) & 0xffff;
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    String::from_utf8(out).ok()
}

fn decode_hex(text: &str) -> Option<String> {
    let clean: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    String::from_utf8(hex::decode(clean).ok()?).ok()
}

fn rot13(c: char) -> char {
    let turn = |base: u8| char::from(base + (u8::try_from(c).unwrap_or(base) - base + 13) % 26);
    match c {
        'a'..='z' => turn(b'a'),
        'A'..='Z' => turn(b'A'),
        _ => c,
    }
}

/// `tr` with plain sets and ranges.
fn translate(args: &[&str], text: &str) -> Option<String> {
    match args {
        ["-d", set] | ["--delete", set] => {
            let set = set_of(set)?;
            Some(text.chars().filter(|c| !set.contains(c)).collect())
        }
        [from, to] if !from.starts_with('-') => {
            let (from, to) = (set_of(from)?, set_of(to)?);
            let last = *to.last()?;
            Some(
                text.chars()
                    .map(|c| match from.iter().rposition(|f| *f == c) {
                        Some(at) => to.get(at).copied().unwrap_or(last),
                        None => c,
                    })
                    .collect(),
            )
        }
        _ => None,
    }
}

fn set_of(text: &str) -> Option<Vec<char>> {
    let text = match text {
        "[:lower:]" => "a-z",
        "[:upper:]" => "A-Z",
        "[:space:]" => " \\t\\n",
        "[:digit:]" => "0-9",
        other => other,
    };
    if text.contains("[:") || text.contains("[=") {
        return None;
    }
    let chars: Vec<char> = crate::shell::escapes(text, false).chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(&low) = chars.get(i) {
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(&high)) if low <= high => {
                out.extend(low..=high);
                i += 3;
            }
            _ => {
                out.push(low);
                i += 1;
            }
        }
        if out.len() > 1024 {
            return None;
        }
    }
    Some(out)
}

/// One `s/literal/literal/` of sed.
fn substitute(args: &[&str], text: &str) -> Option<String> {
    let script = match args {
        [script] | ["-e" | "-E" | "-r", script] => script,
        _ => return None,
    };
    let delimiter = script.strip_prefix('s')?.chars().next()?;
    let mut parts = script.get(1 + delimiter.len_utf8()..)?.split(delimiter);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let special = |c: char| !(c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | ':' | '@' | '#' | '%' | ','));
    if parts.next().is_some() || from.is_empty() || from.contains(special) || to.contains(['\\', '&']) {
        return None;
    }
    match flags {
        "" => Some(text.lines().map(|line| line.replacen(from, to, 1) + "\n").collect()),
        "g" => Some(text.replace(from, to)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::machine::Word;

    #[test]
    fn decoders_are_evaluated() {
        let run = |program: &str, args: &[&str], text: &str| {
            let args: Vec<Word> = args.iter().map(|a| Word::text(*a)).collect();
            apply(program, &args, text.to_owned())
        };
        assert_eq!(run("base64", &["-d"], "cm0gLXJmIC8=\n").as_deref(), Some("rm -rf /"));
        assert_eq!(run("base32", &["-d"], "OJWQ====").as_deref(), Some("rm"));
        assert_eq!(run("xxd", &["-r", "-p"], "726d").as_deref(), Some("rm"));
        assert_eq!(run("rev", &[], "mr\n").as_deref(), Some("rm\n"));
        assert_eq!(run("tr", &["a-zA-Z", "n-za-mN-ZA-M"], "ez").as_deref(), Some("rm"));
        assert_eq!(run("tr", &["A-Za-z", "N-ZA-Mn-za-m"], "ez").as_deref(), Some("rm"));
        assert_eq!(run("tr", &["-d", "x"], "rxm").as_deref(), Some("rm"));
        assert_eq!(run("sed", &["s/x/m/"], "rx").as_deref(), Some("rm\n"));
        assert_eq!(run("sort", &[], "b"), None);
    }
}

//! Text that a person is shown: what hides is made visible, and refused where it could name a thing.
//!
//! Sources: Unicode TR 36 and TR 39 (security mechanisms), CVE-2021-42574 (bidirectional controls).

use unicode_security::MixedScript as _;

/// Why a text may not name a path, a host, an identity or an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HiddenText {
    /// A control character.
    #[error("control character U+{0:04X}")]
    Control(u32),
    /// A bidirectional control: what is shown is not the order of the bytes.
    #[error("bidirectional control U+{0:04X}")]
    Bidirectional(u32),
    /// A character that has no glyph.
    #[error("invisible character U+{0:04X}")]
    Invisible(u32),
    /// Letters of scripts that are not written together, as `раypal` with Cyrillic letters.
    #[error("letters of several scripts in `{0}`")]
    MixedScript(String),
}

/// The first thing in `text` that hides or imitates, if any. For names: paths, hosts, identities, ids.
///
/// # Errors
/// What was found.
pub fn check_name(text: &str) -> Result<(), HiddenText> {
    check_visible(text)?;
    if text.is_ascii() {
        return Ok(());
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_ascii() && !word.is_single_script() {
            return Err(HiddenText::MixedScript(word.to_owned()));
        }
    }
    Ok(())
}

/// The first character of `text` that hides, if any. For commands, where several scripts may meet.
///
/// # Errors
/// What was found. Line feeds and tabs are text.
pub fn check_visible(text: &str) -> Result<(), HiddenText> {
    // Most texts are plain, and of those only control characters hide.
    if text.is_ascii() {
        let hidden = text.bytes().find(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\t'));
        return hidden.map_or(Ok(()), |b| Err(HiddenText::Control(u32::from(b))));
    }
    for c in text.chars() {
        let code = u32::from(c);
        if c.is_control() && !matches!(c, '\n' | '\t') {
            return Err(HiddenText::Control(code));
        }
        if is_bidirectional(code) {
            return Err(HiddenText::Bidirectional(code));
        }
        if is_invisible(code) {
            return Err(HiddenText::Invisible(code));
        }
    }
    Ok(())
}

/// `text` for a terminal or a page: everything that hides is written as `\u{…}`, so that what is seen is what is there.
///
/// A backslash that would read as the start of such an escape is doubled, so that no two texts look the same: `\n` is a line
/// feed and `\\n` the two characters.
///
/// ```
/// use countersign_plan::text::escape;
/// assert_eq!(escape("rm \u{202e}txt.exe\n"), r"rm \u{202e}txt.exe\n");
/// assert_eq!(escape(r"a\nb \d"), r"a\\nb \d");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii() && !b.is_ascii_control() && b != b'\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' if chars.peek().is_some_and(|&next| hides(next) || matches!(next, 'n' | 't' | 'r' | 'u' | '\\')) => {
                out.push_str("\\\\");
            }
            _ if hides(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

fn hides(c: char) -> bool {
    c.is_control() || is_bidirectional(u32::from(c)) || is_invisible(u32::from(c))
}

const fn is_bidirectional(code: u32) -> bool {
    matches!(code, 0x061C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069)
}

const fn is_invisible(code: u32) -> bool {
    matches!(
        code,
        0x00AD | 0x034F | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200D | 0x2028 | 0x2029
            | 0x2060..=0x2065 | 0x206A..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF9..=0xFFFB
            | 0xFFF0..=0xFFF8 | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF
    )
}

#[cfg(test)]
mod tests {
    use super::{HiddenText, check_name, check_visible, escape};

    #[test]
    fn names_that_hide_or_imitate_are_refused() {
        assert!(check_name("/srv/été/naïve.txt").is_ok());
        assert!(check_name("/srv/привет").is_ok());
        assert_eq!(check_name("safe\u{202e}txt.exe"), Err(HiddenText::Bidirectional(0x202e)));
        assert_eq!(check_name("a\u{200b}b"), Err(HiddenText::Invisible(0x200b)));
        assert_eq!(check_name("a\u{e0041}b"), Err(HiddenText::Invisible(0xe0041)));
        assert_eq!(check_name("a\0b"), Err(HiddenText::Control(0)));
        assert!(matches!(check_name("p\u{0430}ypal.example"), Err(HiddenText::MixedScript(_))));
    }

    #[test]
    fn commands_may_mix_scripts_but_not_hide() {
        assert!(check_visible("echo 'a\u{0430}'\n\tls").is_ok());
        assert!(check_visible("ls \u{2066}x").is_err());
    }

    #[test]
    fn what_hides_is_shown_escaped() {
        assert_eq!(escape("a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\n");
        assert_ne!(escape("a\\nb"), escape("a\nb"));
        assert_ne!(escape("\\\n"), escape("\\\\n"));
    }
}

//! Text as data: credentials of known formats, characters that hide, and orders that are addressed to an agent.
//!
//! One pass of one set of patterns, linear in the text; entropy is looked at only where a name says that a secret follows.

mod orders;
mod secrets;

use base64::Engine as _;
use countersign_plan::text::check_visible;
use serde::{Deserialize, Serialize};

use crate::inspection::Span;

/// The longest text that is scanned, in bytes; the rest is left and said to be.
const MAX_TEXT: usize = 1 << 20;

/// The most findings of one text.
const MAX_FINDINGS: usize = 64;

/// Something in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFinding {
    /// What kind of thing.
    pub kind: TextKind,
    /// Where, in bytes of the text.
    pub span: Span,
    /// For people; never the secret itself.
    pub message: String,
}

/// What can be found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// A credential of a known format.
    Secret,
    /// A random-looking value after a name that says it is a secret.
    LikelySecret,
    /// Characters that hide or reorder.
    HiddenText,
    /// Letters of the Unicode tag block, which spell a text that is not shown.
    HiddenMessage,
    /// An order that is addressed to an agent or a model.
    Instruction,
    /// The text is longer than what was scanned.
    NotScanned,
}

/// What stands in a text that matters wherever the text goes.
#[must_use]
pub fn text(text: &str) -> Vec<TextFinding> {
    let mut out = Vec::new();
    let scanned = if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        add(&mut out, TextKind::NotScanned, end, text.len(), "the text is longer than what is scanned");
        text.get(..end).unwrap_or("")
    } else {
        text
    };
    hidden(scanned, &mut out);
    for secret in secrets::all(scanned) {
        let kind = if secret.certain { TextKind::Secret } else { TextKind::LikelySecret };
        add(&mut out, kind, secret.start, secret.end, secret.what);
    }
    instructions(scanned, &mut out);
    out
}

/// Whether a credential stands in a text.
pub(crate) fn holds_secret(text: &str) -> bool {
    secrets::any(text)
}

fn add(out: &mut Vec<TextFinding>, kind: TextKind, start: usize, end: usize, message: impl Into<String>) {
    if out.len() < MAX_FINDINGS {
        out.push(TextFinding { kind, span: Span { start, end }, message: message.into() });
    }
}

fn hidden(text: &str, out: &mut Vec<TextFinding>) {
    if text.is_ascii() && !text.bytes().any(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\t' | b'\r')) {
        return;
    }
    let mut message = String::new();
    let mut tags: Option<(usize, usize)> = None;
    let mut runs = 0;
    let mut before: Option<char> = None;
    for (i, c) in text.char_indices() {
        let code = u32::from(c);
        if (0xE0020..=0xE007E).contains(&code) {
            message.extend(char::from_u32(code - 0xE0000));
            tags = Some((tags.map_or(i, |(start, _)| start), i + c.len_utf8()));
        } else if c != '\r' && !is_part_of_emoji(before, c) && check_visible(c.encode_utf8(&mut [0; 4])).is_err() {
            runs += 1;
            if runs <= 8 {
                add(
                    out,
                    TextKind::HiddenText,
                    i,
                    i + c.len_utf8(),
                    format!("U+{code:04X} is not shown or reorders what is shown"),
                );
            }
        }
        before = Some(c);
    }
    if let Some((start, end)) = tags {
        // Flags of regions are spelt with a few tags after a black flag.
        if !text.contains('\u{1F3F4}') || message.len() > 8 {
            let shown = countersign_plan::text::escape(&message);
            add(out, TextKind::HiddenMessage, start, end, format!("hidden letters spell `{shown}`"));
        }
    }
}

/// Joiners and selectors inside of emoji and of scripts that need them are as intended.
fn is_part_of_emoji(before: Option<char>, c: char) -> bool {
    let code = before.map_or(0, u32::from);
    let joins = matches!(u32::from(c), 0x200D | 0xFE0F | 0xFE0E | 0x200C);
    joins && (code >= 0x2190 || (0x0590..0x2000).contains(&code))
}

/// The shortest text in base64 that is looked into, in characters.
const MIN_ENCODED: usize = 32;

fn instructions(text: &str, out: &mut Vec<TextFinding>) {
    let plain = plain(text);
    let place = |at: usize| plain.places.get(at).map_or(text.len(), |at| *at as usize);
    for order in orders::all(&plain) {
        let message = format!("an order to an agent: {}", order.what);
        add(out, TextKind::Instruction, place(order.start), place(order.end), message);
    }
    for (start, end, decoded) in encoded(text) {
        if !orders::all(&self::plain(&decoded)).is_empty() {
            add(out, TextKind::Instruction, start, end, "an order to an agent, in base64");
        }
    }
}

/// Texts in base64 within a text, once each, and where they stand.
fn encoded(text: &str) -> Vec<(usize, usize, String)> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() && out.len() < MAX_FINDINGS {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/')).count();
        if length >= MIN_ENCODED
            && let Some(run) = text.get(start..start + length - length % 4)
            && let Ok(decoded) = base64::engine::general_purpose::STANDARD.decode(run)
            && let Ok(decoded) = String::from_utf8(decoded)
            && decoded.contains(' ')
        {
            out.push((start, start + length, decoded));
        }
        start += length.max(1);
    }
    out
}

/// A text made plain.
struct Plain {
    text: String,
    /// Where each byte comes from.
    places: Vec<u32>,
    /// Where a blank ends a line and what follows begins like a sentence.
    breaks: Vec<usize>,
}

/// The text in small letters with runs of blanks, invisible characters and marks of emphasis squeezed, look-alikes read as what
/// they look like, and where each byte comes from.
fn plain(text: &str) -> Plain {
    let mut out = String::with_capacity(text.len());
    let mut places: Vec<u32> = Vec::with_capacity(text.len());
    let mut breaks = Vec::new();
    let mut blank = false;
    let mut lines = 0;
    let mut latin = false;
    for (i, c) in text.char_indices() {
        lines += usize::from(c == '\n');
        let begins = lines > 1 || (lines == 1 && c.is_uppercase());
        if begins && !c.is_whitespace() {
            breaks.push(out.len());
        }
        if !c.is_whitespace() {
            lines = 0;
        }
        let at = u32::try_from(i).unwrap_or(u32::MAX);
        if c.is_ascii() {
            match c {
                ' ' | '\n' | '\t' | '\r' | '\u{c}' => {
                    if !blank {
                        out.push(' ');
                        places.push(at);
                    }
                    blank = true;
                    latin = false;
                }
                '*' | '_' => {}
                c => {
                    blank = false;
                    latin = c.is_ascii_alphabetic();
                    out.push(if c == '`' { '\'' } else { c.to_ascii_lowercase() });
                    places.push(at);
                }
            }
            continue;
        }
        let code = u32::from(c);
        if c.is_whitespace() {
            if !blank {
                out.push(' ');
                places.push(at);
            }
            blank = true;
            continue;
        }
        if matches!(code, 0x200B..=0x200F | 0x2060..=0x2064 | 0xFEFF | 0x00AD | 0x034F | 0xFE00..=0xFE0F | 0x0300..=0x036F)
        {
            continue;
        }
        blank = false;
        let c = match c {
            '\u{2019}' | '\u{2018}' => '\'',
            // Full-width letters read like their plain forms.
            '\u{FF01}'..='\u{FF5E}' => char::from_u32(code - 0xFEE0).unwrap_or(c),
            c if latin => unicode_security::skeleton(c.encode_utf8(&mut [0; 4]))
                .next()
                .filter(char::is_ascii_alphabetic)
                .unwrap_or(c),
            c => c,
        };
        for c in c.to_lowercase() {
            out.push(c);
            places.extend(std::iter::repeat_n(at, c.len_utf8()));
        }
    }
    Plain { text: out, places, breaks }
}

#[cfg(test)]
mod tests;

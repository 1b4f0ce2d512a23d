//! A line for a terminal: spans with a tone. Text is made visible when it enters a line; a tone only adds to what the words say.

use countersign_plan::canonical;
use countersign_plan::digest::Digest;
use countersign_plan::text::{check_visible, escape};
use serde_json::Value;

/// Text in which nothing hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visible(String);

impl Visible {
    /// Text that its maker has escaped, as the messages of a verdict: it is left as it is, unless something hides in it still.
    pub(crate) fn escaped(text: &str) -> Self {
        let hides = text.contains(['\n', '\t']) || check_visible(text).is_err();
        Self(if hides { escape(text) } else { text.to_owned() })
    }

    /// A value in its canonical JSON form, cut as [`clip`] does; what hides in its strings is written as JSON escapes it.
    pub(crate) fn json(value: &Value, detail: Detail) -> Self {
        let text = String::from_utf8_lossy(&canonical::to_vec(value)).into_owned();
        let mut out = String::with_capacity(text.len());
        let mut units = [0; 2];
        for c in clip(&text, detail).chars() {
            if check_visible(c.encode_utf8(&mut [0; 4])).is_err() {
                c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            } else {
                out.push(c);
            }
        }
        Self::escaped(&out)
    }
}

impl From<&str> for Visible {
    fn from(text: &str) -> Self {
        Self(escape(text))
    }
}

impl From<&String> for Visible {
    fn from(text: &String) -> Self {
        Self(escape(text))
    }
}

impl From<String> for Visible {
    fn from(text: String) -> Self {
        Self(escape(&text))
    }
}

/// How a span looks where there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// More important.
    Bold,
    /// Went well, or is allowed.
    Good,
    /// Needs a look.
    Warn,
    /// Blocked, failed.
    Bad,
}

impl Tone {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Dim => Some("2"),
            Self::Bold => Some("1"),
            Self::Good => Some("32"),
            Self::Warn => Some("33"),
            Self::Bad => Some("1;31"),
        }
    }
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    indent: usize,
    spans: Vec<(Tone, Visible)>,
}

impl Line {
    /// An empty line, indented by `indent` levels.
    pub(crate) const fn at(indent: usize) -> Self {
        Self { indent, spans: Vec::new() }
    }

    /// A line of plain text.
    pub(crate) fn of(indent: usize, text: impl Into<Visible>) -> Self {
        Self::at(indent).plain(text)
    }

    /// A label in a column of its own, then text.
    pub(crate) fn field(indent: usize, label: &str, text: impl Into<Visible>) -> Self {
        Self::at(indent).tone(Tone::Dim, format!("{label:<12} ")).plain(text)
    }

    /// Adds text.
    pub(crate) fn plain(self, text: impl Into<Visible>) -> Self {
        self.tone(Tone::Plain, text)
    }

    /// Adds text with a tone.
    pub(crate) fn tone(mut self, tone: Tone, text: impl Into<Visible>) -> Self {
        self.spans.push((tone, text.into()));
        self
    }

    /// Appends the line's text, with ANSI colours where they are wanted.
    pub(crate) fn write(&self, out: &mut String, colour: bool) {
        for _ in 0..self.indent {
            out.push_str("  ");
        }
        for (tone, Visible(text)) in &self.spans {
            match tone.code().filter(|_| colour) {
                Some(code) => out.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
                None => out.push_str(text),
            }
        }
    }

    /// The line without colour.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }
}

/// How much of a long text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The beginning of what is long, with a count and a digest of the whole.
    Brief,
    /// Everything.
    Full,
}

/// The longest text that is shown whole in brief, in characters.
const BRIEF: usize = 600;

/// A text as it is shown: whole, or its beginning with what is missing and the digest of the whole.
pub(crate) fn clip(text: &str, detail: Detail) -> String {
    let count = text.chars().count();
    if detail == Detail::Full || count <= BRIEF {
        return text.to_owned();
    }
    let shown: String = text.chars().take(BRIEF).collect();
    let digest = Digest::of(text.as_bytes());
    format!("{shown}… [{} of {count} characters not shown; all {} bytes: {digest}]", count - BRIEF, text.len())
}

/// As many as there are, in words: `1 step`, `3 steps`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use countersign_plan::digest::Digest;

    use serde_json::json;

    use super::{Detail, Line, Tone, Visible, clip};

    #[test]
    fn no_text_brings_a_control_character_into_a_line() {
        let line = Line::field(1, "goal", "a\u{1b}[2J\r\nb\u{202e}c\u{200b}").tone(Tone::Bad, "\u{7}x");
        for colour in [false, true] {
            let mut out = String::new();
            line.write(&mut out, colour);
            let stripped = out.replace("\u{1b}[2m", "").replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", "");
            assert_eq!(stripped, "  goal         a\\u{1b}[2J\\r\\nb\\u{202e}c\\u{200b}\\u{7}x");
        }
    }

    #[test]
    fn what_is_shown_can_be_told_apart_from_what_looks_like_it() {
        let hidden = json!({"path": "a\u{202e}b\n\u{e0041}"});
        let spelled = json!({"path": r"a\u202eb\n"});
        let shown = |value| Visible::json(value, Detail::Brief).0;
        assert_eq!(shown(&hidden), r#"{"path":"a\u202eb\n\udb40\udc41"}"#);
        assert_eq!(shown(&spelled), r#"{"path":"a\\u202eb\\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown(&hidden)).unwrap(), hidden);
        let message = countersign_plan::text::escape("a\u{1b}b");
        assert_eq!(Visible::escaped(&message).0, message, "what was escaped is not escaped again");
        assert_eq!(Visible::escaped("a\u{1b}b\n").0, r"a\u{1b}b\n");
    }

    #[test]
    fn nothing_is_cut_without_a_count_and_a_digest() {
        let long = "é".repeat(700);
        let shown = clip(&long, Detail::Brief);
        let digest = Digest::of(long.as_bytes()).to_string();
        assert!(shown.ends_with(&format!("[100 of 700 characters not shown; all 1400 bytes: {digest}]")), "{shown}");
        assert_eq!(clip(&long, Detail::Full), long);
        assert_eq!(clip("short", Detail::Brief), "short");
    }
}

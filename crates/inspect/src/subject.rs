//! One entry for everything that can be inspected.

use countersign_plan::inspection::{Context, Inspection, Subject};
use countersign_plan::text::check_visible;
use countersign_plan::tool::Effect;

use crate::inspection::{Build as _, FindingKind, Span, UnknownKind};
use crate::machine::{Stream, Word};
use crate::text::TextKind;

/// What the subject would do. Never fails: what cannot be read is an [`Unknown`](crate::Unknown).
#[must_use]
pub fn inspect(subject: &Subject) -> Inspection {
    crate::bounded::whole(|| of(subject))
}

fn of(subject: &Subject) -> Inspection {
    match subject {
        Subject::Shell { line, context } => crate::shell::shell(line, context),
        Subject::Argv { argv, stdin, context } => vector(argv, stdin.as_deref(), context),
        Subject::Code { language, text, context } => crate::code::code(*language, text, context),
        Subject::File { path, text, context } => crate::file::file(path, text, context),
        Subject::Sql { text } => crate::sql::sql(text),
        Subject::Url { url } => crate::host::url(url),
        Subject::Host { host } => crate::host::host(host),
        Subject::Text { text } => of_text(text),
    }
}

/// A program with arguments of which some may have no value yet.
fn vector(argv: &[Option<String>], stdin: Option<&str>, context: &Context) -> Inspection {
    crate::shell::inspect(context, |machine| {
        for word in argv.iter().flatten() {
            if let Err(hidden) = check_visible(word) {
                machine.find(FindingKind::HiddenText, format!("an argument hides something: {hidden}"));
            }
        }
        let words = argv.iter().enumerate().map(|(i, word)| match word {
            Some(text) => Word::text(text.as_str()),
            None => Word::hole(format!("argument {i}")),
        });
        let stdin = stdin.map_or_else(Stream::unknown, Stream::constant);
        machine.start(words.collect(), stdin);
    })
}

/// What a text holds, as findings.
fn of_text(text: &str) -> Inspection {
    let mut out = Inspection::default();
    let characters = Characters::of(text);
    for found in crate::text::text(text) {
        let span = characters.span(text, found.span);
        let kind = match found.kind {
            TextKind::Secret | TextKind::LikelySecret => FindingKind::Secret,
            TextKind::HiddenText | TextKind::HiddenMessage => FindingKind::HiddenText,
            TextKind::Instruction => FindingKind::InjectedInstruction,
            TextKind::NotScanned => {
                out.unknown(UnknownKind::TooMuch, Effect::None, span, found.message);
                continue;
            }
        };
        out.find(kind, span, found.message);
    }
    out
}

/// Bytes between two places at which characters are counted beforehand.
const BLOCK: usize = 1024;

/// How many characters stand before every block of bytes, so that a place costs one block and not the whole text.
struct Characters {
    before: Vec<usize>,
}

impl Characters {
    fn of(text: &str) -> Self {
        let mut count = 0;
        let before = text.as_bytes().chunks(BLOCK).map(|block| {
            let here = count;
            count += begun(block);
            here
        });
        Self { before: before.collect() }
    }

    /// A stretch of bytes in characters.
    fn span(&self, text: &str, bytes: Span) -> Option<Span> {
        Some(Span { start: self.place(text, bytes.start)?, end: self.place(text, bytes.end)? })
    }

    fn place(&self, text: &str, byte: usize) -> Option<usize> {
        let block = byte / BLOCK;
        let rest = text.as_bytes().get(block * BLOCK..byte)?;
        let before = self.before.get(block).copied();
        // The end of a text that fills its last block.
        let before = before.or_else(|| {
            self.before.last().map(|last| last + begun(text.as_bytes().get(byte - BLOCK..byte).unwrap_or_default()))
        });
        Some(before.unwrap_or(0) + begun(rest))
    }
}

/// How many characters begin in some bytes.
fn begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}

#[cfg(test)]
mod tests {
    use countersign_plan::inspection::{Context, Language, Subject};
    use countersign_plan::tool::Effect;

    use super::inspect;
    use crate::FindingKind;

    fn context() -> Context {
        Context::new("/home/user/project", "/home/user")
    }

    #[test]
    fn each_subject_is_read_as_what_it_is() {
        let line = Subject::Shell { line: "cat notes.txt".to_owned(), context: context() };
        assert!(inspect(&line).touches(Effect::Read, "/home/user/project/notes.txt"));
        let words = vec![Some("rm".to_owned()), Some("a;b".to_owned())];
        let argv = Subject::Argv { argv: words, stdin: None, context: context() };
        assert!(inspect(&argv).touches(Effect::Delete, "/home/user/project/a;b"));
        let text = "open('a.txt').read()".to_owned();
        let code = Subject::Code { language: Language::Python, text, context: context() };
        assert!(inspect(&code).touches(Effect::Read, "/home/user/project/a.txt"));
        let sql = Subject::Sql { text: "DELETE FROM t".to_owned() };
        assert!(inspect(&sql).found(FindingKind::UnboundedStatement));
        let url = Subject::Url { url: "http://169.254.169.254/latest".to_owned() };
        assert!(inspect(&url).found(FindingKind::MetadataAddress));
        let text = "é AKIAIOSFODNN7EXAMPLF".to_owned();
        assert!(inspect(&Subject::Text { text }).found(FindingKind::Secret));
    }

    #[test]
    fn places_are_counted_in_characters_wherever_they_are() {
        for length in [0, 1, 500, 1019, 1022, 1023, 1024, 1025, 2047, 2048, 5000] {
            let text = format!("{}é{}", "é".repeat(length / 3), "x".repeat(length));
            let characters = super::Characters::of(&text);
            for (count, (byte, _)) in text.char_indices().enumerate() {
                assert_eq!(characters.place(&text, byte), Some(count), "{length} {byte}");
            }
            assert_eq!(characters.place(&text, text.len()), Some(text.chars().count()), "{length}");
        }
    }

    #[test]
    fn an_argument_without_a_value_is_unknown() {
        let argv = Subject::Argv { argv: vec![Some("rm".to_owned()), None], stdin: None, context: context() };
        assert!(!inspect(&argv).unknowns.is_empty());
    }

    #[test]
    fn standard_input_of_a_shell_is_a_script() {
        let stdin = Some("rm -rf /".to_owned());
        let argv = Subject::Argv { argv: vec![Some("bash".to_owned())], stdin, context: context() };
        assert!(inspect(&argv).found(FindingKind::DestroysSystem));
    }
}

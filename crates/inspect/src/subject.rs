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
    match subject {
        Subject::Shell { line, context } => crate::shell::shell(line, context),
        Subject::Argv { argv, stdin, context } => vector(argv, stdin.as_deref(), context),
        Subject::Code { language, text, context } => crate::code::code(*language, text, context),
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
    for found in crate::text::text(text) {
        let span = in_characters(text, found.span);
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

/// A stretch of bytes in characters.
fn in_characters(text: &str, bytes: Span) -> Option<Span> {
    let start = text.get(..bytes.start)?.chars().count();
    let length = text.get(bytes.start..bytes.end)?.chars().count();
    Some(Span { start, end: start + length })
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

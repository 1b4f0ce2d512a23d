//! The commands of a workflow of a build service (GitHub Actions, "Workflow syntax"; GitLab, "CI/CD YAML syntax reference").

use countersign_plan::document::{self, Bounds};

use super::{KEYS, MAX_LINES, commands};
use crate::bounded::Bounded as _;

/// The commands of a workflow: `run:`, `script:` and their kin, as one line, a block or a list. A document that the reader refuses
/// (anchors, tags) is read line by line.
pub(super) fn of_workflow(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    if let Ok(document) = document::from_yaml(text.as_bytes(), Bounds::CONFIG) {
        commands(&document, false, &mut out);
        return out;
    }
    let mut open: Option<(usize, bool)> = None;
    for line in text.lines().at_most(MAX_LINES) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        if let Some((above, list)) = open {
            let item = bare.strip_prefix("- ");
            if indent > above || (list && indent == above && item.is_some()) {
                out.push(plain(if list { item.unwrap_or(bare) } else { bare }));
                continue;
            }
            open = None;
        }
        let key_at = bare.strip_prefix("- ").unwrap_or(bare);
        let Some((key, value)) = key_at.split_once(':') else { continue };
        // All secrets together under a name.
        if value.contains("${{") && value.contains("toJSON(secrets)") {
            out.push(format!("{}={}", key.trim(), plain(value.trim())));
        }
        if !KEYS.contains(&key.trim_matches(['"', '\''])) {
            continue;
        }
        let value = value.trim();
        if value.is_empty() || value.starts_with(['|', '>']) {
            open = Some((line.len() - key_at.len(), value.is_empty()));
        } else {
            out.push(plain(value));
        }
    }
    out
}

/// A value without its quotes; an expression of the service is a variable, and one that gives a secret says so.
pub(crate) fn plain(value: &str) -> String {
    let quoted = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    if !value.contains("${{") {
        return value.to_owned();
    }
    let value = without_quoted_ends(value);
    let mut rest = value.as_str();
    let mut out = String::new();
    let mut quotes = Quotes::default();
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").unwrap_or((after, ""));
        quotes.read(before);
        out.push_str(before);
        let value = of_service(expression);
        // A sign that would make the value a plain text has taken its own first letter.
        if std::mem::take(&mut quotes.escaped) {
            out.push('x');
        }
        // It stands there before any shell reads the line, whatever quotes are around it.
        match quotes.open.last() {
            Some(Open::Single) => out.push_str(&format!("'\"{value}\"'")),
            Some(Open::Ansi) => out.push_str(&format!("'\"{value}\"$'")),
            _ => out.push_str(&value),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What is open at a place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    Ansi,
    Bracket,
    Comment,
    Document,
}

/// Here-documents with ends that are not in quotes: what the service puts into them stands there before any shell reads it (POSIX,
/// "Here-Document").
fn without_quoted_ends(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, part) in text.split("<<").enumerate() {
        if i == 0 {
            out.push_str(part);
            continue;
        }
        out.push_str("<<");
        let body = part.trim_start_matches(['-', ' ', '\t']);
        out.push_str(part.get(..part.len() - body.len()).unwrap_or(""));
        let end =
            body.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '"' | '\\'))).unwrap_or(body.len());
        let (word, rest) = body.split_at(end);
        let plain: String = word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        // Nothing is put into a document that has no expression.
        let mut document = rest.lines().skip(1).take_while(|line| line.trim() != plain);
        out.push_str(if document.any(|line| line.contains("${{")) { &plain } else { word });
        out.push_str(rest);
    }
    out
}

/// The quotes, brackets and comments of a shell that are open, as far as it was read (POSIX, "Quoting"; Bash, "ANSI-C Quoting").
#[derive(Debug, Default)]
struct Quotes {
    open: Vec<Open>,
    /// Whether the next sign is a text, whatever it is.
    escaped: bool,
    before: Option<char>,
    /// The end of a here-document that is being read, and those whose documents follow this line.
    word: Option<String>,
    ends: Vec<String>,
    /// The line of a document.
    line: String,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        for c in text.chars() {
            let before = self.before.replace(c);
            if std::mem::take(&mut self.escaped) {
                self.before = None;
                continue;
            }
            let last = self.open.last().copied();
            if last == Some(Open::Document) {
                self.document(c);
                continue;
            }
            if last.is_none_or(|last| last == Open::Bracket) {
                self.ends_of_documents(before, c);
            }
            match (last, c) {
                (None | Some(Open::Bracket), '\n') if !self.ends.is_empty() => self.open.push(Open::Document),
                (Some(Open::Single | Open::Ansi), '\'') | (Some(Open::Double), '"') | (Some(Open::Bracket), ')') => {
                    self.open.pop();
                }
                (Some(Open::Comment), '\n') => {
                    self.open.pop();
                }
                (Some(Open::Single | Open::Comment), _) => {}
                (_, '\\') => self.escaped = true,
                (Some(Open::Ansi), _) => {}
                (_, '(') if before == Some('$') => self.open.push(Open::Bracket),
                (Some(Open::Double), _) => {}
                (_, '"') => self.open.push(Open::Double),
                (_, '\'') => self.open.push(if before == Some('$') { Open::Ansi } else { Open::Single }),
                (Some(Open::Bracket), '(') => self.open.push(Open::Bracket),
                (_, '#') if before.is_none_or(|c| c.is_whitespace() || c == ';') => self.open.push(Open::Comment),
                _ => {}
            }
        }
    }

    /// One sign of a here-document, which is over with a line that is its end.
    fn document(&mut self, c: char) {
        if c != '\n' {
            self.line.push(c);
            return;
        }
        if self.ends.first().is_some_and(|end| end == self.line.trim()) {
            self.ends.remove(0);
            if self.ends.is_empty() {
                self.open.pop();
            }
        }
        self.line.clear();
    }

    /// `<<END`, `<<-END`, and no `<<<`.
    fn ends_of_documents(&mut self, before: Option<char>, c: char) {
        match self.word.take() {
            None => self.word = (before == Some('<') && c == '<').then(String::new),
            Some(word) if word.is_empty() && c == '<' => {}
            Some(word) if word.is_empty() && matches!(c, '-' | ' ' | '\t') => self.word = Some(word),
            Some(mut word) if c.is_alphabetic() || c == '_' || (c.is_alphanumeric() && !word.is_empty()) => {
                word.push(c);
                self.word = Some(word);
            }
            Some(word) if !word.is_empty() => self.ends.push(word),
            Some(_) => {}
        }
    }
}

/// What an expression of a service stands for: a token by the name that tells whose it is, a secret, or something else. All secrets
/// together are given by their bare name (GitHub Actions, "Contexts reference").
fn of_service(expression: &str) -> String {
    const CONTEXT: &str = "secrets";
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let found = expression.match_indices(CONTEXT).find(|(at, _)| {
        let before = expression.get(..*at).and_then(|head| head.chars().next_back());
        let after = expression.get(at + CONTEXT.len()..).and_then(|rest| rest.chars().next());
        !before.is_some_and(|c| word(c) || matches!(c, '.' | '\'' | '"')) && !after.is_some_and(word)
    });
    let Some((at, _)) = found else { return "$EXPRESSION".to_owned() };
    let rest = expression.get(at + CONTEXT.len()..).unwrap_or("");
    let name = rest.trim_start_matches(['.', '[', '\'', '"', ' ']);
    let name = name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
    if crate::program::has_owner(name) { format!("${name}") } else { "$(printenv SECRET)".to_owned() }
}

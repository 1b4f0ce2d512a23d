//! Settings as pairs: sections, keys and values of TOML and of files like it, lists over several lines and tables in one (TOML, "Table", "Inline
//! Table", "Array"; pip, "Configuration").

use serde_json::Value;

use crate::bounded::Bounded as _;

/// The most pairs of one file.
const MAX_PAIRS: usize = 4096;

/// Tables inside of tables.
const MAX_DEPTH: u32 = 8;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Toml,
    /// Sections, and values that end with their lines or go on in indented ones.
    Plain,
}

/// Keys with their sections before them, and values as they stand; lines that go on are kept apart by line feeds.
pub(super) fn of(kind: Kind, text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut section = String::new();
    let (mut depth, mut mark) = (0, None);
    for line in text.lines() {
        let bare = if kind == Kind::Toml && mark.is_none() { without_comment(line).trim() } else { line.trim() };
        if bare.is_empty()
            || (mark.is_none() && bare.starts_with(['#', ';']))
            || !crate::bounded::has_room(out.len(), MAX_PAIRS)
        {
            continue;
        }
        if let Some((_, value)) = out.last_mut().filter(|_| depth > 0 || mark.is_some() || goes_on(kind, line)) {
            value.push('\n');
            value.push_str(bare);
            match mark {
                Some(sign) if bare.contains(sign) => mark = None,
                Some(_) => {}
                None if kind == Kind::Toml => depth += apart(bare, &[]).1,
                None => {}
            }
            continue;
        }
        depth = 0;
        if bare.starts_with('[') && !bare.contains('=') {
            section = bare.trim_matches(['[', ']', ' ']).to_owned();
            continue;
        }
        let Some((key, value)) = bare.split_once('=').or_else(|| bare.split_once(':')) else { continue };
        let (key, value) = (key.trim().trim_start_matches("- ").replace(['"', '\''], ""), value.trim());
        let name = if section.is_empty() { key } else { format!("{section}.{key}") };
        if kind == Kind::Toml {
            mark =
                ["\"\"\"", "'''"].into_iter().find(|sign| value.starts_with(sign) && value.matches(sign).count() == 1);
            depth = if mark.is_some() { 0 } else { apart(value, &[]).1 };
        }
        out.push((name, value.to_owned()));
    }
    out.into_iter().flat_map(|(key, value)| table(key, value, 0)).at_most(MAX_PAIRS).collect()
}

/// Whether a line belongs to the value before it: an item that is an address, or an indented line without a key.
fn goes_on(kind: Kind, line: &str) -> bool {
    let bare = line.trim();
    let item = bare.strip_prefix("- ").and_then(|item| item.trim_start().split(": ").next());
    let first = bare.split(['=', ' ']).next().unwrap_or("");
    let indented = line.starts_with([' ', '\t']) && (first.contains("://") || !bare.contains(['=', ':']));
    kind == Kind::Plain && (indented || item.is_some_and(|item| item.contains("://")))
}

/// What stands before the sign of a comment that is in no text.
fn without_comment(line: &str) -> &str {
    apart(line, &['#']).0.first().copied().unwrap_or(line)
}

/// `{ a = 1, b = 2 }` as pairs of their own.
fn table(key: String, value: String, depth: u32) -> Vec<(String, String)> {
    let body = value.strip_prefix('{').and_then(|body| body.trim_end().strip_suffix('}'));
    let Some(body) = body.filter(|_| depth < MAX_DEPTH) else { return vec![(key, value)] };
    let pairs = apart(body, &[',', '\n']).0.into_iter().filter_map(|part| {
        let (own, value) = part.split_once('=')?;
        Some((format!("{key}.{}", own.trim().replace(['"', '\''], "")), value.trim().to_owned()))
    });
    pairs.flat_map(|(key, value)| table(key, value, depth + 1)).collect()
}

/// The same of a document that was read: lists as those of TOML.
pub(super) fn of_document(document: &Value) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut open: Vec<(String, &Value)> = vec![(String::new(), document)];
    while let Some((name, value)) = open.pop() {
        match value {
            Value::Object(members) if crate::bounded::has_room(out.len(), MAX_PAIRS) => {
                open.extend(members.iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                open.extend(items.iter().map(|item| (name.clone(), item)));
            }
            Value::Array(_) => out.push((name, value.to_string())),
            Value::String(text) => out.push((name, Value::String(text.clone()).to_string())),
            _ => {}
        }
    }
    out
}

/// The texts of a value: of a list each, of anything else the one.
pub(super) fn texts(value: &str) -> Vec<String> {
    let plain = |text: &str| {
        let text = text.trim();
        let whole = |sign: &str| text.strip_prefix(sign).and_then(|rest| rest.strip_suffix(sign));
        // What is escaped in them is the same in JSON (TOML, "String").
        if let (false, Ok(read)) = (text.starts_with("\"\"\""), serde_json::from_str::<String>(text)) {
            return read;
        }
        let body = ["\"\"\"", "'''", "\"", "'"].iter().find_map(|sign| whole(sign)).unwrap_or(text);
        body.to_owned()
    };
    match value.trim().strip_prefix('[').and_then(|body| body.strip_suffix(']')) {
        Some(body) => apart(body, &[',', '\n']).0.into_iter().map(plain).filter(|text| !text.is_empty()).collect(),
        None => vec![plain(value)],
    }
}

/// The parts of a text between signs that stand outside of quotes and brackets, and how many brackets are left open.
fn apart<'t>(text: &'t str, signs: &[char]) -> (Vec<&'t str>, i32) {
    let (mut out, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(mark), _) if mark == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, _) if (depth == 0 || c == '#') && signs.contains(&c) => {
                out.extend(text.get(from..at));
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    out.extend(text.get(from..));
    (out, depth)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kind, of, of_document, texts};

    fn toml(text: &str) -> Vec<(String, Vec<String>)> {
        of(Kind::Toml, text).into_iter().map(|(key, value)| (key, texts(&value))).collect()
    }

    fn one(key: &str, value: &[&str]) -> (String, Vec<String>) {
        (key.to_owned(), value.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn pairs_are_read_as_their_sections_say() {
        assert_eq!(
            toml(
                "[build] # x\nrustc-wrapper = \"/a b\" # [\n[target.x]\nrunner = [\n \"sh\", # it's\n \"-c\",\n]\nb = 1\n"
            ),
            [one("build.rustc-wrapper", &["/a b"]), one("target.x.runner", &["sh", "-c"]), one("target.x.b", &["1"])]
        );
        assert_eq!(toml("a = { b = { c = \"/x\" }, d = 2 }"), [one("a.b.c", &["/x"]), one("a.d", &["2"])]);
        assert_eq!(
            toml("a.\"b-c\" = \"\\u002fx\"\nd = \"\"\"\n/y\n\"\"\"\ne = 1"),
            [one("a.b-c", &["/x"]), one("d", &["\n/y\n"]), one("e", &["1"])]
        );
        assert_eq!(of(Kind::Plain, "[global]\nextra-index-url =\n    https://h.example/?a=b\n").len(), 1);
        assert_eq!(of(Kind::Plain, "a = [\nscript-shell = /x\n").len(), 2);
        assert_eq!(texts(r#""sh -c \"a\"""#), ["sh -c \"a\""]);
        assert_eq!(of_document(&json!({"a": [{"b": "/x"}]})), [(".a.b".to_owned(), "\"/x\"".to_owned())]);
    }
}

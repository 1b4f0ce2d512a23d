//! Settings as pairs: sections, keys and values of TOML and of files like it, lists over several lines and tables in one (TOML, "Table", "Inline
//! Table", "Array"; pip, "Configuration").

/// The most pairs of one file, and lines of one value.
const MAX_PAIRS: usize = 512;

/// Keys with their sections before them, and values as they stand; lines that go on are kept apart by line feeds.
pub(super) fn of(text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut section = String::new();
    let mut depth = 0;
    for line in text.lines().take(4 * MAX_PAIRS) {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) || out.len() >= MAX_PAIRS {
            continue;
        }
        let item = bare
            .strip_prefix("- ")
            .map(str::trim_start)
            .filter(|item| item.split(": ").next().is_some_and(|item| item.contains("://")));
        let goes_on = item.is_some()
            || line.starts_with([' ', '\t'])
                && bare
                    .split(['=', ' '])
                    .next()
                    .is_some_and(|first| first.contains("://") || !bare.contains(['=', ':']));
        if let Some((_, value)) = out.last_mut().filter(|_| depth > 0 || goes_on) {
            value.push('\n');
            value.push_str(bare);
            depth += open(bare);
            continue;
        }
        depth = 0;
        if bare.starts_with('[') && !bare.contains('=') {
            section = bare.split('#').next().unwrap_or(bare).trim().trim_matches(['[', ']', ' ']).to_owned();
            continue;
        }
        let Some((key, value)) = bare.split_once('=').or_else(|| bare.split_once(':')) else { continue };
        let key = key.trim().trim_start_matches("- ").trim_matches(['"', '\'']);
        let name = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        depth = open(value);
        out.push((name, value.trim().to_owned()));
    }
    out.into_iter().flat_map(|(key, value)| table(key, value)).take(MAX_PAIRS).collect()
}

/// How many brackets a text leaves open.
fn open(text: &str) -> i32 {
    apart(text, &[]).1
}

/// `{ a = 1, b = 2 }` as pairs of their own.
fn table(key: String, value: String) -> Vec<(String, String)> {
    let Some(body) = value.strip_prefix('{').and_then(|body| body.trim_end().strip_suffix('}')) else {
        return vec![(key, value)];
    };
    let pairs = apart(body, &[',', '\n']).0.into_iter().filter_map(|part| {
        let (own, value) = part.split_once('=')?;
        Some((format!("{key}.{}", own.trim().trim_matches(['"', '\''])), value.trim().to_owned()))
    });
    pairs.collect()
}

/// The texts of a value: of a list each, of anything else the one.
pub(super) fn texts(value: &str) -> Vec<String> {
    let plain = |text: &str| {
        let text = text.trim();
        let mark = text.chars().next().filter(|c| matches!(c, '"' | '\''));
        let whole = |sign: &str| text.strip_prefix(sign).and_then(|rest| rest.strip_suffix(sign));
        let text = ["\"\"\"", "'''", "\"", "'"].iter().find_map(|sign| whole(sign)).unwrap_or(text);
        if mark == Some('"') { text.replace("\\\"", "\"").replace("\\\\", "\\") } else { text.to_owned() }
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
            (None, _) if depth == 0 && signs.contains(&c) => {
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
    use super::{of, texts};

    #[test]
    fn pairs_are_read_as_their_sections_say() {
        let toml = "[build]\nrustc-wrapper = \"/a b\"\n[target.x]\nrunner = [\n \"sh\",\n \"-c\",\n]\n";
        let pairs = of(toml);
        assert_eq!(
            pairs.first().map(|(key, value)| (key.as_str(), value.as_str())),
            Some(("build.rustc-wrapper", "\"/a b\""))
        );
        assert_eq!(
            pairs.get(1).map(|(key, value)| (key.as_str(), texts(value))),
            Some(("target.x.runner", vec!["sh".to_owned(), "-c".to_owned()]))
        );
        assert_eq!(
            of("build = { linker = \"/a\", jobs = 2 }"),
            [("build.linker".to_owned(), "\"/a\"".to_owned()), ("build.jobs".to_owned(), "2".to_owned())]
        );
        assert_eq!(of("[global]\nextra-index-url =\n    https://h.example/?a=b\n").len(), 1);
        assert_eq!(texts("'a'"), ["a"]);
        assert_eq!(texts(r#""sh -c \"a\"""#), ["sh -c \"a\""]);
    }
}

//! Here-documents that no parser is given: one of the two looks for the end of a document that ends at nothing without end, and takes
//! memory for every look. Found by fuzzing.
//!
//! A small reading of the shell's quotes, enough to know where `<<` is an operator (POSIX, "Shell Command Language", 2.2 and 2.7.4). What it
//! cannot be sure of is refused as well.

/// What a place of a text is inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Double quotes.
    Double,
    /// A subshell or substitution.
    Commands,
    /// `((…))`: bits are moved there.
    Sum,
    /// Backquotes.
    Backquotes,
}

/// Whether a text holds a here-document by whose end nothing can be recognised.
pub(super) fn ends_at_nothing(text: &str) -> bool {
    if !text.contains("<<") {
        return false;
    }
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut within: Vec<Within> = Vec::new();
    let mut ends: Vec<(String, bool)> = Vec::new();
    // Whether an operator was passed over in quotes that may have no end.
    let mut passed = false;
    let mut i = 0;
    while i < bytes.len() {
        let quoted = within.last() == Some(&Within::Double);
        match at(i) {
            b'\\' => i += 1,
            b'\'' if !quoted => {
                let escapes = i > 0 && at(i - 1) == b'$';
                let Some(end) = end_of_single(bytes, i + 1, escapes) else {
                    return text.get(i..).is_none_or(|t| t.contains("<<"));
                };
                i = end;
            }
            b'"' if quoted => {
                within.pop();
                passed = false;
            }
            b'"' => within.push(Within::Double),
            b'`' if within.contains(&Within::Backquotes) => {
                while within.pop().is_some_and(|inner| inner != Within::Backquotes) {}
            }
            b'`' => within.push(Within::Backquotes),
            b'(' if at(i + 1) == b'(' && (!quoted || (i > 0 && at(i - 1) == b'$')) => {
                within.extend([Within::Commands, Within::Sum]);
                i += 1;
            }
            b'(' if !quoted || (i > 0 && at(i - 1) == b'$') => within.push(Within::Commands),
            b')' if matches!(within.last(), Some(Within::Commands | Within::Sum)) => {
                within.pop();
            }
            b'#' if !quoted && (i == 0 || at(i - 1).is_ascii_whitespace()) && within.last() != Some(&Within::Sum) => {
                i += text.get(i..).and_then(|rest| rest.find('\n')).unwrap_or(bytes.len() - i);
                continue;
            }
            b'<' if at(i + 1) == b'<' && at(i + 2) == b'<' => i += 2,
            b'<' if at(i + 1) == b'<' && quoted => passed = true,
            b'<' if at(i + 1) == b'<' && within.last() != Some(&Within::Sum) => {
                let rest = text.get(i + 2..).unwrap_or("");
                let Some(end) = tag(rest) else { return true };
                ends.push((end, rest.starts_with('-')));
                i += 1;
            }
            b'\n' if !ends.is_empty() => {
                i = past_documents(text, i + 1, &ends);
                ends.clear();
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    // A document whose first line never comes, and quotes without an end.
    !ends.is_empty() || passed
}

/// Where single quotes that were opened before `from` end.
fn end_of_single(bytes: &[u8], from: usize, escapes: bool) -> Option<usize> {
    let mut i = from;
    loop {
        match bytes.get(i)? {
            b'\\' if escapes => i += 1,
            b'\'' => return Some(i),
            _ => {}
        }
        i += 1;
    }
}

/// The word by which a document ends, without its quotes; nothing where it is none that can be seen.
fn tag(rest: &str) -> Option<String> {
    let name = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
    let shows = |c: char| !c.is_whitespace() && !c.is_control();
    let first = name.chars().next().filter(|c| shows(*c))?;
    if let Some(inside) = name.strip_prefix(first).filter(|_| matches!(first, '"' | '\'')) {
        let (inside, after) = inside.split_once(first)?;
        let goes_on = after.chars().next().is_some_and(|c| shows(c) && !";&|<>()`".contains(c));
        return inside.chars().next().is_some_and(shows).then(|| inside.to_owned()).filter(|_| !goes_on);
    }
    let end = name.find(|c: char| !shows(c) || ";&|<>()".contains(c)).unwrap_or(name.len());
    let word = name.get(..end).filter(|word| !word.is_empty())?;
    let plain: String = word.chars().filter(|c| *c != '\\').collect();
    (!plain.is_empty() && !word.contains(['`', '"', '\'', '{', '}']) && !word.ends_with(['$', '\\'])).then_some(plain)
}

/// Where the text goes on after documents that begin at `from`.
fn past_documents(text: &str, from: usize, ends: &[(String, bool)]) -> usize {
    let mut at = from;
    for (end, tabs) in ends {
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let line = rest.split('\n').next().unwrap_or("");
            at += line.len() + 1;
            let line = if *tabs { line.trim_start_matches('\t') } else { line };
            if line == end {
                break;
            }
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::ends_at_nothing;

    #[test]
    fn a_document_that_ends_at_nothing_is_none_for_a_parser() {
        for line in [
            "cat <<\"\" ",
            "cat <<-'' ",
            "cat <<\r\tx\t",
            "x=`cat <<\"\" `\necho",
            "cat <<\"\" \\\n",
            "a <<\\\n b",
            "a <<\u{c} MD ",
            "a <<' x' ",
            "cat <<E",
            "\"$(cat <<-\t\"id\" <<b ",
            "cat <<a$(\nx",
            "cat <<E\nit's\nE\ncat <<\"\" ",
            "# it's\ncat <<\"\" ",
            "echo $'it\\'s' <<\"\" ",
            "echo 'a << b",
        ] {
            assert!(ends_at_nothing(line), "{line:?}");
            // Whoever asks gets an unknown, and soon.
            assert!(!crate::shell(line, &crate::Context::new("/w", "/home/u")).is_clear(), "{line:?}");
        }
        for line in [
            "cat <<E\nx\nE",
            "cat <<-'E'\n\tx\n\tE",
            "cat <<< \"\"",
            "echo $((1<<2))",
            "cat <<\"E\"\nE\n",
            "ruby -e 'a << \"\"'",
            "echo \"a << b\"",
            "g++ -x c++ - <<'EOF'\nint main() { std::cout << \"\"; }\nEOF\n",
            "x=$(cat <<E\na\nE\n)",
            "cat <<E | sort > out\nb\nE",
            "git commit -m \"$(cat <<'EOF'\nit's done\nEOF\n)\"",
        ] {
            assert!(!ends_at_nothing(line), "{line:?}");
        }
    }
}

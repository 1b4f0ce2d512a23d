//! Shell patterns on constant text: `*`, `?` and `[…]`, with a bound on the work.

use brush_parser::word::SubstringMatchKind;

/// The longest text that a pattern is applied to.
const MAX_TEXT: usize = 512;

/// Whether `pattern` matches the whole of `text`. Linear in the product of both, never exponential.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match (pattern.get(p), text.get(t)) {
            (Some('*'), _) => {
                back = Some((p, t));
                p += 1;
                continue;
            }
            (Some('?'), Some(_)) => Some(1),
            (Some('['), Some(c)) => class(&pattern, p, *c),
            (Some(a), Some(b)) if a == b => Some(1),
            _ => None,
        };
        match (step, back) {
            (Some(width), _) => {
                p += width;
                t += 1;
            }
            (None, Some((star, from))) => {
                back = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
            (None, None) => return false,
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// How many characters of the pattern the class at `at` takes, where it contains `c`.
fn class(pattern: &[char], at: usize, c: char) -> Option<usize> {
    let mut i = at + 1;
    let negated = matches!(pattern.get(i), Some('!' | '^'));
    if negated {
        i += 1;
    }
    let mut inside = false;
    let first = i;
    while let Some(&low) = pattern.get(i) {
        if low == ']' && i > first {
            return (inside != negated).then_some(i + 1 - at);
        }
        match (pattern.get(i + 1), pattern.get(i + 2)) {
            (Some('-'), Some(&high)) if high != ']' => {
                inside |= low <= c && c <= high;
                i += 3;
            }
            _ => {
                inside |= low == c;
                i += 1;
            }
        }
    }
    (c == '[').then_some(1)
}

pub(crate) fn smallest_prefix(text: &str, pattern: &str) -> String {
    cut(text, pattern, text.char_indices().map(|(i, _)| i).chain([text.len()]), true)
}

pub(crate) fn largest_prefix(text: &str, pattern: &str) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
    cut(text, pattern, ends.into_iter().rev(), true)
}

pub(crate) fn smallest_suffix(text: &str, pattern: &str) -> String {
    let starts: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
    cut(text, pattern, starts.into_iter().rev(), false)
}

pub(crate) fn largest_suffix(text: &str, pattern: &str) -> String {
    cut(text, pattern, text.char_indices().map(|(i, _)| i).chain([text.len()]), false)
}

fn cut(text: &str, pattern: &str, places: impl Iterator<Item = usize>, prefix: bool) -> String {
    if text.len() > MAX_TEXT {
        return text.to_owned();
    }
    for place in places {
        let (head, tail) = text.split_at(place);
        if prefix && matches(pattern, head) {
            return tail.to_owned();
        }
        if !prefix && matches(pattern, tail) {
            return head.to_owned();
        }
    }
    text.to_owned()
}

/// `text` with matches of `pattern` replaced; `None` beyond the bound.
pub(crate) fn replace(text: &str, pattern: &str, new: &str, kind: &SubstringMatchKind) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() > MAX_TEXT / 4 {
        return None;
    }
    let mut out = String::new();
    let mut at = 0;
    let mut done = false;
    while at < chars.len() {
        let ends = (at + 1..=chars.len()).rev();
        let end = ends.into_iter().find(|end| {
            let part: String = chars.iter().take(*end).skip(at).collect();
            let placed = match kind {
                SubstringMatchKind::Prefix => at == 0,
                SubstringMatchKind::Suffix => *end == chars.len(),
                SubstringMatchKind::FirstOccurrence | SubstringMatchKind::Anywhere => true,
            };
            placed && !done && matches(pattern, &part)
        });
        match end {
            Some(end) => {
                out.push_str(new);
                at = end;
                done = !matches!(kind, SubstringMatchKind::Anywhere);
            }
            None => {
                out.extend(chars.get(at));
                at += 1;
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{largest_prefix, largest_suffix, matches, smallest_prefix, smallest_suffix};

    #[test]
    fn patterns_match_as_the_shell_does() {
        for (pattern, text, is) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("*a*b*", "xxaxxbx", true),
            ("abc", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
        assert_eq!(largest_prefix("/a/b/c.tar.gz", "*/"), "c.tar.gz");
        assert_eq!(smallest_prefix("/a/b", "*/"), "a/b");
        assert_eq!(smallest_suffix("c.tar.gz", ".*"), "c.tar");
        assert_eq!(largest_suffix("c.tar.gz", ".*"), "c");
    }
}

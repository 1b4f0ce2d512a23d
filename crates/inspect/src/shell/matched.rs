//! What parameter expansion cuts off and replaces in names that match a pattern (Bash reference manual 3.5.3): the names of the files
//! hold no `/` where the pattern has its `*`.

use super::pattern;
use crate::machine::{Part, Word};

/// Which end is cut off, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    SmallestSuffix,
    LargestSuffix,
    SmallestPrefix,
    LargestPrefix,
}

impl Cut {
    pub(super) fn of(self, text: &str, pattern: &str) -> String {
        match self {
            Self::SmallestSuffix => pattern::smallest_suffix(text, pattern),
            Self::LargestSuffix => pattern::largest_suffix(text, pattern),
            Self::SmallestPrefix => pattern::smallest_prefix(text, pattern),
            Self::LargestPrefix => pattern::largest_prefix(text, pattern),
        }
    }
}

/// The known text before the first sign of a pattern, and after the last one.
fn ends(word: &Word) -> (&str, &str) {
    // Within brackets is no text of a name.
    let last = if word.parts().contains(&Part::Glob('[')) { None } else { word.parts().last() };
    (text(word.parts().first()), text(last))
}

fn text(part: Option<&Part>) -> &str {
    match part {
        Some(Part::Text(text)) => text,
        Some(Part::Glob(_) | Part::Hole { .. }) | None => "",
    }
}

/// The folder that all the names are in, with its `/`.
fn folder(word: &Word) -> &str {
    let (head, _) = ends(word);
    head.rfind('/').and_then(|at| head.get(..=at)).unwrap_or("")
}

/// Any name in the folder.
fn any_in(folder: &str) -> Word {
    let mut any = Word::text(folder);
    any.push(Part::Glob('*'));
    any
}

/// The word with other text at one of its ends.
fn with_end(word: &Word, first: bool, text: &str) -> Word {
    let mut out = Word::default();
    let at = if first { 0 } else { word.parts().len().saturating_sub(1) };
    for (i, part) in word.parts().iter().enumerate() {
        if i == at { out.push_str(text) } else { out.push(part.clone()) }
    }
    out
}

/// The names of which an end is cut off; nothing where that is not known.
pub(super) fn cut(word: &Word, pattern: &str, cut: Cut) -> Option<Word> {
    let (head, tail) = ends(word);
    let below = !word.parts().iter().skip(1).any(|part| matches!(part, Part::Text(text) if text.contains('/')));
    let constant = !pattern.contains(['*', '?', '[']);
    match cut {
        Cut::SmallestSuffix | Cut::LargestSuffix => {
            let shorter = Cut::SmallestSuffix.of(tail, pattern);
            if shorter != tail && (cut == Cut::SmallestSuffix || constant) {
                return Some(with_end(word, false, &shorter));
            }
            if cut == Cut::SmallestSuffix && pattern == "/*" && below {
                return Some(head.rfind('/').and_then(|at| head.get(..at)).map_or_else(|| word.clone(), Word::text));
            }
            let folder = folder(word);
            let first = pattern.chars().next().filter(|c| !matches!(c, '*' | '?' | '[' | '/'))?;
            (below && !folder.contains(first)).then(|| any_in(folder))
        }
        Cut::SmallestPrefix | Cut::LargestPrefix => {
            if cut == Cut::LargestPrefix && pattern == "*/" && below {
                let name = head.rfind('/').map_or(head, |at| head.get(at + 1..).unwrap_or(""));
                return Some(if name == head { word.clone() } else { with_end(word, true, name) });
            }
            let shorter = Cut::SmallestPrefix.of(head, pattern);
            if shorter != head && (cut == Cut::SmallestPrefix || constant) {
                return Some(with_end(word, true, &shorter));
            }
            // So much of it is known that the pattern would be seen.
            (constant && head.len() >= pattern.len()).then(|| word.clone()).or_else(|| part_of(word, pattern))
        }
    }
}

/// The names with something replaced; nothing where that is not known.
pub(super) fn replaced(word: &Word, pattern: &str, new: &str) -> Option<Word> {
    let folder = folder(word);
    let signs = pattern.contains(['*', '?', '[', '/']) || new.contains('/') || new.contains("..");
    let below = !word.parts().iter().skip(1).any(|part| matches!(part, Part::Text(text) if text.contains('/')));
    (!signs && below && !folder.contains(pattern)).then(|| any_in(folder))
}

/// Some part of names that are in no folder.
pub(super) fn part_of(word: &Word, pattern: &str) -> Option<Word> {
    let plain = !pattern.contains('/') && !word.shown().contains('/');
    plain.then(|| any_in(""))
}

/// The names with their known text changed letter by letter.
pub(super) fn changed(word: &Word, change: &dyn Fn(&str) -> String) -> Word {
    let mut out = Word::default();
    for part in word.parts() {
        match part {
            Part::Text(text) => out.push_str(&change(text)),
            part @ (Part::Glob(_) | Part::Hole { .. }) => out.push(part.clone()),
        }
    }
    out
}

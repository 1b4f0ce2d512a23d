//! The encoder's own way to cut text into pieces: BERT's, in small letters without accents, then the longest pieces of its vocabulary.
//!
//! Differs from the reference in one thing on purpose: `[CLS]` and the like in a text are text, not marks.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

use crate::LoadError;

/// The piece that stands for what the vocabulary cannot spell.
const UNKNOWN: u32 = 100;

/// How many pieces the vocabulary has.
pub(crate) const PIECES: usize = 30_522;

/// The longest word that is spelt, in characters.
const LONGEST_WORD: usize = 100;

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its number in the vocabulary.
    pub(crate) id: u32,
    /// Where its word begins, in bytes of the text.
    pub(crate) start: usize,
    /// One past the end of its word.
    pub(crate) end: usize,
}

/// What was read of a text.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) list: Vec<Token>,
    /// Whether that is all of it.
    pub(crate) whole: bool,
}

/// The vocabulary.
pub(crate) struct Tokeniser {
    /// Pieces that begin a word.
    first: HashMap<Box<str>, u32>,
    /// Pieces that go on with one.
    later: HashMap<Box<str>, u32>,
    /// The longest piece, in characters.
    longest: usize,
}

impl Tokeniser {
    pub(crate) fn read(vocabulary: &[u8]) -> Result<Self, LoadError> {
        let wrong = |why: String| LoadError::Format { what: "vocab.txt", why };
        let text = str::from_utf8(vocabulary).map_err(|e| wrong(e.to_string()))?;
        let (mut first, mut later, mut longest, mut count) = (HashMap::new(), HashMap::new(), 0, 0);
        for piece in text.lines() {
            let (map, piece) = match piece.strip_prefix("##") {
                Some(rest) => (&mut later, rest),
                None => (&mut first, piece),
            };
            longest = longest.max(piece.chars().count());
            map.insert(piece.into(), count);
            count += 1;
        }
        if count as usize != PIECES {
            return Err(wrong(format!("it has {count} pieces, wanted {PIECES}")));
        }
        Ok(Self { first, later, longest })
    }

    /// The pieces of a text, at most `most` of them and a few for the last word.
    pub(crate) fn tokens(&self, text: &str, most: usize) -> Tokens {
        let mut out = Tokens { list: Vec::new(), whole: true };
        let mut word = Word::default();
        for (at, c) in text.char_indices() {
            let end = at + c.len_utf8();
            if out.list.len() > most {
                out.whole = false;
                return out;
            }
            if is_dropped(c) {
                continue;
            }
            if is_blank(c) {
                self.spell(&mut word, &mut out.list);
                continue;
            }
            let alone = is_ideograph(c);
            if alone {
                self.spell(&mut word, &mut out.list);
            }
            for c in std::iter::once(c).nfd().filter(|c| c.general_category() != GeneralCategory::NonspacingMark) {
                for c in c.to_lowercase() {
                    if is_punctuation(c) {
                        self.spell(&mut word, &mut out.list);
                        word.push(c, at, end);
                        self.spell(&mut word, &mut out.list);
                    } else {
                        word.push(c, at, end);
                    }
                }
            }
            if alone {
                self.spell(&mut word, &mut out.list);
            }
        }
        self.spell(&mut word, &mut out.list);
        out
    }

    /// Ends a word: its longest pieces from the left, or the unknown piece for all of it.
    fn spell(&self, word: &mut Word, out: &mut Vec<Token>) {
        if word.letters.is_empty() {
            return;
        }
        let token = |id| Token { id, start: word.start, end: word.end };
        let before = out.len();
        let mut rest = word.letters.as_str();
        let mut map = &self.first;
        while !rest.is_empty() && word.count <= LONGEST_WORD {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(self.longest);
            let ends: Vec<usize> = ends.collect();
            let found = ends.into_iter().rev().find_map(|end| Some((end, *map.get(rest.get(..end)?)?)));
            let Some((end, id)) = found else { break };
            out.push(token(id));
            rest = rest.get(end..).unwrap_or("");
            map = &self.later;
        }
        if !rest.is_empty() {
            out.truncate(before);
            out.push(token(UNKNOWN));
        }
        *word = Word::default();
    }
}

/// A word that grows, no further than it can be spelt.
#[derive(Default)]
struct Word {
    letters: String,
    count: usize,
    start: usize,
    end: usize,
}

impl Word {
    fn push(&mut self, c: char, start: usize, end: usize) {
        if self.letters.is_empty() {
            self.start = start;
        }
        self.end = end;
        if self.count <= LONGEST_WORD {
            self.letters.push(c);
            self.count += 1;
        }
    }
}

/// Characters that are not there: controls, formats, private ones and what replaces the unreadable.
fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        ' '..='~' => false,
        c => c.general_category_group() == GeneralCategoryGroup::Other,
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace()
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation)
}

/// Characters of scripts that write no blanks between words, as the encoder was taught to see them.
const fn is_ideograph(c: char) -> bool {
    matches!(
        c as u32,
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
    )
}

#[cfg(test)]
mod tests;

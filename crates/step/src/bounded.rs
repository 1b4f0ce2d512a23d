//! Text that fits an observation: valid UTF-8 under a budget of canonical JSON bytes.

/// The text of `bytes`, with replacement characters where they are no UTF-8, cut where its JSON form would exceed `budget`;
/// and how many bytes of the text were cut.
pub(crate) fn text(bytes: &[u8], budget: usize) -> (String, u64) {
    let text = String::from_utf8_lossy(bytes);
    let mut used = 0_usize;
    let cut = text.char_indices().find(|(_, c)| {
        used = used.saturating_add(json_length(*c));
        used > budget
    });
    match cut {
        None => (text.into_owned(), 0),
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default().to_owned();
            let dropped = text.len().saturating_sub(at);
            (kept, u64::try_from(dropped).unwrap_or(u64::MAX))
        }
    }
}

/// The length of a string's characters in canonical JSON.
pub(crate) fn length(text: &str) -> usize {
    text.chars().map(json_length).sum()
}

const fn json_length(c: char) -> usize {
    match c {
        '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
        c if (c as u32) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::{length, text};

    #[test]
    fn text_is_cut_at_its_json_length_and_between_characters() {
        assert_eq!(text(b"abc", 3), ("abc".to_owned(), 0));
        assert_eq!(text(b"abc", 2), ("ab".to_owned(), 1));
        assert_eq!(text("aéb".as_bytes(), 2), ("a".to_owned(), 3));
        assert_eq!(text(b"\0\0", 7), ("\0".to_owned(), 1));
        assert_eq!(text(b"a\xffb", 100), ("a\u{fffd}b".to_owned(), 0));
        let odd = "\u{1}\"\\\n\u{7f}é";
        assert_eq!(length(odd) + 2, countersign_plan::canonical::to_vec(&odd.into()).len());
    }
}

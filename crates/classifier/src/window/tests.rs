//! What is read, what is not, and which window speaks for the text.

use super::{MOST, ROOM, STRIDE, cut, score};
use crate::tokeniser::{PIECES, Token, Tokeniser};
use crate::{MAX_BYTES, MAX_WINDOWS};

fn tokeniser() -> Tokeniser {
    let names: Vec<String> = (0..PIECES)
        .map(|n| {
            if n == 200 {
                "a".to_owned()
            } else if n == 201 {
                "b".to_owned()
            } else {
                format!("\u{1}{n}")
            }
        })
        .collect();
    Tokeniser::read(names.join("\n").as_bytes()).unwrap()
}

/// Doubts windows with a `b`.
fn logits(windows: &[&[u32]]) -> Vec<f32> {
    windows.iter().map(|ids| if ids.contains(&201) { 4.0 } else { -4.0 }).collect()
}

#[test]
fn every_token_is_in_a_window_and_no_window_is_longer_than_its_room() {
    for count in [0, 1, ROOM - 1, ROOM, ROOM + 1, ROOM + STRIDE, ROOM + STRIDE + 1, 1000] {
        let tokens: Vec<Token> =
            (0..count).map(|n| Token { id: u32::try_from(n).unwrap(), start: n, end: n + 1 }).collect();
        let mut seen = vec![false; count];
        for window in cut(&tokens) {
            assert!(!window.is_empty() && window.len() <= ROOM);
            window.iter().for_each(|token| seen[token.start] = true);
        }
        assert!(seen.iter().all(|seen| *seen), "{count}");
    }
}

#[test]
fn the_worst_window_speaks_for_the_text_and_says_where_it_is() {
    let text = format!("{}b {}", "a ".repeat(300), "a ".repeat(300));
    let [clean, doubted, empty] = score(&tokeniser(), &["a a", &text, " "], logits)[..] else { panic!() };
    assert!(clean.score < 0.1 && clean.whole && !clean.is_doubted());
    assert!(doubted.score > 0.9 && doubted.start <= 600 && 600 < doubted.end && doubted.is_doubted());
    assert!(empty.score == 0.0 && empty.whole);
}

#[test]
fn what_is_too_long_is_read_up_to_a_bound_and_said_to_be() {
    let scored = |text: &str| {
        score(&tokeniser(), &[text], |windows| {
            assert!(windows.len() <= MAX_WINDOWS);
            logits(windows)
        })[0]
    };
    assert!(scored(&"a ".repeat(MOST)).whole);
    let long = scored(&format!("{}b", "a ".repeat(MOST)));
    assert!(!long.whole && long.score < 0.1);
    assert!(!scored(&"é".repeat(MAX_BYTES / 2 + 1)).whole);
}

#[test]
fn what_is_no_number_is_doubted() {
    assert!(score(&tokeniser(), &["a"], |_| vec![f32::NAN])[0].is_doubted());
}

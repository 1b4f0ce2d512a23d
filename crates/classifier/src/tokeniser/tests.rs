//! Words and pieces, with a vocabulary of the test's own.

use proptest::prelude::*;

use super::{PIECES, Tokeniser, UNKNOWN};

/// A vocabulary of the right size in which these pieces have the numbers from 200 on.
fn tokeniser(pieces: &[&str]) -> Tokeniser {
    let names = (0..PIECES)
        .map(|n| n.checked_sub(200).and_then(|at| pieces.get(at)).map_or(format!("\u{1}{n}"), |p| (*p).to_owned()));
    Tokeniser::read(names.collect::<Vec<_>>().join("\n").as_bytes()).unwrap()
}

fn ids(pieces: &[&str], text: &str) -> Vec<u32> {
    tokeniser(pieces).tokens(text, usize::MAX).list.iter().map(|token| token.id).collect()
}

#[test]
fn the_longest_piece_wins_and_the_rest_goes_on() {
    assert_eq!(ids(&["un", "unable", "##able", "##a"], "unable unablea una"), [201, 201, 203, 200, 203]);
}

#[test]
fn case_accents_and_what_is_not_shown_make_no_difference() {
    assert_eq!(ids(&["cafe"], "Café CAFE\u{301} ca\u{200b}fe ca\u{ad}fe"), [200; 4]);
}

#[test]
fn punctuation_and_ideographs_are_words_of_their_own() {
    assert_eq!(ids(&["a", ".", "中", "b", "«"], "a.b 中中a«"), [200, 201, 203, 202, 202, 200, 204]);
}

#[test]
fn marks_in_a_text_are_text() {
    assert_eq!(ids(&["[", "cls", "]"], "[CLS]"), [200, 201, 202]);
}

#[test]
fn what_cannot_be_spelt_is_one_unknown_piece() {
    assert_eq!(ids(&["a", "##a"], &format!("ab {} {}", "a".repeat(100), "a".repeat(101)))[0], UNKNOWN);
    let long = ids(&["a", "##a"], &"a".repeat(100_000));
    assert_eq!(long, [UNKNOWN]);
}

#[test]
fn tokens_say_where_their_words_stand() {
    let tokens = tokeniser(&["a", "##b"]).tokens("é AB", usize::MAX);
    let places: Vec<(u32, usize, usize)> = tokens.list.iter().map(|t| (t.id, t.start, t.end)).collect();
    assert_eq!(places, [(UNKNOWN, 0, 2), (200, 3, 5), (201, 3, 5)]);
}

#[test]
fn a_text_that_is_too_long_says_so() {
    let tokens = tokeniser(&["a"]).tokens(&"a ".repeat(1000), 10);
    assert!(!tokens.whole && tokens.list.len() < 20);
    assert!(tokeniser(&["a"]).tokens("a a", 10).whole);
}

#[test]
fn a_file_that_is_no_vocabulary_is_refused() {
    assert!(Tokeniser::read(b"a\nb\n").is_err());
    assert!(Tokeniser::read(&[0xff; 10]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_has_tokens_in_order_and_inside_of_it(texts in prop::collection::vec(any::<String>(), 1..4)) {
        let tokeniser = tokeniser(&["a", "##a", "!", "the"]);
        for text in texts {
            let tokens = tokeniser.tokens(&text, usize::MAX);
            prop_assert!(tokens.whole);
            for token in &tokens.list {
                prop_assert!(text.get(token.start..token.end).is_some_and(|word| !word.is_empty()));
            }
            prop_assert!(tokens.list.is_sorted_by_key(|token| token.start));
        }
    }
}

/// Pieces of the reference's vocabulary that the fixture's texts are made of, at their numbers; a longer piece that would win is
/// among them, because it won there.
#[test]
fn texts_have_the_pieces_of_the_reference() {
    let fixture: serde_json::Value = serde_json::from_str(include_str!("../../tests/fixture.json")).unwrap();
    let pieces = fixture["pieces"].as_object().unwrap();
    let name =
        |n: usize| pieces.get(&n.to_string()).map_or(format!("\u{1}{n}"), |piece| piece.as_str().unwrap().to_owned());
    let tokeniser = Tokeniser::read((0..PIECES).map(name).collect::<Vec<_>>().join("\n").as_bytes()).unwrap();
    for case in fixture["texts"].as_array().unwrap() {
        let wanted: Vec<u64> = case["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        let found: Vec<u64> =
            tokeniser.tokens(case["text"].as_str().unwrap(), usize::MAX).list.iter().map(|t| u64::from(t.id)).collect();
        assert_eq!(found, wanted, "{}", case["text"]);
    }
}

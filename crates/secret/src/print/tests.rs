//! A fingerprint finds what the value itself would find, and nothing else; the value is not in it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::{KEPT, Known, NAMED, Press};

fn known(values: &[(&str, &str)]) -> Known {
    let mut known = Known::new(Press::new(&[7; 32]));
    for (name, value) in values {
        for print in known.press().prints(name, value.as_bytes()) {
            known.learn(print);
        }
    }
    known
}

/// INV-10
#[test]
fn a_value_is_found_by_its_fingerprint_in_every_way_in_which_it_is_written() {
    let value = "s3cr3t/with+odd \"chars\"&=";
    let known = known(&[("key", value)]);
    for form in [
        value.to_owned(),
        format!("Bearer {value}, thank you"),
        STANDARD.encode(format!("user:{value}")),
        STANDARD.encode(format!("x{value}")),
        hex::encode(value),
        json!({ "nested": value }).to_string(),
        "x=s3cr3t%2Fwith%2Bodd%20%22chars%22%26%3D".to_owned(),
    ] {
        let clean = String::from_utf8(known.redact(form.as_bytes()).unwrap_or_default()).unwrap();
        assert!(clean.contains("[secret key]"), "{form} became {clean}");
    }
    assert!(known.redact(b"nothing to see, and long enough to hold a value").is_none());
    assert!(!known.finds(b"s3cr3t/with+odd \"chars\"&"), "one byte short of it is another value");
}

#[test]
fn a_fingerprint_holds_no_part_of_its_value_and_a_short_value_has_none() {
    let press = Press::new(&[7; 32]);
    let prints = press.prints("n", b"wJalrXUtnFEMI-bPxRfiCY");
    assert!(prints.len() > 4 && !format!("{prints:?}").contains("wJal"));
    assert_ne!(prints, Press::new(&[8; 32]).prints("n", b"wJalrXUtnFEMI-bPxRfiCY"), "another key, another print");
    assert!(press.prints("n", b"hunter2").is_empty(), "whoever holds the print of that would guess it");
}

#[test]
fn values_that_overlap_leave_nothing_of_either_and_names_do_not_swallow_each_other() {
    let known = known(&[("a", "abcdefghij"), ("b", "ghijklmnop")]);
    assert_eq!(known.redact(b"-abcdefghijklmnop-").unwrap(), b"-[secret a]-");
    let clean = known.redact_json(&json!({"abcdefghij": 1, "[secret a]": [2, "x ghijklmnop"], "n": 5})).unwrap();
    assert_eq!(clean.as_object().unwrap().len(), 3);
    let text = clean.to_string();
    assert!(!text.contains("abcdefgh") && !text.contains("ghijkl") && text.contains("\"n\":5"), "{text}");
    assert!(known.redact_json(&json!({"a": ["b", 1, null]})).is_none());
}

#[test]
fn a_value_that_is_repeated_makes_no_text_grow() {
    let known = known(&[(&*"n".repeat(100), "12345678")]);
    let text = "12345678 ".repeat(NAMED + 1);
    let clean = known.redact(text.as_bytes()).unwrap();
    assert!(clean.len() <= text.len() && !String::from_utf8(clean).unwrap().contains("12345678"));
}

#[test]
fn what_comes_again_stays_and_what_does_not_goes_at_last() {
    let mut known = known(&[("lasting", "lasting-value-1"), ("passing", "passing-value-1")]);
    let lasting = known.press().prints("lasting", b"lasting-value-1");
    for number in 0..KEPT {
        lasting.iter().cloned().for_each(|print| known.learn(print));
        let print = super::Print { tag: (number as u128).to_le_bytes(), ..lasting[0].clone() };
        known.learn(super::Print { tag: (number as u128 + (1 << 64)).to_le_bytes(), ..print.clone() });
        known.learn(print);
    }
    assert!(known.finds(b"lasting-value-1") && !known.finds(b"passing-value-1"));
}

proptest! {
    #[test]
    fn a_value_is_found_wherever_it_stands_and_only_there(before in "[a-d]{0,90}", value in "[a-d]{8,80}", after in "[a-d]{0,90}") {
        let known = known(&[("v", &value)]);
        let text = format!("{before}{value}{after}");
        let clean = String::from_utf8(known.redact(text.as_bytes()).unwrap()).unwrap();
        prop_assert!(!clean.contains(&value), "{}", clean);
        let other = format!("{before}{after}");
        prop_assert_eq!(known.finds(other.as_bytes()), other.contains(&value));
    }
}

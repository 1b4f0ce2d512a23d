//! Values in every form in which a server may send them back.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::Redactor;

fn redactor(value: &str) -> Redactor {
    Redactor::of([("key", value.as_bytes())])
}

/// INV-10.
#[test]
fn a_value_is_taken_out_in_every_way_in_which_it_is_written() {
    let value = "s3cr3t/with+odd \"chars\"&=";
    let redactor = redactor(value);
    let json = serde_json::json!({"authorization": format!("Bearer {value}")}).to_string();
    let forms = [
        value.to_owned(),
        format!("Bearer {value}, thank you"),
        STANDARD.encode(format!("user:{value}")),
        STANDARD.encode(format!("x{value}")),
        URL_SAFE.encode(format!("some user:{value}@")),
        url::form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        hex::encode(value),
        json,
    ];
    for form in forms {
        let redacted = redactor.redact_text(&form);
        assert!(redacted.contains("[secret key]"), "{form} became {redacted}");
    }
    assert_eq!(redactor.redact_text("nothing to see"), "nothing to see");
}

/// INV-10: a server knows the parts and may send back one alone.
#[test]
fn what_is_secret_of_a_value_is_taken_out_alone() {
    let cases = [
        ("alice@example.com:correct-horse", "wrong password correct-horse", "alice@example.com"),
        ("user:pass:word:with:colons", "pass:word:with:colons", "user"),
        ("AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG:session-token-1", "x wJalrXUtnFEMI/K7MDENG y", "AKIDEXAMPLE"),
        ("AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG:session-token-1", "session-token-1", "AKIDEXAMPLE"),
        ("https://hooks.example.com/services/T0/B0/abc", "no such /services/T0/B0/abc", "hooks.example.com"),
    ];
    for (value, said, known) in cases {
        let redactor = redactor(value);
        assert!(redactor.redact_text(said).contains("[secret key]"), "{value}: {said}");
        assert_eq!(redactor.redact_text(known), known);
    }
}

#[test]
fn a_value_that_is_repeated_makes_no_text_grow() {
    let redactor = Redactor::of([(&*"n".repeat(100), b"12345678".as_slice())]);
    let text = "12345678".repeat(100_000);
    let redacted = redactor.redact_text(&text);
    assert_eq!(redacted.len(), text.len());
    assert!(!redacted.contains("12345678"));
}

/// INV-10: a bound that cuts a value in two shows neither half.
#[test]
fn the_beginning_of_a_value_at_a_cut_is_left_out() {
    let value = "s3cr3t-0123456789";
    let redactor = redactor(value);
    for kept in 0..value.len() {
        let said = format!("{}{}", "x".repeat(200), value.chars().take(kept).collect::<String>());
        let (shown, left_out) = redactor.redact_beginning(said.clone().into_bytes());
        assert_eq!(shown.len() + left_out, said.len());
        assert!(shown.iter().all(|byte| *byte == b'x') && shown.len() > 100, "{kept}");
    }
    assert_eq!(Redactor::default().redact_beginning(b"abc".to_vec()), (b"abc".to_vec(), 0));
}

#[test]
fn what_is_shown_of_a_redactor_is_no_value() {
    assert_eq!(format!("{:?}", redactor("s3cr3t-0123456789")), "Redactor(…)");
}

#[test]
fn without_secrets_nothing_is_touched() {
    assert_eq!(Redactor::default().redact(vec![0, 255, 1]), [0, 255, 1]);
}

proptest! {
    /// INV-10: whatever surrounds it, the value does not come through, neither as it is nor in base64.
    #[test]
    fn no_surroundings_save_a_value(before in "[a-z :]{0,20}", after in "[a-z :]{0,20}", value in "[A-Za-z0-9+/=%-]{12,40}") {
        let redactor = redactor(&value);
        let plain = redactor.redact_text(&format!("{before}{value}{after}"));
        prop_assert!(!plain.contains(&value));
        let encoded = redactor.redact_text(&STANDARD.encode(format!("{before}{value}{after}")));
        prop_assert!(encoded.contains("[secret key]"));
    }
}

//! What a strict reader refuses, with the place it names.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Bounds, from_bytes, from_json, from_yaml};

fn refused(text: &str, pointer: &str, word: &str) {
    let json = from_json(text.as_bytes(), Bounds::PLAN).unwrap_err();
    assert_eq!(json.pointer, pointer, "{text}: {json}");
    assert!(json.what.contains(word), "{text}: {json}");
}

#[test]
fn json_that_has_no_single_form_is_refused_at_its_place() {
    refused(r#"{"a": {"b": 1, "b": 2}}"#, "/a/b", "twice");
    refused(r#"{"a": [1, -0]}"#, "/a/1", "-0");
    refused(r#"{"a": [1, -0.0]}"#, "/a/1", "-0");
    refused(r#"{"a": 9007199254740992}"#, "/a", "2^53");
    refused(r#"{"a": -9007199254740992}"#, "/a", "2^53");
    refused(r#"{"a": 9007199254740993.0}"#, "/a", "2^53");
    refused(r#"{"a": 1e400}"#, "/a", "range");
    refused(r#"{"a": NaN}"#, "/a", "expected");
    refused(r#"{"a": "\ud800"}"#, "/a", "hex escape");
    refused(r#"{"a": 1} x"#, "", "trailing");
    refused(r#"{"x/y~z": {"b": 1, "b": 2}}"#, "/x~1y~0z/b", "twice");
}

#[test]
fn bounds_hold_before_and_while_reading() {
    let small = Bounds { bytes: 64, depth: 3, values: 8 };
    assert!(from_json(&[b' '; 65], small).unwrap_err().what.contains("65 bytes"));
    assert!(from_json(b"[[[[1]]]]", small).unwrap_err().what.contains("deeper"));
    assert!(from_json(b"[1,2,3,4,5,6,7,8,9]", small).unwrap_err().what.contains("more than 8"));
    assert!(from_yaml(b"[[[[1]]]]", small).unwrap_err().what.contains("deeper"));
    let bomb = "[".repeat(100_000);
    assert!(from_json(bomb.as_bytes(), Bounds::PLAN).is_err());
    assert!(from_yaml(bomb.as_bytes(), Bounds::PLAN).is_err());
}

#[test]
fn yaml_is_the_json_schema() {
    let value =
        from_yaml(b"a: no\nb: 2026-01-01\nc: 1.5\nd: ~\ne: \"1\"\nf: 0x10\ng: true\nh: 1_000\n", Bounds::PLAN).unwrap();
    assert_eq!(
        value,
        json!({"a": "no", "b": "2026-01-01", "c": 1.5, "d": null, "e": "1", "f": "0x10", "g": true, "h": "1_000"})
    );
    for (text, word) in [
        ("a: &x 1\nb: *x\n", "anchors"),
        ("a: !!str 1\n", "tags"),
        ("a: {<<: {b: 1}}\n", "merge"),
        ("a: 1\na: 2\n", "twice"),
        ("? [a]\n: 1\n", "key"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("a: .nan\n", "finite"),
        ("a: -0\n", "-0"),
        ("a: 9007199254740992\n", "2^53"),
        ("", "empty"),
    ] {
        let error = from_yaml(text.as_bytes(), Bounds::PLAN).unwrap_err();
        assert!(error.what.contains(word), "{text}: {error}");
    }
    assert_eq!(from_yaml(b"a:\n  - 1\n  - b: 1\n    b: 2\n", Bounds::PLAN).unwrap_err().pointer, "/a/1/b");
}

#[test]
fn yaml_numbers_do_not_become_text_behind_their_writer_s_back() {
    for wrong in ["1e400", "-1e999", "1.", "-12.e3", "+.inf"] {
        let error = from_yaml(format!("a: {wrong}\n").as_bytes(), Bounds::PLAN).unwrap_err();
        assert_eq!(error.pointer, "/a", "{wrong}: {error}");
    }
    let text = from_yaml(b"[1.2.3, 01, 2026-01-01, +1, 1e, .5, -.5]", Bounds::PLAN).unwrap();
    assert!(text.as_array().unwrap().iter().all(Value::is_string), "{text}");
}

#[test]
fn nothing_stands_before_or_behind_the_text_unseen() {
    for read in [from_json, from_yaml, from_bytes] {
        assert!(read(b"\xef\xbb\xbf{\"a\": 1}", Bounds::PLAN).unwrap_err().what.contains("byte order mark"));
    }
    // To the parser NUL is the end of the text: what stands behind it would be shown and not read.
    let error = from_yaml(b"a: 1\n\0b: 2\n", Bounds::PLAN).unwrap_err();
    assert_eq!((error.line, error.what.contains("control character")), (Some(2), true));
}

#[test]
fn depth_counts_collections_in_both_readers() {
    let small = Bounds { bytes: 64, depth: 3, values: 8 };
    for read in [from_json, from_yaml] {
        assert!(read(b"[[[1]]]", small).is_ok());
        assert!(read(b"[[[[]]]]", small).unwrap_err().what.contains("deeper"));
        assert!(read(br#"[[[{"a": 1}]]]"#, small).unwrap_err().what.contains("deeper"));
    }
}

#[test]
fn floats_read_back_as_they_were_written() {
    // Needs serde_json's `float_roundtrip`; without it the last digit differs and so do digests.
    let text = b"[8.383658838626809e-78,2.2250738585072011e-308]";
    let value = from_json(text, Bounds::PLAN).unwrap();
    let bytes = crate::canonical::to_vec(&value);
    assert_eq!(String::from_utf8(bytes).unwrap(), "[8.383658838626809e-78,2.225073858507201e-308]");
}

#[test]
fn integral_floats_have_the_form_of_integers() {
    assert_eq!(from_json(b"[1.0, 1e3]", Bounds::PLAN).unwrap(), json!([1, 1000]));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(from_bytes(&bytes, Bounds::PLAN));
        drop(from_yaml(&bytes, Bounds::PLAN));
    }

    #[test]
    fn what_is_read_is_canonical_after_one_round(text in r#"[\[\]{}",:0-9a-e\-. ]{0,40}"#) {
        if let Ok(value) = from_bytes(text.as_bytes(), Bounds::PLAN) {
            let bytes = crate::canonical::to_vec(&value);
            let again: Value = from_json(&bytes, Bounds::PLAN).unwrap();
            prop_assert_eq!(crate::canonical::to_vec(&again), bytes);
        }
    }
}

/// A document says its schema, also where its type has a default for it.
#[test]
fn no_schema_is_none_of_them() {
    #[derive(Debug, serde::Deserialize)]
    struct Lenient {
        #[serde(default)]
        schema: String,
    }
    let read = |value| super::of_schema::<Lenient>(&value, "countersign.x/v1").map(|lenient| lenient.schema);
    assert_eq!(read(serde_json::json!({"schema": "countersign.x/v1"})).unwrap(), "countersign.x/v1");
    for other in
        [serde_json::json!({}), serde_json::json!({"schema": "countersign.x/v2"}), serde_json::json!({"schema": 1})]
    {
        assert_eq!(read(other).unwrap_err().pointer, "/schema");
    }
}

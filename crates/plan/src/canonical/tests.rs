//! Canonical bytes against RFC 8785's own examples and an independent implementation.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{digest, of, to_vec};
use crate::digest::Digest;

fn text(value: &Value) -> String {
    String::from_utf8(to_vec(value)).unwrap()
}

#[test]
fn rfc_8785_section_3_2_2_example() {
    let value = serde_json::from_str(
        r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
    )
    .unwrap();
    assert_eq!(
        text(&value),
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
}

#[test]
fn members_are_sorted_by_utf16_units() {
    // U+10000 is d800 dc00 in UTF-16 and so sorts before U+E000, although its code point is larger.
    assert_eq!(text(&json!({"\u{e000}": 1, "\u{10000}": 2})), "{\"\u{10000}\":2,\"\u{e000}\":1}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1i64 << 53) + 1..(1i64 << 53)).prop_map(Value::from),
        (-1e15..1e15f64).prop_map(|f| if f == 0.0 { Value::from(0) } else { Value::from(f) }),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..6).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Members in the order in which they are given, as a struct has them.
struct Fields(Vec<(&'static str, Value)>);

impl serde::Serialize for Fields {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

proptest! {
    #[test]
    fn agrees_with_serde_jcs(value in any_json()) {
        prop_assert_eq!(to_vec(&value), serde_jcs::to_vec(&value).unwrap());
    }

    /// A value that is written as a type is, and a type whose fields stand in any order.
    #[test]
    fn types_are_written_as_values_are(value in any_json(), order in Just(["z", "a\u{10000}", "a\u{e000}", "a\n", "a", "a!"]).prop_shuffle()) {
        prop_assert_eq!(of(&value).unwrap(), to_vec(&value));
        let fields = Fields(order.into_iter().map(|name| (name, value.clone())).collect());
        prop_assert_eq!(of(&fields).unwrap(), to_vec(&serde_json::to_value(&fields).unwrap()));
    }

    #[test]
    fn the_digest_is_that_of_the_bytes(value in any_json(), text in ".{0,3000}") {
        let value = json!([value, text, value]);
        prop_assert_eq!(digest(&value), Digest::of(&to_vec(&value)));
    }

    #[test]
    fn reads_back_as_the_same_value(value in any_json()) {
        let again: Value = serde_json::from_slice(&to_vec(&value)).unwrap();
        prop_assert_eq!(to_vec(&again), to_vec(&value));
    }
}

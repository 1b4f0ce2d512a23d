//! No known secret survives, and nothing else changes.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Redactor;

fn knowing(secrets: &[(&str, &str)]) -> Redactor {
    let mut redactor = Redactor::new();
    for (name, value) in secrets {
        redactor.register(&name.parse().unwrap(), value).unwrap();
    }
    redactor
}

#[test]
fn what_holds_no_secret_is_not_even_copied() {
    let value = json!({"a": ["b", 1, null]});
    assert!(matches!(Redactor::new().redact(&value), Cow::Borrowed(_)));
    assert!(matches!(knowing(&[("x", "secret")]).redact(&value), Cow::Borrowed(_)));
}

#[test]
fn the_longer_of_two_secrets_goes_first_and_names_do_not_swallow_each_other() {
    let redactor = knowing(&[("short", "abcd"), ("long", "abcdefgh")]);
    let value = json!({"abcd": 1, "abcdefgh": 2, "x": "abcdefghabcd", "[secret:short]": 3});
    let redacted = redactor.redact(&value).into_owned();
    assert_eq!(redacted["x"], "[secret:long][secret:short]");
    assert_eq!(redacted.as_object().unwrap().len(), 4);
    let text = redacted.to_string();
    assert!(!text.contains("abcd"), "{text}");
}

#[test]
fn a_secret_inside_nested_json_text_is_found() {
    let redactor = knowing(&[("p", "pa\"ss\\word")]);
    let inner = json!({"password": "pa\"ss\\word"}).to_string();
    let redacted = redactor.redact(&json!({ "stdout": inner })).into_owned();
    assert_eq!(redacted["stdout"], r#"{"password":"[secret:p]"}"#);
}

#[test]
fn nothing_is_told_by_the_debug_form() {
    assert!(!format!("{:?}", knowing(&[("p", "hunter22")])).contains("hunter"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-cS]{0,12}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-cS]{0,8}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_secret_survives_anywhere(value in any_json(), secret in "[a-c]{4,6}") {
        let redacted = knowing(&[("NAME", &secret)]).redact(&value).into_owned();
        let text = redacted.to_string();
        prop_assert!(!text.contains(&secret), "{} in {}", secret, text);
        if !value.to_string().contains(&secret) {
            prop_assert_eq!(redacted, value);
        }
    }
}

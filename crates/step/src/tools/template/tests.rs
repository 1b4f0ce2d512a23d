//! Templates: an argument is data in its place and nothing else.

use countersign_plan::tool::{CommandDriver, HttpDriver, Part};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{encode, header, holds_handle, pairs, part};
use crate::tools::testing::{Heard, Scene, alone};

#[test]
fn a_secret_goes_into_headers_only() {
    let handle = json!({"$secret": "k"});
    assert_eq!(header("a", &handle).unwrap().secret.as_deref(), Some("k"));
    let bearer = header("a", &json!(["Bearer ", handle])).unwrap();
    assert_eq!((bearer.value.as_str(), bearer.secret.as_deref()), ("Bearer ", Some("k")));
    assert_eq!(header("a", &json!("text")).unwrap().secret, None);
    for wrong in [
        json!({"$secret": 1}),
        json!({"$secret": "k", "more": 1}),
        json!(["a", "b"]),
        json!([{"$secret": "k"}]),
        json!(["a", {"$secret": "k"}, "b"]),
        json!({}),
        json!(null),
    ] {
        assert!(header("a", &wrong).is_err(), "{wrong}");
    }
    let place: Part = serde_json::from_value(json!({"arg": "/x"})).unwrap();
    assert!(part(&place, &json!({"x": handle})).unwrap_err().to_string().contains("$secret"));
    assert!(part(&place, &json!({"x": {"deep": [handle]}})).is_err());
    assert_eq!(part(&place, &json!({"x": true})).unwrap().as_deref(), Some("true"));
    assert_eq!(part(&place, &json!({})).unwrap(), None);
    assert!(holds_handle(&json!([[{"a": {"$secret": 1}}]])));
}

fn run(argv: Value, args: Value) -> Result<Value, String> {
    let _alone = alone();
    let scene = Scene::new();
    let driver: CommandDriver = serde_json::from_value(json!({"argv": argv})).unwrap();
    let order = scene.order("t", args, Some(countersign_plan::tool::Driver::Command(driver)));
    scene.ordered(&order, &mut Heard::default()).map(|seen| seen.output["stdout"].clone()).map_err(|e| e.to_string())
}

#[test]
fn lesson_07_an_argument_is_one_element_of_a_command_line_and_never_an_option() {
    let line = json!(["sh", "-c", "printf '<%s>' \"$@\"", "sh", {"arg": "/a"}, "mid", {"arg": "/n"}]);
    assert_eq!(
        run(line.clone(), json!({"a": "x; touch y $(id) `id`\n'\"", "n": 3})).unwrap(),
        "<x; touch y $(id) `id`\n'\"><mid><3>"
    );
    assert!(run(line.clone(), json!({"a": "-o", "n": 3})).unwrap_err().contains("option"));
    assert!(run(line.clone(), json!({"a": "x"})).unwrap_err().contains("absent"));
    assert!(run(line.clone(), json!({"a": ["x"], "n": 1})).unwrap_err().contains("/a"));
    assert!(run(line, json!({"a": {"$secret": "k"}, "n": 1})).unwrap_err().contains("$secret"));
    let after = json!(["sh", "-c", "printf '<%s>' \"$@\"", "sh", "--", {"arg": "/a"}]);
    assert_eq!(run(after, json!({"a": "-o"})).unwrap(), "<--><-o>");
    assert!(run(json!([{"arg": "/a"}]), json!({"a": "sh"})).unwrap_err().contains("literal"));
    assert!(run(json!([]), json!({})).is_err());
}

/// Percent-decoding as servers do it.
fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            out.push(u8::from_str_radix(std::str::from_utf8(&bytes[at + 1..at + 3]).unwrap(), 16).unwrap());
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

proptest! {
    #[test]
    fn whatever_an_argument_says_it_stays_one_segment_and_one_value(text in "\\PC{0,40}|[./%?#&=+ ]{0,8}") {
        let encoded = encode(&text);
        prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
        prop_assert_eq!(decode(&encoded), text.as_bytes());
        let query = pairs(&[("a".to_owned(), text.clone()), ("b".to_owned(), String::new())]);
        prop_assert_eq!(query.split('&').count(), 2);
        let driver: HttpDriver = serde_json::from_value(json!({"method": "GET", "url": "https://h.example:1/a/{x}/b"})).unwrap();
        match crate::tools::http::fetch(&driver, &json!({"x": text.clone()})) {
            Ok(fetch) => {
                let path = fetch.url.strip_prefix("https://h.example:1/a/").and_then(|rest| rest.strip_suffix("/b"));
                prop_assert_eq!(decode(path.unwrap()), text.as_bytes());
                prop_assert!(!path.unwrap().contains('/'));
            }
            Err(_) => prop_assert!(["", ".", ".."].contains(&text.as_str()), "{}", text),
        }
    }
}

//! Answers around, beside and instead of one JSON object.

use super::object;

fn refused(text: &str, part: &str) {
    let error = object(text).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn an_object_is_found_alone_in_a_fence_in_text_and_after_thinking() {
    for text in [
        r#"{"a": "}{"}"#,
        "```json\n{\"a\": 1}\n```",
        "Here it is: {\"a\": \"\\\"}\"} - done.",
        "<think>maybe {\"b\": 2}? no {</think>\n{\"a\": 1}",
    ] {
        assert!(object(text).unwrap().contains_key("a"), "{text}");
    }
}

#[test]
fn of_two_objects_none_is_chosen() {
    refused("{\"a\": 1} {\"a\": 2}", "more than one");
    refused("The file says {\"turn\": {}}, so: {\"turn\": {}}", "more than one");
    refused("{\"a\": 1} and {", "not closed");
}

#[test]
fn what_is_no_object_is_said() {
    refused("", "no JSON object");
    refused("I cannot do that.", "no JSON object");
    refused("[1, 2]", "no JSON object");
    refused("{\"a\": ", "not closed");
    refused("{'a': 1}", "line 1");
    refused("<think>{\"a\": 1}", "never ends");
}

#[test]
fn duplicate_keys_and_lone_surrogates_are_refused_at_their_place() {
    refused(r#"{"turn": {"p": 1, "\u0070": 2}}"#, "/turn/p");
    refused(r#"{"a": "\ud800"}"#, "/a");
    refused(r#"{"a": 9007199254740993}"#, "/a");
}

#[test]
fn lesson_19_a_bomb_of_braces_or_of_bytes_costs_no_more_than_its_length() {
    refused(&"{\"a\":".repeat(150_000), "not closed");
    refused(&format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)), "nested deeper");
    refused(&format!("{{\"a\": {}1{}}}", "[".repeat(400_000), "]".repeat(400_000)), "nested deeper");
    refused(&format!("{{\"a\": [{}1]}}", "1,".repeat(100_000)), "values");
    refused(&"x".repeat((1 << 20) + 1), "bytes");
    refused(&"{}".repeat(400_000), "more than one");
}

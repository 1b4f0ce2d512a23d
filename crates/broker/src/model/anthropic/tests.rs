//! What is asked, with and without a schema.

use countersign_wire::infer::{FailureKind, Message, Request, Role};
use serde_json::{Value, json};

use super::body;
use crate::configuration::Structured;

fn request(schema: Option<Value>) -> Request {
    let message = |role, content: &str| Message { role, content: content.to_owned() };
    let messages = vec![
        message(Role::System, "Plan."),
        message(Role::User, "Tidy up."),
        message(Role::Assistant, "What?"),
        message(Role::User, "The desk."),
    ];
    Request { messages, schema, max_tokens: 512 }
}

#[test]
fn the_system_message_stands_apart() {
    let expected = json!({
        "model": "m", "max_tokens": 512, "stream": true, "system": "Plan.",
        "messages": [{"role": "user", "content": "Tidy up."}, {"role": "assistant", "content": "What?"},
            {"role": "user", "content": "The desk."}],
    });
    assert_eq!(body(&request(None), "m", Structured::Tool).unwrap(), expected);
}

#[test]
fn a_schema_is_the_input_of_a_tool_that_has_to_be_used_once() {
    let schema = json!({"type": "object", "properties": {"steps": {"type": "array"}}});
    let body = body(&request(Some(schema.clone())), "m", Structured::Tool).unwrap();
    assert_eq!(body["tools"], json!([{"name": "answer", "description": "Gives the answer.", "input_schema": schema}]));
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "answer", "disable_parallel_tool_use": true}));
    let fault = super::body(&request(Some(json!({"type": "array"}))), "m", Structured::Tool).unwrap_err();
    assert_eq!(fault.kind, FailureKind::Rejected);
}

#[test]
fn a_schema_is_told_where_no_tool_is_wanted() {
    let body = body(&request(Some(json!({"type": "array"}))), "m", Structured::None).unwrap();
    let system = body["system"].as_str().unwrap();
    assert!(system.starts_with("Plan.\n\n") && system.ends_with(r#"{"type":"array"}"#), "{system}");
    assert_eq!(body.get("tools"), None);
}

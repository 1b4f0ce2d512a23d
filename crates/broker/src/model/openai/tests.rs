//! What is asked, for each way of being held to a schema.

use countersign_wire::infer::{FailureKind, Message, Request, Role};
use serde_json::{Value, json};

use super::{body, is_strict};
use crate::configuration::Structured;

fn request(schema: Option<Value>) -> Request {
    let message = |role, content: &str| Message { role, content: content.to_owned() };
    Request { messages: vec![message(Role::System, "Plan."), message(Role::User, "Tidy up.")], schema, max_tokens: 512 }
}

#[test]
fn a_request_without_schema_is_a_plain_stream() {
    let expected = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 512,
        "messages": [{"role": "system", "content": "Plan."}, {"role": "user", "content": "Tidy up."}],
    });
    for structured in [Structured::JsonSchema, Structured::Tool, Structured::None] {
        assert_eq!(body(&request(None), "m", structured, "max_tokens").unwrap(), expected);
    }
}

#[test]
fn a_schema_is_a_response_format_and_strict_only_where_it_is_taken_so() {
    let open = json!({"type": "object", "properties": {"args": {"type": "object"}}, "required": ["args"],
        "additionalProperties": false});
    let closed = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
        "additionalProperties": false});
    for (schema, strict) in [(open, false), (closed, true)] {
        let body = body(&request(Some(schema.clone())), "m", Structured::JsonSchema, "max_completion_tokens").unwrap();
        let format = json!({"type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": strict}});
        assert_eq!(body["response_format"], format);
        assert_eq!(body["max_completion_tokens"], 512);
        assert_eq!(body.get("max_tokens"), None);
    }
}

#[test]
fn an_optional_property_is_not_strict() {
    let optional = json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"],
        "additionalProperties": false});
    assert!(!is_strict(&optional));
    assert!(!is_strict(&json!({"anyOf": [{"type": "string"}, optional]})));
    assert!(is_strict(&json!({"type": "array", "items": {"enum": ["a", 1, null]}})));
}

#[test]
fn a_tool_carries_the_answer_where_there_is_no_response_format() {
    let schema = json!({"type": "object"});
    let body = body(&request(Some(schema.clone())), "m", Structured::Tool, "max_tokens").unwrap();
    assert_eq!(body["tools"][0]["function"]["parameters"], schema);
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "answer"}}));
    assert_eq!(body["parallel_tool_calls"], false);
    let fault = super::body(&request(Some(json!({"type": "array"}))), "m", Structured::Tool, "max_tokens").unwrap_err();
    assert_eq!(fault.kind, FailureKind::Rejected);
}

#[test]
fn a_schema_is_told_where_nothing_else_holds() {
    let mut asked = request(Some(json!({"type": "array"})));
    let told = body(&asked, "m", Structured::None, "max_tokens").unwrap();
    let system = told["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Plan.\n\n") && system.ends_with(r#"{"type":"array"}"#), "{system}");
    asked.messages.remove(0);
    let told = body(&asked, "m", Structured::None, "max_tokens").unwrap();
    assert_eq!(told["messages"][0]["role"], "system");
    assert_eq!(told["messages"][1]["content"], "Tidy up.");
}

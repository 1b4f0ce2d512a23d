//! Secrets stay here: what goes to a provider and what comes from it is searched for every value that the broker knows (INV-10).

use countersign_wire::infer::{Message, Request};
use serde_json::{Map, Value};

use countersign_secret::redact::Redactor;

/// A request without secrets: the planner may have read one in a file or in a tool's output.
pub(crate) fn request(secrets: &Redactor, request: Request) -> Request {
    let messages = request.messages.into_iter();
    Request {
        messages: messages.map(|m| Message { role: m.role, content: secrets.redact_text(&m.content) }).collect(),
        schema: request.schema.map(|schema| value(secrets, schema)),
        max_tokens: request.max_tokens,
    }
}

/// An answer's text without secrets, as it stands and as whoever reads it as JSON will see it: `\u0073` is an `s`, too.
pub(crate) fn answer(secrets: &Redactor, text: &str) -> String {
    let clean = secrets.redact_text(text);
    if !clean.contains('\\') {
        return clean;
    }
    let Ok(document) = serde_json::from_str::<Value>(&clean) else { return clean };
    let redacted = value(secrets, document.clone());
    // Only a document that hid a secret is written anew: otherwise the text stays as the model wrote it.
    if redacted == document { clean } else { redacted.to_string() }
}

fn value(secrets: &Redactor, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(secrets.redact_text(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| self::value(secrets, item)).collect()),
        Value::Object(fields) => {
            let fields =
                fields.into_iter().map(|(name, field)| (secrets.redact_text(&name), self::value(secrets, field)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

#[cfg(test)]
mod tests {
    use countersign_secret::redact::Redactor;
    use countersign_wire::infer::{Message, Request, Role};
    use serde_json::json;

    use super::{answer, request};

    fn secrets() -> Redactor {
        Redactor::of([("door", b"hunter2".as_slice())])
    }

    #[test]
    fn a_secret_goes_to_no_provider() {
        let message = Message { role: Role::User, content: "the file says hunter2!".to_owned() };
        let schema = json!({"enum": ["hunter2"], "properties": {"hunter2": {}}});
        let clean = request(&secrets(), Request { messages: vec![message], schema: Some(schema), max_tokens: 1 });
        let text = serde_json::to_string(&clean).unwrap();
        assert!(!text.contains("hunter2") && text.matches("[secret door]").count() == 3, "{text}");
    }

    #[test]
    fn a_secret_comes_from_no_provider_however_it_is_spelled() {
        assert_eq!(answer(&secrets(), "it is hunter2"), "it is [secret door]");
        let spelled = r#"{"steps": [{"args": {"q\u0068": "\u0068unter2", "\u0068unter2": 1}}]}"#;
        let clean = answer(&secrets(), spelled);
        assert!(!clean.contains("unter2"), "{clean}");
        let own = r#"{"a":  "line\n", "b": 1.50}"#;
        assert_eq!(answer(&secrets(), own), own);
    }
}

//! Chat completions, the dialect of OpenAI, vLLM, llama.cpp, Ollama and most gateways: a request to its body, a stream of
//! chunks (or one whole completion) to what the model wrote.

use countersign_wire::infer::{Finish, Message, Request, Role};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::{self, Fault};
use super::written::{self, Arrived, TOOL, Text, Written};
use crate::configuration::Structured;

/// What is asked of the provider.
///
/// # Errors
/// A schema that cannot be a function's parameters.
pub(crate) fn body(request: &Request, model: &str, structured: Structured, limit: &str) -> Result<Value, Fault> {
    let mut messages = request.messages.clone();
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    put("model", json!(model));
    put("stream", json!(true));
    put("stream_options", json!({"include_usage": true}));
    put(limit, json!(request.max_tokens));
    if let Some(schema) = &request.schema {
        match structured {
            Structured::JsonSchema => {
                let format = json!({"name": TOOL, "schema": schema, "strict": is_strict(schema)});
                put("response_format", json!({"type": "json_schema", "json_schema": format}));
            }
            Structured::Tool => {
                written::is_object(schema)?;
                let function = json!({"name": TOOL, "description": "Gives the answer.", "parameters": schema});
                put("tools", json!([{"type": "function", "function": function}]));
                put("tool_choice", json!({"type": "function", "function": {"name": TOOL}}));
                put("parallel_tool_calls", json!(false));
            }
            Structured::None => ask_in_words(&mut messages, schema),
        }
    }
    // The neutral form of a message is this dialect's own.
    put("messages", json!(messages));
    Ok(Value::Object(body))
}

/// Where the provider cannot be held to a schema, it is told.
fn ask_in_words(messages: &mut Vec<Message>, schema: &Value) {
    let words = written::in_words(schema);
    match messages.first_mut().filter(|first| first.role == Role::System) {
        Some(first) => first.content = format!("{}\n\n{words}", first.content),
        None => messages.insert(0, Message { role: Role::System, content: words }),
    }
}

/// Whether every object of a schema lists all that it may hold and requires it: only such a schema is taken as strict, and
/// any other one is refused there.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(node) => {
            let properties = node.get("properties").and_then(Value::as_object);
            let is_object = properties.is_some() || node.get("type").is_some_and(|t| t == "object");
            let required = node.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            let closed = node.get("additionalProperties") == Some(&Value::Bool(false));
            (!is_object || (closed && required == properties.map_or(0, serde_json::Map::len)))
                && node.values().all(is_strict)
        }
        Value::Array(nodes) => nodes.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// What has arrived of an answer.
#[derive(Debug)]
pub(crate) struct Chunks {
    so_far: Arrived,
    refusal: Option<Text>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    /// Of a stream.
    #[serde(default)]
    delta: Option<Delta>,
    /// Of a whole completion.
    #[serde(default)]
    message: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
    /// The older form of a call, which some servers write beside the newer one.
    #[serde(default)]
    function_call: Option<Function>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
}

impl Chunks {
    pub(crate) fn new(offered: bool) -> Self {
        Self { so_far: Arrived::nothing(offered), refusal: None }
    }

    /// Takes the data of an event.
    ///
    /// # Errors
    /// It is no chunk, an error of the provider, or over a bound.
    pub(crate) fn event(&mut self, data: &str) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            self.so_far.done = true;
            return Ok(());
        }
        self.whole(data.as_bytes())
    }

    /// Takes a whole completion, or the JSON of one chunk.
    ///
    /// # Errors
    /// As [`Self::event`].
    pub(crate) fn whole(&mut self, json: &[u8]) -> Result<(), Fault> {
        let chunk: Chunk = serde_json::from_slice(json)
            .map_err(|e| Fault::garbage(format!("a part of the answer is no chat completion: {e}")))?;
        if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
            return Err(fault::of_event(&error));
        }
        if let Some(model) = chunk.model
            && self.so_far.model.is_empty()
        {
            self.so_far.model = model;
        }
        if let Some(usage) = chunk.usage {
            self.so_far.usage.raise(usage.prompt_tokens, usage.completion_tokens);
        }
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index != 0 {
                return Err(Fault::garbage("several answers, but one was asked for"));
            }
            for delta in [choice.delta, choice.message].into_iter().flatten() {
                self.delta(delta)?;
            }
            if let Some(reason) = choice.finish_reason {
                self.end(&reason)?;
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta) -> Result<(), Fault> {
        let content = delta.content.unwrap_or_default();
        let refusal = delta.refusal.unwrap_or_default();
        let calls = delta.tool_calls.unwrap_or_default();
        if !(content.is_empty() && refusal.is_empty() && calls.is_empty()) {
            self.so_far.goes_on()?;
        }
        self.so_far.text.push(&content)?;
        if !refusal.is_empty() {
            self.refusal.get_or_insert_default().push(&refusal)?;
        }
        let older = delta.function_call.filter(|_| calls.is_empty());
        if let Some(function) = older {
            self.called(ToolCall { index: 0, function: Some(function) })?;
        }
        for call in calls {
            self.called(call)?;
        }
        Ok(())
    }

    fn called(&mut self, call: ToolCall) -> Result<(), Fault> {
        let Some(function) = call.function else { return Ok(()) };
        // A chunk that goes on with the arguments names the tool no more.
        self.so_far.may_call(function.name.as_deref().filter(|name| !name.is_empty()))?;
        if call.index != 0 {
            return Err(written::several_calls());
        }
        self.so_far.call.get_or_insert_default().push(&function.arguments.unwrap_or_default())
    }

    fn end(&mut self, reason: &str) -> Result<(), Fault> {
        self.so_far.finish = Some(match reason {
            "stop" | "eos" => Finish::Stop,
            "tool_calls" | "function_call" if self.so_far.offered => Finish::Stop,
            "length" => Finish::Length,
            "content_filter" => Finish::Refusal,
            "error" => return Err(Fault::unavailable("the provider failed in the middle of the answer").midway()),
            other => return Err(written::odd_end(other)),
        });
        Ok(())
    }

    /// Whether the provider said that nothing follows.
    pub(crate) const fn done(&self) -> bool {
        self.so_far.done
    }

    /// Bytes of the answer so far.
    pub(crate) fn bytes(&self) -> usize {
        [Some(&self.so_far.text), self.so_far.call.as_ref(), self.refusal.as_ref()]
            .into_iter()
            .flatten()
            .map(Text::len)
            .sum()
    }

    /// What the model wrote, once no more bytes come.
    ///
    /// # Errors
    /// The answer does not end.
    pub(crate) fn finish(self) -> Result<Written, Fault> {
        // A refusal is the whole answer, whatever stood before it; the tool's arguments are, where it was called.
        let refusal = self.refusal;
        self.so_far.end(|text, call, finish| match refusal {
            Some(refusal) => (refusal, Finish::Refusal),
            None => (call.unwrap_or(text), finish),
        })
    }
}

#[cfg(test)]
mod tests;

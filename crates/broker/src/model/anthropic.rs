//! Anthropic's Messages: a request to its body, a stream of events (or one whole message) to what the model wrote.
//!
//! A schema becomes the input of one tool that the model has to use; the tool's input is the answer.

use countersign_wire::infer::{Finish, Request, Role};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::{self, Fault};
use super::written::{self, Arrived, TOOL, Text, Written};
use crate::configuration::Structured;

/// The version of the protocol.
pub(crate) const VERSION: &str = "2023-06-01";

/// What is asked of the provider.
///
/// # Errors
/// A schema that cannot be a tool's input.
pub(crate) fn body(request: &Request, model: &str, structured: Structured) -> Result<Value, Fault> {
    let mut system = String::new();
    let mut messages = Vec::new();
    for message in &request.messages {
        let role = match message.role {
            Role::System => {
                system.push_str(&message.content);
                continue;
            }
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        messages.push(json!({"role": role, "content": message.content}));
    }
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    put("model", json!(model));
    put("max_tokens", json!(request.max_tokens));
    put("stream", json!(true));
    put("messages", Value::Array(messages));
    if let Some(schema) = &request.schema {
        match structured {
            Structured::JsonSchema | Structured::Tool => {
                written::is_object(schema)?;
                put("tools", json!([{"name": TOOL, "description": "Gives the answer.", "input_schema": schema}]));
                put("tool_choice", json!({"type": "tool", "name": TOOL, "disable_parallel_tool_use": true}));
            }
            Structured::None => {
                if !system.is_empty() {
                    system.push_str("\n\n");
                }
                system.push_str(&written::in_words(schema));
            }
        }
    }
    if !system.is_empty() {
        put("system", Value::String(system));
    }
    Ok(Value::Object(body))
}

/// What has arrived of an answer.
#[derive(Debug)]
pub(crate) struct Blocks {
    begun: bool,
    open: Option<(u64, Block)>,
    so_far: Arrived,
}

/// A kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Tool,
    /// Thoughts: read over.
    Thinking,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    content_block: Option<Content>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    content: Vec<Content>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

impl Blocks {
    pub(crate) fn new(offered: bool) -> Self {
        Self { begun: false, open: None, so_far: Arrived::nothing(offered) }
    }

    /// Takes the data of an event. Kinds of events that this version does not know mean nothing, as the protocol asks.
    ///
    /// # Errors
    /// It is no event of the protocol, an error of the provider, out of order, or over a bound.
    pub(crate) fn event(&mut self, data: &str) -> Result<(), Fault> {
        let event: Event = serde_json::from_str(data).map_err(|e| not_ours(&e))?;
        match event.kind.as_str() {
            "error" => Err(fault::of_event(&event.error.unwrap_or(Value::Null))),
            "message_start" => match event.message {
                Some(message) if !self.begun => {
                    self.begun = true;
                    self.head(&message);
                    Ok(())
                }
                Some(_) | None => Err(Fault::garbage("a second beginning of the answer, or one without a message")),
            },
            "content_block_start" => self.block(event.index, event.content_block),
            "content_block_delta" => self.delta(event.index, event.delta),
            "content_block_stop" => {
                self.open = None;
                Ok(())
            }
            "message_delta" => {
                if let Some(usage) = event.usage {
                    self.count(&usage);
                }
                event.delta.and_then(|d| d.stop_reason).map_or(Ok(()), |reason| self.end(&reason))
            }
            "message_stop" => {
                self.so_far.done = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes a whole message.
    ///
    /// # Errors
    /// As [`Self::event`].
    pub(crate) fn whole(&mut self, json: &[u8]) -> Result<(), Fault> {
        let outer: Event = serde_json::from_slice(json).map_err(|e| not_ours(&e))?;
        if outer.kind == "error" {
            return Err(fault::of_event(&outer.error.unwrap_or(Value::Null)));
        }
        if outer.kind != "message" {
            return Err(Fault::garbage("the answer is no message"));
        }
        let message: Message = serde_json::from_slice(json).map_err(|e| not_ours(&e))?;
        self.head(&message);
        for (index, content) in (0..).zip(message.content) {
            let input = content.input.clone().filter(|_| content.kind == "tool_use");
            self.block(Some(index), Some(content))?;
            if let (Some(input), Some(call)) = (input, &mut self.so_far.call) {
                call.push(&input.to_string())?;
            }
        }
        self.open = None;
        self.so_far.done = true;
        message.stop_reason.map_or(Ok(()), |reason| self.end(&reason))
    }

    fn head(&mut self, message: &Message) {
        self.so_far.model = message.model.clone().unwrap_or_default();
        if let Some(usage) = &message.usage {
            self.count(usage);
        }
    }

    fn count(&mut self, usage: &Usage) {
        let cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
        let input = usage.input_tokens.map(|own| cached.into_iter().flatten().fold(own, u64::saturating_add));
        self.so_far.usage.raise(input, usage.output_tokens);
    }

    fn block(&mut self, index: Option<u64>, content: Option<Content>) -> Result<(), Fault> {
        let (Some(index), Some(content)) = (index, content) else {
            return Err(Fault::garbage("a part of the answer without content"));
        };
        self.so_far.goes_on()?;
        let kind = match content.kind.as_str() {
            "text" => {
                self.so_far.text.push(&content.text.unwrap_or_default())?;
                Block::Text
            }
            "thinking" | "redacted_thinking" => Block::Thinking,
            "tool_use" => {
                self.called(content.name.as_deref().unwrap_or_default())?;
                Block::Tool
            }
            other => {
                let other = fault::excerpt(other);
                return Err(Fault::garbage(format!("a part of the answer is of the unknown kind `{other}`")));
            }
        };
        self.open = Some((index, kind));
        Ok(())
    }

    fn called(&mut self, name: &str) -> Result<(), Fault> {
        self.so_far.may_call(Some(name))?;
        if self.so_far.call.replace(Text::default()).is_some() {
            return Err(written::several_calls());
        }
        Ok(())
    }

    fn delta(&mut self, index: Option<u64>, delta: Option<Delta>) -> Result<(), Fault> {
        let open = self.open.filter(|(open, _)| Some(*open) == index);
        let (Some((_, block)), Some(delta)) = (open, delta) else {
            return Err(Fault::garbage("a part of the answer that belongs to nothing"));
        };
        self.so_far.goes_on()?;
        match (delta.kind.as_deref(), block, &mut self.so_far.call) {
            (Some("text_delta"), Block::Text, _) => self.so_far.text.push(&delta.text.unwrap_or_default()),
            (Some("input_json_delta"), Block::Tool, Some(call)) => call.push(&delta.partial_json.unwrap_or_default()),
            (Some("text_delta" | "input_json_delta"), _, _) => {
                Err(Fault::garbage("a part of the answer of another kind than announced"))
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, reason: &str) -> Result<(), Fault> {
        self.so_far.finish = Some(match reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "tool_use" if self.so_far.call.is_some() => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::Refusal,
            "pause_turn" => {
                return Err(Fault::garbage("the model paused for a tool of the provider; none was asked for"));
            }
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
        self.so_far.text.len() + self.so_far.call.as_ref().map_or(0, Text::len)
    }

    /// What the model wrote, once no more bytes come.
    ///
    /// # Errors
    /// The answer does not end.
    pub(crate) fn finish(self) -> Result<Written, Fault> {
        // What the model said before it used the tool is no part of the answer; a refusal's words are.
        self.so_far.end(|text, call, finish| (call.filter(|_| finish != Finish::Refusal).unwrap_or(text), finish))
    }
}

fn not_ours(error: &serde_json::Error) -> Fault {
    Fault::garbage(format!("a part of the answer is no event of the protocol: {error}"))
}

#[cfg(test)]
mod tests;

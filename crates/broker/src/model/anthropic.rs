//! Anthropic's Messages: a request to its body, a stream of events (or one whole message) to what the model wrote.
//!
//! A schema becomes the input of one tool that the model has to use; the tool's input is the answer.

use countersign_wire::infer::{Finish, Request, Role};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::{self, Fault};
use super::written::{self, Claimed, TOOL, Text, Written};
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
    /// Whether the tool that carries the answer was offered.
    offered: bool,
    begun: bool,
    open: Option<(u64, Block)>,
    text: Text,
    call: Option<Text>,
    finish: Option<Finish>,
    model: String,
    usage: Claimed,
    done: bool,
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
        Self {
            offered,
            begun: false,
            open: None,
            text: Text::default(),
            call: None,
            finish: None,
            model: String::new(),
            usage: Claimed::default(),
            done: false,
        }
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
                self.done = true;
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
            if let (Some(input), Some(call)) = (input, &mut self.call) {
                call.push(&input.to_string())?;
            }
        }
        self.open = None;
        self.done = true;
        message.stop_reason.map_or(Ok(()), |reason| self.end(&reason))
    }

    fn head(&mut self, message: &Message) {
        self.model = message.model.clone().unwrap_or_default();
        if let Some(usage) = &message.usage {
            self.count(usage);
        }
    }

    fn count(&mut self, usage: &Usage) {
        let cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
        let input = usage.input_tokens.map(|own| cached.into_iter().flatten().fold(own, u64::saturating_add));
        self.usage.raise(input, usage.output_tokens);
    }

    fn block(&mut self, index: Option<u64>, content: Option<Content>) -> Result<(), Fault> {
        let (Some(index), Some(content)) = (index, content) else {
            return Err(Fault::garbage("a part of the answer without content"));
        };
        if self.finish.is_some() {
            return Err(Fault::garbage("the answer goes on after its end"));
        }
        let kind = match content.kind.as_str() {
            "text" => {
                self.text.push(&content.text.unwrap_or_default())?;
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
        if !self.offered {
            return Err(Fault::garbage("the model called a tool, but it was given none"));
        }
        if name != TOOL {
            let name = fault::excerpt(name);
            return Err(Fault::garbage(format!("the model called the tool `{name}`, which it was not given")));
        }
        if self.call.is_some() {
            return Err(Fault::garbage("several tool calls, but one answer was asked for"));
        }
        self.call = Some(Text::default());
        Ok(())
    }

    fn delta(&mut self, index: Option<u64>, delta: Option<Delta>) -> Result<(), Fault> {
        let open = self.open.filter(|(open, _)| Some(*open) == index);
        let (Some((_, block)), Some(delta)) = (open, delta) else {
            return Err(Fault::garbage("a part of the answer that belongs to nothing"));
        };
        if self.finish.is_some() {
            return Err(Fault::garbage("the answer goes on after its end"));
        }
        match (delta.kind.as_deref(), block, &mut self.call) {
            (Some("text_delta"), Block::Text, _) => self.text.push(&delta.text.unwrap_or_default()),
            (Some("input_json_delta"), Block::Tool, Some(call)) => call.push(&delta.partial_json.unwrap_or_default()),
            (Some("text_delta" | "input_json_delta"), _, _) => {
                Err(Fault::garbage("a part of the answer of another kind than announced"))
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, reason: &str) -> Result<(), Fault> {
        self.finish = Some(match reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "tool_use" if self.call.is_some() => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::Refusal,
            "pause_turn" => {
                return Err(Fault::garbage("the model paused for a tool of the provider; none was asked for"));
            }
            other => {
                let other = fault::excerpt(other);
                return Err(Fault::garbage(format!("the answer ends for the unknown reason `{other}`")));
            }
        });
        Ok(())
    }

    /// Whether the provider said that nothing follows.
    pub(crate) const fn done(&self) -> bool {
        self.done
    }

    /// Bytes of the answer so far.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.call.as_ref().map_or(0, Text::len)
    }

    /// What the model wrote, once no more bytes come.
    ///
    /// # Errors
    /// The answer does not end.
    pub(crate) fn finish(self) -> Result<Written, Fault> {
        let Some(finish) = self.finish else {
            return Err(if self.done {
                Fault::garbage("the answer ends without a reason to end")
            } else {
                Fault::unavailable("the answer broke off before its end")
            });
        };
        // What the model said before it used the tool is no part of the answer; a refusal's words are.
        let text = match self.call {
            Some(call) if finish != Finish::Refusal => call.into_string(),
            Some(_) | None => self.text.into_string(),
        };
        Written { text, finish, model: self.model, usage: self.usage }.checked()
    }
}

fn not_ours(error: &serde_json::Error) -> Fault {
    Fault::garbage(format!("a part of the answer is no event of the protocol: {error}"))
}

#[cfg(test)]
mod tests;

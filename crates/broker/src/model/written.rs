//! What a model wrote, as far as a dialect can tell, and what the dialects share.

use countersign_wire::infer::{ANSWER_LIMIT, Finish};
use serde_json::Value;

use super::fault::{Fault, excerpt};

/// The name of the one tool, whose arguments are the answer, and of the schema.
pub(crate) const TOOL: &str = "answer";

/// What a model wrote. Untrusted: neither redacted nor compared with the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The answer.
    pub(crate) text: String,
    /// Why it ends.
    pub(crate) finish: Finish,
    /// The model as the provider names it; may be empty.
    pub(crate) model: String,
    /// What the provider says it used.
    pub(crate) usage: Claimed,
}

impl Written {
    /// Itself, unless it says nothing at all.
    pub(crate) fn checked(self) -> Result<Self, Fault> {
        if self.text.is_empty() && self.finish == Finish::Stop {
            return Err(Fault::garbage("the answer is empty"));
        }
        Ok(self)
    }
}

/// Tokens as the provider counts them, where it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// Of the request.
    pub(crate) input: Option<u64>,
    /// Of the answer.
    pub(crate) output: Option<u64>,
}

impl Claimed {
    /// Takes a newer count. Counts are running totals: a smaller one later takes nothing back.
    pub(crate) fn raise(&mut self, input: Option<u64>, output: Option<u64>) {
        self.input = self.input.max(input);
        self.output = self.output.max(output);
    }
}

/// Text that grows up to [`ANSWER_LIMIT`].
#[derive(Debug, Default)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn push(&mut self, part: &str) -> Result<(), Fault> {
        if self.0.len() + part.len() > ANSWER_LIMIT {
            return Err(Fault::garbage(format!("the answer is longer than {ANSWER_LIMIT} bytes")));
        }
        self.0.push_str(part);
        Ok(())
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// What of an answer has arrived, in either dialect.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// Whether the tool that carries the answer was offered.
    pub(crate) offered: bool,
    pub(crate) text: Text,
    /// The arguments of the tool.
    pub(crate) call: Option<Text>,
    pub(crate) finish: Option<Finish>,
    pub(crate) model: String,
    pub(crate) usage: Claimed,
    /// Whether the provider said that nothing follows.
    pub(crate) done: bool,
}

impl Arrived {
    /// Nothing yet.
    pub(crate) fn nothing(offered: bool) -> Self {
        Self {
            offered,
            text: Text::default(),
            call: None,
            finish: None,
            model: String::new(),
            usage: Claimed::default(),
            done: false,
        }
    }

    /// Whether more of the answer may come.
    ///
    /// # Errors
    /// It ended before.
    pub(crate) fn goes_on(&self) -> Result<(), Fault> {
        if self.finish.is_some() { Err(Fault::garbage("the answer goes on after its end")) } else { Ok(()) }
    }

    /// Whether a tool may be called by this name, or by none where the dialect said it before.
    ///
    /// # Errors
    /// None was offered, or another one.
    pub(crate) fn may_call(&self, name: Option<&str>) -> Result<(), Fault> {
        if !self.offered {
            return Err(Fault::garbage("the model called a tool, but it was given none"));
        }
        match name.filter(|name| *name != TOOL) {
            None => Ok(()),
            Some(name) => {
                let name = excerpt(name);
                Err(Fault::garbage(format!("the model called the tool `{name}`, which it was not given")))
            }
        }
    }

    /// What the model wrote, once no more bytes come, in these words.
    ///
    /// # Errors
    /// The answer does not end.
    pub(crate) fn end(
        self,
        words: impl FnOnce(Text, Option<Text>, Finish) -> (Text, Finish),
    ) -> Result<Written, Fault> {
        let Some(finish) = self.finish else {
            return Err(if self.done {
                Fault::garbage("the answer ends without a reason to end")
            } else {
                Fault::unavailable("the answer broke off before its end")
            });
        };
        let (text, finish) = words(self.text, self.call, finish);
        Written { text: text.into_string(), finish, model: self.model, usage: self.usage }.checked()
    }
}

/// More than one call, where one answer was asked for.
pub(crate) fn several_calls() -> Fault {
    Fault::garbage("several tool calls, but one answer was asked for")
}

/// An end for a reason that this version does not know.
pub(crate) fn odd_end(reason: &str) -> Fault {
    let reason = excerpt(reason);
    Fault::garbage(format!("the answer ends for the unknown reason `{reason}`"))
}

/// A tool's parameters are an object; no provider takes another schema there.
pub(crate) fn is_object(schema: &Value) -> Result<(), Fault> {
    if schema.get("type").is_some_and(|t| t == "object") {
        return Ok(());
    }
    Err(Fault::rejected("the schema's root is not of the type `object`, and as a tool's parameters it has to be"))
}

/// What a model is told that cannot be held to a schema.
pub(crate) fn in_words(schema: &Value) -> String {
    format!("Answer with one JSON document and nothing else. It has to satisfy this JSON Schema:\n{schema}")
}

//! Reads the body of an answer with the status `200`, chunk by chunk, within bounds.

use super::anthropic::Blocks;
use super::fault::Fault;
use super::openai::Chunks;
use super::sse::Events;
use super::written::Written;

/// The most bytes of a body, framing included.
pub(crate) const BODY_LIMIT: usize = 16 << 20;
/// The most bytes of a body that is one JSON document.
pub(crate) const WHOLE_LIMIT: usize = 8 << 20;

/// What has arrived, by dialect.
#[derive(Debug)]
pub(crate) enum Parts {
    /// Chat completions.
    Openai(Chunks),
    /// Messages.
    Anthropic(Blocks),
}

/// A body that is being read.
#[derive(Debug)]
pub(crate) struct Reading {
    form: Form,
    parts: Parts,
    received: usize,
}

#[derive(Debug)]
enum Form {
    Stream(Events),
    /// One document: some gateways do not stream, whatever is asked.
    Whole(Vec<u8>),
}

impl Reading {
    /// Begins, by the answer's `content-type`.
    ///
    /// # Errors
    /// A type that is neither a stream of events nor JSON, such as the page of a proxy.
    pub(crate) fn begin(content_type: &str, parts: Parts) -> Result<Self, Fault> {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let form = match kind.as_str() {
            "text/event-stream" => Form::Stream(Events::default()),
            "application/json" => Form::Whole(Vec::new()),
            _ => {
                let kind = super::fault::excerpt(&kind);
                let message = format!("the answer is of the type `{kind}`; is the address that of a model provider?");
                return Err(Fault::garbage(message));
            }
        };
        Ok(Self { form, parts, received: 0 })
    }

    /// Takes the next chunk. An error ends the reading: what came before it is not an answer.
    ///
    /// # Errors
    /// No answer of that protocol, an error of the provider, or over a bound.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Result<(), Fault> {
        // What fits is read first, so that the outcome does not depend on how the bytes were cut.
        let room = BODY_LIMIT - self.received;
        let fits = chunk.get(..room).unwrap_or(chunk);
        self.received += fits.len();
        let taken = self.read(fits);
        if taken.is_ok() && fits.len() < chunk.len() && !self.done() {
            return Err(Fault::garbage(format!("the answer's body is longer than {BODY_LIMIT} bytes")));
        }
        taken.map_err(|fault| self.seen(fault))
    }

    fn read(&mut self, mut chunk: &[u8]) -> Result<(), Fault> {
        let events = match &mut self.form {
            Form::Whole(body) => {
                if body.len() + chunk.len() > WHOLE_LIMIT {
                    return Err(Fault::garbage(format!("the answer's document is longer than {WHOLE_LIMIT} bytes")));
                }
                body.extend_from_slice(chunk);
                return Ok(());
            }
            Form::Stream(events) => events,
        };
        while !self.parts.done()
            && let Some(event) = events.next(&mut chunk).map_err(|e| Fault::garbage(format!("the answer has {e}")))?
        {
            match &mut self.parts {
                Parts::Openai(chunks) => chunks.event(&event.data)?,
                Parts::Anthropic(blocks) => blocks.event(&event.data)?,
            }
        }
        Ok(())
    }

    /// Whether the provider said that nothing follows: the rest of the body is not read.
    pub(crate) fn done(&self) -> bool {
        self.parts.done()
    }

    /// Bytes of the answer so far.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.bytes()
    }

    /// A fault at this point: once the model has begun to answer, it is not asked again.
    pub(crate) fn seen(&self, fault: Fault) -> Fault {
        if self.bytes() > 0 { fault.midway() } else { fault }
    }

    /// What the model wrote, once the body has ended or [`Self::done`] holds.
    ///
    /// # Errors
    /// The answer is not whole.
    pub(crate) fn finish(mut self) -> Result<Written, Fault> {
        if let Form::Whole(body) = &self.form {
            match &mut self.parts {
                Parts::Openai(chunks) => chunks.whole(body)?,
                Parts::Anthropic(blocks) => blocks.whole(body)?,
            }
        }
        let begun = self.bytes() > 0;
        let written = match self.parts {
            Parts::Openai(chunks) => chunks.finish(),
            Parts::Anthropic(blocks) => blocks.finish(),
        };
        written.map_err(|fault| if begun { fault.midway() } else { fault })
    }
}

impl Parts {
    const fn done(&self) -> bool {
        match self {
            Self::Openai(chunks) => chunks.done(),
            Self::Anthropic(blocks) => blocks.done(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Openai(chunks) => chunks.bytes(),
            Self::Anthropic(blocks) => blocks.bytes(),
        }
    }
}

#[cfg(test)]
mod tests;

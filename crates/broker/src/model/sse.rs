//! Server-sent events, read as they arrive (WHATWG HTML, section 9.2.6), within a bound.
//!
//! Of the fields only `event` and `data` mean something here: nobody reconnects to a model, so `id` and `retry` are dropped.
//! Bytes that are no UTF-8 are an error and not replaced: an answer that was mended is not what the model wrote.

/// The longest event, in bytes of its lines.
pub(crate) const EVENT_LIMIT: usize = 1 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type; empty where the server gave none.
    pub(crate) name: String,
    /// Its data: the `data` lines, joined by line feeds.
    pub(crate) data: String,
}

/// Why a stream is no stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EventError {
    /// An event grows without end.
    #[error("an event of more than {EVENT_LIMIT} bytes")]
    Oversize,
    /// Not UTF-8.
    #[error("an event that is not UTF-8")]
    Encoding,
}

/// A reader of events: bytes in, events out, whatever the boundaries of the chunks.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return, so a line feed now belongs to it.
    after_return: bool,
    /// The first line was read: a byte order mark counts only before it.
    begun: bool,
}

impl Events {
    /// The next event of `bytes`, which is shortened by what was read; nothing when more bytes are needed.
    ///
    /// # Errors
    /// The stream is over its bound or not UTF-8. The reader is of no use after that.
    pub(crate) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Event>, EventError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                *bytes = rest;
                continue;
            }
            let Some((line, end, rest)) = cut(bytes) else {
                self.keep(bytes)?;
                *bytes = &[];
                break;
            };
            self.keep(line)?;
            self.after_return = end == b'\r';
            *bytes = rest;
            if let Some(event) = self.end_of_line()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), EventError> {
        if self.line.len() + self.data.len() + part.len() > EVENT_LIMIT {
            return Err(EventError::Oversize);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<Option<Event>, EventError> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let mut parts = line.splitn(2, |b| *b == b':');
        let field = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.name = value.to_vec(),
            // A comment (an empty field), `id`, `retry`, and what the standard says to ignore.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Result<Option<Event>, EventError> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return Ok(None);
        }
        let text = |bytes| String::from_utf8(bytes).map_err(|_| EventError::Encoding);
        Ok(Some(Event { name: text(name)?, data: text(data)? }))
    }
}

/// The bytes before the first end of a line, that end, and the bytes after it.
fn cut(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let at = bytes.iter().position(|b| matches!(b, b'\n' | b'\r'))?;
    let (line, rest) = bytes.split_at_checked(at)?;
    let (end, rest) = rest.split_first()?;
    Some((line, *end, rest))
}

#[cfg(test)]
mod tests;

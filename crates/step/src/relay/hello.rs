//! The name in a TLS client's first message (RFC 8446, section 4.1.2; RFC 6066, section 3), so that a tunnel to a granted host is
//! not used to ask that host's machine for another one (SANDBOX probe 94). What is inside the encryption nobody sees here.

/// The largest record (RFC 8446, section 5.1), and the header before it.
const RECORD: usize = 1 << 14;
const HEADER: usize = 5;

/// What the first bytes of a tunnel are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// Too few to say.
    Partial,
    /// Not TLS.
    Other,
    /// The greeting of a TLS client, and the name that it asks for.
    Greeting(Option<String>),
    /// TLS, in a form that no client sends and that hides the name.
    Odd,
}

/// Reads the first bytes of a tunnel.
pub(crate) fn read(bytes: &[u8]) -> Hello {
    match bytes {
        [] | [0x16] => Hello::Partial,
        [0x16, 0x03, ..] => record(bytes),
        _ => Hello::Other,
    }
}

fn record(bytes: &[u8]) -> Hello {
    let Some((head, rest)) = bytes.split_first_chunk::<HEADER>() else { return Hello::Partial };
    let [_, _, _, high, low] = *head;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > RECORD {
        return Hello::Odd;
    }
    match rest.get(..length) {
        None => Hello::Partial,
        Some(message) => greeting(message).unwrap_or(Hello::Odd),
    }
}

/// A greeting that is whole in one record; `None` for anything else.
fn greeting(mut message: &[u8]) -> Option<Hello> {
    if take(&mut message, 1)? != [1] {
        return None;
    }
    let mut body = counted(&mut message, 3)?;
    take(&mut body, 2 + 32)?;
    counted(&mut body, 1)?;
    counted(&mut body, 2)?;
    counted(&mut body, 1)?;
    if body.is_empty() {
        return Some(Hello::Greeting(None));
    }
    let mut extensions = counted(&mut body, 2)?;
    let mut found = None;
    while !extensions.is_empty() {
        let kind = take(&mut extensions, 2)?;
        let mut content = counted(&mut extensions, 2)?;
        if kind != [0, 0] {
            continue;
        }
        let mut names = counted(&mut content, 2)?;
        // One name, of the only kind that there is; a second one would be a way to show two faces.
        if take(&mut names, 1)? != [0] || found.is_some() {
            return None;
        }
        let name = counted(&mut names, 2)?;
        if !names.is_empty() {
            return None;
        }
        found = Some(std::str::from_utf8(name).ok()?.to_ascii_lowercase());
    }
    Some(Hello::Greeting(found))
}

fn take<'a>(from: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(count)?;
    *from = rest;
    Some(taken)
}

/// Bytes behind their number, which has `width` bytes.
fn counted<'a>(from: &mut &'a [u8], width: usize) -> Option<&'a [u8]> {
    let count = take(from, width)?.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
    take(from, count)
}

#[cfg(test)]
pub(crate) mod tests;

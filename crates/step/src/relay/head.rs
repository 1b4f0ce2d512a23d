//! The first lines of a program's connection to the relay.

/// The most that a request's head may hold, in bytes.
const HEAD_LIMIT: usize = 16 << 10;
const HEADERS: usize = 128;

/// Headers that end at a proxy (RFC 9110, section 7.6.1) or that the relay sets itself.
const OWN: [&str; 8] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];

/// What a program asks of the relay.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) kind: Kind,
}

/// What the connection is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes in both directions; these came already.
    Tunnel { early: Vec<u8> },
    /// One request: its head as the server gets it, what came of its body, and how much of that is still to come.
    Request { head: Vec<u8>, body: Vec<u8>, left: u64 },
}

/// Why a connection is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeadError {
    /// It ended before its request did.
    #[error("the request was cut off")]
    Cut,
    /// Too long.
    #[error("the request's head is larger than {HEAD_LIMIT} bytes")]
    Large,
    /// No request that the relay takes.
    #[error("{0}")]
    Malformed(String),
    /// A body without a length.
    #[error("a request body needs a Content-Length here; for anything else use CONNECT")]
    Length,
}

impl HeadError {
    /// The status of the answer.
    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Cut | Self::Malformed(_) => 400,
            Self::Large => 431,
            Self::Length => 411,
        }
    }
}

/// Reads a head; `None` while it is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Head>, HeadError> {
    let malformed = |what: &str| HeadError::Malformed(what.to_owned());
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_LIMIT => return Ok(None),
        Ok(httparse::Status::Partial) => return Err(HeadError::Large),
        Err(e) => return Err(HeadError::Malformed(format!("this is no HTTP request: {e}"))),
    };
    if length > HEAD_LIMIT {
        return Err(HeadError::Large);
    }
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err(malformed("this is no HTTP request"));
    };
    let rest = bytes.get(length..).unwrap_or_default();
    if method == "CONNECT" {
        let (host, port) = authority(target, None).ok_or_else(|| malformed("CONNECT needs HOST:PORT"))?;
        return Ok(Some(Head { host, port, kind: Kind::Tunnel { early: rest.to_vec() } }));
    }
    let tail = target
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
        .and_then(|_| target.get(7..))
        .ok_or_else(|| malformed("a proxy takes `CONNECT HOST:PORT` and requests for `http://HOST/…`"))?;
    let end = tail.find(['/', '?']).unwrap_or(tail.len());
    let (place, path) = tail.split_at_checked(end).unwrap_or((tail, ""));
    let (host, port) = authority(place, Some(80)).ok_or_else(|| malformed("the request's host cannot be read"))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n").into_bytes();
    let mut announced = None;
    for header in request.headers.iter() {
        let name = header.name.to_ascii_lowercase();
        match name.as_str() {
            "transfer-encoding" => return Err(HeadError::Length),
            "content-length" => {
                let value = std::str::from_utf8(header.value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
                let value = value.and_then(|v| v.parse::<u64>().ok());
                let value = value.ok_or_else(|| malformed("the Content-Length cannot be read"))?;
                if announced.replace(value).is_some() {
                    return Err(malformed("there is more than one Content-Length"));
                }
            }
            // The server hears the host that was granted, whatever the program writes here.
            "host" => continue,
            own if OWN.contains(&own) => continue,
            _ => {}
        }
        head.extend_from_slice(header.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(header.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let announced = announced.unwrap_or(0);
    // What comes after the body is a second request, which this connection does not serve.
    let most = usize::try_from(announced).unwrap_or(usize::MAX);
    let body = rest.get(..most).unwrap_or(rest).to_vec();
    let left = announced.saturating_sub(u64::try_from(body.len()).unwrap_or(u64::MAX));
    Ok(Some(Head { host, port, kind: Kind::Request { head, body, left } }))
}

/// Host and port of `HOST:PORT` or `[IPV6]:PORT`; without a user name, which some clients take for the host.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':');
    if host.is_empty() || !host.bytes().all(plain) || (host.contains(':') && !text.starts_with('[')) {
        return None;
    }
    let port = match port {
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => port.parse().ok()?,
        Some(_) => return None,
        None => default?,
    };
    Some((host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests;

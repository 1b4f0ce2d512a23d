//! Headers of requests and answers: what a step may set, and what it gets back.

use countersign_plan::text;
use countersign_wire::egress::ask::Header;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, USER_AGENT,
};

use crate::refusal::Refusal;

/// The most headers of a request.
const COUNT: usize = 64;
/// The most bytes of names and values together.
const BYTES: usize = 32 << 10;

/// Headers that belong to the connection or to the broker, not to the request (RFC 9110, section 7.6.1).
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The headers of a request that name no secret.
///
/// # Errors
/// Malformed (line breaks included), too many, too long, or not a step's to set.
pub(super) fn plain(headers: &[Header]) -> Result<HeaderMap, Refusal> {
    let bytes: usize = headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    if headers.len() > COUNT || bytes > BYTES {
        return Err(Refusal::refused(format!("at most {COUNT} headers and {BYTES} bytes of them are sent")));
    }
    let mut map = HeaderMap::new();
    for header in headers {
        let name = name(&header.name)?;
        if header.secret.is_none() {
            let value = value(&name, &header.value)?;
            map.append(name, value);
        }
    }
    // What is inspected and redacted is what was sent: nothing is compressed on the way.
    map.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    map.entry(USER_AGENT).or_insert(HeaderValue::from_static("countersign"));
    Ok(map)
}

/// A header's name that a step may use.
///
/// # Errors
/// No name, or one of the connection's.
pub(crate) fn name(text: &str) -> Result<HeaderName, Refusal> {
    let name = HeaderName::from_bytes(text.as_bytes());
    let name = name.map_err(|_| Refusal::refused(format!("`{}` is no name of a header", text::escape(text))))?;
    if OURS.contains(&name.as_str()) || name.as_str().starts_with("proxy-") {
        return Err(Refusal::refused(format!("the header `{name}` is set by the broker alone")));
    }
    Ok(name)
}

/// A header's value.
///
/// # Errors
/// Line breaks and other control characters.
pub(crate) fn value(name: &HeaderName, text: &str) -> Result<HeaderValue, Refusal> {
    let value = HeaderValue::from_bytes(text.as_bytes());
    value.map_err(|_| Refusal::refused(format!("the header `{name}` holds a line break or another control character")))
}

/// Takes away what described a body that is no longer sent.
pub(super) fn drop_body(headers: &mut HeaderMap) {
    for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION] {
        headers.remove(name);
    }
}

/// The headers of an answer, in order, names in lower case; bytes that are no UTF-8 are replaced.
pub(super) fn answered(headers: &HeaderMap) -> Vec<Header> {
    let header = |(name, value): (&HeaderName, &HeaderValue)| Header {
        name: name.as_str().to_owned(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
        secret: None,
    };
    headers.iter().map(header).collect()
}

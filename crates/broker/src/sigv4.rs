//! AWS Signature Version 4 for one request, in the `Authorization` header.
//!
//! Source: AWS, "Create a signed AWS API request". S3 differs in two ways: the path is encoded once, and the payload's hash is a
//! header.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use url::Url;
use zeroize::Zeroizing;

use crate::secrets::Value;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Credentials, region, service and time of a signature.
pub(crate) struct Signer<'a> {
    key_id: &'a str,
    secret: &'a str,
    token: Option<&'a str>,
    region: &'a str,
    service: &'a str,
    at: String,
}

/// A request to be signed.
pub(crate) struct Unsigned<'a> {
    /// The method.
    pub(crate) method: &'a str,
    /// The address.
    pub(crate) url: &'a Url,
    /// What stands in `Host`.
    pub(crate) host: &'a str,
    /// Other headers that the signature covers: names in lower case.
    pub(crate) headers: &'a [(String, String)],
    /// The body.
    pub(crate) body: &'a [u8],
}

impl<'a> Signer<'a> {
    /// A signer from `ACCESS_KEY_ID:SECRET_ACCESS_KEY` with an optional `:SESSION_TOKEN`. `at` is seconds since the epoch.
    pub(crate) fn new(credentials: &'a Value, region: &'a str, service: &'a str, at: i64) -> Option<Self> {
        let mut parts = credentials.text()?.splitn(3, ':');
        let (key_id, secret) = (parts.next()?, parts.next()?);
        let at = jiff::Timestamp::from_second(at).ok()?.strftime("%Y%m%dT%H%M%SZ").to_string();
        Some(Self { key_id, secret, token: parts.next(), region, service, at })
    }

    /// The headers that sign the request: names in lower case, secrets within.
    pub(crate) fn sign(&self, request: &Unsigned<'_>) -> Vec<(String, String)> {
        let payload = hex::encode(Sha256::digest(request.body));
        let mut added = vec![("x-amz-date".to_owned(), self.at.clone())];
        if self.service == "s3" {
            added.push(("x-amz-content-sha256".to_owned(), payload.clone()));
        }
        if let Some(token) = self.token {
            added.push(("x-amz-security-token".to_owned(), token.to_owned()));
        }
        let mut signed: Vec<(&str, String)> = request
            .headers
            .iter()
            .chain(&added)
            .map(|(name, value)| (name.as_str(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
            .chain(std::iter::once(("host", request.host.to_owned())))
            .collect();
        signed.sort();
        let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let mut canonical = format!("{}\n{}\n{}\n", request.method, self.path(request.url), query(request.url));
        for (name, value) in &signed {
            // Writing to a string cannot fail.
            let _ = writeln!(canonical, "{name}:{value}");
        }
        let _ = write!(canonical, "\n{names}\n{payload}");
        let day = self.at.get(..8).unwrap_or_default();
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let to_sign = format!("{ALGORITHM}\n{}\n{scope}\n{}", self.at, hex::encode(Sha256::digest(canonical)));
        let signature = hex::encode(mac(&self.key(day), to_sign.as_bytes()));
        let authorization =
            format!("{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", self.key_id);
        added.push(("authorization".to_owned(), authorization));
        added
    }

    fn key(&self, day: &str) -> Zeroizing<Vec<u8>> {
        let first = Zeroizing::new(format!("AWS4{}", self.secret).into_bytes());
        [day, self.region, self.service, "aws4_request"].iter().fold(first, |key, part| mac(&key, part.as_bytes()))
    }

    /// The path with each segment encoded as RFC 3986 wants it; for every service but S3 it is encoded once more.
    fn path(&self, url: &Url) -> String {
        let once = url.path().split('/').map(|segment| encode(&decode(segment), false)).collect::<Vec<_>>().join("/");
        if self.service == "s3" { once } else { encode(once.as_bytes(), true) }
    }
}

/// Parameters by name and then value, each encoded as RFC 3986 wants it.
fn query(url: &Url) -> String {
    let Some(text) = url.query().filter(|text| !text.is_empty()) else { return String::new() };
    let mut pairs: Vec<(String, String)> = text
        .split('&')
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (encode(&decode(name), false), encode(&decode(value), false))
        })
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn decode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let escaped = pair.filter(|_| *byte == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match escaped {
            Some(escaped) => {
                out.push(escaped);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

fn encode(bytes: &[u8], path: bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            b'/' if path => out.push('/'),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn mac(key: &[u8], message: &[u8]) -> Zeroizing<Vec<u8>> {
    // HMAC takes keys of any length; without a key nothing would be signed, and a server refuses that.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Zeroizing::default() };
    mac.update(message);
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

#[cfg(test)]
mod tests;

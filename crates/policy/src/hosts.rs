//! Hosts, URLs and host patterns (FORMATS §4, "Hosts"): after URL parsing and IDNA, one form for each.
//!
//! An IP literal is matched only by a literal; odd spellings (decimal, octal, hexadecimal, IPv4-mapped, NAT64) are read as the
//! address that they reach (`lesson_18`). `*.x` excludes `x`. Names are not resolved here: whoever connects resolves once and asks
//! [`Host::reach`] again for each address.

mod reach;
mod set;

pub use reach::Reach;
pub use set::{HostPattern, HostSet};

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use countersign_plan::text::{self, HiddenText};
use url::Url;

/// A host in its one form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name in lower case, IDNA-encoded, without a trailing dot.
    Name(String),
    /// An IPv4 address, also where it was written as IPv6.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(ip) => write!(f, "{ip}"),
            Self::V6(ip) => write!(f, "[{ip}]"),
        }
    }
}

/// A host and the port on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The port; `None` where nothing says which.
    pub port: Option<u16>,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => write!(f, "{}", self.host),
        }
    }
}

/// Why a text names no host in one way only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It hides or imitates.
    #[error(transparent)]
    Hidden(#[from] HiddenText),
    /// A user or password stands before the host.
    #[error("a user name before the host hides where the request goes; give credentials as a `$secret` header")]
    UserInfo,
    /// Not `http` or `https`.
    #[error("`{0}` is no scheme for requests; `http` and `https` are")]
    Scheme(String),
    /// Something that readers understand differently.
    #[error("`{0}` cannot be read in one way only")]
    Ambiguous(String),
}

impl HostError {
    /// Whether the text deceives rather than errs.
    #[must_use]
    pub const fn deceives(&self) -> bool {
        matches!(self, Self::Hidden(_) | Self::UserInfo)
    }
}

impl Host {
    /// Reads a host as it stands in a URL or a list.
    ///
    /// # Errors
    /// No host, or one that hides, imitates or can be read in two ways.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        text::check_name(text)?;
        let ambiguous = || HostError::Ambiguous(text::escape(text));
        if text.contains(|c: char| c.is_whitespace() || matches!(c, '\\' | '%' | '@' | '/' | '?' | '#')) {
            return Err(ambiguous());
        }
        // A bare IPv6 literal, as lists write it.
        let host = match text.parse::<Ipv6Addr>() {
            Ok(ip) => url::Host::Ipv6(ip),
            Err(_) => url::Host::parse(text).map_err(|_| ambiguous())?,
        };
        Self::from_url(&host)
    }

    fn from_url<S: AsRef<str>>(host: &url::Host<S>) -> Result<Self, HostError> {
        match host {
            url::Host::Domain(name) => {
                let name = name.as_ref();
                let name = name.strip_suffix('.').unwrap_or(name);
                let ambiguous = || HostError::Ambiguous(text::escape(name));
                if name.is_empty() || name.len() > 253 || name.split('.').any(|l| l.is_empty() || l.len() > 63) {
                    return Err(ambiguous());
                }
                let (shown, valid) = idna::domain_to_unicode(name);
                valid.map_err(|_| ambiguous())?;
                text::check_name(&shown)?;
                Ok(Self::Name(name.to_ascii_lowercase()))
            }
            url::Host::Ipv4(ip) => Ok(Self::V4(*ip)),
            url::Host::Ipv6(ip) => Ok(reach::embedded(*ip).map_or(Self::V6(*ip), Self::V4)),
        }
    }

    /// Whether the name is `parent` or lies below it.
    #[must_use]
    pub fn is_within(&self, parent: &str) -> bool {
        matches!(self, Self::Name(name)
            if name.strip_suffix(parent).is_some_and(|head| head.is_empty() || head.ends_with('.')))
    }
}

impl Endpoint {
    /// Reads `host` or `host:port`, as `connect` and lists write it. `*` as the port is any.
    ///
    /// # Errors
    /// As [`Host::parse`], or a port that is no number from 1 to 65535.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let ambiguous = || HostError::Ambiguous(text::escape(text));
        if text.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self { host: Host::parse(text)?, port: None });
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = match port {
                    "*" => None,
                    port if port.bytes().all(|b| b.is_ascii_digit()) => {
                        Some(port.parse().ok().filter(|p| *p != 0).ok_or_else(ambiguous)?)
                    }
                    _ => return Err(ambiguous()),
                };
                Ok(Self { host: Host::parse(host)?, port })
            }
            _ => Ok(Self { host: Host::parse(text)?, port: None }),
        }
    }

    /// The endpoint of a URL for requests.
    ///
    /// # Errors
    /// No `http` or `https` URL, or one that hides, imitates or can be read in two ways.
    pub fn of_url(text: &str) -> Result<Self, HostError> {
        text::check_visible(text)?;
        let ambiguous = || HostError::Ambiguous(text::escape(text));
        // Readers strip or turn these, each in its own way (WHATWG URL section 4.4).
        if text.contains(|c: char| c.is_whitespace() || c == '\\') {
            return Err(ambiguous());
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(ambiguous)?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(HostError::Scheme(text::escape(scheme)));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        if authority.is_empty() {
            return Err(ambiguous());
        }
        if authority.contains('@') {
            return Err(HostError::UserInfo);
        }
        text::check_name(authority)?;
        let url = Url::parse(text).map_err(|_| ambiguous())?;
        let host = url.host().ok_or_else(ambiguous)?;
        Ok(Self { host: Host::from_url(&host)?, port: url.port_or_known_default() })
    }
}

/// Whether `url` is a URL that begins with `prefix`, which names its whole host, and stays below the path that `prefix` begins:
/// what was filled in after it cannot lead to another host, nor by `..` out of the path.
#[must_use]
pub fn continues(prefix: &str, url: &str) -> bool {
    let (Ok(before), Ok(after)) = (Endpoint::of_url(prefix), Endpoint::of_url(url)) else { return false };
    let (Ok(from), Ok(to)) = (Url::parse(prefix), Url::parse(url)) else { return false };
    // A query that was begun stays the same up to there.
    let head = |url: &Url| url.as_str().split('#').next().unwrap_or_default().to_owned();
    before == after && from.scheme() == to.scheme() && head(&to).starts_with(&head(&from))
}

#[cfg(test)]
mod tests;

//! Host patterns, and sets of them that are asked by hash of each parent domain.

use std::collections::HashMap;

use countersign_plan::text;

use super::{Endpoint, Host, HostError};

/// A host pattern: `host`, `*.domain` or `*`, each with `:port` where only that one is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    which: Which,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Any,
    Exact(Host),
    /// Every name below this one, without itself.
    Below(String),
}

impl HostPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A wildcard anywhere else, or no host.
    pub fn parse(pattern: &str) -> Result<Self, HostError> {
        let (host, port) = match pattern.rsplit_once(':') {
            Some((host, port)) if host == "*" || host.starts_with("*.") => {
                let port = match port {
                    "*" => None,
                    port => Some(port.parse().map_err(|_| HostError::Ambiguous(text::escape(pattern)))?),
                };
                (host, port)
            }
            _ => (pattern, None),
        };
        if host == "*" {
            return Ok(Self { which: Which::Any, port });
        }
        if let Some(domain) = host.strip_prefix("*.") {
            return match Host::parse(domain)? {
                Host::Name(name) => Ok(Self { which: Which::Below(name), port }),
                Host::V4(_) | Host::V6(_) => Err(HostError::Ambiguous(text::escape(pattern))),
            };
        }
        if host.contains('*') {
            return Err(HostError::Ambiguous(text::escape(pattern)));
        }
        let endpoint = Endpoint::parse(pattern)?;
        Ok(Self { which: Which::Exact(endpoint.host), port: endpoint.port })
    }

    /// Whether the pattern is `*`.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        matches!(self.which, Which::Any)
    }

    /// Whether everything that fits this pattern fits `other` as well.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let port = other.port.is_none() || other.port == self.port;
        port && match (&self.which, &other.which) {
            (_, Which::Any) => true,
            (Which::Any, _) => false,
            (Which::Exact(host), Which::Exact(of)) => host == of,
            (Which::Exact(host), Which::Below(parent)) => {
                matches!(host, Host::Name(name) if name != parent) && host.is_within(parent)
            }
            (Which::Below(_), Which::Exact(_)) => false,
            (Which::Below(inner), Which::Below(outer)) => Host::Name(inner.clone()).is_within(outer),
        }
    }

    /// Whether the endpoint fits. An unknown port fits no pattern that names one.
    #[must_use]
    pub fn matches(&self, endpoint: &Endpoint) -> bool {
        let host = match &self.which {
            Which::Any => true,
            Which::Exact(host) => *host == endpoint.host,
            Which::Below(parent) => {
                matches!(&endpoint.host, Host::Name(name) if name != parent) && endpoint.host.is_within(parent)
            }
        };
        host && self.port.is_none_or(|port| endpoint.port == Some(port))
    }
}

/// A compiled set of host patterns, each with an id.
#[derive(Debug, Default)]
pub struct HostSet {
    exact: HashMap<Host, Vec<(u32, Option<u16>)>>,
    below: HashMap<String, Vec<(u32, Option<u16>)>>,
    any: Vec<(u32, Option<u16>)>,
}

impl HostSet {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The first pattern that cannot be read, with itself.
    pub fn compile<'p>(patterns: impl IntoIterator<Item = (u32, &'p str)>) -> Result<Self, HostError> {
        let mut set = Self::default();
        for (id, text) in patterns {
            let pattern = HostPattern::parse(text)?;
            let entry = (id, pattern.port);
            match pattern.which {
                Which::Any => set.any.push(entry),
                Which::Exact(host) => set.exact.entry(host).or_default().push(entry),
                Which::Below(parent) => set.below.entry(parent).or_default().push(entry),
            }
        }
        Ok(set)
    }

    /// Whether there is no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.below.is_empty() && self.any.is_empty()
    }

    /// Calls `visit` with the id of each pattern that fits.
    pub fn hits(&self, endpoint: &Endpoint, visit: &mut dyn FnMut(u32)) {
        let mut each = |entries: &[(u32, Option<u16>)]| {
            for (id, port) in entries {
                if port.is_none_or(|port| endpoint.port == Some(port)) {
                    visit(*id);
                }
            }
        };
        each(&self.any);
        if let Some(entries) = self.exact.get(&endpoint.host) {
            each(entries);
        }
        if let (Host::Name(name), false) = (&endpoint.host, self.below.is_empty()) {
            let mut rest = name.as_str();
            while let Some((_, parent)) = rest.split_once('.') {
                if let Some(entries) = self.below.get(parent) {
                    each(entries);
                }
                rest = parent;
            }
        }
    }

    /// Whether any pattern fits.
    #[must_use]
    pub fn contains(&self, endpoint: &Endpoint) -> bool {
        let mut found = false;
        self.hits(endpoint, &mut |_| found = true);
        found
    }
}

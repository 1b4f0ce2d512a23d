//! What one lease may ask, compared with what it asks. Nothing here waits or sends; what may happen once is spent here.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_plan::egress::{Egress, HostGrant, McpGrant, SecretGrant};
use countersign_plan::text;
use url::Url;

use crate::address::Reach;
use crate::http;
use crate::refusal::Refusal;

/// What one lease may ask.
#[derive(Debug)]
pub(crate) struct Grant {
    case: String,
    step: String,
    egress: Egress,
    spent: Mutex<BTreeSet<Once>>,
}

/// What is done once: approving one payment approves no second (lesson 20).
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Once {
    /// The request of this grant, which changes something.
    Request(usize),
    Mail,
    Message,
    Mcp,
}

impl Grant {
    /// A grant for a step of a case.
    pub(crate) const fn new(case: String, step: String, egress: Egress) -> Self {
        Self { case, step, egress, spent: Mutex::new(BTreeSet::new()) }
    }

    /// The case.
    pub(crate) fn case(&self) -> &str {
        &self.case
    }

    /// The step.
    pub(crate) fn step(&self) -> &str {
        &self.step
    }

    /// Whether a request is granted, and how far it may reach. One that changes something is spent by that.
    ///
    /// # Errors
    /// It is not granted, or was made before.
    pub(crate) fn request(&self, method: &str, url: &Url) -> Result<Reach, Refusal> {
        let shown = || text::escape(&format!("{method} {}://{}{}", url.scheme(), http::authority(url), url.path()));
        let (host, port) = http::place(url).map_err(|error| Refusal::violation(error.to_string()))?;
        let found = self.egress.http.iter().enumerate().find(|(_, grant)| {
            grant.method == method
                && grant.tls == (url.scheme() == "https")
                && grant.at.host == host
                && grant.at.port == port
                && grant.path == url.path()
        });
        let (at, grant) = found.ok_or_else(|| Refusal::violation(format!("{} was not granted", shown())))?;
        if !is_safe(method) {
            self.once(Once::Request(at), || format!("{} was made before: one approval is one request", shown()))?;
        }
        Ok(reach(&grant.at))
    }

    /// Whether a program may connect there, and how far.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn connect(&self, host: &str, port: u32) -> Result<(u16, Reach), Refusal> {
        let found = self.egress.connect.iter().find(|grant| grant.host == host && u32::from(grant.port) == port);
        let denied = || Refusal::violation(format!("a connection to {}:{port} was not granted", text::escape(host)));
        found.map(|grant| (grant.port, reach(grant))).ok_or_else(denied)
    }

    /// Whether a secret may go to a host. In clear only inside the house.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn secret(&self, name: &str, url: &Url, to: Reach) -> Result<(), Refusal> {
        let (host, port) = http::place(url).map_err(|error| Refusal::violation(error.to_string()))?;
        let grant = self.handle(name)?;
        if !grant.hosts.iter().any(|pattern| fits(pattern, &host, port)) {
            return Err(Refusal::violation(format!("secret `{name}` may not go to {host}")));
        }
        if url.scheme() != "https" && to == Reach::Public {
            return Err(Refusal::refused(format!("secret `{name}` goes to {host} by https only")));
        }
        Ok(())
    }

    /// Whether the step may have the value itself.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn exposed(&self, name: &str) -> Result<(), Refusal> {
        if self.handle(name)?.exposed {
            Ok(())
        } else {
            Err(Refusal::violation(format!("secret `{name}` is held by handle: its tool does not say `exposes: true`")))
        }
    }

    /// Whether exactly these may be written to, now.
    ///
    /// # Errors
    /// Other recipients than the granted ones, or a second mail.
    pub(crate) fn mail(&self, to: &[String]) -> Result<(), Refusal> {
        let fold = |list: &[String]| list.iter().map(|address| address.to_lowercase()).collect::<BTreeSet<_>>();
        if to.is_empty() || fold(to) != fold(&self.egress.mail) {
            return Err(Refusal::violation("the recipients are not exactly the granted ones"));
        }
        self.once(Once::Mail, || "a second mail: one approval is one mail".to_owned())
    }

    /// Whether a message may go to this channel, now.
    ///
    /// # Errors
    /// Another channel, or a second message.
    pub(crate) fn message(&self, channel: &str) -> Result<(), Refusal> {
        if self.egress.channel.as_deref() != Some(channel) {
            return Err(Refusal::violation(format!("a message to {} was not granted", text::escape(channel))));
        }
        self.once(Once::Message, || "a second message: one approval is one message".to_owned())
    }

    /// Whether this tool may be called, now.
    ///
    /// # Errors
    /// Another server, tool or road, or a second call.
    pub(crate) fn mcp(&self, server: &str, tool: &str, stdio: bool) -> Result<&McpGrant, Refusal> {
        let granted = self.egress.mcp.as_ref();
        let granted = granted.filter(|grant| grant.server == server && grant.tool == tool && grant.stdio == stdio);
        let denied =
            || Refusal::violation(format!("tool {} of {} was not granted", text::escape(tool), text::escape(server)));
        let granted = granted.ok_or_else(denied)?;
        self.once(Once::Mcp, || "a second call: one approval is one call".to_owned())?;
        Ok(granted)
    }

    /// Whether the server that runs in the step may be asked what it offers, now.
    ///
    /// # Errors
    /// Another server, or a second question.
    pub(crate) fn describe(&self, server: &str) -> Result<(), Refusal> {
        if self.egress.describe.as_deref() != Some(server) {
            return Err(Refusal::violation(format!("a look at the tools of {} was not granted", text::escape(server))));
        }
        self.once(Once::Mcp, || "a second look: one approval is one look".to_owned())
    }

    fn handle(&self, name: &str) -> Result<&SecretGrant, Refusal> {
        let found = self.egress.secrets.iter().find(|grant| grant.name.as_str() == name);
        found.ok_or_else(|| Refusal::violation(format!("the step has no handle of a secret `{}`", text::escape(name))))
    }

    fn once(&self, what: Once, again: impl FnOnce() -> String) -> Result<(), Refusal> {
        if self.spent().insert(what) { Ok(()) } else { Err(Refusal::violation(again())) }
    }

    fn spent(&self) -> MutexGuard<'_, BTreeSet<Once>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether asking changes nothing at the server (RFC 9110, safe methods).
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

const fn reach(grant: &HostGrant) -> Reach {
    if grant.private { Reach::Private } else { Reach::Public }
}

/// A pattern of the deployment: `host`, `*.domain` (which excludes the domain itself), each with `:port` where only that one is
/// meant. `*` alone fits nothing: a secret that may go anywhere is no secret.
fn fits(pattern: &str, host: &str, port: u16) -> bool {
    let (pattern, wanted) = match pattern.rsplit_once(':') {
        // More colons than one, unless in brackets, are an IPv6 address.
        Some((before, after)) if !before.contains(':') || before.ends_with(']') => match after.parse::<u16>() {
            Ok(wanted) => (before, Some(wanted)),
            Err(_) if after == "*" => (before, None),
            Err(_) => return false,
        },
        _ => (pattern, None),
    };
    let host_fits = match pattern.strip_prefix("*.") {
        Some(domain) => ascii(domain).is_some_and(|domain| {
            host.strip_suffix(&domain).is_some_and(|before| before.len() > 1 && before.ends_with('.'))
        }),
        None => ascii(pattern).is_some_and(|pattern| pattern == host),
    };
    host_fits && wanted.is_none_or(|wanted| wanted == port)
}

/// A host as requests have it: lower case, in IDNA's ASCII form, without brackets.
fn ascii(host: &str) -> Option<String> {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = host.parse::<std::net::Ipv6Addr>() {
        return Some(address.to_string());
    }
    url::Host::parse(host).ok().map(|host| host.to_string())
}

#[cfg(test)]
mod tests;

//! URLs and hosts as text: which host is meant, and whether the text deceives about it.
//!
//! Sources: WHATWG URL Standard 3 and 4, UTS 46 (IDNA), UTS 39 (confusables), RFC 6890 (special addresses).

use std::net::{Ipv4Addr, Ipv6Addr};

use countersign_plan::text::check_name;
use countersign_plan::tool::{Effect, TargetKind};

use crate::inspection::{Build as _, FindingKind, Inspection, Touch, UnknownKind};

/// What a text says about a host.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// `host` or `host:port`, where the text names one in one way only.
    pub(crate) name: Option<String>,
    pub(crate) findings: Vec<(FindingKind, String)>,
}

/// Names under which clouds hand out credentials to whoever asks.
const METADATA_NAMES: &[&str] = &[
    "metadata.google.internal",
    "metadata",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
];

/// Whether a name is this machine or one of a network at home (RFC 1918, 6761, 8375).
pub(crate) fn is_local(name: &str) -> bool {
    let host = name
        .rsplit_once(':')
        .map_or(name, |(host, port)| if port.bytes().all(|b| b.is_ascii_digit()) { host } else { name });
    let host = host.trim_matches(['[', ']']);
    if let Ok(ip) = host.parse::<Ipv4Addr>() {
        return ip.is_loopback() || ip.is_private() || ip.is_unspecified();
    }
    if let Ok(ip) = host.parse::<Ipv6Addr>() {
        return ip.is_loopback();
    }
    host == "localhost" || [".localhost", ".local", ".test", ".home.arpa"].iter().any(|end| host.ends_with(end))
}

/// Whether a host is this machine itself.
pub(crate) fn is_loopback(name: &str) -> bool {
    let host = name
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(name, |(host, _)| host);
    let host = host.trim_matches(['[', ']']);
    host == "localhost"
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// What a URL says, and what is wrong with it.
#[must_use]
pub fn url(text: &str) -> Inspection {
    inspection(text)
}

/// What a host, `host:port` or `user@host` says, and what is wrong with it.
#[must_use]
pub fn host(text: &str) -> Inspection {
    inspection(text)
}

fn inspection(text: &str) -> Inspection {
    let read = read(text);
    let mut out = Inspection::default();
    for (kind, message) in read.findings {
        out.find(kind, None, message);
    }
    match read.name {
        Some(name) => out.touch(Touch {
            effect: Effect::Send,
            kind: TargetKind::Host,
            name,
            pattern: false,
            recursive: false,
            by: String::new(),
            in_place: false,
        }),
        None => out.unknown(UnknownKind::Value, Effect::Send, None, format!("`{text}` names no host in one way only")),
    }
    out
}

/// Reads the host out of a URL, `host:port`, or a bare host.
pub(crate) fn read(text: &str) -> Read {
    let mut out = Read::default();
    if let Err(hidden) = check_name(text.split(['?', '#']).next().unwrap_or(text)) {
        let kind = match hidden {
            countersign_plan::text::HiddenText::MixedScript(_) => FindingKind::LookAlike,
            countersign_plan::text::HiddenText::Control(_)
            | countersign_plan::text::HiddenText::Bidirectional(_)
            | countersign_plan::text::HiddenText::Invisible(_) => FindingKind::HiddenText,
        };
        out.findings.push((kind, format!("the address hides something: {hidden}")));
    }
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    // A backslash ends the authority for some readers and not for others (WHATWG URL 4.4).
    if authority.contains('\\') || authority.contains(|c: char| c.is_whitespace()) {
        out.findings.push((FindingKind::OddAddress, format!("readers find different hosts in `{text}`")));
        return out;
    }
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let looks_like_host = user.contains('.') || user.contains(':');
            if text.contains("://") && looks_like_host {
                out.findings
                    .push((FindingKind::UserInfo, format!("what stands before `@` in `{text}` is not the host")));
            }
            host
        }
        None => authority,
    };
    let (host, port) = split_port(host);
    let decoded = percent_decoded(host);
    if decoded != host {
        out.findings.push((FindingKind::OddAddress, format!("the host in `{text}` is percent-encoded")));
    }
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    if RAW.iter().any(|raw| scheme.eq_ignore_ascii_case(raw)) {
        let message =
            format!("by `{scheme}://` the rest of `{text}` is said to whatever service listens there, word for word");
        out.findings.push((FindingKind::OddAddress, message));
    }
    let Some(name) = canonical(&decoded, &mut out.findings) else { return out };
    let port = port.map(str::to_owned).or_else(|| default_port(scheme).map(str::to_owned));
    out.name = Some(match port {
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) && !port.is_empty() => format!("{name}:{port}"),
        Some(_) | None => name,
    });
    out
}

/// Schemes by which a URL says its own path to a port, in whatever protocol is spoken there (RFC 1738, RFC 2229).
const RAW: &[&str] = &["gopher", "gophers", "dict", "telnet"];

fn default_port(scheme: &str) -> Option<&'static str> {
    Some(match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => "80",
        "https" | "wss" => "443",
        "ssh" | "git+ssh" | "sftp" => "22",
        "ftp" => "21",
        "git" => "9418",
        "postgres" | "postgresql" => "5432",
        "mysql" => "3306",
        "redis" => "6379",
        "mongodb" => "27017",
        _ => return None,
    })
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    if host.starts_with('[') {
        return match host.split_once(']') {
            Some((inner, rest)) => (inner.trim_start_matches('['), rest.strip_prefix(':')),
            None => (host, None),
        };
    }
    match host.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (host, None),
    }
}

fn percent_decoded(host: &str) -> String {
    let mut out = Vec::new();
    let bytes = host.as_bytes();
    let mut i = 0;
    while let Some(&byte) = bytes.get(i) {
        let pair = bytes.get(i + 1..i + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.filter(|_| byte == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                i += 3;
            }
            None => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The one form of a host.
fn canonical(host: &str, findings: &mut Vec<(FindingKind, String)>) -> Option<String> {
    if let Ok(ip) = host.parse::<Ipv6Addr>() {
        if let Some(v4) = embedded(ip) {
            findings.push((FindingKind::OddAddress, format!("{host} is {v4} written as IPv6")));
            metadata_v4(v4, findings);
            return Some(v4.to_string());
        }
        if ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254) {
            findings.push((FindingKind::MetadataAddress, format!("{host} hands out the machine's credentials")));
        }
        return Some(format!("[{ip}]"));
    }
    let trimmed = host.strip_suffix('.').unwrap_or(host);
    if trimmed.is_empty() {
        return None;
    }
    match url::Host::parse(trimmed).ok()? {
        url::Host::Ipv4(ip) => {
            if ip.to_string() != trimmed {
                findings.push((FindingKind::OddAddress, format!("{trimmed} is another spelling of {ip}")));
            }
            metadata_v4(ip, findings);
            Some(ip.to_string())
        }
        url::Host::Ipv6(ip) => Some(format!("[{ip}]")),
        url::Host::Domain(name) => {
            if METADATA_NAMES.contains(&name.as_str()) {
                findings.push((FindingKind::MetadataAddress, format!("{name} hands out the machine's credentials")));
            }
            look_alike(&name, trimmed, findings);
            Some(name)
        }
    }
}

fn metadata_v4(ip: Ipv4Addr, findings: &mut Vec<(FindingKind, String)>) {
    // Link-local addresses of clouds, Alibaba's and Oracle's own, and Azure's host agent.
    let special = [
        Ipv4Addr::new(169, 254, 169, 254),
        Ipv4Addr::new(169, 254, 170, 2),
        Ipv4Addr::new(169, 254, 170, 23),
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(192, 0, 0, 192),
        Ipv4Addr::new(168, 63, 129, 16),
    ];
    if special.contains(&ip) || ip.is_link_local() {
        findings.push((FindingKind::MetadataAddress, format!("{ip} hands out the machine's credentials")));
    }
    if ip.is_unspecified() {
        findings.push((FindingKind::OddAddress, format!("{ip} reaches this machine")));
    }
}

/// An IPv4 address inside an IPv6 one: mapped, compatible, NAT64 (RFC 6052) and 6to4.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = ip.segments();
    let last = |a: u16, b: u16| {
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => Some(last(a, b)),
        [0, 0, 0, 0, 0, 0, a, b] if a != 0 => Some(last(a, b)),
        [0x2002, a, b, ..] => Some(last(a, b)),
        _ => None,
    }
}

/// A name that reads like another: letters of several scripts, or a whole label that looks like Latin.
fn look_alike(name: &str, written: &str, findings: &mut Vec<(FindingKind, String)>) {
    let (shown, _) = idna::domain_to_unicode(name);
    if shown.is_ascii() {
        if !written.is_ascii() {
            findings.push((FindingKind::LookAlike, format!("`{written}` becomes {name}")));
        }
        return;
    }
    if check_name(&shown).is_err() {
        findings.push((FindingKind::LookAlike, format!("{name} reads `{shown}` with letters of several scripts")));
        return;
    }
    for label in shown.split('.').filter(|label| !label.is_ascii()) {
        let skeleton: String = unicode_security::skeleton(label).collect();
        let latin = label.chars().any(|c| c.is_ascii_alphabetic());
        if skeleton.is_ascii() && !latin {
            findings.push((FindingKind::LookAlike, format!("{name} reads `{shown}`, which looks like `{skeleton}`")));
        }
    }
}

#[cfg(test)]
mod tests;

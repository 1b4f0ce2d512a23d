//! Credentials: formats that their issuers document, and values that names announce.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// A credential in a text.
#[derive(Debug)]
pub(super) struct Secret {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) what: &'static str,
    pub(super) certain: bool,
}

/// Formats with a prefix of their own, each from its issuer's documentation. No pattern can match across long stretches.
const FORMATS: &[(&str, &str)] = &[
    ("an AWS access key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b"),
    ("a GitLab token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_-]{20,64}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}|\bxapp-[0-9]-[A-Za-z0-9-]{20,250}"),
    ("a Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9_]{6,16}/[A-Za-z0-9_/]{10,80}"),
    ("a Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}\b"),
    ("an Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,250}"),
    ("an OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,250}"),
    ("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,40}|\bya29\.[A-Za-z0-9_-]{20,250}"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,250}"),
    ("a Docker Hub token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,64}"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,64}\b"),
    ("a DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("a Twilio key", r"\bSK[0-9a-f]{32}\b"),
    ("a Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,250}"),
    ("a Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("a Telegram bot token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("a Discord webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{40,100}"),
    ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{8,512}\.eyJ[A-Za-z0-9_-]{8,512}\.[A-Za-z0-9_-]{8,512}"),
    ("a private key", r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"),
    ("an age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{60,100}={0,2}"),
    (
        "a password in a URL",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@$\x22'<>{}]{1,64}:[^\s:/@$\x22'<>{}*]{3,128}@[A-Za-z0-9.-]{1,128}",
    ),
    ("a Cloudflare key", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    ("a Linear key", r"\blin_api_[A-Za-z0-9]{40}\b"),
    ("a Postman key", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    ("a Databricks token", r"\bdapi[a-f0-9]{32}\b"),
    ("a Grafana token", r"\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b"),
];

/// A name that says that a secret follows, and the value.
const NAMED: &str = r#"(?i)\b[a-z0-9_.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[a-z0-9_.-]{0,20}["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9+/_.~=-]{12,128})"#;

/// Letters that every format begins with or holds: most texts hold none and are done.
static SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(FORMATS.iter().map(|(_, format)| format)).ok());

static EACH: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| FORMATS.iter().map(|(_, format)| Regex::new(format).ok()).collect());

static ANNOUNCED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NAMED).ok());

/// Whether any credential stands in a text.
pub(super) fn any(text: &str) -> bool {
    if text.len() < 12 {
        return false;
    }
    SET.as_ref().is_none_or(|set| set.matches(text).iter().any(|which| real(which, text)))
        || !announced(text).is_empty()
}

/// Every credential in a text.
pub(super) fn all(text: &str) -> Vec<Secret> {
    let mut out = Vec::new();
    let Some(set) = SET.as_ref() else { return out };
    for which in set.matches(text) {
        let Some(Some(regex)) = EACH.get(which) else { continue };
        let what = FORMATS.get(which).map_or("", |(what, _)| what);
        for found in regex.find_iter(text).filter(|found| !is_placeholder(found.as_str())) {
            // Some formats begin like others.
            if out.iter().any(|known: &Secret| known.start < found.end() && found.start() < known.end) {
                continue;
            }
            out.push(Secret { start: found.start(), end: found.end(), what, certain: true });
        }
    }
    for named in announced(text) {
        if !out.iter().any(|known| known.start < named.end && named.start < known.end) {
            out.push(named);
        }
    }
    out
}

fn real(which: usize, text: &str) -> bool {
    EACH.get(which)
        .and_then(Option::as_ref)
        .is_none_or(|regex| regex.find_iter(text).any(|found| !is_placeholder(found.as_str())))
}

fn announced(text: &str) -> Vec<Secret> {
    let Some(regex) = ANNOUNCED.as_ref() else { return Vec::new() };
    regex
        .captures_iter(text)
        .filter_map(|found| found.get(1))
        .filter(|value| is_random(value.as_str()) && !is_placeholder(value.as_str()))
        .map(|value| Secret {
            start: value.start(),
            end: value.end(),
            what: "a value that a name calls a secret",
            certain: false,
        })
        .collect()
}

/// Whether a value has the look of chance: both letters and digits, and many different ones.
fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    digits >= 2 && letters >= 4 && entropy(value) >= 3.2
}

/// Bits of Shannon entropy for each character.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length).map(|p| -p * p.log2()).sum()
}

/// Whether a value stands for one: examples, masks, names.
fn is_placeholder(value: &str) -> bool {
    // The host of a URL says nothing about its password.
    let value = value.rsplit_once('@').map_or(value, |(before, _)| before);
    let lower = value.to_ascii_lowercase();
    [
        "example",
        "xxxx",
        "your",
        "placeholder",
        "changeme",
        "dummy",
        "sample",
        "0000000",
        "....",
        "****",
        "redacted",
        "user:pass",
        ":password@",
        "<",
        "insert",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

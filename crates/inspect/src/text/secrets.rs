//! Credentials: formats that their issuers document, and values that names announce.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex::Regex;

/// A credential in a text.
#[derive(Debug)]
pub(super) struct Secret {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) what: &'static str,
    pub(super) certain: bool,
}

/// A format with letters of its own, from its issuer's documentation.
struct Format {
    what: &'static str,
    /// Letters of which one stands in each value.
    letters: &'static [&'static str],
    /// How many characters may stand before them, and which.
    before: (usize, fn(u8) -> bool),
    /// The whole value, from its beginning.
    pattern: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Format {
    const fn new(what: &'static str, letters: &'static [&'static str], pattern: &'static str) -> Self {
        Self::after((0, |_| false), what, letters, pattern)
    }

    const fn after(
        before: (usize, fn(u8) -> bool),
        what: &'static str,
        letters: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self { what, letters, before, pattern, compiled: OnceLock::new() }
    }

    /// Where the value is, of which `at` is the place of its letters. The pattern is compiled when it is first needed.
    fn find(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        let mut start = at;
        while at - start < self.before.0 && start > 0 && bytes.get(start - 1).is_some_and(|b| (self.before.1)(*b)) {
            start -= 1;
        }
        let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let first = bytes.get(start).is_some_and(word);
        if first && start > 0 && bytes.get(start - 1).is_some_and(word) {
            return None;
        }
        let regex = self.compiled.get_or_init(|| Regex::new(&format!("^(?:{})", self.pattern)).ok()).as_ref()?;
        let mut end = text.len().min(start + MAX_VALUE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        regex.find(text.get(start..end)?).map(|found| (start, start + found.end()))
    }
}

/// The longest value, in bytes.
const MAX_VALUE: usize = 1600;

static FORMATS: [Format; 31] = [
    Format::new("an AWS access key id", &["AKIA", "ASIA", "ABIA", "ACCA"], r"[A-Z]{4}[A-Z2-7]{16}\b"),
    Format::new(
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b",
    ),
    Format::new(
        "a GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
        r"gl[a-z]{2,5}-[A-Za-z0-9_-]{20,64}",
    ),
    Format::new(
        "a Slack token",
        &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        r"(?:xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[0-9]-[A-Za-z0-9-]{20,250})",
    ),
    Format::new(
        "a Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9_]{6,16}/[A-Za-z0-9_/]{10,80}",
    ),
    Format::new(
        "a Stripe key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}\b",
    ),
    Format::new("an Anthropic key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{20,250}"),
    Format::new("an OpenAI key", &["sk-"], r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,250}"),
    Format::new("a Google API key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}"),
    Format::new(
        "a Google OAuth secret",
        &["GOCSPX-", "ya29."],
        r"(?:GOCSPX-[A-Za-z0-9_-]{20,40}|ya29\.[A-Za-z0-9_-]{20,250})",
    ),
    Format::new("an npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}\b"),
    Format::new("a PyPI token", &["pypi-"], r"pypi-[A-Za-z0-9_-]{50,250}"),
    Format::new("a Docker Hub token", &["dckr_"], r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,64}"),
    Format::new("a Hugging Face token", &["hf_"], r"hf_[A-Za-z0-9]{30,64}\b"),
    Format::new("a DigitalOcean token", &["doo_v1_", "dop_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}\b"),
    Format::new("a SendGrid key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    Format::new("a Twilio key", &["SK"], r"SK[0-9a-f]{32}\b"),
    Format::new("a Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{20,250}"),
    Format::new("a Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    Format::after((10, |b| b.is_ascii_digit()), "a Telegram bot token", &[":AA"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    Format::new(
        "a Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{40,100}",
    ),
    Format::new(
        "a JSON web token",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{8,512}\.eyJ[A-Za-z0-9_-]{8,512}\.[A-Za-z0-9_-]{8,512}",
    ),
    Format::new("a private key", &["-----BEGIN "], r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"),
    Format::new("an age key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Format::new("an Azure storage key", &["AccountKey="], r"AccountKey=[A-Za-z0-9+/]{60,100}={0,2}"),
    Format::after(
        (21, |b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'+' | b'.' | b'-')),
        "a password in a URL",
        &["://"],
        r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@$\x22'<>{}]{1,64}:[^\s:/@$\x22'<>{}*]{3,128}@[A-Za-z0-9.-]{1,128}",
    ),
    Format::new("a Cloudflare key", &["v1.0-"], r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    Format::new("a Linear key", &["lin_api_"], r"lin_api_[A-Za-z0-9]{40}\b"),
    Format::new("a Postman key", &["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    Format::new("a Databricks token", &["dapi"], r"dapi[a-f0-9]{32}\b"),
    Format::new("a Grafana token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b"),
];

/// Words of names that say that a secret follows.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "private-key",
    "privatekey",
    "credential",
];

static LETTERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let letters = FORMATS.iter().flat_map(|format| format.letters);
    AhoCorasickBuilder::new().match_kind(MatchKind::Standard).build(letters).ok()
});

/// Which format each of the letters belongs to.
static OWNERS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    FORMATS.iter().enumerate().flat_map(|(which, format)| std::iter::repeat_n(which, format.letters.len())).collect()
});

static ANNOUNCING: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasickBuilder::new().ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).build(NAMES).ok()
});

/// Whether any credential stands in a text.
pub(super) fn any(text: &str) -> bool {
    text.len() >= 12
        && (LETTERS.is_none()
            || formatted(text).next().is_some()
            || announced(text).next().is_some()
            || settings(text).is_some())
}

/// Every credential in a text.
pub(super) fn all(text: &str) -> Vec<Secret> {
    let mut out: Vec<Secret> = Vec::new();
    // Some formats begin like others: the first in the list counts.
    let mut found: Vec<(usize, Secret)> = formatted(text).take(MAX_SECRETS).collect();
    found.sort_by_key(|(which, secret)| (*which, secret.start));
    let named = announced(text).take(MAX_SECRETS).chain(settings(text));
    for secret in found.into_iter().map(|(_, secret)| secret).chain(named) {
        if !out.iter().any(|known| known.start < secret.end && secret.start < known.end) {
            out.push(secret);
        }
    }
    out
}

/// The most credentials of one text.
const MAX_SECRETS: usize = 64;

fn formatted(text: &str) -> impl Iterator<Item = (usize, Secret)> {
    LETTERS.iter().flat_map(move |letters| letters.find_overlapping_iter(text)).filter_map(move |found| {
        let which = *OWNERS.get(found.pattern().as_usize())?;
        let format = FORMATS.get(which)?;
        let (start, end) = format.find(text, found.start())?;
        let real = !is_placeholder(text.get(start..end)?);
        real.then_some((which, Secret { start, end, what: format.what, certain: true }))
    })
}

/// A list of settings as programs take them from their environment, of which several are secrets by their names: the first of
/// them, whatever its value looks like.
fn settings(text: &str) -> Option<Secret> {
    let mut first: Option<(usize, usize)> = None;
    let (mut count, mut real) = (0, 0);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((name, value)) = line.trim_start().trim_start_matches("export ").split_once('=') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let telling =
            ["KEY", "SECRET", "PASSWORD", "PASSWD", "TOKEN", "CREDENTIAL"].iter().any(|word| name.contains(word));
        let given = value.len() >= 6 && !value.starts_with(['$', '<', '{', '%']) && !value.contains(' ');
        if is_name && telling && given {
            count += 1;
            real += u32::from(!is_placeholder(value));
            first.get_or_insert((start, start + line.trim_end().len()));
        }
    }
    let (start, end) = first.filter(|_| count >= 2 && real > 0)?;
    Some(Secret { start, end, what: "a list of settings with secrets", certain: false })
}

/// Values that look random after a name that says that a secret follows: `name = "value"`.
fn announced(text: &str) -> impl Iterator<Item = Secret> {
    ANNOUNCING.iter().flat_map(move |names| names.find_iter(text)).filter_map(move |found| {
        let bytes = text.as_bytes();
        let run = |from: usize, most: usize, is: fn(u8) -> bool| {
            from + bytes.get(from..).unwrap_or_default().iter().take(most).take_while(|b| is(**b)).count()
        };
        let quote = |b: u8| matches!(b, b'"' | b'\'');
        let blank = |b: u8| matches!(b, b' ' | b'\t');
        let at = run(found.end(), 20, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
        let at = run(run(at, 1, quote), 4, blank);
        let value = run(at, 1, |b| matches!(b, b':' | b'='));
        if value == at {
            return None;
        }
        let start = run(run(value, 4, blank), 1, quote);
        let end = run(start, 128, |b| b.is_ascii_alphanumeric() || b"+/_.~=-".contains(&b));
        let value = text.get(start..end).filter(|value| value.len() >= 12)?;
        (is_random(value) && !is_placeholder(value)).then_some(Secret {
            start,
            end,
            what: "a value that a name calls a secret",
            certain: false,
        })
    })
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
    let lower: String = value.to_ascii_lowercase();
    let squeezed: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    if [
        "changeme",
        "changethis",
        "replaceme",
        "replacethis",
        "fillin",
        "todo",
        "secrethere",
        "tokenhere",
        "keyhere",
        "passwordhere",
        "setme",
        "tobeset",
    ]
    .iter()
    .any(|word| squeezed.starts_with(word) || squeezed.ends_with("here"))
    {
        return true;
    }
    // In the midst of other characters it is chance, or put there to look like one.
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    let stands = |(at, word): (usize, &str)| {
        let before = lower.get(..at).and_then(|before| before.chars().next_back());
        edge(before) || edge(lower.get(at + word.len()..).and_then(|after| after.chars().next()))
    };
    if lower.match_indices("example").any(stands) {
        return true;
    }
    [
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

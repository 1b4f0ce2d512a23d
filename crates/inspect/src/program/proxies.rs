//! Hosts that are put between a program and whom it talks to: whatever is then sent goes to them as well (curl(1), "ENVIRONMENT"; the
//! manuals of wget, Git, pip, npm, Cargo, Maven and apt).

use crate::bounded::Bounded as _;
use crate::machine::{Machine, Variable, Word};

/// Programs whose `config` or `set` takes a setting and its value as words.
const SETTERS: &[&str] = &[
    "npm",
    "pnpm",
    "yarn",
    "git",
    "pip",
    "pip3",
    "conda",
    "mamba",
    "composer",
    "gem",
    "bundle",
    "snap",
    "gsettings",
    "cargo",
];

impl Machine<'_> {
    /// A variable that names a proxy (curl(1), "ENVIRONMENT"), or where a program finds the service that it hands its token to
    /// (`OPENAI_BASE_URL`, `AWS_ENDPOINT_URL`).
    pub(crate) fn judge_proxy_variable(&mut self, name: &str, value: &Variable) {
        if let Variable::Scalar(word) = value {
            let service = is_service(name)
                && ["http://", "https://", "ws://", "wss://"].iter().any(|s| word.prefix().starts_with(s));
            if is_key(name) || service {
                self.between(word);
            }
        }
    }

    /// Options and settings that name one.
    pub(super) fn judge_proxies(&mut self, base: &str, rest: &[Word]) {
        let sets = SETTERS.contains(&base)
            && rest.iter().take(3).any(|word| matches!(word.constant(), Some("config" | "set" | "conf")));
        for (i, word) in rest.iter().enumerate() {
            let text = word.prefix();
            let next = rest.get(i + 1).filter(|next| !next.prefix().starts_with('-'));
            let value = match word.split_once('=') {
                Some((key, value)) if is_key(&key.prefix()) => Some(value),
                Some(_) => None,
                None if is_key(&text) && (sets || text.starts_with('-')) => next.cloned(),
                None if matches!(base, "curl" | "xh") && text == "-x" => next.cloned(),
                None => None,
            };
            if let Some(value) = value {
                self.between(&value);
            }
        }
    }

    /// Settings in a file that programs read which talk to other machines (curl(1), "-K"; git-config(1), "http.proxy"; npmrc(5)).
    pub(crate) fn judge_proxy_settings(&mut self, name: &str, text: &str) {
        const SETTINGS: &[&str] = &[
            "curlrc",
            ".wgetrc",
            "wgetrc",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".gitconfig",
            "pip.conf",
            "pip.ini",
            "environment",
            ".condarc",
            ".bashrc",
            ".profile",
            ".zshrc",
            ".env",
            ".envrc",
            "gradle.properties",
            "apt.conf",
        ];
        let last = name.rsplit('/').next().unwrap_or(name).trim_start_matches("._");
        let known = SETTINGS.iter().any(|setting| last.trim_start_matches('.') == setting.trim_start_matches('.'));
        if !(known
            || name.ends_with("/.git/config")
            || name.ends_with("/.cargo/config.toml")
            || name.contains("/apt.conf.d/"))
        {
            return;
        }
        for line in text.lines().at_most(8192) {
            let Some((key, value)) = line.split_once(['=', ':']).or_else(|| line.trim().split_once(' ')) else {
                continue;
            };
            if is_key(key.trim().trim_start_matches("export ")) {
                self.between(&Word::text(value.trim().trim_matches(['"', '\''])));
            }
        }
    }

    /// A host that stands between, where the value reads as one.
    fn between(&mut self, word: &Word) {
        let known = word.prefix();
        // HTTPie says first which scheme it is for: `--proxy=http:http://host`.
        let word = match known.split_once(':') {
            Some((scheme @ ("http" | "https" | "all"), rest)) if rest.contains("://") => word.skip(scheme.len() + 1),
            _ => Some(word.clone()),
        };
        let Some(word) = word else { return };
        let quoted = word.constant().map(|text| text.trim_matches(['"', '\'', ',', ';', ' ']).to_owned());
        let word = quoted.map_or(word, Word::text);
        let text = word.prefix();
        let port = text.rsplit_once(':').is_some_and(|(host, port)| {
            let port = port.trim_end_matches('/');
            host.len() > 1 && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
        });
        let plain = text.contains('.') && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
        if text.contains("://") || port || plain {
            self.touch_host(&word);
        }
    }
}

/// Whether a name is that of the address of a service.
fn is_service(name: &str) -> bool {
    const ENDS: &[&str] =
        &["_BASE_URL", "_API_URL", "_API_BASE", "_ENDPOINT", "_ENDPOINT_URL", "_SERVER_URL", "_REGISTRY", "_INDEX_URL"];
    ENDS.iter().any(|end| name.len() > end.len() && name.ends_with(end))
}

/// Whether a name is that of a proxy: `https_proxy`, `--proxy`, `http.proxy`, `-Dhttps.proxyHost`, `Acquire::http::Proxy`.
fn is_key(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit([':', ' ']).next().unwrap_or(&lower);
    let bare = last.trim_start_matches('-');
    let tail = bare.rsplit(['.', '_', '-']).next().unwrap_or(bare);
    let before = bare.strip_suffix(tail).unwrap_or("");
    let none = ["no", "pass", "reverse", "trust", "disable", "skip", "ignore"];
    let named = matches!(tail, "proxy" | "proxyhost" | "httpproxy" | "httpsproxy")
        || matches!(
            bare,
            "preproxy" | "proxy-url" | "socks" | "socks4" | "socks4a" | "socks5" | "socks5-hostname" | "proxy-server"
        );
    named && !none.iter().any(|word| before.split(['.', '_', '-']).any(|part| part == *word))
}

#[cfg(test)]
mod tests {
    use super::is_key;

    #[test]
    fn a_proxy_has_a_name_of_its_own() {
        for name in
            ["https_proxy", "ALL_PROXY", "--proxy", "http.proxy", "-Dhttps.proxyHost", "--http-proxy", "httpsProxy"]
        {
            assert!(is_key(name), "{name}");
        }
        for name in
            ["NO_PROXY", "--noproxy", "--no-proxy", "proxy_pass", "reverse-proxy", "PROXY_BUFFER", "--proxy-user"]
        {
            assert!(!is_key(name), "{name}");
        }
    }
}

//! What code of languages that are not read sends away or fetches and runs, by the calls and texts that stand in it.

use countersign_plan::inspection::{Context, Inspection};

use super::foreign::{CALLS_BY_NAME, CONNECTS, EVALUATES, MAX_CALLS};
use crate::bounded::Bounded as _;
use crate::inspection::Build as _;

/// Parts of the names of files that hold secrets, below the home folder or anywhere.
const SECRETS: &[&str] = &[
    "/.ssh/id_",
    "/.aws/credentials",
    "/.netrc",
    "/.kube/config",
    "/.gnupg/",
    "/.docker/config.json",
    "/.git-credentials",
    "/.npmrc",
    "/.pypirc",
    "/.pgpass",
    "/.gradle/gradle.properties",
    "/.m2/settings.xml",
    "/etc/shadow",
];

/// Calls that send something over HTTP, beside those that connect.
const REQUESTS: &[&str] = &[
    "http.Post",
    "http.Get",
    "http.NewRequest",
    "reqwest::",
    "ureq::",
    "HttpClient",
    "HttpURLConnection",
    "URL(",
    "fetch(",
    "curl_easy_",
    "WebClient",
    "URLSession",
];

/// Programs by whose arguments something goes out.
const TALKING: &[&str] = &[
    "nslookup", "dig", "host", "drill", "getent", "ping", "curl", "wget", "nc", "ncat", "socat", "scp", "ssh", "rsync",
    "sftp", "ftp",
];

/// Files with secrets whose names stand in a code beside a host and what talks to it.
pub(super) fn sends_secrets(text: &str, context: &Context, out: &mut Inspection) {
    // A program that is started talks as well.
    let talks = TALKING.iter().any(|program| text.contains(&format!("\"{program}\"")));
    if !talks && !CONNECTS.iter().chain(REQUESTS).any(|call| text.contains(call)) {
        return;
    }
    let quoted: Vec<&str> =
        ['"', '\''].iter().flat_map(|quote| text.split(*quote).skip(1).step_by(2).at_most(512)).collect();
    let whole = ["System.getenv()", "os.Environ()", "env::vars()", "GetEnvironmentVariables()", "environ "];
    let is_host = |word: &&&str| {
        let port = word.rsplit_once(':').is_some_and(|(host, port)| host.contains('.') && port.parse::<u16>().is_ok());
        !word.contains(' ') && (port || word.starts_with("http://") || word.starts_with("https://"))
    };
    let host =
        quoted.iter().find(is_host).map(|word| crate::host::read(word).name.unwrap_or_else(|| (*word).to_owned()));
    // `{}.h.example`: a name of which the first part is filled in.
    let named = |word: &&&str| {
        let tail = word.rsplit('}').next().unwrap_or(word).trim_start_matches('.');
        word.contains('}')
            && tail.contains('.')
            && tail.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    };
    let host = host.or_else(|| {
        let found = quoted.iter().filter(|_| talks).find(named)?;
        found.rsplit('}').next().map(|tail| tail.trim_start_matches('.').to_owned())
    });
    let Some(host) = host.filter(|host| !crate::host::is_local(host)) else { return };
    if whole.iter().any(|call| text.contains(call)) {
        out.flow(countersign_plan::inspection::Flow { from: "env".to_owned(), to: host.clone() });
    }
    for word in quoted {
        let slashed = format!("/{word}");
        if let Some(at) = SECRETS.iter().find_map(|part| slashed.find(part)) {
            let tail = slashed.get(at..).unwrap_or("");
            let from = if tail.starts_with("/etc/") { tail.to_owned() } else { format!("{}{tail}", context.home) };
            out.flow(countersign_plan::inspection::Flow { from, to: host.clone() });
        }
    }
}

/// What keeps in a file what a host sends.
const DOWNLOADS: &[&str] = &["download.file(", "curl_download(", "Downloads.download(", "download("];

/// Whether a code runs the file in which it kept what a host sent.
pub(super) fn fetches_and_runs(text: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    DOWNLOADS.iter().flat_map(|call| text.match_indices(call).at_most(MAX_CALLS)).any(|(at, call)| {
        let rest = text.get(at + call.len()..).unwrap_or("");
        let Some((arguments, after)) = rest.split_once(['\n', ';', '}']) else { return false };
        let mut given = arguments.split(',').map(|one| one.rsplit('=').next().unwrap_or(one).trim());
        let host = given.next().is_some_and(|from| from.contains("://"));
        let kept = given.next().map(|to| to.trim_matches(|c: char| !part(c))).filter(|to| !to.is_empty());
        let runs = |line: &str, kept: &str| {
            line.split(|c| !part(c)).any(|word| word == kept)
                && EVALUATES.iter().chain(CALLS_BY_NAME).any(|call| line.contains(call))
        };
        host && kept.is_some_and(|kept| after.split(['\n', ';']).at_most(MAX_CALLS).any(|line| runs(line, kept)))
    })
}

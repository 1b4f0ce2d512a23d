//! One HTTP request of a step: granted, checked, signed, sent, and its answer bounded. A redirect is another request: it is
//! followed only if it was granted as well, and no secret goes with it to another origin (lesson 18).

use std::time::Duration;

use bytes::Bytes;
use countersign_plan::text;
use countersign_wire::egress::{ask, reply};
use hyper::Method;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, LOCATION};
use tokio::time::Instant;
use url::{Host, Url};

use crate::address::{self, Class, Reach};
use crate::credentials::Credentials;
use crate::grant::{self, Grant};
use crate::http::{self, Answer, Client, Outgoing};
use crate::refusal::Refusal;
use crate::secrets::Secrets;

pub(crate) mod headers;

/// The most redirects that are followed.
const REDIRECTS: u32 = 5;
/// The most bytes of an answer's body that are kept.
const KEEP: u64 = 4 << 20;
/// How many bytes beyond those are still read, to count them. Then the connection is closed.
const COUNTED: u64 = 1 << 20;
/// The longest time for one request.
const LONGEST: Duration = Duration::from_secs(600);
/// The time for one that says none.
const USUAL: Duration = Duration::from_secs(30);

/// What came back, and what is worth a note.
pub(crate) struct Fetched {
    pub(crate) answer: reply::Fetched,
    /// A redirect that was not followed: whether it led to a metadata service, and what to say.
    pub(crate) note: Option<(bool, String)>,
}

/// Makes the request of a step.
///
/// # Errors
/// Not granted, malformed, unreachable, or broken.
pub(crate) async fn fetch(
    client: &Client,
    secrets: &Secrets,
    grant: &Grant,
    ask: ask::Fetch,
) -> Result<Fetched, Refusal> {
    let time = if ask.timeout_ms == 0 { USUAL } else { Duration::from_millis(ask.timeout_ms).min(LONGEST) };
    let deadline = Instant::now() + time;
    let method = method(&ask.method)?;
    let url = destination(&ask.url)?;
    let reach = grant.request(method.as_str(), &url)?;
    let plain = headers::plain(&ask.headers)?;
    let credentials = Credentials::read(&ask)?;
    no_secret_in(secrets, &ask)?;
    let safe = grant::is_safe(method.as_str());
    let body = ask.body.map(Bytes::from).unwrap_or_default();
    let mut hop = Hop { method, url, reach, headers: plain, body };
    let first = origin(&hop.url);
    let mut redirects = 0;
    loop {
        // Whatever was named as a secret stays with the origin that it was named for.
        let credentials = (origin(&hop.url) == first).then_some(&credentials);
        let answer = send(client, secrets, grant, &hop, credentials, deadline).await?;
        let target = target(&hop.url, &answer);
        let next = match &target {
            None => Err(None),
            Some(_) if redirects == REDIRECTS => Err(Some((false, format!("more than {REDIRECTS} redirects")))),
            Some(target) => follow(grant, &hop, answer.status, target).map_err(Some),
        };
        match next {
            Ok(next) => {
                hop = next;
                redirects += 1;
            }
            Err(note) => {
                let answer = read(answer, &hop.url, ask.keep.min(KEEP), safe).await?;
                return Ok(Fetched { answer, note });
            }
        }
    }
}

/// One request on the way.
struct Hop {
    method: Method,
    url: Url,
    reach: Reach,
    headers: HeaderMap,
    body: Bytes,
}

async fn send(
    client: &Client,
    secrets: &Secrets,
    grant: &Grant,
    hop: &Hop,
    credentials: Option<&Credentials>,
    deadline: Instant,
) -> Result<Answer, Refusal> {
    let safe = grant::is_safe(hop.method.as_str());
    let mut attempt = 0;
    loop {
        let mut outgoing = Outgoing {
            method: hop.method.clone(),
            url: hop.url.clone(),
            headers: hop.headers.clone(),
            body: hop.body.clone(),
            reach: hop.reach,
            deadline,
        };
        let used = match credentials {
            Some(credentials) => credentials.put(secrets, grant, &mut outgoing).await?,
            None => Vec::new(),
        };
        let answer = client.send(outgoing).await.map_err(|error| Refusal::exchange(&error, safe))?;
        // Refused for its credentials, so nothing happened: perhaps they were rotated since they were read. Once.
        if answer.status == 401 && attempt == 0 && !used.is_empty() {
            let mut rotated = false;
            for (name, old) in &used {
                secrets.stale(name, grant.case());
                rotated |= secrets.value(name, grant.case()).await.is_ok_and(|new| new.bytes() != old.bytes());
            }
            if rotated {
                attempt += 1;
                continue;
            }
        }
        return Ok(answer);
    }
}

/// The request that a redirect asks for, or why it is not followed.
fn follow(grant: &Grant, hop: &Hop, status: u16, target: &Url) -> Result<Hop, (bool, String)> {
    let shown = text::escape(&format!("{}://{}{}", target.scheme(), http::authority(target), target.path()));
    // RFC 9110: after 303, and by custom after 301 and 302 to a POST, the answer is asked for by GET.
    let becomes_get =
        status == 303 && hop.method != Method::HEAD || matches!(status, 301 | 302) && hop.method == Method::POST;
    let (method, body) = if becomes_get { (Method::GET, Bytes::new()) } else { (hop.method.clone(), hop.body.clone()) };
    let reach = match grant.request(method.as_str(), target) {
        Ok(reach) => reach,
        Err(refusal) => {
            // Only what the redirect itself says is looked at: a name of a hostile server's choice is not even asked for.
            let metadata = match target.host() {
                Some(Host::Ipv4(literal)) => address::classify(literal.into()) == Class::Metadata,
                Some(Host::Ipv6(literal)) => address::classify(literal.into()) == Class::Metadata,
                Some(Host::Domain(_)) | None => false,
            };
            let whither = if metadata { "a metadata service" } else { "elsewhere" };
            return Err((metadata, format!("a redirect to {whither} was not followed ({shown}): {}", refusal.message)));
        }
    };
    let mut headers = hop.headers.clone();
    if origin(target) != origin(&hop.url) {
        headers.remove(AUTHORIZATION);
        headers.remove(COOKIE);
    }
    if becomes_get {
        headers::drop_body(&mut headers);
    }
    Ok(Hop { method, url: target.clone(), reach, headers, body })
}

/// Where an answer sends on to.
fn target(url: &Url, answer: &Answer) -> Option<Url> {
    let location = matches!(answer.status, 301 | 302 | 303 | 307 | 308).then(|| answer.headers.get(LOCATION))??;
    let mut target = url.join(location.to_str().ok()?).ok()?;
    target.set_fragment(None);
    let plain = target.username().is_empty() && target.password().is_none();
    (matches!(target.scheme(), "http" | "https") && plain).then_some(target)
}

async fn read(mut answer: Answer, url: &Url, keep: u64, safe: bool) -> Result<reply::Fetched, Refusal> {
    let announced = answer.announced();
    let mut body = Vec::new();
    let mut seen: u64 = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|error| Refusal::exchange(&error, safe))? {
        let room = usize::try_from(keep).unwrap_or(usize::MAX).saturating_sub(body.len());
        body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
        seen = seen.saturating_add(chunk.len() as u64);
        if seen > keep.saturating_add(COUNTED) {
            break;
        }
    }
    let dropped = seen.max(announced.filter(|_| seen > 0).unwrap_or(0)).saturating_sub(body.len() as u64);
    let headers = headers::answered(&answer.headers);
    Ok(reply::Fetched { status: u32::from(answer.status), headers, body, dropped, url: url.to_string() })
}

fn method(text: &str) -> Result<Method, Refusal> {
    let known = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"].contains(&text);
    let method = known.then(|| text.parse::<Method>().ok()).flatten();
    method.ok_or_else(|| Refusal::violation(format!("`{}` is no method that is granted", text::escape(text))))
}

fn destination(text: &str) -> Result<Url, Refusal> {
    let mut url = Url::parse(text).map_err(|error| Refusal::refused(format!("the address: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::refused("credentials do not belong into an address: the tool's manifest names a secret"));
    }
    url.set_fragment(None);
    Ok(url)
}

fn origin(url: &Url) -> (String, Option<String>, Option<u16>) {
    (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
}

/// A step holds handles. One that sends a value itself has it from somewhere else: it leaked.
fn no_secret_in(secrets: &Secrets, ask: &ask::Fetch) -> Result<(), Refusal> {
    let redactor = secrets.redactor();
    let headers = ask.headers.iter().map(|header| header.value.as_bytes());
    let mut parts = headers.chain([ask.url.as_bytes(), ask.body.as_deref().unwrap_or_default()]);
    if parts.any(|part| redactor.finds(part)) {
        return Err(Refusal {
            alert: true,
            ..Refusal::refused("the request holds the value of a secret, not its handle: it was not sent")
        });
    }
    Ok(())
}

//! One message of a step to a configured channel, by an incoming webhook in Slack's form: a JSON object with `text`.

use std::time::Duration;

use bytes::Bytes;
use countersign_plan::text;
use countersign_wire::egress::ask;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::json;
use tokio::time::Instant;
use url::Url;

use crate::address::Reach;
use crate::grant::Grant;
use crate::http::Outgoing;
use crate::refusal::Refusal;
use crate::serve::Parts;

/// How long a channel may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of its answer.
const ANSWER: usize = 4 << 10;
/// The longest text, in bytes.
const LONGEST: usize = 40_000;

/// Sends a message; returns an id of our own, as webhooks give none.
///
/// # Errors
/// Not granted, not configured, not reachable, or refused.
pub(crate) async fn send(parts: &Parts, grant: &Grant, said: ask::ChannelMessage) -> Result<String, Refusal> {
    if said.body.len() > LONGEST {
        return Err(Refusal::refused(format!("a message has at most {LONGEST} bytes")));
    }
    if parts.secrets.redactor().finds(said.body.as_bytes()) {
        let refusal = Refusal::refused("the message holds the value of a secret: it was not sent");
        return Err(Refusal { alert: true, ..refusal });
    }
    grant.message(&said.channel)?;
    let unknown = || Refusal::refused(format!("no channel is called {}", text::escape(&said.channel)));
    let channel = parts.configuration.channels.get(&said.channel).ok_or_else(unknown)?;
    let named = !channel.webhook.contains("://");
    let mut url = address(parts, &channel.webhook).await?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let deadline = Instant::now() + PATIENCE;
    let outgoing = |url: &Url| Outgoing {
        method: Method::POST,
        url: url.clone(),
        headers: headers.clone(),
        body: Bytes::from(json!({"text": said.body}).to_string()),
        reach: Reach::Private,
        deadline,
    };
    let send = |url: &Url| parts.client.send(outgoing(url));
    let mut answer = send(&url).await.map_err(|error| Refusal::exchange(&error, false))?;
    // Refused, so nothing was sent: perhaps the address was replaced since it was read. Once.
    if named && matches!(answer.status, 401 | 403 | 404 | 410) {
        parts.secrets.stale(&channel.webhook, "");
        let new = address(parts, &channel.webhook).await?;
        if new != url {
            url = new;
            answer = send(&url).await.map_err(|error| Refusal::exchange(&error, false))?;
        }
    }
    let status = answer.status;
    if (200..300).contains(&status) {
        return id();
    }
    let words = answer.whole(ANSWER).await.unwrap_or_default();
    let words = text::escape(&String::from_utf8_lossy(&words));
    let message = format!("the channel answered {status}: {words}");
    Err(if status >= 500 { Refusal::indeterminate(message) } else { Refusal::refused(message) })
}

/// A channel's address, as it stands in the configuration or in the secret that it names.
async fn address(parts: &Parts, webhook: &str) -> Result<Url, Refusal> {
    let url = if webhook.contains("://") {
        Url::parse(webhook)
    } else {
        Url::parse(parts.secrets.value(webhook, "").await?.text().unwrap_or_default().trim())
    };
    url.map_err(|_| Refusal::refused("the channel's webhook is no address"))
}

fn id() -> Result<String, Refusal> {
    let mut random = [0; 16];
    // It was sent: an id that cannot be made is no reason to say otherwise.
    Ok(getrandom::fill(&mut random).map_or_else(|_| "sent".to_owned(), |()| hex::encode(random)))
}

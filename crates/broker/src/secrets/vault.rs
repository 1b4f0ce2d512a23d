//! `HashiCorp` Vault and `OpenBao` over HTTP: key and value (version 2), and engines that make credentials under a lease.
//!
//! Source: the HTTP API of Vault 1.x, "KV secrets engine - version 2", "System backend: leases".

use std::time::Duration;

use bytes::Bytes;
use countersign_plan::document::{self, Bounds};
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value as Json, json};
use tokio::time::Instant;
use url::Url;
use zeroize::Zeroizing;

use super::Value;
use crate::address::Reach;
use crate::configuration::{Vault, VaultKind};
use crate::http::{Client, Outgoing};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most bytes of an answer.
const ANSWER: usize = 256 << 10;

/// What was read.
pub(super) struct Read {
    pub(super) value: Zeroizing<Vec<u8>>,
    pub(super) lease: Option<Lease>,
}

/// Credentials under a lease.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub(super) id: String,
    pub(super) renewable: bool,
    pub(super) lasts: Duration,
}

/// Why Vault did not give what was asked.
#[derive(Debug)]
pub(super) enum VaultError {
    /// The token does not count, or not for this.
    Forbidden,
    /// Anything else; without values.
    Other(String),
}

impl VaultError {
    /// For people.
    pub(super) fn say(self) -> String {
        match self {
            Self::Forbidden => "Vault refuses the token (403)".to_owned(),
            Self::Other(why) => why,
        }
    }
}

/// Reads a secret, or has credentials made.
pub(super) async fn read(client: &Client, vault: &Vault, token: &Value) -> Result<Read, VaultError> {
    let path = match vault.kind {
        VaultKind::Kv2 => format!("{}/data/{}", vault.mount.as_deref().unwrap_or("secret"), vault.path),
        VaultKind::Dynamic => format!("{}/{}", vault.mount.as_deref().unwrap_or_default(), vault.path),
    };
    let answer = ask(client, vault, token, Method::GET, &path, None).await?;
    let data = match vault.kind {
        VaultKind::Kv2 => "/data/data",
        VaultKind::Dynamic => "/data",
    };
    let data = answer.pointer(data).and_then(Json::as_object).ok_or_else(|| other("the answer holds no data"))?;
    let mut value = Zeroizing::new(Vec::new());
    for (at, field) in vault.field.all().iter().enumerate() {
        let part = data.get(field).and_then(Json::as_str);
        let part = part.ok_or_else(|| other(&format!("the answer holds no text `{field}`")))?;
        if at > 0 {
            value.push(b':');
        }
        value.extend_from_slice(part.as_bytes());
    }
    Ok(Read { value, lease: lease(&answer) })
}

/// Prolongs a lease.
pub(super) async fn renew(client: &Client, vault: &Vault, token: &Value, held: &Lease) -> Result<Lease, VaultError> {
    let body = json!({"lease_id": held.id, "increment": held.lasts.as_secs()});
    let answer = ask(client, vault, token, Method::PUT, "sys/leases/renew", Some(body)).await?;
    lease(&answer).ok_or_else(|| other("the answer holds no lease"))
}

/// Takes credentials back.
pub(super) async fn revoke(client: &Client, vault: &Vault, token: &Value, id: &str) -> Result<(), VaultError> {
    ask(client, vault, token, Method::PUT, "sys/leases/revoke", Some(json!({"lease_id": id}))).await.map(drop)
}

fn lease(answer: &Json) -> Option<Lease> {
    let id = answer.get("lease_id")?.as_str().filter(|id| !id.is_empty())?.to_owned();
    let renewable = answer.get("renewable").and_then(Json::as_bool).unwrap_or(false);
    // Numbers of a document are exact doubles.
    let seconds = answer.get("lease_duration").and_then(Json::as_f64).unwrap_or(0.0);
    let lasts = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    Some(Lease { id, renewable, lasts })
}

async fn ask(
    client: &Client,
    vault: &Vault,
    token: &Value,
    method: Method,
    path: &str,
    body: Option<Json>,
) -> Result<Json, VaultError> {
    let mut url = Url::parse(&vault.address).map_err(|error| other(&error.to_string()))?;
    url.path_segments_mut()
        .map_err(|()| other("the address takes no path"))?
        .pop_if_empty()
        .push("v1")
        .extend(path.split('/'));
    let mut headers = HeaderMap::new();
    let mut secret = HeaderValue::from_bytes(token.bytes()).map_err(|_| other("the token cannot stand in a header"))?;
    secret.set_sensitive(true);
    headers.insert("x-vault-token", secret);
    headers.insert("x-vault-request", HeaderValue::from_static("true"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(namespace) = &vault.namespace {
        let namespace =
            HeaderValue::from_str(namespace).map_err(|_| other("the namespace cannot stand in a header"))?;
        headers.insert("x-vault-namespace", namespace);
    }
    let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let deadline = Instant::now() + PATIENCE;
    let outgoing = Outgoing { method, url, headers, body, reach: Reach::Private, deadline };
    let answer = client.send(outgoing).await.map_err(|error| other(&error.to_string()))?;
    let status = answer.status;
    let text = Zeroizing::new(answer.whole(ANSWER).await.map_err(|error| other(&error.to_string()))?);
    match status {
        200 => {
            let bounds = Bounds { bytes: ANSWER, depth: 16, values: 4096 };
            document::from_json(&text, bounds).map_err(|error| other(&format!("the answer: {error}")))
        }
        204 => Ok(Json::Null),
        403 => Err(VaultError::Forbidden),
        404 => Err(other("Vault has nothing there (404)")),
        // Its words may quote what was sent; the status says enough.
        status => Err(other(&format!("Vault answers {status}"))),
    }
}

fn other(why: &str) -> VaultError {
    VaultError::Other(why.to_owned())
}

//! The change requests of a service, read for the monitor, which judges them. They give leave, so nobody on the way may write them:
//! they come by TLS, or in clear from an address literal of this machine or house.

use std::time::Duration;

use bytes::Bytes;
use countersign_plan::document::{self, Bounds};
use countersign_plan::egress::Service;
use hyper::Method;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue};
use tokio::time::Instant;
use url::{Host, Url};

use crate::address::{self, Class, Reach};
use crate::credentials;
use crate::http::Outgoing;
use crate::serve::Parts;

/// How long the service may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The document that a service has now, without any value of a secret.
///
/// # Errors
/// The service cannot be asked, or gave none. Says no value.
pub(crate) async fn read(parts: &Parts, service: &[u8]) -> Result<Vec<u8>, String> {
    let service: Service =
        document::from_json(service, Bounds::CONFIG).and_then(document::typed).map_err(|error| error.to_string())?;
    let url = Url::parse(&service.url).map_err(|error| format!("its address: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its address holds credentials: name a secret under `auth`".to_owned());
    }
    if !(url.scheme() == "https" || url.scheme() == "http" && is_inside(&url)) {
        return Err("change requests come by https, or by http from a private or loopback address".to_owned());
    }
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, application/yaml"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let deadline = Instant::now() + PATIENCE;
    let mut outgoing =
        Outgoing { method: Method::GET, url, headers, body: Bytes::new(), reach: Reach::Private, deadline };
    if let Some(auth) = &service.auth {
        let name = auth.secret().as_str();
        let value = parts.secrets.value(name, "").await.map_err(|error| error.to_string())?;
        credentials::authenticate(auth, &value, &mut outgoing).map_err(|refusal| refusal.message)?;
    }
    let answer = parts.client.send(outgoing).await.map_err(|error| error.to_string())?;
    if answer.status != 200 {
        if let (401, Some(auth)) = (answer.status, &service.auth) {
            parts.secrets.stale(auth.secret().as_str(), "");
        }
        return Err(format!("it answers {}", answer.status));
    }
    let document = answer.whole(Bounds::CONFIG.bytes).await.map_err(|error| error.to_string())?;
    Ok(parts.secrets.redactor().redact(document))
}

/// Whether the address says by itself that it is of this machine or house.
fn is_inside(url: &Url) -> bool {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => return false,
    };
    matches!(address::classify(address), Class::Private(_))
}

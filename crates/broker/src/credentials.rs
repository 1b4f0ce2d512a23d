//! Puts secrets where a step's request has handles of them. The values live in the request that is sent and nowhere else.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_plan::document::{self, Bounds};
use countersign_plan::egress::Auth;
use countersign_wire::egress::ask;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use crate::fetch::headers;
use crate::grant::Grant;
use crate::http::{self, Outgoing};
use crate::refusal::Refusal;
use crate::secrets::{Secrets, Value};
use crate::sigv4::{Signer, Unsigned};

/// Which secrets a request carries, and where.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// Header, what stands before the value, the secret.
    headers: Vec<(HeaderName, String, String)>,
    auth: Option<Auth>,
}

impl Credentials {
    /// The handles of a request.
    ///
    /// # Errors
    /// Malformed.
    pub(crate) fn read(ask: &ask::Fetch) -> Result<Self, Refusal> {
        let mut named = Vec::new();
        for header in &ask.headers {
            if let Some(secret) = &header.secret {
                named.push((headers::name(&header.name)?, header.value.clone(), secret.clone()));
            }
        }
        let auth = ask.auth.as_deref().map(auth).transpose()?;
        Ok(Self { headers: named, auth })
    }

    /// Puts the values in, where the grant lets them go to this host; returns which were used.
    ///
    /// # Errors
    /// A secret that may not go there, or that has no usable value.
    pub(crate) async fn put(
        &self,
        secrets: &Secrets,
        grant: &Grant,
        outgoing: &mut Outgoing,
    ) -> Result<Vec<(String, Value)>, Refusal> {
        let mut used = Vec::new();
        for (name, before, secret) in &self.headers {
            let value = obtain(secrets, grant, secret, outgoing).await?;
            let text = Zeroizing::new([before.as_bytes(), value.bytes()].concat());
            outgoing.headers.insert(name.clone(), sensitive(secret, &text)?);
            used.push((secret.clone(), value));
        }
        if let Some(auth) = &self.auth {
            let secret = auth.secret().as_str();
            let value = obtain(secrets, grant, secret, outgoing).await?;
            authenticate(auth, &value, outgoing)?;
            used.push((secret.to_owned(), value));
        }
        Ok(used)
    }
}

fn auth(bytes: &[u8]) -> Result<Auth, Refusal> {
    let bounds = Bounds { bytes: 4 << 10, depth: 4, values: 32 };
    let read = document::from_json(bytes, bounds).and_then(document::typed);
    read.map_err(|error| Refusal::refused(format!("how the request is authenticated: {error}")))
}

async fn obtain(secrets: &Secrets, grant: &Grant, name: &str, outgoing: &Outgoing) -> Result<Value, Refusal> {
    grant.secret(name, &outgoing.url, outgoing.reach)?;
    Ok(secrets.value(name, grant.case()).await?)
}

/// Puts the value of a secret where `auth` says.
///
/// # Errors
/// It cannot stand there.
pub(crate) fn authenticate(auth: &Auth, value: &Value, outgoing: &mut Outgoing) -> Result<(), Refusal> {
    let secret = auth.secret().as_str();
    match auth {
        Auth::Bearer { .. } => {
            let text = Zeroizing::new([b"Bearer ", value.bytes()].concat());
            outgoing.headers.insert(AUTHORIZATION, sensitive(secret, &text)?);
        }
        Auth::Basic { .. } => {
            let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(value.bytes())));
            outgoing.headers.insert(AUTHORIZATION, sensitive(secret, text.as_bytes())?);
        }
        Auth::Header { name, .. } => {
            let name = headers::name(name)?;
            outgoing.headers.insert(name, sensitive(secret, value.bytes())?);
        }
        Auth::Query { name, .. } => {
            let text = value.text().ok_or_else(|| Refusal::refused(format!("secret `{secret}` is no text")))?;
            if outgoing.url.query_pairs().any(|(found, _)| found == name.as_str()) {
                return Err(Refusal::refused(format!(
                    "the parameter `{name}` carries a secret: a plan does not set it"
                )));
            }
            outgoing.url.query_pairs_mut().append_pair(name, text);
        }
        Auth::AwsSigv4 { region, service, .. } => {
            let now =
                SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|age| i64::try_from(age.as_secs()).ok());
            let signer = now.and_then(|now| Signer::new(value, region, service, now));
            let form = || Refusal::refused(format!("secret `{secret}` is not `ACCESS_KEY_ID:SECRET_ACCESS_KEY`"));
            sign(&signer.ok_or_else(form)?, secret, outgoing)?;
        }
    }
    Ok(())
}

fn sign(signer: &Signer<'_>, secret: &str, outgoing: &mut Outgoing) -> Result<(), Refusal> {
    // What a server may act on is signed; `user-agent` and the like may be changed on the way.
    let ours = ["x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];
    let signed = |name: &HeaderName| {
        name.as_str() == "content-type" || name.as_str().starts_with("x-amz-") && !ours.contains(&name.as_str())
    };
    let covered: Vec<_> = outgoing
        .headers
        .iter()
        .filter(|(name, _)| signed(name))
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let host = http::authority(&outgoing.url);
    let request = Unsigned {
        method: outgoing.method.as_str(),
        url: &outgoing.url,
        host: &host,
        headers: &covered,
        body: &outgoing.body,
    };
    for (name, value) in signer.sign(&request) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| Refusal::refused(error.to_string()))?;
        outgoing.headers.insert(name, sensitive(secret, value.as_bytes())?);
    }
    Ok(())
}

fn sensitive(secret: &str, bytes: &[u8]) -> Result<HeaderValue, Refusal> {
    let value = HeaderValue::from_bytes(bytes);
    let mut value = value.map_err(|_| Refusal::refused(format!("secret `{secret}` cannot stand in a header")))?;
    value.set_sensitive(true);
    Ok(value)
}

//! One configured provider: where it is, what it speaks, and one attempt to have an answer from it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use countersign_plan::document::DocumentError;
use countersign_wire::broker;
use countersign_wire::infer::{Failure, FailureKind, Request};
use hyper::Method;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, timeout_at};
use url::Url;
use zeroize::Zeroizing;

use super::anthropic::{self, Blocks};
use super::budget::Prices;
use super::fault::{self, ERROR_LIMIT, Fault};
use super::openai::{self, Chunks};
use super::patience::Patience;
use super::reading::{Parts, Reading};
use super::retry;
use super::script::{self, Piece, Script};
use super::written::Written;
use crate::address::Reach;
use crate::configuration::{self, ProviderKind, Secrecy, Structured};
use crate::http::{Answer, Client, HttpError, Outgoing};
use crate::resolve::ResolveError;
use crate::secrets::Value;

/// A provider.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The model, as configured.
    pub(crate) model: String,
    /// The most secret data that it may see.
    pub(crate) clearance: Secrecy,
    /// What it costs.
    pub(crate) prices: Prices,
    /// How long it may take.
    pub(crate) patience: Patience,
    /// Tokens that request and answer may have together.
    max_context: Option<u32>,
    structured: Structured,
    /// The secret that is its key.
    pub(crate) key: Option<String>,
    road: Road,
}

/// How it is reached.
#[derive(Debug)]
enum Road {
    Network { dialect: Dialect, url: Url, reach: Reach },
    Script(Mutex<Script>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Openai,
    Anthropic,
}

/// What an attempt needs beyond the provider.
pub(crate) struct Means<'a> {
    /// The way to the network.
    pub(crate) client: &'a Arc<Client>,
    /// The provider's key.
    pub(crate) key: Option<&'a Value>,
    /// The case, for a script.
    pub(crate) case: &'a str,
    /// When all of it has to be over.
    pub(crate) deadline: Instant,
    /// Told of the bytes of the answer so far.
    pub(crate) progress: &'a (dyn Fn(usize) + Send + Sync),
}

impl Provider {
    /// A provider as configured; reads a script.
    ///
    /// # Errors
    /// What is wrong with it; the pointer is relative to the provider.
    pub(crate) fn new(configured: &configuration::Provider) -> Result<Self, DocumentError> {
        configured.patience.check().map_err(|e| e.below("/patience"))?;
        let (road, structured) = match configured.kind {
            ProviderKind::Scripted => {
                let path = configured.script.as_deref().unwrap_or_default();
                let bytes =
                    std::fs::read(path).map_err(|e| DocumentError::at("/script", format!("cannot read it: {e}")))?;
                let script = Script::read(&bytes).map_err(|e| e.below("/script"))?;
                (Road::Script(Mutex::new(script)), Structured::None)
            }
            ProviderKind::Openai => (
                network(configured, Dialect::Openai, "https://api.openai.com/v1", "chat/completions")?,
                Structured::JsonSchema,
            ),
            ProviderKind::Anthropic => {
                (network(configured, Dialect::Anthropic, "https://api.anthropic.com", "v1/messages")?, Structured::Tool)
            }
        };
        let price = |dollars: f64| whole(dollars * 1_000_000.0);
        let prices = configured.prices.map_or_else(Prices::default, |p| Prices {
            input: price(p.input_per_million),
            output: price(p.output_per_million),
        });
        Ok(Self {
            model: if configured.model.is_empty() {
                configured.kind.as_str().to_owned()
            } else {
                configured.model.clone()
            },
            clearance: configured.clearance,
            prices,
            patience: configured.patience,
            max_context: configured.max_context,
            structured: configured.structured.unwrap_or(structured),
            key: configured.key.clone(),
            road,
        })
    }

    /// The most tokens that an answer to a request of `input` tokens may have.
    ///
    /// # Errors
    /// The request alone fills the context.
    pub(crate) fn room(&self, input: u64, wanted: u32) -> Result<u32, Failure> {
        let Some(context) = self.max_context else { return Ok(wanted) };
        match u32::try_from(u64::from(context).saturating_sub(input)) {
            Ok(room) if room > 0 => Ok(wanted.min(room)),
            Ok(_) | Err(_) => Err(Failure::new(
                FailureKind::Rejected,
                format!("the request has about {input} tokens, and the provider's `max_context` is {context}"),
            )),
        }
    }

    /// What the monitor may know of it.
    pub(crate) fn facts(&self, name: &str) -> broker::Provider {
        let (kind, host) = match &self.road {
            Road::Script(_) => (ProviderKind::Scripted, String::new()),
            Road::Network { dialect, url, .. } => {
                let kind = match dialect {
                    Dialect::Openai => ProviderKind::Openai,
                    Dialect::Anthropic => ProviderKind::Anthropic,
                };
                (kind, configuration::endpoint(url.as_str()))
            }
        };
        broker::Provider {
            name: name.to_owned(),
            kind: kind.as_str().to_owned(),
            model: self.model.clone(),
            host,
            clearance: self.clearance.as_str().to_owned(),
            max_context: self.max_context.unwrap_or(0),
        }
    }

    /// Forgets a case.
    pub(crate) fn end(&self, case: &str) {
        if let Road::Script(script) = &self.road {
            script.lock().unwrap_or_else(PoisonError::into_inner).end(case);
        }
    }

    /// The body of a request to a provider on the network. Pure, and the same for every attempt.
    ///
    /// # Errors
    /// It cannot be said in the provider's dialect.
    pub(crate) fn body(&self, request: &Request) -> Result<Bytes, Fault> {
        let body = match &self.road {
            Road::Script(_) => return Ok(Bytes::new()),
            Road::Network { dialect: Dialect::Anthropic, .. } => {
                anthropic::body(request, &self.model, self.structured)?
            }
            Road::Network { dialect: Dialect::Openai, url, .. } => {
                // The public service takes only the newer name for all its models; most others know only the older one.
                let public = url.host_str() == Some("api.openai.com");
                let limit = if public { "max_completion_tokens" } else { "max_tokens" };
                openai::body(request, &self.model, self.structured, limit)?
            }
        };
        Ok(body.to_string().into())
    }

    /// One attempt.
    ///
    /// # Errors
    /// Why there is no answer, and whether another attempt makes sense.
    pub(crate) async fn attempt(&self, request: &Request, body: Bytes, means: &Means<'_>) -> Result<Written, Fault> {
        let first = self.patience.first_byte();
        let until = means.deadline.min(Instant::now() + first);
        let slow =
            || Fault::unavailable(format!("the provider did not begin to answer within {} ms", first.as_millis()));
        let (head, mut source) = timeout_at(until, self.open(request, body, means)).await.map_err(|_| slow())??;
        if head.status != 200 {
            let body = self.rest(&mut source, means).await;
            return Err(fault::of_status(head.status, head.retry_after, &body));
        }
        let offered = request.schema.is_some() && self.structured != Structured::None;
        let parts = match &self.road {
            Road::Network { dialect: Dialect::Anthropic, .. } => Parts::Anthropic(Blocks::new(offered)),
            Road::Network { dialect: Dialect::Openai, .. } => {
                Parts::Openai(Chunks::new(offered && self.structured == Structured::Tool))
            }
            Road::Script(_) => Parts::Openai(Chunks::new(false)),
        };
        let mut reading = Reading::begin(&head.content_type, parts)?;
        while !reading.done() {
            let next = source.next(self.patience.idle(), means.deadline).await;
            let Some(chunk) = next.map_err(|fault| reading.seen(fault))? else { break };
            reading.take(&chunk)?;
            (means.progress)(reading.bytes());
        }
        reading.finish()
    }

    async fn open(&self, request: &Request, body: Bytes, means: &Means<'_>) -> Result<(Head, Source), Fault> {
        match &self.road {
            Road::Script(script) => {
                let played = script.lock().unwrap_or_else(PoisonError::into_inner).play(means.case, request);
                let played = played.ok_or_else(|| Fault::rejected("the script has no answer left for this request"))?;
                let head = Head {
                    status: played.status,
                    content_type: played.content_type.to_owned(),
                    retry_after: retry::asked(played.retry_after.as_deref(), None, jiff::Timestamp::now()),
                };
                Ok((head, Source::Script(played.body)))
            }
            Road::Network { dialect, url, reach } => {
                let outgoing = Outgoing {
                    method: Method::POST,
                    url: url.clone(),
                    headers: headers(*dialect, means.key)?,
                    body,
                    reach: *reach,
                    deadline: means.deadline,
                };
                let answer = means.client.send(outgoing).await.map_err(|e| of_http(&e))?;
                let encoding = answer.headers.get(CONTENT_ENCODING);
                if encoding.is_some_and(|e| e != "identity") {
                    return Err(Fault::garbage("the answer is compressed, which was not asked for"));
                }
                Ok((Head::of(&answer), Source::Network(Box::new(answer))))
            }
        }
    }

    /// What can be read of an error's body; its status is what counts, so nothing of it can fail.
    async fn rest(&self, source: &mut Source, means: &Means<'_>) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = source.next(self.patience.idle(), means.deadline).await {
            let room = ERROR_LIMIT - body.len();
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if body.len() == ERROR_LIMIT {
                break;
            }
        }
        body
    }
}

/// What counts of an answer's head.
struct Head {
    status: u16,
    content_type: String,
    retry_after: Option<Duration>,
}

impl Head {
    fn of(answer: &Answer) -> Self {
        let text = |name: HeaderName| answer.headers.get(name).and_then(|value| value.to_str().ok());
        let millis = text(HeaderName::from_static("retry-after-ms"));
        Self {
            status: answer.status,
            content_type: text(CONTENT_TYPE).unwrap_or_default().to_owned(),
            retry_after: retry::asked(text(hyper::header::RETRY_AFTER), millis, jiff::Timestamp::now()),
        }
    }
}

/// Where a body comes from.
enum Source {
    Network(Box<Answer>),
    Script(script::Body),
}

impl Source {
    async fn next(&mut self, idle: Duration, deadline: Instant) -> Result<Option<Bytes>, Fault> {
        let until = deadline.min(Instant::now() + idle);
        let silent = |_| Fault::unavailable(format!("the provider fell silent for {} ms", idle.as_millis()));
        match self {
            Self::Network(answer) => timeout_at(until, answer.chunk()).await.map_err(silent)?.map_err(|e| of_http(&e)),
            Self::Script(body) => timeout_at(until, played(body)).await.map_err(silent)?,
        }
    }
}

async fn played(body: &mut script::Body) -> Result<Option<Bytes>, Fault> {
    loop {
        match body.next() {
            Some(Piece::Bytes(bytes)) => return Ok(Some(bytes)),
            Some(Piece::Wait(pause)) => tokio::time::sleep(pause).await,
            Some(Piece::Silence) => std::future::pending().await,
            Some(Piece::Break) => return Err(Fault::unavailable("the connection broke within the answer")),
            None => return Ok(None),
        }
    }
}

fn of_http(error: &HttpError) -> Fault {
    match error {
        HttpError::Resolve(ResolveError::Address(_) | ResolveError::Spelling(_)) => {
            Fault { alert: error.is_metadata(), ..Fault::rejected(error.to_string()) }
        }
        HttpError::Resolve(ResolveError::Unknown(..)) | HttpError::Unreached(_) => Fault::unreached(error.to_string()),
        HttpError::Malformed(_) => Fault::rejected(error.to_string()),
        HttpError::Broken(_) => Fault::unavailable(error.to_string()),
        HttpError::TooLong(_) => Fault::garbage(error.to_string()),
    }
}

fn network(
    configured: &configuration::Provider,
    dialect: Dialect,
    public: &str,
    path: &str,
) -> Result<Road, DocumentError> {
    let at = |what: &str| DocumentError::at("/url", what);
    let mut url = Url::parse(configured.url.as_deref().unwrap_or(public)).map_err(|e| at(&e.to_string()))?;
    // What is secret by the clearance, and the key, are not shown to every router on the way.
    if url.scheme() != "https" && !configured.private {
        return Err(at("a provider on the public network is reached by https; `private: true` is for one of your own"));
    }
    let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&joined);
    let reach = if configured.private { Reach::Private } else { Reach::Public };
    Ok(Road::Network { dialect, url, reach })
}

fn headers(dialect: Dialect, key: Option<&Value>) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    let (name, before) = match dialect {
        Dialect::Openai => (AUTHORIZATION, "Bearer "),
        Dialect::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
            (HeaderName::from_static("x-api-key"), "")
        }
    };
    if let Some(key) = key {
        let line = key.text().map(|text| Zeroizing::new(format!("{before}{text}")));
        let value = line.and_then(|line| HeaderValue::from_str(&line).ok());
        let mut value =
            value.ok_or_else(|| Fault::rejected("the provider's key holds characters that no header can"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// A configured amount, which was checked to be finite and not negative, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates at the bounds of the integer"
)]
pub(crate) fn whole(amount: f64) -> u64 {
    amount.ceil() as u64
}

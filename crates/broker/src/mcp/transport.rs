//! The SDK's streamable HTTP transport over the broker's own client: pinned addresses, one connection a request, bounds, no
//! redirects. No stream of the server's own is opened and none is resumed, so a server speaks only when it is asked.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use hyper::Method;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::time::Instant;
use url::Url;

use super::lines::LINE;
use crate::address::Reach;
use crate::http::{Answer, Client, HttpError, Outgoing};
use crate::secrets::{Secrets, Value};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The most bytes of an answer that is an error.
const ERROR: usize = 64 << 10;

/// A server's address for one conversation. Cheap to clone.
#[derive(Clone)]
pub(super) struct Http {
    client: Arc<Client>,
    url: Url,
    key: Option<Key>,
    deadline: Instant,
}

/// What the server knows this client by.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) value: Value,
    /// Where it comes from: its name, and the case.
    pub(super) name: String,
    pub(super) case: String,
    pub(super) secrets: Arc<Secrets>,
}

type Failed = StreamableHttpError<HttpError>;

impl Http {
    /// The server at `url`, which the broker's configuration names, so that it may be a private address.
    pub(super) const fn new(client: Arc<Client>, url: Url, key: Option<Key>, deadline: Instant) -> Self {
        Self { client, url, key, deadline }
    }

    async fn send(
        &self,
        method: Method,
        session: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
        body: Vec<u8>,
    ) -> Result<Answer, Failed> {
        let odd = |what: &str| StreamableHttpError::Client(HttpError::Malformed(what.to_owned()));
        let mut headers: HeaderMap = custom.into_iter().collect();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(session) = session {
            headers.insert(SESSION, HeaderValue::from_str(session).map_err(|_| odd("the server's session id"))?);
        }
        if let Some(key) = &self.key {
            let mut bearer = b"Bearer ".to_vec();
            bearer.extend_from_slice(key.value.bytes());
            let mut bearer = HeaderValue::from_bytes(&bearer).map_err(|_| odd("the key is no header value"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let (url, deadline) = (self.url.clone(), self.deadline);
        let outgoing = Outgoing { method, url, headers, body: Bytes::from(body), reach: Reach::Private, deadline };
        let answer = self.client.send(outgoing).await.map_err(StreamableHttpError::Client)?;
        if let (401 | 403, Some(key)) = (answer.status, &self.key) {
            // Perhaps it was rotated since it was read: the next call reads it again.
            key.secrets.stale(&key.name, &key.case);
        }
        Ok(answer)
    }
}

impl StreamableHttpClient for Http {
    type Error = HttpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(&message)?;
        let answer = self.send(Method::POST, session.as_deref(), headers, body).await?;
        let expects = matches!(message, ClientJsonRpcMessage::Request(_));
        if matches!(answer.status, 202 | 204) || (!expects && answer.status == 200) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if answer.status != 200 {
            return refused(answer, &message, session.is_some()).await;
        }
        let said =
            |name: &HeaderName| answer.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (kind, session) = (said(&CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(), said(&SESSION));
        if kind.starts_with("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(events(answer), session));
        }
        if !kind.starts_with("application/json") {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        let body = answer.whole(LINE).await.map_err(StreamableHttpError::Client)?;
        Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&body)?, session))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        match self.send(Method::DELETE, Some(&session), headers, Vec::new()).await?.status {
            200..300 | 404 | 405 => Ok(()),
            status => Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}").into())),
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

/// An answer that is an error. To the newest greeting it may mean that the server is older: then it is greeted in the old form.
async fn refused(
    answer: Answer,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Failed> {
    let status = answer.status;
    let body = answer.whole(ERROR).await.unwrap_or_default();
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && matches!(status, 400..500)
        && !matches!(status, 401 | 403)
        && !in_session
    {
        let error = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(error, None));
    }
    // Some servers say what is wrong in the protocol's own words, and that is an answer.
    if let (ClientJsonRpcMessage::Request(_), Ok(error @ ServerJsonRpcMessage::Error(_))) =
        (message, serde_json::from_slice(&body))
    {
        return Ok(StreamableHttpPostResponse::Json(error, None));
    }
    Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}").into()))
}

/// The events of an answer, until it has said more than two messages may hold.
fn events(answer: Answer) -> BoxStream<'static, Result<Sse, SseError>> {
    let pieces = stream::unfold(Some((answer, 0_u64)), |state| async move {
        let (mut answer, seen) = state?;
        match answer.chunk().await {
            Ok(None) => None,
            Ok(Some(piece)) => {
                let seen = seen.saturating_add(piece.len() as u64);
                if seen > 2 * LINE as u64 {
                    return Some((Err(HttpError::TooLong(LINE)), None));
                }
                Some((Ok(piece), Some((answer, seen))))
            }
            Err(error) => Some((Err(error), None)),
        }
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

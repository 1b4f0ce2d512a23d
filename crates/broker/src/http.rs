//! One HTTP/1.1 exchange with one pinned address. No pool, no proxy, no redirects, no cookies and no decompression: what goes out
//! is what was asked, and what comes back is read up to a bound.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use url::Url;

use crate::address::{AddressError, Reach};
use crate::resolve::{self, Resolve, ResolveError};

/// The most bytes of an answer's head.
const HEAD: usize = 64 << 10;
/// The most headers of an answer.
const HEADERS: usize = 128;
/// How long one address may take to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// Makes exchanges. Cheap to share.
pub(crate) struct Client {
    tls: TlsConnector,
    resolver: Arc<dyn Resolve>,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// The method.
    pub(crate) method: Method,
    /// `http` or `https`.
    pub(crate) url: Url,
    /// Headers beyond `Host` and the length.
    pub(crate) headers: HeaderMap,
    /// The body; empty for none.
    pub(crate) body: Bytes,
    /// Which addresses may be meant.
    pub(crate) reach: Reach,
    /// When all of it has to be over, the last byte of the answer included.
    pub(crate) deadline: Instant,
}

/// An answer whose body is still to be read. Dropping it closes the connection.
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: HeaderMap,
    body: Incoming,
    deadline: Instant,
    _connection: Connection,
}

struct Connection(AbortHandle);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    /// The address may not be reached, or there is none. Nothing was sent.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Nobody could be reached. Nothing was sent.
    #[error("cannot reach {0}")]
    Unreached(String),
    /// The request is no request. Nothing was sent.
    #[error("not a request: {0}")]
    Malformed(String),
    /// It broke after the request was sent, in whole or in part: the server may have acted.
    #[error("{0}")]
    Broken(String),
    /// The answer is longer than what is read.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
}

impl HttpError {
    /// Whether the server may have acted.
    pub(crate) const fn may_have_acted(&self) -> bool {
        match self {
            Self::Resolve(_) | Self::Unreached(_) | Self::Malformed(_) => false,
            Self::Broken(_) | Self::TooLong(_) => true,
        }
    }

    /// Whether somebody tried to reach the machine's own metadata.
    pub(crate) const fn is_metadata(&self) -> bool {
        matches!(self, Self::Resolve(ResolveError::Address(AddressError::Metadata { .. })))
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Client {
    /// A client that trusts the public authorities and those of `authorities` (PEM).
    ///
    /// # Errors
    /// `authorities` holds no certificate or a broken one.
    pub(crate) fn new(resolver: Arc<dyn Resolve>, authorities: Option<&[u8]>) -> Result<Self, String> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(pem) = authorities {
            let mut found = 0;
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| error.to_string())?;
                roots.add(certificate).map_err(|error| error.to_string())?;
                found += 1;
            }
            if found == 0 {
                return Err("no certificate in it".to_owned());
            }
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { tls: TlsConnector::from(Arc::new(config)), resolver })
    }

    /// Sends one request and reads the head of its answer, whatever its status.
    ///
    /// # Errors
    /// See [`HttpError`]; its text holds no header and no body, but the host.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Answer, HttpError> {
        let deadline = outgoing.deadline;
        let stream = tokio::time::timeout_at(deadline, self.connect(&outgoing.url, outgoing.reach))
            .await
            .map_err(|_| HttpError::Unreached(format!("{} in time", authority(&outgoing.url))))??;
        let request = request(&outgoing)?;
        let exchange = async {
            let (mut sender, connection) = http1::Builder::new()
                .max_buf_size(HEAD)
                .max_headers(HEADERS)
                .handshake(TokioIo::new(stream))
                .await
                .map_err(|error| HttpError::Unreached(format!("{}: {error}", authority(&outgoing.url))))?;
            let connection = Connection(tokio::spawn(connection).abort_handle());
            let answer = sender.send_request(request).await.map_err(|error| broken(&outgoing.url, &error))?;
            Ok::<_, HttpError>((answer, connection))
        };
        let (answer, connection) = tokio::time::timeout_at(deadline, exchange)
            .await
            .map_err(|_| HttpError::Broken(format!("{} did not answer in time", authority(&outgoing.url))))??;
        let (head, body) = answer.into_parts();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body, deadline, _connection: connection })
    }

    /// A TCP stream to a host, for programs.
    ///
    /// # Errors
    /// Not reachable, or not to be reached.
    pub(crate) async fn dial(&self, host: &str, port: u16, reach: Reach) -> Result<TcpStream, HttpError> {
        let mut last = String::new();
        for address in resolve::pin(&*self.resolver, host, port, reach).await? {
            match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Small requests wait for nobody's buffer.
                    drop(stream.set_nodelay(true));
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error.to_string(),
                Err(_) => "no answer in time".clone_into(&mut last),
            }
        }
        Err(HttpError::Unreached(format!("{host}:{port}: {last}")))
    }

    /// The addresses of a host, pinned: for protocols that connect by themselves.
    ///
    /// # Errors
    /// None, or one that may not be reached.
    pub(crate) async fn pin(
        &self,
        host: &str,
        port: u16,
        reach: Reach,
    ) -> Result<Vec<std::net::SocketAddr>, HttpError> {
        Ok(resolve::pin(&*self.resolver, host, port, reach).await?)
    }

    async fn connect(&self, url: &Url, reach: Reach) -> Result<Box<dyn Stream>, HttpError> {
        let (host, port) = place(url)?;
        let stream = self.dial(&host, port, reach).await?;
        if url.scheme() == "http" {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(host).map_err(|error| HttpError::Malformed(error.to_string()))?;
        let stream = self.tls.connect(name, stream).await;
        let stream = stream.map_err(|error| HttpError::Unreached(format!("{}: {error}", authority(url))))?;
        Ok(Box::new(stream))
    }
}

impl Answer {
    /// The length that the server announced.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection broke, or the time is over.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = tokio::time::timeout_at(self.deadline, self.body.frame())
                .await
                .map_err(|_| HttpError::Broken("the answer did not end in time".to_owned()))?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|_| HttpError::Broken("the connection broke within the answer".to_owned()))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// The whole body.
    ///
    /// # Errors
    /// As [`Self::chunk`], or more than `limit` bytes.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > limit {
                return Err(HttpError::TooLong(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Host without brackets, and port.
pub(crate) fn place(url: &Url) -> Result<(String, u16), HttpError> {
    let host = match url.host() {
        Some(url::Host::Domain(name)) => name.to_owned(),
        Some(url::Host::Ipv4(address)) => address.to_string(),
        Some(url::Host::Ipv6(address)) => address.to_string(),
        None => return Err(HttpError::Malformed("an address without a host".to_owned())),
    };
    match (url.scheme(), url.port_or_known_default()) {
        ("http" | "https", Some(port)) => Ok((host, port)),
        _ => Err(HttpError::Malformed("only http and https are spoken".to_owned())),
    }
}

fn request(outgoing: &Outgoing) -> Result<Request<Full<Bytes>>, HttpError> {
    let malformed = |error: &dyn std::fmt::Display| HttpError::Malformed(error.to_string());
    let url = &outgoing.url;
    let target = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let target: Uri = target.parse().map_err(|error| malformed(&error))?;
    let mut request = Request::new(Full::new(outgoing.body.clone()));
    *request.method_mut() = outgoing.method.clone();
    *request.uri_mut() = target;
    *request.headers_mut() = outgoing.headers.clone();
    let host = HeaderValue::try_from(authority(url)).map_err(|error| malformed(&error))?;
    request.headers_mut().insert(HOST, host);
    request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}

/// What stands in `Host`: the port only where it is not the scheme's.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn broken(url: &Url, error: &hyper::Error) -> HttpError {
    let what = if error.is_parse() {
        "answered with something that is no HTTP"
    } else {
        "broke the connection before it answered"
    };
    HttpError::Broken(format!("{} {what}", authority(url)))
}

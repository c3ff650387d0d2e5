//! The relay between `genai` and a provider, which bounds the size of responses.
//!
//! `genai` reads a response, and each frame of a stream, to its end before it passes anything on, and neither `genai` nor
//! `reqwest` has a limit. Therefore each attempt is sent to a server on loopback, which exists for this attempt only and passes
//! requests on to the provider.
//!
//! Design: [Responses of models pass a relay](https://github.com/planwright/planwright/blob/main/docs/design/planning.md#responses-of-models-pass-a-relay).

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::TryStreamExt;
use genai::resolver::Endpoint;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TRANSFER_ENCODING,
};
use hyper::service::service_fn;
use hyper::{Request, Response, server::conn::http1};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A relay in front of one provider.
#[derive(Debug)]
pub(super) struct Relay {
    listener: TcpListener,
    url: String,
    forwarder: Arc<Forwarder>,
}

/// The reason why a response did not arrive as a whole.
#[derive(Debug)]
pub(super) enum RelayFailure {
    /// The provider was not reached, or the connection broke off.
    Transport(reqwest::Error),
    /// The response exceeds the limits.
    TooLong,
}

/// Limits of a response in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelayLimits {
    /// The whole body.
    pub(super) body: usize,
    /// The part that is held in memory at once: a line of a stream, as each frame has one.
    pub(super) line: usize,
}

#[derive(Debug)]
struct Forwarder {
    http: reqwest::Client,
    /// The provider's address, of which requests replace the path.
    provider: Url,
    limits: RelayLimits,
    failure: Mutex<Option<RelayFailure>>,
}

/// The headers that are about one connection, or that each of the two clients sets by itself.
const OWN_HEADERS: [HeaderName; 5] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TRANSFER_ENCODING,
];

impl Relay {
    /// Opens a relay to `provider`, which serves nothing before [`serve`](Self::serve).
    pub(super) async fn open(
        http: reqwest::Client,
        provider: Url,
        limits: RelayLimits,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        // With the same path, since providers put their version into it.
        let url = format!("http://{}{}", listener.local_addr()?, provider.path());
        Ok(Self {
            listener,
            url,
            forwarder: Arc::new(Forwarder {
                http,
                provider,
                limits,
                failure: Mutex::default(),
            }),
        })
    }

    /// Returns the address that stands for the provider's.
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::from_owned(self.url.as_str())
    }

    /// Returns the reason why a response is incomplete. `genai` knows only that its connection broke off.
    pub(super) fn take_failure(&self) -> Option<RelayFailure> {
        self.forwarder.failure().take()
    }

    /// Serves requests until it is dropped, which drops their connections to the provider as well.
    pub(super) async fn serve(&self) -> io::Result<Infallible> {
        // Any process of this machine can connect, so no connection may keep the others waiting.
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = self.listener.accept().await?;
            let forwarder = Arc::clone(&self.forwarder);
            connections.spawn(async move {
                let forward = service_fn(|request| Arc::clone(&forwarder).forward(request));
                // A failure has been recorded, or the client is gone.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), forward)
                    .await;
            });
        }
    }
}

impl Forwarder {
    async fn forward(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<impl Body<Data = Bytes, Error = RelayFailed>>, RelayFailed> {
        let (head, body) = request.into_parts();
        let mut url = self.provider.clone();
        url.set_path(head.uri.path());
        // The provider's own address may have a query, too.
        if let Some(query) = head.uri.query() {
            url.set_query(Some(query));
        }
        // The request is our own, so its size needs no limit.
        let body = body.collect().await.map_err(|_| RelayFailed)?.to_bytes();
        let sent = self.http.request(head.method, url);
        let sent = sent.headers(forwarded(head.headers)).body(body).send();
        let mut received = sent.await.map_err(|error| self.fail(error))?;
        let status = received.status();
        // The body is decoded here, and arrives in chunks of another size.
        let headers = forwarded(std::mem::take(received.headers_mut()));
        let mut seen = Seen::default();
        let parts = received
            .bytes_stream()
            .map_err({
                let this = Arc::clone(&self);
                move |error| this.fail(error)
            })
            .and_then(move |part| {
                let passed = if seen.add(&part, self.limits) {
                    Ok(Frame::data(part))
                } else {
                    *self.failure() = Some(RelayFailure::TooLong);
                    Err(RelayFailed)
                };
                std::future::ready(passed)
            });
        let mut response = Response::new(StreamBody::new(parts));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    fn fail(&self, error: reqwest::Error) -> RelayFailed {
        *self.failure() = Some(RelayFailure::Transport(error));
        RelayFailed
    }

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<RelayFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a body that have passed.
#[derive(Default)]
struct Seen {
    body: usize,
    line: usize,
}

impl Seen {
    /// Counts a part of the body. Returns false if it exceeds the limits.
    fn add(&mut self, part: &[u8], limits: RelayLimits) -> bool {
        self.body += part.len();
        self.line = match part.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => part.len() - end,
            None => self.line + part.len(),
        };
        self.body <= limits.body && self.line <= limits.line
    }
}

/// The error of a response whose failure is recorded, which ends the connection.
#[derive(Debug, thiserror::Error)]
#[error("the response is incomplete")]
struct RelayFailed;

fn forwarded(mut headers: HeaderMap) -> HeaderMap {
    for name in OWN_HEADERS {
        headers.remove(name);
    }
    headers
}

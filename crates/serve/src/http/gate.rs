//! The gate of all requests: the route, the checks in their order, and the request that is passed on.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use planwright::config::Serve;
use planwright::telemetry::Telemetry;
use planwright_mcp::gateway::ClientId;
use tower::Service;

use super::access::ClientAccess;
use super::connections::{Peer, UnadmittedConnection};
use super::limits::{HttpLimits, InFlightPermit, InFlightRequests, KeyedRateLimiter};
use super::metrics::{ActiveRequest, Metrics};
use super::origin::{self, HostNames};
use super::refusal::{Refusal, Refused};

/// The checks that all requests pass.
#[derive(Debug)]
pub(super) struct RequestGate {
    pub(super) access: ClientAccess,
    pub(super) limits: HttpLimits,
    pub(super) metrics: Metrics,
    is_loopback: bool,
    names: HostNames,
    rate: Option<KeyedRateLimiter<ClientId>>,
    requests: InFlightRequests,
}

impl RequestGate {
    pub(super) fn new(
        listen: SocketAddr,
        access: ClientAccess,
        limits: HttpLimits,
        serve: &Serve,
        telemetry: Telemetry,
    ) -> Self {
        Self {
            access,
            limits,
            metrics: Metrics::new(telemetry),
            is_loopback: listen.ip().is_loopback(),
            names: HostNames::new(listen, serve),
            rate: limits.rate.map(KeyedRateLimiter::new),
            requests: InFlightRequests::new(limits.requests),
        }
    }

    fn identify(&self, headers: &HeaderMap, peer: Option<Peer>) -> Result<ClientId, Refusal> {
        let from = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
        self.access.identify(headers, from)
    }

    /// Lets a request in: small enough, whole, with the identity of its client in its extensions.
    async fn admit(
        &self,
        request: Request<Body>,
    ) -> Result<(Request<Body>, ResponseLease), Refusal> {
        let peer = request.extensions().get().copied();
        let client = self.identify(request.headers(), peer)?;
        if let Some(newcomer) = request.extensions().get::<UnadmittedConnection>() {
            newcomer.admit();
        }
        if let Some(rate) = &self.rate {
            rate.take(&client)
                .map_err(|wait| Refusal::TooFast { wait })?;
        }
        // A listening request, which may take hours, uses a connection but no place.
        let place = match *request.method() {
            Method::POST => Some(self.requests.enter(&client).ok_or(Refusal::TooMany)?),
            _ => None,
        };
        let limits = &self.limits;
        let mut request = read_body(request, limits.body, limits.request_time).await?;
        // The token was for us: nothing behind the gate may hand it on.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.extensions_mut().insert(client);
        Ok((request, ResponseLease::new(place, self.metrics.begin())))
    }
}

/// Lets requests to the service behind in, and keeps their places until they are answered whole.
pub(super) async fn admit(
    State(gate): State<Arc<RequestGate>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    match gate.admit(request).await {
        Ok((request, request_guard)) => request_guard.until_answered(next.run(request).await),
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses requests for another host name, and counts all responses.
pub(super) async fn names(
    State(gate): State<Arc<RequestGate>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let response = match gate.names.check(request.uri(), request.headers()) {
        Ok(()) => {
            let origin = request.headers().get(header::ORIGIN).cloned();
            let mut response = match origin::preflight(request.method(), request.headers()) {
                Some(response) => response,
                None => next.run(request).await,
            };
            if let Some(origin) = origin {
                origin::share(origin, response.headers_mut());
            }
            response
        }
        Err(refusal) => refusal.into_response(),
    };
    if let Some(Refused(reason)) = response.extensions().get() {
        gate.metrics.refused(reason);
    }
    gate.metrics.answered(response.status());
    response
}

/// Lets clients pass that may see figures about all clients: local ones, else those with a token.
pub(super) async fn figures(
    State(gate): State<Arc<RequestGate>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let peer = request.extensions().get().copied();
    if !gate.is_loopback
        && let Err(refusal) = gate.identify(request.headers(), peer)
    {
        return refusal.into_response();
    }
    next.run(request).await
}

/// Reads the body, within the limits of size and time.
pub(super) async fn read_body(
    request: Request<Body>,
    most: usize,
    time: Duration,
) -> Result<Request<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let announced = http_body::Body::size_hint(&body).lower();
    if usize::try_from(announced).is_ok_and(|announced| announced > most) {
        return Err(Refusal::TooLarge { most });
    }
    let whole = tokio::time::timeout(time, Limited::new(body, most).collect());
    match whole.await {
        Err(_) => Err(Refusal::TooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { most }),
        Ok(Err(_)) => Err(Refusal::Broken),
        Ok(Ok(body)) => Ok(Request::from_parts(parts, Body::from(body.to_bytes()))),
    }
}

/// The guards that are held until a request is answered to the last byte, or its client is gone.
#[derive(Debug)]
pub(super) struct ResponseLease {
    _permit: Option<InFlightPermit>,
    _active: ActiveRequest,
}

impl ResponseLease {
    pub(super) fn new(permit: Option<InFlightPermit>, active: ActiveRequest) -> Self {
        Self {
            _permit: permit,
            _active: active,
        }
    }

    pub(super) fn until_answered(self, response: Response) -> Response {
        response.map(|body| Body::new(GuardedBody { body, _guard: self }))
    }
}

/// A response that holds a guard until it is complete.
struct GuardedBody {
    body: Body,
    _guard: ResponseLease,
}

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// `/mcp` is the service; the rest is about the server itself.
pub(super) fn routes<S>(service: S, gate: Arc<RequestGate>) -> Router
where
    S: Service<Request<Body>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    let served = Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(Arc::clone(&gate), admit));
    let shown = Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(Arc::clone(&gate), figures))
        .with_state(Arc::clone(&gate));
    Router::new()
        .merge(served)
        .merge(shown)
        .layer(from_fn_with_state(gate, names))
        // Health checks may use any address of the server; the response reveals nothing else.
        .route("/healthz", get(async || "ok\n"))
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(from_fn(set_response_headers))
}

async fn metrics(State(gate): State<Arc<RequestGate>>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    match gate.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => {
            tracing::warn!(%error, "the metrics cannot be shown");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Headers that forbid browsers to guess the type of a response, or to cache it.
async fn set_response_headers(request: Request<Body>, next: axum::middleware::Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let nosniff = header::HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(header::HeaderValue::from_static("no-store"));
    response
}

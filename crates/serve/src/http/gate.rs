//! The gate of all requests: the route, the checks in their order, the identification of clients, and the request that is passed on.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
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
use planwright::engine::Rate;
use planwright::telemetry::Telemetry;
use planwright_mcp::gateway::{ClientGroups, ClientId};
use planwright_store::Store;

use super::access::ClientAccess;
use super::connections::McpService;
use super::health::HealthNote;
use super::limits::{HttpLimits, InFlightPermit, InFlightRequests, KeyedRateLimiter};
use super::limits::{Refusal, Refused, network_of};
use super::metrics::{ActiveRequest, Metrics};
use super::origin::{self, HostNames};
use super::shared_rate::SharedRate;
use super::unadmitted::{Peer, UnadmittedConnection};

/// The checks that all requests pass.
#[derive(Debug)]
pub(super) struct RequestGate {
    pub(super) access: ClientAccess,
    pub(super) limits: HttpLimits,
    pub(super) metrics: Metrics,
    pub(super) note: HealthNote,
    is_loopback: bool,
    names: HostNames,
    rate: Option<KeyedRateLimiter<ClientId>>,
    /// The same rate over all gateways of a shared store.
    shared_rate: Option<SharedRate>,
    /// The requests for data of the page without a session, by address.
    strangers: KeyedRateLimiter<IpAddr>,
    requests: InFlightRequests,
}

impl RequestGate {
    pub(super) fn new(
        listen: SocketAddr,
        access: ClientAccess,
        limits: HttpLimits,
        serve: &Serve,
        (telemetry, shared_store): (Telemetry, Option<Store>),
    ) -> Self {
        Self {
            access,
            limits,
            metrics: Metrics::new(telemetry),
            note: HealthNote::default(),
            is_loopback: listen.ip().is_loopback(),
            names: HostNames::new(listen, serve),
            rate: limits.rate.map(KeyedRateLimiter::new),
            shared_rate: shared_store
                .zip(limits.rate)
                .map(|(store, rate)| SharedRate::new(store, rate)),
            strangers: KeyedRateLimiter::new(STRANGER_RATE),
            requests: InFlightRequests::new(limits.requests),
        }
    }

    async fn identify(
        &self,
        headers: &HeaderMap,
        peer: Option<Peer>,
    ) -> Result<(ClientId, ClientGroups), Refusal> {
        let from = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
        self.access.identify(headers, from).await
    }

    /// Admits a request: checks its size, reads it completely, and adds the client identity to its extensions.
    async fn admit(
        &self,
        request: Request<Body>,
    ) -> Result<(Request<Body>, ResponseLease), Refusal> {
        let peer = request.extensions().get().copied();
        let (client, groups) = self.identify(request.headers(), peer).await?;
        let (mut request, lease) = self.limit(request, &client).await?;
        // The token is for this server, so no later handler may pass it on.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(groups);
        Ok((request, lease))
    }

    /// Admits a request of a known client within its limits.
    pub(super) async fn limit(
        &self,
        request: Request<Body>,
        client: &ClientId,
    ) -> Result<(Request<Body>, ResponseLease), Refusal> {
        if let Some(newcomer) = request.extensions().get::<UnadmittedConnection>() {
            newcomer.admit();
        }
        if let Some(rate) = &self.rate {
            rate.take(client)
                .map_err(|wait| Refusal::TooFast { wait })?;
        }
        if let Some(rate) = &self.shared_rate {
            rate.take(client)
                .await
                .map_err(|wait| Refusal::TooFast { wait })?;
        }
        // A listening request, which may take hours, does not count as a request in flight.
        let place = match *request.method() {
            Method::POST => Some(self.requests.enter(client).ok_or(Refusal::TooMany)?),
            _ => None,
        };
        self.read(request, place).await
    }

    /// Admits a request for data of the page without a session, within the limits of its address.
    pub(super) async fn limit_stranger(
        &self,
        request: Request<Body>,
        from: IpAddr,
    ) -> Result<(Request<Body>, ResponseLease), Refusal> {
        self.strangers
            .take(&network_of(from))
            .map_err(|wait| Refusal::TooFast { wait })?;
        self.read(request, None).await
    }

    /// Reads a request completely, within the limits of its size and time.
    pub(super) async fn read(
        &self,
        request: Request<Body>,
        place: Option<InFlightPermit>,
    ) -> Result<(Request<Body>, ResponseLease), Refusal> {
        let limits = &self.limits;
        let request = read_body(request, limits.body, limits.request_time).await?;
        Ok((
            request,
            ResponseLease::new(place, self.metrics.track_request()),
        ))
    }

    /// Counts a response.
    pub(super) fn count(&self, response: &Response) {
        if let Some(Refused(reason)) = response.extensions().get() {
            self.metrics.record_refusal(reason);
        }
        self.metrics.record_response(response.status());
    }

    /// Returns true if the server has this name in the form of a `Host` header.
    pub(super) fn is_known_host(&self, host: &str) -> bool {
        self.names.is_known(host)
    }
}

/// The rate of requests for data of the page without a session from one address.
const STRANGER_RATE: Rate = Rate {
    calls: NonZeroU32::new(60).unwrap(),
    per: Duration::from_mins(1),
};

/// Admits requests to the inner service, and holds their slots until the response is complete.
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
pub(super) async fn check_host_name(
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
    gate.count(&response);
    response
}

/// Admits clients that may see metrics of all clients: local ones, or those with a token.
pub(super) async fn admit_to_metrics(
    State(gate): State<Arc<RequestGate>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let peer = request.extensions().get().copied();
    if !gate.is_loopback
        && let Err(refusal) = gate.identify(request.headers(), peer).await
    {
        return refusal.into_response();
    }
    next.run(request).await
}

/// Reads the body, within the limits of size and time.
async fn read_body(
    request: Request<Body>,
    limit: usize,
    time: Duration,
) -> Result<Request<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let announced = http_body::Body::size_hint(&body).lower();
    if usize::try_from(announced).is_ok_and(|announced| announced > limit) {
        return Err(Refusal::TooLarge { limit });
    }
    let whole = tokio::time::timeout(time, Limited::new(body, limit).collect());
    match whole.await {
        Err(_) => Err(Refusal::TooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { limit }),
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

/// Returns the routes: `/mcp` is the service, `/` and `/api` are the page, the others are about the server itself.
pub(super) fn routes(service: McpService, gate: Arc<RequestGate>, page: Router) -> Router {
    let note = gate.note.clone();
    let served = Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(Arc::clone(&gate), admit));
    let shown = Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(Arc::clone(&gate), admit_to_metrics))
        .with_state(Arc::clone(&gate));
    let mut public = Router::new();
    if let Some((paths, metadata)) = gate.access.metadata() {
        for path in paths {
            let metadata = axum::Json(metadata.clone());
            public = public.route(&path, get(async move || metadata));
        }
    }
    Router::new()
        .merge(served)
        .merge(shown)
        // Clients that have no token yet find the issuer there.
        .merge(public)
        .layer(from_fn_with_state(gate, check_host_name))
        // Web pages of other origins may call `/mcp`, but not the page of runs, which is outside of the CORS layer.
        .merge(page)
        // Health checks may use any address of the server; the response reveals nothing else but the note.
        .route("/healthz", get(move || std::future::ready(health(&note))))
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(from_fn(set_response_headers))
}

fn health(note: &HealthNote) -> String {
    match note.get() {
        None => "ok\n".to_owned(),
        Some(note) => format!("ok\nnote: {note}\n"),
    }
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

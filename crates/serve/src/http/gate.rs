//! The gate that each request passes: who it is, how much of it is taken.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use planwright::config::Serve;
use planwright::telemetry::Telemetry;
use planwright_mcp::gateway::ClientId;

use super::access::ClientAccess;
use super::cors;
use super::limits::{HttpLimits, InFlightRequests, KeyedRateLimiter};
use super::metrics::Metrics;
use super::origin::HostNames;
use super::refusal::{Refusal, Refused};
use super::request::{ResponseLease, read_body};
use super::unadmitted::UnadmittedConnection;

/// The address of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

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
        // What only listens, for hours maybe, takes a connection and no place.
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
        Ok((request, kept)) => kept.until_answered(next.run(request).await),
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses what calls the server by another's name, and counts all answers.
pub(super) async fn names(
    State(gate): State<Arc<RequestGate>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let response = match gate.names.check(request.uri(), request.headers()) {
        Ok(()) => {
            let origin = request.headers().get(header::ORIGIN).cloned();
            let mut response = match cors::preflight(request.method(), request.headers()) {
                Some(response) => response,
                None => next.run(request).await,
            };
            if let Some(origin) = origin {
                cors::share(origin, response.headers_mut());
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

//! The routes of the server.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::Service;

use super::gate::{RequestGate, admit, figures, names};

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
        // Those who ask whether it is well call it by whatever address it has to them; and learn nothing else.
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

/// No browser is to guess what an answer is, or to keep it.
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

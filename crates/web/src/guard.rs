//! The checks of every request: the name of the host, the origin, the session, and the number of concurrent requests.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::page::PageState;

/// The path that needs no session.
const SESSION_PATH: &str = "/api/session";

/// Checks a request, and passes it on with its visitor.
pub(crate) async fn check(
    State(state): State<Arc<PageState>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    match admit(&state, &mut request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn admit(state: &PageState, request: &mut Request<Body>) -> Result<(), ApiError> {
    let headers = request.headers();
    // A request may name a host in its target, too. Both names must be allowed.
    let target = request.uri().authority().map(Authority::as_str);
    let host = host(headers)
        .filter(|host| (state.hosts)(host) && target.is_none_or(|target| (state.hosts)(target)));
    let Some(host) = host else {
        return Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "the page is not served under this name",
        )
        .help("open the address that the program has printed"));
    };
    check_origin(request.method(), headers, host)?;
    let path = request.uri().path();
    if !path.starts_with("/api/") || path == SESSION_PATH {
        return Ok(());
    }
    let visitor = state.sessions.visitor(headers, &state.cookie);
    let Some(visitor) = visitor else {
        return Err(
            ApiError::new(StatusCode::UNAUTHORIZED, "the session has ended")
                .help(state.sessions.help()),
        );
    };
    request.extensions_mut().insert(visitor);
    Ok(())
}

/// The one host that a request names.
fn host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

/// Rejects requests of other pages. A request that writes must name its origin, which every browser does.
fn check_origin(method: &Method, headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
    let refused = || {
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "the request comes from another page",
        ))
    };
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) if *method == Method::GET || *method == Method::HEAD => {}
        (Some(origin), None) => {
            let is_own = origin.to_str().is_ok_and(|origin| {
                let name = origin
                    .strip_prefix("http://")
                    .or_else(|| origin.strip_prefix("https://"));
                name.is_some_and(|name| name.eq_ignore_ascii_case(host))
            });
            if !is_own {
                return refused();
            }
        }
        _ => return refused(),
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_navigation =
        headers.get("sec-fetch-mode").map(HeaderValue::as_bytes) == Some(b"navigate");
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        // A link to the page from elsewhere shows the page, without its fragment.
        Some(_) if *method == Method::GET && is_navigation => Ok(()),
        Some(_) => refused(),
    }
}

/// A function that returns true for the names, as in the header `Host`, under which a page is served.
pub type HostRule = dyn Fn(&str) -> bool + Send + Sync;

/// The names of loopback with this port.
pub(crate) fn loopback(port: u16) -> Arc<HostRule> {
    let here = ["127.0.0.1", "localhost", "[::1]"];
    let mut names: Vec<String> = here.iter().map(|name| format!("{name}:{port}")).collect();
    if port == 80 {
        names.extend(here.map(str::to_owned));
    }
    Arc::new(move |host| names.iter().any(|name| name.eq_ignore_ascii_case(host)))
}

const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// Adds the headers that isolate the page from other pages.
pub(crate) async fn set_headers(
    State(state): State<Arc<PageState>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, value);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, state.policy.clone());
    response
}

//! CORS: the headers that let pages of other origins send requests and read responses.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");

/// The methods that pages may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// The response headers that pages may read, beside those that every page may.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After");

/// The time for which a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The answer to a browser that asks whether a page of an origin that is let in may send a request. `None` if this asks no such
/// thing.
pub(super) fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response> {
    let asks = *method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let answer = response.headers_mut();
    answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    // Arguments of tools may travel in headers of any name.
    if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    if headers.contains_key(REQUEST_PRIVATE_NETWORK) {
        answer.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    Some(response)
}

/// Lets the page at `origin`, which is let in, read an answer.
pub(super) fn share(origin: HeaderValue, answer: &mut HeaderMap) {
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    answer.append(header::VARY, HeaderValue::from_static("Origin"));
}

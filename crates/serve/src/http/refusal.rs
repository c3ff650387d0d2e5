//! Requests that are not taken: why, as HTTP and as JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The reason why a request is refused. It reveals nothing that the client does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The host name is not the server's own.
    Host,
    /// The origin is a web page that is not allowed.
    Origin,
    /// The request has no token. `challenge` may follow the scheme in `WWW-Authenticate`.
    NoToken { challenge: Arc<str> },
    /// The token is wrong.
    WrongToken { challenge: Arc<str> },
    /// The address has shown too many wrong tokens.
    TooManyWrong { wait: Duration },
    /// The client's requests come too fast.
    TooFast { wait: Duration },
    /// The client has too many requests under way.
    TooMany,
    /// The request is too large.
    TooLarge { most: usize },
    /// The request did not arrive in time.
    TooSlow,
    /// The request broke off.
    Broken,
}

impl Refusal {
    /// Returns a word for it, for metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::NoToken { .. } => "no_token",
            Self::WrongToken { .. } => "wrong_token",
            Self::TooManyWrong { .. } => "wrong_tokens",
            Self::TooFast { .. } => "rate",
            Self::TooMany => "under_way",
            Self::TooLarge { .. } => "size",
            Self::TooSlow => "time",
            Self::Broken => "broken",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::NoToken { .. } | Self::WrongToken { .. } => StatusCode::UNAUTHORIZED,
            Self::TooManyWrong { .. } | Self::TooFast { .. } | Self::TooMany => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Host => "the server is not called that".to_owned(),
            Self::Origin => "this web page may not send requests".to_owned(),
            Self::NoToken { .. } => "a token is needed".to_owned(),
            Self::WrongToken { .. } => "the token is not taken".to_owned(),
            Self::TooManyWrong { .. } => "too many wrong tokens".to_owned(),
            Self::TooFast { .. } => "too many requests in a short time".to_owned(),
            Self::TooMany => "too many requests under way".to_owned(),
            Self::TooLarge { most } => format!("the request has more than {most} bytes"),
            Self::TooSlow => "the request did not come in time".to_owned(),
            Self::Broken => "the request broke off".to_owned(),
        }
    }

    /// Returns the time after which another try is worthwhile.
    fn wait(&self) -> Option<Duration> {
        match self {
            Self::TooManyWrong { wait } | Self::TooFast { wait } => Some(*wait),
            Self::TooMany => Some(Duration::from_secs(1)),
            Self::Host
            | Self::Origin
            | Self::NoToken { .. }
            | Self::WrongToken { .. }
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::Broken => None,
        }
    }

    fn challenge(&self) -> Option<&str> {
        match self {
            Self::NoToken { challenge } | Self::WrongToken { challenge } => Some(challenge),
            Self::Host
            | Self::Origin
            | Self::TooManyWrong { .. }
            | Self::TooFast { .. }
            | Self::TooMany
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::Broken => None,
        }
    }
}

impl IntoResponse for Refusal {
    /// As JSON-RPC has errors that belong to no request: the request has not been read, and mostly never will be.
    fn into_response(self) -> Response {
        let wait = self.wait().map(|wait| wait.as_secs_f64().ceil().max(1.0));
        let mut error = json!({"code": -32000, "message": self.message()});
        if let Some(seconds) = wait {
            error["data"] = json!({"retryAfterSeconds": seconds});
        }
        let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
        let kind = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status(), kind, body).into_response();
        let headers = response.headers_mut();
        if let Some(value) = wait.and_then(|wait| HeaderValue::from_str(&wait.to_string()).ok()) {
            headers.insert(header::RETRY_AFTER, value);
        }
        if let Some(challenge) = self.challenge()
            && let Ok(value) = HeaderValue::from_str(challenge)
        {
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
        if matches!(self, Self::TooLarge { .. } | Self::TooSlow | Self::Broken) {
            // The rest of the request is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.extensions_mut().insert(Refused(self.reason()));
        response
    }
}

/// Marks a response as a refusal of this server, for metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused(pub(super) &'static str);

//! The failures of messages over HTTP, whose texts contain no header and no token; and the state of a connection, which records them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::HeaderMap;
use http::header::RETRY_AFTER;
use reqwest::StatusCode;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio_util::sync::CancellationToken;

use crate::session::router::ResponseRouter;

#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct HttpFailure {
    /// The failure, as one clause.
    pub(crate) message: String,
    /// A hint how to fix it.
    pub(crate) help: String,
    /// True if the server may have carried out the request.
    pub(crate) may_have_happened: bool,
}

/// The error type of `rmcp`'s transport.
pub(super) type HttpError = StreamableHttpError<HttpFailure>;

impl HttpFailure {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
            may_have_happened: true,
        }
    }

    /// Creates the failure of a message that did not reach the server.
    pub(crate) fn unsent(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            may_have_happened: false,
            ..Self::new(message, help)
        }
    }

    /// Creates the failure of an unreachable server or lost connection.
    pub(crate) fn unreachable(error: reqwest::Error) -> Self {
        let help = "check its `url`, and that it is running";
        // The address may contain a key.
        let error = error.without_url();
        let what = if error.is_connect() {
            "it cannot be reached"
        } else if error.is_timeout() {
            "it took too long"
        } else {
            "the connection to it was lost"
        };
        let message = match innermost(&error) {
            Some(reason) => format!("{what}: {reason}"),
            None => what.to_owned(),
        };
        Self {
            // Without a connection, no request was sent.
            may_have_happened: !error.is_connect(),
            ..Self::new(message, help)
        }
    }

    pub(crate) fn status(status: StatusCode, headers: &HeaderMap) -> Self {
        let help = match status.as_u16() {
            401 | 403 => "check that its `headers` contain a valid key",
            300..=399 => "write the address that it redirects to as `url`",
            404 | 405 => "check that its `url` is the address of its MCP endpoint",
            429 => "wait, or set a rate for its tools",
            _ => "read the log of the server",
        };
        Self {
            may_have_happened: !is_refusal(status, headers),
            ..Self::new(format!("it answered with HTTP {status}"), help)
        }
    }

    pub(crate) fn unreadable(reason: &str) -> Self {
        Self::new(
            format!("its answer cannot be read: {reason}"),
            "check that its `url` is the address of its MCP endpoint",
        )
    }

    pub(crate) fn too_long() -> Self {
        Self::new(
            "it sent a message that is longer than the limit",
            "request less data at once",
        )
    }
}

impl From<HttpError> for HttpFailure {
    fn from(error: HttpError) -> Self {
        match error {
            StreamableHttpError::Client(failure) => failure,
            StreamableHttpError::SessionExpired => {
                Self::unsent("it does not know the session any more", "try again")
            }
            StreamableHttpError::ReinitializationFailed(error) => Self::unsent(
                format!("it refused a new session: {}", error.message),
                "read the log of the server",
            ),
            StreamableHttpError::SessionRecoveryTimeout => Self::new(
                "it did not create a new session in time",
                "read the log of the server",
            ),
            StreamableHttpError::TransportChannelClosed => {
                Self::new("the connection is closed", "try again")
            }
            other => Self::new(other.to_string(), "read the log of the server"),
        }
    }
}

/// Returns true if a status means that the request was refused before it was carried out, so that it may be sent again.
/// Servers, proxies and frameworks use any other status after an effect as well, so an unlisted status means an unknown
/// outcome.
///
/// | status | meaning |
/// | --- | --- |
/// | 301, 307, 308 | the same request belongs somewhere else |
/// | 400, 411, 413, 414, 415, 421, 422, 426, 428, 431 | the request itself is not accepted |
/// | 401, 402, 403, 407, 451 | the sender is not authorized |
/// | 404, 405, 406 | the endpoint or session does not exist, or does not accept the request |
/// | 429, 503 with `Retry-After` | the server has no capacity at the moment |
fn is_refusal(status: StatusCode, headers: &HeaderMap) -> bool {
    match status.as_u16() {
        301 | 307 | 308 | 400..=407 | 411 | 413..=415 | 421 | 422 | 426 | 428 | 429 | 431 | 451 => {
            true
        }
        503 => headers.contains_key(RETRY_AFTER),
        _ => false,
    }
}

/// Returns the innermost cause, which is the most specific.
fn innermost(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(next) = cause.source() {
        cause = next;
    }
    Some(cause.to_string())
}

#[derive(Debug)]
pub(super) struct HttpConnectionState {
    pub(super) router: Arc<ResponseRouter>,
    /// The maximum message length in bytes.
    pub(super) limit: usize,
    /// The last failure, fatal or not.
    last_failure: Mutex<Option<HttpFailure>>,
    /// The failure that has ended the connection.
    fatal: OnceLock<HttpFailure>,
    pub(super) end: CancellationToken,
}

impl HttpConnectionState {
    pub(super) fn new(router: Arc<ResponseRouter>, limit: usize) -> Self {
        Self {
            router,
            limit,
            last_failure: Mutex::default(),
            fatal: OnceLock::new(),
            end: CancellationToken::new(),
        }
    }

    /// Ends the connection with a fatal failure.
    pub(super) fn abort(&self, failure: HttpFailure) {
        self.fatal.get_or_init(|| failure);
        self.end.cancel();
    }

    /// Returns the failure that has ended the connection.
    pub(super) fn fatal(&self) -> Option<&HttpFailure> {
        self.fatal.get()
    }

    /// Returns the fatal failure, or else the last one.
    pub(super) fn last_failure(&self) -> Option<HttpFailure> {
        let last_failure = self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.fatal.get().cloned().or_else(|| last_failure.clone())
    }

    pub(super) fn record_failure(&self, failure: HttpFailure) -> HttpError {
        *self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
        StreamableHttpError::Client(failure)
    }
}

#[cfg(test)]
mod tests {
    use http::header::RETRY_AFTER;
    use http::{HeaderMap, HeaderValue};
    use reqwest::StatusCode;

    use super::HttpFailure;

    /// Returns the statuses after which a request may be sent again.
    fn refusals(headers: &HeaderMap) -> Vec<u16> {
        (100..=999)
            .filter(|code| {
                let status = StatusCode::from_u16(*code).unwrap();
                !HttpFailure::status(status, headers).may_have_happened
            })
            .collect()
    }

    #[test]
    fn only_listed_statuses_say_that_nothing_was_done() {
        let listed = [
            301, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 411, 413, 414, 415, 421, 422,
            426, 428, 429, 431, 451,
        ];
        assert_eq!(refusals(&HeaderMap::new()), listed);
        let later = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("1"))]);
        assert_eq!(refusals(&later), [&listed[..], &[503]].concat());
    }
}

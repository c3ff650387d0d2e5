//! The Streamable HTTP transport: sessions and streams of `rmcp`, over our own HTTP client; and the failures of its
//! messages, whose texts contain no header and no token.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use planwright_core::ServerName;
use reqwest::StatusCode;
use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
    StreamableHttpError,
};
use rmcp::transport::{Transport, WorkerTransport};
use tokio::sync::watch;

use super::client::{HttpClient, HttpConnectionState};
use crate::config::HttpConfig;
use crate::session::router::{RequestError, ResponseRouter};
use crate::upstream::ConnectOptions;

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
pub(crate) type HttpError = StreamableHttpError<HttpFailure>;

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

/// The maximum number of concurrent requests. Callers have lower limits of their own.
const MAX_CONCURRENT_REQUESTS: usize = 4096;

/// The maximum number of failed attempts to resume a stream before its request fails.
const MAX_STREAM_RETRIES: usize = 5;

/// The initial pause between these attempts, which doubles, and the maximum.
const INITIAL_PAUSE: Duration = Duration::from_millis(500);

const MAX_PAUSE: Duration = Duration::from_secs(8);

pub(crate) struct HttpTransport {
    inner: StreamableHttpClientTransport<HttpClient>,
    connection: Arc<HttpConnectionState>,
    is_closed: watch::Sender<bool>,
}

#[derive(Clone, Debug)]
pub(crate) struct HttpHandle {
    connection: Arc<HttpConnectionState>,
    is_closed: watch::Receiver<bool>,
}

/// Creates a connection to a server without sending a request.
pub(crate) fn open(
    server: &ServerName,
    config: &HttpConfig,
    router: Arc<ResponseRouter>,
    options: &ConnectOptions,
) -> Result<(HttpTransport, HttpHandle), HttpFailure> {
    let connection = Arc::new(HttpConnectionState::new(router, options.message_limit));
    let client = HttpClient::new(server, config, options, Arc::clone(&connection))?;
    let mut settings = StreamableHttpClientTransportConfig::with_uri(config.url.as_str())
        .max_concurrent_requests(MAX_CONCURRENT_REQUESTS);
    // By default, `rmcp` would try to resume a broken stream without end.
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(MAX_STREAM_RETRIES);
    retry.base_duration = INITIAL_PAUSE;
    retry.max_delay = Some(MAX_PAUSE);
    settings.retry_config = Arc::new(retry);
    let worker = StreamableHttpClientWorker::new(client, settings);
    let (is_closed, receiver) = watch::channel(false);
    let transport = HttpTransport {
        inner: WorkerTransport::spawn_with_ct(worker, connection.end.clone()),
        connection: Arc::clone(&connection),
        is_closed,
    };
    let handle = HttpHandle {
        connection,
        is_closed: receiver,
    };
    Ok((transport, handle))
}

impl HttpHandle {
    /// Returns the failure that has ended the connection.
    pub(crate) fn problem(&self) -> Option<HttpFailure> {
        self.connection.fatal().cloned()
    }

    pub(crate) fn last_failure(&self) -> Option<HttpFailure> {
        self.connection.last_failure()
    }

    /// Waits until the session has ended, for `grace` at most.
    pub(crate) async fn wait_closed(&self, grace: Duration) {
        let mut is_closed = self.is_closed.clone();
        let closed = is_closed.wait_for(|is_closed| *is_closed);
        // After that, the server ends the session by itself at some time.
        let _ = tokio::time::timeout(grace, closed).await;
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = HttpFailure;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpFailure>> + Send + 'static {
        self.connection.router.record_outgoing(&message);
        let sent = self.inner.send(message);
        async move { sent.await.map_err(HttpFailure::from) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        // Responses are routed by now. An error here is `rmcp`'s report of a stream that ended early.
        if let JsonRpcMessage::Error(error) = &message
            && let Some(id) = &error.id
        {
            let reason = "the connection was lost before the answer came".to_owned();
            let lost = RequestError::Lost(Some(reason));
            self.connection.router.fail(id, lost);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), HttpFailure> {
        let closed = self.inner.close().await;
        // `HttpHandle::wait_closed` waits for this: closing has ended the session at the server.
        self.is_closed.send_replace(true);
        closed.map_err(HttpFailure::from)
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

//! The Streamable HTTP transport: sessions and streams of `rmcp`, over our own HTTP client.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::ServerName;
use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
};
use rmcp::transport::{Transport, WorkerTransport};
use tokio::sync::watch;

use super::client::HttpClient;
use super::failure::{HttpConnectionState, HttpFailure};
use crate::config::HttpConfig;
use crate::session::router::{RequestError, ResponseRouter};
use crate::upstream::ConnectOptions;

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

//! The ways in: a stream such as standard input and output, and HTTP.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::front::Front;
use super::raw::Raw;
use super::shared::Gateway;

/// Why a stream was served no longer, or not at all.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What came first was not MCP, or asked for what is not spoken.
    #[error("the client did not begin as MCP has it: {0}")]
    Beginning(String),
    /// A defect of ours.
    #[error("the connection broke down: {0}")]
    Broken(String),
}

/// Serves whoever writes to standard input, until its end or until `stop` is cancelled.
///
/// # Errors
///
/// Where the client does not begin as MCP has it.
pub async fn serve_stdio(gateway: &Gateway, stop: CancellationToken) -> Result<(), ServeError> {
    Box::pin(serve_stream(gateway, stdio_pipes(), stop)).await
}

/// Serves the client at the other end of a stream, until its end or until `stop` is cancelled.
///
/// # Errors
///
/// Where the client does not begin as MCP has it.
pub async fn serve_stream<R, W>(
    gateway: &Gateway,
    stream: (R, W),
    stop: CancellationToken,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    match Raw(Front::new(gateway)).serve_with_ct(stream, stop).await {
        Ok(service) => match service.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(ServeError::Broken(error.to_string())),
        },
        // Who goes before having begun, or is stopped, wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(ServeError::Beginning(error.to_string())),
    }
}

/// A gateway as a service for HTTP requests: Streamable HTTP at whatever path it is mounted.
///
/// It looks at no address, token or origin: whoever mounts it does, and puts a [`ClientId`](super::ClientId) into the
/// request's extensions.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<Front, LocalSessionManager>);

impl HttpService {
    /// The service, which ends all it does once `stop` is cancelled. It takes requests of `most` bytes.
    pub fn new(gateway: &Gateway, most: usize, stop: CancellationToken) -> Self {
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(most)
            .with_cancellation_token(stop);
        let gateway = gateway.clone();
        Self(StreamableHttpService::new(
            move || Ok(Front::new(&gateway)),
            Arc::new(LocalSessionManager::default()),
            config,
        ))
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Error: fmt::Display,
    B::Data: Send + 'static,
{
    type Response = Response<BoxBody<Bytes, Infallible>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

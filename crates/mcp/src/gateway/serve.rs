//! The way in over a stream, such as standard input and output.

use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::front::Front;
use super::patient::Patient;
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
    let stream = Patient::new(stream);
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

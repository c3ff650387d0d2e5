//! The gateway over a stream, such as standard input and output.

use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::front::Front;
use super::patient::Patient;
use super::raw::Raw;
use super::shared::Gateway;

/// The reason why serving a stream has failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The handshake has failed.
    #[error("the client did not begin as MCP has it: {0}")]
    Beginning(String),
    /// The connection has failed because of a defect.
    #[error("the connection broke down: {0}")]
    Broken(String),
}

/// Serves the client on standard input and output until the end of the input, or until `stop` is cancelled.
///
/// # Errors
///
/// Fails if the client does not begin with a handshake.
pub async fn serve_stdio(gateway: &Gateway, stop: CancellationToken) -> Result<(), ServeError> {
    Box::pin(serve_stream(gateway, stdio_pipes(), stop)).await
}

/// Serves the client on a stream until the end of its input, or until `stop` is cancelled.
///
/// # Errors
///
/// Fails if the client does not begin with a handshake.
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
        // A client that disconnects before the handshake is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(ServeError::Beginning(error.to_string())),
    }
}

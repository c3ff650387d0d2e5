//! The gateway over a stream, such as standard input and output.

use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite, Empty};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::incoming::{self, Incoming, Unreadable};
use super::sessions::SessionEnd;
use crate::gateway::call::results::RawResultService;
use crate::gateway::handler::service::GatewayHandler;
use crate::gateway::state::Gateway;
use crate::transport::stdio::pipe::{BoundedLine, BoundedLineReader};

/// The maximum length of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The maximum time that the end of a stream waits for error responses that the client does not read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why serving a stream has failed.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The handshake has failed.
    #[error("the client did not begin as MCP has it: {0}")]
    Handshake(String),
    /// The connection has failed because of a defect.
    #[error("the connection broke down: {0}")]
    Broken(String),
}

/// Serves the client on standard input and output until the end of the input, or until `stop` is cancelled.
///
/// # Errors
///
/// Fails if the client does not begin with a handshake.
pub async fn serve_stdio(gateway: &Gateway, stop: CancellationToken) -> Result<(), StreamError> {
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
) -> Result<(), StreamError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let stream = LenientTransport::new(stream);
    match RawResultService(GatewayHandler::new(gateway))
        .serve_with_ct(stream, stop)
        .await
    {
        Ok(service) => match service.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(StreamError::Broken(error.to_string())),
        },
        // A client that disconnects before the handshake is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(StreamError::Handshake(error.to_string())),
    }
}

/// The messages of a stream from the first request on. Earlier notifications and responses have no meaning, and `rmcp`
/// would end the connection. It parses messages itself, because `rmcp` ignores unreadable ones without a response.
struct LenientTransport<R: AsyncRead, W: AsyncWrite> {
    input: BoundedLineReader<R>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    has_begun: bool,
    end: SessionEnd,
    /// The error responses to unreadable messages that are being sent.
    error_responses: JoinSet<()>,
}

impl<R, W> LenientTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn new((input, output): (R, W)) -> Self {
        Self {
            input: BoundedLineReader::new(input, MAX_MESSAGE_BYTES),
            // `rmcp` only writes: this type reads the input itself.
            output: AsyncRwTransport::new(tokio::io::empty(), output),
            has_begun: false,
            end: SessionEnd::default(),
            error_responses: JoinSet::new(),
        }
    }

    /// Returns the next readable message, or `None` at the end of the stream.
    async fn read(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let incoming = match self.input.next_truncated().await {
                Ok(Some(BoundedLine::Complete(line))) => incoming::read(line),
                Ok(Some(BoundedLine::Truncated(line))) => {
                    Incoming::Unreadable(incoming::too_long(line, MAX_MESSAGE_BYTES))
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::error!(%error, "the client cannot be read any more");
                    return None;
                }
            };
            match incoming {
                Incoming::Message(message) => return Some(*message),
                Incoming::Ignored => {}
                Incoming::Unreadable(Unreadable { reply, substitute }) => {
                    // The send runs in a task of its own, because this future may be dropped at any time.
                    let sending = self.output.send(ServerJsonRpcMessage::Error(reply));
                    while self.error_responses.try_join_next().is_some() {}
                    self.error_responses.spawn(async {
                        if let Err(error) = sending.await {
                            tracing::debug!(%error, "an error response could not be sent");
                        }
                    });
                    if let Some(substitute) = substitute {
                        return Some(*substitute);
                    }
                }
            }
        }
    }

    /// Waits until the error responses are sent. `rmcp` does not know of them, so it would not wait for them.
    async fn flush_error_responses(&mut self) {
        let all = async { while self.error_responses.join_next().await.is_some() {} };
        if tokio::time::timeout(FLUSH_TIMEOUT, all).await.is_err() {
            tracing::debug!("the client does not read its responses");
        }
    }
}

impl<R, W> Transport<RoleServer> for LenientTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(mut message) = self.read().await else {
                self.end.signal();
                self.flush_error_responses().await;
                return None;
            };
            if let JsonRpcMessage::Request(request) = &mut message {
                self.end.attach(request.request.extensions_mut());
                self.has_begun = true;
            }
            if self.has_begun {
                return Some(message);
            }
            tracing::debug!("a message was left out that came before any request");
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.close().await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::io::AsyncReadExt;
    use tokio::time::Instant;

    use super::*;

    const INPUT: &[u8] = b"no\nmore\n";

    #[tokio::test]
    async fn error_responses_are_sent_before_the_stream_ends() {
        let (output, mut client) = tokio::io::duplex(4096);
        let mut stream = LenientTransport::new((INPUT, output));
        assert!(stream.receive().await.is_none());
        let mut responses = [0; 4096];
        let length = client.read(&mut responses).now_or_never();
        let length = length.expect("nothing was sent").unwrap();
        let responses = String::from_utf8_lossy(&responses[..length]);
        assert_eq!(responses.matches("-32700").count(), 2, "{responses}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_cannot_keep_the_stream_open() {
        let (output, _client) = tokio::io::duplex(1);
        let mut stream = LenientTransport::new((INPUT, output));
        let started = Instant::now();
        assert!(stream.receive().await.is_none());
        assert_eq!(started.elapsed().as_secs(), FLUSH_TIMEOUT.as_secs());
    }
}

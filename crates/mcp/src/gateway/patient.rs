//! A stream whose client need not begin at the beginning.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::ended::SessionEnd;

/// The messages of a stream from the first request on. What is told or answered before that is about nothing that there is, and
/// `rmcp` would end for it.
pub(super) struct Patient<R: AsyncRead, W: AsyncWrite> {
    stream: AsyncRwTransport<RoleServer, R, W>,
    has_begun: bool,
    end: SessionEnd,
}

impl<R, W> Patient<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new((input, output): (R, W)) -> Self {
        Self {
            stream: AsyncRwTransport::new(input, output),
            has_begun: false,
            end: SessionEnd::default(),
        }
    }
}

impl<R, W> Transport<RoleServer> for Patient<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = <AsyncRwTransport<RoleServer, R, W> as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.stream.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(mut message) = self.stream.receive().await else {
                self.end.signal();
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
        self.stream.close().await
    }
}

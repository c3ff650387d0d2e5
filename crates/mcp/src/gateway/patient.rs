use std::io;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, Empty};

use super::ended::SessionEnd;
use super::incoming::{self, Incoming, Unreadable};
use crate::client::line::{Line, LineReader};

/// The maximum length of a message in bytes.
const LONGEST_MESSAGE: usize = 16 << 20;

/// The messages of a stream from the first request on. Earlier notifications and responses have no meaning, and `rmcp`
/// would end the connection. It parses messages itself, because `rmcp` ignores unreadable ones without a response.
pub(super) struct Patient<R: AsyncRead, W: AsyncWrite> {
    input: LineReader<R>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
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
            input: LineReader::new(input, LONGEST_MESSAGE),
            output: AsyncRwTransport::new(tokio::io::empty(), output),
            has_begun: false,
            end: SessionEnd::default(),
        }
    }

    /// Returns the next readable message, or `None` at the end of the stream.
    async fn read(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let incoming = match self.input.next_or_beginning().await {
                Ok(Some(Line::Whole(line))) => incoming::read(line),
                Ok(Some(Line::Beginning(line))) => {
                    Incoming::Unreadable(incoming::too_long(line, LONGEST_MESSAGE))
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
                Incoming::Unreadable(Unreadable { reply, instead }) => {
                    // The send runs in a task of its own, because this future may be dropped at any time.
                    tokio::spawn(self.output.send(ServerJsonRpcMessage::Error(reply)));
                    if let Some(instead) = instead {
                        return Some(*instead);
                    }
                }
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Patient<R, W>
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

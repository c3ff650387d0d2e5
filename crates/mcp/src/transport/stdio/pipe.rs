//! The stdio transport: messages as lines over the pipes of a server process.

use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};

use super::line::BoundedLineReader;
use super::log::StderrLog;
use crate::session::router::ResponseRouter;
use crate::transport::inbound;

/// The transport that `rmcp` uses.
///
/// It replaces that of `rmcp`, which leaves a caller waiting forever if a result is too long or invalid JSON, and lets
/// messages overtake each other, such as a cancellation its own request.
#[derive(Debug)]
pub(crate) struct PipeTransport<R> {
    lines: BoundedLineReader<R>,
    outgoing: Option<mpsc::UnboundedSender<QueuedLine>>,
    router: Arc<ResponseRouter>,
    log: Arc<StderrLog>,
    fault: Arc<OnceLock<String>>,
}

/// A serialized message, and the channel for the result of writing it.
#[derive(Debug)]
struct QueuedLine {
    line: Vec<u8>,
    sent: oneshot::Sender<io::Result<()>>,
}

impl<R: AsyncRead + Unpin> PipeTransport<R> {
    /// Creates a transport over `stdout` and `stdin`. Lines that are not messages go to the `log`.
    pub(crate) fn new(stdout: R, stdin: ChildStdin, limit: usize, log: Arc<StderrLog>) -> Self {
        let (outgoing, queue) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, queue));
        Self {
            lines: BoundedLineReader::new(stdout, limit),
            outgoing: Some(outgoing),
            router: Arc::default(),
            log,
            fault: Arc::default(),
        }
    }

    pub(crate) fn router(&self) -> Arc<ResponseRouter> {
        Arc::clone(&self.router)
    }

    pub(crate) fn fault(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.fault)
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleClient> for PipeTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Messages are queued here and not when the future is polled, so that they keep their order.
        inbound::record_outgoing(&self.router, &message);
        let queued = serde_json::to_vec(&message)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                let (sent, confirmation) = oneshot::channel();
                self.outgoing
                    .as_ref()
                    .and_then(|queue| queue.send(QueuedLine { line, sent }).ok())
                    .ok_or(io::ErrorKind::BrokenPipe)?;
                Ok(confirmation)
            });
        async move {
            queued?
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    // The request that the message answers is unknown and would wait forever, so the connection ends.
                    let fault = match error.kind() {
                        io::ErrorKind::FileTooLarge => {
                            "it sent a message that is longer than the limit".to_owned()
                        }
                        _ => format!("its output could not be read: {error}"),
                    };
                    // Only the first fault counts, because it has ended the connection.
                    self.fault.get_or_init(|| fault);
                    return None;
                }
            };
            if line.is_empty() {
                continue;
            }
            let message = inbound::decode(&self.router, line, None);
            if message.is_some() {
                return message;
            }
            self.log.add_stdout_line(line);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The writer ends with its queue and closes the server's input.
        self.outgoing = None;
        Ok(())
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<QueuedLine>) {
    while let Some(QueuedLine { line, sent }) = queue.recv().await {
        let mut outcome = stdin.write_all(&line).await;
        if outcome.is_ok() {
            outcome = stdin.flush().await;
        }
        let failed = outcome.is_err();
        // The receiver is gone if the call was cancelled.
        let _ = sent.send(outcome);
        if failed {
            return;
        }
    }
}

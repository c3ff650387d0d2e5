//! Messages as lines over the pipes of a server process.

use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};

use super::line::LineReader;
use super::log::Log;
use super::mailbox::Mailbox;
use super::message;

/// What `rmcp` sends and receives messages through.
///
/// It is our own because that of `rmcp` leaves a caller waiting for ever where a result is too long or not quite
/// JSON, and lets messages overtake each other, a cancellation its own request among them.
#[derive(Debug)]
pub(super) struct PipeTransport<R> {
    lines: LineReader<R>,
    outgoing: Option<mpsc::UnboundedSender<Outgoing>>,
    mailbox: Arc<Mailbox>,
    log: Arc<Log>,
    fault: Arc<OnceLock<String>>,
}

/// A message on its way, and whom to tell when it is out.
#[derive(Debug)]
struct Outgoing {
    line: Vec<u8>,
    sent: oneshot::Sender<io::Result<()>>,
}

impl<R: AsyncRead + Unpin> PipeTransport<R> {
    /// Reads from `stdout` and writes to `stdin`; what is no message goes to the `log`.
    pub(super) fn new(stdout: R, stdin: ChildStdin, limit: usize, log: Arc<Log>) -> Self {
        let (outgoing, queue) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, queue));
        Self {
            lines: LineReader::new(stdout, limit),
            outgoing: Some(outgoing),
            mailbox: Arc::default(),
            log,
            fault: Arc::default(),
        }
    }

    /// Where the results of listing and calling tools arrive.
    pub(super) fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.mailbox)
    }

    /// Why this side ended the connection, once it did.
    pub(super) fn fault(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.fault)
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleClient> for PipeTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // All this happens at the call and not when the future is polled: so the messages keep their order.
        message::note(&self.mailbox, &message);
        let queued = serde_json::to_vec(&message)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                let (sent, confirmation) = oneshot::channel();
                self.outgoing
                    .as_ref()
                    .and_then(|queue| queue.send(Outgoing { line, sent }).ok())
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
                    // Whoever waits for the message would wait for ever, and nobody knows who that is.
                    let fault = match error.kind() {
                        io::ErrorKind::FileTooLarge => {
                            "it sent a message that is longer than the limit".to_owned()
                        }
                        _ => format!("its output could not be read: {error}"),
                    };
                    // Only the first fault counts: it is the one that ended the connection.
                    self.fault.get_or_init(|| fault);
                    return None;
                }
            };
            if line.is_empty() {
                continue;
            }
            let message = message::read(&self.mailbox, line, None);
            if message.is_some() {
                return message;
            }
            self.log.add_noise(line);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The writer ends with its queue, and takes the server's input with it.
        self.outgoing = None;
        Ok(())
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<Outgoing>) {
    while let Some(Outgoing { line, sent }) = queue.recv().await {
        let mut outcome = stdin.write_all(&line).await;
        if outcome.is_ok() {
            outcome = stdin.flush().await;
        }
        let failed = outcome.is_err();
        // Nobody listens any more where the call was given up; that is no failure.
        let _ = sent.send(outcome);
        if failed {
            return;
        }
    }
}

//! The stdio transport: messages as lines over the pipes of a server process. Lines are length-limited, and invalid
//! text in them is repaired.

use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};

use super::stderr_log::StderrLog;
use crate::session::router::ResponseRouter;

/// The maximum buffer capacity that is retained between lines.
const MAX_RETAINED_CAPACITY: usize = 1 << 20;

/// The read size: the capacity of a pipe on Linux.
const READ_SIZE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct BoundedLineReader<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    is_complete: bool,
    /// True if the line is longer than the limit.
    is_truncated: bool,
    limit: usize,
}

/// A complete line, or the part of a longer one within the limit.
#[cfg(feature = "gateway")]
pub(crate) enum BoundedLine<'a> {
    Complete(&'a [u8]),
    Truncated(&'a [u8]),
}

impl<R: AsyncRead + Unpin> BoundedLineReader<R> {
    pub(crate) fn new(read: R, limit: usize) -> Self {
        Self {
            read: BufReader::with_capacity(READ_SIZE, read),
            line: Vec::new(),
            is_complete: false,
            is_truncated: false,
            limit,
        }
    }

    /// Returns the next line without its terminator, or `None` at the end of the stream. An unterminated last line is
    /// dropped, because its writer died before it was complete. Cancel safe: dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// Returns an error of the stream, or [`io::ErrorKind::FileTooLarge`] for a line beyond the limit.
    pub(crate) async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.advance(false).await?;
        Ok(self.is_complete.then(|| self.line.trim_ascii()))
    }

    /// Returns the next line like [`next`](Self::next), but truncates a line beyond the limit and skips its rest.
    ///
    /// # Errors
    ///
    /// Returns an error of the stream.
    #[cfg(feature = "gateway")]
    pub(crate) async fn next_truncated(&mut self) -> io::Result<Option<BoundedLine<'_>>> {
        self.advance(true).await?;
        Ok(self.is_complete.then(|| {
            if self.is_truncated {
                BoundedLine::Truncated(&self.line)
            } else {
                BoundedLine::Complete(self.line.trim_ascii())
            }
        }))
    }

    /// Reads to the end of a line, which is then complete, or to the end of the stream.
    async fn advance(&mut self, truncates: bool) -> io::Result<()> {
        if self.is_complete {
            self.line.clear();
            // One large result must not occupy its memory for the rest of the session.
            self.line.shrink_to(MAX_RETAINED_CAPACITY);
            self.is_complete = false;
            self.is_truncated = false;
        }
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(());
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            let room = self.limit.saturating_sub(self.line.len());
            if taken > room {
                if !truncates {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                self.is_truncated = true;
            }
            self.line.extend_from_slice(&available[..taken.min(room)]);
            self.read.consume(end.map_or(taken, |end| end + 1));
            if end.is_some() {
                self.is_complete = true;
                return Ok(());
            }
        }
    }
}

/// The transport that `rmcp` uses.
///
/// It replaces that of `rmcp`, which leaves a caller waiting forever if a result is too long or invalid JSON, and lets messages
/// overtake each other, for example a request and its cancellation.
#[derive(Debug)]
pub(crate) struct PipeTransport<R> {
    lines: BoundedLineReader<R>,
    outgoing: Option<mpsc::UnboundedSender<QueuedLine>>,
    router: Arc<ResponseRouter>,
    log: Arc<StderrLog>,
    problem: Arc<OnceLock<String>>,
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
            problem: Arc::default(),
        }
    }

    pub(crate) fn router(&self) -> Arc<ResponseRouter> {
        Arc::clone(&self.router)
    }

    pub(crate) fn problem(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.problem)
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleClient> for PipeTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Messages are queued here and not when the future is polled, so that they keep their order.
        self.router.record_outgoing(&message);
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
                    let problem = match error.kind() {
                        io::ErrorKind::FileTooLarge => {
                            "it sent a message that is longer than the limit".to_owned()
                        }
                        _ => format!("its output could not be read: {error}"),
                    };
                    // Only the first problem counts, because it has ended the connection.
                    self.problem.get_or_init(|| problem);
                    return None;
                }
            };
            if line.is_empty() {
                continue;
            }
            let message = self.router.decode(line, None);
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::BoundedLineReader;

    #[tokio::test]
    async fn reads_lines_within_the_limit() {
        let mut reader =
            BoundedLineReader::new(&b"one\r\n\n  two \nexactly10!\nelevenbytes\n"[..], 10);
        for expected in ["one", "", "two", "exactly10!"] {
            assert_eq!(reader.next().await.unwrap(), Some(expected.as_bytes()));
        }
        let error = reader.next().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);

        let mut reader = BoundedLineReader::new(&b"whole\ncut of"[..], 100);
        assert_eq!(reader.next().await.unwrap(), Some(&b"whole"[..]));
        assert_eq!(reader.next().await.unwrap(), None);
    }
}

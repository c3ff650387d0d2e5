//! The browser of a person: it is shown a page, and sent back to this machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright::mcp::Consent;
use planwright::terminal_text;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::error::{CommandError, reason};
use crate::printer::Printer;

/// The path that browsers are sent back to.
const PATH: &str = "/callback";

/// The longest request that is read of a browser, and how long it may take: some open connections in store.
const REQUEST_LIMIT: usize = 16 << 10;
const REQUEST_PATIENCE: Duration = Duration::from_secs(2);

/// The browser of the person at the terminal.
#[derive(Debug)]
pub(super) struct Browser {
    listener: TcpListener,
    redirect: String,
    printer: Printer,
    was_asked: AtomicBool,
}

impl Browser {
    /// Waits at `port` of this machine, or at any that is free.
    pub(super) async fn open(port: Option<u16>, printer: Printer) -> Result<Self, CommandError> {
        let failure = |error| {
            CommandError::new(format!(
                "the browser has nowhere to come back to: {}",
                reason(&error)
            ))
            .hint("write another `callbackPort` into `oauth`")
        };
        let address = ("127.0.0.1", port.unwrap_or_default());
        let listener = TcpListener::bind(address).await.map_err(failure)?;
        let port = listener.local_addr().map_err(failure)?.port();
        Ok(Self {
            listener,
            redirect: format!("http://127.0.0.1:{port}{PATH}"),
            printer,
            was_asked: AtomicBool::new(false),
        })
    }

    /// Returns whether a person was asked.
    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }

    /// The query with which the browser comes back.
    async fn answer(&self) -> Result<String, String> {
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|error| error.to_string())?;
            let target = tokio::time::timeout(REQUEST_PATIENCE, target(&mut stream)).await;
            let target = target.ok().flatten().unwrap_or_default();
            match target
                .strip_prefix(PATH)
                .and_then(|rest| rest.strip_prefix('?'))
            {
                Some(query) => {
                    say(
                        &mut stream,
                        "200 OK",
                        "That was all. You can close this page.",
                    )
                    .await;
                    return Ok(query.to_owned());
                }
                None => say(&mut stream, "404 Not Found", "There is nothing here.").await,
            }
        }
    }
}

impl Consent for Browser {
    fn redirect_uri(&self) -> String {
        self.redirect.clone()
    }

    fn ask<'a>(&'a self, server: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            self.was_asked.store(true, Ordering::Relaxed);
            self.printer
                .quote(&format!("to log in to `{server}`, open"));
            self.printer
                .quote(&format!("  {}", terminal_text::one_line(page)));
            let query = self.answer().await?;
            Ok(format!("{}?{query}", self.redirect))
        })
    }
}

/// Returns the target of a browser's request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await.ok()?;
        if length == 0 || request.len() + length > REQUEST_LIMIT {
            return None;
        }
        request.extend_from_slice(&piece[..length]);
    }
    let request = String::from_utf8(request).ok()?;
    let mut words = request.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned))?
}

async fn say(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    );
    // A browser that is gone needs no answer.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

//! The state of a transport besides its messages.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::http::HttpLink;
use super::stdio::process::Process;

/// The time to wait for the exit status of a server.
const POST_MORTEM: Duration = Duration::from_millis(200);

/// The time without a response after which a child process gets the second handshake request as well.
const PATIENCE: Duration = Duration::from_secs(2);

/// A handle of a transport. Dropping it ends a child process and its descendants.
#[derive(Debug)]
pub(crate) enum Link {
    /// A child process, over its pipes.
    Process {
        process: Process,
        /// The reason why this side has closed the connection.
        fault: Arc<OnceLock<String>>,
    },
    /// A remote server.
    Http(HttpLink),
}

impl Link {
    pub(crate) fn process(process: Process, fault: Arc<OnceLock<String>>) -> Self {
        Self::Process { process, fault }
    }

    /// Returns the time to wait for the response to the first handshake request before the second is sent as well.
    pub(crate) fn patience(&self) -> Duration {
        match self {
            Self::Process { .. } => PATIENCE,
            // Over HTTP each response belongs to its request, so no fallback is needed; the start has a timeout of its
            // own.
            Self::Http(_) => Duration::MAX,
        }
    }

    /// Returns the reason why this side has closed the connection, as one clause.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::Process { fault, .. } => fault.get().cloned(),
            Self::Http(link) => link.fault().map(|failure| failure.message),
        }
    }

    /// Returns the reason why the connection is closed, as one clause, if known.
    pub(crate) async fn end(&self) -> Option<String> {
        if let Some(fault) = self.fault() {
            return Some(fault);
        }
        match self {
            Self::Process { process, .. } => {
                let status = process.ended_within(POST_MORTEM).await?;
                Some(format!("it stopped ({status})"))
            }
            Self::Http(link) => link.last_failure().map(|failure| failure.message),
        }
    }

    /// Returns a hint for a server that did not start.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::Process { .. } => "run its command by hand, and see what it says".to_owned(),
            Self::Http(link) => match link.last_failure() {
                Some(failure) => failure.help,
                None => "see that its `url` is that of its MCP endpoint".to_owned(),
            },
        }
    }

    /// Returns the consequence of a message that could not be sent.
    pub(crate) fn is_deaf_once_sending_failed(&self) -> bool {
        match self {
            Self::Process { .. } => true,
            Self::Http(_) => false,
        }
    }

    /// Ends the child process, or waits for the end of the HTTP session, after the connection is closed.
    pub(crate) async fn stop(&self, grace: Duration) {
        match self {
            Self::Process { process, .. } => process.stop(grace).await,
            Self::Http(link) => link.closed(grace).await,
        }
    }
}

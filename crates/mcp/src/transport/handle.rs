//! The state of a transport besides its messages.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::connection::SendFailure;
#[cfg(feature = "http")]
use super::http::HttpHandle;
use super::stdio::process::Process;

const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(200);

/// The time without a response after which a child process gets the second handshake request as well.
const HANDSHAKE_FALLBACK_DELAY: Duration = Duration::from_secs(2);

/// A handle of a transport. Dropping it ends a child process and its descendants.
#[derive(Debug)]
pub(crate) enum TransportHandle {
    /// A child process, over its pipes.
    Process {
        process: Process,
        /// The reason why this side has closed the connection.
        fault: Arc<OnceLock<String>>,
    },
    #[cfg(feature = "http")]
    Http(HttpHandle),
}

impl TransportHandle {
    /// Returns the time to wait for the response to the first handshake request before the second is sent as well.
    pub(crate) fn fallback_delay(&self) -> Duration {
        match self {
            Self::Process { .. } => HANDSHAKE_FALLBACK_DELAY,
            // Over HTTP each response belongs to its request, so no fallback is needed; the start has a timeout of its
            // own.
            #[cfg(feature = "http")]
            Self::Http(_) => Duration::MAX,
        }
    }

    /// Returns the reason why this side has closed the connection, as one clause.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::Process { fault, .. } => fault.get().cloned(),
            #[cfg(feature = "http")]
            Self::Http(http) => http.fault().map(|failure| failure.message),
        }
    }

    /// Returns the reason why the connection is closed, as one clause, if known.
    pub(crate) async fn close_reason(&self) -> Option<String> {
        if let Some(fault) = self.fault() {
            return Some(fault);
        }
        match self {
            Self::Process { process, .. } => {
                let status = process.wait_for_exit(EXIT_STATUS_TIMEOUT).await?;
                Some(format!("it stopped ({status})"))
            }
            #[cfg(feature = "http")]
            Self::Http(http) => http.last_failure().map(|failure| failure.message),
        }
    }

    /// Returns a hint for a server that did not start.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::Process { .. } => "run its command by hand, and see what it says".to_owned(),
            #[cfg(feature = "http")]
            Self::Http(http) => match http.last_failure() {
                Some(failure) => failure.help,
                None => "see that its `url` is that of its MCP endpoint".to_owned(),
            },
        }
    }

    /// Returns the consequence of a message that could not be sent.
    pub(crate) fn send_failure(&self) -> SendFailure {
        match self {
            Self::Process { .. } => SendFailure::ClosesConnection,
            #[cfg(feature = "http")]
            Self::Http(_) => SendFailure::FailsMessage,
        }
    }

    /// Ends the child process, or waits for the end of the HTTP session, after the connection is closed.
    pub(crate) async fn stop(&self, grace: Duration) {
        match self {
            Self::Process { process, .. } => process.stop(grace).await,
            #[cfg(feature = "http")]
            Self::Http(http) => http.wait_closed(grace).await,
        }
    }
}

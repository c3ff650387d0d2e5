//! What a connection runs over, apart from the messages themselves.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::http::HttpLink;
use super::process::Process;

/// How long an ended server is waited for to learn how it ended.
const POST_MORTEM: Duration = Duration::from_millis(200);

/// How long a program may be silent on the newest greeting before it gets the older one as well.
const PATIENCE: Duration = Duration::from_secs(2);

/// The way to a server. Dropping it leaves nothing behind.
#[derive(Debug)]
pub(super) enum Link {
    /// A program of ours, over its pipes.
    Process {
        process: Process,
        /// Why this side ended the connection, once it did.
        fault: Arc<OnceLock<String>>,
    },
    /// A server somewhere else.
    Http(HttpLink),
}

impl Link {
    pub(super) fn process(process: Process, fault: Arc<OnceLock<String>>) -> Self {
        Self::Process { process, fault }
    }

    /// How long to wait for the answer to the newest greeting before the older one is sent as well.
    pub(super) fn patience(&self) -> Duration {
        match self {
            Self::Process { .. } => PATIENCE,
            // An answer belongs to its request there, so there is nothing to guess at; the start has a limit of its own.
            Self::Http(_) => Duration::MAX,
        }
    }

    /// Why this side ended the connection, in one clause, where it did.
    pub(super) fn fault(&self) -> Option<String> {
        match self {
            Self::Process { fault, .. } => fault.get().cloned(),
            Self::Http(link) => link.fault().map(|failure| failure.message),
        }
    }

    /// Why there is no connection any more, in one clause, where that can be told.
    pub(super) async fn end(&self) -> Option<String> {
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

    /// What to do about a server that did not start.
    pub(super) fn help(&self) -> String {
        match self {
            Self::Process { .. } => "run its command by hand, and see what it says".to_owned(),
            Self::Http(link) => match link.last_failure() {
                Some(failure) => failure.help,
                None => "see that its `url` is that of its MCP endpoint".to_owned(),
            },
        }
    }

    /// Whether one message that could not be sent means that none can.
    pub(super) fn is_deaf_once_sending_failed(&self) -> bool {
        match self {
            Self::Process { .. } => true,
            Self::Http(_) => false,
        }
    }

    /// Ends what is at the other end, as far as it is ours, after its messages have ended.
    pub(super) async fn stop(&self, grace: Duration) {
        match self {
            Self::Process { process, .. } => process.stop(grace).await,
            Self::Http(link) => link.closed(grace).await,
        }
    }
}

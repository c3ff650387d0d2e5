//! Errors of servers: of the start of one, and of a request to one.

use std::time::Duration;

use planwright_core::Value;
use planwright_engine::backend::{RetryAdvice, ToolError};

use crate::object::with;

/// The field of an error's data, and its value, that report an unknown outcome to the client of a gateway.
const OUTCOME: &str = "outcome";

const UNKNOWN: &str = "unknown";

/// The reason why a server did not start, and advice.
#[derive(Clone, Debug)]
pub(crate) struct ServerStartError {
    pub(crate) message: String,
    pub(crate) help: String,
}

impl ServerStartError {
    /// Creates the error of a server that was stopped during its start.
    pub(crate) fn stopped() -> Self {
        Self {
            message: "it has been stopped".to_owned(),
            help: "start it again".to_owned(),
        }
    }

    /// Creates the error of a start that took longer than `limit`.
    pub(crate) fn timed_out(limit: Duration) -> Self {
        Self {
            message: format!("it was not ready within {limit:?}"),
            help: "give it more time with `startTimeout`, or run its command by hand and see what it waits for"
                .to_owned(),
        }
    }
}

/// The error of a request: a JSON-RPC error of the server, unchanged, or our own.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct UpstreamError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The error message.
    pub message: String,
    /// Additional data.
    pub data: Option<Value>,
}

impl UpstreamError {
    /// The code of our own errors: the server is unreachable, or its response is unreadable.
    pub const UNAVAILABLE: i64 = -32603;

    /// The code of invalid parameters, such as an unknown server name.
    pub const INVALID: i64 = -32602;

    /// The code of an unknown method.
    pub const UNKNOWN_METHOD: i64 = -32601;

    /// The codes of errors with an unknown outcome: those of the MCP SDKs and of the Language Server Protocol for
    /// timeouts and cancellations, and the statuses that gateways pass through.
    const UNCERTAIN_CODES: [i64; 7] = [-32001, -32800, -32802, 408, 499, 502, 504];

    /// The code of a lost connection in the MCP SDKs, and of any error in many servers.
    const SERVER_ERROR: i64 = -32000;

    /// Returns true if the request may have been carried out in spite of the error.
    pub(crate) fn is_uncertain(&self) -> bool {
        let outcome = self.data.as_ref().and_then(|data| data.get(OUTCOME));
        outcome.and_then(Value::as_text) == Some(UNKNOWN)
            || Self::UNCERTAIN_CODES.contains(&self.code)
            // Many servers use this code for any error, so the message must confirm it.
            || self.code == Self::SERVER_ERROR
                && self.message.to_lowercase().contains("connection closed")
    }

    /// Creates the error for a `requestState` that is unknown, or not valid for this request of this client.
    pub fn unknown_state() -> Self {
        Self::new(
            Self::INVALID,
            "the `requestState` is unknown, used or expired, or belongs to another request; nothing was called",
        )
    }

    /// Creates an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl From<ToolError> for UpstreamError {
    /// Marks errors with an unknown outcome, which a client must know before it repeats the request.
    fn from(error: ToolError) -> Self {
        let data = match error.retry {
            RetryAdvice::Uncertain => with(&error.data, OUTCOME, Value::from(UNKNOWN)),
            RetryAdvice::Never | RetryAdvice::Again | RetryAdvice::After(_) => error.data,
        };
        Self {
            code: Self::UNAVAILABLE,
            message: error.message,
            data: (!data.is_null()).then_some(data),
        }
    }
}

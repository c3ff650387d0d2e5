//! For whom a request is made, and what becomes of it.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_engine::backend::{RetryAdvice, ToolError};

use super::object::with;
use super::upstream_client::UpstreamClient;

/// The client for whom a request is made. What the server asks or tells while the request is under way goes to it.
pub trait Caller: Send + Sync + 'static {
    /// Tells the client something: `notifications/progress` with the token that the client gave, `notifications/message`.
    fn notify(&self, method: &str, params: Value);

    /// Asks the client something: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>>;

    /// Asks the client something about `subject`, by which another process recognises the question: a digest of the call that
    /// a person decides about.
    fn ask_about(
        &self,
        subject: &str,
        method: &str,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let _ = subject;
        self.ask(method, params)
    }

    /// States that the request is served by `work`, which can be continued in another process if this one ends while the client
    /// is asked something.
    fn bind(&self, work: &str) {
        let _ = work;
    }

    /// What goes into `_meta` of each request that is made for it: `traceparent`, `tracestate`, `baggage`. An object, or
    /// `null` where there is nothing.
    fn meta(&self) -> Value;

    /// How the client can be asked, by which a server that several clients use is spoken to.
    fn abilities(&self) -> Option<UpstreamClient> {
        None
    }

    /// Who the client is, where several callers may be the same: one for each of its requests, say. Callers that do not
    /// tell are clients of their own.
    fn client(&self) -> Option<Arc<str>> {
        None
    }
}

/// The field of an error's data, and its value, by which a Planwright in front of servers tells its client that the request
/// may have been carried out.
const OUTCOME: &str = "outcome";
const UNKNOWN: &str = "unknown";

/// Why a request has no result: the JSON-RPC error as it came, or one of ours.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct UpstreamError {
    /// What kind of error it is.
    pub code: i64,
    /// What went wrong.
    pub message: String,
    /// What else is known.
    pub data: Option<Value>,
}

impl UpstreamError {
    /// The code of errors that no server sent: it could not be reached, or its answer could not be read.
    pub const UNAVAILABLE: i64 = -32603;

    /// The code of a request for which something in it is wrong, such as the name of the server.
    pub const INVALID: i64 = -32602;

    /// The code of a request that is not known.
    pub const UNKNOWN_METHOD: i64 = -32601;

    /// The codes of errors that say that a request ended before its outcome was known: those of the MCP SDKs and of the
    /// Language Server Protocol for a request that timed out or was cancelled, and the statuses that gateways hand on.
    const UNCERTAIN_CODES: [i64; 7] = [-32001, -32800, -32802, 408, 499, 502, 504];

    /// The code that the MCP SDKs give to a lost connection, and many servers to everything.
    const SERVER_ERROR: i64 = -32000;

    /// Whether the request may have been carried out although this is the answer.
    pub(super) fn is_uncertain(&self) -> bool {
        let outcome = self.data.as_ref().and_then(|data| data.get(OUTCOME));
        outcome.and_then(Value::as_text) == Some(UNKNOWN)
            || Self::UNCERTAIN_CODES.contains(&self.code)
            || self.code == Self::SERVER_ERROR
                && self.message.to_lowercase().contains("connection closed")
    }

    /// The refusal of a `requestState` that leads nowhere, or not for this request of this client.
    pub fn unknown_state() -> Self {
        Self::new(
            Self::INVALID,
            "the `requestState` is unknown, used or expired, or belongs to another request; nothing was called",
        )
    }

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl From<ToolError> for UpstreamError {
    /// Says so if the request may have been carried out: a client that repeats what has failed must know.
    fn from(error: ToolError) -> Self {
        let data = match error.retry {
            RetryAdvice::Uncertain => with(&error.data, OUTCOME, Value::from(UNKNOWN)),
            _ => error.data,
        };
        Self {
            code: Self::UNAVAILABLE,
            message: error.message,
            data: (!data.is_null()).then_some(data),
        }
    }
}

impl fmt::Debug for dyn Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("client", &self.client())
            .finish_non_exhaustive()
    }
}

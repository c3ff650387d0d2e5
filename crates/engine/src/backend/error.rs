//! Why a step failed, and whether another attempt may help.

use std::time::Duration;

use planwright_core::Value;
use serde::Serialize;

/// A failed attempt, or a failed step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What the other side said, or one clause of our own.
    pub message: String,
    /// What else is known: a code, the tool's structured content. `null` where there is nothing.
    pub data: Value,
    /// Whether another attempt may help, and when.
    pub retry: RetryAdvice,
}

/// The kinds of failure, as reports name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The tool said no.
    Tool,
    /// It took too long.
    Timeout,
    /// The server is not there, the connection was lost, or the answer cannot be read.
    Unavailable,
    /// A resolved argument does not fit the tool's schema.
    Arguments,
    /// A reference led nowhere.
    Reference,
    /// A person said no.
    Approval,
    /// The policy forbids it.
    Policy,
    /// A budget is used up.
    Budget,
    /// A defect of ours.
    Internal,
}

impl ErrorKind {
    /// The kind's name, as reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Arguments => "arguments",
            Self::Reference => "reference",
            Self::Approval => "approval",
            Self::Policy => "policy",
            Self::Budget => "budget",
            Self::Internal => "internal",
        }
    }
}

/// Whether another attempt may help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryAdvice {
    /// No.
    #[default]
    Never,
    /// Only if a second call would do no harm, or the plan or the options ask for more than one attempt: whether this one
    /// happened is unknown. A call that needed an approval is not sent again.
    Uncertain,
    /// Yes, after the usual pause: the call did not happen.
    Again,
    /// Yes, but not before this time has passed.
    After(Duration),
}

impl ToolError {
    /// A failure of `kind` that another attempt would not mend.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: Value::Null,
            retry: RetryAdvice::Never,
        }
    }

    /// The tool's own failure.
    pub fn tool(message: impl Into<String>, data: Value) -> Self {
        Self {
            data,
            ..Self::new(ErrorKind::Tool, message)
        }
    }

    /// A failure on the way to the tool: the call did not happen, and another attempt may mend it.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry: RetryAdvice::Again,
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// A call that was sent and has no answer that can be read, such as when the connection is lost: it may have happened.
    pub fn lost(message: impl Into<String>) -> Self {
        Self {
            retry: RetryAdvice::Uncertain,
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// Adds what else is known.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Whether another attempt may help.
    pub fn is_retryable(&self) -> bool {
        self.retry != RetryAdvice::Never
    }

    /// The tool's own code where it gave one, else the kind.
    pub fn code(&self) -> Value {
        match self.data.get("code") {
            Some(code) if !code.is_null() => code.clone(),
            _ => Value::from(self.kind.as_str()),
        }
    }

    /// The failure as a value: `{"code", "message"}`.
    pub fn as_value(&self) -> Value {
        Value::object([
            ("code", self.code()),
            ("message", Value::from(self.message.as_str())),
        ])
    }
}

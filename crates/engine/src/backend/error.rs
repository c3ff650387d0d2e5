//! Errors of tool calls and steps, with retry advice.

use std::time::Duration;

use planwright_core::Value;
use serde::Serialize;

/// The error of an attempt or of a step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The category of the failure.
    pub kind: ErrorKind,
    /// The tool's message, or one clause of the engine's own.
    pub message: String,
    /// Further data: a code, the tool's structured content. `null` if there is none.
    pub data: Value,
    /// The advice on another attempt.
    pub retry: RetryAdvice,
}

/// The kinds of failure, as reports name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The tool reported an error.
    Tool,
    /// A time limit was exceeded.
    Timeout,
    /// The server is not available, the connection was lost, or the response cannot be read.
    Unavailable,
    /// A resolved argument does not match the tool's schema.
    Arguments,
    /// A reference has no value.
    Reference,
    /// A person rejected the call.
    Approval,
    /// The policy forbids the call.
    Policy,
    /// A budget is exhausted.
    Budget,
    /// An internal defect.
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

/// Advice on another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Another attempt does not help.
    #[default]
    Never,
    /// The call may have happened. It is retried only if a second call does no harm, or the plan or the options ask
    /// for several attempts. A call that needed an approval is not sent again.
    Uncertain,
    /// The call did not happen; it may be retried after the usual pause.
    Again,
    /// The call did not happen; it may be retried after this time at the earliest.
    After(Duration),
}

impl ToolError {
    /// Creates an error of `kind` that is not retried.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: Value::Null,
            retry: RetryAdvice::Never,
        }
    }

    /// Creates an error that the tool itself reported.
    pub fn tool(message: impl Into<String>, data: Value) -> Self {
        Self {
            data,
            ..Self::new(ErrorKind::Tool, message)
        }
    }

    /// Creates an error of the connection to the tool: the call did not happen and may be retried.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self {
            retry: RetryAdvice::Again,
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// Creates an error for a call that was sent but has no readable response, for example after a lost connection: it
    /// may have happened.
    pub fn lost(message: impl Into<String>) -> Self {
        Self {
            retry: RetryAdvice::Uncertain,
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// Sets the further data.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Returns true if another attempt may help.
    pub fn is_retryable(&self) -> bool {
        self.retry != RetryAdvice::Never
    }

    /// The tool's own error code if it gave one, otherwise the kind.
    pub fn code(&self) -> Value {
        match self.data.get("code") {
            Some(code) if !code.is_null() => code.clone(),
            _ => Value::from(self.kind.as_str()),
        }
    }

    /// The error as a value: `{"code", "message"}`.
    pub fn as_value(&self) -> Value {
        Value::object([
            ("code", self.code()),
            ("message", Value::from(self.message.as_str())),
        ])
    }
}

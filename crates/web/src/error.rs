//! Errors as responses: `{"error": {"message", "help"}}` with a status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use planwright::service::Error;
use planwright::store::StoreError;
use planwright::stored::{PassphraseError, StoredRunError};
use serde_json::json;

use crate::tools::ToolsError;

/// An error of a request.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    help: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            help: None,
        }
    }

    /// The request is invalid.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The subject does not exist, or belongs to another client.
    pub(crate) fn missing(what: &str, name: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            format!("there is no {what} `{name}`"),
        )
    }

    /// The subject has changed since it was shown.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// A response cannot be written as JSON.
    pub(crate) fn unwritable(error: &serde_json::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }

    /// A page cannot follow a run any more.
    pub(crate) fn behind() -> Self {
        let message = "the run cannot be followed any more";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({"error": {"message": self.message, "help": self.help}});
        (self.status, Json(body)).into_response()
    }
}

/// Runs `work`, which waits for the disk, on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the request was cancelled: {error}"),
        )),
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::Missing { .. } | StoreError::Ambiguous { .. } => StatusCode::NOT_FOUND,
            StoreError::BadName { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            StoreError::Leased { .. }
            | StoreError::ClientBusy { .. }
            | StoreError::Exists { .. }
            | StoreError::Removed { .. }
            | StoreError::Superseded { .. }
            | StoreError::Decided { .. }
            | StoreError::PlanApproved { .. }
            | StoreError::Idle { .. }
            | StoreError::ChangedSecret { .. }
            | StoreError::ToolChanged { .. } => StatusCode::CONFLICT,
            StoreError::File { .. } | StoreError::Format(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let is_leased = matches!(error, StoreError::Leased { .. });
        let error = Self::new(status, error.to_string());
        if is_leased {
            error.help("wait until it ends, or stop that process")
        } else {
            error
        }
    }
}

impl From<PassphraseError> for ApiError {
    fn from(error: PassphraseError) -> Self {
        match error {
            PassphraseError::Store(error) => error.into(),
            PassphraseError::Required | PassphraseError::Wrong => {
                Self::new(StatusCode::FORBIDDEN, error.to_string())
            }
            PassphraseError::TooShort
            | PassphraseError::Damaged(_)
            | PassphraseError::Unhashable(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
            }
        }
    }
}

impl From<StoredRunError> for ApiError {
    fn from(error: StoredRunError) -> Self {
        let message = error.to_string();
        match error {
            StoredRunError::Store(error) => error.into(),
            StoredRunError::Passphrase(error) => error.into(),
            StoredRunError::Unreadable(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
                .help("use the version of the program that wrote it"),
            StoredRunError::UnknownStep {
                near: Some(near), ..
            } => Self::bad(message).help(format!("did you mean `{near}`?")),
            StoredRunError::Hidden(_) => Self::conflict(message)
                .help("resume it on the command line, which takes `--var NAME=VALUE`"),
            StoredRunError::WrongOutput { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
            }
            StoredRunError::NoDialect
            | StoredRunError::Outdated
            | StoredRunError::Unsound
            | StoredRunError::OtherPlan
            | StoredRunError::NotShown { .. }
            | StoredRunError::UnknownDialect(_)
            | StoredRunError::Unwritable(_)
            | StoredRunError::Unfinished
            | StoredRunError::DrivenBy(_)
            | StoredRunError::NotStale(_)
            | StoredRunError::Reverted(_)
            | StoredRunError::IsRevert(_)
            | StoredRunError::RevertWaits(_)
            | StoredRunError::Superseded(_)
            | StoredRunError::NotStored
            | StoredRunError::NoCall(_)
            | StoredRunError::Doubt { .. }
            | StoredRunError::ServerRuns { .. }
            | StoredRunError::Done(_)
            | StoredRunError::Ended
            | StoredRunError::UnknownStep { near: None, .. }
            | StoredRunError::AmbiguousStep { .. }
            | StoredRunError::Twice(_) => Self::conflict(message),
        }
    }
}

impl From<ToolsError> for ApiError {
    fn from(error: ToolsError) -> Self {
        Self {
            help: error.help,
            ..Self::conflict(error.message)
        }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::StoredRun(error) => error.into(),
            Error::Rejected(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
            Error::InProgress(_) | Error::OtherTools(_) | Error::OtherPlan => {
                Self::conflict(error.to_string())
            }
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

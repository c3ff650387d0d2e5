//! The client of the ingress and of the admin interface of Restate.

use std::sync::Once;
use std::time::Duration;

use planwright_engine::RunId;
use reqwest::{Method, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::request::RunRequestV1;
use crate::services::{RUNS, RunResultV1};

/// The pause before a request that did not reach Restate is made again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The reason why Restate did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum RestateError {
    /// The address cannot be used.
    #[error("`{0}` is not an address such as `http://localhost:8080`")]
    Address(String),
    /// Restate cannot be reached.
    #[error("Restate cannot be reached at `{address}`: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// Restate has refused the request.
    #[error("Restate has refused the request ({status}): {message}")]
    Refused {
        /// The status of the response.
        status: u16,
        /// The message of Restate, or of the workflow.
        message: String,
    },
    /// The response cannot be read.
    #[error("the response of Restate cannot be read: {0}")]
    Unreadable(String),
}

impl RestateError {
    /// Returns true if the run has failed, and not only the request about it.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// The answer to a submitted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The run begins.
    Accepted,
    /// Restate has a run with this id already.
    Existing,
}

/// A client of the ingress or of the admin interface of Restate.
#[derive(Clone, Debug)]
pub struct RestateClient {
    http: reqwest::Client,
    address: Url,
}

impl RestateClient {
    /// Creates a client for `address`.
    ///
    /// # Errors
    ///
    /// If that is no address.
    pub fn new(address: &str) -> Result<Self, RestateError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Fails if the program has installed one already, which is used then.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let invalid = || RestateError::Address(address.to_owned());
        let mut url: Url = address.parse().map_err(|_| invalid())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid());
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        let http = reqwest::Client::builder().build().map_err(|_| invalid())?;
        Ok(Self { http, address: url })
    }

    /// Submits a run. A run with the same id is not begun twice.
    ///
    /// # Errors
    ///
    /// If Restate cannot be reached or refuses the request; the run may have begun if the connection was lost.
    pub async fn submit(
        &self,
        run: &RunId,
        request: &RunRequestV1,
    ) -> Result<Submission, RestateError> {
        let path = format!("{RUNS}/{run}/run/send");
        let (status, body) = self.send(Method::POST, &path, Some(request)).await?;
        if status == StatusCode::CONFLICT || body.contains("PreviouslyAccepted") {
            return Ok(Submission::Existing);
        }
        checked(status, body).map(|_| Submission::Accepted)
    }

    /// Waits for the end of a run.
    ///
    /// # Errors
    ///
    /// [`RestateError::Refused`] if the workflow has failed, for example because the plan has errors with the tools of the worker.
    pub async fn attach(&self, run: &RunId) -> Result<RunResultV1, RestateError> {
        let path = format!("restate/workflow/{RUNS}/{run}/attach");
        loop {
            match self.send(Method::GET, &path, None::<&()>).await {
                Ok((status, body)) if !is_temporary(status) => {
                    return read(&checked(status, body)?);
                }
                // The run continues, whatever happens to this connection.
                Ok(_) | Err(RestateError::Unreachable { .. }) => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Completes an awakeable of a workflow. It is repeated until Restate can be reached.
    pub(crate) async fn resolve(&self, awakeable: &str, value: &impl Serialize) {
        let path = format!("restate/awakeables/{awakeable}/resolve");
        loop {
            let error = match self.send(Method::POST, &path, Some(value)).await {
                Ok((status, _)) if status.is_success() => return,
                Ok((status, body)) if !is_temporary(status) => {
                    // It was completed before, or the workflow has ended.
                    return tracing::debug!(%status, body, "a decision was not needed");
                }
                Ok((status, body)) => format!("{status}: {body}"),
                Err(error) => error.to_string(),
            };
            tracing::warn!(error, "a decision did not reach Restate; trying again");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Registers the worker at `worker` with the admin interface.
    ///
    /// # Errors
    ///
    /// If the interface cannot be reached, or Restate cannot reach the worker.
    pub async fn register(&self, worker: &str) -> Result<(), RestateError> {
        let deployment = serde_json::json!({"uri": worker, "force": true});
        let (status, body) = self
            .send(Method::POST, "deployments", Some(&deployment))
            .await?;
        checked(status, body).map(drop)
    }

    async fn send<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<(StatusCode, String), RestateError> {
        let unreachable = |error: reqwest::Error| RestateError::Unreachable {
            address: self.address.to_string(),
            reason: innermost(&error),
        };
        let url = self
            .address
            .join(path)
            .map_err(|_| RestateError::Address(path.to_owned()))?;
        let mut request = self.http.request(method, url);
        if let Some(body) = body {
            let json = serde_json::to_vec(body)
                .map_err(|error| RestateError::Unreadable(error.to_string()))?;
            request = request
                .header("content-type", "application/json")
                .body(json);
        }
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        Ok((status, response.text().await.map_err(unreachable)?))
    }
}

/// Returns true if the same request may succeed later.
fn is_temporary(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
    )
}

fn checked(status: StatusCode, body: String) -> Result<String, RestateError> {
    if status.is_success() {
        return Ok(body);
    }
    let message = serde_json::from_str(&body)
        .ok()
        .and_then(|json: serde_json::Value| Some(json.get("message")?.as_str()?.to_owned()));
    Err(RestateError::Refused {
        status: status.as_u16(),
        message: message.unwrap_or(body),
    })
}

fn read<T: DeserializeOwned>(body: &str) -> Result<T, RestateError> {
    serde_json::from_str(body).map_err(|error| RestateError::Unreadable(error.to_string()))
}

/// Returns the message of the cause of an error, which says more than the error itself.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

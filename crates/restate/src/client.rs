//! The client of the ingress and of the admin interface of Restate.

use std::fmt;
use std::sync::{Arc, Once};
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
        /// True if Restate may have received the request: the connection was lost after it was sent.
        is_sent: bool,
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

/// The answer to a submitted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The run begins.
    Accepted,
    /// Restate has a run with this id already.
    Existing,
}

/// A notice of a client that waits for Restate.
#[derive(Clone, Copy, Debug)]
pub enum WaitNotice<'a> {
    /// Restate does not answer. The client tries again until it does.
    Lost(&'a RestateError),
    /// Restate answers again.
    Back,
}

/// The receiver of notices about waits.
type OnWait = Arc<dyn Fn(WaitNotice<'_>) + Send + Sync>;

/// A client of the ingress or of the admin interface of Restate.
#[derive(Clone)]
pub struct RestateClient {
    http: reqwest::Client,
    address: Url,
    on_wait: OnWait,
}

impl fmt::Debug for RestateClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestateClient")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl RestateClient {
    /// Creates a client for `address`.
    ///
    /// # Errors
    ///
    /// If that is not an address.
    pub fn new(address: &str) -> Result<Self, RestateError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Fails if the program has installed one already, which is used instead.
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
        let on_wait = Arc::new(|_: WaitNotice<'_>| {});
        Ok(Self {
            http,
            address: url,
            on_wait,
        })
    }

    /// Returns the client with a function that gets a notice when a wait for Restate begins, and when it ends.
    pub fn with_notices(self, on_wait: impl Fn(WaitNotice<'_>) + Send + Sync + 'static) -> Self {
        Self {
            on_wait: Arc::new(on_wait),
            ..self
        }
    }

    /// Submits a run. A run with the same id is not begun twice, so the request is repeated if its connection was lost: the run may have begun.
    ///
    /// # Errors
    ///
    /// If Restate cannot be reached or refuses the request.
    pub async fn submit(
        &self,
        run: &RunId,
        request: &RunRequestV1,
    ) -> Result<Submission, RestateError> {
        let path = format!("{RUNS}/{run}/run/send");
        let (status, body) = match self.send(Method::POST, &path, Some(request)).await {
            Err(RestateError::Unreachable { is_sent: true, .. }) => {
                self.send_until_answered(Method::POST, &path, Some(request))
                    .await?
            }
            sent => sent?,
        };
        if status == StatusCode::CONFLICT || body.contains("PreviouslyAccepted") {
            return Ok(Submission::Existing);
        }
        checked(status, body).map(|_| Submission::Accepted)
    }

    /// Waits for the end of a run, also while Restate cannot be reached: the run continues, whatever happens to the connection.
    ///
    /// # Errors
    ///
    /// [`RestateError::Refused`] if the workflow has failed, for example because the plan has errors with the tools of the worker.
    pub async fn attach(&self, run: &RunId) -> Result<RunResultV1, RestateError> {
        let path = format!("restate/workflow/{RUNS}/{run}/attach");
        let (status, body) = self
            .send_until_answered(Method::GET, &path, None::<&()>)
            .await?;
        read(&checked(status, body)?)
    }

    /// Repeats a request as long as there is no answer, or one that says to try again.
    async fn send_until_answered<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<(StatusCode, String), RestateError> {
        let mut is_waiting = false;
        loop {
            let error = match self.send(method.clone(), path, body).await {
                Ok((status, body)) if is_temporary(status) => RestateError::Refused {
                    status: status.as_u16(),
                    message: body,
                },
                Err(error @ RestateError::Unreachable { .. }) => error,
                answered => {
                    if is_waiting {
                        (self.on_wait)(WaitNotice::Back);
                    }
                    return answered;
                }
            };
            if !std::mem::replace(&mut is_waiting, true) {
                (self.on_wait)(WaitNotice::Lost(&error));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
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
            is_sent: !error.is_connect(),
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

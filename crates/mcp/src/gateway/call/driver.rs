//! Drives a call until it has a result or must be suspended.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ErrorData, ServerNotification};
use rmcp::service::{OriginatingRequestId, RequestContext, ServiceError};
use tokio::sync::{mpsc, oneshot};

use super::channel::{Question, Word};
use super::suspended::{Rest, Subject, random_state};
use super::translate;
use crate::gateway::client::Client;
use crate::gateway::host::SuspendedCall;
use crate::gateway::state::Shared;
use crate::gateway::transport::sessions::ended;
use crate::session::caller::UpstreamError;

/// The time to wait for further questions before a result asks them together, because several steps of a plan often
/// need a person at the same time.
const GATHERING: Duration = Duration::from_millis(20);

/// A call in flight.
pub(in crate::gateway) struct Work {
    future: BoxFuture<'static, Result<Value, UpstreamError>>,
    words: mpsc::UnboundedReceiver<Word>,
    open: BTreeMap<String, Question>,
    asked: u64,
    /// The request that the call answers.
    request: Subject,
    /// The name of the work, by which the host can continue it in another process.
    bound: Option<String>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("open", &self.open.keys())
            .finish_non_exhaustive()
    }
}

type Answer = (
    oneshot::Sender<Result<Value, UpstreamError>>,
    Result<Value, UpstreamError>,
);

impl Work {
    /// Creates a call that answers `request` and sends its messages to `words`.
    pub(in crate::gateway) fn new(
        request: Subject,
        future: BoxFuture<'static, Result<Value, UpstreamError>>,
        words: mpsc::UnboundedReceiver<Word>,
    ) -> Self {
        Self {
            future,
            words,
            open: BTreeMap::new(),
            asked: 0,
            request,
            bound: None,
        }
    }

    /// Delivers the client's responses to the open questions.
    pub(in crate::gateway) fn answer(&mut self, responses: Value) {
        for (key, response) in responses.as_object().into_iter().flatten() {
            if let Some(question) = self.open.remove(&**key) {
                // The call may have stopped waiting for this answer.
                let _ = question.answer.send(Ok(response.clone()));
            }
        }
    }

    /// Drives the call until it has a result, or questions that only a result can ask. The call is dropped and thereby
    /// cancelled when the client cancels it or its session ends.
    pub(in crate::gateway) async fn conduct(
        mut self,
        client: &Client,
        shared: &Shared,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let mut asking = FuturesUnordered::<BoxFuture<'static, Answer>>::new();
        let gathering = tokio::time::sleep(GATHERING);
        tokio::pin!(gathering);
        let end = ended(context);
        tokio::pin!(end);
        let result = loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                () = &mut end => {
                    return Err(ErrorData::internal_error("the session has ended", None));
                }
                Some(word) = self.words.recv() => match word {
                    Word::Note { method, params } => note(context, client, method, params).await,
                    Word::Bound(work) => self.bound = Some(work),
                    Word::Question(question) if !client.can_answer(&question.method) => {
                        let error = UpstreamError::new(
                            UpstreamError::UNKNOWN_METHOD,
                            format!("the client has no answer to `{}`", question.method),
                        );
                        // As below.
                        let _ = question.answer.send(Err(error));
                    }
                    Word::Question(question) if client.is_asked_directly() => {
                        asking.push(Box::pin(ask(context.clone(), question)));
                    }
                    Word::Question(question) => {
                        self.asked += 1;
                        self.open.insert(format!("question-{}", self.asked), question);
                        gathering.as_mut().reset(tokio::time::Instant::now() + GATHERING);
                    }
                },
                Some((to, answer)) = asking.next(), if !asking.is_empty() => {
                    // As above.
                    let _ = to.send(answer);
                }
                result = &mut self.future => break result,
                () = &mut gathering, if !self.open.is_empty() => return self.suspend(client, shared),
            }
        };
        while let Ok(word) = self.words.try_recv() {
            if let Word::Note { method, params } = word {
                note(context, client, method, params).await;
            }
        }
        let result = result?;
        let kind = result.get("resultType").and_then(Value::as_text);
        if kind == Some("input_required") {
            return self.suspend_upstream(client, shared, &result);
        }
        Ok(translate::result(result, client))
    }

    /// Suspends the call at the input requests of an upstream server. The server's own state is replaced, so that it is
    /// used once, with the same request, by the same client. Without a state, the server needs none.
    fn suspend_upstream(
        self,
        client: &Client,
        shared: &Shared,
        result: &Value,
    ) -> Result<Value, ErrorData> {
        let theirs = result.get("requestState").cloned();
        // If consent was requested, the next round needs a state, so that it is not requested again.
        if theirs.is_none() && self.asked == 0 {
            return Ok(result.clone());
        }
        let state = random_state();
        if !shared.suspended.put(
            &state,
            client.id.clone(),
            self.request,
            Rest::Upstream(theirs),
        ) {
            return Err(too_many());
        }
        let mut fields = result.as_object().cloned().unwrap_or_default();
        fields.insert("requestState".into(), Value::from(state));
        Ok(Value::from(fields))
    }

    /// Suspends the call at its open questions, and returns a result that requests the answers.
    fn suspend(self, client: &Client, shared: &Shared) -> Result<Value, ErrorData> {
        let requests = self.open.iter().map(|(key, question)| {
            let request = [
                ("method", Value::from(question.method.as_str())),
                ("params", question.params.clone()),
            ];
            (key.as_str(), Value::object(request))
        });
        let requests = Value::object(requests);
        let state = self.bound.as_deref().and_then(|work| {
            let subjects = self.open.iter();
            shared.host.request_state(&SuspendedCall {
                client: &client.id,
                name: &self.request.name,
                arguments: &self.request.arguments,
                work,
                questions: subjects
                    .map(|(key, question)| (key.as_str(), question.subject.as_deref()))
                    .collect(),
            })
        });
        let state = state.unwrap_or_else(random_state);
        let (request, rest) = (self.request.clone(), Rest::Work(self));
        if !shared
            .suspended
            .put(&state, client.id.clone(), request, rest)
        {
            return Err(too_many());
        }
        Ok(Value::object([
            ("resultType", Value::from("input_required")),
            ("inputRequests", requests),
            ("requestState", Value::from(state)),
        ]))
    }
}

fn too_many() -> ErrorData {
    ErrorData::internal_error("too many calls of this client wait for answers", None)
}

/// Sends a notification in the form of the client's revision.
async fn note(
    context: &RequestContext<RoleServer>,
    client: &Client,
    method: String,
    params: Value,
) {
    // Since 2026-07-28 each request states whether its client wants logs.
    if method == "notifications/message"
        && !client.is_asked_directly()
        && context.meta.log_level().is_none()
    {
        return;
    }
    let mut params = serde_json::Value::from(params);
    if method == "notifications/progress" {
        // A resumed call serves another request, which has its own token.
        let (token, fields) = (context.meta.get_progress_token(), params.as_object_mut());
        let (Some(token), Some(fields)) = (token, fields) else {
            return;
        };
        fields.insert("progressToken".to_owned(), serde_json::json!(token));
    }
    let notification = serde_json::json!({"method": method, "params": params});
    match serde_json::from_value::<ServerNotification>(notification) {
        // The reader of the connection notices that a client is gone.
        Ok(notification) => drop(context.peer.send_notification(notification).await),
        Err(error) => tracing::debug!(%error, "a notification was left out that is none"),
    }
}

/// Sends a question as a request to the client.
async fn ask(context: RequestContext<RoleServer>, question: Question) -> Answer {
    let Question {
        method,
        params,
        answer,
        ..
    } = question;
    // The types of `rmcp` would not serialize all of it unchanged.
    let mut request = CustomRequest::new(method, Some(params.into()));
    // Over HTTP the request belongs on the stream of the call that it relates to.
    request
        .extensions
        .insert(OriginatingRequestId(context.id.clone()));
    let response = match context.peer.send_request(request.into()).await {
        Ok(response) => match serde_json::to_value(response) {
            Ok(response) => Ok(Value::from(response)),
            Err(error) => Err(UpstreamError::new(
                UpstreamError::UNAVAILABLE,
                error.to_string(),
            )),
        },
        Err(ServiceError::McpError(error)) => Err(error.into()),
        Err(error) => Err(UpstreamError::new(
            UpstreamError::UNAVAILABLE,
            format!("the client could not be asked: {error}"),
        )),
    };
    (answer, response)
}

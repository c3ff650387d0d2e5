//! Goes on with a call until there is something to answer.

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

use super::client::Client;
use super::line::{Question, Word};
use super::parked::Parked;
use super::translate;
use crate::client::UpstreamError;

/// How long further questions are waited for before the first is asked by a result: several steps of a plan often need
/// a person at the same time.
const GATHERING: Duration = Duration::from_millis(20);

/// A call under way.
pub(super) struct Work {
    future: BoxFuture<'static, Result<Value, UpstreamError>>,
    words: mpsc::UnboundedReceiver<Word>,
    open: BTreeMap<String, Question>,
    asked: u64,
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
    /// A call that says its words into a line whose other end is `words`.
    pub(super) fn new(
        future: BoxFuture<'static, Result<Value, UpstreamError>>,
        words: mpsc::UnboundedReceiver<Word>,
    ) -> Self {
        Self {
            future,
            words,
            open: BTreeMap::new(),
            asked: 0,
        }
    }

    /// Hands out the answers that a client has come back with.
    pub(super) fn answer(&mut self, responses: Value) {
        for (key, response) in responses.as_object().into_iter().flatten() {
            if let Some(question) = self.open.remove(&**key) {
                // Who does not wait any more has gone on without.
                let _ = question.answer.send(Ok(response.clone()));
            }
        }
    }

    /// Goes on until there is a result, or questions that only a result can ask. The call is dropped, and with it
    /// cancelled, as soon as the client gives it up.
    pub(super) async fn conduct(
        mut self,
        client: &Client,
        parked: &Parked,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let mut asking = FuturesUnordered::<BoxFuture<'static, Answer>>::new();
        let gathering = tokio::time::sleep(GATHERING);
        tokio::pin!(gathering);
        let result = loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                Some(word) = self.words.recv() => match word {
                    Word::Note { method, params } => note(context, client, method, params).await,
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
                () = &mut gathering, if !self.open.is_empty() => return self.park(client, parked),
            }
        };
        while let Ok(word) = self.words.try_recv() {
            if let Word::Note { method, params } = word {
                note(context, client, method, params).await;
            }
        }
        result
            .map(|result| translate::result(result, client))
            .map_err(ErrorData::from)
    }

    /// Puts the call aside, and says what is needed to go on with it.
    fn park(self, client: &Client, parked: &Parked) -> Result<Value, ErrorData> {
        let requests = self.open.iter().map(|(key, question)| {
            let request = [
                ("method", Value::from(question.method.as_str())),
                ("params", question.params.clone()),
            ];
            (key.as_str(), Value::object(request))
        });
        let requests = Value::object(requests);
        let Some(state) = parked.put(client.id.clone(), self) else {
            return Err(ErrorData::internal_error(
                "too many calls of this client wait for answers",
                None,
            ));
        };
        Ok(Value::object([
            ("resultType", Value::from("input_required")),
            ("inputRequests", requests),
            ("requestState", Value::from(state)),
        ]))
    }
}

/// Tells the client something, in the form of its revision.
async fn note(
    context: &RequestContext<RoleServer>,
    client: &Client,
    method: String,
    params: Value,
) {
    // Since 2026-07-28 a client that wants logs says so in each request.
    if method == "notifications/message"
        && !client.is_asked_directly()
        && context.meta.log_level().is_none()
    {
        return;
    }
    let mut params = serde_json::Value::from(params);
    if method == "notifications/progress" {
        // A call that was put aside goes on for another request, which has a token of its own.
        let (token, fields) = (context.meta.get_progress_token(), params.as_object_mut());
        let (Some(token), Some(fields)) = (token, fields) else {
            return;
        };
        fields.insert("progressToken".to_owned(), serde_json::json!(token));
    }
    let notification = serde_json::json!({"method": method, "params": params});
    match serde_json::from_value::<ServerNotification>(notification) {
        // A client that is gone will be noticed by the one who reads from it.
        Ok(notification) => drop(context.peer.send_notification(notification).await),
        Err(error) => tracing::debug!(%error, "a notification was left out that is none"),
    }
}

/// Asks the client by a request of our own.
async fn ask(context: RequestContext<RoleServer>, question: Question) -> Answer {
    let Question {
        method,
        params,
        answer,
    } = question;
    // The types of `rmcp` would write some of it in another way.
    let mut request = CustomRequest::new(method, Some(params.into()));
    // Over HTTP it belongs on the stream of the call that it is about.
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

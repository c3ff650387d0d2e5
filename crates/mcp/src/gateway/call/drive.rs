//! Drives a call until it has a result or must be suspended.

use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ErrorData, ServerNotification};
use rmcp::service::{OriginatingRequestId, RequestContext, ServiceError};
use tokio::sync::oneshot;

use super::InFlightCall;
use crate::gateway::call_queue::{CallMessage, ClientQuestion};
use crate::gateway::client::GatewayClient;
use crate::gateway::results;
use crate::gateway::state::{GatewayState, SuspendedCall};
use crate::gateway::suspended::{Continuation, random_state};
use crate::gateway::transport::sessions::wait_for_end;
use crate::session::error::UpstreamError;

/// The time to wait for further questions before a result asks all of them, because several steps of a plan often need a person at the
/// same time.
const QUESTION_BATCH_DELAY: Duration = Duration::from_millis(20);

type AnswerDelivery = (
    oneshot::Sender<Result<Value, UpstreamError>>,
    Result<Value, UpstreamError>,
);

impl InFlightCall {
    /// Drives the call to its result. If the client's revision has no requests from the server, the call is suspended at its first
    /// questions, and the result asks them. The call is dropped and thereby cancelled when the client cancels it or its session ends.
    pub(crate) async fn drive(
        mut self,
        client: &GatewayClient,
        gateway: &GatewayState,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let mut asking = FuturesUnordered::<BoxFuture<'static, AnswerDelivery>>::new();
        let batch_delay = tokio::time::sleep(QUESTION_BATCH_DELAY);
        tokio::pin!(batch_delay);
        let end = wait_for_end(context);
        tokio::pin!(end);
        let result = loop {
            tokio::select! {
                // A cancellation comes first, and notifications come before the result that they lead up to.
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                () = &mut end => {
                    return Err(ErrorData::internal_error("the session has ended", None));
                }
                message = self.messages.recv() => match message {
                    CallMessage::Notification { method, params } => send_notification(context, client, method, params).await,
                    CallMessage::Bound(work) => self.work_name = Some(work),
                    CallMessage::Question(question) if !client.supports_request(&question.method) => {
                        let error = UpstreamError::new(
                            UpstreamError::UNKNOWN_METHOD,
                            format!("the client does not support `{}`", question.method),
                        );
                        // The call may have stopped waiting for this answer.
                        let _ = question.answer.send(Err(error));
                    }
                    CallMessage::Question(question) if client.receives_requests() => {
                        // The call continues during the request, and may send more.
                        asking.push(Box::pin(send_question(context.clone(), question)));
                    }
                    CallMessage::Question(question) => {
                        self.question_count += 1;
                        self.questions.insert(format!("question-{}", self.question_count), question);
                        batch_delay.as_mut().reset(tokio::time::Instant::now() + QUESTION_BATCH_DELAY);
                    }
                },
                Some((to, answer)) = asking.next(), if !asking.is_empty() => {
                    let _ = to.send(answer);
                }
                result = &mut self.future => break result,
                () = &mut batch_delay, if !self.questions.is_empty() => return self.suspend(client, gateway),
            }
        };
        // Notifications that were sent before the result must arrive before it.
        while let Some(message) = self.messages.try_recv() {
            if let CallMessage::Notification { method, params } = message {
                send_notification(context, client, method, params).await;
            }
        }
        let result = result?;
        let kind = result.get("resultType").and_then(Value::as_text);
        if kind == Some("input_required") {
            return self.suspend_upstream(client, gateway, &result);
        }
        Ok(results::convert_result(result, client))
    }

    /// Suspends the call because an upstream server requests input. The server's state is replaced by one that is valid once,
    /// for the same request of the same client. If the server has sent no state, the result has none.
    fn suspend_upstream(
        self,
        client: &GatewayClient,
        gateway: &GatewayState,
        result: &Value,
    ) -> Result<Value, ErrorData> {
        let server_state = result.get("requestState").cloned();
        // If consent was requested, the next round needs a state, so that it is not requested again.
        if server_state.is_none() && self.question_count == 0 {
            return Ok(result.clone());
        }
        let state = random_state();
        if !gateway.suspended.put(
            &state,
            client.id.clone(),
            self.request,
            Continuation::Upstream(server_state),
        ) {
            return Err(too_many_suspended_calls());
        }
        let mut fields = result.as_object().cloned().unwrap_or_default();
        fields.insert("requestState".into(), Value::from(state));
        Ok(Value::from(fields))
    }

    /// Suspends the call at its open questions, and returns a result that requests the answers.
    fn suspend(self, client: &GatewayClient, gateway: &GatewayState) -> Result<Value, ErrorData> {
        let requests = self.questions.iter().map(|(key, question)| {
            let request = [
                ("method", Value::from(question.method.as_str())),
                ("params", question.params.clone()),
            ];
            (key.as_str(), Value::object(request))
        });
        let requests = Value::object(requests);
        let state = self.work_name.as_deref().and_then(|work| {
            let questions = self.questions.iter();
            gateway.host.request_state(&SuspendedCall {
                client: &client.id,
                name: &self.request.name,
                arguments: &self.request.arguments,
                work,
                questions: questions
                    .map(|(key, question)| (key.as_str(), question.subject.as_deref()))
                    .collect(),
            })
        });
        // Without a state of the host, the call can only be resumed in this process.
        let state = state.unwrap_or_else(random_state);
        let (request, continuation) = (self.request.clone(), Continuation::Call(self));
        if !gateway
            .suspended
            .put(&state, client.id.clone(), request, continuation)
        {
            return Err(too_many_suspended_calls());
        }
        Ok(Value::object([
            ("resultType", Value::from("input_required")),
            ("inputRequests", requests),
            ("requestState", Value::from(state)),
        ]))
    }
}

fn too_many_suspended_calls() -> ErrorData {
    ErrorData::internal_error("too many calls of this client wait for answers", None)
}

/// Sends a notification in the form of the client's revision.
async fn send_notification(
    context: &RequestContext<RoleServer>,
    client: &GatewayClient,
    method: String,
    params: Value,
) {
    // Since 2026-07-28 each request states whether its client wants logs.
    if method == "notifications/message"
        && !client.receives_requests()
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
        Err(error) => tracing::debug!(%error, "an invalid notification was ignored"),
    }
}

async fn send_question(
    context: RequestContext<RoleServer>,
    question: ClientQuestion,
) -> AnswerDelivery {
    let ClientQuestion {
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

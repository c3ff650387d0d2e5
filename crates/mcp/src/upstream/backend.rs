//! Tool backends of the engine that call a server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, try_join_all};
use planwright_core::{Object, Value};
use planwright_engine::backend::{
    ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput,
};

use super::entry::{Upstream, UsedUpstream};
use super::server::Server;
use crate::object::{with, without};
use crate::session::caller::{Caller, UpstreamClient};
use crate::session::error::UpstreamError;
use crate::session::open_session::Session;
use crate::session::router::RequestError;
use crate::session::server_requests::ServerRequestHandler;

/// The `_meta` field that carries the idempotency key of a call.
const IDEMPOTENCY_KEY: &str = "planwright/idempotency-key";

/// The maximum number of rounds in which a server requests input or postpones a call.
const MAX_ROUNDS: u32 = 10;

/// The initial pause before a postponed call is sent again; it doubles with each round.
const INITIAL_PAUSE: Duration = Duration::from_millis(20);

const MAX_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct ServerBackend {
    server: Arc<Server>,
    caller: Option<Arc<dyn Caller>>,
}

impl ServerBackend {
    /// Creates a backend whose calls are made for `caller`, which receives the server's requests and notifications.
    pub(crate) fn new(server: Arc<Server>, caller: Option<Arc<dyn Caller>>) -> Self {
        Self { server, caller }
    }

    /// Repeats the call until the result is complete. The caller answers input requests in between.
    async fn call_until_complete(
        &self,
        session: &Session,
        call: &ToolCall,
    ) -> Result<Value, ToolError> {
        let mut params = call_params(call)?;
        let mut pause = INITIAL_PAUSE;
        for _ in 0..MAX_ROUNDS {
            let result = self.send_once(session, call, &params).await?;
            match result_kind(&result, session.server_info.is_stateless) {
                ResultKind::Complete => return self.complete(result),
                ResultKind::InputRequired => {}
                ResultKind::Unknown(kind) => {
                    return Err(self.server.lost_error(format!(
                        "the server `{}` answered with a result of the kind `{kind}`, which was not requested",
                        self.server.config.name
                    )));
                }
            }
            let caller = self.caller.as_ref();
            // The time that a person takes does not count towards the timeout.
            let pause_of_clock = call.clock.pause();
            let responses = send_input_requests(&result, &session.server_requests, caller).await?;
            drop(pause_of_clock);
            // Each round carries only the latest responses and state.
            params = without(&params, &["inputResponses", "requestState"]);
            if responses.is_empty() {
                // Without requests, the server has postponed the call.
                tokio::time::sleep(pause).await;
                pause = MAX_PAUSE.min(pause * 2);
            } else {
                params = with(&params, "inputResponses", responses.into());
            }
            if let Some(state) = result.get("requestState") {
                params = with(&params, "requestState", state.clone());
            }
        }
        let message = format!("the tool asked for more input {MAX_ROUNDS} times");
        Err(ToolError {
            // The server received the call in every round and may have done a part of it.
            retry: RetryAdvice::Uncertain,
            ..ToolError::tool(message, Value::Null)
        })
    }

    /// Sends the call once. Progress restarts the clock of the call, requests to people pause it.
    async fn send_once(
        &self,
        session: &Session,
        call: &ToolCall,
        params: &Value,
    ) -> Result<Value, ToolError> {
        call.clock.restart();
        let (caller, clock) = (self.caller.as_ref(), Some(&call.clock));
        let request = session.request("tools/call", params, caller, clock);
        let silence = self.server.silence();
        call.clock.explain_silence(silence.clone());
        let response = match self.server.config.timeout {
            None => request.await,
            Some(limit) => tokio::select! {
                response = request => response,
                () = call.clock.exceeds(limit) => {
                    let reason = silence().map_or_else(String::new, |reason| format!(": {reason}"));
                    let message = format!("`{}` took longer than {limit:?}{reason}", call.tool.name);
                    return Err(ToolError {
                        // The server may still carry out the call.
                        retry: RetryAdvice::Uncertain,
                        ..ToolError::new(ErrorKind::Timeout, message)
                    });
                }
            },
        };
        match response {
            Ok(result) => Ok(result),
            Err(error) => Err(self.failure(session, error).await),
        }
    }

    fn complete(&self, result: Value) -> Result<Value, ToolError> {
        if result.as_object().is_some() {
            return Ok(result);
        }
        Err(self.server.lost_error(format!(
            "the server `{}` answered with a {} instead of the result of a tool",
            self.server.config.name,
            result.kind()
        )))
    }

    /// Converts a failed request for the engine:
    ///
    /// | cause | kind | carried out? |
    /// | --- | --- | --- |
    /// | error -32602 | arguments | no |
    /// | error about a timeout, a cancellation or a lost connection | tool | unknown |
    /// | any other error | tool | no |
    /// | request not sent, or refused before it was carried out | transport | no |
    /// | unreadable response | transport | unknown |
    /// | connection lost before the response | transport | unknown |
    ///
    /// The engine retries a call on its own only if it was not carried out.
    async fn failure(&self, session: &Session, error: RequestError) -> ToolError {
        match error {
            RequestError::Refused(error) => rejection(error),
            RequestError::Unreadable(reason) => self
                .server
                .lost_error(self.server.unreadable_message(&reason)),
            RequestError::Unsent(reason) => self.server.unsent_error(&reason),
            RequestError::Lost(reason) => self.server.no_answer_error(session, reason).await,
        }
    }
}

enum ResultKind {
    Complete,
    InputRequired,
    /// A kind that this client does not support: the call may be running or done.
    Unknown(String),
}

/// Returns the kind of a result. A server may request input by a result only if its revision supports that
/// (`asks_by_results`), and only if it requests anything, because each further round repeats the call.
fn result_kind(result: &Value, asks_by_results: bool) -> ResultKind {
    match result.get("resultType") {
        None | Some(Value::Null) => ResultKind::Complete,
        Some(Value::Text(kind)) if &**kind == "complete" => ResultKind::Complete,
        Some(Value::Text(kind))
            if &**kind == "input_required" && asks_by_results && requests_input(result) =>
        {
            ResultKind::InputRequired
        }
        Some(Value::Text(kind)) => ResultKind::Unknown(kind.to_string()),
        Some(other) => ResultKind::Unknown(other.to_json()),
    }
}

/// Returns true if a result of the kind `input_required` has requests or a state to send back.
pub(crate) fn requests_input(result: &Value) -> bool {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    requests.is_some_and(|requests| !requests.is_empty())
        || result
            .get("requestState")
            .and_then(Value::as_text)
            .is_some()
}

impl ToolBackend for ServerBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let session = self.server.session().await?;
            let result = self.call_until_complete(&session, &call).await?;
            self.server.record_success();
            ToolOutput::from_call_result(&result)
        })
    }
}

fn call_params(call: &ToolCall) -> Result<Value, ToolError> {
    if call.args.as_object().is_none() {
        let message = format!(
            "the arguments of `{}` must be an object, not a {}",
            call.tool.name,
            call.args.kind()
        );
        return Err(ToolError::new(ErrorKind::Arguments, message));
    }
    let key = Value::Text(call.context.idempotency_key());
    Ok(Value::object([
        ("name", Value::Text(Arc::clone(&call.tool.name))),
        ("arguments", call.args.clone()),
        ("_meta", Value::object([(IDEMPOTENCY_KEY, key)])),
    ]))
}

fn rejection(error: UpstreamError) -> ToolError {
    let (kind, retry) = match error.code {
        UpstreamError::INVALID => (ErrorKind::Arguments, RetryAdvice::Never),
        _ if error.is_uncertain() => (ErrorKind::Tool, RetryAdvice::Uncertain),
        _ => (ErrorKind::Tool, RetryAdvice::Never),
    };
    let mut data = vec![("code", Value::from(error.code))];
    if let Some(more) = error.data {
        data.push(("data", more));
    }
    ToolError {
        retry,
        ..ToolError::new(kind, error.message).with_data(Value::object(data))
    }
}

/// Sends the input requests of `result` to the caller, concurrently, and returns the responses. Without a caller, an
/// elicitation is cancelled, and any other request fails.
async fn send_input_requests(
    result: &Value,
    server_requests: &ServerRequestHandler,
    caller: Option<&Arc<dyn Caller>>,
) -> Result<Object, ToolError> {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    let responses = requests.into_iter().flatten().map(async |(key, request)| {
        let method = request.get("method").and_then(Value::as_text);
        let method = method.unwrap_or("something unknown");
        let params = request.get("params").cloned().unwrap_or_default();
        let response = match caller {
            Some(caller) if server_requests.supports(method) => {
                caller.ask(method, params.clone()).await.ok()
            }
            _ => None,
        };
        match response {
            Some(response) => Ok((Arc::clone(key), response)),
            // MCP defines a way not to answer for elicitations only.
            None if method == "elicitation/create" => {
                Ok((Arc::clone(key), server_requests.cancel_elicitation(&params)))
            }
            None => {
                let message = format!("the tool asks for `{method}`, which is not offered");
                Err(ToolError::tool(message, Value::Null))
            }
        }
    });
    Ok(try_join_all(responses).await?.into_iter().collect())
}

#[derive(Debug)]
pub(super) struct UpstreamBackend {
    // Keeps the observer of the server alive, because the server itself does not.
    upstream: UsedUpstream,
    client: Arc<OnceLock<UpstreamClient>>,
    caller: Option<Arc<dyn Caller>>,
}

impl UpstreamBackend {
    pub(crate) fn new(
        upstream: Arc<Upstream>,
        client: Arc<OnceLock<UpstreamClient>>,
        caller: Option<Arc<dyn Caller>>,
    ) -> Self {
        Self {
            upstream: UsedUpstream::new(upstream),
            client,
            caller,
        }
    }
}

impl ToolBackend for UpstreamBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let server = self.upstream.server_for(&self.client, self.caller.as_ref());
            let backend = ServerBackend::new(server.await?, self.caller.clone());
            backend.call(call).await
        })
    }
}

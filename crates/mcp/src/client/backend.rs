//! Calls of the engine, sent to a server.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_engine::backend::{
    ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput,
};

use super::caller::{Caller, UpstreamError};
use super::inputs;
use super::mailbox::RequestError;
use super::object::{with, without};
use super::server::Server;
use super::session::Session;

/// The `_meta` field that carries the idempotency key of a call.
const IDEMPOTENCY_KEY: &str = "planwright/idempotency-key";

/// How often one call may be asked for more input, or be put off by the server.
const ROUND_LIMIT: u32 = 10;

/// The first pause before a call that was put off is sent again; it doubles from round to round.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Calls the tools of one server.
#[derive(Debug)]
pub(super) struct ServerBackend {
    server: Arc<Server>,
    caller: Option<Arc<dyn Caller>>,
}

impl ServerBackend {
    /// What the server asks or tells while a call is under way goes to `caller`.
    pub(super) fn new(server: Arc<Server>, caller: Option<Arc<dyn Caller>>) -> Self {
        Self { server, caller }
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let session = self.server.session().await?;
        let result = self.exchange(&session, &call).await?;
        self.server.has_worked();
        ToolOutput::from_call_result(&result)
    }

    /// Sends the call until there is a result. What the server wants to know in between the caller is asked.
    async fn exchange(&self, session: &Session, call: &ToolCall) -> Result<Value, ToolError> {
        let mut params = params(call)?;
        let mut pause = FIRST_PAUSE;
        for _ in 0..ROUND_LIMIT {
            let result = self.send(session, call, &params).await?;
            match result.get("resultType").and_then(Value::as_text) {
                None | Some("complete") => return self.complete(result),
                Some("input_required") => {}
                Some(other) => {
                    let message = format!(
                        "the server `{}` answered with a result of the kind `{other}`, which was not asked for",
                        self.server.config.name
                    );
                    return Err(ToolError::tool(message, Value::Null));
                }
            }
            let caller = self.caller.as_ref();
            let responses = inputs::answer(&result, &session.desk, caller).await?;
            params = without(&params, &["inputResponses", "requestState"]);
            if responses.is_empty() {
                tokio::time::sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            } else {
                params = with(&params, "inputResponses", responses.into());
            }
            if let Some(state) = result.get("requestState") {
                params = with(&params, "requestState", state.clone());
            }
        }
        let message = format!("the tool asked for more input {ROUND_LIMIT} times");
        Err(ToolError::tool(message, Value::Null))
    }

    /// Sends the call once. The server's own limit is about its work, not about people who are asked in between.
    async fn send(
        &self,
        session: &Session,
        call: &ToolCall,
        params: &Value,
    ) -> Result<Value, ToolError> {
        let request = session.request("tools/call", params, self.caller.as_ref());
        let answer = match self.server.config.timeout {
            None => request.await,
            Some(limit) => match tokio::time::timeout(limit, request).await {
                Ok(answer) => answer,
                Err(_) => {
                    let message = format!("`{}` took longer than {limit:?}", call.tool.name);
                    return Err(ToolError {
                        retry: RetryAdvice::Again,
                        ..ToolError::new(ErrorKind::Timeout, message)
                    });
                }
            },
        };
        match answer {
            Ok(result) => Ok(result),
            Err(error) => Err(self.failure(session, error).await),
        }
    }

    fn complete(&self, result: Value) -> Result<Value, ToolError> {
        if result.as_object().is_some() {
            return Ok(result);
        }
        let message = format!(
            "the server `{}` answered with a {} where a tool's result was due",
            self.server.config.name,
            result.kind()
        );
        Err(ToolError::tool(message, Value::Null))
    }

    /// What a failed request means to a plan:
    /// a refusal for its parameters (-32602) is a failure of the arguments, any other refusal the tool's own,
    /// a request that did not arrive a failure on the way, which another attempt may mend, and a lost connection one of
    /// which nobody knows what has been done.
    async fn failure(&self, session: &Session, error: RequestError) -> ToolError {
        match error {
            RequestError::Refused(error) => refusal(error),
            RequestError::Unreadable(reason) => {
                ToolError::tool(self.server.unreadable(&reason), Value::Null)
            }
            RequestError::Unsent(reason) => self.server.unsent(&reason),
            RequestError::Lost(reason) => self.server.silence(session, reason).await,
        }
    }
}

impl ToolBackend for ServerBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(call))
    }
}

/// The call as a server takes it.
fn params(call: &ToolCall) -> Result<Value, ToolError> {
    if call.args.as_object().is_none() {
        let message = format!(
            "the arguments of `{}` must be an object, not a {}",
            call.tool.name,
            call.args.kind()
        );
        return Err(ToolError::new(ErrorKind::Arguments, message));
    }
    let key = Value::Text(Arc::clone(&call.idempotency_key));
    Ok(Value::object([
        ("name", Value::Text(Arc::clone(&call.tool.name))),
        ("arguments", call.args.clone()),
        ("_meta", Value::object([(IDEMPOTENCY_KEY, key)])),
    ]))
}

fn refusal(error: UpstreamError) -> ToolError {
    let kind = match error.code {
        UpstreamError::INVALID => ErrorKind::Arguments,
        _ => ErrorKind::Tool,
    };
    let mut data = vec![("code", Value::from(error.code))];
    if let Some(more) = error.data {
        data.push(("data", more));
    }
    ToolError::new(kind, error.message).with_data(Value::object(data))
}

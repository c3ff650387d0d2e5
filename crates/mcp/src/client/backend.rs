//! Calls of the engine, sent to a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_engine::backend::{
    ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use rmcp::model::{CallToolRequestParams, ErrorCode, ErrorData, MetaObject};

use super::server::Server;
use super::session::{RequestError, Session, arguments};

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
}

impl ServerBackend {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server }
    }

    async fn run(&self, call: ToolCall) -> Result<ToolOutput, ToolError> {
        let session = self.server.session().await?;
        let result = match self.server.config.timeout {
            Some(limit) => tokio::time::timeout(limit, self.exchange(&session, &call))
                .await
                .unwrap_or_else(|_| {
                    let message = format!("`{}` took longer than {limit:?}", call.tool.name);
                    Err(ToolError {
                        retry: RetryAdvice::Again,
                        ..ToolError::new(ErrorKind::Timeout, message)
                    })
                }),
            None => self.exchange(&session, &call).await,
        }?;
        self.server.has_worked();
        ToolOutput::from_call_result(&result)
    }

    /// Sends the call until there is a result. Input that the server wants in between is declined.
    async fn exchange(&self, session: &Session, call: &ToolCall) -> Result<Value, ToolError> {
        let mut params = params(call)?;
        let mut pause = FIRST_PAUSE;
        for _ in 0..ROUND_LIMIT {
            let result = match session.call(params.clone()).await {
                Ok(result) => result,
                Err(error) => return Err(self.failure(session, error).await),
            };
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
            let responses = decline(&result)?;
            if responses.is_empty() {
                tokio::time::sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            params.input_responses = (!responses.is_empty()).then_some(responses);
            params.request_state = result
                .get("requestState")
                .and_then(Value::as_text)
                .map(str::to_owned);
        }
        let message = format!("the tool asked for more input {ROUND_LIMIT} times");
        Err(ToolError::tool(message, Value::Null))
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
    /// a lost connection a failure on the way, which another attempt may mend.
    async fn failure(&self, session: &Session, error: RequestError) -> ToolError {
        let name = &self.server.config.name;
        match error {
            RequestError::Refused(error) => refusal(error),
            RequestError::Unreadable(reason) => ToolError::tool(
                format!("the answer of the server `{name}` cannot be read: {reason}"),
                Value::Null,
            ),
            RequestError::Lost(reason) => {
                let reason = match reason {
                    Some(reason) => reason,
                    None => session.reason().await,
                };
                self.server
                    .unavailable(format!("the server `{name}` did not answer: {reason}"))
            }
        }
    }
}

impl ToolBackend for ServerBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(call))
    }
}

/// The call as a server takes it.
fn params(call: &ToolCall) -> Result<CallToolRequestParams, ToolError> {
    let arguments = arguments(&call.args).ok_or_else(|| {
        let message = format!(
            "the arguments of `{}` must be an object, not a {}",
            call.tool.name,
            call.args.kind()
        );
        ToolError::new(ErrorKind::Arguments, message)
    })?;
    let mut meta = MetaObject::new();
    meta.insert(
        IDEMPOTENCY_KEY.to_owned(),
        call.idempotency_key.to_string().into(),
    );
    let mut params =
        CallToolRequestParams::new(call.tool.name.to_string()).with_arguments(arguments);
    params.meta = Some(meta.into());
    Ok(params)
}

fn refusal(error: ErrorData) -> ToolError {
    let kind = match error.code {
        ErrorCode::INVALID_PARAMS => ErrorKind::Arguments,
        _ => ErrorKind::Tool,
    };
    let mut data = vec![("code", Value::from(i64::from(error.code.0)))];
    if let Some(more) = error.data {
        data.push(("data", more.into()));
    }
    ToolError::new(kind, error.message).with_data(Value::object(data))
}

/// A polite no to each question that a server asks in place of a result. Only questions to a person can be declined.
fn decline(result: &Value) -> Result<BTreeMap<String, serde_json::Value>, ToolError> {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    let mut responses = BTreeMap::new();
    for (key, request) in requests.into_iter().flatten() {
        match request.get("method").and_then(Value::as_text) {
            Some("elicitation/create") => {
                responses.insert(key.to_string(), serde_json::json!({"action": "decline"}));
            }
            other => {
                let asked = other.unwrap_or("something unknown");
                let message = format!("the tool asks for `{asked}`, which is not offered");
                return Err(ToolError::tool(message, Value::Null));
            }
        }
    }
    Ok(responses)
}

//! Requests that a server behind the gateway answers.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Object, Value};

use super::client::Client;
use crate::client::backend::asks_for_something;
use crate::client::{Caller, UpstreamError, Upstreams};

/// How often one request may be asked for more input.
const ROUND_LIMIT: usize = 10;

/// Sends a request to `server` and gives its result. What it asks for by its result, a client of an earlier revision is
/// asked by requests.
pub(super) fn pass(
    upstreams: &Upstreams,
    server: Arc<str>,
    method: &'static str,
    params: Value,
    client: Client,
    caller: Arc<dyn Caller>,
) -> BoxFuture<'static, Result<Value, UpstreamError>> {
    let upstreams = upstreams.clone();
    Box::pin(async move {
        if client.is_asked_directly() {
            return completed(&upstreams, &server, method, params, caller).await;
        }
        upstreams
            .request(&server, method, params, Some(caller))
            .await
    })
}

/// Sends a request to `server` and gives its result. What the server asks for by results of the kind `input_required`, `caller` is
/// asked.
///
/// # Errors
///
/// Those of [`Upstreams::request`], and of the caller if it does not answer.
pub async fn completed(
    upstreams: &Upstreams,
    server: &str,
    method: &str,
    params: Value,
    caller: Arc<dyn Caller>,
) -> Result<Value, UpstreamError> {
    let mut params = params;
    for _ in 0..ROUND_LIMIT {
        let asked = Arc::clone(&caller);
        let result = upstreams
            .request(server, method, params.clone(), Some(asked))
            .await?;
        let kind = result.get("resultType").and_then(Value::as_text);
        if kind != Some("input_required") {
            return Ok(result);
        }
        if !upstreams.asks_by_results(server, &caller).await || !asks_for_something(&result) {
            let message = format!(
                "the server `{server}` answered with a result of the kind `input_required`, which was not asked for, so whether the call happened is unknown"
            );
            return Err(UpstreamError::new(UpstreamError::UNAVAILABLE, message));
        }
        params = answered(params, &result, &caller).await?;
    }
    Err(UpstreamError::new(
        UpstreamError::UNAVAILABLE,
        format!("the server `{server}` asked for more input {ROUND_LIMIT} times"),
    ))
}

/// The parameters of the next round: with the client's answers to what the result asks.
async fn answered(
    params: Value,
    result: &Value,
    caller: &Arc<dyn Caller>,
) -> Result<Value, UpstreamError> {
    let mut responses = Object::default();
    let requests = result.get("inputRequests").and_then(Value::as_object);
    for (key, request) in requests.into_iter().flatten() {
        let method = request
            .get("method")
            .and_then(Value::as_text)
            .unwrap_or_default();
        let asked = request.get("params").cloned().unwrap_or_default();
        let answer = caller.ask(method, asked).await?;
        responses.insert(Arc::clone(key), answer);
    }
    let mut fields = params.as_object().cloned().unwrap_or_default();
    fields.insert("inputResponses".into(), Value::from(responses));
    match result.get("requestState") {
        Some(state) => fields.insert("requestState".into(), state.clone()),
        None => fields.shift_remove("requestState"),
    };
    Ok(Value::from(fields))
}

/// Parameters in which a name is another.
pub(super) fn renamed(params: Value, field: &str, name: &Arc<str>) -> Value {
    let mut fields = params.as_object().cloned().unwrap_or_default();
    fields.insert(field.into(), Value::Text(Arc::clone(name)));
    Value::from(fields)
}

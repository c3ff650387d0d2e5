//! Requests that are passed to an upstream server.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Object, Value};

use crate::gateway::client::GatewayClient;
use crate::object::{with, without};
use crate::session::caller::{Caller, UpstreamError};
use crate::upstream::Upstreams;
use crate::upstream::backend::requests_input;

/// The maximum number of rounds in which a server requests input for one request.
const MAX_ROUNDS: usize = 10;

/// Sends a request to `server` and returns its result. For a client of an earlier revision, input requests in the
/// result become requests to the client.
pub(crate) fn pass_request(
    upstreams: &Upstreams,
    server: Arc<str>,
    method: &'static str,
    params: Value,
    client: GatewayClient,
    caller: Arc<dyn Caller>,
) -> BoxFuture<'static, Result<Value, UpstreamError>> {
    let upstreams = upstreams.clone();
    Box::pin(async move {
        if client.receives_requests() {
            return completed(&upstreams, &server, method, params, caller).await;
        }
        upstreams
            .request(&server, method, params, Some(caller))
            .await
    })
}

/// Sends a request to `server` and returns its complete result. `caller` answers the input requests in results of the
/// kind `input_required`.
///
/// # Errors
///
/// Returns the errors of [`Upstreams::request`], and those of the caller.
pub async fn completed(
    upstreams: &Upstreams,
    server: &str,
    method: &str,
    params: Value,
    caller: Arc<dyn Caller>,
) -> Result<Value, UpstreamError> {
    let mut params = params;
    for _ in 0..MAX_ROUNDS {
        let asked = Arc::clone(&caller);
        let result = upstreams
            .request(server, method, params.clone(), Some(asked))
            .await?;
        let kind = result.get("resultType").and_then(Value::as_text);
        if kind != Some("input_required") {
            return Ok(result);
        }
        // A repeated call may have a second effect, so only a valid input request leads to one.
        if !upstreams.asks_by_results(server, &caller).await || !requests_input(&result) {
            let message = format!(
                "the server `{server}` answered with a result of the kind `input_required`, which was not asked for, so whether the call happened is unknown"
            );
            return Err(UpstreamError::new(UpstreamError::UNAVAILABLE, message));
        }
        params = with_responses(params, &result, &caller).await?;
    }
    Err(UpstreamError::new(
        UpstreamError::UNAVAILABLE,
        format!("the server `{server}` asked for more input {MAX_ROUNDS} times"),
    ))
}

/// Returns the parameters of the next round, with the client's responses to the input requests.
async fn with_responses(
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
    let params = with(&params, "inputResponses", Value::from(responses));
    Ok(match result.get("requestState") {
        Some(state) => with(&params, "requestState", state.clone()),
        None => without(&params, &["requestState"]),
    })
}

//! Requests of clients that are passed to an upstream server.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Object, ServerName, Value};
use rmcp::model::ErrorData;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::gateway_handler::{Context, GatewayHandler};
use crate::gateway::call::{CallChannel, InFlightCall, RequestKey};
use crate::gateway::client::GatewayClient;
use crate::gateway::listing::{AmbiguousName, Offer};
use crate::gateway::results::{self, PlaceholderResult, deliver};
use crate::gateway::suspended::Continuation;
use crate::object::{with, without};
use crate::session::caller::Caller;
use crate::session::error::UpstreamError;
use crate::upstream::Upstreams;
use crate::upstream::server::requests_input;

/// The maximum number of rounds in which a server requests input for one request.
const MAX_ROUNDS: usize = 10;

/// Sends a request to `server` and returns its result. For a client of an earlier revision, input requests in the
/// result become requests to the client.
pub(crate) fn pass_request(
    upstreams: &Upstreams,
    server: ServerName,
    method: &'static str,
    params: Value,
    client: GatewayClient,
    caller: Arc<dyn Caller>,
) -> BoxFuture<'static, Result<Value, UpstreamError>> {
    let upstreams = upstreams.clone();
    Box::pin(async move {
        // A client of an earlier revision cannot answer a result of the kind `input_required`, so it gets requests
        // instead.
        if client.receives_requests() {
            return request_until_complete(&upstreams, &server, method, params, caller).await;
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
pub async fn request_until_complete(
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
                "the server `{server}` answered with a result of the kind `input_required`, which was not requested, so whether the call happened is unknown"
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
        let params = request.get("params").cloned().unwrap_or_default();
        let answer = caller.ask(method, params).await?;
        responses.insert(Arc::clone(key), answer);
    }
    let params = with(&params, "inputResponses", Value::from(responses));
    // A state belongs to one round: without a new one, the earlier one must not be sent again.
    Ok(match result.get("requestState") {
        Some(state) => with(&params, "requestState", state.clone()),
        None => without(&params, &["requestState"]),
    })
}

/// The `_meta` field of a list with the names of starting servers.
const STARTING_FIELD: &str = "planwright/starting";

impl GatewayHandler {
    /// Drives the call that `start` creates for `request` until it has a result or is suspended.
    pub(super) async fn drive(
        &self,
        client: &GatewayClient,
        context: &Context,
        request: RequestKey,
        start: impl FnOnce(Arc<dyn Caller>) -> BoxFuture<'static, Result<Value, UpstreamError>>,
    ) -> Result<Value, ErrorData> {
        let (channel, messages) = CallChannel::new(client, request_meta(client, context));
        InFlightCall::new(request, start(Arc::new(channel)), messages)
            .drive(client, &self.gateway, context)
            .await
    }

    /// Forwards a request to its server, either the first time or with the state of an earlier round.
    pub(super) async fn forward_or_resume(
        &self,
        client: &GatewayClient,
        context: &Context,
        (request, params): (RequestKey, Value),
    ) -> Result<Value, ErrorData> {
        let (request, params) = match params.get("requestState") {
            // Without a state, this is the first round.
            None | Some(Value::Null) => (request, params),
            Some(state) => match self.take_suspended(client, &request, state.as_text())? {
                (_, Continuation::Call(work)) => {
                    let answers = params.get("inputResponses").cloned().unwrap_or_default();
                    return self.resume(client, context, work, answers).await;
                }
                (first, Continuation::Upstream(state)) => (first, with_state(&params, state)),
            },
        };
        self.forward(client, context, request, params).await
    }

    /// Takes the suspended call that a client returns to with `state`.
    pub(super) fn take_suspended(
        &self,
        client: &GatewayClient,
        request: &RequestKey,
        state: Option<&str>,
    ) -> Result<(RequestKey, Continuation), ErrorData> {
        let suspended = &self.gateway.suspended;
        let taken = state.and_then(|state| suspended.take(&client.id, request, state));
        // An unknown state and one of another client get the same error, so a client cannot probe for states of
        // others.
        taken.ok_or_else(|| UpstreamError::unknown_state().into())
    }

    pub(super) async fn resume(
        &self,
        client: &GatewayClient,
        context: &Context,
        mut work: InFlightCall,
        answers: Value,
    ) -> Result<Value, ErrorData> {
        work.answer(answers);
        work.drive(client, &self.gateway, context).await
    }

    /// Forwards a request for a text to its server.
    pub(super) async fn forward(
        &self,
        client: &GatewayClient,
        context: &Context,
        request: RequestKey,
        params: Value,
    ) -> Result<Value, ErrorData> {
        let (upstreams, asker) = (self.gateway.upstreams.clone(), client.clone());
        let (host, reader) = (Arc::clone(&self.gateway.host), client.clone());
        let method = request.method;
        // Only a valid state could have supplied the missing server.
        let Some(server) = request.server.clone() else {
            return Err(UpstreamError::unknown_state().into());
        };
        self.drive(client, context, request, |caller| {
            Box::pin(async move {
                let result = pass_request(&upstreams, server, method, params, asker, caller).await;
                host.note_text(&reader);
                result
            })
        })
        .await
    }

    /// Delivers a list with all entries in `field` on one page. Its `_meta` names the servers whose entries are missing
    /// because they are still starting.
    pub(super) fn list<T: PlaceholderResult>(
        &self,
        client: &GatewayClient,
        context: &Context,
        field: &str,
        entries: Vec<Value>,
    ) -> Result<T, ErrorData> {
        let mut fields = vec![(field, Value::from(entries))];
        let starting: Vec<Value> = self
            .starting_servers()
            .into_iter()
            .map(|server| Value::Text(server.into()))
            .collect();
        if !starting.is_empty() {
            fields.push((
                "_meta",
                Value::object([(STARTING_FIELD, Value::from(starting))]),
            ));
        }
        let result = Value::object(fields);
        let result = results::with_cache_fields(results::convert_result(result, client), client);
        deliver(context, result)
    }

    /// Returns the servers in passthrough mode that were never ready.
    fn starting_servers(&self) -> Vec<ServerName> {
        if !self.gateway.passes_through() {
            return Vec::new();
        }
        let view = self.gateway.upstreams.view();
        view.starting().cloned().collect()
    }

    /// Returns the offer that was found by a name, or an error for the client.
    pub(super) fn resolve_offer<T>(
        &self,
        found: Option<Result<Offer<T>, AmbiguousName>>,
        what: &str,
        name: &str,
    ) -> Result<Offer<T>, ErrorData> {
        let found = found.ok_or_else(|| {
            let starting = self.starting_servers().into_iter();
            let starting =
                starting.map(|server| format!("; the server `{server}` is still starting"));
            format!("unknown {what} `{name}`{}", starting.collect::<String>())
        });
        let offer = found.and_then(|found| found.map_err(|ambiguous| ambiguous.to_string()));
        offer.map_err(|message| ErrorData::invalid_params(message, None))
    }
}

/// Returns parameters with the server's own `name` of an offer.
pub(super) fn with_name(params: &Value, name: &Arc<str>) -> Value {
    with(params, "name", Value::Text(Arc::clone(name)))
}

/// Returns the parameters of a further round at a server, with the server's own state, if any.
pub(super) fn with_state(params: &Value, state: Option<Value>) -> Value {
    match state {
        Some(state) => with(params, "requestState", state),
        None => without(params, &["requestState"]),
    }
}

/// Returns the `_meta` of requests for the client: its trace, its log level and its capabilities.
fn request_meta(client: &GatewayClient, context: &Context) -> Value {
    let meta = &context.meta;
    let texts = [
        ("traceparent", meta.get_traceparent()),
        ("tracestate", meta.get_tracestate()),
        ("baggage", meta.get_baggage()),
    ];
    let mut fields: Vec<(&str, Value)> = texts
        .into_iter()
        .filter_map(|(name, value)| Some((name, Value::from(value?))))
        .collect();
    if let Some(level) = meta.log_level()
        && let Ok(level) = write(&level)
    {
        fields.push(("io.modelcontextprotocol/logLevel", level));
    }
    // Since 2026-07-28 each request declares the capabilities of its client; there is no handshake.
    let capabilities = (
        "io.modelcontextprotocol/clientCapabilities",
        client.request_capabilities(),
    );
    fields.push(capabilities);
    Value::object(fields)
}

/// Returns the parameters of a request, with the client's `_meta` entries for the server. Entries about the connection
/// to the gateway are removed.
pub(super) fn params(request: &impl Serialize, context: &Context) -> Result<Value, ErrorData> {
    let whole = write(request)?;
    let mut fields = whole.as_object().cloned().unwrap_or_default();
    let meta = write(&context.meta)?;
    let passed = meta.as_object().into_iter().flatten();
    let passed: Object = passed
        // These entries describe the client's connection to the gateway; a session adds its own.
        .filter(|(key, _)| !key.starts_with("io.modelcontextprotocol/"))
        .map(|(key, value)| (Arc::clone(key), value.clone()))
        .collect();
    if passed.is_empty() {
        fields.shift_remove("_meta");
    } else {
        fields.insert("_meta".into(), Value::from(passed));
    }
    Ok(Value::from(fields))
}

pub(super) fn write(value: &impl Serialize) -> Result<Value, ErrorData> {
    match serde_json::to_value(value) {
        Ok(value) => Ok(value.into()),
        Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
    }
}

pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value.into())
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

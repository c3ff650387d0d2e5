//! Tools of the host and of servers.

use std::sync::Arc;

use planwright_core::{Object, Tool, Value};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData, ListToolsResult};

use super::forwarding::{params, with_name, with_state, write};
use super::service::{Context, GatewayHandler};
use crate::gateway::call::results::deliver;
use crate::gateway::call::suspended::{Continuation, RequestKey};
use crate::gateway::client::GatewayClient;
use crate::gateway::handler::forwarding::pass_request;
use crate::gateway::host::HostCall;
use crate::gateway::listing::{Offer, OfferListing};
use crate::object::with;
use crate::session::caller::UpstreamError;

impl GatewayHandler {
    pub(super) async fn tools(&self, context: Context) -> Result<ListToolsResult, ErrorData> {
        let client = GatewayClient::of(&context);
        // The definitions of the host's tools mention those of servers, so the servers come first.
        let listing = self.listing(&client).await;
        let host = Arc::clone(&self.gateway.host);
        let mut entries = host.tools(client.clone()).await;
        if self.gateway.passes_through() {
            let host = &self.gateway.host;
            let allowed = listing.tools.iter().filter(|offer| {
                // A tool that the client must not call, or that a tool of the host shadows, is not listed.
                host.allows(&client, &offer.item).is_ok()
                    && !host.owns(&client, offer.client_name())
            });
            entries.extend(allowed.map(|offer| offer.entry.clone()));
        }
        self.list(&client, &context, "tools", entries)
    }

    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = GatewayClient::of(&context);
        let name = request.name.to_string();
        let result = if self.gateway.host.owns(&client, &name) {
            self.call_own(&client, &context, request).await?
        } else {
            let tool = |listing: &OfferListing| listing.tool(&name);
            let found = self.gateway.find(&client, tool).await;
            let offer = self.resolve_offer(found, "tool", &name)?;
            self.gateway.host.allows(&client, &offer.item)?;
            self.call_offered(&client, &context, request, offer).await?
        };
        deliver(&context, result)
    }

    /// Calls one of the host's own tools, or resumes such a call.
    async fn call_own(
        &self,
        client: &GatewayClient,
        context: &Context,
        request: CallToolRequestParams,
    ) -> Result<Value, ErrorData> {
        let name = request.name.to_string();
        let arguments = request.arguments.unwrap_or_default();
        let arguments = Value::from(serde_json::Value::Object(arguments));
        let key = RequestKey::new("tools/call", &name, Some(&arguments));
        let answers = match &request.input_responses {
            Some(answers) => Some(write(answers)?),
            None => None,
        };
        let continued = match (request.request_state, answers) {
            (None, None) => None,
            // Without its state, a further round would execute everything again.
            (None, Some(_)) => return Err(UpstreamError::unknown_state().into()),
            (Some(state), answers) => {
                let answers = answers.unwrap_or_else(Value::empty_object);
                match self.take_suspended(client, &key, Some(&state)) {
                    Ok((_, Continuation::Call(work))) => {
                        return self.resume(client, context, work, answers).await;
                    }
                    // The host may have stored the call in an earlier process.
                    Ok((_, Continuation::Upstream(_))) | Err(_) => Some((state, answers)),
                }
            }
        };
        self.gateway.start(client);
        let (host, caller_of) = (Arc::clone(&self.gateway.host), client.clone());
        let progress_token = match context.meta.get_progress_token() {
            Some(token) => Some(write(&token)?),
            None => None,
        };
        self.drive(client, context, key, |caller| {
            let call = HostCall {
                name,
                arguments,
                client: caller_of,
                caller,
                progress_token,
            };
            match continued {
                Some((state, answers)) => host.continue_call(call, state, answers),
                None => host.call(call),
            }
        })
        .await
    }

    /// Calls a tool of a server, or resumes such a call.
    async fn call_offered(
        &self,
        client: &GatewayClient,
        context: &Context,
        request: CallToolRequestParams,
        offer: Offer<Tool>,
    ) -> Result<Value, ErrorData> {
        let params = with_name(&params(&request, context)?, &offer.name);
        let key = RequestKey::new("tools/call", &request.name, params.get("arguments"));
        let key = key.at(&offer.server);
        let (key, params, is_agreed) = match &request.request_state {
            None => (key, params, false),
            Some(state) => match self.take_suspended(client, &key, Some(state))? {
                (_, Continuation::Call(work)) => {
                    let answers = write(&request.input_responses.unwrap_or_default())?;
                    return self.resume(client, context, work, answers).await;
                }
                // Consent was given for the arguments of the first round.
                (first, Continuation::Upstream(state)) => {
                    let params = with_state(&with_arguments(params, &first.arguments), state);
                    (first, params, true)
                }
            },
        };
        let arguments = key.arguments.clone();
        let (host, asker) = (Arc::clone(&self.gateway.host), client.clone());
        let upstreams = self.gateway.upstreams.clone();
        self.drive(client, context, key, |caller| {
            Box::pin(async move {
                let (consent_caller, tool) = (Arc::clone(&caller), offer.item);
                if !is_agreed {
                    Arc::clone(&host)
                        .consent(asker.clone(), tool.clone(), arguments, consent_caller)
                        .await?;
                }
                let server = offer.server;
                let client = asker.clone();
                let result =
                    pass_request(&upstreams, server, "tools/call", params, asker, caller).await?;
                host.answered(&client, &tool, &result);
                Ok(result)
            })
        })
        .await
    }
}

/// Returns parameters with these arguments, unless both are empty.
fn with_arguments(params: Value, arguments: &Value) -> Value {
    let is_empty = arguments.as_object().is_none_or(Object::is_empty);
    if is_empty && params.get("arguments").is_none() {
        return params;
    }
    with(&params, "arguments", arguments.clone())
}

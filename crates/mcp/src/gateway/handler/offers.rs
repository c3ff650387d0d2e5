//! Requests about the tools of the host and of servers, and about the resources and prompts of servers.

use std::sync::Arc;

use planwright_core::{Object, Tool, Value};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ReadResourceRequestParams,
    ReadResourceResponse,
};
use tokio::time::Instant;

use super::forwarding::{params, pass_request, with_name, with_state, write};
use super::gateway_handler::{Context, GatewayHandler};
use crate::gateway::call::RequestKey;
use crate::gateway::client::GatewayClient;
use crate::gateway::listing::{Offer, OfferListing};
use crate::gateway::results::{self, deliver};
use crate::gateway::state::HostCall;
use crate::gateway::suspended::Continuation;
use crate::object::with;
use crate::session::error::UpstreamError;
use crate::upstream::ResourceSubscription;

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
            self.call_host_tool(&client, &context, request).await?
        } else {
            let host = &self.gateway.host;
            // A tool that is unknown to the client is neither found nor named, and is waited for like any other unknown name.
            let tool = |listing: &OfferListing| match listing.tool(&name)? {
                Ok(offer) => host.knows(&client, &offer.item).then_some(Ok(offer)),
                Err(mut ambiguous) => {
                    ambiguous.names.retain(|one| match listing.tool(one) {
                        Some(Ok(offer)) => host.knows(&client, &offer.item),
                        Some(Err(_)) | None => true,
                    });
                    (!ambiguous.names.is_empty()).then_some(Err(ambiguous))
                }
            };
            let found = self.gateway.find(&client, tool).await;
            let offer = self.resolve_offer(found, "tool", &name)?;
            self.gateway.host.allows(&client, &offer.item)?;
            self.call_server_tool(&client, &context, request, offer)
                .await?
        };
        deliver(&context, result)
    }

    /// Calls one of the host's own tools, or resumes such a call.
    async fn call_host_tool(
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
            // Without the state, a further round would repeat all calls.
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
    async fn call_server_tool(
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
                        .consent(
                            asker.clone(),
                            tool.clone(),
                            arguments.clone(),
                            consent_caller,
                        )
                        .await?;
                }
                let server = offer.server;
                let client = asker.clone();
                let began = Instant::now();
                let result =
                    pass_request(&upstreams, server, "tools/call", params, asker, caller).await;
                host.note_result(&client, &tool, &arguments, began.elapsed(), &result);
                result
            })
        })
        .await
    }
}

impl GatewayHandler {
    pub(super) async fn resources(
        &self,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let client = GatewayClient::of(&context);
        let mut entries = Arc::clone(&self.gateway.host)
            .resources(client.clone())
            .await;
        if self.gateway.passes_through() {
            let listing = self.listing(&client).await;
            entries.extend(listing.resources.iter().cloned());
        }
        self.list(&client, &context, "resources", entries)
    }

    pub(super) async fn templates(
        &self,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let client = GatewayClient::of(&context);
        let mut entries = Vec::new();
        if self.gateway.passes_through() {
            let listing = self.listing(&client).await;
            entries.extend(listing.resource_templates.iter().cloned());
        }
        self.list(&client, &context, "resourceTemplates", entries)
    }

    pub(super) async fn read(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let client = GatewayClient::of(&context);
        let host = Arc::clone(&self.gateway.host);
        let address = request.uri.clone();
        let result = match host.read(client.clone(), address.clone()).await {
            Some(own) => results::convert_result(own?, &client),
            None if self.gateway.passes_through() => {
                let params = params(&request, &context)?;
                self.read_anywhere(&client, &context, &address, params)
                    .await?
            }
            None => return Err(not_found(&address)),
        };
        // A result that requests input has no contents and is not cacheable.
        let result = match result.get("contents") {
            Some(_) => results::with_cache_fields(result, &client),
            None => result,
        };
        deliver(&context, result)
    }

    /// Reads a resource from the server that has it.
    async fn read_anywhere(
        &self,
        client: &GatewayClient,
        context: &Context,
        address: &str,
        params: Value,
    ) -> Result<Value, ErrorData> {
        let request = RequestKey::new("resources/read", address, None);
        if params.get("requestState").is_some() {
            // A further round goes to the server that has requested the input.
            return self
                .forward_or_resume(client, context, (request, params))
                .await;
        }
        self.gateway.start(client);
        // A listed resource needs no wait for servers that are still starting.
        let servers = match self.gateway.current_listing().owner(address) {
            Some(server) => vec![server],
            None => self.listing(client).await.candidate_servers(address),
        };
        let mut last = not_found(address);
        for server in servers {
            let request = request.clone().at(&server);
            let read = self.forward(client, context, request, params.clone());
            match read.await {
                // Templates are only hints, so the next candidate may have the resource.
                Err(error) if is_not_found(&error) => last = error,
                other => return other,
            }
        }
        Err(last)
    }

    /// Subscribes to a resource at the most likely server that accepts it.
    pub(super) async fn subscribe_to(&self, address: &str) -> Vec<ResourceSubscription> {
        if !self.gateway.passes_through() {
            return Vec::new();
        }
        for server in self.gateway.current_listing().candidate_servers(address) {
            match self.gateway.upstreams.subscribe(&server, address).await {
                Ok(subscription) => return vec![subscription],
                Err(error) => {
                    tracing::debug!(server = &*server, %error, "a server rejected a subscription");
                }
            }
        }
        Vec::new()
    }
}

impl GatewayHandler {
    pub(super) async fn prompts(&self, context: Context) -> Result<ListPromptsResult, ErrorData> {
        let client = GatewayClient::of(&context);
        let mut entries = Vec::new();
        if self.gateway.passes_through() {
            let listing = self.listing(&client).await;
            entries.extend(listing.prompts.iter().map(|offer| offer.entry.clone()));
        }
        self.list(&client, &context, "prompts", entries)
    }

    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let client = GatewayClient::of(&context);
        let name = request.name.clone();
        let prompt = |listing: &OfferListing| listing.prompt(&name);
        let found = self.gateway.find(&client, prompt).await;
        let offer = self.resolve_offer(found, "prompt", &name)?;
        let params = with_name(&params(&request, &context)?, &offer.name);
        let request = RequestKey::new("prompts/get", &name, params.get("arguments"));
        let request = request.at(&offer.server);
        let result = self
            .forward_or_resume(&client, &context, (request, params))
            .await?;
        deliver(&context, result)
    }

    pub(super) async fn completion(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let client = GatewayClient::of(&context);
        let whole = params(&request, &context)?;
        let subject = whole.get("ref").cloned().unwrap_or_default();
        // MCP refers to a prompt by its name, and to a resource template by its URI.
        let field = |name: &str| subject.get(name).and_then(Value::as_text);
        let found = match (field("name"), field("uri")) {
            (Some(name), _) => {
                let prompt = |listing: &OfferListing| listing.prompt(name);
                let found = self.gateway.find(&client, prompt).await;
                found.and_then(Result::ok).map(|offer| {
                    // The client knows the prompt by a name of the gateway, the server by its own.
                    let subject = with_name(&subject, &offer.name);
                    (offer.server, with(&whole, "ref", subject))
                })
            }
            (None, Some(address)) => {
                let server =
                    |listing: &OfferListing| listing.candidate_servers(address).into_iter().next();
                let server = self.gateway.find(&client, server).await;
                server.map(|server| (server, whole.clone()))
            }
            (None, None) => None,
        };
        let Some((server, params)) = found else {
            return Err(ErrorData::invalid_params(
                "no prompt or resource template has this name",
                None,
            ));
        };
        let request = RequestKey::new("completion/complete", "", None).at(&server);
        let result = self.forward(&client, &context, request, params).await?;
        deliver(&context, result)
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

fn not_found(address: &str) -> ErrorData {
    ErrorData::resource_not_found(
        format!("there is no resource `{address}`"),
        Some(serde_json::json!({"uri": address})),
    )
}

/// Returns true if an error means that a resource does not exist, for which revisions use different codes.
fn is_not_found(error: &ErrorData) -> bool {
    matches!(
        error.code,
        ErrorCode::RESOURCE_NOT_FOUND | ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND
    )
}

//! Requests about the resources and prompts of upstream servers.

use std::sync::Arc;

use planwright_core::Value;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceRequestParams, ReadResourceResponse,
};

use super::forwarding::{params, with_name};
use super::service::{Context, GatewayHandler};
use crate::gateway::call::results;
use crate::gateway::call::results::deliver;
use crate::gateway::call::suspended::RequestKey;
use crate::gateway::client::GatewayClient;
use crate::gateway::listing::OfferListing;
use crate::object::with;
use crate::upstream::ResourceSubscription;

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
            Some(own) => results::result(own?, &client),
            None if self.gateway.passes_through() => {
                let params = params(&request, &context)?;
                self.read_anywhere(&client, &context, &address, params)
                    .await?
            }
            None => return Err(not_found(&address)),
        };
        // A result that requests input has no contents and is not cacheable.
        let result = match result.get("contents") {
            Some(_) => results::cacheable(result, &client),
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
        let servers = match self.gateway.current().owner(address) {
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
        for server in self.gateway.current().candidate_servers(address) {
            match self.gateway.upstreams.subscribe(&server, address).await {
                Ok(subscription) => return vec![subscription],
                Err(error) => {
                    tracing::debug!(server = &*server, %error, "a server took no subscription");
                }
            }
        }
        Vec::new()
    }
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
                "there is nothing to complete by this name",
                None,
            ));
        };
        let request = RequestKey::new("completion/complete", "", None).at(&server);
        let result = self.forward(&client, &context, request, params).await?;
        deliver(&context, result)
    }
}

//! Prompts of servers, and completion of their arguments.

use planwright_core::Value;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
    ListPromptsResult,
};

use super::forwarding::{params, with_name};
use super::service::{Context, GatewayHandler};
use crate::gateway::call::raw_results::deliver;
use crate::gateway::call::suspended::RequestKey;
use crate::gateway::client::GatewayClient;
use crate::gateway::listing::OfferListing;
use crate::object::with;

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
        let field = |name: &str| subject.get(name).and_then(Value::as_text);
        let found = match (field("name"), field("uri")) {
            (Some(name), _) => {
                let prompt = |listing: &OfferListing| listing.prompt(name);
                let found = self.gateway.find(&client, prompt).await;
                found.and_then(Result::ok).map(|offer| {
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

//! Tools: the host's own, and those of servers.

use std::sync::Arc;

use planwright_core::Value;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData, ListToolsResult};

use super::forwarding::{params, write};
use super::{Context, Front};
use crate::gateway::client::Client;
use crate::gateway::deliver::deliver;
use crate::gateway::host::HostCall;
use crate::gateway::listing::Listing;
use crate::gateway::passing::{pass, renamed};

impl Front {
    pub(super) async fn tools(&self, context: Context) -> Result<ListToolsResult, ErrorData> {
        let client = Client::of(&context);
        self.shared.start(&client);
        let host = Arc::clone(&self.shared.host);
        let mut entries = host.tools(client.clone()).await;
        if self.shared.passes() {
            let listing = self.shared.listing(&client).await;
            let host = &self.shared.host;
            let open = listing.tools.iter().filter(|offer| {
                host.allows(&client, &offer.what).is_ok() && !host.owns(&client, offer.called())
            });
            entries.extend(open.map(|offer| offer.entry.clone()));
        }
        Self::list(&client, &context, "tools", entries)
    }

    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = Client::of(&context);
        let name = request.name.to_string();
        let state = request.request_state.clone();
        let parked = state.and_then(|state| self.shared.parked.take(&client.id, &state));
        let result = if let Some(mut work) = parked {
            let responses = request.input_responses.unwrap_or_default();
            work.answer(write(&responses)?);
            work.conduct(&client, &self.shared.parked, &context).await?
        } else if self.shared.host.owns(&client, &name) {
            self.shared.start(&client);
            let arguments = request.arguments.unwrap_or_default();
            let (host, caller_of) = (Arc::clone(&self.shared.host), client.clone());
            let progress_token = match context.meta.get_progress_token() {
                Some(token) => Some(write(&token)?),
                None => None,
            };
            self.conduct(&client, &context, |caller| {
                host.call(HostCall {
                    name,
                    arguments: Value::from(serde_json::Value::Object(arguments)),
                    client: caller_of,
                    caller,
                    progress_token,
                })
            })
            .await?
        } else {
            let tool = |listing: &Listing| listing.tool(&name).cloned();
            let found = self.shared.find(&client, tool).await;
            let offer = found.ok_or_else(|| Self::unknown("tool", &name))?;
            self.shared.host.allows(&client, &offer.what)?;
            let params = renamed(params(&request, &context)?, "name", &offer.name);
            let arguments = params.get("arguments").cloned().unwrap_or_default();
            let (host, asker) = (Arc::clone(&self.shared.host), client.clone());
            let upstreams = self.shared.upstreams.clone();
            self.conduct(&client, &context, |caller| {
                Box::pin(async move {
                    let (asked, tool) = (Arc::clone(&caller), offer.what);
                    host.consent(asker.clone(), tool, arguments, asked).await?;
                    let server = offer.server;
                    pass(&upstreams, server, "tools/call", params, asker, caller).await
                })
            })
            .await?
        };
        deliver(&context, result)
    }
}

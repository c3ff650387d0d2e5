//! The requests of one connection, or of one HTTP request, each with its handler.
#![expect(
    deprecated,
    reason = "clients of earlier revisions set a log level and subscribe by requests"
)]

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, SubscriptionContext};

use super::forwarding::{read, write};
use super::gateway_handler::{Context, GatewayHandler};
use crate::gateway::client::{self, GatewayClient};
use crate::gateway::state::{self, TaskRequest};
use crate::session::handshake::REVISIONS;

impl ServerHandler for GatewayHandler {
    fn get_info(&self) -> ServerConfig {
        state::config(&self.gateway)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(REVISIONS)
    }

    /// Returns the tool whose arguments `rmcp` compares with the headers of a request, if the tool declares headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        if !self.gateway.passes_through() {
            return None;
        }
        read(self.gateway.current_listing().tool(name)?.ok()?.entry).ok()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        // `GatewayClient::of` reads the revision and capabilities from there.
        context.peer.set_peer_info(request.clone());
        let client = GatewayClient::of(&context);
        catch_panic(self.prepare_handshake(&client)).await?;
        // `rmcp` may pass on the first list request before `on_initialized`.
        self.is_notified.store(true, Ordering::Relaxed);
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let client = GatewayClient::of(&context);
        catch_panic(self.prepare_handshake(&client)).await?;
        let revisions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(revisions, self.get_info()))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.notify_changes(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // `rmcp` acknowledges the subscription between this call and `listen`.
        self.prepare_subscription();
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let notified = async {
            self.notify_subscriber(subscription).await;
            Ok(())
        };
        catch_panic(notified).await
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        catch_panic(self.tools(context)).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        catch_panic(self.call(request, context)).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        catch_panic(self.resources(context)).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        catch_panic(self.templates(context)).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        catch_panic(self.read(request, context)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        let subscribed = async { Ok(self.subscribe_to(&request.uri).await) };
        let subscription = catch_panic(subscribed).await?;
        self.subscriptions.add(&request.uri, subscription);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        catch_panic(self.prompts(context)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        catch_panic(self.prompt(request, context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        catch_panic(self.completion(request, context)).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        catch_panic(self.pass_level(&request)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let is_older = GatewayClient::of(&context).receives_requests();
        let is_known = client::METHODS.contains(&method.as_str())
            && (is_older || !client::REMOVED_METHODS.contains(&method.as_str()));
        // `rmcp` parses a request with invalid parameters as one of an unknown method.
        Err(if is_known {
            let message = format!("invalid parameters for `{method}`");
            ErrorData::invalid_params(message, None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        let id = request.task_id;
        let result = self.task(TaskRequest::Get { id }, &context).await?;
        read(result)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let responses = write(&request.input_responses)?;
        let id = request.task_id;
        let request = TaskRequest::Update { id, responses };
        self.task(request, &context).await.map(drop)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let id = request.task_id;
        self.task(TaskRequest::Cancel { id }, &context)
            .await
            .map(drop)
    }
}

impl GatewayHandler {
    /// Starts the servers. In passthrough mode it waits for them, because the handshake response declares their
    /// capabilities and instructions, which cannot be updated later.
    async fn prepare_handshake(&self, client: &GatewayClient) -> Result<(), ErrorData> {
        if self.gateway.passes_through() {
            self.gateway.wait_for_servers(client, true).await;
        } else {
            self.gateway.start(client);
        }
        Ok(())
    }

    /// Passes the level of logs to the servers that have logs.
    async fn pass_level(&self, request: &SetLevelRequestParams) -> Result<(), ErrorData> {
        if !self.gateway.passes_through() {
            return Ok(());
        }
        let params = write(request)?;
        for server in &self.gateway.upstreams.view().servers {
            if server.capabilities.get("logging").is_some() {
                let request = self.gateway.upstreams.request(
                    &server.name,
                    "logging/setLevel",
                    params.clone(),
                    None,
                );
                if let Err(error) = request.await {
                    // Servers of the latest revision take the level from each request.
                    tracing::debug!(server = &*server.name, %error, "a server rejected the log level");
                }
            }
        }
        Ok(())
    }

    async fn task(&self, request: TaskRequest, context: &Context) -> Result<Value, ErrorData> {
        let client = GatewayClient::of(context);
        catch_panic(async {
            self.gateway.start(&client);
            let host = Arc::clone(&self.gateway.host);
            Ok(host.task(client, request).await?)
        })
        .await
    }
}

/// Awaits the answer to a request. A panic becomes an error, because the client would wait forever for an answer that is
/// lost with its task.
async fn catch_panic<T>(
    answer: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    // All state that the answer shares is behind locks, under which no code panics.
    let answer = AssertUnwindSafe(answer).catch_unwind().await;
    answer.unwrap_or_else(|_| {
        tracing::error!("a request was not answered because of a defect");
        let message = "the gateway failed because of a defect while it handled the request";
        Err(ErrorData::internal_error(message, None))
    })
}

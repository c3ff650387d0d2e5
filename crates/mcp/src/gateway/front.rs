//! One connection, or over HTTP one request, of one client.
#![expect(
    deprecated,
    reason = "clients of earlier revisions choose a level of logs, and subscribe by requests"
)]

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Object, Value};
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
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::changes::{News, Newsreader, Subscriptions};
use super::client::Client;
use super::conduct::Work;
use super::deliver::{Reply, deliver};
use super::host::{HostCall, TaskRequest};
use super::line::Line;
use super::listing::Listing;
use super::passing::{pass, renamed};
use super::shared::{Gateway, Shared};
use super::{capabilities, translate};
use crate::client::{Caller, ResourceFollowing, UpstreamError};

type Context = RequestContext<RoleServer>;

/// How often it is looked whether a client to which there is no news is still there.
const LOOK: Duration = Duration::from_secs(5);

/// One connection to a gateway.
#[derive(Clone)]
pub(super) struct Front {
    shared: Arc<Shared>,
    subscriptions: Subscriptions,
}

impl Front {
    pub(super) fn new(gateway: &Gateway) -> Self {
        Self {
            shared: Arc::clone(&gateway.0),
            subscriptions: Subscriptions::default(),
        }
    }

    /// Goes on with what `start` begins, until there is something to answer.
    async fn conduct(
        &self,
        client: &Client,
        context: &Context,
        start: impl FnOnce(
            Arc<dyn Caller>,
        ) -> futures::future::BoxFuture<'static, Result<Value, UpstreamError>>,
    ) -> Result<Value, ErrorData> {
        let (line, words) = Line::new(&client.id, made_for(client, context));
        Work::new(start(Arc::new(line)), words)
            .conduct(client, &self.shared.parked, context)
            .await
    }

    /// Has a server answer a request.
    async fn passed(
        &self,
        client: &Client,
        context: &Context,
        server: Arc<str>,
        method: &'static str,
        params: Value,
    ) -> Result<Value, ErrorData> {
        let (upstreams, asker) = (&self.shared.upstreams, client.clone());
        self.conduct(client, context, |caller| {
            pass(upstreams, server, method, params, asker, caller)
        })
        .await
    }

    /// A list whose entries stand in `field`, all on one page.
    fn list<T: Reply>(
        client: &Client,
        context: &Context,
        field: &str,
        entries: Vec<Value>,
    ) -> Result<T, ErrorData> {
        let result = Value::object([(field, Value::from(entries))]);
        let result = translate::cacheable(translate::result(result, client), client);
        deliver(context, result)
    }

    fn unknown(what: &str, name: &str) -> ErrorData {
        ErrorData::invalid_params(format!("unknown {what} `{name}`"), None)
    }
}

impl ServerHandler for Front {
    fn get_info(&self) -> ServerConfig {
        capabilities::config(&self.shared)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(capabilities::REVISIONS)
    }

    /// The tool whose arguments are compared with the headers of a request, where it wants some of them as headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        if !self.shared.passes() {
            return None;
        }
        read(self.shared.current().tool(name)?.entry.clone()).ok()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let client = Client::of(&context);
        if self.shared.passes() {
            self.shared.listing(&client).await;
        } else {
            self.shared.start(&client);
        }
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let client = Client::of(&context);
        if self.shared.passes() {
            self.shared.listing(&client).await;
        } else {
            self.shared.start(&client);
        }
        let revisions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(revisions, self.get_info()))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mut news, subscriptions) = (Newsreader::new(&self.shared), self.subscriptions.clone());
        let peer = context.peer;
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            loop {
                let news = tokio::select! {
                    news = news.next() => news,
                    // Nobody tells of a client that is gone.
                    _ = look.tick() => {
                        if peer.is_transport_closed() {
                            return;
                        }
                        continue;
                    }
                };
                let Some(news) = news else {
                    return;
                };
                let told = match news {
                    News::Tools => peer.notify_tool_list_changed().await,
                    News::Prompts => peer.notify_prompt_list_changed().await,
                    News::Resources => peer.notify_resource_list_changed().await,
                    News::Updated(params) if subscriptions.has(&params) => match read(params) {
                        Ok(params) => peer.notify_resource_updated(params).await,
                        Err(_) => Ok(()),
                    },
                    News::Log(params) => match read(params) {
                        Ok(params) => peer.notify_logging_message(params).await,
                        Err(_) => Ok(()),
                    },
                    News::Updated(_) => Ok(()),
                };
                if told.is_err() || peer.is_transport_closed() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut news = Newsreader::new(&self.shared);
        let accepted = subscription.accepted().clone();
        let addresses = accepted.resource_subscriptions.unwrap_or_default();
        let mut following = Vec::new();
        for address in &addresses {
            following.extend(self.follow(address).await);
        }
        loop {
            let news = tokio::select! {
                () = subscription.cancelled() => break,
                news = news.next() => match news {
                    Some(news) => news,
                    None => break,
                },
            };
            let sink = subscription.sink();
            let told = match news {
                News::Tools if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                News::Prompts if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                News::Resources if accepted.resources_list_changed == Some(true) => {
                    sink.notify_resource_list_changed().await
                }
                News::Updated(params) => match params.get("uri").and_then(Value::as_text) {
                    Some(address) if addresses.iter().any(|one| one == address) => {
                        sink.notify_resource_updated(address).await
                    }
                    _ => Ok(()),
                },
                _ => Ok(()),
            };
            if told.is_err() {
                break;
            }
        }
        drop(following);
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
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

    async fn call_tool(
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

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let client = Client::of(&context);
        let mut entries = Arc::clone(&self.shared.host)
            .resources(client.clone())
            .await;
        if self.shared.passes() {
            let listing = self.shared.listing(&client).await;
            entries.extend(listing.resources.iter().cloned());
        }
        Self::list(&client, &context, "resources", entries)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let client = Client::of(&context);
        let mut entries = Vec::new();
        if self.shared.passes() {
            let listing = self.shared.listing(&client).await;
            entries.extend(listing.resource_templates.iter().cloned());
        }
        Self::list(&client, &context, "resourceTemplates", entries)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let client = Client::of(&context);
        let host = Arc::clone(&self.shared.host);
        let address = request.uri.clone();
        let result = match host.read(client.clone(), address.clone()).await {
            Some(own) => translate::result(own?, &client),
            None if self.shared.passes() => {
                let params = params(&request, &context)?;
                self.read_anywhere(&client, &context, &address, params)
                    .await?
            }
            None => return Err(not_found(&address)),
        };
        let result = match result.get("contents") {
            Some(_) => translate::cacheable(result, &client),
            None => result,
        };
        deliver(&context, result)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        let following = self.follow(&request.uri).await;
        self.subscriptions.add(&request.uri, following);
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
        let client = Client::of(&context);
        let mut entries = Vec::new();
        if self.shared.passes() {
            let listing = self.shared.listing(&client).await;
            entries.extend(listing.prompts.iter().map(|offer| offer.entry.clone()));
        }
        Self::list(&client, &context, "prompts", entries)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let client = Client::of(&context);
        let name = request.name.clone();
        let prompt = |listing: &Listing| listing.prompt(&name).cloned();
        let found = self.shared.find(&client, prompt).await;
        let offer = found.ok_or_else(|| Self::unknown("prompt", &name))?;
        let params = renamed(params(&request, &context)?, "name", &offer.name);
        let result = self
            .passed(&client, &context, offer.server, "prompts/get", params)
            .await?;
        deliver(&context, result)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let client = Client::of(&context);
        let whole = params(&request, &context)?;
        let subject = whole.get("ref").cloned().unwrap_or_default();
        let field = |name: &str| subject.get(name).and_then(Value::as_text);
        let found = match (field("name"), field("uri")) {
            (Some(name), _) => {
                let prompt = |listing: &Listing| listing.prompt(name).cloned();
                let offer = self.shared.find(&client, prompt).await;
                offer.map(|offer| {
                    let subject = renamed(subject.clone(), "name", &offer.name);
                    let mut fields = whole.as_object().cloned().unwrap_or_default();
                    fields.insert("ref".into(), subject);
                    (offer.server, Value::from(fields))
                })
            }
            (None, Some(address)) => {
                let server = |listing: &Listing| listing.servers_of(address).into_iter().next();
                let server = self.shared.find(&client, server).await;
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
        let result = self
            .passed(&client, &context, server, "completion/complete", params)
            .await?;
        deliver(&context, result)
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        if !self.shared.passes() {
            return Ok(());
        }
        let params = write(&request)?;
        for server in &self.shared.upstreams.view().servers {
            if server.capabilities.get("logging").is_some() {
                let request = self.shared.upstreams.request(
                    &server.name,
                    "logging/setLevel",
                    params.clone(),
                    None,
                );
                if let Err(error) = request.await {
                    // Newer servers take the level from each request.
                    tracing::debug!(server = &*server.name, %error, "a server took no level of logs");
                }
            }
        }
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: Context,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        // What does not fit its method is read as a request of a method that nobody knows.
        Err(if capabilities::METHODS.contains(&method.as_str()) {
            let message = format!("these are no parameters of `{method}`");
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

impl Front {
    async fn task(&self, request: TaskRequest, context: &Context) -> Result<Value, ErrorData> {
        let client = Client::of(context);
        self.shared.start(&client);
        let host = Arc::clone(&self.shared.host);
        Ok(host.task(client, request).await?)
    }

    /// Reads a resource from whichever server has it.
    async fn read_anywhere(
        &self,
        client: &Client,
        context: &Context,
        address: &str,
        params: Value,
    ) -> Result<Value, ErrorData> {
        let listing = self.shared.listing(client).await;
        let mut last = not_found(address);
        for server in listing.servers_of(address) {
            let read = self.passed(client, context, server, "resources/read", params.clone());
            match read.await {
                Err(error) if is_not_found(&error) => last = error,
                other => return other,
            }
        }
        Err(last)
    }

    /// Follows a resource at the likeliest server that lets it be followed.
    async fn follow(&self, address: &str) -> Vec<ResourceFollowing> {
        if !self.shared.passes() {
            return Vec::new();
        }
        for server in self.shared.current().servers_of(address) {
            match self.shared.upstreams.follow(&server, address).await {
                Ok(following) => return vec![following],
                Err(error) => {
                    tracing::debug!(server = &*server, %error, "a server took no subscription");
                }
            }
        }
        Vec::new()
    }
}

/// What goes into requests that are made for the client: its own trace, which logs it wants, and what it can be asked.
fn made_for(client: &Client, context: &Context) -> Value {
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
    let capabilities = (
        "io.modelcontextprotocol/clientCapabilities",
        client.askable(),
    );
    fields.push(capabilities);
    Value::object(fields)
}

/// The parameters of a request, with what the client has put beside them for the server. What is about the connection to
/// us stays here.
fn params(request: &impl Serialize, context: &Context) -> Result<Value, ErrorData> {
    let whole = write(request)?;
    let mut fields = whole.as_object().cloned().unwrap_or_default();
    let meta = write(&context.meta)?;
    let passed = meta.as_object().into_iter().flatten();
    let passed: Object = passed
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

fn write(value: &impl Serialize) -> Result<Value, ErrorData> {
    match serde_json::to_value(value) {
        Ok(value) => Ok(value.into()),
        Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value.into())
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn not_found(address: &str) -> ErrorData {
    ErrorData::resource_not_found(
        format!("there is no resource `{address}`"),
        Some(serde_json::json!({"uri": address})),
    )
}

/// Whether an error says that a resource is not there: revisions have different codes for it.
fn is_not_found(error: &ErrorData) -> bool {
    matches!(
        error.code,
        ErrorCode::RESOURCE_NOT_FOUND | ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND
    )
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

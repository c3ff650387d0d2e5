//! The handlers of all requests, calls with several rounds of input requests and a state, and the transports of the server.

#![expect(
    deprecated,
    reason = "the suite asks for logging, which older revisions have"
)]

use std::io::Write;
use std::process::ExitCode;

use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    RequestStateCodec,
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, ServerRequest, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task;

use super::fixtures::{self, Fixtures, List, ToolBehavior};

/// The pause between two notifications.
const PACE: Duration = Duration::from_millis(20);

/// The handler, shared by all sessions.
#[derive(Clone, Debug)]
struct Handler {
    fixtures: Arc<Fixtures>,
    subscribers: Arc<Mutex<Subscribers>>,
}

/// The subscription streams of the newest revision.
#[derive(Debug, Default)]
struct Subscribers {
    /// The changes for streams that are about to start, by the task of each: a subscription is acknowledged before
    /// [`ServerHandler::listen`] receives it.
    expected: HashMap<task::Id, Vec<List>>,
    listeners: Vec<SubscriptionSink>,
}

type Context = RequestContext<RoleServer>;

impl Handler {
    fn new() -> Self {
        Self {
            fixtures: Arc::new(Fixtures::read()),
            subscribers: Arc::default(),
        }
    }

    async fn notify(&self, does: &ToolBehavior, context: &Context) {
        let level = if does.says_if_asked {
            context.meta.log_level()
        } else {
            Some(LoggingLevel::Info)
        };
        for text in &does.says {
            if let Some(level) = level {
                let message = LoggingMessageNotificationParam::new(level, json!(text));
                // The client may be gone; the call ends nevertheless.
                let _ = context.peer.notify_logging_message(message).await;
            }
            tokio::time::sleep(PACE).await;
        }
        for progress in &does.progress {
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, *progress)
                    .with_total(100.0)
                    .with_message(format!("{progress} of 100"));
                let _ = context.peer.notify_progress(progress).await;
            }
            tokio::time::sleep(PACE).await;
        }
        if let Some(list) = does.changes {
            self.change(list, context).await;
        }
        tokio::time::sleep(Duration::from_millis(does.waits_ms)).await;
    }

    async fn change(&self, list: List, context: &Context) {
        // Older revisions notify the session, the newest one its subscription streams.
        if context.meta.protocol_version().is_none() {
            let _ = match list {
                List::Tools => context.peer.notify_tool_list_changed().await,
                List::Prompts => context.peer.notify_prompt_list_changed().await,
            };
        }
        let listeners = {
            let mut subscribers = lock(&self.subscribers);
            // Streams that are acknowledged but not started yet receive the change at their start.
            for missed in subscribers.expected.values_mut() {
                missed.push(list);
            }
            subscribers.listeners.clone()
        };
        for listener in listeners {
            notify_listener(&listener, list).await;
        }
    }
}

async fn notify_listener(listener: &SubscriptionSink, list: List) {
    // The stream may have ended, or may not include this list.
    let _ = match list {
        List::Tools => listener.notify_tool_list_changed().await,
        List::Prompts => listener.notify_prompt_list_changed().await,
    };
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("conformance", "1"))
            .with_instructions("What the conformance suite asks for.")
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.fixtures.tools.iter();
        tools
            .map(|tool| &tool.listed)
            .find(|tool| tool.name == name)
            .cloned()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.fixtures.tools.iter();
        Ok(ListToolsResult::with_all_items(
            tools.map(|tool| tool.listed.clone()).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let fixtures = Arc::clone(&self.fixtures);
        let Some(tool) = fixtures
            .tools
            .iter()
            .find(|tool| tool.listed.name == request.name)
        else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let does = &tool.does;
        let capabilities = context.client_capabilities().unwrap_or_default();
        if let Some(needed) = &does.needs
            && capabilities.sampling.is_none()
        {
            return Err(ErrorData::missing_required_client_capability(
                needed.clone(),
            ));
        }
        let reply = Reply {
            responses: request.input_responses.as_ref(),
            state: request.request_state.as_deref(),
        };
        let rounds: Vec<_> = if does.within_capabilities {
            let rounds = does.rounds.iter();
            rounds.map(|round| within(round, &capabilities)).collect()
        } else {
            does.rounds.clone()
        };
        let question = match &does.asks {
            Some(question) => Some(fixtures::fill(
                question,
                &fixtures::words(request.arguments.as_ref()),
            )),
            None => None,
        };
        let is_newest = context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28);
        let rounds = match &question {
            // Since 2026-07-28, a server asks in results only.
            Some(question) if is_newest => {
                vec![BTreeMap::from([(
                    "answer".to_owned(),
                    deserialize(question)?,
                )])]
            }
            _ => rounds,
        };
        if let Some(questions) = next(&rounds, does.sealed, reply)? {
            return Ok(questions.into());
        }
        self.notify(does, &context).await;
        let mut result: CallToolResult = deserialize(&complete(&does.result))?;
        if let Some(question) = question
            && !is_newest
        {
            let question: ServerRequest = deserialize(&question)?;
            match context.peer.send_request(question).await {
                Ok(answer) => {
                    let answer = json!(answer);
                    let text = match &answer["content"]["text"] {
                        Value::String(text) => format!("the model says: {text}"),
                        _ => format!(
                            "action={}, content={}",
                            answer["action"].as_str().unwrap_or("none"),
                            answer["content"]
                        ),
                    };
                    result.content.push(ContentBlock::text(text));
                }
                Err(error) => {
                    let text = format!("the client did not answer: {error}");
                    return Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into());
                }
            }
        }
        if let Some(answers) = reply.responses {
            let text = format!("the client answered: {}", json!(answers));
            result.content.push(ContentBlock::text(text));
        }
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.fixtures.resources.iter();
        Ok(ListResourcesResult::with_all_items(
            resources.map(|resource| resource.listed.clone()).collect(),
        ))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.fixtures.templates.iter();
        Ok(ListResourceTemplatesResult::with_all_items(
            templates.map(|template| template.listed.clone()).collect(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(content) = self.fixtures.content(&request.uri) else {
            let message = format!("there is no resource `{}`", request.uri);
            let data = json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found(message, Some(data)));
        };
        Ok(ReadResourceResult::new(vec![deserialize(&content)?]).into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        lock(&self.subscribers)
            .expected
            .insert(task::id(), Vec::new());
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink();
        let missed = {
            let mut subscribers = lock(&self.subscribers);
            subscribers.listeners.push(sink.clone());
            subscribers.expected.remove(&task::id())
        };
        for list in missed.into_iter().flatten() {
            notify_listener(sink, list).await;
        }
        context.cancelled().await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.fixtures.prompts.iter();
        Ok(ListPromptsResult::with_all_items(
            prompts.map(|prompt| prompt.listed.clone()).collect(),
        ))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let fixtures = Arc::clone(&self.fixtures);
        let matches = |name: &str| name == request.name;
        let mut prompts = fixtures.prompts.iter();
        let Some(prompt) = prompts.find(|prompt| matches(&prompt.listed.name)) else {
            let message = format!("there is no prompt `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let reply = Reply {
            responses: request.input_responses.as_ref(),
            state: request.request_state.as_deref(),
        };
        if let Some(questions) = next(&prompt.rounds, false, reply)? {
            return Ok(questions.into());
        }
        let words = fixtures::words(request.arguments.as_ref());
        let result = complete(&fixtures::fill(&prompt.result, &words));
        let result: GetPromptResult = deserialize(&result)?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = &request.argument.value;
        let values = ["paris", "park", "party"]
            .into_iter()
            .filter(|value| value.starts_with(begun.as_str()))
            .map(str::to_owned)
            .collect();
        CompletionInfo::new(values)
            .map(CompleteResult::new)
            .map_err(|error| ErrorData::internal_error(error, None))
    }
}

/// A result with `resultType`, which the newest revision requires; the SDK removes it for older ones.
fn complete(result: &Value) -> Value {
    let mut result = result.clone();
    result["resultType"] = "complete".into();
    result
}

fn deserialize<T: DeserializeOwned>(value: &Value) -> Result<T, ErrorData> {
    serde_json::from_value(value.clone())
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reply of a client.
#[derive(Clone, Copy, Debug)]
struct Reply<'a> {
    responses: Option<&'a InputResponses>,
    state: Option<&'a str>,
}

/// The key that seals states: not a secret, since only tests use the server.
const KEY: &[u8] = b"what seals the states of the server that only tests talk to";

/// The next input requests, or `None` if all are answered. With `is_sealed`, they carry a state.
///
/// # Errors
///
/// If the state was not sealed by this server.
fn next(
    rounds: &[InputRequests],
    is_sealed: bool,
    reply: Reply<'_>,
) -> Result<Option<InputRequiredResult>, ErrorData> {
    let codec = RequestStateCodec::try_new(KEY)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let asked: usize = match reply.state {
        Some(state) if is_sealed => codec.open_json(state).map_err(|_| {
            ErrorData::invalid_params("the state is not sealed by this server", None)
        })?,
        _ => 0,
    };
    let is_answered = |round: &InputRequests| {
        let answers = |key| reply.responses.and_then(|responses| responses.get(key));
        (reply.state.is_some() || !is_sealed)
            && round
                .keys()
                .all(|key| answers(key).is_some_and(serde_json::Value::is_object))
    };
    let number = match rounds.get(asked) {
        Some(round) if is_answered(round) => asked + 1,
        _ => asked,
    };
    let Some(round) = rounds.get(number) else {
        return Ok(None);
    };
    let state = if is_sealed {
        let sealed = codec.seal_json(&number);
        Some(sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?)
    } else {
        None
    };
    Ok(Some(InputRequiredResult::new(Some(round.clone()), state)))
}

/// The input requests that a client with `capabilities` can answer.
fn within(round: &InputRequests, capabilities: &ClientCapabilities) -> InputRequests {
    let can_answer = |request: &InputRequest| match request {
        InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
        InputRequest::Elicitation(_) => capabilities.elicitation.is_some(),
        InputRequest::ListRoots(_) => capabilities.roots.is_some(),
        _ => false,
    };
    round
        .iter()
        .filter(|(_, request)| can_answer(request))
        .map(|(key, request)| (key.clone(), request.clone()))
        .collect()
}

/// Runs the server: over stdio until its input ends, or with `--listen ADDRESS` over HTTP; then it prints its address
/// to standard error.
pub fn run(arguments: &[String]) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.to_string()),
    };
    let served = match arguments[..] {
        [] => runtime.block_on(over_stdio()),
        ["--listen", address] => runtime.block_on(over_http(address)),
        _ => return fail("usage: conformance-server [--listen ADDRESS]"),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

async fn over_stdio() -> Result<(), Box<dyn std::error::Error>> {
    let running = Handler::new().serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
    Ok(())
}

async fn over_http(address: &str) -> Result<(), Box<dyn std::error::Error>> {
    let handler = Handler::new();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind(address).await?;
    say(&format!(
        "listening on http://{}/mcp",
        listener.local_addr()?
    ));
    let router = axum::Router::new().nest_service("/mcp", service);
    axum::serve(listener, router).await?;
    Ok(())
}

fn fail(message: &str) -> ExitCode {
    say(message);
    ExitCode::from(2)
}

fn say(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}

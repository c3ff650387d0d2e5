//! The interface between the gateway and the host that executes plans.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};
use tokio::sync::watch;

use super::client::{ClientId, GatewayClient};
use crate::session::caller::{Caller, UpstreamError};

/// The host, which executes plans. All values have the form of the latest revision of MCP; the gateway converts them
/// for earlier clients.
///
/// Futures are dropped when the client cancels its request.
pub trait Host: Send + Sync + 'static {
    /// Returns the instructions for clients.
    fn instructions(&self) -> Option<String>;

    /// The passthrough mode: whether clients see the tools, resources and prompts of the servers.
    fn passthrough_mode(&self) -> PassthroughMode;

    /// Returns true if long calls may become tasks: [`Host::call`] then returns a `resultType` of `task`.
    fn supports_tasks(&self) -> bool {
        false
    }

    /// Returns the host's own tools for this client, as entries of `tools/list`, in a stable order.
    fn tools(self: Arc<Self>, client: GatewayClient) -> BoxFuture<'static, Vec<Value>>;

    /// Returns true if `name` is a tool of the host for this client.
    fn owns(&self, client: &GatewayClient, name: &str) -> bool;

    /// Returns true if `name` is a tool of the host for any client, so that no tool of a server is listed by this name.
    fn reserves(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Checks that this client may see and call a tool of a server in passthrough mode.
    ///
    /// # Errors
    ///
    /// Returns the reason for the client.
    fn allows(&self, client: &GatewayClient, tool: &Tool) -> Result<(), UpstreamError>;

    /// Requests consent to a call of a tool in passthrough mode. Most calls need none.
    fn consent(
        self: Arc<Self>,
        client: GatewayClient,
        tool: Tool,
        arguments: Value,
        caller: Arc<dyn Caller>,
    ) -> BoxFuture<'static, Result<(), UpstreamError>> {
        let _ = (client, tool, arguments, caller);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Notes the result of a tool that a client called in passthrough mode, before the client gets it.
    fn answered(&self, client: &GatewayClient, tool: &Tool, result: &Value) {
        let _ = (client, tool, result);
    }

    /// Calls one of the host's own tools. Returns a `CallToolResult` or a task.
    fn call(self: Arc<Self>, call: HostCall) -> BoxFuture<'static, Result<Value, UpstreamError>>;

    /// Returns a unique `requestState` by which [`continue_call`](Self::continue_call) recognises the work of a
    /// suspended call in any later process, or `None` if the work ends with this process.
    fn request_state(&self, call: &SuspendedCall<'_>) -> Option<String> {
        let _ = call;
        None
    }

    /// Continues the work of a suspended call that is not in this process, with the client's answers by the keys of the
    /// questions. Nothing is executed twice.
    ///
    /// # Errors
    ///
    /// Returns [`UpstreamError::INVALID`] if the state is not from [`request_state`](Self::request_state) for this
    /// client and request, or has expired.
    fn continue_call(
        self: Arc<Self>,
        call: HostCall,
        state: String,
        answers: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let _ = (call, state, answers);
        Box::pin(std::future::ready(Err(UpstreamError::unknown_state())))
    }

    /// Cancels work of a client that outlives its requests, because the client's access has ended.
    fn end_client(&self, client: &ClientId) {
        let _ = client;
    }

    /// Returns the host's own resources for this client, as entries of `resources/list`.
    fn resources(self: Arc<Self>, client: GatewayClient) -> BoxFuture<'static, Vec<Value>>;

    /// Reads one of the host's own resources. Returns a `ReadResourceResult`, or `None` if the resource is not the
    /// host's.
    fn read(
        self: Arc<Self>,
        client: GatewayClient,
        uri: String,
    ) -> BoxFuture<'static, Option<Result<Value, UpstreamError>>>;

    /// Handles a request about a task of this client. Returns the fields of its result.
    fn task(
        self: Arc<Self>,
        client: GatewayClient,
        request: TaskRequest,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>>;

    /// Returns a counter that changes with the host's own tools.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// The passthrough mode: whether clients see the tools, resources and prompts of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassthroughMode {
    /// Clients only see the host's own tools.
    Nothing,
    /// Clients also see tools, resources, prompts, completions and logs of the servers.
    Everything,
}

/// A call of one of the host's own tools.
#[derive(Clone)]
pub struct HostCall {
    /// The tool.
    pub name: String,
    /// The arguments: an object.
    pub arguments: Value,
    /// The calling client.
    pub client: GatewayClient,
    /// The channel to the client during the call.
    pub caller: Arc<dyn Caller>,
    /// The client's progress token, if it wants progress notifications.
    pub progress_token: Option<Value>,
}

/// A call of one of the host's own tools that waits for answers from its client.
#[derive(Clone, Debug)]
pub struct SuspendedCall<'a> {
    /// The calling client.
    pub client: &'a ClientId,
    /// The tool.
    pub name: &'a str,
    /// The arguments of the call.
    pub arguments: &'a Value,
    /// The work that serves the call, as [`Caller::bind`] names it.
    pub work: &'a str,
    /// The keys of the open questions, each with its subject from [`Caller::ask_about`], if any.
    pub questions: Vec<(&'a str, Option<&'a str>)>,
}

/// A request of a client about a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskRequest {
    /// Requests the state of the task.
    Get {
        /// The task.
        id: String,
    },
    /// Answers the open questions of the task.
    Update {
        /// The task.
        id: String,
        /// The answers by the keys of the questions: an object.
        responses: Value,
    },
    /// Cancels the task.
    Cancel {
        /// The task.
        id: String,
    },
}

impl std::fmt::Debug for HostCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostCall")
            .field("name", &self.name)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

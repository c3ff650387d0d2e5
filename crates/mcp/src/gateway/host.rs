//! What a gateway asks of those who know plans.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};
use tokio::sync::watch;

use super::client::{Client, ClientId};
use crate::client::{Caller, UpstreamError};

/// Who knows plans. All values are as the newest revision of MCP writes them; older clients get them in their own form.
///
/// Futures are dropped where the client has given up waiting.
pub trait Host: Send + Sync + 'static {
    /// What clients are told about how to use the gateway.
    fn instructions(&self) -> Option<String>;

    /// Whether what the servers offer is passed on as it is.
    fn passing(&self) -> Passing;

    /// Whether calls may become tasks: [`Host::call`] then answers with a `resultType` of `task` where it takes long.
    fn keeps_tasks(&self) -> bool {
        false
    }

    /// The host's own tools for this client, as `tools/list` writes them, in a stable order.
    fn tools(self: Arc<Self>, client: Client) -> BoxFuture<'static, Vec<Value>>;

    /// Whether `name` is a tool of the host, for this client.
    fn owns(&self, client: &Client, name: &str) -> bool;

    /// Whether `name` is, for some client, that of a tool of the host, so that no tool of a server is listed under it.
    fn reserves(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Whether this client may see and call a tool of a server that is passed on.
    ///
    /// # Errors
    ///
    /// Why not, as the client is told.
    fn allows(&self, client: &Client, tool: &Tool) -> Result<(), UpstreamError>;

    /// Asks whoever has to agree to a call of a tool that is passed on; most calls need nobody's consent.
    fn consent(
        self: Arc<Self>,
        client: Client,
        tool: Tool,
        arguments: Value,
        caller: Arc<dyn Caller>,
    ) -> BoxFuture<'static, Result<(), UpstreamError>> {
        let _ = (client, tool, arguments, caller);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Calls one of the host's own tools and gives a `CallToolResult`, or a task.
    fn call(self: Arc<Self>, call: HostCall) -> BoxFuture<'static, Result<Value, UpstreamError>>;

    /// A `requestState` by which [`continue_call`](Self::continue_call) recognises the work of a suspended call in any later process.
    /// `None` if the work ends with this process. No two states are equal.
    fn request_state(&self, call: &SuspendedCall<'_>) -> Option<String> {
        let _ = call;
        None
    }

    /// Continues the work of a suspended call that this process does not have, or not any more, with the client's answers by the
    /// keys of the questions. Nothing is executed a second time.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::INVALID`] if the state is none of [`request_state`](Self::request_state) for this client and request, or
    /// has expired.
    fn continue_call(
        self: Arc<Self>,
        call: HostCall,
        state: String,
        answers: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let _ = (call, state, answers);
        Box::pin(std::future::ready(Err(UpstreamError::unknown_state())))
    }

    /// Gives up what a client has under way that outlives its requests: it is no longer let in.
    fn end_client(&self, client: &ClientId) {
        let _ = client;
    }

    /// The host's own resources for this client, as `resources/list` writes them.
    fn resources(self: Arc<Self>, client: Client) -> BoxFuture<'static, Vec<Value>>;

    /// Reads one of the host's own resources: a `ReadResourceResult`. Nothing where it is not the host's.
    fn read(
        self: Arc<Self>,
        client: Client,
        uri: String,
    ) -> BoxFuture<'static, Option<Result<Value, UpstreamError>>>;

    /// Answers a request about a task of this client, with the fields of its result.
    fn task(
        self: Arc<Self>,
        client: Client,
        request: TaskRequest,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>>;

    /// Ticks whenever the host's own tools have changed.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// Whether what the servers offer is passed on as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Nothing: clients see the host's own tools alone.
    Nothing,
    /// Tools, resources, prompts, completions and logs.
    Everything,
}

/// A call of one of the host's own tools.
#[derive(Clone)]
pub struct HostCall {
    /// The tool.
    pub name: String,
    /// Its arguments: an object.
    pub arguments: Value,
    /// Who calls.
    pub client: Client,
    /// The way back to the client while the call is under way.
    pub caller: Arc<dyn Caller>,
    /// What progress of this call is called by, where the client wants to hear of it.
    pub progress_token: Option<Value>,
}

/// A call of one of the host's own tools that waits for answers of its client.
#[derive(Clone, Debug)]
pub struct SuspendedCall<'a> {
    /// Who calls.
    pub client: &'a ClientId,
    /// The tool.
    pub name: &'a str,
    /// The arguments of the call.
    pub arguments: &'a Value,
    /// The work that serves the call, as [`Caller::bind`] names it.
    pub work: &'a str,
    /// The keys of the open questions, each with what it is about if [`Caller::ask_about`] named that.
    pub questions: Vec<(&'a str, Option<&'a str>)>,
}

/// What a client wants of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskRequest {
    /// How it stands.
    Get {
        /// The task.
        id: String,
    },
    /// Answers to what the task asked for, by their keys.
    Update {
        /// The task.
        id: String,
        /// The answers: an object.
        responses: Value,
    },
    /// That it ends.
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

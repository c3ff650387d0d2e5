//! The interface between the gateway and the host that executes plans; the state that all connections share, and the capabilities that
//! the gateway declares to clients.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use tokio::sync::watch;

use super::client::{ClientId, GatewayClient};
use super::listing::OfferListing;
use super::suspended::SuspendedCalls;
use crate::session::caller::{Caller, UpstreamClient};
use crate::session::error::UpstreamError;
use crate::upstream::{UpstreamState, UpstreamView, Upstreams};

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

    /// Returns false if a tool of a server is unknown to this client in passthrough mode.
    fn knows(&self, client: &GatewayClient, tool: &Tool) -> bool {
        let _ = (client, tool);
        true
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

    /// Notes the result of a tool that a client called in passthrough mode, before the client gets it. The call took `duration`.
    fn note_result(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        duration: Duration,
        result: &Result<Value, UpstreamError>,
    ) {
        let _ = (client, tool, arguments, duration, result);
    }

    /// Notes that a client gets a resource, a prompt or a completion of a server in passthrough mode, or the error.
    fn note_text(&self, client: &GatewayClient) {
        let _ = client;
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

/// The time after the first start for which a client that receives change notifications waits for starting servers.
pub const NOTIFIED_CLIENT_GRACE: Duration = Duration::from_secs(1);

/// The same time for the lists of a client without change notifications.
const UNNOTIFIED_CLIENT_GRACE: Duration = Duration::from_secs(5);

/// The same time for a call of a name that no ready server has.
pub const CALL_GRACE: Duration = Duration::from_secs(10);

/// An MCP server in front of others.
///
/// Clones share the gateway.
#[derive(Clone, Debug)]
pub struct Gateway(pub(super) Arc<GatewayState>);

pub(super) struct GatewayState {
    pub(super) host: Arc<dyn Host>,
    pub(super) upstreams: Upstreams,
    pub(super) suspended: SuspendedCalls,
    /// True if several clients use the same servers, which then only learn the common capabilities.
    serves_many: bool,
    listing: Mutex<Option<(Arc<UpstreamView>, Arc<OfferListing>)>>,
}

impl Gateway {
    /// Creates a gateway for one client, whose capabilities the servers learn.
    pub fn new(host: Arc<dyn Host>, upstreams: Upstreams) -> Self {
        Self::build(host, upstreams, false)
    }

    /// Creates a gateway for many clients. Servers learn that a person may be asked, and get an error from clients that
    /// do not support this.
    pub fn for_many(host: Arc<dyn Host>, upstreams: Upstreams) -> Self {
        Self::build(host, upstreams, true)
    }

    /// Cancels work of a client that outlives its requests.
    pub(super) fn end_client(&self, client: &ClientId) {
        self.0.suspended.end_client(client);
        self.0.host.end_client(client);
    }

    fn build(host: Arc<dyn Host>, upstreams: Upstreams, serves_many: bool) -> Self {
        Self(Arc::new(GatewayState {
            host,
            upstreams,
            suspended: SuspendedCalls::default(),
            serves_many,
            listing: Mutex::new(None),
        }))
    }
}

impl fmt::Debug for GatewayState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayState")
            .field("upstreams", &self.upstreams)
            .finish_non_exhaustive()
    }
}

impl GatewayState {
    pub(super) fn passes_through(&self) -> bool {
        self.host.passthrough_mode() == PassthroughMode::Everything
    }

    /// Starts the servers, unless they were started.
    pub(super) fn start(&self, client: &GatewayClient) {
        let first = if self.serves_many {
            // A later client may support forms.
            let forms = Value::object([("form", Value::empty_object())]);
            let asked = client.request_capabilities();
            let mut capabilities = asked.as_object().cloned().unwrap_or_default();
            // Roots belong to a single client.
            capabilities.shift_remove("roots");
            capabilities.entry("elicitation".into()).or_insert(forms);
            UpstreamClient {
                capabilities: Value::from(capabilities),
                shares_servers: true,
                ..client.as_upstream()
            }
        } else {
            UpstreamClient {
                capabilities: client.capabilities.clone(),
                ..client.as_upstream()
            }
        };
        self.upstreams.start_for(&first);
    }

    /// Starts the servers and waits for them, within the grace period after their first start.
    pub(super) async fn wait_for_servers(&self, client: &GatewayClient, is_notified: bool) {
        self.start(client);
        let grace = if is_notified {
            NOTIFIED_CLIENT_GRACE
        } else {
            UNNOTIFIED_CLIENT_GRACE
        };
        self.upstreams.settled_within(grace).await;
    }

    /// Searches the listing with `find`, in passthrough mode. Without a match, it waits for starting servers and
    /// searches again.
    pub(super) async fn find<T>(
        &self,
        client: &GatewayClient,
        find: impl Fn(&OfferListing) -> Option<T>,
    ) -> Option<T> {
        self.start(client);
        if !self.passes_through() {
            return None;
        }
        if let Some(found) = find(&self.current_listing()) {
            return Some(found);
        }
        // The name may belong to a server that is still starting.
        self.upstreams.settled_within(CALL_GRACE).await;
        find(&self.current_listing())
    }

    pub(super) fn current_listing(&self) -> Arc<OfferListing> {
        let view = self.upstreams.view();
        let mut known = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            // Views are immutable, so the same view has the same listing.
            Some((of, listing)) if Arc::ptr_eq(of, &view) => Arc::clone(listing),
            before => {
                let listing = OfferListing::new(&view, &|name| self.host.reserves(name));
                let before = before.as_ref().map(|(_, before)| &before.collisions);
                for clause in &listing.collisions {
                    // Each collision is reported once, not with each new view.
                    if self.passes_through() && before.is_none_or(|before| !before.contains(clause))
                    {
                        tracing::warn!("{clause}");
                    }
                }
                let listing = Arc::new(listing);
                *known = Some((view, Arc::clone(&listing)));
                listing
            }
        }
    }
}

/// Returns the configuration for the handshake response.
pub(super) fn config(gateway: &GatewayState) -> ServerConfig {
    let view = gateway.upstreams.view();
    let mut config = ServerConfig::new(capabilities(gateway, &view));
    config.server_info = Implementation::new("planwright", env!("CARGO_PKG_VERSION"));
    config.instructions = instructions(gateway, &view);
    config
}

fn capabilities(gateway: &GatewayState, view: &UpstreamView) -> ServerCapabilities {
    let passes_through = gateway.passes_through();
    // The capabilities of a starting server are unknown.
    let is_open = view
        .servers
        .iter()
        .any(|server| matches!(server.state, UpstreamState::Idle | UpstreamState::Starting));
    let has = |name: &str| {
        passes_through
            && (is_open
                || view
                    .servers
                    .iter()
                    .any(|server| server.capabilities.get(name).is_some()))
    };
    let mut offered = serde_json::json!({"tools": {"listChanged": true}});
    // Outputs that are too large for a response are resources, with and without passthrough.
    offered["resources"] = if has("resources") {
        serde_json::json!({"subscribe": true, "listChanged": true})
    } else {
        serde_json::json!({})
    };
    if has("prompts") {
        offered["prompts"] = serde_json::json!({"listChanged": true});
    }
    for plain in ["completions", "logging"] {
        if has(plain) {
            offered[plain] = serde_json::json!({});
        }
    }
    if gateway.host.supports_tasks() {
        offered["extensions"] = serde_json::json!({"io.modelcontextprotocol/tasks": {}});
    }
    serde_json::from_value(offered).unwrap_or_default()
}

/// Returns the instructions of the host, followed by those of the servers in passthrough mode.
fn instructions(gateway: &GatewayState, view: &UpstreamView) -> Option<String> {
    let mut parts: Vec<String> = gateway.host.instructions().into_iter().collect();
    if gateway.passes_through() {
        let mut stated: Vec<(&str, String)> = Vec::new();
        for server in &view.servers {
            let text = server.instructions.as_text().map(str::to_owned);
            stated.extend(text.map(|text| (&*server.name, text)));
        }
        match stated.as_slice() {
            [(_, only)] if view.servers.len() == 1 => parts.push(only.clone()),
            several => parts.extend(several.iter().map(|(name, text)| format!("{name}: {text}"))),
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

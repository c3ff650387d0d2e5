//! The clients of the gateway.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;

use crate::session::caller::UpstreamClient;
use crate::views;

/// The identity of a client. Data of one client is never visible to another.
///
/// An HTTP server that authenticates clients puts it into the request's extensions; all other clients are
/// [`ClientId::local`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(Arc<str>);

impl ClientId {
    /// Creates the identity with this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Returns the identity of the local user.
    pub fn local() -> Self {
        Self::new("local")
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The groups of a client, which an HTTP server puts into the request's extensions beside its [`ClientId`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientGroups(pub Arc<[Arc<str>]>);

/// The HTTP header with the session of a request.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

/// The methods of requests to clients, each with the capability that declares it.
const REQUEST_CAPABILITIES: &[(&str, &str)] = &[
    ("elicitation/create", "elicitation"),
    ("sampling/createMessage", "sampling"),
    ("roots/list", "roots"),
];

/// A client, as one of its requests describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayClient {
    /// The identity of the client.
    pub id: ClientId,
    /// The groups of the client, if its HTTP request states some.
    pub groups: Arc<[Arc<str>]>,
    /// The client's session, if it has one over HTTP.
    pub session: Option<Arc<str>>,
    /// The client's revision of MCP, such as `2026-07-28`.
    pub revision: String,
    /// The client's `ClientCapabilities`.
    pub capabilities: Value,
}

impl GatewayClient {
    /// Creates a client of the latest revision without capabilities.
    pub fn new(id: ClientId) -> Self {
        Self {
            id,
            groups: Arc::default(),
            session: None,
            revision: ProtocolVersion::LATEST.as_str().to_owned(),
            capabilities: Value::empty_object(),
        }
    }

    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let revision = context
            .protocol_version()
            // The specification assumes this revision for HTTP requests that name none.
            .unwrap_or(ProtocolVersion::V_2025_03_26);
        let capabilities = context
            .client_capabilities()
            .and_then(|capabilities| serde_json::to_value(capabilities).ok())
            .map_or_else(Value::empty_object, Value::from);
        Self {
            id: extension(context).unwrap_or_else(ClientId::local),
            groups: extension::<ClientGroups>(context).unwrap_or_default().0,
            // Later revisions have no sessions, whatever a header says.
            session: session(context).filter(|_| revision < ProtocolVersion::V_2026_07_28),
            revision: revision.as_str().to_owned(),
            capabilities,
        }
    }

    /// Returns true if input is requested from the client by requests, as in revisions before 2026-07-28, rather than
    /// by a result.
    pub fn receives_requests(&self) -> bool {
        // Revisions are ISO dates, which sort as strings.
        self.revision.as_str() < ProtocolVersion::V_2026_07_28.as_str()
    }

    pub(super) fn supports_request(&self, method: &str) -> bool {
        let found = REQUEST_CAPABILITIES.iter().find(|(of, _)| *of == method);
        found.is_some_and(|(_, capability)| self.capabilities.get(capability).is_some())
    }

    /// Returns the capabilities that declare supported requests and views. The others only concern the gateway.
    pub(super) fn request_capabilities(&self) -> Value {
        let fields = REQUEST_CAPABILITIES.iter().filter_map(|(_, capability)| {
            Some((*capability, self.capabilities.get(capability)?.clone()))
        });
        // Servers offer views only to clients that show them.
        let views = views::declared(&self.capabilities).map(|views| ("extensions", views));
        Value::object(fields.chain(views))
    }

    /// Returns the description of the client for servers.
    pub(super) fn as_upstream(&self) -> UpstreamClient {
        UpstreamClient {
            capabilities: self.request_capabilities(),
            receives_requests: self.receives_requests(),
            shares_servers: false,
        }
    }

    /// Returns true if the client can show a form to a person.
    pub fn supports_forms(&self) -> bool {
        self.capabilities
            .get("elicitation")
            .and_then(Value::as_object)
            // An empty object means forms, as in earlier revisions.
            .is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }

    /// Returns true if the client shows views of tools: HTML pages of MCP apps.
    pub fn supports_views(&self) -> bool {
        views::declared(&self.capabilities).is_some()
    }

    /// Returns true if the client supports tasks.
    pub fn supports_tasks(&self) -> bool {
        self.capabilities
            .get("extensions")
            .and_then(|extensions| extensions.get("io.modelcontextprotocol/tasks"))
            .is_some()
    }
}

/// Returns an extension of the HTTP request.
fn extension<T: Clone + Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<T> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    parts.extensions.get::<T>().cloned()
}

/// Returns the session in the HTTP request.
fn session(context: &RequestContext<RoleServer>) -> Option<Arc<str>> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    let session = parts.headers.get(SESSION_HEADER)?.to_str().ok()?;
    Some(session.into())
}

pub(super) const METHODS: &[&str] = &[
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// The methods that 2026-07-28 has removed.
pub(super) const REMOVED_METHODS: &[&str] = &[
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

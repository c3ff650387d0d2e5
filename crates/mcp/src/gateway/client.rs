//! Who is at the other end.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;

use crate::client::UpstreamClient;

/// Who a client is. What belongs to one is never shown to another.
///
/// Whoever lets clients in over HTTP puts it into the request's extensions; all others are [`ClientId::local`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(Arc<str>);

impl ClientId {
    /// The client of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Whoever works on this machine as this user.
    pub fn local() -> Self {
        Self::new("local")
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a client can be asked, and the capability by which it says so.
const ASKABLE: &[(&str, &str)] = &[
    ("elicitation/create", "elicitation"),
    ("sampling/createMessage", "sampling"),
    ("roots/list", "roots"),
];

/// A client, as one of its requests shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Client {
    /// Who it is.
    pub id: ClientId,
    /// The revision of MCP that it speaks, such as `2026-07-28`.
    pub revision: String,
    /// What it can do: its `ClientCapabilities`.
    pub capabilities: Value,
}

impl Client {
    /// A client that can do nothing but call tools.
    pub fn new(id: ClientId) -> Self {
        Self {
            id,
            revision: ProtocolVersion::LATEST.as_str().to_owned(),
            capabilities: Value::empty_object(),
        }
    }

    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let revision = context
            .protocol_version()
            .unwrap_or(ProtocolVersion::V_2025_03_26);
        let capabilities = context
            .client_capabilities()
            .and_then(|capabilities| serde_json::to_value(capabilities).ok())
            .map_or_else(Value::empty_object, Value::from);
        Self {
            id: identity(context),
            revision: revision.as_str().to_owned(),
            capabilities,
        }
    }

    /// Whether it is asked by requests of ours, as revisions before 2026-07-28 have it, and not by a result.
    pub fn is_asked_directly(&self) -> bool {
        // Revisions are dates, which sort as texts.
        self.revision.as_str() < ProtocolVersion::V_2026_07_28.as_str()
    }

    /// Whether it has an answer to requests of this method.
    pub(super) fn can_answer(&self, method: &str) -> bool {
        let found = ASKABLE.iter().find(|(of, _)| *of == method);
        found.is_some_and(|(_, capability)| self.capabilities.get(capability).is_some())
    }

    /// What it can be asked, as `ClientCapabilities`. What else it can do is between it and the gateway.
    pub(super) fn askable(&self) -> Value {
        let fields = ASKABLE.iter().filter_map(|(_, capability)| {
            Some((*capability, self.capabilities.get(capability)?.clone()))
        });
        Value::object(fields)
    }

    /// What servers have to know of it.
    pub(super) fn as_upstream(&self) -> UpstreamClient {
        UpstreamClient {
            capabilities: self.askable(),
            is_asked_by_requests: self.is_asked_directly(),
            is_one_of_many: false,
        }
    }

    /// Whether it can show a form to a person.
    pub fn can_fill_forms(&self) -> bool {
        self.capabilities
            .get("elicitation")
            .and_then(Value::as_object)
            // An empty object stands for forms, as older revisions have it.
            .is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }

    /// Whether it knows what to do with a task.
    pub fn takes_tasks(&self) -> bool {
        self.capabilities
            .get("extensions")
            .and_then(|extensions| extensions.get("io.modelcontextprotocol/tasks"))
            .is_some()
    }
}

/// The identity that was put into the HTTP request.
fn identity(context: &RequestContext<RoleServer>) -> ClientId {
    context
        .extensions
        .get::<http::request::Parts>()
        .and_then(|parts| parts.extensions.get::<ClientId>())
        .cloned()
        .unwrap_or_else(ClientId::local)
}

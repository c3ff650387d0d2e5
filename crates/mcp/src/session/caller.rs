//! The client that a request is made for, and the lists of servers that it may be notified about.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Value;

use super::error::UpstreamError;
use crate::views;

/// The client that a request is made for. It receives the requests and notifications that the server sends while the
/// request is in flight.
pub trait Caller: Send + Sync + 'static {
    /// Sends the client a notification: `notifications/progress` with the client's own token, or
    /// `notifications/message`.
    fn notify(&self, method: &str, params: Value);

    /// Sends the client a request: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>>;

    /// Sends the client a request about `subject`, a digest of the call that a person decides about, by which another
    /// process recognises the request.
    fn ask_about(
        &self,
        subject: &str,
        method: &str,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let _ = subject;
        self.ask(method, params)
    }

    /// Associates the request with `work`, which another process can continue if this one ends while the client is
    /// asked.
    fn bind(&self, work: &str) {
        let _ = work;
    }

    /// Returns the `_meta` of requests for the client (`traceparent`, `tracestate`, `baggage`): an object or `null`.
    fn meta(&self) -> Value;

    /// Returns the description of the client, which selects the session of a shared server.
    fn upstream_client(&self) -> Option<UpstreamClient> {
        None
    }

    /// Returns the identity of the client, which several callers may share. A caller without one is a client of its
    /// own.
    fn client(&self) -> Option<Arc<str>> {
        None
    }
}

impl fmt::Debug for dyn Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("client", &self.client())
            .finish_non_exhaustive()
    }
}

/// The client that a server is started for: its capabilities, and how servers send it requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpstreamClient {
    /// The client's `ClientCapabilities`, or `null` for none.
    pub capabilities: Value,
    /// True if the client speaks a revision before 2026-07-28, in which servers send requests. For such a client, a server that
    /// supports both kinds of revisions is opened with an earlier one.
    pub receives_requests: bool,
    /// True if further clients use the same servers. Remote servers then have one session for each set of capabilities.
    pub shares_servers: bool,
}

impl UpstreamClient {
    /// Creates a client of 2026-07-28 that does not share its servers.
    pub fn new(capabilities: Value) -> Self {
        Self {
            capabilities,
            ..Self::default()
        }
    }

    /// Returns the capabilities that a session of several clients may declare: only the kinds of requests and views, without
    /// further details. Roots belong to a single client.
    pub(crate) fn shared(&self) -> Self {
        let shared_modes = [
            ("elicitation", ["form", "url"]),
            ("sampling", ["context", "tools"]),
        ];
        let capabilities = shared_modes.into_iter().filter_map(|(name, modes)| {
            let declared = self.capabilities.get(name).filter(|it| !it.is_null())?;
            let modes = modes
                .into_iter()
                .filter(|mode| declared.get(mode).is_some());
            let modes = modes.map(|mode| (mode, Value::empty_object()));
            Some((name, Value::object(modes)))
        });
        let views = views::declared(&self.capabilities).map(|views| ("extensions", views));
        Self {
            capabilities: Value::object(capabilities.chain(views)),
            ..self.clone()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// Returns the list that the notification `method` is about.
    pub(crate) fn from_notification(method: &str) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Self::Tools),
            "notifications/prompts/list_changed" => Some(Self::Prompts),
            "notifications/resources/list_changed" => Some(Self::Resources),
            _ => None,
        }
    }

    /// Returns the capability of servers with this list.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    /// Returns the field of a subscription for this list.
    pub(crate) fn filter(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }
}
